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

    def test_each_joint_is_decided_separately(self):
        text = self.text([[[0, 0, 0], [0, 20, 0.1]], [[0, 0, 0], [0, 20, 0]]])
        assert one(text).layout.added == (False, True, False)
        assert motion(text).offsets[:, 1:, 1].tolist() == [[10, 20], [10, 20]]
        assert "on 1 of them (first 'joint 1')" in notes(text)

    def test_an_unclear_joint_follows_the_clear_ones(self):
        assert one(self.text([[[0, 0, 0], [15, 10, 0]]])).layout.added == (False, True, True)
        assert one(self.text([[[0, 10, 0], [15, 10, 0]]])).layout.added == (False, False, False)

    def test_travelling_hips_below_a_static_root_are_decided_by_height(self):
        offsets = [[0, 0, 0], [0, 95, 0], [0, 20, 0]]
        assert one(self.text([[[300, 2, 400], [0, 20, 0]]], offsets=offsets)).layout.added == (False, True, False)
        assert one(self.text([[[300, 92, 400], [0, 20, 0]]], offsets=offsets)).layout.added == (False, False, False)

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

    def test_the_root_replaces_its_offset_unless_its_height_is_near_zero(self):
        still = [[[0, 10, 0], [0, 20, 0]]]
        offsets = [[0, 95, 0], [0, 10, 0], [0, 20, 0]]
        assert motion(self.text(still, (300, 90, 50), offsets)).root.tolist() == [[300, 90, 50]]
        assert motion(self.text(still, (300, 1, 50), offsets)).root.tolist() == [[300, 96, 50]]
        assert "of the root are added" in notes(self.text(still, (300, 1, 50), offsets))

    def test_a_root_without_position_channels_is_at_offset(self):
        text = write([-1], np.array([[1.0, 2, 3]]), [["Xrotation"]], [[]], np.zeros((2, 1)))
        assert motion(text).root.tolist() == [[1, 2, 3]] * 2
