"""Displacement algebra, and trimming, joining and resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import Kinematics, Motion, MotionError, concatenate, rest_motion, rotation
from footplant.motion import ground_transform
from random_figures import random_motion, random_skeleton

seeds = st.integers(0, 1000)


def same(a: Motion, b: Motion, tolerance: float = 1e-9) -> bool:
    turned = np.abs(np.sum(a.rotations * b.rotations, axis=-1))
    return bool(np.allclose(a.root, b.root, atol=tolerance) and np.allclose(turned, 1.0, atol=tolerance))


@settings(deadline=None)
@given(seeds, seeds)
def test_adding_the_difference_gives_the_other_motion(a, b):
    first, second = random_motion(seed=a), random_motion(seed=a)
    second = second + np.random.default_rng(b).normal(size=(9, 13, 3))
    difference = second - first
    assert same(first + difference, second)
    assert (np.linalg.norm(difference[:, 1:], axis=-1) <= np.pi + 1e-12).all()


@settings(deadline=None)
@given(seeds)
def test_displacement_kernels_agree_with_their_numpy_twins(seed):
    motion = random_motion(seed=seed)
    vectors = np.random.default_rng(seed).normal(size=(9, 13, 3))
    vectors[0] = 0.0
    vectors[1] *= 1e-8
    moved = motion + vectors
    assert np.allclose(moved.rotations, rotation.multiply(motion.rotations, rotation.exp(vectors[:, 1:])), atol=1e-12)
    twin = rotation.log(rotation.multiply(rotation.inverse(motion.rotations), moved.rotations))
    assert np.allclose((moved - motion)[:, 1:], twin, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"root": np.zeros((2, 3))}, r"root positions of shape \(3, 3\)"),
        ({"rotations": np.zeros((3, 4))}, r"rotations of shape \(frames, 2, 4\)"),
        ({"rotations": np.full((3, 2, 4), 0.7)}, "unit quaternions, got norm 1.4"),
        ({"root": np.array([[0, 0, 0], [0, np.nan, 0], [0, 0, 0.0]])}, "NaN or infinity at frame 1"),
        ({"fps": 0.0}, "positive number of frames"),
        ({"offsets": np.zeros((3, 2))}, r"offsets of shape \(3, 2, 3\)"),
    ],
)
def test_invalid_motions_are_refused_with_the_location(change, message):
    good = {"skeleton": random_skeleton(2), "root": np.zeros((3, 3)), "rotations": rotation.identity(3, 2), "fps": 30.0}
    with pytest.raises(MotionError, match=message):
        Motion(**(good | change))


def test_nan_rotation_names_frame_and_joint():
    rotations = rotation.identity(3, 2)
    rotations[2, 1, 0] = np.inf
    with pytest.raises(MotionError, match="at frame 2, joint 'joint 1'"):
        Motion(random_skeleton(2), np.zeros((3, 3)), rotations)


def test_slices_keep_time():
    motion = random_motion(frames=20)
    assert len(motion[3]) == 1
    assert motion[::2].fps == 15.0
    assert same(motion[-1], motion[19])
    assert len(motion[5:8]) == 3
    with pytest.raises(MotionError, match=r"frame in 0..19, got 20"):
        motion[20]


@pytest.mark.parametrize("smooth", [False, True])
@settings(deadline=None, max_examples=20)
@given(seeds, st.sampled_from([7.0, 29.97, 60.0, 90.0, 240.0]))
def test_resampling_hits_the_frames_and_keeps_unit_quaternions(smooth, seed, fps):
    motion = random_motion(frames=25, seed=seed, smooth=True)
    again = motion.resample(fps, smooth=smooth)
    assert again.fps == fps
    assert again.duration <= motion.duration + 1e-9
    assert motion.duration - again.duration < 1 / fps
    if fps % 30 == 0:
        assert same(again[:: int(fps // 30)], motion)
    flipped = Motion(
        motion.skeleton, motion.root, motion.rotations * np.where(np.arange(25) % 2, -1, 1)[:, None, None], 30
    )
    assert same(flipped.resample(fps, smooth=smooth), again)


def test_resampling_a_constant_rotation_stays_on_it_and_smooth_has_no_corners():
    skeleton = random_skeleton(1)
    angle = np.linspace(0.0, 5.0, 11)
    turning = Motion(skeleton, np.zeros((11, 3)), rotation.from_axis_angle([0, 1.0, 0], angle)[:, None], 10.0)
    for smooth in (False, True):
        fine = rotation.unroll(turning.resample(100.0, smooth=smooth).rotations)
        steps = np.linalg.norm(rotation.log(rotation.multiply(rotation.inverse(fine[:-1]), fine[1:])), axis=-1)
        assert np.allclose(steps, 0.05, atol=1e-9)
    swinging = Motion(skeleton, np.zeros((11, 3)), rotation.exp(np.sin(angle)[:, None] * [0, 0, 1.0])[:, None], 10.0)
    corner = [
        np.abs(np.diff(rotation.log(swinging.resample(400.0, smooth=smooth).rotations)[:, 0, 2], n=2)).max()
        for smooth in (False, True)
    ]
    assert corner[1] < 0.1 * corner[0]


def test_one_frame_and_no_frames():
    pose = random_motion(frames=1)
    assert same(pose.resample(120.0), pose)
    assert len(pose[:0].resample(60.0)) == 0
    assert pose.duration == 0.0
    with pytest.raises(MotionError, match="empty"):
        pose[:0].at(0.0)


def test_joining_needs_the_same_joints_and_rate():
    motion = random_motion(frames=6)
    assert same(concatenate([motion[:2], motion[2:]]), motion)
    with pytest.raises(MotionError, match="expected 30 fps"):
        concatenate([motion, random_motion(fps=60.0)])
    with pytest.raises(MotionError, match="same joints"):
        concatenate([motion, random_motion(joints=5)])
    with pytest.raises(MotionError, match="at least one"):
        concatenate([])


def test_joining_a_motion_with_moving_bones_keeps_both():
    still = random_motion(frames=3)
    offsets = np.broadcast_to(still.skeleton.offsets, (3, 12, 3)) * 2.0
    stretched = Motion(still.skeleton, still.root, still.rotations, 30.0, offsets)
    joined = concatenate([still, stretched])
    assert np.allclose(Kinematics(joined).positions[:3], Kinematics(still).positions)
    assert np.allclose(Kinematics(joined).positions[3:], Kinematics(stretched).positions)


def test_transforming_moves_every_joint_rigidly():
    motion, turn, shift = random_motion(), rotation.exp([0.1, 0.7, -0.3]), np.array([1.0, 2.0, 3.0])
    moved = Kinematics(motion.transformed(turn, shift)).positions
    assert np.allclose(moved, rotation.rotate(turn, Kinematics(motion).positions) + shift, atol=1e-12)


@settings(deadline=None, max_examples=25)
@given(seeds)
def test_a_loop_has_no_seam_and_continues_the_path(seed):
    motion = random_motion(frames=30, seed=seed, smooth=True)
    loop = motion.looped(3)
    assert len(loop) == 3 * 29 + 1
    turn, shift = ground_transform(loop, 29, loop, 0)
    assert same(loop[29:58], loop[:29].transformed(turn, shift), 1e-7)
    step = np.linalg.norm(np.diff(Kinematics(loop).positions, axis=0), axis=-1).max(axis=1)
    assert step[28:30].max() <= 1.5 * step[:28].max() + 1e-9
    assert same(
        motion.looped(1, close=False),
        concatenate([motion[:-1], motion[:1].transformed(*ground_transform(motion, 29, motion, 0))]),
    )


def test_rest_motion_is_the_rest_pose():
    skeleton = random_skeleton()
    kin = Kinematics(rest_motion(skeleton, 2))
    assert np.allclose(kin.positions[1], skeleton.rest_world[0], atol=1e-12)
    assert np.allclose(kin.ends[0], skeleton.rest_ends, atol=1e-12)
