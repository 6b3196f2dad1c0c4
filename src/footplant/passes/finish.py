"""The passes after a retargeting solve, in their order: touches, palms out of the ground, acceleration limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Above, Footplant
from footplant.contacts.ground import Ground
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.passes.acceleration_bounds import peak
from footplant.passes.limit_acceleration import TOO_FAST, SourcePeak
from footplant.passes.sole_rounds import within_acceleration_limit
from footplant.passes.touches import keep_palms_above_ground, keep_touches
from footplant.problem import Problem, Solution
from footplant.skeleton import Character
from footplant.spline import smooth_envelope

LET_GO = 0.3
"""Seconds on either side of an acceleration peak caused by a touch, over which the touch is released."""


@dataclass(frozen=True, eq=False)
class Finish:
    """The passes that follow the solve of a retargeting problem."""

    problem: Problem
    palms: tuple[Footplant, ...]
    """Palms that rest on the ground or hold something."""
    ground: Ground
    frames: range
    """Frames after the lead-in."""
    bounds: tuple[Above, ...]
    """Soles and palms above the ground, checked with the problem's own constraints."""
    pace: SourcePeak | None
    """Limit of acceleration; None: no limit."""
    smooth: bool
    """Whether acceleration peaks are lowered further (spacetime)."""

    def apply(self, solution: Solution, source: Kinematics, character: Character) -> Solution:
        """Return the solution with the source's touches kept, palms above the ground, and acceleration limited.

        A touch that makes an acceleration peak is released around it, if that lowers the peak.
        """
        target, pace = self.problem.character, self.pace
        touching = keep_touches(solution.motion, target, source, character, self.palms)
        found = self._limited(solution, touching)
        if pace is None or not len(peaks := pace.peaks(found.motion, TOO_FAST * pace.most)):
            return found
        touches = 1.0 - _around(peaks, len(touching), round(LET_GO * touching.fps))
        released = self._limited(solution, solution.motion + touches[:, None, None] * (touching - solution.motion))
        lower = peak(released.motion, target, self.frames) < peak(found.motion, target, self.frames)
        return released if lower else found

    def _limited(self, solution: Solution, motion: Motion) -> Solution:
        out = keep_palms_above_ground(motion, self.problem.character, self.ground, self.palms, self.frames)
        return within_acceleration_limit(solution, out, self.problem, self.bounds, self.pace, self.smooth)


def _around(frames: NDArray, count: int, half: int) -> NDArray:
    """Return (count,) weights: 1 at the given frames, falling to 0 over ±half frames."""
    marked = np.zeros(count)
    marked[frames] = 1.0
    return np.minimum(smooth_envelope(marked, max(half, 1)), 1.0)
