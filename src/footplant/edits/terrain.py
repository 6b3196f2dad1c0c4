"""Terrain adaptation: adapt a motion on level ground to hills, slopes and stairs, and make it duck under doorways.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 6:
footplants are moved onto the ground, inequality constraints keep the head below the doorways, and the motion is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from footplant import rotation
from footplant.clip import Clip
from footplant.constraints import Constraint
from footplant.constraints.doorways import Doorway, headroom, pass_under, stay_over
from footplant.contacts.detection import Contacts
from footplant.contacts.ground import Ground, as_ground
from footplant.contacts.moving_ground import MovingGround
from footplant.contacts.stillness import lead_in_frames
from footplant.errors import MotionError
from footplant.feet.detached import attach_feet, detach_feet, refuse_constraints_on_detached_feet, with_attached_feet
from footplant.feet.footing import Footing, find_footing
from footplant.feet.heel_release import released_heels
from footplant.feet.lead_in import (
    LeadIn,
    contacts_after_lead_in,
    dropped_lead_in,
    require_lead_in,
    with_lead_in,
)
from footplant.feet.lean import leaned
from footplant.feet.planting import can_plant, chosen_method, plants_within, solve_planted
from footplant.feet.sole_correction import Soles, solve_soles
from footplant.feet.soles import flatten_toes
from footplant.feet.stage import Stage
from footplant.feet.step_plan import StepPlan, plan_steps, retimed_clip, retimed_motion
from footplant.feet.steps import (
    Places,
    Step,
    find_steps,
    foot_length,
    hip_width,
    plants_at,
    raised_to_ground,
    step_width_shifts,
    transferred_places,
    without_overlap,
)
from footplant.feet.stillness import held_a_frame_longer, held_with_joints
from footplant.feet.swing import move_feet_to_ground
from footplant.feet.tiptoe import places_at_toe_tips, with_toe_tips
from footplant.geometry import Plane
from footplant.grounds import Stairs, direction
from footplant.io.ground_files import Course, load_ground
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Method, Problem, Progress, Solution
from footplant.quality.measure import measure_each
from footplant.result import CharacterSource, ClipSource, Result, as_character, as_clip
from footplant.skeleton import Character
from footplant.solve.arms import solve_arms
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.solve.reference import no_rougher
from footplant.transfer import leg_ratio, transfer

ON_LEVEL = 0.005
"""Metres, and radians, by which steps may differ that are all on level ground."""
BESIDE = 0.2
"""Body heights around a step within which uneven ground is reached."""
PLANNED_FARTHEST = 0.03
"""Metres by which a planned step may still be moved: a plan has places every 2 cm."""


def terrain(
    clip: ClipSource,
    ground: Ground | float | str | Path,
    doorways: Sequence[Doorway] = (),
    *,
    target: CharacterSource | None = None,
    keep_footsteps: bool = False,
    method: str | Method | None = None,
    constraints: Sequence[Constraint] = (),
    contacts: Contacts | None = None,
    lead_in: LeadIn = "keep",
    keep_steps: bool = False,
    keep_timing: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Return the clip's motion on another ground, with feet planted on it and aligned to its slope.

    clip, target: loaded, or as file names. ground: any object with `height(places)`, a level in metres, or a text as in
    `io.ground_files.load_ground`: "noise:3", "stairs:0.17:0.3", "slope:10", "stones:0.4:0.3",
    "beam:0.2:0.15", a picture, heights or a mesh.
    On a ground with edges (stairs) steps are planned first: one tread a step, or as many as the stride asks for, with
    the whole foot on it, and steps that climb take longer; on stepping stones and beams they go aside, too;
    `keep_timing` keeps their times, and `keep_steps` leaves each step where it is but for the smallest distance that
    puts the whole foot on one side of an edge. On other
    grounds steps keep their horizontal positions. Swinging feet clear the ground between steps, the hips follow it
    smoothly, and the trunk leans into a climb. doorways: what the character ducks under. target: retarget to another
    character at the same time, with footsteps scaled by leg length, or kept with `keep_footsteps`. constraints:
    further constraints, solved together with the footplants. A ground that moves (`contacts.moving_ground`) carries the
    result along: everything is solved in its frame, where the body leans so that it is upright in the world, doorways
    and constraints are of that frame, and the report's figures are relative to the ground. lead_in: "keep" a T-pose
    before the motion, placed on the ground, or "drop" it.
    """
    clip, target = as_clip(clip, humanoid=True), None if target is None else as_character(target)
    require_lead_in(lead_in)
    if not len(clip.motion):
        raise MotionError(f"expected a clip with frames to lay on a ground, got none in {clip.name!r}")
    method = chosen_method(method)
    same, mover = target is None, clip.character if target is None else target
    ground = _terrain_for(ground, clip, mover, keep_footsteps or same)
    world, ground = ground, ground.base if isinstance(ground, MovingGround) else ground
    whole = attach_feet(mover)
    if whole is not mover:
        refuse_constraints_on_detached_feet(mover, constraints)
        made = terrain(
            with_attached_feet(clip) if same else clip, world, doorways, target=None if same else whole,
            keep_footsteps=keep_footsteps, method=method, contacts=contacts, lead_in=lead_in, keep_steps=keep_steps,
            keep_timing=keep_timing, progress=progress,
        )  # fmt: skip
        return detach_feet(made, mover)
    lead = lead_in_frames(clip)
    found = contacts_after_lead_in(contacts, clip, lead)
    contacts = found if contacts is not None else held_a_frame_longer(found, clip, Kinematics(clip.motion))
    stage = Stage.of(clip, mover, contacts, keep_footsteps or same)
    motion, target = clip.motion, with_toe_tips(mover)
    if not same:
        motion = transfer(motion, clip.character, mover, stride=stage.scale, about=stage.start)
        motion = no_rougher(motion, mover, Kinematics(clip.motion), clip.character, lead)
    contacts = held_with_joints(contacts, Kinematics(motion), mover)
    steps = find_steps(contacts, foot_length(clip.character, "left"), lead)
    level = _places_on_level_ground(steps, clip, mover, target, stage, motion)
    plan = None if keep_steps else plan_steps(motion, target, steps, level, contacts, ground, lead)
    shown = clip
    if plan is not None and not keep_timing:
        clip, contacts, steps = retimed_clip(clip, contacts, steps, plan.times)
        motion, plan = clip.motion if same else retimed_motion(motion, plan.times), plan.retimed()
    footings = _footings(steps, level, target, stage.ground, ground, plan)
    mapping = None if plan is None else plan.mapping
    body, strides = (motion, None) if plan is None or mapping is None else (mapping.motion(motion), plan.strides)
    body = leaned(body, target, steps, footings, strides)
    if isinstance(world, MovingGround):
        body = world.upright(body, stage.ground)
    carried, rises = move_feet_to_ground(motion, target, steps, footings, stage.ground, ground, body, mapping)
    carried, steps, contacts = released_heels(carried, motion, target, steps, contacts, rises)
    plants = plants_at(steps, [(footing.heel, footing.ball) for footing in footings], target)
    plants = without_overlap(raised_to_ground(plants, ground), motion.fps)
    beams = pass_under(carried, target, doorways)
    wanted = (*plants, *beams, *stay_over(beams, ground), *constraints)
    problem = Problem(carried, target, wanted)
    if beams or method is not None or not can_plant(target):
        problem = problem.on(flatten_toes(carried, target, plants, ground))
    if beams:
        # ducking brings the head under the beam earlier: a smooth solve first gives a good initial guess
        problem = problem.on(Hierarchical(exact=False).solve(problem).motion)
    held, soles = range(lead, len(motion)), Soles(plants, ground, unlevelled=carried)
    if method is None and can_plant(target):
        # ducking bends joints as far as the beams ask
        own = None if beams else motion
        arms = partial(
            solve_arms, target=target, source=Kinematics(clip.motion), source_character=clip.character, ground=ground,
            frames=held,
        )  # fmt: skip
        solution = solve_planted(problem, plants, ground, held, uneven=True, own=own, progress=progress, arms=arms)
    else:
        solution = solve_soles(method or Hierarchical(), problem, soles, held, progress)
    solution = with_lead_in(solution, motion, target, ground, lead, lead_in)
    judged = (clip.motion, clip.character, contacts)
    before, after = measure_each((motion, solution.motion), target, contacts, against=judged, ground=ground)
    solution = replace(solution, report=replace(solution.report, before=before, after=after))
    solution = solution.noted(
        *_reach_notes(footings, stage.ground, ground, target.height),
        *_plan_notes(plan, shown, clip),
        *_step_notes(footings),
        *_doorway_notes(solution, target, doorways),
    )
    if isinstance(world, MovingGround):
        motion, solution = world.carried(motion), replace(solution, motion=world.carried(solution.motion))
        solution = solution.noted("footplants and penetration are relative to the moving ground")
    solution = dropped_lead_in(solution, lead, lead_in)
    if lead_in == "drop":
        plants = plants_within(plants, range(lead, len(motion)))
    # on the own body, what took longer before the solve is the level motion at its new times
    unsolved = None if same and clip is shown else motion
    return Result.of(shown, solution, mover, source=shown, unsolved=unsolved, ground=world, plants=plants)


