"""Steps planned for a ground with edges (stairs, stones, beams) before anything is solved: how far each one goes.

Steps of a level walk do not fit a staircase. Dynamic programming chooses for each step i a place s_i along the path of
the motion, out of places every few centimetres, that minimises

    Σ_i u(s_i) + Σ_i ((s_i − s_{i−1} − l_i) / l)² + w Σ_i max(0, |h_i − h_{i−1}| / p − 1)².

u says how well the ground supports the foot there: 0 for the whole foot on one tread, more where heel or toes overhang
(see `footing`). l_i is the step's own length and l its scale, h_i the ground's height at its place, and p the most that
a walker climbs with one step without effort. So a walk takes one tread a step on common stairs, a run two, and either
as many as its stride asks for where treads are low.

A foot that steps down next best stands with its ball at the nose of its tread: it rolls over the nose, where it would
else be lifted until its toes clear the tread, by a leg that is folded already. Its u is 0 there, and v for each length
of its sole that is between (`footing.share_on_tread`).

Warren, "Perceiving affordances: visual guidance of stair climbing" (J. Exp. Psychol. 1984), found that a step of 0.26
leg lengths costs a climber the least energy, and that 0.88 is the highest that can be climbed. p is a little below the
first, so that two treads of 12 cm are not taken at once.

Where the ground falls away beside the path for longer than a foot (stepping stones, a beam), steps go aside, too: u is
the least over places d beside s, with the whole width of the foot supported,

    u(s) = min_d u(s, d) + a (d / leg length)² + b [lower than the ground under the path by an edge],

and edges that nobody can climb are not climbed. The body goes aside by the mean of the steps around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.contacts.detection import Contacts, Plant
from footplant.contacts.ground import Ground
from footplant.curves import Curve
from footplant.feet.footing import (
    SAMPLES,
    WHOLE,
    first_support,
    kinds_of_support,
    share_on_tread,
    sole_samples,
)
from footplant.feet.path_mapping import PathMapping
from footplant.feet.steps import Places, Step, foot_length
from footplant.feet.travel import Travel, find_travel, smoothed_over
from footplant.grounds import direction
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.order import runs
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of


@dataclass(frozen=True)
class StepPlanSettings:
    """Tuning numbers of step plans. Where a field names no experiment, none is on record."""

    edge: float = 0.03
    """Body heights; ground that rises or falls by more within a centimetre has an edge (5 cm for an adult)."""
    spacing: float = 0.02
    """Metres between the places that are tried along the path."""
    most_places: int = 1200
    """Largest number of places; a longer path gets a larger spacing."""
    rise: float = 0.2
    """p of a walk, in leg lengths. Doubled, a walk takes two treads of 17 cm a step."""
    running_rise: float = 0.5
    """p of a run, in leg lengths."""
    effort: float = 4.0
    """w, dimensionless."""
    running: float = 0.1
    """Share of frames without any foot contact from which on a motion runs."""
    same_step: float = 0.1
    """Leg lengths; consecutive steps of one foot that are nearer to each other are parts of one, and are planned as
    one. Someone who squats rolls onto the balls and is seen to leave the ground: planned for themselves, such parts
    went to other treads."""
    nose: float = 1.0
    """v, dimensionless. With 0, 0.5 and 1, three walks on five characters, two of them with legs of 0.3 m, down stairs
    of 17 and 22 cm have 496, 255 and 256 breaks of joint limits and jerk 1.00, 0.86 and 0.85 times as much as their
    sources (mean; at most 3.3, 1.9 and 1.9), and soles are more than 2 mm in the ground in 7, 3 and 3 of 30."""
    reach: float = 0.88
    """Leg lengths; the highest step that can be climbed (Warren 1984). Where steps go aside, higher edges are
    avoided."""
    flank: float = 0.12
    """Body heights along the path for which an edge runs beside it, from which on steps go aside."""
    wander: float = 0.06
    """Metres by which such an edge may come nearer or go away: those of stairs that are climbed askew do by more."""
    aside: float = 0.2
    """Body heights by which a step goes aside at most."""
    aside_spacing: float = 0.02
    """Metres between the places beside the path that are tried."""
    aside_cost: float = 4.0
    """a, dimensionless. A foot goes aside by up to 0.2 leg lengths rather than that its heel overhangs."""
    straddle: float = 1.0
    """b, dimensionless: feet stand on what the path goes along, and not on the ground beside it."""
    half_width: float = 0.18
    """Half of the width of a foot, in lengths of its sole."""
    shortest: float = 0.5
    """Leg lengths; least scale l of a step's length."""
    turning: float = 0.6
    """Metres; half width of the window over which headings of the path are smoothed. With 0.02, 0.15, 0.3 and 0.6, a
    sneaking walk that begins with a turn jerks 1.76, 1.57, 1.56 and 1.64 times as much as its source up stairs of
    17 cm (8.9 times if frames keep their own headings), and a walk in a figure of eight 2.96, 2.96, 2.16 and 1.60
    times, up 22 cm 8.8, 9.8, 9.7 and 1.7 times."""
    climb_time: float = 0.3
    """Share by which a step that climbs p takes longer than on the level. Climbers of stairs step more slowly than
    walkers on the level (Riener et al. 2002; Nadeau et al. 2003); the amount is ours."""
    descend_time: float = 0.1
    """The same for a step down."""
    time_smoothing: float = 0.25
    """Seconds; half width of the Hann window over which the pace changes."""


