"""Steer a motion over the floor: bend its path, so that it follows a curve or reaches a target.

The path of the hips is bent by κ radians per metre travelled, in addition to its own bends: at arc length s, frame and
footsteps are turned by φ(s) = φ₀ + ∫ κ ds and moved onto the bent path, p′(s) = p′₀ + ∫ R(φ) dp. That is the path
editing of Gleicher, "Motion path editing" (I3D 2001), with the curve as an unknown: |κ| is bounded, and by less the
faster the motion travels. `steered` chooses κ step by step (pure pursuit: the arc through a point ahead), which is fast
enough to be tried on every clip in a search; `bent` fits κ to the whole path by least squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from footplant.blending.compose import rotate_on_floor
from footplant.blending.settings import STEER, WALK
from footplant.curves import Curve


@dataclass(frozen=True, eq=False)
class FloorPath:
    """A path on the floor, sampled at regular times, and by how much it may be bent."""

    places: NDArray
    """(S, 2) metres."""
    headings: NDArray
    """(S,) radians, unwrapped; direction of travel."""
    steps: NDArray
    """(S − 1,) metres travelled from each sample to the next."""
    bounds: NDArray
    """(S − 1,) radians per metre by which it may be bent there."""
    moves: NDArray
    """(S − 1, 2) metres from each sample to the next."""

    @classmethod
    def of(cls, places: NDArray, rate: float, turn: float = STEER.turn) -> FloorPath:
        """Return a path of places (S, 2) at `rate` samples per second. turn: radians per metre, the largest bend."""
        moves = np.diff(places, axis=0)
        steps = np.linalg.norm(moves, axis=1)
        speed = steps * rate
        bounds = np.minimum(turn, STEER.sideways / np.maximum(speed, 1e-6) ** 2)
        return cls(places, _directions(places, rate), steps, bounds, moves)


def _directions(places: NDArray, rate: float) -> NDArray:
    """Return directions of travel (S,), radians, unwrapped; where a path stands, that of the last place it moved."""
    if len(places) < 2:
        return np.zeros(len(places))
    velocity = np.gradient(places, axis=0) * rate
    moving = np.flatnonzero(np.linalg.norm(velocity, axis=1) > STEER.still)
    if not len(moving):
        return np.zeros(len(places))
    angles = np.unwrap(np.arctan2(velocity[moving, 0], velocity[moving, 1]))
    last = np.clip(np.searchsorted(moving, np.arange(len(places)), side="right") - 1, 0, None)
    return angles[last]


@dataclass(frozen=True)
class Steered:
    """A path as it was steered, by sample: it ends at the path's end, or where the goal is met."""

    places: NDArray
    """(S, 2) metres."""
    turns: NDArray
    """(S,) radians by which the path is turned."""
    known: NDArray
    """(S,) how far it has come, as its goal knows it."""
    away: NDArray
    """(S,) metres² from the goal."""
    strain: NDArray
    """(S,) radians² per metre: ∫ κ² ds."""
    met: bool
    """Whether the goal is met at the last sample."""


@dataclass(frozen=True, eq=False)
class Follow:
    """Follow a curve to its end. What is known is the arc length of the curve's point beside the path."""

    curve: Curve
    _points: list[tuple[float, float]] = field(init=False, repr=False)
    _length: float = field(init=False)

    def __post_init__(self) -> None:
        ahead = self.curve.length + STEER.ahead + WALK.fine
        places = self.curve.at(np.arange(0.0, ahead, WALK.fine))[0]
        object.__setattr__(self, "_points", [tuple(place) for place in places.tolist()])
        object.__setattr__(self, "_length", self.curve.length)

    def see(self, x: float, z: float, known: float) -> tuple[float, float, bool]:
        """Return what is known at a place, metres² from the goal, and whether the goal is met."""
        points, n = self._points, round(known / WALK.fine)
        away = (points[n][0] - x) ** 2 + (points[n][1] - z) ** 2
        while n + 1 < len(points):
            further = (points[n + 1][0] - x) ** 2 + (points[n + 1][1] - z) ** 2
            if further > away:
                break
            n, away = n + 1, further
        return n * WALK.fine, away, n * WALK.fine >= self._length - 0.5 * WALK.fine

    def curvature(self, x: float, z: float, heading: float, known: float, bound: float) -> float:
        """Return the wanted curvature of the path, radians per metre: the arc to a point ahead on the curve."""
        ahead = self._points[min(round((known + STEER.ahead) / WALK.fine), len(self._points) - 1)]
        return _arc(ahead[0] - x, ahead[1] - z, heading)


