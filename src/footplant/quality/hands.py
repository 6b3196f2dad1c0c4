"""Hands that meet and hands at the body: where the source has them, and how far the result is off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.quality.pair import BODY, SIDES, MotionPair, unit

HANDS_MEET = 0.13 * BODY
"""Metres; wrists of the source nearer than this are together."""
NEAR_BODY = 0.05 * BODY
"""Metres; a palm of the source nearer than this to head, trunk or thigh is at the body."""
FEWEST_FRAMES = 5
"""Fewer frames with the hands together are not measured."""
TRUNK, FLANK, HEAD, THIGH = 0.075, 0.065, 0.05, 0.045
"""Radii of capsules as shares of the height: means of published proportions (Drillis and Contini; NASA-STD-3000)."""


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
    if not pair.both("left_hand", "right_hand") or not pair.source_palms:
        return None
    wrists = [np.linalg.norm(p["left_hand"] - p["right_hand"], axis=1) for p in (pair.source, pair.result)]
    together = wrists[0] < HANDS_MEET
    if together.sum() < FEWEST_FRAMES:
        return None
    palms = [np.linalg.norm(p["left"] - p["right"], axis=1) for p in (pair.source_palms, pair.result_palms)]
    of_palms, of_wrists = (1000.0 * np.abs(ours - theirs)[together] for theirs, ours in (palms, wrists))
    off = np.minimum(of_palms, of_wrists)
    worst = int(np.flatnonzero(together)[off.argmax()]) + pair.first
    return HandsTogether(len(off), float(off.mean()), float(of_palms.mean()), float(of_wrists.mean()), worst)


def palm_distances(pair: MotionPair) -> dict[str, dict[str, NDArray]]:
    """Return side → part → distance (F,) of the source's palm from a body of capsules, metres; empty without arms.

    Sources have no skin: a body of usual proportions stands in for it, good to about 30 mm.
    """
    needed = (f"{side}_{part}" for side in SIDES for part in ("upper_arm", "upper_leg", "lower_leg"))
    if not pair.source_palms or not pair.both("hips", "head", *needed):
        return {}
    places = pair.source
    up = unit(places["head"] - places["hips"])
    neck = 0.5 * (places["left_upper_arm"] + places["right_upper_arm"])
    flanks = [(places[f"{x}_upper_leg"], neck + 0.6 * (places[f"{x}_upper_arm"] - neck)) for x in SIDES]
    skull = places["head"] + 0.02 * BODY * up
    out = {}
    for side, palm in pair.source_palms.items():
        trunk = [_distance(palm, places["hips"], neck) - TRUNK * BODY]
        trunk += [_distance(palm, *flank) - FLANK * BODY for flank in flanks]
        parts = {"trunk": np.minimum.reduce(trunk), "head": _distance(palm, skull, skull + 0.05 * BODY * up)}
        parts["head"] -= HEAD * BODY
        for x in SIDES:
            thigh = _distance(palm, places[f"{x}_upper_leg"], places[f"{x}_lower_leg"])
            parts[f"{x}_thigh"] = thigh - THIGH * BODY
        out[side] = parts
    return out


def _distance(points: NDArray, start: NDArray, end: NDArray) -> NDArray:
    """Return the distances (F,) of points from segments, all (F, 3)."""
    along, from_start = end - start, points - start
    square = np.maximum(np.einsum("fk,fk->f", along, along), 1e-12)
    share = np.clip(np.einsum("fk,fk->f", from_start, along) / square, 0.0, 1.0)
    away = from_start - share[:, None] * along
    return np.sqrt(np.einsum("fk,fk->f", away, away))
