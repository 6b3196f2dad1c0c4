"""Steps apart: where both feet stand, legs that are inside each other are moved out of it with their steps.

A leg whose foot is planted cannot move aside (`solve.legs_apart`). Shanks and feet of another body may be thicker than
those of the one that was recorded, or the hips narrower: then its steps are too near to each other. From the first
frame in which a foot is planted to the last, all its plants are moved as one. The moves s of all stays are

    minimise Σ |s|²   subject to   aside · (s_left − s_right) ≥ how far the legs must part,

one row for two stays, at the frame in which their legs are deepest inside each other, found anew after each solve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Footplant
from footplant.kinematics import Kinematics
from footplant.order import runs
from footplant.skeleton import Character
from footplant.solve.ik.limb import Limb
from footplant.solve.legs_apart import legs_apart

SWEEPS = 60
"""Times that each row is met in turn (Hildreth 1957), as each moves stays of others."""
SHORT = 0.2
"""Seconds; stays of a foot with less between them are moved as one. With 0, 0.1, 0.2 and 0.4, legs of a charleston on
short legs end 19, 24, 10 and 9 mm inside each other."""
GAIN = 0.7
"""Of what two stays lacked at first; those that lack more than this after they were moved go back: legs that cross get
out of each other no way."""


@dataclass(frozen=True, eq=False)
class ApartRow:
    """Two stays that must be apart."""

    pair: tuple[int, int]
    """Those of the left and of the right foot."""
    aside: NDArray
    """(3,) level unit direction in which the left one is moved away from the right one."""
    least: float
    """Metres that way."""


@dataclass(eq=False)
class StepsApart:
    """How far the stays of both feet are moved, and the rows that ask for it."""

    labels: NDArray
    """(2, F) number of the stay that each foot is in; −1 in swing."""
    moves: NDArray
    """(S, 3) metres; level."""
    rows: list[ApartRow] = field(default_factory=list)
    before: dict[tuple[int, int], float] = field(default_factory=dict)
    """Of each pair of stays that has been asked for something, metres that it lacked at first."""

    @classmethod
    def of(cls, planted: NDArray, fps: float) -> StepsApart:
        """Return it for feet that are planted (2, F) bool, not moved yet."""
        labels, count = np.full(planted.shape, -1), 0
        for s in range(2):
            before = -np.inf
            for start, end in runs(planted[s]):
                count += start - before > SHORT * fps
                labels[s, start:end] = count - 1
                before = end
        return cls(labels, np.zeros((count, 3)))

    def move(self, kinematics: Kinematics, character: Character, legs: tuple[Limb, Limb], further: bool = True) -> bool:
        """Move stays of a solution whose legs are inside each other while both feet stand; return whether some move.

        further: whether more is asked; else stays that have not come apart go back.
        """
        left, right = self.labels
        standing = (left >= 0) & (right >= 0)
        asked = legs_apart(kinematics, character, legs, ~standing) if standing.any() else None
        if asked is None:
            return False
        aside, least = asked
        ankles = kinematics.positions[:, legs[0].end] - kinematics.positions[:, legs[1].end]
        lacks = least - (aside * ankles).sum(axis=1)
        deepest: dict[tuple[int, int], int] = {}
        for frame in np.flatnonzero(np.isfinite(lacks)).tolist():
            pair = int(left[frame]), int(right[frame])
            if pair not in deepest or lacks[frame] > lacks[deepest[pair]]:
                deepest[pair] = frame
        rows = list(self.rows)
        for pair, frame in deepest.items():
            known = self.before.setdefault(pair, float(lacks[frame]))
            if further:
                apart = self.moves[pair[0]] - self.moves[pair[1]]
                rows.append(ApartRow(pair, aside[frame], float(lacks[frame] + aside[frame] @ apart)))
            elif lacks[frame] > GAIN * known:
                rows = [row for row in rows if row.pair != pair]
        if len(rows) == len(self.rows):
            return False
        self.rows, self.moves = rows, least_moves(rows, len(self.moves))
        return True

    def moved(self, plants: Sequence[Footplant], sides: Sequence[int]) -> tuple[Footplant, ...]:
        """Return plants moved with their stays; sides: 0 or 1 of each, −1 where it is of no foot."""
        out = []
        for plant, side in zip(plants, sides):
            stay = int(self.labels[side, plant.frames[0]]) if side >= 0 and plant.frames else -1
            by = self.moves[stay] if stay >= 0 else np.zeros(3)
            out.append(plant.like(place=np.asarray(plant.place) + by) if by.any() else plant)
        return tuple(out)


def least_moves(rows: Sequence[ApartRow], count: int) -> NDArray:
    """Return the moves (count, 3) of stays that meet the rows."""
    forces, moves = np.zeros(len(rows)), np.zeros((count, 3))
    for _ in range(SWEEPS):
        for n, row in enumerate(rows):
            first, second = row.pair
            # both move: each by half of what is missing
            more = 0.5 * (row.least - row.aside @ (moves[first] - moves[second]))
            more = max(more, -forces[n])
            forces[n] += more
            moves[first] += more * row.aside
            moves[second] -= more * row.aside
    return moves
