"""Forward kinematics against its NumPy twin, Jacobians against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import Character, Kinematics, Motion, Point, SkeletonError, kinematics, rotation
from random_figures import random_motion
from twins import forward_numpy

POINT = Point(9, (0.3, -0.2, 0.5))
seeds = st.integers(0, 1000)


@settings(deadline=None)
@given(seeds, st.booleans())
def test_forward_kinematics_agrees_with_its_numpy_twin(seed, stretching):
    motion = random_motion(seed=seed)
    if stretching:
        offsets = np.random.default_rng(seed).normal(size=(9, 12, 3))
        motion = Motion(motion.skeleton, motion.root, motion.rotations, 30.0, offsets)
    kin = Kinematics(motion)
    offsets = motion.skeleton.offsets if motion.offsets is None else motion.offsets
    positions, rotations = forward_numpy(motion.skeleton.parents, offsets, motion.root, motion.rotations)
    assert np.allclose(kin.positions, positions, atol=1e-12)
    assert np.allclose(kin.rotations, rotations, atol=1e-12)
    carried = positions[:, 9] + rotation.rotate(rotations[:, 9], POINT.offset)
    assert np.allclose(kin.point(POINT), carried, atol=1e-12)


def test_cached_kinematics_belong_to_a_motion_and_are_dropped_with_it():
    motions = [random_motion(seed=seed) for seed in range(2 * kinematics.CACHED_MOTIONS)]
    for motion in motions * 2:
        assert np.array_equal(Kinematics(motion).positions, Kinematics(motion[: len(motion)]).positions)
    assert np.shares_memory(Kinematics(motions[-1]).positions, Kinematics(motions[-1]).positions)
    assert len(kinematics._cache) <= kinematics.CACHED_MOTIONS
    del motion, motions
    assert not kinematics._cache


def position_jacobian_numpy(kin: Kinematics, joint: int, points: np.ndarray, weight: float = 1.0) -> np.ndarray:
    """Columns (R_a e_k) × (point − p_a) for the joint and its ancestors, written with matrices and cross products."""
    frames, joints = kin.positions.shape[:2]
    out = np.zeros((frames, 3, 3 + 3 * joints))
    out[:, :, :3] = weight * np.eye(3)
    for ancestor in kin.motion.skeleton.chain(joint):
        axes = rotation.to_matrix(kin.rotations[:, ancestor]).swapaxes(1, 2)
        lever = (points - kin.positions[:, ancestor])[:, None]
        out[:, :, 3 + 3 * ancestor : 6 + 3 * ancestor] = weight * np.cross(axes, lever).swapaxes(1, 2)
    return out


@settings(deadline=None, max_examples=20)
@given(seeds)
def test_jacobian_kernels_agree_with_their_numpy_twins(seed):
    motion = random_motion(seed=seed)
    kin = Kinematics(motion)
    twin = position_jacobian_numpy(kin, POINT.joint, kin.point(POINT))
    assert np.allclose(kin.position_jacobian(POINT), twin, atol=1e-12)
    turning = np.zeros_like(twin)
    for ancestor in motion.skeleton.chain(9):
        turning[:, :, 3 + 3 * ancestor : 6 + 3 * ancestor] = rotation.to_matrix(kin.rotations[:, ancestor])
    assert np.allclose(kin.rotation_jacobian(9), turning, atol=1e-12)
    rng = np.random.default_rng(seed)
    masses, centers = rng.dirichlet(np.ones(12)), rng.normal(size=(12, 3))
    character = Character(motion.skeleton, masses=masses, mass_centers=centers)
    summed = sum(
        position_jacobian_numpy(kin, joint, kin.point(Point(joint, tuple(centers[joint]))), masses[joint])
        for joint in range(12)
    )
    assert np.allclose(kin.center_of_mass_jacobian(character), summed, atol=1e-12)


def finite_differences(motion: Motion, measure) -> np.ndarray:
    """d(measure)/d(displacement), (F, k, 3+3J), by central differences."""
    columns = 3 + 3 * len(motion.skeleton)
    step, out = 1e-6, []
    for column in range(columns):
        d = np.zeros((len(motion), columns // 3, 3))
        d[:, column // 3, column % 3] = step
        out.append((measure(Kinematics(motion + d)) - measure(Kinematics(motion + -d))) / (2 * step))
    return np.stack(out, axis=-1)


@pytest.mark.parametrize("seed", range(4))
def test_position_jacobian(seed):
    motion = random_motion(frames=3, seed=seed)
    expected = finite_differences(motion, lambda kin: kin.point(POINT))
    assert np.allclose(Kinematics(motion).position_jacobian(POINT), expected, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_rotation_jacobian(seed):
    motion = random_motion(frames=3, seed=seed)
    start = Kinematics(motion).rotations[:, 9]
    expected = finite_differences(
        motion, lambda kin: rotation.log(rotation.multiply(kin.rotations[:, 9], rotation.inverse(start)))
    )
    assert np.allclose(Kinematics(motion).rotation_jacobian(9), expected, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_center_of_mass_and_its_jacobian(seed):
    motion = random_motion(frames=3, seed=seed)
    rng = np.random.default_rng(seed)
    masses, centers = rng.dirichlet(np.ones(12)), rng.normal(size=(12, 3))
    character = Character(motion.skeleton, masses=masses, mass_centers=centers)
    kin = Kinematics(motion)
    by_hand = sum(masses[j] * kin.point(Point(j, tuple(centers[j]))) for j in range(12))
    assert np.allclose(kin.center_of_mass(character), by_hand, atol=1e-12)
    expected = finite_differences(motion, lambda kin: kin.center_of_mass(character))
    assert np.allclose(kin.center_of_mass_jacobian(character), expected, atol=1e-7)


def test_a_character_without_masses_has_no_center_of_mass():
    motion = random_motion()
    with pytest.raises(SkeletonError, match="no segment masses"):
        Kinematics(motion).center_of_mass(Character(motion.skeleton))


def test_points_at_individual_rows():
    motion = random_motion(6, 9, 3)
    kinematics, rng = Kinematics(motion), np.random.default_rng(3)
    rows, joints, offsets = rng.integers(0, 6, 20), rng.integers(0, 9, 20), rng.normal(size=(20, 3))
    arms = rotation.rotate(kinematics.rotations[rows, joints], offsets)
    np.testing.assert_allclose(
        kinematics.at(rows, joints, offsets), kinematics.positions[rows, joints] + arms, atol=1e-12
    )


def test_a_joint_stays_where_it_was_on_rigid_bones():
    motion = random_motion(seed=3)
    offsets = np.random.default_rng(3).normal(size=(9, 12, 3))
    stretching = Motion(motion.skeleton, motion.root, motion.rotations, 30.0, offsets)
    for joint in (0, 9):
        rigid = kinematics.on_rigid_bones(stretching, joint)
        assert rigid.offsets is None
        assert np.allclose(Kinematics(rigid).positions[:, joint], Kinematics(stretching).positions[:, joint])
        assert np.array_equal(rigid.rotations, stretching.rotations)
    assert kinematics.on_rigid_bones(motion) is motion
