"""Weighted means of poses, for whole motions and for single frames of a live character."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit


@jit
def mean_pose(rotations, weights, out):
    """Write the weighted mean of poses (n, J, 4) with weights (n, J) to out (J, 4).

    Quaternions are flipped to the hemisphere of the one with the largest weight (q and −q are one rotation), summed and
    normalised: the mean of Markley et al. (2007) to second order in the angles between them.
    """
    count, joints = rotations.shape[0], rotations.shape[1]
    for j in range(joints):
        heaviest, largest = 0, -1.0
        for m in range(count):
            if weights[m, j] > largest:
                heaviest, largest = m, weights[m, j]
        hw, hx, hy, hz = (
            rotations[heaviest, j, 0], rotations[heaviest, j, 1], rotations[heaviest, j, 2], rotations[heaviest, j, 3],
        )  # fmt: skip
        w = x = y = z = 0.0
        for m in range(count):
            share = weights[m, j]
            if share <= 0.0:
                continue
            qw, qx, qy, qz = rotations[m, j, 0], rotations[m, j, 1], rotations[m, j, 2], rotations[m, j, 3]
            if hw * qw + hx * qx + hy * qy + hz * qz < 0.0:
                share = -share
            w += share * qw
            x += share * qx
            y += share * qy
            z += share * qz
        norm = math.sqrt(w * w + x * x + y * y + z * z)
        if norm < 1e-9:
            w, x, y, z, norm = hw, hx, hy, hz, 1.0
        out[j, 0], out[j, 1], out[j, 2], out[j, 3] = w / norm, x / norm, y / norm, z / norm


@jit
def mean_poses(rotations, weights, out):
    """Apply `mean_pose` to every frame: (n, F, J, 4), (n, F, J) → (F, J, 4)."""
    for f in range(out.shape[0]):
        mean_pose(rotations[:, f], weights[:, f], out[f])


WARMUP = {"mean_poses": lambda: (np.ones((1, 1, 1, 4)), np.ones((1, 1, 1)), np.zeros((1, 1, 4)))}
