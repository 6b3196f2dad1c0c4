"""Distance of two frames of motion, invariant to position on the floor and heading.

Macleod, "Skeletal Character Animation within a Virtual Environment" (2006), section 3.1 (equation
2), after Kovar & Gleicher, "Flexible automatic motion blending with registration curves" (SCA 2003), section 3.1:

    D² = min over θ, x₀, z₀ of Σ wₚ |aₚ − T(θ, x₀, z₀) bₚ|²

over the weighted points of two clouds, the joints of a few neighbouring poses. The minimum has a closed form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.blending.settings import REGISTRATION
from footplant.checks import real_number, shaped, whole_number
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

JOINT_WEIGHTS: Mapping[str, float] = {
    "hips": 1.0, "spine": 1.0, "head": 0.5, "upper_leg": 1.0, "lower_leg": 1.5, "foot": 2.0, "toes": 1.0,
    "upper_arm": 0.5, "lower_arm": 0.5, "hand": 0.5,
}  # fmt: skip
"""Role (without its side) → weight of its joint. Legs weigh most: they show the phase of a step."""


@dataclass(frozen=True, eq=False)
class Clouds:
    """The point cloud around every frame of a motion."""

    points: NDArray
    """(F, P, 3) metres, world; P points, the joints of five neighbouring poses."""
    weights: NDArray
    """(P,) weights, summing to 1."""

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.points)

    def __getitem__(self, frames: NDArray | slice) -> Clouds:
        """Return the clouds of some frames."""
        return Clouds(self.points[frames], self.weights)


def joint_weights(character: Character, weights: Mapping[str, float] | None = None) -> NDArray:
    """Return (J,) joint weights summing to 1: by role (`JOINT_WEIGHTS`); all equal on a character without roles."""
    found = np.zeros(len(character.skeleton))
    if character.roles is not None:
        for role, chain in character.roles.joints.items():
            base = role.removeprefix("left_").removeprefix("right_")
            # the last vertebra of a chain shows where the chest is
            found[chain[-1]] += (JOINT_WEIGHTS if weights is None else weights).get(base, 0.0)
    if not found.any():
        found[:] = 1.0
    return found / found.sum()


def clouds(
    motion: Motion, character: Character, weights: NDArray | None = None, window: float = REGISTRATION.window
) -> Clouds:
    """Return the cloud around each frame: joints of five poses over `window` seconds, extrapolated at the clip's ends.

    weights: (J,) joint weights (default: `joint_weights`).
    """
    if not len(motion):
        raise MotionError("expected a motion with frames, got an empty one")
    share = joint_weights(character) if weights is None else np.asarray(weights, float) / np.sum(weights)
    used = np.flatnonzero(share > 0)
    character.require_fit(motion.skeleton)
    window = real_number(window, "window", MotionError, above=0.0)
    positions = Kinematics(motion).positions[:, used]
    steps = np.linspace(-0.5 * window, 0.5 * window, REGISTRATION.neighbours) * motion.fps
    around = np.arange(len(motion))[:, None] + steps
    points = _sampled(positions, around)
    weight = np.tile(share[used], REGISTRATION.neighbours) / REGISTRATION.neighbours
    return Clouds(points.reshape(len(motion), -1, 3), weight)


def _sampled(positions: NDArray, frames: NDArray) -> NDArray:
    """Interpolate positions (F, J, 3) at fractional frames (…), extrapolated linearly beyond the ends."""
    last = len(positions) - 1
    inside = np.clip(frames, 0, last)
    first = np.minimum(inside.astype(np.int64), max(last - 1, 0))
    second = np.minimum(first + 1, last)
    share = (frames - first)[..., None, None]
    return positions[first] + share * (positions[second] - positions[first])


def distances(first: Clouds, second: Clouds) -> NDArray:
    """Return (N, M) metres: the distance of every frame of one motion to every frame of another.

    The root of the weighted mean squared distance of corresponding points, after the optimal rotation about the
    vertical and shift over the floor.
    """
    if first.points.shape[1] != second.points.shape[1]:
        raise MotionError(
            f"expected clouds of the same joints, got {first.points.shape[1]} and {second.points.shape[1]} points; put "
            "the motions on one character first"
        )
    a, b = _centered(first), _centered(second)
    squares, other_squares = (np.einsum("p,fpk,fpk->f", first.weights, points, points) for points in (a, b))
    wx, wy, wz = (a[..., k] * first.weights for k in range(3))
    bx, by, bz = (np.ascontiguousarray(b[..., k].T) for k in range(3))
    # D² = Σw|a|² + Σw|b|² − 2 (|floor| + Σw a_y b_y) for centred clouds: the optimal rotation turns the 2D vector
    # (Σw (aₓbₓ + a_z b_z), Σw (aₓb_z − a_z bₓ)) into its length. One matrix product per sum covers all pairs of frames
    floor = np.hypot(wx @ bx + wz @ bz, wx @ bz - wz @ bx)
    square = squares[:, None] + other_squares - 2.0 * (floor + wy @ by)
    return np.sqrt(np.maximum(square, 0.0))


def _centered(cloud: Clouds) -> NDArray:
    """Return the points with each cloud's weighted mean at the origin of the floor."""
    points = np.array(cloud.points)
    points[..., ::2] -= np.einsum("p,fpk->fk", cloud.weights, points[..., ::2])[:, None]
    return points


