"""Tables in CSV files: markers of OptiTrack Motive and Vicon Nexus, and robot motions of Unitree (with a model).

Motive: a line of facts ("Format Version", "Export Frame Rate", "Length Units" …), then lines of types, names and axes
above the columns. Nexus: sections ("Trajectories") with a rate, names above every third column, axes and units.
Unitree: rows without a header: place of the root, its quaternion (real part last) and one angle per hinge.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Take
from footplant.errors import FormatError
from footplant.io.character import RawCharacter
from footplant.io.marker_conversion import RawMarkers
from footplant.io.robot_models import missing_model, model_for, robot_motion

extensions = (".csv",)
holds: frozenset[str] = frozenset()

MAX_COLUMNS = 200_000
HEAD_BYTES = 1 << 16
"""Bytes in which the kind of a file shows."""
MAX_COORDINATE = 1e9
"""File units; a larger coordinate is invalid."""
UNITREE_FPS = 30.0
"""Frames per second of Unitree's retargeted motions, whose files state none."""
ROOT_COLUMNS = 7
FEWEST_ANGLES = 8
MARKER_TYPES = ("marker", "bone marker", "rigid body marker")


def contains_markers(path: str | Path) -> bool:
    """Return whether a file is a table of markers rather than a robot's motion."""
    try:
        with open(path, "rb") as file:
            return _kind(file.read(HEAD_BYTES)) in ("motive", "nexus")
    except OSError:
        return False


def _kind(head: bytes) -> str:
    """Return "motive", "nexus", "robot" or ""."""
    text = head.decode("utf-8-sig", "replace").lstrip()
    lines = text.splitlines()
    first = lines[0].strip().strip(",").lower() if lines else ""
    if first.startswith("format version"):
        return "motive"
    if first in ("trajectories", "devices", "joints", "model outputs", "segments", "events"):
        return "nexus"
    words = lines[0].split(",") if lines else []
    try:
        return "robot" if len([float(word) for word in words]) >= ROOT_COLUMNS + FEWEST_ANGLES else ""
    except ValueError:
        return ""


def _read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def load(path: str | Path, *, fps: float | None = None, skeleton: str | Path | None = None) -> tuple[RawCharacter, ...]:
    """Read a robot's motion. skeleton: its model (MJCF or URDF), by default the fitting one beside the file."""
    return (parse_robot(_read(path), path, fps=fps, skeleton=skeleton),)


def parse_robot(
    data: bytes, path: str | Path | None = None, *, fps: float | None = None, skeleton: str | Path | None = None
) -> RawCharacter:
    """Read the bytes of a robot's motion: see `load`."""
    rows = _rows(data, path)
    notes: list[str] = []
    angles = rows[:, ROOT_COLUMNS:]
    model = model_for(path, skeleton, angles.shape[1], notes)
    if model is None:
        raise missing_model(path, angles.shape[1])
    if fps is None:
        notes.append(f"no frame rate is stated; {UNITREE_FPS:g} frames per second were assumed (fps= overrides it)")
    rate = float(fps or UNITREE_FPS)
    if not (np.isfinite(rate) and rate > 0):
        raise FormatError(f"expected a positive number of frames per second, got {fps}", path=path)
    try:
        motion = robot_motion(model, rows[:, :3], rows[:, [6, 3, 4, 5]], angles, rate, notes)
    except ValueError as error:
        raise FormatError(str(error), path=path) from error
    name = Path(path).stem if path else "motion"
    return RawCharacter(
        model.name or name, motion.skeleton, (Take(name, len(motion), rate),), lambda take: motion,
        scale=1.0, up="z", notes=tuple(notes),
    )  # fmt: skip


def robot_rows(path: str | Path) -> NDArray:
    """Return the rows (F, 7 + H) of a table of a robot's motion: place, quaternion (real part last), angles."""
    return _rows(_read(path), path)


def _rows(data: bytes, path: str | Path | None) -> NDArray:
    if _kind(data[:HEAD_BYTES]) != "robot":
        raise FormatError(
            "expected rows of a root's place, quaternion and joint angles, or markers of Motive or Nexus, got another "
            "table", path=path,
        )  # fmt: skip
    try:
        rows = np.loadtxt(io.StringIO(data.decode("utf-8-sig")), delimiter=",", ndmin=2)
    except (ValueError, UnicodeDecodeError) as error:
        raise FormatError(f"expected rows of numbers, got others ({error})"[:300], path=path) from None
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise FormatError(
            "expected finite numbers, got NaN or infinity", path=path, where=f"row {row}, column {column}"
        )
    return rows


def load_markers(path: str | Path) -> RawMarkers:
    """Read the markers of a Motive or Nexus table, in file units and axes."""
    return parse_markers(_read(path), path)


