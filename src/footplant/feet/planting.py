"""Feet planted: toes laid flat, feet as curves, hips and legs solved for them (`solve.legs`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import broadcast, frame_span
from footplant.constraints import Footplant
from footplant.contacts.ground import Ground
from footplant.errors import ConstraintError
from footplant.feet.foot_curves import FOOT_SETTINGS, SOLE, foot_curve
from footplant.feet.soles import flatten_toes, lift_toe_tips
from footplant.feet.steps import as_long_as_the_foot
from footplant.feet.steps_apart import StepsApart
from footplant.feet.stillness import JointSteps
from footplant.humanoid.limits import clamp_to_limits, limit_excess
from footplant.humanoid.sole import under_ankle
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.order import runs
from footplant.problem import Method, Problem, Progress, Solution, Stopwatch
from footplant.quality.balance import zero_moment_points
from footplant.skeleton import Character
from footplant.solve.arms import ArmsResult
from footplant.solve.body_above_ground import knee_rows, trunk_rows
from footplant.solve.dynamics import Dynamics, Physics, dynamics_of
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.limb import Limb
from footplant.solve.leg_limits import WILLING_TWIST, Rows, shank_rows, thigh_rows, twist_legs
from footplant.solve.legs import LEG_SETTINGS, SIDES, FootCurve, HeldHand, LegSettings, LegSolution, legs_of, solve_legs
from footplant.solve.legs_apart import legs_apart
from footplant.solve.methods import NAMES, method_of
from footplant.solve.methods.hierarchical import Hierarchical

WHOLE_BODY = "whole-body"
"""Name of the usual solver: feet, legs and hips, then arms, each over the whole clip."""
EXTRA_LEVELS = 3
"""Maximum number of finer levels of hierarchical fitting, used while constraints are still missed. Each halves the knot
spacing; 0 leaves more to the exact pass, which moves limbs frame by frame and is less smooth."""
ROUNDS = 4
"""Maximum number of solves, each with rows for what the one before left beyond its bounds. Of 13 pairs, legs are inside
each other by more than 10 mm in all with no such rows, in 9 with 1 round, in 6 with 2 and in 5 with 3. On uneven ground
swinging ankles have as many: with 1 and 3, three walks on five characters, two of them with legs of 0.3 m, down stairs
of 17 and 22 cm have 331 and 256 breaks of joint limits, on the other three characters 56 and 0. With 3, 4 and 6, an
ankle of a capture that squats and kneels (111_03 on the mannequin) ends 4.4°, 0.6° and 0.5° farther beyond its limits
than the source's. Where rows contradict each other, rounds take turns: see `_left`."""
ALIKE = 1e-4
"""Squared metres by which rounds that leave nearly as much beyond their bounds differ: the later one is taken."""
APART_ROUNDS = 2
"""Maximum number of times that steps are moved apart, each with a rough solve of the legs after it. With 1, 2 and 3,
legs after a backflip end 52, 0 and 0 mm inside each other, and those of a charleston on short legs 17, 10 and 7 mm."""
TOE_ROUNDS, DEEP_TOES = 2, 0.0015
"""Maximum number of further solves on uneven ground, while toes of planted feet are deeper in it than that, metres."""
SLOPE_ROUNDS = 2
"""Maximum number of times that plants which are moved to be a foot apart are put on a slope again, which makes them
farther apart. With 0, 1 and 2, a ball of a run up 10° is 6.9, 1.0 and 1.0 mm in the ground."""
UNEVEN_STEPS = 30
"""Maximum number of Gauss–Newton steps on uneven ground, where which feet are on it changes from step to step. Of 76
walks and runs, soles are within 2 mm of the ground in 55 with 14, and in 67 with 20 and 30; the worst are 14, 40 and
2 mm deep."""
ROUGH_STEPS, ROUGH = 8, 1e-3
"""Steps of the first solve, after which toes are laid flat again, and metres that its last step may be long."""


