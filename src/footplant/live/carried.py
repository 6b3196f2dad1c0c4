"""A driven character on ground that moves: a frame that the ground carries, in which it is driven as on ground at rest.

The frame has a place and a heading, so that the body keeps upright. It moves as the ground under the standing feet does
at the root, smoothed by a critically damped filter: a body does not take on a jolt, or another part's speed, at once.
What a standing foot holds is carried rigidly with its own part of the ground, whatever the frame does. A swing is
planned on the ground as it will be at the landing; its path is corrected, frame by frame, by what the ground under the
landing does beyond that. On a part that moves evenly the frame moves as the part does, and nothing is corrected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground
from footplant.contacts.moving_ground import MovingGround, PartedGround
from footplant.grounds import direction
from footplant.live.foot_plan import ground_field, has_left
from footplant.live.settings import CARRIED

if TYPE_CHECKING:
    from footplant.live._foot_plan import FootState, GroundField

Poses = tuple[NDArray, NDArray]
"""Places (S, 3), metres, and rotations (S, 4) of all surfaces in the world."""
MovesUnder = MovingGround | PartedGround
HALFWAY = 2.674060
"""x at which the filter's step response 1 − (1 + x + x²/2) e⁻ˣ is a half."""
MOMENT = 1e-3
"""Seconds over which the speed of a ground is taken."""


@dataclass(eq=False)
class _Landing:
    """Where a swing will land, on which surface."""

    surface: int
    marks: NDArray
    """(3, 3) metres, heel, ball and toe tip, in the surface's frame."""
    first: int
    """The point that lands: 0 the heel, 1 the ball."""
    aim: NDArray
    """(3,) metres, where in the controller's frame its path brings that point."""
    speed: NDArray
    """(3,) metres per second of the ground there, in the controller's frame, that the path takes on."""


