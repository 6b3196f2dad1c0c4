"""Constraints on the trunk of a human-like figure, as rows for the kernel of hybrid inverse kinematics."""

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


@dataclass(frozen=True, eq=False)
class TrunkRows:
    """Constraints on the trunk as the kernel takes them."""

    kinds: NDArray
    joints: NDArray
    offsets: NDArray
    targets: NDArray
    """(F, R, 4)"""
    weights: NDArray
    """(F, R)"""


def trunk_rows(first: Kinematics, now: Kinematics, constraints: Sequence[Constraint]) -> TrunkRows:
    """What is asked of the trunk: of what eases in, its share of the way from the poses that the motion came with."""
    from footplant.kernels import hybrid as kernel

    frames, count = len(now.frames), len(constraints)
    kinds, joints, offsets = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros((count, 3))
    targets, weights = np.zeros((frames, count, 4)), np.zeros((frames, count))
    for row, constraint in enumerate(constraints):
        share = constraint.activation(now.frames, now.motion.fps)
        weights[:, row] = 100.0 * weight_of(constraint) * share
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
            # a target that goes with the figure is where it is now; any other where it was
            seen = now if isinstance(constraint, Position) and isinstance(constraint.target, Follow) else first
            goal = seen.point(point) - constraint.residual(seen)
            targets[:, row, :3] = part_of_way(first.point(point), goal, share[:, None])
    return TrunkRows(kinds, joints, offsets, targets, weights)


def _facing(constraint: LookAt, kinematics: Kinematics) -> NDArray:
    """(F, 4) the least turn of the segment that makes it look at its target."""
    gaze, sight = constraint.sight(kinematics)
    return rotation.multiply(rotation.between(gaze, sight), kinematics.rotations[:, constraint.point.joint])
