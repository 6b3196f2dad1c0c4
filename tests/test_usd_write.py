"""Writing USD: round trips, what is preserved of a loaded stage, and atomic writing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import footplant
from footplant import (
    Character,
    Clip,
    FormatError,
    Kinematics,
    Motion,
    Skeleton,
    SkeletonError,
    rest_motion,
    samples,
    skinning,
)
from footplant.io import usd
from footplant.io.conversion import clip_from_raw
from footplant.io.source import pack_source
from footplant.io.usd import package
from random_figures import random_motion
from usd_made import ARM, read, take_of, validation_errors, write

KINDS = [".usda", ".usdc", ".usd", ".usdz"]


def load(path, take: int = 0) -> Clip:
    return clip_from_raw(usd.load(path, isolated=False)[0], path, take=take)


def turned(clip: Clip) -> Clip:
    """Return the clip, twice as long, with every joint rotated increasingly."""
    count = len(clip.motion.skeleton)
    motion = clip.motion if len(clip.motion) > 1 else rest_motion(clip.motion.skeleton, 4, 25.0)
    shift = np.random.default_rng(0).normal(size=(1, 1 + count, 3)) * 0.1
    return replace(clip, motion=motion + shift * np.linspace(0.5, 1, len(motion))[:, None, None])


def same_positions(a: Motion, b: Motion, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(Kinematics(a).positions, Kinematics(b).positions, atol=tolerance)
    np.testing.assert_allclose(Kinematics(a).ends, Kinematics(b).ends, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_a_walking_mannequin_round_trips(tmp_path, kind):
    clip, path = samples.load("walk"), tmp_path / f"walk{kind}"
    footplant.save(path, clip)
    again = footplant.load(path, isolated=False)
    assert again.motion.fps == clip.motion.fps
    assert again.motion.offsets is None
    assert again.name == "walk"
    assert again.character.name == clip.character.name
    assert again.motion.skeleton.names == clip.motion.skeleton.names
    same_positions(again.motion, clip.motion, 1e-6)
    np.testing.assert_allclose(again.motion.skeleton.rest_world[0], clip.motion.skeleton.rest_world[0], atol=1e-6)
    before, after = clip.character.skin, again.character.skin
    np.testing.assert_array_equal(after.faces, before.faces)
    np.testing.assert_allclose(after.vertices, before.vertices, atol=1e-6)
    np.testing.assert_allclose(after.normals, before.normals, atol=1e-6)
    some = clip.motion[::100]
    ours, theirs = (skinning.linear_blend(skin, Kinematics(some)) for skin in (before, after))
    np.testing.assert_allclose(theirs, ours, atol=1e-5)
    dense = [np.zeros((len(skin.vertices), len(clip.motion.skeleton))) for skin in (before, after)]
    for table, skin in zip(dense, (before, after)):
        np.add.at(table, (np.arange(len(table))[:, None], skin.joints), skin.weights)
    np.testing.assert_allclose(dense[1], dense[0], atol=1e-6)


@pytest.mark.parametrize("name", ["bvh/cmu/35_01.bvh", "gltf/CesiumMan.glb", "gltf/RobotExpressive.glb"])
@pytest.mark.named("{name}")
@pytest.mark.quick
def test_real_clips_round_trip(tmp_path, shared, name):
    source = shared / name
    if not source.exists():
        pytest.skip(f"{name} is not among the real clips")
    clip = footplant.load(source)
    footplant.save(tmp_path / "out.usdc", clip)
    again = footplant.load(tmp_path / "out.usdc", isolated=False)
    assert again.motion.fps == clip.motion.fps
    same_positions(again.motion, clip.motion)
    assert not validation_errors(tmp_path / "out.usdc")
    if clip.character.skin is not None:
        some = slice(None, None, max(1, len(clip.motion) // 5))
        ours = skinning.linear_blend(clip.character.skin, Kinematics(clip.motion[some]))
        theirs = skinning.linear_blend(again.character.skin, Kinematics(again.motion[some]))
        np.testing.assert_allclose(theirs, ours, atol=1e-5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    frames=st.integers(1, 6),
    joints=st.integers(1, 14),
    seed=st.integers(0, 10**6),
    fps=st.sampled_from([12.5, 23.976, 24.0, 29.97, 30.0, 59.94, 119.88, 240.0]) | st.floats(1.0, 1000.0),
    moving=st.booleans(),
    kind=st.sampled_from(KINDS),
)
def test_random_characters_round_trip(tmp_path, frames, joints, seed, fps, moving, kind):
    motion = random_motion(frames, joints, seed, fps=fps)
    if moving and joints > 1:
        offsets = motion.skeleton.offsets + np.random.default_rng(seed).normal(size=(frames, joints, 3))
        motion = replace(motion, offsets=offsets)
    path = tmp_path / f"random{kind}"
    usd.save(path, Clip(motion, Character(motion.skeleton, name="some one")))
    figure, again = read(path)
    assert again.skeleton.names == motion.skeleton.names
    assert again.skeleton.parents.tolist() == motion.skeleton.parents.tolist()
    assert len(again) == len(motion)
    assert again.fps == fps
    size = 1 + np.abs(Kinematics(motion).positions).max()
    same_positions(again, motion, 1e-6 * size * joints)
    np.testing.assert_allclose(figure.skeleton.rest_world[0], motion.skeleton.rest_world[0], atol=1e-9 * size)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=8, unique=True))
@pytest.mark.quick
def test_any_names_round_trip(tmp_path, names):
    names = [name.replace("\0", "0").encode("utf-8", "replace").decode() for name in names]
    if len(set(names)) < len(names):
        return
    count = len(names)
    skeleton = Skeleton(tuple(names), np.arange(-1, count - 1), np.ones((count, 3)))
    path = tmp_path / "names.usda"
    usd.save(path, Clip(rest_motion(skeleton, 2), Character(skeleton, name=names[0]), name=names[-1]))
    assert read(path)[0].skeleton.names == tuple(names)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unmodified_clip_is_copied_byte_for_byte(tmp_path, kind):
    first, second = tmp_path / f"first{kind}", tmp_path / f"second{kind}"
    clip = samples.load("walk")
    usd.save(first, replace(clip, motion=clip.motion[:20]))
    usd.save(second, load(first))
    assert second.read_bytes() == first.read_bytes()


def test_the_same_clip_in_another_container_has_the_same_stage(tmp_path):
    path, other = write(tmp_path), tmp_path / "made.usdc"
    usd.save(other, load(path))
    assert _text(other) == _text(path)


def _text(path) -> str:
    from pxr import Sdf

    return Sdf.Layer.FindOrOpen(str(path)).ExportToString()


RICH = ARM.replace(
    "    def Mesh",
    """    def Material "Skin"
    {
        asset inputs:picture = @textures/skin.png@
        token outputs:surface
    }

    def Mesh""",
).replace(
    'kind = "component"',
    'kind = "component"\n    variants = {\n        string look = "red"\n    }\n    prepend variantSets = "look"\n    '
    'customData = {\n        string note = "kept"\n    }',
).replace(
    "    double3 xformOp:translate",
    '    variantSet "look" = {\n        "red" {\n            custom int red = 1\n        }\n        "blue" {\n'
    "            custom int red = 0\n        }\n    }\n    double3 xformOp:translate",
).replace(
    '        uniform token[] joints = ["Hip/Knee", "Hip"]',
    '        uniform token[] blendShapes = ["smile"]\n        float[] blendShapeWeights = [0.5]\n'
    '        uniform token[] joints = ["Hip/Knee", "Hip"]',
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_keeps_everything_of_its_stage(tmp_path, kind):
    from pxr import Sdf, Usd

    path, out = write(tmp_path, RICH), tmp_path / f"out{kind}"
    (tmp_path / "textures").mkdir()
    (tmp_path / "textures" / "skin.png").write_bytes(b"picture")
    clip = turned(load(path))
    usd.save(out, clip)
    stage = Usd.Stage.Open(str(out))
    root = stage.GetPrimAtPath("/Model")
    assert root.GetVariantSets().GetVariantSet("look").GetVariantNames() == ["blue", "red"]
    assert root.GetAttribute("red").Get() == 1
    assert root.GetCustomDataByKey("note") == "kept"
    assert stage.GetPrimAtPath("/Model/Skin").GetAttribute("inputs:picture").Get().path == "textures/skin.png"
    animation = stage.GetPrimAtPath("/Model/Anim")
    assert list(animation.GetAttribute("blendShapeWeights").Get()) == [0.5]
    assert stage.GetStartTimeCode() == 1.0
    mesh = stage.GetPrimAtPath("/Model/Body")
    original = Usd.Stage.Open(str(path))
    for attribute in original.GetPrimAtPath("/Model/Body").GetAuthoredAttributes():
        assert mesh.GetAttribute(attribute.GetName()).Get() == attribute.Get()
    same_positions(load(out).motion, clip.motion)
    if kind == ".usdz":
        assert dict(package.entries(out, out.read_bytes()))["textures/skin.png"] == b"picture"
        assert isinstance(stage.GetRootLayer(), Sdf.Layer)


def test_a_motion_from_elsewhere_becomes_a_new_animation(tmp_path):
    path, out = write(tmp_path), tmp_path / "out.usda"
    clip = replace(turned(load(path)), takes=(), name="my walk")
    usd.save(out, clip)
    figure, motion = read(out)
    assert [take.name for take in figure.takes] == ["my_walk", "Anim"]
    same_positions(load(out).motion, clip.motion)
    assert motion.fps == clip.motion.fps
    same_positions(load(out, take=1).motion, load(path).motion)


def test_a_slower_motion_keeps_the_stage_s_time_codes(tmp_path):
    from pxr import Usd

    path, out = write(tmp_path), tmp_path / "out.usda"
    clip = load(path)
    slow = replace(clip, motion=replace(turned(clip).motion, fps=23.976))
    usd.save(out, slow)
    assert Usd.Stage.Open(str(out)).GetTimeCodesPerSecond() == 24.0
    assert load(out).motion.fps == 23.976


def test_an_animation_that_two_skeletons_share_is_not_changed_for_both(tmp_path):
    other = ARM[ARM.index("    def Skeleton") : ARM.index("    def SkelAnimation")].replace('"Skel"', '"Twin"')
    path, out = (
        write(tmp_path, ARM.replace("    def SkelAnimation", other + "    def SkelAnimation")),
        tmp_path / "out.usda",
    )
    clip = turned(load(path))
    usd.save(out, clip)
    one, twin = usd.load(out, isolated=False)
    same_positions(clip_from_raw(one, out).motion, clip.motion)
    np.testing.assert_allclose(take_of(twin).rotations, take_of(usd.load(path, isolated=False)[1]).rotations, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stage_of_several_layers_is_flattened_in_another_folder(tmp_path, kind):
    (tmp_path / "parts").mkdir()
    (tmp_path / "new").mkdir()
    write(tmp_path / "parts", RICH, "leg.usda")
    (tmp_path / "parts" / "textures").mkdir()
    (tmp_path / "parts" / "textures" / "skin.png").write_bytes(b"picture")
    text = '#usda 1.0\n(\n    metersPerUnit = 0.01\n    defaultPrim = "Model"\n)\n'
    text += 'def "Model" (\n    references = @parts/leg.usda@</Model>\n)\n{\n}\n'
    path = write(tmp_path, text, "main.usda")
    clip = turned(load(path))
    for out in (tmp_path / f"beside{kind}", tmp_path / "new" / f"away{kind}"):
        usd.save(out, clip)
        again = load(out)
        same_positions(again.motion, clip.motion)
        assert len(again.character.skin.vertices) == 8
        if kind == ".usdz":
            assert b"picture" in [content for _, content in package.entries(out, out.read_bytes())]


def test_a_package_as_source(tmp_path):
    path = tmp_path / "made.usdz"
    path.write_bytes(package.pack([("made.usda", RICH.encode()), ("textures/skin.png", b"picture")]))
    clip = turned(load(path))
    usd.save(tmp_path / "out.usdz", clip)
    same_positions(load(tmp_path / "out.usdz").motion, clip.motion)
    assert ("textures/skin.png", b"picture") in package.entries(path, (tmp_path / "out.usdz").read_bytes())
    usd.save(tmp_path / "out.usda", clip)
    same_positions(load(tmp_path / "out.usda").motion, clip.motion)
    assert "made.usdz[textures/skin.png]" in (tmp_path / "out.usda").read_text()


def test_pictures_outside_the_folder_are_not_packed(tmp_path):
    (tmp_path / "inside").mkdir()
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    for name in ("../secret.txt", str(secret)):
        path = write(tmp_path / "inside", RICH.replace("textures/skin.png", name))
        usd.save(tmp_path / "inside" / "out.usdz", turned(load(path)))
        assert b"secret\n" not in (tmp_path / "inside" / "out.usdz").read_bytes()
        assert len(package.entries(path, (tmp_path / "inside" / "out.usdz").read_bytes())) == 1


def test_the_source_may_be_gone_or_overwritten(tmp_path):
    path = write(tmp_path)
    clip = turned(load(path))
    usd.save(path, clip)
    same_positions(load(path).motion, clip.motion)
    again = turned(load(path))
    path.unlink()
    usd.save(path, again)
    same_positions(load(path).motion, again.motion)


def test_other_proportions_are_written_onto_the_stage(tmp_path):
    path, out = write(tmp_path), tmp_path / "out.usda"
    clip = load(path)
    longer = replace(clip.motion.skeleton, offsets=clip.motion.skeleton.offsets * [[1, 1, 1], [1, 2, 1], [1, 0.5, 1]])
    clip = replace(
        clip, motion=replace(clip.motion, skeleton=longer), character=replace(clip.character, skeleton=longer)
    )
    usd.save(out, clip)
    same_positions(load(out).motion, clip.motion)


def test_files_are_written_atomically(tmp_path, monkeypatch):
    path = tmp_path / "walk.usda"
    path.write_text("before")
    clip = samples.load("walk")
    clip = replace(clip, motion=clip.motion[:2])

    def fail(*_):
        raise OSError("no room")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no room"):
        usd.save(path, clip)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_unwritable_clips_are_reported(tmp_path):
    clip = samples.load("walk")
    with pytest.raises(FormatError, match="empty"):
        usd.save(tmp_path / "a.usda", replace(clip, motion=clip.motion[:0]))
    other = replace(clip.motion.skeleton, names=tuple(f"{name}_" for name in clip.motion.skeleton.names))
    with pytest.raises(SkeletonError, match="expected a motion of the 22 joints of"):
        usd.save(tmp_path / "a.usda", replace(clip, character=replace(clip.character, skeleton=other)))
    with pytest.raises(FormatError):
        usd.save(tmp_path / "nowhere" / "a.usda", clip)


@pytest.mark.parametrize("text", [ARM, RICH])
def test_a_packed_source_is_complete_and_can_be_written_onto(tmp_path, text):
    path = write(tmp_path, text)
    (tmp_path / "textures").mkdir()
    (tmp_path / "textures" / "skin.png").write_bytes(b"picture")
    clip = turned(load(path))
    packed = pack_source(clip.character.source)
    assert pack_source("something else") is None
    assert packed.extension == (".usdz" if text == RICH else ".usda")
    assert packed.carries == (("materials", "variants") if text == RICH else ())
    source = usd.unpack_source(packed, clip.character.skeleton)
    assert source is not None
    usd.save(tmp_path / "out.usdz", replace(clip, character=replace(clip.character, source=source)))
    same_positions(load(tmp_path / "out.usdz").motion, clip.motion)
    files = dict(package.entries(path, (tmp_path / "out.usdz").read_bytes()))
    assert files.get("textures/skin.png") == (b"picture" if text == RICH else None)
