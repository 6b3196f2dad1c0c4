"""Metrics from published work, defined as their authors define them, so that results can be compared.

All speeds are horizontal, between a frame and the next. Thresholds that authors state per frame are converted at the
authors' frame rate to speeds, so that a clip at another rate gets the same result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import FEET, TOES, Contacts
from footplant.quality.tracks import Tracks

TOE_DOWN = 0.05
"""Metres above the ground below which a toe counts as down (Kimodo, GMD)."""
CONTACT_HEIGHT = 0.02
"""Metres from the ground within which a point counts as in contact (OmniRetarget)."""
SMALLEST_PENETRATION = 0.001
"""Metres; shallower penetration is not counted, since no ground is known more accurately."""
SKATING_KIMODO, SKATING_GMD, SKATING_STANCE, SLIDING_OMNIRETARGET = 0.2, 0.5, 0.01, 0.3
"""m/s: Kimodo's and GMD's limits for a skating toe, ours for a foot in stance, OmniRetarget's for a sliding toe (1 cm
per frame at 30 frames per second)."""


@dataclass(frozen=True)
class Published:
    """Ratios from 0 to 1; None where no frame of the motion qualifies, or a source is needed and missing."""

    foot_skate_ratio: float | None
    """Kimodo: of the frames with a toe below 5 cm in t and t+1, the share in which the toe is faster than 0.2 m/s."""
    foot_skate_ratio_gmd: float | None
    """GMD: the same with 2.5 cm per frame at its 20 frames per second, 0.5 m/s."""
    skating_frames: float | None
    """Share of the stance frames (of the source, where there is one) in which the foot is faster than 1 cm/s."""
    sliding_duration: float | None
    """OmniRetarget: of the frames in which the source's toe moved at most 1 cm (at 30 frames per second, 0.3 m/s), the
    share in which ours moved more."""
    penetration_duration: float | None
    """OmniRetarget: share of frames with any point below the ground (by more than 1 mm)."""
    penetration_depth: float | None
    """OmniRetarget: the deepest point, cm."""
    contact_preservation: float | None
    """OmniRetarget: of the frames in which a source point is within 2 cm of the ground, the share in which ours is."""


def ground_speed(positions: NDArray, fps: float) -> NDArray:
    """Return (F−1, P) horizontal speed from each frame to the next, m/s, of positions (F, P, 3)."""
    x, z = (positions[1:, ..., axis] - positions[:-1, ..., axis] for axis in (0, 2))
    return np.sqrt(x * x + z * z) * fps


def published_metrics(
    tracks: Tracks, stance: NDArray, contacts: Contacts, fps: float, source: Tracks | None = None
) -> Published:
    """Compute the metrics of a motion with contacts `stance` (F, N), alone or against a source.

    Toes are the toe tips where the character has them, else the balls of the feet. In stance are those of its feet
    that `contacts` has examined.
    """
    from footplant.kernels import measures as kernel

    feet = [name for name in FEET + TOES if name in tracks.names]
    toes = [name for name in TOES if name in feet] or [name for name in feet if name.endswith("_ball")]
    planted = [name for name in contacts.points if name in feet]
    judged, found = bool(feet) and len(tracks.places) > 0, np.zeros(7)
    ours = kernel.Tracks(tracks.places, tracks.heights, _table(tracks, toes), _table(tracks, feet))
    bounds = np.array([TOE_DOWN, SKATING_KIMODO, SKATING_GMD, SKATING_STANCE, SMALLEST_PENETRATION])
    kernel.skating_counts(ours, stance, _table(tracks, planted), fps, bounds, found)
    low, skating, skating_gmd, standing, creeping, deep, deepest = found.tolist()
    sliding = preserved = None
    if source is not None:
        toes, feet = ([name for name in names if name in source.names] for names in (toes, feet))
        found = np.zeros(4)
        ours = kernel.Tracks(tracks.places, tracks.heights, _table(tracks, toes), _table(tracks, feet))
        theirs = kernel.Tracks(source.places, source.heights, _table(source, toes), _table(source, feet))
        kernel.source_counts(ours, theirs, fps, np.array([SLIDING_OMNIRETARGET, CONTACT_HEIGHT]), found)
        sliding, preserved = _ratio(found[1], found[0]), _ratio(found[3], found[2])
    return Published(
        foot_skate_ratio=_ratio(skating, low),
        foot_skate_ratio_gmd=_ratio(skating_gmd, low),
        skating_frames=_ratio(creeping, standing),
        sliding_duration=sliding,
        penetration_duration=deep / len(tracks.places) if judged else None,
        penetration_depth=100.0 * deepest if judged else None,
        contact_preservation=preserved,
    )


def _table(tracks: Tracks, names: list[str]) -> NDArray:
    return np.array(tracks.columns(names), np.int64)


def _ratio(some: float, of: float) -> float | None:
    return float(some / of) if of else None


def share(flags: NDArray) -> float | None:
    """Return the fraction of flags that are set, 0 to 1; None if there are no flags."""
    return float(np.mean(flags)) if flags.size else None