def _terrain_for(ground: Ground | float | str | Path, clip: Clip, mover: Character, keep_footsteps: bool) -> Ground:
    """Return the ground; one that is given as text is made as long as the way that the mover goes."""
    if isinstance(ground, str | Path):
        scale = 1.0 if keep_footsteps else leg_ratio(clip.character, mover)
        ground = load_ground(str(ground), Course.of(clip.motion, clip.character, scale))
    return as_ground(ground)


def _places_on_level_ground(
    steps: Sequence[Step], clip: Clip, mover: Character, target: Character, stage: Stage, motion: Motion
) -> list[Places]:
    """Return where heels and balls are planted on the stage's own ground; target: the mover with its toe tips."""
    extra = 0.0 if stage.kept else hip_width(mover) / stage.scale - hip_width(clip.character)
    shifts = step_width_shifts(steps, Kinematics(clip.motion), clip.character, extra)
    return places_at_toe_tips(transferred_places(steps, target, stage.move, shifts), steps, mover, target, motion)


def _footings(
    steps: Sequence[Step], places: Sequence[Places], target: Character, level: Ground, ground: Ground,
    plan: StepPlan | None,
) -> list[Footing]:  # fmt: skip
    """Return the footing of each step; of a planned one, at its planned place."""
    moved, turns = (places, None) if plan is None else plan.places(places)
    if plan is None or turns is None:
        return [find_footing(step, pair, target, level, ground) for step, pair in zip(steps, moved)]
    ways = direction(plan.toes + turns)
    found = [
        find_footing(step, pair, target, level, ground, PLANNED_FARTHEST, ahead)
        for step, pair, ahead in zip(steps, moved, ways)
    ]
    return [
        replace(
            footing,
            level=np.mean([place for place in pair if place is not None], axis=0),
            tilt=rotation.multiply(footing.tilt, rotation.exp(turn * rotation.AXES["y"])),
        )
        for footing, pair, turn in zip(found, places, turns)
    ]


