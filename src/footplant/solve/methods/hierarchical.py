"""Hierarchical motion fitting: displacement maps of B-splines, coarse to fine.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999): Algorithm 1
(section 4.3), the initial guess (section 4.5) and the optional last pass that enforces each constraint (section 4.4).

Objective: among motions m = m0 ⊕ d₁ ⊕ … ⊕ d_h that meet the constraints, keep the displacement smooth. Level k solves
at every constrained frame t

    d(t) = argmin Σ_j w_j ‖d_j‖²   subject to   c(t, m ⊕ d) = 0        (equation 4, by `Ik`)

and approximates these displacements in the least-squares sense by a cubic B-spline d_k with knot spacing τ/2ᵏ. What one
level leaves is the target of the next, finer one. With an IK that has bounds (`ik.bounds`), d_j counts from m0 where a
goal is active, and so does the search: levels take back what an earlier one displaced too far, and a limb that is
folded at the goal ends where it would by itself. Frames at which a spline breaks a joint limit or puts a sole into the
ground are posed as well. A spline is a weighted mean of what all frames ask for, and
frames that ramp ask for less: the trunk stops short of what the goal's frame needs, however fine the knots. So last
splines through the poses of goals alone lead there (`goal_spacings`), and limbs follow at the other frames.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Footplant, Position
from footplant.constraints.plants import is_simple_plant
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import (
    Ik,
    Problem,
    Progress,
    Solution,
    Stopwatch,
    refuse_unsupported,
    worst_error,
)
from footplant.solve.closing import ExactPass, goal_rows
from footplant.solve.displacement import LEAST_KNOTS, PAPER_RATE, displaced, fit_near
from footplant.solve.goal_poses import pose_goals, with_held_frames
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric
from footplant.spline import fit_multilevel


@dataclass(frozen=True)
class HierarchicalSettings:
    """Tuning numbers of hierarchical fitting beyond the paper's knot spacings."""

    samples_per_knot: float = 2.5
    """Frames posed by IK between two knots. A cubic needs no more; with 2, limbs near their reach converge more slowly
    (figures of the retargeting table, docs/retarget_table.md)."""
    tolerance: float = 0.007
    """Body heights: residual after the smooth levels above which finer levels follow. Doubled, the exact pass has more
    to close and the limbs jerk more."""
    improvement: float = 0.9
    """A finer level is followed by another one only if it leaves at most this share of the residual before it."""
    frame_levels: int = 3
    """Maximum number of levels with one knot per frame, around frames where source jitter leaves more than that."""
    ease: float = 0.05
    """Seconds over which the displacement of those levels fades in and out."""
    goal_spacings: tuple[float, ...] = (8.0, 4.0, 2.0, 1.0)
    """Knot spacings, in frames of 1/30 s, of the last splines, which lead to the poses of goals, with an IK that has
    bounds. Of thirteen goals that need the trunk, equation 4 is 1.0 to 1.65 times the least without them (on average
    1.15), and 0.99 to 1.04 with them; accelerations added are 77 instead of 92 m/s². From 16 on a goal of a foot adds
    135 instead of 26 m/s², as its displacement reaches plants that ramp; from 4 on another one 96 instead of 67."""


SETTINGS = HierarchicalSettings()


