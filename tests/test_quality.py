"""Quality: every metric against a value known by construction."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import footplant
from footplant import (
    Character,
    Clip,
    Kinematics,
    Motion,
    MotionError,
    Point,
    Roles,
    Skeleton,
    SkeletonError,
    rotation,
    samples,
)
from footplant.contacts.detection import FEET, Contacts, Plant, find_contacts
from footplant.geometry import Plane
from footplant.quality import published
from footplant.quality.measure import measure
from footplant.quality.smoothness import smoothness

CONTACTS = {
    "left_heel": (1, (0.0, -0.1, -0.05)), "left_ball": (1, (0.0, -0.1, 0.14)), "left_toe": (1, (0.0, -0.1, 0.2)),
    "right_heel": (2, (0.0, -0.1, -0.05)), "right_ball": (2, (0.0, -0.1, 0.14)), "right_toe": (2, (0.0, -0.1, 0.2)),
}  # fmt: skip
FPS = 100.0


def stilts() -> Character:
    """Return a pelvis on two stiff legs with feet: the soles move with the root."""
    skeleton = Skeleton(
        ("hips", "left_foot", "right_foot", "head"),
        np.array([-1, 0, 0, 0]),
        np.array([[0, 1.0, 0], [0.1, -0.9, 0], [-0.1, -0.9, 0], [0, 0.7, 0]], float),
    )
    points = {name: Point(joint, offset) for name, (joint, offset) in CONTACTS.items()}
    roles = Roles({"hips": (0,), "left_foot": (1,), "right_foot": (2,), "head": (3,)}, {}, {})
    return Character(skeleton, "stilts", roles, points, height=1.8)


def standing(character: Character, frames: int = 200, path=None, fps: float = FPS) -> Motion:
    """Return the character upright, its root at (0, 1, 0) plus a path (F, 3)."""
    root = np.tile([0.0, 1.0, 0.0], (frames, 1)) + (0.0 if path is None else path)
    return Motion(character.skeleton, root, np.tile([1.0, 0, 0, 0], (frames, 4, 1)), fps)


def whole_clip(character: Character, frames: int, fps: float = FPS) -> Contacts:
    """Return contacts of every sole point from the first frame to the last."""
    plants = tuple(Plant(name, 0, frames, np.zeros(3)) for name in FEET)
    return Contacts(plants, FEET, frames, fps, Plane())


def test_a_standing_character_has_no_errors():
    figure = stilts()
    quality = measure(standing(figure), figure)
    assert len(quality.plants) == 4
    assert quality.worst_plant.drift == pytest.approx(0.0, abs=1e-9)
    assert (quality.share_under_1mm, quality.share_under_2mm, quality.share_under_5mm) == (1.0, 1.0, 1.0)
    assert quality.skate_speed == quality.skate_speed_max == 0.0
    assert quality.penetration_worst == pytest.approx(0.0, abs=1e-9)
    assert quality.published.foot_skate_ratio == quality.published.foot_skate_ratio_gmd == 0.0
    assert quality.published.skating_frames == 0.0
    assert quality.published.penetration_duration == 0.0
    assert quality.smoothness.jerk == pytest.approx(0.0, abs=1e-6)
    assert quality.smoothness.joint_jerk_rms is None  # no joint rotates
    assert quality.jerk_ratio is quality.deviation is quality.timing_error is quality.lost_plants is None


def test_drift_and_height_band_in_millimetres():
    figure = stilts()
    path = np.zeros((101, 3))
    path[:, 0] = np.linspace(-0.003, 0.003, 101)
    path[:, 1] = np.linspace(0.0, 0.004, 101)
    quality = measure(standing(figure, 101, path), figure, whole_clip(figure, 101))
    for plant in quality.plants:
        assert plant.drift == pytest.approx(3.0)
        assert plant.height_band == pytest.approx(4.0)
        assert plant.skate_speed == pytest.approx(0.006)
    assert (quality.share_under_1mm, quality.share_under_2mm, quality.share_under_5mm) == (0.0, 0.0, 1.0)
    assert quality.mean_drift == pytest.approx(3.0)
    assert quality.skate_speed_max == pytest.approx(0.006)


def rolled_heel(figure: Character, slide: float) -> Motion:
    """Return the figure with a left foot that pitches about its ball by 10° in the middle of 2 s, and slides."""
    frames = 200
    pitch = np.radians(10.0) * np.clip((np.arange(frames) - 100) / 80.0, 0.0, 1.0) ** 2
    turns = rotation.exp(pitch[:, None] * [1.0, 0.0, 0.0])
    motion = standing(figure, frames)
    rotations = motion.rotations.copy()
    rotations[:, 1] = turns
    root = motion.root - rotation.rotate(turns, np.array([0.0, -0.1, 0.14])) + [0.0, -0.1, 0.14]
    root[:, 0] += np.linspace(0.0, slide, frames)
    return Motion(figure.skeleton, root, rotations, FPS)


def test_a_heel_that_rises_over_its_planted_ball_does_not_slide():
    figure = stilts()
    motion = rolled_heel(figure, 0.0)
    heel = Kinematics(motion).point(figure.contacts["left_heel"])
    found = {plant.point: plant for plant in measure(motion, figure, ground=0.0).plants if plant.start < 100}
    risen = heel[found["left_heel"].end - 1]
    # the detector counts it as planted while it rises by centimetres and moves by millimetres
    assert risen[1] > 0.01
    assert abs(risen[2] - heel[0, 2]) > 0.001
    assert found["left_heel"].drift < 0.3
    assert found["left_heel"].height_band == pytest.approx(1000.0 * risen[1], rel=1e-6)
    assert found["left_ball"].drift < 1e-6
    # contacts that are given have to hold in all their frames
    end = found["left_heel"].end
    given = Contacts((Plant("left_heel", 0, end, np.zeros(3)),), FEET, 200, FPS, Plane())
    assert measure(motion, figure, given, ground=0.0).plants[0].drift > 0.5 * 1000.0 * abs(risen[2] - heel[0, 2])


def test_a_heel_rolls_for_as_long_as_its_ball_stays():
    """Its plant may end a frame after the ball's, which is still at its place then, but not in the next frame."""
    from footplant.kernels.measures import rolling

    tracks = np.zeros((12, 2, 3))
    tracks[:, 0, 1] = 0.002 * np.arange(12)
    tracks[:, 0, 2] = 0.0005 * np.arange(12)
    tracks[11, 1] = 0.05
    plants, rolls = np.array([[0, 0, 12], [1, 0, 10]]), np.zeros((12, 2), bool)
    rolling(tracks, tracks[..., 1].copy(), plants, np.array([1, 0]), 0.003, rolls, np.empty((2, 3)))
    assert rolls[:, 0].tolist() == [False] * 2 + [True] * 9 + [False]
    assert not rolls[:, 1].any()


