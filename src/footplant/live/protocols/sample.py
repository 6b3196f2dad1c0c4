"""What every protocol gives: one skeleton at one moment, and the plan that defines its bones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation

FARTHEST = 1e4
"""Metres from the origin beyond which a position is invalid."""
UNIT = 0.05
"""Largest deviation of a quaternion's norm from 1: senders round, but one farther off is not an orientation."""


@dataclass(frozen=True, eq=False)
class BonePlan:
    """The bones of a protocol: names, hierarchy, and T-pose."""

    protocol: str
    """"vmc", "xsens", "natnet" or "rokoko"."""
    names: tuple[str, ...]
    """The protocol's bone names, parents before children."""
    parents: NDArray
    """(N,) int64; −1 only for the first."""
    roles: Mapping[str, tuple[str, ...]]
    """Role of `humanoid.ROLES` → bones."""
    is_local: bool
    """Whether positions and rotations are in the frame of the parent; else in the world."""
    t_pose: NDArray
    """(N, 4) rotations of the bones in the sender's T-pose, in the space given by `is_local` and in our axes, with the
    protocol's facing."""
    index: Mapping[str, int] = field(init=False)
    """Name → index."""

    def __post_init__(self) -> None:
        """Build the index."""
        object.__setattr__(self, "index", {name: bone for bone, name in enumerate(self.names)})

    def __len__(self) -> int:
        """Return the number of bones."""
        return len(self.names)


class PoseSample(NamedTuple):
    """One skeleton at one moment, in metres, right-handed, y up."""

    plan: BonePlan
    actor: str
    """A character's number or an actor's name; "" where the protocol has none."""
    positions: NDArray
    """(N, 3) metres."""
    rotations: NDArray
    """(N, 4) unit quaternions (w, x, y, z)."""
    present: NDArray
    """(N,) which bones were sent; the others' values mean nothing."""
    time: float | None = None
    """Seconds on the sender's clock, or None."""
    number: int | None = None
    """The sender's frame counter, or None."""
    arrived: float | None = None
    """Seconds on our clock at which its first datagram arrived; None: when it was completed."""
    expressions: Mapping[str, float] | None = None
    """Expression (blend shape) → weight, as sent; None if none was sent."""
    trackers: Mapping[str, NDArray] | None = None
    """Name → (7,) position (metres) and rotation (w, x, y, z) of tracked objects, world; None if none was sent."""


def checked(positions: ArrayLike, rotations: ArrayLike) -> tuple[NDArray, NDArray, NDArray]:
    """Return positions, unit rotations, and (N,) which of them are valid: finite, near, with a norm near 1."""
    # C order, whatever order a decoder has picked columns in: kernels are compiled ahead for that alone
    positions, rotations = np.array(positions, float, order="C"), np.array(rotations, float, order="C")
    with np.errstate(all="ignore"):
        lengths = np.sqrt(np.einsum("nk,nk->n", rotations, rotations))
        sane = (np.abs(lengths - 1.0) <= UNIT) & (np.abs(positions) <= FARTHEST).all(axis=1)
    rotations[~sane], lengths[~sane], positions[~sane] = rotation.IDENTITY, 1.0, 0.0
    return positions, rotations / lengths[:, None], sane
