"""Walk a motion graph: choose its transitions, and bend its path, to follow a curve or to reach a target.

After Kovar, Gleicher & Pighin, "Motion graphs" (SIGGRAPH 2002), sections 4 and 5. They search short pieces of the walk
by branch and bound for the smallest squared distance from the path, summed over time; here partial walks that have come
equally far compete, and the best few of each stretch are continued (a beam search). A graph of few clips has few paths:
every piece is steered (`steering`), in the search and, all pieces together, in the walk that is found. The error is the
distance from the nearest point of the curve, not from the point at equal travelled distance.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.blending.blend import bezier
from footplant.blending.common_character import floor_level, prepare_clips
from footplant.blending.compose import compose, rotate_on_floor
from footplant.blending.distance import align, clouds
from footplant.blending.graph import Edge, MotionGraph, build_graph, played_clips
from footplant.blending.plants import blend_plants, hold_plants
from footplant.blending.settings import REGISTRATION, STEER, WALK
from footplant.blending.steering import FloorPath, Follow, Goal, Reach, bent, steered
from footplant.checks import all_finite, frame_rate, real_number, shaped, whole_number
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import Contacts, Plant
from footplant.curves import Curve
from footplant.errors import MotionError
from footplant.feet.path_mapping import PathMapping
from footplant.feet.steps import find_steps, foot_length, plants_for, without_overlap
from footplant.feet.travel import Travel
from footplant.geometry import Plane
from footplant.io.curve_files import load_curve
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Method, Progress, Status
from footplant.quality.measure import ConstraintQuality
from footplant.result import ClipSource, Result, as_clip
from footplant.skeleton import Character
from footplant.transfer import hip_centers


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a clip that a walk plays."""

    clip: int
    start: float
    """Seconds of the clip at which it is entered: the middle of the crossfade from the piece before."""
    stop: float
    """Seconds of the clip at which it is left, or the walk ends."""
    entered: Edge | None = None
    """The transition that enters it; None for the first piece."""


@dataclass(frozen=True, eq=False)
class Walk:
    """A way through a motion graph."""

    pieces: tuple[Piece, ...]
    reached: bool
    """Whether the end of the path, or the target, was reached by the search."""

    @property
    def seconds(self) -> float:
        """Return the duration of the walk."""
        return sum(piece.stop - piece.start for piece in self.pieces)


@dataclass(frozen=True)
class _Label:
    """A partial walk that has just entered a clip."""

    clip: int
    enter: int
    """Sample of the clip."""
    place: tuple[float, float]
    """Metres (x, z)."""
    turn: float
    """Radians about the vertical by which the clip is turned there."""
    known: float
    """What the goal knows."""
    seconds: float
    cost: float
    """Metres² s."""
    entered: Edge | None
    before: tuple[Piece, ...]


