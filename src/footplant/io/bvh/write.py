"""BVH out: like the BVH file that a clip came from, else in centimetres, y up, rotations in the order z, x, y."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip, Conversion
from footplant.errors import FormatError
from footplant.io.atomic import open_atomic
from footplant.io.bvh.header import MAX_LENGTH
from footplant.io.bvh.layout import BvhLayout, channel_kind
from footplant.io.bvh.positions import judge_positions
from footplant.motion import Motion

PRECISION = 7
"""Digits after the point: three angles rounded there turn a joint by less than 2e-7 degrees."""
ROTATIONS = ("Zrotation", "Xrotation", "Yrotation")
POSITIONS = ("Xposition", "Yposition", "Zposition")
BLOCK_ROWS = 4096
MAX_INDENT = 40
"""Tabs before a line; deeper blocks are not indented further, so that a long chain stays short on disk."""
UNTURNED = 1e-9
"""Largest part of a quaternion that may be left out with an angle, and largest turn of a rest pose that is none."""
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f{}\x85\u2028\u2029]+")


@dataclass(frozen=True, eq=False)
class _Figure:
    """One ROOT, in file units and axes, ready to be written."""

    names: tuple[bytes, ...]
    children: tuple[tuple[int, ...], ...]
    offsets: list[tuple[float, ...]]
    """Per joint the numbers after OFFSET."""
    ends: list[list[tuple[float, ...]]]
    channels: list[list[str]]
    values: list[list[NDArray]]
    """Per joint and channel (F,): what goes into the rows."""


def save(
    path: str | Path,
    clip: Clip,
    *,
    units: str | float | None = None,
    up: str | None = None,
    precision: int = PRECISION,
) -> None:
    """Write a clip and its further figures (each a ROOT).

    A clip that was read from a BVH file keeps its channels, names, frame time, units and axes. Others get six channels
    on the root and three below, in centimetres and y up; their root's OFFSET is 0 because programs do not agree on
    whether the root's positions replace it or are added. The rest pose is written as it stands, with all frames
    parallel to the world's axes, for BVH has no rest rotations; the motion comes out the same.

    units ("cm", 0.01 …) and up ("z" …) force others; precision is the number of digits after the point, 0 to 15.
    """
    if not 0 <= precision <= 15:
        raise FormatError(f"expected a precision of 0 to 15 digits, got {precision}", path=path)
    clips = sorted([clip, *clip.others], key=lambda part: part.layout.number if _layout_of(part) else 0)
    for other in clip.others:
        if len(other.motion) != len(clip.motion) or not np.isclose(other.motion.fps, clip.motion.fps, rtol=1e-9):
            raise FormatError(
                f"expected {len(clip.motion)} frames at {clip.motion.fps:g} fps in all figures, got "
                f"{len(other.motion)} at {other.motion.fps:g} for {other.name!r}; save without others", path=path
            )  # fmt: skip
    figures = [_prepare(path, part, units, up, precision) for part in clips]
    lines = [b"HIERARCHY"]
    columns: list[NDArray] = []
    for figure in figures:
        _write_joints(figure, lines, columns, precision)
    for column in columns:
        if len(column) and not max(-column.min(), column.max()) <= MAX_LENGTH:
            raise FormatError(f"expected numbers below {MAX_LENGTH:g}, got {np.abs(column).max():g}", path=path)
    lines += [b"MOTION", b"Frames: %d" % len(clip.motion), b"Frame Time: " + _frame_time(clip).encode(), b""]
    with open_atomic(path, "wb") as file:
        file.write(b"\n".join(lines))
        _write_rows(file, columns, len(clip.motion), precision)


def further_losses(clip: Clip) -> list[str]:
    """What a BVH file of the clip does not say beside what `holds` tells: how the rest pose's frames are turned."""
    layout = _layout_of(clip)
    turned = rotation.angle(clip.motion.skeleton.rest, rotation.IDENTITY) > UNTURNED
    if (layout is not None and layout.rest_in_offset) or not turned.any():
        return []
    return [
        f"how the frames of {turned.sum()} joints are turned at rest: .bvh files have places only for the rest pose; "
        "the motion stays the same"
    ]


def _layout_of(clip: Clip) -> BvhLayout | None:
    """The clip's layout when it is one of ours and of the same joints."""
    layout = clip.layout
    return layout if isinstance(layout, BvhLayout) and layout.names == clip.motion.skeleton.names else None


def _frame_time(clip: Clip) -> str:
    layout = _layout_of(clip)
    seconds = 1.0 / clip.motion.fps
    if layout and layout.frame_time and abs(float(layout.frame_time) - seconds) <= 1e-12 * seconds:
        return layout.frame_time
    return repr(float(seconds))


