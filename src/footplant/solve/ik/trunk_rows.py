"""Constraints on the trunk of a humanoid, as residual rows for the kernel of hybrid inverse kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints import Above, Area, Constraint, Follow, LookAt, Orientation, Position
from footplant.kinematics import Kinematics
from footplant.skeleton import Point
from footplant.solve.ik.limb_goals import half_spaces, weight_of
from footplant.solve.ik.pins import part_of_turn, part_of_way
from footplant.solve.ik.settings import HYBRID


@dataclass(frozen=True, eq=False)
class TrunkRows:
    """Constraints on the trunk as the kernel takes them, R rows."""

    kinds: NDArray
    """(R,) int64; `POSITION`, `HALF_SPACE` or `ORIENTATION` of `footplant.kernels.hybrid`."""
    joints: NDArray
    """(R,) int64; the joint that carries the point, or that is oriented."""
    offsets: NDArray
    """(R, 3) the point in its joint's frame, metres."""
    targets: NDArray
    """(F, R, 4) world position, world rotation, or normal and level of a half-space."""
    weights: NDArray
    """(F, R) weights in the trunk's objective, 0 where a constraint is inactive."""


def trunk_rows(first: Kinematics, now: Kinematics, constraints: Sequence[Constraint]) -> TrunkRows:
    """Return the rows of constraints on the trunk.

    A constraint that ramps in asks for its share of the way from the input poses (`first`). Curved areas, gaze targets
    and targets that follow the character are evaluated at the current poses (`now`).
    """
    from footplant.kernels import hybrid as kernel

    frames, count = len(now.frames), len(constraints)
    kinds, joints, offsets = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros((count, 3))
    targets, weights = np.zeros((frames, count, 4)), np.zeros((frames, count))
    for row, constraint in enumerate(constraints):
        share = constraint.activation(now.frames, now.motion.fps)
        weights[:, row] = HYBRID.trunk_weight * weight_of(constraint) * share
        point = Point(constraint.joint) if isinstance(constraint, Orientation) else constraint.point  # type: ignore[attr-defined]
        joints[row], offsets[row] = point.joint, point.offset
        if isinstance(constraint, Orientation | LookAt):
            kinds[row] = kernel.ORIENTATION
            goal = constraint.turns(now) if isinstance(constraint, Orientation) else _facing(constraint, now)
            targets[:, row] = part_of_turn(first.rotations[:, point.joint], goal, share[:, None])
        elif isinstance(constraint, Area | Above):
            kinds[row] = kernel.HALF_SPACE
            targets[:, row] = half_spaces(constraint, now.point(point), now.frames)
        else:
            kinds[row] = kernel.POSITION
            # a target that follows the character is evaluated at the current pose, any other at the input pose
            seen = now if isinstance(constraint, Position) and isinstance(constraint.target, Follow) else first
            goal = seen.point(point) - constraint.residual(seen)
            targets[:, row, :3] = part_of_way(first.point(point), goal, share[:, None])
    return TrunkRows(kinds, joints, offsets, targets, weights)


def _facing(constraint: LookAt, kinematics: Kinematics) -> NDArray:
    """Return the world rotations (F, 4) that turn the segment by the smallest rotation to look at its target."""
    gaze, sight = constraint.sight(kinematics)
    return rotation.multiply(rotation.between(gaze, sight), kinematics.rotations[:, constraint.point.joint])