def find_walk(
    graph: MotionGraph,
    paths: Sequence[FloorPath],
    goal: Goal,
    *,
    place: tuple[float, float] = (0.0, 0.0),
    heading: float = 0.0,
    start: int | None = None,
    turn: float = STEER.turn,
    fade: float = WALK.fade,
    longest: float = WALK.longest,
) -> Walk | None:
    """Search the graph; None if no walk makes any progress.

    paths: of the clips' hips at `WALK.rate`. place, heading: where the walk begins, and its direction there, radians.
    start: the clip that it begins with, at its start; None: any clip, at its start or where a transition enters it.
    turn: radians per metre, the largest bend.
    """
    dt, order, following = 1.0 / WALK.rate, count(), isinstance(goal, Follow)
    leaving: dict[int, list[Edge]] = {}
    for edge in graph.edges:
        if _half_fade(edge, graph, fade) >= WALK.least_fade:
            leaving.setdefault(edge.source, []).append(edge)
    entries = {(clip, 0) for clip in range(len(paths))} | {(e.target, round(e.enter * WALK.rate)) for e in graph.edges}
    entries = sorted(entries) if start is None else [(start, 0)]
    # partial walks by how far they have come, with those that they compete with and their rank among them
    queue: list[tuple[float, int, _Label, tuple[int, bool], float]] = []
    for clip, sample in entries:
        if sample + 1 < len(paths[clip].places):
            turned = heading - float(paths[clip].headings[sample])
            known = 0.0 if following else np.inf
            begun = _Label(clip, sample, place, turned, known, 0.0, 0.0, None, ())
            queue.append((0.0, next(order), begun, (0, True), -np.inf))
    kept: dict[tuple[int, bool], list[float]] = {}
    fastest, ends = _fastest(graph, paths, fade), longest + max(graph.durations)
    best: tuple[float, Walk] | None = None
    nearest: tuple[float, Walk] | None = None
    while queue:
        _, _, label, rivals, rank = heapq.heappop(queue)
        own = paths[label.clip]
        if label.enter + 1 >= len(own.places) or not _among_best(kept.get(rivals, []), rank, _width(rivals)):
            continue
        found = steered(own, label.enter, label.place, label.turn, goal, label.known)
        seconds = label.seconds + np.arange(len(found.places)) * dt
        cost = (
            label.cost
            + np.cumsum(np.append(0.0, (found.away[1:] if following else 0.0 * found.away[1:]) + WALK.linger)) * dt
        )
        cost += WALK.strain * found.strain
        last = len(found.places) - 1
        # how far it has come, by which partial walks compete, and by what
        if isinstance(goal, Follow):
            progress, ranks = found.known, cost
        else:
            progress = seconds
            ranks = goal.left(found.places, own.headings[label.enter :][: last + 1] + found.turns, STEER.reserve * turn)
        if found.met and (best is None or cost[last] < best[0]):
            best = float(cost[last]), _walk(label, last, dt, reached=True)
        if not found.met:
            here = last if following else int(np.argmin(found.away))
            value = -float(found.known[here]) if following else float(found.away[here])
            if nearest is None or value < nearest[0]:
                nearest = value, _walk(label, here, dt, reached=False)
        for edge in leaving.get(label.clip, ()):
            sample = round(edge.leave * WALK.rate) - label.enter
            if not fade * WALK.rate <= sample <= last or (found.met and sample == last):
                continue
            paid = float(cost[sample]) + (WALK.change + edge.distance) ** 2
            if seconds[sample] > longest or (best is not None and paid >= best[0]):
                continue
            # what is too far away to be reached in time only tells how near a walk gets
            in_time = (
                isinstance(goal, Follow)
                or seconds[sample] + (found.away[sample] ** 0.5 - goal.within) / fastest <= ends
            )
            rivals = int(progress[sample] / goal_bucket(goal)), bool(in_time)
            rank = paid if following else float(ranks[sample])
            if not _keep(kept.setdefault(rivals, []), rank, _width(rivals)):
                continue
            piece = Piece(label.clip, label.enter * dt, edge.leave, label.entered)
            enter = round(edge.enter * WALK.rate)
            away = rotate_on_floor(np.array(edge.turn), paths[edge.target].places[enter]) + edge.shift
            moved = rotate_on_floor(np.array(found.turns[sample]), away - own.places[label.enter + sample])
            x, z = (found.places[sample] + moved).tolist()
            entered = _Label(
                edge.target, enter, (x, z), float(found.turns[sample]) + edge.turn, float(found.known[sample]),
                float(seconds[sample]), paid, edge, (*label.before, piece),
            )  # fmt: skip
            heapq.heappush(queue, (float(progress[sample]), next(order), entered, rivals, rank))
    chosen = best or nearest
    return None if chosen is None else chosen[1]


def goal_bucket(goal: Goal) -> float:
    """Return the stretch, metres or seconds, over which partial walks compete."""
    return WALK.stretch if isinstance(goal, Follow) else WALK.moment


