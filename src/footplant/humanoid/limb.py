"""Reading a branch of a skeleton as a leg or an arm: which of its joints is the hip, the knee, the ankle …"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from footplant.humanoid.shape import Tree

LEG = ("upper_leg", "lower_leg", "foot", "toes")
ARM = ("clavicle", "upper_arm", "lower_arm", "hand")
_NAME_WEIGHT = 3.0
_LONGEST_PATH = 12


@dataclass(frozen=True)
class Limb:
    """One way to read a branch as a leg or an arm."""

    joints: dict[str, int]
    """Role (without the side) → joint."""
    path: tuple[int, ...]
    """The branch that was read, from its first joint."""
    score: float
    """Names and shape together; larger fits better."""
    shape_score: float
    """The shape's part of it: about 0 as in a human, negative otherwise."""


@dataclass(frozen=True)
class _Reading:
    """A choice of places on a path; the optional place is the toes or the collar bone."""

    path: tuple[int, ...]
    first: int
    second: int
    third: int | None
    optional: int | None
    kind: tuple[str, ...]

    @property
    def joints(self) -> dict[str, int]:
        """Role → joint."""
        four = (self.first, self.second, self.third, self.optional)
        places = four if self.kind is LEG else (four[3], *four[:3])
        return {role: self.path[place] for role, place in zip(self.kind, places) if place is not None}

    @property
    def used(self) -> set[int]:
        """The places that have a role."""
        return {p for p in (self.first, self.second, self.third, self.optional) if p is not None}


def fit_limb(tree: Tree, start: int, kind: tuple[str, ...]) -> Limb | None:
    """The best reading of the branch at `start` as a leg or an arm, or None when it has fewer than two bones."""
    best: Limb | None = None
    seen: set[tuple[tuple[str, int], ...]] = set()
    for way in tree.ways_down(start):
        path = way[:_LONGEST_PATH]
        for reading in _readings(path, kind):
            key = tuple(reading.joints.items())
            if key in seen:
                continue
            seen.add(key)
            limb = _judge(tree, reading)
            if limb and (best is None or limb.score > best.score + 1e-9):
                best = limb
    return best


def fit_pair(tree: Tree, first: int, second: int, kind: tuple[str, ...]) -> tuple[Limb, Limb] | None:
    """The best reading of two branches that mirror one another, alike where both can be read alike."""
    one, other = fit_limb(tree, first, kind), fit_limb(tree, second, kind)
    if one is None or other is None:
        return None
    if _places(one) != _places(other):
        likes = [(one, _alike(tree, one, second, kind)), (_alike(tree, other, first, kind), other)]
        pairs = [(a, b) for a, b in likes if a is not None and b is not None]
        # reading them alike is worth a little: people are symmetric
        if pairs:
            best = max(pairs, key=lambda pair: pair[0].score + pair[1].score)
            if best[0].score + best[1].score + 1.0 > one.score + other.score:
                return best
    return one, other


def _places(limb: Limb) -> dict[str, int]:
    return {role: limb.path.index(joint) for role, joint in limb.joints.items()}


def _alike(tree: Tree, limb: Limb, start: int, kind: tuple[str, ...]) -> Limb | None:
    """The branch at `start` read with the same places as a limb on the other side."""
    places = _places(limb)
    order = [places.get(role) for role in (kind if kind is LEG else (*kind[1:], kind[0]))]
    best: Limb | None = None
    for way in tree.ways_down(start):
        if len(way) > max(places.values()):
            reading = _Reading(way[:_LONGEST_PATH], *order, kind)  # type: ignore[arg-type]
            found = _judge(tree, reading)
            if found and (best is None or found.score > best.score):
                best = found
    return best


def _readings(path: tuple[int, ...], kind: tuple[str, ...]) -> Iterator[_Reading]:
    count = len(path)
    for first, second, third in combinations(range(count), 3):
        yield _Reading(path, first, second, third, None, kind)
    for places in combinations(range(count), 4):
        if kind is LEG:
            yield _Reading(path, *places, kind)
        else:
            yield _Reading(path, *places[1:], places[0], kind)
    if count >= 2:
        # feet or hands that hang elsewhere in the tree, or are missing
        yield _Reading(path, 0, 1, None, None, kind)


def _judge(tree: Tree, reading: _Reading) -> Limb | None:
    joints = reading.joints
    names = [tree.readings[joint].score(role) for role, joint in joints.items()]
    named = min(names) > 0.9
    proportions = _proportions(tree, reading, named)
    if proportions is None:
        return None
    shape = proportions + _branches(tree, reading, named)
    # cartoon proportions do not matter where the names are plain
    weight = 0.5 if np.mean(names) > 0.6 else 1.0
    score = _NAME_WEIGHT * (sum(names) - _names_left_out(tree, reading)) + weight * shape
    return Limb(joints, reading.path, float(score), float(shape))


