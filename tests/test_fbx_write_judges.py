"""Our FBX files in independent readers: ufbx, three.js and assimp report joints, vertices and weights."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

import footplant
from conftest import shared_data
from footplant import Character, Clip, Kinematics, rotation, samples
from footplant.io import gltf
from footplant.io.fbx.write import save
from footplant.skeleton import Skin
from footplant.skinning import linear_blend
from node_env import run_node
from random_figures import random_motion
from test_fbx_write import clip_of, skinned, with_moving_bones
from ufbx_judge import ask_ufbx

REAL = (
    "bvh/cmu/88_01.bvh", "bvh/other/mocopi_jump.bvh", "bvh/other/dog_walk_quadruped.bvh", "bvh/other/fair1_zombie.bvh",
    "gltf/CesiumMan.glb", "gltf/KayKit_Knight.glb", "gltf/RobotExpressive.glb", "gltf/godot_mannequiny.glb",
)  # fmt: skip
"""CMU's rate is no whole number; the rest poses of three are turned; mocopi and Godot move bones; a dog is a dog."""


def clips() -> dict[str, Clip]:
    """Synthetic clips, and real ones if available."""
    made = {f"random {seed}": clip_of(random_motion(12, 3 + 2 * seed, seed)) for seed in range(4)}
    made |= {f"moving {seed}": clip_of(with_moving_bones(random_motion(8, 9, seed, smooth=True))) for seed in range(2)}
    made["pose"] = clip_of(random_motion(1, 6))
    made["skinned"] = skinned()[0]
    made["walk"] = footplant.load("sample:walk")
    other = samples.load_character(next(name for name in samples.CHARACTERS if name != made["walk"].character.name))
    made[other.name] = Clip(footplant.rest_motion(other.skeleton), other, name="rest")
    paths = [shared_data(name) for name in REAL]
    # without the takes of their own files, which would be written, too
    return made | {path.name: replace(footplant.load(path), takes=()) for path in paths if path.is_file()}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> dict[Path, Clip]:
    """Return files and the clips in them."""
    folder = tmp_path_factory.mktemp("fbx")
    out = {}
    for number, clip in enumerate(clips().values()):
        path = folder / f"{number}.fbx"
        save(path, clip)
        out[path] = clip
    return out


def some_frames(clip: Clip) -> np.ndarray:
    return np.unique(np.linspace(0, len(clip.motion) - 1, 20).astype(int))


def tolerance(clip: Clip) -> float:
    """1e-5 m for a person; keys are 32-bit floats, so more for larger or more distant ones."""
    return 1e-5 * max(1.0, float(np.abs(Kinematics(clip.motion).positions).max()) / 10.0)


def test_joints_match_ufbx(written):
    asked = [
        {"path": str(path), "seconds": (some_frames(clip) / clip.motion.fps).tolist()} for path, clip in written.items()
    ]
    for clip, answer in zip(written.values(), ask_ufbx(asked), strict=True):
        skeleton = clip.motion.skeleton
        assert answer["warnings"] == []
        assert (answer["version"], answer["unit"], answer["axes"]) == (7400, 0.01, [0, 2, 4])
        assert answer["fps"] == clip.motion.fps
        assert answer["takes"] == [clip.name]
        assert answer["span"] == pytest.approx([0.0, clip.motion.duration], abs=1e-9)
        bones = [number for number, kind in enumerate(answer["kinds"]) if kind == "BONE"]
        joints = [number for number in bones if not answer["ends"][number]]
        assert sorted(answer["names"][number] for number in joints) == sorted(skeleton.names)
        assert len(bones) - len(joints) == len(skeleton.end_parents)
        numbers = [answer["names"].index(name) for name in skeleton.names]
        parents = [numbers.index(answer["parents"][number]) if joint else -1 for joint, number in enumerate(numbers)]
        assert parents == skeleton.parents.tolist()
        places = np.array(answer["positions"])[:, numbers] * 0.01
        far = np.abs(places - Kinematics(clip.motion[some_frames(clip)]).positions).max()
        assert far < tolerance(clip), f"{clip.name}: {far:.2g} m"
        assert np.abs(np.array(answer["rest"])[numbers] * 0.01 - skeleton.rest_world[0]).max() < 1e-9


