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
"""How often soles are put right at least, and at most while one is deeper in the ground than this:"""


DEEP = 0.004
"""Metres."""
DEPTH = 0.003
"""Metres below the ground that are left alone: nobody sees them, and lifting a foot has its price."""
SPARE = 0.0005
"""Metres deeper than that which do not make a foot be lifted again: a smooth lift leaves as much."""


@dataclass(frozen=True, eq=False)
class Soles:
    """What is asked of the feet beside their plants."""

    plants: tuple[Footplant, ...]
    ground: Ground
    clearances: dict[str, NDArray] | None = None
    """Contact point → (F,) metres, 0 or below, that it may be in the ground; None: not at all."""
    unlevelled: Motion | None = None
    """The motion as it was before its toes were laid flat; None: as the problem has it."""


def solve_soles(
    method: Method, problem: Problem, soles: Soles, frames: range, progress: Progress | None = None
) -> Solution:
    """Solve a problem, then put the feet right between their plants: toes flat, soles out of the ground.

    Both change the foot a little, so the last pass of the method is run again after each of two rounds, and of a few
    more where something is still in the ground.
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
    """The same for a method that keeps soles out of the ground itself: toes are laid flat, and peaks made lower.

    After that the whole clip is solved again. Limbs would close the millimetres frame by frame, with a jerk wherever a
    knee is all but straight.
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
            # what was asked for in vain is no reason to end rougher than without
            motion, reachable = level.solve(first, ())
    return continued_solution(solution, watch, motion, reachable)


@dataclass(frozen=True, eq=False)
class _Levelled:
    """Lays toes flat and solves the whole clip again, since that moves the balls of feet by millimetres."""

    method: Spacetime
    problem: Problem
    soles: Soles
    unlevelled: Motion
    watch: Stopwatch

    def solve(self, motion: Motion, wishes: tuple[Constraint, ...]) -> tuple[Motion, bool]:
        """The motion, and whether everything hard could be met; wishes are soft."""
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
    """The solution with a motion that was changed since, at a pace that the source has too (None: at any).

    bounds: what holds beside the problem's own constraints. smooth: with lower peaks.
    """
    watch = Stopwatch(replace(problem, constraints=(*problem.constraints, *bounds)))
    if pace is not None:
        calm = limit_acceleration(motion, problem.character, watch.problem.constraints, pace)
        if smooth:
            calm = lower_peaks(calm, problem.character, watch.problem.constraints, pace)
        if calm is not motion:
            watch.lap("calm", calm)
        motion = calm
    return continued_solution(solution, watch, motion, solution.status is not Status.UNREACHABLE)


def continued_solution(solution: Solution, watch: Stopwatch, motion: Motion, reachable: bool) -> Solution:
    """What was found in the end, with the levels and the time of all that led to it."""
    found = watch.finish(solution.report.method, motion, reachable=reachable, notes=solution.report.notes)
    report = replace(
        found.report,
        levels=(*solution.report.levels, *found.report.levels),
        seconds=solution.report.seconds + found.report.seconds,
    )
    return replace(found, report=report)


def soles_above_ground(character: Character, soles: Soles, frames: range) -> tuple[Above, ...]:
    """Heel, ball and toe of both feet stay above the ground, as constraints to be judged by."""
    part = None if soles.clearances is None else {k: v[frames.start :] for k, v in soles.clearances.items()}
    return above_ground_constraints(character, soles.ground, frames, part)


def allowed_depths(motion: Motion) -> dict[str, NDArray]:
    """Contact point → (F,) metres, below 0, that it may be in the ground."""
    return {f"{side}_{part}": np.full(len(motion), -DEPTH) for side in ("left", "right") for part in SOLE}


def lift_soles_for_repair(
    solution: Solution,
    problem: Problem,
    method: Hierarchical,
    plants: Sequence[Footplant],
    ground: Ground,
) -> Solution:
    """The feet brought out of the ground between and beside their plants, and the plants enforced again."""
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
    """Soles that an edit has pushed into the ground are lifted out of it, as far as the clip had them out of it.

    Hips that are drawn down take the foot with them that swings. A ground that only plants tell is a guess between
    them: nothing is lifted out of that.
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
