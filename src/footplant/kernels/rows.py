"""Quaternion operations on rows, rounded exactly as NumPy rounds them: a row's result does not depend on its batch.

`quaternion` has the same formulas for other kernels, where a·b + c may be fused.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import strict_jit
from footplant.kernels.quaternion import exp, log


@strict_jit
def multiply_rows(a, b, out):
    """Write out = a·b, row by row; (N, 4), (M, 4) → (max(N, M), 4), cycling through the rows of the shorter one."""
    i = j = 0
    for row in range(out.shape[0]):
        aw, ax, ay, az = a[i, 0], a[i, 1], a[i, 2], a[i, 3]
        bw, bx, by, bz = b[j, 0], b[j, 1], b[j, 2], b[j, 3]
        out[row, 0] = aw * bw - ax * bx - ay * by - az * bz
        out[row, 1] = aw * bx + ax * bw + ay * bz - az * by
        out[row, 2] = aw * by - ax * bz + ay * bw + az * bx
        out[row, 3] = aw * bz + ax * by - ay * bx + az * bw
        i = i + 1 if i + 1 < a.shape[0] else 0
        j = j + 1 if j + 1 < b.shape[0] else 0


@strict_jit
def rotate_rows(quaternions, vectors, out):
    """Write rotated vectors, row by row; (N, 4), (M, 3) → (max(N, M), 3), cycling through the shorter one."""
    i = j = 0
    for row in range(out.shape[0]):
        w, x, y, z = quaternions[i, 0], quaternions[i, 1], quaternions[i, 2], quaternions[i, 3]
        a, b, c = vectors[j, 0], vectors[j, 1], vectors[j, 2]
        ta, tb, tc = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
        out[row, 0] = a + w * ta + (y * tc - z * tb)
        out[row, 1] = b + w * tb + (z * ta - x * tc)
        out[row, 2] = c + w * tc + (x * tb - y * ta)
        i = i + 1 if i + 1 < quaternions.shape[0] else 0
        j = j + 1 if j + 1 < vectors.shape[0] else 0


@strict_jit
def normalize_rows(quaternions, out):
    """Write each row (N, 4) divided by its norm; a row of zero or NaN norm becomes the identity."""
    for i in range(quaternions.shape[0]):
        w, x, y, z = quaternions[i, 0], quaternions[i, 1], quaternions[i, 2], quaternions[i, 3]
        norm = math.sqrt(w * w + x * x + y * y + z * z)
        if norm > 0.0:
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w / norm, x / norm, y / norm, z / norm
        else:
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = 1.0, 0.0, 0.0, 0.0


@strict_jit
def exp_rows(vectors, out):
    """Write the unit quaternions (N, 4) of rotation vectors (N, 3)."""
    for i in range(vectors.shape[0]):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = exp(vectors[i, 0], vectors[i, 1], vectors[i, 2])


@strict_jit
def log_rows(quaternions, out):
    """Write the rotation vectors (N, 3) of unit quaternions (N, 4), the short way round."""
    for i in range(quaternions.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = log(
            quaternions[i, 0], quaternions[i, 1], quaternions[i, 2], quaternions[i, 3]
        )


@strict_jit
def between_rows(a, b, out):
    """Write the smallest rotations (N, 4) from directions a (N, 3) to directions b (N, 3), of any lengths."""
    for i in range(out.shape[0]):
        ax, ay, az, bx, by, bz = a[i, 0], a[i, 1], a[i, 2], b[i, 0], b[i, 1], b[i, 2]
        length = math.sqrt(ax * ax + ay * ay + az * az)
        lengths = length * math.sqrt(bx * bx + by * by + bz * bz)
        w = lengths + (ax * bx + ay * by + az * bz)
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        if w < 1e-9 * (lengths if lengths > 0.0 else 1.0):
            # opposite: about any normal
            w = 0.0
            x, y, z = (0.0, az, -ay) if abs(ax) < 0.6 * length else (-az, 0.0, ax)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z
    normalize_rows(out, out)


@strict_jit
def first_unnormalized(quaternions, tolerance):
    """Return the first row (N, 4) whose squared norm is not 1 within a tolerance, or not finite; N if there is none."""
    for i in range(quaternions.shape[0]):
        square = 0.0
        for k in range(4):
            square += quaternions[i, k] * quaternions[i, k]
        if not abs(square - 1.0) <= tolerance:
            return i
    return quaternions.shape[0]


@strict_jit
def unroll_rows(quaternions, signs, out):
    """Write rows (F, N, 4) with signs flipped so that each has a positive dot product with the frame before; F ≥ 1.

    signs: (N,) starts as ones, and holds in the end the signs that the last frame got.
    """
    for n in range(quaternions.shape[1]):
        for k in range(4):
            out[0, n, k] = quaternions[0, n, k]
    for f in range(1, quaternions.shape[0]):
        for n in range(quaternions.shape[1]):
            dot = 0.0
            for k in range(4):
                dot += quaternions[f, n, k] * quaternions[f - 1, n, k]
            if dot < 0.0:
                signs[n] = -signs[n]
            for k in range(4):
                out[f, n, k] = signs[n] * quaternions[f, n, k]


def _read_only(width):
    array = np.zeros((1, width))
    array.setflags(write=False)
    return array


def _frames():
    array = np.zeros((1, 1, 4))
    array.setflags(write=False)
    return array


WARMUP = {
    "unroll_rows": lambda: (_frames(), np.ones(1), np.zeros((1, 1, 4))),
    "multiply_rows": lambda: (_read_only(4), _read_only(4), np.zeros((1, 4))),
    "rotate_rows": lambda: (_read_only(4), _read_only(3), np.zeros((1, 3))),
    "normalize_rows": lambda: (_read_only(4), np.zeros((1, 4))),
    "exp_rows": lambda: (_read_only(3), np.zeros((1, 4))),
    "log_rows": lambda: (_read_only(4), np.zeros((1, 3))),
    "between_rows": lambda: (_read_only(3), _read_only(3), np.zeros((1, 4))),
    "first_unnormalized": lambda: (_read_only(4), 1e-6),
}
