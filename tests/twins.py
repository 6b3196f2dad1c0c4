"""NumPy twins of the compiled kernels: the same mathematics written once more, vectorised over frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def multiply_numpy(a: NDArray, b: NDArray) -> NDArray:
    """The Hamilton product a·b of quaternions (…, 4)."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def rotate_numpy(quaternions: NDArray, vectors: NDArray) -> NDArray:
    """Vectors (…, 3) turned by unit quaternions (…, 4)."""
    w, x, y, z = np.moveaxis(quaternions, -1, 0)
    a, b, c = np.moveaxis(vectors, -1, 0)
    ta, tb, tc = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    turned = [a + w * ta + (y * tc - z * tb), b + w * tb + (z * ta - x * tc), c + w * tc + (x * tb - y * ta)]
    return np.stack(turned, axis=-1)


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
        positions[:, joint] = positions[:, parent] + rotate_numpy(rotations[:, parent], offsets[:, joint])
        rotations[:, joint] = multiply_numpy(rotations[:, parent], local[:, joint])
    return positions, rotations
