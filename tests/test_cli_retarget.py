"""`footplant retarget` on the command line."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy as np
import pytest

import footplant
from footplant.cli import main
from footplant.kinematics import Kinematics
from footplant.samples import load_character


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def fails(capsys, *arguments) -> str:
    code, out, err = run(capsys, "retarget", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    return err


def test_table(capsys, tmp_path):
    code, out, err = run(capsys, "retarget", "sample:kick", "--to", "sample:sally", "-o", tmp_path / "a.glb", "-v")
    assert (code, err) == (0, "")
    for word in ("solved", "worst footplant drift, mm", "legs", "right ball", "% of height"):
        assert word in out
    clip = footplant.load(tmp_path / "a.glb")
    assert clip.character.skin is not None
    assert clip.character.height == pytest.approx(load_character("sally").height, abs=0.01)


def test_what_is_not_right(capsys, tmp_path):
    """A copy slides; the skin is looked at when a check or a report asks for it."""
    common = ("retarget", "sample:kick", "--to", "sample:blubby", "--method", "copy")
    code, out, _ = run(capsys, *common, "-o", tmp_path / "a.glb")
    assert code == 0
    line = next(line for line in out.splitlines() if line.strip().startswith("not right: "))
    assert "stances slide more than 5 mm" in line
    assert "inside" not in line
    code, out, _ = run(capsys, *common, "-o", tmp_path / "b.glb", "--check", "--json")
    told = json.loads(out)
    found = told["after"]["fidelity"]
    assert told["not_right"] == found["not_right"]
    assert found["arm_in_torso_mm"] > 50.0
    assert any("inside the trunk" in clause for clause in told["not_right"])
    page = tmp_path / "c.html"
    assert run(capsys, *common, "-o", tmp_path / "c.glb", "--report", page)[0] == 0
    found = re.search(r'id="footplant-data">([^<]*)<', page.read_text())
    # without Node at the time of building there is a page of pictures
    text = page.read_text() if found is None else zlib.decompress(base64.b64decode(found[1])).decode(errors="ignore")
    assert "inside the trunk" in text
    assert "arm in trunk, deepest" in text


@pytest.mark.parametrize("ending", [".bvh", ".glb", ".fbx", ".usda", ".footplant"])
def test_formats(capsys, tmp_path, ending):
    """In any output format, feet are as planted as the report says."""
    out = tmp_path / f"walk{ending}"
    report = tmp_path / "report.json"
    code, text, _ = run(
        capsys, "retarget", "sample:kick", "--to", "sample:child", "-o", out, "--report", report, "--json"
    )
    assert code == 0
    told = json.loads(text)
    assert (told["command"], told["input"], told["to"]) == ("retarget", "sample:kick", "sample:child")
    assert json.loads(report.read_text())["constraints"] == told["constraints"]
    assert max(plant["drift"] for plant in told["after"]["plants"]) < 2.0
    clip = footplant.load(out)
    foot = Kinematics(clip.motion).positions[: int(0.3 * clip.motion.fps), clip.motion.skeleton.index("LeftFoot")]
    assert np.ptp(foot, axis=0).max() < 0.002


@pytest.mark.quick
def test_options_change_the_solution(capsys, tmp_path):
    ways = {
        "scaled": (), "kept": ("--keep-footsteps",), "smooth": ("--method", "hierarchical", "--smooth"),
        "fast": ("--fast",), "copied": ("--method", "copy"),
    }  # fmt: skip
    drifts, ends, methods = {}, {}, {}
    for name, options in ways.items():
        out = tmp_path / f"{name}.bvh"
        code, text, _ = run(capsys, "retarget", "sample:walk", "--to", "sample:short", "-o", out, "--json", *options)
        assert code == 0
        drifts[name] = max(p["drift"] for p in json.loads(text)["after"]["plants"] if "palm" not in p["point"])
        methods[name] = json.loads(text)["method"]
        ends[name] = footplant.load(out).motion.root[-1, 2] - footplant.load(out).motion.root[0, 2]
    assert max(drifts["scaled"], drifts["kept"], drifts["fast"]) < 2.0
    assert methods["scaled"] == "whole-body"
    assert methods["fast"].startswith("hierarchical")
    assert ends["kept"] > 1.5 * ends["scaled"]
    assert ends["copied"] == pytest.approx(ends["scaled"], rel=0.02)


def test_fast_compares_with_the_source_when_asked(capsys, tmp_path):
    """The summary names the footplant that is farthest off; the comparison with the source is made for -v alone."""
    command = ("retarget", "sample:walk", "--to", "sample:short", "--fast", "--overwrite", "-o", tmp_path / "a.bvh")
    code, text, _ = run(capsys, *command)
    assert code == 0
    assert re.search(r"worst of \d+ constraints: .*, 0\.\d mm off", text)
    assert "skating" not in text
    code, text, _ = run(capsys, *command, "-v")
    assert (code, "skating" in text, "drifts" in text) == (0, True, True)


def test_constraints_from_a_file(capsys, tmp_path):
    file = tmp_path / "more.toml"
    file.write_text('[[constraint]]\nkind = "position"\nname = "hand up"\npoint = "right_hand"\nframes = [60, 80]\n')
    err = fails(capsys, "sample:stand", "--to", "sample:sally", "-o", tmp_path / "a.bvh", "--constraints", file)
    assert "more.toml" in err
    assert not (tmp_path / "a.bvh").exists()


@pytest.mark.quick
def test_refusals(capsys, tmp_path, shared):
    out = tmp_path / "a.glb"
    assert "'nothing'" in fails(capsys, "sample:nothing", "--to", "sample:sally", "-o", out)
    assert "sally2" in fails(capsys, "sample:walk", "--to", "sample:sally2", "-o", out)
    assert "give --fast or --method" in fails(
        capsys, "sample:walk", "--to", "sample:sally", "-o", out, "--fast", "--method", "copy"
    )
    assert "expected a method among" in fails(
        capsys, "sample:walk", "--to", "sample:sally", "-o", out, "--method", "magic"
    )
    assert "expected --smooth with a method among hierarchical, filtered, spacetime; got 'whole-body'" in fails(
        capsys, "sample:walk", "--to", "sample:sally", "-o", out, "--smooth"
    )
    assert ".docx" in fails(capsys, "sample:walk", "--to", "sample:sally", "-o", tmp_path / "a.docx")
    assert "expected a report ending in" in fails(
        capsys, "sample:walk", "--to", "sample:sally", "-o", out, "--report", tmp_path / "r.txt"
    )
    animals = sorted(shared.glob("gltf/Fox*.gl*"))
    assert "human" in fails(capsys, "sample:walk", "--to", animals[0], "-o", out)
    animals += shared.glob("bvh/other/dog_walk_quadruped.bvh")
    assert "human" in fails(capsys, animals[-1], "--to", "sample:sally", "-o", out)
    assert not out.exists()
    out.write_bytes(b"mine")
    assert "--overwrite" in fails(capsys, "sample:kick", "--to", "sample:sally", "-o", out)
    assert out.read_bytes() == b"mine"
    assert run(capsys, "retarget", "sample:kick", "--to", "sample:sally", "-o", out, "--overwrite")[0] == 0
    assert out.read_bytes()[:4] == b"glTF"


@pytest.mark.named("deepmimic/humanoid3d_walk.txt", "gltf/CesiumMan.glb")
def test_a_real_file_onto_a_real_character(capsys, tmp_path, shared):
    code, text, _ = run(
        capsys, "retarget", shared / "deepmimic" / "humanoid3d_walk.txt", "--to", shared / "gltf" / "CesiumMan.glb",
        "-o", tmp_path / "a.glb", "--report", tmp_path / "a.html", "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads(text)["status"] == "solved"
    assert (tmp_path / "a.html").stat().st_size > 50_000
    assert footplant.load(tmp_path / "a.glb").character.skin is not None
