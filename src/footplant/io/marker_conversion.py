"""Convert a file's markers to metres and y up, and back: units and the up axis as stated, detected or forced."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.conversion import Conversion
from footplant.errors import FormatError, MotionError
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
"""Unit names as files spell them."""
CHUNK_POINTS = 1 << 14
"""Points converted at a time, to keep temporary arrays small."""


@dataclass(frozen=True)
class MarkerUnitSettings:
    """How markers' units are estimated and checked. No experiment is on record for them."""

    sampled_frames: int = 200
    """Frames used to find the up axis and the height. Doubled, loading long captures takes longer."""
    sampled_markers: int = 1000
    """Markers used for the same."""
    plausible_heights: tuple[float, float] = (0.05, 4.0)
    """Metres. Vertical extents of markers on a body or a body part; outside this range the unit is questioned."""
    usual_height: float = 1.6
    """Metres. Vertical extent of markers on a standing person; the unit that comes closest is assumed."""


SETTINGS = MarkerUnitSettings()


@dataclass
class RawMarkers:
    """The result of a marker format's reader: markers in their file's own units and axes."""

    names: tuple[str, ...]
    positions: NDArray
    """(F, M, 3) file units and axes, NaN where occluded. Converted in place: the reader must not keep it."""
    fps: float
    units: str | None = None
    """The unit as the file spells it; None or "" if it states none."""
    up: str | None = None
    """The vertical axis ("z", "-y" …) if the file states it, else None."""
    likely_up: str = "z"
    """The usual vertical axis of this format, used if neither names nor posture show one."""
    residuals: NDArray | None = None
    """(F, M) file units; see `Markers.residuals`."""
    subjects: tuple[str, ...] = ()
    first_frame: int = 1
    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()


def unit_of(spelling: str | None) -> str | None:
    """Return the name in `UNITS` of a unit as a file spells it; None if it is not a known length unit."""
    word = (spelling or "").strip().strip(".").lower()
    return next((name for name, words in SPELLINGS.items() if word in words), None)


def markers_from_raw(
    raw: RawMarkers, path: str | Path, *, units: str | float | None = None, up: str | None = None
) -> Markers:
    """Convert a file's points into markers in metres and y up; units and up override what is stated or detected."""
    notes = list(raw.notes)
    frames, count = raw.positions.shape[:2]
    every, each = max(1, frames // SETTINGS.sampled_frames), max(1, count // SETTINGS.sampled_markers)
    some = raw.positions[::every, ::each]
    forced_up, forced_units = up is not None, units is not None
    if up is not None:
        turn_of(up, path)
    if units is None:
        units = unit_of(raw.units)
        if units is None and raw.units:
            notes.append(f"the file states the unknown unit {raw.units!r}")
    stated_units = units is not None
    stated_up = forced_up or raw.up is not None
    if up is None:
        up, doubt = find_up(raw.names[::each], some, stated=raw.up, likely=raw.likely_up)
        stated_up = stated_up and not doubt
        notes.extend(doubt)
    height = _vertical_extent(some, up)
    if units is None:
        units = _likely_unit(height)
        notes.append(f"the file states no unit; the markers extend {height:.4g} vertically, so {units} was assumed")
    scale = metres_per_unit(units, path)
    low, high = SETTINGS.plausible_heights
    if not forced_units and height and not low <= height * scale <= high:
        notes.append(f"the markers extend {height * scale:.3g} m vertically in the unit {units}; units= overrides it")
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
    try:
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
    except MotionError as error:
        raise FormatError(str(error), path=path) from error


def _name_of(scale: float) -> str:
    """Return the name of a unit of that many metres, or "unknown"."""
    return next((name for name, metres in UNITS.items() if np.isclose(scale, metres, rtol=1e-3)), "unknown")


def _vertical_extent(positions: NDArray, up: str) -> float:
    """Return the vertical extent of the points in file units: the median over frames; 0 if none is visible."""
    heights = positions[..., "xyz".index(up[-1])]
    seen = ~np.isnan(heights)
    frames = seen.any(axis=1)
    if not frames.any():
        return 0.0
    top = np.where(seen, heights, -np.inf)[frames].max(axis=1)
    bottom = np.where(seen, heights, np.inf)[frames].min(axis=1)
    return float(np.median(top - bottom))


def _likely_unit(height: float) -> str:
    """Return the unit in which points of that vertical extent come closest to a standing person's."""
    usual = SETTINGS.usual_height
    return min(("mm", "cm", "m"), key=lambda name: abs(np.log(max(height, 1e-9) * UNITS[name] / usual)))


def axes_to_y_up(up: str) -> tuple[tuple[int, int], ...]:
    """Return the rotation of `UP_TURNS` as (source axis, sign) for each of x, y, z: quarter turns permute axes."""
    return {
        "y": ((0, 1), (1, 1), (2, 1)),
        "-y": ((0, 1), (1, -1), (2, -1)),
        "z": ((0, 1), (2, 1), (1, -1)),
        "-z": ((0, 1), (2, -1), (1, 1)),
        "x": ((1, -1), (0, 1), (2, 1)),
        "-x": ((1, 1), (0, -1), (2, 1)),
    }[up]


def _convert(positions: NDArray, scale: float, up: str) -> None:
    """Convert positions to metres and y up, in place and with a single rounding."""
    axes = axes_to_y_up(up)
    order, signs = [axis for axis, _ in axes], np.array([sign * scale for _, sign in axes])
    rows = max(1, CHUNK_POINTS // positions.shape[1])
    for at in range(0, len(positions), rows):
        part = positions[at : at + rows]
        part[...] = part[..., order] * signs


def undo_marker_conversion(markers: Markers, scale: float, up: str) -> NDArray:
    """Return positions (F, M, 3) in units of `scale` metres with another vertical axis: inverts `markers_from_raw`.

    Division rounds. Of the quotient and its neighbouring doubles, the one is chosen that multiplies back to exactly
    the position, if there is one, with a preference for short decimal numbers.
    """
    axes = axes_to_y_up(up)
    out = np.empty_like(markers.positions)
    for axis, (source, sign) in enumerate(axes):
        out[..., source] = _undo_product(sign * markers.positions[..., axis], scale)
    return out


def _undo_product(wanted: NDArray, scale: float) -> NDArray:
    """Return x such that x · scale == wanted exactly where such a double exists near wanted / scale."""
    quotient = wanted / scale
    found = np.array(quotient)
    # later candidates take precedence: the shortest decimal comes last
    for guess in (np.nextafter(quotient, np.inf), np.nextafter(quotient, -np.inf), quotient, np.round(quotient, 9)):
        fits = guess * scale == wanted
        found[fits] = guess[fits]
    return found
