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
def _dot(a, b, count):
    """Return the dot product of the first `count` entries, in four partial sums."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    quarter = count // 4 * 4
    for k in range(0, quarter, 4):
        first += a[k] * b[k]
        second += a[k + 1] * b[k + 1]
        third += a[k + 2] * b[k + 2]
        fourth += a[k + 3] * b[k + 3]
    for k in range(quarter, count):
        first += a[k] * b[k]
    return (first + second) + (third + fourth)


@jit
def solve_clip(squares, vectors, bend, speed, lower, out):
    """Write the minimiser (F, n); return False if the matrix is not positive definite.

    squares (F, n, n): A, of which the lower triangle is read; vectors (F, n): b; bend, speed (n,); lower (F·n, 2n+1):
    workspace for the factor, row by row, its diagonal last.
    """
    frames, n = vectors.shape
    width = 2 * n
    for f in range(frames):
        # how many second and first differences this frame takes part in, and with which coefficients
        second = (f < frames - 2) + 4.0 * (1 <= f < frames - 1) + (f >= 2)
        first = (f < frames - 1) + (f >= 1)
        beside = -2.0 * ((1 <= f < frames - 1) + (f >= 2))
        for a in range(n):
            i = f * n + a
            row = lower[i]
            row[:] = 0.0
            for c in range(a):
                row[width - a + c] = squares[f, a, c]
            row[width] = squares[f, a, a] + bend[a] * second + speed[a] * first
            if f >= 1:
                row[width - n] = bend[a] * beside - speed[a]
            if f >= 2:
                row[0] = bend[a]
            start = max(i - width, 0)
            for j in range(start, i):
                # columns that both rows have
                left = max(j - width, start)
                count = j - left
                value = row[j - i + width]
                if count > 0:
                    value -= _dot(row[left - i + width :], lower[j, left - j + width :], count)
                row[j - i + width] = value / lower[j, width]
            total = row[width] - _dot(row, row, width)
            if not total > 0.0:
                return False
            row[width] = math.sqrt(total)
            value = vectors[f, a]
            for j in range(start, i):
                value -= row[j - i + width] * out[j // n, j % n]
            out[f, a] = value / row[width]
    for i in range(frames * n - 1, -1, -1):
        row = lower[i]
        value = out[i // n, i % n] / row[width]
        out[i // n, i % n] = value
        for j in range(max(i - width, 0), i):
            out[j // n, j % n] -= row[j - i + width] * value
    return True


WARMUP = {
    "solve_clip": lambda: (
        np.ones((3, 1, 1)), np.ones((3, 1)), np.ones(1), np.ones(1), np.empty((3, 3)), np.empty((3, 1))
    ),
}  # fmt: skip
