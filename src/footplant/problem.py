"""The one question and the one answer: `Problem` → `Solution` with a `Report`; and what an Ik and a Method keep to."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.checks import real_number
from footplant.constraints import AcrossFrames, Constraint, Orientation, Position
from footplant.constraints.base import Follow
from footplant.constraints.footplant import Footplant
from footplant.constraints.plants import PlantRows, Plants, is_plain
from footplant.errors import ConstraintError, MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.quality.measure import ConstraintQuality, Quality
from footplant.serialise import json_ready
from footplant.skeleton import Character

Progress = Callable[[str, float], None]
"""Called with what is being done and how much of it is, 0 to 1."""


class Status(Enum):
    """How a solve ended; the value is the sentence to show people."""

    SOLVED = "every hard constraint is met"
    UNREACHABLE = "some goals are out of the figure's reach; it came as near as it could"
    CONFLICT = "some constraints contradict one another; those of smaller priority gave way"
    UNFINISHED = "some constraints are not met yet; more levels or iterations may help"


@dataclass(frozen=True, eq=False)
class Problem:
    """A motion and what must hold of it. The answer changes the motion as little as it can."""

    motion: Motion
    """m0, on the character's own skeleton."""
    character: Character
    constraints: tuple[Constraint, ...] = ()
    rigidity: Mapping[str, float] = field(default_factory=dict)
    """α of METHODS A3, for the usual IK: role ("spine", "hips", "clavicle" …, "place" for the root's place) → how
    unwilling it is to move; roles that are not named keep their usual values."""
    tolerance: float = 0.001
    """Metres (and hundredths of a radian per millimetre) up to which a hard constraint counts as met."""

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        object.__setattr__(self, "constraints", tuple(self.constraints))
        if self.motion.skeleton.names != self.character.skeleton.names:
            raise MotionError(
                f"expected a motion on the skeleton of {self.character.name!r}, got other joints; retarget it first"
            )
        frames = len(self.motion)
        real_number(self.tolerance, "tolerance", ConstraintError, above=0.0)
        for role, stiffness in self.rigidity.items():
            real_number(stiffness, f"rigidity of {role!r}", ConstraintError, low=0.0)
        require_joints(self.motion, self.constraints)
        for constraint in self.constraints:
            if constraint.frames is not None and len(constraint.frames) and constraint.frames[-1] >= frames:
                raise ConstraintError(
                    f"{constraint.title}: expected frames in 0..{frames - 1}, got {constraint.frames[-1]}"
                )
            if isinstance(constraint, AcrossFrames):
                constraint.groups(frames)

    def on(self, motion: Motion) -> Problem:
        """The same asked of another motion of this one's frames; what is known of the constraints stays known."""
        if len(motion) != len(self.motion) or motion.fps != self.motion.fps:
            raise MotionError(
                f"expected a motion of {len(self.motion)} frames at {self.motion.fps:g} fps, "
                f"got {len(motion)} at {motion.fps:g}"
            )
        if motion.skeleton is not self.motion.skeleton and motion.skeleton.names != self.motion.skeleton.names:
            raise MotionError(f"expected a motion on the skeleton of {self.character.name!r}, got other joints")
        made = object.__new__(Problem)
        vars(made).update(vars(self), motion=motion)
        return made

    @cached_property
    def plants(self) -> PlantRows:
        """Its plain footplants (see `is_plain`) where they are at work, in their order."""
        plants = Plants([c for c in self.constraints if is_plain(c)])  # type: ignore[misc]
        return plants.over(np.arange(len(self.motion)), self.motion.fps)

    @cached_property
    def held_plants(self) -> PlantRows:
        """Those that hold fully: levels are judged by them."""
        return self.plants.held

    @cached_property
    def others(self) -> tuple[Constraint, ...]:
        """Its constraints that are no plain footplants."""
        return tuple(c for c in self.constraints if not is_plain(c))

    def constrained_frames(self) -> NDArray:
        """Frames at which any constraint is at work, ramps included, in order."""
        return self._constrained_frames

    @cached_property
    def _constrained_frames(self) -> NDArray:
        every = np.arange(len(self.motion))
        busy = np.zeros(len(every), bool)
        busy[self.plants.rows] = True
        for constraint in self.others:
            if isinstance(constraint, AcrossFrames):
                busy[np.unique(constraint.groups(len(every)))] = True
            else:
                busy[constraint.at_work(every, self.motion.fps)[0]] = True
        return np.flatnonzero(busy)


