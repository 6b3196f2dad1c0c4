"""Hybrid inverse kinematics: hands and feet on their goals, a trunk that helps, and finite whatever is asked."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import Kinematics, MotionError, rest_motion, rotation
from footplant.constraints import (
    Above,
    Area,
    Distance,
    Follow,
    Footplant,
    LookAt,
    Orientation,
    Position,
)
from footplant.geometry import Ball, Plane
from footplant.kernels import dense, least_squares
from footplant.kernels import hybrid as kernel
from footplant.samples import load, load_character
from footplant.skeleton import Point
from footplant.solve.ik import _limb_goals as goals_kernel
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.limb import Reach
from footplant.solve.ik.limb_goals import LimbAims, carriers
from footplant.solve.ik.pins import FootRamps, PinTable
from random_figures import random_motion
from thorough import thorough

ENDS = ("left_hand", "right_hand", "left_foot", "right_foot")


@pytest.fixture(scope="module")
def walk():
    return load("walk")


def off(constraint, motion) -> np.ndarray:
    """(F,) how far a constraint is off."""
    values = constraint.residual(Kinematics(motion))
    return np.linalg.norm(np.minimum(values, 0.0) if constraint.inequality else values, axis=1)


def edits(clip, size=0.16, seed=0, turn=0.2) -> list:
    """Places and turns for all four ends, moved by so many metres: the problem that speeds are told for."""
    rng = np.random.default_rng(seed)
    kinematics, roles = Kinematics(clip.motion), clip.character.require_roles()
    asked = []
    for name in ENDS:
        joint = roles[name]
        shift = rng.normal(size=3)
        shift *= size / np.linalg.norm(shift)
        if name.endswith("foot"):
            shift[1] = abs(shift[1])
        turned = rotation.multiply(rotation.exp(rng.normal(scale=turn, size=3)), kinematics.rotations[:, joint])
        asked.append(Position(point=Point(joint), target=kinematics.positions[:, joint] + shift))
        asked.append(Orientation(joint=joint, target=turned))
    return asked


# ---- kernels beside NumPy


def test_small_systems_equal_numpy():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(6, 9, 9))
    matrices, vectors = roots @ roots.transpose(0, 2, 1) + np.eye(9), rng.normal(size=(6, 9))
    damping, out = rng.uniform(size=6), np.empty((6, 9))
    dense.solve_damped(np.tril(matrices), vectors, damping, out)
    damped = matrices + damping[:, None, None] * np.eye(9) * matrices
    np.testing.assert_allclose(out, np.linalg.solve(damped, vectors[..., None])[..., 0], rtol=1e-10, atol=1e-12)
    singular = np.zeros((1, 2, 2))
    dense.solve_damped(singular, np.ones((1, 2)), np.zeros(1), out[:1, :2])
    assert (out[0, :2] == 0).all()


def trunk_rows(
    parents, column_of, uppers, reaches, lines, goals, kinds, joints, offsets, targets, positions, rotations
):
    """`kernels.hybrid.measure_trunk` once more, in NumPy."""
    unknowns = 3 + 3 * int((column_of >= 0).sum())
    matrices = rotation.to_matrix(rotations)

    def places(joint, point):
        out = np.zeros((3, unknowns))
        out[:, :3] = np.eye(3)
        while joint >= 0:
            if column_of[joint] >= 0:
                axes = matrices[joint]
                out[:, column_of[joint] : column_of[joint] + 3] = np.cross(axes.T, point - positions[joint]).T
            joint = parents[joint]
        return out

    residual, jacobian = [], []
    for upper, (nearest, farthest), line, goal in zip(uppers, reaches, lines, goals):
        moving = places(parents[upper], positions[upper])
        away = goal - positions[upper]
        distance = np.linalg.norm(away)
        folded = distance - nearest < farthest - distance
        residual += [*(away - line), distance - nearest if folded else farthest - distance]
        jacobian += [*-moving, (-1.0 if folded else 1.0) * (away @ moving) / distance]
    for kind, joint, offset, target in zip(kinds, joints, offsets, targets):
        point = positions[joint] + matrices[joint] @ offset
        moving = places(joint, point)
        if kind == kernel.POSITION:
            residual += [*(point - target[:3])]
            jacobian += [*moving]
        elif kind == kernel.HALF_SPACE:
            residual += [target[:3] @ point - target[3], np.nan, np.nan]
            jacobian += [target[:3] @ moving, *np.full((2, unknowns), np.nan)]
        else:
            vector = rotation.log(rotation.multiply(rotations[joint], rotation.inverse(target)))
            # by finite differences of the twin itself: a turn of an ancestor turns the joint in the world
            turning = np.zeros((3, unknowns))
            above = joint
            while above >= 0:
                for k in range(3):
                    if column_of[above] >= 0:
                        small = 1e-6 * matrices[above][:, k]
                        ahead, behind = (
                            rotation.log(
                                rotation.multiply(
                                    rotation.multiply(rotation.exp(sign * small), rotations[joint]),
                                    rotation.inverse(target),
                                )
                            )
                            for sign in (1, -1)
                        )
                        turning[:, column_of[above] + k] = (ahead - behind) / 2e-6
                above = parents[above]
            residual += [*vector]
            jacobian += [*turning]
    return np.array(residual), np.array(jacobian).T


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_trunk_is_measured_as_in_numpy_and_by_finite_differences(seed):
    rng = np.random.default_rng(seed)
    joints = 10
    motion = random_motion(1, joints, seed, smooth=True)
    parents = motion.skeleton.parents
    kinematics = Kinematics(motion)
    body = np.sort(rng.choice(joints, 5, replace=False))
    column_of = np.full(joints, -1)
    column_of[body] = 3 + 3 * np.arange(5)
    uppers, kinds = rng.integers(1, joints, 3), np.array([kernel.POSITION, kernel.HALF_SPACE, kernel.ORIENTATION])
    row_joints, row_offsets = rng.integers(0, joints, 3), rng.normal(size=(3, 3))
    targets = rng.normal(size=(3, 4))
    turn = rotation.exp(rng.normal(scale=0.5, size=3))
    targets[2] = rotation.multiply(turn, kinematics.rotations[0, row_joints[2]])
    reaches, lines, goals = rng.uniform(0.5, 2.5, size=(3, 2)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))

    trunk = kernel.Trunk(parents, np.arange(joints), body, column_of, np.ones(6), 1)
    limbs = kernel.LimbTargets(uppers, reaches, lines, goals)
    rows = kernel.TrunkRows(kinds, row_joints, row_offsets, targets[None], np.ones((1, 3)))

    def measure(kinematics):
        residual, jacobian = np.full(21, np.nan), np.empty((18, 21))
        at = least_squares.Linearization(np.empty(18), residual, jacobian)
        kernel.measure_trunk(
            trunk, limbs, rows, targets, np.ones(21), kinematics.positions[0], kinematics.rotations[0], at
        )
        return residual, jacobian

    residual, jacobian = measure(kinematics)
    twin, twin_jacobian = trunk_rows(
        parents, column_of, uppers, reaches, lines, goals, kinds, row_joints, row_offsets, targets,
        kinematics.positions[0], kinematics.rotations[0],
    )  # fmt: skip
    used = ~np.isnan(twin)
    np.testing.assert_allclose(residual[used], twin[used], atol=1e-12)
    exact = used.copy()
    exact[18:] = False
    np.testing.assert_allclose(jacobian[:, exact], twin_jacobian[:, exact], atol=1e-12)
    np.testing.assert_allclose(jacobian[:, 18:], twin_jacobian[:, 18:], atol=1e-6)
    for column in range(18):
        moved = np.zeros((1, 1 + joints, 3))
        group = 0 if column < 3 else 1 + body[column // 3 - 1]
        moved[0, group, column % 3] = 1e-6
        ahead, behind = measure(Kinematics(motion + moved))[0], measure(Kinematics(motion + -moved))[0]
        change = (ahead - behind) / 2e-6
        np.testing.assert_allclose(jacobian[column, used], change[used], atol=1e-5)


def test_the_trunk_makes_room_for_a_goal_that_is_too_near(walk):
    """A hand that holds on where the shoulder would be: a folded arm is no shorter than it is."""
    clip = replace(walk, motion=walk.motion[100:101])
    roles, ik = clip.character.require_roles(), Hybrid(clip.character)
    shoulder = Kinematics(clip.motion).positions[0, roles["left_upper_arm"]]
    goal = Position(point=Point(roles["left_hand"]), target=shoulder + [0.0, 0.0, 0.04])
    feet = [
        Position(point=point, target=Kinematics(clip.motion).point(point)[0])
        for point in (Point(roles["left_foot"]), Point(roles["right_foot"]))
    ]
    answer = ik.solve(clip.motion, [goal, *feet])
    assert answer.reached.all()
    assert off(goal, answer.motion).max() < 1e-3
    limb = ik.limbs["left_arm"]
    near = np.linalg.norm(np.diff(Kinematics(answer.motion).positions[0, [limb.upper, limb.end]], axis=0))
    assert near > 0.06


def horn(points, targets, share):
    """`solve.ik._limb_goals.least_turn` once more, by NumPy's eigenvectors."""
    total = share.sum()
    away, wanted = (x - (x * share[:, None]).sum(axis=0) / total for x in (points, targets))
    spread = np.einsum("p,pi,pj->ij", share, away, wanted)
    matrix = np.zeros((4, 4))
    turn = spread - spread.T
    matrix[0, 0] = np.trace(spread) + 1e-6 * np.linalg.norm(spread) + 1e-15
    matrix[0, 1:] = matrix[1:, 0] = turn[[1, 2, 0], [2, 0, 1]]
    matrix[1:, 1:] = spread + spread.T - np.trace(spread) * np.eye(3)
    best = np.linalg.eigh(matrix)[1][:, -1]
    return rotation.exp(np.sort(share)[-2] / share.max() * rotation.log(best))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(2, 5))
