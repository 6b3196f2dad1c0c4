"""Reading C3D: every processor and number type, gaps, long trials, many labels, other points, and damaged files."""

from __future__ import annotations

import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footplant
from c3d_made import BLOCK, DEC, INTEL, MIPS, Made, walker
from footplant.errors import FormatError
from footplant.io import c3d
from footplant.io.c3d.parameters import from_vax

PROCESSORS = {"intel": INTEL, "dec": DEC, "mips": MIPS}


def names(count: int) -> list[str]:
    return [f"M{number}" for number in range(count)]


def made(positions: np.ndarray | None = None, labels: list[str] | None = None, **options) -> Made:
    positions = walker() if positions is None else positions
    return Made(positions, labels or names(positions.shape[1]), **options)


@pytest.mark.parametrize("floats", [True, False])
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("analog", [0, 3])
def test_written_files_are_read(processor, floats, analog):
    file = made(processor=PROCESSORS[processor], floats=floats, analog=analog, first=17)
    raw = c3d.parse(file.bytes())
    assert raw.names == tuple(file.labels)
    assert raw.fps == 120.0
    assert (raw.units, raw.up, raw.first_frame) == ("mm", "z", 17)
    hidden = np.isnan(file.positions).any(axis=2)
    assert np.array_equal(np.isnan(raw.positions).any(axis=2), hidden)
    worst = np.nanmax(np.abs(raw.positions - file.positions))
    assert worst <= (1e-3 * file.scale if floats else 0.51 * file.scale) + 1e-4
    assert raw.residuals is not None
    np.testing.assert_allclose(raw.residuals[~hidden], 3 * float(np.float32(file.scale)), rtol=1e-12)
    assert np.isnan(raw.residuals[hidden]).all()
    assert raw.notes == ()


@given(st.floats(-(2.0**120), 2.0**120, width=32, allow_subnormal=False))
def test_vax_floats(value):
    expected = np.float32(value)
    halves = (np.array([expected]) * np.float32(4)).view("<u2")[::-1]
    read = from_vax(halves.reshape(1, 2))[0]
    # numbers below the VAX range are zero
    assert read == expected or (abs(expected) < 2.0**-126 and read == 0)


def test_vax_floats_at_the_ends_of_their_range():
    zero, largest = np.array([0, 0], np.uint16), np.array([0x7FFF, 0xFFFF], np.uint16)
    assert from_vax(zero.reshape(1, 2))[0] == 0.0
    assert from_vax(largest.reshape(1, 2))[0] == pytest.approx(1.7014117e38, rel=1e-6)


def test_more_than_255_labels():
    file = made(walker(frames=4, markers=600, hidden=0.0))
    raw = c3d.parse(file.bytes())
    assert raw.names == tuple(names(600))
    assert raw.notes == ()


@pytest.mark.parametrize("processor", PROCESSORS)
def test_more_than_65535_frames(processor):
    frames = 70_000
    positions = np.zeros((frames, 1, 3)) + [100.0, 200.0, 0.0]
    positions[:, 0, 2] = 1.0 + np.arange(frames) % 1000
    file = made(positions, processor=PROCESSORS[processor], floats=False, scale=1.0, long_frames=True)
    raw = c3d.parse(file.bytes())
    assert len(raw.positions) == frames
    np.testing.assert_array_equal(raw.positions, positions)
    # if its length is stated nowhere else, the file's size determines it
    short = made(positions, processor=PROCESSORS[processor], floats=False, scale=1.0)
    raw = c3d.parse(short.bytes())
    assert frames <= len(raw.positions) <= frames + BLOCK // 8
    assert "does not state its number of frames" in raw.notes[0]


def test_data_start_of_zero():
    file = made(data_start=0)
    np.testing.assert_array_equal(c3d.parse(file.bytes()).positions, c3d.parse(made().bytes()).positions)
    # neither header nor parameters state it: the data follow the parameters
    data = bytearray(file.bytes())
    data[16:18] = b"\0\0"
    np.testing.assert_array_equal(c3d.parse(bytes(data)).positions, c3d.parse(made().bytes()).positions)


