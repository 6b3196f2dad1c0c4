"""Shapes: planes, height fields, boxes, balls and capsules, and the closest point in an intersection of balls.

Every shape gives, for points (…, 3), the signed `distance` (metres, negative inside) and the `closest` point of its
surface. Grounds (plane, height field) also give `height` and `normal` at horizontal positions (…, 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import all_finite, real_number, rows_of_width, shaped
from footplant.errors import ArgumentError


def _unit(vectors: NDArray) -> NDArray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(length > 1e-12, vectors / np.where(length > 1e-12, length, 1.0), rotation.AXES["y"])


def _points(points: ArrayLike) -> NDArray:
    return all_finite(rows_of_width(points, 3, "points"), "points")


def _vector(shape: object, name: str, width: int, what: str) -> None:
    """Check a field of a shape and keep it as a tuple of floats."""
    object.__setattr__(shape, name, tuple(shaped(getattr(shape, name), (width,), what).tolist()))


def _positions(places: ArrayLike) -> NDArray:
    return all_finite(rows_of_width(places, 2, "places (x, z)"), "places (x, z)")


@dataclass(frozen=True)
class Plane:
    """A half-space: everything below the plane is inside."""

    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Any point of the plane, metres."""
    up: tuple[float, float, float] = (0.0, 1.0, 0.0)
    """The direction out of the ground, any length."""

    def __post_init__(self) -> None:
        """Check point and direction."""
        _vector(self, "point", 3, "the point of a plane")
        _vector(self, "up", 3, "the direction up of a plane")
        if not any(self.up):
            raise ArgumentError("expected a direction up of a plane, got zeros")

    @cached_property
    def _normal(self) -> NDArray:
        return _unit(np.asarray(self.up, float))

    @property
    def is_level(self) -> bool:
        """Whether its height is the same everywhere, as of most floors."""
        return self._normal[0] == 0.0 and self._normal[2] == 0.0

    def distance(self, points: ArrayLike) -> NDArray:
        """Return the height above the plane along its normal, metres."""
        return (_points(points) - self.point) @ self._normal

    def closest(self, points: ArrayLike) -> NDArray:
        """Return the orthogonal projection."""
        points = _points(points)
        return points - self.distance(points)[..., None] * self._normal

    def height(self, places: ArrayLike) -> NDArray:
        """Return the height (y, metres) of the plane at positions (x, z)."""
        places, normal = _positions(places), self._normal
        if abs(normal[1]) < 1e-9:
            raise ArgumentError(f"expected a plane that is not vertical, got the normal {tuple(normal)}")
        if self.is_level:
            return np.full(places.shape[:-1], float(self.point[1]))[()]
        dx, dz = places[..., 0] - self.point[0], places[..., 1] - self.point[2]
        return self.point[1] - (normal[0] * dx + normal[2] * dz) / normal[1]

    def normal(self, places: ArrayLike) -> NDArray:
        """Return the unit normal at positions (x, z), shape (…, 3)."""
        return np.broadcast_to(self._normal, (*_positions(places).shape[:-1], 3))


Basis = Literal["linear", "cubic", "bspline"]
"""Interpolation of a height field: linear; cubic through the grid points (Catmull–Rom); or a B-spline with the grid
points as control points, which it only approximates."""


@dataclass(frozen=True, eq=False)
class HeightField:
    """A ground of heights on a regular grid, level beyond its edges."""

    heights: NDArray
    """(nx, nz) metres."""
    spacing: float
    """Distance between grid points, metres, the same along x and z."""
    origin: tuple[float, float] = (0.0, 0.0)
    """(x, z) of heights[0, 0], metres."""
    basis: Basis = "cubic"
    """Interpolation between the grid points."""

    def __post_init__(self) -> None:
        """Check the grid."""
        heights = np.array(shaped(self.heights, ("nx", "nz"), "heights", finite=False))
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise ArgumentError(f"expected a finite grid of at least 2 × 2 heights, got shape {heights.shape}")
        real_number(self.spacing, "grid spacing", above=0.0)
        _vector(self, "origin", 2, "the origin of a height field")
        if self.basis not in get_args(Basis):
            raise ArgumentError(f"expected a basis among {', '.join(get_args(Basis))}, got {self.basis!r}")
        heights.setflags(write=False)
        object.__setattr__(self, "heights", heights)

    def _sample(self, places: ArrayLike) -> tuple[NDArray, NDArray, NDArray]:
        """Return height, dh/dx and dh/dz."""
        from footplant.kernels import height_field as kernel

        places = _positions(places)
        flat = np.array(places.reshape(-1, 2), order="C")
        out = np.empty((len(flat), 3))
        kind = get_args(Basis).index(self.basis)
        kernel.sample(self.heights, np.array(self.origin, float), float(self.spacing), kind, flat, out)
        total, along_x, along_z = np.moveaxis(out.reshape(*places.shape[:-1], 3), -1, 0)
        return total, along_x, along_z

    def height(self, places: ArrayLike) -> NDArray:
        """Return the height (y, metres) at positions (x, z)."""
        return self._sample(places)[0]

    def normal(self, places: ArrayLike) -> NDArray:
        """Return the unit normal at positions (x, z), shape (…, 3)."""
        _, along_x, along_z = self._sample(places)
        return _unit(np.stack([-along_x, np.ones_like(along_x), -along_z], axis=-1))

    def distance(self, points: ArrayLike) -> NDArray:
        """Return the distance from the tangent plane below the point, metres: exact on a slope, else first order."""
        points = _points(points)
        places = points[..., [0, 2]]
        return (points[..., 1] - self.height(places)) * self.normal(places)[..., 1]

    def closest(self, points: ArrayLike) -> NDArray:
        """Return a nearby point of the surface: Newton steps along the normal, then vertical projection."""
        points = _points(points)
        found = points
        for _ in range(4):
            step = self.distance(found)[..., None] * self.normal(found[..., [0, 2]])
            tangent = (
                points
                - found
                - np.sum((points - found) * self.normal(found[..., [0, 2]]), -1, keepdims=True)
                * (self.normal(found[..., [0, 2]]))
            )
            found = found - step + 0.5 * tangent
        places = found[..., [0, 2]]
        return np.stack([places[..., 0], self.height(places), places[..., 1]], axis=-1)


