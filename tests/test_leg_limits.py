"""Ankles of planted feet and hip joints within their limits: the rows' gradients, and the twist handed to the knee."""

import numpy as np
import pytest

from footplant import rotation, samples
from footplant.humanoid.limits import anatomical_turn_derivatives, anatomical_turns_of, limit_violations
from footplant.kinematics import Kinematics
from footplant.solve.leg_limits import lean_gradients, shank_rows, thigh_rows, twist_shanks
from footplant.solve.legs import FootCurve, LegSettings, legs_of, solve_legs


def test_gradients_are_those_of_the_posed_knee():
    rng = np.random.default_rng(3)
    leg, thigh, shank = np.array([0.1, 0.7, -0.05]), 0.45, 0.42

    def lean(vector, unit, ahead, towards):
        far = np.linalg.norm(vector)
        along = (far**2 + shank**2 - thigh**2) / (2 * far)
        turned = rotation.rotate(rotation.between(unit[None], vector[None]), ahead[None])[0]
        return ((along * vector / far + np.sqrt(shank**2 - along**2) * turned) / shank) @ towards

    unit = leg / np.linalg.norm(leg)
    ahead = np.cross(unit, [1.0, 0.0, 0.0])
    ahead /= np.linalg.norm(ahead)
    along = (leg @ leg + shank**2 - thigh**2) / (2 * np.linalg.norm(leg))
    knee = along * unit + np.sqrt(shank**2 - along**2) * ahead
    assert np.linalg.norm(leg - knee) == pytest.approx(thigh)
    towards = rng.normal(size=3)
    found = lean_gradients(leg[None], knee[None], towards[None])[0]
    step = 1e-6
    for axis in range(3):
        moved = [leg + sign * step * np.eye(3)[axis] for sign in (1, -1)]
        slope = (lean(moved[0], unit, ahead, towards) - lean(moved[1], unit, ahead, towards)) / (2 * step)
        assert found[axis] == pytest.approx(slope, abs=1e-5)


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
    twisted = twist_shanks(motion, character, legs, own)
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
    vector = Kinematics(motion).positions[:, legs[0].upper] - Kinematics(motion).positions[:, legs[0].end]
    assert (least[0] > (directions[0] * vector).sum(axis=1)).all()
    assert shank_rows(Kinematics(motion), character, legs, ~planted, own) == (None, False)


def test_derivatives_of_anatomical_turns_are_those_of_finite_differences():
    clip = samples.load("walk")
    joint = clip.character.roles["left_upper_leg"]
    local = np.concatenate([clip.motion.rotations[:40:7, joint], rotation.identity(1)])
    found, step = anatomical_turn_derivatives(clip.character, joint, local), 1e-6
    for axis in range(3):
        sides = [
            anatomical_turns_of(
                clip.character, joint, rotation.multiply(rotation.exp(sign * step * np.eye(3)[axis]), local)
            )
            for sign in (1.0, -1.0)
        ]
        np.testing.assert_allclose(found[:, :, axis], (sides[0] - sides[1]) / (2.0 * step), atol=1e-5)


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
    found = solve_legs(kinematics, character, feet, settings=LegSettings(push=100.0), lean=(None, rows)).motion
    assert np.degrees(limit_violations(character, found.rotations)[:, hip].max()) < 2.0


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
    vector = kinematics.positions[:, legs[0].upper] - kinematics.positions[:, legs[0].end]
    # 10° are left to the limit
    assert (least[0] < (along[0] * vector).sum(axis=1) - 0.01).all()
    assert np.isfinite(least[0]).all()
