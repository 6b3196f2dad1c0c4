"""What the rows of a spacetime problem are made of, and the order in which its constraints are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Above, AcrossFrames, Area, Constraint
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
