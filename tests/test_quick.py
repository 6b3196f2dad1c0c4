"""The list of `make quick`: it is short, and every package of the source has a test on it."""

from __future__ import annotations

import ast
from pathlib import Path

import footplant

TESTS = Path(__file__).parent
SOURCE = Path(footplant.__file__).parent
LISTED = (TESTS / "quick.txt").read_text(encoding="utf-8").split()


def imported(path: Path) -> set[str]:
    """Every module that a test imports by name, with those above it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found | {name.rpartition(".")[0] for name in found}


def test_what_is_listed_is_there():
    assert [name for name in LISTED if not (TESTS.parent / name).is_file()] == []


def test_every_package_has_a_quick_test():
    packages = {
        path.parent.relative_to(SOURCE.parent).as_posix().replace("/", ".") for path in SOURCE.rglob("__init__.py")
    }
    covered = set().union(*(imported(TESTS.parent / name) for name in LISTED))
    assert sorted(packages - covered) == []
