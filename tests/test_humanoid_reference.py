"""The reference pose, and mirroring, which is based on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import footplant
from conftest import shared_data
from figures import turned_at_random
from footplant import humanoid, rotation
from footplant.kinematics import Kinematics
from footplant.motion import Motion, rest_motion
from footplant.samples import mannequin
from footplant.skeleton import Roles, Skeleton

SKELETON = mannequin.skeleton()
ROLES = mannequin.roles(SKELETON)


def check_pose(skeleton: Skeleton, roles: Roles) -> None:
    """Check the conditions in the docstring of `reference_pose`."""
    places, _ = skeleton.posed(humanoid.reference_pose(skeleton, roles))

    def line(a: str, b: str) -> np.ndarray:
        vector = places[roles[b]] - places[roles[a]]
        return vector / np.linalg.norm(vector)

    top = "neck" if "neck" in roles else "head"
    if "spine" in roles:
        assert line("spine", top)[1] > np.cos(np.radians(12.0))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for a, b in (("upper_arm", "lower_arm"), ("lower_arm", "hand")):
            np.testing.assert_allclose(line(f"{side}_{a}", f"{side}_{b}"), [sign, 0, 0], atol=1e-9)
        np.testing.assert_allclose(line(f"{side}_upper_leg", f"{side}_lower_leg"), [0, -1, 0], atol=1e-9)
        if skeleton.parents[roles[f"{side}_foot"]] != 0:
            np.testing.assert_allclose(line(f"{side}_lower_leg", f"{side}_foot"), [0, -1, 0], atol=1e-9)
        if f"{side}_toes" in roles:
            toes = line(f"{side}_foot", f"{side}_toes")
            assert toes[2] > 0.2
            assert abs(np.arctan2(toes[0], toes[2])) < np.radians(36)
    assert line("right_upper_leg", "left_upper_leg")[0] > 0.95


def test_mannequin_rest_pose_is_the_reference_pose():
    pose = humanoid.reference_pose(SKELETON, ROLES)
    assert rotation.angle(pose, SKELETON.rest).max() < np.radians(4)
    check_pose(SKELETON, ROLES)


@pytest.mark.parametrize("seed", range(6))
def test_from_any_direction_and_bend(seed):
    """An A-pose, arms down, bent limbs, another heading: the same reference, up to the twist that cannot be seen."""
    rng = np.random.default_rng(seed)
    rest = np.array(SKELETON.rest)
    drop = rng.uniform(0, 1.5)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        rest[SKELETON.index(side + "UpperArm")] = rotation.exp(np.array([0, 0, -sign * drop]))
        rest[SKELETON.index(side + "LowerArm")] = rotation.exp(np.array([0, -sign * rng.uniform(0, 1.0), 0]))
        rest[SKELETON.index(side + "LowerLeg")] = rotation.exp(np.array([rng.uniform(0, 0.6), 0, 0]))
    figure, _ = turned_at_random(replace(SKELETON, rest=rest), seed)
    check_pose(figure, ROLES)
    plain = SKELETON.posed(humanoid.reference_pose(SKELETON, ROLES))[1]
    bent = figure.posed(humanoid.reference_pose(figure, ROLES))[1]
    # arms keep their roll: elbows bend about the same axis for any rest pose
    for role in ("left_upper_arm", "right_upper_arm", "left_lower_arm", "left_upper_leg", "right_lower_leg", "spine"):
        assert rotation.angle(plain[ROLES[role]], bent[ROLES[role]]) < np.radians(6), role


def along_x(frames: Motion) -> Motion:
    """Return a motion whose bones all lie along +x at rest, as some exporters write them; joints move as before."""
    # every joint's frame is rotated so that its bone lies along x; offsets follow
    world = np.array(rotation.identity(len(SKELETON)))
    for joint, children in enumerate(SKELETON.children):
        if children:
            world[joint] = rotation.between([1.0, 0, 0], SKELETON.offsets[children[0]])
    offsets, local = np.array(SKELETON.offsets), np.array(frames.rotations)
    for joint in range(1, len(SKELETON)):
        offsets[joint] = rotation.rotate(rotation.inverse(world[SKELETON.parents[joint]]), SKELETON.offsets[joint])
        local[:, joint] = rotation.multiply(
            rotation.multiply(rotation.inverse(world[SKELETON.parents[joint]]), local[:, joint]), world[joint]
        )
    local[:, 0] = rotation.multiply(local[:, 0], world[0])
    return Motion(Skeleton(SKELETON.names, SKELETON.parents, offsets), frames.root, local)


def test_a_motion_gives_the_reference_where_the_rest_pose_does_not_stand():
    """The reference pose comes from a standing frame."""
    rng = np.random.default_rng(3)
    frames = rest_motion(SKELETON, 30) + 0.02 * rng.normal(size=(30, len(SKELETON) + 1, 3))
    written = along_x(frames)
    np.testing.assert_allclose(Kinematics(written).positions, Kinematics(frames).positions, atol=1e-9)
    roles = humanoid.with_reference(written.skeleton, ROLES, written.rotations)
    assert roles.reference is not None
    check_pose(written.skeleton, roles)
    assert humanoid.with_reference(SKELETON, ROLES, frames.rotations).reference is None


def test_a_twisted_frame_gives_no_twisted_reference():
    """Who walks turns the pelvis one way and the chest the other; the reference pose does not, and looks ahead."""
    twist = np.zeros((30, len(SKELETON) + 1, 3))
    pelvis, chest = 0.25, -0.5
    twist[:, 1 + ROLES["hips"], 1] = pelvis
    spine = 1 + np.array(ROLES.joints["spine"])
    twist[:, spine, 1] = chest / len(spine)
    twist[:, 1 + np.array([ROLES["neck"], ROLES["head"]]), 1] = 0.5 * (-pelvis - chest)
    for thigh in ("left_upper_leg", "right_upper_leg"):
        twist[:, 1 + ROLES[thigh], 1] = -pelvis
    written = along_x(rest_motion(SKELETON, 30) + twist)
    skeleton = written.skeleton
    roles = humanoid.with_reference(skeleton, ROLES, written.rotations)
    check_pose(skeleton, roles)
    plain = along_x(rest_motion(SKELETON, 30))
    untwisted = humanoid.with_reference(skeleton, ROLES, plain.rotations)
    straight, found = (skeleton.posed(humanoid.reference_pose(skeleton, each)) for each in (untwisted, roles))
    off = np.degrees(rotation.angle(straight[1], found[1]))
    assert off.max() < 2.0, skeleton.names[int(off.argmax())]
    assert off[ROLES["hips"]] < 0.01


@pytest.mark.parametrize(
    "file",
    [
        "bvh/cmu/02_01.bvh", "bvh/other/rokoko_jesse_dance.bvh", "bvh/other/imusim_16_15.bvh",
        "bvh/other/soma_zero_frame0.bvh", "bvh/other/fair1_zombie.bvh", "bvh/other/makehuman_tpose.bvh",
        "bvh/other/pybvh_test2.bvh", "gltf/godot_mannequiny.glb", "gltf/CesiumMan.glb",
    ],
)  # fmt: skip
@pytest.mark.named("{file}")
def test_real_skeletons(shared, file):
    clip = footplant.load(shared_data(*file.split("/")))
    roles = clip.character.require_roles()
    check_pose(clip.motion.skeleton, roles)
    motion = replace(clip.motion[:: max(1, len(clip.motion) // 20)], offsets=None)
    partner, _ = humanoid.mirror_map(motion.skeleton, roles)
    assert np.array_equal(partner[partner], np.arange(len(partner)))
    for role in ("left_foot", "left_hand"):
        assert partner[roles[role]] == roles[role.replace("left", "right")]
    mirrored = motion.mirrored(roles)
    places = Kinematics(motion).positions
    twice = Kinematics(mirrored.mirrored(roles)).positions
    np.testing.assert_allclose(twice, places, atol=1e-9)
    # real skeletons are nearly symmetric
    off = np.linalg.norm(Kinematics(mirrored).positions - places[:, partner] * [-1, 1, 1], axis=-1)
    assert off.max() < 0.06 * clip.character.height


def test_mirror_of_a_symmetric_skeleton_is_exact():
    rng = np.random.default_rng(0)
    motion = rest_motion(SKELETON, 4) + 0.7 * rng.normal(size=(4, len(SKELETON) + 1, 3))
    partner, _ = humanoid.mirror_map(SKELETON, ROLES)
    places = Kinematics(motion).positions
    mirrored = motion.mirrored(ROLES)
    np.testing.assert_allclose(Kinematics(mirrored).positions, places[:, partner] * [-1, 1, 1], atol=1e-12)
    np.testing.assert_allclose(Kinematics(mirrored.mirrored(ROLES)).positions, places, atol=1e-12)


@pytest.mark.parametrize(("length", "kept"), [(0.001, False), (0.1, True)])
def test_a_stub_at_the_end_of_a_chain_does_not_tell_where_the_hand_points(length, kept):
    ends = np.array(SKELETON.end_offsets)
    ends[SKELETON.end_parents == ROLES["left_hand"]] = [0.0, length, 0.0]
    skeleton = replace(SKELETON, end_offsets=ends)
    turned = rotation.angle(humanoid.reference_pose(skeleton, ROLES), humanoid.reference_pose(SKELETON, ROLES))
    assert np.degrees(turned[ROLES["left_hand"]]) == pytest.approx(90.0 if kept else 0.0, abs=1e-6)


def bent_toes(motion: Motion, degrees: float, part: slice = slice(None)) -> Motion:
    """The motion with its left toes bent up by a constant angle."""
    rotations, toes = np.array(motion.rotations), ROLES["left_toes"]
    up = rotation.exp(np.array([-np.radians(degrees), 0.0, 0.0]))
    rotations[part, toes] = rotation.multiply(rotations[part, toes], up)
    return motion.like(motion.root, rotations, motion.offsets)


@pytest.mark.parametrize("degrees", [30.0, 70.0])
def test_toes_that_are_always_bent_are_straight_in_the_reference_pose(degrees):
    walk = footplant.load("sample:walk").motion
    roles, found = humanoid.with_straight_toes(SKELETON, ROLES, bent_toes(walk, degrees).rotations)
    assert found == (SKELETON.names[ROLES["left_toes"]],)
    pose, usual = humanoid.reference_pose(SKELETON, roles), humanoid.reference_pose(SKELETON, ROLES)
    changed = np.degrees(rotation.angle(pose, usual))
    toes = ROLES["left_toes"]
    assert changed[toes] == pytest.approx(degrees, abs=12.0)
    assert np.delete(changed, toes).max() < 1e-6


@pytest.mark.parametrize("name", ["walk", "run", "sneak", "stand", "jump", "kick"])
def test_toes_that_bend_now_and_then_are_left_alone(name):
    motion = footplant.load(f"sample:{name}").motion
    assert humanoid.with_straight_toes(SKELETON, ROLES, motion.rotations) == (ROLES, ())
    half = bent_toes(motion, 60.0, slice(len(motion) // 2, None))
    assert humanoid.with_straight_toes(SKELETON, ROLES, half.rotations)[1] == ()


def test_toes_on_tiptoe_are_not_taken_for_straight():
    """There the foot is raised, and the toes are flat."""
    stand = bent_toes(footplant.load("sample:stand").motion, 50.0)
    rotations, foot = np.array(stand.rotations), ROLES["left_foot"]
    rotations[:, foot] = rotation.multiply(rotations[:, foot], rotation.exp(np.array([np.radians(50.0), 0.0, 0.0])))
    assert humanoid.with_straight_toes(SKELETON, ROLES, rotations) == (ROLES, ())


def t_pose(pitch: float, arms: float = 0.0, yaw: float = 0.0) -> np.ndarray:
    """Local rotations of the reference pose with the head pitched, the arms lowered and all turned, degrees."""
    pose = humanoid.reference_pose(SKELETON, ROLES)
    turns = {"head": (1.0, pitch), "left_upper_arm": (2.0, -arms), "right_upper_arm": (2.0, arms), "hips": (1.5, yaw)}
    world = humanoid.reference_world(SKELETON, ROLES)[1]
    for role, (axis, degrees) in turns.items():
        joint = ROLES[role]
        about = rotation.AXES[{1.0: "x", 1.5: "y", 2.0: "z"}[axis]]
        own = rotation.rotate(rotation.inverse(world[joint]), about)
        pose[joint] = rotation.multiply(pose[joint], rotation.exp(np.radians(degrees) * own))
    return pose


@pytest.mark.parametrize("yaw", [0.0, 130.0])
def test_the_head_looks_ahead_as_in_a_t_pose(yaw):
    roles, turned = humanoid.with_head_of_t_pose(SKELETON, ROLES, t_pose(16.0, yaw=yaw))
    assert np.degrees(turned) == pytest.approx(16.0, abs=1e-6)
    world, usual = (humanoid.reference_world(SKELETON, each)[1] for each in (roles, ROLES))
    head = ROLES["head"]
    away = rotation.log(rotation.multiply(world[head], rotation.inverse(usual[head])))
    np.testing.assert_allclose(np.degrees(away), [16.0, 0.0, 0.0], atol=1e-6)
    others = [joint for joint in range(len(SKELETON)) if head not in SKELETON.chain(joint)]
    assert np.degrees(rotation.angle(world, usual))[others].max() < 1e-6


def test_a_pose_with_arms_down_says_nothing_about_the_head():
    assert humanoid.with_head_of_t_pose(SKELETON, ROLES, t_pose(16.0, arms=80.0)) == (ROLES, 0.0)


def test_a_file_with_a_t_pose_before_the_motion_has_its_head_ahead(tmp_path):
    """Of a motion whose head bows by 16°, and of its T-pose too, the head of another character is upright."""
    clip = footplant.load("sample:walk")
    rotations, head = np.array(clip.motion.rotations), ROLES["head"]
    bowed = rotation.exp(np.array([np.radians(16.0), 0.0, 0.0]))
    rotations[:, head] = rotation.multiply(rotations[:, head], bowed)
    first = t_pose(0.0)
    first[head] = rotation.multiply(first[head], bowed)
    root = np.array(clip.motion.root)
    motion = clip.motion.like(np.concatenate([root[:1], root]), np.concatenate([first[None], rotations]))
    bare = replace(clip, character=replace(clip.character, skin=None), motion=motion)
    footplant.save(tmp_path / "bowed.bvh", bare)
    read = footplant.load(tmp_path / "bowed.bvh")
    assert any("head looks ahead" in note and "16°" in note for note in read.notes)
    usual = footplant.retarget(clip, "sample:mannequin", method="copy").motion
    made = footplant.retarget(read, "sample:mannequin", method="copy", lead_in="drop").motion
    joint = footplant.load_character("sample:mannequin").require_roles()["head"]
    apart = rotation.angle(Kinematics(made).rotations[:, joint], Kinematics(usual).rotations[:, joint])
    assert np.degrees(apart).max() < 0.5


def test_a_file_with_bent_toes_says_so_and_has_its_ball_on_the_ground(tmp_path):
    clip = footplant.load("sample:walk")
    bare = replace(clip, character=replace(clip.character, skin=None))
    for name, degrees in (("usual", 0.0), ("bent", 60.0)):
        footplant.save(tmp_path / f"{name}.bvh", replace(bare, motion=bent_toes(clip.motion, degrees)))
    usual, bent = (footplant.load(tmp_path / f"{name}.bvh") for name in ("usual", "bent"))
    assert not any("taken for straight" in note for note in usual.notes)
    assert sum("taken for straight" in note for note in bent.notes) == 1
    balls = [Kinematics(c.motion).point(c.character.contacts["left_ball"]) for c in (usual, bent)]
    assert np.abs(balls[1] - balls[0]).max() < 0.015


def test_thighs_that_hang_on_the_spine_show_the_hips_by_where_they_are():
    """As 3ds Max's Biped writes them: children of a vertebra, with offsets that move them along with the pelvis."""
    leaning = np.zeros((30, len(SKELETON) + 1, 3))
    first = ROLES.joints["spine"][0]
    leaning[:, 1 + first] = [0.1, 0.2, 0.15]
    written = along_x(rest_motion(SKELETON, 30) + leaning)
    skeleton, (places, turns) = written.skeleton, written.skeleton.posed(written.rotations)
    parents, rotations = np.array(skeleton.parents), np.array(written.rotations)
    offsets = np.repeat(skeleton.offsets[None], 30, axis=0)
    for role in ("left_upper_leg", "right_upper_leg"):
        thigh = ROLES[role]
        parents[thigh] = first
        back = rotation.inverse(turns[:, first])
        offsets[:, thigh] = rotation.rotate(back, places[:, thigh] - places[:, first])
        rotations[:, thigh] = rotation.multiply(back, turns[:, thigh])
    hung = Skeleton(skeleton.names, parents, skeleton.offsets)
    roles = humanoid.with_reference(hung, ROLES, rotations, offsets)
    world = hung.posed(humanoid.reference_pose(hung, roles))[1][ROLES["hips"]]
    # the pelvis of these frames is level and looks ahead
    assert np.degrees(rotation.angle(world, turns[0, ROLES["hips"]])) < 0.1
    unmoved = humanoid.with_reference(hung, ROLES, rotations)
    world = hung.posed(humanoid.reference_pose(hung, unmoved))[1][ROLES["hips"]]
    assert np.degrees(rotation.angle(world, turns[0, ROLES["hips"]])) > 5.0
