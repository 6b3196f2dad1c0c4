"""Footplants of a clip that an edit must keep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import AcrossFrames, Apart, Constraint, Footplant, JointLimits, Relation
from footplant.contacts.detection import FEET, Contacts, find_contacts
from footplant.feet.soles import flatten_toes
from footplant.feet.steps import STEP_SETTINGS, as_long_as_the_foot
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.displacement import PAPER_RATE


def plants_to_keep(
    contacts: Contacts, character: Character, constraints: Sequence[Constraint], fps: float, spacing: float = 16.0
) -> tuple[tuple[Footplant, ...], list[str]]:
    """Return the clip's footplants that an edit could disturb, at the highest priority, and notes on those released.

    Contacts farther in time from every constraint than an edit reaches are omitted; spacing: of its coarsest knots, in
    frames of 1/30 s. Contacts of a foot that is itself constrained at the time are released.
    """
    frames = contacts.frames
    active, held = np.zeros(frames, bool), {side: np.zeros(frames, bool) for side in ("left", "right")}
    every = np.arange(frames)
    feet = {side: _foot_joints(character, side) for side in held}
    for constraint in constraints:
        own = _active(constraint, every, fps)
        active |= own
        # limits of many joints, relations between joints, and parts that stay out of each other hold no foot
        for joint in () if isinstance(constraint, Apart | JointLimits | Relation) else constraint.joints:
            for side, joints in feet.items():
                if joint in joints:
                    held[side] |= own
    # a cubic B-spline extends two knots to either side, and two more where it is fitted to data there
    reach = int(np.ceil(4.0 * spacing * fps / PAPER_RATE))
    edited = np.flatnonzero(active)
    most = max((constraint.priority for constraint in constraints), default=0) + 1
    kept, released = [], []
    for plant in contacts.plants:
        side = plant.point.partition("_")[0]
        if plant.point not in character.contacts or not len(edited):
            continue
        if plant.end <= edited[0] - reach or plant.start > edited[-1] + reach:
            continue
        if side in held and held[side][plant.start : plant.end].any():
            released.append(f"{plant.point} {plant.start}–{plant.end - 1}")
            continue
        kept.append(
            Footplant(
                point=character.contacts[plant.point],
                place=plant.place,
                frames=range(plant.start, plant.end),
                ramp=STEP_SETTINGS.ramp,
                priority=most,
                name=f"{plant.point.replace('_', ' ')} {plant.start}–{plant.end - 1} (kept)",
            )
        )
    if not released:
        return tuple(kept), []
    return tuple(kept), [f"released, because constraints hold their foot at the time: {', '.join(released)}"]


def _foot_joints(character: Character, side: str) -> set[int]:
    roles = character.roles
    foot = None if roles is None else roles.get(f"{side}_foot")
    if foot is not None:
        return set(character.skeleton.descendants(foot))
    return {point.joint for name, point in character.contacts.items() if name.startswith(f"{side}_") and name in FEET}


def _active(constraint: Constraint, frames: NDArray, fps: float) -> NDArray:
    """Return (F,) bool: the frames at which a constraint is active, ramps included."""
    if isinstance(constraint, AcrossFrames):
        return np.isin(frames, constraint.groups(len(frames)))
    return constraint.activation(frames, fps) > 0


def own_plants(motion: Motion, character: Character, contacts: Contacts | None = None) -> list[Footplant]:
    """Return the motion's contacts as footplants at their places, heel and ball as far apart as its feet are.

    contacts: those of the motion where they are known. Places of heel and ball by themselves are millimetres nearer or
    farther than the foot is long: a solver would bend toes to meet both, by up to 31° where a hand is dragged. The
    length is that of feet with their toes laid flat, as they stand.
    """
    contacts = find_contacts((motion, character)) if contacts is None else contacts
    plants = tuple(
        Footplant(
            point=character.contacts[plant.point],
            place=plant.place,
            frames=range(plant.start, plant.end),
            ramp=STEP_SETTINGS.ramp,
            name=f"{plant.point.replace('_', ' ')} {plant.start}–{plant.end - 1}",
        )
        for plant in contacts.plants
    )
    flat = flatten_toes(motion, character, plants, contacts.ground) if character.roles is not None else motion
    return list(as_long_as_the_foot(plants, flat, character))
