"""What is known of people before a take: how far their proportions, their markers and their usual pose are from ours.

How far that is differs from one laboratory to the next, and who wears the markers may well be a figure that is known.
So it is told by the take as well: by what it says of those that it does tell, of those that it does not (MacKay,
Bayesian interpolation, 1992, section 4). A marker that is elsewhere altogether does not count (Student's t).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.optical.body import ANY, LENGTHS, MarkerBody
from footplant.optical.marker_sets import LANDMARKS, NEAR, Stuck

SCALE_SPREAD, LENGTH_SPREAD = 0.25, 0.03
"""How far people's size and proportions are from the mean, as shares."""
POSTURE = 0.1
"""Radians; how far people's usual pose is from the neutral one at a joint of the trunk."""
TAILS = 4.0
"""Degrees of freedom of how far a marker is from its landmark; the fewer, the less those count that are far off."""
COUNTED = {"lengths": 0.05, "bones": 1.0, "limbs": 2.0}
"""Group → how many numbers of a take outvote what is known of it beforehand."""
EXACT = 0.4
"""Markers are put on their landmarks by a program, and then nearer to them than this share of the usual, or by hand."""
NARROWEST, WIDEST = 0.05, 10.0
"""Times what is known beforehand that a take may say of a group."""
WIDEST_SLIDING = {"lengths": 5.0 / 3.0, "bones": 1.0, "limbs": 1.0}
"""The same where markers slide on the skin, which looks like other lengths."""


@dataclass(frozen=True, eq=False)
class Expected:
    """How far lengths, offsets and the usual pose, in this order, may be from what is known of people."""

    first: NDArray
    """(S,) as long as nothing is known of the take."""
    groups: dict[str, NDArray]
    """Name → places of those whose spreads are alike."""
    scales: dict[str, float]
    """Name → how many times as much as at first, as the take tells it."""
    weights: NDArray
    """(S,) how much each counts: less where a marker is far from its landmark."""

    @classmethod
    def of(cls, body: MarkerBody) -> Expected:
        """What is expected of anybody."""
        count, marks = 1 + len(LENGTHS), 3 * len(body.stuck)
        # a trunk is held as it usually is, limbs are anywhere; about an axis that is free to turn nothing is usual
        posture = np.where(body.limbs[:, None], body.spreads, np.minimum(body.spreads, POSTURE))
        posture = np.where(body.spreads >= ANY, 1e-3, posture)
        lengths = np.concatenate([[SCALE_SPREAD], np.full(len(LENGTHS), LENGTH_SPREAD)])
        first = np.concatenate([lengths, np.repeat(body.landmarks.spread, 3), posture.ravel()])
        rows = np.arange(len(first))
        near = np.repeat([_on_bone(item) for item in body.stuck], 3)
        limb = np.repeat(body.limbs, 3) & (body.spreads < ANY).ravel()
        own, usual = rows[count : count + marks], rows[count + marks :]
        groups = {"lengths": rows[1:count], "bones": own[near], "limbs": usual[limb]}
        groups = {name: some for name, some in groups.items() if len(some)}
        return cls(first, groups, dict.fromkeys(groups, 1.0), np.ones(len(first)))

    @property
    def spread(self) -> NDArray:
        """(S,) how far each may be."""
        scales = np.ones(len(self.first))
        for name, rows in self.groups.items():
            scales[rows] = self.scales[name]
        return self.first * scales / np.sqrt(self.weights)

    def learned(self, residual: NDArray, doubt: NDArray, *, sliding: bool) -> Expected:
        """What is expected after a take has told residuals (S,), with variances (S,) of what it leaves open.

        sliding: whether its markers slide on the skin.
        """
        scales, weights, spread = dict(self.scales), np.ones(len(self.first)), self.spread
        for name, rows in self.groups.items():
            size, open_ = (residual[rows] / self.first[rows]) ** 2, doubt[rows] / self.first[rows] ** 2
            if name == "bones":
                whole = (size + open_).reshape(-1, 3).sum(axis=1) / scales[name] ** 2
                weights[rows] = np.repeat((TAILS + 3.0) / (TAILS + whole), 3)
            told = np.clip(1.0 - doubt[rows] / spread[rows] ** 2, 0.0, 1.0)
            share = (COUNTED[name] + np.sum(weights[rows] * size)) / (COUNTED[name] + np.sum(told))
            scale = float(np.clip(np.sqrt(share), NARROWEST, WIDEST_SLIDING[name] if sliding else WIDEST))
            scales[name] = max(scale, 1.0) if name == "bones" and scale > EXACT else scale
        return replace(self, scales=scales, weights=weights)


def _on_bone(item: Stuck) -> bool:
    return item.landmark is not None and LANDMARKS[item.landmark].spread <= NEAR


def residuals(
    body: MarkerBody, lengths: NDArray, offsets: NDArray, bones: NDArray, usual: NDArray, girth: float
) -> NDArray:
    """(S,) how far all is from what is expected of people."""
    off = offsets - body.landmarks.places(bones, girth)
    return np.concatenate([lengths - 1.0, off.ravel(), usual.ravel()])
