"""VRM characters and VRM animations: declared bones, facing, what is kept, what comes back, what is refused."""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import footplant
from conftest import shared_data, shared_files
from footplant import Character, Clip, FormatError, Kinematics, Motion, rest_motion, rotation, samples
from footplant.humanoid.bones import BONES, REQUIRED
from footplant.io import conversion, vrm, vrma
from footplant.io.character import RawCharacter
from footplant.io.vrm.tpose import on_human_bones
from footplant.skinning import linear_blend
from gltf_made import quaternion
from random_figures import random_motion
from test_gltf_write import chunks, edited
from thorough import thorough
from vrm_made import PLACES, human, made

SUFFIX = {"0": ".vrm", "1": ".vrm", "a": ".vrma"}


@pytest.fixture(params=["0", "1", "a"])
def version(request) -> str:
    return request.param


def write(folder: Path, version: str, content=None, suffix: str | None = None) -> Path:
    path = folder / f"made{suffix or SUFFIX[version]}"
    path.write_bytes((content or made(version)).glb())
    return path


def document(path: Path) -> dict:
    return json.loads(chunks(path.read_bytes())[0][1])


def named_joints(motion: Motion) -> dict[str, np.ndarray]:
    positions = Kinematics(motion).positions
    return {name: positions[:, joint] for joint, name in enumerate(motion.skeleton.names)}


# reading


@pytest.mark.quick
def test_the_bone_map_wins_over_names_and_the_character_faces_z(tmp_path, version):
    clip = footplant.load(write(tmp_path, version))
    roles, skeleton = clip.character.require_roles(), clip.motion.skeleton
    names = {role: [skeleton.names[joint] for joint in chain] for role, chain in roles.joints.items()}
    assert names["spine"] == ["joint_a", "joint_b", "upperChest_node"]
    # a name that ends like an end site's is a joint here
    assert names["head"] == ["upper_end"]
    assert names["left_thumb"] == [f"leftThumb{part}_node" for part in ("Metacarpal", "Proximal", "Distal")]
    declared = [BONES[bone].role for bone in PLACES if version != "a" or "Eye" not in bone]
    assert all(roles.confidence[role] == 1.0 and "declared" in roles.reasons[role] for role in declared)
    places = skeleton.rest_world[0]
    for bone, (above, offset) in PLACES.items():
        if version == "a" and "Eye" in bone:
            continue
        joint = skeleton.index({"spine": "joint_a", "chest": "joint_b", "head": "upper_end"}.get(bone, f"{bone}_node"))
        if above is not None:
            np.testing.assert_allclose(places[joint] - places[skeleton.parents[joint]], offset, atol=1e-12)
    assert (clip.conversion.units, clip.conversion.up, clip.conversion.declared) == ("m", "y", True)
    assert clip.conversion.facing == ("-z" if version == "0" else "z")
    assert clip.character.height == pytest.approx(1.71, abs=0.15)
    assert len(clip.character.contacts) == 8
    assert clip.character.limits is not None
    assert clip.character.name == ("Armature" if version == "a" else "Made")


def test_a_glb_file_with_the_extension_is_read_alike(tmp_path, version):
    ours = footplant.load(write(tmp_path, version))
    theirs = footplant.load(write(tmp_path, version, suffix=".glb"))
    assert theirs.character.roles == ours.character.roles
    assert theirs.conversion == ours.conversion
    np.testing.assert_array_equal(theirs.motion.rotations, ours.motion.rotations)


