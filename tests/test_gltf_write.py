"""Writing glTF: what is preserved byte for byte, and round trips through our own reader."""

from __future__ import annotations

import base64
import copy
import json
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import footplant
from footplant import Character, Clip, FormatError, Kinematics, Motion, Skeleton, SkeletonError, Skin, rest_motion
from footplant.io import gltf
from footplant.io.gltf.document import Document
from footplant.io.gltf.write import bone_skin, strongest
from gltf_made import Made, figure, quaternion
from test_gltf import trees
from thorough import thorough


def load(path, take: int = 0) -> Clip:
    """Return a clip without detecting the character's roles."""
    found = gltf.load(path)[0]
    motion = rest_motion(found.skeleton) if not found.takes else found.read_take(take)
    character = Character(motion.skeleton, name="made", skin=found.skin, source=found.source)
    name = found.takes[take].name if found.takes else "made"
    return Clip(motion, character, name=name, takes=found.takes, take=take)


def chunks(data: bytes) -> list[tuple[int, bytes]]:
    out, place = [], 12
    while place < len(data):
        size, kind = struct.unpack_from("<II", data, place)
        out.append((kind, data[place + 8 : place + 8 + size]))
        place += 8 + size
    return out


def edited(clip: Clip, seed: int = 0) -> Clip:
    """Return the clip with every joint rotated and the root moved."""
    count = len(clip.motion.skeleton)
    shift = np.random.default_rng(seed).normal(size=(1, 1 + count, 3)) * 0.2
    return replace(clip, motion=clip.motion + shift * np.linspace(0.5, 1, len(clip.motion))[:, None, None])


def same_positions(a: Motion, b: Motion, tolerance: float = 1e-6) -> None:
    first, second = Kinematics(a).positions, Kinematics(b).positions
    np.testing.assert_allclose(first, second, atol=tolerance * (1 + np.abs(first).max()))


@pytest.fixture
def made_glb(tmp_path):
    path = tmp_path / "in.glb"
    path.write_bytes(figure().glb(extra=b"chunk of the maker's own"))
    return path


@pytest.mark.parametrize("take", [0, 1])
def test_an_unmodified_clip_is_copied_byte_for_byte(made_glb, tmp_path, take):
    gltf.save(tmp_path / "out.glb", load(made_glb, take))
    assert (tmp_path / "out.glb").read_bytes() == made_glb.read_bytes()


def test_an_edit_replaces_its_take_and_keeps_the_rest_of_the_file(made_glb, tmp_path):
    clip = edited(load(made_glb, 1))
    gltf.save(tmp_path / "out.glb", clip)
    before, after = chunks(made_glb.read_bytes()), chunks((tmp_path / "out.glb").read_bytes())
    assert after[1][1].startswith(before[1][1])
    assert after[2] == before[2]
    old, new = json.loads(before[0][1]), json.loads(after[0][1])
    assert new["accessors"][: len(old["accessors"])] == old["accessors"]
    assert new["bufferViews"][: len(old["bufferViews"])] == old["bufferViews"]
    assert new["animations"][0] == old["animations"][0]
    assert [animation["name"] for animation in new["animations"]] == ["bend", "curves"]
    for key in set(old) - {"accessors", "bufferViews", "buffers", "animations"}:
        assert new[key] == old[key]
    again = load(tmp_path / "out.glb", 1)
    assert again.motion.fps == pytest.approx(clip.motion.fps)
    same_positions(again.motion, clip.motion)


