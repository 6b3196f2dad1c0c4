"""Read small text files written by people: whole, from regular files only; and parse TOML."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from footplant.errors import FormatError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def require_file(path: str | Path) -> os.stat_result:
    """Return the stat of a regular file; raise for anything else: reading a pipe may block for ever."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise FormatError("no such file", path=path) from None
    except (OSError, ValueError) as error:
        raise FormatError(getattr(error, "strerror", None) or str(error), path=path) from error
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "something else")
        raise FormatError(f"expected a file, got {kind}", path=path)
    return found


def read_text(path: str | Path, largest: int, what: str) -> str:
    """Return the UTF-8 text of a file of at most `largest` bytes. what: the expected content, for the error."""
    if require_file(path).st_size > largest:
        raise FormatError(f"expected at most {largest >> 20} MiB of {what}, got more", path=path)
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", path=path) from error
    except UnicodeDecodeError as error:
        raise FormatError("expected text in UTF-8, got other bytes", path=path, where=f"byte {error.start}") from None


def parse_toml(text: str, path: str | Path | None) -> dict[str, Any]:
    """Return the tables of a TOML text; raise for syntax errors and excessive nesting."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"expected TOML, got a syntax error: {error}", path=path) from None
    except RecursionError:
        raise FormatError("expected TOML of reasonable depth, got lists or tables nested too deep", path=path) from None
    except (ValueError, OverflowError) as error:
        # dates that do not exist, numbers of thousands of digits
        raise FormatError(f"expected TOML, got a syntax error: {error}", path=path) from None
