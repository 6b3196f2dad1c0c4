"""Looks: meshes, materials, textures and morph targets of FBX files, read and written; judged by other readers."""

from __future__ import annotations

import io
import json
import shutil
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest

import footplant
from conftest import shared_data
from footplant.io import load_takes
from footplant.io.pictures import as_shared
from footplant.looks import Looks, Material, MeshPart, MorphTarget, Texture
from independent_counts import independent
from node_env import run_node
from ufbx_judge import counts


def png(color: tuple[int, int, int]) -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\0" + bytes(color))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


@pytest.fixture
def dressed() -> footplant.Clip:
    """Sally in two meshes with three materials, two textures and two morph targets, waving and idle."""
    from footplant.edits.retarget import retarget

    sally = footplant.load("sample:sally").character
    skin = sally.skin
    assert skin is not None
    half, count = len(skin.faces) // 2, len(skin.faces)
    rng = np.random.default_rng(0)
    uvs = rng.uniform(size=(count, 3, 2)).round(2)
    head = np.unique(skin.faces[:half])[:7]
    parts = (
        MeshPart("body", 0, half, np.arange(half) % 2, uvs[:half],
                 (MorphTarget("smile", head, np.full((7, 3), 0.01)), MorphTarget("frown", head[:2], -np.ones((2, 3))))),
        MeshPart("coat", half, count, np.full(count - half, 2), uvs[half:]),
    )  # fmt: skip
    materials = (Material("skin", texture=0), Material("red", (1.0, 0.0, 0.0, 1.0)), Material("cloth", texture=1))
    textures = (Texture("face", "image/png", png((200, 100, 50))), Texture("wool", "image/png", png((0, 0, 255))))
    sally = replace(sally, skin=replace(skin, looks=Looks(parts, materials, textures)), source=None)
    walk = footplant.load("sample:walk")
    motion = retarget(walk, sally, method="copy").motion[:20]
    return footplant.Clip(motion, sally, name="walk")


def document_of(path) -> tuple[dict, bytes]:
    data = path.read_bytes()
    length = struct.unpack("<I", data[12:16])[0]
    return json.loads(data[20 : 20 + length]), data[28 + length :]


def test_glb_gets_meshes_materials_textures_and_morph_targets(dressed, tmp_path):
    path = tmp_path / "dressed.glb"
    footplant.save(path, dressed)
    document, content = document_of(path)
    assert [mesh["name"] for mesh in document["meshes"]] == ["body", "coat"]
    assert [len(mesh["primitives"]) for mesh in document["meshes"]] == [2, 1]
    assert [material["name"] for material in document["materials"]] == ["skin", "red", "cloth"]
    assert document["meshes"][0]["extras"]["targetNames"] == ["smile", "frown"]
    for image, texture in zip(document["images"], dressed.character.skin.looks.textures):
        view = document["bufferViews"][image["bufferView"]]
        assert content[view["byteOffset"] : view["byteOffset"] + view["byteLength"]] == texture.data
    (messages,) = run_node("gltf_validate.mjs", [str(path)], timeout=60)
    assert [message for message in messages if message["severity"] == 0] == []
    # a corner keeps its place and its texture coordinate
    part, skin = dressed.character.skin.looks.parts[1], dressed.character.skin
    primitive = document["meshes"][1]["primitives"][0]

    def array(number: int, dtype: str, width: int) -> np.ndarray:
        accessor = document["accessors"][number]
        view = document["bufferViews"][accessor["bufferView"]]
        values = np.frombuffer(content, dtype, accessor["count"] * width, view["byteOffset"])
        return values.reshape(-1, width)

    corners = array(primitive["indices"], "<u2", 1)[:, 0]
    places = array(primitive["attributes"]["POSITION"], "<f4", 3)[corners]
    assert np.allclose(places, skin.vertices[skin.faces[part.start : part.stop].reshape(-1)], atol=1e-5)
    uvs = array(primitive["attributes"]["TEXCOORD_0"], "<f4", 2)[corners]
    assert np.allclose(uvs, part.uvs.reshape(-1, 2) * [1, -1] + [0, 1], atol=1e-6)


