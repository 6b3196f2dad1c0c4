"""Run everything once before a live session, so that kernels are compiled and caches filled."""

from __future__ import annotations

from dataclasses import replace

from footplant import samples
from footplant.live.actor import ActorSettings, MakePuppeteer
from footplant.live.puppeteer import Puppeteer
from footplant.live.stage import LiveStage, PoseEncoder
from footplant.skeleton import Character

FRAMES = 20
"""Frames of the sample that are played."""


def rehearse(
    target: Character,
    make: MakePuppeteer = Puppeteer,
    settings: ActorSettings | None = None,
    encoder: PoseEncoder | None = None,
) -> int:
    """Drive a character by some frames of a sample walk, with a gap; return the number of poses."""
    clip = samples.load("walk")
    performer = PoseEncoder("vmc", clip.character)
    settings = replace(settings or ActorSettings(), calibrate=False, calibrate_noise=False)
    stage = LiveStage("vmc", target, make, settings)
    poses = 0
    for frame in range(FRAMES):
        now = frame / 60.0
        if not 12 <= frame < 15:
            data = performer.encode(clip.motion.root[frame], clip.motion.rotations[frame], now)
            stage.feed(data, "rehearsal", now)
        for shown in stage.poses(now):
            poses += 1
            if encoder is not None:
                encoder.encode(shown.pose.root, shown.pose.rotations, shown.time)
    return poses
