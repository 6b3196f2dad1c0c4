"""The closed-form limb: goals met, residuals told, no surprises where geometry gives out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import Kinematics, MotionError, Skeleton, SkeletonError, humanoid, rest_motion, rotation
from footplant.samples import load_character
from footplant.solve.ik import limb
from footplant.solve.ik.limb import Limb, Reach


def random_limb(rng, frames=50):
    """Reference rotations, offsets, axis and origins of limbs that are bent any way, bones not across the axis."""
    turns = rotation.normalize(rng.normal(size=(3, frames, 4)))
    upper, lower = rng.normal(size=3) * 0.3, rng.normal(size=3) * 0.3
    axis = rng.normal(size=3)
    return (*turns, upper, lower, axis / np.linalg.norm(axis), rng.normal(size=(frames, 3)))


def end_of(parents, uppers, lowers, upper_offset, lower_offset, origins):
    """Where the limb's end is: forward kinematics of two bones."""
    world = rotation.multiply(parents, uppers)
    elbow = origins + rotation.rotate(world, upper_offset)
    return elbow + rotation.rotate(rotation.multiply(world, lowers), lower_offset), elbow


def numpy_hinge(u, v, n):
    """`kernels.limb.own_hinge` once more."""
    bend = np.cross(v, u)
    size = np.linalg.norm(bend, axis=-1, keepdims=True)
    bend = bend / size
    bent = np.clip(size / (0.4 * np.linalg.norm(u, axis=-1) * np.linalg.norm(v, axis=-1))[:, None], 0.0, 1.0)
    alike = np.clip(np.sum(bend * n, axis=-1, keepdims=True) / 0.4, 0.0, 1.0)
    share = bent**2 * (3 - 2 * bent) * alike**2 * (3 - 2 * alike)
    axis = n + share * (bend - n)
    return axis / np.linalg.norm(axis, axis=-1, keepdims=True)


def numpy_reach(
    parents, uppers, lowers, upper_offset, lower_offset, axis, origins, goals, swivel, pole, softness, limits, own_plane
):
    """`kernels.limb.reach_all` once more, in NumPy over frames."""
    u, n = -np.broadcast_to(upper_offset, origins.shape), np.broadcast_to(axis, origins.shape)
    v = rotation.rotate(lowers, lower_offset)
    n = numpy_hinge(u, v, n) if own_plane else n
    goal = goals - origins
    distance = np.linalg.norm(goal, axis=-1)
    un, vn = np.sum(u * n, axis=-1), np.sum(v * n, axis=-1)
    a, b = un[:, None] * n - u, v - vn[:, None] * n
    radii = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    now = np.arctan2(np.sum(np.cross(a, b) * n, axis=-1), np.sum(a * b, axis=-1))
    constant = np.sum(u * u, axis=-1) + np.sum(v * v, axis=-1) - 2 * un * vn
    far = np.sqrt(np.maximum(constant + 2 * radii * np.cos(max(limits[0], 0.0)), 0.0))
    status = np.where(distance > far, Reach.TOO_FAR, Reach.REACHED)
    if softness > 0:
        start, width = far * (1 - softness), far * softness
        soft = distance > start
        distance = np.where(soft, start + width * np.tanh((distance - start) / width), distance)
        status = np.where(soft & (status == Reach.REACHED), Reach.SOFTENED, status)
    cosine = (distance**2 - constant) / (2 * radii)
    status = np.where(cosine < -1, Reach.TOO_NEAR, status)
    flexion = np.arccos(np.clip(cosine, -1, 1))
    status = np.where(flexion > limits[1], Reach.TOO_NEAR, status)
    flexion = np.clip(flexion, *limits)
    turn = rotation.exp((np.where(now < -1.5, -flexion, flexion) - now)[:, None] * n)
    v = rotation.rotate(turn, v)
    world = rotation.multiply(parents, uppers)
    swing = rotation.between(rotation.rotate(world, v - u), goal)
    direction = goal / np.linalg.norm(goal, axis=-1, keepdims=True)
    angle = np.broadcast_to(swivel, distance.shape)
    if pole is not None:
        hinge = rotation.rotate(rotation.multiply(swing, world), n)
        side = np.cross(direction, hinge)
        across = pole - np.sum(pole * direction, axis=-1, keepdims=True) * direction
        angle = angle + np.arctan2(np.sum(direction * np.cross(side, across), axis=-1), np.sum(side * across, axis=-1))
    spin = np.concatenate([np.cos(angle / 2)[:, None], np.sin(angle / 2)[:, None] * direction], axis=-1)
    world = rotation.multiply(rotation.multiply(spin, swing), world)
    residual = np.linalg.norm(rotation.rotate(world, v - u) - goal, axis=-1)
    return (
        rotation.multiply(rotation.inverse(parents), world),
        rotation.multiply(turn, lowers),
        residual,
        flexion,
        status,
    )


