"""Uniform cubic B-splines of vectors: evaluation and the local least-squares fit."""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit


@jit
def basis(t):
    """The four weights B0 … B3 of a uniform cubic B-spline at t in [0, 1]."""
    s = 1.0 - t
    return (
        s * s * s / 6.0,
        (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0,
        (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0,
        t * t * t / 6.0,
    )


@jit
def segment(u, count):
    """The first control point (as stored, b₋₁ at index 0) and the place in the segment of parameter u, both clamped."""
    first = int(np.floor(u))
    first = min(max(first, 0), count - 4)
    return first, u - first


@jit
def evaluate(control, parameters, out):
    """Values (N, D) at parameters (N,), in knots, of a spline with control points (n+3, D)."""
    for i in range(parameters.shape[0]):
        first, t = segment(parameters[i], control.shape[0])
        b0, b1, b2, b3 = basis(t)
        for d in range(control.shape[1]):
            out[i, d] = (
                b0 * control[first, d]
                + b1 * control[first + 1, d]
                + b2 * control[first + 2, d]
                + b3 * control[first + 3, d]
            )


@jit
def fit(parameters, values, weights, control):
    """Control points (n+3, D) of the local fit to values (N, D) at parameters (N,); `weights` (n+3,) is scratch."""
    weights[:] = 0.0
    control[:, :] = 0.0
    for i in range(parameters.shape[0]):
        first, t = segment(parameters[i], control.shape[0])
        b = basis(t)
        square = b[0] * b[0] + b[1] * b[1] + b[2] * b[2] + b[3] * b[3]
        for k in range(4):
            j = first + k
            w2 = b[k] * b[k]
            weights[j] += w2
            scale = w2 * b[k] / square
            for d in range(control.shape[1]):
                control[j, d] += scale * values[i, d]
    for j in range(control.shape[0]):
        if weights[j] > 0.0:
            for d in range(control.shape[1]):
                control[j, d] /= weights[j]


WARMUP = {
    "evaluate": lambda: (np.zeros((4, 1)), np.zeros(1), np.zeros((1, 1))),
    "fit": lambda: (np.zeros(1), np.zeros((1, 1)), np.zeros(4), np.zeros((4, 1))),
}
