"""The four pages for beginners run, with real files in the place of the reader's own."""

from __future__ import annotations

import pytest

import footplant
from docs_steps import ROOT, run_step, steps
from doors import DOORS, lay_out_files, missing_files
from real_clips import DATA
from thorough import THOROUGH

SOLVED = 20
"""Frames of a marker take that are solved unless the run is thorough."""


@pytest.mark.parametrize("door", DOORS)
def test_what_a_door_shows_runs(door, tmp_path, monkeypatch, capsys, coarse_samples, batches_work_here):
    missing = missing_files(door, DATA)
    if missing:
        pytest.skip(f"real files stand for the reader's own, and are absent here: {', '.join(missing)}")
    monkeypatch.chdir(tmp_path)
    lay_out_files(door, DATA, tmp_path)
    page = ROOT / "docs" / f"{door}.md"
    for language, step in steps(page):
        if step[0] == "solve" and not THOROUGH:
            # a few frames of the take: solving costs as much as all other commands of the page
            footplant.save_markers("few.trc", footplant.load_markers("take.c3d")[:SOLVED])
            step = ["few.trc" if word == "take.c3d" else word for word in step]
        run_step(page, language, step, capsys)


def test_every_door_is_linked_from_the_first_page():
    for first in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        text = first.read_text(encoding="utf-8")
        for door in DOORS:
            assert f"{door}.md" in text, f"{first.name} lacks {door}"