@pytest.mark.quick
def test_an_animation_is_that_of_its_human_bones(tmp_path):
    content = made("a")
    number = human(content)["leftHand"]["node"]
    # a twist joint between elbow and hand, a prop, and a moving bone: VRM animations contain none of these
    elbow = human(content)["leftLowerArm"]["node"]
    content.json["nodes"][elbow]["children"].remove(number)
    content.json["nodes"] += [{"name": "twist", "children": [number]}, {"name": "prop"}]
    count = len(content.json["nodes"])
    content.json["nodes"][elbow]["children"].append(count - 2)
    content.json["nodes"][number].setdefault("children", []).append(count - 1)
    times, turn = [0.0, 0.1], [quaternion("x", 0), quaternion("x", 60)]
    content.animate("more", (count - 2, "rotation", times, turn), (count - 1, "rotation", times, turn),
                    (number, "translation", times, [[0, 0, 0], [1, 1, 1]]))  # fmt: skip
    clip = footplant.load(write(tmp_path, "a", content))
    skeleton = clip.motion.skeleton
    assert "twist" in skeleton.names
    assert not {"prop", "happy", "gaze", "leftEye_node"} & set(skeleton.names)
    assert [take.name for take in clip.takes] == ["wave", "more"]
    assert (len(clip.motion), clip.motion.fps) == (6, 30.0)
    assert clip.motion.root[-1] == pytest.approx([0.5, 0.98, 0.1])
    still = footplant.load(tmp_path / "made.vrma", take="more").motion
    np.testing.assert_array_equal(still.rotations[-1], skeleton.rest)
    assert still.offsets is None
    notes = " ".join(clip.notes)
    assert "expressions (happy)" in notes
    assert "gaze" in notes
    assert "2 nodes that are not human bones are animated" in notes


def test_facing_is_undone_and_yields_to_a_forced_up_axis():
    motion = random_motion()
    for facing, ahead in (("-z", [0, 0, -1]), ("z", [0, 0, 1]), ("x", [1, 0, 0]), ("-x", [-1, 0, 0])):
        figure = RawCharacter("", motion.skeleton, (footplant.Take("a", len(motion), 30.0),), lambda _: motion,
                           scale=1.0, up="y", facing=facing)  # fmt: skip
        clip = conversion.clip_from_raw(figure, "a.vrm")
        np.testing.assert_allclose(rotation.rotate(clip.conversion.turn, ahead), [0, 0, 1], atol=1e-12)
        np.testing.assert_allclose(rotation.rotate(clip.conversion.turn, [0, 1, 0]), [0, 1, 0], atol=1e-12)
        back = conversion.undo_conversion(clip.motion, clip.conversion)
        np.testing.assert_allclose(Kinematics(back).positions, Kinematics(motion).positions, atol=1e-9)
        forced = conversion.clip_from_raw(figure, "a.vrm", up="z")
        np.testing.assert_allclose(rotation.rotate(forced.conversion.turn, [0, 0, 1]), [0, 1, 0], atol=1e-12)


def test_the_character_with_the_bone_map_is_preferred_to_larger_ones(tmp_path):
    content = made("0")
    nodes = content.json["nodes"]
    first = len(nodes)
    nodes += [{"name": f"tentacle{n}", "translation": [0, 0.01, 0], "children": [first + n + 1]} for n in range(60)]
    nodes.append({"name": "tentacle60", "translation": [0, 0.01, 0]})
    content.json["scenes"][0]["nodes"].append(first)
    clip = footplant.load(write(tmp_path, "0", content))
    assert "hips_node" in clip.motion.skeleton.names
    (other,) = clip.others
    assert len(other.motion.skeleton) > len(clip.motion.skeleton)
    # other characters in the file are rotated with it
    assert other.conversion.turn == clip.conversion.turn


def test_a_file_without_the_extension_is_plain_gltf(tmp_path, version):
    content = made(version)
    del content.json["extensions"]
    clip = footplant.load(write(tmp_path, version, content))
    assert any("extension" in note and "plain glTF" in note for note in clip.notes)
    assert clip.conversion.facing is None