def _fastest(graph: MotionGraph, paths: Sequence[FloorPath], fade: float) -> float:
    """Return the largest speed over the floor of any walk, metres per second; a transition leaps once in `fade` s."""
    leaps = [
        float(np.linalg.norm(
            rotate_on_floor(np.array(edge.turn), _at(paths[edge.target], edge.enter)) + edge.shift
            - _at(paths[edge.source], edge.leave)
        ))
        for edge in graph.edges
    ]  # fmt: skip
    speed = max((float(path.steps.max(initial=0.0)) for path in paths), default=0.0) * WALK.rate
    return max(speed + max(leaps, default=0.0) / fade, 1e-9)


def _at(path: FloorPath, seconds: float) -> NDArray:
    """Return a path's place (2,) at a time, or its last one."""
    return path.places[min(round(seconds * WALK.rate), len(path.places) - 1)]


def _width(rivals: tuple[int, bool]) -> int:
    """Return how many partial walks of a stretch are continued: one of those that cannot reach the target in time."""
    return WALK.width if rivals[1] else 1


def _keep(ranks: list[float], rank: float, width: int) -> bool:
    """Return whether a partial walk is among the best of those that have come as far; ranks: a heap, negated."""
    if len(ranks) >= width and rank >= -ranks[0]:
        return False
    (heapq.heappushpop if len(ranks) >= width else heapq.heappush)(ranks, -rank)
    return True


def _among_best(ranks: list[float], rank: float, width: int) -> bool:
    """Return whether a partial walk still is: better ones of the same stretch may have come after it."""
    return len(ranks) < width or rank <= -ranks[0]


def _walk(label: _Label, sample: int, dt: float, *, reached: bool) -> Walk:
    stop = (label.enter + max(sample, 1)) * dt
    return Walk((*label.before, Piece(label.clip, label.enter * dt, stop, label.entered)), reached)


def _half_fade(edge: Edge, graph: MotionGraph, fade: float) -> float:
    """Return half of the longest crossfade that both clips have frames for, seconds."""
    return min(0.5 * fade, edge.enter, graph.durations[edge.source] - edge.leave)


def floor_paths(clips: Sequence[Clip]) -> list[NDArray]:
    """Return the (S, 2) paths of the clips' hips on the floor at `WALK.rate`, without the sway of single steps."""
    found = []
    for clip in clips:
        times = np.arange(int(clip.motion.duration * WALK.rate + 1e-6) + 1) / WALK.rate
        hips = hip_centers(Kinematics(clip.motion.at(times)), clip.character)[:, ::2]
        found.append(without_sway(hips, WALK.rate))
    return found


def without_sway(floor: NDArray, rate: float) -> NDArray:
    """Return places (F, 2) averaged over `WALK.sway`; beyond its ends a path continues as it began and ended."""
    half = min(round(0.5 * WALK.sway * rate), len(floor) - 1)
    if half < 1:
        return floor
    ends = 2.0 * floor[0] - floor[1 : half + 1][::-1], 2.0 * floor[-1] - floor[-half - 1 : -1][::-1]
    longer = np.concatenate([ends[0], floor, ends[1]])
    width = 2 * half + 1
    sums = np.concatenate([np.zeros((1, 2)), np.cumsum(longer, axis=0)])
    return (sums[width:] - sums[:-width]) / width


