"""Foot support over a clip: how strongly footplants hold each contact point in every frame, computed on demand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Footplant
from footplant.constraints.plants import Plants, is_simple_plant
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround
from footplant.humanoid.sole import under_ankle
from footplant.skeleton import Character, Point


class FootSupport:
    """Activation of a character's footplants over a clip. Made by `foot_support_of`; returned arrays are read-only."""

    def __init__(self, plants: tuple[Footplant, ...], character: Character, frames: int, fps: float) -> None:
        """Store the footplants; activations are computed on demand."""
        self._plants, self._character, self._frames, self._fps = plants, character, np.arange(frames), fps
        self._shares: dict[tuple[Point | None, ...], NDArray] = {}
        self._on: dict[str, tuple[Ground, float, NDArray]] = {}
        self._pairs: dict[str, tuple[NDArray, NDArray, NDArray]] = {}
        self._of: dict[Point, list[int]] = {}
        for number, plant in enumerate(plants):
            self._of.setdefault(plant.point, []).append(number)

    @cached_property
    def _at_work(self) -> list[tuple[NDArray, NDArray]]:
        """The frames at which each footplant is active, and its activation there."""
        plain = [number for number, plant in enumerate(self._plants) if is_simple_plant(plant)]
        rows = Plants([self._plants[number] for number in plain]).over(self._frames, self._fps)
        bounds = np.searchsorted(rows.which, np.arange(len(plain) + 1)).tolist()
        found = {
            number: (rows.rows[first:last], rows.activation[first:last])
            for number, first, last in zip(plain, bounds, bounds[1:])
        }
        return [
            found[number] if number in found else plant.active_rows(self._frames, self._fps)
            for number, plant in enumerate(self._plants)
        ]

    def share(self, *points: Point | None) -> NDArray:
        """Return (F,) the largest activation, 0 to 1, of any footplant of the points."""
        if points not in self._shares:
            self._shares[points] = self._share_of([n for point in dict.fromkeys(points) for n in self._numbers(point)])
        return self._shares[points]

    def share_on(self, side: str, ground: Ground, near: float) -> NDArray:
        """Return (F,) the activation of the ball's footplants on the ground, that is, less than `near` metres above it.

        Those of the point under the ankle, on which a foot lies, hold the ball down too.
        Footplants without a fixed place count as on the ground, as do those overlapping with the heel's (a whole foot
        on an object), and all of them on a ground that is itself interpolated between contacts.
        """
        known = self._on.get(side)
        if known is None or known[0] is not ground or known[1] != near:
            known = self._on[side] = ground, near, self._find_share_on(side, ground, near)
        return known[2]

    def _find_share_on(self, side: str, ground: Ground, near: float) -> NDArray:
        ball = self._character.contacts[f"{side}_ball"]
        own, turning = self._numbers(ball), self._turning(side)
        if not own or isinstance(ground, InterpolatedGround | LoweredGround):
            return self._share_of([*own, *turning])
        places = np.array([np.zeros(3) if (p := self._plants[n].place) is None else p for n in own], float)
        on = places[:, 1] - ground.height(places[:, ::2]) < near
        heels = [self._plants[n].frames for n in self._numbers(self._character.contacts.get(f"{side}_heel"))]
        kept = [
            number
            for number, lies in zip(own, on.tolist())
            if lies or (plant := self._plants[number]).place is None or any(_meet(plant.frames, heel) for heel in heels)
        ]
        return self._share_of([*kept, *turning])

    def together(self, side: str) -> tuple[NDArray, NDArray, NDArray]:
        """Return frames (K,) at which heel and ball are both active, the smaller activation, and the rise of the heel.

        A footplant of the point under the ankle is active for both, at the same height. The rise is the height of the
        heel's footplant above the ball's, metres; NaN where one has no fixed place.
        """
        if side not in self._pairs:
            self._pairs[side] = self._find_together(side)
        return self._pairs[side]

    def both(self, side: str) -> NDArray:
        """Return (F,) the largest activation with which heel and ball are active together."""
        rows, both, _ = self.together(side)
        share = np.zeros(len(self._frames))
        np.maximum.at(share, rows, both)
        return share

    def _find_together(self, side: str) -> tuple[NDArray, NDArray, NDArray]:
        heels, balls = (
            [(self._plants[n].place, *self._at_work[n]) for n in self._numbers(self._character.contacts.get(name))]
            for name in (f"{side}_heel", f"{side}_ball")
        )
        found = [(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))]
        for heel, heel_rows, at_heel in heels:
            for ball, ball_rows, at_ball in balls:
                if not len(heel_rows) or not len(ball_rows):
                    continue
                if heel_rows[0] > ball_rows[-1] or ball_rows[0] > heel_rows[-1]:
                    continue
                rows, own, others = _in_common(heel_rows, ball_rows)
                known = heel is not None and ball is not None
                rise = float(np.asarray(heel)[1] - np.asarray(ball)[1]) if known else np.nan
                found.append((rows, np.minimum(at_heel[own], at_ball[others]), np.full(len(rows), rise)))
        found += [(*self._at_work[n], np.zeros(len(self._at_work[n][0]))) for n in self._turning(side)]
        rows, both, planned = (np.concatenate(parts) for parts in zip(*found))
        return rows, both, planned

    def _turning(self, side: str) -> list[int]:
        """Return the footplants of the point under an ankle."""
        sole = under_ankle(self._character, side)
        return [] if sole is None else self._numbers(sole[0])

    def _numbers(self, point: Point | None) -> list[int]:
        return [] if point is None else self._of.get(point, [])

    def _share_of(self, numbers: Sequence[int]) -> NDArray:
        share = np.zeros(len(self._frames))
        for number in numbers:
            rows, active = self._at_work[number]
            share[rows] = np.maximum(share[rows], active)
        return share


def _in_common(first: NDArray, second: NDArray) -> tuple[NDArray, NDArray | slice, NDArray | slice]:
    """Return the common frames of two ascending arrays, and their indices in each."""
    if all(rows[-1] - rows[0] == len(rows) - 1 for rows in (first, second)):
        start, end = max(first[0], second[0]), min(first[-1], second[-1]) + 1
        return np.arange(start, end), slice(start - first[0], end - first[0]), slice(start - second[0], end - second[0])
    return np.intersect1d(first, second, assume_unique=True, return_indices=True)


def _meet(first: range | tuple[int, ...] | None, second: range | tuple[int, ...] | None) -> bool:
    """Return whether two sets of frames overlap, judged by their bounds; None is all frames."""
    if not first or not second:
        return first is None or second is None
    return max(first[0], second[0]) <= min(first[-1], second[-1])


@lru_cache(maxsize=4)
def foot_support_of(plants: tuple[Footplant, ...], character: Character, frames: int, fps: float) -> FootSupport:
    """Return the foot support of a character over a clip, cached."""
    return FootSupport(plants, character, frames, fps)
