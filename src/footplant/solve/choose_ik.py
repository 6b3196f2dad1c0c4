"""Which inverse kinematics a motion is solved with, and constraints brought into the form that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from footplant.constraints import Constraint, Footplant
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Ik
from footplant.skeleton import Character
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric

IkName = Literal["auto", "hybrid", "numeric"]


def settle(constraints: Sequence[Constraint], kinematics: Kinematics) -> tuple[list[Constraint], list[str]]:
    """The constraints with every free footplant fixed where the motion has it on average, and a sentence for each."""
    found, notes = [], []
    for constraint in constraints:
        if isinstance(constraint, Footplant) and constraint.free:
            constraint = constraint.settled(kinematics)
            place = ", ".join(f"{value:.3f}" for value in np.asarray(constraint.place))
            notes.append(f"{constraint.title}: its place was free; it stands where it is on average, at ({place})")
        found.append(constraint)
    return found, notes


def editing_ik(motion: Motion, character: Character) -> Hybrid:
    """Hybrid ik for the figure of a motion: what holds already stays as it is, straight knees too."""
    return Hybrid(character, as_straight_as=motion, softness=0.001)


def choose_ik(
    motion: Motion, character: Character, constraints: Sequence[Constraint], name: IkName = "auto"
) -> tuple[Ik, str | None]:
    """What poses single frames of a motion, and why, where that was not asked for."""
    if name == "numeric":
        return Numeric(), None
    if name not in ("auto", "hybrid"):
        raise ConstraintError(f"expected an ik among auto, hybrid, numeric; got {name!r}")
    if name == "hybrid":
        return editing_ik(motion, character), None
    if character.roles is None:
        return Numeric(), f"numeric ik was taken: {character.name!r} has no human roles"
    hybrid = editing_ik(motion, character)
    for constraint in constraints:
        reason = hybrid.refuses(constraint)
        if reason:
            return Numeric(), f"numeric ik was taken, because of {constraint.title!r}: {reason}"
    return hybrid, None