def test_the_least_turn_is_horns(seed, count):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3))
    turn = rotation.exp(rng.normal(size=3))
    targets = rotation.rotate(turn, points) + rng.normal(size=3) + rng.normal(scale=0.05, size=(count, 3))
    share = rng.uniform(0.1, 1.0, count)
    ours = goals_kernel.least_turn(points, targets, share, count, np.empty((5, 3)), np.empty((4, 4)), np.empty((4, 4)))
    twin = horn(points, targets, share)
    # two points leave a roll that only the faint wish not to turn settles: its eigenvalue is hardly apart
    atol = 1e-10 if count > 2 else 1e-6
    np.testing.assert_allclose(np.array(ours) * np.sign(ours[0]), twin * np.sign(twin[0]), atol=atol)


def limb_goals(kinematics, limbs, constraints):
    carrier = carriers(kinematics.motion.skeleton, limbs)
    return LimbAims(limbs, constraints, carrier, kinematics.frames, kinematics.motion.fps).at(kinematics)


def test_goals_of_limbs_in_formulas(walk):
    """One point moves the end, two also turn it, an orientation turns it; what nobody asks for stays."""
    clip = replace(walk, motion=walk.motion[:6])
    character, kinematics = clip.character, Kinematics(clip.motion)
    roles = character.require_roles()
    limbs = list(Hybrid(character).limbs.values())
    number = [limb.end for limb in limbs].index(roles["left_foot"])
    heel, ball = character.contacts["left_heel"], character.contacts["left_ball"]
    shift = np.array([0.1, 0.05, -0.1])
    one = limb_goals(kinematics, limbs, [Position(point=heel, target=kinematics.point(heel) + shift)])
    np.testing.assert_allclose(one.places[:, number], kinematics.positions[:, roles["left_foot"]] + shift, atol=1e-12)
    np.testing.assert_allclose(one.turns[:, number], kinematics.rotations[:, roles["left_foot"]], atol=1e-12)
    assert (one.weights[:, number] == 1).all()
    assert (np.delete(one.weights, number, axis=1) == 0).all()
    turn, center = rotation.exp([0.1, 0.4, -0.2]), kinematics.point(heel)[0]
    both = [
        Position(point=point, target=rotation.rotate(turn, kinematics.point(point) - center) + center)
        for point in (heel, ball)
    ]
    two = limb_goals(kinematics, limbs, both)
    moved = rotation.rotate(two.turns[:, number], np.array(heel.offset)) + two.places[:, number]
    np.testing.assert_allclose(moved, both[0].target, atol=2e-4)
    assert two.several[:, number].all()
    asked = Orientation(joint=roles["left_toes"], target=kinematics.rotations[:, roles["left_foot"]])
    turned = limb_goals(kinematics, limbs, [asked])
    relative = rotation.multiply(
        rotation.inverse(kinematics.rotations[:, roles["left_foot"]]), kinematics.rotations[:, roles["left_toes"]]
    )
    np.testing.assert_allclose(
        np.abs(np.sum(rotation.multiply(turned.turns[:, number], relative) * asked.target, axis=1)), 1.0, atol=1e-12
    )
    assert (turned.importance == 0).all()
    carrier = carriers(character.skeleton, limbs)
    assert carrier[roles["left_toes"]] == number
    assert carrier[roles["hips"]] == -1


