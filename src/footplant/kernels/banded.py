"""Least squares over a whole clip: a few unknowns in each frame, rows that stay within a frame, and smooth curves.

    minimise Σ_f (x_fᵀ A_f x_f − 2 b_fᵀ x_f) + Σ_i bend_i |D²x_i|² + Σ_i speed_i |D¹x_i|²

x_f are the n unknowns of frame f, D¹ and D² first and second differences over frames. The normal matrix has half
bandwidth 2n, so that a Cholesky factorisation costs O(frames · n³). Unknowns whose values are given are left out of it:
three in thirteen of each frame halve the time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit

SPARE = 6
"""Zeros after each column of a band, so that tiles of four rows by four columns may reach over its end."""


class Band(NamedTuple):
    """A normal matrix of F frames times n unknowns, N of which are solved for."""

    lower: NDArray
    """(F·n, 2n + 1 + SPARE) column by column, each diagonal first; zero outside of the rows' `firsts`."""
    values: NDArray
    """(F·n,) right-hand side, then solution."""
    numbers: NDArray
    """(F, n) int64; number of each unknown among those that are solved for; −1 − the next such number where its value
    is given."""
    firsts: NDArray
    """(F·n,) int64; first column of each row that is not zero; none is less than that of the row before."""
    free: NDArray
    """(n + 1,) int64; the unknowns of a frame that are solved for."""
    count: int
    """N."""


def band_room(frames: int, n: int, given: NDArray | None = None) -> Band:
    """Return the room for `frames` times n unknowns. given (F, n) bool: those whose values are given; None: none."""
    free = np.ones((frames, n), bool) if given is None else ~given
    after = free.cumsum().reshape(frames, n) - free
    # the rows of an unknown begin with the second difference that it shares with the second frame before
    firsts = np.zeros(frames * n, np.int64)
    firsts[after[2:][free[2:]]] = after[:-2][free[2:]]
    return Band(
        np.zeros((frames * n, 2 * n + 1 + SPARE)), np.empty(frames * n), np.where(free, after, -1 - after), firsts,
        np.empty(n + 1, np.int64), int(free.sum()),
    )  # fmt: skip


@jit
def following(band, frame, unknown):
    """Return the number of the first unknown from one of a frame on that is solved for."""
    number = band.numbers[frame, unknown]
    return number if number >= 0 else -1 - number


@jit
def _tile(flat, row, column, skip, count):
    """Return Σ_k L_rk L_ck of four rows by four columns, row by row: count columns k of a band, `skip` apart.

    row, column: where the first entries of the first k are; unsigned, so that no index is tested for its sign.
    """
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    x00 = x01 = x02 = x03 = x10 = x11 = x12 = x13 = 0.0
    x20 = x21 = x22 = x23 = x30 = x31 = x32 = x33 = 0.0
    for _ in range(count):
        a0, a1, a2, a3 = flat[row], flat[row + one], flat[row + two], flat[row + three]
        b0, b1, b2, b3 = flat[column], flat[column + one], flat[column + two], flat[column + three]
        x00, x01, x02, x03 = x00 + a0 * b0, x01 + a0 * b1, x02 + a0 * b2, x03 + a0 * b3
        x10, x11, x12, x13 = x10 + a1 * b0, x11 + a1 * b1, x12 + a1 * b2, x13 + a1 * b3
        x20, x21, x22, x23 = x20 + a2 * b0, x21 + a2 * b1, x22 + a2 * b2, x23 + a2 * b3
        x30, x31, x32, x33 = x30 + a3 * b0, x31 + a3 * b1, x32 + a3 * b2, x33 + a3 * b3
        row += skip
        column += skip
    return (x00, x01, x02, x03), (x10, x11, x12, x13), (x20, x21, x22, x23), (x30, x31, x32, x33)


@jit
def _factor_row(flat, at, skip, less, corner, known):
    """Write four entries of a row of the factor; return what they take from the right-hand side.

    at: where the first of them is; less: their sums of products; corner: the factor's own four rows and inverse
    diagonals; known (4): the right-hand side of those.
    """
    l10, l20, l21, l30, l31, l32, s0, s1, s2, s3 = corner
    second, third, fourth = at + skip, at + skip + skip, at + skip + skip + skip
    x = (flat[at] - less[0]) * s0
    y = (flat[second] - less[1] - l10 * x) * s1
    z = (flat[third] - less[2] - l20 * x - l21 * y) * s2
    w = (flat[fourth] - less[3] - l30 * x - l31 * y - l32 * z) * s3
    flat[at], flat[second], flat[third], flat[fourth] = x, y, z, w
    return x * known[0] + y * known[1] + z * known[2] + w * known[3]


@jit
def _first_columns(lower, values, count, few):
    """Factor the columns before the first four of `solve_band`; return False if one is not positive definite."""
    width = lower.shape[1] - 1 - SPARE
    for j in range(few):
        column = lower[j]
        if not column[0] > 0.0:
            return False
        scale = 1.0 / math.sqrt(column[0])
        last = min(width, count - 1 - j)
        for t in range(last + 1):
            column[t] *= scale
        values[j] *= scale
        for t in range(1, last + 1):
            values[j + t] -= column[t] * values[j]
        for u in range(1, min(few - j, last + 1)):
            for t in range(last + 1 - u):
                lower[j + u, t] -= column[u] * column[t + u]
    return True