@pytest.mark.parametrize("softness", [0.0, 0.1])
@pytest.mark.parametrize("with_pole", [False, True])
@pytest.mark.parametrize("own_plane", [False, True])
def test_kernel_equals_its_numpy_twin(softness, with_pole, own_plane):
    rng = np.random.default_rng(5)
    parents, uppers, lowers, upper, lower, axis, origins = random_limb(rng, 200)
    goals, swivel = origins + rng.normal(size=(200, 3)) * 0.5, rng.normal(size=200)
    pole = rng.normal(size=(200, 3)) if with_pole else None
    limits = (0.2, 2.5)
    ours = limb.solve(parents, uppers, lowers, upper, lower, axis, origins, goals,
                      swivel=swivel, pole=pole, softness=softness, flexion=limits, own_plane=own_plane)  # fmt: skip
    twin = numpy_reach(
        parents, uppers, lowers, upper, lower, axis, origins, goals, swivel, pole, softness, limits, own_plane
    )
    for a, b in zip(ours[:2], twin[:2]):
        np.testing.assert_allclose(rotation.to_matrix(a), rotation.to_matrix(b), atol=1e-12)
    for a, b in zip(ours[2:4], twin[2:4]):
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert ours[4].tolist() == twin[4].tolist()
    assert set(ours[4].tolist()) >= {Reach.TOO_FAR, Reach.TOO_NEAR}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_reachable_goals_are_met_whatever_the_limb(seed):
    rng = np.random.default_rng(seed)
    parents, uppers, lowers, upper, lower, axis, origins = random_limb(rng, 8)
    bent = rotation.from_axis_angle(axis, rng.uniform(-3, 3, 8))
    goals, _ = end_of(
        parents, rotation.normalize(rng.normal(size=(8, 4))), rotation.multiply(bent, lowers), upper, lower, origins
    )
    new_upper, new_lower, residual, flexion, status = limb.solve(
        parents, uppers, lowers, upper, lower, axis, origins, goals, swivel=rng.normal(size=8), flexion=(0.0, np.pi)
    )
    ends, _ = end_of(parents, new_upper, new_lower, upper, lower, origins)
    np.testing.assert_allclose(ends, goals, atol=1e-7)
    assert (flexion >= 0).all()
    clear = np.sin(flexion) > 1e-3
    np.testing.assert_allclose(ends[clear], goals[clear], atol=1e-9)
    assert (residual < 1e-7).all()
    assert (status[clear] == Reach.REACHED).all()


def test_batch_equals_single_frames():
    rng = np.random.default_rng(6)
    parents, uppers, lowers, upper, lower, axis, origins = random_limb(rng, 20)
    goals = origins + rng.normal(size=(20, 3)) * 0.3
    batch = limb.solve(parents, uppers, lowers, upper, lower, axis, origins, goals)
    for f in range(20):
        one = limb.solve(parents[f], uppers[f], lowers[f], upper, lower, axis, origins[f], goals[f])
        for a, b in zip(batch, one):
            np.testing.assert_array_equal(a[f], b[0])


