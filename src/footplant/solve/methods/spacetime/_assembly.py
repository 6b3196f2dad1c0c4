"""Spacetime normal equations: rows of single frames and relations across frames, over control points of splines.

The matrix is a block band with a moving border. Block column k of `band` (K, 4n, n) holds control point k against
k … k+3, rows first. Unknowns that live longer than a spline segment (a plant's place, the multiplier of a relation
between distant frames) are scalar border variables: while one lives it has a slot, and row `slot` of `border` (K, b, n)
couples it to control point k. Slots are used again when their variable has been eliminated, so what couples variables
among themselves is kept by variable: var_corner (V, 3) against the first, second and third variable of the same plant.
"""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit


@jit
def start_band(mass, speeding, bending, change, speed, bend, band):
    """Begin the matrix with the objective, mass·change + speeding·speed + bending·bend.

    mass, speeding, bending (K, 4): products of the splines, of their first and of their second derivatives; change,
    speed, bend (n, n): what those of a displacement cost.
    """
    width = change.shape[0]
    for k in range(mass.shape[0]):
        band[k, :, :] = 0.0
        for a in range(4):
            for i in range(width):
                # what groups of three cost does not mix
                for j in range(i - i % 3, min(i - i % 3 + 3, width)):
                    band[k, a * width + i, j] = (
                        mass[k, a] * change[i, j] + speeding[k, a] * speed[i, j] + bending[k, a] * bend[i, j]
                    )


@jit
def slope_band(mass, speeding, bending, change, speed, bend, control, out):
    """The objective's derivative (K, n) by control points (K, n): its matrix (see `start_band`) times them.

    Compiled rather than left to matrix products of the library, whose threads wait for each other busily.
    """
    count, width = control.shape
    out[:, :] = 0.0
    for k in range(count):
        for i in range(width):
            low = i - i % 3
            changed, sped, bent = 0.0, 0.0, 0.0
            for j in range(low, min(low + 3, width)):
                changed += change[i, j] * control[k, j]
                sped += speed[i, j] * control[k, j]
                bent += bend[i, j] * control[k, j]
            for a in range(4):
                if k + a < count:
                    out[k + a, i] += mass[k, a] * changed + speeding[k, a] * sped + bending[k, a] * bent
                if 0 < a <= k:
                    m = k - a
                    out[m, i] += mass[m, a] * changed + speeding[m, a] * sped + bending[m, a] * bent


@jit
def _scatter(square, vector, first, basis, f, band, rhs):
    """Add the normal equations of one frame, full square (n, n), to those of its four control points."""
    count, width = rhs.shape
    for c in range(4):
        k = first[f] + c
        if not 0 <= k < count:
            continue
        for i in range(width):
            rhs[k, i] -= basis[f, c] * vector[i]
        for a in range(c, 4):
            if first[f] + a >= count:
                continue
            weight = basis[f, a] * basis[f, c]
            top = (a - c) * width
            for i in range(width):
                for j in range(width):
                    band[k, top + i, j] += weight * square[i, j]


@jit
def add_rows(
    first, basis, frames, residuals, weights, jacobian, owners, couplings, variables, slots, band, rhs, border,
    var_corner, var_rhs,
):  # fmt: skip
    """Add rows of single frames, ½·weight·(residual + J·Δ + coupling·δ)², sorted by frame.

    frames, residuals, weights (R,), jacobian (R, n). owners (R,): the plant whose place takes part, or −1; couplings
    (R, 3): how the residual changes with its variables, variables (P, 3), −1 where it has fewer. rhs is minus the
    gradient, as is var_rhs (V,).
    """
    count, width = rhs.shape
    square, vector = np.empty((width, width)), np.empty(width)
    r = 0
    while r < frames.shape[0]:
        f = frames[r]
        square[:, :] = 0.0
        vector[:] = 0.0
        heard = False
        while r < frames.shape[0] and frames[r] == f:
            weight = weights[r]
            if weight > 0.0:
                heard = True
                for i in range(width):
                    scaled = weight * jacobian[r, i]
                    if scaled != 0.0:
                        vector[i] += scaled * residuals[r]
                        for j in range(i + 1):
                            square[i, j] += scaled * jacobian[r, j]
                if owners[r] >= 0:
                    lead = variables[owners[r], 0]
                    for q in range(3):
                        v = variables[owners[r], q]
                        scaled = weight * couplings[r, q]
                        if v < 0 or scaled == 0.0:
                            continue
                        var_rhs[v] -= scaled * residuals[r]
                        for p in range(v - lead + 1):
                            var_corner[v, p] += scaled * couplings[r, p]
                        for a in range(4):
                            k = first[f] + a
                            if 0 <= k < count:
                                share = scaled * basis[f, a]
                                for i in range(width):
                                    border[k, slots[v], i] += share * jacobian[r, i]
            r += 1
        if heard:
            for i in range(width):
                for j in range(i):
                    square[j, i] = square[i, j]
            _scatter(square, vector, first, basis, f, band, rhs)


