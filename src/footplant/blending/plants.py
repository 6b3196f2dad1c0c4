"""Foot contacts of a blend, derived from those of its motions: future work in Macleod (2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.blending.settings import BLEND_CONTACTS
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import Contacts, Plant, find_contacts
from footplant.contacts.ground import Ground, estimate_ground, lower_to_soles
from footplant.contacts.settings import SUPPORT
from footplant.feet.planting import WHOLE_BODY, can_plant, chosen_method, solve_planted
from footplant.feet.sole_correction import Soles, solve_soles
from footplant.feet.soles import flatten_toes
from footplant.feet.steps import STEP_SETTINGS, with_foot_length, without_overlap
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Method, Problem, Progress, Solution, Stopwatch
from footplant.quality.measure import measure
from footplant.skeleton import Character
from footplant.solve.methods.hierarchical import Hierarchical


@dataclass(frozen=True, eq=False)
class _Span:
    """A contact of one motion, in frames of the blend."""

    motion: int
    start: float
    stop: float
    plant: Plant


def blend_plants(
    blended: Motion, character: Character, times: NDArray, weights: NDArray, contacts: Sequence[Contacts | None]
) -> tuple[Footplant, ...]:
    """Return the contacts of a blend: matched ones start and end at the weighted mean of their times.

    Each is where the blend has its point. times: (F, n) seconds of each motion that the blend's frames show; weights:
    (F, n). Contacts of one point that overlap in the blend are merged. A contact that only some motions have is kept
    where these have half of the weight.
    """
    kinematics, least = Kinematics(blended), max(round(BLEND_CONTACTS.shortest * blended.fps), 2)
    found = []
    for point in character.contacts:
        track, taken = kinematics.point(character.contacts[point]), 0
        groups = _groups(point, times, weights, contacts)
        parts = (_split_handover(group, track, weights, blended.fps, character) for group in groups)
        for group in (part for split in parts for part in split):
            shares = np.array([_at(weights[:, span.motion], 0.5 * (span.start + span.stop)) for span in group])
            if shares.sum() < BLEND_CONTACTS.most - 1e-9:
                continue
            first = int(np.ceil(_mean_time([span.start for span in group], group, weights) - 1e-6))
            last = int(np.floor(_mean_time([span.stop for span in group], group, weights) + 1e-6))
            # a point is in one contact at a time
            first, last = max(first, taken), min(last, len(blended) - 1)
            first, last = _trim_drift(track, first, last, BLEND_CONTACTS.drift * character.height)
            if last + 1 - first < least:
                continue
            taken = last + 1
            place = track[first : last + 1].mean(axis=0)
            place[1] = float(np.average([span.plant.place[1] for span in group], weights=np.maximum(shares, 1e-9)))
            found.append(
                Footplant(
                    point=character.contacts[point],
                    place=place,
                    frames=range(first, last + 1),
                    ramp=STEP_SETTINGS.ramp,
                    name=f"{point.replace('_', ' ')} {first}–{last}",
                )
            )
    return with_foot_length(tuple(found), character) if character.roles is not None else tuple(found)


def _trim_drift(track: NDArray, first: int, last: int, most: float) -> tuple[int, int]:
    """Trim a contact's ends until its point stays within `most` metres of its mean position."""
    while last > first:
        away = np.linalg.norm((track[first : last + 1] - track[first : last + 1].mean(axis=0))[:, ::2], axis=1)
        if away.max() <= most:
            break
        first, last = (first + 1, last) if away[0] >= away[-1] else (first, last - 1)
    return first, last


def _split_handover(
    group: list[_Span], track: NDArray, weights: NDArray, fps: float, character: Character
) -> list[list[_Span]]:
    """Split a contact that one motion hands over to another, if the foot is not at the same position in both."""
    own, places = [], []
    for span in group:
        frames = np.arange(max(int(np.ceil(span.start)), 0), min(int(span.stop), len(weights) - 1) + 1)
        frames = frames[weights[frames, span.motion] >= BLEND_CONTACTS.most]
        own.append(frames)
        places.append(track[frames, ::2].mean(axis=0) if len(frames) else None)
    known = [place for place in places if place is not None]
    handed_over = len(known) > 1 and not any(set(a.tolist()) & set(b.tolist()) for a, b in pairwise(own))
    farthest = max((np.linalg.norm(place - known[0]) for place in known), default=0.0)
    if not handed_over or farthest < BLEND_CONTACTS.apart * character.height:
        return [group]
    gap, found = BLEND_CONTACTS.move * fps, []
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
    """Group contacts of one point that overlap in the blend; at most one of each motion in a group."""
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
    """Return where a contact lies in the blend; None where its motion has no weight then, or is not shown at all."""
    start, stop = plant.start / fps, (plant.end - 1) / fps
    shown = np.flatnonzero((times >= start - 1e-6) & (times <= stop + 1e-6) & (weights > 1e-6))
    if not len(shown):
        return None
    # interpolate between frames, where the motion continues there
    first, last = float(shown[0]), float(shown[-1])
    if shown[0] > 0 and times[shown[0]] > times[shown[0] - 1] and weights[shown[0] - 1] > 1e-6:
        first -= (times[shown[0]] - start) / (times[shown[0]] - times[shown[0] - 1])
    if shown[-1] + 1 < len(times) and times[shown[-1] + 1] > times[shown[-1]] and weights[shown[-1] + 1] > 1e-6:
        last += (stop - times[shown[-1]]) / (times[shown[-1] + 1] - times[shown[-1]])
    return _Span(number, max(first, shown[0] - 1.0), min(last, shown[-1] + 1.0), plant)


