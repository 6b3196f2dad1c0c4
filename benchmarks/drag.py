"""Dragging a hand of a 464-frame clip: one step of the mouse, beside solving the whole clip again."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import cpu_seconds, main

FRAMES = 464


def run() -> dict[str, float]:
    """One step of dragging a hand of 464 frames, seconds of CPU, at the paper's rate and at that of most captures."""
    from footplant import samples
    from footplant.constraints import Position
    from footplant.edits.drag import begin
    from footplant.edits.fit import fit
    from footplant.kinematics import Kinematics

    walk = samples.load("walk")
    palm = walk.character.contacts["left_palm"]
    figures: dict[str, float] = {}
    slow = walk.motion.looped(4).resample(30.0)
    for label, motion in (("30_fps", slow[:FRAMES]), ("120_fps", walk.motion[:FRAMES])):
        start = begin((motion, walk.character))
        frame = len(motion) // 2
        target = Kinematics(start.motion[frame]).point(palm)[0] + [0.1, 0.25, 0.1]
        steps = iter(np.linspace(0.0, 0.05, 100_000))

        def step(start=start, frame=frame, target=target, steps=steps) -> object:
            return start.drag(frame, palm, target + [0.0, next(steps), 0.0])

        step()
        figures[f"drag.seconds_{label}"] = cpu_seconds(step, repeats=15)
        if label == "120_fps":
            clip = replace(walk, motion=motion)
            wanted = Position(point=palm, target=target, frames=(frame,), ramp=(0.3, 0.3))
            whole = cpu_seconds(lambda clip=clip, wanted=wanted: fit(clip, [wanted]), repeats=3)
            figures["drag.times_faster_than_the_whole_clip"] = whole / figures[f"drag.seconds_{label}"]
            figures["drag.error_metres"] = start.drag(frame, palm, target).error()
    return figures


if __name__ == "__main__":
    main(run)
