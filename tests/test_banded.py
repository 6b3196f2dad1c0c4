"""The least squares of a whole clip, against the same problem as one dense matrix."""

from __future__ import annotations

import numpy as np
import pytest

from footplant.kernels.banded import band_room, solve_clip


@pytest.mark.parametrize(("frames", "unknowns"), [(1, 2), (2, 3), (3, 1), (7, 3), (40, 11), (9, 21), (10, 18)])
def test_solve_clip_minimises_the_dense_problem(frames: int, unknowns: int) -> None:
    rng = np.random.default_rng(frames)
    rows = rng.normal(size=(frames, unknowns + 2, unknowns))
    squares, vectors = rows.transpose(0, 2, 1) @ rows, rng.normal(size=(frames, unknowns))
    bend, speed = 10.0 * rng.random(unknowns), 3.0 * rng.random(unknowns)
    matrix = np.zeros((frames, unknowns, frames, unknowns))
    for f in range(frames):
        matrix[f, :, f] = squares[f]
    for order, weight in ((1, speed), (2, bend)):
        if frames > order:
            differences = np.diff(np.eye(frames), order, axis=0)
            for i in range(unknowns):
                matrix[:, i, :, i] += weight[i] * differences.T @ differences
    expected = np.linalg.solve(matrix.reshape(frames * unknowns, -1), vectors.ravel()).reshape(vectors.shape)
    found = np.empty_like(vectors)
    assert solve_clip(squares, vectors, bend, speed, band_room(frames, unknowns), found)
    assert np.abs(found - expected).max() < 1e-12 * max(1.0, np.abs(expected).max())


def test_a_matrix_that_is_not_positive_definite_is_refused() -> None:
    squares = -np.ones((3, 1, 1))
    assert not solve_clip(squares, np.ones((3, 1)), np.zeros(1), np.zeros(1), band_room(3, 1), np.empty((3, 1)))
