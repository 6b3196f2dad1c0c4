"""Shape of a skeleton: lengths along its branches and limbs that mirror one another.

Limbs are found from lengths and the tree only, so that axes, scale and rest pose do not matter. Poses are used
afterwards, to find up, forward and therefore left and right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from footplant.humanoid.cache import CACHE_SIZE, SkeletonKey
from footplant.humanoid.names import Reading, read_all
from footplant.skeleton import Skeleton


@dataclass(frozen=True)
class ShapeSettings:
    """Tolerances for finding limbs that mirror one another, as fractions of the skeleton's extent unless stated.

    No experiment is on record for these numbers; the rigs of the tests check them.
    """

    named_limb: float = 0.03
    """Smallest length of a branch whose name begins a limb."""
    limb: float = 0.08
    """Smallest length of any other branch."""
    slack: float = 0.04
    """Difference of lengths that is always allowed between two sides."""
    branch: float = 0.15
    """Allowed difference of two branches, as a fraction of the longer one."""
    bone: float = 0.2
    """Allowed difference of two bones, as a fraction of the longer one."""


SETTINGS = ShapeSettings()


@dataclass(frozen=True, eq=False)
class Tree:
    """A skeleton with lengths along its branches."""

    skeleton: Skeleton
    readings: tuple[Reading, ...]
    """The interpretation of each joint's name."""

    @cached_property
    def lengths(self) -> NDArray:
        """Return the distance of each joint from its parent (J,); 0 for the root."""
        lengths = np.linalg.norm(self.skeleton.offsets, axis=1)
        lengths[0] = 0.0
        return lengths

    @cached_property
    def tips(self) -> NDArray:
        """Return the length of the longest end site of each joint (J,), 0 without one."""
        tips = np.zeros(len(self.skeleton))
        np.maximum.at(tips, self.skeleton.end_parents, np.linalg.norm(self.skeleton.end_offsets, axis=1))
        return tips

    @cached_property
    def reach(self) -> NDArray:
        """Return the length of the longest path from each joint (J,) to an end below it."""
        reach = np.array(self.tips)
        for joint in range(len(self.skeleton) - 1, 0, -1):
            parent = self.skeleton.parents[joint]
            reach[parent] = max(reach[parent], reach[joint] + self.lengths[joint])
        return reach

    @cached_property
    def size(self) -> float:
        """Return the extent: the longest path from the root to an end, or between two ends through a joint."""
        best = 0.0
        for joint, children in enumerate(self.skeleton.children):
            lengths_down = sorted((float(self.reach[child] + self.lengths[child]) for child in children), reverse=True)
            best = max(best, sum(lengths_down[:2]), float(self.reach[joint]))
        return best

    @cached_property
    def depth(self) -> NDArray:
        """Return the number of ancestors of each joint (J,)."""
        depth = np.zeros(len(self.skeleton), int)
        for joint in range(1, len(self.skeleton)):
            depth[joint] = depth[self.skeleton.parents[joint]] + 1
        return depth

    def path_length(self, path: tuple[int, ...]) -> float:
        """Return the length along a path of joints, parents before children."""
        return float(sum(self.lengths[joint] for joint in path[1:]))

    def ancestors(self, joint: int) -> list[int]:
        """Return the joint and all its ancestors, up to the root."""
        out = [joint]
        while out[-1] != 0:
            out.append(int(self.skeleton.parents[out[-1]]))
        return out

    def common(self, *joints: int) -> int:
        """Return the lowest common ancestor of joints (which may be one of them)."""
        shared = set(self.ancestors(joints[0])).intersection(*(self.ancestors(joint) for joint in joints[1:]))
        return max(shared, key=lambda joint: self.depth[joint])

    def paths_down(self, joint: int) -> list[tuple[int, ...]]:
        """Return every path from a joint to a leaf below it."""
        children = self.skeleton.children[joint]
        if not children:
            return [(joint,)]
        return [(joint, *rest) for child in children for rest in self.paths_down(child)]

    @cached_property
    def forks(self) -> NDArray:
        """Return how many branches with joints or ends of their own leave each joint (J,): fingers at a wrist."""
        own = [bool(children) or self.tips[joint] > 0 for joint, children in enumerate(self.skeleton.children)]
        return np.array([sum(own[child] for child in children) for children in self.skeleton.children])

    def longest_path(self, joint: int) -> tuple[int, ...]:
        """Return the path to the farthest end."""
        path = [joint]
        while self.skeleton.children[path[-1]]:
            path.append(max(self.skeleton.children[path[-1]], key=lambda c: self.reach[c] + self.lengths[c]))
        return tuple(path)


def tree_of(skeleton: Skeleton) -> Tree:
    """Return the skeleton's tree with lengths and read names, memoised by content."""
    return _tree(SkeletonKey(skeleton))


@lru_cache(maxsize=CACHE_SIZE)
def _tree(key: SkeletonKey) -> Tree:
    return Tree(key.skeleton, read_all(key.skeleton.names))


@dataclass(frozen=True)
class LimbPair:
    """Two branches of one joint that mirror one another."""

    parent: int
    first: int
    second: int


def mirror_pairs(tree: Tree) -> list[LimbPair]:
    """Return all pairs of siblings that are long enough for a limb and mirror one another by name or length."""
    pairs = []
    for parent, children in enumerate(tree.skeleton.children):
        long = [c for c in children if tree.reach[c] > _smallest_limb(tree.readings[c]) * tree.size]
        for a, b in combinations(long, 2):
            ra, rb = tree.readings[a], tree.readings[b]
            if ra.side and rb.side:
                if ra.side == rb.side or not (ra.key == rb.key or set(ra.parts) & set(rb.parts) or _alike(tree, a, b)):
                    continue
            elif not _alike(tree, a, b):
                continue
            pairs.append(LimbPair(parent, a, b))
    return pairs


def _smallest_limb(reading: Reading) -> float:
    return SETTINGS.named_limb if _begins_limb(reading) else SETTINGS.limb


def _begins_limb(reading: Reading) -> bool:
    """Return whether a name clearly begins a leg or an arm, however short the branch is."""
    clear = ("upper_leg", "upper_arm", "clavicle")
    return reading.side is not None and any(reading.score(part) >= 0.9 for part in clear)


def _alike(tree: Tree, a: int, b: int) -> bool:
    """Return whether two branches have bones of about the same lengths."""
    slack = SETTINGS.slack * tree.size
    if abs(tree.reach[a] - tree.reach[b]) > max(slack, SETTINGS.branch * max(tree.reach[a], tree.reach[b])):
        return False
    path_a, path_b = tree.longest_path(a), tree.longest_path(b)
    bones_a, bones_b = tree.lengths[list(path_a)], tree.lengths[list(path_b)]
    if len(bones_a) != len(bones_b):
        return False
    return bool(np.all(np.abs(bones_a - bones_b) < np.maximum(slack, SETTINGS.bone * np.maximum(bones_a, bones_b))))
