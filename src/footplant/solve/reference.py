"""Reference motions no rougher than their source.

A copied motion keeps the directions of all limbs. On a body whose limbs are long for its height it therefore
accelerates more than its source did, noise of the capture above all. The bone directions u(t) of each limb are smoothed
just enough,

    minimise Σ_t |ũ − u|² + λ |D²ũ|²

with the smallest λ at which its joints have no more jerk, and no higher peak of acceleration, than the source's in body
heights. λ ≤ 1 changes directions by hundredths of a degree. Bones swing from u to ũ: their twist, where captures have
jumps that one joint takes back from the next, stays as it is. The hips' path and the trunk's rotations are smoothed the
same way before: by 0.1 mm and 0.02° in the median of 16 clips, by 4 mm and 1.5° in the quickest moment of one at 30
frames/s. Jerk at the 90th percentile of pairs falls from 1.22 to 1.00 times the source's. Where that takes a joint
beyond its limits, farther than it was, it is turned back to them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.limits import clamp_to_limits, limit_excess
from footplant.humanoid.reference import reference_world
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.quality.smoothness import continuous_parts
from footplant.skeleton import Character

Smoothed = TypeVar("Smoothed")
LIMBS = {
    f"{side} {limb}": tuple(f"{side}_{part}" for part in parts)
    for side in ("left", "right")
    for limb, parts in (
        ("leg", ("upper_leg", "lower_leg", "foot", "toes")),
        ("arm", ("upper_arm", "lower_arm", "hand")),
    )
}
"""Limb → the roles of its joints; a bone lies between each two."""
BEYOND = 0.5 * np.pi / 180.0
"""Radians by which smoothing may take a joint farther beyond its limits than it was: a joint that trembles there is to
tremble no more. With 0, 115_02 on Blubby and on KnightCharacter jerks 1.07 and 1.11 instead of 0.84 and 0.94 times as
much as the source."""
EQUAL = 1.0 + 1e-6
"""Factor up to which two figures are equal."""
STRENGTHS = (0.03, 0.1, 0.3, 1.0)
"""λ, tried in this order. The last one halves what repeats every twelve frames."""


def no_rougher(
    motion: Motion,
    character: Character,
    source: Kinematics,
    source_character: Character,
    first: int = 0,
    excess: float = EQUAL,
) -> Motion:
    """Return a copied motion with its limbs smoothed where they are rougher than the source's.

    first: number of lead-in frames, which stay as they are. excess: factor by which a limb may be rougher.
    """
    found = continuous_parts(source, source_character.height)
    parts = [(max(start, first), end) for start, end in found if end - max(start, first) >= 4]
    roles, theirs = character.require_roles(), source_character.require_roles()
    limbs = [[role for role in names if role in roles and role in theirs] for names in LIMBS.values()]
    joints = [theirs[role] for names in limbs for role in names]
    if not parts or not joints or not source_character.height > 0.0:
        return motion
    size, given = body_length(character) / body_length(source_character), motion
    motion = _smooth_trunk(motion, character, source, source_character, parts, excess * size)
    kinematics = Kinematics(motion)
    highest = size * _roughness(source.positions[:, joints], None, parts)[0]
    swings = []
    for names in [names for names in limbs if len(names) > 1]:
        chain = [roles[role] for role in names]
        jerk = size * _jerk(source, source_character, [theirs[role] for role in names[1:]], parts)
        bones = np.diff(kinematics.positions[:, chain], axis=1)
        around = (kinematics.positions[:, chain[:1]], kinematics.positions[:, roles["hips"]])
        smooth = _smooth_limb(bones, around, parts, (excess * highest, excess * jerk))
        if smooth is not bones:
            swings.append((chain, bones, smooth))
    if swings:
        motion = _with_swings(motion, character, kinematics.rotations, swings)
    return motion if motion is given else _within_limits(motion, character, given)


def _within_limits(motion: Motion, character: Character, given: Motion) -> Motion:
    """Return the motion with no joint much farther beyond its limits than in the one given, which is rougher."""
    added = limit_excess(character, motion.rotations) - limit_excess(character, given.rotations)
    if not (added > BEYOND).any():
        return motion
    rotations = np.array(motion.rotations)
    for joint in np.flatnonzero((added > BEYOND).any(axis=0)).tolist():
        rows = np.flatnonzero(added[:, joint] > BEYOND)
        smooth, share = rotations[rows, joint], 1.0 - BEYOND / added[rows, joint]
        nearest = clamp_to_limits(character, joint, smooth, given.rotations[rows, joint])
        rotations[rows, joint] = rotation.slerp(smooth, nearest, share)
    return motion.like(motion.root, rotation.unroll(rotations), motion.offsets)


def _least_smoothed(
    original: Smoothed, smoothed: Callable[[float], Smoothed], is_smooth: Callable[[Smoothed], bool]
) -> Smoothed:
    """Return the original if it is smooth enough, else the least smoothed one that is, else the most smoothed."""
    found = original
    for strength in (0.0, *STRENGTHS):
        found = smoothed(strength) if strength else original
        if is_smooth(found):
            break
    return found


def _smooth_limb(
    bones: NDArray, around: tuple[NDArray, NDArray], parts: Sequence[tuple[int, int]], allowed: tuple[float, float]
) -> NDArray:
    """Return the bones (F, n, 3) of a limb, smoothed as far as its joints have too high a peak or too much jerk.

    around: positions (F, 1, 3) of its first joint, and (F, 3) of the hips, from which jerk is measured. allowed: peak,
    jerk.
    """
    first, hips = around
    peak, jerk = allowed

    def is_smooth(smooth: NDArray) -> bool:
        found = _roughness(first + np.cumsum(smooth, axis=1), hips, parts)
        return found[0] <= peak and found[1] <= jerk

    return _least_smoothed(bones, lambda strength: _smoothed(bones, strength, parts), is_smooth)


def _with_swings(
    motion: Motion, character: Character, rotations: NDArray, swings: Sequence[tuple[Sequence[int], NDArray, NDArray]]
) -> Motion:
    """Return the motion with limbs swung from their bones to smooth ones; rotations: of the world, (F, J, 4)."""
    world = np.array(rotations)
    changed = [joint for chain, bones, smooth in swings for joint in _swing(world, character, chain, bones, smooth)]
    local, parents = np.array(motion.rotations), motion.skeleton.parents
    for joint in changed:
        local[:, joint] = rotation.multiply(rotation.inverse(world[:, parents[joint]]), world[:, joint])
    return motion.like(motion.root, rotation.unroll(rotation.normalize(local)), motion.offsets)


def _smooth_trunk(
    motion: Motion, character: Character, source: Kinematics, source_character: Character,
    parts: Sequence[tuple[int, int]], size: float,
) -> Motion:  # fmt: skip
    """Return the motion with its hips' path and its trunk's rotations smoothed where they have more jerk than allowed.

    Limbs keep their world rotations. size: factor by which the source's jerk is allowed.
    """
    roles, theirs = character.require_roles(), source_character.require_roles()
    allowed = size * _roughness(source.positions[:, [theirs["hips"]]], None, parts)[1]
    path = _least_smoothed(
        motion.root,
        lambda strength: _smoothed_curves(motion.root, strength, parts),
        lambda path: _roughness(path[:, None], None, parts)[1] <= allowed,
    )
    if path is not motion.root:
        motion = motion.like(path, motion.rotations, motion.offsets)
    seen = [role for role in ("head", "left_upper_arm", "right_upper_arm") if role in roles and role in theirs]
    if not seen:
        return motion
    jerk = size * _jerk(source, source_character, [theirs[role] for role in seen], parts)
    joints = [roles[role] for role in seen]
    trunk = {joint for end in joints for joint in character.skeleton.chain(end)[:-1]}
    given = Kinematics(motion)
    return _least_smoothed(
        given,
        lambda strength: Kinematics(_with_smooth_trunk(given, trunk, strength, parts)),
        lambda found: _jerk(found, character, joints, parts) <= jerk,
    ).motion


def _with_smooth_trunk(
    given: Kinematics, trunk: Collection[int], strength: float, parts: Sequence[tuple[int, int]]
) -> Motion:
    """Return the motion with the world rotations of the trunk's joints smoothed; those of all others stay."""
    motion, world = given.motion, given.rotations
    turned, local = np.array(world), np.array(motion.rotations)
    for joint in trunk:
        turned[:, joint] = rotation.normalize(_smoothed_curves(rotation.unroll(world[:, joint]), strength, parts))
    for joint, above in enumerate(motion.skeleton.parents.tolist()):
        if joint in trunk or above in trunk:
            own = turned[:, joint]
            local[:, joint] = own if above < 0 else rotation.multiply(rotation.inverse(turned[:, above]), own)
    return motion.like(motion.root, rotation.unroll(rotation.normalize(local)), motion.offsets)


