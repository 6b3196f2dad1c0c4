"""Shapes against brute force and against an optimiser."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from footplant import geometry, rotation
from footplant.kernels import balls

coordinate = st.floats(-2.0, 2.0, allow_nan=False)
points = arrays(float, (6, 3), elements=coordinate)
TURN = tuple(rotation.normalize([1.0, 0.4, -0.2, 0.3]).tolist())
SOLIDS = [
    geometry.Plane((0.1, 0.2, 0.0), (0.3, 1.0, -0.2)),
    geometry.Ball((0.2, -0.1, 0.3), 0.7),
    geometry.Capsule((-0.5, 0.0, 0.1), (0.6, 0.8, 0.0), 0.3),
    geometry.Box((0.1, 0.2, -0.3), (0.5, 0.3, 0.8), TURN),
]


@pytest.mark.parametrize("solid", SOLIDS, ids=lambda solid: type(solid).__name__)
@given(points)
def test_closest_point_is_on_the_surface_at_the_stated_distance(solid, places):
    nearest = solid.closest(places)
    assert np.allclose(solid.distance(nearest), 0.0, atol=1e-9)
    assert np.allclose(np.linalg.norm(nearest - places, axis=-1), np.abs(solid.distance(places)), atol=1e-9)


def test_box_distance_is_negative_inside_only():
    box = geometry.Box((0.0, 1.0, 0.0), (1.0, 1.0, 1.0))
    assert box.distance([[0.0, 1.0, 0.0], [0.0, 2.5, 0.0], [0.9, 1.0, 0.0]]).tolist() == pytest.approx(
        [-1.0, 0.5, -0.1]
    )


def _hills() -> geometry.HeightField:
    x, z = np.meshgrid(np.arange(12) * 0.5, np.arange(10) * 0.5, indexing="ij")
    return geometry.HeightField(0.3 * np.sin(x) + 0.2 * np.cos(1.3 * z), 0.5, (-1.0, -2.0))


def test_height_field_meets_its_grid_and_its_slopes_are_those_of_its_heights():
    hills = _hills()
    grid = np.stack(np.meshgrid(-1.0 + 0.5 * np.arange(12), -2.0 + 0.5 * np.arange(10), indexing="ij"), -1)
    assert np.allclose(hills.height(grid), hills.heights, atol=1e-12)
    places = np.random.default_rng(1).uniform([-0.9, -1.9], [4.4, 2.4], (200, 2))
    step = 1e-6
    slope_x = (hills.height(places + [step, 0]) - hills.height(places - [step, 0])) / (2 * step)
    slope_z = (hills.height(places + [0, step]) - hills.height(places - [0, step])) / (2 * step)
    normal = hills.normal(places)
    assert np.allclose(-normal[:, 0] / normal[:, 1], slope_x, atol=1e-6)
    assert np.allclose(-normal[:, 2] / normal[:, 1], slope_z, atol=1e-6)


def test_height_field_is_level_beyond_its_edges():
    hills = _hills()
    assert hills.height([-5.0, 0.0]) == pytest.approx(float(hills.height([-1.0, 0.0])))
    assert hills.normal([-5.0, -9.0]).tolist() == [0.0, 1.0, 0.0]


def test_height_field_closest_point_is_about_the_nearest_of_a_fine_grid():
    hills = _hills()
    fine = np.stack(np.meshgrid(np.linspace(-1, 4.5, 400), np.linspace(-2, 2.5, 400), indexing="ij"), -1).reshape(-1, 2)
    surface = np.stack([fine[:, 0], hills.height(fine), fine[:, 1]], -1)
    for point in np.random.default_rng(2).uniform([0, -0.2, -1], [3.5, 1.0, 1.5], (20, 3)):
        best = np.linalg.norm(surface - point, axis=1).min()
        assert np.linalg.norm(hills.closest(point) - point) <= best * 1.03 + 0.01


def test_plane_as_ground():
    slope = geometry.Plane((0.0, 1.0, 0.0), (0.0, 1.0, -1.0))
    assert slope.height([[0.0, 0.0], [3.0, 2.0]]).tolist() == pytest.approx([1.0, 3.0])
    with pytest.raises(ValueError, match="not vertical"):
        geometry.Plane(up=(1.0, 0.0, 0.0)).height([0.0, 0.0])


def closest_in_balls(point, centers, radii):
    """Return the point that the kernel finds, or None."""
    out = np.empty(3)
    given = (np.array(value, float) for value in (point, centers, radii))
    return out if balls.closest(*given, out) else None


def closest_in_balls_numpy(point, centers, radii):
    """All candidates at once: the point, its projections on spheres, circles and vertices."""
    candidates = [point]
    for a, ra in zip(centers, radii, strict=True):
        candidates.append(a + ra * (point - a) / np.linalg.norm(point - a))
    for i, j in combinations(range(len(radii)), 2):
        axis = centers[j] - centers[i]
        d = np.linalg.norm(axis)
        along = (d * d + radii[i] ** 2 - radii[j] ** 2) / (2 * d)
        square = radii[i] ** 2 - along**2
        if square < 0:
            continue
        axis, middle, r = axis / d, centers[i] + along * axis / d, np.sqrt(square)
        flat = point - middle - ((point - middle) @ axis) * axis
        candidates.append(middle + r * flat / np.linalg.norm(flat))
        for k in range(len(radii)):
            if k in (i, j):
                continue
            g = centers[k] - middle
            e1 = g - (g @ axis) * axis
            e1, inplane = e1 / np.linalg.norm(e1), np.linalg.norm(e1)
            cosine = (r * r + g @ g - radii[k] ** 2) / (2 * r * inplane)
            if abs(cosine) <= 1:
                e2 = np.cross(axis, e1)
                for sine in np.array([1.0, -1.0]) * np.sqrt(1 - cosine**2):
                    candidates.append(middle + r * (cosine * e1 + sine * e2))
    candidates = np.array(candidates)
    feasible = (np.linalg.norm(candidates[:, None] - centers, axis=-1) <= radii + 1e-8).all(axis=1)
    candidates = candidates[feasible]
    return candidates[np.argmin(np.linalg.norm(candidates - point, axis=1))] if len(candidates) else None


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_closest_in_balls_agrees_with_its_numpy_twin(seed, count):
    rng = np.random.default_rng(seed)
    centers, radii, point = rng.normal(size=(count, 3)), rng.uniform(0.3, 2.0, count), rng.normal(size=3) * 2
    found, twin = closest_in_balls(point, centers, radii), closest_in_balls_numpy(point, centers, radii)
    assert (found is None) == (twin is None)
    if found is not None:
        assert np.allclose(found, twin, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_closest_in_balls_agrees_with_an_optimiser(seed, count):
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    inside = rng.normal(size=3)
    centers = rng.normal(size=(count, 3)) * 1.5
    radii = np.linalg.norm(centers - inside, axis=1) + rng.uniform(0.05, 0.5, count)
    point = rng.normal(size=3) * 4
    found = closest_in_balls(point, centers, radii)
    assert found is not None
    assert (np.linalg.norm(found - centers, axis=1) <= radii + 1e-7).all()
    answer = minimize(
        lambda x: np.sum((x - point) ** 2),
        inside,
        jac=lambda x: 2 * (x - point),
        constraints={
            "type": "ineq",
            "fun": lambda x: radii**2 - np.sum((x - centers) ** 2, axis=1),
            "jac": lambda x: -2 * (x - centers),
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 300},
    )
    assert np.linalg.norm(found - point) <= np.linalg.norm(answer.x - point) + 1e-5


def test_balls_that_do_not_meet_have_no_closest_point():
    assert closest_in_balls([0, 0, 0], [[1.0, 0, 0], [5.0, 0, 0]], [1.0, 1.0]) is None
    assert closest_in_balls([1.0, 2.0, 3.0], np.zeros((0, 3)), []).tolist() == [1.0, 2.0, 3.0]
    assert closest_in_balls([0, 0, 0.0], [[0, 0, 0]], [1.0]).tolist() == [0.0, 0.0, 0.0]
