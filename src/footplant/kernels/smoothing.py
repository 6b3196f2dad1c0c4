"""The smoothest curve near values: a system of five diagonals, solved in one pass forth and one back."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit


@jit
def calm_curve(weights, bend, speed, wanted, factors, out):
    """Curves (n, k) that minimize bend·|x″|² + speed·|x′|² + Σ w·x² − 2·x·wanted, in differences of neighbours; n ≥ 3.

    weights: (n,); wanted: (n, k), what is asked for times its weight; factors: (n, 3), room for the matrix' factors
    D, and L one and two below its diagonal.
    """
    count = weights.shape[0]
    for i in range(count):
        # how many second differences begin here, one before or two before; and first differences here or one before
        own, one, two = i < count - 2, 1 <= i < count - 1, i >= 2
        diagonal = weights[i] + bend * (own + 4.0 * one + two) + speed * ((i < count - 1) + (i >= 1))
        below = second = 0.0
        if i >= 1:
            # the entry beside the last row's diagonal
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


@jit
def smooth_above(values, held, bend, clinging, clinging_held, changes, out):
    """The smoothest curve (n,) nowhere below values (n,), 0 where held (n,); n ≥ 3: see `spline.smooth_above`.

    bend: as `calm_curve` has it; clinging: what it costs to be below the values, and to be off 0 where it is held;
    changes: how often it looks at most which values it would be below.
    """
    count = values.shape[0]
    pressed = np.empty(count, np.bool_)
    weights, wanted, curve, factors = np.empty(count), np.empty((count, 1)), np.empty((count, 1)), np.empty((count, 3))
    for i in range(count):
        pressed[i] = values[i] > 0.0 and not held[i]
    for _ in range(changes):
        for i in range(count):
            weights[i] = 1.0 + (clinging if pressed[i] else 0.0) + (clinging_held if held[i] else 0.0)
            wanted[i, 0] = clinging * values[i] if pressed[i] else 0.0
        calm_curve(weights, bend, 2.0 * math.sqrt(bend), wanted, factors, curve)
        # what presses against the curve goes on; what it has left behind lets go
        same = True
        for i in range(count):
            now = not held[i] and curve[i, 0] <= values[i]
            same = same and now == pressed[i]
            pressed[i] = now
        if same:
            break
    for i in range(count):
        out[i] = 0.0 if held[i] else curve[i, 0]


WARMUP = {
    "smooth_above": lambda: (np.zeros(3), np.zeros(3, np.bool_), 1.0, 1.0, 1.0, 1, np.zeros(3)),
    "calm_curve": lambda: (np.ones(3), 1.0, 1.0, np.zeros((3, 1)), np.zeros((3, 3)), np.zeros((3, 1))),
}
