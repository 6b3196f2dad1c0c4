"""Turn optical markers into a motion: a take, here one that is made, drives a figure of its wearer's proportions."""

import numpy as np

import footplant
from footplant import rotation
from footplant.io import load_markers, save_markers
from footplant.kinematics import Kinematics
from footplant.markers import Markers
from footplant.optical.marker_sets import LANDMARKS, recognise
from footplant.optical.solve import solve_markers

# markers of Plug-in Gait on the mannequin, with a millimetre of noise; a studio's take.c3d needs none of this
clip = footplant.load("sample:walk")
motion, body = clip.motion[:150], clip.character
names = ("FHD", "BHD", "SHO", "UPA", "ELB", "FRM", "WRA", "WRB", "FIN")
names += ("ASI", "PSI", "THI", "KNE", "TIB", "ANK", "HEE", "TOE")
labels = ["C7", "T10", "CLAV", "STRN", *(side + name for side in "LR" for name in names)]
roles, poses = body.require_roles(), Kinematics(motion)
joints, turned = body.skeleton.posed(body.skeleton.rest)
places = []
for stuck in recognise(labels)[1]:
    joint = roles.joints["spine"][-1] if stuck.role == "chest" else roles[stuck.role]
    place = np.array(LANDMARKS[stuck.landmark or ""].place) * [stuck.side, 1.0, 1.0]
    offset = rotation.rotate(rotation.inverse(turned[joint]), place - joints[joint])
    places.append(poses.positions[:, joint] + rotation.rotate(poses.rotations[:, joint], offset))
noise = 0.001 * np.random.default_rng(0).standard_normal((len(motion), len(labels), 3))
save_markers("take.trc", Markers(tuple(labels), np.stack(places, axis=1) + noise, motion.fps))

solved = solve_markers(load_markers("take.trc"), smooth=True)  # or "take.c3d"
fit = solved.report.markers[0]
print(f"{fit.marker_set}: median {fit.median:.1f} mm, character {fit.height:.2f} m tall")
for length in fit.lengths:
    print(f"  {length.name}: {1000 * length.metres:.0f} mm, give or take {1000 * length.spread:.0f}")
print("wrote", footplant.save("take.bvh", solved.clip))
