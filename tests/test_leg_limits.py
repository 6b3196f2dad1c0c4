"""Ankles of planted feet and hip joints within their limits: the rows' slopes, and twists of thighs and shanks."""

from dataclasses import replace

import numpy as np
import pytest

from footplant import retarget, rotation, samples
from footplant.feet import planting
from footplant.humanoid.limits import (
    anatomical_turn_derivatives,
    anatomical_turns_beside,
    anatomical_turns_of,
    clamp_to_limits,
    limit_violations,
)
from footplant.humanoid.reference import reference_world
from footplant.kinematics import Kinematics
from footplant.solve import _legs as kernel
from footplant.solve.dynamics import DYNAMICS_SETTINGS
from footplant.solve.leg_limits import shank_rows, thigh_rows, twist_legs
from footplant.solve.legs import LEG_SETTINGS, FootCurve, legs_of, solve_legs


@pytest.mark.usefixtures("inner_kernels_are_interpreted")
def test_slopes_of_a_leaning_bone_are_those_of_finite_differences():
    rng = np.random.default_rng(3)
    thigh, axis, bones = np.array([0.1, -1.0, 0.2]), np.array([1.0, 0.1, 0.0]), np.array([0.45, 0.42])
    thigh /= np.linalg.norm(thigh)
    axis -= (axis @ thigh) * thigh
    plane = np.array([thigh, axis / np.linalg.norm(axis)])
    for leg, swivel in (([0.1, 0.7, -0.05], 0.0), ([0.02, 0.868, 0.01], 0.3), ([0.05, 0.12, 0.1], -0.4)):
        leg, towards = np.array(leg), rng.normal(size=3)
        for of_thigh in (False, True):
            slope, step = np.empty(3), 1e-6
            value, turned = kernel.lean_and_slope(plane, bones, leg, of_thigh, swivel, towards, np.empty(3), slope)
            bone = posed_bone(plane, bones, leg, of_thigh, swivel)
            assert value == pytest.approx(bone @ towards, abs=1e-9)
            assert np.linalg.norm(bone) == pytest.approx(1.0)
            for i in range(3):
                moved = [leg + sign * step * np.eye(3)[i] for sign in (1, -1)]
                sides = [posed_bone(plane, bones, each, of_thigh, swivel) for each in moved]
                expected = (sides[0] - sides[1]) @ towards / (2 * step)
                assert slope[i] == pytest.approx(expected, rel=1e-3, abs=1e-4)
            sides = [posed_bone(plane, bones, leg, of_thigh, swivel + sign * step) for sign in (1, -1)]
            assert turned == pytest.approx((sides[0] - sides[1]) @ towards / (2 * step), rel=1e-3, abs=1e-4)


def posed_bone(plane, bones, leg, of_thigh, swivel):
    """Return the unit vector to the knee from hip joint or ankle of a leg that bends in a plane and is then turned."""
    (a, b), far = bones, np.linalg.norm(leg)
    flexion = np.arccos((far**2 - a**2 - b**2) / (2 * a * b))
    shank = rotation.rotate(rotation.exp(flexion * plane[1]), plane[0])
    turn = rotation.between((a * plane[0] + b * shank)[None], -leg[None])[0]
    bone = rotation.rotate(turn, plane[0] if of_thigh else -shank)
    return rotation.rotate(rotation.exp(swivel * leg / far), bone)


def turned_foot(axis, degrees):
    """Return the mannequin standing, its left foot turned in the world, and the same motion as it was."""
    clip = samples.load("stand")
    own, character = clip.motion[:20], clip.character
    foot, rotations = character.roles["left_foot"], np.array(clip.motion.rotations[:20])
    world = Kinematics(own).rotations
    turn = rotation.exp(np.radians(degrees) * rotation.AXES[axis])
    above = world[:, int(character.skeleton.parents[foot])]
    rotations[:, foot] = rotation.multiply(rotation.inverse(above), rotation.multiply(turn, world[:, foot]))
    return own.like(own.root, rotations, own.offsets), own, character


def test_twist_beyond_an_ankles_limit_goes_to_the_knee_and_moves_no_joint():
    motion, own, character = turned_foot("y", 65.0)
    legs, foot = legs_of(character), character.roles["left_foot"]
    assert np.degrees(limit_violations(character, motion.rotations)[:, foot].min()) > 10.0
    twisted = twist_legs(motion, character, legs, own)
    assert np.degrees(limit_violations(character, twisted.rotations).max()) < 0.5
    before, after = Kinematics(motion), Kinematics(twisted)
    ankle = [leg.end for leg in legs]
    np.testing.assert_allclose(after.positions[:, ankle], before.positions[:, ankle], atol=1e-12)
    np.testing.assert_allclose(
        np.abs((after.rotations[:, foot] * before.rotations[:, foot]).sum(axis=-1)), 1.0, atol=1e-12
    )


