"""Compiled finite differences of positions and rotations over many frames, without an array for each derivative."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import log, multiply


@uncounted_jit
def position_differences(positions, joints, first, last, peaks):
    """Update the largest second difference and the sum of squared third differences of positions (F, J, 3).

    Over frames first … last−1 of the given joints. peaks: (2,) the largest length of a second difference so far,
    metres, and the sum of squared lengths of all third differences so far, metres².
    """
    largest, total = peaks[0] * peaks[0], peaks[1]
    for f in range(first + 2, last):
        for n in range(joints.shape[0]):
            j = joints[n]
            second = third = 0.0
            for k in range(3):
                now, before = positions[f, j, k], positions[f - 1, j, k]
                bend = (now - before) - (before - positions[f - 2, j, k])
                second += bend * bend
                if f > first + 2:
                    earlier = (before - positions[f - 2, j, k]) - (positions[f - 2, j, k] - positions[f - 3, j, k])
                    third += (bend - earlier) * (bend - earlier)
            largest = max(largest, second)
            total += third
    peaks[0], peaks[1] = math.sqrt(largest), total


@uncounted_jit
def short_log(w, x, y, z):
    """Return the rotation vector of a unit quaternion, with a fast path for the small angles between frames."""
    square = x * x + y * y + z * z
    if w < 0.5 or square > 4e-4 * w * w:
        return log(w, x, y, z)
    # 2 arctan(t) / sin(angle/2) with t = |v|/w, as a series in u = t²; the truncation error is below 1e-17
    u = square / (w * w)
    scale = 2.0 / w * (1.0 - u * (1.0 / 3.0 - u * (0.2 - u * (1.0 / 7.0 - u / 9.0))))
    return scale * x, scale * y, scale * z


@uncounted_jit
def angular_jerk(rotations, joints, first, last, velocities, out):
    """Write lengths of second differences of angular velocities in the joints' local frames, radians per frame³.

    ω(f) = log(q(f−1)⁻¹ q(f)). rotations: (F, J, 4). velocities: (3, n, 3), scratch for the velocities of three frames.
    out: (last−first−3, n).
    """
    for f in range(first + 1, last):
        slot = (f - first - 1) % 3
        before, earlier = (slot + 2) % 3, (slot + 1) % 3
        for n in range(joints.shape[0]):
            j = joints[n]
            w, x, y, z = multiply(
                rotations[f - 1, j, 0], -rotations[f - 1, j, 1], -rotations[f - 1, j, 2], -rotations[f - 1, j, 3],
                rotations[f, j, 0], rotations[f, j, 1], rotations[f, j, 2], rotations[f, j, 3],
            )  # fmt: skip
            velocities[slot, n, 0], velocities[slot, n, 1], velocities[slot, n, 2] = short_log(w, x, y, z)
            if f > first + 2:
                square = 0.0
                for k in range(3):
                    bend = (velocities[slot, n, k] - velocities[before, n, k]) - (
                        velocities[before, n, k] - velocities[earlier, n, k]
                    )
                    square += bend * bend
                out[f - first - 3, n] = math.sqrt(square)


@uncounted_jit
def smallest_dot(rotations, first, out):
    """Write (J,) the smallest |q·q'| between each joint's rotation (F, J, 4) in frame `first` and in any later one."""
    out[:] = 1.0
    for f in range(first, rotations.shape[0]):
        for j in range(rotations.shape[1]):
            same = 0.0
            for k in range(4):
                same += rotations[f, j, k] * rotations[first, j, k]
            out[j] = min(out[j], abs(same))


def _frames(width):
    array = np.zeros((4, 1, width))
    array.setflags(write=False)
    return array


WARMUP = {
    "position_differences": lambda: (_frames(3), np.zeros(1, np.int64), 0, 4, np.zeros(2)),
    "angular_jerk": lambda: (_frames(4), np.zeros(1, np.int64), 0, 4, np.zeros((3, 1, 3)), np.zeros((1, 1))),
    "smallest_dot": lambda: (_frames(4), 0, np.zeros(1)),
}