def walk_graph(
    clips: Sequence[ClipSource],
    *,
    path: Curve | str | None = None,
    target: ArrayLike | None = None,
    heading: float | None = None,
    graph: MotionGraph | None = None,
    threshold: float | None = None,
    start: int | None = None,
    turn: float = STEER.turn,
    within: float = WALK.within,
    fade: float = WALK.fade,
    longest: float = WALK.longest,
    fps: float | None = None,
    method: str | Method | None = "whole-body",
    progress: Progress | None = None,
) -> Result:
    """Walk a motion graph along a path or to a target, with feet planted through all transitions.

    path: a curve on the floor, by name (as in `footplant path --curve`) or as an object; the walk begins where it does,
    in its direction. target: (x, z) metres; the walk begins at the origin, in the direction `heading` (radians; 0 is
    +z, to the left is positive), or in the best one. graph: of the same clips (default: it is built, with
    `threshold`). start: number of the clip that the walk begins with (default: the best one). turn: radians per metre
    by which paths of clips are bent at most; 0: they are as captured. within: metres from the target. fade: seconds of
    a crossfade. longest: seconds of a walk. method: as for `footplant.transition`.
    """
    if (path is None) == (target is None):
        raise MotionError("expected a path or a target to walk to, and not both")
    if heading is not None and target is None:
        raise MotionError("expected a heading with a target only: a path has its own")
    given = [as_clip(clip) for clip in clips]
    if not given:
        raise MotionError("expected at least one clip to walk, got none")
    if start is not None:
        start = whole_number(start, "number of the first clip", MotionError, low=0, high=len(given) - 1)
    within, fade, longest = (
        real_number(value, name, MotionError, above=0.0)
        for value, name in ((within, "within"), (fade, "fade"), (longest, "longest"))
    )
    turn = max(real_number(turn, "turn per metre", MotionError, low=0.0), 1e-6)
    rate = given[start or 0].motion.fps if fps is None else frame_rate(fps, MotionError)
    graph = build_graph(given, threshold=threshold, progress=progress) if graph is None else graph
    if len(graph.durations) != len(given):
        raise MotionError(f"expected a graph of these {len(given)} clips, got one of {len(graph.durations)}")
    prepared, contacts = prepare_clips(played_clips(given))
    graph = _aligned(graph, prepared)
    paths = [FloorPath.of(places, WALK.rate, turn) for places in floor_paths(prepared)]
    goal: Goal
    if path is None:
        assert target is not None
        x, z = all_finite(shaped(target, (2,), "a target", MotionError), "a target", MotionError).tolist()
        goal, place = Reach((x, z), within), (0.0, 0.0)
        first = float(np.arctan2(x, z)) if heading is None else real_number(heading, "heading", MotionError)
    else:
        curve = load_curve(path)[0] if isinstance(path, str) else path
        goal, first = Follow(curve), float(curve.headings[0])
        place = (float(curve.positions[0, 0]), float(curve.positions[0, 1]))
    walk = find_walk(graph, paths, goal, place=place, heading=first, start=start, turn=turn, fade=fade, longest=longest)
    if walk is None:
        raise MotionError("expected a clip of more than a moment to walk with, got none")
    times, weights = _timeline(walk, graph, fade, rate)
    numbers = [piece.clip for piece in walk.pieces]
    motion, character = _composed(walk, prepared, times, weights, rate), prepared[0].character
    own = [contacts[number] for number in numbers]
    plants = blend_plants(motion, character, times, weights, own)
    hips = hip_centers(Kinematics(motion), character)[:, ::2]
    mapping, most = _bent_onto(
        goal, hips, rate, turn, place, first, ends=walk.reached, free=path is None and heading is None
    )
    motion, plants = mapping.motion(motion), _moved(plants, mapping, len(motion), rate, character)
    level = next((floor_level(found) for found in own if found is not None and found.plants), 0.0)
    held = hold_plants(motion, character, plants, level, method=method, again=WALK.again, progress=progress)
    floor = without_sway(hip_centers(Kinematics(held.motion), character)[:, ::2], rate)
    entry, note = _goal_report(walk, given, goal, floor, character.height, most, turn)
    report = replace(held.report, constraints=(entry, *held.report.constraints))
    if not entry.met and report.status is Status.SOLVED:
        report = replace(report, status=Status.UNREACHABLE)
    names = list(dict.fromkeys(given[number].name for number in numbers))
    made = replace(given[numbers[0]], name=" + ".join(names))
    return Result.of(made, replace(held, report=report), character).noted(note)


def _aligned(graph: MotionGraph, clips: Sequence[Clip]) -> MotionGraph:
    """Return the graph with its transitions aligned on the clips as they are walked, which are retargeted."""
    around = [clouds(clip.motion.resample(REGISTRATION.rate), clip.character) for clip in clips]
    edges = []
    for edge in graph.edges:
        first, second = around[edge.source], around[edge.target]
        leave, enter = (
            min(round(seconds * REGISTRATION.rate), len(cloud) - 1)
            for seconds, cloud in ((edge.leave, first), (edge.enter, second))
        )
        turn, shift = align(first.points[leave], second.points[enter], first.weights)
        edges.append(replace(edge, turn=float(turn), shift=(float(shift[0]), float(shift[2]))))
    return replace(graph, edges=tuple(edges))


