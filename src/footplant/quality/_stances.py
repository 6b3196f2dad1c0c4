"""Compiled search for still joints, and how the result keeps those that carry the body."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import rotate
from footplant.kernels.selection import select


@uncounted_jit
def still_intervals(positions, columns, fps, speed, diagonal, least, out):
    """Write rows (column, start, end) of the intervals in which points are still; return their number.

    positions: (F, P, 3), of which `columns` are looked at. A point is slow where its central difference is below
    `speed`. In each run of slow frames an interval grows while the box around its positions has a diagonal of at most
    `diagonal`; one of at least `least` frames counts, and the next begins at its end. out: (N, 3) with room for all.
    """
    frames, found = positions.shape[0], 0
    for c in range(columns.shape[0]):
        p = columns[c]
        start = 0
        while start + least <= frames:
            x, y, z = positions[start, p, 0], positions[start, p, 1], positions[start, p, 2]
            ax, ay, az, bx, by, bz = x, y, z, x, y, z
            end, fast = start, False
            while end < frames:
                before, after = max(end - 1, 0), min(end + 1, frames - 1)
                square = 0.0
                for k in range(3):
                    step = positions[after, p, k] - positions[before, p, k]
                    square += step * step
                if math.sqrt(square) * fps / (after - before) >= speed:
                    fast = True
                    break
                x, y, z = positions[end, p, 0], positions[end, p, 1], positions[end, p, 2]
                ax, ay, az = min(ax, x), min(ay, y), min(az, z)
                bx, by, bz = max(bx, x), max(by, y), max(bz, z)
                if (bx - ax) * (bx - ax) + (by - ay) * (by - ay) + (bz - az) * (bz - az) > diagonal * diagonal:
                    break
                end += 1
            if end - start >= least:
                out[found, 0], out[found, 1], out[found, 2] = p, start, end
                found += 1
                start = end
            elif fast:
                start = end + 1
            else:
                start += 1
    return found


@uncounted_jit
def quantile(values, count, share):
    """Return a quantile of the first `count` values, interpolated as by `np.quantile`; they are reordered."""
    place = share * (count - 1)
    below = int(place)
    first = select(values, count, below)
    if place == below:
        return first
    # after the selection all later values are at least as large
    second = values[below + 1]
    for i in range(below + 2, count):
        second = min(second, values[i])
    return first + (place - below) * (second - first)


class StanceLimits(NamedTuple):
    """Thresholds of `quality.stances`, metres."""

    travel: float
    low: float
    around: float
    upright: float
    shallowest: float
    deepest: float
    floor: float
    """Height of the lowest joints of the result."""


class Bodies(NamedTuple):
    """A source and a result."""

    source: NDArray
    """(F, P, 3) metres."""
    result: NDArray
    """(F, P, 3) metres."""
    turns: NDArray
    """(F, J, 4) world rotations of the result's joints."""
    heights: NDArray
    """(2, F) height of each foot of the source above where it usually stands, metres."""


@uncounted_jit
def collect(bodies, hips, side, column, joint, start, end, rows):
    """Write the series (10, n) of a stance: see `StanceRoom`."""
    source, result, turns, heights = bodies.source, bodies.result, bodies.turns, bodies.heights
    middle = start + (end - start) // 2
    w, x, y, z = turns[middle, joint, 0], turns[middle, joint, 1], turns[middle, joint, 2], turns[middle, joint, 3]
    dx, dy, dz = rotate(w, -x, -y, -z, 0.0, -1.0, 0.0)
    for f in range(start, end):
        n = f - start
        rows[0, n], rows[1, n] = heights[side, f], heights[1 - side, f]
        rows[2, n] = source[f, hips, 1] - source[f, column, 1]
        rows[3, n], rows[4, n] = source[f, column, 0], source[f, column, 2]
        rows[5, n], rows[6, n] = result[f, column, 0], result[f, column, 2]
        rows[7, n] = result[f, column, 1]
        w, x, y, z = turns[f, joint, 0], turns[f, joint, 1], turns[f, joint, 2], turns[f, joint, 3]
        # direction of what points down at mid-stance
        rows[8, n], _, rows[9, n] = rotate(w, x, y, z, dx, dy, dz)


@uncounted_jit
def carries(bodies, hips, feet, column, start, end, limits, medians, values):
    """Return whether a still joint belongs to a foot that stands: see `quality.stances`; feet: the ankles' columns."""
    source, heights = bodies.source, bodies.heights
    ax, az, bx, bz = np.inf, np.inf, -np.inf, -np.inf
    for f in range(start, end):
        x, z = source[f, hips, 0], source[f, hips, 2]
        ax, az, bx, bz = min(ax, x), min(az, z), max(bx, x), max(bz, z)
    if (bx - ax) * (bx - ax) + (bz - az) * (bz - az) > limits.travel * limits.travel:
        return True
    lowest = np.inf
    for foot in range(2):
        count = 0
        for f in range(source.shape[0]):
            dx, dz = source[f, feet[foot], 0] - medians[3], source[f, feet[foot], 2] - medians[4]
            if dx * dx + dz * dz < limits.around * limits.around:
                values[count] = heights[foot, f]
                count += 1
        if count > 0:
            lowest = min(lowest, quantile(values, count, 0.02))
    if lowest == np.inf:
        lowest = 0.0
    if medians[0] - lowest < limits.low:
        return True
    return medians[2] > limits.upright and medians[0] < medians[1] + limits.low


