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
from footplant.constraints import Above, Area, Balance, Constraint, LookAt
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.skeleton import Skeleton
from footplant.solve.ik.limb import Limb
from footplant.solve.ik.pins import FadingTogether, PinTable

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
    pivots: NDArray
    """(F, L, 3) where the points that hold an end should be, the mean of them, metres, world; read where `held` > 0."""
    held: NDArray
    """(F, L) how much an end is held by points, 0 to 1."""
    several: NDArray
    """(F, L) bool; whether two points or more hold it fully, so that nothing is left to turn."""


def carriers(skeleton: Skeleton, limbs: Sequence[Limb]) -> NDArray:
    """(J,) which limb's end carries each joint (the end itself or anything below it); −1 for none."""
    carrier = np.full(len(skeleton), -1)
    for number, limb in enumerate(limbs):
        carrier[list(skeleton.descendants(limb.end))] = number
    return carrier


def weight_of(constraint: Constraint) -> float:
    """What a constraint weighs in the trunk: tenfold for each step of priority, soft ones a hundredth."""
    return constraint.weight * 10.0 ** min(max(constraint.priority, -3), 3) * (1.0 if constraint.hard else 0.01)


def is_curved(constraint: Constraint) -> bool:
    """Whether what it asks of a point changes with the place: then its tangent is not all of it."""
    if isinstance(constraint, Area):
        return not isinstance(constraint.region, Plane)
    return isinstance(constraint, Above | Balance | LookAt)


def half_spaces(constraint: Area | Above, places: NDArray, frames: NDArray) -> NDArray:
    """(F, 4) the half-space that an area or a ground is near places (F, 3): its slope there, and its level along it."""
    slopes = constraint.slopes(places)
    level = np.sum(slopes * places, axis=1) - constraint.slack(places, frames)
    return np.concatenate([slopes, level[:, None]], axis=1)


def _share(constraint: Constraint) -> float:
    """How much of the way a constraint asks for where nothing contradicts it."""
    return 1.0 if constraint.hard else constraint.weight / (constraint.weight + SOFT)


def limb_goals(
    kinematics: Kinematics, limbs: Sequence[Limb], constraints: Sequence[Constraint], carrier: NDArray | None = None
) -> LimbGoals:
    """Goals for the ends of limbs from all constraints that act on them: see `LimbAims`."""
    carrier = carriers(kinematics.motion.skeleton, limbs) if carrier is None else carrier
    return LimbAims(limbs, constraints, carrier, kinematics.frames, kinematics.motion.fps).at(kinematics)


class LimbAims:
    """What constraints ask of the ends of limbs at rows of a clip: made once, for many poses."""

    def __init__(
        self, limbs: Sequence[Limb], constraints: Sequence[Constraint], carrier: NDArray, frames: NDArray, fps: float
    ) -> None:
        """Constraints that act on no limb's end are left out; carrier: see `carriers`; frames (F,) of the rows."""
        self.limbs, self.frames, self.fps = limbs, frames, fps
        own = [c for c in constraints if carrier[c.joints[0]] >= 0]
        pinned = [c for c in own if not isinstance(c, Above | Area)]
        self._carrier, self._ends = carrier, np.array([limb.end for limb in limbs], np.int64)
        self._bounds = [
            [c for c in own if isinstance(c, Above | Area) and carrier[c.joints[0]] == number]
            for number in range(len(limbs))
        ]
        self._table = PinTable(pinned, frames, fps)
        self._fading = FadingTogether(self._table, carrier)
        told = np.array([[weight_of(c), _share(c), c.priority] for c in pinned], float).reshape(-1, 3)
        weights, shares, ranks = told[self._table.sources].T
        active = self._table.activations
        self._counts = active * shares, active * weights, np.ascontiguousarray(ranks)

    def is_for(self, frames: NDArray, fps: float) -> bool:
        """Whether it was made for these rows."""
        return self.fps == fps and np.array_equal(self.frames, frames)

    def at(self, kinematics: Kinematics, every: int = 1) -> LimbGoals:
        """Goals for poses, one for each row, or at every so many of them: what fades goes by the rows between."""
        from footplant.solve.ik import _limb_goals as kernel

        pins = self._fading.apply(self._table.at(kinematics), kinematics)
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
        kernel.aim_limbs(
            pins.starts, pins.kinds, pins.joints, pins.offsets, pins.targets, pins.axes, pins.activations,
            *self._counts, self._carrier, self._ends, kinematics.positions, kinematics.rotations, every,
            goals.places, goals.turns, goals.weights, goals.turn_weights, goals.importance, goals.pivots, goals.held,
            goals.several,
        )  # fmt: skip
        if every > 1 and any(self._bounds):
            kinematics = kinematics[np.arange(0, len(kinematics.frames), every)]
        for number, limb in enumerate(self.limbs):
            near = self._bounds[number]
            # a second time, for what the first push brought to the wrong side
            if near and _push(kinematics, goals, number, limb, near):
                _push(kinematics, goals, number, limb, near)
        return goals


def _push(kinematics: Kinematics, goals: LimbGoals, number: int, limb: Limb, bounds: Sequence[Above | Area]) -> bool:
    """Keep points where they may be: a free end is shifted, a held one turned about what holds it; True if any was."""
    frames = len(kinematics.frames)
    held, several = goals.held[:, number], goals.several[:, number]
    pivots = np.where(held[:, None] > 0, goals.pivots[:, number], goals.places[:, number])
    # the end as the goals have it; where they ask for a part only, as it will stand
    share = goals.weights[:, number, None]
    stand = kinematics.positions[:, limb.end]
    ends = stand + share * (goals.places[:, number] - stand)
    stood = kinematics.rotations[:, limb.end]
    way = rotation.log(rotation.multiply(goals.turns[:, number], rotation.inverse(stood)))
    turns = rotation.multiply(rotation.exp(goals.turn_weights[:, number, None] * way), stood)
    shift, angle, axis = np.zeros((frames, 3)), np.zeros(frames), np.zeros((frames, 3))
    most = np.zeros(frames)
    for constraint in bounds:
        active = constraint.activation(kinematics.frames, kinematics.motion.fps)
        local = rotation.rotate(rotation.inverse(stood), kinematics.point(constraint.point) - stand)
        places = ends + rotation.rotate(turns, local)
        need = np.maximum(-constraint.slack(places, kinematics.frames), 0.0) * active
        if not need.any():
            continue
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
        return False
    about = rotation.exp((held * angle)[rows, None] * axis[rows])
    moved = pivots[rows] + rotation.rotate(about, ends[rows] - pivots[rows])
    goals.places[rows, number] = np.where(held[rows, None] > 0, moved, ends[rows]) + ((1 - held)[:, None] * shift)[rows]
    goals.turns[rows, number] = rotation.multiply(about, turns[rows])
    goals.weights[rows, number] = goals.turn_weights[rows, number] = 1.0
    return True
