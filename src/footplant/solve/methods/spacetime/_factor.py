"""Block-band Cholesky with a moving border: constant work per control point, whatever the length of a footplant.

Control points are eliminated one after another, and each border variable right after the last control point that it
touches; until then it is a row of the border. Variables of plants have positive pivots, multipliers of couplings
negative ones; such a quasi-definite matrix has an LDLᵀ factorisation in any order, without pivoting (Vanderbei 1995).
See `_assembly` for the storage.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit

UNSHARED = 200_000
"""Multiplications in one product up to which OpenBLAS stays on the calling thread; its own limit is 2¹⁸."""
RANK = 3
"""Rows that are eliminated at once; unknowns come in groups of three."""
LEAST_PIVOT = 1e-14
"""Smallest pivot relative to its diagonal entry before elimination; a smaller one has lost all its digits."""


@jit
def _invert_factor(square, count, upper, inverse):
    """Write the transpose of L⁻¹, upper triangular, of square = L·Lᵀ; return False if it is not positive definite.

    Only the lower triangle of `square` is read; `upper` is workspace for Lᵀ. The inner loops run along rows.
    """
    for i in range(count):
        for j in range(i, count):
            upper[i, j] = square[j, i]
    for p in range(0, count, RANK):
        last = min(p + RANK, count)
        for q in range(p, last):
            pivot = upper[q, q]
            if not pivot > LEAST_PIVOT * square[q, q]:
                return False
            scale = 1.0 / math.sqrt(pivot)
            for j in range(q, count):
                upper[q, j] *= scale
            for i in range(q + 1, last):
                a = upper[q, i]
                for j in range(i, count):
                    upper[i, j] -= a * upper[q, j]
        if last - p == RANK:
            # three rows at once: a row that is updated is read and written once for all of them
            for i in range(last, count):
                a, b, c = upper[p, i], upper[p + 1, i], upper[p + 2, i]
                for j in range(i, count):
                    upper[i, j] -= a * upper[p, j] + b * upper[p + 1, j] + c * upper[p + 2, j]
    # rows of (Lᵀ)⁻¹ from the last one up
    inverse[:, :] = 0.0
    for i in range(count - 1, -1, -1):
        p = i + 1
        while p + RANK <= count:
            a, b, c = upper[i, p], upper[i, p + 1], upper[i, p + 2]
            for j in range(p, count):
                inverse[i, j] -= a * inverse[p, j] + b * inverse[p + 1, j] + c * inverse[p + 2, j]
            p += RANK
        for q in range(p, count):
            a = upper[i, q]
            for j in range(q, count):
                inverse[i, j] -= a * inverse[q, j]
        scale = 1.0 / upper[i, i]
        for j in range(i + 1, count):
            inverse[i, j] *= scale
        inverse[i, i] = scale
    return True


@jit
def _product(left, right, out):
    """Write left·right by BLAS, in parts so small that it never starts threads, which would busy-wait."""
    rows = left.shape[0]
    most = max(UNSHARED // max(right.shape[0] * right.shape[1], 1), 1)
    for i in range(0, rows, most):
        np.dot(left[i : i + most], right, out[i : i + most])


@jit
def _subtract(left, out):
    """Subtract `left` from the top-left corner of `out`."""
    for i in range(left.shape[0]):
        for j in range(left.shape[1]):
            out[i, j] -= left[i, j]


class Bordered(NamedTuple):
    """A bordered system: see `_assembly.Equations`. All but the band and the damping is overwritten."""

    band: NDArray
    damping: NDArray
    """(K, n) added to its diagonal."""
    factors: NDArray
    """(K, 4n, n) written: the inverse factor of a control point, and its later ones times that."""
    border: NDArray
    rhs: NDArray
    var_corner: NDArray
    var_rhs: NDArray


class Variables(NamedTuple):
    """V border variables."""

    opening: NDArray
    """(V,) the variables by first control point."""
    closing: NDArray
    """(V,) and by last control point."""
    first: NDArray
    last: NDArray
    lead: NDArray
    """(V,) the first variable of the same plant."""
    slots: NDArray
    """(V,) row of the border."""


class VariableFactors(NamedTuple):
    """Factors of the border variables."""

    columns: NDArray
    """(V, 3n + b)."""
    pivots: NDArray
    """(V,)."""


class Answer(NamedTuple):
    """The solution."""

    control: NDArray
    """(K, n)."""
    variables: NDArray
    """(V,)."""


class Corner(NamedTuple):
    """The block of the live border variables, by slot."""

    matrix: NDArray
    """(b, b)."""
    rhs: NDArray
    """(b,)."""
    live: NDArray
    """(b,) bool."""


@uncounted_jit
def _open_variables(k, at, variables, system, block):
    """Give the variables whose first control point is k their slots; return how many have been opened by now."""
    opening, slots, var_corner = variables.opening, variables.slots, system.var_corner
    corner = block.matrix
    while at < opening.shape[0] and variables.first[opening[at]] == k:
        v = opening[at]
        s = slots[v]
        corner[s, :] = 0.0
        corner[:, s] = 0.0
        block.live[s] = True
        lead = variables.lead[v]
        for q in range(v - lead + 1):
            corner[s, slots[lead + q]] = var_corner[v, q]
            corner[slots[lead + q], s] = var_corner[v, q]
        block.rhs[s] = system.var_rhs[v]
        at += 1
    return at


@uncounted_jit
def _close_variable(k, v, variables, system, block, factors, window):
    """Eliminate a border variable after control point k; return False when its pivot is zero."""
    border, rhs = system.border, system.rhs
    corner, corner_rhs, live = block
    count, width = rhs.shape
    slot_count = live.shape[0]
    s = variables.slots[v]
    pivot = corner[s, s]
    if not abs(pivot) > 0.0:
        return False
    factors.pivots[v] = pivot
    live[s] = False
    ahead = min(3, count - 1 - k)
    column = factors.columns[v]
    column[:] = 0.0
    for c in range(ahead):
        for i in range(width):
            column[c * width + i] = border[k + 1 + c, s, i]
            border[k + 1 + c, s, i] = 0.0
    for t in range(slot_count):
        if live[t]:
            column[3 * width + t] = corner[t, s]
    value = corner_rhs[s]
    for c in range(ahead):
        for a in range(c, ahead):
            for i in range(width):
                scaled = column[a * width + i] / pivot
                if scaled != 0.0:
                    for j in range(width):
                        window[(k + 1 + c) % 4, (a - c) * width + i, j] -= scaled * column[c * width + j]
        for i in range(width):
            rhs[k + 1 + c, i] -= column[c * width + i] / pivot * value
        for t in range(slot_count):
            if live[t]:
                scaled = column[3 * width + t] / pivot
                for i in range(width):
                    border[k + 1 + c, t, i] -= scaled * column[c * width + i]
    for t in range(slot_count):
        if live[t]:
            scaled = column[3 * width + t] / pivot
            corner_rhs[t] -= scaled * value
            for u in range(slot_count):
                if live[u]:
                    corner[t, u] -= scaled * column[3 * width + u]
    # kept for the back substitution
    corner_rhs[s] = value
    return True


class Room(NamedTuple):
    """Workspace of one elimination step, n unknowns per control point and b slots."""

    window: NDArray
    """(4, 4n, n) blocks of the four control points from the present one on, k at k % 4; they stay in the cache."""
    upper: NDArray
    """(n, n)."""
    across: NDArray
    """(n, n)."""
    panel: NDArray
    """(3n, n)."""
    side: NDArray
    """(b, n)."""
    value: NDArray
    """(n,)."""
    further: NDArray
    """(3n,)."""
    square: NDArray
    """(b²,)."""


@uncounted_jit
def _load_point(k, system, window):
    """Copy the block column of control point k to the window."""
    own, band, damping = window[k % 4], system.band[k], system.damping[k]
    for i in range(band.shape[0]):
        for j in range(band.shape[1]):
            own[i, j] = band[i, j]
    for i in range(damping.shape[0]):
        own[i, i] += damping[i]


@jit
def _eliminate_point(k, system, block, room):
    """Eliminate control point k from later ones and from the border; return False if it is not positive definite."""
    border, rhs, factors = system.border, system.rhs, system.factors[k]
    corner, corner_rhs, live = block
    window, panel, side, value, across = room.window, room.panel, room.side, room.value, room.across
    count, width = rhs.shape
    own, inverse = window[k % 4], factors[:width]
    if not _invert_factor(own, width, room.upper, inverse):
        return False
    ahead = min(3, count - 1 - k)
    # rows of the border up to the last live one; dead ones between are zero
    top = live.shape[0]
    while top > 0 and not live[top - 1]:
        top -= 1
    value[:] = 0.0
    for j in range(width):
        a = rhs[k, j]
        for i in range(j, width):
            value[i] += a * inverse[j, i]
    rhs[k, :] = value
    below = factors[width : (1 + ahead) * width]
    _product(own[width : (1 + ahead) * width], inverse, below)
    if top > 0:
        _product(border[k, :top], inverse, side[:top])
        border[k, :top] = side[:top]
    for c in range(1, ahead + 1):
        # transposed by hand: products of rows by columns take two thirds of the time of rows by rows
        for i in range(width):
            for j in range(width):
                across[j, i] = factors[c * width + i, j]
        rows = (ahead - c + 1) * width
        _product(factors[c * width : (1 + ahead) * width], across, panel[:rows])
        _subtract(panel[:rows], window[(k + c) % 4])
        if top > 0:
            _product(border[k, :top], across, side[:top])
            _subtract(side[:top], border[k + c])
    if ahead > 0:
        np.dot(below, value, room.further[: ahead * width])
        for c in range(ahead):
            for i in range(width):
                rhs[k + 1 + c, i] -= room.further[c * width + i]
    if top > 0:
        products = room.square[: top * top].reshape(top, top)
        _product(border[k, :top], border[k, :top].T, products)
        _subtract(products, corner)
        for s in range(top):
            total = 0.0
            for j in range(width):
                total += border[k, s, j] * value[j]
            corner_rhs[s] -= total
    return True


@uncounted_jit
def _solve_variable(k, v, factors, carried, answer):
    """Return the value of a border variable that ends at control point k, by back substitution."""
    solution, width = answer.control, answer.control.shape[1]
    total = answer.variables[v]
    for c in range(min(3, solution.shape[0] - 1 - k)):
        for i in range(width):
            total -= factors.columns[v, c * width + i] * solution[k + 1 + c, i]
    for t in range(carried.shape[0]):
        total -= factors.columns[v, 3 * width + t] * carried[t]
    return total / factors.pivots[v]


@jit
def _solve_point(k, system, carried, value, solution):
    """Write the solution of control point k by back substitution; carried (b,): live border variables."""
    border, rhs, own = system.border, system.rhs, system.factors[k]
    count, width = rhs.shape
    for i in range(width):
        value[i] = rhs[k, i]
    for c in range(1, min(3, count - 1 - k) + 1):
        for i in range(width):
            a = solution[k + c, i]
            for j in range(width):
                value[j] -= own[c * width + i, j] * a
    for s in range(carried.shape[0]):
        if carried[s] != 0.0:
            for j in range(width):
                value[j] -= border[k, s, j] * carried[s]
    np.dot(own[:width], value, solution[k])


@jit
def solve_bordered(system, variables, factors, answer):
    """Solve the bordered system; return False when it is not (quasi-)definite."""
    closing, last, slots = variables.closing, variables.last, variables.slots
    count, width = system.rhs.shape
    slot_count = system.border.shape[1]
    room = Room(
        np.empty((4, 4 * width, width)), np.zeros((width, width)), np.empty((width, width)),
        np.empty((3 * width, width)), np.empty((slot_count, width)), np.empty(width), np.empty(3 * width),
        np.empty(slot_count * slot_count),
    )  # fmt: skip
    block = Corner(np.zeros((slot_count, slot_count)), np.zeros(slot_count), np.zeros(slot_count, np.bool_))
    opened, closed = 0, 0
    for k in range(min(3, count)):
        _load_point(k, system, room.window)
    for k in range(count):
        if k + 3 < count:
            _load_point(k + 3, system, room.window)
        opened = _open_variables(k, opened, variables, system, block)
        if not _eliminate_point(k, system, block, room):
            return False
        while closed < closing.shape[0] and last[closing[closed]] == k:
            v = closing[closed]
            if not _close_variable(k, v, variables, system, block, factors, room.window):
                return False
            answer.variables[v] = block.rhs[slots[v]]
            closed += 1
    carried = np.zeros(slot_count)
    for k in range(count - 1, -1, -1):
        while closed > 0 and last[closing[closed - 1]] == k:
            closed -= 1
            v = closing[closed]
            answer.variables[v] = _solve_variable(k, v, factors, carried, answer)
            carried[slots[v]] = answer.variables[v]
        _solve_point(k, system, carried, room.value, answer.control)
    return True


def _smallest():
    one, none = np.zeros(1, np.int64), np.zeros((1, 1, 1))
    band = np.ones((1, 4, 1))
    return (
        Bordered(band, np.zeros((1, 1)), np.empty_like(band), none, np.ones((1, 1)), np.ones((1, 3)), np.ones(1)),
        Variables(one, one, one, one, one, one),
        VariableFactors(np.zeros((1, 4)), np.zeros(1)),
        Answer(np.zeros((1, 1)), np.zeros(1)),
    )


WARMUP = {"solve_bordered": _smallest}