@dataclass(frozen=True, eq=False)
class PlantedFeet:
    """A motion with its feet planted."""

    motion: Motion
    plants: tuple[Footplant, ...]
    """Those asked for, heel and ball as far apart as the foot has them."""
    missed: float
    """Metres; largest distance of an ankle from its place: 0 unless out of reach."""


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Rows for what an earlier solve left beyond its bounds; rows of earlier ones stay where nothing more is asked.

    Those of joint limits are asked anew in every round, as seen from there.
    """

    within: Mapping[str, tuple[NDArray, NDArray]] | None = None
    """Side → world rotations (F, 4) of a foot that was beyond its ankle's limits, and the nearest ones within them."""
    apart: Rows | None = None
    """Of the left ankle, relative to the right one: legs are outside each other."""
    shanks: Rows | None = None
    """Of shanks: ankles of planted feet are within their limits."""
    thighs: Rows | None = None
    """Of thighs: hip joints are within their limits."""
    knees: Rows | None = None
    """Of shanks: knees are above the ground."""
    high: Rows | None = None
    """Of the hips: trunk and head are above the ground."""

    def further(
        self, posed: Kinematics, own: Motion, character: Character, legs: tuple[Limb, Limb], planted: NDArray,
        ground: Ground, other_body: bool, pitches: NDArray,
    ) -> tuple[_Bounds, bool]:  # fmt: skip
        """Return these rows and those that a solution asks for, and whether it asks for any but of swinging ankles.

        own: the reference motion, whose own excess over limits is allowed. planted: (2, F). other_body: whether the
        reference was recorded on another body, which may be thinner. pitches: (F,) radians; of the solution's trunk.
        """
        apart = knees = high = None
        # what turns of bones about their own lines can do is asked of nobody else
        twisted = twist_legs(posed.motion, character, legs, own, WILLING_TWIST)
        seen = posed if twisted is posed.motion else Kinematics(twisted)
        shanks, lean = shank_rows(seen, character, legs, planted, own, self.shanks)
        thighs, lift = thigh_rows(seen, character, legs, own, self.thighs)
        if other_body:
            apart = legs_apart(posed, character, legs, planted[0] & planted[1])
            knees = knee_rows(posed, character, legs, planted, ground)
            high = trunk_rows(posed, character, legs, ground, pitches)
        within = self.within
        for side in SIDES:
            rows = _beyond_limits(own, posed, character, side, None if within is None else within.get(side))
            if rows is not None:
                within = {**(within or {}), side: rows}
        beside, raised = _replaced(self.apart, apart), _replaced(self.knees, knees)
        found = _Bounds(within, beside, shanks, thighs, raised, _replaced(self.high, high))
        return found, lean or lift or not (apart is None and knees is None and high is None)


UNBOUNDED = _Bounds()


def _left(
    found: LegSolution, own: Motion, character: Character, legs: tuple[Limb, Limb], planted: NDArray, ground: Ground,
    other_body: bool,
) -> float:  # fmt: skip
    """Return how far a solution is beyond its bounds: squared metres, summed over them and the frames.

    Angles beyond limits count as the arc at a leg's length. Others as in `_Bounds.further`. Of a dance on legs a sixth
    of the body high (05_02 on KayKit_Knight), four rounds leave 0.10, 0.018, 0.017 and 0.15 m², ankles 16°, 6°, 6° and
    21° beyond their limits.
    """
    twisted, posed = twist_legs(found.motion, character, legs, own), Kinematics(found.motion)
    total, positions = 0.0, posed.positions
    for leg in legs:
        joints = [leg.upper, leg.lower, leg.end]
        length = float(np.linalg.norm(character.skeleton.offsets[joints[1:]], axis=1).sum())
        beyond = [limit_excess(character, motion.rotations)[:, joints] for motion in (twisted, own)]
        total += float((np.maximum(beyond[0] - beyond[1], 0.0) ** 2).sum()) * length**2
    if other_body:
        apart = legs_apart(posed, character, legs, planted[0] & planted[1])
        knees = knee_rows(posed, character, legs, planted, ground)
        high = trunk_rows(posed, character, legs, ground, found.pitches)
        if apart is not None:
            now = (apart[0] * (positions[:, legs[0].end] - positions[:, legs[1].end])).sum(axis=1)
            total += float((np.maximum(apart[1] - now, 0.0) ** 2).sum())
        if knees is not None:
            shanks = np.stack([positions[:, leg.lower] - positions[:, leg.end] for leg in legs])
            lengths = np.linalg.norm(shanks, axis=2)
            total += float((np.maximum(lengths * knees[1] - (knees[0] * shanks).sum(axis=2), 0.0) ** 2).sum())
        if high is not None:
            middle = positions[:, [leg.upper for leg in legs], 1].mean(axis=1)
            total += float((np.maximum(high[1] - high[0] * found.pitches - middle, 0.0) ** 2).sum())
    return total


