"""NumPy twins of the compiled kernels: the same mathematics written once more, vectorised over frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation


def forward_numpy(parents: ArrayLike, offsets: ArrayLike, root: ArrayLike, local: ArrayLike) -> tuple[NDArray, NDArray]:
    """Forward kinematics: world positions (F, J, 3) and rotations (F, J, 4).

    parents (J,); offsets (J, 3), (1, J, 3) or (F, J, 3); root (F, 3); local (F, J, 4).
    """
    parents, local = np.asarray(parents), np.asarray(local, float)
    frames, joints = local.shape[:2]
    offsets = np.broadcast_to(np.asarray(offsets, float), (frames, joints, 3))
    positions, rotations = np.empty((frames, joints, 3)), np.empty((frames, joints, 4))
    positions[:, 0], rotations[:, 0] = root, local[:, 0]
    for joint in range(1, joints):
        parent = parents[joint]
        positions[:, joint] = positions[:, parent] + rotation.rotate(rotations[:, parent], offsets[:, joint])
        rotations[:, joint] = rotation.multiply(rotations[:, parent], local[:, joint])
    return positions, rotations
