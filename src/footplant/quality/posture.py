"""Posture against the source: directions of limbs, bends of knees and elbows, head, fingers, peaks, joint limits."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.motion import Motion
from footplant.quality.hands import HANDS_MEET, NEAR_BODY
from footplant.quality.pair import (
    BODY,
    FINGERS,
    JOINTS,
    SIDES,
    MotionPair,
    angles_between,
    mean_rotation,
    quantile,
    turn_angles,
    unit,
)
from footplant.quality.stances import standing_frames
from footplant.skeleton import Character

LIMBS = {
    "upper_arm": ("upper_arm", "lower_arm"),
    "forearm": ("lower_arm", "hand"),
    "thigh": ("upper_leg", "lower_leg"),
    "shin": ("lower_leg", "foot"),
}
"""Limb segment → the roles at its ends."""
HINGES = {"knee": ("upper_leg", "lower_leg", "foot"), "elbow": ("upper_arm", "lower_arm", "hand")}
STRAIGHT = 6.0
"""Degrees of bend below which a knee or elbow of the source is straight."""
BENT = 15.0
"""Degrees of bend from which its direction is certain."""
START_FRAMES = 8
"""Frames after the lead-in in which extra knee bend is measured: a filter that starts in a T-pose bends them."""
FEWEST = 5
"""Fewer values are not summarised."""
FINGER_MOVES = 10.0
"""Degrees by which a finger of the source turns if its range is to be compared."""
LIMIT_ADDED = 1.0
"""Degrees beyond the source's own excess from which a joint breaks its limits by the result's fault."""
MOTIONLESS = 1e-5 * BODY
"""Metres per frame²; added to both sides of ratios, so that a source that does not move has none of infinity."""


@dataclass(frozen=True)
class LimbAngles:
    """Angles between a limb segment of the result and of the source, both sides, degrees."""

    median: float | None
    """Median over all frames."""
    p95: float | None
    """95th percentile."""
    free: float | None
    """Median over the frames in which the limb touches nothing."""


@dataclass(frozen=True)
class HingeBends:
    """Knees or elbows against the source's."""

    start: float | None
    """Bend beyond the source's in the first frames, the worse side, degrees."""
    straight: float | None
    """Median bend beyond the source's where the source's is straight, degrees."""
    flips: int
    """Frames in which one is bent the other way."""
    first_flip: int | None
    """The first of them, of the source."""


@dataclass(frozen=True)
class LimitBreaks:
    """Joint limits that the result breaks farther than the source's motion does by itself."""

    count: int
    """Number of (frame, joint) pairs more than a degree beyond the source's own excess."""
    worst: float
    """Largest excess beyond the source's own, degrees."""
    joint: str | None
    """Joint of the largest."""
    frame: int | None
    """Frame of the largest, of the result."""


def peak_ratios(pair: MotionPair) -> tuple[float, float, float]:
    """Return peak acceleration, the worst joint's 99.9th percentile of acceleration, and mean jerk, over the source's.

    By differences of neighbouring frames of the joints that both have.
    """
    names = [role for role in JOINTS if pair.both(role)]
    seconds, thirds = [], []
    for places in (pair.source, pair.result):
        change = np.diff(np.stack([places[role] for role in names], axis=1), 2, axis=0)
        seconds.append(np.sqrt(np.einsum("fjk,fjk->fj", change, change)))
        thirds.append(float(np.abs(np.diff(change, axis=0)).mean()))
    tops = [np.percentile(lengths, 99.9, axis=0) + MOTIONLESS for lengths in seconds]
    theirs, ours = (float(lengths.max()) + MOTIONLESS for lengths in seconds)
    jerk = (thirds[1] + 0.1 * MOTIONLESS) / (thirds[0] + 0.1 * MOTIONLESS)
    return ours / theirs, float((tops[1] / tops[0]).max()), jerk


def free_frames(pair: MotionPair) -> dict[str, NDArray]:
    """Return "left_arm", "left_leg" … → (F,) bool: frames in which that limb touches nothing, as the source tells.

    A leg is free where no joint of its foot is still. An arm is free where its palm is away from the other hand and
    from the body and its wrist is not still (it may hold on to something).
    """
    out, apart = {}, np.ones(pair.frames, bool)
    if pair.both("left_hand", "right_hand"):
        apart = np.linalg.norm(pair.source["left_hand"] - pair.source["right_hand"], axis=1) > HANDS_MEET
    for side in SIDES:
        out[f"{side}_leg"] = ~standing_frames(pair, (f"{side}_foot", f"{side}_toes"))
        arm = apart & ~standing_frames(pair, (f"{side}_hand",))
        for distance in pair.palm_distances.get(side, {}).values():
            arm &= distance > NEAR_BODY
        out[f"{side}_arm"] = arm
    return out


def limb_angles(pair: MotionPair) -> dict[str, LimbAngles]:
    """Return how far the directions of upper arms, forearms, thighs and shins are off the source's."""
    out, free = {}, free_frames(pair)
    for limb, (top, end) in LIMBS.items():
        every, loose = [], []
        for side in SIDES:
            a, b = f"{side}_{top}", f"{side}_{end}"
            if pair.both(a, b):
                off = angles_between(pair.source[b] - pair.source[a], pair.result[b] - pair.result[a])
                every.append(off)
                loose.append(off[free[f"{side}_{'arm' if 'arm' in limb else 'leg'}"]])
        if every:
            all_frames, some = np.concatenate(every), np.concatenate(loose)
            free_median = float(np.median(some)) if len(some) >= FEWEST else None
            out[limb] = LimbAngles(float(np.median(all_frames)), quantile(all_frames, 0.95), free_median)
    return out


