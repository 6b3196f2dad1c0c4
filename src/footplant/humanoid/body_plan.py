"""The plan of a body: which branches are the legs and the arms, where hips, chest and head are, which side is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.errors import HumanoidError
from footplant.humanoid.limb import ARM, LEG, Limb, fit_pair
from footplant.humanoid.shape import LimbPair, Tree, mirror_pairs

_POSES = 60
FEWEST_JOINTS = 10
"""Two bones for each limb, a trunk and a head."""


@dataclass(frozen=True)
class Body:
    """The large parts of a figure."""

    hips: int
    """The joint that carries both legs and the spine."""
    spine: tuple[int, ...]
    """Above the hips, up to the joint below the neck."""
    neck: tuple[int, ...]
    head: int | None
    sides: dict[str, tuple[Limb, Limb]]
    """"left" and "right" → leg and arm."""
    fit: float
    """How human the lengths are, 0 to 1."""
    side_confidence: float
    """How sure of left and right, 0 to 1."""
    side_reason: str


@dataclass(frozen=True)
class _Plan:
    """A choice of two legs, two arms and a head."""

    legs: LimbPair
    arms: LimbPair
    leg_limbs: tuple[Limb, Limb]
    arm_limbs: tuple[Limb, Limb]
    hips: int
    chest: int
    head_path: tuple[int, ...]
    score: float


def find_body(tree: Tree, positions: ArrayLike | None = None) -> Body:
    """Find the plan of a human body; HumanoidError says why when there is none."""
    poses = sample_poses(tree, positions)
    plan = _best_plan(tree, poses)
    refuse_quadruped(tree, plan, poses)
    plan = _same_side_first(tree, plan, poses)
    hips = _carrier(tree, plan)
    head = plan.head_path[-1] if plan.head_path else None
    column, neck = _path(tree, hips, plan.chest)[1:], plan.head_path[:-1]
    if head is not None and plan.chest != plan.hips and tree.skeleton.parents[plan.head_path[0]] == plan.hips:
        # the arms hang on a control of their own: the spine is what leads to the head
        column, neck = _path(tree, hips, head)[1:-1], ()
    neck_start = next((n for n, j in enumerate(column) if tree.readings[j].score("neck") > 0.5), len(column))
    spine, neck = column[:neck_start], column[neck_start:] + neck
    if head is None and neck:
        neck, head = neck[:-1], neck[-1]
    first_is_left, sure, reason = _tell_sides(tree, plan, poses)
    order = ("left", "right") if first_is_left else ("right", "left")
    sides = {side: (plan.leg_limbs[n], plan.arm_limbs[n]) for n, side in enumerate(order)}
    shapes = [limb.shape_score for limb in (*plan.leg_limbs, *plan.arm_limbs)]
    return Body(hips, spine, neck, head, sides, float(np.clip(1.0 + np.mean(shapes) / 25.0, 0.6, 1.0)), sure, reason)


def sample_poses(tree: Tree, positions: ArrayLike | None) -> NDArray:
    """(P, J, 3) the rest pose and some frames."""
    rest = tree.skeleton.rest_world[0][None]
    if positions is None or len(np.asarray(positions)) == 0:
        return np.array(rest)
    frames = np.asarray(positions, float)
    return np.concatenate([rest, frames[:: max(1, len(frames) // _POSES)]])


def _best_plan(tree: Tree, poses: NDArray) -> _Plan:
    pairs = mirror_pairs(tree)
    legs = [(pair, limbs) for pair in pairs if (limbs := fit_pair(tree, pair.first, pair.second, LEG))]
    arms = [(pair, limbs) for pair in pairs if (limbs := fit_pair(tree, pair.first, pair.second, ARM))]
    legs.sort(key=lambda item: -item[1][0].score - item[1][1].score)
    arms.sort(key=lambda item: -item[1][0].score - item[1][1].score)
    best: _Plan | None = None
    for leg, arm in product(legs[:12], arms[:12]):
        plan = _join(tree, leg, arm, poses)
        if plan and (best is None or plan.score > best.score):
            best = plan
    if best is None:
        raise HumanoidError(_why_none(tree, pairs))
    worst = min(limb.score for limb in (*best.leg_limbs, *best.arm_limbs))
    if worst < -6.0 or (best.score < -6.0 and worst < 0):
        raise HumanoidError("no human figure: its limbs come in pairs, but not in the proportions of legs and arms")
    return best


def _join(tree: Tree, legs, arms, poses: NDArray) -> _Plan | None:
    """Judge a pair of legs and a pair of arms together, with the trunk and the head between them."""
    (leg_pair, leg_limbs), (arm_pair, arm_limbs) = legs, arms
    branches = {leg_pair.first, leg_pair.second, arm_pair.first, arm_pair.second}
    if len(branches) < 4:
        return None
    above_arms, above_legs = set(tree.ancestors(arm_pair.parent)), set(tree.ancestors(leg_pair.parent))
    if above_arms & {leg_pair.first, leg_pair.second} or above_legs & {arm_pair.first, arm_pair.second}:
        return None
    hips = tree.common(leg_pair.parent, arm_pair.parent)
    chest = arm_pair.parent
    trunk = tree.path_length(_path(tree, hips, chest)) or _trunk_of_one_joint(tree, leg_limbs, arm_limbs)
    to_legs = tree.path_length(_path(tree, hips, leg_pair.parent))
    leg_length = float(np.mean([limb.length for limb in leg_limbs]))
    arm_length = float(np.mean([limb.length for limb in arm_limbs]))
    head_path, head_score = _find_head(tree, hips, chest, branches, leg_length + trunk, poses)
    score = sum(limb.score for limb in (*leg_limbs, *arm_limbs)) + head_score
    score -= (np.log(leg_length / arm_length / 1.5) / 0.5) ** 2
    score -= (np.log(max(trunk, 1e-3 * leg_length) / leg_length / 0.5) / 0.6) ** 2 * 0.5
    score -= 2.0 * (to_legs > trunk) + 0.3 * float(tree.depth[hips] > 0) * min(3, tree.depth[hips])
    plan = _Plan(leg_pair, arm_pair, leg_limbs, arm_limbs, hips, chest, head_path, 0.0)
    score += 4.0 * _upright(plan, poses)
    return _Plan(leg_pair, arm_pair, leg_limbs, arm_limbs, hips, chest, head_path, float(score))


def _trunk_of_one_joint(tree: Tree, leg_limbs: tuple[Limb, Limb], arm_limbs: tuple[Limb, Limb]) -> float:
    """Length of a trunk whose one joint carries legs and arms: from the hip joints to the shoulders at rest."""
    places = tree.skeleton.rest_world[0]
    low = np.mean([places[limb.joints["upper_leg"]] for limb in leg_limbs], axis=0)
    high = np.mean([places[limb.joints["upper_arm"]] for limb in arm_limbs], axis=0)
    return float(np.linalg.norm(high - low))


def _path(tree: Tree, ancestor: int, joint: int) -> tuple[int, ...]:
    return tree.skeleton.chain(joint, ancestor)


def _find_head(tree: Tree, hips: int, chest: int, limbs: set[int], body: float, poses: NDArray):
    """The way from above the chest to the head, and how well it fits."""
    best: tuple[tuple[int, ...], float] = ((), -3.0)
    path = _path(tree, hips, chest)
    above = set(tree.ancestors(chest))
    for height, joint in enumerate(path):
        for child in tree.skeleton.children[joint]:
            if child in above or limbs & set(tree.skeleton.descendants(child)):
                continue
            # a spine of its own beside the joint that carries the arms
            own_spine = joint == hips and len(path) > 1
            for way, score in _head_ways(tree, child, longest=3 + len(path) * own_spine):
                length = tree.lengths[child] + tree.path_length(way)
                if own_spine:
                    length -= tree.path_length(path)
                    straight = _straight_on(poses, hips, chest, way[-1])
                    score -= 4.0 * (straight < 0.5 or len(way) < 2)
                else:
                    straight = _straight_on(poses, hips, joint, way[-1])
                score -= 0.5 * max(0.0, np.log(max(length, 1e-6) / (0.4 * body))) ** 2 / 0.2
                score -= 0.7 * (len(path) - max(height, 1))
                score += straight
                if score > best[1]:
                    best = (way, score)
    return best


def _head_ways(tree: Tree, start: int, longest: int) -> list[tuple[tuple[int, ...], float]]:
    """Ways from a joint above the chest (or hips) to what may be the head; the last of more than `longest` is not."""
    below = tree.skeleton.descendants(start)
    named = [joint for joint in below if tree.readings[joint].score("head") > 0.5]
    if named:
        head = min(named, key=lambda joint: tree.depth[joint])
        return [(_path(tree, start, head), 4.0)]
    if any(tree.readings[joint].kind in ("helper", "other", "twist") for joint in (start,)):
        return [((start,), -4.0)]
    if tree.readings[start].side is not None:
        return [((start,), -2.0)]
    way = [start]
    while (child := _only_way_on(tree, way[-1])) is not None:
        way.append(child)
    bones = [float(tree.lengths[joint]) for joint in way]
    # a last bone much longer than the one before, ending in nothing, is the top of the head
    leaf = not tree.skeleton.children[way[-1]] and tree.tips[way[-1]] == 0
    if len(way) > 1 and leaf and (len(way) > longest or bones[-1] > 1.4 * bones[-2]):
        way.pop()
    named_neck = tree.readings[start].score("neck") > 0.5
    return [(tuple(way), 2.0 if named_neck else 0.0)]


def _only_way_on(tree: Tree, joint: int) -> int | None:
    """The child of a joint that goes on where others end at once; None at a head, which has none or several."""
    places = tree.skeleton.rest_world[0]
    before = places[joint] - places[tree.skeleton.parents[joint]]
    children = [
        child for child in tree.skeleton.children[joint]
        # hair and jaws turn back from the line of the neck
        if tree.readings[child].kind != "helper" and float(_cosine(before, places[child] - places[joint])) > -0.2
    ]  # fmt: skip
    if len(children) == 1:
        return children[0]
    ends = sorted(float(tree.lengths[child]) for child in children if not tree.skeleton.children[child])
    if any(a > 0.9 * b > 0 for a, b in pairwise(ends)):
        # two ends alike: eyes or ears
        return None
    on = [child for child in children if tree.skeleton.children[child]]
    return on[0] if len(on) == 1 and tree.reach[on[0]] > 0.5 * tree.reach[joint] else None


def _straight_on(poses: NDArray, hips: int, chest: int, head: int) -> float:
    """Whether the head continues the line from hips to chest: cosine, the best of the poses."""
    trunk, neck = poses[:, chest] - poses[:, hips], poses[:, head] - poses[:, chest]
    return float(np.max(_cosine(trunk, neck)))


def _cosine(a: NDArray, b: NDArray) -> NDArray:
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return np.sum(a * b, axis=-1) / np.where(lengths > 0, lengths, 1.0)


def _ends(limbs: tuple[Limb, Limb], start: str, end: str) -> list[tuple[int, int]]:
    return [(limb.joints[start], limb.joints.get(end, limb.path[-1])) for limb in limbs]


def _trunk(plan: _Plan, poses: NDArray) -> NDArray:
    """(P, 3) from the middle of the thighs' joints to the middle of the shoulders."""
    low = np.mean([poses[:, limb.joints["upper_leg"]] for limb in plan.leg_limbs], axis=0)
    return np.mean([poses[:, limb.joints["upper_arm"]] for limb in plan.arm_limbs], axis=0) - low


