"""Kernels of contact detection against NumPy, on paths that rest, creep, leave and jump, with noise."""

from __future__ import annotations

import numpy as np
import pytest

import twins_contacts as twin
from footplant.contacts import _stillness as stillness
from footplant.contacts.settings import StillnessSettings
from footplant.contacts.stillness import continuous_segments, read_only

FPS, HEIGHT = 60.0, 1.7
SETTINGS = StillnessSettings()


def made(noise: float, seed: int = 0) -> np.ndarray:
    """Return (F, P, 3) points that move in steps with rests between, some of them creeping, with a cut."""
    rng = np.random.default_rng(seed)
    tracks = []
    for _ in range(5):
        track = [rng.normal(size=3)]
        while len(track) < 300:
            rest, step = rng.integers(2, 40), rng.integers(3, 20)
            creep = rng.normal(size=3) * rng.choice([0.0, 0.0, 1e-4, 1e-3])
            track += [track[-1] + creep * n for n in range(1, rest)]
            way = rng.normal(size=3) * rng.choice([0.003, 0.3])
            track += [track[-1] + way * (1 - np.cos(np.pi * n / step)) / 2 for n in range(1, step + 1)]
        tracks.append(track[:300])
    positions = np.array(tracks).transpose(1, 0, 2)
    positions[170:] += [3.0, 0.0, 1.0]
    return read_only(positions + noise * rng.normal(size=positions.shape))


def intervals(positions: np.ndarray) -> np.ndarray:
    """Return still parts of a path, of various lengths, as rows."""
    runs = []
    for first, last in continuous_segments(positions, FPS, HEIGHT):
        runs += twin.runs(twin.still(positions[first:last], FPS, HEIGHT, 1e-4, SETTINGS, 2), first)
    return np.array(sorted(runs))


NOISES = pytest.mark.parametrize("noise", [0.0, 1e-5, 3e-4, 4e-3])


@NOISES
def test_jumps_and_fourth_differences(noise):
    positions = made(noise)
    segments = continuous_segments(positions, FPS, HEIGHT)
    assert segments == twin.continuous_segments(positions, FPS, HEIGHT)
    assert 170 in {first for first, _ in segments}
    for short in (positions[:1], positions[:2], positions[:3]):
        assert continuous_segments(short, FPS, HEIGHT) == twin.continuous_segments(short, FPS, HEIGHT)
    rows = np.array([[2, 10, 60], [4, 90, 93], [0, 100, 105]])
    out = np.empty(200)
    count = stillness.fourth_differences(positions, rows, out)
    expected = [np.linalg.norm(np.diff(positions[a:b, p], n=4, axis=0), axis=1) for p, a, b in rows]
    np.testing.assert_allclose(out[:count], np.concatenate(expected), atol=1e-12)