@jit
def factor_columns(band, start, stop):
    """Factor the columns start … stop − 1 in place, by fours; return that to go on from, −1 if it fails.

    It fails if the matrix is not positive definite. Columns before are factored already; columns that follow need not
    be written yet. Tiles of four by four keep their sums in registers: twice as fast as column by column.
    """
    lower, values, firsts, count = band.lower, band.values, band.firsts, band.count
    stride = lower.shape[1]
    flat = lower.reshape(lower.size)
    # from an entry to its neighbour in the same row, and to that on the diagonal
    skip, down = np.uintp(stride - 1), np.uintp(stride)
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    if start == 0:
        start = count % 4
        if stop < start:
            return 0
        if not _first_columns(lower, values, count, start):
            return -1
    while start + 4 <= stop:
        first = firsts[start]
        at = np.uintp(first * (stride - 1) + start)
        r0, r1, r2, r3 = _tile(flat, at, at, skip, start - first)
        at = np.uintp(start * stride)
        square = flat[at] - r0[0]
        if not square > 0.0:
            return -1
        s0 = 1.0 / math.sqrt(square)
        l10, l20, l30 = (flat[at + one] - r1[0]) * s0, (flat[at + two] - r2[0]) * s0, (flat[at + three] - r3[0]) * s0
        flat[at], flat[at + one], flat[at + two], flat[at + three] = square * s0, l10, l20, l30
        at += down
        square = flat[at] - r1[1] - l10 * l10
        if not square > 0.0:
            return -1
        s1 = 1.0 / math.sqrt(square)
        l21, l31 = (flat[at + one] - r2[1] - l20 * l10) * s1, (flat[at + two] - r3[1] - l30 * l10) * s1
        flat[at], flat[at + one], flat[at + two] = square * s1, l21, l31
        at += down
        square = flat[at] - r2[2] - l20 * l20 - l21 * l21
        if not square > 0.0:
            return -1
        s2 = 1.0 / math.sqrt(square)
        l32 = (flat[at + one] - r3[2] - l30 * l20 - l31 * l21) * s2
        flat[at], flat[at + one] = square * s2, l32
        at += down
        square = flat[at] - r3[3] - l30 * l30 - l31 * l31 - l32 * l32
        if not square > 0.0:
            return -1
        s3 = 1.0 / math.sqrt(square)
        flat[at] = square * s3
        corner = (l10, l20, l21, l30, l31, l32, s0, s1, s2, s3)
        v0 = values[start] * s0
        v1 = (values[start + 1] - l10 * v0) * s1
        v2 = (values[start + 2] - l20 * v0 - l21 * v1) * s2
        v3 = (values[start + 3] - l30 * v0 - l31 * v1 - l32 * v2) * s3
        known = (v0, v1, v2, v3)
        values[start], values[start + 1], values[start + 2], values[start + 3] = known
        for row in range(start + 4, count, 4):
            first = firsts[row]
            if first >= start + 4:
                break
            at, beside = np.uintp(first * (stride - 1) + row), np.uintp(first * (stride - 1) + start)
            r0, r1, r2, r3 = _tile(flat, at, beside, skip, start - first)
            at = np.uintp(start * (stride - 1) + row)
            values[row] -= _factor_row(flat, at, skip, r0, corner, known)
            values[row + 1] -= _factor_row(flat, at + one, skip, r1, corner, known)
            values[row + 2] -= _factor_row(flat, at + two, skip, r2, corner, known)
            values[row + 3] -= _factor_row(flat, at + three, skip, r3, corner, known)
        start += 4
    return start


@jit
def substitute_back(band):
    """Solve the system whose columns are factored: the solution is in band.values."""
    lower, values, firsts, count = band.lower, band.values, band.firsts, band.count
    end = count - 1
    for j in range(count - 1, -1, -1):
        while firsts[end] > j:
            end -= 1
        column, last = lower[j], end - j
        odd = even = 0.0
        for t in range(1, last, 2):
            odd += column[t] * values[j + t]
            even += column[t + 1] * values[j + t + 1]
        if last % 2:
            odd += column[last] * values[j + last]
        values[j] = (values[j] - odd - even) / column[0]


@jit
def solve_band(band):
    """Solve the banded system; return False if its matrix is not positive definite.

    band.lower is replaced by its factor, band.values by the solution.
    """
    if factor_columns(band, 0, band.count) < 0:
        return False
    substitute_back(band)
    return True


