"""Closing the residual of a smooth solve by the limbs (Lee & Shin 1999, section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Constraint, Footplant
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import (
    Ik,
    IkSolution,
    Problem,
    Progress,
    Solution,
    Stopwatch,
    errors,
    evaluate_constraints,
    worst_error,
)
from footplant.solve.displacement import LEAST_KNOTS, PAPER_RATE, fit_near
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric
from footplant.spline import fit_spline, smooth_envelope

CLOSED = 0.7
"""Share of a constraint's tolerance up to which its residual is left. Lower values close more frames and cost
smoothness; above 1 residuals would be reported as unmet."""
EASE = 0.1
"""Seconds over which the limbs' correction fades in and out."""
EASE_DOWN = 0.15
"""Seconds over which the root is lowered before, and raised after, a goal that is out of a leg's reach."""
LEANING = (4.0, 2.0, 1.0)
"""Knot spacings, in frames of 1/30 s, of the levels in which the trunk leans towards goals out of reach."""
STAYS = 3.0
"""Cost of moving the root in these levels (1/m²): high, so that the spine bends instead."""
RECENTERED = 2
"""Maximum number of times that the limbs close the residual again from where they came to: goals that bend the whole
body are missed by up to 3 mm after one pass, by less than 0.3 mm after three."""
KNOT = 8.0
"""Knot spacing of the last pass, in frames of 1/30 s, that `FINER` divides: that of drags."""
FINER = (2.0, 4.0, 8.0)
"""Shares of a drag's knot spacing with which splines take up what frames need for their constraints. Of 72 drags of six
clips at 30 and 120 frames/s, joints are accelerated by 200 and 1,795 m/s² at the 90th percentile without splines, with
4 by 103 and 743, with 2 and 4 by 75 and 467, and with all three by 63 and 294; a drag takes 20, 26, 33 and 45 ms."""
ROUGH = 0.5
"""Share of the clip's own peak acceleration by which single frames may be accelerated before that is done. With 0, 0.1,
0.2 and 0.5, the same are accelerated by 63, 63, 73 and 78 m/s² at 30 frames/s, and by 294, 352, 352 and 352 at 120; a
drag of a hand of the sample walk takes 44, 43, 26 and 17 ms."""
ROUNDS = 4
"""Maximum number of attempts, each leaving out frames where the correction did harm, before nothing is corrected."""


@dataclass(frozen=True)
class ExactPass:
    """Enforces constraints frame by frame by the limbs alone, after a smooth solve (Lee & Shin 1999, section 4.4)."""

    ik: Ik | None = None
    """The inverse kinematics of single frames; None: `Hybrid` for the problem's character."""
    lean: bool = False
    """Whether the trunk may lean towards goals that the limbs alone do not reach."""

    def close(self, problem: Problem) -> tuple[Motion, bool]:
        """Return the motion with its constraints enforced, and whether all of them are met."""
        frames = problem.constrained_frames()
        if not len(frames):
            return problem.motion, True
        motion, reached = self.enforce(problem.motion, problem, frames)
        met = bool(reached.all()) or all(
            entry.met or not entry.hard for entry in evaluate_constraints(problem, Kinematics(motion))
        )
        return motion, met

    def enforce(self, motion: Motion, problem: Problem, frames: NDArray) -> tuple[Motion, NDArray]:
        """Return the motion with the residual closed by the limbs at the given frames, and (n,) what was reached.

        Ramps of the constraints fade the correction in and out. Where a leg cannot reach, the root is first lowered
        by a smooth envelope of the missing height.
        """
        ik = self.ik or Hybrid(problem.character, rigidity=problem.rigidity)
        last = bending = ik
        every = len(frames) == len(motion)

        def part(whole: Motion) -> Motion:
            return whole if every else whole[frames]

        if isinstance(ik, Hybrid):
            last, kinematics = ik.limbs_alone, Kinematics(part(motion), frames)
            bending = replace(ik, rigidity={**ik.rigidity, "place": STAYS})
            aimed = last.aim(kinematics, problem.constraints)
            need = np.zeros(len(motion))
            need[frames] = last.overreach(kinematics, problem.constraints, aimed)
            if need.any():
                down = smooth_envelope(need, round(EASE_DOWN * motion.fps))
                motion = replace(motion, root=motion.root - down[:, None] * [0.0, 1.0, 0.0])
                kinematics = Kinematics(part(motion), frames)
                aimed = last.aim(kinematics, problem.constraints)
            answer = last.solve(kinematics.motion, problem.constraints, aimed=(kinematics, aimed))
        else:
            again = 0
            if isinstance(ik, Numeric) and ik.bounds is not None:
                last, again = ik.restoring(), RECENTERED
                answer = restored(
                    problem.motion[frames], part(motion), frames, goal_rows(problem, frames), last,
                    problem.constraints, KNOT * motion.fps / PAPER_RATE,
                )  # fmt: skip
            else:
                answer = last.solve(part(motion), problem.constraints, frames=frames)
            for _ in range(again):
                # a trunk that is held pulls on what needs it to move; held where it came to, it pulls less
                if answer.error.max(initial=0.0) <= 0.1 * problem.tolerance:
                    break
                answer = last.solve(answer.motion, problem.constraints, frames=frames)
        if self.lean and not answer.reached.all():
            # what is out of reach of the limbs alone may be within reach of a leaning trunk
            off = worst_error(Kinematics(answer.motion, frames), problem.constraints)
            unmet = np.zeros(len(motion), bool)
            unmet[frames] = ~answer.reached & (off > problem.tolerance)
            for spacing in LEANING if unmet.any() else ():
                motion = fit_near(bending, motion, problem, frames, unmet, EASE_DOWN, spacing)
            answer = last.solve(part(motion), problem.constraints, frames=frames)
        if every:
            return answer.motion, answer.reached
        root, rotations = np.array(motion.root), np.array(motion.rotations)
        root[frames], rotations[frames] = answer.motion.root, answer.motion.rotations
        return replace(motion, root=root, rotations=rotations), answer.reached


