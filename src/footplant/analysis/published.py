"""The ratios that others publish, defined as they define them, so that results can be compared.

All speeds are over the ground (horizontal) between a frame and the next. Thresholds that their authors state per frame
are taken at the authors' frame rate and applied as speeds, so that a clip at another rate is judged alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LOW = 0.05
"""Metres over the ground: below it a toe counts as down (Kimodo, GMD)."""
TOUCH = 0.02
"""Metres over the ground: within it a point counts as in contact (OmniRetarget)."""
DEEP = 0.001
"""Metres: shallower penetration is not counted, since no ground is known better than that."""


@dataclass(frozen=True)
class Published:
    """Ratios from 0 to 1; None where the motion has no frame to judge or a source is needed and missing."""

    foot_skate_ratio: float | None
    """Kimodo: of the frames with a toe below 5 cm in t and t+1, the share whose toe is faster than 0.2 m/s."""
    foot_skate_ratio_gmd: float | None
    """GMD: the same with 2.5 cm a frame at its 20 frames a second, 0.5 m/s."""
    skating_frames: float | None
    """Share of the stance frames (of the source, where there is one) whose foot is faster than 1 cm/s."""
    sliding_duration: float | None
    """OmniRetarget: of the frames in which the source's toe moved at most 1 cm (at 30 frames a second, 0.3 m/s), the
    share in which ours moved more."""
    penetration_duration: float | None
    """OmniRetarget: share of frames with any point below the ground (by more than 1 mm)."""
    penetration_depth: float | None
    """OmniRetarget: the deepest point, cm."""
    contact_preservation: float | None
    """OmniRetarget: of the frames in which a source point is within 2 cm of the ground, the share in which ours is."""


def ground_speed(positions: NDArray, fps: float) -> NDArray:
    """(F−1, P) horizontal speed from each frame to the next, m/s, of positions (F, P, 3)."""
    x, z = (positions[1:, ..., axis] - positions[:-1, ..., axis] for axis in (0, 2))
    return np.sqrt(x * x + z * z) * fps


def foot_skate_ratio(toes: NDArray, heights: NDArray, fps: float, limit: float) -> float | None:
    """Of the frames with a toe low in t and t+1, those in which such a toe is faster than `limit` m/s.

    `toes` (F, T, 3) metres; `heights` (F, T) metres over the ground.
    """
    low = (heights[:-1] < LOW) & (heights[1:] < LOW)
    skating = low & (ground_speed(toes, fps) > limit)
    return share(np.any(skating, axis=1)[np.any(low, axis=1)])


def skating_frames(positions: NDArray, stance: NDArray, fps: float) -> float | None:
    """Share of stance frames faster than 1 cm/s; `stance` (F, P) bool. A frame counts with the next one in stance."""
    inside = stance[:-1] & stance[1:]
    return share(ground_speed(positions, fps)[inside] > 0.01)


def sliding_duration(toes: NDArray, source_toes: NDArray, fps: float) -> float | None:
    """Of the source's sticking frames (toe at most 0.3 m/s), the share in which ours does not stick."""
    sticking = ground_speed(source_toes, fps) <= 0.3
    return share(ground_speed(toes, fps)[sticking] > 0.3)


def penetration(heights: NDArray) -> tuple[float | None, float | None]:
    """Share of frames with any point of heights (F, P) below the ground, and the largest depth in cm."""
    if heights.size == 0:
        return None, None
    depth = np.maximum(-heights, 0.0).max(axis=1)
    return share(depth > DEEP), float(100.0 * depth.max())


def contact_preservation(heights: NDArray, source_heights: NDArray) -> float | None:
    """Of the source's touching points and frames, those that touch in ours; both (F, P) metres over their grounds."""
    touching = np.abs(source_heights) <= TOUCH
    return share(np.abs(heights)[touching] <= TOUCH)


def share(flags: NDArray) -> float | None:
    """How many of the flags are set, 0 to 1; None when there are none to ask."""
    return float(np.mean(flags)) if flags.size else None
