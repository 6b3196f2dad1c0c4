"""`Problem` → `Solution` with a `Report`, and the protocols of an Ik and a Method."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.checks import real_number
from footplant.constraints import AcrossFrames, Constraint, Orientation, Position
from footplant.constraints.base import Follow
from footplant.constraints.footplant import Footplant
from footplant.constraints.plants import PlantRows, Plants, is_simple_plant, plants_of
from footplant.errors import ConstraintError, MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.quality.fidelity import Fidelity
from footplant.quality.measure import ConstraintQuality, Quality
from footplant.serialise import json_ready
from footplant.skeleton import Character
from footplant.wording import counted

Progress = Callable[[str, float], None]
"""Called with a label of the current work and its progress, 0 to 1."""


class Status(StrEnum):
    """How a solve ended: a word, which `--json` prints too, and its `sentence` for people."""

    SOLVED = "solved", "every hard constraint is met"
    UNREACHABLE = "unreachable", "some goals are out of the character's reach; it came as near as it could"
    CONFLICT = "conflict", "some constraints contradict one another; those of smaller priority gave way"
    UNFINISHED = "unfinished", "some constraints are not met yet; more levels or iterations may help"

    sentence: str
    """What the word means, for people."""

    def __new__(cls, word: str, sentence: str) -> Status:
        """Make the member whose value is the word."""
        made = str.__new__(cls, word)
        made._value_ = word
        made.sentence = sentence
        return made


@dataclass(frozen=True, eq=False)
class Problem:
    """A motion and its constraints. The solution changes the motion as little as possible."""

    motion: Motion
    """m0, on the character's own skeleton."""
    character: Character
    constraints: tuple[Constraint, ...] = ()
    rigidity: Mapping[str, float] = field(default_factory=dict)
    """α of Lee & Shin's equation 4, for the default IK: role ("spine", "hips", "clavicle" …, "place" for the root's
    position) → stiffness. A stiffer joint takes a smaller part of the displacement. Other roles keep their
    defaults."""
    tolerance: float = 0.001
    """Tolerance of hard constraints, metres (and hundredths of a radian per millimetre)."""

    def __post_init__(self) -> None:
        """Check that the parts match."""
        object.__setattr__(self, "constraints", tuple(c.bound_to(self.motion) for c in self.constraints))
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

    def __repr__(self) -> str:
        """Return the motion and the number of constraints."""
        return f"Problem({counted(len(self.constraints), 'constraint')} on {self.character.name!r}, {self.motion!r})"

    def on(self, motion: Motion) -> Problem:
        """Return the same problem for another motion with the same frames; cached constraint data is kept."""
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
        """Return its simple footplants (see `is_simple_plant`) in the rows where they are active, in their order."""
        plants = Plants([c for c in self.constraints if is_simple_plant(c)])  # type: ignore[misc]
        return plants.over(np.arange(len(self.motion)), self.motion.fps)

    @cached_property
    def held_plants(self) -> PlantRows:
        """Return those that are fully active, by which levels are evaluated."""
        return self.plants.held

    @cached_property
    def others(self) -> tuple[Constraint, ...]:
        """Return its constraints that are not simple footplants."""
        return tuple(c for c in self.constraints if not is_simple_plant(c))

    def constrained_frames(self) -> NDArray:
        """Return the frames at which any constraint is active, ramps included, in order."""
        return self._constrained_frames

    @cached_property
    def _constrained_frames(self) -> NDArray:
        every = np.arange(len(self.motion))
        constrained = np.zeros(len(every), bool)
        constrained[self.plants.rows] = True
        for constraint in self.others:
            if isinstance(constraint, AcrossFrames):
                constrained[np.unique(constraint.groups(len(every)))] = True
            else:
                constrained[constraint.active_rows(every, self.motion.fps)[0]] = True
        return np.flatnonzero(constrained)


@dataclass(frozen=True)
class Level:
    """One step of a method: a level of a hierarchy, a pass, an iteration."""

    name: str
    """Its name: "16 frames a knot", "exact"."""
    worst: float
    """Largest error of any hard constraint after it, mm."""
    worst_share: float
    """The same in % of the body height."""
    seconds: float
    """Time it took."""