@dataclass(frozen=True, eq=False)
class Reach:
    """Reach a place on the floor. What is known is the smallest distance so far, metres."""

    place: tuple[float, float]
    within: float

    def see(self, x: float, z: float, known: float) -> tuple[float, float, bool]:
        """Return what is known at a place, metres² from the goal, and whether the goal is met."""
        away = math.hypot(self.place[0] - x, self.place[1] - z)
        # it is met where the path comes nearest, not where it comes near
        return min(known, away), away * away, known <= self.within and away >= known

    def curvature(self, x: float, z: float, heading: float, known: float, bound: float) -> float:
        """Return the wanted curvature of the path: the arc to the target; away from one inside the turning circle."""
        across, along = self.place[0] - x, self.place[1] - z
        if inside_turn(across, along, heading, bound) > 0.0:
            return 0.0
        return _arc(across, along, heading)

    def left(self, places: NDArray, headings: NDArray, bound: float) -> NDArray:
        """Return metres (S,) to go: along an arc of the tightest bend, then straight."""
        found = np.empty(len(places))
        for n, ((x, z), heading) in enumerate(zip(places.tolist(), headings.tolist())):
            across, along = self.place[0] - x, self.place[1] - z
            inside = inside_turn(across, along, heading, bound)
            distance = math.hypot(across, along)
            if inside > 0.0:
                # straight on until the target is on the circle, then round it
                found[n] = distance + 2.0 * math.pi / bound
                continue
            side, forward = _in_heading(across, along, heading)
            side, radius = abs(side), 1.0 / bound
            tangent = math.sqrt(max((side - radius) ** 2 + forward**2 - radius**2, 0.0))
            turned = math.atan2(forward, radius - side) - math.atan2(tangent, radius)
            found[n] = tangent + radius * (turned % (2.0 * math.pi))
        return found


Goal = Follow | Reach


def _in_heading(across: float, along: float, heading: float) -> tuple[float, float]:
    """Return a floor vector (x, z) in the frame of a heading: to the left, and forward."""
    c, s = math.cos(heading), math.sin(heading)
    return across * c - along * s, across * s + along * c


def inside_turn(across: float, along: float, heading: float, bound: float) -> float:
    """Return how far a place is inside the tightest turn to its side, metres; at most 0 outside."""
    side, forward = _in_heading(across, along, heading)
    return 1.0 / bound - math.hypot(abs(side) - 1.0 / bound, forward)


def _arc(across: float, along: float, heading: float) -> float:
    """Return the curvature of the arc from here to a place (x, z) ahead, radians per metre; to the left is positive."""
    side, forward = _in_heading(across, along, heading)
    if forward < 0.0:
        # behind: as tight a turn as there is
        return math.copysign(math.inf, side)
    return 2.0 * side / max(side * side + forward * forward, 1e-6)


def steered(
    own: FloorPath,
    first: int,
    place: tuple[float, float],
    turn: float,
    goal: Goal,
    known: float,
    *,
    whole: bool = False,
) -> Steered:
    """Steer a path from its sample `first` on, which is at a place (x, z) and turned by an angle, to a goal.

    whole: to the end of the path, whether the goal is met before that or not.
    """
    headings, steps, bounds = own.headings[first:].tolist(), own.steps[first:].tolist(), own.bounds[first:].tolist()
    (x, z), strain, rows, met = place, 0.0, [], False
    for n, (dx, dz) in enumerate([*own.moves[first:].tolist(), (0.0, 0.0)]):
        known, away, met = goal.see(x, z, known)
        rows.append((x, z, turn, known, away, strain))
        if (met and not whole) or n == len(steps):
            break
        step, most = steps[n], bounds[n] * steps[n]
        wanted = goal.curvature(x, z, headings[n] + turn, known, bounds[n])
        bend = min(max(wanted * step - (headings[n + 1] - headings[n]), -most), most) if step > 0.0 else 0.0
        c, s = math.cos(turn + 0.5 * bend), math.sin(turn + 0.5 * bend)
        x, z, turn = x + c * dx + s * dz, z + c * dz - s * dx, turn + bend
        strain += bend * bend / step if step > 0.0 else 0.0
    found = np.array(rows)
    return Steered(found[:, :2], found[:, 2], found[:, 3], found[:, 4], found[:, 5], met)


@dataclass(frozen=True, eq=False)
class Bent:
    """A bent path."""

    places: NDArray
    """(S, 2) metres."""
    turns: NDArray
    """(S,) radians by which it is turned."""
    most: float
    """Radians per metre; the largest bend."""


