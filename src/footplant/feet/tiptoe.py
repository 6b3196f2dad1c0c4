"""Feet without a joint for their toes, which roll over the tips of them: plants of balls become plants of the tips."""

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
    """The figure with the balls of stiff feet taken to the tips of their toes; itself where its toes can bend.

    A foot without a joint for its toes rolls over their tips: about its ball it would push them into the ground.
    """
    roles, contacts = target.require_roles(), dict(target.contacts)
    for side in ("left", "right"):
        ball, toe = (target.contacts.get(f"{side}_{part}") for part in ("ball", "toe"))
        if ball is not None and toe is not None and ball.joint == toe.joint == roles.get(f"{side}_foot"):
            contacts[f"{side}_ball"] = toe
    return target if contacts == dict(target.contacts) else replace(target, contacts=contacts)


def plants_at_toe_tips(
    plants: Sequence[Footplant], target: Character, figure: Character, motion: Motion
) -> tuple[Footplant, ...]:
    """The plants of a target whose figure stands on tiptoe (see `with_toe_tips`): those of balls as far before them.

    The way is that from the heel which stands at the same time, or as the foot mostly points in the motion.
    """
    kinematics, found = Kinematics(motion), []
    for plant in plants:
        side = next((s for s in ("left", "right") if plant.point == target.contacts.get(f"{s}_ball")), None)
        if side is None or plant.place is None or figure.contacts[f"{side}_ball"] == plant.point:
            found.append(plant)
            continue
        tip = figure.contacts[f"{side}_ball"]
        way = np.median((kinematics.point(tip) - kinematics.point(plant.point))[np.asarray(plant.frames)], axis=0)
        length = float(np.linalg.norm(np.subtract(tip.offset, plant.point.offset)))
        for other in plants:
            if other.point == target.contacts.get(f"{side}_heel") and overlap_in_time(other, plant):
                way = np.asarray(plant.place) - np.asarray(other.place)
        way = way * [1.0, 0.0, 1.0]
        way *= length / max(float(np.linalg.norm(way)), 1e-9)
        found.append(replace(plant, point=tip, place=np.asarray(plant.place) + way))
    return with_foot_length(tuple(found), figure)


def places_at_toe_tips(
    places: Sequence[Places], steps: Sequence[Step], target: Character, figure: Character, motion: Motion
) -> list[Places]:
    """Return the places of steps for a character on toe tips (see `with_toe_tips`): lone balls move forward.

    A whole foot is carried by its middle and has its length already. The way is as the foot mostly points.
    """
    kinematics, found = Kinematics(motion), list(places)
    for number, (step, (heel, ball)) in enumerate(zip(steps, places)):
        own, tip = (who.contacts[f"{step.side}_ball"] for who in (target, figure))
        if heel is None and ball is not None and own != tip:
            way = np.median((kinematics.point(tip) - kinematics.point(own))[step.start : step.end], axis=0)
            found[number] = (None, ball + way * [1.0, 0.0, 1.0])
    return found
