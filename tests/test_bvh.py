"""Reading BVH: pitfalls of real files, each as a tiny file, and the real files themselves."""

from __future__ import annotations

import csv
import tracemalloc

import numpy as np
import pytest

from bvh_text import motion, notes, one, simple, world, write
from conftest import shared_files
from footplant import rotation
from footplant.errors import FormatError
from footplant.io import bvh
from footplant.kinematics import Kinematics

REAL = shared_files("bvh/*/*.bvh")


def refuse(text: str | bytes, match: str) -> None:
    with pytest.raises(FormatError, match=match):
        bvh.parse(text if isinstance(text, bytes) else text.encode(), "clip.bvh")


def test_cached_hierarchies_do_not_mix_up_clips():
    """The HIERARCHY is cached, the clip is not; and a joint may be named MOTION."""
    first, second = one(simple()), one(simple("0 2 0 10 20 30 5 6 7\n0 3 0 10 20 30 5 6 7\n", time="0.01"))
    assert (first.takes[0].frames, second.takes[0].frames) == (1, 2)
    assert second.read_take(0).root[:, 1].tolist() == [2.0, 3.0]
    assert second.takes[0].fps == 100.0
    for name in ("MOTION", "MOTION capture", "MOTIONLESS"):
        assert one(simple().replace("JOINT Spine", f"JOINT {name}")).skeleton.names == ("Hips", name)
    refuse(simple().replace("MOTION", "MOTIO"), "line 16: expected MOTION or another ROOT")


def test_a_simple_file():
    figure = one(simple())
    assert figure.skeleton.names == ("Hips", "Spine")
    assert figure.notes == ()
    assert (figure.scale, figure.up) == (None, None)
    assert figure.skeleton.end_parents.tolist() == [1]
    assert figure.skeleton.end_offsets.tolist() == [[0, 5, 0]]
    assert figure.takes[0].frames == 1
    assert figure.takes[0].fps == 1 / 0.0333333
    pose = figure.read_take(0)
    assert pose.root.tolist() == [[0, 1, 0]]
    expected = rotation.from_euler(np.radians([[10, 20, 30], [5, 6, 7]]), "zxy")
    assert np.abs(pose.rotations[0] - expected).max() < 1e-15


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n", " \t\r\n", "\n\n\n", "\n \n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks(ending, start):
    text = simple("0 1 0 10 20 30 5 6 7\n1 2 3 4 5 6 7 8 9\n")
    got = motion(start + text.replace("\n", ending).encode())
    assert np.array_equal(got.rotations, motion(text).rotations)
    assert notes(start + text.replace("\n", ending).encode()) == ""


def test_mixed_line_ends_and_utf_16():
    text = simple("0 1 0 10 20 30 5 6 7\n1 2 3 4 5 6 7 8 9\n")
    mixed = text.replace("\n", "\r\n", 9)
    assert np.array_equal(motion(mixed).rotations, motion(text).rotations)
    assert np.array_equal(motion(text.encode("utf-16")).rotations, motion(text).rotations)


def test_keywords_in_any_case_tabs_and_braces_on_the_same_line():
    text = (
        "hierarchy root Hips { offset 0\t0 0 Channels 6 xposition YPOSITION Zposition Zrotation Xrotation yrotation "
        "joint Spine { Offset 0 10 0 CHANNELS 3 Zrotation Xrotation Yrotation END SITE { OFFSET 0 5 0 } } } "
        "Motion\nframes 1\nFRAME TIME:0.0333333\n0 1 0 1e1\t+20 .3E2 5. 6 7"
    )
    assert np.array_equal(motion(text).rotations, motion(simple()).rotations)


@pytest.mark.parametrize(
    "head",
    ["Frames: 1\nFrame Time: .5", "Frames:1\nFrame Time:.5", "Frames :\t1\nFrame  Time :\t.5",
     "Frame Time: 0.5\nFrames: 1", "FRAMES: 1\r\nFRAME TIME: 5e-1", "Frames: 1 \nFrameTime: 0.50 "],
)  # fmt: skip
def test_odd_spacing_of_the_header(head):
    figure = one(simple().replace("Frames: 1\nFrame Time: 0.0333333", head))
    assert figure.takes[0].fps == 2.0
    assert figure.notes == ()


def test_frame_time_stays_as_written():
    assert one(simple(time="0.041708333000")).layout.frame_time == "0.041708333000"


