"""Soles between footplants, after a solve: toes laid flat, soles lifted out of the ground, constraints closed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Above, Constraint, Footplant
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround
from footplant.feet.soles import (
    SHALLOW,
    SOLE,
    above_ground_constraints,
    clearances_of,
    correct_soles,
    flatten_toes,
    lift_feet,
    lift_toe_tips,
)
from footplant.feet.stances import (
    flatten_planted_toes,
)
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.passes.acceleration_bounds import lower_peaks, peak, peak_bounds
from footplant.passes.limit_acceleration import SourcePeak, limit_acceleration
from footplant.problem import Method, Problem, Progress, Solution, Status, Stopwatch, worst_error
from footplant.skeleton import Character
from footplant.solve.closing import CLOSED, ExactPass, unmet_shares
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.solve.methods.spacetime import Spacetime

SOLE_ROUNDS = (2, 5)
"""Minimum and maximum rounds of sole correction; those beyond the minimum only while penetration exceeds `DEEP`."""
DEEP = 0.004
"""Metres of penetration."""
DEPTH = 0.003
"""Metres of penetration that a repair leaves: it is not visible, and lifting a foot bends the knee."""
SPARE = 0.0005
"""Metres beyond `DEPTH` before a foot is lifted again: a smooth lift leaves as much."""


@dataclass(frozen=True, eq=False)
class Soles:
    """Requirements on soles between footplants."""

    plants: tuple[Footplant, ...]
    ground: Ground
    clearances: dict[str, NDArray] | None = None
    """Contact point → (F,) metres, 0 or below: allowed penetration; None: no penetration."""
    unlevelled: Motion | None = None
    """The motion before its toes were flattened; None: the problem's motion."""


def solve_soles(
    method: Method, problem: Problem, soles: Soles, frames: range, progress: Progress | None = None
) -> Solution:
    """Solve a problem, then correct the feet between footplants: toes flat, soles above the ground.

    Both change the foot a little, so the method's exact pass runs again after each of two rounds, and of a few more
    while a sole penetrates the ground. frames: those after the lead-in.
    """
    character = problem.character
    if isinstance(method, Spacetime):
        return _solve_smoothly(method, problem, soles, frames, progress)
    solution, bounds = method.solve(problem, progress), soles_above_ground(character, soles, frames)
    watch = Stopwatch(replace(problem, constraints=(*problem.constraints, *bounds)))
    motion, reachable = solution.motion, solution.status is not Status.UNREACHABLE
    unlevelled = problem.motion if soles.unlevelled is None else soles.unlevelled
    last: ExactPass | None = getattr(method, "closing", None)
    if last is not None:
        for number in range(SOLE_ROUNDS[1]):
            if number >= SOLE_ROUNDS[0] and worst_error(Kinematics(motion), bounds).max(initial=0.0) <= DEEP:
                break
            motion = correct_soles(motion, character, soles.plants, soles.ground, soles.clearances, unlevelled)
            motion, reachable = last.close(problem.on(motion))
            watch.lap("soles", motion)
    return continued_solution(solution, watch, motion, reachable)


def _solve_smoothly(
    method: Spacetime, problem: Problem, soles: Soles, frames: range, progress: Progress | None
) -> Solution:
    """Solve with spacetime, which keeps soles above the ground itself; flatten toes and lower acceleration peaks.

    After that the whole clip is solved again. Closing the remaining millimetres by limb IK frame by frame would jerk
    nearly straight knees.
    """
    character = problem.character
    whole = replace(problem, constraints=(*problem.constraints, *soles_above_ground(character, soles, frames)))
    solution, watch = method.solve(whole, progress), Stopwatch(whole)
    motion, reachable = solution.motion, solution.status is not Status.UNREACHABLE
    unlevelled = problem.motion if soles.unlevelled is None else soles.unlevelled
    if method.exact:
        level = _Levelled(replace(method, start=None), whole, soles, unlevelled, watch)
        first = motion
        motion, reachable = level.solve(first, peak_bounds(first, character, problem.constraints, frames))
        if not reachable or peak(motion, character, frames) > peak(first, character, frames):
            # the bounds did not help: solve without them
            motion, reachable = level.solve(first, ())
    return continued_solution(solution, watch, motion, reachable)


@dataclass(frozen=True, eq=False)
class _Levelled:
    """Flattens toes and solves the whole clip again, because flattening moves the balls by millimetres."""

    method: Spacetime
    problem: Problem
    soles: Soles
    unlevelled: Motion
    watch: Stopwatch

    def solve(self, motion: Motion, wishes: tuple[Constraint, ...]) -> tuple[Motion, bool]:
        """Return the motion, and whether the hard constraints could be met. wishes: soft constraints."""
        character, soles, reachable = self.problem.character, self.soles, True
        for number in range(2):
            motion = flatten_toes(motion, character, soles.plants, soles.ground, self.unlevelled)
            motion = lift_toe_tips(motion, character, soles.plants, soles.ground, soles.clearances)
            met = unmet_shares(self.problem, Kinematics(motion)).max(initial=0.0) <= CLOSED
            if met and (number or not wishes):
                break
            asked = replace(self.problem, motion=motion, constraints=(*self.problem.constraints, *wishes))
            again = self.method.solve(asked)
            motion, reachable = again.motion, again.status is not Status.UNREACHABLE
            self.watch.lap("soles", motion)
        return motion, reachable


