"""Hierarchical motion fitting: displacement maps of B-splines, coarse to fine.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999): Algorithm 1
(section 4.2), the first guess (section 4.3) and the optional last pass that enforces each constraint (section 4.4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Constraint, Footplant
from footplant.constraints.plants import is_plain
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import (
    Ik,
    Problem,
    Progress,
    Solution,
    Stopwatch,
    refuse_unhonoured,
    worst_error,
)
from footplant.solve.closing import ExactPass
from footplant.solve.displacement import LEAST_KNOTS, PAPER_RATE, displaced, fit_near
from footplant.solve.ik.hybrid import Hybrid
from footplant.spline import fit_multilevel

SAMPLES = 2.5
"""Poses that are asked for between two knots: more would tell a cubic nothing new."""
LITTLE = 0.007
"""Body heights that constraints may be off after the smooth levels."""
HELPS = 0.9
"""Share of the error before it that a further level must leave at most to be followed by another one."""
FINEST = 3
"""Levels at most with a knot for each frame, around frames at which a source that shakes leaves more than that."""
EASE_IN = 0.05
"""Seconds over which what they change comes and goes."""


@dataclass(frozen=True)
class Hierarchical:
    """Solves a problem level by level: IK at the constrained frames, a smooth displacement through the answers."""

    ik: Ik | None = None
    """What poses single frames; None: `Hybrid` for the problem's character."""
    spacings: tuple[float, ...] = (16.0, 8.0, 4.0, 2.0, 1.0, 1.0)
    """Knot spacing of each level, in frames of 1/30 s, so that it means the same at any rate."""
    further: int = 0
    """Levels beyond them at most, each of half the spacing, while more than `LITTLE` is left and they still help."""
    exact: bool = True
    """Whether a last pass enforces the constraints by IK alone: the trunk stays smooth, the limbs are exact."""
    first_guess: bool = True
    """Whether the root first follows the mean shift of what is held; without it a walk lifted onto a hill squats."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """The motion nearest to the problem's own, in the sense of its smooth displacement, that meets it."""
        ik = self.ik or Hybrid(problem.character, rigidity=problem.rigidity)
        refuse_unhonoured("hierarchical", ik, problem.constraints)
        watch, motion, frames = Stopwatch(problem), problem.motion, problem.constrained_frames()
        if not len(frames):
            return watch.finish("hierarchical", motion)
        if self.first_guess:
            motion = self._shift_root(problem)
            watch.lap("first guess", motion)
        reached, left = np.ones(len(frames), bool), np.inf
        now = Kinematics(motion) if self.spacings else None
        # where further levels may follow, the finest one is repeated as they are: as long as that is needed
        usual = self.spacings.index(self.spacings[-1]) + 1 if self.further and self.spacings else len(self.spacings)
        for number, spacing in enumerate(self._every_spacing(motion.fps)):
            assert now is not None
            if progress:
                progress(f"level {number + 1}", min(number / (len(self.spacings) + self.exact), 1.0))
            every = _stride(spacing * motion.fps / PAPER_RATE)
            asked, away, reached = _asked(ik, now, problem.constraints, frames, every)
            motion = displaced(motion, away, asked, spacing)
            now = Kinematics(motion)
            before, left = left, watch.lap(f"{spacing:g} frames a knot", now)
            if number + 1 >= usual and (
                left <= LITTLE * problem.character.height or (number >= usual and left > HELPS * before)
            ):
                break
        if self.spacings and self.further and left > LITTLE * problem.character.height:
            motion = self._settled(ik, motion, problem, frames, watch)
        if self.exact:
            if progress:
                progress("exact", len(self.spacings) / (len(self.spacings) + 1))
            motion, reached = ExactPass(ik, lean=self.further > 0).enforce(motion, problem, frames)
            watch.lap("exact", motion)
        return watch.finish("hierarchical", motion, reachable=bool(reached.all()))

    @property
    def closing(self) -> ExactPass | None:
        """Return the last pass, which edits run again after they have changed feet; None where there is none."""
        return ExactPass(self.ik, lean=self.further > 0) if self.exact else None

    def _every_spacing(self, fps: float) -> list[float]:
        """The spacings and further ones, down to the least that there is."""
        if not self.spacings:
            return []
        last, least = self.spacings[-1], LEAST_KNOTS * PAPER_RATE / fps
        finer = [max(last * 0.5**number, min(least, last)) for number in range(1, self.further + 1)]
        return [*self.spacings, *finer]

    def _settled(self, ik: Ik, motion: Motion, problem: Problem, frames: NDArray, watch: Stopwatch) -> Motion:
        """The motion with a knot a frame where a source that shakes would shake what it holds, and only there.

        What shakes from frame to frame while it stands has to be stilled frame by frame, too.
        """
        spacing = PAPER_RATE / motion.fps
        for _ in range(FINEST):
            unmet = worst_error(Kinematics(motion), problem.constraints) > LITTLE * problem.character.height
            if not unmet.any():
                break
            motion = fit_near(ik, motion, problem, frames, unmet, EASE_IN, spacing)
            watch.lap(f"{spacing:g} frames a knot", motion)
        return motion

    def _shift_root(self, problem: Problem) -> Motion:
        """Move the root at every frame by the mean shift of what stands or holds on, spread smoothly (METHODS A4).

        A hand that is to reach for something is no reason to move the whole body.
        """
        motion, plain = problem.motion, problem.plants
        kinematics = Kinematics(motion)
        weight = plain.plants.weights[plain.which] * plain.activation
        wanted = -weight[:, None] * plain.residuals(kinematics)
        # of no rows at all it would count whole numbers
        total, *axes = (np.bincount(plain.rows, each, len(motion)).astype(float) for each in (weight, *wanted.T))
        shift = np.stack(axes, axis=1)
        for constraint in problem.constraints:
            if not isinstance(constraint, Footplant) or is_plain(constraint):
                continue
            rows, share = constraint.at_work(kinematics.frames, motion.fps)
            if len(rows):
                shift[rows] -= constraint.weight * share[:, None] * constraint.residual(kinematics[rows])
                total[rows] += constraint.weight * share
        held = np.flatnonzero(total > 0)
        if not len(held):
            return motion
        mean = shift[held] / total[held, None]
        spacing, count = self.spacings[0] * motion.fps / PAPER_RATE, len(motion)
        # what all of them have in common is no matter of splines, which would ripple about it; but nothing has to move
        # where nothing is held for long
        apart = np.diff(np.concatenate([[0], held, [count - 1]])).max()
        common = mean.mean(axis=0) if apart <= spacing else np.zeros(3)
        splines = fit_multilevel(held, mean - common, max(spacing, 1.0), 3, 0.0, max(count - 1.0, 1.0))
        return replace(motion, root=motion.root + common + sum(spline(np.arange(count)) for spline in splines))


