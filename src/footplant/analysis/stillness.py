"""Where points stand still: the part of contact detection that knows nothing of feet or floors.

A planted point is modelled as a constant place plus noise. Candidates are found where the slope of a short
straight-line fit is low; their ends are then placed by a change-point fit: constant before the instant τ, a constant
acceleration after it.
Thresholding a speed instead would end every plant late by the time the foot takes to gain that speed, and would have
to be tuned to the frame rate and the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

# the 20 % quantile of |z| for a standard normal z, and its median
_QUANTILE_20, _MEDIAN = 0.2533, 0.6745
# standard deviation of fourth differences of white noise: sqrt(1 + 16 + 36 + 16 + 1)
_FOURTH = np.sqrt(70.0)
# a point this many times the noise away from its place has left it
_GONE = 8.0


@dataclass(frozen=True)
class Stillness:
    """What counts as standing still. Lengths are in body heights, so that a child and a giant are judged alike."""

    speed: float = 0.085
    """Body heights a second; faster points slide or swing (0.15 m/s for an adult)."""
    shortest: float = 0.05
    """Seconds; what is still for less is a turning point of the path, not a plant."""
    wander: float = 0.0005
    """Body heights; how far a planted point may stray even in clean data (about 1 mm for an adult)."""
    bridge: float = 0.12
    """Seconds; two stays at the same place with a shorter gap between them are one."""
    smallest_window: float = 0.04
    """Seconds; length of the straight-line fit in clean data."""
    largest_window: float = 0.15
    """Seconds; length of the fit in the noisiest data: longer ones would swallow the steps of a run."""


@dataclass(frozen=True, eq=False)
class Stay:
    """One point standing still from frame `start` up to, not including, frame `end`."""

    point: int
    start: int
    end: int
    place: NDArray
    """(3,) metres; the median place."""


def find_stays(positions: NDArray, fps: float, height: float, settings: Stillness) -> tuple[list[Stay], NDArray]:
    """Stays of each of P points, from positions (F, P, 3) in metres, and the noise (P,) in metres per axis."""
    frames, points = positions.shape[:2]
    if frames < 2 or points == 0:
        return [], np.zeros(points)
    segments = continuous_segments(positions, fps, height)
    noise = _rough_noise(positions, segments)
    still, cores = np.zeros((frames, points), bool), []
    for _ in range(2):  # the second round knows the noise from the stays themselves
        for first, last in segments:
            still[first:last] = _still(positions[first:last], fps, height, noise, settings)
        cores = _runs(still)
        noise = _noise_within(positions, cores, noise)
    cores = _bridge(cores, positions, fps, height, noise, settings)
    ends = _refine(positions, cores, segments, fps, height, noise, settings)
    ends = _bridge(_disjoint(ends), positions, fps, height, noise, settings)
    shortest = max(settings.shortest * fps, 2.0)
    stays = []
    for point, start, end in ends:
        # the clip's edge cuts a stay anywhere, so a short rest there is no evidence of a turning point
        cut = any(start == first or end == last for first, last in segments if first <= start < last)
        if end - start >= (2 if cut else shortest) - 0.5:
            stays.append(Stay(point, start, end, np.median(positions[start:end, point], axis=0)))
    return stays, noise


def continuous_segments(positions: NDArray, fps: float, height: float) -> list[tuple[int, int]]:
    """Cut where all points jump at once: an added T-pose in frame 0, a cut between takes."""
    frames = len(positions)
    step = np.median(np.linalg.norm(np.diff(positions, axis=0), axis=2), axis=1)
    around = np.concatenate([[np.nan], step, [np.nan]])
    neighbours = np.fmax(around[:-2], around[2:]) if frames > 2 else np.zeros_like(step)
    jumps = (step > 5.0 * np.nan_to_num(neighbours)) & (step > 0.02 * height) & (step * fps > 3.0 * height)
    cuts = [0, *(np.flatnonzero(jumps) + 1).tolist(), frames]
    return list(pairwise(cuts))


def _rough_noise(positions: NDArray, segments) -> NDArray:
    """White noise per axis, from the quietest fifth of the fourth differences."""
    fourth = [np.diff(positions[a:b], n=4, axis=0) for a, b in segments if b - a > 4]
    if not fourth:
        return np.zeros(positions.shape[1])
    quiet = np.quantile(np.abs(np.concatenate(fourth)), 0.2, axis=0)
    return np.median(quiet, axis=-1) / (_QUANTILE_20 * _FOURTH)


def _noise_within(positions: NDArray, cores, fallback: NDArray) -> NDArray:
    """White noise per axis inside the stays, where the true fourth differences are zero."""
    noise = np.array(fallback)
    for point in range(positions.shape[1]):
        inside = [np.diff(positions[a:b, point], n=4, axis=0) for p, a, b in cores if p == point and b - a > 4]
        if inside:
            noise[point] = np.median(np.abs(np.concatenate(inside))) / (_MEDIAN * _FOURTH)
    return noise


def _still(positions: NDArray, fps: float, height: float, noise: NDArray, settings: Stillness) -> NDArray:
    """(F, P): the straight line through a short window is nearly level, and the window really is a straight line."""
    frames = len(positions)
    limit = settings.speed * height
    # the window that brings the slope's noise to a third of the limit: sigma_v^2 = 12 sigma^2 dt / T^3
    seconds = (12.0 * np.median(noise) ** 2 / fps / (limit / 3.0) ** 2) ** (1.0 / 3.0)
    reach = max(round(np.clip(seconds, settings.smallest_window, settings.largest_window) * fps / 2.0), 1)
    if frames < 2:
        return np.zeros(positions.shape[:2], bool)
    slope, scatter, count = line_fits(positions, reach)
    spread = noise**2 * 12.0 / ((count + 1.0) * count * (count - 1.0))[:, None]  # variance of the slope, per axis
    level = np.einsum("fpk,fpk->fp", slope, slope) * fps**2 < limit**2 + 2.0**2 * 3.0 * spread * fps**2
    freedom = np.maximum(3.0 * (count - 2.0), 1.0)[:, None]
    allowed = noise**2 * (1.0 + 4.0 * np.sqrt(2.0 / freedom)) + (2.0 * settings.wander * height) ** 2
    return level & (scatter / freedom <= allowed)


def line_fits(positions: NDArray, reach: int) -> tuple[NDArray, NDArray, NDArray]:
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


def _runs(mask: NDArray) -> list[tuple[int, int, int]]:
    """(point, start, end) of every run of True in a mask (F, P), by point and then by time."""
    edges = np.diff(np.pad(mask, ((1, 1), (0, 0))).astype(np.int8), axis=0).T
    starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
    return [(int(p), int(a), int(b)) for (p, a), (_, b) in zip(starts, ends)]


def _disjoint(intervals) -> list[tuple[int, int, int]]:
    """Sorted and without overlaps; intervals of one point that touch are made one."""
    out: list[tuple[int, int, int]] = []
    for point, start, end in sorted(intervals):
        if out and out[-1][0] == point and start < out[-1][2]:
            out[-1] = (point, out[-1][1], max(end, out[-1][2]))
        elif end > start:
            out.append((point, start, end))
    return out


def _bridge(intervals, positions, fps, height, noise, settings: Stillness) -> list[tuple[int, int, int]]:
    """Join neighbours at the same place when the point did not leave it in between."""
    out: list[tuple[int, int, int]] = []
    for point, start, end in intervals:
        if out and out[-1][0] == point and start - out[-1][2] <= settings.bridge * fps:
            _, before, gap = out[-1]
            reach = max(round(settings.bridge * fps), 1)
            near = max(4.0 * noise[point] / np.sqrt(min(reach, gap - before, end - start)), 0.006 * height)
            left = np.median(positions[max(before, gap - reach) : gap, point], axis=0)
            right = np.median(positions[start : min(end, start + reach), point], axis=0)
            between = positions[gap:start, point] - 0.5 * (left + right)
            excursion = np.linalg.norm(between, axis=1).max(initial=0.0)
            if np.linalg.norm(right - left) < near and excursion < near + 3.0 * noise[point] + 0.006 * height:
                out[-1] = (point, before, end)
                continue
        out.append((point, start, end))
    return out


def _refine(positions, cores, segments, fps, height, noise, settings: Stillness) -> list[tuple[int, int, int]]:
    """Move both ends of each core to the change point between a rest and a constant acceleration."""
    if not cores:
        return []
    frames = len(positions)
    inner = outer = max(round(0.15 * fps), 3)
    k = np.arange(-inner, outer + 1)
    point, start, end = np.array(cores).T
    segment_of = np.zeros(frames, np.int64)
    for number, (first, _) in enumerate(segments):
        segment_of[first:] = number
    lows, highs = np.array(segments).T
    results = []
    for sign, edge, last in ((-1, start, end - 1), (1, end - 1, start)):
        index = edge[:, None] + sign * k
        segment = segment_of[edge][:, None]
        valid = (index >= lows[segment]) & (index < highs[segment]) & (sign * (index - last[:, None]) >= 0)
        index = np.clip(index, 0, frames - 1)
        track = positions[index, point[:, None]]  # (B, W, 3), outwards in time
        inside = valid & (k <= 0)
        center = _masked_median(track, inside)
        away = track - center[:, None]
        distance = np.linalg.norm(away, axis=2)
        # three axes: the median distance of Gaussian noise is 1.54 sigma
        scatter = _masked_median(distance[..., None], inside)[:, 0] / 1.54
        scale = np.maximum(np.maximum(scatter, noise[point]), settings.wander * height)
        # once the point has left, its acceleration need not be constant any more
        left = (distance > _GONE * scale[:, None]) & (k > 0) & valid
        first_out = np.where(left.any(axis=1), left.argmax(axis=1), len(k))
        used = valid & (np.arange(len(k)) <= first_out[:, None])
        change = _change_points(k, away * used[..., None], used, fps)
        at_edge = ~(valid & (k > 0)).any(axis=1)
        change = np.where(at_edge, 0.0, change)
        results.append(edge + sign * np.floor(change + 1e-9).astype(np.int64))
    return [(int(p), int(a), int(b) + 1) for p, a, b in zip(point, *results)]


def _change_points(k: NDArray, away: NDArray, used: NDArray, fps: float) -> NDArray:
    """(B,) instants τ, in frames from the edge, where rest turns into a·(t − τ)²: least squares over τ and a."""
    step = min(1.0, max(0.25, fps / 480.0))
    instants = np.arange(k[0], k[-1], step)
    basis = np.maximum(k[:, None] - instants, 0.0) ** 2  # (W, τ)
    norm = used.astype(float) @ basis**2
    match = np.einsum("bwk,wt->btk", away, basis, optimize=True)
    explained = np.einsum("btk,btk->bt", match, match) / np.maximum(norm, 1e-300)
    return instants[explained.argmax(axis=1)]


def _masked_median(values: NDArray, mask: NDArray) -> NDArray:
    """Median over axis 1 of values (B, W, K) where mask (B, W); every row has at least one."""
    ordered = np.sort(np.where(mask[..., None], values, np.inf), axis=1)
    count = mask.sum(axis=1)
    rows = np.arange(len(values))
    return 0.5 * (ordered[rows, (count - 1) // 2] + ordered[rows, count // 2])