def _bent_onto(
    goal: Goal,
    hips: NDArray,
    rate: float,
    turn: float,
    place: tuple[float, float],
    heading: float,
    *,
    ends: bool,
    free: bool,
) -> tuple[PathMapping, float]:
    """Return the map of a walk, with hips (F, 2) on the floor, onto its bent path, and its largest bend, rad/m."""
    smooth = without_sway(hips, rate)
    seconds = np.arange(len(hips)) / rate
    samples = np.arange(int(seconds[-1] * WALK.rate + 1e-6) + 1) / WALK.rate
    # the last sample is the last frame: it is what reaches a target
    samples = np.append(samples[:-1], seconds[-1]) if len(samples) > 1 else seconds[[0, -1]]
    places = np.stack([np.interp(samples, seconds, column) for column in smooth.T], axis=1)
    own = FloorPath.of(places, WALK.rate, turn)
    known = 0.0 if isinstance(goal, Follow) else np.inf
    guess = steered(own, 0, place, heading - float(own.headings[0]), goal, known, whole=True)
    found = bent(own, guess, goal, ends=ends, free=free)
    turns = np.interp(seconds, samples, found.turns)
    moved = np.stack([np.interp(seconds, samples, column) for column in found.places.T], axis=1)
    travel = Travel(smooth, np.zeros(len(hips)), np.zeros(len(hips)), 0.0)
    return PathMapping(travel, moved, turns), found.most


def _composed(walk: Walk, clips: Sequence[Clip], times: NDArray, weights: NDArray, fps: float) -> Motion:
    """Return the motion of a walk that is not bent: its pieces, placed by their transitions, crossfaded."""
    character, frames = clips[0].character, len(times)
    root = np.zeros((2, frames, 3))
    rotations = np.zeros((2, frames, len(character.skeleton), 4))
    shares = np.zeros((frames, 2))
    turn, shift = 0.0, np.zeros(2)
    for number, piece in enumerate(walk.pieces):
        if piece.entered is not None:
            shift = rotate_on_floor(np.array(turn), np.array(piece.entered.shift)) + shift
            turn += piece.entered.turn
        # two pieces at most are shown by a frame: they take turns in two motions
        shown = np.flatnonzero(weights[:, number] > 0.0)
        around = rotation.from_axis_angle(rotation.AXES["y"], turn)
        posed = clips[piece.clip].motion.at(times[shown, number]).transformed(around, (shift[0], 0.0, shift[1]))
        slot = number % 2
        root[slot, shown], rotations[slot, shown], shares[shown, slot] = (
            posed.root,
            posed.rotations,
            weights[shown, number],
        )
    for slot in range(2):
        unused = shares[:, slot] == 0.0
        root[slot, unused], rotations[slot, unused] = root[1 - slot, unused], rotations[1 - slot, unused]
    poses = [Motion(character.skeleton, root[slot], rotations[slot], fps) for slot in range(2)]
    return _in_place(compose(poses, shares, character), poses, shares)


def _moved(
    plants: Sequence[Footplant], mapping: PathMapping, frames: int, fps: float, character: Character
) -> tuple[Footplant, ...]:
    """Return the footplants of a walk, each step of heel and ball moved rigidly with the middle of its stance."""
    names = {point: name for name, point in character.contacts.items()}
    found = tuple(
        Plant(names[plant.point], plant.frames.start, plant.frames.stop, np.asarray(plant.place))  # type: ignore[union-attr, index]
        for plant in plants
    )
    contacts = Contacts(found, tuple(character.contacts), frames, fps, Plane((0.0, 0.0, 0.0)))
    steps = mapping.steps(find_steps(contacts, foot_length(character, "left")))
    return without_overlap(plants_for(steps, character, lambda places: places), fps)