def _proportions(tree: Tree, reading: _Reading, named: bool) -> float | None:
    """How human the lengths are, 0 downwards; None when a bone has no length."""
    path, leg = reading.path, reading.kind is LEG
    along = np.cumsum([tree.lengths[joint] for joint in path])
    upper = along[reading.second] - along[reading.first]
    end = along[-1] + tree.tips[path[-1]] if reading.third is None else along[reading.third]
    lower = end - along[reading.second]
    if reading.third is None and lower <= 0.0 and named:
        # named, but without an end that would tell its length
        lower = upper
    nothing = 1e-6 * tree.size
    if upper <= nothing or lower <= nothing:
        return None
    both = upper + lower
    score = -_bell(upper / lower, 1.0 if leg else 1.1, 0.3)
    # the hip joint and the shoulder are beside the middle line, and not far from it
    beside = along[reading.first] / both
    score -= (1.0 if leg else 1.5) * (beside < (0.03 if leg else 0.1))
    score -= 1.4 * max(0.0, np.log(max(beside, 1e-3) / (0.3 if leg else 0.55))) ** 2
    if reading.third is not None:
        # what follows ankle or wrist is short
        beyond = tree.reach[path[reading.third]] / both
        score -= 3.0 * max(0.0, np.log(max(beyond, 1e-3) / (0.45 if leg else 0.42))) ** 2
    if reading.optional is not None and reading.third is not None:
        bone = along[reading.optional] - along[reading.third] if leg else along[reading.first] - along[reading.optional]
        if leg and bone <= nothing:
            return None
        usual, width = (0.17, 0.5) if leg else (0.25, 0.6)
        score -= 0.4 * min(_bell(max(bone, nothing) / both, usual, width), 2.0)
    return float(score)


def _branches(tree: Tree, reading: _Reading, named: bool) -> float:
    """What the tree says besides lengths: joints left out, fans of fingers, and side branches taken."""
    path, used, score = reading.path, reading.used, 0.0
    last = max(used)
    along = np.cumsum([tree.lengths[joint] for joint in path[: last + 1]])
    size = max(float(along[-1] - along[min(used)]), 1e-12)
    for place in range(min(used) + 1, last):
        if place not in used and along[place] > along[place - 1]:
            # a joint right beside one with a role is a dummy, one in the midst of a bone needs an excuse
            score -= 0.7 if min(abs(along[place] - along[other]) for other in used) < 0.1 * size else 1.0
    if reading.kind is LEG and reading.optional is None and reading.third is not None:
        score -= 0.25 * (len(path) > reading.third + 1)
    if reading.kind is LEG or reading.optional is None:
        score -= 0.25 * reading.first
    if reading.third is None:
        score -= 0.6 if named else 2.5
    else:
        score += 1.0 * (tree.forks[path[reading.third]] >= 3)
        score += 0.5 * (reading.kind is ARM and tree.forks[path[reading.third]] >= 2)
        score += 1.2 * (reading.kind is LEG and _bends_at(tree, path, reading.third))
    for place in range(last):
        beyond_wrist = reading.third is not None and place >= reading.third
        if not beyond_wrist:
            score -= 2.0 * (tree.forks[path[place]] >= 3)
            ways = [tree.reach[child] + tree.lengths[child] for child in tree.skeleton.children[path[place]]]
            taken = tree.reach[path[place + 1]] + tree.lengths[path[place + 1]]
            score -= 1.5 * (taken < 0.6 * max(ways))
    if reading.kind is LEG and reading.optional is not None:
        # of several toes the first, which is the big one
        score -= 0.1 * min(_first_number(tree.readings[path[reading.optional]].words), 5)
    return float(score)


def _bends_at(tree: Tree, path: tuple[int, ...], place: int) -> bool:
    """Whether the way turns off at a joint in the rest pose, as a foot does from its shank."""
    places = tree.skeleton.rest_world[0]
    if place + 1 < len(path):
        on = places[path[place + 1]]
    else:
        tips = np.flatnonzero(tree.skeleton.end_parents == path[place])
        if not len(tips):
            return False
        on = tree.skeleton.rest_ends[tips[0]]
    before, after = places[path[place]] - places[path[place - 1]], on - places[path[place]]
    lengths = np.linalg.norm(before) * np.linalg.norm(after)
    return bool(lengths > 0 and before @ after < 0.75 * lengths)


def _names_left_out(tree: Tree, reading: _Reading) -> float:
    """Joints without a role whose names fit one that is absent or comes only further out.

    Of a wrist and a hand in one arm, the wrist is therefore the joint of the hand.
    """
    path, joints = reading.path, reading.joints
    total = 0.0
    for place in range(max(reading.used)):
        words = tree.readings[path[place]]
        if place not in reading.used and words.kind == "bone":
            later = [role for role in reading.kind if role not in joints or path.index(joints[role]) > place]
            total += 0.5 * max((words.parts.get(role, 0.0) for role in later), default=0.0)
    return total


def _first_number(words: tuple[str, ...]) -> int:
    """The first number after the word "toe"; 0 without."""
    if "toe" not in words:
        return 0
    return next((int(word) for word in words[words.index("toe") :] if word.isdigit()), 0)


def _bell(ratio: float, center: float, width: float) -> float:
    """How unusual a ratio of lengths is: squared, in widths of its logarithm, levelling off at 9."""
    return float(min((np.log(max(ratio, 1e-6) / center) / width) ** 2, 9.0))
