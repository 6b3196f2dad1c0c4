"""Tables 7.1 and 7.2 of Shin, "An importance-based approach for computer puppetry" (KAIST 2002).

7.1: iterations of the numerical body step with and without the estimate of the root, over all clips, in one world that
performer and puppet share as in the thesis. 7.2: time a frame and character, by the compiled loop over a clip (mean)
and by single live steps (the slowest in a hundred). The clips are our samples and, where they are beside the
repository, real ones; the thesis had 61 clips of its own: 15634 iterations without the estimate and 8 with it for
Blubby, 429 and 0 for Sally, and 1.4 to 1.7 ms a frame.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from footplant import samples
from footplant.clip import Clip
from footplant.contacts.detection import find_contacts
from footplant.contacts.importance import PerformanceScene, SceneObject
from footplant.edits.puppet import as_shape
from footplant.kinematics import Kinematics
from footplant.live.puppeteer import PerformerFrame, Puppeteer
from footplant.solve.ik.puppet import PuppetEngine
from timing import cpu_seconds, main

TARGETS = ("blubby", "sally")
MOTIONS = ("walk", "run", "turn-left", "stand", "jump", "kick", "punch", "reach", "clap", "waist")
REAL, MOST_REAL, MOST_FRAMES, RATE = "bvh/**/*.bvh", 20, 600, 30.0
"""Real clips: where they are, how many of them, how much of each, and the rate of the thesis."""
LIVE_STEPS = 2000


def clips() -> list[Clip]:
    """Samples and some real clips, at the rate of the thesis."""
    found = [samples.load(name) for name in MOTIONS]
    files = sorted((Path(__file__).resolve().parents[2] / "shared" / "data").glob(REAL))
    from footplant.io import load

    for path in files[:: max(1, len(files) // MOST_REAL)]:
        clip = load(path)
        if clip.character.roles is not None and len(clip.motion) > 30:
            found.append(replace(clip, name=path.stem))
    return [replace(clip, motion=clip.motion.resample(RATE)[:MOST_FRAMES]) for clip in found]


def floor_of(clip: Clip) -> PerformanceScene:
    """The ground that a clip's plants tell."""
    return PerformanceScene((SceneObject(as_shape(find_contacts(clip).ground, clip), "ground"),))


def live_microseconds(clip: Clip, target: str) -> np.ndarray:
    """CPU time of single live steps, microseconds."""
    puppeteer = Puppeteer(clip.character, samples.load_character(target))
    state, took = puppeteer.init(), []
    frames = [
        PerformerFrame(clip.motion.root[f], clip.motion.rotations[f], 1.0 / clip.motion.fps)
        for f in range(len(clip.motion))
    ]
    for step in range(LIVE_STEPS):
        start = time.process_time()
        state, _ = puppeteer.step(state, frames[step % len(frames)])
        took.append(1e6 * (time.process_time() - start))
    return np.array(took[100:])


def run() -> dict[str, float]:
    """Iterations with and without the root's estimate, and the time that a frame takes."""
    figures: dict[str, float] = {}
    every = clips()
    scenes = [floor_of(clip) for clip in every]
    figures["shin.clips"], figures["shin.frames"] = len(every), sum(len(clip.motion) for clip in every)
    forward = sum(cpu_seconds(lambda clip=clip: Kinematics(clip.motion[:]), repeats=3, shortest=0.0) for clip in every)
    for target in TARGETS:
        totals, seconds = [0, 0], 0.0
        for clip, scene in zip(every, scenes):
            for column, estimate in enumerate((False, True)):
                engine = PuppetEngine(
                    clip.character, samples.load_character(target), scene, scale=1.0, estimate_root=estimate
                )
                count = int(engine.play(clip.motion).iterations.sum())
                totals[column] += count
                if clip.name in MOTIONS:
                    figures[f"shin.{clip.name}.{target}.iterations_{('without', 'with')[column]}"] = count
            engine = PuppetEngine(clip.character, samples.load_character(target), scene)
            taken = cpu_seconds(lambda engine=engine, clip=clip: engine.play(clip.motion), repeats=3, shortest=0.0)
            seconds += taken
            if clip.name in MOTIONS:
                figures[f"shin.{clip.name}.{target}.microseconds_a_frame"] = 1e6 * taken / len(clip.motion)
        without, with_estimate = totals
        figures[f"shin.all.{target}.iterations_without"] = without
        figures[f"shin.all.{target}.iterations_with"] = with_estimate
        figures[f"shin.all.{target}.share_removed"] = 1.0 - with_estimate / max(without, 1)
        figures[f"shin.all.{target}.microseconds_a_frame"] = 1e6 * seconds / figures["shin.frames"]
        figures[f"shin.all.{target}.times_faster_than_100_forward_kinematics"] = 100.0 * forward / seconds
        steps = live_microseconds(samples.load("walk"), target)
        figures[f"shin.live.{target}.median_microseconds"] = float(np.median(steps))
        figures[f"shin.live.{target}.p99_microseconds"] = float(np.percentile(steps, 99.0))
    return figures


if __name__ == "__main__":
    main(run)
