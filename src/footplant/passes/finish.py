"""What follows a retargeting solve: the arms' stage, then the acceleration limit."""

from __future__ import annotations

from dataclasses import dataclass

from footplant.constraints import Above, Footplant
from footplant.contacts.ground import Ground
from footplant.kinematics import Kinematics
from footplant.passes.limit_acceleration import SourcePeak
from footplant.passes.sole_rounds import within_acceleration_limit
from footplant.problem import Problem, Solution
from footplant.skeleton import Character
from footplant.solve.arms import solve_arms


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
        """Return the solution with its arms out of body and ground, touches kept, and acceleration limited."""
        found = solve_arms(
            solution.motion, self.problem.character, source, character, palms=self.palms, ground=self.ground,
            frames=self.frames,
        )  # fmt: skip
        limited = within_acceleration_limit(solution, found.motion, self.problem, self.bounds, self.pace, self.smooth)
        return limited.noted(*found.notes)
