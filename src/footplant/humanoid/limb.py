"""Fit a branch of a skeleton as a leg or an arm: which of its joints is the hip, the knee, the ankle …"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import accumulate, combinations
from math import log

import numpy as np

from footplant.humanoid.shape import Tree

LEG = ("upper_leg", "lower_leg", "foot", "toes")
ARM = ("clavicle", "upper_arm", "lower_arm", "hand")


@dataclass(frozen=True)
class LimbSettings:
    """Weights and proportions of the score by which a branch is read as a leg or an arm.

    Scores are dimensionless: about 0 for a human limb, negative otherwise; a clear joint name adds `name_weight`. None
    of the numbers has an experiment on record; the rigs of the tests check them.
    """

    name_weight: float = 3.0
    """Weight of a joint name's score against the shape's score; larger trusts names more than proportions."""
    longest_path: int = 12
    """Joints of a branch that are looked at."""
    most_before: int = 4
    """Largest number of joints of a branch before the first one with a role."""
    best_branches: float = 2.2
    """Upper bound of the topology score (`_branches`), used to prune candidates; must not be too small."""
    tried_first: int = 20
    """Most promising candidates that are scored first, to raise the pruning threshold early; affects speed only."""
    symmetry_bonus: float = 1.0
    """Score for reading both limbs of a pair with the same path indices."""
    named_weight: float = 0.5
    """Weight of the shape's score where names are clear: cartoon proportions count less."""
    clear_names: float = 0.6
    """Mean name score above which names are clear."""
    bone_ratio: tuple[float, float] = (1.0, 1.1)
    """Upper over lower bone in people: legs, arms."""
    bone_ratio_width: float = 0.3
    """Width of the penalty on that ratio, in logarithms; doubling quarters the penalty."""
    beside: tuple[float, float] = (0.03, 0.1)
    """Smallest distance of hip joint or shoulder from the midline over the limb's length: legs, arms."""
    beside_penalty: tuple[float, float] = (1.0, 1.5)
    """Penalty for a hip joint or shoulder nearer to the midline: legs, arms."""
    far: tuple[float, float] = (0.3, 0.55)
    """Distance from the midline over the limb's length beyond which a penalty grows: legs, arms."""
    far_penalty: float = 1.4
    """Factor of that penalty, which is quadratic in the logarithm."""
    end_length: tuple[float, float] = (0.45, 0.42)
    """Length beyond ankle or wrist over the limb's length, above which a penalty grows: legs, arms."""
    end_penalty: float = 3.0
    """Factor of that penalty, which is quadratic in the logarithm."""
    extra_bone: tuple[tuple[float, float], tuple[float, float]] = ((0.17, 0.5), (0.25, 0.6))
    """Length of foot (legs) or clavicle (arms) over the limb's length, and width of the penalty in logarithms."""
    extra_bone_weight: float = 0.4
    """Weight of that penalty, which is capped at 2."""
    skipped_beside: float = 0.7
    """Penalty for skipping a joint next to one with a role (a dummy joint)."""
    skipped: float = 1.0
    """Penalty for skipping a joint in the middle of a bone."""
    no_toes: float = 0.25
    """Penalty for a leg that continues beyond the ankle but gets no toes."""
    late_start: float = 0.25
    """Penalty for each joint before the first one with a role."""
    no_end: float = 2.5
    """Penalty for a limb without foot or hand."""
    no_end_named: float = 0.6
    """The same where all names are clear."""
    fan: float = 1.0
    """Score for three or more branches at ankle or wrist (fingers, toes)."""
    pair_at_wrist: float = 0.5
    """Score for two or more branches at a wrist."""
    bent_ankle: float = 1.2
    """Score for an ankle at which the rest pose bends."""
    early_fan: float = 2.0
    """Penalty for three or more branches before ankle or wrist."""
    side_branch: float = 1.5
    """Penalty for following a branch much shorter than its sibling."""
    toe_number: float = 0.1
    """Penalty per toe number: of several toes the first one, the big toe, is taken."""
    left_out_name: float = 0.5
    """Penalty for skipping a joint whose name fits an absent role, times its name score."""
    bend_cosine: float = 0.75
    """Cosine of the angle between two bones below which a path bends."""


SETTINGS = LimbSettings()


@dataclass(frozen=True)
class Limb:
    """One interpretation of a branch as a leg or an arm."""

    joints: dict[str, int]
    """Role (without the side) → joint."""
    places: dict[str, int]
    """Role → index on the path."""
    path: tuple[int, ...]
    """The branch, from its first joint."""
    score: float
    """Score of names and shape together; larger fits better."""
    shape_score: float
    """The shape's part of the score: about 0 for a human limb, negative otherwise."""
    length: float
    """Length from the hip joint to the ankle or from the shoulder to the wrist, in the skeleton's units."""


