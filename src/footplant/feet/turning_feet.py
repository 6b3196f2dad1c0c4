"""Feet that turn in place: the point of the sole under the ankle stands still, and the foot lies flat and yaws about it.

Contact detection looks at heel and ball. A foot that stands and then turns lets go of its ball, and the heel, which
moves by a few millimetres, is held alone; the ankle, which stands still in the source, is dragged around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Footplant
from footplant.contacts.settings import StillnessSettings
from footplant.feet.steps import STEP_SETTINGS
from footplant.humanoid.sole import under_ankle
from footplant.kinematics import Kinematics
from footplant.skeleton import Character, Point

FLAT = 0.015
"""Body heights by which the rise of the heel over the ball may differ from where the foot lies. Of 14 feet that turn in
place, 0.008 holds 6, 0.015 and 0.03 hold 11; 0.03 also lays down the foot of someone who stands on a heel."""


@dataclass(frozen=True)
class _Piece:
    """A part of the clip over which the same plants hold a foot; -1: none."""

    start: int
    end: int
    heel: int
    ball: int

    @property
    def lies(self) -> bool:
        """Whether heel and ball are planted."""
        return self.heel >= 0 and self.ball >= 0


def with_turning_feet(
    plants: Sequence[Footplant], target: Character, source: Kinematics, character: Character
) -> tuple[Footplant, ...]:
    """Return the target's footplants, with those of heels replaced where a foot of the source turns in place.

    A foot turns where its heel alone is planted, next to frames in which it lies on heel and ball, is as flat as there,
    and its ankle is stiller than its heel. There a plant holds the point under the ankle, where it is in those frames;
    times of lying before and after a turn share it.
    """
    found = tuple(plants)
    for side in ("left", "right"):
        names = (f"{side}_heel", f"{side}_ball", f"{side}_foot")
        if all(name in character.contacts for name in names[:2]) and names[2] in character.require_roles():
            found = _with_turns(found, target, side, source, character)
    return found


def _with_turns(
    plants: tuple[Footplant, ...], target: Character, side: str, source: Kinematics, character: Character
) -> tuple[Footplant, ...]:
    sole = under_ankle(target, side)
    if sole is None:
        return plants
    point, share = sole
    heel, ball = (target.contacts[f"{side}_{part}"] for part in ("heel", "ball"))
    held = [
        {number: plant for number, plant in enumerate(plants) if plant.point == end and plant.place is not None}
        for end in (heel, ball)
    ]
    pieces = _pieces(*held, len(source.motion))
    tracks = (
        source.positions[:, character.require_roles()[f"{side}_foot"]],
        source.point(character.contacts[f"{side}_heel"]),
        source.point(character.contacts[f"{side}_ball"]),
    )
    window = round(StillnessSettings().depth * source.motion.fps)
    turns = [
        not piece.lies and piece.heel >= 0 and _turns(pieces, number, tracks, window, FLAT * character.height)
        for number, piece in enumerate(pieces)
    ]
    moved: dict[int, NDArray] = {}
    for first, last in _groups(pieces, turns):
        lying = [number for number in range(first, last) if pieces[number].lies]
        places = np.array(
            [
                (1.0 - share) * np.asarray(plants[pieces[n].heel].place)
                + share * np.asarray(plants[pieces[n].ball].place)
                for n in lying
            ]
        )
        place = np.average(places, axis=0, weights=[pieces[n].end - pieces[n].start for n in lying])
        if np.linalg.norm(places - place, axis=1).max() < STEP_SETTINGS.same_place:
            moved |= {number: place for number in range(first, last) if turns[number]}
            moved |= {number: place - own for number, own in zip(lying, places)}
    if not any(turns[number] for number in moved):
        return plants
    return _replaced(plants, pieces, turns, moved, point, side)


def _pieces(heels: dict[int, Footplant], balls: dict[int, Footplant], frames: int) -> list[_Piece]:
    """Return the clip cut where the plants of a foot change."""
    numbers = np.full((2, frames), -1)
    for row, plants in zip(numbers, (heels, balls)):
        for number, plant in plants.items():
            row[np.asarray(plant.frames)] = number
    cuts = [0, *(np.flatnonzero((np.diff(numbers, axis=1) != 0).any(axis=0)) + 1).tolist(), frames]
    return [_Piece(start, end, *numbers[:, start].tolist()) for start, end in pairwise(cuts)]


def _turns(
    pieces: Sequence[_Piece], number: int, tracks: tuple[NDArray, NDArray, NDArray], window: int, flat: float
) -> bool:
    """Return whether a foot turns about its ankle; tracks: ankle, heel and ball of the source."""
    piece, (ankle, heel, ball) = pieces[number], tracks
    rise = heel[:, 1] - ball[:, 1]
    level, still = False, False
    for lying in (pieces[other] for other in (number - 1, number + 1) if 0 <= other < len(pieces)):
        if lying.lies:
            here, there = (float(np.median(rise[part.start : part.end])) for part in (piece, lying))
            around = range(max(lying.start, piece.start - window), min(lying.end, piece.end + window))
            rows = slice(min(around.start, piece.start), max(around.stop, piece.end))
            level |= abs(here - there) < flat
            still |= bool(np.var(ankle[rows], axis=0).sum() < np.var(heel[rows], axis=0).sum())
    return level and still


def _groups(pieces: Sequence[_Piece], turns: list[bool]) -> list[tuple[int, int]]:
    """Return (first, last) of runs of pieces that turn or lie; a turn with another plant beside it is taken back."""
    for step in (1, -1):
        order = range(len(pieces))[::step]
        for number in order:
            beside = number - step
            if turns[number] and 0 <= beside < len(pieces) and not (turns[beside] or pieces[beside].lies):
                turns[number] = pieces[beside].heel < 0 and pieces[beside].ball < 0
    member = [turn or piece.lies for turn, piece in zip(turns, pieces)]
    edges = np.flatnonzero(np.diff(np.array([False, *member, False]).astype(np.int8))).tolist()
    return [
        (first, last) for first, last in zip(edges[::2], edges[1::2]) if any(turns[first:last])
    ]  # fmt: skip


def _replaced(
    plants: tuple[Footplant, ...], pieces: Sequence[_Piece], turns: Sequence[bool], moved: dict[int, NDArray],
    point: Point, side: str,
) -> tuple[Footplant, ...]:  # fmt: skip
    """Return the plants of one foot with those that turn; moved: pieces → place of a turn, or shift of a foot that lies.

    What a plant holds before and after it holds a foot that lies is shifted with it.
    """
    found = []
    for number, plant in enumerate(plants):
        own = [n for n, piece in enumerate(pieces) if number in (piece.heel, piece.ball)]
        lying = [n for n in own if n in moved and not turns[n]]
        if not any(n in moved for n in own):
            found.append(plant)
            continue
        parts: list[tuple[int, int, NDArray]] = []
        for n in own:
            if n in moved and turns[n]:
                continue
            shift = moved[min(lying, key=lambda other: abs(other - n))] if lying else np.zeros(3)
            if parts and parts[-1][1] == pieces[n].start and np.array_equal(parts[-1][2], shift):
                parts[-1] = parts[-1][0], pieces[n].end, shift
            else:
                parts.append((pieces[n].start, pieces[n].end, shift))
        part = "heel" if any(pieces[n].heel == number for n in own) else "ball"
        found += [
            plant.like(place=plant.place + shift, frames=range(start, end), name=_name(side, part, start, end))
            for start, end, shift in parts
        ]
    found += [
        plants[pieces[n].heel].like(
            point=point, place=place, frames=range(pieces[n].start, pieces[n].end),
            name=_name(side, "sole", pieces[n].start, pieces[n].end),
        )
        for n, place in moved.items()
        if turns[n]
    ]  # fmt: skip
    return tuple(found)


def _name(side: str, part: str, start: int, end: int) -> str:
    return f"{side} {part} {start}–{end - 1}"
