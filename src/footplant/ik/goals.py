"""Constraints as limb goals: where wrists and ankles must be, and how turned, for the points they carry to be in place.

Heel and ball are two points of one foot: together they fix its place and all of its orientation but the roll. What must
stay out of somewhere (the toes, out of the ground) is looked at last and moves the end no more than it must.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints import Above, Area, Constraint, Orientation
from footplant.ik.limb import Limb
from footplant.kinematics import Kinematics
from footplant.skeleton import Skeleton

SHORT_LEVER = 0.02
"""Metres from what holds a foot or hand, below which turning about it is no way to move a point."""
SOFT = 4.0
"""A soft constraint of this weight is followed half of the way, one of weight 1 a fifth: methods ask repeatedly."""
MOST_TURN = 0.8
"""Radians that a foot or hand is turned at most to keep it out of somewhere."""


@dataclass(frozen=True, eq=False)
class LimbGoals:
    """For each row and limb, where its end should be."""

    places: NDArray
    """(F, L, 3) metres, world."""
    turns: NDArray
    """(F, L, 4) world rotations of the ends."""
    weights: NDArray
    """(F, L) how much of the place is asked for, 0 to 1."""
    turn_weights: NDArray
    """(F, L) how much of the orientation is asked for, 0 to 1."""
    importance: NDArray
    """(F, L) how much the trunk should care, 0 and more: what asks for it, by weight, priority and activation."""


@dataclass(eq=False)
class _Pulls:
    """All points of one limb's end that should be somewhere: at `rows`, `share` (n, P) at work."""

    rows: NDArray
    share: NDArray
    points: NDArray
    """(n, P, 3) where they are, world."""
    targets: NDArray
    """(n, P, 3) where they should be, world."""


def limb_of_joint(skeleton: Skeleton, limbs: Sequence[Limb], joint: int) -> int | None:
    """Which limb's end carries a joint (the end itself or anything below it), or None."""
    for number, limb in enumerate(limbs):
        if joint in skeleton.descendants(limb.end):
            return number
    return None


def weight_of(constraint: Constraint) -> float:
    """What a constraint weighs in the trunk: tenfold for each step of priority, soft ones a hundredth."""
    return constraint.weight * 10.0 ** float(np.clip(constraint.priority, -3, 3)) * (1.0 if constraint.hard else 0.01)


def limb_goals(kinematics: Kinematics, limbs: Sequence[Limb], constraints: Sequence[Constraint]) -> LimbGoals:
    """Goals for the ends of limbs from all constraints that act on them."""
    ends = [limb.end for limb in limbs]
    shape = (len(kinematics.frames), len(limbs))
    goals = LimbGoals(
        np.array(kinematics.positions[:, ends]),
        np.array(kinematics.rotations[:, ends]),
        *(np.zeros(shape) for _ in "123"),
    )
    for number, limb in enumerate(limbs):
        below = set(kinematics.motion.skeleton.descendants(limb.end))
        own = [constraint for constraint in constraints if _joint(constraint) in below]
        _orient(kinematics, goals, number, limb, [c for c in own if isinstance(c, Orientation)])
        pulls = _gather(kinematics, goals, number, [c for c in own if not isinstance(c, Orientation | Above | Area)])
        if pulls is not None:
            _pull(kinematics, goals, number, limb, pulls)
        bounds = [c for c in own if isinstance(c, Above | Area)]
        for _ in range(2 if bounds else 0):
            _push(kinematics, goals, number, limb, bounds, pulls)
    return goals


def _joint(constraint: Constraint) -> int:
    return constraint.joint if isinstance(constraint, Orientation) else constraint.point.joint  # type: ignore[attr-defined]


def _note(goals: LimbGoals, number: int, rows: NDArray, constraint: Constraint, activation: NDArray) -> None:
    goals.importance[rows, number] = np.maximum(goals.importance[rows, number], weight_of(constraint) * activation)


