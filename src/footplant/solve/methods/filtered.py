"""Per-frame inverse kinematics with filtering: pose every frame, low-pass the displacement, and repeat, ever finer.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), sections 3.4 and 4.1. Only the
displacement is filtered, in exponential coordinates, never the motion itself, so that its detail stays:

    d_{k+1} = d_k ⊕ K_k ∗ (IK(m0 ⊕ d_k) ⊖ (m0 ⊕ d_k)),   K_k a binomial kernel of decreasing width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from footplant.errors import MotionError
from footplant.motion import Motion
from footplant.problem import Ik, Problem, Progress, Solution, Stopwatch, refuse_unsupported
from footplant.solve.closing import ExactPass
from footplant.solve.displacement import PAPER_RATE
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods.posing import pose, with_frames
from footplant.spline import binomial_kernel, filter_fir

State = TypeVar("State", Motion, NDArray)


@dataclass(frozen=True)
class Filtered:
    """Alternates IK at every constrained frame with a low-pass filter of the displacement."""

    ik: Ik | None = None
    """The inverse kinematics of single frames; None: `Hybrid` for the problem's character."""
    widths: tuple[int, ...] = (65, 17, 5, 3)
    """Width of the binomial kernel of each pass, in frames of 1/30 s, decreasing; the same in seconds at any rate."""
    exact: bool = True
    """Whether it ends on an IK step (constraints hold exactly, by the limbs alone) or on a filter step (smooth)."""

    @property
    def closing(self) -> ExactPass | None:
        """Return its last step as a pass; None where it ends on a filter step."""
        return ExactPass(self.ik) if self.exact else None

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """Return the motion after all passes; the report has the residual after each."""
        ik = self.ik or Hybrid(problem.character, rigidity=problem.rigidity)
        refuse_unsupported("filtered", ik, problem.constraints)
        watch, motion, frames = Stopwatch(problem), problem.motion, problem.constrained_frames()
        if not len(frames):
            return watch.finish("filtered", motion)
        reached = np.ones(len(frames), bool)

        def enforce(current: Motion) -> Motion:
            nonlocal reached
            part, reached = pose(ik, current, problem, frames, rounds=1)
            return with_frames(current, part, frames)

        for number, width in enumerate(self.widths):
            if progress:
                progress(f"pass {number + 1}", number / (len(self.widths) + self.exact))
            scale = (motion.fps / PAPER_RATE) ** 2
            motion = relax(motion, enforce, [kernel_of(1.0 + (width - 1.0) * scale)])
            watch.lap(f"width {width}", motion)
        if self.closing is not None:
            motion, reached = ExactPass(ik).enforce(motion, problem, frames)
            watch.lap("exact", motion)
        return watch.finish("filtered", motion, reachable=bool(reached.all()))


def kernel_of(width: float) -> NDArray:
    """Return a low-pass kernel of sum 1: binomial of odd width, else a Gaussian of the same variance, (width − 1)/4."""
    odd = 2 * round((width - 1) / 2) + 1
    if odd <= 33 and abs(width - odd) < 1e-6:
        return binomial_kernel(max(odd, 1))
    deviation = 0.5 * np.sqrt(max(width - 1.0, 1e-6))
    half = int(np.ceil(3.5 * deviation))
    bell = np.exp(-0.5 * (np.arange(-half, half + 1) / deviation) ** 2)
    return bell / bell.sum()


def relax(state: State, enforce: Callable[[State], State], kernels: Sequence[NDArray]) -> State:
    """For each kernel in turn: enforce the constraints, low-pass the displacement, and apply it.

    The state is a motion or an array (F, D): anything whose difference is an array that can be added.
    """
    if not len(kernels):
        raise MotionError("expected at least one kernel, got none")
    for kernel in kernels:
        change = enforce(state) - state
        flat = change.reshape(len(change), -1)
        used = np.flatnonzero(np.abs(flat).max(axis=0, initial=0.0) > 0)
        # hold the displacement beyond the ends of the clip; otherwise its first and last frames are pulled back
        flat[:, used] = filter_fir(flat[:, used], kernel, ends="hold")
        state = cast(State, state + change)
    return state
