"""A live character on any ground: the performer is on a level floor, the character on stairs, a slope or hills.

Pose by pose, without knowledge of the next step: feet are raised and tilted with the ground below them
(`ground_adaptation`), a swinging foot by where it will be in a moment, hips follow the feet that carry the body and go
down as far as the lower foot needs, and legs are bent to it. `edits.terrain` plans the steps of whole clips instead.

A ground that moves (a lift, a conveyor, a deck) carries the character: all of this happens in its frame, where the body
leans so that it stays upright in the world.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground, normal_of
from footplant.contacts.moving_ground import MovingGround
from footplant.errors import SkeletonError
from footplant.io.ground_files import Course
from footplant.live.ground_adaptation import TILTS_BELOW, tilts_with
from footplant.live.settings import GROUND_WALK
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of, solve

LEGS = ("left_leg", "right_leg")
MakeGround = Callable[[Course], Ground | MovingGround]
"""Makes the ground for a course: the ground's words name stairs and slopes ahead of the performer."""


class GroundPose(NamedTuple):
    """How far a ground has moved from where its words put it."""

    place: NDArray
    """(3,) metres."""
    turn: NDArray
    """(4,) unit quaternion."""


@dataclass(eq=False)
class SharedGround:
    """The ground of all characters of one world."""

    ground: Ground | MovingGround | None = None
    """None until the first pose of the first character has shown where it begins."""
    begun: float | None = None
    """Seconds on the clock of the characters at which a ground that moves by itself began to."""
    tracked: NDArray | None = None
    """(7,) position and rotation that its tracker had first."""


@dataclass(frozen=True, eq=False)
class GroundState:
    """What a character on a ground remembers of the pose before."""

    lifts: NDArray
    """(3, 2) metres and m/s: how much the left and the right foot and the hips are raised."""
    wanted: NDArray
    """(3,) metres: what they were asked to be raised."""
    soles: NDArray
    """(2, C, 3) metres; heels, balls and toes before they were raised."""
    seconds: float = 0.0
    """Since the first pose."""


class _Legs(NamedTuple):
    """Hips and ankles of both legs, (2, 3) metres each: on the floor, and on the ground."""

    level_hips: NDArray
    ankles: NDArray
    hips: NDArray
    goals: NDArray