def test_a_foot_that_slides_while_its_heel_rises_is_found_to_slide():
    figure = stilts()
    found = [plant for plant in measure(rolled_heel(figure, 0.02), figure, ground=0.0).plants if plant.start < 100]
    assert max(plant.drift for plant in found if plant.point == "left_ball") == pytest.approx(10.0, abs=0.5)
    heel = next(plant for plant in found if plant.point == "left_heel")
    assert heel.drift > 4.0


def test_penetration_of_a_given_ground():
    figure = stilts()
    path = np.zeros((100, 3))
    path[50:, 1] = -0.02
    quality = measure(standing(figure, 100, path), figure, whole_clip(figure, 100), ground=0.0)
    assert quality.penetration_worst == pytest.approx(20.0)
    assert quality.penetration_mean == pytest.approx(10.0)
    assert quality.published.penetration_duration == 0.5
    assert quality.published.penetration_depth == pytest.approx(2.0)
    sloped = measure(standing(figure, 100), figure, whole_clip(figure, 100), ground=Plane((0, 0, 0), (-0.1, 1.0, 0.0)))
    assert sloped.penetration_worst == pytest.approx(10.0, rel=1e-6)  # the left foot is 0.1 m up the slope of 0.1


@pytest.mark.parametrize("fps", [30.0, 100.0, 240.0])
@pytest.mark.parametrize(
    ("speed", "kimodo", "gmd", "arkitect"), [(0.005, 0, 0, 0), (0.1, 0, 0, 1), (0.3, 1, 0, 1), (0.8, 1, 1, 1)]
)
def test_published_skate_ratios(fps, speed, kimodo, gmd, arkitect):
    figure = stilts()
    path = np.zeros((60, 3))
    path[:, 2] = speed * np.arange(60) / fps
    quality = measure(standing(figure, 60, path, fps), figure, whole_clip(figure, 60, fps), ground=0.0)
    assert quality.published.foot_skate_ratio == kimodo
    assert quality.published.foot_skate_ratio_gmd == gmd
    assert quality.published.skating_frames == arkitect
    lifted = standing(figure, 60, path + [0.0, 0.06, 0.0], fps)
    assert measure(lifted, figure, whole_clip(figure, 60, fps), ground=0.0).published.foot_skate_ratio is None


