"""Reading FBX: synthetic files, brute-force matrices, damaged files, and failing child processes."""

from __future__ import annotations

import json
import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fbx_made import Made, figure, shifted
from fbx_truth import ask_ufbx
from footplant import FormatError, Kinematics, MissingExtraError, rest_motion, rotation
from footplant.io import fbx, isolation
from footplant.io.character import RawCharacter
from footplant.io.fbx import process, skin
from footplant.motion import Motion
from footplant.skinning import linear_blend


@pytest.fixture
def read(tmp_path):
    def read_all(made: Made | bytes, **options) -> tuple[RawCharacter, ...]:
        path = tmp_path / "made.fbx"
        path.write_bytes(made if isinstance(made, bytes) else made.text())
        return fbx.load(path, **options)

    return read_all


@pytest.fixture
def read_one(read):
    def read_single(made: Made | bytes, **options) -> RawCharacter:
        (found,) = read(made, **options)
        return found

    return read_single


def take(found: RawCharacter, number: int = 0) -> Motion:
    assert found.read_take is not None
    return found.read_take(number)


def euler(angles, order: str = "xyz") -> np.ndarray:
    """Return the matrix (4, 4) of angles in degrees, applied in the order of the axes."""
    out = np.eye(4)
    for axis in order:
        turn = rotation.from_axis_angle(rotation.AXES[axis], np.radians(angles["xyz".index(axis)]))
        out[:3, :3] = rotation.to_matrix(turn) @ out[:3, :3]
    return out


ORDERS = ("xyz", "xzy", "yzx", "yxz", "zxy", "zyx")


def local_matrix(node: dict) -> np.ndarray:
    """FBX's own formula for the transform of a node."""
    place = {key: shifted(*node.get(key, (0, 0, 0))) for key in ("translation", "RotationOffset", "RotationPivot",
             "ScalingOffset", "ScalingPivot")}  # fmt: skip
    pre, post = euler(node.get("PreRotation", (0, 0, 0))), euler(node.get("PostRotation", (0, 0, 0)))
    turn = euler(node.get("rotation", (0, 0, 0)), ORDERS[node.get("RotationOrder", 0)])
    scale = np.diag([*node.get("scaling", (1, 1, 1)), 1.0])
    back = np.linalg.inv
    return (
        place["translation"] @ place["RotationOffset"] @ place["RotationPivot"] @ pre @ turn @ back(post)
        @ back(place["RotationPivot"]) @ place["ScalingOffset"] @ place["ScalingPivot"] @ scale
        @ back(place["ScalingPivot"])
    )  # fmt: skip


def test_a_character_is_read_in_file_units_and_axes(read_one):
    found = read_one(figure())
    assert (found.name, found.scale, found.up, found.notes) == ("Armature", 0.01, "y", ())
    assert found.skeleton.names == ("hips", "knee", "ankle")
    # the rest pose is the bind pose, before the knee was rotated
    np.testing.assert_allclose(found.skeleton.rest_world[0], [[0, 100, 0], [0, 50, 0], [0, 10, 0]], atol=1e-9)
    np.testing.assert_allclose(found.skeleton.rest_ends, [[0, 10, -10]], atol=1e-9)
    assert [(t.name, t.frames, t.fps) for t in found.takes] == [("bend", 6, 30.0), ("walk", 15, 30.0)]
    body = found.skin
    assert body is not None
    np.testing.assert_allclose(body.vertices, [[0, 100, 0], [10, 100, 0], [10, 50, 0], [0, 50, 0]], atol=1e-9)
    assert body.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    np.testing.assert_allclose(body.weights, [[1, 0], [1, 0], [0.5, 0.5], [1, 0]])
    assert body.joints[3, 0] == 1
    np.testing.assert_allclose(linear_blend(body, Kinematics(rest_motion(found.skeleton)))[0], body.vertices, atol=1e-9)


