"""The last step after splines: what they leave is closed by limbs, there alone where it is too much."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Ik, Problem, Progress, Solution, Stopwatch, errors, judge_constraints, worst_error
from footplant.solve.displacement import fit_near
from footplant.solve.ik.hybrid import Hybrid
from footplant.spline import smooth_envelope

CLOSED = 0.7
"""Share of its tolerance up to which an error is left as it is."""
EASE = 0.1
"""Seconds over which what limbs change comes and goes."""
EASE_DOWN = 0.15
"""Seconds over which the root comes down before, and up again after, a goal that a leg would not reach."""
LEANING = (4.0, 2.0, 1.0)
"""Knot spacings, in frames of 1/30 s, with which the trunk leans to where a limb would not reach."""
STAYS = 3.0
"""What it costs the root to move then (1/m²): rather than that, the spine bends."""
ROUNDS = 4
"""How often frames around which that would do harm are left out before all are left alone."""


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
            entry.met or not entry.hard for entry in judge_constraints(problem, Kinematics(motion))
        )
        return motion, met

    def enforce(self, motion: Motion, problem: Problem, frames: NDArray) -> tuple[Motion, NDArray]:
        """The last pass: what is left goes into the limbs alone, frame by frame, where ramps ease it in and out.

        A leg that cannot reach is helped first: the root comes down, smoothly and never by less than is needed.
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
            answer = ik.solve(part(motion), problem.constraints, frames=frames)
        if self.lean and not answer.reached.all():
            # what limbs alone do not reach they may reach with the trunk; hips are as low as feet need them
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


@dataclass(frozen=True)
class WhereUnmet:
    """Enforces constraints by limbs around the frames at which one is not met, and leaves all others alone.

    A leg that is all but straight turns its knee by degrees for a tenth of a millimetre at the foot: where splines are
    near enough, to close what they leave would cost their smoothness and gain nothing that anybody sees.
    """

    ik: Ik | None = None
    """What poses single frames; None: `Hybrid` for the problem's character."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """The motion with its unmet frames closed, eased in and out."""
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
            # those whose change comes and goes there are left as they are
            for frame in np.flatnonzero(worse):
                unmet[max(frame - 2 * half, 0) : frame + 2 * half + 1] = False
            closed = motion
        watch.lap("limbs", closed)
        return watch.finish("limbs", closed, reachable=False)


def _worse(share: NDArray, before: NDArray, after: NDArray) -> NDArray:
    """(F,) which frames are farther off than any was before in the stretch around them that has a share in the change.

    Half of a change is no half of a way where a knee that the capture bends the wrong way is bent the right way.
    """
    out = np.zeros(len(share), bool)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], share > 0, [False]])))
    for first, end in edges.reshape(-1, 2):
        out[first:end] = after[first:end] > max(before[first:end].max(), 1.0)
    return out


def unmet_shares(problem: Problem, kinematics: Kinematics) -> NDArray:
    """(F,) the largest error of a hard constraint at each frame, in shares of its tolerance.

    What may be off by more than the problem's own tolerance (a hand's plant) is closed to that none the less.
    """
    worst = np.zeros(len(kinematics.frames))
    for constraint in problem.constraints:
        if constraint.hard:
            rows, values = errors(constraint, kinematics)
            usual = (10.0 if constraint.unit == "rad" else 1.0) * problem.tolerance
            own = constraint.tolerance or usual
            np.maximum.at(worst, rows, values / (own if constraint.inequality else min(own, usual)))
    return worst