@dataclass(frozen=True)
class Ball:
    """All points within a distance of a centre."""

    center: tuple[float, float, float]
    """Metres."""
    radius: float
    """Metres."""

    def __post_init__(self) -> None:
        """Check centre and size."""
        _vector(self, "center", 3, "the centre of a ball")
        object.__setattr__(self, "radius", real_number(self.radius, "radius", low=0.0))

    def distance(self, points: ArrayLike) -> NDArray:
        """Return the signed distance to the surface, metres, negative inside."""
        return np.linalg.norm(_points(points) - self.center, axis=-1) - self.radius

    def closest(self, points: ArrayLike) -> NDArray:
        """Return the nearest point of the surface; from the centre, straight up."""
        return self.center + self.radius * _unit(_points(points) - self.center)


@dataclass(frozen=True)
class Capsule:
    """All points within a distance of a line segment: a limb, a beam, a rail."""

    start: tuple[float, float, float]
    stop: tuple[float, float, float]
    radius: float
    """Metres."""

    def __post_init__(self) -> None:
        """Check ends and size."""
        _vector(self, "start", 3, "the start of a capsule")
        _vector(self, "stop", 3, "the stop of a capsule")
        object.__setattr__(self, "radius", real_number(self.radius, "radius", low=0.0))

    def _axis_point(self, points: NDArray) -> NDArray:
        start = np.asarray(self.start, float)
        axis = np.asarray(self.stop, float) - start
        length = axis @ axis
        t = np.clip((points - start) @ axis / length, 0.0, 1.0) if length > 0 else np.zeros(points.shape[:-1])
        return start + t[..., None] * axis

    def distance(self, points: ArrayLike) -> NDArray:
        """Return the signed distance to the surface, metres, negative inside."""
        points = _points(points)
        return np.linalg.norm(points - self._axis_point(points), axis=-1) - self.radius

    def closest(self, points: ArrayLike) -> NDArray:
        """Return the nearest point of the surface."""
        points = _points(points)
        on_axis = self._axis_point(points)
        return on_axis + self.radius * _unit(points - on_axis)


@dataclass(frozen=True)
class Box:
    """A box of any orientation."""

    center: tuple[float, float, float]
    """Metres."""
    half: tuple[float, float, float]
    """Half of its size along its own axes, metres."""
    turn: tuple[float, float, float, float] = field(default=(1.0, 0.0, 0.0, 0.0))
    """Quaternion from the box's axes to the world's."""

    def __post_init__(self) -> None:
        """Check centre, size and rotation."""
        _vector(self, "center", 3, "the centre of a box")
        _vector(self, "half", 3, "the half sizes of a box")
        _vector(self, "turn", 4, "the turn of a box")
        if min(self.half) < 0:
            raise ArgumentError(f"expected half sizes of 0 metres or more, got {self.half}")
        if not rotation.are_unit(self.turn, 1e-3):
            raise ArgumentError(f"expected a unit quaternion as the turn of a box, got {self.turn}")

    def _local(self, points: ArrayLike) -> NDArray:
        return rotation.rotate(rotation.inverse(self.turn), _points(points) - self.center)

    def distance(self, points: ArrayLike) -> NDArray:
        """Return the signed distance to the surface, metres, negative inside."""
        beyond = np.abs(self._local(points)) - self.half
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=-1)
        return outside + np.minimum(beyond.max(axis=-1), 0.0)

    def closest(self, points: ArrayLike) -> NDArray:
        """Return the nearest point of the surface; from inside, on the nearest face."""
        local, half = self._local(points), np.asarray(self.half, float)
        clamped = np.clip(local, -half, half)
        inside = np.asarray((np.abs(local) < half).all(axis=-1))
        face = np.argmin(half - np.abs(local), axis=-1)
        pushed = np.where(np.arange(3) == face[..., None], np.where(local < 0, -half, half), local)
        return rotation.rotate(self.turn, np.where(inside[..., None], pushed, clamped)) + self.center
