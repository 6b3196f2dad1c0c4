"""Figure 13 of Gleicher (Graphical Models 2001): time and memory of every method over the length of the clip.

A looped walk of 89 frames at 30 frames a second goes to the figure of 60 % size, which must keep the original
footsteps; heels and balls are planted as the sample itself tells. Every method gets the same problem: the walk carried
over to the figure, and its plants.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from functools import partial

import numpy as np

from footplant import samples
from footplant.clip import Clip
from footplant.contacts.detection import FEET, Contacts, Plant
from footplant.feet.stage import Stage
from footplant.feet.steps import find_steps, foot_length, plants_for
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.problem import Method, Problem
from footplant.samples import gait
from footplant.solve.methods import NAMES, method_of
from footplant.transfer import transfer
from timing import cpu_seconds, main

LOOP, RATE = 89, 30.0
LENGTHS = (890, 1780, 3560, 7120, 10680, 13350)
REPEATS = 4
"""Runs of each length, of which the shortest counts: as many for all, or the ratio would be one of luck."""


def looped_walk(frames: int) -> Problem:
    """The walk of so many frames on the short figure, in the footsteps of the mannequin."""
    cycles = 3
    walk = gait.walk(cadence=120.0 * cycles * RATE / LOOP, cycles=cycles, fps=RATE)
    target, laps = samples.load_character("short"), frames // LOOP
    motion = walk.motion[: LOOP + 1].looped(laps)[:frames]
    kinematics, plants = Kinematics(motion), []
    for name, intervals in walk.contacts.items():
        if name.partition("_")[2] not in ("heel", "ball"):
            continue
        places = kinematics.point(walk.character.contacts[name])
        for begin, end in _on_the_loop(intervals, laps):
            plants.append(Plant(name, begin, end, places[begin:end].mean(axis=0)))
    contacts = Contacts(tuple(plants), FEET, frames, RATE, Plane())
    stage = Stage.of(Clip(motion, walk.character), target, contacts, keep_footsteps=True)
    steps = find_steps(contacts, foot_length(walk.character, "left"))
    moved = transfer(motion, walk.character, target, stride=stage.scale, rise=stage.rise, about=stage.start)
    return Problem(moved, target, plants_for(steps, target, stage.move))


def _on_the_loop(intervals: Sequence[tuple[int, int]], laps: int) -> list[tuple[int, int]]:
    """Planted frames of one loop repeated; what is planted across the seam stays in one piece."""
    planted = np.zeros(LOOP, bool)
    for begin, end in intervals:
        planted[[frame % LOOP for frame in range(begin, end)]] = True
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.tile(planted, laps), [False]]).astype(int)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2) if end - begin > 1]


def run() -> dict[str, float]:
    """Seconds, peak memory and largest error of every method, from 890 to 13,350 frames."""
    problems = {frames: looped_walk(frames) for frames in LENGTHS}
    figures = {
        f"gleicher_fig13.{frames}.scalar_constraints": float(sum(3 * len(c) for c in problem.constraints))
        for frames, problem in problems.items()
    }
    first, last = LENGTHS[0], LENGTHS[-1]
    for name in NAMES:
        method = method_of(name)
        method.solve(problems[first])
        memory = {frames: _megabytes(method, problem) for frames, problem in problems.items()}
        seconds = {frames: float("inf") for frames in problems}
        # one length after another, again and again: what else the machine does disturbs all of them alike
        for _ in range(REPEATS):
            for frames, problem in problems.items():
                taken = cpu_seconds(partial(method.solve, problem), repeats=1, shortest=0.0)
                seconds[frames] = min(seconds[frames], taken)
        for frames, problem in problems.items():
            worst = method.solve(problem).report.worst
            figures |= {
                f"gleicher_fig13.{name}.{frames}.seconds": seconds[frames],
                f"gleicher_fig13.{name}.{frames}.megabytes": memory[frames],
                f"gleicher_fig13.{name}.{frames}.worst_mm": 0.0 if worst is None else worst.worst,
            }
        figures[f"gleicher_fig13.{name}.time_ratio"] = seconds[last] / seconds[first]
        figures[f"gleicher_fig13.{name}.memory_ratio"] = memory[last] / memory[first]
    return figures


def _megabytes(method: Method, problem: Problem) -> float:
    """The most that NumPy held at once."""
    tracemalloc.start()
    method.solve(problem)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


if __name__ == "__main__":
    main(run)
