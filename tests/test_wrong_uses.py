"""Wrong uses of the command line: each is one clear line on stderr with the right advice, and exit code 2."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import footplant
from footplant import Skeleton, rest_motion
from footplant.cli import main


def dog() -> Skeleton:
    """A quadruped: the trunk along z, front and hind limbs down to the ground."""
    names, parents, places = ["Hips"], [-1], [(0.0, 1.0, -0.6)]

    def add(name: str, parent: str, place: tuple[float, float, float]) -> None:
        parents.append(names.index(parent))
        names.append(name)
        places.append(place)

    for n in range(1, 4):
        add(f"Spine{n}", "Hips" if n == 1 else f"Spine{n - 1}", (0.0, 1.0, -0.6 + 0.3 * n))
    add("Neck", "Spine3", (0.0, 1.2, 0.4))
    add("Head", "Neck", (0.0, 1.4, 0.5))
    for side, x in (("Left", 0.15), ("Right", -0.15)):
        for limb, root, z in (("Leg", "Hips", -0.6), ("Arm", "Spine3", 0.3)):
            for n, (y, bend) in enumerate(((0.95, 0.0), (0.55, 0.05), (0.2, -0.08), (0.02, 0.04))):
                add(f"{side}{limb}{n}", root if n == 0 else f"{side}{limb}{n - 1}", (x, y, z + bend))
    world = np.array(places)
    offsets = [world[joint] - (world[parent] if parent >= 0 else 0.0) for joint, parent in enumerate(parents)]
    return Skeleton(tuple(names), np.array(parents), np.array(offsets))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Files that are used wrongly."""
    folder = tmp_path_factory.mktemp("wrong")
    prop = Skeleton(("a", "b"), [-1, 0], [[0, 1.0, 0], [0, 1.0, 0]])
    footplant.save(folder / "prop.bvh", rest_motion(prop, 3))
    footplant.save(folder / "dog.bvh", rest_motion(dog(), 3))
    walk = footplant.load("sample:walk", fps=20)
    footplant.save(folder / "walk.bvh", walk)
    (folder / "notes.txt").write_text("hello")
    (folder / "bad.toml").write_text("[[constraint]\n")
    (folder / "empty.bvh").write_text("")
    (folder / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{\n OFFSET 0 0 zero\n}\n")
    (folder / "kept.bvh").write_text("mine")
    (folder / "take.trc").write_text("x")
    (folder / "folder").mkdir()
    return folder


ON_SALLY = "retarget sample:walk --to sample:sally"
WRONG = {
    # commands, options and arguments that do not exist
    "infoo sample:walk": "No such command 'infoo'. Did you mean 'info'?",
    "retraget sample:walk": "Did you mean 'retarget'?",
    "info": "Missing argument 'FILE'. A motion or character file, or sample:NAME.",
    "info sample:walk --nonsense": "No such option: --nonsense",
    "info sample:walk --jsn": "--json",
    f"{ON_SALLY} --keep-footstep -o x.glb": "--keep-footsteps",
    "info sample:walk more.bvh": "(more.bvh)",
    "retarget sample:walk sample:sally --to sample:sally -o x.glb": "a character is given as --to",
    "mirror sample:walk x.bvh -o y.bvh": "the file to write is given as -o",
    "retarget sample:walk --to sample:sally": "Missing option '-o' / '--out'. Where to write the motion",
    "retarget sample:walk -o x.glb": "Missing option '--to'. A character or robot file, or sample:NAME.",
    "terrain sample:walk -o x.glb": "Missing option '--ground'. noise:SEED",
    "fit sample:walk -o x.glb": "Missing option '--constraints'. Constraints: TOML, JSON",
    "completion": "bash, zsh or fish",
    "completion tcsh": "expected a shell among bash, zsh, fish; got 'tcsh'",
    # files
    "info sample:wlak": "did you mean sample:walk?",
    f"{ON_SALLY[:-5]}sallie -o x.glb": "did you mean sample:sally?",
    "info nofile.bvh": "nofile.bvh: no such file",
    "view nofile.glb": "nofile.glb: no such file",
    "measure sample:walk --against nofile.bvh": "nofile.bvh: no such file",
    "info notes.txt": "notes.txt: expected a DeepMimic clip",
    "info folder": "folder: is a folder; name a file in it (footplant batch works on folders)",
    "info empty.bvh": "empty.bvh: line 1: expected HIERARCHY, got the end of the file",
    "info broken.bvh": "broken.bvh: line 4: expected 3 numbers after OFFSET",
    "info walk.bvh --units furlong": "furlong",
    "info walk.bvh --up w": "'w'",
    "info walk.bvh --take 7": "expected a take among",
    "info walk.bvh --skeleton a.asf": "--skeleton is for .amc",
    "info sample:walk --units cm": "a sample takes no --units",
    "info walk.bvh --roles none.toml": "none.toml: no such file",
    # what is no humanoid
    "retarget sample:walk --to dog.bvh -o x.glb": "dog.bvh: not a humanoid",
    "retarget dog.bvh --to sample:sally -o x.glb": "dog.bvh: not a humanoid",
    "retarget sample:walk --to prop.bvh -o x.glb": "prop.bvh: not a humanoid: 2 joints are too few",
    "morph sample:walk --to prop.bvh -o x.glb": "expected a character with two legs and two arms",
    "contacts prop.bvh": "prop.bvh: not a humanoid",
    "mirror prop.bvh -o x.bvh": "prop.bvh: not a humanoid",
    "join sample:walk dog.bvh -o x.bvh": "dog.bvh: not a humanoid",
    "solve walk.bvh -o x.bvh": "it is a motion already, and holds no markers; expected a .c3d or .trc file",
    "solve take.trc -o x.bvh": "take.trc: expected a line of marker names",
    # where to write
    f"{ON_SALLY} -o x.xyz": "x.xyz: expected a name ending in .bvh, .fbx",
    f"{ON_SALLY} -o x": "got no extension",
    f"{ON_SALLY} -o x.amc": ".amc files can be read but not written; writable formats: .bvh",
    f"{ON_SALLY} -o nowhere/x.glb": "nowhere: there is no such folder",
    f"{ON_SALLY} -o folder": "folder: is a folder; give the name of a file",
    f"{ON_SALLY} -o kept.bvh": "kept.bvh: exists already; add --overwrite to replace it",
    f"{ON_SALLY} --report r.doc -o x.glb": "r.doc: expected a report ending in .json, .html or .png",
    "repair walk.bvh --overwrite -o walk.bvh": "walk.bvh: is the input itself; write to another file",
    "convert sample:walk": "expected one file to write, as in: footplant convert IN -o OUT; got none",
    "convert sample:walk a.bvh -o b.bvh": "got a.bvh and b.bvh",
    "convert sample:walk x.unknown": "x.unknown: expected a name ending in .bvh",
    "convert sample:walk x.glb --to-units cm": "--to-units is for",
    "view sample:walk -o x.png": "x.png: expected a page ending in .html",
    "plot sample:walk -o x.gif": "x.gif: expected a file name ending in .png",
    "normalize sample:walk -o x.glb": "expected a name ending in .footplant, or a character (--to)",
    "demo -o kept.bvh": "kept.bvh: cannot make this folder",
    # values
    f"{ON_SALLY} --method magic -o x.glb": "expected a method among whole-body, hierarchical",
    f"{ON_SALLY} --method perframe --smooth -o x.glb": "expected --smooth with a method among",
    f"{ON_SALLY} --method puppet --constraints bad.toml -o x.glb": "puppet solves frame by frame",
    f"{ON_SALLY} --constraints bad.toml -o x.glb": "bad.toml: expected TOML, got a syntax error",
    f"{ON_SALLY} --lead-in maybe -o x.glb": "expected --lead-in to be one of keep, drop",
    f"{ON_SALLY} --to-roles none.toml -o x.glb": "a sample takes no --to-roles",
    f"{ON_SALLY} --fps fast -o x.glb": "Invalid value for '--fps'",
    f"{ON_SALLY} --fps 0 -o x.glb": "expected --fps of 1 to 1000 frames per second, got 0",
    "trim sample:walk -o x.bvh": "expected --start, --end, --frames or --lead-in drop",
    "trim sample:walk --start 2 --end 1 -o x.bvh": "expected an end after the start",
    "trim sample:walk --start 99 -o x.bvh": "expected times in 0..4.200 s of 'walk', got 99 s",
    "trim sample:walk --frames 10 -o x.bvh": "expected --frames FIRST:LAST, two frame numbers, got '10'",
    "trim sample:walk --frames 1:9 --start 1 -o x.bvh": "expected either --frames or --start and --end",
    "trim sample:walk --start -1 -o x.bvh": "Invalid value for '--start'",
    "resample sample:walk -o x.bvh": "expected --fps RATE: the frame rate of OUT",
    "resample sample:walk --fps 0 -o x.bvh": "expected --fps of 1 to 1000",
    "loop sample:walk --start 1 -o x.bvh": "expected both --start and --end of the cycle, or neither",
    "loop sample:walk --start 3 --end 2 -o x.bvh": "expected a loop within 0..4.2 s, got 3 to 2 s",
    "loop sample:walk --cycles 0 -o x.bvh": "Invalid value for '--cycles'",
    "join sample:walk -o x.bvh": "expected two or more clips to join, got 1",
    "blend sample:walk -o x.glb": "expected two or more clips to blend, got 1",
    "blend sample:walk sample:run --weights 0.5 -o x.glb": "expected 2 numbers, one for each clip, got 1",
    "blend sample:walk sample:run --weights 1,1 --speed 2 -o x.glb": "either --weights or --speed",
    "transition sample:walk sample:run --at 1 -o x.glb": "expected 2 numbers, one for each clip, got 1",
    "terrain sample:walk --ground lava -o x.glb": "expected noise, stairs, slope",
    "terrain sample:walk --ground noise:3 --doorways 3 -o x.glb": "expected two numbers as in --doorways 3:1.5",
    "path sample:walk --curve spiral:3 -o x.glb": "expected line, circle:R, s:L,W or points:",
    "path sample:stand --curve circle:2 -o x.glb": "there is no path to edit",
    "compare sample:walk -o x.png": "expected --to CHARACTER or --constraints FILE",
    "plot sample:walk --poses 99 -o x.png": "Invalid value for '--poses'",
    "drive set:samples --script 'fly 2s' -o x.glb": "expected one of walk, run",
    "batch retarget sample:walk -o lib": "retarget needs a character: --to CHARACTER",
    "batch paint sample:walk -o lib": "expected a job among retarget, repair",
    "puppet --to sample:sally --out x.glb": "expected --in IN",
    "record --in vmc:99999 -o x.datagrams": "expected vmc:PORT or vmc:HOST:PORT",
    "crowd scene:nothing": "expected a scene among",
    "graph nofolder -o g.json": "nofolder: there is no such folder",
}
"""Command line → a part of the one line that it must get."""


def test_there_are_sixty():
    assert len(WRONG) >= 60


@pytest.mark.parametrize("line", WRONG)
def test_one_clear_line_with_the_right_advice(line, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    code = main(shlex.split(line))
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("footplant: error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert WRONG[line] in err
    if "no human" in err or "not a humanoid" in err:
        assert "--roles" not in err, "an animal or a prop is not made a humanoid by naming its joints"
    assert before == {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
