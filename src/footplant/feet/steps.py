"""Footsteps of one figure as plants for another: where its heels and balls, of another size, have to stand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.constraints import Footplant
from footplant.contacts.detection import Contacts, Plant
from footplant.contacts.ground import Ground
from footplant.kinematics import Kinematics
from footplant.skeleton import Character, Point

EASE = (0.12, 0.12)
"""Seconds in which a plant's correction fades in before it and out after it."""
AGAIN = 100
"""Rounds at most in which plants of one foot are made to agree."""
SAME_PLACE = 0.03
"""Metres within which two plants of one point are at the same place."""
BENT, BENDING = 0.2, 0.1
"""How much higher than its ball a heel is, in foot lengths, when toes bend, and over how much less they straighten."""
_SAME_STEP = 0.12
"""Seconds between a heel's and a ball's plant that still belong to one step."""


@dataclass(frozen=True, eq=False)
class Step:
    """One foot standing: its plants, and where they are."""

    side: str
    heels: tuple[Plant, ...]
    balls: tuple[Plant, ...]

    @property
    def start(self) -> int:
        """First frame."""
        return min(plant.start for plant in (*self.heels, *self.balls))

    @property
    def end(self) -> int:
        """First frame after it."""
        return max(plant.end for plant in (*self.heels, *self.balls))


def find_steps(contacts: Contacts, foot: float, first: int = 0) -> list[Step]:
    """The plants of heels and balls, from a first frame on, put together by step.

    A heel and a ball belong together when they stand at (nearly) the same time and as far apart as the foot is long
    (`foot`, metres).
    """
    steps = []
    near = _SAME_STEP * contacts.fps
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
                    and abs(np.linalg.norm(ball.place - heel.place) - foot) < 0.25 * foot
                    for heel in group[0]
                )
            ]
            if not fits:
                groups.append(([], [ball]))
                continue
            fits[0][1].append(ball)
            for other in fits[1:]:
                # a ball that stands through two plants of its heel makes one step of them
                fits[0][0].extend(other[0])
                fits[0][1].extend(other[1])
                groups = [group for group in groups if group is not other]
        steps += [Step(side, tuple(heel), tuple(ball)) for heel, ball in groups]
    return sorted(steps, key=lambda step: (step.start, step.side))


def foot_length(character: Character, side: str, slope: float = 0.0) -> float:
    """Metres from heel to ball in the reference pose, or with the heel up over toes that lie flat.

    slope: radians by which the line from heel to ball then goes down, more than in the reference pose.
    """
    heel, ball, joint = _sole(character, side)
    flat = float(toes_straight(math.sin(slope))) if slope > 0.0 and joint is not None else 1.0
    if flat < 1.0 and joint is not None:
        # the foot turns about the toes' joint, which is not where the ball is, and takes them along a part of the way
        turns = np.linspace(0.0, 1.4, 29)
        bends = rotation.exp((1.0 - flat) * turns[:, None] * _pitch_axis(heel, ball))
        away = joint + rotation.rotate(bends, np.broadcast_to(heel - joint, (29, 3))) - ball
        slopes = np.arctan2(away[:, 1], np.linalg.norm(away[:, ::2], axis=1)) + flat * turns
        return float(np.interp(slope, slopes - slopes[0], np.linalg.norm(away, axis=1)))
    return math.dist(ball, heel)


_KNOWN_SOLES: WeakKeyDictionary[Character, dict[str, tuple[NDArray, NDArray, NDArray | None]]] = WeakKeyDictionary()
"""What `_sole` found, by side: every step asks for it."""


def _sole(character: Character, side: str) -> tuple[NDArray, NDArray, NDArray | None]:
    """(3,) heel and ball in the reference pose, and the joint of toes that carry the ball, metres; None without."""
    known = _KNOWN_SOLES.setdefault(character, {})
    if side not in known:
        skeleton, roles = character.skeleton, character.require_roles()
        places, turned = humanoid.reference_world(skeleton, roles)
        points = [character.contacts[f"{side}_{part}"] for part in ("heel", "ball")]
        heel, ball = (
            places[point.joint] + rotation.rotate(turned[point.joint], np.array(point.offset)) for point in points
        )
        toes = roles.get(f"{side}_toes")
        bends = toes is not None and points[1].joint in skeleton.descendants(toes)
        known[side] = heel, ball, places[toes] if bends else None
    return known[side]