@dataclass(frozen=True, eq=False)
class Report:
    """Report of a solve: the error of every constraint, in millimetres and % of the height."""

    method: str
    status: Status
    height: float
    """Body height, metres."""
    constraints: tuple[ConstraintQuality, ...] = ()
    levels: tuple[Level, ...] = ()
    before: Quality | None = None
    """Quality of the motion before the solve on the same footplants; None if it was not measured."""
    after: Quality | None = None
    """Quality of the motion after it."""
    notes: tuple[str, ...] = ()
    """What could not be done and why, and decisions that were made, one sentence each."""
    seconds: float = 0.0
    markers: tuple[Any, ...] = ()
    """How well the body fits its markers, one `optical.report.MarkerReport` a person; empty unless markers were
    solved."""

    def __repr__(self) -> str:
        """Return status, method, and what is worst."""
        what = [f"{self.status} by {self.method} in {self.seconds:.2f} s"]
        if self.constraints:
            what.append(f"{len(self.unmet)} of {counted(len(self.constraints), 'constraint')} unmet")
        return f"Report({', '.join([*what, *self.worst_drifts()])})"

    def worst_drifts(self) -> list[str]:
        """Return the largest drift of a footplant before and after as a phrase; none if it was not measured."""
        drifts = [quality.worst_plant.drift for quality in (self.before, self.after) if quality and quality.worst_plant]
        return [f"worst footplant drifts {' → '.join(f'{drift:.1f}' for drift in drifts)} mm"] if drifts else []

    @property
    def worst(self) -> ConstraintQuality | None:
        """Return the hard constraint with the largest error, of those measured in lengths."""
        lengths = [entry for entry in self.constraints if entry.unit == "mm" and entry.hard]
        return max(lengths, key=lambda entry: entry.worst, default=None)

    @property
    def unmet(self) -> tuple[ConstraintQuality, ...]:
        """Return the hard constraints that are not met."""
        return tuple(entry for entry in self.constraints if entry.hard and not entry.met)

    @property
    def not_right(self) -> tuple[str, ...]:
        """Return what is beyond its goal in comparison with the source, one clause each (see `quality.fidelity`)."""
        found = None if self.after is None else self.after.fidelity
        return () if found is None else tuple(found.not_right())

    def with_fidelity(self, found: Fidelity | None) -> Report:
        """Return the report with a comparison of the motion after the solve with its source."""
        return self if self.after is None else replace(self, after=replace(self.after, fidelity=found))

    def comparison(self) -> list[tuple[str, float | None, float | None]]:
        """Return the main measures as (measure, before, after); None where it was not measured."""
        measures: tuple[tuple[str, Callable[[Quality], float | None]], ...] = (
            ("worst footplant drift, mm", lambda q: q.worst_plant.drift if q.worst_plant else None),
            ("mean drift, mm", lambda q: q.mean_drift),
            ("footplants under 1 mm, share", lambda q: q.share_under_1mm),
            ("skating, mm/s", lambda q: None if q.skate_speed is None else 1000.0 * q.skate_speed),
            ("deepest penetration, mm", lambda q: q.penetration_worst),
            ("peak acceleration of all joints over the source's", lambda q: q.peak_acceleration_ratio),
            ("jerk of all joints over the source's", lambda q: q.jerk_ratio),
        )
        both = (self.before, self.after)
        rows = [(name, *(None if quality is None else read(quality) for quality in both)) for name, read in measures]
        return [row for row in rows if row[1:] != (None, None)]  # type: ignore[return-value]

    def to_dict(self) -> dict:
        """Return JSON-ready numbers, lists and None."""
        out = {key: json_ready(getattr(self, key)) for key in ("method", "height", "notes", "seconds")}
        return out | {
            "status": self.status.value,
            "meaning": self.status.sentence,
            "not_right": list(self.not_right),
            "constraints": json_ready([asdict(entry) for entry in self.constraints]),
            "levels": json_ready([asdict(level) for level in self.levels]),
            "before": None if self.before is None else self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
            **({"markers": [fit.to_dict() for fit in self.markers]} if self.markers else {}),
        }


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer of a method: the motion that solves a problem, and its report. Edits return a `Result`."""

    motion: Motion
    status: Status
    report: Report

    def __repr__(self) -> str:
        """Return the status and the length of the motion."""
        return f"Solution({self.status}, {self.motion!r})"

    def noted(self, *notes: str) -> Solution:
        """Return the same with further notes."""
        return replace(self, report=replace(self.report, notes=(*self.report.notes, *notes)))


@dataclass(frozen=True, eq=False)
class IkSolution:
    """Poses found by an Ik, one for each given row."""

    motion: Motion
    reached: NDArray
    """(F,) bool; False where a goal was out of reach or the iterations ran out."""
    frames: NDArray
    """(F,) the clip's frame of each row."""
    constraints: tuple[Constraint, ...] = field(repr=False)
    """The constraints that were given."""

    @cached_property
    def error(self) -> NDArray:
        """Return the largest remaining error of any hard constraint per row (F,), metres (1 rad counts as 0.5 m)."""
        return worst_error(Kinematics(self.motion, self.frames), self.constraints)