def test_takes_are_sampled_at_the_rate_of_the_file(read_one):
    found = read_one(figure())
    bend, walk = take(found, 0), take(found, 1)
    assert (len(bend), bend.fps, len(walk)) == (6, 30.0, 15)
    assert bend.offsets is None
    np.testing.assert_allclose(walk.root[[0, 7, 14]], [[0, 100, 0], [0, 100, 100], [0, 100, 200]], atol=1e-5)
    base = euler((-90, 0, 0)) @ np.diag([100.0, 100, 100, 1]) @ shifted(0, 0, 1)
    for frame in range(6):
        node = {"translation": (0, 0, -0.5), "PreRotation": (10, 20, 30), "RotationOrder": 2,
                "rotation": (0, 12 * frame, 6 * frame)}  # fmt: skip
        expected = base @ local_matrix(node) @ shifted(0, 0, -0.4)
        np.testing.assert_allclose(Kinematics(bend).positions[frame, 2], expected[:3, 3], atol=1e-4)
    # reading a take again after another gives the same
    np.testing.assert_array_equal(take(found, 0).rotations, bend.rotations)


@pytest.mark.parametrize("seed", range(3))
def test_pivots_and_rotation_orders_follow_the_formula(read_one, seed):
    rng = np.random.default_rng(seed)
    made, parent, nodes = Made(version=7500), 0, []
    node: dict[str, Any]
    for number in range(7):
        node = {key: tuple(rng.normal(size=3).round(3)) for key in ("translation", "RotationOffset", "RotationPivot",
                "ScalingOffset", "ScalingPivot")}  # fmt: skip
        node |= {key: tuple(rng.uniform(-170, 170, 3).round(3)) for key in ("rotation", "PreRotation", "PostRotation")}
        node |= {"RotationOrder": number % 6, "scaling": (float(rng.uniform(0.5, 2)),) * 3}
        nodes.append(node)
        parent = made.node(f"n{number}", parent, **node)
    found = read_one(made)
    assert len(found.skeleton) == 7
    world = np.eye(4)
    for number, node in enumerate(nodes):
        world = world @ local_matrix(node)
        np.testing.assert_allclose(found.skeleton.rest_world[0][number], world[:3, 3], atol=1e-9)


def scaled_chain(rng, inherit, uniform: bool) -> tuple[Made, int]:
    made, parent = Made(), 0
    for number in range(6):
        scale = rng.uniform(0.5, 2, 3) * np.where(rng.random(3) < 0.2, -1, 1)
        scale = np.full(3, scale[0]) if uniform else scale
        parent = made.node(
            f"n{number}", parent, inherit=inherit[number], translation=tuple(rng.normal(size=3).round(3)),
            rotation=tuple(rng.uniform(-170, 170, 3).round(3)), scaling=tuple(scale.round(3)),
        )  # fmt: skip
        if number == 2:
            moving = parent
    return made, moving


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("inherit", [(1,) * 6, (1, 2, 2, 2, 2, 2), (1, 0, 0, 0, 0, 0), (1, 2, 0, 2, 1, 0)])
def test_scale_inheritance_matches_ufbx(tmp_path, inherit, uniform):
    made, moving = scaled_chain(np.random.default_rng(sum(inherit) + uniform), inherit, uniform)
    stretch = made.take("stretch", 0.0, 0.2)
    made.animate(stretch, moving, "Scaling", [0, 0.2], [(1, 1, 1), (2, 0.5, -3)])
    made.animate(stretch, moving, "Rotation", [0, 0.2], [(0, 0, 0), (80, -20, 30)])
    path = tmp_path / "scaled.fbx"
    path.write_bytes(made.text())
    (found,) = fbx.load(path)
    motion = take(found)
    assert motion.offsets is not None
    times = [frame / 30 for frame in range(7)]
    (truth,) = ask_ufbx(path, [{"name": "stretch", "times": times}])
    ours = Kinematics(motion).positions
    for frame, seen in enumerate(truth):
        expected = [seen["nodes"][name] for name in found.skeleton.names]
        np.testing.assert_allclose(ours[frame], expected, atol=1e-9)
    assert found.take_notes is not None
    assert any("scale is animated" in note for note in found.take_notes(0))
    assert uniform or any("non-uniform scale" in note for note in found.notes)


