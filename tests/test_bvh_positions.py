"""Position channels: replacing OFFSET or added to it."""

from __future__ import annotations

import numpy as np
import pytest

from bvh_text import motion, notes, one, write
from footplant.errors import FormatError
from footplant.io import bvh


class TestPositionChannels:
    PARENTS = (-1, 0, 1)
    OFFSETS = np.array([[0.0, 0, 0], [0, 10, 0], [0, 20, 0]])
    SIX = ("Xposition", "Yposition", "Zposition", "Zrotation", "Xrotation", "Yrotation")

    def text(self, inner, root=(1.0, 90.0, 2.0), offsets=None) -> str:
        inner = np.array(inner, float)
        rows = np.zeros((len(inner), 18))
        rows[:, :3] = root
        rows[:, 6:9], rows[:, 12:15] = inner[:, 0], inner[:, 1]
        rows[:, 9] = 30.0
        offsets = self.OFFSETS if offsets is None else np.array(offsets, float)
        return write(self.PARENTS, offsets, [self.SIX] * 3, [[]] * 3, rows)

    def test_values_near_offset_replace_it(self):
        text = self.text([[[0, 10, 0], [0, 20, 0]]] * 2)
        assert motion(text).offsets is None
        assert one(text).layout.added == (False, False, False)
        assert "position channels on 2 inner joints replace OFFSET" in notes(text)

    def test_values_near_zero_are_added(self):
        text = self.text([[[0, 0, 0], [0, 0.1, 0]], [[0, 0, 0], [0, 0, 0]]])
        got = motion(text)
        assert one(text).layout.added == (False, True, True)
        assert got.offsets[:, 1:, 1].tolist() == [[10, 20.1], [10, 20]]
        assert "are added to OFFSET" in notes(text)

    def test_one_decision_for_all_joints(self):
        """The majority of the joints that stay in place decides, and the note says how many look otherwise."""
        parents = (-1, 0, 1, 2)
        offsets = np.array([[0.0, 0, 0], [0, 10, 0], [0, 20, 0], [0, 30, 0]])
        rows = np.zeros((2, 24))
        for values, added in (((0, 20, 30), False), ((10, 0, 0), True)):
            rows[:, [7, 13, 19]] = values
            text = write(parents, offsets, [self.SIX] * 4, [[]] * 4, rows)
            assert one(text).layout.added == (False, added, added, added)
            assert "1 of 3 joints look otherwise, --positions forces it" in notes(text)

    def test_joints_that_travel_follow_those_that_stay(self):
        assert one(self.text([[[0, 0, 0], [15, 10, 0]]])).layout.added == (False, True, True)
        assert one(self.text([[[0, 10, 0], [15, 10, 0]]])).layout.added == (False, False, False)

    def test_hips_at_the_origin_of_an_offset_far_away_replace_it(self):
        """Hips under a static root, whose OFFSET is a place metres away: as in the Bandai-Namco data set."""
        offsets = [[0, 0, 0], [0.8, 94, -452], [16, 0, 0]]
        for place in ([-1.8, 93.2, 0.03], [-0.3, 85.4, -300], [-214, 90.4, -52], [-2, 30, 0.03]):
            text = self.text([[place, [16, 0, 0]]] * 3, offsets=offsets)
            assert one(text).layout.added == (False, False, False)
            assert motion(text).offsets[:, 1].tolist() == [place] * 3

    def test_travelling_hips_alone_are_decided_by_their_height(self):
        offsets = np.array([[0, 0, 0], [0.8, 94, -452]])
        for place, added in (([-1.8, 93.2, 0.03], False), ([-200, 92, 400], False), ([300, 2, 400], True)):
            rows = np.zeros((2, 12))
            rows[:, 6:9] = place
            assert one(write((-1, 0), offsets, [self.SIX] * 2, [[]] * 2, rows)).layout.added == (False, added)

    def test_rounding_errors_have_no_vote(self):
        parents = (-1, 0, 1, 2, 3)
        offsets = np.array([[0.0, 0, 0], [0, 10, 0], [0, 20, 0], [1e-6, 0, 0], [0, 1e-6, 0]])
        rows = np.zeros((2, 30))
        rows[:, 7] = 10.0
        rows[:, 13] = [18.0, 5.0]
        assert not any(one(write(parents, offsets, [self.SIX] * 5, [[]] * 5, rows)).layout.added)

    def test_files_of_a_folder_can_decide_together(self, tmp_path):
        (tmp_path / "a.bvh").write_text(self.text([[[0, 10, 0], [0, 20, 0]]] * 2))
        (tmp_path / "b.bvh").write_text(self.text([[[0, 0, 0], [0, 0, 0]]] * 2))
        (tmp_path / "c.bvh").write_text(write([-1], np.zeros((1, 3)), [self.SIX], [[]], np.ones((2, 6))))
        a, b, c = (bvh.position_votes(tmp_path / f"{name}.bvh") for name in "abc")
        assert (a.decision, b.decision, c.decision) == ("replace", "add", None)
        assert (a + b).decision is None
        assert (a + b + a + c).decision == "replace"

    def test_the_option_decides(self):
        text = self.text([[[0, 10, 0], [0, 20, 0]]])
        assert motion(text, positions="add").offsets[0, 1:, 1].tolist() == [20, 40]
        assert motion(text, positions="replace").offsets is None
        with pytest.raises(FormatError, match="expected positions to be"):
            bvh.load("clip.bvh", positions="sum")  # type: ignore[arg-type]

    def test_a_constant_position_other_than_offset_is_kept(self):
        got = motion(self.text([[[0, 12, 0], [0, 20, 0]]] * 3))
        assert got.skeleton.offsets[1].tolist() == [0, 10, 0]
        assert got.offsets[:, 1].tolist() == [[0, 12, 0]] * 3

    def test_channel_values_with_more_digits_replace_offset(self):
        got = motion(self.text([[[0, 10.0001, 0], [0, 20, 0]]] * 3))
        assert got.offsets is None
        assert got.skeleton.offsets[1].tolist() == [0, 10.0001, 0]

    def test_an_axis_without_a_channel_stays(self):
        text = write([-1, 0], np.array([[1.0, 2, 3], [4, 5, 6]]), [["Yposition"], ["Zposition"]], [[], []],
                     np.array([[7.0, 7.0], [8.0, 8.0]]))  # fmt: skip
        got = motion(text)
        assert got.root.tolist() == [[1, 7, 3], [1, 8, 3]]
        assert got.offsets[:, 1].tolist() == [[4, 5, 7], [4, 5, 8]]

    def test_a_root_alone_replaces_its_offset_unless_its_height_is_near_zero(self):
        def of(place):
            rows = np.zeros((2, 6))
            rows[:, :3] = place
            return write([-1], np.array([[0.0, 95, 0]]), [self.SIX], [[]], rows)

        assert motion(of((300, 90, 50))).root.tolist() == [[300, 90, 50]] * 2
        assert motion(of((300, 1, 50))).root.tolist() == [[300, 96, 50]] * 2
        assert "of the root are added" in notes(of((300, 1, 50)))

    def test_the_root_decides_as_the_other_joints(self):
        offsets = [[0, 95, 0], [0, 10, 0], [0, 20, 0]]
        replaced = self.text([[[0, 10, 0], [0, 20, 0]]], (300, 1, 50), offsets)
        assert motion(replaced).root.tolist() == [[300, 1, 50]]
        assert motion(self.text([[[0, 0, 0], [0, 0, 0]]], (300, 1, 50), offsets)).root.tolist() == [[300, 96, 50]]

    def test_a_root_without_position_channels_is_at_offset(self):
        text = write([-1], np.array([[1.0, 2, 3]]), [["Xrotation"]], [[]], np.zeros((2, 1)))
        assert motion(text).root.tolist() == [[1, 2, 3]] * 2
