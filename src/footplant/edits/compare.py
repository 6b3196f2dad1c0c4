"""Compare methods on one problem: time, constraint residuals, smoothness, and how much each changes the motion.

Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from footplant.clip import Clip
from footplant.constraints import Constraint
from footplant.contacts.detection import FEET, Contacts, find_contacts
from footplant.edits.fit import fit
from footplant.edits.puppet import PUPPET, puppet
from footplant.edits.retarget import COPY, retarget
from footplant.errors import ConstraintError, FootplantError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Progress
from footplant.quality.measure import Quality, measure
from footplant.result import CharacterSource, ClipSource, Result, as_character, as_clip
from footplant.serialise import json_ready
from footplant.skeleton import Character
from footplant.solve.methods import NAMES, method_of


@dataclass(frozen=True, kw_only=True)
class Row:
    """The figures of one method; None where it failed or where there is nothing to measure."""

    method: str
    failed: str | None = None
    """Why there is no solution: the constraint that the method refuses, and why."""
    status: str | None = None
    """How it ended: see `footplant.problem.Status`."""
    seconds: float | None = None
    """Solve time, the minimum over the repeats."""
    passes: int | None = None
    """Levels, passes or iterations."""
    worst_error: float | None = None
    """Largest residual of a hard constraint on a position, mm."""
    mean_error: float | None = None
    """Mean over those constraints of their mean residuals, mm."""
    unmet: int | None = None
    """Hard constraints that are not met."""
    worst_drift: float | None = None
    """Largest drift of a footplant, mm."""
    mean_drift: float | None = None
    """Mean drift over footplants, mm."""
    plants_moved: float | None = None
    """Mean distance of footplants from their mean position before the solve, mm."""
    jerk: float | None = None
    """Ratio to the source's."""
    peak_acceleration: float | None = None
    """Ratio to the source's."""
    joint_change: float | None = None
    """Mean rotation angle between the motions before and after the solve, over joints and frames, degrees."""
    root_change: float | None = None
    """Mean distance of the root between the two, mm."""


COLUMNS: tuple[tuple[str, str], ...] = (
    ("seconds", "time, s"),
    ("passes", "passes"),
    ("worst_error", "error, mm"),
    ("worst_drift", "drift, mm"),
    ("jerk", "jerk ×"),
    ("peak_acceleration", "peak acc. ×"),
    ("plants_moved", "plants moved, mm"),
    ("joint_change", "joints turned, °"),
    ("root_change", "root moved, mm"),
)
"""Compared fields of a row, with their headings."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The solutions of several methods to one problem."""

    name: str
    """The clip's name."""
    character: Character
    before: Motion = field(repr=False)
    """The motion on the character before the solve."""
    contacts: Contacts | None = field(repr=False)
    """The contacts by which all solutions are measured."""
    rows: tuple[Row, ...] = ()
    """In the order of the methods asked for."""
    solutions: dict[str, Result] = field(default_factory=dict, repr=False)
    """Method → its result, without those that failed."""

    def to_dict(self) -> dict:
        """Return JSON-ready values."""
        return {
            "clip": self.name,
            "character": self.character.name,
            "methods": json_ready([asdict(r) for r in self.rows]),
        }


