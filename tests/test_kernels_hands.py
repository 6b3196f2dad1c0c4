"""The compiled loops that tell how hands touch the body, against the same mathematics in NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant.contacts.importance import importance
from footplant.kernels import touches as kernel

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