def test_ufbx_finds_the_mesh_and_its_weights(tmp_path):
    cases = [footplant.load("sample:walk"), skinned()[0]]
    asked = []
    for number, clip in enumerate(cases):
        save(tmp_path / f"{number}.fbx", clip)
        asked.append({"path": str(tmp_path / f"{number}.fbx"), "seconds": [], "mesh": True})
    for clip, answer in zip(cases, ask_ufbx(asked), strict=True):
        skin, mesh = clip.character.skin, answer["mesh"]
        assert skin is not None
        assert mesh["name"] == clip.character.name
        assert mesh["materials"] == ["neutral"]
        assert np.abs(np.array(mesh["vertices"]) * 0.01 - skin.vertices).max() < 1e-6
        assert np.array_equal(np.array(mesh["corners"]).reshape(-1, 3), skin.faces)
        if skin.normals is not None:
            assert np.abs(np.array(mesh["normals"]) - skin.normals[skin.faces].reshape(-1, 3)).max() < 1e-6
        dense = _dense(skin)
        found = np.zeros_like(dense)
        for name, cluster in mesh["clusters"].items():
            joint = clip.motion.skeleton.index(name)
            found[cluster["vertices"], joint] = cluster["weights"]
            bind = np.array(cluster["bind"]).T
            bind[:, 3] *= 0.01
            assert np.abs(bind - skin.inverse_bind[joint, :3]).max() < 1e-9
        assert np.abs(found - dense).max() < 1e-6
        assert mesh["pose"] >= len(clip.motion.skeleton)


def test_ufbx_keeps_odd_names(tmp_path):
    names = ("mixamorig:Hips", "a b", "ひざ", "Größe.L", "x|y", "Model::q", "tab\tline\n")
    motion = random_motion(3, len(names))
    skeleton = replace(motion.skeleton, names=names)
    clip = Clip(replace(motion, skeleton=skeleton), Character(skeleton), name="Läufer: 1")
    save(tmp_path / "odd.fbx", clip)
    (answer,) = ask_ufbx([{"path": str(tmp_path / "odd.fbx"), "seconds": []}])
    assert set(names) <= set(answer["names"])
    assert answer["takes"] == ["Läufer: 1"]


def test_our_own_reader_round_trips(written):
    pytest.importorskip("ufbx", reason="ufbx is not installed: pip install footplant[fbx]")
    for path, clip in written.items():
        back, skeleton = footplant.load(path), clip.motion.skeleton
        found = back.motion.skeleton
        assert (back.conversion.units, back.conversion.up, back.conversion.declared) == ("cm", "y", True)
        assert (len(back.motion), back.motion.fps) == (len(clip.motion), clip.motion.fps)
        # one frame in the rest pose is read as a static character
        assert back.name == (clip.name if back.takes else path.stem)
        assert back.takes or len(clip.motion) == 1
        assert found.names == skeleton.names
        assert found.parents.tolist() == skeleton.parents.tolist()
        assert found.end_parents.tolist() == skeleton.end_parents.tolist()
        size = max(1.0, float(np.abs(skeleton.rest_world[0]).max()))
        assert np.abs(found.rest_world[0] - skeleton.rest_world[0]).max() < 1e-9 * size
        assert rotation.angle(found.rest, skeleton.rest).max() < 1e-7
        assert np.abs(found.rest_ends - skeleton.rest_ends).max(initial=0.0) < 1e-9 * size
        far = np.abs(Kinematics(back.motion).positions - Kinematics(clip.motion).positions).max()
        assert far < tolerance(clip), f"{clip.name}: {far:.2g} m"
        skin = clip.character.skin
        assert (back.character.skin is None) == (skin is None)
        if skin is not None and back.character.skin is not None:
            assert len(back.character.skin.faces) == len(skin.faces)
            frames = np.unique(np.linspace(0, len(clip.motion) - 1, 3).astype(int))
            # several meshes may come back in another order
            posed = (
                linear_blend(skin, Kinematics(clip.motion[frames])),
                linear_blend(back.character.skin, Kinematics(back.motion[frames])),
            )
            for ours, theirs in zip(*posed, strict=True):
                assert cKDTree(ours).query(theirs)[0].max() < 2 * tolerance(clip)
                assert cKDTree(theirs).query(ours[skin.faces.ravel()])[0].max() < 2 * tolerance(clip)
            if clip.character.source is None:
                assert np.array_equal(back.character.skin.faces, skin.faces)
                assert np.abs(back.character.skin.vertices - skin.vertices).max() < 1e-6 * size
                assert np.abs(_dense(back.character.skin) - _dense(skin)).max() < 1e-6