def compare(
    clip: ClipSource,
    target: CharacterSource | None = None,
    methods: Sequence[str] = NAMES,
    *,
    constraints: Sequence[Constraint] = (),
    keep_footsteps: bool = False,
    exact: bool = True,
    repeats: int = 2,
    contacts: Contacts | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Solve the same problem with several methods: the clip on another character, under constraints, or both.

    A method that refuses a constraint or fails gets a row that says why. repeats: how often each method runs; the
    minimum time is reported, because the first run may load or compile kernels.
    """
    clip, target = as_clip(clip), None if target is None else as_character(target)
    methods = tuple(dict.fromkeys(methods))
    for method in methods:
        if method != PUPPET:
            method_of(method)
    if not methods or repeats < 1:
        raise ConstraintError(f"expected at least one method and one run of it, got {len(methods)} and {repeats}")
    if target is None and not constraints:
        raise ConstraintError("expected another character or constraints to compare methods on, got neither")
    character = clip.character if target is None else target
    if contacts is None and any(name in clip.character.contacts for name in FEET):
        contacts = find_contacts(clip, hands=target is not None)
    before = clip.motion
    if target is not None:
        before = retarget(clip, target, method=COPY, keep_footsteps=keep_footsteps, contacts=contacts).motion
    rows, solutions = [], {}
    for number, method in enumerate(methods):
        if progress:
            progress(method, number / len(methods))
        run = _solver(clip, target, method, constraints, keep_footsteps, exact, contacts)
        try:
            found = [run() for _ in range(repeats)]
        except FootplantError as error:
            rows.append(Row(method=method, failed=str(error)))
            continue
        solutions[method] = found[-1]
        seconds = min(solution.report.seconds for solution in found)
        rows.append(_row(method, found[-1], seconds, before, character, contacts))
    return Comparison(clip.name, character, before, contacts, tuple(rows), solutions)


def _solver(
    clip: Clip,
    target: Character | None,
    method: str,
    constraints: Sequence[Constraint],
    keep_footsteps: bool,
    exact: bool,
    contacts: Contacts | None,
) -> Callable[[], Result]:
    """Return a function that solves the problem once with a method."""
    if method == PUPPET:
        return lambda: _play(clip, target, constraints, keep_footsteps, contacts)
    if target is None:
        return lambda: fit(clip, constraints, method=method, exact=exact, contacts=contacts)
    return lambda: retarget(
        clip, target, method=method_of(method, exact=exact), constraints=constraints, keep_footsteps=keep_footsteps,
        contacts=contacts,
    )  # fmt: skip


def _play(
    clip: Clip,
    target: Character | None,
    constraints: Sequence[Constraint],
    keep_footsteps: bool,
    contacts: Contacts | None,
) -> Result:
    """Solve with the puppet engine, which plays a clip on another character and takes no constraints."""
    if target is None or constraints:
        raise ConstraintError(f"{PUPPET} plays a clip on another character and cannot honour constraints")
    return puppet(clip, target, keep_footsteps=keep_footsteps, contacts=contacts)


def _row(
    method: str, solution: Result, seconds: float, before: Motion, character: Character, contacts: Contacts | None
) -> Row:
    report = solution.report
    lengths = [entry for entry in report.constraints if entry.hard and entry.unit == "mm"]
    quality: Quality | None = report.after
    if quality is None and contacts is not None:
        quality = measure(solution.motion, character, contacts)
    change = solution.motion - before
    return Row(
        method=method,
        status=solution.status.value,
        seconds=seconds,
        passes=len(report.levels),
        worst_error=max((entry.worst for entry in lengths), default=None),
        mean_error=float(np.mean([entry.mean for entry in lengths])) if lengths else None,
        unmet=len(report.unmet),
        worst_drift=quality.worst_plant.drift if quality is not None and quality.worst_plant is not None else None,
        mean_drift=None if quality is None else quality.mean_drift,
        plants_moved=_plants_moved(solution.motion, before, character, contacts),
        jerk=None if quality is None else quality.jerk_ratio,
        peak_acceleration=None if quality is None else quality.peak_acceleration_ratio,
        joint_change=float(np.degrees(np.linalg.norm(change[:, 1:], axis=2)).mean()),
        root_change=float(1000.0 * np.linalg.norm(change[:, 0], axis=1).mean()),
    )


def _plants_moved(motion: Motion, before: Motion, character: Character, contacts: Contacts | None) -> float | None:
    """Return the mean over footplants of the distance between their mean positions before and after, mm."""
    plants = (
        () if contacts is None else [p for p in contacts.plants if p.point in FEET and p.point in character.contacts]
    )
    if not plants:
        return None
    now, then = Kinematics(motion), Kinematics(before)
    moved = []
    for plant in plants:
        point, rows = character.contacts[plant.point], slice(plant.start, plant.end)
        moved.append(np.linalg.norm((now.point(point)[rows] - then.point(point)[rows]).mean(axis=0)))
    return float(1000.0 * np.mean(moved))