def toes_straight(rise: ArrayLike) -> NDArray:
    """How much foot and toes are one piece, 0 to 1, by how much higher the heel is than the ball, in foot lengths."""
    return np.clip((BENT - np.asarray(rise, float)) / BENDING, 0.0, 1.0)


def _pitch_axis(heel: NDArray, ball: NDArray) -> NDArray:
    """(3,) the unit axis across a foot about which a positive turn lifts the heel."""
    axis = np.cross(rotation.AXES["y"], ball - heel)
    return axis / max(float(np.linalg.norm(axis)), 1e-12)


def hip_width(character: Character) -> float:
    """Metres between the hip joints."""
    places, roles = character.skeleton.rest_world[0], character.require_roles()
    return float(np.linalg.norm(places[roles["left_upper_leg"]] - places[roles["right_upper_leg"]]))


def step_width_shifts(
    steps: Sequence[Step], kinematics: Kinematics, character: Character, extra: float
) -> list[NDArray]:
    """(3,) for each step: how far it goes outwards, metres, for hips that are wider by `extra` than the source's."""
    roles = character.require_roles()
    hips = kinematics.positions[:, [roles["left_upper_leg"], roles["right_upper_leg"]]]
    across = (hips[:, 0] - hips[:, 1]) * [1.0, 0.0, 1.0]
    shifts = []
    for step in steps:
        mean = across[step.start : step.end].mean(axis=0)
        length = np.linalg.norm(mean)
        outwards = (0.5 if step.side == "left" else -0.5) * extra
        shifts.append(mean / length * outwards if length > 1e-9 else np.zeros(3))
    return shifts


Places = tuple[NDArray | None, NDArray | None]
"""Where the heel and the ball of one step stand, (3,) metres; None for the one that does not stand."""


def transferred_places(
    steps: Sequence[Step],
    target: Character,
    move: Callable[[NDArray], NDArray],
    shifts: Sequence[NDArray] | None = None,
) -> list[Places]:
    """Where the target's heels and balls stand in steps whose places `move` carries (scaled strides, another ground).

    A whole foot is carried by its middle, keeps its line over the ground and gets the target's own length. shifts:
    (3,) metres of the source's own scale for each step, added before it is carried.
    """
    ends = [[_main_place(step.heels), _main_place(step.balls)] for step in steps]
    if shifts is not None:
        ends = [[None if at is None else at + shift for at in pair] for pair, shift in zip(ends, shifts)]
    standing = [at for pair in ends for at in pair if at is not None]
    moved = iter(move(np.array(standing)) if standing else ())
    found: list[Places] = []
    for step, pair in zip(steps, ends):
        heel, ball = (None if at is None else next(moved) for at in pair)
        if heel is not None and ball is not None:
            first, last = heel, ball
            middle, along = 0.5 * (first + last), last - first
            slope = math.atan2(-along[1], math.hypot(along[0], along[2]))
            along = along / math.hypot(*along) * foot_length(target, step.side, slope)
            heel, ball = middle - 0.5 * along, middle + 0.5 * along
            # a foot that stands on its ball, its heel up, does so with another length too
            sunk = max(min(first[1], last[1]) - min(heel[1], ball[1]), 0.0)
            heel, ball = heel + sunk * rotation.AXES["y"], ball + sunk * rotation.AXES["y"]
        found.append((heel, ball))
    return found


