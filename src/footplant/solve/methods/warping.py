"""Motion warping with inverse kinematics: pose a few frames, and interpolate their displacements.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 3.2, after Witkin and
Popović 1995. Constraints hold at the chosen frames, and are not enforced between them.

m(t) = m0(t) ⊕ d(t), with d a monotone cubic spline through IK(m0(k)) ⊖ m0(k) at the chosen frames k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.errors import ConstraintError
from footplant.motion import Motion
from footplant.problem import Ik, Problem, Progress, Solution, Stopwatch, constraint_keys, refuse_unsupported
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods.posing import pose


@dataclass(frozen=True)
class Warping:
    """Interpolates the displacements of IK at chosen frames."""

    ik: Ik | None = None
    """The inverse kinematics of single frames; None: `Hybrid` for the problem's character."""
    frames: tuple[int, ...] | None = None
    """Frames to pose; None: first, middle and last frame of every constraint, and more if it is long."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """Return the motion with the interpolated displacement applied."""
        ik = self.ik or Hybrid(problem.character, rigidity=problem.rigidity)
        refuse_unsupported("warping", ik, problem.constraints)
        watch, motion = Stopwatch(problem), problem.motion
        frames = self._chosen(problem)
        if not len(frames):
            return watch.finish("warping", motion)
        if progress:
            progress("chosen frames", 0.0)
        part, reached = pose(ik, motion, problem, frames)
        motion = motion + spread(motion, part - motion[frames], frames)
        watch.lap(f"{len(frames)} frames", motion)
        return watch.finish("warping", motion, reachable=bool(reached.all()))

    def _chosen(self, problem: Problem) -> NDArray:
        count = len(problem.motion)
        if self.frames is not None:
            chosen = np.unique(np.asarray(self.frames, np.int64))
            if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < count:
                raise ConstraintError(f"warping: expected frames in 0..{count - 1}, got {chosen.tolist()}")
            return chosen
        return constraint_keys(problem)


def spread(motion: Motion, displacement: NDArray, frames: NDArray) -> NDArray:
    """Return (F, 1+J, 3) a smooth curve through displacements (N, 1+J, 3) at frames, constant before and after them.

    Monotone cubics (PCHIP): constraints switch on and off within a frame or two, and a C² spline would overshoot.
    """
    from scipy.interpolate import PchipInterpolator

    if len(frames) == 1:
        return np.broadcast_to(displacement[0], (len(motion), *displacement.shape[1:])).copy()
    every = np.clip(np.arange(len(motion)), frames[0], frames[-1])
    flat = displacement.reshape(len(frames), -1)
    used = np.flatnonzero(np.abs(flat).max(axis=0) > 0)
    out = np.zeros((len(motion), flat.shape[1]))
    if len(used):
        out[:, used] = PchipInterpolator(frames, flat[:, used], axis=0)(every)
    return out.reshape(len(motion), *displacement.shape[1:])
