"""The compiled loops that tell how hands touch the body, against the same mathematics in NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import Kinematics, rotation
from footplant.contacts.importance import importance
from footplant.kernels import touches as kernel
from random_figures import random_motion

seeds = st.integers(0, 10_000)
FRAMES = 12


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


@settings(deadline=None, max_examples=20)
@given(seeds)
def test_importance_agrees_with_its_twin(seed):
    distances = np.random.default_rng(seed).uniform(-0.5, 1.5, 20)
    assert_close([kernel.importance(distance) for distance in distances], importance(distances))


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_hanging_arms_agree_with_their_twin(seed):
    rng = np.random.default_rng(seed)
    places, found = rng.normal(size=(FRAMES, 5, 3)), np.empty(FRAMES)
    # nearly straight arms beside an upright trunk, else nothing hangs
    places[:, 2] = 2.0 * places[:, 1] - places[:, 0] + 0.3 * rng.normal(size=(FRAMES, 3))
    places[:, 3] = places[:, 4] + places[:, 2] - places[:, 0] + 0.3 * rng.normal(size=(FRAMES, 3))
    places.setflags(write=False)
    kernel.hanging(kernel.Arm(0, 1, 2, 3, 4), (0.85, 0.92), (0.85, 0.95), places, found)
    arm, down = places[:, 2] - places[:, 0], places[:, 3] - places[:, 4]
    lengths = np.linalg.norm(np.diff(places[:, :3], axis=1), axis=2).sum(axis=1)
    reach = np.linalg.norm(arm, axis=1)
    alike = np.sum(arm * down, axis=1) / (reach * np.linalg.norm(down, axis=1))
    assert_close(found, importance((0.92 - reach / lengths) / 0.07) * importance((0.95 - alike) / (0.95 - 0.85)))


def on_body_numpy(palm, segments, radii, hangs, near, passing, size, theirs, unposed, ours, our_unposed):
    """(F,) how much a palm counts as on a body, and (F, 3) where it then is on the other, segment by segment."""
    total, place, most = np.zeros(len(palm)), np.zeros((len(palm), 3)), np.zeros(len(palm))
    turns = rotation.multiply(theirs.rotations, unposed), rotation.multiply(ours.rotations, our_unposed)
    for (start, end, own, own_end, hides), (radius, own_radius) in zip(segments, radii):
        axis = theirs.positions[:, end] - theirs.positions[:, start]
        from_start = palm - theirs.positions[:, start]
        along = np.clip(np.sum(from_start * axis, axis=1) / np.maximum(np.sum(axis**2, axis=1), 1e-12), 0.0, 1.0)
        away = from_start - along[:, None] * axis
        distance = np.linalg.norm(away, axis=1)
        share = importance(1.0 - (importance((distance - radius) / near) - 0.2) / 0.8)
        seen = rotation.rotate(rotation.inverse(theirs.rotations[:, start]), from_start)
        speed = np.linalg.norm(np.gradient(seen, 1.0 / theirs.motion.fps, axis=0), axis=1)
        share = share * importance(speed / passing) * (1.0 - hangs if hides else 1.0)
        carried = rotation.multiply(turns[1][:, own], rotation.inverse(turns[0][:, start]))
        outwards = rotation.rotate(carried, away / np.maximum(distance, 1e-9)[:, None])
        out = np.maximum(own_radius + (distance - radius) * size, 0.0)
        bone = ours.positions[:, own] + along[:, None] * (ours.positions[:, own_end] - ours.positions[:, own])
        place += (share**4)[:, None] * (bone + outwards * out[:, None])
        total += share**4
        most = np.maximum(most, share)
    return most, np.where(total[:, None] > 1e-12, place / np.maximum(total, 1e-12)[:, None], palm)


@settings(deadline=None, max_examples=30)
@given(seeds, st.sampled_from([2, FRAMES]))
def test_palms_on_a_body_agree_with_their_twin(seed, frames):
    rng = np.random.default_rng(seed)
    theirs, ours = (Kinematics(random_motion(frames, 8, seed + k, smooth=True)) for k in (0, 1))
    palm = theirs.positions[:, 3] + 0.5 * rng.normal(size=3) + 0.01 * rng.normal(size=(frames, 3))
    segments = np.column_stack([rng.integers(0, 8, (6, 4)), rng.integers(0, 2, 6)])
    radii, hangs = rng.uniform(0.1, 0.4, (6, 2)), rng.uniform(0.0, 1.0, frames)
    unposed, our_unposed = rotation.normalize(rng.normal(size=(2, 8, 4)))
    near, passing, size = 1.0, 60.0, 1.3
    most, place = np.empty(frames), np.empty((frames, 3))
    rules = kernel.TouchRules(near, passing, size, theirs.motion.fps)
    kernel.on_body(
        palm, kernel.Segments(segments, radii), hangs, rules,
        kernel.BodyPoses(theirs.positions, theirs.rotations, unposed),
        kernel.BodyPoses(ours.positions, ours.rotations, our_unposed), most, place,
    )  # fmt: skip
    expected = on_body_numpy(palm, segments, radii, hangs, near, passing, size, theirs, unposed, ours, our_unposed)
    assert_close(most, expected[0])
    sure = expected[0] > 1e-2
    np.testing.assert_allclose(place[sure], expected[1][sure], rtol=0.0, atol=1e-10)
    assert_close(place[expected[0] == 0.0], expected[1][expected[0] == 0.0])


@settings(deadline=None, max_examples=50)
@given(seeds, st.integers(0, 40))
def test_touches_that_are_meant_agree_with_their_twin(seed, count):
    rng = np.random.default_rng(seed)
    share = np.clip(rng.uniform(-0.5, 0.6, count), 0.0, 1.0)
    found, expected = np.array(share), np.array(share)
    kernel.meant(found, 0.5)
    rising = np.flatnonzero(np.diff(np.concatenate([[0.0], share > 0.0])) > 0)
    for start, end in zip(rising, [*rising[1:], len(share)]):
        if share[start:end].max() < 0.5:
            expected[start:end] = 0.0
    assert np.array_equal(found, expected)


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_goals_that_do_not_straighten_an_arm_agree_with_their_twin(seed):
    rng = np.random.default_rng(seed)
    bones, goals = rng.normal(size=(FRAMES, 3, 3)), 2.0 * rng.normal(size=(FRAMES, 3))
    found = np.array(goals)
    kernel.not_straighter(0, 1, 2, 0.05, bones, found)
    away = goals - bones[:, 0]
    distance, now = np.linalg.norm(away, axis=1), np.linalg.norm(bones[:, 2] - bones[:, 0], axis=1)
    length = np.linalg.norm(np.diff(bones, axis=1), axis=2).sum(axis=1)
    width, start = 0.05 * length, 0.95 * length
    soft = start + width * np.tanh(np.maximum(distance - start, 0.0) / width)
    most = np.maximum(now, np.where(distance > start, soft, distance))
    assert_close(found, bones[:, 0] + away * (np.minimum(distance, most) / distance)[:, None])