def test_a_foot_bent_up_too_far_asks_the_hips_back_and_one_within_its_limits_asks_nothing():
    motion, own, character = turned_foot("x", -70.0)
    legs, planted = legs_of(character), np.ones((2, 20), bool)
    assert shank_rows(Kinematics(own), character, legs, planted, own) == (None, False)
    (directions, least), broken = shank_rows(Kinematics(motion), character, legs, planted, own)
    assert broken
    assert np.isfinite(least[0]).all()
    assert not np.isfinite(least[1]).any()
    shank = Kinematics(motion).positions[:, legs[0].lower] - Kinematics(motion).positions[:, legs[0].end]
    assert (least[0] > (directions[0] * shank).sum(axis=1) + 0.1).all()
    assert (directions[0] @ rotation.AXES["z"] < -0.5).all()
    # one in swing asks the same, unless its leg is folded
    np.testing.assert_array_equal(shank_rows(Kinematics(motion), character, legs, ~planted, own)[0][1], least)
    folded, knee = np.array(motion.rotations), legs[0].lower
    folded[:, knee] = rotation.multiply(folded[:, knee], rotation.exp(np.radians(140.0) * legs[0].axis))
    seen = Kinematics(motion.like(motion.root, folded, motion.offsets))
    assert shank_rows(seen, character, legs, ~planted, own) == (None, False)


def test_derivatives_of_anatomical_turns_are_those_of_finite_differences():
    clip = samples.load("walk")
    joint = clip.character.roles["left_upper_leg"]
    local = np.concatenate([clip.motion.rotations[:40:7, joint], rotation.identity(1)])
    found = anatomical_turn_derivatives(
        clip.character, joint, anatomical_turns_of(clip.character, joint, local)
    )  # fmt: skip
    np.testing.assert_allclose(found, differences(clip.character, joint, local, local), atol=1e-5)


def differences(character, joint, local, own):
    """Return the derivatives of a joint's rotation vectors, the way round beside its own ones, by differences."""
    step, out = 1e-6, np.empty((len(local), 3, 3))
    for axis in range(3):
        sides = [
            anatomical_turns_beside(
                character, joint, rotation.multiply(rotation.exp(sign * step * np.eye(3)[axis]), local), own
            )[0]
            for sign in (1.0, -1.0)
        ]
        out[:, :, axis] = (sides[0] - sides[1]) / (2.0 * step)
    return out


def past_half_a_turn():
    """Return a thigh drawn up sideways, as in a crawl, that turns from 160° to 215°: local rotations (30, 4)."""
    clip = samples.load("stand")
    axis, joint = np.array([-0.68, 0.49, 0.54]), clip.character.roles["left_upper_leg"]
    turns = np.radians(np.linspace(160.0, 215.0, 30))[:, None] * (axis / np.linalg.norm(axis))
    world = reference_world(clip.character.skeleton, clip.character.roles)[1]
    above, own = world[int(clip.character.skeleton.parents[joint])], world[joint]
    local = rotation.multiply(rotation.multiply(rotation.inverse(above), rotation.exp(turns)), own)
    return clip.character, joint, local, turns


