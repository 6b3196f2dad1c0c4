"""Curves over time: joint angles from bone directions, height and speed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.kinematics import Kinematics
from footplant.skeleton import Character

LEG = ("upper_leg", "lower_leg", "foot")


def has_legs(character: Character) -> bool:
    """Return whether both legs have roles from hip to ankle."""
    roles = character.roles
    return roles is not None and all(f"{side}_{part}" in roles for side in ("left", "right") for part in LEG)


def leg_angles(character: Character, kinematics: Kinematics, side: str) -> dict[str, NDArray]:
    """Return hip, knee and ankle flexion (F,) of one leg, degrees, in the convention of gait analysis.

    Hip: thigh relative to the pelvis, forward positive. Knee: thigh relative to shin, 0 straight. Ankle: foot relative
    to shin, toes up positive, 0 as in the rest pose. Only joint positions are used, so local axes do not matter.
    """
    roles = character.require_roles()
    hip, knee, ankle = (roles[f"{side}_{part}"] for part in LEG)
    positions = kinematics.positions
    thigh, shin = positions[:, knee] - positions[:, hip], positions[:, ankle] - positions[:, knee]
    forward, up = _pelvis_axes(character, kinematics)
    hip_angle = np.arctan2(np.sum(thigh * forward, axis=1), -np.sum(thigh * up, axis=1))
    angles = {"hip": np.unwrap(hip_angle), "knee": _angle(thigh, shin)}
    toe = _toe(character, kinematics, side)
    if toe is not None:
        now, rest_toe = toe
        rest = character.skeleton.rest_world[0]
        rest_angle = _angle((rest[ankle] - rest[knee])[None], (rest_toe - rest[ankle])[None])
        angles["ankle"] = _angle(shin, now - positions[:, ankle]) - rest_angle
    return {name: np.degrees(values) for name, values in angles.items()}


def _pelvis_axes(character: Character, kinematics: Kinematics) -> tuple[NDArray, NDArray]:
    """Return forward and up of the pelvis, (F, 3) each, fixed to it in the upright rest pose."""
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
    """Return the ball of the foot now (F, 3) and in the rest pose (3,); None without toes or contact point."""
    roles = character.require_roles()
    toes = roles.get(f"{side}_toes")
    if toes is not None:
        return kinematics.positions[:, toes], character.skeleton.rest_world[0][toes]
    ball = character.contacts.get(f"{side}_ball")
    if ball is None:
        return None
    positions, turns = character.skeleton.rest_world
    return kinematics.point(ball), positions[ball.joint] + rotation.rotate(turns[ball.joint], np.array(ball.offset))


def _angle(a: NDArray, b: NDArray) -> NDArray:
    """Return the angle between directions (F, 3), radians, 0 to π."""
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.sum(a * b, axis=1))


def speed(positions: NDArray, fps: float) -> NDArray:
    """Return the horizontal speed (F,), m/s, by differences over about a fifteenth of a second, to suppress noise."""
    if len(positions) < 3:
        return np.zeros(len(positions))
    reach = max(1, round(fps / 30.0))
    frames = np.arange(len(positions))
    before, after = np.maximum(frames - reach, 0), np.minimum(frames + reach, len(positions) - 1)
    step = (positions[after] - positions[before]) * [1.0, 0.0, 1.0]
    return np.linalg.norm(step, axis=1) * fps / (after - before)
