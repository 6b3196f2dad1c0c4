"""Inputs that fuzzing has found are read again in every run of the suite: what was mended once stays mended."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parent / "fuzz"
sys.path.insert(0, str(FUZZ))
corpus = importlib.import_module("kept")
TARGETS = sorted(path.stem for path in FUZZ.glob("fuzz_*.py"))


@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs_are_read_or_refused(name):
    target = importlib.import_module(name)
    for seed in target.corpus():
        target.TARGET(seed)
    for path in corpus.kept(name):
        try:
            target.TARGET(path.read_bytes())
        except Exception as error:
            pytest.fail(f"{path.relative_to(FUZZ)}: {error!r}")


def test_every_folder_belongs_to_a_target():
    folders = {path.name for path in corpus.FOLDER.iterdir()}
    assert folders <= set(TARGETS)
    for name in folders:
        assert 0 < len(corpus.kept(name)) <= corpus.MOST_FILES + 20
        assert sum(path.stat().st_size for path in corpus.kept(name)) < 200_000


def test_only_inputs_that_go_new_ways_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("kept.FOLDER", tmp_path)
    target = importlib.import_module("fuzz_bvh")
    short, long = b"HIERARCHY", b"HIERARCHY\nROOT a\n{"
    assert corpus.ways_of(target.TARGET, long) - corpus.ways_of(target.TARGET, short)
    assert corpus.grow("fuzz_bvh", target.TARGET, [long, short, short + b" ", b"x" * 5000]) == 2
    assert sorted(path.read_bytes() for path in corpus.kept("fuzz_bvh")) == [short, long]
    assert corpus.grow("fuzz_bvh", target.TARGET, [long, short]) == 0
    assert corpus.keep("fuzz_bvh", short) in corpus.kept("fuzz_bvh")