@jit
def fill_frame(square, vector, frame, bend, speed, known, band):
    """Write the columns of one frame of the normal matrix, as `solve_band` takes it, and add its right-hand side.

    square (n, n): A, of which the lower triangle is read; vector (n,): b; bend, speed (n,); known (F, n): the values of
    unknowns that are given.
    """
    frames, n = known.shape
    numbers, free = band.numbers, band.free
    # how many second and first differences this frame takes part in, and with which coefficients
    second = (frame < frames - 2) + 4.0 * (1 <= frame < frames - 1) + (frame >= 2)
    first = (frame < frames - 1) + (frame >= 1)
    beside = -2.0 * ((frame < frames - 2) + (1 <= frame < frames - 1))
    before = -2.0 * ((1 <= frame < frames - 1) + (frame >= 2))
    count = 0
    for a in range(n):
        free[count] = a
        count += numbers[frame, a] >= 0
    if count == 0:
        return
    start = numbers[frame, free[0]]
    for i in range(count):
        a = free[i]
        column = band.lower[start + i]
        for k in range(i, count):
            column[k - i] = square[free[k], a]
        # what the factor of an earlier system has filled
        last = band.count - 1 if frame + 2 >= frames else following(band, frame + 2, a)
        column[count - i : last + 1 - start - i] = 0.0
        column[0] += bend[a] * second + speed[a] * first
        value = vector[a]
        if frame < frames - 1:
            other, weight = numbers[frame + 1, a], bend[a] * beside - speed[a]
            if other >= 0:
                column[other - start - i] += weight
            else:
                value -= weight * known[frame + 1, a]
        if frame < frames - 2:
            other = numbers[frame + 2, a]
            if other >= 0:
                column[other - start - i] = bend[a]
            else:
                value -= bend[a] * known[frame + 2, a]
        if frame >= 1 and numbers[frame - 1, a] < 0:
            value -= (bend[a] * before - speed[a]) * known[frame - 1, a]
        if frame >= 2 and numbers[frame - 2, a] < 0:
            value -= bend[a] * known[frame - 2, a]
        band.values[start + i] += value
    if count < n:
        for c in range(n):
            if numbers[frame, c] < 0:
                for i in range(count):
                    a = free[i]
                    band.values[start + i] -= square[max(a, c), min(a, c)] * known[frame, c]


@jit
def write_solution(band, out):
    """Write the unknowns that were solved for to out (F, n)."""
    for f in range(out.shape[0]):
        for a in range(out.shape[1]):
            if band.numbers[f, a] >= 0:
                out[f, a] = band.values[band.numbers[f, a]]


@jit
def solve_clip(squares, vectors, bend, speed, band, out):
    """Write the minimiser (F, n); return False if the matrix is not positive definite.

    squares (F, n, n), vectors (F, n): of all frames; band: of `band_room`; the other arguments: see `fill_frame`.
    """
    start = 0
    band.values[:] = 0.0
    for f in range(vectors.shape[0]):
        fill_frame(squares[f], vectors[f], f, bend, speed, out, band)
        start = factor_columns(band, start, (f + 1) * out.shape[1])
        if start < 0:
            return False
    substitute_back(band)
    write_solution(band, out)
    return True


@jit
def solve_tied(squares, ties, vectors, bend, speed, band, out):
    """Write the minimiser (F, n) with 2 x_{f+1}ᵀ T_f x_f on top; return False if the matrix is not positive definite.

    ties (F − 1, n, n): T, of rows that take part in two frames; what they add to A and b is in squares and vectors. No
    unknown is given. See `solve_clip`.
    """
    start, n = 0, out.shape[1]
    band.values[:] = 0.0
    for f in range(vectors.shape[0]):
        fill_frame(squares[f], vectors[f], f, bend, speed, out, band)
        if f < ties.shape[0]:
            for a in range(n):
                for b in range(n):
                    band.lower[f * n + a, n + b - a] += ties[f, b, a]
        start = factor_columns(band, start, (f + 1) * n)
        if start < 0:
            return False
    substitute_back(band)
    write_solution(band, out)
    return True


@jit
def add_acceleration_row(band, frame, unknown, weight, still, lever, wanted):
    """Add weight·(still·x_f + lever·(x_{f−1} − 2x_f + x_{f+1}) − wanted)² of one unknown to equations of `fill_frame`.

    A row of a position and an acceleration: of a zero-moment point, or of a flight. 0 < frame < F − 1; the unknown is
    given in none of the three frames.
    """
    middle = still - 2.0 * lever
    before, at, after = band.numbers[frame - 1, unknown], band.numbers[frame, unknown], band.numbers[frame + 1, unknown]
    band.lower[at, 0] += weight * middle * middle
    band.lower[before, 0] += weight * lever * lever
    band.lower[after, 0] += weight * lever * lever
    band.lower[before, at - before] += weight * lever * middle
    band.lower[at, after - at] += weight * lever * middle
    band.lower[before, after - before] += weight * lever * lever
    band.values[before] += weight * lever * wanted
    band.values[at] += weight * middle * wanted
    band.values[after] += weight * lever * wanted


WARMUP = {
    "solve_tied": lambda: (
        np.ones((3, 1, 1)), np.zeros((2, 1, 1)), np.ones((3, 1)), np.ones(1), np.ones(1), band_room(3, 1),
        np.empty((3, 1)),
    ),
}  # fmt: skip
