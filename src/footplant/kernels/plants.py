"""Many footplants at the poses of a clip: position errors and targets of their points (`constraints.plants`)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.fk import place_of


class Intervals(NamedTuple):
    """When N plants hold."""

    starts: NDArray
    """(N,) first frames."""
    stops: NDArray
    """(N,) frames after the last ones."""
    ramps: NDArray
    """(N, 2) seconds of the ramps before and after."""


@uncounted_jit
def first_from(numbers, least):
    """Return the first row of ascending numbers (F,) that is not below one.

    By hand: NumPy's search makes numba import all of scipy.linalg when the kernel is loaded.
    """
    low, high = 0, numbers.shape[0]
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@uncounted_jit
def span(intervals, frames, fps, first):
    """Return the number of (plant, row) pairs at which plants may be active, ramps included; write first rows (N,).

    intervals: `Intervals`; frames (F,) of the rows, ascending.
    """
    starts, stops, ramps = intervals
    total = 0
    for n in range(starts.shape[0]):
        begin = starts[n] - math.ceil(ramps[n, 0] * fps)
        end = stops[n] + math.ceil(ramps[n, 1] * fps)
        first[n] = first_from(frames, begin)
        total += first_from(frames, end) - first[n]
    return total


@uncounted_jit
def spread(intervals, frames, fps, first, rows, which, active):
    """Write the active pairs by plant and row, with their activations; return their number."""
    starts, stops, ramps = intervals
    count = 0
    for n in range(starts.shape[0]):
        end = stops[n] + math.ceil(ramps[n, 1] * fps)
        row = first[n]
        while row < frames.shape[0] and frames[row] < end:
            frame = frames[row]
            share = 1.0
            if frame < starts[n]:
                share = 1.0 - (starts[n] - frame) / (fps * ramps[n, 0])
            elif frame >= stops[n]:
                share = 1.0 - (frame - (stops[n] - 1)) / (fps * ramps[n, 1])
            share = share * share * (3.0 - 2.0 * share) if share > 0.0 else 0.0
            if share > 0.0:
                rows[count], which[count], active[count] = row, n, share
                count += 1
            row += 1
    return count


class Plants(NamedTuple):
    """K pairs of a plant and a row."""

    joints: NDArray
    """(K,) the joint that carries the point."""
    offsets: NDArray
    """(K, 3) the point in its joint's frame, metres."""
    places: NDArray
    """(K, 3) position of the plant, world, metres."""
    nearest: NDArray
    """(K,) the row at which the error is measured: the pair's own or, in a ramp, the nearest where the plant holds."""
    earlier: NDArray
    """(K,) the row from which it is extrapolated."""
    going: NDArray
    """(K,) how many times the change since the earlier row is added."""


class Ramps(NamedTuple):
    """n pins that ramp, each with the pin of the same foot that leads it."""

    fading: NDArray
    leads: NDArray
    """(n,) the leading pins now."""
    then: NDArray
    """(n,) the leaders' own pins at the frame where the ramp began."""


class Points(NamedTuple):
    """Points of N pins."""

    rows: NDArray
    joints: NDArray
    offsets: NDArray
    """(N, 3) metres."""


@uncounted_jit
def slip_of(plants, k, positions, rotations):
    """Return the position error of a plant's point at a row, extrapolated from an earlier row; plant k of `Plants`."""
    row, joint, offset, place, going = (
        plants.nearest[k], plants.joints[k], plants.offsets[k], plants.places[k], plants.going[k]
    )  # fmt: skip
    x, y, z = place_of(joint, offset, positions[row], rotations[row])
    sx, sy, sz = x - place[0], y - place[1], z - place[2]
    if going != 0.0:
        earlier = plants.earlier[k]
        a, b, c = place_of(joint, offset, positions[earlier], rotations[earlier])
        sx, sy, sz = sx + going * (x - a), sy + going * (y - b), sz + going * (z - c)
    return sx, sy, sz


