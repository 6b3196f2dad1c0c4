"""Where the feet of a motion are meant to stand, though they skate, float or sink: steps, places and the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Footplant
from footplant.contacts.detection import Contacts, Plant, find_contacts
from footplant.contacts.ground import Ground
from footplant.contacts.settings import SUPPORT, StillnessSettings
from footplant.feet.soles import SOLE, flatten_toes
from footplant.feet.steps import STEP_SETTINGS
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

SLIDE = 0.2
"""Body heights a second; a foot near the ground that is slower is meant to stand (0.35 m/s for an adult)."""
COVERED = 0.5
"""Share of a slow passage that must truly be still for its still part to be the plant, and not the whole passage."""
BRIDGE = 0.1
"""Seconds; slow passages no farther apart are one, unless the foot was lifted in between."""
LIFTED = 0.008
"""Body heights above its usual height at which a point has left the ground (14 mm)."""
SHAKE = 4.0
"""How many times its usual distance from its line a planted point may be off it and still be planted."""
STILL = 0.0002
"""Body heights that a point at perfect rest may be off (0.35 mm)."""

ONE_PLACE = 0.008
"""Body heights between two plants of a point that may be one (14 mm for an adult)."""


@dataclass(frozen=True, eq=False)
class Stance:
    """What the feet should do: where they stand, and on what."""

    contacts: Contacts
    """Plants with the places at which they should be, and the ground that they should be on."""
    plants: tuple[Footplant, ...]
    """The same as constraints."""


def find_skating_contacts(
    motion: Motion, character: Character, *, slide: float | None = None, ground: Ground | None = None
) -> Contacts:
    """Footplants of a motion whose feet may skate.

    slide: metres a second; a foot near the ground that is slower is meant to stand. Passages in which a point is that
    slow are looked for first. Where the usual detection finds most of one at rest, its rests, taken together, are the
    plant: a foot that only creeps is cut as sharply as ever. Else the passage itself is, up to where it is lifted.
    """
    strict = find_contacts((motion, character), ground=ground)
    speed = SLIDE if slide is None else slide / character.height
    usual = StillnessSettings()
    if speed <= usual.speed:
        return strict
    settings = replace(usual, speed=speed, share=max(usual.share, 0.15), fastest=max(usual.fastest, speed))
    loose = find_contacts((motion, character), ground=strict.ground if strict.plants else ground, settings=settings)
    kinematics, plants = Kinematics(motion), []
    taken = set()
    for passage in _bridged(loose.plants, kinematics, character):
        rests = [
            plant
            for plant in strict.plants
            if plant.point == passage.point and plant.start < passage.end and passage.start < plant.end
        ]
        taken.update(map(id, rests))
        start, end = passage.start, passage.end
        if rests and rests[-1].end - rests[0].start >= COVERED * len(passage):
            start, end = rests[0].start, rests[-1].end
        plants.append(
            _trimmed(kinematics.point(character.contacts[passage.point]), passage, start, end, character.height)
        )
    plants += [plant for plant in strict.plants if id(plant) not in taken]
    order = {name: number for number, name in enumerate(strict.points)}
    plants.sort(key=lambda plant: (order[plant.point], plant.start))
    return replace(strict if strict.plants else loose, plants=tuple(_disjoint(plants)))


def _bridged(passages: Sequence[Plant], kinematics: Kinematics, character: Character) -> list[Plant]:
    """Slow passages of one point that follow one another at once, without a lift in between, made one."""
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
    """The plant of a slow passage whose rest was found from `start` to `end`, its ends put where the point leaves.

    In the middle the point may slide, evenly, and shake. Where it is farther off that line than its shaking explains it
    has left. Beyond the rest that was found it still stands while it is not off at all; so what was repaired is found
    the same again.
    """
    places, time = track[passage.start : passage.end], np.arange(passage.start, passage.end, dtype=float)
    inner = slice(max(start, passage.start) - passage.start, min(end, passage.end) - passage.start)
    length = inner.stop - inner.start
    margin = max(length // 5, min(1, (length - 1) // 2))
    middle = slice(inner.start + margin, inner.stop - margin)
    half = (length - 2 * margin) // 2
    slope = np.zeros(3)
    if half > 1:
        # from the medians of both halves: a line that a few frames do not bend
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
    """Sorted plants, those of one point that overlap cut where the next begins."""
    out: list[Plant] = []
    for plant in plants:
        if out and out[-1].point == plant.point and plant.start < out[-1].end:
            if plant.end <= out[-1].end:
                continue
            plant = replace(plant, start=out[-1].end)
        out.append(plant)
    return out


def find_stance(motion: Motion, character: Character, contacts: Contacts, ground: Ground) -> Stance:
    """Places at which the plants of a motion should be, so that feet keep their shape and stand on the ground.

    Each step is moved as a whole to its mean place, so that heel and ball are as far apart as on the foot itself. What
    is near the ground is put on it; a heel or ball that is always a little higher than the other (the skeleton has its
    sole there) stays as much higher.
    """
    contacts = replace(contacts, ground=ground)
    # how far heel and ball are apart depends on the toes, which will lie flat
    kinematics = Kinematics(flatten_planted_toes(motion, character, _stance(contacts, character).plants, ground))
    soles = [f"{side}_{part}" for side in ("left", "right") for part in SOLE]
    tracks = {name: kinematics.point(character.contacts[name]) for name in soles if name in character.contacts}
    for side in ("left", "right"):
        heel, ball = (character.contacts.get(f"{side}_{part}") for part in ("heel", "ball"))
        if heel is not None and ball is not None:
            turns = ball.joint != heel.joint
            tracks[f"{side}_hinge"] = kinematics.positions[:, ball.joint] if turns else tracks[f"{side}_ball"]
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
    return _stance(replace(contacts, plants=tuple(known)), character)


@dataclass(frozen=True, eq=False)
class _Levels:
    """How high plants stand."""

    ground: Ground
    biases: dict[str, float]
    """Heel, ball → metres by which it usually rests above the lowest part of the sole."""
    near: float
    """Metres from there within which a foot is meant to stand on the ground."""

    def over(self, places: NDArray, point: str) -> NDArray:
        """(N,) metres by which places (N, 3) of a contact point are too high to stand."""
        return places[:, 1] - self.ground.height(places[:, ::2]) - self.biases.get(point.rpartition("_")[2], 0.0)

    def sink(self, step: Plant, tracks: dict[str, NDArray]) -> float:
        """Metres by which a foot must come down for its lowest part to stand; 0 where the ground is not near."""
        side, frames = step.point.partition("_")[0], slice(step.start, step.end)
        parts = [f"{side}_{part}" for part in SOLE if f"{side}_{part}" in tracks]
        lowest = min(float(np.median(self.over(tracks[name][frames], name))) for name in parts)
        return lowest if abs(lowest) <= self.near else 0.0

    def put(self, place: NDArray, point: str) -> NDArray:
        """A place on the ground, if it is all but there."""
        over = float(self.over(place[None], point)[0])
        return place - [0.0, over, 0.0] if abs(over) <= 0.3 * self.near else place


def _standing_feet(plants: Sequence[Plant]) -> list[list[Plant]]:
    """The plants of one foot, put together where they share a frame; each after one that it shares frames with."""
    left, found = sorted(plants, key=lambda plant: -len(plant)), []
    while left:
        step = [left.pop(0)]
        for known in step:
            near = [plant for plant in left if plant.start < known.end and known.start < plant.end]
            left = [plant for plant in left if plant not in near]
            step += near
        found.append(step)
    return found


def flatten_planted_toes(motion: Motion, character: Character, plants: Sequence[Footplant], ground: Ground) -> Motion:
    """Toes flat while the ball of their foot stands: bent by noise they would pull heel and ball apart.

    Beside a plant it is the correction of its nearest frame that fades, so that toes that were flat stay as they were.
    """
    flat = flatten_toes(motion, character, [replace(plant, ramp=(0.0, 0.0)) for plant in plants], ground)
    change, total = flat - motion, np.zeros((len(motion), 1 + len(motion.skeleton), 3))
    if not change.any():
        return motion
    every, best = np.arange(len(motion)), np.zeros(len(motion))
    for side in ("left", "right"):
        toes, ball = character.require_roles().get(f"{side}_toes"), character.contacts.get(f"{side}_ball")
        best[:] = 0.0
        for plant in plants:
            if toes is None or plant.point != ball:
                continue
            share = plant.activation(every, motion.fps)
            nearest = np.asarray(plant.frames)[plant.slot(every)]
            more = share > best
            total[more, 1 + toes] = (share[:, None] * change[nearest, 1 + toes])[more]
            best = np.maximum(best, share)
    return motion + total


def _stance(contacts: Contacts, character: Character) -> Stance:
    order = {name: number for number, name in enumerate(contacts.points)}
    known = sorted(contacts.plants, key=lambda plant: (order[plant.point], plant.start))
    plants = []
    for number, plant in enumerate(known):
        ramp = list(STEP_SETTINGS.ramp)
        for side, other in ((0, number - 1), (1, number + 1)):
            if 0 <= other < len(known) and known[other].point == plant.point:
                # a ramp that reached into the next plant of the same point would pull that one away
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


def merge_contacts(contacts: Contacts, found: Contacts, height: float) -> Contacts:
    """The contacts, plants of one point made one where they are one in what was found once they stood.

    A foot that stands at two places less than `ONE_PLACE` apart, with a moment of motion between them that goes when it
    is put right, would be taken for one that slides when repaired again. height: the body's, metres.
    """
    plants = list(contacts.plants)
    for plant in found.plants:
        own = [other for other in plants if other.point == plant.point]
        own = [other for other in own if other.start < plant.end and plant.start < other.end]
        if len(own) < 2 or np.ptp([other.place for other in own], axis=0).max() > ONE_PLACE * height:
            continue
        place = np.average([other.place for other in own], axis=0, weights=[len(other) for other in own])
        first, last = min(other.start for other in own), max(other.end for other in own)
        plants = [other for other in plants if other not in own] + [replace(own[0], start=first, end=last, place=place)]
    return contacts if len(plants) == len(contacts.plants) else replace(contacts, plants=tuple(plants))


def add_stances(motion: Motion, character: Character, stance: Stance, contacts: Contacts) -> Stance:
    """A stance with what else stands in a motion whose feet have been put right; what stood stands as before.

    contacts: what stands in that motion.
    """
    new = [
        plant
        for plant in contacts.plants
        if not any(
            plant.point == other.point and plant.start < other.end and other.start < plant.end
            for other in stance.contacts.plants
        )
    ]
    if not new:
        return stance
    more = find_stance(motion, character, replace(contacts, plants=tuple(new)), stance.contacts.ground)
    plants = (*stance.contacts.plants, *more.contacts.plants)
    return _stance(replace(stance.contacts, plants=plants), character)


def _placed(step: Sequence[Plant], tracks: dict[str, NDArray], levels: _Levels) -> list[Plant]:
    """The plants of a foot that stands, at the places to which the whole foot is moved, rigidly.

    A foot that skates has moved on between its heel's rest and its ball's: how they lie to one another is told by the
    frames that they share.
    """
    places, beside = [np.median(tracks[step[0].point][step[0].start : step[0].end], axis=0)], [(0, slice(0, 1))]
    for number, plant in enumerate(step[1:], start=1):
        best = int(np.argmax([min(plant.end, other.end) - max(plant.start, other.start) for other in step[:number]]))
        frames = slice(max(plant.start, step[best].start), min(plant.end, step[best].end))
        apart = tracks[plant.point][frames] - tracks[step[best].point][frames]
        places.append(places[best] + np.median(apart, axis=0))
        beside.append((best, frames))
    away = [tracks[plant.point][plant.start : plant.end] - place for plant, place in zip(step, places)]
    shift = np.median(np.concatenate(away), axis=0)
    shift[1] -= levels.sink(step[0], tracks)
    placed = [replace(step[0], place=levels.put(places[0] + shift, step[0].point))]
    for plant, place, (best, frames) in zip(step[1:], places[1:], beside[1:]):
        other, on = placed[best], levels.put(place + shift, plant.point)
        if plant.point != other.point:
            # as far apart over the floor as the foot makes them at these heights
            rise = on[1] - other.place[1]
            flat = (on - other.place) * [1.0, 0.0, 1.0]
            side, part = plant.point.split("_")
            length = _floor_length(tracks, side, frames, rise if part == "ball" else -rise)
            flat *= length / max(float(np.linalg.norm(flat)), 1e-9)
            on = other.place + flat + [0.0, rise, 0.0]
        placed.append(replace(plant, place=on))
    return placed


def _floor_length(tracks: dict[str, NDArray], side: str, frames: slice, rise: float) -> float:
    """Metres over the floor from a heel to a ball that is higher by `rise`, the toes as they lie in some frames.

    The foot is rigid from the heel to the joint of the toes; from there to the ball it goes as the toes lie.
    """
    heel, hinge, ball = (tracks[f"{side}_{part}"][frames] for part in ("heel", "hinge", "ball"))
    bone = float(np.median(np.linalg.norm(hinge - heel, axis=1)))
    below = np.median(ball - hinge, axis=0)
    along = np.median(ball - heel, axis=0) * [1.0, 0.0, 1.0]
    along /= max(float(np.linalg.norm(along)), 1e-9)
    return float(np.sqrt(max(bone**2 - (rise - below[1]) ** 2, 0.0)) + below @ along)


def usual_levels(kinematics: Kinematics, character: Character, contacts: Contacts, ground: Ground) -> dict[str, float]:
    """Heel, ball → metres over the ground at which they usually rest; toe, where it cannot turn by itself, likewise."""
    found, total = {}, sum(map(len, contacts.plants))
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
    """(F,) bool: frames in which both heel and ball are planted."""
    return contacts.mask(f"{side}_heel") & contacts.mask(f"{side}_ball")


def floor_level(kinematics: Kinematics, character: Character, contacts: Contacts) -> float | None:
    """The height at which the lowest part of the sole usually rests, metres; None where the ground is not level."""
    if not isinstance(contacts.ground, Plane) or abs(contacts.ground.up[1]) < 1.0 - 1e-9 or not contacts.plants:
        return None
    return min(usual_levels(kinematics, character, contacts, Plane()).values(), default=None)
