"""The command line: text output, JSON output, and errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import footplant
from footplant.cli import demo, main
from footplant.feet.floor import find_floor
from footplant.plot import player
from footplant.serialise import json_ready
from thorough import thorough

COMMANDS = (
    "info", "contacts", "measure", "view", "plot", "repair", "trim", "resample", "mirror", "loop", "join", "fit",
    "convert", "demo", "samples", "formats", "warmup",
)  # fmt: skip
FOOTPLANT = [sys.executable, "-m", "footplant"]


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, run in this process."""
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def run_json(capsys, *arguments: str) -> dict:
    """The one JSON object that a command prints."""
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def assert_one_line_of_error(code: int, out: str, err: str) -> None:
    assert code == 2
    assert out == ""
    assert err.startswith("footplant: error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> Path:
    """A folder with the sample walk as BVH and GLB."""
    folder = tmp_path_factory.mktemp("walk")
    clip = footplant.load("sample:walk")
    footplant.save(folder / "walk.bvh", clip)
    footplant.save(folder / "walk.glb", clip)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(capsys, command):
    code, out, err = run(capsys, command, "--help")
    assert code == 0
    assert err == ""
    assert f"Example: footplant {command}" in " ".join(out.split())
    assert "--json" in out


def test_help_lists_every_command(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert all(f"\n  {command} " in out for command in COMMANDS)
    assert run(capsys)[1] == out


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"footplant {footplant.__version__}\n", "")


def test_info_of_a_sample(capsys):
    facts = run_json(capsys, "info", "sample:walk")
    clip = footplant.load("sample:walk")
    assert facts["frames"] == len(clip.motion)
    assert facts["fps"] == 120.0
    assert facts["joints"] == len(facts["joint_names"]) == 22
    assert 1.7 < facts["height"] < 1.8
    assert (facts["up"], facts["units"], facts["scale"]) == ("y", "m", 1.0)
    assert facts["human"] is True
    assert facts["takes"] == [{"name": "walk", "frames": len(clip.motion), "fps": 120.0}]
    spine = facts["roles"]["spine"]
    assert spine["joint"] == spine["joints"][0] == "Spine"
    assert 0.0 <= spine["confidence"] <= 1.0
    assert spine["reason"]
    assert {"left_heel", "right_ball"} <= set(facts["contact_points"])
    assert facts["skin"]["triangles"] > 1000


def test_info_for_people(capsys):
    code, out, err = run(capsys, "info", "sample:walk")
    assert code == 0
    assert err == ""
    assert "at 120 fps" in out
    assert "left_upper_leg" in out


@pytest.mark.parametrize("name", ["walk.bvh", "walk.glb"])
def test_info_of_files(capsys, walk, name):
    facts = run_json(capsys, "info", walk / name)
    assert facts["format"] == {"walk.bvh": "bvh", "walk.glb": "gltf"}[name]
    assert facts["joints"] == 22
    assert 1.6 < facts["height"] < 1.9
    assert facts["roles"]["left_foot"]["joint"] == "LeftFoot"
    assert set(facts["contact_points"]) >= {"left_heel", "left_ball", "right_heel", "right_ball"}


def test_info_takes_corrections(capsys, walk, tmp_path):
    corrections = tmp_path / "roles.toml"
    corrections.write_text('[roles]\nleft_hand = "RightHand"\nright_hand = "LeftHand"\n')
    facts = run_json(capsys, "info", walk / "walk.bvh", "--roles", corrections)
    assert facts["roles"]["left_hand"]["joint"] == "RightHand"
    assert_one_line_of_error(*run(capsys, "info", walk / "walk.bvh", "--roles", tmp_path / "none.toml"))


def test_info_forced_units(capsys, walk):
    facts = run_json(capsys, "info", walk / "walk.bvh", "--units", "inch")
    assert facts["scale"] == 0.0254
    assert run_json(capsys, "info", walk / "walk.bvh", "--units", "0.5")["scale"] == 0.5
    assert_one_line_of_error(*run(capsys, "info", walk / "walk.bvh", "--units", "furlong"))
    assert_one_line_of_error(*run(capsys, "info", walk / "walk.bvh", "--up", "w"))
    assert_one_line_of_error(*run(capsys, "info", walk / "walk.bvh", "--units", "nan"))


def test_height_and_positions(capsys, walk, tmp_path):
    facts = run_json(capsys, "info", walk / "walk.glb", "--height", "1.2")
    assert facts["height"] == pytest.approx(1.2)
    assert_one_line_of_error(*run(capsys, "info", walk / "walk.glb", "--height", "1.2", "--units", "cm"))
    assert_one_line_of_error(*run(capsys, "info", walk / "walk.glb", "--positions", "add"))
    assert_one_line_of_error(*run(capsys, "info", walk / "walk.bvh", "--positions", "sum"))
    assert run_json(capsys, "info", walk / "walk.bvh", "--positions", "add")["frames"] > 0


def test_the_floor_can_be_put_somewhere(capsys, tmp_path):
    """Retarget, repair and convert say where the source's floor was found, and put it where it is asked for."""
    walk = footplant.load("sample:walk")
    high = replace(walk.motion[:60], root=walk.motion[:60].root + [0.0, 0.4, 0.0])
    footplant.save(tmp_path / "high.glb", high, character=walk.character)
    for command, more in (("convert", ()), ("repair", ("-o",)), ("retarget", ("--to", "sample:sally", "-o"))):
        for ground in (0.0, 0.25):
            out = tmp_path / f"{command}{ground}.glb"
            options = (*more, out, "--ground", ground)
            facts = run_json(capsys, command, tmp_path / "high.glb", *options)
            assert facts["floor"] == pytest.approx(0.4, abs=0.01)
            assert any("floor is at 0.4" in note for note in facts["notes"])
            found = find_floor(footplant.load(out))
            assert found is not None
            assert found.level == pytest.approx(ground, abs=0.005)
    assert run_json(capsys, "repair", tmp_path / "high.glb", "-o", tmp_path / "r.glb")["floor"] == pytest.approx(
        0.4, abs=0.01
    )


def test_contacts(capsys):
    found = run_json(capsys, "contacts", "sample:walk")
    points = {plant["point"] for plant in found["plants"]}
    assert points == {"left_heel", "left_ball", "right_heel", "right_ball"}
    assert all(0 <= plant["start"] < plant["end"] <= found["frames"] for plant in found["plants"])
    code, out, _ = run(capsys, "contacts", "sample:walk", "--toes")
    assert code == 0
    assert "left_toe" in out


def test_measure_alone_and_against_a_source(capsys, walk):
    alone = run_json(capsys, "measure", "sample:walk")
    assert alone["share_under_1mm"] == 1.0
    assert alone["jerk_ratio"] is None
    assert alone["fidelity"] is None
    compared = run_json(capsys, "measure", walk / "walk.glb", "--against", "sample:walk")
    assert compared["fidelity"]["stance_worst_mm"] < 0.1
    assert compared["fidelity"]["arm_in_torso_mm"] is not None
    assert compared["against"] == "sample:walk"
    assert compared["jerk_ratio"] == pytest.approx(1.0, rel=0.05)
    code, out, _ = run(capsys, "measure", walk / "walk.glb", "--against", "sample:walk")
    assert code == 0
    assert "jerk of all joints over the source's" in out


def test_plot(capsys, tmp_path):
    report = run_json(capsys, "plot", "sample:walk", "-o", tmp_path / "strip.png", "--poses", "4")
    assert Path(report["output"]).read_bytes().startswith(b"\x89PNG")
    refused = run(capsys, "plot", "sample:walk", "-o", tmp_path / "strip.png")
    assert_one_line_of_error(*refused)
    assert "--overwrite" in refused[2]
    assert_one_line_of_error(*run(capsys, "plot", "sample:walk", "-o", tmp_path / "strip.gif"))


def test_convert_there_and_back(capsys, walk, tmp_path):
    report = run_json(capsys, "convert", walk / "walk.glb", tmp_path / "walk.bvh", "--to-units", "m", "--to-up", "z")
    assert any("mesh" in lost for lost in report["lost"])
    facts = run_json(capsys, "info", tmp_path / "walk.bvh")
    assert (facts["up"], facts["units"]) == ("z", "m")
    again = footplant.load(tmp_path / "walk.bvh")
    original = footplant.load("sample:walk")
    order = [again.motion.skeleton.index(name) for name in original.motion.skeleton.names]
    difference = (
        footplant.Kinematics(again.motion).positions[:, order] - footplant.Kinematics(original.motion).positions
    )
    # z up does not fix the forward direction: compare heights, and distances from the first root
    assert np.abs(difference[..., 1]).max() < 1e-4
    code, out, _ = run(capsys, "convert", "sample:walk", tmp_path / "other.glb")
    assert code == 0
    assert "other.glb" in out


def test_convert_onto_a_character(capsys, walk, tmp_path):
    report = run_json(
        capsys, "convert", walk / "walk.bvh", tmp_path / "on.glb", "--character", walk / "walk.glb"
    )  # fmt: skip
    assert report["lost"] == []
    assert run_json(capsys, "info", tmp_path / "on.glb")["skin"]["triangles"] > 1000


def test_convert_refuses_another_skeleton(capsys, walk, tmp_path):
    other = tmp_path / "other.bvh"
    skeleton = footplant.Skeleton(("a", "b"), [-1, 0], [[0, 1.0, 0], [0, 1.0, 0]])
    footplant.save(other, footplant.rest_motion(skeleton))
    code, out, err = run(capsys, "convert", walk / "walk.bvh", tmp_path / "x.glb", "--character", other)
    assert_one_line_of_error(code, out, err)
    assert "other.bvh" in err
    assert not (tmp_path / "x.glb").exists()


def test_convert_never_overwrites_by_accident(capsys, walk, tmp_path):
    kept = tmp_path / "kept.bvh"
    kept.write_text("mine")
    code, out, err = run(capsys, "convert", "sample:walk", kept)
    assert_one_line_of_error(code, out, err)
    assert "--overwrite" in err
    assert kept.read_text() == "mine"
    before = (walk / "walk.bvh").read_bytes()
    for option in ((), ("--overwrite",)):
        assert_one_line_of_error(*run(capsys, "convert", walk / "walk.bvh", walk / "walk.bvh", *option))
    (tmp_path / "link.bvh").symlink_to(walk / "walk.bvh")
    assert_one_line_of_error(*run(capsys, "convert", walk / "walk.bvh", tmp_path / "link.bvh", "--overwrite"))
    assert (walk / "walk.bvh").read_bytes() == before
    assert run(capsys, "convert", "sample:walk", kept, "--overwrite")[0] == 0
    assert kept.read_text().startswith("HIERARCHY")
    assert_one_line_of_error(*run(capsys, "convert", "sample:walk", tmp_path))


def test_lists(capsys):
    samples = run_json(capsys, "samples")
    assert "walk" in samples["motions"]
    assert "mannequin" in samples["characters"]
    formats = run_json(capsys, "formats")["formats"]
    assert formats["bvh"]["writes"]
    assert formats["gltf"]["extensions"] == [".glb", ".gltf"]
    assert "sample:walk" in run(capsys, "samples")[1]
    assert ".glb" in run(capsys, "formats")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("infoo",),
        ("info",),
        ("info", "sample:walk", "--nonsense"),
        ("info", "sample:no-such-sample"),
        ("info", "sample:walk", "--units", "cm"),
        ("info", "no-such-file.bvh"),
        ("info", "file.of-no-known-kind"),
        ("plot", "sample:walk", "--poses", "zero"),
        ("convert", "sample:walk", "out.unknown"),
        ("convert", "sample:walk", "out.glb", "--to-units", "cm"),
        ("convert", "sample:walk", "no/such/folder/out.bvh"),
    ],
)
def test_mistakes_are_one_line(capsys, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_one_line_of_error(*run(capsys, *arguments))
    assert list(tmp_path.iterdir()) == []


def test_damaged_file(capsys, tmp_path):
    bad = tmp_path / "bad.bvh"
    bad.write_text("HIERARCHY\nROOT Hips\n{\n OFFSET 0 0 zero\n}\n")
    code, out, err = run(capsys, "info", bad, "--json")
    assert_one_line_of_error(code, out, err)
    assert "bad.bvh" in err
    assert "line 4" in err


def test_non_humanoids_are_read_but_not_measured(capsys, tmp_path):
    prop = tmp_path / "prop.bvh"
    skeleton = footplant.Skeleton(("a", "b"), [-1, 0], [[0, 1.0, 0], [0, 1.0, 0]])
    footplant.save(prop, footplant.rest_motion(skeleton, 3))
    facts = run_json(capsys, "info", prop)
    assert facts["human"] is False
    assert facts["roles"] == {}
    assert facts["notes"]
    assert_one_line_of_error(*run(capsys, "contacts", prop))


def test_json_has_no_infinity():
    assert json_ready({"a": [np.float64("nan"), float("inf"), np.int64(3)], "b": np.zeros((1, 2))}) == {
        "a": [None, None, 3], "b": [[0.0, 0.0]],
    }  # fmt: skip


def test_tables_in_a_pipe_are_not_broken():
    done = subprocess.run([*FOOTPLANT, "info", "sample:walk"], capture_output=True, text=True)
    assert done.returncode == 0
    row = next(line for line in done.stdout.splitlines() if "spine" in line)
    assert "Spine, Chest, UpperChest" in row
    assert "\x1b" not in done.stdout


def test_closed_pipe_is_quiet():
    process = subprocess.Popen(
        [*FOOTPLANT, "info", "sample:walk", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()  # type: ignore[union-attr]
    assert process.stderr.read() == b""  # type: ignore[union-attr]
    process.stderr.close()  # type: ignore[union-attr]
    assert process.wait() == 0


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
def test_ctrl_c(tmp_path):
    script = f"""
import footplant.io, time, sys, pathlib
def slow(*arguments, **options):
    pathlib.Path(r"{tmp_path / "begun"}").touch()
    time.sleep(60)
footplant.io.load = slow
from footplant.cli import main
sys.exit(main(["info", "sample:walk"]))
"""
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "footplant: stopped\n"


def test_demo(capsys, tmp_path, monkeypatch):
    figures = ("short", "sally", "blubby")
    assert tuple(demo.CHARACTERS) == figures
    tried = thorough(("blubby",), figures)
    monkeypatch.setattr(demo, "CHARACTERS", {figure: demo.CHARACTERS[figure] for figure in tried})
    report = run_json(capsys, "demo", "-o", tmp_path / "demo")
    assert report["seconds"] < 600
    results = report["results"]
    assert {(result["figure"], result["walks"]) for result in results} == {
        (figure, walks) for figure in tried for walks in ("in the original footsteps", "over rough terrain")
    }
    for result in results:
        assert result["status"] == "solved"
        assert result["drift_mm"] < 1.0
        assert result["penetration_mm"] < 5.0
        assert [Path(file).suffix for file in result["files"]] == [".glb", ".png"]
        if result["walks"] == "in the original footsteps":
            assert result["copied_drift_mm"] > 50.0
    for file in report["source"] + [file for result in results for file in result["files"]]:
        assert (tmp_path / "demo" / file).stat().st_size > 10_000, file
    if player.is_available():
        assert Path(report["page"]).stat().st_size > 100_000
    assert footplant.load(tmp_path / "demo" / "blubby_terrain.glb").character.skin is not None
    (tmp_path / "file").write_text("")
    assert_one_line_of_error(*run(capsys, "demo", "-o", tmp_path / "file"))