def _reach_notes(footings: Sequence[Footing], level: Ground, ground: Ground, height: float) -> list[str]:
    """Return a note if no step stands beside or on anything but level ground, although the ground is not level.

    height: of the body, metres.
    """
    if not footings or (isinstance(ground, Plane) and ground.up[1] > 1.0 - 1e-9):
        return []
    under = np.array([footing.on_ground() for footing in footings])
    shifts = under[:, 1] - level.height(np.array([footing.level for footing in footings])[:, ::2])
    upright = rotation.rotate(np.array([footing.tilt for footing in footings]), rotation.AXES["y"])[:, 1]
    if np.ptp(shifts) > ON_LEVEL or float(upright.min()) < np.cos(ON_LEVEL):
        return []
    if isinstance(ground, Stairs):
        along = (under[:, ::2] - ground.start) @ direction(ground.heading)
        return [
            f"no step reaches the stairs: the nearest is {max(-float(along.max()), 0.0):.2f} m before them; begin them "
            "earlier or turn them with stairs:RISE:RUN:COUNT:START:HEADING (START metres ahead of the first frame, "
            "HEADING degrees to the left)"
        ]
    # stones and beams are as level as the ground before them: what counts is what is around
    around = BESIDE * height * direction(np.arange(8) * 0.25 * np.pi)
    if float(np.ptp(ground.height(under[:, None, ::2] + around), axis=1).max()) > ON_LEVEL:
        return []
    return [
        "no step reaches uneven ground: put it under the path "
        "(START and HEADING of stones and beams, --ground-at X,Z of a file)"
    ]


def _plan_notes(plan: StepPlan | None, before: Clip, after: Clip) -> list[str]:
    """Return notes on what a plan of the steps changed."""
    if plan is None:
        return []
    climbing = int((np.abs(plan.climbs) > 0.01).sum())
    moved = 100.0 * float(np.abs(np.diff(np.sort(plan.offsets))).max(initial=0.0))
    notes = [f"{climbing} of {len(plan.climbs)} steps climb or descend; strides change by up to {moved:.0f} cm"]
    aside = np.abs(plan.asides)
    if aside.max(initial=0.0) > ON_LEVEL:
        notes.append(f"{int((aside > ON_LEVEL).sum())} steps go aside, by at most {100.0 * float(aside.max()):.0f} cm")
    longer = after.motion.duration - before.motion.duration
    return notes if longer < 0.01 else [*notes, f"steps that climb or descend take longer, together by {longer:.1f} s"]


def _step_notes(footings: Sequence[Footing]) -> list[str]:
    """Return notes on steps that were moved or stand partly over an edge."""
    notes = []
    moved = [footing.moved for footing in footings if footing.moved > 0]
    if moved:
        notes.append(
            f"steps that straddled an edge and were moved to one side of it: {len(moved)} of {len(footings)}, by at "
            f"most {100 * max(moved):.0f} cm"
        )
    for support, text in (
        ("front", "on the ball only, with the heel over an edge"),
        ("rear", "on the heel only, with the toes over an edge"),
        ("edge", "across an edge, level with its highest point: no flat spot for a foot was near"),
    ):
        count = sum(footing.support == support for footing in footings)
        if count:
            notes.append(f"{count} of {len(footings)} steps stand {text}")
    return notes


def _doorway_notes(solution: Solution, target: Character, doorways: Sequence[Doorway]) -> list[str]:
    notes = []
    for number, left in enumerate(headroom(solution.motion, target, doorways)):
        if not np.isfinite(left):
            notes.append(f"the motion does not pass through doorway {number + 1}")
        elif left < 0:
            notes.append(f"doorway {number + 1} is too low: the character penetrates its beam by {-1000 * left:.0f} mm")
        else:
            notes.append(f"{1000 * left:.0f} mm of clearance under doorway {number + 1}")
    return notes
