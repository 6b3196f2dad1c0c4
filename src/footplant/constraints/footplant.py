"""Footplants, at a given position or one found by the solver, and relations across frames (Gleicher 2001)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.checks import real_number, whole_numbers
from footplant.constraints.base import AcrossFrames, Constraint, Follow, as_target
from footplant.constraints.easing import eased
from footplant.contacts.ground import Ground
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.skeleton import Point

SECOND_DIFFERENCE = np.array([1.0, -2.0, 1.0])
"""Coefficients of the second difference over three frames."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Footplant(Constraint):
    """A contact point stays at one position: a given one, or "wherever, but not slipping" (Gleicher 1998).

    Without a position, the position is an unknown of the constraint, shared by its frames, so that no row of its
    Jacobian spans two frames. Per-frame methods cannot find it: `settled` fixes it for them.
    """

    point: Point
    place: ArrayLike | None = None
    """(3,) metres, world; None: anywhere, or anywhere on the ground."""
    ground: Ground | None = None
    """For a free position, the ground that it must lie on; None: free in all three directions."""

    def __post_init__(self) -> None:
        """Check the position."""
        super().__post_init__()
        if self.place is not None:
            place = as_target(self.place, 3, f"{self.title}: place")
            if isinstance(place, Follow) or len(place) != 1:
                raise ConstraintError(f"{self.title}: expected one position, got {self.place}")
            object.__setattr__(self, "place", place[0])

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joint to which its point is attached."""
        return (self.point.joint,)

    @property
    def free(self) -> bool:
        """Return whether the position is an unknown."""
        return self.place is None

    def residual(self, kinematics: Kinematics, place: NDArray | None = None) -> NDArray:
        """Return point − position (F, 3), metres; a free footplant uses the given `place`, else its mean position.

        Inside the ramps the point is free, and the correction of the nearest held frame fades: a foot that has left the
        ground is not pulled back. The correction first continues at the rate it had while held, so that the point
        arrives and leaves without a jerk (see `easing`).
        """
        return eased(self, kinematics.point(self.point) - self._place(kinematics, place), kinematics)

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 3, 3+3J) by the displacement; by the position it is minus the identity."""
        return kinematics.position_jacobian(self.point)

    def _place(self, kinematics: Kinematics, place: NDArray | None) -> NDArray:
        if place is not None:
            return place
        return np.asarray(self.place) if self.place is not None else self.mean_place(kinematics)

    def mean_place(self, kinematics: Kinematics) -> NDArray:
        """Return the mean position (3,) of the point over its frames, on the ground if there is one."""
        rows, active = self.active_rows(kinematics.frames, kinematics.motion.fps)
        held = rows[active >= 1.0]
        if not len(held):
            raise ConstraintError(f"{self.title}: expected frames of the clip, got {self.frames}")
        place = kinematics[held].point(self.point).mean(axis=0)
        if self.ground is not None:
            place[1] = self.ground.height(place[None, ::2])[0]
        return place

    def settled(self, kinematics: Kinematics) -> Footplant:
        """Return the same footplant with its position fixed at the motion's mean."""
        return self if not self.free else replace(self, place=self.mean_place(kinematics))


