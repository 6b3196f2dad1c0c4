"""Contact detection in NumPy: reference implementations of `contacts._stillness` and `contacts._rests`."""

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
    slope, scatter, count = line_fits(positions, reach)
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

    Returns the slope (F, P, 3) per frame, the sum of squared residuals (F, P) and the number of frames (F,).
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
    return slope, scatter, count


def runs(mask, first: int) -> list[tuple[int, int, int]]:
    """(point, start, end) of every run of True in a mask (F, P) that begins at frame `first`."""
    edges = np.diff(np.pad(mask, ((1, 1), (0, 0))).astype(np.int8), axis=0).T
    starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
    return [(int(p), first + int(a), first + int(b)) for (p, a), (_, b) in zip(starts, ends)]


def bridge(intervals, positions, fps, height, noise, settings):
    """Join neighbours at the same place when the point did not leave it in between."""
    if not intervals:
        return []
    jitter = 0.1 * float(np.median(creep_of(positions, intervals, fps, noise)))
    out: list[tuple[int, int, int]] = []
    for point, start, end in intervals:
        if out and out[-1][0] == point and start - out[-1][2] <= settings.bridge * fps:
            _, before, gap = out[-1]
            reach = max(round(0.12 * fps), 1)
            # in a moment too short to go anywhere, a point may be carried on by its creeping
            apart = settings.gone * height + jitter if start - gap > 0.05 * fps else 0.02 * height
            near = max(4.0 * noise / np.sqrt(min(reach, gap - before, end - start)), apart)
            left = middle(positions[max(before, gap - reach) : gap, point])
            right = middle(positions[start : min(end, start + reach), point])
            between = positions[gap:start, point] - 0.5 * (left + right)
            excursion = np.linalg.norm(between, axis=1).max(initial=0.0)
            if np.linalg.norm(right - left) < near and excursion < near + 3.0 * noise:
                out[-1] = (point, before, end)
                continue
        out.append((point, start, end))
    return out


def edges(
    positions,
    cores: Intervals,
    sign: int,
    segments,
    fps: float,
    depth: float,
    reach: tuple[float, float],
    least: float,
    far: float,
    gone: float,
):
    """Look at one end of every core (−1: starts, 1: ends), a share `depth` into it, within `reach` seconds.

    `reach` goes inwards and outwards. A point has left when it is further away than `gone` metres and than `far` times
    the noise, which is at least `least` metres.
    """
    frames = len(positions)
    inner, outer = (max(round(seconds * fps), 3) for seconds in reach)
    k = np.arange(-inner, outer + 1)
    point, start, end = np.array(cores).T
    edge, last = (start, end - 1) if sign < 0 else (end - 1, start)
    deepest = edge - sign * np.ceil(depth * (end - 1 - start)).astype(np.int64)
    lows, highs = np.array(segments).T
    segment = np.searchsorted(lows, edge, side="right")[:, None] - 1
    index = edge[:, None] + sign * k
    valid = (index >= lows[segment]) & (index < highs[segment]) & (sign * (index - last[:, None]) >= 0)
    track = positions[np.clip(index, 0, frames - 1), point[:, None]]
    inside = valid & (k <= 0)
    away = track - _masked_center(track, inside)[:, None]
    distance = np.linalg.norm(away, axis=2)
    # three axes: the median distance of Gaussian noise is 1.54 sigma
    scale = np.maximum(_masked_median(distance[..., None], inside)[:, 0] / 1.54, least)
    # each end is looked for in its own part of the core
    near = valid & (sign * (index - deepest[:, None]) >= 0)
    left = (distance > np.maximum(far * scale, gone)[:, None]) & near
    first_out = np.where(left.any(axis=1), left.argmax(axis=1), len(k))
    used = near & (np.arange(len(k)) <= first_out[:, None])
    open_end = (valid & (k > 0)).any(axis=1)
    return away * used[..., None], used, open_end, scale


def last_at_rest(away, used, open_end, scale):
    """(B,) the last place of a window before the point strays further than it does at rest."""
    strayed = used & (np.linalg.norm(away, axis=2) > 4.0 * scale[:, None])
    beyond = np.where(used, np.arange(used.shape[1]), -1).max(axis=1)
    return np.where(strayed.any(axis=1), np.maximum(strayed.argmax(axis=1) - 1, 0), beyond)


