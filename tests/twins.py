"""NumPy twins of the compiled kernels: the same mathematics written once more, vectorised over frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation


def exp_numpy(vectors: NDArray) -> NDArray:
    """The unit quaternions (N, 4) of rotation vectors (N, 3)."""
    square = np.sum(vectors * vectors, axis=-1, keepdims=True)
    small = square < 1e-12
    angle = np.sqrt(np.where(small, 1.0, square))
    scale = np.where(small, 0.5 - square / 48.0, np.sin(0.5 * angle) / angle)
    return np.concatenate([np.where(small, 1.0 - square / 8.0, np.cos(0.5 * angle)), scale * vectors], axis=-1)


def log_numpy(quaternions: NDArray) -> NDArray:
    """The rotation vectors (N, 3) of unit quaternions (N, 4), the short way round."""
    quaternions = np.where(quaternions[:, :1] < 0, -quaternions, quaternions)
    w, u = quaternions[:, :1], quaternions[:, 1:]
    sine = np.linalg.norm(u, axis=-1, keepdims=True)
    small = sine < 1e-8
    around = 2.0 * np.arctan2(sine, w) / np.where(small, 1.0, sine)
    return np.where(small, 2.0 / np.where(w > 0.5, w, 1.0), around) * u


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
