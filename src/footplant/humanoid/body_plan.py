"""The body plan: which branches are legs and arms, where hips, chest and head are, and which side is left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.errors import HumanoidError
from footplant.humanoid.cache import CACHE_SIZE
from footplant.humanoid.limb import Limb
from footplant.humanoid.names import ANIMAL
from footplant.humanoid.plans import Plan, candidates, path_between, swapped
from footplant.humanoid.posture import unit
from footplant.humanoid.shape import LimbPair, Tree, mirror_pairs

FEWEST_JOINTS = 10
"""Smallest joint count of a humanoid: two bones for each limb, a trunk and a head."""


@dataclass(frozen=True)
class BodyPlanSettings:
    """Thresholds for choosing a body plan and for telling humans from quadrupeds.

    No experiment is on record for these numbers; the rigs of the tests check them.
    """

    poses: int = 60
    """About how many frames of a motion are looked at."""
    no_head: float = -3.0
    """Score of a plan without a head."""
    folded_spine: float = 4.0
    """Penalty for a separate spine that is bent or has a single joint."""
    upright_weight: float = 4.0
    """Weight of trunk and legs being in line, −1 to 1, in the plan's score."""
    worst_limb: float = -6.0
    """Score of a limb below which there is no humanoid."""
    worst_plan: float = -6.0
    """Score of a plan below which there is no humanoid unless all limbs score at least 0."""
    folded_cosine: float = 0.75
    """Cosine between trunk and legs above which a pose carries no information (all bones along one axis)."""
    standing_cosine: float = -0.75
    """Cosine between trunk and legs below which a pose stands."""
    standing_share: float = 0.2
    """Fraction of standing poses above which a skeleton is not a quadruped; larger refuses more crawling humans. Dogs
    that stretch or jump up have 0.03."""
    animal_share: float = 0.9
    """The same where joints are named for an animal (a paw, a hoof, a hind leg, a dog)."""
    hand_height: float = 0.35
    """Median height of the hands above the feet, in leg lengths, below which a skeleton is a quadruped."""
    pelvis_nearer: float = 0.7
    """A nameless joint above the parent of legs and spine is the pelvis if its distance from the middle of the hip
    joints is below this fraction of the parent's."""
    side_conflict: float = 0.2
    """Evidence of feet and knees, −1 to 1, from which it contradicts the names of the sides."""
    rest_tips: float = 0.5
    """Evidence of the tips of the feet in the rest pose, −1 to 1, from which it decides alone."""
    side_evidence: float = 0.1
    """Evidence of feet and knees, −1 to 1, from which it decides the sides without names."""


SETTINGS = BodyPlanSettings()


@dataclass(frozen=True, eq=False)
class Body:
    """Hips, spine, neck, head and limbs of a skeleton."""

    hips: int
    """The joint that is the common ancestor of both legs and the spine."""
    spine: tuple[int, ...]
    """Joints above the hips, up to the one below the neck."""
    neck: tuple[int, ...]
    head: int | None
    sides: dict[str, tuple[Limb, Limb]]
    """"left" and "right" → leg and arm."""
    fit: float
    """How human the bone lengths are, 0 to 1."""
    side_confidence: float
    """Confidence in left and right, 0 to 1."""
    side_reason: str


def find_body(tree: Tree, positions: ArrayLike | None = None) -> Body:
    """Find the body plan of a humanoid skeleton; raises HumanoidError with the reason when there is none."""
    poses = sample_poses(tree, positions)
    plan, cosines = _best_plan(tree, poses)
    refuse_quadruped(plan, poses, cosines, animal=_animal_words(tree))
    plan = _same_side_first(tree, plan, poses)
    return _body(tree, plan, *_decide_sides(tree, plan, poses, cosines))


