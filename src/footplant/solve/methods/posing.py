"""Posing single frames by IK, repeated until constraints are met; shared by the per-frame methods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.motion import Motion
from footplant.problem import Ik, Problem

ROUNDS = 4
"""Maximum number of IK rounds per frame."""


def pose(ik: Ik, motion: Motion, problem: Problem, frames: NDArray, rounds: int = ROUNDS) -> tuple[Motion, NDArray]:
    """Pose frames (N,) of a motion; return the N poses and (N,) whether all goals were reached.

    A trunk that has far to move is solved again from the last result until every hard constraint is met, or the rounds
    are used up.
    """
    part, reached = motion[frames], np.ones(len(frames), bool)
    for number in range(rounds):
        answer = ik.solve(part, problem.constraints, frames=frames)
        part, reached = answer.motion, answer.reached
        if number + 1 < rounds and answer.error.max(initial=0.0) <= 0.1 * problem.tolerance:
            break
    return part, reached


def with_frames(motion: Motion, part: Motion, frames: NDArray) -> Motion:
    """Return a motion with its frames (N,) replaced by those of a motion of N frames."""
    if len(frames) == len(motion):
        return part
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[frames], rotations[frames] = part.root, part.rotations
    return replace(motion, root=root, rotations=rotations)
