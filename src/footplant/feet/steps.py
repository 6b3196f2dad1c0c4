"""Footsteps: heel and ball contacts grouped into steps, and the footplants of these steps on another character."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.checks import real_number, whole_number
from footplant.constraints import Footplant
from footplant.contacts.detection import Contacts, Plant
from footplant.contacts.ground import Ground
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.order import median
from footplant.skeleton import Character, Point


@dataclass(frozen=True)
class StepSettings:
    """Tuning numbers of footsteps. Where a field names no experiment, none is on record."""

    ramp: tuple[float, float] = (0.12, 0.12)
    """Seconds over which the correction of a footplant ramps up before it and down after it. Halved, feet arrive and
    leave with twice the speed of correction; doubled, corrections of short swing phases overlap."""
    same_step: float = 0.12
    """Seconds; largest gap between a heel contact and a ball contact of the same step."""
    length_tolerance: float = 0.25
    """Fraction of the foot length by which the distance of a heel and a ball contact of one step may differ from it."""
    same_place: float = 0.03
    """Metres; two footplants of one point within this distance are at the same place."""
    toe_bend: float = 0.2
    """Rise of the heel above the ball, in foot lengths, from which on the toes bend."""
    toe_bend_range: float = 0.1
    """Foot lengths below `toe_bend` over which the toes straighten until foot and toes are one rigid piece."""
    length_rounds: int = 100
    """Maximum Gauss–Seidel sweeps that restore the foot length between overlapping footplants."""
    length_error: float = 1e-5
    """Metres; error of the foot length at which the sweeps stop."""


STEP_SETTINGS = StepSettings()


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a foot: the contacts of its heel and its ball."""

    side: str
    heels: tuple[Plant, ...]
    balls: tuple[Plant, ...]

    @property
    def start(self) -> int:
        """First frame of contact."""
        return min(plant.start for plant in (*self.heels, *self.balls))

    @property
    def end(self) -> int:
        """First frame after the contact."""
        return max(plant.end for plant in (*self.heels, *self.balls))


def find_steps(contacts: Contacts, foot: float, first: int = 0) -> list[Step]:
    """Return the contacts of heels and balls from frame `first` on, grouped by step and sorted by time.

    A heel and a ball belong to one step if they are in contact at (nearly) the same time, at a distance of about the
    foot length `foot` (metres).
    """
    real_number(foot, "foot length", MotionError, low=0.0)
    whole_number(first, "a frame", MotionError)
    steps = []
    near = STEP_SETTINGS.same_step * contacts.fps
    plants = [replace(plant, start=max(plant.start, first)) for plant in contacts.plants if plant.end > first]
    for side in ("left", "right"):
        heels = [plant for plant in plants if plant.point == f"{side}_heel"]
        balls = [plant for plant in plants if plant.point == f"{side}_ball"]
        groups: list[tuple[list[Plant], list[Plant]]] = [([heel], []) for heel in heels]
        for ball in balls:
            fits = [
                group
                for group in groups
                if any(
                    ball.start < heel.end + near
                    and heel.start < ball.end + near
                    and abs(np.linalg.norm(ball.place - heel.place) - foot) < STEP_SETTINGS.length_tolerance * foot
                    for heel in group[0]
                )
            ]
            if not fits:
                groups.append(([], [ball]))
                continue
            fits[0][1].append(ball)
            for other in fits[1:]:
                # a ball contact that spans two contacts of its heel joins them into one step
                fits[0][0].extend(other[0])
                fits[0][1].extend(other[1])
                groups = [group for group in groups if group is not other]
        steps += [Step(side, tuple(heel), tuple(ball)) for heel, ball in groups]
    return sorted(steps, key=lambda step: (step.start, step.side))


