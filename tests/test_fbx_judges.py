"""FBX files of other programs: what is read, and agreement with three.js, ufbx itself, assimp, BVH and VRM."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

import footplant
from conftest import shared_data, shared_files
from fbx_made import figure
from fbx_truth import ask_ufbx
from footplant import Kinematics, rest_motion, samples
from footplant.cli import main
from footplant.io import fbx, gltf
from footplant.io.character import RawCharacter
from footplant.skinning import linear_blend
from node_env import run_node
from thorough import thorough

FILES = shared_files("fbx/*.fbx")
BAD = [*shared_files("bad/fbx_*.fbx"), *shared_files("bad/*.fbx")]
real = pytest.mark.skipif(not FILES, reason="the folder shared/data with real files is not beside the repository")

# file: joints, end sites, takes (name, frames, rate), unit, height in metres (None: no human), vertices of the skin
EXPECTED = {
    "100avatars_001_Crimsom": (49, 9, [], "cm", 1.635, 1728),
    "assimp_animation_with_skeleton": (15, 2, [("Armature|ArmatureAction", 21, 24.0)], "cm", None, 1058),
    "assimp_huesitos": (9, 2, [("Armature|Action", 40, 25.0)], "cm", None, 62),
    "bvhtoolbox_template": (24, 0, [("walk01", 101, 24.0)], "cm", 1.851, 3265),
    "ozz_pab_crossarms": (54, 13, [("crossarms", 259, 30.0)], "cm", 1.843, None),
    "ozz_pab_locomotions": (
        54, 13, [("jog", 25, 30.0), ("run", 21, 30.0), ("walk", 41, 30.0)], "cm", 1.825, None,
    ),
    "ozz_pab_walk": (54, 13, [("walk", 41, 30.0)], "cm", 1.825, None),
    "ufbx_casegen_rotation_order_7500_ascii": (157, 0, [], "cm", None, 1248),
    "ufbx_maya_axes_anim_7700_ascii": (4, 0, [("Take 001", 21, 24.0)], "cm", None, 28),
    "ufbx_maya_human_ik_6100_ascii": (62, 0, [], "m", 1.750, None),
    "ufbx_maya_human_ik_7400_binary": (62, 0, [], "m", 1.750, None),
    "ufbx_maya_kenney_character_7700_binary": (46, 13, [("Take 001", 21, 24.0)], "cm", 3.786, 804),
    "ufbx_maya_rotation_order_7500_ascii": (7, 0, [], "cm", None, 24),
}  # fmt: skip
UNSTATED = {"Warrior", "ase_08_02_cmu"}
"""Files that state centimetres and mean something else, so that heights say nothing; the judges see their joints."""
_SIDES = (
    "clavicle={0}Shoulder; upper_arm={0}Arm; lower_arm={0}ForeArm; hand={1}; upper_leg={0}UpLeg; lower_leg={0}Leg; "
    "foot={0}Foot; toes={2}"
)
_MIXAMO = ("hips=Hips; spine=Spine; neck=Neck; head=Head", "{0}Hand", "{0}ToeBase")
ROLES = {
    "100avatars_001_Crimsom": ("mixamorig:", *_MIXAMO),
    "bvhtoolbox_template": ("", *_MIXAMO),
    "ozz_pab_walk": ("", "hips=Pelvis; spine=Spine; neck=Neck; head=Head", "{0}[Hh]and", "{0}FootThumb1"),
    "ufbx_maya_human_ik_7400_binary": ("Character1_", *_MIXAMO),
    "ufbx_maya_kenney_character_7700_binary": ("", *_MIXAMO[:2], "{0}Toes"),
}
UNEVEN = "three.js reads the three curves of a turn side by side, so that turns with uneven keys come out wrong"
NOT_JUDGED = {
    "ufbx_maya_human_ik_6100_ascii": "three.js reads no version below 7",
    "ufbx_maya_human_ik_7400_binary": "three.js inherits scale in another way than Maya's segment scale compensation",
    "bvhtoolbox_template": "three.js makes every bone twice where two skins use it",
}
"""Files that three.js cannot read correctly."""
SLOW = {"100avatars_001_Crimsom", "Warrior"}
"""Files whose meshes take three.js four seconds each: in a thorough run; ufbx judges their joints in every run."""


@cache
def load(name: str) -> footplant.Clip:
    return footplant.load(shared_data("fbx", f"{name}.fbx"))


@real
def test_every_file_is_in_the_table():
    assert {path.stem for path in FILES} <= EXPECTED.keys() | UNSTATED


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.named("fbx/{name}.fbx")
def test_info_of_real_files(shared, name):
    joints, ends, takes, unit, height, vertices = EXPECTED[name]
    clip = load(name)
    skeleton, character = clip.motion.skeleton, clip.character
    assert (len(skeleton), len(skeleton.end_parents)) == (joints, ends)
    assert [(take.name, take.frames, take.fps) for take in clip.takes] == takes
    assert len(clip.motion) == (takes[0][1] if takes else 1)
    assert (clip.conversion.units, clip.conversion.up, clip.conversion.declared) == (unit, "y", True)
    assert (character.roles is None) == (height is None)
    assert character.height == pytest.approx(height or 0.0, abs=1e-3)
    assert (character.skin is None) == (vertices is None)
    assert character.skin is None or len(character.skin.vertices) == vertices


@pytest.mark.parametrize("name", ROLES)
@pytest.mark.named("fbx/{name}.fbx")
def test_roles_of_real_files(shared, name):
    prefix, middle, hand, toes = ROLES[name]
    clip = load(name)
    roles = clip.character.require_roles()
    table = dict(pair.split("=") for pair in middle.split("; "))
    for side in ("left", "right"):
        word = side.capitalize()
        entries = _SIDES.format("{0}", hand, toes).format(word).split("; ")
        table |= {f"{side}_{role}": joint for role, joint in (entry.split("=") for entry in entries)}
    for role, joint in table.items():
        assert re.fullmatch(prefix + joint, clip.motion.skeleton.names[roles[role]]), role


@pytest.mark.parametrize("path", sorted(set(BAD)), ids=lambda path: path.stem)
def test_damaged_files_are_one_line(path, capsys):
    assert main(["info", str(path)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert path.name in line


def motion_of(found: RawCharacter, number: int):
    return found.read_take(number) if found.takes else rest_motion(found.skeleton)  # type: ignore[misc]


def size_of(found: RawCharacter) -> float:
    return max(float(np.ptp(found.skeleton.rest_world[0], axis=0).max()), 1e-3)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_joints_and_vertices_match_ufbx(path):
    """Ufbx's own world matrices and its own skinning, frame by frame; the library's, but none of our folding."""
    for found in fbx.load(path):
        motions = [motion_of(found, number) for number in range(max(len(found.takes), 1))]
        shown = [np.unique(np.linspace(0, len(motion) - 1, 4).astype(int)).tolist() for motion in motions]
        asked = [
            {"name": take.name, "times": [frame / motion.fps for frame in frames]}
            for take, motion, frames in zip(found.takes, motions, shown)
        ]
        seen_by_ufbx = ask_ufbx(path, asked or [{"name": None, "times": [0.0]}], vertices=300)
        for motion, frames, truth in zip(motions, shown, seen_by_ufbx, strict=True):
            kinematics = Kinematics(motion[frames])
            body = linear_blend(found.skin, kinematics) if found.skin is not None else None
            for frame, seen in enumerate(truth):
                index = [joint for joint, known in enumerate(found.skeleton.names) if known in seen["nodes"]]
                assert len(index) >= len(found.skeleton) - 1
                theirs = np.array([seen["nodes"][found.skeleton.names[joint]] for joint in index])
                assert np.abs(kinematics.positions[frame, index] - theirs).max() < 2e-6 * size_of(found)
                if body is not None and seen["skinned"]:
                    far = cKDTree(body[frame]).query(np.array(seen["skinned"]))[0].max()
                    assert far < 4e-6 * size_of(found)


JUDGED = [path for path in FILES if path.stem not in NOT_JUDGED and path.stem not in thorough(SLOW, ())]


@cache
def judged_by_three_js() -> dict[Path, tuple[RawCharacter, list[Any], list[list[float]], list[Any]]]:
    """Return file → our character, ufbx's truth, the times of every take, and three.js's answers: one run of Node.

    Times are those at which all curves have keys; with uneven keys the first key only.
    """
    found, truths, shown, asked = {}, {}, {}, []
    for path in JUDGED:
        found[path] = fbx.load(path)[0]
        names = [take.name for take in found[path].takes] or [None]
        truths[path] = ask_ufbx(path, [{"name": name, "times": None if name else [0.0]} for name in names])
        shown[path] = []
        for truth in truths[path]:
            times = [seen["time"] for seen in truth] or [0.0]
            shown[path].append([times[place] for place in np.unique(np.linspace(0, len(times) - 1, 5).astype(int))])
        takes = [{"name": name, "times": times} for name, times in zip(names, shown[path])]
        asked.append({"path": str(path), "names": list(found[path].skeleton.names), "takes": takes})
    answers = run_node("fbx_positions.mjs", asked)
    return {path: (found[path], truths[path], shown[path], answer) for path, answer in zip(JUDGED, answers)}


@pytest.mark.parametrize("path", JUDGED, ids=lambda path: path.stem)
def test_joints_match_three_js(path):
    """At times where all curves have keys; with uneven keys at the first key only, and at joints that have none."""
    found, truths, shown, answers = judged_by_three_js()[path]
    for number, (truth, times, answer) in enumerate(zip(truths, shown, answers, strict=True)):
        motion = motion_of(found, number)
        spoiled = set(truth[0]["spoiled"]) if truth else set(found.skeleton.names)
        for time, seen in zip(times, answer, strict=True):
            sound = set(found.skeleton.names) - (spoiled if time > 0 else set())
            index = [joint for joint, place in enumerate(seen) if place and found.skeleton.names[joint] in sound]
            assert time > 0 or len(index) >= len(found.skeleton) - 1, UNEVEN
            frame = round(time * motion.fps)
            assert frame == pytest.approx(time * motion.fps, abs=1e-5)
            ours = Kinematics(motion[frame]).positions[0, index]
            theirs = np.array([seen[joint] for joint in index]).reshape(-1, 3)
            assert np.abs(ours - theirs).max(initial=0.0) < 2e-6 * size_of(found)


@pytest.mark.parametrize(
    ("name", "tolerance"),
    # assimp interpolates linearly where the last one has cubic curves over a few sparse keys
    [("assimp_huesitos", 1e-6), ("assimp_animation_with_skeleton", 1e-6), ("bvhtoolbox_template", 2e-4)],
)
@pytest.mark.named("fbx/{name}.fbx")
def test_joints_match_assimp(shared, tmp_path, name, tolerance):
    """Files with uneven keys, which three.js misreads; assimp converts them to glTF, whose reader is tested too."""
    if shutil.which("assimp") is None:
        pytest.skip("assimp is not on this machine (Debian: assimp-utils)")
    path, target = shared_data("fbx", f"{name}.fbx"), tmp_path / "assimp.glb"
    command = ["assimp", "export", str(path), str(target), "-fglb2"]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    (theirs,) = gltf.load(target)
    (ours,) = fbx.load(path, fps=theirs.takes[0].fps)
    assert theirs.read_take is not None
    index = [theirs.skeleton.names.index(joint) for joint in ours.skeleton.names]
    a, b = motion_of(ours, 0), theirs.read_take(0)
    assert len(a) == len(b)
    error = np.abs(Kinematics(a).positions - Kinematics(b).positions[:, index]).max()
    assert error < tolerance * size_of(ours)


@pytest.mark.named("fbx/bvhtoolbox_template.fbx", "bvh/other/toolbox_walk01.bvh")
def test_the_same_walk_as_fbx_and_as_bvh(shared):
    a, b = load("bvhtoolbox_template").motion, footplant.load(shared_data("bvh", "other", "toolbox_walk01.bvh")).motion
    assert (len(a), a.fps) == (len(b), pytest.approx(b.fps, rel=1e-5))
    index = [a.skeleton.index(name) for name in b.skeleton.names]
    np.testing.assert_allclose(Kinematics(a).positions[:, index], Kinematics(b).positions, atol=2e-5)


@pytest.mark.named("fbx/100avatars_001_Crimsom.fbx", "vrm/100avatars_001_Crimsom.vrm")
def test_the_same_character_as_fbx_and_as_vrm(shared):
    """Exported twice by its makers, in A-pose and in T-pose: everything that is independent of the pose agrees."""
    a = load("100avatars_001_Crimsom").character
    b = footplant.load_character(shared_data("vrm", "100avatars_001_Crimsom.vrm"))
    assert a.height == pytest.approx(b.height, rel=0.01)
    for side in ("left", "right"):
        for upper, lower in (("upper_leg", "lower_leg"), ("lower_leg", "foot"), ("upper_arm", "lower_arm")):
            ends = [[who.require_roles()[f"{side}_{part}"] for part in (upper, lower)] for who in (a, b)]
            places = [who.skeleton.rest_world[0][pair] for who, pair in zip((a, b), ends)]
            lengths = [float(np.linalg.norm(place[1] - place[0])) for place in places]
            assert lengths[0] == pytest.approx(lengths[1], rel=0.1)
    assert a.skin is not None
    assert b.skin is not None
    assert np.ptp(a.skin.vertices[:, 1]) == pytest.approx(np.ptp(b.skin.vertices[:, 1]), rel=0.01)


def test_synthetic_file_matches_three_js(tmp_path):
    path = tmp_path / "made.fbx"
    path.write_bytes(figure().text())
    (found,) = fbx.load(path)
    motion = motion_of(found, 0)
    asked = {
        "path": str(path),
        "names": list(found.skeleton.names),
        "takes": [{"name": "bend", "times": [0.0, 5 / 30]}],
    }
    ((answer,),) = run_node("fbx_positions.mjs", [asked])
    np.testing.assert_allclose(Kinematics(motion[[0, 5]]).positions, answer, atol=1e-4)


@pytest.mark.named("fbx/ozz_pab_locomotions.fbx")
def test_info_on_the_command_line(shared, capsys):
    path = shared_data("fbx", "ozz_pab_locomotions.fbx")
    assert main(["info", "--json", "--take", "run", str(path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["name"], report["frames"]) == ("run", 21)


def test_written_files_round_trip(tmp_path):
    for name in ("walk", *samples.CHARACTERS):
        clip = footplant.load(f"sample:{name}")
        again = footplant.load(footplant.save(tmp_path / f"{name}.fbx", clip))
        assert again.motion.skeleton.names == clip.motion.skeleton.names
        np.testing.assert_allclose(Kinematics(again.motion).positions, Kinematics(clip.motion).positions, atol=1e-5)
        np.testing.assert_allclose(again.motion.skeleton.rest_ends, clip.motion.skeleton.rest_ends, atol=1e-5)
        assert (again.character.skin is None) == (clip.character.skin is None)
        if clip.character.skin is not None and again.character.skin is not None:
            np.testing.assert_allclose(again.character.skin.vertices, clip.character.skin.vertices, atol=1e-5)
            assert again.character.skin.faces.tolist() == clip.character.skin.faces.tolist()


_SKINNED = """
import gc, json, os, sys
import numpy as np
gc.disable()
import ufbx
from ufbx_judge import _all, _hold

