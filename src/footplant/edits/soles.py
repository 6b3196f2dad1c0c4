"""What lies between plants: toes that lie flat while the ball stands, and soles that stay out of the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.analysis.ground import NEAR, Ground, SteppingStones, Trodden, normal_of
from footplant.constraints import Above, Footplant
from footplant.constraints.plants import at_work_of
from footplant.edits.footsteps import toes_straight
from footplant.errors import SkeletonError
from footplant.ik.limb import Reach, limb_of
from footplant.ik.limb import place as place_limb
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.spline import smooth_above, smooth_envelope

SOLE = ("heel", "ball", "toe")
SHALLOW = 0.005
"""Metres below the ground that nobody sees."""
LEFT_ALONE = 0.002
"""Metres below the ground that a sole may be between its plants: lifting it out has its price in the knees."""
MOST_BEND = 1.2
"""Radians that toes are bent up at most to keep them out of the ground."""
EASE_UP = 0.1
"""Seconds over which a foot is lifted before, and set down after, a place where it would be in the ground."""


def level_toes(
    motion: Motion, character: Character, plants: Sequence[Footplant], ground: Ground, before: Motion | None = None
) -> Motion:
    """Toes lie on the ground while the ball of their foot is planted, whatever the source's toes did (or had).

    They are turned by the least rotation that makes their sole parallel to the ground, as far as the plant is at work.
    A ball that is planted above the ground (on a rope, on a rung) leaves its toes alone. Where the heel stands too, and
    no higher, foot and toes are one piece: a foot that rolls to its side would pull its toes away from it.
    before: the motion whose toes were not levelled yet, where this one's have been: half-way levelled twice is more
    than half-way, and a plant that eases in would come with a jerk.
    """
    roles, skeleton = character.require_roles(), character.skeleton
    if before is not None:
        rotations = np.array(motion.rotations)
        own = [roles[f"{side}_toes"] for side in ("left", "right") if f"{side}_toes" in roles]
        rotations[:, own] = before.rotations[:, own]
        motion = replace(motion, rotations=rotations)
    kinematics, rotations = Kinematics(motion), np.array(motion.rotations)
    pose = humanoid.reference_pose(skeleton, roles)
    reference = humanoid.reference_world(skeleton, roles)[1]
    every = plants
    plants = [plant for plant in plants if _is_on(plant, ground, NEAR * character.height)]
    for side in ("left", "right"):
        toes, point = roles.get(f"{side}_toes"), character.contacts.get(f"{side}_ball")
        if toes is None or point is None or skeleton.parents[toes] < 0:
            continue
        # a whole foot that stands on something in the air lies flat on that
        heels = [plant.frames for plant in every if plant.point == character.contacts.get(f"{side}_heel")]
        whole = [plant for plant in every if plant.point == point and any(_meet(plant.frames, own) for own in heels)]
        plants = [*plants, *(plant for plant in whole if plant not in plants)]
        share = at_work_of(plants, [character.contacts.get(f"{side}_ball")], kinematics.frames, motion.fps)
        flat = _flat(kinematics, character, side, every)
        if not share.any() and not flat.any():
            continue
        world = kinematics.rotations[:, toes]
        up = rotation.rotate(world, rotation.rotate(rotation.inverse(reference[toes]), rotation.AXES["y"]))
        turn = rotation.between(up, normal_of(ground, kinematics.point(point)[:, ::2]))
        turned = rotation.multiply(rotation.exp(share[:, None] * rotation.log(turn)), world)
        above = kinematics.rotations[:, skeleton.parents[toes]]
        local = rotation.multiply(rotation.inverse(above), turned)
        if f"{side}_toe" in character.contacts:
            # but not where that would push the tip into the ground: there the toes bend
            tip = np.array(character.contacts[f"{side}_toe"].offset)
            tip = kinematics.positions[:, toes] + rotation.rotate(rotation.multiply(above, pose[toes]), tip)
            flat *= np.clip(1.0 + (tip[:, 1] - ground.height(tip[:, ::2])) / SHALLOW, 0.0, 1.0)
        straight = rotation.log(rotation.multiply(rotation.inverse(local), pose[toes]))
        rotations[:, toes] = rotation.multiply(local, rotation.exp(flat[:, None] * straight))
    return replace(motion, rotations=rotation.normalize(rotations))


def _flat(kinematics: Kinematics, character: Character, side: str, plants: Sequence[Footplant]) -> NDArray:
    """(F,) how much heel and ball of a foot stand together at one height, 0 to 1.

    While both hold the heights are those of the plants: how the foot lies now may be what is to be put right.
    """
    names = [f"{side}_heel", f"{side}_ball"]
    found = np.zeros(len(kinematics.frames))
    if names[0] not in character.contacts:
        return found
    points = [character.contacts[name] for name in names]
    frames, fps = kinematics.frames, kinematics.motion.fps
    heels, balls = (
        [(p, *work) for p in plants if p.point == point and len((work := p.at_work(frames, fps))[0])]
        for point in points
    )
    heel, ball = (kinematics.point(point) for point in points)
    length = np.maximum(np.linalg.norm(heel - ball, axis=1), 1e-9)
    for first, heel_rows, at_heel in heels:
        for second, ball_rows, at_ball in balls:
            if heel_rows[0] > ball_rows[-1] or ball_rows[0] > heel_rows[-1]:
                continue
            rows, own, others = np.intersect1d(heel_rows, ball_rows, assume_unique=True, return_indices=True)
            both, rise = np.minimum(at_heel[own], at_ball[others]), heel[rows, 1] - ball[rows, 1]
            if first.place is not None and second.place is not None:
                planned = float(np.asarray(first.place)[1] - np.asarray(second.place)[1])
                rise = np.where(both < 1.0, np.maximum(rise, planned), planned)
            found[rows] = np.maximum(found[rows], both * toes_straight(rise / length[rows]))
    return found


def lift_toes(
    motion: Motion,
    character: Character,
    plants: Sequence[Footplant],
    ground: Ground,
    clearances: Mapping[str, NDArray] | None = None,
) -> Motion:
    """Toes bend up where their tips would be in the ground, smoothly; a planted ball's stay if they are hardly in it.

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
        allowed = _allowed(clearances, f"{side}_toe")
        least = ground.height(tip[:, ::2]) + allowed - joint[:, 1]
        up = np.arcsin(np.clip(least / length, -1.0, 1.0)) - np.arcsin(np.clip(line[:, 1] / length, -1.0, 1.0))
        held = at_work_of(plants, [character.contacts.get(f"{side}_ball")], kinematics.frames, motion.fps)
        # long toes of a ball that stands on something hang down from there; a foot that stands in the ground does not
        ball = kinematics.point(character.contacts.get(f"{side}_ball", point))
        sunk = np.maximum(ground.height(ball[:, ::2]) - ball[:, 1], 0.0)
        held *= np.clip(1.0 - (least + joint[:, 1] - tip[:, 1] - sunk) / SHALLOW, 0.0, 1.0)
        if not ((up > 0) & (held < 1.0)).any():
            continue
        axis = rotation.cross(line, rotation.AXES["y"])
        axis /= np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-9)
        angle = np.minimum(_beside(up, held, half), MOST_BEND)
        turned = rotation.multiply(rotation.exp(angle[:, None] * axis), kinematics.rotations[:, toes])
        above = kinematics.rotations[:, skeleton.parents[toes]]
        rotations[:, toes] = rotation.multiply(rotation.inverse(above), turned)
    return replace(motion, rotations=rotation.normalize(rotations))