STEP_PLAN_SETTINGS = StepPlanSettings()
EDGE_SPACING = 0.01
"""Metres between the heights that are looked at along a path."""
BESIDE = (-0.06, 0.0, 0.06)
"""Body heights beside a path at which edges are looked for: where feet go."""
UNSUPPORTED = 5.0
"""u of a place that supports no part of a foot."""
SUPPORT_COSTS = {"foot": 0.0, "front": 0.2, "rear": 0.4}
"""u of what is supported of a foot."""
ENDS = ("heels", "balls")
CLEARANCE_COST = 0.03
"""u of each further kind of support in the order of `footing.support_of`: less room, less of the foot."""


@dataclass(frozen=True, eq=False)
class StepPlan:
    """Where steps go along the path of a motion, and how fast."""

    travel: Travel
    """The path of the motion on the level."""
    curve: Curve
    """The same path as a curve."""
    parts: NDArray
    """(N,) which planned step each step of the motion is, or is a part of."""
    toes: NDArray
    """(N,) headings of the feet of the motion's steps, radians."""
    frames: NDArray
    """(M,) the frame in which the body is over each planned step."""
    until: NDArray
    """(M,) the last frame in which it is: someone may stand there."""
    bases: NDArray
    """(M, 4) place (x, z), heading and distance of the path at that frame, metres and radians."""
    offsets: NDArray
    """(M,) metres along the path by which each is moved."""
    asides: NDArray
    """(M,) metres to the left of the path by which each is moved."""
    climbs: NDArray
    """(M,) metres by which each is higher than the one before."""
    slower: NDArray
    """(F,) factors of the duration of each frame."""

    @property
    def mapping(self) -> PathMapping:
        """The map of every frame from its place on the path to the planned one."""
        offsets = _between(*_standing(self.frames, self.until, self.offsets), self.travel.distance)
        own = self.travel.distance - self.travel.distance[0]
        places, headings = self.curve.at(own + offsets)
        places = places + self._body_aside[:, None] * direction(headings + 0.5 * np.pi)
        return PathMapping(self.travel, places, headings - self.curve.at(own)[1])

    @property
    def _body_aside(self) -> NDArray:
        """(F,) metres by which the body is moved to the left of its path: half as its step, half as those around it.

        Over a beam, where left and right feet come nearer to each other, it stays in the middle.
        """
        order = np.argsort(self.frames, kind="stable")
        around = np.pad(self.asides[order], 1, mode="edge")
        means = np.empty_like(self.asides)
        means[order] = 0.25 * around[:-2] + 0.5 * around[1:-1] + 0.25 * around[2:]
        return _between(*_standing(self.frames, self.until, means), np.zeros(len(self.travel.distance)))

    def places(self, places: Sequence[Places]) -> tuple[list[Places], NDArray]:
        """Return heels and balls on the level ground, moved to the planned steps, and their turns (N,), radians."""
        to, headings = self.curve.at(self.bases[:, 3] + self.offsets)
        to = to + self.asides[:, None] * direction(headings + 0.5 * np.pi)
        turns, moved = (headings - self.bases[:, 2])[self.parts], []
        for part, turn, pair in zip(self.parts, turns, places):
            quaternion = rotation.exp(turn * rotation.AXES["y"])
            before, after = (np.array([x, 0.0, z]) for x, z in (self.bases[part, :2], to[part]))
            moved.append(
                tuple(None if end is None else after + rotation.rotate(quaternion, end - before) for end in pair)
            )
        return moved, turns

    @property
    def strides(self) -> NDArray:
        """Factors (F,) of the length of strides."""
        order = np.argsort(self.frames, kind="stable")
        frames, offsets = self.frames[order], self.offsets[order]
        way = np.diff(self.bases[order, 3])
        long = way > 0.05 * max(self.travel.length, 1e-9) / max(len(frames), 1)
        factors = np.where(long, 1.0 + np.diff(offsets) / np.where(long, way, 1.0), 1.0)
        middles = 0.5 * (frames[:-1] + frames[1:])
        return np.interp(np.arange(len(self.slower)), middles, np.clip(factors, 0.0, 1.0))

    @property
    def times(self) -> NDArray:
        """Frames (G,) of the motion, fractional, that become the frames of the retimed one."""
        return retimed_frames(self.slower)

    def retimed(self) -> StepPlan:
        """Return the plan in the frames of the retimed motion."""
        times, before = self.times, np.arange(len(self.slower))
        travel = Travel(
            np.stack([np.interp(times, before, self.travel.places[:, axis]) for axis in range(2)], axis=1),
            np.interp(times, before, self.travel.headings),
            np.interp(times, before, self.travel.distance),
            self.travel.speed,
        )
        frames, until = (
            np.round(np.interp(own, times, np.arange(len(times)))).astype(np.int64) for own in (self.frames, self.until)
        )
        return replace(self, travel=travel, frames=frames, until=until, slower=np.ones(len(times)))