def test_a_joint_that_passes_half_a_turn_jumps_neither_in_its_measure_nor_in_its_rows():
    character, joint, local, turns = past_half_a_turn()
    own = np.repeat(local[:1], 30, axis=0)
    found, before = anatomical_turns_beside(character, joint, local, own)
    np.testing.assert_allclose(found, turns, atol=1e-9)
    np.testing.assert_allclose(before, np.repeat(turns[:1], 30, axis=0), atol=1e-9)
    # the principal vector jumps by 360°, its derivative is of another side
    jumps = np.linalg.norm(np.diff(anatomical_turns_of(character, joint, local), axis=0), axis=1)
    assert np.degrees(jumps.max()) > 300.0
    by = anatomical_turn_derivatives(character, joint, found)
    np.testing.assert_allclose(by, differences(character, joint, local, own), atol=1e-5)
    # what its own excess is, is as the measure has it, on both sides
    whole = np.tile(rotation.identity(1), (30, len(character.skeleton), 1))
    whole[:, joint] = local
    measured = limit_violations(character, whole)[:, joint]
    assert np.abs(np.diff(measured)).max() < np.radians(2.0)
    lower, upper = character.limits.lower[joint], character.limits.upper[joint]
    _, kept = anatomical_turns_beside(character, joint, local, local)
    excess = np.linalg.norm(np.maximum(np.maximum(kept - upper, lower - kept), 0.0), axis=1)
    np.testing.assert_allclose(excess, measured, atol=1e-9)
    # and it is turned back to its own excess, not to the other side
    clamped = clamp_to_limits(character, joint, local, own)
    now, before = anatomical_turns_beside(character, joint, clamped, own)
    assert (now < np.maximum(upper, before) + 1e-9).all()
    assert (now > np.minimum(lower, before) - 1e-9).all()
    assert np.degrees(rotation.angle(clamped[1:], clamped[:-1])).max() < 2.5


def twisted_thigh(hip, knee):
    """Return the mannequin on a bent left leg, thigh twisted by an angle and knee bent aside, and as it was."""
    motion, _, character = lifted_thigh(90.0)
    leg, world = legs_of(character)[0], reference_world(character.skeleton, character.roles)[1]
    rotations, local = np.array(motion.rotations), motion.rotations
    along = character.skeleton.offsets[leg.lower] / np.linalg.norm(character.skeleton.offsets[leg.lower])
    rotations[:, leg.upper] = rotation.multiply(local[:, leg.upper], rotation.exp(np.radians(hip) * along))
    above = world[int(character.skeleton.parents[leg.lower])]
    turn = rotation.exp(np.radians(np.array(knee, float)))
    rotations[:, leg.lower] = rotation.multiply(
        rotation.multiply(rotation.inverse(above), turn), world[leg.lower]
    )  # fmt: skip
    return motion.like(motion.root, rotations, motion.offsets), motion, character


@pytest.mark.parametrize(("hip", "knee"), [(0.0, (60.0, 0.0, -48.0)), (120.0, (100.0, 0.0, 0.0))])
def test_thighs_twist_for_knees_and_knees_for_hip_joints(hip, knee):
    motion, own, character = twisted_thigh(hip, knee)
    legs = legs_of(character)
    leg, before = legs[0], np.degrees(limit_violations(character, motion.rotations))
    assert before[:, [leg.upper, leg.lower]].max() > 7.0
    found = twist_legs(motion, character, legs, own)
    after = np.degrees(limit_violations(character, found.rotations))
    assert after[:, [leg.upper, leg.lower]].max() < 0.5
    places, moved = (Kinematics(each).positions for each in (motion, found))
    np.testing.assert_allclose(moved, places, atol=1e-9)
    # the least twist: the joint that was beyond its limits ends at them
    assert (np.degrees(rotation.angle(found.rotations, motion.rotations))[:, leg.upper] < 40.0).all()
    assert twist_legs(own, character, legs, own) is own


def lifted_thigh(degrees):
    """Return the mannequin standing with its left thigh lifted and its knee bent, and as it stood."""
    clip = samples.load("stand")
    own, character = clip.motion[:30], clip.character
    leg, rotations = legs_of(character)[0], np.array(clip.motion.rotations[:30])
    world = Kinematics(own).rotations
    for joint, angle in ((leg.upper, -degrees), (leg.lower, 110.0)):
        turn = rotation.exp(np.radians(angle) * rotation.AXES["x"])
        above = rotation.inverse(world[:, int(character.skeleton.parents[joint])])
        rotations[:, joint] = rotation.multiply(above, rotation.multiply(turn, world[:, joint]))
    return own.like(own.root, rotations, own.offsets), own, character


def test_a_thigh_lifted_too_far_is_lowered_to_the_hip_joints_limit_by_the_legs_vector():
    motion, own, character = lifted_thigh(155.0)
    legs, kinematics = legs_of(character), Kinematics(motion)
    hip = legs[0].upper
    assert np.degrees(limit_violations(character, motion.rotations)[:, hip].min()) > 10.0
    rows, broken = thigh_rows(kinematics, character, legs, own)
    assert broken
    assert np.isfinite(rows[1][0]).all()
    assert not np.isfinite(rows[1][1]).any()
    feet = tuple(
        FootCurve(
            kinematics.rotations[:, leg.end], np.zeros(30, bool), np.zeros((30, 3)),
            lambda at: np.full(len(at), -np.inf),
        )
        for leg in legs
    )  # fmt: skip
    found = solve_legs(kinematics, character, feet, lean=(None, rows)).motion
    assert np.degrees(limit_violations(character, found.rotations)[:, hip].max()) < 2.0


