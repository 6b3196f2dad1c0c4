"""Rotations from positions: fit a skeleton with measured bone lengths to joint positions.

A joint with several bones gets the rotation R that minimises Σ_b ‖bone_b − R place_b‖² (Kabsch 1976). One with a
single bone takes the smallest rotation from its parent's, since roll about the bone is unobservable. The bones of a
joint get their mean places in its frame, a single bone its median length, so a rigid skeleton is fitted exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation


@dataclass(frozen=True)
class FitSettings:
    """How rotations are fitted to positions. No experiment is on record for them."""

    parent_weight: float = 1e-9
    """Weight of the parent's rotation relative to the bones'; it only decides what the bones leave undetermined."""
    collinear: float = 0.02
    """Ratio of the bones' second to first singular value; below, they are collinear and do not determine roll."""
    iterations: int = 2
    """Alternations between fitting rotations and averaging places of bones."""
    min_length: float = 1e-9
    """File units. A shorter bone has no direction."""


SETTINGS = FitSettings()


def find_offsets(positions: NDArray, parents: NDArray, rest: NDArray, turn: NDArray) -> NDArray:
    """Return bone offsets (J, 3) in the parents' frames, measured on positions (F, J, 3).

    rest: (J, 3) bones in the rest pose, of any length. turn: (4,) rotation of the rest pose as a whole. Parents come
    before their children.
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
        if np.count_nonzero(lengths > SETTINGS.min_length) > 1:  # several bones define a frame for the joint
            for _ in range(SETTINGS.iterations):
                inside = rotation.rotate(rotation.inverse(world[:, joint, None]), bones)
                offsets[children] = np.mean(inside, axis=0)
                world[:, joint] = _turn(bones, offsets[children], above)
    return offsets


def pose(positions: NDArray, parents: NDArray, offsets: NDArray, turn: NDArray) -> NDArray:
    """Return world rotations (F, J, 4) that fit a skeleton with those offsets to positions (F, J, 3)."""
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
    """Return the reference rotation (F, 4) of a joint: its parent's, or the rest pose's."""
    return np.broadcast_to(turn, (len(world), 4)) if joint == 0 else world[:, parents[joint]]


def _turn(bones: NDArray, places: NDArray, above: NDArray) -> NDArray:
    """Return world rotations (F, 4) of a joint whose bones (F, B, 3) are at places (B, 3) in its frame."""
    lengths = np.linalg.norm(places, axis=-1)
    long = np.flatnonzero(lengths > SETTINGS.min_length)
    if len(long) == 0:
        return above
    if _collinear(places[long]):
        bone = int(np.argmax(lengths))
        swing = rotation.between(rotation.rotate(above, places[bone]), bones[:, bone])
        return rotation.multiply(swing, above)
    bones, places = bones[:, long], places[long]
    scale = float(np.sum(places * places))
    # Kabsch: R = U diag(1, 1, det(U Vᵀ)) Vᵀ for the cross-covariance Σ bone placeᵀ = U S Vᵀ
    covariance = np.einsum("fbi,bj->fij", bones, places) / scale + SETTINGS.parent_weight * rotation.to_matrix(above)
    u, _, vt = np.linalg.svd(covariance)
    flip = np.ones((len(bones), 3))
    flip[:, 2] = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    return rotation.from_matrix((u * flip[:, None]) @ vt)


def _collinear(places: NDArray) -> bool:
    """Return whether bones point along one line, or there is only one."""
    extents = np.linalg.svd(places, compute_uv=False)
    return len(places) < 2 or bool(extents[1] < SETTINGS.collinear * extents[0])
