"""Compiled rows that tie the rotations of a foot in neighbouring frames: what they cost, and their linearisation.

A row is of a frame f and the next: its residual is e_{f+1} − e_f − m, with e = exp(x) a, x the foot's rotation vector,
a the arm from the planted point to a joint and m the way that the joint goes. See `foot_curves`.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import exp, rotate


@jit
def end_of(x, arm):
    """Return exp(x) a."""
    w, i, j, k = exp(x[0], x[1], x[2])
    return rotate(w, i, j, k, arm[0], arm[1], arm[2])


@jit
def cost(rows, before, after, moves, weights, x):
    """Return Σ w |residual|² of rows (n,) with arms (n, 3) in both frames and ways (n, 3), metres, at x (F, 3)."""
    total = 0.0
    for n in range(rows.shape[0]):
        ax, ay, az = end_of(x[rows[n]], before[n])
        bx, by, bz = end_of(x[rows[n] + 1], after[n])
        dx, dy, dz = bx - ax - moves[n, 0], by - ay - moves[n, 1], bz - az - moves[n, 2]
        total += weights[n] * (dx * dx + dy * dy + dz * dz)
    return total


@jit
def linearise(x, arm, slope):
    """Write ∂(exp(x) a)/∂x = −[exp(x) a]× J_l(x) to slope (3, 3); return exp(x) a − slope x.

    J_l, the left Jacobian, is I + (1 − cos θ)/θ² [x]× + (θ − sin θ)/θ³ [x]×², θ = |x|.
    """
    ex, ey, ez = end_of(x, arm)
    vx, vy, vz = x[0], x[1], x[2]
    square = vx * vx + vy * vy + vz * vz
    first, second = 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
    if square > 1e-4:
        angle = math.sqrt(square)
        first, second = (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (angle * square)
    left_x = left_y = left_z = 0.0
    for k in range(3):
        ux, uy, uz = 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0
        # J u = u + first (v × u) + second (v × (v × u))
        cx, cy, cz = vy * uz - vz * uy, vz * ux - vx * uz, vx * uy - vy * ux
        jx = ux + first * cx + second * (vy * cz - vz * cy)
        jy = uy + first * cy + second * (vz * cx - vx * cz)
        jz = uz + first * cz + second * (vx * cy - vy * cx)
        slope[0, k], slope[1, k], slope[2, k] = jy * ez - jz * ey, jz * ex - jx * ez, jx * ey - jy * ex
        left_x += slope[0, k] * x[k]
        left_y += slope[1, k] * x[k]
        left_z += slope[2, k] * x[k]
    return ex - left_x, ey - left_y, ez - left_z


@jit
def add_rows(rows, before, after, moves, weights, x, squares, vectors, ties):
    """Add the rows, linearised at x (F, 3), to squares (F, 3, 3), vectors (F, 3) and ties (F − 1, 3, 3)."""
    here, there, wanted = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for n in range(rows.shape[0]):
        f, weight = rows[n], weights[n]
        ax, ay, az = linearise(x[f], before[n], here)
        bx, by, bz = linearise(x[f + 1], after[n], there)
        wanted[0], wanted[1], wanted[2] = moves[n, 0] - (bx - ax), moves[n, 1] - (by - ay), moves[n, 2] - (bz - az)
        for i in range(3):
            for k in range(3):
                vectors[f, i] -= weight * here[k, i] * wanted[k]
                vectors[f + 1, i] += weight * there[k, i] * wanted[k]
                for j in range(3):
                    squares[f, i, j] += weight * here[k, i] * here[k, j]
                    squares[f + 1, i, j] += weight * there[k, i] * there[k, j]
                    ties[f, i, j] -= weight * there[k, i] * here[k, j]


def _rows():
    return (
        np.zeros(1, np.int64), np.ones((1, 3)), np.ones((1, 3)), np.zeros((1, 3)), np.ones(1), np.zeros((2, 3)),
    )  # fmt: skip


WARMUP = {
    "cost": _rows,
    "add_rows": lambda: (*_rows(), np.zeros((2, 3, 3)), np.zeros((2, 3)), np.zeros((1, 3, 3))),
}
