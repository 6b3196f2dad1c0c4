"""Footplant without what only POSIX has: file locks, resource limits, owners of folders, processor affinity.

A stand-in for Windows, where the whole suite runs too (.github/workflows/test.yml). Every process, workers included,
lacks these modules and functions from its beginning.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import footplant

SOURCE = Path(footplant.__file__).parent
MODULES = ("fcntl", "resource", "termios", "pwd", "grp", "pty", "tty")
FUNCTIONS = (
    "O_DIRECTORY",
    "O_NOFOLLOW",
    "geteuid",
    "getuid",
    "killpg",
    "mkfifo",
    "sched_getaffinity",
    "setsid",
)
TAKE_AWAY = f"""
import os, sys
sys.modules.update(dict.fromkeys({MODULES!r}))
for name in {FUNCTIONS!r}:
    if hasattr(os, name):
        delattr(os, name)
"""
COMMANDS = (
    "trim sample:walk --end 0.2 -o walk.glb",
    "convert walk.glb walk.fbx",
    "convert walk.fbx walk.usda",
    "batch measure walk.glb -o library --workers 1",
)
SCRIPT = f"""
import json, os, sys
from footplant.cli import main
missing = [name for name in {FUNCTIONS!r} if hasattr(os, name)]
print(json.dumps([missing, {{command: main(command.split()) for command in sys.argv[1:]}}]))
"""


def test_everyday_commands_need_nothing_of_posix(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(TAKE_AWAY)
    paths = [str(tmp_path), str(SOURCE.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *COMMANDS], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    present, codes = json.loads(done.stdout.splitlines()[-1])
    assert present == []
    assert codes == dict.fromkeys(COMMANDS, 0), done.stderr
    assert json.loads((tmp_path / "library" / "ledger.jsonl").read_text())["status"] == "done"


def test_modules_of_posix_are_imported_under_a_guard():
    """`import fcntl` and the like stand in a `try` that expects ImportError."""
    wanted = re.compile(rf"^\s*(?:import|from) (?:{'|'.join(MODULES)})\b", re.MULTILINE)
    found = 0
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines = {text.count("\n", 0, match.end()) + 1 for match in wanted.finditer(text)}
        if not lines:
            continue
        guarded = {
            line
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Try) and any("ImportError" in ast.unparse(each) for each in node.handlers)
            for line in range(node.lineno, node.handlers[0].lineno)
        }
        assert lines <= guarded, path
        found += len(lines)
    assert found > 3
