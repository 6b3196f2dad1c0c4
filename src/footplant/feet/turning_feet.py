"""Footplants of feet that turn in place (`contacts.turning`): the point of the sole under the ankle is held."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints import Footplant
from footplant.contacts.turning import Piece, Turn, pieces_of
from footplant.feet.steps import STEP_SETTINGS
from footplant.humanoid.sole import under_ankle
from footplant.kinematics import Kinematics
from footplant.skeleton import Character


@dataclass(frozen=True, eq=False)
class _Moved:
    """Where a foot that lies goes: turned about a point of the ground, and moved."""

    about: NDArray
    """(3,) metres."""
    to: NDArray
    """(3,) metres."""
    angle: float
    """Radians about the vertical."""

    def __call__(self, place: NDArray) -> NDArray:
        """Return where a place (3,) goes."""
        return self.to + rotation.rotate(rotation.exp(self.angle * rotation.AXES["y"]), place - self.about)


@dataclass(frozen=True, eq=False)
class _Lying:
    """A step: a foot that lies, and pivots about its heel or its ball before, after and in between."""

    pieces: list[int]
    frames: int
    first: NDArray
    """(3,) metres; the point under the ankle where it first lies."""
    last: NDArray
    """(3,) metres; where it last lies."""
    off: float
    """Radians about the vertical by which the source's foot is turned against the plants."""

    @classmethod
    def of(
        cls, numbers: list[int], pieces: Sequence[Piece], plants: Sequence[Footplant], share: float, line: NDArray
    ) -> _Lying:
        """Return the step of some pieces; line: (F, 3) from the source's heel to its ball."""
        lying = [pieces[n] for n in numbers if pieces[n].lies]
        heels, balls = (
            np.array([plants[getattr(piece, end)].place for piece in lying], float) for end in ("heel", "ball")
        )
        under, own = heels + share * (balls - heels), np.concatenate([line[p.start : p.end] for p in lying])
        lengths = [piece.end - piece.start for piece in lying]
        along = np.average(balls - heels, axis=0, weights=lengths)
        off = _heading(np.mean(own, axis=0)) - _heading(along)
        return cls(numbers, sum(lengths), under[0], under[-1], off)


def with_turning_feet(
    plants: Sequence[Footplant], target: Character, turns: Sequence[Turn], source: Kinematics, character: Character
) -> tuple[Footplant, ...]:
    """Return the target's footplants, with those of heels and balls replaced where the source's feet turn in place.

    There a plant holds the point under the ankle, where it is while the foot lies before and after: these times share
    that place, each in its own direction.
    """
    found = tuple(plants)
    for side in ("left", "right"):
        own = [turn for turn in turns if turn.side == side]
        if own and under_ankle(target, side) is not None:
            found = _with_turns(found, target, side, own, source, character)
    return found


def _with_turns(
    plants: tuple[Footplant, ...], target: Character, side: str, asked: Sequence[Turn], source: Kinematics,
    character: Character,
) -> tuple[Footplant, ...]:  # fmt: skip
    sole = under_ankle(target, side)
    assert sole is not None
    point, share = sole
    heels, balls = (
        {
            n: range(plant.frames[0], plant.frames[-1] + 1)
            for n, plant in enumerate(plants)
            if plant.point == target.contacts[f"{side}_{part}"] and plant.place is not None and plant.frames
        }
        for part in ("heel", "ball")
    )
    pieces = pieces_of(heels, balls, len(source.motion), asked)
    turns = _turns(pieces, asked)
    line = source.point(character.contacts[f"{side}_ball"]) - source.point(character.contacts[f"{side}_heel"])
    places: dict[int, NDArray] = {}
    moves: dict[int, _Moved] = {}
    for chain in _chains(pieces, turns):
        if not any(turns[part[0]] for part in chain):
            continue
        steps = [_Lying.of(part, pieces, plants, share, line) for part in chain if not turns[part[0]]]
        moved = _moved(steps)
        if moved is None:
            continue
        for step, move in zip(steps, moved):
            moves |= dict.fromkeys(step.pieces, move)
        following = iter(zip(steps, moved))
        at = moved[0].to
        for part in chain:
            if turns[part[0]]:
                places |= dict.fromkeys(part, at)
            else:
                step, move = next(following)
                at = move(step.last)
    if not places:
        return plants
    holding: dict[int, list[int]] = {number: [] for number in range(-1, len(plants))}
    for n, piece in enumerate(pieces):
        for number in (piece.heel, piece.ball):
            holding[number].append(n)
    kept = [
        part
        for number, plant in enumerate(plants)
        for part in _parts(plant, holding[number], pieces, places, moves)
    ]  # fmt: skip
    turned = [
        plants[max(pieces[n].heel, pieces[n].ball)].like(
            point=point, place=place, frames=range(pieces[n].start, pieces[n].end),
            name=f"{side} sole {pieces[n].start}–{pieces[n].end - 1}",
        )
        for n, place in places.items()
    ]  # fmt: skip
    return (*kept, *turned)


