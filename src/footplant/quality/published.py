"""The ratios that others publish, defined as they define them, so that results can be compared.

All speeds are over the ground (horizontal) between a frame and the next. Thresholds that their authors state per frame
are taken at the authors' frame rate and applied as speeds, so that a clip at another rate is judged alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import FEET, TOES, Contacts
from footplant.quality.tracks import Tracks

LOW = 0.05
"""Metres over the ground: below it a toe counts as down (Kimodo, GMD)."""
TOUCH = 0.02
"""Metres over the ground: within it a point counts as in contact (OmniRetarget)."""
DEEP = 0.001
"""Metres: shallower penetration is not counted, since no ground is known better than that."""
SKATING, SKATING_GMD, CREEPING, STICKING = 0.2, 0.5, 0.01, 0.3
"""m/s: Kimodo's and GMD's limits for a toe that skates, ours for a foot in stance, OmniRetarget's for a toe that sticks
(1 cm a frame at 30 frames a second)."""


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


def judge(tracks: Tracks, stance: NDArray, contacts: Contacts, fps: float, source: Tracks | None = None) -> Published:
    """The ratios of a motion whose points are planted by `stance` (F, N), alone or against a source.

    Toes are the tips of the toes, where the figure has any, else the balls of the feet. In stance are those of its feet
    that `contacts` has looked at.
    """
    from footplant.kernels import measures as judging

    feet = [name for name in FEET + TOES if name in tracks.names]
    toes = [name for name in TOES if name in feet] or [name for name in feet if name.endswith("_ball")]
    planted = [name for name in contacts.points if name in feet]
    judged, found = bool(feet) and len(tracks.places) > 0, np.zeros(7)
    judging.skating_counts(
        tracks.places, tracks.heights, stance, _table(tracks, toes), _table(tracks, feet), _table(tracks, planted), fps,
        np.array([LOW, SKATING, SKATING_GMD, CREEPING, DEEP]), found,
    )  # fmt: skip
    low, skating, skating_gmd, standing, creeping, deep, deepest = found.tolist()
    sliding = preserved = None
    if source is not None:
        toes, feet = ([name for name in names if name in source.names] for names in (toes, feet))
        found = np.zeros(4)
        judging.source_counts(
            tracks.places, tracks.heights, _table(tracks, toes), _table(tracks, feet), source.places, source.heights,
            _table(source, toes), _table(source, feet), fps, np.array([STICKING, TOUCH]), found,
        )  # fmt: skip
        sliding, preserved = _part(found[1], found[0]), _part(found[3], found[2])
    return Published(
        foot_skate_ratio=_part(skating, low),
        foot_skate_ratio_gmd=_part(skating_gmd, low),
        skating_frames=_part(creeping, standing),
        sliding_duration=sliding,
        penetration_duration=deep / len(tracks.places) if judged else None,
        penetration_depth=100.0 * deepest if judged else None,
        contact_preservation=preserved,
    )


def _table(tracks: Tracks, names: list[str]) -> NDArray:
    return np.array(tracks.columns(names), np.int64)


def _part(some: float, of: float) -> float | None:
    return float(some / of) if of else None


def share(flags: NDArray) -> float | None:
    """How many of the flags are set, 0 to 1; None when there are none to ask."""
    return float(np.mean(flags)) if flags.size else None
