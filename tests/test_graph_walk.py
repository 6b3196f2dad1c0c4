"""Walks through a motion graph: along a path, to a target, and by the command line."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import footplant
from footplant import samples
from footplant.blending import graph_walk
from footplant.blending.graph import build_graph
from footplant.blending.graph_walk import walk_graph, without_sway
from footplant.blending.settings import WALK
from footplant.blending.steering import FloorPath, Follow, Reach, bent, steered
from footplant.cli import main
from footplant.curves import circle, s_curve
from footplant.errors import MotionError
from footplant.quality.measure import measure

NAMES = ("walk", "turn-left", "turn-right")


@pytest.fixture(scope="module")
def library():
    """Three gaits at 30 frames per second, and their graph."""
    clips = [footplant.load(f"sample:{name}", fps=30) for name in NAMES]
    return clips, build_graph(clips, threshold=0.2)


@pytest.fixture(scope="module")
def three_steps():
    """Three steps of a straight walk, and their graph."""
    clip = footplant.load("sample:walk", fps=30)
    clips = [replace(clip, motion=clip.motion[40:92])]
    return clips, build_graph(clips)


def floor(result):
    return without_sway(result.motion.root[:, ::2], result.motion.fps)


def off_circle(result, radius):
    """Return the distance of the path from a circle that begins at the origin along +z and turns left."""
    return np.abs(np.linalg.norm(floor(result) - [radius, 0.0], axis=1) - radius)


def worst_drift(result):
    """Return the drift of the worst contact that is found in the result alone, mm."""
    worst = measure(result.motion, result.character).worst_plant
    assert worst is not None
    return worst.drift


def test_a_walk_follows_an_s_curve_with_its_feet_planted(library):
    clips, graph = library
    result = walk_graph(clips, graph=graph, path="s:6,1")
    curve = s_curve(6.0, 1.0).at(np.linspace(0.0, 7.0, 700))[0]
    away = np.linalg.norm(floor(result)[:, None] - curve, axis=2).min(axis=1)
    assert np.sqrt(np.mean(away**2)) < 0.1
    assert np.linalg.norm(floor(result)[-1] - floor(result)[0] - [0.0, 6.0]) < 0.1
    assert worst_drift(result) < 1.0
    assert "cm RMS from the path" in result.report.notes[-1]
    # no jump at any transition
    steps = np.linalg.norm(np.diff(result.motion.root, axis=0), axis=1) * result.motion.fps
    own = max(np.linalg.norm(np.diff(clip.motion.root, axis=0), axis=1).max() * clip.motion.fps for clip in clips)
    assert steps.max() < 1.3 * own


def test_three_steps_go_round_a_circle(three_steps):
    clips, graph = three_steps
    assert graph.component() == {0}
    result = walk_graph(clips, graph=graph, path="circle:3")
    assert np.sqrt(np.mean(off_circle(result, 3.0) ** 2)) < 0.1
    assert np.linalg.norm(floor(result)[-1] - floor(result)[0]) < 0.2
    assert len(result.motion) > 6 * len(clips[0].motion)
    assert worst_drift(result) < 1.0
    entry = result.report.constraints[0]
    assert (entry.name, entry.met, str(result.status)) == ("path", True, "solved")
    assert entry.mean == pytest.approx(1000.0 * np.sqrt(np.mean(off_circle(result, 3.0) ** 2)), abs=10.0)


def test_a_walk_is_moved_to_a_curve_of_the_world(library):
    clips, graph = library
    curve = circle(2.0).moved((5.0, -3.0), 1.0)
    result = walk_graph(clips, graph=graph, path=curve, method=None)
    middle = (curve.positions.max(axis=0) + curve.positions.min(axis=0)) / 2
    away = np.abs(np.linalg.norm(floor(result) - middle, axis=1) - 2)
    assert np.linalg.norm(floor(result)[0] - [5.0, -3.0]) < 0.1
    assert np.sqrt(np.mean(away**2)) < 0.1
    assert result.motion.duration == pytest.approx(2.0 * np.pi * 2.0 / 1.2, rel=0.2)


@pytest.mark.parametrize("target", [(-2.0, -1.0), (0.0, 2.5), (0.5, -3.0), (1.0, 0.3), (6.0, 4.0)])
def test_a_target_is_reached_from_any_side(three_steps, target):
    clips, graph = three_steps
    result = walk_graph(clips, graph=graph, target=target, heading=0.0, method=None)
    path = floor(result)
    assert np.linalg.norm(path[0]) < 0.05
    # not straight to a target behind
    assert path[3, 1] > 0.5 * np.linalg.norm(path[3])
    assert np.linalg.norm(path[-1] - target) < 0.1
    assert result.report.constraints[0].worst == pytest.approx(1000.0 * np.linalg.norm(path[-1] - target), abs=30.0)


def test_a_walk_begins_in_the_best_direction_and_with_the_best_clip(library):
    clips, _ = library
    result = walk_graph(clips[1:] + clips[:1], target=(-3.0, -4.0), threshold=0.2, method=None)
    path = floor(result)
    assert np.linalg.norm(path[-1] - [-3.0, -4.0]) < 0.1
    assert result.motion.duration == pytest.approx(5.0 / 1.35, rel=0.15)
    assert result.report.notes[-1].startswith("walks walk")


def test_bends_are_within_their_limits(three_steps):
    clips, graph = three_steps
    result = walk_graph(clips, graph=graph, path="circle:1.5", turn=0.3, method=None, longest=6.0)
    path = floor(result)[15:-15]
    steps = np.diff(path, axis=0)
    turned = np.ptp(np.unwrap(np.arctan2(steps[:, 0], steps[:, 1])))
    assert turned < 1.1 * 0.3 * np.linalg.norm(steps, axis=1).sum()
    assert "with bends of at most 17° a metre" in result.report.notes[-1]


@pytest.mark.parametrize("target", [(0.0, 300.0), (2.0, -3.0)])
def test_only_the_best_partial_walks_are_continued(library, target, monkeypatch):
    """At most `width` of each moment; one of those that are too far from the target to reach it in time."""
    clips, graph = library
    tried = []
    monkeypatch.setattr(graph_walk, "steered", lambda *args, **own: (tried.append(1), steered(*args, **own))[1])
    result = walk_graph(clips, graph=graph, target=target, heading=0.0, longest=20.0, method=None)
    far = target[1] > 100.0
    entries = len({(edge.target, edge.enter) for edge in graph.edges}) + len(clips)
    moments = 20.0 / WALK.moment
    assert len(tried) <= entries + (2.0 if far else WALK.width) * moments
    assert result.report.constraints[0].met == (not far)
    # as near as it gets: straight on for all of the time
    assert not far or floor(result)[-1, 1] > 20.0


def test_what_cannot_be_reached_is_said(library):
    clips, graph = library
    result = walk_graph(clips, graph=graph, target=(0.0, 30.0), longest=3.0)
    assert "which no walk of this graph reaches" in result.report.notes[-1]
    assert str(result.status) == "unreachable"
    assert result.report.constraints[0].worst > 20_000.0
    straight = walk_graph(clips[:1], target=(3.0, 0.0), heading=0.0, turn=0.0, method=None, longest=4.0)
    assert "with bends of at most 0° a metre" in straight.report.notes[-1]
    assert np.ptp(floor(straight)[:, 0]) < 0.02
    with pytest.raises(MotionError, match="a path or a target"):
        walk_graph(clips, graph=graph)
    with pytest.raises(MotionError, match="a heading with a target only"):
        walk_graph(clips, graph=graph, path="circle:3", heading=1.0)
    with pytest.raises(MotionError, match="number of the first clip"):
        walk_graph(clips, graph=graph, target=(1.0, 1.0), start=7)
    with pytest.raises(MotionError, match="a graph of these 2 clips"):
        walk_graph(clips[:2], graph=graph, target=(1.0, 1.0))


def test_lead_ins_are_dropped():
    clip = footplant.load("sample:walk", fps=30)
    motion, rest = clip.motion, np.array(clip.motion.rotations)
    rest[0] = clip.character.skeleton.rest
    root = np.array(motion.root)
    root[0] += [0.0, 0.0, -0.5]
    led = replace(clip, motion=replace(motion, root=root, rotations=rest))
    assert footplant.blending.graph.played_clips([led])[0].motion.duration == pytest.approx(motion.duration - 1 / 30)
    result = walk_graph([led], target=(0.0, 2.0), method=None)
    steps = np.linalg.norm(np.diff(result.motion.root, axis=0), axis=1) * 30.0
    assert steps.max() < 2.0


def straight(metres):
    """Return a straight path at 1.3 m/s, 20 samples a second."""
    return FloorPath.of(np.stack([0.0 * (along := np.arange(0.0, metres, 0.065)), along], axis=1), 20.0)


def test_steering_gets_out_of_a_circle_that_is_too_tight():
    """A target beside the start is within the tightest turn: it goes straight on, then round."""
    done = steered(straight(20.0), 0, (0.0, 0.0), 0.0, Reach((0.8, 0.0), 0.1), np.inf)
    assert done.met
    assert np.linalg.norm(done.places[-1] - [0.8, 0.0]) < 0.1
    assert np.abs(np.diff(done.turns)).max() <= 0.065 * 1.0 + 1e-9


def test_a_bent_path_is_nearer_than_a_steered_one():
    goal = Follow(s_curve(8.0, 2.0))
    own = straight(goal.curve.length)
    guess = steered(own, 0, (0.0, 0.0), 0.0, goal, 0.0, whole=True)
    found = bent(own, guess, goal, ends=False, free=False)
    beside = goal.curve.at(np.arange(0.0, goal.curve.length, 0.01))[0]
    apart = [np.linalg.norm(p[:, None] - beside, axis=2).min(axis=1).mean() for p in (guess.places, found.places)]
    assert apart[1] < 0.5 * apart[0]
    assert apart[1] < 0.05
    assert found.most <= 1.0


def test_command(capsys, tmp_path, coarse_samples, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clips").mkdir()
    for name in NAMES[:2]:
        footplant.save(tmp_path / "clips" / f"{name}.bvh", samples.load(name))
    asked = ["graph", "clips", "-o", "g.json", "--picture", "none", "--threshold", "0.2", "--overwrite"]
    options = ["--walk", "walk.bvh", "--target", "2,2", "--start", "turn-left.bvh", "--heading", "90", "--bend", "40"]
    assert main([*asked, *options, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["route"].startswith("walks turn-left.bvh")
    assert told["reached"] is True
    assert told["away"]["worst"] < 0.25
    walked = footplant.load("walk.bvh").motion
    assert walked.duration == pytest.approx(told["seconds"], abs=0.05)
    assert np.linalg.norm(walked.root[-1, ::2] - [2.0, 2.0]) < 0.3
    for wrong, words in (
        (["--curve", "line"], "expected --walk OUT with --curve"),
        (["--heading", "0"], "expected --walk OUT with --heading"),
        (["--walk", "w.bvh"], "expected --curve or --target with --walk"),
        (["--walk", "w.bvh", "--curve", "line", "--heading", "3"], "expected --heading with --target only"),
        (["--walk", "w.bvh", "--target", "1"], "expected --target X,Z"),
        (["--walk", "w.bvh", "--target", "1,2", "--start", "run"], "expected --start among turn-left.bvh, walk.bvh"),
    ):
        assert main([*asked, *wrong]) == 2
        assert words in capsys.readouterr().err
