"""A clip for MuJoCo: the skeleton as a model of ball joints (from_xml_string) and the motion as qpos, a row a frame."""

import numpy as np

import footplant

motion, xml, depth = footplant.retarget("sample:kick", "sample:sally").motion, "", 0
order = sorted(range(len(motion.skeleton)), key=motion.skeleton.chain)  # depth first, as MuJoCo counts joints
for joint in order:
    at, level = " ".join(map(str, motion.skeleton.offsets[joint])), len(motion.skeleton.chain(joint))
    body = f'<body pos="{at}"><joint type="{"ball" if joint else "free"}"/><geom size="0.04"/>'
    xml, depth = f"{xml}{'</body>' * (depth - level + 1)}{body}", level
xml = f'<mujoco><option gravity="0 -9.81 0"/><worldbody>{xml}{"</body>" * depth}</worldbody></mujoco>'
np.savez("sally.npz", xml=xml, qpos=np.hstack([motion.root, motion.rotations[:, order].reshape(len(motion), -1)]))
print("wrote sally.npz")