def _leg_cosines(plan: _Plan, poses: NDArray) -> NDArray:
    """(P,) cosine between the trunk and the legs; −1 for somebody who stands straight."""
    trunk = _trunk(plan, poses)
    ends = _ends(plan.leg_limbs, "upper_leg", "foot")
    return np.mean([_cosine(trunk, poses[:, end] - poses[:, start]) for start, end in ends], axis=0)


def _upright(plan: _Plan, poses: NDArray) -> float:
    """1 when trunk and legs are in line as in somebody who stands, at rest or in most frames; −1 the reverse."""
    cosines = -_leg_cosines(plan, poses)
    return float(max(cosines[0], np.median(cosines[1:]))) if len(cosines) > 1 else float(cosines[0])


def refuse_quadruped(tree: Tree, plan: _Plan, poses: NDArray) -> None:
    """Raise when the trunk lies across the legs and the front limbs reach as far down as the hind ones."""
    cosines = _leg_cosines(plan, poses)
    # a rest pose with trunk and legs side by side is no pose at all (all bones along one axis): it says nothing
    telling = cosines < 0.75
    if not telling.any() or np.mean(cosines[telling] < -0.75) > 0.03 or cosines[0] < -0.75:
        return
    down = np.mean(
        [_unit(poses[:, end] - poses[:, start]) for start, end in _ends(plan.leg_limbs, "upper_leg", "foot")], axis=0
    )
    feet = np.mean([poses[:, end] for _, end in _ends(plan.leg_limbs, "upper_leg", "foot")], axis=0)
    hands = np.mean([poses[:, end] for _, end in _ends(plan.arm_limbs, "upper_arm", "hand")], axis=0)
    leg = np.mean(
        [np.linalg.norm(poses[:, e] - poses[:, s], axis=1) for s, e in _ends(plan.leg_limbs, "upper_leg", "foot")],
        axis=0,
    )
    above = np.sum((feet - hands) * down, axis=1) / np.where(leg > 0, leg, 1.0)
    if np.median(above[telling]) < 0.35:
        raise HumanoidError(
            "no human figure: the trunk lies across the legs, and front and hind limbs both reach the ground, "
            "so it looks like a quadruped"
        )


