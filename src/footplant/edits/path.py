"""Path editing: a locomotion along another curve, its feet planted.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 4.4, after his "Motion
path editing" of the same year (METHODS B6): every frame goes along with the change of the path's frame, and each
footplant, heel and ball together, as one instant of its stance does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from footplant.clip import Clip
from footplant.constraints import Constraint
from footplant.contacts.detection import Contacts, find_contacts
from footplant.contacts.ground import InterpolatedGround
from footplant.contacts.stillness import lead_in
from footplant.curves import Curve
from footplant.errors import ConstraintError, MotionError
from footplant.feet.lead_in import stand_lead_in
from footplant.feet.path_mapping import PathMapping, PlantAt, carried_ground
from footplant.feet.soles import clearances_of, flatten_toes
from footplant.feet.stage import Stage
from footplant.feet.steps import find_steps, foot_length, plants_for, without_overlap
from footplant.feet.travel import Travel, find_travel
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.passes.sole_rounds import Soles, solve_soles
from footplant.problem import Method, Problem, Progress, Solution
from footplant.quality.measure import measure_each
from footplant.solve.choose_ik import choose_ik
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods import method_of
from footplant.solve.methods.hierarchical import Hierarchical

Timing = Literal["keep", "arc"]
"""Metres along the curve as they were along the path ("keep"), or the whole clip along the whole curve ("arc")."""
LEAST_WAY = 0.5
"""Body heights that a clip must get ahead for its path to be one."""
TIGHT = 0.4
"""Body heights; in bends of a smaller radius feet come to stand across one another."""
RIGIDITY = {"place": 10.0, "hips": 1.0}
"""How unwilling hips are to leave the curve and their heading: see `footplant.solve.ik.hybrid`."""
UNUSUAL = (0.7, 1.3)
"""Steps so much shorter or longer than they were look forced."""


def path(
    clip: Clip,
    curve: Curve,
    *,
    from_start: bool = False,
    plant_at: PlantAt = "middle",
    timing: Timing = "keep",
    method: str | Method = "hierarchical",
    exact: bool = True,
    constraints: Sequence[Constraint] = (),
    contacts: Contacts | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The clip's motion along another curve, its feet planted on the ground that it was on.

    from_start: move and turn the curve so that it starts where the clip does, the way the clip goes; else the clip is
    moved to the curve's start. plant_at: the instant of each stance that decides where its foot goes. timing: "keep"
    goes as fast along the curve as the clip did along its path, and straight on beyond an end; "arc" lays the whole
    clip along the whole curve in the same time, with longer or shorter steps. Further constraints hold in the places
    and frames of the new motion. The report's `before` is the motion carried along but not solved.
    """
    _check(clip, plant_at, timing)
    motion, character = clip.motion, clip.character
    contacts = contacts or find_contacts(clip)
    lead = lead_in(Kinematics(motion[:12]).positions, character.height)
    travel = _held(find_travel(motion[lead:], character, contacts), lead)
    if travel.length < LEAST_WAY * character.height:
        raise MotionError(
            f"{clip.name!r}: expected a motion that goes at least {LEAST_WAY * character.height:.2f} metres, got "
            f"{travel.length:.2f}: there is no path to change (a walk on the spot has to be given its way first)"
        )
    if from_start:
        curve = curve.moved(travel.places[0], float(travel.headings[0]))
    scale = 1.0 if timing == "keep" else curve.length / travel.length
    # who begins by going back is that far along the curve already
    shift = -float(travel.way.min()) if timing == "arc" else 0.0
    travel = replace(travel, way=travel.way + shift)
    carriage = PathMapping.of(travel, curve, scale)
    carried = carriage.motion(motion)
    steps = find_steps(contacts, foot_length(character, "left"), lead)
    moved = carriage.steps(steps, plant_at)
    ground, notes = carried_ground(contacts.ground, moved, character.height)
    stage = replace(Stage.of(clip, character, contacts, keep_footsteps=True), ground=ground)
    plants = without_overlap(plants_for(moved, character, stage.move), motion.fps)
    if isinstance(method, str):
        method = _method(method, exact, carried, clip, (*plants, *constraints))
    laid = flatten_toes(carried, character, plants, ground)
    problem = Problem(laid, character, (*plants, *constraints), rigidity=RIGIDITY)
    deep = None
    if isinstance(ground, InterpolatedGround):
        # a ground that is known by its plants alone is a guess between them: no deeper than the source is enough
        deep = clearances_of(Kinematics(motion), character, contacts.ground)
    solution = solve_soles(method, problem, Soles(plants, ground, deep, carried), range(lead, len(motion)), progress)
    if lead:
        solution = replace(solution, motion=stand_lead_in(solution.motion, carried, character, ground, lead)).noted(
            f"the first {lead} frames are a pose apart from the motion (a T-pose): carried along, set on the ground"
        )
    judged = (motion, character, contacts)
    before, after = measure_each((carried, solution.motion), character, contacts, against=judged, ground=ground)
    solution = replace(solution, report=replace(solution.report, before=before, after=after))
    return solution.noted(*notes, *_way_notes(travel, curve, scale, character.height))