@jit
def add_ties(
    first, basis, frames, residuals, weights, jacobian, tie_variables, slots, band, rhs, border, var_corner, var_rhs
):  # fmt: skip
    """Add rows across frames, ½·weight·(residual + Σ_t J_t·Δ_t)²; frames (R, T), jacobian (R, T, n).

    One whose frames share a window of four control points goes into the band. Another one has a border variable
    (tie_variables (R,), else −1): its multiplier w·(residual + J·Δ), with −1/w on the diagonal, which is the same.
    """
    count, width = rhs.shape
    wide = np.empty((4, width))
    for r in range(frames.shape[0]):
        v = tie_variables[r]
        weight = weights[r]
        if v >= 0:
            var_corner[v, 0] = -1.0 / weight if weight > 0.0 else -1.0
            var_rhs[v] = -residuals[r] if weight > 0.0 else 0.0
        if not weight > 0.0:
            continue
        low = first[frames[r, 0]]
        for t in range(1, frames.shape[1]):
            low = min(low, first[frames[r, t]])
        wide[:, :] = 0.0
        for t in range(frames.shape[1]):
            f = frames[r, t]
            for a in range(4):
                k = first[f] + a
                if not 0 <= k < count:
                    continue
                for i in range(width):
                    if v >= 0:
                        border[k, slots[v], i] += basis[f, a] * jacobian[r, t, i]
                    else:
                        wide[k - low, i] += basis[f, a] * jacobian[r, t, i]
        if v >= 0:
            continue
        for c in range(4):
            k = low + c
            if not 0 <= k < count:
                continue
            for i in range(width):
                rhs[k, i] -= weight * residuals[r] * wide[c, i]
            for a in range(c, 4):
                for i in range(width):
                    scaled = weight * wide[a, i]
                    if scaled != 0.0:
                        for j in range(width):
                            band[k, (a - c) * width + i, j] += scaled * wide[c, j]


def _system():
    return np.zeros((4, 4, 1)), np.zeros((4, 1)), np.zeros((4, 1, 1)), np.zeros((1, 3)), np.zeros(1)


def _row():
    return np.zeros(1, np.int64), np.ones((1, 4))


WARMUP = {
    "start_band": lambda: (
        np.ones((1, 4)), np.ones((1, 4)), np.ones((1, 4)), np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)),
        np.zeros((1, 4, 1)),
    ),
    "slope_band": lambda: (
        np.ones((1, 4)), np.ones((1, 4)), np.ones((1, 4)), np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)),
        np.ones((1, 1)), np.zeros((1, 1)),
    ),
    "add_rows": lambda: (
        *_row(), np.zeros(1, np.int64), np.ones(1), np.ones(1), np.ones((1, 1)), np.zeros(1, np.int64),
        np.ones((1, 3)), np.array([[0, -1, -1]]), np.zeros(1, np.int64), *_system(),
    ),
    "add_ties": lambda: (
        *_row(), np.zeros((1, 2), np.int64), np.ones(1), np.ones(1), np.ones((1, 2, 1)), np.zeros(1, np.int64),
        np.zeros(1, np.int64), *_system(),
    ),
}  # fmt: skip
