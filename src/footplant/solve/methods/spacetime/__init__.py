"""Spacetime constraints: the whole clip as one problem, its displacement smooth, its constraints hard, plants found.

Gleicher, "Motion editing with spacetime constraints" (I3D 1997) and "Retargetting motion to new characters" (SIGGRAPH
1998), as compared in Gleicher, "Comparing constraint-based motion editing methods" (Graphical Models 2001), section 3.5
(METHODS C). Unknowns are the control points of cubic B-splines of the displacement, m = m0 ⊕ d, and the places of
plants that have none; hard constraints are met by an augmented Lagrangian whose steps are Levenberg–Marquardt's, each a
block-band system with a moving border (KERNELS, "Spacetime in O(n)").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import AcrossFrames, Constraint, Footplant
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import RADIAN, Ik, Method, Problem, Progress, Solution, Stopwatch, errors
from footplant.solve.closing import CLOSED, WhereUnmet, unmet_shares
from footplant.solve.displacement import PAPER_RATE
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods.spacetime.rows import Rows
from footplant.solve.methods.spacetime.search import Search

OUT_OF_REACH = 0.1
"""Metres that the search is off at least where it gave up: nothing is closed there by limbs."""
PATIENCE = (1, 4)
"""Steps in a row that may gain next to nothing, where limbs close what is left and where they do not. Bounds that are
broken and met again by turns make errors rise and fall on their way down."""
AROUND = 0.3
"""Seconds on either side of what limbs could not close that may change for it."""
LEAST_AROUND = 9
"""And frames, at the least: so many knots it takes to come and go without a jerk."""


@dataclass(frozen=True)
class Spacetime:
    """Solves a problem over all frames at once."""

    spacing: float = 1.5
    """Frames of 1/30 s between two knots of the displacement, and never less than `least`."""
    least: float = 2.0
    """Frames of the clip between two knots at the least; with 1 it can take out what a single frame has."""
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
        search = Search(self, problem, rows, progress)
        begun = self._begin(problem, progress)
        found = None if begun is None else (begun if whole else begun[frames]) - reference.motion
        spacing = max(self.spacing * motion.fps / PAPER_RATE, self.least)
        closing = self._closing(problem) if self.exact else None
        solved, gave_up = motion, False
        while True:
            knots = search.knots(spacing, span.start - int(frames[0]), len(span), self.window is not None)
            if knots.count:
                patience = PATIENCE[0 if closing else 1]
                found, moved = search.run(knots, found, patience)
                if search.give_up(moved):
                    gave_up = True
                    found, moved = search.run(knots, found, patience)
                root, local = np.array(motion.root), np.array(motion.rotations)
                root[frames], local[frames] = moved.root, moved.rotations
                solved = motion.like(root, local, motion.offsets)
                watch.lap(f"{spacing:.3g} frames a knot", solved)
            # what limbs close they close with a jerk: finer knots come first
            least, enough = (1.0, 0.0) if closing is None else (2.0, CLOSED)
            if not self.exact or search.met or search.worst <= enough or spacing <= least:
                break
            spacing = max(0.5 * spacing, least)
        places = rows.places + search.shifts[: len(rows.free)]
        notes = [
            f"{plant.title}: stands at ({', '.join(f'{value:.3f}' for value in place)}), where the whole clip puts it"
            for plant, place in zip(rows.free, places)
        ]
        reachable = search.progressing and not gave_up
        if closing is not None and search.worst > CLOSED:
            settled = _within_reach(_settled(problem, rows.free, places), Kinematics(solved))
            asked = replace(problem, motion=solved, constraints=settled)
            closed = closing.solve(asked).motion
            closed = self._finer(replace(asked, motion=closed), span)
            solved = closed if self.window is None else _within(solved, closed, span)
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

    def _finer(self, problem: Problem, span: range) -> Motion:
        """The problem's motion with a knot a frame around frames that limbs could not close, where that helps."""
        motion = problem.motion
        half = max(round(AROUND * motion.fps), LEAST_AROUND)
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
        """A last pass that enforces by limbs alone what splines leave, where it honours everything."""
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
    """Whether it is a soft relation across frames, which splines have honoured as far as they could."""
    return isinstance(constraint, AcrossFrames) and not constraint.hard


def _settled(problem: Problem, free: Sequence[Footplant], places: NDArray) -> tuple[Constraint, ...]:
    """The constraints with every plant of unknown place where the search has put it."""
    found = {id(plant): replace(plant, place=place) for plant, place in zip(free, places)}
    kept = [c for c in problem.constraints if not _is_wish(c)]
    return tuple(found.get(id(c), c) for c in kept if id(c) in found or not _is_free(c))


def _within_reach(constraints: Sequence[Constraint], kinematics: Kinematics) -> tuple[Constraint, ...]:
    """Those that the search has come near to: limbs that stretch for what is out of reach would tear off the rest."""
    kept = []
    for constraint in constraints:
        unit = RADIAN if constraint.unit == "rad" else 1.0
        if not constraint.hard or unit * errors(constraint, kinematics)[1].max(initial=0.0) <= OUT_OF_REACH:
            kept.append(constraint)
    return tuple(kept)


def _within(before: Motion, after: Motion, span: range) -> Motion:
    """The one motion inside a window, the other one outside."""
    root, local = np.array(before.root), np.array(before.rotations)
    root[span.start : span.stop] = after.root[span.start : span.stop]
    local[span.start : span.stop] = after.rotations[span.start : span.stop]
    return before.like(root, local, before.offsets)
