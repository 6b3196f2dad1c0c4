"""Per-key inverse kinematics: pick keys, pose them, and interpolate the poses between them.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 3.1 (METHODS B1). The
animator's way; what the motion did between keys is lost, and so are constraints there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.stillness import continuous_segments, lead_in
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Ik, Problem, Progress, Solution, Stopwatch, constraint_keys, refuse_unhonoured
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods.posing import pose

NEAREST = 0.08
"""Seconds between two keys that are found; of nearer ones the first is taken."""


STANDS_OUT = 0.005
"""Body heights by which a turn of a hand, a foot or the hips stands out to be one (9 mm for an adult)."""


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
        cuts = find_cuts(problem)
        keys = self._chosen(problem, cuts)
        if progress:
            progress("keys", 0.0)
        part, reached = pose(ik, motion, problem, keys)
        motion = through_keys(motion, part, keys, cuts)
        watch.lap(f"{len(keys)} keys", motion)
        return watch.finish("perkey", motion, reachable=bool(reached.all()))

    def _chosen(self, problem: Problem, cuts: NDArray) -> NDArray:
        count = len(problem.motion)
        chosen = find_keys(problem) if self.keys is None else np.asarray(self.keys, np.int64)
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < count:
            raise ConstraintError(f"perkey: expected keys in 0..{count - 1}, got {chosen.tolist()}")
        return np.unique(np.concatenate([cuts[:-1], chosen, cuts[1:] - 1]))


def find_cuts(problem: Problem) -> NDArray:
    """Frames at which a clip begins anew, with 0 and the count of frames: a T-pose before it, cuts between takes."""
    motion, height = problem.motion, problem.character.height or 1.0
    positions = Kinematics(motion).positions
    starts = [first for first, _ in continuous_segments(positions, motion.fps, height)]
    return np.unique(np.array([*starts, lead_in(positions, height), len(motion)], np.int64))


def find_keys(problem: Problem) -> NDArray:
    """Frames at which a hand, a foot or the hips turn back in any direction, and those of constraints.

    A turn counts when it stands out, from what is around it, by `STANDS_OUT` of the body's height: noise does not.
    Constraints come first; of extrema that are nearer than `NEAREST` to a key, the key is kept.
    """
    from scipy.signal import find_peaks

    motion = problem.motion
    roles = problem.character.require_roles()
    joints = [roles[r] for r in ("hips", "left_hand", "right_hand", "left_foot", "right_foot") if r in roles]
    places = Kinematics(motion).positions[:, joints]
    places[:, 1:] -= places[:, :1]
    least = STANDS_OUT * (problem.character.height or 1.0)
    turns = np.zeros(len(motion), bool)
    for track in places.reshape(len(motion), -1).T:
        for curve in (track, -track):
            turns[find_peaks(curve, prominence=least)[0]] = True
    apart = max(round(NEAREST * motion.fps), 1)
    given = constraint_keys(problem)
    beside = np.zeros(len(motion) + 2 * apart, bool)
    for shift in range(1 - apart, apart):
        beside[given + apart + shift] = True
    found, last = [], -apart
    for frame in np.flatnonzero(turns & ~beside[apart : apart + len(motion)]).tolist():
        if frame - last >= apart:
            found.append(frame)
            last = frame
    return np.union1d(given, np.array(found, np.int64))


def through_keys(motion: Motion, posed: Motion, keys: NDArray, cuts: NDArray | None = None) -> Motion:
    """The motion that passes smoothly (twice differentiable) through poses at keys, between two cuts each.

    Rotations are led through their unit quaternions, all of one sign; between keys that are all but half a turn apart,
    where these pass near zero, the shortest way is taken.
    """
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    cuts = np.array([0, len(motion)]) if cuts is None else cuts
    for first, last in pairwise(cuts.tolist()):
        own = slice(*np.searchsorted(keys, [first, last]).tolist())
        rows = np.arange(first, last)
        root[rows], rotations[rows] = _led(posed.root[own], posed.rotations[own], keys[own], rows)
    return Motion(motion.skeleton, root, rotation.unroll(rotation.normalize(rotations)), motion.fps, motion.offsets)


def _led(root: NDArray, rotations: NDArray, keys: NDArray, every: NDArray) -> tuple[NDArray, NDArray]:
    """Places (F, 3) and quaternions (F, J, 4), not normalized, at frames (F,) through those at keys."""
    from scipy.interpolate import CubicSpline

    out = np.broadcast_to(rotations[0], (len(every), *rotations.shape[1:])).copy()
    if len(keys) == 1:
        return np.broadcast_to(root[0], (len(every), 3)), out
    held = rotation.unroll(rotations)
    turning = np.flatnonzero((held != held[0]).any(axis=(0, 2)))
    if len(turning):
        led = CubicSpline(keys, held[:, turning], axis=0)(every)
        first = np.clip(np.searchsorted(keys, every, side="right") - 1, 0, len(keys) - 2)
        share = (every - keys[first]) / (keys[first + 1] - keys[first])
        frames, which = np.nonzero(np.linalg.norm(led, axis=2) < 0.5)
        led[frames, which] = rotation.slerp(
            held[first[frames], turning[which]], held[first[frames] + 1, turning[which]], share[frames]
        )
        out[:, turning] = led
    return CubicSpline(keys, root, axis=0)(every), out
