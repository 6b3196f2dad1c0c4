"""Position channels of a BVH file: decide whether they replace OFFSET or are added to it, and apply them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.io.bvh.rows import Plan


@dataclass(frozen=True)
class PositionSettings:
    """How position channels are interpreted. No experiment is on record for them."""

    same_bone: float = 1e-3
    """Relative. Constant position channels that differ less from OFFSET are the same bone in other digits."""
    near_zero: float = 0.07
    """Median height of the hips as a fraction of OFFSET's; a channel below it cannot be the height itself."""
    clear_ratio: float = 0.5
    """Ratio of RMS distances below which it is clear whether position channels replace or add. Larger values decide
    more joints by themselves instead of by majority."""


SETTINGS = PositionSettings()


def place_of(plan: Plan, joint: int, offset: NDArray, added: bool) -> NDArray:
    """Return positions (F, 3) of a joint in its parent's frame; an axis without a channel stays at OFFSET."""
    place = np.broadcast_to(offset, (len(plan.values), 3)).copy()
    for column, axis in plan.places[joint]:
        place[:, axis] = plan.values[:, column] + (offset[axis] if added else 0.0)
    return place


def is_near_zero(values: NDArray, offset: float) -> bool:
    """Return whether values on an axis are so close to zero, relative to OFFSET, that they must be added to it."""
    return bool(np.median(np.abs(values)) < SETTINGS.near_zero * abs(offset))


def judge_positions(channels: dict[int, list[tuple[int, NDArray]]], offsets: NDArray) -> NDArray:
    """Return per joint whether its position channels, given as (axis, values), are added to OFFSET or replace it.

    Channels that replace stay near OFFSET, channels that are added stay near zero. If neither is clear, as for hips
    that travel across the floor, the height decides, which is the largest component of OFFSET: it is about zero if it
    is to be added. If it is not, the clear joints decide by majority; without any, channels replace, as in most files.
    For the root, which always travels, only the height is used. An OFFSET of 0 gives False.
    """
    added, clear, unclear = np.zeros(len(offsets), bool), [], []
    for joint, columns in channels.items():
        if not offsets[joint].any():
            continue
        near = far = 0.0
        for axis, values in columns:
            near += float(np.mean(np.square(values - offsets[joint, axis])))
            far += float(np.mean(np.square(values)))
            if axis == np.argmax(np.abs(offsets[joint])):
                added[joint] = is_near_zero(values, offsets[joint, axis])
        if joint == 0:
            continue
        if min(near, far) < SETTINGS.clear_ratio**2 * max(near, far):
            added[joint] = far < near
        (clear if added[joint] or near < SETTINGS.clear_ratio**2 * far else unclear).append(joint)
    added[unclear] = 2 * added[clear].sum() > len(clear)
    return added


def find_added(plan: Plan, offsets: NDArray, names: tuple[str, ...], positions: str, notes: list[str]) -> NDArray:
    """Return per joint whether position channels are added to OFFSET, as requested or decided from their values."""
    matters = np.zeros(len(plan.joints), bool)
    matters[list(plan.places)] = True
    matters &= offsets.any(axis=1)
    if positions != "auto":
        return matters & (positions == "add")
    added = judge_positions(
        {joint: [(axis, plan.values[:, column]) for column, axis in columns] for joint, columns in plan.places.items()},
        offsets,
    )
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
        notes.append(f"position channels on {len(inner)} inner joints {what}, judging by their values")
    if added[0]:
        notes.append("position channels of the root are added to its OFFSET, judging by its height")
    return added


def split_offsets(
    plan: Plan, offsets: NDArray, added: NDArray, names: tuple[str, ...], notes: list[str]
) -> tuple[NDArray, NDArray | None]:
    """Return the skeleton's offsets, and per-frame offsets (F, J, 3) if joints move in their parents, else None.

    A joint that never moves has a constant offset: its channel's value if OFFSET is the same with fewer digits.
    """
    bones = offsets.copy()
    moving = []
    for joint in plan.places:
        if joint == 0:
            continue
        place = place_of(plan, joint, offsets[joint], bool(added[joint]))
        size = max(np.abs(offsets[joint]).max(), np.abs(place[0]).max())
        moves = np.abs(place - place[0]).max() > 1e-9 * size
        if moves or np.abs(place[0] - offsets[joint]).max() > SETTINGS.same_bone * size:
            moving.append(joint)
        else:
            bones[joint] = place[0]
    if not moving:
        return bones, None
    notes.append(f"{len(moving)} inner joints move in their parents' frames (first {names[moving[0]]!r})")
    out = np.broadcast_to(bones, (len(plan.values), len(bones), 3)).copy()
    for joint in moving:
        out[:, joint] = place_of(plan, joint, offsets[joint], bool(added[joint]))
    out.setflags(write=False)
    return bones, out
