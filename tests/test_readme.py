"""What the README shows runs, block after block, in one temporary folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
TARGETS = sorted(set(re.findall(r"\bmake (demo|quick|test|install|check|bounds|bench|fuzz)\b", TEXT)))
FOOTPLANT = [sys.executable, "-m", "footplant"]


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
def test_block_runs(number, folder):
    language, block = BLOCKS[number]
    if language == "python":
        done = subprocess.run([sys.executable, "-W", "error", "-c", block], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout
        return
    for command in commands(block):
        words = command.split()
        assert words[0] == "footplant", f"cannot run {command!r} here"
        done = subprocess.run(FOOTPLANT + words[1:], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert done.stdout
