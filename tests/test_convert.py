"""`footplant convert` and `formats`: what is kept, and the exact reports of what is lost."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import footplant
from footplant import Project, load_project, save_project
from footplant.cli import main
from footplant.cli.losses import losses
from footplant.humanoid.hanim import hanim_names
from footplant.io import FORMAT_FEATURES, formats, load_takes
from footplant.skeleton import Roles, Skeleton
from gltf_made import figure as made_figure
from test_asf import MOTION, SKELETON
from test_cli import assert_one_line_of_error, run, run_json
from test_deepmimic import CHARACTER, ROW, clip
from test_project import rich_character, rich_clip


@pytest.fixture
def glb(tmp_path):
    """A skinned figure with a material, a morph target and two takes."""
    path = tmp_path / "figure.glb"
    path.write_bytes(made_figure().glb())
    return path


def test_every_take_and_the_file_itself_survive_a_project(capsys, glb, tmp_path):
    report = run_json(capsys, "convert", glb, tmp_path / "a.footplant")
    assert (report["lost"], report["takes"], report["format"]) == ([], 2, "project")
    back = run_json(capsys, "convert", tmp_path / "a.footplant", tmp_path / "b.glb")
    assert back["takes"] == 2
    assert (tmp_path / "b.glb").read_bytes() == glb.read_bytes()
    assert run(capsys, "convert", tmp_path / "a.footplant", tmp_path / "c.glb")[1].count("in the first of 2 takes") == 1


def test_one_take_of_many(capsys, glb, tmp_path):
    report = run_json(capsys, "convert", glb, tmp_path / "a.footplant", "--take", "curves")
    assert report["lost"] == ["1 other take ('bend')"]
    assert [take.name for take in footplant.load(tmp_path / "a.footplant").takes] == ["curves"]
    run_json(capsys, "convert", glb, tmp_path / "a.glb", "--take", "curves")
    assert [take.name for take in footplant.load(tmp_path / "a.glb").takes] == ["curves"]
    report = run_json(capsys, "convert", glb, tmp_path / "a.bvh")
    assert "1 other take ('curves'); choose one with --take" in report["lost"]


def test_takes_go_from_one_format_to_another(capsys, glb, tmp_path):
    clips = [replace(clip, character=replace(clip.character, source=None)) for clip in load_takes(glb)]
    footplant.save(tmp_path / "a.footplant", clips[0], takes=clips)
    assert run_json(capsys, "convert", tmp_path / "a.footplant", tmp_path / "a.glb")["takes"] == 2
    for before, after in zip(clips, load_takes(tmp_path / "a.glb"), strict=True):
        assert after.name == before.name
        assert len(after.motion) == len(before.motion)


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (".bvh", [
            "the mesh with its weights, materials and morph targets: .bvh files have bones only",
            "the rest rotations of 2 joint frames: .bvh files store only positions of the rest pose; the motion "
            "is unchanged",
        ]),
        (".fbx", []),
        (".gltf", []),
        (".footplant", []),
    ],
)  # fmt: skip
def test_losses_of_a_skinned_file(capsys, glb, tmp_path, ending, expected):
    report = run_json(capsys, "convert", glb, tmp_path / f"a{ending}", "--take", "bend")
    assert report["lost"] == ["1 other take ('curves')", *expected]


def test_a_stage_stays_in_a_project_and_is_lost_elsewhere(capsys, glb, tmp_path):
    pytest.importorskip("pxr")
    from test_usd_write import RICH

    stage = tmp_path / "arm.usda"
    stage.write_text(RICH)
    assert run_json(capsys, "convert", stage, tmp_path / "a.footplant")["lost"] == []
    assert run_json(capsys, "convert", tmp_path / "a.footplant", tmp_path / "back.usdz")["lost"] == []
    told = "materials and variants of the character's own file: .glb files get the mesh only"
    assert told in run_json(capsys, "convert", stage, tmp_path / "a.glb")["lost"]
    assert told in run_json(capsys, "convert", tmp_path / "a.footplant", tmp_path / "b.glb")["lost"]
    # a glTF character's looks are written
    assert run_json(capsys, "convert", glb, tmp_path / "b.usda")["lost"] == []


def test_losses_of_a_project(capsys, tmp_path):
    clip = footplant.load("sample:walk")
    save_project(tmp_path / "a.footplant", Project(((clip,),), ({"kind": "plant"},) * 2, ({"do": "it"},)))
    report = run_json(capsys, "convert", tmp_path / "a.footplant", tmp_path / "a.glb")
    assert report["lost"] == [
        "joint roles: .glb files do not state them, so they will be detected again",
        "contact points, masses and limits: .glb files cannot hold them, so they will be computed again",
        "2 constraints and 1 edit: only .footplant files hold them",
    ]
    assert run_json(capsys, "convert", tmp_path / "a.footplant", tmp_path / "b.footplant")["lost"] == []
    assert (tmp_path / "b.footplant").read_bytes() == (tmp_path / "a.footplant").read_bytes()
    assert run_json(capsys, "convert", "sample:walk", tmp_path / "c.glb")["lost"] == []


def test_bones_of_varying_length(tmp_path):
    clip = rich_clip()
    assert footplant.io.FORMAT_FEATURES["moving bones"]
    told = losses(clip, None, formats()[".vrma"], takes=True, figures=True)
    assert any(
        text.startswith("bones that change their length over time: .vrma files have fixed lengths, which moves joints")
        and text.endswith(" mm")
        for text in told
    )


def test_further_characters_are_converted_if_the_format_holds_them(capsys, tmp_path):
    ann, bob = rich_character(1, "Ann"), rich_character(2, "Bob")
    clip = replace(rich_clip(1, "a", 4, ann), others=(rich_clip(2, "b", 4, bob),))
    footplant.save(tmp_path / "a.footplant", clip)
    report = run_json(capsys, "convert", tmp_path / "a.footplant", tmp_path / "a.bvh")
    assert (report["figures"], any("figure" in text for text in report["lost"])) == (2, False)
    report = run_json(capsys, "convert", tmp_path / "a.footplant", tmp_path / "a.glb")
    assert (report["figures"], "1 other character ('Bob'); choose one with --figure" in report["lost"]) == (1, True)
    report = run_json(capsys, "convert", tmp_path / "a.footplant", tmp_path / "b.footplant", "--figure", "Bob")
    assert "1 other character ('Ann')" in report["lost"]
    assert len(load_project(tmp_path / "b.footplant").figures) == 1
    # a BVH file has one frame rate for all
    footplant.save(tmp_path / "c.footplant", replace(clip, others=(rich_clip(2, "b", 7, bob),)))
    report = run_json(capsys, "convert", tmp_path / "c.footplant", tmp_path / "c.bvh")
    assert "1 other character ('Bob'); choose one with --figure" in report["lost"]


def test_onto_a_character_of_a_project(capsys, glb, tmp_path):
    run_json(capsys, "convert", glb, tmp_path / "hero.footplant")
    run_json(capsys, "convert", glb, tmp_path / "bare.bvh")
    report = run_json(
        capsys, "convert", tmp_path / "hero.footplant", tmp_path / "on.glb", "--take", "bend",
        "--character", tmp_path / "hero.footplant",
    )  # fmt: skip
    assert report["character"]
    written = footplant.load(tmp_path / "on.glb").character.source.document.json
    assert written["materials"][0]["name"] == "red"


def test_read_only_formats_list_writable_ones(capsys, tmp_path):
    code, out, err = run(capsys, "convert", "sample:walk", tmp_path / "a.amc")
    assert_one_line_of_error(code, out, err)
    assert "can be read but not written; writable formats: .bvh, " in err
    code, out, err = run(capsys, "convert", "sample:walk", tmp_path / "a.glb", "--to-up", "z")
    assert_one_line_of_error(code, out, err)
    assert "--to-up is for .bvh" in err
    assert ".glb has a fixed vertical axis" in err
    assert run_json(capsys, "convert", "sample:walk", tmp_path / "m.fbx", "--to-units", "m")["lost"] == []
    assert footplant.load(tmp_path / "m.fbx").conversion.scale == 1.0
    assert_one_line_of_error(*run(capsys, "convert", "sample:walk", tmp_path / "a.xyz"))
    assert main(["convert", "sample:walk", str(tmp_path / "a.bvh"), "--to-up", "z"]) == 0


def test_rates_and_skeletons_that_files_do_not_state(capsys, tmp_path):
    (tmp_path / "bones").mkdir()
    (tmp_path / "bones" / "one.asf").write_text(SKELETON)
    (tmp_path / "b.amc").write_text(MOTION)
    (tmp_path / "row.txt").write_text(json.dumps(clip(ROW)))
    (tmp_path / "bones" / "character.json").write_text(json.dumps(CHARACTER))
    named = ("--skeleton", tmp_path / "bones" / "one.asf", "--fps", "60")
    assert run_json(capsys, "info", tmp_path / "b.amc", *named)["fps"] == 60.0
    # a project has every take, which another function reads
    for ending in (".bvh", ".footplant"):
        report = run_json(capsys, "convert", tmp_path / "b.amc", tmp_path / f"a{ending}", *named)
        assert (report["fps"], report["joints"]) == (60.0, 3)
    named = ("--skeleton", tmp_path / "bones" / "character.json")
    assert "hinge" in run_json(capsys, "info", tmp_path / "row.txt", *named)["joint_names"]
    for command in (("info",), ("plot", "-o", tmp_path / "a.png"), ("convert",)):
        given = (command[0], tmp_path / "a.bvh", *command[1:]) + ((tmp_path / "b.bvh",) if "convert" in command else ())
        # a file that states its rate is resampled
        assert run(capsys, *given, "--fps", "30")[0] == 0
    assert footplant.load(tmp_path / "b.bvh").motion.fps == pytest.approx(30.0)
    code, out, err = run(capsys, "info", tmp_path / "bones" / "one.asf", "--fps", "60")
    assert_one_line_of_error(code, out, err)
    assert "expected neither skeleton= nor fps=" in err
    code, out, err = run(capsys, "info", "sample:walk", "--skeleton", "a.asf")
    assert_one_line_of_error(code, out, err)


def test_formats_list_what_they_hold(capsys, monkeypatch):
    told = run_json(capsys, "formats")
    assert told["parts"] == FORMAT_FEATURES
    found = told["formats"]
    assert found["project"]["holds"] == list(FORMAT_FEATURES)
    assert (found["asf"]["reads"], found["asf"]["writes"], found["asf"]["holds"]) == (True, False, [])
    assert (found["c3d"]["content"], found["c3d"]["reads"]) == ("markers", True)
    assert (found["fbx"]["extra"], found["bvh"]["extra"]) == ("fbx", None)
    assert all(set(entry["extensions"]) <= set(formats()) for entry in found.values())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run_json(capsys, "formats")["formats"]["fbx"]["installed"] is False
    assert 'pip install "footplant[fbx]"' in run(capsys, "formats")[1]


def test_joints_can_be_renamed_as_in_h_anim(capsys, tmp_path):
    run_json(capsys, "convert", "sample:walk", tmp_path / "walk.bvh", "--joint-names", "hanim")
    clip, walk = footplant.load(tmp_path / "walk.bvh"), footplant.load("sample:walk")
    names = clip.character.skeleton.names
    assert {"HumanoidRoot", "vl5", "vt1", "vc4", "skullbase", "l_hip", "r_knee", "l_wrist"} <= set(names)
    original, found = walk.character.require_roles().joints, clip.character.require_roles().joints
    wanted = hanim_names(walk.character.skeleton, walk.character.require_roles())
    assert {role: [names[joint] for joint in chain] for role, chain in found.items()} == {
        role: [wanted[joint] for joint in chain] for role, chain in original.items()
    }
    code, out, err = run(capsys, "convert", "sample:walk", tmp_path / "x.bvh", "--joint-names", "poser")
    assert_one_line_of_error(code, out, err)
    assert "expected --joint-names hanim" in err


def test_h_anim_names_are_unique_for_long_spines_and_many_fingers():
    count = 40
    skeleton = Skeleton(("l_hip", *(f"j{n}" for n in range(1, count))), [-1, *range(count - 1)], [[0, 1, 0]] * count)
    chains = {
        "spine": tuple(range(1, 22)),
        "neck": (22, 23, 24),
        "left_index": (25, 26, 27, 28),
        "left_upper_leg": (30,),
    }
    roles = Roles(chains, dict.fromkeys(chains, 1.0), dict.fromkeys(chains, ""))
    names = hanim_names(skeleton, roles)
    assert len(set(names)) == count
    assert (names[0], names[1], names[17], names[18]) == ("l_hip_", "vl5", "vt1", "j18")
    assert names[22:29] == ("vc7", "vc4", "vc1", "l_index0", "l_index1", "l_index2", "l_index3")
