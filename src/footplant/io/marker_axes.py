"""Which way is up for a cloud of markers: by what their names say, else by how the cloud stands and travels."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
"""Names of common marker sets (Plug-in Gait, Helen Hayes, ISB, CAST, OpenSim, Vicon's dancers) with their heights on a
standing person, as shares of the stature (Winter 2009, "Biomechanics and Motor Control of Human Movement", figure 4.1).
"""
LEAST_SPREAD = 0.2
"""Of the stature; names that reach less far upwards tell nothing."""
CLEAR = 0.85
"""Cosine between what the names say and an axis above which the axis is clear."""
FLOOR_REACH = 0.12
"""Shares of the cloud's reach; how far the lowest markers of a standing person may be from the height zero."""
FLOOR = (-0.02, 0.2)
"""Shares of the cloud's reach; heights of the lowest markers of somebody on a floor at zero."""
STEADY = 0.08
"""Shares of the cloud's reach; how much the height of the lowest markers may vary on a floor."""

_PATTERNS = [(re.compile(pattern), level) for pattern, level in LEVELS]


def find_up(names: Sequence[str], positions: NDArray, *, stated: str | None, likely: str) -> tuple[str, list[str]]:
    """The vertical axis of points (F, M, 3), and notes where it was not simply what the file states.

    stated: what the file says; it is overruled only where names or posture clearly say otherwise and nothing rests on a
    floor along it. likely: what it is when nothing tells.
    """
    by_name = up_by_names(names, positions)
    if stated is not None:
        if by_name is not None and by_name != stated:
            if rests_on_floor(positions, stated):
                return stated, []
            return by_name, [f"the file states that {stated} is up, the markers' names say {by_name}; took {by_name}"]
        if by_name is None:
            standing = _upright(positions)
            if standing is not None and standing != stated and _sinks(positions, stated):
                return standing, [
                    f"the file states that {stated} is up, but the markers would reach far below the floor and stand "
                    f"on it along {standing}; took {standing}"
                ]
        return stated, []
    silent = "the file does not say which axis is up"
    if by_name is not None:
        # who lies, crawls or stands on the hands still does so on a floor
        if not rests_on_floor(positions, by_name) and rests_on_floor(positions, likely):
            return likely, [f"{silent}; the markers rest on a floor along {likely}, as in most such files"]
        return by_name, [f"{silent}; by the markers' names it is {by_name}"]
    found = up_by_posture(positions, likely)
    return found, [f"{silent}; by the markers' posture it is {found}"]


def rests_on_floor(positions: NDArray, up: str) -> bool:
    """Whether the lowest points along an axis stay at one height, at zero or little above: as on a floor."""
    lows, highs = _bounds(positions)
    if not len(lows):
        return False
    axis = "xyz".index(up[-1])
    feet = -highs[:, axis] if up.startswith("-") else lows[:, axis]
    share = feet / max(float(np.median(highs - lows, axis=0).max()), 1e-300)
    return bool(FLOOR[0] <= np.median(share) <= FLOOR[1] and np.std(share) < STEADY)


def up_by_names(names: Sequence[str], positions: NDArray) -> str | None:
    """The axis along which heads are above feet; None when names do not tell."""
    levels = np.array([_level(name) for name in names])
    known = ~np.isnan(levels)
    if np.count_nonzero(known) < 4:
        return None
    places, levels = positions[:, known], levels[known]
    seen = ~np.isnan(places[..., 0])
    # the slope of the coordinates over the levels, frame by frame: left and right cancel, what is high stays
    count = np.maximum(seen.sum(axis=1), 1)
    mean_level = (seen * levels).sum(axis=1) / count
    deviation = np.where(seen, levels - mean_level[:, None], 0.0)
    spread = np.where(seen, levels, -np.inf).max(axis=1) - np.where(seen, levels, np.inf).min(axis=1)
    slope = np.einsum("fm,fmk->fk", deviation, np.nan_to_num(places, nan=0.0))
    slope = slope[(spread >= LEAST_SPREAD) & (np.count_nonzero(seen, axis=1) >= 4)]
    if not len(slope):
        return None
    lengths = np.linalg.norm(slope, axis=1, keepdims=True)
    mean = (slope / np.maximum(lengths, 1e-300)).mean(axis=0)
    axis = int(np.abs(mean).argmax())
    if abs(mean[axis]) < CLEAR * max(np.linalg.norm(mean), 0.5):
        return None
    return f"{'-' if mean[axis] < 0 else ''}{'xyz'[axis]}"


def _level(name: str) -> float:
    label = re.sub(r"[\s_.\-]+", ".", name.rpartition(":")[2].strip()).upper()
    return next((level for pattern, level in _PATTERNS if pattern.fullmatch(label)), np.nan)


def up_by_posture(positions: NDArray, likely: str) -> str:
    """The axis along which the cloud stands: far-reaching, on a floor that stays, with the floor at zero.

    People travel over the floor, not up; their lowest points come back to the same height again and again; and most
    laboratories put the floor at zero. What is left open goes to the likely axis.
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
            cost += 0.5 * min(1.0, abs(float(np.median(feet))) / largest)
            name = f"{'-' if sign < 0 else ''}{'xyz'[axis]}"
            cost -= 0.15 if name == likely else 0.05 if sign > 0 else 0.0
            if cost < least:
                best, least = name, cost
    return best


def _bounds(positions: NDArray) -> tuple[NDArray, NDArray]:
    """The lowest and the highest coordinates (F, 3) of each frame in which anything is seen."""
    seen = ~np.isnan(positions[..., :1])
    frames = seen.any(axis=(1, 2))
    lows = np.where(seen, positions, np.inf)[frames].min(axis=1, initial=np.inf)
    highs = np.where(seen, positions, -np.inf)[frames].max(axis=1, initial=-np.inf)
    return lows, highs


def _upright(positions: NDArray) -> str | None:
    """The axis along which the cloud clearly stands on the height zero, far longer than broad; None when none is."""
    lows, highs = _bounds(positions)
    if not len(lows):
        return None
    reach = np.median(highs - lows, axis=0)
    axis = int(reach.argmax())
    if reach[axis] < 1.5 * np.sort(reach)[1] or not reach[axis] > 0:
        return None
    for name, feet in ((f"{'xyz'[axis]}", lows[:, axis]), (f"-{'xyz'[axis]}", -highs[:, axis])):
        if np.all(np.abs(feet) < FLOOR_REACH * reach[axis]):
            return name
    return None


def _sinks(positions: NDArray, up: str) -> bool:
    """Whether the cloud reaches far below zero along an axis, as no floor lets it."""
    lows, highs = _bounds(positions)
    axis = "xyz".index(up[-1])
    feet = -highs[:, axis] if up.startswith("-") else lows[:, axis]
    return bool(np.median(feet) < -FLOOR_REACH * np.median(highs - lows, axis=0).max())
