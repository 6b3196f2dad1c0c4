"""Morphology-independent motion: normalise a motion, scale it to any character, and solve its constraints again.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), sections 3 to 9. Unlike `edits.retarget`, which solves the whole clip, it works frame by frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from footplant.clip import Clip
from footplant.constraints import (
    Constraint,
    Footplant,
)
from footplant.constraints.transfer import ConstraintTransfer
from footplant.feet.steps import foot_length
from footplant.kinematics import Kinematics
from footplant.normalized import Normalized, convert, normalize, scale
from footplant.problem import Problem, Progress
from footplant.result import CharacterSource, ClipSource, Result, as_character, as_clip
from footplant.skeleton import Character
from footplant.solve.ik.groupccd import GroupCcd
from footplant.solve.methods.perframe import PerFrame
from footplant.transfer import source_motion


def share(
    clip: ClipSource,
    target: CharacterSource,
    constraints: Sequence[Constraint] = (),
    *,
    normalized: Normalized | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the clip on another character by way of its normalised form, with its constraints solved.

    constraints: of the clip's own character; joints are matched by role, and positions are scaled with the leg length
    about the motion's origin. normalized: the clip's normalised form if it is already known.
    """
    clip, target = as_clip(clip, humanoid=True), as_character(target)
    normalized = normalized or normalize(source_motion(clip.motion, clip.character, target), clip.character)
    motion = convert(scale(normalized, target))
    constraint_transfer = ConstraintTransfer(clip.character, target, normalized, Kinematics(motion))
    carried, notes = [], []
    for constraint in constraints:
        made = constraint_transfer.transferred(constraint)
        if made is None:
            notes.append(f"{constraint.title}: {target.name!r} has no counterpart for it; left out")
        else:
            carried.append(made)
    carried = _agreeing(carried, target)
    solver = GroupCcd(target)
    refused = {id(c): solver.refuses(c) for c in carried}
    notes += [f"{c.title}: left out: {refused[id(c)]}" for c in carried if refused[id(c)]]
    problem = Problem(motion, target, tuple(c for c in carried if not refused[id(c)]))
    solution = PerFrame(solver).solve(problem, progress).noted(*notes)
    return Result.of(clip, solution, target, source=clip)


def _agreeing(constraints: Sequence[Constraint], target: Character) -> list[Constraint]:
    """Plants of a ball that stands while its heel does, moved to be as far from it as the foot is long."""
    found = list(constraints)
    for side in ("left", "right"):
        heel, ball = (target.contacts.get(f"{side}_{part}") for part in ("heel", "ball"))
        if heel is None or ball is None:
            continue
        length = foot_length(target, side)
        heels = [c for c in found if isinstance(c, Footplant) and c.point == heel and isinstance(c.frames, range)]
        for number, plant in enumerate(found):
            if not (isinstance(plant, Footplant) and plant.point == ball and isinstance(plant.frames, range)):
                continue
            beside = [h for h in heels if h.frames.start < plant.frames.stop and plant.frames.start < h.frames.stop]  # type: ignore[union-attr]
            if not beside:
                continue
            line = (np.asarray(plant.place) - np.asarray(beside[0].place)) * [1.0, 0.0, 1.0]
            drop = float(np.asarray(plant.place)[1] - np.asarray(beside[0].place)[1])
            level = np.sqrt(max(length**2 - drop**2, 0.0)) * line / max(float(np.linalg.norm(line)), 1e-9)
            found[number] = replace(plant, place=np.asarray(beside[0].place) + level + [0.0, drop, 0.0])
    return found


def plants_of(clip: Clip, ramp: float = 0.15) -> tuple[Footplant, ...]:
    """The clip's footplants as constraints that can travel with it: heel and ball, found by `analysis.contacts`."""
    from footplant.contacts.detection import find_contacts

    contacts = find_contacts(clip)
    kinematics = Kinematics(clip.motion)
    found = []
    for name in contacts.points:
        for start, stop in contacts.intervals(name):
            plant = Footplant(
                name=name, point=clip.character.contacts[name], frames=range(start, stop), ramp=(ramp, ramp), priority=2
            )
            found.append(plant.settled(kinematics))
    return tuple(found)
