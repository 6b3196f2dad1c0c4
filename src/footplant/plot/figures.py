"""What a page draws of a motion, as JSON-ready data: the character, its footplants, curves and the ground."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import FEET, HANDS, TOES
from footplant.contacts.ground import Ground
from footplant.kinematics import Kinematics
from footplant.quality.measure import PlantQuality
from footplant.quality.published import ground_speed
from footplant.skeleton import Character

LIMBS = (
    ("left_foot", ("left_upper_leg",)),
    ("right_foot", ("right_upper_leg",)),
    ("left_hand", ("left_clavicle", "left_upper_arm")),
    ("right_hand", ("right_clavicle", "right_upper_arm")),
)
"""Tracks of a timeline, and the roles at which their limb may begin."""
CELLS = 220
"""Cells along the longer side of the drawn ground."""
MARGIN = 1.5
"""Margin of ground around the motion, metres."""
DRIFTING = 5.0
"""Drift above which a footplant is drawn red, mm for a person of average height; the goal of the worst stance."""
AVERAGE = 1.75
"""Height of that person, metres."""


def track_of(character: Character, joint: int) -> str:
    """Return the timeline track that shows a joint's constraints."""
    roles = character.roles
    for track, starts in LIMBS:
        start = next((roles[role] for role in starts if roles is not None and role in roles), None)
        if start is not None and joint in character.skeleton.descendants(start):
            return track
    return "body"


def character_data(character: Character) -> dict[str, Any]:
    """Return joints, tracks, contact points and end sites of a character."""
    roles = character.roles
    names = {} if roles is None else {joint: role for role, found in roles.joints.items() for joint in found[:1]}
    contacts = {name: point for name, point in character.contacts.items() if name not in TOES}
    return {
        "name": character.name,
        "height": character.height,
        "joints": list(character.skeleton.names),
        "roles": [names.get(joint, "") for joint in range(len(character.skeleton))],
        "parents": character.skeleton.parents.tolist(),
        "tracks": [track_of(character, joint) for joint in range(len(character.skeleton))],
        "points": [
            {"name": name, "joint": point.joint, "offset": list(point.offset), "hand": name in HANDS}
            for name, point in contacts.items()
        ],
        "ends": [
            {"joint": int(joint), "offset": offset}
            for joint, offset in zip(character.skeleton.end_parents, character.skeleton.end_offsets.tolist())
        ],
        "skinned": character.skin is not None,
    }


def plant_marks(
    kinematics: Kinematics, character: Character, plants: Sequence[PlantQuality], shift: int = 0
) -> list[dict[str, Any]]:
    """Return footplants as bars of a timeline and footprints, with their drift.

    shift: frames that were dropped before the first frame of the motion, after the plants were measured.
    """
    limit = DRIFTING * max(character.height or AVERAGE, 0.1) / AVERAGE
    marks = []
    for number, plant in enumerate(plants):
        start, end = max(plant.start - shift, 0), min(plant.end - shift, len(kinematics.frames))
        point = character.contacts.get(plant.point)
        if point is None or end <= start:
            continue
        place = np.median(kinematics[np.arange(start, end)].point(point), axis=0)
        marks.append({
            "id": number + 1, "kind": "plant", "title": f"{plant.point.replace('_', ' ')} {start}–{end - 1}",
            "point": plant.point, "joint": point.joint, "track": track_of(character, point.joint), "start": start,
            "end": end, "ramp": [0.0, 0.0], "place": place.round(4).tolist(), "free": False,
            "wrong": bool(plant.drift > limit), "drift": round(float(plant.drift), 3),
        })  # fmt: skip
    return marks


def foot_curves(kinematics: Kinematics, character: Character, ground: Ground, plot: str) -> dict[str, NDArray]:
    """Return one curve (F,) for each heel and ball: "height" above the ground, mm, or horizontal "speed", m/s."""
    found = {}
    for name in FEET:
        if name in character.contacts:
            track = kinematics.point(character.contacts[name])
            if plot == "height":
                found[name.replace("_", " ")] = 1000.0 * (track[:, 1] - ground.height(track[:, ::2]))
            else:
                speed = ground_speed(track, kinematics.motion.fps)
                found[name.replace("_", " ")] = np.append(speed, speed[-1:])
    return found


def ground_grid(kinematics: Iterable[Kinematics], ground: Ground) -> tuple[NDArray, NDArray, NDArray]:
    """Return (low corner, step, heights) of the ground under some motions, metres."""
    parts = [kin.positions[:: max(len(kin.positions) // 400, 1), :, ::2].reshape(-1, 2) for kin in kinematics]
    places = np.concatenate(parts)
    return grid_around(places.min(axis=0) - MARGIN, places.max(axis=0) + MARGIN, ground.height)


def grid_around(
    low: NDArray, high: NDArray, height: Callable[[NDArray], NDArray], cells: int = CELLS
) -> tuple[NDArray, NDArray, NDArray]:
    """Return (low corner, step, heights) of the ground between two corners (x, z), metres.

    cells: along the longer side.
    """
    step = float((high - low).max()) / cells
    counts = np.maximum(np.ceil((high - low) / step).astype(int) + 1, 2)
    axes = [low[axis] + step * np.arange(counts[axis]) for axis in (0, 1)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return low, np.array([step, step]), np.asarray(height(grid))