def test_a_file_without_parameters():
    data = bytearray(made().bytes())
    data[BLOCK + 4 : BLOCK + 6] = b"\0\0"
    raw = c3d.parse(bytes(data))
    assert raw.names[:2] == ("point1", "point2")
    assert (raw.units, raw.up) == (None, None)
    assert "no labels" in raw.notes[0]
    np.testing.assert_array_equal(raw.positions, c3d.parse(made().bytes()).positions)


def test_zero_and_invalid_points_are_occluded():
    positions = walker(hidden=0.0)
    positions[3, 2] = 0.0
    positions[4, 1, 0] = 3e37
    raw = c3d.parse(made(positions).bytes())
    assert np.argwhere(np.isnan(raw.positions[..., 0])).tolist() == [[3, 2], [4, 1]]
    assert raw.notes == ("1 samples are exactly (0, 0, 0) and were treated as occluded",)


def test_duplicate_and_empty_labels():
    positions = walker(markers=5, hidden=0.0)
    raw = c3d.parse(made(positions, ["A", "A", "", "B", "point3"]).bytes())
    assert raw.names == ("A", "A_2", "point3", "B", "point3_5")
    assert "are duplicates" in raw.notes[0]


def test_angles_forces_and_powers_are_not_markers():
    positions = walker(markers=6, hidden=0.0)
    labels = ["LKNE", "Bend", "RHipMoment", "Load", "LTOE", "Ann:RAnklePower"]
    extra = [
        ("POINT", "SCALARS", ["Load"]),
        ("POINT", "TYPE_GROUPS", ["TURNS", "ANGLE", "LABELS", "MARKER"]),
        ("POINT", "TURNS", ["Bend"]),
    ]
    raw = c3d.parse(made(positions, labels, extra=extra).bytes())
    assert raw.names == ("LKNE", "LTOE")
    np.testing.assert_allclose(raw.positions, positions[:, [0, 4]], rtol=1e-6)
    assert raw.notes[0].startswith("4 points are angles, forces, moments or powers ('Bend' …)")
    with pytest.raises(FormatError, match="angles, forces or the like"):
        c3d.parse(made(positions[:, :1], ["LKneeAngles"]).bytes())


def test_subjects():
    positions = walker(markers=5, hidden=0.0)
    labels = ["Ann:LKNE", "Ann:RKNE", "Bob:LKNE", "CYRLKNE", "*4"]
    extra = [
        ("SUBJECTS", "NAMES", ["Ann", "Bobby", "Cyril"]),
        ("SUBJECTS", "LABEL_PREFIXES", ["Ann:", "Bob:", "CYR"]),
    ]
    raw = c3d.parse(made(positions, labels, extra=extra).bytes())
    assert raw.subjects == ("Ann", "Ann", "Bobby", "Cyril", "")
    alone = c3d.parse(made(positions, ["A", "B", "C", "D", "*4"], extra=[("SUBJECTS", "NAMES", ["Ann"])]).bytes())
    assert alone.subjects == ("Ann", "Ann", "Ann", "Ann", "")


def test_events():
    extra = [
        ("EVENT", "USED", 2),
        ("EVENT", "LABELS", ["Foot Strike", "Foot Off"]),
        ("EVENT", "CONTEXTS", ["Left", "Right"]),
        ("EVENT", "SUBJECTS", ["Ann", "Ann"]),
        ("EVENT", "TIMES", np.array([[1.0, 2.5], [0.0, 4.0]])),
    ]
    raw = c3d.parse(made(first=121, rate=120.0, extra=extra).bytes())
    assert [(e.label, e.context, e.subject, e.seconds) for e in raw.events] == [
        ("Foot Off", "Right", "Ann", 3.0),
        ("Foot Strike", "Left", "Ann", 61.5),
    ]


