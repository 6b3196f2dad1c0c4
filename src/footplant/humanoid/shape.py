"""What a skeleton's shape says: lengths along its branches, limbs that mirror one another, and how a pose stands.

Only lengths and the tree are used to find limbs, so the axes, the scale and the rest pose do not matter. Poses are
looked at afterwards, to tell the way up, the way forward and therefore left from right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from footplant.humanoid.cache import FIGURES, SkeletonKey
from footplant.humanoid.names import Reading, read_all
from footplant.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class Tree:
    """A skeleton measured along its branches."""

    skeleton: Skeleton
    readings: tuple[Reading, ...]
    """What each joint's name says."""

    @cached_property
    def lengths(self) -> NDArray:
        """(J,) distance of each joint from its parent; 0 for the root."""
        lengths = np.linalg.norm(self.skeleton.offsets, axis=1)
        lengths[0] = 0.0
        return lengths

    @cached_property
    def tips(self) -> NDArray:
        """(J,) length of the longest end site of each joint, 0 without."""
        tips = np.zeros(len(self.skeleton))
        np.maximum.at(tips, self.skeleton.end_parents, np.linalg.norm(self.skeleton.end_offsets, axis=1))
        return tips

    @cached_property
    def reach(self) -> NDArray:
        """(J,) length of the longest way from a joint to an end below it."""
        reach = np.array(self.tips)
        for joint in range(len(self.skeleton) - 1, 0, -1):
            parent = self.skeleton.parents[joint]
            reach[parent] = max(reach[parent], reach[joint] + self.lengths[joint])
        return reach

    @cached_property
    def size(self) -> float:
        """The longest way from the root to an end, or between two ends through a common joint: the figure's extent."""
        best = 0.0
        for joint, children in enumerate(self.skeleton.children):
            ways = sorted((float(self.reach[child] + self.lengths[child]) for child in children), reverse=True)
            best = max(best, sum(ways[:2]), float(self.reach[joint]))
        return best

    @cached_property
    def depth(self) -> NDArray:
        """(J,) number of joints above each joint."""
        depth = np.zeros(len(self.skeleton), int)
        for joint in range(1, len(self.skeleton)):
            depth[joint] = depth[self.skeleton.parents[joint]] + 1
        return depth

    def path_length(self, path: tuple[int, ...]) -> float:
        """Length along a path of joints that follow one another downwards."""
        return float(sum(self.lengths[joint] for joint in path[1:]))

    def ancestors(self, joint: int) -> list[int]:
        """The joint and all above it, up to the root."""
        out = [joint]
        while out[-1] != 0:
            out.append(int(self.skeleton.parents[out[-1]]))
        return out

    def common(self, *joints: int) -> int:
        """The lowest joint that has all of them below it (or is one of them)."""
        shared = set(self.ancestors(joints[0])).intersection(*(self.ancestors(joint) for joint in joints[1:]))
        return max(shared, key=lambda joint: self.depth[joint])

    def ways_down(self, joint: int) -> list[tuple[int, ...]]:
        """Every path from a joint to a leaf below it."""
        children = self.skeleton.children[joint]
        if not children:
            return [(joint,)]
        return [(joint, *rest) for child in children for rest in self.ways_down(child)]

    @cached_property
    def forks(self) -> NDArray:
        """(J,) how many branches with joints or ends of their own leave a joint: from a wrist, the fingers."""
        own = [bool(children) or self.tips[joint] > 0 for joint, children in enumerate(self.skeleton.children)]
        return np.array([sum(own[child] for child in children) for children in self.skeleton.children])

    def longest_way(self, joint: int) -> tuple[int, ...]:
        """The path to the farthest end."""
        path = [joint]
        while self.skeleton.children[path[-1]]:
            path.append(max(self.skeleton.children[path[-1]], key=lambda c: self.reach[c] + self.lengths[c]))
        return tuple(path)


def tree_of(skeleton: Skeleton) -> Tree:
    """A skeleton measured along its branches, with what its joints' names say."""
    return _tree(SkeletonKey(skeleton))


@lru_cache(maxsize=FIGURES)
def _tree(key: SkeletonKey) -> Tree:
    return Tree(key.skeleton, read_all(key.skeleton.names))


@dataclass(frozen=True)
class LimbPair:
    """Two branches of one joint that mirror one another."""

    parent: int
    first: int
    second: int


def mirror_pairs(tree: Tree) -> list[LimbPair]:
    """All pairs of siblings long enough for a limb whose names or lengths mirror one another."""
    pairs = []
    for parent, children in enumerate(tree.skeleton.children):
        long = [c for c in children if tree.reach[c] > (0.03 if _begins_limb(tree.readings[c]) else 0.08) * tree.size]
        for a, b in combinations(long, 2):
            ra, rb = tree.readings[a], tree.readings[b]
            if ra.side and rb.side:
                if ra.side == rb.side or not (ra.key == rb.key or set(ra.parts) & set(rb.parts) or _alike(tree, a, b)):
                    continue
            elif not _alike(tree, a, b):
                continue
            pairs.append(LimbPair(parent, a, b))
    return pairs


def _begins_limb(reading: Reading) -> bool:
    """Whether a name says plainly that a leg or an arm begins here, however short it is beside the rest."""
    plain = ("upper_leg", "upper_arm", "clavicle")
    return reading.side is not None and any(reading.score(part) >= 0.9 for part in plain)


def _alike(tree: Tree, a: int, b: int) -> bool:
    """Whether two branches have bones of about the same lengths."""
    slack = 0.04 * tree.size
    if abs(tree.reach[a] - tree.reach[b]) > max(slack, 0.15 * max(tree.reach[a], tree.reach[b])):
        return False
    way_a, way_b = tree.longest_way(a), tree.longest_way(b)
    bones_a, bones_b = tree.lengths[list(way_a)], tree.lengths[list(way_b)]
    if len(bones_a) != len(bones_b):
        return False
    return bool(np.all(np.abs(bones_a - bones_b) < np.maximum(slack, 0.2 * np.maximum(bones_a, bones_b))))
