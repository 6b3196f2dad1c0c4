"""Joints that follow others: `<mimic>` of URDF, `<equality><joint>` of MJCF. They are no unknowns of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.errors import SkeletonError

if TYPE_CHECKING:
    from footplant.mechanism.model import Joint, Mimic

ROUNDING = 1e-6
"""Radians: ranges that miss each other by no more than this meet."""
DISAGREEMENT = 1e-3
"""Radians: a coordinate of a file that is farther than this from what its joint follows is wrong, not rounded."""


@dataclass(frozen=True, eq=False)
class Coupling:
    """What the angle of each joint is: multiplier · leader + offset, chains resolved."""

    leaders: NDArray
    """(D,) int64; a joint that leads or is free, and one that stays, is its own."""
    multipliers: NDArray
    """(D,); 1 of a free joint, 0 of one that stays."""
    offsets: NDArray
    """(D,) radians; 0 of a free joint."""
    lower: NDArray
    upper: NDArray
    """(D,) radians: what a joint may do within its own range and those of all that follow it."""

    @cached_property
    def stays(self) -> NDArray:
        """Return which joints (D,), bool, never turn."""
        return self.multipliers == 0.0

    @cached_property
    def free(self) -> NDArray:
        """Return which joints (D,), bool, are unknowns of their own."""
        return (self.leaders == np.arange(len(self.leaders))) & ~self.stays

    @cached_property
    def moves(self) -> NDArray:
        """Return which joints (D,), bool, are unknowns with more than one angle."""
        return self.free & (self.upper - self.lower > 2.0 * ROUNDING)

    def applied(self, angles: ArrayLike) -> NDArray:
        """Return angles (…, D) in which every joint is where the one that it follows puts it; free ones as given."""
        return self.multipliers * np.asarray(angles, float)[..., self.leaders] + self.offsets

    def clipped(self, angles: ArrayLike) -> NDArray:
        """Return angles (…, D) in which free joints are within all ranges and the others follow."""
        return self.applied(np.clip(angles, self.lower, self.upper))

    def disagreement(self, angles: NDArray, names: Sequence[str]) -> str | None:
        """Return in words which of given angles (F, D) is farthest from where its joint should follow; None if none."""
        off = np.abs(angles - self.applied(angles))
        if not off.size or off.max() <= DISAGREEMENT:
            return None
        frame, joint = divmod(int(off.argmax()), off.shape[1])
        wrong = int((off > DISAGREEMENT).any(axis=0).sum())
        others = f" ({wrong} joints are off)" if wrong > 1 else ""
        if self.stays[joint]:
            should = f"should stay at {self.offsets[joint]:.4g} rad"
        else:
            offset = f" {self.offsets[joint]:+.4g} rad" if self.offsets[joint] else ""
            should = f"should be {self.multipliers[joint]:.4g} · {names[self.leaders[joint]]}{offset}"
        return f"joint {names[joint]!r} {should}, and is {off.max():.4g} rad off at frame {frame}{others}"

    def slowed(self, speeds: NDArray) -> NDArray:
        """Return the largest speed (D,) of each joint at which no joint that follows it exceeds its own."""
        out = np.array(speeds, float)
        for joint in np.flatnonzero(~self.free & ~self.stays):
            leader = self.leaders[joint]
            out[leader] = min(out[leader], speeds[joint] / abs(self.multipliers[joint]))
        return out


def coupling_of(joints: Sequence[Joint], mimics: Sequence[Mimic]) -> Coupling:
    """Return the joints' coupling; raise `SkeletonError` for joints that cannot follow."""
    count = len(joints)
    leaders, multipliers, offsets = np.arange(count), np.ones(count), np.zeros(count)
    lower = np.array([joint.lower for joint in joints], float)
    upper = np.array([joint.upper for joint in joints], float)
    if not mimics:
        return Coupling(leaders, multipliers, offsets, lower, upper)
    by_joint: dict[int, Mimic] = {}
    for mimic in mimics:
        name = joints[mimic.joint].name
        for each in (mimic.joint, mimic.leader):
            if each is not None and joints[each].ball:
                raise SkeletonError(f"expected hinges that follow hinges, got the ball joint {joints[each].ball!r}")
        if not np.isfinite((mimic.multiplier, mimic.offset)).all():
            raise SkeletonError(f"expected finite numbers of what joint {name!r} follows")
        if mimic.joint in by_joint:
            raise SkeletonError(f"expected joint {name!r} to follow one joint, got several")
        by_joint[mimic.joint] = mimic
    for joint in by_joint:
        # up the chain, to a joint that is free or stays
        at, by, offset, passed = joint, 1.0, 0.0, [joint]
        while at in by_joint:
            mimic = by_joint[at]
            by, offset = by * mimic.multiplier, offset + by * mimic.offset
            if not np.isfinite((by, offset)).all():
                raise SkeletonError(f"expected smaller numbers of what joint {joints[joint].name!r} follows")
            if mimic.leader is None or by == 0.0:
                at, by = joint, 0.0
                break
            at = mimic.leader
            if at in passed:
                names = " → ".join(repr(joints[each].name) for each in [*passed[passed.index(at) :], at])
                raise SkeletonError(f"expected joints that follow others without a cycle, got {names}")
            passed.append(at)
        leaders[joint], multipliers[joint], offsets[joint] = at, by, offset
    own_lower, own_upper = lower.copy(), upper.copy()
    for joint, mimic in by_joint.items():
        leader, by, offset = leaders[joint], multipliers[joint], offsets[joint]
        low, high = own_lower[joint] - offset, own_upper[joint] - offset
        if by == 0.0:
            meets = low <= ROUNDING and high >= -ROUNDING
        else:
            ends = sorted((low / by, high / by))
            lower[leader], upper[leader] = max(lower[leader], ends[0]), min(upper[leader], ends[1])
            meets = lower[leader] <= upper[leader] + ROUNDING
        if not meets:
            followed = "" if mimic.leader is None else f" where {joints[mimic.leader].name!r} puts it"
            raise SkeletonError(f"expected joint {joints[joint].name!r} to be in its range{followed}, got none that is")
    upper = np.maximum(lower, upper)
    for joint in by_joint:
        leader, by, offset = leaders[joint], multipliers[joint], offsets[joint]
        ends = (offset, offset) if by == 0.0 else sorted((by * lower[leader] + offset, by * upper[leader] + offset))
        lower[joint], upper[joint] = ends
    return Coupling(leaders, multipliers, offsets, lower, upper)
