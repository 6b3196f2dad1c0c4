"""The general case: a motion and what must hold of it, fitted with the least change.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.constraints import AcrossFrames, Constraint, Footplant
from footplant.contacts.detection import FEET, Contacts, find_contacts
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround
from footplant.errors import ConstraintError
from footplant.feet.soles import SHALLOW, clear_ground, depths, lift_toes
from footplant.feet.steps import EASE
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Ik, Method, Problem, Progress, Solution, Status, Stopwatch
from footplant.quality.measure import measure_each
from footplant.skeleton import Character
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric
from footplant.solve.methods import method_of
from footplant.solve.methods.hierarchical import PAPER_RATE
from footplant.solve.methods.spacetime import Spacetime

IkName = Literal["auto", "hybrid", "numeric"]


def fit(
    clip: Clip,
    constraints: Sequence[Constraint],
    *,
    method: str | Method = "hierarchical",
    ik: IkName = "auto",
    exact: bool = True,
    keep_plants: bool = True,
    contacts: Contacts | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The clip's motion with the least change that meets the constraints.

    ik: "hybrid", "numeric", or "auto": hybrid when it can honour everything, else numeric. exact: whether a last pass
    enforces what the method leaves. keep_plants: the clip's own footplants near the constraints hold too, with a
    smaller priority, so that pulling a hand does not drag the feet; a foot that is itself constrained is let go
    meanwhile. contacts: the clip's plants where they are known already. method: the name of one of `methods.NAMES`,
    which then has that ik, or one that is set up already. Spacetime finds the places of footplants that have none; for
    all others they are fixed where they are on average.
    """
    motion, character = clip.motion, clip.character
    settled, notes = settle(constraints, Kinematics(motion))
    placed = settled
    if method == "spacetime" or isinstance(method, Spacetime):
        settled, notes = list(constraints), []
    has_feet = any(name in character.contacts for name in FEET)
    if contacts is None and has_feet:
        contacts = find_contacts(clip)
    kept: tuple[Footplant, ...] = ()
    if keep_plants and contacts is not None:
        kept, freed = plants_to_keep(contacts, character, settled, motion.fps)
        notes += freed
    problem = Problem(motion, character, (*settled, *kept))
    if isinstance(method, str):
        chosen, why = choose_ik(motion, character, (*placed, *kept), ik)
        notes += [why] if why and method != "spacetime" else []
        method = method_of(method, exact=exact, ik=chosen)
    solution = method.solve(problem, progress)
    if contacts is not None:
        solution = _out_of_the_ground(solution, problem, method, contacts.ground)
        before, after = measure_each(
            (motion, solution.motion),
            character,
            contacts,
            against=(motion, character, contacts),
            ground=contacts.ground,
        )
        solution = replace(solution, report=replace(solution.report, before=before, after=after))
    return solution.noted(*notes)


def _out_of_the_ground(solution: Solution, problem: Problem, method: Method, ground: Ground) -> Solution:
    """Soles that an edit has pushed into the ground are lifted out of it, as far as the clip had them out of it.

    Hips that are drawn down take the foot with them that swings. A ground that only plants tell is a guess between
    them: nothing is lifted out of that.
    """
    last, character = getattr(method, "closing", None), problem.character
    if last is None or character.roles is None or isinstance(ground, InterpolatedGround | LoweredGround):
        return solution
    allowed = depths(Kinematics(problem.motion), character, ground)
    plants = [c for c in problem.constraints if isinstance(c, Footplant)]
    motion, watch, reachable = solution.motion, Stopwatch(problem), solution.status is not Status.UNREACHABLE
    for _ in range(2):
        now = depths(Kinematics(motion), character, ground)
        if not any((now[name] < least - SHALLOW).any() for name, least in allowed.items()):
            break
        motion = lift_toes(motion, character, plants, ground, allowed)
        motion = clear_ground(motion, character, plants, ground, allowed)
        motion, reachable = last.close(problem.on(motion))
        watch.lap("soles", motion)
    if motion is solution.motion:
        return solution
    found = watch.finish(solution.report.method, motion, reachable=reachable, notes=solution.report.notes)
    levels = (*solution.report.levels, *found.report.levels)
    seconds = solution.report.seconds + found.report.seconds
    return replace(found, report=replace(found.report, levels=levels, seconds=seconds))


