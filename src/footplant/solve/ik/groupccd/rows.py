"""Constraints as rows of the group solver: kind, point, target and rank at each pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import (
    Above,
    Area,
    Balance,
    CenterOfMass,
    Constraint,
    Distance,
    Follow,
    Footplant,
    Orientation,
    Position,
)
from footplant.kinematics import Kinematics
from footplant.skeleton import MovingPoint, Point
from footplant.solve.ik.groupccd.tree import Tree
from footplant.solve.ik.limb_goals import half_spaces, share_of

POSITION, ORIENTATION, HALF_SPACE, DISTANCE, CENTER, BALANCE = range(6)
"""Kinds of rows; the numbers are those of the kernel."""
ROOT = 1 << 62
"""The bit that lets the root move for a row; joint n of the sweep has bit 1 << n."""
COLUMNS = {"kind": 0, "joint": 1, "other": 2, "rank": 3, "allow": 4}
"""Columns of the integers of a row in `Rows.kinds`."""
PARTS = {"point": slice(0, 3), "target": slice(3, 7), "other_point": slice(7, 10), "share": slice(10, 11)}
"""Columns of the floats of a row in `Rows.asks`."""


@dataclass(frozen=True, eq=False)
class Rows:
    """N rows over F poses, grouped by pose, the highest priority first."""

    starts: NDArray
    """(F+1,) the rows of pose f are starts[f] … starts[f+1]−1; of some poses, those of the k-th of them."""
    kinds: NDArray
    """(N, 5) int64: kind; joint that carries the point, or is oriented; joint of a distance's second point; rank (0 is
    the highest priority); bit mask of what may move besides the limb."""
    asks: NDArray
    """(N, 11) point in its joint's frame, metres (of a centre of mass: the weight of each axis); target: position,
    world rotation, normal and level of a half-space, or (last) a distance; second point; share of it that is asked for,
    0 to 1."""
    polygons: NDArray
    """(F, P, 2) (x, z) corners of the support polygon, counter-clockwise, metres."""
    sides: NDArray
    """(F,) number of its corners; 0: there is none."""


def make_rows(
    poses: int, blocks: Sequence[dict[str, Any]], polygons: NDArray | None = None, sides: NDArray | None = None
) -> tuple[Rows, NDArray]:
    """Return rows from blocks: dicts of `COLUMNS`, `PARTS` and "poses" (the pose of each row), in any order.

    And (N,) the index of each row in the concatenated blocks.
    """
    count = sum(len(block["poses"]) for block in blocks)
    kinds, asks, owners = np.zeros((count, 5), np.int64), np.zeros((count, 11)), np.zeros(count, np.int64)
    asks[:, PARTS["share"]] = 1.0
    at = 0
    for block in blocks:
        rows = slice(at, at + len(block["poses"]))
        owners[rows] = block["poses"]
        for name, column in COLUMNS.items():
            kinds[rows, column] = block.get(name, 0)
        for name, columns in PARTS.items():
            if name in block:
                values = np.asarray(block[name], float)
                asks[rows, columns] = values[:, None] if name == "share" and values.ndim else values
        at = rows.stop
    # within a rank, fully active rows come before those that ramp in or out
    ramping, rank = asks[:, PARTS["share"].start] < 1.0, kinds[:, COLUMNS["rank"]]
    order = np.argsort(2 * (owners * (1 + rank.max(initial=0)) + rank) + ramping, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(poses + 1)).astype(np.int64)
    if polygons is None or sides is None:
        polygons, sides = np.zeros((poses, 1, 2)), np.zeros(poses, np.int64)
    return Rows(starts, kinds[order], asks[order], polygons, sides), order


def rows_of(tree: Tree, first: Kinematics, now: Kinematics, constraints: Sequence[Constraint]) -> Rows:
    """Return the rows of constraints on a motion (`first`); areas and supports are linearised at `now`."""
    priorities = sorted({c.priority for c in constraints}, reverse=True)
    blocks, count = [], len(first.frames)
    polygons, sides = np.zeros((count, 1, 2)), np.zeros(count, np.int64)
    for constraint in constraints:
        activation = constraint.activation(first.frames, first.motion.fps)
        held = np.flatnonzero(activation > 0)
        if not len(held):
            continue
        share = share_of(constraint)
        block = {
            "poses": held,
            "rank": priorities.index(constraint.priority),
            "share": activation[held] * share,
            "allow": allowed(tree, constraint.chain),
        }
        block |= _asked(constraint, first, now, held)
        blocks.append(block)
        if isinstance(constraint, Balance):
            polygons, sides = supports(constraint, now)
    return make_rows(count, blocks, polygons, sides)[0]


def allowed(tree: Tree, chain: Sequence[int] | None) -> int:
    """Return the bit mask of what may move for a constraint with a chain; None: everything."""
    if chain is None:
        return ROOT | ((1 << len(tree.sweep)) - 1)
    bits = sum(1 << n for n, joint in enumerate(tree.sweep.tolist()) if joint in chain)
    return bits | (ROOT if 0 in chain else 0)


def _asked(constraint: Constraint, first: Kinematics, now: Kinematics, held: NDArray) -> dict[str, Any]:
    """Return the target of a constraint at the rows where it is active, as a block of `make_rows`."""
    part = first[held]
    if isinstance(constraint, Orientation):
        return {"kind": ORIENTATION, "joint": constraint.joint, "target": constraint.turns(part)}
    if isinstance(constraint, Balance):
        return {"kind": BALANCE}
    targets = np.zeros((len(held), 4))
    if isinstance(constraint, CenterOfMass):
        targets[:, :3] = constraint.places(part)
        return {"kind": CENTER, "point": constraint.axes, "target": targets}
    point: Point = constraint.point  # type: ignore[attr-defined]
    found: dict[str, Any] = {"joint": point.joint, "point": _offsets(point, part)}
    if isinstance(constraint, Area | Above):
        places = now[held].point(point)
        planes = half_spaces(constraint, places, part.frames)
        size = np.maximum(np.linalg.norm(planes[:, :3], axis=1, keepdims=True), 1e-12)
        return found | {"kind": HALF_SPACE, "target": planes / size}
    if isinstance(constraint, Distance):
        values = np.asarray(constraint.value)
        targets[:, 3] = values[0 if len(values) == 1 else np.minimum(constraint.slot(part.frames), len(values) - 1)]
        other = constraint.other
    elif (
        isinstance(constraint, Position) and isinstance(constraint.target, Follow) and constraint.target.motion is None
    ):
        other = constraint.target.point
    else:
        if isinstance(constraint, Footplant):
            targets[:, :3] = part.point(point) - constraint.residual(first)[held]
        else:
            targets[:, :3] = part.point(point) - constraint.slip(first)[held]  # type: ignore[attr-defined]
        return found | {"kind": POSITION, "target": targets}
    second = {"other": other.joint, "other_point": _offsets(other, part)}
    return found | second | {"kind": DISTANCE, "target": targets}


def _offsets(point: Point, kinematics: Kinematics) -> Any:
    return point.at(kinematics.frames) if isinstance(point, MovingPoint) else point.offset


def supports(constraint: Balance, kinematics: Kinematics) -> tuple[NDArray, NDArray]:
    """Return the support polygon at each row, shrunk by the margin: corners (F, P, 2) and their number (F,)."""
    places = kinematics.points(constraint.support)[..., ::2]
    hulls = constraint.hulls(kinematics)
    polygons = np.zeros((len(hulls), max((len(corners) for corners in hulls), default=1), 2))
    sides = np.array([len(corners) for corners in hulls], np.int64)
    for row, corners in enumerate(hulls):
        polygons[row, : len(corners)] = drawn_in(places[row, corners], constraint.margin)
    return polygons, sides


def drawn_in(corners: NDArray, margin: float) -> NDArray:
    """Return a convex polygon (P, 2) scaled about its centroid until every edge is at least a margin farther in."""
    middle = corners.mean(axis=0)
    if len(corners) < 3:
        return np.broadcast_to(middle, corners.shape) if margin > 0 else corners
    edges = np.roll(corners, -1, axis=0) - corners
    away = middle - corners
    inner = (edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0]) / np.maximum(np.linalg.norm(edges, axis=1), 1e-12)
    share = max(0.0, 1.0 - margin / max(float(inner.min()), 1e-9))
    return middle + share * (corners - middle)
