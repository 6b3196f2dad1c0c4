"""BVH files (Biovision Hierarchy), read and written: a joint tree with OFFSETs, and rows of channel values in degrees.

What the format leaves open is decided from the file itself and reported in notes: whether position channels replace a
joint's OFFSET or are added to it, how many rows there are, and the frame rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Take
from footplant.errors import FormatError
from footplant.io.bvh.header import Header, Joint, read_header
from footplant.io.bvh.layout import BvhLayout, decode, unique_names
from footplant.io.bvh.positions import PositionVotes, channels_of, count_votes, find_added, place_of, split_offsets
from footplant.io.bvh.rows import Plan, read_rows
from footplant.io.bvh.write import further_losses, save
from footplant.io.character import RawCharacter
from footplant.motion import Motion
from footplant.skeleton import Skeleton

extensions = (".bvh",)
holds = frozenset({"figures", "moving bones"})


def load(path: str | Path, *, positions: Literal["auto", "replace", "add"] = "auto") -> tuple[RawCharacter, ...]:
    """Read every ROOT of a file as a character of its own, in file units and axes.

    positions: the meaning of position channels for a joint with an OFFSET: "replace" it, "add" to it, or "auto":
    decided once for all joints from the values.
    """
    if positions not in ("auto", "replace", "add"):
        raise FormatError(f"expected positions to be 'auto', 'replace' or 'add', got {positions!r}", path=path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return parse(data, path, positions=positions)


def parse(data: bytes, path: str | Path | None = None, *, positions: str = "auto") -> tuple[RawCharacter, ...]:
    """Read the bytes of a BVH file: see `load`."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise FormatError("expected text, got damaged UTF-16", path=path) from error
    header = read_header(data, path)
    plans = _plans(header)
    read_rows(data, path, header, plans)
    take = Path(path).stem if path else ""
    characters = [_raw_character(plan, header, number, positions, take) for number, plan in enumerate(plans)]
    # root names only distinguish characters: a single root is nearly always "Hips", so the file's name is better
    return tuple(characters) if len(characters) > 1 else (replace(characters[0], name=take),)


def _plans(header: Header) -> list[Plan]:
    """Return where the columns of a row go, for each ROOT."""
    starts = [number for number, joint in enumerate(header.joints) if joint.parent < 0] + [len(header.joints)]
    plans: list[Plan] = []
    for first, last in pairwise(starts):
        plans.append(Plan(header.joints, first, last, plans[-1].next_column if plans else 0))
    return plans


def position_votes(path: str | Path) -> PositionVotes:
    """Return the votes of a file's joints on the meaning of its position channels; none if it does not matter.

    A folder of clips of one exporter can decide together by the sum of its files' votes.
    """
    data = Path(path).read_bytes()
    header = read_header(data, path)
    plans = _plans(header)
    # with offsets of 0 both meanings agree, and the rows need not be read
    if not any(any(plan.joints[joint].offset) for plan in plans for joint in plan.places):
        return PositionVotes()
    read_rows(data, path, header, plans)
    votes = PositionVotes()
    for plan in plans:
        votes += count_votes(channels_of(plan), np.array([joint.offset for joint in plan.joints]))
    return votes


def _rest_pose(joints: Sequence[Joint], notes: list[str]) -> NDArray | None:
    """Return the rotations (J, 4) of the rest pose, where every OFFSET has six numbers."""
    given = [joint.rest is not None for joint in joints]
    if all(given):
        notes.append("OFFSET has six numbers; the last three were read as rotations of the rest pose")
        return np.stack([_rest_rotation(joint) for joint in joints])
    if any(given):
        notes.append("some OFFSETs have six numbers; the last three were ignored")
    return None


def _raw_character(plan: Plan, header: Header, number: int, positions: str, take: str) -> RawCharacter:
    notes = list(header.notes)
    joints = plan.joints
    raw_names = tuple(joint.raw_name for joint in joints)
    names = unique_names([decode(name) for name in raw_names], notes)
    offsets = np.array([joint.offset for joint in joints])
    rest = _rest_pose(joints, notes)
    frames = len(plan.rotations)
    root = np.broadcast_to(offsets[0], (frames, 3))
    moving: NDArray | None = None
    added = np.zeros(len(joints), bool)
    if plan.places and frames:
        added = find_added(plan, offsets, names, positions, notes)
        root = place_of(plan, 0, offsets[0], bool(added[0])) if 0 in plan.places else root
        offsets, moving = split_offsets(plan, offsets, added, names, notes)
    skeleton = Skeleton(
        names,
        np.array([max(joint.parent - plan.first, -1) for joint in joints]),
        offsets,
        rest,  # type: ignore[arg-type]
        np.array([parent for parent, joint in enumerate(joints) for _ in joint.ends], np.int64),
        np.array([end for joint in joints for end in joint.ends]).reshape(-1, 3),
    )
    layout = BvhLayout(
        names, raw_names, tuple(joint.channels for joint in joints), tuple(added.tolist()), rest is not None,
        header.frame_time, number,
    )  # fmt: skip
    character = RawCharacter(names[0], skeleton, layout=layout, notes=tuple(notes))
    if not frames:
        return character
    motion = Motion(skeleton, root, plan.rotations, header.fps, moving)
    return replace(character, takes=(Take(take or names[0], frames, header.fps),), read_take=lambda take: motion)


def _rest_rotation(joint: Joint) -> NDArray:
    """Return the rest rotation (4,) from angles about x, y, z, multiplied in the order of the rotation channels."""
    order = [axis for axis, is_rotation in joint.kinds if is_rotation]
    order += [axis for axis in (2, 1, 0) if axis not in order]
    angles = np.radians([joint.rest[axis] for axis in order])  # type: ignore[index]
    return rotation.from_euler(angles, "".join("xyz"[axis] for axis in order))


__all__ = ["BvhLayout", "extensions", "further_losses", "holds", "load", "parse", "position_votes", "save"]
