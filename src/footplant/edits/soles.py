"""What lies between plants: toes that lie flat while the ball stands, and soles that stay out of the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.analysis.ground import NEAR, Ground, normal_of
from footplant.constraints import Above, Footplant
from footplant.errors import SkeletonError
from footplant.ik.limb import limb_of
from footplant.ik.limb import place as place_limb
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.spline import smooth_envelope

SOLE = ("heel", "ball", "toe")
SHALLOW = 0.005
"""Metres below the ground that nobody sees."""
MOST_BEND = 0.6
"""Radians that toes are bent up at most to keep them out of the ground."""
EASE_UP = 0.1
"""Seconds over which a foot is lifted before, and set down after, a place where it would be in the ground."""


def level_toes(motion: Motion, character: Character, plants: Sequence[Footplant], ground: Ground) -> Motion:
    """Toes lie on the ground while the ball of their foot is planted, whatever the source's toes did (or had).

    They are turned by the least rotation that makes their sole parallel to the ground, as far as the plant is at work.
    A ball that is planted above the ground (on a rope, on a rung) leaves its toes alone. Where the heel stands too, and
    no higher, foot and toes are one piece: a foot that rolls to its side would pull its toes away from it.
    """
    roles, skeleton = character.require_roles(), character.skeleton
    kinematics, rotations = Kinematics(motion), np.array(motion.rotations)
    pose = humanoid.reference_pose(skeleton, roles)
    reference = skeleton.posed(pose)[1]
    every = plants
    plants = [plant for plant in plants if _is_on(plant, ground, NEAR * character.height)]
    for side in ("left", "right"):
        toes, point = roles.get(f"{side}_toes"), character.contacts.get(f"{side}_ball")
        if toes is None or point is None or skeleton.parents[toes] < 0:
            continue
        share = _at_work(plants, character, [f"{side}_ball"], kinematics, motion.fps)
        if not share.any() and not _flat(kinematics, character, side, every).any():
            continue
        world = kinematics.rotations[:, toes]
        up = rotation.rotate(world, rotation.rotate(rotation.inverse(reference[toes]), rotation.AXES["y"]))
        turn = rotation.between(up, normal_of(ground, kinematics.point(point)[:, ::2]))
        turned = rotation.multiply(rotation.exp(share[:, None] * rotation.log(turn)), world)
        above = kinematics.rotations[:, skeleton.parents[toes]]
        local = rotation.multiply(rotation.inverse(above), turned)
        flat = _flat(kinematics, character, side, every)
        if f"{side}_toe" in character.contacts:
            # but not where that would push the tip into the ground: there the toes bend
            tip = np.array(character.contacts[f"{side}_toe"].offset)
            tip = kinematics.positions[:, toes] + rotation.rotate(rotation.multiply(above, pose[toes]), tip)
            flat *= np.clip(1.0 + (tip[:, 1] - ground.height(tip[:, ::2])) / SHALLOW, 0.0, 1.0)
        straight = rotation.log(rotation.multiply(rotation.inverse(local), pose[toes]))
        rotations[:, toes] = rotation.multiply(local, rotation.exp(flat[:, None] * straight))
    return replace(motion, rotations=rotation.normalize(rotations))


def _flat(kinematics: Kinematics, character: Character, side: str, plants: Sequence[Footplant]) -> NDArray:
    """(F,) how much heel and ball of a foot stand together at one height, 0 to 1."""
    names = [f"{side}_heel", f"{side}_ball"]
    if names[0] not in character.contacts:
        return np.zeros(len(kinematics.frames))
    fps = kinematics.motion.fps
    both = np.minimum(*(_at_work(plants, character, [name], kinematics, fps) for name in names))
    heel, ball = (kinematics.point(character.contacts[name]) for name in names)
    slope = (heel - ball)[:, 1] / np.maximum(np.linalg.norm(heel - ball, axis=1), 1e-9)
    return both * np.clip((0.2 - slope) / 0.1, 0.0, 1.0)


def lift_toes(
    motion: Motion,
    character: Character,
    plants: Sequence[Footplant],
    ground: Ground,
    clearances: Mapping[str, NDArray] | None = None,
) -> Motion:
    """Toes bend up where their tips would be in the ground, smoothly; a planted ball's stay as they are.

    clearances: as for `clear_ground`.
    """
    roles, skeleton = character.require_roles(), character.skeleton
    kinematics, rotations = Kinematics(motion), np.array(motion.rotations)
    half = round(EASE_UP * motion.fps)
    for side in ("left", "right"):
        toes, point = roles.get(f"{side}_toes"), character.contacts.get(f"{side}_toe")
        if toes is None or point is None or point.joint not in skeleton.descendants(toes):
            continue
        joint, tip = kinematics.positions[:, toes], kinematics.point(point)
        line = tip - joint
        length = np.maximum(np.linalg.norm(line, axis=1), 1e-9)
        allowed = 0.0 if clearances is None else clearances.get(f"{side}_toe", 0.0)
        least = ground.height(tip[:, ::2]) + allowed - joint[:, 1]
        up = np.arcsin(np.clip(least / length, -1.0, 1.0)) - np.arcsin(np.clip(line[:, 1] / length, -1.0, 1.0))
        free = 1.0 - _at_work(plants, character, [f"{side}_ball"], kinematics, motion.fps)
        up = np.where(free > 0.0, up, 0.0)
        if not (up > 0).any():
            continue
        axis = np.cross(line, rotation.AXES["y"])
        axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-9)
        angle = np.minimum(smooth_envelope(np.maximum(up, 0.0), half), MOST_BEND) * free
        turned = rotation.multiply(rotation.exp(angle[:, None] * axis), kinematics.rotations[:, toes])
        above = kinematics.rotations[:, skeleton.parents[toes]]
        rotations[:, toes] = rotation.multiply(rotation.inverse(above), turned)
    return replace(motion, rotations=rotation.normalize(rotations))


def _is_on(plant: Footplant, ground: Ground, near: float) -> bool:
    """Whether a plant is within `near` metres above the ground; one that is free to choose its place is."""
    if plant.place is None:
        return True
    place = np.asarray(plant.place, float).reshape(-1, 3)
    return bool((place[:, 1] - ground.height(place[:, ::2])).max() < near)


def clear_ground(
    motion: Motion,
    character: Character,
    plants: Sequence[Footplant],
    ground: Ground,
    clearances: Mapping[str, NDArray] | None = None,
) -> Motion:
    """Feet that swing stay out of the ground, lifted smoothly and never by less than is needed.

    A foot that stands on its heel or its ball alone is pitched about that where its other end is in the ground; so is
    one without toes that rolls over its ball and would push its tip into the ground.
    clearances: contact point → (F,) metres, 0 or below, that it may be in the ground (see `depths`).
    """
    half = round(EASE_UP * motion.fps)
    for side in ("left", "right"):
        names = [f"{side}_{part}" for part in SOLE if f"{side}_{part}" in character.contacts]
        if len(names) < len(SOLE):
            continue
        try:
            limb = limb_of(character, f"{side}_leg")
        except SkeletonError:
            continue
        kinematics = Kinematics(motion)
        places = [kinematics.point(character.contacts[name]) for name in names]
        held, on_heel, on_ball = (
            _at_work(plants, character, own, kinematics, motion.fps) for own in (names, names[:1], names[1:2])
        )
        ankle, turn = kinematics.positions[:, limb.end], kinematics.rotations[:, limb.end]
        pivots = [(0, 1, on_heel, on_ball), (1, 0, on_ball, on_heel)]
        if character.contacts[names[2]].joint == limb.end:
            pivots.append((1, 2, on_ball, np.zeros(len(motion))))
        for pivot, end, stands, also in pivots:
            allowed = 0.0 if clearances is None else clearances.get(names[end], 0.0)
            pitch, axis = _pitch(places[pivot], places[end], ground, allowed)
            pitch = smooth_envelope(stands * (1.0 - also) * pitch, half) * (1.0 - also)
            if pitch.any():
                about, center = rotation.exp(pitch[:, None] * axis), places[pivot]
                turn = rotation.multiply(about, turn)
                *places, ankle = (center + rotation.rotate(about, place - center) for place in (*places, ankle))
        need = np.zeros(len(motion))
        for name, place in zip(names, places):
            allowed = 0.0 if clearances is None else clearances.get(name, 0.0)
            need = np.maximum(need, allowed - (place[:, 1] - ground.height(place[:, ::2])))
        need = np.where(held < 1.0, need, 0.0)
        # beside a plant there is no time to be gentle: just what is needed, which is nothing at the plant itself
        lift = need + (smooth_envelope(need, half) - need) * (1.0 - held)
        lift[held >= 1.0] = 0.0
        motion = place_limb(
            motion, limb, ankle + lift[:, None] * rotation.AXES["y"], orientations=turn, kinematics=kinematics
        ).motion
    return motion


def _at_work(
    plants: Sequence[Footplant], character: Character, names: Sequence[str], kinematics: Kinematics, fps: float
) -> NDArray:
    """(F,) how much any plant of some contact points is at work, 0 to 1."""
    points = [character.contacts[name] for name in names]
    share = np.zeros(len(kinematics.frames))
    for plant in plants:
        if plant.point in points:
            share = np.maximum(share, plant.activation(kinematics.frames, fps))
    return share


def _pitch(pivot: NDArray, end: NDArray, ground: Ground, allowed: ArrayLike = 0.0) -> tuple[NDArray, NDArray]:
    """(F,) radians, and the axis (F, 3), by which the line from a pivot to an end is pitched up to clear the ground.

    allowed: metres, 0 or below, that the end may be in the ground.
    """
    line = end - pivot
    length = np.maximum(np.linalg.norm(line, axis=1), 1e-9)
    below = np.minimum(pivot[:, 1] - ground.height(pivot[:, ::2]), 0.0)
    rise = ground.height(end[:, ::2]) + allowed - ground.height(pivot[:, ::2]) - below
    wanted = np.arcsin(np.clip(rise / length, -1.0, 1.0))
    now = np.arcsin(np.clip(line[:, 1] / length, -1.0, 1.0))
    axis = np.cross(line, rotation.AXES["y"])
    norm = np.linalg.norm(axis, axis=1, keepdims=True)
    return np.maximum(wanted - now, 0.0), np.where(norm > 1e-9, axis / np.maximum(norm, 1e-9), rotation.AXES["x"])


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
            tolerance=SHALLOW,
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
