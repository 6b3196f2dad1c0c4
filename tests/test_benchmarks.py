"""The gate of the benchmarks closes when it should. (Nothing is timed here.)"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def gate():
    spec = importlib.util.spec_from_file_location("benchmarks_run", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gate(gate):
    baseline = {"bars": {"a": 20}, "ceilings": {"b": 0.3}, "ratios": {"a": 30.0, "c": 2.0, "not measured": 5.0}}
    assert gate.failures({"a": 25.0, "b": 0.2, "c": 1.9}, baseline) == []
    assert len(gate.failures({"a": 19.0, "b": 0.2, "c": 1.9}, baseline)) == 2
    assert len(gate.failures({"a": 25.0, "b": 0.4, "c": 1.9}, baseline)) == 1
    assert len(gate.failures({"a": 25.0, "b": 0.2, "c": 1.0}, baseline)) == 1


def test_baseline_is_complete():
    baseline = json.loads((FOLDER / "baseline.json").read_text())
    assert baseline["bars"]["fk.times_faster_than_numpy"] >= 20
    assert baseline["bars"]["fk.times_faster_than_upc_pymotion"] >= 20
    for name, bar in baseline["bars"].items():
        assert baseline["ratios"][name] >= bar


@pytest.mark.parametrize("path", sorted(FOLDER.glob("parse_*.py")), ids=lambda path: path.stem)
def test_every_ratio_has_a_baseline(path, monkeypatch):
    """Ratios that a benchmark names itself, and those with each of its peers."""
    known = json.loads((FOLDER / "baseline.json").read_text())["ratios"]
    named = re.findall(r'"(\w[\w.]*times_faster_than_\w+)"', path.read_text())
    monkeypatch.syspath_prepend(str(FOLDER))
    benchmark = vars(importlib.import_module(path.stem))
    peers = [peer for name, value in benchmark.items() if name.endswith("PEERS") for peer in value]
    assert not [name for name in named if name not in known]
    assert not [peer for peer in peers if not any(name.endswith(f".times_faster_than_{peer}") for name in known)]


@pytest.mark.parametrize("name", [path.stem for path in sorted(FOLDER.glob("*.py")) if path.stem != "timing"])
def test_every_benchmark_takes_json(name):
    done = subprocess.run([sys.executable, str(FOLDER / f"{name}.py"), "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--json" in done.stdout
