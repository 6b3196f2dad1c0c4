"""Rotations from positions: a skeleton whose bones have the lengths that were measured, posed onto the joints.

A joint with several bones turns as they do, by least squares (Kabsch 1976). One with a single bone follows it by the
smallest turn from its parent, because nothing tells how it rolls about the bone. Bones of one joint keep the places
that they have in its frame on average, a single bone its median length, so a rigid figure is met exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation

PRIOR = 1e-9
"""Weight of the parent's turn beside the bones: it decides only what the bones leave open."""
IN_LINE = 0.02
"""Ratio of their second to their first extent below which the bones of a joint lie in a line and tell no roll."""
ROUNDS = 2
"""Times that turns and places of bones in a joint's frame are found in turn."""
NO_LENGTH = 1e-9
"""A bone shorter than this, in the positions' units, has no direction."""


def find_offsets(positions: NDArray, parents: NDArray, rest: NDArray, turn: NDArray) -> NDArray:
    """Places (J, 3) of joints in their parents' frames, measured on some frames of positions (F, J, 3).

    rest (J, 3) has the bones as they lie in the rest pose, any lengths; turn (4,) turns the rest pose as a whole.
    Parents come before their children.
    """
    offsets = np.zeros(rest.shape)
    world = np.empty((*positions.shape[:2], 4))
    for joint, children in enumerate(_children(parents)):
        bones = positions[:, children] - positions[:, joint, None]
        lengths = np.median(np.linalg.norm(bones, axis=-1), axis=0)
        places = rest[children]
        sizes = np.linalg.norm(places, axis=-1, keepdims=True)
        offsets[children] = places / np.where(sizes > 0, sizes, 1.0) * lengths[:, None]
        above = _above(world, joint, parents, turn)
        world[:, joint] = _turn(bones, offsets[children], above)
        if np.count_nonzero(lengths > NO_LENGTH) > 1:  # what several bones have in common is the joint's own frame
            for _ in range(ROUNDS):
                inside = rotation.rotate(rotation.inverse(world[:, joint, None]), bones)
                offsets[children] = np.mean(inside, axis=0)
                world[:, joint] = _turn(bones, offsets[children], above)
    return offsets


def pose(positions: NDArray, parents: NDArray, offsets: NDArray, turn: NDArray) -> NDArray:
    """World rotations (F, J, 4) that bring a skeleton with those offsets onto positions (F, J, 3)."""
    world = np.empty((*positions.shape[:2], 4))
    for joint, children in enumerate(_children(parents)):
        bones = positions[:, children] - positions[:, joint, None]
        world[:, joint] = _turn(bones, offsets[children], _above(world, joint, parents, turn))
    return rotation.normalize(world)


def _children(parents: NDArray) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parents]
    for joint in range(1, len(parents)):
        children[parents[joint]].append(joint)
    return children


def _above(world: NDArray, joint: int, parents: NDArray, turn: NDArray) -> NDArray:
    """What a joint's turn is measured from: its parent's, or the rest pose's."""
    return np.broadcast_to(turn, (len(world), 4)) if joint == 0 else world[:, parents[joint]]


def _turn(bones: NDArray, places: NDArray, above: NDArray) -> NDArray:
    """World rotations (F, 4) of a joint whose bones (F, B, 3) are at places (B, 3) in its frame."""
    lengths = np.linalg.norm(places, axis=-1)
    long = np.flatnonzero(lengths > NO_LENGTH)
    if len(long) == 0:
        return above
    if _in_line(places[long]):
        bone = int(np.argmax(lengths))
        swing = rotation.between(rotation.rotate(above, places[bone]), bones[:, bone])
        return rotation.multiply(swing, above)
    bones, places = bones[:, long], places[long]
    scale = float(np.sum(places * places))
    spread = np.einsum("fbi,bj->fij", bones, places) / scale + PRIOR * rotation.to_matrix(above)
    u, _, vt = np.linalg.svd(spread)
    flip = np.ones((len(bones), 3))
    flip[:, 2] = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    return rotation.from_matrix((u * flip[:, None]) @ vt)


def _in_line(places: NDArray) -> bool:
    """Whether bones point along one line, or there is only one."""
    extents = np.linalg.svd(places, compute_uv=False)
    return len(places) < 2 or bool(extents[1] < IN_LINE * extents[0])