def _orient(kinematics: Kinematics, goals: LimbGoals, number: int, limb: Limb, asked: Sequence[Orientation]) -> None:
    """Orientations of the end, or of something below it that keeps its own turn."""
    for constraint in asked:
        activation = constraint.activation(kinematics.frames, kinematics.motion.fps)
        rows = np.flatnonzero(activation > 0)
        part = kinematics[rows]
        stood = part.rotations[:, limb.end]
        below = rotation.multiply(rotation.inverse(stood), part.rotations[:, constraint.joint])
        wanted = rotation.multiply(constraint.turns(part), rotation.inverse(below))
        way = rotation.log(rotation.multiply(wanted, rotation.inverse(stood)))
        goals.turns[rows, number] = rotation.multiply(rotation.exp(activation[rows, None] * way), stood)
        goals.turn_weights[rows, number] = 1.0


def _gather(kinematics: Kinematics, goals: LimbGoals, number: int, asked: Sequence[Constraint]) -> _Pulls | None:
    """Points that should be at places, all constraints on one limb's end side by side."""
    if not asked:
        return None
    shape = (len(kinematics.frames), len(asked))
    share, points, targets = np.zeros(shape), np.zeros((*shape, 3)), np.zeros((*shape, 3))
    for column, constraint in enumerate(asked):
        activation = constraint.activation(kinematics.frames, kinematics.motion.fps)
        rows = np.flatnonzero(activation > 0)
        part = kinematics[rows]
        share[rows, column] = activation[rows] * (
            1.0 if constraint.hard else constraint.weight / (constraint.weight + SOFT)
        )
        points[rows, column] = part.point(constraint.point)  # type: ignore[attr-defined]
        targets[rows, column] = points[rows, column] - constraint.residual(part)
        _note(goals, number, rows, constraint, activation[rows])
    # where points of one end cannot all be met, greater priorities have their way; alone, any priority is met
    rank = np.array([constraint.priority for constraint in asked], float)
    top = np.where(share > 0, rank, -np.inf).max(axis=1, keepdims=True)
    share *= 10.0 ** np.maximum(rank - np.where(np.isfinite(top), top, rank.max()), -3.0)
    rows = np.flatnonzero(share.any(axis=1))
    return _Pulls(rows, share[rows], points[rows], targets[rows])


def _pull(kinematics: Kinematics, goals: LimbGoals, number: int, limb: Limb, pulls: _Pulls) -> None:
    """Put the points of an end on their targets.

    One point moves the end without turning it. Two or more also turn it, by the least rotation that lines them up with
    their targets, by as much as the second of them is at work: a heel that lifts lets the foot go smoothly.
    """
    rows, share = pulls.rows, pulls.share
    stood = kinematics.rotations[rows, limb.end]
    free = goals.turn_weights[rows, number] <= 0
    turn = rotation.multiply(_least_turns(pulls.points, pulls.targets, share), stood)
    turn = np.where(free[:, None], turn, goals.turns[rows, number])
    arms = pulls.points - kinematics.positions[rows, limb.end][:, None]
    arms = rotation.rotate(rotation.multiply(turn, rotation.inverse(stood))[:, None], arms)
    goals.places[rows, number] = ((pulls.targets - arms) * _say(share)).sum(axis=1)
    goals.weights[rows, number] = share.max(axis=1)
    # also an end that is held by one point keeps its orientation: the point's place was reckoned with it
    goals.turns[rows, number] = turn
    goals.turn_weights[rows, number] = np.where(free, goals.weights[rows, number], 1.0)


