"""Constraints as limb goals: the positions and rotations of wrists and ankles that put the points they carry in place.

Heel and ball are two points of one foot: together they fix its position and all of its orientation but the roll.
Inequality constraints (toes out of the ground) are applied last and move the end no farther than necessary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints import Above, Area, Balance, Constraint, LookAt
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.skeleton import Skeleton
from footplant.solve.ik.limb import Limb
from footplant.solve.ik.pins import FootRamps, PinTable
from footplant.solve.ik.settings import LIMB_GOALS


@dataclass(frozen=True, eq=False)
class LimbGoals:
    """Goals of the ends of L limbs at F rows."""

    places: NDArray
    """(F, L, 3) world positions, metres."""
    turns: NDArray
    """(F, L, 4) world rotations of the ends."""
    weights: NDArray
    """(F, L) how much of the position is asked for, 0 to 1."""
    turn_weights: NDArray
    """(F, L) how much of the orientation is asked for, 0 to 1."""
    importance: NDArray
    """(F, L) weight of each goal in the trunk's objective, 0 and more: by weight, priority and activation of its
    constraints."""
    pivots: NDArray
    """(F, L, 3) mean target of the points that hold an end, world, metres; read where `held` > 0."""
    held: NDArray
    """(F, L) how firmly an end is held by points, 0 to 1."""
    several: NDArray
    """(F, L) bool; whether two or more points hold it fully, so that it cannot rotate."""


def carriers(skeleton: Skeleton, limbs: Sequence[Limb]) -> NDArray:
    """Return which limb's end carries each joint (J,): the end itself or any descendant; −1 for none."""
    carrier = np.full(len(skeleton), -1)
    for number, limb in enumerate(limbs):
        carrier[list(skeleton.descendants(limb.end))] = number
    return carrier


def weight_of(constraint: Constraint) -> float:
    """Return a constraint's weight in the trunk's objective: ×10 per step of priority, a hundredth if it is soft."""
    return constraint.weight * 10.0 ** min(max(constraint.priority, -3), 3) * (1.0 if constraint.hard else 0.01)


def is_curved(constraint: Constraint) -> bool:
    """Return whether a constraint's gradient changes with the position, so that one linearisation is not enough."""
    if isinstance(constraint, Area):
        return not isinstance(constraint.region, Plane)
    return isinstance(constraint, Above | Balance | LookAt)


def half_spaces(constraint: Area | Above, places: NDArray, frames: NDArray) -> NDArray:
    """Return the half-spaces (F, 4) tangent to an area or ground near positions (F, 3): gradient and level."""
    slopes = constraint.slopes(places)
    level = np.sum(slopes * places, axis=1) - constraint.slack(places, frames)
    return np.concatenate([slopes, level[:, None]], axis=1)


def share_of(constraint: Constraint) -> float:
    """Return the share of the way that a constraint asks for where nothing contradicts it."""
    return 1.0 if constraint.hard else constraint.weight / (constraint.weight + LIMB_GOALS.soft_half_weight)


