"""Characters that one core holds at 30 Hz: feet planted, two wrist targets and the centre of mass each.

Kulpa, Multon & Arnaldi 2005, section 10: 8 characters in a fight, 22 with two unreachable wrist targets, on a Pentium 4
of 2.8 GHz. Here six bodies take turns, every wrist target is moved at every frame (a circle of 20 cm in two thirds of a
second for a grown-up, each at a time of its own), and a frame is the moving of targets and all of
`Crowd.step` as it usually is: reading, scaling, ground, constraints, conversion. `solver` is the compiled part alone.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import cpu_seconds, main

FIGURES, FRAMES, RATE = 1000, 90, 30.0
PAPER = {"fight": 8, "unreachable": 22}
CIRCLE, TURN = 0.18, 2.0 / 3.0
"""Radius in lengths of the arm and seconds a round of every wrist target: about a metre a second."""
AWAY = {"fight": 0.72, "unreachable": 6.0}
"""Lengths of the arm from the shoulder to the middle of that circle, before the figure and a bit down."""


def make(kind: str):
    """A scene of many bodies that stand with two wrist goals each, within reach or three metres away; arms' lengths."""
    from footplant import samples
    from footplant.live.crowd_scene import Act, CrowdActor, CrowdScene, Goal
    from footplant.normalized import normalize
    from footplant.skeleton import Point

    clip = samples.load("stand")
    stand = normalize(clip.motion, clip.character, about=(0.0, 0.0, 0.0))
    bodies = [samples.load_character(name) for name in samples.CHARACTERS]
    actors, goals, arms = [], [], []
    for number in range(FIGURES):
        body, place = bodies[number % len(bodies)], (1.5 * (number % 40), 1.5 * (number // 40))
        actors.append(CrowdActor(str(number), body, (Act(stand),), place))
        roles, (rest, _) = body.require_roles(), body.skeleton.rest_world
        for side in ("left", "right"):
            shoulder, elbow, wrist = (rest[roles[f"{side}_{part}"]] for part in ("upper_arm", "lower_arm", "hand"))
            arms.append(np.linalg.norm(elbow - shoulder) + np.linalg.norm(wrist - elbow))
            ahead = AWAY[kind] * arms[-1] * np.array([0.0, -0.4, 1.0]) / np.hypot(0.4, 1.0)
            target = shoulder + ahead + [place[0], 0.0, place[1]]
            goals.append(
                Goal(actor=number, point=Point(roles[f"{side}_hand"]), target=target, priority=10, ramp=(0.0, 0.0))
            )
        goals.append(Goal(actor=number, kind="mass", point=Point(0), priority=20, ramp=(0.0, 0.0)))
    return CrowdScene(tuple(actors), tuple(goals), seconds=(FRAMES - 1) / RATE, fps=RATE), np.array(arms)


def run() -> dict[str, float]:
    """Characters that one core holds at 30 Hz, with feet, two wrist targets and the centre of mass each."""
    import footplant.live.crowd as module
    from footplant.live.crowd import Crowd

    figures: dict[str, float] = {}
    solver = module.solve_rows
    for kind, paper in PAPER.items():
        scene, arms = make(kind)
        crowd = Crowd(scene)
        spent = [0.0]

        def timed(*arguments, spent=spent, **options):
            begun = time.process_time()
            found = solver(*arguments, **options)
            spent[0] += time.process_time() - begun
            return found

        hands = np.array([i for i, goal in enumerate(crowd.scene.goals) if goal.kind == "reach"])
        middles = np.array([crowd.scene.goals[i].target for i in hands])
        radii = CIRCLE * arms
        phases = np.arange(len(hands)) * 2.4
        module.solve_rows = timed
        state, whole, solved, wall, left = crowd.init(), [], [], [], []
        for frame in range(FRAMES):
            spent[0], begun, ticked = 0.0, time.process_time(), time.perf_counter()
            angles = phases + 2.0 * np.pi * frame / RATE / TURN
            circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(len(hands))], axis=1)
            crowd.aim(hands, middles + radii[:, None] * circle)
            state, _ = crowd.step(state, frame)
            whole.append(time.process_time() - begun)
            wall.append(time.perf_counter() - ticked)
            solved.append(spent[0])
            left.append(float(np.max(state.residuals[hands])))
        module.solve_rows = solver
        steady = slice(5, None)
        group, frame = crowd.groups[0], int(np.argmin(whole))
        postures = crowd.scale(frame)[0]
        forward = cpu_seconds(lambda group=group, postures=postures: group.kinematics(postures))
        # the quickest frame, as everywhere here: a busy machine disturbs the others
        held = FIGURES / RATE / np.min(whole[steady])
        figures[f"crowd.{kind}.characters_at_30_hz"] = float(held)
        figures[f"crowd.{kind}.median_characters_at_30_hz"] = float(FIGURES / RATE / np.median(whole[steady]))
        figures[f"crowd.{kind}.times_the_paper"] = float(held / paper)
        figures[f"crowd.{kind}.solver_characters_at_30_hz"] = float(FIGURES / RATE / np.min(solved[steady]))
        figures[f"crowd.{kind}.times_faster_than_50_forward_kinematics"] = float(
            50.0 * forward * FIGURES / len(group.numbers) / np.min(whole[steady])
        )
        figures[f"crowd.{kind}.microseconds_a_character"] = float(1e6 * np.min(whole[steady]) / FIGURES)
        figures[f"crowd.{kind}.p99_cpu_ms_a_frame_of_1000"] = float(1e3 * np.percentile(whole[steady], 99))
        figures[f"crowd.{kind}.p99_ms_a_frame_of_1000"] = float(1e3 * np.percentile(wall[steady], 99))
        figures[f"crowd.{kind}.worst_wrist_mm"] = float(1e3 * np.max(left[steady]))
    return figures


if __name__ == "__main__":
    main(run)