def _push(
    kinematics: Kinematics,
    goals: LimbGoals,
    number: int,
    limb: Limb,
    bounds: Sequence[Above | Area],
    pulls: _Pulls | None,
) -> None:
    """Keep points where they may be: a free end is shifted, a held one turned about what holds it."""
    frames = len(kinematics.frames)
    held = np.zeros(frames)
    pivots = np.array(goals.places[:, number])
    several = np.zeros(frames, bool)
    # the end as the goals have it; where they ask for a part only, as it will stand
    share = goals.weights[:, number, None]
    ends = kinematics.positions[:, limb.end] + share * (goals.places[:, number] - kinematics.positions[:, limb.end])
    turn_share = np.where(goals.turn_weights[:, number] > 0, goals.turn_weights[:, number], 0.0)[:, None]
    stood = kinematics.rotations[:, limb.end]
    way = rotation.log(rotation.multiply(goals.turns[:, number], rotation.inverse(stood)))
    turns = rotation.multiply(rotation.exp(turn_share * way), stood)
    if pulls is not None:
        held[pulls.rows] = pulls.share.max(axis=1)
        several[pulls.rows] = (pulls.share >= 1.0).sum(axis=1) > 1
        pivots[pulls.rows] = (pulls.targets * _say(pulls.share)).sum(axis=1)
    shift, angle, axis = np.zeros((frames, 3)), np.zeros(frames), np.zeros((frames, 3))
    most = np.zeros(frames)
    for constraint in bounds:
        active = constraint.activation(kinematics.frames, kinematics.motion.fps)
        local = rotation.rotate(
            rotation.inverse(stood), kinematics.point(constraint.point) - kinematics.positions[:, limb.end]
        )
        places = ends + rotation.rotate(turns, local)
        need = np.maximum(-constraint.slack(places, kinematics.frames), 0.0) * active
        slopes = constraint.slopes(places)
        square = np.maximum(np.sum(slopes**2, axis=1), 1e-9)
        further = need / np.sqrt(square) > most
        most = np.where(further, need / np.sqrt(square), most)
        shift[further] = (slopes * (need / square)[:, None])[further]
        lever = np.cross(places - pivots, slopes / np.sqrt(square)[:, None])
        arm = np.linalg.norm(lever, axis=1)
        # damped: a point beside the pivot cannot be moved by turning about it
        turn = np.minimum(need / np.sqrt(square) * arm / (arm**2 + SHORT_LEVER**2), MOST_TURN)
        wider = turn > angle
        angle[wider], axis[wider] = turn[wider], (lever / np.maximum(arm, 1e-9)[:, None])[wider]
    rows = np.flatnonzero((most > 0) & ~several)
    if not len(rows):
        return
    about = rotation.exp((held * angle)[rows, None] * axis[rows])
    moved = pivots[rows] + rotation.rotate(about, ends[rows] - pivots[rows])
    goals.places[rows, number] = np.where(held[rows, None] > 0, moved, ends[rows]) + ((1 - held)[:, None] * shift)[rows]
    goals.turns[rows, number] = rotation.multiply(about, turns[rows])
    goals.weights[rows, number] = goals.turn_weights[rows, number] = 1.0


def _say(share: NDArray) -> NDArray:
    """(n, P, 1) who decides: nearly all to what holds most, without a jump where another takes over."""
    weights = (share / share.max(axis=1, keepdims=True))[..., None] ** 8
    return weights / weights.sum(axis=1, keepdims=True)


def _least_turns(points: NDArray, targets: NDArray, share: NDArray) -> NDArray:
    """(n, 4) the least rotations that line points (n, P, 3) up with targets, as far as a second point is at work.

    Horn's quaternion method (1987) with a faint wish not to turn, which settles the roll about a single line.
    """
    if points.shape[1] < 2:
        return rotation.identity(len(points))
    total = share.sum(axis=1)[:, None, None]
    away = points - (points * share[..., None]).sum(axis=1, keepdims=True) / total
    wanted = targets - (targets * share[..., None]).sum(axis=1, keepdims=True) / total
    spread = np.einsum("np,npi,npj->nij", share, away, wanted)
    matrix = np.zeros((len(points), 4, 4))
    trace = np.trace(spread, axis1=1, axis2=2)
    matrix[:, 0, 0] = trace + 1e-6 * np.linalg.norm(spread, axis=(1, 2)) + 1e-15
    turn = spread - spread.transpose(0, 2, 1)
    matrix[:, 0, 1:] = matrix[:, 1:, 0] = turn[:, [1, 2, 0], [2, 0, 1]]
    matrix[:, 1:, 1:] = spread + spread.transpose(0, 2, 1) - trace[:, None, None] * np.eye(3)
    best = np.linalg.eigh(matrix)[1][:, :, -1]
    second = np.sort(share, axis=1)[:, -2:-1] / np.maximum(share.max(axis=1, keepdims=True), 1e-12)
    return rotation.exp(second * rotation.log(rotation.normalize(best)))
