"""The ground as the feet tell it: which still points stand on something, and how high that something is.

A foot that is still may be held in the air (a kick's chamber, legs that hang from a stool). What betrays a real support
is that the body moves while the foot does not: a free foot is carried along. Plants with that proof lay out the ground,
level or not; points without it count only when they are at the ground's height there, or when the body's weight rests
above them with nothing lower under it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.contacts.stillness import Stay
from footplant.errors import MotionError
from footplant.geometry import HeightField, Plane

PROOF = 0.1
"""Body heights; how far the body moves over a foot at rest for that to prove a support."""
GRIP = 0.05
"""Body heights; the same for a hand, which is seldom still in the world by accident while the body moves."""
NEAR = 0.03
"""Body heights; how far from the ground a point may rest and still stand on it (5 cm for an adult)."""
BIAS = 0.045
"""Body heights; how far above the sole's true level a contact point may be taken by a skeleton that fits badly."""
LOCAL = 0.4
"""Body heights; how far plants speak for the ground around them (less than a step)."""

CELL = 0.012
"""Body heights; how finely the way of the soles over a guessed ground is drawn (2 cm for an adult)."""
PASS = 0.05
"""Body heights; how far around a sole that passed below a guessed ground it is as low."""
PIT = 1.0
"""Rise over run of the guessed ground beyond that."""
MOST_CELLS = 4_000_000
"""Cells of such a drawing at most: 32 MB."""


class Ground(Protocol):
    """Anything that knows its height over a place: a plane, a height field, stepping stones."""

    def height(self, places: ArrayLike) -> NDArray:
        """Height (…) in metres over places (…, 2), x and z in metres."""
        ...


@dataclass(frozen=True, eq=False)
class SteppingStones:
    """An uneven ground, known only where it was stepped on: a smooth mean of the nearest plants' heights."""

    places: NDArray
    """(N, 3) metres; where plants rested."""
    reach: float
    """Metres; within this distance plants share the say."""

    def height(self, places: ArrayLike) -> NDArray:
        """Height (…) in metres over places (…, 2)."""
        from footplant.contacts import _stepping_stones as kernel

        places = np.asarray(places, float)
        flat = np.array(places.reshape(-1, 2))
        out = np.empty(len(flat))
        kernel.heights(np.array(self.places, float), float(self.reach), flat, out)
        return out.reshape(places.shape[:-1])

    def normal(self, places: ArrayLike) -> NDArray:
        """The unit normal (…, 3) over places (…, 2)."""
        return normal_of(self, places)


@dataclass(frozen=True, eq=False)
class Trodden:
    """A guessed ground that is nowhere higher than soles have passed."""

    guess: Ground
    """The ground between plants, as far as they tell it."""
    ceiling: HeightField
    """What the ground is no higher than."""

    def height(self, places: ArrayLike) -> NDArray:
        """Height (…) in metres over places (…, 2)."""
        return np.minimum(self.guess.height(places), self.ceiling.height(places))

    def normal(self, places: ArrayLike) -> NDArray:
        """The unit normal (…, 3) over places (…, 2): straight up, as what steps and stones carry."""
        return np.broadcast_to((0.0, 1.0, 0.0), (*np.shape(places)[:-1], 3))


def trodden(guess: Ground, soles: ArrayLike, height: float) -> Ground:
    """A ground that is known by its plants alone, lowered to where soles (…, 3) passed below it.

    It is as low around them within `PASS`, and then goes up again by `PIT`. `height` is the body's, metres.
    """
    from scipy.ndimage import minimum_filter

    soles = np.asarray(soles, float).reshape(-1, 3)
    level = guess.height(soles[:, ::2])
    below = soles[soles[:, 1] < level]
    if not len(below):
        return guess
    spacing, top = CELL * height, float(level.max())
    wide = round(PASS / CELL)
    margin = int(np.ceil((top - below[:, 1].min()) / (PIT * spacing))) + wide + 2
    first = np.floor(below[:, ::2] / spacing).astype(np.int64)
    low = first.min(axis=0) - margin
    size = first.max(axis=0) - low + margin + 2
    if int(size.prod()) > MOST_CELLS:
        return guess
    ceiling = np.full(tuple(size.tolist()), top)
    # on all four corners of its cell, so that what lies between them is no higher than the sole
    for i in (0, 1):
        for k in (0, 1):
            np.minimum.at(ceiling, tuple((first - low + [i, k]).T), below[:, 1])
    around = np.hypot(*np.mgrid[-wide : wide + 1, -wide : wide + 1]) <= wide
    ceiling = minimum_filter(ceiling, footprint=around, mode="nearest")
    rise = PIT * spacing
    for _ in range(margin - wide):
        wider = np.pad(ceiling, 1, constant_values=top)
        straight = np.minimum.reduce([wider[:-2, 1:-1], wider[2:, 1:-1], wider[1:-1, :-2], wider[1:-1, 2:]])
        across = np.minimum.reduce([wider[:-2, :-2], wider[2:, :-2], wider[:-2, 2:], wider[2:, 2:]])
        ceiling = np.minimum(ceiling, np.minimum(straight + rise, across + np.sqrt(2.0) * rise))
    x, z = (float(value) for value in low * spacing)
    return Trodden(guess, HeightField(ceiling, spacing, (x, z), "linear"))


