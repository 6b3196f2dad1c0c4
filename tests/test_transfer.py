"""Transfer of poses between characters with different names, joints, rest poses and proportions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import footplant
from conftest import shared_data
from figures import build, nameless
from footplant import humanoid, rotation
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.samples import load_character
from footplant.skeleton import Character, Skeleton
from footplant.transfer import hip_centers, leg_ratio, reach_ratio, standing_hips, transfer
from test_humanoid_rigs import RIGS

MANNEQUIN = load_character("mannequin")
LIMB_ROLES = [
    f"{side}_{part}"
    for side in ("left", "right")
    for part in ("upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot")
]


def rigged(name: str, **changes) -> Character:
    """A character with the mannequin's shape and another rig's names."""
    skeleton = build(RIGS[name])[0]
    return make(replace(skeleton, **changes))


def make(skeleton: Skeleton) -> Character:
    return humanoid.make_character(skeleton, humanoid.find_roles(skeleton), name="made")


def walk(first: int = 60, last: int = 180, step: int = 10) -> Motion:
    return footplant.load("sample:walk").motion[first:last:step]


def turns(motion: Motion, character: Character) -> dict[str, np.ndarray]:
    """Role → rotation of its joint from the reference pose, world."""
    roles = character.require_roles()
    reference = character.skeleton.posed(humanoid.reference_pose(character.skeleton, roles))[1]
    world = Kinematics(motion).rotations
    return {
        role: rotation.multiply(world[:, chain[0]], rotation.inverse(reference[chain[0]]))
        for role, chain in roles.joints.items()
    }


def test_to_itself_nothing_changes():
    motion = walk()
    again = transfer(motion, MANNEQUIN, MANNEQUIN)
    np.testing.assert_allclose(Kinematics(again).positions, Kinematics(motion).positions, atol=1e-9)
    assert rotation.angle(again.rotations, motion.rotations).max() < 1e-6
    assert (again.fps, len(again)) == (motion.fps, len(motion))


@pytest.mark.parametrize("name", sorted(RIGS))
def test_every_rig_rotates_alike_and_back(name):
    """Limbs of any rig rotate in the world as the mannequin's do; a rig with all joints gives the motion back."""
    motion, target = walk(), rigged(name)
    there = transfer(motion, MANNEQUIN, target)
    assert np.isfinite(there.rotations).all()
    ours, theirs = turns(motion, MANNEQUIN), turns(there, target)
    for role in LIMB_ROLES:
        assert rotation.angle(ours[role], theirs[role]).max() < 1e-6, role
    back = transfer(there, target, MANNEQUIN)
    for role in LIMB_ROLES:
        assert rotation.angle(ours[role], turns(back, MANNEQUIN)[role]).max() < 1e-6, role
    np.testing.assert_allclose(
        hip_centers(Kinematics(back), MANNEQUIN), hip_centers(Kinematics(motion), MANNEQUIN), atol=1e-6
    )


def test_names_do_not_matter():
    motion, target = walk(), rigged("mixamo")
    other = make(nameless(target.skeleton))
    a, b = (Kinematics(transfer(motion, MANNEQUIN, who)).positions for who in (target, other))
    np.testing.assert_allclose(a, b, atol=1e-9)


def lowered_arms(character: Character, angle: float) -> Character:
    """The character with lower arms in the rest pose, its joint frames rotated with the bones."""
    skeleton, roles = character.skeleton, character.require_roles()
    rest = np.array(skeleton.rest)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        rest[roles[f"{side}_upper_arm"]] = rotation.exp(np.array([0.0, 0.0, -sign * angle]))
    return make(replace(skeleton, rest=rest))


@pytest.mark.parametrize("degrees", [20, 45, 80])
def test_an_a_pose_is_not_another_character(degrees):
    motion, target = walk(), rigged("mixamo")
    lowered = lowered_arms(target, np.radians(degrees))
    a, b = (Kinematics(transfer(motion, MANNEQUIN, who)).positions for who in (target, lowered))
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_more_vertebrae_share_the_bend():
    """A bent back has the same total bend with two, three and five vertebrae, distributed smoothly."""
    skeleton = MANNEQUIN.skeleton
    rotations = np.repeat(skeleton.rest[None], 2, axis=0)
    for name in ("Spine", "Chest", "UpperChest"):
        rotations[1, skeleton.index(name)] = rotation.exp(np.array([0.3, 0.0, 0.0]))
    motion = Motion(skeleton, np.repeat(skeleton.offsets[:1], 2, axis=0), rotations, 30.0)
    for name in ("Unreal mannequin", "Unreal mannequin with five vertebrae", "SMPL"):
        target = rigged(name)
        chain = target.require_roles().joints["spine"]
        world = Kinematics(transfer(motion, MANNEQUIN, target)).rotations
        bent = [float(rotation.angle(world[1, joint], world[0, joint])) for joint in chain]
        assert bent[-1] == pytest.approx(0.9, abs=1e-6)
        np.testing.assert_allclose(np.diff([0.0, *bent]), 0.9 / len(chain), atol=0.02)


