"""The experiments of Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001).

Section 4.1.2: a particle on a line (figures 1 to 7). Section 4.2.1: the catwalk, 183 frames and 954 scalar constraints
on a character of 60 % size whose plants the spacetime solver may move, and five passes of per-frame inverse kinematics
plus filtering (figure 9). Section 5.1.2: a looped walk of 89 frames on the same character in the original footsteps,
4,890 to 73,350 scalar constraints (figure 13), and the spacetime solver limited to three iterations (figure 14).
Section 3.5 and Gleicher 1997: spacetime dragging while the mouse moves, the whole window solved at every step. The
motions are our own, as theirs are not published. SciPy's `least_squares` gets the catwalk with the very same unknowns,
residuals and derivatives in `spacetime_scipy.py`.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant import samples
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import FEET, Contacts, Plant
from footplant.edits.spacetime_drag import begin_spacetime
from footplant.feet.stage import Stage
from footplant.feet.steps import find_steps, foot_length, plants_for
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Method, Problem
from footplant.samples import gait
from footplant.solve.methods import NAMES, method_of
from footplant.solve.methods.filtered import Filtered, kernel_of, relax
from footplant.solve.methods.spacetime import Spacetime
from footplant.spline import binomial_kernel
from footplant.transfer import transfer
from timing import cpu_seconds, main

LOOP, RATE, LOOP_SCALARS = 89, 30.0, 489
LENGTHS = (890, 1780, 3560, 7120, 10680, 13350)
LONG_STANCE = (0.07, 0.40, 0.56, 0.63)
"""Sole flat, heel-off, ball-off, toe-off, in cycles after the strike: stances long enough for 161 of the 163 points and
frames that the paper plants in a loop."""
OWN_LENGTHS, REPEATS = (890, 3560, 13350), 3
"""Lengths for our methods as they are by default, and runs of each, of which the shortest counts: as many for all, or
the ratio would be one of luck."""
PAPER = (
    ("filtered", Filtered(exact=False), "four passes that end with a kernel of three frames"),
    (
        "spacetime",
        Spacetime(spacing=3.0, exact=False, iterations=11),
        "a control point every third frame, at most 11 steps",
    ),
    ("spacetime_3", Spacetime(spacing=3.0, exact=False, iterations=3), "the same with three iterations"),
)
"""The paper's two solvers as it used them; `NAMES` are ours as they are by default."""
CATWALK_FRAMES, CATWALK_SCALARS = 183, 954
FIVE_PASSES = Filtered(widths=(65, 17, 5, 3, 3), exact=False)
PARTICLE, MIDDLE = 81, 40
DRAG_CLIP, DRAG_WINDOW, DRAG = 464, range(200, 260), np.array([0.15, 0.22, 0.14])
"""Frames of the clip and of the window of an interactive drag, and how far the hand goes, metres."""


def looped_walk(frames: int) -> Problem:
    """The walk of so many frames on the short character, in the footsteps of the mannequin, 489 scalars a loop."""
    cycles = 3
    shape = gait.at_speed(gait.WALK, None, None, 120.0 * cycles * RATE / LOOP)
    feet = {side: replace(foot, events=LONG_STANCE) for side, foot in shape.feet.items()}
    walk = gait.cyclic(gait.SampleBody.of(None), replace(shape, feet=feet), cycles, RATE)
    target, laps = samples.load_character("short"), frames // LOOP
    motion = walk.motion[: LOOP + 1].looped(laps)[:frames]
    masks = {
        name: _on_one_loop(intervals)
        for name, intervals in walk.contacts.items()
        if name.partition("_")[2] in ("heel", "ball")
    }
    more = _lengthened(masks)
    kinematics, plants = Kinematics(motion), []
    for name, mask in masks.items():
        places = kinematics.point(walk.character.contacts[name])
        for begin, end in _intervals(mask, laps):
            plants.append(Plant(name, begin, end, places[begin:end].mean(axis=0)))
    contacts = Contacts(tuple(plants), FEET, frames, RATE, Plane())
    stage = Stage.of(Clip(motion, walk.character), target, contacts, keep_footsteps=True)
    steps = find_steps(contacts, foot_length(walk.character, "left"))
    moved = transfer(motion, walk.character, target, stride=stage.scale, rise=stage.rise, about=stage.start)
    made = []
    for plant in plants_for(steps, target, stage.move):
        mask, begin = more[_point_name(plant, target)], plant.frames[0]  # type: ignore[index]
        start, stop = begin, begin
        while start > 0 and mask[(start - 1) % LOOP]:
            start -= 1
        while stop < frames and mask[stop % LOOP]:
            stop += 1
        made.append(replace(plant, frames=range(start, stop)))
    return Problem(moved, target, tuple(made))