def affine(matrix):
    out = np.eye(4)
    out[:3] = np.array([list(column) for column in matrix]).T
    return out

answer = {}
for mesh in _all(_hold(ufbx.load_file(sys.argv[1])).meshes):
    points = np.column_stack([np.array([list(point) for point in mesh.vertices]), np.ones(mesh.num_vertices)])
    moved, total = np.zeros((len(points), 3)), np.zeros(len(points))
    for cluster in _all(_all(mesh.skin_deformers)[0].clusters):
        matrix = affine(_hold(cluster.bone_node).node_to_world) @ affine(cluster.geometry_to_bone)
        rows, weights = np.array(list(cluster.vertices), int), np.array(list(cluster.weights))
        if len(rows):
            moved[rows] += weights[:, None] * (points[rows] @ matrix.T)[:, :3]
            total[rows] += weights
    answer[_all(mesh.instances)[0].name] = (moved / total[:, None]).tolist()
print(json.dumps(answer), flush=True)
os._exit(0)
"""


@pytest.mark.named("fbx/archer/ArcherRi01.fbx")
def test_a_skinned_mesh_below_a_bone_stands_where_ufbx_puts_it(shared):
    """three.js draws this bow elsewhere: it moves a skinned mesh with the bone that it hangs on, too."""
    path = shared_data("fbx/archer/ArcherRi01.fbx")
    command = [sys.executable, "-c", _SKINNED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stderr[-500:]
    expected = json.loads(done.stdout)
    clip = footplant.load(path)
    posed = linear_blend(clip.character.skin, footplant.Kinematics(clip.motion[:1]))[0]
    for part in clip.character.skin.looks.parts:
        ours = posed[np.unique(clip.character.skin.faces[part.start : part.stop])]
        theirs = np.array(expected[part.name])
        assert cKDTree(theirs).query(ours)[0].max() < 1e-5, part.name
