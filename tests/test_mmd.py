"""MMD: models and motions of our own making, against three.js and against what is known of them."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

import footplant
from footplant.errors import FormatError
from footplant.io.mmd.pmx import read_pmx
from footplant.io.mmd.pose import Pose
from footplant.io.mmd.translate import METRES
from footplant.io.mmd.vmd import read_vmd
from footplant.kinematics import Kinematics
from footplant.skinning import linear_blend
from mmd_made import dance, dressed_model, pmx_bytes, vmd_bytes
from node_env import run_node
from test_looks import png

STILL = (0.0, 0.0, 0.0, 1.0)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "made.pmx").write_bytes(pmx_bytes(dressed_model("tex\\skin.png")))
    (tmp_path / "made.vmd").write_bytes(
        vmd_bytes(dance(), bytes([30, 20, 0, 0, 5, 20, 40, 10, 100, 107, 90, 80, 120, 107, 100, 127]))
    )
    (tmp_path / "tex").mkdir()
    (tmp_path / "tex" / "SKIN.png").write_bytes(png((200, 100, 50)))
    return tmp_path


def test_model(folder):
    clip = footplant.load(folder / "made.pmx")
    skin, names = clip.character.skin, clip.motion.skeleton.names
    assert clip.notes == ()
    assert clip.contents == {
        "meshes": 2, "skins": 1, "materials": 2, "textures": 1, "morph targets": 1, "cameras": 0, "lights": 0,
        "takes": 0,
    }  # fmt: skip
    assert not any("ＩＫ" in name or name in ("全ての親", "センター", "左足D", "左肩P") for name in names)
    assert [names[0], names[clip.motion.skeleton.parents[names.index("上半身")]]] == ["下半身"] * 2
    roles = clip.character.roles
    expected = {
        "hips": "下半身", "head": "頭", "neck": "首", "left_clavicle": "左肩", "left_upper_arm": "左腕",
        "right_lower_arm": "右ひじ", "left_hand": "左手首", "left_upper_leg": "左足", "right_lower_leg": "右ひざ",
        "left_foot": "左足首",
    }  # fmt: skip
    assert {role: names[roles[role]] for role in expected} == expected
    # faces +z, right-handed: the left arm is at +x, toes point to +z
    places = Kinematics(clip.motion).positions[0]
    assert places[names.index("左腕"), 0] > 0.1 > -0.1 > places[names.index("右腕"), 0]
    assert places[names.index("左つま先"), 2] - places[names.index("左足首"), 2] > 0.05
    model = dressed_model()
    np.testing.assert_allclose(places[names.index("左手首")], dressed_place(model, "左手首"), atol=1e-6)
    normals = np.cross(*(skin.vertices[skin.faces[0, n]] - skin.vertices[skin.faces[0, 0]] for n in (1, 2)))
    corners = model.places[model.faces[0]]
    left_handed = np.cross(corners[1] - corners[0], corners[2] - corners[0]) * [1, 1, -1]
    assert normals @ left_handed > 0, "mirrored triangles face the same way"


def dressed_place(model, name):
    return next(bone.place for bone in model.bones if bone.name == name) * [1, 1, -1] * METRES


def test_motion_as_in_three_js(folder):
    """Keys with curves, granted turns, legs by inverse kinematics: every joint where three.js has its bone."""
    clip = footplant.load(folder / "made.vmd")
    judged = run_node("mmd_positions.mjs", {"pmx": str(folder / "made.pmx"), "vmd": str(folder / "made.vmd")})
    places, theirs = Kinematics(clip.motion).positions / METRES, np.array(judged["frames"])
    assert (len(clip.motion), clip.motion.fps) == (len(theirs), 30.0)
    assert judged["counts"]["vertexCount"] == len(judged["rest"]) == len(dressed_model().places)
    for joint, name in enumerate(clip.motion.skeleton.names):
        apart = np.linalg.norm(places[:, joint] - theirs[:, judged["bones"].index(name)], axis=1)
        # in units of 8 cm; three.js solves legs by rounds, and sets granted turns of its first frame a frame late
        assert apart[1:].max() < 0.01, (name, apart.max())
    feet = [clip.motion.skeleton.names.index(name) for name in ("左足首", "右足首")]
    goals = np.stack([theirs[:, judged["bones"].index(name)] for name in ("左足ＩＫ", "右足ＩＫ")], axis=1)
    assert np.abs(places[-1, feet] - goals[-1]).max() < 1e-3, "ankles are where their IK bones are, if in reach"


def test_vertices_follow_copied_bones(folder):
    """Vertices on 足D and ひざD move as if on 足 and ひざ."""
    clip = footplant.load(folder / "made.vmd")
    names, skin = clip.motion.skeleton.names, clip.character.skin
    shin = names.index("左ひざ")
    own = np.flatnonzero((skin.joints[:, 0] == shin) & (skin.weights[:, 0] == 1.0))
    assert len(own)
    kinematics = Kinematics(clip.motion)
    moved = linear_blend(skin, kinematics)
    turns = footplant.rotation.to_matrix(kinematics.rotations[:, shin])
    local = [(moved[frame, own] - kinematics.positions[frame, shin]) @ turns[frame] for frame in (0, 20)]
    np.testing.assert_allclose(local[0], local[1], atol=1e-6)


def test_motion_without_its_model(tmp_path):
    path = tmp_path / "dance.vmd"
    path.write_bytes(vmd_bytes(dance()))
    clip = footplant.load(path)
    assert any("--skeleton" in note for note in clip.notes)
    assert clip.character.height == pytest.approx(1.6, abs=0.05)
    (tmp_path / "a.pmx").write_bytes(pmx_bytes(dressed_model(), encoding=1, bone=1))
    assert footplant.load(path).character.skin is not None
    (tmp_path / "b.pmx").write_bytes(pmx_bytes(dressed_model()))
    assert footplant.load(path).character.skin is None, "which of two is not known"
    assert footplant.load(path, skeleton=tmp_path / "b.pmx").character.skin is not None


@pytest.mark.quick
def test_inverse_kinematics_switched_off():
    """From the frame where it is off, the leg has the turns of its keys."""
    keys = {"左足ＩＫ": [(0, (0, 2, -1), STILL)], "左足": [(0, (0, 0, 0), STILL)], "右足": [(10, (0, 0, 0), STILL)]}
    switches = [(0, "左足ＩＫ", True), (6, "左足ＩＫ", False)]
    pose = Pose(dressed_model().bones, read_vmd(vmd_bytes(keys, switches=switches)))
    pose.solve()
    names = [bone.name for bone in dressed_model().bones]
    knee = pose.turns[names.index("左ひざ")]
    assert (np.abs(knee[:6, 1]) > 0.1).all()
    np.testing.assert_allclose(knee[6:, 0], 1.0)


@pytest.mark.quick
def test_kinds_of_indices_and_of_vertices():
    made = dressed_model()
    for encoding, bone, vertex in ((0, 1, 2), (1, 2, 4), (0, 4, 2)):
        again = read_pmx(pmx_bytes(made, encoding, bone, vertex))
        np.testing.assert_allclose(again.places, made.places, atol=1e-5)
        np.testing.assert_allclose(again.weights, made.weights, atol=1e-6)
        used = made.weights > 0
        np.testing.assert_array_equal(again.influences[used], made.influences[used])
        np.testing.assert_array_equal(again.faces, made.faces)
        assert [(b.name, b.parent, b.layer, b.granter, b.ik) for b in again.bones][:5] == [
            (b.name, b.parent, b.layer, b.granter, b.ik) for b in made.bones
        ][:5]
        assert [name for name, *_ in again.morphs] == ["笑い"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:3] + b"D" + data[4:], "expected a PMX file"),
        (lambda data: data[:4] + struct.pack("<f", 3.0) + data[8:], "PMX 2.0 or 2.1"),
        (lambda data: data[:11] + b"\7" + data[12:], "indices of 1, 2 or 4 bytes"),
        (lambda data: data[:-1], "byte"),
    ],
)  # fmt: skip
def test_bad_models(tmp_path, change, message):
    path = tmp_path / "bad.pmx"
    path.write_bytes(change(pmx_bytes(dressed_model())))
    with pytest.raises(FormatError, match=message):
        footplant.load(path)


def test_bad_bones_and_motions(tmp_path):
    model = dressed_model()
    circle = replace(model, bones=(replace(model.bones[0], parent=1), *model.bones[1:]))
    with pytest.raises(FormatError, match="circle"):
        read_pmx(pmx_bytes(circle))
    path = tmp_path / "camera.vmd"
    path.write_bytes(vmd_bytes({}))
    with pytest.raises(FormatError, match="camera or a face only"):
        footplant.load(path)
    path.write_bytes(vmd_bytes({"nobody": [(0, (0, 0, 0), STILL)]}))
    with pytest.raises(FormatError, match="none of 1"):
        footplant.load(path)


def test_onto_other_formats(folder, tmp_path):
    from independent_counts import independent

    clip = footplant.load(folder / "made.vmd")
    for ending in (".glb", ".fbx", ".usda"):
        found = independent(footplant.save(tmp_path / f"out{ending}", clip))
        assert [found[what] for what in ("materials", "textures", "morph targets", "takes")] == [2, 1, 1, 1], ending
