"""BVH in and out (Biovision Hierarchy): a tree of joints with OFFSETs, and rows of channel values, angles in degrees.

What the format leaves open is decided from the file itself and said in the notes: whether position channels replace a
joint's OFFSET or are added to it, how many rows there really are, and how fast they run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Take
from footplant.errors import FormatError
from footplant.io.bvh_header import MAX_LENGTH, Header, Joint, Scanner, read_header, show
from footplant.io.figure import RawFigure
from footplant.motion import Motion
from footplant.skeleton import Skeleton

extensions = (".bvh",)

BLOCK_NUMBERS = 1 << 15
"""Numbers that are parsed at a time: they stay in the processor's cache until they have become quaternions."""
MAX_GROWTH = 8
"""Most bytes of rotations a byte of the file may become (three angles of one digit each become 32 bytes out of 6)."""
SAME_BONE = 1e-3
"""Relative difference up to which position channels that never change are the OFFSET with other digits."""
ROOT_AT_ZERO = 0.07
"""Median height of the root, relative to that of its OFFSET, below which its channels cannot be the height itself."""
CLEAR = 0.5
"""Ratio of mean distances below which it is clear whether position channels replace or add."""


@dataclass(frozen=True, eq=False)
class BvhLayout:
    """How a BVH file wrote one figure, so that it can be written alike."""

    names: tuple[str, ...]
    """The figure's joints as read; a motion with other joints does not fit this layout."""
    raw_names: tuple[bytes, ...]
    """The same as bytes of the file, not decoded and perhaps not unique."""
    channels: tuple[tuple[str, ...], ...]
    """The channel words of each joint as written, in order."""
    added: tuple[bool, ...]
    """Per joint, whether its position channels are added to OFFSET instead of replacing it."""
    rest_in_offset: bool
    """Whether three further numbers after each OFFSET state the rest pose's turns about x, y and z, degrees."""
    frame_time: str
    """Seconds of a frame as written; "" when the file stated none."""
    number: int
    """Which of the file's ROOTs this is."""


