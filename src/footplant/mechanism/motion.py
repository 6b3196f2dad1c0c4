"""Motions of a robot: the floating base and one angle per hinge, exactly as a simulator has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import MotionError
from footplant.humanoid import make_character
from footplant.mechanism.body import SIDES, RobotBody
from footplant.mechanism.links import Links
from footplant.mechanism.model import Mechanism, unique_names
from footplant.motion import Motion
from footplant.skeleton import Character, Point, Roles, Skeleton, frozen

TO_Y_UP = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
"""A robot's world (z up, x forward) → Footplant's axes (y up, z forward)."""


@dataclass(frozen=True)
class Plant:
    """A heel or toe of a foot that stays where it is."""

    side: str
    part: str
    """"heel" or "toe"."""
    start: int
    end: int
    """First frame after it."""
    place: tuple[float, float, float]
    """World, metres."""


@dataclass(frozen=True, eq=False)
class RobotMotion:
    """States of a robot over time, in a world with z up and the ground at height 0."""

    mechanism: Mechanism
    states: NDArray
    """(F, 7 + D): place of the base in metres, its rotation (real part first), angles in radians."""
    fps: float
    name: str = "motion"

    def __post_init__(self) -> None:
        """Check shape and numbers."""
        states = frozen(self.states)
        expected = 7 + len(self.mechanism.joints)
        if states.ndim != 2 or states.shape[1] != expected:
            raise MotionError(
                f"expected states of {expected} numbers (place, quaternion, {expected - 7} angles), got {states.shape}"
            )
        if not np.isfinite(states).all():
            frame, column = np.argwhere(~np.isfinite(states))[0]
            raise MotionError(f"expected finite states, got NaN or infinity at frame {frame}, column {column}")
        object.__setattr__(self, "states", states)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.states)

    def __repr__(self) -> str:
        """Return robot and length."""
        return f"RobotMotion({self.mechanism.name!r}, {len(self)} frames at {self.fps:g} fps)"

    @property
    def root(self) -> NDArray:
        """Return the base's place (F, 3), metres."""
        return self.states[:, :3]

    @property
    def turns(self) -> NDArray:
        """Return the base's rotation (F, 4), real part first."""
        return self.states[:, 3:7]

    @property
    def angles(self) -> NDArray:
        """Return all angles (F, D), radians."""
        return self.states[:, 7:]

    def bodies(self) -> tuple[NDArray, NDArray]:
        """Return positions (F, B, 3) and rotations (F, B, 4) of all bodies."""
        return self.mechanism.pose(self.root, self.turns, self.angles)

    def coupled(self) -> RobotMotion:
        """Return the motion with every joint that follows another one where that one puts it."""
        angles = self.mechanism.coupling.applied(self.angles)
        if np.array_equal(angles, self.angles):
            return self
        return replace(self, states=np.concatenate([self.states[:, :7], angles], axis=1))

    def disagreement(self) -> str | None:
        """Return in words which joint is not where the one that it follows puts it, and how far; None if all are."""
        return self.mechanism.coupling.disagreement(self.angles, [joint.name for joint in self.mechanism.joints])

    def qpos(self) -> NDArray:
        """Return MuJoCo's coordinates: like the states, but a ball joint is a quaternion instead of three angles."""
        columns = [self.states[:, :7]]
        joints, at = self.mechanism.joints, 0
        while at < len(joints):
            if not joints[at].ball:
                columns.append(self.angles[:, at : at + 1])
                at += 1
                continue
            turn = np.array(rotation.IDENTITY)
            for axis in range(3):
                by = rotation.from_axis_angle(np.array(joints[at + axis].axis), self.angles[:, at + axis])
                turn = rotation.multiply(turn, by)
            columns.append(turn)
            at += 3
        return np.concatenate(columns, axis=1)

    def velocities(self) -> NDArray:
        """Return joint velocities (F, D), rad/s: central differences, one-sided at the ends."""
        return np.gradient(self.angles, 1.0 / self.fps, axis=0) if len(self) > 1 else np.zeros_like(self.angles)

    def resample(self, fps: float) -> RobotMotion:
        """Return the motion at another frame rate."""
        times = np.arange(int(np.floor((len(self) - 1) * fps / self.fps + 1e-6)) + 1) * self.fps / fps
        first = np.clip(times.astype(int), 0, max(len(self) - 2, 0))
        share = (times - first)[:, None]
        second = np.minimum(first + 1, len(self) - 1)
        states = (1.0 - share) * self.states[first] + share * self.states[second]
        states[:, 3:7] = rotation.slerp(self.turns[first], self.turns[second], share[:, 0])
        return RobotMotion(self.mechanism, states, fps, self.name)


def body_velocities(positions: NDArray, rotations: NDArray, fps: float) -> tuple[NDArray, NDArray]:
    """Return linear (F, B, 3) and angular velocities (F, B, 3) in world axes, by central differences."""
    if len(positions) < 2:
        return np.zeros_like(positions), np.zeros_like(positions)
    linear = np.gradient(positions, 1.0 / fps, axis=0)
    ahead = np.concatenate([rotations[1:], rotations[-1:]])
    behind = np.concatenate([rotations[:1], rotations[:-1]])
    frames = np.full(len(positions), 2.0)
    frames[[0, -1]] = 1.0
    turned = rotation.log(rotation.multiply(ahead, rotation.inverse(behind)))
    return linear, turned * (fps / frames)[:, None, None]


@lru_cache(maxsize=8)
def robot_character(body: RobotBody) -> Character:
    """Return the robot as a character, one joint per link, y up, with heels and toes as contact points."""
    links = body.links
    names = unique_names(
        [body.mechanism.bodies[0], *(body.mechanism.bodies[joint.body] for joint in body.mechanism.joints)]
    )
    rest = rotation.from_matrix(links.turns)
    rest[0] = rotation.from_matrix(body.upright)
    skeleton = Skeleton(names, links.parents, links.places, rest)
    roles: dict[str, tuple[int, ...]] = {}
    taken: set[int] = set()
    for role, bodies in body.roles.joints.items():
        chain = tuple(dict.fromkeys(int(links.body_links[each]) for each in bodies))
        chain = tuple(link for link in chain if link not in taken)
        if chain:
            roles[role] = chain
            taken.update(chain)
    sure, why = body.roles.confidence, body.roles.reasons
    found = Roles(roles, {role: sure[role] for role in roles}, {role: why[role] for role in roles})
    character = make_character(skeleton, found, name=body.mechanism.name or "robot")
    contacts = {}
    for side in SIDES:
        sole = body.soles[side]
        for label, place in (("heel", sole.heel), ("ball", sole.toe), ("toe", sole.toe)):
            contacts[f"{side}_{label}"] = Point(sole.link, tuple(place.tolist()))
    return replace(character, contacts=contacts)


def link_motion(motion: RobotMotion, links: Links, skeleton: Skeleton) -> Motion:
    """Return a robot's motion on the skeleton of its links (see `robot_character`), y up."""
    angles = motion.angles - links.references
    frames = len(motion)
    rotations = np.empty((frames, len(links.parents), 4))
    turn = rotation.from_matrix(TO_Y_UP)
    rotations[:, 0] = rotation.multiply(turn, motion.turns)
    bends = rotation.exp(links.axes[None, 1:] * angles[:, :, None])
    rotations[:, 1:] = rotation.multiply(rotation.from_matrix(links.turns[1:])[None], bends)
    return Motion(skeleton, motion.root @ TO_Y_UP.T, rotation.normalize(rotations), motion.fps)
