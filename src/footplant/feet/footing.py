"""Footing: where a step on level ground is planted on uneven ground, and how the foot is tilted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground, normal_of
from footplant.feet.soles import SOLE
from footplant.feet.steps import Places, Step, foot_length
from footplant.geometry import Plane
from footplant.skeleton import Character


@dataclass(frozen=True)
class FootingSettings:
    """Tuning numbers of footing. Where a field names no experiment, none is on record."""

    unevenness: float = 0.012
    """Body heights; ground that deviates by more from a straight line under a foot has an edge there (2 cm for an
    adult). Doubled, feet are planted across low steps; halved, rough ground counts as edges."""
    steepest: float = 1.0
    """Rise over run; steeper ground supports no foot."""
    farthest: float = 0.25
    """Body heights; largest distance by which a step is moved to find support."""
    sideways: float = 0.4
    """Fraction of `farthest` allowed sideways: it costs balance."""
    spacing: float = 0.01
    """Metres between the distances that are tried."""
    behind_nose: float = 0.05
    """Sole lengths by which a ball is behind the nose of a tread that its toes overhang. With balls over the nose, by
    up to 2 % of a sole, fewer ankles break their limits (105 instead of 133 breaks), but feet stand on air."""
    overhang: float = 0.3
    """Sole lengths that overhang at most, of a foot whose toes begin farther back."""


FOOTING_SETTINGS = FootingSettings()


@dataclass(frozen=True, eq=False)
class Footing:
    """The footing of one step on uneven ground."""

    heel: NDArray | None
    """(3,) metres; where the heel is planted; None if it is not in contact."""
    ball: NDArray | None
    """(3,) metres; where the ball is planted; None if it is not in contact."""
    level: NDArray
    """(3,) metres; midpoint of the contacts on the level ground."""
    middle: NDArray
    """(3,) metres; midpoint of the contacts on the uneven ground."""
    tilt: NDArray
    """(4,) world rotation of the foot from the level ground to the slope."""
    moved: float
    """Metres by which the step was moved horizontally to find support."""
    support: str
    """What the ground supports: the whole "foot", only its "front" or "rear", or an "edge" across it."""
    raised: float = 0.0
    """Metres of the contacts above the ground: of a foot on its toes, or on a box."""

    def on_ground(self) -> NDArray:
        """Return the place (3,) on the uneven ground below `middle`."""
        return self.middle - self.raised * rotation.AXES["y"]


def find_footing(
    step: Step, places: Places, target: Character, level: Ground, ground: Ground, farthest: float | None = None,
    ahead: NDArray | None = None,
) -> Footing:  # fmt: skip
    """Return the footing of a step on uneven ground: vertically above or below it, or beside it if there is an edge.

    Heel and ball are put on the surface at the distance that they have on the foot. A height above the level ground is
    kept. The foot is aligned with the surface: pitch and yaw by the line from heel to ball, roll by the normal.
    farthest: metres by which the step may be moved; None: as in `FootingSettings`. ahead: (2,) direction (x, z) of a
    foot of which only one end is in contact, so that the ground is to support all of it; None: only that end.
    """
    farthest = FOOTING_SETTINGS.farthest * target.height if farthest is None else farthest
    planted = [place for place in places if place is not None]
    middle = np.mean(planted, axis=0)
    line = planted[-1] - planted[0]
    above = float(middle[1] - level.height(middle[None, ::2])[0])
    shift, support, surface = _find_support(sole_samples(step, places, target, ahead), target, ground, farthest)
    heel, ball = (None if place is None else _on_ground(place + shift, surface, above) for place in places)
    base = normal_of(level, middle[None, ::2])[0]
    normal = normal_of(surface, (middle + shift)[None, ::2])[0]
    if heel is not None and ball is not None:
        heel, ball = _span(middle + shift, line, surface, above)
        tilt = _rotation_between(line, base, ball - heel, normal)
    else:
        tilt = rotation.between(base, normal)
    now = np.mean([place for place in (heel, ball) if place is not None], axis=0)
    return Footing(heel, ball, middle, now, tilt, float(np.linalg.norm(shift)), support, above)


def _on_ground(place: NDArray, ground: Ground, above: float) -> NDArray:
    """Return the place (3,) moved vertically to `above` metres over the ground."""
    return np.array([place[0], float(ground.height(place[None, ::2])[0]) + above, place[2]])


def _span(middle: NDArray, line: NDArray, ground: Ground, above: float) -> tuple[NDArray, NDArray]:
    """Return heel and ball on the ground on either side of a place, as far apart as `line` is long (by bisection)."""
    length = float(np.linalg.norm(line))
    flat = line * [1.0, 0.0, 1.0]
    along = flat / max(float(np.linalg.norm(flat)), 1e-9)
    short, long = 0.0, 0.5 * length
    heel = ball = middle
    for _ in range(40):
        half = 0.5 * (short + long)
        heel, ball = (_on_ground(middle + sign * half * along, ground, above) for sign in (-1.0, 1.0))
        if np.linalg.norm(ball - heel) < length:
            short = half
        else:
            long = half
    return heel, ball


def _rotation_between(line: NDArray, up: NDArray, new_line: NDArray, new_up: NDArray) -> NDArray:
    """Return the rotation (4,) from one direction and up vector to another; directions are met exactly."""
    frames = []
    for along, over in ((line, up), (new_line, new_up)):
        z = along / np.linalg.norm(along)
        x = np.cross(over, z)
        x = x / np.linalg.norm(x)
        frames.append(np.stack([x, np.cross(z, x), z], axis=1))
    return rotation.from_matrix(frames[1] @ frames[0].T)


SAMPLES = np.linspace(-0.4, 1.4, 37)
"""Sample positions along a foot: 0 is the heel, 1 the tip of the toes; the rest is behind and in front of it."""
WHOLE = (SAMPLES >= 0.0) & (SAMPLES <= 1.0)
"""(S,) bool; samples of the foot itself."""
BALL = math.nan
"""In `_SUPPORTS`, as far as `share_on_tread` of a character."""
_SUPPORTS = (
    ("foot", (0.0, 1.0), (-0.4, 1.3)),
    ("foot", (0.0, 1.0), (-0.15, 1.1)),
    ("foot", (0.0, 1.0), (-0.1, 1.1)),
    ("foot", (0.0, 0.85), (-0.1, 1.1)),
    ("foot", (0.0, 1.0), (-0.05, 1.05)),
    ("foot", (0.0, 0.85), (-0.05, 1.05)),
    ("foot", (0.0, 1.0), (0.0, 1.0)),
    ("front", (0.35, 1.0), (-0.1, 1.1)),
    ("foot", (0.0, BALL), (-0.1, 1.1)),
    ("rear", (0.0, 0.65), (-0.1, 1.1)),
)
"""What is tried, best first: name, the part of the foot that the ground must support, and the part along which nothing
may be higher. A foot next to a riser could not swing away from it, or come down beside it: on the way down the tips of
long feet overhang rather than that their heels touch the riser behind them. With heels there, a walk down treads as
long as its feet jerked 3.6 instead of 1.2 times as much as its source. Feet that overhang have 10 or 5 % of their
length behind them. With 10 % alone, room on such treads is less than the 2 cm between planned places: of three walks
down stairs of 22 by 26 cm that begin at six places, one stood at a riser (173 breaks of joint limits, 2.7 times the
jerk), and three did not take every tread; with both, none."""


def _find_support(samples: NDArray, target: Character, ground: Ground, farthest: float) -> tuple[NDArray, str, Ground]:
    """Return the smallest horizontal shift (3,) that finds support, what is supported, and the surface to plant it on.

    samples: (S, 3) along the sole. A partly supported foot is planted on the tangent plane of the supported part,
    not over the edge beside it: the last step of a walk down stairs of 22 cm, its toes overhanging, had its ball on the
    tread below.
    """
    settings = FOOTING_SETTINGS
    along = (samples[-1] - samples[0]) * [1.0, 0.0, 1.0]
    length = float(np.linalg.norm(along))
    along = along / length if length > 1e-9 else rotation.AXES["z"]
    across = np.array([along[2], 0.0, -along[0]])
    shifts = [np.zeros(3)]
    for distance in np.arange(settings.spacing, farthest, settings.spacing):
        shifts += [distance * along, -distance * along]
        if distance < settings.sideways * farthest:
            shifts += [distance * across, -distance * across]
    heights = ground.height((samples[None] + np.array(shifts)[:, None])[..., ::2])
    for support, inside, possible in support_of(heights, samples[:, ::2], target):
        found = np.flatnonzero(possible)
        if len(found):
            shift = shifts[found[0]]
            if inside[WHOLE].all():
                return shift, support, ground
            return shift, support, _tangent(samples[inside].mean(axis=0) + shift, ground)
    # no support nearby: level, at the height of the highest ground under the foot
    x, z = samples[WHOLE].mean(axis=0)[::2]
    return np.zeros(3), "edge", Plane((float(x), float(heights[0, WHOLE].max()), float(z)))


def sole_samples(step: Step, places: Places, target: Character, ahead: NDArray | None = None) -> NDArray:
    """Return places (S, 3) at `SAMPLES` along the sole of a step whose heel and ball are at given places, metres.

    Of a foot with one end in contact, all are there; with a direction `ahead` (2,), (x, z), the foot lies along it.
    """
    heel, ball = places
    first = heel if heel is not None else ball
    assert first is not None
    line = np.zeros(3) if heel is None or ball is None else ball - heel
    length = float(np.linalg.norm(line))
    sole = sole_length(target, step.side)
    if length > 0.0:
        line = line / length * sole
    elif ahead is not None:
        line = sole * np.array([ahead[0], 0.0, ahead[1]])
        first = first if heel is not None else first - foot_length(target, step.side) / sole * line
    return first + SAMPLES[:, None] * line


def support_of(heights: NDArray, samples: NDArray, target: Character) -> Iterator[tuple[str, NDArray, NDArray]]:
    """Yield what ground may support of a foot, best first: its name, the samples inside it, and where it does (W,).

    heights: (W, S) of the ground along a foot's samples (S, 2), metres. A place counts for the best that it offers.
    """
    found, _ = first_support(heights[None], samples, target)
    for number, (support, inside, _) in enumerate(kinds_of_support(target)):
        yield support, inside, found == number


def first_support(heights: NDArray, samples: NDArray, target: Character) -> tuple[NDArray, NDArray]:
    """Return which of `kinds_of_support` each place offers first (W,), −1 for none, and the height of its ground (W,).

    heights: (R, W, S) of the ground along R lines of a foot's samples (S, 2), metres: its middle, and others beside it,
    which all must be supported. They must lie on a line over the samples inside a kind, and not above that line over
    those that are to be clear.
    """
    from footplant.feet._footing import support_kinds

    _, inside, under = zip(*kinds_of_support(target))
    kinds, level = np.empty(heights.shape[1], np.int64), np.empty(heights.shape[1])
    along = np.linalg.norm(samples - samples[0], axis=1)
    limits = (FOOTING_SETTINGS.unevenness * target.height, FOOTING_SETTINGS.steepest)
    support_kinds(np.array(heights, float, order="C"), along, np.array(inside), np.array(under), limits, kinds, level)
    return kinds, level


def kinds_of_support(target: Character) -> Iterator[tuple[str, NDArray, NDArray]]:
    """Yield what may be supported of a foot, best first: its name, and two masks of the samples (S,).

    They are those that the ground must support, and those over which nothing may be higher.
    """
    share = share_on_tread(target)
    for support, (first, last), clear in _SUPPORTS:
        supported = first, share if math.isnan(last) else last
        inside, under = ((part[0] - 1e-9 < SAMPLES) & (part[1] + 1e-9 > SAMPLES) for part in (supported, clear))
        yield support, inside, under


@lru_cache(maxsize=16)
def share_on_tread(character: Character) -> float:
    """Return which share of a character's sole is on a tread, from its heel on, where its toes overhang the nose."""
    shares = [foot_length(character, side) / max(sole_length(character, side), 1e-9) for side in ("left", "right")]
    return min(max(max(shares) + FOOTING_SETTINGS.behind_nose, 1.0 - FOOTING_SETTINGS.overhang), 1.0)


def _tangent(place: NDArray, ground: Ground) -> Plane:
    """Return the tangent plane of a ground at a place (3,)."""
    x, y, z = (float(value) for value in _on_ground(place, ground, 0.0))
    nx, ny, nz = (float(value) for value in normal_of(ground, place[None, ::2])[0])
    return Plane((x, y, z), (nx, ny, nz))


def sole_length(character: Character, side: str) -> float:
    """Return the distance from the heel to the tip of the toes in the rest pose, metres."""
    places, turned = character.skeleton.rest_world
    heel, *rest = (
        places[point.joint] + rotation.rotate(turned[point.joint], np.array(point.offset))
        for point in (character.contacts.get(f"{side}_{part}") for part in SOLE)
        if point is not None
    )
    return float(max((np.linalg.norm(other - heel) for other in rest), default=0.0))