def _point_name(plant: Footplant, character) -> str:
    return next(name for name, point in character.contacts.items() if point is plant.point)


def _on_one_loop(intervals: Sequence[tuple[int, int]]) -> NDArray:
    """(LOOP,) bool: planted frames of one loop."""
    planted = np.zeros(LOOP, bool)
    for begin, end in intervals:
        planted[[frame % LOOP for frame in range(begin, end)]] = True
    return planted


def _lengthened(masks: dict[str, NDArray]) -> dict[str, NDArray]:
    """The same, plants held a frame longer, as many of them as the paper's count takes: the first at their ends."""
    longer = {name: mask.copy() for name, mask in masks.items()}
    missing = LOOP_SCALARS // 3 - sum(int(mask.sum()) for mask in masks.values())
    for step in (1, -1):
        for mask in longer.values():
            for frame in np.flatnonzero(mask & ~np.roll(mask, -step)):
                # not at the seam: the clip begins and ends there
                if missing > 0 and 1 < frame + step < LOOP - 2:
                    mask[frame + step] = True
                    missing -= 1
    return longer


def _intervals(mask: NDArray, laps: int) -> list[tuple[int, int]]:
    """Planted frames of one loop repeated; what is planted across the seam stays in one piece."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.tile(mask, laps), [False]]).astype(int)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2) if end - begin > 1]


def catwalk(free: bool = False) -> Problem:
    """The walk of 183 frames with 954 scalar constraints on the short character, each step in line with the last.

    It begins in the footsteps of the original. free: the solver may move the plants on the floor.
    """
    walk = gait.walk(step_width=0.02, cycles=7, fps=RATE)
    motion, target = walk.motion[:CATWALK_FRAMES], samples.load_character("short")
    kinematics, plants = Kinematics(motion), []
    for name in FEET:
        places = kinematics.point(walk.character.contacts[name])
        for begin, end in walk.contacts[name]:
            end = min(end, CATWALK_FRAMES)
            if end - begin > 1:
                plants.append(Plant(name, begin, end, places[begin:end].mean(axis=0)))
    contacts = Contacts(tuple(plants), FEET, CATWALK_FRAMES, RATE, Plane())
    stage = Stage.of(Clip(motion, walk.character), target, contacts, keep_footsteps=True)
    steps = find_steps(contacts, foot_length(walk.character, "left"))
    moved = transfer(motion, walk.character, target, stride=stage.scale, rise=stage.rise, about=stage.start)
    made = _as_many(plants_for(steps, target, stage.move))
    if free:
        made = tuple(replace(plant, place=None, ground=Plane()) for plant in made)
    return Problem(moved, target, made)


def _as_many(plants: tuple[Footplant, ...]) -> tuple[Footplant, ...]:
    """The plants, ended a frame earlier or later here and there, so that there are as many constraints as wanted."""
    first = np.array([plant.frames[0] for plant in plants])  # type: ignore[index]
    lengths = np.array([len(plant) for plant in plants])
    missing = CATWALK_SCALARS // 3 - lengths.sum()
    # one frame each, long ones first: a plant that is held much longer than the foot stood is another problem
    changed = np.argsort(np.where(first + lengths < CATWALK_FRAMES, -lengths, 0), kind="stable")[: abs(missing)]
    lengths[changed] += np.sign(missing)
    return tuple(
        replace(plant, frames=range(begin, begin + length))
        for plant, begin, length in zip(plants, first.tolist(), lengths.tolist())
    )


def errors(problem: Problem, motion: Motion) -> NDArray:
    """Metres by which each plant is missed at each of its frames, all plants together; free ones from their mean."""
    kinematics = Kinematics(motion)
    return np.concatenate(
        [np.linalg.norm(c.residual(kinematics[np.asarray(c.frames)]), axis=1) for c in problem.constraints]
    )


def scalars(problem: Problem) -> int:
    """How many numbers must be met, as the paper counts: three for a point at a frame."""
    return 3 * sum(len(constraint) for constraint in problem.constraints)


def run() -> dict[str, float]:
    """The particle, the catwalk, a drag, and time, memory and largest error from 890 to 13,350 frames."""
    return particle() | walk_down_the_catwalk() | interactive_drag() | performance()


def held(path: NDArray) -> NDArray:
    """A particle on the x axis, held at both ends, at the height 1 in the middle."""
    path = path.copy()
    path[[0, -1], 1] = 0.0
    path[MIDDLE, 1] = 1.0
    return path


def held_thrice(path: NDArray) -> NDArray:
    """The same with two more heights beside the middle, which a smooth curve cannot meet."""
    path = held(path)
    path[[MIDDLE - 6, MIDDLE + 6], 1] = 0.0
    return path


def particle() -> dict[str, float]:
    """Figures 1 to 7: what a pass gains, and what is left with one kernel and with decreasing ones."""
    line = np.stack([np.linspace(0.0, 10.0, PARTICLE), np.zeros(PARTICLE)], axis=1)
    wave = line + np.stack([np.zeros(PARTICLE), 0.2 * np.sin(np.arange(PARTICLE) * np.pi / 4.0)], axis=1)
    once = relax(line, held, [binomial_kernel(9)])
    same = relax(line, held_thrice, [binomial_kernel(9)] * 9)
    smaller = relax(line, held_thrice, [kernel_of(width) for width in (33, 17, 9, 9, 5, 5, 3, 3, 3)])
    change = relax(wave, held, [binomial_kernel(9)] * 5) - wave
    far = np.abs(np.arange(PARTICLE) - MIDDLE) > 24
    far[[0, 1, 2, 3, 4, -5, -4, -3, -2, -1]] = False
    at = [MIDDLE - 6, MIDDLE, MIDDLE + 6]
    return {
        "gleicher.particle.gained_in_a_pass": float(once[MIDDLE, 1]),
        "gleicher.particle.left_with_one_kernel": float(np.abs(held_thrice(same) - same)[at, 1].max()),
        "gleicher.particle.left_with_decreasing_kernels": float(np.abs(held_thrice(smaller) - smaller)[at, 1].max()),
        "gleicher.particle.change_of_the_wave_far_away": float(np.abs(change[far, 1]).max()),
    }


def walk_down_the_catwalk() -> dict[str, float]:
    """Section 4.2.1: spacetime with plants that it may move, and five passes of filtering; figure 9's totals."""
    free, fixed = catwalk(free=True), catwalk()
    method = Spacetime(spacing=5.0, exact=False)
    solution, filtered = method.solve(free), FIVE_PASSES.solve(fixed)
    off = errors(free, solution.motion)
    figures = {
        "gleicher.catwalk.frames": len(free.motion),
        "gleicher.catwalk.scalar_constraints": scalars(free),
        "gleicher.catwalk.spacetime.seconds": cpu_seconds(lambda: method.solve(free), repeats=5),
        "gleicher.catwalk.spacetime.total_error_cm": 100.0 * float(off.sum()),
        "gleicher.catwalk.spacetime.worst_mm": 1000.0 * float(off.max()),
        "gleicher.catwalk.spacetime.moved_plants_cm": 100.0 * moved_plants(free, fixed, solution.motion),
        "gleicher.catwalk.filtered.seconds": cpu_seconds(lambda: FIVE_PASSES.solve(fixed), repeats=5),
        "gleicher.catwalk.filtered.worst_mm": 1000.0 * float(errors(fixed, filtered.motion).max()),
    }
    for number, curve in enumerate(errors_of_passes(fixed)):
        figures[f"gleicher.catwalk.filtered.pass_{number}.total_error_cm"] = 100.0 * float(curve.sum())
    return figures


