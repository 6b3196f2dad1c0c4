"""Walk a motion graph: choose its transitions so that the character follows a path or reaches a target.

After Kovar, Gleicher & Pighin, "Motion graphs" (SIGGRAPH 2002), sections 4 and 5. The error of a walk along a path is
the sum over time of |p(t) − P(s(t))|², where p is the root on the floor, s the distance travelled and P the wanted path
at that arc length. They search short pieces of the walk by branch and bound; here partial walks that have come equally
far compete, and the best few of each stretch are continued (a beam search).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.blending.blend import bezier
from footplant.blending.common_character import floor_level, prepare_clips
from footplant.blending.compose import compose, rotate_on_floor
from footplant.blending.graph import Edge, MotionGraph, build_graph
from footplant.blending.plants import blend_plants, hold_plants
from footplant.blending.settings import WALK
from footplant.checks import all_finite, frame_rate, real_number, shaped, whole_number
from footplant.clip import Clip
from footplant.curves import Curve
from footplant.errors import MotionError
from footplant.io.curve_files import load_curve
from footplant.motion import Motion
from footplant.problem import Method, Progress
from footplant.result import ClipSource, Result, as_clip


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a clip that a walk plays."""

    clip: int
    start: float
    """Seconds of the clip at which it is entered: the middle of the crossfade from the piece before."""
    stop: float
    """Seconds of the clip at which it is left, or the walk ends."""
    turn: float
    """Radians about the vertical by which the clip is rotated."""
    shift: NDArray
    """(2,) metres (x, z) by which it is then shifted."""


@dataclass(frozen=True, eq=False)
class Start:
    """A clip that a walk may begin with, and where it lies in the world."""

    clip: int
    turn: float = 0.0
    """Radians about the vertical by which it is rotated."""
    shift: NDArray = field(default_factory=lambda: np.zeros(2))
    """(2,) metres (x, z) by which it is then shifted."""


@dataclass(frozen=True, eq=False)
class Walk:
    """A path through a motion graph."""

    pieces: tuple[Piece, ...]
    error: float
    """Metres: the root mean square distance from the path, or the distance at which a target was missed."""
    reached: bool
    """Whether the end of the path, or the target, was reached."""

    @property
    def seconds(self) -> float:
        """Return the duration of the walk."""
        return sum(piece.stop - piece.start for piece in self.pieces)


@dataclass(frozen=True)
class _Label:
    """A partial walk that has just entered a clip."""

    clip: int
    enter: float
    turn: float
    """Radians about the vertical by which the clip is rotated."""
    shift: NDArray
    """(2,) metres (x, z) by which it is then shifted."""
    seconds: float
    travelled: float
    """Metres."""
    cost: float
    """Metres² s."""
    before: tuple[Piece, ...]


@dataclass(frozen=True)
class _Follow:
    """Follow a curve to its end: progress is the distance travelled, rank the summed squared error."""

    places: NDArray
    """(N, 2) metres: the curve at every `WALK.fine` metres, and beyond its end."""
    length: float
    """Metres."""
    bucket: float = WALK.stretch

    @classmethod
    def of(cls, curve: Curve) -> _Follow:
        """Return the goal of following a curve."""
        samples = np.arange(0.0, curve.length + WALK.beyond, WALK.fine)
        return cls(curve.at(samples)[0], curve.length)

    def along(self, label: _Label, places: NDArray, dt: float) -> tuple[NDArray, NDArray, NDArray, int | None]:
        steps = np.linalg.norm(np.diff(places, axis=0, prepend=places[:1]), axis=1)
        travelled = label.travelled + np.cumsum(steps)
        wanted = self.places[np.minimum((travelled / WALK.fine).astype(int), len(self.places) - 1)]
        error = np.sum((places - wanted) ** 2, axis=1)
        error[0] = 0.0
        cost = label.cost + np.cumsum(error + WALK.linger) * dt
        done = np.flatnonzero(travelled >= self.length)
        return travelled, cost, cost, int(done[0]) if len(done) else None


@dataclass(frozen=True)
class _Reach:
    """Reach a place on the floor as early as possible: progress is time, rank the distance that is left."""

    place: NDArray
    within: float
    bucket: float = WALK.moment

    def along(self, label: _Label, places: NDArray, dt: float) -> tuple[NDArray, NDArray, NDArray, int | None]:
        seconds = label.seconds + np.arange(len(places)) * dt
        left = np.linalg.norm(places - self.place, axis=1)
        done = np.flatnonzero(left <= self.within)
        return seconds, left, left**2, int(done[0]) if len(done) else None


_Goal = _Follow | _Reach
"""What a walk is for. `along` returns progress, rank and cost (S,) after each sample of a clip, and the sample at which
the walk is complete; partial walks compete whose progress is in the same `bucket`."""


