"""Steps on uneven ground: where each of them stands, and how the foot is tilted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground, normal_of
from footplant.feet.soles import SOLE
from footplant.feet.steps import Places, Step
from footplant.geometry import Plane
from footplant.skeleton import Character

UNEVEN = 0.012
"""Body heights; ground that differs by more than this from a plane under a foot is an edge (2 cm for an adult)."""
STEEPEST = 1.0
"""Rise over run beyond which no foot stands."""
FARTHEST = 0.25
"""Body heights; how far a step is moved at most to find a place where the whole foot stands."""


@dataclass(frozen=True, eq=False)
class Footing:
    """One step on uneven ground."""

    heel: NDArray | None
    """(3,) metres; where the heel stands, or None when it does not."""
    ball: NDArray | None
    """(3,) metres; where the ball stands, or None."""
    level: NDArray
    """(3,) metres; the middle of what stands, on the level ground that it comes from."""
    middle: NDArray
    """(3,) metres; the same on the uneven ground."""
    tilt: NDArray
    """(4,) world rotation that takes the foot from the level onto the slope."""
    moved: float
    """Metres by which the step was moved over the floor to find an even place."""
    rests: str
    """What of the foot the ground carries: "foot", only the "front" or "rear", or an "edge" across it."""


def find_footing(step: Step, places: Places, target: Character, level: Ground, ground: Ground) -> Footing:
    """Where a step on the level stands on uneven ground: straight above or below, or beside it if there is an edge.

    Heel and ball are put on the surface as far apart as they are on the foot, and what stood higher than the level
    stands as much higher. The foot lies on the surface: its line between heel and ball, its roll by the normal there.
    """
    known = [place for place in places if place is not None]
    middle = np.mean(known, axis=0)
    line = known[-1] - known[0]
    above = float(middle[1] - level.height(middle[None, ::2])[0])
    shift, rests, bearing = _bearing(step, places, target, ground)
    heel, ball = (None if place is None else _stand(place + shift, bearing, above) for place in places)
    base = normal_of(level, middle[None, ::2])[0]
    normal = normal_of(bearing, (middle + shift)[None, ::2])[0]
    if heel is not None and ball is not None:
        heel, ball = _stretch(middle + shift, line, bearing, above)
        tilt = _turn(line, base, ball - heel, normal)
    else:
        tilt = rotation.between(base, normal)
    now = np.mean([place for place in (heel, ball) if place is not None], axis=0)
    return Footing(heel, ball, middle, now, tilt, float(np.linalg.norm(shift)), rests)


def _stand(place: NDArray, ground: Ground, above: float) -> NDArray:
    """A place straight on the ground, or as far over it as asked."""
    return np.array([place[0], float(ground.height(place[None, ::2])[0]) + above, place[2]])


def _stretch(middle: NDArray, line: NDArray, ground: Ground, above: float) -> tuple[NDArray, NDArray]:
    """Heel and ball on the ground either side of a place, exactly as far apart as the line between them is long."""
    length = float(np.linalg.norm(line))
    flat = line * [1.0, 0.0, 1.0]
    along = flat / max(float(np.linalg.norm(flat)), 1e-9)
    short, long = 0.0, 0.5 * length
    heel = ball = middle
    for _ in range(40):
        half = 0.5 * (short + long)
        heel, ball = (_stand(middle + sign * half * along, ground, above) for sign in (-1.0, 1.0))
        if np.linalg.norm(ball - heel) < length:
            short = half
        else:
            long = half
    return heel, ball


def _turn(line: NDArray, up: NDArray, new_line: NDArray, new_up: NDArray) -> NDArray:
    """The rotation (4,) from one line with its upward side to another."""
    frames = []
    for along, over in ((line, up), (new_line, new_up)):
        z = along / np.linalg.norm(along)
        x = np.cross(over, z)
        x = x / np.linalg.norm(x)
        frames.append(np.stack([x, np.cross(z, x), z], axis=1))
    return rotation.from_matrix(frames[1] @ frames[0].T)


_FOOT = np.linspace(-0.4, 1.4, 37)
"""Places along a foot, 0 the heel and 1 the tip of the toes, with some way behind and before it."""
_BEARINGS = (
    ("foot", (0.0, 1.0), (-0.4, 1.3)),
    ("foot", (0.0, 1.0), (-0.15, 1.1)),
    ("foot", (0.0, 1.0), (0.0, 1.0)),
    ("front", (0.35, 1.0), (-0.1, 1.1)),
    ("rear", (0.0, 0.65), (-0.1, 1.1)),
)
"""What is tried, best first: which part of the foot the ground carries, and along which part nothing may be higher: a
foot that stands at a riser could not leave it, or get there from above."""


def _bearing(step: Step, places: Places, target: Character, ground: Ground) -> tuple[NDArray, str, Ground]:
    """(3,) the least shift over the floor to where a foot finds hold, what of it does, and the ground that it feels.

    A foot that is carried in part lies as if the ground there went on.
    """
    heel, ball = places
    first = heel if heel is not None else ball
    assert first is not None
    line = np.zeros(3) if heel is None or ball is None else ball - heel
    length = float(np.linalg.norm(line))
    line = line / length * _sole_length(target, step.side) if length > 0 else line
    along = line * [1.0, 0.0, 1.0] / max(float(np.linalg.norm(line[::2])), 1e-9) if length > 0 else rotation.AXES["z"]
    across = np.array([along[2], 0.0, -along[0]])
    ways = [np.zeros(3)]
    for distance in np.arange(0.01, FARTHEST * target.height, 0.01):
        ways += [distance * along, -distance * along]
        # sideways costs balance
        if distance < 0.4 * FARTHEST * target.height:
            ways += [distance * across, -distance * across]
    samples = first + _FOOT[:, None] * line
    heights = ground.height((samples[None] + np.array(ways)[:, None])[..., ::2])
    for rests, carried, clear in _BEARINGS:
        inside, under = ((part[0] - 1e-9 < _FOOT) & (part[1] + 1e-9 > _FOOT) for part in (carried, clear))
        fine = np.flatnonzero(_holds(samples, heights, inside, under, UNEVEN * target.height))
        if len(fine):
            shift = ways[fine[0]]
            if rests == "foot":
                return shift, rests, ground
            return shift, rests, _tangent(samples[inside].mean(axis=0) + shift, ground)
    # nowhere near: level, on the highest of what is under it
    inside = (_FOOT >= 0) & (_FOOT <= 1)
    x, z = samples[inside].mean(axis=0)[::2]
    return np.zeros(3), "edge", Plane((float(x), float(heights[0, inside].max()), float(z)))


def _tangent(place: NDArray, ground: Ground) -> Plane:
    """The plane that touches a ground at a place."""
    x, y, z = (float(value) for value in _stand(place, ground, 0.0))
    nx, ny, nz = (float(value) for value in normal_of(ground, place[None, ::2])[0])
    return Plane((x, y, z), (nx, ny, nz))


def _holds(samples: NDArray, heights: NDArray, inside: NDArray, under: NDArray, tolerance: float) -> NDArray:
    """(W,) whether heights (W, N) along a foot are a straight line inside it, and nowhere higher than that under it."""
    along = np.linalg.norm((samples - samples[0])[:, ::2], axis=1)
    centered = along - along[inside].mean()
    spread = float(centered[inside] @ centered[inside])
    rest = heights - heights[:, inside].mean(axis=1, keepdims=True)
    slopes = rest[:, inside] @ centered[inside] / spread if spread > 1e-12 else np.zeros(len(heights))
    rest = rest - slopes[:, None] * centered
    even = np.abs(rest[:, inside]).max(axis=1) < tolerance
    return even & (rest[:, under].max(axis=1) < tolerance) & (np.abs(slopes) < STEEPEST)


def _sole_length(character: Character, side: str) -> float:
    """Metres from the heel to the tip of the toes at rest."""
    places, turned = character.skeleton.rest_world
    heel, *rest = (
        places[point.joint] + rotation.rotate(turned[point.joint], np.array(point.offset))
        for point in (character.contacts.get(f"{side}_{part}") for part in SOLE)
        if point is not None
    )
    return float(max((np.linalg.norm(other - heel) for other in rest), default=0.0))