@uncounted_jit
def largest_turn(turns, joint, start, end, moments):
    """Return the largest angle of a joint from its mean rotation over frames start … end−1, radians.

    The mean is the dominant eigenvector of Σ q qᵀ (Markley et al. 2007), by power iteration: rotations of a standing
    foot are alike, so that a few steps suffice. moments: (2, 5, 4) workspace.
    """
    moments[:] = 0.0
    for f in range(start, end):
        for a in range(4):
            for b in range(4):
                moments[0, a, b] += turns[f, joint, a] * turns[f, joint, b]
    for a in range(4):
        moments[0, 4, a] = turns[(start + end) // 2, joint, a]
    for _ in range(30):
        length = 0.0
        for a in range(4):
            moments[1, 4, a] = 0.0
            for b in range(4):
                moments[1, 4, a] += moments[0, a, b] * moments[0, 4, b]
            length += moments[1, 4, a] * moments[1, 4, a]
        length = max(math.sqrt(length), 1e-300)
        for a in range(4):
            moments[0, 4, a] = moments[1, 4, a] / length
    least = 1.0
    for f in range(start, end):
        same = 0.0
        for a in range(4):
            same += moments[0, 4, a] * turns[f, joint, a]
        least = min(least, abs(same))
    return 2.0 * math.acos(min(least, 1.0))


class StanceRoom(NamedTuple):
    """Workspace of `stance_errors` for F frames."""

    rows: NDArray
    """(10, F) heights of this and of the other foot, hips above the joint, x and z of the source's and of the result's
    joint, the result's height, x and z of the direction to the sole."""
    medians: NDArray
    """(10,)."""
    values: NDArray
    """(F,)."""
    track: NDArray
    """(2, F)."""
    moments: NDArray
    """(2, 5, 4)."""


def stance_room(frames: int) -> StanceRoom:
    """Return workspace for so many frames."""
    return StanceRoom(
        np.empty((10, frames)), np.empty(10), np.empty(frames), np.empty((2, frames)), np.empty((2, 5, 4))
    )


@uncounted_jit
def stance_errors(bodies, hips, feet, stances, points, limits, room, out):
    """Write (N, 3): whether a stance carries the body (1 or 0), its drift in metres and its turn in radians.

    stances: rows (column, joint of the result, side, start, end). points: how many from the joint down to its sole are
    followed. out stays as it is where a stance does not carry.
    """
    # one loop takes all medians, since a call of a quantile is compiled wherever it stands
    rows, medians, values, track, moments = room
    for n in range(stances.shape[0]):
        column, joint, side, start, end = stances[n, 0], stances[n, 1], stances[n, 2], stances[n, 3], stances[n, 4]
        count = end - start
        collect(bodies, hips, side, column, joint, start, end, rows)
        for r in range(8):
            for f in range(count):
                values[f] = rows[r, f]
            medians[r] = quantile(values, count, 0.5)
        out[n, 0] = 0.0
        if not carries(bodies, hips, feet, column, start, end, limits, medians, values):
            continue
        deep = min(max(medians[7] - limits.floor + 0.02, limits.shallowest), limits.deepest)
        best = 0.0
        for f in range(count):
            # departure from the source's path, relative to both medians
            dx = rows[5, f] - medians[5] - rows[3, f] + medians[3]
            dz = rows[6, f] - medians[6] - rows[4, f] + medians[4]
            best = max(best, dx * dx + dz * dz)
        for p in range(points):
            share = deep * p / (points - 1)
            for k in range(2):
                for f in range(count):
                    track[k, f] = rows[5 + k, f] + share * rows[8 + k, f]
                    values[f] = track[k, f]
                medians[8 + k] = quantile(values, count, 0.5)
            farthest = 0.0
            for f in range(count):
                dx, dz = track[0, f] - medians[8], track[1, f] - medians[9]
                farthest = max(farthest, dx * dx + dz * dz)
            best = min(best, farthest)
        out[n, 0], out[n, 1] = 1.0, math.sqrt(best)
        out[n, 2] = largest_turn(bodies.turns, joint, start, end, moments)


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


WARMUP = {
    "still_intervals": lambda: (
        np.zeros((3, 1, 3)), np.zeros(1, np.int64), 30.0, 0.1, 0.01, 3, np.zeros((1, 3), np.int64)
    ),
    "stance_errors": lambda: (
        Bodies(np.zeros((3, 1, 3)), np.zeros((3, 1, 3)), _read_only(3, 1, 4), np.zeros((2, 3))), 0,
        np.zeros(2, np.int64), np.array([[0, 0, 0, 0, 3]]), 5, StanceLimits(*[0.1] * 7), stance_room(3),
        np.zeros((1, 3)),
    ),
}  # fmt: skip
