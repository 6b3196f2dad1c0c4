"""Constraints: every Jacobian against finite differences, ramps, moving targets, and user-defined kinds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import Kinematics, Motion, rest_motion, rotation
from footplant.constraints import (
    Above,
    AccelerationLimit,
    AcrossFrames,
    Area,
    AtLeast,
    AtMost,
    CenterOfMass,
    ConeTwist,
    Constraint,
    Distance,
    Follow,
    Footplant,
    Hinge,
    JointLimits,
    LookAt,
    Orientation,
    Position,
    Relation,
    SamePlace,
    SpeedLimit,
    check,
    shoulder_rhythm,
    spine_shares,
)
from footplant.errors import ConstraintError
from footplant.geometry import Ball, Box, Capsule, Plane
from footplant.samples import load, load_character
from footplant.skeleton import Character, Limits, MovingPoint, Point
from footplant.solve.ik.numeric import Numeric
from random_figures import random_motion


class Waves:
    """A smooth ground whose normals are exact."""

    def height(self, places):
        places = np.asarray(places)
        return 0.3 * np.sin(places[..., 0]) * np.cos(places[..., 1])

    def normal(self, places):
        x, z = np.moveaxis(np.asarray(places), -1, 0)
        slope = np.stack([-0.3 * np.cos(x) * np.cos(z), np.ones_like(x), 0.3 * np.sin(x) * np.sin(z)], axis=-1)
        return slope / np.linalg.norm(slope, axis=-1, keepdims=True)


def some_point(rng, joints):
    return Point(int(rng.integers(joints)), tuple(rng.normal(scale=0.3, size=3)))


def apart_point(rng, joints, other):
    """A point on another joint: two points of one segment have a constant distance."""
    joint = int(rng.choice([j for j in range(joints) if j != other.joint]))
    return Point(joint, tuple(rng.normal(scale=0.3, size=3)))


def one_of_each(character: Character, motion: Motion, rng) -> dict[str, Constraint]:
    """Every kind of constraint, with every form of target, on a character with masses and limits."""
    joints, frames = len(character.skeleton), len(motion)
    point = some_point(rng, joints)
    other = apart_point(rng, joints, point)
    joint = int(rng.integers(joints))
    axis = tuple(rng.normal(size=3))
    places = rng.normal(size=(frames, 3))
    near = rotation.multiply(
        rotation.exp(rng.normal(scale=0.4, size=(frames, 3))), Kinematics(motion).rotations[:, joint]
    )
    turned = rotation.exp(rng.normal(size=3))
    moving = MovingPoint(point.joint, point.offset, rng.normal(scale=0.3, size=(frames, 3)))
    terms = tuple((int(j), rng.normal(size=(2, 3))) for j in rng.choice(joints, 2, replace=False))
    own = {"character": character}
    return {
        "position": Position(point=point, target=places[0]),
        "position for each frame": Position(point=point, target=places, axes=(1.0, 0.5, 0.0)),
        "position of a moving point": Position(point=moving, target=places),
        "position that follows the figure": Position(point=point, target=Follow(other)),
        "position that follows another": Position(point=point, target=Follow(other, random_motion(frames, joints, 3))),
        "orientation": Orientation(joint=joint, target=near),
        "distance": Distance(point=point, other=other, value=rng.uniform(size=frames)),
        "at least": AtLeast(point=point, other=other, value=0.5),
        "at most": AtMost(point=point, other=other, value=0.5),
        "outside a ball": Area(point=point, region=Ball(tuple(places[0]), 0.7)),
        "inside a ball": Area(point=point, region=Ball(tuple(places[0]), 0.7), inside=True, margin=places[:, 0]),
        "outside a box": Area(point=point, region=Box(tuple(places[0]), (0.3, 0.4, 0.5), tuple(turned))),
        "outside a capsule": Area(point=point, region=Capsule(tuple(places[0]), tuple(places[-1]), 0.2)),
        "above a plane": Area(point=point, region=Plane((0.0, 0.1, 0.0), (0.2, 1.0, -0.1))),
        "above the ground": Above(point=point, ground=Waves(), clearance=rng.uniform(size=frames)),
        "look at": LookAt(point=point, direction=(0.3, 0.2, 1.0), target=places),
        "look at a point of the figure": LookAt(point=point, direction=(0.0, 0.0, 2.0), target=Follow(other)),
        "centre of mass": CenterOfMass(**own, target=places),
        "centre of mass over a point": CenterOfMass(**own, target=Follow(point)),
        "joint limits": JointLimits(**own),
        "cone and twist": ConeTwist(**own, joint=joint, axis=axis, swing=0.6, twist=(-0.3, 0.4)),
        "hinge": Hinge(**own, joint=joint, axis=axis),
        "relation": Relation(**own, terms=terms),
        "footplant": Footplant(point=point, place=places[0]),
        "same place": SamePlace(point=point, pair=(0, frames - 1)),
        "speed limit": SpeedLimit(point=point, most=0.5),
        "acceleration limit": AccelerationLimit(point=point, most=0.5),
    }


KINDS = sorted(one_of_each(load_character("mannequin"), load("stand").motion[:3], np.random.default_rng(0)))


def random_figure(seed: int, joints: int, frames: int = 3) -> tuple[Character, Motion, np.random.Generator]:
    """A random tree with masses and limits, posed not too far from its rest: rotation vectors end at half a turn."""
    rng = np.random.default_rng(seed)
    motion = random_motion(frames, joints, seed, smooth=True)
    limits = Limits(-rng.uniform(0.1, 1.0, size=(joints, 3)), rng.uniform(0.1, 1.0, size=(joints, 3)))
    masses = rng.uniform(size=joints)
    character = Character(
        motion.skeleton, limits=limits, masses=masses / masses.sum(), mass_centers=rng.normal(size=(joints, 3))
    )
    return character, motion, rng


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), joints=st.integers(3, 9))
def test_jacobians_on_random_skeletons(kind, seed, joints):
    character, motion, rng = random_figure(seed, joints)
    constraint = one_of_each(character, motion, rng)[kind]
    size = 1.0 + np.abs(constraint.jacobian(Kinematics(motion))).max()
    assert check(constraint, motion) < 2e-6 * size**2


@pytest.mark.parametrize("kind", KINDS)
def test_jacobians_on_the_mannequin(kind):
    clip = load("walk")
    motion = clip.motion[:120:40]
    rng = np.random.default_rng(7)
    motion = motion + rng.normal(scale=0.1, size=(len(motion), 1 + len(motion.skeleton), 3))
    constraint = one_of_each(clip.character, motion, rng)[kind]
    size = 1.0 + np.abs(constraint.jacobian(Kinematics(motion))).max()
    assert check(constraint, motion) < 1e-6 * size**2


def test_jacobians_of_body_relations():
    clip = load("reach")
    motion = clip.motion[:: len(clip.motion) // 3]
    for constraint in (*spine_shares(clip.character), shoulder_rhythm(clip.character, "left")):
        assert check(constraint, motion) < 1e-6
        assert constraint.unit == "rad"
        assert not constraint.hard


def test_a_wrong_jacobian_is_found():
    """`check` finds an error, so it does not accept everything."""

    @dataclass(frozen=True, eq=False, kw_only=True)
    class Wrong(Position):
        def jacobian(self, kinematics):
            return 1.01 * super().jacobian(kinematics)

    assert check(Wrong(point=Point(3), target=np.zeros(3)), random_motion(2, 5, 1)) > 0.009


@dataclass(frozen=True, eq=False, kw_only=True)
class SameHeight(Constraint):
    """A user-defined kind: two points are level, like a tray in both hands."""

    first: Point
    second: Point

    def residual(self, kinematics):
        return (kinematics.point(self.first) - kinematics.point(self.second))[:, 1:2]

    def jacobian(self, kinematics):
        both = kinematics.position_jacobian(self.first) - kinematics.position_jacobian(self.second)
        return both[:, 1:2]


def test_a_user_defined_kind_needs_two_methods():
    clip = load("walk")
    roles = clip.character.require_roles()
    level = SameHeight(first=Point(roles["left_hand"]), second=Point(roles["right_hand"]), name="tray")
    assert check(level, clip.motion[:3]) < 1e-6
    found = Numeric().solve(clip.motion[:20], [level])
    assert found.reached.all()
    assert np.abs(level.residual(Kinematics(found.motion))).max() < 1e-4
    assert np.abs(level.residual(Kinematics(clip.motion[:20]))).max() > 0.01


def test_activation_rises_and_falls_smoothly():
    plant = Position(point=Point(0), target=np.zeros(3), frames=range(10, 20), ramp=(0.2, 0.4))
    frames = np.arange(40)
    share = plant.activation(frames, 30.0)
    assert (share[10:20] == 1.0).all()
    assert (share[:5] == 0.0).all()
    assert (share[31:] == 0.0).all()
    assert (np.diff(share[4:11]) > 0).all()
    assert (np.diff(share[19:32]) < 0).all()
    # 3u² − 2u³ of the way through the ramp: 3 frames before the first one, of 6
    np.testing.assert_allclose(share[7], 0.5, atol=1e-12)
    np.testing.assert_allclose(share[25], 0.5, atol=1e-12)
    # single frames are given by their numbers, in any order
    np.testing.assert_array_equal(plant.activation(frames[[25, 3, 12]], 30.0), share[[25, 3, 12]])


RAMPS = st.one_of(st.just(0.0), st.floats(1e-3, 1.0))


@settings(max_examples=60, deadline=None)
@given(
    start=st.integers(0, 20),
    length=st.integers(1, 15),
    ramp=st.tuples(RAMPS, RAMPS),
    fps=st.sampled_from([24.0, 30.0, 120.0]),
)
def test_intervals_and_their_single_frames_are_the_same(start, length, ramp, fps):
    frames = np.arange(60)
    held = range(start, start + length)
    interval = Position(point=Point(0), target=np.zeros(3), frames=held, ramp=ramp)
    single = replace(interval, frames=tuple(held))
    share = interval.activation(frames, fps)
    np.testing.assert_allclose(share, single.activation(frames, fps), atol=1e-12)
    np.testing.assert_array_equal(interval.slot(frames), single.slot(frames))
    assert ((share >= 0) & (share <= 1)).all()
    assert (share[start : start + length] == 1).all()


def test_no_frames_and_all_frames():
    frames = np.arange(5)
    assert (Position(point=Point(0), target=np.zeros(3), frames=()).activation(frames, 30.0) == 0).all()
    assert (Position(point=Point(0), target=np.zeros(3), frames=range(0)).activation(frames, 30.0) == 0).all()
    assert (Position(point=Point(0), target=np.zeros(3)).activation(frames, 30.0) == 1).all()
    single = Position(point=Point(0), target=np.zeros(3), frames=(3, 1, 3))
    assert single.frames == (1, 3)
    assert single.activation(frames, 30.0).tolist() == [0, 1, 0, 1, 0]


def test_per_frame_targets_follow_their_frames():
    motion = random_motion(12, 4, 2)
    targets = np.arange(9.0).reshape(3, 3)
    held = Position(point=Point(2), target=targets, frames=range(5, 8))
    places = held.places(Kinematics(motion))
    np.testing.assert_array_equal(places[5:8], targets)
    np.testing.assert_array_equal(places[:5], np.tile(targets[0], (5, 1)))
    np.testing.assert_array_equal(places[8:], np.tile(targets[2], (4, 1)))
    # frames selected by a solver read their own targets
    rows = np.array([9, 6, 5])
    np.testing.assert_array_equal(held.places(Kinematics(motion[rows], rows)), targets[[2, 1, 0]])


def test_following_another_motion_and_the_character_itself():
    motion, leader = random_motion(6, 5, 2), random_motion(6, 5, 9)
    hand = Point(4, (0.1, 0.0, 0.2))
    mine = Position(point=Point(2), target=Follow(hand))
    theirs = Position(point=Point(2), target=Follow(hand, leader))
    kinematics = Kinematics(motion)
    np.testing.assert_allclose(mine.residual(kinematics), kinematics.point(Point(2)) - kinematics.point(hand))
    rows = np.array([4, 1])
    np.testing.assert_allclose(
        theirs.residual(Kinematics(motion[rows], rows)),
        (kinematics.point(Point(2)) - Kinematics(leader).point(hand))[rows],
    )


def test_joint_limits_have_sides():
    character = load_character("mannequin")
    limits = JointLimits(character=character)
    assert (limits.residual(Kinematics(rest_motion(character.skeleton))) >= 0).all(), "the rest pose keeps them"
    knee = character.require_roles()["left_lower_leg"]
    bent = np.zeros((1, 1 + len(character.skeleton), 3))
    for angle, fine in ((1.0, True), (-1.0, False)):
        bent[0, 1 + knee] = [angle, 0.0, 0.0]
        one = JointLimits(character=character, joints=(knee,))
        assert (one.residual(Kinematics(rest_motion(character.skeleton) + bent)).min() >= 0) == fine
    with pytest.raises(ConstraintError, match="has no joint limits"):
        JointLimits(character=replace(character, limits=None)).residual(Kinematics(rest_motion(character.skeleton)))


def test_free_footplants_find_their_mean_position():
    clip = load("walk")
    kinematics = Kinematics(clip.motion)
    heel = clip.character.contacts["left_heel"]
    plant = Footplant(point=heel, frames=range(20, 30), ground=Plane((0.0, 0.02, 0.0)))
    assert plant.free
    settled = plant.settled(kinematics)
    assert not settled.free
    mean = kinematics.point(heel)[20:30].mean(axis=0)
    np.testing.assert_allclose(settled.place, [mean[0], 0.02, mean[2]])
    assert settled.settled(kinematics) is settled
    with pytest.raises(ConstraintError, match="expected frames of the clip"):
        replace(plant, frames=range(5000, 5010)).settled(kinematics)


def test_a_fading_footplant_does_not_pull_the_foot_back():
    clip = load("walk")
    kinematics = Kinematics(clip.motion)
    heel = clip.character.contacts["left_heel"]
    stands = kinematics.point(heel)[25]
    plant = Footplant(point=heel, frames=range(20, 30), place=stands + [0.01, 0.0, 0.0], ramp=(0.1, 0.1))
    slip = plant.residual(kinematics)
    # the correction continues at its rate, independently of where the foot is by then: in the ramp it is the cubic
    # that leaves the hold at that rate and comes to rest
    eased = slip * plant.activation(kinematics.frames, clip.motion.fps)[:, None]
    for held, inside, way in ((29, 27, 1), (20, 22, -1)):
        share, rate = np.arange(13)[:, None] / 12.0, (slip[held] - slip[inside]) / 2
        cubic = slip[held] * (1.0 - share) ** 2 * (1.0 + 2.0 * share) + 12.0 * rate * share * (1.0 - share) ** 2
        np.testing.assert_allclose(eased[held : held + 13 * way : way], cubic, atol=1e-15)
    np.testing.assert_allclose(slip[20:30], kinematics.point(heel)[20:30] - plant.place)
    alone = replace(plant, frames=range(25, 26)).residual(kinematics)
    np.testing.assert_allclose(alone[30], alone[25])


def test_relations_across_frames():
    motion = random_motion(6, 5, 2)
    places = Kinematics(motion).point(Point(3))
    same = SamePlace(point=Point(3), pair=(1, 4))
    np.testing.assert_allclose(same.residual(Kinematics(motion)), (places[1] - places[4])[None])
    slow = SpeedLimit(point=Point(3), most=2.0, frames=range(2, 6))
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    np.testing.assert_allclose(slow.residual(Kinematics(motion))[:, 0], 2.0 / motion.fps - steps[2:])
    assert isinstance(slow, AcrossFrames)
    limit = AccelerationLimit(point=Point(3), most=9.0, frames=(0, 2, 3, 5))
    np.testing.assert_array_equal(limit.groups(6), [[1, 2, 3], [2, 3, 4]])
    bends = np.linalg.norm(np.diff(places, n=2, axis=0), axis=1)
    np.testing.assert_allclose(limit.residual(Kinematics(motion))[:, 0], 9.0 / motion.fps**2 - bends[1:3])
    with pytest.raises(ConstraintError, match=r"expected frames in 0\.\.5, got \(1, 9\)"):
        replace(same, pair=(1, 9)).groups(6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Position(point=Point(0), target=[0, np.nan, 0]), "expected finite numbers, got NaN"),
        (lambda: Position(point=Point(0), target=[0, 1]), r"expected 3 numbers, or 3 for each frame, got \(2,\)"),
        (lambda: Position(name="hand", point=Point(0), target=np.zeros((0, 3))), "hand: target: expected 3"),
        (lambda: Orientation(joint=0, target=np.zeros(4)), "expected unit quaternions, got zeros"),
        (lambda: Distance(point=Point(0), other=Point(1), value=-1.0), "expected a distance of 0 metres or more"),
        (lambda: Position(point=Point(0), target=np.zeros(3), frames=range(0, 9, 2)), "got a step of 2"),
        (lambda: Position(point=Point(0), target=np.zeros(3), frames=(-1,)), "expected frames from 0 on, got -1"),
        (lambda: Position(point=Point(0), target=np.zeros(3), ramp=(-1.0, 0.0)), "expected ramps of 0 seconds"),
        (lambda: Position(point=Point(0), target=np.zeros(3), weight=np.inf), "expected a weight of 0 or more"),
        (lambda: Footplant(point=Point(0), place=[0, 1]), "footplant: place: expected 3 numbers"),
    ],
)
def test_mistakes_say_what_was_expected(make, words):
    with pytest.raises(ConstraintError, match=words):
        make()


def test_a_constraint_with_some_fields_changed_is_one_like_it():
    plant = Footplant(point=Point(2), place=(1.0, 2.0, 3.0), frames=range(3, 9), ramp=(0.1, 0.2), name="heel")
    other = plant.like(ramp=(0.1, 0.05))
    assert type(other) is Footplant
    assert other.ramp == (0.1, 0.05)
    assert plant.ramp == (0.1, 0.2)
    assert (other.point, other.frames, other.title) == (plant.point, plant.frames, "heel")
    assert other.place is plant.place
    frames = np.arange(20)
    assert np.array_equal(other.activation(frames, 30.0), replace(plant, ramp=(0.1, 0.05)).activation(frames, 30.0))