def keep_pitch(steps: Sequence[Step], ground: Ground, near: float) -> list[Step]:
    """Return steps with the far end of those whose other end is near the ground, and will be put on it, moved alike.

    near: metres. A foot whose lower end alone was put on the ground would be pitched by up to 20° more.
    """
    found = []
    for step in steps:
        ends = [_main_place(step.heels), _main_place(step.balls)]
        if ends[0] is not None and ends[1] is not None:
            places = np.array(ends)
            over = places[:, 1] - ground.height(places[:, ::2])
            on = np.abs(over) < near
            if on[0] != on[1]:
                lower = np.array([0.0, float(over[on][0]), 0.0])
                heels, balls = (
                    own if there else tuple(replace(plant, place=plant.place - lower) for plant in own)
                    for own, there in zip((step.heels, step.balls), on)
                )
                step = replace(step, heels=heels, balls=balls)
        found.append(step)
    return found


def foot_length(character: Character, side: str, slope: float = 0.0) -> float:
    """Return the distance from heel to ball, metres, in the reference pose or with the heel raised over flat toes.

    slope: radians by which the line from heel to ball is inclined down, relative to the reference pose.
    """
    heel, ball, joint = _sole(character, side)
    flat = float(toes_straight(math.sin(slope))) if slope > 0.0 and joint is not None else 1.0
    if flat < 1.0 and joint is not None:
        # The foot pitches about the toe joint, which is not at the ball, and partly straight toes pitch with it.
        # Tabulate slope and distance over the pitch angle, and interpolate.
        turns = np.linspace(0.0, 1.4, 29)
        bends = rotation.exp((1.0 - flat) * turns[:, None] * _pitch_axis(heel, ball))
        away = joint + rotation.rotate(bends, np.broadcast_to(heel - joint, (29, 3))) - ball
        slopes = np.arctan2(away[:, 1], np.linalg.norm(away[:, ::2], axis=1)) + flat * turns
        return float(np.interp(slope, slopes - slopes[0], np.linalg.norm(away, axis=1)))
    return math.dist(ball, heel)


_SOLE_CACHE: WeakKeyDictionary[Character, dict[str, tuple[NDArray, NDArray, NDArray | None]]] = WeakKeyDictionary()
"""Results of `_sole` by side: every step needs them."""


def _sole(character: Character, side: str) -> tuple[NDArray, NDArray, NDArray | None]:
    """Return heel, ball and toe joint (3,) in the reference pose, metres; None without toes that carry the ball."""
    cached = _SOLE_CACHE.setdefault(character, {})
    if side not in cached:
        skeleton, roles = character.skeleton, character.require_roles()
        places, turned = humanoid.reference_world(skeleton, roles)
        points = [character.contacts[f"{side}_{part}"] for part in ("heel", "ball")]
        heel, ball = (
            places[point.joint] + rotation.rotate(turned[point.joint], np.array(point.offset)) for point in points
        )
        toes = roles.get(f"{side}_toes")
        bends = toes is not None and points[1].joint in skeleton.descendants(toes)
        cached[side] = heel, ball, places[toes] if bends else None
    return cached[side]


def toes_straight(rise: ArrayLike) -> NDArray:
    """Return the rigidity of foot and toes, 0 (toes bend) to 1 (one piece); rise: heel over ball, foot lengths."""
    return np.clip((STEP_SETTINGS.toe_bend - np.asarray(rise, float)) / STEP_SETTINGS.toe_bend_range, 0.0, 1.0)


def _pitch_axis(heel: NDArray, ball: NDArray) -> NDArray:
    """Return the unit axis (3,) across a foot; a positive rotation about it lifts the heel."""
    axis = np.cross(rotation.AXES["y"], ball - heel)
    return axis / max(float(np.linalg.norm(axis)), 1e-12)


def hip_width(character: Character) -> float:
    """Return the distance between the hip joints in the rest pose, metres."""
    places, roles = character.skeleton.rest_world[0], character.require_roles()
    return float(np.linalg.norm(places[roles["left_upper_leg"]] - places[roles["right_upper_leg"]]))


