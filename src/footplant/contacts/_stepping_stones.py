"""The height of an uneven ground that is known only where it was stepped on."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit

NO_SAY = 40.0
"""Exponent from where on a stone has no say beside the nearest one: 4e-18 of it."""


@jit
def heights(stones, reach, places, out):
    """Heights (M,) over places (M, 2): the mean of stones (N, 3), weighed by a bell curve as wide as `reach`.

    Weights are relative to the nearest stone's, so that a place far from every one still has one.
    """
    share = 0.5 / (reach * reach)
    for m in range(places.shape[0]):
        x, z = places[m, 0], places[m, 1]
        least = math.inf
        for n in range(stones.shape[0]):
            dx, dz = x - stones[n, 0], z - stones[n, 2]
            least = min(least, dx * dx + dz * dz)
        total = height = 0.0
        for n in range(stones.shape[0]):
            dx, dz = x - stones[n, 0], z - stones[n, 2]
            away = (dx * dx + dz * dz - least) * share
            if away < NO_SAY:
                weight = math.exp(-away)
                total += weight
                height += weight * stones[n, 1]
        out[m] = height / total


WARMUP = {"heights": lambda: (np.zeros((1, 3)), 1.0, np.zeros((1, 2)), np.zeros(1))}
