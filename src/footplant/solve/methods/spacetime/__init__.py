"""Spacetime constraints: one optimisation over all frames of a clip, with hard constraints and free footplants.

Gleicher, "Motion editing with spacetime constraints" (I3D 1997) and "Retargetting motion to new characters" (SIGGRAPH
1998), as compared in Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section
3.5: minimise the weighted displacement subject to the constraints at all frames. The paper solves by conjugate
gradients; here a direct band solver takes O(K). Beyond it: inequalities, couplings of distant frames, and strict
priorities.

Unknowns. The motion is m = m0 ⊕ d, with the displacement map d(t) a uniform cubic B-spline per degree of freedom (root
position and rotation vectors), K control points c of n numbers, and the positions p of footplants that have none (the
"don't care" footplants of 1998).

Objective (`search`, `band.System`; section 3.5). Minimise

    E(c) = ½ ∫ dᵀ·C·d + d′ᵀ·S·d′ + d″ᵀ·B·d″ dt

with C = diag(rigidity), by role (`SpacetimeSettings.role_rigidity`), × off_hinge across the hinges of knees and elbows;
S = sway²·C for the root's position, else 0; B = τ⁴·C with τ = `Spacetime.smoothness`, × trunk_slower for the root.

Rows (`rows`). Constraints give residuals r_i(m, p), radians scaled to metres by σ_i: positions, orientations and
footplants (point − target − shift of a free plant), inequalities r_i ≥ 0 (areas, heights, joint limits, speed and
acceleration limits), couplings of distant frames, and every other kind by its own residual and Jacobian.

Weights (`Rows._weigh`, `Search._weights`). With fps frames a second, w_i = σ_i²/fps times: ρ·rank_i for hard rows (ρ =
`penalties` in turn, rank_i growing by `hard_priority_ratio` per step of priority); soft_weight · weight ·
soft_priority_ratio^priority for soft rows; ramp_weight · weight · activation during ramps.

Augmented Lagrangian (`search`). With multipliers λ_i and s_i = r_i + λ_i/w_i (min(s_i, 0) for inequalities), minimise
E(c) + Σ w_i·h(s_i), h the Huber loss: ½s² up to `huber` metres, then linear. After short steps λ_i ← clip(w_i·s_i).
Each Levenberg–Marquardt step is a block-band system of 4n × n blocks with a moving border for p and the multipliers of
couplings (`_assembly`, `_factor`). What the splines leave is closed by limbs where they can, else by finer knots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import AcrossFrames, Constraint, Footplant
from footplant.constraints.plants import is_simple_plant, plants_of
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import METRES_PER_RADIAN, Ik, Method, Problem, Progress, Solution, Stopwatch, errors
from footplant.solve.closing import CLOSED, WhereUnmet, unmet_shares
from footplant.solve.displacement import PAPER_RATE
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods.spacetime.rows import Rows
from footplant.solve.methods.spacetime.search import Search
from footplant.solve.methods.spacetime.settings import SPACETIME


@dataclass(frozen=True)
class Spacetime:
    """Solver for a problem over all frames at once."""

    spacing: float = 1.5
    """Knot spacing of the displacement in frames of 1/30 s, never less than `least`."""
    least: float = 2.0
    """Least knot spacing in frames of the clip; with 1 it can remove the error of a single frame."""
    smoothness: float = 0.15
    """Seconds over which a displacement spreads (τ): weight of its second derivative relative to its size."""
    exact: bool = True
    """Whether the error left by the splines is closed: by limbs in closed form where they can, else by finer knots."""
    window: range | None = None
    """Frames that may change; value, slope and curvature of the displacement are zero at its ends. None: all."""
    start: Motion | Method | None = None
    """Where the search begins: a motion, or a method that is run first. None: the motion itself."""
    ik: Ik | None = None
    """Solver of the closing pass, if it is a `Hybrid`; None: one for the problem's character, if it has roles."""
    iterations: int = 24
    """Largest number of steps for each knot spacing."""

    def solve(self, problem: Problem, progress: Progress | None = None) -> Solution:
        """Return the motion nearest to the problem's own that meets every hard constraint by a smooth change."""
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
        search = Search(problem, rows, self.smoothness, self.iterations, progress)
        start = self._begin(problem, progress)
        found = None if start is None else (start if whole else start[frames]) - reference.motion
        closing = self._closing(problem) if self.exact else None
        solved, gave_up = self._refine(search, watch, frames, span, found, closing is not None)
        places = rows.places + search.shifts[: len(rows.free)]
        notes = [
            f"{plant.title}: placed at ({', '.join(f'{value:.3f}' for value in place)}) by the optimisation"
            for plant, place in zip(rows.free, places)
        ]
        reachable = search.progressing and not gave_up
        if closing is not None and search.worst > CLOSED:
            settled = _within_reach(_settled(problem, rows.free, places), Kinematics(solved))
            remaining = replace(problem, motion=solved, constraints=settled)
            closed = closing.solve(remaining).motion
            closed = self._finer(replace(remaining, motion=closed), span)
            solved = closed if self.window is None else _within(solved, closed, span)
            watch.lap("exact", solved)
            reachable = False
        return watch.finish("spacetime", solved, reachable=reachable, notes=notes)

    def _refine(
        self, search: Search, watch: Stopwatch, frames: NDArray, span: range, found: NDArray | None, closes: bool
    ) -> tuple[Motion, bool]:
        """Search with ever finer knots until the constraints are met; return the motion, and whether it gave any up.

        found: displacement to begin with. closes: whether a last pass closes what splines leave.
        """
        motion = watch.problem.motion
        spacing = max(self.spacing * motion.fps / PAPER_RATE, self.least)
        # closing by limbs adds jerk, so finer knots come first
        least, enough = (2.0, CLOSED) if closes else (1.0, 0.0)
        idle_steps = SPACETIME.idle_steps[0 if closes else 1]
        solved, gave_up = motion, False
        while True:
            knots = search.knots(spacing, span.start - int(frames[0]), len(span), self.window is not None)
            if knots.count:
                found, moved = search.run(knots, found, idle_steps)
                if search.give_up(moved):
                    gave_up = True
                    found, moved = search.run(knots, found, idle_steps)
                root, local = np.array(motion.root), np.array(motion.rotations)
                root[frames], local[frames] = moved.root, moved.rotations
                solved = motion.like(root, local, motion.offsets)
                watch.lap(f"{spacing:.3g} frames a knot", solved)
            if not self.exact or search.met or search.worst <= enough or spacing <= least:
                return solved, gave_up
            spacing = max(0.5 * spacing, least)

    def _span(self, problem: Problem) -> range:
        """Return the frames that may change."""
        count = len(problem.motion)
        if self.window is None:
            return range(count)
        if self.window.step != 1 or not 0 <= self.window.start <= self.window.stop <= count:
            raise ConstraintError(f"expected a window of frames in 0..{count}, got {self.window}")
        return self.window

    def _begin(self, problem: Problem, progress: Progress | None) -> Motion | None:
        """Return the motion that the search starts from, if one was given."""
        if self.start is None or isinstance(self.start, Motion):
            return self.start
        kinematics = Kinematics(problem.motion)
        kept = [
            c.settled(kinematics) if isinstance(c, Footplant) else c
            for c in problem.constraints
            if not isinstance(c, AcrossFrames)
        ]
        return self.start.solve(replace(problem, constraints=tuple(kept)), progress).motion

    def _finer(self, problem: Problem, span: range) -> Motion:
        """Return the problem's motion, solved with a knot per frame around frames that limbs could not close.

        A stretch keeps its motion where that does not reduce the error.
        """
        motion = problem.motion
        half = max(round(SPACETIME.around * motion.fps), SPACETIME.least_around)
        shares = unmet_shares(problem, Kinematics(motion))
        unmet = np.flatnonzero(shares > 1.0)
        for part in np.split(unmet, np.flatnonzero(np.diff(unmet) > half) + 1) if len(unmet) else []:
            window = range(max(int(part[0]) - half, span.start), min(int(part[-1]) + half + 1, span.stop))
            method = replace(self, spacing=0.0, least=1.0, exact=False, window=window, start=None)
            found = method.solve(problem.on(motion)).motion
            own = slice(window.start, window.stop)
            if unmet_shares(problem, Kinematics(found))[own].max() < shares[own].max():
                motion = found
        return motion

    def _closing(self, problem: Problem) -> Method | None:
        """Return a last pass that closes the remaining errors by limbs alone, if it can honour every constraint."""
        ik = self.ik
        if ik is None and problem.character.roles is not None:
            ik = Hybrid(problem.character, rigidity=problem.rigidity)
        if not isinstance(ik, Hybrid):
            return None
        fixed = [replace(c, place=(0.0, 0.0, 0.0)) if _is_free(c) else c for c in problem.constraints]
        if any(ik.refuses(constraint) for constraint in fixed if not _is_wish(constraint)):
            return None
        return WhereUnmet(ik)


