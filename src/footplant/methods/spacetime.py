"""Spacetime constraints: the whole clip as one problem, its displacement smooth, its constraints hard, plants found.

Gleicher, "Motion editing with spacetime constraints" (I3D 1997) and "Retargetting motion to new characters" (SIGGRAPH
1998), as compared in Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 3.5
(METHODS C). Unknowns are the control points of cubic B-splines of the displacement, m = m0 ⊕ d, and the places of
plants that have none; hard constraints are met by an augmented Lagrangian whose steps are Levenberg–Marquardt's, each a
block-band system with a moving border (KERNELS, "Spacetime in O(n)").
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.constraints import AcrossFrames, Constraint, Footplant
from footplant.errors import ConstraintError, SkeletonError
from footplant.ik.hybrid import RIGIDITY, Hybrid
from footplant.ik.limb import LIMBS, limb_of
from footplant.kinematics import Kinematics
from footplant.methods.hierarchical import PAPER_RATE, Hierarchical
from footplant.methods.spacetime_band import Knots, System
from footplant.methods.spacetime_rows import Look, Rows
from footplant.motion import Motion
from footplant.problem import Ik, Method, Problem, Progress, Solution, Stopwatch
from footplant.skeleton import Character

logger = logging.getLogger(__name__)
ROLE_RIGIDITY = RIGIDITY | {
    "upper_leg": 0.3, "lower_leg": 0.2, "foot": 0.3, "toes": 0.2, "upper_arm": 0.03, "lower_arm": 0.03, "hand": 0.05
}  # fmt: skip
"""What it costs to move the root (1/m²) and to turn each joint (1/rad²), by role without its side."""
OTHER_RIGIDITY = 0.3
"""And any other joint."""
OFF_HINGE = 30.0
"""How many times more it costs to turn a knee or an elbow otherwise than about its hinge."""
PENALTIES = (1e3, 1e4, 1e5)
"""Penalty of hard constraints, 1/m², as the search goes on."""
CAP = 300.0
"""Force (penalty times metres) up to which a multiplier of the lowest rank grows: what cannot be met gives up there."""
MOST_DAMPING = 1e8
SHORT = 3e-2
"""Radians and metres: a step shorter than this ends the search once everything is met."""
SETTLED = 1e-5
"""And one shorter than this ends it at once."""
NEAR_ENOUGH = 0.3
"""Share of the tolerance at which a constraint is met for the search."""


@dataclass(frozen=True)
class Spacetime:
    """Solves a problem over all frames at once."""

    spacing: float = 3.0
    """Frames of 1/30 s between two knots of the displacement."""
    smoothness: float = 0.15
    """Seconds over which a displacement spreads: how much its bending counts beside its size."""
    exact: bool = True
    """Whether what the splines leave is closed: by limbs in closed form where they can, else by finer knots."""
    window: range | None = None
    """Frames that may change; value, slope and curvature of the displacement are zero at its ends. None: all."""
    start: Motion | Method | None = None
    """Where the search begins: a motion, or a method that is run first. None: at the motion itself."""
    ik: Ik | None = None
    """What closes what splines leave, if it is a `Hybrid`; None: that for the problem's character, if it has roles."""
    iterations: int = 24
    """Steps at most for each spacing of knots."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """The motion nearest to the problem's own, its displacement smooth, that meets every hard constraint."""
        watch, motion = Stopwatch(problem), problem.motion
        span = self._span(problem)
        inside = np.zeros(len(motion), bool)
        inside[span.start : span.stop] = True
        across = any(isinstance(c, AcrossFrames) for c in problem.constraints)
        frames = np.arange(len(motion)) if across else np.arange(span.start, span.stop)
        if not len(frames) or not problem.constraints:
            return watch.finish("spacetime", motion)
        whole = len(frames) == len(motion)
        reference = Kinematics(motion if whole else motion[frames], frames)
        rows = Rows(reference, problem.constraints, inside[frames])
        if not len(rows.groups):
            return watch.finish("spacetime", motion)
        search = _Search(self, problem, rows, watch, progress)
        begun = self._begin(problem, progress)
        found = None if begun is None else (begun if whole else begun[frames]) - reference.motion
        spacing = self.spacing * motion.fps / PAPER_RATE
        closing = self._closing(problem) if self.exact else None
        solved = motion
        while True:
            knots = search.knots(spacing, span.start - int(frames[0]), len(span), self.window is not None)
            if knots.count:
                found, moved = search.run(knots, found)
                root, local = np.array(motion.root), np.array(motion.rotations)
                root[frames], local[frames] = moved.root, moved.rotations
                solved = motion.like(root, local, motion.offsets)
                watch.lap(f"{spacing:.3g} frames a knot", solved)
            if not self.exact or closing is not None or search.met or spacing <= 1.0:
                break
            spacing = max(0.5 * spacing, 1.0)
        places = rows.places + search.shifts[: len(rows.free)]
        notes = [
            f"{plant.title}: stands at ({', '.join(f'{value:.3f}' for value in place)}), where the whole clip puts it"
            for plant, place in zip(rows.free, places)
        ]
        reachable = search.progressing
        if closing is not None:
            settled = _settled(problem, rows.free, places)
            answer = closing.solve(replace(problem, motion=solved, constraints=settled))
            solved = answer.motion if self.window is None else _within(solved, answer.motion, span)
            watch.lap("exact", solved)
            reachable = False
        return watch.finish("spacetime", solved, reachable=reachable, notes=notes)

    def _span(self, problem: Problem) -> range:
        """The frames that may change."""
        count = len(problem.motion)
        if self.window is None:
            return range(count)
        if self.window.step != 1 or not 0 <= self.window.start <= self.window.stop <= count:
            raise ConstraintError(f"expected a window of frames in 0..{count}, got {self.window}")
        return self.window

    def _begin(self, problem: Problem, progress: Progress | None) -> Motion | None:
        """The motion that the search begins with, where one was given."""
        if self.start is None or isinstance(self.start, Motion):
            return self.start
        kinematics = Kinematics(problem.motion)
        kept = [
            c.settled(kinematics) if isinstance(c, Footplant) else c
            for c in problem.constraints
            if not isinstance(c, AcrossFrames)
        ]
        return self.start.solve(replace(problem, constraints=tuple(kept)), progress).motion

    def _closing(self, problem: Problem) -> Method | None:
        """A last pass that enforces by limbs alone what splines leave, where it honours everything."""
        ik = self.ik
        if ik is None and problem.character.roles is not None:
            ik = Hybrid(problem.character, rigidity=problem.rigidity)
        if not isinstance(ik, Hybrid):
            return None
        fixed = [replace(c, place=(0.0, 0.0, 0.0)) if _is_free(c) else c for c in problem.constraints]
        if any(ik.refuses(constraint) for constraint in fixed):
            return None
        return Hierarchical(ik, spacings=(), first_guess=False)

    @property
    def closing(self) -> Method | None:
        """The pass by limbs as a method of its own, for edits that change feet afterwards."""
        return Hierarchical(self.ik, spacings=(), first_guess=False) if self.exact else None


