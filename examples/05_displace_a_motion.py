"""Edit by displacement: m ⊕ d adds to a motion without touching its detail. Here the left arm is raised for a while."""

from dataclasses import replace

import numpy as np

import footplant

clip = footplant.load("sample:walk")
motion = clip.motion
shoulder = clip.character.require_roles()["left_upper_arm"]

# d is (frames, 1 + joints, 3): the root's shift in metres, then a rotation vector a joint, radians, in its own frame
displacement = np.zeros((len(motion), 1 + len(motion.skeleton), 3))
displacement[:, 1 + shoulder, 1] = -1.6 * np.sin(np.linspace(0.0, np.pi, len(motion))) ** 2
waving = motion + displacement

# m ⊖ m0 gives the displacement back
assert np.allclose(waving - motion, displacement, atol=1e-9)
print("wrote", footplant.save("waving.glb", replace(clip, motion=waving, name="waving")))
