"""The documentation: what it shows runs, what it links to is there, and the site builds without a warning."""

from __future__ import annotations

import subprocess
import sys

import pytest

from docs_steps import PAGES, ROOT, blocks, run_step, steps
from doors import DOORS

SHOWN = {"text", "toml", "json", "csv", "powershell"}
"""Languages of blocks that only show something."""
AT_FULL_RATE = {"manipulation", "samples"}
"""Pages that name frames of samples, which have 120 a second; the other pages run on samples of 30."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_says_what_it_is(page):
    for language, block in blocks(page):
        assert language in SHOWN | {"bash", "python"}, f"a block without a known language: {block[:60]!r}"
        if language == "text":
            assert "sample:" not in block, f"what needs samples alone can be run: {block[:60]!r}"


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.stem not in DOORS and {"bash", "python"} & {kind for kind, _ in blocks(page)}],
    ids=lambda page: page.stem,
)
def test_what_a_page_shows_runs(page, tmp_path, monkeypatch, capsys, request):
    """All blocks of a page in one folder, in order. The pages for beginners are in test_doors.py."""
    monkeypatch.chdir(tmp_path)
    if page.stem not in AT_FULL_RATE:
        request.getfixturevalue("coarse_samples")
    for language, step in steps(page):
        run_step(page, language, step, capsys)


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
