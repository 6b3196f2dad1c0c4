"""What a page of the documentation runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from footplant.cli import main
from thorough import THOROUGH

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of every block of a page."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


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


def run_step(page: Path, language: str, step: Any, capsys: Any) -> None:
    """Run a block or a command, each Python block with names of its own."""
    if language == "python":
        exec(compile(step, page.name, "exec"), {"__name__": "__main__"})
        return
    if step[0] == "compare" and not THOROUGH:
        # its second run of every method is for the times alone
        step = [*step, "--repeats", "1"]
    assert main(step) == 0, f"{step}: {capsys.readouterr().err}"