@pytest.mark.parametrize("name", list(limb.LIMBS))
def test_figure_limb_takes_place_and_orientation_and_leaves_the_rest_alone(name):
    character = load_character("mannequin")
    part, motion = limb.limb_of(character, name), rest_motion(character.skeleton, 5)
    start = Kinematics(motion).positions[0]
    goals = start[part.upper] + (start[part.end] - start[part.upper]) * 0.6 + np.linspace(0, 0.1, 5)[:, None]
    wanted = rotation.exp([0.3, 0.2, -0.4])
    found = limb.place(motion, part, goals, orientations=wanted)
    after = Kinematics(found.motion)
    np.testing.assert_allclose(after.positions[:, part.end], goals, atol=1e-12)
    np.testing.assert_allclose(np.abs(after.rotations[:, part.end] @ wanted), 1.0, atol=1e-12)
    kept = [j for j in range(len(character.skeleton)) if j not in (part.upper, part.lower, part.end)]
    np.testing.assert_array_equal(found.motion.rotations[:, kept], motion.rotations[:, kept])


def test_knees_go_forward_and_elbows_back():
    character = load_character("mannequin")
    motion = rest_motion(character.skeleton)
    start = Kinematics(motion).positions[0]
    for name, sign in (("left_leg", 1), ("right_leg", 1), ("left_arm", -1), ("right_arm", -1)):
        part = limb.limb_of(character, name)
        goal = start[part.upper] + 0.7 * (start[part.end] - start[part.upper])
        middle = Kinematics(limb.place(motion, part, goal).motion).positions[0, part.lower]
        assert sign * (middle - start[part.upper])[2] > 0.1, name


def test_pole_says_where_the_knee_points_even_when_straight():
    character = load_character("mannequin")
    part, motion = limb.limb_of(character, "left_leg"), rest_motion(character.skeleton, 2)
    start = Kinematics(motion).positions[0]
    goals = np.stack([start[part.end], start[part.end] + [0, 0.2, 0]])
    found = limb.place(motion, part, goals, pole=[1.0, 0.0, 0.0])
    middle = Kinematics(found.motion).positions[:, part.lower] - start[part.upper]
    assert middle[1, 0] > 0.2
    assert abs(middle[1, 2]) < 0.02
    hinge = rotation.rotate(Kinematics(found.motion).rotations[:, part.upper], part.axis)
    np.testing.assert_allclose(hinge[0], hinge[1], atol=0.01)


def simple(goals, **options):
    """Two bones of 1 m down the y axis, hinge about x, from the origin."""
    down, identity = np.array([0.0, -1.0, 0.0]), rotation.IDENTITY
    return limb.solve(identity, identity, identity, down, down, (1.0, 0, 0), np.zeros(3), goals, **options)


def test_out_of_reach_stretches_towards_the_goal_and_says_so():
    upper, lower, residual, flexion, status = simple([[0.0, 0.0, 5.0]])
    end, _ = end_of(rotation.IDENTITY, upper, lower, np.array([0, -1.0, 0]), np.array([0, -1.0, 0]), np.zeros(3))
    np.testing.assert_allclose(end, [[0, 0, 2]], atol=1e-9)
    assert residual[0] == pytest.approx(3.0)
    assert flexion[0] == 0.0
    assert status[0] == Reach.TOO_FAR


def test_too_near_folds_as_far_as_the_limit():
    _, _, residual, flexion, status = simple([[0.0, -0.01, 0.0]], flexion=(0.0, 2.5))
    assert flexion[0] == 2.5
    assert status[0] == Reach.TOO_NEAR
    assert residual[0] == pytest.approx(2 * np.sin((np.pi - 2.5) / 2) - 0.01)