@pytest.mark.parametrize("flexion", [3.0, 60.0, 150.0])
def test_straight_and_folded_legs_lean_as_far_as_they_are_asked_to(flexion):
    # seen once from where it was, the knee of such a leg would be asked for what the leg's length cannot give
    clip = samples.load("stand")
    motion, character = clip.motion[:30], clip.character
    legs, rotations, world = legs_of(character), np.array(clip.motion.rotations[:30]), Kinematics(motion).rotations
    for leg in legs:
        for joint, angle in ((leg.upper, -0.5 * flexion), (leg.lower, 0.5 * flexion), (leg.end, 0.0)):
            turn = rotation.exp(np.radians(angle) * rotation.AXES["x"])
            above = int(character.skeleton.parents[joint])
            over = {leg.lower: -0.5 * flexion, leg.end: 0.5 * flexion}.get(joint, 0.0)
            up = rotation.multiply(rotation.exp(np.radians(over) * rotation.AXES["x"]), world[:, above])
            rotations[:, joint] = rotation.multiply(rotation.inverse(up), rotation.multiply(turn, world[:, joint]))
    bent = motion.like(motion.root, rotations, motion.offsets)
    kinematics, planted = Kinematics(bent), np.ones(30, bool)
    feet = tuple(
        FootCurve(
            kinematics.rotations[:, leg.end], planted, kinematics.positions[:, leg.end],
            lambda at: np.full(len(at), -np.inf),
        )
        for leg in legs
    )  # fmt: skip
    shanks = np.array([kinematics.positions[:, leg.lower] - kinematics.positions[:, leg.end] for leg in legs])
    shanks /= np.linalg.norm(shanks, axis=2, keepdims=True)
    back = rotation.cross(np.broadcast_to(-rotation.AXES["x"], shanks.shape), shanks)
    rows = back, np.full(shanks.shape[:2], np.sin(np.radians(15.0)))
    found = Kinematics(solve_legs(kinematics, character, feet, steps=40, lean=(rows, None, None)).motion).positions
    now = np.array([found[:, leg.lower] - found[:, leg.end] for leg in legs])
    now /= np.linalg.norm(now, axis=2, keepdims=True)
    assert np.degrees(np.arcsin((now * back).sum(axis=2))).min() > 14.5
    np.testing.assert_allclose(found[:, legs[0].end], kinematics.positions[:, legs[0].end], atol=1e-6)


def test_a_hip_joint_may_be_as_far_beyond_its_limit_as_the_references_own():
    motion, _, character = lifted_thigh(155.0)
    assert thigh_rows(Kinematics(motion), character, legs_of(character), motion) == (None, False)
    within, own, _ = lifted_thigh(100.0)
    assert thigh_rows(Kinematics(within), character, legs_of(character), own) == (None, False)


def test_rows_of_an_earlier_pose_are_asked_again_as_seen_from_the_next_one():
    beyond, own, character = lifted_thigh(155.0)
    within, _, _ = lifted_thigh(130.0)
    legs, kinematics = legs_of(character), Kinematics(within)
    earlier, _ = thigh_rows(Kinematics(beyond), character, legs, own)
    (along, least), broken = thigh_rows(kinematics, character, legs, own, earlier)
    assert not broken
    thigh = kinematics.positions[:, legs[0].lower] - kinematics.positions[:, legs[0].upper]
    # 10° are left to the limit
    assert (least[0] < (along[0] * thigh).sum(axis=1) - 0.05).all()
    assert np.isfinite(least[0]).all()


def test_frames_near_a_limit_that_others_break_are_asked_to_stay_within_it():
    beyond, own, character = lifted_thigh(155.0)
    near, far = (lifted_thigh(degrees)[0] for degrees in (133.0, 120.0))
    legs, rotations = legs_of(character), np.array(beyond.rotations)
    rotations[10:20], rotations[20:] = near.rotations[10:20], far.rotations[20:]
    mixed = Kinematics(beyond.like(beyond.root, rotations, beyond.offsets))
    (along, least), broken = thigh_rows(mixed, character, legs, own)
    assert broken
    assert np.isfinite(least[0, :20]).all()
    assert not np.isfinite(least[0, 20:]).any()
    thigh = mixed.positions[:, legs[0].lower] - mixed.positions[:, legs[0].upper]
    now = (along[0] * thigh).sum(axis=1) / np.linalg.norm(thigh, axis=1)
    assert (least[0, :10] > now[:10] + 0.1).all()
    assert (least[0, 10:20] < now[10:20]).all()