class Carried:
    """The frame of a driven character, and the surfaces of the ground in it."""

    def __init__(self, ground: MovesUnder, place: NDArray) -> None:
        """Begin with a frame that is the world's. place: (x, z) of the character, metres."""
        parts = ground.parts if isinstance(ground, PartedGround) else ()
        self._outlines = [
            (1.0 if part.travels else 0.0, *part.place, *direction(part.heading), *(0.5 * np.array(part.size)))
            for part in parts
        ]
        self._movers: list[MovingGround | None] = [part.ground for part in parts]
        self._bases: list[Ground] = [part.ground.base for part in parts]
        still = isinstance(ground, PartedGround)
        self._movers.append(None if still else ground)  # type: ignore[arg-type]
        self._bases.append(ground.still if isinstance(ground, PartedGround) else ground.base)
        self._outlines.append((-1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0))
        self.place, self.heading = np.zeros(3), 0.0
        self.under = [len(self._movers) - 1] * 2
        """The surface under each foot, where it stands or stood last."""
        self.landings: list[_Landing | None] = [None, None]
        self._supports: tuple[int, ...] = ()
        # by what the frame lags behind the ground, its rate and that one's rate; how fast it goes (metres, radians)
        self._error, self._rate, self._time, self._root = np.zeros((3, 4)), np.zeros(4), 0.0, np.zeros(3)
        self._now = self._poses(0.0)
        self._before = self._now, self.place, self.turn
        self._fields = [
            ground_field(base, self._local(self._now, surface, np.array([place[0], 0.0, place[1]]))[::2])
            for surface, base in enumerate(self._bases)
        ]
        self._join()

    def _join(self) -> None:
        """Make one ground of the surfaces, but for their poses."""
        sizes = np.cumsum([0, *(len(field.heights) for field in self._fields[:-1])])
        grids = np.concatenate([field.grids for field in self._fields])
        grids[:, 0] += sizes
        heights = np.concatenate([field.heights for field in self._fields])
        heights.setflags(write=False)
        self._ground = self._fields[0]._replace(
            level=False, heights=heights, grids=grids, origins=np.concatenate([field.origins for field in self._fields])
        )

    def parts(self, hands: Sequence[int] = ()) -> NDArray:
        """Return the number of the part under each foot, and of surfaces under hands.

        −1 is the ground around the parts, or one without parts.
        """
        last = len(self._movers) - 1
        return np.array([-1 if surface == last else surface for surface in (*self.under, *hands)])

    @property
    def turn(self) -> NDArray:
        """(4,) rotation of the frame in the world."""
        return _upright(self.heading)

    def _poses(self, seconds: float) -> Poses:
        """Return the poses of the surfaces in the world at a time."""
        places, turns = np.zeros((len(self._movers), 3)), rotation.identity(len(self._movers))
        for surface, mover in enumerate(self._movers):
            if mover is not None:
                at, turned = mover.poses([seconds])
                places[surface], turns[surface] = at[0], turned[0]
        return places, turns

    @staticmethod
    def _local(poses: Poses, surface: int, place: NDArray) -> NDArray:
        """Return a place (3,) of the world in a surface's frame."""
        return rotation.rotate(rotation.inverse(poses[1][surface]), place - poses[0][surface])

    def to_world(self, place: NDArray) -> NDArray:
        """Return places (…, 3) of the frame in the world."""
        return self.place + rotation.rotate(self.turn, place)

    def to_frame(self, place: NDArray) -> NDArray:
        """Return places (…, 3) of the world in the frame."""
        return rotation.rotate(rotation.inverse(self.turn), place - self.place)

    def ground(self, seconds: float | None = None, root: NDArray | None = None) -> GroundField:
        """Return the ground in the frame, now, or at a later time when the frame has gone on; root: see `ahead`."""
        poses, place, heading = self._now, self.place, self.heading
        if seconds is not None and root is not None:
            poses = self._poses(seconds)
            place, heading = self._ahead(seconds, poses, root)
        back = _upright(-heading)
        turns = rotation.multiply(back, poses[1])
        # kernels take a frame at rest as it is
        turns[np.abs(turns[:, 0]) == 1.0] = rotation.identity()
        rows = np.concatenate([rotation.rotate(back, poses[0] - place), turns], axis=1)
        outlines = np.array(self._outlines)
        stays = outlines[:, 0] == 0.0
        if stays.any():
            middles = np.insert(outlines[stays, 1:3], 1, 0.0, axis=1)
            outlines[stays, 1:3] = rotation.rotate(back, middles - place)[:, ::2]
            turned = np.arctan2(outlines[stays, 3], outlines[stays, 4]) - heading
            outlines[stays, 3:5] = direction(turned)
        return self._ground._replace(poses=np.ascontiguousarray(rows), outlines=outlines)

    def begin(self, feet: FootState, root: NDArray, seconds: float) -> None:
        """Note what the feet stand on, and take on the ground's speed; root: (3,) in the frame, metres."""
        from footplant.live import _foot_plan as kernel

        field = self.ground()
        for foot in range(2):
            middle = feet.places[foot, :2].mean(axis=0)
            self.under[foot], _ = kernel.surface_at(field, middle[0], middle[2])
        self._note_supports(feet)
        self._now, self._time, self._root = self._poses(seconds), seconds, self.to_world(root)
        self._rate = self._moved(self._now, self._poses(seconds + MOMENT), self.to_world(root)) / MOMENT

    def _moved(self, before: Poses, after: Poses, place: NDArray) -> NDArray:
        """Return how the surfaces under the feet move a place (3,) of the world, and turn: (4,) metres and radians."""
        moved = np.zeros(4)
        for surface in self._supports:
            turn = rotation.multiply(after[1][surface], rotation.inverse(before[1][surface]))
            moved[:3] += after[0][surface] + rotation.rotate(turn, place - before[0][surface]) - place
            turned = 2.0 * math.atan2(turn[2], turn[0])
            moved[3] += (turned + math.pi) % (2.0 * math.pi) - math.pi
        return moved / len(self._supports)

    def _note_supports(self, feet: FootState) -> None:
        """Note the surfaces that carry the body: those of the standing feet, or else those that did last."""
        from footplant.live import _foot_plan as kernel

        standing = [self.under[foot] for foot in range(2) if feet.flags[foot, kernel.SWING] == 0]
        if standing or not self._supports:
            self._supports = tuple(standing) or tuple(self.under)

    def _lag(self, seconds: float) -> NDArray:
        """Return by what the frame lags, and two derivatives of it, (3, 4), in some seconds if the ground moves evenly.

        e‴ + 3ω e″ + 3ω² e′ + ω³ e = 0: the frame's place, speed and acceleration are continuous when the ground's speed
        jumps. It lags by 3a / ω² behind a ground that accelerates by a: 4 cm at 1 m/s² and a half-life of 0.3 s.
        """
        rate = HALFWAY / CARRIED.half_life
        a, (b, c) = self._error[0], self._error[1:]
        b = b + rate * a
        c = 0.5 * (c + 2.0 * rate * b - rate**2 * a)
        value = a + (b + c * seconds) * seconds
        first, second = b + 2.0 * c * seconds, 2.0 * c
        left = math.exp(-rate * seconds)
        return left * np.stack([value, first - rate * value, second - 2.0 * rate * first + rate**2 * value])

    def _ahead(self, seconds: float, poses: Poses, root: NDArray) -> tuple[NDArray, float]:
        """Return place and heading of the frame at a later time; poses: the surfaces' then; root: (3,) in the frame."""
        at = self.to_world(root)
        moved = self._moved(self._now, poses, at) - (self._lag(seconds - self._time)[0] - self._error[0])
        return self._gone(at, moved)

    def _gone(self, about: NDArray, moved: NDArray) -> tuple[NDArray, float]:
        """Return place and heading after a move (4,) about a place of the world."""
        turned = rotation.rotate(_upright(moved[3]), self.place - about)
        return about + turned + moved[:3], self.heading + float(moved[3])

    def advance(self, feet: FootState, root: NDArray, now: float, seconds: float) -> None:
        """Move the frame by some seconds to a time, and with it what the feet hold. root: (3,) in the frame, metres."""
        from footplant.live import _foot_plan as kernel

        before, place, back = self._now, self.place, self.turn
        self._before = before, place, back
        self._note_supports(feet)
        at, after = self.to_world(root), self._poses(now)
        if seconds > 0.0:
            moved = self._moved(before, after, at)
            # the frame's speed at where the root is now: it has walked on since
            x, _, z = at - self._root
            self._rate[:3] += self._rate[3] * np.array([z, 0.0, -x])
            # the lag turns with the ground
            self._error[0, :3] = rotation.rotate(_upright(moved[3]), self._error[0, :3])
            self._error[1] = moved / seconds - self._rate
            lag = self._lag(seconds)
            self._rate = moved / seconds - lag[1]
            step = moved - (lag[0] - self._error[0])
            self._error = lag
            self.place, self.heading = self._gone(at, step)
            self._root = at + step[:3]
        self._now, self._time = after, now
        self._refresh(root)
        for foot in range(2):
            landing, swings = self.landings[foot], feet.flags[foot, kernel.SWING] == 1
            surface = landing.surface if swings and landing is not None else self.under[foot]
            # from the frame to the surface as it was, and back as both are
            turn = rotation.multiply(after[1][surface], rotation.inverse(before[1][surface]))
            shift = after[0][surface] + rotation.rotate(turn, place - before[0][surface])
            turn = rotation.multiply(rotation.inverse(self.turn), rotation.multiply(turn, back))
            _carry(feet, foot, turn, self.to_frame(shift), stands=not swings)
            # what it stood on moves on
            feet.places[foot, kernel.STOOD] = self.carry(feet.places[foot, kernel.STOOD], self.under[foot])
            if not swings and self._outlines[surface][0] == kernel.STAYS:
                # the end of a conveyor
                middle = feet.places[foot, :2].mean(axis=0)
                self.under[foot], _ = kernel.surface_at(self.ground(), middle[0], middle[2])
            if swings and landing is not None:
                self._follow(feet, foot, landing, root, seconds)

    def carry(self, place: NDArray, surface: int) -> NDArray:
        """Return where a place (3,) of the frame that a surface holds has come to by the last advance."""
        (poses, at, turn), now = self._before, self._now
        own = self._local(poses, surface, at + rotation.rotate(turn, place))
        return self.to_frame(now[0][surface] + rotation.rotate(now[1][surface], own))

    def _refresh(self, root: NDArray) -> None:
        """Sample a surface again where the character has left what was sampled of it."""
        at, left = self.to_world(root), False
        for surface, base in enumerate(self._bases):
            place = self._local(self._now, surface, at)[::2]
            if has_left(base, self._fields[surface], place):
                self._fields[surface], left = ground_field(base, place), True
        if left:
            self._join()

    def _marks(self, landing: _Landing, poses: Poses, place: NDArray, heading: float) -> NDArray:
        """Return the marks (3, 3) of a landing in a frame."""
        world = poses[0][landing.surface] + rotation.rotate(poses[1][landing.surface], landing.marks)
        return rotation.rotate(_upright(-heading), world - place)

    def _aims(self, landing: _Landing, seconds: float, root: NDArray) -> tuple[NDArray, NDArray]:
        """Return the marks (3, 3) of a landing when it comes, at a time, and the ground's velocity there (3,)."""
        found = []
        for time in (seconds, seconds + MOMENT):
            poses = self._poses(time)
            found.append(self._marks(landing, poses, *self._ahead(time, poses, root)))
        return found[0], (found[1] - found[0])[landing.first] / MOMENT

    def planned(self, feet: FootState, foot: int, root: NDArray) -> None:
        """Note the landing that was planned for a swing; its marks are those of when it comes."""
        from footplant.live import _foot_plan as kernel

        self.landings[foot] = None
        if feet.flags[foot, kernel.LANDS] == 0:
            return
        seconds = float(feet.times[foot, kernel.START] + feet.times[foot, kernel.LENGTH])
        field, middle = self.ground(seconds, root), feet.places[foot, :2].mean(axis=0)
        surface, _ = kernel.surface_at(field, middle[0], middle[2])
        poses = self._poses(seconds)
        place, heading = self._ahead(seconds, poses, root)
        marks = place + rotation.rotate(_upright(heading), feet.places[foot, :3])
        back = rotation.inverse(poses[1][surface])
        first = 0 if feet.flags[foot, kernel.FIRST] & 1 else 1
        landing = _Landing(
            surface, rotation.rotate(back, marks - poses[0][surface]), first, feet.places[foot, first].copy(),
            np.zeros(3),
        )  # fmt: skip
        self.landings[foot] = landing
        self._follow(feet, foot, landing, root, 0.0)

    def _follow(self, feet: FootState, foot: int, landing: _Landing, root: NDArray, seconds: float) -> None:
        """Correct a swing's path by what its landing has moved since, from some seconds ago on; write its marks."""
        from footplant.live import _foot_plan as kernel

        start, length = feet.times[foot, kernel.START], feet.times[foot, kernel.LENGTH]
        ends = float(start + length)
        marks, speed = self._aims(landing, max(ends, self._time), root)
        begin = self._time - seconds
        off, faster = marks[landing.first] - landing.aim, speed - landing.speed
        if ends - begin > 1e-9:
            _add(feet.path[foot, :3], begin - start, ends - begin, off, faster)
        landing.aim, landing.speed = marks[landing.first], speed
        feet.levels[foot, kernel.AFTER] = marks[:2, 1].mean()
        feet.places[foot, :3] = self._marks(landing, self._now, self.place, self.heading)

    def landed(self, feet: FootState) -> None:
        """Note which feet have landed."""
        from footplant.live import _foot_plan as kernel

        for foot, landing in enumerate(self.landings):
            if landing is not None and feet.flags[foot, kernel.SWING] == 0:
                self.under[foot], self.landings[foot] = landing.surface, None


