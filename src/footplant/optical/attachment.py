"""Decide which of two segments carries a marker near the joint between them.

Laboratories put a shoulder marker on the clavicle and a knee marker on the thigh. Programs that synthesise markers
often attach them to the joint, and so to the segment beyond it. Where the usual segments leave a marker far from its
landmark, both are tried and the more likely one is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.optical.body import MarkerBody, pose_markers
from footplant.optical.calibration import Calibration, calibrate
from footplant.optical.marker_sets import MarkerPlacement
from footplant.optical.prior import BodyPrior, residuals
from footplant.optical.settings import ATTACHMENT, CALIBRATION

BEYOND = {
    "shoulder": "upper_arm", "elbow": "lower_arm", "inner elbow": "lower_arm",
    "thumb side of the wrist": "hand", "other side of the wrist": "hand", "wrist": "hand",
    "knee": "lower_leg", "inner knee": "lower_leg", "ankle": "foot", "inner ankle": "foot",
}  # fmt: skip
"""Landmark where two segments meet → the segment beyond the joint."""


def calibrate_attached(body: MarkerBody, targets: NDArray, fps: float) -> tuple[MarkerBody, Calibration]:
    """Return the body with its markers on the segments that carry them, and its calibration."""
    best, calibration = body, calibrate(body, targets, fps)
    least, astray = _unlikelihood(body, calibration, targets)
    if not astray:
        return best, calibration
    for landmarks in (("shoulder",), tuple(BEYOND)):
        other = MarkerBody(body.base, tuple(_moved(body.placements, landmarks)))
        if other.placements == body.placements:
            continue
        again = calibrate(other, targets, fps)
        cost, _ = _unlikelihood(other, again, targets)
        if cost < least - ATTACHMENT.likelier:
            best, calibration, least = other, again, cost
    return best, calibration


def _moved(placements: Iterable[MarkerPlacement], landmarks: tuple[str, ...]) -> Iterable[MarkerPlacement]:
    for item in placements:
        landmark = item.landmark or ""
        side = item.role.partition("_")[0]
        yield replace(item, role=f"{side}_{BEYOND[landmark]}") if landmark in landmarks else item


def _unlikelihood(body: MarkerBody, calibration: Calibration, targets: NDArray) -> tuple[float, bool]:
    """Return −2 log-likelihood of markers and body, and whether a marker of `BEYOND` is far from its landmark."""
    bones, prior = body.bones(calibration.lengths), BodyPrior.of(body)
    posture = np.zeros_like(body.spreads)
    count, marks = len(calibration.lengths), calibration.offsets.size
    off = residuals(
        body, calibration.lengths, calibration.offsets, bones, posture, float(calibration.lengths[0])
    )  # fmt: skip
    off = (off / prior.first)[: count + marks]
    away = np.linalg.norm(off[count:].reshape(-1, 3), axis=1)
    astray = any(
        item.landmark in BEYOND and far > ATTACHMENT.astray for item, far in zip(body.placements, away, strict=True)
    )
    places = pose_markers(body, bones, calibration.offsets, calibration.poses).places
    left = np.sum((places - targets[calibration.frames]) ** 2, axis=-1)
    known = ~np.isnan(left).all(axis=0)
    squares = np.nanmedian(left[:, known], axis=0) + ATTACHMENT.least_residual**2
    numbers = 3.0 * len(calibration.frames) / CALIBRATION.redundancy
    return float(numbers * np.sum(np.log(squares)) + np.sum(off**2)), astray
