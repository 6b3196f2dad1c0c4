"""Ground that moves with time: a lift, a conveyor, a turntable, the deck of a ship, and parts of a ground that do.

In the frame of the ground nothing of it moves: footplants are fixed places there, and a motion is adapted to it like to
any other ground. Then the ground carries the motion through the world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import all_finite, real_number, rows_of_width, shaped
from footplant.contacts.ground import Ground
from footplant.errors import ArgumentError
from footplant.geometry import Plane
from footplant.grounds import direction
from footplant.motion import Motion

Pose = Callable[[NDArray], tuple[NDArray, NDArray]]
"""Places (F, 3), metres, and rotations (F, 4) of a moving ground at times (F,), seconds."""
HEIGHT_ROUNDS = 12
"""Fixed-point steps for the height of a tilted surface: each brings an error down by tan(tilt) · slope of the base."""


@dataclass(frozen=True, eq=False)
class MovingGround:
    """A rigid ground whose pose depends on time."""

    pose: Pose
    """Where the ground's frame is at given times. At rest: places 0, rotations (1, 0, 0, 0)."""
    base: Ground = Plane()  # noqa: RUF009 — frozen
    """The surface in the ground's frame."""

    def poses(self, seconds: ArrayLike) -> tuple[NDArray, NDArray]:
        """Return places (F, 3), metres, and unit rotations (F, 4) at times (F,), seconds."""
        seconds = all_finite(shaped(seconds, ("F",), "times"), "times")
        places, turns = self.pose(seconds)
        places = all_finite(shaped(places, (len(seconds), 3), "places of a moving ground"), "places of a moving ground")
        return places, rotation.normalize(shaped(turns, (len(seconds), 4), "rotations of a moving ground"))

    def height(self, places: ArrayLike, seconds: float = 0.0) -> NDArray:
        """Return the height (…), metres, over places (…, 2) of the world at a time; the first frame's by default."""
        places = all_finite(rows_of_width(places, 2, "places (x, z)"), "places (x, z)")
        at, turn = (row[0] for row in self.poses([real_number(seconds, "seconds")]))
        back, up = rotation.inverse(turn), rotation.rotate(turn, rotation.AXES["y"])
        flat = places.reshape(-1, 2)
        found = np.stack([flat[:, 0], np.full(len(flat), at[1]), flat[:, 1]], axis=1)
        for _ in range(HEIGHT_ROUNDS):
            local = rotation.rotate(back, found - at)
            found[:, 1] += (self.base.height(local[:, ::2]) - local[:, 1]) / max(float(up[1]), 0.1)
        return found[:, 1].reshape(places.shape[:-1])

    def carried(self, motion: Motion) -> Motion:
        """Return a motion of the ground's frame in the world."""
        places, turns = self._of(motion)
        rotations = np.array(motion.rotations)
        rotations[:, 0] = rotation.multiply(turns, rotations[:, 0])
        return replace(motion, root=places + rotation.rotate(turns, motion.root), rotations=rotations)

    def relative(self, motion: Motion) -> Motion:
        """Return a motion of the world in the ground's frame: the inverse of `carried`."""
        places, turns = self._of(motion)
        back, rotations = rotation.inverse(turns), np.array(motion.rotations)
        rotations[:, 0] = rotation.multiply(back, rotations[:, 0])
        return replace(motion, root=rotation.rotate(back, motion.root - places), rotations=rotations)

    def upright(self, motion: Motion, level: Ground) -> Motion:
        """Return a motion of the ground's frame leaned so that it is as upright in the world as it was in the frame.

        Who stands on a deck that tilts keeps upright: the body turns against the deck about the place below its root
        on `level`, the ground that it stood on. Turns about the vertical are the ground's.
        """
        _, turns = self._of(motion)
        up = rotation.rotate(rotation.inverse(turns), rotation.AXES["y"])
        tilts = rotation.between(np.broadcast_to(rotation.AXES["y"], up.shape), up)
        below = np.array(motion.root)
        below[:, 1] = level.height(below[:, ::2])
        rotations = np.array(motion.rotations)
        rotations[:, 0] = rotation.multiply(tilts, rotations[:, 0])
        return replace(motion, root=below + rotation.rotate(tilts, motion.root - below), rotations=rotations)

    def _of(self, motion: Motion) -> tuple[NDArray, NDArray]:
        return self.poses(np.arange(len(motion)) / motion.fps)


