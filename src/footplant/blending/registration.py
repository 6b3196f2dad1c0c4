"""Registration curves: which times, positions and contacts of several motions correspond.

Macleod, "Skeletal Character Animation within a Virtual Environment" (2006), section 3.1, after Kovar & Gleicher,
"Flexible automatic motion blending with registration curves" (SCA 2003): a time warp, an alignment and matched
constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.blending.common_character import prepare_clips
from footplant.blending.distance import Clouds, align, clouds, distances
from footplant.blending.settings import REGISTRATION
from footplant.blending.warp import Ends, TimeCurve, WarpPath, clamped_knots, find_path, fit_monotone
from footplant.checks import whole_number
from footplant.clip import Clip
from footplant.contacts.detection import Contacts, Plant
from footplant.errors import MotionError
from footplant.feet.steps import find_steps, foot_length
from footplant.motion import Motion, ground_transform
from footplant.skeleton import Character


@dataclass(frozen=True, eq=False)
class PlantMatch:
    """One contact in each of the motions."""

    point: str
    """Name of the contact point."""
    plants: tuple[Plant | None, ...]
    """For each motion its contact, in frames of that motion; None where it has none."""


@dataclass(frozen=True, eq=False)
class Registration:
    """Several motions of one character, and what corresponds in them."""

    clips: tuple[Clip, ...]
    """All on one character; each at its own frame rate."""
    reference: int
    """Index of the clip that the others were compared with."""
    curve: TimeCurve
    """Corresponding times, as a function of the reference's time."""
    costs: tuple[float, ...]
    """Metres; mean distance of matched frames of each motion to the reference's."""
    contacts: tuple[Contacts | None, ...]
    """Contacts of each motion; None for a character without feet."""
    loop: bool = False
    """Whether all are loops: the last frame repeats the first, moved on."""

    def __len__(self) -> int:
        """Return the number of motions."""
        return len(self.clips)

    @property
    def character(self) -> Character:
        """The common character."""
        return self.clips[0].character

    def poses(self, motion: int, seconds: ArrayLike) -> Motion:
        """Return poses of one motion at its own times; a loop repeats beyond its end."""
        return poses_at(self.clips[motion].motion, np.asarray(seconds, float), self.loop)

    def alignment(self, reference: ArrayLike) -> tuple[NDArray, NDArray]:
        """Return rotations (N, n), radians, and shifts (N, n, 3), metres, that align each motion with the reference.

        At times (N,) of the reference; the alignment curve of Kovar & Gleicher. Rotations are unwrapped.
        """
        times = self.curve(reference)
        around = [self._clouds_at(number, times[:, number]) for number in range(len(self))]
        own = around[self.reference]
        found = [align(own.points, cloud.points, own.weights) for cloud in around]
        return np.unwrap(np.stack([turn for turn, _ in found], axis=1), axis=0), np.stack([s for _, s in found], axis=1)

    def _clouds_at(self, motion: int, seconds: NDArray) -> Clouds:
        clip = self.clips[motion]
        whole = clouds(clip.motion, clip.character)
        return whole[np.round(np.clip(seconds * clip.motion.fps, 0, len(whole) - 1)).astype(np.int64)]

    @cached_property
    def matches(self) -> tuple[PlantMatch, ...]:
        """Which contacts correspond: those of one point that overlap after warping."""
        return match_plants(self.curve, self.contacts, self.loop)


def poses_at(motion: Motion, seconds: NDArray, loop: bool = False) -> Motion:
    """Return poses at any times; a loop is repeated and moves on over the floor."""
    if loop and len(motion) > 1 and seconds.size and (seconds.min() < 0 or seconds.max() > motion.duration):
        before = int(np.ceil(max(-seconds.min() / motion.duration, 0.0)))
        cycles = int(np.ceil(max(seconds.max() / motion.duration, 1.0))) + before
        long = motion.looped(cycles, close=False)
        if before:
            # the motion itself, not the first repetition, keeps its position
            turn, shift = ground_transform(motion, 0, long, before * (len(motion) - 1))
            long = long.transformed(turn, shift)
        return long.at(seconds + before * motion.duration)
    return motion.at(seconds)


