"""Reading glTF: synthetic files, brute-force matrices, damaged files and type fuzzing."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import shared_files
from footplant import FormatError, Kinematics, rest_motion
from footplant.io import gltf
from footplant.io.character import RawCharacter
from footplant.io.gltf.animation import find_rate
from footplant.io.gltf.document import Document
from footplant.io.gltf.skin import triangles
from footplant.motion import Motion
from footplant.skinning import linear_blend
from gltf_made import Made, figure, quaternion
from thorough import thorough


def read(made: Made | bytes) -> tuple[RawCharacter, ...]:
    data = made.gltf() if isinstance(made, Made) else made
    return gltf.read_characters(Document("made.gltf", data))


def read_one(made: Made | bytes) -> RawCharacter:
    (found,) = read(made)
    return found


def take(found: RawCharacter, number: int = 0) -> Motion:
    assert found.read_take is not None
    return found.read_take(number)


def matrix_of(node: dict) -> np.ndarray:
    """A node's local matrix, straight from the specification."""
    if "matrix" in node:
        return np.array(node["matrix"], float).reshape(4, 4).T
    x, y, z, w = node.get("rotation", [0, 0, 0, 1])
    out = np.eye(4)
    out[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    out[:3, :3] *= np.array(node.get("scale", [1, 1, 1]), float)
    out[:3, 3] = node.get("translation", [0, 0, 0])
    return out


def world_matrices(nodes: list[dict]) -> np.ndarray:
    """Return world matrices of all nodes by matrix products."""
    parents = {child: number for number, node in enumerate(nodes) for child in node.get("children", [])}

    def world(number: int) -> np.ndarray:
        own = matrix_of(nodes[number])
        return world(parents[number]) @ own if number in parents else own

    return np.array([world(number) for number in range(len(nodes))])


def test_armature_is_folded_into_metres_and_y_up():
    found = read_one(figure())
    assert found.skeleton.names == ("hips", "knee", "ankle")
    assert (found.scale, found.up, found.name) == (1.0, "y", "Armature")
    expected = world_matrices(figure().json["nodes"])[:, :3, 3]
    np.testing.assert_allclose(found.skeleton.rest_world[0], expected[1:4], atol=1e-12)
    np.testing.assert_allclose(found.skeleton.rest_ends, expected[4:5], atol=1e-12)
    assert [(t.name, t.frames, t.fps) for t in found.takes] == [("bend", 6, 30.0), ("curves", 25, 24.0)]


def test_motion_of_linear_keys_is_exact():
    made = figure()
    motion = take(read_one(made))
    assert motion.offsets is None
    positions = Kinematics(motion).positions
    for frame in range(6):
        nodes = copy.deepcopy(made.json["nodes"])
        nodes[2]["rotation"] = quaternion("x", 10 + 8 * frame)
        nodes[1]["translation"] = [2.0 * frame, 0, 100 - frame]
        np.testing.assert_allclose(positions[frame], world_matrices(nodes)[1:4, :3, 3], atol=1e-6)


def test_step_is_held_and_cubic_splines_follow_the_formula():
    motion = take(read_one(figure()), 1)
    ankle = 2 * np.degrees(np.arccos(np.clip(motion.rotations[:, 2, 0], -1, 1)))
    np.testing.assert_allclose(ankle[:12], 0, atol=1e-4)
    np.testing.assert_allclose(ankle[12:], 90, atol=1e-4)
    # flat tangents at 0° and 60°: the quaternion is a smoothstep between the two, normalised
    u = 0.25
    blend = 3 * u**2 - 2 * u**3
    a, b = np.array([1.0, 0, 0, 0]), np.array([np.cos(np.radians(30)), 0, np.sin(np.radians(30)), 0])
    expected = (1 - blend) * a + blend * b
    np.testing.assert_allclose(motion.rotations[3, 1], expected / np.linalg.norm(expected), atol=1e-7)


def test_binary_and_text_agree_and_integers_may_be_floats():
    made = figure()

    def pointed(value):
        if isinstance(value, dict):
            return {key: pointed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [pointed(item) for item in value]
        return float(value) if type(value) is int else value

    first = read_one(made)
    loose = Made()
    loose.json, loose.bin = pointed(made.json), made.bin
    for other in (read_one(made.glb()), read_one(loose), read_one(b"\xef\xbb\xbf" + made.gltf())):
        assert other.skeleton.names == first.skeleton.names
        np.testing.assert_array_equal(take(other).rotations, take(first).rotations)
    assert "byte order mark" in " ".join(read_one(b"\xef\xbb\xbf" + made.gltf()).notes)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
def test_normalised_strided_and_sparse_accessors(dtype):
    info = np.iinfo(dtype)
    values = np.array([[info.min, 0, info.max], [1, 2, 3], [4, 5, 6]], dtype)
    made = Made(nodes=[{}])
    gap = 16 - values.dtype.itemsize * 3
    rows = b"".join(row.astype("<" + dtype).tobytes() + b"\xaa" * gap for row in values)
    view = made.view(rows, byteStride=16)
    places, changed = made.view(np.array([1], "<u2").tobytes()), made.view(np.array([[7, 8, 9]], "<" + dtype).tobytes())
    entry = {
        "bufferView": view,
        "componentType": {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123}[dtype],
        "count": 3,
        "type": "VEC3",
        "normalized": True,
        "sparse": {
            "count": 1,
            "indices": {"bufferView": places, "componentType": 5123},
            "values": {"bufferView": changed},
        },
    }
    made.json["accessors"] = [entry]
    document = Document("made.gltf", made.gltf())
    expected = values.astype(float)
    expected[1] = [7, 8, 9]
    np.testing.assert_allclose(document.floats(0, ("VEC3",)), np.maximum(expected / info.max, -1.0))


def test_matrix_nodes_are_decomposed():
    made, plain = figure(), figure()
    for node in made.json["nodes"][:4]:
        matrix = matrix_of(node)
        for key in ("translation", "rotation", "scale"):
            node.pop(key, None)
        node["matrix"] = matrix.T.reshape(-1).tolist()
    a, b = read_one(made).skeleton, read_one(plain).skeleton
    np.testing.assert_allclose(a.rest_world[0], b.rest_world[0], atol=1e-9)
    np.testing.assert_allclose(a.rest, b.rest, atol=1e-9)


numbers = st.floats(-2, 2).map(lambda value: round(value, 3))
sizes = st.one_of(st.sampled_from([1.0, 0.01, 100.0, -1.0]), st.floats(0.3, 2).map(lambda value: round(value, 3)))


@st.composite
def trees(draw):
    """Return random trees of scaled and mirrored nodes, animated in rotation, translation and scale."""
    count = draw(st.integers(2, 6))
    nodes = []
    for number in range(count):
        turn = np.array(draw(st.tuples(numbers, numbers, numbers))) + [0.1, 0, 0]
        half = np.linalg.norm(turn) / 2
        node = {
            "translation": list(draw(st.tuples(numbers, numbers, numbers))),
            "rotation": [*(turn / (2 * half) * np.sin(half)).tolist(), float(np.cos(half))],
            "scale": list(draw(st.one_of(st.tuples(sizes, sizes, sizes), sizes.map(lambda size: (size,) * 3)))),
        }
        nodes.append(node)
        if number:
            parent = draw(st.integers(0, number - 1))
            nodes[parent].setdefault("children", []).append(number)
    curves = []
    for number in range(count):
        for path in draw(st.sets(st.sampled_from(["rotation", "translation", "scale"]))):
            if path == "rotation":
                values = [quaternion(axis, 40 * (number + 1)) for axis in draw(st.permutations("xyz"))]
            else:
                values = [list(draw(st.tuples(numbers, numbers, numbers))) for _ in range(3)]
            if path == "scale":
                values = (np.abs(values) + 0.2).tolist()
            curves.append((number, path, np.arange(3) / 30, values))
    return nodes, curves


@settings(max_examples=thorough(40, 400), deadline=None)
@given(trees())
def test_positions_are_those_of_the_matrices_under_any_scale(tree):
    nodes, curves = tree
    made = Made(nodes=copy.deepcopy(nodes), skins=[{"joints": list(range(len(nodes)))}])
    if curves:
        made.animate("all", *curves)
    found = read_one(made)
    order = found.source.joints.nodes
    size = 1.0 + np.abs(world_matrices(nodes)[:, :3, 3]).max()
    np.testing.assert_allclose(
        Kinematics(rest_motion(found.skeleton)).positions[0],
        world_matrices(nodes)[list(order), :3, 3],
        atol=1e-6 * size,
    )
    if not curves:
        return
    positions = Kinematics(take(found)).positions
    for frame in range(3):
        posed = copy.deepcopy(nodes)
        for node, path, _, values in curves:
            posed[node][path] = np.asarray(values, np.float32).astype(float)[frame].tolist()
        expected = world_matrices(posed)[list(order), :3, 3]
        np.testing.assert_allclose(positions[frame], expected, atol=1e-4 * (1.0 + np.abs(expected).max()))


def test_bone_offsets_of_a_take_much_smaller_than_its_rest_pose():
    turn = quaternion("x", 6)
    nodes = [
        {"rotation": turn, "scale": [1, 1, 100], "children": [1]},
        {"rotation": turn, "scale": [1, 1, 100], "children": [2]},
        {"rotation": turn, "translation": [1, 0, 0], "scale": [100, 100, 100], "children": [3]},
        {"rotation": turn, "translation": [0, 0, 1]},
    ]
    made = Made(nodes=copy.deepcopy(nodes), skins=[{"joints": [0, 1, 2, 3]}])
    made.animate("small", (0, "scale", np.arange(2) / 30, [[0.2, 0.2, 0.2]] * 2))
    found = read_one(made)
    nodes[0]["scale"] = [0.2, 0.2, 0.2]
    np.testing.assert_allclose(Kinematics(take(found)).positions[0], world_matrices(nodes)[:, :3, 3], atol=1e-3)


def skinned_by_hand(made: Made, positions: np.ndarray) -> np.ndarray:
    """Return world positions of the vertices of `figure` by Σ w·W·IBM·v."""
    document = Document("made.gltf", made.gltf())
    worlds = world_matrices(made.json["nodes"])[made.json["skins"][0]["joints"]]
    bind = document.floats(made.json["skins"][0]["inverseBindMatrices"], ("MAT4",)).reshape(-1, 4, 4).swapaxes(1, 2)
    attributes = made.json["meshes"][0]["primitives"][0]["attributes"]
    who = document.array(attributes["JOINTS_0"], ("VEC4",))
    much = document.floats(attributes["WEIGHTS_0"], ("VEC4",))
    much = much / much.sum(axis=1, keepdims=True)
    homogeneous = np.concatenate([positions, np.ones((len(positions), 1))], axis=1)
    return np.einsum("vk,vkab,vb->va", much, (worlds @ bind)[who], homogeneous)[:, :3]


def test_skinning_follows_the_specification():
    made = figure()
    found = read_one(made)
    assert found.skin is not None
    positions = Document("made.gltf", made.gltf()).floats(0, ("VEC3",))
    motion = take(found)
    blended = linear_blend(found.skin, Kinematics(motion))
    for frame in (0, 3, 5):
        made.json["nodes"][2]["rotation"] = quaternion("x", 10 + 8 * frame)
        made.json["nodes"][1]["translation"] = [2.0 * frame, 0, 100 - frame]
        np.testing.assert_allclose(blended[frame], skinned_by_hand(made, positions), atol=1e-6)


def test_skins_in_different_mesh_spaces_become_one():
    made = figure()
    shift = np.eye(4)
    shift[:3, 3] = [3, 4, 5]
    document = Document("made.gltf", made.gltf())
    bind = document.floats(made.json["skins"][0]["inverseBindMatrices"], ("MAT4",)).reshape(-1, 4, 4).swapaxes(1, 2)
    second = made.accessor((bind @ shift).swapaxes(1, 2).reshape(-1, 16), "MAT4")
    made.json["skins"].append({"joints": [1, 2, 3], "inverseBindMatrices": second})
    moved = document.floats(0, ("VEC3",)) - [3, 4, 5]
    primitive = copy.deepcopy(made.json["meshes"][0]["primitives"][0])
    primitive["attributes"]["POSITION"] = made.accessor(moved, "VEC3")
    made.json["meshes"].append({"primitives": [primitive]})
    made.json["nodes"].append({"mesh": 1, "skin": 1})
    made.json["scenes"][0]["nodes"].append(6)
    found = read_one(made)
    assert found.skin is not None
    assert len(found.skin.vertices) == 12
    blended = linear_blend(found.skin, Kinematics(take(found)))
    np.testing.assert_allclose(blended[:, :6], blended[:, 6:], atol=1e-6)


def test_eight_influences_are_kept():
    made = figure()
    attributes = made.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["JOINTS_1"] = made.accessor([[2, 0, 0, 0]] * 6, "VEC4", "u2")
    attributes["WEIGHTS_1"] = made.accessor([[0.25, 0, 0, 0]] * 6, "VEC4")
    skin = read_one(made).skin
    assert skin is not None
    assert skin.joints.shape == (6, 8)
    np.testing.assert_allclose(skin.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(skin.weights[0, 4], 0.2)


def test_triangles_strips_and_fans():
    corners = np.arange(5)
    assert triangles(corners, 4).tolist() == [[0, 1, 2]]
    assert triangles(corners, 5).tolist() == [[0, 1, 2], [2, 1, 3], [2, 3, 4]]
    assert triangles(corners, 6).tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4]]


def test_a_rigid_mesh_follows_its_joint():
    made = figure()
    made.json["nodes"][3]["children"].append(6)
    made.json["nodes"].append({"name": "shoe", "mesh": 1, "translation": [0, -5, 0]})
    position = made.accessor([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "VEC3")
    made.json["meshes"].append({"primitives": [{"attributes": {"POSITION": position}}]})
    found = read_one(made)
    assert found.skin is not None
    assert found.skeleton.names == ("hips", "knee", "ankle")
    shoe = linear_blend(found.skin, Kinematics(take(found)))[5, :3]
    made.json["nodes"][2]["rotation"] = quaternion("x", 50)
    made.json["nodes"][1]["translation"] = [10, 0, 95]
    world = world_matrices(made.json["nodes"])[6]
    expected = np.array([[0, 0, 0, 1], [1, 0, 0, 1], [0, 1, 0, 1]]) @ world.T
    np.testing.assert_allclose(shoe, expected[:, :3], atol=1e-6)


def test_an_animated_armature_is_a_joint_unless_its_curves_are_constant():
    made = figure()
    made.json["animations"] = []
    made.animate("still", (0, "scale", [0, 1], [[0.01] * 3] * 2), (2, "rotation", [0, 1], [quaternion("x", 0)] * 2))
    assert read_one(made).skeleton.names == ("hips", "knee", "ankle")
    made.animate("moves", (0, "translation", [0, 1], [[0, 0, 0], [0, 0, 1]]))
    found = read_one(made)
    assert found.skeleton.names == ("Armature", "hips", "knee", "ankle")
    np.testing.assert_allclose(take(found, 1).root[-1], [0, 0, 1])


def chain(made: Made, names: list[str], **top) -> int:
    """Append a chain of nodes and return the first."""
    nodes = made.list("nodes")
    first = len(nodes)
    for number, name in enumerate(names):
        nodes.append({"name": name, "translation": [0, 1, 0], "children": [first + number + 1]})
    nodes[-1].pop("children")
    nodes[first].update(top)
    return first


def test_skins_that_share_a_skeleton_are_one_character():
    made = Made()
    chain(made, ["a", "b", "c"])
    chain(made, ["x", "y"], translation=[5, 0, 0])
    made.json["skins"] = [{"joints": [0, 1]}, {"joints": [2]}, {"joints": [3, 4]}]
    names = [found.skeleton.names for found in read(made)]
    assert names == [("a", "b", "c"), ("x", "y")]
    made.json["skins"].append({"joints": [1, 4]})
    joined = read_one(made)
    assert joined.skeleton.names == ("root", "a", "b", "c", "x", "y")
    np.testing.assert_allclose(joined.skeleton.rest_world[0][4], [5, 0, 0])


def test_names_are_generated_and_made_unique():
    made = Made(nodes=[{"children": [1, 2]}, {"name": "arm"}, {"name": "arm"}], skins=[{"joints": [0, 1, 2]}])
    found = read_one(made)
    assert found.skeleton.names == ("node_0", "arm", "arm_1")
    assert any("'arm'" in note for note in found.notes)


def test_files_without_skin_give_their_node_tree():
    made = Made()
    first = chain(made, ["hips", "spine", "head"])
    made.json["nodes"].append({"name": "world", "scale": [0.01] * 3, "children": [first, 4]})
    made.json["nodes"].append({"name": "lamp", "camera": 0})
    assert read_one(made).skeleton.names == ("world", "hips", "spine", "head")
    made.animate("walk", (0, "translation", [0, 1], [[0, 0, 0], [0, 0, 100]]))
    found = read_one(made)
    assert found.skeleton.names == ("hips", "spine", "head")
    np.testing.assert_allclose(take(found).root[-1], [0, 0, 1], atol=1e-7)
    lone = Made(nodes=[{"mesh": 0}], meshes=[{"primitives": []}])
    assert any("no skeleton" in note for note in read_one(lone).notes)


def test_quantised_meshes_are_read():
    made = figure()
    attributes = made.json["meshes"][0]["primitives"][0]["attributes"]
    plain = read_one(made).skin
    exact = Document("made.gltf", made.gltf()).floats(attributes["POSITION"], ("VEC3",))
    attributes["POSITION"] = made.accessor(np.round(exact), "VEC3", "u2")
    normals = made.view(np.tile(np.array([0, 0, 127, 0], "i1"), (6, 1)).tobytes(), byteStride=4)
    made.json["accessors"].append(
        {"bufferView": normals, "componentType": 5120, "normalized": True, "count": 6, "type": "VEC3"}
    )
    attributes["NORMAL"] = len(made.json["accessors"]) - 1
    skin = read_one(made).skin
    assert plain is not None
    assert skin is not None
    np.testing.assert_allclose(skin.vertices, plain.vertices, atol=1e-9)
    # the mesh's z is the world's y, because of the rotated armature
    np.testing.assert_allclose(skin.normals, np.tile([0.0, 1.0, 0.0], (6, 1)), atol=1e-9)


def test_takes_report_sampling_and_losses():
    made = figure()
    made.animate("odd", (2, "rotation", [0, 0.0331, 0.0907, 0.1411], [[0, 0, 0, 1.01]] * 4))
    made.animate("grows", (2, "scale", [0, 1 / 30], [[1, 1, 1], [1, 2, 1]]))
    found = read_one(made)
    assert found.take_notes is not None
    said = []
    for number in range(4):
        take(found, number)
        said.append(" ".join(found.take_notes(number)))
    assert said[0] == ""
    assert "0.5 s apart" in said[1]
    assert "not evenly spaced" in said[2]
    assert "not of unit length" in said[2]
    assert "scale is animated (at 1 joint)" in said[3]


def test_a_damaged_take_does_not_affect_the_others():
    made = figure()
    made.json["accessors"][made.json["animations"][1]["samplers"][0]["output"]]["count"] = 8
    found = read_one(made)
    assert len(take(found, 0)) == 6
    with pytest.raises(FormatError, match=r"animations\[1\].channels\[0\]: expected 9 values for 3 keys, got 8"):
        take(found, 1)


@pytest.mark.parametrize(
    ("times", "rate"),
    [
        (np.arange(100) / 30, 30.0),
        (np.arange(2700) / 120.00048, 120.00048),
        (np.arange(500) / 29.97, 29.97),
        (np.round(np.arange(60) / 30, 3), 30.0),
        (np.arange(48) / 24 + 1 / 24, 24.0),
        ([0.0, 1.25], 24.0),
        (np.arange(12) * 0.5, 24.0),
        ([0.0], 30.0),
        ([0.0, 0.1, 0.15, 0.3], 20.0),
        ([0.0, 0.0331, 0.0707, 0.1011, 0.1502], 30.0),
        (np.concatenate([np.arange(10) / 60, [0.5, 1.0]]), 60.0),
    ],
)
def test_rate_of_key_times(times, rate):
    found = find_rate([np.asarray(times, np.float32)])
    if len(times) == 5:
        assert 24 <= found <= 120
    else:
        assert found == pytest.approx(rate, rel=2e-6)


def read_all(data: Made | bytes) -> None:
    for found in read(data):
        for number in range(len(found.takes)):
            take(found, number)


def fails(made: Made | bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_all(made)


def test_damage_is_reported_with_its_json_path():
    def damaged(change) -> Made:
        made = figure()
        change(made.json)
        return made

    fails(damaged(lambda d: d.update(scene="hello")), r"scene: expected an index below 1, got 'hello'")
    fails(damaged(lambda d: d["nodes"][3].update(children=[1])), r"nodes\[3\].children\[0\]: expected a tree")
    fails(damaged(lambda d: d["nodes"][1].update(rotation=[0, 0, 0, 0])), r"nodes\[1\].rotation: expected a unit")
    fails(damaged(lambda d: d["skins"][0].update(joints=[77])), r"skins\[0\].joints\[0\]: expected an index below 6")
    fails(damaged(lambda d: d["accessors"][0].update(count=10**12)), r"accessors\[0\].count: expected at most")
    fails(damaged(lambda d: d["accessors"][0].update(bufferView=99)), r"accessors\[0\].bufferView: expected an index")
    fails(damaged(lambda d: d["bufferViews"][0].update(byteLength=10**9)), r"bufferViews\[0\].byteLength: expected at")
    fails(damaged(lambda d: d["asset"].update(version="3.0")), r"asset.version: expected glTF version 2.0 or 1.0")
    fails(damaged(lambda d: d["accessors"][2].update(type="VEC3")), r"accessors\[2\].type: expected VEC4, got 'VEC3'")
    fails(b'{"asset": {"version": NaN}}', "NaN is not a JSON number")
    fails(b"[" * 100_000, "nested too deeply|expected JSON")
    loop = Made(nodes=[{"children": [1]}, {"children": [0]}])
    fails(loop, "their own ancestors")
    deep = Made(nodes=[{"children": [number + 1]} for number in range(20_000)] + [{}])
    fails(deep, "nested at most 4096 deep")


def test_non_unit_quaternions_and_decreasing_times_are_errors():
    made = figure()
    made.animate("long", (2, "rotation", [0, 1], [[0, 0, 0, 1.2], [0, 0, 0, 1]]))
    fails(made, "expected unit quaternions, got one of length 1.2 at key 0")
    made = figure()
    made.animate("back", (2, "rotation", [1, 0], [[0, 0, 0, 1]] * 2))
    fails(made, "expected times that increase, got key 1 earlier")
    made = figure()
    made.animate("for ever", (2, "rotation", [0, 1e9], [[0, 0, 0, 1]] * 2))
    fails(made, r"animations\[2\]: expected at most \d+ frames")


def test_uris_stay_in_the_folder(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "secret.bin"
    inside.mkdir()
    made = figure()
    outside.write_bytes(made.bin)
    (inside / "my data.bin").write_bytes(made.bin)
    (inside / "link.bin").symlink_to(outside)
    path = inside / "figure.gltf"

    def load_with(uri: str):
        document = {**made.json, "buffers": [{"byteLength": len(made.bin), "uri": uri}]}
        path.write_text(json.dumps(document))
        return gltf.load(path)

    assert len(load_with("my%20data.bin")) == 1
    for uri in ("../secret.bin", str(outside), "link.bin", "file:///etc/passwd", "http://x.y/z.bin", "a\0b", ".", "no"):
        with pytest.raises(FormatError, match=r"buffers\[0\].uri"):
            load_with(uri)


def test_truncated_files_are_refused():
    data = figure().glb()
    for length in range(0, len(data) - 1, 37):
        with pytest.raises(FormatError):
            read(data[:length])


def test_memory_stays_within_ten_times_the_file():
    made = figure()
    count = 200_000
    position = made.accessor(np.random.default_rng(0).normal(size=(count, 3)), "VEC3")
    joints, weights = made.accessor(np.zeros((count, 4)), "VEC4", "u1"), made.accessor(np.ones((count, 4)), "VEC4")
    attributes = {"POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights}
    made.json["meshes"][0]["primitives"] = [{"attributes": attributes}]
    data = made.glb()
    tracemalloc.start()
    read(data)
    peak = tracemalloc.get_traced_memory()[1]
    # a thousand uses of the same mesh must not take a thousand times the memory
    made.json["nodes"] += [{"mesh": 0, "skin": 0} for _ in range(1000)]
    often = made.glb()
    tracemalloc.reset_peak()
    found = read_one(often)
    worst = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 9 * len(data)
    assert worst < 10 * len(often)
    assert any("more memory than" in note for note in found.notes)


def test_pathological_files_are_read_or_refused_quickly():
    pairs = Made(nodes=[{"children": [5000 + number]} for number in range(5000)] + [{}] * 5000)
    skins = Made(nodes=pairs.json["nodes"], skins=[{"joints": [number, 5000 + number]} for number in range(5000)])
    chain_of_meshes = Made(nodes=[{"children": [number + 1], "mesh": 0} for number in range(3000)] + [{}])
    chain_of_meshes.json["skins"] = [{"joints": [0]}]
    chain_of_meshes.json["meshes"] = [{"primitives": [{"attributes": {}}]}]
    start = time.process_time()
    assert len(read(pairs)) == len(read(skins)) == 64
    assert len(read_one(chain_of_meshes).skeleton) == 1
    fails(Made(nodes=[{"children": list(range(1, 10_001))}] + [{}] * 10_000), "expected at most 8192 joints, got 10001")
    assert time.process_time() - start < 20


WILD = [
    None, True, 0, 1, -1, 2, 1.5, 1e30, 1e308, 10**20, "", "hello", [], {}, [0], [[]], [{}], {"a": 1}, [1, 2, 3],
    [1e38] * 3, [1e38] * 16, [0, 0, 0, 0], "data:;base64,AAAA", 5126, 5121, "VEC3", "SCALAR", "MAT4", "STEP",
    "CUBICSPLINE",
]  # fmt: skip


def places(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def test_values_of_wrong_types_give_a_format_error_or_a_character():
    base = json.loads(figure().gltf())
    spots = list(places(base))
    chance = random.Random(1)
    refused = 0
    for _ in range(800):
        document = copy.deepcopy(base)
        for spot in chance.sample(spots, chance.choice([1, 1, 2])):
            inner = document
            try:
                for key in spot[:-1]:
                    inner = inner[key]
                inner[spot[-1]] = copy.deepcopy(chance.choice(WILD))
            except (KeyError, IndexError, TypeError):
                continue
        try:
            read_all(json.dumps(document).encode())
        except FormatError:
            refused += 1
    assert 150 < refused < 780


@settings(max_examples=thorough(40, 400), deadline=None)
@given(st.data())
def test_flipped_bytes_give_a_format_error_or_a_character(data):
    content = bytearray(figure().glb())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(FormatError):
        read_all(bytes(content))


@pytest.mark.parametrize("path", shared_files("bad/gltf_*"), ids=lambda path: path.name)
def test_damaged_files_are_refused(path: Path):
    with pytest.raises(FormatError) as caught:
        gltf.load(path)
    assert str(caught.value).startswith(str(path))
