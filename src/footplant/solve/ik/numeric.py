"""Numerical inverse kinematics for any tree and any mix of constraints: penalty method and Levenberg–Marquardt.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 5.1.
For each frame by itself the displacement x from the input pose minimises

    Σ rigidity·x² + Σ weight·penalty·residual(x)²

with growing penalties of the hard constraints. The paper uses conjugate gradients; with analytic Jacobians Gauss–Newton
steps converge faster. Pins (see `ik.pins`) and bounds (see `ik.bounds`) are compiled; every other kind, those of other
packages too, provides residuals and Jacobians at all frames that are still being solved.

Given `bounds`, all angles of a limb are unknowns: a hinge that bends, a shoulder and the rows of its end leave one
angle free, the paper's swivel (section 5.2), which the objective over all joints decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import AcrossFrames, Apart, ConeTwist, Constraint, Footplant, Hinge, JointLimits, Position
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import METRES_PER_RADIAN, IkSolution, require_joints, worst_error
from footplant.solve.ik.bounds import PoseBounds, no_bounds, rows_of
from footplant.solve.ik.pins import collect, eased_targets, is_pin
from footplant.solve.ik.settings import EDITING, NUMERIC
from footplant.solve.ik.threads import in_parts


@dataclass(frozen=True, eq=False)
class Numeric:
    """Solver for poses of any character: `Numeric().solve(motion, constraints)`."""

    rigidity: float = 1.0
    """Cost of rotating a joint, per rad²."""
    place: float = 0.1
    """Cost of translating the root, per m²."""
    joints: Mapping[int, float] = field(default_factory=dict)
    """Joint → its own rigidity; others keep `rigidity`."""
    bounds: PoseBounds | None = None
    """Joint limits, hinges and ground that every pose keeps, before all constraints; None: none."""
    gradual: bool = True
    """Whether penalties grow in stages; without, poses that nearly meet their constraints are solved faster."""
    iterations: int = 30
    """Largest number of steps in each stage."""
    tolerance: float = 1e-4
    """Metres up to which a hard constraint counts as reached."""
    threads: int = 1
    """Number of threads that share the frames; the result does not depend on it."""

    def restoring(self, held: Sequence[int] = ()) -> Numeric:
        """Return the IK that restores constraints by the limbs, and by the trunk only where they cannot.

        Splines move the trunk smoothly; what the limbs take up at one frame must not shake it. held: joints that stay
        as they are too.
        """
        trunk = set(held)
        if self.bounds is not None:
            trunk |= set(range(len(self.bounds.character.skeleton))) - self.bounds.limb_joints
        place = self.place if self.bounds is None else EDITING.held
        return replace(self, gradual=False, place=place, joints={**self.joints, **dict.fromkeys(trunk, EDITING.held)})

    def contradicted(
        self, motion: Motion, constraints: Sequence[Constraint], frames: NDArray, tolerance: float
    ) -> NDArray:
        """Return (F,) bool: the rows at which the bounds contradict constraints that could be met without them.

        The others are out of reach: no pose at all meets their constraints.
        """
        if self.bounds is None or not len(frames):
            return np.zeros(len(frames), bool)
        return replace(self, bounds=None).solve(motion, constraints, frames=frames).error <= tolerance

    def refuses(self, constraint: Constraint) -> str | None:
        """Return why it cannot honour a constraint; None when it can."""
        if isinstance(constraint, AcrossFrames):
            return "it couples frames, and each frame is solved by itself; use spacetime"
        if isinstance(constraint, Footplant) and constraint.free:
            return "its position is free; settle it first, or use spacetime"
        return None

    def solve(
        self,
        motion: Motion,
        constraints: Sequence[Constraint],
        *,
        frames: NDArray | None = None,
        start: Motion | None = None,
    ) -> IkSolution:
        """Return the poses nearest to the motion's own that meet the constraints; see `problem.Ik`."""
        require_joints(motion, constraints, start)
        motion.skeleton.require_joints(list(self.joints))
        first = Kinematics(motion, frames)
        pinned = [c for c in constraints if is_pin(c)]
        others = [c for c in constraints if not is_pin(c)]
        begun = first if start is None else Kinematics(start, frames)
        task = _Task(self, first, pinned, others, begun)
        root, rotations = np.array(begun.motion.root), np.array(begun.motion.rotations)
        in_parts(self.threads, len(motion), task.rows_at_once, lambda rows: task.solve(rows, root, rotations))
        found = self._without_pull(motion, motion.like(root, rotations, motion.offsets), constraints, first.frames)
        reached = worst_error(Kinematics(found, first.frames), constraints) <= self.tolerance
        return IkSolution(found, reached, first.frames, tuple(constraints))

    def _without_pull(
        self, motion: Motion, found: Motion, constraints: Sequence[Constraint], frames: NDArray
    ) -> Motion:
        """Return the poses found, without the pull of goals far out of reach on bounds and parts that stay apart.

        A penalty yields: a goal that is missed by 255 mm, below the ground, pulls a sole of thirty times its weight
        8.5 mm into it. Where it does, the goal is held where it came to.
        """
        kinematics, hopeless = Kinematics(found, frames), {}
        for constraint in constraints:
            if isinstance(constraint, Position) and is_pin(constraint) and constraint.hard:
                rows, share = constraint.active_rows(frames, motion.fps)
                part = kinematics[rows]
                off = part.point(constraint.point) - constraint.places(part)
                far = share * np.linalg.norm(off * constraint.axes, axis=1) > EDITING.hopeless
                if far.any():
                    hopeless[id(constraint)] = rows[far]
        if not hopeless:
            return found
        most = max(_rank(c) for c in constraints if id(c) in hopeless)
        above = [c for c in constraints if isinstance(c, Apart | Footplant) and c.hard and _rank(c) > most]
        apart, plants = ([c for c in above if isinstance(c, kind)] for kind in (Apart, Footplant))

        def pulled(where: Kinematics) -> NDArray:
            off = (worst_error(where, apart) > EDITING.pulled) | (worst_error(where, plants) > EDITING.plants_pulled)
            return off if self.bounds is None else off | self.bounds.broken(where)

        far = np.isin(np.arange(len(frames)), np.concatenate(list(hopeless.values())))
        rows = np.flatnonzero(far & pulled(kinematics))
        if not len(rows):
            return found
        part = kinematics[rows]
        for _ in range(EDITING.held_again):
            held = []
            for constraint in constraints:
                if isinstance(constraint, Position) and id(constraint) in hopeless:
                    at, _ = constraint.active_rows(part.frames, motion.fps)
                    reached, own = part.point(constraint.point)[at], tuple(part.frames[at].tolist())
                    constraint = constraint.like(target=reached, frames=own, ramp=(0.0, 0.0))
                held.append(constraint)
            again = replace(self, gradual=False).solve(motion[rows], held, frames=part.frames, start=part.motion)
            part = Kinematics(again.motion, part.frames)
            if not pulled(part).any():
                break
        root, rotations = np.array(found.root), np.array(found.rotations)
        root[rows], rotations[rows] = part.motion.root, part.motion.rotations
        return found.like(root, rotations, found.offsets)