@lru_cache(maxsize=CACHE_SIZE)
def _body(tree: Tree, plan: Plan, first_is_left: bool, sure: float, reason: str) -> Body:
    hips = _carrier(tree, plan)
    head = plan.head_path[-1] if plan.head_path else None
    column, neck = path_between(tree, hips, plan.chest)[1:], plan.head_path[:-1]
    if head is not None and plan.chest != plan.hips and tree.skeleton.parents[plan.head_path[0]] == plan.hips:
        # the arms are children of a separate control: the spine is the chain that leads to the head
        column, neck = path_between(tree, hips, head)[1:-1], ()
    neck_start = next((n for n, j in enumerate(column) if tree.readings[j].score("neck") > 0.5), len(column))
    spine, neck = column[:neck_start], column[neck_start:] + neck
    if head is None and neck:
        neck, head = neck[:-1], neck[-1]
    order = ("left", "right") if first_is_left else ("right", "left")
    sides = {side: (plan.leg_limbs[n], plan.arm_limbs[n]) for n, side in enumerate(order)}
    shapes = [limb.shape_score for limb in (*plan.leg_limbs, *plan.arm_limbs)]
    return Body(hips, spine, neck, head, sides, float(np.clip(1.0 + np.mean(shapes) / 25.0, 0.6, 1.0)), sure, reason)