def test_a_motion_from_elsewhere_becomes_the_only_animation(made_glb, tmp_path):
    clip = replace(edited(load(made_glb)), takes=(), name="walk")
    gltf.save(tmp_path / "out.glb", clip)
    assert [take.name for take in load(tmp_path / "out.glb").takes] == ["walk"]
    gltf.save(tmp_path / "all.glb", clip, keep_takes=True)
    # viewers open a file with its first animation
    assert [take.name for take in load(tmp_path / "all.glb").takes] == ["walk", "bend", "curves"]
    same_positions(load(tmp_path / "all.glb").motion, clip.motion)
    named = replace(clip, name="curves")
    gltf.save(tmp_path / "named.glb", named, keep_takes=True)
    assert [take.name for take in load(tmp_path / "named.glb").takes] == ["curves", "bend"]
    gltf.save(tmp_path / "one.glb", load(made_glb, 1), keep_takes=False)
    assert [take.name for take in load(tmp_path / "one.glb").takes] == ["curves"]


def test_curves_of_other_nodes_are_kept_with_an_edit(tmp_path):
    made = figure()
    weights = made.accessor([0.0, 1.0], "SCALAR")
    animation = made.json["animations"][0]
    times = made.accessor([0.0, 0.16], "SCALAR", min=[0.0], max=[0.16])
    animation["samplers"].append({"input": times, "output": weights})
    sampler = len(animation["samplers"]) - 1
    animation["channels"].append({"sampler": sampler, "target": {"node": 5, "path": "weights"}})
    (tmp_path / "in.glb").write_bytes(made.glb())
    clip = edited(load(tmp_path / "in.glb"))
    gltf.save(tmp_path / "out.glb", clip)
    new = json.loads(chunks((tmp_path / "out.glb").read_bytes())[0][1])["animations"][0]
    kept = [c for c in new["channels"] if c["target"]["path"] == "weights"]
    assert [new["samplers"][c["sampler"]] for c in kept] == [{"input": times, "output": weights}]
    # with another length they would no longer match
    gltf.save(tmp_path / "short.glb", replace(clip, motion=clip.motion[:3]))
    new = json.loads(chunks((tmp_path / "short.glb").read_bytes())[0][1])["animations"][0]
    assert all(c["target"]["path"] != "weights" for c in new["channels"])


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_external_files_are_embedded_in_another_folder(tmp_path, suffix):
    made = figure()
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    (source / "data.bin").write_bytes(made.bin)
    (source / "skin.png").write_bytes(b"\x89PNG picture")
    document = {**made.json, "buffers": [{"byteLength": len(made.bin), "uri": "data.bin"}]}
    document["images"] = [{"uri": "skin.png"}, {"uri": "../outside.png"}]
    (source / "in.gltf").write_text(json.dumps(document))
    clip = edited(load(source / "in.gltf"))
    for folder in (source, target):
        gltf.save(folder / f"out{suffix}", clip)
        assert {path.name for path in folder.iterdir()} <= {"in.gltf", "data.bin", "skin.png", f"out{suffix}"}
        written = load(folder / f"out{suffix}")
        same_positions(written.motion, clip.motion)
        images = written.character.source.document.json["images"]
        assert images[1] == {"uri": "../outside.png"}
        if folder == source:
            assert images[0] == {"uri": "skin.png"}
        else:
            assert base64.b64decode(images[0]["uri"].partition(",")[2]) == b"\x89PNG picture"
    assert (source / "data.bin").read_bytes() == made.bin


def test_forced_units_are_undone_on_saving(made_glb, tmp_path):
    clip = edited(load(made_glb))
    turn = np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    big = replace(
        clip,
        motion=replace(
            clip.motion.scaled(100.0).transformed(turn), skeleton=clip.motion.skeleton.scaled(100.0).turned(turn)
        ),
        character=replace(clip.character, skeleton=clip.character.skeleton.scaled(100.0).turned(turn)),
    )
    gltf.save(tmp_path / "out.glb", big)
    same_positions(load(tmp_path / "out.glb").motion, clip.motion)


def test_joints_with_matrices_can_be_animated(tmp_path):
    made = figure()
    made.json["nodes"][2] = {
        "name": "knee",
        "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, -50, 1],
        "children": [3],
    }
    made.json["animations"] = []
    made.json.pop("animations")
    (tmp_path / "in.gltf").write_bytes(made.gltf())
    clip = edited(load(tmp_path / "in.gltf"))
    gltf.save(tmp_path / "out.gltf", clip)
    assert "matrix" not in json.loads((tmp_path / "out.gltf").read_text())["nodes"][2]
    same_positions(load(tmp_path / "out.gltf").motion, clip.motion)


