"""Lengths in: a normalised motion with the lengths of a figure (Kulpa 2005, section 6, equation 2)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.errors import MotionError
from footplant.normalized.body import Body
from footplant.normalized.model import Normalized, Scaled
from footplant.skeleton import Character


def scale(normalized: Normalized, character: Character, offsets: ArrayLike | None = None) -> Scaled:
    """Morphological adaptation (section 6, equation 2): every part gets the figure's own lengths.

    offsets: (F, J, 3) metres, the figure's bones at every frame where its lengths change while it moves.
    """
    body, frames = Body(character), len(normalized)
    bones = _bones_in_time(normalized, body) if offsets is None else np.asarray(offsets, float)
    if bones is not None and bones.shape != (frames, len(character.skeleton), 3):
        raise MotionError(f"expected offsets of shape ({frames}, {len(character.skeleton)}, 3), got {bones.shape}")
    local = other_turns(normalized, body)
    limbs = {name: _limb_bones(body, name, bones, local) for name in body.limbs if name in normalized.limbs}
    lengths = {}
    for name, pair in limbs.items():
        both = np.linalg.norm(pair[0], axis=1) + np.linalg.norm(pair[1], axis=1)
        lengths[name] = np.broadcast_to(normalized.limbs[name].length * both, (frames,))
    hips = normalized.origin + [0.0, body.ankle, 0.0] + normalized.root * body.legs(bones)[:, None]
    return Scaled(normalized, character, hips, bones, lengths, limbs)


def _bones_in_time(normalized: Normalized, body: Body) -> NDArray | None:
    names = {name: joint for joint, name in enumerate(body.skeleton.names)}
    carried = {names[name]: away for name, away in normalized.moving.items() if name in names}
    if not carried:
        return None
    bones = np.tile(body.skeleton.offsets, (len(normalized), 1, 1))
    for joint, away in carried.items():
        bones[:, joint] += away * body.leg
    return bones


def other_turns(normalized: Normalized, body: Body) -> dict[int, NDArray]:
    """Joint → (F, 4) local rotations of joints that are no part of the normalised body."""
    parents, found = body.skeleton.parents, {}
    for joint, key in body.keys.items():
        turn = normalized.others.get(key)
        if turn is None:
            continue
        above = body.turned[parents[joint]] if joint else rotation.identity()
        found[joint] = rotation.multiply(rotation.multiply(rotation.inverse(above), turn), body.turned[joint])
    return found


def _limb_bones(
    body: Body, name: str, offsets: NDArray | None, local: Mapping[int, NDArray]
) -> tuple[NDArray, NDArray]:
    """A limb's bones (F or 1, 3) in the frames of their joints, through joints that lie inside them."""
    joints = body.limbs[name]
    found = []
    for start, stop in pairwise(joints):
        if name not in body.parts:
            away = body.places[stop] - body.places[start]
            found.append(rotation.rotate(rotation.inverse(body.turned[start]), away)[None])
            continue
        place, turn = np.zeros((1, 3)), rotation.identity(1)
        for joint in body.skeleton.chain(stop, start)[1:]:
            bone = body.skeleton.offsets[joint][None] if offsets is None else offsets[:, joint]
            place = place + rotation.rotate(turn, bone)
            turn = rotation.multiply(turn, local.get(joint, body.pose[joint][None]))
        found.append(place)
    return found[0], found[1]