def parse_markers(data: bytes, path: str | Path | None = None) -> RawMarkers:
    """Read the bytes of a table of markers."""
    kind = _kind(data[:HEAD_BYTES])
    if kind not in ("motive", "nexus"):
        raise FormatError("expected a table of markers of Motive or Nexus, got another", path=path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    try:
        rows = list(csv.reader(io.StringIO(text.replace("\0", ""))))
    except csv.Error as error:
        raise FormatError(f"expected a table, got damaged text ({error})", path=path) from None
    if max(map(len, rows), default=0) > MAX_COLUMNS:
        raise FormatError(f"expected at most {MAX_COLUMNS} columns, got more", path=path)
    return _motive(rows, path) if kind == "motive" else _nexus(rows, path)


def _motive(rows: list[list[str]], path: str | Path | None) -> RawMarkers:
    """Read a Motive table."""
    facts = {key.strip().lower(): value.strip() for key, value in zip(rows[0][::2], rows[0][1::2])}
    header = next((n for n, row in enumerate(rows[:30]) if row and row[0].strip().lower() == "frame"), None)
    if header is None:
        raise FormatError("expected a line of columns that begins with 'Frame', got none", path=path)
    above = {row[1].strip().lower(): row for row in rows[1:header] if len(row) > 1 and row[1].strip()}
    types, names = above.get("type"), above.get("name")
    what = next((row for row in rows[header - 2 : header] if any(cell.strip() == "Position" for cell in row)), None)
    if names is None or what is None:
        raise FormatError("expected lines of names and of 'Position' above the columns, got others", path=path)
    columns: dict[str, list[int]] = {}
    for column in range(2, len(rows[header])):
        kind = types[column].strip().lower() if types is not None and column < len(types) else "marker"
        place = what[column].strip() if column < len(what) else ""
        if kind in MARKER_TYPES and place == "Position" and rows[header][column].strip() in ("X", "Y", "Z"):
            columns.setdefault(names[column].strip() if column < len(names) else "", []).append(column)
    return _markers(
        rows[header + 1 :], {name: found for name, found in columns.items() if name and len(found) == 3}, path,
        rate=_rate(facts.get("export frame rate") or facts.get("capture frame rate")),
        units=facts.get("length units", "meters"), up="y", times=1,
    )  # fmt: skip


def _nexus(rows: list[list[str]], path: str | Path | None) -> RawMarkers:
    """Read the trajectories of a Nexus table."""
    start = next((n for n, row in enumerate(rows) if row and row[0].strip().lower() == "trajectories"), None)
    if start is None or len(rows) < start + 6:
        raise FormatError("expected a section 'Trajectories', got none", path=path)
    rate, names, axes, units = (rows[start + n] for n in (1, 2, 3, 4))
    columns: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        if name.strip() and [cell.strip() for cell in axes[column : column + 3]] == ["X", "Y", "Z"]:
            columns[name.strip()] = [column, column + 1, column + 2]
    unit = next((cell.strip() for cell in units if cell.strip()), None)
    body = rows[start + 5 :]
    stop = next((n for n, row in enumerate(body) if not any(cell.strip() for cell in row)), len(body))
    return _markers(body[:stop], columns, path, rate=_rate(rate[0] if rate else None), units=unit, up="z", times=None)


def _rate(text: str | None) -> float | None:
    try:
        rate = float(text or "")
    except ValueError:
        return None
    return rate if 1e-3 < rate < 1e6 else None


def _markers(
    rows: list[list[str]],
    columns: dict[str, list[int]],
    path: str | Path | None,
    *,
    rate: float | None,
    units: str | None,
    up: str,
    times: int | None,
) -> RawMarkers:
    """Return markers from the columns of each; empty cells are occlusions."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not columns or not rows:
        raise FormatError(f"expected markers and frames, got {len(columns)} markers and {len(rows)} rows", path=path)
    order = [column for found in columns.values() for column in found]
    values = np.full((len(rows), len(order)), np.nan)
    for number, row in enumerate(rows):
        for place, column in enumerate(order):
            cell = row[column].strip() if column < len(row) else ""
            if cell:
                try:
                    values[number, place] = float(cell)
                except ValueError:
                    raise FormatError(
                        f"expected a number, got {cell[:40]!r}", path=path, where=f"frame {number}, column {column + 1}"
                    ) from None
    positions = values.reshape(len(rows), len(columns), 3)
    positions[~(np.abs(positions) <= MAX_COORDINATE).all(axis=2)] = np.nan
    if np.isnan(positions).all():
        raise FormatError("expected visible markers, got none", path=path)
    notes: list[str] = []
    if rate is None and times is not None and len(rows) > 1:
        first, last = (_rate_free(rows[n][times] if times < len(rows[n]) else "") for n in (0, -1))
        if first is not None and last is not None and last > first:
            rate = (len(rows) - 1) / (last - first)
    if rate is None:
        rate = 100.0
        notes.append("the file states no frame rate; 100 frames per second were assumed")
    names = tuple(columns)
    return RawMarkers(
        names, positions, rate, units, up=up if up == "y" else None, likely_up=up,
        subjects=tuple(name.rpartition(":")[0] for name in names), first_frame=_first_frame(rows), notes=tuple(notes),
    )  # fmt: skip


def _rate_free(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _first_frame(rows: list[list[str]]) -> int:
    word = rows[0][0].strip()
    return int(word) if word.isascii() and word.isdigit() and len(word) < 9 else 1


__all__ = ["contains_markers", "extensions", "holds", "load", "load_markers", "parse_markers", "parse_robot"]
