"""Many footplants at once: what a long clip asks of its feet, as arrays instead of a thousand constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from footplant.constraints.base import Constraint
from footplant.constraints.easing import GOING, coasting, rows_of
from footplant.constraints.footplant import Footplant
from footplant.kinematics import Kinematics
from footplant.skeleton import Point


def is_plain(constraint: Constraint) -> bool:
    """Whether a constraint is a footplant that `Plants` can hold: at a place, over an interval, of a fixed point."""
    return (
        type(constraint) is Footplant
        and not constraint.free
        and isinstance(constraint.frames, range)
        and len(constraint.frames) > 0
        and type(constraint.point) is Point
    )


def at_work_of(plants: Sequence[Footplant], points: Sequence[Point | None], frames: NDArray, fps: float) -> NDArray:
    """(F,) how much any plant of some points is at work at frames (ascending), 0 to 1."""
    share = np.zeros(len(frames))
    own = [plant for plant in plants if plant.point in points]
    plain = Plants([plant for plant in own if is_plain(plant)]).over(frames, fps)
    np.maximum.at(share, plain.rows, plain.activation)
    for plant in own:
        if not is_plain(plant):
            rows, active = plant.at_work(frames, fps)
            share[rows] = np.maximum(share[rows], active)
    return share


@dataclass(frozen=True, eq=False)
class Plants:
    """N footplants. Residuals and activations are those of `Footplant`, to the last bit or so."""

    plants: Sequence[Footplant]

    @cached_property
    def _intervals(self) -> tuple[NDArray, NDArray, NDArray]:
        """(N,) first frames, (N,) frames after the last, (N, 2) ramps in seconds."""
        bounds = [(p.frames.start, p.frames.stop) for p in self.plants]  # type: ignore[union-attr]
        starts, stops = np.array(bounds, np.int64).reshape(-1, 2).T
        return starts.copy(), stops.copy(), np.array([plant.ramp for plant in self.plants], float).reshape(-1, 2)

    @cached_property
    def joints(self) -> NDArray:
        """(N,) the joint that carries each point."""
        return np.array([plant.point.joint for plant in self.plants], np.int64)

    @cached_property
    def offsets(self) -> NDArray:
        """(N, 3) each point in its joint's frame, metres."""
        return np.array([plant.point.offset for plant in self.plants], float).reshape(-1, 3)

    @cached_property
    def places(self) -> NDArray:
        """(N, 3) where each stands, metres."""
        return np.array([plant.place for plant in self.plants], float).reshape(-1, 3)

    @cached_property
    def weights(self) -> NDArray:
        """(N,) how much each counts."""
        return np.array([plant.weight for plant in self.plants], float)

    @cached_property
    def hard(self) -> NDArray:
        """(N,) bool."""
        return np.array([plant.hard for plant in self.plants], bool)

    def over(self, frames: NDArray, fps: float) -> PlantRows:
        """Where they are at work among rows, which are `frames` of the clip (ascending)."""
        from footplant.kernels import plants as kernel

        first = np.empty(len(self.plants), np.int64)
        count = kernel.span(*self._intervals, frames, float(fps), first)
        rows, which, active = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
        count = kernel.spread(*self._intervals, frames, float(fps), first, rows, which, active)
        return PlantRows(self, frames, fps, rows[:count], which[:count], active[:count])


@dataclass(frozen=True, eq=False)
class PlantRows:
    """Each pair of a row and a plant that is at work there, K of them by plant and row: made once, for many poses."""

    plants: Plants
    frames: NDArray
    """(F,) the clip's frame of each row, ascending."""
    fps: float
    rows: NDArray
    """(K,)"""
    which: NDArray
    """(K,) which of the plants."""
    activation: NDArray
    """(K,) above 0, up to 1."""

    @cached_property
    def points_of(self) -> tuple[NDArray, NDArray, NDArray]:
        """Joints (K,), offsets (K, 3) and places (K, 3) of the plants."""
        plants, which = self.plants, self.which
        return plants.joints[which], plants.offsets[which], plants.places[which]

    @cached_property
    def hard(self) -> NDArray:
        """(K,) bool."""
        return self.plants.hard[self.which]

    @cached_property
    def held(self) -> PlantRows:
        """Those that are fully at work."""
        fully = self.activation >= 1.0
        return PlantRows(
            self.plants, self.frames, self.fps, self.rows[fully], self.which[fully], self.activation[fully]
        )

    @cached_property
    def _told_by(self) -> tuple[NDArray, NDArray, NDArray]:
        """(K,) the row that tells how far each is off: its own, or in a ramp that of the nearest held frame; (K,) a row
        somewhat inside of that; and (K,) by how much more than between them its correction goes on (see `easing`).
        """
        starts, stops, ramps = self.plants._intervals
        frame = self.frames[self.rows]
        nearest = np.clip(frame, starts[self.which], stops[self.which] - 1)
        told, earlier, going = np.array(self.rows), np.array(self.rows), np.zeros(len(frame))
        easing = np.flatnonzero(nearest != frame)
        if len(easing):
            nearest, own = nearest[easing], self.which[easing]
            away = frame[easing] - nearest
            row, found = rows_of(self.frames, nearest)
            inside = nearest - np.sign(away) * GOING
            before, known = rows_of(self.frames, inside)
            known &= found & (inside >= starts[own]) & (inside < stops[own])
            length = ramps[own, (away > 0).astype(np.int64)]
            told[easing] = np.where(found, row, told[easing])
            earlier[easing] = np.where(known, before, earlier[easing])
            going[easing] = np.where(known, coasting(away, length, self.fps) / GOING, 0.0)
        return told, earlier, going

    def residuals(self, kinematics: Kinematics) -> NDArray:
        """(K, 3) metres, as `Footplant.residual` has them."""
        from footplant.kernels import plants as kernel

        out = np.empty((len(self.rows), 3))
        kernel.slips(*self.points_of, *self._told_by, kinematics.positions, kinematics.rotations, out)
        return out

    def errors(self, kinematics: Kinematics) -> NDArray:
        """(K,) metres that each is off."""
        off = self.residuals(kinematics)
        return np.sqrt(np.einsum("ki,ki->k", off, off))

    def aim(self, kinematics: Kinematics, slots: NDArray, targets: NDArray) -> None:
        """Write where each point is to be, its place less its residual, into rows `slots` (K,) of targets (N, 4)."""
        from footplant.kernels import plants as kernel

        poses = kinematics.positions, kinematics.rotations
        kernel.aim(self.rows, *self.points_of, *self._told_by, slots, *poses, targets)