def sample_poses(tree: Tree, positions: ArrayLike | None) -> NDArray:
    """Return the rest pose and a subset of frames, (P, J, 3)."""
    rest = tree.skeleton.rest_world[0][None]
    if positions is None or len(np.asarray(positions)) == 0:
        return np.array(rest)
    frames = np.asarray(positions, float)
    return np.concatenate([rest, frames[:: max(1, len(frames) // SETTINGS.poses)]])


def _best_plan(tree: Tree, poses: NDArray) -> tuple[Plan, NDArray]:
    """Return the best-scoring plan and its leg cosines (see `_leg_cosines`)."""
    from footplant.humanoid._posture import straightest

    best: tuple[float, Plan, NDArray] | None = None
    for candidate in candidates(tree):
        cosines = _leg_cosines(candidate.plan, poses)
        plan, head_score = candidate.plan, SETTINGS.no_head
        for head in candidate.heads:
            straight = straightest(poses, plan.hips, head.below, head.plan.head_path[-1])
            score = head.score + straight
            if head.own_spine:
                score -= SETTINGS.folded_spine * (straight < 0.5 or len(head.plan.head_path) < 2)
            if score > head_score:
                plan, head_score = head.plan, score
        score = candidate.score + head_score + SETTINGS.upright_weight * _upright(cosines)
        if best is None or score > best[0]:
            best = score, plan, cosines
    if best is None:
        raise HumanoidError(_why_none(tree, mirror_pairs(tree)))
    score, plan, cosines = best
    worst = min(limb.score for limb in (*plan.leg_limbs, *plan.arm_limbs))
    if worst < SETTINGS.worst_limb or (score < SETTINGS.worst_plan and worst < 0):
        raise HumanoidError("not a humanoid: limbs come in pairs, but without the proportions of legs and arms")
    return plan, cosines


def _ends(limbs: tuple[Limb, Limb], start: str, end: str) -> list[tuple[int, int]]:
    return [(limb.joints[start], limb.joints.get(end, limb.path[-1])) for limb in limbs]


def _leg_cosines(plan: Plan, poses: NDArray) -> NDArray:
    """Return the cosine between trunk and legs for each pose (P,); −1 when standing straight."""
    from footplant.humanoid import _posture as kernel

    hips, ends = np.array(_ends(plan.leg_limbs, "upper_leg", "foot")).T.copy()
    out = np.empty(len(poses))
    kernel.leg_cosines(poses, hips, ends, _shoulders(plan), out)
    return out


def _shoulders(plan: Plan) -> NDArray:
    return np.array([limb.joints["upper_arm"] for limb in plan.arm_limbs])


def _upright(cosines: NDArray) -> float:
    """Return 1 when trunk and legs are in line at rest or in most frames, −1 when they are folded together.

    cosines: see `_leg_cosines`.
    """
    cosines = -cosines
    return float(max(cosines[0], np.median(cosines[1:]))) if len(cosines) > 1 else float(cosines[0])


def _animal_words(tree: Tree) -> str:
    """Return the first joint name that tells an animal, "" without one."""
    for name, reading in zip(tree.skeleton.names, tree.readings):
        words = set(reading.words)
        if words & ANIMAL or (words & {"front", "rear", "back"} and words & {"leg", "foot", "toe"}):
            return name
    return ""


def refuse_quadruped(plan: Plan, poses: NDArray, cosines: NDArray, *, animal: str = "") -> None:
    """Raise HumanoidError when the trunk is across the legs and the front limbs reach as far down as the hind ones.

    animal: the name of a joint that tells an animal; then it must stand in nearly all poses.
    """
    # when trunk and legs are parallel (all bones along one axis) the rest pose carries no information
    informative = cosines < SETTINGS.folded_cosine
    if cosines[0] < SETTINGS.standing_cosine or not informative.any():
        return
    share = SETTINGS.animal_share if animal else SETTINGS.standing_share
    if np.mean(cosines[informative] < SETTINGS.standing_cosine) > share:
        return
    if animal:
        raise HumanoidError(f"not a humanoid: it does not stand upright, and {animal!r} is a quadruped's name")
    down = np.mean(
        [unit(poses[:, end] - poses[:, start]) for start, end in _ends(plan.leg_limbs, "upper_leg", "foot")], axis=0
    )
    feet = np.mean([poses[:, end] for _, end in _ends(plan.leg_limbs, "upper_leg", "foot")], axis=0)
    hands = np.mean([poses[:, end] for _, end in _ends(plan.arm_limbs, "upper_arm", "hand")], axis=0)
    leg = np.mean(
        [np.linalg.norm(poses[:, e] - poses[:, s], axis=1) for s, e in _ends(plan.leg_limbs, "upper_leg", "foot")],
        axis=0,
    )
    above = np.sum((feet - hands) * down, axis=1) / np.where(leg > 0, leg, 1.0)
    if np.median(above[informative]) < SETTINGS.hand_height:
        raise HumanoidError(
            "not a humanoid: the trunk lies across the legs, and front and hind limbs both reach the ground, "
            "so it looks like a quadruped"
        )


def _carrier(tree: Tree, plan: Plan) -> int:
    """Return the hips: the parent of legs and spine, or a joint just above with that name or between the hip joints.

    In 3ds Max rigs the legs are children of the lowest vertebra, which is above the pelvis.
    """
    if tree.readings[plan.hips].score("hips") > 0.5:
        return plan.hips
    above = tree.ancestors(plan.hips)[1:3]
    for joint in above:
        if tree.readings[joint].score("hips") >= 0.9:
            return joint
    places = tree.skeleton.rest_world[0]
    center = np.mean([places[limb.joints["upper_leg"]] for limb in plan.leg_limbs], axis=0)
    apart = {joint: float(np.linalg.norm(places[joint] - center)) for joint in (plan.hips, *above)}
    near = [joint for joint in above if apart[joint] < SETTINGS.pelvis_nearer * apart[plan.hips]]
    if near and not tree.readings[plan.hips].parts:
        return min(near, key=lambda joint: apart[joint])
    return plan.hips


def _votes(tree: Tree, limbs: tuple[Limb, Limb]) -> int:
    """Return a positive count when the names say that the first of two limbs is the left one."""
    worth = {"left": 1, "right": -1, None: 0}
    return sum(
        sign * worth[tree.readings[joint].side] for sign, limb in zip((1, -1), limbs) for joint in limb.joints.values()
    )


def _same_side_first(tree: Tree, plan: Plan, poses: NDArray) -> Plan:
    """Return the plan with its arms ordered such that the first arm is on the side of the first leg."""
    named = _votes(tree, plan.leg_limbs) * _votes(tree, plan.arm_limbs)
    if not named:
        across = [
            unit(poses[:, limbs[0].joints[role]] - poses[:, limbs[1].joints[role]])
            for limbs, role in ((plan.leg_limbs, "upper_leg"), (plan.arm_limbs, "upper_arm"))
        ]
        named = float(np.sum(across[0] * across[1]))
    return plan if named >= 0 else swapped(plan)


def _decide_sides(tree: Tree, plan: Plan, poses: NDArray, cosines: NDArray) -> tuple[bool, float, str]:
    """Return whether the first limb of each pair is the left one, the confidence, and the reason."""
    votes = _votes(tree, plan.leg_limbs) + _votes(tree, plan.arm_limbs)
    shape = _side_by_shape(tree, plan, poses, cosines)
    if votes:
        if shape * votes < -SETTINGS.side_conflict * abs(votes):
            return votes > 0, 0.75, "the names tell left from right, although feet and knees point the other way"
        return votes > 0, 1.0, "the names tell left from right"
    if abs(shape) > SETTINGS.side_evidence:
        return shape > 0, 0.9, "feet and knees point forward, which tells left from right"
    across = np.mean(
        [poses[0, a.joints["upper_leg"], 0] - poses[0, b.joints["upper_leg"], 0] for a, b in [plan.leg_limbs]]
    )
    return bool(across >= 0), 0.6, "nothing tells left from right; left is assumed to be +x, as is usual"


def _side_by_shape(tree: Tree, plan: Plan, poses: NDArray, cosines: NDArray) -> float:
    """Return a positive number when the first limbs are the left ones: left = up × forward, from toes and knees."""
    from footplant.humanoid._posture import side_turn

    legs = np.array(
        [
            (*(limb.joints[part] for part in ("upper_leg", "lower_leg")), limb.joints.get("foot", limb.path[-1]),
             limb.joints.get("toes", -1))
            for limb in plan.leg_limbs
        ]
    )  # fmt: skip
    tips = _tip_directions(tree, plan)
    if tips.any():
        # the tips are known in the rest pose only; if that stands, they say more than the knees of the frames
        rest = side_turn(poses[:1], cosines[:1], legs, _shoulders(plan), tips, np.empty((3, 3)))
        if abs(rest) > SETTINGS.rest_tips:
            return rest
    return side_turn(poses, cosines, legs, _shoulders(plan), tips, np.empty((3, 3)))


@lru_cache(maxsize=CACHE_SIZE)
def _tip_directions(tree: Tree, plan: Plan) -> NDArray:
    """Return the summed direction (3,) of the tips of the feet in the rest pose: of their mesh, else of end sites."""
    skeleton, total = tree.skeleton, np.zeros(3)
    places = skeleton.rest_world[0]
    for limb in plan.leg_limbs:
        if "foot" not in limb.joints:
            continue
        foot = limb.joints["foot"]
        down = unit(places[foot] - places[limb.joints["upper_leg"]])
        tips = []
        below = list(skeleton.descendants(foot))
        if tree.skin is not None and tree.skin.counts[below].sum() > 0:
            tips = [tree.skin.counts[below] @ tree.skin.centers[below] / tree.skin.counts[below].sum()]
        elif "toes" not in limb.joints:
            tips = [place for parent, place in zip(skeleton.end_parents, skeleton.rest_ends) if parent == foot]
        for place in tips:
            tip = place - places[foot]
            total += unit(tip - (tip @ down) * down) * float(np.linalg.norm(tip) > 0)
    return total


def _why_none(tree: Tree, pairs: list[LimbPair]) -> str:
    """Return the reason why no plan was found, in one sentence."""
    skeleton = tree.skeleton
    fingers = sum(1 for r in tree.readings if set(r.parts) & {"thumb", "index", "middle", "ring", "little"})
    if fingers > 0.5 * len(skeleton):
        return "not a humanoid: most joints are finger joints, so it looks like a hand"
    if len(skeleton) < FEWEST_JOINTS:
        return f"not a humanoid: {len(skeleton)} joints are too few for legs, arms and a head"
    if all(len(children) <= 1 for children in skeleton.children):
        return "not a humanoid: the joints form a chain without branches"
    if not pairs:
        return "not a humanoid: no two limbs mirror one another"
    return "not a humanoid: expected a pair of legs and a pair of arms with two bones each on a common trunk"
