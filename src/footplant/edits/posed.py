"""A motion that is being changed joint by joint, and where everything is: forward kinematics of what moved, no more."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from footplant.errors import SkeletonError
from footplant.ik.limb import Limb
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Skeleton


class Posed:
    """The rotations of a motion, to be changed in place, with its kinematics.

    Who changes `local` says so by `turned`, or by `placed` for a limb; `kinematics` is right again then.
    """

    def __init__(self, motion: Motion) -> None:
        """Run forward kinematics once."""
        self._motion = motion
        self._offsets = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
        self.local: NDArray = np.array(motion.rotations)
        """(F, J, 4) local rotations."""
        self.kinematics = Kinematics(motion)
        """Where everything is."""
        self.positions: NDArray = np.array(self.kinematics.positions)
        """(F, J, 3) metres, world; changed by `turned` alone."""
        self.rotations: NDArray = np.array(self.kinematics.rotations)
        """(F, J, 4) of the world; changed by `turned` alone."""
        for name in ("positions", "rotations"):
            shown = getattr(self, name).view()
            shown.setflags(write=False)
            setattr(self.kinematics, name, shown)

    @property
    def motion(self) -> Motion:
        """The motion as it is now."""
        return self._motion.like(self._motion.root, np.array(self.local), self._motion.offsets)

    def turned(self, joint: int) -> None:
        """Say that a joint's local rotations were changed, or those of joints below it."""
        from footplant.kernels import fk

        skeleton = self._motion.skeleton
        below = _below(skeleton, joint)
        fk.forward_some(below, skeleton.parents, self._offsets, self.local, self.positions, self.rotations)

    def placed(self, limb: Limb, rows: NDArray, goals: NDArray, orientations: NDArray) -> tuple[NDArray, NDArray]:
        """Put a limb's end on goals (F, 3) with world orientations (F, 4) at some rows, as `ik.limb.place` does.

        Returns metres (N,) that are left, and how each goal was met (N,): values of `ik.limb.Reach`.
        """
        from footplant.kernels import limb_rows as kernel

        skeleton, frames = self._motion.skeleton, len(self.local)
        upper_chain, lower_chain = _chains(skeleton, limb.upper, limb.lower, limb.end)
        residual, status = np.zeros(frames), np.zeros(frames, np.int64)
        kernel.place_rows(
            rows, upper_chain, lower_chain, int(skeleton.parents[limb.upper]), self._offsets, limb.axis,
            float(limb.flexion[0]), float(limb.flexion[1]), goals, orientations, self.positions, self.rotations,
            self.local, residual, status,
        )  # fmt: skip
        self.turned(limb.upper)
        return residual[rows], status[rows]


@lru_cache(maxsize=64)
def _below(skeleton: Skeleton, joint: int) -> NDArray:
    """(N,) a joint and all below it, in order."""
    if joint == 0:
        raise SkeletonError("expected a joint that another one carries, got the root")
    return np.array(skeleton.descendants(joint), np.int64)


@lru_cache(maxsize=64)
def _chains(skeleton: Skeleton, upper: int, lower: int, end: int) -> tuple[NDArray, NDArray]:
    """Joints of a limb from its upper one to its hinge, and from there to its end."""
    first, second = skeleton.chain(lower, upper), skeleton.chain(end, lower)
    return np.array(first, np.int64), np.array(second, np.int64)