def register(
    clips: Sequence[Clip],
    *,
    reference: int | None = None,
    ends: Ends = "free",
    character: Character | None = None,
    contacts: Sequence[Contacts | None] | None = None,
) -> Registration:
    """Find corresponding times, positions and contacts of several clips.

    reference: index of the clip that the others are compared with; None: the one nearest to all others. ends: as for
    `find_path`. character: the one they are put on; None: the first clip's. contacts: their contacts, where known.
    """
    clips, contacts = prepare_clips(clips, character, contacts)
    slow = [at_matching_rate(clip.motion, ends == "loop") for clip in clips]
    around = [clouds(motion, clip.character) for motion, clip in zip(slow, clips)]
    if reference is None:
        reference = find_reference(around, ends)
    whole_number(reference, "a reference", MotionError, low=0, high=len(clips) - 1)
    paths = [
        None if number == reference else find_path(distances(around[reference], cloud), ends=ends)
        for number, cloud in enumerate(around)
    ]
    lengths = [motion.duration for motion in slow]
    curve = _curve_through(paths, reference, lengths, ends, contacts, clips[0].character)
    costs = tuple(0.0 if path is None else path.cost for path in paths)
    return Registration(clips, reference, curve, costs, tuple(contacts), ends == "loop")


def at_matching_rate(motion: Motion, loop: bool = False) -> Motion:
    """Resample a motion to the rate at which frames are compared; a loop to the nearest rate with whole cycles."""
    if not loop:
        return motion.resample(REGISTRATION.rate)
    frames = loop_frames(motion.duration)
    return replace(motion.at(np.linspace(0.0, motion.duration, frames + 1)), fps=frames / motion.duration)


def loop_frames(seconds: float) -> int:
    """Return the number of frames by which a loop is compared."""
    return max(round(seconds * REGISTRATION.rate), 2)


def side_by_side(clips: Sequence[Clip], *, character: Character | None = None) -> Registration:
    """Register clips that play together unwarped, each from its start: a wave layered on a run."""
    clips, contacts = prepare_clips(clips, character)
    stop = min(clip.motion.duration for clip in clips)
    knots = clamped_knots(0.0, stop)
    line = np.array([knots[k + 1 : k + 4].mean() for k in range(len(knots) - 4)])
    control = np.repeat(line[:, None], len(clips), axis=1)
    return Registration(clips, 0, TimeCurve(knots, control), (0.0,) * len(clips), tuple(contacts))


def find_reference(around: Sequence[Clouds], ends: Ends) -> int:
    """Return the motion whose paths to all others have the lowest total cost."""
    count = len(around)
    cost = np.zeros((count, count))
    for a in range(count):
        for b in range(a + 1, count):
            cost[a, b] = cost[b, a] = find_path(distances(around[a], around[b]), ends=ends).cost
    return int(cost.sum(axis=1).argmin())


