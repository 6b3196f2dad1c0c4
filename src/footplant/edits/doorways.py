"""Doorways and low beams: what the head, the neck and the shoulders have to pass under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.analysis.ground import Ground
from footplant.constraints import Area
from footplant.edits.transfer import hip_centers
from footplant.errors import ConstraintError
from footplant.geometry import Plane
from footplant.grounds import direction
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, Point
from footplant.spline import filter_fir

AIR = 0.012
"""Body heights that the crown keeps from a beam (2 cm for an adult)."""
SHOULDER = 0.05
"""Body heights from the joints of neck and shoulders up to the skin."""
LEAN = 0.2
"""Body heights that a bent figure is ahead of an upright one: a beam is passed so much earlier and later."""
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
    places, turned = skeleton.posed(humanoid.reference_pose(skeleton, roles))
    soles = [
        places[point.joint][1] + rotation.rotate(turned[point.joint], np.array(point.offset))[1]
        for name, point in character.contacts.items()
        if not name.endswith("palm")
    ]
    above = character.height - float(places[head][1] - min(soles, default=0.0))
    offset = rotation.rotate(rotation.inverse(turned[head]), above * rotation.AXES["y"])
    return Point(head, (float(offset[0]), float(offset[1]), float(offset[2])))


def _upper_body(character: Character) -> list[tuple[str, Point, float]]:
    """What must pass under a beam: its name, the point, and metres that it keeps below the beam."""
    roles, skeleton, height = character.require_roles(), character.skeleton, character.height
    found = []
    if "head" in roles:
        found.append(("crown", crown(character), AIR * height))
    if "neck" in roles:
        found.append(("neck", Point(roles["neck"]), SHOULDER * height))
    for side in ("left", "right"):
        arm = roles.get(f"{side}_upper_arm")
        if arm is not None and skeleton.parents[arm] >= 0:
            x, y, z = skeleton.offsets[arm].tolist()
            found.append((f"{side} shoulder", Point(int(skeleton.parents[arm]), (x, y, z)), SHOULDER * height))
    return found


def pass_under(motion: Motion, character: Character, doorways: Sequence[Doorway]) -> tuple[Area, ...]:
    """Constraints that bend a figure under doorways while it passes them, each part of the upper body in its time.

    What a part may be higher than the beam grows with its distance, so that the figure bends and rises in good time.
    """
    kinematics, found = Kinematics(motion), []
    for number, doorway in enumerate(doorways):
        beam = Plane((doorway.place[0], doorway.height, doorway.place[1]), (0.0, -1.0, 0.0))
        for name, point, air in _upper_body(character):
            places = kinematics.point(point)
            away = np.abs(doorway.along(places)) - 0.5 * doorway.depth - LEAN * character.height
            share = np.clip(away / (APPROACH * character.height), 0.0, 1.0)
            most = max(float((places[:, 1] - doorway.height).max()) + air, 0.0)
            above = (most + 0.02 * character.height) * share * share * (3.0 - 2.0 * share)
            near = np.flatnonzero((share < 1.0) & (places[:, 1] + air > doorway.height + above))
            if not len(near):
                continue
            frames = range(int(near[0]), int(near[-1]) + 1)
            found.append(
                Area(
                    point=point,
                    region=beam,
                    margin=air - above[frames.start : frames.stop],
                    frames=frames,
                    name=f"{name} under doorway {number + 1}",
                )
            )
    return tuple(found)


def headroom(motion: Motion, character: Character, doorways: Sequence[Doorway]) -> list[float]:
    """Metres that are left over the highest part of the upper body as it passes under each doorway."""
    kinematics = Kinematics(motion)
    found = []
    for doorway in doorways:
        least = np.inf
        for name, point, air in _upper_body(character):
            places = kinematics.point(point)
            under = np.abs(doorway.along(places)) <= 0.5 * doorway.depth
            skin = 0.0 if name == "crown" else air
            least = min(least, float((doorway.height - skin - places[under, 1]).min(initial=np.inf)))
        found.append(least)
    return found
