"""Find still intervals of points: the part of contact detection that knows nothing of feet or floors.

A planted point is modelled as x(t) = c + noise with a constant position c. Candidates are frames in which the slope of
a short straight-line fit is below a threshold. Their ends are then moved to where the point arrives within millimetres
of its position and leaves it again: what a person sees as standing, rather than the instant at which it starts to move.
The noise is estimated from fourth differences, which vanish for a still point and for any cubic path.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.checks import frame_rate, real_number, shaped
from footplant.clip import Clip
from footplant.contacts.settings import StillnessSettings
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.order import quantile

# the 20 % quantile and the median of the length of a standard normal 3-vector
_QUANTILE_20, _MEDIAN = 1.0026, 1.5382
# standard deviation of fourth differences of white noise: sqrt(1 + 16 + 36 + 16 + 1)
_FOURTH = np.sqrt(70.0)

USUAL_HEIGHT = 1.7
"""Metres; the height assumed for a character of unknown height."""
LEAD_IN = 1.0
"""Seconds at the start of a clip that are searched for a lead-in (an added T-pose, a capture not yet running)."""
JUMP, JUMP_SPEED = 0.08, 7.0
"""Body heights, and body heights per second, that some joint moves at least at the end of a lead-in (12 m/s)."""
STILL = 0.02
"""Body heights that no joint moves from frame to frame while a lead-in pose is held."""
MOVES = 0.15
"""Body heights per second of a joint that is not at rest."""


@dataclass(frozen=True, eq=False)
class StillInterval:
    """One point that is still from frame `start` up to, not including, frame `end`."""

    point: int
    start: int
    end: int
    place: NDArray
    """(3,) metres; the median position."""


def find_still_intervals(
    positions: NDArray, fps: float, height: float, settings: StillnessSettings
) -> tuple[list[StillInterval], float]:
    """Return the still intervals of P points, positions (F, P, 3) metres, and their white noise in metres per axis."""
    from footplant.contacts import _stillness as kernel

    positions, fps, height = _checked(positions, fps, height)
    frames, points = positions.shape[:2]
    if frames < 2 or points == 0:
        return [], 0.0
    segments = np.array(continuous_segments(positions, fps, height))
    unweighted, positions = read_only(positions), read_only(positions * [1.0, settings.vertical, 1.0])
    whole = np.array([(point, first, last) for point in range(points) for first, last in segments.tolist()])
    # from the quietest fifth of the fourth differences: most of a clip may be moving
    noise = _noise(positions, whole, 0.2, _QUANTILE_20, 0.0)
    cores = whole
    for _ in range(2):  # the second round has a better noise estimate, from the still intervals themselves
        cores = _cores(positions, segments, fps, height, noise, settings)
        # a still point has no true fourth differences
        noise = _noise(positions, cores, 0.5, _MEDIAN, noise)
    cores = _bridge(cores, positions, fps, height, noise, settings)
    ends = _ends(positions, cores, segments, fps, height, noise, settings)
    ends = _bridge(ends, positions, fps, height, noise, settings)
    shortest, edges = max(settings.shortest * fps, 2.0), segments.ravel()
    # a cut may fall anywhere in a contact, so a short one at the clip's edge need not be a turning point
    cut = np.isin(ends[:, 1:], edges).any(axis=1)
    ends = ends[ends[:, 2] - ends[:, 1] >= np.where(cut, 2.0, shortest) - 0.5]
    ends = ends[~_skids(positions, ends, fps, height, noise, settings)]
    places = np.empty((len(ends), 3))
    kernel.median_positions(unweighted, ends, np.empty(frames), places)
    found = [StillInterval(point, start, end, place) for (point, start, end), place in zip(ends.tolist(), places)]
    # the noise per axis of the weighted positions is a root mean square
    return found, noise / np.sqrt((2.0 + settings.vertical**2) / 3.0)


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


def lead_in_frames(clip: Clip, *, eased: bool = False) -> int:
    """Return the number of lead-in frames of a clip, 0 if there are none: see `lead_in`."""
    positions, height = Kinematics(clip.motion).positions, clip.character.height or USUAL_HEIGHT
    return lead_in(positions, clip.motion.fps, height, eased=eased)


def lead_in(positions: NDArray, fps: float, height: float, *, eased: bool = False) -> int:
    """Return how many initial frames do not belong to the motion: an added T-pose, or a capture not yet running.

    positions: (F, P, 3) metres, of joints. A lead-in ends within the first second in a jump: some joint moves faster
    than a body can, five times as far as any joint usually moves in the rest of the clip. Before it, the pose is held,
    or jumps as well. A body that moves on through it, with its arms alone not tracked yet, has begun its motion. Some
    converters ease from the T-pose into the motion over a few frames; with `eased`, they belong to the lead-in: for
    edits that drop it. Where it is kept, they are part of the motion, which stays continuous.
    """
    positions, fps, height = _checked(positions, fps, height)
    if len(positions) < 4 or not positions.shape[1]:
        return 0
    first = min((len(positions) - 1) // 2, max(2, round(LEAD_IN * fps)))
    steps, least = _farthest(positions[: first + 1]) / height, max(JUMP, JUMP_SPEED / fps)
    if not (steps > least).any():
        return 0
    usual = float(np.percentile(_farthest(positions[first:]) / height, 99))
    jumps = (steps > max(least, 5.0 * usual)) & ~_moves_on(positions[: first + 2], height / fps)
    # a motion has begun before a jump that ordinary steps precede
    apart = np.cumsum((steps > STILL) & (steps < JUMP)) == 0
    found = np.flatnonzero(jumps & apart)
    if not len(found):
        return 0
    end = int(found[-1]) + 1
    while eased and end < first and steps[end] > least:
        end += 1
    return end


def _moves_on(positions: NDArray, pace: float) -> NDArray:
    """Return whether most points (F, P, 3) go on from one frame to the next as they do after it (F − 2,).

    pace: metres from frame to frame at one body height per second. Of 42 captures with a lead-in none has more than 3 %
    of its joints do so at the end of it; in one whose arms come down while it walks, 83 % do.
    """
    steps = np.diff(positions, axis=0)
    apart, after = (np.linalg.norm(part, axis=2) for part in (np.diff(steps, axis=0), steps[1:]))
    return ((apart < 0.5 * after) & (after > MOVES * pace)).mean(axis=1) > 0.5


def _farthest(positions: NDArray) -> NDArray:
    """Return how far the fastest point (F, P, 3) moves from each frame to the next (F − 1,), metres."""
    steps = np.diff(positions, axis=0)
    return np.sqrt(np.einsum("fpk,fpk->fp", steps, steps)).max(axis=1)


def _noise(positions: NDArray, intervals: NDArray, share: float, expected: float, otherwise: float) -> float:
    """Estimate white noise per axis: a quantile of fourth differences in intervals, over its `expected` value."""
    from footplant.contacts import _stillness as kernel

    lengths = np.empty(int((intervals[:, 2] - intervals[:, 1]).sum()))
    lengths = lengths[: kernel.fourth_differences(positions, intervals, lengths)]
    if not len(lengths):
        return otherwise
    return float(quantile(lengths, share) / (expected * _FOURTH))


def _reach(fps: float, height: float, noise: float, settings: StillnessSettings) -> int:
    """Return the half width in frames of the straight-line fit: the noisier the data, the wider."""
    # choose T so that the slope's standard deviation is a third of the limit: sigma_v^2 = 12 sigma^2 dt / T^3
    slow = settings.speed * height / 3.0
    seconds = np.cbrt(12.0 / fps * (noise / slow) ** 2) if slow > 0.0 else settings.largest_window
    seconds = min(max(seconds, settings.smallest_window), settings.largest_window)
    return max(round(seconds * fps / 2.0), 1)


def _cores(positions, segments, fps: float, height: float, noise: float, settings: StillnessSettings) -> NDArray:
    """Return candidate intervals: a line fitted to a short window is nearly constant, and fits the window well."""
    from footplant.contacts import _stillness as kernel

    frames, points = positions.shape[:2]
    reach, around = _reach(fps, height, noise, settings), min(max(round(settings.around * fps), 1), frames)
    thresholds = kernel.StillThresholds(
        reach, around, float(fps), noise, settings.speed * height, settings.fastest * height, settings.share
    )  # fmt: skip
    still, fits, queue = np.empty((frames, points), bool), np.empty((frames, 3)), np.empty(frames, np.int64)
    for first, last in segments.tolist():
        kernel.mark_still(positions, first, last, thresholds, fits, queue, still)
    runs = np.empty((points * (frames // 2 + len(segments)), 3), np.int64)
    return runs[: kernel.runs_of(still, segments, runs)]


def _ends(positions, cores, segments, fps: float, height: float, noise: float, settings: StillnessSettings) -> NDArray:
    """Return the intervals with both ends moved to where the point arrives at its place and leaves it."""
    from footplant.contacts import _stillness as kernel

    frames, reach, slow = len(positions), _reach(fps, height, noise, settings), settings.speed * height
    # the fitted positions of a window are quieter than single ones; a 3-vector is within 3 sigma nearly always
    near = settings.near * height + 3.0 * noise / np.sqrt(2.0 * reach + 1.0)
    # a stay is longer than the window of the fit, so that not all of its speeds are those of one window
    depth, stay = max(round(settings.depth * fps), 1), max(round(settings.shortest * fps), 2 * reach + 2)
    limits = kernel.EndLimits(
        reach, depth, stay, float(fps), noise, float(near), settings.creep, slow, settings.release * slow
    )  # fmt: skip
    out, path = np.empty_like(cores), np.empty((frames, 1, 3))
    kernel.place_ends(positions, cores, segments, limits, path, np.empty(frames), np.empty(frames), out)
    return out


def _skids(positions, intervals, fps: float, height: float, noise: float, settings: StillnessSettings) -> NDArray:
    """Return (B,) bool: intervals in which a point skids to where it stands, or leaves slowly.

    No foot is lifted and put down at another place within `bridge`: of two intervals so close, the shorter one is no
    contact of its own if its point is faster, and slow enough in no frame to stand whatever the clip does.
    """
    from footplant.contacts import _stillness as kernel

    speeds, skids = np.empty(len(intervals)), np.zeros(len(intervals), bool)
    reach = _reach(fps, height, noise, settings)
    kernel.slowest_speeds(positions, intervals, reach, float(fps), noise, speeds)
    close = (intervals[1:, 0] == intervals[:-1, 0]) & (intervals[1:, 1] - intervals[:-1, 2] <= settings.bridge * fps)
    lengths = intervals[:, 2] - intervals[:, 1]
    for one, other in ((0, 1), (1, 0)):
        n = np.flatnonzero(close)
        fast, slow = n + one, n + other
        moving = (speeds[fast] > settings.speed * height) & (speeds[fast] > speeds[slow])
        skids[fast[moving & (lengths[fast] < lengths[slow])]] = True
    return skids


def _bridge(intervals, positions, fps: float, height: float, noise: float, settings: StillnessSettings) -> NDArray:
    """Merge neighbouring intervals at the same position if the point did not leave it in between."""
    from footplant.contacts import _stillness as kernel

    out, scratch, near = np.empty_like(intervals), np.empty(len(positions)), settings.merge_near * height
    count = kernel.bridge(
        positions, intervals, float(fps), settings.bridge * fps, near, noise, scratch, np.empty((2, 3)), out
    )
    return out[:count]
