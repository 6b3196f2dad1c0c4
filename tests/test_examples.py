"""Every example runs, headless, in an empty folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], cwd=tmp_path, capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for line in done.stdout.splitlines():
        if line.startswith("wrote "):
            assert (tmp_path / line.removeprefix("wrote ")).stat().st_size > 1000


def test_every_example_is_listed():
    text = (FOLDER / "README.md").read_text()
    assert EXAMPLES
    for example in EXAMPLES:
        assert f"({example.name})" in text
