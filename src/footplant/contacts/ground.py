"""Decide which still points are supported by the ground, and estimate the ground from them.

A still foot may be held in the air (the chamber of a kick, legs hanging from a stool). A real support shows in that the
body moves while the foot does not: a free foot moves with the body. Contacts with that proof define the ground, level
or not. Points without it count only at the height of that ground, or when the body's weight is above them with nothing
lower underneath.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.checks import all_finite, real_number, rows_of_width, shaped
from footplant.contacts.settings import SUPPORT
from footplant.contacts.stillness import StillInterval
from footplant.errors import ArgumentError, MotionError
from footplant.geometry import HeightField, Plane

MOST_CELLS = 4_000_000
"""Largest grid of an upper bound (`lower_to_soles`): 32 MB."""


class Ground(Protocol):
    """Any object that knows its height over a position: a plane, a height field, an interpolated ground."""

    def height(self, places: ArrayLike) -> NDArray:
        """Height (…) in metres over places (…, 2), x and z in metres."""
        ...


@dataclass(frozen=True, eq=False)
class InterpolatedGround:
    """An uneven ground known only at its contacts: the Gaussian-weighted mean of the nearest contacts' heights."""

    places: NDArray
    """(N, 3) metres; positions of contacts."""
    reach: float
    """Metres; standard deviation of the weights."""

    def __post_init__(self) -> None:
        """Check the places."""
        object.__setattr__(self, "places", shaped(self.places, ("N", 3), "places of stepping stones"))
        if not len(self.places):
            raise ArgumentError("expected at least one stepping stone, got none")
        real_number(self.reach, "reach", low=1e-12)

    def height(self, places: ArrayLike) -> NDArray:
        """Return the height (…) in metres over places (…, 2)."""
        from footplant.contacts import _interpolated_ground as kernel

        places = all_finite(rows_of_width(places, 2, "places (x, z)"), "places (x, z)")
        flat = np.array(places.reshape(-1, 2))
        out = np.empty(len(flat))
        kernel.heights(np.array(self.places, float), float(self.reach), flat, out)
        return out.reshape(places.shape[:-1])

    def normal(self, places: ArrayLike) -> NDArray:
        """Return the unit normal (…, 3) over places (…, 2)."""
        return normal_of(self, places)


@dataclass(frozen=True, eq=False)
class LoweredGround:
    """An estimated ground, bounded above by where soles have passed."""

    guess: Ground
    """The ground as estimated from contacts."""
    ceiling: HeightField
    """The upper bound."""

    def height(self, places: ArrayLike) -> NDArray:
        """Return the height (…) in metres over places (…, 2)."""
        return np.minimum(self.guess.height(places), self.ceiling.height(places))

    def normal(self, places: ArrayLike) -> NDArray:
        """Return the unit normal (…, 3) over places (…, 2): straight up, as on treads of stairs."""
        return np.broadcast_to((0.0, 1.0, 0.0), (*np.shape(places)[:-1], 3))


def lower_to_soles(guess: Ground, soles: ArrayLike, height: float) -> Ground:
    """Lower an estimated ground to where soles (…, 3) passed below it.

    The bound is flat within `SupportSettings.sole_radius` of a sole and then rises by `pit_slope`. `height` is the
    body's, metres.
    """
    from scipy.ndimage import minimum_filter

    soles = all_finite(rows_of_width(soles, 3, "soles"), "soles").reshape(-1, 3)
    height = real_number(height, "height", above=0.0)
    level = guess.height(soles[:, ::2])
    below = soles[soles[:, 1] < level]
    if not len(below):
        return guess
    spacing, top = SUPPORT.cell * height, float(level.max())
    wide = round(SUPPORT.sole_radius / SUPPORT.cell)
    # as real numbers: places far away in cells of a tiny body are beyond whole ones
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        rings = np.ceil((top - below[:, 1].min()) / (SUPPORT.pit_slope * spacing)) + wide + 2
        cells = np.floor(below[:, ::2] / spacing)
        if not (np.ptp(cells, axis=0) + 2 * rings + 2).prod() <= MOST_CELLS:
            return guess
    margin, first = int(rings), cells.astype(np.int64)
    low = first.min(axis=0) - margin
    ceiling = np.full(tuple((first.max(axis=0) - low + margin + 2).tolist()), top)
    # write all four corners of the cell, so that interpolation between them stays below the sole
    for i in (0, 1):
        for k in (0, 1):
            np.minimum.at(ceiling, tuple((first - low + [i, k]).T), below[:, 1])
    around = np.hypot(*np.mgrid[-wide : wide + 1, -wide : wide + 1]) <= wide
    ceiling = minimum_filter(ceiling, footprint=around, mode="nearest")
    rise = SUPPORT.pit_slope * spacing
    for _ in range(margin - wide):
        wider = np.pad(ceiling, 1, constant_values=top)
        straight = np.minimum.reduce([wider[:-2, 1:-1], wider[2:, 1:-1], wider[1:-1, :-2], wider[1:-1, 2:]])
        across = np.minimum.reduce([wider[:-2, :-2], wider[2:, :-2], wider[:-2, 2:], wider[2:, 2:]])
        ceiling = np.minimum(ceiling, np.minimum(straight + rise, across + np.sqrt(2.0) * rise))
    x, z = (float(value) for value in low * spacing)
    return LoweredGround(guess, HeightField(ceiling, spacing, (x, z), "linear"))