def step_width_shifts(
    steps: Sequence[Step], kinematics: Kinematics, character: Character, extra: float
) -> list[NDArray]:
    """Return each step's outward shift (3,), metres, for hips that are wider by `extra` metres than the source's.

    Legs keep their directions. With narrower hips, however, feet that stand nearer to the middle than the hip joints
    would cross there: they are shifted in proportion, and feet that are crossed in the source not at all. Steps of one
    foot that overlap are one stay, as of a foot that pivots on its ball and then its heel: they are shifted alike, else
    hips that turn meanwhile would turn the foot the other way round.
    """
    roles = character.require_roles()
    hips = kinematics.positions[:, [roles["left_upper_leg"], roles["right_upper_leg"]]]
    across, middle = (hips[:, 0] - hips[:, 1]) * [1.0, 0.0, 1.0], hips.mean(axis=1)
    shifts: list[NDArray] = [np.zeros(3)] * len(steps)
    for stay in _stays(steps):
        own = [steps[number] for number in stay]
        held = slice(min(step.start for step in own), max(step.end for step in own))
        mean = across[held].mean(axis=0)
        length = np.linalg.norm(mean)
        if length < 1e-9:
            continue
        outwards = mean / length * (1.0 if own[0].side == "left" else -1.0)
        share = 1.0
        if extra < 0.0:
            place = np.mean([_place_of(step) for step in own], axis=0)
            away = (place - middle[held].mean(axis=0)) @ outwards
            share = min(max(2.0 * away / length, 0.0), 1.0)
        for number in stay:
            shifts[number] = 0.5 * extra * share * outwards
    return shifts


def _stays(steps: Sequence[Step]) -> list[list[int]]:
    """Return the numbers of the steps of each foot that overlap, directly or by others between them."""
    stays: list[list[int]] = []
    for side in ("left", "right"):
        last = -1
        for number in sorted((n for n, step in enumerate(steps) if step.side == side), key=lambda n: steps[n].start):
            if steps[number].start < last:
                stays[-1].append(number)
            else:
                stays.append([number])
            last = max(last, steps[number].end)
    return stays


def _place_of(step: Step) -> NDArray:
    """Return the middle (3,) of a step's heel and ball, metres."""
    return np.mean([at for at in (_main_place(step.heels), _main_place(step.balls)) if at is not None], axis=0)


Places = tuple[NDArray | None, NDArray | None]
"""Positions (3,) of the heel and the ball of one step, metres; None for one that is not in contact."""


def transferred_places(
    steps: Sequence[Step],
    target: Character,
    move: Callable[[NDArray], NDArray],
    shifts: Sequence[NDArray] | None = None,
) -> list[Places]:
    """Return where the target's heels and balls are planted, for steps moved by `move` (scaled strides, other ground).

    A foot with heel and ball in contact is moved by its midpoint, keeps its direction and gets the target's length.
    shifts: (3,) for each step, metres at the source's scale, added before `move`.
    """
    ends = [[_main_place(step.heels), _main_place(step.balls)] for step in steps]
    if shifts is not None:
        ends = [[None if at is None else at + shift for at in pair] for pair, shift in zip(ends, shifts)]
    planted = [at for pair in ends for at in pair if at is not None]
    moved = iter(move(np.array(planted)) if planted else ())
    found: list[Places] = []
    for step, pair in zip(steps, ends):
        heel, ball = (None if at is None else next(moved) for at in pair)
        if heel is not None and ball is not None:
            first, last = heel, ball
            middle, along = 0.5 * (first + last), last - first
            slope = math.atan2(-along[1], math.hypot(along[0], along[2]))
            along = along / math.hypot(*along) * foot_length(target, step.side, slope)
            heel, ball = middle - 0.5 * along, middle + 0.5 * along
            # a new length must not push the lower end of an inclined foot (heel raised) below where it was
            sunk = max(min(first[1], last[1]) - min(heel[1], ball[1]), 0.0)
            heel, ball = heel + sunk * rotation.AXES["y"], ball + sunk * rotation.AXES["y"]
        found.append((heel, ball))
    return found