# ---- goals are met


def test_pins_that_fade_go_along_with_what_leads_them(walk):
    kinematics, contacts = Kinematics(walk.motion[:80]), walk.character.contacts
    asked: list[Footplant | Position] = [
        Footplant(point=point, place=kinematics.point(point)[30] + 0.03, frames=held, ramp=(0.2, 0.1))
        for point, held in ((contacts["left_heel"], range(20, 31)), (contacts["left_ball"], range(24, 45)))
    ]
    asked.append(Position(point=contacts["left_toe"], target=(0.1, 0.2, 0.3), frames=range(22, 35), ramp=(0.1, 0.1)))
    table = PinTable(asked, kinematics.frames, walk.motion.fps)
    carrier = carriers(walk.character.skeleton, list(Hybrid(walk.character).limbs.values()))
    fading, pins = FootRamps(table, carrier), table.at(kinematics)
    moved = fading.apply(pins, kinematics)
    assert len(fading._fading) > 10

    def correction(chosen):
        place = kinematics.at(table.rows[chosen], pins.joints[chosen], pins.offsets[chosen])
        return pins.targets[chosen, :3] - place

    wanted = np.array(pins.targets)
    wanted[fading._fading, :3] += correction(fading._leads) - correction(fading._then)
    np.testing.assert_allclose(moved.targets, wanted, atol=1e-12)
    for number, plant in enumerate(asked):
        held, own = plant.active_rows(kinematics.frames, walk.motion.fps)[0], pins.sources == number
        np.testing.assert_array_equal(table.rows[own], held)
        part = kinematics[held]
        off = plant.slip(part) if isinstance(plant, Position) else plant.residual(part)
        np.testing.assert_allclose(pins.targets[own, :3], part.point(plant.point) - off, atol=1e-12)


