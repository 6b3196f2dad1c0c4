"""Legs of captures that flip: a thigh and its shank, or a foot, are turned by 180° for some time.

A solver that fits joint angles to markers has two answers where these tell little of a joint's roll, and may jump from
one to the other. A knee bent backwards by 140° is one bent by 140° under a thigh that is turned by 180° about itself:
all joints are at the same places. A foot that is turned by 180° about one of its own axes is as no ankle can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import frame_rate, shaped
from footplant.errors import SkeletonError
from footplant.humanoid.reference import reference_world
from footplant.skeleton import Roles, Skeleton


@dataclass(frozen=True)
class FlipSettings:
    """Thresholds for legs that flip; figures are of 81 captures."""

    folded: float = np.radians(90.0)
    """Radians; a knee bent backwards by more is bent under a flipped thigh. One capture has such a knee, bent by 139°
    to 159° in 180 frames; in all others none is bent backwards by more than 30°."""
    beyond: float = np.radians(110.0)
    """Radians; an ankle that turns by more may be flipped. Six ankles of four captures are, and turn by up to 180°;
    a dancer's, which is not, turns by 96°."""
    left: float = np.radians(70.0)
    """Radians; largest median turn of an ankle for as long as it is flipped, once it is turned back. Those six turn by
    4° to 40°; one whose direction is wrong as well, by 91°, is left as it is."""
    about: float = 0.05
    """Seconds before and after a flip of an ankle that are interpolated: flips take up to 13 frames at 120 Hz."""
    rolls: float = np.radians(30.0)
    """Radians; a foot that turns by more about its own line from one frame to the next, as its knee begins or ceases to
    be folded backwards, has rolled over: the one capture's foot does by 87° to 130°."""
    spread: float = 0.2
    """Seconds before and after over which such a roll is spread."""


SETTINGS = FlipSettings()


def unflipped_legs(skeleton: Skeleton, roles: Roles, rotations: ArrayLike, fps: float) -> NDArray:
    """Return local rotations (F, J, 4) whose legs do not flip: the same array if none does.

    rotations: (F, J, 4) local rotations of all frames, y up. Knees and ankles stay where they are.
    """
    roles.require_fit(skeleton)
    frames = shaped(rotations, ("F", len(skeleton), 4), "rotations", SkeletonError)
    rate, out = frame_rate(fps, SkeletonError), frames
    for side in ("left", "right"):
        hip, knee, foot = (roles.get(f"{side}_{part}") for part in ("upper_leg", "lower_leg", "foot"))
        if hip is None or knee is None or foot is None:
            continue
        if skeleton.parents[foot] == knee and skeleton.parents[knee] == hip:
            out = _unfolded(skeleton, roles, out, (hip, knee, foot), max(round(SETTINGS.spread * rate), 1))
        out = _unflipped(skeleton, roles, out, foot, round(SETTINGS.about * rate))
    return out


def _unfolded(
    skeleton: Skeleton, roles: Roles, rotations: NDArray, joints: tuple[int, int, int], spread: int
) -> NDArray:
    """Return rotations (F, J, 4) without knees that are bent backwards by more than knees bend.

    joints: of the hip, the knee and the foot. The foot keeps its world rotation, but for a roll of its own as the knee
    begins or ceases to be folded (`_spread_rolls`).
    """
    hip, knee, foot = joints
    bends = rotation.log(_away(skeleton, roles, rotations, knee))[:, 0]
    folded = bends < -SETTINGS.folded
    lengths = np.linalg.norm(skeleton.offsets[[knee, foot]], axis=1)
    if not folded.any() or not lengths.all():
        return rotations
    out = np.array(rotations)
    thigh, shank = rotation.exp(np.pi * skeleton.offsets[[knee, foot]] / lengths[:, None])
    out[folded, hip] = rotation.multiply(rotations[folded, hip], thigh)
    bent = rotation.multiply(rotation.inverse(thigh), rotations[folded, knee])
    out[folded, knee] = rotation.multiply(bent, shank)
    out[folded, foot] = rotation.multiply(rotation.inverse(shank), rotations[folded, foot])
    _spread_rolls(skeleton, roles, out, joints, folded, spread)
    out[:, joints] = rotation.unroll(out[:, joints])
    return out


