"""The conversion of markers: a file's points become metres and y up, and the conversion says what it did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.conversion import Conversion
from footplant.io.conversion import UNITS, UP_TURNS, metres_per_unit, turn_of
from footplant.io.marker_axes import find_up
from footplant.markers import Event, Markers

SPELLINGS = {
    "m": ("m", "meter", "meters", "metre", "metres"),
    "dm": ("dm", "decimeter", "decimeters", "decimetre", "decimetres"),
    "cm": ("cm", "centimeter", "centimeters", "centimetre", "centimetres"),
    "mm": ("mm", "millimeter", "millimeters", "millimetre", "millimetres"),
    "inch": ("in", "inch", "inches"),
    "foot": ("ft", "foot", "feet"),
}
"""How files spell their units."""
PART_POINTS = 1 << 14
"""Points that are converted at a time, so that what is only needed meanwhile stays small."""
SOME = (200, 1000)
"""Frames and markers that are enough to tell which way is up and how tall."""
BELIEVABLE = (0.05, 4.0)
"""Metres; how far markers on a body, or a part of one, reach upwards."""


@dataclass
class RawMarkers:
    """What a format module hands to the conversion: markers in their file's own units and axes."""

    names: tuple[str, ...]
    positions: NDArray
    """(F, M, 3) file units and axes, NaN where hidden; becomes the markers' own array, so nobody else may keep it."""
    fps: float
    units: str | None = None
    """The unit as the file spells it; None or "" when it does not say."""
    up: str | None = None
    """The vertical axis ("z", "-y" …) as the file states it; None when it does not say."""
    likely_up: str = "z"
    """The vertical axis that files of this format mostly have, for points whose own posture tells nothing."""
    residuals: NDArray | None = None
    """(F, M) file units; as `Markers.residuals`."""
    subjects: tuple[str, ...] = ()
    first_frame: int = 1
    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()


def unit_of(spelling: str | None) -> str | None:
    """The name in `UNITS` of a unit as a file spells it; None when it says nothing that is a length."""
    word = (spelling or "").strip().strip(".").lower()
    return next((name for name, words in SPELLINGS.items() if word in words), None)


def markers_from_raw(
    raw: RawMarkers, path: str | Path, *, units: str | float | None = None, up: str | None = None
) -> Markers:
    """Convert a file's points into markers: units and up axis as stated, found or forced."""
    notes = list(raw.notes)
    frames, count = raw.positions.shape[:2]
    every, each = max(1, frames // SOME[0]), max(1, count // SOME[1])
    some = raw.positions[::every, ::each]
    forced_up, forced_units = up is not None, units is not None
    if up is not None:
        turn_of(up, path)
    if units is None:
        units = unit_of(raw.units)
        if units is None and raw.units:
            notes.append(f"the file states the unit {raw.units!r}, which is none that is known")
    stated_units = units is not None
    stated_up = forced_up or raw.up is not None
    if up is None:
        up, doubt = find_up(raw.names[::each], some, stated=raw.up, likely=raw.likely_up)
        stated_up = stated_up and not doubt
        notes.extend(doubt)
    height = _reach(some, up)
    if units is None:
        units = _likely_unit(height)
        notes.append(f"the file does not say its unit; the markers reach {height:.4g} upwards, taken for {units}")
    scale = metres_per_unit(units, path)
    if not forced_units and height and not BELIEVABLE[0] <= height * scale <= BELIEVABLE[1]:
        notes.append(f"the markers reach {height * scale:.3g} m upwards by the unit {units}; units= forces another")
    conversion = Conversion(
        units=units if isinstance(units, str) else _name_of(scale),
        scale=scale,
        up=up,
        declared=stated_units and stated_up,
        turn=tuple(float(value) for value in UP_TURNS[up]),  # type: ignore[arg-type]
    )
    _convert(raw.positions, scale, up)
    if raw.residuals is not None:
        raw.residuals *= scale
        raw.residuals.setflags(write=False)
    raw.positions.setflags(write=False)
    return Markers(
        names=raw.names,
        positions=raw.positions,
        fps=raw.fps,
        residuals=raw.residuals,
        subjects=raw.subjects,
        first_frame=raw.first_frame,
        events=raw.events,
        name=Path(path).stem,
        conversion=conversion,
        notes=tuple(notes),
    )


def _name_of(scale: float) -> str:
    return next((name for name, metres in UNITS.items() if np.isclose(scale, metres, rtol=1e-3)), "unknown")


def _reach(positions: NDArray, up: str) -> float:
    """How far the points reach along the vertical, file units: the median over frames; 0 when nothing is seen."""
    heights = positions[..., "xyz".index(up[-1])]
    seen = ~np.isnan(heights)
    frames = seen.any(axis=1)
    if not frames.any():
        return 0.0
    top = np.where(seen, heights, -np.inf)[frames].max(axis=1)
    bottom = np.where(seen, heights, np.inf)[frames].min(axis=1)
    return float(np.median(top - bottom))


def _likely_unit(height: float) -> str:
    """The unit that makes points which reach so far nearest to a standing person with markers up to the head."""
    return min(("mm", "cm", "m"), key=lambda name: abs(np.log(max(height, 1e-9) * UNITS[name] / 1.6)))


def axes_to_y_up(up: str) -> tuple[tuple[int, int], ...]:
    """The turn of `UP_TURNS` as (axis, sign) for each of x, y, z: turns by quarters only exchange axes."""
    return {
        "y": ((0, 1), (1, 1), (2, 1)),
        "-y": ((0, 1), (1, -1), (2, -1)),
        "z": ((0, 1), (2, 1), (1, -1)),
        "-z": ((0, 1), (2, -1), (1, 1)),
        "x": ((1, -1), (0, 1), (2, 1)),
        "-x": ((1, 1), (0, -1), (2, 1)),
    }[up]


def _convert(positions: NDArray, scale: float, up: str) -> None:
    """Metres and y up, in place and without rounding twice."""
    axes = axes_to_y_up(up)
    order, signs = [axis for axis, _ in axes], np.array([sign * scale for _, sign in axes])
    rows = max(1, PART_POINTS // positions.shape[1])
    for at in range(0, len(positions), rows):
        part = positions[at : at + rows]
        part[...] = part[..., order] * signs


def send_out_markers(markers: Markers, scale: float, up: str) -> NDArray:
    """Positions (F, M, 3) in units of `scale` metres and with another vertical axis: `markers_from_raw` undone.

    Dividing rounds; of the doubles beside the quotient the one is taken that gives back the very position when it is
    multiplied by the scale again, if there is one, and of those a short decimal number.
    """
    axes = axes_to_y_up(up)
    out = np.empty_like(markers.positions)
    for axis, (source, sign) in enumerate(axes):
        out[..., source] = _undo_product(sign * markers.positions[..., axis], scale)
    return out


def _undo_product(wanted: NDArray, scale: float) -> NDArray:
    quotient = wanted / scale
    found = np.array(quotient)
    # the last that fits wins, so the plainest comes last
    for guess in (np.nextafter(quotient, np.inf), np.nextafter(quotient, -np.inf), quotient, np.round(quotient, 9)):
        fits = guess * scale == wanted
        found[fits] = guess[fits]
    return found
