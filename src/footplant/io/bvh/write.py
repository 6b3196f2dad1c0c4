"""Write BVH: in the layout of the BVH file that a clip came from, else in cm, y up, rotation order z, x, y."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.atomic import open_atomic
from footplant.clip import Clip, Conversion
from footplant.errors import FormatError
from footplant.io.bvh.header import MAX_LENGTH
from footplant.io.bvh.layout import BvhLayout, channel_kind
from footplant.io.bvh.positions import judge_positions
from footplant.motion import Motion
from footplant.skeleton import Skeleton

PRECISION = 7
"""Decimals: three angles rounded there change a joint's rotation by less than 2e-7 degrees."""
ROTATIONS = ("Zrotation", "Xrotation", "Yrotation")
POSITIONS = ("Xposition", "Yposition", "Zposition")
BLOCK_ROWS = 4096
MAX_INDENT = 40
"""Maximum tabs before a line; deeper blocks are not indented further, which limits the size of long chains."""
NEGLIGIBLE = 1e-9
"""Largest quaternion component lost by dropping an angle, and largest rest rotation that counts as none."""
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f{}\x85\u2028\u2029]+")


@dataclass(frozen=True, eq=False)
class _Root:
    """One ROOT, in file units and axes, ready for writing."""

    names: tuple[bytes, ...]
    children: tuple[tuple[int, ...], ...]
    offsets: list[tuple[float, ...]]
    """Numbers after OFFSET, per joint."""
    ends: list[list[tuple[float, ...]]]
    channels: list[list[str]]
    values: list[list[NDArray]]
    """(F,) per joint and channel: the columns of the rows."""


def save(
    path: str | Path,
    clip: Clip,
    *,
    units: str | float | None = None,
    up: str | None = None,
    precision: int = PRECISION,
) -> None:
    """Save a clip and the further characters of its file (each a ROOT).

    A clip that was read from a BVH file keeps its channels, names, frame time, units and axes. Others get six channels
    on the root and three below, in centimetres and y up; the root's OFFSET is 0 because programs disagree on whether
    the root's positions replace it or are added. BVH has no rest rotations, so the rest pose is written with the same
    joint positions and all frames parallel to the world axes; the motion is unchanged.

    units ("cm", 0.01 …) and up ("z" …) override these. precision: number of decimals, 0 to 15.
    """
    if not 0 <= precision <= 15:
        raise FormatError(f"expected a precision of 0 to 15 digits, got {precision}", path=path)
    clips = sorted([clip, *clip.others], key=lambda part: part.layout.number if _layout_of(part) else 0)
    for other in clip.others:
        if len(other.motion) != len(clip.motion) or not np.isclose(other.motion.fps, clip.motion.fps, rtol=1e-9):
            raise FormatError(
                f"expected {len(clip.motion)} frames at {clip.motion.fps:g} fps for all characters, got "
                f"{len(other.motion)} at {other.motion.fps:g} for {other.name!r}; save without others", path=path
            )  # fmt: skip
    roots = [_prepare(path, part, units, up, precision) for part in clips]
    lines = [b"HIERARCHY"]
    columns: list[NDArray] = []
    for root in roots:
        _write_joints(root, lines, columns, precision)
    for column in columns:
        if len(column) and not max(-column.min(), column.max()) <= MAX_LENGTH:
            raise FormatError(f"expected numbers below {MAX_LENGTH:g}, got {np.abs(column).max():g}", path=path)
    lines += [b"MOTION", b"Frames: %d" % len(clip.motion), b"Frame Time: " + _frame_time(clip).encode(), b""]
    with open_atomic(path, "wb") as file:
        file.write(b"\n".join(lines))
        _write_rows(file, columns, len(clip.motion), precision)


def further_losses(clip: Clip) -> list[str]:
    """Return what a BVH file of the clip would lose besides what `holds` implies: rest rotations of joint frames."""
    layout = _layout_of(clip)
    turned = rotation.angle(clip.motion.skeleton.rest, rotation.IDENTITY) > NEGLIGIBLE
    if (layout is not None and layout.rest_in_offset) or not turned.any():
        return []
    return [
        f"the rest rotations of {turned.sum()} joint frames: .bvh files store only positions of the rest pose; "
        "the motion is unchanged"
    ]