def _is_free(constraint: Constraint) -> bool:
    return isinstance(constraint, Footplant) and constraint.free


def _settled(problem: Problem, free: Sequence[Footplant], places: NDArray) -> tuple[Constraint, ...]:
    """The constraints with every plant of unknown place where the search has put it."""
    found = {id(plant): replace(plant, place=place) for plant, place in zip(free, places)}
    return tuple(found.get(id(c), c) for c in problem.constraints if id(c) in found or not _is_free(c))


def _within(before: Motion, after: Motion, span: range) -> Motion:
    """The one motion inside a window, the other one outside."""
    root, local = np.array(before.root), np.array(before.rotations)
    root[span.start : span.stop] = after.root[span.start : span.stop]
    local[span.start : span.stop] = after.rotations[span.start : span.stop]
    return before.like(root, local, before.offsets)


def costs(character: Character, rigidity: dict[str, float], groups: NDArray) -> NDArray:
    """(n, n) what displacements of groups of unknowns cost, per m² and rad²; knees and elbows like their hinges."""
    values = np.full(1 + len(character.skeleton), OTHER_RIGIDITY)
    values[0] = rigidity.get("place", ROLE_RIGIDITY["place"])
    roles = character.roles
    for role, joints in ({} if roles is None else roles.joints).items():
        bare = role.removeprefix("left_").removeprefix("right_")
        value = rigidity.get(role, rigidity.get(bare, ROLE_RIGIDITY.get(bare, OTHER_RIGIDITY)))
        values[[1 + joint for joint in joints]] = value
    squares = values[:, None, None] * np.eye(3)
    if roles is not None:
        pose = humanoid.reference_pose(character.skeleton, roles)
        for name in LIMBS:
            try:
                limb = limb_of(character, name)
            except SkeletonError:
                continue
            axis = rotation.rotate(rotation.inverse(pose[limb.lower]), limb.axis)
            across = np.eye(3) - np.outer(axis, axis)
            squares[1 + limb.lower] += (OFF_HINGE - 1.0) * values[1 + limb.lower] * across
    out = np.zeros((3 * len(groups), 3 * len(groups)))
    for number, group in enumerate(groups):
        out[3 * number : 3 * number + 3, 3 * number : 3 * number + 3] = squares[group]
    return out


