"""Numerical inverse kinematics: met and least, in the order of priorities, and finite whatever is asked."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import shared_data
from footplant import Kinematics, MotionError, rest_motion, rotation
from footplant.constraints import (
    Above,
    AtMost,
    CenterOfMass,
    Constraint,
    Distance,
    Follow,
    Footplant,
    Hinge,
    JointLimits,
    LookAt,
    Orientation,
    Position,
    SamePlace,
    spine_shares,
)
from footplant.errors import ConstraintError
from footplant.geometry import Plane
from footplant.humanoid.limits import limit_violations
from footplant.kernels import least_squares
from footplant.samples import load, load_character
from footplant.skeleton import MovingPoint, Point
from footplant.solve.ik import _numeric as kernel
from footplant.solve.ik.bounds import no_bounds, pose_bounds
from footplant.solve.ik.limb import limbs_of
from footplant.solve.ik.numeric import Numeric
from footplant.solve.ik.pins import collect
from random_figures import random_motion
from thorough import thorough


@pytest.fixture(scope="module")
def walk():
    return load("walk")


def off(constraint: Constraint, motion) -> np.ndarray:
    """(F,) how far a constraint is off."""
    values = constraint.residual(Kinematics(motion))
    return np.linalg.norm(np.minimum(values, 0.0) if constraint.inequality else values, axis=1)


# ---- the kernel beside NumPy


@pytest.mark.usefixtures("inner_kernels_are_interpreted")
def test_pins_are_measured_as_their_constraints_measure_themselves():
    rng = np.random.default_rng(3)
    motion = random_motion(5, 9, 4)
    moving = MovingPoint(6, (0.0, 0.0, 0.0), rng.normal(size=(5, 3)))
    asked = [
        Position(point=Point(8, (0.1, 0.2, 0.3)), target=rng.normal(size=(5, 3)), axes=(1.0, 0.5, 0.0)),
        Position(point=moving, target=rng.normal(size=3), chain=(2, 6)),
        Orientation(joint=7, target=rotation.normalize(rng.normal(size=(5, 4)))),
    ]
    kinematics = Kinematics(motion)
    pins = collect(kinematics, asked)
    chains = np.ones((2, 10), bool)
    chains[1] = np.isin(np.arange(10) - 1, (2, 6))
    residual, jacobian = np.empty(9), np.empty((30, 9))
    body = kernel.Body(
        motion.skeleton.parents, motion.skeleton.offsets[None], np.arange(10), np.arange(10), np.ones(30)
    )
    table = kernel.Pins(
        pins.starts, pins.kinds, pins.joints, pins.offsets, pins.targets, pins.axes,
        np.array([0, 1, 0])[pins.sources], chains,
    )  # fmt: skip
    at = least_squares.Linearization(np.empty(30), residual, jacobian)
    for row in range(5):
        origin = least_squares.Pose(motion.root[row], motion.rotations[row])
        kernel.measure_row(
            (body, table, no_bounds(5)), row, origin, (motion.root[row : row + 1], motion.rotations[row : row + 1]),
            (np.empty((1, 9, 3)), np.empty((1, 9, 4))), np.zeros(9, bool), at,
        )  # fmt: skip
        part = kinematics[row : row + 1]
        np.testing.assert_allclose(residual, np.concatenate([c.residual(part)[0] for c in asked]), atol=1e-12)
        expected = np.concatenate([c.jacobian(part)[0] for c in asked])
        expected[3:6] *= np.repeat(chains[1], 3)
        np.testing.assert_allclose(jacobian, expected.T, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), rows=st.sampled_from([1, 5, 40, 140]), damping=st.sampled_from([0.0, 0.3]))
@pytest.mark.usefixtures("inner_kernels_are_interpreted")
def test_steps_equal_those_of_dense_algebra(seed, rows, damping):
    """Among the residuals or among the unknowns, it is the same step; what is fine takes no part."""
    rng = np.random.default_rng(seed)
    unknowns = 24
    costs, moved = rng.uniform(0.5, 2.0, unknowns), rng.normal(size=unknowns)
    residual, jacobian, weights = rng.normal(size=rows), rng.normal(size=(unknowns, rows)), rng.uniform(0.1, 9.0, rows)
    one_sided = rng.uniform(size=rows) < 0.3
    used = ~(one_sided & (residual >= 0))
    objective = least_squares.Objective(costs, weights, one_sided, np.zeros(rows, bool), rows)
    at = least_squares.Linearization(moved, residual, jacobian)
    work = least_squares.workspace(unknowns, rows)
    assert least_squares.find_step(objective, at, damping, work)
    j, w = jacobian[:, used], weights[used]
    normal = (j * w) @ j.T
    expected = np.linalg.solve(np.diag((1 + damping) * costs) + normal, -(costs * moved) - (j * w) @ residual[used])
    np.testing.assert_allclose(work.step, expected, rtol=1e-9, atol=1e-11)


def test_active_bounds_that_would_pull_are_released():
    """Of two active bounds the one that limits the step stays, the other does not change it."""
    costs, moved = np.ones(2), np.array([-1.0, -1.0])
    jacobian, residual = np.array([[-1.0, 0.0], [0.0, 1.0]]), np.array([0.25, 0.5])
    active, work = np.array([True, True]), least_squares.workspace(2, 2)
    objective = least_squares.Objective(costs, np.full(2, 1e9), np.ones(2, bool), active, 2)
    assert least_squares.find_step(objective, least_squares.Linearization(moved, residual, jacobian), 0.0, work)
    np.testing.assert_allclose(work.step, [0.25, 1.0], atol=1e-6)
    assert active.tolist() == [True, False]


def test_answers_are_the_least(walk):
    """Against SciPy's SQP on the same objective, by finite differences, from the same start."""
    from scipy.optimize import minimize

    motion = random_motion(1, 5, 11, smooth=True)
    kinematics = Kinematics(motion)
    tip = Point(4, (0.2, 0.1, 0.0))
    goal = Position(point=tip, target=kinematics.point(tip)[0] + [0.3, -0.2, 0.25])
    turn = Orientation(joint=3, target=rotation.multiply(rotation.exp([0.2, 0.1, -0.3]), kinematics.rotations[0, 3]))
    costs = np.repeat([0.1, 1.0, 1.0, 1.0, 1.0, 1.0], 3)

    def residual(x):
        now = Kinematics(motion + x.reshape(1, -1, 3))
        return np.concatenate([goal.residual(now)[0], turn.residual(now)[0]])

    best = minimize(
        lambda x: np.sum(costs * x**2), np.zeros(18), jac=lambda x: 2 * costs * x, method="SLSQP",
        constraints={"type": "eq", "fun": residual}, options={"ftol": 1e-12, "maxiter": 300},
    )  # fmt: skip
    assert best.success
    found = Numeric().solve(motion, [goal, turn])
    assert found.reached.all()
    x = (found.motion - motion).ravel()
    np.testing.assert_allclose(np.sum(costs * x**2), best.fun, rtol=1e-4)
    np.testing.assert_allclose(x, best.x, atol=2e-3)


