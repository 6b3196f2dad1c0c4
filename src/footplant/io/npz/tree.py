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
STIFFER = 0.8
"""Ratio of two spreads below which one bone is stiffer than another; between it and its inverse they are the same."""
NOISE = 1.3
"""How far above the median of the joints' smallest spreads a spread may be and still be noise."""


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
    from a child. The tree grows from joint 0 by the stiffest bone at a time (Prim 1957), the shortest of several. Of
    parents that are as stiff the first is kept, because brothers keep their distance as well; but a joint that lies
    beyond a later one, as seen from the first, hangs on the later: so the chains of a back or a finger grow that
    hardly bends.
    """
    positions = some_frames(positions)
    count = positions.shape[1]
    loose, lengths = _compare(positions, None if rotations is None else rotation.inverse(some_frames(rotations)))
    apart = loose + np.where(np.eye(count, dtype=bool), np.inf, 0.0)
    floor = NOISE * float(np.median(apart.min(axis=0))) if count > 1 else 0.0
    largest = max(float(lengths.max()), 1e-12)
    loose = np.maximum(loose, max(floor, 1e-6 * largest))
    best, cost = np.full(count, np.inf), np.full(count, np.inf)
    parents = np.full(count, -1)
    waiting = np.ones(count, bool)
    joint = 0
    for _ in range(count - 1):
        waiting[joint] = False
        first, here, there = lengths[parents, np.arange(count)], lengths[joint], lengths[parents, joint]
        beyond = first**2 > here**2 + there**2 + here * there
        same = (loose[joint] <= best / STIFFER) & beyond & (parents >= 0) & (here > 0)
        better = waiting & ((loose[joint] < STIFFER * best) | same)
        best[better], parents[better] = loose[joint, better], joint
        cost[better] = (loose[joint] * (1.0 + here / largest))[better]
        joint = int(np.argmin(np.where(waiting, cost, np.inf)))
    return parents, spread(positions, parents)


def _compare(positions: NDArray, back: NDArray | None) -> tuple[NDArray, NDArray]:
    """How much each joint moves as seen from each other one, (J, J), and how far apart they are on average.

    With the inverse of the joints' world rotations it is seen in their frames, else as a distance.
    """
    count = positions.shape[1]
    loose, lengths = np.empty((count, count)), np.empty((count, count))
    for joint in range(count):
        bones = positions - positions[:, joint, None]
        distances = np.linalg.norm(bones, axis=-1)
        lengths[joint], loose[joint] = distances.mean(axis=0), distances.std(axis=0)
        if back is not None:
            loose[joint] = np.sqrt(rotation.rotate(back[:, joint, None], bones).var(axis=0).sum(axis=-1))
    return loose, lengths


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
