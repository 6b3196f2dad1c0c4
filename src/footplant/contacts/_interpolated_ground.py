"""Compiled height of an uneven ground that is known only at its contacts.

h(x) = Σ wₙ hₙ / Σ wₙ with wₙ = exp(−|x − xₙ|² / (2 reach²)).
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit

NEGLIGIBLE = 40.0
"""Exponent beyond which a contact's weight is dropped: 4e-18 of the nearest one's."""


@jit
def heights(contacts, reach, places, out):
    """Write heights (M,) over places (M, 2): the Gaussian-weighted mean of contacts (N, 3), standard deviation `reach`.

    Weights are relative to the nearest contact's, so that they do not all underflow far from every contact.
    """
    share = 0.5 / (reach * reach)
    for m in range(places.shape[0]):
        x, z = places[m, 0], places[m, 1]
        least = math.inf
        for n in range(contacts.shape[0]):
            dx, dz = x - contacts[n, 0], z - contacts[n, 2]
            least = min(least, dx * dx + dz * dz)
        total = height = 0.0
        for n in range(contacts.shape[0]):
            dx, dz = x - contacts[n, 0], z - contacts[n, 2]
            away = (dx * dx + dz * dz - least) * share
            if away < NEGLIGIBLE:
                weight = math.exp(-away)
                total += weight
                height += weight * contacts[n, 1]
        out[m] = height / total


WARMUP = {"heights": lambda: (np.zeros((1, 3)), 1.0, np.zeros((1, 2)), np.zeros(1))}