def _method(name: str, exact: bool, carried: Motion, clip: Clip, constraints: Sequence[Constraint]) -> Method:
    """A method by its name that leaves the hips on the curve: where they go is given, and legs reach from there."""
    ik, _ = choose_ik(carried, clip.character, constraints)
    if isinstance(ik, Hybrid):
        ik = replace(ik, rigidity=RIGIDITY)
    method = method_of(name, exact=exact, ik=ik)
    # hips that first went with the feet would take every stance's way straight
    return replace(method, first_guess=False) if isinstance(method, Hierarchical) else method


def _check(clip: Clip, plant_at: str, timing: str) -> None:
    for value, words, what in ((plant_at, PlantAt, "an instant of plants"), (timing, Timing, "a timing")):
        if value not in get_args(words):
            raise ConstraintError(f"expected {what} among {', '.join(get_args(words))}; got {value!r}")
    if len(clip.motion) < 3:
        raise MotionError(f"expected a clip of at least 3 frames to lay along a curve, got {len(clip.motion)}")
    clip.character.require_roles()


def _held(travel: Travel, lead: int) -> Travel:
    """The path of the frames after the lead-in, held at its start before them."""
    if not lead:
        return travel
    before = {key: getattr(travel, key)[[0] * lead] for key in ("places", "headings", "way")}
    return replace(travel, **{key: np.concatenate([held, getattr(travel, key)]) for key, held in before.items()})


def _way_notes(travel: Travel, curve: Curve, scale: float, height: float) -> list[str]:
    """What became of the way, in sentences."""
    notes = []
    low, high = float(travel.way.min()), float(travel.way.max())
    if scale != 1.0:
        forced = "" if UNUSUAL[0] <= scale <= UNUSUAL[1] else "; loop or cut the clip for steps that look natural"
        notes.append(
            f"the clip's way of {travel.length:.2f} m covers the curve of {curve.length:.2f} m: steps are {scale:.2f} "
            f"times as long{forced}"
        )
    elif not curve.closed:
        if high > curve.length + 0.01:
            notes.append(
                f"the clip's way is {high:.2f} m, the curve is {curve.length:.2f} m: it goes straight on beyond its end"
            )
        if low < -0.01:
            notes.append(f"the clip goes back {-low:.2f} m before its start, straight on before the curve's")
    if travel.back > 0.1 * height:
        notes.append(f"the clip goes back on its way by {travel.back:.2f} m, and so it does on the curve")
    tightest = curve.tightest(scale * low, scale * high)
    if tightest < TIGHT * height:
        notes.append(f"the curve has bends of a radius of {tightest:.2f} m: feet may come to stand across one another")
    return notes