def damaged(version: str) -> dict[str, tuple]:
    """Kind of damage → (how to damage a synthetic file, what the error must say)."""
    change = (lambda bones, node: bones[5].update(node=node)) if version == "0" else (
        lambda bones, node: bones["head"].update(node=node))  # fmt: skip
    out = {
        "out of range": (lambda bones: change(bones, 9999), "expected an index below"),
        "negative": (lambda bones: change(bones, -1), "expected an index below"),
        "wrong type": (lambda bones: change(bones, "6"), "expected .* got '6'"),
        "no node": (lambda bones: change(bones, None), "got nothing"),
        "one node for two bones": (lambda bones: change(bones, 1), "a node of its own for 'head', got that of 'hips'"),
    }
    if version == "0":
        out["twice"] = (lambda bones: bones.append(dict(bones[5])), "each human bone once, got 'head' again")
        out["no name"] = (lambda bones: bones[5].pop("bone"), "expected a string")
        out["no object"] = (lambda bones: bones.append(7), "expected an object")
    else:
        out["no object"] = (lambda bones: bones.update(head=6), "expected an object")
    return out


@pytest.mark.parametrize(
    ("version", "what"), [(version, what) for version in ("0", "1", "a") for what in damaged(version)]
)
def test_damaged_maps_are_refused(tmp_path, version, what):
    damage, message = damaged(version)[what]
    content = made(version)
    damage(human(content))
    with pytest.raises(FormatError, match=message) as caught:
        footplant.load(write(tmp_path, version, content))
    assert "humanBones" in str(caught.value)


@pytest.mark.parametrize("value", [{"humanBones": []}, {"humanBones": {}}, {}, None])
def test_an_empty_map_leaves_it_to_names_and_shape(tmp_path, version, value):
    content = made(version)
    content.json["nodes"][1]["name"] = "hips"
    (extension,) = content.json["extensions"].values()
    if value is not None and "humanBones" in value and (version == "0") != isinstance(value["humanBones"], list):
        value = {}
    extension["humanoid"] = value
    clip = footplant.load(write(tmp_path, version, content))
    assert any("which joints are human bones" in note for note in clip.notes)
    assert clip.conversion.facing == ("-z" if version == "0" else "z")
    roles = clip.character.require_roles()
    assert clip.motion.skeleton.names[roles["left_foot"]] == "leftFoot_node"
    assert max(roles.confidence.values()) < 1.0
    rest = clip.motion.skeleton.rest_world[0]
    assert rest[roles["left_hand"]][0] > 0.3


@pytest.mark.parametrize("version", ["0", "1"])
def test_a_vrm_file_without_a_human_keeps_its_file_too(tmp_path, version):
    content = made(version, bones=("hips", "spine"))
    human(content).clear()
    path = write(tmp_path, version, content)
    clip = footplant.load(path)
    assert clip.character.roles is None
    assert footplant.save(tmp_path / "out.vrm", clip).read_bytes() == path.read_bytes()
    footplant.save(tmp_path / "moved.vrm", edited(clip))
    assert document(tmp_path / "moved.vrm")["extensions"] == content.json["extensions"]


@pytest.mark.parametrize("value", [[], 3, "x", {"humanBones": "x"}, {"humanBones": 1}])
def test_a_map_of_another_kind_is_refused(tmp_path, version, value):
    content = made(version)
    (extension,) = content.json["extensions"].values()
    extension["humanoid"] = value
    with pytest.raises(FormatError, match="expected"):
        footplant.load(write(tmp_path, version, content))


def test_bones_missing_from_a_map_are_reported_and_found(tmp_path):
    content = made("0")
    bones = human(content)
    bones[:] = [entry for entry in bones if entry["bone"] != "rightFoot"]
    bones.append({"bone": "tail", "node": 0})
    # VRM 0.x writes −1 for null, which is valid for an optional bone
    next(entry for entry in bones if entry["bone"] == "leftToes")["node"] = -1
    clip = footplant.load(write(tmp_path, "0", content))
    assert any("which joint is rightFoot" in note for note in clip.notes)
    assert any("'tail'" in note for note in clip.notes)
    roles = clip.character.require_roles()
    assert clip.motion.skeleton.names[roles["right_foot"]] == "rightFoot_node"
    assert roles.confidence["right_foot"] < 1.0
    assert "left_toes" not in roles or roles.confidence["left_toes"] < 1.0


