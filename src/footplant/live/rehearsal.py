"""Everything once before the show: kernels are compiled and caches filled while nobody waits for a pose."""

from __future__ import annotations

from footplant import samples
from footplant.live.actor import MakePuppeteer, Settings
from footplant.live.puppeteer import Puppeteer
from footplant.live.stage import Stage, Voice
from footplant.skeleton import Character

FRAMES = 20


def rehearse(
    target: Character, make: MakePuppeteer = Puppeteer, settings: Settings | None = None, voice: Voice | None = None
) -> int:
    """Drive a character by some frames of a sample walk, with a gap; how many poses that gave."""
    clip = samples.load("walk")
    performer = Voice("vmc", clip.character)
    settings = settings or Settings()
    settings = Settings(False, settings.half_life, settings.lag, settings.gaps)
    stage = Stage("vmc", target, make, settings)
    poses = 0
    for frame in range(FRAMES):
        now = frame / 60.0
        if not 12 <= frame < 15:
            stage.feed(performer.say(clip.motion.root[frame], clip.motion.rotations[frame], now), "rehearsal", now)
        for _, _, pose in stage.poses(now):
            poses += 1
            if voice is not None:
                voice.say(pose.root, pose.rotations, now)
    return poses
