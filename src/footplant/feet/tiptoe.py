"""Feet on the tips of their toes.

Feet without a toe joint roll over the tips, so footplants of the ball move to the tip. Feet with one stand on the tips
where the toes point down (dancers): the ball is planted as high above the ground as the toes ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from footplant.constraints import Footplant
from footplant.contacts.ground import Ground
from footplant.feet.steps import Places, Step, overlap_in_time, with_foot_length
from footplant.humanoid.sole import foot_outline
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


def balls_above_toes(
    plants: Sequence[Footplant], target: Character, motion: Motion, ground: Ground, near: float
) -> tuple[Footplant, ...]:
    """Return the footplants with balls that the toes hold up raised until the tips stand on the ground.

    That is a ball without its heel that is planted above the ground, or was put on the ground although its toes, as
    the motion has them, reach farther down than `near`, metres, and its height in the motion is nearer to theirs than
    to 0. Toes that are nearer to flat are laid flat instead. No ball is raised by more than `near`.
    """
    kinematics, found = Kinematics(motion), list(plants)
    for number, plant in enumerate(plants):
        side = next((s for s in ("left", "right") if plant.point == target.contacts.get(f"{s}_ball")), None)
        tip, heel = (target.contacts.get(f"{side}_{part}") for part in ("toe", "heel"))
        if tip is None or plant.place is None or tip.joint == target.require_roles().get(f"{side}_foot"):
            continue
        if any(other.point == heel and overlap_in_time(other, plant) for other in plants):
            continue
        toes = [point for point in foot_outline(target, str(side)) if point.joint == tip.joint]
        ball, end, *outline = np.median(kinematics.points([plant.point, tip, *toes])[np.asarray(plant.frames)], axis=0)
        place = np.array(plant.place, float)
        level = float(ground.height(place[None, ::2])[0])
        above, reach = float(place[1]) - level, float(ball[1] - end[1])
        if above <= 0.0:
            above = float(ball[1] - ground.height(ball[None, ::2])[0])
            if reach <= near or above < 0.5 * reach:
                continue
        height = min(float(ball[1] - min(point[1] for point in (end, *outline))), above + near)
        if level + height > place[1]:
            found[number] = plant.like(place=np.array([place[0], level + height, place[2]]))
    return tuple(found)


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