@dataclass(frozen=True, eq=False, kw_only=True)
class SamePlace(AcrossFrames):
    """A point is at the same position at two frames, wherever that is: a step that must land where it began."""

    point: Point
    pair: tuple[int, int]
    """The two frames."""

    def __post_init__(self) -> None:
        """Check the pair."""
        super().__post_init__()
        pair = whole_numbers(tuple(self.pair), f"{self.title}: frames", ConstraintError)
        if pair.shape != (2,) or (pair < 0).any():
            raise ConstraintError(f"{self.title}: expected two frames from 0 on, got {self.pair}")
        object.__setattr__(self, "pair", tuple(pair.tolist()))

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joint to which its point is attached."""
        return (self.point.joint,)

    def groups(self, frames: int) -> NDArray:
        """Return the pair (1, 2)."""
        if not all(0 <= frame < frames for frame in self.pair):
            raise ConstraintError(f"{self.title}: expected frames in 0..{frames - 1}, got {self.pair}")
        return np.array([self.pair])

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return first − second (1, 3), metres."""
        self.groups(len(kinematics.frames))
        places = kinematics.point(self.point)
        return (places[self.pair[0]] - places[self.pair[1]])[None]

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (1, 2, 3, 3+3J)."""
        both = kinematics[np.array(self.pair)].position_jacobian(self.point)
        return (both * np.array([1.0, -1.0])[:, None, None])[None]


@dataclass(frozen=True, eq=False, kw_only=True)
class _PointLimit(AcrossFrames):
    """A bound on how a point moves from frame to frame."""

    point: Point
    most: float
    """The bound."""
    inequality: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the bound."""
        super().__post_init__()
        real_number(self.most, f"{self.title}: bound", ConstraintError, low=0.0)

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joint to which its point is attached."""
        return (self.point.joint,)


@dataclass(frozen=True, eq=False, kw_only=True)
class SpeedLimit(_PointLimit):
    """The speed of a point is bounded, from each of its frames to the next."""

    most: float
    """Metres per second."""

    def groups(self, frames: int) -> NDArray:
        """Return each held frame and the next (R, 2)."""
        held = np.arange(max(frames - 1, 0)) if self.frames is None else np.asarray(self.frames, np.int64)
        held = held[held < frames - 1]
        return np.stack([held, held + 1], axis=1)

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the slack (R, 1), metres per frame."""
        return (self.most / kinematics.motion.fps - np.linalg.norm(self._steps(kinematics), axis=1))[:, None]

    def _steps(self, kinematics: Kinematics) -> NDArray:
        places, groups = kinematics.point(self.point), self.groups(len(kinematics.frames))
        return places[groups[:, 1]] - places[groups[:, 0]]

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (R, 2, 1, 3+3J)."""
        steps, groups = self._steps(kinematics), self.groups(len(kinematics.frames))
        length = np.linalg.norm(steps, axis=1, keepdims=True)
        along = np.where(length > 1e-12, steps / np.maximum(length, 1e-12), 0.0)
        moving = kinematics.position_jacobian(self.point)[groups]
        return np.einsum("ri,rtij->rtj", along, moving * np.array([1.0, -1.0])[:, None, None])[:, :, None, :]


@dataclass(frozen=True, eq=False, kw_only=True)
class AccelerationLimit(_PointLimit):
    """The acceleration of a point is bounded: its second difference at each of its frames."""

    most: float
    """Metres per second squared."""

    def groups(self, frames: int) -> NDArray:
        """Return each held frame with its neighbours (R, 3)."""
        held = np.arange(frames) if self.frames is None else np.asarray(self.frames, np.int64)
        held = held[(held > 0) & (held < frames - 1)]
        return np.stack([held - 1, held, held + 1], axis=1)

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the slack (R, 1), metres per frame squared."""
        places = kinematics.point(self.point)[self.groups(len(kinematics.frames))]
        return (self.most / kinematics.motion.fps**2 - np.linalg.norm(SECOND_DIFFERENCE @ places, axis=1))[:, None]

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (R, 3, 1, 3+3J)."""
        groups = self.groups(len(kinematics.frames))
        frames, where = np.unique(groups, return_inverse=True)
        part, where = kinematics[frames], where.reshape(groups.shape)
        bends = SECOND_DIFFERENCE @ part.point(self.point)[where]
        length = np.linalg.norm(bends, axis=1, keepdims=True)
        along = np.where(length > 1e-12, bends / np.maximum(length, 1e-12), 0.0)
        moving = part.position_jacobian(self.point)[where]
        return np.einsum("ri,rtij->rtj", -along, moving * SECOND_DIFFERENCE[:, None, None])[:, :, None, :]
