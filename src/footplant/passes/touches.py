"""Hand contacts kept by retargeting: hands on each other, on the body, and on what they hold in the world.

The weight of a hand's position is its importance (Shin 2002, section 3), which depends on distance: far away the arm
keeps its joint angles, at a touch the position counts, and in between they blend.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.constraints import Footplant
from footplant.constraints.plants import largest_activation
from footplant.contacts.detection import HANDS
from footplant.contacts.ground import Ground
from footplant.contacts.importance import importance
from footplant.errors import SkeletonError
from footplant.feet.palms import hanging_arm
from footplant.feet.posed import Posed
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of, not_nearer
from footplant.spline import smooth_curve, smooth_envelope

NEAR_HANDS = 0.15
"""Body heights between the palms below which their distance has importance."""
NEAR_BODY = 0.035
"""Body heights from the body's surface below which a palm's position on it has importance."""
QUICK = 0.04
"""Seconds; shortest time constant of an arm's correction at a touch."""
FORGET = 0.25
"""Seconds; time constant with which an arm returns to its own angles away from touches."""
REACH = 0.94
"""Fraction of its length to which an arm stretches for hands that meet; beyond it they meet nearer to the chest."""
TOUCH = 0.5
"""Importance that a palm must reach, once, for a touch of the body to be kept."""
PASSING = 0.3
"""Body heights per second; a palm that moves along the body this fast does not touch it."""
STAYS = 1e-6
"""Metres; for a smaller correction the arm is left unchanged."""
THICKNESS = {
    "head": 0.055, "neck": 0.035, "spine": 0.075, "hips": 0.085, "upper_leg": 0.048, "lower_leg": 0.032,
    "upper_arm": 0.028, "lower_arm": 0.022,
}  # fmt: skip
"""Role → radius of its segment in body heights, for characters without a mesh."""


@dataclass(frozen=True, eq=False)
class _Segment:
    """A bone as a capsule."""

    role: str
    start: int
    """Joint where it starts, and with which it moves."""
    end: int
    """Joint where it ends."""
    radius: float
    """Metres."""


_KNOWN_SEGMENTS: WeakKeyDictionary[Character, dict[str, list[_Segment]]] = WeakKeyDictionary()
"""Cached segments that a character's hands may touch, by side: measuring the mesh is slow."""


def keep_touches(
    motion: Motion, target: Character, source: Kinematics, character: Character, plants: tuple[Footplant, ...] = ()
) -> Motion:
    """Return the target's motion with arms corrected so that the source's touches of hands and body are kept.

    source: kinematics of the source `character`'s motion, at the same frames. Palms planted in the world (`plants`) are
    unchanged.
    """
    if not all(name in who.contacts for who in (target, character) for name in HANDS):
        return motion
    theirs, ours = source, Kinematics(motion)
    theirs_at = [theirs.point(character.contacts[name]) for name in HANDS]
    ours_at = [ours.point(target.contacts[name]) for name in HANDS]
    size = target.height / character.height
    goals = [np.array(place) for place in ours_at]
    shares = [np.zeros(len(motion)) for _ in HANDS]
    free = [_free(plants, target, name, ours, motion.fps) for name in HANDS]
    for number, name in enumerate(HANDS):
        side = name.partition("_")[0]
        share, place = _on_body(theirs, character, ours, target, theirs_at[number], side)
        share = _meant(share * free[number])
        if share.any():
            goals[number] += share[:, None] * (place - goals[number])
            shares[number] = share
    apart = theirs_at[0] - theirs_at[1]
    together = importance(np.sqrt(np.sum(apart * apart, axis=1)) / (NEAR_HANDS * character.height)) * free[0] * free[1]
    if together.any():
        middle = _within_reach(0.5 * (goals[0] + goals[1]), ours_at, ours, target)
        for number, sign in enumerate((0.5, -0.5)):
            goals[number] += together[:, None] * (middle + sign * size * apart - goals[number])
            shares[number] = np.maximum(shares[number], together)
    posed = None
    for number, name in enumerate(HANDS):
        if shares[number].any():
            shift = _smooth(goals[number] - ours_at[number], shares[number], motion.fps)
            posed = posed or Posed(motion)
            _move_palm(posed, target, name, shift * free[number][:, None])
    return motion if posed is None else posed.finish()


