"""The frames of an AMC file (Acclaim Motion Capture): a number, then a line for each animated bone.

Nearly all files repeat the same bones in the same order, so the first frame defines the meaning of every word and all
numbers are parsed in bulk. Other files are read line by line.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.asf.lines import MAX_LENGTH, finite, normalise_text, show, text_of, words_of
from footplant.io.asf.skeleton import MAX_BONES, ROOT, Bone

BLOCK_WORDS = 1 << 15
"""Words parsed at a time."""
MAX_GROWTH = 3
"""Limit on the numbers' size as a multiple of the file's: a frame that lists few bones still takes a full row."""


@dataclass
class Frames:
    """The contents of an AMC file."""

    values: NDArray
    """(F, C) numbers of all bones' channels in the order of the bones; NaN where a frame omits a bone."""
    numbers: NDArray
    """(F,) frame numbers in the file."""
    degrees: bool | None
    """Whether :DEGREES or :RADIANS precedes the frames; None if neither does."""
    unknown: tuple[str, ...]
    """Bones of the motion that the skeleton lacks."""
    cut: bool = False
    """Whether the file ends inside its last frame, which was dropped."""


def read_amc(data: bytes, bones: list[Bone], path: str | Path | None) -> Frames:
    """Read the bytes of an AMC file for the bones of its skeleton."""
    data = normalise_text(data, path)
    start, degrees = _read_head(data, path)
    columns = _columns(bones)
    fast = _read_regular(data, start, bones, columns)
    if fast is not None:
        return Frames(*fast, degrees, ())
    return _read_any(data, start, bones, columns, degrees, path)


def _columns(bones: list[Bone]) -> dict[str, slice]:
    """Return bone → its columns in a row of values; bones without channels have an empty slice."""
    columns, at = {}, 0
    for bone in bones:
        columns[bone.name] = slice(at, at + len(bone.dof))
        at += len(bone.dof)
    return columns


def _read_head(data: bytes, path: str | Path | None) -> tuple[int, bool | None]:
    """Return the offset of the first frame (a line with one integer), and the unit of angle."""
    degrees: bool | None = None
    for line, words in words_of(data, 0, path):
        if words[0].startswith(b":"):
            degrees = {b":degrees": True, b":radians": False}.get(words[0].lower(), degrees)
        elif len(words) == 1 and words[0].isdigit():
            return _line_start(data, line), degrees
        else:
            raise FormatError(
                f"expected the number of a frame on a line of its own, got {show(words[0])}; is this an AMC file?",
                path=path, where=f"line {line}",
            )  # fmt: skip
    raise FormatError("expected frames, got none", path=path)


def _line_start(data: bytes, line: int) -> int:
    """Return the offset of a line, numbered from 1."""
    at = 0
    for _ in range(line - 1):
        at = data.index(b"\n", at) + 1
    return at


def _first_frame(data: bytes, start: int) -> list[list[bytes]]:
    """Return the words of the first frame, line by line."""
    lines: list[list[bytes]] = []
    for _, words in words_of(data, start, None):
        if len(words) == 1 and lines and words[0].isdigit():
            break
        lines.append(words)
        if len(lines) > MAX_BONES:
            break
    return lines


