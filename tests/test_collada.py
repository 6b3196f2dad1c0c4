"""Collada: made files against matrices written out, exports of other programs against their sources, damage."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from conftest import SHARED_DATA
from footplant import FormatError, Kinematics
from footplant.io import collada, gltf, load, save
from footplant.skinning import linear_blend

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fcffff3f030008fc02fe"
    "a7350d8d0000000049454e44ae426082"
)


def floats(name: str, rows, width: int = 1) -> str:
    values = np.asarray(rows, float).reshape(-1, width)
    text = " ".join(f"{value:.9g}" for value in values.reshape(-1))
    return (
        f'<source id="{name}"><float_array id="{name}-a" count="{values.size}">{text}</float_array><technique_common>'
        f'<accessor source="#{name}-a" count="{len(values)}" stride="{width}"/></technique_common></source>'
    )


def names(name: str, words: list[str]) -> str:
    return f'<source id="{name}"><Name_array id="{name}-a" count="{len(words)}">{" ".join(words)}</Name_array></source>'


def curve(target: str, times, values, kind: str = "LINEAR") -> str:
    key = target.replace("/", "-").replace(".", "-")
    width = np.asarray(values, float).size // len(times)
    return (
        f'<animation id="{key}">{floats(key + "-t", times)}{floats(key + "-v", values, width)}'
        f'{names(key + "-k", [kind] * len(times))}<sampler id="{key}-s"><input semantic="INPUT" source="#{key}-t"/>'
        f'<input semantic="OUTPUT" source="#{key}-v"/><input semantic="INTERPOLATION" source="#{key}-k"/></sampler>'
        f'<channel source="#{key}-s" target="{target}"/></animation>'
    )


BIND = np.eye(4)
BIND[1, 3] = -100.0


def figure(animations: str = "", clips: str = "", up: str = "Z_UP", extra: str = "") -> bytes:
    """Hips, knee and ankle in centimetres, with rotations as elements of their own, a skin, a morph and looks."""
    square = floats("pos", [[0, 0, 0], [10, 0, 0], [10, 0, 50], [0, 0, 50]], 3)
    smile = floats("pos2", [[0, 0, 0], [10, 0, 0], [12, 0, 50], [0, 0, 50]], 3)
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01"/><up_axis>{up}</up_axis></asset>
<library_images><image id="pic"><init_from>pic.png</init_from></image></library_images>
<library_effects><effect id="fx"><profile_COMMON>
<newparam sid="sf"><surface type="2D"><init_from>pic</init_from></surface></newparam>
<newparam sid="sm"><sampler2D><source>sf</source></sampler2D></newparam>
<technique sid="c"><phong><diffuse><texture texture="sm" texcoord="UV"/></diffuse></phong></technique>
</profile_COMMON></effect></library_effects>
<library_materials><material id="mat" name="cloth"><instance_effect url="#fx"/></material></library_materials>
<library_cameras><camera id="cam"><optics><technique_common><perspective><yfov>40</yfov><znear>1</znear>
<zfar>9</zfar></perspective></technique_common></optics></camera></library_cameras>
<library_lights><light id="sun"><technique_common><directional><color>1 1 1</color></directional></technique_common>
</light></library_lights>
<library_geometries>
<geometry id="body" name="body"><mesh>{square}{floats("nor", [[0, 1, 0]], 3)}
{floats("uv", [[0, 0], [1, 0], [1, 1], [0, 1]], 2)}
<vertices id="v"><input semantic="POSITION" source="#pos"/></vertices>
<polylist count="1" material="m"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="NORMAL" source="#nor" offset="1"/><input semantic="TEXCOORD" source="#uv" offset="2"/>
<vcount>4</vcount><p>0 0 0 1 0 1 2 0 2 3 0 3</p></polylist></mesh></geometry>
<geometry id="smile" name="smile"><mesh>{smile}<vertices id="v2"><input semantic="POSITION" source="#pos2"/></vertices>
<triangles count="2"><input semantic="VERTEX" source="#v2" offset="0"/><p>0 1 2 0 2 3</p></triangles></mesh></geometry>
</library_geometries>
<library_controllers>
<controller id="face"><morph source="#body" method="NORMALIZED"><source id="mt"><IDREF_array id="mt-a" count="1">smile
</IDREF_array></source><targets><input semantic="MORPH_TARGET" source="#mt"/></targets></morph></controller>
<controller id="skin"><skin source="#face">
<bind_shape_matrix>1 0 0 0 0 1 0 0 0 0 1 5 0 0 0 1</bind_shape_matrix>
{names("jn", ["hips", "knee"])}{floats("ib", [np.eye(4), BIND], 16)}{floats("w", [1.0, 0.25, 0.75])}
<joints><input semantic="JOINT" source="#jn"/><input semantic="INV_BIND_MATRIX" source="#ib"/></joints>
<vertex_weights count="4"><input semantic="JOINT" source="#jn" offset="0"/>
<input semantic="WEIGHT" source="#w" offset="1"/><vcount>1 1 2 2</vcount><v>0 0 0 0 0 1 1 2 1 2 0 1</v>
</vertex_weights></skin></controller></library_controllers>
<library_animations>{animations}</library_animations>{clips}
<library_visual_scenes><visual_scene id="s">
<node id="Hips" sid="hips" name="hips" type="JOINT"><translate sid="t">0 0 100</translate>
<rotate sid="rz">0 0 1 30</rotate>
<node id="Knee" sid="knee" name="knee" type="JOINT"><translate sid="t">0 5 -50</translate>
<rotate sid="rx">1 0 0 10</rotate><rotate sid="ry">0 1 0 -20</rotate>
<node id="Ankle" sid="ankle" name="ankle" type="JOINT"><matrix sid="m">1 0 0 0 0 1 0 3 0 0 1 -45 0 0 0 1</matrix></node>
</node></node>
<node id="mesh" name="mesh"><instance_controller url="#skin"><skeleton>#Hips</skeleton><bind_material><technique_common>
<instance_material symbol="m" target="#mat"/></technique_common></bind_material></instance_controller></node>
<node id="eye"><instance_camera url="#cam"/></node><node id="lamp"><instance_light url="#sun"/></node>{extra}
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>""".encode()


