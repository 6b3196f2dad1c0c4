"""Acceleration limit of a retargeted motion, relative to the source's highest acceleration in body heights.

Footplants, touches and the ground make nearly straight limbs accelerate sharply for a few frames, and a character with
longer arms amplifies every peak of the source. Around each peak, and nowhere else, the motion is solved again as one
spacetime problem: footplants hold, soles stay above the ground, and accelerations are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.constraints import Above, AccelerationLimit, Constraint, Footplant, Orientation, Position
from footplant.feet.soles import LEFT_ALONE
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Problem, worst_error
from footplant.quality.measure import STATIONARY, shared_joints
from footplant.quality.smoothness import accelerations, continuous_parts
from footplant.skeleton import Character, MovingPoint, Point
from footplant.solve.methods.spacetime import Spacetime

TOO_FAST = 1.42
"""A frame is a peak above this many times the source's highest acceleration."""
WANTED = 1.35
"""Target of a peak, in times the source's highest acceleration."""
WATCHED = 0.4
"""Fraction of the target above which a joint is bounded around a peak: lowering a peak raises its neighbours."""
SPREAD = (0.1, 0.2, 0.35)
"""Seconds on either side of a peak that may change, tried in this order."""
STEPS = 3
"""Maximum solves with each spread."""
SMOOTH = 0.02
"""Seconds; smoothness of the displacement, at least two frames."""
PATIENCE = 10
"""Maximum failed attempts. Uniformly fast motion is not a peak and is left unchanged."""
LEAST_SPREAD = 9
"""Frames; smallest spread: a displacement needs as many knots to start and end smoothly."""
EAGER, LESS_EAGER = 300.0, 10.0
"""Cost of twice the target (or present) acceleration, relative to one radian of joint rotation; the lower one is tried
if footplants are not met with the higher."""
TINY = 1e-300
"""Smallest divisor, so that nothing is divided by 0."""
MOST_WEIGHT = 1e6
"""Per m²; largest weight, for peaks of tenths of a millimetre in slow clips at high frame rates."""
AROUND = 4
"""Frames next to a span that affect its solve."""
KEPT = 0.0005
"""Metres; error of kept constraints above which a solve is rejected. The solve aims at half of it."""


@dataclass(frozen=True, eq=False)
class SourcePeak:
    """Acceleration limit of a target: the source's highest acceleration."""

    joints: list[int]
    """The target's joints that have a counterpart in the source."""
    parts: list[tuple[int, int]]
    """(first, end) of the frames between cuts of the source."""
    most: float
    """m/s²; the source's highest acceleration, scaled to the target's height."""

    @classmethod
    def of(cls, clip: Clip, target: Character) -> SourcePeak | None:
        """Return the limit of a clip for a target; None if the clip is static or they share no joints."""
        ours, theirs = shared_joints(target, clip.character)
        if ours is None or theirs is None or not clip.character.height > 0.0:
            return None
        kinematics = Kinematics(clip.motion)
        parts = continuous_parts(kinematics, clip.character.height)
        peak = float(accelerations(kinematics, theirs, parts).max(initial=0.0)) / clip.character.height
        return cls(ours, parts, peak * target.height) if peak > STATIONARY else None

    def peaks(self, motion: Motion, most: float) -> NDArray:
        """Return the frames at which a joint accelerates by more than `most`, m/s²."""
        return np.flatnonzero((accelerations(Kinematics(motion), self.joints, self.parts) > most).any(axis=1))


def limit_acceleration(
    motion: Motion, character: Character, constraints: Sequence[Constraint], pace: SourcePeak
) -> Motion:
    """Return the motion with its acceleration peaks lowered to the limit `pace`, where the constraints allow it."""
    in_vain = 0
    stubborn: dict[range, Motion] = {}
    for spread in SPREAD:
        # a peak of many times the limit takes more than one solve
        for _ in range(STEPS):
            peaks = pace.peaks(motion, TOO_FAST * pace.most)
            half, helped = max(round(spread * motion.fps), LEAST_SPREAD), False
            for first, last in stretches(peaks, half):
                begin, end = next((a, b) for a, b in pace.parts if a <= first < b)
                span = range(max(first - half, begin), min(last + half + 1, end))
                if span in stubborn and _alike(stubborn[span], motion, span):
                    continue
                found = limited_span(motion, character, constraints, pace, span)
                if found is motion:
                    in_vain, stubborn[span] = in_vain + 1, motion
                if in_vain > PATIENCE:
                    return found
                motion, helped = found, helped or found is not motion
            if not helped:
                break
    return motion


def _alike(first: Motion, second: Motion, span: range) -> bool:
    """Return whether two motions are equal over a span and the frames around it that affect its solve."""
    around = slice(max(span.start - AROUND, 0), span.stop + AROUND)
    return bool(
        np.array_equal(first.root[around], second.root[around])
        and np.array_equal(first.rotations[around], second.rotations[around])
    )


def stretches(frames: NDArray, half: int) -> list[tuple[int, int]]:
    """Return (first, last) of each group of frames with gaps of at most `half`."""
    if not len(frames):
        return []
    cuts = np.flatnonzero(np.diff(frames) > half)
    return list(zip(frames[np.append(0, cuts + 1)].tolist(), frames[np.append(cuts, len(frames) - 1)].tolist()))


