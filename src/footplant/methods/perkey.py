"""Per-key inverse kinematics: pick keys, pose them, and interpolate the poses between them.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 3.1 (METHODS B1). The
animator's way; what the motion did between keys is lost, and so are constraints there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import ConstraintError
from footplant.ik.hybrid import Hybrid
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Ik, Problem, Progress, Solution, Stopwatch, constraint_keys, refuse_unhonoured

NEAREST = 0.08
"""Seconds between two keys that are found; of nearer ones the first is taken."""


@dataclass(frozen=True)
class PerKey:
    """Poses keys and interpolates between them."""

    ik: Ik | None = None
    """What poses single frames; None: `Hybrid` for the problem's character."""
    keys: tuple[int, ...] | None = None
    """Frames of the keys; None: where hands, feet or hips turn back, and the ends of every constraint."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """The motion through its posed keys."""
        ik = self.ik or Hybrid(problem.character, rigidity=problem.rigidity)
        refuse_unhonoured("perkey", ik, problem.constraints)
        watch, motion = Stopwatch(problem), problem.motion
        if len(motion) < 2 or not problem.constraints:
            return watch.finish("perkey", motion)
        keys = self._chosen(problem)
        if progress:
            progress("keys", 0.0)
        answer = ik.solve(motion[keys], problem.constraints, frames=keys)
        motion = through_keys(motion, answer.motion, keys)
        watch.lap(f"{len(keys)} keys", motion)
        return watch.finish("perkey", motion, reachable=bool(answer.reached.all()))

    def _chosen(self, problem: Problem) -> NDArray:
        count = len(problem.motion)
        chosen = find_keys(problem) if self.keys is None else np.asarray(self.keys, np.int64)
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < count:
            raise ConstraintError(f"perkey: expected keys in 0..{count - 1}, got {chosen.tolist()}")
        return np.unique(np.concatenate([[0], chosen, [count - 1]]))


def find_keys(problem: Problem) -> NDArray:
    """Frames at which a hand, a foot or the hips turn back in any direction, and those of constraints.

    Constraints come first; of extrema that are nearer than `NEAREST` to a key, the key is kept.
    """
    motion = problem.motion
    roles = problem.character.require_roles()
    joints = [roles[r] for r in ("hips", "left_hand", "right_hand", "left_foot", "right_foot") if r in roles]
    places = Kinematics(motion).positions[:, joints]
    places[:, 1:] -= places[:, :1]
    steps = np.diff(places.reshape(len(motion), -1), axis=0)
    turns = np.flatnonzero((steps[1:] * steps[:-1] < 0).any(axis=1)) + 1
    keys = constraint_keys(problem).tolist()
    apart = max(round(NEAREST * motion.fps), 1)
    for frame in turns.tolist():
        if all(abs(frame - key) >= apart for key in keys):
            keys.append(frame)
    return np.array(sorted(keys), np.int64)


def through_keys(motion: Motion, posed: Motion, keys: NDArray) -> Motion:
    """The motion that passes smoothly (twice differentiable) through poses at keys."""
    from scipy.interpolate import CubicSpline
    from scipy.spatial.transform import Rotation, RotationSpline

    every = np.arange(len(motion))
    root = CubicSpline(keys, posed.root, axis=0)(every)
    rotations = np.empty_like(motion.rotations)
    for joint in range(len(motion.skeleton)):
        turns = Rotation.from_quat(posed.rotations[:, joint, [1, 2, 3, 0]])
        rotations[:, joint] = RotationSpline(keys, turns)(every).as_quat()[:, [3, 0, 1, 2]]
    return Motion(motion.skeleton, root, rotation.unroll(rotation.normalize(rotations)), motion.fps, motion.offsets)
