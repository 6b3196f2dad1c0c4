"""Morphological adaptation: apply a character's lengths to a normalised motion (Kulpa 2005, section 6, equation 2)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import all_finite, real_array
from footplant.errors import MotionError, SkeletonError
from footplant.normalized.body import Body
from footplant.normalized.model import Normalized, Scaled
from footplant.skeleton import Character


def scale(normalized: Normalized, character: Character, offsets: ArrayLike | None = None) -> Scaled:
    """Return the normalised motion with the character's own lengths (section 6, equation 2).

    offsets: (F, J, 3) metres, the character's offsets at every frame if its lengths change while it moves.
    """
    body, frames = Body(character), len(normalized)
    bones = _bones_in_time(normalized, body) if offsets is None else real_array(offsets, "offsets", MotionError)
    if bones is not None and bones.shape != (frames, len(character.skeleton), 3):
        raise MotionError(f"expected offsets of shape ({frames}, {len(character.skeleton)}, 3), got {bones.shape}")
    if bones is not None:
        all_finite(bones, "offsets", MotionError)
    local = other_turns(normalized, body)
    limbs = {name: _limb_bones(body, name, bones, local) for name in body.limbs if name in normalized.limbs}
    lengths = {}
    for name, pair in limbs.items():
        both = np.linalg.norm(pair[0], axis=1) + np.linalg.norm(pair[1], axis=1)
        if not (np.linalg.norm(pair[0], axis=1).min() > 0 and np.linalg.norm(pair[1], axis=1).min() > 0):
            raise SkeletonError(f"expected bones of some length in the {name.replace('_', ' ')} of {character.name!r}")
        lengths[name] = np.broadcast_to(normalized.limbs[name].length * both, (frames,))
    legs = body.legs(bones)
    above, length = body.heights(legs, normalized.on_hands)
    hips = normalized.origin + normalized.root * legs[:, None]
    hips[:, 1] = normalized.origin[1] + above + normalized.root[:, 1] * length
    return Scaled(normalized, character, hips, bones, lengths, limbs)


def _bones_in_time(normalized: Normalized, body: Body) -> NDArray | None:
    names = {name: joint for joint, name in enumerate(body.skeleton.names)}
    changes = {names[name]: change for name, change in normalized.moving.items() if name in names}
    if not changes:
        return None
    bones = np.tile(body.skeleton.offsets, (len(normalized), 1, 1))
    for joint, change in changes.items():
        bones[:, joint] += change * body.leg
    return bones


def other_turns(normalized: Normalized, body: Body) -> dict[int, NDArray]:
    """Return joint → local rotations (F, 4) of joints that are not part of the normalised skeleton."""
    parents, found = body.skeleton.parents, {}
    for joint, key in body.keys.items():
        turn = normalized.others.get(key)
        if turn is None:
            continue
        above = body.rotations[parents[joint]] if joint else rotation.identity()
        found[joint] = rotation.multiply(rotation.multiply(rotation.inverse(above), turn), body.rotations[joint])
    return found


def _limb_bones(
    body: Body, name: str, offsets: NDArray | None, local: Mapping[int, NDArray]
) -> tuple[NDArray, NDArray]:
    """Return a limb's bones (F or 1, 3) in the frames of their joints, through joints that lie inside them."""
    joints = body.limbs[name]
    found = []
    for start, stop in pairwise(joints):
        if name not in body.parts:
            change = body.positions[stop] - body.positions[start]
            found.append(rotation.rotate(rotation.inverse(body.rotations[start]), change)[None])
            continue
        position, turn = np.zeros((1, 3)), rotation.identity(1)
        for joint in body.skeleton.chain(stop, start)[1:]:
            bone = body.skeleton.offsets[joint][None] if offsets is None else offsets[:, joint]
            position = position + rotation.rotate(turn, bone)
            turn = rotation.multiply(turn, local.get(joint, body.pose[joint][None]))
        found.append(position)
    return found[0], found[1]
