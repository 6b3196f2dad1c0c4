"""`footplant measure --ground`: results on stairs and slopes are measured on what they stand on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import footplant
from footplant.cli import main
from footplant.io.ground_files import Course, GroundOptions, MadeFor
from footplant.kinematics import Kinematics
from footplant.plot import player

STAIRS = "stairs:0.12:0.4"


@pytest.fixture(scope="module")
def climbed(tmp_path_factory):
    """A walk up stairs, as .bvh and as .glb."""
    folder = tmp_path_factory.mktemp("climbed")
    for ending in ("bvh", "glb"):
        out = str(folder / f"up.{ending}")
        assert main(["terrain", "sample:walk", "--fps", "30", "--ground", STAIRS, "-o", out]) == 0
    return folder


def measured(capsys, *arguments):
    capsys.readouterr()
    assert main(["measure", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_stairs_are_given_and_placed_for_the_source(climbed, capsys):
    file = climbed / "up.bvh"
    level = measured(capsys, file)
    assert level["ground"] is None
    assert level["penetration_worst"] > 15.0
    stairs = measured(capsys, file, "--ground", STAIRS, "--course", "sample:walk")
    assert stairs["ground"] == STAIRS
    assert stairs["penetration_worst"] < 2.0
    assert len(stairs["plants"]) >= len(level["plants"])
    # the source of the comparison places them as well
    against = measured(capsys, file, "--ground", STAIRS, "--against", "sample:walk")
    assert against["penetration_worst"] < 2.0
    # ten centimetres higher, and the feet are that deep in them
    higher = measured(capsys, file, "--ground", "stairs:0.22:0.4", "--course", "sample:walk")
    assert higher["penetration_worst"] > 90.0


def test_a_file_carries_its_ground(climbed, capsys):
    file = climbed / "up.glb"
    stairs = measured(capsys, file)
    assert stairs["ground"] == STAIRS
    assert f"measured on the ground that it was made for: {STAIRS}" in stairs["notes"]
    source = footplant.load("sample:walk", fps=30)
    stated = MadeFor.of(footplant.load(file))
    assert stated == MadeFor(STAIRS, Course.of(source.motion, source.character), GroundOptions())
    # what is given counts more
    assert measured(capsys, file, "--ground", "slope:0")["ground"] == "slope:0"
    # an edit of it was made for no ground
    trimmed = climbed / "trimmed.glb"
    assert main(["trim", str(file), "--start", "0.5", "--end", "2", "-o", str(trimmed)]) == 0
    assert measured(capsys, trimmed)["ground"] is None


def test_pictures_and_pages_show_the_ground_of_a_file(climbed, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    file, said = climbed / "up.glb", f"drawn on the ground that it was made for: {STAIRS}"
    level, stairs = tmp_path / "level.png", tmp_path / "stairs.png"
    capsys.readouterr()
    assert main(["plot", str(file), "-o", str(stairs), "--poses-only", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == [said]
    assert main(["plot", str(climbed / "up.bvh"), "-o", str(level), "--poses-only", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []
    assert stairs.read_bytes() != level.read_bytes()
    assert main(["view", str(file), "-o", str(tmp_path / "up.html"), "--no-browser"]) == 0
    assert said in capsys.readouterr().err
    ground = MadeFor.of(footplant.load(file)).load()
    (shown,) = player.clip_scene(footplant.load(file), ground).figures
    # the footplants are those of its treads
    assert shown.ground is ground
    assert len(shown.plants) >= 8


def test_a_driven_file_carries_its_ground(tmp_path, capsys):
    file, script = tmp_path / "driven.glb", ["drive", "set:samples", "--script", "walk 3s", "--fps", "30"]
    assert main([*script, "--ground", "slope:10", "-o", str(file)]) == 0
    assert measured(capsys, file)["ground"] == "slope:10"
    # and it is where the feet are
    clip = footplant.load(file)
    kinematics, ground = Kinematics(clip.motion), MadeFor.of(clip).load()
    for side in ("left", "right"):
        balls = kinematics.point(clip.character.contacts[f"{side}_ball"])
        assert abs(float((balls[:, 1] - ground.height(balls[:, ::2])).min())) < 0.001
        assert np.ptp(balls[:, 1]) > 0.2
    # one that moves is at no single place
    assert main([*script, "--ground", "moving:deck:5:4", "-o", str(tmp_path / "rolled.glb")]) == 0
    assert MadeFor.of(footplant.load(tmp_path / "rolled.glb")) is None


def test_a_rewritten_file_carries_what_it_is_given(climbed):
    clip = footplant.load(climbed / "up.glb")
    stated = MadeFor.of(clip)
    assert stated is not None
    moved = clip.motion.transformed([1.0, 0.0, 0.0, 0.0], (0.0, 0.5, 0.0))
    footplant.save(climbed / "again.glb", replace(clip, motion=moved), made_for=stated.to_dict())
    assert MadeFor.of(footplant.load(climbed / "again.glb")) == stated
    footplant.save(climbed / "bare.glb", replace(clip, motion=moved))
    assert MadeFor.of(footplant.load(climbed / "bare.glb")) is None


def test_a_ground_file_that_is_gone_is_said(climbed, capsys):
    clip = footplant.load(climbed / "up.glb")
    stated = MadeFor("gone.png", Course((0.0, 0.0), (0.0, 0.0), (1.0, 1.0), 0.0, 1.7), GroundOptions())
    moved = clip.motion.transformed([1.0, 0.0, 0.0, 0.0], (0.0, 0.5, 0.0))
    footplant.save(climbed / "gone.glb", replace(clip, motion=moved), made_for=stated.to_dict())
    told = measured(capsys, climbed / "gone.glb")
    assert told["ground"] is None
    assert any("gone.png, which cannot be read" in text for text in told["notes"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--ground-at", "1,2"], "expected --ground GROUND with options that place it"),
        (["--course", "sample:run"], "expected --ground GROUND with options that place it"),
        (["--ground", "mud:3"], "no ground of that name"),
        (["--ground", "slope:5", "--robot", "g1.xml"], "expected no --ground with --robot"),
    ],
)
def test_options_that_do_not_fit(options, words, capsys):
    assert main(["measure", "sample:walk", *options]) == 2
    assert words in capsys.readouterr().err
