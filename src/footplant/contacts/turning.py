"""Feet that turn in place: the ankle stands still while the foot, lying flat, yaws under it.

Contact detection looks at heel and ball. A foot that stands and then turns lets go of its ball, and the heel, which
moves by a few millimetres, counts as planted alone although the ankle is what stands still. Beside fast steps even the
ball is slow enough to count as planted, and the foot lies while it turns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import Contacts
from footplant.contacts.settings import StillnessSettings
from footplant.kinematics import Kinematics
from footplant.order import median, runs
from footplant.skeleton import Character

FLAT = 0.015
"""Body heights by which the rise of the heel over the ball may differ from where the foot lies. Of 14 feet that turn in
place, 0.008 finds 6, 0.015 and 0.03 find 11; 0.03 also finds the foot of someone who stands on a heel."""

RATE, LEAST, OVER = math.radians(60.0), math.radians(15.0), 0.1
"""Radians per second, mean over so many seconds (the third), at which a foot that lies turns at least, and radians by
which it does in all. Of 858 times that feet of captures lie, 190 turn by more than 6°, most of them people who stand
and sway: by 6° to 12°, at up to 60°/s for an instant. With 20°/s and 10°, feet that are put down on the heel and roll
inwards count, too, and toes of a dance that stand are moved."""


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

    def __len__(self) -> int:
        """Return the number of frames."""
        return self.end - self.start

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
    and its ankle is stiller than its heel; and where it lies on both, yaws, and its ankle is stiller than both.
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
        found += [Turn(side, *part) for part in _yaws(pieces, (tracks[0], heel, ball), contacts.fps)]
    return tuple(found)


def without_turns(contacts: Contacts, turns: Sequence[Turn]) -> Contacts:
    """Return the contacts with plants of heels and balls cut where their feet turn in place."""
    if not turns:
        return contacts
    kept = []
    for plant in contacts.plants:
        start = plant.start
        for turn in sorted(turns, key=lambda turn: turn.start):
            if (
                plant.point in (f"{turn.side}_heel", f"{turn.side}_ball")
                and start < turn.end
                and turn.start < plant.end
            ):
                if start < turn.start:
                    kept.append(replace(plant, start=start, end=turn.start))
                start = turn.end
        if start < plant.end:
            kept.append(replace(plant, start=start))
    return replace(contacts, plants=tuple(kept))


def pieces_of(heels: dict[int, range], balls: dict[int, range], frames: int, turns: Sequence[Turn] = ()) -> list[Piece]:
    """Return a clip cut where the plants of a foot change, and where its turns begin and end.

    heels, balls: number of a plant → its frames.
    """
    numbers = np.full((2, frames), -1)
    for row, plants in zip(numbers, (heels, balls)):
        for number, held in plants.items():
            row[max(held.start, 0) : held.stop] = number
    cuts = {0, frames, *(np.flatnonzero((np.diff(numbers, axis=1) != 0).any(axis=0)) + 1).tolist()}
    cuts |= {frame for turn in turns for frame in (turn.start, turn.end) if 0 < frame < frames}
    return [Piece(start, end, *numbers[:, start].tolist()) for start, end in pairwise(sorted(cuts)) if start < end]


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


def _yaws(pieces: Sequence[Piece], tracks: tuple[NDArray, NDArray, NDArray], fps: float) -> list[tuple[int, int]]:
    """Return first and end frames in which a foot that lies turns about its ankle; tracks: ankle, heel and ball.

    What one end alone holds in between belongs to the turn. It ends where the foot lies or is in the air.
    """
    reach, found = max(round(0.5 * OVER * fps), 1), []
    for held in _held(pieces):
        first, last = held[0].start, held[-1].end
        ankle, heel, ball = (track[first:last] for track in tracks)
        lies = np.concatenate([np.full(len(piece), piece.lies) for piece in held])
        line, frames = (ball - heel)[:, ::2], np.arange(last - first)
        headings = np.unwrap(np.arctan2(line[:, 0], line[:, 1]))
        before, after = np.maximum(frames - reach, 0), np.minimum(frames + reach, len(frames) - 1)
        rates = (headings[after] - headings[before]) * fps / np.maximum(after - before, 1)
        for sign in (1.0, -1.0):
            for start, end in runs(sign * rates > RATE):
                own = slice(start, end)
                moved, *others = (float(np.var(track[own], axis=0).sum()) for track in (ankle, heel, ball))
                turned = abs(headings[end - 1] - headings[start])
                if turned < LEAST or moved > min(others) or lies[own].mean() < 0.5:
                    continue
                part = _to_lying(held, first + start, first + end, reach)
                if part is not None:
                    found.append(part)
    return found


def _held(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return the pieces of each time that a foot is on the ground."""
    found: list[list[Piece]] = []
    for piece in pieces:
        if piece.free:
            continue
        if found and found[-1][-1].end == piece.start:
            found[-1].append(piece)
        else:
            found.append([piece])
    return found


def _to_lying(held: Sequence[Piece], start: int, end: int, reach: int) -> tuple[int, int] | None:
    """Return a turn made longer or shorter so that the foot lies, or is in the air, before and after it.

    reach: fewest frames that it lies beside an end that is planted alone.
    """
    lying = [piece for piece in held if piece.lies and piece.start < end and start < piece.end]
    if not lying:
        return None
    ends = []
    for edge, piece, sign in ((start, lying[0], -1), (end, lying[-1], 1)):
        number = held.index(piece) + sign
        border = piece.start if sign < 0 else piece.end
        beside = held[number] if 0 <= number < len(held) else None
        beyond = held[number + sign] if beside is not None and 0 <= number + sign < len(held) else None
        if sign * (edge - border) > -reach:  # as far as the end of the plant
            if beside is None or beside.lies:
                edge = border
            elif beyond is None or beyond.lies:
                edge = beside.start if sign < 0 else beside.end
            else:
                edge = border - sign * reach
        ends.append(edge)
    return (ends[0], ends[1]) if ends[0] < ends[1] else None
