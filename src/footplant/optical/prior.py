"""Prior of a body before a take: how far proportions, marker placement and mean pose are from the expected ones.

These spreads differ from one laboratory to the next, and the wearer may well be a known character. So they are
estimated from the take as well (empirical Bayes; MacKay, Bayesian interpolation, 1992, section 4). A marker that is
elsewhere altogether has little weight (Student's t).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.optical.body import LENGTHS, MarkerBody
from footplant.optical.marker_sets import LANDMARKS, ON_BONE, MarkerPlacement
from footplant.optical.settings import BODY_PRIOR, POSE


@dataclass(frozen=True, eq=False)
class BodyPrior:
    """Standard deviations of lengths, offsets and mean pose, in this order, from what is expected of people."""

    first: NDArray
    """(S,) before the take is known."""
    groups: dict[str, NDArray]
    """Name → indices of those that share a scale."""
    scales: dict[str, float]
    """Name → factor of the spread, as estimated from the take."""
    weights: NDArray
    """(S,) weights: lower where a marker is far from its landmark."""

    @classmethod
    def of(cls, body: MarkerBody) -> BodyPrior:
        """Return the prior of any person."""
        count, marks = 1 + len(LENGTHS), 3 * len(body.placements)
        # a trunk is near its mean pose, limbs are anywhere; a free axis has no mean
        posture = np.where(body.limbs[:, None], body.spreads, np.minimum(body.spreads, BODY_PRIOR.posture))
        posture = np.where(body.spreads >= POSE.free, 1e-3, posture)
        lengths = np.concatenate([[BODY_PRIOR.scale], np.full(len(LENGTHS), BODY_PRIOR.length)])
        first = np.concatenate([lengths, np.repeat(body.landmarks.spread, 3), posture.ravel()])
        rows = np.arange(len(first))
        near = np.repeat([_on_bone(item) for item in body.placements], 3)
        limb = np.repeat(body.limbs, 3) & (body.spreads < POSE.free).ravel()
        own, posture_rows = rows[count : count + marks], rows[count + marks :]
        groups = {"lengths": rows[1:count], "bones": own[near], "limbs": posture_rows[limb]}
        groups = {name: some for name, some in groups.items() if len(some)}
        return cls(first, groups, dict.fromkeys(groups, 1.0), np.ones(len(first)))

    @property
    def spread(self) -> NDArray:
        """(S,) current standard deviations."""
        scales = np.ones(len(self.first))
        for name, rows in self.groups.items():
            scales[rows] = self.scales[name]
        return self.first * scales / np.sqrt(self.weights)

    def updated(self, residual: NDArray, variance: NDArray, *, sliding: bool) -> BodyPrior:
        """Return the prior with spreads estimated from residuals (S,) and their posterior variances (S,).

        sliding: whether the markers slide on the skin. Per group the squared scale is Σ w r² / Σ (1 − v/σ²), the
        number of well-determined parameters in the denominator (MacKay), regularised by prior counts.
        """
        scales, weights, spread = dict(self.scales), np.ones(len(self.first)), self.spread
        for name, rows in self.groups.items():
            size, open_ = (residual[rows] / self.first[rows]) ** 2, variance[rows] / self.first[rows] ** 2
            if name == "bones":
                whole = (size + open_).reshape(-1, 3).sum(axis=1) / scales[name] ** 2
                weights[rows] = np.repeat((BODY_PRIOR.tails + 3.0) / (BODY_PRIOR.tails + whole), 3)
            determined = np.clip(1.0 - variance[rows] / spread[rows] ** 2, 0.0, 1.0)
            count = BODY_PRIOR.prior_counts[name]
            share = (count + np.sum(weights[rows] * size)) / (count + np.sum(determined))
            widest = BODY_PRIOR.widest_sliding[name] if sliding else BODY_PRIOR.widest
            scale = float(np.clip(np.sqrt(share), BODY_PRIOR.narrowest, widest))
            scales[name] = max(scale, 1.0) if name == "bones" and scale > BODY_PRIOR.exact else scale
        return replace(self, scales=scales, weights=weights)


def _on_bone(item: MarkerPlacement) -> bool:
    return item.landmark is not None and LANDMARKS[item.landmark].spread <= ON_BONE


def residuals(
    body: MarkerBody, lengths: NDArray, offsets: NDArray, bones: NDArray, posture: NDArray, girth: float
) -> NDArray:
    """Return (S,) differences of lengths, offsets and mean pose from what is expected of people."""
    off = offsets - body.landmarks.places(bones, girth)
    return np.concatenate([lengths - 1.0, off.ravel(), posture.ravel()])