class Ik(Protocol):
    """IK of single instants, many at once: each row of a motion is posed independently of time."""

    def refuses(self, constraint: Constraint) -> str | None:
        """Return why it does not support a constraint; None when it does."""
        ...

    def solve(
        self,
        motion: Motion,
        constraints: Sequence[Constraint],
        *,
        frames: NDArray | None = None,
        start: Motion | None = None,
    ) -> IkSolution:
        """Return the poses nearest to the motion's own that meet the constraints.

        frames: the clip's frame of each row (default 0 … F−1). start: initial poses of the search, if not the motion.
        """
        ...


class Method(Protocol):
    """Solver of a whole motion; raises ConstraintError for constraints that it does not support."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """Return the solution with its report."""
        ...


def missing_joint(constraint: Constraint, count: int) -> str | None:
    """Return why a constraint does not apply to a skeleton of `count` joints; None if it has all its joints."""
    most = max((*constraint.joints, *constraint.followed, *(constraint.chain or ())), default=0)
    return f"expected joints in 0..{count - 1}, got {most}" if most >= count else None


def require_joints(motion: Motion, constraints: Sequence[Constraint], start: Motion | None = None) -> None:
    """Raise if a constraint refers to a joint that the motion's skeleton does not have.

    start: initial poses, which must have as many frames and joints.
    """
    count = len(motion.skeleton)
    for constraint in constraints:
        reason = missing_joint(constraint, count)
        if reason:
            raise ConstraintError(f"{constraint.title}: {reason}")
    if start is not None and start.rotations.shape != motion.rotations.shape:
        raise MotionError(
            f"expected initial poses of {len(motion)} frames and {count} joints, got {start.rotations.shape[:2]}"
        )


def refuse_unsupported(method: str, ik: Ik, constraints: Sequence[Constraint]) -> None:
    """Raise for the first constraint that an Ik does not support: nothing is ever ignored silently."""
    for constraint in constraints:
        reason = ik.refuses(constraint)
        if reason:
            raise ConstraintError(f"{constraint.title}: {method} cannot honour it: {reason}")


KEY_SPACING = 0.2
"""Approximate time between two keys of a long constraint, seconds: a spline through keys farther apart oscillates."""


def constraint_keys(problem: Problem) -> NDArray:
    """Return key frames of all constraints, in order: first, middle and last of each, and more for long ones."""
    ends, between = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    apart = KEY_SPACING * problem.motion.fps
    for constraint in problem.constraints:
        held = range(len(problem.motion)) if constraint.frames is None else constraint.frames
        if not len(held):
            continue
        ends.append(np.array([held[0], held[len(held) // 2], held[-1]]))
        count = int(np.ceil(len(held) / apart)) + 1
        if count > 3:
            between.append(np.asarray(held)[np.round(np.linspace(0, len(held) - 1, count)).astype(np.int64)])
    keys = np.unique(np.concatenate(ends)).tolist()
    # omit a key next to an existing one
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


METRES_PER_RADIAN = 0.5
"""Metres per radian when errors of lengths and angles are combined: about half an arm's length."""


def errors(constraint: Constraint, kinematics: Kinematics) -> tuple[NDArray, NDArray]:
    """Return (rows, errors): where a constraint is fully active, and its error there in its unit (0 if satisfied)."""
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
    if constraint.separate:
        return rows, np.abs(values).max(axis=1)
    return rows, np.sqrt(np.sum(values**2, axis=tuple(range(1, values.ndim))))


def worst_error(kinematics: Kinematics, constraints: Sequence[Constraint]) -> NDArray:
    """Return the largest error of any hard constraint per row (F,), metres (1 rad counts as 0.5 m)."""
    worst = np.zeros(len(kinematics.frames))
    simple = tuple(constraint for constraint in constraints if is_simple_plant(constraint))
    held = plants_of(simple).over(kinematics.frames, kinematics.motion.fps).held  # type: ignore[arg-type]
    if len(held.rows):
        np.maximum.at(worst, held.rows, held.errors(kinematics) * held.hard)
    for constraint in constraints:
        if constraint.hard and not is_simple_plant(constraint):
            rows, values = errors(constraint, kinematics)
            np.maximum.at(worst, rows, values * (METRES_PER_RADIAN if constraint.unit == "rad" else 1.0))
    return worst


def largest_error(problem: Problem, kinematics: Kinematics) -> float:
    """Return the maximum of `worst_error`."""
    held = problem.held_plants
    off = held.errors(kinematics) * held.hard
    others = (c for c in problem.others if c.hard)
    values = (
        (METRES_PER_RADIAN if c.unit == "rad" else 1.0) * errors(c, kinematics)[1].max(initial=0.0) for c in others
    )
    return float(max(off.max(initial=0.0), *values, 0.0))


