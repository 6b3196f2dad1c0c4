"""Repair of anybody's clip: feet that skate, float or sink are put right with the least change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import Contacts
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround, as_ground
from footplant.contacts.stillness import LEAD_IN_FRAMES, lead_in
from footplant.edits.fit import editing_ik
from footplant.edits.retarget import at_pace, with_floor
from footplant.errors import MotionError
from footplant.feet.detached import in_one_piece, in_pieces
from footplant.feet.soles import SOLE, clear_ground, lift_toes, stay_above
from footplant.feet.stances import (
    Stance,
    find_skating_contacts,
    find_stance,
    floor_level,
    further_stance,
    joined,
    lay_toes,
)
from footplant.feet.steps import reconciled, risen
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.passes.limit_acceleration import Pace
from footplant.problem import Problem, Progress, Solution, Stopwatch
from footplant.quality.measure import Quality, measure_each
from footplant.skeleton import Character
from footplant.solve.methods.hierarchical import Hierarchical

FirstFrame = Literal["keep", "drop", "ease"]
FIRST_FRAME = get_args(FirstFrame)
FLOOR = 0.05
"""Body heights; a level floor this near to height 0 is meant to be there (9 cm for an adult)."""
ROUNDS = 4
"""How often plants are looked for at most."""
DEPTH = 0.003
"""Metres below the ground that are left alone: nobody sees them, and lifting a foot has its price."""

SPARE = 0.0005
"""Metres deeper than that which do not make a foot be lifted again: a smooth lift leaves as much."""


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
    whole = in_one_piece(clip)
    if whole is not clip:
        solution = repair(
            whole, ground=ground, slide=slide, first_frame=first_frame, contacts=contacts, progress=progress
        )
        return in_pieces(solution, clip.character.skeleton)
    character, lead = (
        clip.character,
        lead_in(Kinematics(clip.motion[: LEAD_IN_FRAMES + 1]).positions, clip.character.height),
    )
    source, notes = _without_t_pose(clip.motion, lead, first_frame)
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
        one = joined(stance.contacts, again, character.height)
        if one is not stance.contacts:
            stance = find_stance(motion, character, one, floor)
            continue
        further = further_stance(solution.motion, character, stance, again)
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
        solution = replace(solution, motion=_put_back(solution.motion, clip.motion, lead, raised))
    solution = replace(solution, report=replace(solution.report, before=before, after=after))
    return solution.noted(*notes, *told, *_sentences(before, after))


def _solve(motion: Motion, character: Character, stance: Stance, progress: Progress | None) -> Solution:
    """The motion with its feet as a stance has them."""
    method = Hierarchical(ik=editing_ik(motion, character))
    ground = stance.contacts.ground
    plants = _on_the_ground(stance.plants, character, ground)
    problem = Problem(lay_toes(motion, character, plants, ground), character, plants)
    solution = method.solve(problem, progress)
    return _clear(solution, problem, method, plants, ground)


def _on_the_ground(plants: tuple[Footplant, ...], character: Character, ground: Ground) -> tuple[Footplant, ...]:
    """The plants, none of them in a ground that is known, heels and balls as far apart as the foot is long.

    A foot that shakes may be found to stand below it, and its ends in a row that no foot can meet all of. What is near
    enough stays as it is.
    """
    if isinstance(ground, InterpolatedGround | LoweredGround):
        return plants
    agreed = reconciled(risen(plants, ground), character)
    ways = [np.asarray(new.place) - np.asarray(old.place) for new, old in zip(agreed, plants)]
    moved = max((float(np.abs(way).max()) for way in ways), default=0.0)
    return agreed if moved > DEPTH else plants


def _calm(solution: Solution, source: Clip, stance: Stance) -> Solution:
    """The solution with joints that are no more than a little faster than the clip's own fastest."""
    pace = Pace.of(source, source.character)
    if pace is None:
        return solution
    problem = Problem(solution.motion, source.character, stance.plants)
    bounds = stay_above(
        source.character, stance.contacts.ground, range(len(solution.motion)), _allowed(solution.motion)
    )
    return at_pace(solution, solution.motion, problem, bounds, pace)


