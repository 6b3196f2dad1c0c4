"""Contact points, masses and limits of characters."""

from __future__ import annotations

import numpy as np
import pytest

import footplant
from conftest import shared_data
from figures import Rig, build
from footplant import humanoid, rotation
from footplant.kinematics import Kinematics
from footplant.motion import rest_motion
from footplant.samples import mannequin

SKELETON = mannequin.skeleton()
ROLES = mannequin.roles(SKELETON)
CHARACTER = humanoid.make_character(SKELETON, ROLES, name="mannequin")


def test_contact_points_of_the_mannequin():
    known = mannequin.contact_points(SKELETON)
    assert set(CHARACTER.contacts) == set(known)
    kinematics = Kinematics(rest_motion(SKELETON))
    for label, point in known.items():
        found = CHARACTER.contacts[label]
        assert found.joint == point.joint
        assert np.linalg.norm(kinematics.point(found) - kinematics.point(point)) < 0.02


@pytest.mark.parametrize("side", ["left", "right"])
def test_sole_is_one_level_plane(side):
    places, turned = SKELETON.posed(humanoid.reference_pose(SKELETON, ROLES))
    points = [CHARACTER.contacts[f"{side}_{label}"] for label in ("heel", "ball", "toe")]
    world = np.array([places[p.joint] + rotation.rotate(turned[p.joint], np.array(p.offset)) for p in points])
    assert np.ptp(world[:, 1]) < 1e-9
    assert world[0, 2] < places[ROLES[f"{side}_foot"]][2] < world[1, 2] < world[2, 2]


def test_feet_without_toes():
    skeleton, _ = build(
        Rig("Hips", "Spine", "Head", "upper_arm=@Arm; lower_arm=@ForeArm; hand=@Hand; upper_leg=@UpLeg; "
            "lower_leg=@Leg; foot=@Foot", "Neck")
    )  # fmt: skip
    roles = humanoid.find_roles(skeleton)
    character = humanoid.make_character(skeleton, roles, name="no toes")
    heel, toe = character.contacts["left_heel"], character.contacts["left_toe"]
    ankle = skeleton.index("LeftFoot")
    assert heel.joint == toe.joint == ankle
    turn = skeleton.posed(humanoid.reference_pose(skeleton, roles))[1][ankle]
    back, front = rotation.rotate(turn, np.array(heel.offset)), rotation.rotate(turn, np.array(toe.offset))
    assert 0.2 < front[2] - back[2] < 0.32
    assert back[1] == pytest.approx(front[1])
    assert -0.11 < back[1] < -0.05


def test_masses_sum_to_one_and_balance():
    assert CHARACTER.masses is not None
    assert CHARACTER.masses.sum() == pytest.approx(1.0)
    center = Kinematics(rest_motion(SKELETON)).center_of_mass(CHARACTER)[0]
    # Winter: about 0.56 of the height standing with arms down; the T-pose raises the arms
    assert center[0] == pytest.approx(0.0, abs=1e-9)
    assert 0.54 < center[1] / 1.75 < 0.60
    assert CHARACTER.masses[SKELETON.index("LeftUpperLeg")] == pytest.approx(0.1)


@pytest.mark.parametrize("file", ["bvh/cmu/02_01.bvh", "bvh/other/mocopi_jump.bvh", "gltf/KayKit_Knight.glb"])
@pytest.mark.named("{file}")
def test_real_masses_and_limits(shared, file):
    clip = footplant.load(shared_data(*file.split("/")))
    character = clip.character
    assert character.masses is not None
    assert character.masses.sum() == pytest.approx(1.0)
    beyond = humanoid.limit_violations(character, clip.motion.rotations)
    assert beyond.shape == clip.motion.rotations.shape[:2]
    assert np.mean(beyond > 0) < 0.02


@pytest.mark.parametrize("file", ["bvh/cmu/104_02.bvh", "bvh/cmu/35_01.bvh", "bvh/other/imusim_16_15.bvh",
                                  "bvh/other/mvn_40fps_A.bvh", "bvh/other/mocopi_jump.bvh"])  # fmt: skip
