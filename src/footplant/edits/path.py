"""Path editing: lay locomotion along another curve, with its feet planted.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 4.4, after his "Motion
path editing" of the same year: every frame moves with the path's frame at its arc length, and each footplant, heel and
ball together, moves rigidly with one instant of its stance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from footplant.clip import Clip
from footplant.constraints import Constraint
from footplant.contacts.detection import Contacts
from footplant.contacts.ground import InterpolatedGround
from footplant.contacts.stillness import lead_in_frames
from footplant.curves import Curve
from footplant.errors import ConstraintError, MotionError
from footplant.feet.lead_in import (
    LeadIn,
    contacts_after_lead_in,
    dropped_lead_in,
    require_lead_in,
    with_lead_in,
)
from footplant.feet.path_mapping import PathMapping, PlantAt, moved_ground
from footplant.feet.planting import can_plant, chosen_method, solve_planted
from footplant.feet.sole_correction import Soles, solve_soles
from footplant.feet.soles import clearances_of, flatten_toes
from footplant.feet.stage import Stage
from footplant.feet.steps import find_steps, foot_length, plants_for, without_overlap
from footplant.feet.travel import Travel, find_travel
from footplant.io.curve_files import load_curve
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Method, Problem, Progress
from footplant.quality.measure import measure_each
from footplant.result import ClipSource, Result, as_clip
from footplant.solve.choose_ik import choose_ik
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.legs import LEG_SETTINGS
from footplant.solve.methods import method_of
from footplant.solve.methods.hierarchical import Hierarchical

Timing = Literal["keep", "arc"]
"""Same speed along the curve as along the path ("keep"), or the whole clip stretched over the curve ("arc")."""
RIGIDITY = {"place": 10.0, "hips": 1.0}
"""Cost of moving the hips off the curve and of turning them off its heading: see `footplant.solve.ik.hybrid`. With
lower costs the trunk yields instead of the legs."""


@dataclass(frozen=True)
class PathSettings:
    """Tuning numbers of path editing; they decide on errors and notes, not on the motion."""

    shortest_path: float = 0.5
    """Body heights that a clip must travel to have a path that can be edited."""
    tight_bend: float = 0.4
    """Body heights; a bend of a smaller radius gets a note, because feet may cross."""
    step_scale: tuple[float, float] = (0.7, 1.3)
    """Range of step lengths, as a factor of the source's, outside of which a note says that they look unnatural."""


SETTINGS = PathSettings()
ON_CURVE = replace(LEG_SETTINGS, hips=2.0)
"""Hips stay on the curve, and the legs do the work. Of 1, 1.5, 2, 4 and 10, only 2 keeps hips within 3 cm of their own
sway and accelerations within 1.3 times the source's on the tightest curve of the tests."""


def bend(
    clip: ClipSource,
    curve: Curve | str | Path,
    *,
    from_start: bool | None = None,
    plant_at: PlantAt = "middle",
    timing: Timing = "keep",
    method: str | Method | None = None,
    exact: bool = True,
    constraints: Sequence[Constraint] = (),
    contacts: Contacts | None = None,
    lead_in: LeadIn = "keep",
    progress: Progress | None = None,
) -> Result:
    """Return the clip's motion along another curve, with its feet planted.

    curve: a curve on the ground, or a text as in `io.curve_files.load_curve`: "circle:2", "s:6,1.5", a file of points.
    from_start: move and turn the curve so that it starts at the clip's start, in the clip's heading; otherwise the clip
    moves to the start of the curve; None: the former for shapes given by name, the latter for everything else.
    plant_at: the instant of each stance that decides where its foot goes. timing: "keep" keeps the speed along the
    path, and goes straight on beyond an end of the curve; "arc" spreads the whole clip over the whole curve in the same
    time, with longer or shorter steps. method: None or "whole-body", or a published method, by name or as an object.
    constraints: further constraints, in the space of the new motion. lead_in: "keep" a T-pose before the motion, moved
    along and placed on the ground, or "drop" it.
    The report's `before` measures the motion moved along the curve before it is solved.
    """
    clip = as_clip(clip, humanoid=True)
    if isinstance(curve, str | Path):
        curve, starts_there = load_curve(str(curve))
        from_start = starts_there if from_start is None else from_start
    require_lead_in(lead_in)
    _check(clip, plant_at, timing)
    whole_body = chosen_method(method) is None
    motion, character = clip.motion, clip.character
    lead = lead_in_frames(clip)
    contacts = contacts_after_lead_in(contacts, clip, lead)
    travel = _held(find_travel(motion[lead:], character, contacts), lead)
    if travel.length < SETTINGS.shortest_path * character.height:
        raise MotionError(
            f"{clip.name!r}: expected a motion that travels {SETTINGS.shortest_path * character.height:.2f} m or more, "
            f"got {travel.length:.2f} m: there is no path to edit (a walk in place has none)"
        )
    if from_start:
        curve = curve.moved(travel.places[0], float(travel.headings[0]))
    scale = 1.0 if timing == "keep" else curve.length / travel.length
    # a clip that starts backwards starts that far along the curve
    shift = -float(travel.distance.min()) if timing == "arc" else 0.0
    travel = replace(travel, distance=travel.distance + shift)
    mapping = PathMapping.of(travel, curve, scale)
    carried = mapping.motion(motion)
    steps = find_steps(contacts, foot_length(character, "left"), lead)
    moved = mapping.steps(steps, plant_at)
    ground, notes = moved_ground(contacts.ground, moved, character.height)
    stage = replace(Stage.of(clip, character, contacts, keep_footsteps=True), ground=ground)
    plants = without_overlap(plants_for(moved, character, stage.move), motion.fps)
    if isinstance(method, str) and not whole_body:
        method = _method(method, exact, carried, clip, (*plants, *constraints))
    problem = Problem(carried, character, (*plants, *constraints), rigidity=RIGIDITY)
    deep = None
    if isinstance(ground, InterpolatedGround):
        # a ground interpolated between footplants is a guess: allow the penetration that the source has
        deep = clearances_of(Kinematics(motion), character, contacts.ground)
    held = range(lead, len(motion))
    if whole_body and can_plant(character):
        solution = solve_planted(problem, plants, ground, held, allowed=deep, settings=ON_CURVE, progress=progress)
    else:
        problem = problem.on(flatten_toes(carried, character, plants, ground))
        solution = solve_soles(
            chosen_method(method) or Hierarchical(), problem, Soles(plants, ground, deep, carried), held,
            progress,
        )  # fmt: skip
    solution = with_lead_in(solution, carried, character, ground, lead, lead_in)
    judged = (motion, character, contacts)
    before, after = measure_each((carried, solution.motion), character, contacts, against=judged, ground=ground)
    solution = replace(solution, report=replace(solution.report, before=before, after=after))
    solution = solution.noted(*notes, *_path_notes(travel, curve, scale, character.height))
    solution = dropped_lead_in(solution, lead, lead_in)
    return Result.of(clip, solution, source=clip, unsolved=carried, ground=ground)