def _smoothed_curves(curves: NDArray, strength: float, parts: Sequence[tuple[int, int]]) -> NDArray:
    """Return curves (F, k) smoothed within each part."""
    from footplant.kernels.smoothing import smooth_curve

    out = np.array(curves)
    for start, end in parts:
        # a copy: compiled code is for arrays that may be written
        own = np.array(curves[start:end], order="C")
        smooth = np.empty_like(own)
        smooth_curve(np.ones(len(own)), strength, 0.0, own, np.empty((len(own), 3)), smooth)
        out[start:end] = smooth
    return out


def body_length(character: Character) -> float:
    """Return the length of a leg plus that of the trunk up to the head's joint, metres: a height that no hair adds to.

    Without a head it is the character's height.
    """
    roles, skeleton = character.require_roles(), character.skeleton
    places = reference_world(skeleton, roles)[0]
    leg = [role for role in ("left_upper_leg", "left_lower_leg", "left_foot") if role in roles]
    if "head" not in roles or len(leg) < 3:
        return character.height
    legs = np.linalg.norm(np.diff(places[[roles[role] for role in leg]], axis=0), axis=1).sum()
    trunk = np.linalg.norm(places[roles["head"]] - places[roles["hips"]])
    return float(legs + trunk) or character.height


def _swing(world: NDArray, character: Character, chain: Sequence[int], bones: NDArray, smooth: NDArray) -> list[int]:
    """Swing the bones of a limb in the world rotations (F, J, 4); return the joints whose local rotation changes."""
    changed = []
    for number, (joint, end) in enumerate(pairwise(chain)):
        turn = rotation.between(bones[:, number], smooth[:, number])
        inside = character.skeleton.chain(end, joint)[:-1]
        for inner in inside:
            world[:, inner] = rotation.multiply(turn, world[:, inner])
        # what hangs on the bone's joints turns with them, but for the limb's next joint
        changed += [joint, end]
    return list(dict.fromkeys(changed))


