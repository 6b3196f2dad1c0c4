"""Position channels of a BVH file: decide whether they replace OFFSET or are added to it, and apply them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.io.bvh.rows import Plan
from footplant.wording import counted


@dataclass(frozen=True)
class PositionSettings:
    """How position channels are interpreted. No experiment is on record for them."""

    same_bone: float = 1e-3
    """Relative. Constant position channels that differ less from OFFSET are the same bone in other digits."""
    near_zero: float = 0.07
    """Median height of the hips as a fraction of OFFSET's; a channel below it cannot be the height itself."""
    near_offset: float = 0.3
    """Median distance from OFFSET as a fraction of it, below which a travelling joint keeps its height. Doubled, hips
    that crouch for most of a clip still count; so do more coincidences."""
    smallest_offset: float = 0.05
    """OFFSETs below this fraction of the median length have no vote: they are rounding errors."""
    clear_ratio: float = 0.5
    """Ratio of RMS distances below which it is clear whether a joint's position channels replace or add."""


SETTINGS = PositionSettings()


def place_of(plan: Plan, joint: int, offset: NDArray, added: bool) -> NDArray:
    """Return positions (F, 3) of a joint in its parent's frame; an axis without a channel stays at OFFSET."""
    place = np.broadcast_to(offset, (len(plan.values), 3)).copy()
    for column, axis in plan.places[joint]:
        place[:, axis] = plan.values[:, column] + (offset[axis] if added else 0.0)
    return place


@dataclass(frozen=True)
class PositionVotes:
    """Votes of a file's joints on whether position channels are added to OFFSET (+) or replace it (−)."""

    still: tuple[int, int] = (0, 0)
    """Joints that stay in place: number of votes for "add", for "replace"."""
    height: tuple[int, int] = (0, 0)
    """Joints that travel (root, hips), by their height alone: the same."""

    def __add__(self, other: PositionVotes) -> PositionVotes:
        """Return the votes of both."""
        a, b = self, other
        return PositionVotes(
            (a.still[0] + b.still[0], a.still[1] + b.still[1]), (a.height[0] + b.height[0], a.height[1] + b.height[1])
        )

    @property
    def decision(self) -> str | None:
        """Return "add" or "replace": the majority of the joints that stay, else of those that travel; None without."""
        for add, replace in (self.still, self.height):
            if add != replace:
                return "add" if add > replace else "replace"
        return None


def count_votes(channels: dict[int, list[tuple[int, NDArray]]], offsets: NDArray) -> PositionVotes:
    """Return the votes of all joints with an OFFSET and position channels, given as joint → (axis, values).

    Channels that replace stay near OFFSET, channels that are added stay near zero. A joint that does neither travels,
    like hips across the floor; the root always does. It votes by those components of OFFSET that its channels stay
    near: one such component says "replace", for nobody keeps the height of the hips by chance, while a value near zero
    may only mean that the clip starts at the origin. So it says "add" if all others are near zero.
    """
    lengths = np.linalg.norm(offsets, axis=1)
    smallest = SETTINGS.smallest_offset * float(np.median(lengths[lengths > 0])) if lengths.any() else 0.0
    votes = PositionVotes()
    for joint, columns in channels.items():
        if lengths[joint] <= smallest or not columns or not len(columns[0][1]):
            continue
        near = sum(float(np.mean(np.square(values - offsets[joint, axis]))) for axis, values in columns)
        far = sum(float(np.mean(np.square(values))) for axis, values in columns)
        height = _height_vote(columns, offsets[joint])
        clear = min(near, far) < SETTINGS.clear_ratio**2 * max(near, far)
        if joint and clear and not (far < near and height == (0, 1)):
            votes += PositionVotes(still=(1, 0) if far < near else (0, 1))
        else:
            votes += PositionVotes(height=height)
    return votes


def _height_vote(columns: list[tuple[int, NDArray]], offset: NDArray) -> tuple[int, int]:
    """Return the vote (add, replace) of a joint that travels."""
    large = [(values, offset[axis]) for axis, values in columns if abs(offset[axis]) > 0.1 * np.abs(offset).max()]
    if any(np.median(np.abs(values - value)) < SETTINGS.near_offset * abs(value) for values, value in large):
        return 0, 1
    if any(np.median(np.abs(values)) < SETTINGS.near_zero * abs(value) for values, value in large):
        return 1, 0
    return 0, 0


def judge_positions(channels: dict[int, list[tuple[int, NDArray]]], offsets: NDArray) -> NDArray:
    """Return per joint whether its position channels are added to OFFSET: one decision for all (`count_votes`).

    Without any vote channels replace, as in most files. A joint whose OFFSET is 0 gives False.
    """
    added = np.zeros(len(offsets), bool)
    if count_votes(channels, offsets).decision == "add":
        added[list(channels)] = True
    return added & offsets.any(axis=1)


def channels_of(plan: Plan) -> dict[int, list[tuple[int, NDArray]]]:
    """Return the position channels of a character: joint → list of (axis, values (F,))."""
    return {
        joint: [(axis, plan.values[:, column]) for column, axis in columns] for joint, columns in plan.places.items()
    }


def find_added(plan: Plan, offsets: NDArray, names: tuple[str, ...], positions: str, notes: list[str]) -> NDArray:
    """Return per joint whether position channels are added to OFFSET, as requested or decided from their values."""
    matters = np.zeros(len(plan.joints), bool)
    matters[list(plan.places)] = True
    matters &= offsets.any(axis=1)
    if positions != "auto":
        return matters & (positions == "add")
    channels = channels_of(plan)
    votes = count_votes(channels, offsets)
    added = judge_positions(channels, offsets)
    inner = np.flatnonzero(matters[1:]) + 1
    what = "are added to" if added.any() else "replace"
    against = votes.still[1 if added.any() else 0]
    if len(inner):
        doubt = f"; {against} of {sum(votes.still)} joints look otherwise, --positions forces it" if against else ""
        notes.append(f"position channels on {len(inner)} inner joints {what} OFFSET, judging by their values{doubt}")
    elif added[0]:
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
    first = f" (first {names[moving[0]]!r})" if len(moving) > 1 else f" ({names[moving[0]]!r})"
    notes.append(f"position channels move {counted(len(moving), 'inner joint')} in the parent's frame{first}")
    out = np.broadcast_to(bones, (len(plan.values), len(bones), 3)).copy()
    for joint in moving:
        out[:, joint] = place_of(plan, joint, offsets[joint], bool(added[joint]))
    out.setflags(write=False)
    return bones, out
