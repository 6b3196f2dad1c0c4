"""Trunk and arms on slopes and stairs: the trunk leans into a climb, and arms swing as far as the stride.

Walkers tilt pelvis and trunk progressively forward with the grade uphill, and a little backward downhill (Leroux, Fung
& Barbeau, "Postural adaptation to walking on inclined surfaces: I. Normal strategies", Gait & Posture 2002). From there
we take the signs, that pelvis and trunk share the tilt, and that the one downhill is smaller. The factors are those of
people who were captured on stairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.feet.footing import Footing
from footplant.feet.steps import Step
from footplant.humanoid.limits import clamp_to_limits
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.spline import filter_fir

if TYPE_CHECKING:
    from footplant.feet._lean import LeanTables


@dataclass(frozen=True)
class LeanSettings:
    """Tuning numbers of the posture on slopes. Where a field names no experiment, none is on record."""

    uphill: float = 0.45
    """Lean of the trunk per angle of the climb: 13° on stairs of 17 by 29 cm, 4.5° on a ramp of 10°.
    On stairs of 21 by 29 cm (`benchmarks/stairs_against_capture.py`) two captured people lean by 5.3° and 10.7°, our
    walks by 5.5° (median of 8); with 0.35 by 4.3°."""
    downhill: float = 0.3
    """The same downhill, where the trunk leans back.
    There the same people lean by -3.6° and -5.6°, our walks by -3.9°; with 0.12 by -1.5°."""
    steepest: float = np.radians(40.0)
    """Radians; largest climb that counts."""
    pelvis: float = 0.4
    """Share of the lean that the pelvis has; the spine adds the rest."""
    arms: float = 0.3
    """Share of the lean that upper arms have in the world: they hang."""
    head: float = 0.4
    """Share of the lean that the head has in the world."""
    smoothing: float = 0.45
    """Seconds; half width of the Hann window over which the lean changes."""
    least_stride: float = 0.15
    """Body heights; steps that are nearer to each other say nothing about the climb."""
    least_swing: float = 0.45
    """Least factor of the swing of the arms, for a stride of no length."""


LEAN_SETTINGS = LeanSettings()


def leaned(
    motion: Motion, character: Character, steps: Sequence[Step], footings: Sequence[Footing], strides: NDArray | None
) -> Motion:
    """Return the motion with its trunk leaned as its steps climb, and arms that swing as far as its strides allow.

    strides: (F,) factors of the length of strides; None for unchanged ones. Thighs and what hangs on them keep their
    world rotations, and the middle of the hip joints its place.
    """
    from footplant.feet import _lean as kernel

    kinematics, tables = Kinematics(motion), lean_tables(character)
    climbs = _climbs(motion, tables, steps, footings, _left(kinematics, character))
    rotations, root = np.array(motion.rotations), np.array(motion.root)
    if strides is not None and (strides < 1.0).any():
        _swing_less(rotations, character, strides, motion.fps)
        kinematics = Kinematics(motion.like(root.copy(), rotations.copy(), motion.offsets))
    if np.abs(climbs).max(initial=0.0) > 1e-9:
        positions, turns = np.array(kinematics.positions), np.array(kinematics.rotations)
        before = rotations.copy()
        kernel.lean_trunk(tables, climbs, positions, turns, root, rotations)
        for joint in character.require_roles().joints.get("spine", ()):
            # a spine that is bent as far as it goes leans less
            rotations[:, joint] = clamp_to_limits(character, joint, rotations[:, joint], before[:, joint])
    return motion.like(root, rotations, motion.offsets)


def lean_tables(character: Character) -> LeanTables:
    """Return the joints of a character that the lean turns, and by which share of it."""
    from footplant.feet import _lean as kernel

    roles, skeleton, settings = character.require_roles(), character.skeleton, LEAN_SETTINGS
    hips, spine = roles["hips"], list(roles.joints.get("spine", ()))
    turned = {hips: settings.pelvis}
    for number, joint in enumerate(spine):
        turned[joint] = settings.pelvis + (1.0 - settings.pelvis) * (number + 1) / len(spine)
    ahead = [*roles.joints.get("neck", ()), *roles.joints.get("head", ())]
    for joint in ahead[:1]:
        turned[joint] = settings.head
    for side in ("left", "right"):
        for role, share in ((f"{side}_upper_arm", settings.arms), (f"{side}_upper_leg", 0.0)):
            if role in roles:
                turned[roles[role]] = share
    shares = np.zeros(len(skeleton))
    for joint in range(len(skeleton)):
        above = int(skeleton.parents[joint])
        shares[joint] = turned.get(joint, shares[above] if above >= 0 else 0.0)
    joints = np.array([hips, *(joint for joint in sorted(turned) if joint != hips)], np.int64)
    parents = np.array([int(skeleton.parents[joint]) for joint in joints], np.int64)
    before = np.where(parents >= 0, shares[parents], 0.0)
    tops = [roles[role] for role in ("neck", "head") if role in roles][:1]
    # robots without a neck have shoulders
    tops = tops or [roles[role] for role in ("left_upper_arm", "right_upper_arm") if role in roles]
    legs = np.array([roles["left_upper_leg"], roles["right_upper_leg"]], np.int64)
    return kernel.LeanTables(
        joints, parents, np.stack([before, shares[joints]], axis=1), legs, np.array(tops, np.int64), settings.uphill,
        settings.downhill, float(settings.steepest), settings.least_stride * character.height,
    )  # fmt: skip


def _left(kinematics: Kinematics, character: Character) -> NDArray:
    """Return unit vectors (F, 3), level, from the right to the left hip joint."""
    roles = character.require_roles()
    line = kinematics.positions[:, roles["left_upper_leg"]] - kinematics.positions[:, roles["right_upper_leg"]]
    line = line * [1.0, 0.0, 1.0]
    return line / np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-9)


def _climbs(
    motion: Motion, tables: LeanTables, steps: Sequence[Step], footings: Sequence[Footing], left: NDArray
) -> NDArray:
    """Return the angle (F,), radians, at which the ground rises in the direction that the body faces."""
    from footplant.feet import _lean as kernel

    middles = [(0.5 * (step.start + step.end - 1), footing.on_ground()) for step, footing in zip(steps, footings)]
    middles.sort(key=lambda row: row[0])
    moments, angles = [], []
    for number, (when, _) in enumerate(middles):
        # over a stride of both feet: from the step before to the one after
        before, after = middles[max(number - 1, 0)], middles[min(number + 1, len(middles) - 1)]
        forward = np.cross(left[round(when)], rotation.AXES["y"])
        climb = kernel.climb_of(tables, *(after[1] - before[1]).tolist(), float(forward[0]), float(forward[2]))
        if not np.isnan(climb):
            moments.append(when)
            angles.append(climb)
    if not moments:
        return np.zeros(len(motion))
    found = np.interp(np.arange(len(motion)), moments, angles)
    half = max(round(LEAN_SETTINGS.smoothing * motion.fps), 1)
    window = np.hanning(2 * half + 3)[1:-1]
    return filter_fir(found[:, None], window / window.sum())[:, 0]


def _swing_less(rotations: NDArray, character: Character, strides: NDArray, fps: float) -> None:
    """Bring the arms nearer to their mean over a stride, in place, where strides are shorter: factors (F,)."""
    roles, settings = character.require_roles(), LEAN_SETTINGS
    half = max(round(0.55 * fps), 1)
    kernel = np.hanning(2 * half + 3)[1:-1]
    share = settings.least_swing + (1.0 - settings.least_swing) * np.clip(strides, 0.0, 1.0)
    for side in ("left", "right"):
        for part in ("upper_arm", "lower_arm"):
            joint = roles.get(f"{side}_{part}")
            if joint is not None:
                own = rotation.unroll(rotations[:, joint : joint + 1])[:, 0]
                mean = rotation.normalize(filter_fir(own, kernel / kernel.sum()))
                rotations[:, joint] = rotation.slerp(mean, own, share)
