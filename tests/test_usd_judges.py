"""USD compared with usd-core itself: joints and skinned points at every frame, and all its validators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import footplant
from conftest import shared_data, shared_files
from footplant import Clip, Kinematics, rest_motion, samples
from footplant.io import usd
from footplant.io.conversion import clip_from_raw
from usd_made import ARM, read, take_of, validation_errors, worst_joint, worst_turn, worst_vertex, write

FILES = shared_files("usd/*.usd*")
NEAR = 1e-6
"""Metres: rounding of 32-bit numbers over a character's size."""

ANIMATED_PLACE = ARM.replace(
    "double3 xformOp:translate = (10, 20, 30)",
    "double3 xformOp:translate.timeSamples = {1: (10, 20, 30), 2: (-5, 0, 7), 3: (1, 2, 3)}\n"
    "    float xformOp:rotateY.timeSamples = {1: 0, 3: 90}\n    float3 xformOp:scale = (2, 2, 2)",
).replace('["xformOp:translate"]', '["xformOp:translate", "xformOp:rotateY", "xformOp:scale"]')
VARIANTS = {
    "plain": ARM,
    "place that moves, turns and scales": ANIMATED_PLACE,
    "uniform scale": ARM.replace("(1,1,1), (1,1,1)]", "(0.5,0.5,0.5), (2,2,2)]"),
    "uneven scale": ARM.replace("(1,1,1), (1,1,1)]", "(0.5,1,2), (1,2,1.5)]"),
    "mirror": ARM.replace("(1,1,1), (1,1,1)]", "(1,1,1), (-1,1,1)]"),
    "animation inherited": ARM.replace("        rel skel:animationSource = </Model/Anim>\n", "").replace(
        "    double3 xformOp:translate = ",
        "    rel skel:animationSource = </Model/Anim>\n    double3 xformOp:translate = ",
    ),
    "several roots": ARM.replace('"Hip", "Hip/Knee", "Hip/Knee/Foot"', '"Hip", "Hip/Knee", "Foot"'),
    "joints of the mesh in another order": ARM.replace(
        "        rel skel:skeleton", '        uniform token[] skel:joints = ["Hip/Knee/Foot", "Hip", "Hip/Knee"]\n'
        "        rel skel:skeleton",
    ),
    "rigid mesh": ARM.replace("[0,1, 0,1, 0,1, 0,1, 1,2, 1,2, 2,0, 2,0] (\n            interpolation = \"vertex\"",
        "[1,2] (\n            interpolation = \"constant\"").replace(
        "[1,0, 0.75,0.25, 0.5,0.5, 1,0, 0.5,0.5, 0.25,0.75, 1,0, 1,0] (\n            interpolation = \"vertex\"",
        "[0.25,0.75] (\n            interpolation = \"constant\""),
    "bound elsewhere than at rest": ARM.replace("(0,2,0,1)),", "(1,2,0,1)),", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_joints_and_vertices_match_usd_core(tmp_path, name):
    path = write(tmp_path, VARIANTS[name])
    figure, motion = read(path)
    assert len(motion) == 3
    assert worst_joint(path, figure, motion) < NEAR
    if name != "uneven scale":  # our joints cannot shear a mesh
        assert worst_vertex(path, figure, motion) < NEAR


@pytest.mark.parametrize(
    "name", ["plain", "place that moves, turns and scales", "uniform scale", "animation inherited"]
)
def test_joint_rotations_match_usd_core(tmp_path, name):
    path = write(tmp_path, VARIANTS[name])
    assert worst_turn(path, *read(path)) < 1e-6


@pytest.mark.parametrize("name", VARIANTS)
def test_an_edit_matches_our_kinematics(tmp_path, name):
    path, out = write(tmp_path, VARIANTS[name]), tmp_path / "edit.usda"
    clip = clip_from_raw(usd.load(path, isolated=False)[0], path)
    shift = 0.02 * np.random.default_rng(1).normal(size=(1, 1 + len(clip.motion.skeleton), 3))
    edit = replace(clip, motion=clip.motion + shift * np.linspace(1, 10, len(clip.motion))[:, None, None])
    usd.save(out, edit)
    figure, motion = read(out)
    assert worst_joint(out, figure, motion) < NEAR
    if name != "uneven scale":
        assert worst_vertex(out, figure, motion) < NEAR
    again = clip_from_raw(figure, out).motion
    first = 1 if name == "several roots" else 0  # a root that the file has not stays where it was
    ours, theirs = Kinematics(edit.motion).positions[:, first:], Kinematics(again).positions[:, first:]
    np.testing.assert_allclose(theirs, ours, atol=NEAR)
    assert validation_errors(out) <= validation_errors(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files_match_usd_core(path):
    figure, motion = read(path)
    assert worst_joint(path, figure, motion) < NEAR
    if figure.skin is not None:
        assert worst_vertex(path, figure, motion) < NEAR


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("kind", [".usda", ".usdc", ".usdz"])
def test_edits_of_real_files_are_valid_and_match_usd_core(path, kind, tmp_path):
    out = tmp_path / f"edit{kind}"
    clip = clip_from_raw(usd.load(path, isolated=False)[0], path)
    motion = clip.motion if len(clip.motion) > 1 else rest_motion(clip.motion.skeleton, 12, 29.97)
    shift = 0.05 * np.random.default_rng(0).normal(size=(1, 1 + len(motion.skeleton), 3))
    edit = replace(clip, motion=motion + shift * np.linspace(0, 3, len(motion))[:, None, None])
    usd.save(out, edit)
    figure, raw = read(out)
    assert worst_joint(out, figure, raw) < NEAR
    if figure.skin is not None:
        assert worst_vertex(out, figure, raw) < NEAR
        np.testing.assert_array_equal(figure.skin.vertices, usd.load(path, isolated=False)[0].skin.vertices)
    assert validation_errors(out) <= validation_errors(path)
    again = clip_from_raw(figure, out).motion
    assert again.fps == edit.motion.fps
    first = 0 if figure.source.character.order[0] >= 0 else 1
    ours, theirs = Kinematics(edit.motion).positions[:, first:], Kinematics(again).positions[:, first:]
    np.testing.assert_allclose(theirs, ours, atol=1e-5)


@pytest.mark.parametrize("kind", [".usda", ".usdc", ".usd", ".usdz"])
def test_new_files_are_valid_and_match_usd_core(kind, tmp_path):
    path = tmp_path / f"walk{kind}"
    clip = samples.load("walk")
    clip = replace(clip, motion=clip.motion[:60])
    usd.save(path, clip)
    assert not validation_errors(path)
    figure, motion = read(path)
    assert worst_joint(path, figure, motion) < NEAR
    assert worst_turn(path, figure, motion) < 1e-6
    assert worst_vertex(path, figure, motion, every=7) < 2 * NEAR
    np.testing.assert_allclose(Kinematics(motion).positions, Kinematics(clip.motion).positions, atol=NEAR)


def test_usd_core_reads_the_extent_rate_and_range_that_we_write(tmp_path):
    from pxr import Usd, UsdGeom, UsdSkel

    path = tmp_path / "walk.usda"
    clip = samples.load("walk")
    usd.save(path, replace(clip, motion=clip.motion[:31]))
    stage = Usd.Stage.Open(str(path))
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == clip.motion.fps
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 30.0)
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    root = stage.GetDefaultPrim()
    assert root.IsA(UsdSkel.Root)
    assert Usd.ModelAPI(root).GetKind() == "component"
    low, high = np.array(UsdSkel.Root(root).GetExtentAttr().Get())
    figure, motion = read(path)
    points = footplant.skinning.linear_blend(figure.skin, Kinematics(motion[::10]))
    assert (points >= low - 1e-6).all()
    assert (points <= high + 1e-6).all()


@pytest.mark.named("usd/soma_human_skinned.usd")
def test_the_skinned_human_is_read_as_a_person(shared):
    path = shared_data("usd", "soma_human_skinned.usd")
    clip = footplant.load(path)
    assert isinstance(clip, Clip)
    assert 1.6 < clip.character.height < 1.95
    assert clip.conversion.units == "cm"
    roles = clip.character.require_roles()
    names = clip.motion.skeleton.names
    expected = {
        "hips": "Hips", "head": "Head", "left_upper_leg": "LeftLeg", "left_lower_leg": "LeftShin",
        "left_foot": "LeftFoot", "left_toes": "LeftToeBase", "right_upper_arm": "RightArm",
        "right_lower_arm": "RightForeArm", "right_hand": "RightHand", "left_clavicle": "LeftShoulder",
    }  # fmt: skip
    assert {role: names[roles[role]] for role in expected} == expected
    assert clip.character.skin is not None
    assert len(clip.character.skin.vertices) == 18056
    assert take_of(usd.load(path, isolated=False)[0]).rotations.shape == (1, 78, 4)
