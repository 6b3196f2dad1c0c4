"""Compiled dynamic time warping with slope limits: the cheapest path through a table of distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from footplant.kernels import jit, uncounted_jit


class SlopeLimits(NamedTuple):
    """Largest numbers of consecutive steps."""

    up: int
    """Along rows."""
    across: int
    """Along columns."""


class PathEnds(NamedTuple):
    """Cells in which a path may start and end."""

    first_rows: int
    """A path may start in column 0 at a row below this."""
    first_columns: int
    """A path may start in row 0 at a column below this."""
    last_rows: int
    """A path may end in the last column from this row on."""
    last_columns: int
    """A path may end in the last row from this column on."""


@uncounted_jit
def step_diagonally(before, cost, total, came):
    """Step from the cheapest state of the cell before both; total, came: of this cell, updated where cheaper."""
    for s in range(before.shape[0]):
        value = before[s] + cost
        if value < total[0]:
            total[0] = value
            came[0] = s


@uncounted_jit
def extend_runs(before, cost, first, last, total, came):
    """Step along one side from the states of the cell before: a run continues, or one begins after any other step.

    first … last: the states of runs along that side, by their length. total, came: of this cell, updated where cheaper.
    """
    for s in range(before.shape[0]):
        target = first
        if first <= s <= last:
            target = s + 1
            if target > last:
                continue
        value = before[s] + cost
        if value < total[target]:
            total[target] = value
            came[target] = s


@jit
def cheapest(costs, reward, diagonal, limits, ends, total, came):
    """Fill in the cheapest path to every cell; return (row, column, state, cost) of the best end, row −1 without one.

    costs: (N, M). A step advances the row, the column, or both (which counts `diagonal` times a single step), within
    the slope limits. `reward` is subtracted from every cell's cost, so that long paths pay off.

    State 0 was reached by a diagonal step, 1 … up by that many consecutive steps along rows, up+1 … up+across along
    columns. total: (N, M, 1+up+across), scratch; came: the state of the previous cell, −1 at the start.
    """
    up, across = limits
    rows, columns = costs.shape
    states = 1 + up + across
    best, best_row, best_column, best_state = np.inf, -1, -1, -1
    for i in range(rows):
        for j in range(columns):
            cost = costs[i, j] - reward
            for s in range(states):
                total[i, j, s] = np.inf
                came[i, j, s] = -1
            if (i == 0 and j < ends.first_columns) or (j == 0 and i < ends.first_rows):
                total[i, j, 0] = diagonal * cost
            if i > 0 and j > 0:
                step_diagonally(total[i - 1, j - 1], diagonal * cost, total[i, j], came[i, j])
            if i > 0 and up > 0:
                extend_runs(total[i - 1, j], cost, 1, up, total[i, j], came[i, j])
            if j > 0 and across > 0:
                extend_runs(total[i, j - 1], cost, up + 1, states - 1, total[i, j], came[i, j])
            if (i == rows - 1 and j >= ends.last_columns) or (j == columns - 1 and i >= ends.last_rows):
                for s in range(states):
                    if total[i, j, s] < best:
                        best, best_row, best_column, best_state = total[i, j, s], i, j, s
    return best_row, best_column, best_state, best


@jit
def trace(came, row, column, state, up, path):
    """Write the path that ends in a cell into path (P, 2), from its start; return its number of cells."""
    count = 0
    i, j, s = row, column, state
    while True:
        path[count, 0] = i
        path[count, 1] = j
        count += 1
        before = came[i, j, s]
        if before < 0:
            break
        if s == 0:
            i -= 1
            j -= 1
        elif s <= up:
            i -= 1
        else:
            j -= 1
        s = before
    for k in range(count // 2):
        for c in range(2):
            path[k, c], path[count - 1 - k, c] = path[count - 1 - k, c], path[k, c]
    return count


WARMUP = {
    "cheapest": lambda: (
        np.zeros((1, 1)), 0.0, 1.0, SlopeLimits(1, 1), PathEnds(1, 1, 0, 0), np.zeros((1, 1, 3)),
        np.zeros((1, 1, 3), np.int16),
    ),
    "trace": lambda: (np.full((1, 1, 3), -1, np.int16), 0, 0, 0, 1, np.zeros((1, 2), np.int64)),
}  # fmt: skip
