"""Compiled Schur complement of a calibration: poses are eliminated frame by frame, shared unknowns remain.

Joints come after their parents, and a step of one moves only markers beyond it. Eliminating from the last joint to the
first creates no fill-in between limbs, and zeros are skipped.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit


@jit
def couple(own, weights, by_length, axes, residuals, coupling, system, right):
    """Add the marker terms of lengths and offsets: their coupling with poses, their own system and half gradient.

    own (F, M, 3, D): Jacobian of the markers by the poses, mostly zeros; weights (F, M): precision; by_length
    (F, M, 3, L): Jacobian by the lengths; axes (F, M, 3, 3): of the segments; residuals (F, M, 3). coupling (F, D, S),
    system (S, S) lower triangle, right (S,), where S starts with the L lengths and three numbers for each marker.
    """
    lengths = by_length.shape[3]
    for f in range(own.shape[0]):
        for m in range(own.shape[1]):
            weight = weights[f, m]
            if weight == 0.0:
                continue
            first = lengths + 3 * m
            for r in range(3):
                residual = weight * residuals[f, m, r]
                for i in range(own.shape[3]):
                    scale = weight * own[f, m, r, i]
                    if scale != 0.0:
                        for s in range(lengths):
                            coupling[f, i, s] += scale * by_length[f, m, r, s]
                        for k in range(3):
                            coupling[f, i, first + k] += scale * axes[f, m, r, k]
                for s in range(lengths):
                    scale = weight * by_length[f, m, r, s]
                    right[s] += scale * residuals[f, m, r]
                    for t in range(s + 1):
                        system[s, t] += scale * by_length[f, m, r, t]
                    for k in range(3):
                        system[first + k, s] += scale * axes[f, m, r, k]
                for k in range(3):
                    right[first + k] += residual * axes[f, m, r, k]
                    for q in range(k + 1):
                        system[first + k, first + q] += weight * axes[f, m, r, k] * axes[f, m, r, q]


@jit
def eliminate(hessians, damping, gradients, couplings, lower):
    """Factor H = Lᵀ·L: write L into `lower` (F, D, D), and apply L⁻ᵀ to gradients (F, D) and couplings (F, D, S).

    hessians (F, D, D) lower triangles, with `damping` times their diagonal added. A frame whose system is singular
    contributes nothing: its gradient and coupling become 0.
    """
    size, width = gradients.shape[1], couplings.shape[2]
    for f in range(hessians.shape[0]):
        for i in range(size):
            for j in range(i + 1):
                lower[f, i, j] = hessians[f, i, j]
            lower[f, i, i] *= 1.0 + damping
        whole = True
        for k in range(size - 1, -1, -1):
            if not lower[f, k, k] > 0.0:
                whole = False
                break
            scale = math.sqrt(lower[f, k, k])
            for i in range(k + 1):
                lower[f, k, i] /= scale
            for i in range(k):
                row = lower[f, k, i]
                if row != 0.0:
                    for j in range(i + 1):
                        lower[f, i, j] -= row * lower[f, k, j]
        if not whole:
            gradients[f] = 0.0
            couplings[f] = 0.0
            lower[f] = 0.0
            for i in range(size):
                lower[f, i, i] = 1.0
            continue
        for k in range(size - 1, -1, -1):
            inverse = 1.0 / lower[f, k, k]
            gradients[f, k] *= inverse
            for s in range(width):
                couplings[f, k, s] *= inverse
            for i in range(k):
                row = lower[f, k, i]
                if row != 0.0:
                    gradients[f, i] -= row * gradients[f, k]
                    for s in range(width):
                        couplings[f, i, s] -= row * couplings[f, k, s]


@jit
def reduce(gradients, couplings, system, right):
    """Subtract Σ CᵀC from the lower triangle of `system` (S, S) and Σ Cᵀg from `right` (S,), as left by `eliminate`."""
    width = couplings.shape[2]
    some, values = np.empty(width, np.int64), np.empty(width)
    for f in range(couplings.shape[0]):
        for i in range(couplings.shape[1]):
            count = 0
            for s in range(width):
                if couplings[f, i, s] != 0.0:
                    some[count], values[count] = s, couplings[f, i, s]
                    count += 1
            for a in range(count):
                s, scale = some[a], values[a]
                right[s] -= scale * gradients[f, i]
                for b in range(a + 1):
                    system[s, some[b]] -= scale * values[b]


@jit
def follow(lower, gradients, couplings, step, out):
    """Write steps (F, D) of the poses that follow from a step (S,) of the shared unknowns (back substitution)."""
    size = gradients.shape[1]
    for f in range(lower.shape[0]):
        for i in range(size):
            total = gradients[f, i]
            for s in range(step.shape[0]):
                total += couplings[f, i, s] * step[s]
            total = -total
            for k in range(i):
                total -= lower[f, i, k] * out[f, k]
            out[f, i] = total / lower[f, i, i]


def _couple():
    return (
        np.zeros((1, 1, 3, 1)), np.ones((1, 1)), np.zeros((1, 1, 3, 1)), np.zeros((1, 1, 3, 3)), np.zeros((1, 1, 3)),
        np.zeros((1, 1, 4)), np.zeros((4, 4)), np.zeros(4),
    )  # fmt: skip


WARMUP = {
    "couple": _couple,
    "eliminate": lambda: (np.ones((1, 1, 1)), 1e-6, np.zeros((1, 1)), np.zeros((1, 1, 1)), np.zeros((1, 1, 1))),
    "reduce": lambda: (np.zeros((1, 1)), np.zeros((1, 1, 1)), np.zeros((1, 1)), np.zeros(1)),
    "follow": lambda: (np.ones((1, 1, 1)), np.zeros((1, 1)), np.zeros((1, 1, 1)), np.zeros(1), np.zeros((1, 1))),
}