def test_fbx_there_and_back(dressed, tmp_path):
    """Our FBX has what was written, by ufbx's count, and is read back with the same looks."""
    path = tmp_path / "dressed.fbx"
    other = replace(dressed, motion=dressed.motion[5:12], name="idle")
    footplant.save(path, dressed, takes=[dressed, other])
    wanted = {"meshes": 2, "skins": 1, "textures": 2, "takes": 2, "materials": 3, "morph targets": 2, "cameras": 0}
    assert counts(path) == wanted
    takes = list(load_takes(path))
    assert [(clip.name, len(clip.motion)) for clip in takes] == [("walk", 20), ("idle", 7)]
    before, after = dressed.character.skin, takes[0].character.skin
    assert after is not None
    looks = after.looks
    assert looks is not None
    assert before is not None
    assert [part.name for part in looks.parts] == ["body", "coat"]
    assert [(m.name, m.texture) for m in looks.materials] == [("skin", 0), ("red", None), ("cloth", 1)]
    assert [texture.data for texture in looks.textures] == [texture.data for texture in before.looks.textures]
    for old, new in zip(before.looks.parts, looks.parts):
        assert np.array_equal(old.materials, new.materials)
        assert np.allclose(old.uvs, new.uvs)
        corners = [skin.faces[part.start : part.stop].reshape(-1) for skin, part in ((before, old), (after, new))]
        assert np.allclose(before.vertices[corners[0]], after.vertices[corners[1]], atol=1e-6)
        assert [morph.name for morph in old.morphs] == [morph.name for morph in new.morphs]
        for one, two in zip(old.morphs, new.morphs):
            assert np.allclose(one.offsets, two.offsets, atol=1e-6)
            assert np.allclose(before.vertices[one.vertices], after.vertices[two.vertices], atol=1e-6)
    for old, new in zip((dressed, other), takes):
        assert np.allclose(old.motion.root, new.motion.root, atol=1e-5)


