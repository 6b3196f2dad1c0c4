"""Per-key inverse kinematics: pick keys, pose them, and interpolate the poses between them.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 3.1. The animator's way:
detail between keys is lost, and constraints do not hold there.

m(t) = cubic spline through IK(m0(k)) at the keys k.
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
from footplant.problem import Ik, Problem, Progress, Solution, Stopwatch, constraint_keys, refuse_unsupported
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods.posing import pose


@dataclass(frozen=True)
class KeySettings:
    """Tuning numbers of key detection."""

    spacing: float = 0.08
    """Smallest time between two detected keys, seconds. Doubled, fast motion loses keys and so detail."""
    prominence: float = 0.005
    """Body heights (9 mm for an adult): prominence that an extremum of a hand, foot or the hips needs to be a key.
    Halved, capture noise makes keys."""


SETTINGS = KeySettings()


@dataclass(frozen=True)
class PerKey:
    """Poses keys and interpolates between them."""

    ik: Ik | None = None
    """The inverse kinematics of single frames; None: `Hybrid` for the problem's character."""
    keys: tuple[int, ...] | None = None
    """Frames of the keys; None: extrema of hands, feet and hips, and the ends of every constraint."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """Return the motion interpolated through its posed keys."""
        ik = self.ik or Hybrid(problem.character, rigidity=problem.rigidity)
        refuse_unsupported("perkey", ik, problem.constraints)
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
    """Return the first frames of continuous segments (after a lead-in, at cuts), with 0 and the number of frames."""
    motion, height = problem.motion, problem.character.height or 1.0
    positions = Kinematics(motion).positions
    starts = [first for first, _ in continuous_segments(positions, motion.fps, height)]
    return np.unique(np.array([*starts, lead_in(positions, motion.fps, height), len(motion)], np.int64))


def find_keys(problem: Problem) -> NDArray:
    """Return frames at which a coordinate of a hand, a foot or the hips has an extremum, and those of constraints.

    An extremum counts when its prominence is at least `prominence` body heights: noise does not.
    Constraints come first; an extremum nearer than `spacing` to a key is dropped.
    """
    from scipy.signal import find_peaks

    motion = problem.motion
    roles = problem.character.require_roles()
    joints = [roles[r] for r in ("hips", "left_hand", "right_hand", "left_foot", "right_foot") if r in roles]
    places = Kinematics(motion).positions[:, joints]
    places[:, 1:] -= places[:, :1]
    least = SETTINGS.prominence * (problem.character.height or 1.0)
    turns = np.zeros(len(motion), bool)
    for track in places.reshape(len(motion), -1).T:
        for curve in (track, -track):
            turns[find_peaks(curve, prominence=least)[0]] = True
    apart = max(round(SETTINGS.spacing * motion.fps), 1)
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
    """Return the motion that interpolates poses at keys by cubic splines (C²), separately between cuts.

    Rotations are interpolated as unit quaternions of consistent sign. Between keys almost half a turn apart, where
    these pass near zero, slerp is used.
    """
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    cuts = np.array([0, len(motion)]) if cuts is None else cuts
    for first, last in pairwise(cuts.tolist()):
        own = slice(*np.searchsorted(keys, [first, last]).tolist())
        rows = np.arange(first, last)
        root[rows], rotations[rows] = _interpolated(posed.root[own], posed.rotations[own], keys[own], rows)
    return Motion(motion.skeleton, root, rotation.unroll(rotation.normalize(rotations)), motion.fps, motion.offsets)


def _interpolated(root: NDArray, rotations: NDArray, keys: NDArray, every: NDArray) -> tuple[NDArray, NDArray]:
    """Return positions (F, 3) and unnormalised quaternions (F, J, 4) at frames (F,), interpolating those at keys."""
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