def _allowed(clearances: Mapping[str, NDArray] | None, name: str) -> ArrayLike:
    """Metres, 0 or below, that a contact point may be in the ground."""
    return np.minimum(0.0 if clearances is None else clearances.get(name, 0.0), -LEFT_ALONE)


def _meet(first: range | tuple[int, ...] | None, second: range | tuple[int, ...] | None) -> bool:
    """Whether two times have frames in common; the bounds of each tell."""
    if not first or not second:
        return first is None or second is None
    return max(first[0], second[0]) <= min(first[-1], second[-1])


def _is_on(plant: Footplant, ground: Ground, near: float) -> bool:
    """Whether a plant is within `near` metres above the ground.

    One that is free to choose its place is; so is any on a ground that plants alone tell of.
    """
    if plant.place is None or isinstance(ground, SteppingStones | Trodden):
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
    rise = np.zeros(len(motion))
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
            at_work_of(plants, [character.contacts[name] for name in own], kinematics.frames, motion.fps)
            for own in (names, names[:1], names[1:2])
        )
        ankle, turn = kinematics.positions[:, limb.end], kinematics.rotations[:, limb.end]
        pitched = np.zeros(len(motion), bool)
        toes = character.require_roles().get(f"{side}_toes")
        toes = toes if toes is not None and character.skeleton.parents[toes] == limb.end else None
        toe_turn = turn if toes is None else kinematics.rotations[:, toes]
        pivots = [(0, 1, on_heel, on_ball), (1, 0, on_ball, on_heel)]
        tip = character.contacts[names[2]]
        stiff = tip.joint == limb.end and tip != character.contacts[names[1]]
        if stiff:
            pivots.append((1, 2, on_ball, np.zeros(len(motion))))
        for pivot, end, stands, also in pivots:
            allowed = _allowed(clearances, names[end])
            wanted, axis = _pitch(places[pivot], places[end], ground, allowed)
            pitch = _beside(stands * wanted, also, half)
            if stiff and pivot == 1:
                # a stiff foot is a seesaw on its ball: one end comes up only as far as the other may go down
                room = -_pitch(places[1], places[2 - end], ground, _allowed(clearances, names[2 - end]))[0]
                pitch = np.minimum(pitch, np.maximum(np.maximum(stands * wanted, room), 0.0))
            if pitch.any():
                pitched |= pitch != 0.0
                about, center = rotation.exp(pitch[:, None] * axis), places[pivot]
                turn = rotation.multiply(about, turn)
                # a foot that turns about its ball leaves its toes where they lie
                toe_turn = toe_turn if toes is not None and pivot == 1 else rotation.multiply(about, toe_turn)
                *places, ankle = (center + rotation.rotate(about, place - center) for place in (*places, ankle))
        need = np.full(len(motion), -np.inf)
        for name, place in zip(names, places):
            allowed = _allowed(clearances, name)
            need = np.maximum(need, allowed - (place[:, 1] - ground.height(place[:, ::2])))
        lift = _beside(need, held, half)
        rows = np.flatnonzero(pitched | (lift != 0.0))
        if len(rows):
            # the rest stays to the bit: a knee that the source bends the wrong way is not put right in passing
            goals = ankle + lift[:, None] * rotation.AXES["y"]
            placed = place_limb(motion[rows], limb, goals[rows], orientations=turn[rows])
            away = kinematics.positions[rows, limb.upper] - goals[rows]
            nearest = np.linalg.norm(away, axis=1) + placed.residual
            above = np.sqrt(np.maximum(nearest**2 - away[:, 0] ** 2 - away[:, 2] ** 2, 0.0)) - away[:, 1]
            folded = (placed.status == Reach.TOO_NEAR) & (away[:, 1] > 0.0)
            rise[rows] = np.maximum(rise[rows], np.where(folded, above - LEFT_ALONE, 0.0))
            rotations = np.array(motion.rotations)
            rotations[rows] = placed.motion.rotations
            if toes is not None:
                rotations[rows, toes] = rotation.multiply(rotation.inverse(turn[rows]), toe_turn[rows])
            motion = replace(motion, rotations=rotations)
    if (rise > 1e-6).any():
        # who sits on his heels gets up a little
        motion = replace(motion, root=motion.root + smooth_envelope(rise, half)[:, None] * rotation.AXES["y"])
    return motion


