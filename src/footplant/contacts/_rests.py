"""Compiled loops of `contacts.departures`: rests inside still intervals, and observations at their ends.

Rounded strictly, as `_stillness`. Positions are (F, P, 3) metres, read-only; intervals are rows (point, start, end).
"""

from __future__ import annotations

import math

import numpy as np

from footplant.contacts._stillness import median_of, median_position
from footplant.kernels import strict_jit


@strict_jit
def spread_of(positions, p, start, end):
    """How far a point strays over frames start … end−1: the root of the mean of its variances, metres per axis."""
    total = 0.0
    for k in range(3):
        mean = 0.0
        for f in range(start, end):
            mean += positions[f, p, k]
        mean /= end - start
        square = 0.0
        for f in range(start, end):
            square += (positions[f, p, k] - mean) * (positions[f, p, k] - mean)
        total += square / (end - start)
    return math.sqrt(total / 3.0)


@strict_jit
def window_shift(sums, at, length, half):
    """How far the mean of a window's last half is from that of its first, from running sums (F+1, 4)."""
    square = 0.0
    for k in range(3):
        first = (sums[at + half, k] - sums[at, k]) / half
        second = (sums[at + length, k] - sums[at + length - half, k]) / half
        square += (second - first) * (second - first)
    return math.sqrt(square)


