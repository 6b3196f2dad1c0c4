"""Repair of anybody's clip: feet that skate, float or sink are put right with the least change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import Contacts
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround, as_ground
from footplant.contacts.stillness import LEAD_IN_FRAMES, lead_in
from footplant.feet.detached import detach_feet, with_attached_feet
from footplant.feet.lead_in import FirstFrame, restore_lead_in, without_lead_in
from footplant.feet.soles import above_ground_constraints
from footplant.feet.stage import with_plausible_floor
from footplant.feet.stances import (
    Stance,
    add_stances,
    find_skating_contacts,
    find_stance,
    flatten_planted_toes,
    floor_level,
    merge_contacts,
)
from footplant.feet.steps import raised_to_ground, with_foot_length
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.passes.limit_acceleration import SourcePeak
from footplant.passes.sole_rounds import DEPTH, allowed_depths, lift_soles_for_repair, within_acceleration_limit
from footplant.problem import Problem, Progress, Solution
from footplant.quality.measure import Quality, measure_each
from footplant.skeleton import Character
from footplant.solve.choose_ik import editing_ik
from footplant.solve.methods.hierarchical import Hierarchical

FLOOR = 0.05
"""Body heights; a level floor this near to height 0 is meant to be there (9 cm for an adult)."""
ROUNDS = 4
"""How often plants are looked for at most."""


def repair(
    clip: Clip,
    *,
    ground: Ground | float | None = None,
    slide: float | None = None,
    first_frame: FirstFrame = "keep",
    contacts: Contacts | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The clip's motion with feet that stand where they are meant to stand, and out of the ground.

    ground: where it is (a level in metres, or anything with `height(places)`); None: where the feet tell, or at height
    0 when that is near. slide: metres a second below which a foot near the ground is meant to stand; None: 0.2 body
    heights. first_frame: what becomes of a T-pose that was added before the motion: it is kept as it is, dropped, or
    replaced by a pose that leads into the motion. contacts: the plants, where they are known already.
    """
    whole = with_attached_feet(clip)
    if whole is not clip:
        solution = repair(
            whole, ground=ground, slide=slide, first_frame=first_frame, contacts=contacts, progress=progress
        )
        return detach_feet(solution, clip.character.skeleton)
    character, lead = (
        clip.character,
        lead_in(Kinematics(clip.motion[: LEAD_IN_FRAMES + 1]).positions, clip.character.height),
    )
    source, notes = without_lead_in(clip.motion, lead, first_frame)
    known = None if ground is None else as_ground(ground)
    found = contacts or find_skating_contacts(source, character, slide=slide, ground=known)
    motion, found, floor, told = _set_down(source, character, found, known)
    stance, solution = find_stance(motion, character, found, floor), None
    for number in range(ROUNDS):
        solution = _solve(motion, character, stance, progress)
        if contacts is not None or number == ROUNDS - 1:
            break
        # what shook or slid hides other plants; once it stands they are found, and found alike when repaired again
        again = find_skating_contacts(solution.motion, character, slide=slide, ground=floor)
        one = merge_contacts(stance.contacts, again, character.height)
        if one is not stance.contacts:
            stance = find_stance(motion, character, one, floor)
            continue
        further = add_stances(solution.motion, character, stance, again)
        if len(further.plants) == len(stance.plants):
            break
        stance = further
    assert solution is not None
    solution = _calm(solution, Clip(source, character), stance)
    before, after = measure_each(
        (source, solution.motion),
        character,
        stance.contacts,
        against=(source, character, stance.contacts),
        ground=floor,
    )
    if lead and first_frame == "keep":
        raised = motion.root[0] - source.root[0]
        solution = replace(solution, motion=restore_lead_in(solution.motion, clip.motion, lead, raised))
    solution = replace(solution, report=replace(solution.report, before=before, after=after))
    return solution.noted(*notes, *told, *_sentences(before, after))


