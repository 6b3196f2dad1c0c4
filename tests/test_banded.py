"""The least squares of a whole clip, against the same problem as one dense matrix."""

from __future__ import annotations

import numpy as np
import pytest

from footplant.kernels.banded import (
    add_acceleration_row,
    band_room,
    fill_frame,
    solve_band,
    solve_clip,
    solve_tied,
    write_solution,
)


def problem(frames: int, unknowns: int):
    """Return the equations of frames, the weights of differences, and the dense matrix (F, n, F, n) of all of them."""
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
    return squares, vectors, bend, speed, matrix


@pytest.mark.parametrize(("frames", "unknowns"), [(1, 2), (2, 3), (3, 1), (7, 3), (40, 11), (9, 21), (10, 18)])
def test_solve_clip_minimises_the_dense_problem(frames: int, unknowns: int) -> None:
    squares, vectors, bend, speed, matrix = problem(frames, unknowns)
    expected = np.linalg.solve(matrix.reshape(frames * unknowns, -1), vectors.ravel()).reshape(vectors.shape)
    found = np.empty_like(vectors)
    assert solve_clip(squares, vectors, bend, speed, band_room(frames, unknowns), found)
    assert np.abs(found - expected).max() < 1e-12 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize(("frames", "unknowns"), [(1, 3), (2, 3), (7, 3), (40, 5)])
def test_rows_of_two_frames_tie_them(frames: int, unknowns: int) -> None:
    squares, vectors, bend, speed, matrix = problem(frames, unknowns)
    rng = np.random.default_rng(2)
    ties = np.zeros((frames - 1, unknowns, unknowns))
    for f in range(frames - 1):
        here, there = rng.normal(size=(2, 2, unknowns))
        squares[f] += here.T @ here
        squares[f + 1] += there.T @ there
        ties[f] = there.T @ here
        row = np.hstack([here, there])
        matrix[f : f + 2, :, f : f + 2] += (row.T @ row).reshape(2, unknowns, 2, unknowns)
    expected = np.linalg.solve(matrix.reshape(frames * unknowns, -1), vectors.ravel()).reshape(vectors.shape)
    found = np.empty_like(vectors)
    assert solve_tied(squares, ties, vectors, bend, speed, band_room(frames, unknowns), found)
    assert np.abs(found - expected).max() < 1e-12 * max(1.0, np.abs(expected).max())
    assert not solve_tied(-squares, ties, vectors, 0.0 * bend, 0.0 * speed, band_room(frames, unknowns), found)


def test_a_matrix_that_is_not_positive_definite_is_refused() -> None:
    squares = -np.ones((3, 1, 1))
    assert not solve_clip(squares, np.ones((3, 1)), np.zeros(1), np.zeros(1), band_room(3, 1), np.empty((3, 1)))


@pytest.mark.parametrize(
    ("frames", "unknowns", "share"), [(1, 3, 0.5), (2, 4, 0.5), (5, 3, 0.3), (40, 13, 0.4), (30, 9, 0.9)]
)
def test_given_unknowns_are_left_out(frames: int, unknowns: int, share: float) -> None:
    """Twice in the same room, so that nothing of the first factor is left; a row of an acceleration comes on top."""
    squares, vectors, bend, speed, matrix = problem(frames, unknowns)
    rng = np.random.default_rng(1)
    given, known = rng.random((frames, unknowns)) < share, rng.normal(size=(frames, unknowns))
    given[:, 0] = False
    right = vectors.copy()
    row, weight, wanted = np.array([0.7, 0.2 - 2 * 0.7, 0.7]), 5.0, 0.3
    if frames > 2:
        matrix[:3, 0, :3, 0] += weight * np.outer(row, row)
        right[:3, 0] += weight * wanted * row
    free, matrix = ~given.ravel(), matrix.reshape(frames * unknowns, -1)
    right = right.ravel() - matrix @ np.where(given, known, 0.0).ravel()
    expected = known.copy()
    expected.reshape(-1)[free] = np.linalg.solve(matrix[np.ix_(free, free)], right[free])
    band = band_room(frames, unknowns, given)
    for _ in range(2):
        found = np.where(given, known, np.nan)
        band.values[:] = 0.0
        for f in range(frames):
            fill_frame(squares[f], vectors[f], f, bend, speed, found, band)
        if frames > 2:
            add_acceleration_row(band, 1, 0, weight, 0.2, 0.7, wanted)
        assert solve_band(band)
        write_solution(band, found)
        assert np.abs(found - expected).max() < 1e-11 * max(1.0, np.abs(expected).max())
