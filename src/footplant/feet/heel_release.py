"""Heels that leave the ground earlier on stairs and slopes, where a foot that stays flat would bend its ankle too far.

On stairs the trailing heel leaves its tread while the body is still pulled up or lowered over the foot, which rolls
onto its ball (Riener, Rabuffetti & Frigo, "Stair ascent and descent at different inclinations", Gait & Posture 2002). A
level walk keeps the heel down for longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.detection import Contacts, Plant
from footplant.feet.steps import Step
from footplant.humanoid.limits import anatomical_turns_of
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of
from footplant.solve.ik.limb import place as place_limb
from footplant.spline import binomial_kernel, filter_fir


@dataclass(frozen=True)
class HeelSettings:
    """Tuning numbers of heel release. Where a field names no experiment, none is on record."""

    dorsiflexion: float = np.radians(38.0)
    """Radians; dorsiflexion of the ankle beyond which the heel rises, or that of the level motion if larger. With 30°,
    heels rise early on ramps of 15°."""
    earliest: float = 0.5
    """Share of a heel's contact after which it may be released."""
    ramp: float = 0.08
    """Seconds over which the rise of a released heel begins, and ends before its next contact."""
    margin: float = np.radians(4.0)
    """Radians kept from the ankle's limit."""
    smoothing: float = 0.05
    """Seconds; half width of the binomial filter that smooths the heel's rise."""
    rounds: int = 3
    """Times the rise is found anew: a raised heel inclines the shank less."""


HEEL_SETTINGS = HeelSettings()


def released_heels(
    motion: Motion, level: Motion, character: Character, steps: Sequence[Step], contacts: Contacts
) -> tuple[Motion, list[Step], Contacts]:
    """Return the motion with heels raised where ankles bend too far, and steps and contacts that let go of them then.

    motion: on uneven ground, an initial guess; level: the same on the level, whose own dorsiflexion is allowed. A foot
    without toe joint keeps its heel down: rolling onto its ball would push its tip into the ground.
    """
    steps, plants = list(steps), list(contacts.plants)
    for side in ("left", "right"):
        if f"{side}_toes" not in character.require_roles():
            continue
        first = _excess(motion, level, character, side)
        if np.abs(first).max(initial=0.0) < 1e-3:
            continue
        heel_down, ball_down = np.zeros(len(motion), bool), np.zeros(len(motion), bool)
        for number, step in enumerate(steps):
            if step.side != side:
                continue
            heels = tuple(_released(heel, step, first) for heel in step.heels)
            steps[number] = replace(step, heels=heels)
            plants = _replaced(plants, step, heels)
            for mask, own in ((heel_down, heels), (ball_down, step.balls)):
                for plant in own:
                    mask[plant.start : plant.end] = True
        share = _share(heel_down & ball_down, max(round(HEEL_SETTINGS.ramp * motion.fps), 1))
        pivots = _pivots(heel_down, ball_down)
        rise = first
        for _ in range(HEEL_SETTINGS.rounds):
            motion = _pitched(motion, character, side, share * rise, pivots)
            rise = _excess(motion, level, character, side)
    return motion, steps, replace(contacts, plants=tuple(plants))


def _share(down: NDArray, ramp: int) -> NDArray:
    """Return weights (F,): 0 while a foot is down, 1 from `ramp` frames before and after that on."""
    from scipy.ndimage import distance_transform_edt

    if not down.any():
        return np.ones(len(down))
    away = np.clip(np.asarray(distance_transform_edt(~down)) / ramp, 0.0, 1.0)
    return away * away * (3.0 - 2.0 * away)


def _pivots(heel_down: NDArray, ball_down: NDArray) -> NDArray:
    """Return where along a foot (F,), from heel 0 to ball 1, it pivots: on its ball before a swing, its heel after."""
    known = heel_down | ball_down
    if not known.any():
        return np.full(len(known), 0.5)
    frames = np.arange(len(known))
    return np.interp(frames, frames[known], np.where(heel_down & ~ball_down, 0.0, 1.0)[known])


def _excess(motion: Motion, level: Motion, character: Character, side: str) -> NDArray:
    """Return by how much (F,), radians, an ankle is dorsiflexed too far, smoothed; negative: plantarflexed."""
    foot, settings = limb_of(character, f"{side}_leg").end, HEEL_SETTINGS
    bent, own = (-anatomical_turns_of(character, foot, each.rotations[:, foot])[:, 0] for each in (motion, level))
    most = max(settings.dorsiflexion, float(own.max(initial=0.0)))
    if character.limits is not None:
        most = min(most, float(-character.limits.lower[foot, 0]) - settings.margin)
    half = max(round(settings.smoothing * motion.fps), 1)
    pointed = max(-float(own.min(initial=0.0)), float(np.radians(50.0)))
    if character.limits is not None:
        pointed = max(pointed, float(character.limits.upper[foot, 0]) - settings.margin)
    excess = np.maximum(bent - most, 0.0) - np.maximum(-bent - pointed, 0.0)
    return filter_fir(excess[:, None], binomial_kernel(2 * half + 1))[:, 0]


def _pitched(motion: Motion, character: Character, side: str, angles: NDArray, pivots: NDArray) -> Motion:
    """Return the motion with a foot pitched, heel up, by angles (F,), radians, about places from heel 0 to ball 1."""
    kinematics, limb = Kinematics(motion), limb_of(character, f"{side}_leg")
    heel, ball = (kinematics.point(character.contacts[f"{side}_{part}"]) for part in ("heel", "ball"))
    axis = rotation.cross(np.broadcast_to(rotation.AXES["y"], heel.shape), ball - heel)
    axis = axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-9)
    turn = rotation.exp(angles[:, None] * axis)
    pivot = heel + pivots[:, None] * (ball - heel)
    ankles = pivot + rotation.rotate(turn, kinematics.positions[:, limb.end] - pivot)
    turned = rotation.multiply(turn, kinematics.rotations[:, limb.end])
    return place_limb(motion, limb, ankles, orientations=rotation.normalize(turned)).motion


def _released(heel: Plant, step: Step, excess: NDArray) -> Plant:
    """Return a heel's contact, ended where its ankle begins to bend too far in its later part and the ball stays."""
    start = heel.start + int(np.ceil(HEEL_SETTINGS.earliest * len(heel)))
    late = np.flatnonzero(excess[start : heel.end] > np.radians(0.5))
    if not len(late) or not any(ball.start <= start + late[0] < ball.end for ball in step.balls):
        return heel
    return replace(heel, end=max(start + int(late[0]), heel.start + 1))


def _replaced(plants: Sequence[Plant], step: Step, heels: Sequence[Plant]) -> list[Plant]:
    """Return contacts with those of a step's heels ended as released ones are."""
    ends = {(old.point, old.end): new.end for old, new in zip(step.heels, heels)}
    return [replace(plant, end=max(ends.get((plant.point, plant.end), plant.end), plant.start + 1)) for plant in plants]