def retimed_frames(slower: NDArray) -> NDArray:
    """Return frames (G,) of a motion, fractional, that become those of one whose frames last longer by factors (F,)."""
    ends = np.concatenate([[0.0], np.cumsum(slower[1:])])
    return np.interp(np.arange(int(np.floor(ends[-1] + 1e-6)) + 1), ends, np.arange(len(ends)))


def retimed_motion(motion: Motion, times: NDArray) -> Motion:
    """Return a motion at fractional frames (G,), at the same frame rate."""
    return motion.at(times / motion.fps, smooth=True)


def retimed_clip(
    clip: Clip, contacts: Contacts, steps: Sequence[Step], times: NDArray
) -> tuple[Clip, Contacts, list[Step]]:
    """Return a clip, its contacts and its steps at fractional frames (G,)."""
    new = np.arange(len(times))

    def at(frame: int) -> int:
        return int(np.ceil(np.interp(frame, times, new) - 1e-6)) if frame < contacts.frames else len(times)

    def retimed(plant: Plant) -> Plant:
        start = min(at(plant.start), len(times) - 1)
        return replace(plant, start=start, end=max(at(plant.end), start + 1))

    plants = tuple(retimed(plant) for plant in contacts.plants)
    moved = [
        replace(step, heels=tuple(map(retimed, step.heels)), balls=tuple(map(retimed, step.balls))) for step in steps
    ]
    timed = replace(clip, motion=retimed_motion(clip.motion, times))
    return timed, replace(contacts, plants=plants, frames=len(times)), moved


