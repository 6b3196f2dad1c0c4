"""Convert the numbers of an AMC file to a motion: bone axes, missing frames, stretching bones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.asf.frames import Frames
from footplant.io.asf.skeleton import Asf, Bone
from footplant.motion import Motion

DEFAULT_FPS = 120.0
"""CMU's frame rate, Hz; AMC files state none."""
MAX_GROWTH = 4
"""Limit on the rotations' size as a multiple of the file's: an animated bone takes 32 bytes for 6 or more there."""
MAX_FILLED = 1.0
"""Maximum frames interpolated in gaps, as a fraction of the frames in the file; otherwise gaps are closed."""


def make_motion(
    asf: Asf, frames: Frames, size: int, fps: float | None, path: str | Path | None
) -> tuple[Motion, list[str]]:
    """Return the motion in file units, and notes on oddities; size: of the file, bytes."""
    notes = _notes(asf, frames)
    values = _fill_bones(asf.bones, frames.values, notes)
    if not len(values):
        raise FormatError("expected frames, got none", path=path)
    if len(values) * len(asf.bones) * 32 > MAX_GROWTH * size + (1 << 24):
        raise FormatError(
            f"expected bones that mostly move, got {len(values)} frames of {len(asf.bones)} bones in {size} bytes",
            path=path,
        )
    degrees = asf.degrees if frames.degrees is None else frames.degrees
    rotations, shifts = _pose(asf, values, degrees)
    root = asf.position + shifts.get(0, np.zeros((len(values), 3)))
    skeleton = asf.skeleton()
    offsets = _moving_offsets(asf, values, skeleton.offsets, shifts, notes)
    rotations.setflags(write=False)
    motion = Motion(skeleton, root, rotations, DEFAULT_FPS if fps is None else float(fps), offsets)
    return _fill_frames(motion, frames.numbers, notes), notes


def _notes(asf: Asf, frames: Frames) -> list[str]:
    """Return notes on a truncated file, unknown bones and mixed angle units."""
    notes = []
    if frames.cut:
        notes.append("the file ends inside its last frame, which was dropped")
    if frames.unknown:
        few = len(frames.unknown) == 1
        bones = "1 bone of the motion is" if few else f"{len(frames.unknown)} bones of the motion are"
        notes.append(f"{bones} not in the skeleton and ignored (first {frames.unknown[0]!r})")
    if frames.degrees is not None and frames.degrees != asf.degrees:
        words = {True: "degrees", False: "radians"}
        notes.append(f"angles are in {words[frames.degrees]} in the motion, in {words[asf.degrees]} in the skeleton")
    return notes