def find_walk(
    graph: MotionGraph, paths: Sequence[NDArray], goal: _Goal, starts: Sequence[Start], *, fade: float, longest: float
) -> Walk | None:
    """Search the graph; None if no walk makes any progress.

    paths: (S, 2) the floor path of each clip at `WALK.rate` samples per second. longest: seconds of a walk.
    """
    dt, order = 1.0 / WALK.rate, count()
    leaving: dict[int, list[Edge]] = {}
    for edge in graph.edges:
        if _half_fade(edge, graph, fade) >= WALK.least_fade:
            leaving.setdefault(edge.source, []).append(edge)
    queue = [
        (0.0, next(order), _Label(start.clip, 0.0, start.turn, start.shift, 0.0, 0.0, 0.0, ())) for start in starts
    ]
    kept: dict[int, list[float]] = {}
    best: tuple[float, Walk] | None = None
    nearest: tuple[float, Walk] | None = None
    while queue:
        _, _, label = heapq.heappop(queue)
        own = paths[label.clip]
        first = round(label.enter * WALK.rate)
        places = rotate_on_floor(np.full(len(own) - first, label.turn), own[first:]) + label.shift
        if len(places) < 2:
            continue
        progress, rank, cost, done = goal.along(label, places, dt)
        following = isinstance(goal, _Follow)
        if done is not None:
            total = float(cost[done]) if following else float(progress[done])
            if best is None or total < best[0]:
                walk = _walk(label, first, done, dt, float(cost[done]), following)
                best = total, replace(walk, reached=True)
            # later parts of the clip are beyond the goal
            progress, rank, cost = progress[: done + 1], rank[: done + 1], cost[: done + 1]
        here = int(np.argmin(rank)) if not following else len(rank) - 1
        value = float(rank[here]) if not following else -float(progress[here])
        if done is None and (nearest is None or value < nearest[0]):
            nearest = value, _walk(label, first, here, dt, float(cost[here]), following)
        for edge in leaving.get(label.clip, ()):
            sample = round(edge.leave * WALK.rate) - first
            seconds = label.seconds + sample * dt
            if not fade * WALK.rate <= sample < len(progress) or (done is not None and sample >= done):
                continue
            if seconds > longest or (best is not None and _worse(goal, progress, cost, sample, best[0])):
                continue
            if not _keep(kept, int(progress[sample] / goal.bucket), float(rank[sample])):
                continue
            turned = rotate_on_floor(np.array(label.turn), np.array(edge.shift)) + label.shift
            travelled = float(progress[sample]) if following else 0.0
            piece = Piece(label.clip, label.enter, edge.leave, label.turn, label.shift)
            entered = _Label(
                edge.target, edge.enter, label.turn + edge.turn, turned, seconds, travelled,
                float(cost[sample]) if following else 0.0, (*label.before, piece),
            )  # fmt: skip
            heapq.heappush(queue, (float(progress[sample]), next(order), entered))
    found = best or nearest
    return None if found is None else found[1]


def _worse(goal: _Goal, progress: NDArray, cost: NDArray, sample: int, best: float) -> bool:
    """Return whether a partial walk is already worse than a complete one."""
    return float(cost[sample] if isinstance(goal, _Follow) else progress[sample]) >= best


def _keep(kept: dict[int, list[float]], bucket: int, rank: float) -> bool:
    """Return whether a partial walk is among the best of those that have come as far."""
    ranks = kept.setdefault(bucket, [])
    if len(ranks) >= WALK.width and rank >= -ranks[0]:
        return False
    (heapq.heappushpop if len(ranks) >= WALK.width else heapq.heappush)(ranks, -rank)
    return True


def _walk(label: _Label, first: int, sample: int, dt: float, cost: float, following: bool) -> Walk:
    last = Piece(label.clip, label.enter, max((first + sample) * dt, label.enter + dt), label.turn, label.shift)
    seconds = max(label.seconds + sample * dt, dt)
    return Walk((*label.before, last), float(np.sqrt(cost / seconds if following else cost)), False)


def _half_fade(edge: Edge, graph: MotionGraph, fade: float) -> float:
    """Return half of the longest crossfade that both clips have frames for, seconds."""
    return min(0.5 * fade, edge.enter, graph.durations[edge.source] - edge.leave)


def floor_paths(clips: Sequence[Clip]) -> list[NDArray]:
    """Return the (S, 2) paths of the clips' roots on the floor at `WALK.rate`, without the sway of single steps."""
    found = []
    half = round(0.5 * WALK.sway * WALK.rate)
    for clip in clips:
        times = np.arange(int(clip.motion.duration * WALK.rate) + 1) / WALK.rate
        floor = clip.motion.at(times).root[:, ::2]
        # beyond the ends the path continues as it began and ended
        ends = 2.0 * floor[0] - floor[1 : half + 1][::-1], 2.0 * floor[-1] - floor[-half - 1 : -1][::-1]
        longer = np.concatenate([ends[0], floor, ends[1]])
        width = len(longer) - len(floor) + 1
        sums = np.concatenate([np.zeros((1, 2)), np.cumsum(longer, axis=0)])
        found.append((sums[width:] - sums[:-width]) / width)
    return found


