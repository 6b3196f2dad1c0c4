"""Numbers over time that say how a figure moves: joint angles from the bones' directions, height and speed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.kinematics import Kinematics
from footplant.skeleton import Character

LEG = ("upper_leg", "lower_leg", "foot")


def has_legs(character: Character) -> bool:
    """Whether both legs are known from hip to ankle."""
    roles = character.roles
    return roles is not None and all(f"{side}_{part}" in roles for side in ("left", "right") for part in LEG)


def leg_angles(character: Character, kinematics: Kinematics, side: str) -> dict[str, NDArray]:
    """Hip, knee and ankle flexion (F,) of one leg, degrees, as gait laboratories draw them.

    Hip: the thigh against the pelvis, forward positive. Knee: thigh against shin, 0 straight. Ankle: the foot against
    the shin, toes up positive, 0 as in the rest pose. Only places of joints are used, so every skeleton's own axes do.
    """
    roles = character.require_roles()
    hip, knee, ankle = (roles[f"{side}_{part}"] for part in LEG)
    places = kinematics.positions
    thigh, shin = places[:, knee] - places[:, hip], places[:, ankle] - places[:, knee]
    forward, up = _pelvis_axes(character, kinematics)
    hip_angle = np.arctan2(np.sum(thigh * forward, axis=1), -np.sum(thigh * up, axis=1))
    angles = {"hip": np.unwrap(hip_angle), "knee": _angle(thigh, shin)}
    toe = _toe(character, kinematics, side)
    if toe is not None:
        now, rest_toe = toe
        rest = character.skeleton.rest_world[0]
        rest_angle = _angle((rest[ankle] - rest[knee])[None], (rest_toe - rest[ankle])[None])
        angles["ankle"] = _angle(shin, now - places[:, ankle]) - rest_angle
    return {name: np.degrees(values) for name, values in angles.items()}


def _pelvis_axes(character: Character, kinematics: Kinematics) -> tuple[NDArray, NDArray]:
    """Forward and up of the pelvis, (F, 3) each, carried along from the upright rest pose."""
    roles = character.require_roles()
    hips = roles.get("hips") or 0
    rest_places, rest_rotations = character.skeleton.rest_world
    across = rest_places[roles["left_upper_leg"]] - rest_places[roles["right_upper_leg"]]
    up = np.array([0.0, 1.0, 0.0])
    forward = np.cross(across, up)
    forward = forward / max(float(np.linalg.norm(forward)), 1e-9)
    turned = rotation.multiply(kinematics.rotations[:, hips], rotation.inverse(rest_rotations[hips]))
    return rotation.rotate(turned, forward), rotation.rotate(turned, up)


def _toe(character: Character, kinematics: Kinematics, side: str) -> tuple[NDArray, NDArray] | None:
    """The ball of the foot now (F, 3) and in the rest pose (3,); None when nothing lies beyond the ankle."""
    roles = character.require_roles()
    toes = roles.get(f"{side}_toes")
    if toes is not None:
        return kinematics.positions[:, toes], character.skeleton.rest_world[0][toes]
    ball = character.contacts.get(f"{side}_ball")
    if ball is None:
        return None
    places, turns = character.skeleton.rest_world
    return kinematics.point(ball), places[ball.joint] + rotation.rotate(turns[ball.joint], np.array(ball.offset))


def _angle(a: NDArray, b: NDArray) -> NDArray:
    """The angle between directions (F, 3), radians, 0 to π."""
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.sum(a * b, axis=1))


def speed(places: NDArray, fps: float) -> NDArray:
    """Speed (F,) over the floor, m/s, over about a fifteenth of a second, so that noise does not drown it."""
    if len(places) < 3:
        return np.zeros(len(places))
    reach = max(1, round(fps / 30.0))
    frames = np.arange(len(places))
    before, after = np.maximum(frames - reach, 0), np.minimum(frames + reach, len(places) - 1)
    step = (places[after] - places[before]) * [1.0, 0.0, 1.0]
    return np.linalg.norm(step, axis=1) * fps / (after - before)
