"""The instants at which a still point comes to rest and leaves.

A threshold on speed would end every plant late by the time the foot takes to gain that speed. In clean data the ends
are where the point is no longer exactly at its place; in noise they are change points (`change_points`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.analysis.change_points import Edges, change_points

NOISY = 200.0
"""Noise this many times the wander of a planted point in clean data hides how it leaves and whether it drifts."""

# seconds; a rest this long is no turning point
_SOLID = 0.08
# chi-square of three axes that chance exceeds in one of 1000
_DRIFT = 16.3
# how far the means of a window's halves may differ by chance, in standard deviations
_SHIFT = 5.0

Intervals = list[tuple[int, int, int]]
"""(point, first frame, first frame after it)."""


def place_ends(
    positions: NDArray,
    cores: Intervals,
    creeping: NDArray,
    kinds: NDArray,
    segments: list[tuple[int, int]],
    fps: float,
    noise: float,
    wander: float,
    gone: float,
) -> Intervals:
    """Move both ends of each core to where its rest really begins and ends.

    `creeping` (B,) marks cores without a rest (a foot that its skeleton lets roll): they have no such instant, and
    their slow core is the answer. `kinds` (P,) are equal for points that leave and land alike (both heels). `wander`
    and `gone` are metres, see `Stillness`.
    """
    resting = [core for core, creeps in zip(cores, creeping) if not creeps]
    if not resting:
        return list(cores)
    point, start, end = np.array(resting).T
    noisy = noise > NOISY * wander
    ends = []
    for sign, edge in ((-1, start), (1, end - 1)):
        # in noise the place is told by most of the rest, and gentle departures by more of what follows
        depth, inward, outward, far = (0.7, 0.7, 0.5, 30.0) if noisy else (0.5, 0.5, 0.15, 10.0)
        least, reach = max(noise, wander), (inward, outward)
        edges = _edges(positions, resting, sign, segments, fps, depth, reach, least, far, gone)
        change = change_points(edges, kinds[point], fps) if noisy else _last_at_rest(edges)
        ends.append(edge + sign * np.floor(change + 1e-9).astype(np.int64))
    placed = [(int(p), int(a), int(b) + 1) for p, a, b in zip(point, *ends)]
    return placed + [core for core, creeps in zip(cores, creeping) if creeps]


def _edges(
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
) -> Edges:
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
    return Edges(k, away * used[..., None], used, open_end, end - start >= _SOLID * fps, scale)


def _last_at_rest(edges: Edges) -> NDArray:
    """(B,) frames from the edge: the last one before the point strays further than it does at rest."""
    strayed = edges.used & (np.linalg.norm(edges.away, axis=2) > 4.0 * edges.scale[:, None])
    beyond = np.where(edges.used, np.arange(len(edges.k)), -1).max(axis=1)
    first = np.where(strayed.any(axis=1), np.maximum(strayed.argmax(axis=1) - 1, 0), beyond)
    return edges.k[first].astype(float)


def rests_of(
    positions: NDArray, core: tuple[int, int, int], fps: float, noise: float, wander: float
) -> tuple[Intervals, float]:
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
    positions: NDArray, core: tuple[int, int, int], longest: int, noise: float, wander: float, parted: float = 1.0
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
        steady = shift <= max(_SHIFT * noise * np.sqrt(2.0 / half), 2.0 * wander)
        calm &= steady | ~(calm & steady).any()
    calm = np.flatnonzero(calm)
    runs = np.split(calm, np.flatnonzero(np.diff(calm) >= parted * length) + 1)
    return [(point, start + int(run[0]), start + int(run[-1]) + length) for run in runs], calmest


def middle(values: NDArray) -> NDArray:
    """The median over the first axis, as `np.median` has it; for short arrays that takes ten times as long."""
    ordered = np.sort(values, axis=0)
    return 0.5 * (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2])


def creep_of(positions: NDArray, cores: Intervals, fps: float, noise: float) -> NDArray:
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


def drifts(positions: NDArray, cores: Intervals, noise: float) -> NDArray:
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
    return drift > _DRIFT * noise**2


def _masked_center(values: NDArray, mask: NDArray) -> NDArray:
    """Mean over axis 1 of values (B, W, K) where mask (B, W), without those far from the median."""
    away = np.abs(values - _masked_median(values, mask)[:, None]) * mask[..., None]
    usual = _masked_median(away, mask)[:, None]
    kept = (mask[..., None] & (away <= 3.0 * usual + 1e-12)).astype(float)
    return (values * kept).sum(axis=1) / kept.sum(axis=1)


def _masked_median(values: NDArray, mask: NDArray) -> NDArray:
    """Median over axis 1 of values (B, W, K) where mask (B, W); every row has at least one."""
    ordered = np.sort(np.where(mask[..., None], values, np.inf), axis=1)
    count = mask.sum(axis=1)
    rows = np.arange(len(values))
    return 0.5 * (ordered[rows, (count - 1) // 2] + ordered[rows, count // 2])