def settle(constraints: Sequence[Constraint], kinematics: Kinematics) -> tuple[list[Constraint], list[str]]:
    """The constraints with every free footplant fixed where the motion has it on average, and a sentence for each."""
    found, notes = [], []
    for constraint in constraints:
        if isinstance(constraint, Footplant) and constraint.free:
            constraint = constraint.settled(kinematics)
            place = ", ".join(f"{value:.3f}" for value in np.asarray(constraint.place))
            notes.append(f"{constraint.title}: its place was free; it stands where it is on average, at ({place})")
        found.append(constraint)
    return found, notes


def editing_ik(motion: Motion, character: Character) -> Hybrid:
    """Hybrid ik for the figure of a motion: what holds already stays as it is, straight knees too."""
    return Hybrid(character, as_straight_as=motion, softness=0.001)


def choose_ik(
    motion: Motion, character: Character, constraints: Sequence[Constraint], name: IkName = "auto"
) -> tuple[Ik, str | None]:
    """What poses single frames of a motion, and why, where that was not asked for."""
    if name == "numeric":
        return Numeric(), None
    if name not in ("auto", "hybrid"):
        raise ConstraintError(f"expected an ik among auto, hybrid, numeric; got {name!r}")
    if name == "hybrid":
        return editing_ik(motion, character), None
    if character.roles is None:
        return Numeric(), f"numeric ik was taken: {character.name!r} has no human roles"
    hybrid = editing_ik(motion, character)
    for constraint in constraints:
        reason = hybrid.refuses(constraint)
        if reason:
            return Numeric(), f"numeric ik was taken, because of {constraint.title!r}: {reason}"
    return hybrid, None


def plants_to_keep(
    contacts: Contacts, character: Character, constraints: Sequence[Constraint], fps: float, spacing: float = 16.0
) -> tuple[tuple[Footplant, ...], list[str]]:
    """The clip's own plants that an edit could disturb, with the smallest priority, and a sentence on those let go.

    Plants farther from every constraint than an edit reaches (`spacing`: its coarsest knots, frames of 1/30 s) are
    left alone. Where a constraint holds a foot itself, its plants are let go.
    """
    frames = contacts.frames
    near, held = np.zeros(frames, bool), {side: np.zeros(frames, bool) for side in ("left", "right")}
    every = np.arange(frames)
    feet = {side: _foot_joints(character, side) for side in held}
    for constraint in constraints:
        busy = _busy(constraint, every, fps)
        near |= busy
        for joint in _joints_of(constraint):
            for side, joints in feet.items():
                if joint in joints:
                    held[side] |= busy
    # a cubic B-spline reaches two knots on either side, and two more where it is fitted to what lies there
    reach = int(np.ceil(4.0 * spacing * fps / PAPER_RATE))
    touched = np.flatnonzero(near)
    least = min((constraint.priority for constraint in constraints), default=0) - 1
    kept, freed = [], []
    for plant in contacts.plants:
        side = plant.point.partition("_")[0]
        if plant.point not in character.contacts or not len(touched):
            continue
        if plant.end <= touched[0] - reach or plant.start > touched[-1] + reach:
            continue
        if side in held and held[side][plant.start : plant.end].any():
            freed.append(f"{plant.point} {plant.start}–{plant.end - 1}")
            continue
        kept.append(
            Footplant(
                point=character.contacts[plant.point],
                place=plant.place,
                frames=range(plant.start, plant.end),
                ramp=EASE,
                priority=least,
                name=f"{plant.point.replace('_', ' ')} {plant.start}–{plant.end - 1} (kept)",
            )
        )
    if not freed:
        return tuple(kept), []
    return tuple(kept), [f"let go, since constraints hold their foot meanwhile: {', '.join(freed)}"]


def _foot_joints(character: Character, side: str) -> set[int]:
    roles = character.roles
    foot = None if roles is None else roles.get(f"{side}_foot")
    if foot is not None:
        return set(character.skeleton.descendants(foot))
    return {point.joint for name, point in character.contacts.items() if name.startswith(f"{side}_") and name in FEET}


def _joints_of(constraint: Constraint) -> list[int]:
    """The joints whose place or turn a constraint is about, if it is about single ones."""
    points = [getattr(constraint, key) for key in ("point", "other") if hasattr(constraint, key)]
    own = [constraint.joint] if hasattr(constraint, "joint") else []  # type: ignore[attr-defined]
    return [point.joint for point in points] + own


def _busy(constraint: Constraint, frames: NDArray, fps: float) -> NDArray:
    """(F,) bool: frames at which a constraint is at work, ramps included."""
    if isinstance(constraint, AcrossFrames):
        return np.isin(frames, constraint.groups(len(frames)))
    return constraint.activation(frames, fps) > 0
