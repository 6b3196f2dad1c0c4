"""Forward kinematics of a whole motion, its Jacobians, and the centre of mass."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import indices, rectangle, shaped
from footplant.errors import MotionError, SkeletonError
from footplant.motion import Motion
from footplant.skeleton import Character, MovingPoint, Point, frozen

CACHED_MOTIONS = 4
"""Number of recent motions whose joint positions are cached: one clip is used by many functions in turn."""
_cache: OrderedDict[int, tuple[weakref.ref[Motion], NDArray, NDArray]] = OrderedDict()


def _forward(motion: Motion) -> tuple[NDArray, NDArray]:
    """Return world positions (F, J, 3) and rotations (F, J, 4), read-only and cached while the motion is alive."""
    from footplant.kernels import fk

    cached = _cache.get(id(motion))
    if cached is not None and cached[0]() is motion:
        return cached[1], cached[2]
    count, joints = motion.rotations.shape[:2]
    positions, rotations = np.empty((count, joints, 3)), np.empty((count, joints, 4))
    offsets = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
    fk.forward(motion.skeleton.parents, offsets, motion.root, motion.rotations, positions, rotations)
    positions.setflags(write=False)
    rotations.setflags(write=False)
    key = id(motion)
    _cache[key] = weakref.ref(motion, lambda _: _cache.pop(key, None)), positions, rotations
    while len(_cache) > CACHED_MOTIONS:
        _cache.popitem(last=False)
    return positions, rotations


class Kinematics:
    """Forward kinematics of a motion: world positions and rotations of all joints, and their Jacobians.

    Jacobians are taken with respect to the displacement d of m ⊕ d at d = 0: columns 0–2 are the root's position,
    columns 3+3j … 5+3j the rotation vector of joint j in its own frame.
    """

    def __init__(self, motion: Motion, frames: ArrayLike | None = None) -> None:
        """Run forward kinematics. frames: the numbers of the motion's frames in a longer clip, if it is part of one."""
        self.motion = motion
        """The motion this belongs to."""
        self.frames: NDArray = np.arange(len(motion)) if frames is None else _clip_frames(frames, len(motion))
        """(F,) the clip's frame of each row: 0 … F−1, or those selected by a solver."""
        self.positions: NDArray
        """(F, J, 3) world positions of the joints, metres."""
        self.rotations: NDArray
        """(F, J, 4) world rotations of the joints."""
        self.positions, self.rotations = _forward(motion)

    def __getitem__(self, rows: NDArray | slice) -> Kinematics:
        """Return some of the rows, without running forward kinematics again."""
        if isinstance(rows, np.ndarray) and rows.ndim == 1 and len(rows) > 1 and rows.dtype.kind == "i" and (
            rows[0] >= 0 and rows[-1] < len(self.frames) and (np.diff(rows) == 1).all()
        ):  # fmt: skip
            # consecutive rows need no copy
            rows = slice(int(rows[0]), int(rows[-1]) + 1)
        part = object.__new__(Kinematics)
        part.motion, part.frames = self.motion[rows], self.frames[rows]
        part.positions, part.rotations = self.positions[rows], self.rotations[rows]
        for array in (part.positions, part.rotations):
            array.setflags(write=False)
        return part

    def points(self, points: Sequence[Point]) -> NDArray:
        """Return world positions (F, N, 3) of points fixed to segments, metres."""
        joints = self._joints([point.joint for point in points])
        out = self._fixed_points(joints, np.array([point.offset for point in points], float).reshape(-1, 3))
        for number, point in enumerate(points):
            if isinstance(point, MovingPoint):
                arm = rotation.rotate(self.rotations[:, point.joint], point.at(self.frames))
                out[:, number] = self.positions[:, point.joint] + arm
        return out

    def at(self, rows: NDArray, joints: NDArray, offsets: NDArray) -> NDArray:
        """Return world positions (N, 3), metres, of points at individual rows: rows, joints (N,), offsets (N, 3)."""
        from footplant.kernels import fk

        rows, joints = indices(rows, len(self.positions), "rows", MotionError), self._joints(joints)
        offsets = shaped(offsets, (len(rows), 3), "offsets", MotionError)
        if rows.ndim != 1 or joints.shape != rows.shape:
            raise MotionError(f"expected rows and joints of one shape (N,), got {rows.shape} and {joints.shape}")
        out = np.empty((len(rows), 3))
        fk.carry_some(rows, joints, offsets, self.positions, self.rotations, out)
        return out

    def point(self, point: Point) -> NDArray:
        """Return world positions (F, 3) of one point, metres."""
        return self.points([point])[:, 0]

    @cached_property
    def ends(self) -> NDArray:
        """Return world positions (F, E, 3) of the skeleton's end sites, metres."""
        skeleton = self.motion.skeleton
        return self._fixed_points(np.array(skeleton.end_parents), np.array(skeleton.end_offsets))

    def _joints(self, joints: Sequence[int] | NDArray) -> NDArray:
        return self.motion.skeleton.require_joints(joints)

    def _fixed_points(self, joints: NDArray, offsets: NDArray) -> NDArray:
        from footplant.kernels import fk

        out = np.empty((len(self.motion), len(joints), 3))
        fk.carry(joints, offsets, self.positions, self.rotations, out)
        return out

    def position_jacobian(self, point: Point) -> NDArray:
        """Return the Jacobian (F, 3, 3+3J) of a point's world position, metres per metre and per radian."""
        from footplant.kernels import fk

        out = self._empty_jacobian()
        parents = self.motion.skeleton.parents
        fk.position_jacobian(parents, point.joint, self.point(point), self.positions, self.rotations, out)
        return out

    def rotation_jacobian(self, joint: int) -> NDArray:
        """Return the Jacobian (F, 3, 3+3J) of a joint's world rotation as a world rotation vector, radians."""
        from footplant.kernels import fk

        out = self._empty_jacobian()
        joint = self.motion.skeleton.require_joint(joint)
        fk.rotation_jacobian(self.motion.skeleton.parents, joint, self.rotations, out)
        return out

    def center_of_mass(self, character: Character) -> NDArray:
        """Return the centre of mass (F, 3), metres, from the character's segment masses."""
        from footplant.kernels import fk

        masses, centers = self._masses(character)
        out = np.empty((len(self.positions), 3))
        fk.mass_center(masses, centers, self.positions, self.rotations, out)
        return out

    def center_of_mass_jacobian(self, character: Character) -> NDArray:
        """Return the Jacobian (F, 3, 3+3J) of the centre of mass."""
        from footplant.kernels import fk

        masses, centers = self.mass_centers(character)
        out = self._empty_jacobian()
        fk.mass_jacobian(self.motion.skeleton.parents, masses, centers, self.positions, self.rotations, out)
        return out

    def mass_centers(self, character: Character) -> tuple[NDArray, NDArray]:
        """Return the segments' masses (J,) and their centres (F, J, 3), metres."""
        masses, centers = self._masses(character)
        return masses, self._fixed_points(np.arange(len(self.motion.skeleton)), np.array(centers))

    def _masses(self, character: Character) -> tuple[NDArray, NDArray]:
        masses, centers = _masses(character)
        if len(masses) != len(self.motion.skeleton):
            raise SkeletonError(
                f"expected a character of {len(self.motion.skeleton)} joints as in the motion, got {len(masses)}"
            )
        return masses, centers

    def _empty_jacobian(self) -> NDArray:
        return np.zeros((len(self.motion), 3, 3 + 3 * len(self.motion.skeleton)))


