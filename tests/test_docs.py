"""The documentation: what it shows runs, what it links to is there, and the site builds without a warning."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import footplant
from doors import DOORS, lay_out_files, missing_files
from footplant.cli import main
from real_clips import DATA
from thorough import THOROUGH

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = {"text", "toml", "json", "csv", "powershell"}
"""Languages of blocks that only show something."""
SOLVED = 20
"""Frames of a marker take that are solved unless the run is thorough."""
AT_FULL_RATE = {"manipulation", "samples"}
"""Pages that name frames of samples, which have 120 a second; the other pages run on samples of 30."""


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_says_what_it_is(page):
    for language, block in blocks(page):
        assert language in SHOWN | {"bash", "python"}, f"a block without a known language: {block[:60]!r}"
        if language == "text":
            assert "sample:" not in block, f"what needs samples alone can be run: {block[:60]!r}"


def steps(page: Path) -> list[tuple[str, Any]]:
    """What a page runs: Python blocks, and commands as lists of words without the first."""
    found = []
    for language, block in blocks(page):
        if language == "python":
            found.append((language, block))
        elif language == "bash":
            for command in (line.partition(" #")[0].strip() for line in block.splitlines()):
                if command:
                    program, *words = shlex.split(command)
                    assert program == "footplant", f"cannot run {command!r} here"
                    found.append((language, words))
    return found


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if {"bash", "python"} & {kind for kind, _ in blocks(page)}],
    ids=lambda page: page.stem,
)
def test_what_a_page_shows_runs(page, tmp_path, monkeypatch, capsys, request):
    """All blocks of a page in one folder, in order, each Python block with names of its own."""
    monkeypatch.chdir(tmp_path)
    if page.stem not in AT_FULL_RATE:
        request.getfixturevalue("coarse_samples")
    if page.stem in DOORS:
        missing = missing_files(page.stem, DATA)
        if missing:
            pytest.skip(f"real files stand for the reader's own, and are absent here: {', '.join(missing)}")
        lay_out_files(page.stem, DATA, tmp_path)
    for language, step in steps(page):
        if step[0] == "solve" and "take.c3d" in step and not THOROUGH:
            # a few frames of the take: solving costs as much as all other commands of the page
            footplant.save_markers("few.trc", footplant.load_markers("take.c3d")[:SOLVED])
            step = ["few.trc" if word == "take.c3d" else word for word in step]
        if step[0] == "compare" and not THOROUGH:
            # its second run of every method is for the times alone
            step = [*step, "--repeats", "1"]
        if language == "python":
            exec(compile(step, page.name, "exec"), {"__name__": "__main__"})
        else:
            assert main(step) == 0, f"{step}: {capsys.readouterr().err}"


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="the docs extra is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "quickstart.html").stat().st_size > 5000
    for page in PAGES:
        assert (tmp_path / "site" / f"{page.stem}.html").exists(), page.name
