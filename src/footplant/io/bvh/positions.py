"""Position channels of a BVH file: whether they replace OFFSET or are added to it, and where they put the joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.io.bvh.rows import Plan

SAME_BONE = 1e-3
"""Relative difference up to which position channels that never change are the OFFSET with other digits."""
AT_ZERO = 0.07
"""Median height of hips, relative to that of their OFFSET, below which a channel cannot be the height itself."""
CLEAR = 0.5
"""Ratio of mean distances below which it is clear whether position channels replace or add."""


def place_of(plan: Plan, joint: int, offset: NDArray, added: bool) -> NDArray:
    """Places (F, 3) of a joint in its parent's frame over time; an axis without a channel stays at OFFSET."""
    place = np.broadcast_to(offset, (len(plan.values), 3)).copy()
    for column, axis in plan.places[joint]:
        place[:, axis] = plan.values[:, column] + (offset[axis] if added else 0.0)
    return place


def stays_at_zero(values: NDArray, offset: float) -> bool:
    """Whether values on an axis stay so near to zero, seen from OFFSET, that they must be added to it."""
    return bool(np.median(np.abs(values)) < AT_ZERO * abs(offset))


def judge_positions(channels: dict[int, list[tuple[int, NDArray]]], offsets: NDArray) -> NDArray:
    """Per joint, whether its position channels, given as (axis, values), are added to OFFSET (True) or replace it.

    Channels that replace stay near OFFSET, channels that are added stay near zero. Where neither is clear, as for hips
    that wander over the floor, their height tells, which is the largest part of OFFSET: it is about zero where it is
    to be added. Where that is not so either the clear joints decide, and without any, channels replace: so do most
    files. Of the root, which always wanders, only the height is asked. An OFFSET of 0 does not matter: False.
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
                added[joint] = stays_at_zero(values, offsets[joint, axis])
        if joint == 0:
            continue
        if min(near, far) < CLEAR**2 * max(near, far):
            added[joint] = far < near
        (clear if added[joint] or near < CLEAR**2 * far else unclear).append(joint)
    added[unclear] = 2 * added[clear].sum() > len(clear)
    return added


def find_added(plan: Plan, offsets: NDArray, names: tuple[str, ...], positions: str, notes: list[str]) -> NDArray:
    """Per joint, whether position channels are added to OFFSET (True) or replace it, as told or as they show."""
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
        notes.append(f"position channels on {len(inner)} inner joints {what}, as their values show")
    if added[0]:
        notes.append("position channels of the root are added to its OFFSET, as its height shows")
    return added


def settle_offsets(
    plan: Plan, offsets: NDArray, added: NDArray, names: tuple[str, ...], notes: list[str]
) -> tuple[NDArray, NDArray | None]:
    """The skeleton's offsets, and per-frame offsets (F, J, 3) where joints do move in their parents.

    A joint that never moves is a plain bone; where its OFFSET is the same with fewer digits the channel's is taken.
    """
    bones = offsets.copy()
    moving = []
    for joint in plan.places:
        if joint == 0:
            continue
        place = place_of(plan, joint, offsets[joint], bool(added[joint]))
        size = max(np.abs(offsets[joint]).max(), np.abs(place[0]).max())
        if np.abs(place - place[0]).max() > 1e-9 * size or np.abs(place[0] - offsets[joint]).max() > SAME_BONE * size:
            moving.append(joint)
        else:
            bones[joint] = place[0]
    if not moving:
        return bones, None
    notes.append(f"inner joints that move in their parents: {len(moving)} (first {names[moving[0]]!r})")
    out = np.broadcast_to(bones, (len(plan.values), len(bones), 3)).copy()
    for joint in moving:
        out[:, joint] = place_of(plan, joint, offsets[joint], bool(added[joint]))
    out.setflags(write=False)
    return bones, out
