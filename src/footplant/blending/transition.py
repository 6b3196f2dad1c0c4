"""Going over from one clip to another: where they are alike, with times warped, weights on Bézier curves, feet planted.

Macleod, "Motion capture based animation" (2006), sections 3.2 and 3.3; Lee & Shin (SIGGRAPH 1999), section 6, whose
transition from walking to sneaking is solved with the same constraints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.blending.blend import bezier
from footplant.blending.common_character import floor_level, prepared
from footplant.blending.compose import compose
from footplant.blending.distance import Meeting, clouds, distances, local_minima
from footplant.blending.plants import blend_plants, hold
from footplant.blending.registration import RATE, Registration
from footplant.blending.warp import Path, TimeCurve, clamped_knots, find_path, fit_monotone
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.errors import MotionError
from footplant.motion import Motion
from footplant.problem import Method, Progress, Solution
from footplant.skeleton import Character

FADE = 0.5
"""Seconds that a fade takes unless told otherwise."""
PIECES = 2
"""Pieces of the spline of corresponding times in a fade."""
SLOWEST = 0.4
"""How much slower than on average either clip may go in a fade."""
CUT = 0.1
"""Metres of distance that leaving out a whole clip is worth: how dear it is to cut."""


@dataclass(frozen=True, eq=False)
class Fade:
    """A transition before its feet are held."""

    motion: Motion
    character: Character
    plants: tuple[Footplant, ...]
    meeting: tuple[float, float]
    """Seconds in the first and in the second clip that are laid on one another."""
    distance: float
    """Metres; how far apart the two frames are."""
    interval: tuple[float, float]
    """Seconds of the result over which it goes from one to the other."""
    level: float
    """Metres; height of the floor."""
    times: NDArray
    """(F, 2) seconds of each clip that each frame shows."""
    weights: NDArray
    """(F, 2) how much of each clip is in each frame."""


def find_meeting(table: NDArray, margin: int) -> Meeting:
    """The best place to go over, at least so many frames from the clips' ends: alike, and little of either left out."""
    rows, columns = table.shape
    early, late = min(margin, (rows - 1) // 2), min(margin, (columns - 1) // 2)
    inner = table[early : rows - early, late : columns - late]

    def price(meeting: Meeting) -> float:
        cut = (inner.shape[0] - 1 - meeting.first) / max(rows, 1) + meeting.second / max(columns, 1)
        return float(inner[meeting.first, meeting.second]) + CUT * cut

    best = min(local_minima(inner), key=price)
    return Meeting(best.first + early, best.second + late, float(inner[best.first, best.second]))


def fade(
    first: Clip,
    second: Clip,
    *,
    at: tuple[float, float] | None = None,
    seconds: float = FADE,
    fps: float | None = None,
    character: Character | None = None,
) -> Fade:
    """Lay the second clip after the first, going over where they are alike; feet are not held yet.

    at: times in both clips, seconds, that are laid on one another; None: found. seconds: length of the fade. fps: of
    the result (default: the first clip's). character: whose motion it becomes (default: the first clip's).
    """
    if not (np.isfinite(seconds) and seconds > 0):
        raise MotionError(f"expected a fade of more than 0 seconds, got {seconds}")
    clips, contacts = prepared([first, second], character)
    slow = [clip.motion.resample(RATE) for clip in clips]
    table = distances(*(clouds(motion, clips[0].character) for motion in slow))
    half = max(round(0.5 * seconds * RATE), 1)
    meeting = find_meeting(table, half) if at is None else _meeting_at(at, table, clips)
    around = [
        range(max(frame - half, 0), min(frame + half, count - 1) + 1)
        for frame, count in zip((meeting.first, meeting.second), table.shape)
    ]
    if min(map(len, around)) < 3:
        raise MotionError(f"expected clips of 3 frames at {RATE:g} a second around the transition, got fewer")
    path = find_path(table[around[0].start : around[0].stop, around[1].start : around[1].stop])
    path = Path(path.frames + [around[0].start, around[1].start], path.cost, path.limits)
    # few knots, so that neither clip is hurried within the short time of the fade
    pairs = path.frames / RATE
    knots = clamped_knots(pairs[0, 0], pairs[-1, 0], (pairs[-1, 0] - pairs[0, 0]) / PIECES)
    line = np.array([knots[k + 1 : k + 4].mean() for k in range(len(knots) - 4)])
    warped = fit_monotone(pairs[:, 0], pairs[:, 1], knots, ends=True, slowest=SLOWEST)
    curve = TimeCurve(knots, np.stack([line, warped], axis=1))
    whole = Registration(clips, 0, curve, (0.0, path.cost), tuple(contacts))
    rate = fps or clips[0].motion.fps
    times, weights, interval = _timeline(whole, rate)
    poses = [replace(whole.poses(number, times[:, number]), fps=rate) for number in range(2)]
    motion = compose(poses, weights, whole.character)
    plants = blend_plants(motion, whole.character, times, weights, contacts)
    level = 0.0 if contacts[0] is None else floor_level(contacts[0])
    met = meeting.first / RATE, meeting.second / RATE
    return Fade(motion, whole.character, plants, met, meeting.distance, interval, level, times, weights)


def _meeting_at(at: tuple[float, float], table: NDArray, clips: tuple[Clip, ...]) -> Meeting:
    for seconds, clip in zip(at, clips):
        if not 0.0 <= seconds <= clip.motion.duration:
            raise MotionError(f"expected a time in 0..{clip.motion.duration:.3g} s of {clip.name!r}, got {seconds:g} s")
    i, j = (min(round(seconds * RATE), count - 1) for seconds, count in zip(at, table.shape))
    return Meeting(i, j, float(table[i, j]))


def _timeline(registration: Registration, fps: float) -> tuple[NDArray, NDArray, tuple[float, float]]:
    """Times (F, 2), weights (F, 2) and where the fade lies, seconds: the first clip, the fade, the second clip."""
    curve = registration.curve
    fine = np.linspace(curve.start, curve.stop, 512)
    share = bezier((fine - curve.start) / (curve.stop - curve.start))
    pace = np.einsum("fn,fn->f", np.stack([1.0 - share, share], axis=1), curve.rates(fine))
    taken = np.concatenate([[0.0], np.cumsum(0.5 * (pace[1:] + pace[:-1]) * np.diff(fine))])
    begins, ends = curve.start, curve.start + float(taken[-1])
    after = registration.clips[1].motion.duration - float(curve(curve.stop)[0, 1])
    seconds = np.arange(int(np.floor((ends + after) * fps + 1e-6)) + 1) / fps
    place = np.interp(seconds - begins, taken, fine)
    times = curve(place)
    times[:, 0] = np.where(seconds < begins, seconds, times[:, 0])
    times[:, 1] = np.where(seconds > ends, times[:, 1] + seconds - ends, times[:, 1])
    into = bezier((place - curve.start) / (curve.stop - curve.start))
    return times, np.stack([1.0 - into, into], axis=1), (begins, ends)


def transition(
    first: Clip,
    second: Clip,
    *,
    at: tuple[float, float] | None = None,
    seconds: float = FADE,
    fps: float | None = None,
    character: Character | None = None,
    method: str | Method | None = "hierarchical",
    progress: Progress | None = None,
) -> Solution:
    """One clip after another without a break, feet planted through the fade; see `fade` for the options.

    method: what holds the plants, by name or set up; None leaves the fade as it is.
    """
    made = fade(first, second, at=at, seconds=seconds, fps=fps, character=character)
    solution = hold(made.motion, made.character, made.plants, made.level, method=method, progress=progress)
    return solution.noted(
        f"goes over from {made.meeting[0]:.2f} s of {first.name!r} to {made.meeting[1]:.2f} s of {second.name!r}, "
        f"whose poses are {1000 * made.distance:.0f} mm apart, between {made.interval[0]:.2f} and "
        f"{made.interval[1]:.2f} s"
    )
