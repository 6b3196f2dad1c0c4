"""Feet that turn in place: the ankle stands still while the foot, lying flat, yaws under it.

Contact detection looks at heel and ball. A foot that stands and then turns lets go of its ball, and the heel, which
moves by a few millimetres, counts as planted alone although the ankle is what stands still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import Contacts
from footplant.contacts.settings import StillnessSettings
from footplant.kinematics import Kinematics
from footplant.order import median
from footplant.skeleton import Character

FLAT = 0.015
"""Body heights by which the rise of the heel over the ball may differ from where the foot lies. Of 14 feet that turn in
place, 0.008 finds 6, 0.015 and 0.03 find 11; 0.03 also finds the foot of someone who stands on a heel."""


@dataclass(frozen=True)
class Turn:
    """A foot that turns in place."""

    side: str
    start: int
    """First frame."""
    end: int
    """First frame after it."""


@dataclass(frozen=True)
class Piece:
    """A part of a clip over which the same plants hold a foot, by their numbers; -1: none."""

    start: int
    end: int
    heel: int
    ball: int

    @property
    def lies(self) -> bool:
        """Whether heel and ball are planted."""
        return self.heel >= 0 and self.ball >= 0

    @property
    def free(self) -> bool:
        """Whether neither is."""
        return self.heel < 0 and self.ball < 0


def turns_in_place(contacts: Contacts, kinematics: Kinematics, character: Character) -> tuple[Turn, ...]:
    """Return where feet turn in place.

    A foot turns where its heel alone is planted, next to frames in which it lies on heel and ball, is as flat as there,
    and its ankle is stiller than its heel.
    """
    found = []
    window = round(StillnessSettings().depth * contacts.fps)
    for side in ("left", "right"):
        names, foot = [f"{side}_heel", f"{side}_ball"], (character.roles or {}).get(f"{side}_foot")
        if foot is None or not all(name in character.contacts for name in names):
            continue
        heels, balls = (
            {n: range(plant.start, plant.end) for n, plant in enumerate(contacts.plants) if plant.point == name}
            for name in names
        )
        heel, ball = (kinematics.point(character.contacts[name]) for name in names)
        pieces = pieces_of(heels, balls, min(contacts.frames, len(heel)))
        tracks = kinematics.positions[:, foot], heel, heel[:, 1] - ball[:, 1]
        turns = [_turns(pieces, n, tracks, window, FLAT * character.height) for n in range(len(pieces))]
        found += [Turn(side, piece.start, piece.end) for piece, turn in zip(pieces, turns) if turn]
    return tuple(found)


def without_turns(contacts: Contacts, turns: Sequence[Turn]) -> Contacts:
    """Return the contacts with plants of heels cut where their feet turn in place."""
    if not turns:
        return contacts
    kept = []
    for plant in contacts.plants:
        start = plant.start
        for turn in sorted(turns, key=lambda turn: turn.start):
            if plant.point == f"{turn.side}_heel" and start < turn.end and turn.start < plant.end:
                if start < turn.start:
                    kept.append(replace(plant, start=start, end=turn.start))
                start = turn.end
        if start < plant.end:
            kept.append(replace(plant, start=start))
    return replace(contacts, plants=tuple(kept))


def pieces_of(heels: dict[int, range], balls: dict[int, range], frames: int) -> list[Piece]:
    """Return a clip cut where the plants of a foot change; heels, balls: number of a plant → its frames."""
    numbers = np.full((2, frames), -1)
    for row, plants in zip(numbers, (heels, balls)):
        for number, held in plants.items():
            row[max(held.start, 0) : held.stop] = number
    cuts = [0, *(np.flatnonzero((np.diff(numbers, axis=1) != 0).any(axis=0)) + 1).tolist(), frames]
    return [Piece(start, end, *numbers[:, start].tolist()) for start, end in pairwise(cuts) if start < end]


def _turns(
    pieces: Sequence[Piece], number: int, tracks: tuple[NDArray, NDArray, NDArray], window: int, flat: float
) -> bool:
    """Return whether a foot turns about its ankle; tracks: ankle, heel, and the rise of the heel over the ball."""
    piece, (ankle, heel, rise) = pieces[number], tracks
    if piece.lies or piece.heel < 0:
        return False
    level, still = False, False
    for lying in (pieces[other] for other in (number - 1, number + 1) if 0 <= other < len(pieces)):
        if lying.lies:
            here, there = (float(median(rise[part.start : part.end])) for part in (piece, lying))
            rows = slice(
                min(max(lying.start, piece.start - window), piece.start),
                max(min(lying.end, piece.end + window), piece.end),
            )
            level |= abs(here - there) < flat
            still |= bool(np.var(ankle[rows], axis=0).sum() < np.var(heel[rows], axis=0).sum())
    return level and still
