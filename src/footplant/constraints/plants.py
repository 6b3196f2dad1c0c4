"""Many footplants as arrays, instead of a thousand constraint objects for a long clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from footplant.constraints.base import Constraint
from footplant.constraints.easing import RATE_FRAMES, continuation, rows_of
from footplant.constraints.footplant import Footplant
from footplant.kinematics import Kinematics
from footplant.skeleton import Point

if TYPE_CHECKING:
    from footplant.kernels.plants import Intervals


def is_simple_plant(constraint: Constraint) -> bool:
    """Return whether a constraint is a footplant that `Plants` can hold: fixed position, interval and point."""
    return (
        type(constraint) is Footplant
        and not constraint.free
        and isinstance(constraint.frames, range)
        and len(constraint.frames) > 0
        and type(constraint.point) is Point
    )


KEPT_SETS, KEPT_ROWS, SHORT = 16, 4, 2000
"""How many sets of footplants, and rows of each, are memoised; and the largest number of rows that are."""


@dataclass(frozen=True, eq=False)
class Plants:
    """N footplants. Residuals and activations equal those of `Footplant` up to rounding."""

    plants: Sequence[Footplant]
    _memoised: dict[tuple[bytes, float], PlantRows] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def _intervals(self) -> Intervals:
        """Return first frames (N,), frames after the last (N,), ramps in seconds (N, 2)."""
        from footplant.kernels.plants import Intervals

        bounds = [(p.frames.start, p.frames.stop) for p in self.plants]  # type: ignore[union-attr]
        starts, stops = np.array(bounds, np.int64).reshape(-1, 2).T
        ramps = np.array([plant.ramp for plant in self.plants], float).reshape(-1, 2)
        return Intervals(starts.copy(), stops.copy(), ramps)

    @cached_property
    def joints(self) -> NDArray:
        """Return the joint (N,) to which each point is attached."""
        return np.array([plant.point.joint for plant in self.plants], np.int64)

    @cached_property
    def offsets(self) -> NDArray:
        """Return each point in its joint's frame (N, 3), metres."""
        return np.array([plant.point.offset for plant in self.plants], float).reshape(-1, 3)

    @cached_property
    def places(self) -> NDArray:
        """Return the position (N, 3) of each footplant, metres."""
        return np.array([plant.place for plant in self.plants], float).reshape(-1, 3)

    @cached_property
    def weights(self) -> NDArray:
        """Return the weights (N,)."""
        return np.array([plant.weight for plant in self.plants], float)

    @cached_property
    def hard(self) -> NDArray:
        """Return whether each is hard (N,)."""
        return np.array([plant.hard for plant in self.plants], bool)

    def over(self, frames: NDArray, fps: float) -> PlantRows:
        """Return the rows in which they are active, for rows that are `frames` of the clip (ascending)."""
        if len(frames) > SHORT:
            return self._over(frames, fps)
        # a drag solves the same rows again and again: only its goal changes
        key = (frames.tobytes(), fps)
        found = self._memoised.get(key)
        if found is None:
            found = self._over(np.array(frames), fps)
            if len(self._memoised) >= KEPT_ROWS:
                self._memoised.pop(next(iter(self._memoised)), None)
            self._memoised[key] = found
        return found

    def _over(self, frames: NDArray, fps: float) -> PlantRows:
        from footplant.kernels import plants as kernel

        first = np.empty(len(self.plants), np.int64)
        count = kernel.span(self._intervals, frames, float(fps), first)
        rows, which, active = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
        count = kernel.spread(self._intervals, frames, float(fps), first, rows, which, active)
        return PlantRows(self, frames, fps, rows[:count], which[:count], active[:count])


@lru_cache(maxsize=KEPT_SETS)
def plants_of(plants: tuple[Footplant, ...]) -> Plants:
    """Return footplants as arrays, memoised: a constraint is never changed, and equal only to itself."""
    return Plants(plants)


@dataclass(frozen=True, eq=False)
class PlantRows:
    """The K pairs of a row and a footplant that is active there, by footplant and row: computed once for many poses."""

    plants: Plants
    frames: NDArray
    """(F,) the clip's frame of each row, ascending."""
    fps: float
    rows: NDArray
    """(K,)"""
    which: NDArray
    """(K,) index of the footplant."""
    activation: NDArray
    """(K,) above 0, up to 1."""

    @cached_property
    def points_of(self) -> tuple[NDArray, NDArray, NDArray]:
        """Return joints (K,), offsets (K, 3) and positions (K, 3) of the footplants."""
        plants, which = self.plants, self.which
        return plants.joints[which], plants.offsets[which], plants.places[which]

    @cached_property
    def hard(self) -> NDArray:
        """Return whether each is hard (K,)."""
        return self.plants.hard[self.which]

    @cached_property
    def held(self) -> PlantRows:
        """Return those that are fully active."""
        fully = self.activation >= 1.0
        return PlantRows(
            self.plants, self.frames, self.fps, self.rows[fully], self.which[fully], self.activation[fully]
        )

    @cached_property
    def _error_rows(self) -> tuple[NDArray, NDArray, NDArray]:
        """Return (K,) the row that gives each error: its own, or in a ramp that of the nearest held frame; (K,) a row
        slightly inside the hold; and (K,) the factor for continuing the change between them (see `easing`).
        """
        starts, stops, ramps = self.plants._intervals
        frame = self.frames[self.rows]
        nearest = np.clip(frame, starts[self.which], stops[self.which] - 1)
        source, earlier, continued = np.array(self.rows), np.array(self.rows), np.zeros(len(frame))
        easing = np.flatnonzero(nearest != frame)
        if len(easing):
            nearest, own = nearest[easing], self.which[easing]
            away = frame[easing] - nearest
            row, found = rows_of(self.frames, nearest)
            inside = nearest - np.sign(away) * RATE_FRAMES
            before, known = rows_of(self.frames, inside)
            known &= found & (inside >= starts[own]) & (inside < stops[own])
            length = ramps[own, (away > 0).astype(np.int64)]
            source[easing] = np.where(found, row, source[easing])
            earlier[easing] = np.where(known, before, earlier[easing])
            continued[easing] = np.where(known, continuation(away, length, self.fps) / RATE_FRAMES, 0.0)
        return source, earlier, continued

    def residuals(self, kinematics: Kinematics) -> NDArray:
        """Return the residuals (K, 3), metres, as in `Footplant.residual`."""
        from footplant.kernels import plants as kernel

        out = np.empty((len(self.rows), 3))
        plants = kernel.Plants(*self.points_of, *self._error_rows)
        kernel.slips(plants, kinematics.positions, kinematics.rotations, out)
        return out

    def errors(self, kinematics: Kinematics) -> NDArray:
        """Return the error of each (K,), metres."""
        off = self.residuals(kinematics)
        return np.sqrt(np.einsum("ki,ki->k", off, off))

    def aim(self, kinematics: Kinematics, slots: NDArray, targets: NDArray) -> None:
        """Write each point's target, its position minus its residual, into rows `slots` (K,) of targets (N, 4)."""
        from footplant.kernels import plants as kernel

        plants = kernel.Plants(*self.points_of, *self._error_rows)
        kernel.aim(self.rows, plants, slots, kinematics.positions, kinematics.rotations, targets)
