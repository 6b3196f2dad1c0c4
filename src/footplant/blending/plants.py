"""The plants of a blend, from those of the motions that are in it: what Macleod (2006) left for future work (F6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Footplant
from footplant.contacts.detection import Contacts, Plant
from footplant.contacts.ground import Ground, estimate_ground, lower_to_soles
from footplant.contacts.settings import SUPPORT
from footplant.edits.retarget import Soles, solve_soles
from footplant.feet.soles import level_toes
from footplant.feet.steps import EASE, reconciled
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Method, Problem, Progress, Solution, Stopwatch
from footplant.quality.measure import measure
from footplant.skeleton import Character
from footplant.solve.methods import method_of

MOST = 0.5
"""Weight that the motions in which a foot stands must have together for it to stand in the blend."""
SHORTEST = 0.03
"""Seconds; shorter plants are left out."""
APART = 0.05
"""Body heights between where a foot stands in one motion and in the next beyond which it has to move over."""
MOVE = 0.15
"""Seconds that each of two such plants gives up for that."""
DRIFT = 0.045
"""Body heights that a foot may stray from its place before it is held; a plant that strays farther is cut short."""


@dataclass(frozen=True, eq=False)
class _Span:
    """A plant of one motion in frames of the blend."""

    motion: int
    start: float
    stop: float
    plant: Plant


def blend_plants(
    blended: Motion, character: Character, times: NDArray, weights: NDArray, contacts: Sequence[Contacts | None]
) -> tuple[Footplant, ...]:
    """The plants of a blend: matched ones begin and end at the weighted mean of their times, and stand where it does.

    times: (F, n) seconds of each motion that the blend's frames show; weights: (F, n). Plants of one point that overlap
    in the blend are one plant. One that only some motions have is kept where these have half of the weight.
    """
    kinematics, least = Kinematics(blended), max(round(SHORTEST * blended.fps), 2)
    found = []
    for point in character.contacts:
        track = kinematics.point(character.contacts[point])
        groups = _groups(point, times, weights, contacts)
        for group in (part for whole in groups for part in _taken_apart(whole, track, weights, blended.fps, character)):
            shares = np.array([_at(weights[:, span.motion], 0.5 * (span.start + span.stop)) for span in group])
            if shares.sum() < MOST - 1e-9:
                continue
            first = int(np.ceil(_mean_time([span.start for span in group], group, weights) - 1e-6))
            last = int(np.floor(_mean_time([span.stop for span in group], group, weights) + 1e-6))
            first, last = max(first, 0), min(last, len(blended) - 1)
            first, last = _steady(track, first, last, DRIFT * character.height)
            if last + 1 - first < least:
                continue
            place = track[first : last + 1].mean(axis=0)
            place[1] = float(np.average([span.plant.place[1] for span in group], weights=np.maximum(shares, 1e-9)))
            found.append(
                Footplant(
                    point=character.contacts[point],
                    place=place,
                    frames=range(first, last + 1),
                    ramp=EASE,
                    name=f"{point.replace('_', ' ')} {first}–{last}",
                )
            )
    return reconciled(tuple(found), character) if character.roles is not None else tuple(found)


def _steady(track: NDArray, first: int, last: int, most: float) -> tuple[int, int]:
    """The part of a plant over which its point stays within `most` metres of its mean place: ends are cut off."""
    while last > first:
        away = np.linalg.norm((track[first : last + 1] - track[first : last + 1].mean(axis=0))[:, ::2], axis=1)
        if away.max() <= most:
            break
        first, last = (first + 1, last) if away[0] >= away[-1] else (first, last - 1)
    return first, last


def _taken_apart(
    group: list[_Span], track: NDArray, weights: NDArray, fps: float, character: Character
) -> list[list[_Span]]:
    """A plant that one motion hands over to another, as two where the foot does not stand at one place in both."""
    own, places = [], []
    for span in group:
        frames = np.arange(max(int(np.ceil(span.start)), 0), min(int(span.stop), len(weights) - 1) + 1)
        frames = frames[weights[frames, span.motion] >= MOST]
        own.append(frames)
        places.append(track[frames, ::2].mean(axis=0) if len(frames) else None)
    known = [place for place in places if place is not None]
    handed_over = len(known) > 1 and not any(set(a.tolist()) & set(b.tolist()) for a, b in pairwise(own))
    if not handed_over or max(np.linalg.norm(place - known[0]) for place in known) < APART * character.height:
        return [group]
    gap, found = MOVE * fps, []
    for span, frames in zip(group, own):
        if len(frames):
            start = span.start if frames[0] <= span.start + 1 else frames[0] + gap
            stop = span.stop if frames[-1] >= span.stop - 1 else frames[-1] - gap
            found += [[replace(span, start=float(start), stop=float(stop))]] if stop > start else []
    return found


def _mean_time(times: list[float], group: list[_Span], weights: NDArray) -> float:
    shares = [max(_at(weights[:, span.motion], time), 1e-9) for span, time in zip(group, times)]
    return float(np.average(times, weights=shares))


def _at(values: NDArray, frame: float) -> float:
    return float(np.interp(frame, np.arange(len(values)), values))


def _groups(point: str, times: NDArray, weights: NDArray, contacts: Sequence[Contacts | None]) -> list[list[_Span]]:
    """Plants of one point, those that overlap in the blend together; of each motion one at most."""
    spans: list[_Span] = []
    for number, own in enumerate(contacts):
        if own is None:
            continue
        for plant in own.plants:
            if plant.point == point:
                span = _span(plant, number, own.fps, times[:, number], weights[:, number])
                spans += [] if span is None else [span]
    groups: list[list[_Span]] = []
    for span in sorted(spans, key=lambda span: span.start):
        fits = [group for group in groups if all(other.motion != span.motion for other in group)]
        shared = [_overlap(group, span) for group in fits]
        if max(shared, default=0.0) > 0:
            fits[int(np.argmax(shared))].append(span)
        else:
            groups.append([span])
    return groups


def _span(plant: Plant, number: int, fps: float, times: NDArray, weights: NDArray) -> _Span | None:
    """Where a plant lies in the blend; None where its motion has no weight then, or is not shown at all."""
    start, stop = plant.start / fps, (plant.end - 1) / fps
    shown = np.flatnonzero((times >= start - 1e-6) & (times <= stop + 1e-6) & (weights > 1e-6))
    if not len(shown):
        return None
    # between the frames, where the motion goes on there
    first, last = float(shown[0]), float(shown[-1])
    if shown[0] > 0 and times[shown[0]] > times[shown[0] - 1] and weights[shown[0] - 1] > 1e-6:
        first -= (times[shown[0]] - start) / (times[shown[0]] - times[shown[0] - 1])
    if shown[-1] + 1 < len(times) and times[shown[-1] + 1] > times[shown[-1]] and weights[shown[-1] + 1] > 1e-6:
        last += (stop - times[shown[-1]]) / (times[shown[-1] + 1] - times[shown[-1]])
    return _Span(number, max(first, shown[0] - 1.0), min(last, shown[-1] + 1.0), plant)


def _overlap(group: list[_Span], span: _Span) -> float:
    return max(min(span.stop, other.stop) - max(span.start, other.start) for other in group)


def on_ground(
    plants: tuple[Footplant, ...], blended: Motion, character: Character, level: float
) -> tuple[tuple[Footplant, ...], Ground]:
    """Plants of a blend on its ground: a level floor where all are near to it, else the slope or stones under them."""
    near, feet = SUPPORT.near_ground * character.height, [plant for plant in plants if _is_foot(plant, character)]
    places = np.array([plant.place for plant in feet]).reshape(-1, 3)
    ground: Ground = Plane((0.0, level, 0.0))
    if np.abs(places[:, 1] - level).max(initial=0.0) > near:
        ground = estimate_ground(places, [len(plant) for plant in feet], character.height)
        if not isinstance(ground, Plane):
            soles = [point for name, point in character.contacts.items() if not name.endswith("_palm")]
            return plants, lower_to_soles(ground, Kinematics(blended).points(soles), character.height)
    found = []
    for plant in plants:
        place = np.array(plant.place, float)
        height = float(ground.height(place[None, ::2])[0])
        if _is_foot(plant, character) and abs(place[1] - height) <= near:
            place[1] = height
        found.append(replace(plant, place=place))
    return reconciled(tuple(found), character) if character.roles is not None else tuple(found), ground


def _is_foot(plant: Footplant, character: Character) -> bool:
    return any(plant.point == point for name, point in character.contacts.items() if not name.endswith("_palm"))


def hold(
    blended: Motion,
    character: Character,
    plants: tuple[Footplant, ...],
    level: float,
    *,
    method: str | Method | None = "hierarchical",
    progress: Progress | None = None,
) -> Solution:
    """The blend with its plants held and its soles out of the ground, with how they drifted before and after.

    level: metres, the mean height of the ground. Plants near to it stand on it: floors of captures slope a little.
    method: a name of `methods.NAMES` or one that is set up already; None holds nothing and only measures.
    """
    plants, ground = on_ground(plants, blended, character, level)
    problem = Problem(blended, character, plants)
    if method is None or not plants:
        solution = Stopwatch(problem).finish("blend", blended)
    else:
        chosen = method_of(method) if isinstance(method, str) else method
        problem = replace(problem, motion=level_toes(blended, character, plants, ground))
        solution = solve_soles(chosen, problem, Soles(plants, ground), range(len(blended)), progress)
    names = {point: name for name, point in character.contacts.items()}
    contacts = Contacts(
        tuple(
            Plant(names[plant.point], plant.frames.start, plant.frames.stop, np.asarray(plant.place))  # type: ignore[union-attr]
            for plant in plants
        ),
        tuple(name for name in names.values() if not name.endswith("_palm")),
        len(blended),
        blended.fps,
        ground,
    )
    if not contacts.points:
        return solution
    before, after = (measure(motion, character, contacts, ground=ground) for motion in (blended, solution.motion))
    return replace(solution, report=replace(solution.report, before=before, after=after))
