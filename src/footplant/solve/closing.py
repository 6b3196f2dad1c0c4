"""The last step after splines: what they leave is closed by limbs, there alone where it is too much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.kinematics import Kinematics
from footplant.problem import Ik, Problem, Progress, Solution, Stopwatch, errors
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.spline import smooth_envelope

CLOSED = 0.7
"""Share of its tolerance up to which an error is left as it is."""
EASE = 0.1
"""Seconds over which what limbs change comes and goes."""
ROUNDS = 4
"""How often frames around which that would do harm are left out before all are left alone."""


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
        answer = Hierarchical(self.ik, spacings=(), first_guess=False).solve(problem, progress)
        change, half, closed = answer.motion - motion, max(round(EASE * motion.fps), 1), motion
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
