"""Find still intervals of points: the part of contact detection that knows nothing of feet or floors.

A planted point is modelled as x(t) = c + noise with a constant position c. Candidates are frames in which the slope of
a short straight-line fit is below a threshold; their ends are then moved to contact onset and release (`departures`).
The noise is estimated from fourth differences, which vanish for a still point and for any cubic path.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.checks import frame_rate, real_number, shaped, whole_numbers
from footplant.clip import Clip
from footplant.contacts.departures import NOISY, creep_of, drifts, median, place_ends, rests_of
from footplant.contacts.settings import StillnessSettings
from footplant.errors import MotionError
from footplant.kinematics import Kinematics

# the 20 % quantile and the median of the length of a standard normal 3-vector
_QUANTILE_20, _MEDIAN = 1.0026, 1.5382
# standard deviation of fourth differences of white noise: sqrt(1 + 16 + 36 + 16 + 1)
_FOURTH = np.sqrt(70.0)

USUAL_HEIGHT = 1.7
"""Metres; the height assumed for a character of unknown height."""
LEAD_IN_FRAMES = 40
"""Frames at the start of a clip that are searched for a lead-in (an added T-pose, a capture not yet running)."""


@dataclass(frozen=True, eq=False)
class StillInterval:
    """One point that is still from frame `start` up to, not including, frame `end`."""

    point: int
    start: int
    end: int
    place: NDArray
    """(3,) metres; the median position."""


def find_still_intervals(
    positions: NDArray, kinds: NDArray, fps: float, height: float, settings: StillnessSettings
) -> tuple[list[StillInterval], float]:
    """Return the still intervals of P points, positions (F, P, 3) metres, and their white noise in metres per axis.

    `kinds` (P,) int64 are equal for points that move alike, such as both heels.
    """
    positions, fps, height = _checked(positions, fps, height)
    frames, points = positions.shape[:2]
    kinds = whole_numbers(kinds, "kinds of points", MotionError)
    if kinds.shape != (points,):
        raise MotionError(f"expected a kind for each of {points} points, got shape {kinds.shape}")
    if frames < 2 or points == 0:
        return [], 0.0
    positions = read_only(positions)
    segments = np.array(continuous_segments(positions, fps, height))
    whole = np.array([(point, first, last) for point in range(points) for first, last in segments.tolist()])
    # from the quietest fifth of the fourth differences: most of a clip may be moving
    noise = _noise(positions, whole, 0.2, _QUANTILE_20, 0.0)
    cores = whole
    for _ in range(2):  # the second round has a better noise estimate, from the still intervals themselves
        cores = _cores(positions, segments, fps, height, noise, settings)
        # a still point has no true fourth differences
        noise = _noise(positions, cores, 0.5, _MEDIAN, noise)
    cores = _bridge(cores, positions, fps, height, noise, settings)
    cores, creeping = _trim_to_rests(positions, cores, fps, height, noise, settings)
    wander, gone = settings.wander * height, settings.gone * height
    ends = place_ends(positions, cores, creeping, kinds, segments, fps, noise, wander, gone)
    ends = _bridge(_disjoint(ends), positions, fps, height, noise, settings)
    return _long_enough(positions, ends, segments, fps, height, noise, settings), noise


def _long_enough(
    positions, ends, segments, fps: float, height: float, noise: float, settings: StillnessSettings
) -> list[StillInterval]:
    """Return the intervals that are long enough to be contacts."""
    from footplant.contacts import _rests as kernel

    places, spreads = np.empty((len(ends), 3)), np.empty(len(ends))
    kernel.rest_places(positions, ends, np.empty(len(positions)), places, spreads)
    shortest = max(settings.shortest * fps, 2.0)
    edges = set(segments.ravel().tolist())
    found = []
    for (point, start, end), place, spread in zip(ends.tolist(), places, spreads.tolist()):
        # a cut may fall anywhere in a contact, so a short one at the clip's edge need not be a turning point
        rests = spread <= 1.35 * noise + settings.rest * height
        enough = 2 if rests and (start in edges or end in edges) else shortest
        if end - start >= enough - 0.5:
            found.append(StillInterval(point, start, end, place))
    return found


def _trim_to_rests(positions, cores, fps: float, height: float, noise: float, settings: StillnessSettings):
    """Trim candidate intervals to their rests; return the rows and which of them creep and are left as they are."""
    rests, counts, spread = rests_of(positions, cores, fps, noise, settings.window_spread * height)
    length = cores[:, 2] - cores[:, 1]
    creeps = spread > 1.35 * noise + settings.rest * height
    # a drift hidden by noise in short windows still moves the mean of half a contact
    noisy = noise > NOISY * settings.wander * height
    drifting = length[drifts(positions, cores, noise)].sum() if noisy else 0
    if max(length[creeps].sum(), drifting) > 0.5 * length.sum():
        creeps[:] = True  # points that creep during most contacts only seem to rest during the others
    if not creeps.any():
        return rests, np.zeros(len(rests), bool)
    groups = np.split(rests, np.cumsum(counts)[:-1])
    parts = [cores[[row]] if creep else group for row, (group, creep) in enumerate(zip(groups, creeps))]
    return np.concatenate(parts), np.repeat(creeps, [len(group) for group in parts])


def _checked(positions: NDArray, fps: float, height: float) -> tuple[NDArray, float, float]:
    """Positions (F, P, 3), frames a second and the body's height, checked."""
    positions = shaped(positions, ("frames", "points", 3), "positions", MotionError)
    return positions, frame_rate(fps, MotionError), real_number(height, "height", MotionError, above=0.0)


