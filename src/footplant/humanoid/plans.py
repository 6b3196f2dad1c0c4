"""Candidate body plans from tree, names and lengths: two legs, two arms and a head, before any pose is used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from footplant.humanoid.cache import CACHE_SIZE
from footplant.humanoid.limb import ARM, LEG, Limb, fit_pair
from footplant.humanoid.shape import LimbPair, Tree, mirror_pairs


@dataclass(frozen=True)
class PlanSettings:
    """Weights and proportions of the score of a body plan; scores are dimensionless and added to those of the limbs.

    No experiment is on record for these numbers; the rigs of the tests check them.
    """

    tried: int = 12
    """Pairs of branches tried as legs, and as many as arms; more is slower."""
    leg_to_arm: tuple[float, float] = (1.5, 0.5)
    """Length of legs over arms in people, and width of the penalty in logarithms."""
    trunk_to_leg: tuple[float, float] = (0.5, 0.6)
    """Length of trunk over legs in people, and width of the penalty in logarithms."""
    trunk_weight: float = 0.5
    """Weight of the penalty on the trunk."""
    legs_below: float = 2.0
    """Penalty for legs that branch off farther from the hips than the arms."""
    hips_depth: float = 0.3
    """Penalty for each ancestor of the hips, up to three."""
    head_length: float = 0.4
    """Length from the chest to the head over that of legs and trunk, above which a penalty grows."""
    low_head: float = 0.7
    """Penalty for each joint by which a head branches off below the chest."""
    named_head: float = 4.0
    """Score of a path to a joint named as a head."""
    named_neck: float = 2.0
    """Score of a path that starts at a joint named as a neck."""
    helper_head: float = -4.0
    """Score of a path that starts at a helper or twist joint, or at hair and the like."""
    sided_head: float = -2.0
    """Score of a path that starts at a joint with a side."""
    crown_bone: float = 1.4
    """A last bone this many times longer than the one before is the top of the head, not a neck joint; used only where
    the rest pose does not stand."""
    crown_height: float = 0.5
    """Height above the shoulders at rest, in lengths of the trunk (hip joints to shoulders), from which a joint at the
    end of the neck is the top of the head. Heads are at 0.08 to 0.45, tops at 0.55 and more."""


SETTINGS = PlanSettings()


@dataclass(frozen=True, eq=False)
class Plan:
    """A choice of two legs, two arms and a head."""

    legs: LimbPair
    arms: LimbPair
    leg_limbs: tuple[Limb, Limb]
    arm_limbs: tuple[Limb, Limb]
    hips: int
    """The common ancestor of both pairs."""
    chest: int
    """The parent of the arms."""
    head_path: tuple[int, ...] = ()
    """From above the chest to the head; empty without a head."""


@dataclass(frozen=True, eq=False)
class HeadPath:
    """One path from above the chest to a possible head."""

    plan: Plan
    """The plan with this head."""
    score: float
    """Score of names and lengths."""
    below: int
    """The joint at which the line from the hips to the head may bend."""
    own_spine: bool
    """Whether it has a spine of its own beside the parent of the arms."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A pair of legs and a pair of arms with the trunk between them, and their possible heads."""

    plan: Plan
    """Without a head."""
    score: float
    """Score without head and poses."""
    heads: tuple[HeadPath, ...]


@lru_cache(maxsize=CACHE_SIZE)
def candidates(tree: Tree) -> tuple[Candidate, ...]:
    """Return all plans that the tree allows, those with the best limbs first."""
    pairs, read = mirror_pairs(tree), []
    for kind in (LEG, ARM):
        found = [(pair, limbs) for pair in pairs if (limbs := fit_pair(tree, pair.first, pair.second, kind))]
        found.sort(key=lambda item: -item[1][0].score - item[1][1].score)
        read.append(found[: SETTINGS.tried])
    joined = (_join(tree, leg, arm) for leg, arm in product(*read))
    return tuple(candidate for candidate in joined if candidate is not None)


@lru_cache(maxsize=CACHE_SIZE)
def swapped(plan: Plan) -> Plan:
    """Return the plan with its arms in the other order."""
    return replace(plan, arm_limbs=plan.arm_limbs[::-1])


def _join(tree: Tree, legs, arms) -> Candidate | None:
    """Score a pair of legs and a pair of arms together, with trunk and head; None when they cannot be combined."""
    (leg_pair, leg_limbs), (arm_pair, arm_limbs) = legs, arms
    branches = {leg_pair.first, leg_pair.second, arm_pair.first, arm_pair.second}
    if len(branches) < 4:
        return None
    above_arms, above_legs = set(tree.ancestors(arm_pair.parent)), set(tree.ancestors(leg_pair.parent))
    if above_arms & {leg_pair.first, leg_pair.second} or above_legs & {arm_pair.first, arm_pair.second}:
        return None
    hips = tree.common(leg_pair.parent, arm_pair.parent)
    chest = arm_pair.parent
    trunk = tree.path_length(path_between(tree, hips, chest)) or _trunk_of_one_joint(tree, leg_limbs, arm_limbs)
    to_legs = tree.path_length(path_between(tree, hips, leg_pair.parent))
    leg_length = float(np.mean([limb.length for limb in leg_limbs]))
    arm_length = float(np.mean([limb.length for limb in arm_limbs]))
    score = sum(limb.score for limb in (*leg_limbs, *arm_limbs))
    ratio, width = SETTINGS.leg_to_arm
    score -= (np.log(leg_length / arm_length / ratio) / width) ** 2
    ratio, width = SETTINGS.trunk_to_leg
    score -= (np.log(max(trunk, 1e-3 * leg_length) / leg_length / ratio) / width) ** 2 * SETTINGS.trunk_weight
    score -= SETTINGS.legs_below * (to_legs > trunk) + SETTINGS.hips_depth * float(tree.depth[hips] > 0) * min(
        3, tree.depth[hips]
    )
    plan = Plan(leg_pair, arm_pair, leg_limbs, arm_limbs, hips, chest)
    return Candidate(plan, float(score), tuple(_heads(tree, plan, branches, leg_length + trunk)))


