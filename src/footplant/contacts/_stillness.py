"""Compiled loops of `contacts.stillness` over frames and points.

Each operation is rounded on its own (`strict_jit`): thresholds decide whether a point is still, and the result must not
depend on which operations a processor fuses. Positions are (F, P, 3) metres, read-only; intervals are rows
(point, start, end).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import strict_jit
from footplant.kernels.selection import select


@strict_jit
def step_length(positions, f, p):
    """Return how far a point moves from a frame to the next."""
    square = 0.0
    for k in range(3):
        away = positions[f + 1, p, k] - positions[f, p, k]
        square += away * away
    return math.sqrt(square)


@strict_jit
def whole_step(positions, f, fewest, row):
    """Return how far, at least, all but the `fewest` slowest points move to the next frame; row (P,): scratch."""
    points = positions.shape[1]
    for p in range(points):
        row[p] = step_length(positions, f, p)
    for n in range(fewest + 1):  # selection sort of the smallest ones
        least = n
        for p in range(n + 1, points):
            if row[p] < row[least]:
                least = p
        row[n], row[least] = row[least], row[n]
    return row[fewest]


@strict_jit
def find_jumps(positions, fewest, fps, height, row, out):
    """Mark in out (F−1,) the steps to the next frame in which nearly all points jump at once.

    `fewest` is how many points may stay behind. row (P,): scratch.
    """
    count, points = positions.shape[0] - 1, positions.shape[1]
    # a smaller step is no jump: most frames need no closer look
    least = 0.999 * min(max(0.02 * height, 3.0 * height / fps), 12.0 * height / fps)
    for f in range(count):
        behind, out[f] = 0, False
        for p in range(points):
            if step_length(positions, f, p) <= least:
                behind += 1
                if behind > fewest:
                    break
        if behind > fewest:
            continue
        step, around = whole_step(positions, f, fewest, row), 0.0
        if f > 0:
            around = whole_step(positions, f - 1, fewest, row)
        if f + 1 < count:
            around = max(around, whole_step(positions, f + 1, fewest, row))
        alone = step > 5.0 * around and step > 0.02 * height and step * fps > 3.0 * height
        # no whole body moves at 20 m/s
        out[f] = alone or step * fps > 12.0 * height


@strict_jit
def fourth_differences(positions, intervals, out):
    """Write the lengths of fourth differences of points inside intervals to `out`; return their number."""
    count = 0
    for n in range(intervals.shape[0]):
        p = intervals[n, 0]
        for f in range(intervals[n, 1], intervals[n, 2] - 4):
            square = 0.0
            for k in range(3):
                a, b = positions[f, p, k], positions[f + 1, p, k]
                c, d, e = positions[f + 2, p, k], positions[f + 3, p, k], positions[f + 4, p, k]
                ab, bc, cd, de = b - a, c - b, d - c, e - d
                difference = ((de - cd) - (cd - bc)) - ((cd - bc) - (bc - ab))
                square += difference * difference
            out[count] = math.sqrt(square)
            count += 1
    return count


@strict_jit
def fit_line(positions, first, last, f, p, reach, middle):
    """Fit a straight line to a window of 2·reach + 1 frames within first … last−1 (shorter at their edges).

    Returns the length of the slope per frame, the sum of squared residuals and the number of frames, and writes the
    fitted position at frame f to middle (3,). With Stt = Σt² − (Σt)²/n and Stx = Σtx − Σt Σx/n the slope is Stx / Stt
    and the residual sum Sxx − Stx²/Stt.
    """
    low, high = max(-reach, first - f), min(reach, last - 1 - f)
    count = high - low + 1.0
    t1 = t2 = x2 = 0.0
    ax = ay = az = tx = ty = tz = 0.0
    for k in range(low, high + 1):
        # relative to the middle frame, so that no digits are lost far from the origin
        x = positions[f + k, p, 0] - positions[f, p, 0]
        y = positions[f + k, p, 1] - positions[f, p, 1]
        z = positions[f + k, p, 2] - positions[f, p, 2]
        t1 += k
        t2 += k * k
        ax, ay, az = ax + x, ay + y, az + z
        tx, ty, tz = tx + k * x, ty + k * y, tz + k * z
        x2 += x * x + y * y + z * z
    stt = t2 - t1 * t1 / count
    sx, sy, sz = tx - t1 * ax / count, ty - t1 * ay / count, tz - t1 * az / count
    sxx = x2 - (ax * ax + ay * ay + az * az) / count
    vx, vy, vz = sx / stt, sy / stt, sz / stt
    middle[0] = positions[f, p, 0] + (ax - vx * t1) / count
    middle[1] = positions[f, p, 1] + (ay - vy * t1) / count
    middle[2] = positions[f, p, 2] + (az - vz * t1) / count
    scatter = max(sxx - (sx * vx + sy * vy + sz * vz), 0.0)
    return math.sqrt(vx * vx + vy * vy + vz * vz), scatter, count


@strict_jit
def slope_variance(noise, count):
    """Return the variance per axis of the slope of a line fitted to `count` frames: 12 sigma² / ((n + 1) n (n − 1))."""
    return noise * noise * 12.0 / ((count + 1.0) * count * (count - 1.0))


class StillThresholds(NamedTuple):
    """When a frame is still."""

    reach: int
    """Half width of the fitted window, frames."""
    around: int
    """Frames to either side in which the top speed is taken."""
    fps: float
    noise: float
    """Metres per axis."""
    slowest: float
    """m/s; smallest speed limit."""
    fastest: float
    """m/s; largest speed limit."""
    share: float
    """Fraction of the top speed that is the limit in between."""


@strict_jit
def mark_still(positions, first, last, thresholds, fits, queue, out):
    """Mark in `out` (F, P) which of the frames first … last−1 are still.

    A frame is still when the fitted speed v is below a limit, v² < limit² + 4·3·var(v), and the residual's variance is
    explained by noise. The limit is `share` of the highest speed nearby, between `slowest` and `fastest`.

    fits (F, 3) and queue (F,) int64: scratch.
    """
    middle = np.empty(3)
    if last - first < 2:
        out[first:last] = False
        return
    reach, around, fps, noise, slowest, fastest, share = thresholds
    for p in range(positions.shape[1]):
        for f in range(first, last):
            slope, fits[f, 1], fits[f, 2] = fit_line(positions, first, last, f, p, reach, middle)
            fits[f, 0] = slope * fps
        # sliding maximum: a queue of frames that may be the fastest around a later one, fastest first
        head, tail = 0, 0
        for ahead in range(first, last + around):
            if ahead < last:
                while tail > head and fits[queue[tail - 1], 0] <= fits[ahead, 0]:
                    tail -= 1
                queue[tail] = ahead
                tail += 1
            f = ahead - around
            if first <= f < last:
                while queue[head] < f - around:
                    head += 1
                speed, scatter, count = fits[f, 0], fits[f, 1], fits[f, 2]
                limit = min(max(share * fits[queue[head], 0], slowest), fastest)
                spread = slope_variance(noise, count)
                freedom = max(3.0 * (count - 2.0), 1.0)
                straight = 0.25 * limit * count / fps
                allowed = noise * noise * (1.0 + 4.0 * math.sqrt(2.0 / freedom)) + straight * straight
                level = speed * speed < limit * limit + 4.0 * 3.0 * spread * fps * fps
                out[f, p] = level and scatter / freedom <= allowed


@strict_jit
def runs_of(mask, segments, out):
    """Write rows (point, start, end) of every run of True in a mask (F, P) within segments (S, 2); return the count."""
    count = 0
    for p in range(mask.shape[1]):
        for s in range(segments.shape[0]):
            start = -1
            for f in range(segments[s, 0], segments[s, 1]):
                if mask[f, p]:
                    if start < 0:
                        start = f
                elif start >= 0:
                    out[count, 0], out[count, 1], out[count, 2] = p, start, f
                    count, start = count + 1, -1
            if start >= 0:
                out[count, 0], out[count, 1], out[count, 2] = p, start, segments[s, 1]
                count += 1
    return count


@strict_jit
def median_of(values, count):
    """Return the median of the first `count` values, which are reordered."""
    middle = count // 2
    upper = select(values, count, middle)
    if count % 2 == 1:
        return upper
    below = values[0]
    for i in range(1, middle):
        below = max(below, values[i])
    return 0.5 * (below + upper)


@strict_jit
def median_position(positions, p, start, end, scratch, place):
    """Write the median position (3,) of a point over frames start … end−1; scratch (F,): scratch."""
    for k in range(3):
        for f in range(start, end):
            scratch[f - start] = positions[f, p, k]
        place[k] = median_of(scratch, end - start)


@strict_jit
def median_positions(positions, intervals, scratch, places):
    """Write the median positions (B, 3) of points over intervals; scratch (F,): scratch."""
    for n in range(intervals.shape[0]):
        median_position(positions, intervals[n, 0], intervals[n, 1], intervals[n, 2], scratch, places[n])


class EndLimits(NamedTuple):
    """Where a contact begins and ends."""

    reach: int
    """Half width of the fitted window, frames."""
    depth: int
    """Frames inside an end whose median is the place of the contact there."""
    stay: int
    """Frames for which a point is slower than `release`, at least, to have a place of its own in a contact."""
    fps: float
    noise: float
    """Metres per axis."""
    near: float
    """Metres from that place within which a point is still there."""
    creep: float
    """Times its median speed over the contact by which a point may go on from that place."""
    slow: float
    """m/s; a slower point is never cut off."""
    release: float
    """m/s; a faster point does not lengthen a contact."""


@strict_jit
def within(path, f, place, near):
    """Return whether the point of a path (F, 1, 3) is no farther than `near` from a place."""
    square = 0.0
    for k in range(3):
        square += (path[f, 0, k] - place[k]) * (path[f, 0, k] - place[k])
    return square <= near * near


@strict_jit
def still_part(speed, start, end, slow, stay):
    """Return the part of a core from its first to its last `stay` frames or more below `slow`; all, if it has none."""
    low = high = -1
    run = 0
    for f in range(start, end):
        run = run + 1 if speed[f] <= slow else 0
        if run >= stay:
            low, high = (f + 1 - run if low < 0 else low), f + 1
    return (start, end) if low < 0 else (low, high)


@strict_jit
def place_ends(positions, cores, segments, limits, path, speed, scratch, out):
    """Write cores to `out` with both ends moved to where the point arrives at its place and leaves it.

    An end is cut back while the point is fast and off its place, or else moved on while the point is slow and at it. A
    creeping point may be off by as far as it gets, at `creep` times its median speed, from the frames that tell the
    place. Both are told by the part that is slow enough to lengthen a contact, if there is one: a foot that arrives at
    half a metre per second, which is slow beside a kick, and then stands, stands from there on.

    segments (S, 2). path (F, 1, 3), speed (F,) and scratch (F,): scratch.
    """
    reach, depth, stay, fps, noise, near, creep, slow, release = limits
    place = np.empty(3)
    fitted_point = fitted_first = last = -1
    variance = 3.0 * slope_variance(noise, 2.0 * reach + 1.0) * fps * fps
    for n in range(cores.shape[0]):
        p, start, end = cores[n, 0], cores[n, 1], cores[n, 2]
        s = segments.shape[0] - 1
        while segments[s, 0] > start:
            s -= 1
        first = segments[s, 0]
        if p != fitted_point or first != fitted_first:
            fitted_point, fitted_first, last = p, first, segments[s, 1]
            for f in range(first, last):
                slope, _, _ = fit_line(positions, first, last, f, p, reach, path[f, 0])
                speed[f] = slope * fps
        fastest = math.sqrt(release * release + 4.0 * variance)
        low, high = still_part(speed, start, end, fastest, stay)
        for f in range(low, high):
            scratch[f - low] = speed[f]
        median = median_of(scratch, high - low)
        room = creep * math.sqrt(max(median * median - variance, 0.0)) / fps
        for _ in range(2):  # the second round knows the place without the frames that the first cut off
            low, high = max(low, start), min(high, end)
            width = max(min(depth, (high - low) // 2), 1)
            for sign in (-1, 1):
                f, stop = (start, low + width - 1) if sign < 0 else (end - 1, high - width)
                inner = low if sign < 0 else high - 1
                center = 0.5 * (inner + stop)
                median_position(path, 0, min(inner, stop), max(inner, stop) + 1, scratch, place)
                if within(path, f, place, near + room * abs(f - center)):
                    while first <= f + sign < last and speed[f + sign] < fastest:
                        if not within(path, f + sign, place, near + room * abs(f + sign - center)):
                            break
                        f += sign
                else:
                    while f != stop and speed[f] > slow:
                        if within(path, f, place, near + room * abs(f - center)):
                            break
                        f -= sign
                if sign < 0:
                    start = f
                else:
                    end = f + 1
        out[n, 0], out[n, 1], out[n, 2] = p, start, end


@strict_jit
def slowest_speeds(positions, intervals, reach, fps, noise, out):
    """Write the speeds (B,) of points in the slowest frame of intervals, less what noise adds.

    Lines are fitted to frames of the interval alone: wide windows see what comes before and after it.
    """
    middle = np.empty(3)
    for n in range(intervals.shape[0]):
        p, start, end = intervals[n, 0], intervals[n, 1], intervals[n, 2]
        least = np.inf
        for f in range(start, end):
            slope, _, count = fit_line(positions, start, end, f, p, reach, middle)
            least = min(least, slope * slope - 3.0 * slope_variance(noise, count))
        out[n] = fps * math.sqrt(max(least, 0.0))


@strict_jit
def bridge(positions, intervals, fps, longest, near, noise, scratch, ends, out):
    """Merge neighbours that overlap, or are at one position that the point did not leave in between; return the count.

    longest: longest gap in frames. near: metres within which positions are the same. The rows are written to `out`.
    scratch (F,), ends (2, 3): scratch.
    """
    count = 0
    reach = max(int(np.rint(0.12 * fps)), 1)
    for n in range(intervals.shape[0]):
        p, start, end = intervals[n, 0], intervals[n, 1], intervals[n, 2]
        if count > 0 and out[count - 1, 0] == p and start - out[count - 1, 2] <= longest:
            before, gap = out[count - 1, 1], out[count - 1, 2]
            if start < gap:
                out[count - 1, 1], out[count - 1, 2] = min(before, start), max(gap, end)
                # one that begins earlier may reach over several
                while count > 1 and out[count - 2, 0] == p and out[count - 1, 1] < out[count - 2, 2]:
                    count -= 1
                    out[count - 1, 1] = min(out[count - 1, 1], out[count, 1])
                    out[count - 1, 2] = max(out[count - 1, 2], out[count, 2])
                continue
            apart = max(4.0 * noise / math.sqrt(min(reach, gap - before, end - start)), near)
            median_position(positions, p, max(before, gap - reach), gap, scratch, ends[0])
            median_position(positions, p, start, min(end, start + reach), scratch, ends[1])
            step = excursion = 0.0
            for k in range(3):
                step += (ends[1, k] - ends[0, k]) * (ends[1, k] - ends[0, k])
            for f in range(gap, start):
                square = 0.0
                for k in range(3):
                    away = positions[f, p, k] - 0.5 * (ends[0, k] + ends[1, k])
                    square += away * away
                excursion = max(excursion, square)
            if math.sqrt(step) < apart and math.sqrt(excursion) < apart + 3.0 * noise:
                out[count - 1, 2] = end
                continue
        out[count, 0], out[count, 1], out[count, 2] = p, start, end
        count += 1
    return count


def _frames(count=4, points=1):
    array = np.zeros((count, points, 3))
    array.setflags(write=False)
    return array


def _rows(count=1):
    return np.array([[0, 0, 4]] * count)


WARMUP = {
    "find_jumps": lambda: (_frames(), 0, 30.0, 1.7, np.zeros(1), np.zeros(3, bool)),
    "fourth_differences": lambda: (_frames(), _rows(), np.zeros(1)),
    "mark_still": lambda: (
        _frames(), 0, 4, StillThresholds(1, 1, 30.0, 0.0, 1.0, 1.0, 1.0), np.zeros((4, 3)), np.zeros(4, np.int64),
        np.zeros((4, 1), bool),
    ),
    "runs_of": lambda: (np.ones((4, 1), bool), np.array([[0, 4]]), _rows()),
    "median_positions": lambda: (_frames(), _rows(), np.zeros(4), np.zeros((1, 3))),
    "slowest_speeds": lambda: (_frames(), _rows(), 1, 30.0, 0.0, np.zeros(1)),
    "place_ends": lambda: (
        _frames(), _rows(), np.array([[0, 4]]), EndLimits(1, 1, 1, 30.0, 0.0, 1.0, 1.0, 1.0, 1.0), np.zeros((4, 1, 3)),
        np.zeros(4), np.zeros(4), _rows(),
    ),
    "bridge": lambda: (_frames(), _rows(), 30.0, 12.0, 1.0, 0.0, np.zeros(4), np.zeros((2, 3)), _rows()),
}  # fmt: skip