def normal_of(ground: Ground, places: ArrayLike) -> NDArray:
    """Return unit normals (…, 3) of any ground over places (…, 2), by central differences over 1 cm."""
    places = all_finite(rows_of_width(places, 2, "places (x, z)"), "places (x, z)")
    own = getattr(ground, "normal", None)
    if own is not None and not isinstance(ground, InterpolatedGround):
        return own(places)
    step = 0.01
    slopes = [
        (ground.height(places + shift) - ground.height(places - shift)) / (2 * step) for shift in step * np.eye(2)
    ]
    normal = np.stack([-slopes[0], np.ones_like(slopes[0]), -slopes[1]], axis=-1)
    return normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def as_ground(ground: Ground | float) -> Ground:
    """Convert what callers pass to a ground: a level in metres, or any object with `height(places)`."""
    if isinstance(ground, int | float | np.number):
        return Plane((0.0, float(ground), 0.0))
    if not hasattr(ground, "height"):
        raise MotionError(f"expected a ground level in metres or an object with height(places), got {ground!r}")
    return ground


def estimate_ground(places: ArrayLike, weights: ArrayLike, height: float) -> Ground:
    """Estimate the ground under contacts (N, 3): a level floor, a slope, or an interpolated ground if neither fits.

    `weights` (N,) are the durations of the contacts; `height` is the body's, metres.
    """
    places, weights = shaped(places, ("N", 3), "places"), shaped(weights, ("N",), "weights")
    real_number(height, "height", above=0.0)
    if len(weights) != len(places) or (weights < 0).any():
        raise ArgumentError(f"expected {len(places)} weights of 0 or more, got {weights.tolist()}")
    if len(places) == 0 or not weights.any():
        return Plane()
    level = weighted_median(places[:, 1], weights)
    residual = np.abs(places[:, 1] - level)
    tolerance = SUPPORT.flatness * height
    if weighted_median(residual, weights) < 0.5 * tolerance and weighted_quantile(residual, weights, 0.9) < tolerance:
        return Plane((0.0, float(level), 0.0))
    slope = _slope(places, weights, height)
    if slope is not None:
        off = np.abs(places[:, 1] - slope.height(places[:, ::2]))
        better = weights @ off < SUPPORT.slope_gain * (weights @ residual)
        if better and weighted_quantile(off, weights, 0.9) < tolerance:
            return slope
    if weighted_quantile(residual, weights, 0.75) < tolerance:
        return Plane((0.0, float(level), 0.0))
    return InterpolatedGround(places, SUPPORT.interpolation * height)


def _slope(places: NDArray, weights: NDArray, height: float) -> Plane | None:
    """Fit a plane through contacts by iteratively reweighted least squares; None if they are not spread enough."""
    if len(places) < 4:
        return None
    center = np.average(places, axis=0, weights=weights)
    away = places - center
    spread = np.linalg.eigvalsh(np.cov(away[:, ::2].T, aweights=np.maximum(weights, 1e-9)))
    design = np.column_stack([np.ones(len(away)), away[:, ::2]])
    if np.sqrt(max(spread[1], 0.0)) < SUPPORT.slope_extent * height:
        return None
    # a straight walk does not determine the cross slope
    ridge = SUPPORT.slope_ridge * height**2 * np.diag([0.0, 1.0, 1.0]) * weights.sum()
    robust = weights.copy()
    answer = np.zeros(3)
    for _ in range(10):
        answer = np.linalg.solve(design.T @ (robust[:, None] * design) + ridge, design.T @ (robust * away[:, 1]))
        residual = np.abs(away[:, 1] - design @ answer)
        robust = weights / np.maximum(residual, SUPPORT.slope_residual * height)
    return Plane(
        (float(center[0]), float(center[1] + answer[0]), float(center[2])), (float(-answer[1]), 1.0, float(-answer[2]))
    )


