"""Losses told by counting: what a file held before and after, and that silence means that nothing was lost."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import footplant
from conftest import shared_data, shared_files
from footplant.cli import main
from footplant.io import load
from footplant.io.contents import COUNTED, compare_contents, count_contents
from footplant.motion import rest_motion
from independent_counts import gltf_json, independent
from thorough import thorough

WORDS = {
    "meshes": "mesh", "skins": ("skin", "weights"), "materials": "material", "textures": ("texture", "picture"),
    "morph targets": "morph", "cameras": "camera", "lights": "light", "takes": "take",
}  # fmt: skip


def run(capsys, *arguments) -> dict:
    code = main([*map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def silent(before: dict[str, int], after: dict[str, int], lost: list[str]) -> list[str]:
    """What is gone and was not told."""
    told = " ".join(lost)
    gone = []
    for what, words in WORDS.items():
        words = (words,) if isinstance(words, str) else words
        if before.get(what, 0) > after.get(what, 0) and not any(word in told for word in words):
            gone.append(f"{what}: {before[what]} → {after.get(what, 0)}")
    return gone


FILES = [
    *shared_files("gltf/*.glb"), *shared_files("gltf/*/*.gltf"), *shared_files("vrm/*.vrm"), *shared_files("fbx/*.fbx"),
    *shared_files("fbx/archer/*.fbx"),
]  # fmt: skip


ENDINGS = (".glb", ".fbx", ".bvh", ".npz", ".vrm")


@pytest.mark.parametrize("number", range(0, len(FILES), thorough(2, 1)), ids=lambda number: FILES[number].name)
def test_nothing_is_lost_in_silence(number, tmp_path, capsys):
    """Every character file to formats that write: counted before and after by other readers.

    Usually every second file to one format, which takes turns; all to every format in a thorough run.
    """
    path = FILES[number]
    before = independent(path)
    for ending in thorough(ENDINGS[number // 2 % len(ENDINGS) :][:1], ENDINGS):
        out = tmp_path / f"out{ending}"
        if ending == ".vrm" and load(path).character.roles is None:
            continue
        code = main(["convert", str(path), str(out), "--json"])
        printed, error = capsys.readouterr()
        if code:
            assert error.count("\n") == 1, error
            continue
        facts = json.loads(printed)
        assert silent(before, independent(out), facts["lost"]) == [], (ending, facts["lost"])


@pytest.fixture
def knight(tmp_path) -> Path:
    """A skinned character with two takes, a material with a texture and a camera."""
    walk = footplant.load("sample:walk")
    sally = footplant.load("sample:sally").character
    path = tmp_path / "knight.glb"
    from footplant.edits.retarget import retarget

    solution = retarget(walk, sally, method="copy")
    parts = {"idle": solution.motion[:5], "wave": solution.motion[5:12]}
    takes = [footplant.Clip(motion, sally, name=name) for name, motion in parts.items()]
    footplant.save(path, takes[0], takes=takes)
    data = path.read_bytes()
    length = struct.unpack("<I", data[12:16])[0]
    document = json.loads(data[20 : 20 + length])
    document["images"] = [{"uri": "data:image/png;base64,iVBORw0KGgo="}]
    document["textures"] = [{"source": 0}]
    document["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"] = {"index": 0}
    document["cameras"] = [{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1}}]
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + length :]
    path.write_bytes(
        b"glTF"
        + struct.pack("<II", 2, 20 + len(text) + len(rest))
        + struct.pack("<I", len(text))
        + b"JSON"
        + text
        + rest
    )
    return path


def test_a_result_keeps_the_characters_own_takes(knight, tmp_path, capsys):
    out = tmp_path / "result.glb"
    facts = run(capsys, "retarget", "sample:walk", "--to", knight, "-o", out, "--method", "copy")
    assert facts["lost"] == []
    assert any("keeps its 2 own animations" in note for note in facts["notes"])
    assert [a["name"] for a in gltf_json(out)["animations"]] == ["walk", "idle", "wave"]
    assert {key: value for key, value in independent(out).items() if key != "takes"} == {
        key: value for key, value in independent(knight).items() if key != "takes"
    }
    alone = run(capsys, "retarget", "sample:walk", "--to", knight, "-o", out, "--method", "copy", "--replace-takes",
                "--overwrite")  # fmt: skip
    assert alone["lost"] == ["1 of 2 takes"]
    assert len(gltf_json(out)["animations"]) == 1
    # a second result is added to the first
    again = tmp_path / "again.glb"
    footplant.save(tmp_path / "named.bvh", footplant.load("sample:walk"))
    run(capsys, "retarget", tmp_path / "named.bvh", "--to", knight, "-o", again, "--method", "copy")
    assert [a["name"] for a in gltf_json(again)["animations"]] == ["named", "idle", "wave"]


@pytest.mark.parametrize(("character", "ending"), [("fbx", "fbx"), ("usda", "usda"), ("glb", "fbx")])
def test_results_are_added_to_own_takes_of_every_format(tmp_path, capsys, character, ending):
    # arrange: a character with two takes of its own
    sally = load("sample:sally")
    takes = [replace(sally, name=name, motion=rest_motion(sally.motion.skeleton, frames), takes=(), take=n)
             for n, (name, frames) in enumerate((("idle", 4), ("nod", 7)))]  # fmt: skip
    footplant.save(tmp_path / f"own.{character}", takes[0], takes=takes)
    # act
    out, alone = tmp_path / f"out.{ending}", tmp_path / f"alone.{ending}"
    common = ("retarget", "sample:reach", "--to", tmp_path / f"own.{character}", "--method", "copy")
    facts = run(capsys, *common, "-o", out)
    run(capsys, *common, "--replace-takes", "-o", alone)
    # assert
    assert any("keeps its 2 own animations" in note for note in facts["notes"])
    again = load(out)
    # a scene of FBX or USD has one rate, at which all its takes are sampled
    assert [(take.frames - 1) / take.fps for take in again.takes][1:] == pytest.approx([3 / 30, 6 / 30])
    assert [take.name for take in again.takes][1:] == ["idle", "nod"]
    assert len(load(alone).takes) == 1
    own = load(out, take=2)
    np.testing.assert_allclose(
        footplant.Kinematics(own.motion).positions[0], footplant.Kinematics(takes[1].motion).positions[0], atol=1e-4
    )


def test_a_result_in_another_format_says_what_is_gone(knight, tmp_path, capsys):
    facts = run(capsys, "retarget", "sample:walk", "--to", knight, "-o", tmp_path / "r.bvh", "--method", "copy")
    assert facts["lost"] == ["1 mesh", "1 skin", "1 material", "1 texture", "1 camera", "1 of 2 takes"]


def test_a_vrm_result_comes_with_its_animation(tmp_path, capsys):
    out = tmp_path / "result.vrm"
    facts = run(capsys, "retarget", "sample:walk", "--to", "sample:sally", "-o", out, "--method", "copy")
    assert any("result.vrma" in note for note in facts["notes"])
    played = footplant.load(tmp_path / "result.vrma")
    assert len(played.motion) == len(footplant.load("sample:walk").motion)
    (tmp_path / "other.vrma").write_text("mine")
    other = tmp_path / "other.vrm"
    facts = run(capsys, "retarget", "sample:walk", "--to", "sample:sally", "-o", other, "--method", "copy")
    assert (tmp_path / "other.vrma").read_text() == "mine"
    assert any("other.vrma exists already" in note for note in facts["notes"])
    facts = run(capsys, "convert", "sample:walk", tmp_path / "walk.vrm")
    assert any("walk.vrma" in note for note in facts["notes"])
    assert len(footplant.load(tmp_path / "walk.vrma").motion) == len(played.motion)
    run(capsys, "convert", "sample:sally", tmp_path / "still.vrm")
    assert not (tmp_path / "still.vrma").exists()


def test_phrases():
    before = {"meshes": 3, "materials": 2, "textures": 1, "takes": 2, "morph targets": 0}
    assert compare_contents(before, before) == []
    assert compare_contents(before, {"meshes": 1, "materials": 1, "takes": 2}, files=".x files") == [
        "3 meshes became 1: .x files get them joined", "1 of 2 materials", "1 texture"]  # fmt: skip
    assert compare_contents(before, {"meshes": 3, "takes": 2}, ["materials and pictures"]) == []
    assert set(before) <= set(COUNTED)


def test_files_are_counted(tmp_path):
    walk = footplant.load("sample:walk")
    footplant.save(tmp_path / "walk.bvh", walk)
    assert count_contents(tmp_path / "walk.bvh") == {}
    footplant.save(tmp_path / "walk.glb", footplant.load(tmp_path / "walk.bvh"))
    # display bones are no mesh
    assert count_contents(tmp_path / "walk.glb")["meshes"] == 0
    assert np.isfinite(walk.motion.fps)


@pytest.mark.named("fbx/archer/ArcherRi01.fbx")
def test_counts_agree_with_another_reader(shared):
    path = shared_data("fbx/archer/ArcherRi01.fbx")
    found = count_contents(path)
    for what, number in independent(path).items():
        assert what == "joints" or found[what] == number, what


@pytest.mark.named("fbx/ozz_pab_walk.fbx")
def test_a_project_without_the_characters_own_file_tells_what_is_gone(shared, tmp_path, capsys):
    path = shared_data("fbx/ozz_pab_walk.fbx")
    assert run(capsys, "convert", path, tmp_path / "walk.footplant")["lost"] == ["10 cameras"]
