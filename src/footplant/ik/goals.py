"""Constraints as limb goals: where wrists and ankles must be, and how turned, for the points they carry to be in place.

Heel and ball are two points of one foot: together they fix its place and all of its orientation but the roll.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints import Above, Area, Constraint, Footplant, Orientation, Position
from footplant.ik.limb import Limb
from footplant.kinematics import Kinematics


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
    """(F, L) the largest weight of the constraints behind it, for the trunk."""


@dataclass(eq=False)
class _Pull:
    """One constraint on one limb's end."""

    rows: NDArray
    """Rows at which it is at work."""
    activation: NDArray
    """(n,) 0 to 1."""
    points: NDArray
    """(n, 3) where the point is, world."""
    targets: NDArray
    """(n, 3) where it should be, world."""
    weight: float


def limb_of_joint(skeleton, limbs: Sequence[Limb], joint: int) -> int | None:
    """Which limb's end carries a joint (the end itself or anything below it), or None."""
    for number, limb in enumerate(limbs):
        if joint in skeleton.descendants(limb.end):
            return number
    return None


def weight_of(constraint: Constraint) -> float:
    """What a constraint weighs in the trunk: tenfold for each step of priority, hard ones a hundredfold."""
    return constraint.weight * 10.0 ** np.clip(constraint.priority, -3, 3) * (1.0 if constraint.hard else 0.01)


def limb_goals(kinematics: Kinematics, limbs: Sequence[Limb], constraints: Sequence[Constraint]) -> LimbGoals:
    """Goals for the ends of limbs from all constraints that act on them.

    One point moves the end without turning it. Two or more also turn it, by the least rotation that lines them up with
    their targets, by as much as the second of them is at work: a heel that lifts lets the foot go smoothly.
    """
    frames, count = len(kinematics.frames), len(limbs)
    skeleton, fps = kinematics.motion.skeleton, kinematics.motion.fps
    ends = [limb.end for limb in limbs]
    places, turns = np.array(kinematics.positions[:, ends]), np.array(kinematics.rotations[:, ends])
    weights, turn_weights, importance = (np.zeros((frames, count)) for _ in range(3))
    pulls: list[list[_Pull]] = [[] for _ in limbs]
    for constraint in constraints:
        joint = constraint.joint if isinstance(constraint, Orientation) else constraint.point.joint  # type: ignore[attr-defined]
        number = limb_of_joint(skeleton, limbs, joint)
        if number is None:
            continue
        activation = constraint.activation(kinematics.frames, fps)
        rows = np.flatnonzero(activation > 0)
        if not len(rows):
            continue
        part = kinematics[rows]
        if isinstance(constraint, Orientation):
            below = rotation.multiply(rotation.inverse(part.rotations[:, limbs[number].end]), part.rotations[:, joint])
            turns[rows, number] = rotation.multiply(constraint.turns(part), rotation.inverse(below))
            turn_weights[rows, number] = np.maximum(turn_weights[rows, number], activation[rows])
        else:
            pulls[number].append(_pull(constraint, part, rows, activation[rows]))
    stood = kinematics.rotations[:, ends]
    oriented = turn_weights > 0
    goal_turns = np.where(oriented[..., None], _part_way(stood, turns, turn_weights), stood)
    for number, own in enumerate(pulls):
        if not own:
            continue
        rows, share, points, targets = _gather(own, frames)
        free = ~oriented[rows, number]
        turn = rotation.multiply(_least_turns(points, targets, share), stood[rows, number])
        turn = np.where(free[:, None], turn, goal_turns[rows, number])
        arms = points - kinematics.positions[rows, ends[number]][:, None]
        arms = rotation.rotate(rotation.multiply(turn, rotation.inverse(stood[rows, number]))[:, None], arms)
        places[rows, number] = ((targets - arms) * share[..., None]).sum(axis=1) / share.sum(axis=1, keepdims=True)
        weights[rows, number] = share.max(axis=1)
        # also an end that is held by one point keeps its orientation: the point's place was reckoned with it
        turns[rows[free], number] = turn[free]
        turn_weights[rows[free], number] = weights[rows[free], number]
        for pull in own:
            strength = pull.activation * pull.weight
            importance[pull.rows, number] = np.maximum(importance[pull.rows, number], strength)
    return LimbGoals(places, turns, weights, turn_weights, importance)


def _pull(constraint: Constraint, part: Kinematics, rows: NDArray, activation: NDArray) -> _Pull:
    points = part.point(constraint.point)  # type: ignore[attr-defined]
    if isinstance(constraint, Above | Area):
        missing = np.maximum(-constraint.residual(part), 0.0)
        # what is on the right side already is left alone
        busy = missing[:, 0] > 0
        slopes = constraint.directions(part)
        shift = missing * slopes / np.maximum(np.sum(slopes**2, axis=1, keepdims=True), 1e-9)
        return _Pull(rows[busy], activation[busy], points[busy], (points + shift)[busy], weight_of(constraint))
    if isinstance(constraint, Footplant):
        constraint = constraint.as_position()
    assert isinstance(constraint, Position)
    return _Pull(
        rows, activation, points, points + (constraint.places(part) - points) * constraint.axes, weight_of(constraint)
    )


def _part_way(start: NDArray, goal: NDArray, share: NDArray) -> NDArray:
    """Rotations that go a share of the way from one to another."""
    way = rotation.log(rotation.multiply(goal, rotation.inverse(start)))
    return rotation.multiply(rotation.exp(share[..., None] * way), start)


def _gather(pulls: list[_Pull], frames: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Rows (n,) at which any of a limb's pulls is at work; their shares (n, P), points and targets (n, P, 3)."""
    share = np.zeros((frames, len(pulls)))
    points, targets = np.zeros((frames, len(pulls), 3)), np.zeros((frames, len(pulls), 3))
    for column, pull in enumerate(pulls):
        share[pull.rows, column] = pull.activation * min(pull.weight, 1.0)
        points[pull.rows, column], targets[pull.rows, column] = pull.points, pull.targets
    rows = np.flatnonzero(share.any(axis=1))
    return rows, share[rows], points[rows], targets[rows]


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
    matrix[:, 0, 0] = trace
    matrix[:, 0, 1:] = matrix[:, 1:, 0] = np.stack(
        [spread[:, 1, 2] - spread[:, 2, 1], spread[:, 2, 0] - spread[:, 0, 2], spread[:, 0, 1] - spread[:, 1, 0]],
        axis=1,
    )
    matrix[:, 1:, 1:] = spread + spread.transpose(0, 2, 1) - trace[:, None, None] * np.eye(3)
    matrix[:, 0, 0] += 1e-6 * np.linalg.norm(spread, axis=(1, 2)) + 1e-15
    best = np.linalg.eigh(matrix)[1][:, :, -1]
    second = np.sort(share, axis=1)[:, -2:-1] / np.maximum(share.max(axis=1, keepdims=True), 1e-12)
    return rotation.exp(second * rotation.log(rotation.normalize(best)))
