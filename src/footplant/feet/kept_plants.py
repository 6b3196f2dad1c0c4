"""Footplants of the clip itself that an edit must not disturb."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import AcrossFrames, Constraint, Footplant
from footplant.contacts.detection import FEET, Contacts, find_contacts
from footplant.feet.steps import EASE
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.displacement import PAPER_RATE


def plants_to_keep(
    contacts: Contacts, character: Character, constraints: Sequence[Constraint], fps: float, spacing: float = 16.0
) -> tuple[tuple[Footplant, ...], list[str]]:
    """The clip's own plants that an edit could disturb, with the smallest priority, and a sentence on those let go.

    Plants farther from every constraint than an edit reaches (`spacing`: its coarsest knots, frames of 1/30 s) are
    left alone. Where a constraint holds a foot itself, its plants are let go.
    """
    frames = contacts.frames
    near, held = np.zeros(frames, bool), {side: np.zeros(frames, bool) for side in ("left", "right")}
    every = np.arange(frames)
    feet = {side: _foot_joints(character, side) for side in held}
    for constraint in constraints:
        busy = _busy(constraint, every, fps)
        near |= busy
        for joint in _joints_of(constraint):
            for side, joints in feet.items():
                if joint in joints:
                    held[side] |= busy
    # a cubic B-spline reaches two knots on either side, and two more where it is fitted to what lies there
    reach = int(np.ceil(4.0 * spacing * fps / PAPER_RATE))
    touched = np.flatnonzero(near)
    least = min((constraint.priority for constraint in constraints), default=0) - 1
    kept, freed = [], []
    for plant in contacts.plants:
        side = plant.point.partition("_")[0]
        if plant.point not in character.contacts or not len(touched):
            continue
        if plant.end <= touched[0] - reach or plant.start > touched[-1] + reach:
            continue
        if side in held and held[side][plant.start : plant.end].any():
            freed.append(f"{plant.point} {plant.start}–{plant.end - 1}")
            continue
        kept.append(
            Footplant(
                point=character.contacts[plant.point],
                place=plant.place,
                frames=range(plant.start, plant.end),
                ramp=EASE,
                priority=least,
                name=f"{plant.point.replace('_', ' ')} {plant.start}–{plant.end - 1} (kept)",
            )
        )
    if not freed:
        return tuple(kept), []
    return tuple(kept), [f"let go, since constraints hold their foot meanwhile: {', '.join(freed)}"]


def _foot_joints(character: Character, side: str) -> set[int]:
    roles = character.roles
    foot = None if roles is None else roles.get(f"{side}_foot")
    if foot is not None:
        return set(character.skeleton.descendants(foot))
    return {point.joint for name, point in character.contacts.items() if name.startswith(f"{side}_") and name in FEET}


def _joints_of(constraint: Constraint) -> list[int]:
    """The joints whose place or turn a constraint is about, if it is about single ones."""
    points = [getattr(constraint, key) for key in ("point", "other") if hasattr(constraint, key)]
    own = [constraint.joint] if hasattr(constraint, "joint") else []  # type: ignore[attr-defined]
    return [point.joint for point in points] + own


def _busy(constraint: Constraint, frames: NDArray, fps: float) -> NDArray:
    """(F,) bool: frames at which a constraint is at work, ramps included."""
    if isinstance(constraint, AcrossFrames):
        return np.isin(frames, constraint.groups(len(frames)))
    return constraint.activation(frames, fps) > 0


def own_plants(motion: Motion, character: Character) -> list[Footplant]:
    """The motion's own plants where they are, as constraints."""
    return [
        Footplant(
            point=character.contacts[plant.point],
            place=plant.place,
            frames=range(plant.start, plant.end),
            ramp=EASE,
            name=f"{plant.point.replace('_', ' ')} {plant.start}–{plant.end - 1}",
        )
        for plant in find_contacts((motion, character)).plants
    ]
