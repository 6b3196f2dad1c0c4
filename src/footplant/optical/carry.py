"""Which of two segments carries a marker that sits where they meet.

A shoulder's marker is on the collar bone and a knee's on the thigh, where laboratories put them. Programs that make
markers often put them on the joint, and so on the segment beyond it. Where the usual segments leave a marker far from
its landmark both are tried, and the likelier one is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.optical.body import MarkerBody, see
from footplant.optical.calibration import REPEATED, Calibration, calibrate
from footplant.optical.marker_sets import Stuck
from footplant.optical.prior import Expected, residuals

BEYOND = {
    "shoulder": "upper_arm", "elbow": "lower_arm", "inner elbow": "lower_arm",
    "thumb side of the wrist": "hand", "other side of the wrist": "hand", "wrist": "hand",
    "knee": "lower_leg", "inner knee": "lower_leg", "ankle": "foot", "inner ankle": "foot",
}  # fmt: skip
"""Landmark where two segments meet → the segment beyond the joint."""
ASTRAY = 4.0
"""How many times its spread a marker must be from its landmark for other segments to be tried."""
LIKELIER = 60.0
"""How much less the logarithm of the likelihood, twice, must be for another segment to be believed."""
CALM = 1e-4
"""Metres that what is left over of a marker is not taken for less than."""


def calibrate_carried(body: MarkerBody, targets: NDArray, fps: float) -> tuple[MarkerBody, Calibration]:
    """`calibrate`, and the body with its markers on the segments that carry them."""
    best, told = body, calibrate(body, targets, fps)
    least, astray = _unlikely(body, told, targets)
    if not astray:
        return best, told
    for landmarks in (("shoulder",), tuple(BEYOND)):
        other = MarkerBody(body.base, tuple(_moved(body.stuck, landmarks)))
        if other.stuck == body.stuck:
            continue
        again = calibrate(other, targets, fps)
        cost, _ = _unlikely(other, again, targets)
        if cost < least - LIKELIER:
            best, told, least = other, again, cost
    return best, told


def _moved(stuck: Iterable[Stuck], landmarks: tuple[str, ...]) -> Iterable[Stuck]:
    for item in stuck:
        landmark = item.landmark or ""
        side = item.role.partition("_")[0]
        yield replace(item, role=f"{side}_{BEYOND[landmark]}") if landmark in landmarks else item


def _unlikely(body: MarkerBody, told: Calibration, targets: NDArray) -> tuple[float, bool]:
    """Minus twice the logarithm of how likely markers and body are, and whether a marker of `BEYOND` is astray."""
    bones, expected = body.bones(told.lengths), Expected.of(body)
    usual = np.zeros_like(body.spreads)
    count, marks = len(told.lengths), told.offsets.size
    off = residuals(body, told.lengths, told.offsets, bones, usual, float(told.lengths[0]))
    off = (off / expected.first)[: count + marks]
    away = np.linalg.norm(off[count:].reshape(-1, 3), axis=1)
    astray = any(item.landmark in BEYOND and far > ASTRAY for item, far in zip(body.stuck, away, strict=True))
    left = np.sum((see(body, bones, told.offsets, told.poses).places - targets[told.frames]) ** 2, axis=-1)
    known = ~np.isnan(left).all(axis=0)
    squares = np.nanmedian(left[:, known], axis=0) + CALM**2
    numbers = 3.0 * len(told.frames) / REPEATED
    return float(numbers * np.sum(np.log(squares)) + np.sum(off**2)), astray
