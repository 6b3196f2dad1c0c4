"""Curves on the ground plane, parametrised by arc length: lines, circles, S-curves, and curves through points."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.checks import all_finite, real_array, real_number, shaped
from footplant.errors import ConstraintError
from footplant.grounds import direction

SAMPLE = 0.01
"""Distance between two samples of a curve, metres."""
MOST_SAMPLES, MOST_POINTS = 200_000, 100_000
"""Largest number of samples of a curve, and of points that it is interpolated through."""
CLOSED = 1e-6
"""Largest distance between the first and the last point of a closed curve, metres."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A smooth curve on the ground plane, parametrised by its arc length.

    Between samples it is the cubic Hermite curve of their positions and unit tangents; before its start and beyond its
    end it continues straight, unless it is closed.
    """

    positions: NDArray
    """(N, 2) x and z of its samples, metres."""
    headings: NDArray
    """(N,) radians: its direction there, see `footplant.grounds.direction`; unwrapped."""
    lengths: NDArray
    """(N,) arc length from its start, metres, increasing from 0."""
    closed: bool = False
    """Whether its end is its start, so that it can be followed round and round."""

    @property
    def length(self) -> float:
        """Return the arc length from start to end, metres."""
        return float(self.lengths[-1])

    def tightest(self, start: float, end: float) -> float:
        """Return the smallest radius of curvature between two arc lengths, metres; infinity if it is straight."""
        start, end = (real_number(value, "arc length", ConstraintError) for value in (start, end))
        if not end > start:
            return float("inf")
        distance = np.linspace(start, end, _samples(end - start))
        largest = float(np.abs(np.diff(self.at(distance)[1])).max() / (distance[1] - distance[0]))
        return 1.0 / largest if largest > 1e-9 else float("inf")

    def at(self, distance: ArrayLike) -> tuple[NDArray, NDArray]:
        """Return (positions (F, 2) metres, headings (F,) radians) at arc lengths (F,), metres."""
        distance = all_finite(real_array(distance, "arc lengths", ConstraintError), "arc lengths", ConstraintError)
        rounds = np.floor(distance / self.length) if self.closed else np.zeros_like(distance)
        along = distance - rounds * self.length
        inside = np.clip(along, 0.0, self.length)
        first = np.clip(np.searchsorted(self.lengths, inside, side="right") - 1, 0, len(self.lengths) - 2)
        gap = self.lengths[first + 1] - self.lengths[first]
        u = (inside - self.lengths[first]) / gap
        start, end = (direction(self.headings[n]) * gap[..., None] for n in (first, first + 1))
        u1 = u[..., None]
        positions = (
            (2 * u1**3 - 3 * u1**2 + 1) * self.positions[first]
            + (3 * u1**2 - 2 * u1**3) * self.positions[first + 1]
            + (u1**3 - 2 * u1**2 + u1) * start
            + (u1**3 - u1**2) * end
        )
        headings = self.headings[first] + u * (self.headings[first + 1] - self.headings[first])
        beyond = (along - inside)[..., None] * direction(headings)
        return positions + beyond, headings + rounds * (self.headings[-1] - self.headings[0])

    def moved(self, position: ArrayLike, heading: float) -> Curve:
        """Return the same curve, moved and rotated rigidly to start at a position (2,), metres, with a heading."""
        position = shaped(position, (2,), "a position", ConstraintError)
        heading = real_number(heading, "heading", ConstraintError)
        turn = heading - self.headings[0]
        c, s = np.cos(turn), np.sin(turn)
        away = self.positions - self.positions[0]
        turned = np.stack([c * away[:, 0] + s * away[:, 1], c * away[:, 1] - s * away[:, 0]], axis=1)
        return replace(self, positions=position + turned, headings=self.headings + turn)


def line(length: float = 100.0) -> Curve:
    """Return a straight line from the origin along +z; beyond its end it continues."""
    _positive("a line", length=length)
    return Curve(np.array([[0.0, 0.0], [0.0, length]]), np.zeros(2), np.array([0.0, length]))


def circle(radius: float) -> Curve:
    """Return a circle from the origin along +z that turns left, or right if the radius (metres) is negative."""
    radius = real_number(radius, "radius of a circle", ConstraintError)
    _positive("a circle", radius=abs(radius))
    count = _samples(2.0 * np.pi * abs(radius))
    turned = np.linspace(0.0, 2.0 * np.pi, count) * np.sign(radius)
    positions = radius * np.stack([1.0 - np.cos(turned), np.sin(turned)], axis=1)
    return Curve(positions, turned, np.linspace(0.0, 2.0 * np.pi * abs(radius), count), closed=True)


def s_curve(length: float, width: float) -> Curve:
    """Return an S that starts and ends on the z axis, `length` metres apart, and is `width` metres wide.

    It starts and ends along the axis and bends first to the left, or to the right if the width is negative.
    """
    width = real_number(width, "width of an S-curve", ConstraintError)
    _positive("an S-curve", length=length, width=abs(width))
    u = np.linspace(0.0, 1.0, _samples(length + 4.0 * abs(width)))
    # sin 2πu · sin² πu reaches ±(3√3)/8
    swing = 0.5 * width * 8.0 / (3.0 * np.sqrt(3.0))
    across = swing * np.sin(2.0 * np.pi * u) * np.sin(np.pi * u) ** 2
    slope = np.pi * swing * (2.0 * np.cos(2.0 * np.pi * u) * np.sin(np.pi * u) ** 2 + np.sin(2.0 * np.pi * u) ** 2)
    rates = np.stack([slope, np.full(len(u), length)], axis=1)
    return _sampled(np.stack([across, length * u], axis=1), rates, closed=False)


def through(points: ArrayLike) -> Curve:
    """Return the smooth curve through points (N, 2), x and z in metres; closed if the last point is the first."""
    from scipy.interpolate import CubicSpline

    points = real_array(points, "points", ConstraintError)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ConstraintError(f"a curve: expected points of x and z, (N, 2), got {points.shape}")
    if len(points) > MOST_POINTS:
        raise ConstraintError(f"a curve: expected at most {MOST_POINTS} points, got {len(points)}")
    if not np.isfinite(points).all() or np.abs(points).max() > 1e6:
        number = int(np.flatnonzero(~np.isfinite(points).all(axis=1) | (np.abs(points) > 1e6).any(axis=1))[0])
        raise ConstraintError(
            f"a curve: expected positions in metres, got {points[number].tolist()} as point {number + 1}"
        )
    apart = np.concatenate([[True], np.linalg.norm(np.diff(points, axis=0), axis=1) > CLOSED])
    points = points[apart]
    if len(points) < 2:
        raise ConstraintError("a curve: expected at least 2 points at different positions, got one")
    closed = len(points) > 3 and float(np.linalg.norm(points[-1] - points[0])) <= CLOSED
    if closed:
        points[-1] = points[0]
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if len(points) == 2:
        heading = float(np.arctan2(*(points[1] - points[0])))
        return Curve(points, np.full(2, heading), np.array([0.0, chords[0]]))
    # centripetal parametrisation: no loops where points are close together
    knots = np.concatenate([[0.0], np.cumsum(np.sqrt(chords))])
    spline = CubicSpline(knots, points, axis=0, bc_type="periodic" if closed else "natural")
    t = np.union1d(np.linspace(0.0, knots[-1], _samples(2.0 * float(chords.sum()))), knots)
    return _sampled(spline(t), spline(t, 1), closed)


def _sampled(positions: NDArray, rates: NDArray, closed: bool) -> Curve:
    """Return a curve from positions (N, 2) and their derivatives (N, 2) with respect to any parameter."""
    speed = np.linalg.norm(rates, axis=1)
    if speed.min() < 1e-9 * speed.max():
        raise ConstraintError("a curve: expected one that always moves forward, got one that stops and turns back")
    chords = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    headings = np.unwrap(np.arctan2(rates[:, 0], rates[:, 1]))
    # the arc length of a circular arc over its chord
    half = 0.5 * np.abs(np.diff(headings))
    lengths = np.concatenate([[0.0], np.cumsum(chords / np.sinc(half / np.pi))])
    return Curve(positions, headings, lengths, closed)


def _samples(length: float) -> int:
    return int(np.clip(np.ceil(length / SAMPLE), 200, MOST_SAMPLES)) + 1


def _positive(what: str, **sizes: float) -> None:
    for name, value in sizes.items():
        if not 1e-3 <= real_number(value, f"{name} of {what}", ConstraintError) <= 1e5:
            raise ConstraintError(f"{what}: expected a {name} of 0.001 to 100000 metres, got {value:g}")
