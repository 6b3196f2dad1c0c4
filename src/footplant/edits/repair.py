"""Foot-skate cleanup: fix foot skating, floating and ground penetration with the smallest change to the motion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from footplant.checks import real_number
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import HANDS, Contacts
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround, as_ground
from footplant.errors import MotionError
from footplant.feet.detached import detach_feet, with_attached_feet
from footplant.feet.lead_in import LeadIn, join_lead_in, lead_in_note, require_lead_in, split_lead_in
from footplant.feet.palms import palm_plants, without_idle_palms
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
from footplant.wording import counted


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
    reported: float = 1.0
    """Millimetres; a planted palm that drifts by more in the result is named in the report."""


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
    """Return the clip's motion with feet and palms that stay planted, and feet that do not penetrate the ground.

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
    found = _with_palms(found, clip, slide)
    motion, found, floor, ground_notes = _place_on_ground(source, character, found, known)
    stance = find_stance(motion, character, found, floor)
    palms = palm_plants(stance.contacts, character, np.asarray, character.height, motion)
    solution = _solve(motion, character, stance, palms, progress)
    smooth = no_rougher(solution.motion, character, Kinematics(source), character, excess=SETTINGS.rougher)
    if smooth is not solution.motion:
        # noise of a foot that is now planted went into a knee
        solution = _solve(smooth, character, stance, palms, progress)
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


def _with_palms(contacts: Contacts, clip: Clip, slide: float | None) -> Contacts:
    """Return the contacts with those of palms that rest on the ground or hold something; found unless they are known.

    Those of feet stay as they are: they are found without the noise of hands.
    """
    if not set(HANDS) & set(contacts.points):
        every = find_skating_contacts(clip.motion, clip.character, slide=slide, ground=contacts.ground, hands=True)
        palms = tuple(plant for plant in every.plants if plant.point in HANDS)
        points = tuple(name for name in every.points if name in HANDS)
        contacts = replace(contacts, plants=(*contacts.plants, *palms), points=(*contacts.points, *points))
    return without_idle_palms(contacts, clip.character.height, clip)


def _solve(
    motion: Motion, character: Character, stance: Stance, palms: tuple[Footplant, ...], progress: Progress | None
) -> Solution:
    """Solve for the footplants of a stance and for planted palms."""
    ground, allowed = stance.contacts.ground, _allowed_depths(motion)
    plants = stance.plants
    if not isinstance(ground, InterpolatedGround | LoweredGround):
        # jitter can put a detected footplant below the ground
        plants = raised_to_ground(plants, ground)
    arms = partial(_arms, character=character, source=motion, ground=ground, palms=palms)
    # shoulders come within reach of palms that lie on the ground: for lower ones, arms bend when hands leave it
    lying = arms(motion).plants if palms else palms
    problem, every = Problem(motion, character, (*plants, *lying)), range(len(motion))
    if can_plant(character):
        # a skin that is in the ground in the clip stays so: what counts are the points of the sole
        problem = replace(problem, character=replace(character, skin=None))
        return solve_planted(problem, plants, ground, every, palms=lying, allowed=allowed, progress=progress, arms=arms)
    method = Hierarchical(ik=editing_ik(motion, character), further=EXTRA_LEVELS)
    laid = problem.on(flatten_toes(motion, character, plants, ground))
    return solve_soles(method, laid, Soles(plants, ground, allowed, motion), every, progress)


def _allowed_depths(motion: Motion) -> dict[str, NDArray]:
    """Return contact point → (F,) metres, below 0: allowed penetration."""
    return {f"{side}_{part}": np.full(len(motion), -SETTINGS.depth) for side in ("left", "right") for part in SOLE}


def _arms(
    motion: Motion, character: Character, source: Motion, ground: Ground, palms: tuple[Footplant, ...]
) -> ArmsResult:
    """Return the motion with its palms planted, and its arms above the ground; as it is where neither asks anything."""
    if palms:
        return solve_arms(motion, character, Kinematics(source), character, palms=palms, same_body=True, ground=ground)
    points = [point for name, point in character.contacts.items() if name in HANDS]
    places = Kinematics(motion).points(points)
    if not points or (places[..., 1] >= ground.height(places[..., ::2]) - SETTINGS.depth).all():
        return ArmsResult(motion)
    # lower hips took a palm into it
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
    """Return the drift and penetration before and after, as sentences; planted palms that still drift are named."""
    pairs = list(zip(before.plants, after.plants))
    feet = [(old.drift, new.drift) for old, new in pairs if new.point not in HANDS]
    palms = [(old.drift, new.drift) for old, new in pairs if new.point in HANDS]
    if not pairs:
        return ["no footplant was found in this clip: nothing to fix"]
    notes = []
    if feet:
        worst, mean = np.max(feet, axis=0), np.mean(feet, axis=0)
        notes.append(
            f"{counted(len(feet), 'footplant')} drifted by up to {worst[0]:.1f} mm, {mean[0]:.1f} mm on average; "
            f"now {worst[1]:.1f} and {mean[1]:.1f} mm"
        )
    if palms:
        was, now = np.max(palms, axis=0)
        notes.append(f"{counted(len(palms), 'planted palm')} drifted by up to {was:.1f} mm; now {now:.1f} mm")
    for plant in after.plants:
        if plant.point in HANDS and plant.drift > SETTINGS.reported:
            palm, frames = plant.point.replace("_", " "), f"{plant.start}–{plant.end - 1}"
            notes.append(f"the {palm} at frames {frames} still drifts by {plant.drift:.1f} mm")
    deep = (before.penetration_worst or 0.0, after.penetration_worst or 0.0)
    return [*notes, f"ground penetration was up to {deep[0]:.1f} mm; now {deep[1]:.1f} mm"]
