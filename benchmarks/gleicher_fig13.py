"""Figure 13 of Gleicher (Graphical Models 2001): time and memory of every method over the length of the clip.

A looped walk of 89 frames at 30 frames a second goes to the figure of 60 % size, which must keep the original
footsteps; heels and balls are planted as the sample itself tells. Every method gets the same problem: the walk carried
over to the figure, and its plants.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np

from footplant import samples
from footplant.analysis.contacts import FEET, Contacts, Plant
from footplant.clip import Clip
from footplant.edits.footsteps import find_steps, foot_length, plants_for
from footplant.edits.retarget import Stage
from footplant.edits.transfer import transfer
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.methods import NAMES, method_of
from footplant.problem import Method, Problem, Solution
from footplant.samples import gait
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
    figures: dict[str, float] = {}
    for name in NAMES:
        method = method_of(name)
        method.solve(looped_walk(LENGTHS[0]))
        seconds, memory = {}, {}
        for frames in LENGTHS:
            problem = looped_walk(frames)
            seconds[frames], memory[frames], solution = _measured(method, problem)
            worst = solution.report.worst
            figures |= {
                f"gleicher_fig13.{name}.{frames}.seconds": seconds[frames],
                f"gleicher_fig13.{name}.{frames}.megabytes": memory[frames],
                f"gleicher_fig13.{name}.{frames}.worst_mm": 0.0 if worst is None else worst.worst,
            }
            figures[f"gleicher_fig13.{frames}.scalar_constraints"] = sum(3 * len(c) for c in problem.constraints)
        first, last = LENGTHS[0], LENGTHS[-1]
        figures[f"gleicher_fig13.{name}.time_ratio"] = seconds[last] / seconds[first]
        figures[f"gleicher_fig13.{name}.memory_ratio"] = memory[last] / memory[first]
    return figures


def _measured(method: Method, problem: Problem) -> tuple[float, float, Solution]:
    """CPU seconds (the least of as many runs for every length), the most megabytes NumPy held, and the answer."""
    solution = method.solve(problem)
    seconds = cpu_seconds(lambda: method.solve(problem), repeats=REPEATS, shortest=0.0)
    tracemalloc.start()
    method.solve(problem)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, most / 1e6, solution


if __name__ == "__main__":
    main(run)
