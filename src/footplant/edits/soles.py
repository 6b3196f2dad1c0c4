"""What lies between plants: toes that lie flat while the ball stands, and soles that stay out of the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.analysis.ground import Ground, normal_of
from footplant.constraints import Above, Footplant
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

SOLE = ("heel", "ball", "toe")


def level_toes(motion: Motion, character: Character, plants: Sequence[Footplant], ground: Ground) -> Motion:
    """Toes lie on the ground while the ball of their foot is planted, whatever the source's toes did (or had).

    They are turned by the least rotation that makes their sole parallel to the ground, as far as the plant is at work.
    """
    roles, skeleton = character.require_roles(), character.skeleton
    kinematics, rotations = Kinematics(motion), np.array(motion.rotations)
    reference = skeleton.posed(humanoid.reference_pose(skeleton, roles))[1]
    for side in ("left", "right"):
        toes, point = roles.get(f"{side}_toes"), character.contacts.get(f"{side}_ball")
        if toes is None or point is None or skeleton.parents[toes] < 0:
            continue
        share = np.zeros(len(motion))
        for plant in plants:
            if plant.point == point:
                share = np.maximum(share, plant.activation(kinematics.frames, motion.fps))
        if not share.any():
            continue
        world = kinematics.rotations[:, toes]
        up = rotation.rotate(world, rotation.rotate(rotation.inverse(reference[toes]), rotation.AXES["y"]))
        turn = rotation.between(up, normal_of(ground, kinematics.point(point)[:, ::2]))
        turned = rotation.multiply(rotation.exp(share[:, None] * rotation.log(turn)), world)
        above = kinematics.rotations[:, skeleton.parents[toes]]
        rotations[:, toes] = rotation.multiply(rotation.inverse(above), turned)
    return replace(motion, rotations=rotation.normalize(rotations))


def stay_above(
    character: Character, ground: Ground, frames: range, clearances: Mapping[str, ArrayLike] | None = None
) -> tuple[Above, ...]:
    """Heel, ball and toe of both feet never go below the ground, or not deeper than `clearances` says (by point)."""
    return tuple(
        Above(
            point=character.contacts[f"{side}_{part}"],
            ground=ground,
            frames=frames,
            clearance=0.0 if clearances is None else clearances.get(f"{side}_{part}", 0.0),
            name=f"{side} {part} above the ground",
        )
        for side in ("left", "right")
        for part in SOLE
        if f"{side}_{part}" in character.contacts
    )


def depths(kinematics: Kinematics, character: Character, ground: Ground) -> dict[str, NDArray]:
    """Contact point of a sole → (F,) metres, 0 or below: how deep it is in the ground."""
    found = {}
    for side in ("left", "right"):
        for part in SOLE:
            if f"{side}_{part}" in character.contacts:
                place = kinematics.point(character.contacts[f"{side}_{part}"])
                found[f"{side}_{part}"] = np.minimum(place[:, 1] - ground.height(place[:, ::2]), 0.0)
    return found
