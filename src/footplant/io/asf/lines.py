"""Read the lines of words that ASF and AMC files consist of, without comments."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from pathlib import Path

from footplant.errors import FormatError

MAX_LINE = 1 << 16
MAX_LENGTH = 1e12
"""Largest valid number, in file units; beyond it squares overflow precision."""


def normalise_text(data: bytes, path: str | Path | None) -> bytes:
    """Return a text file's bytes with LF line ends and without byte order mark, UTF-16 or CR."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise FormatError("expected text, got damaged UTF-16", path=path) from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def words_of(data: bytes, start: int, path: str | Path | None) -> Iterator[tuple[int, list[bytes]]]:
    """Yield every non-empty line from an offset on: its number from 1, and its words up to a "#"."""
    file = io.BytesIO(data)
    file.seek(start)
    number = data.count(b"\n", 0, start)
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise FormatError(
                f"expected lines of at most {MAX_LINE} bytes, got more", path=path, where=f"line {number}"
            )
        words = line.partition(b"#")[0].replace(b"\0", b" ").split()
        if words:
            yield number, words


def number_of(word: bytes) -> float | None:
    """Return a number, or None if the word is not one."""
    if b"_" in word or len(word) > 400:
        return None
    try:
        return float(word)
    except ValueError:
        return None


def finite(word: bytes, what: str, path: str | Path | None, line: int) -> float:
    """Return a finite number of plausible size; raise `FormatError` with what was expected otherwise."""
    value = number_of(word)
    if value is None or not math.isfinite(value) or abs(value) > MAX_LENGTH:
        raise FormatError(f"expected {what}, got {show(word)}", path=path, where=f"line {line}")
    return value


def text_of(word: bytes) -> str:
    """Return a name as text: UTF-8 if valid, else Latin-1."""
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        return word.decode("latin-1")


def show(word: bytes) -> str:
    """Return a word for an error message: quoted, short, printable."""
    return repr(word[:40].decode("latin-1") + ("…" if len(word) > 40 else ""))
