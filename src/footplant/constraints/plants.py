"""Many footplants at once: what a long clip asks of its feet, as arrays instead of a thousand constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
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


@dataclass(frozen=True, eq=False)
class Plants:
    """N footplants. Residuals and activations are those of `Footplant`, to the last bit or so."""

    plants: Sequence[Footplant]

    @cached_property
    def _intervals(self) -> tuple[NDArray, NDArray, NDArray]:
        """(N,) first frames, (N,) frames after the last, (N, 2) ramps in seconds."""
        bounds = [(p.frames.start, p.frames.stop) for p in self.plants]  # type: ignore[union-attr]
        starts, stops = np.array(bounds, np.int64).reshape(-1, 2).T
        return starts, stops, np.array([plant.ramp for plant in self.plants], float).reshape(-1, 2)

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

    def at_work(self, frames: NDArray, fps: float) -> tuple[NDArray, NDArray, NDArray]:
        """(rows, which, activation): each pair of a row of frames (ascending) and a plant that is at work there."""
        starts, stops, ramps = self._intervals
        before, after = np.ceil(ramps * fps).astype(np.int64).T
        first = np.searchsorted(frames, starts - before)
        count = np.searchsorted(frames, stops + after) - first
        which = np.repeat(np.arange(len(starts)), count)
        rows = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + first[which]
        frame = frames[rows]
        share = ((frame >= starts[which]) & (frame < stops[which])).astype(float)
        for side, gap in ((0, starts[which] - frame), (1, frame - (stops[which] - 1))):
            length = ramps[which, side]
            rising = 1.0 - gap / np.where(length > 0, fps * length, 1.0)
            share = np.maximum(share, np.where((gap > 0) & (length > 0), rising, 0.0))
        active = share * share * (3.0 - 2.0 * share)
        working = active > 0
        return rows[working], which[working], active[working]

    def points(self, kinematics: Kinematics, rows: NDArray, which: NDArray) -> NDArray:
        """(K, 3) world places of points at rows, metres."""
        joints = self.joints[which]
        arms = rotation.rotate(kinematics.rotations[rows, joints], self.offsets[which])
        return kinematics.positions[rows, joints] + arms

    def residuals(self, kinematics: Kinematics, rows: NDArray, which: NDArray) -> NDArray:
        """(K, 3) metres, as `Footplant.residual` has them, at the rows where plants are at work."""
        starts, stops, ramps = self._intervals
        slip = self.points(kinematics, rows, which) - self.places[which]
        frame = kinematics.frames[rows]
        nearest = np.clip(frame, starts[which], stops[which] - 1)
        easing = np.flatnonzero(nearest != frame)
        if not len(easing):
            return slip
        nearest, own = nearest[easing], which[easing]
        away = frame[easing] - nearest
        row, found = rows_of(kinematics.frames, nearest)
        inside = nearest - np.sign(away) * GOING
        earlier, known = rows_of(kinematics.frames, inside)
        known &= found & (inside >= starts[own]) & (inside < stops[own])
        there, before = (self.points(kinematics, at, own) - self.places[own] for at in (row, earlier))
        length = ramps[own, (away > 0).astype(np.int64)]
        frames = coasting(away, length, kinematics.motion.fps)
        going = frames[:, None] * np.where(known[:, None], there - before, 0.0) / GOING
        slip[easing] = np.where(found[:, None], there + going, slip[easing])
        return slip