@dataclass(frozen=True)
class Hierarchical:
    """Algorithm 1: at each level, IK at the constrained frames, then a B-spline through the displacements."""

    ik: Ik | None = None
    """The inverse kinematics of single frames; None: `Hybrid` for the problem's character."""
    spacings: tuple[float, ...] = (16.0, 8.0, 4.0, 2.0, 1.0, 1.0)
    """Knot spacing of each level, in frames of 1/30 s, so that it means the same at any frame rate."""
    further: int = 0
    """Maximum number of further levels, each with half the spacing, while the residual is too large and still falls."""
    exact: bool = True
    """Whether a last pass (`ExactPass`) closes the residual by IK: the trunk stays smooth, the limbs are exact."""
    first_guess: bool = True
    """Whether the root first follows the mean shift of the footplants; without it a walk lifted onto a hill squats."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """Return the motion that meets the constraints by a smooth displacement of the problem's motion."""
        ik = self.ik or Hybrid(problem.character, rigidity=problem.rigidity)
        refuse_unsupported("hierarchical", ik, problem.constraints)
        watch, motion, frames = Stopwatch(problem), problem.motion, problem.constrained_frames()
        if not len(frames):
            return watch.finish("hierarchical", motion)
        if self.first_guess:
            motion = self._shift_root(problem)
            watch.lap("first guess", motion)
        first, reached, left = motion, np.ones(len(frames), bool), np.inf
        now = Kinematics(motion) if self.spacings else None
        # the finest given spacing may be repeated like the further levels: only while it is needed
        usual = self.spacings.index(self.spacings[-1]) + 1 if self.further and self.spacings else len(self.spacings)
        for number, spacing in enumerate(self._every_spacing(motion.fps)):
            assert now is not None
            if progress:
                progress(f"level {number + 1}", min(number / (len(self.spacings) + self.exact), 1.0))
            every = _stride(spacing * motion.fps / PAPER_RATE)
            asked, away, reached = _posed(ik, now, problem.on(first), _with_broken(ik, now, frames), every)
            motion = displaced(motion, away, asked, spacing)
            now = Kinematics(motion)
            before, left = left, watch.lap(f"{spacing:g} frames a knot", now)
            if number + 1 >= usual and (
                left <= SETTINGS.tolerance * problem.character.height
                or (number >= usual and left > SETTINGS.improvement * before)
            ):
                break
        if self.spacings and self.further and left > SETTINGS.tolerance * problem.character.height:
            motion = self._fit_jitter(ik, motion, problem, frames, watch)
        goals = frames[goal_rows(problem, frames)] if isinstance(ik, Numeric) and ik.bounds is not None else frames[:0]
        if self.spacings and len(goals):
            motion = _through(motion, goals, _goal_poses(ik, problem.on(first), goals))  # type: ignore[arg-type]
            watch.lap("poses of goals", motion)
        if self.exact:
            if progress:
                progress("exact", len(self.spacings) / (len(self.spacings) + 1))
            frames = _with_broken(ik, Kinematics(motion), frames)
            motion, reached = ExactPass(ik, lean=self.further > 0).enforce(motion, problem, frames)
            watch.lap("exact", motion)
        return watch.finish(
            "hierarchical",
            motion,
            reachable=bool(reached.all()),
            contradictions=_contradictions(ik, problem, Kinematics(motion)),
        )

    @property
    def closing(self) -> ExactPass | None:
        """Return the last pass, which edits run again after they have changed feet; None where there is none."""
        return ExactPass(self.ik, lean=self.further > 0) if self.exact else None

    def _every_spacing(self, fps: float) -> list[float]:
        """Return the given spacings and the further ones, down to the smallest possible."""
        if not self.spacings:
            return []
        last, least = self.spacings[-1], LEAST_KNOTS * PAPER_RATE / fps
        finer = [max(last * 0.5**number, min(least, last)) for number in range(1, self.further + 1)]
        return [*self.spacings, *finer]

    def _fit_jitter(self, ik: Ik, motion: Motion, problem: Problem, frames: NDArray, watch: Stopwatch) -> Motion:
        """Fit with one knot per frame around frames where source jitter keeps a constraint unmet, and only there.

        Jitter from frame to frame in a planted foot can only be removed from frame to frame.
        """
        spacing = PAPER_RATE / motion.fps
        for _ in range(SETTINGS.frame_levels):
            unmet = worst_error(Kinematics(motion), problem.constraints) > SETTINGS.tolerance * problem.character.height
            if not unmet.any():
                break
            motion = fit_near(ik, motion, problem, frames, unmet, SETTINGS.ease, spacing)
            watch.lap(f"{spacing:g} frames a knot", motion)
        return motion

    def _shift_root(self, problem: Problem) -> Motion:
        """Return the initial guess: the root moved by the mean residual of the footplants, smoothly (section 4.5).

        Only footplants count: a hand that reaches for something should not move the whole body.
        """
        motion, plain = problem.motion, problem.plants
        kinematics = Kinematics(motion)
        weight = plain.plants.weights[plain.which] * plain.activation
        wanted = -weight[:, None] * plain.residuals(kinematics)
        # bincount of no rows at all returns integers
        total, *axes = (np.bincount(plain.rows, each, len(motion)).astype(float) for each in (weight, *wanted.T))
        shift = np.stack(axes, axis=1)
        for constraint in problem.constraints:
            if not isinstance(constraint, Footplant) or is_simple_plant(constraint):
                continue
            rows, share = constraint.active_rows(kinematics.frames, motion.fps)
            if len(rows):
                shift[rows] -= constraint.weight * share[:, None] * constraint.residual(kinematics[rows])
                total[rows] += constraint.weight * share
        held = np.flatnonzero(total > 0)
        if not len(held):
            return motion
        mean = shift[held] / total[held, None]
        spacing, count = self.spacings[0] * motion.fps / PAPER_RATE, len(motion)
        # the common shift is added as a constant, since splines would ripple around it; but where nothing is planted
        # for longer than a knot spacing, nothing has to move
        apart = np.diff(np.concatenate([[0], held, [count - 1]])).max()
        common = mean.mean(axis=0) if apart <= spacing else np.zeros(3)
        splines = fit_multilevel(held, mean - common, max(spacing, 1.0), 3, 0.0, max(count - 1.0, 1.0))
        return replace(motion, root=motion.root + common + sum(spline(np.arange(count)) for spline in splines))


