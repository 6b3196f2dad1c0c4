"""Find the joint tree from the motion: the distance between the ends of a bone is constant."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.io.npz.layouts import COPY, Layout


@dataclass(frozen=True)
class TreeSettings:
    """How joint trees are identified. No experiment is on record for them.

    The deviation of a bone is the standard deviation of its length over time; of a layout or tree, the 90th percentile
    over its bones of deviation / length.
    """

    sampled_frames: int = 240
    """Frames used, evenly spaced. Doubled, loading takes longer."""
    max_layout_deviation: float = 0.05
    """Largest deviation at which a known layout matches. Doubled, wrong layouts are accepted."""
    max_tree_deviation: float = 0.25
    """Largest deviation of a tree found from the motion; beyond it the numbers contain no skeleton."""
    stiffness_ratio: float = 0.8
    """Ratio of two deviations below which one bone is stiffer; between it and its inverse they are equally stiff."""
    noise_factor: float = 1.3
    """Deviations up to this factor above the median of the joints' smallest ones are noise."""
    asymmetry_weight: float = 0.05
    """Penalty of a layout per relative length difference between left and right bones."""
    swap_penalty: float = 1e-3
    """Penalty of a layout with left and right exchanged."""
    min_length: float = 0.2
    """Fraction of the median bone length. Shorter bones are judged as if they had this length."""


SETTINGS = TreeSettings()


def some_frames(positions: NDArray) -> NDArray:
    """Return at most `sampled_frames` frames, evenly spaced, in double precision."""
    step = max(1, -(-len(positions) // SETTINGS.sampled_frames))
    return np.asarray(positions[::step], float)


def length_deviation(positions: NDArray, parents: NDArray) -> float:
    """Return how much bone lengths vary relative to the lengths: the 90th percentile over bones."""
    joints = np.flatnonzero(parents >= 0)
    if not len(joints):
        return 0.0
    lengths = np.linalg.norm(positions[:, joints] - positions[:, parents[joints]], axis=-1)
    mean = lengths.mean(axis=0)
    size = float(np.median(mean))
    # short bones (fingers, a copy of another joint) are judged by the size of the others
    minimum = SETTINGS.min_length * size + 1e-12
    return float(np.quantile(lengths.std(axis=0) / np.maximum(mean, minimum), 0.9))


def choose_layout(positions: NDArray, layouts: Iterable[Layout]) -> tuple[Layout, float] | None:
    """Return the layout with that number of joints whose bone lengths vary least, and its deviation; or None."""
    sample = some_frames(positions)
    scores = []
    for layout in layouts:
        if len(layout.names) != positions.shape[1]:
            continue
        parents = np.array(layout.parents)
        score = length_deviation(sample, np.where(np.array(layout.kinds) == COPY, -1, parents))
        doubt = SETTINGS.asymmetry_weight * _asymmetry(sample, layout) + SETTINGS.swap_penalty * _swapped(
            sample, layout
        )
        scores.append((score + doubt, score, len(scores), layout))
    if not scores:
        return None
    _, score, _, layout = min(scores)
    return layout, score


def _asymmetry(positions: NDArray, layout: Layout) -> float:
    """Return the mean relative length difference of left and right bones: large for a wrong joint order."""
    lengths = np.linalg.norm(positions - positions[:, np.maximum(layout.parents, 0)], axis=-1).mean(axis=0)
    pairs = np.array(layout.pairs, np.int64).reshape(-1, 2)
    if not len(pairs):
        return 0.0
    left, right = lengths[pairs].T
    return float(np.mean(np.abs(left - right) / np.maximum(left + right, 1e-12)))


def _swapped(positions: NDArray, layout: Layout) -> bool:
    """Return whether left and right are exchanged, judged by the direction of the toes."""
    if layout.hips is None:
        return False
    left, right, ankle, toes = layout.hips
    up = positions[:, 0] - 0.5 * (positions[:, ankle] + positions[:, toes])
    forward = positions[:, toes] - positions[:, ankle]
    side = np.sum(np.cross(up, forward) * (positions[:, left] - positions[:, right]), axis=-1)
    return bool(np.median(side) < 0.0)


def find_parents(positions: NDArray, rotations: NDArray | None = None) -> tuple[NDArray, float]:
    """Return parents (J,) of a tree from joint 0 whose bones keep their length, and the tree's deviation.

    With world rotations (F, J, 4), a bone must also keep its direction in its parent's frame, which distinguishes
    parent from child. The tree grows from joint 0 by the stiffest bone (Prim 1957), the shortest of equally stiff ones.
    Of equally stiff parents the first is kept, because siblings keep their distance as well; but a joint that is
    beyond a later one, seen from the first, becomes the later one's child: this keeps nearly rigid chains of a spine
    or a finger in order.
    """
    positions = some_frames(positions)
    count = positions.shape[1]
    loose, lengths = _compare(positions, None if rotations is None else rotation.inverse(some_frames(rotations)))
    apart = loose + np.where(np.eye(count, dtype=bool), np.inf, 0.0)
    floor = SETTINGS.noise_factor * float(np.median(apart.min(axis=0))) if count > 1 else 0.0
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
        same = (loose[joint] <= best / SETTINGS.stiffness_ratio) & beyond & (parents >= 0) & (here > 0)
        better = waiting & ((loose[joint] < SETTINGS.stiffness_ratio * best) | same)
        best[better], parents[better] = loose[joint, better], joint
        cost[better] = (loose[joint] * (1.0 + here / largest))[better]
        joint = int(np.argmin(np.where(waiting, cost, np.inf)))
    return parents, length_deviation(positions, parents)


def _compare(positions: NDArray, back: NDArray | None) -> tuple[NDArray, NDArray]:
    """Return the deviation of each joint relative to each other one, (J, J), and their mean distances (J, J).

    back: inverse world rotations; if given, deviations are of positions in the joints' frames, else of distances.
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
    """Return an order of joints with parents before children, otherwise as given; -1 marks the root.

    Joints in a cycle are not in the result.
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
