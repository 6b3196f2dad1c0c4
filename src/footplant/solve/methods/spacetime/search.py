"""The search of spacetime constraints: an augmented Lagrangian with Levenberg–Marquardt steps."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.errors import SkeletonError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Problem, Progress
from footplant.skeleton import Character
from footplant.solve.ik.limb import LIMBS, limb_of
from footplant.solve.methods.spacetime.band import Knots, System
from footplant.solve.methods.spacetime.parts import Evaluation
from footplant.solve.methods.spacetime.rows import Rows
from footplant.solve.methods.spacetime.settings import SPACETIME

logger = logging.getLogger(__name__)


def costs(character: Character, rigidity: Mapping[str, float], groups: NDArray) -> NDArray:
    """Return the cost matrix C (n, n) of displacements of groups of unknowns, per m² and rad²; see `off_hinge`."""
    usual, other = SPACETIME.role_rigidity, SPACETIME.other_rigidity
    values = np.full(1 + len(character.skeleton), other)
    values[0] = rigidity.get("place", usual["place"])
    roles = character.roles
    for role, joints in ({} if roles is None else roles.joints).items():
        bare = role.removeprefix("left_").removeprefix("right_")
        value = rigidity.get(role, rigidity.get(bare, usual.get(bare, other)))
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
            squares[1 + limb.lower] += (SPACETIME.off_hinge - 1.0) * values[1 + limb.lower] * across
    out = np.zeros((3 * len(groups), 3 * len(groups)))
    for number, group in enumerate(groups):
        out[3 * number : 3 * number + 3, 3 * number : 3 * number + 3] = squares[group]
    return out


@dataclass(eq=False)
class Search:
    """The augmented Lagrangian of one problem, from coarse to fine knots."""

    problem: Problem
    rows: Rows
    smoothness: float
    """τ, see `Spacetime.smoothness`."""
    iterations: int
    """Largest number of steps for each knot spacing."""
    progress: Progress | None = None
    met: bool = field(default=False, init=False)
    """Whether every hard row was met when the last search ended."""
    worst: float = field(default=0.0, init=False)
    """The largest error of a hard row then, relative to its tolerance."""
    progressing: bool = field(default=False, init=False)
    """Whether more steps might have brought it nearer."""

    def __post_init__(self) -> None:
        """Compute the cost matrices and tolerances."""
        rows, problem = self.rows, self.problem
        self.change = costs(problem.character, problem.rigidity, rows.groups)
        slow = np.repeat(np.where(rows.groups <= 1, SPACETIME.trunk_slower, 1.0), 3)
        self.speed = np.diag(np.repeat(rows.groups == 0, 3) * SPACETIME.sway**2) * self.change
        self.bend = self.change * (slow * self.smoothness) ** 4
        usual = problem.tolerance * np.where(rows.scale < 1.0, 10.0, 1.0)
        # footplants with a larger tolerance are brought as near as others
        given = np.where(rows.one_sided, rows.tolerances, np.fmin(rows.tolerances, usual))
        self.limits = np.where(np.isnan(rows.tolerances), usual, given)
        self.far = np.where(rows.hard, SPACETIME.huber / rows.scale, np.inf)
        self.shifts = np.zeros((max(len(rows.free), 1), 3))
        self.others = np.zeros(0)

    def knots(self, spacing: float, begin: int, count: int, fixed: bool) -> Knots:
        """Return knots over `count` frames from row `begin` on; other rows read no control point."""
        inner = Knots.over(count, spacing, self.problem.motion.fps, fixed)
        rows = len(self.rows.reference.frames)
        if rows == count:
            return inner
        first, weights = np.full(rows, -8), np.zeros((3, rows, 4))
        part = slice(begin, begin + count)
        first[part], weights[:, part] = inner.first, (inner.basis, inner.speeding, inner.bending)
        return replace(inner, first=first, basis=weights[0], speeding=weights[1], bending=weights[2])

    def run(self, knots: Knots, start: NDArray | None, idle_steps: int) -> tuple[NDArray, Motion]:
        """Search from a displacement (F, 1+J, 3); return the displacement found, and the motion with it.

        idle_steps: how many consecutive steps may gain little.
        """
        rows, fps = self.rows, self.problem.motion.fps
        system = System(knots, rows.border(knots), self.change, self.speed, self.bend)
        if start is None:
            control = np.zeros((knots.count, len(rows.columns)))
        else:
            control = knots.fitted(start.reshape(len(start), -1)[:, rows.columns])
        others = self.others if len(self.others) else np.zeros(int(rows.variables.max()) + 1)
        at = rows.evaluate(knots, control, others)
        multipliers, penalties = np.zeros(rows.count), SPACETIME.penalties
        stage, damping, idle, left, held, polished = 0, 0.0, 0, np.inf, 0, False
        for number in range(self.iterations):
            if self.progress:
                self.progress("spacetime", number / self.iterations)
            weights = self._weights(stage, fps)
            before = at
            control, others, at, damping = self._improve(system, control, others, at, weights, multipliers, damping)
            longest = float(np.abs(at.displacements - before.displacements).max(initial=0.0))
            converging = longest < SPACETIME.update_step
            if converging:
                multipliers = self._multiply(at, weights, multipliers)
            self.worst, now = self._left(at)
            logger.debug(
                "step %d: penalty %g, damping %.2g, worst %.3f tolerances, moved by %.2g",
                number, penalties[stage], damping, self.worst, longest,
            )  # fmt: skip
            self.met = self.worst <= SPACETIME.met_share
            if self.met and longest < SPACETIME.short_step:
                if polished:
                    break
                # one more step is cheap and halves the error
                polished = True
            if stage == len(penalties) - 1 and converging:
                idle = idle + 1 if now > 0.8 * left or longest < SPACETIME.least_step else 0
                left = min(left, now)
                if idle > idle_steps:
                    break
            held = held + 1
            if converging or held > 3:
                stage, held = min(stage + 1, len(penalties) - 1), 0
        self.progressing = idle <= idle_steps
        self.others, self.shifts = others, at.shifts
        out = np.zeros((len(at.displacements), 3 * (1 + len(rows.skeleton))))
        out[:, rows.columns] = at.displacements
        return out.reshape(len(out), -1, 3), at.kinematics.motion

    def _improve(
        self, system: System, control: NDArray, others: NDArray, at: Evaluation, weights: NDArray, multipliers: NDArray,
        damping: float,
    ) -> tuple[NDArray, NDArray, Evaluation, float]:  # fmt: skip
        """Take one Levenberg–Marquardt step: increase the damping until it lowers the augmented Lagrangian."""
        rows, places = self.rows, len(others)
        value = system.value(control) + self._penalty(at, weights, multipliers)
        first: tuple[NDArray, NDArray] | None = None

        def tried(step: tuple[NDArray, NDArray], share: float) -> tuple[NDArray, NDArray, Evaluation] | None:
            trial, moved = control + share * step[0], others + share * step[1][:places]
            ahead = rows.evaluate(system.knots, trial, moved)
            reached = system.value(trial) + self._penalty(ahead, weights, multipliers)
            return (trial, moved, ahead) if reached <= value else None

        self._assemble(system, control, at, weights, multipliers)
        while damping <= SPACETIME.most_damping:
            step = system.solve(damping, places)
            if step is not None and np.isfinite(step[0]).all():
                first = step if first is None else first
                found = tried(step, 1.0)
                if found is not None:
                    return *found, 0.1 * damping if damping > 1e-3 else 0.0
            damping = max(8.0 * damping, 0.1)
        # inequalities that the step would violate were not part of it: a shorter step does not violate them yet
        for share in SPACETIME.step_shares:
            found = None if first is None else tried(first, share)
            if found is not None:
                return *found, 0.0
        return control, others, at, damping

    def _weights(self, stage: int, fps: float) -> NDArray:
        rows = self.rows
        hard = SPACETIME.penalties[stage] * rows.rank
        return np.where(rows.hard, hard, rows.soft) * rows.scale**2 / fps

    def _shifted(self, at: Evaluation, weights: NDArray, multipliers: NDArray) -> NDArray:
        """Return the residuals (R,) shifted by their multipliers; satisfied inequalities are 0."""
        rows = self.rows
        shifted = at.residuals + np.divide(multipliers, weights, out=np.zeros_like(weights), where=weights > 0)
        return np.where(rows.one_sided, np.minimum(shifted, 0.0), shifted)

    def _penalty(self, at: Evaluation, weights: NDArray, multipliers: NDArray) -> float:
        size = np.abs(self._shifted(at, weights, multipliers))
        # Huber loss: ½s² up to `far`, then far·(|s| − ½far)
        near = np.minimum(size, self.far)
        return float(np.sum(weights * near * (size - 0.5 * near)))

    def _multiply(self, at: Evaluation, weights: NDArray, multipliers: NDArray) -> NDArray:
        rows = self.rows
        cap = SPACETIME.multiplier_cap * rows.rank * rows.scale / self.problem.motion.fps
        wanted = weights * self._shifted(at, weights, multipliers)
        return np.where(rows.hard, np.clip(wanted, -cap, cap), 0.0)

    def _active_weights(self, shifted: NDArray, weights: NDArray) -> NDArray:
        """Return the weights (R,) of rows in a step: 0 for satisfied inequalities, reduced beyond the Huber limit."""
        size = np.abs(shifted)
        active = np.where(self.rows.one_sided & (shifted >= 0.0), 0.0, weights)
        return active * np.where(size > self.far, self.far / np.maximum(size, 1e-12), 1.0)

    def _assemble(self, system: System, control, at: Evaluation, weights, multipliers) -> None:
        """Assemble the undamped normal equations of a step."""
        shifted = self._shifted(at, weights, multipliers)
        active = self._active_weights(shifted, weights)
        if self.rows.ties:
            # few of many limits are violated at a time, and only those need a border variable
            system.surround(self.rows.border(system.knots, active))
        system.start(control)
        self.rows.assemble(system, at, shifted, active)
        places = self.rows.variables[self.rows.variables >= 0]
        if len(places):
            system.var_corner[places, places - system.border.lead[places]] += 1e-9

    def give_up(self, motion: Motion) -> bool:
        """Turn hard rows of the lowest rank with large errors into soft ones; return whether there were any.

        Unreachable constraints would otherwise pull the reachable ones off their targets.
        """
        rows = self.rows
        kinematics = Kinematics(motion, rows.reference.frames)
        at = rows.residuals_at(kinematics, self.shifts, kinematics.points(rows.points))
        size = rows.scale * np.abs(np.where(rows.one_sided, np.minimum(at, 0.0), at))
        hopeless = rows.hard & (size > SPACETIME.huber) & (rows.rank <= rows.rank[rows.hard].min(initial=np.inf))
        rows.hard[hopeless], rows.soft[hopeless] = False, SPACETIME.given_up_weight
        return bool(hopeless.any())

    def _left(self, at: Evaluation) -> tuple[float, float]:
        """Return the largest error of a hard row relative to its tolerance, and a soft count of unmet rows."""
        rows = self.rows
        errors = np.abs(np.where(rows.one_sided, np.minimum(at.residuals, 0.0), at.residuals))
        pins = errors[: 3 * len(rows.pins)].reshape(-1, 3)
        # the distance of a point from its target is what counts, not the error along each axis
        pins[:] = np.linalg.norm(pins, axis=1, keepdims=True)
        shares = errors[rows.hard] / self.limits[rows.hard]
        unmet = np.minimum(shares[shares > SPACETIME.met_share], 1.0).sum()
        return float(shares.max(initial=0.0)), float(unmet)
