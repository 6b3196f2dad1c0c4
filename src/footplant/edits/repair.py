"""Foot-skate cleanup: fix foot skating, floating and ground penetration with the smallest change to the motion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from footplant.checks import real_number
from footplant.clip import Clip
from footplant.contacts.detection import Contacts
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround, as_ground
from footplant.errors import MotionError
from footplant.feet.detached import detach_feet, with_attached_feet
from footplant.feet.lead_in import LeadIn, join_lead_in, lead_in_note, require_lead_in, split_lead_in
from footplant.feet.planting import EXTRA_LEVELS, can_plant, solve_planted
from footplant.feet.sole_correction import Soles, solve_soles
from footplant.feet.soles import SOLE, flatten_toes
from footplant.feet.stage import with_plausible_floor
from footplant.feet.stances import (
    Stance,
    find_skating_contacts,
    find_stance,
    floor_level,
)
from footplant.feet.steps import raised_to_ground
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Problem, Progress, Solution
from footplant.quality.measure import Quality, measure_each
from footplant.result import ClipSource, Result, as_clip
from footplant.skeleton import Character
from footplant.solve.arms import ArmsResult, solve_arms
from footplant.solve.choose_ik import editing_ik
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.solve.reference import no_rougher


@dataclass(frozen=True)
class RepairSettings:
    """Tuning numbers of foot-skate cleanup."""

    floor: float = 0.05
    """Body heights (9 cm for an adult): a level floor nearer than this to y = 0 is moved to y = 0. Doubled, clips
    recorded on a low platform are lowered as well."""
    depth: float = 0.003
    """Metres of penetration that are left: it is not visible, and lifting a foot bends the knee."""
    rougher: float = 1.03
    """Factor of the clip's peak acceleration and jerk above which limbs are smoothed and feet planted again. Without
    it, noise of planted feet is left in nearly straight knees: a slow idle (vrma) accelerates 6.6 times as much as the
    clip. At 1, clean samples change by half a millimetre more."""


SETTINGS = RepairSettings()


def repair(
    clip: ClipSource,
    *,
    ground: Ground | float | None = None,
    slide: float | None = None,
    lead_in: LeadIn = "keep",
    contacts: Contacts | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the clip's motion with feet that stay planted and do not penetrate the ground.

    ground: a level in metres, or any object with `height(places)`; None: estimated from the feet, or y = 0 if that is
    near. slide: speed in m/s below which a foot near the ground counts as planted; None: 0.2 body heights per second.
    lead_in: "keep" a T-pose before the motion, placed on the ground, or "drop" it. contacts: the contacts of the whole
    clip if they are already known.
    """
    clip = as_clip(clip, humanoid=True)
    require_lead_in(lead_in)
    whole = with_attached_feet(clip)
    if whole is not clip:
        made = repair(whole, ground=ground, slide=slide, lead_in=lead_in, contacts=contacts, progress=progress)
        return detach_feet(made, clip.character)
    if not len(clip.motion):
        raise MotionError(f"expected a clip with frames to repair, got none in {clip.name!r}")
    if slide is not None:
        real_number(slide, "speed of sliding", MotionError, above=0.0)
    given, (lead, clip) = clip, split_lead_in(clip)
    character, source = clip.character, clip.motion
    contacts = None if contacts is None else contacts.after(len(lead))
    notes = [lead_in_note(len(lead), lead_in)] if len(lead) else []
    known = None if ground is None else as_ground(ground)
    found = contacts or find_skating_contacts(source, character, slide=slide, ground=known)
    motion, found, floor, ground_notes = _place_on_ground(source, character, found, known)
    stance = find_stance(motion, character, found, floor)
    solution = _solve(motion, character, stance, progress)
    smooth = no_rougher(solution.motion, character, Kinematics(source), character, excess=SETTINGS.rougher)
    if smooth is not solution.motion:
        # noise of a foot that is now planted went into a knee
        solution = _solve(smooth, character, stance, progress)
    before, after = measure_each(
        (source, solution.motion),
        character,
        stance.contacts,
        against=(source, character, stance.contacts),
        ground=floor,
    )
    if lead_in == "keep":
        solution = replace(solution, motion=join_lead_in(lead, solution.motion, character, floor))
    solution = replace(solution, report=replace(solution.report, before=before, after=after))
    solution = solution.noted(*notes, *ground_notes, *_summary(before, after))
    return Result.of(clip, solution, source=given, ground=floor)