@NOISES
@pytest.mark.parametrize(("reach", "around"), [(1, 0.6), (3, 0.02), (9, 10.0)])
def test_still_frames_and_their_runs(noise, reach, around):
    positions, settings = made(noise), StillnessSettings(around=around)
    frames, points = positions.shape[:2]
    mask, expected = np.zeros((frames, points), bool), np.zeros((frames, points), bool)
    limits = settings.speed * HEIGHT, settings.fastest * HEIGHT, settings.share
    segments = np.array([[0, 1], [1, 170], [170, frames]])
    room = np.empty((frames, 3)), np.empty(frames, np.int64)
    for first, last in segments:
        window = max(round(around * FPS), 1)
        thresholds = stillness.StillThresholds(reach, window, FPS, noise, *limits)
        stillness.mark_still(positions, first, last, thresholds, *room, mask)
        expected[first:last] = twin.still(positions[first:last], FPS, HEIGHT, noise, settings, reach)
    np.testing.assert_array_equal(mask, expected)
    runs = np.empty((points * (frames // 2 + 3), 3), np.int64)
    found = runs[: stillness.runs_of(mask, segments, runs)].tolist()
    assert found == sorted(list(run) for first, last in segments for run in twin.runs(mask[first:last], first))
    slope, scatter, count, middle = twin.line_fits(positions[1:170], reach)
    path = np.empty((169, 3))
    fits = np.array([stillness.fit_line(positions, 1, 170, f + 1, 3, reach, path[f]) for f in range(169)])
    np.testing.assert_allclose(path, middle[:, 3], atol=1e-12)
    np.testing.assert_allclose(fits[:, 0], np.linalg.norm(slope[:, 3], axis=1), atol=1e-12)
    np.testing.assert_allclose(fits[:, 1], scatter[:, 3], atol=1e-12)
    np.testing.assert_array_equal(fits[:, 2], count)


@NOISES
def test_bridges(noise):
    positions = made(noise)
    halves = [((p, a, (a + b) // 2), (p, (a + b) // 2 + 1 + a % 5, b)) for p, a, b in intervals(positions).tolist()]
    rows = np.array([part for pair in halves for part in pair if part[2] > part[1]])
    near, out = SETTINGS.merge_near * HEIGHT, np.empty_like(rows)
    room = np.empty(len(positions)), np.empty((2, 3))
    count = stillness.bridge(positions, rows, FPS, SETTINGS.bridge * FPS, near, noise, *room, out)
    expected = twin.bridge(rows.tolist(), positions, FPS, HEIGHT, noise, SETTINGS)
    assert out[:count].tolist() == [list(row) for row in expected]
    assert count < len(rows)


def test_overlapping_intervals_are_merged():
    rows, out = np.array([[0, 3, 9], [0, 2, 6], [0, 8, 12], [1, 8, 12]]), np.empty((4, 3), np.int64)
    room = np.empty(300), np.empty((2, 3))
    count = stillness.bridge(made(0.0), rows, FPS, 6.0, 0.0, 0.0, *room, out)
    assert out[:count].tolist() == [[0, 2, 12], [1, 8, 12]]
    # the last of these begins before the first, which is elsewhere than the second
    rows, positions = np.array([[0, 1, 7], [0, 11, 27], [0, 0, 66]]), np.zeros((300, 1, 3))
    positions[9:] = 1.0
    positions.setflags(write=False)
    out = np.empty_like(rows)
    count = stillness.bridge(positions, rows, FPS, 0.0, 0.0, 0.0, *room, out)
    assert out[:count].tolist() == [[0, 0, 66]]


@NOISES
@pytest.mark.parametrize(("reach", "depth"), [(1, 12), (4, 3)])
def test_ends(noise, reach, depth):
    positions = made(noise)
    rows, segments = intervals(positions), continuous_segments(positions, FPS, HEIGHT)
    limits = stillness.EndLimits(reach, depth, 3, FPS, noise, 0.004, 2.0, 0.14, 0.25)
    out, room = np.empty_like(rows), (np.empty((300, 1, 3)), np.empty(300), np.empty(300))
    stillness.place_ends(positions, rows, np.array(segments), limits, *room, out)
    expected = twin.place_ends(positions, rows.tolist(), segments, limits)
    assert out.tolist() == [list(row) for row in expected]
    assert (out != rows).any()


def test_median_positions():
    positions = made(1e-3)
    rows = intervals(positions)
    places = np.empty((len(rows), 3))
    stillness.median_positions(positions, rows, np.empty(300), places)
    np.testing.assert_allclose(places, [np.median(positions[a:b, p], axis=0) for p, a, b in rows], atol=1e-12)


@pytest.mark.parametrize("reach", [1, 4])
def test_slowest_speeds(reach):
    noise, positions = 1e-3, made(1e-3)
    rows = intervals(positions)
    rows = rows[rows[:, 2] - rows[:, 1] > 1]
    speeds = np.empty(len(rows))
    stillness.slowest_speeds(positions, rows, reach, FPS, noise, speeds)
    for (p, a, b), speed in zip(rows, speeds):
        slope, _, count, _ = twin.line_fits(positions[a:b], reach)
        square = (slope[:, p] ** 2).sum(axis=1) - 36.0 * noise**2 / ((count + 1) * count * (count - 1))
        assert speed == pytest.approx(FPS * np.sqrt(max(square.min(), 0.0)), abs=1e-9)
    assert (speeds > 0.0).any()


@pytest.mark.parametrize("count", range(1, 12))
def test_median_with_and_without_ties(count):
    rng = np.random.default_rng(count)
    for values in (rng.normal(size=count), np.zeros(count), rng.integers(0, 3, count).astype(float), np.arange(12.0)):
        assert stillness.median_of(np.array(values), count) == np.median(values[:count])
