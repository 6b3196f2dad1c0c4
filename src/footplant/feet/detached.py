"""Characters whose limbs are in pieces: feet that hang on the root, as rigs have them whose animators drag the feet.

Such a figure is put together, edited, and taken apart again: its feet then move by position.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.constraints import Constraint
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Solution
from footplant.skeleton import Character, Limits, Point, Skeleton
from footplant.solve.ik.limb import LIMBS


def attach_feet(character: Character) -> Character:
    """The figure with every limb in one piece: shanks on thighs, feet on shanks, and so for arms; itself if it is so.

    Joints keep their names and their places in the rest pose, but get other numbers.
    """
    skeleton, roles = character.skeleton, character.require_roles()
    parents = skeleton.parents.copy()
    for chain in LIMBS.values():
        for above, below in itertools.pairwise(chain):
            if above in roles and below in roles and not _is_above(parents, roles[above], roles[below]):
                if _is_above(parents, roles[below], roles[above]):
                    return character
                parents[roles[below]] = roles[above]
    if np.array_equal(parents, skeleton.parents):
        return character
    order = _parents_first(parents)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    places, turned = skeleton.rest_world
    offsets, rest = _local(places, turned, parents)
    reference = roles.reference
    if reference is not None:
        reference = _local(*skeleton.posed(reference), parents)[1][order]
    skin, limits = character.skin, character.limits
    return replace(
        character,
        skeleton=Skeleton(
            tuple(skeleton.names[joint] for joint in order),
            np.where(parents[order] < 0, -1, number[parents[order]]),
            offsets[order],
            rest[order],
            number[skeleton.end_parents],
            skeleton.end_offsets,
        ),
        roles=replace(
            roles,
            joints={role: tuple(int(number[joint]) for joint in chain) for role, chain in roles.joints.items()},
            reference=reference,
        ),
        contacts={
            name: Point(int(number[point.joint]), point.offset) for name, point in character.contacts.items()
        },
        masses=None if character.masses is None else character.masses[order],
        mass_centers=None if character.mass_centers is None else character.mass_centers[order],
        limits=None if limits is None else Limits(limits.lower[order], limits.upper[order]),
        skin=None if skin is None else replace(skin, joints=number[skin.joints], inverse_bind=skin.inverse_bind[order]),
    )  # fmt: skip


def with_attached_feet(clip: Clip) -> Clip:
    """The clip on its figure with every limb in one piece (see `attach_feet`); itself if it is so."""
    character = clip.character
    if character.roles is None:
        return clip
    whole = attach_feet(character)
    if whole is character:
        return clip
    return replace(clip, character=whole, motion=attached_motion(clip.motion, whole.skeleton))


def detach_feet(solution: Solution, skeleton: Skeleton) -> Solution:
    """An answer for a figure that was put together, on its own skeleton."""
    return replace(solution, motion=detached_motion(solution.motion, skeleton)).noted(
        "limbs of the character are not in one piece: their ends move by position"
    )


def refuse_constraints_on_detached_feet(character: Character, constraints: Sequence[Constraint]) -> None:
    """Raise where further constraints are asked of a figure in pieces: its joints get other numbers."""
    if constraints:
        raise ConstraintError(
            f"expected no further constraints for {character.name!r}, whose limbs are not in one piece, "
            f"got {len(constraints)}"
        )


def attached_motion(motion: Motion, whole: Skeleton) -> Motion:
    """A motion of a figure in pieces on its skeleton in one piece: every joint is where it was, and as it was turned.

    Bones that join the pieces change their length as far as the pieces really moved apart.
    """
    kinematics, skeleton = Kinematics(motion), motion.skeleton
    order = [skeleton.index(name) for name in whole.names]
    offsets, local = _local(kinematics.positions[:, order], kinematics.rotations[:, order], whole.parents)
    root = offsets[:, 0]
    rows = np.arange(1, len(whole))
    moving = np.array(np.broadcast_to(whole.offsets, offsets.shape))
    moving[:, rows] = offsets[:, rows]
    same = bool(np.abs(moving - whole.offsets).max(initial=0.0) < 1e-6)
    return Motion(whole, root, rotation.unroll(rotation.normalize(local)), motion.fps, None if same else moving)


def detached_motion(motion: Motion, skeleton: Skeleton) -> Motion:
    """A motion of a figure that was put together, on its own skeleton: what was put on something moves by position."""
    kinematics = Kinematics(motion)
    order = [motion.skeleton.index(name) for name in skeleton.names]
    places, turned = kinematics.positions[:, order], kinematics.rotations[:, order]
    offsets, local = _local(places, turned, skeleton.parents)
    kept = [
        joint
        for joint, parent in enumerate(skeleton.parents.tolist())
        if parent < 0 or motion.skeleton.parents[order[joint]] == order[parent]
    ]
    bones = skeleton.offsets if motion.offsets is None else motion.offsets[:, order]
    offsets[:, kept] = bones[..., kept, :]
    rotations = rotation.unroll(rotation.normalize(local))
    return Motion(skeleton, motion.root, rotations, motion.fps, offsets)


def _is_above(parents: NDArray, above: int, joint: int) -> bool:
    while joint >= 0 and joint != above:
        joint = int(parents[joint])
    return joint == above


def _parents_first(parents: NDArray) -> NDArray:
    """Joint numbers in an order in which parents come before their children, otherwise as they were."""
    order: list[int] = []
    waiting = list(range(len(parents)))
    placed = {-1}
    while waiting:
        ready = next(joint for joint in waiting if int(parents[joint]) in placed)
        order.append(ready)
        placed.add(ready)
        waiting.remove(ready)
    return np.array(order)


def _local(places: NDArray, turned: NDArray, parents: NDArray) -> tuple[NDArray, NDArray]:
    """Offsets and rotations in the parents' frames from those of the world, (…, J, 3) and (…, J, 4)."""
    offsets, local = np.array(places), np.array(turned)
    above = parents[parents >= 0]
    below = np.flatnonzero(parents >= 0)
    back = rotation.inverse(turned[..., above, :])
    offsets[..., below, :] = rotation.rotate(back, places[..., below, :] - places[..., above, :])
    local[..., below, :] = rotation.multiply(back, turned[..., below, :])
    return offsets, local