def _replaced(rows: Rows | None, further: Rows | None) -> Rows | None:
    """Return rows (how, least extents), with further ones instead of them where something more is asked."""
    if rows is None or further is None:
        return further if rows is None else rows
    more = np.isfinite(further[1])
    beside = more if further[0].ndim == more.ndim else more[..., None]
    return np.where(beside, further[0], rows[0]), np.where(more, further[1], rows[1])


def chosen_method(method: str | Method | None, *others: str, exact: bool = True) -> Method | None:
    """Return a method given by name or as an object; None for the whole-body solver, its name, and names in `others`.

    exact: whether a method given by name, of those that can, ends on an exact pass.
    """
    if method is None or method == WHOLE_BODY or (isinstance(method, str) and method in others):
        return None
    if isinstance(method, str):
        if method not in NAMES:
            known = ", ".join((WHOLE_BODY, *NAMES, *others))
            raise ConstraintError(f"expected a method among {known}; got {method!r}")
        return method_of(method, exact=exact)
    if not callable(getattr(method, "solve", None)):
        raise ConstraintError(f"expected a method by name, or an object with solve(problem); got {method!r}")
    return method


def solve_planted(
    problem: Problem,
    plants: Sequence[Footplant],
    ground: Ground,
    frames: range,
    *,
    palms: Sequence[Footplant] = (),
    allowed: Mapping[str, NDArray] | None = None,
    settings: LegSettings | None = None,
    uneven: bool = False,
    own: Motion | None = None,
    physics: Physics | None = None,
    still: NDArray | None = None,
    steps: JointSteps | None = None,
    apart: bool = False,
    arms: Callable[[Motion], ArmsResult] | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Solve a problem of footplants by `plant_feet`, then the arms.

    What else the problem asks for is solved on top, by the least displacement. own: the motion whose own excess over
    joint limits is allowed; None: the problem's. steps: how joints of the source's feet move. apart: whether steps may
    be moved apart. arms: the stage of the arms, given the motion of the body.
    """
    watch = Stopwatch(problem)
    if progress is not None:
        progress("legs", 0.0)
    found = plant_feet(
        problem.motion, problem.character, plants, ground, palms=palms, allowed=allowed, frames=frames,
        settings=settings, uneven=uneven, own=own, physics=physics, still=still, steps=steps, apart=apart,
    )  # fmt: skip
    placed = {id(old): new for old, new in zip(plants, found.plants)}
    watch.problem = replace(problem, constraints=tuple(placed.get(id(c), c) for c in problem.constraints))
    watch.lap("legs", found.motion)
    if progress is not None:
        progress("legs", 1.0)
    motion, notes = found.motion, ()
    if arms is not None:
        posed = arms(motion)
        motion, notes = posed.motion, posed.notes
        moved = {id(old): new for old, new in zip(palms, posed.plants)}
        watch.problem = replace(
            watch.problem, constraints=tuple(moved.get(id(c), c) for c in watch.problem.constraints)
        )
        watch.lap("arms", motion)
    solution = watch.finish(WHOLE_BODY, motion, reachable=found.missed == 0.0, notes=notes)
    known = {id(constraint) for constraint in (*plants, *palms)}
    if all(id(constraint) in known for constraint in problem.constraints):
        return solution
    return solve_on_top(watch.problem, solution, progress)


def solve_on_top(problem: Problem, solution: Solution, progress: Progress | None = None) -> Solution:
    """Return a solution with all constraints of a problem met, by the least displacement of the solution's motion."""
    again = Hierarchical(Hybrid(problem.character), further=EXTRA_LEVELS).solve(problem.on(solution.motion), progress)
    levels = (*solution.report.levels, *again.report.levels)
    seconds = solution.report.seconds + again.report.seconds
    return replace(again, report=replace(again.report, method=WHOLE_BODY, levels=levels, seconds=seconds))


def can_plant(character: Character) -> bool:
    """Return whether a character has the legs and soles that `plant_feet` needs."""
    return legs_of(character) is not None and all(
        f"{side}_{part}" in character.contacts for side in SIDES for part in ("heel", "ball")
    )


def plant_feet(
    motion: Motion,
    character: Character,
    plants: Sequence[Footplant],
    ground: Ground,
    *,
    palms: Sequence[Footplant] = (),
    allowed: Mapping[str, NDArray] | None = None,
    frames: range | None = None,
    settings: LegSettings | None = None,
    uneven: bool = False,
    own: Motion | None = None,
    physics: Physics | None = None,
    still: NDArray | None = None,
    steps: JointSteps | None = None,
    apart: bool = False,
) -> PlantedFeet:
    """Return the motion with its feet on their footplants, soles above the ground and knees as straight as before.

    palms: planted hands, which the shoulders must stay within reach of. allowed: contact point → (F,) metres, 0 or
    below: how deep it may be in the ground. frames: those to solve (a lead-in is left as it is); None: all. uneven:
    whether the ground differs from the reference's, so that toes may have to be laid flat again. own: the motion whose
    own excess over joint limits is allowed; None: the reference. physics: what is asked of the centre of mass. still:
    (2, F) bool; where ankles are held although no footplant holds their feet. steps: how joints of the source's feet
    move; feet that pivot follow them where they are slow. apart: whether steps may be moved apart where they leave legs
    inside each other.
    """
    settings = LEG_SETTINGS if settings is None else settings
    other_body = settings.legs_push > 0.0
    if uneven:
        settings = replace(settings, steps=UNEVEN_STEPS)
    character.require_fit(motion.skeleton)
    span = frame_span(frames, len(motion))
    part = motion[span.start : span.stop]
    limited = part if own is None else own[span.start : span.stop]
    # a footplant without a place holds nothing here
    inside = [number for number, plant in enumerate(plants) if plant.place is not None and _shares(plant, span)]
    shifted = tuple(_since(plants[number], span) for number in inside)
    held = plants_within(palms, span)
    joints, depths = None if steps is None else steps.part(span), None
    if allowed is not None:
        depths = {
            name: broadcast(depth, (len(motion),), f"allowed depths of {name!r}")[span.start : span.stop]
            for name, depth in allowed.items()
        }
    base = _with_toes(part, flatten_toes(part, character, shifted, ground), character)
    feet = _curves(base, character, shifted, ground, depths, ("heel", "ball"), None, uneven, other_body)
    first = _solve(base, character, feet, held, replace(settings, settled=ROUGH), ROUGH_STEPS)
    posed, legs = Kinematics(first.motion), legs_of(character)
    assert legs is not None
    planted = _planted(shifted, character, len(part))
    standing = planted if still is None else planted | (still[:, span.start : span.stop] != 0)
    asked, spread = shifted, StepsApart.of(standing, part.fps)
    for number in range(APART_ROUNDS + 1 if apart else 0):
        if not spread.move(posed, character, legs, number < APART_ROUNDS):
            break
        shifted = spread.moved(asked, [_side(plant, character) for plant in asked])
        base = _with_toes(part, flatten_toes(part, character, shifted, ground), character)
        feet = _curves(base, character, shifted, ground, depths, ("heel", "ball"), None, uneven, other_body)
        first = _solve(base, character, feet, held, replace(settings, settled=ROUGH), ROUGH_STEPS)
        posed = Kinematics(first.motion)
    level = lift_toe_tips(
        flatten_toes(first.motion, character, shifted, ground, part), character, shifted, ground, depths
    )
    shifted = _as_long_as_the_foot(shifted, level, character, ground)
    toed = _with_toes(part, level, character)
    found, bounds = first, UNBOUNDED
    stand = None
    if still is not None and still.any():
        stand = [(own[span.start : span.stop], posed.positions[:, leg.end]) for own, leg in zip(still, legs)]
    dynamics = None
    if physics is not None:
        dynamics = dynamics_of(Kinematics(toed), character, shifted, physics.part(span))
    tried: list[tuple[LegSolution, _Bounds, tuple[FootCurve, FootCurve]]] = []
    for _ in range(ROUNDS):
        known = bounds.within
        bounds, asked = bounds.further(posed, limited, character, legs, planted, ground, other_body, found.pitches)
        settled = dynamics is None
        if dynamics is not None and found is not first and found.unknowns is not None:
            x, _, shift = found.unknowns
            moved = posed.center_of_mass(character) - Kinematics(toed).center_of_mass(character)
            points = zero_moment_points(posed, character, dynamics.level)[0]
            before, dynamics = dynamics, dynamics.refined(moved, points, x, shift)
            settled = dynamics.settled_since(before)
        # on a tread, a foot that is pitched for its ankle is lifted by its toes, and its shank leans farther
        asked = asked or (uneven and bounds.within is not known)
        if found is not first and not asked and settled:
            break
        if found is first or bounds.within is not known:
            feet = _curves(
                toed, character, shifted, ground, depths, SOLE, bounds.within, uneven, other_body, stand, joints
            )
        found = _solve(toed, character, feet, held, settings, None, bounds, found, dynamics)
        posed = Kinematics(found.motion)
        tried.append((found, bounds, feet))
    else:
        if asked:
            # bounds that contradict each other take turns: not the last round, but one that broke them least
            left = np.array([_left(own[0], limited, character, legs, planted, ground, other_body) for own in tried])
            found, bounds, feet = tried[int(np.flatnonzero(left <= left.min() + ALIKE)[-1])]
            posed = Kinematics(found.motion)
    for _ in range(TOE_ROUNDS if uneven else 0):
        # feet that roll over an edge end up pitched otherwise than where their toes were laid flat
        if _toe_depth(posed, character, planted, ground) < DEEP_TOES:
            break
        level = lift_toe_tips(
            flatten_toes(found.motion, character, shifted, ground, part), character, shifted, ground, depths
        )
        shifted = _as_long_as_the_foot(shifted, level, character, ground)
        toed = _with_toes(part, level, character)
        feet = _curves(toed, character, shifted, ground, depths, SOLE, bounds.within, uneven, other_body, stand, joints)
        found = _solve(toed, character, feet, held, settings, None, bounds, found, dynamics)
        posed = Kinematics(found.motion)
    found = replace(found, motion=twist_legs(found.motion, character, legs, limited))
    root, rotations = np.array(motion.root), np.array(motion.rotations)
    root[span.start : span.stop], rotations[span.start : span.stop] = found.motion.root, found.motion.rotations
    placed = list(plants)
    for number, plant in zip(inside, shifted):
        placed[number] = placed[number].like(place=plant.place)
    return PlantedFeet(motion.like(root, rotations, motion.offsets), tuple(placed), found.missed)


def _curves(
    motion: Motion, character: Character, plants: Sequence[Footplant], ground: Ground,
    allowed: Mapping[str, ArrayLike] | None, parts: Sequence[str],
    within: Mapping[str, tuple[NDArray, NDArray]] | None = None, edges: bool = False, levelled: bool = False,
    stand: Sequence[tuple[NDArray, NDArray]] | None = None, steps: JointSteps | None = None,
) -> tuple[FootCurve, FootCurve]:  # fmt: skip
    """Return the curves of both feet; stand: of each, (F,) where its ankle is held, and an earlier ankle (F, 3)."""
    kinematics, within = Kinematics(motion), within or {}
    left, right = (
        foot_curve(
            kinematics, character, side, plants, ground, allowed, parts, within.get(side), edges, levelled, steps=steps
        )
        for side in SIDES
    )
    if stand is not None:
        near = max(1, round(LEG_SETTINGS.ankle_time * motion.fps))
        left, right = (_with_still_ankle(foot, *own, near) for foot, own in zip((left, right), stand))
    return left, right


def _with_still_ankle(foot: FootCurve, still: NDArray, ankles: NDArray, near: int) -> FootCurve:
    """Return the curve of a foot whose ankle is held where it is still, too: where a plant beside has it, or at a mean.

    ankles: (F, 3) metres, of an earlier solution. near: most frames between it and a plant beside it, in which a
    foot goes nowhere.
    """
    still = still & ~foot.planted
    places, lowest = np.array(foot.places), foot.lowest(ankles)
    for start, end in runs(still):
        first = max(start - near - 1, 0)
        before = first + np.flatnonzero(foot.planted[first:start])
        after = end + np.flatnonzero(foot.planted[end : end + near + 1])
        beside = [foot.places[n] for n in (*before[-1:], *after[:1])]
        places[start:end] = np.mean(beside or ankles[start:end], axis=0)
        # no higher than each frame's sole asks: one height for all of them would be a jump in the first
        places[start:end, 1] = np.maximum(places[start, 1], lowest[start:end])
    return replace(foot, planted=foot.planted | still, places=places)


def _solve(
    motion: Motion, character: Character, feet: tuple[FootCurve, FootCurve], palms: Sequence[Footplant],
    settings: LegSettings, steps: int | None, bounds: _Bounds = UNBOUNDED, start: LegSolution | None = None,
    dynamics: Dynamics | None = None,
) -> LegSolution:  # fmt: skip
    kinematics = Kinematics(motion)
    hands = _hands(kinematics, character, palms)
    return solve_legs(
        kinematics,
        character,
        feet,
        hands,
        settings,
        steps,
        bounds.apart,
        (bounds.shanks, bounds.thighs, bounds.knees),
        bounds.high,
        start,
        dynamics,
    )


def _with_toes(motion: Motion, other: Motion, character: Character) -> Motion:
    """Return the motion with another one's toes, as far as their joint limits allow."""
    roles, rotations = character.require_roles(), np.array(motion.rotations)
    for side in SIDES:
        toes = roles.get(f"{side}_toes")
        if toes is not None:
            rotations[:, toes] = clamp_to_limits(character, toes, other.rotations[:, toes], motion.rotations[:, toes])
    return motion.like(motion.root, rotations, motion.offsets)


def _beyond_limits(
    own: Motion, kinematics: Kinematics, character: Character, side: str, earlier: tuple[NDArray, NDArray] | None
) -> tuple[NDArray, NDArray] | None:
    """Return the world rotations (F, 4) of a motion's foot, and the nearest within the limits that its own one keeps.

    None where it keeps them. earlier: rows of an earlier motion, which stay where this one is within the limits.
    """
    foot = character.require_roles()[f"{side}_foot"]
    local = kinematics.motion.rotations[:, foot]
    nearest = clamp_to_limits(character, foot, local, own.rotations[:, foot])
    beyond = (nearest != local).any(axis=1)[:, None]
    if not beyond.any():
        return None
    rotations, above = kinematics.rotations[:, foot], int(character.skeleton.parents[foot])
    rows = rotations, rotation.multiply(kinematics.rotations[:, above], nearest)
    return rows if earlier is None else (np.where(beyond, rows[0], earlier[0]), np.where(beyond, rows[1], earlier[1]))


def _as_long_as_the_foot(
    plants: tuple[Footplant, ...], motion: Motion, character: Character, ground: Ground
) -> tuple[Footplant, ...]:
    """Return the plants with heel and ball as far apart as the motion's feet have them, whose toes are laid flat.

    They stay as high above the ground as they are, but for edges that they would be moved over.
    """
    moved = as_long_as_the_foot(plants, motion, character)
    for _ in range(SLOPE_ROUNDS):
        before, after = (ground.height(_places(own)[:, ::2]) for own in (plants, moved))
        rises = np.where(np.abs(after - before) < FOOT_SETTINGS.riser, after - before, 0.0)
        if not (np.abs(rises) > 1e-4).any():
            break
        plants = tuple(plant.like(place=np.add(plant.place, (0.0, up, 0.0))) for plant, up in zip(moved, rises))
        moved = as_long_as_the_foot(plants, motion, character)
    return moved


def _places(plants: Sequence[Footplant]) -> NDArray:
    """Return the places (n, 3) of plants that have one."""
    return np.array([plant.place for plant in plants], float).reshape(-1, 3)


def _planted(plants: Sequence[Footplant], character: Character, frames: int) -> NDArray:
    """Return whether each foot is planted (2, F): its heel, its ball or the point under its ankle."""
    planted = np.zeros((2, frames), bool)
    for plant in plants:
        side = _side(plant, character)
        if side >= 0 and plant.frames:
            planted[side, np.asarray(plant.frames)] = True
    return planted


def _side(plant: Footplant, character: Character) -> int:
    """Return whether a plant is of the left foot, 0, the right one, 1, or none, −1."""
    for s, side in enumerate(SIDES):
        points = [character.contacts.get(f"{side}_{part}") for part in ("heel", "ball")]
        points += [sole[0]] if (sole := under_ankle(character, side)) is not None else []
        if plant.point in points:
            return s
    return -1


def _toe_depth(kinematics: Kinematics, character: Character, planted: NDArray, ground: Ground) -> float:
    """Return how deep toes and balls of planted feet are in the ground at most, metres."""
    deepest = 0.0
    for on, side in zip(planted, SIDES):
        for part in ("ball", "toe"):
            point = character.contacts.get(f"{side}_{part}")
            if point is not None and on.any():
                places = kinematics.point(point)[on]
                deepest = max(deepest, float((ground.height(places[:, ::2]) - places[:, 1]).max()))
    return deepest


def plants_within(plants: Sequence[Footplant], span: range) -> tuple[Footplant, ...]:
    """Return the plants that last in a span, their frames within it counted from its start."""
    return tuple(_since(plant, span) for plant in plants if _shares(plant, span))


def _shares(plant: Footplant, span: range) -> bool:
    return any(span.start <= frame < span.stop for frame in plant.frames or ())


def _since(plant: Footplant, span: range) -> Footplant:
    """Return a plant within a span, its frames counted from the span's start."""
    own = [frame - span.start for frame in plant.frames or () if span.start <= frame < span.stop]
    return plant.like(frames=range(own[0], own[-1] + 1))


def _hands(kinematics: Kinematics, character: Character, palms: Sequence[Footplant]) -> dict[str, HeldHand]:
    found, roles = {}, character.require_roles()
    for side in SIDES:
        point, wrist = character.contacts.get(f"{side}_palm"), roles.get(f"{side}_hand")
        own = [palm for palm in palms if palm.point == point and palm.place is not None]
        if point is None or wrist is None or not own:
            continue
        held, arm = np.zeros(len(kinematics.motion), bool), kinematics.positions[:, wrist] - kinematics.point(point)
        wrists = np.array(kinematics.positions[:, wrist])
        for palm in own:
            rows = np.asarray(palm.frames)
            held[rows], wrists[rows] = True, np.asarray(palm.place) + arm[rows]
        found[side] = HeldHand(held, wrists)
    return found