class _Path:
    """A branch from its first joint outwards, with precomputed lengths and name scores."""

    fixed: list[tuple[str, int | None]]
    """Role → index, for every role of a limb whose names follow a known scheme; empty without one."""
    other: bool
    """Whether the names follow a known scheme for the other kind of limb."""

    def __init__(self, tree: Tree, joints: tuple[int, ...], kind: tuple[str, ...]) -> None:
        self.joints, self.kind = joints, kind
        self._measure(tree, joints)
        self._read_names(tree, joints, kind)

    def _measure(self, tree: Tree, joints: tuple[int, ...]) -> None:
        """Precompute lengths, forks, bends and side branches."""
        lengths = [float(tree.lengths[joint]) for joint in joints]
        self.along = list(accumulate(lengths))
        self.end = self.along[-1] + float(tree.tips[joints[-1]])
        if self.end == self.along[-1] and tree.skin is not None and not tree.skeleton.children[joints[-1]]:
            # without an end site the mesh tells how long the last bone is
            self.end += float(tree.skin.reaches[joints[-1]])
        self.reach = [float(tree.reach[joint]) for joint in joints]
        self.forks = [int(tree.forks[joint]) for joint in joints]
        self.bends = [_bends_at(tree, joints, place) for place in range(len(joints))]
        self.nothing = 1e-6 * tree.size
        self.aside = [False] * len(joints)
        for place, joint in enumerate(joints[:-1]):
            longest = max(tree.reach[child] + tree.lengths[child] for child in tree.skeleton.children[joint])
            self.aside[place] = bool(self.reach[place + 1] + lengths[place + 1] < 0.6 * longest)

    def _read_names(self, tree: Tree, joints: tuple[int, ...], kind: tuple[str, ...]) -> None:
        """Score every joint's name for every role of the limb."""
        readings = [tree.readings[joint] for joint in joints]
        self.by_role = [[reading.score(role) for reading in readings] for role in kind]
        self.names = [{role: reading.score(role) for role in kind} for reading in readings]
        self.parts = [reading.parts if reading.kind == "bone" else {} for reading in readings]
        self.digits = [place for place, parts in enumerate(self.parts) if _is_finger(parts)]
        self.toe = [_first_number(reading.words) for reading in readings]
        named = {tree.named[joint].role: place for place, joint in enumerate(joints) if joint in tree.named}
        self.fixed = [(role, named.get(role)) for role in kind] if set(named) & set(kind) else []
        self.other = bool(named) and not self.fixed


@dataclass(frozen=True)
class _Places:
    """A choice of path indices: hip, knee, ankle and toes, or shoulder, elbow, wrist and clavicle."""

    first: int
    second: int
    third: int | None
    optional: int | None
    in_order: tuple[int | None, ...]
    """The four indices in the order of the roles."""
    roles: dict[str, int]
    """Role → index."""
    last: int
    """The outermost index."""


def _places(
    kind: tuple[str, ...], first: int, second: int, third: int | None = None, optional: int | None = None
) -> _Places:
    four = (first, second, third, optional) if kind is LEG else (optional, first, second, third)
    roles = {role: place for role, place in zip(kind, four) if place is not None}
    return _Places(first, second, third, optional, four, roles, max(roles.values()))


def fit_limb(tree: Tree, start: int, kind: tuple[str, ...]) -> Limb | None:
    """Return the best fit of the branch at `start` as a leg or an arm, or None when it has fewer than two bones."""
    candidates: list[tuple[float, _Path, _Places]] = []
    before: tuple[int, ...] = ()
    for path_joints in tree.paths_down(start):
        joints = path_joints[: SETTINGS.longest_path]
        # paths come depth first: what a path shares with any earlier one, it shares with the previous one
        shared = next((n for n, (a, b) in enumerate(zip(joints, before)) if a != b), min(len(joints), len(before)))
        before = joints
        if shared < len(joints):
            path = _Path(tree, joints, kind)
            candidates += [
                (_at_best(path, places), path, places)
                for places in _choices(len(joints), kind) if places.last >= shared and _allowed(path, places)
            ]  # fmt: skip
    best: Limb | None = None
    floor = -np.inf
    for _, path, places in sorted(candidates, key=lambda candidate: -candidate[0])[: SETTINGS.tried_first]:
        limb = _judge(path, places)
        floor = max(floor, limb.score) if limb else floor
    for bound, path, places in candidates:
        if bound >= floor - 1e-6:
            limb = _judge(path, places, floor)
            if limb and (best is None or limb.score > best.score + 1e-9):
                best, floor = limb, max(floor, limb.score)
    return best


def _allowed(path: _Path, places: _Places) -> bool:
    """Return whether a choice of indices agrees with the names, where they follow a known scheme."""
    if path.other:
        return False
    return all(
        places.roles.get(role) == place or (place is None and role in ("clavicle", "toes"))
        for role, place in path.fixed
    )