# ---- what is asked is met


def test_any_mix_is_met_at_once(walk):
    motion, roles = walk.motion[:40], walk.character.require_roles()
    kinematics = Kinematics(motion)
    left, right = Point(roles["left_hand"]), Point(roles["right_hand"])
    ankle, own = Point(roles["left_foot"]), {"character": walk.character}
    asked = [
        Distance(point=left, other=right, value=0.4),
        Position(point=ankle, target=kinematics.point(ankle) + [0.0, 0.1, 0.05]),
        Orientation(joint=roles["right_foot"], target=kinematics.rotations[:, roles["right_foot"]]),
        LookAt(point=Point(roles["head"]), direction=(0.0, 0.0, 1.0), target=(1.0, 1.2, 5.0)),
        CenterOfMass(**own, target=kinematics.center_of_mass(walk.character) + [0.03, 0.0, 0.02]),
        Position(point=right, target=Follow(Point(roles["head"], (0.0, 0.1, 0.5)))),
        AtMost(point=left, other=Point(roles["head"]), value=0.7),
        Above(point=left, ground=Plane(), clearance=1.1),
        JointLimits(**own),
        *spine_shares(walk.character, weight=0.1),
    ]
    found = Numeric().solve(motion, asked)
    assert found.reached.mean() > 0.95
    worst = {constraint.title: off(constraint, found.motion)[found.reached].max() for constraint in asked[:9]}
    assert max(worst.values()) < 5e-4, worst