def errors_of_passes(problem: Problem) -> list[NDArray]:
    """Figure 9: metres of error of all constraints at each frame, before the first pass and after each."""
    passes = [replace(FIVE_PASSES, widths=FIVE_PASSES.widths[:number]) for number in range(1, 6)]
    motions = [problem.motion, *(method.solve(problem).motion for method in passes)]
    curves = []
    for motion in motions:
        curve, kinematics = np.zeros(len(motion)), Kinematics(motion)
        for constraint in problem.constraints:
            at = np.asarray(constraint.frames)
            curve[at] += np.linalg.norm(constraint.residual(kinematics[at]), axis=1)
        curves.append(curve)
    return curves


def interactive_drag() -> dict[str, float]:
    """A hand dragged by 30 cm in 30 steps within a window of 60 frames of a long walk, its footplants kept."""
    walk = samples.load("walk")
    clip = replace(walk, motion=walk.motion.resample(RATE).looped(4)[:DRAG_CLIP])
    palm, frame = clip.character.contacts["left_palm"], (DRAG_WINDOW.start + DRAG_WINDOW.stop) // 2
    place = Kinematics(clip.motion).point(palm)[frame]
    edit, seconds, off = begin_spacetime(clip, DRAG_WINDOW), [], 0.0
    # the first step has no earlier answer to start from, and loads what it needs
    edit = edit.drag(frame, palm, place)
    for share in np.linspace(0.0, 1.0, 31)[1:]:
        target, started = place + share * DRAG, time.process_time()
        edit = edit.drag(frame, palm, target)
        seconds.append(time.process_time() - started)
        off = max(off, float(np.linalg.norm(Kinematics(edit.motion).point(palm)[frame] - target)))
    return {
        "gleicher.drag.window_frames": len(DRAG_WINDOW),
        "gleicher.drag.scalar_constraints": 3
        + 3 * sum(len(set(c.frames) & set(DRAG_WINDOW)) for c in edit.constraints),  # type: ignore[arg-type]
        "gleicher.drag.step_median_ms": 1000.0 * float(np.median(seconds)),
        "gleicher.drag.step_slowest_ms": 1000.0 * max(seconds),
        "gleicher.drag.worst_mm": 1000.0 * off,
    }


