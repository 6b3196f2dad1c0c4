"""The convex hull agrees with scipy's, and points on a line or at one place have one, too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from footplant.kernels.hull import convex_hull

pytestmark = pytest.mark.quick


def corners_of(points: np.ndarray, count: int) -> np.ndarray:
    order, corners = np.empty(len(points), np.int64), np.empty(2 * len(points), np.int64)
    return corners[: convex_hull(points, count, order, corners)]


@pytest.mark.parametrize("seed", range(20))
def test_corners_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    points, count = rng.normal(size=(40, 2)), int(rng.integers(3, 41))
    found, expected = corners_of(points, count), ConvexHull(points[:count]).vertices
    assert set(found) == set(expected)
    # in the same direction, whichever comes first
    assert np.array_equal(np.roll(expected, -int(np.flatnonzero(expected == found[0])[0])), found)
    assert points[found[0], 0] == points[:count, 0].min()


def test_what_has_no_area():
    line = np.linspace(0.0, 1.0, 7)[::-1, None] * [1.0, 2.0]
    assert corners_of(line, 7).tolist() == [6, 0]
    # the two ends of a line without length
    assert len(corners_of(np.ones((5, 2)), 5)) == 2
    assert corners_of(np.array([[0.3, 0.2], [9.0, 9.0]]), 1).tolist() == [0]
