"""Curves on the ground: arc length, radius, symmetry, continuation beyond the ends, and files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import curves
from footplant.errors import ConstraintError, FormatError
from footplant.grounds import direction
from footplant.io.curve_files import load_curve

POINTS = st.lists(
    st.tuples(*[st.floats(-20, 20, allow_nan=False, allow_infinity=False)] * 2), min_size=3, max_size=8
).filter(lambda points: np.linalg.norm(np.diff(np.array(points), axis=0), axis=1).min() > 0.3)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.2, 50.0), st.booleans(), st.floats(-20.0, 60.0))
def test_a_circle_has_its_radius(radius, right, way):
    curve = curves.circle(-radius if right else radius)
    places, headings = curve.at(np.array([0.0, way]))
    center = np.array([-radius if right else radius, 0.0])
    assert np.linalg.norm(places[1] - center) == pytest.approx(radius, rel=1e-7)
    assert headings[1] - headings[0] == pytest.approx((-way if right else way) / radius, rel=1e-9, abs=1e-9)
    assert curve.length == pytest.approx(2.0 * np.pi * radius)
    assert curve.tightest(0.0, curve.length) == pytest.approx(radius, rel=1e-6)


@settings(deadline=None, max_examples=40)
@given(POINTS)
def test_parameter_is_arc_length_and_headings_are_tangents(points):
    try:
        curve = curves.through(points)
    except ConstraintError:
        return
    if curve.tightest(0.0, curve.length) < 0.05:
        return
    way = np.linspace(-1.0, curve.length + 1.0, 20_001)
    places, headings = curve.at(way)
    steps = np.diff(places, axis=0)
    assert np.linalg.norm(steps, axis=1).sum() == pytest.approx(way[-1] - way[0], rel=1e-4)
    along = np.einsum("nk,nk->n", steps, direction(0.5 * (headings[1:] + headings[:-1])))
    np.testing.assert_allclose(along, np.linalg.norm(steps, axis=1), rtol=1e-3, atol=1e-6)
    near = np.linalg.norm(places[:, None] - np.array(points), axis=2).min(axis=0)
    assert near.max() < 0.02


@settings(deadline=None, max_examples=25)
@given(POINTS, st.floats(-10, 10), st.floats(-10, 10), st.floats(-6, 6))
def test_moved_curves_keep_their_shape(points, x, z, heading):
    try:
        curve = curves.through(points)
    except ConstraintError:
        return
    moved = curve.moved((x, z), heading)
    way = np.linspace(0.0, curve.length, 50)
    before, after = curve.at(way), moved.at(way)
    np.testing.assert_allclose(after[0][0], (x, z), atol=1e-9)
    np.testing.assert_allclose(after[1] - before[1], heading - before[1][0], atol=1e-9)
    gaps = [np.linalg.norm(places[:, None] - places[None], axis=2) for places in (before[0], after[0])]
    np.testing.assert_allclose(gaps[1], gaps[0], atol=1e-9)


def test_an_s_has_the_requested_width_and_length_and_mirrors():
    curve, mirrored = curves.s_curve(6.0, 1.6), curves.s_curve(6.0, -1.6)
    way = np.linspace(0.0, curve.length, 500)
    places, headings = curve.at(way)
    assert np.ptp(places[:, 0]) == pytest.approx(1.6, rel=1e-4)
    np.testing.assert_allclose(places[[0, -1]], [[0, 0], [0, 6.0]], atol=1e-9)
    np.testing.assert_allclose(headings[[0, -1]], 0.0, atol=1e-6)
    np.testing.assert_allclose(mirrored.at(way)[0], places * [-1.0, 1.0], atol=1e-9)
    assert places[100, 0] > 0.0


def test_lines_continue_and_closed_curves_repeat():
    np.testing.assert_allclose(curves.line(2.0).at([-1.0, 5.0])[0], [[0, -1], [0, 5]])
    ring = curves.through([(0, 0), (3, 0), (3, 3), (0, 3), (0, 0)])
    assert ring.closed
    first, second = ring.at([0.7, 0.7 + ring.length])[0]
    np.testing.assert_allclose(first, second, atol=1e-9)


@pytest.mark.parametrize(
    "points", [[(0, 0)], [(0, 0), (0, 0)], [(0, np.nan), (1, 1)], [(0, 0), (1e9, 1)], np.zeros((0, 2)), [(1, 2, 3)]]
)
def test_invalid_curves_are_refused(points):
    with pytest.raises(ConstraintError, match="expected"):
        curves.through(points)


@pytest.mark.parametrize(
    "make", [lambda: curves.circle(0.0), lambda: curves.s_curve(-1.0, 1.0), lambda: curves.line(0)]
)
def test_sizes_are_checked(make):
    with pytest.raises(ConstraintError, match="metres"):
        make()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.csv", "0,0\n0,3\n2,6\n"),
        ("named.csv", "name,z,x\na,0,0\nb,3,0\nc,6,2\n"),
        ("spaces.txt", "# a path\n0 0\n0 3  # there\n\n2 6\n"),
        ("semicolons.csv", "x;z\n0;0\n0;3\n2;6\n"),
        ("list.json", "[[0, 0], [0, 3], [2, 6]]"),
        ("named.json", '{"points": [{"x": 0, "z": 0}, {"x": 0, "z": 3}, {"x": 2, "z": 6}]}'),
        ("points.toml", "points = [[0, 0], [0, 3], [2, 6.0]]"),
    ],
)
def test_files_of_points(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    curve, from_start = load_curve(str(path))
    expected, _ = load_curve("points:0,0;0,3;2,6")
    assert not from_start
    np.testing.assert_allclose(curve.positions, expected.positions)


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("a.csv", "0,0\n0,tree\n", "line 2"),
        ("b.csv", "a,b\n0,1\n", "line 1"),
        ("c.json", "[[0, 0], [1]]", r"points\[1\]"),
        ("d.json", "{", "line 1"),
        ("e.toml", "points = 3", "points"),
        ("f.csv", "", "expected"),
        ("g.csv", "1,1\n1,1\n", "2 points"),
        ("h.svg", "<svg/>", "ending in"),
        ("i.json", json.dumps([[True, 0], [1, 1]]), r"points\[0\]"),
    ],
)
def test_bad_files_say_where(tmp_path, name, text, where):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FormatError, match=where):
        load_curve(str(path))


@pytest.mark.parametrize(
    "text", ["circle:x", "circle:0", "s:3", "points:0,0", "points:0,0;1", "spiral", "circle", "s:a,b"]
)
def test_invalid_names_give_one_helpful_line(text):
    with pytest.raises(FormatError) as error:
        load_curve(text)
    assert "\n" not in str(error.value)