def plan_steps(
    motion: Motion,
    character: Character,
    steps: Sequence[Step],
    places: Sequence[Places],
    contacts: Contacts,
    ground: Ground,
    lead: int = 0,
) -> StepPlan | None:
    """Return the plan of a motion's steps on a ground, or None on a ground without edges along its path.

    places: heels and balls of the steps on the level ground. lead: frames of a lead-in, which stay as they are.
    """
    if len(steps) < 2:
        return None
    travel = _travel(motion, character, contacts, lead)
    curve = travel.curve() if travel.length > 0.0 else None
    if curve is None or len(curve.lengths) < 2:
        return None
    curve = _smoothed_turns(curve)
    edges, flanked = _edges(curve, character, ground), _is_flanked(curve, character, ground)
    if not flanked and edges.max() < STEP_PLAN_SETTINGS.edge * character.height:
        return None
    settings = STEP_PLAN_SETTINGS
    legs = [limb_of(character, f"{side}_leg") for side in ("left", "right")]
    rest = character.skeleton.rest_world[0]
    leg = float(
        np.mean(
            [np.linalg.norm(np.diff(rest[[limb.upper, limb.lower, limb.end]], axis=0), axis=1).sum() for limb in legs]
        )
    )
    middles, toes = _feet(motion, character, steps)
    parts = _parts(steps, middles, [_nearest_step(step, leg, character) for step in steps])
    whole = [_whole([step for step, part in zip(steps, parts) if part == n]) for n in range(parts.max() + 1)]
    firmest = [
        max(np.flatnonzero(parts == n).tolist(), key=lambda i: (_both(places[i]), steps[i].end - steps[i].start))
        for n in range(len(whole))
    ]
    frames, until = _middles(whole)
    order = np.argsort(frames, kind="stable")
    reach = settings.aside * character.height if flanked else 0.0
    most = int(reach / settings.aside_spacing)
    asides = settings.aside_spacing * np.arange(-most, most + 1)
    costs, above, heights, at, grid, beside = _supports(
        steps, places, toes, parts, firmest, frames, travel, curve, character, ground, asides, leg
    )
    # one edge after the other is climbed without complaint
    edge = float(edges[edges <= settings.reach * leg].max(initial=0.0) if flanked else edges.max())
    rise = max((settings.running_rise if _runs(contacts, steps) else settings.rise) * leg, edge)
    drop = settings.edge * character.height
    chosen = cheapest_places(costs[order], above[order], heights[order], at[order], grid, leg, rise, drop)
    offsets, aside, climbs, slower = (np.zeros(n) for n in (len(whole), len(whole), len(whole), len(motion)))
    offsets[order], aside[order], slower[:] = grid[chosen] - at[order], beside[order, chosen], 1.0
    height = heights[order, chosen]
    climbs[order] = np.diff(height, prepend=height[0])
    for before, after, climb in zip(order, order[1:], np.diff(height)):
        share = min(abs(climb) / rise, 1.0)
        factor = 1.0 + share * (settings.climb_time if climb > 0.0 else settings.descend_time)
        slower[frames[before] : frames[after]] = factor
    slower = _smoothed(slower, lead, max(round(settings.time_smoothing * motion.fps), 1))
    own = travel.distance[frames] - travel.distance[0]
    bases = np.column_stack([travel.places[frames], curve.at(own)[1], own])
    return StepPlan(travel, curve, parts, toes, frames, until, bases, offsets, aside, climbs, slower)


