"""Fidelity: faults known to the millimetre and degree must be seen as such."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from block_figure import BONE_HEIGHT, NAMES, Pose
from footplant import rotation, samples
from footplant.quality.fidelity import GOALS, Fidelity, fidelity, fidelity_rows, in_one_line
from footplant.quality.measure import measure
from footplant.quality.pair import motion_pair
from footplant.quality.posture import added_limit_breaks
from footplant.quality.still_joints import still_intervals

MM = 1000.0 * 1.7 / BONE_HEIGHT
"""Millimetres on a body of 1.7 m of a metre of the figure."""


def compare(source: Pose, result: Pose, **options) -> Fidelity:
    found = fidelity(source.both, result.both, **{"depth": "joints", **options})
    assert found is not None
    return found


def test_a_copy_has_no_faults():
    clip = samples.load("walk")
    found = fidelity((clip.motion, clip.character), (clip.motion, clip.character), depth="joints")
    assert found is not None
    assert len(found.stances) >= 4
    assert found.stance_worst_mm == pytest.approx(0.0, abs=1e-6)
    assert (found.accel_peak_ratio, found.accel_joint_ratio, found.jerk_ratio) == pytest.approx((1.0, 1.0, 1.0))
    assert (found.forearm_median_deg, found.shin_p95_deg) == pytest.approx((0.0, 0.0), abs=1e-5)
    assert found.limit_breaks == found.knee_flip_frames == found.elbow_flip_frames == 0
    assert found.head_p95_deg == pytest.approx(0.0, abs=1e-4)
    assert found.not_right() == [] or all("turn" in clause for clause in found.not_right())


def test_every_figure_has_a_goal_and_a_field():
    assert set(GOALS) <= {entry.name for entry in fields(Fidelity)}


def test_a_foot_that_slides_by_7_mm():
    slide = np.linspace(-0.007, 0.007, 120) / MM * 1000.0
    found = compare(Pose(), Pose().shift("hips", np.stack([slide, 0 * slide, 0 * slide], axis=1)))
    assert found.stance_worst_mm == pytest.approx(7.0, abs=0.01)
    assert found.stance_over_5mm_pct == 100.0
    assert found.stance_over_20mm_pct == 0.0
    assert any("stances slide more than 5 mm (worst 7 mm" in clause for clause in found.not_right())


def test_a_stance_may_creep_as_the_source_does():
    creep = np.linspace(-0.004, 0.004, 120) / MM * 1000.0
    path = np.stack([creep, 0 * creep, 0 * creep], axis=1)
    assert compare(Pose().shift("hips", path), Pose().shift("hips", path)).stance_worst_mm == pytest.approx(0, abs=1e-9)
    assert compare(Pose().shift("hips", path), Pose()).stance_worst_mm == pytest.approx(0, abs=1e-9)


def test_a_foot_that_rolls_about_its_sole_does_not_slide_but_turns():
    """The ankle is 0.1 m above the sole; half of the time the foot is rolled by 4° about the sole below it."""
    turned = slice(60, 120)
    roll = np.radians(4.0)
    result = Pose().turn("left_foot", 4.0, axis=2, rows=turned)
    # keep the sole where it is: the ankle moves round it
    result.shift("hips", (-0.08 * np.sin(roll), 0.08 * (np.cos(roll) - 1.0), 0.0), rows=turned)
    found = compare(Pose(), result)
    by_joint = {stance.joint: stance for stance in found.stances}
    assert by_joint["left_foot"].turn == pytest.approx(2.0, abs=0.01)
    assert by_joint["left_foot"].drift < 0.3
    assert by_joint["right_foot"].turn == pytest.approx(0.0, abs=1e-5)
    assert by_joint["left_toes"].turn is None


def test_a_foot_held_in_the_air_is_no_stance():
    raised = slice(60, 120)
    source = Pose().turn("left_upper_leg", -60.0, rows=raised).turn("left_lower_leg", 60.0, rows=raised)
    stances = {(stance.joint, stance.start < 60) for stance in compare(source, source).stances}
    assert ("left_foot", True) in stances
    assert ("right_foot", True) in stances
    assert not {("left_foot", False), ("left_toes", False)} & stances


def test_knees_bent_by_10_degrees():
    result = Pose().turn("left_lower_leg", 10.0).turn("right_lower_leg", 10.0)
    found = compare(Pose(), result)
    assert found.knee_straight_extra_deg == pytest.approx(10.0, abs=1e-6)
    assert found.knee_start_extra_deg == pytest.approx(10.0, abs=1e-6)
    assert found.shin_median_deg == pytest.approx(10.0, abs=1e-6)
    assert found.thigh_median_deg == pytest.approx(0.0, abs=1e-6)
    assert found.elbow_straight_extra_deg == pytest.approx(0.0, abs=1e-6)


def test_only_the_first_frames_are_bent():
    result = Pose().turn("right_lower_leg", 16.0, rows=slice(0, 4))
    found = compare(Pose(), result)
    assert found.knee_start_extra_deg == pytest.approx(8.0, abs=1e-6)
    assert found.knee_straight_extra_deg == pytest.approx(0.0, abs=1e-6)


def test_a_knee_that_bends_the_other_way():
    source, result = Pose().turn("left_lower_leg", 40.0), Pose().turn("left_lower_leg", 40.0)
    result.turn("left_lower_leg", -40.0, rows=slice(50, 53))
    found = compare(source, result)
    assert found.knee_flip_frames == 3
    assert found.places["knee_flip_frames"] == "first at frame 50"
    # a knee that the capture bends backwards is no model
    assert compare(result, source).knee_flip_frames == 0


def test_forearms_that_are_5_degrees_off():
    swing = 40.0 + 20.0 * np.sin(np.arange(120) / 8.0)
    source, result = Pose(), Pose()
    for side in ("left", "right"):
        source.turn(f"{side}_upper_arm", -swing).turn(f"{side}_lower_arm", -30.0)
        result.turn(f"{side}_upper_arm", -swing).turn(f"{side}_lower_arm", -35.0)
    found = compare(source, result)
    assert (found.forearm_median_deg, found.forearm_free_median_deg) == pytest.approx((5.0, 5.0), abs=1e-6)
    assert found.upper_arm_free_median_deg == pytest.approx(0.0, abs=1e-6)
    assert any(clause.startswith("forearms 5.0° off") for clause in found.not_right())


def test_hands_that_meet_are_30_mm_off():
    source, result = Pose(), Pose()
    for side, inwards in (("left", -0.2), ("right", 0.2)):
        source.shift(f"{side}_lower_arm", (inwards, 0.0, 0.2))
        result.shift(f"{side}_lower_arm", (inwards, 0.0, 0.2))
    result.shift("left_lower_arm", (0.03 / MM * 1000.0, 0.0, 0.0))
    found = compare(source, result)
    assert found.hands_frames == 120
    assert (found.hands_mm, found.hands_palms_mm, found.hands_wrists_mm) == pytest.approx((30.0,) * 3, abs=1e-6)
    assert compare(Pose(), Pose()).hands_mm is None


def test_acceleration_and_jerk():
    wave = np.sin(np.arange(120) / 5.0)[:, None] * [0.0, 0.0, 0.2]
    found = compare(Pose().shift("left_hand", wave), Pose().shift("left_hand", 1.5 * wave))
    assert found.accel_peak_ratio == pytest.approx(1.5, abs=0.01)
    assert found.accel_joint_ratio == pytest.approx(1.5, abs=0.01)
    assert found.jerk_ratio == pytest.approx(1.5, abs=0.05)


def test_head_and_constant_offset():
    yaw = 30.0 * np.sin(np.arange(120) / 10.0)
    source = Pose().turn("head", yaw, axis=1)
    assert compare(source, Pose().turn("head", yaw + 20.0, axis=1)).head_p95_deg == pytest.approx(0.0, abs=1e-4)
    assert compare(source, Pose()).head_p95_deg == pytest.approx(30.0, abs=2.0)


def test_the_lead_in_is_left_out():
    source, result = Pose(), Pose()
    for side, sign in (("left", 1.0), ("right", -1.0)):
        source.turn(f"{side}_upper_arm", 90.0 * sign, axis=2, rows=slice(0, 1))
        result.turn(f"{side}_lower_leg", 50.0, rows=slice(0, 1))
    found = compare(source, result)
    assert found.lead_in == 1
    assert found.knee_start_extra_deg == pytest.approx(0.0, abs=1e-6)
    # a result without the lead-in is compared from its first frame
    shorter = fidelity(source.both, (result.motion[1:], result.character), depth="joints")
    assert shorter is not None
    assert shorter.frames == found.frames == 119


def test_another_size_heading_and_rate():
    source = Pose().turn("left_upper_arm", -40.0 + 20.0 * np.sin(np.arange(120) / 8.0))
    motion, character = source.both
    quarter = np.array([np.cos(np.pi / 4.0), 0.0, np.sin(np.pi / 4.0), 0.0])
    larger = character.skeleton.scaled(2.0)
    local = np.array(motion.rotations)
    local[:, 0] = rotation.multiply(quarter, local[:, 0])
    turned = type(motion)(larger, rotation.rotate(quarter, 2.0 * motion.root), local, motion.fps)
    figure = replace(character, skeleton=larger, skin=None)
    found = fidelity((motion, character), (turned, figure))
    assert found is not None
    assert found.upper_arm_median_deg == pytest.approx(0.0, abs=1e-6)
    assert found.stance_worst_mm == pytest.approx(0.0, abs=1e-9)
    assert found.jerk_ratio == pytest.approx(1.0, abs=1e-6)
    faster = fidelity((motion, character), (turned.resample(120.0), figure))
    assert faster is not None
    assert faster.upper_arm_median_deg == pytest.approx(0.0, abs=0.05)


def test_limits_count_only_what_the_source_does_not_break():
    clip = samples.load("walk")
    character, motion = clip.character, clip.motion
    knee = character.require_roles()["left_lower_leg"]
    local = np.array(motion.rotations)
    bent = rotation.exp(np.array([np.radians(-60.0), 0.0, 0.0]))
    local[10:15, knee] = rotation.multiply(bent, local[10:15, knee])
    broken = type(motion)(motion.skeleton, motion.root, local, motion.fps)
    breaks = added_limit_breaks(broken, character, motion)
    assert breaks is not None
    assert 1 <= breaks.count <= 5
    assert breaks.joint == "left lower leg"
    assert breaks.frame in range(10, 15)
    same = added_limit_breaks(broken, character, broken)
    assert same is not None
    assert (same.count, same.worst, same.joint, same.frame) == (0, 0.0, None, None)
    assert added_limit_breaks(Pose().motion, Pose().character, Pose().motion) is None


def test_still_intervals_split_and_need_time():
    fps, positions = 100.0, np.zeros((100, 2, 3))
    positions[30:, 0, 0] = 1.0
    positions[50:, 0, 0] += np.linspace(0.0, 1.0, 50)
    positions[:, 1, 1] = np.linspace(0.0, 0.02, 100)
    jumping, creeping = still_intervals(positions, [0, 1], fps)
    # the frames beside a jump are fast by their central difference
    assert jumping == [(0, 29), (31, 50)]
    # 20 mm in a second, cut where the box has a diagonal of 12 mm
    assert [end - start for start, end in creeping] == [60, 40]
    assert still_intervals(positions[:2], [0], fps) == [[]]


def test_no_humanoid_no_frames():
    pose = Pose()
    short = pose.motion[:5]
    assert fidelity((short, pose.character), (short, pose.character)) is None
    nobody = replace(pose.character, roles=None)
    assert motion_pair((pose.motion, nobody), pose.both) is None


@pytest.mark.parametrize("missing", ["toes", "hand", "lower_arm", "upper_arm", "lower_leg"])
def test_bodies_without_some_joints(missing):
    """What needs a joint that one of the two lacks is None, and the rest is measured."""
    pose = Pose()
    roles = pose.character.require_roles()
    kept = {role: joints for role, joints in roles.joints.items() if not role.endswith(missing)}
    figure = replace(pose.character, roles=replace(roles, joints=kept))
    for source, result in (((pose.motion, figure), pose.both), (pose.both, (pose.motion, figure))):
        found = fidelity(source, result)
        assert found is not None
        assert found.stance_worst_mm == pytest.approx(0.0, abs=1e-9)
        assert all(np.isfinite(value) for value in found.figures().values())
        assert (found.sole_tilt_deg is None) == (missing == "toes")
        assert (found.forearm_median_deg is None) == (missing in ("hand", "lower_arm"))
        assert (found.shin_median_deg is None) == (found.knee_flip_frames is None) == (missing == "lower_leg")


def test_rows_and_line():
    result = Pose().turn("left_lower_leg", 10.0).turn("right_lower_leg", 10.0)
    found = compare(Pose(), result)
    rows = {row[0]: row for row in fidelity_rows(found)}
    assert rows["knees: extra bend where straight"][1:4] == ("10.00 °", "≤ 5", "beyond")
    line = in_one_line(found.not_right(), most=1)
    assert line.startswith("not right: ")
    assert line.endswith("more")
    assert in_one_line([]) == "nothing is beyond its goal"


def test_quality_carries_it():
    pose = Pose()
    clip = samples.load("walk")
    quality = measure(clip, against=clip, fidelity="joints")
    assert quality.fidelity is not None
    told = json.loads(json.dumps(quality.to_dict(), allow_nan=False))
    assert told["fidelity"]["stance_worst_mm"] == pytest.approx(0.0, abs=1e-6)
    assert told["fidelity"]["not_right"] == quality.fidelity.not_right()
    assert measure(clip, against=clip).fidelity is None
    assert len(NAMES) == len(pose.character.skeleton)