def test_goals_at_every_third_row_are_those_of_all_rows(walk):
    ik, kinematics = Hybrid(walk.character), Kinematics(walk.motion[:50])
    heel, places = walk.character.contacts["left_heel"], kinematics.point(walk.character.contacts["left_heel"])
    asked = (
        Footplant(point=heel, place=places[20] + [0.02, 0.01, 0.0], frames=range(20, 31), ramp=(0.1, 0.1)),
        Above(point=heel, ground=Plane((0.0, 0.05, 0.0))),
    )
    every, some = ik.aim(kinematics, asked), ik.aim(kinematics, asked, every=3)
    assert (every.weights > 0).any()
    assert len(some.places) == 17
    for name, values in vars(some).items():
        assert np.array_equal(values, getattr(every, name)[::3]), name


def test_edits_of_all_ends_are_met(walk):
    clip = replace(walk, motion=walk.motion[::7])
    asked = edits(clip)
    found = Hybrid(walk.character).solve(clip.motion, asked)
    assert found.reached.all()
    assert found.error.max() < 1e-3
    assert max(off(constraint, found.motion).max() for constraint in asked) < 2e-3


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), figure=st.sampled_from(["mannequin", "sally", "blubby", "child", "longlegs"]))
def test_poses_that_exist_are_found_again(seed, figure):
    """Hands and feet of a pose near by, on any figure: the trunk helps as far as it must."""
    character = load_character(figure)
    rng = np.random.default_rng(seed)
    motion = rest_motion(character.skeleton, 4)
    size = 1 + len(character.skeleton)
    motion = motion + rng.normal(scale=0.15, size=(4, size, 3))
    wanted = Kinematics(motion + rng.normal(scale=0.1, size=(4, size, 3)))
    roles = character.require_roles()
    asked = [Position(point=Point(roles[name]), target=wanted.positions[:, roles[name]]) for name in ENDS]
    found = Hybrid(character).solve(motion, asked)
    assert max(off(constraint, found.motion).max() for constraint in asked) < 0.03 * character.height
    assert np.isfinite(found.motion.rotations).all()


