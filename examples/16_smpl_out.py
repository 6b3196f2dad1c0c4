"""SMPL parameters of any motion: retarget it to SMPL's skeleton and write poses (frames, 72) and trans (frames, 3)."""

import numpy as np

import footplant
from footplant.rotation import log

np.savez("rest.npz", poses=np.zeros((2, 72)), trans=np.zeros((2, 3)), mocap_framerate=30)
smpl = footplant.load("rest.npz").character  # the mean body; a file with betas gives a person's
result = footplant.retarget("sample:kick", smpl)  # or "walk.bvh"
motion = result.motion
trans, poses = motion.root - smpl.skeleton.offsets[0], log(motion.rotations[:, :24]).reshape(len(motion), -1)
np.savez("kick_smpl.npz", poses=poses, trans=trans, mocap_framerate=motion.fps)
print(result.status, poses.shape, footplant.load("kick_smpl.npz"))
print("wrote kick_smpl.npz")
