"""Read and write constraint files: TOML, JSON, and the constraints of project files. See docs/constraints.md."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from footplant.atomic import write_atomic
from footplant.constraints import Constraint, from_data, to_data
from footplant.errors import FormatError
from footplant.skeleton import Character
from footplant.text_files import parse_toml, read_text

EXTENSIONS = (".toml", ".json", ".footplant")
"""Extensions of files that constraints are read from."""
MAX_FILE_BYTES = 256 * 2**20
"""A larger file is rejected."""


def read_constraints(
    source: str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    character: Character,
    *,
    frames: int | None = None,
    fps: float | None = None,
) -> tuple[Constraint, ...]:
    """Return constraints on a character from a file (.toml, .json, .footplant) or from parsed TOML or JSON values.

    frames: length of the clip, to reject frames beyond its end. fps: its frame rate, for times given in seconds.
    """
    if not isinstance(source, str | Path):
        return from_data(source, character, frames=frames, fps=fps)
    return from_data(_load(Path(source)), character, frames=frames, fps=fps, path=source)


def _load(path: Path) -> Any:
    ending = path.suffix.lower()
    if ending not in EXTENSIONS:
        raise FormatError(f"expected a file ending in {', '.join(EXTENSIONS)}, got {path.suffix or 'none'}", path=path)
    if ending == ".footplant":
        from footplant.io.project import load_project

        return list(load_project(path).constraints)
    text = read_text(path, MAX_FILE_BYTES, "constraints")
    try:
        return parse_toml(text, path) if ending == ".toml" else json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"expected JSON, got a syntax error: {error.msg}", path=path, where=where) from None
    except (RecursionError, ValueError) as error:
        raise FormatError(f"expected tables and numbers, got a syntax error: {error}", path=path) from None


def write_constraints(path: str | Path, constraints: Sequence[Constraint], character: Character) -> None:
    """Write constraints as TOML or JSON, by the file's extension, atomically."""
    path, data = Path(path), to_data(constraints, character)
    if path.suffix.lower() == ".json":
        write_atomic(path, json.dumps({"constraints": data}, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    elif path.suffix.lower() == ".toml":
        write_atomic(path, _toml(data))
    else:
        raise FormatError(f"expected a file ending in .toml or .json, got {path.suffix or 'none'}", path=path)


def _toml(tables: Sequence[Mapping[str, Any]]) -> str:
    """Return a TOML text with one [[constraints]] per table."""
    blocks = (
        "[[constraints]]\n" + "".join(f"{key} = {_toml_value(value)}\n" for key, value in table.items())
        for table in tables
    )
    return "\n".join(blocks)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON strings are valid TOML except for the delete character, which TOML requires to be escaped
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml_value(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return repr(value)