def test_node_constraints_are_reported(tmp_path):
    content = made("1")
    content.json["nodes"][5]["extensions"] = {"VRMC_node_constraint": {"specVersion": "1.0", "constraint": {}}}
    assert any(
        "1 node is driven by node constraints" in note for note in footplant.load(write(tmp_path, "1", content)).notes
    )


def test_garbage_is_refused(tmp_path):
    for suffix in (".vrm", ".vrma"):
        path = tmp_path / f"bad{suffix}"
        for content in (b"", b"VRM", b"\0" * 64, made("1").glb()[:200]):
            path.write_bytes(content)
            with pytest.raises(FormatError):
                footplant.load(path)


# writing


def test_an_unmodified_file_is_copied_byte_for_byte(tmp_path, version):
    path = write(tmp_path, version)
    out = footplant.save(tmp_path / f"out{path.suffix}", footplant.load(path))
    assert out.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("version", ["0", "1"])
@pytest.mark.quick
def test_a_motion_on_a_character_keeps_its_file(tmp_path, version):
    content = made(version)
    content.json["extensions"]["VRMC_springBone"] = {"specVersion": "1.0", "springs": []}
    content.json["extras"] = {"kept": True}
    clip = footplant.load(write(tmp_path, version, content))
    moved = edited(replace(clip, motion=rest_motion(clip.motion.skeleton, 8, 30.0), name="moved"))
    out = footplant.save(tmp_path / "out.vrm", moved)
    before, after = document(tmp_path / "made.vrm"), document(out)
    for key in before:
        assert after[key] == before[key], key
    assert [animation["name"] for animation in after["animations"]] == ["moved"]
    again = footplant.load(out)
    assert again.conversion == clip.conversion
    np.testing.assert_allclose(Kinematics(again.motion).positions, Kinematics(moved.motion).positions, atol=1e-6)
    # a bare motion finds its file through its character
    other = footplant.save(tmp_path / "bare.vrm", moved.motion, character=clip.character)
    np.testing.assert_allclose(
        Kinematics(footplant.load(other).motion).positions, Kinematics(moved.motion).positions, atol=1e-6
    )


@pytest.mark.parametrize("version", ["0", "1"])
@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_a_glb_walks_where_the_motion_does(tmp_path, version, suffix):
    """VRM 0.x faces −z in its own files alone: readers that know no VRM find every node where our kinematics does."""
    clip = footplant.load(write(tmp_path, version))
    walk = edited(replace(clip, motion=rest_motion(clip.motion.skeleton, 8, 30.0), name="walk"))
    walk = replace(walk, motion=replace(walk.motion, root=walk.motion.root + np.linspace([0, 0, 0], [0.3, 0, 2.0], 8)))
    out = footplant.save(tmp_path / f"out{suffix}", walk)
    plain = json.loads(out.read_bytes()) if suffix == ".gltf" else document(out)
    for key in ("extensions", "extensionsUsed"):
        plain.pop(key, None)
    blank = tmp_path / "plain.gltf"
    data = chunks(out.read_bytes())[1][1] if suffix == ".glb" else b""
    if data:
        (tmp_path / "data.bin").write_bytes(data)
        plain["buffers"][0]["uri"] = "data.bin"
    blank.write_text(json.dumps(plain))
    ours, theirs = named_joints(walk.motion), named_joints(footplant.load(blank).motion)
    for name in ("leftFoot_node", "rightHand_node", "joint_a"):
        np.testing.assert_allclose(theirs[name], ours[name], atol=1e-6)
    # read again with its bone map, it is the same motion, and a .vrm file made from it faces −z again
    again = footplant.load(out)
    assert again.conversion.facing == "z"
    np.testing.assert_allclose(Kinematics(again.motion).positions, Kinematics(walk.motion).positions, atol=1e-6)
    back = footplant.load(footplant.save(tmp_path / "back.vrm", edited(again)))
    assert back.conversion.facing == clip.conversion.facing
    np.testing.assert_allclose(Kinematics(back.motion).positions, Kinematics(edited(again).motion).positions, atol=1e-6)
    third = footplant.load(footplant.save(tmp_path / "third.glb", edited(back)))
    assert third.conversion.facing == "z"
    np.testing.assert_allclose(Kinematics(third.motion).positions, Kinematics(edited(back).motion).positions, atol=1e-6)