def test_joint_limits_hold_and_the_goal_gives_way(walk):
    motion, roles = walk.motion[:10], walk.character.require_roles()
    knee, limits = roles["left_lower_leg"], JointLimits(character=walk.character)
    foot = Point(roles["left_foot"])
    kinematics = Kinematics(motion)
    # a shin in front of the thigh, as no knee bends
    thigh = kinematics.positions[:, knee] - kinematics.positions[:, roles["left_upper_leg"]]
    goal = Position(point=foot, target=kinematics.positions[:, knee] + 0.8 * thigh + [0.0, 0.0, 0.25], chain=(knee,))
    free = Numeric().solve(motion, [goal])
    assert off(limits, free.motion).min() > 0.2
    held = Numeric().solve(motion, [goal, limits])
    assert off(limits, held.motion).max() < 2e-3
    assert not held.reached.any()
    assert (off(goal, held.motion) > off(goal, free.motion)).all()


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_reachable_poses_are_reached_within_the_limits(seed):
    """A pose inside the limits is asked for by its hands, feet and head; an answer inside the limits exists."""
    character = load_character("mannequin")
    rng = np.random.default_rng(seed)
    roles, limits = character.require_roles(), JointLimits(character=character)
    motion = load("stand").motion[:1]
    wanted = motion + rng.normal(scale=0.15, size=(1, 1 + len(character.skeleton), 3))
    inside = Numeric().solve(wanted, [limits]).motion
    kinematics = Kinematics(inside)
    assert off(limits, inside).max() < 1e-3
    ends = [roles[name] for name in ("left_hand", "right_hand", "left_foot", "right_foot", "head")]
    asked = [Position(point=Point(joint), target=kinematics.positions[:, joint]) for joint in ends]
    found = Numeric().solve(motion, [*asked, limits])
    assert max(off(constraint, found.motion).max() for constraint in asked) < 2e-3
    assert off(limits, found.motion).max() < 2e-3


@pytest.mark.parametrize("priorities", [(1, 0), (0, 1), (7, -9)])
def test_the_greater_priority_wins(walk, priorities):
    motion = walk.motion[:6]
    hand = Point(walk.character.require_roles()["left_hand"])
    places = Kinematics(motion).point(hand)
    first = Position(point=hand, target=places + [0.3, 0.2, 0.1], priority=priorities[0])
    second = Position(point=hand, target=places + [-0.5, 0.4, 0.0], priority=priorities[1])
    found = Numeric().solve(motion, [first, second])
    apart = np.linalg.norm([0.8, -0.2, 0.1])
    winner, loser = (first, second) if priorities[0] > priorities[1] else (second, first)
    assert off(winner, found.motion).max() < 1e-3
    np.testing.assert_allclose(off(loser, found.motion), apart, atol=1e-3)
    assert not found.reached.any()
    # alone, the one of small priority is met as exactly as any other
    alone = Numeric().solve(motion, [loser])
    assert alone.reached.all()


def test_equals_meet_halfway_and_order_does_not_matter(walk):
    motion = walk.motion[:4]
    hand = Point(walk.character.require_roles()["left_hand"])
    places = Kinematics(motion).point(hand)
    both = [Position(point=hand, target=places + shift) for shift in ([0.1, 0, 0], [-0.1, 0, 0])]
    found, turned = Numeric().solve(motion, both), Numeric().solve(motion, both[::-1])
    np.testing.assert_allclose(off(both[0], found.motion), 0.1, atol=1e-3)
    np.testing.assert_allclose(off(both[1], found.motion), 0.1, atol=1e-3)
    np.testing.assert_allclose(found.motion.rotations, turned.motion.rotations, atol=1e-6)


def test_only_the_chain_moves(walk):
    motion, roles = walk.motion[:5], walk.character.require_roles()
    chain = tuple(walk.character.skeleton.chain(roles["left_hand"], roles["left_upper_arm"]))
    hand = Point(roles["left_hand"])
    goal = Position(point=hand, target=Kinematics(motion).point(hand) + [0.05, 0.1, 0.05], chain=chain)
    found = Numeric().solve(motion, [goal])
    assert found.reached.all()
    others = [joint for joint in range(len(motion.skeleton)) if joint not in chain]
    np.testing.assert_array_equal(found.motion.rotations[:, others], motion.rotations[:, others])
    np.testing.assert_array_equal(found.motion.root, motion.root)
    # a chain from the root on also moves the root
    whole = replace(goal, chain=(0,), target=np.asarray(goal.target) + [0.0, 0.0, 1.0])
    assert np.abs(Numeric().solve(motion, [whole]).motion.root - motion.root).max() > 0.5


