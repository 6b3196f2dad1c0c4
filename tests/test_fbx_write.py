"""FBX out: the container to the byte, what the records mean, names, rates, skins, and files that stay whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footplant
from fbx_records import File, Meaning, read_fbx, understand
from footplant import Character, Clip, Kinematics, Motion, Skeleton, rotation
from footplant.errors import FormatError
from footplant.io.fbx.records import MAX_FILE_BYTES, Record, pack, record, write_records
from footplant.io.fbx.write import save
from footplant.skeleton import Skin
from random_figures import random_motion


def clip_of(motion: Motion, **parts) -> Clip:
    return Clip(motion, Character(motion.skeleton, name="someone", **parts), name="take")


def written(tmp_path: Path, clip: Clip, **options) -> File:
    save(tmp_path / "clip.fbx", clip, **options)
    return read_fbx((tmp_path / "clip.fbx").read_bytes())


def with_moving_bones(motion: Motion, seed: int = 0) -> Motion:
    rng = np.random.default_rng(seed)
    offsets = np.tile(motion.skeleton.offsets, (len(motion), 1, 1))
    offsets[:, 2::2] += rng.normal(scale=0.05, size=offsets[:, 2::2].shape)
    return replace(motion, offsets=offsets)


def joint_numbers(found: Meaning, skeleton: Skeleton) -> list[int]:
    return [found.names.index(name) for name in skeleton.names]


def check_places(found: Meaning, motion: Motion, tolerance: float = 1e-5) -> None:
    """Assert that joints and end sites match ours, in the rest pose and in every frame."""
    seen = Kinematics(motion)
    numbers = joint_numbers(found, motion.skeleton)
    assert found.motion.shape[0] == len(motion)
    places = found.motion[:, :, :3, 3] * found.metres
    assert np.abs(places[:, numbers] - seen.positions).max() < tolerance
    ends = np.flatnonzero(found.ends)
    assert [numbers.index(found.parents[end]) for end in ends] == motion.skeleton.end_parents.tolist()
    if len(ends):
        assert np.abs(places[:, ends] - seen.ends).max() < tolerance
    rest = found.rest[numbers]
    assert np.abs(rest[:, :3, 3] * found.metres - motion.skeleton.rest_world[0]).max() < 1e-9
    assert rotation.angle(rotation.from_matrix(rest[:, :3, :3]), motion.skeleton.rest_world[1]).max() < 1e-7


# --- the container


def test_header_and_footer_are_those_of_version_7400(tmp_path):
    for frames in range(1, 18):
        save(tmp_path / "clip.fbx", clip_of(random_motion(frames, 3)))
        data = (tmp_path / "clip.fbx").read_bytes()
        file = read_fbx(data)
        assert file.version == 7400
        assert len(data) % 16 == 0
        assert file.foot[:16] == bytes.fromhex("fabcab09d0c8d466b176fb831cf7267e")
        padding = len(file.foot) - 160
        assert 1 <= padding <= 16
        rest = file.foot[16 + padding :]
        assert not any(file.foot[16 : 16 + padding])
        assert not any(rest[:4])
        assert rest[4:8] == (7400).to_bytes(4, "little")
        assert not any(rest[8:128])
        assert rest[128:] == bytes.fromhex("f85a8c6adef5d97eece90ce3758f290b")


def test_top_records_come_in_the_usual_order(tmp_path):
    file = written(tmp_path, clip_of(random_motion()))
    assert [node.name for node in file.top.inside] == [
        "FBXHeaderExtension", "FileId", "CreationTime", "Creator", "GlobalSettings", "Documents", "References",
        "Definitions", "Objects", "Connections", "Takes",
    ]  # fmt: skip
    assert file.top.one("References").has_scope
    assert file.top.one("FBXHeaderExtension").value("FBXVersion") == 7400
    assert file.top.value("Creator") == f"Footplant {footplant.__version__}"


def test_definitions_match_objects_and_connections_are_valid(tmp_path):
    file = written(tmp_path, footplant.load("sample:walk"))
    objects = file.top.one("Objects").inside
    table = file.top.one("Definitions")
    counts = {kind.values[0]: kind.value("Count") for kind in table.all("ObjectType")}
    assert counts.pop("GlobalSettings") == 1
    assert counts == {kind: sum(node.name == kind for node in objects) for kind in {node.name for node in objects}}
    assert table.value("Count") == 1 + len(objects)
    numbers = [node.values[0] for node in objects]
    assert len(set(numbers)) == len(numbers)
    assert 0 not in numbers
    assert max(numbers) < 2**53
    assert all(node.letters[:3] == "LSS" for node in objects)
    classes = {node.name: node.values[1].split("\x00\x01")[1] for node in objects if node.name != "Deformer"}
    assert classes == {
        "Model": "Model", "NodeAttribute": "NodeAttribute", "Geometry": "Geometry", "Material": "Material",
        "Pose": "Pose", "AnimationStack": "AnimStack", "AnimationLayer": "AnimLayer",
        "AnimationCurveNode": "AnimCurveNode", "AnimationCurve": "AnimCurve",
    }  # fmt: skip
    links = [link.values for link in file.top.one("Connections").inside]
    assert all({link[1], link[2]} <= {*numbers, 0} for link in links)
    # every object is connected but the take and the bind pose
    loose = set(numbers) - {link[1] for link in links}
    assert {node.name for node in objects if node.values[0] in loose} == {"AnimationStack", "Pose"}


def test_values_of_all_types_are_encoded():
    assert pack(True) == b"C\x01"
    assert pack(-2) == b"I\xfe\xff\xff\xff"
    assert pack(np.int64(1)) == b"L\x01" + bytes(7)
    assert pack(1.0) == b"D\x00\x00\x00\x00\x00\x00\xf0?"
    assert pack("ü") == b"S\x02\x00\x00\x00\xc3\xbc"
    assert pack(b"\x00\x01") == b"R\x02\x00\x00\x00\x00\x01"
    assert pack(np.array([1.0], "<f4")) == b"f\x01\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x80?"
    long = pack(np.zeros(1000, "<i8"))
    assert long[:9] == b"l\xe8\x03\x00\x00\x01\x00\x00\x00"
    assert len(long) < 200
    assert pack(np.array([1, 2], ">i4")) == pack(np.array([1, 2], "<i4"))


def test_files_that_are_too_large_for_32_bit_places_are_refused(tmp_path):
    class Huge(Record):
        size = MAX_FILE_BYTES  # type: ignore[assignment]

    with pytest.raises(FormatError, match=r"huge\.fbx: expected at most 4,294,967,295 bytes"):
        write_records(tmp_path / "huge.fbx", [Huge("Objects"), record("Takes")])
    assert not list(tmp_path.iterdir())


def test_the_same_clip_gives_the_same_bytes(tmp_path):
    for name in ("one.fbx", "two.fbx"):
        save(tmp_path / name, footplant.load("sample:walk"))
    assert (tmp_path / "one.fbx").read_bytes() == (tmp_path / "two.fbx").read_bytes()


# --- contents


def test_units_and_axes_are_stated(tmp_path):
    motion = random_motion()
    for units, centimetres in (("cm", 1.0), ("m", 100.0), ("mm", 0.1), ("inch", 2.54), (0.25, 25.0)):
        file = written(tmp_path, clip_of(motion), units=units)
        stated = file.top.one("GlobalSettings").properties()
        assert stated["UnitScaleFactor"] == [pytest.approx(centimetres, rel=1e-15)]
        axes = ("UpAxis", "UpAxisSign", "FrontAxis", "FrontAxisSign", "CoordAxis", "CoordAxisSign")
        assert [stated[axis][0] for axis in axes] == [1, 1, 2, 1, 0, 1]
        check_places(understand(file), motion)


@pytest.mark.parametrize(
    ("fps", "mode"),
    [(24, 11), (25, 10), (30, 6), (60, 3), (120, 1), (1000, 12), (40, 14), (30000 / 1001, 14), (1 / 0.0083333, 14)],
)
def test_rates_and_times_are_exact(tmp_path, fps, mode):
    motion = random_motion(200, 2, fps=fps, smooth=True)
    file = written(tmp_path, clip_of(motion))
    stated = file.top.one("GlobalSettings").properties()
    assert stated["TimeMode"] == [mode]
    assert stated["CustomFrameRate"] == [fps if mode == 14 else -1.0]
    found = understand(file)
    assert found.fps == fps
    check_places(found, motion)
    stop = file.top.one("Takes").one("Take").one("LocalTime").values[1]
    assert stop == stated["TimeSpanStop"][0] == round(199 / fps * 46186158000)


def test_motion_of_the_sample_and_its_take(tmp_path):
    clip = footplant.load("sample:walk")
    found = understand(written(tmp_path, clip))
    assert found.take == "walk"
    assert [found.names[number] for number in range(len(found.names)) if found.sorts[number] == "Mesh"] == ["mannequin"]
    check_places(found, clip.motion, 1e-6)


@settings(max_examples=40, deadline=None)
@given(
    joints=st.integers(2, 20), frames=st.integers(1, 12), seed=st.integers(0, 10**6), smooth=st.booleans(),
    moving=st.booleans(), fps=st.sampled_from([24.0, 30.0, 59.94, 120.0, 7.3]),
)  # fmt: skip
def test_random_characters_have_the_right_positions(tmp_path_factory, joints, frames, seed, smooth, moving, fps):
    motion = random_motion(frames, joints, seed, smooth=smooth, fps=fps)
    if moving:
        motion = with_moving_bones(motion, seed)
    check_places(understand(written(tmp_path_factory.mktemp("fbx"), clip_of(motion))), motion)


def test_angles_are_continuous(tmp_path):
    turn = np.linspace(0.0, 5 * np.pi, 300)
    rotations = rotation.from_axis_angle(rotation.AXES["y"], turn)[:, None] * np.array([1.0, 1.0, 1.0, 1.0])
    motion = Motion(Skeleton(("spinner",), np.array([-1]), np.zeros((1, 3))), np.zeros((300, 3)), rotations)
    file = written(tmp_path, clip_of(motion))
    curves = [node.value("KeyValueFloat") for node in file.top.one("Objects").all("AnimationCurve")]
    assert max(np.abs(np.diff(curve)).max() for curve in curves if len(curve) > 1) < 3.2
    check_places(understand(file), motion)


def test_constant_curves_have_one_key_and_others_all(tmp_path):
    motion = random_motion(9, 5, smooth=True)
    rotations, offsets = np.array(motion.rotations), np.tile(motion.skeleton.offsets, (9, 1, 1))
    rotations[:, 1] = rotations[0, 1]
    rotations[:, 2] = motion.skeleton.rest[2] * np.where(np.arange(9) % 2, 1.0, -1.0)[:, None]
    swing = rotation.from_axis_angle(rotation.AXES["x"], np.linspace(0, 1e-5, 9))
    rotations[:, 3] = rotation.multiply(motion.skeleton.rest[3], swing)
    offsets[:, 3] += 0.01
    offsets[:, 4, 1] += np.linspace(0, 1e-3, 9)
    motion = replace(motion, rotations=rotations, offsets=offsets, root=np.tile([1.0, 2.0, 3.0], (9, 1)))
    found = understand(written(tmp_path, clip_of(motion)))
    names = motion.skeleton.names
    keys = {number: found.keys[names[number], "Lcl Rotation"] for number in range(5)}
    assert keys == {0: [9, 9, 9], 1: [1, 1, 1], 2: [1, 1, 1], 3: [9, 9, 9], 4: [9, 9, 9]}
    places = {names.index(name): count for (name, what), count in found.keys.items() if what == "Lcl Translation"}
    assert places == {0: [1, 1, 1], 3: [1, 1, 1], 4: [9, 9, 9]}
    check_places(found, motion)


# --- names


def test_odd_names_are_kept_and_invalid_ones_replaced(tmp_path):
    names = (
        "mixamorig:Hips",
        "a b",
        "ひざ",
        "x.y|z",
        "",
        "nul\x00byte",
        "nul_byte",
        "bad\udc80",
        "bad?",
        "a b_end",
        "Model::q",
    )
    motion = random_motion(2, len(names))
    skeleton = replace(motion.skeleton, names=names, end_parents=np.array([1, 1]))
    clip = Clip(replace(motion, skeleton=skeleton), Character(skeleton, name="a b"), name="häh\x00")
    file = written(tmp_path, clip)
    found = understand(file)
    assert found.names[: len(names)] == [
        "mixamorig:Hips", "a b", "ひざ", "x.y|z", "joint", "nul_byte_2", "nul_byte", "bad?_2", "bad?", "a b_end",
        "Model::q",
    ]  # fmt: skip
    assert found.names[len(names) :] == ["a b_end_2", "a b_end_3"]
    assert found.take == "häh_"
    assert file.top.one("Takes").value("Current") == "häh_"


def test_a_mesh_never_has_the_name_of_a_joint(tmp_path):
    clip = footplant.load("sample:walk")
    clip = replace(clip, character=replace(clip.character, name="Hips"))
    found = understand(written(tmp_path, clip))
    assert len(set(found.names)) == len(found.names)
    assert found.names[found.sorts.index("Mesh")] == "Hips_2"


# --- skins


def skinned(seed: int = 3) -> tuple[Clip, Skin]:
    rng = np.random.default_rng(seed)
    motion = random_motion(4, 5, seed)
    positions, rotations = motion.skeleton.rest_world
    bind = np.tile(np.eye(4), (5, 1, 1))
    bind[:, :3, :3], bind[:, :3, 3] = rotation.to_matrix(rotations), positions
    bind[1, :3, 3] += 0.1  # bound elsewhere than at rest
    bind[3, :3, :3] *= 1.7  # and to a joint with scale
    weights = rng.dirichlet(np.ones(3), 40)
    weights[0] = (0.5, 0.5, 0.0)
    joints = rng.integers(0, 4, (40, 3))
    joints[0] = (2, 2, 1)
    skin = Skin(rng.normal(size=(40, 3)), rng.integers(0, 40, (60, 3)), joints, weights, np.linalg.inv(bind))
    return clip_of(motion, skin=skin), skin


def test_mesh_weights_and_bind_matrices_are_kept(tmp_path):
    clip, skin = skinned()
    file = written(tmp_path, clip)
    objects = file.top.one("Objects")
    mesh = objects.one("Geometry")
    assert np.abs(mesh.value("Vertices").reshape(-1, 3) * 0.01 - skin.vertices).max() < 1e-12
    corners = np.array(mesh.value("PolygonVertexIndex")).reshape(-1, 3)
    assert (corners[:, :2] >= 0).all()
    assert (corners[:, 2] < 0).all()
    corners[:, 2] = -corners[:, 2] - 1
    assert np.array_equal(corners, skin.faces)
    normals = mesh.one("LayerElementNormal")
    assert normals.value("MappingInformationType") == "ByVertice"
    assert np.abs(np.linalg.norm(normals.value("Normals").reshape(-1, 3), axis=1) - 1).max() < 1e-12
    dense = np.zeros((40, 5))
    np.add.at(dense, (np.arange(40)[:, None], skin.joints), skin.weights)
    links = [link.values for link in file.top.one("Connections").inside]
    models = {node.values[0]: node.values[1].split("\x00\x01")[0] for node in objects.all("Model")}
    found = np.zeros((40, 5))
    clusters = [node for node in objects.all("Deformer") if node.values[2] == "Cluster"]
    for cluster in clusters:
        (bone,) = [models[link[1]] for link in links if link[2] == cluster.values[0] and link[1] in models]
        joint = clip.motion.skeleton.index(bone)
        assert len(set(cluster.value("Indexes").tolist())) == len(cluster.value("Indexes"))
        found[cluster.value("Indexes"), joint] = cluster.value("Weights")
        transform, link = (cluster.value(key).reshape(4, 4).T for key in ("Transform", "TransformLink"))
        expected = np.array(skin.inverse_bind[joint])
        expected[:3, 3] *= 100
        assert np.abs(transform - expected).max() < 1e-9
        assert np.abs(transform @ link - np.eye(4)).max() < 1e-9
    assert np.abs(found - dense).max() < 1e-12
    assert len(clusters) == (dense.max(axis=0) > 0).sum()
    pose = objects.one("Pose")
    assert pose.value("NbPoseNodes") == len(pose.all("PoseNode")) == 6


def test_a_bind_matrix_without_inverse_falls_back_to_the_rest_pose(tmp_path):
    clip, skin = skinned()
    flat = np.array(skin.inverse_bind)
    flat[2, :3, :3] = np.diag([1.0, 1.0, 0.0])
    clip = replace(clip, character=replace(clip.character, skin=replace(skin, inverse_bind=flat)))
    nodes = written(tmp_path, clip).top.one("Objects").one("Pose").all("PoseNode")
    place = nodes[3].value("Matrix").reshape(4, 4).T[:3, 3] * 0.01
    assert np.abs(place - clip.motion.skeleton.rest_world[0][2]).max() < 1e-12


def test_the_mesh_can_be_left_out(tmp_path):
    file = written(tmp_path, footplant.load("sample:walk"), mesh=False)
    assert {node.name for node in file.top.one("Objects").inside} == {
        "Model", "NodeAttribute", "AnimationStack", "AnimationLayer", "AnimationCurveNode", "AnimationCurve"
    }  # fmt: skip


# --- refusals


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda clip: replace(clip, motion=clip.motion[:0]), {}, "expected a motion with frames, got an empty one"),
        (lambda clip: clip, {"units": "miles"}, "expected units among m, dm, cm"),
        (lambda clip: clip, {"units": -1.0}, "expected a positive number of metres per unit, got -1.0"),
        (lambda clip: clip, {"units": 1e-300}, "expected lengths up to 1e\\+09 units of 1e-300 m"),
        (lambda clip: replace(clip, motion=clip.motion.transformed([1, 0, 0, 0], [1e9, 0, 0])), {}, "expected lengths"),
    ],
)
def test_unwritable_clips_are_refused_and_leave_the_file_unchanged(tmp_path, change, options, message):
    path = tmp_path / "clip.fbx"
    path.write_text("before")
    with pytest.raises(FormatError, match=rf"clip\.fbx: .*{message}"):
        save(path, change(clip_of(random_motion())), **options)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
