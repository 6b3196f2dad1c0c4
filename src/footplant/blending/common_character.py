"""Clips put on one figure and one floor before they are compared or mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from footplant.clip import Clip
from footplant.contacts.detection import FEET, Contacts, find_contacts
from footplant.contacts.stillness import lead_in
from footplant.edits.retarget import retarget
from footplant.errors import MotionError
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, Skeleton


def same_figure(a: Skeleton, b: Skeleton) -> bool:
    """Whether two skeletons have the same joints with the same bones."""
    return (
        a.names == b.names
        and np.array_equal(a.parents, b.parents)
        and np.allclose(a.offsets[1:], b.offsets[1:], atol=1e-6)
        and np.allclose(a.rest, b.rest, atol=1e-6)
    )


def on_one_character(clips: Sequence[Clip], character: Character | None = None) -> tuple[Clip, ...]:
    """The clips on one figure (the first one's), without T-poses before the motion.

    A clip of another figure is retargeted with its footplants kept.
    """
    if not clips:
        raise MotionError("expected at least one clip, got none")
    target = character or clips[0].character
    found = []
    for clip in clips:
        if len(clip.motion) < 2:
            raise MotionError(f"expected a clip of at least 2 frames, got {len(clip.motion)} in {clip.name!r}")
        lead = lead_in(Kinematics(clip.motion[:12]).positions, clip.character.height or 1.7)
        clip = replace(clip, motion=clip.motion[lead:])
        if clip.motion.offsets is not None or not same_figure(clip.character.skeleton, target.skeleton):
            clip = replace(clip, motion=retarget(clip, target).motion, character=target, layout=None)
        elif clip.character is not target:
            motion = Motion(target.skeleton, clip.motion.root, clip.motion.rotations, clip.motion.fps)
            clip = replace(clip, motion=motion, character=target)
        found.append(clip)
    return tuple(found)


def contacts_of(clip: Clip) -> Contacts | None:
    """The plants of a clip; None for a figure without feet."""
    return find_contacts(clip) if any(name in clip.character.contacts for name in FEET) else None


def floor_level(contacts: Contacts) -> float:
    """Metres; the height of the ground under all plants, on average."""
    if not contacts.plants:
        return float(contacts.ground.height(np.zeros((1, 2)))[0])
    places = np.array([plant.place for plant in contacts.plants])
    return float(contacts.ground.height(places[:, ::2]).mean())


def prepared(
    clips: Sequence[Clip], character: Character | None = None, contacts: Sequence[Contacts | None] | None = None
) -> tuple[tuple[Clip, ...], list[Contacts | None]]:
    """The clips on one character, raised or lowered so that all stand at the level of the first one's floor; plants.

    contacts: the clips' plants, where they are known already.
    """
    clips = on_one_character(clips, character)
    contacts = [contacts_of(clip) for clip in clips] if contacts is None else contacts
    level = next((floor_level(own) for own in contacts if own is not None and own.plants), 0.0)
    moved, found = [], []
    for clip, plants in zip(clips, contacts):
        by = 0.0 if plants is None or not plants.plants else level - floor_level(plants)
        if plants is not None and abs(by) > 1e-9:
            up = np.array([0.0, by, 0.0])
            clip = replace(clip, motion=replace(clip.motion, root=clip.motion.root + up))
            raised = tuple(replace(plant, place=plant.place + up) for plant in plants.plants)
            plants = replace(plants, plants=raised, ground=Plane((0.0, level, 0.0)))
        moved.append(clip)
        found.append(plants)
    return tuple(moved), found
