"""The documentation: what it shows runs. `make check` builds it as a site, where a missing page or link is an error."""

from __future__ import annotations

import ast
import re
import shlex
from importlib import import_module

import pytest
from typer.main import get_command

from docs_steps import BLOCK, PAGES, blocks, run_step, steps
from doors import DOORS
from footplant.cli.app import app

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
    outside = BLOCK.sub("", page.read_text(encoding="utf-8"))
    assert not re.findall(r"^ {4,}(?:footplant|python|pip|make) .*", outside, re.MULTILINE), "a command that is not run"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_needs_files_or_devices_of_yours_is_spelt_right(page):
    """Commands that cannot run here are parsed with all their options; Python is compiled, its imports exist."""
    for language, block in blocks(page):
        commands = (
            re.findall(r"^footplant (.*?)(?: +#.*| > .*| && .*)?$", block, re.MULTILINE) if language == "text" else []
        )
        for command in commands:
            parse(get_command(app), shlex.split(command))
        if language == "text" and re.match(r"import |from footplant", block):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and node.module:
                    assert all(hasattr(import_module(node.module), name.name) for name in node.names)


def parse(command, words, parent=None) -> None:
    """Parse a command line as far as its last option; unknown ones raise."""
    if not hasattr(command, "commands"):
        command.make_context(words[0] if words else "", list(words), parent=parent)
        return
    name, *rest = words
    parse(command.commands[name], rest, command.make_context(name, ["--help"], parent=parent, resilient_parsing=True))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.stem not in DOORS and {"bash", "python"} & {kind for kind, _ in blocks(page)}],
    ids=lambda page: page.stem,
)
def test_what_a_page_shows_runs(page, tmp_path, monkeypatch, capsys, request, batches_work_here):
    """All blocks of a page in one folder, in order. The pages for beginners are in test_doors.py."""
    monkeypatch.chdir(tmp_path)
    if page.stem not in AT_FULL_RATE:
        request.getfixturevalue("coarse_samples")
    for language, step in steps(page):
        run_step(page, language, step, capsys)
