"""Kernels of `robot`: the point of a support polygon that is nearest to another point, and momenta."""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.hull import convex_hull


@uncounted_jit
def nearest_in_support(corners, counts, points, order, hull, out):
    """Write the points (F, 2) of the hulls of corners (F, N, 2) nearest to points (F, 2): themselves if inside.

    counts (F,): how many corners each frame has; where there are none, nothing is written.
    order (N,) and hull (2N,): int64, workspace.
    """
    for f in range(corners.shape[0]):
        if counts[f] == 0:
            continue
        around = corners[f]
        size = convex_hull(around, counts[f], order, hull)
        x, y = points[f, 0], points[f, 1]
        best, inside = 1e300, size > 2
        for k in range(size):
            ax, ay = around[hull[k], 0], around[hull[k], 1]
            bx, by = around[hull[(k + 1) % size], 0] - ax, around[hull[(k + 1) % size], 1] - ay
            if bx * (y - ay) - by * (x - ax) < 0.0:
                inside = False
            square = bx * bx + by * by
            share = min(max(((x - ax) * bx + (y - ay) * by) / square, 0.0), 1.0) if square > 1e-18 else 0.0
            px, py = ax + share * bx, ay + share * by
            away = (px - x) ** 2 + (py - y) ** 2
            if away < best:
                best = away
                out[f, 0], out[f, 1] = px, py
        if inside:
            out[f, 0], out[f, 1] = x, y


@jit
def centers_of_mass(at, turn, owners, places, masses, out):
    """Write the centre of mass (F, 3) of bodies of masses (B,) at places (B, 3) of their links, owners (B,)."""
    total = max(masses.sum(), 1e-12)
    for f in range(at.shape[0]):
        for i in range(3):
            out[f, i] = 0.0
        for b in range(owners.shape[0]):
            link, share = owners[b], masses[b] / total
            for i in range(3):
                point = at[f, link, i]
                for j in range(3):
                    point += turn[f, link, i, j] * places[b, j]
                out[f, i] += share * point


@jit
def angular_momenta(at, turn, owners, places, masses, inertias, centers, fps, out):
    """Write the angular momenta (F − 1, 3) about the centre of mass between frames, kg·m²/s.

    inertias (B, 3, 3) in the links' axes, kg·m²; centers (F, 3); the rest as for `centers_of_mass`.
    """
    arm, velocity, spin, local = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for f in range(at.shape[0] - 1):
        for i in range(3):
            out[f, i] = 0.0
        for b in range(owners.shape[0]):
            link, mass = owners[b], masses[b]
            old, new = turn[f, link], turn[f + 1, link]
            for i in range(3):
                before, after = at[f, link, i] - centers[f, i], at[f + 1, link, i] - centers[f + 1, i]
                for j in range(3):
                    before += old[i, j] * places[b, j]
                    after += new[i, j] * places[b, j]
                arm[i], velocity[i] = 0.5 * (before + after), (after - before) * fps
                # the rotation vector of a small turn from frame to frame
                k, m = (i + 2) % 3, (i + 1) % 3
                twist = 0.0
                for j in range(3):
                    twist += new[k, j] * old[m, j] - new[m, j] * old[k, j]
                spin[i] = 0.5 * fps * twist
            for i in range(3):
                local[i] = old[0, i] * spin[0] + old[1, i] * spin[1] + old[2, i] * spin[2]
            for i in range(3):
                m, k = (i + 1) % 3, (i + 2) % 3
                value = mass * (arm[m] * velocity[k] - arm[k] * velocity[m])
                for j in range(3):
                    for n in range(3):
                        value += old[i, j] * inertias[b, j, n] * local[n]
                out[f, i] += value


def _two_frames():
    """Return the pose of one link at two frames, and one body on it."""
    one = np.array([0], np.int64)
    return np.zeros((2, 1, 3)), np.tile(np.eye(3), (2, 1, 1, 1)), one, np.zeros((1, 3)), np.ones(1)


WARMUP = {
    "centers_of_mass": lambda: (*_two_frames(), np.zeros((2, 3))),
    "angular_momenta": lambda: (*_two_frames(), np.ones((1, 3, 3)), np.zeros((2, 3)), 30.0, np.zeros((1, 3))),
    "nearest_in_support": lambda: (
        np.zeros((1, 3, 2)), np.array([3]), np.zeros((1, 2)), np.zeros(3, np.int64), np.zeros(6, np.int64),
        np.zeros((1, 2)),
    ),
}  # fmt: skip