def world(hips: float, x: float, y: float) -> np.ndarray:
    """The joints' places in metres and y up for the angles of the made figure, degrees."""

    def matrix(turn: Rotation, place) -> np.ndarray:
        out = np.eye(4)
        out[:3, :3], out[:3, 3] = turn.as_matrix(), place
        return out

    a = matrix(Rotation.from_euler("z", hips, degrees=True), [0, 0, 100])
    b = a @ matrix(Rotation.from_euler("XY", [x, y], degrees=True), [0, 5, -50])
    c = b @ matrix(Rotation.identity(), [0, 3, -45])
    places = np.array([m[:3, 3] for m in (a, b, c)]) / 100
    return np.column_stack([places[:, 0], places[:, 2], -places[:, 1]])


def read(data: bytes, path: Path = Path("made.dae")):
    (found,) = gltf.read_characters(collada.translate(data, path))
    return found


def test_joints_stand_where_their_elements_put_them(tmp_path):
    found = read(figure())
    assert found.skeleton.names == ("hips", "knee", "ankle")
    np.testing.assert_allclose(found.skeleton.rest_world[0], world(30, 10, -20), atol=1e-6)
    assert found.scale == 1.0


def test_curves_of_angles_and_matrices_are_followed():
    # arrange: a whole turn between two keys, an angle by name, a matrix
    times = [0.0, 1.0]
    moved = np.tile(np.eye(4), (2, 1, 1))
    moved[:, :3, 3] = [[0, 3, -45], [0, 3, -45]]
    found = read(
        figure(
            curve("Hips/rz.ANGLE", times, [30, 390])
            + curve("Knee/rx", times, [[1, 0, 0, 10], [1, 0, 0, 50]])
            + curve("Ankle/m", times, moved)
        )
    )
    # act
    motion = found.read_take(0)
    # assert
    positions = Kinematics(motion).positions
    for frame in range(0, len(motion), 5):
        share = min(frame / motion.fps, 1.0)
        np.testing.assert_allclose(positions[frame], world(30 + 360 * share, 10 + 40 * share, -20), atol=2e-3)
    np.testing.assert_allclose(positions[0], world(30, 10, -20), atol=1e-6)


def test_clips_are_takes():
    clips = "".join(
        f'<animation_clip id="{name}" start="{start}" end="{end}"><instance_animation url="#Hips-rz-ANGLE"/>'
        "</animation_clip>"
        for name, start, end in (("walk", 0, 1), ("run", 1, 3))
    )
    found = read(
        figure(
            curve("Hips/rz.ANGLE", [0.0, 1.0, 3.0], [0, 40, 60]),
            f"<library_animation_clips>{clips}</library_animation_clips>",
        )
    )
    assert [take.name for take in found.takes] == ["walk", "run"]
    walk, run = found.read_take(0), found.read_take(1)
    np.testing.assert_allclose(Kinematics(walk).positions[-1], world(40, 10, -20), atol=1e-5)
    np.testing.assert_allclose(Kinematics(run).positions[0], world(40, 10, -20), atol=1e-5)
    np.testing.assert_allclose(Kinematics(run).positions[-1], world(60, 10, -20), atol=1e-5)