@strict_jit
def calm_parts(positions, p, start, end, longest, noise, wander, gap, farthest, sums, spread, out, count):
    """Append the calm parts of a core to rows `out` after the first `count`; returns how many there are, and how calm.

    The window has `longest` frames or a third of the core; parts are parted by `gap` windows' lengths; `farthest` is
    how far the means of a window's halves may differ, in standard deviations. sums (F+1, 4) and spread (F,) are room.
    """
    frames = end - start
    length = min(max(frames // 3, 3), longest)
    if frames <= length:
        out[count, 0], out[count, 1], out[count, 2] = p, start, end
        return count + 1, spread_of(positions, p, start, end)
    for k in range(4):
        sums[0, k] = 0.0
    for f in range(frames):
        square = 0.0
        for k in range(3):
            away = positions[start + f, p, k] - positions[start, p, k]
            sums[f + 1, k] = sums[f, k] + away
            square += away * away
        sums[f + 1, 3] = sums[f, 3] + square
    calmest = np.inf
    for f in range(frames - length + 1):
        square = 0.0
        for k in range(3):
            mean = (sums[f + length, k] - sums[f, k]) / length
            square += mean * mean
        mean = (sums[f + length, 3] - sums[f, 3]) / length
        spread[f] = math.sqrt(max(mean - square, 0.0) / 3.0)
        calmest = min(calmest, spread[f])
    most = max(calmest * (3.0 if noise < wander else 1.0), 1.35 * noise, wander)
    # a slow movement hardly widens the spread of noise, but moves the mean of a window's later half
    half = length // 2
    limit = max(farthest * noise * math.sqrt(2.0 / half), 2.0 * wander)
    steady = False
    if noise >= wander:
        for f in range(frames - length + 1):
            if spread[f] <= most and window_shift(sums, f, length, half) <= limit:
                steady = True
                break
    first = last = -1
    for f in range(frames - length + 1):
        if spread[f] > most or (steady and window_shift(sums, f, length, half) > limit):
            continue
        if first >= 0 and f - last >= gap * length:
            out[count, 0], out[count, 1], out[count, 2] = p, start + first, start + last + length
            count, first = count + 1, f
        first, last = f if first < 0 else first, f
    out[count, 0], out[count, 1], out[count, 2] = p, start + first, start + last + length
    return count + 1, calmest


@strict_jit
def find_rests(positions, cores, longest, noise, wander, farthest, sums, spread, parts, out, counts, calm):
    """Rests of each core, see `contacts.departures`: rows in `out`, counts (B,) of each, calm (B,) metres; how many.

    In noise each rest is looked at once more with windows twice as long. parts is room for the rests of one core.
    """
    total = 0
    for n in range(cores.shape[0]):
        p, before = cores[n, 0], total
        if noise < wander:
            total, calm[n] = calm_parts(
                positions, p, cores[n, 1], cores[n, 2], longest, noise, wander, 1.0, farthest, sums, spread, out, total
            )
        else:
            found, calm[n] = calm_parts(
                positions, p, cores[n, 1], cores[n, 2], longest, noise, wander, 1.0, farthest, sums, spread, parts, 0
            )
            for m in range(found):
                total, _ = calm_parts(
                    positions, p, parts[m, 1], parts[m, 2], 2 * longest, noise, wander, 0.5, farthest, sums, spread,
                    out, total,
                )  # fmt: skip
        counts[n] = total - before
    return total


@strict_jit
def find_creeps(positions, cores, fps, noise, room, out):
    """(B,) m/s: the usual speed over half of each core, beyond what noise alone would show; 0 for a true rest."""
    for n in range(cores.shape[0]):
        p, margin = cores[n, 0], (cores[n, 2] - cores[n, 1]) // 5
        first, frames = cores[n, 1] + margin, cores[n, 2] - cores[n, 1] - 2 * margin
        lag = max(frames // 2, 1)
        out[n] = 0.0
        for f in range(frames - lag):
            square = 0.0
            for k in range(3):
                step = positions[first + f + lag, p, k] - positions[first + f, p, k]
                square += step * step
            room[f] = square
        if frames > lag:
            usual = median_of(room, frames - lag)
            out[n] = math.sqrt(max(usual - 12.0 * noise * noise, 0.0)) * fps / lag


@strict_jit
def find_drifts(positions, cores, out):
    """(B,) m²: half the frames of half a core times the squared distance between the places in its two halves."""
    for n in range(cores.shape[0]):
        p, margin = cores[n, 0], (cores[n, 2] - cores[n, 1]) // 5
        start, end = cores[n, 1] + margin, cores[n, 2] - margin
        half = (end - start) // 2
        square = 0.0
        for k in range(3):
            first = second = 0.0
            for f in range(half):
                first += positions[start + f, p, k]
                second += positions[end - half + f, p, k]
            if half > 0:
                square += (second / half - first / half) * (second / half - first / half)
        out[n] = 0.5 * half * square


@strict_jit
def usual_place(values, count, room, place):
    """The mean (3,) of the first values (n, 3), axis by axis without those far from the median."""
    for k in range(3):
        for i in range(count):
            room[i] = values[i, k]
        center = median_of(room, count)
        for i in range(count):
            room[i] = abs(values[i, k] - center)
        usual = median_of(room, count)
        total, kept = 0.0, 0.0
        for i in range(count):
            if abs(values[i, k] - center) <= 3.0 * usual + 1e-12:
                total, kept = total + values[i, k], kept + 1.0
        place[k] = total / kept


@strict_jit
def look_at_ends(
    positions, cores, sign, segments, inner, depth, bounds, room, inside, away, used, open_end, scale, rest
):
    """What is seen of one end (sign −1: start, 1: end) of each core: see `contacts.departures` and its `Edges`.

    segments (S, 2); inner: frames looked at inwards; depth: share of the core that is this end's. bounds (3,): noise at
    least, metres; how many times the noise, and how many metres, a point is away when it has left. room (W,) and
    inside (W, 3) are room. Written: away (B, W, 3), used (B, W), open_end (B,), scale (B,), and rest (B,) int64: frames
    from the end to the last one before the point strays further than it does at rest.
    """
    width = away.shape[1]
    place = np.empty(3)
    for n in range(cores.shape[0]):
        p, start, end = cores[n, 0], cores[n, 1], cores[n, 2]
        edge, last = (start, end - 1) if sign < 0 else (end - 1, start)
        deepest = edge - sign * math.ceil(depth * (end - 1 - start))
        s = segments.shape[0] - 1
        while segments[s, 0] > edge:
            s -= 1
        low, high = segments[s, 0], segments[s, 1]
        open_end[n] = False
        count = 0
        for w in range(width):
            f = edge + sign * (w - inner)
            used[n, w] = low <= f < high and sign * (f - last) >= 0
            if used[n, w] and w <= inner:
                for k in range(3):
                    inside[count, k] = positions[f, p, k]
                count += 1
            open_end[n] = open_end[n] or (used[n, w] and w > inner)
        usual_place(inside, count, room, place)
        for i in range(count):
            square = 0.0
            for k in range(3):
                square += (inside[i, k] - place[k]) * (inside[i, k] - place[k])
            room[i] = math.sqrt(square)
        # three axes: the median distance of Gaussian noise is 1.54 sigma
        scale[n] = max(median_of(room, count) / 1.54, bounds[0])
        left = strayed = False
        for w in range(width):
            f = edge + sign * (w - inner)
            used[n, w] = used[n, w] and sign * (f - deepest) >= 0 and not left
            square = 0.0
            for k in range(3):
                away[n, w, k] = positions[f, p, k] - place[k] if used[n, w] else 0.0
                square += away[n, w, k] * away[n, w, k]
            if used[n, w] and not strayed:
                strayed = math.sqrt(square) > 4.0 * scale[n]
                rest[n] = max(w - strayed, 0) - inner
            left = left or (used[n, w] and math.sqrt(square) > max(bounds[1] * scale[n], bounds[2]))


@strict_jit
def find_travels(body, intervals, out):
    """(B,) how far a body (F, 3) gets about over intervals: the diagonal of the box that it stays in, metres."""
    for n in range(intervals.shape[0]):
        square = 0.0
        for k in range(3):
            low = high = body[intervals[n, 1], k]
            for f in range(intervals[n, 1], intervals[n, 2]):
                low, high = min(low, body[f, k]), max(high, body[f, k])
            square += (high - low) * (high - low)
        out[n] = math.sqrt(square)


@strict_jit
def rest_places(positions, intervals, room, places, spreads):
    """The median places (B, 3) of points over intervals, and how far they stray there (B,), metres per axis."""
    for n in range(intervals.shape[0]):
        p, start, end = intervals[n, 0], intervals[n, 1], intervals[n, 2]
        median_position(positions, p, start, end, room, places[n])
        spreads[n] = spread_of(positions, p, start, end)


def _frames():
    array = np.zeros((4, 1, 3))
    array.setflags(write=False)
    return array


def _rows():
    return np.array([[0, 0, 4]])


WARMUP = {
    "find_rests": lambda: (
        _frames(), _rows(), 3, 0.0, 1.0, 5.0, np.zeros((5, 4)), np.zeros(4), np.zeros((4, 3), np.int64),
        np.zeros((4, 3), np.int64), np.zeros(1, np.int64), np.zeros(1),
    ),
    "find_creeps": lambda: (_frames(), _rows(), 30.0, 0.0, np.zeros(4), np.zeros(1)),
    "find_drifts": lambda: (_frames(), _rows(), np.zeros(1)),
    "look_at_ends": lambda: (
        _frames(), _rows(), 1, np.array([[0, 4]]), 3, 0.5, np.ones(3), np.zeros(5), np.zeros((5, 3)),
        np.zeros((1, 5, 3)), np.zeros((1, 5), bool), np.zeros(1, bool), np.zeros(1), np.zeros(1, np.int64),
    ),
    "find_travels": lambda: (np.zeros((4, 3)), _rows(), np.zeros(1)),
    "rest_places": lambda: (_frames(), _rows(), np.zeros(4), np.zeros((1, 3)), np.zeros(1)),
}  # fmt: skip
