"""Contact detection in NumPy: reference implementations of `contacts._stillness`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

Intervals = list[tuple[int, int, int]]
"""(point, first frame, first frame after it)."""


def continuous_segments(positions, fps: float, height: float):
    """Cut where (nearly) all points jump at once: an added T-pose in frame 0, a cut between takes."""
    frames = len(positions)
    steps = np.linalg.norm(np.diff(positions, axis=0), axis=2)
    fewest = steps.shape[1] // 5
    step = np.partition(steps, fewest, axis=1)[:, fewest]
    around = np.concatenate([[np.nan], step, [np.nan]])
    neighbours = np.fmax(around[:-2], around[2:]) if frames > 2 else np.zeros_like(step)
    alone = (step > 5.0 * np.nan_to_num(neighbours)) & (step > 0.02 * height) & (step * fps > 3.0 * height)
    jumps = alone | (step * fps > 12.0 * height)  # no body moves as a whole at 20 m/s
    cuts = [0, *(np.flatnonzero(jumps) + 1).tolist(), frames]
    return list(pairwise(cuts))


def still(positions, fps, height, noise, settings, reach):
    """(F, P): the straight line through a short window is nearly level, and the window really is a straight line."""
    frames = len(positions)
    if frames < 2:
        return np.zeros(positions.shape[:2], bool)
    slowest = settings.speed * height
    slope, scatter, count, _ = line_fits(positions, reach)
    speed = np.linalg.norm(slope, axis=2) * fps
    top = sliding_max(speed, max(round(settings.around * fps), 1))
    limit = np.clip(settings.share * top, slowest, settings.fastest * height)
    spread = noise**2 * 12.0 / ((count + 1.0) * count * (count - 1.0))[:, None]  # variance of the slope, per axis
    level = speed**2 < limit**2 + 2.0**2 * 3.0 * spread * fps**2
    freedom = np.maximum(3.0 * (count - 2.0), 1.0)[:, None]
    allowed = noise**2 * (1.0 + 4.0 * np.sqrt(2.0 / freedom)) + (0.25 * limit * count[:, None] / fps) ** 2
    return level & (scatter / freedom <= allowed)


def sliding_max(values, reach: int):
    """Largest of the values (F, …) in the 2·reach + 1 frames around each."""
    best = np.array(values)
    done = 0
    while done < reach:  # windows grow by doubling: each round takes the maximum of two shifted copies of the last
        step = min(done + 1 if done else 1, reach - done)
        forward, backward = np.array(best), np.array(best)
        forward[:-step] = np.maximum(forward[:-step], best[step:])
        backward[step:] = np.maximum(backward[step:], best[:-step])
        best = np.maximum(forward, backward)
        done += step
    return best


def line_fits(positions, reach: int) -> tuple:
    """Straight-line fits to windows of 2·reach + 1 frames, shorter at the clip's edges.

    Returns the slope (F, P, 3) per frame, the sum of squared residuals (F, P), the number of frames (F,) and the fitted
    positions (F, P, 3).
    """
    frames, points = positions.shape[:2]
    count = np.zeros(frames)
    t1, t2 = np.zeros(frames), np.zeros(frames)
    x1, tx, x2 = np.zeros((frames, points, 3)), np.zeros((frames, points, 3)), np.zeros((frames, points))
    for k in range(-min(reach, frames - 1), min(reach, frames - 1) + 1):
        here = slice(max(0, -k), min(frames, frames - k))
        there = slice(max(0, k), min(frames, frames + k))
        away = positions[there] - positions[here]  # differences, so that far from the origin no digits are lost
        count[here] += 1
        t1[here] += k
        t2[here] += k * k
        x1[here] += away
        tx[here] += k * away
        x2[here] += np.einsum("fpk,fpk->fp", away, away)
    stt = (t2 - t1**2 / count)[:, None, None]
    stx = tx - t1[:, None, None] * x1 / count[:, None, None]
    sxx = x2 - np.einsum("fpk,fpk->fp", x1, x1) / count[:, None]
    slope = stx / stt
    scatter = np.maximum(sxx - np.einsum("fpk,fpk->fp", stx, slope), 0.0)
    middle = positions + (x1 - slope * t1[:, None, None]) / count[:, None, None]
    return slope, scatter, count, middle


def runs(mask, first: int) -> list[tuple[int, int, int]]:
    """(point, start, end) of every run of True in a mask (F, P) that begins at frame `first`."""
    edges = np.diff(np.pad(mask, ((1, 1), (0, 0))).astype(np.int8), axis=0).T
    starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
    return [(int(p), first + int(a), first + int(b)) for (p, a), (_, b) in zip(starts, ends)]


def bridge(intervals, positions, fps, height, noise, settings):
    """Merge neighbours that overlap, or are at the same place that the point did not leave in between."""
    out: list[tuple[int, int, int]] = []
    for point, start, end in intervals:
        if out and out[-1][0] == point and start - out[-1][2] <= settings.bridge * fps:
            _, before, gap = out[-1]
            if start < gap:
                out[-1] = (point, min(before, start), max(gap, end))
                continue
            reach = max(round(0.12 * fps), 1)
            near = max(4.0 * noise / np.sqrt(min(reach, gap - before, end - start)), settings.merge_near * height)
            left = np.median(positions[max(before, gap - reach) : gap, point], axis=0)
            right = np.median(positions[start : min(end, start + reach), point], axis=0)
            between = positions[gap:start, point] - 0.5 * (left + right)
            excursion = np.linalg.norm(between, axis=1).max(initial=0.0)
            if np.linalg.norm(right - left) < near and excursion < near + 3.0 * noise:
                out[-1] = (point, before, end)
                continue
        out.append((point, start, end))
    return out


def place_ends(positions, cores: Intervals, segments, limits) -> Intervals:
    """Move the ends of intervals to where the point arrives at its place and leaves it."""
    out = []
    for point, start, end in cores:
        first, last = next(segment for segment in segments if segment[0] <= start < segment[1])
        slope, _, _, path = line_fits(positions[first:last, point : point + 1], limits.reach)
        speed, path = np.linalg.norm(slope[:, 0], axis=1) * limits.fps, path[:, 0]
        width = 2.0 * limits.reach + 1.0
        variance = 36.0 * limits.noise**2 / ((width + 1.0) * width * (width - 1.0)) * limits.fps**2
        start, end = start - first, end - first
        still = speed[start:end, None] <= np.sqrt(limits.release**2 + 4.0 * variance)
        stays = [(a, b) for _, a, b in runs(still, start) if b - a >= limits.stay] or [(start, end)]
        low, high = stays[0][0], stays[-1][1]
        creep = limits.creep * np.sqrt(max(np.median(speed[low:high]) ** 2 - variance, 0.0)) / limits.fps
        frames = np.arange(last - first)
        slow = speed < np.sqrt(limits.release**2 + 4.0 * variance)
        for _ in range(2):
            low, high = max(low, start), min(high, end)
            deep = max(min(limits.depth, (high - low) // 2), 1)
            for sign, inside in ((-1, slice(low, low + deep)), (1, slice(high - deep, high))):
                away = np.linalg.norm(path - np.median(path[inside], axis=0), axis=1)
                center = 0.5 * (inside.start + inside.stop - 1)
                there = away <= limits.near + creep * np.abs(frames - center)
                at, stop = (start, inside.stop - 1) if sign < 0 else (end - 1, inside.start)
                if there[at]:
                    while 0 <= at + sign < len(frames) and slow[at + sign] and there[at + sign]:
                        at += sign
                else:
                    while at != stop and speed[at] > limits.slow and not there[at]:
                        at -= sign
                start, end = (at, end) if sign < 0 else (start, at + 1)
        out.append((point, start + first, end + first))
    return out