def test_fbx_is_read_by_assimp(dressed, tmp_path):
    path = tmp_path / "dressed.fbx"
    footplant.save(path, dressed, takes=[dressed, replace(dressed, motion=dressed.motion[5:12], name="idle")])
    assimp = shutil.which("assimp")
    if assimp is not None:
        import subprocess

        done = subprocess.run([assimp, "info", str(path)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0
        facts = dict(
            line.split(":", 1) for line in done.stdout.splitlines() if ":" in line and not line.startswith(" ")
        )
        found = {key.strip(): value.strip().split()[0] for key, value in facts.items() if value.strip()}
        assert (found["Animations"], found["Materials"], found["Textures (embed.)"]) == ("2", "3", "2")


def test_textures_beside_the_file_are_found(dressed, tmp_path):
    """Whatever folder the file names, a picture of that name beside it is meant; nothing else is opened."""
    path = tmp_path / "dressed.fbx"
    bare = replace(dressed.character.skin.looks, textures=(Texture("face.png", "", b""),) * 2)
    skin = replace(dressed.character.skin, looks=bare)
    footplant.save(path, replace(dressed, character=replace(dressed.character, skin=skin)))
    without = footplant.load(path)
    assert [(texture.name, texture.data) for texture in without.character.skin.looks.textures] == [("face.png", b"")]
    assert any("'face.png' was not read: it is not beside the file" in note for note in without.notes)
    again = footplant.save(tmp_path / "again.fbx", without)
    assert independent(again)["textures"] == 1, "a picture that is not at hand is still referred to"
    assert independent(footplant.save(tmp_path / "again.glb", without))["textures"] == 0
    (tmp_path / "dressed.fbm").mkdir()
    (tmp_path / "dressed.fbm" / "face.png").write_bytes(png((4, 5, 6)))
    assert footplant.load(path).character.skin.looks.textures[0].data == png((4, 5, 6))
    (tmp_path / "FACE.PNG").write_bytes(png((1, 2, 3)))
    found = footplant.load(path).character.skin.looks
    assert [texture.data for texture in found.textures] == [png((1, 2, 3))]
    (tmp_path / "FACE.PNG").write_bytes(b"BM not a picture of ours")
    assert any("PNG, JPEG, Targa and bitmap pictures" in note for note in footplant.load(path).notes)


def test_targa_and_bitmap_pictures_become_png():
    """As Pillow reads them: colour and grey, with and without runs, upwards and downwards."""
    pixels = np.random.default_rng(0).integers(0, 255, (5, 7, 4)).astype(np.uint8)
    pixels[2:4] = 7
    image = pytest.importorskip("PIL.Image")
    for mode in ("RGBA", "RGB", "L", "P"):
        for kind, options in (
            ("TGA", {}),
            ("TGA", {"compression": "tga_rle"}),
            ("TGA", {"orientation": 1}),
            ("BMP", {}),
        ):
            if (mode, kind) in (("P", "TGA"), ("RGBA", "BMP")):
                continue
            file = io.BytesIO()
            image.fromarray(pixels).convert(mode).save(file, kind, **options)
            mime, data = as_shared(file.getvalue())
            shown, truth = (image.open(io.BytesIO(each)).convert("RGBA") for each in (data, file.getvalue()))
            assert mime == "image/png"
            np.testing.assert_array_equal(np.asarray(shown), np.asarray(truth))
            for end in range(0, len(file.getvalue()), 7):
                as_shared(file.getvalue()[:end])
    assert as_shared(b"RIFF????WEBP") is None


@pytest.mark.named("fbx/archer/ArcherRi01.fbx")
def test_a_real_character_keeps_its_pictures(shared, tmp_path):
    """Two meshes, each with a picture beside the file: into GLB and FBX."""
    path = shared_data("fbx/archer/ArcherRi01.fbx")
    clip = footplant.load(path)
    footplant.save(tmp_path / "archer.glb", clip)
    document, content = document_of(tmp_path / "archer.glb")
    pictures = []
    for image in document["images"]:
        view = document["bufferViews"][image["bufferView"]]
        pictures.append(content[view["byteOffset"] : view["byteOffset"] + view["byteLength"]])
    assert pictures == [(path.parent / name).read_bytes() for name in ("ArcherRi01.png", "ArcherRi01_W.PNG")]
    assert len(document["meshes"]) == 2
    footplant.save(tmp_path / "archer.fbx", clip)
    assert counts(tmp_path / "archer.fbx") == counts(path)


def usd_counts(path) -> dict[str, int]:
    """What usd-core finds in a file."""
    pxr = pytest.importorskip("pxr")
    assert pxr is not None
    from pxr import Usd, UsdGeom, UsdShade, UsdSkel

    stage = Usd.Stage.Open(str(path))
    prims = list(stage.Traverse())
    shaders = [UsdShade.Shader(prim) for prim in prims if prim.IsA(UsdShade.Shader)]
    files = [shader.GetInput("file").Get() for shader in shaders if shader.GetInput("file")]
    assert all(file.resolvedPath for file in files)
    return {
        "meshes": sum(prim.IsA(UsdGeom.Mesh) for prim in prims),
        "materials": sum(prim.IsA(UsdShade.Material) for prim in prims),
        "textures": len(files),
        "morph targets": sum(prim.IsA(UsdSkel.BlendShape) for prim in prims),
        "takes": sum(prim.IsA(UsdSkel.Animation) for prim in prims),
    }


@pytest.mark.parametrize("ending", ["usda", "usdz"])
def test_usd_gets_meshes_materials_textures_morph_targets_and_takes(dressed, tmp_path, ending):
    # arrange: a second take
    second = replace(dressed, name="still", motion=dressed.motion[:3], take=1)
    path = tmp_path / f"dressed.{ending}"
    # act
    footplant.save(path, dressed, takes=[dressed, second])
    # assert
    assert usd_counts(path) == {"meshes": 2, "materials": 3, "textures": 2, "morph targets": 2, "takes": 2}
    from usd_made import validation_errors

    assert validation_errors(path) == set()
    again = footplant.load(path)
    assert [take.frames for take in again.takes] == [20, 3]
    assert again.name == "walk"
    np.testing.assert_allclose(
        footplant.Kinematics(again.motion).positions, footplant.Kinematics(dressed.motion).positions, atol=1e-5
    )
    from pxr import Usd, UsdGeom, UsdShade

    stage = Usd.Stage.Open(str(path))
    mesh = next(UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.GetName() == "coat")
    part, skin = dressed.character.skin.looks.parts[1], dressed.character.skin
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get())
    places = np.array(mesh.GetPointsAttr().Get())[corners]
    np.testing.assert_allclose(places, skin.vertices[skin.faces[part.start : part.stop].reshape(-1)], atol=1e-5)
    uvs = np.array(UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st").Get())
    np.testing.assert_allclose(uvs, part.uvs.reshape(-1, 2), atol=1e-6)
    bound = UsdShade.MaterialBindingAPI(mesh.GetPrim()).ComputeBoundMaterial()[0]
    assert bound.GetPrim().GetName() == "cloth"


def test_normal_and_specular_maps_go_from_fbx_to_glb_and_usd(dressed, tmp_path):
    # arrange
    looks = dressed.character.skin.looks
    materials = (replace(looks.materials[0], normal=1, specular=0), *looks.materials[1:])
    skin = replace(dressed.character.skin, looks=replace(looks, materials=materials))
    clip = replace(dressed, character=replace(dressed.character, skin=skin))
    # act
    footplant.save(tmp_path / "maps.fbx", clip)
    again = footplant.load(tmp_path / "maps.fbx")
    footplant.save(tmp_path / "maps.glb", again)
    footplant.save(tmp_path / "maps.usda", again)
    # assert
    found = next(material for material in again.character.skin.looks.materials if material.name == "skin")
    pictures = again.character.skin.looks.textures
    assert [pictures[n].data for n in (found.texture, found.normal, found.specular)] == [
        looks.textures[n].data for n in (0, 1, 0)
    ]
    document, _ = document_of(tmp_path / "maps.glb")
    material = next(entry for entry in document["materials"] if entry["name"] == "skin")
    assert "normalTexture" in material
    assert "specularColorTexture" in material["extensions"]["KHR_materials_specular"]
    (messages,) = run_node("gltf_validate.mjs", [str(tmp_path / "maps.glb")], timeout=60)
    assert [message for message in messages if message["severity"] == 0] == []
    assert usd_counts(tmp_path / "maps.usda")["textures"] == 4


@pytest.mark.parametrize("ending", ["fbx", "usda", "vrm"])
def test_looks_go_from_glb_to_other_formats(dressed, tmp_path, ending):
    # arrange
    footplant.save(tmp_path / "dressed.glb", dressed)
    clip = footplant.load(tmp_path / "dressed.glb")
    out = tmp_path / f"out.{ending}"
    # act
    footplant.save(out, clip)
    # assert: counted by other readers
    found = independent(out)
    wanted = {"meshes": 2, "skins": 1, "materials": 3, "textures": 2, "morph targets": 2, "takes": 1}
    assert {what: found[what] for what in wanted} == wanted
    if ending != "fbx":
        return
    looks = footplant.load(out).character.skin.looks
    assert {material.name for material in looks.materials} == {"skin", "red", "cloth"}
    assert {texture.data for texture in looks.textures} == {t.data for t in dressed.character.skin.looks.textures}
    # every corner keeps its place, its texture coordinate and its material
    again, before = footplant.load(out).character.skin, dressed.character.skin
    for part, old in zip(again.looks.parts, before.looks.parts):
        assert part.name == old.name
        rows = []
        for skin, one in ((again, part), (before, old)):
            names = [skin.looks.materials[n].name for n in one.materials]
            corners = skin.vertices[skin.faces[one.start : one.stop]]
            order = np.lexsort(np.round(corners.mean(axis=1), 4).T)
            rows.append((corners.mean(axis=1)[order], one.uvs.mean(axis=1)[order], np.array(names)[order]))
        np.testing.assert_allclose(rows[0][0], rows[1][0], atol=1e-4)
        assert np.mean(np.abs(rows[0][1] - rows[1][1]).max(axis=1) < 1e-4) > 0.95
        assert np.mean(rows[0][2] == rows[1][2]) > 0.95
    smile = next(morph for morph in again.looks.parts[0].morphs if morph.name == "smile")
    np.testing.assert_allclose(smile.offsets, 0.01, atol=1e-5)
