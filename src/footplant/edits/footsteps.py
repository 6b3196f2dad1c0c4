"""Footsteps of one figure as plants for another: where its heels and balls, of another size, have to stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.analysis.contacts import Contacts, Plant
from footplant.analysis.ground import Ground
from footplant.constraints import Footplant
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

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
    skeleton, roles = character.skeleton, character.require_roles()
    places, turned = humanoid.reference_world(skeleton, roles)
    points = [character.contacts[f"{side}_{part}"] for part in ("heel", "ball")]
    heel, ball = (
        places[point.joint] + rotation.rotate(turned[point.joint], np.array(point.offset)) for point in points
    )
    toes = roles.get(f"{side}_toes")
    if slope > 0.0 and toes is not None and points[1].joint in skeleton.descendants(toes):
        # the foot turns about the toes' joint, which is not where the ball is, and takes them along a part of the way
        joint, flat = places[toes], float(toes_straight(np.sin(slope)))
        turns = np.linspace(0.0, 1.4, 29)
        bends = rotation.exp((1.0 - flat) * turns[:, None] * _pitch_axis(heel, ball))
        away = joint + rotation.rotate(bends, np.broadcast_to(heel - joint, (29, 3))) - ball
        slopes = np.arctan2(away[:, 1], np.linalg.norm(away[:, ::2], axis=1)) + flat * turns
        return float(np.interp(slope, slopes - slopes[0], np.linalg.norm(away, axis=1)))
    return float(np.linalg.norm(ball - heel))


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


def wider_track(steps: Sequence[Step], kinematics: Kinematics, character: Character, extra: float) -> list[NDArray]:
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


def carried_places(
    steps: Sequence[Step],
    target: Character,
    move: Callable[[NDArray], NDArray],
    shifts: Sequence[NDArray] | None = None,
) -> list[Places]:
    """Where the target's heels and balls stand in steps whose places `move` carries (scaled strides, another ground).

    A whole foot is carried by its middle, keeps its line over the ground and gets the target's own length. shifts:
    (3,) metres of the source's own scale for each step, added before it is carried.
    """
    found: list[Places] = []
    for number, step in enumerate(steps):
        heel, ball = _main_place(step.heels), _main_place(step.balls)
        if shifts is not None:
            heel, ball = (None if place is None else place + shifts[number] for place in (heel, ball))
        if heel is not None and ball is not None:
            first, last = move(heel[None])[0], move(ball[None])[0]
            middle, along = 0.5 * (first + last), last - first
            slope = float(np.arctan2(-along[1], np.hypot(along[0], along[2])))
            along = along / np.linalg.norm(along) * foot_length(target, step.side, slope)
            heel, ball = middle - 0.5 * along, middle + 0.5 * along
            # a foot that stands on its ball, its heel up, does so with another length too
            sunk = max(min(first[1], last[1]) - min(heel[1], ball[1]), 0.0)
            heel, ball = heel + sunk * rotation.AXES["y"], ball + sunk * rotation.AXES["y"]
        else:
            heel, ball = (None if place is None else move(place[None])[0] for place in (heel, ball))
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
                odd = main is not None and np.linalg.norm(plant.place - main) > SAME_PLACE
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
    """Footplants of the target in steps whose places `move` carries: see `carried_places`."""
    return reconciled(plants_at(steps, carried_places(steps, target, move, shifts), target, ease), target)


def one_after_another(plants: Sequence[Footplant], fps: float) -> tuple[Footplant, ...]:
    """The same plants, their ramps cut short where another plant holds the same point.

    One that is still to come, or gone by, must not pull at one that holds.
    """
    out = list(plants)
    for point in dict.fromkeys(plant.point for plant in plants):
        own = [number for number, plant in enumerate(plants) if plant.point == point and plant.frames]
        own.sort(key=lambda number: np.asarray(plants[number].frames)[0])
        for first, second in pairwise(own):
            gap = float(np.asarray(plants[second].frames)[0] - np.asarray(plants[first].frames)[-1]) / fps
            if gap > 0:
                out[first] = replace(out[first], ramp=(out[first].ramp[0], min(out[first].ramp[1], gap)))
                out[second] = replace(out[second], ramp=(min(out[second].ramp[0], gap), out[second].ramp[1]))
    return tuple(out)


def risen(plants: Sequence[Footplant], ground: Ground) -> tuple[Footplant, ...]:
    """The same plants, those that would be in the ground raised onto it."""
    out = []
    for plant in plants:
        place = np.asarray(plant.place, float)
        sunk = float(ground.height(place[None, ::2])[0]) - place[1]
        out.append(replace(plant, place=place + [0.0, sunk, 0.0]) if sunk > 0.0 else plant)
    return tuple(out)


def on_tiptoe(target: Character) -> Character:
    """The figure with the balls of stiff feet taken to the tips of their toes; itself where its toes can bend.

    A foot without a joint for its toes rolls over their tips: about its ball it would push them into the ground.
    """
    roles, contacts = target.require_roles(), dict(target.contacts)
    for side in ("left", "right"):
        ball, toe = (target.contacts.get(f"{side}_{part}") for part in ("ball", "toe"))
        if ball is not None and toe is not None and ball.joint == toe.joint == roles.get(f"{side}_foot"):
            contacts[f"{side}_ball"] = toe
    return target if contacts == dict(target.contacts) else replace(target, contacts=contacts)


def at_tips(plants: Sequence[Footplant], target: Character, figure: Character, motion: Motion) -> tuple[Footplant, ...]:
    """The plants of a target whose figure stands on tiptoe (see `on_tiptoe`): those of balls as far before them.

    The way is that from the heel which stands at the same time, or as the foot mostly points in the motion.
    """
    kinematics, found = Kinematics(motion), []
    for plant in plants:
        side = next((s for s in ("left", "right") if plant.point == target.contacts.get(f"{s}_ball")), None)
        if side is None or plant.place is None or figure.contacts[f"{side}_ball"] == plant.point:
            found.append(plant)
            continue
        tip = figure.contacts[f"{side}_ball"]
        way = np.median((kinematics.point(tip) - kinematics.point(plant.point))[np.asarray(plant.frames)], axis=0)
        length = float(np.linalg.norm(np.subtract(tip.offset, plant.point.offset)))
        for other in plants:
            if other.point == target.contacts.get(f"{side}_heel") and _together(other, plant):
                way = np.asarray(plant.place) - np.asarray(other.place)
        way = way * [1.0, 0.0, 1.0]
        way *= length / max(float(np.linalg.norm(way)), 1e-9)
        found.append(replace(plant, point=tip, place=np.asarray(plant.place) + way))
    return reconciled(tuple(found), figure)


def balls_to_tips(
    places: Sequence[Places], steps: Sequence[Step], target: Character, figure: Character, motion: Motion
) -> list[Places]:
    """Places of steps for a figure on tiptoe (see `on_tiptoe`): a ball that stands alone as far before where it was.

    A whole foot is carried by its middle and has its length already. The way is as the foot mostly points.
    """
    kinematics, found = Kinematics(motion), list(places)
    for number, (step, (heel, ball)) in enumerate(zip(steps, places)):
        own, tip = (who.contacts[f"{step.side}_ball"] for who in (target, figure))
        if heel is None and ball is not None and own != tip:
            way = np.median((kinematics.point(tip) - kinematics.point(own))[step.start : step.end], axis=0)
            found[number] = (None, ball + way * [1.0, 0.0, 1.0])
    return found


def reconciled(plants: tuple[Footplant, ...], target: Character) -> tuple[Footplant, ...]:
    """The same plants, moved by the least so that a heel and a ball that stand at one time are a foot's length apart.

    A foot that turned on the spot has plants of its ends in a row that no rigid foot meets all of. They are put right
    pair by pair, again and again, the shorter plant of a pair giving way more; heights stay.
    """
    places = {id(plant): np.array(plant.place, float) for plant in plants}
    for side in ("left", "right"):
        ends = [target.contacts.get(f"{side}_{part}") for part in ("heel", "ball")]
        if None in ends:
            continue
        heels, balls = ([plant for plant in plants if plant.point == end] for end in ends)
        pairs = []
        for heel in heels:
            for ball in balls:
                if _together(heel, ball):
                    along = places[id(ball)] - places[id(heel)]
                    slope = float(np.arctan2(-along[1], np.hypot(along[0], along[2])))
                    length = foot_length(target, side, slope)
                    # the rise is given: the slope is that of a foot which bridges it, not of how far apart they are now
                    slope = float(np.arcsin(np.clip(-along[1] / length, -1.0, 1.0)))
                    level = foot_length(target, side, slope) * np.cos(slope)
                    share = len(ball) / max(len(heel) + len(ball), 1)
                    pairs.append((id(heel), id(ball), level, share))
        for _ in range(AGAIN):
            worst = 0.0
            for heel, ball, level, share in pairs:
                along = (places[ball] - places[heel]) * [1.0, 0.0, 1.0]
                length = float(np.linalg.norm(along))
                if length < 1e-6:
                    continue
                change = along * ((length - level) / length)
                places[heel] += share * change
                places[ball] -= (1.0 - share) * change
                worst = max(worst, abs(length - level))
            if worst < 1e-5:
                break
    return tuple(replace(plant, place=places[id(plant)]) for plant in plants)


def _together(heel: Footplant, ball: Footplant) -> bool:
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
    if not plants:
        return None
    lowest = min(plants, key=lambda plant: float(plant.place[1])).place
    near = [plant for plant in plants if np.linalg.norm(plant.place - lowest) <= SAME_PLACE]
    return np.average([plant.place for plant in near], axis=0, weights=[len(plant) for plant in near])
