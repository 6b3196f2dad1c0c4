"""glTF that other programs packed: meshopt and Draco streams, and files of glTF 1.0."""

from __future__ import annotations

import base64
import json
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from conftest import SHARED_DATA
from footplant import FormatError, Kinematics
from footplant.io import gltf, load, save
from footplant.io.gltf import draco, meshopt
from footplant.io.gltf.document import Document
from footplant.io.json import Json
from footplant.skinning import linear_blend
from gltf_made import Made, figure
from node_env import run_node

RNG = np.random.default_rng(3)


def read_one(data: bytes, name: str = "made.gltf"):
    (found,) = gltf.read_characters(Document(name, data))
    return found


def streams() -> list[dict]:
    """Arrays of every kind that the codecs tell apart: noise, smooth floats, small steps, constants."""
    cases = []
    for version in (0, 1):
        for stride in (4, 8, 12, 28):
            for count in (1, 17, 300):
                smooth = np.sin(np.arange(count * stride // 4) * 0.01).astype("<f4").tobytes()
                steps = (np.arange(count * stride // 2) // 3).astype("<u2").tobytes()
                noise = RNG.integers(0, 256, count * stride, dtype=np.uint8).tobytes()
                for data in (smooth, steps, noise, bytes(count * stride)):
                    cases.append(("ATTRIBUTES", "NONE", version, count, stride, data))
    unit = RNG.normal(size=(50, 4))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    normals = np.column_stack([unit[:, :3] / np.linalg.norm(unit[:, :3], axis=1, keepdims=True), np.ones(50)])
    for kind, stride, values in (
        ("OCTAHEDRAL", 4, normals), ("OCTAHEDRAL", 8, normals), ("QUATERNION", 8, unit), ("EXPONENTIAL", 16, unit),
        ("COLOR", 4, np.abs(unit)), ("COLOR", 8, np.abs(unit)),
    ):  # fmt: skip
        cases.append(("ATTRIBUTES", kind, 1, 50, stride, values.astype("<f4").tobytes()))
    grid = np.array([[[a, a + 1, a + 9], [a + 1, a + 10, a + 9]] for a in range(300)]).reshape(-1)
    for values in (grid, RNG.integers(0, 60_000, 600)):
        for stride in (2, 4):
            data = values.astype(f"<u{stride}").tobytes()
            cases += [(mode, "NONE", 0, len(values), stride, data) for mode in ("TRIANGLES", "INDICES")]
    keys = ("mode", "filter", "version", "count", "stride")
    return [dict(zip(keys, case)) | {"data": base64.b64encode(case[-1]).decode()} for case in cases]


def decoded(case: dict, stream: bytes) -> bytes:
    stated = {"mode": case["mode"], "filter": case["filter"], "count": case["count"], "byteStride": case["stride"]}
    return meshopt.decode(Json(stated, "bufferViews[0]", "made.glb"), memoryview(stream), 1 << 24)


@pytest.fixture(scope="module")
def encoded() -> list[tuple[dict, bytes, bytes]]:
    """Every array with its stream and with what meshoptimizer's own decoder makes of it."""
    cases = streams()
    answers = run_node("meshopt_encode.mjs", cases)
    return [(c, base64.b64decode(a["encoded"]), base64.b64decode(a["decoded"])) for c, a in zip(cases, answers)]


def test_meshopt_streams_decode_as_by_meshoptimizer(encoded):
    for case, stream, want in encoded:
        got = decoded(case, stream)
        if case["filter"] in ("NONE", "EXPONENTIAL"):
            assert got == want, case
        else:
            kind = "<i1" if case["stride"] == 4 else "<i2"
            apart = np.frombuffer(got, kind).astype(int) - np.frombuffer(want, kind)
            assert np.abs(apart).max() <= 1, case


def test_damaged_meshopt_streams_are_refused(encoded):
    # arrange
    refused = 0
    for case, stream, _ in encoded[:: max(1, len(encoded) // 40)]:
        for keep in (0, 1, len(stream) // 2, len(stream) - 1):
            # act, assert
            with pytest.raises(FormatError, match=r"bufferViews\[0\]\.\w+: expected"):
                decoded(case, stream[:keep])
            refused += 1
    assert refused > 100
    case = dict(encoded[0][0], count=10**9)
    with pytest.raises(FormatError, match="expected at most"):
        decoded(case, encoded[0][1])


def compressed(made: Made) -> bytes:
    """The file with its whole buffer views compressed by meshoptimizer, as gltfpack does it."""
    document = json.loads(made.gltf())
    cases, views = [], []
    for number, view in enumerate(document["bufferViews"]):
        start = view["byteOffset"]
        data = bytes(made.bin[start : start + view["byteLength"]])
        if len(data) % 4:
            continue
        case = {"mode": "ATTRIBUTES", "filter": "NONE", "version": 0, "stride": 4, "count": len(data) // 4}
        cases.append(case | {"data": base64.b64encode(data).decode()})
        views.append(number)
    place, body = 0, b""
    for case, number, answer in zip(cases, views, run_node("meshopt_encode.mjs", cases)):
        stream = base64.b64decode(answer["encoded"])
        document["bufferViews"][number] |= {
            "buffer": 1,
            "extensions": {"EXT_meshopt_compression": {
                "buffer": 2, "byteOffset": place, "byteLength": len(stream), "byteStride": 4, "count": case["count"],
                "mode": "ATTRIBUTES",
            }},
        }  # fmt: skip
        body, place = body + stream, place + len(stream)
    document["buffers"] += [
        {"byteLength": len(made.bin), "extensions": {"EXT_meshopt_compression": {"fallback": True}}},
        {"byteLength": len(body), "uri": "data:;base64," + base64.b64encode(body).decode()},
    ]
    return json.dumps(document).encode()


def assert_same_character(found, expected) -> None:
    """Assert equal skeletons, takes and deformed meshes."""
    assert found.skeleton.names == expected.skeleton.names
    assert len(found.takes) == len(expected.takes)
    for number in range(len(expected.takes)):
        ours, theirs = found.read_take(number), expected.read_take(number)
        np.testing.assert_allclose(Kinematics(ours).positions, Kinematics(theirs).positions, atol=1e-6)
        posed = [linear_blend(raw.skin, Kinematics(motion)) for raw, motion in ((found, ours), (expected, theirs))]
        np.testing.assert_allclose(posed[0], posed[1], atol=1e-5)


def test_meshopt_files_are_read_whole():
    made = figure()
    found = read_one(compressed(made))
    assert_same_character(found, read_one(made.gltf()))
    assert not any("compress" in note for note in found.notes)


def with_draco(made: Made, stream: bytes, attributes: dict[str, int]) -> bytes:
    """The file with its one primitive replaced by a Draco stream."""
    document = json.loads(made.gltf())
    primitive = document["meshes"][0]["primitives"][0]
    view = len(document["bufferViews"])
    document["buffers"].append({"byteLength": len(stream), "uri": "data:;base64," + base64.b64encode(stream).decode()})
    document["bufferViews"].append({"buffer": 1, "byteOffset": 0, "byteLength": len(stream)})
    primitive["extensions"] = {draco.EXTENSION: {"bufferView": view, "attributes": attributes}}
    for number in (*primitive["attributes"].values(), primitive["indices"]):
        document["accessors"][number].pop("bufferView")
    return json.dumps(document).encode()


def triangle_figure() -> Made:
    """The made figure with triangles and float positions only, since Draco has no strips."""
    made = figure()
    primitive = made.json["meshes"][0]["primitives"][0]
    primitive.pop("targets")
    made.json["nodes"][5].pop("weights")
    primitive["mode"] = 4
    primitive["indices"] = made.accessor([0, 1, 2, 2, 1, 3, 2, 3, 4, 4, 3, 5], "SCALAR", "u2")
    primitive["attributes"] = {"POSITION": primitive["attributes"]["POSITION"]}
    return made


def draco_stream(made: Made) -> bytes:
    library = pytest.importorskip("DracoPy")
    document = Document("made.gltf", made.gltf())
    primitive = made.json["meshes"][0]["primitives"][0]
    points = document.floats(primitive["attributes"]["POSITION"], ("VEC3",))
    corners = document.array(primitive["indices"], ("SCALAR",)).reshape(-1, 3)
    return library.encode(points, corners, quantization_bits=16, preserve_order=True)


def test_draco_meshes_are_read():
    made = triangle_figure()
    found = read_one(with_draco(made, draco_stream(made), {"POSITION": 0}))
    assert found.skin is not None
    assert found.skin.faces.shape == (4, 3)
    expected = read_one(made.gltf()).skin
    ours, theirs = (skin.vertices[skin.faces.reshape(-1)] for skin in (found.skin, expected))
    np.testing.assert_allclose(np.sort(ours, axis=0), np.sort(theirs, axis=0), atol=2e-4)


def test_damaged_draco_meshes_are_refused():
    made = triangle_figure()
    stream = draco_stream(made)
    for data in (stream[: len(stream) // 2], b"DRACO" + bytes(40), stream[:12] + bytes(len(stream) - 12)):
        with pytest.raises(FormatError, match=r"primitives\[0\].*expected a Draco mesh|accessors"):
            read_one(with_draco(made, data, {"POSITION": 0}))
    with pytest.raises(FormatError, match="expected an attribute of the Draco mesh"):
        read_one(with_draco(made, stream, {"POSITION": 7}))


def test_draco_meshes_without_the_extra_leave_a_note(monkeypatch):
    monkeypatch.setattr(draco.importlib.util, "find_spec", lambda name: None)
    made = triangle_figure()
    found = read_one(with_draco(made, b"anything", {"POSITION": 0}))
    assert found.skin is None
    assert any("footplant[draco]" in note for note in found.notes)
    assert len(found.read_take(0)) == 6


@pytest.mark.named("gltf/CesiumMan_draco/CesiumMan.gltf", "gltf/CesiumMan.glb")
def test_a_character_with_draco_has_the_mesh_that_it_has_without():
    packed = load(SHARED_DATA / "gltf/CesiumMan_draco/CesiumMan.gltf").character.skin
    plain = load(SHARED_DATA / "gltf/CesiumMan.glb").character.skin
    assert packed is not None
    assert plain is not None
    assert packed.faces.shape == plain.faces.shape
    np.testing.assert_allclose(packed.vertices.min(axis=0), plain.vertices.min(axis=0), atol=2e-3)
    np.testing.assert_allclose(packed.vertices.max(axis=0), plain.vertices.max(axis=0), atol=2e-3)


def downgraded(made: Made) -> dict:
    """The file as glTF 1.0: objects by name, joints by name as floats, one animation for each node."""
    old = made.json
    ids = {key: [f"{key}_{n}" for n in range(len(old.get(key, ())))] for key in ("accessors", "bufferViews", "nodes")}
    floats = Document("made.gltf", made.gltf()).array(
        old["meshes"][0]["primitives"][0]["attributes"]["JOINTS_0"], ("VEC4",)
    )
    joints = made.accessor(floats, "VEC4", "f4")
    weights = made.accessor(
        Document("made.gltf", made.gltf()).floats(
            old["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"], ("VEC4",)
        ), "VEC4",
    )  # fmt: skip
    ids = {key: [f"{key}_{n}" for n in range(len(old.get(key, ())))] for key in ids}
    new: dict = {"asset": {"version": "1.0"}, "scene": "main", "scenes": {"main": {"nodes": ["nodes_0", "nodes_5"]}}}
    new["bufferViews"] = {
        name: {**view, "buffer": "bytes"} for name, view in zip(ids["bufferViews"], old["bufferViews"])
    }
    new["accessors"] = {
        name: {**entry, "bufferView": ids["bufferViews"][entry["bufferView"]], "byteStride": 0}
        for name, entry in zip(ids["accessors"], old["accessors"])
    }
    primitive = old["meshes"][0]["primitives"][0]
    attributes = {"POSITION": primitive["attributes"]["POSITION"], "JOINT": joints, "WEIGHT": weights}
    new["meshes"] = {"body": {"primitives": [{
        "attributes": {key: ids["accessors"][n] for key, n in attributes.items()},
        "indices": ids["accessors"][primitive["indices"]], "mode": primitive["mode"], "material": "red",
    }]}}  # fmt: skip
    new["materials"] = {"red": {"values": {"diffuse": [1, 0, 0, 1]}}}
    new["nodes"] = {}
    for number, node in enumerate(old["nodes"]):
        entry = {key: node[key] for key in ("translation", "rotation", "scale", "name") if key in node}
        entry["children"] = [ids["nodes"][child] for child in node.get("children", ())]
        if number in old["skins"][0]["joints"]:
            entry["jointName"] = f"joint {number}"
        if "mesh" in node:
            entry |= {"meshes": ["body"], "skin": "skin", "skeletons": ["nodes_1"]}
        new["nodes"][ids["nodes"][number]] = entry
    new["skins"] = {"skin": {
        "jointNames": [f"joint {n}" for n in old["skins"][0]["joints"]],
        "inverseBindMatrices": ids["accessors"][old["skins"][0]["inverseBindMatrices"]],
        "bindShapeMatrix": np.eye(4).reshape(-1).tolist(),
    }}  # fmt: skip
    new["animations"] = {}
    for n, channel in enumerate(old["animations"][0]["channels"]):
        sampler = old["animations"][0]["samplers"][channel["sampler"]]
        new["animations"][f"animation_{n}"] = {
            "parameters": {"TIME": ids["accessors"][sampler["input"]], "out": ids["accessors"][sampler["output"]]},
            "samplers": {"s": {"input": "TIME", "output": "out", "interpolation": "LINEAR"}},
            "channels": [{"sampler": "s", "target": {"id": ids["nodes"][channel["target"]["node"]],
                                                    "path": channel["target"]["path"]}}],
        }  # fmt: skip
    return new


def as_text(document: dict, made: Made) -> bytes:
    uri = "data:application/octet-stream;base64," + base64.b64encode(made.bin).decode()
    return json.dumps(document | {"buffers": {"bytes": {"byteLength": len(made.bin), "uri": uri}}}).encode()


def as_binary(document: dict, made: Made) -> bytes:
    views = {name: {**view, "buffer": "binary_glTF"} for name, view in document["bufferViews"].items()}
    text = json.dumps(document | {"bufferViews": views, "extensionsUsed": ["KHR_binary_glTF"]}).encode()
    text += b" " * (-len(text) % 4)
    body = text + bytes(made.bin)
    return b"glTF" + struct.pack("<IIII", 1, 20 + len(body), len(text), 0) + body


@pytest.mark.parametrize("pack", [as_text, as_binary])
def test_gltf_1_is_read_as_gltf_2(tmp_path, pack):
    # arrange
    made = figure()
    made.json["animations"] = made.json["animations"][:1]
    expected = read_one(made.gltf())
    old = downgraded(made)
    path = tmp_path / ("old.glb" if pack is as_binary else "old.gltf")
    path.write_bytes(pack(old, made))
    # act
    found = read_one(path.read_bytes(), path.name)
    # assert: animations of single nodes are one take
    assert_same_character(found, expected)
    assert any("glTF 1.0" in note for note in found.notes)
    # what is written is 2.0, also where nothing changed
    save(tmp_path / "new.glb", load(path))
    again = load(tmp_path / "new.glb")
    assert (tmp_path / "new.glb").read_bytes()[4] == 2
    assert len(again.motion.skeleton) == len(expected.skeleton)
    assert again.contents["materials"] == 1


def test_a_bind_shape_matrix_is_part_of_the_bind_matrices():
    made = figure()
    made.json["animations"] = made.json["animations"][:1]
    expected = read_one(made.gltf())
    old = downgraded(made)
    # the mesh is stored twice as large and moved; the bind shape matrix takes it back
    shape = np.diag([0.5, 0.5, 0.5, 1.0])
    shape[:3, 3] = [1.0, -2.0, 3.0]
    old["skins"]["skin"]["bindShapeMatrix"] = shape.T.reshape(-1).tolist()
    points = Document("made.gltf", made.gltf()).floats(0, ("VEC3",))
    view = made.json["bufferViews"][made.json["accessors"][0]["bufferView"]]
    stored = ((points - shape[:3, 3]) * 2.0).astype("<f4").tobytes()
    made.bin[view["byteOffset"] : view["byteOffset"] + len(stored)] = stored
    assert_same_character(read_one(as_text(old, made)), expected)


def test_damaged_gltf_1_is_refused():
    made = figure()
    old = downgraded(made)
    for change, message in (
        (lambda d: d["skins"]["skin"].update(jointNames=["nobody"]), r"skins.skin.jointNames: expected the jointName"),
        (lambda d: d["nodes"]["nodes_0"].update(children=["nowhere"]), r"nodes.nodes_0.children: expected the name"),
        (lambda d: d["accessors"]["accessors_0"].update(bufferView=3), r"accessors.accessors_0.bufferView: expected"),
        (lambda d: d["meshes"].update(body=5), r"meshes.body: expected an object"),
        (lambda d: d["animations"]["animation_0"]["channels"][0].update(sampler="x"), "expected a sampler"),
    ):
        broken = json.loads(json.dumps(old))
        change(broken)
        with pytest.raises(FormatError, match=message):
            read_one(as_text(broken, made))
    with pytest.raises(FormatError, match="expected JSON of"):
        read_one(b"glTF" + struct.pack("<IIII", 1, 24, 900, 0) + b"{}  ", "old.glb")


@pytest.mark.named("gltf/CesiumMan.glb")
@pytest.mark.parametrize("kind", ["gltf", "glb"])
def test_gltf_1_of_another_exporter_has_the_joints_of_its_source(tmp_path, kind):
    if shutil.which("assimp") is None:
        pytest.skip("assimp is not on this machine")
    source, out = SHARED_DATA / "gltf/CesiumMan.glb", tmp_path / f"old.{kind}"
    done = subprocess.run(["assimp", "export", str(source), str(out), f"-f{kind}"], capture_output=True, timeout=60)
    assert done.returncode == 0
    assert b'"1' in out.read_bytes()[:400] or out.read_bytes()[4] == 1
    ours, theirs = load(out).motion, load(source).motion
    order = [ours.skeleton.names.index(name) for name in theirs.skeleton.names]
    np.testing.assert_allclose(Kinematics(ours).positions[:, order], Kinematics(theirs).positions, atol=1e-5)


def test_files_of_other_versions_are_refused(tmp_path):
    for version in ("3.0", "0.1"):
        with pytest.raises(FormatError, match=r"expected glTF version 2\.0 or 1\.0"):
            Document(Path("made.gltf"), json.dumps({"asset": {"version": version}}).encode())
