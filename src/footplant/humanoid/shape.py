"""Shape of a skeleton: lengths along its branches and limbs that mirror one another.

Limbs are found from lengths and the tree only, so that axes, scale and rest pose do not matter. Poses are used
afterwards, to find up, forward and therefore left and right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from footplant.humanoid.cache import CACHE_SIZE, SkeletonKey
from footplant.humanoid.names import Reading, read_all
from footplant.humanoid.schemes import NamedJoint, named_joints
from footplant.skeleton import Skeleton, Skin


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
    paths: int = 12
    """Paths of a branch that are compared with the other side's."""
    held: float = 0.4
    """Part of a branch that must match the other side's: a hand may hold something long."""
    weighted_share: float = 0.6
    """Share of the joints with children that the skin must follow before joints without weights count as ends."""


SETTINGS = ShapeSettings()


@dataclass(frozen=True, eq=False)
class Tree:
    """A skeleton with lengths along its branches."""

    skeleton: Skeleton
    readings: tuple[Reading, ...]
    """The interpretation of each joint's name; joints that only end a chain are helpers."""
    bare_ends: frozenset[int] = frozenset()
    """Joints without children that no vertex follows, though most others are followed: ends of their parents."""
    skin: SkinEvidence | None = None
    """What the skin says, if the character has one."""

    @cached_property
    def named(self) -> dict[int, NamedJoint]:
        """Return the joints whose role a well-known naming scheme fixes."""
        return named_joints(self.readings, self.skeleton.parents)

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
        for joint in self.bare_ends:
            parent = int(self.skeleton.parents[joint])
            tips[parent] = max(tips[parent], self.lengths[joint])
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


@dataclass(frozen=True, eq=False)
class SkinEvidence:
    """What a skin says about the joints it follows, in the space of the rest pose."""

    counts: NDArray
    """(J,) vertices that follow each joint more than any other."""
    centers: NDArray
    """(J, 3) their mean position; 0 without any."""
    reaches: NDArray
    """(J,) the distance from the joint within which 95 % of them are."""


def skin_evidence(skeleton: Skeleton, skin: Skin) -> SkinEvidence:
    """Return where the vertices that follow each joint are."""
    first = np.take_along_axis(skin.joints, np.argmax(skin.weights, axis=1)[:, None], axis=1)[:, 0]
    counts = np.bincount(first, minlength=len(skeleton)).astype(float)
    centers = np.stack([np.bincount(first, skin.vertices[:, k], len(skeleton)) for k in range(3)], axis=1)
    centers /= np.maximum(counts, 1.0)[:, None]
    apart = np.linalg.norm(skin.vertices - skeleton.rest_world[0][first], axis=1)
    order = np.lexsort((apart, first))
    last = np.cumsum(counts).astype(int)
    places = np.clip((last - 1 - 0.05 * counts).astype(int), 0, max(len(apart) - 1, 0))
    reaches = np.where(counts > 0, apart[order][places], 0.0) if len(apart) else np.zeros(len(skeleton))
    return SkinEvidence(counts, centers, reaches)


def tree_of(skeleton: Skeleton, skin: SkinEvidence | None = None) -> Tree:
    """Return the skeleton's tree with lengths and read names, memoised by content."""
    content = None if skin is None else tuple(a.tobytes() for a in (skin.counts, skin.centers, skin.reaches))
    return _tree(SkeletonKey(skeleton), content)


@lru_cache(maxsize=CACHE_SIZE)
def _tree(key: SkeletonKey, content: tuple[bytes, ...] | None) -> Tree:
    readings = read_all(key.skeleton.names)
    if content is None:
        return Tree(key.skeleton, readings)
    counts, centers, reaches = (np.frombuffer(part) for part in content)
    skin = SkinEvidence(counts, centers.reshape(-1, 3), reaches)
    inner = [joint for joint, children in enumerate(key.skeleton.children) if children and joint]
    ends = frozenset(
        joint for joint, children in enumerate(key.skeleton.children)
        if joint and not children and not counts[joint] and not readings[joint].parts
    )  # fmt: skip
    if not inner or np.mean(counts[inner] > 0) < SETTINGS.weighted_share:
        ends = frozenset()
    readings = tuple(replace(r, kind="helper") if joint in ends else r for joint, r in enumerate(readings))
    return Tree(key.skeleton, readings, ends, skin)


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
    """Return whether two branches have bones of about the same lengths along some path of each.

    The longest paths first: other paths match where one hand holds something, or a thumb is as long as a finger.
    """
    if _alike_paths(tree, tree.longest_path(a), tree.longest_path(b)):
        return True
    starts = []
    for joint in (a, b):
        paths = sorted(tree.paths_down(joint), key=lambda path: -_reach(tree, path))[: SETTINGS.paths]
        enough = SETTINGS.held * _reach(tree, paths[0])
        parts = {path[:stop] for path in paths for stop in range(3, len(path) + 1)}
        starts.append([part for part in parts if _reach(tree, part) > enough])
    return any(_alike_paths(tree, one, other) for one, other in product(*starts))


def _reach(tree: Tree, path: tuple[int, ...]) -> float:
    return tree.path_length(path) + float(tree.tips[path[-1]])


def _alike_paths(tree: Tree, path_a: tuple[int, ...], path_b: tuple[int, ...]) -> bool:
    """Return whether two paths have as many bones, of about the same lengths."""
    slack = SETTINGS.slack * tree.size
    reach_a, reach_b = _reach(tree, path_a), _reach(tree, path_b)
    if len(path_a) != len(path_b) or abs(reach_a - reach_b) > max(slack, SETTINGS.branch * max(reach_a, reach_b)):
        return False
    bones_a, bones_b = tree.lengths[list(path_a)], tree.lengths[list(path_b)]
    return bool(np.all(np.abs(bones_a - bones_b) < np.maximum(slack, SETTINGS.bone * np.maximum(bones_a, bones_b))))