def test_an_edited_animation_keeps_expressions_and_gaze(tmp_path):
    clip = footplant.load(write(tmp_path, "a"))
    moved = edited(clip)
    out = footplant.save(tmp_path / "out.vrma", moved)
    before, after = document(tmp_path / "made.vrma"), document(out)
    assert after["extensions"] == before["extensions"]
    assert after["nodes"] == before["nodes"]
    human_nodes = {
        entry["node"] for entry in after["extensions"]["VRMC_vrm_animation"]["humanoid"]["humanBones"].values()
    }
    targets = [(channel["target"]["node"], channel["target"]["path"]) for channel in after["animations"][0]["channels"]]
    hips = after["extensions"]["VRMC_vrm_animation"]["humanoid"]["humanBones"]["hips"]["node"]
    kept = [target for target in targets if target[0] not in human_nodes]
    assert [after["nodes"][node]["name"] for node, _ in kept] == ["happy", "gaze"]
    assert [node for node, path in targets if path == "translation" and node in human_nodes] == [hips]
    np.testing.assert_allclose(
        Kinematics(footplant.load(out).motion).positions, Kinematics(moved.motion).positions, atol=1e-6
    )


@pytest.mark.parametrize("name", ["walk", "turn-left", "kick"])
def test_samples_round_trip_through_vrma(tmp_path, name):
    clip = footplant.load(f"sample:{name}")
    again = footplant.load(footplant.save(tmp_path / "out.vrma", clip))
    before, after = named_joints(clip.motion), named_joints(again.motion)
    assert set(after) == set(before)
    assert max(np.abs(after[joint] - before[joint]).max() for joint in after) < 1e-5
    assert again.motion.fps == pytest.approx(clip.motion.fps, rel=1e-5)
    roles = again.character.require_roles()
    assert set(roles.joints) == set(clip.character.require_roles().joints)
    assert set(roles.confidence.values()) == {1.0}
    # at rest a T-pose on the floor
    rest = again.motion.skeleton.rest_world[0]
    arm = rest[roles["left_hand"]] - rest[roles["left_upper_arm"]]
    assert arm[0] > 0.999 * np.linalg.norm(arm)
    assert rest[roles["hips"]][1] == pytest.approx(0.53 * clip.character.height, rel=0.1)


@pytest.mark.parametrize("name", sorted(samples.CHARACTERS))
def test_sample_characters_round_trip_through_vrm(tmp_path, name):
    character = footplant.load_character(f"sample:{name}")
    again = footplant.load_character(footplant.save(tmp_path / "out.vrm", character))
    assert "animations" not in document(tmp_path / "out.vrm")
    assert again.name == character.name
    assert again.height == pytest.approx(character.height, rel=0.01)
    assert again.skin is not None
    assert character.skin is not None
    # the mesh is unchanged if the joints are
    before = rest_motion(character.skeleton)
    after = replace(before, skeleton=again.skeleton)
    ours, theirs = linear_blend(character.skin, Kinematics(before)), linear_blend(again.skin, Kinematics(after))
    np.testing.assert_allclose(theirs, ours, atol=1e-6)


def test_a_new_vrm_has_metadata(tmp_path):
    clip = footplant.load("sample:stand")
    vrm.save(tmp_path / "a.vrm", clip)
    about = document(tmp_path / "a.vrm")["extensions"]["VRMC_vrm"]["meta"]
    assert about == {
        "name": clip.character.name, "authors": ["unknown"], "licenseUrl": "https://vrm.dev/licenses/1.0/",
    }  # fmt: skip
    vrm.save(tmp_path / "b.vrm", clip, meta={"name": "Ann", "authors": ["Bob"], "creditNotation": "unnecessary"})
    about = document(tmp_path / "b.vrm")["extensions"]["VRMC_vrm"]["meta"]
    assert (about["name"], about["authors"], about["creditNotation"]) == ("Ann", ["Bob"], "unnecessary")
    own = footplant.load(write(tmp_path, "1"))
    with pytest.raises(FormatError, match="its own VRM file"):
        vrm.save(tmp_path / "c.vrm", own, meta={"name": "Ann"})