def test_rates_are_found_or_noted():
    assert c3d.parse(made(rate=59.94).bytes()).fps == pytest.approx(59.94)
    raw = c3d.parse(made(rate=0.0).bytes())
    assert raw.fps == 100.0
    assert "states no frame rate" in raw.notes[0]


def test_a_truncated_file_gives_its_complete_frames():
    file = made(analog=4)
    data = file.bytes()
    frame = 4 * (4 * 12 + 4)
    start = len(data) - -(-50 * frame // BLOCK) * BLOCK
    raw = c3d.parse(data[: start + 20 * frame + 7])
    assert len(raw.positions) == 20
    assert raw.notes == ("the file states 50 frames; 20 complete ones follow and were read",)
    np.testing.assert_array_equal(raw.positions, c3d.parse(data).positions[:20])
    with pytest.raises(FormatError, match="expected frames of 208 bytes, got 7 bytes"):
        c3d.parse(data[: start + 7])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "512 bytes or more, got 0"),
        (lambda data: data[:511], "512 bytes or more, got 511"),
        (lambda data: data[:1] + b"\x51" + data[2:], "key 0x50, got 0x51"),
        (lambda data: b"\x00" + data[1:], "parameter section"),
        (lambda data: b"\xff" + data[1:], "parameter section"),
        (lambda data: data[: BLOCK + 3] + b"\x57" + data[BLOCK + 4 :], "processor 84"),
        (lambda data: data[: BLOCK + 12] + b"\xff\xff" + data[BLOCK + 14 :], "damaged section"),
    ],
)
def test_damaged_files(change, message):
    with pytest.raises(FormatError, match=message):
        c3d.parse(change(made().bytes()))


def test_only_occluded_points_or_analog_values():
    with pytest.raises(FormatError, match="visible markers, got 2 that are occluded in all 3 frames"):
        c3d.parse(made(np.full((3, 2, 3), np.nan)).bytes())
    with pytest.raises(FormatError, match="analog values only"):
        c3d.parse(Made(np.zeros((3, 0, 3)), [], analog=5).bytes())


def test_a_parameter_section_damaged_after_the_labels():
    file = made(extra=[("POINT", "LATER", "something")])
    data = bytearray(file.bytes())
    at = bytes(data).index(b"LATER")
    data[at + 5 : at + 7] = struct.pack("<H", 60_000)
    with pytest.raises(FormatError, match="expected intact parameters"):
        c3d.parse(bytes(data))
    raw = c3d.parse(bytes(data), damaged=True)
    assert raw.names == tuple(file.labels)
    assert raw.notes[0].startswith("the parameter section is damaged (")


def test_false_sizes_allocate_nothing():
    """Maximum counts and sizes, in files that contain no such data."""
    data = bytearray(made(walker(frames=2000)).bytes())
    data[2:12] = b"\xff" * 10
    for step in range(0, 40, 4):
        data[BLOCK + 40 + step : BLOCK + 44 + step] = b"\xff\x07\xff\xff"
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            c3d.parse(bytes(data))
        assert tracemalloc.get_traced_memory()[1] < 5 * len(data) + 2e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("floats", [True, False])
def test_memory_is_bounded_by_the_file(tmp_path, floats):
    path = tmp_path / "long.c3d"
    path.write_bytes(made(walker(frames=20_000, markers=40), floats=floats).bytes())
    footplant.load_markers(path)
    tracemalloc.start()
    try:
        markers = footplant.load_markers(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(markers) == 20_000
    assert peak < 7 * path.stat().st_size + 8e6


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_randomly_damaged_files_are_read_or_refused(data):
    file = made(
        walker(frames=5, markers=3), processor=data.draw(st.sampled_from([INTEL, DEC, MIPS])),
        floats=data.draw(st.booleans()), analog=2, long_frames=True,
    )  # fmt: skip
    content = bytearray(file.bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content
    try:
        raw = c3d.parse(bytes(content))
    except FormatError:
        return
    assert raw.positions.shape == (len(raw.positions), len(raw.names), 3)
    assert len(set(raw.names)) == len(raw.names)
