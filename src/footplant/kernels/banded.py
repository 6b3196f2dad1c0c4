"""Least squares over a whole clip: a few unknowns in each frame, rows that stay within a frame, and smooth curves.

    minimise Σ_f (x_fᵀ A_f x_f − 2 b_fᵀ x_f) + Σ_i bend_i |D²x_i|² + Σ_i speed_i |D¹x_i|²

x_f are the n unknowns of frame f, D¹ and D² first and second differences over frames. The normal matrix has half
bandwidth 2n, so that a Cholesky factorisation costs O(frames · n³).
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit


@jit
def solve_band(lower, values):
    """Solve a banded system in place, values (N,); return False if its matrix is not positive definite.

    lower (N, b+1): the matrix of half bandwidth b, column by column, its diagonal first; replaced by its factor.
    """
    count, width = values.shape[0], lower.shape[1] - 1
    for j in range(count):
        column = lower[j]
        if not column[0] > 0.0:
            return False
        scale = 1.0 / math.sqrt(column[0])
        last = min(width, count - 1 - j)
        for t in range(last + 1):
            column[t] *= scale
        values[j] *= scale
        known = values[j]
        for u in range(1, last + 1):
            factor = column[u]
            if factor == 0.0:
                continue
            values[j + u] -= factor * known
            below = lower[j + u]
            for t in range(last + 1 - u):
                below[t] -= factor * column[t + u]
    for j in range(count - 1, -1, -1):
        column = lower[j]
        value = values[j]
        for t in range(1, min(width, count - 1 - j) + 1):
            value -= column[t] * values[j + t]
        values[j] = value / column[0]
    return True


@jit
def fill_clip(squares, vectors, bend, speed, lower, out):
    """Write the normal matrix of half bandwidth 2n to lower (F·n, 2n+1), as `solve_band` takes it, and b to out (F, n).

    squares (F, n, n): A, of which the lower triangle is read; vectors (F, n): b; bend, speed (n,).
    """
    frames, n = vectors.shape
    width = 2 * n
    for f in range(frames):
        # how many second and first differences this frame takes part in, and with which coefficients
        second = (f < frames - 2) + 4.0 * (1 <= f < frames - 1) + (f >= 2)
        first = (f < frames - 1) + (f >= 1)
        beside = -2.0 * ((f < frames - 2) + (1 <= f < frames - 1))
        for a in range(n):
            column = lower[f * n + a]
            column[:] = 0.0
            for c in range(a, n):
                column[c - a] = squares[f, c, a]
            column[0] += bend[a] * second + speed[a] * first
            if f < frames - 1:
                column[n] += bend[a] * beside - speed[a]
            if f < frames - 2:
                column[width] = bend[a]
            out[f, a] = vectors[f, a]


@jit
def solve_clip(squares, vectors, bend, speed, lower, out):
    """Write the minimiser (F, n); return False if the matrix is not positive definite. Arguments: see `fill_clip`."""
    fill_clip(squares, vectors, bend, speed, lower, out)
    return solve_band(lower, out.reshape(out.size))


@jit
def add_acceleration_row(lower, out, frame, unknown, weight, still, lever, wanted):
    """Add weight·(still·x_f + lever·(x_{f−1} − 2x_f + x_{f+1}) − wanted)² of one unknown to equations of `fill_clip`.

    A row of a position and an acceleration: of a zero-moment point, or of a flight. 0 < frame < F − 1.
    """
    n = out.shape[1]
    middle = still - 2.0 * lever
    at = frame * n + unknown
    lower[at, 0] += weight * middle * middle
    lower[at - n, 0] += weight * lever * lever
    lower[at + n, 0] += weight * lever * lever
    lower[at - n, n] += weight * lever * middle
    lower[at, n] += weight * lever * middle
    lower[at - n, 2 * n] += weight * lever * lever
    out[frame - 1, unknown] += weight * lever * wanted
    out[frame, unknown] += weight * middle * wanted
    out[frame + 1, unknown] += weight * lever * wanted


@jit
def fix_unknown(lower, values, at, known):
    """Make one unknown known in a banded system as `solve_band` takes it: its column moves to the right-hand side.

    Exact, unlike a row of large weight, and cheaper: `solve_band` skips what is zero.
    """
    count, width = values.shape[0], lower.shape[1] - 1
    for t in range(1, min(width, count - 1 - at) + 1):
        values[at + t] -= lower[at, t] * known
        lower[at, t] = 0.0
    for u in range(1, min(width, at) + 1):
        values[at - u] -= lower[at - u, u] * known
        lower[at - u, u] = 0.0
    lower[at, 0], values[at] = 1.0, known


WARMUP = {
    "solve_clip": lambda: (
        np.ones((3, 1, 1)), np.ones((3, 1)), np.ones(1), np.ones(1), np.empty((3, 3)), np.empty((3, 1))
    ),
}  # fmt: skip