@dataclass(frozen=True, eq=False)
class GroundPart:
    """A rectangle of a ground that moves: a platform, or a conveyor let into the floor."""

    ground: MovingGround
    size: tuple[float, float]
    """Width, and length along the heading, metres."""
    place: tuple[float, float] = (0.0, 0.0)
    """(x, z) of its middle, metres."""
    heading: float = 0.0
    """Direction of its length, radians: see `grounds.direction`."""
    travels: bool = True
    """Whether its outline moves with the ground, and is given in its frame; else it stays where it is in the world."""

    def __post_init__(self) -> None:
        """Check the dimensions."""
        width, length = shaped(self.size, (2,), "the size of a part of a ground").tolist()
        real_number(width, "width of a part of a ground", above=0.0)
        real_number(length, "length of a part of a ground", above=0.0)
        object.__setattr__(self, "size", (width, length))
        place = all_finite(shaped(self.place, (2,), "the place of a part of a ground"), "the place of a part")
        object.__setattr__(self, "place", tuple(place.tolist()))
        object.__setattr__(self, "heading", real_number(self.heading, "heading"))

    def over(self, places: ArrayLike, seconds: float) -> tuple[NDArray, NDArray]:
        """Return where it covers places (…, 2) of the world at a time, and its height (…), metres."""
        places = all_finite(rows_of_width(places, 2, "places (x, z)"), "places (x, z)")
        heights, flat = self.ground.height(places, seconds), places
        if self.travels:
            at, turn = (row[0] for row in self.ground.poses([seconds]))
            world = np.stack([places[..., 0], heights, places[..., 1]], axis=-1)
            flat = rotation.rotate(rotation.inverse(turn), world - at)[..., ::2]
        (x, z), away = direction(self.heading), flat - self.place
        across, along = away[..., 0] * z - away[..., 1] * x, away[..., 0] * x + away[..., 1] * z
        return (np.abs(across) <= 0.5 * self.size[0]) & (np.abs(along) <= 0.5 * self.size[1]), heights


@dataclass(frozen=True, eq=False)
class PartedGround:
    """A ground that rests, with parts that move. Where parts overlap, the first counts."""

    parts: tuple[GroundPart, ...]
    still: Ground = Plane()  # noqa: RUF009 — frozen
    """The ground around them."""

    def height(self, places: ArrayLike, seconds: float = 0.0) -> NDArray:
        """Return the height (…), metres, over places (…, 2) of the world at a time; the first frame's by default."""
        found = np.array(self.still.height(places), float)
        for part in reversed(self.parts):
            covers, heights = part.over(places, seconds)
            found = np.where(covers, heights, found)
        return found

    def part_at(self, place: ArrayLike, seconds: float) -> GroundPart | None:
        """Return the part at a place (2,) of the world at a time; None where the ground rests."""
        return next((part for part in self.parts if bool(part.over(place, seconds)[0])), None)


