"""Uniform cubic B-splines of vectors: evaluation and the local least-squares fit (Lee & Shin 1999, section 3.2)."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import exp, multiply


@jit
def basis(t):
    """Return the four weights B0 … B3 of a uniform cubic B-spline at t in [0, 1]."""
    s = 1.0 - t
    return (
        s * s * s / 6.0,
        (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0,
        (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0,
        t * t * t / 6.0,
    )


@jit
def segment(u, count):
    """Return the first control point (b₋₁ is stored at index 0) and the local parameter of u, both clamped."""
    first = int(np.floor(u))
    first = min(max(first, 0), count - 4)
    return first, u - first


@jit
def evaluate(control, parameters, out):
    """Write values (N, D) at parameters (N,), in knots, of a spline with control points (n+3, D)."""
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
    """Write control points (n+3, D) of the local fit to values (N, D) at parameters (N,); `weights` (n+3,) is room."""
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


@jit
def displace_along(control, parameters, groups, root, rotations, new_root, new_rotations):
    """Write poses (F, 3), (F, J, 4) displaced by a spline with control points (n+3, 3·G) at parameters (F,), in knots.

    groups (G,), ascending: 0 is the root's position, 1+j the rotation of joint j, a rotation vector in its own frame.
    """
    new_root[:, :] = root
    new_rotations[:, :, :] = rotations
    for f in range(parameters.shape[0]):
        first, t = segment(parameters[f], control.shape[0])
        b0, b1, b2, b3 = basis(t)
        for g in range(groups.shape[0]):
            x, y, z = 0.0, 0.0, 0.0
            for k in range(4):
                b = b0 if k == 0 else b1 if k == 1 else b2 if k == 2 else b3
                x += b * control[first + k, 3 * g]
                y += b * control[first + k, 3 * g + 1]
                z += b * control[first + k, 3 * g + 2]
            if groups[g] == 0:
                new_root[f, 0] += x
                new_root[f, 1] += y
                new_root[f, 2] += z
                continue
            j = groups[g] - 1
            ew, ex, ey, ez = exp(x, y, z)
            w, x, y, z = multiply(
                rotations[f, j, 0], rotations[f, j, 1], rotations[f, j, 2], rotations[f, j, 3], ew, ex, ey, ez
            )
            scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
            new_rotations[f, j, 0], new_rotations[f, j, 1] = scale * w, scale * x
            new_rotations[f, j, 2], new_rotations[f, j, 3] = scale * y, scale * z


def _displaced_pose():
    root, rotations = np.zeros((1, 3)), np.ones((1, 1, 4))
    root.setflags(write=False)
    rotations.setflags(write=False)
    return np.zeros((4, 3)), np.zeros(1), np.ones(1, np.int64), root, rotations, np.zeros((1, 3)), np.ones((1, 1, 4))


WARMUP = {
    "displace_along": _displaced_pose,
    "evaluate": lambda: (np.zeros((4, 1)), np.zeros(1), np.zeros((1, 1))),
    "fit": lambda: (np.zeros(1), np.zeros((1, 1)), np.zeros(4), np.zeros((4, 1))),
}