@pytest.mark.parametrize("time", ["0", "0.000000", "-0"])
def test_frame_time_zero(time):
    assert one(simple(time=time)).takes[0].fps == 30
    assert "30 frames per second were assumed" in notes(simple(time=time))


def test_frame_time_missing():
    text = simple().replace("Frame Time: 0.0333333\n", "")
    assert one(text).takes[0].fps == 30
    assert "no frame time is stated" in notes(text)


@pytest.mark.parametrize("time", ["-1", "nan", "inf", "1e-300", "fast", "1e300", "0,03"])
def test_frame_time_nonsense(time):
    refuse(simple(time=time), r"line 18: expected a frame time in seconds, got")


@pytest.mark.parametrize(
    ("raw", "name"),
    [(b"Left Up Leg", "Left Up Leg"), (b"mixamorig:Hips", "mixamorig:Hips"), ("Hüfte".encode(), "Hüfte"),
     ("Hüfte".encode("cp1252"), "Hüfte"), (b"\x81\x8d", "\x81\x8d"), (b"JOINT", "JOINT"), (b"", "joint_0")],
)  # fmt: skip
def test_names(raw, name):
    figure = one(simple().encode().replace(b"ROOT Hips", b"ROOT " + raw))
    assert figure.skeleton.names[0] == name
    assert figure.layout.raw_names[0] == raw


def test_duplicate_names():
    text = write([-1, 0, 1, 2], np.zeros((4, 3)), [["Xrotation"]] * 4, [[]] * 4, np.zeros((1, 4)))
    for number, name in enumerate(["a", "a", "a_2", "a"]):
        text = text.replace(f"joint {number}\n", f"{name}\n")
    assert one(text).skeleton.names == ("a", "a_3", "a_2", "a_4")
    assert "2 joints with an empty or duplicate name got a number" in notes(text)


def test_two_roots():
    text = simple("1 2 3 4 5 6 7 8 9 10 20 30 40 50 60 70 80 90\n")
    block = text[text.index("ROOT") : text.index("MOTION")]
    first, second = bvh.parse(text.replace("MOTION", block.replace("Hips", "Other") + "MOTION").encode())
    assert (first.name, second.name) == ("Hips", "Other")
    assert second.read_take(0).root.tolist() == [[10, 20, 30]]
    assert np.allclose(second.read_take(0).rotations[0, 0], rotation.from_euler(np.radians([40, 50, 60]), "zxy"))
    assert [figure.layout.number for figure in (first, second)] == [0, 1]


