"""Small dense systems, as they come from a pose: accumulation of normal equations and Cholesky."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit


@jit
def add_row(row, count, residual, weight, matrix, vector):
    """Add weight·(row·x − residual)² to the normal equations: lower triangle of `matrix`, and `vector`."""
    for i in range(count):
        scaled = weight * row[i]
        if scaled != 0.0:
            vector[i] += scaled * residual
            for j in range(i + 1):
                matrix[i, j] += scaled * row[j]


@jit
def factor(matrix, damping, count, lower):
    """The Cholesky factor of matrix + damping·(its diagonal); False when it is not positive definite."""
    for i in range(count):
        for j in range(i + 1):
            total = matrix[i, j]
            if i == j:
                total += damping * matrix[i, i]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                lower[i, i] = math.sqrt(total)
            else:
                lower[i, j] = total / lower[j, j]
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
        total = out[i]
        for k in range(i + 1, count):
            total -= lower[k, i] * out[k]
        out[i] = total / lower[i, i]


@jit
def solve_damped(matrices, vectors, damping, out):
    """x of (A + damping·diag A)·x = v for every row; A (F, n, n) lower triangles, v (F, n); 0 where A is singular."""
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