def test_nothing_asked_changes_nothing(walk):
    motion = walk.motion[:5]
    heel = walk.character.contacts["left_heel"]
    for asked in ((), [Position(point=heel, target=(0, 0, 0), frames=())]):
        found = Hybrid(walk.character).solve(motion, asked)
        np.testing.assert_array_equal(found.motion.rotations, motion.rotations)
        np.testing.assert_array_equal(found.motion.root, motion.root)
        assert found.reached.all()
    stays = [Position(point=heel, target=Kinematics(motion).point(heel))]
    found = Hybrid(walk.character, softness=0.0).solve(motion, stays)
    np.testing.assert_allclose(found.motion.rotations, motion.rotations, atol=1e-6)


def test_one_frame_and_no_frame(walk):
    asked = edits(replace(walk, motion=walk.motion[3]))
    assert Hybrid(walk.character).solve(walk.motion[3], asked).reached.all()
    assert len(Hybrid(walk.character).solve(walk.motion[:0], edits(replace(walk, motion=walk.motion[:1]))).motion) == 0


def test_heads_look_and_stay_out_and_hips_go_where_asked(walk):
    motion, roles = walk.motion[::40], walk.character.require_roles()
    kinematics = Kinematics(motion)
    head = Point(roles["head"])
    look = LookAt(point=head, direction=(0.0, 0.0, 1.0), target=(1.0, 1.0, 6.0))
    feet = [Position(point=Point(roles[n]), target=kinematics.positions[:, roles[n]]) for n in ENDS[2:]]
    found = Hybrid(walk.character).solve(motion, [look, *feet])
    assert off(look, found.motion).max() < 0.05
    assert off(look, motion).max() > 0.1
    ball = Area(point=head, region=Ball(tuple(kinematics.point(head)[2] + [0.0, 0.05, 0.0]), 0.15))
    found = Hybrid(walk.character).solve(motion, [ball, *feet])
    assert off(ball, motion).max() > 0.09
    assert off(ball, found.motion).max() < 0.01
    hips = Position(point=Point(0), target=kinematics.positions[:, 0] + [0.05, -0.05, 0.0])
    found = Hybrid(walk.character).solve(motion, [hips, *feet])
    assert off(hips, found.motion).max() < 0.01
    assert max(off(foot, found.motion).max() for foot in feet) < 1e-3


def test_toes_are_kept_out_of_the_ground(walk):
    motion = walk.motion[::10]
    toe = walk.character.contacts["left_toe"]
    low = float(np.median(Kinematics(motion).point(toe)[:, 1])) + 0.03
    above = Above(point=toe, ground=Plane((0.0, low, 0.0)))
    found = Hybrid(walk.character).solve(motion, [above])
    assert off(above, motion).max() > 0.02
    assert off(above, found.motion).max() < 2e-3


