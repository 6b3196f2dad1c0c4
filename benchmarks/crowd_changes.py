"""The fight scene many times over, with bodies, motions, goals, priorities and ground changed while it runs.

Every frame is timed with the changes that fall into it. At every third of a second one character gets another body and
another gait of its motion, the targets of a tenth of the goals move, one goal's priority changes, and the ground tilts.
Bodies are measured and their motions scaled ahead (`Crowd.prepare`), which is timed by itself. Printed: the median, the
99th percentile and the worst frame, and how many characters one core plays at 30 Hz by each of them; goals that are
missed by more than a centimetre; how deep bodies are in one another.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "papers"))

from kulpa import scene

from footplant.grounds import slope
from footplant.humanoid.proportions import apply_proportions
from footplant.live.crowd import Crowd
from footplant.live.crowd_apart import deepest
from footplant.live.crowd_scene import FLOOR, repeated
from timing import main

RATE, COPIES, EVERY = 30.0, 25, 10
"""Frames a second, copies of the scene, and frames between changes."""
APART = 30
"""Priority of keeping bodies apart: above the centre of mass (20), below kicks, punches and dodges (40 to 60)."""


def fight(change: bool, apart: bool, seed: int = 1) -> tuple[np.ndarray, list[float], float, float]:
    """(CPU seconds of each frame, of each preparation, worst goal (m), deepest overlap (m)) of the repeated fight.

    seed: of the changes.
    """
    one = scene("fight")
    crowd = Crowd(repeated(replace(one, apart=APART if apart else None), COPIES))
    state, taken, prepared = crowd.init(), [], []
    rng, reach = np.random.default_rng(seed), [n for n, g in enumerate(crowd.scene.goals) if g.kind == "reach"]
    worst, deep, ready = 0.0, 0.0, []
    for step, frame in enumerate(range(0, one.frames, round(one.fps / RATE))):
        if change and step % EVERY == EVERY - 1:
            begun, number = time.process_time(), int(rng.integers(len(crowd.scene.actors)))
            actor = crowd.scene.actors[number]
            body = apply_proportions(actor.character, arms=float(rng.uniform(0.9, 1.1)))
            faster = (*actor.acts, replace(actor.acts[0], start=frame / one.fps, blend=0.3))
            ready.append((number, crowd.prepare(number, replace(actor, character=body, acts=faster))))
            prepared.append(time.process_time() - begun)
        begun = time.process_time()
        if change and step % EVERY == 0 and ready:
            crowd.recast(*ready.pop())
            some = rng.choice(reach, len(reach) // 10, replace=False)
            crowd.aim(some, np.array([crowd.scene.goals[n].target for n in some]) + 0.01)
            crowd.prioritise([int(some[0])], int(rng.integers(40, 60)))
            crowd.set_ground(slope(float(rng.uniform(-2.0, 2.0))) if step % (2 * EVERY) else FLOOR)
        state, poses = crowd.step(state, frame)
        taken.append(time.process_time() - begun)
        if not change:
            left = [state.residuals[n] for n in reach if crowd.scene.goals[n].activation(frame / one.fps) >= 1.0]
            worst = max(worst, float(np.nanmax(left)) if left else 0.0)
        if apart:
            posed = [group.kinematics(p) for group, p in zip(crowd.groups, poses, strict=True)]
            deep = max(deep, deepest([g.proxies for g in crowd.groups if g.proxies is not None], posed))
    return np.array(taken[3:]), prepared, worst, deep


def run() -> dict[str, float]:
    """Time of the fight as it is, with avoidance, and with changes."""
    count, figures = 8 * COPIES, {}
    fight(False, True)  # loads all kernels
    for name, change, apart in (("plain", False, False), ("apart", False, True), ("changed", True, True)):
        taken, prepared, worst, deep = fight(change, apart)
        for label, value in (("median", np.median(taken)), ("p99", np.percentile(taken, 99)), ("worst", taken.max())):
            figures[f"crowd.{name}.ms_a_frame.{label}"] = 1e3 * float(value)
            figures[f"crowd.{name}.characters_at_30_hz.{label}"] = float(count / RATE / value)
        if not change:
            figures[f"crowd.{name}.worst_goal_mm"] = 1e3 * worst
        if apart:
            figures[f"crowd.{name}.deepest_mm"] = 1e3 * deep
        if prepared:
            figures[f"crowd.{name}.prepare_ms.median"] = 1e3 * float(np.median(prepared))
    return figures


if __name__ == "__main__":
    main(run)
