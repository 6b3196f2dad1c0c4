"""Soles between footplants, after a solve by a published method: toes laid flat, soles lifted out of the ground.

Both change the foot a little, so the constraints are closed again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.typing import NDArray

from footplant.constraints import Above, Footplant
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround
from footplant.feet.soles import (
    SHALLOW,
    above_ground_constraints,
    clearances_of,
    correct_soles,
    flatten_toes,
    lift_feet,
    lift_toe_tips,
)
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Method, Problem, Progress, Solution, Status, Stopwatch
from footplant.skeleton import Character
from footplant.solve.closing import CLOSED, ExactPass, unmet_shares
from footplant.solve.methods.spacetime import Spacetime


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

    The method's exact pass runs again after that. frames: those after the lead-in.
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
        motion = correct_soles(motion, character, soles.plants, soles.ground, soles.clearances, unlevelled)
        motion, reachable = last.close(problem.on(motion))
        watch.lap("soles", motion)
    return continued_solution(solution, watch, motion, reachable)


def _solve_smoothly(
    method: Spacetime, problem: Problem, soles: Soles, frames: range, progress: Progress | None
) -> Solution:
    """Solve with spacetime, which keeps soles above the ground itself; flatten toes and solve the whole clip again.

    Closing the remaining millimetres by limb IK frame by frame would jerk nearly straight knees.
    """
    character = problem.character
    whole = replace(problem, constraints=(*problem.constraints, *soles_above_ground(character, soles, frames)))
    solution, watch = method.solve(whole, progress), Stopwatch(whole)
    motion, reachable = solution.motion, solution.status is not Status.UNREACHABLE
    if method.exact:
        unlevelled = problem.motion if soles.unlevelled is None else soles.unlevelled
        motion = flatten_toes(motion, character, soles.plants, soles.ground, unlevelled)
        motion = lift_toe_tips(motion, character, soles.plants, soles.ground, soles.clearances)
        if unmet_shares(whole, Kinematics(motion)).max(initial=0.0) > CLOSED:
            again = replace(method, start=None).solve(whole.on(motion))
            motion, reachable = again.motion, again.status is not Status.UNREACHABLE
        watch.lap("soles", motion)
    return continued_solution(solution, watch, motion, reachable)


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
