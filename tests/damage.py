"""Motions made worse in known ways: what repairs have to undo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from footplant import Clip, rotation
from footplant.kinematics import Kinematics
from footplant.solve.ik.limb import limb_of, place
from footplant.spline import filter_fir


def drifting(clip: Clip, velocity=(0.15, 0.0, 0.1)) -> Clip:
    """The whole figure glides over the floor, metres a second."""
    seconds = np.arange(len(clip.motion)) / clip.motion.fps
    return moved(clip, seconds[:, None] * np.asarray(velocity))


def swaying(clip: Clip, size: float = 0.03, period: float = 1.1) -> Clip:
    """The whole figure sways about where it should be, metres and seconds."""
    seconds = np.arange(len(clip.motion)) / clip.motion.fps
    angle = 2.0 * np.pi * seconds / period
    return moved(clip, size * np.stack([np.sin(angle), 0.0 * angle, np.cos(angle / 1.3)], axis=1))


def stretched(clip: Clip, factor: float = 1.15) -> Clip:
    """The way over the floor is longer than the steps."""
    return moved(clip, clip.motion.root * [factor - 1.0, 0.0, factor - 1.0])


def lifted(clip: Clip, by: float = 0.04) -> Clip:
    """The whole figure floats, or is sunk, metres."""
    return moved(clip, np.array([0.0, by, 0.0]))


def moved(clip: Clip, by) -> Clip:
    return replace(clip, motion=replace(clip.motion, root=clip.motion.root + by))


def noisy_feet(clip: Clip, size: float = 0.008, seconds: float = 0.08, seed: int = 0) -> Clip:
    """Both ankles wander about where they should be by so many metres, changing within so many seconds."""
    motion, rng = clip.motion, np.random.default_rng(seed)
    half = max(round(seconds * motion.fps), 1)
    for name in ("left_leg", "right_leg"):
        limb, kinematics = limb_of(clip.character, name), Kinematics(motion)
        kernel = np.full(2 * half + 1, 1.0 / np.sqrt(2 * half + 1))
        wander = size * filter_fir(rng.normal(size=(len(motion), 3)), kernel)
        goals, turns = kinematics.positions[:, limb.end] + wander, kinematics.rotations[:, limb.end]
        motion = place(motion, limb, goals, orientations=turns, kinematics=kinematics).motion
    return replace(clip, motion=motion)


def jittering(clip: Clip, fps: float = 30.0, degrees: float = 0.4, seed: int = 0) -> Clip:
    """Every joint of every frame off by an angle of its own, at a low rate."""
    motion, rng = clip.motion.resample(fps), np.random.default_rng(seed)
    off = rotation.exp(np.radians(degrees) * rng.normal(size=(*motion.rotations.shape[:2], 3)))
    turned = rotation.normalize(rotation.multiply(motion.rotations, off))
    return replace(clip, motion=replace(motion, rotations=turned))


DAMAGE = {
    "drifting": drifting,
    "swaying": swaying,
    "stretched": stretched,
    "floating": lifted,
    "sunk": lambda clip: lifted(clip, -0.04),
    "noisy feet": noisy_feet,
    "30 fps jitter": jittering,
    "all at once": lambda clip: lifted(noisy_feet(swaying(drifting(clip))), 0.03),
}
"""Kind of damage → clip → the damaged clip."""