def _read_regular(
    data: bytes, start: int, bones: list[Bone], columns: dict[str, slice]
) -> tuple[NDArray, NDArray] | None:
    """Return values and numbers of the frames if all have the words of the first one, else None."""
    from footplant.kernels import text

    lines = _first_frame(data, start)
    width = sum(len(bone.dof) for bone in bones)
    moving = {bone.name: len(bone.dof) for bone in bones if bone.dof}
    if {text_of(line[0]): len(line) - 1 for line in lines[1:]} != moving or len(lines) != 1 + len(moving):
        return None
    size = sum(map(len, lines))
    names, sources, at = {}, np.empty(width, np.int64), 1
    for line in lines[1:]:
        names[at] = line[0]
        sources[columns[text_of(line[0])]] = at + 1 + np.arange(len(line) - 1)
        at += len(line)
    # the kernel reads one byte beyond a number
    array = np.frombuffer(data if data[-1] <= 32 else data + b"\n", np.uint8)
    # a word and the space behind it take at least two bytes
    most = min(1 + data.count(b"\n", start), len(array) // 2) // len(lines) + 1
    values, numbers = np.empty((most, width)), np.empty(most, np.int64)
    rows = max(1, BLOCK_WORDS // size)
    block, left = np.empty((rows, size)), np.zeros((rows * size, 3), np.int64)
    done, where = 0, start
    while True:
        count, where, kept, _ = text.parse_numbers(array, where, size, text.POWERS, text.FIVES, block.reshape(-1), left)
        whole = count // size
        if count != whole * size or done + whole > most or kept != whole * len(names):
            return None
        if not _same_names(array, left[:kept], names, size):
            return None
        if not (block[:whole, 0] == np.rint(block[:whole, 0])).all() or np.abs(block[:whole, 0]).max(initial=0) > 1e15:
            return None
        values[done : done + whole] = block[:whole, sources]
        numbers[done : done + whole] = block[:whole, 0]
        done += whole
        if whole < rows:
            break
    values = values[:done]
    if np.abs(values).max(initial=0.0) > MAX_LENGTH:
        return None
    return values, numbers[:done]


def _same_names(array: NDArray, left: NDArray, names: dict[int, bytes], size: int) -> bool:
    """Return whether the words that are not numbers are the bones' names, at the same places as in the first frame."""
    left = left.reshape(-1, len(names), 3)
    for number, (place, name) in enumerate(names.items()):
        column = left[:, number]
        if (column[:, 0] % size != place).any() or (column[:, 2] - column[:, 1] != len(name)).any():
            return False
        if (array[column[:, 1, None] + np.arange(len(name))] != np.frombuffer(name, np.uint8)).any():
            return False
    return True


def _read_any(
    data: bytes, start: int, bones: list[Bone], columns: dict[str, slice], degrees: bool | None, path: str | Path | None
) -> Frames:
    """Read line by line: bones may be missing, in any order, or unknown to the skeleton."""
    width = sum(len(bone.dof) for bone in bones)
    values, numbers = np.full((64, width), np.nan), np.zeros(64, np.int64)
    count, unknown, broken = 0, {}, None
    for line, words in words_of(data, start, path):
        if broken is not None:
            raise broken
        if words[0].startswith(b":"):
            continue
        if len(words) == 1 and words[0].isdigit() and len(words[0]) < 16:
            if count == len(values):
                if 2 * values.nbytes > MAX_GROWTH * len(data) + (1 << 20):
                    raise FormatError(
                        f"expected frames that list most bones, got {count} frames of {width} channels "
                        f"in {len(data)} bytes", path=path, where=f"line {line}"
                    )  # fmt: skip
                values = np.concatenate([values, np.full_like(values, np.nan)])
                numbers = np.concatenate([numbers, numbers])
            numbers[count] = int(words[0])
            count += 1
            continue
        name = text_of(words[0])
        span = columns.get(ROOT if name.lower() == ROOT and name not in columns else name)
        if span is None:
            if len(unknown) < MAX_BONES:
                unknown[name[:80]] = None
            continue
        if len(words) - 1 != span.stop - span.start:
            # the last line may be truncated: an error only if another line follows
            broken = FormatError(
                f"expected {span.stop - span.start} numbers for {name!r}, got {len(words) - 1}",
                path=path, where=f"line {line}, frame {numbers[count - 1]}",
            )  # fmt: skip
            continue
        what = f"a finite number for {name!r} in frame {numbers[count - 1]}"
        values[count - 1, span] = [finite(word, what, path, line) for word in words[1:]]
    values = values[:count]
    missing = np.flatnonzero(np.isnan(values).any(axis=1))
    cut = count > 1 and (broken is not None or missing.tolist() == [count - 1])
    if broken is not None and not cut:
        raise broken
    return Frames(values[: count - cut], numbers[: count - cut], degrees, tuple(unknown), cut)