def test_goal_at_the_shoulder_and_bones_of_no_length_stay_finite():
    for result in (
        simple([[0.0, 0.0, 0.0]], flexion=(0.0, np.pi)),
        limb.solve(rotation.IDENTITY, rotation.IDENTITY, rotation.IDENTITY, np.zeros(3), np.zeros(3), (1.0, 0, 0),
                   np.zeros(3), [[0.0, 1.0, 0.0]]),
        limb.solve(rotation.IDENTITY, rotation.IDENTITY, rotation.IDENTITY, np.zeros(3), (0.0, -1.0, 0.0), (1.0, 0, 0),
                   np.zeros(3), [[0.0, 1.0, 0.0]]),
        simple([[0.0, 1.5, 0.0]]),
    ):  # fmt: skip
        assert all(np.isfinite(array).all() for array in result)
    residual = simple([[0.0, 1.5, 0.0]])[2]
    assert residual[0] < 1e-12, "the opposite direction is half a turn about the hinge"


def test_softness_keeps_the_knee_from_popping():
    reach = np.linspace(1.7, 2.3, 601)
    goals = np.stack([0 * reach, -reach, 0 * reach], axis=-1)
    hard, soft = simple(goals)[3], simple(goals, softness=0.05)
    assert np.abs(np.diff(hard, 2)).max() > 10 * np.abs(np.diff(soft[3], 2)).max()
    assert (np.diff(soft[3]) < 0).all(), "it keeps straightening as the goal moves away"
    exact = reach < 1.9 - 1e-9
    assert soft[2][exact].max() < 1e-12
    assert set(soft[4][reach > 1.9 + 1e-9].tolist()) == {Reach.SOFTENED, Reach.TOO_FAR}


def test_speed_of_the_knee_is_bounded_through_full_stretch():
    """A foot that is drawn away at constant speed: knee angle and knee place per metre of the goal's way."""
    reach = np.linspace(1.9, 2.2, 3001)
    goals = np.stack([0 * reach, -reach, 0 * reach], axis=-1)
    upper, _, _, flexion, _ = simple(goals, softness=0.004)
    knee = rotation.rotate(upper, np.array([0.0, -1.0, 0.0]))
    step = reach[1] - reach[0]
    assert np.abs(np.diff(flexion)).max() / step < 25.0
    assert np.linalg.norm(np.diff(knee, axis=0), axis=1).max() / step < 15.0
    hard = simple(goals)[3]
    assert np.abs(np.diff(hard)).max() / step > 150.0, "without softness it snaps"


def test_a_pole_along_the_limb_and_flipped_quaternions_stay_finite():
    straight = simple([[0.0, -1.5, 0.0]], pole=[[0.0, -1.0, 0.0]])
    assert all(np.isfinite(array).all() for array in straight)
    assert straight[2][0] < 1e-12
    rng = np.random.default_rng(8)
    parents, uppers, lowers, upper, lower, axis, origins = random_limb(rng, 30)
    goals = origins + rng.normal(size=(30, 3)) * 0.2
    plain = limb.solve(parents, uppers, lowers, upper, lower, axis, origins, goals)
    flipped = limb.solve(-parents, -uppers, -lowers, upper, lower, axis, origins, goals)
    for a, b in zip(
        end_of(parents, plain[0], plain[1], upper, lower, origins),
        end_of(-parents, flipped[0], flipped[1], upper, lower, origins),
    ):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_nan_goals_are_an_error_that_says_where():
    with pytest.raises(MotionError, match="expected finite goals, got NaN or infinity at frame 1"):
        simple([[0.0, -1.5, 0.0], [0.0, np.nan, 0.0]])