def test_a_plain_gltf_character_becomes_vrm_with_its_own_meshes(tmp_path):
    footplant.save(tmp_path / "walk.glb", footplant.load("sample:walk"))
    clip = footplant.load(tmp_path / "walk.glb")
    out = footplant.save(tmp_path / "walk.vrm", clip)
    before, after = document(tmp_path / "walk.glb"), document(out)
    for key in ("meshes", "materials", "skins"):
        assert after[key] == before[key]
    assert chunks(out.read_bytes())[1][1].startswith(chunks((tmp_path / "walk.glb").read_bytes())[1][1])
    np.testing.assert_allclose(
        Kinematics(footplant.load(out).motion).positions, Kinematics(clip.motion).positions, atol=1e-6
    )


def test_joints_between_human_bones_are_folded_into_the_next(tmp_path):
    """A neck of two joints: VRM has one, which is aimed at the head; the head itself turns as it did."""
    content = made("1")
    neck, head = human(content)["neck"]["node"], human(content)["head"]["node"]
    nodes = content.json["nodes"]
    nodes.append({"name": "neck2", "translation": [0, 0.05, 0], "children": [head]})
    nodes[neck]["children"] = [len(nodes) - 1]
    clip = footplant.load(write(tmp_path, "1", content))
    skeleton = clip.motion.skeleton
    shift = np.zeros((5, 1 + len(skeleton), 3))
    shift[:, 1 + skeleton.index("neck2")] = np.linspace([0, 0, 0], [0.5, 0.2, 0.3], 5)
    clip = replace(clip, motion=rest_motion(skeleton, 5) + shift)
    again = footplant.load(footplant.save(tmp_path / "out.vrma", clip))
    before, after = Kinematics(clip.motion), Kinematics(again.motion)
    ours, theirs = skeleton.index("upper_end"), again.motion.skeleton.index("upper_end")
    assert "neck2" not in again.motion.skeleton.names
    off = rotation.angle(before.rotations[:, ours], after.rotations[:, theirs])
    assert np.max(off) < 1e-6
    moved = np.linalg.norm(before.positions[:, ours] - after.positions[:, theirs], axis=1)
    bent = np.linalg.norm(before.positions[:, ours] - before.positions[0, ours], axis=1)
    assert bent[-1] > 0.03
    assert moved.max() < 0.2 * bent[-1]
    assert on_human_bones(clip, "out.vrma").lost == pytest.approx(moved.max(), abs=2e-3)
    (told,) = vrma.further_losses(clip)
    assert told.startswith("4 joints that are not a human bone of VRM ('Armature', 'neck2', ")
    assert told.endswith(" mm")
    assert vrma.further_losses(footplant.load("sample:walk")) == []
    assert vrma.further_losses(again) == []


@pytest.mark.parametrize("suffix", [".vrm", ".vrma"])
def test_several_takes_are_written(tmp_path, suffix):
    path = tmp_path / "takes.glb"
    for number, name in enumerate(("walk", "kick")):
        clip = footplant.load(f"sample:{name}")
        if number:
            clip = replace(clip, character=footplant.load_character(path))
        footplant.save(path, clip, keep_takes=True)
    takes = list(footplant.io.load_takes(path))
    out = footplant.save(tmp_path / f"takes{suffix}", takes[1], takes=takes)
    again = list(footplant.io.load_takes(out))
    assert [take.name for take in again] == [take.name for take in takes]
    for before, after in zip(takes, again, strict=True):
        ours, theirs = named_joints(before.motion), named_joints(after.motion)
        assert max(np.abs(theirs[joint] - ours[joint]).max() for joint in theirs) < 1e-5
    # and onto their own file
    own = footplant.save(tmp_path / f"own{suffix}", again[0], takes=[edited(take) for take in again])
    assert [len(take.motion) for take in footplant.io.load_takes(own)] == [len(take.motion) for take in takes]


