"""Palm contacts: which palms rest on the ground or hold something, and their footplants on another character."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.checks import real_number
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import HANDS, Contacts, Plant, known_contacts
from footplant.contacts.hanging import hanging_arm
from footplant.errors import MotionError
from footplant.feet.steps import STEP_SETTINGS
from footplant.humanoid.body_proxy import SEGMENTS
from footplant.humanoid.body_shell import surface_of
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character


@dataclass(frozen=True)
class PalmSettings:
    """Tuning numbers of palm contacts. Where a field names no experiment, none is on record."""

    shortest_hold: float = 0.4
    """Seconds; shortest contact of a palm in the air. A swinging arm is still for less time at its turning points."""
    on_ground: float = 0.08
    """Body heights; a palm nearer to the ground than this is in contact with it, however briefly."""
    hanging: float = 0.5
    """Mean hanging weight of the arm above which a palm contact in the air is dropped."""
    on_body: float = 0.06
    """Body heights; a palm in the air nearer than this to the own body, the other arm among it, may rest on it. The
    arms' stage keeps it there; held in the world, crossed arms come apart and hands on hips bend elbows the other
    way."""
    along_body: float = 0.08
    """Body heights; a palm that moves along the body by more than this does not rest on it: it holds a rung that the
    body climbs past. Palms on the body move by 0.05 at most in five contacts, those on rungs by 0.1 or more."""
    hangs_by_hands: float = 0.3
    """Fraction of the frames with a palm contact in the air above which a character climbs or hangs."""


PALM_SETTINGS = PalmSettings()
_LOOKS = 9
"""Frames of a contact at which the distance of the palm from the body is measured."""


def palm_plants(
    contacts: Contacts,
    target: Character,
    move: Callable[[NDArray], NDArray],
    height: float,
    motion: Motion | None = None,
) -> tuple[Footplant, ...]:
    """Return footplants of the target's palms for the source's palm contacts, with places moved by `move`.

    height: of the source's body, metres. motion: of the target; if given, places are free and become the mean of the
    palm's path in it, the nearest place of all; palms on the ground stay at its height.
    """
    kinematics = None if motion is None else Kinematics(motion)

    def place(plant: Plant) -> NDArray:
        moved = move(plant.place[None])[0]
        if kinematics is None:
            return moved
        free = kinematics.point(target.contacts[plant.point])[plant.start : plant.end].mean(axis=0)
        return np.array([free[0], moved[1], free[2]]) if rests_on_ground(plant, contacts, height) else free

    return tuple(
        Footplant(
            point=target.contacts[plant.point],
            place=place(plant),
            frames=range(plant.start, plant.end),
            ramp=STEP_SETTINGS.ramp,
            tolerance=0.01,
            name=f"{plant.point.replace('_', ' ')} {plant.start}–{plant.end - 1}",
        )
        for plant in contacts.plants
        if plant.point in HANDS and plant.point in target.contacts
    )


def without_idle_palms(contacts: Contacts, height: float, clip: Clip | None = None) -> Contacts:
    """Return the contacts without palms that are still in the air but hold nothing.

    That is a palm at a turning point of the arm's swing and, with a clip given, an arm that hangs down while the body
    hardly moves, or a palm that rests on the own body. height: of the body, metres.
    """
    height = real_number(height, "height", MotionError, above=0.0)
    if not any(plant.point in HANDS for plant in contacts.plants):
        return contacts
    hanging, rests = dict.fromkeys(HANDS, np.zeros(contacts.frames)), None
    if clip is not None and clip.character.roles is not None:
        known_contacts(contacts, clip)
        kinematics = Kinematics(clip.motion)
        hanging = {name: hanging_arm(kinematics, clip.character, name.partition("_")[0]) for name in HANDS}
        rests = partial(_rests_on_body, kinematics, clip.character)
    kept = []
    for plant in contacts.plants:
        idle = plant.point in HANDS and (
            not _holds(plant, contacts, height)
            or (
                not rests_on_ground(plant, contacts, height)
                and (
                    hanging[plant.point][plant.start : plant.end].mean() > PALM_SETTINGS.hanging
                    or (rests is not None and rests(plant))
                )
            )
        )
        kept += [] if idle else [plant]
    return replace(contacts, plants=tuple(kept))


def hangs_by_hands(contacts: Contacts, height: float) -> bool:
    """Return whether the palms often hold something in the air: a rope, a bar, rungs. height: of the body, metres."""
    height, held = real_number(height, "height", MotionError, above=0.0), np.zeros(contacts.frames, bool)
    for plant in contacts.plants:
        if plant.point in HANDS and not rests_on_ground(plant, contacts, height):
            held[plant.start : plant.end] = True
    return bool(held.mean() > PALM_SETTINGS.hangs_by_hands) if contacts.frames else False


def _rests_on_body(kinematics: Kinematics, character: Character, plant: Plant) -> bool:
    """Return whether a planted palm stays at one place of the body, its own arm apart."""
    from footplant.kernels import surface as kernel

    tubes, side = surface_of(character).tables(), plant.point.partition("_")[0]
    others = [number for number, name in enumerate(SEGMENTS) if not (name.startswith(side) and _of_arm(name))]
    palms, found, away, seen = (
        kinematics.point(character.contacts[plant.point]),
        np.empty((1, len(SEGMENTS), 4)),
        [],
        [],
    )
    for frame in np.unique(np.linspace(plant.start, plant.end - 1, _LOOKS).astype(int)):
        positions, rotations = kinematics.positions[frame], kinematics.rotations[frame]
        kernel.all_distances(tubes, positions, rotations, palms[[frame]], found)
        away.append(found[0, others, 0])
        joints = tubes.joints[others]
        seen.append(rotation.rotate(rotation.inverse(rotations[joints]), palms[frame] - positions[joints]))
    distances = np.median(away, axis=0)
    nearest = int(distances.argmin())
    moved = float(np.linalg.norm(np.ptp(np.array(seen)[:, nearest], axis=0)))
    return (
        float(distances[nearest]) < PALM_SETTINGS.on_body * character.height
        and moved < PALM_SETTINGS.along_body * character.height
    )


def _of_arm(segment: str) -> bool:
    return segment.endswith(("_arm", "_hand"))


def _holds(plant: Plant, contacts: Contacts, height: float) -> bool:
    return len(plant) > 1 and (
        rests_on_ground(plant, contacts, height) or len(plant) >= PALM_SETTINGS.shortest_hold * contacts.fps
    )


def rests_on_ground(plant: Plant, contacts: Contacts, height: float) -> bool:
    """Return whether a palm contact is on the ground; height: of the body, metres."""
    above = plant.place[1] - float(contacts.ground.height(plant.place[None, ::2])[0])
    return above < PALM_SETTINGS.on_ground * height