def normal_of(ground: Ground, places: ArrayLike) -> NDArray:
    """Unit normals (…, 3) over places (…, 2) of any ground, from its heights a centimetre around."""
    own = getattr(ground, "normal", None)
    if own is not None and not isinstance(ground, SteppingStones):
        return own(places)
    places, step = np.asarray(places, float), 0.01
    slopes = [
        (ground.height(places + shift) - ground.height(places - shift)) / (2 * step) for shift in step * np.eye(2)
    ]
    normal = np.stack([-slopes[0], np.ones_like(slopes[0]), -slopes[1]], axis=-1)
    return normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def as_ground(ground: Ground | float) -> Ground:
    """A ground from what callers give: a level in metres, or anything with `height(places)`."""
    if isinstance(ground, int | float | np.number):
        return Plane((0.0, float(ground), 0.0))
    if not hasattr(ground, "height"):
        raise MotionError(f"expected a ground level in metres or an object with height(places), got {ground!r}")
    return ground


def estimate_ground(places: ArrayLike, weights: ArrayLike, height: float) -> Ground:
    """The ground under plants (N, 3): a level floor, a slope, or stepping stones where neither fits.

    `weights` (N,) say how long each plant lasted; `height` is the body's, metres.
    """
    places, weights = np.asarray(places, float).reshape(-1, 3), np.asarray(weights, float).reshape(-1)
    if len(places) == 0:
        return Plane()
    level = weighted_median(places[:, 1], weights)
    rest = np.abs(places[:, 1] - level)
    tolerance = 0.02 * height
    if weighted_median(rest, weights) < 0.5 * tolerance and weighted_quantile(rest, weights, 0.9) < tolerance:
        return Plane((0.0, float(level), 0.0))
    slope = _slope(places, weights, height)
    if (
        slope is not None
        and weighted_quantile(np.abs(places[:, 1] - slope.height(places[:, ::2])), weights, 0.9) < tolerance
    ):
        return slope
    if weighted_quantile(rest, weights, 0.75) < tolerance:
        return Plane((0.0, float(level), 0.0))
    return SteppingStones(places, 0.05 * height)


def _slope(places: NDArray, weights: NDArray, height: float) -> Plane | None:
    """Robust plane through plants that are spread widely enough to tell one."""
    if len(places) < 4:
        return None
    center = np.average(places, axis=0, weights=weights)
    away = places - center
    spread = np.linalg.eigvalsh(np.cov(away[:, ::2].T, aweights=np.maximum(weights, 1e-9)))
    design = np.column_stack([np.ones(len(away)), away[:, ::2]])
    if np.sqrt(max(spread[1], 0.0)) < 0.3 * height:
        return None
    ridge = (
        1e-3 * height**2 * np.diag([0.0, 1.0, 1.0]) * weights.sum()
    )  # a straight walk says nothing of the cross slope
    robust = weights.copy()
    answer = np.zeros(3)
    for _ in range(10):
        answer = np.linalg.solve(design.T @ (robust[:, None] * design) + ridge, design.T @ (robust * away[:, 1]))
        rest = np.abs(away[:, 1] - design @ answer)
        robust = weights / np.maximum(rest, 0.003 * height)
    return Plane(
        (float(center[0]), float(center[1] + answer[0]), float(center[2])), (float(-answer[1]), 1.0, float(-answer[2]))
    )