def weighted_quantile(values: NDArray, weights: NDArray, share: float) -> float:
    """Return the value below which that share of the weight lies."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][min(np.searchsorted(total, share * total[-1]), len(values) - 1)])


def weighted_median(values: NDArray, weights: NDArray) -> float:
    """Return the value with half of the weight on either side."""
    return weighted_quantile(values, weights, 0.5)


def supported(
    intervals: Sequence[StillInterval],
    foot_of: Sequence[int],
    body: NDArray | None,
    height: float,
    fps: float,
    ground: Ground | None,
) -> list[bool]:
    """Return which still intervals are supported.

    `foot_of` gives the foot (or hand, negative) of each point; `body` (F, 3) is the centre of mass or the pelvis.
    Balance over a foot counts only if it lasts (`SupportSettings.balance_time`).
    """
    if not intervals:
        return []
    places = np.array([interval.place for interval in intervals])
    table = np.array([(interval.point, interval.start, interval.end) for interval in intervals])
    points, start, end = table.T
    foot = np.array(foot_of)[points]
    travel = np.zeros(len(intervals))
    if body is not None:
        # the diagonal of the box that the body stays in
        travel[:] = [np.linalg.norm(np.ptp(body[first:last], axis=0)) for first, last in zip(start, end)]
    feet = foot >= 0
    proven = travel > np.where(feet, SUPPORT.body_travel, SUPPORT.body_travel_hand) * height
    # for an instant, a point in the air is as still as one that stands
    proven &= end - start >= SUPPORT.proof_time * fps
    lasting = SUPPORT.balance_time * fps
    elevation = places[:, 1] - _floor_under(places, end - start, proven & feet, feet, height, ground)
    for point in np.unique(points[feet]):  # a skeleton may have its sole too high
        own = points == point
        usual = weighted_quantile(elevation[own], (end - start)[own].astype(float), SUPPORT.usual)
        elevation[own] -= np.clip(usual, 0.0, SUPPORT.point_bias * height)
    # a point that is still only for an instant, and higher than a contact would be, turns round in the air
    brief = np.clip((end - start) / (SUPPORT.brief * fps), SUPPORT.brief_share, 1.0)
    near = elevation < SUPPORT.near_ground * height * brief
    accepted = near | proven
    for i in np.flatnonzero(~accepted & feet):
        if body is not None and end[i] - start[i] >= lasting:
            weight = np.median(body[start[i] : end[i]], axis=0)
            overlap = np.minimum(end, end[i]) - np.maximum(start, start[i])
            lower = places[:, 1] < places[i, 1] - SUPPORT.near_ground * height
            beneath = feet & (overlap > 0) & (foot != foot[i]) & lower
            over = np.hypot(*(weight - places[i])[::2]) < SUPPORT.balance_distance * height
            accepted[i] = over and not beneath.any()
    lifted = _lifted(places, points, start, end, foot, elevation, height, accepted & feet)
    return (accepted & ~lifted).tolist()


def _floor_under(places, durations, proven, feet, height: float, ground: Ground | None) -> NDArray:
    """Return the ground's height at each position, from the contacts that are proven to stand on it."""
    if ground is not None:
        return ground.height(places[:, ::2])
    sure = proven
    if not sure.any():
        pool = feet if feet.any() else np.ones(len(places), bool)
        lowest = weighted_quantile(places[pool, 1], durations[pool].astype(float), 0.05)
        sure = pool & (places[:, 1] < lowest + SUPPORT.near_ground * height)
    away = np.hypot(places[:, None, 0] - places[None, sure, 0], places[:, None, 2] - places[None, sure, 2])
    known = places[sure, 1]
    near = away < SUPPORT.local * height
    lowest_near = np.where(near, known, np.inf).min(axis=1)
    return np.where(near.any(axis=1), lowest_near, known[away.argmin(axis=1)])


def _lifted(places, points, start, end, foot, elevation, height: float, accepted) -> NDArray:
    """Return which points are off the ground and still only because another part of their foot is planted lower."""
    lifted = np.zeros(len(places), bool)
    suspects = np.flatnonzero(accepted & (elevation > SUPPORT.lift * height))
    if len(suspects) == 0:
        return lifted
    weights = (end - start).astype(float)
    ground = estimate_ground(places[accepted], weights[accepted], height)
    # on a slope one end of a planted foot is higher than the other; on uneven ground this is not known
    over = places[:, 1] - (ground.height(places[:, ::2]) if isinstance(ground, Plane) else 0.0)
    # a point that is always higher than the others is not lifted: the skeleton has its sole there
    level = weighted_quantile(over[accepted], weights[accepted], 0.2)
    for point in np.unique(points[suspects]):
        own = accepted & (points == point)
        excess = weighted_quantile(over[own], weights[own], 0.2) - level
        over[points == point] -= np.clip(excess, 0.0, SUPPORT.point_bias * height)
    for i in suspects:
        overlap = np.minimum(end, end[i]) - np.maximum(start, start[i])
        same_foot = (foot == foot[i]) & accepted & (overlap > 0.5 * (end[i] - start[i]))
        same_foot[i] = False
        lifted[i] = bool((same_foot & (over < over[i] - SUPPORT.near_ground * height)).any())
    return lifted