def test_following_targets(walk):
    motion, roles = walk.motion[::40], walk.character.require_roles()
    hand = Point(roles["left_hand"])
    belly = Follow(Point(roles["spine"], (0.1, 0.1, 0.25)))
    found = Hybrid(walk.character).solve(motion, [Position(point=hand, target=belly)])
    there = Kinematics(motion).point(belly.point)
    np.testing.assert_allclose(Kinematics(found.motion).point(hand), there, atol=0.02)
    partner = replace(walk, motion=load("run").motion[: len(motion)])
    other = Follow(Point(roles["left_hand"]), partner.motion)
    goal = Position(point=Point(roles["left_hand"]), target=other)
    feet = [Position(point=Point(roles[n]), target=Kinematics(motion).positions[:, roles[n]]) for n in ENDS[2:]]
    assert np.isfinite(Hybrid(walk.character).solve(motion, [goal, *feet]).error).all()


def test_the_greater_priority_wins_on_one_hand(walk):
    motion, roles = walk.motion[::60], walk.character.require_roles()
    hand = Point(roles["left_hand"])
    places = Kinematics(motion).point(hand)
    first = Position(point=hand, target=places + [0.05, 0.1, 0.0], priority=2)
    second = Position(point=hand, target=places + [-0.05, 0.1, 0.1])
    for asked in ([first, second], [second, first]):
        found = Hybrid(walk.character).solve(motion, asked)
        assert off(first, found.motion).max() < 1e-3
        assert off(second, found.motion).min() > 0.1
    assert off(second, Hybrid(walk.character).solve(motion, [second]).motion).max() < 1e-3


# ---- whatever is asked, it ends


@pytest.mark.parametrize(
    "where",
    ["far away", "at the shoulder", "opposite", "through the body", "straight below", "where it is"],
)
@pytest.mark.parametrize("name", ["left_arm", "right_leg"])
def test_extreme_goals_are_finite_and_told(walk, name, where):
    character = walk.character
    for motion in (rest_motion(character.skeleton), walk.motion[5]):
        kinematics, hybrid = Kinematics(motion), Hybrid(character)
        limb = hybrid.limbs[name]
        upper, end = kinematics.positions[0, limb.upper], kinematics.positions[0, limb.end]
        goal = {
            "far away": upper + [5.0, 3.0, 0.0],
            "at the shoulder": upper,
            "opposite": 2 * upper - end,
            "through the body": kinematics.positions[0, 0],
            "straight below": upper - [0.0, np.linalg.norm(end - upper), 0.0],
            "where it is": end,
        }[where]
        for still in (False, True):
            solver = replace(hybrid, stiffness={"leg": 0.0, "arm": 0.0}) if still else hybrid
            found = solver.solve(motion, [Position(point=Point(limb.end), target=goal)])
            left = off(Position(point=Point(limb.end), target=goal), found.motion)
            assert np.isfinite(found.motion.rotations).all()
            assert np.isfinite(left).all()
            assert found.reached[0] == (left[0] <= 1.1e-3)
        if where == "far away":
            assert not found.reached[0]
            # the trunk stood still: the limb is stretched towards the goal
            now = Kinematics(found.motion).positions[0]
            along = (now[limb.end] - now[limb.upper]) / np.linalg.norm(now[limb.end] - now[limb.upper])
            np.testing.assert_allclose(along, (goal - upper) / np.linalg.norm(goal - upper), atol=1e-6)


def test_pins_farther_apart_than_the_body_keep_the_feet(walk):
    motion, roles = walk.motion[::60], walk.character.require_roles()
    kinematics = Kinematics(motion)
    hand = Position(point=Point(roles["left_hand"]), target=kinematics.positions[:, 0] + [0.0, 4.0, 0.0])
    feet = [Position(point=Point(roles[n]), target=kinematics.positions[:, roles[n]]) for n in ENDS[2:]]
    found = Hybrid(walk.character).solve(motion, [hand, *(replace(foot, priority=1) for foot in feet)])
    assert not found.reached.any()
    assert max(off(foot, found.motion).max() for foot in feet) < 0.02
    assert (off(hand, found.motion) > 2.0).all()


