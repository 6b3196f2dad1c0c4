"""Medians and quantiles against NumPy's, and runs of a mask."""

from __future__ import annotations

import numpy as np
import pytest

from footplant.order import median, quantile, runs


@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (60,), (1, 3), (8, 3), (61, 3)])
@pytest.mark.quick
def test_medians_are_those_of_numpy(shape):
    values = np.random.default_rng(len(shape)).normal(size=shape)
    before = values.copy()
    assert np.array_equal(median(values), np.median(values, axis=0))
    assert np.array_equal(values, before)


@pytest.mark.parametrize("count", [1, 2, 40])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.95, 1.0])
def test_quantiles_are_those_of_numpy(count, share):
    values = np.random.default_rng(count).normal(size=count)
    assert quantile(values, share) == pytest.approx(np.quantile(values, share), rel=1e-12)


@pytest.mark.parametrize(
    ("mask", "found"),
    [("", []), ("0", []), ("1", [(0, 1)]), ("0110", [(1, 3)]), ("1101", [(0, 2), (3, 4)]), ("10001", [(0, 1), (4, 5)])],
)
def test_runs_of_a_mask(mask, found):
    assert runs(np.array([each == "1" for each in mask], bool)) == found