def test_channels_in_any_order_and_number():
    parents = [-1, 0, 1, 2, 0, 4]
    channels = [
        ["Yrotation", "Zposition", "Xrotation", "Xposition", "Zrotation", "Yposition"], ["Yrotation"], [],
        ["Xrotation", "Zrotation"], ["Yrotation", "Xrotation", "Zrotation"], ["Zrotation", "Yrotation", "Zrotation"],
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    offsets, rows = rng.normal(size=(6, 3)), rng.normal(scale=60, size=(4, 15))
    got = motion(write(parents, offsets, channels, [[]] * 6, rows), positions="replace")
    expected = np.array([world(parents, offsets, channels, row, added=False) for row in rows])
    assert np.abs(Kinematics(got).positions - expected).max() < 1e-12


def test_ends_none_and_several_sorted_by_joint():
    text = write(
        [-1, 0, 0], np.eye(3), [["Xrotation"]] * 3, [[[1, 0, 0], [2, 0, 0]], [], [[3, 0, 0]]], np.zeros((1, 3))
    )
    assert one(text).skeleton.end_parents.tolist() == [0, 0, 2]
    assert one(text).skeleton.end_offsets[:, 0].tolist() == [1, 2, 3]


def test_offset_with_six_numbers_states_the_rest_pose():
    text = simple().replace("OFFSET 0 0 0", "OFFSET 0 0 0 1 2 3").replace("OFFSET 0 10 0", "OFFSET 0 10 0 4 5 6")
    rest = rotation.from_euler(np.radians([[3, 1, 2], [6, 4, 5]]), "zxy")
    assert np.allclose(one(text).skeleton.rest, rest)
    assert "rotations of the rest pose" in notes(text)


class TestRowsThatDoNotFitTheHeader:
    ROW = "0 1 0 10 20 30 5 6 7\n"

    def test_more_rows_than_stated(self):
        assert len(motion(simple(self.ROW * 4, frames=3))) == 4
        assert "the header states 3 frames, 4 whole rows follow and were read" in notes(simple(self.ROW * 4, frames=3))

    def test_fewer_rows_than_stated(self):
        assert len(motion(simple(self.ROW * 2, frames=3))) == 2
        assert "states 3 frames, 2 whole rows" in notes(simple(self.ROW * 2, frames=3))

    def test_an_incomplete_last_row(self):
        text = simple(self.ROW * 2 + "0 1 0 10", frames=3)
        assert len(motion(text)) == 2
        assert "the last row has 4 of 9 numbers and was dropped" in notes(text)
        assert len(motion(text + " -")) == 2

    def test_a_possibly_truncated_last_number(self):
        text = simple(self.ROW * 3, frames=4)[:-1]
        assert len(motion(text)) == 2
        assert "ends inside its last row" in notes(text)

    def test_no_line_end_after_the_last_row(self):
        assert len(motion(simple(self.ROW * 3)[:-1])) == 3
        assert notes(simple(self.ROW * 3)[:-1]) == ""

    def test_no_number_of_frames(self):
        assert len(motion(simple(self.ROW * 3).replace("Frames: 3\n", ""))) == 3

    def test_rows_over_several_lines(self):
        text = simple(self.ROW.replace(" 10", "\n10") * 3, frames=3)
        assert len(motion(text)) == 3
        assert "are not on one line each" in notes(text)
        assert np.array_equal(motion(text).rotations, motion(simple(self.ROW * 3)).rotations)

    def test_all_rows_on_one_line(self):
        text = simple((self.ROW * 3).replace("\n", " "), frames=3)
        assert np.array_equal(motion(text).rotations, motion(simple(self.ROW * 3)).rotations)

    def test_rows_of_another_length(self):
        refuse(simple(self.ROW + "1 2 3\n" + self.ROW), "line 20: expected 9 numbers in each row, got 3")
        refuse(simple(self.ROW[:-1] + " 1\n" + self.ROW[:-3] + "\n"), "line 19: expected 9 numbers in each row, got 10")
        refuse(simple((self.ROW[:-1] + " 1\n") * 2), "line 19: expected 9 numbers in each row, got 10")
        refuse(simple(self.ROW + self.ROW[:-1] + " 1\n"), "line 20: expected 9 numbers in each row, got 10")

    def test_no_rows(self):
        refuse(simple("", frames=2), "line 19: expected 2 rows of 9 numbers, got none")
        refuse(simple("1 2 3", frames=1), "expected rows of 9 numbers, got 3 and then the end")
        assert one(simple("", frames=0)).takes == ()
        assert "no frames" in notes(simple("", frames=0))

    def test_no_channels_at_all(self):
        text = write([-1, 0], np.zeros((2, 3)), [[], []], [[], []], np.zeros((0, 0)))
        assert one(text).takes == ()
        refuse(text + "1 2\n", "because no joint has channels")


@pytest.mark.parametrize("word", ["nan", "-inf", "1e999", "1_0", "abc", "0x10", "--1", "1.2.3", "-", "1.#QNAN", "1,5"])
def test_invalid_numbers(word):
    text = simple("0 1 0 10 20 30 5 6 7\n0 1 0 10 20 30 5 X 7\n0 1 0 10 20 30 5 6 7\n").replace("X 7", f"{word} 7")
    refuse(text, r"line 20: expected a finite number at frame 1, Xrotation of 'Spine', got '")


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("HIERARCHY", "glTF", "line 1: expected HIERARCHY, got 'glTF'"),
        ("ROOT Hips\n{", "ROOT Hips\n", "line 4: expected '{' after 'ROOT', got 'OFFSET'"),
        ("OFFSET 0 10 0", "OFFSET 0 10", "line 9: expected 3 numbers after OFFSET, got 2"),
        ("OFFSET 0 10 0", "OFFSET 0 nan 0", "line 8: expected a finite length"),
        ("OFFSET 0 10 0", "OFFSET 0 1e300 0", "line 8: expected a finite length"),
        ("OFFSET 0 10 0", "OFFSET 1 2 3 4", "line 8: expected 3 numbers after OFFSET, got 4"),
        ("OFFSET 0 10 0", "OFFSET 1 2 3\nOFFSET 1 2 3", "line 9: expected one OFFSET"),
        ("CHANNELS 3", "CHANNELS 4", "line 10: expected a channel such as"),
        ("CHANNELS 3", "CHANNELS 2", "line 9: expected OFFSET, CHANNELS, JOINT"),
        ("CHANNELS 3", "CHANNELS -1", "line 9: expected a number of channels from 0 to"),
        ("CHANNELS 3", "CHANNELS 99999999999", "line 9: expected a number of channels"),
        ("CHANNELS 3 Zrotation", "CHANNELS 3 Wrotation", "line 9: expected a channel such as"),
        ("MOTION", "}", "line 16: expected MOTION or another ROOT"),
        ("Frames: 1", "Frames: many", "line 17: expected a number of frames, got 'many'"),
        ("Frames: 1", "Frames: -1", "line 17: expected a number of frames"),
        ("End Site\n\t\t{", "End Site\n\t\t", "expected '{' after 'End Site'"),
    ],
)
def test_damage_is_reported_with_its_line(old, new, match):
    assert old in simple()
    refuse(simple().replace(old, new, 1), match)


