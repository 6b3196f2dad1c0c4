"""One motion for any character, with its constraints: normalised, scaled, converted, and its constraints solved again.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), sections 3 to 9. `edits.retarget` looks at the whole clip; this one works frame by frame, as live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.clip import Clip
from footplant.constraints import (
    Above,
    Area,
    Balance,
    CenterOfMass,
    Constraint,
    Distance,
    Follow,
    Footplant,
    Orientation,
    Position,
)
from footplant.feet.steps import foot_length
from footplant.kinematics import Kinematics
from footplant.normalized import Normalized, convert, normalize, scale
from footplant.normalized.body import Body
from footplant.problem import Problem, Progress, Solution
from footplant.skeleton import Character, MovingPoint, Point
from footplant.solve.ik.groupccd import GroupCcd
from footplant.solve.methods.perframe import PerFrame


def share(
    clip: Clip,
    target: Character,
    constraints: Sequence[Constraint] = (),
    *,
    normalized: Normalized | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The clip on another character, by way of its normalised form; its constraints hold on the new body.

    constraints: on the clip's own character; they are carried over by role, their places scaled with the legs about the
    motion's origin. normalized: the clip's normalised form where it is known already.
    """
    normalized = normalized or normalize(clip.motion, clip.character)
    motion = convert(scale(normalized, target))
    carrier = _Carrier(clip.character, target, normalized, Kinematics(motion))
    carried, notes = [], []
    for constraint in constraints:
        made = carrier.carry(constraint)
        if made is None:
            notes.append(f"{constraint.title}: {target.name!r} has nothing that it could hold of; left out")
        else:
            carried.append(made)
    carried = _agreeing(carried, target)
    solver = GroupCcd(target)
    refused = {id(c): solver.refuses(c) for c in carried}
    notes += [f"{c.title}: left out: {refused[id(c)]}" for c in carried if refused[id(c)]]
    problem = Problem(motion, target, tuple(c for c in carried if not refused[id(c)]))
    return PerFrame(solver).solve(problem, progress).noted(*notes)