def test_characters_unfit_for_vrm_are_refused_with_the_reason(tmp_path):
    for suffix in (".vrm", ".vrma"):
        path = tmp_path / f"out{suffix}"
        with pytest.raises(FormatError, match="no roles"):
            footplant.save(path, random_motion())
        clip = footplant.load("sample:walk")
        roles = clip.character.require_roles()
        for role, bone in (("head", "head"), ("spine", "spine")):
            joints = {key: chain for key, chain in roles.joints.items() if key != role}
            lacking = replace(clip, character=replace(clip.character, roles=replace(roles, joints=joints)))
            with pytest.raises(FormatError, match=f"lacks .*{bone}"):
                footplant.save(path, lacking)
        swapped = dict(roles.joints) | {
            "left_foot": roles.joints["right_foot"], "right_foot": roles.joints["left_foot"],
        }  # fmt: skip
        crossed = replace(clip, character=replace(clip.character, roles=replace(roles, joints=swapped)))
        with pytest.raises(FormatError, match=r"\(leftFoot\) somewhere below .*\(leftLowerLeg\)"):
            footplant.save(path, crossed)
        with pytest.raises(FormatError, match="expected a motion with frames"):
            footplant.save(path, replace(clip, motion=clip.motion[:0]))
        assert not path.exists()
    with pytest.raises(FormatError, match="expected mesh to be"):
        vrm.save(tmp_path / "out.vrm", footplant.load("sample:walk"), mesh="cloth")


def test_modules_list_what_they_hold():
    assert (vrm.extensions, vrma.extensions) == ((".vrm",), (".vrma",))
    assert vrm.holds | vrma.holds <= set(footplant.io.FORMAT_FEATURES)
    assert "skin" not in vrma.holds


# any character


