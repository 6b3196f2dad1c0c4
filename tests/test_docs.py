"""The documentation: what it shows runs. `make check` builds it as a site, where a missing page or link is an error."""

from __future__ import annotations

import pytest

from docs_steps import PAGES, blocks, run_step, steps
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