def plants_at(
    steps: Sequence[Step], places: Sequence[Places], target: Character, ramp: tuple[float, float] = STEP_SETTINGS.ramp
) -> tuple[Footplant, ...]:
    """Return footplants of the target's heels and balls, each step at its places.

    A contact away from its step's main place (a heel held above the ball for a while, a ball that comes down twice)
    keeps its direction from the other end of the foot.
    """
    found = []
    for step, (heel, ball) in zip(steps, places):
        first, second = _main_place(step.heels), _main_place(step.balls)
        ends = (
            ("heel", step.heels, first, heel, second, ball),
            ("ball", step.balls, second, ball, first, heel),
        )
        for part, plants, main, place, other, new_other in ends:
            for plant in plants:
                elsewhere = main is not None and math.dist(plant.place, main) > STEP_SETTINGS.same_place
                found.append(
                    Footplant(
                        point=target.contacts[f"{step.side}_{part}"],
                        place=_offset_place(plant.place, main, place, other, new_other) if elsewhere else place,
                        frames=range(plant.start, plant.end),
                        ramp=ramp,
                        name=f"{step.side} {part} {plant.start}–{plant.end - 1}",
                    )
                )
    return tuple(found)


def plants_for(
    steps: Sequence[Step],
    target: Character,
    move: Callable[[NDArray], NDArray],
    shifts: Sequence[NDArray] | None = None,
    ramp: tuple[float, float] = STEP_SETTINGS.ramp,
) -> tuple[Footplant, ...]:
    """Return footplants of the target for steps moved by `move`, at the foot length: see `transferred_places`."""
    return with_foot_length(plants_at(steps, transferred_places(steps, target, move, shifts), target, ramp), target)


def without_overlap(plants: Sequence[Footplant], fps: float) -> tuple[Footplant, ...]:
    """Return the footplants with ramps shortened so that none reaches into another footplant of the same point."""
    ramps = [list(plant.ramp) for plant in plants]
    by_point: dict[Point, list[int]] = {}
    for number, plant in enumerate(plants):
        if plant.frames:
            by_point.setdefault(plant.point, []).append(number)
    for own in by_point.values():
        own.sort(key=lambda number: plants[number].frames[0])  # type: ignore[index]
        for first, second in pairwise(own):
            gap = (plants[second].frames[0] - plants[first].frames[-1]) / fps  # type: ignore[index]
            if gap > 0:
                ramps[first][1], ramps[second][0] = min(ramps[first][1], gap), min(ramps[second][0], gap)
    return tuple(
        plant if plant.ramp == (rise, fall) else plant.like(ramp=(rise, fall))
        for plant, (rise, fall) in zip(plants, ramps)
    )


def raised_to_ground(plants: Sequence[Footplant], ground: Ground) -> tuple[Footplant, ...]:
    """Return the footplants with those below the ground raised onto it."""
    if not plants:
        return ()
    places = np.array([plant.place for plant in plants], float)
    sunk = ground.height(places[:, ::2]) - places[:, 1]
    places[:, 1] += np.maximum(sunk, 0.0)
    return tuple(_at(plant, place) if low else plant for plant, place, low in zip(plants, places, sunk > 0.0))


def _at(plant: Footplant, place: NDArray) -> Footplant:
    """Return the footplant at another place (3,), metres."""
    place = np.array(place)
    place.setflags(write=False)
    return plant.like(place=place)


