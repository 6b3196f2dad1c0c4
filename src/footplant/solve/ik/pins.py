"""Equality constraints on a point's position or a segment's orientation ("pins"), as arrays for compiled code.

A hundred footplants, or ten thousand dragged hands, become one list, sorted by frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.constraints import Constraint, Follow, Footplant, Orientation, Position
from footplant.constraints.plants import is_simple_plant, plants_of
from footplant.kinematics import Kinematics
from footplant.skeleton import MovingPoint

POSITION, ORIENTATION = 0, 1
"""Kinds of pins; the numbers are those of the kernels."""


@dataclass(frozen=True, eq=False)
class Pins:
    """N pins over F rows, in the order of their rows and, within a row, of their constraints."""

    starts: NDArray
    """(F+1,) the pins of row f are starts[f] … starts[f+1]−1."""
    kinds: NDArray
    """(N,) `POSITION` or `ORIENTATION`."""
    joints: NDArray
    """(N,) the joint that carries the point, or whose orientation is constrained."""
    offsets: NDArray
    """(N, 3) the point in its joint's frame, metres."""
    targets: NDArray
    """(N, 4) world position (metres, then 0), or world rotation."""
    axes: NDArray
    """(N, 3) weight of each world axis of a position."""
    activations: NDArray
    """(N,) above 0, up to 1."""
    sources: NDArray
    """(N,) index of each pin's constraint."""

    def __len__(self) -> int:
        """Return the number of pins."""
        return len(self.kinds)


def is_pin(constraint: Constraint) -> bool:
    """Return whether a constraint's target is independent of the pose; False for kinds of other packages."""
    if type(constraint) is Position:
        return not (isinstance(constraint.target, Follow) and constraint.target.motion is None)
    return type(constraint) is Orientation or (type(constraint) is Footplant and not constraint.free)


def collect(kinematics: Kinematics, constraints: Sequence[Constraint]) -> Pins:
    """Return the pins of all constraints (positions, orientations, footplants) at the rows of a motion."""
    return PinTable(constraints, kinematics.frames, kinematics.motion.fps).at(kinematics)


class PinTable:
    """The pins of constraints at rows of a clip, except their targets: built once, evaluated for many poses."""

    def __init__(self, constraints: Sequence[Constraint], frames: NDArray, fps: float) -> None:
        """Gather the pins. frames: (F,) the clip's frame of each row, ascending."""
        self.constraints, self.frames = constraints, frames
        batched = np.array([is_simple_plant(constraint) for constraint in constraints], bool)
        numbers = np.flatnonzero(batched)
        self._plants = plants_of(tuple(constraints[number] for number in numbers)).over(frames, fps)  # type: ignore[misc]
        joints, offsets, _ = self._plants.points_of
        rows, sources = [self._plants.rows], [numbers[self._plants.which]]
        kinds, activations = [np.full(len(joints), POSITION)], [self._plants.activation]
        every_joint, every_offset, axes = [joints], [offsets], [np.ones((len(joints), 3))]
        self._others: list[tuple[Constraint, NDArray]] = []
        for number in np.flatnonzero(~batched).tolist():
            constraint = constraints[number]
            held, activation = constraint.active_rows(frames, fps)
            if not len(held):
                continue
            self._others.append((constraint, held))
            kind, joint, offset, axis = _static(constraint, frames[held])
            for parts, value, shape in (
                (sources, number, ()), (kinds, kind, ()), (every_joint, joint, ()), (every_offset, offset, (3,)),
                (axes, axis, (3,)),
            ):  # fmt: skip
                parts.append(np.broadcast_to(value, (len(held), *shape)))
            rows.append(held)
            activations.append(activation)
        row, source = np.concatenate(rows), np.concatenate(sources)
        order = np.lexsort((source, row))
        self.rows = row[order]
        self._slots = np.empty_like(order)
        self._slots[order] = np.arange(len(order))
        self._static_pins = Pins(
            starts=np.searchsorted(self.rows, np.arange(len(frames) + 1)),
            kinds=np.concatenate(kinds)[order],
            joints=np.concatenate(every_joint)[order],
            offsets=np.concatenate(every_offset)[order],
            targets=np.zeros((len(order), 4)),
            axes=np.concatenate(axes)[order],
            activations=np.concatenate(activations)[order],
            sources=source[order],
        )

    @property
    def sources(self) -> NDArray:
        """(N,) index of each pin's constraint."""
        return self._static_pins.sources

    @property
    def activations(self) -> NDArray:
        """(N,) above 0, up to 1."""
        return self._static_pins.activations

    def at(self, kinematics: Kinematics) -> Pins:
        """Return the pins with their targets at poses.

        Targets that follow the character are evaluated at its present pose. Inside a ramp the target of a point follows
        the motion: the point's own position, shifted by the correction at the nearest frame where the constraint holds
        fully.
        """
        targets, done = np.zeros((len(self.rows), 4)), len(self._plants.rows)
        if done:
            self._plants.aim(kinematics, self._slots[:done], targets)
        for constraint, held in self._others:
            part = kinematics if len(held) == len(self.frames) else kinematics[held]
            own = self._slots[done : done + len(held)]
            done += len(held)
            if isinstance(constraint, Orientation):
                targets[own] = constraint.turns(part)
            else:
                assert isinstance(constraint, Position | Footplant)
                exact = type(constraint) is Position
                off = constraint.slip(part) if exact else constraint.residual(part)  # type: ignore[union-attr]
                targets[own, :3] = part.point(constraint.point) - off
        return replace(self._static_pins, targets=targets)