@dataclass(frozen=True, eq=False)
class _Other:
    """A constraint that is not a pin, active at some rows."""

    constraint: Constraint
    activation: NDArray
    """(F,)"""
    level: int
    """Its column in the table of penalties."""
    wide: int
    """Number of residuals at a row."""
    slots: NDArray
    """(F,) where they begin among a row's residuals that do not belong to pins."""
    left_over: NDArray
    """(F, wide) the part of its residual at the reference pose that may remain while it ramps in."""


class _Task:
    """One call of `Numeric.solve`: all tables that stay the same from step to step."""

    def __init__(
        self,
        numeric: Numeric,
        reference: Kinematics,
        pinned: Sequence[Constraint],
        others: Sequence[Constraint],
        begun: Kinematics,
    ) -> None:
        self.numeric, self.motion, self.frames = numeric, reference.motion, reference.frames
        skeleton = self.motion.skeleton
        self.offsets = skeleton.offsets[None] if self.motion.offsets is None else self.motion.offsets
        penalties, level = _penalties([*pinned, *others], numeric.bounds is not None)
        self.penalties = penalties if numeric.gradual else penalties[-1:]
        gains = NUMERIC.gains if numeric.bounds is None else (*NUMERIC.gains[:-1], EDITING.gain)
        self.gains = np.array(gains if numeric.gradual else gains[-1:])
        self.bounds = no_bounds(len(self.frames)) if numeric.bounds is None else numeric.bounds.at(begun)
        pinned = self._gather_pins(reference, pinned, level)
        used = self._gather_chains(pinned)
        self.others, moved = self._inspect(others, reference, begun, level)
        self._choose_unknowns(used | moved)
        self.extra = np.zeros(len(self.frames), np.int64)
        for other in self.others:
            self.extra += other.wide * (other.activation > 0)
        self.of_bounds = 3 * len(self.bounds.joints) + 2 * len(self.bounds.hinges) + len(self.bounds.soles)
        widest = int((3 * np.diff(self.pins.starts) + self.of_bounds + self.extra).max(initial=1))
        wide = max(widest * len(self.columns), 1)
        most = max(min(NUMERIC.batch, NUMERIC.jacobian_budget // wide), 1)
        self.rows_at_once = most if self.others else max(len(self.frames), 1)

    def _gather_pins(
        self, reference: Kinematics, pinned: Sequence[Constraint], level: Callable[[Constraint], int]
    ) -> Sequence[Constraint]:
        """Collect the pins with shares, weights, levels and targets; return them, with those of the bounds."""
        bounds = self.numeric.bounds
        if bounds is None:
            self.pins = collect(reference, pinned)
            self.shares = np.array(self.pins.activations)
        else:
            self.pins, self.shares, pinned = bounds.pins_with_foot_goals(reference, pinned)
        weights = np.array([_weight(c) for c in pinned], float)[self.pins.sources]
        self.weights, self.targets = weights, eased_targets(self.pins, reference)
        self.levels = np.array([level(c) for c in pinned], np.int64)[self.pins.sources]
        if bounds is not None:
            goals = np.array([c.hard and not isinstance(c, Footplant) for c in pinned], bool)[self.pins.sources]
            self.shares = np.where(goals & (self.shares < 1.0), self._goal_ramps(), self.shares)
        return pinned

    def _gather_chains(self, pinned: Sequence[Constraint]) -> NDArray:
        """Number the chains of the pins, a row of groups each; return which groups (1+J,) move pins or bounds."""
        skeleton, bounds = self.motion.skeleton, self.numeric.bounds
        chains = {None: np.ones(1 + len(skeleton), bool)}
        chains |= {c.chain: _allowed(c.chain, len(skeleton)) for c in pinned if c.chain is not None}
        numbers = {chain: number for number, chain in enumerate(chains)}
        self.chains = np.stack(list(chains.values()))
        self.chain_of = np.array([numbers[c.chain] for c in pinned], np.int64)[self.pins.sources]
        used = np.zeros(1 + len(skeleton), bool)
        for joint, chain in set(zip(self.pins.joints.tolist(), self.chain_of.tolist())):
            path = np.zeros(1 + len(skeleton), bool)
            path[[0, *(1 + np.array(skeleton.chain(joint)))]] = True
            used |= path & self.chains[chain]
        for joint in () if bounds is None else bounds.moved_joints:
            used[[0, *(1 + np.array(skeleton.chain(joint)))]] = True
        return used

    def _choose_unknowns(self, used: NDArray) -> None:
        """Number the groups that may change: their columns of the Jacobian, and what changing them costs."""
        numeric = self.numeric
        self.groups = np.flatnonzero(used)
        self.group_of = np.full(len(used), -1)
        self.group_of[self.groups] = np.arange(len(self.groups))
        self.columns = (3 * self.groups[:, None] + np.arange(3)).ravel()
        costs = np.full(len(used), numeric.rigidity)
        costs[0] = numeric.place
        for joint, value in numeric.joints.items():
            costs[1 + joint] = value
        self.costs = np.repeat(costs[self.groups], 3)

    def _goal_ramps(self) -> NDArray:
        """Return the shares (N,) of a ramp at which pins have the weight of goals that ramp, in the last stage."""
        from footplant.solve.ik._numeric import FAINT

        full = self.penalties[-1, self.levels]
        return np.log(EDITING.goal_ramp / FAINT) / np.log(np.maximum(full, EDITING.goal_ramp) / FAINT)

    def _inspect(
        self,
        others: Sequence[Constraint],
        reference: Kinematics,
        begun: Kinematics,
        level: Callable[[Constraint], int],
    ) -> tuple[list[_Other], NDArray]:
        """Evaluate the constraints that are not pins once: active rows, number of residuals, unknowns involved."""
        count, fps = len(self.frames), self.motion.fps
        used, found = np.zeros(1 + len(self.motion.skeleton), bool), []
        slots = np.zeros(count, np.int64)
        for constraint in others:
            activation = constraint.activation(self.frames, fps)
            rows = np.flatnonzero(activation > 0)
            if not len(rows):
                continue
            some = rows[:: max(len(rows) // 64, 1)]
            jacobian = np.asarray(constraint.jacobian(begun[some]), float)
            residual = np.asarray(constraint.residual(reference[rows]), float)
            for where, values in ((rows, residual), (some, jacobian)):
                bad = np.flatnonzero(~np.isfinite(values.reshape(len(where), -1)).all(axis=1))
                if len(bad):
                    raise ConstraintError(
                        f"{constraint.title}: expected finite residuals and derivatives, got NaN or infinity at "
                        f"frame {self.frames[where[bad[0]]]}"
                    )
            moves = (np.abs(jacobian) > 0).any(axis=(0, 1)).reshape(-1, 3).any(axis=1)
            if constraint.chain is not None:
                moves &= _allowed(constraint.chain, len(self.motion.skeleton))
            used |= moves
            left_over = np.zeros((count, residual.shape[1]))
            left_over[rows] = (1.0 - activation[rows, None]) * (
                np.minimum(residual, 0.0) if constraint.inequality else residual
            )
            found.append(_Other(constraint, activation, level(constraint), residual.shape[1], slots.copy(), left_over))
            slots[rows] += residual.shape[1]
        return found, used

    def solve(self, rows: slice, root: NDArray, rotations: NDArray) -> None:
        """Solve some rows in place."""
        from footplant.solve.ik import _numeric as kernel

        unused = np.setdiff1d(np.arange(1 + len(self.motion.skeleton)), self.groups)
        if 0 in unused:
            root[rows] = self.motion.root[rows]
        turned = unused[unused > 0] - 1
        rotations[rows, turned] = self.motion.rotations[rows, turned]
        first, last = self.pins.starts[rows.start], self.pins.starts[rows.stop]
        pins = slice(first, last)
        starts = self.pins.starts[rows.start : rows.stop + 1] - first
        offsets = self.offsets if len(self.offsets) == 1 else self.offsets[rows]
        body = kernel.Body(self.motion.skeleton.parents, offsets, self.groups, self.group_of, self.costs)
        table = kernel.Pins(
            starts, self.pins.kinds[pins], self.pins.joints[pins], self.pins.offsets[pins], self.targets[pins],
            self.pins.axes[pins], self.chain_of[pins], self.chains,
        )  # fmt: skip
        schedule = kernel.Schedule(self.penalties, self.gains, self.numeric.iterations)
        reference = kernel.Pose(self.motion.root[rows], self.motion.rotations[rows])
        pose, bounds = kernel.Pose(root[rows], rotations[rows]), rows_of(self.bounds, rows)
        if not self.others:
            rounds = np.empty(rows.stop - rows.start, np.int64)
            terms = kernel.PinTerms(self.weights[pins], self.shares[pins], self.levels[pins], METRES_PER_RADIAN**2)
            kernel.solve_pins(body, table, bounds, terms, schedule, reference, pose, rounds)
            return
        self._solve_mixed(rows, body, table, bounds, pins, schedule, reference, pose)

    def _solve_mixed(self, rows: slice, body, table, bounds, pins: slice, schedule, reference, pose) -> None:
        """Iterate over all unfinished rows together, evaluating the other constraints between the compiled steps."""
        from footplant.solve.ik import _numeric as kernel

        root, rotations = pose
        starts, count, unknowns = table.starts, len(root), len(self.columns)
        counts = 3 * np.diff(starts) + self.of_bounds + self.extra[rows]
        widest = max(int(counts.max(initial=0)), 1)
        weights, shares = np.zeros((count, widest)), np.ones((count, widest))
        levels, one_sided = np.zeros((count, widest), np.int64), np.zeros((count, widest), bool)
        of_pin = np.repeat(np.arange(count), np.diff(starts))
        place = 3 * (np.arange(len(of_pin)) - starts[of_pin])
        for i in range(3):
            weights[of_pin, place + i], shares[of_pin, place + i] = self.weights[pins], self.shares[pins]
            levels[of_pin, place + i] = self.levels[pins]
        limits, hinges, level = 3 * len(bounds.joints), 2 * len(bounds.hinges), self.penalties.shape[1] - 2
        number = np.arange(self.of_bounds)
        is_hinge = (number >= limits) & (number < limits + hinges)
        own = np.arange(count)[:, None], 3 * np.diff(starts)[:, None] + number
        weights[own], shares[own] = np.where(number < limits, METRES_PER_RADIAN**2, 1.0), 1.0
        levels[own], one_sided[own] = np.where(is_hinge, level + 1, level), ~is_hinge
        for other in self.others:
            constraint, active = other.constraint, other.activation[rows]
            at = np.flatnonzero(active > 0)
            for i in range(other.wide):
                slot = 3 * np.diff(starts)[at] + self.of_bounds + other.slots[rows][at] + i
                weights[at, slot], shares[at, slot] = _weight(constraint), active[at]
                levels[at, slot] = other.level
                one_sided[at, slot] = constraint.inequality
        terms = kernel.RowTerms(weights, shares, levels, one_sided, counts)
        active, stages = np.zeros((count, widest), bool), np.zeros(count, np.int64)
        state = kernel.State(
            np.zeros((count, unknowns)), np.zeros((count, widest)), np.zeros((count, unknowns, widest)), active,
            stages, np.zeros(count, np.int64), np.zeros(count), np.full(count, 2.0), np.zeros(count), np.zeros(count),
        )  # fmt: skip
        trial = kernel.Pose(np.array(root), np.array(rotations))
        poses = kernel.Poses(reference, pose, trial)
        unfinished, first = np.arange(count), True
        while len(unfinished):
            others = self._evaluate(rows, unfinished, trial.root, trial.local, active[unfinished])
            measured = kernel.Measured(unfinished, *others)
            kernel.advance_rows(first, (body, table, bounds), terms, schedule, poses, measured, state)
            unfinished, first = unfinished[stages[unfinished] < len(self.penalties)], False

    def _evaluate(
        self, rows: slice, busy: NDArray, root: NDArray, rotations: NDArray, active: NDArray
    ) -> tuple[NDArray, NDArray]:
        """Return residuals (B, E) and Jacobians (B, E, n) of the constraints that are not pins, at trial poses."""
        numbers = rows.start + busy
        before = 3 * (self.pins.starts[numbers + 1] - self.pins.starts[numbers]) + self.of_bounds
        offsets = None if self.motion.offsets is None else self.motion.offsets[numbers]
        kinematics = Kinematics(self.motion.like(root[busy], rotations[busy], offsets), self.frames[numbers])
        widest = int(self.extra[numbers].max(initial=0))
        residuals, jacobians = np.zeros((len(busy), widest)), np.zeros((len(busy), widest, len(self.columns)))
        for other in self.others:
            at = np.flatnonzero(other.activation[numbers] > 0)
            if not len(at):
                continue
            part = kinematics if len(at) == len(busy) else kinematics[at]
            residual = np.asarray(other.constraint.residual(part), float) - other.left_over[numbers[at]]
            residuals[at[:, None], other.slots[numbers[at]][:, None] + np.arange(other.wide)] = residual
            if other.constraint.inequality:
                # satisfied inequalities do not enter the step, and derivatives are most of the work
                slots = (before + other.slots[numbers])[at][:, None] + np.arange(other.wide)
                needed = np.flatnonzero(((residual < 0) | active[at[:, None], slots]).any(axis=1))
                at, part = at[needed], part if len(needed) == len(at) else part[needed]
            if not len(at):
                continue
            jacobian = np.asarray(other.constraint.jacobian(part), float)[..., self.columns]
            if other.constraint.chain is not None:
                allowed = _allowed(other.constraint.chain, len(self.motion.skeleton))
                jacobian = jacobian * np.repeat(allowed[self.groups], 3)
            slots = other.slots[numbers[at]][:, None] + np.arange(other.wide)
            if len(at) == len(busy) and (slots == slots[0]).all():
                jacobians[:, slots[0, 0] : slots[0, -1] + 1] = jacobian
            else:
                jacobians[at[:, None], slots] = jacobian
        return residuals, jacobians


def _weight(constraint: Constraint) -> float:
    """Return a constraint's own weight, with radians converted to metres."""
    return constraint.weight * (METRES_PER_RADIAN**2 if constraint.unit == "rad" else 1.0)


def _allowed(chain: Sequence[int], joints: int) -> NDArray:
    """Return which groups of unknowns (1+J,) may change: joints of the chain; the root's position with joint 0."""
    allowed = np.zeros(1 + joints, bool)
    allowed[1 + np.asarray(chain, np.int64)] = True
    allowed[0] = allowed[1]
    return allowed


def _rank(constraint: Constraint) -> tuple[int, bool]:
    """Return the sort key of precedence: the priority, then joint limits and parts that stay apart before the rest."""
    return constraint.priority, isinstance(constraint, Apart | JointLimits | ConeTwist | Hinge)


def _penalties(constraints: Sequence[Constraint], bounded: bool) -> tuple[NDArray, Callable[[Constraint], int]]:
    """Return the penalty table (stages, levels) of hard and soft constraints, and a function for a constraint's level.

    Hard priorities count by their order, not by their numbers: where one cannot be met beside another, the error left
    to the higher one is negligible. The last two columns are those of bounds, above all constraints, and of hinges.
    """
    hard = sorted({_rank(c) for c in constraints if c.hard})
    soft = sorted({c.priority for c in constraints if not c.hard})
    step = min(1.0, NUMERIC.hard_priority_steps / max(len(hard) - 1, 1))
    ratios = [10.0 ** (power * step) for power in NUMERIC.hard_priority_powers]
    bases, ratios = (EDITING.penalties, EDITING.priority_ratios) if bounded else (NUMERIC.penalties, ratios)
    table = np.empty((len(bases), len(hard) + len(soft) + 2))
    for stage, (base, ratio) in enumerate(zip(bases, ratios)):
        table[stage, : len(hard)] = base * ratio ** np.arange(len(hard))
        table[stage, len(hard) : -2] = NUMERIC.soft_weight * NUMERIC.soft_priority_ratio ** np.clip(soft, -2.0, 2.0)
        table[stage, -2] = base * ratio ** len(hard)
    table[:, -1] = EDITING.off_hinge

    def level(constraint: Constraint) -> int:
        return hard.index(_rank(constraint)) if constraint.hard else len(hard) + soft.index(constraint.priority)

    return table, level
