"""Interactive spacetime dragging: goals are met, footplants hold, and nothing outside the window changes."""

from __future__ import annotations

import numpy as np
import pytest

import footplant
from footplant.constraints import Footplant
from footplant.edits.spacetime_drag import begin_spacetime
from footplant.errors import ConstraintError
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.problem import Status, errors

WINDOW, FRAME = range(30, 90), 60


@pytest.fixture(scope="module")
def clip():
    return footplant.load("sample:walk", fps=30)


@pytest.fixture(scope="module")
def place(clip):
    return Kinematics(clip.motion).point(clip.character.contacts["left_palm"])[FRAME]


def test_a_hand_follows_the_mouse_and_the_feet_stay(clip, place):
    palm = clip.character.contacts["left_palm"]
    edit = begin_spacetime(clip, WINDOW)
    for share in np.linspace(0.2, 1.0, 5):
        edit = edit.drag(FRAME, "left_palm", place + share * np.array([0.15, 0.2, 0.1]))
        assert np.linalg.norm(Kinematics(edit.motion).point(palm)[FRAME] - edit.goals[FRAME, palm].target) < 0.001
    assert edit.solution.status is Status.SOLVED
    kinematics = Kinematics(edit.motion)
    assert len(edit.constraints) > 4
    assert max(float(errors(plant, kinematics)[1].max()) for plant in edit.constraints) < 0.001
    outside = np.r_[0 : WINDOW.start, WINDOW.stop : len(clip.motion)]
    assert np.array_equal(edit.motion.rotations[outside], clip.motion.rotations[outside])
    assert np.array_equal(edit.motion.root[outside], clip.motion.root[outside])
    # where the drag has come from does not matter: changes are measured from the original
    at_once = begin_spacetime(clip, WINDOW).drag(FRAME, "left_palm", place + [0.15, 0.2, 0.1])
    apart = Kinematics(at_once.motion).positions - kinematics.positions
    assert np.linalg.norm(apart, axis=-1).max() < 0.01


def test_several_goals_hold_at_once_and_can_be_released(clip, place):
    edit = begin_spacetime(clip, WINDOW).drag(FRAME, "left_palm", place + [0.0, 0.1, 0.0])
    both = edit.drag(
        FRAME + 6, "head", Kinematics(edit.motion).positions[FRAME + 6, clip.character.roles["head"]] - 0.05
    )
    assert both.solution.status is Status.SOLVED
    assert len(both.goals) == 2
    back = both.release(FRAME + 6, "head").release(FRAME, "left_palm")
    assert back.motion is clip.motion


def test_a_free_footplant_moves_with_the_hips(clip):
    ball = clip.character.contacts["left_ball"]
    own = [plant for plant in begin_spacetime(clip, WINDOW).constraints if plant.point == ball]
    plant = next(plant for plant in own if WINDOW.start + 10 < plant.frames.start and plant.frames.stop < WINDOW.stop)
    free = Footplant(point=ball, frames=plant.frames, ground=Plane(), name="free")
    middle = (plant.frames.start + plant.frames.stop) // 2
    edit = begin_spacetime(clip, WINDOW, [free], keep_plants=False)
    edit = edit.drag(middle, "left_ball", np.asarray(plant.place) + [0.05, 0.0, 0.0])
    places = Kinematics(edit.motion).point(ball)[plant.frames.start : plant.frames.stop]
    assert np.linalg.norm(places - places.mean(axis=0), axis=1).max() < 0.001
    assert places[:, 0].mean() - plant.place[0] == pytest.approx(0.05, abs=0.002)


def test_wrong_drags_are_refused(clip):
    edit = begin_spacetime(clip, WINDOW)
    with pytest.raises(ConstraintError, match="a frame of the window"):
        edit.drag(10, "left_palm", (0, 1, 0))
    with pytest.raises(ConstraintError, match="did you mean 'left_palm'"):
        edit.drag(FRAME, "left_plam", (0, 1, 0))
    with pytest.raises(ConstraintError, match="3 finite numbers"):
        edit.drag(FRAME, "left_palm", (0, np.nan, 0))
    with pytest.raises(ConstraintError, match="window of frames"):
        begin_spacetime(clip, range(50, 900))
