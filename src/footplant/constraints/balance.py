"""Balance: the centre of mass stays above the support polygon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from footplant.checks import real_number
from footplant.constraints.base import Constraint
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.skeleton import Character, Point

SOLE = ("heel", "ball", "toe")


@dataclass(frozen=True, eq=False, kw_only=True)
class Balance(Constraint):
    """The centre of mass is above the convex hull of the support points: by default heels, balls and toes of both feet.

    Kulpa 2005 leaves balance to future work (section 11): there, the centre of mass is only kept at its position.
    """

    character: Character
    support: tuple[Point, ...] = ()
    """Support points; () takes heel, ball and toe of both feet."""
    margin: float = 0.01
    """Distance kept from the edge, metres."""
    inequality: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Use the soles if no support is given."""
        super().__post_init__()
        support = tuple(self.support) or soles(self.character)
        if not support:
            raise ConstraintError(f"{self.title}: expected support points, {self.character.name!r} has none")
        object.__setattr__(self, "support", support)
        real_number(self.margin, f"{self.title}: margin", ConstraintError)
        for point in support:
            self.character.skeleton.require_joint(point.joint)

    def hulls(self, kinematics: Kinematics) -> list[NDArray]:
        """Return for each row the indices of the support points on the hull, counter-clockwise over (x, z)."""
        places = kinematics.points(self.support)[..., ::2]
        return [hull(row) for row in places]

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the distance (F, 1) of the centre of mass inside the support polygon minus the margin, metres."""
        return self._measure(kinematics)[0][:, None] - self.margin

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 1, 3+3J)."""
        _, first, second, slopes = self._measure(kinematics)
        center = kinematics.center_of_mass_jacobian(self.character)[:, ::2]
        points = np.stack([kinematics.position_jacobian(point)[:, ::2] for point in self.support], axis=1)
        rows = np.arange(len(first))
        parts = (center, points[rows, first], points[rows, second])
        found = np.stack([np.einsum("fi,fij->fj", slope, part) for slope, part in zip(slopes, parts, strict=True)])
        return found.sum(axis=0)[:, None]

    def _measure(self, kinematics: Kinematics) -> tuple[NDArray, NDArray, NDArray, tuple[NDArray, NDArray, NDArray]]:
        """Return the distance inside the hull, the ends of the nearest edge, and the gradients by centre and ends."""
        centers = kinematics.center_of_mass(self.character)[:, ::2]
        places = kinematics.points(self.support)[..., ::2]
        count = len(centers)
        out, ends = np.zeros(count), np.zeros((2, count), np.int64)
        slopes = (np.zeros((count, 2)), np.zeros((count, 2)), np.zeros((count, 2)))
        for row, (center, points) in enumerate(zip(centers, places, strict=True)):
            corners = hull(points)
            following = np.roll(corners, -1)
            edges = points[following] - points[corners]
            away = center - points[corners]
            lengths = np.maximum(np.linalg.norm(edges, axis=1), 1e-12)
            normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / lengths[:, None]
            signed = np.sum(normals * away, axis=1)
            along = np.clip(np.sum(edges * away, axis=1) / lengths**2, 0.0, 1.0)
            apart = away - along[:, None] * edges
            inside = len(corners) > 2 and (signed >= 0).all()
            edge = int(signed.argmin() if inside else np.linalg.norm(apart, axis=1).argmin())
            share = float(along[edge]) if not inside else float(np.sum(edges[edge] * away[edge]) / lengths[edge] ** 2)
            size = float(np.linalg.norm(apart[edge]))
            slope = normals[edge] if inside or size < 1e-12 else -apart[edge] / size
            out[row] = signed[edge] if inside else -size
            ends[:, row] = corners[edge], following[edge]
            # the nearest point of the edge is (1 − share)·a + share·b; moving along the edge changes nothing
            slopes[0][row], slopes[1][row], slopes[2][row] = slope, -(1.0 - share) * slope, -share * slope
        return out, ends[0], ends[1], slopes


def soles(character: Character) -> tuple[Point, ...]:
    """Return heels, balls and toes of both feet."""
    return tuple(point for name, point in character.contacts.items() if name.rpartition("_")[2] in SOLE)


def hull(points: NDArray) -> NDArray:
    """Return the indices of the convex hull of points (N, 2), counter-clockwise."""
    from footplant.kernels.hull import convex_hull

    order, corners = np.empty(len(points), np.int64), np.empty(2 * len(points), np.int64)
    return corners[: convex_hull(np.ascontiguousarray(points), len(points), order, corners)]
