"""Loops of game libraries as they would have been captured: they walk as if on a treadmill, and for one cycle only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.blending.settings import LOOP, TREADMILL
from footplant.clip import Clip
from footplant.contacts.detection import FEET
from footplant.kinematics import Kinematics


def off_the_treadmill(clip: Clip) -> Clip:
    """Return a clip that walks or runs on the spot as it travels over the ground, any other clip as it is.

    The velocity of the belt is taken to be constant, as it is where a steady gait was cut into a loop.
    """
    belt = belt_velocity(clip)
    if belt is None:
        return clip
    root = np.array(clip.motion.root)
    root[:, ::2] -= np.arange(len(root))[:, None] / clip.motion.fps * belt
    return replace(clip, motion=replace(clip.motion, root=root))


def several_rounds(clip: Clip) -> Clip:
    """Return a short clip that ends as it begins played several times, any other clip as it is.

    What is before its first frame and after its last one is then known, and steps over its seam are whole.
    """
    motion, roles = clip.motion, clip.character.require_roles()
    if len(motion) < 3 or motion.duration > LOOP.longest:
        return clip
    positions = np.array(Kinematics(motion).positions)
    positions[:, :, ::2] -= positions[:, [roles["hips"]], ::2]
    steps = np.linalg.norm(np.diff(positions, axis=0), axis=2).max(axis=1)
    gap = np.linalg.norm(positions[0] - positions[-1], axis=1).max()
    if gap > TREADMILL.next * np.percentile(steps, 95):
        return clip
    # the first frame is there again at the end, or would be the next one
    period = len(motion) - 1 if gap <= TREADMILL.closed * np.median(steps) else len(motion)
    way = (motion.root[-1] - motion.root[0])[::2] * period / (len(motion) - 1)
    frames = np.arange(TREADMILL.rounds * period + 1)
    again = motion[frames % period]
    root = np.array(again.root)
    root[:, ::2] += (frames // period)[:, None] * way
    return replace(clip, motion=replace(again, root=root))


def belt_velocity(clip: Clip) -> NDArray | None:
    """Return the (2,) velocity, x and z in metres per second, at which feet slide in turn; None if they do not.

    Hips stay on the spot. The velocity is the one that both feet have most often while they are on the ground, one
    after the other, and more often than they stand.
    """
    character, height = clip.character, clip.character.height
    if len(clip.motion) < 3 or character.roles is None or not all(name in character.contacts for name in FEET):
        return None
    motion = clip.motion.resample(TREADMILL.rate)
    kinematics = Kinematics(motion)
    hips = kinematics.positions[:, character.roles["hips"], ::2]
    if np.linalg.norm(hips - np.median(hips, axis=0), axis=1).max() > TREADMILL.spot * height:
        return None
    points = np.stack([kinematics.point(character.contacts[name]) for name in FEET], axis=1)
    velocities = np.gradient(points[:, :, ::2], 1.0 / motion.fps, axis=0)
    low, own = [], []
    for side in ("left", "right"):
        columns = [number for number, name in enumerate(FEET) if name.startswith(side)]
        lowest = np.take(columns, points[:, columns, 1].argmin(axis=1))
        heights = points[np.arange(len(points)), lowest, 1]
        low.append(heights <= heights.min() + TREADMILL.low * height)
        own.append(velocities[np.arange(len(points)), lowest])
    slides, down = np.stack(own, axis=1), np.stack(low, axis=1)
    candidates = slides[down]
    candidates = candidates[np.linalg.norm(candidates, axis=1) >= TREADMILL.slowest * height]
    best, most = None, 0.0
    for belt in candidates[:: max(len(candidates) // TREADMILL.candidates, 1)]:
        speed = np.linalg.norm(belt)
        off = np.linalg.norm(slides - belt, axis=2) / (TREADMILL.alike * speed)
        on_it = down * np.maximum(1.0 - off**2, 0.0)
        # one foot while the other is not: in falls and dodges both slide together
        share = float((on_it * (1.0 - on_it[:, ::-1])).mean(axis=0).min())
        stands = down & (np.linalg.norm(slides, axis=2) <= TREADMILL.still * speed)
        if share > most and np.sum(on_it.max(axis=1)) > np.sum(stands.any(axis=1)):
            best, most = np.einsum("fs,fsk->k", on_it, slides) / on_it.sum(), share
    return best if most >= TREADMILL.share else None
