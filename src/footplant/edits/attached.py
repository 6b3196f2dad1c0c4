"""Characters whose limbs are in pieces: feet that hang on the root, as rigs have them whose animators drag the feet.

Such a figure is put together, edited, and taken apart again: its feet then move by position.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.ik.limb import LIMBS
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, Limits, Point, Skeleton


def attached(character: Character) -> Character:
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


def taken_apart(motion: Motion, skeleton: Skeleton) -> Motion:
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
    offsets[:, kept] = skeleton.offsets[kept]
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
