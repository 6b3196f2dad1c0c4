"""Hands that meet and hands at the body: where the source has them, and how far the result is off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.quality.pair import BODY, SIDES, MotionPair

ARMS = tuple(f"{side}_{part}" for side in SIDES for part in ("lower_arm", "hand"))
"""Roles without which there are no palms."""
HANDS_MEET = 0.13 * BODY
"""Metres; wrists of the source nearer than this are together."""
NEAR_BODY = 0.05 * BODY
"""Metres; a palm of the source nearer than this to head, trunk or thigh is at the body."""
FEWEST_FRAMES = 5
"""Fewer frames with the hands together are not measured."""
BODY_PARTS = ("trunk", "head", "left_thigh", "right_thigh")


@dataclass(frozen=True)
class HandsTogether:
    """How well hands meet that meet in the source, mm on a body of 1.7 m."""

    frames: int
    """Number of frames in which the source's wrists are together."""
    off: float
    """Mean over frames of the error of the distance between palms or between wrists, whichever is smaller."""
    palms: float
    """Mean error of the distance between the palms."""
    wrists: float
    """Mean error of the distance between the wrists."""
    worst_frame: int
    """Frame of the source with the largest error."""


def hands_together(pair: MotionPair) -> HandsTogether | None:
    """Return how well hands meet; None if the source's hands are together in fewer than five frames.

    Hands of another size can keep the distance of the palms or that of the wrists, not both.
    """
    if not pair.both(*ARMS):
        return None
    (palms, wrists) = pair.compared.hands.swapaxes(0, 1)
    together = wrists[:, 0] < HANDS_MEET
    if together.sum() < FEWEST_FRAMES:
        return None
    of_palms, of_wrists = (1000.0 * np.abs(apart[:, 1] - apart[:, 0])[together] for apart in (palms, wrists))
    off = np.minimum(of_palms, of_wrists)
    worst = int(np.flatnonzero(together)[off.argmax()]) + pair.first
    return HandsTogether(len(off), float(off.mean()), float(of_palms.mean()), float(of_wrists.mean()), worst)


def palm_distances(pair: MotionPair) -> dict[str, NDArray]:
    """Return side → distances (F, 4) of the source's palm from `BODY_PARTS`, capsules, metres; empty without arms."""
    needed = (f"{side}_{part}" for side in SIDES for part in ("upper_arm", "upper_leg", "lower_leg"))
    if not pair.both(*ARMS, *needed):
        return {}
    return {side: pair.compared.near[:, number] for number, side in enumerate(SIDES)}
