"""What motions are judged by, frame by frame: limits of joints, directions of bones, and how plants hold."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import log, multiply


@jit
def limit_excess(above, local, below, lower, upper, free, out):
    """Radians (F, J) by which joints are turned beyond their limits: see `humanoid.limit_violations`.

    above (J, 4) and below (J, 4) stand before and after the local rotations (F, J, 4) in the anatomical turn, whose
    vector has the limits lower and upper (J, 3). free (J,): no limit is nearer than the turn with this |w|.
    """
    for f in range(local.shape[0]):
        for j in range(local.shape[1]):
            w, x, y, z = multiply(
                above[j, 0], above[j, 1], above[j, 2], above[j, 3],
                local[f, j, 0], local[f, j, 1], local[f, j, 2], local[f, j, 3],
            )  # fmt: skip
            w, x, y, z = multiply(w, x, y, z, below[j, 0], below[j, 1], below[j, 2], below[j, 3])
            out[f, j] = 0.0
            if abs(w) >= free[j]:
                continue
            vx, vy, vz = log(w, x, y, z)
            ax = max(vx - upper[j, 0], lower[j, 0] - vx, 0.0)
            ay = max(vy - upper[j, 1], lower[j, 1] - vy, 0.0)
            az = max(vz - upper[j, 2], lower[j, 2] - vz, 0.0)
            out[f, j] = math.sqrt(ax * ax + ay * ay + az * az)


@jit
def bone_angles(ours, our_bones, theirs, their_bones, out):
    """Angles (F, B), radians, between bones (B, 2) of two figures, from their joints' places (F, J, 3)."""
    for f in range(out.shape[0]):
        for b in range(out.shape[1]):
            s, e = our_bones[b, 0], our_bones[b, 1]
            ax, ay, az = ours[f, e, 0] - ours[f, s, 0], ours[f, e, 1] - ours[f, s, 1], ours[f, e, 2] - ours[f, s, 2]
            s, e = their_bones[b, 0], their_bones[b, 1]
            bx = theirs[f, e, 0] - theirs[f, s, 0]
            by = theirs[f, e, 1] - theirs[f, s, 1]
            bz = theirs[f, e, 2] - theirs[f, s, 2]
            cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            out[f, b] = math.atan2(math.sqrt(cx * cx + cy * cy + cz * cz), ax * bx + ay * by + az * bz)


@jit
def plant_figures(tracks, plants, out):
    """How plants, rows (point, start, end), hold on tracks (F, P, 3): metres (N, 3).

    The largest horizontal distance from the mean place, the highest minus the lowest, and the mean horizontal way from
    a frame to the next (0 for a single frame).
    """
    for n in range(plants.shape[0]):
        p, start, end = plants[n, 0], plants[n, 1], plants[n, 2]
        x = z = way = 0.0
        low = high = tracks[start, p, 1]
        for f in range(start, end):
            x, z = x + tracks[f, p, 0], z + tracks[f, p, 2]
            low, high = min(low, tracks[f, p, 1]), max(high, tracks[f, p, 1])
            if f > start:
                dx, dz = tracks[f, p, 0] - tracks[f - 1, p, 0], tracks[f, p, 2] - tracks[f - 1, p, 2]
                way += math.sqrt(dx * dx + dz * dz)
        x, z = x / (end - start), z / (end - start)
        farthest = 0.0
        for f in range(start, end):
            dx, dz = tracks[f, p, 0] - x, tracks[f, p, 2] - z
            farthest = max(farthest, dx * dx + dz * dz)
        out[n, 0], out[n, 1], out[n, 2] = math.sqrt(farthest), high - low, way / max(end - start - 1, 1)


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


WARMUP = {
    "limit_excess": lambda: (
        np.zeros((1, 4)), _read_only(1, 1, 4), np.zeros((1, 4)), np.zeros((1, 3)), np.zeros((1, 3)), np.zeros(1),
        np.zeros((1, 1)),
    ),
    "bone_angles": lambda: (
        _read_only(1, 1, 3), np.zeros((1, 2), np.int64), _read_only(1, 1, 3), np.zeros((1, 2), np.int64),
        np.zeros((1, 1)),
    ),
    "plant_figures": lambda: (np.zeros((1, 1, 3)), np.zeros((1, 3), np.int64), np.zeros((1, 3))),
}  # fmt: skip