def test_constant_uniform_scales_keep_bones_constant(read_one):
    made = Made()
    top = made.node("top", scaling=(2, 2, 2), rotation=(0, 0, 30))
    arm = made.node("arm", top, translation=(1, 0, 0), scaling=(-1.5, -1.5, -1.5))
    made.node("hand", arm, translation=(1, 0, 0))
    turn = made.take("turn", 0.0, 1.0)
    made.animate(turn, arm, "Rotation", [0, 1], [(0, 0, 0), (0, 90, 0)])
    found = read_one(made)
    motion = take(found)
    assert motion.offsets is None
    np.testing.assert_allclose(np.linalg.norm(found.skeleton.offsets, axis=1), [0, 2, 3], atol=1e-12)
    assert any("1 joint is mirrored" in note for note in found.notes)


def joined(made: Made, name: str, parent: int = 0, count: int = 3) -> list[int]:
    """A chain of bones."""
    out = []
    for number in range(count):
        parent = made.node(f"{name}{number}", parent, translation=(0, 1, 0))
        out.append(parent)
    return out


def test_separate_skeletons_are_separate_characters(read):
    made = Made()
    for name in ("a", "b"):
        joined(made, name, made.node(f"rig_{name}", kind="Null", translation=(5, 0, 0)))
    made.node("lone", translation=(1, 1, 1))
    made.node("eye", kind="Camera")
    found = read(made)
    assert [figure.skeleton.names for figure in found] == [("a0", "a1", "a2"), ("b0", "b1", "b2")]
    assert [figure.name for figure in found] == ["rig_a", "rig_b"]
    assert "1 single bone outside the character skipped" in found[0].notes
    np.testing.assert_allclose(found[0].skeleton.offsets[0], [5, 1, 0])


def test_bones_below_one_node_are_one_character(read_one):
    made = Made()
    rig = made.node("rig", kind="Null")
    joined(made, "body", rig)
    joined(made, "goal", rig)
    assert read_one(made).skeleton.names == ("rig", "body0", "body1", "body2", "goal0", "goal1", "goal2")


