"""Where points stand still: the part of contact detection that knows nothing of feet or floors.

A planted point is modelled as a constant place plus noise. Candidates are found where the slope of a short
straight-line fit is low; their ends are then placed where the rest ends (`departures`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.analysis.departures import NOISY, creep_of, drifts, middle, place_ends, rests_of

# the 20 % quantile of the length of a standard normal 3-vector, and its median
_QUANTILE_20, _MEDIAN = 1.0026, 1.5382
# standard deviation of fourth differences of white noise: sqrt(1 + 16 + 36 + 16 + 1)
_FOURTH = np.sqrt(70.0)
# seconds for which the usual creeping of a clip may go on in one direction before it counts as leaving
_JITTER = 0.1

LEAD = 40
"""Frames at the beginning of a clip that are looked at for what is apart from the motion."""


@dataclass(frozen=True)
class Stillness:
    """What counts as standing still. Lengths are in body heights, so that a child and a giant are judged alike."""

    speed: float = 0.085
    """Body heights a second; a point slower than this is still, whatever the rest of the clip does (0.15 m/s for an
    adult)."""
    share: float = 0.1
    """Share of its own top speed around the frame below which a point is still too: in a run, feet that stand are
    tracked less exactly than in slow motion, and what is slow is a matter of comparison."""
    fastest: float = 0.45
    """Body heights a second; no point that is faster stands, whatever its top speed: it slides (0.8 m/s)."""
    around: float = 0.6
    """Seconds before and after a frame in which the top speed is sought: about a step."""
    shortest: float = 0.05
    """Seconds; what is still for less is a turning point of the path, not a plant."""
    rest: float = 0.00005
    """Body heights; a point that strays no further than this beyond its noise truly rests, and its stay ends where that
    rest ends (0.1 mm). Any other creeps, and its stay ends where it is no longer slow."""
    wander: float = 0.0000005
    """Body heights; how far a planted point may stray even in clean data (1 µm for an adult)."""
    gone: float = 0.004
    """Body heights; a point this far from its place has left it, in clean data (7 mm)."""
    bridge: float = 0.4
    """Seconds; two stays at the same place are one when the gap is shorter and the point does not leave in it."""
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


def find_stays(
    positions: NDArray, kinds: NDArray, fps: float, height: float, settings: Stillness
) -> tuple[list[Stay], float]:
    """Stays of each of P points, from positions (F, P, 3) in metres, and the white noise on them, metres per axis.

    `kinds` (P,) int64 are equal for points that move alike, such as both heels.
    """
    frames, points = positions.shape[:2]
    if frames < 2 or points == 0:
        return [], 0.0
    segments = continuous_segments(positions, fps, height)
    noise = _rough_noise(positions, segments)
    still, cores = np.zeros((frames, points), bool), []
    for _ in range(2):  # the second round knows the noise from the stays themselves
        for first, last in segments:
            still[first:last] = _still(positions[first:last], fps, height, noise, settings)
        cores = sorted(core for first, last in segments for core in _runs(still[first:last], first))
        noise = _noise_within(positions, cores, noise)
    cores = _bridge(cores, positions, fps, height, noise, settings)
    cores, creeping = _rests(positions, cores, fps, height, noise, settings)
    wander, gone = settings.wander * height, settings.gone * height
    ends = place_ends(positions, cores, creeping, kinds, segments, fps, noise, wander, gone)
    ends = _bridge(_disjoint(ends), positions, fps, height, noise, settings)
    shortest = max(settings.shortest * fps, 2.0)
    edges = {frame for segment in segments for frame in segment}
    stays = []
    for point, start, end in ends:
        track = positions[start:end, point]
        # the clip's edge cuts a stay anywhere, so a short rest there is no evidence of a turning point
        rests = np.sqrt(track.var(axis=0).mean()) <= 1.35 * noise + settings.rest * height
        enough = 2 if rests and not edges.isdisjoint((start, end)) else shortest
        if end - start >= enough - 0.5:
            stays.append(Stay(point, start, end, middle(track)))
    return stays, noise


def _rests(positions, cores, fps: float, height: float, noise: float, settings: Stillness):
    """Cores cut down to their rests, and which of them creep instead and stay as they are."""
    found = [rests_of(positions, core, fps, noise, 0.001 * height) for core in cores]
    rests, spread = [rests for rests, _ in found], np.array([calmest for _, calmest in found])
    length = np.array([end - start for _, start, end in cores])
    creeps = spread > 1.35 * noise + settings.rest * height
    # a drift that noise hides from the spread of short windows still moves the mean of half a plant
    noisy = noise > NOISY * settings.wander * height
    drifting = length[drifts(positions, cores, noise)].sum() if noisy else 0
    if max(length[creeps].sum(), drifting) > 0.5 * length.sum():
        creeps[:] = True  # what creeps at most plants only seems to rest at the others
    parts = [[core] if creep else rest for core, rest, creep in zip(cores, rests, creeps)]
    return [part for group in parts for part in group], np.repeat(creeps, [len(group) for group in parts])


def continuous_segments(positions: NDArray, fps: float, height: float) -> list[tuple[int, int]]:
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


def lead_in(positions: NDArray, height: float) -> int:
    """How many frames at the beginning are apart from the motion, else 0: an added T-pose, or a capture not begun yet.

    positions: (F, P, 3) metres, of joints; the first `LEAD` frames are looked at.
    """
    if len(positions) < 4:
        return 0
    steps = np.linalg.norm(np.diff(positions[:LEAD], axis=0), axis=2)
    # the whole body is elsewhere from one frame to the next, once, and never mind what it did before
    whole = steps.min(axis=1)
    jumps = np.flatnonzero((whole > 0.1 * height) & (whole > 5.0 * np.median(whole)))
    if len(jumps) == 1 and len(positions) > LEAD:
        return int(jumps[0]) + 1
    first = steps[:11].max(axis=1)
    return int(first[0] > 0.05 * height and first[0] > 5.0 * np.median(first[1:]))


def _rough_noise(positions: NDArray, segments) -> float:
    """White noise per axis, from the quietest fifth of the fourth differences."""
    fourth = [np.diff(positions[a:b], n=4, axis=0) for a, b in segments if b - a > 4]
    if not fourth:
        return 0.0
    lengths = np.linalg.norm(np.concatenate(fourth), axis=-1)
    return float(np.quantile(lengths, 0.2)) / (_QUANTILE_20 * _FOURTH)


def _noise_within(positions: NDArray, cores, fallback: float) -> float:
    """White noise per axis inside the stays, where the true fourth differences are zero."""
    inside = [np.diff(positions[a:b, point], n=4, axis=0) for point, a, b in cores if b - a > 4]
    if not inside:
        return fallback
    return float(np.median(np.linalg.norm(np.concatenate(inside), axis=-1))) / (_MEDIAN * _FOURTH)


def _still(positions: NDArray, fps: float, height: float, noise: float, settings: Stillness) -> NDArray:
    """(F, P): the straight line through a short window is nearly level, and the window really is a straight line."""
    frames = len(positions)
    if frames < 2:
        return np.zeros(positions.shape[:2], bool)
    slowest = settings.speed * height
    # the window that brings the slope's noise to a third of the limit: sigma_v^2 = 12 sigma^2 dt / T^3
    seconds = (12.0 * noise**2 / fps / (slowest / 3.0) ** 2) ** (1.0 / 3.0)
    reach = max(round(np.clip(seconds, settings.smallest_window, settings.largest_window) * fps / 2.0), 1)
    slope, scatter, count = line_fits(positions, reach)
    speed = np.linalg.norm(slope, axis=2) * fps
    top = sliding_max(speed, max(round(settings.around * fps), 1))
    limit = np.clip(settings.share * top, slowest, settings.fastest * height)
    spread = noise**2 * 12.0 / ((count + 1.0) * count * (count - 1.0))[:, None]  # variance of the slope, per axis
    level = speed**2 < limit**2 + 2.0**2 * 3.0 * spread * fps**2
    freedom = np.maximum(3.0 * (count - 2.0), 1.0)[:, None]
    allowed = noise**2 * (1.0 + 4.0 * np.sqrt(2.0 / freedom)) + (0.25 * limit * count[:, None] / fps) ** 2
    return level & (scatter / freedom <= allowed)


def sliding_max(values: NDArray, reach: int) -> NDArray:
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


def _runs(mask: NDArray, first: int) -> list[tuple[int, int, int]]:
    """(point, start, end) of every run of True in a mask (F, P) that begins at frame `first`."""
    edges = np.diff(np.pad(mask, ((1, 1), (0, 0))).astype(np.int8), axis=0).T
    starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
    return [(int(p), first + int(a), first + int(b)) for (p, a), (_, b) in zip(starts, ends)]


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
    if not intervals:
        return []
    jitter = _JITTER * float(np.median(creep_of(positions, intervals, fps, noise)))
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
