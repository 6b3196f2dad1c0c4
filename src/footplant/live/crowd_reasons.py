"""Why a goal of a crowd is not met."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.errors import SkeletonError
from footplant.live.crowd_scene import CrowdScene, Goal
from footplant.skeleton import Character
from footplant.solve.ik.limb import LIMBS, limb_of

MET = 0.001
"""Metres or radians of a goal that may be left when it counts as met."""
STRETCHED = 0.995
"""Fraction of its length from which a limb counts as straight: nothing that it moves for is nearer."""


def why_unmet(scene: CrowdScene, number: int, seconds: float, places: NDArray) -> str:
    """Return why a goal of a scene, by its number, is not met at a time, in words for a table.

    places: (J, 3) metres, joints of its actor at that time. Tried in this order: the goal ramps; the limb that it is on
    is stretched; another goal counts more, or as much; bodies are kept apart; or the body can do no more.
    """
    goal = scene.goals[number]
    if goal.activation(seconds) < 1.0:
        return "it ramps in or out"
    limb = _stretched(scene.actors[goal.actor].character, goal, places)
    if limb is not None:
        return f"out of reach: the {limb} is straight"
    others = [
        other
        for n, other in enumerate(scene.goals)
        if n != number and other.actor == goal.actor and other.activation(seconds) > 0.0
    ]
    above = max((other for other in others if other.priority > goal.priority), key=_priority, default=None)
    if above is not None:
        return f"{_named(above)} has the higher priority"
    if scene.apart is not None and scene.apart >= goal.priority:
        return "kept out of other bodies"
    beside = next((other for other in others if other.priority == goal.priority), None)
    if beside is not None:
        return f"{_named(beside)} has the same priority"
    return "joint limits, or feet that stand"


def _priority(goal: Goal) -> int:
    return goal.priority


def _named(goal: Goal) -> str:
    return f"{goal.name!r}" if goal.name else f"another goal ({goal.kind})"


def _stretched(character: Character, goal: Goal, places: NDArray) -> str | None:
    """Return the name of the limb that carries a goal's point where it is straight, in words."""
    for name in LIMBS:
        try:
            limb = limb_of(character, name)
        except SkeletonError:
            continue
        if goal.point.joint not in character.skeleton.descendants(limb.lower):
            continue
        start, middle, end = places[[limb.upper, limb.lower, limb.end]]
        length = np.linalg.norm(middle - start) + np.linalg.norm(end - middle)
        return name.replace("_", " ") if np.linalg.norm(end - start) >= STRETCHED * length else None
    return None
