"""Block-band Cholesky with a moving border: constant work for each control point, whatever the length of a plant.

Control points are eliminated one after another, and each border variable right after the last control point that it
touches; until then it is carried along as a row of the border. Variables of plants have positive pivots, multipliers of
relations negative ones; such a matrix (quasi-definite) has its factors in any order, without pivoting (Vanderbei 1995).
See `kernels.spacetime_assembly` for how the matrix is stored.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit

UNSHARED = 200_000
"""Multiplications in one product up to which OpenBLAS keeps it on the thread that asks; its own limit is 2¹⁸."""
LEAST_PIVOT = 1e-14
"""A pivot smaller than this share of its own entry before elimination has lost all its digits."""


@jit
def _invert_factor(square, count, upper, inverse):
    """The transpose of L⁻¹, upper triangular, of square = L·Lᵀ (its lower triangle is read); False if not positive.

    upper is room for Lᵀ. Rows are eliminated from those below them, so that inner loops run along rows.
    """
    for i in range(count):
        for j in range(i, count):
            upper[i, j] = square[j, i]
    for p in range(count):
        pivot = upper[p, p]
        if not pivot > LEAST_PIVOT * square[p, p]:
            return False
        scale = 1.0 / math.sqrt(pivot)
        for j in range(p, count):
            upper[p, j] *= scale
        for i in range(p + 1, count):
            a = upper[p, i]
            if a != 0.0:
                for j in range(i, count):
                    upper[i, j] -= a * upper[p, j]
    # rows of (Lᵀ)⁻¹ from the last one up
    inverse[:, :] = 0.0
    for i in range(count - 1, -1, -1):
        for p in range(i + 1, count):
            a = upper[i, p]
            if a != 0.0:
                for j in range(p, count):
                    inverse[i, j] -= a * inverse[p, j]
        scale = 1.0 / upper[i, i]
        for j in range(i + 1, count):
            inverse[i, j] *= scale
        inverse[i, i] = scale
    return True


@jit
def _product(left, right, out):
    """out = left·right by the library, in parts so small that it never starts threads: they would wait busily."""
    rows = left.shape[0]
    most = max(UNSHARED // max(right.shape[0] * right.shape[1], 1), 1)
    for i in range(0, rows, most):
        np.dot(left[i : i + most], right, out[i : i + most])


@jit
def _subtract(left, out):
    for i in range(left.shape[0]):
        for j in range(left.shape[1]):
            out[i, j] -= left[i, j]


@jit
def _open_variables(k, opening, at, var_first, var_lead, slots, var_corner, var_rhs, corner, corner_rhs, live):
    """Give the variables whose first control point is k their slots; return how many have been opened by now."""
    while at < opening.shape[0] and var_first[opening[at]] == k:
        v = opening[at]
        s = slots[v]
        corner[s, :] = 0.0
        corner[:, s] = 0.0
        live[s] = True
        lead = var_lead[v]
        for q in range(v - lead + 1):
            corner[s, slots[lead + q]] = var_corner[v, q]
            corner[slots[lead + q], s] = var_corner[v, q]
        corner_rhs[s] = var_rhs[v]
        at += 1
    return at


@jit
def _close_variable(k, v, slots, band, border, rhs, corner, corner_rhs, live, columns, pivots):
    """Eliminate a border variable after control point k; False when its pivot is nothing."""
    count, width = rhs.shape
    slot_count = live.shape[0]
    s = slots[v]
    pivot = corner[s, s]
    if not abs(pivot) > 0.0:
        return False
    pivots[v] = pivot
    live[s] = False
    ahead = min(3, count - 1 - k)
    column = columns[v]
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
                        band[k + 1 + c, (a - c) * width + i, j] -= scaled * column[c * width + j]
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
    # what is left of its equation, for the way back
    corner_rhs[s] = value
    return True


@jit
def solve_bordered(
    band, border, rhs, opening, closing, var_first, var_last, var_lead, slots, var_corner, var_rhs, columns, pivots,
    solution, var_solution,
):  # fmt: skip
    """Solve the bordered system in place; False when it is not (quasi-)definite.

    opening, closing (V,): the variables in the order of their first and of their last control point. columns
    (V, 3n + b) and pivots (V,) are room for the variables' own factors. solution (K, n), var_solution (V,).
    """
    count, width = rhs.shape
    slot_count = border.shape[1]
    lower, inverse = np.zeros((width, width)), np.empty((width, width))
    panel, side = np.empty((3 * width, width)), np.empty((slot_count, width))
    value, further = np.empty(width), np.empty(3 * width)
    corner, corner_rhs = np.zeros((slot_count, slot_count)), np.zeros(slot_count)
    live, square = np.zeros(slot_count, np.bool_), np.empty(slot_count * slot_count)
    opened, closed = 0, 0
    for k in range(count):
        opened = _open_variables(
            k, opening, opened, var_first, var_lead, slots, var_corner, var_rhs, corner, corner_rhs, live
        )
        own = band[k]
        if not _invert_factor(own, width, lower, inverse):
            return False
        ahead = min(3, count - 1 - k)
        # rows of the border up to the last one that lives; those between that do not are zero
        top = slot_count
        while top > 0 and not live[top - 1]:
            top -= 1
        value[:] = 0.0
        for j in range(width):
            a = rhs[k, j]
            for i in range(j, width):
                value[i] += a * inverse[j, i]
        rhs[k, :] = value
        below = own[width : (1 + ahead) * width]
        _product(below, inverse, panel[: ahead * width])
        below[:, :] = panel[: ahead * width]
        if top > 0:
            _product(border[k, :top], inverse, side[:top])
            border[k, :top] = side[:top]
        for c in range(1, ahead + 1):
            across, rows = own[c * width : (c + 1) * width].T, (ahead - c + 1) * width
            _product(own[c * width : (1 + ahead) * width], across, panel[:rows])
            _subtract(panel[:rows], band[k + c])
            if top > 0:
                _product(border[k, :top], across, side[:top])
                _subtract(side[:top], border[k + c])
        if ahead > 0:
            np.dot(below, value, further[: ahead * width])
            for c in range(ahead):
                for i in range(width):
                    rhs[k + 1 + c, i] -= further[c * width + i]
        if top > 0:
            products = square[: top * top].reshape(top, top)
            _product(border[k, :top], border[k, :top].T, products)
            _subtract(products, corner)
            for s in range(top):
                total = 0.0
                for j in range(width):
                    total += border[k, s, j] * value[j]
                corner_rhs[s] -= total
        # the factor itself is not needed again, its inverse is
        for i in range(width):
            for j in range(width):
                own[i, j] = inverse[i, j]
        while closed < closing.shape[0] and var_last[closing[closed]] == k:
            v = closing[closed]
            if not _close_variable(k, v, slots, band, border, rhs, corner, corner_rhs, live, columns, pivots):
                return False
            var_solution[v] = corner_rhs[slots[v]]
            closed += 1
    carried = np.zeros(slot_count)
    for k in range(count - 1, -1, -1):
        ahead = min(3, count - 1 - k)
        while closed > 0 and var_last[closing[closed - 1]] == k:
            closed -= 1
            v = closing[closed]
            total = var_solution[v]
            for c in range(ahead):
                for i in range(width):
                    total -= columns[v, c * width + i] * solution[k + 1 + c, i]
            for t in range(slot_count):
                total -= columns[v, 3 * width + t] * carried[t]
            var_solution[v] = total / pivots[v]
            carried[slots[v]] = var_solution[v]
        own = band[k]
        for i in range(width):
            value[i] = rhs[k, i]
        for c in range(1, ahead + 1):
            for i in range(width):
                a = solution[k + c, i]
                for j in range(width):
                    value[j] -= own[c * width + i, j] * a
        for s in range(slot_count):
            if carried[s] != 0.0:
                for j in range(width):
                    value[j] -= border[k, s, j] * carried[s]
        np.dot(own[:width], value, solution[k])
    return True


def _smallest():
    one, none = np.zeros(1, np.int64), np.zeros((1, 1, 1))
    band = np.ones((1, 4, 1))
    return (
        band, none, np.ones((1, 1)), one, one, one, one, one, one, np.ones((1, 3)), np.ones(1), np.zeros((1, 4)),
        np.zeros(1), np.zeros((1, 1)), np.zeros(1),
    )  # fmt: skip


WARMUP = {"solve_bordered": _smallest}