def _beside(need: NDArray, held: NDArray, half: int) -> NDArray:
    """What is done (F,) about a need: smoothly over ±half frames, and nothing while a plant holds.

    held: (F,) how much a plant is at work, 0 to 1. What is in the ground at a plant may be so beside it: else it would
    be lifted up to the plant's first frame, only to be dropped there.
    """
    fully = held >= 1.0
    if fully.any():
        frames = np.arange(len(need))
        at = np.flatnonzero(fully)
        after = np.minimum(np.searchsorted(at, frames), len(at) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(np.abs(at[before] - frames) < np.abs(at[after] - frames), at[before], at[after])
        need = need - held * np.maximum(need[nearest], 0.0)
    return smooth_above(need, fully, half)


def _pitch(pivot: NDArray, end: NDArray, ground: Ground, allowed: ArrayLike = 0.0) -> tuple[NDArray, NDArray]:
    """(F,) radians, and the axis (F, 3), by which the line from a pivot to an end must pitch up to clear the ground.

    Below 0: it may come down by so much. allowed: metres, 0 or below, that the end may be in the ground.
    """
    line = end - pivot
    length = np.maximum(np.linalg.norm(line, axis=1), 1e-9)
    rise = ground.height(end[:, ::2]) + allowed - pivot[:, 1]
    wanted = np.arcsin(np.clip(rise / length, -1.0, 1.0))
    now = np.arcsin(np.clip(line[:, 1] / length, -1.0, 1.0))
    axis = rotation.cross(line, rotation.AXES["y"])
    norm = np.linalg.norm(axis, axis=1, keepdims=True)
    return wanted - now, np.where(norm > 1e-9, axis / np.maximum(norm, 1e-9), rotation.AXES["x"])


def stones(plants: Sequence[Footplant], motion: Motion, character: Character) -> NDArray:
    """(N, 3) metres; where something carries plants: each of them is on a level stone as large as its foot."""
    kinematics, found = Kinematics(motion), [np.zeros((0, 3))]
    for side in ("left", "right"):
        own = {name: point for name, point in character.contacts.items() if name in [f"{side}_{p}" for p in SOLE]}
        tracks = {point: kinematics.point(point) for point in own.values()}
        for plant in plants:
            if plant.point in tracks and plant.place is not None and plant.frames:
                held = np.asarray(plant.frames)
                away = [np.median((track - tracks[plant.point])[held], axis=0) for track in tracks.values()]
                found.append(np.asarray(plant.place) + np.array(away) * [1.0, 0.0, 1.0])
    return np.concatenate(found)


def stay_above(
    character: Character,
    ground: Ground,
    frames: range,
    clearances: Mapping[str, ArrayLike] | None = None,
    parts: Sequence[str] = SOLE,
) -> tuple[Above, ...]:
    """Heel, ball and toe of both feet (or other parts) never go below the ground, or not deeper than `clearances` says.

    clearances: contact point → metres, 0 or below.
    """
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
        for part in parts
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
