"""Unlabelled markers assigned to segments from a T-pose."""

from __future__ import annotations

import numpy as np
import pytest

from footplant import rotation, samples
from footplant.humanoid.proportions import apply_proportions
from footplant.markers import Markers
from footplant.optical.guess import guess
from footplant.optical.marker_sets import recognise
from markers_made import BODIES, CMU_41, PLUG_IN_GAIT, _put


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("labels", [CMU_41, PLUG_IN_GAIT], ids=["cmu", "gait"])
@pytest.mark.parametrize("turn", [0.0, 2.0])
def test_nearly_all_segments_are_guessed_from_a_t_pose(body: str, labels: list[str], turn: float) -> None:
    mannequin = samples.load_character("mannequin")
    wearer = apply_proportions(mannequin, BODIES[body])
    segments, offsets = _put(wearer, labels, np.random.default_rng(7), 0.015)
    joints, turned = wearer.skeleton.posed(wearer.skeleton.rest)
    places = joints[segments] + rotation.rotate(turned[segments], offsets)
    places = rotation.rotate(rotation.from_axis_angle([0.0, 1.0, 0.0], turn), places) + [3.0, 0.0, -1.0]
    markers = Markers(tuple(f"p{n}" for n in range(len(labels))), places[None])
    right = {item.marker: item.role for item in recognise(labels)[1]}
    found = {item.marker: item.role for item in guess(markers, mannequin, 0)}
    wrong = [labels[marker] for marker in right if found[marker] != right[marker]]
    assert len(wrong) <= 4, wrong