@dataclass(eq=False)
class GroundWalk:
    """Puts poses of one character, which stands on a level floor, on a ground."""

    target: Character
    ground: Ground | MovingGround | MakeGround
    """The ground, or how to make it once the first pose is known: it is then the ground of all who share this."""
    shared: SharedGround = field(default_factory=SharedGround)
    """What is known of the ground; one for the characters of one world."""

    def __post_init__(self) -> None:
        """Find legs and soles."""
        skeleton, contacts = self.target.skeleton, self.target.contacts
        self._legs = [limb_of(self.target, name) for name in LEGS]
        for leg in self._legs:
            if skeleton.parents[leg.end] != leg.lower or skeleton.parents[leg.lower] != leg.upper:
                raise SkeletonError(f"expected legs of {self.target.name!r} without joints between hip, knee and ankle")
        self._soles = [_soles_of(contacts, side) for side in ("left", "right")]
        self._ends = [leg.upper for leg in self._legs], [leg.end for leg in self._legs]
        lengths = np.linalg.norm(skeleton.offsets, axis=1)
        self._lengths = [float(lengths[leg.lower] + lengths[leg.end]) for leg in self._legs]
        self._places, self._turns = np.empty((1, len(skeleton), 3)), np.empty((1, len(skeleton), 4))

    def _pose(self, root: NDArray, rotations: NDArray) -> tuple[NDArray, NDArray]:
        """Return positions (J, 3) and rotations (J, 4) of the joints in the world, valid until the next call."""
        from footplant.kernels.fk import forward

        skeleton = self.target.skeleton
        given = [np.array(array, float)[None] for array in (root, rotations)]
        for array in given:
            array.setflags(write=False)
        forward(skeleton.parents, skeleton.offsets[None], *given, self._places, self._turns)
        return self._places[0], self._turns[0]

    def _ground(self, places: NDArray) -> Ground | MovingGround:
        """Return the ground, made for where the first pose is and faces if need be."""
        if not callable(self.ground):
            return self.ground
        if self.shared.ground is None:
            left = places[self._legs[0].upper] - places[self._legs[1].upper]
            ahead = np.cross(left, rotation.AXES["y"])
            x, z, reach = float(places[0, 0]), float(places[0, 2]), GROUND_WALK.extent
            course = Course(
                (x, z), (x - reach, z - reach), (x + reach, z + reach), math.atan2(ahead[0], ahead[2]),
                self.target.height,
            )  # fmt: skip
            self.shared.ground = self.ground(course)
        return self.shared.ground

    def pose_at(self, now: float, tracker: NDArray | None = None, scale: float = 1.0) -> GroundPose | None:
        """Return where the ground is at a time of the clock that all characters of the world share, seconds.

        tracker: (7,) position and rotation of what it moves with, as far as that has moved since it was seen first;
        scale: of the character's world to the tracker's. None: it does not move, or nobody stands on it yet.
        """
        shared = self.shared
        if tracker is not None:
            if shared.tracked is None:
                shared.tracked = np.array(tracker, float)
            turn = rotation.normalize(rotation.multiply(tracker[3:], rotation.inverse(shared.tracked[3:])))
            return GroundPose(scale * (tracker[:3] - rotation.rotate(turn, shared.tracked[:3])), turn)
        ground = shared.ground if callable(self.ground) else self.ground
        if shared.begun is None:
            shared.begun = now
        return _pose_of(ground, now - shared.begun) if isinstance(ground, MovingGround) else None

    def step(
        self, state: GroundState | None, root: NDArray, rotations: NDArray, importance: NDArray, dt: float,
        at: GroundPose | None = None,
    ) -> tuple[GroundState, NDArray, NDArray]:  # fmt: skip
        """Return the state and the pose on the ground: root (3,) metres and local rotations (J, 4).

        importance: (2,) of the feet, 0 to 1; dt: seconds since the pose before. state: None at the first pose. at:
        where the ground is; None: where a ground that moves by itself is by the seconds since the first pose.
        """
        places, turns = self._pose(root, rotations)
        ground = self._ground(places)
        seconds = 0.0 if state is None else state.seconds + dt
        if isinstance(ground, MovingGround):
            at, ground = at or _pose_of(ground, seconds), ground.base
        soles = np.array([[_place(places, turns, j, o) for j, o in own] for own in self._soles])
        flat = soles[..., 1]
        ahead = soles
        if state is not None:
            ahead = soles + GROUND_WALK.ahead * (soles - state.soles) / dt
        hips, ankles = (np.array([places[joint] for joint in joints]) for joints in self._ends)
        feet = np.array([turns[leg.end] for leg in self._legs])
        new_root, turned = np.array(root, float), np.array(rotations, float)
        if at is not None:
            _lean(new_root, turned, at)
            places, turns = self._pose(new_root, turned)
        normals = self._normals(ground, soles)
        tilts = tilts_with(normals, flat.min(axis=1) / (TILTS_BELOW * self.target.height))
        # feet tilt about what they stand on, so that it stays where it is
        weighs = np.exp((flat.min(axis=1, keepdims=True) - flat) / GROUND_WALK.rolls)
        weighs /= weighs.sum(axis=1, keepdims=True)
        pivots = np.einsum("fc,fck->fk", weighs, soles)
        tilted = pivots[:, None] + rotation.rotate(tilts[:, None], soles - pivots[:, None])
        # heights of the ground above the tilted foot: alike on a slope, what sticks out on stairs
        turned_up = tilted[..., 1] - flat
        below, soon = ground.height(soles[..., ::2]) - turned_up, ground.height(ahead[..., ::2]) - turned_up
        # above where it will stand; over an edge a foot may use half of its own height
        over = (np.maximum(soon, below) - 0.5 * np.maximum(flat, 0.0)).max(axis=1)
        wanted = np.maximum((weighs * soon).sum(axis=1), over)
        lifts = np.zeros((3, 2))
        if state is None:
            lifts[:2, 0] = wanted
        else:
            for foot in range(2):
                lifts[foot] = _sprung(state.lifts[foot], wanted[foot], state.wanted[foot], GROUND_WALK.foot_ease, dt)
        raised = pivots + rotation.rotate(tilts, ankles - pivots) + lifts[:2, :1] * rotation.AXES["y"]
        # no sole below the ground, but for what it is below the floor
        shown = tilted + lifts[:2, None, :1] * rotation.AXES["y"]
        sunk = (ground.height(shown[..., ::2]) + np.minimum(flat, 0.0) - shown[..., 1]).max(axis=1)
        lifts[:2, 0] += np.maximum(sunk, 0.0)
        goals = raised + np.maximum(sunk, 0.0)[:, None] * rotation.AXES["y"]
        legs = _Legs(hips, ankles, np.array(places[self._ends[0]]), goals)
        carries = np.maximum(importance, 0.0) ** 2 + 0.01
        middle = float(carries @ lifts[:2, 0] / carries.sum())
        # a foot that is about to arrive lowers the hips ahead of it
        soon_carries = np.minimum(2.0 * importance, 1.0)
        middle = min(middle, self._highest(legs, soon_carries, middle, GROUND_WALK.straight))
        lifts[2] = (middle, 0.0)
        if state is not None:
            lifts[2] = _sprung(state.lifts[2], middle, state.wanted[2], GROUND_WALK.hips_ease, dt)
        lifts[2, 0] = min(lifts[2, 0], self._highest(legs, importance, lifts[2, 0], 1.0))
        new_root[1] += lifts[2, 0]
        for leg, goal, turn in zip(self._legs, goals, rotation.multiply(tilts, feet), strict=True):
            self._bend(leg, goal, turn, lifts[2, 0], places, turns, turned)
        if at is not None:
            new_root = at.place + rotation.rotate(at.turn, new_root)
            turned[0] = rotation.multiply(at.turn, turned[0])
        return GroundState(lifts, np.array([*wanted, middle]), soles, seconds), new_root, turned

    def _normals(self, ground: Ground, soles: NDArray) -> NDArray:
        """Return unit normals (2, 3) below the feet; what is as steep as the face of a step is an edge, not a slope."""
        normals = np.array(normal_of(ground, soles[..., ::2]))
        normals[normals[..., 1] < GROUND_WALK.steepest] = rotation.AXES["y"]
        found = normals.mean(axis=1)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def _highest(self, legs: _Legs, importance: NDArray, wanted: float, straight: float) -> float:
        """Return how far the hips may be raised so that a share of the legs reaches the feet that carry the body.

        A leg that is straight on the floor has nothing left, and hips that are stopped by it would jolt: they begin to
        go down at twice what the ground takes from the leg, and are down by all of it where it is straight.
        """
        most = wanted
        for length, weight, level_hip, ankle, hip, goal in zip(self._lengths, importance, *legs, strict=True):
            # a leg that the performer has straighter may be so
            reach = max(straight * length, float(np.linalg.norm(level_hip - ankle)))
            left, on_level = _slack(hip, goal, reach) - wanted, _slack(level_hip, ankle, reach)
            # the foot that is about to leave, or to arrive, counts by its importance
            most = min(most, wanted - weight * _soften(-left, max(on_level - left, 0.0)))
        return most

    def _bend(self, leg, goal, turn, lift, places, turns, rotations: NDArray) -> None:
        """Bend a leg so that its ankle is at a goal and its foot turned, in place; lift: of the hips, metres."""
        parent = turns[self.target.skeleton.parents[leg.upper]]
        offsets = self.target.skeleton.offsets
        origin = places[leg.upper] + lift * rotation.AXES["y"]
        upper, lower, *_ = solve(
            parent, rotations[leg.upper], rotations[leg.lower], offsets[leg.lower], offsets[leg.end], leg.axis, origin,
            goal, flexion=leg.flexion, own_plane=True,
        )  # fmt: skip
        rotations[leg.upper], rotations[leg.lower] = upper[0], lower[0]
        shank = rotation.multiply(parent, rotation.multiply(upper[0], lower[0]))
        rotations[leg.end] = rotation.normalize(rotation.multiply(rotation.inverse(shank), turn))


