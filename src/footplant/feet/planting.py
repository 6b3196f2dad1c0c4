"""Feet planted: toes laid flat, feet as curves, hips and legs solved for them (`solve.legs`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.constraints import Footplant
from footplant.contacts.ground import Ground
from footplant.feet.foot_curves import foot_curve
from footplant.feet.soles import flatten_toes, lift_toe_tips
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Problem, Progress, Solution, Stopwatch
from footplant.skeleton import Character
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.legs import LEG_SETTINGS, SIDES, HeldHand, LegSettings, LegSolution, legs_of, solve_legs
from footplant.solve.methods.hierarchical import Hierarchical

WHOLE_BODY = "whole-body"
"""Name of the usual solver: feet, legs and hips, then arms, each over the whole clip."""
EXTRA_LEVELS = 3
"""Maximum number of finer levels of hierarchical fitting, used while constraints are still missed. Each halves the knot
spacing; 0 leaves more to the exact pass, which moves limbs frame by frame and is less smooth."""
ROUGH_STEPS = 8
"""Steps of the first solve, after which toes are laid flat again."""


def solve_planted(
    problem: Problem,
    plants: Sequence[Footplant],
    ground: Ground,
    frames: range,
    *,
    unlevelled: Motion,
    palms: Sequence[Footplant] = (),
    allowed: Mapping[str, NDArray] | None = None,
    settings: LegSettings | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Solve a problem of footplants by `plant_feet`; what else it asks for is solved on top, by the least displacement.

    unlevelled: the problem's motion with its toes as they were.
    """
    watch = Stopwatch(problem)
    if progress is not None:
        progress("legs", 0.0)
    found = plant_feet(
        unlevelled, problem.character, plants, ground, palms=palms, allowed=allowed, frames=frames, settings=settings
    )
    watch.lap("legs", found.motion)
    if progress is not None:
        progress("legs", 1.0)
    solution = watch.finish(WHOLE_BODY, found.motion, reachable=found.missed == 0.0)
    known = {id(constraint) for constraint in (*plants, *palms)}
    if all(id(constraint) in known for constraint in problem.constraints):
        return solution
    return solve_on_top(problem, solution, progress)


def solve_on_top(problem: Problem, solution: Solution, progress: Progress | None = None) -> Solution:
    """Return a solution with all constraints of a problem met, by the least displacement of the solution's motion."""
    again = Hierarchical(Hybrid(problem.character), further=EXTRA_LEVELS).solve(problem.on(solution.motion), progress)
    levels = (*solution.report.levels, *again.report.levels)
    seconds = solution.report.seconds + again.report.seconds
    return replace(again, report=replace(again.report, method=WHOLE_BODY, levels=levels, seconds=seconds))


def can_plant(character: Character) -> bool:
    """Return whether a character has the legs and soles that `plant_feet` needs."""
    return legs_of(character) is not None and all(
        f"{side}_{part}" in character.contacts for side in SIDES for part in ("heel", "ball")
    )


def plant_feet(
    motion: Motion,
    character: Character,
    plants: Sequence[Footplant],
    ground: Ground,
    *,
    palms: Sequence[Footplant] = (),
    allowed: Mapping[str, NDArray] | None = None,
    frames: range | None = None,
    settings: LegSettings | None = None,
) -> LegSolution:
    """Return the motion with its feet on their footplants, soles above the ground and knees as straight as before.

    palms: planted hands, which the shoulders must stay within reach of. allowed: contact point → (F,) metres, 0 or
    below: how deep it may be in the ground. frames: those to solve (a lead-in is left as it is); None: all.
    """
    settings = LEG_SETTINGS if settings is None else settings
    span = range(len(motion)) if frames is None else frames
    part = motion[span.start : span.stop]
    shifted, held = _since(plants, span), _since(palms, span)
    depths = None if allowed is None else {name: depth[span.start : span.stop] for name, depth in allowed.items()}
    base = flatten_toes(part, character, shifted, ground)
    first = _solve(base, character, shifted, held, ground, depths, settings, ("heel", "ball"), ROUGH_STEPS)
    level = lift_toe_tips(
        flatten_toes(first.motion, character, shifted, ground, part), character, shifted, ground, depths
    )
    found = _solve(_with_toes(base, level, character), character, shifted, held, ground, depths, settings)
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[span.start : span.stop], rotations[span.start : span.stop] = found.motion.root, found.motion.rotations
    return replace(found, motion=motion.like(root, rotations, motion.offsets))


def _solve(
    motion: Motion, character: Character, plants: Sequence[Footplant], palms: Sequence[Footplant], ground: Ground,
    allowed: Mapping[str, ArrayLike] | None, settings: LegSettings, parts: Sequence[str] = ("heel", "ball", "toe"),
    steps: int | None = None,
) -> LegSolution:  # fmt: skip
    kinematics = Kinematics(motion)
    left, right = (foot_curve(kinematics, character, side, plants, ground, allowed, parts) for side in SIDES)
    return solve_legs(kinematics, character, (left, right), _hands(kinematics, character, palms), settings, steps)


def _with_toes(motion: Motion, other: Motion, character: Character) -> Motion:
    """Return the motion with another one's toes."""
    roles, rotations = character.require_roles(), np.array(motion.rotations)
    for side in SIDES:
        toes = roles.get(f"{side}_toes")
        if toes is not None:
            rotations[:, toes] = other.rotations[:, toes]
    return motion.like(motion.root, rotations, motion.offsets)


def _since(plants: Sequence[Footplant], span: range) -> tuple[Footplant, ...]:
    """Return the plants within a span, their frames counted from its start."""
    found = []
    for plant in plants:
        own = [frame - span.start for frame in plant.frames or () if span.start <= frame < span.stop]
        if own:
            found.append(plant.like(frames=range(own[0], own[-1] + 1)))
    return tuple(found)


def _hands(kinematics: Kinematics, character: Character, palms: Sequence[Footplant]) -> dict[str, HeldHand]:
    found, roles = {}, character.require_roles()
    for side in SIDES:
        point, wrist = character.contacts.get(f"{side}_palm"), roles.get(f"{side}_hand")
        own = [palm for palm in palms if palm.point == point and palm.place is not None]
        if point is None or wrist is None or not own:
            continue
        held, arm = np.zeros(len(kinematics.motion), bool), kinematics.positions[:, wrist] - kinematics.point(point)
        wrists = np.array(kinematics.positions[:, wrist])
        for palm in own:
            rows = np.asarray(palm.frames)
            held[rows], wrists[rows] = True, np.asarray(palm.place) + arm[rows]
        found[side] = HeldHand(held, wrists)
    return found
