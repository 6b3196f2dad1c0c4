"""Tables 7.1 and 7.2 of Shin, "An importance-based approach for computer puppetry" (KAIST 2002).

7.1: iterations of the numerical body step with and without the estimate of the root. 7.2: time a frame. Both count in
one world that performer and puppet share, as in the thesis, so a puppet with short legs must really reach for the
performer's footsteps and one with long legs finds them near. Beside that, the time of single live steps. As many clips
and frames as in the thesis, 61 and 9692, at 30 frames a second: our samples, and recordings where they are beside the
repository. The thesis counts 15634 iterations without the estimate and 8 with it for Blubby, 429 and 0 for Sally, on
its own clips, and 1.4 to 1.7 ms a frame on a Pentium 4 of 1.7 GHz.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant import samples
from footplant.clip import Clip
from footplant.contacts.detection import find_contacts
from footplant.contacts.importance import PerformanceScene, SceneObject
from footplant.edits.puppet import as_shape
from footplant.kinematics import Kinematics
from footplant.live.puppeteer import PerformerFrame, Puppeteer
from footplant.solve.ik.puppet import PuppetEngine
from puppet_measures import followed
from timing import cpu_seconds, main

TARGETS = ("blubby", "sally")
CLIPS, FRAMES, RATE = 61, 9692, 30.0
REAL = "bvh/**/*.bvh"
NAMED = {"walk": "walk", "throw": "141_28", "jump": "jump", "dance": "05_02"}
"""Rows of the tables → our clip for it; there is no recording of a handstand."""
LIVE_STEPS = 2000


def clips() -> list[Clip]:
    """As many clips and frames as in the thesis, if recordings are there: samples, then recordings."""
    shared = os.environ.get("FOOTPLANT_SHARED_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
    from footplant.io import load

    found = [samples.load(name) for name in samples.MOTIONS if name != "climb"]
    for path in sorted(Path(shared).glob(REAL)):
        clip = load(path)
        if clip.character.roles is not None and clip.motion.duration > 1.5:
            found.append(replace(followed(clip), name=path.stem))
    if len(found) < CLIPS:
        raise SystemExit(f"expected recordings of {CLIPS - len(samples.MOTIONS) + 1} clips in {shared}, got fewer")
    found.sort(key=lambda clip: clip.name not in NAMED.values())
    return shortened([replace(clip, motion=clip.motion.resample(RATE)) for clip in found[:CLIPS]], FRAMES)


def shortened(found: list[Clip], frames: int) -> list[Clip]:
    """The clips, the longest ones cut, so that they have so many frames together."""
    lengths = np.array([len(clip.motion) for clip in found])
    most = int(lengths.max())
    while np.minimum(lengths, most).sum() > frames:
        most -= 1
    kept = np.minimum(lengths, most)
    # one frame more for the first of those that were cut
    kept[np.flatnonzero(lengths > kept)[: max(frames - int(kept.sum()), 0)]] += 1
    return [replace(clip, motion=clip.motion[: int(count)]) for clip, count in zip(found, kept)]


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
    rows = {clip: row for row, clip in NAMED.items()}
    figures["shin.clips"], figures["shin.frames"] = len(every), sum(len(clip.motion) for clip in every)
    forward = sum(cpu_seconds(lambda clip=clip: Kinematics(clip.motion[:]), repeats=3, shortest=0.0) for clip in every)
    for target in TARGETS:
        character, totals, seconds, solved = samples.load_character(target), [0, 0], 0.0, 0
        for clip, scene in zip(every, scenes):
            row = rows.get(clip.name)
            for column, estimate in enumerate((False, True)):
                engine = PuppetEngine(clip.character, character, scene, scale=1.0, estimate_root=estimate)
                iterations = engine.play(clip.motion).iterations
                totals[column] += int(iterations.sum())
                solved += int(np.count_nonzero(iterations)) if not estimate else 0
                if row:
                    label = f"shin.{row}.{target}.iterations_{('without', 'with')[column]}"
                    figures[label] = int(iterations.sum())
            # the engine of the last round: with the estimate, in the same world
            taken = cpu_seconds(lambda engine=engine, clip=clip: engine.play(clip.motion), repeats=3, shortest=0.0)
            seconds += taken
            if row:
                figures[f"shin.{row}.{target}.microseconds_a_frame"] = 1e6 * taken / len(clip.motion)
        without, with_estimate = totals
        figures[f"shin.all.{target}.iterations_without"] = without
        figures[f"shin.all.{target}.iterations_with"] = with_estimate
        figures[f"shin.all.{target}.frames_solved_without"] = solved
        figures[f"shin.all.{target}.share_left"] = with_estimate / max(without, 1)
        figures[f"shin.all.{target}.microseconds_a_frame"] = 1e6 * seconds / figures["shin.frames"]
        figures[f"shin.all.{target}.times_faster_than_100_forward_kinematics"] = 100.0 * forward / seconds
        steps = live_microseconds(samples.load("walk"), target)
        figures[f"shin.live.{target}.median_microseconds"] = float(np.median(steps))
        figures[f"shin.live.{target}.p99_microseconds"] = float(np.percentile(steps, 99.0))
    return figures


if __name__ == "__main__":
    main(run)