def with_foot_length(
    plants: tuple[Footplant, ...],
    target: Character,
    distance: Callable[[Footplant, Footplant, str], float] | None = None,
) -> tuple[Footplant, ...]:
    """Return the footplants, moved so that heel and ball are one foot length apart whenever both are planted.

    A foot that pivots has overlapping footplants of heel and ball that no rigid foot can meet. The distance constraints
    |ball − heel| = length are projected pair by pair (Gauss–Seidel, as in position-based dynamics) until all are met.
    Within a pair, the shorter footplant moves more. Heights are kept. distance: horizontal distance, metres, of a
    planted heel and ball of a side; None: that of the foot in the reference pose, at the slope that the heights ask.
    """
    distance = partial(_floor_distance, target) if distance is None else distance
    places = [[float(x) for x in np.asarray(plant.place)] for plant in plants]
    for side in ("left", "right"):
        ends = [target.contacts.get(f"{side}_{part}") for part in ("heel", "ball")]
        if None in ends:
            continue
        heels, balls = ([number for number, plant in enumerate(plants) if plant.point == end] for end in ends)
        pairs = [
            (heel, ball, distance(plants[heel], plants[ball], side), _share(plants[heel], plants[ball]))
            for heel in heels
            for ball in balls
            if overlap_in_time(plants[heel], plants[ball])
        ]
        for _ in range(STEP_SETTINGS.length_rounds):
            worst = 0.0
            for heel, ball, level, share in pairs:
                first, second = places[heel], places[ball]
                x, z = second[0] - first[0], second[2] - first[2]
                length = math.sqrt(x * x + z * z)
                if length < 1e-6:
                    continue
                change = (length - level) / length
                first[0] += share * x * change
                first[2] += share * z * change
                second[0] -= (1.0 - share) * x * change
                second[2] -= (1.0 - share) * z * change
                worst = max(worst, abs(length - level))
            if worst < STEP_SETTINGS.length_error:
                break
    return tuple(_at(plant, np.array(place)) for plant, place in zip(plants, places))


def as_long_as_the_foot(plants: tuple[Footplant, ...], motion: Motion, character: Character) -> tuple[Footplant, ...]:
    """Return the plants with heel and ball as far apart as the motion's feet have them, whose toes are laid flat."""
    kinematics = Kinematics(motion)

    def distance(heel: Footplant, ball: Footplant, side: str) -> float:
        shared = sorted(set(heel.frames or ()) & set(ball.frames or ()))
        heels, balls = (kinematics.point(character.contacts[f"{side}_{part}"])[shared] for part in ("heel", "ball"))
        length = float(median(np.linalg.norm(balls - heels, axis=1)))
        rise = float(np.asarray(ball.place)[1] - np.asarray(heel.place)[1])
        return math.sqrt(max(length**2 - rise**2, 0.0))

    return with_foot_length(plants, character, distance)


def _floor_distance(target: Character, heel: Footplant, ball: Footplant, side: str) -> float:
    """Return the horizontal distance of heel and ball, metres.

    The difference in height is given, so the slope follows from it and the foot length, not from the present distance.
    """
    x, y, z = np.subtract(ball.place, heel.place).tolist()  # type: ignore[arg-type]
    length = foot_length(target, side, math.atan2(-y, math.hypot(x, z)))
    slope = math.asin(min(max(-y / length, -1.0), 1.0))
    return foot_length(target, side, slope) * math.cos(slope)


def _share(heel: Footplant, ball: Footplant) -> float:
    """Return the fraction of a correction that the heel takes."""
    return len(ball) / max(len(heel) + len(ball), 1)


def overlap_in_time(heel: Footplant, ball: Footplant) -> bool:
    """Return whether two footplants share a frame."""
    first, second = heel.frames, ball.frames
    assert isinstance(first, range)
    assert isinstance(second, range)
    return max(first.start, second.start) < min(first.stop, second.stop)


def _offset_place(
    place: NDArray, main: NDArray | None, new_main: NDArray | None, other: NDArray | None, new_other: NDArray | None
) -> NDArray | None:
    """Return the new place of a contact that is away from the main place of its end of the foot."""
    if main is None or new_main is None:
        return new_main
    if other is None or new_other is None:
        return new_main + (place - main)
    before, after = main - other, new_main - new_other
    line = rotation.rotate(rotation.between(before, after), place - other)
    return new_other + line * (np.linalg.norm(after) / max(float(np.linalg.norm(line)), 1e-9))


def _main_place(plants: Sequence[Plant]) -> NDArray | None:
    """Return the mean place (3,) of the lowest contact and those near it, weighted by length; None without contacts."""
    if len(plants) < 2:
        return np.array(plants[0].place, float) if plants else None
    lowest = min(plants, key=lambda plant: float(plant.place[1])).place
    near = [plant for plant in plants if math.dist(plant.place, lowest) <= STEP_SETTINGS.same_place]
    lengths = np.array([len(plant) for plant in near], float)
    return lengths @ np.array([plant.place for plant in near], float) / lengths.sum()
