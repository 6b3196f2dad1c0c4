"""Kernel of `dynamics`: rows of balance and flight at all frames, for one Gauss–Newton step."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import strict_jit
from footplant.quality._support import nearest_in_support


class Known(NamedTuple):
    """What stays the same from step to step: see `dynamics.Dynamics`."""

    points: NDArray
    """(F, 2) metres."""
    levers: NDArray
    """(F,) frames²."""
    corners: NDArray
    """(F, K, 2) metres."""
    counts: NDArray
    """(F,) int64."""
    flight: NDArray
    """(F,) bool."""
    missing: NDArray
    """(F, 3) metres per frame²."""
    allowed: NDArray
    """(F,) metres."""
    remainder: NDArray
    """(F, 3) metres."""
    shift: NDArray
    """(3,) metres."""


class Weights(NamedTuple):
    """Numbers of `dynamics.DynamicsSettings`, weights times the solver's own."""

    mass: float
    tolerance: float
    most: float
    balance: float
    flight: float
    time: float
    """Frames²; what an acceleration in flight is multiplied by."""


@strict_jit
def _bent(values, f, k):
    """Return the second difference of values (F, n) at a frame, 0 at both ends."""
    if f == 0 or f == values.shape[0] - 1:
        return 0.0
    return (values[f + 1, k] - values[f, k]) - (values[f, k] - values[f - 1, k])


@strict_jit
def rows(known, weights, x, moves):
    """Write weight, still, lever and wanted (F, 3, 4) of rows for the hips' displacement.

    x: (F, 9 or more) displacements of hips and ankles, without the common shift, metres.
    """
    frames, most = x.shape[0], known.corners.shape[1]
    others, own = np.empty((frames, 3)), np.empty((frames, 3))
    rest, now, nearest = np.empty((frames, 2)), np.empty((frames, 2)), np.empty((frames, 2))
    share = 0.5 * (1.0 - weights.mass)
    for f in range(frames):
        for k in range(3):
            others[f, k] = share * (x[f, 3 + k] + x[f, 6 + k]) + known.remainder[f, k]
            own[f, k] = weights.mass * x[f, k]
    for f in range(frames):
        for i in range(2):
            k, lever = 2 * i, known.levers[f]
            rest[f, i] = known.points[f, i] + (others[f, k] + known.shift[k]) - lever * _bent(others, f, k)
            now[f, i] = rest[f, i] + own[f, k] - lever * _bent(own, f, k)
            nearest[f, i] = now[f, i]
    order, hull = np.empty(most, np.int64), np.empty(2 * most, np.int64)
    nearest_in_support(known.corners, known.counts, now, order, hull, nearest)
    for f in range(frames):
        dx, dy = nearest[f, 0] - now[f, 0], nearest[f, 1] - now[f, 1]
        away = math.sqrt(dx * dx + dy * dy)
        beyond = max(away - max(known.allowed[f], weights.tolerance), 0.0)
        pull = weights.most / max(beyond, weights.most)
        for i in range(2):
            k, unit = 2 * i, (nearest[f, i] - now[f, i]) / max(away, 1e-9)
            if known.counts[f] > 0:
                moves[f, k, 0], moves[f, k, 1] = weights.balance * pull, weights.mass
                moves[f, k, 2] = -weights.mass * known.levers[f]
                moves[f, k, 3] = now[f, i] + beyond * unit - rest[f, i]
        if known.flight[f]:
            for k in range(3):
                moves[f, k, 0], moves[f, k, 1], moves[f, k, 2] = weights.flight, 0.0, weights.mass * weights.time
                moves[f, k, 3] = weights.time * (known.missing[f, k] - _bent(others, f, k))


def _smallest():
    known = Known(
        np.zeros((1, 2)), np.zeros(1), np.zeros((1, 3, 2)), np.array([3]), np.zeros(1, bool), np.zeros((1, 3)),
        np.zeros(1), np.zeros((1, 3)), np.zeros(3),
    )  # fmt: skip
    return known, Weights(1.0, 1.0, 1.0, 1.0, 1.0, 1.0), np.zeros((1, 13)), np.zeros((1, 3, 4))


WARMUP = {"rows": _smallest}