def _stride(knots: float) -> int:
    """Return the stride of posed frames for a knot spacing in frames: an odd number.

    With an odd stride, samples of frame-to-frame jitter alternate between its two sides.
    """
    return max(2 * int(0.5 * (knots / SETTINGS.samples_per_knot - 1.0)) + 1, 1)


def _with_broken(ik: Ik, now: Kinematics, frames: NDArray) -> NDArray:
    """Return the constrained frames, and those at which the displacement breaks a bound of the IK, in order."""
    if not isinstance(ik, Numeric) or ik.bounds is None:
        return frames
    return np.union1d(frames, np.flatnonzero(ik.bounds.broken(now)))


def _contradictions(ik: Ik, problem: Problem, now: Kinematics) -> list[str]:
    """Return which frames' constraints are unmet because the bounds of the IK contradict them, in one sentence."""
    if not isinstance(ik, Numeric) or ik.bounds is None:
        return []
    unmet = np.flatnonzero(worst_error(now, problem.constraints) > problem.tolerance)
    if (
        not len(unmet)
        or not ik.contradicted(problem.motion[unmet], problem.constraints, unmet, problem.tolerance).all()
    ):
        return []
    return [f"joint limits or the ground contradict constraints from frame {unmet[0]} to {unmet[-1]}"]


def _where_goals(problem: Problem, part: Kinematics) -> Motion:
    """Return the poses from which displacements count: the problem's own where a goal is active, else the present ones.

    What one level displaces too far, the next takes back; where only footplants are active, the trunk keeps the smooth
    displacement of its neighbours.
    """
    motion, rows = part.motion, np.zeros(len(part.frames), bool)
    for constraint in problem.others:
        rows |= constraint.activation(part.frames, motion.fps) > 0
    own = problem.motion[part.frames]
    root = np.where(rows[:, None], own.root, motion.root)
    return motion.like(root, np.where(rows[:, None, None], own.rotations, motion.rotations), motion.offsets)


def _goal_poses(ik: Numeric, problem: Problem, frames: NDArray) -> Motion:
    """Return the poses at the frames of goals; positions near the end of reach are aimed beyond, as in a drag."""
    pins = [c for c in problem.others if isinstance(c, Position) and c.hard and c.target is not None and c.frames]
    others = [c for c in problem.constraints if not any(c is pin for pin in pins)]
    beside = with_held_frames(frames, np.arange(len(problem.motion)), others, problem.motion.fps)
    posed = pose_goals(ik, problem.motion[beside], others, pins, beside)
    return posed[np.searchsorted(beside, frames)]


def _through(motion: Motion, frames: NDArray, poses: Motion) -> Motion:
    """Return a motion displaced by ever finer splines so that it goes through poses at some frames (N,)."""
    for spacing in SETTINGS.goal_spacings:
        motion = displaced(motion, poses - motion[frames], frames, spacing)
    return motion


def _posed(ik: Ik, now: Kinematics, problem: Problem, frames: NDArray, every: int) -> tuple[NDArray, NDArray, NDArray]:
    """Return posed frames (n,), their displacements (n, 1+J, 3), and (n,) whether all goals were reached.

    problem: with the motion from which displacements count; frames: where constraints are active; every `every`-th of
    them is posed.
    """
    part, constraints = now if len(frames) == len(now.frames) else now[frames], problem.constraints
    if not isinstance(ik, Hybrid):
        reference = _where_goals(problem, part) if isinstance(ik, Numeric) and ik.bounds is not None else part.motion
        answer = ik.solve(reference, constraints, frames=frames)
        return frames, answer.motion - part.motion, answer.reached
    # ramps depend on neighbouring frames, so targets are computed for every frame; poses only for every n-th, and only
    # when all targets are on limbs
    every = 1 if ik.on_trunk(constraints) else every
    goals = ik.aim(part, constraints, every)
    part = part[np.arange(0, len(frames), every)] if every > 1 else part
    answer = ik.solve(part.motion, constraints, aimed=(part, goals))
    return part.frames, answer.motion - part.motion, answer.reached