def rests_of(positions, core: tuple[int, int, int], fps: float, noise: float, wander: float) -> tuple[Intervals, float]:
    """The rests inside a core, without slow movements between them or at its ends: a heel that rises gently.

    A movement is where a short window strays more than `wander` metres, more than noise would and much more than the
    core's calmest window. In noise the window is longer, or slow movements would drown. Also returned is how far the
    calmest window strays, metres per axis.
    """
    longest = max(round((0.15 if noise < wander else 0.35) * fps), 3)
    rests, calmest = _calm(positions, core, longest, noise, wander)
    if noise >= wander:
        # what takes twice as long goes as far in steps that noise hides from the shorter window
        rests = [part for rest in rests for part in _calm(positions, rest, 2 * longest, noise, wander, 0.5)[0]]
    return rests, calmest


def _calm(
    positions, core: tuple[int, int, int], longest: int, noise: float, wander: float, parted: float = 1.0
) -> tuple[Intervals, float]:
    """See `rests_of`; the window has `longest` frames, or a third of the core.

    Windows that straddle a movement make a gap of about their length; a gap shorter than that times `parted` is chance.
    """
    point, start, end = core
    track = positions[start:end, point] - positions[start, point]
    length = int(np.clip(len(track) // 3, 3, longest))
    if len(track) <= length:
        return [core], float(np.sqrt(track.var(axis=0).mean()))
    sums = np.zeros((len(track) + 1, 4))
    np.cumsum(track, axis=0, out=sums[1:, :3])
    np.cumsum((track**2).sum(axis=1), out=sums[1:, 3])
    mean = (sums[length:] - sums[:-length]) / length
    spread = np.sqrt(np.maximum(mean[:, 3] - (mean[:, :3] ** 2).sum(axis=1), 0.0) / 3.0)
    calmest = float(spread.min())
    calm = spread <= max(calmest * (3.0 if noise < wander else 1.0), 1.35 * noise, wander)
    if noise >= wander:
        # a slow movement hardly widens the spread of noise, but moves the mean of a window's later half
        half = length // 2
        means = (sums[half:, :3] - sums[:-half, :3]) / half
        shift = np.linalg.norm(means[length - half :] - means[: len(spread)], axis=1)
        steady = shift <= max(5.0 * noise * np.sqrt(2.0 / half), 2.0 * wander)
        calm &= steady | ~(calm & steady).any()
    calm = np.flatnonzero(calm)
    runs = np.split(calm, np.flatnonzero(np.diff(calm) >= parted * length) + 1)
    return [(point, start + int(run[0]), start + int(run[-1]) + length) for run in runs], calmest


def middle(values):
    """The median over the first axis, as `np.median` has it; for short arrays that takes ten times as long."""
    ordered = np.sort(values, axis=0)
    return 0.5 * (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2])


def creep_of(positions, cores: Intervals, fps: float, noise: float):
    """(B,) m/s: the usual speed over half of each core, beyond what noise alone would show; 0 for a true rest."""
    creep = np.zeros(len(cores))
    for row, (point, start, end) in enumerate(cores):
        margin = (end - start) // 5
        track = positions[start + margin : end - margin, point]
        lag = max(len(track) // 2, 1)
        steps = track[lag:] - track[:-lag]
        if len(steps):
            squared = np.einsum("fk,fk->f", steps, steps)
            creep[row] = np.sqrt(max(float(middle(squared)) - 12.0 * noise**2, 0.0)) * fps / lag
    return creep


def drifts(positions, cores: Intervals, noise: float):
    """(B,) bool: the place in the first half of each core differs from that in the second by more than noise explains.

    A fifth at either end is left out, where the point may be landing or leaving.
    """
    drift = np.zeros(len(cores))
    for row, (point, start, end) in enumerate(cores):
        margin = (end - start) // 5
        track = positions[start + margin : end - margin, point]
        half = len(track) // 2
        if half:
            drift[row] = 0.5 * half * ((track[-half:].mean(axis=0) - track[:half].mean(axis=0)) ** 2).sum()
    return drift


def _masked_center(values, mask):
    """Mean over axis 1 of values (B, W, K) where mask (B, W), without those far from the median."""
    away = np.abs(values - _masked_median(values, mask)[:, None]) * mask[..., None]
    usual = _masked_median(away, mask)[:, None]
    kept = (mask[..., None] & (away <= 3.0 * usual + 1e-12)).astype(float)
    return (values * kept).sum(axis=1) / kept.sum(axis=1)


def _masked_median(values, mask):
    """Median over axis 1 of values (B, W, K) where mask (B, W); every row has at least one."""
    ordered = np.sort(np.where(mask[..., None], values, np.inf), axis=1)
    count = mask.sum(axis=1)
    rows = np.arange(len(values))
    return 0.5 * (ordered[rows, (count - 1) // 2] + ordered[rows, count // 2])