def test_sliding_and_contact_preservation_against_a_source():
    figure = stilts()
    still = standing(figure, 100)
    path = np.zeros((100, 3))
    path[50:, 2] = 0.5 * np.arange(50) / FPS  # half of the clip slides at 0.5 m/s
    path[80:, 1] = 0.03  # and the last fifth is off the ground
    quality = measure(standing(figure, 100, path), figure, against=(still, figure), ground=0.0)
    assert quality.published.sliding_duration == pytest.approx(49 / 99)
    assert quality.published.contact_preservation == pytest.approx(0.8)
    assert quality.published.skating_frames == pytest.approx(49 / 99)


def test_timing_against_the_source():
    figure = stilts()
    hop = np.zeros((300, 3))
    hop[100:160, 1] = 0.3 * np.sin(np.linspace(0, np.pi, 62)[1:-1])
    late = np.roll(hop, 7, axis=0)
    quality = measure(standing(figure, 300, late), figure, against=(standing(figure, 300, hop), figure))
    first = [plant for plant in quality.plants if plant.start == 0]
    last = [plant for plant in quality.plants if plant.end == 300]
    assert all(plant.end_error == 7 for plant in first)
    assert all(plant.start_error == 7 for plant in last)
    assert quality.timing_error == pytest.approx(3.5)
    assert quality.lost_plants == 0


def test_lost_contacts_are_counted():
    figure = stilts()
    gone = np.zeros((200, 3))
    gone[:, 2] = 2.0 * np.arange(200) / FPS
    quality = measure(standing(figure, 200, gone), figure, against=(standing(figure, 200), figure))
    assert quality.lost_plants == 4
    assert quality.timing_error is None


def test_palms_are_looked_for_where_they_are_expected(shared):
    clip = footplant.load(shared / "deepmimic" / "humanoid3d_cartwheel.txt")
    known = find_contacts(clip, hands=True)
    palms = [plant for plant in known.plants if plant.point.endswith("palm")]
    assert palms
    assert measure(clip, contacts=known, against=clip).lost_plants == 0
    assert [plant.point for plant in measure(clip).plants if plant.point.endswith("palm")] == []
    for against in (None, clip, (clip.motion, clip.character)):
        found = measure(clip, against=against, hands=True)
        assert sum(plant.point.endswith("palm") for plant in found.plants) == len(palms)
        assert found.lost_plants in (None, 0)


def test_a_source_with_another_frame_rate_is_resampled():
    clip = samples.load("walk")
    slow = clip.motion.resample(30.0)
    quality = measure(clip.motion, clip.character, against=(slow, clip.character))
    assert quality.jerk_ratio is not None
    assert quality.deviation.free_mean < 1.0
    given = find_contacts((slow, clip.character))
    again = measure(clip.motion, clip.character, against=(slow, clip.character, given))
    assert len(again.plants) == len(given.plants)
    assert again.timing_error < 4.0


def test_the_sample_walk_is_planted():
    clip = samples.load("walk")
    quality = measure(clip)
    assert quality.worst_plant.drift < 0.5
    assert quality.penetration_worst < 1.0
    assert quality.published.skating_frames == pytest.approx(0.0, abs=0.02)
    same = measure(clip, against=clip)
    assert same.jerk_ratio == same.peak_acceleration_ratio == pytest.approx(1.0)
    assert same.deviation.worst == pytest.approx(0.0, abs=1e-4)
    assert same.timing_error == 0.0
    assert same.published.contact_preservation == 1.0


def test_an_added_t_pose_does_not_change_jerk():
    clip = samples.load("walk")
    rest = np.broadcast_to(clip.character.skeleton.rest, (1, *clip.motion.rotations.shape[1:]))
    rotations, root = np.concatenate([rest, clip.motion.rotations]), clip.motion.root[np.r_[0, : len(clip.motion)]]
    joined = replace(clip.motion, root=root, rotations=rotations)
    plain, led = (measure(motion, clip.character).smoothness for motion in (clip.motion, joined))
    assert led.peak_acceleration == pytest.approx(plain.peak_acceleration)
    assert led.jerk == pytest.approx(plain.jerk)