class ReportedPoses:
    """Poses of a ground as they are reported while it moves, by a game for instance: the `pose` of a `MovingGround`.

    Between reports it moves evenly. After the last one it goes on as between the last two, along and about one axis (a
    screw), so that the ground of the next second can be planned on; before the second report it rests.
    """

    def __init__(self, keep: float = 10.0) -> None:
        """Keep reports for so many seconds."""
        self.keep = real_number(keep, "seconds for which poses are kept", above=0.0)
        self._times: list[float] = []
        self._poses: list[tuple[NDArray, NDArray]] = []

    def report(self, seconds: float, place: ArrayLike, turn: ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> None:
        """Note where the ground's frame is at a time: place (3,), metres, and rotation (4,)."""
        seconds = real_number(seconds, "seconds")
        place = np.array(all_finite(shaped(place, (3,), "the place of a ground"), "the place of a ground"))
        turn = rotation.normalize(shaped(turn, (4,), "the rotation of a ground"))
        if self._times and seconds <= self._times[-1]:
            if seconds < self._times[-1]:
                raise ArgumentError(f"expected a time after {self._times[-1]:g} s, got {seconds:g}")
            self._times.pop()
            self._poses.pop()
        self._times.append(seconds)
        self._poses.append((place, turn))
        while len(self._times) > 2 and self._times[1] < seconds - self.keep:
            del self._times[0], self._poses[0]

    def __call__(self, times: NDArray) -> tuple[NDArray, NDArray]:
        """Return places (F, 3), metres, and rotations (F, 4) at times (F,), seconds."""
        if not self._times:
            raise ArgumentError("expected the pose of the ground to be reported before it is asked for")
        poses = [self._at(time) for time in times.tolist()]
        return np.array([place for place, _ in poses]), np.array([turn for _, turn in poses])

    def _at(self, time: float) -> tuple[NDArray, NDArray]:
        last = min(int(np.searchsorted(self._times, time)), len(self._times) - 1)
        if last == 0:
            return self._poses[0]
        (place, turn), (then, turned) = self._poses[last - 1], self._poses[last]
        share = (time - self._times[last - 1]) / (self._times[last] - self._times[last - 1])
        whole = rotation.log(rotation.multiply(turned, rotation.inverse(turn)))
        # x → R x + t is the exponential of a twist whose translation is J(φ)⁻¹ t
        shift = then - rotation.rotate(rotation.exp(whole), place)
        shift = _left_jacobian(share * whole) @ np.linalg.solve(_left_jacobian(whole), share * shift)
        part = rotation.exp(share * whole)
        return rotation.rotate(part, place) + shift, rotation.multiply(part, turn)


def _left_jacobian(vector: NDArray) -> NDArray:
    """Return the left Jacobian (3, 3) of the rotations at a rotation vector (3,)."""
    angle = float(np.linalg.norm(vector))
    x, y, z = vector
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    if angle < 1e-6:
        return np.eye(3) + 0.5 * cross
    return (
        np.eye(3)
        + (1.0 - np.cos(angle)) / angle**2 * cross
        + (angle - np.sin(angle)) / angle**3 * cross @ cross
    )  # fmt: skip


def lift(rise: float, seconds: float, base: Ground | None = None) -> MovingGround:
    """Return a ground that rises by `rise` metres (negative: sinks) in `seconds`, with minimal jerk."""
    rise, seconds = real_number(rise, "rise"), real_number(seconds, "seconds", above=0.0)

    def pose(times: NDArray) -> tuple[NDArray, NDArray]:
        done = np.clip(times / seconds, 0.0, 1.0)
        done = done**3 * (10.0 - 15.0 * done + 6.0 * done**2)
        return rise * done[:, None] * rotation.AXES["y"], rotation.identity(len(times))

    return MovingGround(pose, base or Plane())


def conveyor(speed: float, heading: float = 0.0, base: Ground | None = None) -> MovingGround:
    """Return a ground that travels at a speed, metres/s, in a direction, radians (`grounds.direction`)."""
    speed, (x, z) = real_number(speed, "speed"), direction(real_number(heading, "heading"))

    def pose(times: NDArray) -> tuple[NDArray, NDArray]:
        return speed * times[:, None] * np.array([x, 0.0, z]), rotation.identity(len(times))

    return MovingGround(pose, base or Plane())


def deck(
    degrees: float,
    seconds: float,
    heading: float = 0.0,
    about: ArrayLike = (0.0, 0.0, 0.0),
    base: Ground | None = None,
) -> MovingGround:
    """Return a ground that rolls to both sides by an angle, once per period in seconds, like the deck of a ship.

    It turns about an axis through a place (3,), metres, along a heading, radians (`grounds.direction`).
    """
    if not 0.0 <= real_number(degrees, "degrees") <= 30.0:
        raise ArgumentError(f"expected a deck that rolls by 0° to 30°, got {degrees}")
    seconds, (x, z) = real_number(seconds, "seconds", above=0.0), direction(real_number(heading, "heading"))
    about = all_finite(shaped(about, (3,), "the place of the axis"), "the place of the axis")

    def pose(times: NDArray) -> tuple[NDArray, NDArray]:
        roll = np.radians(degrees) * np.sin(2.0 * np.pi * times / seconds)
        turns = rotation.exp(roll[:, None] * np.array([x, 0.0, z]))
        return about - rotation.rotate(turns, about), turns

    return MovingGround(pose, base or Plane())


def turntable(degrees: float, about: ArrayLike = (0.0, 0.0, 0.0), base: Ground | None = None) -> MovingGround:
    """Return a ground that turns about the vertical through a place (3,), by so many degrees a second, to the left."""
    speed = np.radians(real_number(degrees, "degrees a second"))
    about = all_finite(shaped(about, (3,), "the place of the axis"), "the place of the axis")

    def pose(times: NDArray) -> tuple[NDArray, NDArray]:
        turns = rotation.exp(speed * times[:, None] * rotation.AXES["y"])
        return about - rotation.rotate(turns, about), turns

    return MovingGround(pose, base or Plane())
