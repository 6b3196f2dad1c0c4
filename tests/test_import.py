"""`import footplant` stays light: benchmarks/import_time.py measures seconds, this checks modules."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "click", "http.server", "llvmlite", "matplotlib", "numba", "rich", "scipy",
    "starlette", "typer", "uvicorn", "websockets",
)  # fmt: skip


def modules_after(statement: str) -> set[str]:
    """Return the names of all modules loaded in a fresh interpreter after a statement."""
    script = f"import json, sys; {statement}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("statement", ["import footplant", "import footplant.cli", "import footplant.plot"])
@pytest.mark.quick
def test_no_heavy_module(statement):
    loaded = modules_after(statement)
    assert "footplant" in loaded
    assert sorted(name for name in HEAVY if name in loaded) == []


def test_command_line_help_needs_no_compiler():
    loaded = modules_after("from footplant.cli.app import app")
    assert sorted({"numba", "scipy", "matplotlib"} & loaded) == []


def test_kernels_load_without_scipys_linear_algebra_and_others_may_call_it():
    used = "import numpy as np; from footplant import rotation; rotation.exp(np.ones((2, 3)))"
    loaded = modules_after(used)
    assert "numba.np.arraymath" in loaded
    assert "scipy.linalg" not in loaded
    others = "from numba import njit; assert njit(lambda a: np.dot(a, a))(np.eye(3)).trace() == 3.0"
    assert "scipy.linalg" in modules_after(f"{used}; {others}")


def test_a_format_is_imported_when_a_file_of_it_is_opened(tmp_path):
    import footplant
    from footplant.io.registry import BUILT_IN

    path = footplant.save(tmp_path / "walk.bvh", footplant.load("sample:walk"))
    assert not modules_after("import footplant, footplant.io") & BUILT_IN.keys()
    loaded = modules_after(f"import footplant; footplant.load({str(path)!r})")
    assert loaded & BUILT_IN.keys() == {"footplant.io.bvh"}


def test_extensions_of_built_in_formats_match_their_modules():
    from importlib import import_module

    from footplant.io.registry import BUILT_IN

    assert {name: import_module(name).extensions for name in BUILT_IN} == BUILT_IN


@pytest.mark.quick
def test_public_names_exist():
    import footplant

    assert sorted(footplant.__all__) == list(footplant.__all__)
    for name in footplant.__all__:
        assert getattr(footplant, name) is not None