def _curve_through(
    paths: Sequence[WarpPath | None],
    reference: int,
    lengths: Sequence[float],
    ends: Ends,
    contacts: Sequence[Contacts | None],
    character: Character,
) -> TimeCurve:
    """Fit one curve to all paths, over the times of the reference that correspond to a part of every motion.

    paths: corresponding frames at `REGISTRATION.rate` with each motion, None for the reference itself. lengths: seconds
    of each. Matching foot strikes get a large weight in the fit.
    """
    found, rate = [path for path in paths if path is not None], REGISTRATION.rate
    start = max((path.frames[0, 0] for path in found), default=0) / rate
    stop = min((path.frames[-1, 0] for path in found), default=lengths[reference] * rate) / rate
    if stop - start < 2.0 / rate:
        raise MotionError(
            "expected parts of all motions that correspond at one time, got none; choose another reference"
        )
    if ends == "loop":
        return _periodic(paths, reference, lengths, contacts, character)
    knots = clamped_knots(start, stop)
    control = np.empty((len(knots) - 4, len(paths)))
    for number, path in enumerate(paths):
        if path is None:
            control[:, number] = [knots[k + 1 : k + 4].mean() for k in range(len(control))]
            continue
        pairs = path.frames[(path.frames[:, 0] >= start * rate - 0.5) & (path.frames[:, 0] <= stop * rate + 0.5)] / rate
        control[:, number] = fit_monotone(pairs[:, 0], pairs[:, 1], knots, ends=ends == "both")
        mine, other = contacts[reference], contacts[number]
        if mine is None or other is None:
            continue
        curve = TimeCurve(knots, control[:, number : number + 1])
        struck = matching_strikes(curve, mine, other, character)
        if len(struck):
            both = np.concatenate([pairs[:1], struck, pairs[1:]])
            weights = np.r_[1.0, np.full(len(struck), REGISTRATION.strike_weight), np.ones(len(pairs) - 1)]
            control[:, number] = fit_monotone(both[:, 0], both[:, 1], knots, weights=weights, ends=ends == "both")
    return _restrict(TimeCurve(knots, control), lengths)


def _restrict(curve: TimeCurve, durations: Sequence[float]) -> TimeCurve:
    """Restrict a curve to the times that every motion has, on new knots."""
    fine = np.linspace(curve.start, curve.stop, max(round((curve.stop - curve.start) * 120), 8) + 1)
    times = curve(fine)
    inside = ((times > -1e-3) & (times < np.asarray(durations) + 1e-3)).all(axis=1)
    if inside.all() and (times >= 0).all() and (times <= durations).all():
        return curve
    fine, times = fine[inside], np.clip(times[inside], 0.0, durations)
    if len(fine) < 8:
        raise MotionError(
            "expected parts of all motions that correspond at one time, got none; choose another reference"
        )
    knots = clamped_knots(fine[0], fine[-1])
    return TimeCurve(knots, np.stack([fit_monotone(fine, column, knots, ends=True) for column in times.T], axis=1))


def _periodic(
    paths: Sequence[WarpPath | None],
    reference: int,
    lengths: Sequence[float],
    contacts: Sequence[Contacts | None],
    character: Character,
) -> TimeCurve:
    """Fit the curve of loops over one cycle of the reference, to three cycles so that the ends join smoothly."""
    cycle = lengths[reference]
    knots = clamped_knots(0.0, cycle)
    # the same knots in each cycle, so that the middle one equals its neighbours
    wide = clamped_knots(-cycle, 2.0 * cycle, cycle / (len(knots) - 7))
    fine = np.linspace(0.0, cycle, 4 * len(knots) + 1)
    control = np.empty((len(knots) - 4, len(paths)))
    for number, path in enumerate(paths):
        if path is None:
            control[:, number] = [knots[k + 1 : k + 4].mean() for k in range(len(control))]
            continue
        own, turns = lengths[number], np.repeat(np.arange(-1, 2), len(path.frames))[:, None]
        frame = np.array([cycle / loop_frames(cycle), own / loop_frames(own)])
        pairs = np.tile(path.frames * frame, (3, 1)) + turns * [cycle, own]
        curve = TimeCurve(wide, fit_monotone(pairs[:, 0], pairs[:, 1], wide)[:, None])
        mine, other = contacts[reference], contacts[number]
        if mine is not None and other is not None:
            struck = matching_strikes(curve, mine, other, character, own)
            struck = np.concatenate([struck + turn * np.array([cycle, own]) for turn in (-1, 0, 1)])
            both = np.concatenate([pairs, struck])
            weights = np.r_[np.ones(len(pairs)), np.full(len(struck), REGISTRATION.strike_weight)]
            curve = TimeCurve(wide, fit_monotone(both[:, 0], both[:, 1], wide, weights=weights)[:, None])
        times = curve(fine)[:, 0]
        # one cycle of the reference corresponds to exactly one of each motion
        times = times[0] + (times - times[0]) * (own / (times[-1] - times[0]))
        control[:, number] = fit_monotone(fine, times, knots, ends=True)
    return TimeCurve(knots, control)


