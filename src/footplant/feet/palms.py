"""Palm contacts: which palms rest on the ground or hold something, and their footplants on another character."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.checks import real_number
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import HANDS, Contacts, Plant, known_contacts
from footplant.contacts.hanging import hanging_arm
from footplant.errors import MotionError
from footplant.feet.steps import STEP_SETTINGS
from footplant.kinematics import Kinematics
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
    hangs_by_hands: float = 0.3
    """Fraction of the frames with a palm contact in the air above which a character climbs or hangs."""


PALM_SETTINGS = PalmSettings()


def palm_plants(contacts: Contacts, target: Character, move: Callable[[NDArray], NDArray]) -> tuple[Footplant, ...]:
    """Return footplants of the target's palms for the source's palm contacts, with places moved by `move`."""
    return tuple(
        Footplant(
            point=target.contacts[plant.point],
            place=move(plant.place[None])[0],
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
    hardly moves. height: of the body, metres.
    """
    height = real_number(height, "height", MotionError, above=0.0)
    if not any(plant.point in HANDS for plant in contacts.plants):
        return contacts
    hanging = dict.fromkeys(HANDS, np.zeros(contacts.frames))
    if clip is not None and clip.character.roles is not None:
        known_contacts(contacts, clip)
        kinematics = Kinematics(clip.motion)
        hanging = {name: hanging_arm(kinematics, clip.character, name.partition("_")[0]) for name in HANDS}
    kept = []
    for plant in contacts.plants:
        idle = plant.point in HANDS and (
            not _holds(plant, contacts, height)
            or (
                not _on_ground(plant, contacts, height)
                and hanging[plant.point][plant.start : plant.end].mean() > PALM_SETTINGS.hanging
            )
        )
        kept += [] if idle else [plant]
    return replace(contacts, plants=tuple(kept))


def hangs_by_hands(contacts: Contacts, height: float) -> bool:
    """Return whether the palms often hold something in the air: a rope, a bar, rungs. height: of the body, metres."""
    height, held = real_number(height, "height", MotionError, above=0.0), np.zeros(contacts.frames, bool)
    for plant in contacts.plants:
        if plant.point in HANDS and not _on_ground(plant, contacts, height):
            held[plant.start : plant.end] = True
    return bool(held.mean() > PALM_SETTINGS.hangs_by_hands) if contacts.frames else False


def _holds(plant: Plant, contacts: Contacts, height: float) -> bool:
    return len(plant) > 1 and (
        _on_ground(plant, contacts, height) or len(plant) >= PALM_SETTINGS.shortest_hold * contacts.fps
    )


def _on_ground(plant: Plant, contacts: Contacts, height: float) -> bool:
    above = plant.place[1] - float(contacts.ground.height(plant.place[None, ::2])[0])
    return above < PALM_SETTINGS.on_ground * height