def read_only(positions: NDArray) -> NDArray:
    """Return positions as kernels take them: contiguous and read-only."""
    positions = np.ascontiguousarray(positions, float).view()
    positions.setflags(write=False)
    return positions


def continuous_segments(positions: NDArray, fps: float, height: float) -> list[tuple[int, int]]:
    """Split a clip where (nearly) all points jump at once: an added T-pose in frame 0, a cut between takes."""
    from footplant.contacts import _stillness as kernel

    positions, fps, height = _checked(positions, fps, height)
    frames, points = positions.shape[:2]
    if points == 0:
        return [(0, frames)]
    jumps = np.empty(max(frames - 1, 0), bool)
    kernel.find_jumps(read_only(positions), points // 5, float(fps), float(height), np.empty(points), jumps)
    return list(pairwise([0, *(np.flatnonzero(jumps) + 1).tolist(), frames]))


def lead_in_frames(clip: Clip) -> int:
    """Return the number of lead-in frames of a clip, 0 if there are none: see `lead_in`."""
    return lead_in(Kinematics(clip.motion[: LEAD_IN_FRAMES + 1]).positions, clip.character.height or USUAL_HEIGHT)


def lead_in(positions: NDArray, height: float) -> int:
    """Return how many initial frames do not belong to the motion: an added T-pose, or a capture not yet running.

    positions: (F, P, 3) metres, of joints; the first `LEAD_IN_FRAMES` frames are searched.
    """
    positions, _, height = _checked(positions, 1.0, height)
    if len(positions) < 4 or not positions.shape[1]:
        return 0
    steps = positions[1:LEAD_IN_FRAMES] - positions[: min(LEAD_IN_FRAMES, len(positions)) - 1]
    steps = np.sqrt(np.einsum("fpk,fpk->fp", steps, steps))
    # the whole body jumps once from one frame to the next
    whole = steps.min(axis=1)
    far = np.flatnonzero(whole > 0.1 * height)
    if len(far):
        jumps = far[whole[far] > 5.0 * median(whole)]
        if len(jumps) == 1 and len(positions) > LEAD_IN_FRAMES:
            return int(jumps[0]) + 1
    first = steps[:11].max(axis=1)
    return int(first[0] > 0.05 * height and first[0] > 5.0 * median(first[1:]))


def _noise(positions: NDArray, intervals: NDArray, share: float, expected: float, otherwise: float) -> float:
    """Estimate white noise per axis: a quantile of fourth differences in intervals, over its `expected` value."""
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


def _cores(positions, segments, fps: float, height: float, noise: float, settings: StillnessSettings) -> NDArray:
    """Return candidate intervals: a line fitted to a short window is nearly constant, and fits the window well."""
    from footplant.contacts import _stillness as kernel

    frames, points = positions.shape[:2]
    slowest = settings.speed * height
    # choose T so that the slope's standard deviation is a third of the limit: sigma_v^2 = 12 sigma^2 dt / T^3
    seconds = (12.0 * noise**2 / fps / (slowest / 3.0) ** 2) ** (1.0 / 3.0)
    seconds = min(max(seconds, settings.smallest_window), settings.largest_window)
    reach, around = max(round(seconds * fps / 2.0), 1), min(max(round(settings.around * fps), 1), frames)
    thresholds = kernel.StillThresholds(
        reach, around, float(fps), noise, slowest, settings.fastest * height, settings.share
    )  # fmt: skip
    still, fits, queue = np.empty((frames, points), bool), np.empty((frames, 3)), np.empty(frames, np.int64)
    for first, last in segments.tolist():
        kernel.mark_still(positions, first, last, thresholds, fits, queue, still)
    runs = np.empty((points * (frames // 2 + len(segments)), 3), np.int64)
    return runs[: kernel.runs_of(still, segments, runs)]


def _disjoint(intervals: NDArray) -> NDArray:
    """Sort intervals and merge overlapping ones of the same point."""
    out: list[tuple[int, int, int]] = []
    for point, start, end in sorted(intervals.tolist()):
        if out and out[-1][0] == point and start < out[-1][2]:
            out[-1] = (point, out[-1][1], max(end, out[-1][2]))
        elif end > start:
            out.append((point, start, end))
    return np.array(out, np.int64).reshape(-1, 3)


def _bridge(intervals, positions, fps: float, height: float, noise: float, settings: StillnessSettings) -> NDArray:
    """Merge neighbouring intervals at the same position if the point did not leave it in between."""
    from footplant.contacts import _stillness as kernel

    if not len(intervals):
        return intervals
    creep = settings.creep_time * float(median(creep_of(positions, intervals, fps, noise)))
    # during a gap too short to go anywhere, a point may creep on
    near = np.array([settings.merge_near * height, settings.gone * height + creep])
    out, scratch = np.empty_like(intervals), np.empty(len(positions))
    count = kernel.bridge(
        positions, intervals, float(fps), settings.bridge * fps, near, noise, scratch, np.empty((2, 3)), out
    )
    return out[:count]
