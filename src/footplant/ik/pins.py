"""Constraints that hold a point or a segment at a known place or turn, as arrays that compiled code can walk.

A hundred footplants, or ten thousand dragged hands, are then one list, sorted by frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

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
    """The pins of all constraints (positions, orientations, footplants) at the rows of a motion.

    Targets that go with the figure are where they are now. Inside the ramps the target of a point goes with the
    motion: the point's own place, moved by what the nearest held frame needs.
    """
    frames, fps = kinematics.frames, kinematics.motion.fps
    plain = np.array([is_plain(constraint) for constraint in constraints], bool)
    rows, parts = _plants(kinematics, constraints, np.flatnonzero(plain)) if plain.any() else ([], [])
    for number in np.flatnonzero(~plain).tolist():
        constraint = constraints[number]
        held, activation = constraint.at_work(frames, fps)
        if not len(held):
            continue
        part = kinematics if len(held) == len(frames) else kinematics[held]
        table = np.zeros((len(held), 13))
        offset, axes = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
        if isinstance(constraint, Orientation):
            kind, joint = ORIENTATION, constraint.joint
            table[:, 6:10] = constraint.turns(part)
        else:
            assert isinstance(constraint, Position | Footplant)
            point = constraint.point
            kind, joint = POSITION, point.joint
            offset = point.at(part.frames) if isinstance(point, MovingPoint) else point.offset
            if type(constraint) is Position:
                table[:, 6:9], axes = part.point(point) - constraint.slip(part), constraint.axes
            else:
                table[:, 6:9] = part.point(constraint.point) - constraint.residual(part)
        table[:, 0:3] = offset
        table[:, 3:6] = axes
        table[:, 10], table[:, 11], table[:, 12] = activation, kind, joint
        rows.append(np.stack([held, np.full(len(held), number)], axis=1))
        parts.append(table)
    where = np.concatenate(rows) if rows else np.zeros((0, 2), np.int64)
    values = np.concatenate(parts) if parts else np.zeros((0, 13))
    order = np.lexsort((where[:, 1], where[:, 0]))
    where, values = where[order], values[order]
    return Pins(
        starts=np.searchsorted(where[:, 0], np.arange(len(frames) + 1)),
        kinds=values[:, 11].astype(np.int64),
        joints=values[:, 12].astype(np.int64),
        offsets=np.ascontiguousarray(values[:, 0:3]),
        targets=np.ascontiguousarray(values[:, 6:10]),
        axes=np.ascontiguousarray(values[:, 3:6]),
        activations=np.ascontiguousarray(values[:, 10]),
        sources=np.ascontiguousarray(where[:, 1]),
    )


def _plants(
    kinematics: Kinematics, constraints: Sequence[Constraint], numbers: NDArray
) -> tuple[list[NDArray], list[NDArray]]:
    """The rows and the table of `collect` for those of the constraints that are plain footplants, all at once."""
    plants = Plants([constraints[number] for number in numbers])  # type: ignore[misc]
    rows, which, activation = plants.at_work(kinematics.frames, kinematics.motion.fps)
    table = np.zeros((len(rows), 13))
    table[:, 0:3], table[:, 3:6] = plants.offsets[which], 1.0
    table[:, 6:9] = plants.points(kinematics, rows, which) - plants.residuals(kinematics, rows, which)
    table[:, 10], table[:, 11], table[:, 12] = activation, POSITION, plants.joints[which]
    return [np.stack([rows, numbers[which]], axis=1)], [table]


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


def fade_together(pins: Pins, kinematics: Kinematics, constraints: Sequence[Constraint], carrier: NDArray) -> Pins:
    """The pins, those of a plant that fades going along with what holds its foot by now.

    What fades is the correction of the plant's nearest frame. Where the whole foot has been moved otherwise since, by a
    plant that held it then and holds it still, so has that correction: else a shaking foot would turn about its ball.
    carrier: (J,) which limb's end carries a joint, or −1.
    """
    plants = np.array([type(c) is Footplant and c.frames is not None and any(c.ramp) for c in constraints], bool)
    fading = np.flatnonzero(plants[pins.sources] & (pins.activations < 1.0)) if len(pins) else np.zeros(0, np.int64)
    if not len(fading):
        return pins
    rows = np.repeat(np.arange(len(kinematics.frames)), np.diff(pins.starts))
    places = np.flatnonzero(pins.kinds == POSITION)
    # of each foot in each row, the pin that holds it most
    foot = rows * (int(carrier.max()) + 1) + carrier[pins.joints]
    order = places[np.lexsort((pins.activations[places], foot[places]))]
    last = order[np.flatnonzero(np.append(np.diff(foot[order]) != 0, True))]
    leads = last[np.searchsorted(foot[last], foot[fading])]
    more = pins.activations[leads] > pins.activations[fading]
    fading, leads = fading[more], leads[more]
    nearest, sources = np.array(kinematics.frames[rows[fading]]), pins.sources[fading]
    bounds = np.array([(c.frames[0], c.frames[-1]) if c.frames else (0, 0) for c in constraints])[sources]
    scattered = np.array([isinstance(c.frames, tuple) for c in constraints], bool)[sources]
    nearest = np.clip(nearest, bounds[:, 0], bounds[:, 1])
    for source in np.unique(sources[scattered]).tolist():
        own = sources == source
        nearest[own] = np.asarray(constraints[source].frames)[constraints[source].slot(nearest[own])]
    then = np.minimum(np.searchsorted(kinematics.frames, nearest), len(kinematics.frames) - 1)
    # pins are sorted by row and, within one, by constraint: where the lead's own pin of that time is
    keys, count = rows * len(constraints) + pins.sources, len(constraints)
    wanted = then * count + pins.sources[leads]
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    held = (kinematics.frames[then] == nearest) & (keys[found] == wanted)
    fading, leads, found = fading[held], leads[held], found[held]
    targets = np.array(pins.targets)
    targets[fading, :3] += _corrections(pins, kinematics, rows, leads) - _corrections(pins, kinematics, rows, found)
    return replace(pins, targets=targets)


def _corrections(pins: Pins, kinematics: Kinematics, rows: NDArray, chosen: NDArray) -> NDArray:
    """(n, 3) how far the points of some pins are from their targets, metres."""
    row, joint = rows[chosen], pins.joints[chosen]
    arms = rotation.rotate(kinematics.rotations[row, joint], pins.offsets[chosen])
    return pins.targets[chosen, :3] - kinematics.positions[row, joint] - arms
