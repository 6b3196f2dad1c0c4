"""Constraints on points and segments: position, orientation, distance, restricted area, gaze, centre of mass."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.constraints.base import (
    Constraint,
    Follow,
    Target,
    as_axes,
    as_direction,
    as_joint,
    as_target,
    as_values,
)
from footplant.constraints.easing import eased
from footplant.contacts.ground import Ground, normal_of
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.skeleton import Character, Point


class Region(Protocol):
    """A solid of `footplant.geometry`, or anything with the same two methods."""

    def distance(self, points: ArrayLike) -> NDArray:
        """Return the signed distance to the surface, metres, negative inside."""
        ...

    def closest(self, points: ArrayLike) -> NDArray:
        """Return the nearest point of the surface."""
        ...


def _at_frames(constraint: Constraint, values: ArrayLike, frames: NDArray) -> NDArray:
    """Return a value for each clip frame, from one for all or one per held frame."""
    values = np.atleast_1d(np.asarray(values, float))
    return values[0] if len(values) == 1 else values[np.minimum(constraint.slot(frames), len(values) - 1)]


@dataclass(frozen=True, eq=False, kw_only=True)
class _WithTarget(Constraint):
    """A constraint with a target position that may move."""

    target: ArrayLike | Follow
    """(3,) metres, world; or (n, 3), one per held frame; or a point to follow."""

    def __post_init__(self) -> None:
        """Check the target."""
        super().__post_init__()
        object.__setattr__(self, "target", as_target(self.target, 3, f"{self.title}: target"))

    def places(self, kinematics: Kinematics) -> NDArray:
        """Return the target's position (F, 3) at each row, metres."""
        target: Target = self.target  # type: ignore[assignment]
        if not isinstance(target, Follow):
            return self.wanted(kinematics.frames)
        if target.motion is None:
            return kinematics.point(target.point)
        if len(kinematics.frames) and kinematics.frames.max() >= len(target.motion):
            raise ConstraintError(
                f"{self.title}: expected a motion to follow of {kinematics.frames.max() + 1} frames or more, "
                f"got {len(target.motion)}"
            )
        return Kinematics(target.motion[kinematics.frames]).point(target.point)

    def wanted(self, frames: NDArray) -> NDArray:
        """Return the position (N, 3) of a fixed target at frames of the clip, metres."""
        target: NDArray = self.target  # type: ignore[assignment]
        slot = 0 if len(target) == 1 else np.minimum(self.slot(frames), len(target) - 1)
        return np.broadcast_to(target[slot], (len(frames), 3))

    @property
    def followed(self) -> tuple[int, ...]:
        """Return the joint of the same character that the target moves with, if any."""
        target = self.target
        return (target.point.joint,) if isinstance(target, Follow) and target.motion is None else ()

    def _target_jacobian(self, kinematics: Kinematics) -> NDArray | float:
        """Return the Jacobian of the target itself."""
        if isinstance(self.target, Follow) and self.target.motion is None:
            return kinematics.position_jacobian(self.target.point)
        return 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Position(_WithTarget):
    """A point of a segment is at a position."""

    point: Point
    axes: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Weight of each world axis: (0, 1, 0) constrains the height only."""

    def __post_init__(self) -> None:
        """Check the axes too."""
        super().__post_init__()
        object.__setattr__(self, "axes", as_axes(self.axes, f"{self.title}: axes"))

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joint to which its point is attached."""
        return (self.point.joint,)

    def slip(self, kinematics: Kinematics) -> NDArray:
        """Return point − target (F, 3), metres; in ramps as in `easing.eased`, unless the target follows a point."""
        off = kinematics.point(self.point) - self.places(kinematics)
        return off if isinstance(self.target, Follow) else eased(self, off, kinematics)

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return `slip` along the weighted axes (F, 3), metres."""
        return self.slip(kinematics) * self.axes

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 3, 3+3J)."""
        jacobian = kinematics.position_jacobian(self.point) - self._target_jacobian(kinematics)
        return jacobian * np.asarray(self.axes)[:, None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Orientation(Constraint):
    """A segment has a given world rotation."""

    joint: int
    target: ArrayLike
    """(4,) world quaternion, or (n, 4), one per held frame."""
    unit: ClassVar[Literal["m", "rad"]] = "rad"

    def __post_init__(self) -> None:
        """Check the joint and the target."""
        super().__post_init__()
        object.__setattr__(self, "joint", as_joint(self.joint, f"{self.title}: joint"))
        if isinstance(self.target, Follow):
            raise ConstraintError(f"{self.title}: expected a rotation, got something to follow")
        object.__setattr__(self, "target", as_target(self.target, 4, f"{self.title}: target"))

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joint of the segment."""
        return (self.joint,)

    def turns(self, kinematics: Kinematics) -> NDArray:
        """Return the target rotation (F, 4) of the segment, world."""
        return self.wanted(kinematics.frames)

    def wanted(self, frames: NDArray) -> NDArray:
        """Return the target rotation (N, 4) of the segment at frames of the clip, world."""
        target = np.asarray(self.target)
        slot = 0 if len(target) == 1 else np.minimum(self.slot(frames), len(target) - 1)
        return np.broadcast_to(target[slot], (len(frames), 4))

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the world rotation vector (F, 3) from the target to the segment, radians."""
        now = kinematics.rotations[:, kinematics.motion.skeleton.require_joint(self.joint)]
        return rotation.log(rotation.multiply(now, rotation.inverse(self.turns(kinematics))))

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 3, 3+3J)."""
        vector = self.residual(kinematics)
        return left_inverse(vector) @ kinematics.rotation_jacobian(self.joint)


@dataclass(frozen=True, eq=False, kw_only=True)
class Distance(Constraint):
    """Two points of the character have a given distance: the width of a box held in both hands."""

    point: Point
    other: Point
    value: ArrayLike
    """Metres: one number, or one per held frame."""

    def __post_init__(self) -> None:
        """Check the value."""
        super().__post_init__()
        object.__setattr__(self, "value", as_values(self.value, self.title, "a distance of 0 metres or more", low=0.0))

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joints to which the two points are attached."""
        return self.point.joint, self.other.joint

    def _line(self, kinematics: Kinematics) -> tuple[NDArray, NDArray]:
        apart = kinematics.point(self.point) - kinematics.point(self.other)
        length = np.linalg.norm(apart, axis=1)
        direction = np.where(length[:, None] > 1e-12, apart / np.maximum(length, 1e-12)[:, None], rotation.AXES["y"])
        return length, direction

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return distance − value (F, 1), metres."""
        values = np.asarray(self.value)
        slot = 0 if len(values) == 1 else np.minimum(self.slot(kinematics.frames), len(values) - 1)
        return (self._line(kinematics)[0] - values[slot])[:, None]

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 1, 3+3J)."""
        moving = kinematics.position_jacobian(self.point) - kinematics.position_jacobian(self.other)
        return self._line(kinematics)[1][:, None, :] @ moving


