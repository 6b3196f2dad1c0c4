"""Posture against the source: directions of limbs, bends of knees and elbows, head, fingers, peaks, joint limits."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.limits import limit_excess
from footplant.motion import Motion
from footplant.order import quantile
from footplant.quality.hands import HANDS_MEET, NEAR_BODY, palm_distances
from footplant.quality.pair import (
    BODY,
    COLUMNS,
    FINGERS,
    JOINTS,
    SIDES,
    MotionPair,
    turn_angles,
)
from footplant.quality.stances import standing_frames
from footplant.skeleton import Character

LIMBS = {
    "upper_arm": ("upper_arm", "lower_arm"),
    "forearm": ("lower_arm", "hand"),
    "thigh": ("upper_leg", "lower_leg"),
    "shin": ("lower_leg", "foot"),
}
"""Limb segment → the roles at its ends; `_posture` has them in this order."""
HINGES = {"elbow": ("upper_arm", "lower_arm", "hand"), "knee": ("upper_leg", "lower_leg", "foot")}
"""Hinge → the roles of its chain; `_posture` has them in this order."""
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
    """Joint of the largest: its role in words, or its name."""
    frame: int | None
    """Frame of the largest, of the result."""


def peak_ratios(pair: MotionPair) -> tuple[float, float, float]:
    """Return peak acceleration, the worst joint's 99.9th percentile of acceleration, and mean jerk, over the source's.

    By differences of neighbouring frames of the joints that both have.
    """
    from footplant.quality import _posture as kernel

    columns = np.array([COLUMNS[role] for role in JOINTS if pair.both(role)])
    lengths, jerks = np.empty((2, pair.frames - 2, len(columns))), []
    for number, body in enumerate((pair.source, pair.result)):
        jerks.append(kernel.differences(body.places, columns, lengths[number]) + 0.1 * MOTIONLESS)
    theirs, ours = (_high(values) + MOTIONLESS for values in lengths)
    peaks = lengths.max(axis=(1, 2)) + MOTIONLESS
    return float(peaks[1] / peaks[0]), float((ours / theirs).max()), jerks[1] / jerks[0]


def _high(values: NDArray) -> NDArray:
    """Return the 99.9th percentile of each column of values (F, N)."""
    place = 0.999 * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    ordered = np.partition(values, (below, above), axis=0)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def free_frames(pair: MotionPair) -> dict[str, NDArray]:
    """Return "arm" and "leg" → (F, 2) bool: frames in which that limb touches nothing, as the source tells, by side.

    A leg is free where no joint of its foot is still. An arm is free where its palm is away from the other hand and
    from the body and its wrist is not still (it may hold on to something).
    """
    legs = [~standing_frames(pair, (f"{side}_foot", f"{side}_toes")) for side in SIDES]
    arms = [~standing_frames(pair, (f"{side}_hand",)) for side in SIDES]
    if pair.both("left_hand", "right_hand"):
        arms = [arm & (pair.compared.hands[:, 1, 0] > HANDS_MEET) for arm in arms]
    for number, side in enumerate(SIDES):
        distances = palm_distances(pair).get(side)
        if distances is not None:
            arms[number] = arms[number] & (distances.min(axis=1) > NEAR_BODY)
    return {"arm": np.stack(arms, axis=1), "leg": np.stack(legs, axis=1)}


def limb_angles(pair: MotionPair) -> dict[str, LimbAngles]:
    """Return how far the directions of upper arms, forearms, thighs and shins are off the source's."""
    out, free = {}, free_frames(pair)
    for number, (limb, ends) in enumerate(LIMBS.items()):
        sides = [side for side, name in enumerate(SIDES) if pair.both(*(f"{name}_{end}" for end in ends))]
        if sides:
            off = pair.compared.limbs[:, sides, number]
            loose = off[free["arm" if "arm" in limb else "leg"][:, sides]]
            median = quantile(loose, 0.5) if len(loose) >= FEWEST else None
            off = off.ravel()
            out[limb] = LimbAngles(quantile(off, 0.5), quantile(off, 0.95), median)
    return out


def hinge_bends(pair: MotionPair) -> dict[str, HingeBends]:
    """Return how knees and elbows bend beyond the source's; knees that the capture bends backwards are left out."""
    out, compared = {}, pair.compared
    for number, (hinge, parts) in enumerate(HINGES.items()):
        sides = [side for side, name in enumerate(SIDES) if pair.both(*(f"{name}_{part}" for part in parts))]
        if not sides:
            continue
        theirs, ours = np.moveaxis(compared.bends[:, sides, number], -1, 0)
        wrong = (compared.opposed[:, sides, number] < 0.0) & (theirs > BENT) & (ours > BENT)
        if hinge == "knee":
            wrong &= compared.ahead[:, sides] > 0.0
        extra = ours - theirs
        straight, flips = extra[theirs < STRAIGHT], np.flatnonzero(wrong.any(axis=1))
        out[hinge] = HingeBends(
            start=max(0.0, float(extra[:START_FRAMES].max(axis=1).mean())),
            straight=quantile(straight, 0.5) if len(straight) >= FEWEST else None,
            flips=int(wrong.sum()),
            first_flip=int(flips[0]) + pair.first if len(flips) else None,
        )
    return out


def head_turn(pair: MotionPair) -> float:
    """Return the 95th percentile of the angle between both heads, beyond one constant offset, degrees."""
    between = rotation.multiply(rotation.inverse(pair.source.rotations("head")), pair.result.rotations("head"))
    return quantile(turn_angles(rotation.multiply(rotation.inverse(rotation.mean(between)), between)), 0.95)


def finger_range(pair: MotionPair) -> float | None:
    """Return the range of the fingers over the source's, median of those that move in the source; None without any."""
    named = [(f"{side}_hand", f"{side}_{finger}") for side in SIDES for finger in FINGERS]
    named = [pair_of_roles for pair_of_roles in named if pair.both(*pair_of_roles)]
    if not named:
        return None
    from footplant.quality import _posture as kernel

    theirs, ours = np.empty((2, len(named)))
    for body, out in ((pair.source, theirs), (pair.result, ours)):
        joints = np.array([[body.roles[role] for role in roles] for roles in named])
        kernel.finger_ranges(body.turns, joints, 0, pair.frames, out)
    moving = theirs > np.radians(FINGER_MOVES)
    return float(np.median(ours[moving] / theirs[moving])) if moving.any() else None


def added_limit_breaks(motion: Motion, character: Character, copied: Motion, first: int = 0) -> LimitBreaks | None:
    """Return by how much a motion breaks joint limits beyond a copy of its source's rotations, from a frame on.

    None if the limits are unknown, or if a limb is not one chain (its joints then turn from the root's frame).
    """
    roles, frames = character.roles, min(len(motion), len(copied))
    if roles is None or character.limits is None or frames <= first or not _limbs_are_chains(character):
        return None
    ours, theirs = (limit_excess(character, each.rotations[first:frames]) for each in (motion, copied))
    added = np.degrees(ours - theirs)
    worst = int(added.argmax())
    frame, joint = divmod(worst, added.shape[1])
    largest = float(added[frame, joint])
    count = int((added > LIMIT_ADDED).sum())
    role = next((role for role, joints in roles.joints.items() if joint in joints), None)
    name = character.skeleton.names[joint] if role is None else role.replace("_", " ")
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
