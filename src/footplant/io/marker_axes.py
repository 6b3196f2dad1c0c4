"""Find the vertical axis of a marker set: from marker names, else from the posture and travel of the point cloud."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVELS = (
    (r"(L|R|LF|RF|LB|RB|ARI|HEAD|TOP).?HE?A?D|HEAD.*|.*VERTEX|.*TEMPLE|(L|R)?.?EAR|NASION|SELLION|OCC.*", 0.95),
    (r"C7.*|CLAV|IJ|(L|R).?(SHO|ACR|SHOULDER|ACROMIUM|ACROMION).*|.*(SHOULDER|ACROM).*|SJN|MANUB.*", 0.82),
    (r"STRN|STERNUM|T10|T8|PX|XIPH.*|SXS|(L|R)BAK|(L|R)?BAC", 0.72),
    (r"(L|R).?(ASI|PSI|FWT|BWT|ASIS|PSIS|IAS|IPS|ILC|ICT).*|SACR.*|V.?SACRAL|.*(ASIS|PSIS|SACRUM|WAIST|PELVI).*", 0.55),
    (r"(L|R).?(THI|THIGH).*|.*THIGH.*", 0.40),
    (r"(L|R).?(KNE|KNEE|FLE|FME|LFC|MFC|LEP|MEP|KNI).*|.*KNEE.*|.*CONDYLE.*", 0.28),
    (r"(L|R).?(TIB|SHN|SHANK|SHIN).*|.*(SHANK|SHIN|TIBIA).*", 0.18),
    (r"(L|R).?(ANK|MMA|ANKLE|MED|FAL|TAM|LML|MML).*|.*(ANKLE|MALLEOL).*", 0.05),
    (
        r"(L|R).?(TOE|HEE|HEEL|MT[1-9P]|FT[0-9]|FOOT|FM[1-5]|FCC|CAL|D[1-5]M|FIRST|FIFTH|HLX).*|.*(TOE|HEEL|FOOT).*",
        0.02,
    ),
)
"""Marker names of common marker sets (Plug-in Gait, Helen Hayes, ISB, CAST, OpenSim, Vicon) → height on a standing
person, as a fraction of stature (Winter 2009, "Biomechanics and Motor Control of Human Movement", figure 4.1).
"""


@dataclass(frozen=True)
class MarkerAxesSettings:
    """Thresholds of the up axis detection. No experiment is on record for them.

    "Extent" is the median over frames of the cloud's largest size along an axis.
    """

    min_level_span: float = 0.2
    """Fraction of stature. Named markers that span less height are not used. Doubled, more frames are ignored."""
    clear_cosine: float = 0.85
    """Smallest cosine between the direction given by names and the axis. Larger values reject more by-name results."""
    floor_distance: float = 0.12
    """Fraction of the extent. Largest distance of a standing person's lowest markers from height 0."""
    floor_heights: tuple[float, float] = (-0.02, 0.2)
    """Fractions of the extent. Range of the lowest markers' median height for a person on a floor at 0."""
    floor_deviation: float = 0.08
    """Fraction of the extent. Largest standard deviation of the lowest markers' height on a floor."""
    upright_ratio: float = 1.5
    """An upright cloud is at least this many times as tall as it is wide."""
    floor_offset_weight: float = 0.5
    """Cost per extent of the lowest markers' distance from height 0, relative to the cost of travel."""
    usual_bonus: float = 0.15
    """Cost reduction for the format's usual axis. Doubled, it wins over clearer evidence."""
    positive_bonus: float = 0.05
    """Cost reduction for any other positive axis."""


SETTINGS = MarkerAxesSettings()

_PATTERNS = [(re.compile(pattern), level) for pattern, level in LEVELS]


def find_up(names: Sequence[str], positions: NDArray, *, stated: str | None, likely: str) -> tuple[str, list[str]]:
    """Return the vertical axis of points (F, M, 3), and notes if it is not simply what the file states.

    stated: the file's own; overruled only if names or posture clearly disagree and no floor is found along it.
    likely: the result if nothing else is known.
    """
    by_name = up_by_names(names, positions)
    if stated is not None:
        if by_name is not None and by_name != stated:
            if is_on_floor(positions, stated):
                return stated, []
            return by_name, [f"the file states that {stated} is up, but marker names indicate {by_name}; used that"]
        if by_name is None:
            standing = _upright(positions)
            if standing is not None and standing != stated and _is_below_floor(positions, stated):
                return standing, [
                    f"the file states that {stated} is up, but the markers would be far below the floor, and are on "
                    f"it along {standing}; used that"
                ]
        return stated, []
    silent = "the file does not say which axis is up"
    if by_name is not None:
        # a person lying, crawling or doing a handstand is still on a floor
        if not is_on_floor(positions, by_name) and is_on_floor(positions, likely):
            return likely, [f"{silent}; along {likely}, usual for the format, the markers are on a floor"]
        return by_name, [f"{silent}; marker names indicate {by_name}"]
    found = up_by_posture(positions, likely)
    return found, [f"{silent}; the markers' posture indicates {found}"]


