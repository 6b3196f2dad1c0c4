"""Constraints that hold a point or a segment at a known place or turn, as arrays that compiled code can walk.

A hundred footplants, or ten thousand dragged hands, are then one list, sorted by frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.constraints import Constraint, Follow, Footplant, Orientation, Position
from footplant.constraints.plants import Plants, is_plain
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
    """(N,) the joint that carries the point, or that is to be turned."""
    offsets: NDArray
    """(N, 3) the point in its joint's frame, metres."""
    targets: NDArray
    """(N, 4) world place (metres, then 0), or world rotation."""
    axes: NDArray
    """(N, 3) how much each world axis of a place counts."""
    activations: NDArray
    """(N,) above 0, up to 1."""
    sources: NDArray
    """(N,) which of the constraints each came from."""

    def __len__(self) -> int:
        """How many pins."""
        return len(self.kinds)


def is_pin(constraint: Constraint) -> bool:
    """Whether a constraint's target stays as it is while the figure moves; of outsiders' kinds nobody knows."""
    if type(constraint) is Position:
        return not (isinstance(constraint.target, Follow) and constraint.target.motion is None)
    return type(constraint) is Orientation or (type(constraint) is Footplant and not constraint.free)


def collect(kinematics: Kinematics, constraints: Sequence[Constraint]) -> Pins:
    """The pins of all constraints (positions, orientations, footplants) at the rows of a motion: see `PinTable`."""
    return PinTable(constraints, kinematics.frames, kinematics.motion.fps).at(kinematics)


class PinTable:
    """The pins of constraints at rows of a clip, but for their targets: made once, for many poses."""

    def __init__(self, constraints: Sequence[Constraint], frames: NDArray, fps: float) -> None:
        """frames: (F,) the clip's frame of each row, ascending."""
        self.constraints, self.frames = constraints, frames
        plain = np.array([is_plain(constraint) for constraint in constraints], bool)
        numbers = np.flatnonzero(plain)
        self._plants = Plants([constraints[number] for number in numbers]).over(frames, fps)  # type: ignore[misc]
        joints, offsets, _ = self._plants.points_of
        rows, sources = [self._plants.rows], [numbers[self._plants.which]]
        kinds, activations = [np.full(len(joints), POSITION)], [self._plants.activation]
        every_joint, every_offset, axes = [joints], [offsets], [np.ones((len(joints), 3))]
        self._others: list[tuple[Constraint, NDArray]] = []
        for number in np.flatnonzero(~plain).tolist():
            constraint = constraints[number]
            held, activation = constraint.at_work(frames, fps)
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
        self._made = Pins(
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
        """(N,) which of the constraints each pin is of."""
        return self._made.sources

    @property
    def activations(self) -> NDArray:
        """(N,) above 0, up to 1."""
        return self._made.activations

    def at(self, kinematics: Kinematics) -> Pins:
        """The pins as poses have them.

        Targets that go with the figure are where they are now. Inside the ramps the target of a point goes with the
        motion: the point's own place, moved by what the nearest held frame needs.
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
        return replace(self._made, targets=targets)


def _static(constraint: Constraint, frames: NDArray) -> tuple[int, int, ArrayLike, ArrayLike]:
    """Kind, joint, offset and axes of the pins of a constraint at frames of the clip."""
    if isinstance(constraint, Orientation):
        return ORIENTATION, constraint.joint, np.zeros(3), np.ones(3)
    assert isinstance(constraint, Position | Footplant)
    point = constraint.point
    offset = point.at(frames) if isinstance(point, MovingPoint) else point.offset
    return POSITION, point.joint, offset, constraint.axes if type(constraint) is Position else np.ones(3)


def eased_targets(pins: Pins, reference: Kinematics) -> NDArray:
    """(N, 4) targets of pins; one that eases in asks for its share of the way from the reference pose only.

    Where it is all but gone it asks for no change at all, so that nothing jumps at either end of a ramp.
    """
    targets = np.array(pins.targets)
    rows = np.repeat(np.arange(len(reference.frames)), np.diff(pins.starts))
    for kind in (POSITION, ORIENTATION):
        part = np.flatnonzero((pins.activations < 1.0) & (pins.kinds == kind))
        share, own = pins.activations[part, None], (rows[part], pins.joints[part])
        turned = reference.rotations[own]
        if kind == POSITION:
            stood = reference.positions[own] + rotation.rotate(turned, pins.offsets[part])
            targets[part, :3] = part_of_way(stood, targets[part, :3], share)
        else:
            targets[part] = part_of_turn(turned, targets[part], share)
    return targets


def part_of_way(stood: NDArray, goal: NDArray, share: NDArray) -> NDArray:
    """(N, 3) a share (N, 1) of the way from where points stood to their goals."""
    return stood + share * (goal - stood)


def part_of_turn(turned: NDArray, goal: NDArray, share: NDArray) -> NDArray:
    """(N, 4) a share (N, 1) of the turn from how segments were turned to how they should be."""
    way = rotation.log(rotation.multiply(goal, rotation.inverse(turned)))
    return rotation.multiply(rotation.exp(share * way), turned)


class FadingTogether:
    """Pins of plants that fade going along with what holds their foot by now.

    What fades is the correction of the plant's nearest frame. Where the whole foot has been moved otherwise since, by a
    plant that held it then and holds it still, so has that correction: else a shaking foot would turn about its ball.
    """

    def __init__(self, table: PinTable, carrier: NDArray) -> None:
        """carrier: (J,) which limb's end carries a joint, or −1."""
        none = np.zeros(0, np.int64)
        self.rows, self._fading, self._leads, self._then = table.rows, none, none, none
        pins, constraints, rows, frames = table._made, table.constraints, table.rows, table.frames
        plants = np.array([type(c) is Footplant and c.frames is not None and any(c.ramp) for c in constraints], bool)
        fading = np.flatnonzero(plants[pins.sources] & (pins.activations < 1.0)) if len(pins) else none
        if not len(fading):
            return
        places = np.flatnonzero(pins.kinds == POSITION)
        # of each foot in each row, the pin that holds it most
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
        # pins are sorted by row and, within one, by constraint: where the lead's own pin of that time is
        keys, count = rows * len(constraints) + pins.sources, len(constraints)
        wanted = then * count + pins.sources[leads]
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        held = (frames[then] == nearest) & (keys[found] == wanted)
        self._fading, self._leads, self._then = fading[held], leads[held], found[held]

    def apply(self, pins: Pins, kinematics: Kinematics) -> Pins:
        """The pins of poses, with the targets of those that fade moved along."""
        from footplant.kernels import plants as kernel

        if not len(self._fading):
            return pins
        targets, room = np.array(pins.targets), np.empty((len(self._fading), 3))
        kernel.follow(
            self._fading, self._leads, self._then, self.rows, pins.joints, pins.offsets, kinematics.positions,
            kinematics.rotations, room, targets,
        )  # fmt: skip
        return replace(pins, targets=targets)
