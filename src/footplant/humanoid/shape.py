"""What a skeleton's shape says: lengths along its branches, limbs that mirror one another, and how a pose stands.

Only lengths and the tree are used to find limbs, so the axes, the scale and the rest pose do not matter. Poses are
looked at afterwards, to tell the way up, the way forward and therefore left from right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from footplant.humanoid.names import Reading
from footplant.skeleton import Skeleton

LEG = ("upper_leg", "lower_leg", "foot", "toes")
ARM = ("clavicle", "upper_arm", "lower_arm", "hand")
_NAME_WEIGHT = 3.0
_LONGEST_PATH = 14


@dataclass(frozen=True)
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

    def longest_way(self, joint: int) -> tuple[int, ...]:
        """The path to the farthest end."""
        path = [joint]
        while self.skeleton.children[path[-1]]:
            path.append(max(self.skeleton.children[path[-1]], key=lambda c: self.reach[c] + self.lengths[c]))
        return tuple(path)


@dataclass(frozen=True)
class Limb:
    """One way to read a branch as a leg or an arm."""

    joints: dict[str, int]
    """Role (without the side) → joint."""
    path: tuple[int, ...]
    """The branch that was read, from its first joint."""
    score: float
    """Names and lengths together; larger fits better."""
    name_score: float
    """The names' part of it, per role, −1 to 1."""
    shape_score: float
    """The lengths' part of it, 0 (as in a human) downwards."""


def fit_limb(tree: Tree, start: int, kind: tuple[str, ...]) -> Limb | None:
    """The best reading of the branch at `start` as a leg or an arm, or None when it has fewer than two bones."""
    best: Limb | None = None
    seen: set[tuple[int | None, ...]] = set()
    for way in tree.ways_down(start):
        path = way[:_LONGEST_PATH]
        for chosen in _choices(len(path), kind):
            joints = tuple(None if place is None else path[place] for place in chosen)
            if joints in seen:
                continue
            seen.add(joints)
            limb = _judge(tree, path, chosen, kind)
            if limb and (best is None or limb.score > best.score + 1e-9):
                best = limb
    return best


def _choices(count: int, kind: tuple[str, ...]):
    """Which places of a path are the four roles, the optional one (toes, clavicle) possibly absent."""
    if count >= 3:
        for places in combinations(range(count), 3):
            yield (*places, None) if kind is LEG else (None, *places)
    if count >= 4:
        yield from combinations(range(count), 4)
    if count == 2:
        # feet or hands that hang elsewhere in the tree, or are missing
        yield (0, 1, None, None) if kind is LEG else (None, 0, 1, None)


def _judge(tree: Tree, path: tuple[int, ...], places: tuple[int | None, ...], kind: tuple[str, ...]) -> Limb | None:
    joints = {role: path[place] for role, place in zip(kind, places) if place is not None}
    lengths = np.cumsum([tree.lengths[joint] for joint in path])
    if kind is LEG:
        first, second, third, optional = places
        attach = lengths[first]
    else:
        optional, first, second, third = places
        attach = lengths[first if optional is None else optional]
    upper = lengths[second] - lengths[first]
    end = lengths[-1] + tree.tips[path[-1]] if third is None else lengths[third]
    lower = end - lengths[second]
    if upper <= 1e-6 * tree.size or lower <= 1e-6 * tree.size:
        return None
    shape = -_bell(upper / lower, 1.0, 0.28)
    # a hip or collar bone is short beside the bones that follow
    shape -= 0.35 * max(0.0, np.log(max(attach / (upper + lower), 1e-3) / 0.3)) ** 2 / 0.25
    if kind is LEG and third is not None:
        beyond = (tree.reach[path[third]]) / (upper + lower)
        shape -= 0.3 * max(0.0, np.log(max(beyond, 1e-3) / 0.45)) ** 2 / 0.1
        if optional is not None:
            foot = lengths[optional] - lengths[third]
            if foot <= 1e-6 * tree.size:
                return None
            shape -= 0.5 * _bell(foot / (upper + lower), 0.17, 0.5) + 0.02
        else:
            shape -= 0.25 * (len(path) > third + 1)
    if kind is ARM:
        if optional is not None:
            clavicle = lengths[first] - lengths[optional]
            if clavicle < 1e-6 * tree.size:
                shape -= 0.3
            else:
                shape -= 0.4 * _bell(clavicle / (upper + lower), 0.25, 0.6)
        else:
            shape -= 0.25 * (first > 0)
        if third is not None:
            beyond = tree.reach[path[third]] / (upper + lower)
            shape -= 0.3 * max(0.0, np.log(max(beyond, 1e-3) / 0.4)) ** 2 / 0.1
            # a wrist that has fingers fanning out below it is more of a wrist
            shape += 0.3 * (len(tree.skeleton.children[path[third]]) >= 3)
    used = {place for place in places if place is not None}
    shape -= 0.25 * sum(1 for place in range(min(used), max(used)) if place not in used)
    shape -= 0.6 * (third is None)
    names = [tree.readings[joint].score(role) for role, joint in joints.items()]
    skipped = 0.0
    for place in range(max(used)):
        if place not in used:
            reading = tree.readings[path[place]]
            skipped += (
                0.5
                * max((reading.parts.get(role, 0.0) for role in kind if role not in joints), default=0.0)
                * (reading.kind == "bone")
            )
    name_total = _NAME_WEIGHT * (sum(names) - skipped)
    return Limb(joints, path, name_total + float(shape), float(np.mean(names)), float(shape))


def _bell(ratio: float, center: float, width: float) -> float:
    """How unusual a ratio of lengths is: squared, in widths of its logarithm, levelling off at 9."""
    return float(min((np.log(max(ratio, 1e-6) / center) / width) ** 2, 9.0))


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
        long = [c for c in children if tree.reach[c] > 0.08 * tree.size]
        for a, b in combinations(long, 2):
            ra, rb = tree.readings[a], tree.readings[b]
            if ra.side and rb.side:
                if ra.side == rb.side or not (ra.key == rb.key or set(ra.parts) & set(rb.parts) or _alike(tree, a, b)):
                    continue
            elif not _alike(tree, a, b):
                continue
            pairs.append(LimbPair(parent, a, b))
    return pairs


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
