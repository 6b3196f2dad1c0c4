"""What the rows of a spacetime problem are made of, and the order in which its constraints are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Above, AccelerationLimit, AcrossFrames, Area, Constraint, Footplant, SpeedLimit
from footplant.ik.pins import Pins
from footplant.kinematics import Kinematics
from footplant.skeleton import Point


@dataclass(frozen=True, eq=False)
class Look:
    """The figure at some control points: everything that rows are measured by."""

    displacements: NDArray
    """(F, n) d of the unknowns."""
    kinematics: Kinematics
    shifts: NDArray
    """(P, 3) how far each plant of unknown place stands from where it was first thought, metres."""
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

    @property
    def of_point(self) -> bool:
        """Whether it is a height or a distance of one point, whose derivatives are compiled."""
        return type(self.constraint) in (Above, Area)


@dataclass(frozen=True, eq=False)
class Tie:
    """A relation across frames."""

    constraint: AcrossFrames
    frames: NDArray
    """(r, T)"""
    wide: int
    begin: int
    allowed: NDArray

    @property
    def of_point(self) -> bool:
        """Whether it bounds differences of one point's places, whose derivatives are compiled."""
        return type(self.constraint) in (SpeedLimit, AccelerationLimit)


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
