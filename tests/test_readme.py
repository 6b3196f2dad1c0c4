"""What the README shows runs, block after block, in one temporary folder."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import footplant
from footplant.cli import main
from footplant.quality.fidelity import fidelity

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
TARGETS = sorted(set(re.findall(r"\bmake (demo|quick|test|install|check|bounds|bench|fuzz)\b", TEXT)))


def commands(block: str) -> list[str]:
    """The commands of a bash block, without comments."""
    return [line.partition("#")[0].strip() for line in block.splitlines() if line.partition("#")[0].strip()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("readme")


def test_begins_with_the_two_commands():
    language, block = BLOCKS[0]
    assert language == "bash"
    assert commands(block) == ["make demo", "make test"]
    assert len(TEXT[: TEXT.index("```")].split("\n\n")) == 3, "expected a title, one paragraph, and then the commands"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_make_targets_exist(target):
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_block_is_of_a_kind_that_is_run():
    assert {language for language, _ in BLOCKS} <= {"bash", "python"}


@pytest.mark.parametrize("number", range(1, len(BLOCKS)))
def test_block_runs(number, folder, monkeypatch, capsys):
    """In this process: starting one for each command would cost more than most of the commands."""
    monkeypatch.chdir(folder)
    language, block = BLOCKS[number]
    if language == "python":
        exec(compile(block, "README.md", "exec"), {"__name__": "__main__"})
        assert capsys.readouterr().out
        return
    for command in commands(block):
        program, *words = command.split()
        assert program == "footplant", f"cannot run {command!r} here"
        code = main(words)
        said = capsys.readouterr()
        assert code == 0, f"{command}: {said.err}"
        assert said.out


def test_the_picture_shows_what_the_text_says():
    """Sliding by 95 mm when copied, arms in a fat body; none of both when retargeted."""
    slides = int(re.search(r"slides by (\d+) mm", TEXT).group(1))
    tall = footplant.retarget("sample:walk", "sample:sally", keep_footsteps=True)
    assert round(tall.report.before.worst_plant.drift) == slides
    fat = footplant.retarget("sample:walk", "sample:blubby")
    for result in (tall, fat):
        assert result.report.after.worst_plant.drift < 0.01
    source, copied, solved = ((clip.motion, clip.character) for clip in (fat.source, fat.unsolved, fat.clip))
    deep = [fidelity(source, made).arm_in_torso_mm for made in (copied, solved)]
    assert deep[0] > 100.0
    assert deep[1] < 1.0
