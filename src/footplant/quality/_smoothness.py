"""Finite differences of places and of rotations over many frames, without a copy for each derivative."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import log, multiply


@jit
def place_differences(positions, joints, first, last, peaks):
    """Largest second difference of places (F, J, 3) in frames first … last−1, and the sum of squared third ones.

    peaks: (2,) metres; the largest length of a second difference so far, and metres² of all third ones so far.
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


@jit
def short_log(w, x, y, z):
    """The rotation vector of a unit quaternion, quickly where it is as short as from a frame to the next."""
    square = x * x + y * y + z * z
    if w < 0.5 or square > 4e-4 * w * w:
        return log(w, x, y, z)
    # arctan(t)/t by its series; what is left out is below 1e-17
    u = square / (w * w)
    scale = 2.0 / w * (1.0 - u * (1.0 / 3.0 - u * (0.2 - u * (1.0 / 7.0 - u / 9.0))))
    return scale * x, scale * y, scale * z


@jit
def bends(positions, joints, first, last, scale, out):
    """Lengths of second differences of places (F, J, 3) in frames first … last−1, times `scale`, at their middles.

    out: (F, n), written at frames first+1 … last−2.
    """
    for f in range(first + 1, last - 1):
        for n in range(joints.shape[0]):
            j = joints[n]
            square = 0.0
            for k in range(3):
                now = positions[f, j, k]
                bend = (positions[f + 1, j, k] - now) - (now - positions[f - 1, j, k])
                square += bend * bend
            out[f, n] = math.sqrt(square) * scale


@jit
def turn_differences(rotations, joints, first, last, turns, out):
    """Lengths of the second differences of angular velocities in the joints' own frames, radians per frame³.

    rotations: (F, J, 4). turns: (3, n, 3), room for the velocities of three frames. out: (last−first−3, n).
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
            turns[slot, n, 0], turns[slot, n, 1], turns[slot, n, 2] = short_log(w, x, y, z)
            if f > first + 2:
                square = 0.0
                for k in range(3):
                    bend = (turns[slot, n, k] - turns[before, n, k]) - (turns[before, n, k] - turns[earlier, n, k])
                    square += bend * bend
                out[f - first - 3, n] = math.sqrt(square)


@jit
def least_alike(rotations, first, out):
    """(J,) the smallest |q·q'| of each joint's rotation (F, J, 4) from frame `first` on with the one in that frame."""
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
    "bends": lambda: (_frames(3), np.zeros(1, np.int64), 0, 4, 1.0, np.zeros((4, 1))),
    "place_differences": lambda: (_frames(3), np.zeros(1, np.int64), 0, 4, np.zeros(2)),
    "turn_differences": lambda: (_frames(4), np.zeros(1, np.int64), 0, 4, np.zeros((3, 1, 3)), np.zeros((1, 1))),
    "least_alike": lambda: (_frames(4), 0, np.zeros(1)),
}