def _slack(hip: NDArray, ankle: NDArray, reach: float) -> float:
    """Return how far a hip may be raised, metres, with a leg that reaches so far."""
    across = float(np.hypot(hip[0] - ankle[0], hip[2] - ankle[2]))
    return float(ankle[1] - hip[1]) + math.sqrt(max(reach**2 - across**2, 0.0))


def _soften(depth: float, margin: float) -> float:
    """Return max(depth, 0) with a rounded corner of `margin` metres on both sides."""
    if depth <= -margin or depth >= margin:
        return max(depth, 0.0)
    return (depth + margin) ** 2 / (4.0 * margin)


def _pose_of(ground: MovingGround, seconds: float) -> GroundPose:
    return GroundPose(*(row[0] for row in ground.poses([seconds])))


def _lean(root: NDArray, rotations: NDArray, at: GroundPose) -> None:
    """Lean a pose of the ground's frame about the place below its root, so that it is upright in the world; in place.

    Turns about the vertical are the ground's, as in `MovingGround.upright`.
    """
    up = rotation.rotate(rotation.inverse(at.turn), rotation.AXES["y"])
    tilt = rotation.between(rotation.AXES["y"], up)
    below = root * [1.0, 0.0, 1.0]
    root[:] = below + rotation.rotate(tilt, root - below)
    rotations[0] = rotation.multiply(tilt, rotations[0])


def _soles_of(contacts: Mapping, side: str) -> list[tuple[int, NDArray]]:
    """Return joints and offsets of the heel, ball and toe of a foot."""
    found = [contacts[name] for part in ("heel", "ball", "toe") if (name := f"{side}_{part}") in contacts]
    if not found:
        raise SkeletonError(f"expected soles to stand on a ground with, found none of the {side} foot")
    # three for either foot, so that both have as many
    found = (found * 3)[:3]
    return [(point.joint, np.asarray(point.offset, float)) for point in found]


def _place(places: NDArray, turns: NDArray, joint: int, offset: NDArray) -> NDArray:
    return places[joint] + rotation.rotate(turns[joint], offset)


def _sprung(value: NDArray, wanted: float, before: float, half_life: float, dt: float) -> tuple[float, float]:
    """Return a value and its speed (2,) after a critically damped spring has pulled it for `dt` seconds.

    before: what was wanted at the pose before. A spring is late by 2/rate behind what moves steadily, as a foot over a
    slope: it is pulled towards where that will be by then. A step of the ground is no such motion.
    """
    # half of a step is made up when (1 + x) exp(−x) = 1/2
    rate = 1.678346990 / half_life
    moves = min(max((wanted - before) / dt, -GROUND_WALK.fastest), GROUND_WALK.fastest)
    wanted += 2.0 * moves / rate
    off, speed = float(value[0]) - wanted, float(value[1])
    pull, left = speed + rate * off, math.exp(-rate * dt)
    return wanted + (off + pull * dt) * left, (speed - rate * pull * dt) * left