def _smoothed(bones: NDArray, strength: float, parts: Sequence[tuple[int, int]]) -> NDArray:
    """Return bones (F, n, 3) with their directions smoothed within each part, and their lengths."""
    from footplant.kernels.smoothing import smooth_curve

    out = np.array(bones)
    lengths = np.linalg.norm(bones, axis=2, keepdims=True)
    for start, end in parts:
        own = np.ascontiguousarray((bones[start:end] / np.maximum(lengths[start:end], 1e-9)).reshape(end - start, -1))
        smooth = np.empty_like(own)
        smooth_curve(np.ones(len(own)), strength, 0.0, own, np.empty((len(own), 3)), smooth)
        smooth = smooth.reshape(end - start, -1, 3)
        norms = np.maximum(np.linalg.norm(smooth, axis=2, keepdims=True), 1e-9)
        out[start:end] = smooth / norms * lengths[start:end]
    return out


def _jerk(
    kinematics: Kinematics, character: Character, joints: Sequence[int], parts: Sequence[tuple[int, int]]
) -> float:
    """Return the mean third difference of joints as seen from the hips, metres."""
    hips = kinematics.positions[:, character.require_roles()["hips"]]
    return _roughness(kinematics.positions[:, joints], hips, parts)[1]


def _roughness(places: NDArray, origins: NDArray | None, parts: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the largest second difference of paths (F, n, 3), metres, and their mean third difference by coordinates.

    origins: (F, 3), from which third differences are seen; None: the world's.
    """
    from footplant.kernels.smoothing import roughness

    found = np.zeros(3)
    origins = np.zeros((len(places), 3)) if origins is None else np.array(origins, order="C")
    places = np.array(places, order="C")
    for first, last in parts:
        roughness(places, origins, first, last, found)
    return float(np.sqrt(found[0])), float(found[1] / found[2])
