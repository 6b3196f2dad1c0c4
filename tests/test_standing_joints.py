"""Ankles and toe joints of feet that stand on heel or ball alone: they stand as in the source."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import footplant
from conftest import shared_data
from footplant import rotation
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import find_contacts
from footplant.edits.retarget import retarget
from footplant.feet.foot_curves import FOOT_SETTINGS, foot_curve
from footplant.feet.stillness import ENDS, JOINTS, JointSteps, joint_steps
from footplant.geometry import Plane
from footplant.humanoid.limits import limit_violations
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.samples import load_character

ANKLE, HEEL, BALL = JOINTS.index("foot"), ENDS.index("heel"), ENDS.index("ball")


def pitched(motion: Motion, foot: int, angles: np.ndarray, axis: str = "x") -> Motion:
    """Turn a foot about its own ankle, radians (F,)."""
    rotations = np.array(motion.rotations)
    rotations[:, foot] = rotation.multiply(rotations[:, foot], rotation.exp(angles[:, None] * rotation.AXES[axis]))
    return motion.like(motion.root, rotations, motion.offsets)


@cache
def on_the_heel(sway: float = 5.0) -> Clip:
    """Somebody who stands with the toes of the left foot 15° up, and pitches it by some degrees about a still ankle."""
    clip = footplant.load("sample:stand")
    motion, foot = clip.motion, clip.character.require_roles()["left_foot"]
    seconds = np.arange(len(motion)) / motion.fps
    angles = np.radians(-15.0 + sway * np.sin(2.0 * np.pi * seconds / 1.2))
    return replace(clip, motion=pitched(motion, foot, angles))


def test_joints_that_stand_are_slow_and_go_nowhere():
    clip = footplant.load("sample:stand")
    steps = joint_steps(clip, Kinematics(clip.motion), 10)
    assert (steps.slow[:, :, :10] == 0.0).all()
    assert steps.slow[:, :, 10:].min() > 0.99
    assert np.abs(steps.moves).max() < 1e-4
    part = steps.part(range(5, 20))
    np.testing.assert_array_equal(part.slow, steps.slow[:, :, 5:19])
    np.testing.assert_array_equal(part.moves, steps.moves[:, :, :, 5:19])


def test_joints_that_swing_are_not():
    clip = footplant.load("sample:walk")
    steps, contacts = joint_steps(clip, Kinematics(clip.motion), 0), find_contacts(clip)
    ankle = Kinematics(clip.motion).positions[:, clip.character.require_roles()["left_foot"]]
    speed = np.linalg.norm(np.diff(ankle, axis=0), axis=1) * clip.motion.fps
    assert steps.slow[0, ANKLE][speed > 0.5].max() == 0.0
    lies = contacts.mask("left_heel") & contacts.mask("left_ball")
    assert np.median(steps.slow[0, ANKLE][lies[1:] & lies[:-1]]) > 0.9


def creeping(feet: float, heel: float) -> JointSteps:
    """The steps of a body that goes forwards at `feet` m/s, and pitches its left foot so that its heel goes at more."""
    clip = footplant.load("sample:stand")
    foot, fps = clip.character.require_roles()["left_foot"], clip.motion.fps
    seconds = np.arange(len(clip.motion)) / fps
    root = clip.motion.root + seconds[:, None] * feet * rotation.AXES["z"]
    still = Kinematics(clip.motion)
    arm = still.positions[0, foot] - still.point(clip.character.contacts["left_heel"])[0]
    moved = clip.motion.like(root, clip.motion.rotations, clip.motion.offsets)
    moved = pitched(moved[:12], foot, -heel / arm[1] * seconds[:12])
    return joint_steps(replace(clip, motion=moved), Kinematics(moved), 0)


@pytest.mark.parametrize(
    ("feet", "heel", "goes"),
    [(0.05, 0.0, 0.0), (0.0, 0.05, 0.0), (0.05, -0.05, 0.05), (0.05, -0.025, 0.025)],
    ids=["all of it creeps", "its heel creeps", "its heel stands", "its heel creeps half as fast"],
)
def test_a_joint_goes_on_as_little_as_the_end_that_is_pinned_asks(feet, heel, goes):
    """In metres per second, of an ankle that is as far from its heel as here."""
    clip = footplant.load("sample:stand")
    heel_at = Kinematics(clip.motion).point(clip.character.contacts["left_heel"])[0]
    ankle = Kinematics(clip.motion).positions[0, clip.character.require_roles()["left_foot"]]
    found = creeping(feet, heel).moves[0, ANKLE, HEEL, 2:-2] * clip.motion.fps * np.linalg.norm(ankle - heel_at)
    np.testing.assert_allclose(found, np.broadcast_to([0.0, 0.0, goes], found.shape), atol=0.003)


@pytest.mark.parametrize("degrees", [2.0, 5.0])
def test_an_ankle_that_stands_does_not_slide_over_a_pinned_heel(degrees):
    clip = on_the_heel(degrees)
    source, character = Kinematics(clip.motion), clip.character
    foot, heel = character.require_roles()["left_foot"], character.contacts["left_heel"]
    plants = [Footplant(point=heel, place=source.point(heel)[0], frames=range(len(clip.motion)))]
    steps, slides = joint_steps(clip, source, 0), []
    for known in (None, steps):
        curve = foot_curve(source, character, "left", plants, Plane((0.0, -1.0, 0.0)), steps=known)
        assert curve.planted.all()
        slides.append(float(np.ptp(curve.places, axis=0).max()))
        # the ankle is where the heel is on its plant
        arm = rotation.rotate(
            rotation.inverse(source.rotations[:, foot]), source.point(heel) - source.positions[:, foot]
        )
        pinned = np.broadcast_to(source.point(heel)[0], arm.shape)
        np.testing.assert_allclose(curve.places + rotation.rotate(curve.rotations, arm), pinned, atol=1e-9)
    assert slides[0] > 0.0015 * degrees
    assert slides[1] < 0.4 * slides[0]


def test_an_ankle_that_stands_does_not_jump_where_the_ball_takes_over_from_the_heel():
    """The ball is planted 2 cm higher: the foot is pitched up by then."""
    clip = footplant.load("sample:stand")
    source, character = Kinematics(clip.motion), clip.character
    heel, ball = (character.contacts[f"left_{end}"] for end in ENDS)
    plants = [
        Footplant(point=heel, place=source.point(heel)[0], frames=range(40)),
        Footplant(point=ball, place=source.point(ball)[0] + [0.0, 0.02, 0.0], frames=range(40, 80)),
    ]
    steps, jumps = joint_steps(clip, source, 0), []
    for known in (None, steps):
        curve = foot_curve(source, character, "left", plants, Plane((0.0, -1.0, 0.0)), steps=known)
        assert curve.planted[:80].all()
        jumps.append(float(np.linalg.norm(np.diff(curve.places[:80], axis=0), axis=1).max()))
    assert jumps[0] > 0.015
    assert jumps[1] < 0.1 * jumps[0]


def test_a_clip_of_one_frame_and_feet_without_toes_have_steps():
    clip = footplant.load("sample:stand")
    short = replace(clip, motion=clip.motion[:1])
    assert joint_steps(short, Kinematics(short.motion), 0).slow.shape == (2, 2, 0)
    whole = joint_steps(clip, Kinematics(clip.motion), 0)
    roles = clip.character.require_roles()
    named = {role: joints for role, joints in roles.joints.items() if not role.endswith("toes")}
    bare = replace(clip, character=replace(clip.character, roles=replace(roles, joints=named)))
    steps = joint_steps(bare, Kinematics(clip.motion), 0)
    assert not steps.slow[:, -1].any()
    np.testing.assert_array_equal(steps.slow[:, ANKLE], whole.slow[:, ANKLE])


def test_rows_of_standing_joints_settle_in_their_rounds():
    clip = on_the_heel()
    source, character = Kinematics(clip.motion), clip.character
    heel = character.contacts["left_heel"]
    plants = [Footplant(point=heel, place=source.point(heel)[0], frames=range(len(clip.motion)))]
    steps, found = joint_steps(clip, source, 0), []
    for rounds in (FOOT_SETTINGS.stand_rounds, 20):
        settings = replace(FOOT_SETTINGS, stand_rounds=rounds)
        curve = foot_curve(source, character, "left", plants, Plane((0.0, -1.0, 0.0)), steps=steps, settings=settings)
        found.append(curve.rotations)
    assert np.degrees(rotation.angle(found[0], found[1])).max() < 0.05


@pytest.mark.parametrize("figure", ["sally", "child", "longlegs"])
def test_a_retarget_keeps_a_still_ankle_over_a_heel_that_creeps(figure, monkeypatch):
    clip, target = on_the_heel(), load_character(figure)
    contacts = find_contacts(clip)
    held = [plant for plant in contacts.plants if plant.point == "left_heel"]
    heel = replace(held[0], start=0, end=len(clip.motion)) if held else None
    assert heel is not None
    kept = tuple(plant for plant in contacts.plants if not plant.point.startswith("left"))
    contacts, slides = replace(contacts, plants=(heel, *kept)), []
    for known in (joint_steps, lambda *_: None):
        monkeypatch.setattr("footplant.edits.retarget.joint_steps", known)
        motion = retarget(clip, target, contacts=contacts, measured=False).motion
        ankle = Kinematics(motion).positions[:, target.require_roles()["left_foot"]]
        slides.append(float(np.ptp(ankle[10:-10], axis=0).max()) / target.height)
    assert slides[0] < 0.002
    assert slides[1] > 0.004


def test_rows_of_standing_joints_have_their_derivatives():
    from footplant.feet import _standing as kernel

    random = np.random.default_rng(3)
    rows = np.array([0, 1, 1, 3])
    before, after, moves = (0.1 * random.normal(size=(4, 3)) for _ in range(3))
    weights = random.uniform(0.5, 2.0, 4)
    # turns from nothing to past a half
    x = random.normal(size=(5, 3)) * np.array([0.0, 1e-3, 0.3, 1.0, 2.0])[:, None]
    squares, vectors, ties = np.zeros((5, 3, 3)), np.zeros((5, 3)), np.zeros((4, 3, 3))
    kernel.add_rows(rows, before, after, moves, weights, x, squares, vectors, ties)
    slope = np.einsum("nij,nj->ni", squares, x) - vectors
    slope[1:] += np.einsum("nij,nj->ni", ties, x[:-1])
    slope[:-1] += np.einsum("nji,nj->ni", ties, x[1:])

    def cost(at: np.ndarray) -> float:
        return kernel.cost(rows, before, after, moves, weights, at)

    step, found = 1e-6, np.empty_like(x)
    for index in np.ndindex(*x.shape):
        change = np.zeros_like(x)
        change[index] = step
        found[index] = (cost(x + change) - cost(x - change)) / (2.0 * step)
    np.testing.assert_allclose(2.0 * slope, found, atol=1e-7)


def test_a_foot_that_trembles_on_its_tip_does_not_swing():
    """Whole steps of rows that cannot be met, as of a capture that twists its foot by 15° a frame, swing to and fro."""
    clip = footplant.load(shared_data("bvh/cmu/05_02.bvh"))
    target = footplant.load_character(shared_data("gltf/CesiumMan.glb"))
    made = retarget(clip, target, measured=False)
    assert made.unsolved is not None
    foot = target.require_roles()["left_foot"]
    added = limit_violations(target, made.motion.rotations) - limit_violations(target, made.unsolved.motion.rotations)
    assert np.degrees(added[:, foot].max()) < 2.0
