"""Feet without a toe joint: they roll over the tips of their toes, so footplants of the ball move to the tip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from footplant.constraints import Footplant
from footplant.feet.steps import Places, Step, overlap_in_time, with_foot_length
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character


def with_toe_tips(target: Character) -> Character:
    """Return the character with the ball contacts of feet without toe joints moved to the toe tips, or itself.

    Such a foot rolls over the tips: rolling about the ball would push them into the ground.
    """
    roles, contacts = target.require_roles(), dict(target.contacts)
    for side in ("left", "right"):
        ball, toe = (target.contacts.get(f"{side}_{part}") for part in ("ball", "toe"))
        if ball is not None and toe is not None and ball.joint == toe.joint == roles.get(f"{side}_foot"):
            contacts[f"{side}_ball"] = toe
    return target if contacts == dict(target.contacts) else replace(target, contacts=contacts)


def plants_at_toe_tips(
    plants: Sequence[Footplant], target: Character, on_tips: Character, motion: Motion
) -> tuple[Footplant, ...]:
    """Return footplants of a target for `on_tips`, the same character with `with_toe_tips`: balls move forward to tips.

    The direction is from the heel planted at the same time, or else the median direction of the foot in the motion.
    """
    kinematics, found = Kinematics(motion), []
    for plant in plants:
        side = next((s for s in ("left", "right") if plant.point == target.contacts.get(f"{s}_ball")), None)
        if side is None or plant.place is None or on_tips.contacts[f"{side}_ball"] == plant.point:
            found.append(plant)
            continue
        tip = on_tips.contacts[f"{side}_ball"]
        offset = np.median((kinematics.point(tip) - kinematics.point(plant.point))[np.asarray(plant.frames)], axis=0)
        length = float(np.linalg.norm(np.subtract(tip.offset, plant.point.offset)))
        for other in plants:
            if other.point == target.contacts.get(f"{side}_heel") and overlap_in_time(other, plant):
                offset = np.asarray(plant.place) - np.asarray(other.place)
        offset = offset * [1.0, 0.0, 1.0]
        offset *= length / max(float(np.linalg.norm(offset)), 1e-9)
        found.append(replace(plant, point=tip, place=np.asarray(plant.place) + offset))
    return with_foot_length(tuple(found), on_tips)


def places_at_toe_tips(
    places: Sequence[Places], steps: Sequence[Step], target: Character, on_tips: Character, motion: Motion
) -> list[Places]:
    """Return the places of steps for a character on toe tips (see `with_toe_tips`): lone balls move forward.

    A foot with heel and ball planted has its length already. The direction is the median one of the foot.
    """
    kinematics, found = Kinematics(motion), list(places)
    for number, (step, (heel, ball)) in enumerate(zip(steps, places)):
        own, tip = (who.contacts[f"{step.side}_ball"] for who in (target, on_tips))
        if heel is None and ball is not None and own != tip:
            offset = np.median((kinematics.point(tip) - kinematics.point(own))[step.start : step.end], axis=0)
            found[number] = (None, ball + offset * [1.0, 0.0, 1.0])
    return found