def _solve(motion: Motion, character: Character, stance: Stance, progress: Progress | None) -> Solution:
    """The motion with its feet as a stance has them."""
    method = Hierarchical(ik=editing_ik(motion, character))
    ground = stance.contacts.ground
    plants = _on_the_ground(stance.plants, character, ground)
    problem = Problem(flatten_planted_toes(motion, character, plants, ground), character, plants)
    solution = method.solve(problem, progress)
    return lift_soles_for_repair(solution, problem, method, plants, ground)


def _on_the_ground(plants: tuple[Footplant, ...], character: Character, ground: Ground) -> tuple[Footplant, ...]:
    """The plants, none of them in a ground that is known, heels and balls as far apart as the foot is long.

    A foot that shakes may be found to stand below it, and its ends in a row that no foot can meet all of. What is near
    enough stays as it is.
    """
    if isinstance(ground, InterpolatedGround | LoweredGround):
        return plants
    agreed = with_foot_length(raised_to_ground(plants, ground), character)
    ways = [np.asarray(new.place) - np.asarray(old.place) for new, old in zip(agreed, plants)]
    moved = max((float(np.abs(way).max()) for way in ways), default=0.0)
    return agreed if moved > DEPTH else plants


def _calm(solution: Solution, source: Clip, stance: Stance) -> Solution:
    """The solution with joints that are no more than a little faster than the clip's own fastest."""
    pace = SourcePeak.of(source, source.character)
    if pace is None:
        return solution
    problem = Problem(solution.motion, source.character, stance.plants)
    bounds = above_ground_constraints(
        source.character, stance.contacts.ground, range(len(solution.motion)), allowed_depths(solution.motion)
    )
    return within_acceleration_limit(solution, solution.motion, problem, bounds, pace)


def _set_down(
    motion: Motion, character: Character, contacts: Contacts, known: Ground | None
) -> tuple[Motion, Contacts, Ground, list[str]]:
    """The whole clip lifted or lowered onto its floor; what then stands there; the floor; and what was done."""
    level = floor_level(Kinematics(motion), character, contacts)
    if known is not None and not (isinstance(known, Plane) and level is not None):
        return motion, contacts, known, []
    if level is None:
        # a ground that only plants tell is a guess between them: nothing is lifted out of where it passed
        contacts = with_plausible_floor(contacts, Clip(motion, character))
        return motion, contacts, contacts.ground, []
    wanted = 0.0 if known is None else float(known.height(np.zeros((1, 2)))[0])
    if known is None and abs(level) > FLOOR * character.height:
        note = f"the floor of the clip is at {1000 * level:.0f} mm; it was left there (a ground of 0 sets it down)"
        return motion, contacts, Plane((0.0, level, 0.0)), [note]
    floor: Ground = Plane((0.0, wanted, 0.0)) if known is None else known
    by = wanted - level
    if abs(by) < DEPTH:
        # near enough: a floor is told by feet that are still to be put right, and never twice the same
        return motion, contacts, floor if abs(by) < 1e-6 else Plane((0.0, level, 0.0)), []
    moved = tuple(replace(plant, place=plant.place + [0.0, by, 0.0]) for plant in contacts.plants)
    notes = [f"the whole clip was {'lowered' if by < 0 else 'raised'} by {1000 * abs(by):.1f} mm onto the ground"]
    return (
        replace(motion, root=motion.root + [0.0, by, 0.0]),
        replace(contacts, plants=moved, ground=floor),
        floor,
        notes,
    )


def _sentences(before: Quality, after: Quality) -> list[str]:
    """Before and after in millimetres."""
    if before.worst_plant is None or after.worst_plant is None:
        return ["no foot stands in this clip: nothing to hold"]
    drift = (before.worst_plant.drift, after.worst_plant.drift)
    mean = (before.mean_drift or 0.0, after.mean_drift or 0.0)
    deep = (before.penetration_worst or 0.0, after.penetration_worst or 0.0)
    return [
        f"{len(after.plants)} plants drifted by {drift[0]:.1f} mm at most, {mean[0]:.1f} mm on average; "
        f"now {drift[1]:.1f} and {mean[1]:.1f} mm",
        f"feet were {deep[0]:.1f} mm below the ground at most; now {deep[1]:.1f} mm",
    ]