def test_ratios_use_joints_that_both_skeletons_have():
    figure, other = samples.load_character("mannequin"), samples.load_character("mannequin")
    roles = {role: chain for role, chain in other.roles.joints.items() if role != "left_hand"}
    handless = replace(other, roles=replace(other.roles, joints=roles))
    walk = samples.load("walk").motion
    turned = np.array(walk.rotations)
    # the prop in the hand shakes; the wrist does not
    hand = figure.roles["left_lower_arm"]
    turned[::2, hand] = rotation.multiply(turned[::2, hand], rotation.exp(np.array([0.0, 0.0, 0.1])))
    shaking = replace(walk, rotations=turned)
    assert measure(shaking, figure, against=(walk, figure)).peak_acceleration_ratio > 2.0
    assert measure(shaking, figure, against=(walk, handless)).peak_acceleration_ratio == pytest.approx(1.0)


def test_jerk_and_acceleration_of_a_known_path():
    figure = stilts()
    t = np.arange(100) / FPS
    path = np.zeros((100, 3))
    path[:, 0] = 2.0 * t**3 + 5.0 * t**2
    smooth = smoothness(Kinematics(standing(figure, 100, path)), figure.height)
    assert smooth.jerk == pytest.approx(12.0 / 1.8, rel=1e-6)
    assert smooth.peak_acceleration == pytest.approx((12.0 * t[-2] + 10.0) / 1.8, rel=1e-6)


def test_joint_jerk_of_a_known_rotation():
    figure = stilts()
    t = np.arange(100) / FPS
    angle = 0.5 * t**3  # third derivative 3 rad/s³, on one joint of four
    rotations = np.tile([1.0, 0, 0, 0], (100, 4, 1))
    rotations[:, 3, 0], rotations[:, 3, 2] = np.cos(angle / 2), np.sin(angle / 2)
    smooth = smoothness(Kinematics(replace(standing(figure, 100), rotations=rotations)), figure.height)
    assert smooth.joint_jerk_rms == pytest.approx(3.0, rel=1e-6)
    assert smooth.joint_jerk_p95 == pytest.approx(3.0, rel=1e-6)


def smoothness_numpy(kinematics, height, joints, parts):
    """Return jerk, peak acceleration and joint jerks (RMS, 95th percentile), each derivative as an array."""
    fps, rotations = kinematics.motion.fps, kinematics.motion.rotations
    bends, jerks, turns = [], [], []
    for first, last in parts:
        places = kinematics.positions[first:last, joints] / height
        bends.append(np.linalg.norm(np.diff(places, n=2, axis=0), axis=2).ravel() * fps**2)
        jerks.append(np.linalg.norm(np.diff(places, n=3, axis=0), axis=2).ravel() * fps**3)
        own = rotations[first:last, joints]
        velocity = rotation.log(rotation.multiply(rotation.inverse(own[:-1]), own[1:])) * fps
        turns.append(np.linalg.norm(np.diff(velocity, n=2, axis=0), axis=2).ravel() * fps**2)
    bend, jerk, turn = map(np.concatenate, (bends, jerks, turns))
    return np.sqrt(np.mean(jerk**2)), bend.max(), np.sqrt(np.mean(turn**2)), np.percentile(turn, 95)


def test_smoothness_agrees_with_numpy():
    clip = samples.load("kick")
    kinematics, parts = Kinematics(clip.motion), [(0, 40), (41, 44), (50, 200)]
    joints = [clip.character.require_roles()[role] for role in ("hips", "left_upper_leg", "right_lower_leg")]
    found = smoothness(kinematics, 1.7, joints, parts)
    expected = smoothness_numpy(kinematics, 1.7, joints, parts)
    values = (found.jerk, found.peak_acceleration, found.joint_jerk_rms, found.joint_jerk_p95)
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_a_cut_between_takes_does_not_count_as_jerk():
    figure = stilts()
    path = np.zeros((100, 3))
    path[1:] = [3.0, 0.2, -1.0]
    smooth = smoothness(Kinematics(standing(figure, 100, path)), figure.height)
    assert smooth.jerk == pytest.approx(0.0, abs=1e-6)
    assert smooth.peak_acceleration == pytest.approx(0.0, abs=1e-6)