@pytest.mark.parametrize("text", [b"", b"\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff\xfeH", b"\x00" * 100, b"ROOT"])
def test_nothing_to_read(text):
    refuse(text, "expected")


def test_truncated_files_are_refused_or_read_in_part():
    """Truncated in the hierarchy, nothing can be read; truncated in the rows, the complete ones are read."""
    text = simple("0 1 0 10 20 30 5 6 7\n" * 3)
    rows = text.index("0 1 0 10")
    for end in range(len(text)):
        if end <= rows + 20:
            refuse(text[:end], "clip.bvh: line [0-9]+: expected")
        else:
            assert len(motion(text[:end])) == text[rows:end].count("\n") + (text[:end] + "\n" == text)


def test_deep_nesting_and_many_joints_are_refused():
    refuse("HIERARCHY ROOT r { " + "JOINT a {" * 100_000, "expected at most")
    refuse("HIERARCHY ROOT r { " + "JOINT a {}" * 100_000, "expected at most")
    refuse("HIERARCHY " + "ROOT r {} " * 100_000, "expected at most 256 ROOTs")


def test_joints_without_channels_cannot_fill_the_memory():
    text = (
        "HIERARCHY ROOT r { CHANNELS 1 Xrotation " + "JOINT a {}" * 9_000 + "} MOTION\nFrames: 90000\nFrame Time: 1\n"
    )
    refuse(text + "1\n" * 90_000, "expected joints that mostly have channels")


def test_a_stated_number_of_frames_allocates_nothing():
    tracemalloc.start()
    try:
        one(simple(frames=999_999_999_999))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("digits", [1, 6, 17])
def test_memory_stays_below_ten_times_the_file(digits, tmp_path):
    rows = np.round(np.random.default_rng(0).uniform(1, 9, size=(20_000, 9)), digits - 1)
    body = "\n".join(" ".join(f"{value:.{digits - 1}f}" for value in row) for row in rows.tolist()) + "\n"
    path = tmp_path / "long.bvh"
    path.write_text(simple(body))
    bvh.load(path)
    tracemalloc.start()
    try:
        assert len(bvh.load(path)[0].read_take(0)) == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * path.stat().st_size + 2_000_000


@pytest.mark.skipif(not REAL, reason="the folder shared/data with real clips is not beside the repository")
@pytest.mark.named("MANIFEST.csv")
def test_real_files_have_the_frames_joints_and_rates_that_are_stated(shared):
    with open(shared / "MANIFEST.csv", newline="") as file:
        stated = {row["path"]: row for row in csv.DictReader(file) if row["format"] == "BVH"}
    assert {str(path.relative_to(shared)) for path in REAL} == set(stated)
    for name, row in stated.items():
        if not row["joints"]:
            continue  # its facts are not stated
        figure = bvh.load(shared / name)[0]
        assert len(figure.skeleton) == int(row["joints"]), name
        assert figure.takes[0].fps == pytest.approx(float(row["fps"]), rel=1e-4), name
        # one file states one frame less than it has
        extra = f"declared Frames {row['frames']} but {figure.takes[0].frames} rows" in row["note"]
        assert figure.takes[0].frames == int(row["frames"]) or extra, name


def test_a_single_character_and_its_take_are_named_like_the_file(tmp_path):
    (tmp_path / "jump 1.bvh").write_text(simple())
    (figure,) = bvh.load(tmp_path / "jump 1.bvh")
    assert (figure.name, figure.takes[0].name) == ("jump 1", "jump 1")
