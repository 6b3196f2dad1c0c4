"""Per-frame inverse kinematics: every constrained frame on its own, with no term across frames.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 3.3. Exact where goals
are in reach; jumps where constraints switch on and off.

Objective, at each frame t: min_d Σ_j w_j ‖d_j(t)‖² subject to c(t, m0 ⊕ d) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from footplant.problem import Ik, Problem, Progress, Solution, Stopwatch, refuse_unsupported
from footplant.solve.closing import ExactPass
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods.posing import pose, with_frames


@dataclass(frozen=True)
class PerFrame:
    """Solves each constrained frame alone."""

    ik: Ik | None = None
    """The inverse kinematics of single frames; None: `Hybrid` for the problem's character."""

    @property
    def closing(self) -> ExactPass:
        """Return the pass that edits run after they have changed feet: limbs only, frame by frame."""
        return ExactPass(self.ik)

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """Return the motion with its constrained frames posed and all others unchanged."""
        ik = self.ik or Hybrid(problem.character, rigidity=problem.rigidity)
        refuse_unsupported("perframe", ik, problem.constraints)
        watch, motion, frames = Stopwatch(problem), problem.motion, problem.constrained_frames()
        if not len(frames):
            return watch.finish("perframe", motion)
        if progress:
            progress("every frame", 0.0)
        part, reached = pose(ik, motion, problem, frames)
        motion = with_frames(motion, part, frames)
        watch.lap("every frame", motion)
        return watch.finish("perframe", motion, reachable=bool(reached.all()))