def test_soft_ones_are_followed_as_far_as_they_weigh(walk):
    motion = walk.motion[:3]
    hand = Point(walk.character.require_roles()["left_hand"])
    goal = Position(point=hand, target=Kinematics(motion).point(hand) + [0.0, 0.2, 0.2], hard=False)
    left = [off(goal, Numeric().solve(motion, [replace(goal, weight=w)]).motion).max() for w in (0.01, 1.0, 100.0)]
    assert left[0] > left[1] > left[2]
    assert left[0] > 0.1
    assert left[2] < 0.01
    assert Numeric().solve(motion, [goal]).reached.all(), "nothing hard was missed"


def test_ramps_ease_in_without_a_jump(walk):
    motion = walk.motion
    hand = Point(walk.character.require_roles()["left_hand"])
    shift = np.array([0.0, 0.15, 0.1])
    goal = Position(
        point=hand, target=(Kinematics(motion).point(hand) + shift)[100:140], frames=range(100, 140), ramp=(0.25, 0.25)
    )
    found = Numeric().solve(motion, [goal]).motion
    moved = np.linalg.norm(Kinematics(found).point(hand) - Kinematics(motion).point(hand), axis=1)
    np.testing.assert_allclose(moved[100:140], np.linalg.norm(shift), atol=1e-3)
    assert moved[:70].max() == 0.0
    assert moved[170:].max() == 0.0
    assert np.abs(np.diff(moved)).max() < 0.02, "no frame carries more than a tenth of the way"


def test_footplants_are_held(walk):
    heel = walk.character.contacts["left_heel"]
    places = Kinematics(walk.motion).point(heel)
    still = np.flatnonzero(np.linalg.norm(np.diff(places, axis=0), axis=1) < 1e-4)
    held = max(np.split(still, np.flatnonzero(np.diff(still) > 1) + 1), key=len)
    assert len(held) > 20
    plant = Footplant(
        point=heel, frames=range(held[0], held[-1]), place=places[held[5]] + [0.04, 0.02, 0.0], ramp=(0.1, 0.1)
    )
    found = Numeric().solve(walk.motion, [plant])
    assert off(plant, found.motion)[held[0] : held[-1]].max() < 1e-4
    moved = Kinematics(found.motion).point(heel) - places
    assert np.linalg.norm(np.diff(moved, axis=0), axis=1).max() < 0.01, "it comes and goes within its ramps"


# ---- whatever is asked, it ends


def test_out_of_reach_ends_with_the_limb_stretched(walk):
    motion, roles = walk.motion[:8], walk.character.require_roles()
    skeleton = walk.character.skeleton
    chain = tuple(skeleton.chain(roles["left_hand"], roles["left_upper_arm"]))
    goal = Position(point=Point(roles["left_hand"]), target=(3.0, 1.0, 0.0), chain=chain)
    found = Numeric().solve(motion, [goal])
    shoulder = Kinematics(motion).positions[:, roles["left_upper_arm"]]
    arm = np.linalg.norm(skeleton.offsets[[roles["left_lower_arm"], roles["left_hand"]]], axis=1).sum()
    assert not found.reached.any()
    np.testing.assert_allclose(found.error, np.linalg.norm(shoulder - [3.0, 1.0, 0.0], axis=1) - arm, atol=1e-3)


def test_pins_farther_apart_than_the_body(walk):
    motion, roles = walk.motion[:4], walk.character.require_roles()
    asked = [
        Position(point=Point(roles["left_hand"]), target=(2.5, 1.0, 0.0)),
        Position(point=Point(roles["right_hand"]), target=(-2.5, 1.0, 0.0)),
    ]
    found = Numeric().solve(motion, asked)
    assert not found.reached.any()
    assert np.isfinite(found.motion.rotations).all()
    assert 0.5 < found.error.max() < 2.5


