"""Wrists of captures that bend below a twist joint at the same place, and the errors of their bend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import footplant
from conftest import shared_data
from footplant import humanoid, rotation
from footplant.clip import Clip
from footplant.edits.morphology_independent import share
from footplant.humanoid.wrists import bent_below_twist
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.samples import mannequin
from footplant.skeleton import Skeleton
from footplant.transfer import transfer

FRAMES = 200
X, Y, Z = np.eye(3)
SIGNS = {"left": 1.0, "right": -1.0}


def captured(apart: float = 0.0) -> Skeleton:
    """The mannequin with hands as in CMU's captures: a thumb and a joint that bends the wrist and carries a finger."""
    plain = mannequin.skeleton()
    ends = {int(joint): offset for joint, offset in zip(plain.end_parents, plain.end_offsets)}
    names, parents, offsets = list(plain.names), plain.parents.tolist(), plain.offsets.tolist()
    for side, sign in SIGNS.items():
        hand = plain.index(f"{side.title()}Hand")
        first = len(names)
        names += [f"{side.title()}FingerBase", f"{side.title()}HandIndex1", f"{side[0].upper()}Thumb"]
        parents += [hand, first, hand]
        offsets += [[sign * apart, 0.0, 0.0], [sign * 0.08, 0.0, 0.0], [0.0, 0.0, 0.0]]
        ends.pop(hand, None)
        ends |= {first + 1: [sign * 0.06, 0.0, 0.0], first + 2: [sign * 0.05, 0.0, 0.05]}
    rest = rotation.identity(len(names))
    rest[: len(plain)] = plain.rest
    return Skeleton(tuple(names), parents, offsets, rest, list(ends), list(ends.values()))


SKELETON = captured()
ROLES = humanoid.find_roles(SKELETON)


def turn(extended, deviated, sign: float) -> np.ndarray:
    """Wrists that extend and then deviate, degrees."""
    return rotation.multiply(
        rotation.from_axis_angle(Z, sign * np.radians(extended)),
        rotation.from_axis_angle(Y, sign * np.radians(deviated)),
    )


def recorded(wrists: np.ndarray, sign: float, *, mirrored: bool = True) -> np.ndarray:
    """The same directions of the hand as a solver writes them that deviates first, and errs beyond 90°."""
    x, y, z = (rotation.rotate(wrists, sign * X) * [sign, 1.0, 1.0]).T
    deviated, extended = np.arctan2(-z, x), np.arcsin(y)
    if mirrored:
        deviated = np.where(x < 0.0, -deviated, deviated)
    return rotation.multiply(rotation.from_axis_angle(Y, sign * deviated), rotation.from_axis_angle(Z, sign * extended))