def _method(name: str, exact: bool, carried: Motion, clip: Clip, constraints: Sequence[Constraint]) -> Method:
    """Return a method by name that keeps the hips on the curve, so that the legs do the work."""
    ik, _ = choose_ik(carried, clip.character, constraints)
    if isinstance(ik, Hybrid):
        ik = replace(ik, rigidity=RIGIDITY)
    method = method_of(name, exact=exact, ik=ik)
    # an initial guess that moves the hips with the feet would straighten the path within each stance
    return replace(method, first_guess=False) if isinstance(method, Hierarchical) else method


def _check(clip: Clip, plant_at: str, timing: str) -> None:
    for value, words, what in ((plant_at, PlantAt, "an instant of plants"), (timing, Timing, "a timing")):
        if value not in get_args(words):
            raise ConstraintError(f"expected {what} among {', '.join(get_args(words))}; got {value!r}")
    if len(clip.motion) < 3:
        raise MotionError(f"expected a clip of at least 3 frames to lay along a curve, got {len(clip.motion)}")
    clip.character.require_roles()


def _held(travel: Travel, lead: int) -> Travel:
    """Return a path of all frames: that after the lead-in, with its start repeated for the lead-in frames."""
    if not lead:
        return travel
    before = {key: getattr(travel, key)[[0] * lead] for key in ("places", "headings", "distance")}
    return replace(travel, **{key: np.concatenate([held, getattr(travel, key)]) for key, held in before.items()})


def _path_notes(travel: Travel, curve: Curve, scale: float, height: float) -> list[str]:
    """Return notes on how the clip's path fits the curve."""
    notes = []
    low, high = float(travel.distance.min()), float(travel.distance.max())
    if scale != 1.0:
        unnatural = (
            ""
            if SETTINGS.step_scale[0] <= scale <= SETTINGS.step_scale[1]
            else "; loop or trim the clip for natural steps"
        )
        notes.append(
            f"the clip's path of {travel.length:.2f} m covers the curve of {curve.length:.2f} m: steps are {scale:.2f} "
            f"times as long{unnatural}"
        )
    elif not curve.closed:
        if high > curve.length + 0.01:
            notes.append(
                f"the clip's path is {high:.2f} m, the curve is {curve.length:.2f} m: it goes straight on after that"
            )
        if low < -0.01:
            notes.append(f"the clip starts {-low:.2f} m backwards: it leaves the curve's start in a straight line")
    if travel.back > 0.1 * height:
        notes.append(f"the clip doubles back by {travel.back:.2f} m, and follows the curve back")
    tightest = curve.tightest(scale * low, scale * high)
    if tightest < SETTINGS.tight_bend * height:
        notes.append(f"the curve has bends with a radius of {tightest:.2f} m: feet may cross")
    return notes
