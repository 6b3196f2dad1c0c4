"""Prioritised constraints by groups: strict priorities, least recruitment, balance, areas, distances, ramps."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from footplant import rotation, samples
from footplant.constraints import (
    Above,
    Area,
    AtLeast,
    Balance,
    CenterOfMass,
    Distance,
    Follow,
    Footplant,
    LookAt,
    Orientation,
    Position,
    check,
)
from footplant.errors import ConstraintError
from footplant.geometry import Ball, Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Problem, Status
from footplant.skeleton import Character, Point
from footplant.solve.ik.groupccd import GroupCcd, solve_rows
from footplant.solve.ik.groupccd.rows import drawn_in, rows_of
from footplant.solve.methods.perframe import PerFrame

BODIES = tuple(samples.CHARACTERS)
EASY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def figure(name: str = "mannequin") -> tuple[Character, Motion, GroupCcd]:
    """A character, its guard pose on the floor, and its solver."""
    from footplant.normalized import convert, normalize, scale

    clip, character = samples.load("punch"), samples.load_character(name)
    pose = convert(scale(normalize(clip.motion[:1], clip.character), character))
    return character, pose, GroupCcd(character)


def point(character: Character, role: str) -> Point:
    return Point(character.require_roles()[role])


def off(constraint, motion: Motion) -> float:
    """How far a constraint is off at most, in its own unit."""
    values = constraint.residual(Kinematics(motion))
    return float(np.linalg.norm(np.minimum(values, 0.0) if constraint.inequality else values, axis=1).max())


def standing(character: Character, motion: Motion, priority: int = 3) -> list[Footplant]:
    """All four ends of the soles where they are."""
    kinematics = Kinematics(motion)
    return [
        Footplant(point=character.contacts[name], place=kinematics.point(character.contacts[name])[0],
                  priority=priority, name=name)
        for name in ("left_heel", "left_ball", "right_heel", "right_ball")
    ]  # fmt: skip


def trunk_of(ik: GroupCcd) -> np.ndarray:
    return np.flatnonzero(ik.tree.limb_of < 0)


def reachable_targets(name: str, seed: int, bend: float) -> tuple[np.ndarray, np.ndarray]:
    """Places of elbow and wrist of a pose that the body can take: a random arm on a trunk bent at random."""
    character, pose, _ = figure(name)
    rng, roles = np.random.default_rng(seed), character.require_roles()
    turns = np.array(pose.rotations)
    for joint in roles.joints["spine"]:
        turns[0, joint] = rotation.multiply(turns[0, joint], rotation.exp(bend * rng.uniform(-1, 1, 3)))
    upper, lower = roles["right_upper_arm"], roles["right_lower_arm"]
    turns[0, upper] = rotation.multiply(turns[0, upper], rotation.exp(rng.uniform(-0.8, 0.8, 3)))
    axis = GroupCcd(character).limbs["right_arm"].axis
    turns[0, lower] = rotation.multiply(rotation.exp(axis * rng.uniform(-1.2, 0.2)), turns[0, lower])
    places = Kinematics(replace(pose, rotations=turns)).positions[0]
    return places[roles["right_lower_arm"]], places[roles["right_hand"]]


@EASY
@given(st.sampled_from(BODIES), st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.05, 0.12]))
def test_elbow_and_wrist_are_both_met_where_both_can_be(name, seed, elbow_first, bend):
    """Must be shown: targets that a pose has are met together, whichever has the greater priority."""
    character, pose, ik = figure(name)
    elbow, wrist = reachable_targets(name, seed, bend)
    asked = [
        Position(point=point(character, "right_lower_arm"), target=elbow, priority=2 if elbow_first else 1),
        Position(point=point(character, "right_hand"), target=wrist, priority=1 if elbow_first else 2),
    ]
    found = ik.solve(pose, asked)
    assert [off(c, found.motion) < 1e-3 for c in asked] == [True, True], [off(c, found.motion) for c in asked]
    assert found.reached.all()


@EASY
@given(st.sampled_from(BODIES), st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.1]))
def test_the_greater_priority_is_met_whatever_the_smaller_asks(name, seed, elbow_first, bend):
    """Must be shown: with only one reachable, the higher one ≤ 1 mm."""
    character, pose, ik = figure(name)
    elbow, wrist = reachable_targets(name, seed, bend)
    rng = np.random.default_rng(seed + 1)
    anywhere = Kinematics(pose).positions[0, 0] + rng.normal(scale=0.8, size=3)
    elbow, wrist = (elbow, anywhere) if elbow_first else (anywhere, wrist)
    asked = [
        Position(point=point(character, "right_lower_arm"), target=elbow, priority=2 if elbow_first else 1),
        Position(point=point(character, "right_hand"), target=wrist, priority=1 if elbow_first else 2),
    ]
    found = ik.solve(pose, asked)
    assert off(asked[0 if elbow_first else 1], found.motion) < 1e-3
    assert np.isfinite(found.motion.rotations).all()


@EASY
@given(st.sampled_from(BODIES), st.integers(0, 10_000))
def test_feet_hold_whatever_two_hands_and_the_head_ask(name, seed):
    character, pose, ik = figure(name)
    rng, places = np.random.default_rng(seed), Kinematics(pose).positions[0]
    feet = standing(character, pose)
    asked = [
        Position(point=point(character, role), target=places[0] + rng.normal(scale=0.7, size=3), priority=n)
        for n, role in enumerate(("left_hand", "right_hand", "head"))
    ]
    found = ik.solve(pose, [*feet, *asked])
    assert max(off(foot, found.motion) for foot in feet) < 1e-3


@EASY
@given(st.sampled_from(BODIES), st.integers(0, 10_000), st.sampled_from([0.3, 1.0, 3.0]))
def test_feet_hold_whatever_the_center_of_mass_asks(name, seed, far):
    """A centre of mass that cannot be where it should moves the root only as far as the legs reach."""
    character, pose, ik = figure(name)
    rng, kinematics = np.random.default_rng(seed), Kinematics(pose)
    feet = standing(character, pose)
    away = kinematics.center_of_mass(character)[0] + rng.normal(scale=far, size=3) * [1.0, 0.0, 1.0]
    hand = point(character, "right_hand")
    asked = [
        CenterOfMass(character=character, target=away, priority=2),
        Position(point=hand, target=kinematics.point(hand)[0] + rng.normal(scale=0.3, size=3), priority=1),
    ]
    found = ik.solve(pose, [*feet, *asked])
    assert max(off(foot, found.motion) for foot in feet) < 1e-3


@EASY
@given(st.sampled_from(BODIES), st.integers(0, 10_000))
def test_a_target_in_the_arms_reach_leaves_the_trunk_exactly_as_it_was(name, seed):
    """Must be shown: not one bit of trunk, head, legs or the other arm changes."""
    character, pose, ik = figure(name)
    rng, roles = np.random.default_rng(seed), character.require_roles()
    places = Kinematics(pose).positions[0]
    shoulder = places[roles["right_upper_arm"]]
    reach = sum(
        np.linalg.norm(places[roles[a]] - places[roles[b]])
        for a, b in (("right_upper_arm", "right_lower_arm"), ("right_lower_arm", "right_hand"))
    )
    way = rng.normal(size=3)
    target = shoulder + way / np.linalg.norm(way) * reach * rng.uniform(0.5, 0.99) * 0.995
    found = ik.solve(pose, [Position(point=point(character, "right_hand"), target=target)])
    still = np.setdiff1d(np.arange(len(character.skeleton)), np.flatnonzero(ik.tree.limb_of == 2))
    assert off(Position(point=point(character, "right_hand"), target=target), found.motion) < 1e-6
    assert np.array_equal(found.motion.rotations[:, still], pose.rotations[:, still])
    assert np.array_equal(found.motion.root, pose.root)


def far_reach(name: str, far: float, level: float = 0.75) -> tuple[Character, Motion, list, np.ndarray]:
    character, pose, _ = figure(name)
    target = Kinematics(pose).positions[0, character.require_roles()["right_upper_arm"]].copy()
    target += [0.0, (level - 1.0) * target[1], far * character.height]
    return character, pose, standing(character, pose), target


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("far", [0.35, 0.5, 0.65])
def test_balance_is_kept_in_a_far_reach(name, far):
    """Must be shown: over the support where that is possible, feet fixed; off without it."""
    character, pose, feet, target = far_reach(name, far)
    hand = Position(point=point(character, "right_hand"), target=target, priority=1)
    balance = Balance(character=character, priority=2, margin=0.0)
    with_it = GroupCcd(character).solve(pose, [*feet, balance, hand])
    assert balance.residual(Kinematics(with_it.motion))[0, 0] > -1e-3
    assert max(off(foot, with_it.motion) for foot in feet) < 1e-3


def test_without_balance_a_far_reach_falls_over_and_with_it_the_reach_gives_way():
    character, pose, feet, target = far_reach("mannequin", 0.7, 0.6)
    hand = Position(point=point(character, "right_hand"), target=target, priority=1)
    balance = Balance(character=character, priority=2, margin=0.0)
    ik = GroupCcd(character)
    without, with_it = (ik.solve(pose, asked) for asked in ([*feet, hand], [*feet, balance, hand]))
    assert off(hand, without.motion) < 1e-3
    assert balance.residual(Kinematics(without.motion))[0, 0] < -0.03
    assert balance.residual(Kinematics(with_it.motion))[0, 0] > -1e-3
    # which is reported
    assert off(hand, with_it.motion) > 0.01
    assert not with_it.reached.any()
    # with a greater priority the hand has its way
    first = ik.solve(pose, [*feet, replace(hand, priority=3), replace(balance, priority=1)])
    assert off(hand, first.motion) < 1.2e-3


@pytest.mark.parametrize("kind", [Balance, CenterOfMass])
def test_pelvis_or_free_arm_and_the_legs_help_to_keep_the_balance(kind):
    """Over the soles the pelvis pitches and the free arm hangs; a centre of mass that stays takes a counterweight."""
    character, pose, feet, target = far_reach("mannequin", 0.7, 0.6)
    hand = Position(point=point(character, "right_hand"), target=target, priority=1)
    fields = {} if kind is Balance else {"target": Kinematics(pose).center_of_mass(character)}
    found = GroupCcd(character).solve(pose, [*feet, kind(character=character, priority=2, **fields), hand])
    roles = character.require_roles()
    for role in ("hips" if kind is Balance else "left_upper_arm", "left_lower_leg", "right_upper_leg"):
        assert rotation.angle(found.motion.rotations[0, roles[role]], pose.rotations[0, roles[role]]) > 0.1, role


def test_the_center_of_mass_stays_where_it_was():
    """Figure 12b: the pelvis moves back when the arm reaches forward."""
    character, pose, feet, target = far_reach("mannequin", 0.45, 0.9)
    hand = Position(point=point(character, "right_hand"), target=target, priority=1)
    center = CenterOfMass(character=character, target=Kinematics(pose).center_of_mass(character), priority=2)
    found = GroupCcd(character).solve(pose, [*feet, center, hand])
    assert off(center, found.motion) < 1e-3
    assert found.motion.root[0, 2] < pose.root[0, 2] - 0.01


@pytest.mark.parametrize("width", [0.2, 0.4, 0.6])
def test_hands_hold_a_box_of_any_size(width):
    """Must be shown: one motion, three boxes, ≤ 2 mm on all frames of the hold."""
    clip = samples.load("clap")
    motion = clip.motion[::4]
    held = range(20, len(motion) - 20)
    box = Distance(
        point=clip.character.contacts["left_palm"], other=clip.character.contacts["right_palm"], value=width,
        frames=held, ramp=(0.4, 0.4),
    )  # fmt: skip
    solution = PerFrame(GroupCcd(clip.character)).solve(Problem(motion, clip.character, (box,)))
    assert solution.status is Status.SOLVED
    assert np.abs(box.residual(Kinematics(solution.motion))[held.start : held.stop]).max() < 0.002


def test_a_distance_moves_only_the_hand_that_is_free():
    character, pose, ik = figure()
    kinematics = Kinematics(pose)
    left = Position(
        point=point(character, "left_hand"), target=kinematics.positions[0, 0] + [0.2, 0.3, 0.3], priority=2
    )
    apart = Distance(point=point(character, "left_hand"), other=point(character, "right_hand"), value=0.3, priority=1)
    found = ik.solve(pose, [left, apart])
    assert off(left, found.motion) < 1e-4
    assert off(apart, found.motion) < 1e-4


def test_a_hand_follows_the_own_thigh():
    character, pose, ik = figure()
    thigh = Point(character.require_roles()["left_upper_leg"], (0.0, -0.2, 0.08))
    touch = Position(point=character.contacts["left_palm"], target=Follow(thigh))
    assert off(touch, ik.solve(pose, [touch]).motion) < 1e-3


def test_areas_keep_wrists_above_a_table():
    """Figure 6; an area with the greater priority bounds a target below it."""
    clip = samples.load("reach")
    motion, roles = clip.motion[::8], clip.character.require_roles()
    low = Kinematics(motion).positions[:, roles["right_hand"], 1]
    table = Plane((0.0, float(low.min()) + 0.3, 0.0))
    wrists = [Area(point=point(clip.character, f"{side}_hand"), region=table, priority=2) for side in ("left", "right")]
    below = Position(point=point(clip.character, "right_hand"), target=(0.2, float(low.min()), 0.4), priority=1)
    for asked in (wrists, [*wrists, below]):
        found = GroupCcd(clip.character).solve(motion, asked)
        assert max(off(c, found.motion) for c in wrists) < 1e-4
    assert off(wrists[1], motion) > 0.2
    ball = Area(point=point(clip.character, "right_hand"), region=Ball((0.0, 1.0, 0.35), 0.3))
    assert off(ball, GroupCcd(clip.character).solve(motion, [ball]).motion) < 1e-3


def test_orientations_of_hand_foot_and_head():
    character, pose, ik = figure()
    roles, turned = character.require_roles(), Kinematics(pose).rotations[0]
    asked = [
        Orientation(joint=roles[role], target=rotation.multiply(rotation.exp([0.2, 0.3, -0.2]), turned[roles[role]]))
        for role in ("right_hand", "left_foot", "head")
    ]
    found = ik.solve(pose, asked)
    assert max(off(c, found.motion) for c in asked) < 1e-3


def test_ramps_bring_no_jump():
    """A target that comes and goes moves nothing faster than it would over its ramp."""
    clip = samples.load("stand")
    motion = clip.motion[::4]
    reach = Position(
        point=point(clip.character, "right_hand"), target=(0.1, 1.1, 0.75), frames=range(60, 100), ramp=(0.6, 0.6)
    )
    found = GroupCcd(clip.character).solve(motion, [reach])
    turns = rotation.angle(found.motion.rotations[1:], found.motion.rotations[:-1]).max(axis=1)
    assert off(replace(reach, frames=None, ramp=(0.0, 0.0)), found.motion[60:100]) < 1e-3
    assert turns.max() < 0.35
    moved = np.linalg.norm(np.diff(Kinematics(found.motion).positions, axis=0), axis=2).max()
    assert moved < 0.11


def test_unreachable_targets_are_told_and_approached():
    character, pose, ik = figure()
    places, roles = Kinematics(pose).positions[0], character.require_roles()
    asked = [
        Position(point=point(character, f"{side}_hand"), target=places[roles[f"{side}_hand"]] + [0.0, 0.4, 3.0])
        for side in ("left", "right")
    ]
    feet = standing(character, pose)
    found = ik.solve(pose, [*feet, *asked])
    assert not found.reached.any()
    assert np.isfinite(found.motion.rotations).all()
    before = max(off(c, pose) for c in asked)
    assert max(off(c, found.motion) for c in asked) < before - 0.3
    # the arms are stretched towards what they cannot reach
    after = Kinematics(found.motion).positions[0]
    arm = [after[roles[f"right_{part}"]] for part in ("upper_arm", "lower_arm", "hand")]
    assert np.linalg.norm(arm[2] - arm[0]) > 0.999 * sum(np.linalg.norm(b - a) for a, b in itertools.pairwise(arm))
    solution = PerFrame(ik).solve(Problem(pose, character, (*feet, *asked)))
    assert solution.status is Status.UNREACHABLE


def test_the_chain_says_what_may_move():
    character, pose, ik = figure()
    roles = character.require_roles()
    target = Kinematics(pose).positions[0, roles["right_upper_arm"]] + [0.0, -0.2, 0.85]
    arm = (roles["right_upper_arm"], roles["right_lower_arm"])
    chest = roles.joints["spine"][-1]
    for chain, free in ((arm, set(arm)), ((*arm, chest), {*arm, chest})):
        hand = Position(point=point(character, "right_hand"), target=target, chain=chain)
        found = ik.solve(pose, [hand]).motion
        changed = np.flatnonzero((found.rotations[0] != pose.rotations[0]).any(axis=1))
        assert set(changed.tolist()) <= free
        assert np.array_equal(found.root, pose.root)


def test_what_it_refuses():
    character, pose, ik = figure()
    roles = character.require_roles()
    hand, fore = point(character, "right_hand"), roles["right_lower_arm"]
    refused = [
        AtLeast(point=hand, other=point(character, "left_hand"), value=0.2),
        LookAt(point=point(character, "head"), direction=(0, 0, 1), target=(0, 1, 2)),
        Footplant(point=character.contacts["left_heel"]),
        Position(point=hand, target=(0, 1, 0), axes=(0.0, 1.0, 0.0)),
        Orientation(joint=fore, target=(1, 0, 0, 0)),
        Position(point=hand, target=(0, 1, 0), chain=(roles["right_hand"],)),
        Distance(point=point(character, "head"), other=point(character, "hips"), value=0.4),
    ]
    for constraint in refused:
        assert ik.refuses(constraint), constraint
        with pytest.raises(ConstraintError, match="cannot honour"):
            PerFrame(ik).solve(Problem(pose, character, (constraint,)))
    bare = GroupCcd(replace(character, masses=None, mass_centers=None))
    assert "no segment masses" in (bare.refuses(CenterOfMass(character=character, target=(0, 1, 0))) or "")


def test_hostile_targets_stay_finite():
    character, pose, ik = figure()
    places, roles = Kinematics(pose).positions[0], character.require_roles()
    shoulder, elbow = places[roles["right_upper_arm"]], places[roles["right_lower_arm"]]
    for target in (shoulder, elbow, places[0], 1e6 * np.ones(3), -1e6 * np.ones(3), places[roles["right_hand"]]):
        for role in ("right_hand", "right_lower_arm", "head"):
            found = ik.solve(pose, [Position(point=point(character, role), target=target)])
            assert np.isfinite(found.motion.rotations).all()
            assert np.abs(np.linalg.norm(found.motion.rotations, axis=-1) - 1).max() < 1e-9


def test_nothing_asked_changes_nothing():
    character, pose, ik = figure()
    found = ik.solve(pose, [])
    assert np.array_equal(found.motion.rotations, pose.rotations)
    plants = standing(character, pose)
    held = ik.solve(pose, plants).motion
    assert rotation.angle(held.rotations, pose.rotations).max() < 1e-6


def test_live_leans_ease_out_without_a_jump():
    """A figure that lives from frame to frame comes back from a reach, and ends exactly as it came in."""
    character, pose, ik = figure()
    roles = character.require_roles()
    start = Kinematics(pose).positions[0, roles["right_hand"]]
    far = Kinematics(pose).positions[0, roles["right_upper_arm"]] + [0.0, -0.3, 0.95]
    leans, last, worst = ik.tree.leans(1), pose, 0.0
    shares = np.concatenate([np.linspace(0, 1, 40), np.linspace(1, 0, 40), np.zeros(300)])
    for share in shares:
        hand = Position(point=point(character, "right_hand"), target=start + share * (far - start))
        kinematics = Kinematics(pose)
        root, local = np.array(pose.root), np.array(pose.rotations)
        residuals = solve_rows(
            ik.tree, ik.bodies, root, local, rows_of(ik.tree, kinematics, kinematics, [hand]), 3, leans=leans
        )
        assert residuals.max() < 2e-3
        now = replace(pose, root=root, rotations=local)
        worst = max(worst, float(rotation.angle(now.rotations, last.rotations).max()))
        last = now
    assert worst < 0.3
    trunk = trunk_of(ik)
    assert np.array_equal(last.rotations[:, trunk], pose.rotations[:, trunk])


def test_balance_is_a_constraint_like_others():
    clip = samples.load("walk")
    balance = Balance(character=clip.character)
    assert check(balance, clip.motion[::60]) < 1e-5
    stand = samples.load("stand")
    assert balance.residual(Kinematics(stand.motion[:1]))[0, 0] > 0.03
    with pytest.raises(ConstraintError, match="expected support points"):
        Balance(character=replace(clip.character, contacts={}))
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert drawn_in(square, 0.1) == pytest.approx(0.1 + 0.8 * square)


def test_ground_above_with_a_clearance():
    character, pose, ik = figure()
    above = Above(point=point(character, "right_hand"), ground=Plane((0.0, 1.6, 0.0)))
    assert off(above, ik.solve(pose, [above]).motion) < 1e-3