def load(path: str | Path, *, positions: Literal["auto", "replace", "add"] = "auto") -> tuple[RawFigure, ...]:
    """Read every ROOT of a file as a figure of its own, in file units and axes.

    positions says what position channels mean for a joint with an OFFSET: "replace" it, "add" to it, or "auto": what
    the values of each joint say.
    """
    if positions not in ("auto", "replace", "add"):
        raise FormatError(f"expected positions to be 'auto', 'replace' or 'add', got {positions!r}", path=path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return parse(data, path, positions=positions)


def parse(data: bytes, path: str | Path | None = None, *, positions: str = "auto") -> tuple[RawFigure, ...]:
    """Read the bytes of a BVH file: see `load`."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise FormatError("expected text, got damaged UTF-16", path=path) from error
    header = read_header(data, path)
    starts = [number for number, joint in enumerate(header.joints) if joint.parent < 0] + [len(header.joints)]
    plans = [_Plan(header.joints, first, last) for first, last in pairwise(starts)]
    _read_rows(data, path, header, plans)
    return tuple(_figure(plan, header, number, positions) for number, plan in enumerate(plans))


class _Plan:
    """Which columns of a row go where, for one figure, and the arrays they go into."""

    def __init__(self, joints: list[Joint], first: int, last: int) -> None:
        self.first = first
        self.joints = joints[first:last]
        column = sum(len(joint.channels) for joint in joints[:first])
        spans, columns, axes = [0], [], []
        self.places: list[tuple[int, int, int]] = []
        """Position channels as (joint, axis, column)."""
        for number, joint in enumerate(self.joints):
            for axis, turns in joint.kinds:
                if turns:
                    columns.append(column)
                    axes.append(axis)
                else:
                    self.places.append((number, axis, column))
                column += 1
            spans.append(len(columns))
        self.spans, self.columns, self.axes = (np.array(table, np.int64) for table in (spans, columns, axes))
        self.place_columns = np.array([place[2] for place in self.places], np.int64)

    def allocate(self, frames: int) -> None:
        self.rotations = np.empty((frames, len(self.joints), 4))
        self.values = np.empty((frames, len(self.places)))

    def trim(self, frames: int) -> None:
        """Keep the frames that there really are; a copy only where much would be kept for nothing."""
        whole = len(self.rotations)
        self.rotations.setflags(write=False)
        self.rotations, self.values = self.rotations[:frames], self.values[:frames]
        if frames < 0.9 * whole:
            self.rotations, self.values = self.rotations.copy(), self.values.copy()
        self.rotations.setflags(write=False)

    def take(self, block: NDArray, at: int) -> None:
        from footplant.kernels import text

        rows = slice(at, at + len(block))
        text.euler_to_quaternions(block, self.spans, self.columns, self.axes, self.rotations[rows])
        self.values[rows] = block[:, self.place_columns]


def _read_rows(data: bytes, path: str | Path | None, header: Header, plans: list[_Plan]) -> None:
    """Fill the plans' arrays. Lines of one row each need no counting beforehand; if they are not, all is counted."""
    from footplant.kernels import text

    scanner = Scanner(data, path)
    columns = sum(len(joint.channels) for joint in header.joints)
    # the kernel looks one byte beyond a number; every number and the blank behind it take two bytes or more
    array = np.frombuffer(data if data[-1] <= 32 else data + b"\n", np.uint8)
    lines = 1 + max(np.count_nonzero(array[header.data_start :] == end) for end in (b"\n"[0], b"\r"[0]))
    likely = min(lines, (len(array) - header.data_start) // (2 * columns)) if columns else 0
    frames = _parse_rows(scanner, array, header, plans, columns, likely, check=True) if likely else None
    counted = frames is None or frames != header.declared or data[-1] > 32
    if counted:
        found = np.zeros(6, np.int64)
        text.count_numbers(array, header.data_start, columns, found)
        wanted = _count_frames(scanner, header, columns, found)
        if wanted != frames:
            frames = _parse_rows(scanner, array, header, plans, columns, wanted, check=False)
    for plan in plans:
        plan.trim(frames or 0)
    _check_lengths(plans, path)


def _parse_rows(
    scanner: Scanner, array: NDArray, header: Header, plans: list[_Plan], columns: int, frames: int, *, check: bool
) -> int | None:
    """Read up to `frames` rows and return how many there were; with `check`, None when lines are not rows."""
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
    return at


def _count_frames(scanner: Scanner, header: Header, columns: int, found: NDArray) -> int:
    """How many whole rows there are; what does not fit the header is noted, what cannot be told is an error."""
    tokens, lines, ragged, ragged_at, ragged_count, last = found.tolist()
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
    if ragged and declared is not None and tokens == declared * columns:
        notes.append(f"rows of {columns} numbers are broken over several lines")
        return declared
    if ragged > 1 or (ragged == 1 and (last == columns or last > columns)):
        raise scanner.error(f"expected {columns} numbers in each row, got {ragged_count}", ragged_at)
    frames = lines - ragged
    # a file that was cut while its last number was written still has all numbers of that row
    cut = ragged == 0 and declared is not None and frames < declared and scanner.data[-1] > 32
    if ragged:
        notes.append(f"the last row has {last} of {columns} numbers and was left out")
    elif cut:
        frames -= 1
        notes.append("the file ends inside its last row, which was left out")
    if frames == 0:
        raise scanner.error(f"expected rows of {columns} numbers, got {last} and then the end of the file", end)
    if declared is not None and frames != declared:
        notes.append(f"the header states {declared} frames, {frames} whole rows follow and were read")
    return frames


def _slow_number(token: bytes) -> float | None:
    """A number that the kernel left over; None when it is none, or not finite."""
    try:
        value = float(token) if b"_" not in token else np.nan
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _bad_number(scanner: Scanner, header: Header, start: int, stop: int, frame: int, column: int) -> FormatError:
    for joint in header.joints:
        if column < len(joint.channels):
            break
        column -= len(joint.channels)
    place = f"frame {frame}, {joint.channels[column]} of {decode(joint.raw_name)!r}"
    return scanner.error(f"expected a finite number at {place}, got {show(scanner.data[start:stop])}", start)


def _check_lengths(plans: list[_Plan], path: str | Path | None) -> None:
    for plan in plans:
        if plan.values.size and max(-plan.values.min(), plan.values.max()) > MAX_LENGTH:
            frame, column = np.argwhere(np.abs(plan.values) > MAX_LENGTH)[0]
            name = decode(plan.joints[plan.places[column][0]].raw_name)
            raise FormatError(
                f"expected a length below {MAX_LENGTH:g}, got {plan.values[frame, column]:g} at joint {name!r}",
                path=path, where=f"frame {frame}",
            )  # fmt: skip


def _figure(plan: _Plan, header: Header, number: int, positions: str) -> RawFigure:
    notes = list(header.notes)
    joints = plan.joints
    raw_names = tuple(joint.raw_name for joint in joints)
    names = unique_names([decode(name) for name in raw_names], notes)
    offsets = np.array([joint.offset for joint in joints])
    rests = [joint.rest for joint in joints]
    rest = None
    if all(turns is not None for turns in rests):
        rest = np.stack([_rest_rotation(joint) for joint in joints])
        notes.append("OFFSET has six numbers; the last three were taken for the turns of the rest pose")
    elif any(turns is not None for turns in rests):
        notes.append("some OFFSETs have six numbers; the last three were left out")
    frames = len(plan.rotations)
    root = np.broadcast_to(offsets[0], (frames, 3))
    moving: NDArray | None = None
    added = np.zeros(len(joints), bool)
    if plan.places and frames:
        added = _find_added(plan, offsets, names, positions, notes)
        places = _places(plan, offsets, added)
        root = places.get(0, root)
        offsets, moving = _settle_offsets(places, offsets, frames, names, notes)
    skeleton = Skeleton(
        names,
        np.array([max(joint.parent - plan.first, -1) for joint in joints]),
        offsets,
        rest,
        np.array([parent for parent, joint in enumerate(joints) for _ in joint.ends], np.int64),
        np.array([end for joint in joints for end in joint.ends]).reshape(-1, 3),
    )
    layout = BvhLayout(
        names, raw_names, tuple(joint.channels for joint in joints), tuple(added.tolist()), rest is not None,
        header.frame_time, number,
    )  # fmt: skip
    figure = RawFigure(names[0], skeleton, layout=layout, notes=tuple(notes))
    if not frames:
        return figure
    motion = Motion(skeleton, root, plan.rotations, header.fps, moving)
    return replace(figure, takes=(Take(names[0], frames, header.fps),), read_take=lambda take: motion)


def _rest_rotation(joint: Joint) -> NDArray:
    """Turns about x, y, z, multiplied in the order of the joint's own rotation channels."""
    order = [axis for axis, turns in joint.kinds if turns]
    order += [axis for axis in (2, 1, 0) if axis not in order]
    angles = np.radians([joint.rest[axis] for axis in order])  # type: ignore[index]
    return rotation.from_euler(angles, "".join("xyz"[axis] for axis in order))


def decode(raw: bytes) -> str:
    """A name as text: UTF-8 where it is valid, else what Western Windows programs write."""
    for encoding in ("utf-8", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            pass
    return raw.decode("latin-1")


def unique_names(names: list[str], notes: list[str]) -> tuple[str, ...]:
    """The same names with a number behind those that come again, and one for joints that have none."""
    taken, numbers = set(names), {}
    out, changed, seen = [], 0, set()
    for joint, name in enumerate(names):
        unique = name
        if not name or name in seen:
            stem = name or "joint"
            number = numbers.get(stem, 2 if name else joint)
            while f"{stem}_{number}" in taken:
                number += 1
            unique = f"{stem}_{number}"
            numbers[stem] = number + 1
            changed += 1
        taken.add(unique)
        seen.add(unique)
        out.append(unique)
    if changed:
        notes.append(f"{changed} joints had no name or the name of another; they got a number")
    return tuple(out)


def _places(plan: _Plan, offsets: NDArray, added: NDArray) -> dict[int, NDArray]:
    """Joint → its place in its parent's frame over time (F, 3), for joints with position channels.

    An axis without a channel stays at OFFSET.
    """
    places: dict[int, NDArray] = {}
    for column, (joint, axis, _) in enumerate(plan.places):
        if joint not in places:
            places[joint] = np.broadcast_to(offsets[joint], (len(plan.values), 3)).copy()
        places[joint][:, axis] = plan.values[:, column] + (offsets[joint, axis] if added[joint] else 0.0)
    return places


def _find_added(plan: _Plan, offsets: NDArray, names: tuple[str, ...], positions: str, notes: list[str]) -> NDArray:
    """Per joint, whether position channels are added to OFFSET (True) or replace it.

    Channels that replace stay near OFFSET, channels that are added stay near zero. Where neither is clear the clear
    joints decide, and where there are none, channels replace: so do most files. The root wanders off from both; only
    its height tells, which is the largest part of its OFFSET.
    """
    count = len(plan.joints)
    has = np.zeros(count, bool)
    has[[joint for joint, _, _ in plan.places]] = True
    matters = has & (np.abs(offsets).max(axis=1) > 0)
    if positions != "auto":
        return matters & (positions == "add")
    near, far = np.zeros(count), np.zeros(count)
    height = np.argmax(np.abs(offsets[0]))
    for column, (joint, axis, _) in enumerate(plan.places):
        values = plan.values[:, column]
        if joint > 0:
            near[joint] += np.mean(np.square(values - offsets[joint, axis]))
            far[joint] += np.mean(np.square(values))
        elif axis == height:
            near[0] = float(np.median(np.abs(values)) < ROOT_AT_ZERO * abs(offsets[0, axis]))
    far[0] = 1.0 - near[0]
    clear_add = matters & (far < CLEAR**2 * near)
    clear_replace = matters & (near < CLEAR**2 * far)
    vote = clear_add[1:].sum() > clear_replace[1:].sum()
    added = clear_add | (matters & ~clear_replace & vote)
    inner = np.flatnonzero(matters[1:]) + 1
    if len(inner):
        summed = inner[added[inner]]
        what = "replace OFFSET"
        if len(summed) == len(inner):
            what = "are added to OFFSET"
        elif len(summed):
            what = (
                f"are added to OFFSET on {len(summed)} of them (first {names[summed[0]]!r}), replace it on the others"
            )
        notes.append(f"position channels on {len(inner)} inner joints {what}, as their values show")
    if added[0]:
        notes.append("position channels of the root are added to its OFFSET, as its height shows")
    return added


def _settle_offsets(
    places: dict[int, NDArray], offsets: NDArray, frames: int, names: tuple[str, ...], notes: list[str]
) -> tuple[NDArray, NDArray | None]:
    """The skeleton's offsets, and per-frame offsets (F, J, 3) where joints do move in their parents.

    A joint that never moves is a plain bone; where its OFFSET is the same with fewer digits the channel's is taken.
    """
    offsets = offsets.copy()
    moving = []
    for joint, place in places.items():
        if joint == 0:
            continue
        size = max(np.abs(offsets[joint]).max(), np.abs(place[0]).max())
        if np.abs(place - place[0]).max() > 1e-9 * size or np.abs(place[0] - offsets[joint]).max() > SAME_BONE * size:
            moving.append(joint)
        else:
            offsets[joint] = place[0]
    if not moving:
        return offsets, None
    notes.append(f"{len(moving)} inner joints move in their parents (first {names[moving[0]]!r})")
    out = np.broadcast_to(offsets, (frames, len(offsets), 3)).copy()
    for joint in moving:
        out[:, joint] = places[joint]
    out.setflags(write=False)
    return offsets, out