def _solve(motion: Motion, character: Character, stance: Stance, progress: Progress | None) -> Solution:
    """Solve for the footplants of a stance."""
    ground, allowed = stance.contacts.ground, _allowed_depths(motion)
    plants = stance.plants
    if not isinstance(ground, InterpolatedGround | LoweredGround):
        # jitter can put a detected footplant below the ground
        plants = raised_to_ground(plants, ground)
    problem, every = Problem(motion, character, plants), range(len(motion))
    if can_plant(character):
        # a skin that is in the ground in the clip stays so: what counts are the points of the sole
        problem = replace(problem, character=replace(character, skin=None))
        return solve_planted(
            problem, plants, ground, every, allowed=allowed, progress=progress,
            arms=partial(_hands_above, character=character, source=motion, ground=ground),
        )  # fmt: skip
    method = Hierarchical(ik=editing_ik(motion, character), further=EXTRA_LEVELS)
    laid = problem.on(flatten_toes(motion, character, plants, ground))
    return solve_soles(method, laid, Soles(plants, ground, allowed, motion), every, progress)


def _allowed_depths(motion: Motion) -> dict[str, NDArray]:
    """Return contact point → (F,) metres, below 0: allowed penetration."""
    return {f"{side}_{part}": np.full(len(motion), -SETTINGS.depth) for side in ("left", "right") for part in SOLE}


def _hands_above(motion: Motion, character: Character, source: Motion, ground: Ground) -> ArmsResult:
    """Return the motion with its arms posed above the ground if lower hips took a palm into it; otherwise as it is."""
    palms = [point for name, point in character.contacts.items() if name.endswith("palm")]
    places = Kinematics(motion).points(palms)
    if not palms or (places[..., 1] >= ground.height(places[..., ::2]) - SETTINGS.depth).all():
        return ArmsResult(motion)
    return solve_arms(motion, character, Kinematics(source), character, ground=ground)


def _place_on_ground(
    motion: Motion, character: Character, contacts: Contacts, known: Ground | None
) -> tuple[Motion, Contacts, Ground, list[str]]:
    """Move the whole clip vertically onto its floor; return the motion, its contacts, the floor and notes."""
    level = floor_level(Kinematics(motion), character, contacts)
    if known is not None and not (isinstance(known, Plane) and level is not None):
        return motion, contacts, known, []
    if level is None:
        # a ground interpolated between footplants is a guess: it is lowered wherever the soles passed below it
        contacts = with_plausible_floor(contacts, Clip(motion, character))
        return motion, contacts, contacts.ground, []
    wanted = 0.0 if known is None else float(known.height(np.zeros((1, 2)))[0])
    if known is None and abs(level) > SETTINGS.floor * character.height:
        note = (
            f"the floor of the clip is at {1000 * level:.0f} mm and was left there (pass a ground of 0 to move it to 0)"
        )
        return motion, contacts, Plane((0.0, level, 0.0)), [note]
    floor: Ground = Plane((0.0, wanted, 0.0)) if known is None else known
    by = wanted - level
    if abs(by) < SETTINGS.depth:
        # the floor is estimated from feet that still skate, so small differences are noise
        return motion, contacts, floor if abs(by) < 1e-6 else Plane((0.0, level, 0.0)), []
    moved = tuple(replace(plant, place=plant.place + [0.0, by, 0.0]) for plant in contacts.plants)
    notes = [f"the whole clip was {'lowered' if by < 0 else 'raised'} by {1000 * abs(by):.1f} mm onto the ground"]
    return (
        replace(motion, root=motion.root + [0.0, by, 0.0]),
        replace(contacts, plants=moved, ground=floor),
        floor,
        notes,
    )


def _summary(before: Quality, after: Quality) -> list[str]:
    """Return the drift and penetration before and after, as sentences."""
    if before.worst_plant is None or after.worst_plant is None:
        return ["no footplant was found in this clip: nothing to fix"]
    drift = (before.worst_plant.drift, after.worst_plant.drift)
    mean = (before.mean_drift or 0.0, after.mean_drift or 0.0)
    deep = (before.penetration_worst or 0.0, after.penetration_worst or 0.0)
    return [
        f"{len(after.plants)} footplants drifted by up to {drift[0]:.1f} mm, {mean[0]:.1f} mm on average; "
        f"now {drift[1]:.1f} and {mean[1]:.1f} mm",
        f"ground penetration was up to {deep[0]:.1f} mm; now {deep[1]:.1f} mm",
    ]
