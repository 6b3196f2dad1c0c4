"""Characters with detached limbs: rigs whose feet or hands are children of the root, as IK controls are.

Such a character is edited on a skeleton with attached limbs, and the result is converted back: its feet are then
animated by position.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.constraints import Constraint
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.result import Result
from footplant.skeleton import Character, Limits, Point, Skeleton
from footplant.solve.ik.limb import LIMBS

_attached: WeakKeyDictionary[Character, Character | None] = WeakKeyDictionary()


def attach_feet(character: Character) -> Character:
    """Return the character with every limb one chain (feet on shanks, shanks on thighs, and so for arms), or itself.

    Joints keep their names and rest positions, but get other indices. The result is cached with the character: tables
    of its body are found once.
    """
    if character not in _attached:
        whole = _attach(character)
        _attached[character] = None if whole is character else whole
    return _attached[character] or character


def _attach(character: Character) -> Character:
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
    """Return the clip on its character with attached limbs (see `attach_feet`), or the clip itself."""
    character = clip.character
    if character.roles is None:
        return clip
    whole = attach_feet(character)
    if whole is character:
        return clip
    return replace(clip, character=whole, motion=attached_motion(clip.motion, whole.skeleton))


def detach_feet(result: Result, character: Character) -> Result:
    """Return a result for a character with attached limbs on its original character."""
    motion = detached_motion(result.motion, character.skeleton)
    return replace(result, clip=replace(result.clip, motion=motion, character=character)).noted(
        "the character's limbs are not in one piece: detached joints are animated by position"
    )


def refuse_constraints_on_detached_feet(character: Character, constraints: Sequence[Constraint]) -> None:
    """Raise if there are further constraints for a character with detached limbs: its joint indices change."""
    if constraints:
        raise ConstraintError(
            f"expected no further constraints for {character.name!r}, whose limbs are not in one piece, "
            f"got {len(constraints)}"
        )


def attached_motion(motion: Motion, whole: Skeleton) -> Motion:
    """Return a motion with detached limbs on the skeleton with attached limbs, with the same world transforms.

    Bones that attach a limb change length where the detached joints moved apart.
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
    """Return a motion with attached limbs on the original skeleton: joints that had been attached move by position."""
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
    """Return joint indices with parents before their children, otherwise in their order."""
    order: list[int] = []
    waiting = list(range(len(parents)))
    placed = {-1}
    while waiting:
        ready = next(joint for joint in waiting if int(parents[joint]) in placed)
        order.append(ready)
        placed.add(ready)
        waiting.remove(ready)
    return np.array(order)


def _local(positions: NDArray, rotations: NDArray, parents: NDArray) -> tuple[NDArray, NDArray]:
    """Return offsets (…, J, 3) and rotations (…, J, 4) in the parents' frames, from world positions and rotations."""
    offsets, local = np.array(positions), np.array(rotations)
    above = parents[parents >= 0]
    below = np.flatnonzero(parents >= 0)
    inverse = rotation.inverse(rotations[..., above, :])
    offsets[..., below, :] = rotation.rotate(inverse, positions[..., below, :] - positions[..., above, :])
    local[..., below, :] = rotation.multiply(inverse, rotations[..., below, :])
    return offsets, local
