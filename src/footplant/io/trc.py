"""TRC files (Track Row Column, Motion Analysis and OpenSim), read and written: markers as a text table.

Three header lines, a line of names, a line of axes, then a row for each frame: number, seconds, and x, y, z of each
marker, with empty fields where it is occluded.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.atomic import open_atomic
from footplant.errors import FormatError
from footplant.io.conversion import UNITS, turn_of
from footplant.io.marker_conversion import RawMarkers, undo_marker_conversion
from footplant.markers import Markers

extensions = (".trc",)
holds: frozenset[str] = frozenset()

TAB, BLANKS = 9, -1
"""Field separators: see `_trc_fields`."""
MAX_HEADER_LINES = 40
"""Lines within which the line of names must be."""
MAX_GROWTH = 9
"""Limit on the positions' size as a multiple of the file's: an empty field is one byte and becomes eight."""
MAX_MARKERS = 65535
"""The limit of C3D files."""
MAX_COORDINATE = 1e9
"""File units; a larger coordinate is invalid."""
CHUNK_POINTS = 1 << 16
"""Points processed at a time, to keep temporary arrays small."""
DEFAULT_RATE = 100.0
"""Hz; used if a file states no frame rate."""
RATE_TOLERANCE = 0.01
"""Relative. If the stated rate and the time column differ by more, the times are used."""


def load_markers(path: str | Path) -> RawMarkers:
    """Read the markers of a file, in file units and axes."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return parse(data, path)