@dataclass(frozen=True)
class Level:
    """One step of a method: a level of a hierarchy, a pass, an iteration."""

    name: str
    """What it was: "16 frames a knot", "exact"."""
    worst: float
    """Largest error of any hard constraint after it, mm."""
    worst_share: float
    """The same in % of the body's height."""
    seconds: float
    """Time it took."""


@dataclass(frozen=True, eq=False)
class Report:
    """What a solve did: every constraint, how far off, in millimetres and % of the height."""

    method: str
    status: Status
    height: float
    """The body's, metres."""
    constraints: tuple[ConstraintQuality, ...] = ()
    levels: tuple[Level, ...] = ()
    before: Quality | None = None
    """The motion before the solve, judged on the same plants; None where an edit did not measure it."""
    after: Quality | None = None
    """The motion after it."""
    notes: tuple[str, ...] = ()
    """What could not be done and why, and what was decided on the way, one sentence each."""
    seconds: float = 0.0

    @property
    def worst(self) -> ConstraintQuality | None:
        """The hard constraint that is farthest off, of those measured in lengths."""
        lengths = [entry for entry in self.constraints if entry.unit == "mm" and entry.hard]
        return max(lengths, key=lambda entry: entry.worst, default=None)

    @property
    def unmet(self) -> tuple[ConstraintQuality, ...]:
        """Hard constraints that are not met."""
        return tuple(entry for entry in self.constraints if entry.hard and not entry.met)

    def comparison(self) -> list[tuple[str, float | None, float | None]]:
        """What people compare, (measure, before, after); None where it was not measured."""
        measures: tuple[tuple[str, Callable[[Quality], float | None]], ...] = (
            ("worst plant's drift, mm", lambda q: q.worst_plant.drift if q.worst_plant else None),
            ("mean drift, mm", lambda q: q.mean_drift),
            ("plants under 1 mm, share", lambda q: q.share_under_1mm),
            ("skating, mm/s", lambda q: None if q.skate_speed is None else 1000.0 * q.skate_speed),
            ("deepest below the ground, mm", lambda q: q.penetration_worst),
            ("peak acceleration over the source's", lambda q: q.peak_acceleration_ratio),
            ("jerk over the source's", lambda q: q.jerk_ratio),
        )
        both = (self.before, self.after)
        rows = [(name, *(None if quality is None else read(quality) for quality in both)) for name, read in measures]
        return [row for row in rows if row[1:] != (None, None)]  # type: ignore[return-value]

    def to_dict(self) -> dict:
        """Plain numbers, lists and None, ready for JSON."""
        out = {key: json_ready(getattr(self, key)) for key in ("method", "height", "notes", "seconds")}
        return out | {
            "status": self.status.name.lower(),
            "meaning": self.status.value,
            "constraints": json_ready([asdict(entry) for entry in self.constraints]),
            "levels": json_ready([asdict(level) for level in self.levels]),
            "before": None if self.before is None else self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class Solution:
    """The motion that answers a problem, and how well."""

    motion: Motion
    status: Status
    report: Report

    def noted(self, *notes: str) -> Solution:
        """The same with further notes."""
        return replace(self, report=replace(self.report, notes=(*self.report.notes, *notes)))


@dataclass(frozen=True, eq=False)
class IkSolution:
    """Poses that an Ik found, one for each row that it was given."""

    motion: Motion
    reached: NDArray
    """(F,) bool; False where a goal was out of reach or the iterations ran out."""
    frames: NDArray
    """(F,) the clip's frame of each row."""
    constraints: tuple[Constraint, ...] = field(repr=False)
    """What was asked."""

    @cached_property
    def error(self) -> NDArray:
        """(F,) largest error left of any hard constraint at each row, metres (radians count as half metres)."""
        return worst_error(Kinematics(self.motion, self.frames), self.constraints)


class Ik(Protocol):
    """One instant, many at once: each row of a motion is posed by itself; it knows nothing of time."""

    def refuses(self, constraint: Constraint) -> str | None:
        """Why it cannot honour a constraint; None when it can."""
        ...

    def solve(
        self,
        motion: Motion,
        constraints: Sequence[Constraint],
        *,
        frames: NDArray | None = None,
        start: Motion | None = None,
    ) -> IkSolution:
        """The poses nearest to the motion's own that meet the constraints.

        frames: the clip's frame of each row (default 0 … F−1). start: where to begin the search, if not at the motion.
        """
        ...


class Method(Protocol):
    """A whole motion: solves a problem, or refuses constraints that it cannot honour with a ConstraintError."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """The answer with its report."""
        ...


def missing_joint(constraint: Constraint, count: int) -> str | None:
    """Why a constraint cannot be asked of a skeleton of so many joints; None where it has all that it is about."""
    most = max((*constraint.joints, *constraint.followed, *(constraint.chain or ())), default=0)
    return f"expected joints in 0..{count - 1}, got {most}" if most >= count else None


def require_joints(motion: Motion, constraints: Sequence[Constraint], start: Motion | None = None) -> None:
    """Raise where a constraint is about a joint that the motion's skeleton does not have.

    start: poses to begin at, which must be as many, of as many joints.
    """
    count = len(motion.skeleton)
    for constraint in constraints:
        reason = missing_joint(constraint, count)
        if reason:
            raise ConstraintError(f"{constraint.title}: {reason}")
    if start is not None and start.rotations.shape != motion.rotations.shape:
        raise MotionError(
            f"expected poses to start at of {len(motion)} frames and {count} joints, got {start.rotations.shape[:2]}"
        )


def refuse_unhonoured(method: str, ik: Ik, constraints: Sequence[Constraint]) -> None:
    """Raise for the first constraint that an Ik cannot honour: nothing is ever ignored in silence."""
    for constraint in constraints:
        reason = ik.refuses(constraint)
        if reason:
            raise ConstraintError(f"{constraint.title}: {method} cannot honour it: {reason}")


APART = 0.2
"""Seconds between two keys of a constraint that lasts, about: through keys farther apart a spline sways."""


def constraint_keys(problem: Problem) -> NDArray:
    """Frames that stand for every constraint, in order: its first, middle and last, and some between where it lasts."""
    ends, between = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    apart = APART * problem.motion.fps
    for constraint in problem.constraints:
        held = range(len(problem.motion)) if constraint.frames is None else constraint.frames
        if not len(held):
            continue
        ends.append(np.array([held[0], held[len(held) // 2], held[-1]]))
        count = int(np.ceil(len(held) / apart)) + 1
        if count > 3:
            between.append(np.asarray(held)[np.round(np.linspace(0, len(held) - 1, count)).astype(np.int64)])
    keys = np.unique(np.concatenate(ends)).tolist()
    # near a key another one would only be in its way
    edges, at = [*keys, np.inf], 0
    last = -np.inf
    for frame in np.unique(np.concatenate(between)).tolist():
        while edges[at] < frame:
            last = max(last, edges[at])
            at += 1
        if min(frame - last, edges[at] - frame) > 0.5 * apart:
            keys.append(frame)
            last = frame
    return np.array(sorted(keys), np.int64)


RADIAN = 0.5
"""Metres that a radian counts as where errors of lengths and of angles are put together: half a body's arm's length."""


def errors(constraint: Constraint, kinematics: Kinematics) -> tuple[NDArray, NDArray]:
    """(rows, error): where a constraint holds fully, and its error there in its own unit (0 for what is fine)."""
    if isinstance(constraint, AcrossFrames):
        rows, values = constraint.groups(len(kinematics.frames))[:, 0], constraint.residual(kinematics)
    else:
        rows = constraint.held_rows(kinematics.frames, kinematics.motion.fps)
        part = kinematics if len(rows) == len(kinematics.frames) else kinematics[rows]
        values = constraint.residual(part) if len(rows) else np.zeros((0, 1))
    if constraint.inequality:
        values = np.minimum(values, 0.0)
    if values.shape[1:] == (1,):
        return rows, np.abs(values[:, 0])
    return rows, np.sqrt(np.sum(values**2, axis=tuple(range(1, values.ndim))))


def worst_error(kinematics: Kinematics, constraints: Sequence[Constraint]) -> NDArray:
    """(F,) the largest error of any hard constraint at each row, metres (radians count as half metres)."""
    worst = np.zeros(len(kinematics.frames))
    plain = [constraint for constraint in constraints if is_plain(constraint)]
    held = Plants(plain).over(kinematics.frames, kinematics.motion.fps).held  # type: ignore[arg-type]
    if len(held.rows):
        np.maximum.at(worst, held.rows, held.errors(kinematics) * held.hard)
    for constraint in constraints:
        if constraint.hard and not is_plain(constraint):
            rows, values = errors(constraint, kinematics)
            np.maximum.at(worst, rows, values * (RADIAN if constraint.unit == "rad" else 1.0))
    return worst


def largest_error(problem: Problem, kinematics: Kinematics) -> float:
    """The largest of all that `worst_error` has."""
    held = problem.held_plants
    off = held.errors(kinematics) * held.hard
    others = (c for c in problem.others if c.hard)
    values = ((RADIAN if c.unit == "rad" else 1.0) * errors(c, kinematics)[1].max(initial=0.0) for c in others)
    return float(max(off.max(initial=0.0), *values, 0.0))


def judge_constraints(problem: Problem, kinematics: Kinematics) -> tuple[ConstraintQuality, ...]:
    """Every constraint of a problem on a motion that was found: how far off, where, and whether that is met."""
    plain = iter(_judged_plants(problem, kinematics))
    found = []
    for constraint in problem.constraints:
        if is_plain(constraint):
            found.append(next(plain))
            continue
        rows, values = errors(constraint, kinematics)
        most = int(values.argmax()) if values.size else -1
        worst, mean = (float(values[most]), float(values.mean())) if values.size else (0.0, 0.0)
        found.append(_judged(constraint, len(rows), worst, mean, int(rows[most]) if values.size else None, problem))
    return tuple(found)


def _judged_plants(problem: Problem, kinematics: Kinematics) -> list[ConstraintQuality]:
    """The plain footplants of a problem, all at once."""
    from footplant.kernels import plants as kernel

    held, plants = problem.held_plants, problem.held_plants.plants.plants
    counts, frames = np.zeros(len(plants), np.int64), np.zeros(len(plants), np.int64)
    worst, mean = np.zeros(len(plants)), np.zeros(len(plants))
    kernel.summarize(held.which, held.rows, held.errors(kinematics), counts, worst, mean, frames)
    told = zip(plants, counts.tolist(), worst.tolist(), mean.tolist(), frames.tolist())
    return [_judged(p, n, most, mean, at if n else None, problem) for p, n, most, mean, at in told]


def _judged(
    constraint: Constraint, frames: int, worst: float, mean: float, worst_frame: int | None, problem: Problem
) -> ConstraintQuality:
    """How well a constraint is met whose largest and mean errors over so many frames are known in its own unit."""
    turn = constraint.unit == "rad"
    factor = 180.0 / math.pi if turn else 1000.0
    share = math.nan if turn else 100.0 / (problem.character.height or 1.0)
    return ConstraintQuality(
        name=constraint.title,
        kind=type(constraint).__name__.lower(),
        unit="degrees" if turn else "mm",
        frames=frames,
        worst=factor * worst,
        mean=factor * mean,
        worst_share=share * worst,
        mean_share=share * mean,
        worst_frame=worst_frame,
        hard=constraint.hard,
        met=worst <= _tolerance(constraint, problem),
    )


def _tolerance(constraint: Constraint, problem: Problem) -> float:
    """Up to where a constraint counts as met, in its unit."""
    return constraint.tolerance or (10.0 if constraint.unit == "rad" else 1.0) * problem.tolerance


def conflicts(problem: Problem) -> tuple[str, ...]:
    """Say which hard constraints plainly contradict one another, one sentence for each pair, in order.

    Two contradict where they hold the same point, or turn the same segment, at the same frame and their targets are
    farther apart than their tolerances allow. What only bones or limits make impossible is not found.
    """
    found: list[str] = []
    for pins in _pins_by_place(problem).values():
        # by their first frames: an interval is compared only with those that begin before it ends
        pins.sort(key=lambda pin: pin[1][0])
        for number, (first, held) in enumerate(pins):
            for second, others in pins[number + 1 :]:
                if others[0] > held[-1]:
                    break
                found += _contradiction(problem, first, second, np.intersect1d(held, others))
    return tuple(found)


def _pins_by_place(problem: Problem) -> dict[tuple, list[tuple[Constraint, NDArray]]]:
    """Hard constraints that say where a point is or how a segment is turned, with the frames that they hold at."""
    every, pins = np.arange(len(problem.motion)), {}
    for constraint in problem.constraints:
        kind = type(constraint)
        key: tuple
        if not constraint.hard or (constraint.frames is not None and not len(constraint.frames)):
            continue
        if kind is Orientation:
            key = ("turn", constraint.joint)  # type: ignore[attr-defined]
        elif (kind is Footplant and not constraint.free) or (  # type: ignore[attr-defined]
            kind is Position and not isinstance(constraint.target, Follow)  # type: ignore[attr-defined]
        ):
            key = ("point", constraint.point)  # type: ignore[attr-defined]
        else:
            continue
        held = every if constraint.frames is None else np.asarray(constraint.frames, np.int64)
        pins.setdefault(key, []).append((constraint, held))
    return pins


def _contradiction(problem: Problem, first: Constraint, second: Constraint, frames: NDArray) -> list[str]:
    """The sentence on two pins of the same place that cannot both be met, where that is so."""
    if not len(frames):
        return []
    allowed = _tolerance(first, problem) + _tolerance(second, problem)
    if isinstance(first, Orientation) and isinstance(second, Orientation):
        apart = rotation.angle(first.wanted(frames), second.wanted(frames))
        shown, unit = np.degrees(apart), "°"
    else:
        # along axes that both ask for
        counted = (np.asarray(_axes(first)) != 0) & (np.asarray(_axes(second)) != 0)
        apart = np.linalg.norm((_wanted(first, frames) - _wanted(second, frames)) * counted, axis=1)
        shown, unit = 1000.0 * apart, " mm"
    worst = int(apart.argmax())
    if not apart[worst] > allowed:
        return []
    return [
        f"{first.title} and {second.title} contradict one another: "
        f"their targets are {shown[worst]:.1f}{unit} apart at frame {frames[worst]}"
    ]


def _axes(pin: Constraint) -> tuple[float, float, float]:
    return pin.axes if isinstance(pin, Position) else (1.0, 1.0, 1.0)


def _wanted(pin: Constraint, frames: NDArray) -> NDArray:
    """(N, 3) where a pin wants its point at frames of the clip, metres."""
    if isinstance(pin, Footplant):
        return np.broadcast_to(np.asarray(pin.place), (len(frames), 3))
    assert isinstance(pin, Position)
    return pin.wanted(frames)


@dataclass(eq=False)
class Stopwatch:
    """Collects the levels of a method as they end."""

    problem: Problem
    levels: list[Level] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    _lap: float = field(default_factory=time.perf_counter)

    def lap(self, name: str, motion: Motion | Kinematics) -> float:
        """Note a level that has just ended, with its error; return the error in metres. Judging is not timed."""
        seconds = time.perf_counter() - self._lap
        problem, kinematics = self.problem, motion if isinstance(motion, Kinematics) else Kinematics(motion)
        worst = largest_error(problem, kinematics)
        height = problem.character.height or 1.0
        self.levels.append(Level(name, 1000.0 * worst, 100.0 * worst / height, seconds))
        self._lap = time.perf_counter()
        return worst

    def finish(self, method: str, motion: Motion, *, reachable: bool = True, notes: Sequence[str] = ()) -> Solution:
        """The solution with its report. `reachable` False says that what is unmet was out of reach."""
        seconds = time.perf_counter() - self.started
        judged = judge_constraints(self.problem, Kinematics(motion))
        unmet = [entry for entry in judged if entry.hard and not entry.met]
        # what contradicts something is looked for only where something is not met: most solves need not know
        contradictions = conflicts(self.problem) if unmet else ()
        if not unmet:
            status = Status.SOLVED
        elif contradictions:
            status = Status.CONFLICT
        elif not reachable:
            status = Status.UNREACHABLE
        else:
            status = Status.UNFINISHED
        height = self.problem.character.height
        # an edit that ends with a pass of its own hands on the notes of the solve before it
        notes = tuple(dict.fromkeys((*contradictions, *notes)))
        report = Report(method, status, height, judged, tuple(self.levels), notes=notes, seconds=seconds)
        return Solution(motion, status, report)