def test_bones_of_no_length(walk):
    """A forearm or a shin without length: the limb is used as it is, or refused with the reason."""
    roles = walk.character.require_roles()
    for joint, end in (("left_hand", "left_hand"), ("left_lower_leg", "left_foot")):
        offsets = np.array(walk.character.skeleton.offsets)
        offsets[roles[joint]] = 0.0
        character = replace(walk.character, skeleton=replace(walk.character.skeleton, offsets=offsets))
        motion = replace(walk.motion[:3], skeleton=character.skeleton)
        goal = Position(point=Point(roles[end]), target=Kinematics(motion).positions[:, roles[end]] + [0.0, 0.1, 0.1])
        hybrid = Hybrid(character)
        reason = hybrid.refuses(goal)
        if reason is not None:
            assert "use numeric" in reason
            continue
        found = hybrid.solve(motion, [goal])
        assert np.isfinite(found.motion.rotations).all()
        assert np.isfinite(found.error).all()


def test_signs_of_quaternions_do_not_matter(walk):
    clip = replace(walk, motion=walk.motion[:6])
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(*clip.motion.rotations.shape[:2], 1))
    flipped = replace(clip.motion, rotations=clip.motion.rotations * signs)
    asked = edits(clip)
    asked[1] = replace(asked[1], target=-np.asarray(asked[1].target))
    solved = (Hybrid(walk.character).solve(motion, asked).motion for motion in (clip.motion, flipped))
    first, second = (Kinematics(motion).positions for motion in solved)
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_no_knee_pops(walk):
    """A foot drawn away through full stretch: knees and the trunk move as steadily as the goal."""
    character = walk.character
    hybrid, count = Hybrid(character), 1201
    limb = hybrid.limbs["left_leg"]
    motion = load("stand").motion[np.zeros(count, int)]
    start = Kinematics(motion).positions[0]
    way = np.linspace(-0.15, 0.45, count)[:, None] * np.array([0.0, -0.35, 0.94])
    goal = Position(point=Point(limb.end), target=start[limb.end] + [0.0, 0.1, 0.0] + way)
    other = Position(point=Point(hybrid.limbs["right_leg"].end), target=start[hybrid.limbs["right_leg"].end])
    step = np.linalg.norm(way[1] - way[0])
    for stiffness in ({}, {"leg": 0.0, "arm": 0.0}):
        found = replace(hybrid, stiffness=stiffness).solve(motion, [goal, other])
        places = Kinematics(found.motion).positions
        bones = [places[:, b] - places[:, a] for a, b in ((limb.upper, limb.lower), (limb.lower, limb.end))]
        bones = [bone / np.linalg.norm(bone, axis=1, keepdims=True) for bone in bones]
        angle = np.arccos(np.clip(np.sum(bones[0] * bones[1], axis=1), -1, 1))
        assert angle.max() > 0.5
        assert angle.min() < (0.05 if stiffness else 0.25), "the sweep goes through full stretch"
        assert np.abs(np.diff(angle)).max() / step < 40.0
        assert np.linalg.norm(np.diff(places[:, limb.lower], axis=0), axis=1).max() / step < 12.0
        assert np.linalg.norm(np.diff(places[:, 0], axis=0), axis=1).max() / step < 4.0


# ---- the same to the bit, alone, and many at once


def test_same_bits_again_on_two_threads_and_in_parts(walk):
    clip = replace(walk, motion=walk.motion[:90])
    roles = walk.character.require_roles()
    asked = [
        *edits(clip),
        Above(point=clip.character.contacts["left_toe"], ground=Plane((0.0, 0.03, 0.0))),
        LookAt(point=Point(roles["head"]), direction=(0.0, 0.0, 1.0), target=(1.0, 1.0, 6.0), frames=range(20, 40)),
    ]
    hybrid = Hybrid(walk.character)
    once = hybrid.solve(clip.motion, asked).motion
    others = [hybrid.solve(clip.motion, asked).motion, replace(hybrid, threads=2).solve(clip.motion, asked).motion]
    parts = [hybrid.solve(clip.motion[rows], asked, frames=rows).motion for rows in np.split(np.arange(90), [1, 7, 50])]
    for other in others:
        assert np.array_equal(once.root, other.root)
        assert np.array_equal(once.rotations, other.rotations)
    assert np.array_equal(once.root, np.concatenate([part.root for part in parts]))
    assert np.array_equal(once.rotations, np.concatenate([part.rotations for part in parts]))