class LimbAims:
    """The constraints on the ends of limbs at rows of a clip: built once, evaluated for many poses."""

    def __init__(
        self, limbs: Sequence[Limb], constraints: Sequence[Constraint], carrier: NDArray, frames: NDArray, fps: float
    ) -> None:
        """Gather the constraints; those that act on no limb's end are left out.

        carrier: see `carriers`; frames: (F,) of the rows.
        """
        self.limbs, self.frames, self.fps = limbs, frames, fps
        own = [c for c in constraints if carrier[c.joints[0]] >= 0]
        pinned = [c for c in own if not isinstance(c, Above | Area)]
        self._carrier, self._ends = carrier, np.array([limb.end for limb in limbs], np.int64)
        self._bounds = [
            [c for c in own if isinstance(c, Above | Area) and carrier[c.joints[0]] == number]
            for number in range(len(limbs))
        ]
        self._table = PinTable(pinned, frames, fps)
        self._ramps = FootRamps(self._table, carrier)
        values = np.array([[weight_of(c), share_of(c), c.priority] for c in pinned], float).reshape(-1, 3)
        weights, shares, ranks = values[self._table.sources].T
        active = self._table.activations
        self._shares, self._importances, self._ranks = active * shares, active * weights, np.ascontiguousarray(ranks)

    def is_for(self, frames: NDArray, fps: float) -> bool:
        """Return whether it was built for these rows."""
        return self.fps == fps and np.array_equal(self.frames, frames)

    def at(self, kinematics: Kinematics, every: int = 1) -> LimbGoals:
        """Return goals for poses, at every n-th row; ramps read the rows between, so `kinematics` holds all of them."""
        from footplant.solve.ik import _limb_goals as kernel

        pins = self._ramps.apply(self._table.at(kinematics), kinematics)
        shape = (-(-len(kinematics.frames) // every), len(self.limbs))
        goals = LimbGoals(
            places=np.empty((*shape, 3)),
            turns=np.empty((*shape, 4)),
            weights=np.empty(shape),
            turn_weights=np.empty(shape),
            importance=np.empty(shape),
            pivots=np.zeros((*shape, 3)),
            held=np.empty(shape),
            several=np.empty(shape, bool),
        )
        table = kernel.Pins(
            pins.starts, pins.kinds, pins.joints, pins.offsets, pins.targets, pins.axes, pins.activations,
            self._shares, self._importances, self._ranks,
        )  # fmt: skip
        written = kernel.Goals(
            goals.places, goals.turns, goals.weights, goals.turn_weights, goals.importance, goals.pivots, goals.held,
            goals.several,
        )  # fmt: skip
        kernel.aim_limbs(table, self._carrier, self._ends, kinematics.positions, kinematics.rotations, every, written)
        if every > 1 and any(self._bounds):
            kinematics = kinematics[np.arange(0, len(kinematics.frames), every)]
        for number, limb in enumerate(self.limbs):
            near = self._bounds[number]
            # the first correction may violate another bound, so the bounds are applied twice
            if near and _push(kinematics, goals, number, limb, near):
                _push(kinematics, goals, number, limb, near)
        return goals


def _push(kinematics: Kinematics, goals: LimbGoals, number: int, limb: Limb, bounds: Sequence[Above | Area]) -> bool:
    """Enforce inequality constraints on a limb's end; return whether any was violated.

    A free end is translated along the gradient; one that is held by a point is rotated about that point.
    """
    frames = len(kinematics.frames)
    held, several = goals.held[:, number], goals.several[:, number]
    pivots = np.where(held[:, None] > 0, goals.pivots[:, number], goals.places[:, number])
    # the pose of the end under its goals, of which a share only may be asked for
    share = goals.weights[:, number, None]
    position = kinematics.positions[:, limb.end]
    ends = position + share * (goals.places[:, number] - position)
    orientation = kinematics.rotations[:, limb.end]
    way = rotation.log(rotation.multiply(goals.turns[:, number], rotation.inverse(orientation)))
    turns = rotation.multiply(rotation.exp(goals.turn_weights[:, number, None] * way), orientation)
    shift, angle, axis = np.zeros((frames, 3)), np.zeros(frames), np.zeros((frames, 3))
    deepest = np.zeros(frames)
    for constraint in bounds:
        active = constraint.activation(kinematics.frames, kinematics.motion.fps)
        local = rotation.rotate(rotation.inverse(orientation), kinematics.point(constraint.point) - position)
        places = ends + rotation.rotate(turns, local)
        need = np.maximum(-constraint.slack(places, kinematics.frames), 0.0) * active
        if not need.any():
            continue
        slopes = constraint.slopes(places)
        square = np.maximum(np.sum(slopes**2, axis=1), 1e-9)
        deeper = need / np.sqrt(square) > deepest
        deepest = np.where(deeper, need / np.sqrt(square), deepest)
        shift[deeper] = (slopes * (need / square)[:, None])[deeper]
        lever = np.cross(places - pivots, slopes / np.sqrt(square)[:, None])
        arm = np.linalg.norm(lever, axis=1)
        # damped: θ = depth·arm/(arm² + short_lever²), because rotating about a pivot hardly moves a point beside it
        turn = np.minimum(need / np.sqrt(square) * arm / (arm**2 + LIMB_GOALS.short_lever**2), LIMB_GOALS.max_turn)
        wider = turn > angle
        angle[wider], axis[wider] = turn[wider], (lever / np.maximum(arm, 1e-9)[:, None])[wider]
    rows = np.flatnonzero((deepest > 0) & ~several)
    if not len(rows):
        return False
    about = rotation.exp((held * angle)[rows, None] * axis[rows])
    moved = pivots[rows] + rotation.rotate(about, ends[rows] - pivots[rows])
    goals.places[rows, number] = np.where(held[rows, None] > 0, moved, ends[rows]) + ((1 - held)[:, None] * shift)[rows]
    goals.turns[rows, number] = rotation.multiply(about, turns[rows])
    goals.weights[rows, number] = goals.turn_weights[rows, number] = 1.0
    return True
