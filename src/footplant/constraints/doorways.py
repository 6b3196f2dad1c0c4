"""Doorways and low beams: what the head, the neck and the shoulders have to pass under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.constraints import Above, Area
from footplant.contacts.ground import Ground
from footplant.errors import ConstraintError
from footplant.geometry import Plane
from footplant.grounds import direction
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, Point
from footplant.spline import filter_fir
from footplant.transfer import hip_centers

AIR = 0.012
"""Body heights that the figure keeps from a beam (2 cm for an adult)."""
SKIN = 0.05
"""Body heights from the joints of trunk and shoulders up to the skin."""
LEAN = 0.2
"""Body heights that a bent figure may be ahead of an upright one."""
APPROACH = 0.5
"""Body heights of the way in which the figure bends before a beam, and straightens after it."""


@dataclass(frozen=True)
class Doorway:
    """A level beam across the way."""

    place: tuple[float, float]
    """(x, z) of its middle, metres."""
    height: float
    """Height of its lower edge in the world, metres."""
    heading: float = 0.0
    """Which way one passes under it, radians: see `footplant.grounds.direction`."""
    depth: float = 0.2
    """How thick it is along the way, metres."""

    def along(self, places: NDArray) -> NDArray:
        """(…) metres by which places (…, 3) are beyond its middle, along the way."""
        return (places[..., ::2] - self.place) @ direction(self.heading)


def doorway_on_the_way(
    motion: Motion, character: Character, distance: float, clearance: float, ground: Ground, depth: float = 0.2
) -> Doorway:
    """A doorway across a figure's way, `distance` metres after its start, `clearance` metres over the ground there."""
    way = hip_centers(Kinematics(motion), character)[:, ::2]
    half = max(round(0.25 * motion.fps), 1)
    # hips sway at every step; the way does not
    way = filter_fir(way, np.full(2 * half + 1, 1.0 / (2 * half + 1)), ends="reflect")
    done = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    if not 0.0 <= distance <= done[-1]:
        raise ConstraintError(
            f"doorway: expected a distance along the way of 0 to {done[-1]:.2f} metres, got {distance:g}"
        )
    x, z = (float(np.interp(distance, done, way[:, axis])) for axis in (0, 1))
    ahead, behind = (
        np.array([np.interp(at, done, way[:, axis]) for axis in (0, 1)]) for at in (distance + 0.1, distance - 0.1)
    )
    heading = float(np.arctan2(*(ahead - behind)))
    return Doorway((x, z), float(ground.height(np.array([[x, z]]))[0]) + clearance, heading, depth)


def crown(character: Character) -> Point:
    """The top of the head, from the height of the figure as it stands straight."""
    roles, skeleton = character.require_roles(), character.skeleton
    head = roles.joints["head"][-1]
    places, turned = humanoid.reference_world(skeleton, roles)
    soles = [
        places[point.joint][1] + rotation.rotate(turned[point.joint], np.array(point.offset))[1]
        for name, point in character.contacts.items()
        if not name.endswith("palm")
    ]
    above = character.height - float(places[head][1] - min(soles, default=0.0))
    offset = rotation.rotate(rotation.inverse(turned[head]), above * rotation.AXES["y"])
    return Point(head, (float(offset[0]), float(offset[1]), float(offset[2])))


def _upper_body(character: Character) -> list[tuple[str, Point, float]]:
    """What must pass under a beam: its name, the point, and metres from it up to the skin."""
    roles, skeleton, height = character.require_roles(), character.skeleton, character.height
    found = []
    if "head" in roles:
        found.append(("crown", crown(character), 0.0))
    for role in ("neck", "spine", "hips"):
        if role in roles:
            found.append((role, Point(roles.joints[role][-1]), SKIN * height))
    for side in ("left", "right"):
        arm = roles.get(f"{side}_upper_arm")
        if arm is not None and skeleton.parents[arm] >= 0:
            x, y, z = skeleton.offsets[arm].tolist()
            found.append((f"{side} shoulder", Point(int(skeleton.parents[arm]), (x, y, z)), SKIN * height))
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Under(Area):
    """A point passes under a doorway: below its beam, and before and after it below a ceiling that comes down to it.

    Down is the only way out: nobody steps back or hurries on for a beam. So `slopes` leave out that of the ceiling.
    """

    doorway: Doorway
    approach: float
    """Metres before and after the beam along which the ceiling comes down and goes up."""
    rise: float
    """Metres that the ceiling is above the beam farther off."""

    def slack(self, places: NDArray, frames: NDArray) -> NDArray:
        """(F,) metres to spare if the point were at places (F, 3)."""
        away = np.abs(self.doorway.along(places)) - 0.5 * self.doorway.depth
        share = np.clip(away / self.approach, 0.0, 1.0)
        return super().slack(places, frames) + self.rise * share * share * (3.0 - 2.0 * share)


def pass_under(motion: Motion, character: Character, doorways: Sequence[Doorway]) -> tuple[Under, ...]:
    """Constraints that bend a figure under doorways while it passes them, each part of the upper body in its time."""
    kinematics, found = Kinematics(motion), []
    for number, doorway in enumerate(doorways):
        beam = Plane((doorway.place[0], doorway.height, doorway.place[1]), (0.0, -1.0, 0.0))
        approach = APPROACH * character.height
        for name, point, skin in _upper_body(character):
            places, air = kinematics.point(point), skin + AIR * character.height
            away = np.abs(doorway.along(places)) - 0.5 * doorway.depth - LEAN * character.height
            near = np.flatnonzero(away < approach)
            if not len(near) or not (places[near, 1] + air > doorway.height).any():
                continue
            found.append(
                Under(
                    point=point,
                    region=beam,
                    margin=air,
                    frames=range(int(near[0]), int(near[-1]) + 1),
                    name=f"{name} under doorway {number + 1}",
                    doorway=doorway,
                    approach=approach,
                    rise=float((places[near, 1] - doorway.height).max()) + air + 0.02 * character.height,
                )
            )
    return tuple(found)


def stay_over(beams: Sequence[Under], ground: Ground) -> tuple[Above, ...]:
    """Where a beam is so low that even the hips go under it, nothing of the trunk may go below the ground instead."""
    low = {beam.doorway for beam in beams if beam.name.startswith("hips")}
    return tuple(
        Above(
            point=beam.point,
            ground=ground,
            clearance=beam.margin,
            frames=beam.frames,
            name=beam.name.replace("under", "above the ground at"),
        )
        for beam in beams
        if beam.doorway in low
    )


def headroom(motion: Motion, character: Character, doorways: Sequence[Doorway]) -> list[float]:
    """Metres that are left over the highest part of the upper body as it passes under each doorway."""
    kinematics = Kinematics(motion)
    found = []
    for doorway in doorways:
        least = np.inf
        for _, point, skin in _upper_body(character):
            places = kinematics.point(point)
            under = np.abs(doorway.along(places)) <= 0.5 * doorway.depth
            least = min(least, float((doorway.height - skin - places[under, 1]).min(initial=np.inf)))
        found.append(least)
    return found
