"""Every example runs, headless, in an empty folder."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path, monkeypatch, capsys):
    """In this process, where kernels are loaded once; warnings are errors, as everywhere in the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed
    for line in printed.splitlines():
        if line.startswith("wrote "):
            assert (tmp_path / line.removeprefix("wrote ")).stat().st_size > 1000


def test_every_example_is_listed():
    text = (FOLDER / "README.md").read_text()
    assert EXAMPLES
    for example in EXAMPLES:
        assert f"({example.name})" in text