def _turns(pieces: Sequence[Piece], asked: Sequence[Turn]) -> list[bool]:
    """Return which pieces turn: not those beside another plant, to which the foot would jump."""
    turns = [not piece.free and any(t.start <= piece.start and piece.end <= t.end for t in asked) for piece in pieces]
    for step in (1, -1):
        for n in range(len(pieces))[::step]:
            beside = n - step
            if turns[n] and 0 <= beside < len(pieces):
                turns[n] = turns[beside] or pieces[beside].lies or pieces[beside].free
    return turns


def _chains(pieces: Sequence[Piece], turns: Sequence[bool]) -> list[list[list[int]]]:
    """Return steps and turns that follow one another without a gap; a step: pieces linked by plants that they share."""
    chains: list[list[list[int]]] = []
    for n, piece in enumerate(pieces):
        if piece.free:
            continue
        before = pieces[n - 1] if n else None
        linked = before is not None and (before.heel == piece.heel >= 0 or before.ball == piece.ball >= 0)
        if before is None or before.free or not (linked or turns[n] or turns[n - 1]):
            chains.append([[n]])
        elif turns[n] == turns[n - 1]:
            chains[-1][-1].append(n)
        else:
            chains[-1].append([n])
    return chains


def _moved(steps: Sequence[_Lying]) -> list[_Moved] | None:
    """Return how steps between turns move so that each ends where the next begins; None if that is too far.

    Together they stay where they are, in the directions that they have. What differs in all of them between their
    direction and the source's is the shape of the feet.
    """
    if not steps:
        return None
    frames = [step.frames for step in steps]
    off = np.array([math.remainder(step.off - steps[0].off, math.tau) for step in steps])
    angles, found, at = off - np.average(off, weights=frames), [], steps[0].first
    for step, angle in zip(steps, angles.tolist()):
        found.append(_Moved(step.first, at, angle))
        at = found[-1](step.last)
    shift = np.average([move.to - move.about for move in found], axis=0, weights=frames)
    found = [replace(move, to=move.to - shift) for move in found]
    far = max(float(np.linalg.norm(move.to - move.about)) for move in found)
    return found if far < STEP_SETTINGS.same_place else None


def _heading(line: NDArray) -> float:
    """Return the direction of a line (3,) about the vertical, radians."""
    return math.atan2(float(line[0]), float(line[2]))


def _parts(
    plant: Footplant, own: Sequence[int], pieces: Sequence[Piece], places: Mapping[int, NDArray],
    moves: Mapping[int, _Moved],
) -> list[Footplant]:  # fmt: skip
    """Return what remains of a plant without the pieces that turn, moved as its foot is; own: the pieces it holds."""
    if not any(n in places or n in moves for n in own):
        return [plant]
    parts: list[tuple[int, int, NDArray]] = []
    for n in own:
        if n in places:
            continue
        place = np.asarray(plant.place, float)
        place = moves[n](place) if n in moves else place
        if parts and parts[-1][1] == pieces[n].start and np.array_equal(parts[-1][2], place):
            parts[-1] = parts[-1][0], pieces[n].end, place
        else:
            parts.append((pieces[n].start, pieces[n].end, place))
    title = plant.name.rpartition(" ")[0]
    return [
        plant.like(place=place, frames=range(start, end), name=f"{title} {start}–{end - 1}")
        for start, end, place in parts
    ]
