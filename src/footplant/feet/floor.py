"""Find the floor that a clip stands on, and move the clip so that the floor is at a given height."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from footplant.checks import real_number
from footplant.clip import Clip
from footplant.contacts.detection import find_contacts
from footplant.errors import MotionError, SkeletonError
from footplant.feet.lead_in import split_lead_in
from footplant.feet.stances import floor_level
from footplant.kinematics import Kinematics

USUAL = 0.005
"""Metres from 0 within which a floor is where everyone expects it."""


@dataclass(frozen=True)
class Floor:
    """The floor of a clip."""

    level: float
    """Height, metres."""
    evidence: str
    """What it was found from, for people."""

    @property
    def is_usual(self) -> bool:
        """Return whether it is at 0, up to a few millimetres: not worth a note."""
        return abs(self.level) < USUAL

    def __str__(self) -> str:
        """Return a sentence."""
        return f"the clip's floor is at {self.level:.3f} m ({self.evidence})"


def find_floor(clip: Clip) -> Floor | None:
    """Return the floor of a clip: the level of its foot contacts, else its lowest point; None without frames.

    On stairs and slopes the lowest contact counts. A T-pose before the motion is ignored.
    """
    if not len(clip.motion):
        return None
    body = split_lead_in(clip)[1] if clip.character.roles is not None else clip
    body = body if len(body.motion) else clip
    kinematics = Kinematics(body.motion)
    try:
        contacts = find_contacts(body)
    except (SkeletonError, MotionError):
        contacts = None
    if contacts is not None and contacts.plants:
        level = floor_level(kinematics, body.character, contacts)
        if level is not None:
            return Floor(level, f"the soles in {len(contacts.plants)} foot contacts")
        lowest = min(float(np.min(np.asarray(plant.place)[..., 1])) for plant in contacts.plants)
        return Floor(lowest, f"the lowest of {len(contacts.plants)} foot contacts on uneven ground")
    points = list(body.character.contacts.values())
    places = kinematics.points(points) if points else kinematics.positions
    return Floor(float(places[..., 1].min()), "the lowest point of the feet" if points else "the lowest joint")


def put_floor_at(clip: Clip, level: float) -> tuple[Clip, Floor | None]:
    """Return the clip moved vertically so that its floor is at `level`, metres, and the floor as it was found.

    Other characters of the clip move with it.
    """
    real_number(level, "height of the floor", MotionError)
    floor = find_floor(clip)
    return (clip, None) if floor is None else (raised(clip, level - floor.level), floor)


def raised(clip: Clip, by: float) -> Clip:
    """Return the clip, with all its characters, moved up by metres."""
    motion = replace(clip.motion, root=clip.motion.root + [0.0, by, 0.0])
    return replace(clip, motion=motion, others=tuple(raised(other, by) for other in clip.others))
