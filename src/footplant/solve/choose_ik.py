"""Choose the inverse kinematics for a problem, and fix footplants whose place is free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from footplant.constraints import Constraint, Footplant
from footplant.contacts.ground import Ground
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Ik
from footplant.skeleton import Character
from footplant.solve.ik.bounds import pose_bounds, rigidities
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric
from footplant.solve.ik.settings import EDITING

IkName = Literal["auto", "hybrid", "numeric"]


def settle(constraints: Sequence[Constraint], kinematics: Kinematics) -> tuple[list[Constraint], list[str]]:
    """Return the constraints bound to the motion, free footplants fixed at their mean position, and a note for each."""
    found, notes = [], []
    for constraint in (each.bound_to(kinematics.motion) for each in constraints):
        if isinstance(constraint, Footplant) and constraint.free:
            constraint = constraint.settled(kinematics)
            place = ", ".join(f"{value:.3f}" for value in np.asarray(constraint.place))
            notes.append(f"{constraint.title}: its place is free and was fixed at its mean position, ({place})")
        found.append(constraint)
    return found, notes


def editing_ik(motion: Motion, character: Character) -> Hybrid:
    """Return hybrid IK for editing a motion of this character: met constraints change nothing, straight knees stay."""
    return Hybrid(character, as_straight_as=motion, softness=0.001)


def posing_ik(
    motion: Motion, character: Character, ground: Ground | None, constraints: Sequence[Constraint] = ()
) -> Numeric:
    """Return the IK of direct manipulation and fitting: equation 4 over all joints, within limits, above the ground.

    motion: the clip, whose own excess of limits and depth in the ground are allowed; so are those of footplants among
    the constraints.
    """
    bounds = pose_bounds(motion, character, ground, constraints)
    if bounds is None:
        return Numeric()
    return Numeric(place=EDITING.rigidity["place"], joints=rigidities(character), bounds=bounds)


def choose_ik(
    motion: Motion, character: Character, constraints: Sequence[Constraint], name: IkName = "auto"
) -> tuple[Ik, str | None]:
    """Return the Ik for a motion, and the reason if it differs from the default."""
    if name == "numeric":
        return Numeric(), None
    if name not in ("auto", "hybrid"):
        raise ConstraintError(f"expected an ik among auto, hybrid, numeric; got {name!r}")
    if name == "hybrid":
        return editing_ik(motion, character), None
    if character.roles is None:
        return Numeric(), f"numeric IK is used: {character.name!r} has no humanoid roles"
    hybrid = editing_ik(motion, character)
    for constraint in constraints:
        reason = hybrid.refuses(constraint)
        if reason:
            return Numeric(), f"numeric IK is used because of {constraint.title!r}: {reason}"
    return hybrid, None
