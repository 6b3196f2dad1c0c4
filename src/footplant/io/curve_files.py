"""Ground curves by name or from files: "line", "circle:2", "s:6,1.5", "points:0,0;0,3;2,6", CSV, JSON, TOML."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from footplant import curves
from footplant.curves import Curve
from footplant.errors import ConstraintError, FormatError
from footplant.text_files import parse_toml, read_text

EXTENSIONS = (".csv", ".txt", ".json", ".toml")
"""Extensions of files that curves are read from."""
MAX_FILE_BYTES = 16 * 2**20
"""A larger file is rejected."""


def load_curve(text: str) -> tuple[Curve, bool]:
    """Return a curve by name or from a file, and whether it starts at the clip's start (shapes) or is in world space.

    "line": straight ahead. "circle:RADIUS": turning left, or right if RADIUS is negative. "s:LENGTH,WIDTH": an S that
    swings WIDTH metres from side to side over LENGTH metres. "points:X,Z;X,Z;…": a smooth curve through ground points,
    closed if the last equals the first. Files: CSV with x and z in the first two columns (or in columns of these
    names), JSON or TOML with a list `points` of [x, z] or {x = …, z = …}; metres.
    """
    name, colon, rest = text.partition(":")
    path = Path(text)
    try:
        if not path.exists():
            if name in _SHAPES and (colon or name == "line"):
                return _SHAPES[name](rest), True
            if name == "points" and colon:
                return curves.through(
                    [_pair(part, "points:X,Z;X,Z;…") for part in rest.split(";") if part.strip()]
                ), False
    except ConstraintError as error:
        raise FormatError(str(error), path=text) from None
    except ValueError as error:
        raise FormatError(f"{error}; see footplant path --help", path=text) from None
    if not path.exists():
        raise FormatError(
            "no such file, and no curve of that name; expected line, circle:R, s:L,W or points:…", path=path
        )
    try:
        return curves.through(_points(path)), False
    except ConstraintError as error:
        raise FormatError(str(error), path=path) from None


def _line(rest: str) -> Curve:
    return curves.line(_number(rest, "line:LENGTH")) if rest else curves.line()


def _circle(rest: str) -> Curve:
    return curves.circle(_number(rest, "circle:RADIUS"))


def _s_curve(rest: str) -> Curve:
    return curves.s_curve(*_pair(rest, "s:LENGTH,WIDTH"))


_SHAPES: dict[str, Callable[[str], Curve]] = {"line": _line, "circle": _circle, "s": _s_curve}


def _number(text: str, form: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"expected a number as in {form}, got {text!r}") from None


def _pair(text: str, form: str) -> tuple[float, float]:
    parts = text.split(",")
    if len(parts) != 2:
        raise ValueError(f"expected two numbers as in {form}, got {text.strip()!r}")
    return _number(parts[0].strip(), form), _number(parts[1].strip(), form)


def _points(path: Path) -> np.ndarray:
    ending = path.suffix.lower()
    if ending not in EXTENSIONS:
        raise FormatError(f"expected a file ending in {', '.join(EXTENSIONS)}, got {path.suffix or 'none'}", path=path)
    text = read_text(path, MAX_FILE_BYTES, "points")
    if ending in (".csv", ".txt"):
        return _table(text, path)
    try:
        data = parse_toml(text, path) if ending == ".toml" else json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"expected JSON, got a syntax error: {error.msg}", path=path, where=where) from None
    except (RecursionError, ValueError) as error:
        raise FormatError(f"expected {ending[1:].upper()}, got a syntax error: {error}", path=path) from None
    return _list(data, path)


def _table(text: str, path: Path) -> np.ndarray:
    """Return the points (N, 2) of a CSV file: columns x and z, or the first two."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.split("#")[0].strip()]
    if not lines:
        raise FormatError("expected lines of x and z in metres, got none", path=path)
    divider = next((mark for mark in (",", ";", "\t") if mark in lines[0][1]), " ")
    rows = list(csv.reader((line.split("#")[0] for _, line in lines), delimiter=divider, skipinitialspace=True))
    columns = [0, 1]
    head = [cell.strip().lower() for cell in rows[0]]
    if not _is_number(head[0]):
        if not {"x", "z"} <= set(head):
            raise FormatError(
                f"expected columns named x and z, got {', '.join(head)}", path=path, where=f"line {lines[0][0]}"
            )
        columns, rows, lines = [head.index("x"), head.index("z")], rows[1:], lines[1:]
    found = []
    for (number, line), row in zip(lines, rows):
        cells = [row[column].strip() if column < len(row) else "" for column in columns]
        if not all(_is_number(cell) for cell in cells):
            raise FormatError(f"expected x and z in metres, got {line.strip()!r}", path=path, where=f"line {number}")
        found.append([float(cell) for cell in cells])
    if not found:
        raise FormatError("expected lines of x and z in metres, got none", path=path)
    return np.array(found)


def _list(data: Any, path: Path) -> np.ndarray:
    """Return the points (N, 2) of JSON or TOML: a list of [x, z] or {x, z}, at the top level or under `points`."""
    listed = data.get("points") if isinstance(data, Mapping) else data
    if not isinstance(listed, list) or not listed:
        raise FormatError('expected a list of points under "points", got none', path=path)
    found = []
    for number, point in enumerate(listed):
        if isinstance(point, Mapping):
            point = [point.get("x"), point.get("z")]
        values = point if isinstance(point, list) else []
        numbers = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        if len(values) != 2 or len(numbers) != 2:
            raise FormatError(f"expected [x, z] in metres, got {point!r}", path=path, where=f"points[{number}]")
        found.append(numbers)
    return np.array(found)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