@pytest.mark.named("{file}")
def test_feet_of_people_who_walk_touch_the_floor(shared, file):
    """In these files the floor is y = 0: the lowest position of the soles is the floor, to three centimetres."""
    clip = footplant.load(shared_data(*file.split("/")))
    kinematics = Kinematics(clip.motion)
    for label in ("left_heel", "left_ball", "right_heel", "right_ball"):
        assert abs(np.percentile(kinematics.point(clip.character.contacts[label])[:, 1], 5)) < 0.035, label


@pytest.mark.named("gltf/CesiumMan.glb")
def test_sole_is_read_from_the_mesh(shared):
    clip = footplant.load(shared_data("gltf", "CesiumMan.glb"))
    assert clip.character.height == pytest.approx(1.5, abs=0.06)
    skin, contacts = clip.character.skin, clip.character.contacts
    assert skin is not None
    kinematics = Kinematics(rest_motion(clip.motion.skeleton))
    floor = skin.vertices[:, 1].min()
    for label in ("left_heel", "right_heel"):
        assert kinematics.point(contacts[label])[0, 1] == pytest.approx(floor, abs=0.03)
    span = kinematics.point(contacts["left_toe"])[0] - kinematics.point(contacts["left_heel"])[0]
    assert np.linalg.norm(span) == pytest.approx(0.26, abs=0.03)
    assert abs(span[1]) < 0.02


def test_anatomical_axes():
    """Knees bend by +x, hips by −x, elbows by −y on the left and +y on the right."""
    turns = {
        "LeftLowerLeg": [1.0, 0, 0], "RightLowerLeg": [1.0, 0, 0], "LeftUpperLeg": [-1.0, 0, 0],
        "LeftLowerArm": [0, -1.0, 0], "RightLowerArm": [0, 1.0, 0],
    }  # fmt: skip
    motion = rest_motion(SKELETON)
    for name, vector in turns.items():
        joint = SKELETON.index(name)
        for size, allowed in ((1.0, True), (-1.0, False), (3.0, False)):
            bend = np.zeros((1 + len(SKELETON), 3))
            bend[1 + joint] = size * np.array(vector)
            posed = motion + bend
            found = humanoid.anatomical_turns(CHARACTER, posed.rotations)[0, joint]
            base = humanoid.anatomical_turns(CHARACTER, motion.rotations)[0, joint]
            if size == 1.0:
                np.testing.assert_allclose(found - base, vector, atol=0.12)
            beyond = humanoid.limit_violations(CHARACTER, posed.rotations)[0]
            assert (beyond[joint] == 0) == allowed, (name, size)
            assert not np.delete(beyond, joint).any()


def test_without_roles_there_are_no_contact_points_masses_or_limits():
    character = humanoid.make_character(SKELETON, None, name="thing")
    assert character.roles is None
    assert character.masses is None
    assert not character.contacts
    assert not humanoid.limit_violations(character, SKELETON.rest[None]).any()


def test_a_joint_that_turns_past_180_degrees_is_about_as_far_beyond_its_limits_as_before():
    joint, turns = CHARACTER.roles["left_upper_leg"], np.radians([178.0, 179.9, 180.1, 182.0])
    rotations = np.array(SKELETON.rest[None].repeat(4, axis=0))
    axis = np.array([-0.75, 0.5, 0.43]) / np.linalg.norm([-0.75, 0.5, 0.43])
    world = humanoid.reference_world(SKELETON, CHARACTER.roles)[1]
    above = world[SKELETON.parents[joint]]
    turned = rotation.multiply(rotation.exp(turns[:, None] * axis), world[joint])
    rotations[:, joint] = rotation.multiply(rotation.inverse(above), turned)
    beyond = np.degrees(humanoid.limit_violations(CHARACTER, rotations)[:, joint])
    assert beyond.min() > 10.0
    assert np.ptp(beyond) < 5.0