def test_contradictions_end(walk):
    motion, roles = walk.motion[:3], walk.character.require_roles()
    left, right = Point(roles["left_hand"]), Point(roles["right_hand"])
    asked = [
        Distance(point=left, other=right, value=0.1),
        Distance(point=left, other=right, value=0.9),
        Hinge(character=walk.character, joint=roles["left_lower_leg"], axis=(1, 0, 0)),
        Hinge(character=walk.character, joint=roles["left_lower_leg"], axis=(0, 1, 0)),
    ]
    found = Numeric().solve(motion, asked)
    assert np.isfinite(found.error).all()
    assert not found.reached.any()


def test_a_bone_of_no_length_and_a_goal_at_its_own_joint():
    motion = random_motion(3, 4, 0)
    skeleton = replace(motion.skeleton, offsets=motion.skeleton.offsets * np.array([1.0, 0.0, 1.0, 0.0])[:, None])
    motion = replace(motion, skeleton=skeleton)
    at = Kinematics(motion).positions
    for joint in range(4):
        found = Numeric().solve(motion, [Position(point=Point(3), target=at[:, joint])])
        assert np.isfinite(found.motion.rotations).all()
        assert found.reached.all(), "the root can always bring it there"


def test_half_a_turn_of_an_orientation(walk):
    motion, head = walk.motion[:3], walk.character.require_roles()["head"]
    turned = rotation.multiply(rotation.exp([0.0, np.pi, 0.0]), Kinematics(motion).rotations[:, head])
    found = Numeric().solve(motion, [Orientation(joint=head, target=turned)])
    assert np.isfinite(found.motion.rotations).all()
    assert found.reached.all()


def test_nothing_asked_and_no_frames(walk):
    motion = walk.motion[:5]
    for asked in ((), (Position(point=Point(3), target=(0, 0, 0), frames=()),)):
        found = Numeric().solve(motion, asked)
        np.testing.assert_array_equal(found.motion.rotations, motion.rotations)
        assert found.reached.all()
        assert (found.error == 0).all()
    assert len(Numeric().solve(walk.motion[:0], [Position(point=Point(3), target=(0, 0, 0))]).motion) == 0


def test_nan_is_an_error_that_says_where(walk):
    rotations = np.array(walk.motion.rotations)
    rotations[3, 7, 2] = np.nan
    with pytest.raises(MotionError, match="NaN or infinity at frame 3, joint 'LeftUpperArm'"):
        replace(walk.motion, rotations=rotations)
    with pytest.raises(ConstraintError, match="expected finite numbers, got NaN"):
        Position(point=Point(3), target=(0.0, np.nan, 0.0))

    @dataclass(frozen=True, eq=False, kw_only=True)
    class Broken(Constraint):
        def residual(self, kinematics):
            return np.where(kinematics.frames[:, None] == 12, np.nan, 1.0)

        def jacobian(self, kinematics):
            return np.zeros((len(kinematics.frames), 1, 3 + 3 * len(kinematics.motion.skeleton)))

    with pytest.raises(ConstraintError, match=r"broken: expected finite residuals .* at frame 12"):
        Numeric().solve(walk.motion[10:15], [Broken()], frames=np.arange(10, 15))


def test_signs_of_quaternions_do_not_matter(walk):
    motion = walk.motion[:6]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(*motion.rotations.shape[:2], 1))
    flipped = replace(motion, rotations=motion.rotations * signs)
    hand = Point(walk.character.require_roles()["right_hand"])
    goal = Position(point=hand, target=Kinematics(motion).point(hand) + [0.1, 0.3, 0.2])
    first, second = (Kinematics(Numeric().solve(m, [goal]).motion).positions for m in (motion, flipped))
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_what_it_refuses(walk):
    numeric = Numeric()
    assert "couples frames" in (numeric.refuses(SamePlace(point=Point(0), pair=(0, 1))) or "")
    assert "position is free" in (numeric.refuses(Footplant(point=Point(0))) or "")
    assert numeric.refuses(Position(point=Point(0), target=(0, 0, 0))) is None


# ---- the same to the bit, and many at once


def mixed(clip):
    """Pins and other kinds, some at part of the frames, with limits that some frames violate."""
    roles = clip.character.require_roles()
    kinematics = Kinematics(clip.motion)
    hand, foot = Point(roles["left_hand"]), Point(roles["right_foot"])
    return [
        Position(point=hand, target=kinematics.point(hand) + [0.1, 0.3, 0.0]),
        Orientation(joint=roles["left_hand"], target=(1, 0, 0, 0), frames=range(5, 25), ramp=(0.1, 0.1)),
        Footplant(point=foot, place=(0.1, 0.05, 0.3), frames=range(10, 30), ramp=(0.05, 0.05)),
        JointLimits(character=clip.character),
        Distance(point=hand, other=Point(roles["right_hand"]), value=0.6, frames=range(20, 50)),
    ]