def weighted_quantile(values: NDArray, weights: NDArray, share: float) -> float:
    """The value below which that share of the weight lies."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][min(np.searchsorted(total, share * total[-1]), len(values) - 1)])


def weighted_median(values: NDArray, weights: NDArray) -> float:
    """The value with half of the weight on either side."""
    return weighted_quantile(values, weights, 0.5)


def supported(
    stays: Sequence[Stay],
    foot_of: Sequence[int],
    body: NDArray | None,
    height: float,
    fps: float,
    ground: Ground | None,
) -> list[bool]:
    """Which stays rest on something.

    `foot_of` gives the foot (or hand, negative) of each point; `body` (F, 3) is the centre of mass or the pelvis.
    Balance over a foot counts only when it lasts: at the top of a jump the feet are still under the body, too.
    """
    if not stays:
        return []
    places = np.array([stay.place for stay in stays])
    table = np.array([(stay.point, stay.start, stay.end) for stay in stays])
    points, start, end = table.T
    foot = np.array(foot_of)[points]
    travel = np.zeros(len(stays))
    if body is not None:
        from footplant.contacts._rests import find_travels

        find_travels(np.array(body, float), table, travel)
    feet = foot >= 0
    proven = travel > np.where(feet, PROOF, GRIP) * height
    calm = 0.3 * fps
    elevation = places[:, 1] - _floor_under(places, end - start, proven & feet, feet, height, ground)
    # what is still for a moment only, and higher than a plant would be, is turning round in the air
    near = elevation < NEAR * height * np.clip((end - start) / (0.25 * fps), 0.3, 1.0)
    accepted = near | proven
    for i in np.flatnonzero(~accepted & feet):
        if body is not None and end[i] - start[i] >= calm:
            weight = np.median(body[start[i] : end[i]], axis=0)
            overlap = np.minimum(end, end[i]) - np.maximum(start, start[i])
            beneath = feet & (overlap > 0) & (foot != foot[i]) & (places[:, 1] < places[i, 1] - NEAR * height)
            over = np.hypot(*(weight - places[i])[::2]) < 0.12 * height
            accepted[i] = over and not beneath.any()
    lifted = _lifted(places, points, start, end, foot, elevation, height, accepted & feet)
    return (accepted & ~lifted).tolist()


def _floor_under(places, durations, proven, feet, height: float, ground: Ground | None) -> NDArray:
    """The ground's height at each place, from the plants that surely stand on it."""
    if ground is not None:
        return ground.height(places[:, ::2])
    sure = proven
    if not sure.any():
        pool = feet if feet.any() else np.ones(len(places), bool)
        lowest = weighted_quantile(places[pool, 1], durations[pool].astype(float), 0.05)
        sure = pool & (places[:, 1] < lowest + NEAR * height)
    away = np.hypot(places[:, None, 0] - places[None, sure, 0], places[:, None, 2] - places[None, sure, 2])
    known = places[sure, 1]
    near = away < LOCAL * height
    lowest_near = np.where(near, known, np.inf).min(axis=1)
    return np.where(near.any(axis=1), lowest_near, known[away.argmin(axis=1)])


def _lifted(places, points, start, end, foot, elevation, height: float, accepted) -> NDArray:
    """A heel (or toe) that is still only because the rest of its foot stands: higher than that rest, off the ground."""
    lifted = np.zeros(len(places), bool)
    suspects = np.flatnonzero(accepted & (elevation > 0.02 * height))
    if len(suspects) == 0:
        return lifted
    weights = (end - start).astype(float)
    ground = estimate_ground(places[accepted], weights[accepted], height)
    # on a slope one end of a standing foot is higher than the other; on uneven ground nobody knows
    over = places[:, 1] - (ground.height(places[:, ::2]) if isinstance(ground, Plane) else 0.0)
    # a point that is always higher than the others is no lifted one: the skeleton has its sole there
    level = weighted_quantile(over[accepted], weights[accepted], 0.2)
    for point in np.unique(points[suspects]):
        own = accepted & (points == point)
        over[points == point] -= np.clip(weighted_quantile(over[own], weights[own], 0.2) - level, 0.0, BIAS * height)
    for i in suspects:
        overlap = np.minimum(end, end[i]) - np.maximum(start, start[i])
        fellows = (foot == foot[i]) & accepted & (overlap > 0.5 * (end[i] - start[i]))
        fellows[i] = False
        lifted[i] = bool((fellows & (over < over[i] - NEAR * height)).any())
    return lifted