def _conversion_for(path: str | Path, clip: Clip, units: str | float | None, up: str | None) -> Conversion:
    """The units and axes of the file to be: the clip's own ones if it was a BVH, else centimetres and y."""
    from footplant.io.conversion import UNITS, metres_per_unit, turn_of

    conversion = clip.conversion if _layout_of(clip) else Conversion("cm", UNITS["cm"], "y")
    if units is not None:
        conversion = replace(conversion, scale=metres_per_unit(units, path))
    if up is not None:
        conversion = replace(conversion, up=up, turn=tuple(turn_of(up, path).tolist()))
    return conversion


def _without_rest(motion: Motion) -> Motion:
    """The same motion on a skeleton whose rest pose stands the same with no joint turned.

    With G the world rotations of the rest pose, a joint's frame becomes W·G⁻¹: parallel to the world at rest.
    """
    skeleton = motion.skeleton
    turned = skeleton.rest_world[1]
    if np.abs(turned[:, 1:]).max() < UNTURNED:
        return motion
    above = np.concatenate([rotation.identity(1), turned[skeleton.parents[1:]]])
    rotations = rotation.multiply(rotation.multiply(above, motion.rotations), rotation.inverse(turned))
    return replace(
        motion,
        skeleton=replace(
            skeleton,
            offsets=rotation.rotate(above, skeleton.offsets),
            rest=rotation.identity(len(skeleton)),
            end_offsets=rotation.rotate(turned[skeleton.end_parents], skeleton.end_offsets).reshape(-1, 3),
        ),
        rotations=rotation.normalize(rotations),
        offsets=None if motion.offsets is None else rotation.rotate(above, motion.offsets),
    )


def _prepare(path: str | Path, clip: Clip, units: str | float | None, up: str | None, precision: int) -> _Figure:
    from footplant.io.conversion import undo_conversion

    layout = _layout_of(clip)
    motion = undo_conversion(clip.motion, _conversion_for(path, clip, units, up))
    keep_rest = layout is not None and layout.rest_in_offset
    if not keep_rest:
        motion = _without_rest(motion)
    skeleton = motion.skeleton
    count = len(skeleton)
    words = [list(joint) for joint in layout.channels] if layout else [[*POSITIONS, *ROTATIONS]] + [
        list(ROTATIONS) for _ in range(count - 1)
    ]  # fmt: skip
    added = np.array(layout.added) if layout else np.zeros(count, bool)
    offsets = np.array(skeleton.offsets)
    if layout is None:
        offsets[0] = 0.0
    places = [motion.root] + [
        np.broadcast_to(skeleton.offsets[joint], (len(motion), 3))
        if motion.offsets is None
        else motion.offsets[:, joint]
        for joint in range(1, count)
    ]
    for joint in range(count):
        _complete_positions(words[joint], places[joint], offsets[joint], precision)
    if len(motion):
        _make_unmistakable(words, places, offsets, added, precision)
    angles = _angles(motion, words)
    ends: list[list[tuple[float, ...]]] = [[] for _ in range(count)]
    for joint, end in zip(skeleton.end_parents.tolist(), skeleton.end_offsets.tolist()):
        ends[joint].append(tuple(end))
    values, numbers = [], []
    for joint in range(count):
        if layout is None and not skeleton.children[joint] and not ends[joint]:
            ends[joint].append((0.0, 0.0, 0.0))
        written = places[joint] - offsets[joint] if added[joint] else places[joint]
        values.append([_column(word, written, angles[joint]) for word in words[joint]])
        extra = _rest_angles(skeleton.rest[joint], words[joint]) if keep_rest else ()
        numbers.append((*offsets[joint].tolist(), *extra))
    return _Figure(_names(clip, layout), skeleton.children, numbers, ends, words, values)


def _column(word: str, places: NDArray, angles: dict[int, NDArray]) -> NDArray:
    axis, turns = channel_kind(word)
    return angles[axis] if turns else places[:, axis]


def _make_unmistakable(
    words: list[list[str]], places: list[NDArray], offsets: NDArray, added: NDArray, precision: int
) -> None:
    """Change OFFSETs and channels of joints that a reader would take wrongly: replacing for added, or the reverse.

    This leaves alone what comes unchanged from a file. A joint that moves far from its OFFSET gets the middle of its
    places for one, and if that does not help, 0, which can be neither replaced nor added wrongly.
    """
    for attempt in range(2):
        channels = {}
        for joint, place in enumerate(places):
            axes = [axis for axis, turns in map(channel_kind, words[joint]) if not turns]
            if axes:
                written = place - offsets[joint] if added[joint] else place
                channels[joint] = [(axis, written[:, axis]) for axis in axes]
        wrong = np.flatnonzero(judge_positions(channels, offsets) != (added & offsets.any(axis=1)))
        for joint in wrong.tolist():
            added[joint] = False
            offsets[joint] = places[joint].mean(axis=0) if joint and attempt == 0 else 0.0
            _complete_positions(words[joint], places[joint], offsets[joint], precision)
        if not len(wrong):
            return