class _Carrier:
    """Carries constraints from one figure to another."""

    def __init__(self, source: Character, target: Character, normalized: Normalized, moved: Kinematics) -> None:
        self.source, self.target, self.moved = source, target, moved
        self.origin, self.ratio = normalized.origin, Body(target).leg / Body(source).leg
        self.growth = target.height / source.height if source.height > 0 and target.height > 0 else self.ratio
        self.roles = {
            joint: (role, number)
            for role, chain in source.require_roles().joints.items() for number, joint in enumerate(chain)
        }  # fmt: skip
        self.turned = [
            humanoid.reference_world(figure.skeleton, figure.require_roles())[1] for figure in (source, target)
        ]

    def place(self, place: NDArray) -> NDArray:
        """A place of the source for the target."""
        return self.origin + self.ratio * (np.asarray(place, float) - self.origin)

    def joint(self, joint: int) -> int | None:
        """The target's joint of the same role; of a chain, as far along it."""
        if joint not in self.roles:
            names = self.target.skeleton.names
            name = self.source.skeleton.names[joint]
            return names.index(name) if name in names else None
        role, number = self.roles[joint]
        own, chain = self.source.require_roles().joints[role], self.target.require_roles().joints.get(role)
        if chain is None:
            return None
        return chain[round(number * (len(chain) - 1) / (len(own) - 1))] if len(own) > 1 else chain[0]

    def point(self, point: Point) -> Point | None:
        """The target's point: the contact point of the same name, or beside the joint of the same role."""
        for name, contact in self.source.contacts.items():
            if contact == point and name in self.target.contacts:
                return self.target.contacts[name]
        joint = self.joint(point.joint)
        if joint is None or isinstance(point, MovingPoint):
            return None
        away = rotation.rotate(self.turned[0][point.joint], np.asarray(point.offset)) * self.growth
        x, y, z = rotation.rotate(rotation.inverse(self.turned[1][joint]), away).tolist()
        return Point(joint, (x, y, z))

    def carry(self, constraint: Constraint) -> Constraint | None:
        """The same constraint on the target; None where that has no meaning."""
        chain = constraint.chain
        if chain is not None:
            joints = [self.joint(joint) for joint in chain]
            constraint = replace(constraint, chain=tuple(sorted({joint for joint in joints if joint is not None})))
        if isinstance(constraint, Balance):
            return replace(constraint, character=self.target, support=())
        if isinstance(constraint, CenterOfMass) and not isinstance(constraint.target, Follow):
            return replace(constraint, character=self.target, target=self.place(np.asarray(constraint.target)))
        if isinstance(constraint, Orientation):
            joint = self.joint(constraint.joint)
            if joint is None:
                return None
            turn = rotation.multiply(constraint.target, rotation.inverse(self.turned[0][constraint.joint]))
            return replace(constraint, joint=joint, target=rotation.multiply(turn, self.turned[1][joint]))
        if not isinstance(constraint, Position | Footplant | Distance | Area | Above):
            return None
        point = self.point(constraint.point)
        if point is None:
            return None
        constraint = replace(constraint, point=point)
        if isinstance(constraint, Distance):
            other = self.point(constraint.other)
            return None if other is None else replace(constraint, other=other)
        if isinstance(constraint, Footplant):
            return self._plant(constraint)
        if isinstance(constraint, Position) and not isinstance(constraint.target, Follow):
            return replace(constraint, target=self.place(np.asarray(constraint.target)))
        return constraint

    def _plant(self, plant: Footplant) -> Footplant:
        """A plant where the scaled motion has it on average, at the scaled height of where it was."""
        place = replace(plant, place=None, ground=None).mean_place(self.moved)
        if plant.place is not None:
            place[1] = self.place(np.asarray(plant.place))[1]
        return replace(plant, place=place, ground=None)


def _agreeing(constraints: Sequence[Constraint], target: Character) -> list[Constraint]:
    """Plants of a ball that stands while its heel does, moved to be as far from it as the foot is long."""
    found = list(constraints)
    for side in ("left", "right"):
        heel, ball = (target.contacts.get(f"{side}_{part}") for part in ("heel", "ball"))
        if heel is None or ball is None:
            continue
        length = foot_length(target, side)
        heels = [c for c in found if isinstance(c, Footplant) and c.point == heel and isinstance(c.frames, range)]
        for number, plant in enumerate(found):
            if not (isinstance(plant, Footplant) and plant.point == ball and isinstance(plant.frames, range)):
                continue
            beside = [h for h in heels if h.frames.start < plant.frames.stop and plant.frames.start < h.frames.stop]  # type: ignore[union-attr]
            if not beside:
                continue
            line = (np.asarray(plant.place) - np.asarray(beside[0].place)) * [1.0, 0.0, 1.0]
            drop = float(np.asarray(plant.place)[1] - np.asarray(beside[0].place)[1])
            level = np.sqrt(max(length**2 - drop**2, 0.0)) * line / max(float(np.linalg.norm(line)), 1e-9)
            found[number] = replace(plant, place=np.asarray(beside[0].place) + level + [0.0, drop, 0.0])
    return found


def plants_of(clip: Clip, ramp: float = 0.15) -> tuple[Footplant, ...]:
    """The clip's footplants as constraints that can travel with it: heel and ball, found by `analysis.contacts`."""
    from footplant.contacts.detection import find_contacts

    contacts = find_contacts(clip)
    kinematics = Kinematics(clip.motion)
    found = []
    for name in contacts.points:
        for start, stop in contacts.intervals(name):
            plant = Footplant(
                name=name, point=clip.character.contacts[name], frames=range(start, stop), ramp=(ramp, ramp), priority=2
            )
            found.append(plant.settled(kinematics))
    return tuple(found)
