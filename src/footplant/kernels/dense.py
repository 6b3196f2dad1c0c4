"""Small dense linear systems of single poses: accumulation of normal equations and Cholesky factorisation."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit


@jit
def add_row(row, count, residual, weight, matrix, vector):
    """Add weight·(row·x − residual)² to the normal equations: the lower triangle of `matrix`, and `vector`."""
    for i in range(count):
        scaled = weight * row[i]
        if scaled != 0.0:
            vector[i] += scaled * residual
            for j in range(i + 1):
                matrix[i, j] += scaled * row[j]


@jit
def dot(a, i, b, j, count):
    """Return the dot product of the first `count` entries of row i of a and row j of b, in four partial sums."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    quarter = count // 4 * 4
    for k in range(0, quarter, 4):
        first += a[i, k] * b[j, k]
        second += a[i, k + 1] * b[j, k + 1]
        third += a[i, k + 2] * b[j, k + 2]
        fourth += a[i, k + 3] * b[j, k + 3]
    for k in range(quarter, count):
        first += a[i, k] * b[j, k]
    return (first + second) + (third + fourth)


@jit
def factor(matrix, damping, count, lower):
    """Write the Cholesky factor of matrix + damping·diag(matrix); return False if it is not positive definite."""
    for j in range(count):
        total = (1.0 + damping) * matrix[j, j] - dot(lower, j, lower, j, j)
        if not total > 0.0:
            return False
        lower[j, j] = math.sqrt(total)
        scale = 1.0 / lower[j, j]
        for i in range(j + 1, count):
            lower[i, j] = (matrix[i, j] - dot(lower, i, lower, j, j)) * scale
    return True


@jit
def substitute(lower, vector, count, out):
    """Solve L·Lᵀ·x = vector."""
    for i in range(count):
        total = vector[i]
        for k in range(i):
            total -= lower[i, k] * out[k]
        out[i] = total / lower[i, i]
    for i in range(count - 1, -1, -1):
        out[i] /= lower[i, i]
        for k in range(i):
            out[k] -= lower[i, k] * out[i]


@jit
def solve_damped(matrices, vectors, damping, out):
    """Solve (A + damping·diag A)·x = v for every row; A (F, n, n) lower triangles, v (F, n); 0 where A is singular."""
    count = matrices.shape[1]
    lower = np.empty((count, count))
    for f in range(matrices.shape[0]):
        if factor(matrices[f], damping[f], count, lower):
            substitute(lower, vectors[f], count, out[f])
        else:
            out[f, :] = 0.0


WARMUP = {
    "solve_damped": lambda: (np.ones((1, 1, 1)), np.ones((1, 1)), np.zeros(1), np.zeros((1, 1))),
}
