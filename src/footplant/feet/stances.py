"""Intended footplants of a motion whose feet skate, float or sink: contacts, places and the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.checks import real_number
from footplant.constraints import Footplant
from footplant.contacts.detection import HANDS, Contacts, Plant, find_contacts
from footplant.contacts.ground import Ground
from footplant.contacts.settings import SUPPORT, StillnessSettings
from footplant.errors import MotionError
from footplant.feet.palms import rests_on_ground
from footplant.feet.soles import SOLE, flatten_toes
from footplant.feet.steps import STEP_SETTINGS
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

SLIDE = 0.2
"""Body heights per second; a slower foot near the ground is meant to be planted (0.35 m/s for an adult)."""
COVERED = 0.5
"""Fraction of a slow passage that must be still for its still part, instead of the whole passage, to be the contact."""
BRIDGE = 0.1
"""Seconds; slow passages with a shorter gap are merged, unless the foot was lifted in between."""
LIFTED = 0.008
"""Body heights above its median height at which a point has left the ground (14 mm for an adult)."""
SHAKE = 4.0
"""A planted point may be this many times its median distance off its line before it counts as released."""
WITH_BODY = 0.4
"""Share of the way of the centre of mass that a palm in the air moves relative to it at least if it holds something: in
a clip that glides as a whole, still arms move slowly, too. Of the palms of a gliding kick it is 0.09 and 0.06, of 24
palms that hold something in three captured clips 0.68 or more."""
STILL = 0.0002
"""Body heights by which a point at rest may be off its line (0.35 mm for an adult)."""


@dataclass(frozen=True, eq=False)
class Stance:
    """Intended contacts of the feet, and the ground under them."""

    contacts: Contacts
    """Contacts at their intended places, those of palms as they were found, and the intended ground."""
    plants: tuple[Footplant, ...]
    """The contacts of feet as constraints."""


def find_skating_contacts(
    motion: Motion,
    character: Character,
    *,
    slide: float | None = None,
    ground: Ground | None = None,
    hands: bool = False,
) -> Contacts:
    """Return the contacts of a motion whose feet, with `hands` palms too, may skate.

    slide: metres per second; a slower foot near the ground is meant to be planted. Passages slower than that are found
    first. Where the usual detection finds most of a passage at rest, the union of these rests is the contact, so that
    a foot that only creeps keeps its exact onset and release. Otherwise it is the whole passage, until the foot lifts.
    Palms glide on the ground only: one that moves slowly in the air, or with the body, holds nothing.
    """
    if slide is not None:
        slide = real_number(slide, "speed of sliding", MotionError, low=0.0)
    kinematics = Kinematics(motion)
    strict = find_contacts((motion, character), ground=ground, hands=hands)
    strict = _without_moving_palms(strict, kinematics, character)
    speed = SLIDE if slide is None else slide / character.height
    usual = StillnessSettings()
    if speed <= usual.speed:
        return strict
    settings = replace(
        usual, vertical=1.0, speed=speed, share=max(usual.share, 0.15), fastest=max(usual.fastest, speed)
    )  # fmt: skip
    known = strict.ground if strict.plants else ground
    loose = find_contacts((motion, character), ground=known, settings=settings, hands=hands)
    near = SUPPORT.near_ground * character.height
    passages = [plant for plant in loose.plants if plant.point not in HANDS or _above(plant, loose.ground) < near]
    plants: list[Plant] = []
    taken = set()
    for passage in _bridged(passages, kinematics, character):
        rests = [
            plant
            for plant in strict.plants
            if plant.point == passage.point and plant.start < passage.end and passage.start < plant.end
        ]
        taken.update(map(id, rests))
        start, end = passage.start, passage.end
        if rests and rests[-1].end - rests[0].start >= COVERED * len(passage):
            if passage.point in HANDS:
                plants += rests
                continue
            start, end = rests[0].start, rests[-1].end
        plants.append(
            _trimmed(kinematics.point(character.contacts[passage.point]), passage, start, end, character.height)
        )
    plants += [plant for plant in strict.plants if id(plant) not in taken]
    order = {name: number for number, name in enumerate(strict.points)}
    plants.sort(key=lambda plant: (order[plant.point], plant.start))
    # a contact that the clip's end cuts short says little about its place
    kept = [plant for plant in _disjoint(plants) if len(plant) >= usual.shortest * motion.fps]
    return replace(strict if strict.plants else loose, plants=tuple(kept))


def _without_moving_palms(contacts: Contacts, kinematics: Kinematics, character: Character) -> Contacts:
    """Return the contacts without palms in the air that move with the body."""

    def holds(plant: Plant) -> bool:
        if plant.point not in HANDS or rests_on_ground(plant, contacts, character.height):
            return True
        own, frames = kinematics.point(character.contacts[plant.point]), slice(plant.start, plant.end)
        apart, way = (np.linalg.norm(np.ptp(path[frames], axis=0)) for path in (own - body, body))
        return bool(apart > WITH_BODY * way)

    if not any(plant.point in HANDS for plant in contacts.plants):
        return contacts
    hips = 0 if character.roles is None else character.roles.get("hips") or 0
    weighed = character.masses is not None and character.mass_centers is not None
    body = kinematics.center_of_mass(character) if weighed else kinematics.positions[:, hips]
    return replace(contacts, plants=tuple(plant for plant in contacts.plants if holds(plant)))


def _above(plant: Plant, ground: Ground) -> float:
    """Return the height of a contact above the ground, metres."""
    return float(plant.place[1] - ground.height(plant.place[None, ::2])[0])


def _bridged(passages: Sequence[Plant], kinematics: Kinematics, character: Character) -> list[Plant]:
    """Return slow passages with those of one point merged that have a short gap without a lift."""
    longest = round(BRIDGE * kinematics.motion.fps)
    out: list[Plant] = []
    for passage in passages:
        if out and out[-1].point == passage.point and passage.start - out[-1].end <= longest:
            track = kinematics.point(character.contacts[passage.point])
            between = track[out[-1].end : passage.start, 1]
            usual = np.median(track[out[-1].start : passage.end, 1])
            if between.max(initial=usual) < usual + LIFTED * character.height:
                out[-1] = replace(out[-1], end=passage.end)
                continue
        out.append(passage)
    return out


def _trimmed(track: NDArray, passage: Plant, start: int, end: int, height: float) -> Plant:
    """Return the contact of a slow passage, found at rest from `start` to `end`, trimmed to its onset and release.

    In the middle the point may slide along a line at constant speed, and jitter. Where it is farther off that line than
    its jitter explains, it has been released. Beyond the rest found, it is planted only while it is not off at all; so
    a repaired motion gives the same contacts again.
    """
    places, time = track[passage.start : passage.end], np.arange(passage.start, passage.end, dtype=float)
    inner = slice(max(start, passage.start) - passage.start, min(end, passage.end) - passage.start)
    length = inner.stop - inner.start
    margin = max(length // 5, min(1, (length - 1) // 2))
    middle = slice(inner.start + margin, inner.stop - margin)
    half = (length - 2 * margin) // 2
    slope = np.zeros(3)
    if half > 1:
        # a robust line: through the medians of both halves
        first, second = slice(middle.start, middle.start + half), slice(middle.stop - half, middle.stop)
        gap = np.median(time[second]) - np.median(time[first])
        slope = (np.median(places[second], axis=0) - np.median(places[first], axis=0)) / gap * [1.0, 0.0, 1.0]
    line = np.median(places[middle], axis=0) + (time - np.median(time[middle]))[:, None] * slope
    off = np.linalg.norm(places - line, axis=1)
    allowed = np.full(len(off), STILL * height)
    allowed[inner] = max(SHAKE * float(np.median(off[middle])), STILL * height)
    gone = np.flatnonzero(off > allowed)
    first = int(gone[gone < middle.start].max(initial=-1)) + 1
    last = int(gone[gone >= middle.stop].min(initial=len(off)))
    kept = slice(passage.start + first, passage.start + last)
    return Plant(passage.point, kept.start, kept.stop, np.median(track[kept], axis=0))


def _disjoint(plants: Sequence[Plant]) -> list[Plant]:
    """Return sorted contacts, with overlapping ones of a point cut where the earlier one ends."""
    out: list[Plant] = []
    for plant in plants:
        if out and out[-1].point == plant.point and plant.start < out[-1].end:
            if plant.end <= out[-1].end:
                continue
            plant = replace(plant, start=out[-1].end)
        out.append(plant)
    return out


def find_stance(motion: Motion, character: Character, contacts: Contacts, ground: Ground) -> Stance:
    """Return the intended places of a motion's contacts, so that feet stay rigid and are planted on the ground.

    Each step moves rigidly to its median place, so that heel and ball keep their distance on the foot. What is near the
    ground is put on it; a heel or ball that is always a little higher than the other (the skeleton's sole is there)
    stays that much higher.
    """
    palms = tuple(plant for plant in contacts.plants if plant.point in HANDS)
    feet = tuple(plant for plant in contacts.plants if plant.point not in HANDS)
    contacts = replace(contacts, plants=feet, ground=ground)
    # the distance from heel to ball depends on the toes, which will be flat
    plants = [replace(plant, ramp=(0.0, 0.0)) for plant in _stance(contacts, character).plants]
    kinematics = Kinematics(flatten_toes(motion, character, plants, ground))
    soles = [f"{side}_{part}" for side in ("left", "right") for part in SOLE]
    tracks = {name: kinematics.point(character.contacts[name]) for name in soles if name in character.contacts}
    levels = usual_levels(kinematics, character, contacts, ground)
    lowest = min(levels.values(), default=0.0)
    biases = {
        part: float(np.clip(level - lowest, 0.0, SUPPORT.point_bias * character.height))
        for part, level in levels.items()
    }
    levels = _Levels(ground, biases, SUPPORT.near_ground * character.height)
    known = [
        plant
        for side in ("left", "right")
        for step in _standing_feet([plant for plant in contacts.plants if plant.point.startswith(side)])
        for plant in _placed(step, tracks, levels)
    ]
    stance = _stance(replace(contacts, plants=tuple(known)), character)
    return replace(stance, contacts=replace(stance.contacts, plants=(*stance.contacts.plants, *palms)))


@dataclass(frozen=True, eq=False)
class _Levels:
    """Heights of contacts above the ground."""

    ground: Ground
    biases: dict[str, float]
    """Heel, ball → metres by which it is usually above the lowest part of the sole at contact."""
    near: float
    """Metres; a foot nearer to the ground than this is meant to be planted on it."""

    def over(self, places: NDArray, point: str) -> NDArray:
        """Return metres (N,) by which places (N, 3) of a contact point are above its height on the ground."""
        return places[:, 1] - self.ground.height(places[:, ::2]) - self.biases.get(point.rpartition("_")[2], 0.0)

    def sink(self, step: Plant, tracks: dict[str, NDArray]) -> float:
        """Return metres by which a foot must come down for its lowest part to be planted; 0 far from the ground."""
        side, frames = step.point.partition("_")[0], slice(step.start, step.end)
        parts = [f"{side}_{part}" for part in SOLE if f"{side}_{part}" in tracks]
        lowest = min(float(np.median(self.over(tracks[name][frames], name))) for name in parts)
        return lowest if abs(lowest) <= self.near else 0.0

    def put(self, place: NDArray, point: str) -> NDArray:
        """Return the place (3,), put on the ground if it is very near."""
        over = float(self.over(place[None], point)[0])
        return place - [0.0, over, 0.0] if abs(over) <= 0.3 * self.near else place


def _standing_feet(plants: Sequence[Plant]) -> list[list[Plant]]:
    """Return the contacts of one foot grouped by overlap in time; each overlaps with an earlier one of its group."""
    left, found = sorted(plants, key=lambda plant: -len(plant)), []
    while left:
        step = [left.pop(0)]
        for known in step:
            near = [plant for plant in left if plant.start < known.end and known.start < plant.end]
            left = [plant for plant in left if plant not in near]
            step += near
        found.append(step)
    return found


def _stance(contacts: Contacts, character: Character) -> Stance:
    order = {name: number for number, name in enumerate(contacts.points)}
    known = sorted(contacts.plants, key=lambda plant: (order[plant.point], plant.start))
    plants = []
    for number, plant in enumerate(known):
        ramp = list(STEP_SETTINGS.ramp)
        for side, other in ((0, number - 1), (1, number + 1)):
            if 0 <= other < len(known) and known[other].point == plant.point:
                # a ramp that reaches into another footplant of the same point would disturb it
                gap = plant.start - known[other].end if side == 0 else known[other].start - plant.end
                ramp[side] = min(ramp[side], 0.5 * gap / contacts.fps)
        plants.append(
            Footplant(
                point=character.contacts[plant.point],
                place=plant.place,
                frames=range(plant.start, plant.end),
                ramp=(ramp[0], ramp[1]),
                name=f"{plant.point.replace('_', ' ')} {plant.start}–{plant.end - 1}",
            )
        )
    return Stance(replace(contacts, plants=tuple(known)), tuple(plants))


def _placed(step: Sequence[Plant], tracks: dict[str, NDArray], levels: _Levels) -> list[Plant]:
    """Return the contacts of a planted foot at the places to which the whole foot moves rigidly.

    A skating foot moves between the rest of its heel and that of its ball, so their relative position is taken from the
    frames that they share.
    """
    places = [np.median(tracks[step[0].point][step[0].start : step[0].end], axis=0)]
    for number, plant in enumerate(step[1:], start=1):
        best = int(np.argmax([min(plant.end, other.end) - max(plant.start, other.start) for other in step[:number]]))
        frames = slice(max(plant.start, step[best].start), min(plant.end, step[best].end))
        apart = tracks[plant.point][frames] - tracks[step[best].point][frames]
        places.append(places[best] + np.median(apart, axis=0))
    away = [tracks[plant.point][plant.start : plant.end] - place for plant, place in zip(step, places)]
    shift = np.median(np.concatenate(away), axis=0)
    shift[1] -= levels.sink(step[0], tracks)
    return [replace(plant, place=levels.put(place + shift, plant.point)) for plant, place in zip(step, places)]


def usual_levels(kinematics: Kinematics, character: Character, contacts: Contacts, ground: Ground) -> dict[str, float]:
    """Return part → median height above ground at contact, metres: heel, ball, and toe without a joint of its own."""
    found, total = {}, sum(len(plant) for plant in contacts.plants if plant.point not in HANDS)
    for part in ("heel", "ball", "toe"):
        over = []
        for side in ("left", "right"):
            point, toes = character.contacts.get(f"{side}_{part}"), character.require_roles().get(f"{side}_toes")
            if point is None or (part == "toe" and toes in character.skeleton.chain(point.joint)):
                continue
            planted = _flat(contacts, side) if part == "toe" else contacts.mask(f"{side}_{part}")
            place = kinematics.point(point)[planted[: len(kinematics.motion)]]
            over.append(place[:, 1] - ground.height(place[:, ::2]))
        values = np.concatenate(over) if over else np.zeros(0)
        if len(values) > 0.2 * total or (part == "toe" and len(values)):
            found[part] = float(np.median(values))
    return found


def _flat(contacts: Contacts, side: str) -> NDArray:
    """Return (F,) bool: the frames in which both heel and ball are planted."""
    return contacts.mask(f"{side}_heel") & contacts.mask(f"{side}_ball")


def floor_level(kinematics: Kinematics, character: Character, contacts: Contacts) -> float | None:
    """Return the median height of the lowest part of the sole at contact, metres; None if the ground is not level."""
    if not isinstance(contacts.ground, Plane) or abs(contacts.ground.up[1]) < 1.0 - 1e-9 or not contacts.plants:
        return None
    return min(usual_levels(kinematics, character, contacts, Plane()).values(), default=None)
