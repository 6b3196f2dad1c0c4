"""A whole take made smooth at once: what markers say of every frame, and how little people speed up, in one system.

Each frame by itself follows the noise of its markers. Over the whole clip, Σ (misfits, held turns) + Σ |ẍ/a|² is
minimised for a displacement of all poses (a spacetime problem whose constraints are the markers as wishes): the frames'
normal equations along the diagonal, second differences beside it, one banded system.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.optical.body import MarkerBody, Poses, see
from footplant.optical.pose import Prior, normal_equations

TURNING, TRAVELLING = 100.0, 15.0
"""rad/s² and m/s²; how fast people speed up, give or take."""
WINDOW, OVERLAP = 480, 60
"""Frames that are solved at once, and that two windows share: there one fades into the other."""
ROUNDS = 2
"""How often the system is set up anew."""


def smooth_poses(
    body: MarkerBody,
    bones: NDArray,
    offsets: NDArray,
    targets: NDArray,
    poses: Poses,
    fps: float,
    *,
    spread: NDArray,
    prior: Prior,
    outlier: NDArray,
) -> Poses:
    """Poses that follow the markers as smoothly as those allow; targets (F, M, 3), the rest as in `solve_poses`."""
    count = len(targets)
    if count < 3:
        return poses
    for _ in range(ROUNDS):
        step, weight = np.zeros((count, 3 + 3 * len(body.active))), np.zeros((count, 1))
        for start in range(0, max(count - OVERLAP, 1), WINDOW - OVERLAP):
            rows = slice(start, min(start + WINDOW, count))
            here = poses[rows]
            seen = see(body, bones, offsets, here)
            hessian, gradient, _ = normal_equations(
                body, seen, here, targets[rows], prior, spread=spread, outlier=outlier
            )
            length = len(here)
            fade = np.minimum(np.arange(1, length + 1), np.arange(length, 0, -1)).clip(max=OVERLAP)[:, None]
            # the ends of the take are nobody else's
            step[rows] += fade * _displacement(body, hessian, gradient, here, fps)
            weight[rows] += fade
        poses = poses.moved(step / weight, body.active)
    return poses


def _displacement(body: MarkerBody, hessian: NDArray, gradient: NDArray, poses: Poses, fps: float) -> NDArray:
    """(F, D) the step of all poses at once."""
    from scipy.linalg import solveh_banded

    count, size = gradient.shape
    firm = np.concatenate([np.full(3, TRAVELLING), np.full(size - 3, TURNING)]) ** -2.0 * fps**4
    local = poses.rotations[:, body.active]
    turned = rotation.log(rotation.multiply(rotation.inverse(local[:-1]), local[1:]))
    speed = np.concatenate([np.diff(poses.root, axis=0), turned.reshape(count - 1, -1)], axis=1)
    bend = np.diff(speed, axis=0)
    right = -np.array(gradient)
    for shift, share in ((0, 1.0), (1, -2.0), (2, 1.0)):
        right[shift : shift + count - 2] -= share * firm * bend
    band = np.zeros((2 * size + 1, count, size))
    below = np.arange(size)
    for offset in range(size):
        # entry (j + offset, j) of every frame's own block
        band[offset, :, : size - offset] = hessian[:, below[offset:], below[: size - offset]]
    # second differences: the squares of (1, −2, 1), which overlap
    for first, share in ((0, 1.0), (1, -2.0), (2, 1.0)):
        band[0, first : first + count - 2] += share * share * firm
    band[size, : count - 2] -= 2.0 * firm
    band[size, 1 : count - 1] -= 2.0 * firm
    band[2 * size, : count - 2] += firm
    return solveh_banded(band.reshape(2 * size + 1, -1), right.ravel(), lower=True).reshape(count, size)