def _in_place(motion: Motion, poses: Sequence[Motion], weights: NDArray) -> Motion:
    """Return the motion with its root at the weighted mean of the pieces' roots, which transitions have aligned.

    Integrated increments, as in a blend, would leave the path by some centimetres with each transition.
    """
    root = sum(share[:, None] * pose.root for share, pose in zip(weights.T, poses))
    turns = np.stack([pose.rotations[:, 0] for pose in poses])
    likeness = np.sum(turns * turns[weights.argmax(axis=1), np.arange(len(motion))], axis=2, keepdims=True)
    turned = np.einsum("fn,nfk->fk", weights, np.where(likeness < 0.0, -turns, turns))
    rotations = np.array(motion.rotations)
    rotations[:, 0] = rotation.unroll(rotation.normalize(turned))
    return motion.like(np.asarray(root), rotations, motion.offsets)


def _timeline(walk: Walk, graph: MotionGraph, fade: float, fps: float) -> tuple[NDArray, NDArray]:
    """Return times (F, n) and weights (F, n) of the pieces in each frame: one after another, crossfaded."""
    pieces = walk.pieces
    begins = np.cumsum([0.0, *(piece.stop - piece.start for piece in pieces)])
    seconds = np.arange(int(begins[-1] * fps + 1e-6) + 1) / fps
    halves = [0.0]
    for one, next_one in pairwise(pieces):
        halves.append(min(0.5 * fade, next_one.start, graph.durations[one.clip] - one.stop))
    halves.append(0.0)
    times = np.empty((len(seconds), len(pieces)))
    shown = np.ones((len(seconds), len(pieces) + 1))
    for number, piece in enumerate(pieces):
        since = seconds - begins[number] + piece.start
        times[:, number] = np.clip(since, piece.start - halves[number], piece.stop + halves[number + 1])
        if number:
            half = halves[number]
            shown[:, number] = bezier(np.clip((seconds - begins[number] + half) / (2.0 * half), 0.0, 1.0))
    shown[:, -1] = 0.0
    return times, shown[:, :-1] - shown[:, 1:]


def _goal_report(
    walk: Walk, clips: Sequence[Clip], goal: Goal, floor: NDArray, height: float, most: float, turn: float
) -> tuple[ConstraintQuality, str]:
    """Return how far a walk is from what was asked, and one sentence: the clips in their order, and how it went.

    floor: (F, 2) the path that is walked. most: radians per metre, the largest bend.
    """
    route = " → ".join(f"{clips[piece.clip].name} {piece.start:.2f}–{piece.stop:.2f} s" for piece in walk.pieces)
    bends = f"its path is bent by up to {np.degrees(most):.0f}° a metre"
    limit = f"with bends of at most {np.degrees(turn):.0f}° a metre"
    if isinstance(goal, Reach):
        left = float(np.linalg.norm(floor[-1] - goal.place))
        met, off, name = left <= goal.within, np.array([left]), "target"
        missed = "" if met else f", which no walk of this graph reaches {limit}"
        told = f"ends {100 * left:.0f} cm from the target{missed}"
    else:
        known, seen = 0.0, []
        for x, z in floor.tolist():
            known, away, _ = goal.see(x, z, known)
            seen.append(away)
        met, off, name = walk.reached, np.sqrt(seen), "path"
        ends = "" if met else f"; it ends {goal.curve.length - known:.2f} m before the path does, {limit}"
        told = f"{100 * np.sqrt(np.mean(seen)):.0f} cm RMS from the path{ends}"
    worst, mean = float(off.max()), float(np.sqrt(np.mean(off**2)))
    entry = ConstraintQuality(
        name=name, kind=name, frames=len(off), worst=1000.0 * worst, mean=1000.0 * mean,
        worst_share=100.0 * worst / height, mean_share=100.0 * mean / height,
        worst_frame=len(floor) - 1 if isinstance(goal, Reach) else int(off.argmax()), hard=not met, met=met,
    )  # fmt: skip
    return entry, f"walks {route}; {told}; {bends}"