def bent(own: FloorPath, guess: Steered, goal: Goal, *, ends: bool, free: bool) -> Bent:
    """Bend a whole path, so that it follows a curve as well as it can, or ends at a target.

    The unknowns are κ at knots `STEER.knot` metres apart, and φ₀. Residuals are the distances from the curve to the
    sides, that from the curve's end or from the target at last, κ, and its change from knot to knot. guess: the whole
    path, steered. ends: whether the walk gets to the end of its curve. free: whether it may begin in any direction.
    """
    from scipy.optimize import least_squares

    distance = np.concatenate([[0.0], np.cumsum(own.steps)])
    count = max(int(np.ceil(distance[-1] / STEER.knot)), 1) + 1
    knots = np.linspace(0.0, max(distance[-1], 1e-6), count)
    middles = 0.5 * (distance[1:] + distance[:-1])
    hats = np.stack([np.interp(middles, knots, row) for row in np.eye(count)], axis=1)
    # φ at the middle of each step, by unknown; the last one is φ₀
    bends = hats * own.steps[:, None]
    after = np.cumsum(bends, axis=0)
    by = np.concatenate([after - 0.5 * bends, np.ones((len(bends), 1))], axis=1)
    near = np.abs(middles[:, None] - knots) <= STEER.knot
    bound = np.where(near, own.bounds[:, None], STEER.turn).min(axis=0)
    bound = np.maximum(bound, 1e-6)
    limits = np.append(bound, np.inf if free else STEER.askew)
    turn0 = float(guess.turns[0])
    start = np.append(np.zeros(count), 0.0)
    used = np.diff(guess.turns) / np.maximum(own.steps, 1e-9)
    start[:-1] = hats.T @ used / np.maximum(hats.sum(axis=0), 1e-9)
    start = np.clip(start, -0.999 * limits, 0.999 * limits)
    first = guess.places[0]
    spread = np.sqrt(max(distance[-1] / count, 1e-6))

    def path(unknowns: NDArray) -> tuple[NDArray, NDArray]:
        turned = rotate_on_floor(turn0 + by @ unknowns, own.moves)
        return np.concatenate([first[None], first + np.cumsum(turned, axis=0)]), turned

    if isinstance(goal, Follow):
        beside, dt = goal.curve, 1.0 / np.sqrt(len(own.places))
        along = guess.known

        def away(places: NDArray) -> tuple[NDArray, NDArray]:
            # the nearest point is on the way on from where the guess, and every earlier sample, has it
            at, headings = beside.at(along)
            tangents = np.stack([np.sin(headings), np.cos(headings)], axis=1)
            ahead = np.clip(np.einsum("sk,sk->s", places - at, tangents), -STEER.ahead, STEER.ahead)
            at, headings = beside.at(np.clip(along + ahead, 0.0, None if beside.closed else beside.length))
            normals = np.stack([np.cos(headings), -np.sin(headings)], axis=1)
            return normals, places - at

        def residuals(unknowns: NDArray) -> NDArray:
            places, _ = path(unknowns)
            normals, off = away(places)
            sides = np.einsum("sk,sk->s", off, normals)
            end = places[-1] - beside.at([beside.length])[0][0] if ends else np.zeros(2)
            return np.concatenate([dt * sides / STEER.near, 0.3 * end / STEER.near, _smooth(unknowns)])

        def jacobian(unknowns: NDArray) -> NDArray:
            places, turned = path(unknowns)
            normals, _ = away(places)
            rows = _rows(turned)
            sides = np.einsum("sku,sk->su", rows, normals)
            end = rows[-1] if ends else 0.0 * rows[-1]
            return np.concatenate([dt * sides / STEER.near, 0.3 * end / STEER.near, smoothness])
    else:
        target = np.asarray(goal.place)

        def residuals(unknowns: NDArray) -> NDArray:
            return np.concatenate([(path(unknowns)[0][-1] - target) / STEER.near, _smooth(unknowns)])

        def jacobian(unknowns: NDArray) -> NDArray:
            return np.concatenate([_rows(path(unknowns)[1])[-1] / STEER.near, smoothness])

    def _rows(turned: NDArray) -> NDArray:
        across = np.stack([turned[:, 1], -turned[:, 0]], axis=1)
        return np.concatenate([np.zeros((1, 2, count + 1)), np.cumsum(across[:, :, None] * by[:, None, :], axis=0)])

    smoothness = np.zeros((2 * count - 1, count + 1))
    smoothness[:count, :count] = STEER.stiff * spread * np.eye(count)
    smoothness[count:, :count] = STEER.even * np.diff(np.eye(count), axis=0)

    def _smooth(unknowns: NDArray) -> NDArray:
        return smoothness @ unknowns

    solved = least_squares(
        residuals, start, jacobian, bounds=(-limits, limits), x_scale="jac", max_nfev=STEER.steps,  # type: ignore[arg-type]
    )  # fmt: skip
    places, _ = path(solved.x)
    turns = turn0 + solved.x[-1] + np.concatenate([[0.0], after @ solved.x[:-1]])
    return Bent(places, turns, float(np.abs(solved.x[:-1]).max()))