@dataclass(frozen=True, eq=False, kw_only=True)
class AtLeast(Distance):
    """Two points of the character have at least a given distance."""

    inequality: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, kw_only=True)
class AtMost(Distance):
    """Two points of the character have at most a given distance."""

    inequality: ClassVar[bool] = True

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return value − distance (F, 1), metres."""
        return -super().residual(kinematics)

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 1, 3+3J)."""
        return -super().jacobian(kinematics)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Slack(Constraint):
    """A function of one point's position stays above 0."""

    point: Point
    inequality: ClassVar[bool] = True

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joint to which its point is attached."""
        return (self.point.joint,)

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the slack (F, 1), metres; negative where the point is on the wrong side."""
        return self.slack(kinematics.point(self.point), kinematics.frames)[:, None]

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 1, 3+3J)."""
        slopes = self.slopes(kinematics.point(self.point))
        return slopes[:, None, :] @ kinematics.position_jacobian(self.point)

    @abstractmethod
    def slack(self, places: NDArray, frames: NDArray) -> NDArray:
        """Return the residual (F,), metres, for the point at positions (F, 3) at these frames of the clip."""

    @abstractmethod
    def slopes(self, places: NDArray) -> NDArray:
        """Return the gradient of `slack` (F, 3)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Area(_Slack):
    """A point stays outside a solid, or inside one (box, ball, capsule, half-space)."""

    region: Region
    inside: bool = False
    margin: ArrayLike = 0.0
    """Distance kept from the surface, metres (negative: penetration allowed): one number, or one per held frame."""

    def __post_init__(self) -> None:
        """Check the margin."""
        super().__post_init__()
        as_values(self.margin, self.title, "a finite margin")

    def slack(self, places: NDArray, frames: NDArray) -> NDArray:
        """Return the residual (F,), metres, for the point at positions (F, 3) at these frames of the clip."""
        distance = self.region.distance(places)
        return (-distance if self.inside else distance) - _at_frames(self, self.margin, frames)

    def slopes(self, places: NDArray) -> NDArray:
        """Return the gradient of `slack` (F, 3)."""
        distance = np.asarray(self.region.distance(places))
        away = places - self.region.closest(places)
        clear = np.abs(distance) > 1e-6
        out = away / np.where(clear, distance, 1.0)[:, None]
        if not clear.all():
            # on the surface itself the nearest point gives no direction: use finite differences
            steps = 1e-5 * np.eye(3)
            near = places[~clear]
            changes = [self.region.distance(near + step) - self.region.distance(near - step) for step in steps]
            out[~clear] = np.stack(changes, axis=-1) / 2e-5
        return -out if self.inside else out


