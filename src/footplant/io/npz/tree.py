"""Which joint hangs on which, told by the motion: the distance between two ends of a bone never changes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.io.npz.layouts import COPY, Layout

SOME_FRAMES = 240
"""Frames that are looked at, evenly spread."""
RIGID = 0.05
"""Spread of a bone's length over its length, in the ninth tenth of the bones, up to which a layout fits."""
LOOSE = 0.25
"""The same for a tree that was found: beyond it there is no skeleton in the numbers."""
TIE = 0.02
"""Weight of a bone's length beside its spread: of several rigid ways to hang a joint the shortest is taken."""


def some_frames(positions: NDArray) -> NDArray:
    """At most `SOME_FRAMES` frames, evenly spread, in double precision."""
    step = max(1, -(-len(positions) // SOME_FRAMES))
    return np.asarray(positions[::step], float)


def spread(positions: NDArray, parents: NDArray) -> float:
    """How much the lengths of bones change, relative to the lengths: the ninth tenth of all bones."""
    joints = np.flatnonzero(parents >= 0)
    if not len(joints):
        return 0.0
    lengths = np.linalg.norm(positions[:, joints] - positions[:, parents[joints]], axis=-1)
    mean = lengths.mean(axis=0)
    size = float(np.median(mean))
    # short bones (fingers, a copy of another joint) are judged by the size of the others
    return float(np.quantile(lengths.std(axis=0) / np.maximum(mean, 0.2 * size + 1e-12), 0.9))


def choose_layout(positions: NDArray, layouts: Iterable[Layout]) -> tuple[Layout, float] | None:
    """The layout of so many joints whose bones keep their length best, and how well; None when none has so many."""
    sample = some_frames(positions)
    scores = []
    for layout in layouts:
        if len(layout.names) != positions.shape[1]:
            continue
        parents = np.array(layout.parents)
        score = spread(sample, np.where(np.array(layout.kinds) == COPY, -1, parents))
        doubt = 0.05 * _lopsided(sample, layout) + 1e-3 * _crossed(sample, layout)
        scores.append((score + doubt, score, len(scores), layout))
    if not scores:
        return None
    _, score, _, layout = min(scores)
    return layout, score


def _lopsided(positions: NDArray, layout: Layout) -> float:
    """How much bones differ from those of the other side, relative to their length: much, in a wrong order."""
    lengths = np.linalg.norm(positions - positions[:, np.maximum(layout.parents, 0)], axis=-1).mean(axis=0)
    pairs = np.array(layout.pairs, np.int64).reshape(-1, 2)
    if not len(pairs):
        return 0.0
    left, right = lengths[pairs].T
    return float(np.mean(np.abs(left - right) / np.maximum(left + right, 1e-12)))


def _crossed(positions: NDArray, layout: Layout) -> bool:
    """Whether left and right are exchanged: seen from above, left is on the left of where the toes point."""
    if layout.hips is None:
        return False
    left, right, ankle, toes = layout.hips
    up = positions[:, 0] - 0.5 * (positions[:, ankle] + positions[:, toes])
    forward = positions[:, toes] - positions[:, ankle]
    side = np.sum(np.cross(up, forward) * (positions[:, left] - positions[:, right]), axis=-1)
    return bool(np.median(side) < 0.0)


def find_parents(positions: NDArray, rotations: NDArray | None = None) -> tuple[NDArray, float]:
    """Parents (J,) of a tree from joint 0 whose bones keep their length, and the spread of those lengths.

    With world rotations (F, J, 4) a bone must keep its direction in its parent's frame as well, which tells a parent
    from a child. The tree grows from joint 0 by the stiffest bone at a time (Prim 1957).
    """
    positions = some_frames(positions)
    count = positions.shape[1]
    size = max(float(np.median(np.linalg.norm(positions - positions.mean(axis=1, keepdims=True), axis=-1))), 1e-9)
    if rotations is not None:
        rotations = rotation.inverse(some_frames(rotations))
    stiffness = np.full(count, np.inf)
    parents = np.full(count, -1)
    waiting = np.ones(count, bool)
    joint = 0
    for _ in range(count - 1):
        waiting[joint] = False
        bones = positions - positions[:, joint, None]
        lengths = np.linalg.norm(bones, axis=-1)
        if rotations is not None:
            cost = np.sqrt(rotation.rotate(rotations[:, joint, None], bones).var(axis=0).sum(axis=-1))
        else:
            cost = lengths.std(axis=0)
        cost = np.maximum(cost, 1e-3 * size) + TIE * lengths.mean(axis=0)
        better = waiting & (cost < stiffness)
        stiffness[better], parents[better] = cost[better], joint
        joint = int(np.argmin(np.where(waiting, stiffness, np.inf)))
    return parents, spread(positions, parents)


def parents_first(parents: NDArray) -> NDArray:
    """An order of joints in which parents come before their children, otherwise as they were; -1 marks the root.

    Joints that never lead to a root (a cycle) are not in the order.
    """
    children: list[list[int]] = [[] for _ in parents]
    roots = []
    for joint, parent in enumerate(parents.tolist()):
        (children[parent] if parent >= 0 else roots).append(joint)
    ready, order = sorted(roots), []
    while ready:
        joint = heapq.heappop(ready)
        order.append(joint)
        for child in children[joint]:
            heapq.heappush(ready, child)
    return np.array(order, np.int64)