def _unit(vectors: NDArray) -> NDArray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def _carrier(tree: Tree, plan: _Plan) -> int:
    """The hips: what carries legs and spine, or a joint just above named so (3ds Max can hang legs on the spine)."""
    if tree.readings[plan.hips].score("hips") > 0.5:
        return plan.hips
    for joint in tree.ancestors(plan.hips)[1:3]:
        if tree.readings[joint].score("hips") >= 0.9:
            return joint
    return plan.hips


def _votes(tree: Tree, limbs: tuple[Limb, Limb]) -> int:
    """Positive when the names say that the first of two limbs is the left one."""
    worth = {"left": 1, "right": -1, None: 0}
    return sum(
        sign * worth[tree.readings[joint].side] for sign, limb in zip((1, -1), limbs) for joint in limb.joints.values()
    )


def _same_side_first(tree: Tree, plan: _Plan, poses: NDArray) -> _Plan:
    """The plan with its arms in such an order that the first arm is on the side of the first leg."""
    named = _votes(tree, plan.leg_limbs) * _votes(tree, plan.arm_limbs)
    if not named:
        across = [
            _unit(poses[:, limbs[0].joints[role]] - poses[:, limbs[1].joints[role]])
            for limbs, role in ((plan.leg_limbs, "upper_leg"), (plan.arm_limbs, "upper_arm"))
        ]
        named = float(np.sum(across[0] * across[1]))
    return plan if named >= 0 else replace(plan, arm_limbs=plan.arm_limbs[::-1])