def hinge_bends(pair: MotionPair) -> dict[str, HingeBends]:
    """Return how knees and elbows bend beyond the source's; knees that the capture bends backwards are left out."""
    out = {}
    ahead = None
    if pair.both("left_upper_leg", "right_upper_leg", "head"):
        across = pair.source["left_upper_leg"] - pair.source["right_upper_leg"]
        ahead = np.cross(across, pair.source["head"] - pair.source["hips"])
    for hinge, parts in HINGES.items():
        starts, straight, wrong_at = [], [], []
        for side in SIDES:
            roles = [f"{side}_{part}" for part in parts]
            if not pair.both(*roles):
                continue
            (theirs, their_way), (ours, our_way) = (_bend(*(p[r] for r in roles)) for p in (pair.source, pair.result))
            starts.append((ours - theirs)[:START_FRAMES])
            is_straight = theirs < STRAIGHT
            straight.append((ours - theirs)[is_straight])
            wrong = (np.einsum("fk,fk->f", their_way, our_way) < 0.0) & (theirs > BENT) & (ours > BENT)
            if hinge == "knee" and ahead is not None:
                wrong &= np.einsum("fk,fk->f", their_way, ahead) > 0.0
            wrong_at.append(np.flatnonzero(wrong))
        if starts:
            extra, flips = np.concatenate(straight), np.concatenate(wrong_at)
            out[hinge] = HingeBends(
                start=max(0.0, float(np.max(starts, axis=0).mean())),
                straight=float(np.median(extra)) if len(extra) >= FEWEST else None,
                flips=len(flips),
                first_flip=int(flips.min()) + pair.first if len(flips) else None,
            )
    return out


def _bend(a: NDArray, b: NDArray, c: NDArray) -> tuple[NDArray, NDArray]:
    """Return the bend (F,) at b, degrees, 0 if straight, and the direction (F, 3) of b off the line from a to c."""
    axis, off = unit(c - a), b - a
    away = off - np.einsum("fk,fk->f", off, axis)[:, None] * axis
    return angles_between(off, c - b), unit(away)


def head_turn(pair: MotionPair) -> float | None:
    """Return the 95th percentile of the angle between both heads, beyond one constant offset, degrees."""
    theirs, ours = pair.source_turns.get("head"), pair.result_turns.get("head")
    if theirs is None or ours is None:
        return None
    between = rotation.multiply(rotation.inverse(theirs), ours)
    return quantile(turn_angles(rotation.multiply(rotation.inverse(mean_rotation(between)), between)), 0.95)


def finger_range(pair: MotionPair) -> float | None:
    """Return the range of the fingers over the source's, median of those that move in the source; None without any."""
    kept = []
    for side in SIDES:
        for role in (f"{side}_{finger}" for finger in FINGERS):
            both = (pair.source_turns, pair.result_turns)
            if all(each in turns for each in (role, f"{side}_hand") for turns in both):
                theirs, ours = (_range(turns[f"{side}_hand"], turns[role]) for turns in both)
                if theirs > FINGER_MOVES:
                    kept.append(ours / theirs)
    return float(np.median(kept)) if kept else None


def _range(hand: NDArray, finger: NDArray) -> float:
    """Return the largest angle of a finger in its hand from its first frame, degrees."""
    local = rotation.multiply(rotation.inverse(hand), finger)
    return float(turn_angles(rotation.multiply(rotation.inverse(local[:1]), local)).max())


def added_limit_breaks(motion: Motion, character: Character, copied: Motion, first: int = 0) -> LimitBreaks | None:
    """Return by how much a motion breaks joint limits beyond a copy of its source's rotations, from a frame on.

    None if the limits are unknown, or if a limb is not one chain (its joints then turn from the root's frame).
    """
    roles, frames = character.roles, min(len(motion), len(copied))
    if roles is None or character.limits is None or frames <= first or not _limbs_are_chains(character):
        return None
    ours, theirs = (humanoid.limit_violations(character, each.rotations[first:frames]) for each in (motion, copied))
    added = np.degrees(ours - theirs)
    worst = int(added.argmax())
    frame, joint = divmod(worst, added.shape[1])
    largest = float(added[frame, joint])
    count = int((added > LIMIT_ADDED).sum())
    name = character.skeleton.names[joint]
    return LimitBreaks(count, max(largest, 0.0), name if count else None, frame + first if count else None)


def _limbs_are_chains(character: Character) -> bool:
    parents, roles = character.skeleton.parents, character.require_roles()
    for side in SIDES:
        for parts in HINGES.values():
            chain = [roles[f"{side}_{part}"] for part in parts if f"{side}_{part}" in roles]
            for above, below in itertools.pairwise(chain):
                while below >= 0 and below != above:
                    below = int(parents[below])
                if below < 0:
                    return False
    return True