def goal_rows(problem: Problem, frames: NDArray) -> NDArray:
    """Return the rows of frames (N,) at which a goal holds fully; footplants are none."""
    rows = np.zeros(len(frames), bool)
    for constraint in problem.others:
        if constraint.hard and not isinstance(constraint, Footplant):
            rows |= constraint.activation(frames, problem.motion.fps) >= 1.0
    return np.flatnonzero(rows)


def restored(
    before: Motion,
    part: Motion,
    rows: NDArray,
    at: NDArray,
    ik: Numeric,
    constraints: Sequence[Constraint],
    knot: float,
) -> IkSolution:
    """Return displaced frames with constraints restored, by splines as far as these can.

    Solved frame by frame, a leg that is out of reach or in the way of the other one would jerk: what the frames need is
    spread over those beside them, by finer knots each time (section 4.2), and only the rest is solved frame by frame.
    Poses that were solved for drags (`at`, rows of their frames) stay as they are: they are the least displacement. Of
    200 goals on ten clips, that of the dragged frame is up to 3.5 times as much otherwise.
    """
    solved = ik.solve(part, constraints, frames=rows)
    own = _peak(Kinematics(before).positions)
    for finer in FINER:
        spacing = max(knot / finer, LEAST_KNOTS)
        if _peak(Kinematics(solved.motion).positions - Kinematics(part).positions) <= ROUGH * own:
            break
        needed = (solved.motion - part).reshape(len(rows), -1)
        spline = fit_spline(rows, needed, spacing, float(rows[0]), float(rows[-1]))
        bend = spline(rows)
        bend -= fit_spline(rows[at], (bend - needed)[at], spacing, float(rows[0]), float(rows[-1]))(rows)
        part = part + bend.reshape(len(rows), -1, 3)
        solved = ik.solve(part, constraints, frames=rows)
    return solved


def _peak(places: NDArray) -> float:
    """Return the largest second difference over frames of places (F, J, 3), metres."""
    return float(np.linalg.norm(np.diff(places, 2, axis=0), axis=-1).max(initial=0.0))


@dataclass(frozen=True)
class WhereUnmet:
    """Closes the residual by the limbs only around frames with an unmet constraint; all others are unchanged.

    A nearly straight leg bends its knee by degrees for a tenth of a millimetre at the foot. Where the splines are
    within tolerance, closing the rest would cost smoothness and gain nothing visible.
    """

    ik: Ik | None = None
    """The inverse kinematics of single frames; None: `Hybrid` for the problem's character."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """Return the motion with its unmet frames closed; the correction fades in and out."""
        watch, motion = Stopwatch(problem), problem.motion
        before = unmet_shares(problem, Kinematics(motion))
        unmet = before > CLOSED
        if not unmet.any():
            return watch.finish("limbs", motion)
        enforced, _ = ExactPass(self.ik).close(problem)
        change, half, closed = enforced - motion, max(round(EASE * motion.fps), 1), motion
        for _ in range(ROUNDS):
            share = np.minimum(smooth_envelope(unmet.astype(float), half), 1.0)
            closed = motion + share[:, None, None] * change
            worse = _worse(share, before, unmet_shares(problem, Kinematics(closed)))
            if not worse.any():
                break
            # leave out every unmet frame whose correction fades over these
            for frame in np.flatnonzero(worse):
                unmet[max(frame - 2 * half, 0) : frame + 2 * half + 1] = False
            closed = motion
        watch.lap("limbs", closed)
        return watch.finish("limbs", closed, reachable=False)


def _worse(share: NDArray, before: NDArray, after: NDArray) -> NDArray:
    """Return (F,) bool: frames whose residual exceeds the largest one before, within their corrected stretch.

    Half of a correction is not half of the residual where it flips a knee that the capture bends backwards.
    """
    out = np.zeros(len(share), bool)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], share > 0, [False]])))
    for first, end in edges.reshape(-1, 2):
        out[first:end] = after[first:end] > max(before[first:end].max(), 1.0)
    return out


def unmet_shares(problem: Problem, kinematics: Kinematics) -> NDArray:
    """Return (F,) the largest residual of a hard constraint at each frame, as a share of its tolerance.

    A tolerance above the problem's own (of a palm's contact) counts as the problem's.
    """
    worst, held = np.zeros(len(kinematics.frames)), problem.held_plants
    limits = [min(plant.tolerance or problem.tolerance, problem.tolerance) for plant in held.plants.plants]
    # thousands of footplants, all at once
    np.maximum.at(worst, held.rows, held.errors(kinematics) * held.hard / np.array(limits)[held.which])
    for constraint in problem.others:
        if constraint.hard:
            rows, values = errors(constraint, kinematics)
            usual = (10.0 if constraint.unit == "rad" else 1.0) * problem.tolerance
            own = constraint.tolerance or usual
            np.maximum.at(worst, rows, values / (own if constraint.inequality else min(own, usual)))
    return worst
