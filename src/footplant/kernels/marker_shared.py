"""Poses taken out of a calibration, frame by frame: what is left is a system of what all frames share."""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit
from footplant.kernels.dense import factor


@jit
def couple(own, shared, out):
    """Add ownᵀ·shared to `out` (F, D, S) for every frame; own (F, R, D) and shared (F, R, S) are mostly zeros."""
    for f in range(own.shape[0]):
        for r in range(own.shape[1]):
            for i in range(own.shape[2]):
                scale = own[f, r, i]
                if scale != 0.0:
                    for s in range(shared.shape[2]):
                        out[f, i, s] += scale * shared[f, r, s]


@jit
def eliminate(hessians, damping, gradients, couplings, lower):
    """Of H = L·Lᵀ: L into `lower` (F, D, D), and L⁻¹ applied in place to gradients (F, D) and couplings (F, D, S).

    hessians (F, D, D) lower triangles, with `damping` times their diagonal on top. A frame whose system is singular
    tells nothing: its gradient and coupling become 0.
    """
    size, width = gradients.shape[1], couplings.shape[2]
    for f in range(hessians.shape[0]):
        if not factor(hessians[f], damping, size, lower[f]):
            gradients[f] = 0.0
            couplings[f] = 0.0
            lower[f] = 0.0
            for i in range(size):
                lower[f, i, i] = 1.0
            continue
        for i in range(size):
            for k in range(i):
                scale = lower[f, i, k]
                if scale != 0.0:
                    gradients[f, i] -= scale * gradients[f, k]
                    for s in range(width):
                        couplings[f, i, s] -= scale * couplings[f, k, s]
            inverse = 1.0 / lower[f, i, i]
            gradients[f, i] *= inverse
            for s in range(width):
                couplings[f, i, s] *= inverse


@jit
def follow(lower, gradients, couplings, step, out):
    """The steps (F, D) of the poses that go with a step (S,) of what is shared; the rest as `eliminate` left it."""
    size = gradients.shape[1]
    for f in range(lower.shape[0]):
        for i in range(size):
            total = gradients[f, i]
            for s in range(step.shape[0]):
                total += couplings[f, i, s] * step[s]
            out[f, i] = -total
        for i in range(size - 1, -1, -1):
            for k in range(i + 1, size):
                out[f, i] -= lower[f, k, i] * out[f, k]
            out[f, i] /= lower[f, i, i]


WARMUP = {
    "couple": lambda: (np.zeros((1, 1, 1)), np.zeros((1, 1, 1)), np.zeros((1, 1, 1))),
    "eliminate": lambda: (np.ones((1, 1, 1)), 1e-6, np.zeros((1, 1)), np.zeros((1, 1, 1)), np.zeros((1, 1, 1))),
    "follow": lambda: (np.ones((1, 1, 1)), np.zeros((1, 1)), np.zeros((1, 1, 1)), np.zeros(1), np.zeros((1, 1))),
}
