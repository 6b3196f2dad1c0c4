"""Palm contacts: which palms rest on the ground or hold something, and their footplants on another character."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import HANDS, Contacts, Plant
from footplant.feet.steps import EASE
from footplant.kinematics import Kinematics
from footplant.skeleton import Character

LEAST_HOLD = 0.4
"""Seconds that a palm in the air must stay in its place to hold something there: a swinging arm rests for less."""


STRAIGHT, ALONG = (0.85, 0.92), (0.85, 0.95)
"""Reach over length of an arm, and its cosine to the trunk: from where on it begins to hang, and where it does."""


ON_GROUND = 0.08
"""Body heights over the ground below which a palm rests on it, however shortly."""


def palm_plants(contacts: Contacts, target: Character, move: Callable[[NDArray], NDArray]) -> tuple[Footplant, ...]:
    """Plants of the target's palms where the source's rest on something or hold it; `move` carries the places."""
    return tuple(
        Footplant(
            point=target.contacts[plant.point],
            place=move(plant.place[None])[0],
            frames=range(plant.start, plant.end),
            ramp=EASE,
            tolerance=0.01,
            name=f"{plant.point.replace('_', ' ')} {plant.start}–{plant.end - 1}",
        )
        for plant in contacts.plants
        if plant.point in HANDS and plant.point in target.contacts
    )


def without_idle_palms(contacts: Contacts, height: float, clip: Clip | None = None) -> Contacts:
    """The contacts without palms that stand still in the air for a moment and hold nothing.

    An arm does so that swings back while the body walks on, and, where the clip tells, one that hangs down while the
    body hardly moves. height: the body's, metres.
    """
    if not any(plant.point in HANDS for plant in contacts.plants):
        return contacts
    hanging = dict.fromkeys(HANDS, np.zeros(contacts.frames))
    if clip is not None and clip.character.roles is not None:
        kinematics = Kinematics(clip.motion)
        hanging = {name: _hanging(kinematics, clip.character, name.partition("_")[0]) for name in HANDS}
    kept = []
    for plant in contacts.plants:
        idle = plant.point in HANDS and (
            not _holds(plant, contacts, height)
            or (not _on_ground(plant, contacts, height) and hanging[plant.point][plant.start : plant.end].mean() > 0.5)
        )
        kept += [] if idle else [plant]
    return replace(contacts, plants=tuple(kept))


def hangs_by_hands(contacts: Contacts, height: float) -> bool:
    """Whether the palms hold something in the air for a good part of the time: a rope, a bar, rungs."""
    held = np.zeros(contacts.frames, bool)
    for plant in contacts.plants:
        if plant.point in HANDS and not _on_ground(plant, contacts, height):
            held[plant.start : plant.end] = True
    return bool(held.mean() > 0.3) if contacts.frames else False


def _holds(plant: Plant, contacts: Contacts, height: float) -> bool:
    return len(plant) > 1 and (_on_ground(plant, contacts, height) or len(plant) >= LEAST_HOLD * contacts.fps)


def _on_ground(plant: Plant, contacts: Contacts, height: float) -> bool:
    above = plant.place[1] - float(contacts.ground.height(plant.place[None, ::2])[0])
    return above < ON_GROUND * height


def _hanging(kinematics: Kinematics, character: Character, side: str) -> NDArray:
    """(F,) how much an arm hangs down along the trunk, nearly straight, 0 to 1: its hand is where the arm ends."""
    roles, places = character.require_roles(), kinematics.positions
    names = [f"{side}_upper_arm", f"{side}_lower_arm", f"{side}_hand"]
    top = next((role for role in ("neck", "head") if role in roles), None)
    if top is None or not all(name in roles for name in names):
        return np.zeros(len(places))
    from footplant.kernels import touches as kernel

    out, (shoulder, elbow, wrist) = np.empty(len(places)), (roles[name] for name in names)
    kernel.hanging(shoulder, elbow, wrist, roles["hips"], roles[top], STRAIGHT, ALONG, places, out)
    return out
