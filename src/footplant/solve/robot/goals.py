"""What a robot is asked to do: goals of its limbs from the motion of its proxy, and steps as rigid placements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
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
    copied: dict[str, NDArray]
    """Joint of a leg → (F, 3) metres, where it is if rotations alone are copied: legs as bent as the source's."""

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.positions["pelvis"])

    def limbs(self) -> dict[tuple[str, str], NDArray]:
        """Return the vectors (F, 3) of all limb segments."""
        return {
            (above, below): self.copied.get(below, self.positions[below])
            - self.copied.get(above, self.positions[above])
            for above, below in SEGMENTS
            if above in self.body.centers and below in self.body.centers
        }

    def link_turns(self, joint: str, link: int) -> NDArray:
        """Return rotations (F, 3, 3) of a link that turns away from the rest pose as a joint of the proxy does."""
        rest = TO_Z_UP @ self.body.upright @ self.body.links.rest[1][link]
        return self.turns[joint] @ rest


def goals_of(
    body: RobotBody, motion: Motion, held: Sequence[tuple[str, int, int]], level: float, copied: Motion | None = None
) -> Goals:
    """Return goals for the motion of a robot's proxy. held: contact point, first frame, frame after the last.

    level: height of the ground, metres, which becomes 0. copied: the proxy with the source's rotations. A rigid foot
    that rolls over its toes lifts the hips of the proxy, and stretches its knees; legs and the height of the pelvis
    therefore follow the copy.
    """
    kinematics = Kinematics(motion)
    names = motion.skeleton.names
    places = kinematics.positions @ TO_Z_UP.T
    places[..., 2] -= level
    matrices = TO_Z_UP @ rotation.to_matrix(kinematics.rotations) @ TO_Z_UP.T
    positions = {name: places[:, index] for index, name in enumerate(names)}
    turns = {name: matrices[:, index] for index, name in enumerate(names)}
    tracks = {}
    for side in SIDES:
        for part, label in (("heel", "heel"), ("toe", "ball")):
            track = kinematics.point(body.proxy.contacts[f"{side}_{label}"]) @ TO_Z_UP.T
            track[:, 2] -= level
            tracks[side, part] = track
    plants = _rigid(body, tracks, held)
    legs: dict[str, NDArray] = {}
    if copied is not None and plants:
        raised = Kinematics(copied).positions @ TO_Z_UP.T
        legs = {name: raised[:, index] for index, name in enumerate(names) if name.endswith(LEG)}
        offset = _standing_offset(body, plants, legs)
        if offset is not None:
            height = raised[:, names.index("pelvis"), 2] + offset
            positions["pelvis"] = np.stack([*positions["pelvis"][:, :2].T, height], axis=1)
    return Goals(body, motion.fps, positions, turns, plants, legs)


LEG = ("hip", "knee", "ankle")


def _standing_offset(body: RobotBody, plants: Sequence[Plant], legs: dict[str, NDArray]) -> float | None:
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
                found.append(plant.place[2] + above - legs[f"{side}_ankle"][plant.start : plant.end, 2])
    return float(np.median(np.concatenate(found))) if found else None


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
    return Goals(body, motion.fps, positions, turns, _rigid(body, tracks, held), {})


def _rigid(body: RobotBody, tracks: dict[tuple[str, str], NDArray], held: Sequence[tuple[str, int, int]]):
    """Return plants whose places fit rigid feet: heel and toe of one step are a foot's length apart."""
    found: list[Plant] = []
    snap = SNAP * leg_length(body)
    for side in SIDES:
        sole = body.soles[side]
        length = float(np.linalg.norm(sole.toe - sole.heel))
        own = []
        for point, start, end in held:
            where, _, part = point.partition("_")
            if where == side and part in ("heel", "ball", "toe") and end > start:
                own.append(("heel" if part == "heel" else "toe", start, end))
        own = _merged(own)
        placed: list[Plant] = []
        for part, start, end in sorted(own, key=lambda each: each[1]):
            place = tracks[side, part][start:end].mean(axis=0)
            beside = [each for each in placed if each.part != part and each.start < end and each.end > start]
            if beside:
                # the foot is rigid: this end follows from the one that stands already
                first = np.array(beside[-1].place)
                overlap = slice(max(start, beside[-1].start), min(end, beside[-1].end))
                way = (tracks[side, part][overlap] - tracks[side, beside[-1].part][overlap]).mean(axis=0)
                way[2] = place[2] - first[2] if abs(place[2] - first[2]) > snap else 0.0
                place = first + way * length / max(float(np.linalg.norm(way)), 1e-9)
            if abs(place[2]) < snap:
                place[2] = 0.0
            placed.append(Plant(side, part, start, end, tuple(place.tolist())))
        found += placed
    return tuple(found)


SNAP = 0.06
"""Leg lengths: plants nearer than this to the ground are on it."""


def _merged(intervals: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Return intervals of each part, those that overlap as one: ball and toe of a rigid foot are one point."""
    out: list[tuple[str, int, int]] = []
    for part, start, end in sorted(intervals):
        if out and out[-1][0] == part and start <= out[-1][2]:
            out[-1] = (part, out[-1][1], max(end, out[-1][2]))
        else:
            out.append((part, start, end))
    return out


def leg_length(body: RobotBody) -> float:
    """Return the mean length of the legs, metres."""
    rest = {name: body.links.rest_point(point.link, np.array(point.place)) for name, point in body.centers.items()}
    return 0.5 * sum(
        float(np.linalg.norm(rest[f"{side}_{a}"] - rest[f"{side}_{b}"]))
        for side in SIDES
        for a, b in (("hip", "knee"), ("knee", "ankle"))
    )
