"""A motion edited joint by joint, with incremental forward kinematics of the joints that moved."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import SkeletonError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import MovingPoint, Point, Skeleton
from footplant.solve.ik.limb import Limb


class Posed:
    """The rotations of a motion, editable in place, with the world positions and rotations of its joints.

    After changing `local`, call `turned`; `placed` does so for a limb.
    """

    def __init__(self, motion: Motion) -> None:
        """Run forward kinematics once."""
        self.start = motion
        """The original motion."""
        self.local: NDArray = np.array(motion.rotations)
        """(F, J, 4) local rotations."""
        self._offsets = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
        kinematics = Kinematics(motion)
        self._positions, self._rotations = np.array(kinematics.positions), np.array(kinematics.rotations)
        self._moved: set[int] = set()

    @property
    def positions(self) -> NDArray:
        """(F, J, 3) current world positions of the joints, metres."""
        self._follow()
        return self._positions

    @property
    def rotations(self) -> NDArray:
        """(F, J, 4) current world rotations of the joints."""
        self._follow()
        return self._rotations

    def tracks(self, *points: Point) -> NDArray:
        """Return the current world positions (N, F, 3) of points, metres."""
        from footplant.kernels import fk

        self._follow()
        out = np.empty((len(points), len(self.local), 3))
        joints = np.array([point.joint for point in points], np.int64)
        offsets = np.array([point.offset for point in points], float)
        fk.carry_apart(joints, offsets, self._positions, self._rotations, out)
        for point, track in zip(points, out):
            if isinstance(point, MovingPoint):
                arm = rotation.rotate(self._rotations[:, point.joint], point.at(np.arange(len(track))))
                track[:] = self._positions[:, point.joint] + arm
        return out

    def turned(self, joint: int) -> None:
        """Mark a joint's local rotations as changed; not for the root."""
        if joint == 0:
            raise SkeletonError("expected a joint with a parent, got the root")
        self._moved.add(joint)

    def _follow(self) -> None:
        """Update the world transforms of joints changed since the last update, and of their descendants."""
        from footplant.kernels import fk

        skeleton = self.start.skeleton
        for joint in sorted(self._moved):
            # a descendant of another changed joint is updated with that one
            if not self._moved.intersection(skeleton.chain(joint)[:-1]):
                below = _below(skeleton, joint)
                fk.forward_some(below, skeleton.parents, self._offsets, self.local, self._positions, self._rotations)
        self._moved.clear()

    def placed(self, limb: Limb, rows: NDArray, goals: NDArray, orientations: NDArray) -> tuple[NDArray, NDArray]:
        """Move a limb's end to goals (F, 3) with world orientations (F, 4) at frames `rows` (N,), as `ik.limb.place`.

        Returns the remaining distances (N,), metres, and statuses (N,): values of `ik.limb.Reach`.
        """
        from footplant.feet import _limb_rows as kernel
        from footplant.kernels.limb import SkeletonLimb

        self._follow()
        least, most = (float(bound) for bound in limb.flexion)
        bones = SkeletonLimb(limb.upper, limb.lower, limb.end, limb.axis, least, most, 0.0, 0.0)
        found = np.zeros((len(self.local), 2))
        kernel.place_rows(
            rows, self.start.skeleton.parents, self._offsets, bones, kernel.EndGoals(goals, orientations),
            kernel.World(self._positions, self._rotations), self.local, found,
        )  # fmt: skip
        self.turned(limb.upper)
        return found[rows, 0], found[rows, 1].astype(np.int64)

    def finish(self) -> Motion:
        """Return the edited motion; do not edit further."""
        return self.start.like(self.start.root, self.local, self.start.offsets)


@lru_cache(maxsize=64)
def _below(skeleton: Skeleton, joint: int) -> NDArray:
    """Return the indices (N,) of a joint and its descendants, in order."""
    return np.array(skeleton.descendants(joint), np.int64)