def _trunk_of_one_joint(tree: Tree, leg_limbs: tuple[Limb, Limb], arm_limbs: tuple[Limb, Limb]) -> float:
    """Return the length of a trunk that is one joint: from the hip joints to the shoulders at rest."""
    places = tree.skeleton.rest_world[0]
    low = np.mean([places[limb.joints["upper_leg"]] for limb in leg_limbs], axis=0)
    high = np.mean([places[limb.joints["upper_arm"]] for limb in arm_limbs], axis=0)
    return float(np.linalg.norm(high - low))


def path_between(tree: Tree, ancestor: int, joint: int) -> tuple[int, ...]:
    """Return the joints from an ancestor down to a joint."""
    return tree.skeleton.chain(joint, ancestor)


def _heads(tree: Tree, plan: Plan, limbs: set[int], body: float) -> list[HeadPath]:
    """Return the paths from above the chest to a head, with scores; `body` is the length of legs and trunk."""
    hips, chest, found = plan.hips, plan.chest, []
    path = path_between(tree, hips, chest)
    above = set(tree.ancestors(chest))
    for height, joint in enumerate(path):
        for child in tree.skeleton.children[joint]:
            if child in above or limbs & set(tree.skeleton.descendants(child)):
                continue
            # a spine of its own beside the parent of the arms
            own_spine = joint == hips and len(path) > 1
            for way, score in _head_paths(tree, child, plan, longest=3 + len(path) * own_spine):
                length = tree.lengths[child] + tree.path_length(way)
                if own_spine:
                    length -= tree.path_length(path)
                score -= 0.5 * max(0.0, np.log(max(length, 1e-6) / (SETTINGS.head_length * body))) ** 2 / 0.2
                score -= SETTINGS.low_head * (len(path) - max(height, 1))
                below = chest if own_spine else joint
                found.append(HeadPath(replace(plan, head_path=way), float(score), below, own_spine))
    return found


def _head_paths(tree: Tree, start: int, plan: Plan, longest: int) -> list[tuple[tuple[int, ...], float]]:
    """Return paths from a joint above the chest (or hips) to a possible head, at most `longest` joints, with scores."""
    below = tree.skeleton.descendants(start)
    named = [joint for joint in below if tree.readings[joint].score("head") > 0.5]
    if named:
        head = min(named, key=lambda joint: tree.depth[joint])
        return [(path_between(tree, start, head), SETTINGS.named_head)]
    if any(tree.readings[joint].kind in ("helper", "other", "twist") for joint in (start,)):
        return [((start,), SETTINGS.helper_head)]
    if tree.readings[start].side is not None:
        return [((start,), SETTINGS.sided_head)]
    way = [start]
    while (child := _only_way_on(tree, way[-1])) is not None:
        way.append(child)
    if len(way) > 1 and (len(way) > longest or _is_crown(tree, plan, way)):
        way.pop()
    named_neck = tree.readings[start].score("neck") > 0.5
    return [(tuple(way), SETTINGS.named_neck if named_neck else 0.0)]


def _is_crown(tree: Tree, plan: Plan, way: list[int]) -> bool:
    """Return whether the last joint of a path is the top of the head: an end that is high above the shoulders."""
    if tree.skeleton.children[way[-1]] or tree.tips[way[-1]] > 0:
        return False
    places = tree.skeleton.rest_world[0]
    hips = np.mean([places[limb.joints["upper_leg"]] for limb in plan.leg_limbs], axis=0)
    feet = np.mean([places[limb.joints.get("foot", limb.path[-1])] for limb in plan.leg_limbs], axis=0)
    shoulders = np.mean([places[limb.joints["upper_arm"]] for limb in plan.arm_limbs], axis=0)
    trunk = shoulders - hips
    if _cosine(trunk, feet - hips) < -0.7:
        return bool((places[way[-1]] - shoulders) @ trunk > SETTINGS.crown_height * (trunk @ trunk))
    return bool(tree.lengths[way[-1]] > SETTINGS.crown_bone * tree.lengths[way[-2]])


def _only_way_on(tree: Tree, joint: int) -> int | None:
    """Return the one child that continues the chain; None at a head, which has no child or several."""
    places = tree.skeleton.rest_world[0]
    before = places[joint] - places[tree.skeleton.parents[joint]]
    children = [
        child for child in tree.skeleton.children[joint]
        # hair and jaws point back from the line of the neck
        if tree.readings[child].kind != "helper"
        and (tree.lengths[joint] < 1e-4 * tree.size or _cosine(before, places[child] - places[joint]) > -0.2)
    ]  # fmt: skip
    if len(children) == 1:
        return children[0]
    ends = sorted(float(tree.lengths[child]) for child in children if not tree.skeleton.children[child])
    if any(a > 0.9 * b > 0 for a, b in pairwise(ends)):
        # two ends of equal length: eyes or ears
        return None
    on = [child for child in children if tree.skeleton.children[child]]
    return on[0] if len(on) == 1 and tree.reach[on[0]] > 0.5 * tree.reach[joint] else None


def _cosine(a: NDArray, b: NDArray) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths > 0 else 0.0