def walk_graph(
    clips: Sequence[ClipSource],
    *,
    path: Curve | str | None = None,
    target: ArrayLike | None = None,
    graph: MotionGraph | None = None,
    threshold: float | None = None,
    start: int | None = None,
    within: float = WALK.within,
    fade: float = WALK.fade,
    longest: float = WALK.longest,
    fps: float | None = None,
    method: str | Method | None = "whole-body",
    progress: Progress | None = None,
) -> Result:
    """Walk a motion graph along a path or to a target, with feet planted through all transitions.

    path: a curve on the floor, by name (as in `footplant path --curve`) or as an object; a shape begins where the first
    clip does, in its direction. target: (x, z) metres in the world of the clip that the walk begins with. graph: of the
    same clips (default: it is built, with `threshold`). start: number of the clip that the walk begins with (default:
    the one that follows the path best; for a target the first). within: metres from the target. fade: seconds of a
    crossfade. longest: seconds of a walk. method: as for `footplant.transition`.
    """
    if (path is None) == (target is None):
        raise MotionError("expected a path or a target to walk to, and not both")
    given = [as_clip(clip) for clip in clips]
    if not given:
        raise MotionError("expected at least one clip to walk, got none")
    if start is not None:
        start = whole_number(start, "number of the first clip", MotionError, low=0, high=len(given) - 1)
    within, fade, longest = (
        real_number(value, name, MotionError, above=0.0)
        for value, name in ((within, "within"), (fade, "fade"), (longest, "longest"))
    )
    rate = given[start or 0].motion.fps if fps is None else frame_rate(fps, MotionError)
    graph = build_graph(given, threshold=threshold, progress=progress) if graph is None else graph
    if len(graph.durations) != len(given):
        raise MotionError(f"expected a graph of these {len(given)} clips, got one of {len(graph.durations)}")
    prepared, contacts = prepare_clips(given)
    paths = floor_paths(prepared)
    goal: _Goal
    if path is None:
        assert target is not None
        place = all_finite(shaped(target, (2,), "a target", MotionError), "a target", MotionError)
        goal = _Reach(place, within)
        starts = [Start(start or 0)]
    else:
        curve = _placed(path, paths[start or 0])
        goal = _Follow.of(curve)
        starts = [_start_on(curve, n, own) for n, own in enumerate(paths) if start is None or n == start]
    walk = find_walk(graph, paths, goal, starts, fade=fade, longest=longest)
    if walk is None:
        raise MotionError("expected a clip of more than a moment to walk with, got none")
    times, weights = _timeline(walk, graph, fade, rate)
    numbers = [piece.clip for piece in walk.pieces]
    poses = [
        replace(_placed_clip(prepared[piece.clip], piece).at(seconds), fps=rate)
        for piece, seconds in zip(walk.pieces, times.T)
    ]
    character = prepared[0].character
    motion = _in_place(compose(poses, weights, character), poses, weights)
    own = [contacts[number] for number in numbers]
    plants = blend_plants(motion, character, times, weights, own)
    level = next((floor_level(found) for found in own if found is not None and found.plants), 0.0)
    held = hold_plants(motion, character, plants, level, method=method, progress=progress)
    names = list(dict.fromkeys(given[number].name for number in numbers))
    return Result.of(replace(given[numbers[0]], name=" + ".join(names)), held, character).noted(
        _note(walk, given, target)
    )


def _placed_clip(clip: Clip, piece: Piece) -> Motion:
    """Return the motion of a clip where a piece of the walk has it."""
    turn = rotation.from_axis_angle(rotation.AXES["y"], piece.turn)
    return clip.motion.transformed(turn, (piece.shift[0], 0.0, piece.shift[1]))


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


def _placed(path: Curve | str, own: NDArray) -> Curve:
    """Return a curve; a shape by name is moved to begin where a clip does, in its direction. own: the clip's path."""
    curve, from_start = load_curve(path) if isinstance(path, str) else (path, False)
    return curve.moved(own[0], _heading(own)) if from_start else curve


def _start_on(curve: Curve, clip: int, own: NDArray) -> Start:
    """Return a clip, placed so that its path begins where the curve does, in its direction."""
    turn = float(curve.headings[0]) - _heading(own)
    return Start(clip, turn, curve.positions[0] - rotate_on_floor(np.array(turn), own[0]))


def _heading(own: NDArray) -> float:
    """Return the direction in which a path begins, radians; 0 is +z."""
    ahead = own[min(round(WALK.ahead * WALK.rate), len(own) - 1)] - own[0]
    return float(np.arctan2(ahead[0], ahead[1]))


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


def _note(walk: Walk, clips: Sequence[Clip], target: ArrayLike | None) -> str:
    """Return one sentence: the clips in their order, and how well the walk does what was asked."""
    route = " → ".join(f"{clips[piece.clip].name} {piece.start:.2f}–{piece.stop:.2f} s" for piece in walk.pieces)
    if target is None:
        ends = "" if walk.reached else "; it ends before the path does"
        return f"walks {route}; {100 * walk.error:.0f} cm RMS from the path{ends}"
    missed = "" if walk.reached else ", which no walk of this graph reaches"
    return f"walks {route}; ends {100 * walk.error:.0f} cm from the target{missed}"
