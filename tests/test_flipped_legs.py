"""Legs and feet of captures that are turned by 180° for some time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import footplant
from conftest import shared_data
from footplant import rotation
from footplant.humanoid.limits import limit_excess
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.transfer import source_motion

CLIP = footplant.load("sample:walk")
ROLES = CLIP.character.require_roles()
FIRST, LAST = 30, 60


def degrees(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.degrees(rotation.angle(one, other))


def with_flipped_foot(side: str, axis: str) -> Motion:
    """The walk with a foot turned by 180°; its frame is the reference pose's."""
    rotations, foot = np.array(CLIP.motion.rotations), ROLES[f"{side}_foot"]
    turn = rotation.from_axis_angle(rotation.AXES[axis], np.pi)
    rotations[FIRST:LAST, foot] = rotation.multiply(rotations[FIRST:LAST, foot], turn)
    return replace(CLIP.motion, rotations=rotations)


def with_flipped_leg(side: str) -> Motion:
    """The walk with a thigh turned by 180° about itself over a knee that is bent as far backwards as by 140°."""
    skeleton, rotations = CLIP.motion.skeleton, np.array(CLIP.motion.rotations)
    hip, knee, foot = (ROLES[f"{side}_{part}"] for part in ("upper_leg", "lower_leg", "foot"))
    thigh, shank = (rotation.exp(np.pi * bone / np.linalg.norm(bone)) for bone in skeleton.offsets[[knee, foot]])
    rotations[:, knee] = rotation.exp(np.radians(np.array([140.0, 0.0, 0.0])))
    own = rotations[FIRST:LAST]
    own[:, hip] = rotation.multiply(own[:, hip], thigh)
    own[:, knee] = rotation.multiply(rotation.multiply(rotation.inverse(thigh), own[:, knee]), shank)
    own[:, foot] = rotation.multiply(rotation.inverse(shank), own[:, foot])
    return replace(CLIP.motion, rotations=rotations)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_flipped_foot_is_turned_back(side, axis):
    made, foot = with_flipped_foot(side, axis).with_unflipped_legs(ROLES), ROLES[f"{side}_foot"]
    off = degrees(made.rotations, CLIP.motion.rotations)
    assert np.delete(off, foot, axis=1).max() < 1e-4
    beside = round(0.05 * made.fps) + 1
    edges = np.r_[FIRST - beside : FIRST + beside, LAST - beside : LAST + beside]
    assert np.delete(off[:, foot], edges).max() < 1e-4
    assert off[:, foot].max() < 30.0
    assert made.with_unflipped_legs(ROLES) is made


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_flipped_leg_is_turned_back_and_no_joint_moves(side):
    flipped = with_flipped_leg(side)
    made, joints = flipped.with_unflipped_legs(ROLES), [ROLES[f"{side}_upper_leg"], ROLES[f"{side}_lower_leg"]]
    before, after = Kinematics(flipped), Kinematics(made)
    np.testing.assert_allclose(after.positions, before.positions, atol=1e-9)
    others = np.delete(np.arange(len(made.skeleton)), joints)
    assert degrees(after.rotations, before.rotations)[:, others].max() < 1e-4
    assert degrees(after.rotations, before.rotations)[FIRST:LAST, joints].min() > 179.0
    knee = np.degrees(rotation.log(made.rotations[:, joints[1]]))
    np.testing.assert_allclose(knee, np.tile([140.0, 0.0, 0.0], (len(made), 1)), atol=1e-6)


@pytest.mark.parametrize("roll", [120.0, -95.0])
def test_a_foot_that_rolls_over_as_its_leg_flips_rolls_over_slowly(roll):
    flipped, foot, toes = with_flipped_leg("left"), ROLES["left_foot"], ROLES["left_toes"]
    rotations, line = np.array(flipped.rotations), flipped.skeleton.offsets[toes]
    turn = rotation.exp(np.radians(roll) * line / np.linalg.norm(line))
    rotations[FIRST:LAST, foot] = rotation.multiply(rotations[FIRST:LAST, foot], turn)
    rolled = replace(flipped, rotations=rotations)
    made = rolled.with_unflipped_legs(ROLES)
    steps = [degrees(each.rotations[1:, foot], each.rotations[:-1, foot]) for each in (made, rolled, CLIP.motion)]
    assert steps[1].max() > abs(roll) - 20.0
    assert steps[0].max() < steps[2].max() + 20.0
    # a roll moves no joint
    places = [Kinematics(each).positions[:, [foot, toes]] for each in (made, rolled)]
    np.testing.assert_allclose(places[0], places[1], atol=1e-9)


def test_legs_that_do_not_flip_stay():
    assert CLIP.motion.with_unflipped_legs(ROLES) is CLIP.motion
    empty = CLIP.motion[:0]
    assert empty.with_unflipped_legs(ROLES) is empty


def test_others_follow_legs_that_do_not_flip_and_the_report_says_so():
    clip = replace(CLIP, motion=with_flipped_foot("left", "x"))
    sally = footplant.load_character("sample:sally")
    made = footplant.retarget(clip, sally)
    assert any("left foot of the capture is flipped by 180°" in note for note in made.report.notes)
    assert limit_excess(sally, made.motion.rotations)[:, sally.require_roles()["left_foot"]].max() < 0.05
    assert source_motion(clip.motion, clip.character, clip.character) is clip.motion
    assert not any("flipped" in note for note in footplant.retarget(CLIP, sally).report.notes)


@pytest.mark.parametrize(("name", "feet"), [("60_01", ("left", "right")), ("74_03", ("right",)), ("88_01", ("left",))])
def test_feet_of_captures_are_within_reach_of_ankles(name, feet):
    clip = footplant.load(shared_data(f"bvh/cmu/{name}.bvh"))
    roles = clip.character.require_roles()
    made = clip.motion.with_unflipped_legs(roles)
    for side in feet:
        foot = roles[f"{side}_foot"]
        before, after = (np.degrees(limit_excess(clip.character, m.rotations)[:, foot]) for m in (clip.motion, made))
        assert before.max() > 80.0
        assert after.max() < 15.0