def _layout_of(clip: Clip) -> BvhLayout | None:
    """Return the clip's layout if it is a BVH layout of the same joints, else None."""
    layout = clip.layout
    return layout if isinstance(layout, BvhLayout) and layout.names == clip.motion.skeleton.names else None


def _frame_time(clip: Clip) -> str:
    """Return the frame time: as in the clip's file if it is unchanged."""
    layout = _layout_of(clip)
    seconds = 1.0 / clip.motion.fps
    if layout and layout.frame_time and abs(float(layout.frame_time) - seconds) <= 1e-12 * seconds:
        return layout.frame_time
    return repr(float(seconds))


def _conversion_for(path: str | Path, clip: Clip, units: str | float | None, up: str | None) -> Conversion:
    """Return the units and axes to write: the clip's own if it came from a BVH file, else centimetres and y up."""
    from footplant.io.conversion import UNITS, metres_per_unit, turn_of

    conversion = clip.conversion if _layout_of(clip) else Conversion("cm", UNITS["cm"], "y")
    if units is not None:
        conversion = replace(conversion, scale=metres_per_unit(units, path))
    if up is not None:
        conversion = replace(conversion, up=up, turn=tuple(turn_of(up, path).tolist()))
    return conversion


def _without_rest(motion: Motion) -> Motion:
    """Return the same motion on a skeleton with the same rest positions and no rest rotations.

    With G the world rotations of the rest pose, a joint's world rotation W becomes W·G⁻¹.
    """
    skeleton = motion.skeleton
    turned = skeleton.rest_world[1]
    if np.abs(turned[:, 1:]).max() < NEGLIGIBLE:
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


def _prepare(path: str | Path, clip: Clip, units: str | float | None, up: str | None, precision: int) -> _Root:
    """Convert a clip to the file's units, axes and channels."""
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
        _make_unambiguous(words, places, offsets, added, precision)
    angles = _angles(motion, words)
    ends = _end_sites(skeleton, complete=layout is None)
    values, numbers = [], []
    for joint in range(count):
        written = places[joint] - offsets[joint] if added[joint] else places[joint]
        values.append([_column(word, written, angles[joint]) for word in words[joint]])
        extra = _rest_angles(skeleton.rest[joint], words[joint]) if keep_rest else ()
        numbers.append((*offsets[joint].tolist(), *extra))
    return _Root(_names(clip, layout), skeleton.children, numbers, ends, words, values)


def _end_sites(skeleton: Skeleton, *, complete: bool) -> list[list[tuple[float, ...]]]:
    """Return the offsets of each joint's end sites; with `complete`, every joint without children has one."""
    ends: list[list[tuple[float, ...]]] = [[] for _ in range(len(skeleton))]
    for joint, end in zip(skeleton.end_parents.tolist(), skeleton.end_offsets.tolist()):
        ends[joint].append(tuple(end))
    if complete:
        for own, children in zip(ends, skeleton.children):
            if not own and not children:
                own.append((0.0, 0.0, 0.0))
    return ends


def _column(word: str, places: NDArray, angles: dict[int, NDArray]) -> NDArray:
    """Return the values (F,) of a channel."""
    axis, is_rotation = channel_kind(word)
    return angles[axis] if is_rotation else places[:, axis]


def _make_unambiguous(
    words: list[list[str]], places: list[NDArray], offsets: NDArray, added: NDArray, precision: int
) -> None:
    """Change OFFSETs and channels of joints whose position channels a reader would misinterpret (replace or add).

    What comes unchanged from a file is never changed. A joint that moves far from its OFFSET gets its mean position as
    OFFSET, and if that does not help, 0, for which both interpretations agree.
    """
    for attempt in range(2):
        channels = {}
        for joint, place in enumerate(places):
            axes = [axis for axis, is_rotation in map(channel_kind, words[joint]) if not is_rotation]
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
    """Add the position channels that a joint needs because it leaves its OFFSET (`still`)."""
    have = {axis for axis, is_rotation in map(channel_kind, words) if not is_rotation}
    for axis in range(3):
        if axis not in have and len(places) and np.abs(places[:, axis] - still[axis]).max() > 0.5 * 10.0**-precision:
            words.append(POSITIONS[axis])