def test_deviation_of_free_joints():
    figure = stilts()
    rotations = np.tile([1.0, 0, 0, 0], (50, 4, 1))
    rotations[:, 3] = [np.cos(np.radians(10)), np.sin(np.radians(10)), 0, 0]
    rotations[:, 1] = [np.cos(np.radians(20)), 0, np.sin(np.radians(20)), 0]
    quality = measure(
        replace(standing(figure, 50), rotations=rotations), figure, against=(standing(figure, 50), figure)
    )
    assert quality.deviation.by == "rotation"
    assert quality.deviation.worst == pytest.approx(40.0)
    assert quality.deviation.free_worst == pytest.approx(20.0)
    assert quality.deviation.free_mean == pytest.approx(10.0)  # hips and head
    assert quality.deviation.joints["left_foot"] == pytest.approx(40.0)


def test_deviation_between_different_skeletons_by_direction():
    clip = samples.load("walk")
    skeleton = clip.character.skeleton
    renamed = Skeleton(
        tuple(f"bone {name}" for name in skeleton.names), skeleton.parents, skeleton.offsets * 0.6, skeleton.rest,
        skeleton.end_parents, skeleton.end_offsets * 0.6,
    )  # fmt: skip
    contacts = {n: Point(p.joint, tuple(np.multiply(p.offset, 0.6))) for n, p in clip.character.contacts.items()}
    centers = None if clip.character.mass_centers is None else clip.character.mass_centers * 0.6
    small = replace(
        clip.character, skeleton=renamed, contacts=contacts, height=clip.character.height * 0.6, mass_centers=centers
    )
    motion = replace(clip.motion, skeleton=renamed, root=clip.motion.root * 0.6)
    quality = measure(motion, small, against=clip)
    assert quality.deviation.by == "direction"
    assert quality.deviation.worst == pytest.approx(0.0, abs=1e-5)
    assert quality.jerk_ratio == pytest.approx(1.0)
    assert quality.peak_acceleration_ratio == pytest.approx(1.0)


def test_constraint_errors_in_millimetres_and_percent():
    figure = stilts()
    residuals = [("hand", [0.0, 0.018, 0.009]), ("gaze", np.full((4, 3), 0.01)), ("none", [])]
    hand, gaze, none = measure(standing(figure), figure, constraints=residuals).constraint_errors
    assert (hand.worst, hand.mean) == (pytest.approx(18.0), pytest.approx(9.0))
    assert (hand.worst_share, hand.mean_share) == (pytest.approx(1.0), pytest.approx(0.5))
    assert gaze.worst == pytest.approx(10.0 * np.sqrt(3))
    assert none.worst == 0.0


@pytest.mark.parametrize("frames", [0, 1, 2, 3, 4])
def test_short_clips_have_only_finite_numbers_or_none(frames):
    figure = stilts()
    quality = measure(standing(figure, frames), figure, against=(standing(figure, max(frames, 1)), figure))
    found = json.loads(json.dumps(quality.to_dict(), allow_nan=False))
    assert found["frames"] == frames
    if frames < 2:
        assert found["plants"] == []
        assert found["mean_drift"] is found["smoothness"]["jerk"] is None


def test_quality_to_dict():
    clip = samples.load("walk")
    found = json.loads(json.dumps(measure(clip, against=clip).to_dict(), allow_nan=False))
    assert found["plants"][0]["point"] in FEET
    assert set(found["published"]) == set(published.Published.__dataclass_fields__)
    assert isinstance(found["worst_plant"]["drift"], float)


def test_invalid_input_raises():
    figure = stilts()
    with pytest.raises(MotionError, match="expected a clip, or a motion and its character"):
        measure(standing(figure))
    with pytest.raises(SkeletonError, match="no contact points on its feet"):
        measure(Clip(standing(figure), replace(figure, contacts={})))


@pytest.mark.named("bvh/cmu/35_01.bvh")
def test_output_of_another_tool(shared):
    clip = footplant.load(shared / "bvh" / "cmu" / "35_01.bvh")
    quality = measure(clip)
    assert 5 <= len(quality.plants) <= 16
    assert quality.worst_plant.drift < 80.0
    assert 0.0 < quality.skate_speed < 0.3


def test_joint_limit_violations():
    clip = samples.load("walk")
    assert measure(clip).limit_violations == 0
    knee = clip.character.roles["left_lower_leg"]
    rotations = np.array(clip.motion.rotations)
    rotations[10:15, knee] = [np.cos(np.radians(-30)), np.sin(np.radians(-30)), 0.0, 0.0]  # bent forwards by 60°
    quality = measure(replace(clip.motion, rotations=rotations), clip.character)
    assert quality.limit_violations >= 5
    assert quality.limit_worst > 30.0
    assert measure(clip.motion, replace(clip.character, limits=None)).limit_violations is None
