"""What a robot is asked to do: goals of its limbs from the motion of its proxy, and steps as rigid placements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground
from footplant.kinematics import Kinematics
from footplant.mechanism.body import SIDES, RobotBody
from footplant.mechanism.motion import Plant, RobotMotion
from footplant.motion import Motion

TO_Z_UP = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Footplant's axes (y up, z forward) → a robot's world (z up, x forward)."""
SEGMENTS = tuple(
    (f"{side}_{above}", f"{side}_{below}")
    for side in SIDES
    for above, below in (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))
)


@dataclass(frozen=True, eq=False)
class Goals:
    """The motion that a robot imitates, in its world: z up, ground at height 0."""

    body: RobotBody
    fps: float
    positions: dict[str, NDArray]
    """Joint of the proxy → (F, 3) metres."""
    turns: dict[str, NDArray]
    """Joint of the proxy → (F, 3, 3) how it is turned away from the rest pose, world."""
    plants: tuple[Plant, ...]
    palms: tuple[Plant, ...] = ()
    """Wrists of hands that rest on the ground: where they stay along it; their part is "palm"."""
    ground: Ground | None = None
    """What the robot stands on, in Footplant's axes; None for a floor at height 0."""

    def ground_heights(self, places: NDArray) -> NDArray:
        """Return the height of the ground at places (N, 2) of the robot's world, metres."""
        if self.ground is None:
            return np.zeros(len(places))
        return np.asarray(self.ground.height(np.ascontiguousarray(places[:, ::-1])), float)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.positions["pelvis"])

    def limbs(self) -> dict[tuple[str, str], NDArray]:
        """Return the vectors (F, 3) of all limb segments."""
        return {
            (above, below): self.positions[below] - self.positions[above]
            for above, below in SEGMENTS
            if above in self.body.centers and below in self.body.centers
        }

    def with_moved_feet(self, moves: dict[str, NDArray]) -> Goals:
        """Return the goals with feet moved along the ground; side → (F, 2) metres. Knees move half as far."""
        positions = dict(self.positions)
        for side, move in moves.items():
            for part, share in (("ankle", 1.0), ("knee", 0.5)):
                along = np.concatenate([share * move, np.zeros((len(move), 1))], axis=1)
                positions[f"{side}_{part}"] = positions[f"{side}_{part}"] + along
        return replace(self, positions=positions)

    def link_turns(self, joint: str, link: int) -> NDArray:
        """Return rotations (F, 3, 3) of a link that turns away from the rest pose as a joint of the proxy does."""
        rest = TO_Z_UP @ self.body.upright @ self.body.links.rest[1][link]
        return self.turns[joint] @ rest


def goals_of(
    body: RobotBody,
    motion: Motion,
    held: Sequence[HeldPoint],
    level: float,
    *,
    palms: Sequence[tuple[str, int, int]] = (),
    ground: Ground | None = None,
) -> Goals:
    """Return goals for a motion of a robot's proxy with the source's rotations, and what is planted.

    level: height of the ground, metres, which becomes 0. The motion is raised so that planted ankles are at the height
    that they have on the robot. palms: side and frames of hands that rest on the ground. ground: what it stands on, if
    not a floor; level is 0 then.
    """
    kinematics = Kinematics(motion)
    names = motion.skeleton.names
    places = kinematics.positions @ TO_Z_UP.T
    places[..., 2] -= level
    matrices = TO_Z_UP @ rotation.to_matrix(kinematics.rotations) @ TO_Z_UP.T
    turns = {name: matrices[:, index] for index, name in enumerate(names)}
    moved = [
        (side, part, start, end, TO_Z_UP @ np.asarray(place) - np.array([0.0, 0.0, level]))
        for side, part, start, end, place in held
    ]
    plants = rigid_plants(body, moved, flat=ground is None)
    offset = _standing_offset(body, plants, {name: places[:, index] for index, name in enumerate(names)})
    places[..., 2] += offset
    positions = {name: places[:, index] for index, name in enumerate(names)}
    resting = tuple(
        Plant(side, "palm", start, end, tuple(positions[f"{side}_wrist"][start:end].mean(axis=0).tolist()))
        for side, start, end in palms
        if f"{side}_wrist" in body.centers and f"{side}_wrist" in positions
    )
    return Goals(body, motion.fps, positions, turns, plants, resting, ground)