@uncounted_jit
def slips(plants, positions, rotations, out):
    """Write the position errors (K, 3) of plants, metres."""
    for k in range(plants.joints.shape[0]):
        out[k, 0], out[k, 1], out[k, 2] = slip_of(plants, k, positions, rotations)


@uncounted_jit
def summarize(which, rows, errors, counts, worst, mean, worst_row):
    """Summarise errors (K,) at rows (K,) per plant (N,): counts, worst, mean and worst row, which start as zeros."""
    for k in range(which.shape[0]):
        n = which[k]
        if counts[n] == 0 or errors[k] > worst[n]:
            worst[n], worst_row[n] = errors[k], rows[k]
        counts[n] += 1
        mean[n] += errors[k]
    for n in range(counts.shape[0]):
        if counts[n] > 0:
            mean[n] /= counts[n]


@uncounted_jit
def aim(rows, plants, slots, positions, rotations, targets):
    """Write the targets of plants' points, their positions less `slips`, into rows `slots` (K,) of targets (N, 4)."""
    for k in range(plants.joints.shape[0]):
        x, y, z = place_of(plants.joints[k], plants.offsets[k], positions[rows[k]], rotations[rows[k]])
        sx, sy, sz = slip_of(plants, k, positions, rotations)
        slot = slots[k]
        targets[slot, 0], targets[slot, 1], targets[slot, 2] = x - sx, y - sy, z - sz


@uncounted_jit
def follow(ramps, points, positions, rotations, room, targets):
    """Move targets (N, 4) of ramping pins by the change of their leader's correction since the ramp began.

    points: of all N pins; room (n, 3) is workspace, because a leader may be led itself.
    """
    fading, rows, joints, offsets = ramps.fading, points.rows, points.joints, points.offsets
    for i in range(fading.shape[0]):
        now, was = ramps.leads[i], ramps.then[i]
        x, y, z = place_of(joints[now], offsets[now], positions[rows[now]], rotations[rows[now]])
        a, b, c = place_of(joints[was], offsets[was], positions[rows[was]], rotations[rows[was]])
        room[i, 0] = targets[now, 0] - x - (targets[was, 0] - a)
        room[i, 1] = targets[now, 1] - y - (targets[was, 1] - b)
        room[i, 2] = targets[now, 2] - z - (targets[was, 2] - c)
    for i in range(fading.shape[0]):
        for k in range(3):
            targets[fading[i], k] += room[i, k]


def _poses():
    positions, rotations = np.zeros((1, 1, 3)), np.ones((1, 1, 4))
    positions.setflags(write=False)
    rotations.setflags(write=False)
    return positions, rotations


def _plants():
    numbers, rows = np.zeros(1, np.int64), np.zeros((1, 3))
    return Plants(numbers, rows, rows, numbers, numbers, np.zeros(1))


def _ramps():
    numbers = np.zeros(1, np.int64)
    return Ramps(numbers, numbers, numbers)


def _points():
    numbers = np.zeros(1, np.int64)
    return Points(numbers, numbers, np.zeros((1, 3)))


def _numbers(count):
    return (np.zeros(1, np.int64),) * count


def _intervals():
    numbers = np.zeros(1, np.int64)
    return Intervals(numbers, numbers, np.zeros((1, 2))), numbers, 30.0, numbers


WARMUP = {
    "span": _intervals,
    "spread": lambda: (*_intervals(), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)),
    "slips": lambda: (_plants(), *_poses(), np.zeros((1, 3))),
    "summarize": lambda: (*_numbers(2), np.zeros(1), *_numbers(1), np.zeros(1), np.zeros(1), *_numbers(1)),
    "aim": lambda: (*_numbers(1), _plants(), *_numbers(1), *_poses(), np.zeros((1, 4))),
    "follow": lambda: (_ramps(), _points(), *_poses(), np.zeros((1, 3)), np.zeros((1, 4))),
}