def align(first: NDArray, second: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
    """Return the rotation (…,) about the vertical, radians, and the shift (…, 3), metres, that map second onto first.

    Clouds (…, P, 3) in pairs, weights (P,) summing to 1. Closed form (Macleod 2006, equations 3 to 5), with atan2. A
    position p of the second motion goes to `turn(p) + shift`; heights do not change.
    """
    a, b = first[..., ::2], second[..., ::2]
    mean_a, mean_b = (np.einsum("p,...pk->...k", weights, points) for points in (a, b))
    a, b = a - mean_a[..., None, :], b - mean_b[..., None, :]
    # rotation by θ about y: x' = x cos θ + z sin θ, z' = z cos θ − x sin θ
    cosine = np.einsum("p,...pk,...pk->...", weights, a, b)
    sine = np.einsum("p,...p->...", weights, a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
    turn = np.arctan2(sine, cosine)
    middle = np.stack([mean_b[..., 0], np.zeros(turn.shape), mean_b[..., 1]], axis=-1)
    moved = rotation.rotate(rotation.from_axis_angle(rotation.AXES["y"], turn), middle)
    shift = np.stack([mean_a[..., 0] - moved[..., 0], np.zeros(turn.shape), mean_a[..., 1] - moved[..., 2]], axis=-1)
    return turn, shift


@dataclass(frozen=True)
class TransitionPoint:
    """Two frames that are more alike than their neighbours: a good place to cut from one clip to the other."""

    first: int
    """Frame of the first motion."""
    second: int
    """Frame of the second motion."""
    distance: float
    """Metres; see `distances`."""


def local_minima(table: NDArray, *, most: float | None = None, apart: int = 1) -> list[TransitionPoint]:
    """Return the local minima of a distance table within `apart` frames, at most `most` metres; best first."""
    from scipy.ndimage import minimum_filter

    # infinite where two frames of one clip are too near to one another
    table = shaped(table, ("rows", "columns"), "distances", MotionError, finite=False)
    if np.isnan(table).any():
        raise MotionError("expected distances, got NaN")
    apart = whole_number(apart, "cells apart", MotionError, low=0)
    apart = min(apart, max(table.shape, default=0))
    if not table.size:
        return []
    lowest = minimum_filter(table, size=2 * apart + 1, mode="nearest")
    found = table <= lowest
    if most is not None:
        found &= table <= real_number(most, "largest distance", MotionError)
    rows, columns = np.nonzero(found)
    points = [TransitionPoint(int(i), int(j), float(table[i, j])) for i, j in zip(rows, columns)]
    return sorted(points, key=lambda point: point.distance)