def _tell_sides(tree: Tree, plan: _Plan, poses: NDArray) -> tuple[bool, float, str]:
    """Whether the first limbs of the pairs are the left ones, how sure, and why."""
    votes = _votes(tree, plan.leg_limbs) + _votes(tree, plan.arm_limbs)
    shape = _side_by_shape(tree, plan, poses)
    if votes:
        if shape * votes < -0.2 * abs(votes):
            return votes > 0, 0.75, "the names tell left from right, though feet and knees point the other way"
        return votes > 0, 1.0, "the names tell left from right"
    if abs(shape) > 0.1:
        return shape > 0, 0.9, "feet and knees point forward, which tells left from right"
    across = np.mean(
        [poses[0, a.joints["upper_leg"], 0] - poses[0, b.joints["upper_leg"], 0] for a, b in [plan.leg_limbs]]
    )
    return bool(across >= 0), 0.6, "nothing tells left from right; left is taken to be +x, as is usual"


def _side_by_shape(tree: Tree, plan: _Plan, poses: NDArray) -> float:
    """Positive when the first limbs are the left ones: left = up × forward, forward from toes, knees and elbows."""
    cosines = _leg_cosines(plan, poses)
    up = _unit(_trunk(plan, poses))
    across = np.zeros_like(up)
    forward = np.zeros_like(up)
    for limbs, joint in ((plan.leg_limbs, "upper_leg"), (plan.arm_limbs, "upper_arm")):
        across += _unit(poses[:, limbs[0].joints[joint]] - poses[:, limbs[1].joints[joint]])
    for limb in plan.leg_limbs:
        hip, knee = poses[:, limb.joints["upper_leg"]], poses[:, limb.joints["lower_leg"]]
        foot = poses[:, limb.joints["foot"]] if "foot" in limb.joints else poses[:, limb.path[-1]]
        down = _unit(foot - hip)
        length = np.linalg.norm(foot - hip, axis=1, keepdims=True)
        bend = (knee - hip) - np.sum((knee - hip) * down, axis=1, keepdims=True) * down
        forward += 2.0 * bend / np.where(length > 0, length, 1.0)
        if "toes" in limb.joints:
            toes = poses[:, limb.joints["toes"]] - foot
            forward += _unit(toes - np.sum(toes * down, axis=1, keepdims=True) * down)
    forward += 2.0 * _tip_directions(tree, plan)[None] * (np.arange(len(poses)) == 0)[:, None]
    turn = np.sum(np.cross(up, forward) * _unit(across), axis=1)
    weights = np.where(cosines < -0.5, -cosines, 0.0)
    return float(np.sum(weights * np.clip(turn, -1, 1)) / max(np.sum(weights), 1e-9)) if weights.any() else 0.0


