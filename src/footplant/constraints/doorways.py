"""Doorways and low beams that head, neck and shoulders must pass under."""

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


@dataclass(frozen=True)
class DoorwaySettings:
    """How a character passes under a beam; lengths in body heights.

    No experiment is on record for these numbers.
    """

    clearance: float = 0.012
    """Clearance kept from a beam (2 cm for an adult); doubled, the character ducks deeper."""
    skin: float = 0.05
    """Distance from the joints of trunk and shoulders to the skin above."""
    lean: float = 0.2
    """How far a bent character's upper body may be ahead of an upright one; halved, it may bend too late."""
    approach: float = 0.5
    """Distance along the path over which it bends before a beam and straightens after it; halved, it ducks abruptly."""
    headroom: float = 0.02
    """Height of the sloping ceiling's ends above the highest point of an upright passage."""


SETTINGS = DoorwaySettings()


@dataclass(frozen=True)
class Doorway:
    """A level beam across the path."""

    place: tuple[float, float]
    """(x, z) of its middle, metres."""
    height: float
    """Height of its lower edge in the world, metres."""
    heading: float = 0.0
    """Direction of passage, radians: see `footplant.grounds.direction`."""
    depth: float = 0.2
    """Thickness along the path, metres."""

    def along(self, positions: NDArray) -> NDArray:
        """Return the distances (…) of positions (…, 3) beyond its middle, along the path, metres."""
        return (positions[..., ::2] - self.place) @ direction(self.heading)


def doorway_on_path(
    motion: Motion, character: Character, distance: float, clearance: float, ground: Ground, depth: float = 0.2
) -> Doorway:
    """Return a doorway across a character's path, `distance` metres from its start, `clearance` metres above ground."""
    path = hip_centers(Kinematics(motion), character)[:, ::2]
    half = max(round(0.25 * motion.fps), 1)
    # remove the sway of the hips at every step
    path = filter_fir(path, np.full(2 * half + 1, 1.0 / (2 * half + 1)), ends="reflect")
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    if not 0.0 <= distance <= lengths[-1]:
        raise ConstraintError(
            f"doorway: expected a distance along the path of 0 to {lengths[-1]:.2f} metres, got {distance:g}"
        )
    x, z = (float(np.interp(distance, lengths, path[:, axis])) for axis in (0, 1))
    ahead, behind = (
        np.array([np.interp(at, lengths, path[:, axis]) for axis in (0, 1)]) for at in (distance + 0.1, distance - 0.1)
    )
    heading = float(np.arctan2(*(ahead - behind)))
    return Doorway((x, z), float(ground.height(np.array([[x, z]]))[0]) + clearance, heading, depth)


def crown(character: Character) -> Point:
    """Return the top of the head, from the character's standing height."""
    roles, skeleton = character.require_roles(), character.skeleton
    head = roles.joints["head"][-1]
    positions, rotations = humanoid.reference_world(skeleton, roles)
    soles = [
        positions[point.joint][1] + rotation.rotate(rotations[point.joint], np.array(point.offset))[1]
        for name, point in character.contacts.items()
        if not name.endswith("palm")
    ]
    above = character.height - float(positions[head][1] - min(soles, default=0.0))
    offset = rotation.rotate(rotation.inverse(rotations[head]), above * rotation.AXES["y"])
    return Point(head, (float(offset[0]), float(offset[1]), float(offset[2])))


def _upper_body(character: Character) -> list[tuple[str, Point, float]]:
    """Return what must pass under a beam: name, point, and distance from it up to the skin, metres."""
    roles, skeleton, height = character.require_roles(), character.skeleton, character.height
    found = []
    if "head" in roles:
        found.append(("crown", crown(character), 0.0))
    for role in ("neck", "spine", "hips"):
        if role in roles:
            found.append((role, Point(roles.joints[role][-1]), SETTINGS.skin * height))
    for side in ("left", "right"):
        arm = roles.get(f"{side}_upper_arm")
        if arm is not None and skeleton.parents[arm] >= 0:
            x, y, z = skeleton.offsets[arm].tolist()
            found.append((f"{side} shoulder", Point(int(skeleton.parents[arm]), (x, y, z)), SETTINGS.skin * height))
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Under(Area):
    """A point passes under a doorway: below its beam, and before and after it below a ceiling that slopes to the beam.

    The point may only move down: a beam must not shift it along the path. So `slopes` omit the ceiling's gradient.
    """

    doorway: Doorway
    approach: float
    """Length of the sloping ceiling before and after the beam, metres."""
    rise: float
    """Height of the ceiling above the beam beyond the approach, metres."""

    def slack(self, positions: NDArray, frames: NDArray) -> NDArray:
        """Return the slack (F,), metres, for the point at positions (F, 3)."""
        away = np.abs(self.doorway.along(positions)) - 0.5 * self.doorway.depth
        share = np.clip(away / self.approach, 0.0, 1.0)
        return super().slack(positions, frames) + self.rise * share * share * (3.0 - 2.0 * share)


def pass_under(motion: Motion, character: Character, doorways: Sequence[Doorway]) -> tuple[Under, ...]:
    """Return constraints that bend a character under doorways while it passes, each upper-body part at its own time."""
    kinematics, found = Kinematics(motion), []
    for number, doorway in enumerate(doorways):
        beam = Plane((doorway.place[0], doorway.height, doorway.place[1]), (0.0, -1.0, 0.0))
        approach = SETTINGS.approach * character.height
        for name, point, skin in _upper_body(character):
            positions, air = kinematics.point(point), skin + SETTINGS.clearance * character.height
            away = np.abs(doorway.along(positions)) - 0.5 * doorway.depth - SETTINGS.lean * character.height
            near = np.flatnonzero(away < approach)
            if not len(near) or not (positions[near, 1] + air > doorway.height).any():
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
                    rise=float((positions[near, 1] - doorway.height).max())
                    + air
                    + SETTINGS.headroom * character.height,
                )
            )
    return tuple(found)


def stay_over(beams: Sequence[Under], ground: Ground) -> tuple[Above, ...]:
    """Return constraints that keep the trunk above the ground where a beam is so low that even the hips go under it."""
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
    """Return the clearance above the highest part of the upper body under each doorway, metres."""
    kinematics = Kinematics(motion)
    found = []
    for doorway in doorways:
        least = np.inf
        for _, point, skin in _upper_body(character):
            positions = kinematics.point(point)
            under = np.abs(doorway.along(positions)) <= 0.5 * doorway.depth
            least = min(least, float((doorway.height - skin - positions[under, 1]).min(initial=np.inf)))
        found.append(least)
    return found
