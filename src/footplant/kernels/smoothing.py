"""Penalised least-squares smoothing of curves: a pentadiagonal system, solved by LDLᵀ in one pass forth and back.

`banded.solve_clip` solves the same for one unknown a frame. Here several curves share one factorisation, and nine
curves over 300 frames take a sixtieth of the time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit


@uncounted_jit
def smooth_curve(weights, bend, speed, wanted, factors, out):
    """Write curves (n, k) that minimise bend·|x″|² + speed·|x′|² + Σ w·x² − 2·x·wanted, in finite differences; n ≥ 3.

    weights: (n,); wanted: (n, k), target times weight; factors: (n, 3), workspace for D and the two subdiagonals of L.
    """
    count = weights.shape[0]
    for i in range(count):
        # diagonal: number of second differences that start here, one or two rows before, and of first differences
        own, one, two = i < count - 2, 1 <= i < count - 1, i >= 2
        diagonal = weights[i] + bend * (own + 4.0 * one + two) + speed * ((i < count - 1) + (i >= 1))
        below = second = 0.0
        if i >= 1:
            # the entry next to the last row's diagonal
            off = -2.0 * bend * ((i < count - 1) + (i >= 2)) - speed
            if i >= 2:
                second = bend / factors[i - 2, 0]
                off -= second * factors[i - 2, 0] * factors[i - 1, 1]
            below = off / factors[i - 1, 0]
            diagonal -= below * below * factors[i - 1, 0]
            if i >= 2:
                diagonal -= second * second * factors[i - 2, 0]
        factors[i, 0], factors[i, 1], factors[i, 2] = diagonal, below, second
        for k in range(wanted.shape[1]):
            value = wanted[i, k]
            if i >= 1:
                value -= below * out[i - 1, k]
            if i >= 2:
                value -= second * out[i - 2, k]
            out[i, k] = value
    for i in range(count - 1, -1, -1):
        for k in range(wanted.shape[1]):
            value = out[i, k] / factors[i, 0]
            if i + 1 < count:
                value -= factors[i + 1, 1] * out[i + 1, k]
            if i + 2 < count:
                value -= factors[i + 2, 2] * out[i + 2, k]
            out[i, k] = value


@uncounted_jit
def roughness(places, origins, first, last, found):
    """Update how rough paths (F, n, 3) are over frames first … last − 1; origins (F, 3): where they are seen from.

    found: (3,) the largest squared length of a second difference so far, the sum of absolute third differences of their
    coordinates as seen from the origins, and the number of these.
    """
    largest, total = found[0], found[1]
    for f in range(first + 2, last):
        for n in range(places.shape[1]):
            square = 0.0
            for k in range(3):
                bend = (places[f, n, k] - places[f - 1, n, k]) - (places[f - 1, n, k] - places[f - 2, n, k])
                square += bend * bend
                if f > first + 2:
                    d, c = places[f, n, k] - origins[f, k], places[f - 1, n, k] - origins[f - 1, k]
                    b, a = places[f - 2, n, k] - origins[f - 2, k], places[f - 3, n, k] - origins[f - 3, k]
                    total += abs(((d - c) - (c - b)) - ((c - b) - (b - a)))
            largest = max(largest, square)
    found[0], found[1] = largest, total
    found[2] += 3 * places.shape[1] * max(last - first - 3, 0)


class AboveRoom(NamedTuple):
    """Workspace of `smooth_above` for n values."""

    active: NDArray
    """(n,) bool."""
    weights: NDArray
    """(n,)."""
    wanted: NDArray
    """(n, 1)."""
    curve: NDArray
    """(n, 1)."""
    factors: NDArray
    """(n, 3)."""


def above_room(count: int) -> AboveRoom:
    """Return workspace for so many values."""
    return AboveRoom(
        np.empty(count, np.bool_), np.empty(count), np.empty((count, 1)), np.empty((count, 1)), np.empty((count, 3))
    )


@uncounted_jit
def smooth_above(values, held, bend, clinging, clinging_held, changes, room, out):
    """Write the smoothest curve (n,) nowhere below values (n,), 0 where held (n,); n ≥ 3: see `spline.smooth_above`.

    bend: as in `smooth_curve`; clinging: penalty of being below a value, and of differing from 0 where held; changes:
    largest number of updates of the active set.
    """
    count = values.shape[0]
    active, weights, wanted, curve, factors = room
    for i in range(count):
        active[i] = values[i] > 0.0 and not held[i]
    for _ in range(changes):
        for i in range(count):
            weights[i] = 1.0 + (clinging if active[i] else 0.0) + (clinging_held if held[i] else 0.0)
            wanted[i, 0] = clinging * values[i] if active[i] else 0.0
        smooth_curve(weights, bend, 2.0 * math.sqrt(bend), wanted, factors, curve)
        # active set: values that the curve touches or undercuts stay, those it clears are released
        same = True
        for i in range(count):
            touches = not held[i] and curve[i, 0] <= values[i]
            same = same and touches == active[i]
            active[i] = touches
        if same:
            break
    for i in range(count):
        out[i] = 0.0 if held[i] else curve[i, 0]


WARMUP = {
    "roughness": lambda: (np.zeros((4, 1, 3)), np.zeros((4, 3)), 0, 4, np.zeros(3)),
    "smooth_above": lambda: (np.zeros(3), np.zeros(3, np.bool_), 1.0, 1.0, 1.0, 1, above_room(3), np.zeros(3)),
    "smooth_curve": lambda: (np.ones(3), 1.0, 1.0, np.zeros((3, 1)), np.zeros((3, 3)), np.zeros((3, 1))),
}