def _overlap(group: list[_Span], span: _Span) -> float:
    return max(min(span.stop, other.stop) - max(span.start, other.start) for other in group)


def place_on_ground(
    plants: tuple[Footplant, ...], blended: Motion, character: Character, level: float
) -> tuple[tuple[Footplant, ...], Ground]:
    """Put contacts of a blend on its ground: a level floor if all are near it, else the ground estimated from them."""
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
    return with_foot_length(tuple(found), character) if character.roles is not None else tuple(found), ground


def as_seen(plants: tuple[Footplant, ...], held: Motion, character: Character, ground: Ground) -> tuple[Footplant, ...]:
    """Return the footplants of a blend with those that are seen in it once they are held: longer ones, and new ones.

    The ends of contacts lie between frames of a blend, feet may be still in a crossfade, or where a clip is cut, that
    have no contact in any clip, and a foot that was moved to its place arrives there and leaves it at another speed.
    What `find_contacts` finds beyond the footplants would be seen to slide.
    """
    names = {name: point for name, point in character.contacts.items() if not name.endswith("_palm")}
    seen = find_contacts(Clip(held, character, name="blend"), ground=ground)
    spans = [[plant.frames.start, plant.frames.stop] for plant in plants]  # type: ignore[union-attr]
    added: list[Footplant] = []
    for contact in seen.plants:
        point = names[contact.point]
        own = [n for n, plant in enumerate(plants) if plant.point == point]
        shared = [n for n in own if spans[n][0] < contact.end and contact.start < spans[n][1]]
        if not shared:
            frames = range(contact.start, contact.end)
            name = f"{contact.point.replace('_', ' ')} {frames.start}–{frames.stop - 1}"
            added.append(Footplant(point=point, place=contact.place, frames=frames, ramp=STEP_SETTINGS.ramp, name=name))
            continue
        # between two footplants of one contact the foot takes a step
        spans[shared[0]][0] = min(spans[shared[0]][0], contact.start)
        spans[shared[-1]][1] = max(spans[shared[-1]][1], contact.end)
    longer = tuple(
        plant if span == [plant.frames.start, plant.frames.stop] else plant.like(frames=range(*span))  # type: ignore[union-attr]
        for plant, span in zip(plants, spans)
    )
    return without_overlap((*longer, *added), held.fps)


def _is_foot(plant: Footplant, character: Character) -> bool:
    return any(plant.point == point for name, point in character.contacts.items() if not name.endswith("_palm"))


def hold_plants(
    blended: Motion,
    character: Character,
    plants: tuple[Footplant, ...],
    level: float,
    *,
    method: str | Method | None = WHOLE_BODY,
    again: int = 0,
    progress: Progress | None = None,
) -> Solution:
    """Solve for foot locks and ground clearance of a blend, and measure foot skating before and after.

    again: how often it is solved again, at most, for contacts that are seen in the solution only.
    level: metres, the mean height of the ground. Contacts near it are put on it: floors of captures slope a little.
    method: "whole-body", a name in `methods.NAMES` or a method object; None solves nothing and only measures.
    """
    whole_body = chosen_method(method) is None
    plants, ground = place_on_ground(plants, blended, character, level)
    problem = Problem(blended, character, plants)
    if method is None or not plants:
        solution = Stopwatch(problem).finish("blend", blended)
    elif whole_body and can_plant(character):
        solution = solve_planted(problem, plants, ground, range(len(blended)), progress=progress)
        for _ in range(again):
            seen = as_seen(plants, solution.motion, character, ground)
            if seen == plants:
                break
            plants = seen
            problem = replace(problem, constraints=plants)
            solution = solve_planted(problem, plants, ground, range(len(blended)), progress=progress)
    else:
        chosen = chosen_method(method) or Hierarchical()
        problem = replace(problem, motion=flatten_toes(blended, character, plants, ground))
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
