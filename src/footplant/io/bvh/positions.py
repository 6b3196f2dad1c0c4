"""Position channels of a BVH file: whether they replace OFFSET or are added to it, and where they put the joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.io.bvh.rows import Plan

SAME_BONE = 1e-3
"""Relative difference up to which position channels that never change are the OFFSET with other digits."""
ROOT_AT_ZERO = 0.07
"""Median height of the root, relative to that of its OFFSET, below which its channels cannot be the height itself."""
CLEAR = 0.5
"""Ratio of mean distances below which it is clear whether position channels replace or add."""
ROOT_AT_ZERO = 0.07
"""Median height of the root, relative to that of its OFFSET, below which its channels cannot be the height itself."""
CLEAR = 0.5
"""Ratio of mean distances below which it is clear whether position channels replace or add."""
CLEAR = 0.5
"""Ratio of mean distances below which it is clear whether position channels replace or add."""


def places_of(plan: Plan, offsets: NDArray, added: NDArray) -> dict[int, NDArray]:
    """Joint → its place in its parent's frame over time (F, 3), for joints with position channels.

    An axis without a channel stays at OFFSET.
    """
    places: dict[int, NDArray] = {}
    for column, (joint, axis, _) in enumerate(plan.places):
        if joint not in places:
            places[joint] = np.broadcast_to(offsets[joint], (len(plan.values), 3)).copy()
        places[joint][:, axis] = plan.values[:, column] + (offsets[joint, axis] if added[joint] else 0.0)
    return places


def root_is_added(values: NDArray, offset: float) -> bool:
    """Whether the root's values on an axis stay so near to zero, seen from OFFSET, that they must be added to it."""
    return bool(np.median(np.abs(values)) < ROOT_AT_ZERO * abs(offset))


def find_added(plan: Plan, offsets: NDArray, names: tuple[str, ...], positions: str, notes: list[str]) -> NDArray:
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
            near[0] = float(root_is_added(values, offsets[0, axis]))
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


def settle_offsets(
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