def _upright(heading: float) -> NDArray:
    """Return the rotation (4,) about the vertical by an angle, radians."""
    return np.array([math.cos(0.5 * heading), 0.0, math.sin(0.5 * heading), 0.0])


def _carry(feet: FootState, foot: int, turn: NDArray, shift: NDArray, *, stands: bool) -> None:
    """Move what a foot holds rigidly: x → turn · x + shift; of a swinging foot only what was shown of it."""
    from footplant.live import _foot_plan as kernel

    places = feet.places[foot]
    shown = places[kernel.SHOWN : kernel.SHOWN + 2]
    shown[:] = rotation.rotate(turn, shown) + shift
    if not stands:
        return
    before = places[:2, 1].mean()
    places[:3] = rotation.rotate(turn, places[:3]) + shift
    feet.levels[foot, kernel.BEFORE] += places[:2, 1].mean() - before
    held = [kernel.FROM, kernel.FLAT, kernel.TOE_WORLD]
    feet.turns[foot, held] = rotation.multiply(turn, feet.turns[foot, held])
    roll = feet.vectors[foot, kernel.ROLL]
    axis = rotation.rotate(turn, np.array([roll[0], 0.0, roll[2]]))[::2]
    roll[::2] = axis / max(float(np.hypot(*axis)), 1e-9)


def _add(path: NDArray, begin: float, seconds: float, off: NDArray, faster: NDArray) -> None:
    """Add to a path (3, 6) what moves its end by `off` and makes it faster there, from a time on, seconds of the path.

    At that time place, velocity and acceleration stay as they are; at the end the acceleration does.
    """
    a = [
        10.0 * off / seconds**3 - 4.0 * faster / seconds**2,
        -15.0 * off / seconds**4 + 7.0 * faster / seconds**3,
        6.0 * off / seconds**5 - 3.0 * faster / seconds**4,
    ]
    for power, factor in zip((3, 4, 5), a):
        for k in range(power + 1):
            path[:, k] += factor * math.comb(power, k) * (-begin) ** (power - k)