def _complete_positions(words: list[str], places: NDArray, still: NDArray, precision: int) -> None:
    """Add the position channels that a joint needs because it is not where it stays without them."""
    have = {axis for axis, turns in map(channel_kind, words) if not turns}
    for axis in range(3):
        if axis not in have and len(places) and np.abs(places[:, axis] - still[axis]).max() > 0.5 * 10.0**-precision:
            words.append(POSITIONS[axis])


def _angles(motion: Motion, words: list[list[str]]) -> list[dict[int, NDArray]]:
    """Per joint: axis → angles (F,), degrees. Joints get the rotation channels that their motion needs."""
    from footplant.kernels import euler

    count = len(words)
    orders, counts = np.empty((count, 3), np.int64), np.empty(count, np.int64)
    for joint in range(count):
        axes = [axis for axis, turns in map(channel_kind, words[joint]) if turns]
        if len(set(axes)) != len(axes):
            words[joint] = [word for word in words[joint] if not channel_kind(word)[1]] + list(ROTATIONS)
            axes = [2, 0, 1]
        counts[joint] = len(axes)
        orders[joint] = axes + [axis for axis in (2, 0, 1) if axis not in axes]
    out = np.empty((len(motion), count, 3))
    lost = np.zeros(count)
    rotations = np.ascontiguousarray(motion.rotations)
    euler.quaternions_to_euler(rotations, orders, counts, out, lost)
    short = np.flatnonzero((counts < 3) & (lost > UNTURNED))
    if len(short):
        for joint in short:
            words[joint] += [ROTATIONS[(2, 0, 1).index(axis)] for axis in orders[joint, counts[joint] :]]
            counts[joint] = 3
        euler.quaternions_to_euler(rotations, orders, counts, out, lost)
    return [{int(axis): out[:, joint, k] for k, axis in enumerate(orders[joint])} for joint in range(count)]


def _rest_angles(rest: NDArray, words: list[str]) -> tuple[float, ...]:
    """The rest pose's turns about x, y and z in degrees, for the order in which the joint's channels multiply."""
    from footplant.kernels import euler

    axes = [axis for axis, turns in map(channel_kind, words) if turns]
    order = (axes + [axis for axis in (2, 1, 0) if axis not in axes])[:3]
    out = np.empty((1, 1, 3))
    euler.quaternions_to_euler(rest.reshape(1, 1, 4), np.array([order]), np.full(1, 3), out, np.zeros(1))
    return tuple(float(out[0, 0, order.index(axis)]) for axis in range(3))


def _names(clip: Clip, layout: BvhLayout | None) -> tuple[bytes, ...]:
    names = clip.motion.skeleton.names
    raw = layout.raw_names if layout else (b"",) * len(names)
    return tuple(
        written or (_UNWRITABLE.sub("_", name).strip() or "joint").encode(errors="replace")
        for written, name in zip(raw, names)
    )


def _write_joints(figure: _Figure, lines: list[bytes], columns: list[NDArray], precision: int) -> None:
    """The blocks of one ROOT, from a stack of joints to open (≥ 0) and of closing braces (−1).

    Joints come out depth first, whatever their order in the skeleton, and their columns with them.
    """
    digits = max(precision, 9)

    def number(value: float) -> bytes:
        text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
        return b"0" if text in ("-0", "") else text.encode()

    stack, depth = [0], 0
    while stack:
        joint = stack.pop()
        if joint < 0:
            depth -= 1
            lines.append(b"\t" * min(depth, MAX_INDENT) + b"}")
            continue
        tabs = b"\t" * min(depth, MAX_INDENT)
        inner = b"\t" * min(depth + 1, MAX_INDENT)
        lines += [tabs + (b"JOINT " if depth else b"ROOT ") + figure.names[joint], tabs + b"{"]
        lines.append(inner + b"OFFSET " + b" ".join(map(number, figure.offsets[joint])))
        words = figure.channels[joint]
        columns += figure.values[joint]
        lines.append(inner + b" ".join([b"CHANNELS", b"%d" % len(words), *(word.encode() for word in words)]))
        for end in figure.ends[joint]:
            lines += [
                inner + b"End Site",
                inner + b"{",
                inner + b"\tOFFSET " + b" ".join(map(number, end)),
                inner + b"}",
            ]
        depth += 1
        stack += [-1, *reversed(figure.children[joint])]


def _write_rows(file, columns: list[NDArray], frames: int, precision: int) -> None:
    from footplant.kernels import text

    block = np.empty((min(BLOCK_ROWS, frames), len(columns)))
    out = np.empty(block.size * (20 + precision) + len(block), np.uint8)
    for at in range(0, frames, BLOCK_ROWS):
        part = block[: frames - at]
        for number, column in enumerate(columns):
            part[:, number] = column[at : at + len(part)]
        file.write(out[: text.format_numbers(part, precision, text.POWERS, out)])