def _allowed(motion: Motion) -> dict[str, NDArray]:
    """Contact point → (F,) metres, below 0, that it may be in the ground."""
    return {f"{side}_{part}": np.full(len(motion), -DEPTH) for side in ("left", "right") for part in SOLE}


def _without_t_pose(motion: Motion, lead: int, wish: FirstFrame) -> tuple[Motion, list[str]]:
    """The motion without a T-pose before it: dropped, or replaced by a pose that leads into it; and what becomes of it.

    One that is to be kept is replaced too, so that it disturbs nothing, and put back in the end.
    """
    if wish not in FIRST_FRAME:
        raise MotionError(f"expected first_frame to be one of {', '.join(FIRST_FRAME)}, got {wish!r}")
    if not lead:
        return motion, []
    what = "the first frame is" if lead == 1 else f"the first {lead} frames are"
    done = {"keep": "kept as it is", "drop": "left out", "ease": "replaced by one that leads into it"}[wish]
    notes = [f"{what} a pose apart from the motion (a T-pose): {done}"]
    if wish == "drop":
        return motion[lead:], notes
    # the motion run backwards from its first frame, by the same steps mirrored in time
    back = motion[np.clip(2 * lead - np.arange(lead), 0, len(motion) - 1)]
    base = motion[np.full(lead, lead)]
    eased = base + -1.0 * (back - base)
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[:lead], rotations[:lead] = eased.root, eased.rotations
    return replace(motion, root=root, rotations=rotations), notes


def _set_down(
    motion: Motion, character: Character, contacts: Contacts, known: Ground | None
) -> tuple[Motion, Contacts, Ground, list[str]]:
    """The whole clip lifted or lowered onto its floor; what then stands there; the floor; and what was done."""
    level = floor_level(Kinematics(motion), character, contacts)
    if known is not None and not (isinstance(known, Plane) and level is not None):
        return motion, contacts, known, []
    if level is None:
        # a ground that only plants tell is a guess between them: nothing is lifted out of where it passed
        contacts = with_floor(contacts, Clip(motion, character))
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


def _clear(
    solution: Solution,
    problem: Problem,
    method: Hierarchical,
    plants: Sequence[Footplant],
    ground: Ground,
) -> Solution:
    """The feet brought out of the ground between and beside their plants, and the plants enforced again."""
    character, motion = problem.character, solution.motion
    allowed = _allowed(motion)
    last = replace(method, spacings=(), first_guess=False)
    judged = stay_above(character, ground, range(len(motion)), allowed)
    whole = replace(problem, constraints=(*problem.constraints, *judged))
    watch, reachable = Stopwatch(whole), True
    for _ in range(2):
        if not _in_ground(motion, character, ground, allowed):
            break
        motion = lay_toes(motion, character, plants, ground)
        motion = lift_toes(motion, character, plants, ground, allowed)
        motion = clear_ground(motion, character, plants, ground, allowed)
        again = last.solve(replace(whole, motion=motion))
        motion, reachable = again.motion, again.status.name != "UNREACHABLE"
        watch.lap("soles", motion)
    found = watch.finish("hierarchical", motion, reachable=reachable, notes=solution.report.notes)
    levels = (*solution.report.levels, *found.report.levels)
    seconds = solution.report.seconds + found.report.seconds
    return replace(found, report=replace(found.report, levels=levels, seconds=seconds))


def _in_ground(motion: Motion, character: Character, ground: Ground, allowed: Mapping[str, NDArray]) -> bool:
    kinematics = Kinematics(motion)
    for name, depth in allowed.items():
        if name in character.contacts:
            place = kinematics.point(character.contacts[name])
            if (place[:, 1] - ground.height(place[:, ::2]) < depth - SPARE).any():
                return True
    return False


def _put_back(motion: Motion, source: Motion, lead: int, raised: NDArray) -> Motion:
    """The first frames as they were, raised with the whole clip."""
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[:lead], rotations[:lead] = source.root[:lead] + raised, source.rotations[:lead]
    return replace(motion, root=root, rotations=rotations)


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