def _within_reach(middle: NDArray, palms: list[NDArray], kinematics: Kinematics, target: Character) -> NDArray:
    """Return the place (F, 3) where the palms meet, moved towards the chest until both arms reach it."""
    try:
        limbs = [limb_of(target, f"{name.partition('_')[0]}_arm") for name in HANDS]
    except SkeletonError:
        return middle
    places = kinematics.positions
    chest = 0.5 * (places[:, limbs[0].upper] + places[:, limbs[1].upper])
    share = np.ones(len(middle))
    for limb, palm in zip(limbs, palms):
        bones = places[:, [limb.upper, limb.lower, limb.end]]
        reach = REACH * np.linalg.norm(np.diff(bones, axis=1), axis=2).sum(axis=1)
        # Largest t ≤ 1 with |start + t way| ≤ reach. start: from the shoulder to the wrist with the palm at the chest;
        # way: from the chest to the place.
        start, way = chest + bones[:, 2] - palm - bones[:, 0], middle - chest
        a, b, c = (np.sum(x * y, axis=1) for x, y in ((way, way), (start, way), (start, start)))
        root = np.sqrt(np.maximum(b * b + a * (reach * reach - c), 0.0))
        share = np.minimum(share, np.clip((root - b) / np.maximum(a, 1e-12), 0.0, 1.0))
    return chest + share[:, None] * (middle - chest)


def keep_palms_above_ground(
    motion: Motion, target: Character, ground: Ground, plants: tuple[Footplant, ...], frames: range
) -> Motion:
    """Return the motion with palms lifted out of the ground, smoothly, by their arms alone."""
    half = round(FORGET * motion.fps)
    for name in HANDS:
        if name not in target.contacts:
            continue
        kinematics = Kinematics(motion)
        palm = kinematics.point(target.contacts[name])
        need = np.maximum(ground.height(palm[:, ::2]) - palm[:, 1], 0.0)
        need[: frames.start] = 0.0
        if not need.any():
            continue
        free = _free(plants, target, name, kinematics, motion.fps)
        lift = need + (smooth_envelope(need, half) - need) * free
        posed = Posed(motion)
        _move_palm(posed, target, name, lift[:, None] * rotation.AXES["y"], softness=0.0)
        motion = posed.finish()
    return motion


def _smooth(shift: NDArray, share: NDArray, fps: float) -> NDArray:
    """Return the shift (F, 3), smoothed: met where its weight `share` (F,) is high, and kept between close touches.

    It minimises the weighted squared distance from the shift plus the squared acceleration (time constant `QUICK`) and
    enough squared speed to avoid oscillation. Where the weight is 0 it returns to 0 with the time constant `FORGET`.
    """
    if len(shift) < 5:
        return shift
    rest = (QUICK / FORGET) ** 4
    weight = rest + share
    return smooth_curve(weight, (QUICK * fps) ** 4, weight[:, None] * shift, rest)


def _free(plants: tuple[Footplant, ...], target: Character, name: str, kinematics: Kinematics, fps: float) -> NDArray:
    """Return (F,) 0 while a palm is planted in the world, rising to 1 within `FORGET` before and after."""
    if not any(plant.point == target.contacts[name] for plant in plants):
        return np.ones(len(kinematics.frames))
    share = largest_activation(plants, [target.contacts[name]], kinematics.frames, fps)
    return 1.0 - np.minimum(smooth_envelope(share, round(0.5 * FORGET * fps)), 1.0)


def _move_palm(posed: Posed, target: Character, name: str, shift: NDArray, softness: float = 0.05) -> None:
    """Shift a palm by (F, 3) metres by arm IK, keeping the hand's orientation."""
    from footplant.kernels import touches as kernel

    try:
        limb = limb_of(target, f"{name.partition('_')[0]}_arm")
    except SkeletonError:
        return
    places = posed.positions
    goals = places[:, limb.end] + shift
    if softness > 0.0:
        kernel.not_straighter(limb.upper, limb.lower, limb.end, softness, places, goals)
    else:
        goals = not_nearer(goals, places[:, [limb.upper, limb.lower, limb.end]], limb)
    away = goals - places[:, limb.end]
    rows = np.flatnonzero(np.sum(away * away, axis=1) > STAYS**2)
    if len(rows):
        posed.placed(limb, rows, goals, np.array(posed.rotations[:, limb.end]))