def _at_best(path: _Path, places: _Places) -> float:
    """Return an upper bound of a candidate's score from its names alone, which prunes most candidates."""
    total = 0.0
    for scores, place in zip(path.by_role, places.in_order):
        total += 0.0 if place is None else scores[place]
    return SETTINGS.name_weight * total + SETTINGS.best_branches


def fit_pair(tree: Tree, first: int, second: int, kind: tuple[str, ...]) -> tuple[Limb, Limb] | None:
    """Return the best fit of two branches that mirror one another, with equal path indices where that is possible."""
    one, other = fit_limb(tree, first, kind), fit_limb(tree, second, kind)
    if one is None or other is None:
        return None
    if one.places != other.places:
        likes = [(one, _alike(tree, one, second, kind)), (_alike(tree, other, first, kind), other)]
        pairs = [(a, b) for a, b in likes if a is not None and b is not None]
        # a symmetric fit gets a small bonus
        if pairs:
            best = max(pairs, key=lambda pair: pair[0].score + pair[1].score)
            if best[0].score + best[1].score + SETTINGS.symmetry_bonus > one.score + other.score:
                return best
    return one, other


def _alike(tree: Tree, limb: Limb, start: int, kind: tuple[str, ...]) -> Limb | None:
    """Return the branch at `start` fitted with the path indices of the limb on the other side."""
    order = [limb.places.get(role) for role in (kind if kind is LEG else (*kind[1:], kind[0]))]
    places = _places(kind, *order)  # type: ignore[arg-type]
    best: Limb | None = None
    for path_joints in tree.paths_down(start):
        if len(path_joints) > max(limb.places.values()):
            path = _Path(tree, path_joints[: SETTINGS.longest_path], kind)
            found = _judge(path, places) if _allowed(path, places) else None
            if found and (best is None or found.score > best.score):
                best = found
    return best


@cache
def _choices(count: int, kind: tuple[str, ...]) -> tuple[_Places, ...]:
    """Return all choices of indices on a path of `count` joints, those with feet or hands before those without."""
    starts = range(min(count, SETTINGS.most_before + 1))
    threes = [three for three in combinations(range(count), 3) if three[0] in starts]
    fours = [four for four in combinations(range(count), 4) if four[0] in starts]
    out = [_places(kind, *three) for three in threes]
    out += [_places(kind, *(four if kind is LEG else (*four[1:], four[0]))) for four in fours]
    # feet or hands that are elsewhere in the tree, or missing
    out += [_places(kind, *two) for two in combinations(range(count), 2) if two[0] in starts]
    if kind is ARM:
        out += [_places(kind, second, third, None, first) for first, second, third in threes]
    return tuple(out)


def _judge(path: _Path, places: _Places, floor: float = -np.inf) -> Limb | None:
    """Return the limb for a choice of indices; None when it cannot be a limb or cannot reach the score `floor`."""
    roles = places.roles
    names = [path.names[place][role] for role, place in roles.items()]
    named = min(names) > 0.9
    bones = _bones(path, places)
    proportions = None if bones is None else _proportions(path, places, *bones)
    if bones is None or proportions is None:
        return None
    # cartoon proportions count less where the names are clear
    weight = SETTINGS.named_weight if sum(names) > SETTINGS.clear_names * len(names) else 1.0
    if SETTINGS.name_weight * sum(names) + weight * (proportions + SETTINGS.best_branches) < floor - 1e-6:
        return None
    shape = proportions + _branches(path, places, set(roles.values()), named)
    score = SETTINGS.name_weight * (sum(names) - _names_left_out(path, roles)) + weight * shape
    joints = {role: path.joints[place] for role, place in roles.items()}
    return Limb(joints, roles, path.joints, score, shape, sum(bones))


def _bones(path: _Path, places: _Places) -> tuple[float, float] | None:
    """Return the lengths of the upper and the lower bone; None when one is zero."""
    along = path.along
    upper = along[places.second] - along[places.first]
    if places.third is not None:
        end = along[places.third]
    else:
        # without a joint of its own the wrist is where the fingers begin
        end = next((along[place] for place in path.digits if place > places.second), path.end)
    lower = end - along[places.second]
    if places.third is None and lower <= path.nothing and path.names[places.second][_lower(path.kind)] >= 0.5:
        # named, but without an end site from which to measure its length
        lower = upper
    return (upper, lower) if upper > path.nothing and lower > path.nothing else None


def _lower(kind: tuple[str, ...]) -> str:
    return "lower_leg" if kind is LEG else "lower_arm"