@pytest.mark.parametrize("only_pins", [True, False])
def test_same_bits_again_on_two_threads_and_in_parts(walk, only_pins):
    clip = replace(walk, motion=walk.motion[:60])
    asked = mixed(clip)[: 3 if only_pins else None]
    once, again = Numeric().solve(clip.motion, asked), Numeric().solve(clip.motion, asked)
    two = Numeric(threads=2).solve(clip.motion, asked)
    for other in (again, two):
        assert np.array_equal(once.motion.root, other.motion.root)
        assert np.array_equal(once.motion.rotations, other.motion.rotations)
    # a plant's ramp looks at the held frames, so parts are cut where none is split
    for rows in (np.arange(0, 4), np.arange(40, 60), np.arange(40, 41)):
        part = Numeric().solve(clip.motion[rows], asked, frames=rows)
        assert np.array_equal(part.motion.root, once.motion.root[rows])
        assert np.array_equal(part.motion.rotations, once.motion.rotations[rows])


def test_a_warm_start_ends_at_the_same_place(walk):
    motion = walk.motion[:10]
    hand = Point(walk.character.require_roles()["left_hand"])
    goal = Position(point=hand, target=Kinematics(motion).point(hand) + [0.0, 0.2, 0.1])
    cold = Numeric().solve(motion, [goal])
    warm = Numeric().solve(motion, [goal], start=cold.motion)
    np.testing.assert_allclose(warm.motion.rotations, cold.motion.rotations, atol=1e-3)
    toes = walk.character.require_roles()["left_toes"]
    away = Numeric().solve(motion, [goal], start=motion + np.full((1 + len(motion.skeleton), 3), 0.01))
    np.testing.assert_array_equal(away.motion.rotations[:, toes], motion.rotations[:, toes])


def test_thousands_of_constraints_take_seconds(walk):
    count = thorough(2_000, 10_000)
    motion = walk.motion[np.arange(count) % len(walk.motion)]
    hand = Point(walk.character.require_roles()["left_hand"])
    places = Kinematics(motion).point(hand) + np.random.default_rng(0).normal(scale=0.05, size=(count, 3))
    asked = [Position(point=hand, target=place, frames=(frame,)) for frame, place in enumerate(places)]
    began = time.process_time()
    found = Numeric().solve(motion, asked)
    assert time.process_time() - began < 2.0 + 0.0018 * count
    assert found.reached.all()
    crowd = [replace(constraint, frames=None) for constraint in asked]
    began = time.process_time()
    one = Numeric().solve(motion[:1], crowd)
    assert time.process_time() - began < 2.0 + 0.0018 * count
    # thousands of equals at one frame meet in their middle
    np.testing.assert_allclose(Kinematics(one.motion).point(hand)[0], places.mean(axis=0), atol=1e-3)


@pytest.mark.parametrize("name", ["RobotExpressive", "KnightCharacter"])
@pytest.mark.named("gltf/RobotExpressive.glb", "gltf/KnightCharacter/KnightCharacter.gltf")
def test_figures_whose_limbs_do_not_hang_together(shared, name):
    """Feet that hang on the root, not on the shins: hybrid refuses with the reason, numeric works."""
    from footplant.io import load_character as load_file
    from footplant.solve.ik.hybrid import Hybrid

    paths = [path for path in shared_data().rglob(f"*{name}*") if path.suffix in (".glb", ".gltf", ".fbx")]
    if not paths:
        pytest.skip(f"no file of {name} in shared/data")
    character = load_file(paths[0])
    foot = Point(character.require_roles()["left_foot"])
    motion = rest_motion(character.skeleton)
    goal = Position(point=foot, target=Kinematics(motion).point(foot) + [0.0, 0.05, 0.02])
    reason = Hybrid(character).refuses(goal)
    assert reason is not None
    assert "left leg, whose joints do not form a chain; use numeric" in reason
    found = Numeric().solve(motion, [goal])
    assert found.reached.all()