def test_bones_of_one_skin_are_one_character(read_one):
    made = Made()
    chains = [joined(made, name) for name in "ab"]
    geometry = made.mesh(made.node("body", kind="Mesh"), [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
    made.skin(
        geometry, *((chain[1], [0, 1, 2], [1.0, 1.0, 1.0], shifted(0, -2, 0), shifted(0, 2, 0)) for chain in chains)
    )
    found = read_one(made)
    assert found.skeleton.names == ("root", "a0", "a1", "a2", "b0", "b1", "b2")
    assert found.skin is not None
    np.testing.assert_allclose(found.skin.weights, 0.5)


def test_a_skeleton_starts_at_the_animated_node(read_one):
    made = Made()
    world = made.node("world", kind="Null", translation=(0, 0, 7))
    mover = made.node("mover", world, kind="Null")
    offset = made.node("offset", mover, kind="Null", translation=(1, 0, 0))
    joined(made, "bone", offset)
    run = made.take("run", 0.0, 1.0)
    made.animate(run, mover, "Translation", [0, 1], [(0, 0, 0), (0, 0, 3)])
    found = read_one(made)
    assert found.skeleton.names == ("mover", "offset", "bone0", "bone1", "bone2")
    np.testing.assert_allclose(take(found).root[[0, -1]], [[0, 0, 7], [0, 0, 10]], atol=1e-6)


def test_animated_meshes_below_a_character_are_joints(read_one):
    made = Made()
    chain = joined(made, "bone")
    grip = made.node("grip", chain[2], kind="Null")
    sword = made.node("sword", grip, kind="Mesh")
    made.mesh(sword, [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
    handle = made.node("handle", chain[0], kind="Null")
    swing = made.take("swing", 0.0, 1.0)
    for node in (sword, handle):
        made.animate(swing, node, "Rotation", [0, 1], [(0, 0, 0), (0, 90, 0)])
    assert read_one(made).skeleton.names == ("bone0", "bone1", "bone2", "grip", "sword")


def test_nodes_without_bones_are_a_skeleton(read_one):
    made = Made()
    hips = made.node("hips", kind="Null")
    made.node("leg", made.node("thigh", hips, kind="Null", translation=(0, -1, 0)), kind="Null", translation=(0, -1, 0))
    assert read_one(made).skeleton.names == ("hips", "thigh", "leg")
    lone = Made()
    lone.node("cube", kind="Mesh")
    found = read_one(lone)
    assert found.skeleton.names == ("cube",)
    assert any("no skeleton" in note for note in found.notes)


def test_a_skeleton_without_bones_starts_below_static_nodes(read_one):
    made = Made()
    stand = made.node("stand", kind="Null", translation=(0, 0, 7))
    hips = made.node("hips", stand, kind="Null")
    made.node("leg", made.node("thigh", hips, kind="Null", translation=(0, -1, 0)), kind="Null", translation=(0, -1, 0))
    walk = made.take("walk", 0.0, 1.0)
    made.animate(walk, hips, "Translation", [0, 1], [(0, 0, 0), (0, 0, 3)])
    found = read_one(made)
    assert found.skeleton.names == ("hips", "thigh", "leg")
    np.testing.assert_allclose(take(found).root[[0, -1]], [[0, 0, 7], [0, 0, 10]], atol=1e-6)


def test_many_characters_and_deep_trees_are_limited(read):
    made = Made()
    for number in range(70):
        joined(made, f"chain{number}_", count=3 if number == 5 else 2)
    found = read(made)
    assert len(found) == 64
    assert [len(each.skeleton) for each in found[:7]] == [2, 2, 2, 2, 2, 3, 2]
    assert any("70 characters; the 64 largest were read" in note for note in found[0].notes)
    deep = Made()
    joined(deep, "n", count=1100)
    with pytest.raises(FormatError, match="depth"):
        read(deep)


def test_a_mesh_with_two_skins(read_one):
    made = Made()
    chain = joined(made, "bone")
    geometry = made.mesh(made.node("body", kind="Mesh"), [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
    for bone in chain[:2]:
        made.skin(geometry, (bone, [0, 1, 2], [1.0, 1.0, 1.0], shifted(0, -1, 0), shifted(0, 1, 0)))
    found = read_one(made)
    assert found.skin is not None
    assert found.skin.joints.tolist() == [[0], [0], [0]]
    assert any("several skins" in note for note in found.notes)


def test_duplicate_joint_names_get_a_number(read_one):
    made = Made()
    top = made.node("bone")
    made.node("bone", top, translation=(0, 1, 0))
    found = read_one(made)
    assert found.skeleton.names == ("bone", "bone_1")
    assert any("'bone'" in note for note in found.notes)


def bound_file(link: np.ndarray, pose: dict | None = None) -> Made:
    """Return three chained bones, the upper two rotated; the skin bound at `link` times a straight pose."""
    made = Made()
    low = made.node("low", translation=(0, 1, 0))
    mid = made.node("mid", low, translation=(0, 1, 0), rotation=(0, 0, 45))
    top = made.node("top", mid, translation=(0, 1, 0), rotation=(0, 0, 45))
    geometry = made.mesh(made.node("body", kind="Mesh"), [(0, 1, 0), (1, 2, 0), (0, 3, 0)], [(0, 1, 2)])
    worlds = [link @ shifted(0, height, 0) for height in (1.0, 2.0, 3.0)]
    made.skin(
        geometry,
        *(
            (bone, [place], [1.0], np.linalg.inv(world), world)
            for place, (bone, world) in enumerate(zip((low, mid), worlds))
        ),
    )
    if pose is not None:
        made.pose(low=(low, worlds[0]), top=(top, pose.get("top", worlds[2])))
    return made


def test_the_bind_pose_is_the_rest_pose(read_one):
    straight = [[0, 1, 0], [0, 2, 0], [0, 3, 0]]
    found = read_one(bound_file(np.eye(4)))
    # the top bone binds nothing: it keeps its transform relative to the one below
    np.testing.assert_allclose(found.skeleton.rest_world[0], straight, atol=1e-12)
    assert abs(found.skeleton.rest[2, 0]) < 0.99
    listed = read_one(bound_file(np.eye(4), {}))
    np.testing.assert_allclose(listed.skeleton.rest, rotation.identity(3), atol=1e-12)
    # a vertex without weights follows the first bone
    assert found.skin is not None
    assert any("no weights" in note for note in found.notes)


def test_an_implausible_bind_pose_is_ignored(read_one):
    turned = [[0, 1, 0], [0, 2, 0], [-(0.5**0.5), 2 + 0.5**0.5, 0]]
    found = read_one(bound_file(np.diag([100.0, 100, 100, 1])))
    np.testing.assert_allclose(found.skeleton.rest_world[0], turned, atol=1e-12)
    moved = Made()
    low = moved.node("low", translation=(0, 1, 0))
    mid = moved.node("mid", low, translation=(0, 1, 0))
    geometry = moved.mesh(moved.node("body", kind="Mesh"), [(0, 1, 0), (1, 2, 0), (0, 2, 0)], [(0, 1, 2)])
    base = euler((90, 0, 0)) @ shifted(5, 0, 0)
    moved.skin(
        geometry,
        (low, [0], [1.0], shifted(0, -1, 0), base @ shifted(0, 1, 0)),
        (mid, [1, 2], [1.0, 1.0], shifted(0, -2, 0), base @ shifted(0, 2, 0)),
    )
    seen = read_one(moved)
    np.testing.assert_allclose(seen.skeleton.rest_world[0], [[0, 1, 0], [0, 2, 0]], atol=1e-12)
    assert seen.skin is not None
    np.testing.assert_allclose(seen.skin.vertices, [[0, 1, 0], [1, 2, 0], [0, 2, 0]], atol=1e-12)


def test_the_strongest_influences_are_kept():
    vertices, joints = np.repeat([0, 2], 10), np.tile(np.arange(10), 2)
    weights = np.concatenate([np.arange(1.0, 11.0), np.ones(10)])
    who, much, alone = skin.influences(vertices, joints, weights, 3, fallback=4)
    assert who.shape == (3, skin.MAX_INFLUENCES)
    assert who[0].tolist() == [9, 8, 7, 6, 5, 4, 3, 2]
    np.testing.assert_allclose(much.sum(axis=1), 1.0)
    assert (who[1, 0], much[1, 0], alone) == (4, 1.0, 1)
    twice, much, _ = skin.influences(np.zeros(3, int), np.array([1, 1, 2]), np.array([0.25, 0.25, 0.5]), 1, 0)
    assert sorted(twice[0].tolist()) == [1, 2]
    np.testing.assert_allclose(much, 0.5)


def test_faces_become_triangles():
    corners = np.arange(20) + 100
    faces = np.array([[0, 3], [3, 2], [5, 5], [10, 1], [11, 4]])
    expected = [[0, 1, 2], [5, 6, 7], [5, 7, 8], [5, 8, 9], [11, 12, 13], [11, 13, 14]]
    assert (skin.triangles(faces, corners) - 100).tolist() == expected


def test_rigid_meshes_follow_the_joint_above(read_one):
    made = Made()
    chain = joined(made, "bone")
    helmet = made.node("helmet", chain[1], kind="Mesh", translation=(0, 0, 1), scaling=(-2, 2, 2))
    made.mesh(helmet, [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
    made.mesh(made.node("floor", kind="Mesh"), [(0, 0, 0), (9, 0, 0), (0, 0, 9)], [(0, 1, 2)])
    body = read_one(made).skin
    assert body is not None
    np.testing.assert_allclose(body.vertices, [[0, 2, 1], [-2, 2, 1], [0, 4, 1]], atol=1e-12)
    assert body.joints.tolist() == [[1], [1], [1]]
    # the mirror flipped the winding
    assert body.faces.tolist() == [[2, 1, 0]]


def one_bone_take(begin: float, end: float, times, rate_mode: int = 6) -> Made:
    made = Made(rate_mode=rate_mode)
    chain = joined(made, "bone")
    made.animate(
        made.take("t", begin, end), chain[1], "Rotation", times, [(0, 0, 5 + 10 * n) for n in range(len(times))]
    )
    return made


@pytest.mark.parametrize(
    ("made", "frames", "fps", "note"),
    [
        (one_bone_take(0, 1, [0, 1]), 31, 30.0, None),
        (one_bone_take(0, 1, [0, 1], rate_mode=11), 25, 24.0, None),
        (one_bone_take(0, 0, [0.5, 1]), 16, 30.0, None),
        (one_bone_take(0, 0, [0.5]), 1, 30.0, None),
        (one_bone_take(5, 6, [0, 1]), 31, 30.0, "outside of its stated time range"),
        (one_bone_take(0, 1, [0, 2]), 31, 30.0, "states 0.000 to 1.000 s"),
        (one_bone_take(0, 1.01, [0, 1.01]), 32, 30.0, "lie between frames at the file's 30 frames"),
        (one_bone_take(0, 1, [n / 60 for n in range(61)]), 31, 30.0, "fps=60"),
    ],
)
def test_time_of_takes(read_one, made, frames, fps, note):
    found = read_one(made)
    assert [(t.frames, t.fps) for t in found.takes] == [(frames, fps)]
    assert len(take(found)) == frames
    assert found.take_notes is not None
    notes = found.take_notes(0)
    assert len(notes) == (note is not None), notes
    assert note is None or note in notes[0]


def test_a_take_can_be_sampled_at_another_rate(read_one):
    found = read_one(one_bone_take(0, 1, [n / 60 for n in range(61)]), fps=60)
    assert [(t.frames, t.fps) for t in found.takes] == [(61, 60.0)]
    with pytest.raises(FormatError, match="1 to 1000 frames per second, got 0"):
        read_one(one_bone_take(0, 1, [0, 1]), fps=0)


def test_a_take_without_curves_is_ignored(read_one):
    made = Made()
    joined(made, "bone")
    made.take("Take 001", 0.0, 5.0)
    assert read_one(made).takes == ()


def test_every_character_has_its_own_takes(read):
    made = Made()
    for name in ("a", "b", "c"):
        chain = joined(made, name, made.node(f"rig_{name}", kind="Null"))
        if name != "c":
            made.animate(made.take(f"{name} turns", 0, 1), chain[1], "Rotation", [0, 1], [(0, 0, 0), (90, 0, 0)])
    made.animate(made.take("", 0, 1), chain[1], "Rotation", [0, 1], [(0, 0, 0), (0, 0, 0)])
    found = read(made)
    # a take with a static character is a take, and one without a name gets a number
    assert [[take.name for take in each.takes] for each in found] == [["a turns"], ["b turns"], ["take_2"]]
    for each in found:
        motion = take(each)
        turned = rotation.angle(motion.rotations[0, 1], motion.rotations[-1, 1])
        assert turned == pytest.approx(0.0 if each.name == "rig_c" else np.pi / 2, abs=1e-6)


def test_a_take_that_is_too_long_is_refused(read_one):
    found = read_one(one_bone_take(0, 1e6, [0, 1e6]))
    assert found.takes[0].frames > 10_000_000
    with pytest.raises(FormatError, match=r"take 't': expected at most 1000000 frames, got 3\d+"):
        take(found)


def test_units_and_axes_are_those_that_the_file_states(read_one):
    made = Made(unit=2.54, up=2)
    joined(made, "bone")
    found = read_one(made)
    assert (found.scale, found.up) == (pytest.approx(0.0254), "z")


DAMAGED = {
    "empty": (b"", "empty file"),
    "other": (b"v 1 2 3\nv 1 2 3\n", "got damage"),
    "cut": (figure().text()[:3000], "got damage"),
    "binary": (b"Kaydara FBX Binary  \x00\x1a\x00" + bytes(400), "expected a skeleton"),
    "no nodes": (Made().text(), "expected a skeleton"),
    "infinite": (figure().text().replace(b"0,0,-0.4", b"0,0,-1e400"), "finite"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_raise_one_error(read, name):
    data, message = DAMAGED[name]
    with pytest.raises(FormatError, match=message) as caught:
        read(data)
    assert "made.fbx" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_skin_without_its_bone_is_an_error(read):
    made = Made()
    low, _, _ = joined(made, "bone")
    geometry = made.mesh(made.node("body", kind="Mesh"), [(0, 1, 0), (1, 2, 0), (0, 2, 0)], [(0, 1, 2)])
    made.skin(geometry, (low, [0], [1.0], np.eye(4), np.eye(4)), (0, [1, 2], [1.0, 1.0], np.eye(4), np.eye(4)))
    with pytest.raises(FormatError, match="expected a bone for every skin cluster, got 1 without"):
        read(made)


def test_paths_that_are_not_files(tmp_path):
    with pytest.raises(FormatError, match="directory"):
        fbx.load(tmp_path)
    with pytest.raises(FormatError, match="No such file"):
        fbx.load(tmp_path / "none.fbx")


def test_a_file_name_that_is_not_text(tmp_path):
    path = tmp_path / "nämé \udcff.fbx"
    try:
        path.write_bytes(figure().text())
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    assert len(fbx.load(path)) == 1


def answering(code: str):
    """A child that runs other code instead."""
    return lambda: [sys.executable, "-I", "-c", code]


CRASHES = {
    "segfault": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", r"crashed \(SIGSEGV\)"),
    "abort": ("import os; os.abort()", r"crashed \(SIGABRT\)"),
    "exit": ("import sys; sys.exit(7)", r"crashed \(exit code 7\)"),
    "silence": ("pass", "an incomplete answer"),
    "chatter": ("print('x' * 1000)", "an incomplete answer"),
    "killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "too much memory"),
    "cpu": ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "used 25 s of CPU and was stopped"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("name", CRASHES)
def test_a_failing_child_raises_one_error(read, monkeypatch, name):
    code, message = CRASHES[name]
    monkeypatch.setattr(process, "command", answering(code))
    with pytest.raises(FormatError, match=message):
        read(figure())


def test_a_hanging_child_is_stopped(read, monkeypatch):
    monkeypatch.setattr(process, "command", answering("import time; time.sleep(600)"))
    monkeypatch.setattr(process, "CPU_SECONDS", 0)
    monkeypatch.setattr(process, "CPU_SECONDS_PER_MEGABYTE", 1)
    monkeypatch.setattr(isolation, "WAIT_FACTOR", 0.5)
    start = time.monotonic()
    with pytest.raises(FormatError, match=r"did not finish in 0\.5 s and was stopped"):
        read(figure())
    assert time.monotonic() - start < 20


_LIMITED = (
    "import sys, json, runpy; child = runpy.run_path({path!r}); request = json.loads(sys.argv[1]);"
    "child['limit'](request); {then}"
)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is sure to hold processes to these limits")
@pytest.mark.parametrize(
    ("then", "message"),
    [
        ("data = bytearray(1 << 30)", r"crashed \(exit code 1\)"),
        ("sys.stdout.buffer.write(bytes(300 << 20)); sys.stdout.buffer.flush()", "crashed|too much memory"),
    ],
)
def test_the_child_limits_itself(read, monkeypatch, then, message):
    code = _LIMITED.format(path=str(process.CHILD), then=then)
    monkeypatch.setattr(process, "command", answering(code))
    with pytest.raises(FormatError, match=message):
        read(figure())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is sure to hold processes to these limits")
def test_the_childs_cpu_time_is_limited(read, monkeypatch):
    code = _LIMITED.format(path=str(process.CHILD), then="exec('while True: pass')")
    monkeypatch.setattr(process, "command", answering(code))
    monkeypatch.setattr(process, "CPU_SECONDS", 0)
    monkeypatch.setattr(process, "CPU_SECONDS_PER_MEGABYTE", 1)
    monkeypatch.setattr(isolation, "WAIT_FACTOR", 30)
    with pytest.raises(FormatError, match="used 1 s of CPU and was stopped"):
        read(figure())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is sure to hold processes to these limits")
def test_a_compressed_bomb_is_refused(read):
    """A file of 1 MB whose vertices would take 300 MB."""
    import zlib

    from footplant.io.fbx.records import MAGIC

    size, packer = 300 << 20, zlib.compressobj(1)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()
    vertices = b"d" + struct.pack("<III", size // 8, 1, len(packed)) + packed

    def record(place: int, name: bytes, values: list[bytes], inside: bytes) -> bytes:
        head = 13 + len(name) + sum(map(len, values))
        end = place + head + len(inside) + (13 if inside else 0)
        out = (
            struct.pack("<III", end, len(values), sum(map(len, values))) + bytes([len(name)]) + name + b"".join(values)
        )
        return out + inside + (bytes(13) if inside else b"")

    def nested(place: int, *names: tuple[bytes, list[bytes]]) -> bytes:
        name, values = names[0]
        start = place + 13 + len(name) + sum(map(len, values))
        return record(place, name, values, nested(start, *names[1:]) if len(names) > 1 else b"")

    text = lambda value: b"S" + struct.pack("<I", len(value)) + value  # noqa: E731
    geometry = [b"L" + struct.pack("<q", 7), text(b"x\x00\x01Geometry"), text(b"Mesh")]
    data = MAGIC + struct.pack("<I", 7400)
    data += nested(len(data), (b"Objects", []), (b"Geometry", geometry), (b"Vertices", [vertices])) + bytes(13)
    start = time.monotonic()
    with pytest.raises(FormatError, match="more memory than a file of this size may"):
        read(data)
    assert time.monotonic() - start < 20


def test_ufbx_may_be_absent(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "ufbx", None)
    with pytest.raises(MissingExtraError, match=r"reading FBX needs ufbx.*footplant\[fbx\]"):
        read(figure())


def test_ufbx_may_be_broken(read, monkeypatch, tmp_path):
    monkeypatch.setattr(process, "folders", lambda: [str(tmp_path)])
    with pytest.raises(MissingExtraError, match="reading FBX needs ufbx"):
        read(figure())


def test_sys_executable_may_be_missing(read, monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(FormatError, match=r"sys\.executable"):
        read(figure())


def test_the_child_imports_nothing_heavy():
    source = process.CHILD.read_text()
    assert "numpy" not in source
    assert "footplant." not in source.partition('"""')[2].partition('"""')[2]


def the_answer(made: Made, tmp_path: Path) -> bytes:
    """Return the child's answer about a file."""
    path, kept = tmp_path / "made.fbx", []
    path.write_bytes(made.text())
    whole = process.read_answer
    try:
        process.read_answer = lambda data, path: kept.append(data) or whole(data, path)
        fbx.load(path)
    finally:
        process.read_answer = whole
    return kept[0]


def read_answer(data: bytes) -> None:
    """Read characters from an answer as from a file: they are valid, or there is a FormatError."""
    try:
        for found in fbx.read_characters(process.read_answer(data, "answer.fbx"), 1000):
            if found.takes:
                take(found)
    except FormatError:
        return


def retold(data: bytes, header: dict) -> bytes:
    (length,) = struct.unpack("<Q", data[-16:-8])
    text = json.dumps(header).encode()
    return data[: -16 - length] + text + struct.pack("<Q", len(text)) + process.MAGIC


@pytest.fixture(scope="module")
def answer(tmp_path_factory) -> bytes:
    return the_answer(figure(), tmp_path_factory.mktemp("answer"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_mutated_answers_give_characters_or_one_error(answer, data):
    changed = bytearray(answer)
    for _ in range(data.draw(st.integers(1, 6))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    read_answer(bytes(changed[: data.draw(st.integers(len(changed) - 8, len(changed)))]))


ODD = st.sampled_from([None, True, -1, 0, 1, 10**6, 1e300, "", "x", [], {}, [[]], [None], [1, 2, 3]])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_answers_of_wrong_types_give_characters_or_one_error(answer, data):
    (length,) = struct.unpack("<Q", answer[-16:-8])
    header = json.loads(answer[-16 - length : -16])
    place = header
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(ODD)
        break
    read_answer(retold(answer, header))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_mutated_files_give_characters_or_one_error(tmp_path, data):
    changed = bytearray(figure().text())
    for _ in range(data.draw(st.integers(1, 20))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "changed.fbx"
    path.write_bytes(bytes(changed))
    try:
        for found in fbx.load(path):
            for number in range(len(found.takes)):
                take(found, number)
    except FormatError:
        return
