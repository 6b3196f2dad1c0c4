"""Numerical inverse kinematics for any tree and any mix of constraints: penalties and damped Gauss–Newton.

Lee & Shin, "A hierarchical approach to interactive motion editing for human-like figures" (SIGGRAPH 1999), section 5.1
(METHODS A5). They use conjugate gradients; with the constraints' analytic Jacobians Gauss–Newton is the better choice.
Many frames are solved at once, each by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import AcrossFrames, Constraint, Footplant
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import RADIAN, IkSolution, worst_error

PENALTIES = (1e2, 1e4, 1e6)
"""Weight of hard constraints, stage by stage, where turning a joint by a radian costs its rigidity."""
SOFT = 10.0
"""Weight of a soft constraint of weight 1, per m²."""
FAINT = 0.01
"""Weight of a constraint that is only just beginning to ease in."""
PRIORITY_STEP = 100.0
"""How many times more a constraint weighs than one of the next smaller priority."""
AT_ONCE = 128
"""Frames solved together: bounds the memory that the Jacobians take."""


@dataclass(frozen=True, eq=False)
class Numeric:
    """Poses any figure: `Numeric().solve(motion, constraints)`."""

    rigidity: float = 1.0
    """What it costs to turn a joint, per rad²."""
    place: float = 0.1
    """What it costs to move the root, per m²."""
    joints: Mapping[int, float] = field(default_factory=dict)
    """Joint → its own rigidity; others keep `rigidity`."""
    iterations: int = 30
    """Steps at most in each stage."""
    tolerance: float = 1e-4
    """Metres up to which a hard constraint counts as reached."""

    def refuses(self, constraint: Constraint) -> str | None:
        """Why it cannot honour a constraint; None when it can."""
        if isinstance(constraint, AcrossFrames):
            return "it ties frames together, and each is posed by itself; use spacetime"
        if isinstance(constraint, Footplant) and constraint.free:
            return "its place is free; settle it first, or use spacetime"
        return None

    def solve(
        self,
        motion: Motion,
        constraints: Sequence[Constraint],
        *,
        frames: NDArray | None = None,
        start: Motion | None = None,
    ) -> IkSolution:
        """The poses nearest to the motion's own that meet the constraints; see `problem.Ik`."""
        numbers = np.arange(len(motion)) if frames is None else np.asarray(frames, np.int64)
        start = motion if start is None else start
        grouped = merge(constraints)
        root, rotations = np.array(start.root), np.array(start.rotations)
        asked = [_ask(constraint, Kinematics(motion, numbers)) for constraint in grouped]
        for first in range(0, len(motion), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            solved = self._solve_rows(motion[rows], start[rows], [ask[rows] for ask in asked], numbers[rows])
            root[rows], rotations[rows] = solved.root, solved.rotations
        found = replace(motion, root=root, rotations=rotations)
        error = worst_error(Kinematics(found, numbers), grouped)
        return IkSolution(found, error, error <= self.tolerance)

    def _solve_rows(self, motion: Motion, start: Motion, asked: Sequence[_Asked], frames: NDArray) -> Motion:
        from footplant.kernels import dense

        skeleton = motion.skeleton
        active = [ask for ask in asked if len(ask.rows)]
        if not active:
            return start
        costs = np.full(3 + 3 * len(skeleton), self.rigidity)
        costs[:3] = self.place
        for joint, value in self.joints.items():
            costs[3 + 3 * joint : 6 + 3 * joint] = value
        # only what moves something that is asked for: every other displacement is 0 at the optimum
        columns = _moving(active, Kinematics(start, frames))
        costs = costs[columns]
        now = start
        for penalty in PENALTIES:
            damping = np.full(len(frames), 1e-4)
            matrix, vector, cost = self._assemble(motion, now, active, frames, columns, costs, penalty)
            busy = np.ones(len(frames), bool)
            for _ in range(self.iterations):
                step = np.zeros((len(frames), len(columns)))
                dense.solve_damped(matrix, vector, damping, step)
                step[~busy] = 0.0
                full = np.zeros((len(frames), 3 + 3 * len(skeleton)))
                full[:, columns] = step
                tried = now + full.reshape(len(frames), -1, 3)
                new_matrix, new_vector, new_cost = self._assemble(
                    motion, tried, active, frames, columns, costs, penalty
                )
                better = busy & (new_cost <= cost)
                keep = better[:, None]
                now = replace(
                    now,
                    root=np.where(keep, tried.root, now.root),
                    rotations=np.where(keep[..., None], tried.rotations, now.rotations),
                )
                settled = np.abs(step).max(axis=1) < 1e-7
                gained = cost - new_cost
                busy &= ~(settled | (better & (gained <= 1e-7 * cost)))
                matrix, vector = np.where(keep[..., None], new_matrix, matrix), np.where(keep, new_vector, vector)
                cost = np.where(better, new_cost, cost)
                damping = np.where(better, np.maximum(0.1 * damping, 1e-9), np.minimum(10.0 * damping + 1e-6, 1e9))
                if not busy.any():
                    break
        return now

    def _assemble(
        self,
        reference: Motion,
        pose: Motion,
        active: Sequence[_Asked],
        frames: NDArray,
        columns: NDArray,
        costs: NDArray,
        penalty: float,
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Normal equations (F, n, n), (F, n) of the objective at a pose, and its value (F,)."""
        count = len(frames)
        moved = (pose - reference).reshape(count, -1)[:, columns]
        matrix = np.zeros((count, len(columns), len(columns)))
        matrix[:, np.arange(len(columns)), np.arange(len(columns))] = costs
        vector = -costs * moved
        cost = np.sum(costs * moved**2, axis=1)
        kinematics = Kinematics(pose, frames)
        for ask in active:
            constraint, rows = ask.constraint, ask.rows
            part = kinematics[rows]
            residual, jacobian = ask.residual(part), constraint.jacobian(part)[..., columns]
            if constraint.chain is not None:
                jacobian = jacobian * _in_chain(constraint.chain, columns)
            if constraint.inequality:
                residual = np.minimum(residual, 0.0)
                jacobian = jacobian * (residual < 0)[..., None]
            # from next to nothing to its full weight as it eases in, by orders of magnitude: that is how weights count
            full = penalty if constraint.hard else SOFT
            weight = constraint.weight * FAINT * (full / FAINT) ** ask.share
            weight = weight * PRIORITY_STEP ** float(np.clip(constraint.priority, -2, 2))
            weight = weight * (RADIAN**2 if constraint.unit == "rad" else 1.0)
            weighted = jacobian * weight[:, None, None]
            matrix[rows] += np.einsum("fki,fkj->fij", weighted, jacobian, optimize=True)
            vector[rows] -= np.einsum("fki,fk->fi", weighted, residual)
            cost[rows] += weight * np.sum(residual**2, axis=1)
        return matrix, vector, cost


@dataclass(frozen=True, eq=False)
class _Asked:
    """A constraint at the rows where it is at work.

    One that eases in is met as hard as ever, but asks for its share of the way only; where it is all but gone it asks
    for no change at all, so that nothing jumps at either end of a ramp.
    """

    constraint: Constraint
    rows: NDArray
    """(n,) rows at which it is at work."""
    share: NDArray
    """(n,) how far it has eased in there, above 0, at most 1."""
    left_over: NDArray
    """(n, k) what of its residual may stay: all but the share eased in. Of a footplant, the place itself, (n, 3)."""

    def __getitem__(self, rows: slice) -> _Asked:
        inside = (self.rows >= rows.start) & (self.rows < rows.stop)
        return _Asked(self.constraint, self.rows[inside] - rows.start, self.share[inside], self.left_over[inside])

    def residual(self, part: Kinematics) -> NDArray:
        """(n, k) how far off what is asked for is, at the rows where it is at work."""
        if isinstance(self.constraint, Footplant):
            return part.point(self.constraint.point) - self.left_over
        return self.constraint.residual(part) - self.left_over


def _ask(constraint: Constraint, reference: Kinematics) -> _Asked:
    activation = constraint.activation(reference.frames, reference.motion.fps)
    rows = np.flatnonzero(activation > 0)
    share, part = activation[rows], reference[rows]
    if isinstance(constraint, Footplant):
        # beyond its frames a plant fades from where the point is, and not from where it stood
        return _Asked(
            constraint, rows, share, part.point(constraint.point) - share[:, None] * constraint.residual(part)
        )
    residual = constraint.residual(part)
    if constraint.inequality:
        residual = np.minimum(residual, 0.0)
    return _Asked(constraint, rows, share, (1.0 - share)[:, None] * residual)


def _in_chain(chain: Sequence[int], columns: NDArray) -> NDArray:
    """(n,) 1 for unknowns of joints that may turn, and for the root's place when joint 0 is among them."""
    joints = columns // 3 - 1
    return np.isin(np.where(joints < 0, 0, joints), chain).astype(float)


def _moving(active: Sequence[_Asked], kinematics: Kinematics) -> NDArray:
    """Columns of the displacement that any constraint depends on."""
    used = np.zeros(3 + 3 * len(kinematics.motion.skeleton), bool)
    for ask in active:
        used |= (np.abs(ask.constraint.jacobian(kinematics[ask.rows[:1]])) > 0).any(axis=(0, 1))
    # a joint that happens to point at the target has a column of zeros, and may need it a moment later
    whole = used.reshape(-1, 3).any(axis=1)
    return np.flatnonzero(np.repeat(whole, 3))


def merge(constraints: Sequence[Constraint]) -> list[Constraint]:
    """The same constraints, those on single frames of one point put together into one with a target per frame.

    Ten thousand dragged poses are then evaluated as one array.
    """
    from footplant.constraints import Follow, Position

    groups: dict[tuple, list[Position]] = {}
    out: list[Constraint] = []
    for constraint in constraints:
        lonely = (
            type(constraint) is Position
            and not isinstance(constraint.target, Follow)
            and constraint.frames is not None
            and len(constraint.frames) == 1
            and not any(constraint.ramp)
        )
        if not lonely:
            out.append(constraint)
            continue
        assert isinstance(constraint, Position)
        key = (
            constraint.point, constraint.axes, constraint.priority, constraint.weight, constraint.hard, constraint.chain
        )  # fmt: skip
        groups.setdefault(key, []).append(constraint)
    for group in groups.values():
        layers: list[dict[int, Position]] = []
        for constraint in group:
            frame = constraint.frames[0]  # type: ignore[index]
            # two targets for one point at one frame conflict: both are kept, one layer above the other
            layer = next((layer for layer in layers if frame not in layer), None)
            if layer is None:
                layers.append(layer := {})
            layer[frame] = constraint
        for layer in layers:
            frames = sorted(layer)
            targets = np.concatenate([np.asarray(layer[frame].target)[:1] for frame in frames])
            out.append(replace(group[0], frames=tuple(frames), target=targets, name=group[0].title))
    return out