def _segments(character: Character, side: str) -> list[_Segment]:
    """Return the segments of the body that the hand of a side may touch: all but its own arm."""
    known = _KNOWN_SEGMENTS.setdefault(character, {})
    if side not in known:
        known[side] = _find_segments(character, side)
    return known[side]


def _find_segments(character: Character, side: str) -> list[_Segment]:
    roles, skeleton = character.require_roles(), character.skeleton
    other = "right" if side == "left" else "left"
    wanted = [("hips", "spine"), ("spine", "neck"), ("neck", "head")]
    wanted += [(f"{s}_upper_leg", f"{s}_lower_leg") for s in ("left", "right")]
    wanted += [(f"{s}_lower_leg", f"{s}_foot") for s in ("left", "right")]
    wanted += [(f"{other}_upper_arm", f"{other}_lower_arm"), (f"{other}_lower_arm", f"{other}_hand")]
    found = []
    for role, following in wanted:
        if role in roles and following in roles:
            part = role.removeprefix("left_").removeprefix("right_")
            radius = _radius(character, roles.joints[role], roles[role], roles[following])
            found.append(_Segment(role, roles[role], roles[following], radius or THICKNESS[part] * character.height))
    head = roles.get("head")
    if head is not None:
        found.append(_Segment("head", head, head, THICKNESS["head"] * character.height))
    return [segment for segment in found if segment.start < len(skeleton)]


def _radius(character: Character, joints: tuple[int, ...], start: int, end: int) -> float | None:
    """Return the median distance of a segment's skin from its bone, metres; None without a mesh."""
    skin = character.skin
    if skin is None:
        return None
    strongest = np.take_along_axis(skin.joints, np.argmax(skin.weights, axis=1)[:, None], axis=1)[:, 0]
    own = np.isin(strongest, joints)
    if own.sum() < 12:
        return None
    bind = np.linalg.inv(skin.inverse_bind)
    a, b = bind[start][:3, 3], bind[end][:3, 3]
    axis = b - a
    length = float(axis @ axis)
    away = skin.vertices[own] - a
    if length < 1e-12:
        return None
    along = np.clip(away @ axis / length, 0.0, 1.0)
    return float(np.median(np.linalg.norm(away - along[:, None] * axis, axis=1)))


def _on_body(
    theirs: Kinematics, character: Character, ours: Kinematics, target: Character, palm: NDArray, side: str
) -> tuple[NDArray, NDArray]:
    """Return the importance (F,) of a palm's position on the body, and that position (F, 3) on the target's body.

    Each near segment gives a position: the same fraction along the bone, direction from it, and distance from its
    surface. They are averaged with weights by distance.
    """
    from footplant.kernels import touches as kernel

    frames = len(theirs.frames)
    place, most = np.empty((frames, 3)), np.empty(frames)
    by_role = {segment.role + str(segment.end == segment.start): segment for segment in _segments(target, side)}
    pairs = [
        (segment, own)
        for segment in _segments(character, side)
        if (own := by_role.get(segment.role + str(segment.end == segment.start))) is not None
    ]
    # a hanging arm does not mean to touch what it is near to, except the other arm and the head
    table = [
        (their.start, their.end, own.start, own.end, not their.role.endswith("arm") and their.role != "head")
        for their, own in pairs
    ]
    radii = np.array([(their.radius, own.radius) for their, own in pairs], float).reshape(-1, 2)
    size = target.height / character.height
    rules = kernel.TouchRules(NEAR_BODY * character.height, PASSING * character.height, size, float(theirs.motion.fps))
    segments = kernel.Segments(np.array(table, np.int64).reshape(-1, 5), radii)
    kernel.on_body(
        palm, segments, hanging_arm(theirs, character, side), rules,
        kernel.BodyPoses(theirs.positions, theirs.rotations, _unposed(character)),
        kernel.BodyPoses(ours.positions, ours.rotations, _unposed(target)), most, place,
    )  # fmt: skip
    return most, place


def _meant(share: NDArray) -> NDArray:
    """Return the share (F,), set to 0 over intervals in which it never reaches `TOUCH`: passing by is no touch."""
    from footplant.kernels import touches as kernel

    out = np.array(share)
    kernel.meant(out, TOUCH)
    return out


def _unposed(character: Character) -> NDArray:
    """Return the inverse world rotations (J, 4) of the reference pose."""
    return rotation.inverse(humanoid.reference_world(character.skeleton, character.require_roles())[1])