def _static(constraint: Constraint, frames: NDArray) -> tuple[int, int, ArrayLike, ArrayLike]:
    """Return kind, joint, offset and axes of the pins of a constraint at frames of the clip."""
    if isinstance(constraint, Orientation):
        return ORIENTATION, constraint.joint, np.zeros(3), np.ones(3)
    assert isinstance(constraint, Position | Footplant)
    point = constraint.point
    offset = point.at(frames) if isinstance(point, MovingPoint) else point.offset
    return POSITION, point.joint, offset, constraint.axes if type(constraint) is Position else np.ones(3)


def eased_targets(pins: Pins, reference: Kinematics) -> NDArray:
    """Return the targets (N, 4) of pins, those that ramp in moved to their share of the way from the reference pose.

    At the end of a ramp a pin asks for no change at all, so that nothing jumps there.
    """
    targets = np.array(pins.targets)
    rows = np.repeat(np.arange(len(reference.frames)), np.diff(pins.starts))
    for kind in (POSITION, ORIENTATION):
        part = np.flatnonzero((pins.activations < 1.0) & (pins.kinds == kind))
        share, own = pins.activations[part, None], (rows[part], pins.joints[part])
        start_turn = reference.rotations[own]
        if kind == POSITION:
            start_position = reference.positions[own] + rotation.rotate(start_turn, pins.offsets[part])
            targets[part, :3] = part_of_way(start_position, targets[part, :3], share)
        else:
            targets[part] = part_of_turn(start_turn, targets[part], share)
    return targets


def part_of_way(start: NDArray, goal: NDArray, share: NDArray) -> NDArray:
    """Return positions (N, 3) a share (N, 1) of the way from start positions to goals."""
    return start + share * (goal - start)


def part_of_turn(start: NDArray, goal: NDArray, share: NDArray) -> NDArray:
    """Return rotations (N, 4) a share (N, 1) of the way from start rotations to goals."""
    way = rotation.log(rotation.multiply(goal, rotation.inverse(start)))
    return rotation.multiply(rotation.exp(share * way), start)


class FootRamps:
    """Ramps of footplants that follow the other plant of the same foot.

    What ramps out is the correction at the plant's nearest frame. If another plant that held the foot then, and still
    holds it, has moved the foot since, the correction moves along: otherwise a jittering foot would rotate about its
    ball.
    """

    def __init__(self, table: PinTable, carrier: NDArray) -> None:
        """Find the pins that ramp and those that lead them. carrier: (J,) the limb whose end carries a joint, or −1."""
        none = np.zeros(0, np.int64)
        self.rows, self._fading, self._leads, self._then = table.rows, none, none, none
        pins, constraints, rows, frames = table._static_pins, table.constraints, table.rows, table.frames
        plants = np.array([type(c) is Footplant and c.frames is not None and any(c.ramp) for c in constraints], bool)
        fading = np.flatnonzero(plants[pins.sources] & (pins.activations < 1.0)) if len(pins) else none
        if not len(fading):
            return
        places = np.flatnonzero(pins.kinds == POSITION)
        # for each foot in each row, the pin with the largest activation
        foot = rows * (int(carrier.max()) + 1) + carrier[pins.joints]
        order = places[np.lexsort((pins.activations[places], foot[places]))]
        last = order[np.flatnonzero(np.append(np.diff(foot[order]) != 0, True))]
        leads = last[np.searchsorted(foot[last], foot[fading])]
        more = pins.activations[leads] > pins.activations[fading]
        fading, leads = fading[more], leads[more]
        nearest, sources = np.array(frames[rows[fading]]), pins.sources[fading]
        bounds = np.array([(c.frames[0], c.frames[-1]) if c.frames else (0, 0) for c in constraints])[sources]
        scattered = np.array([isinstance(c.frames, tuple) for c in constraints], bool)[sources]
        nearest = np.clip(nearest, bounds[:, 0], bounds[:, 1])
        for source in np.unique(sources[scattered]).tolist():
            own = sources == source
            nearest[own] = np.asarray(constraints[source].frames)[constraints[source].slot(nearest[own])]
        then = np.minimum(np.searchsorted(frames, nearest), len(frames) - 1)
        # pins are sorted by row and, within a row, by constraint: find the leader's own pin at the nearest frame
        keys, count = rows * len(constraints) + pins.sources, len(constraints)
        wanted = then * count + pins.sources[leads]
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        held = (frames[then] == nearest) & (keys[found] == wanted)
        self._fading, self._leads, self._then = fading[held], leads[held], found[held]

    def apply(self, pins: Pins, kinematics: Kinematics) -> Pins:
        """Return the pins of poses, the targets of those that ramp moved along."""
        from footplant.kernels import plants as kernel

        if not len(self._fading):
            return pins
        targets, changes = np.array(pins.targets), np.empty((len(self._fading), 3))
        ramps = kernel.Ramps(self._fading, self._leads, self._then)
        points = kernel.Points(self.rows, pins.joints, pins.offsets)
        kernel.follow(ramps, points, kinematics.positions, kinematics.rotations, changes, targets)
        return replace(pins, targets=targets)