def _angles(motion: Motion, words: list[list[str]]) -> list[dict[int, NDArray]]:
    """Return per joint: axis → angles (F,), degrees; missing rotation channels are added to `words`."""
    from footplant.kernels import euler

    count = len(words)
    orders, counts = np.empty((count, 3), np.int64), np.empty(count, np.int64)
    for joint in range(count):
        axes = [axis for axis, is_rotation in map(channel_kind, words[joint]) if is_rotation]
        if len(set(axes)) != len(axes):
            words[joint] = [word for word in words[joint] if not channel_kind(word)[1]] + list(ROTATIONS)
            axes = [2, 0, 1]
        counts[joint] = len(axes)
        orders[joint] = axes + [axis for axis in (2, 0, 1) if axis not in axes]
    out = np.empty((len(motion), count, 3))
    lost = np.zeros(count)
    rotations = np.ascontiguousarray(motion.rotations)
    euler.quaternions_to_euler(rotations, orders, counts, out, lost)
    short = np.flatnonzero((counts < 3) & (lost > NEGLIGIBLE))
    if len(short):
        for joint in short:
            words[joint] += [ROTATIONS[(2, 0, 1).index(axis)] for axis in orders[joint, counts[joint] :]]
            counts[joint] = 3
        euler.quaternions_to_euler(rotations, orders, counts, out, lost)
    return [{int(axis): out[:, joint, k] for k, axis in enumerate(orders[joint])} for joint in range(count)]


def _rest_angles(rest: NDArray, words: list[str]) -> tuple[float, ...]:
    """Return the rest rotation as angles about x, y and z, degrees, for the order of the joint's channels."""
    from footplant.kernels import euler

    axes = [axis for axis, is_rotation in map(channel_kind, words) if is_rotation]
    order = (axes + [axis for axis in (2, 1, 0) if axis not in axes])[:3]
    out = np.empty((1, 1, 3))
    euler.quaternions_to_euler(rest.reshape(1, 1, 4), np.array([order]), np.full(1, 3), out, np.zeros(1))
    return tuple(float(out[0, 0, order.index(axis)]) for axis in range(3))


def _names(clip: Clip, layout: BvhLayout | None) -> tuple[bytes, ...]:
    """Return the joint names as bytes: as in the file, else without characters that BVH cannot represent."""
    names = clip.motion.skeleton.names
    raw = layout.raw_names if layout else (b"",) * len(names)
    return tuple(
        written or (_UNWRITABLE.sub("_", name).strip() or "joint").encode(errors="replace")
        for written, name in zip(raw, names)
    )


def _write_joints(root: _Root, lines: list[bytes], columns: list[NDArray], precision: int) -> None:
    """Append the blocks of one ROOT and its columns, using a stack of joints to open (≥ 0) and closing braces (−1).

    Joints are written depth first, whatever their order in the skeleton, and their columns likewise.
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
        lines += [tabs + (b"JOINT " if depth else b"ROOT ") + root.names[joint], tabs + b"{"]
        lines.append(inner + b"OFFSET " + b" ".join(map(number, root.offsets[joint])))
        words = root.channels[joint]
        columns += root.values[joint]
        lines.append(inner + b" ".join([b"CHANNELS", b"%d" % len(words), *(word.encode() for word in words)]))
        for end in root.ends[joint]:
            lines += [
                inner + b"End Site",
                inner + b"{",
                inner + b"\tOFFSET " + b" ".join(map(number, end)),
                inner + b"}",
            ]
        depth += 1
        stack += [-1, *reversed(root.children[joint])]


def _write_rows(file, columns: list[NDArray], frames: int, precision: int) -> None:
    """Write the rows of numbers in blocks."""
    from footplant.kernels import text

    block = np.empty((min(BLOCK_ROWS, frames), len(columns)))
    out = np.empty(block.size * (20 + precision) + len(block), np.uint8)
    for at in range(0, frames, BLOCK_ROWS):
        part = block[: frames - at]
        for number, column in enumerate(columns):
            part[:, number] = column[at : at + len(part)]
        file.write(out[: text.format_numbers(part, precision, text.POWERS, out)])