def within_acceleration_limit(
    solution: Solution,
    motion: Motion,
    problem: Problem,
    bounds: tuple[Above, ...],
    pace: SourcePeak | None,
    smooth: bool = False,
) -> Solution:
    """Return the solution with a motion edited after the solve, its acceleration limited by `pace` (None: no limit).

    bounds: constraints kept in addition to the problem's. smooth: lower peaks further (`lower_peaks`).
    """
    watch = Stopwatch(replace(problem, constraints=(*problem.constraints, *bounds)))
    if pace is not None:
        limited = limit_acceleration(motion, problem.character, watch.problem.constraints, pace)
        if smooth:
            limited = lower_peaks(limited, problem.character, watch.problem.constraints, pace)
        if limited is not motion:
            watch.lap("acceleration", limited)
        motion = limited
    return continued_solution(solution, watch, motion, solution.status is not Status.UNREACHABLE)


def continued_solution(solution: Solution, watch: Stopwatch, motion: Motion, reachable: bool) -> Solution:
    """Return the solution for the final motion, with the levels and times of the earlier one added."""
    found = watch.finish(solution.report.method, motion, reachable=reachable, notes=solution.report.notes)
    report = replace(
        found.report,
        levels=(*solution.report.levels, *found.report.levels),
        seconds=solution.report.seconds + found.report.seconds,
    )
    return replace(found, report=report)


def soles_above_ground(character: Character, soles: Soles, frames: range) -> tuple[Above, ...]:
    """Return constraints that keep heel, ball and toe of both feet above the ground, for the report."""
    part = None if soles.clearances is None else {k: v[frames.start :] for k, v in soles.clearances.items()}
    return above_ground_constraints(character, soles.ground, frames, part)


def allowed_depths(motion: Motion) -> dict[str, NDArray]:
    """Return contact point → (F,) metres, below 0: allowed penetration in a repair."""
    return {f"{side}_{part}": np.full(len(motion), -DEPTH) for side in ("left", "right") for part in SOLE}


def lift_soles_for_repair(
    solution: Solution,
    problem: Problem,
    method: Hierarchical,
    plants: Sequence[Footplant],
    ground: Ground,
) -> Solution:
    """Return the solution with feet lifted out of the ground between footplants, and the footplants enforced again."""
    character, motion = problem.character, solution.motion
    allowed = allowed_depths(motion)
    last = replace(method, spacings=(), first_guess=False)
    judged = above_ground_constraints(character, ground, range(len(motion)), allowed)
    whole = replace(problem, constraints=(*problem.constraints, *judged))
    watch, reachable = Stopwatch(whole), True
    for _ in range(2):
        if not _in_ground(motion, character, ground, allowed):
            break
        motion = flatten_planted_toes(motion, character, plants, ground)
        motion = lift_toe_tips(motion, character, plants, ground, allowed)
        motion = lift_feet(motion, character, plants, ground, allowed)
        again = last.solve(replace(whole, motion=motion))
        motion, reachable = again.motion, again.status.name != "UNREACHABLE"
        watch.lap("soles", motion)
    return continued_solution(solution, watch, motion, reachable)


def _in_ground(motion: Motion, character: Character, ground: Ground, allowed: Mapping[str, NDArray]) -> bool:
    kinematics = Kinematics(motion)
    for name, depth in allowed.items():
        if name in character.contacts:
            place = kinematics.point(character.contacts[name])
            if (place[:, 1] - ground.height(place[:, ::2]) < depth - SPARE).any():
                return True
    return False


def lift_soles_for_fit(solution: Solution, problem: Problem, method: Method, ground: Ground) -> Solution:
    """Return the solution with soles lifted that an edit has pushed deeper into the ground than in the clip.

    Lowered hips take a swinging foot with them. A ground interpolated between contacts is a guess and is ignored.
    """
    last, character = getattr(method, "closing", None), problem.character
    if last is None or character.roles is None or isinstance(ground, InterpolatedGround | LoweredGround):
        return solution
    allowed = clearances_of(Kinematics(problem.motion), character, ground)
    plants = [c for c in problem.constraints if isinstance(c, Footplant)]
    motion, watch, reachable = solution.motion, Stopwatch(problem), solution.status is not Status.UNREACHABLE
    for _ in range(2):
        now = clearances_of(Kinematics(motion), character, ground)
        if not any((now[name] < least - SHALLOW).any() for name, least in allowed.items()):
            break
        motion = lift_toe_tips(motion, character, plants, ground, allowed)
        motion = lift_feet(motion, character, plants, ground, allowed)
        motion, reachable = last.close(problem.on(motion))
        watch.lap("soles", motion)
    if motion is solution.motion:
        return solution
    return continued_solution(solution, watch, motion, reachable)
