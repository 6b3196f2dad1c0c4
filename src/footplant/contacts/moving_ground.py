"""Ground that moves with time: a lift, a conveyor, the deck of a ship.

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
