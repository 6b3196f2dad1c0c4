"""What all methods do that pose frames one by one: ask the IK, and ask again while it came near but not there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.motion import Motion
from footplant.problem import Ik, Problem

ROUNDS = 4
"""How often frames are posed at most until their constraints are met."""


def pose(ik: Ik, motion: Motion, problem: Problem, frames: NDArray, rounds: int = ROUNDS) -> tuple[Motion, NDArray]:
    """Some frames (N,) of a motion posed: (N frames, reached (N,) bool).

    A trunk that has to come far for its limbs is asked again from where it came to, until every hard constraint is met
    or the rounds are over.
    """
    part, reached = motion[frames], np.ones(len(frames), bool)
    for number in range(rounds):
        answer = ik.solve(part, problem.constraints, frames=frames)
        part, reached = answer.motion, answer.reached
        if number + 1 < rounds and answer.error.max(initial=0.0) <= 0.1 * problem.tolerance:
            break
    return part, reached


def with_frames(motion: Motion, part: Motion, frames: NDArray) -> Motion:
    """A motion whose frames (N,) are those of another one of N frames."""
    if len(frames) == len(motion):
        return part
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[frames], rotations[frames] = part.root, part.rotations
    return replace(motion, root=root, rotations=rotations)