def _spread_rolls(
    skeleton: Skeleton, roles: Roles, rotations: NDArray, joints: tuple[int, int, int], folded: NDArray, spread: int
) -> None:
    """Turn a foot about its own line so that it does not roll over where its knee begins or ceases to be folded.

    Half of a jump is taken back before it and half after it, less and less over `spread` frames: which side is right,
    nothing tells. Places of toes stay.
    """
    toes = roles.get(f"{'left' if joints[2] == roles.get('left_foot') else 'right'}_toes")
    if toes is None or skeleton.parents[toes] != joints[2] or not np.linalg.norm(skeleton.offsets[toes]):
        return
    line, local = skeleton.offsets[toes] / np.linalg.norm(skeleton.offsets[toes]), rotations[:, joints[2]]
    # in the frame of the thigh: it does not jump
    turned = rotation.multiply(rotations[:, joints[0]], rotation.multiply(rotations[:, joints[1]], local))
    steps = rotation.multiply(rotation.inverse(turned[:-1]), turned[1:])
    rolls = 2.0 * np.arctan2(steps[:, 1:] @ line, steps[:, 0])
    rolls = np.mod(rolls + np.pi, 2.0 * np.pi) - np.pi
    frames, back = np.arange(len(local)), np.zeros(len(local))
    for edge in np.flatnonzero(folded[1:] != folded[:-1]):
        if abs(rolls[edge]) > SETTINGS.rolls:
            before = frames <= edge
            share = np.clip(np.where(before, edge - frames, frames - edge - 1) / spread, 0.0, 1.0)
            fade = 1.0 - share * share * (3.0 - 2.0 * share)
            back += np.where(before, 0.5, -0.5) * rolls[edge] * fade
    rotations[:, joints[2]] = rotation.multiply(local, rotation.exp(back[:, None] * line))


def _unflipped(skeleton: Skeleton, roles: Roles, rotations: NDArray, foot: int, about: int) -> NDArray:
    """Return rotations (F, J, 4) with a foot turned back wherever it is turned by 180° about one of its axes.

    about: frames beside each flip that are interpolated.
    """
    away = _away(skeleton, roles, rotations, foot)
    beyond, wrong = _angles(away) > SETTINGS.beyond, np.zeros(len(away), bool)
    edges = np.flatnonzero(np.diff(beyond, prepend=False, append=False))
    made = np.array(away)
    for first, last in edges.reshape(-1, 2).tolist():
        turned = [
            rotation.multiply(away[first:last], rotation.from_axis_angle(axis, np.pi))
            for axis in rotation.AXES.values()
        ]
        angles = [float(np.median(_angles(each))) for each in turned]
        if min(angles) > SETTINGS.left:
            continue
        made[first:last] = turned[int(np.argmin(angles))]
        for edge in (first, last):
            if 0 < edge < len(away):
                wrong[max(edge - about, 0) : edge + about] = True
    right = np.flatnonzero(~wrong)
    if not (made != away).any() or not len(right):
        return rotations
    out, (above, world) = np.array(rotations), _around(skeleton, roles, foot)
    made = _interpolated(made, right)
    out[:, foot] = rotation.unroll(rotation.multiply(rotation.multiply(rotation.inverse(above), made), world))
    return out


def _interpolated(rotations: NDArray, known: NDArray) -> NDArray:
    """Return rotations (F, 4), of which those of the frames known are right, and others between these."""
    frames = np.arange(len(rotations))
    after = np.minimum(np.searchsorted(known, frames), len(known) - 1)
    before = np.where(known[after] > frames, np.maximum(after - 1, 0), after)
    gap = np.maximum(known[after] - known[before], 1)
    share = np.clip((frames - known[before]) / gap, 0.0, 1.0)
    return rotation.slerp(rotations[known[before]], rotations[known[after]], share)


def _angles(rotations: NDArray) -> NDArray:
    return np.linalg.norm(rotation.log(rotations), axis=1)


def _away(skeleton: Skeleton, roles: Roles, rotations: NDArray, joint: int) -> NDArray:
    """Return the rotations (F, 4) of a joint relative to its parent, away from the reference pose and in its axes."""
    above, world = _around(skeleton, roles, joint)
    return rotation.multiply(rotation.multiply(above, rotations[:, joint]), rotation.inverse(world))


def _around(skeleton: Skeleton, roles: Roles, joint: int) -> tuple[NDArray, NDArray]:
    """Return the world rotations (4,) of a joint's parent and of the joint in the reference pose."""
    world = reference_world(skeleton, roles)[1]
    return world[skeleton.parents[joint]], world[joint]