@st.composite
def figures(draw):
    """A human figure whose joints stand anyhow at rest, with joints that VRM does not know, and a motion of it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    clip = footplant.load("sample:walk")
    skeleton = clip.motion.skeleton
    # other rest rotations of the same character: only its joint frames are rotated
    frames = rotation.normalize(rng.normal(size=(len(skeleton), 4)))
    above = np.concatenate([rotation.identity(1), frames[skeleton.parents[1:]]])
    turned = replace(
        skeleton,
        rest=rotation.multiply(rotation.multiply(rotation.inverse(above), skeleton.rest), frames),
        offsets=rotation.rotate(rotation.inverse(above), skeleton.offsets),
        end_offsets=rotation.rotate(rotation.inverse(frames[skeleton.end_parents]), skeleton.end_offsets),
    )
    swing = rng.normal(scale=0.4, size=(3, 1 + len(skeleton), 3))
    motion = rest_motion(turned, 3, draw(st.sampled_from([24.0, 30.0, 59.94, 120.0]))) + swing
    return Clip(motion, Character(turned, roles=clip.character.roles, contacts={}), name="any")


@settings(max_examples=thorough(15, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(clip=figures())
def test_random_motions_round_trip_through_vrma(tmp_path, clip):
    again = footplant.load(footplant.save(tmp_path / "any.vrma", clip))
    before, after = named_joints(clip.motion), named_joints(again.motion)
    assert max(np.abs(after[joint] - before[joint]).max() for joint in after) < 1e-5
    assert again.motion.fps == pytest.approx(clip.motion.fps, rel=1e-4)


_JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 60), st.floats(allow_nan=False), st.text(max_size=5),
    st.lists(st.integers(0, 5), max_size=2), st.dictionaries(st.sampled_from(["node", "bone"]), st.integers(-2, 50)),
)  # fmt: skip


@settings(max_examples=thorough(25, 200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(version=st.sampled_from(["0", "1", "a"]), data=st.data())
def test_maps_with_anything_in_them_are_read_or_refused(tmp_path, version, data):
    content = made(version)
    bones = human(content)
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(st.sampled_from(sorted(bones) if isinstance(bones, dict) else range(len(bones))))
        where = data.draw(st.sampled_from(["entry", "node", "swap"]))
        if where == "entry":
            bones[key] = data.draw(_JUNK)
        elif where == "node" and isinstance(bones[key], dict):
            bones[key]["node"] = data.draw(_JUNK)
        else:
            other = data.draw(st.sampled_from(sorted(bones) if isinstance(bones, dict) else range(len(bones))))
            if isinstance(bones[key], dict) and isinstance(bones[other], dict):
                first, second = bones[key].get("node"), bones[other].get("node")
                bones[key]["node"], bones[other]["node"] = second, first
    path = write(tmp_path, version, content)
    try:
        clip = footplant.load(path)
    except FormatError:
        return
    for suffix in (".vrm", ".vrma"):
        with contextlib.suppress(FormatError):
            footplant.save(tmp_path / f"again{suffix}", clip)


# real files

TABLE = {
    "vrm/100avatars_001_Crimsom.vrm": ("Crimsom", 1.64, 65, 52, "-z", 1, "skin"),
    "vrm/100avatars_038_Kate.vrm": ("Kate", 1.73, 65, 52, "-z", 1, "skin"),
    "vrm/100avatars_045_DinoKid.vrm": ("DinoKid", 1.24, 65, 52, "-z", 1, "skin"),
    "vrm/Godette_vrm0.vrm": ("Low-Poly Godette", 1.49, 68, 45, "-z", 1, "skin"),
    "vrm/basic_armature_vrm0.vrm": ("basic_armature_vrm0", 1.73, 54, 53, "-z", 1, None),
    "vrm/basic_armature_vrm1.vrm": ("basic_armature_vrm1", 1.73, 54, 53, "z", 1, None),
    "vrm/multi_root_armature_vrm1.vrm": ("multi_root_armature_vrm1", 1.79, 18, 17, "z", 1, None),
    "vrma/idle_loop.vrma": ("idle_loop", 1.77, 28, 22, "z", 250, None),
    "vrma/three-vrm_test.vrma": ("three-vrm_test", 1.73, 51, 51, "z", 73, None),
}
"""File → name, height in metres, joints, human bones, facing, frames, mesh."""


@pytest.mark.parametrize("file", TABLE)
@pytest.mark.named("{file}")
def test_real_files(shared, file):
    from footplant.cli.inspect import describe

    name, height, joints, bones, facing, frames, skin = TABLE[file]
    clip = footplant.load(shared_data(*file.split("/")))
    facts = describe(clip, file)
    assert (facts["character"], facts["joints"], facts["frames"]) == (name, joints, frames)
    assert facts["height"] == pytest.approx(height, abs=0.006)
    assert (facts["units"], facts["up"], facts["declared"], facts["human"]) == ("m", "y", True, True)
    assert clip.conversion.facing == facing
    declared = [role for role in facts["roles"].values() if role["reason"] == "declared by the file"]
    assert sum(len(role["joints"]) for role in declared) == bones
    assert all(role["confidence"] == 1.0 for role in declared)
    assert (facts["skin"] is not None) == (skin is not None)
    assert len(facts["contact_points"]) == 8
    rest, roles = clip.motion.skeleton.rest_world[0], clip.character.require_roles()
    assert rest[roles["left_hand"]][0] > 0.4 > -0.4 > rest[roles["right_hand"]][0]


@pytest.mark.parametrize("path", [*shared_files("vrm/*.vrm"), *shared_files("vrma/*.vrma")], ids=lambda path: path.name)
def test_real_files_survive_saving(path, tmp_path):
    clip = footplant.load(path)
    out = footplant.save(tmp_path / path.name, clip)
    assert out.read_bytes() == path.read_bytes()
    shutil.copy(path, tmp_path / "copy.glb")
    assert footplant.load(tmp_path / "copy.glb").conversion == clip.conversion
    missing = [bone for bone in REQUIRED if BONES[bone].role not in clip.character.require_roles()]
    assert not missing
