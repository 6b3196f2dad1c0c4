"""Constraints of a spacetime problem as residual rows with derivatives.

Positions, orientations and footplants are compiled (`_rows`), and so are the derivatives of functions of one point
(height above a ground, signed distance of an area). Every other kind, those of other packages too, provides its own
residual and Jacobian.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Above, AcrossFrames, Constraint, Footplant
from footplant.contacts.ground import normal_of
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.problem import METRES_PER_RADIAN
from footplant.skeleton import Point
from footplant.solve.ik.pins import collect, eased_targets, is_pin
from footplant.solve.methods.spacetime.band import Border, Knots, System
from footplant.solve.methods.spacetime.parts import (
    Evaluation,
    Other,
    Tie,
    canonical,
    heights_of,
    is_found,
    only,
    point_of,
)
from footplant.solve.methods.spacetime.settings import SPACETIME


class Rows:
    """All rows of a problem over a stretch of a clip."""

    def __init__(self, kinematics: Kinematics, constraints: Sequence[Constraint], inside: NDArray) -> None:
        """Gather the rows at the frames that are `inside` (F, bool); kinematics: of the reference motion."""
        self.reference, self.inside = kinematics, inside
        motion = kinematics.motion
        self.skeleton, self.offsets = motion.skeleton, motion.offsets
        ordered = canonical(constraints)
        pinned = self._gather_pins(ordered)
        used = self._gather_chains(pinned)
        self.others, self.ties = [], []
        self.points: list[Point] = []
        """Points of heights, areas and limits."""
        self.count = 3 * len(self.pins)
        for constraint in ordered:
            if isinstance(constraint, AcrossFrames):
                used |= self._tie(constraint)
            elif not is_pin(constraint) and not is_found(constraint):
                used |= self._other(constraint)
        self.groups = np.flatnonzero(used)
        self.group_of = np.full(1 + len(self.skeleton), -1)
        self.group_of[self.groups] = np.arange(len(self.groups))
        self.columns = (3 * self.groups[:, None] + np.arange(3)).ravel()
        self._weigh(pinned, ordered)
        self.heights = heights_of(self.others, kinematics.points(self.points), kinematics.frames)

    def _gather_pins(self, ordered: Sequence[Constraint]) -> list[Constraint]:
        """Collect the pins with their targets and, of footplants without a place, their owners; return them."""
        kinematics = self.reference
        self.free = [c for c in ordered if isinstance(c, Footplant) and is_found(c) and self._is_held(c)]
        settled = {id(c): c.settled(kinematics) for c in self.free}
        pinned = [c for c in ordered if is_pin(c) or id(c) in settled]
        self.places = np.array([settled[id(c)].place for c in self.free], float).reshape(-1, 3)
        self.pins = only(collect(kinematics, [settled.get(id(c), c) for c in pinned]), self.inside)
        self.targets = eased_targets(self.pins, kinematics)
        of_plant = np.array([isinstance(c, Footplant) for c in pinned], bool)[self.pins.sources]
        # a foot that leaves a plant continues from there, and smoothness leads it to the next one; a hand returns
        self.targets[of_plant] = self.pins.targets[of_plant]
        number = {id(c): k for k, c in enumerate(self.free)}
        owner_of = np.array([number.get(id(c), -1) for c in pinned], np.int64)
        self.owners = owner_of[self.pins.sources] if len(self.pins) else np.zeros(0, np.int64)
        self.pin_rows = np.repeat(np.arange(len(self.inside)), np.diff(self.pins.starts))
        return pinned

    def _gather_chains(self, pinned: Sequence[Constraint]) -> NDArray:
        """Number the chains of the pins, a row of groups each; return which groups (1+J,) move any pin."""
        masks = {None: np.ones(1 + len(self.skeleton), bool)}
        masks |= {c.chain: self._allowed(c) for c in pinned if c.chain is not None}
        numbers = {chain: k for k, chain in enumerate(masks)}
        self.chains = np.stack(list(masks.values()))
        chain_of = np.array([numbers[c.chain] for c in pinned], np.int64)
        self.chain_of = chain_of[self.pins.sources] if len(self.pins) else np.zeros(0, np.int64)
        used = np.zeros(1 + len(self.skeleton), bool)
        for joint, chain in set(zip(self.pins.joints.tolist(), self.chain_of.tolist())):
            used |= self._path(joint) & self.chains[chain]
        return used

    def _is_held(self, constraint: Constraint) -> bool:
        rows, active = constraint.active_rows(self.reference.frames, self.reference.motion.fps)
        return bool(((active >= 1.0) & self.inside[rows]).any())

    def _allowed(self, constraint: Constraint) -> NDArray:
        """Return the groups (1+J,) that may change: joints of the chain; the root's position with joint 0."""
        allowed = np.ones(1 + len(self.skeleton), bool)
        if constraint.chain is not None:
            allowed[:] = False
            allowed[1 + np.asarray(constraint.chain, np.int64)] = True
            allowed[0] = allowed[1]
        return allowed

    def _path(self, joint: int) -> NDArray:
        path = np.zeros(1 + len(self.skeleton), bool)
        path[[0, *(1 + np.array(self.skeleton.chain(joint)))]] = True
        return path

    def _moves(self, constraint: Constraint, jacobian: NDArray) -> NDArray:
        if not np.isfinite(jacobian).all():
            raise ConstraintError(f"{constraint.title}: expected finite derivatives, got NaN or infinity")
        moved = (np.abs(jacobian) > 0).any(axis=tuple(range(jacobian.ndim - 1))).reshape(-1, 3).any(axis=1)
        return moved & self._allowed(constraint)

    def _other(self, constraint: Constraint) -> NDArray:
        """Add a constraint that is not a pin; return which groups move it."""
        kinematics = self.reference
        rows, share = constraint.active_rows(kinematics.frames, kinematics.motion.fps)
        rows, share = rows[self.inside[rows]], share[self.inside[rows], None]
        if not len(rows):
            return np.zeros(1 + len(self.skeleton), bool)
        part = kinematics[rows]
        residual = np.asarray(constraint.residual(part), float)
        if not np.isfinite(residual).all():
            bad = rows[np.flatnonzero(~np.isfinite(residual).all(axis=1))[0]]
            raise ConstraintError(
                f"{constraint.title}: expected finite residuals, got NaN or infinity at frame {kinematics.frames[bad]}"
            )
        left = (1.0 - share) * (np.minimum(residual, 0.0) if constraint.inequality else residual)
        allowed = self._allowed(constraint)
        other = Other(constraint, rows, residual.shape[1], left, self.count, allowed, point_of(constraint, self.points))
        self.others.append(other)
        self.count += residual.size
        if other.of_point:
            return self._path(constraint.point.joint) & allowed  # type: ignore[attr-defined]
        some = kinematics[rows[:: max(len(rows) // 64, 1)]]
        return self._moves(constraint, np.asarray(constraint.jacobian(some), float))

    def _tie(self, constraint: AcrossFrames) -> NDArray:
        """Add a coupling of frames; return which groups move it."""
        groups = np.asarray(constraint.groups(len(self.reference.frames)), np.int64)
        if not len(groups):
            return np.zeros(1 + len(self.skeleton), bool)
        residual = np.asarray(constraint.residual(self.reference), float)
        if not np.isfinite(residual).all():
            raise ConstraintError(f"{constraint.title}: expected finite residuals, got NaN or infinity")
        wide, allowed = residual.shape[1], self._allowed(constraint)
        tie = Tie(constraint, groups, wide, self.count, allowed, point_of(constraint, self.points))
        self.ties.append(tie)
        self.count += residual.size
        if tie.of_point:
            point: Point = constraint.point  # type: ignore[attr-defined]
            path = self._path(point.joint) & tie.allowed
            # rotating a joint does not move its own origin
            path[1 + point.joint] &= any(point.offset)
            return path
        return self._moves(constraint, np.asarray(constraint.jacobian(self.reference), float))

    def _weigh(self, pinned: Sequence[Constraint], ordered: Sequence[Constraint]) -> None:
        """Set the weights of all rows: soft weights, ranks of hard ones, which are one-sided, units and tolerances."""
        ranks = sorted({c.priority for c in ordered if c.hard})
        step = min(SPACETIME.hard_priority_ratio, SPACETIME.hard_priority_span ** (1.0 / max(len(ranks) - 1, 1)))
        self.soft, self.hard = np.zeros(self.count), np.zeros(self.count, bool)
        self.rank, self.one_sided = np.ones(self.count), np.zeros(self.count, bool)
        self.scale = np.ones(self.count)
        """(R,) σ: metres per unit of each residual."""
        self.tolerances = np.zeros(self.count)

        def set_rows(constraint: Constraint, rows: NDArray | slice, share: NDArray | float) -> None:
            unit = METRES_PER_RADIAN if constraint.unit == "rad" else 1.0
            share = np.broadcast_to(share, self.scale[rows].shape)
            self.scale[rows], self.one_sided[rows] = unit, constraint.inequality
            full = share >= 1.0
            if constraint.hard:
                self.hard[rows] = full
                self.rank[rows] = step ** ranks.index(constraint.priority)
                self.soft[rows] = SPACETIME.ramp_weight * constraint.weight * share
            else:
                priority = float(np.clip(constraint.priority, -2, 2))
                weight = SPACETIME.soft_weight * constraint.weight * SPACETIME.soft_priority_ratio**priority
                self.soft[rows] = weight * share
            self.tolerances[rows] = constraint.tolerance or np.nan

        order = np.argsort(self.pins.sources, kind="stable")
        starts = np.searchsorted(self.pins.sources[order], np.arange(len(pinned) + 1))
        for number, constraint in enumerate(pinned):
            own = order[starts[number] : starts[number + 1]]
            rows = (3 * own[:, None] + np.arange(3)).ravel()
            set_rows(constraint, rows, np.repeat(self.pins.activations[own], 3))
        frames, fps = self.reference.frames, self.reference.motion.fps
        for other in self.others:
            share = other.constraint.activation(frames[other.rows], fps)
            rows = slice(other.begin, other.begin + other.left_over.size)
            set_rows(other.constraint, rows, np.repeat(share, other.wide))
        for tie in self.ties:
            set_rows(tie.constraint, slice(tie.begin, tie.begin + len(tie.frames) * tie.wide), 1.0)

    def border(self, knots: Knots, weights: NDArray | None = None) -> Border:
        """Return the border variables: positions of plants, multipliers of couplings between distant frames.

        weights (R,): couplings of weight 0 get no variables. None: all get them.
        """
        first, last, lead = [], [], []
        self.variables = np.full((max(len(self.free), 1), 3), -1)
        order = np.argsort(self.owners, kind="stable")
        starts = np.searchsorted(self.owners[order], np.arange(len(self.free) + 1))
        for number, plant in enumerate(self.free):
            own = knots.first[self.pin_rows[order[starts[number] : starts[number + 1]]]]
            for q in range(3 if plant.ground is None else 2):
                self.variables[number, q] = len(first)
                lead.append(int(self.variables[number, 0]))
                first.append(int(np.clip(own.min(), 0, knots.count - 1)))
                last.append(int(np.clip(own.max() + 3, 0, knots.count - 1)))
        self.tie_variables = []
        for tie in self.ties:
            touched = knots.first[tie.frames]
            far = touched.max(axis=1) > touched.min(axis=1)
            numbers = np.full((len(tie.frames), tie.wide), -1)
            counts = np.repeat(far[:, None], tie.wide, axis=1)
            if weights is not None:
                counts &= weights[tie.begin : tie.begin + counts.size].reshape(counts.shape) > 0
            rows, columns = np.nonzero(counts)
            own = np.arange(len(first), len(first) + len(rows))
            numbers[rows, columns] = own
            lead += own.tolist()
            first += np.clip(touched[rows].min(axis=1), 0, knots.count - 1).tolist() if len(rows) else []
            last += np.clip(touched[rows].max(axis=1) + 3, 0, knots.count - 1).tolist() if len(rows) else []
            self.tie_variables.append(numbers)
        return Border.of(*(np.array(values, np.int64) for values in (first, last, lead)))

    def shifts(self, others: NDArray) -> NDArray:
        """Return the shifts (P, 3) of free plants for values of the border's variables."""
        out = np.zeros((max(len(self.free), 1), 3))
        for number, plant in enumerate(self.free):
            own = others[self.variables[number][self.variables[number] >= 0]]
            if plant.ground is None:
                out[number] = own
            else:
                out[number, ::2] = own
                place = self.places[number]
                heights = plant.ground.height((place + out[number])[None, ::2])
                out[number, 1] = heights[0] - place[1]
        return out

    def _slopes(self, shifts: NDArray) -> NDArray:
        """Return the derivatives (P, 3, 3) of the shifts by the plants' variables."""
        out = np.tile(np.eye(3), (len(shifts), 1, 1))
        for number, plant in enumerate(self.free):
            if plant.ground is not None:
                normal = np.asarray(normal_of(plant.ground, (self.places[number] + shifts[number])[None, ::2]))[0]
                out[number] = 0.0
                out[number, 0, 0] = out[number, 2, 1] = 1.0
                out[number, 1, :2] = -normal[[0, 2]] / normal[1]
        return out

    def evaluate(self, knots: Knots, control: NDArray, others: NDArray) -> Evaluation:
        """Pose the character at control points and border variables, and evaluate every row."""
        import footplant.solve.methods.spacetime._rows as kernel

        motion = self.reference.motion
        displacements = knots.displacements(control)
        root, local = np.array(motion.root), np.array(motion.rotations)
        kernel.pose_frames(self.groups, displacements, motion.root, motion.rotations, root, local)
        kinematics = Kinematics(motion.like(root, local, motion.offsets), self.reference.frames)
        shifts = self.shifts(others)
        places = kinematics.points(self.points)
        return Evaluation(displacements, kinematics, shifts, places, self.residuals_at(kinematics, shifts, places))

    def residuals_at(self, kinematics: Kinematics, shifts: NDArray, places: NDArray) -> NDArray:
        """Return the residuals (R,) of a pose and of plants shifted (P, 3) from their initial estimates.

        places (F, N, 3): positions of `points`.
        """
        import footplant.solve.methods.spacetime._rows as kernel

        residuals = np.zeros(self.count)
        kernel.measure_pins(
            kernel.Pins(*self._pins), shifts, kinematics.positions, kinematics.rotations,
            residuals[: 3 * len(self.pins)].reshape(-1, 3),
        )  # fmt: skip
        for heights in self.heights:
            heights.measure(places, residuals)
        for other in self.others:
            if type(other.constraint) is not Above:
                values = np.asarray(other.constraint.residual(kinematics[other.rows]), float) - other.left_over
                residuals[other.begin : other.begin + values.size] = values.ravel()
        for tie in self.ties:
            if tie.of_point:
                values = tie.slack(places[tie.frames, tie.point], kinematics.motion.fps)
            else:
                values = np.asarray(tie.constraint.residual(kinematics), float)
            residuals[tie.begin : tie.begin + values.size] = values.ravel()
        return residuals

    @property
    def _pins(self) -> tuple:
        """The fields of the kernel's `Pins`."""
        pins = self.pins
        return (
            pins.starts, pins.kinds, pins.joints, pins.offsets, self.targets, pins.axes, self.owners, self.chain_of,
            self.chains,
        )  # fmt: skip

    @property
    def _unknowns(self) -> tuple:
        """The fields of the kernel's `Unknowns`."""
        return self.skeleton.parents, self.groups, self.group_of

    def assemble(self, system: System, at: Evaluation, residuals: NDArray, weights: NDArray) -> None:
        """Write the normal equations of the objective and of all rows, with weights (R,).

        residuals: (R,), may be shifted by multipliers.
        """
        self._start_with_pins(system, at, residuals, weights)
        for other in self.others:
            self._add_other(system, at, other, residuals, weights)
        for tie, variables in zip(self.ties, self.tie_variables):
            self._add_tie(system, at, tie, variables, residuals, weights)

    def pin_jacobian(self, at: Evaluation) -> NDArray:
        """Return the derivatives (3N, n) of the residuals of pins by the displacement at their own frames."""
        import footplant.solve.methods.spacetime._rows as kernel

        kinematics = at.kinematics
        out = np.empty((3 * len(self.pins), len(self.columns)))
        kernel.differentiate_pins(
            kernel.Unknowns(*self._unknowns), kernel.Pins(*self._pins), at.displacements, kinematics.positions,
            kinematics.rotations, at.residuals[: len(out)].reshape(-1, 3), out,
        )  # fmt: skip
        return out

    def _start_with_pins(self, system: System, at: Evaluation, residuals: NDArray, weights: NDArray) -> None:
        import footplant.solve.methods.spacetime._assembly as kernel

        jacobian = self.pin_jacobian(at)
        end = len(jacobian)
        couplings = np.zeros((end, 3))
        own = np.flatnonzero(self.owners >= 0)
        if len(own):
            slopes = self._slopes(at.shifts)[self.owners[own]]
            couplings.reshape(-1, 3, 3)[own] = -self.pins.axes[own][:, :, None] * slopes
        rows, owners = np.repeat(self.pin_rows, 3), np.repeat(self.owners, 3)
        lines = kernel.FrameRows(rows, residuals[:end], weights[:end], jacobian, owners, couplings)
        splines = kernel.Splines(system.knots.first, system.knots.basis)
        equations = kernel.Equations(*system.equations)
        kernel.start_with_rows(kernel.Costs(*system.costs), splines, lines, self.variables, equations)

    def _add(self, system: System, rows: NDArray, residuals: NDArray, weights: NDArray, jacobian: NDArray) -> None:
        import footplant.solve.methods.spacetime._assembly as kernel

        owners, couplings = np.full(len(rows), -1), np.zeros((len(rows), 3))
        lines = kernel.FrameRows(rows, residuals, weights, jacobian, owners, couplings)
        splines = kernel.Splines(system.knots.first, system.knots.basis)
        kernel.add_rows(splines, lines, self.variables, kernel.Equations(*system.equations))

    def _add_other(self, system: System, at: Evaluation, other: Other, residuals: NDArray, weights: NDArray) -> None:
        """Evaluate and add the derivatives of rows of weight above 0, in batches that fit the memory budget."""
        own = slice(other.begin, other.begin + other.left_over.size)
        shape = (len(other.rows), other.wide)
        values, shares = residuals[own].reshape(shape), weights[own].reshape(shape)
        used = np.flatnonzero((shares > 0).any(axis=1))
        most = max(SPACETIME.jacobian_budget // (other.wide * (3 + 3 * len(self.skeleton))), 1)
        for part in (used[k : k + most] for k in range(0, len(used), most)):
            rows = other.rows[part]
            if other.of_point:
                places = at.places[rows, other.point]
                slopes = other.constraint.slopes(places)  # type: ignore[attr-defined]
                lines, jacobian = rows, self._point_jacobian(other, at, rows, places, slopes)
            else:
                lines = np.repeat(rows, other.wide)
                given = np.asarray(other.constraint.jacobian(at.kinematics[rows]), float)
                jacobian = self._turned(other, at, lines, given)
            self._add(system, lines, values[part].ravel(), shares[part].ravel(), jacobian)

    def _point_jacobian(self, part: Other | Tie, at: Evaluation, rows: NDArray, places: NDArray, slopes) -> NDArray:
        """Return the derivatives (R, n) of functions of a constraint's point at positions and with gradients (R, 3)."""
        import footplant.solve.methods.spacetime._rows as kernel

        out, kinematics = np.empty((len(rows), len(self.columns))), at.kinematics
        points = kernel.PointRows(
            rows, self.points[part.point].joint, places, np.ascontiguousarray(slopes), part.allowed
        )
        kernel.differentiate_points(
            kernel.Unknowns(*self._unknowns), points, at.displacements, kinematics.positions, kinematics.rotations,
            out,
        )  # fmt: skip
        return out

    def _turned(self, part: Other | Tie, at: Evaluation, rows: NDArray, given: NDArray) -> NDArray:
        """Return the derivatives (R, n) by the unknowns from a constraint's own Jacobian (…, 3+3J), at rows (R,)."""
        import footplant.solve.methods.spacetime._rows as kernel

        allowed = np.repeat(part.allowed[self.groups], 3)
        # picked columns come in Fortran's order, and kernels are compiled ahead for C's alone
        jacobian = np.multiply(given[..., self.columns], allowed, order="C").reshape(-1, len(self.columns))
        kernel.turn_columns(self.groups, rows, at.displacements, jacobian)
        return jacobian

    def _add_tie(
        self, system, at: Evaluation, tie: Tie, variables: NDArray, residuals: NDArray, weights: NDArray
    ) -> None:
        import footplant.solve.methods.spacetime._assembly as kernel

        own = slice(tie.begin, tie.begin + len(tie.frames) * tie.wide)
        values, shares = residuals[own].reshape(-1, tie.wide), weights[own].reshape(-1, tie.wide)
        used = np.flatnonzero(((shares > 0) | (variables >= 0)).any(axis=1))
        if not len(used):
            return
        frames = np.repeat(tie.frames[used], tie.wide, axis=0)
        if tie.of_point:
            places = at.places[frames, tie.point]
            slopes = tie.slopes(places)
            jacobian = self._point_jacobian(tie, at, frames.ravel(), places.reshape(-1, 3), slopes.reshape(-1, 3))
        else:
            # (r, T, wide, 3+3J) → a line for each residual with its T frames
            given = np.moveaxis(np.asarray(tie.constraint.jacobian(at.kinematics), float)[used], 2, 1)
            jacobian = self._turned(tie, at, frames.ravel(), given)
        lines = kernel.TieRows(
            frames, values[used].ravel(), shares[used].ravel(),
            jacobian.reshape(*frames.shape, len(self.columns)), variables[used].ravel(),
        )  # fmt: skip
        splines = kernel.Splines(system.knots.first, system.knots.basis)
        kernel.add_ties(splines, lines, kernel.Equations(*system.equations))
