"""The rows of numbers of a BVH file: count and parse them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.bvh.header import MAX_LENGTH, Header, Joint, Scanner, show
from footplant.io.bvh.layout import decode

BLOCK_NUMBERS = 1 << 15
"""Numbers parsed at a time: they stay in the CPU cache until they are converted to quaternions."""
MAX_GROWTH = 8
"""Limit on the rotations' size as a multiple of the file's (three one-digit angles, 6 bytes, become 32 bytes)."""


class Plan:
    """Which columns of a row go where, for one character, and the arrays that receive them."""

    def __init__(self, joints: list[Joint], first: int, last: int, column: int) -> None:
        self.first = first
        self.joints = joints[first:last]
        spans, columns, axes, place_columns = [0], [], [], []
        self.places: dict[int, list[tuple[int, int]]] = {}
        """Joints with position channels → list of (column of `values`, axis)."""
        for number, joint in enumerate(self.joints):
            for axis, is_rotation in joint.kinds:
                if is_rotation:
                    columns.append(column)
                    axes.append(axis)
                else:
                    self.places.setdefault(number, []).append((len(place_columns), axis))
                    place_columns.append(column)
                column += 1
            spans.append(len(columns))
        self.next_column = column
        self.spans, self.columns, self.axes = (np.array(table, np.int64) for table in (spans, columns, axes))
        self.place_columns = np.array(place_columns, np.int64)

    def allocate(self, frames: int) -> None:
        """Allocate the arrays for a number of frames."""
        self.rotations = np.empty((frames, len(self.joints), 4))
        self.values = np.empty((frames, len(self.place_columns)))
        """Values of the position channels, (F, P)."""

    def trim(self, frames: int) -> None:
        """Cut the arrays to the actual number of frames; copy only if much memory would be wasted."""
        whole = len(self.rotations)
        self.rotations.setflags(write=False)
        self.rotations, self.values = self.rotations[:frames], self.values[:frames]
        if frames < 0.9 * whole:
            self.rotations, self.values = self.rotations.copy(), self.values.copy()
        self.rotations.setflags(write=False)

    def take(self, block: NDArray, at: int) -> None:
        """Convert a block of rows, of which the first is frame `at`."""
        from footplant.kernels import euler

        rows = slice(at, at + len(block))
        euler.euler_to_quaternions(block, self.spans, self.columns, self.axes, self.rotations[rows])
        self.values[rows] = block[:, self.place_columns]


def read_rows(data: bytes, path: str | Path | None, header: Header, plans: list[Plan]) -> None:
    """Fill the plans' arrays. If every line is one row, rows need not be counted first; otherwise they are."""
    from footplant.kernels import text

    scanner = Scanner(data, path)
    columns = sum(len(joint.channels) for joint in header.joints)
    # the kernel reads one byte beyond a number; every number and the space behind it take at least two bytes
    array = np.frombuffer(data if data[-1] <= 32 else data + b"\n", np.uint8)
    lines = 1 + max(int(np.count_nonzero(array[header.data_start :] == end)) for end in (b"\n"[0], b"\r"[0]))
    likely = min(lines, (len(array) - header.data_start) // (2 * columns)) if columns else 0
    frames = _parse_rows(scanner, array, header, plans, columns, likely, check=True) if likely else None
    counted = frames is None or frames != header.declared or data[-1] > 32
    if counted:
        found = np.zeros(7, np.int64)
        text.count_numbers(array, header.data_start, columns, found)
        wanted = _count_frames(scanner, header, columns, found)
        if wanted != frames:
            frames = _parse_rows(scanner, array, header, plans, columns, wanted, check=False)
    for plan in plans:
        plan.trim(frames or 0)
    _check_lengths(plans, path)


def _parse_rows(
    scanner: Scanner, array: NDArray, header: Header, plans: list[Plan], columns: int, frames: int, *, check: bool
) -> int | None:
    """Parse up to `frames` rows and return how many there were; with `check`, None if lines are not rows."""
    from footplant.kernels import text

    if frames * len(header.joints) * 32 > MAX_GROWTH * len(array) + (1 << 24):
        if check:
            return None
        raise FormatError(
            f"expected joints that mostly have channels, got {frames} frames of {len(header.joints)} joints "
            f"in a file of {len(array)} bytes", path=scanner.path
        )  # fmt: skip
    for plan in plans:
        plan.allocate(frames)
    rows = min(max(1, BLOCK_NUMBERS // max(columns, 1)), frames)
    block = np.empty((rows, columns))
    left = np.zeros((rows * columns, 3), np.int64)
    at, where = 0, header.data_start
    while at < frames:
        part = block[: frames - at]
        flat = part.reshape(-1)
        count, where, kept, regular = text.parse_numbers(array, where, columns, text.POWERS, text.FIVES, flat, left)
        if check and not regular:
            return None
        for place, start, stop in left[:kept].tolist():
            value = _slow_number(scanner.data[start:stop])
            if value is None and check:
                return None
            if value is None:
                raise _bad_number(scanner, header, start, stop, at + place // columns, place % columns)
            flat[place] = value
        whole = count // columns
        for plan in plans:
            plan.take(part[:whole], at)
        at += whole
        if count < len(flat):
            return at if count == whole * columns else None
    return None if check and np.any(array[where:] > 32) else at


def _count_frames(scanner: Scanner, header: Header, columns: int, found: NDArray) -> int:
    """Return the number of complete rows; note mismatches with the header, raise `FormatError` if it is ambiguous."""
    tokens, lines, ragged, ragged_at, ragged_count, last, aligned = found.tolist()
    declared, notes, end = header.declared, header.notes, len(scanner.data)
    if columns == 0:
        if tokens:
            raise scanner.error("expected no numbers after MOTION, because no joint has channels, got some", ragged_at)
        notes.append("no joint has channels; the rest pose is all there is")
        return 0
    if tokens == 0:
        if declared:
            raise scanner.error(f"expected {declared} rows of {columns} numbers, got none", end)
        notes.append("the motion has no frames; the rest pose is all there is")
        return 0
    if ragged and aligned and tokens == (tokens // columns if declared is None else declared) * columns:
        notes.append(f"rows of {columns} numbers are not on one line each")
        return tokens // columns
    if ragged > 1 or (ragged == 1 and last >= columns):
        raise scanner.error(f"expected {columns} numbers in each row, got {ragged_count}", ragged_at)
    frames = lines - ragged
    # a file that was truncated inside its last number still has all numbers of that row
    cut = ragged == 0 and declared is not None and frames < declared and scanner.data[-1] > 32
    if ragged:
        notes.append(f"the last row has {last} of {columns} numbers and was dropped")
    elif cut:
        frames -= 1
        notes.append("the file ends inside its last row, which was dropped")
    if frames == 0:
        raise scanner.error(f"expected rows of {columns} numbers, got {last - cut} and then the end of the file", end)
    if declared is not None and frames != declared:
        notes.append(f"the header states {declared} frames, {frames} whole rows follow and were read")
    return frames


def _slow_number(token: bytes) -> float | None:
    """Return a number that the kernel could not parse; None if it is not a finite number."""
    try:
        value = float(token) if b"_" not in token else np.nan
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _bad_number(scanner: Scanner, header: Header, start: int, stop: int, frame: int, column: int) -> FormatError:
    """Return the error for a number, naming frame, channel and joint."""
    for joint in header.joints:
        if column < len(joint.channels):
            break
        column -= len(joint.channels)
    place = f"frame {frame}, {joint.channels[column]} of {decode(joint.raw_name)!r}"
    return scanner.error(f"expected a finite number at {place}, got {show(scanner.data[start:stop])}", start)


def _check_lengths(plans: list[Plan], path: str | Path | None) -> None:
    """Raise `FormatError` if a position is too large."""
    for plan in plans:
        if plan.values.size and max(-plan.values.min(), plan.values.max()) > MAX_LENGTH:
            frame, bad = np.argwhere(np.abs(plan.values) > MAX_LENGTH)[0]
            joint = next(joint for joint, places in plan.places.items() if bad in [column for column, _ in places])
            raise FormatError(
                f"expected a length below {MAX_LENGTH:g}, got {plan.values[frame, bad]:g} "
                f"for {decode(plan.joints[joint].raw_name)!r}", path=path, where=f"frame {frame}"
            )  # fmt: skip