def on_rigid_bones(motion: Motion, joint: int = 0) -> Motion:
    """Return a motion with its skeleton's own bones instead of bones that change their length.

    It is moved so that a joint stays where it was: below a root that stands still, the hips may carry the motion.
    """
    if motion.offsets is None:
        return motion
    rigid = motion.like(motion.root, motion.rotations)
    moved = Kinematics(motion).positions[:, joint] - Kinematics(rigid).positions[:, joint]
    return motion.like(motion.root + moved, motion.rotations)


def _clip_frames(frames: ArrayLike, count: int) -> NDArray:
    """Return the frames of a clip, one per row, checked."""
    frames = rectangle(frames, "frames", MotionError)
    if frames.shape != (count,) or (count and (frames.dtype.kind not in "iu" or frames.min() < 0)):
        raise MotionError(f"expected {count} frames from 0 on, one per row, got {frames.dtype} of shape {frames.shape}")
    return frames.astype(np.int64, copy=False)


def _masses(character: Character) -> tuple[NDArray, NDArray]:
    """Return the segments' masses (J,) and centres (J, 3), read-only."""
    if character.masses is None or character.mass_centers is None:
        raise SkeletonError(f"{character.name!r} has no segment masses; they come with humanoid roles")
    return frozen(character.masses), frozen(character.mass_centers)
