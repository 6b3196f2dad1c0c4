"""Many footplants at the poses of a clip: how far each is off, and where its point is to be (`constraints.plants`)."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.fk import place_of


@jit
def span(starts, stops, ramps, frames, fps, first):
    """How many pairs of a plant and a row it may be at work at there are, ramps included; first (N,): its first row.

    starts, stops (N,): the frames of each plant; ramps (N, 2) seconds; frames (F,) of the rows, ascending.
    """
    total = 0
    for n in range(starts.shape[0]):
        begin = starts[n] - math.ceil(ramps[n, 0] * fps)
        end = stops[n] + math.ceil(ramps[n, 1] * fps)
        first[n] = np.searchsorted(frames, begin)
        total += np.searchsorted(frames, end) - first[n]
    return total


@jit
def spread(starts, stops, ramps, frames, fps, first, rows, which, active):
    """Write the pairs at which plants are really at work, by plant and row, and by how much; how many they are."""
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


@jit
def slip_of(row, joint, offset, place, earlier, going, positions, rotations):
    """How far a point is off its place at a row, as three numbers; with what it gains there on an earlier row."""
    x, y, z = place_of(row, joint, offset, positions, rotations)
    sx, sy, sz = x - place[0], y - place[1], z - place[2]
    if going != 0.0:
        a, b, c = place_of(earlier, joint, offset, positions, rotations)
        sx, sy, sz = sx + going * (x - a), sy + going * (y - b), sz + going * (z - c)
    return sx, sy, sz


@jit
def slips(joints, offsets, places, nearest, earlier, going, positions, rotations, out):
    """How far plants are off, (K, 3) metres: joints (K,), offsets and places (K, 3).

    nearest (K,): the row that tells it, the plant's own or, in a ramp, the nearest one where it holds; what it gained
    there since an earlier row goes on `going` times.
    """
    for k in range(joints.shape[0]):
        out[k, 0], out[k, 1], out[k, 2] = slip_of(
            nearest[k], joints[k], offsets[k], places[k], earlier[k], going[k], positions, rotations
        )


@jit
def summarize(which, rows, errors, counts, worst, mean, worst_row):
    """Of plants (N,), which start as zeros: at how many of the rows (K,) each is judged, and its errors there."""
    for k in range(which.shape[0]):
        n = which[k]
        if counts[n] == 0 or errors[k] > worst[n]:
            worst[n], worst_row[n] = errors[k], rows[k]
        counts[n] += 1
        mean[n] += errors[k]
    for n in range(counts.shape[0]):
        if counts[n] > 0:
            mean[n] /= counts[n]


@jit
def aim(rows, joints, offsets, places, nearest, earlier, going, slots, positions, rotations, targets):
    """Where the points of plants are to be, their places less `slips`, into rows `slots` (K,) of targets (N, 4)."""
    for k in range(joints.shape[0]):
        x, y, z = place_of(rows[k], joints[k], offsets[k], positions, rotations)
        sx, sy, sz = slip_of(nearest[k], joints[k], offsets[k], places[k], earlier[k], going[k], positions, rotations)
        slot = slots[k]
        targets[slot, 0], targets[slot, 1], targets[slot, 2] = x - sx, y - sy, z - sz


@jit
def follow(fading, leads, then, rows, joints, offsets, positions, rotations, room, targets):
    """Move targets (N, 4) of pins that fade by what has changed since in the correction of the pin that leads them.

    fading, leads, then (n,): pins, those that lead them now, and the leads' own of that time; rows, joints (N,) and
    offsets (N, 3) are of all pins. room (n, 3) is workspace: a lead may be led itself.
    """
    for i in range(fading.shape[0]):
        now, was = leads[i], then[i]
        x, y, z = place_of(rows[now], joints[now], offsets[now], positions, rotations)
        a, b, c = place_of(rows[was], joints[was], offsets[was], positions, rotations)
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
    return numbers, rows, rows, numbers, numbers, np.zeros(1)


def _numbers(count):
    return (np.zeros(1, np.int64),) * count


def _intervals():
    numbers = np.zeros(1, np.int64)
    return numbers, numbers, np.zeros((1, 2)), numbers, 30.0, numbers


WARMUP = {
    "span": _intervals,
    "spread": lambda: (*_intervals(), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)),
    "slips": lambda: (*_plants(), *_poses(), np.zeros((1, 3))),
    "summarize": lambda: (*_numbers(2), np.zeros(1), *_numbers(1), np.zeros(1), np.zeros(1), *_numbers(1)),
    "aim": lambda: (*_numbers(1), *_plants(), *_numbers(1), *_poses(), np.zeros((1, 4))),
    "follow": lambda: (*_numbers(5), np.zeros((1, 3)), *_poses(), np.zeros((1, 3)), np.zeros((1, 4))),
}