def _fill_bones(bones: list[Bone], values: NDArray, notes: list[str]) -> NDArray:
    """Return values with bones that frames omit filled in: interpolated linearly between frames, or 0."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    values = np.array(values)
    frames = np.arange(len(values))
    for column in np.flatnonzero(missing.any(axis=0)):
        there = ~missing[:, column]
        known = values[there, column]
        values[:, column] = np.interp(frames, frames[there], known) if len(known) else 0.0
    never, at = [], 0
    for bone in bones:
        if bone.dof and missing[:, at].all():
            never.append(bone.name)
        at += len(bone.dof)
    gaps = int(missing.any(axis=1).sum()) if len(never) == 0 else 0
    if never:
        some = "1 bone" if len(never) == 1 else f"{len(never)} bones"
        notes.append(f"{some} of the skeleton has no data in the file and stays at rest (first {never[0]!r})")
    if gaps:
        some = "1 frame omits" if gaps == 1 else f"{gaps} frames omit"
        notes.append(f"{some} some bones; these were interpolated")
    return values


def _pose(asf: Asf, values: NDArray, degrees: bool) -> tuple[NDArray, dict[int, NDArray]]:
    """Return local rotations (F, J, 4), and translations (F, 3) in the parent's frame of joints that have them."""
    from footplant.kernels import euler

    spans, columns, axes = [0], [], []
    moves: dict[int, list[tuple[int, int]]] = {}
    at = 0
    for joint, bone in enumerate(asf.bones):
        place = {channel: at + number for number, channel in enumerate(bone.dof)}
        turns = [channel for channel in bone.dof if channel.startswith("r")]
        if joint == 0:
            # the root states its rotation order separately from the order of its numbers
            turns.sort(key=lambda channel: asf.root.order.index(channel[1]))
        for channel in reversed(turns):
            columns.append(place[channel])
            axes.append("xyz".index(channel[1]))
        spans.append(len(columns))
        found = [(place[channel], "xyz".index(channel[1])) for channel in bone.dof if channel.startswith("t")]
        if found:
            moves[joint] = found
        at += len(bone.dof)
    out = np.empty((len(values), len(asf.bones), 4))
    angles = values if degrees else np.degrees(values)
    tables = [np.array(table, np.int64) for table in (spans, columns, axes)]
    euler.euler_to_quaternions(angles, tables[0], tables[1], tables[2], out)
    own = asf.axes()
    for joint in range(len(asf.bones)):
        if joint == 0:
            out[:, 0] = rotation.multiply(own[0], out[:, 0])
        elif spans[joint] < spans[joint + 1] and abs(own[joint, 0]) < 1.0:
            out[:, joint] = rotation.multiply(
                rotation.multiply(own[joint], out[:, joint]), rotation.inverse(own[joint])
            )
    shifts = {}
    for joint, found in moves.items():
        shift = np.zeros((len(values), 3))
        for column, axis in found:
            shift[:, axis] = values[:, column]
        shifts[joint] = shift if joint == 0 else rotation.rotate(own[joint], shift)
    return out, shifts


def _moving_offsets(
    asf: Asf, values: NDArray, offsets: NDArray, shifts: dict[int, NDArray], notes: list[str]
) -> NDArray | None:
    """Return bone offsets (F, J, 3) if they vary, because a bone slides (tx, ty, tz) or stretches (l), else None."""
    stretch: dict[int, NDArray] = {}
    at = 0
    for joint, bone in enumerate(asf.bones):
        if "l" in bone.dof:
            length = values[:, at + bone.dof.index("l")]
            # the format does not define whether l is the length or an extension; the values decide
            is_length = bone.length > 0 and np.median(np.abs(length - bone.length)) < np.median(np.abs(length))
            stretch[joint] = length - bone.length if is_length else length
        at += len(bone.dof)
    sliding = [joint for joint in shifts if joint]
    if not sliding and not any(np.any(extra) for extra in stretch.values()):
        return None
    out = np.array(np.broadcast_to(offsets, (len(values), *offsets.shape)))
    for joint in sliding:
        out[:, joint] += shifts[joint]
    for joint, parent in enumerate(asf.parents):
        if parent in stretch:
            out[:, joint] += stretch[parent][:, None] * np.array(asf.bones[parent].direction)
    notes.append("some bones slide or change length; this was kept as moving bone offsets")
    return out


def _fill_frames(motion: Motion, numbers: NDArray, notes: list[str]) -> Motion:
    """Return the motion with frames that the file omits interpolated."""
    steps = np.diff(numbers)
    if not len(steps) or (steps == 1).all():
        return motion
    if (steps <= 0).any():
        notes.append("the frame numbers do not increase; frames were read in file order")
        return motion
    every = int(steps.min())
    if (steps == every).all():
        return motion
    count = int(numbers[-1] - numbers[0]) // every + 1
    if count > (1.0 + MAX_FILLED) * len(numbers) or (steps % every).any():
        notes.append("the frame numbers have large gaps, which were closed")
        return motion
    place = np.interp(numbers[0] + every * np.arange(count), numbers, np.arange(len(numbers)))
    notes.append(f"{count - len(numbers)} frames are missing in the file; they were interpolated")
    return motion.at(place / motion.fps)
