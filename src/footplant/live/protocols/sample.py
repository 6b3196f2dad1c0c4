"""What every protocol gives: one figure at one moment, and the plan that says how its numbers are meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation

FARTHEST = 1e4
"""Metres from the origin beyond which a place is taken for nonsense."""
UNIT = 0.05
"""How far the length of a quaternion may be from 1; senders round, but one that is far off is not an orientation."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The bones of a protocol: their names, their tree, and how they stand in a T-pose."""

    protocol: str
    """"vmc", "xsens", "natnet" or "rokoko"."""
    names: tuple[str, ...]
    """As the protocol calls its bones, parents before children."""
    parents: NDArray
    """(N,) int64; −1 for the first one alone."""
    roles: Mapping[str, tuple[str, ...]]
    """Role of `humanoid.ROLES` → bones."""
    is_local: bool
    """Whether places and rotations are in the frame of the parent; else in the world."""
    t_pose: NDArray
    """(N, 4) rotations of the bones in the sender's T-pose, in the space that `is_local` says and in our axes, facing
    as the protocol's figures do."""
    index: Mapping[str, int] = field(init=False)
    """Name → bone."""

    def __post_init__(self) -> None:
        """Make the index."""
        object.__setattr__(self, "index", {name: bone for bone, name in enumerate(self.names)})

    def __len__(self) -> int:
        """How many bones."""
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Sample:
    """One figure at one moment, in metres, right-handed, y up."""

    plan: Plan
    actor: str
    """Who: a character's number, an actor's name; "" where the protocol does not say."""
    positions: NDArray
    """(N, 3) metres."""
    rotations: NDArray
    """(N, 4) unit quaternions (w, x, y, z)."""
    present: NDArray
    """(N,) which bones have come; the others' numbers mean nothing."""
    time: float | None = None
    """Seconds on the sender's clock, or None."""
    number: int | None = None
    """The sender's frame counter, or None."""


def checked(positions: ArrayLike, rotations: ArrayLike) -> tuple[NDArray, NDArray, NDArray]:
    """Places, unit rotations, and (N,) which of them are sane: finite, near enough, and of a length near 1."""
    positions, rotations = np.array(positions, float), np.array(rotations, float)
    with np.errstate(all="ignore"):
        lengths = np.sqrt(np.einsum("nk,nk->n", rotations, rotations))
        sane = (np.abs(lengths - 1.0) <= UNIT) & (np.abs(positions) <= FARTHEST).all(axis=1)
    rotations[~sane], lengths[~sane], positions[~sane] = rotation.IDENTITY, 1.0, 0.0
    return positions, rotations / lengths[:, None], sane
