"""Per-frame inverse kinematics and filtering: pose every frame, low-pass what that changed, and again, ever finer.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), sections 3.4 and 4.1
(METHODS B4). What is filtered is the displacement, in exponential coordinates, never the motion itself: its own detail
stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from footplant.errors import MotionError
from footplant.ik.hybrid import Hybrid
from footplant.motion import Motion
from footplant.problem import Ik, Problem, Progress, Solution, Stopwatch, refuse_unhonoured
from footplant.spline import binomial_kernel, filter_fir

PAPER_RATE = 30.0
"""Frames a second in which the kernels' widths are told."""
State = TypeVar("State", Motion, NDArray)


@dataclass(frozen=True)
class Filtered:
    """Alternates IK on every constrained frame with a low-pass of the displacement."""

    ik: Ik | None = None
    """What poses single frames; None: `Hybrid` for the problem's character."""
    widths: tuple[int, ...] = (17, 9, 5, 3)
    """Kernel width of each pass, in frames of 1/30 s, decreasing."""
    exact: bool = True
    """Whether it ends on an IK step (constraints hold exactly) or on a filter step (the motion is smooth)."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """The motion after all passes, with the error after each."""
        ik = self.ik or Hybrid(problem.character, rigidity=problem.rigidity)
        refuse_unhonoured("filtered", ik, problem.constraints)
        watch, motion, frames = Stopwatch(problem), problem.motion, problem.constrained_frames()
        if not len(frames):
            return watch.finish("filtered", motion)
        reached = np.ones(len(frames), bool)

        def pose(current: Motion) -> Motion:
            nonlocal reached
            answer = ik.solve(current[frames], problem.constraints, frames=frames)
            reached = answer.reached
            root, rotations = np.array(current.root), np.array(current.rotations)
            root[frames], rotations[frames] = answer.motion.root, answer.motion.rotations
            return replace(current, root=root, rotations=rotations)

        for number, width in enumerate(self.widths):
            if progress:
                progress(f"pass {number + 1}", number / (len(self.widths) + self.exact))
            motion = relax(motion, pose, [kernel_of(width * motion.fps / PAPER_RATE)])
            watch.lap(f"width {width}", motion)
        if self.exact:
            motion = pose(motion)
            watch.lap("exact", motion)
        return watch.finish("filtered", motion, reachable=bool(reached.all()))


def kernel_of(width: float) -> NDArray:
    """A low-pass kernel about so many frames wide, summing to 1; binomial while it is short."""
    odd = max(2 * round((width - 1) / 2) + 1, 1)
    if odd <= 33:
        return binomial_kernel(odd)
    window = np.hanning(odd + 2)[1:-1]
    return window / window.sum()


def relax(state: State, enforce: Callable[[State], State], kernels: Sequence[NDArray]) -> State:
    """Repeat, with one kernel after another: enforce the constraints, low-pass the change, and apply that.

    The state is a motion, or an array of places (F, D): anything whose difference is an array that can be added again.
    """
    if not len(kernels):
        raise MotionError("expected at least one kernel, got none")
    for kernel in kernels:
        change = enforce(state) - state
        state = state + filter_fir(change, kernel, ends="zero")
    return state
