"""What the rows of a spacetime problem are made of, and the order in which its constraints are taken."""

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
"""What bounds of a point take of the frames that they tie together."""


@dataclass(frozen=True, eq=False)
class Look:
    """The figure at some control points: everything that rows are measured by."""

    displacements: NDArray
    """(F, n) d of the unknowns."""
    kinematics: Kinematics
    shifts: NDArray
    """(P, 3) how far each plant of unknown place stands from where it was first thought, metres."""
    places: NDArray
    """(F, N, 3) of the points of `Rows.points`, metres."""
    residuals: NDArray
    """(R,) of all rows."""


@dataclass(frozen=True, eq=False)
class Other:
    """A constraint that is no pin, at work at some rows of the motion."""

    constraint: Constraint
    rows: NDArray
    """(m,) which rows of the motion."""
    wide: int
    """Residuals at each."""
    left_over: NDArray
    """(m, wide) what of its residual at the reference may stay: all but the share eased in."""
    begin: int
    """Where its residuals begin among all."""
    allowed: NDArray
    """(1+J,) groups of unknowns that may change for it."""
    point: int
    """Which of `Rows.points` it is about, if it is `of_point`, else −1."""

    @property
    def of_point(self) -> bool:
        """Whether it is a height or a distance of one point, whose derivatives are compiled."""
        return self.point >= 0


@dataclass(frozen=True, eq=False)
class Tie:
    """A relation across frames."""

    constraint: AcrossFrames
    frames: NDArray
    """(r, T)"""
    wide: int
    begin: int
    allowed: NDArray
    point: int

    @property
    def of_point(self) -> bool:
        """Whether it bounds differences of one point's places, whose derivatives are compiled."""
        return self.point >= 0

    def slack(self, places: NDArray, fps: float) -> NDArray:
        """(r,) the residual of such a bound if its point were at places (r, T, 3)."""
        difference = DIFFERENCES[type(self.constraint)]
        most = self.constraint.most / fps ** (len(difference) - 1)  # type: ignore[attr-defined]
        return most - np.linalg.norm(difference @ places, axis=1)

    def slopes(self, places: NDArray) -> NDArray:
        """(r, T, 3) the gradient of `slack`."""
        difference = DIFFERENCES[type(self.constraint)]
        steps = difference @ places
        length = np.linalg.norm(steps, axis=1, keepdims=True)
        along = np.where(length > 1e-12, steps / np.maximum(length, 1e-12), 0.0)
        return -along[:, None, :] * difference[:, None]


@dataclass(frozen=True, eq=False)
class Heights:
    """All heights over one ground: it is asked once for all of their points."""

    ground: Ground
    rows: NDArray
    """(m,) rows of the motion."""
    points: NDArray
    """(m,) which of `Rows.points`."""
    lines: NDArray
    """(m,) which residual."""
    above: NDArray
    """(m,) metres over the ground at which it is 0."""

    def measure(self, places: NDArray, residuals: NDArray) -> None:
        """Write the residuals (R,) of points at places (F, N, 3)."""
        own = places[self.rows, self.points]
        residuals[self.lines] = own[:, 1] - self.ground.height(own[:, ::2]) - self.above


def point_of(constraint: Constraint, points: list[Point]) -> int:
    """Which of the points a constraint is about whose derivatives are compiled, else −1; new ones are appended."""
    if type(constraint) not in (Above, Area, *DIFFERENCES):
        return -1
    point: Point = constraint.point  # type: ignore[attr-defined]
    for number, known in enumerate(points):
        # points that move in their segments may be equal as they stand and no longer as they go
        if known is point or (type(known) is type(point) is Point and known == point):
            return number
    points.append(point)
    return len(points) - 1


def heights_of(others: Sequence[Other], places: NDArray, frames: NDArray) -> list[Heights]:
    """What heights over grounds there are among constraints, ground by ground; places (F, N, 3), frames (F,)."""
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
    """The constraints in an order of their own, so that no sum depends on the one in which they were given."""
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
    """Whether it is a plant whose place is to be found."""
    return type(constraint) is Footplant and constraint.free


def only(pins: Pins, inside: NDArray) -> Pins:
    """The pins at rows (F, bool) alone."""
    if inside.all():
        return pins
    kept = np.repeat(inside, np.diff(pins.starts))
    counts = np.where(inside, np.diff(pins.starts), 0)
    parts = {entry.name: getattr(pins, entry.name)[kept] for entry in fields(pins) if entry.name != "starts"}
    return Pins(starts=np.concatenate([[0], np.cumsum(counts)]), **parts)