def moved_plants(free: Problem, fixed: Problem, motion: Motion) -> float:
    """Metres that the solver moved the plants, on average."""
    kinematics = Kinematics(motion)
    ways = [
        np.linalg.norm(plant.mean_place(kinematics[np.asarray(plant.frames)]) - np.asarray(before.place))  # type: ignore[attr-defined]
        for plant, before in zip(free.constraints, fixed.constraints)
    ]
    return float(np.mean(ways))


def performance() -> dict[str, float]:
    """Figures 13 and 14: seconds, peak memory and largest error of every method, from 890 to 13,350 frames."""
    problems = {frames: looped_walk(frames) for frames in LENGTHS}
    figures = {
        f"gleicher.fig13.{frames}.scalar_constraints": float(scalars(problem)) for frames, problem in problems.items()
    }
    methods = [
        *((f"paper_{name}", method, LENGTHS, 1) for name, method, _ in PAPER),
        *((name, method_of(name), OWN_LENGTHS, REPEATS) for name in NAMES),
    ]
    first, last = LENGTHS[0], LENGTHS[-1]
    for name, method, lengths, repeats in methods:
        seconds, worst = dict.fromkeys(lengths, float("inf")), dict.fromkeys(lengths, 0.0)
        memory = [_megabytes(method, problems[frames]) for frames in (first, last)]
        # one length after another, again and again: what else the machine does disturbs all of them alike
        for _ in range(repeats):
            for frames in lengths:
                started = time.process_time()
                found = method.solve(problems[frames]).report.worst
                seconds[frames] = min(seconds[frames], time.process_time() - started)
                worst[frames] = 0.0 if found is None else found.worst
        for frames in lengths:
            figures[f"gleicher.fig13.{name}.{frames}.seconds"] = seconds[frames]
            figures[f"gleicher.fig13.{name}.{frames}.worst_mm"] = worst[frames]
        figures[f"gleicher.fig13.{name}.time_ratio"] = seconds[last] / seconds[first]
        figures[f"gleicher.fig13.{name}.memory_ratio"] = memory[1] / memory[0]
        figures[f"gleicher.fig13.{name}.{last}.megabytes"] = memory[1]
    three, filtered = (figures[f"gleicher.fig13.paper_{n}.{last}.worst_mm"] for n in ("spacetime_3", "filtered"))
    figures["gleicher.fig14.error_of_three_iterations_over_filtering"] = three / filtered
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
