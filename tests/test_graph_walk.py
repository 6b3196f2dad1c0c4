"""Walks through a motion graph: along a path, to a target, and by the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import footplant
from footplant import samples
from footplant.blending.graph import build_graph
from footplant.blending.graph_walk import walk_graph
from footplant.cli import main
from footplant.curves import circle
from footplant.errors import MotionError

NAMES = ("walk", "turn-left", "turn-right")


@pytest.fixture(scope="module")
def library():
    """Three gaits at 30 frames per second, and their graph."""
    clips = [footplant.load(f"sample:{name}", fps=30) for name in NAMES]
    return clips, build_graph(clips, threshold=0.2)


def floor(result):
    return result.motion.root[:, ::2]


def test_a_walk_follows_an_s_curve_with_its_feet_planted(library):
    clips, graph = library
    result = walk_graph(clips, graph=graph, path="s:6,1")
    assert np.linalg.norm(floor(result)[-1] - floor(result)[0] - [0.0, 6.0]) < 0.5
    assert result.report.after.worst_plant.drift < 1.0
    assert "cm RMS from the path" in result.report.notes[-1]
    assert "turn-left" in result.report.notes[-1]
    assert "turn-right" in result.report.notes[-1]
    # no jump at any transition
    steps = np.linalg.norm(np.diff(result.motion.root, axis=0), axis=1) * result.motion.fps
    own = max(np.linalg.norm(np.diff(clip.motion.root, axis=0), axis=1).max() * clip.motion.fps for clip in clips)
    assert steps.max() < 1.3 * own


def test_a_walk_is_moved_to_a_curve_of_the_world(library):
    clips, graph = library
    curve = circle(2.0).moved((5.0, -3.0), 1.0)
    result = walk_graph(clips, graph=graph, path=curve, method=None)
    away = np.abs(
        np.linalg.norm(floor(result) - (curve.positions.max(axis=0) + curve.positions.min(axis=0)) / 2, axis=1) - 2
    )
    assert np.linalg.norm(floor(result)[0] - [5.0, -3.0]) < 0.1
    assert np.sqrt(np.mean(away**2)) < 0.3
    assert result.motion.duration == pytest.approx(2.0 * np.pi * 2.0 / 1.2, rel=0.2)


@pytest.mark.parametrize("target", [(-2.0, -1.0), (0.0, 2.5)])
def test_a_target_is_reached_from_any_side(library, target):
    clips, graph = library
    result = walk_graph(clips, graph=graph, target=target, method=None)
    assert np.linalg.norm(floor(result)[-1] - target) < 0.5


def test_what_cannot_be_reached_is_said(library):
    clips, graph = library
    result = walk_graph(clips, graph=graph, target=(0.0, 30.0), longest=3.0, method=None)
    assert "which no walk of this graph reaches" in result.report.notes[-1]
    with pytest.raises(MotionError, match="a path or a target"):
        walk_graph(clips, graph=graph)
    with pytest.raises(MotionError, match="number of the first clip"):
        walk_graph(clips, graph=graph, target=(1.0, 1.0), start=7)
    with pytest.raises(MotionError, match="a graph of these 2 clips"):
        walk_graph(clips[:2], graph=graph, target=(1.0, 1.0))


def test_command(capsys, tmp_path, coarse_samples, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clips").mkdir()
    for name in NAMES[:2]:
        footplant.save(tmp_path / "clips" / f"{name}.bvh", samples.load(name))
    asked = ["graph", "clips", "-o", "g.json", "--picture", "none", "--threshold", "0.2", "--overwrite"]
    assert main([*asked, "--walk", "walk.bvh", "--target", "2,2", "--start", "turn-left.bvh", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["route"].startswith("walks turn-left.bvh")
    assert footplant.load("walk.bvh").motion.duration == pytest.approx(told["seconds"], abs=0.05)
    for wrong, words in (
        (["--curve", "line"], "expected --walk OUT with --curve"),
        (["--walk", "w.bvh"], "expected --curve or --target with --walk"),
        (["--walk", "w.bvh", "--target", "1"], "expected --target X,Z"),
        (["--walk", "w.bvh", "--target", "1,2", "--start", "run"], "expected --start among turn-left.bvh, walk.bvh"),
    ):
        assert main([*asked, *wrong]) == 2
        assert words in capsys.readouterr().err
