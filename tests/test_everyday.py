"""Everyday edits and their commands: trim, resample, mirror, loop, join, view, completion."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
import typer

import footplant
from footplant import Clip, Kinematics, Motion
from footplant.cli import main
from footplant.cli.app import app
from footplant.cli.completion import SHELLS, completion_script
from footplant.contacts.detection import find_contacts
from footplant.skinning import linear_blend


@pytest.fixture(scope="module")
def walk() -> Clip:
    return footplant.load("sample:walk")


def drift(result: footplant.Result) -> float:
    assert result.report.after is not None
    assert result.report.after.worst_plant is not None
    return result.report.after.worst_plant.drift


def test_trim_by_times_and_frames(walk):
    part = footplant.trim(walk, 1.0, 2.0)
    assert len(part.motion) == 121
    assert np.array_equal(part.motion.root, walk.motion.root[120:241])
    assert np.array_equal(footplant.trim(walk, frames=(120, 240)).motion.rotations, part.motion.rotations)
    assert len(footplant.trim(walk, start=4.0).motion) == len(walk.motion) - 480
    with pytest.raises(footplant.MotionError, match="got both"):
        footplant.trim(walk, 1.0, frames=(0, 3))
    with pytest.raises(footplant.MotionError, match=r"a frame in 0\.\.504"):
        footplant.trim(walk, frames=(0, 505))


def test_trim_and_resample_take_the_others_of_a_file_along(walk):
    pair = replace(walk, others=(walk,))
    assert [len(clip.motion) for clip in footplant.trim(pair, 1.0, 2.0).clip.others] == [121]
    assert footplant.resample(pair, 30).clip.others[0].motion.fps == 30.0
    assert len(footplant.mirror(pair).clip.others) == 1


def test_trim_drops_a_lead_in(walk):
    motion, still = walk.motion[:150], np.zeros(14, int)
    root = np.concatenate([motion.root[still] - [0.0, 0.9, 0.5], motion.root])
    led_in = replace(
        walk, motion=Motion(motion.skeleton, root, np.concatenate([motion.rotations[still], motion.rotations]), 120.0)
    )
    assert len(footplant.trim(led_in, lead_in="drop").motion) == 150


@pytest.mark.parametrize("fps", [24, 30, 50])
def test_resampling_keeps_plants(walk, fps):
    slow = footplant.resample(walk, fps)
    assert slow.motion.fps == fps
    assert drift(slow) < 1.0
    there = find_contacts(walk)
    assert slow.report.after is not None
    assert len(slow.report.after.plants) >= len(there.plants) - 1
    fast = footplant.resample(slow, 120)
    assert drift(fast) < 1.5
    # the paths of the joints are those of the source, not of straight lines between frames
    count = min(len(fast.motion), len(walk.motion))
    apart = Kinematics(fast.motion[:count]).positions - Kinematics(walk.motion[:count]).positions
    assert np.linalg.norm(apart, axis=-1).max() < 0.02


def test_feet_that_drift_between_frames_are_locked():
    coarse = footplant.load("sample:run", fps=10)
    slerped = replace(coarse, motion=coarse.motion.resample(60))
    loose = footplant.measure(slerped, contacts=find_contacts(coarse).resample(60, len(slerped.motion)))
    assert loose.worst_plant is not None
    assert loose.worst_plant.drift > 2.0
    locked = footplant.resample(coarse, 60, smooth=False)
    assert any("feet were locked" in note for note in locked.report.notes)
    assert drift(locked) < 0.1


def test_mirroring_twice_is_the_same_motion(walk):
    once = footplant.mirror(walk)
    again = footplant.mirror(once)
    assert np.abs(Kinematics(again.motion).positions - Kinematics(walk.motion).positions).max() < 1e-9
    left, right = (walk.character.require_roles()[f"{side}_hand"] for side in ("left", "right"))
    ours, theirs = Kinematics(once.motion).positions, Kinematics(walk.motion).positions
    assert np.abs(ours[:, left] * [-1, 1, 1] - theirs[:, right]).max() < 1e-9
    before, after = find_contacts(walk), find_contacts(once)
    assert [(p.start, p.end) for p in after.plants if p.point == "left_heel"] == [
        (p.start, p.end) for p in before.plants if p.point == "right_heel"
    ]


def test_a_skin_is_mirrored_with_its_joints():
    kick = footplant.trim(footplant.load("sample:kick", fps=30), 0.5, 1.0)
    flipped = footplant.mirror(kick)
    skin = kick.character.skin
    assert skin is not None
    one, other = (linear_blend(skin, Kinematics(each.motion)) for each in (kick, flipped))
    # the mannequin is symmetric: its mesh covers the same space, seen in the mirror
    for frame in range(len(one)):
        reflected = one[frame] * [-1.0, 1.0, 1.0]
        nearest = np.array([np.linalg.norm(other[frame] - vertex, axis=1).min() for vertex in reflected[::97]])
        assert nearest.max() < 0.02


@pytest.mark.parametrize("name", ["walk", "run"])
def test_a_loop_has_no_seam(name):
    clip = footplant.load(f"sample:{name}", fps=60)
    loop = footplant.loop(clip)
    motion = loop.motion
    assert 0.4 < motion.duration < 2.0
    assert np.abs(motion.rotations[0, 1:] - motion.rotations[-1, 1:]).max() < 1e-6
    assert abs(motion.root[0, 1] - motion.root[-1, 1]) < 1e-6
    long = footplant.loop(clip, 3)
    assert len(long.motion) == 3 * (len(motion) - 1) + 1
    assert drift(long) < 1.0
    positions = Kinematics(long.motion).positions
    jumps = np.linalg.norm(np.diff(positions, n=2, axis=0), axis=-1).max(axis=1)
    seams = [cycle * (len(motion) - 1) - 1 for cycle in (1, 2)]
    assert max(jumps[seam] for seam in seams) < 1.2 * np.median(np.sort(jumps)[-20:])
    with pytest.raises(footplant.MotionError, match="expected a loop within"):
        footplant.loop(clip, ends=(1.0, 99.0))


def test_joining_three_clips():
    clips = [footplant.load(f"sample:{name}", fps=30) for name in ("walk", "run", "sneak")]
    joined = footplant.join(clips)
    assert joined.name == "walk + run + sneak"
    assert len([note for note in joined.report.notes if note.startswith("crossfades")]) == 2
    assert drift(joined) < 1.0
    total = sum(clip.motion.duration for clip in clips)
    assert 0.5 * total < joined.motion.duration < total
    with pytest.raises(footplant.MotionError, match="two or more clips"):
        footplant.join(clips[:1])


def run(capsys, *words: object) -> tuple[str, str]:
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr()


def test_commands_write_and_say_so_in_a_few_lines(capsys, tmp_path):
    source = tmp_path / "walk.bvh"
    footplant.save(source, footplant.load("sample:walk", fps=30))
    for words in (
        ("trim", source, "--start", "1", "--end", "3"),
        ("resample", source, "--fps", "24"),
        ("mirror", source),
        ("loop", source, "--cycles", "2"),
        ("join", source, "sample:run", "--fps", "30"),
    ):
        out = tmp_path / f"{words[0]}.bvh"
        said, _ = run(capsys, *words, "-o", out)
        lines = said.splitlines()
        assert len(lines) <= 6
        assert lines[0].startswith(f"{words[0]}: ")
        assert str(out) in lines[0]
        assert "worst of" in said
        assert f"footplant view {out}" in said
        assert footplant.load(out).motion.fps == pytest.approx(24 if words[0] == "resample" else 30, rel=1e-3)
        told = json.loads(run(capsys, *words, "-o", out, "--overwrite", "--json")[0])
        assert (told["command"], told["status"], told["output"]) == (words[0], "solved", str(out))
        assert told["frames"] == len(footplant.load(out).motion)


def test_details_on_demand(capsys, tmp_path):
    words = ("repair", "sample:stand", "--fps", "15", "-o", tmp_path / "a.bvh", "--overwrite")
    short, _ = run(capsys, *words)
    long, _ = run(capsys, *words, "-v")
    assert len(short.splitlines()) <= 7
    assert "Quality" not in short
    assert "Quality" in long
    assert "Levels" in long


def test_viewing_writes_a_page(capsys, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = tmp_path / "walk.html"
    run(capsys, "view", "sample:kick", "-o", page, "--no-browser")
    assert opened == []
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    run(capsys, "view", "sample:kick")
    assert len(opened) == 1


def complete(line: str) -> list[str]:
    """What bash offers for a line."""
    script = f"""{completion_script("bash", typer.main.get_command(app))}
COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_footplant; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes():
    assert complete("footplant retar") == ["retarget"]
    assert complete("footplant retarget --keep") == ["--keep-footsteps"]
    assert "sample:walk" in complete("footplant info sampl")
    assert complete("footplant info sample:snea") == ["sneak"]
    assert "--fps" in complete("footplant resample sample:walk --f")


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_every_command(shell, capsys):
    from footplant.cli.app import app

    said, _ = run(capsys, "completion", shell)
    for command in app.registered_commands:
        assert str(command.name) in said
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=said, text=True, check=True)