@dataclass(frozen=True, eq=False, kw_only=True)
class Above(_Slack):
    """A point stays above a ground (plane or height field)."""

    ground: Ground
    clearance: ArrayLike = 0.0
    """Height above the ground, metres: one number, or one per held frame."""

    def __post_init__(self) -> None:
        """Check the clearance."""
        super().__post_init__()
        as_values(self.clearance, self.title, "a finite clearance")

    def slack(self, places: NDArray, frames: NDArray) -> NDArray:
        """Return the residual (F,), metres, for the point at positions (F, 3) at these frames of the clip."""
        return places[:, 1] - self.ground.height(places[:, ::2]) - _at_frames(self, self.clearance, frames)

    def slopes(self, places: NDArray) -> NDArray:
        """Return the gradient of `slack` (F, 3)."""
        normal = normal_of(self.ground, places[:, ::2])
        return normal / normal[:, 1:2]


@dataclass(frozen=True, eq=False, kw_only=True)
class LookAt(_WithTarget):
    """A direction of a segment points at a target: a gaze, a pointing finger."""

    point: Point
    """The position of the eyes."""
    direction: tuple[float, float, float]
    """The direction to align, in the frame of the point's joint, any length."""
    unit: ClassVar[Literal["m", "rad"]] = "rad"

    def __post_init__(self) -> None:
        """Check the direction too."""
        super().__post_init__()
        direction = as_direction(self.direction, f"{self.title}: direction")
        length = np.linalg.norm(direction)
        object.__setattr__(self, "direction", tuple(float(x / length) for x in direction))

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joint to which its point is attached."""
        return (self.point.joint,)

    def _sight(self, kinematics: Kinematics) -> tuple[NDArray, NDArray, NDArray]:
        line = self.places(kinematics) - kinematics.point(self.point)
        gaze = rotation.rotate(kinematics.rotations[:, self.point.joint], np.array(self.direction))
        length = np.linalg.norm(line, axis=1, keepdims=True)
        return gaze, np.where(length > 1e-9, line / np.maximum(length, 1e-9), gaze), np.maximum(length, 1e-9)

    def sight(self, kinematics: Kinematics) -> tuple[NDArray, NDArray]:
        """Return the unit gaze and the unit line of sight to the target (F, 3), world."""
        gaze, sight, _ = self._sight(kinematics)
        return gaze, sight

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return unit gaze − unit line of sight (F, 3): approximately the angle in radians if it is small."""
        gaze, sight, _ = self._sight(kinematics)
        return gaze - sight

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 3, 3+3J)."""
        gaze, sight, length = self._sight(kinematics)
        turning = -skew(gaze) @ kinematics.rotation_jacobian(self.point.joint)
        moving = self._target_jacobian(kinematics) - kinematics.position_jacobian(self.point)
        across = (np.eye(3) - sight[:, :, None] * sight[:, None, :]) / length[..., None]
        return turning - across @ moving


@dataclass(frozen=True, eq=False, kw_only=True)
class CenterOfMass(_WithTarget):
    """The centre of mass is above, or at, a position."""

    character: Character
    axes: tuple[float, float, float] = (1.0, 0.0, 1.0)
    """Weight of each world axis; by default its height is free."""

    def __post_init__(self) -> None:
        """Check the axes too."""
        super().__post_init__()
        object.__setattr__(self, "axes", as_axes(self.axes, f"{self.title}: axes"))

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return centre − target (F, 3), metres."""
        return (kinematics.center_of_mass(self.character) - self.places(kinematics)) * self.axes

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 3, 3+3J)."""
        moving = self._target_jacobian(kinematics)
        return (kinematics.center_of_mass_jacobian(self.character) - moving) * np.asarray(self.axes)[:, None]


def skew(vectors: NDArray) -> NDArray:
    """Return matrices (…, 3, 3) with skew(v) w = v × w."""
    out = np.zeros((*vectors.shape[:-1], 3, 3))
    x, y, z = np.moveaxis(vectors, -1, 0)
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -z, y, -x
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = z, -y, x
    return out


def left_inverse(vectors: NDArray) -> NDArray:
    """Return the Jacobian (…, 3, 3) of log(exp(w)·q) by a small world rotation w, for rotation vectors log q."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    half = 0.5 * angle
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    factor = np.where(small, 1.0 / 12.0 + angle**2 / 720.0, (1.0 - half / np.tan(np.where(small, 1.0, half))) / safe**2)
    cross = skew(vectors)
    return np.eye(3) - 0.5 * cross + factor * (cross @ cross)