def _proportions(path: _Path, places: _Places, upper: float, lower: float) -> float | None:
    """Return how human the lengths are, 0 or less; None when the foot has zero length."""
    leg, along, both = path.kind is LEG, path.along, upper + lower
    limb = 0 if leg else 1
    score = -_bell(upper / lower, SETTINGS.bone_ratio[limb], SETTINGS.bone_ratio_width)
    # hip joints and shoulders are beside the midline, and not far from it
    beside = along[places.first] / both
    score -= SETTINGS.beside_penalty[limb] * (beside < SETTINGS.beside[limb])
    score -= SETTINGS.far_penalty * max(0.0, log(max(beside, 1e-3) / SETTINGS.far[limb])) ** 2
    if places.third is not None:
        # hands and feet are short
        beyond = path.reach[places.third] / both
        score -= SETTINGS.end_penalty * max(0.0, log(max(beyond, 1e-3) / SETTINGS.end_length[limb])) ** 2
        if places.optional is not None:
            near, far = (places.third, places.optional) if leg else (places.optional, places.first)
            bone = along[far] - along[near]
            if leg and bone <= path.nothing:
                return None
            usual, width = SETTINGS.extra_bone[limb]
            score -= SETTINGS.extra_bone_weight * min(_bell(max(bone, path.nothing) / both, usual, width), 2.0)
    return score


def _branches(path: _Path, places: _Places, used: set[int], named: bool) -> float:
    """Return the score of the tree's topology: skipped joints, fans of fingers, and side branches taken."""
    along, score = path.along, 0.0
    first, last = min(used), max(used)
    size = max(along[last] - along[first], path.nothing)
    for place in range(first + 1, last):
        if place not in used and along[place] > along[place - 1]:
            # a joint next to one with a role is a dummy joint; one in the middle of a bone costs more
            beside = min(abs(along[place] - along[other]) for other in used) < 0.1 * size
            score -= SETTINGS.skipped_beside if beside else SETTINGS.skipped
    if path.kind is LEG and places.optional is None and places.third is not None:
        score -= SETTINGS.no_toes * (len(path.joints) > places.third + 1)
    if path.kind is LEG or places.optional is None:
        score -= SETTINGS.late_start * places.first
    if places.third is None:
        score -= SETTINGS.no_end_named if named else SETTINGS.no_end
    else:
        score += SETTINGS.fan * (path.forks[places.third] >= 3)
        score += SETTINGS.pair_at_wrist * (path.kind is ARM and path.forks[places.third] >= 2)
        score += SETTINGS.bent_ankle * (path.kind is LEG and path.bends[places.third])
    for place in range(last if places.third is None else min(last, places.third)):
        score -= SETTINGS.early_fan * (path.forks[place] >= 3) + SETTINGS.side_branch * path.aside[place]
    if path.kind is LEG and places.optional is not None:
        # of several toes take the first, the big toe
        score -= SETTINGS.toe_number * min(path.toe[places.optional], 5)
    return score


def _bends_at(tree: Tree, path: tuple[int, ...], place: int) -> bool:
    """Return whether the path bends at a joint in the rest pose, as a foot does from its shank."""
    if place == 0:
        return False
    where = tree.skeleton.rest_world[0]
    if place + 1 < len(path):
        on = where[path[place + 1]]
    else:
        tips = np.flatnonzero(tree.skeleton.end_parents == path[place])
        if not len(tips):
            return False
        on = tree.skeleton.rest_ends[tips[0]]
    before, after = where[path[place]] - where[path[place - 1]], on - where[path[place]]
    lengths = np.linalg.norm(before) * np.linalg.norm(after)
    return bool(lengths > 0 and before @ after < SETTINGS.bend_cosine * lengths)


def _names_left_out(path: _Path, roles: dict[str, int]) -> float:
    """Return the penalty for skipped joints whose names fit a role that is absent or assigned further out.

    Of a wrist and a hand in one arm, the wrist therefore becomes the hand joint.
    """
    total, used = 0.0, set(roles.values())
    for place in range(max(used)):
        if place not in used and path.parts[place]:
            later = [role for role in path.kind if roles.get(role, place + 1) > place]
            total += SETTINGS.left_out_name * max((path.parts[place].get(role, 0.0) for role in later), default=0.0)
    return total


def _is_finger(parts: dict[str, float]) -> bool:
    return bool(parts) and max(parts, key=lambda part: parts[part]) in ("thumb", "index", "middle", "ring", "little")


def _first_number(words: tuple[str, ...]) -> int:
    """Return the first number after the word "toe"; 0 if there is none."""
    if "toe" not in words:
        return 0
    return next((int(word) for word in words[words.index("toe") :] if word.isdigit()), 0)


def _bell(ratio: float, center: float, width: float) -> float:
    """Return the squared log deviation of a ratio in units of `width`, capped at 9."""
    return min((log(max(ratio, 1e-6) / center) / width) ** 2, 9.0)
