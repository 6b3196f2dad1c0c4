"""Normalisation: from a motion to a morphology-independent one (Kulpa 2005, section 4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import shaped
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.normalized.body import Body, about_x, half_plane, side_of
from footplant.normalized.model import LIMBS, ON_CHEST, SPLINES, Normalized, NormalizedLimb, NormalizedSpline
from footplant.skeleton import Character

FEET_ABOVE_HANDS = (0.3, 0.8)
"""Leg lengths by which the lower ankle is above the higher wrist where a handstand begins and where it is complete."""
HANDS_ON_GROUND = (0.35, 0.2)
"""Leg lengths of the higher wrist above the ground where a handstand begins and where it is complete."""
STRAIGHT = 1e-12
"""Fraction of a limb's length: with a middle joint nearer to the limb's line, the hinge axis gives the half-plane."""


def normalize(motion: Motion, character: Character, *, about: ArrayLike | None = None) -> Normalized:
    """Return the motion without its character's lengths (section 4).

    about: (3,) the point on the ground, metres, that stays fixed when lengths change; None: below the hips at the first
    frame, at height 0. Characters that are not humanoid keep all their joints by name.
    """
    if motion.skeleton.names != character.skeleton.names:
        raise MotionError(f"expected a motion on the skeleton of {character.name!r}, got other joints")
    body, kinematics = Body(replace(character, skeleton=motion.skeleton)), Kinematics(motion)
    world, positions = kinematics.rotations, kinematics.positions
    hips = positions[:, body.hip_joints].mean(axis=1)
    below_hips = hips[0] * [1.0, 0.0, 1.0] if len(motion) else np.zeros(3)
    origin = np.array(shaped(below_hips if about is None else about, (3,), "the place that stays", MotionError))
    turn = body.relative(world, body.hip)
    tilt, heading = rotation.swing_twist(turn, rotation.AXES["y"])
    # the twist about the vertical is applied last: turn = heading · tilt
    tilt = rotation.multiply(rotation.inverse(heading), turn)
    splines = _splines(body, world, turn)
    chest = _chest(body, world, turn)
    ends = {roles[-1]: joints[-1] for (name, roles) in LIMBS.items() if (joints := body.parts.get(name))}
    segments = {role: (joint, turn) for role, joint in ends.items()}
    segments |= {body.owned[j]: (j, chest) for j in body.owned if body.owned[j] in ON_CHEST}
    parents = np.concatenate([rotation.identity(1), body.rotations[motion.skeleton.parents[1:]]])
    moving = {}
    if motion.offsets is not None:
        change = (motion.offsets - motion.skeleton.offsets) / body.leg
        # the root's own offset is part of `root`
        moving = {motion.skeleton.names[j]: change[:, j] for j in range(1, len(motion.skeleton)) if change[:, j].any()}
    on_hands = _on_hands(body, positions, float(origin[1]))
    legs = body.legs(motion.offsets)
    above, length = body.heights(legs, on_hands)
    root = (hips - origin) / legs[:, None]
    root[:, 1] = (hips[:, 1] - origin[1] - above) / length
    return Normalized(
        fps=motion.fps,
        root=root,
        heading=heading,
        tilt=tilt,
        origin=origin,
        limbs={
            name: _normalize_limb(body, name, kinematics, chest if name.endswith("arm") else turn)
            for name in body.parts
        },
        splines=splines,
        segments={
            role: rotation.multiply(rotation.inverse(base), body.relative(world, joint))
            for role, (joint, base) in segments.items()
        },
        others={
            key: rotation.multiply(
                rotation.multiply(parents[joint], motion.rotations[:, joint]), rotation.inverse(body.rotations[joint])
            )
            for joint, key in body.keys.items()
        },
        moving=moving,
        on_hands=on_hands,
    )


def _on_hands(body: Body, positions: NDArray, ground: float) -> NDArray | None:
    """Return how far each frame is in a handstand, feet above hands on the ground (F,), 0 to 1; None: never."""
    if not all(f"{side}_{limb}" in body.limbs for side in ("left", "right") for limb in ("arm", "leg")):
        return None
    ankles, wrists = (
        positions[:, [body.limbs[f"{side}_{limb}"][2] for side in ("left", "right")], 1] for limb in ("leg", "arm")
    )
    over = _eased((ankles.min(axis=1) - wrists.max(axis=1)) / body.leg, FEET_ABOVE_HANDS)
    found = over * _eased((wrists.max(axis=1) - ground) / body.leg, HANDS_ON_GROUND)
    return found if found.any() else None


def _eased(values: NDArray, between: tuple[float, float]) -> NDArray:
    """Return 0 before the first bound, 1 beyond the second and a smooth curve in between."""
    u = np.clip((values - between[0]) / (between[1] - between[0]), 0.0, 1.0)
    return u * u * (3.0 - 2.0 * u)


def _splines(body: Body, world: NDArray, turn: NDArray) -> dict[str, NormalizedSpline]:
    """Return the bending of spine and neck: rotation vectors of their vertebrae, relative to the hips or the chest."""
    splines: dict[str, NormalizedSpline] = {}
    for name in SPLINES:
        chain = body.vertebrae(name)
        if chain:
            base = turn if name == "spine" or "spine" not in splines else _chest(body, world, turn)
            turns = [np.zeros((len(world), 3))]
            turns += [rotation.log(rotation.multiply(rotation.inverse(base), body.relative(world, j))) for j in chain]
            splines[name] = NormalizedSpline(body.knots(name), np.stack(turns, axis=1))
    return splines


def _chest(body: Body, world: NDArray, hips: NDArray) -> NDArray:
    chain = body.vertebrae("spine")
    return body.relative(world, chain[-1]) if chain else hips


def _normalize_limb(body: Body, name: str, kinematics: Kinematics, base: NDArray) -> NormalizedLimb:
    joints = body.parts[name]
    root, middle, end = (kinematics.positions[:, joint] for joint in joints)
    line, bone = end - root, middle - root
    upper, lower = np.linalg.norm(bone, axis=1), np.linalg.norm(end - middle, axis=1)
    both, length = upper + lower, np.linalg.norm(line, axis=1)
    references = body.reference_frames(name)
    hinge_side = rotation.rotate(body.relative(kinematics.rotations, joints[0]), side_of(name))
    z = np.where((length > STRAIGHT * both)[:, None], line, bone)
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    side = bone - np.sum(bone * unit, axis=1, keepdims=True) * unit
    high = np.linalg.norm(side, axis=1)
    side = np.where((high > STRAIGHT * both)[:, None], side, hinge_side)
    frame = half_plane(z, side)
    along = np.sum(bone * unit, axis=1)
    bends = np.stack([np.arctan2(high, along), np.arctan2(high, length - along)], axis=-1)
    straight = high <= STRAIGHT * both
    bends[straight] = np.stack([along < 0, length < along], axis=-1)[straight] * np.pi
    rolls = []
    for number, sign in ((0, -1.0), (1, 1.0)):
        bone_frame = rotation.multiply(frame, about_x(sign * bends[:, number]))
        turned = rotation.multiply(body.relative(kinematics.rotations, joints[number]), references[number])
        rolls.append(rotation.multiply(rotation.inverse(bone_frame), turned))
    return NormalizedLimb(
        rotation.multiply(rotation.inverse(base), frame), length / both, upper / both, bends, np.stack(rolls, axis=1)
    )