def test_single_poses_on_bare_arrays_are_the_same(walk):
    clip = replace(walk, motion=walk.motion[:20])
    asked, hybrid = edits(clip), Hybrid(walk.character)
    found = hybrid.solve(clip.motion, asked)
    places = {c.point.joint: np.asarray(c.target) for c in asked[::2]}
    turns = {c.joint: np.asarray(c.target) for c in asked[1::2]}
    ends = [limb.end for limb in hybrid.limbs.values()]
    for row in (0, 13):
        root, rotations, left, status = hybrid.solve_pose(
            clip.motion.root[row], clip.motion.rotations[row],
            np.stack([places[end][row] for end in ends]), np.stack([turns[end][row] for end in ends]),
        )  # fmt: skip
        np.testing.assert_allclose(root, found.motion.root[row], atol=1e-12)
        np.testing.assert_allclose(np.abs(np.sum(rotations * found.motion.rotations[row], axis=1)), 1.0, atol=1e-12)
        assert left.max() < 1e-3
        assert set(status.tolist()) <= {Reach.REACHED, Reach.SOFTENED}
    stays = hybrid.solve_pose(
        clip.motion.root[0], clip.motion.rotations[0], np.zeros((4, 3)), np.ones((4, 4)) / 2, np.zeros(4), np.zeros(4)
    )
    np.testing.assert_array_equal(stays[1], clip.motion.rotations[0])


def test_nan_on_bare_arrays_is_an_error_that_says_where(walk):
    hybrid = Hybrid(walk.character)
    root, rotations = np.array(walk.motion.root[0]), np.array(walk.motion.rotations[0])
    places, turns = np.zeros((4, 3)), np.tile(rotation.IDENTITY, (4, 1))
    bad = places.copy()
    bad[2, 1] = np.nan
    with pytest.raises(MotionError, match=f"expected finite places, got NaN or infinity at '{list(hybrid.limbs)[2]}'"):
        hybrid.solve_pose(root, rotations, bad, turns)
    rotations[6, 0] = np.nan
    with pytest.raises(MotionError, match="expected finite rotations, got NaN or infinity at 'LeftClavicle'"):
        hybrid.solve_pose(root, rotations, places, turns)


def test_thousands_of_constraints_take_seconds(walk):
    count = thorough(2_000, 10_000)
    motion = walk.motion[np.arange(count) % len(walk.motion)]
    hand = Point(walk.character.require_roles()["left_hand"])
    places = Kinematics(motion).point(hand) + np.random.default_rng(0).normal(scale=0.03, size=(count, 3))
    asked = [Position(point=hand, target=place, frames=(frame,)) for frame, place in enumerate(places)]
    began = time.process_time()
    found = Hybrid(walk.character).solve(motion, asked)
    assert time.process_time() - began < 2.0 + 0.0018 * count
    assert found.reached.mean() > 0.99
    crowd = Hybrid(walk.character).solve(motion[:1], [replace(constraint, frames=None) for constraint in asked])
    assert np.isfinite(crowd.motion.rotations).all()


def test_what_it_refuses_and_why(walk):
    hybrid, roles = Hybrid(walk.character), walk.character.require_roles()
    elbow = Position(point=Point(roles["left_lower_arm"]), target=(0, 0, 0))
    reasons = {
        "not Distance": Distance(point=Point(0), other=Point(1), value=1.0),
        "position is free": Footplant(point=walk.character.contacts["left_heel"]),
        "'LeftLowerArm' is neither part of the trunk nor at the end": elbow,
        "'LeftHand' is not part of the trunk": LookAt(
            point=Point(roles["left_hand"]), direction=(0, 0, 1), target=(0, 0, 0)
        ),
        "not a chain alone": Position(point=Point(roles["left_hand"]), target=(0, 0, 0), chain=(3,)),
    }
    for words, constraint in reasons.items():
        assert words in (hybrid.refuses(constraint) or ""), words
    assert hybrid.refuses(Position(point=Point(roles["left_hand"]), target=(0, 0, 0))) is None