def _tip_directions(tree: Tree, plan: _Plan) -> NDArray:
    """(3,) where end sites of feet without toes point in the rest pose, summed over the feet."""
    skeleton, total = tree.skeleton, np.zeros(3)
    for limb in plan.leg_limbs:
        if "foot" in limb.joints and "toes" not in limb.joints:
            foot = limb.joints["foot"]
            down = _unit(skeleton.rest_world[0][foot] - skeleton.rest_world[0][limb.joints["upper_leg"]])
            for parent, place in zip(skeleton.end_parents, skeleton.rest_ends):
                if parent == foot:
                    tip = place - skeleton.rest_world[0][foot]
                    total += _unit(tip - (tip @ down) * down) * float(np.linalg.norm(tip) > 0)
    return total


def _why_none(tree: Tree, pairs: list[LimbPair]) -> str:
    """Why no plan was found, in one sentence."""
    skeleton = tree.skeleton
    fingers = sum(1 for r in tree.readings if set(r.parts) & {"thumb", "index", "middle", "ring", "little"})
    if fingers > 0.5 * len(skeleton):
        return "no human figure: most joints are those of fingers, so it looks like a hand"
    if len(skeleton) < FEWEST_JOINTS:
        return f"no human figure: {len(skeleton)} joints are too few for legs, arms and a head"
    if all(len(children) <= 1 for children in skeleton.children):
        return "no human figure: the joints form a chain without branches"
    if not pairs:
        return "no human figure: no two limbs mirror one another"
    return "no human figure: expected a pair of legs and a pair of arms with two bones each, on a common trunk"