def test_skins_looks_and_morph_targets_reach_glb(tmp_path):
    # arrange
    (tmp_path / "pic.png").write_bytes(PNG)
    (tmp_path / "made.dae").write_bytes(figure())
    # act
    clip = load(tmp_path / "made.dae")
    save(tmp_path / "made.glb", clip)
    # assert
    counted = gltf.count_contents(tmp_path / "made.glb")
    assert counted == {
        "meshes": 1, "skins": 1, "materials": 1, "textures": 1, "morph targets": 1, "cameras": 1, "lights": 1,
        "takes": 0,
    }  # fmt: skip
    assert counted == dict(clip.contents)
    skin = clip.character.skin
    assert skin is not None
    assert skin.faces.shape == (2, 3)
    # Σ w · world · inverse bind · bind shape, written out
    posed = linear_blend(skin, Kinematics(clip.motion))[0]
    shape = np.eye(4)
    shape[2, 3] = 5
    hips = np.eye(4)
    hips[:3, :3], hips[:3, 3] = Rotation.from_euler("z", 30, degrees=True).as_matrix(), [0, 0, 100]
    corner = (hips @ shape @ [10, 0, 0, 1])[:3] / 100
    expected = np.array([corner[0], corner[2], -corner[1]])
    assert np.linalg.norm(posed - expected, axis=1).min() < 1e-5


def test_archives_are_opened(tmp_path):
    with zipfile.ZipFile(tmp_path / "made.zae", "w") as archive:
        archive.writestr("inner/made.dae", figure())
        archive.writestr("inner/pic.png", PNG)
    assert load(tmp_path / "made.zae").contents["textures"] == 1
    (tmp_path / "bad.zae").write_bytes((tmp_path / "made.zae").read_bytes()[:300])
    with pytest.raises(FormatError, match=r"expected a \.zae archive"):
        load(tmp_path / "bad.zae")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b"<COLLADA", b"<!DOCTYPE x [<!ENTITY a 'b'>]><COLLADA"), "document type"),
        ((b'meter="0.01"', b'meter="none"'), "expected a number of metres"),
        ((b"Z_UP", b"W_UP"), "expected X_UP"),
        ((b'"#skin"', b'"#nothing"'), "expected the name of a <controller>"),
        ((b"0 0 0 1 0 1 2 0 2 3 0 3", b"0 0 0 1 0 1 2 0 2 9 0 3"), "expected vertices below 4, got 9"),
        ((b"0 0 0 0 0 1 1 2 1 2 0 1", b"0 0 0 0 0 1 1 2 7 2 0 1"), "expected indices of joints"),
        ((b"hips knee", b"hips toes"), "expected a joint 'toes'"),
        ((b"0 5 -50", b"0 nan -50"), "expected finite numbers"),
        ((b"0 5 -50", b"0 5"), "expected 3 numbers, got 2"),
        ((b"</visual_scene>", b""), "damaged text"),
        ((b'stride="3"', b'stride="0"'), "expected a whole number from 1 for stride"),
        ((b'<node id="eye">', b'<node id="eye"><instance_node url="#eye"/>'), "nested 200 deep"),
    ],
)  # fmt: skip
def test_damaged_files_give_one_error(change, message):
    data = figure(curve("Hips/rz.ANGLE", [0.0, 1.0], [30, 60]))
    assert change[0] in data
    with pytest.raises(FormatError, match=message):
        read(data.replace(*change, 1))


@pytest.mark.named("gltf/CesiumMan.glb")
def test_an_export_of_assimp_has_the_joints_of_its_source(tmp_path):
    if shutil.which("assimp") is None:
        pytest.skip("assimp is not on this machine")
    source, out = SHARED_DATA / "gltf/CesiumMan.glb", tmp_path / "man.dae"
    done = subprocess.run(["assimp", "export", str(source), str(out), "-fcollada"], capture_output=True, timeout=60)
    assert done.returncode == 0
    found, theirs = read(out.read_bytes(), out), load(source).motion
    # it writes milliseconds where Collada has seconds: as many frames, a thousand times as slow
    ours = found.read_take(0)
    keys = np.round(np.arange(len(theirs)) / theirs.fps * 1000.0 * ours.fps).astype(int)
    inside = keys < len(ours)
    order = [ours.skeleton.names.index(name) for name in theirs.skeleton.names]
    apart = Kinematics(ours[keys[inside]]).positions[:, order] - Kinematics(theirs[np.flatnonzero(inside)]).positions
    assert inside.sum() > 40
    assert np.abs(apart).max() < 5e-3
    assert np.abs(apart[0]).max() < 1e-5


def test_nodes_stand_where_pycollada_puts_them(tmp_path):
    reader = pytest.importorskip("collada")
    (tmp_path / "made.dae").write_bytes(figure(extra='<node id="x"><rotate sid="r">0 1 1 77</rotate></node>'))
    scene = reader.Collada(str(tmp_path / "made.dae"), ignore=[reader.DaeError]).scene
    places = {}

    def walk(node, above):
        matrix = above @ node.matrix if hasattr(node, "matrix") else above
        if getattr(node, "id", None):
            places[node.id] = matrix[:3, 3] / 100
        for child in getattr(node, "children", ()):
            walk(child, matrix)

    for node in scene.nodes:
        walk(node, np.eye(4))
    found = read((tmp_path / "made.dae").read_bytes())
    for name, position in zip(("Hips", "Knee", "Ankle"), found.skeleton.rest_world[0]):
        x, y, z = places[name]
        np.testing.assert_allclose(position, [x, z, -y], atol=1e-6)
