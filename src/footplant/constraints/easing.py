"""Ramps of point constraints: inside a ramp the correction fades, not the target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.constraints.base import Constraint
from footplant.kinematics import Kinematics

RATE_FRAMES = 2
"""Frames at the end of a footplant over which the rate of its correction is measured."""


def eased(constraint: Constraint, slip: NDArray, kinematics: Kinematics) -> NDArray:
    """Return the error (F, 3) of a point, metres; inside the ramps, that of the nearest held frame.

    In a ramp the point is free, and the correction of the nearest held frame fades: a foot that has left the ground is
    not pulled back to its footplant, and a head that is pinned for a moment does not wait for the rest of the body. The
    correction first continues at the rate it had while held, so that the point arrives and leaves without a jerk.
    """
    if constraint.frames is None or not any(constraint.ramp) or not len(constraint.frames):
        return slip
    held, frames = np.asarray(constraint.frames), kinematics.frames
    if isinstance(constraint.frames, range) and len(frames) and held[0] <= frames[0] and frames[-1] <= held[-1]:
        return slip
    nearest = held[constraint.slot(frames)]
    rows, found = rows_of(frames, nearest)
    away = frames - nearest
    inside = nearest - np.sign(away) * RATE_FRAMES
    earlier, known = rows_of(frames, inside)
    known &= found & (inside >= held[0]) & (inside <= held[-1])
    rate = np.where(known[:, None], slip[rows] - slip[earlier], 0.0) / RATE_FRAMES
    continued = continuation(away, np.where(away < 0, *constraint.ramp), kinematics.motion.fps)[:, None] * rate
    return np.where(found[:, None], slip[rows] + continued, slip)


def continuation(away: NDArray, ramps: NDArray, fps: float) -> NDArray:
    """Return the frames (N,) for which a correction continues at its rate, `away` frames from its hold; ramps in s.

    Multiplied by the activation 3u² − 2u³ this is the cubic that leaves the hold at that rate and comes to rest at the
    far end of the ramp.
    """
    distance = np.abs(away)
    return distance / (1.0 + 2.0 * distance / np.maximum(ramps * fps, 1e-9))


def rows_of(frames: NDArray, wanted: NDArray) -> tuple[NDArray, NDArray]:
    """Return the rows of the wanted frames among sorted frames, and whether they exist."""
    rows = np.minimum(np.searchsorted(frames, wanted), len(frames) - 1)
    return rows, frames[rows] == wanted