def _is_free(constraint: Constraint) -> bool:
    return isinstance(constraint, Footplant) and constraint.free


def _is_wish(constraint: Constraint) -> bool:
    """Return whether a constraint is a soft coupling of frames, which the splines have honoured as they could."""
    return isinstance(constraint, AcrossFrames) and not constraint.hard


def _settled(problem: Problem, free: Sequence[Footplant], places: NDArray) -> tuple[Constraint, ...]:
    """Return the constraints with every free footplant at the position that the search found."""
    found = {id(plant): replace(plant, place=place) for plant, place in zip(free, places)}
    kept = [c for c in problem.constraints if not _is_wish(c)]
    return tuple(found.get(id(c), c) for c in kept if id(c) in found or not _is_free(c))


def _within_reach(constraints: Sequence[Constraint], kinematics: Kinematics) -> tuple[Constraint, ...]:
    """Return the constraints that the search came near to.

    Limbs that stretch for unreachable targets would pull the others off theirs.
    """
    simple = tuple(c for c in constraints if is_simple_plant(c))
    held = plants_of(simple).over(kinematics.frames, kinematics.motion.fps).held  # type: ignore[arg-type]
    worst = np.zeros(len(simple))
    np.maximum.at(worst, held.which, held.errors(kinematics))
    plants, kept = iter(worst.tolist()), []
    for constraint in constraints:
        unit = METRES_PER_RADIAN if constraint.unit == "rad" else 1.0
        if is_simple_plant(constraint):
            off = next(plants)
        else:
            off = unit * errors(constraint, kinematics)[1].max(initial=0.0) if constraint.hard else 0.0
        if not constraint.hard or off <= SPACETIME.out_of_reach:
            kept.append(constraint)
    return tuple(kept)


def _within(before: Motion, after: Motion, span: range) -> Motion:
    """Return a motion that equals `after` inside a window and `before` outside."""
    root, local = np.array(before.root), np.array(before.rotations)
    root[span.start : span.stop] = after.root[span.start : span.stop]
    local[span.start : span.stop] = after.rotations[span.start : span.stop]
    return before.like(root, local, before.offsets)
