"""Acceleration peaks of a motion: soft bounds for a whole-clip solve, and local solves that lower what remains.

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
"""Target of the bounds, as a fraction of the highest acceleration of any joint."""
NEAR = 0.9
"""Fraction of the target above which a frame is bounded: lowering a peak raises its neighbours."""
EAGER = 30.0
"""Cost of twice the target acceleration, relative to one radian of joint rotation."""
MOST_WEIGHT = 1e5
"""Per m²; largest weight. Peaks of a slow clip at a high frame rate are tenths of a millimetre, and must not outweigh
footplants."""

ROUNDS = (4, 10)
"""Maximum rounds with the first `LEEWAY`, and in total, the further ones with the second."""
LOWERING = (LOWER, 0.95)
"""Targets, as fractions of the peak: the first, and the one to try if that moves joints too far."""
FEW = 3
"""Largest number of peaks for the further rounds."""
LEEWAY = (0.03, 0.01)
"""Body heights by which a joint may move: in the first rounds, and in the further ones, meant for capture errors."""
RARE = 0.15
"""Fraction of the frames; if more are near the highest acceleration, the motion is uniformly fast and has no peaks."""
BRIEF = 0.3
"""Seconds; longest peak, oscillations next to it included."""
HELPS = 0.98
"""Fraction of a peak that may remain after a solve; otherwise the solve has failed, and lowering the others would not
lower the maximum."""


def peak(motion: Motion, character: Character, frames: range) -> float:
    """Return the highest acceleration of any joint with a role over some frames, m/s²."""
    return float(_accelerations(motion, character, frames)[1].max(initial=0.0))


def peak_bounds(
    motion: Motion, character: Character, constraints: Sequence[Constraint], frames: range
) -> tuple[AccelerationLimit, ...]:
    """Return soft bounds on joints and frames near the highest acceleration, met by the footplants' chains."""
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
            name=f"{character.skeleton.names[joint]} acceleration",
        )  # fmt: skip
        limits.append(limit)
    return tuple(limits)


def lower_peaks(motion: Motion, character: Character, constraints: Sequence[Constraint], pace: SourcePeak) -> Motion:
    """Return the motion with its highest peaks lowered by local solves that keep the constraints. pace: the limit."""
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
    """Return the motion with one peak (first and last frame) lowered; None if joints would move too far.

    places (F, J, 3): joint positions before any peak was lowered; leeway: metres by which joints may be off them.
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
                # a wider span would move joints as far
                break
            if _fastest(found, pace)[around].max() <= HELPS * highest:
                return found
    return None


def _fastest(motion: Motion, pace: SourcePeak) -> NDArray:
    """Return the highest acceleration (F,) of any joint, m/s²."""
    return accelerations(Kinematics(motion), pace.joints, pace.parts).max(axis=1, initial=0.0)


def _accelerations(motion: Motion, character: Character, frames: range) -> tuple[list[int], NDArray]:
    """Return the joints with roles, and their accelerations (F−2, n) at all frames but the first and last, m/s²."""
    joints = sorted({chain[0] for chain in character.require_roles().joints.values() if chain})
    found = accelerations(Kinematics(motion), joints, [(frames.start, min(frames.stop, len(motion)))])
    return joints, found[frames.start + 1 : max(min(frames.stop, len(motion)) - 1, frames.start + 1)]