def test_an_added_root_is_animated_through_its_children(tmp_path):
    made = Made(nodes=[{"name": "a", "translation": [1, 0, 0], "rotation": quaternion("z", 30)}, {"name": "b"}])
    made.json["skins"] = [{"joints": [0, 1]}]
    (tmp_path / "in.gltf").write_bytes(made.gltf())
    clip = edited(load(tmp_path / "in.gltf"))
    assert clip.motion.skeleton.names == ("root", "a", "b")
    gltf.save(tmp_path / "out.glb", clip)
    again = load(tmp_path / "out.glb")
    a, b = Kinematics(clip.motion), Kinematics(again.motion)
    np.testing.assert_allclose(a.positions[:, 1:], b.positions[:, 1:], atol=1e-6)


@settings(max_examples=thorough(25, 100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees())
def test_edits_round_trip_under_any_scale(tmp_path, tree):
    nodes, curves = tree
    # rotations are written as float32, and a node that stretches one axis a thousand times more than another
    # amplifies their rounding as much
    squeeze = np.exp(sum(np.ptp(np.log(np.abs(node["scale"]))) for node in nodes))
    assume(squeeze <= 1e5)
    made = Made(nodes=copy.deepcopy(nodes), skins=[{"joints": list(range(len(nodes)))}])
    if curves:
        made.animate("all", *curves)
    (tmp_path / "in.gltf").write_bytes(made.gltf())
    clip = edited(load(tmp_path / "in.gltf"))
    gltf.save(tmp_path / "out.glb", clip)
    same_positions(load(tmp_path / "out.glb").motion, clip.motion, max(2e-5, 1e-7 * squeeze))


def hand_made() -> Skeleton:
    return Skeleton(
        names=("hips", "knee", "toe \N{GREEK SMALL LETTER OMEGA}"),
        parents=np.array([-1, 0, 1]),
        offsets=np.array([[0.1, 1.0, 0], [0, -0.5, 0], [0, -0.4, 0.1]]),
        rest=np.array([[1.0, 0, 0, 0], [np.cos(0.1), np.sin(0.1), 0, 0], [1, 0, 0, 0]]),
        end_parents=np.array([2, 0]),
        end_offsets=np.array([[0, 0, 0.2], [0, 0.3, 0]]),
    )


def hand_made_motion(frames: int = 40, fps: float = 48.5) -> Motion:
    random = np.random.default_rng(3)
    skeleton = hand_made()
    return rest_motion(skeleton, frames, fps) + np.cumsum(random.normal(size=(frames, 4, 3)) * 0.05, axis=0)


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("mesh", ["auto", "bones", "none"])
def test_a_new_file_round_trips(tmp_path, suffix, mesh):
    motion = hand_made_motion()
    path = tmp_path / f"new{suffix}"
    gltf.save(path, Clip(motion, Character(motion.skeleton), name="wiggle"), mesh=mesh)
    again = load(path)
    assert again.motion.skeleton.names == motion.skeleton.names
    assert again.motion.fps == pytest.approx(motion.fps, rel=1e-6)
    same_positions(again.motion, motion)
    np.testing.assert_allclose(Kinematics(again.motion).ends, Kinematics(motion).ends, atol=1e-6)
    np.testing.assert_allclose(again.motion.skeleton.rest, motion.skeleton.rest, atol=1e-7)
    assert again.character.skin is None
    written = again.character.source.document.json
    assert ("meshes" in written) == (mesh != "none")
    assert written["asset"]["generator"] == f"Footplant {footplant.__version__}"


def test_cached_static_documents_do_not_leak_between_files(tmp_path):
    """The common static part is built once; each file is as if it were the first."""
    motion = hand_made_motion()

    def written(name: str, character: Character, motion: Motion, mesh: str) -> bytes:
        gltf.save(tmp_path / name, Clip(motion=motion, character=character, name="walk"), mesh=mesh)
        return (tmp_path / name).read_bytes()

    orders = [("bones", motion), ("none", motion), ("bones", motion[:7]), ("bones", motion)]
    character = Character(motion.skeleton)
    together = [written("a.glb", character, part, mesh) for mesh, part in orders]
    apart = [written("a.glb", Character(motion.skeleton), part, mesh) for mesh, part in orders]
    assert together == apart
    assert together[0] == together[3] != together[2]


def test_moving_bones_round_trip(tmp_path):
    motion = hand_made_motion()
    offsets = np.broadcast_to(motion.skeleton.offsets, (40, 3, 3)).copy()
    offsets[:, 1, 1] += np.linspace(0, 0.2, 40)
    motion = replace(motion, offsets=offsets)
    gltf.save(tmp_path / "new.glb", Clip(motion, Character(motion.skeleton)))
    again = load(tmp_path / "new.glb")
    assert again.motion.offsets is not None
    same_positions(again.motion, motion)


def test_a_skin_of_many_influences_round_trips(tmp_path):
    motion = hand_made_motion()
    bones = bone_skin(motion.skeleton)
    random = np.random.default_rng(0)
    count = len(bones.vertices)
    many = Skin(
        bones.vertices, bones.faces, random.integers(0, 3, (count, 10)), random.dirichlet(np.ones(10), count),
        bones.inverse_bind,
    )  # fmt: skip
    gltf.save(tmp_path / "new.glb", Clip(motion, Character(motion.skeleton, skin=many)))
    skin = load(tmp_path / "new.glb").character.skin
    assert skin is not None
    assert skin.joints.shape == (count, 8)
    joints, weights = strongest(many)
    np.testing.assert_array_equal(skin.joints, joints)
    np.testing.assert_allclose(skin.weights, weights, atol=1e-6)
    np.testing.assert_allclose(skin.vertices, many.vertices, atol=1e-6)
    np.testing.assert_array_equal(skin.faces, many.faces)


def test_unwritable_clips_are_reported(tmp_path):
    motion = hand_made_motion()
    clip = Clip(motion, Character(motion.skeleton))
    with pytest.raises(FormatError, match="expected mesh to be"):
        gltf.save(tmp_path / "x.glb", clip, mesh="lines")
    with pytest.raises(FormatError, match="got an empty one"):
        gltf.save(tmp_path / "x.glb", replace(clip, motion=motion[:0]))
    other = replace(hand_made(), names=("a", "b", "c"))
    with pytest.raises(SkeletonError, match="expected a motion of the 3 joints of"):
        gltf.save(tmp_path / "x.glb", replace(clip, character=Character(other)))
    assert not list(tmp_path.iterdir())


def test_a_single_pose_and_a_single_joint_can_be_written(tmp_path):
    lone = Skeleton(("only",), np.array([-1]), np.zeros((1, 3)))
    gltf.save(tmp_path / "lone.glb", Clip(rest_motion(lone), Character(lone)))
    assert len(load(tmp_path / "lone.glb").motion) == 1
    Document(tmp_path / "lone.glb", (tmp_path / "lone.glb").read_bytes())


def test_display_bones_are_not_read_as_a_skin(tmp_path):
    clip = footplant.load("sample:walk")
    bare = footplant.humanoid.make_character(clip.character.skeleton, clip.character.roles, name="bare")
    footplant.save(tmp_path / "bones.glb", replace(clip, character=bare))
    again = footplant.load(tmp_path / "bones.glb")
    assert again.character.skin is None
    assert again.character.height == pytest.approx(bare.height, abs=1e-5)
    for name, point in bare.contacts.items():
        np.testing.assert_allclose(again.character.contacts[name].offset, point.offset, atol=1e-5)
