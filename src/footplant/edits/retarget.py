"""Retargeting: put the motion of one humanoid character onto another and keep its footplants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from footplant import rotation
from footplant.checks import real_number
from footplant.clip import Clip
from footplant.constraints import Constraint, Footplant
from footplant.contacts.detection import Contacts
from footplant.contacts.ground import Ground, lower_to_soles
from footplant.contacts.stillness import lead_in_frames
from footplant.edits.puppet import PUPPET, puppet
from footplant.errors import ConstraintError, MotionError
from footplant.feet.detached import attach_feet, detach_feet, refuse_constraints_on_detached_feet
from footplant.feet.lead_in import (
    LeadIn,
    contacts_after_lead_in,
    dropped_lead_in,
    require_lead_in,
    split_lead_in,
    with_lead_in,
)
from footplant.feet.palms import palm_plants, without_idle_palms
from footplant.feet.planting import EXTRA_LEVELS, can_plant, chosen_method, solve_planted
from footplant.feet.sole_correction import Soles, continued_solution, soles_above_ground, solve_soles
from footplant.feet.soles import above_ground_constraints, flatten_toes, standing_places
from footplant.feet.stage import Stage, with_plausible_floor
from footplant.feet.steps import (
    find_steps,
    foot_length,
    hip_width,
    keep_pitch,
    plants_for,
    raised_to_ground,
    step_width_shifts,
    with_foot_length,
    without_overlap,
)
from footplant.feet.stillness import held_a_frame_longer, joint_steps, still_ankles
from footplant.feet.tiptoe import balls_above_toes, plants_at_toe_tips, with_toe_tips
from footplant.feet.turning_feet import with_turning_feet
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Method, Problem, Progress, Report, Solution, Status, Stopwatch
from footplant.quality.balance import on_feet
from footplant.quality.fidelity import fidelity
from footplant.quality.flight import flight_frames, flight_gravity, flight_phases
from footplant.quality.measure import JudgedSource, measure_each
from footplant.result import CharacterSource, ClipSource, Result, as_character, as_clip
from footplant.skeleton import Character
from footplant.solve.arms import ArmsResult, solve_arms
from footplant.solve.choose_ik import editing_ik
from footplant.solve.dynamics import Physics
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.legs import LEG_SETTINGS, OTHER_BODY
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.solve.reference import no_rougher
from footplant.transfer import same_bones, source_motion, transfer
from footplant.wording import counted

COPY = "copy"
"""Name of the method that only copies rotations."""


def retarget(
    clip: ClipSource,
    target: CharacterSource,
    *,
    keep_footsteps: bool = False,
    stride: float | None = None,
    method: str | Method | None = None,
    constraints: Sequence[Constraint] = (),
    contacts: Contacts | None = None,
    arms: bool = True,
    lead_in: LeadIn = "keep",
    balance: bool = True,
    dynamic: bool = False,
    measured: bool = True,
    progress: Progress | None = None,
) -> Result:
    """Return the clip's motion on another character, with its footplants kept.

    clip, target: loaded, or as file names. keep_footsteps: keep footsteps where they are in the world; otherwise they
    are scaled with the leg length, or by the factor `stride`. method: None or "whole-body": feet, legs and hips, then
    arms; or a published method, by name or as an object; "puppet": frame by frame, as if live; "copy": copied
    rotations, nothing solved. constraints: further constraints of the target, solved together with the footplants.
    contacts: the clip's contacts if they are already known. arms: whether arms are kept out of the body and on what
    they touch; False leaves them as copied, in a quarter of the time. lead_in: "keep" a T-pose before the motion,
    placed on the ground, or "drop" it. balance: whether the body sways as its own size asks, so that it is
    balanced over its feet. dynamic: whether it flies with the right gravity, instead of as the source does at its size.
    Both are the whole-body method's. measured: whether the report compares the motion with its source, before and
    after the solve; False leaves the errors of the constraints, and saves the fast method two fifths of its time.
    """
    clip, target = as_clip(clip, humanoid=True), as_character(target)
    require_lead_in(lead_in)
    if stride is not None:
        real_number(stride, "stride", MotionError, above=0.0)
    if not len(clip.motion):
        raise MotionError(f"expected a clip with frames to retarget, got none in {clip.name!r}")
    if method == PUPPET:
        _refuse_for_puppet(constraints)
        played = clip if lead_in == "keep" else split_lead_in(clip)[1]
        return puppet(played, target, keep_footsteps=keep_footsteps, contacts=contacts, progress=progress)
    copy, method = method == COPY, chosen_method(method, COPY, PUPPET)
    whole = attach_feet(target)
    if whole is not target:
        refuse_constraints_on_detached_feet(target, constraints)
        made = retarget(
            clip, whole, keep_footsteps=keep_footsteps, stride=stride, method=COPY if copy else method,
            contacts=contacts, arms=arms, lead_in=lead_in, balance=balance, dynamic=dynamic, measured=measured,
            progress=progress,
        )  # fmt: skip
        return detach_feet(made, target)
    recorded, clip = clip, replace(clip, motion=source_motion(clip.motion, clip.character, target))
    source = Kinematics(clip.motion)
    lead = lead_in_frames(clip)
    found = contacts_after_lead_in(contacts, clip, lead, hands=True)
    contacts = found if contacts is not None else held_a_frame_longer(found, clip, source)
    contacts = with_plausible_floor(without_idle_palms(contacts, clip.character.height, clip), clip, lead)
    judged = JudgedSource(source, clip.character, contacts)
    stage = Stage.of(clip, target, contacts, keep_footsteps, stride)
    copied = transfer(clip.motion, clip.character, target, stride=stage.scale, rise=stage.rise, about=stage.start)
    as_copied = copied
    if not copy:
        copied = no_rougher(copied, target, source, clip.character, lead)
    plants = _footplants(clip.character, source, target, contacts, stage, lead)
    given, target = target, target if same_bones(clip.character, target) else with_toe_tips(target)
    if target is not given:
        plants = plants_at_toe_tips(plants, given, target, copied)
    plants = balls_above_toes(plants, target, copied, stage.ground, stage.snap) if not stage.guessed else plants
    if method is None and not copy and can_plant(target):
        plants = with_turning_feet(plants, target, judged.turns, source, clip.character)
    plants = without_overlap(plants, clip.motion.fps)
    if stage.guessed:
        stage = replace(
            stage, ground=lower_to_soles(stage.ground, standing_places(plants, copied, target), target.height)
        )
    held = range(lead, len(copied))
    palms = palm_plants(contacts, target, stage.move, clip.character.height, None if keep_footsteps else copied)
    problem = Problem(copied, target, (*plants, *palms, *constraints))
    soles = Soles(plants, stage.ground, unlevelled=copied)
    pose_arms = None
    if arms and (palms or not same_bones(clip.character, given)):
        pose_arms = partial(
            solve_arms, target=target, source=source, source_character=clip.character, palms=palms,
            free=not keep_footsteps, ground=stage.ground, frames=held,
        )  # fmt: skip
    if copy:
        solution = Stopwatch(problem).finish("copy of rotations", copied)
    elif method is None and can_plant(target):
        solution = solve_planted(
            problem, plants, stage.ground, held, palms=palms, progress=progress, arms=pose_arms,
            settings=LEG_SETTINGS if same_bones(clip.character, target) else OTHER_BODY,
            physics=_physics(judged, target, stage, balance, dynamic),
            still=still_ankles(contacts, clip, source, lead), steps=joint_steps(clip, source, lead),
            apart=not keep_footsteps and not same_bones(clip.character, target),
        )  # fmt: skip
    else:
        method = _with_usual_ik(method, copied, target, same_bones(clip.character, target))
        problem = problem.on(flatten_toes(copied, target, plants, stage.ground))
        solution = solve_soles(method, problem, soles, held, progress)
        if pose_arms is not None:
            solution = _then_arms(solution, problem, soles, held, pose_arms)
    solution = with_lead_in(solution, copied, target, stage.ground, lead, lead_in)
    solution = solution.noted(*_flipped(recorded, clip))
    if measured:
        report = compared(solution.report, judged, target, (copied, solution.motion), stage.ground, as_copied)
        solution = replace(solution, report=report)
    solution = dropped_lead_in(solution, lead, lead_in)
    return Result.of(clip, solution, given, source=recorded, unsolved=None if copy else as_copied, ground=stage.ground)


def compared(
    report: Report, judged: JudgedSource, target: Character, motions: tuple[Motion, Motion], ground: Ground,
    copied: Motion,
) -> Report:  # fmt: skip
    """Return the report of a retarget with the target's motions before and after the solve compared with the source.

    copied: the source's rotations on the target, to which the result's fidelity is compared.
    """
    before, after = measure_each(motions, target, judged.contacts, against=judged, ground=ground)
    faithful = fidelity(
        (judged.kinematics.motion, judged.character), (motions[1], target), depth="joints", copied=copied
    )
    return replace(report, before=before, after=replace(after, fidelity=faithful))


def _flipped(recorded: Clip, followed: Clip) -> list[str]:
    """Return notes on legs and feet that a capture has flipped, and that the motion that is followed has not."""
    roles, notes = recorded.character.require_roles(), []
    for side in ("left", "right"):
        for part, what in (("lower_leg", "leg"), ("foot", "foot")):
            joint = roles.get(f"{side}_{part}")
            if joint is None:
                continue
            before, after = (clip.motion.rotations[:, joint] for clip in (recorded, followed))
            changed = int((rotation.angle(before, after) > 1e-6).sum())
            if changed:
                frames = counted(changed, "frame")
                notes.append(f"the {side} {what} of the capture is flipped by 180°: turned back, in {frames}")
                break
    return notes


def _physics(judged: JudgedSource, target: Character, stage: Stage, balance: bool, dynamic: bool) -> Physics | None:
    """Return the constraints on the centre of mass, none on the body that the motion was recorded on.

    No balance where hands carry weight, and never more than the source has. In flight a body follows a parabola:
    with `dynamic` that of gravity, else that of the source at the target's size.
    """
    source, character, contacts = judged.kinematics, judged.character, judged.contacts
    if character.masses is None or (same_bones(character, target) and not dynamic):
        return None
    grounded = np.asarray(contacts.masks().any(axis=1))
    flight = flight_frames(source, character, grounded)
    balance = balance and on_feet(contacts, len(grounded))
    allowed = np.zeros(len(grounded))
    if balance:
        allowed = stage.scale * np.nan_to_num(judged.outside)
    gravity = flight_gravity(source, character, flight_phases(flight))
    return Physics(balance, flight, allowed, gravity if dynamic else gravity * stage.rise)


def _refuse_for_puppet(constraints: Sequence[Constraint]) -> None:
    if constraints:
        raise ConstraintError(f"{PUPPET} solves frame by frame and does not support constraints")


def _footplants(
    character: Character, source: Kinematics, target: Character, contacts: Contacts, stage: Stage, lead: int
) -> tuple[Footplant, ...]:
    """Return the target's footplants: the source's steps on its stage, as much wider as its hips, on the ground."""
    steps = find_steps(contacts, foot_length(character, "left"), lead)
    if not stage.guessed:
        steps = keep_pitch(steps, contacts.ground, stage.snap / stage.scale)
    extra = 0.0 if stage.kept else hip_width(target) / stage.scale - hip_width(character)
    plants = plants_for(steps, target, stage.move, step_width_shifts(steps, source, character, extra))
    return plants if stage.guessed else with_foot_length(raised_to_ground(plants, stage.ground), target)


def _with_usual_ik(method: Method | None, copied: Motion, target: Character, same: bool) -> Method:
    """Return a method; hierarchical fitting without an Ik, also for None, gets the usual one and finer levels.

    same: whether source and target have the same bones.
    """
    if method is None or (isinstance(method, Hierarchical) and method.ik is None):
        # with the same bones, constraints that already hold change nothing, and straight knees stay straight
        ik = editing_ik(copied, target) if same else Hybrid(target)
        return replace(method or Hierarchical(), ik=ik, further=EXTRA_LEVELS)
    return method


def _then_arms(
    solution: Solution, problem: Problem, soles: Soles, frames: range, pose_arms: Callable[[Motion], ArmsResult]
) -> Solution:
    """Return a solution of the body with the stage of the arms after it, measured together with soles and palms."""
    target = problem.character
    bounds = (
        *soles_above_ground(target, soles, frames),
        *above_ground_constraints(target, soles.ground, frames, parts=("palm",)),
    )
    watch = Stopwatch(replace(problem, constraints=(*problem.constraints, *bounds)))
    posed, reachable = pose_arms(solution.motion), solution.status is not Status.UNREACHABLE
    return continued_solution(solution, watch, posed.motion, reachable).noted(*posed.notes)
