"""Character morphing: proportions that change while the character moves, with its feet planted throughout.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from footplant.constraints import Constraint
from footplant.contacts.detection import Contacts
from footplant.contacts.stillness import lead_in_frames
from footplant.errors import MotionError
from footplant.feet.changing_proportions import ProportionChange, on_skeleton_of
from footplant.feet.detached import detach_feet, refuse_constraints_on_detached_feet, with_attached_feet
from footplant.feet.lead_in import (
    LeadIn,
    contacts_after_lead_in,
    dropped_lead_in,
    require_lead_in,
    with_lead_in,
)
from footplant.feet.planting import can_plant, chosen_method, solve_planted
from footplant.feet.sole_correction import Soles, solve_soles
from footplant.feet.soles import flatten_toes
from footplant.feet.steps import (
    find_steps,
    foot_length,
    plants_at,
    without_overlap,
)
from footplant.problem import Method, Problem, Progress, Status
from footplant.quality.measure import measure_each
from footplant.result import CharacterSource, ClipSource, Result, as_character, as_clip
from footplant.solve.legs import OTHER_BODY
from footplant.solve.methods.hierarchical import Hierarchical


def morph(
    clip: ClipSource,
    targets: Sequence[CharacterSource],
    *,
    scale_footsteps: bool = False,
    method: str | Method | None = None,
    constraints: Sequence[Constraint] = (),
    contacts: Contacts | None = None,
    lead_in: LeadIn = "keep",
    progress: Progress | None = None,
) -> Result:
    """Return the clip's motion while its character takes on the proportions of each target in turn, evenly in time.

    Footsteps stay where they are, or scale with the leg length (`scale_footsteps`). A foot changes size only during its
    swing phase, so that heel and ball can both stay planted. The result has moving bones (`Motion.offsets`): it is
    still a motion of the clip's own character. lead_in: "keep" a T-pose before the motion, placed on the ground, or
    "drop" it.
    """
    clip, targets = as_clip(clip, humanoid=True), [as_character(target) for target in targets]
    require_lead_in(lead_in)
    method = chosen_method(method)
    if not targets:
        raise MotionError("expected at least one character to morph to, got none")
    if not len(clip.motion):
        raise MotionError(f"expected a clip with frames to morph, got none in {clip.name!r}")
    whole = with_attached_feet(clip)
    if whole is not clip:
        refuse_constraints_on_detached_feet(clip.character, constraints)
        made = morph(
            whole, targets, scale_footsteps=scale_footsteps, method=method, contacts=contacts, lead_in=lead_in,
            progress=progress,
        )  # fmt: skip
        return detach_feet(made, clip.character)
    lead = lead_in_frames(clip)
    contacts = contacts_after_lead_in(contacts, clip, lead)
    steps = find_steps(contacts, foot_length(clip.character, "left"), lead)
    change = ProportionChange.of(
        clip, [clip.character, *(on_skeleton_of(clip.character, target) for target in targets)], steps
    )
    figure = change.character()
    moved = change.initial_motion(clip, contacts, scale_footsteps)
    plants = plants_at(steps, change.places(clip, steps, contacts, scale_footsteps), figure)
    plants = without_overlap(plants, clip.motion.fps)
    problem = Problem(moved, figure, (*plants, *constraints))
    held = range(lead, len(clip.motion))
    soles = Soles(plants, contacts.ground, unlevelled=moved)
    if method is None and can_plant(figure):
        solution = solve_planted(problem, plants, contacts.ground, held, settings=OTHER_BODY, progress=progress)
    else:
        problem = problem.on(flatten_toes(moved, figure, plants, contacts.ground))
        solution = solve_soles(method or Hierarchical(), problem, soles, held, progress)
    solution = with_lead_in(solution, moved, figure, contacts.ground, lead, lead_in)
    judged = (clip.motion, clip.character, contacts)
    before, after = measure_each((moved, solution.motion), figure, contacts, against=judged, ground=contacts.ground)
    solution = replace(solution, report=replace(solution.report, before=before, after=after))
    if solution.status is Status.UNREACHABLE and not scale_footsteps:
        shortest = min(change.legs) / change.legs[0]
        solution = solution.noted(
            f"some footsteps are out of reach of legs at {100 * shortest:.0f} % of their length; scale the footsteps"
        )
    return Result.of(clip, dropped_lead_in(solution, lead, lead_in), source=clip, ground=contacts.ground)
