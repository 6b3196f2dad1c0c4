"""Normal equations of spacetime constraints: rows of single frames and couplings of frames, over control points.

The matrix is a bordered block band. Block column k of `band` (K, 4n, n) holds control point k against k … k+3, rows
first. Unknowns that live longer than a spline segment (a footplant's position, the multiplier of a coupling between
distant frames) are scalar border variables: while one is live it has a slot, and row `slot` of `border` (K, b, n)
couples it to control point k. Slots are reused after their variable has been eliminated, so the coupling of variables
among themselves is stored by variable: var_corner (V, 3) against the first, second and third variable of the same
plant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit


class Costs(NamedTuple):
    """The quadratic objective ½ ∫ dᵀ·change·d + d′ᵀ·speed·d′ + d″ᵀ·bend·d″ dt of a displacement d."""

    mass: NDArray
    """(K, 4) Gram matrix of the splines, control point k against k … k+3, seconds."""
    speeding: NDArray
    """(K, 4) of their first derivatives."""
    bending: NDArray
    """(K, 4) of their second derivatives."""
    change: NDArray
    """(n, n) cost of a displacement."""
    speed: NDArray
    """(n, n) cost of its first derivative."""
    bend: NDArray
    """(n, n) cost of its second derivative."""


class Splines(NamedTuple):
    """Weights of four control points at every frame."""

    first: NDArray
    """(F,) the first of them; those outside 0 … K−1 are fixed at zero."""
    basis: NDArray
    """(F, 4)."""


class Equations(NamedTuple):
    """The normal equations; right-hand sides are minus the gradient."""

    band: NDArray
    rhs: NDArray
    """(K, n)."""
    border: NDArray
    var_corner: NDArray
    var_rhs: NDArray
    """(V,)."""
    slots: NDArray
    """(V,) row of the border of each variable."""


class FrameRows(NamedTuple):
    """R rows of single frames, sorted by frame."""

    frames: NDArray
    residuals: NDArray
    weights: NDArray
    jacobian: NDArray
    """(R, n)."""
    owners: NDArray
    """(R,) the plant whose unknown position takes part, or −1."""
    couplings: NDArray
    """(R, 3) derivative of the residual by the plant's variables."""


class TieRows(NamedTuple):
    """R rows that couple T frames each."""

    frames: NDArray
    """(R, T)."""
    residuals: NDArray
    weights: NDArray
    jacobian: NDArray
    """(R, T, n)."""
    variables: NDArray
    """(R,) border variable of each, or −1."""


@uncounted_jit
def _start_point(k, costs, column):
    """Write the block column (4n, n) of control point k: the objective, mass·change + speeding·speed + bending·bend."""
    mass, speeding, bending, change, speed, bend = costs
    width = change.shape[0]
    column[:, :] = 0.0
    for a in range(4):
        for i in range(width):
            # costs couple only within groups of three
            for j in range(i - i % 3, min(i - i % 3 + 3, width)):
                column[a * width + i, j] = (
                    mass[k, a] * change[i, j] + speeding[k, a] * speed[i, j] + bending[k, a] * bend[i, j]
                )


@jit
def slope_band(costs, control, out):
    """Write the objective's gradient (K, n) at control points (K, n): its matrix (see `_start_point`) times them.

    Compiled rather than left to the library's matrix products, whose threads busy-wait for each other.
    """
    mass, speeding, bending, change, speed, bend = costs
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


@uncounted_jit
def _scatter(square, vector, splines, f, band, rhs):
    """Add the normal equations of one frame, full square (n, n), to those of its four control points."""
    first, basis = splines.first, splines.basis
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


@uncounted_jit
def _add_frame(r, splines, rows, variables, equations, square, vector):
    """Add the rows of one frame from row r on; return the first row of the next one. square (n, n), vector (n,)."""
    first, basis = splines.first, splines.basis
    frames, residuals, weights, jacobian, owners, couplings = rows
    rhs, border, slots = equations.rhs, equations.border, equations.slots
    var_corner, var_rhs = equations.var_corner, equations.var_rhs
    count, width = rhs.shape
    f = frames[r]
    square[:, :] = 0.0
    vector[:] = 0.0
    used = False
    while r < frames.shape[0] and frames[r] == f:
        weight = weights[r]
        if weight > 0.0:
            used = True
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
    if used:
        for i in range(width):
            for j in range(i):
                square[j, i] = square[i, j]
        _scatter(square, vector, splines, f, equations.band, rhs)
    return r


@jit
def add_rows(splines, rows, variables, equations):
    """Add rows of single frames, ½·weight·(residual + J·Δ + coupling·δ)².

    variables (P, 3): the border variables of each plant, −1 where it has fewer.
    """
    width, r = equations.rhs.shape[1], 0
    square, vector = np.empty((width, width)), np.empty(width)
    while r < rows.frames.shape[0]:
        r = _add_frame(r, splines, rows, variables, equations, square, vector)


@jit
def start_with_rows(costs, splines, rows, variables, equations):
    """Write the matrix of the objective and add rows to it; see `add_rows`.

    Each block column is written and added to while it is in the cache: the band is far larger than that.
    """
    band, (count, width) = equations.band, equations.rhs.shape
    square, vector = np.empty((width, width)), np.empty(width)
    r, started = 0, 0
    while r < rows.frames.shape[0]:
        while started < min(splines.first[rows.frames[r]] + 4, count):
            _start_point(started, costs, band[started])
            started += 1
        r = _add_frame(r, splines, rows, variables, equations, square, vector)
    while started < count:
        _start_point(started, costs, band[started])
        started += 1


@jit
def add_ties(splines, rows, equations):
    """Add rows across frames, ½·weight·(residual + Σ_t J_t·Δ_t)².

    A row whose frames share a window of four control points goes into the band. Another one has a border variable: its
    multiplier w·(residual + J·Δ), with −1/w on the diagonal, which is equivalent.
    """
    first, basis = splines.first, splines.basis
    frames, residuals, weights, jacobian, variables = rows
    band, rhs, border, slots = equations.band, equations.rhs, equations.border, equations.slots
    var_corner, var_rhs = equations.var_corner, equations.var_rhs
    count, width = rhs.shape
    wide = np.empty((4, width))
    for r in range(frames.shape[0]):
        v = variables[r]
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


def _equations():
    return Equations(
        np.zeros((4, 4, 1)), np.zeros((4, 1)), np.zeros((4, 1, 1)), np.zeros((1, 3)), np.zeros(1), np.zeros(1, np.int64)
    )


def _splines():
    return Splines(np.zeros(1, np.int64), np.ones((1, 4)))


def _costs():
    return Costs(*(np.ones((1, 4)) for _ in range(3)), *(np.ones((1, 1)) for _ in range(3)))


def _frame_rows():
    numbers = np.zeros(1, np.int64)
    return FrameRows(numbers, np.ones(1), np.ones(1), np.ones((1, 1)), numbers, np.ones((1, 3)))


def _tie_rows():
    return TieRows(np.zeros((1, 2), np.int64), np.ones(1), np.ones(1), np.ones((1, 2, 1)), np.zeros(1, np.int64))


WARMUP = {
    "slope_band": lambda: (_costs(), np.ones((1, 1)), np.zeros((1, 1))),
    "add_rows": lambda: (_splines(), _frame_rows(), np.array([[0, -1, -1]]), _equations()),
    "start_with_rows": lambda: (_costs(), _splines(), _frame_rows(), np.array([[0, -1, -1]]), _equations()),
    "add_ties": lambda: (_splines(), _tie_rows(), _equations()),
}
