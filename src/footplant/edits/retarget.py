"""Retargeting: any motion of a human-like figure on any other one, its footplants kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.clip import Clip
from footplant.constraints import Above, Constraint, Footplant
from footplant.contacts.detection import Contacts, find_contacts
from footplant.contacts.ground import Ground, InterpolatedGround, LoweredGround, lower_to_soles
from footplant.contacts.settings import SUPPORT
from footplant.contacts.stillness import LEAD_IN_FRAMES, lead_in
from footplant.edits.fit import editing_ik
from footplant.errors import MotionError
from footplant.feet.detached import attached, in_pieces, refuse_constraints
from footplant.feet.soles import level_toes, lift_toes, put_right, stay_above, stones
from footplant.feet.steps import (
    find_steps,
    foot_length,
    hip_width,
    one_after_another,
    plants_for,
    reconciled,
    risen,
    wider_track,
)
from footplant.feet.tiptoe import at_tips, on_tiptoe
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.passes.acceleration_bounds import calmer, peak, soothed
from footplant.passes.limit_acceleration import TOO_FAST, Pace, calm_down
from footplant.passes.touches import hangs, keep_palms_out, keep_touches, palm_plants, without_waving
from footplant.problem import Method, Problem, Progress, Solution, Status, Stopwatch, worst_error
from footplant.quality.measure import measure_each
from footplant.skeleton import Character
from footplant.solve.closing import CLOSED, unmet_shares
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.solve.methods.spacetime import Spacetime
from footplant.spline import smooth_envelope
from footplant.transfer import hip_centers, leg_ratio, reach_ratio, transfer

FURTHER = 3
"""Levels of hierarchical fitting beyond its usual ones at most, for figures whose legs are of another length."""
ABOVE_ONE_ANOTHER = 0.1
"""Body heights between plants at one place beyond which they do not stand on one floor."""
ROUNDS = (2, 5)
"""How often soles are put right at least, and at most while one is deeper in the ground than this:"""
DEEP = 0.004
"""Metres."""
LET_GO = 0.3
"""Seconds around a peak that hands make for what they touch, over which they let it go."""


def retarget(
    clip: Clip,
    target: Character,
    *,
    keep_footsteps: bool = False,
    method: Method | None = None,
    constraints: Sequence[Constraint] = (),
    contacts: Contacts | None = None,
    copy: bool = False,
    progress: Progress | None = None,
) -> Solution:
    """The clip's motion on another character, its feet planted where they were.

    Footsteps are scaled with the legs, or kept where they are with `keep_footsteps`. Further constraints are solved
    together with the plants. contacts: the clip's plants where they are known already. copy: carry rotations over and
    solve nothing, to compare with.
    """
    if not len(clip.motion):
        raise MotionError(f"expected a clip with frames to retarget, got none in {clip.name!r}")
    whole = attached(target)
    if whole is not target:
        refuse_constraints(target, constraints)
        solution = retarget(
            clip, whole, keep_footsteps=keep_footsteps, method=method, contacts=contacts, copy=copy, progress=progress
        )
        return in_pieces(solution, target.skeleton)
    source = Kinematics(clip.motion)
    lead = lead_in(source.positions[: LEAD_IN_FRAMES + 1], clip.character.height)
    contacts = without_waving(contacts or find_contacts(clip, hands=True), clip.character.height, clip)
    contacts = with_floor(contacts.since(lead), clip, lead)
    stage = Stage.of(clip, target, contacts, keep_footsteps)
    copied = transfer(clip.motion, clip.character, target, stride=stage.scale, rise=stage.rise, about=stage.start)
    steps = find_steps(contacts, foot_length(clip.character, "left"), lead)
    extra = 0.0 if keep_footsteps else hip_width(target) / stage.scale - hip_width(clip.character)
    plants = plants_for(steps, target, stage.move, wider_track(steps, source, clip.character, extra))
    if not stage.guessed:
        plants = reconciled(risen(plants, stage.ground), target)
    given, target = target, target if alike(clip.character, target) else on_tiptoe(target)
    if target is not given:
        plants = at_tips(plants, given, target, copied)
    plants = one_after_another(plants, clip.motion.fps)
    if stage.guessed:
        stage = replace(stage, ground=lower_to_soles(stage.ground, stones(plants, copied, target), target.height))
    held = range(lead, len(copied))
    palms = palm_plants(contacts, target, stage.move)
    problem = Problem(level_toes(copied, target, plants, stage.ground), target, (*plants, *palms, *constraints))
    soles = Soles(plants, stage.ground, unlevelled=copied)
    if copy:
        solution = Stopwatch(problem).finish("copy of rotations", copied)
    else:
        if method is None or (isinstance(method, Hierarchical) and method.ik is None):
            # on a figure with the same bones what holds already stays as it is, straight knees too
            ik = editing_ik(copied, target) if alike(clip.character, target) else Hybrid(target)
            method = replace(method or Hierarchical(), ik=ik, further=FURTHER)
        solution = solve_soles(method, problem, soles, held, progress)
        touching = keep_touches(solution.motion, target, source, clip.character, palms)
        pace = Pace.of(clip, target) if getattr(method, "exact", False) else None
        smooth = isinstance(method, Spacetime)
        bounds = (*above(target, soles, held), *stay_above(target, stage.ground, held, parts=("palm",)))

        def finished(motion: Motion) -> Solution:
            out = keep_palms_out(motion, target, stage.ground, palms, held)
            return at_pace(solution, out, problem, bounds, pace, smooth)

        found = finished(touching)
        if pace is not None and len(peaks := pace.peaks(found.motion, TOO_FAST * pace.most)):
            # hands that would have to jump for what they touch let it go there
            touches = 1.0 - around(peaks, len(touching), round(LET_GO * touching.fps))
            gone = finished(solution.motion + touches[:, None, None] * (touching - solution.motion))
            calmer_now = peak(gone.motion, target, held) < peak(found.motion, target, held)
            found = gone if calmer_now else found
        solution = found
    if lead:
        solution = replace(solution, motion=stand_first(solution.motion, copied, target, stage.ground, lead)).noted(
            f"the first {lead} frames are a pose apart from the motion (a T-pose): carried over, set on the ground"
        )
    judged = (clip.motion, clip.character, contacts)
    before, after = measure_each((copied, solution.motion), target, contacts, against=judged, ground=stage.ground)
    return replace(solution, report=replace(solution.report, before=before, after=after))


def around(frames: NDArray, count: int, half: int) -> NDArray:
    """(count,) 1 at some frames and near them, going down to 0 over ±half."""
    marked = np.zeros(count)
    marked[frames] = 1.0
    return np.minimum(smooth_envelope(marked, max(half, 1)), 1.0)


def alike(character: Character, target: Character) -> bool:
    """Whether two figures have the same bones, to a ten-thousandth of their height."""
    ours, theirs = character.skeleton, target.skeleton
    return ours.names == theirs.names and bool(
        np.array_equal(ours.parents, theirs.parents)
        and np.abs(ours.offsets[1:] - theirs.offsets[1:]).max(initial=0.0) < 1e-4 * character.height
    )


@dataclass(frozen=True, eq=False)
class Soles:
    """What is asked of the feet beside their plants."""

    plants: tuple[Footplant, ...]
    ground: Ground
    clearances: dict[str, NDArray] | None = None
    """Contact point → (F,) metres, 0 or below, that it may be in the ground; None: not at all."""
    unlevelled: Motion | None = None
    """The motion as it was before its toes were laid flat; None: as the problem has it."""


def solve_soles(
    method: Method, problem: Problem, soles: Soles, frames: range, progress: Progress | None = None
) -> Solution:
    """Solve a problem, then put the feet right between their plants: toes flat, soles out of the ground.

    Both change the foot a little, so the last pass of the method is run again after each of two rounds, and of a few
    more where something is still in the ground.
    """
    character = problem.character
    if isinstance(method, Spacetime):
        return _solve_smoothly(method, problem, soles, frames, progress)
    solution, bounds = method.solve(problem, progress), above(character, soles, frames)
    watch = Stopwatch(replace(problem, constraints=(*problem.constraints, *bounds)))
    motion, reachable = solution.motion, solution.status is not Status.UNREACHABLE
    unlevelled = problem.motion if soles.unlevelled is None else soles.unlevelled
    last: Hierarchical | None = getattr(method, "closing", None)
    if last is not None:
        for number in range(ROUNDS[1]):
            if number >= ROUNDS[0] and worst_error(Kinematics(motion), bounds).max(initial=0.0) <= DEEP:
                break
            motion = put_right(motion, character, soles.plants, soles.ground, soles.clearances, unlevelled)
            motion, reachable = last.close(problem.on(motion))
            watch.lap("soles", motion)
    return _together(solution, watch, motion, reachable)


def _solve_smoothly(
    method: Spacetime, problem: Problem, soles: Soles, frames: range, progress: Progress | None
) -> Solution:
    """The same for a method that keeps soles out of the ground itself: toes are laid flat, and peaks made lower.

    After that the whole clip is solved again. Limbs would close the millimetres frame by frame, with a jerk wherever a
    knee is all but straight.
    """
    character = problem.character
    whole = replace(problem, constraints=(*problem.constraints, *above(character, soles, frames)))
    solution, watch = method.solve(whole, progress), Stopwatch(whole)
    motion, reachable = solution.motion, solution.status is not Status.UNREACHABLE
    unlevelled = problem.motion if soles.unlevelled is None else soles.unlevelled
    if method.exact:
        level = _Levelled(replace(method, start=None), whole, soles, unlevelled, watch)
        first = motion
        motion, reachable = level.solve(first, calmer(first, character, problem.constraints, frames))
        if not reachable or peak(motion, character, frames) > peak(first, character, frames):
            # what was asked for in vain is no reason to end rougher than without
            motion, reachable = level.solve(first, ())
    return _together(solution, watch, motion, reachable)


@dataclass(frozen=True, eq=False)
class _Levelled:
    """Lays toes flat and solves the whole clip again, since that moves the balls of feet by millimetres."""

    method: Spacetime
    problem: Problem
    soles: Soles
    unlevelled: Motion
    watch: Stopwatch

    def solve(self, motion: Motion, wishes: tuple[Constraint, ...]) -> tuple[Motion, bool]:
        """The motion, and whether everything hard could be met; wishes are soft."""
        character, soles, reachable = self.problem.character, self.soles, True
        for number in range(2):
            motion = level_toes(motion, character, soles.plants, soles.ground, self.unlevelled)
            motion = lift_toes(motion, character, soles.plants, soles.ground, soles.clearances)
            met = unmet_shares(self.problem, Kinematics(motion)).max(initial=0.0) <= CLOSED
            if met and (number or not wishes):
                break
            asked = replace(self.problem, motion=motion, constraints=(*self.problem.constraints, *wishes))
            again = self.method.solve(asked)
            motion, reachable = again.motion, again.status is not Status.UNREACHABLE
            self.watch.lap("soles", motion)
        return motion, reachable


def at_pace(
    solution: Solution,
    motion: Motion,
    problem: Problem,
    bounds: tuple[Above, ...],
    pace: Pace | None,
    smooth: bool = False,
) -> Solution:
    """The solution with a motion that was changed since, at a pace that the source has too (None: at any).

    bounds: what holds beside the problem's own constraints. smooth: with lower peaks.
    """
    watch = Stopwatch(replace(problem, constraints=(*problem.constraints, *bounds)))
    if pace is not None:
        calm = calm_down(motion, problem.character, watch.problem.constraints, pace)
        if smooth:
            calm = soothed(calm, problem.character, watch.problem.constraints, pace)
        if calm is not motion:
            watch.lap("calm", calm)
        motion = calm
    return _together(solution, watch, motion, solution.status is not Status.UNREACHABLE)


def _together(solution: Solution, watch: Stopwatch, motion: Motion, reachable: bool) -> Solution:
    """What was found in the end, with the levels and the time of all that led to it."""
    found = watch.finish(solution.report.method, motion, reachable=reachable, notes=solution.report.notes)
    report = replace(
        found.report,
        levels=(*solution.report.levels, *found.report.levels),
        seconds=solution.report.seconds + found.report.seconds,
    )
    return replace(found, report=report)


def above(character: Character, soles: Soles, frames: range) -> tuple[Above, ...]:
    """Heel, ball and toe of both feet stay above the ground, as constraints to be judged by."""
    part = None if soles.clearances is None else {k: v[frames.start :] for k, v in soles.clearances.items()}
    return stay_above(character, soles.ground, frames, part)


def stand_first(motion: Motion, copied: Motion, target: Character, ground: Ground, lead: int) -> Motion:
    """The frames before the motion as they were copied, each lifted or lowered so that it stands on the ground."""
    kinematics = Kinematics(copied[:lead])
    places = kinematics.points([target.contacts[name] for name in target.contacts if not name.endswith("palm")])
    lowest = (places[..., 1] - ground.height(places[..., ::2])).min(axis=1)
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[:lead] = copied.root[:lead] - lowest[:, None] * [0.0, 1.0, 0.0]
    rotations[:lead] = copied.rotations[:lead]
    return replace(motion, root=root, rotations=rotations)


def with_floor(contacts: Contacts, clip: Clip, lead: int = 0) -> Contacts:
    """The contacts over a floor that can be one: nowhere higher than soles and palms passed.

    Plants above one another (on a rope, on rungs) lay out no floor. Then all that is known of it is that it is lower
    than the lowest of them.
    """
    ground, height = contacts.ground, clip.character.height
    if not isinstance(ground, InterpolatedGround):
        return contacts
    apart = np.abs(ground.places[:, 1] - ground.height(ground.places[:, ::2]))
    soles = Kinematics(clip.motion[lead:]).points(list(clip.character.contacts.values()))
    if apart.max(initial=0.0) < ABOVE_ONE_ANOTHER * height:
        return replace(contacts, ground=lower_to_soles(ground, soles, height))
    return replace(contacts, ground=Plane((0.0, float(soles[..., 1].min()) - 2.0 * SUPPORT.near_ground * height, 0.0)))


@dataclass(frozen=True, eq=False)
class Stage:
    """Where the floor of the source lies for the target."""

    start: NDArray
    """(3,) the place on the floor that stays where it is: below the hips as the motion begins, metres."""
    scale: float
    """How much longer ways and heights get."""
    rise: float
    """How much higher over the floor the hips get."""
    ground: Ground
    """What the target walks on."""
    snap: float
    """Metres; plants so near to the ground stand on it; 0 where they alone tell it, which is the mean of them."""

    @property
    def guessed(self) -> bool:
        """Whether the ground is known by its plants alone, a guess between them."""
        return self.snap == 0.0

    @classmethod
    def of(cls, clip: Clip, target: Character, contacts: Contacts, keep_footsteps: bool) -> Stage:
        """The stage for a clip on a target; its plants tell the ground."""
        scale = rise = leg_ratio(clip.character, target)
        if hangs(contacts, clip.character.height):
            # between what the feet stand on and what the hands hold there is all of the body
            scale = rise = reach_ratio(clip.character, target)
        if keep_footsteps:
            scale = 1.0
        source = Kinematics(clip.motion)
        first = lead_in(source.positions[: LEAD_IN_FRAMES + 1], clip.character.height)
        hips = hip_centers(source[first : first + 1], clip.character)[0]
        start = np.array([hips[0], float(contacts.ground.height(hips[None, ::2])[0]), hips[2]])
        ground = scaled_ground(contacts.ground, start, scale)
        guessed = isinstance(contacts.ground, InterpolatedGround | LoweredGround)
        return cls(start, scale, rise, ground, 0.0 if guessed else SUPPORT.near_ground * clip.character.height * scale)

    def move(self, places: NDArray) -> NDArray:
        """Where places (N, 3) of the source are for the target; what stood on the ground stands on it again."""
        moved = self.start + (places - self.start) * self.scale
        level = self.ground.height(moved[:, ::2])
        near = np.abs(moved[:, 1] - level) < self.snap
        return np.where((near[:, None] & np.array([False, True, False])), level[:, None], moved)


@dataclass(frozen=True, eq=False)
class _ScaledGround:
    """Any ground, larger or smaller."""

    ground: Ground
    start: NDArray
    scale: float

    def height(self, places: ArrayLike) -> NDArray:
        """Height (…) in metres over places (…, 2)."""
        before = self.start[::2] + (np.asarray(places, float) - self.start[::2]) / self.scale
        return self.start[1] + (self.ground.height(before) - self.start[1]) * self.scale


def scaled_ground(ground: Ground, start: NDArray, scale: float) -> Ground:
    """The ground grown by a factor about a place."""
    if scale == 1.0:
        return ground
    if isinstance(ground, Plane):
        return replace(ground, point=tuple(start + (np.asarray(ground.point) - start) * scale))
    if isinstance(ground, InterpolatedGround):
        return InterpolatedGround(start + (ground.places - start) * scale, ground.reach * scale)
    if isinstance(ground, LoweredGround):
        low = ground.ceiling
        x, z = (start[::2] + (np.asarray(low.origin) - start[::2]) * scale).tolist()
        heights = start[1] + (low.heights - start[1]) * scale
        ceiling = replace(low, heights=heights, spacing=low.spacing * scale, origin=(x, z))
        return LoweredGround(scaled_ground(ground.guess, start, scale), ceiling)
    return _ScaledGround(ground, start, scale)
