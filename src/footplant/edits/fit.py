"""Motion fitting, the general case: change a motion as little as possible so that given constraints hold.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), sections 4.1
to 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from footplant.constraints import Constraint, Footplant, Position
from footplant.constraints.body import entered_notes
from footplant.contacts.detection import FEET, Contacts
from footplant.feet.kept_plants import plants_to_keep
from footplant.feet.lead_in import (
    LeadIn,
    contacts_after_lead_in,
    dropped_lead_in,
    join_lead_in,
    lead_in_beside,
    lead_in_note,
    require_lead_in,
)
from footplant.feet.sole_correction import lift_soles_for_fit
from footplant.io.constraint_files import read_constraints
from footplant.kinematics import Kinematics
from footplant.problem import Method, Problem, Progress
from footplant.quality.measure import measure_each
from footplant.result import ClipSource, Result, as_clip
from footplant.solve.choose_ik import IkName, choose_ik, posing_ik, settle
from footplant.solve.ik.numeric import Numeric
from footplant.solve.methods import method_of
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.solve.methods.spacetime import Spacetime


def fit(
    clip: ClipSource,
    constraints: Sequence[Constraint] | str | Path,
    *,
    method: str | Method = "hierarchical",
    ik: IkName = "auto",
    exact: bool = True,
    keep_plants: bool = True,
    contacts: Contacts | None = None,
    lead_in: LeadIn = "keep",
    progress: Progress | None = None,
) -> Result:
    """Return the clip's motion with the smallest change that meets the constraints.

    constraints: objects, or the name of a file of them. method: a name of `solve.methods.NAMES`, or a method object.
    ik, used when the method is given by name: "auto" (the least change of all joints within joint limits and above the
    ground), "numeric" (the same without limits and ground), or "hybrid" (trunk first, limbs in closed form). exact:
    whether a last pass closes the residual that the method leaves. keep_plants: also keep the clip's own footplants
    near the constraints, before all of these, as in a drag: a goal out of reach is approached and does not lift the
    feet; a foot that is itself constrained is released meanwhile. contacts: the clip's contacts if they are already
    known. Spacetime solves for the places of footplants that have none; other methods fix them at their mean position.
    A note reports an arm that a position takes into the body. lead_in: "keep" a T-pose before the motion as it is, or
    "drop" it; where a constraint is to hold in it, it is part of the motion.
    """
    clip = as_clip(clip)
    require_lead_in(lead_in)
    motion, character = clip.motion, clip.character
    if isinstance(constraints, str | Path):
        constraints = read_constraints(constraints, character, frames=len(motion), fps=motion.fps)
    lead = lead_in_beside(constraints, clip)
    settled, notes = settle(constraints, Kinematics(motion))
    placed = settled
    if method == "spacetime" or isinstance(method, Spacetime):
        settled, notes = list(constraints), []
    has_feet = any(name in character.contacts for name in FEET)
    if contacts is None and has_feet:
        contacts = contacts_after_lead_in(None, clip, lead)
    kept: tuple[Footplant, ...] = ()
    if keep_plants and contacts is not None:
        kept, freed = plants_to_keep(contacts, character, settled, motion.fps)
        notes += freed
    problem = Problem(motion, character, (*settled, *kept))
    if isinstance(method, str):
        if ik == "auto" and character.roles is not None:
            chosen = posing_ik(motion, character, None if contacts is None else contacts.ground, (*placed, *kept))
        else:
            chosen, why = choose_ik(motion, character, (*placed, *kept), ik)
            notes += [why] if why and method != "spacetime" else []
        method = method_of(method, exact=exact, ik=chosen)
    solution = method.solve(problem, progress)
    if lead:
        joined = join_lead_in(motion[:lead], solution.motion[lead:], character, None)
        solution = replace(solution, motion=joined).noted(lead_in_note(lead, lead_in, placed=False))
    if contacts is not None:
        if not _keeps_ground(method):
            solution = lift_soles_for_fit(solution, problem, method, contacts.ground)
        before, after = measure_each(
            (motion, solution.motion),
            character,
            contacts,
            against=(motion, character, contacts),
            ground=contacts.ground,
        )
        solution = replace(solution, report=replace(solution.report, before=before, after=after))
    goals = [
        (goal.point.joint, frame)
        for goal in problem.constraints
        if isinstance(goal, Position)
        for frame in goal.held_rows(np.arange(len(motion)), motion.fps).tolist()
    ]
    notes += entered_notes(character, motion, solution.motion, goals)
    return Result.of(clip, dropped_lead_in(solution.noted(*notes), lead, lead_in), source=clip)


def _keeps_ground(method: Method) -> bool:
    """Return whether a method keeps soles above the ground by itself."""
    ik = method.ik if isinstance(method, Hierarchical) else None
    return isinstance(ik, Numeric) and ik.bounds is not None