def test_fingers_are_transferred():
    source, target = rigged("mixamo with fingers"), rigged("SMPL-X")
    roles, skeleton = source.require_roles(), source.skeleton
    rotations = np.repeat(skeleton.rest[None], 3, axis=0)
    fist = rotation.exp(np.array([0.0, 0.0, -0.9]))
    for finger in ("index", "middle", "ring", "little"):
        for joint in roles.joints[f"left_{finger}"]:
            rotations[1:, joint] = rotation.multiply(rotations[1:, joint], fist)
    motion = Motion(skeleton, np.repeat(skeleton.offsets[:1], 3, axis=0), rotations, 30.0)
    ours, theirs = turns(motion, source), turns(transfer(motion, source, target), target)
    common = [finger for finger in ("index", "middle", "ring", "little", "thumb") if f"left_{finger}" in theirs]
    assert len(common) >= 3
    for finger in common:
        assert rotation.angle(ours[f"left_{finger}"], theirs[f"left_{finger}"]).max() < 1e-6
        assert rotation.angle(theirs[f"right_{finger}"][1:], theirs[f"right_{finger}"][0]).max() < 1e-9
    assert rotation.angle(theirs["left_index"][1], theirs["left_index"][0]) == pytest.approx(0.9, abs=1e-6)


def test_twist_joints_take_their_share_of_the_wrist_twist():
    target = rigged("HumanIK in Maya")
    roles, skeleton = target.require_roles(), MANNEQUIN.skeleton
    rotations = np.repeat(skeleton.rest[None], 2, axis=0)
    rotations[1, skeleton.index("LeftHand")] = rotation.exp(np.array([1.2, 0.0, 0.0]))
    motion = Motion(skeleton, np.repeat(skeleton.offsets[:1], 2, axis=0), rotations, 30.0)
    made = transfer(motion, MANNEQUIN, target)
    twist, hand, arm = (roles[f"left_{part}"] for part in ("lower_arm_twist", "hand", "lower_arm"))
    share = (target.skeleton.offsets[twist] @ target.skeleton.offsets[hand]) / np.sum(
        target.skeleton.offsets[hand] ** 2
    )
    angle = rotation.angle(made.rotations[1, twist], made.rotations[0, twist])
    assert angle == pytest.approx(1.2 * share, abs=1e-6)
    assert rotation.angle(made.rotations[1, arm], made.rotations[0, arm]) < 1e-9
    world = Kinematics(made).rotations[:, hand]
    assert rotation.angle(world[1], world[0]) == pytest.approx(1.2, abs=1e-6)


@pytest.mark.parametrize("name", ["short", "sally", "blubby", "longlegs", "child"])
def test_the_path_scales_with_the_legs(name):
    target, motion = load_character(name), walk()
    ratio = leg_ratio(MANNEQUIN, target)
    assert ratio == pytest.approx(standing_hips(target) / standing_hips(MANNEQUIN))
    before = hip_centers(Kinematics(motion), MANNEQUIN)
    after = hip_centers(Kinematics(transfer(motion, MANNEQUIN, target)), target)
    np.testing.assert_allclose(after[-1] - after[0], ratio * (before[-1] - before[0]), atol=1e-9)
    np.testing.assert_allclose(after[:, 1], ratio * before[:, 1], atol=1e-9)
    kept = hip_centers(Kinematics(transfer(motion, MANNEQUIN, target, stride=1.0, rise=2.0)), target)
    np.testing.assert_allclose(kept[:, [0, 2]], before[:, [0, 2]], atol=1e-9)
    np.testing.assert_allclose(kept[:, 1], 2.0 * before[:, 1], atol=1e-9)
    about = np.array([0.3, 0.1, -0.2])
    moved = hip_centers(Kinematics(transfer(motion, MANNEQUIN, target, about=about)), target)
    np.testing.assert_allclose(moved - about, ratio * (before - about), atol=1e-9)


def test_reach_counts_legs_trunk_and_arms():
    assert reach_ratio(MANNEQUIN, load_character("short")) == pytest.approx(0.6)
    assert leg_ratio(MANNEQUIN, load_character("longlegs")) > 1.3 > reach_ratio(MANNEQUIN, load_character("longlegs"))


def test_no_frames_at_all():
    motion = walk()[:0]
    assert len(transfer(motion, MANNEQUIN, load_character("sally"))) == 0


@pytest.mark.named("bvh/cmu/35_01.bvh", "asf_amc/35_01.amc")
def test_one_performance_in_two_formats_is_one_motion(shared):
    """CMU's 35_01 as BVH, with an added T-pose, and as AMC: the same on any character, but for the T-pose's head.

    After the T-pose, hands get what is constantly wrong with the capture's wrists within a quarter of a second; the AMC
    has none, and its hands have it from the first frame on.
    """
    first, second = (
        footplant.load(shared_data(*file.split("/"))) for file in ("bvh/cmu/35_01.bvh", "asf_amc/35_01.amc")
    )
    for target in (MANNEQUIN, rigged("VRoid")):
        a, b = (Kinematics(transfer(clip.motion, clip.character, target)) for clip in (first, second))
        apart = np.degrees(rotation.angle(a.rotations[1:359], b.rotations[:358]))
        roles, below = target.require_roles(), target.skeleton.descendants
        head, hands = below(roles["head"]), [*below(roles["left_hand"]), *below(roles["right_hand"])]
        assert np.delete(apart, head, axis=1)[30:].max() < 0.2
        assert np.delete(apart, [*head, *hands], axis=1).max() < 0.2
        assert apart[:30, hands].max() < 0.5
        np.testing.assert_allclose(apart[:, head], 16.0, atol=0.5)
