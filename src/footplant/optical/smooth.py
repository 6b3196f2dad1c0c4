"""Smooth a whole take at once: marker misfits of every frame and small accelerations, in one banded system.

Frames solved one by one follow the noise of their markers. Over the whole clip a displacement of all poses minimises
Σ (pose objective of each frame) + Σ |ẍ/a|²: the frames' normal equations along the diagonal, second differences beside
it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.optical.body import MarkerBody, Poses, pose_markers
from footplant.optical.calibration import Calibration
from footplant.optical.pose import normal_equations
from footplant.optical.settings import SMOOTHING


def smooth_poses(body: MarkerBody, calibration: Calibration, targets: NDArray, poses: Poses, fps: float) -> Poses:
    """Return poses that follow the markers smoothly; targets (F, M, 3) metres, NaN where hidden."""
    bones = body.bones(calibration.lengths)
    count, window, overlap = len(targets), SMOOTHING.window, SMOOTHING.overlap
    if count < 3:
        return poses
    for _ in range(SMOOTHING.rounds):
        step, weight = np.zeros((count, 3 + 3 * len(body.active))), np.zeros((count, 1))
        for start in range(0, max(count - overlap, 1), window - overlap):
            rows = slice(start, min(start + window, count))
            here = poses[rows]
            seen = pose_markers(body, bones, calibration.offsets, here)
            hessian, gradient, _ = normal_equations(
                body, seen, here, targets[rows], calibration.prior, spread=calibration.skin,
                outlier=calibration.outlier,
            )  # fmt: skip
            length = len(here)
            fade = np.minimum(np.arange(1, length + 1), np.arange(length, 0, -1)).clip(max=overlap)[:, None]
            # only one window covers the take's ends, so the fade cancels there
            step[rows] += fade * _displacement(body, hessian, gradient, here, fps)
            weight[rows] += fade
        poses = poses.moved(step / weight, body.active)
    return poses


def _displacement(body: MarkerBody, hessian: NDArray, gradient: NDArray, poses: Poses, fps: float) -> NDArray:
    """Return (F, D) the step of all poses at once."""
    from scipy.linalg import solveh_banded

    count, size = gradient.shape
    deviations = np.concatenate([np.full(3, SMOOTHING.travelling), np.full(size - 3, SMOOTHING.turning)])
    precision = deviations**-2.0 * fps**4
    local = poses.rotations[:, body.active]
    turned = rotation.log(rotation.multiply(rotation.inverse(local[:-1]), local[1:]))
    speed = np.concatenate([np.diff(poses.root, axis=0), turned.reshape(count - 1, -1)], axis=1)
    bend = np.diff(speed, axis=0)
    right = -np.array(gradient)
    for shift, share in ((0, 1.0), (1, -2.0), (2, 1.0)):
        right[shift : shift + count - 2] -= share * precision * bend
    band = np.zeros((2 * size + 1, count, size))
    below = np.arange(size)
    for offset in range(size):
        # entry (j + offset, j) of every frame's own block, in lower banded storage
        band[offset, :, : size - offset] = hessian[:, below[offset:], below[: size - offset]]
    # second differences: the outer product of (1, −2, 1), summed over overlapping frames
    for first, share in ((0, 1.0), (1, -2.0), (2, 1.0)):
        band[0, first : first + count - 2] += share * share * precision
    band[size, : count - 2] -= 2.0 * precision
    band[size, 1 : count - 1] -= 2.0 * precision
    band[2 * size, : count - 2] += precision
    return solveh_banded(band.reshape(2 * size + 1, -1), right.ravel(), lower=True).reshape(count, size)
