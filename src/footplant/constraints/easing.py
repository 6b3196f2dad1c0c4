"""How constraints on points ease in and out: what fades in a ramp is the correction, not the place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.constraints.base import Constraint
from footplant.kinematics import Kinematics

GOING = 2
"""Frames at the end of a plant that tell how its correction is changing."""


def eased(constraint: Constraint, slip: NDArray, kinematics: Kinematics) -> NDArray:
    """(F, 3) how far a point is off, metres; inside the ramps, how far it was off at the nearest held frame.

    In a ramp the point may go where it likes, and the correction of the nearest held frame is what fades: a foot that
    has left the ground is not drawn back to where it stood, and a head that is pinned for a moment does not wait for
    the rest of the body. The correction goes on first as it was going while held, so that the point comes and leaves
    without a jerk.
    """
    if constraint.frames is None or not any(constraint.ramp) or not len(constraint.frames):
        return slip
    held, frames = np.asarray(constraint.frames), kinematics.frames
    if isinstance(constraint.frames, range) and len(frames) and held[0] <= frames[0] and frames[-1] <= held[-1]:
        return slip
    nearest = held[constraint.slot(frames)]
    rows, found = rows_of(frames, nearest)
    away = frames - nearest
    inside = nearest - np.sign(away) * GOING
    earlier, known = rows_of(frames, inside)
    known &= found & (inside >= held[0]) & (inside <= held[-1])
    rate = np.where(known[:, None], slip[rows] - slip[earlier], 0.0) / GOING
    going = coasting(away, np.where(away < 0, *constraint.ramp), kinematics.motion.fps)[:, None] * rate
    return np.where(found[:, None], slip[rows] + going, slip)


def coasting(away: NDArray, ramps: NDArray, fps: float) -> NDArray:
    """(N,) frames by which a correction goes on at its rate, `away` frames from where it holds, in ramps of seconds.

    Times the activation 3u² − 2u³ this is the cubic that leaves the hold at that rate and comes to rest at the far end.
    """
    gone = np.abs(away)
    return gone / (1.0 + 2.0 * gone / np.maximum(ramps * fps, 1e-9))


def rows_of(frames: NDArray, wanted: NDArray) -> tuple[NDArray, NDArray]:
    """Where wanted frames are among sorted ones, and whether they are there at all."""
    rows = np.minimum(np.searchsorted(frames, wanted), len(frames) - 1)
    return rows, frames[rows] == wanted
