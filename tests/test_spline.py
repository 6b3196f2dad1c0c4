"""B-splines against their defining formula, the multilevel fit, and FIR kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from footplant import spline
from footplant.kernels import smoothing
from footplant.kernels import spline as kernel
from random_figures import random_motion

seeds = st.integers(0, 1000)


def fit_numpy(u, values, count):
    """The local fit of Lee & Shin's equation 2, written out: for each control point the data near it."""
    control = np.zeros((count, values.shape[1]))
    cell = np.clip(np.floor(u).astype(int), 0, count - 4)
    t = u - cell
    basis = np.stack([(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3], -1) / 6
    for j in range(count):
        k = j - cell
        near = (k >= 0) & (k < 4)
        omega = basis[near, k[near]]
        if np.sum(omega**2) > 0:
            beta = omega[:, None] * values[near] / np.sum(basis[near] ** 2, axis=1)[:, None]
            control[j] = np.sum(omega[:, None] ** 2 * beta, axis=0) / np.sum(omega**2)
    return control


@settings(deadline=None)
@given(seeds)
def test_evaluation_agrees_with_scipy(seed):
    rng = np.random.default_rng(seed)
    control = rng.normal(size=(9, 2))
    curve = spline.Spline(control, spacing=0.5, start=1.0)
    t = rng.uniform(1.0, 1.0 + 6 * 0.5, 40)
    knots = 1.0 + 0.5 * np.arange(-3, 10)
    assert np.allclose(curve(t), BSpline(knots, control, 3)(t), atol=1e-12)


@settings(deadline=None)
@given(seeds)
def test_fit_agrees_with_its_numpy_twin(seed):
    rng = np.random.default_rng(seed)
    t, values = rng.uniform(0.0, 10.0, 30), rng.normal(size=(30, 3))
    curve = spline.fit_spline(t, values, 2.0, 0.0, 10.0)
    assert np.allclose(curve.control, fit_numpy(t / 2.0, values, 8), atol=1e-12)


@settings(deadline=None, max_examples=20)
@given(seeds)
def test_poses_displaced_along_a_spline_agree_with_the_displacement_map(seed):
    rng = np.random.default_rng(seed)
    motion = random_motion(seed=seed)
    count, joints = motion.rotations.shape[:2]
    groups = np.flatnonzero(rng.random(1 + joints) < 0.4)
    curve = spline.Spline(rng.normal(size=(7, 3 * len(groups))), spacing=2.0)
    displacement = np.zeros((count, 1 + joints, 3))
    displacement[:, groups] = curve(np.arange(count)).reshape(count, -1, 3)
    root, rotations = np.empty_like(motion.root), np.empty_like(motion.rotations)
    times = np.arange(count) / curve.spacing
    kernel.displace_along(curve.control, times, groups, motion.root, motion.rotations, root, rotations)
    wanted = motion + displacement
    assert np.allclose(root, wanted.root, atol=1e-12)
    assert np.allclose(rotations, wanted.rotations, atol=1e-12)


def test_multilevel_fit_closes_in_on_scattered_data():
    rng = np.random.default_rng(3)
    t = np.sort(rng.choice(np.arange(100.0), 12, replace=False))
    values = rng.normal(size=(12, 2))
    levels = spline.fit_multilevel(t, values, 16.0, 6, 0.0, 99.0)
    left, errors = values, []
    for level in levels:
        left = left - level(t)
        errors.append(np.abs(left).max())
    assert errors[-1] < 0.01
    assert (np.diff(errors) < 0).all()


def test_a_single_datum_is_met_and_nothing_moves_far_from_it():
    curve = spline.fit_spline([50.0], [[2.0]], 10.0, 0.0, 100.0)
    assert curve([50.0])[0, 0] == pytest.approx(2.0)
    assert curve([10.0, 90.0]).tolist() == [[0.0], [0.0]]


def test_binomial_kernel_is_pascals_row():
    assert (spline.binomial_kernel(9) * 256).tolist() == pytest.approx([1, 8, 28, 56, 70, 56, 28, 8, 1])
    with pytest.raises(ValueError, match="odd kernel width"):
        spline.binomial_kernel(4)


@pytest.mark.parametrize("ends", ["hold", "reflect", "zero"])
def test_filtering_agrees_with_convolution_away_from_the_ends(ends):
    values = np.random.default_rng(0).normal(size=(40, 3))
    kernel = spline.binomial_kernel(7)
    filtered = spline.filter_fir(values, kernel, ends=ends)
    expected = np.stack([np.convolve(values[:, d], kernel, mode="same") for d in range(3)], -1)
    assert np.allclose(filtered[3:-3], expected[3:-3], atol=1e-12)
    assert np.allclose(filtered, expected, atol=1e-12) == (ends == "zero")


def test_reflecting_keeps_the_end_points_and_lines():
    line = np.linspace(0.0, 5.0, 11)[:, None]
    assert np.allclose(spline.filter_fir(line, spline.binomial_kernel(9), ends="reflect"), line, atol=1e-12)
    assert spline.filter_fir(np.zeros((0, 2)), spline.binomial_kernel(3)).shape == (0, 2)
    with pytest.raises(ValueError, match="hold, reflect, zero"):
        spline.filter_fir(line, [1.0, 1.0, 1.0], ends="wrap")


def test_a_moving_mean_is_that_of_the_frames_there_are():
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert np.allclose(spline.moving_mean(values, 1), [1.5, 7 / 3, 14 / 3, 28 / 3, 12.0])
    assert np.array_equal(spline.moving_mean(values, 0), values)
    assert np.allclose(spline.moving_mean(values, 9), values.mean())


def test_bad_fits_say_what_was_expected():
    with pytest.raises(ValueError, match="times"):
        spline.fit_spline([0.0], [1.0], 1.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="positive knot spacing"):
        spline.fit_spline([0.0], [[1.0]], 0.0, 0.0, 1.0)


@given(st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_smooth_above_covers_the_values_and_is_zero_where_held(seed):
    rng = np.random.default_rng(seed)
    values = 0.05 * np.cumsum(rng.normal(size=200)) - 0.3
    held = np.zeros(200, bool)
    held[60:80] = True
    values[held] = -0.1
    values[50:60] = np.minimum(values[50:60], np.linspace(0.3, -0.1, 10))
    values[80:90] = np.minimum(values[80:90], np.linspace(-0.1, 0.3, 10))
    curve = spline.smooth_above(values, held, 10)
    assert np.abs(curve[held]).max() == 0.0
    free = ~held
    assert (curve - np.maximum(values, -1.0))[free].min() > -0.06
    rough, smooth = (np.abs(np.diff(np.maximum(x, 0.0), n=2)).max() for x in (values, curve))
    assert smooth <= max(rough, 0.1)


def test_smooth_above_no_values_is_zero():
    assert not spline.smooth_above(np.full(50, -0.2), np.zeros(50, bool), 10).any()
    assert not spline.smooth_above(np.full(50, 0.2), np.ones(50, bool), 10).any()
    bump = np.full(101, -1.0)
    bump[50] = 0.1
    curve = spline.smooth_above(bump, np.zeros(101, bool), 10)
    assert curve[50] == pytest.approx(0.1, abs=1e-3)
    assert np.argmax(curve) == 50
    assert abs(curve[0]) < 1e-3
    assert np.abs(np.diff(curve, n=2)).max() < 0.02


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_a_smoothing_curve_is_the_solution_of_its_dense_system(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 40))
    weights, wanted = rng.random(count) + 0.1, rng.normal(size=(count, 2))
    bend, speed = 30.0 * rng.random(2)
    second, first = np.diff(np.eye(count), n=2, axis=0), np.diff(np.eye(count), axis=0)
    matrix = np.diag(weights) + bend * second.T @ second + speed * first.T @ first
    found = np.empty((count, 2))
    smoothing.smooth_curve(weights, bend, speed, wanted, np.empty((count, 3)), found)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, wanted), atol=1e-12)


def test_roughness_agrees_with_numpy():
    rng = np.random.default_rng(4)
    places, origins, parts = rng.normal(size=(30, 2, 3)), rng.normal(size=(30, 3)), ((0, 12), (12, 15), (16, 30))
    found = np.zeros(3)
    for first, last in parts:
        smoothing.roughness(places, origins, first, last, found)
    bends = [np.linalg.norm(np.diff(places[a:b], 2, axis=0), axis=2) for a, b in parts]
    thirds = [np.abs(np.diff((places - origins[:, None])[a:b], 3, axis=0)).ravel() for a, b in parts]
    assert np.isclose(found[0], np.concatenate(bends).max() ** 2)
    assert np.isclose(found[1], np.concatenate(thirds).sum())
    assert found[2] == len(np.concatenate(thirds))