def test_joints_inside_a_bone_keep_their_rotations():
    skeleton = Skeleton(
        ("root", "upper", "twist", "lower", "end"), np.array([-1, 0, 1, 2, 3]),
        np.array([[0, 0, 0], [0, 0, 0], [0, -0.5, 0], [0.02, -0.5, 0], [0, -1.0, 0]]),
    )  # fmt: skip
    motion = rest_motion(skeleton)
    rotations = np.array(motion.rotations)
    rotations[:, 2] = rotation.exp([0.0, 0.4, 0.1])
    motion = replace(motion, rotations=rotations)
    found = limb.place(motion, Limb(1, 3, 4, np.array([1.0, 0, 0])), [[0.3, -1.2, 0.4]])
    np.testing.assert_allclose(Kinematics(found.motion).positions[:, 4], [[0.3, -1.2, 0.4]], atol=1e-12)
    np.testing.assert_array_equal(found.motion.rotations[:, 2], motion.rotations[:, 2])


def test_an_unknown_limb_is_an_error():
    character = load_character("mannequin")
    with pytest.raises(SkeletonError, match="no limb 'tail'"):
        limb.limb_of(character, "tail")


def test_a_limb_folded_through_stays_on_its_side():
    """A knee of more than half a turn, as some captures have it, is not flipped by a goal where its foot is."""
    character = load_character("mannequin")
    leg = limb.limb_of(character, "left_leg")
    rotations = np.array(np.broadcast_to(character.skeleton.rest, (5, len(character.skeleton), 4)))
    angles = np.linspace(2.6, 3.9, 5)
    rotations[:, leg.lower] = rotation.multiply(
        rotation.exp(angles[:, None] * np.asarray(leg.axis)), rotations[:, leg.lower]
    )
    motion = replace(rest_motion(character.skeleton, 5), rotations=rotations)
    before = Kinematics(motion).positions
    after = Kinematics(limb.place(motion, leg, before[:, leg.end]).motion).positions
    assert np.abs(after - before)[[0, 3, 4]].max() < 0.02


@pytest.mark.parametrize("beside", [0.0, 0.5, 1.0])
def test_a_limb_bent_beside_its_hinge_reaches_as_far_and_as_near_as_it_is_long(beside):
    """As captures have elbows and knees: about the hinge alone they could be neither stretched nor folded."""
    character = load_character("mannequin")
    arm = limb.limb_of(character, "left_arm")
    along = rotation.rotate(rotation.inverse(character.skeleton.rest[arm.upper]), np.array([1.0, 0.0, 0.0]))
    axis = rotation.rotate(rotation.exp(beside * along), arm.axis)
    rotations = np.array(character.skeleton.rest[None])
    rotations[0, arm.lower] = rotation.multiply(rotation.exp(1.4 * axis), rotations[0, arm.lower])
    motion = replace(rest_motion(character.skeleton, 1), rotations=rotations)
    places = Kinematics(motion).positions[0]
    line = places[arm.end] - places[arm.upper]
    length = np.linalg.norm(character.skeleton.offsets[[arm.lower, arm.end]], axis=1).sum()
    for share in (0.3, 0.7, 0.99):
        goal = places[arm.upper] + line / np.linalg.norm(line) * share * length
        found = limb.place(motion, arm, goal)
        assert found.residual[0] < 1e-9
        elbow = Kinematics(found.motion).positions[0, arm.lower] - places[arm.upper]
        # in the plane that it was bent in
        normal = np.cross(places[arm.lower] - places[arm.upper], line)
        assert abs(elbow @ normal) < 1e-3 * np.linalg.norm(normal)


def test_a_knee_bends_as_in_the_reference_pose_whatever_the_rest_pose_is():
    """Some files have all bones along one axis at rest: a right knee there would bend backwards."""
    character = load_character("mannequin")
    roles, rest = character.require_roles(), np.array(character.skeleton.rest)
    leg = limb.limb_of(character, "right_leg")
    rest[leg.upper] = rotation.multiply(rest[leg.upper], rotation.exp([0.0, np.pi, 0.0]))
    standing = replace(roles, reference=humanoid.reference_pose(character.skeleton, roles))
    turned = replace(character, skeleton=replace(character.skeleton, rest=rest), roles=standing)
    np.testing.assert_allclose(limb.limb_of(turned, "right_leg").axis, leg.axis, atol=1e-9)