@dataclass(eq=False)
class _Search:
    """The augmented Lagrangian of one problem, from knots to finer knots."""

    method: Spacetime
    problem: Problem
    rows: Rows
    watch: Stopwatch
    progress: Progress | None
    met: bool = field(default=False, init=False)
    """Whether every hard row was met when the last search ended."""
    progressing: bool = field(default=False, init=False)
    """Whether it might have come nearer with more steps."""

    def __post_init__(self) -> None:
        """Weigh the unknowns."""
        rows, problem = self.rows, self.problem
        self.change = costs(problem.character, dict(problem.rigidity), rows.groups)
        self.bend = self.change * self.method.smoothness**4
        usual = problem.tolerance * np.where(rows.scale < 1.0, 10.0, 1.0)
        self.limits = np.where(np.isnan(rows.tolerances), usual, rows.tolerances)
        self.shifts = np.zeros((max(len(rows.free), 1), 3))
        self.others = np.zeros(0)

    def knots(self, spacing: float, begin: int, count: int, fixed: bool) -> Knots:
        """Knots over `count` frames from row `begin` on; other rows read no control point."""
        inner = Knots.over(count, spacing, self.problem.motion.fps, fixed)
        rows = len(self.rows.reference.frames)
        if rows == count:
            return inner
        first, basis, bending = np.full(rows, -8), np.zeros((rows, 4)), np.zeros((rows, 4))
        part = slice(begin, begin + count)
        first[part], basis[part], bending[part] = inner.first, inner.basis, inner.bending
        return replace(inner, first=first, basis=basis, bending=bending)

    def run(self, knots: Knots, begun: NDArray | None) -> tuple[NDArray, Motion]:
        """Search from a displacement (F, 1+J, 3); return the one found, and the motion with it."""
        rows, fps = self.rows, self.problem.motion.fps
        system = System(knots, rows.border(knots), self.change, self.bend)
        if begun is None:
            control = np.zeros((knots.count, len(rows.columns)))
        else:
            control = knots.fitted(begun.reshape(len(begun), -1)[:, rows.columns])
        if len(self.others) != len(system.border):
            self.others = np.zeros(len(system.border))
        placed = self.others[: rows.variables.max() + 1].copy()
        others = np.zeros(len(system.border))
        others[: len(placed)] = placed
        look = rows.look(knots, control, others)
        multipliers = np.zeros(rows.count)
        stage, damping, idle, left = 0, 0.0, 0, np.inf
        for number in range(self.method.iterations):
            if self.progress:
                self.progress("spacetime", number / self.method.iterations)
            weights = self._weights(stage, fps)
            before = look
            control, others, look, damping = self._improve(system, control, others, look, weights, multipliers, damping)
            longest = float(np.abs(look.displacements - before.displacements).max(initial=0.0))
            multipliers = self._multiply(look, weights, multipliers)
            worst, now = self._left(look)
            logger.debug(
                "step %d: penalty %g, damping %.2g, worst %.3f tolerances, moved by %.2g",
                number, PENALTIES[stage], damping, worst, longest,
            )  # fmt: skip
            self.met = worst <= NEAR_ENOUGH
            if self.met and longest < SHORT:
                break
            if stage == len(PENALTIES) - 1:
                idle = idle + 1 if now > 0.8 * left or longest < SETTLED else 0
                left = min(left, now)
                if idle > 1:
                    break
            stage = min(stage + 1, len(PENALTIES) - 1)
        self.progressing = idle <= 1
        self.others, self.shifts = others, look.shifts
        out = np.zeros((len(look.displacements), 3 * (1 + len(rows.skeleton))))
        out[:, rows.columns] = look.displacements
        return out.reshape(len(out), -1, 3), look.kinematics.motion

    def _improve(
        self, system: System, control: NDArray, others: NDArray, look: Look, weights: NDArray, multipliers: NDArray,
        damping: float,
    ) -> tuple[NDArray, NDArray, Look, float]:  # fmt: skip
        """One Levenberg–Marquardt step: damped until it lowers the augmented Lagrangian."""
        rows, places = self.rows, int(self.rows.variables.max()) + 1
        value = system.value(control) + self._penalty(look, weights, multipliers)
        while damping <= MOST_DAMPING:
            step = self._step(system, control, look, weights, multipliers, damping)
            if step is not None and np.isfinite(step[0]).all():
                trial, moved = control + step[0], others.copy()
                moved[:places] += step[1][:places]
                ahead = rows.look(system.knots, trial, moved)
                reached = system.value(trial) + self._penalty(ahead, weights, multipliers)
                if reached <= value:
                    return trial, moved, ahead, 0.1 * damping if damping > 1e-3 else 0.0
            damping = max(8.0 * damping, 0.1)
        return control, others, look, damping

    def _weights(self, stage: int, fps: float) -> NDArray:
        rows = self.rows
        hard = PENALTIES[stage] * rows.rank
        return np.where(rows.hard, hard, rows.soft) * rows.scale**2 / fps

    def _shifted(self, look: Look, weights: NDArray, multipliers: NDArray) -> NDArray:
        """(R,) residuals shifted by their multipliers; one-sided ones that are fine are 0."""
        rows = self.rows
        shifted = look.residuals + np.divide(multipliers, weights, out=np.zeros_like(weights), where=weights > 0)
        return np.where(rows.one_sided, np.minimum(shifted, 0.0), shifted)

    def _penalty(self, look: Look, weights: NDArray, multipliers: NDArray) -> float:
        return 0.5 * float(np.sum(weights * self._shifted(look, weights, multipliers) ** 2))

    def _multiply(self, look: Look, weights: NDArray, multipliers: NDArray) -> NDArray:
        rows = self.rows
        cap = CAP * rows.rank * rows.scale / self.problem.motion.fps
        wanted = weights * self._shifted(look, weights, multipliers)
        return np.where(rows.hard, np.clip(wanted, -cap, cap), 0.0)

    def _step(self, system: System, control, look: Look, weights, multipliers, damping: float):
        shifted = self._shifted(look, weights, multipliers)
        heard = np.where(self.rows.one_sided & (shifted >= 0.0), 0.0, weights)
        system.start(control, damping)
        self.rows.assemble(system, look, shifted, heard)
        places = self.rows.variables[self.rows.variables >= 0]
        if len(places):
            lead = system.border.lead[places]
            system.var_corner[places, places - lead] += 1e-9 + damping * self.change[0, 0]
        return system.solve()

    def _left(self, look: Look) -> tuple[float, float]:
        """The largest error of a hard row, in shares of its tolerance, and how many rows are not met, by degrees."""
        rows = self.rows
        errors = np.abs(np.where(rows.one_sided, np.minimum(look.residuals, 0.0), look.residuals))
        shares = errors[rows.hard] / self.limits[rows.hard]
        return float(shares.max(initial=0.0)), float(np.minimum(shares[shares > NEAR_ENOUGH], 1.0).sum())
