"""Transfer of constraints between characters: joints by role, places by leg length (Kulpa 2005, sections 5 and 6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.constraints import (
    Above,
    Apart,
    Area,
    Balance,
    CenterOfMass,
    Constraint,
    Distance,
    Follow,
    Footplant,
    Orientation,
    Position,
    Touch,
)
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.normalized import Normalized
from footplant.normalized.body import Body
from footplant.skeleton import Character, MovingPoint, Point


class ConstraintTransfer:
    """Transfer of constraints from one character to another.

    moved: the retargeted motion's kinematics, from which footplants take their places.
    """

    def __init__(self, source: Character, target: Character, normalized: Normalized, moved: Kinematics) -> None:
        self.source, self.target, self.moved = source, target, moved
        self.origin, self.ratio = normalized.origin, Body(target).leg / Body(source).leg
        self.size_ratio = target.height / source.height if source.height > 0 and target.height > 0 else self.ratio
        self.roles = {
            joint: (role, number)
            for role, chain in source.require_roles().joints.items() for number, joint in enumerate(chain)
        }  # fmt: skip
        self.turned = [humanoid.reference_world(who.skeleton, who.require_roles())[1] for who in (source, target)]

    def place(self, place: NDArray) -> NDArray:
        """Return the target's place (3,) for a place of the source, metres."""
        return self.origin + self.ratio * (np.asarray(place, float) - self.origin)

    def joint(self, joint: int) -> int | None:
        """Return the target's joint of the same role (at the same fraction of a chain), or else of the same name."""
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
        """Return the target's contact point of the same name, or the scaled offset from the joint of the same role."""
        for name, contact in self.source.contacts.items():
            if contact == point and name in self.target.contacts:
                return self.target.contacts[name]
        joint = self.joint(point.joint)
        if joint is None or isinstance(point, MovingPoint):
            return None
        away = rotation.rotate(self.turned[0][point.joint], np.asarray(point.offset)) * self.size_ratio
        x, y, z = rotation.rotate(rotation.inverse(self.turned[1][joint]), away).tolist()
        return Point(joint, (x, y, z))

    def transferred(self, constraint: Constraint) -> Constraint | None:
        """Return the constraint for the target; None if it has no counterpart."""
        chain = constraint.chain
        if chain is not None:
            joints = [self.joint(joint) for joint in chain]
            constraint = replace(constraint, chain=tuple(sorted({joint for joint in joints if joint is not None})))
        if isinstance(constraint, Apart | Touch):
            return self._body(constraint)
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
            return self._footplant(constraint)
        if isinstance(constraint, Position) and not isinstance(constraint.target, Follow):
            return replace(constraint, target=self.place(np.asarray(constraint.target)))
        return constraint

    def _body(self, constraint: Apart | Touch) -> Constraint | None:
        """Return a constraint on parts of the body for the target, measured from its own motion."""
        try:
            if isinstance(constraint, Apart):
                return replace(
                    constraint, character=self.target, margin=self.size_ratio * constraint.margin, source=None
                )
            ends = [self.point(end) if isinstance(end, Point) else end for end in (constraint.part, constraint.other)]
            if ends[0] is None or ends[1] is None:
                return None
            offset = None if constraint.offset is None else self.size_ratio * constraint.offset
            return replace(
                constraint, character=self.target, part=ends[0], other=ends[1], offset=offset, source=None
            )  # fmt: skip
        except ConstraintError:
            # the target lacks a part
            return None

    def _footplant(self, plant: Footplant) -> Footplant:
        """Return a footplant at its mean place in the retargeted motion, at the scaled height of its old place."""
        place = replace(plant, place=None, ground=None).mean_place(self.moved)
        if plant.place is not None:
            place[1] = self.place(np.asarray(plant.place))[1]
        return replace(plant, place=place, ground=None)