def parse(data: bytes, path: str | Path | None = None) -> RawMarkers:
    """Read the bytes of a TRC file: see `load_markers`."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise FormatError("expected text, got damaged UTF-16", path=path) from error
    facts, names, separator, start = _read_header(data, path)
    notes: list[str] = []
    head, positions = _read_table(data, start, separator, names, facts, path, notes)
    names = _unique_names(names, positions.shape[1], facts, notes)
    _mark_occluded(positions, notes)
    if np.isnan(positions[..., 0]).all():
        occluded = f"{len(names)} that are occluded in all {len(head)} frames"
        raise FormatError(f"expected visible markers, got {occluded}", path=path)
    stated = _number(facts, "NumFrames")
    if stated is not None and stated != len(head):
        notes.append(f"the header states {stated:g} frames; {len(head)} rows follow and were read")
    first = head[0, 0] if np.isfinite(head[0, 0]) else _number(facts, "OrigDataStartFrame")
    if len(head) > 1 and not np.all(np.diff(head[:, 0]) == 1):
        notes.append("the frame numbers are not consecutive; frames were read in file order")
    return RawMarkers(
        names=tuple(names),
        positions=positions,
        fps=_rate(facts, head[:, 1], notes),
        units=facts.get("units") or None,
        likely_up="y",
        subjects=tuple(name.rpartition(":")[0] for name in names),
        first_frame=int(first) if first is not None and abs(first) < 2**31 else 1,
        notes=tuple(notes),
    )


def _read_header(data: bytes, path: str | Path | None) -> tuple[dict[str, str], list[str], int, int]:
    """Return header values by name, marker names, the field separator, and the offset of the rows."""
    ends = re.compile(rb"\r\n|\n|\r")
    lines: list[str] = []
    at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    start = None
    while at < len(data) and len(lines) < MAX_HEADER_LINES:
        found = ends.search(data, at)
        stop, after = (found.start(), found.end()) if found else (len(data), len(data))
        text = _decode(data[at:stop])
        at = after
        if not text.strip():
            continue
        lines.append(text)
        if re.match(r"\s*frame\s?#?(\s|$)", text, re.IGNORECASE):
            start = at
            break
    if start is None:
        raise FormatError(
            f"expected a line of marker names that begins with 'Frame#', got none in {len(lines)} lines", path=path
        )
    separator = TAB if "\t" in lines[-1] else BLANKS
    facts: dict[str, str] = {}
    for keys, values in pairwise(lines):
        if re.match(r"\s*datarate", keys, re.IGNORECASE):
            facts = dict(zip((word.lower() for word in keys.split()), values.split(), strict=False))
    if lines[-1].count("\t") > 4 * MAX_MARKERS or len(lines[-1]) > 64 * MAX_MARKERS:
        raise FormatError(f"expected at most {MAX_MARKERS} markers, got a longer line of names", path=path)
    names = lines[-1].split("\t") if separator == TAB else lines[-1].split()
    names = [name.strip() for name in names]
    # the first field is "Frame#", the second "Time"; a name is above the first of its three columns
    names = [name for name in names[1:] if name and name.lower() != "time"]
    return facts, names, separator, _after_axes(data, start)


def _after_axes(data: bytes, start: int) -> int:
    """Return the offset after the line of axes (X1 Y1 Z1 …), if there is one."""
    found = re.compile(rb"\s*[xX]\d*\s+[yY]\d*\s+[zZ]\d*[^\r\n]*").match(data, start)
    return found.end() if found else start


def _decode(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def _read_table(
    data: bytes, start: int, separator: int, names: list[str], facts: dict[str, str], path, notes: list[str]
) -> tuple[NDArray, NDArray]:
    """Return frame numbers and times (F, 2), and positions (F, M, 3) with NaN for empty fields."""
    from footplant.io import _trc_fields as fields
    from footplant.kernels.text import FIVES, POWERS

    array = np.frombuffer(data, np.uint8)
    found = np.zeros(3, np.int64)
    fields.count_fields(array, start, separator, found)
    rows, total, widest = found.tolist()
    stated = _number(facts, "NumMarkers")
    count = len(names) or int(min(max(stated or 0, 0), widest)) or max(widest - 2, 0) // 3
    # a marker without any data still has its columns, within the growth limit
    columns = 3 * count
    if count > MAX_MARKERS:
        raise FormatError(f"expected at most {MAX_MARKERS} markers, got {count}", path=path)
    if rows == 0 or count == 0:
        raise FormatError(f"expected rows of markers, got {rows} rows and {count} names", path=path)
    if rows * columns * 8 > MAX_GROWTH * len(data) + (1 << 24):
        raise FormatError(
            f"expected rows with a field for each coordinate, got {rows} rows with {total} fields for {count} markers",
            path=path,
        )
    head, positions = np.empty((rows, 2)), np.empty((rows, count, 3))
    body = positions.reshape(rows, columns)
    left = np.zeros((columns + 2 + 4096, 3), np.int64)
    at, where, beyond, odd = 0, start, 0, 0
    while at < rows:
        done, where, kept, more = fields.parse_fields(
            array, where, separator, POWERS, FIVES, head[at:], body[at:], left
        )
        for place, first, stop in left[:kept].tolist():
            row, column = divmod(place, columns + 2)
            value = _slow_number(data[first:stop])
            if value is None and column >= 2:
                line = data.count(b"\n", 0, first) + 1 if b"\n" in data else data.count(b"\r", 0, first) + 1
                marker = names[(column - 2) // 3] if names else f"marker {(column - 2) // 3 + 1}"
                raise FormatError(
                    f"expected a number for {'xyz'[(column - 2) % 3]} of {marker!r}, got {data[first:stop][:40]!r}",
                    path=path,
                    where=f"line {line}",
                )
            if column >= 2:
                body[at + row, column - 2] = value
            elif value is not None:
                head[at + row, column] = value
            odd += value is not None and not np.isfinite(value)
        at, beyond = at + done, beyond + more
    if odd:
        notes.append(f"{odd} values are not finite and were treated as occluded")
    if beyond:
        notes.append(f"{beyond} values are in columns without a name (unidentified points) and were dropped")
    return head, positions


def _slow_number(token: bytes) -> float | None:
    """Return a number that the kernel could not parse; None if it is not a number."""
    try:
        # some locales write a decimal comma
        return float(token.replace(b",", b".") if token.count(b",") == 1 else token) if b"_" not in token else None
    except ValueError:
        return None


def _unique_names(names: list[str], count: int, facts: dict[str, str], notes: list[str]) -> list[str]:
    """Return a unique name for each marker."""
    stated = _number(facts, "NumMarkers")
    if not names:
        names = [f"point{number + 1}" for number in range(count)]
        notes.append("the markers have no names; numbers were used instead")
    elif stated is not None and stated != len(names):
        notes.append(f"the header states {stated:g} markers and names {len(names)}; the named ones were read")
    used: dict[str, int] = {}
    unique: list[str] = []
    for place, name in enumerate(names):
        while name in used:
            name = f"{name}_{place + 1}"
        used[name] = place
        unique.append(name)
    if unique != names:
        notes.append("some names are duplicates; their numbers were added")
    return unique


def _mark_occluded(positions: NDArray, notes: list[str]) -> None:
    """Set points without all three coordinates, or at exactly (0, 0, 0) as some writers store it, to NaN."""
    rows, partly, zeros = max(1, CHUNK_POINTS // positions.shape[1]), 0, 0
    for at in range(0, len(positions), rows):
        part = positions[at : at + rows]
        missing = ~(np.abs(part) <= MAX_COORDINATE)
        hidden = missing.any(axis=2)
        partly += int(np.count_nonzero(hidden & ~missing.all(axis=2)))
        zero = ~hidden & ~part.any(axis=2)
        zeros += int(np.count_nonzero(zero))
        part[hidden | zero] = np.nan
    if partly:
        notes.append(f"{partly} points have fewer than three coordinates and were treated as occluded")
    if zeros:
        notes.append(f"{zeros} samples are exactly (0, 0, 0) and were treated as occluded")


def _number(facts: dict[str, str], name: str) -> float | None:
    """Return a finite header value, or None."""
    try:
        value = float(facts.get(name.lower(), "").replace(",", "."))
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _rate(facts: dict[str, str], times: NDArray, notes: list[str]) -> float:
    """Return frames per second: DataRate, unless evenly spaced times disagree; CameraRate may be another rate."""
    span = float(times[-1] - times[0]) if len(times) > 1 else np.nan
    by_times = (len(times) - 1) / span if np.isfinite(span) and span > 0 else None
    if by_times is not None and not 1e-3 < by_times < 1e6:
        by_times = None
    stated = next((r for r in (_number(facts, key) for key in ("DataRate", "CameraRate")) if r and 0 < r < 1e6), None)
    if stated is None and by_times is None:
        notes.append(f"the file states no frame rate; {DEFAULT_RATE:g} frames per second were assumed")
        return DEFAULT_RATE
    if stated is None:
        return float(f"{by_times:.6g}")
    # times are usually rounded to milliseconds
    if by_times is not None and abs(span - (len(times) - 1) / stated) > RATE_TOLERANCE * span + 0.0015:
        steps = np.diff(times)
        if np.all(np.abs(steps - span / len(steps)) <= 0.1 * span / len(steps) + 1e-3):
            notes.append(f"the header states {stated:g} frames per second, the times {by_times:.6g}; used the times")
            return float(f"{by_times:.6g}")
    return stated


def save_markers(path: str | Path, markers: Markers, *, units: str | None = None, up: str = "y") -> None:
    """Save markers as a table, atomically.

    units: "m", "mm" …; default: as in the markers' own file. up: the vertical axis; y, as most readers of this format
    expect. Numbers are written with all digits: positions are restored bit for bit in metres and in the units of the
    original file, otherwise within one unit in the last place.
    """
    units = units or (markers.conversion.units if markers.conversion.units in UNITS else "mm")
    if units not in UNITS:
        raise FormatError(f"expected units among {', '.join(UNITS)}, got {units!r}", path=path)
    turn_of(up, path)
    names = [re.sub(r"[\t\r\n\v\f]", " ", name).strip() or f"point{n + 1}" for n, name in enumerate(markers.names)]
    count, frames, rate = len(names), len(markers), repr(float(markers.fps))
    facts = {
        "DataRate": rate, "CameraRate": rate, "NumFrames": frames, "NumMarkers": count,
        "Units": _SHORT.get(units, units),
        "OrigDataRate": rate, "OrigDataStartFrame": markers.first_frame, "OrigNumFrames": frames,
    }  # fmt: skip
    axes = "\t".join(f"X{n}\tY{n}\tZ{n}" for n in range(1, count + 1))
    rows = undo_marker_conversion(markers, UNITS[units], up).reshape(frames, -1)
    with open_atomic(path, "w") as file:
        file.write(f"PathFileType\t4\t(X/Y/Z)\t{Path(path).name}\n")
        file.write("\t".join(facts) + "\n" + "\t".join(str(value) for value in facts.values()) + "\n")
        file.write("Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t\n" + f"\t\t{axes}\n\n")
        for frame, row in enumerate(rows):
            cells = "\t".join("" if value != value else repr(value) for value in row.tolist())
            file.write(f"{markers.first_frame + frame}\t{frame / markers.fps:.9g}\t{cells}\n")


_SHORT = {"inch": "in", "foot": "ft"}
"""Units as files spell them, if different from the name here."""

__all__ = ["extensions", "holds", "load_markers", "parse", "save_markers"]