def limited_span(
    motion: Motion, character: Character, constraints: Sequence[Constraint], pace: SourcePeak, span: range
) -> Motion:
    """Return the motion with a span solved again, or the motion itself if that does not lower its peak."""
    frames = np.arange(span.start, span.stop)
    part = motion[frames]
    kinematics = Kinematics(part, frames)
    kept = [_kept(constraint, kinematics) for constraint in constraints if constraint.hard]
    if any(found is NotImplemented for found in kept):
        return motion
    before = accelerations(Kinematics(part), pace.joints, [(0, len(part))])
    most = WANTED * pace.most
    # at the ends of the clip the displacement need not be zero
    window = range(0 if span.start == 0 else 1, len(part) if span.stop == len(motion) else len(part) - 1)
    smoothness = max(SMOOTH, 2.0 / motion.fps)
    method = Spacetime(spacing=0.25, least=1.0, smoothness=smoothness, exact=False, window=window)
    around = slice(max(span.start - 2, 0), span.stop + 2)
    highest = float(accelerations(Kinematics(motion), pace.joints, pace.parts)[around].max(initial=0.0))
    fastest = before.max(initial=most)
    for own in parts_that_may_move(character, pace, before):
        held = [c for c in kept if c is not None and (own is None or c.joints[0] in own)]
        held = held if own is None else [replace(c, chain=own) for c in held]
        watched = [
            joint
            for joint, peak in zip(pace.joints, before.max(axis=0, initial=0.0))
            if peak > WATCHED * most and (own is None or joint in own)
        ]
        wishes = ((most, EAGER), (fastest, EAGER), (fastest, LESS_EAGER))
        # a motion without any acceleration is held with the largest weight
        weights = [min(eager / max((beside / motion.fps**2) ** 2, TINY), MOST_WEIGHT) for beside, eager in wishes]
        for weight in dict.fromkeys(weights):
            limits = [
                AccelerationLimit(
                    point=Point(joint), most=most, frames=range(1, len(part) - 1), hard=False, weight=weight, chain=own
                )
                for joint in watched
            ]
            solved = method.solve(Problem(part, character, (*held, *limits), tolerance=0.5 * KEPT)).motion
            if worst_error(Kinematics(solved), held).max(initial=0.0) > KEPT:
                continue
            root, rotations = np.array(motion.root), np.array(motion.rotations)
            root[frames], rotations[frames] = solved.root, solved.rotations
            found = replace(motion, root=root, rotations=rotations)
            now = accelerations(Kinematics(found), pace.joints, pace.parts)[around].max(initial=0.0)
            if now < highest:
                return found
    return motion


def parts_that_may_move(character: Character, pace: SourcePeak, found: NDArray) -> list[tuple[int, ...] | None]:
    """Return sets of joints that may move to lower a peak, in the order of trying; None: all joints.

    First the hand, the arm, or the arm with its shoulder, if all joints above the limit are in it; then the whole body;
    then the trunk with its descendants, for peaks above it that footplants do not let the whole body lower. found:
    (F, n) accelerations of the limited joints, m/s².
    """
    fast = {joint for joint, peak in zip(pace.joints, found.max(axis=0, initial=0.0)) if peak > WANTED * pace.most}
    roles, skeleton = character.require_roles(), character.skeleton

    def below(role: str) -> tuple[int, ...] | None:
        """Return the joint of a role and its descendants, if all joints above the limit are below it."""
        first = roles.get(role)
        joints = () if first is None else tuple(skeleton.descendants(first))
        return joints if fast <= set(joints) - {first} else None

    arms = [below(f"{side}_{part}") for part in ("hand", "upper_arm", "clavicle") for side in ("left", "right")]
    trunk = below("spine")
    return [*[arm for arm in arms if arm is not None][:1], None, *([] if trunk is None else [trunk])]


def _kept(constraint: Constraint, kinematics: Kinematics) -> Constraint | None:
    """Return a constraint that keeps the present state of what `constraint` holds, with frames relative to the part.

    None if it is fully active at no frame of the part, `NotImplemented` for kinds that cannot be kept.
    """
    rows, active = constraint.active_rows(kinematics.frames, kinematics.motion.fps)
    rows = rows[active >= 1.0]
    if not len(rows):
        return None
    part, frames, name = kinematics[rows], tuple(rows.tolist()), constraint.title
    if isinstance(constraint, Orientation):
        return Orientation(joint=constraint.joint, target=part.rotations[:, constraint.joint], frames=frames, name=name)
    if isinstance(constraint, Above):
        places = part.point(constraint.point)
        height = places[:, 1] - constraint.ground.height(places[:, ::2])
        least = np.minimum(height, height - constraint.slack(places, part.frames) - LEFT_ALONE)
        return Above(point=constraint.point, ground=constraint.ground, clearance=least, frames=frames, name=name)
    if isinstance(constraint, Position | Footplant) and not isinstance(constraint.point, MovingPoint):
        return Position(point=constraint.point, target=part.point(constraint.point), frames=frames, name=name)
    return NotImplemented