def _dense(skin: Skin) -> np.ndarray:
    """(V, J) weights."""
    out = np.zeros((len(skin.vertices), len(skin.inverse_bind)))
    np.add.at(out, (np.arange(len(skin.vertices))[:, None], skin.joints), skin.weights)
    return out


def test_joints_and_vertices_match_three_js(written):
    # three.js blends only four influences, and finds nodes by names without dots and colons
    cases = {path: clip for path, clip in written.items() if len(set(map(plain, clip.motion.skeleton.names))) == len(
        clip.motion.skeleton)}  # fmt: skip
    assert len(cases) >= 10
    asked = [
        {"path": str(path), "times": (some_frames(clip) / clip.motion.fps).tolist(), "vertices": 100}
        for path, clip in cases.items()
    ]
    for clip, answer in zip(cases.values(), run_node("fbx_scene.mjs", asked), strict=True):
        seen = Kinematics(clip.motion[some_frames(clip)])
        numbers = [answer["names"].index(name) for name in clip.motion.skeleton.names]
        places = np.array([frame["positions"] for frame in answer["frames"]])[:, numbers] * 0.01
        far = np.abs(places - seen.positions).max()
        assert far < tolerance(clip), f"{clip.name}: {far:.2g} m"
        rest = np.array(answer["rest"]["positions"])[numbers] * 0.01
        assert np.abs(rest - clip.motion.skeleton.rest_world[0]).max() < 1e-6
        assert [take["name"] for take in answer["takes"]] == [clip.name]
        assert answer["warnings"] == []
        assert answer["unit"] == 1
        skin = clip.character.skin
        if clip.character.source is None:
            assert answer["meshes"] == ([] if skin is None else [clip.character.name])
        else:
            assert answer["meshes"], "those of its own file"
        if skin is not None:
            for ours, frame in zip(linear_blend(skin, seen), answer["frames"], strict=True):
                far = cKDTree(ours).query(np.array(frame["skinned"]) * 0.01)[0].max()
                assert far < 2 * tolerance(clip), f"{clip.name}: {far:.2g} m"


def plain(name: str) -> str:
    """Return the name as three.js changes it."""
    return "".join("_" if letter.isspace() else letter for letter in name if letter not in "[].:/")


def test_joints_match_assimp(written, tmp_path):
    if shutil.which("assimp") is None:
        pytest.skip("assimp is not on this machine: apt-get install assimp-utils")
    compared = 0
    for path, clip in written.items():
        target = tmp_path / f"{path.stem}.glb"
        command = ["assimp", "export", str(path), str(target)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{clip.name}: {done.stdout[-500:]}"
        figure = max(gltf.load(target), key=lambda figure: len(figure.skeleton))
        if not figure.takes or len(clip.motion) < 2:
            continue
        moved = figure.read_take(0)
        assert len(moved) == len(clip.motion), clip.name
        moved = moved[some_frames(clip)]
        shared = [name for name in clip.motion.skeleton.names if name in moved.skeleton.names]
        assert len(shared) >= 0.5 * len(clip.motion.skeleton), clip.name
        theirs = Kinematics(moved).positions[:, [moved.skeleton.index(name) for name in shared]] * 0.01
        ours = Kinematics(clip.motion[some_frames(clip)]).positions
        far = np.abs(theirs - ours[:, [clip.motion.skeleton.index(name) for name in shared]]).max()
        assert far < tolerance(clip), f"{clip.name}: {far:.2g} m"
        compared += 1
    assert compared >= 6