def crawl(sign: float, off: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
    """Wrists that are straight for a third of the time and then bend to 85° and back, twice."""
    time = np.linspace(0.0, 1.0, FRAMES)
    extended = 85.0 * np.clip(1.5 * np.sin(2.0 * np.pi * time) ** 2 - 0.5, 0.0, 1.0)
    return turn(extended + off[0], np.full(FRAMES, off[1]), sign)


def motion_of(left: np.ndarray, right: np.ndarray) -> Motion:
    """A motion of the captured skeleton in its reference pose but for the wrists."""
    rotations = np.repeat(humanoid.reference_pose(SKELETON, ROLES)[None], len(left), axis=0)
    world = humanoid.reference_world(SKELETON, ROLES)[1]
    for side, wrists in (("left", left), ("right", right)):
        hand = ROLES[f"{side}_hand"]
        above = world[SKELETON.parents[hand]]
        rotations[:, hand] = rotation.multiply(rotation.multiply(rotation.inverse(above), wrists), world[hand])
    return Motion(SKELETON, np.zeros((len(left), 3)), rotations, 30.0)


def wrists_of(motion: Motion, side: str) -> np.ndarray:
    """The wrist's rotations away from the reference pose, in its axes."""
    world = humanoid.reference_world(SKELETON, ROLES)[1]
    hand = ROLES[f"{side}_hand"]
    above = world[SKELETON.parents[hand]]
    return rotation.multiply(rotation.multiply(above, motion.rotations[:, hand]), rotation.inverse(world[hand]))


def test_the_joint_that_bends_the_wrist_is_the_hand():
    for side in SIGNS:
        assert SKELETON.names[ROLES[f"{side}_hand"]] == f"{side.title()}FingerBase"
        assert SKELETON.names[ROLES.joints[f"{side}_lower_arm_twist"][-1]] == f"{side.title()}Hand"
        assert f"{side}_thumb" not in ROLES
    assert set(bent_below_twist(SKELETON, ROLES)) == set(SIGNS)


def test_a_joint_farther_out_is_not_the_hand():
    apart = captured(0.03)
    roles = humanoid.find_roles(apart)
    assert [apart.names[roles[f"{side}_hand"]] for side in SIGNS] == ["LeftHand", "RightHand"]
    assert bent_below_twist(apart, roles) == {}


def test_roles_can_be_corrected():
    roles = humanoid.find_roles(SKELETON, corrections={"left_hand": ("LeftHand",), "right_hand": ("RightHand",)})
    assert bent_below_twist(SKELETON, roles) == {}


@pytest.mark.parametrize("off", [(0.0, 0.0), (25.0, 20.0), (30.0, -35.0)])
def test_wrists_are_as_they_were(off):
    """A constant error, a palm that spins near 90° and the wrong sign beyond it are gone."""
    wrists = {side: crawl(sign, off) for side, sign in SIGNS.items()}
    written = {side: recorded(each, SIGNS[side]) for side, each in wrists.items()}
    motion = motion_of(written["left"], written["right"])
    for side, sign in SIGNS.items():
        if any(off):
            assert np.degrees(rotation.angle(written[side], wrists[side])).max() > 60.0
        made = wrists_of(motion.with_straight_wrists(ROLES), side)
        assert np.degrees(rotation.angle(made, crawl(sign))).max() < 0.1


def test_directions_beyond_90_degrees_that_are_right_stay():
    written = {side: recorded(crawl(sign, (25.0, 20.0)), sign, mirrored=False) for side, sign in SIGNS.items()}
    made = motion_of(written["left"], written["right"]).with_straight_wrists(ROLES)
    for side, sign in SIGNS.items():
        assert np.degrees(rotation.angle(wrists_of(made, side), crawl(sign))).max() < 0.1


def test_wrists_that_bend_both_ways_have_no_constant_error():
    wave = turn(40.0 * np.sin(np.linspace(0.0, 20.0, FRAMES)), np.zeros(FRAMES), 1.0)
    made = motion_of(wave, wave).with_straight_wrists(ROLES)
    assert np.degrees(rotation.angle(wrists_of(made, "left"), wave)).max() < 1e-6


def test_a_t_pose_before_the_motion_stays():
    written = {side: recorded(crawl(sign, (25.0, 20.0)), sign) for side, sign in SIGNS.items()}
    for each in written.values():
        each[:3] = rotation.IDENTITY
    made = motion_of(written["left"], written["right"]).with_straight_wrists(ROLES)
    for side in SIGNS:
        assert np.degrees(rotation.angle(wrists_of(made, side)[:3], rotation.IDENTITY)).max() < 1e-6
        assert np.degrees(rotation.angle(wrists_of(made, side)[3:10], rotation.IDENTITY)).max() < 1.0


def test_a_t_pose_that_leads_to_the_motion_does_not_bend_wrists_the_other_way():
    written = {side: recorded(crawl(sign, (25.0, 20.0)), sign) for side, sign in SIGNS.items()}
    ramp = np.linspace(0.0, 1.0, 5)
    for side, sign in SIGNS.items():
        written[side][:5] = recorded(turn(25.0 * ramp, 20.0 * ramp, sign), sign)
    motion = replace(motion_of(written["left"], written["right"]), fps=120.0)
    for side in SIGNS:
        made = wrists_of(motion.with_straight_wrists(ROLES), side)
        assert np.degrees(rotation.angle(made[:8], rotation.IDENTITY)).max() < 0.1


def test_a_wrist_that_differs_from_usual_after_a_t_pose_does_not_jump():
    """A T-pose that jumps to the motion, whose hand begins straighter than it usually is."""
    angles = np.where(np.arange(FRAMES) < 100, 5.0, 30.0 + 10.0 * np.sin(np.arange(FRAMES)))
    angles[1:100] += np.linspace(0.0, 25.0, 99)
    written = {side: recorded(turn(angles, 0.5 * angles, sign), sign) for side, sign in SIGNS.items()}
    for each in written.values():
        each[0] = rotation.IDENTITY
    motion = replace(motion_of(written["left"], written["right"]), fps=120.0).with_straight_wrists(ROLES)
    for side in SIGNS:
        made = wrists_of(motion, side)[1:90]
        # at once, it turned by 3.7°
        assert np.degrees(rotation.angle(made[1:], made[:-1])).max() < 2.0


def test_a_second_time_changes_nothing():
    written = {side: recorded(crawl(sign, (25.0, 20.0)), sign) for side, sign in SIGNS.items()}
    once = motion_of(written["left"], written["right"]).with_straight_wrists(ROLES)
    twice = once.with_straight_wrists(ROLES)
    assert np.degrees(rotation.angle(once.rotations, twice.rotations)).max() < 1e-6


def test_flicker_is_interpolated_and_fast_strokes_stay():
    """A wrist that jumps by 50° for three frames is at rest; one that flexes by 60° in a tenth of a second does so."""
    still = np.zeros(FRAMES)
    stroke = 60.0 * np.clip((np.arange(FRAMES) - 150.0) / 12.0, 0.0, 1.0)
    flicker = np.where(np.isin(np.arange(FRAMES), [60, 61, 62]), 50.0, 0.0)
    written = {side: recorded(turn(0.1 + stroke + flicker, still, sign), sign) for side, sign in SIGNS.items()}
    made = replace(motion_of(written["left"], written["right"]), fps=120.0).with_straight_wrists(ROLES)
    for side, sign in SIGNS.items():
        assert np.degrees(rotation.angle(wrists_of(made, side), turn(stroke, still, sign))).max() < 0.1


def test_a_joint_that_twists_too_is_left_alone():
    twisting = rotation.multiply(crawl(1.0, (25.0, 20.0)), rotation.from_axis_angle(X, np.full(FRAMES, 0.5)))
    motion = motion_of(twisting, twisting)
    np.testing.assert_array_equal(motion.with_straight_wrists(ROLES).rotations, motion.rotations)


def test_other_hands_are_left_alone():
    walk = footplant.load("sample:walk")
    assert walk.motion.with_straight_wrists(walk.character.require_roles()) is walk.motion


def clip_of_crawl() -> Clip:
    """A clip of the captured skeleton with all errors of its wrists."""
    written = {side: recorded(crawl(sign, (25.0, 20.0)), sign) for side, sign in SIGNS.items()}
    motion = motion_of(written["left"], written["right"])
    return Clip(motion, humanoid.make_character(SKELETON, ROLES, name="captured"))


@pytest.mark.parametrize("way", ["transfer", "retarget", "share"])
def test_another_character_bends_its_wrists(way):
    clip, target = clip_of_crawl(), footplant.load("sample:walk").character
    made = {
        "transfer": lambda: transfer(clip.motion, clip.character, target),
        "retarget": lambda: footplant.retarget(clip, target, arms=False).motion,
        "share": lambda: share(clip, target).motion,
    }[way]()
    roles = target.require_roles()
    world = humanoid.reference_world(target.skeleton, roles)[1]
    for side, sign in SIGNS.items():
        lower, hand = roles[f"{side}_lower_arm"], roles[f"{side}_hand"]
        turned = Kinematics(made).rotations[:, [lower, hand]]
        away = rotation.multiply(turned, rotation.inverse(world[[lower, hand]]))
        bend = rotation.multiply(rotation.inverse(away[:, 0]), away[:, 1])
        assert np.degrees(rotation.angle(bend, crawl(sign))).max() < 0.1


def test_the_same_bones_keep_what_was_recorded():
    clip = clip_of_crawl()
    made = transfer(clip.motion, clip.character, clip.character)
    np.testing.assert_allclose(
        np.degrees(rotation.angle(Kinematics(made).rotations, Kinematics(clip.motion).rotations)), 0.0, atol=1e-5
    )


def test_a_captured_skeleton_as_a_target_moves_its_thumb_with_the_hand():
    walk, target = footplant.load("sample:walk"), clip_of_crawl().character
    turned = Kinematics(transfer(walk.motion, walk.character, target)).rotations
    hand, thumb = SKELETON.index("LeftFingerBase"), SKELETON.index("LThumb")
    assert np.degrees(rotation.angle(turned[:, hand], turned[:, thumb])).max() < 1e-4


def test_a_file_keeps_what_was_recorded(tmp_path):
    clip = clip_of_crawl()
    again = footplant.load(footplant.save(tmp_path / "crawl.bvh", clip))
    order = [again.motion.skeleton.index(name) for name in SKELETON.names]
    assert np.degrees(rotation.angle(again.motion.rotations[:, order], clip.motion.rotations)).max() < 1e-3


@pytest.mark.parametrize("name", ["111_03", "49_06"])
def test_palms_of_captures_do_not_spin(name):
    clip = footplant.load(shared_data(f"bvh/cmu/{name}.bvh"))
    roles = clip.character.require_roles()
    hands = list(bent_below_twist(clip.motion.skeleton, roles).values())

    def most(motion: Motion) -> float:
        return float(np.degrees(rotation.angle(motion.rotations[2:, hands], motion.rotations[1:-1, hands])).max())

    assert most(clip.motion) > 150.0
    assert most(clip.motion.with_straight_wrists(roles)) < 30.0


def test_wrists_of_captures_are_straight_most_of_the_time():
    clip = footplant.load(shared_data("bvh/cmu/35_01.bvh"))
    roles = clip.character.require_roles()
    made = clip.motion.with_straight_wrists(roles)
    for hand in bent_below_twist(clip.motion.skeleton, roles).values():
        before, after = (rotation.angle(each.rotations[1:, hand], rotation.IDENTITY) for each in (clip.motion, made))
        assert np.degrees(np.median(before)) > 25.0
        assert np.degrees(np.median(after)) < 10.0


def test_a_joint_without_fingers_below_it_is_not_the_hand():
    """An end of a chain at the hand's place is no wrist."""
    parents = SKELETON.parents
    keep = [joint for joint, name in enumerate(SKELETON.names) if "Index" not in name]
    number = {joint: place for place, joint in enumerate(keep)}
    bare = Skeleton(
        tuple(SKELETON.names[joint] for joint in keep),
        [number.get(int(parents[joint]), -1) for joint in keep],
        SKELETON.offsets[keep],
    )
    roles = humanoid.find_roles(bare)
    assert bent_below_twist(bare, roles) == {}
    assert roles["left_hand"] == bare.index("LeftHand")