def strikes(contacts: Contacts, character: Character, loop: bool = False) -> dict[str, NDArray]:
    """Return side → seconds at which each step of that foot starts, except steps under way when a clip starts."""
    cycle = contacts.frames - 1
    if loop:
        # a heel that strikes at the end of a cycle and its ball at the start are one step
        again = [replace(p, start=p.start + by, end=p.end + by) for by in (-cycle, 0, cycle) for p in contacts.plants]
        contacts = replace(contacts, plants=tuple(again))
    found = find_steps(contacts, foot_length(character, "left"), -cycle if loop else 0)
    wanted = range(cycle) if loop else range(2, contacts.frames + 1)
    return {
        side: np.array([step.start / contacts.fps for step in found if step.side == side and step.start in wanted])
        for side in ("left", "right")
    }


def matching_strikes(
    curve: TimeCurve, mine: Contacts, other: Contacts, character: Character, cycle: float | None = None
) -> NDArray:
    """Return (S, 2) seconds of foot strikes that correspond: each is the nearest to the other after warping.

    Strikes outside the curve's times are left out. curve: of the other motion alone. cycle: the other's length when
    both are loops.
    """
    found = []
    ours, theirs = (strikes(own, character, cycle is not None) for own in (mine, other))
    for side in ours:
        own, later = ours[side], theirs[side]
        own = own[(own >= curve.start) & (own <= curve.stop)]
        if cycle is not None and len(later):
            later = (later[:, None] + cycle * np.arange(-1, 3)).ravel()
        if not len(own) or not len(later):
            continue
        stride = float(np.median(np.diff(later))) if len(later) > 1 else REGISTRATION.stride
        near = REGISTRATION.strike * stride
        gaps = np.abs(curve(own)[:, 0][:, None] - later)
        for row, column in enumerate(gaps.argmin(axis=1)):
            if gaps[row, column] < near and gaps[:, column].argmin() == row:
                found.append((own[row], later[column]))
    return np.array(sorted(found)).reshape(-1, 2)


def match_plants(curve: TimeCurve, contacts: Sequence[Contacts | None], loop: bool = False) -> tuple[PlantMatch, ...]:
    """Group contacts of one point that overlap in the reference's time; at most one of each motion in a group."""
    spans: list[tuple[str, int, float, float, Plant]] = []
    for number, own in enumerate(contacts):
        for plant in () if own is None else own.plants:
            assert own is not None
            times = np.array([plant.start, plant.end - 1]) / own.fps
            for ahead in (0.0, own.frames / own.fps) if loop else (0.0,):
                first, last = curve.reference_of(number, times + ahead)
                if last > first:
                    spans.append((plant.point, number, float(first), float(last), plant))
    found: list[PlantMatch] = []
    for point in dict.fromkeys(span[0] for span in spans):
        groups: list[dict[int, tuple[float, float, Plant]]] = []
        for _, number, first, last, plant in sorted((s for s in spans if s[0] == point), key=lambda span: span[2]):
            fits = [group for group in groups if number not in group and _overlap(group, first, last) > 0.0]
            if fits:
                max(fits, key=lambda group: _overlap(group, first, last))[number] = (first, last, plant)
            else:
                groups.append({number: (first, last, plant)})
        for group in groups:
            plants = tuple(group[number][2] if number in group else None for number in range(len(contacts)))
            found.append(PlantMatch(point, plants))
    return tuple(found)


def _overlap(group: dict[int, tuple[float, float, Plant]], first: float, last: float) -> float:
    return max(min(last, b) - max(first, a) for a, b, _ in group.values())
