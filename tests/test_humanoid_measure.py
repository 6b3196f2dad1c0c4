"""Height, units and up axis of humanoids, in any pose and any axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from footplant import humanoid, rotation
from footplant.io.conversion import UNITS, UP_TURNS
from footplant.kinematics import Kinematics
from footplant.motion import Motion, rest_motion
from footplant.samples import mannequin

SKELETON = mannequin.skeleton()
ROLES = mannequin.roles(SKELETON)


def test_height_is_the_mannequins():
    assert humanoid.standing_height(SKELETON, ROLES) == pytest.approx(1.75, abs=0.02)


def test_height_does_not_depend_on_rest_pose_or_root():
    rng = np.random.default_rng(1)
    offsets = np.array(SKELETON.offsets)
    offsets[0] = [5.0, -300.0, 7.0]
    bent = replace(SKELETON, offsets=offsets, rest=rotation.exp(0.6 * rng.normal(size=(len(SKELETON), 3))))
    # the ankle's height above the sole is read from the foot at rest, which may change it by a few centimetres
    assert humanoid.standing_height(bent, ROLES) == pytest.approx(1.75, abs=0.06)
    assert humanoid.standing_height(SKELETON.scaled(100.0), ROLES) == pytest.approx(175.0, abs=2.0)


@pytest.mark.parametrize("unit", ["m", "cm", "mm", "dm", "inch", "cmu"])
def test_units(unit):
    figure = SKELETON.scaled(1.0 / UNITS[unit])
    name, scale, note = humanoid.find_units(figure, ROLES, UNITS)
    assert (name, scale, note) == (unit, UNITS[unit], None)


def test_child_in_centimetres_and_unknown_units():
    assert humanoid.find_units(SKELETON.scaled(100 * 1.0 / 1.75), ROLES, UNITS)[0] == "cm"
    name, scale, note = humanoid.find_units(SKELETON.scaled(45.0 / 1.75), ROLES, UNITS)
    assert name == "unknown"
    assert scale * 45.0 == pytest.approx(1.7, abs=0.02)
    assert note is not None
    assert "1.7 m" in note


def test_units_of_a_non_humanoid():
    name, scale, note = humanoid.find_units(SKELETON.scaled(100.0), None, UNITS)
    assert (name, scale) == ("cm", 0.01)
    assert note is not None
    assert "guess" in note


def _walk(turn) -> Motion:
    """The rest pose moving forward, rotated as a whole."""
    motion = rest_motion(SKELETON, 20)
    moved = Motion(SKELETON, motion.root + np.linspace(0, 2, 20)[:, None] * [0, 0, 1.0], motion.rotations, 30.0)
    return moved.transformed(turn)


@pytest.mark.parametrize("up", list(UP_TURNS))
def test_up_of_a_standing_character(up):
    turn = rotation.inverse(UP_TURNS[up])
    motion = _walk(turn)
    assert humanoid.find_up(SKELETON.turned(turn), ROLES, Kinematics(motion).positions) == up
    assert humanoid.find_up(SKELETON.turned(turn), ROLES, Kinematics(motion[0]).positions) == up
    if up == "z":
        # an upright walk along z outweighs a rest pose along y
        assert humanoid.find_up(SKELETON, ROLES, Kinematics(motion).positions) == up


@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize("lean", [[np.pi / 2, 0, 0], [0, 0, np.pi / 2]])
def test_up_of_a_lying_character(up, lean):
    """Lying for the whole clip: the rest pose and the floor decide."""
    turn = rotation.inverse(UP_TURNS[up])
    still = rest_motion(SKELETON, 10).transformed(rotation.exp(np.array(lean))).transformed(turn)
    assert humanoid.find_up(SKELETON.turned(turn), ROLES, Kinematics(still).positions) == up


@pytest.mark.parametrize("up", ["z", "-y", "x"])
def test_frames_that_stand_outweigh_the_rest_pose(up):
    """An idle of small movements, whose feet stay in place: the floor says nothing, the rest pose says y."""
    turn = rotation.inverse(UP_TURNS[up])
    idle = rest_motion(SKELETON, 40)
    rotations = np.array(idle.rotations)
    arm = ROLES["left_upper_arm"]
    sway = 0.3 * np.sin(np.linspace(0, 6, 40))
    rotations[:, arm] = rotation.multiply(rotations[:, arm], rotation.from_axis_angle([0, 0, 1.0], sway))
    idle = replace(idle, rotations=rotations)
    assert humanoid.find_up(SKELETON, ROLES, Kinematics(idle.transformed(turn)).positions) == up
    # somebody who lies as still on the floor, along no axis, does not
    lying = idle.transformed(rotation.exp(np.array([np.pi / 2, 0, 0])))
    lying = lying.transformed(rotation.exp(np.array([0, 0.6, 0])))
    assert humanoid.find_up(SKELETON, ROLES, Kinematics(lying).positions) == "y"


def test_up_without_roles_is_y():
    assert humanoid.find_up(SKELETON, None, Kinematics(rest_motion(SKELETON, 3)).positions) == "y"