def plants_at(
    steps: Sequence[Step], places: Sequence[Places], target: Character, ease: tuple[float, float] = EASE
) -> tuple[Footplant, ...]:
    """Footplants of the target's heels and balls, each step at its places.

    A heel that is held up over the ball for a while, or a ball that comes down twice, is at another place than the
    step's: it keeps its line to the foot's other end.
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
                odd = main is not None and math.dist(plant.place, main) > SAME_PLACE
                found.append(
                    Footplant(
                        point=target.contacts[f"{step.side}_{part}"],
                        place=_odd_place(plant.place, main, place, other, new_other) if odd else place,
                        frames=range(plant.start, plant.end),
                        ramp=ease,
                        name=f"{step.side} {part} {plant.start}–{plant.end - 1}",
                    )
                )
    return tuple(found)


def plants_for(
    steps: Sequence[Step],
    target: Character,
    move: Callable[[NDArray], NDArray],
    shifts: Sequence[NDArray] | None = None,
    ease: tuple[float, float] = EASE,
) -> tuple[Footplant, ...]:
    """Footplants of the target in steps whose places `move` carries: see `transferred_places`."""
    return with_foot_length(plants_at(steps, transferred_places(steps, target, move, shifts), target, ease), target)


def without_overlap(plants: Sequence[Footplant], fps: float) -> tuple[Footplant, ...]:
    """The same plants, their ramps cut short where another plant holds the same point.

    One that is still to come, or gone by, must not pull at one that holds.
    """
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
    """The same plants, those that would be in the ground raised onto it."""
    if not plants:
        return ()
    places = np.array([plant.place for plant in plants], float)
    sunk = ground.height(places[:, ::2]) - places[:, 1]
    places[:, 1] += np.maximum(sunk, 0.0)
    return tuple(_at(plant, place) if low else plant for plant, place, low in zip(plants, places, sunk > 0.0))


def _at(plant: Footplant, place: NDArray) -> Footplant:
    """The same plant at another place (3,), metres."""
    place = np.array(place)
    place.setflags(write=False)
    return plant.like(place=place)


def with_foot_length(plants: tuple[Footplant, ...], target: Character) -> tuple[Footplant, ...]:
    """The same plants, moved by the least so that a heel and a ball that stand at one time are a foot's length apart.

    A foot that turned on the spot has plants of its ends in a row that no rigid foot meets all of. They are put right
    pair by pair, again and again, the shorter plant of a pair giving way more; heights stay.
    """
    places = [[float(x) for x in np.asarray(plant.place)] for plant in plants]
    for side in ("left", "right"):
        ends = [target.contacts.get(f"{side}_{part}") for part in ("heel", "ball")]
        if None in ends:
            continue
        heels, balls = ([number for number, plant in enumerate(plants) if plant.point == end] for end in ends)
        pairs = [
            (heel, ball, *_bridge(plants[heel], plants[ball], target, side))
            for heel in heels
            for ball in balls
            if stand_together(plants[heel], plants[ball])
        ]
        for _ in range(AGAIN):
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
            if worst < 1e-5:
                break
    return tuple(_at(plant, np.array(place)) for plant, place in zip(plants, places))


def _bridge(heel: Footplant, ball: Footplant, target: Character, side: str) -> tuple[float, float]:
    """How far apart over the floor two plants of a foot's ends must be, metres, and the share of it that the heel goes.

    The rise is given: the slope is that of a foot which bridges it, not of how far apart they are now.
    """
    x, y, z = np.subtract(ball.place, heel.place).tolist()  # type: ignore[arg-type]
    length = foot_length(target, side, math.atan2(-y, math.hypot(x, z)))
    slope = math.asin(min(max(-y / length, -1.0), 1.0))
    return foot_length(target, side, slope) * math.cos(slope), len(ball) / max(len(heel) + len(ball), 1)


def stand_together(heel: Footplant, ball: Footplant) -> bool:
    """Whether two plants hold at some frame at once."""
    first, second = heel.frames, ball.frames
    assert isinstance(first, range)
    assert isinstance(second, range)
    return max(first.start, second.start) < min(first.stop, second.stop)


def _odd_place(
    place: NDArray, main: NDArray | None, new_main: NDArray | None, other: NDArray | None, new_other: NDArray | None
) -> NDArray | None:
    """Where a plant goes that is not where its end of the foot mainly stands."""
    if main is None or new_main is None:
        return new_main
    if other is None or new_other is None:
        return new_main + (place - main)
    before, after = main - other, new_main - new_other
    line = rotation.rotate(rotation.between(before, after), place - other)
    return new_other + line * (np.linalg.norm(after) / max(float(np.linalg.norm(line)), 1e-9))


def _main_place(plants: Sequence[Plant]) -> NDArray | None:
    """The mean place of the plants that are where the lowest one is; None without any."""
    if len(plants) < 2:
        return np.array(plants[0].place, float) if plants else None
    lowest = min(plants, key=lambda plant: float(plant.place[1])).place
    near = [plant for plant in plants if math.dist(plant.place, lowest) <= SAME_PLACE]
    lengths = np.array([len(plant) for plant in near], float)
    return lengths @ np.array([plant.place for plant in near], float) / lengths.sum()