def evaluate_constraints(problem: Problem, kinematics: Kinematics) -> tuple[ConstraintQuality, ...]:
    """Evaluate every constraint of a problem on a solved motion: errors, where, and whether it is met."""
    simple = iter(_evaluate_plants(problem, kinematics))
    found = []
    for constraint in problem.constraints:
        if is_simple_plant(constraint):
            found.append(next(simple))
            continue
        rows, values = errors(constraint, kinematics)
        most = int(values.argmax()) if values.size else -1
        worst, mean = (float(values[most]), float(values.mean())) if values.size else (0.0, 0.0)
        found.append(_quality_of(constraint, len(rows), worst, mean, int(rows[most]) if values.size else None, problem))
    return tuple(found)


def _evaluate_plants(problem: Problem, kinematics: Kinematics) -> list[ConstraintQuality]:
    """Evaluate the simple footplants of a problem, all at once."""
    from footplant.kernels import plants as kernel

    held, plants = problem.held_plants, problem.held_plants.plants.plants
    counts, frames = np.zeros(len(plants), np.int64), np.zeros(len(plants), np.int64)
    worst, mean = np.zeros(len(plants)), np.zeros(len(plants))
    kernel.summarize(held.which, held.rows, held.errors(kinematics), counts, worst, mean, frames)
    summaries = zip(plants, counts.tolist(), worst.tolist(), mean.tolist(), frames.tolist())
    return [_quality_of(p, n, most, mean, at if n else None, problem) for p, n, most, mean, at in summaries]


def _quality_of(
    constraint: Constraint, frames: int, worst: float, mean: float, worst_frame: int | None, problem: Problem
) -> ConstraintQuality:
    """Return the quality of a constraint from its largest and mean errors over its frames, in its own unit."""
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
    """Return the tolerance of a constraint, in its unit."""
    return constraint.tolerance or (10.0 if constraint.unit == "rad" else 1.0) * problem.tolerance


def conflicts(problem: Problem) -> tuple[str, ...]:
    """Return which hard constraints clearly contradict one another, one sentence for each pair, in order.

    Two contradict if they hold the same point, or orient the same segment, at the same frame with targets farther apart
    than their tolerances allow. Conflicts due to bone lengths or joint limits are not detected.
    """
    found: list[str] = []
    for pins in _pins_by_place(problem).values():
        # sorted by first frame: an interval is compared only with those that begin before it ends
        pins.sort(key=lambda pin: pin[1][0])
        for number, (first, held) in enumerate(pins):
            for second, others in pins[number + 1 :]:
                if others[0] > held[-1]:
                    break
                found += _contradiction(problem, first, second, np.intersect1d(held, others))
    return tuple(found)


def _pins_by_place(problem: Problem) -> dict[tuple, list[tuple[Constraint, NDArray]]]:
    """Return hard constraints that fix the position of a point or the orientation of a segment, with their frames."""
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
    """Return the sentence on two pins of the same point that cannot both be met, if so."""
    if not len(frames):
        return []
    allowed = _tolerance(first, problem) + _tolerance(second, problem)
    if isinstance(first, Orientation) and isinstance(second, Orientation):
        apart = rotation.angle(first.wanted(frames), second.wanted(frames))
        shown, unit = np.degrees(apart), "°"
    else:
        # along axes that both constrain
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
    """Return the target positions (N, 3) of a pin at frames of the clip, metres."""
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
        """Record a level that has just ended, with its error; return the error in metres. Evaluation is not timed."""
        seconds = time.perf_counter() - self._lap
        problem, kinematics = self.problem, motion if isinstance(motion, Kinematics) else Kinematics(motion)
        worst = largest_error(problem, kinematics)
        height = problem.character.height or 1.0
        self.levels.append(Level(name, 1000.0 * worst, 100.0 * worst / height, seconds))
        self._lap = time.perf_counter()
        return worst

    def finish(
        self,
        method: str,
        motion: Motion,
        *,
        reachable: bool = True,
        notes: Sequence[str] = (),
        contradictions: Sequence[str] = (),
    ) -> Solution:
        """Return the solution with its report. reachable: False means that unmet constraints were out of reach.

        contradictions: what a method itself has found to contradict its constraints, one sentence each.
        """
        seconds = time.perf_counter() - self.started
        evaluated = evaluate_constraints(self.problem, Kinematics(motion))
        unmet = [entry for entry in evaluated if entry.hard and not entry.met]
        # look for contradictions only if something is unmet
        contradictions = (*conflicts(self.problem), *contradictions) if unmet else ()
        if not unmet:
            status = Status.SOLVED
        elif contradictions:
            status = Status.CONFLICT
        elif not reachable:
            status = Status.UNREACHABLE
        else:
            status = Status.UNFINISHED
        height = self.problem.character.height
        # an edit with a final pass of its own passes on the notes of the solve before it
        notes = tuple(dict.fromkeys((*contradictions, *notes)))
        report = Report(method, status, height, evaluated, tuple(self.levels), notes=notes, seconds=seconds)
        return Solution(motion, status, report)
