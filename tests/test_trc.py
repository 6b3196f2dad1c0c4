"""TRC in and out: tables with empty fields, headers that lie, and numbers that come back to the last bit."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import footplant
from footplant.errors import FormatError
from footplant.io import trc
from footplant.markers import Markers

HEADER = (
    "PathFileType\t4\t(X/Y/Z)\twalk.trc\n"
    "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
    "60.00\t120.00\t3\t2\tmm\t60.00\t1\t3\n"
    "Frame#\tTime\tA\t\t\tB\t\t\n"
    "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n"
    "\n"
)
ROWS = "7\t0.000\t1.5\t2\t3\t4\t5\t6\n8\t0.017\t\t\t\t-4.25\t5e1\t+6\n9\t0.033\t7\t8\t9\t\t\t\n"
TEXT = HEADER + ROWS
EXPECTED = [
    [[1.5, 2, 3], [4, 5, 6]],
    [[np.nan] * 3, [-4.25, 50, 6]],
    [[7, 8, 9], [np.nan] * 3],
]


def read(text: str):
    return trc.parse(text.encode())


def test_a_simple_file():
    raw = read(TEXT)
    assert raw.names == ("A", "B")
    np.testing.assert_array_equal(raw.positions, EXPECTED)
    assert (raw.fps, raw.units, raw.first_frame, raw.notes) == (60.0, "mm", 7, ())


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "\r"),
        "\n\r\n" + TEXT,
        TEXT.replace("\t\t\t\n", "\n"),
        TEXT.replace("Z2\n\n", "Z2\n"),
        TEXT.replace("Z2\n\n", "Z2\n\n\n \n"),
        TEXT + "\n\n",
        TEXT.rstrip(),
        TEXT.replace("\t1.5\t", "\t 1.5 \t").replace("8\t9\t\t\t", "8\t9 "),
        TEXT.replace("\t\t\t\t-4.25", "\tnan\tNaN\tNAN\t-4.25"),
        TEXT.replace("B\t\t\n", "B\n").replace("A\t\t\tB", "A\tB"),
        TEXT.replace("\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n", ""),
        TEXT.replace("1.5", "1,5").replace("-4.25", "-4,25"),
        TEXT.replace("Frame#", "frame#").replace("DataRate", "datarate"),
    ],
)
def test_equivalent_layouts(text):
    raw = read(text)
    assert raw.names == ("A", "B")
    np.testing.assert_array_equal(raw.positions, EXPECTED)
    assert raw.fps == 60.0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(encoding):
    np.testing.assert_array_equal(trc.parse(TEXT.encode(encoding)).positions, EXPECTED)


def test_spaces_between_fields():
    rows = "1 0.0 1 2 3 4 5 6\n2   0.016667 1 2 3 4 5 7\n"
    raw = read(HEADER.replace("\t", " ") + rows)
    assert raw.names == ("A", "B")
    np.testing.assert_array_equal(raw.positions[1], [[1, 2, 3], [4, 5, 7]])


def test_wrong_headers():
    raw = read(TEXT.replace("\t3\t2\tmm", "\t30\t5\tmm"))
    assert "the header states 5 markers and names 2; the named ones were read" in raw.notes
    assert "the header states 30 frames; 3 rows follow and were read" in raw.notes
    raw = read(TEXT.replace("60.00\t120.00", "30.00\t120.00"))
    assert raw.fps == pytest.approx(60.6061, rel=1e-4)
    assert "the times 60.6061; used the times" in raw.notes[0]
    raw = read(TEXT.replace("60.00\t120.00", "0\t120.00"))
    # the times contradict the camera rate too
    assert raw.fps == pytest.approx(60.6061, rel=1e-4)
    raw = read(TEXT.replace("8\t0.017", "9\t0.017"))
    assert "not consecutive" in raw.notes[0]


def test_columns_without_a_name_are_dropped():
    raw = read(TEXT.replace("\t5\t6\n", "\t5\t6\t100\t200\t300\n"))
    assert raw.names == ("A", "B")
    assert "3 values are in columns without a name" in raw.notes[0]


def test_duplicate_and_missing_names():
    assert read(TEXT.replace("\tB\t", "\tA\t")).names == ("A", "A_2")
    raw = read(TEXT.replace("A\t\t\tB", ""))
    assert raw.names == ("point1", "point2")
    np.testing.assert_array_equal(raw.positions, EXPECTED)


def test_incomplete_and_zero_points_are_occluded():
    raw = read(TEXT.replace("1.5\t2\t3", "1.5\t\t3").replace("7\t8\t9", "0\t0\t0.000"))
    assert np.isnan(raw.positions[[0, 2], 0]).all()
    assert "1 points have fewer than three coordinates and were treated as occluded" in raw.notes
    assert "1 samples are exactly (0, 0, 0) and were treated as occluded" in raw.notes
    raw = read(TEXT.replace("1.5", "inf"))
    assert np.isnan(raw.positions[0, 0]).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "begins with 'Frame#', got none in 0 lines"),
        (TEXT[:80], "begins with 'Frame#'"),
        ("\0" * 5000, "begins with 'Frame#'"),
        (HEADER, "got 0 rows"),
        (TEXT.replace("1.5", "1.5x"), r"line 7: expected a number for x of 'A', got b'1\.5x'"),
        (TEXT.replace("5e1", "1_0"), r"line 8: expected a number for y of 'B'"),
        (HEADER + "1\t0.0\n2\t0.1\n", "occluded in all 2 frames"),
        ("Frame#\tTime\t" + "A\t\t\t" * 70_000 + "\n1\t0\t1\t2\t3\n", "at most 65535 markers"),
    ],
)
def test_damaged_files(text, message):
    with pytest.raises(FormatError, match=message):
        read(text)


def test_empty_rows_cannot_make_large_arrays():
    names = "\t\t\t".join(f"M{number}" for number in range(20_000))
    text = f"Frame#\tTime\t{names}\n" + "1\t0.0\t1\t2\t3\n" * 20_000
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="expected rows with a field for each coordinate"):
            read(text)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(text) + 2e7
    finally:
        tracemalloc.stop()


def test_memory_is_bounded_by_the_file(tmp_path):
    """Tabs alone are the worst case: one byte becomes eight."""
    names = "\t\t\t".join(f"M{number}" for number in range(50))
    path = tmp_path / "empty.trc"
    row = "1\t0" + "\t" * 150
    path.write_text(f"Frame#\tTime\t{names}\n" + f"{row}\n" * 20_000 + "2\t0.1\t1\t2\t3" + "\t" * 147 + "\n")
    footplant.load_markers(path)
    tracemalloc.start()
    try:
        footplant.load_markers(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * path.stat().st_size + 8e6


places = hnp.arrays(
    float, st.tuples(st.integers(1, 5), st.integers(1, 4), st.just(3)),
    elements=st.floats(-50, 50, allow_subnormal=False).map(lambda value: value if abs(value) > 1e-200 else 0.25),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    places, st.sampled_from(["y", "z", "x", "-y", "-z", "-x"]), st.integers(0, 9999), st.sampled_from([59.94, 100, 7])
)
def test_metres_round_trip_bit_for_bit(tmp_path_factory, positions, up, first, fps):
    path = tmp_path_factory.mktemp("trc") / "a.trc"
    hidden = np.zeros(positions.shape[:2], bool)
    hidden.flat[1::3] = True
    positions[hidden] = np.nan
    markers = Markers(tuple(f"m{n}" for n in range(positions.shape[1])), positions, fps, first_frame=first)
    footplant.save_markers(path, markers, units="m", up=up)
    back = footplant.load_markers(path, up=up)
    np.testing.assert_array_equal(back.positions, positions)
    assert (back.names, back.fps, back.first_frame, back.conversion.units) == (markers.names, fps, first, "m")
    footplant.save_markers(path, markers, units="mm", up=up)
    np.testing.assert_allclose(footplant.load_markers(path, up=up).positions, positions, rtol=3e-16)


def test_millimetres_round_trip_bit_for_bit(tmp_path):
    rng = np.random.default_rng(1)
    for digits in (3, 5):
        values = np.round(rng.uniform(-4000, 4000, (200, 10, 3)), digits)
        rows = "\n".join(
            f"{n + 1}\t{n / 60!r}\t" + "\t".join(map(repr, row.ravel().tolist())) for n, row in enumerate(values)
        )
        names = "\t\t\t".join(f"m{n}" for n in range(10))
        path, copy = tmp_path / "a.trc", tmp_path / "b.trc"
        path.write_text(HEADER.replace("A\t\t\tB\t\t", names) + rows + "\n")
        markers = footplant.load_markers(path, up="y")
        footplant.save_markers(copy, markers)
        np.testing.assert_array_equal(trc.load_markers(copy).positions, values)
        np.testing.assert_array_equal(footplant.load_markers(copy, up="y").positions, markers.positions)


def test_saving_is_checked(tmp_path):
    markers = Markers(("a",), np.ones((2, 1, 3)))
    with pytest.raises(FormatError, match="expected units among"):
        footplant.save_markers(tmp_path / "a.trc", markers, units="parsec")
    with pytest.raises(FormatError, match="expected an up axis"):
        footplant.save_markers(tmp_path / "a.trc", markers, up="w")
    with pytest.raises(FormatError, match=r"can be written \(\.trc\), got \.c3d"):
        footplant.save_markers(tmp_path / "a.c3d", markers)
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_randomly_damaged_files_are_read_or_refused(data):
    content = bytearray(TEXT.encode())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        raw = trc.parse(bytes(content))
    except FormatError:
        return
    assert raw.positions.shape == (len(raw.positions), len(raw.names), 3)