def test_bounds_are_measured_as_limits_and_heights_measure_themselves():
    """Slacks to joint limits and heights of soles, and their derivatives by finite differences."""
    clip = load("walk")
    character, motion = clip.character, clip.motion[:3]
    slope = Plane((0.0, 0.3, 0.0), (0.1, 1.0, -0.2))
    whole = pose_bounds(motion, character, slope)
    bounds = whole.at(Kinematics(motion))
    groups = np.arange(1 + len(character.skeleton))
    body = kernel.Body(
        motion.skeleton.parents, motion.skeleton.offsets[None], groups, groups, np.ones(3 * len(groups))
    )  # fmt: skip
    limits, hinges = 3 * len(bounds.joints), 2 * len(bounds.hinges)
    count = limits + hinges + len(bounds.soles)
    pins = kernel.Pins(
        np.zeros(4, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 4)),
        np.zeros((0, 3)), np.zeros(0, np.int64), np.ones((1, len(groups)), bool),
    )  # fmt: skip

    def measured(moved):
        at = least_squares.Linearization(
            np.empty(3 * len(groups)), np.empty(count), np.zeros((3 * len(groups), count))
        )  # fmt: skip
        origin = least_squares.Pose(motion.root[1], motion.rotations[1])
        kernel.measure_row(
            (body, pins, bounds), 1, origin, (moved.root[1:2], moved.rotations[1:2]),
            (np.empty((1, len(groups) - 1, 3)), np.empty((1, len(groups) - 1, 4))), np.ones(count, bool), at,
        )  # fmt: skip
        return at

    rng = np.random.default_rng(4)
    away = motion + 0.2 * rng.normal(size=(3, len(groups), 3))
    at, step = measured(away), 1e-6
    exceeded = np.maximum(-at.residual[:limits].reshape(-1, 3), 0.0).max(axis=1)
    np.testing.assert_allclose(exceeded, limit_violations(character, away.rotations)[1, bounds.joints], atol=1e-9)
    soles = [character.contacts[f"{side}_{part}"] for side in ("left", "right") for part in ("heel", "ball", "toe")]
    soles += [Point(character.require_roles()[f"{side}_foot"]) for side in ("left", "right")]
    places = Kinematics(away).points(soles)[1]
    floors = slope.height(places[:, [0, 2]]) + whole._depths[1]
    np.testing.assert_allclose(at.residual[limits + hinges :], places[:, 1] - floors, atol=1e-12)
    for column in rng.choice(3 * len(groups), 20, replace=False):
        nudge = np.zeros((3, len(groups), 3))
        nudge[:, column // 3, column % 3] = step
        slopes = (measured(away + nudge).residual - measured(away + -nudge).residual) / (2.0 * step)
        own = np.r_[0:limits, limits + hinges : count]
        np.testing.assert_allclose(at.jacobian[column, own], slopes[own], atol=1e-5)


def test_hinge_axes_do_not_jump_where_a_knee_straightens():
    """A knee that is captured bent sideways, from straight on: axes of neighbouring frames are close to each other."""
    clip = load("walk")
    character, roles = clip.character, clip.character.require_roles()
    knee, frames = roles["left_lower_leg"], 40
    limb = limbs_of(character)["left_leg"]
    rest = rest_motion(character.skeleton)
    kinematics = Kinematics(rest)
    own = rotation.rotate(
        rotation.inverse(kinematics.rotations[0, limb.upper]),
        kinematics.positions[0, limb.end] - kinematics.positions[0, knee],
    )
    sideways = np.cross(limb.axis, own / np.linalg.norm(own))
    bend = np.radians(np.linspace(0.0, 20.0, frames))[:, None] * (0.6 * limb.axis + 0.8 * sideways)
    rotations = np.repeat(rest.rotations, frames, axis=0)
    rotations[:, knee] = rotation.multiply(rotations[:, knee], rotation.exp(bend))
    motion = rest.like(np.repeat(rest.root, frames, axis=0), rotations, None)
    bounds = pose_bounds(motion, character, None).at(Kinematics(motion))
    number = bounds.hinges.tolist().index(knee)
    axes = np.cross(bounds.sideways[:, number, 0], bounds.sideways[:, number, 1])
    turned = np.degrees(np.arccos(np.clip((axes[1:] * axes[:-1]).sum(axis=1), -1.0, 1.0)))
    assert turned.max() < 3.0
