"""Transition from one clip to another: where they are alike, time-warped, with Bézier weights and feet locked.

Macleod, "Skeletal Character Animation within a Virtual Environment" (2006), sections 3.2 and 3.3; Lee & Shin (SIGGRAPH
1999), section 6, whose transition from walking to sneaking is solved with the same constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.blending.blend import bezier
from footplant.blending.common_character import floor_level, prepare_clips
from footplant.blending.compose import compose
from footplant.blending.distance import TransitionPoint, clouds, distances, local_minima
from footplant.blending.plants import blend_plants, hold_plants
from footplant.blending.registration import Registration
from footplant.blending.settings import REGISTRATION, TRANSITION
from footplant.blending.warp import TimeCurve, WarpPath, clamped_knots, find_path, fit_monotone
from footplant.checks import frame_rate, real_number
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.errors import MotionError
from footplant.motion import Motion
from footplant.problem import Method, Progress
from footplant.result import CharacterSource, ClipSource, Result, as_character, as_clip
from footplant.skeleton import Character


@dataclass(frozen=True, eq=False)
class Crossfade:
    """A transition before its feet are locked."""

    motion: Motion
    character: Character
    plants: tuple[Footplant, ...]
    at: tuple[float, float]
    """Seconds in the first and in the second clip that coincide."""
    distance: float
    """Metres; distance of the two frames."""
    interval: tuple[float, float]
    """Seconds of the result over which it fades from one clip to the other."""
    level: float
    """Metres; height of the floor."""
    times: NDArray
    """(F, 2) seconds of each clip shown by each frame."""
    weights: NDArray
    """(F, 2) weight of each clip in each frame."""


def find_transition(table: NDArray, margin: int) -> TransitionPoint:
    """Return the best transition point at least `margin` frames from the clips' ends: alike, and skipping little."""
    rows, columns = table.shape
    early, late = min(margin, (rows - 1) // 2), min(margin, (columns - 1) // 2)
    inner = table[early : rows - early, late : columns - late]

    def cost(point: TransitionPoint) -> float:
        cut = (inner.shape[0] - 1 - point.first) / max(rows, 1) + point.second / max(columns, 1)
        return float(inner[point.first, point.second]) + TRANSITION.cut * cut

    best = min(local_minima(inner), key=cost)
    return TransitionPoint(best.first + early, best.second + late, float(inner[best.first, best.second]))


def crossfade(
    first: Clip,
    second: Clip,
    *,
    at: tuple[float, float] | None = None,
    seconds: float = TRANSITION.seconds,
    fps: float | None = None,
    character: Character | None = None,
) -> Crossfade:
    """Crossfade from the first clip to the second where they are alike; feet are not locked yet.

    at: times in both clips, seconds, that coincide; None: the best ones. seconds: length of the crossfade. fps: of the
    result (default: the first clip's). character: of the result (default: the first clip's).
    """
    if not real_number(seconds, "fade in seconds", MotionError) > 0:
        raise MotionError(f"expected a fade of more than 0 seconds, got {seconds}")
    if fps is not None:
        frame_rate(fps, MotionError)
    clips, contacts = prepare_clips([first, second], character)
    matching_rate = REGISTRATION.rate
    slow = [clip.motion.resample(matching_rate) for clip in clips]
    table = distances(*(clouds(motion, clips[0].character) for motion in slow))
    half = max(round(0.5 * seconds * matching_rate), 1)
    point = find_transition(table, half) if at is None else _transition_at(at, table, clips)
    around = [
        range(max(frame - half, 0), min(frame + half, count - 1) + 1)
        for frame, count in zip((point.first, point.second), table.shape)
    ]
    if min(map(len, around)) < 3:
        raise MotionError(f"expected clips of 3 frames at {matching_rate:g} a second around the transition, got fewer")
    path = find_path(table[around[0].start : around[0].stop, around[1].start : around[1].stop])
    path = WarpPath(path.frames + [around[0].start, around[1].start], path.cost, path.limits)
    # few knots, so that neither clip changes speed abruptly during the short crossfade
    pairs = path.frames / matching_rate
    knots = clamped_knots(pairs[0, 0], pairs[-1, 0], (pairs[-1, 0] - pairs[0, 0]) / TRANSITION.pieces)
    line = np.array([knots[k + 1 : k + 4].mean() for k in range(len(knots) - 4)])
    warped = fit_monotone(pairs[:, 0], pairs[:, 1], knots, ends=True, slowest=TRANSITION.slowest)
    curve = TimeCurve(knots, np.stack([line, warped], axis=1))
    whole = Registration(clips, 0, curve, (0.0, path.cost), tuple(contacts))
    rate = fps or clips[0].motion.fps
    times, weights, interval = _timeline(whole, rate)
    poses = [replace(whole.poses(number, times[:, number]), fps=rate) for number in range(2)]
    motion = compose(poses, weights, whole.character)
    plants = blend_plants(motion, whole.character, times, weights, contacts)
    level = 0.0 if contacts[0] is None else floor_level(contacts[0])
    met = point.first / matching_rate, point.second / matching_rate
    return Crossfade(motion, whole.character, plants, met, point.distance, interval, level, times, weights)


def _transition_at(at: tuple[float, float], table: NDArray, clips: tuple[Clip, ...]) -> TransitionPoint:
    for seconds, clip in zip(at, clips):
        if not 0.0 <= seconds <= clip.motion.duration:
            raise MotionError(f"expected a time in 0..{clip.motion.duration:.3g} s of {clip.name!r}, got {seconds:g} s")
    i, j = (min(round(seconds * REGISTRATION.rate), count - 1) for seconds, count in zip(at, table.shape))
    return TransitionPoint(i, j, float(table[i, j]))


def _timeline(registration: Registration, fps: float) -> tuple[NDArray, NDArray, tuple[float, float]]:
    """Return times (F, 2), weights (F, 2) and the fade's interval in seconds: first clip, crossfade, second clip."""
    curve = registration.curve
    fine = np.linspace(curve.start, curve.stop, 512)
    share = bezier((fine - curve.start) / (curve.stop - curve.start))
    # seconds of the result per second of the reference: dt/ds = Σ wᵢ dtᵢ/ds
    rate = np.einsum("fn,fn->f", np.stack([1.0 - share, share], axis=1), curve.rates(fine))
    taken = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(fine))])
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
    first: ClipSource,
    second: ClipSource,
    *,
    at: tuple[float, float] | None = None,
    seconds: float = TRANSITION.seconds,
    fps: float | None = None,
    character: CharacterSource | None = None,
    method: str | Method | None = "whole-body",
    progress: Progress | None = None,
) -> Result:
    """Join two clips by a crossfade with the feet locked throughout; see `crossfade` for the options.

    method: the solver for foot locks, by name or as an object; None returns the crossfade without them.
    """
    first, second = as_clip(first), as_clip(second)
    character = None if character is None else as_character(character)
    made = crossfade(first, second, at=at, seconds=seconds, fps=fps, character=character)
    held = hold_plants(made.motion, made.character, made.plants, made.level, method=method, progress=progress)
    both = replace(first, name=" + ".join(dict.fromkeys((first.name, second.name))))
    return Result.of(both, held, made.character).noted(
        f"crossfades from {made.at[0]:.2f} s of {first.name!r} to {made.at[1]:.2f} s of {second.name!r}, "
        f"whose poses are {1000 * made.distance:.0f} mm apart, between {made.interval[0]:.2f} and "
        f"{made.interval[1]:.2f} s"
    )


def join(
    clips: Sequence[ClipSource],
    *,
    seconds: float = TRANSITION.seconds,
    fps: float | None = None,
    character: CharacterSource | None = None,
    method: str | Method | None = "whole-body",
    progress: Progress | None = None,
) -> Result:
    """Join several clips, one after another, each by a `transition` where it is most like the one before it."""
    if len(clips) < 2:
        raise MotionError(f"expected two or more clips to join, got {len(clips)}")
    joined: ClipSource = as_clip(clips[0])
    notes: list[str] = []
    for clip in clips[1:]:
        made = transition(joined, clip, seconds=seconds, fps=fps, character=character, method=method, progress=progress)
        notes += made.report.notes
        joined = made
    return replace(made, report=replace(made.report, notes=tuple(notes)))
