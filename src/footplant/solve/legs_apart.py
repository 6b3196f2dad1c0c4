"""Lower legs apart: how far ankles must move so that shin, foot and toes of one leg are outside the other one."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.body_shell import GROUPS, BodyShell
from footplant.humanoid.reference import reference_pose
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.limb import Limb


@dataclass(frozen=True)
class ApartSettings:
    """Lengths of the rows that keep legs apart."""

    left: float = 0.003
    """Metres of depth that are left alone: a shell of 72 samples is that accurate."""
    clear: float = 0.004
    """Metres by which a leg is moved further than that: out of the other, and a little beyond."""
    most: float = 0.05
    """Body heights; a leg that is deeper inside the other has passed through it, and is left there."""
    knee: float = 0.5
    """Fraction of an ankle's displacement by which the knee follows it."""


APART = ApartSettings()
LEGS = np.array([GROUPS.index("left_leg"), GROUPS.index("right_leg")])

_tables_of: WeakKeyDictionary[Character, tuple] = WeakKeyDictionary()
"""Results of `_tables`: every round of a solve needs them."""


def legs_apart(
    kinematics: Kinematics, character: Character, legs: tuple[Limb, Limb], stuck: NDArray,
    settings: ApartSettings = APART,
) -> tuple[NDArray, NDArray] | None:  # fmt: skip
    """Return how far ankles must be from each other for the lower legs to be outside each other; None: they are.

    Level unit directions (F, 3), and the least distance (F,) of the left ankle from the right one along them, metres
    (−∞ where nothing is asked). Depth that the reference pose has is allowed. stuck (F,): where nothing can move them.
    """
    from footplant.kernels.shell import new_posed
    from footplant.solve import _legs_apart as kernel

    shell, shares, spare = _tables(character, legs)
    found = np.empty((len(kinematics.motion), 4))
    posed = new_posed(shell)
    kernel.deepest(shell, LEGS, shares, spare, stuck, kinematics.positions, kinematics.rotations, posed, found)
    aside, depth = np.ascontiguousarray(found[:, :3]), found[:, 3]
    inside = (depth > 0.0) & (depth < settings.most * character.height)
    if not inside.any():
        return None
    now = (aside * (kinematics.positions[:, legs[0].end] - kinematics.positions[:, legs[1].end])).sum(axis=1)
    return aside, np.where(inside, now + depth + settings.clear, -np.inf)


def _tables(character: Character, legs: tuple[Limb, Limb]):
    from footplant.kernels.shell import new_posed
    from footplant.solve import _legs_apart as kernel

    if character in _tables_of:
        return _tables_of[character]
    skeleton, roles = character.skeleton, character.require_roles()
    shell = BodyShell.of(character).tables()
    pose = reference_pose(skeleton, roles)
    still = Kinematics(Motion(skeleton, np.zeros((1, 3)), pose[None], 30.0))
    below = [set(skeleton.descendants(leg.lower)) for leg in legs]
    shares, posed = np.zeros(len(shell.normals)), new_posed(shell)
    for number, (group, leg) in enumerate(zip(LEGS, legs)):
        knee, ankle = still.positions[0, leg.lower], still.positions[0, leg.end]
        line = ankle - knee
        for sample in range(shell.clusters[shell.groups[group]], shell.clusters[shell.groups[group + 1]]):
            joint, place = shell.joints[shell.starts[sample]], shell.places[shell.starts[sample]]
            if joint in below[number]:
                at = still.positions[0, joint] + rotation.rotate(still.rotations[0, joint], place)
                along = float(np.clip((at - knee) @ line / max(line @ line, 1e-12), 0.0, 1.0))
                shares[sample] = APART.knee + (1.0 - APART.knee) * along
    spare = np.empty(len(shares))
    kernel.depths(shell, LEGS, shares, still.positions[0], still.rotations[0], posed, spare)
    spare += APART.left
    _tables_of[character] = shell, shares, spare
    return _tables_of[character]