def _stride(knots: float) -> int:
    """Of how many frames one is posed for knots that are so many frames apart: an odd number.

    A source that shakes to and fro from frame to frame is met on both sides then, and not always on the same one.
    """
    return max(2 * int(0.5 * (knots / SAMPLES - 1.0)) + 1, 1)


def _asked(
    ik: Ik, now: Kinematics, constraints: tuple[Constraint, ...], frames: NDArray, every: int
) -> tuple[NDArray, NDArray, NDArray]:
    """What constraints ask of a clip: frames (n,), displacements (n, 1+J, 3) there, and (n,) whether all was reached.

    frames: where they are at work; `every` so many of them are posed.
    """
    part = now if len(frames) == len(now.frames) else now[frames]
    if not isinstance(ik, Hybrid):
        answer = ik.solve(part.motion, constraints, frames=frames)
        return frames, answer.motion - part.motion, answer.reached
    # what fades goes by the frames beside it: all of them are aimed, and some posed where limbs are all that is aimed
    every = 1 if ik.on_trunk(constraints) else every
    goals = ik.aim(part, constraints, every)
    part = part[np.arange(0, len(frames), every)] if every > 1 else part
    answer = ik.solve(part.motion, constraints, aimed=(part, goals))
    return part.frames, answer.motion - part.motion, answer.reached
