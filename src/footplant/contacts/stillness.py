"""Where points stand still: the part of contact detection that knows nothing of feet or floors.

A planted point is modelled as a constant place plus noise. Candidates are found where the slope of a short
straight-line fit is low; their ends are then placed where the rest ends (`departures`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.departures import NOISY, creep_of, drifts, middle, place_ends, rests_of

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
    positions = read_only(positions)
    segments = np.array(continuous_segments(positions, fps, height))
    whole = np.array([(point, first, last) for point in range(points) for first, last in segments.tolist()])
    # from the quietest fifth of the fourth differences
    noise = _noise(positions, whole, 0.2, _QUANTILE_20, 0.0)
    cores = whole
    for _ in range(2):  # the second round knows the noise from the stays themselves
        cores = _cores(positions, segments, fps, height, noise, settings)
        # inside the stays the true fourth differences are zero
        noise = _noise(positions, cores, 0.5, _MEDIAN, noise)
    cores = _bridge(cores, positions, fps, height, noise, settings)
    cores, creeping = _rests(positions, cores, fps, height, noise, settings)
    wander, gone = settings.wander * height, settings.gone * height
    ends = place_ends(positions, cores, creeping, kinds, segments, fps, noise, wander, gone)
    ends = _bridge(_disjoint(ends), positions, fps, height, noise, settings)
    return _stays(positions, ends, segments, fps, height, noise, settings), noise


def _stays(positions, ends, segments, fps: float, height: float, noise: float, settings: Stillness) -> list[Stay]:
    """The intervals that are long enough to be stays."""
    from footplant.contacts import _rests as kernel

    places, spreads = np.empty((len(ends), 3)), np.empty(len(ends))
    kernel.rest_places(positions, ends, np.empty(len(positions)), places, spreads)
    shortest = max(settings.shortest * fps, 2.0)
    edges = set(segments.ravel().tolist())
    stays = []
    for (point, start, end), place, spread in zip(ends.tolist(), places, spreads.tolist()):
        # the clip's edge cuts a stay anywhere, so a short rest there is no evidence of a turning point
        rests = spread <= 1.35 * noise + settings.rest * height
        enough = 2 if rests and (start in edges or end in edges) else shortest
        if end - start >= enough - 0.5:
            stays.append(Stay(point, start, end, place))
    return stays


def _rests(positions, cores, fps: float, height: float, noise: float, settings: Stillness):
    """Cores cut down to their rests, and which of them creep instead and stay as they are."""
    rests, counts, spread = rests_of(positions, cores, fps, noise, 0.001 * height)
    length = cores[:, 2] - cores[:, 1]
    creeps = spread > 1.35 * noise + settings.rest * height
    # a drift that noise hides from the spread of short windows still moves the mean of half a plant
    noisy = noise > NOISY * settings.wander * height
    drifting = length[drifts(positions, cores, noise)].sum() if noisy else 0
    if max(length[creeps].sum(), drifting) > 0.5 * length.sum():
        creeps[:] = True  # what creeps at most plants only seems to rest at the others
    if not creeps.any():
        return rests, np.zeros(len(rests), bool)
    groups = np.split(rests, np.cumsum(counts)[:-1])
    parts = [cores[[row]] if creep else group for row, (group, creep) in enumerate(zip(groups, creeps))]
    return np.concatenate(parts), np.repeat(creeps, [len(group) for group in parts])


def read_only(positions: NDArray) -> NDArray:
    """Positions as kernels take them: contiguous, and not to be written."""
    positions = np.ascontiguousarray(positions, float).view()
    positions.setflags(write=False)
    return positions


def continuous_segments(positions: NDArray, fps: float, height: float) -> list[tuple[int, int]]:
    """Cut where (nearly) all points jump at once: an added T-pose in frame 0, a cut between takes."""
    from footplant.contacts import _stillness as kernel

    frames, points = positions.shape[:2]
    jumps = np.empty(max(frames - 1, 0), bool)
    kernel.find_jumps(read_only(positions), points // 5, float(fps), float(height), np.empty(points), jumps)
    return list(pairwise([0, *(np.flatnonzero(jumps) + 1).tolist(), frames]))


def lead_in(positions: NDArray, height: float) -> int:
    """How many frames at the beginning are apart from the motion, else 0: an added T-pose, or a capture not begun yet.

    positions: (F, P, 3) metres, of joints; the first `LEAD` frames are looked at.
    """
    if len(positions) < 4:
        return 0
    steps = positions[1:LEAD] - positions[: min(LEAD, len(positions)) - 1]
    steps = np.sqrt(np.einsum("fpk,fpk->fp", steps, steps))
    # the whole body is elsewhere from one frame to the next, once, and never mind what it did before
    whole = steps.min(axis=1)
    far = np.flatnonzero(whole > 0.1 * height)
    if len(far):
        jumps = far[whole[far] > 5.0 * middle(whole)]
        if len(jumps) == 1 and len(positions) > LEAD:
            return int(jumps[0]) + 1
    first = steps[:11].max(axis=1)
    return int(first[0] > 0.05 * height and first[0] > 5.0 * middle(first[1:]))


def _noise(positions: NDArray, intervals: NDArray, share: float, expected: float, otherwise: float) -> float:
    """White noise per axis, told by a quantile of fourth differences in intervals, over what is `expected` of it."""
    from footplant.contacts import _stillness as kernel

    lengths = np.empty(int((intervals[:, 2] - intervals[:, 1]).sum()))
    lengths = lengths[: kernel.fourth_differences(positions, intervals, lengths)]
    if not len(lengths):
        return otherwise
    place = share * (len(lengths) - 1)
    below = int(place)
    ordered = np.partition(lengths, (below, min(below + 1, len(lengths) - 1)))
    quantile = ordered[below] + (place - below) * (ordered[min(below + 1, len(lengths) - 1)] - ordered[below])
    return float(quantile / (expected * _FOURTH))


def _cores(positions, segments, fps: float, height: float, noise: float, settings: Stillness) -> NDArray:
    """Where the straight line through a short window is nearly level, and the window really is a straight line."""
    from footplant.contacts import _stillness as kernel

    frames, points = positions.shape[:2]
    slowest = settings.speed * height
    # the window that brings the slope's noise to a third of the limit: sigma_v^2 = 12 sigma^2 dt / T^3
    seconds = (12.0 * noise**2 / fps / (slowest / 3.0) ** 2) ** (1.0 / 3.0)
    seconds = min(max(seconds, settings.smallest_window), settings.largest_window)
    reach, around = max(round(seconds * fps / 2.0), 1), max(round(settings.around * fps), 1)
    limits = np.array([slowest, settings.fastest * height, settings.share])
    still, fits, queue = np.empty((frames, points), bool), np.empty((frames, 3)), np.empty(frames, np.int64)
    for first, last in segments.tolist():
        kernel.mark_still(positions, first, last, reach, around, float(fps), noise, limits, fits, queue, still)
    runs = np.empty((points * (frames // 2 + len(segments)), 3), np.int64)
    return runs[: kernel.runs_of(still, segments, runs)]


def _disjoint(intervals: NDArray) -> NDArray:
    """Sorted and without overlaps; intervals of one point that touch are made one."""
    out: list[tuple[int, int, int]] = []
    for point, start, end in sorted(intervals.tolist()):
        if out and out[-1][0] == point and start < out[-1][2]:
            out[-1] = (point, out[-1][1], max(end, out[-1][2]))
        elif end > start:
            out.append((point, start, end))
    return np.array(out, np.int64).reshape(-1, 3)


def _bridge(intervals, positions, fps: float, height: float, noise: float, settings: Stillness) -> NDArray:
    """Join neighbours at the same place when the point did not leave it in between."""
    from footplant.contacts import _stillness as kernel

    if not len(intervals):
        return intervals
    jitter = _JITTER * float(middle(creep_of(positions, intervals, fps, noise)))
    # in a moment too short to go anywhere, a point may be carried on by its creeping
    near = np.array([0.02 * height, settings.gone * height + jitter])
    out, room = np.empty_like(intervals), np.empty(len(positions))
    count = kernel.bridge(
        positions, intervals, float(fps), settings.bridge * fps, near, noise, room, np.empty((2, 3)), out
    )
    return out[:count]
