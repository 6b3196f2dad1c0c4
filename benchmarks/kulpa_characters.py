"""Characters that one core holds at 30 Hz: feet planted, two wrist targets and the centre of mass each.

Kulpa, Multon & Arnaldi 2005, section 10: 8 characters in a fight, 22 with two unreachable wrist targets, on a Pentium 4
of 2.8 GHz. Here six bodies take turns, targets move with every frame, and a frame is all of `Crowd.step`: reading,
scaling, ground, constraints, conversion. `solver` is the compiled part alone, forward kinematics included.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import main

FIGURES, FRAMES, RATE = 1000, 60, 30.0
PAPER = {"fight": 8, "unreachable": 22}


def make(kind: str):
    """A scene of many bodies that stand with two wrist goals each, within reach or three metres away."""
    from footplant import samples
    from footplant.live.crowd import Act, Actor, Scene
    from footplant.live.crowd_goals import Goal
    from footplant.normalized import normalize
    from footplant.skeleton import Point

    clip = samples.load("stand")
    stand = normalize(clip.motion, clip.character, about=(0.0, 0.0, 0.0))
    bodies = [samples.load_character(name) for name in samples.CHARACTERS]
    actors, goals = [], []
    for number in range(FIGURES):
        body, place = bodies[number % len(bodies)], (1.5 * (number % 40), 1.5 * (number // 40))
        actors.append(Actor(str(number), body, (Act(stand),), place))
        roles, (rest, _) = body.require_roles(), body.skeleton.rest_world
        for side in ("left", "right"):
            shoulder = rest[roles[f"{side}_upper_arm"]]
            far = (0.22 if kind == "fight" else 1.8) * body.height
            target = shoulder + [place[0], -0.1 * body.height, place[1] + far]
            goals.append(
                Goal(actor=number, point=Point(roles[f"{side}_hand"]), target=target, priority=10, ramp=(0.0, 0.0))
            )
        goals.append(Goal(actor=number, kind="mass", point=Point(0), priority=20, ramp=(0.0, 0.0)))
    return Scene(tuple(actors), tuple(goals), seconds=(FRAMES - 1) / RATE, fps=RATE)


def run() -> dict[str, float]:
    """Characters that one core holds at 30 Hz, with feet, two wrist targets and the centre of mass each."""
    import footplant.live.crowd as module
    from footplant.live.crowd import Crowd

    figures: dict[str, float] = {}
    solver = module.solve_rows
    for kind, paper in PAPER.items():
        crowd = Crowd(make(kind), tries=1)
        spent = [0.0]

        def timed(*arguments, spent=spent, **options):
            begun = time.process_time()
            found = solver(*arguments, **options)
            spent[0] += time.process_time() - begun
            return found

        module.solve_rows = timed
        state, whole, solved, wall = crowd.init(), [], [], []
        for frame in range(FRAMES):
            spent[0], begun, ticked = 0.0, time.process_time(), time.perf_counter()
            state, _ = crowd.step(state, frame)
            whole.append(time.process_time() - begun)
            wall.append(time.perf_counter() - ticked)
            solved.append(spent[0])
        module.solve_rows = solver
        steady = slice(5, None)
        # the quickest frame, as everywhere here: a busy machine disturbs the others
        held = FIGURES / RATE / np.min(whole[steady])
        figures[f"crowd.{kind}.characters_at_30_hz"] = float(held)
        figures[f"crowd.{kind}.median_characters_at_30_hz"] = float(FIGURES / RATE / np.median(whole[steady]))
        figures[f"crowd.{kind}.times_the_paper"] = float(held / paper)
        figures[f"crowd.{kind}.solver_characters_at_30_hz"] = float(FIGURES / RATE / np.min(solved[steady]))
        figures[f"crowd.{kind}.microseconds_a_character"] = float(1e6 * np.min(whole[steady]) / FIGURES)
        figures[f"crowd.{kind}.p99_ms_a_frame_of_1000"] = float(1e3 * np.percentile(wall[steady], 99))
        hands = [i for i, goal in enumerate(crowd.scene.goals) if goal.kind == "reach"]
        figures[f"crowd.{kind}.worst_wrist_mm"] = float(1e3 * np.max(state.left[hands]))
    return figures


if __name__ == "__main__":
    main(run)