def test_a_bent_leg_that_turns_as_its_row_asks_ends_at_the_limit():
    motion, own, character = lifted_thigh(60.0)
    leg, rotations = legs_of(character)[0], np.array(motion.rotations)
    above = int(character.skeleton.parents[leg.upper])

    def turned(vector):
        turn = rotation.exp(np.broadcast_to(vector, (30, 3)))
        up = Kinematics(motion).rotations[:, above]
        made = np.array(rotations)
        made[:, leg.upper] = rotation.multiply(
            rotation.inverse(up), rotation.multiply(turn, rotation.multiply(up, rotations[:, leg.upper]))
        )
        return motion.like(motion.root, made, motion.offsets)

    start = np.radians([0.0, 80.0, 0.0])
    over = turned(start)
    kinematics = Kinematics(over)
    hip, knee = (kinematics.positions[0, joint] for joint in (leg.upper, leg.lower))
    before = np.degrees(limit_violations(character, over.rotations)[0, leg.upper])
    assert 2.0 < before < 15.0
    (along, least), _ = thigh_rows(kinematics, character, legs_of(character), own)
    # the least turn that takes the thigh towards the row's direction
    vector = np.arcsin(least[0, 0]) * np.cross((knee - hip) / np.linalg.norm(knee - hip), along[0, 0])
    world = rotation.multiply(rotation.exp(vector[None]), rotation.exp(start[None]))
    left = np.degrees(limit_violations(character, turned(rotation.log(world)[0]).rotations)[0, leg.upper])
    assert left < 0.25 * before


def test_a_leg_swivels_for_its_hip_joint_where_its_foot_stays():
    motion, own, character = lifted_thigh(60.0)
    legs, kinematics, rotations = legs_of(character), Kinematics(motion), np.array(motion.rotations)
    leg, frames = legs[0], len(motion)
    hip, ankle = (kinematics.positions[:, joint] for joint in (leg.upper, leg.end))
    turn = rotation.exp(np.radians(75.0) * (hip - ankle) / np.linalg.norm(hip - ankle, axis=1, keepdims=True))
    above = kinematics.rotations[:, int(character.skeleton.parents[leg.upper])]
    world = rotation.multiply(turn, kinematics.rotations[:, leg.upper])
    rotations[:, leg.upper] = rotation.multiply(rotation.inverse(above), world)
    over = Kinematics(motion.like(motion.root, rotations, motion.offsets))
    before = np.degrees(limit_violations(character, rotations)[:, leg.upper])
    assert before.min() > 5.0
    feet = tuple(
        FootCurve(
            over.rotations[:, each.end], np.ones(frames, bool), over.positions[:, each.end],
            lambda at: np.full(len(at), -np.inf),
        )
        for each in legs
    )  # fmt: skip
    rows, _ = thigh_rows(over, character, legs, own)
    left = []
    for settings in (LEG_SETTINGS, replace(LEG_SETTINGS, swivel=1e6)):
        found = solve_legs(over, character, feet, settings=settings, lean=(None, rows)).motion
        ankles = Kinematics(found).positions[:, leg.end]
        assert np.linalg.norm(ankles - over.positions[:, leg.end], axis=1).max() < 1e-6
        left.append(np.degrees(limit_violations(character, found.rotations)[:, leg.upper]).max())
    # without, the hips lean the thigh, which does not help
    assert left[0] < 0.2 * before.min()
    assert left[1] > before.min()


def test_a_search_at_joint_limits_settles(monkeypatch):
    """Footsteps that Blubby's legs just reach: rows of its thighs and shanks came and went up to the last step."""
    searches = []

    def counted(kinematics, character, feet, hands, settings, *others):
        found = solve_legs(kinematics, character, feet, hands, settings, *others)
        searches.append((found, others[1:3], settings.steps + DYNAMICS_SETTINGS.steps))
        return found

    monkeypatch.setattr(planting, "solve_legs", counted)
    retarget(samples.load("walk"), "sample:blubby", keep_footsteps=True, arms=False, measured=False)
    last, (_, rows), most = searches[-1]
    assert any(asked is not None for asked in rows)
    assert last.steps < most
    assert last.missed < 0.001
