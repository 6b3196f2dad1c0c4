"""Where a motion accelerates most, and the wish that it did so less: soft bounds that a whole-clip method can honour.

Acceleration peaks are single frames: a heel strike, a knee that snaps straight, a capture error. `peak_bounds` returns
soft bounds for a solve of the whole clip. `lower_peaks` solves again around the remaining peaks, one by one, as long as
they are few and joints move little: uniformly fast motion is not a peak and is left unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import AccelerationLimit, Constraint, Footplant
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.passes.limit_acceleration import LEAST_SPREAD, SPREAD, WANTED, SourcePeak, limited_span, stretches
from footplant.quality.smoothness import accelerations
from footplant.skeleton import Character, Point

LOWER = 0.85
"""Share of the highest acceleration of any joint that is wished for."""
NEAR = 0.9
"""Share of that from where on a frame is watched: pressed down, a peak comes up beside."""
EAGER = 30.0
"""Weight of being twice as fast as wished for, beside a joint's turn by a radian."""
MOST_WEIGHT = 1e5
"""Per m²; a slow clip at many frames a second has peaks of tenths of a millimetre, which must not outweigh plants."""

ROUNDS = (4, 10)
"""How often the highest peaks are brought down at most, and where joints move by next to nothing for it."""
LOWERING = (LOWER, 0.95)
"""Share of the highest acceleration that is tried, and then where that would move joints too far."""
FEW = 3
"""Peaks up to which the further rounds are made."""
LEEWAY = (0.03, 0.01)
"""Body heights by which a joint may move for it; by the second, peaks are faults of the capture."""
RARE = 0.15
"""Share of the frames up to which those near the highest acceleration are peaks of a motion and not its pace."""
BRIEF = 0.3
"""Seconds that a peak lasts at most, bounces beside it included."""
HELPS = 0.98
"""Share of a peak that may be left of it; else it is stubborn, and to lower others would be in vain."""


def peak(motion: Motion, character: Character, frames: range) -> float:
    """The highest acceleration of any joint with a role over some frames, m/s²."""
    return float(_accelerations(motion, character, frames)[1].max(initial=0.0))


def peak_bounds(
    motion: Motion, character: Character, constraints: Sequence[Constraint], frames: range
) -> tuple[AccelerationLimit, ...]:
    """Soft bounds for joints and frames near the motion's highest acceleration; met by what plants move anyway."""
    joints, found = _accelerations(motion, character, frames)
    most = LOWER * float(found.max(initial=0.0))
    plants = [c for c in constraints if isinstance(c, Footplant)]
    if most <= 0.0 or not plants:
        return ()
    chain = sorted({joint for plant in plants for joint in character.skeleton.chain(plant.point.joint)})
    weight = min(EAGER / (most / motion.fps**2) ** 2, MOST_WEIGHT)
    limits = []
    for joint, own in zip(joints, found.T):
        watched = tuple((frames.start + 1 + np.flatnonzero(own > NEAR * most)).tolist())
        if not watched:
            continue
        limit = AccelerationLimit(
            point=Point(joint), most=most, frames=watched, hard=False, weight=weight, chain=tuple(chain),
            name=f"{character.skeleton.names[joint]} calmer",
        )  # fmt: skip
        limits.append(limit)
    return tuple(limits)


def lower_peaks(motion: Motion, character: Character, constraints: Sequence[Constraint], pace: SourcePeak) -> Motion:
    """The motion with its highest peaks brought down where they are; all that holds goes on holding."""
    places = Kinematics(motion).positions
    for number in range(ROUNDS[1]):
        leeway = LEEWAY[0 if number < ROUNDS[0] else 1] * character.height
        fast = _fastest(motion, pace)
        highest = float(fast.max(initial=0.0))
        near = np.flatnonzero(fast > NEAR * highest)
        if highest <= 0.0 or len(near) > RARE * len(fast):
            break
        half = max(round(SPREAD[0] * motion.fps), LEAST_SPREAD)
        peaks = sorted(stretches(near, half), key=lambda s: -fast[s[0] : s[1] + 1].max())
        if number >= ROUNDS[0] and len(peaks) > FEW:
            break
        for first, last in peaks:
            brief = last - first <= max(BRIEF * motion.fps, 2)
            found = _lowered(motion, character, constraints, pace, (first, last), places, leeway) if brief else None
            if found is None:
                return motion
            motion = found
    return motion


def _lowered(
    motion: Motion, character: Character, constraints: Sequence[Constraint], pace: SourcePeak, peak: tuple[int, int],
    places: NDArray, leeway: float,
) -> Motion | None:  # fmt: skip
    """The motion with one peak (its first and last frame) lower; None where that takes too much.

    places (F, J, 3): where joints were before anything was lowered; leeway: metres by which they may be off them.
    """
    first, last = peak
    begin, end = next((a, b) for a, b in pace.parts if a <= first < b)
    highest = float(_fastest(motion, pace)[first : last + 1].max())
    for share in LOWERING:
        lower = replace(pace, most=share * highest / WANTED)
        for spread in SPREAD:
            half = max(round(spread * motion.fps), LEAST_SPREAD)
            span = range(max(first - half, begin), min(last + half + 1, end))
            found = limited_span(motion, character, constraints, lower, span)
            if found is motion:
                continue
            around = slice(max(span.start - 2, 0), span.stop + 2)
            moved = Kinematics(found[span.start : span.stop]).positions - places[span.start : span.stop]
            if np.linalg.norm(moved, axis=2).max() > leeway:
                # wider, it would move others too
                break
            if _fastest(found, pace)[around].max() <= HELPS * highest:
                return found
    return None


def _fastest(motion: Motion, pace: SourcePeak) -> NDArray:
    """(F,) how fast the fastest joint accelerates, m/s²."""
    return accelerations(Kinematics(motion), pace.joints, pace.parts).max(axis=1, initial=0.0)


def _accelerations(motion: Motion, character: Character, frames: range) -> tuple[list[int], NDArray]:
    """Joints that have roles, and (F−2, n) how fast each accelerates at all but the first and last of the frames."""
    joints = sorted({chain[0] for chain in character.require_roles().joints.values() if chain})
    found = accelerations(Kinematics(motion), joints, [(frames.start, min(frames.stop, len(motion)))])
    return joints, found[frames.start + 1 : max(min(frames.stop, len(motion)) - 1, frames.start + 1)]
