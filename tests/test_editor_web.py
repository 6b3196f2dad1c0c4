"""The page's own code: its unit tests run in Node, and the build includes its licences."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def builder():
    """hatch_build.py as a module; skips where the page's sources are not here."""
    path = ROOT / "hatch_build.py"
    if not path.is_file() or not (ROOT / "web").is_dir():
        pytest.skip("the sources of the page are not beside the tests")
    spec = importlib.util.spec_from_file_location("hatch_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built():
    module = builder()
    problem = module.build()
    if problem is not None:
        pytest.skip(f"the editor's page cannot be built here: {problem}")
    return module


def test_timeline_and_wire_pass_their_own_tests(built):
    if shutil.which("node") is None:
        pytest.skip("node is not on this machine: the page's unit tests cannot run")
    problem = built.install_packages(["npm"], dict(os.environ))
    if problem is not None:
        pytest.skip(f"the page's packages cannot be installed here: {problem}")
    command = ["node", str(ROOT / "web" / "build.mjs"), "--test"]
    done = subprocess.run(command, cwd=ROOT / "web", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "fail 0" in done.stdout


def test_licences_travel_with_the_page(built):
    text = (built.STATIC / "licences.txt").read_text()
    for name in ("three ", "uplot ", "preact ", "@preact/signals "):
        assert f"{name}" in text
    assert text.count("Permission is hereby granted") >= 5


def test_an_unchanged_page_is_not_built_again(built):
    script = built.STATIC / "app.js"
    before = script.stat().st_mtime_ns
    assert built.is_built()
    assert built.build() is None
    assert script.stat().st_mtime_ns == before


def test_nothing_of_others_is_committed(built):
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    done = subprocess.run(["git", "ls-files", "web"], cwd=ROOT, capture_output=True, text=True, timeout=30)
    kept = [name for name in done.stdout.split() if "node_modules" in name or name.endswith((".min.js", ".map"))]
    assert kept == []
    assert "resolved" not in (ROOT / "web" / "package-lock.json").read_text()


def test_without_node_the_reason_is_reported(built, monkeypatch):
    monkeypatch.setattr(built, "is_built", lambda: False)
    monkeypatch.setattr(built, "_system_node", lambda: None)
    monkeypatch.setattr(built, "_wheel_node", lambda: None)
    assert built.build() == "Node and npm are not installed"


def test_the_types_of_the_page_are_those_of_the_server(built):
    from footplant.editor.schema import typescript

    assert (ROOT / "web" / "src" / "types.ts").read_text(encoding="utf-8") == typescript(), (
        "run python -m footplant.editor.schema > web/src/types.ts"
    )