def _standing_offset(body: RobotBody, plants: Sequence[Plant], places: dict[str, NDArray]) -> float:
    """Return by how much a copied motion is raised so that its ankles are where those of planted feet are, metres."""
    found = []
    for side in SIDES:
        sole = body.soles[side]
        point = body.centers[f"{side}_ankle"]
        above = float(
            (body.links.rest_point(point.link, np.array(point.place)) - body.links.rest_point(sole.link, sole.heel))
            @ (body.upright.T @ np.array([0.0, 1.0, 0.0]))
        )
        for plant in plants:
            if plant.side == side and plant.part == "heel":
                found.append(plant.place[2] + above - places[f"{side}_ankle"][plant.start : plant.end, 2])
    return float(np.median(np.concatenate(found))) if found else 0.0


def goals_of_robot(body: RobotBody, motion: RobotMotion, held: Sequence[tuple[str, int, int]]) -> Goals:
    """Return goals that follow a robot's own motion: where its limbs are, and how its links are turned."""
    at, turn = body.links.pose(motion.states)
    positions = {
        name: at[:, point.link] + turn[:, point.link] @ np.array(point.place) for name, point in body.centers.items()
    }
    carriers = {"pelvis": body.centers["pelvis"].link, "torso": body.chest}
    carriers |= {f"{side}_wrist": link for side, link in body.hands.items()}
    carriers |= {f"{side}_ankle": body.soles[side].link for side in SIDES}
    if body.head is not None:
        carriers["head"] = body.head
    turns = {
        name: turn[:, link] @ (TO_Z_UP @ body.upright @ body.links.rest[1][link]).T for name, link in carriers.items()
    }
    tracks = {
        (side, part): at[:, body.soles[side].link] + turn[:, body.soles[side].link] @ getattr(body.soles[side], part)
        for side in SIDES
        for part in ("heel", "toe")
    }
    planted = [
        (side, part, start, end, tracks[side, part][start:end].mean(axis=0))
        for side, part, start, end in merged_points(held)
    ]
    return Goals(body, motion.fps, positions, turns, rigid_plants(body, planted))


def rigid_plants(body: RobotBody, held: Sequence[HeldPoint], flat: bool = True) -> tuple[Plant, ...]:
    """Return plants whose places fit rigid feet: heel and toe of one step are a foot's length apart.

    flat: the ground is a floor at height 0; places near it and below it are on it.
    """
    found: list[Plant] = []
    snap = SNAP * leg_length(body)
    for side in SIDES:
        sole = body.soles[side]
        length = float(np.linalg.norm(sole.toe - sole.heel))
        placed: list[Plant] = []
        own = [each for each in held if each[0] == side and each[3] > each[2]]
        for _, part, start, end, where in sorted(own, key=lambda each: each[2]):
            place = np.array(where, float)
            if flat and place[2] < snap:
                place[2] = 0.0
            beside = [each for each in placed if each.part != part and each.start < end and each.end > start]
            if beside:
                # the foot is rigid: this end follows from the one that stands already
                other = np.array(beside[-1].place)
                way = place - other
                place = other + way * length / max(float(np.linalg.norm(way)), 1e-9)
                if flat and place[2] < 0.0 <= other[2] < length:
                    # not through the floor: it stands on it
                    along = way[:2] / max(float(np.linalg.norm(way[:2])), 1e-9)
                    place = np.array([*(other[:2] + along * math.sqrt(length**2 - other[2] ** 2)), 0.0])
            placed.append(Plant(side, part, start, end, tuple(place.tolist())))
        found += placed
    return tuple(found)


HeldPoint = tuple[str, str, int, int, NDArray]
"""Side, "heel" or "toe", first frame, frame after the last, place (3,) in metres."""
SNAP = 0.06
"""Leg lengths: plants lower than this are on the floor."""


def merged_points(held: Sequence[tuple[str, int, int]]) -> list[tuple[str, str, int, int]]:
    """Return side, part and frames of contact points, those that overlap as one: a rigid foot's ball is its toe."""
    found = []
    for point, start, end in held:
        side, _, part = point.partition("_")
        if side in SIDES and part in ("heel", "ball", "toe") and end > start:
            found.append((side, "heel" if part == "heel" else "toe", start, end))
    out: list[tuple[str, str, int, int]] = []
    for side, part, start, end in sorted(found):
        if out and out[-1][:2] == (side, part) and start <= out[-1][3]:
            out[-1] = (side, part, out[-1][2], max(end, out[-1][3]))
        else:
            out.append((side, part, start, end))
    return out


def leg_length(body: RobotBody) -> float:
    """Return the mean length of the legs, metres."""
    rest = {name: body.links.rest_point(point.link, np.array(point.place)) for name, point in body.centers.items()}
    return 0.5 * sum(
        float(np.linalg.norm(rest[f"{side}_{a}"] - rest[f"{side}_{b}"]))
        for side in SIDES
        for a, b in (("hip", "knee"), ("knee", "ankle"))
    )