def is_on_floor(positions: NDArray, up: str) -> bool:
    """Return whether the lowest points along an axis keep one height at or slightly above 0, as on a floor."""
    lows, highs = _bounds(positions)
    if not len(lows):
        return False
    axis = "xyz".index(up[-1])
    feet = -highs[:, axis] if up.startswith("-") else lows[:, axis]
    share = feet / max(float(np.median(highs - lows, axis=0).max()), 1e-300)
    low, high = SETTINGS.floor_heights
    return bool(low <= np.median(share) <= high and np.std(share) < SETTINGS.floor_deviation)


def up_by_names(names: Sequence[str], positions: NDArray) -> str | None:
    """Return the axis along which heads are above feet, by marker names; None if they do not show one."""
    levels = np.array([_level(name) for name in names])
    known = ~np.isnan(levels)
    if np.count_nonzero(known) < 4:
        return None
    places, levels = positions[:, known], levels[known]
    seen = ~np.isnan(places[..., 0])
    # per frame, the covariance of coordinates with nominal heights: left and right cancel, the vertical remains
    count = np.maximum(seen.sum(axis=1), 1)
    mean_level = (seen * levels).sum(axis=1) / count
    deviation = np.where(seen, levels - mean_level[:, None], 0.0)
    spread = np.where(seen, levels, -np.inf).max(axis=1) - np.where(seen, levels, np.inf).min(axis=1)
    slope = np.einsum("fm,fmk->fk", deviation, np.nan_to_num(places, nan=0.0))
    slope = slope[(spread >= SETTINGS.min_level_span) & (np.count_nonzero(seen, axis=1) >= 4)]
    if not len(slope):
        return None
    lengths = np.linalg.norm(slope, axis=1, keepdims=True)
    mean = (slope / np.maximum(lengths, 1e-300)).mean(axis=0)
    axis = int(np.abs(mean).argmax())
    if abs(mean[axis]) < SETTINGS.clear_cosine * max(np.linalg.norm(mean), 0.5):
        return None
    return f"{'-' if mean[axis] < 0 else ''}{'xyz'[axis]}"


def _level(name: str) -> float:
    """Return the height of a marker on a standing person as a fraction of stature, by its name; NaN if unknown."""
    label = re.sub(r"[\s_.\-]+", ".", name.rpartition(":")[2].strip()).upper()
    return next((level for pattern, level in _PATTERNS if pattern.fullmatch(label)), np.nan)


def up_by_posture(positions: NDArray, likely: str) -> str:
    """Return the axis along which the cloud is upright: tall, little travel, a steady floor, the floor at 0.

    People travel across the floor, not upwards; their lowest points return to the same height; and most laboratories
    put the floor at 0. The cost of an axis, in extents, is
    −size + travel + deviation of the floor + w · |floor height| − bonus, with the first three clipped to 1.
    """
    lows, highs = _bounds(positions)
    if not len(lows):
        return likely
    reach = np.median(highs - lows, axis=0)
    largest = max(float(reach.max()), 1e-300)
    travel = np.std(0.5 * (lows + highs), axis=0)
    best, least = likely, np.inf
    for axis in range(3):
        for sign in (1, -1):
            feet = lows[:, axis] if sign > 0 else -highs[:, axis]
            cost = -reach[axis] / largest + min(1.0, travel[axis] / largest) + min(1.0, np.std(feet) / largest)
            cost += SETTINGS.floor_offset_weight * min(1.0, abs(float(np.median(feet))) / largest)
            name = f"{'-' if sign < 0 else ''}{'xyz'[axis]}"
            cost -= SETTINGS.usual_bonus if name == likely else SETTINGS.positive_bonus if sign > 0 else 0.0
            if cost < least:
                best, least = name, cost
    return best


def _bounds(positions: NDArray) -> tuple[NDArray, NDArray]:
    """Return the lowest and the highest coordinates (F, 3) of each frame with a visible marker."""
    seen = ~np.isnan(positions[..., :1])
    frames = seen.any(axis=(1, 2))
    lows = np.where(seen, positions, np.inf)[frames].min(axis=1, initial=np.inf)
    highs = np.where(seen, positions, -np.inf)[frames].max(axis=1, initial=-np.inf)
    return lows, highs


def _upright(positions: NDArray) -> str | None:
    """Return the axis along which the cloud is clearly tall and starts at height 0, or None."""
    lows, highs = _bounds(positions)
    if not len(lows):
        return None
    reach = np.median(highs - lows, axis=0)
    axis = int(reach.argmax())
    if reach[axis] < SETTINGS.upright_ratio * np.sort(reach)[1] or not reach[axis] > 0:
        return None
    for name, feet in ((f"{'xyz'[axis]}", lows[:, axis]), (f"-{'xyz'[axis]}", -highs[:, axis])):
        if np.all(np.abs(feet) < SETTINGS.floor_distance * reach[axis]):
            return name
    return None


def _is_below_floor(positions: NDArray, up: str) -> bool:
    """Return whether the cloud reaches far below 0 along an axis, which a floor would prevent."""
    lows, highs = _bounds(positions)
    axis = "xyz".index(up[-1])
    feet = -highs[:, axis] if up.startswith("-") else lows[:, axis]
    return bool(np.median(feet) < -SETTINGS.floor_distance * np.median(highs - lows, axis=0).max())