def _feet(motion: Motion, character: Character, steps: Sequence[Step]) -> tuple[NDArray, NDArray]:
    """Return places (N, 2), metres, of the feet of steps, between heel and ball, and headings (N,), radians."""
    kinematics, ends = Kinematics(motion), []
    for step in steps:
        points = [character.contacts[f"{step.side}_{end}"] for end in ("heel", "ball")]
        ends.append(kinematics.points(points)[(step.start + step.end - 1) // 2, :, ::2])
    heels, balls = np.moveaxis(np.array(ends), 1, 0)
    return 0.5 * (heels + balls), np.arctan2(*(balls - heels).T)


def _nearest_step(step: Step, leg: float, character: Character) -> float:
    """Return metres from an earlier step of its foot within which a step is a part of it.

    A foot of which one end alone is in contact may be upright, and has its middle elsewhere.
    """
    near = STEP_PLAN_SETTINGS.same_step * leg
    return near if step.heels and step.balls else max(near, foot_length(character, step.side))


def _parts(steps: Sequence[Step], places: NDArray, near: Sequence[float]) -> NDArray:
    """Return of which planned step each step is a part (N,): a foot that comes down where it was stays there.

    places: (N, 2) of the feet. near: metres from an earlier step of a foot within which each step is a part of it.
    """
    found, count = np.zeros(len(steps), np.int64), 0
    last: dict[str, tuple[int, NDArray]] = {}
    for number in sorted(range(len(steps)), key=lambda n: steps[n].start):
        side, place = steps[number].side, places[number]
        if side in last and np.linalg.norm(place - last[side][1]) < near[number]:
            found[number] = last[side][0]
            continue
        found[number], last[side], count = count, (count, place), count + 1
    return found


def _both(places: Places) -> bool:
    """Return whether heel and ball are in contact."""
    return all(place is not None for place in places)


def _whole(parts: Sequence[Step]) -> Step:
    """Return one step of all parts of it."""
    return Step(parts[0].side, *(tuple(plant for step in parts for plant in getattr(step, end)) for end in ENDS))


def _middles(steps: Sequence[Step]) -> tuple[NDArray, NDArray]:
    """Return the frames (N,) in which the body comes over each step, and leaves it.

    That is its middle, or half a usual step after it begins: someone who stops stands on a step for long after the body
    has come over it, and leaves it half a usual step before it ends. A step from the first frame on may have begun
    before: it is counted from its end. The gain is small: with the middle of every step instead, a squat and a zombie's
    walk down stairs of 17 and up stairs of 22 cm have 3 instead of 1 breaks of joint limits and jerk up to 1.38 instead
    of 1.37 times as much as their sources; if they leave a step as they come over it, 1 and 1.37.
    """
    usual, first = float(np.median([step.end - step.start for step in steps])), min(step.start for step in steps)
    found = []
    for step in steps:
        half = int(min(step.end - step.start - 1, usual)) // 2
        last = step.end - 1 - half
        comes = last if step.start == first else step.start + half
        found.append((comes, last if last - comes > usual else comes))
    comes, leaves = np.array(found).T
    return comes, leaves


def _standing(frames: NDArray, until: NDArray, values: NDArray) -> tuple[NDArray, NDArray]:
    """Return frames (K,) in which the body comes over steps or leaves them, and values there (K,): of all it is over.

    frames, until: (M,) from when to when it is over each step. values: (M,) of the steps.
    """
    knots = np.unique(np.concatenate([frames, until]))
    over = (frames <= knots[:, None]) & (knots[:, None] <= until)
    return knots, over @ values / over.sum(axis=1)


def _travel(motion: Motion, character: Character, contacts: Contacts, lead: int) -> Travel:
    """Return the path of a motion; a lead-in stays where the path starts."""
    found = find_travel(motion[lead:], character, contacts)
    places, headings, distance = (
        np.concatenate([np.repeat(values[:1], lead, axis=0), values])
        for values in (found.places, found.headings, found.distance)
    )
    return Travel(places, headings, distance, found.speed)


def _smoothed_turns(curve: Curve) -> Curve:
    """Return a path whose heading changes smoothly: that of someone who turns on the spot has corners.

    A body that is moved along its path, past such a corner, would turn there in one frame.
    """
    settings = STEP_PLAN_SETTINGS
    count = max(round(curve.length / settings.spacing), 1) + 1
    along = np.linspace(0.0, curve.length, count)
    headings = np.interp(along, curve.lengths, curve.headings)
    half = max(round(settings.turning / settings.spacing), 1)
    return replace(curve, headings=np.interp(curve.lengths, along, smoothed_over(headings[:, None], half)[0][:, 0]))


def _edges(curve: Curve, character: Character, ground: Ground) -> NDArray:
    """Return how much a ground rises or falls within a centimetre along a path and beside it, where feet go, metres."""
    heights = _along(curve, np.array(BESIDE) * character.height, ground)
    return np.abs(np.diff(heights, axis=1)).ravel()


def _is_flanked(curve: Curve, character: Character, ground: Ground) -> bool:
    """Return whether an edge runs beside a path, where steps may go, for longer than a foot: no slope is one."""
    from scipy.ndimage import maximum_filter1d

    settings = STEP_PLAN_SETTINGS
    reach, least = settings.aside * character.height, settings.flank * character.height / EDGE_SPACING
    heights = _along(curve, np.arange(-reach, reach + EDGE_SPACING, EDGE_SPACING), ground)
    edges = np.abs(np.diff(heights, axis=0)) > settings.edge * character.height
    near = maximum_filter1d(edges.astype(np.uint8), 1 + 2 * round(settings.wander / EDGE_SPACING), axis=0) > 0
    return any(end - start > least for row in near for start, end in runs(row))


def _along(curve: Curve, beside: NDArray, ground: Ground) -> NDArray:
    """Return heights (B, N) of a ground every centimetre along a path, metres (B,) to the left of it."""
    places, headings = curve.at(np.arange(-0.3, curve.length + 0.6, EDGE_SPACING))
    return ground.height(places[None] + beside[:, None, None] * direction(headings + 0.5 * np.pi))


def _runs(contacts: Contacts, steps: Sequence[Step]) -> bool:
    """Return whether a motion runs: whether no foot is in contact for much of its steps."""
    first, last = min(step.start for step in steps), max(step.end for step in steps)
    on = np.zeros(contacts.frames, bool)
    for step in steps:
        on[max(step.start, 0) : step.end] = True
    return last > first and float(np.mean(~on[first:last])) > STEP_PLAN_SETTINGS.running


def _supports(
    steps: Sequence[Step], places: Sequence[Places], toes: NDArray, parts: NDArray, firmest: Sequence[int],
    frames: NDArray, travel: Travel, curve: Curve, character: Character, ground: Ground, asides: NDArray, leg: float,
) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]:  # fmt: skip
    """Return u, u before a step down and ground heights (M, K) of planned steps, their places (M,) and all (K,).

    With them, how far aside each is (M, K), metres to the left. toes: (N,) headings of the feet. parts: (N,) which
    planned step each step is a part of: of them all, the part that the ground supports worst counts. firmest: (M,) the
    part whose place and height are those of the planned step. asides: (D,) metres to the left that are tried.
    """
    settings = STEP_PLAN_SETTINGS
    own = travel.distance[frames] - travel.distance[0]
    turned = curve.at(own)[1]
    lines = [
        sole_samples(step, pair, character, direction(toe))[:, ::2] - travel.places[frames[part]]
        for step, pair, toe, part in zip(steps, places, toes, parts)
    ]
    at = own + [float(lines[n][WHOLE].mean(axis=0) @ ahead) for n, ahead in zip(firmest, direction(turned))]
    low, high = at.min() - 0.3, at.max() + 0.3
    spacing = max(settings.spacing, (high - low) / settings.most_places)
    grid = np.arange(low, high + spacing, spacing)
    costs, above, heights = (np.zeros((len(asides), len(frames), len(grid))) for _ in range(3))
    rims = np.array([0.0]) if len(asides) == 1 else np.array([-1.0, 0.0, 1.0])
    for number, (line, part) in enumerate(zip(lines, parts)):
        to, headings = curve.at(own[part] + grid - at[part])
        turn = headings - turned[part]
        cosine, sine = np.cos(turn)[:, None], np.sin(turn)[:, None]
        x = cosine * line[:, 0] + sine * line[:, 1]
        z = cosine * line[:, 1] - sine * line[:, 0]
        soles, left = to[:, None] + np.stack([x, z], axis=2), direction(headings + 0.5 * np.pi)[:, None]
        half = settings.half_width * float(np.linalg.norm(line[WHOLE][-1] - line[WHOLE][0]))
        beside = (asides[:, None] + half * rims)[..., None, None, None] * left
        cost, before, level = support_costs(ground.height(soles + beside), line, character)
        costs[:, part], above[:, part] = np.maximum(costs[:, part], cost), np.maximum(above[:, part], before)
        if number == firmest[part]:
            heights[:, part] = level
    if len(asides) > 1:
        under = np.array([ground.height(curve.at(own[part] + grid - at[part])[0]) for part in range(len(frames))])
        lower = under - heights > settings.edge * character.height
        costs += settings.straddle * lower + settings.aside_cost * (asides[:, None, None] / leg) ** 2
    best = costs.argmin(axis=0)[None]
    costs, above, heights = (np.take_along_axis(values, best, axis=0)[0] for values in (costs, above, heights))
    return costs, above, heights, at, grid, asides[best[0]]


def support_costs(heights: NDArray, line: NDArray, character: Character) -> tuple[NDArray, NDArray, NDArray]:
    """Return u, u before a step down and the height of the supported ground (D, K).

    heights: (D, R, K, S) along a foot's samples (S, 2), and along lines beside them, which all must be supported.
    """
    places, samples = heights.shape[::2], heights.shape[3]
    lines = np.moveaxis(heights, 1, 0).reshape(heights.shape[1], -1, samples)
    middle = lines[len(lines) // 2]
    kinds, level = first_support(lines, line, character)
    # the last row: none
    own = np.array([*(SUPPORT_COSTS[name] for name, *_ in kinds_of_support(character)), UNSUPPORTED])
    before = own[kinds]
    costs = before + np.where(kinds < 0, 0.0, CLEARANCE_COST * kinds)
    share = share_on_tread(character)
    lower = (middle < level[:, None] - STEP_PLAN_SETTINGS.edge * character.height) & (share <= SAMPLES)
    nose = np.where(lower.any(axis=1), SAMPLES[lower.argmax(axis=1)], SAMPLES[-1])
    before = before + STEP_PLAN_SETTINGS.nose * (nose - share)
    return costs.reshape(places), before.reshape(places), level.reshape(places)


def cheapest_places(
    costs: NDArray, above: NDArray, heights: NDArray, at: NDArray, grid: NDArray, leg: float, rise: float, drop: float
) -> NDArray:  # fmt: skip
    """Return the chosen place (N,) of each step, by dynamic programming over places (K,).

    above: u before a step down. rise: p, metres. drop: metres by which a step that goes down an edge is lower at least.
    """
    settings = STEP_PLAN_SETTINGS
    count = len(at)
    back = np.zeros((count, len(grid)), np.int64)
    total = costs[0] + 10.0 * ((grid - at[0]) / leg) ** 2
    apart = grid[None, :] - grid[:, None]
    for n in range(1, count):
        wanted = at[n] - at[n - 1]
        scale = max(abs(wanted), settings.shortest * leg)
        climb = heights[n][None, :] - heights[n - 1][:, None]
        effort = np.maximum(np.abs(climb) / rise - 1.0, 0.0)
        whole = total[:, None] + ((apart - wanted) / scale) ** 2 + settings.effort * effort**2
        whole += np.where(climb < -drop, (above - costs)[n - 1][:, None], 0.0)
        back[n] = whole.argmin(axis=0)
        total = whole[back[n], np.arange(len(grid))] + costs[n]
    chosen = np.zeros(count, np.int64)
    chosen[-1] = int(total.argmin())
    for n in range(count - 1, 0, -1):
        chosen[n - 1] = back[n, chosen[n]]
    return chosen


def _between(frames: NDArray, values: NDArray, distance: NDArray) -> NDArray:
    """Return values (F,) of every frame: those at given frames, in any order, and monotone between them.

    distance: (F,) metres of the path. Before the first frame and after the last one values change with it as they do
    there, so that a stride that is shorter than its own does not become its own while the body is over it.
    """
    from scipy.interpolate import PchipInterpolator

    count = len(distance)
    knots, number = np.unique(frames, return_inverse=True)
    means = np.bincount(number, values) / np.bincount(number)
    if len(knots) == 1:
        return np.full(count, means[0])
    curve, every = PchipInterpolator(knots, means, extrapolate=False), np.arange(count)
    out, slopes, speed = curve(np.clip(every, knots[0], knots[-1])), curve.derivative()(knots), np.gradient(distance)
    for end, beyond in ((0, every < knots[0]), (-1, every > knots[-1])):
        here = knots[end]
        # nobody is drawn back by more than the way that they go
        rate = float(np.clip(slopes[end] / max(speed[here], 1e-9), -1.0, 1.0))
        out[beyond] += rate * (distance[beyond] - distance[here])
    return out


def _smoothed(values: NDArray, lead: int, half: int) -> NDArray:
    """Return values (F,) smoothed over ± half frames; the first `lead` ones stay 1."""
    kernel = np.hanning(2 * half + 3)[1:-1]
    padded = np.pad(values[lead:], half, mode="edge")
    return np.concatenate([np.ones(lead), np.convolve(padded, kernel / kernel.sum(), mode="valid")])
