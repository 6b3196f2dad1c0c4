"""Parts of the rows of a spacetime problem, and the canonical order of its constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Above, AccelerationLimit, AcrossFrames, Area, Constraint, Footplant, SpeedLimit
from footplant.contacts.ground import Ground
from footplant.kinematics import Kinematics
from footplant.skeleton import Point
from footplant.solve.ik.pins import Pins

DIFFERENCES: dict[type, NDArray] = {SpeedLimit: np.array([-1.0, 1.0]), AccelerationLimit: np.array([1.0, -2.0, 1.0])}
"""Finite-difference stencils of speed and acceleration limits."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The character at some control points, with all residuals."""

    displacements: NDArray
    """(F, n) d of the unknowns."""
    kinematics: Kinematics
    shifts: NDArray
    """(P, 3) shift of each free plant from its initial estimate, metres."""
    places: NDArray
    """(F, N, 3) of the points of `Rows.points`, metres."""
    residuals: NDArray
    """(R,) of all rows."""


@dataclass(frozen=True, eq=False)
class Other:
    """A constraint that is not a pin, active at some rows of the motion."""

    constraint: Constraint
    rows: NDArray
    """(m,) rows of the motion."""
    wide: int
    """Number of residuals at each."""
    left_over: NDArray
    """(m, wide) the part of its residual at the reference that may remain while it ramps in."""
    begin: int
    """Index of its first residual."""
    allowed: NDArray
    """(1+J,) groups of unknowns that may change for it."""
    point: int
    """Index of its point in `Rows.points` if it is `of_point`, else −1."""

    @property
    def of_point(self) -> bool:
        """Whether it is a function of one point's position, whose derivatives are compiled."""
        return self.point >= 0


@dataclass(frozen=True, eq=False)
class Tie:
    """A constraint that couples frames."""

    constraint: AcrossFrames
    frames: NDArray
    """(r, T)"""
    wide: int
    begin: int
    allowed: NDArray
    point: int

    @property
    def of_point(self) -> bool:
        """Whether it limits differences of one point's positions, whose derivatives are compiled."""
        return self.point >= 0

    def slack(self, places: NDArray, fps: float) -> NDArray:
        """Return the residuals (r,) of such a limit for positions (r, T, 3) of its point."""
        difference = DIFFERENCES[type(self.constraint)]
        most = self.constraint.most / fps ** (len(difference) - 1)  # type: ignore[attr-defined]
        return most - np.linalg.norm(difference @ places, axis=1)

    def slopes(self, places: NDArray) -> NDArray:
        """Return the gradient (r, T, 3) of `slack`."""
        difference = DIFFERENCES[type(self.constraint)]
        steps = difference @ places
        length = np.linalg.norm(steps, axis=1, keepdims=True)
        along = np.where(length > 1e-12, steps / np.maximum(length, 1e-12), 0.0)
        return -along[:, None, :] * difference[:, None]


@dataclass(frozen=True, eq=False)
class Heights:
    """All heights over one ground: the ground is evaluated once for all their points."""

    ground: Ground
    rows: NDArray
    """(m,) rows of the motion."""
    points: NDArray
    """(m,) indices in `Rows.points`."""
    lines: NDArray
    """(m,) indices of the residuals."""
    above: NDArray
    """(m,) metres over the ground at which the residual is 0."""

    def measure(self, places: NDArray, residuals: NDArray) -> None:
        """Write the residuals (R,) of points at positions (F, N, 3)."""
        own = places[self.rows, self.points]
        residuals[self.lines] = own[:, 1] - self.ground.height(own[:, ::2]) - self.above


def point_of(constraint: Constraint, points: list[Point]) -> int:
    """Return the index of a constraint's point, appending new ones; −1 if its derivatives are not compiled."""
    if type(constraint) not in (Above, Area, *DIFFERENCES):
        return -1
    point: Point = constraint.point  # type: ignore[attr-defined]
    for number, known in enumerate(points):
        # points that move within their segments may be equal at one frame only
        if known is point or (type(known) is type(point) is Point and known == point):
            return number
    points.append(point)
    return len(points) - 1


def heights_of(others: Sequence[Other], places: NDArray, frames: NDArray) -> list[Heights]:
    """Return the heights over grounds among constraints, grouped by ground; places (F, N, 3), frames (F,)."""
    by_ground: dict[int, list[Other]] = {}
    for other in others:
        if isinstance(other.constraint, Above) and other.of_point:
            by_ground.setdefault(id(other.constraint.ground), []).append(other)
    found = []
    for alike in by_ground.values():
        ground, above = alike[0].constraint.ground, []  # type: ignore[attr-defined]
        for other in alike:
            own = places[other.rows, other.point]
            slack = other.constraint.slack(own, frames[other.rows])  # type: ignore[attr-defined]
            above.append(own[:, 1] - ground.height(own[:, ::2]) - slack + other.left_over[:, 0])
        parts = (
            [other.rows for other in alike],
            [np.full(len(other.rows), other.point) for other in alike],
            [other.begin + np.arange(len(other.rows)) for other in alike],
            above,
        )
        found.append(Heights(ground, *map(np.concatenate, parts)))
    return found


def canonical(constraints: Sequence[Constraint]) -> list[Constraint]:
    """Return the constraints in a canonical order, so that no sum depends on the order in which they were given."""
    return sorted(constraints, key=_key)


def _key(constraint: Constraint) -> tuple[str, ...]:
    return (type(constraint).__name__, *(_text(getattr(constraint, entry.name)) for entry in fields(constraint)))


def _text(value: object) -> str:
    if isinstance(value, np.ndarray):
        return value.tobytes().hex()
    if isinstance(value, Point):
        return f"{value.joint:6d} {value.offset}"
    if isinstance(value, range) and len(value):
        return f"{value.start:9d} {value.stop:9d}"
    if value is None or isinstance(value, str | int | float | tuple | list):
        return repr(value)
    return type(value).__name__


def is_found(constraint: Constraint) -> bool:
    """Return whether it is a footplant of unknown position."""
    return type(constraint) is Footplant and constraint.free


def only(pins: Pins, inside: NDArray) -> Pins:
    """Return the pins at rows (F, bool) alone."""
    if inside.all():
        return pins
    kept = np.repeat(inside, np.diff(pins.starts))
    counts = np.where(inside, np.diff(pins.starts), 0)
    parts = {entry.name: getattr(pins, entry.name)[kept] for entry in fields(pins) if entry.name != "starts"}
    return Pins(starts=np.concatenate([[0], np.cumsum(counts)]), **parts)
