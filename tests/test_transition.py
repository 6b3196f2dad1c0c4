"""Transitions: no jump, feet locked through the crossfade, and row four of Lee & Shin's Table 1."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import footplant
from footplant import samples
from footplant.blending.transition import crossfade, transition
from footplant.cli import main
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.problem import Problem, Status
from footplant.solve.methods.hierarchical import Hierarchical


def accelerations(motion):
    return np.linalg.norm(np.diff(motion.root, 2, axis=0), axis=1) * motion.fps**2


@pytest.mark.parametrize(
    ("first", "second"), [("walk", "sneak"), ("sneak", "walk"), ("run", "kick"), ("stand", "walk")]
)
@pytest.mark.quick
def test_feet_are_locked_through_the_crossfade(first, second):
    solution = transition(samples.load(first), samples.load(second), fps=60.0)
    after = solution.report.after
    assert after.worst_plant.drift <= 2.0
    assert after.penetration_worst < 5.0
    assert solution.report.before.worst_plant.drift > 10.0
    assert "crossfades" in solution.report.notes[-1]


@pytest.mark.parametrize(("first", "second"), [("walk", "sneak"), ("walk", "run"), ("run", "sneak")])
def test_no_jump_before_feet_are_locked(first, second):
    clips = [samples.load(name) for name in (first, second)]
    made = crossfade(*clips, fps=60.0)
    own = max(accelerations(clip.motion.resample(60.0)).max() for clip in clips)
    assert accelerations(made.motion).max() <= 1.5 * own
    assert (np.diff(made.times[made.weights[:, 0] > 0, 0]) > 0).all()
    shown = made.weights[:, 1] > 0
    assert (np.diff(made.times[shown, 1]) > 0).all()
    assert (np.diff(made.weights[:, 1]) >= 0).all()
    # as smooth as either clip alone
    begin, end = made.interval
    np.testing.assert_allclose(
        made.motion.root[: int(begin * 60)], clips[0].motion.at(np.arange(int(begin * 60)) / 60).root
    )
    left = made.motion[int(np.ceil(end * 60)) + 1 :]
    poses = clips[1].motion.at(made.times[len(made.times) - len(left) :, 1])
    np.testing.assert_allclose(Kinematics(left).positions[:, 0, 1], poses.root[:, 1], atol=1e-6)


def test_transition_at_given_times():
    made = crossfade(samples.load("walk"), samples.load("run"), at=(1.5, 1.0), seconds=0.8)
    assert made.at == pytest.approx((1.5, 1.0), abs=0.02)
    assert made.interval[1] - made.interval[0] == pytest.approx(0.8, abs=0.25)
    with pytest.raises(MotionError, match="expected a time in"):
        crossfade(samples.load("walk"), samples.load("run"), at=(99.0, 0.0))
    with pytest.raises(MotionError, match="more than 0 seconds"):
        crossfade(samples.load("walk"), samples.load("run"), seconds=0.0)


def test_row_four_of_table_one():
    """Walk to sneak in 119 frames: the error is below 1 % of the height by level 4."""
    made = crossfade(samples.load("walk"), samples.load("sneak"), fps=30.0)
    middle = round(30.0 * 0.5 * sum(made.interval))
    window = range(middle - 60, middle + 59)
    plants = [
        footplant_within(plant, window) for plant in made.plants if set(plant.frames) & set(window)
    ]  # fmt: skip
    problem = Problem(made.motion[window.start : window.stop], made.character, tuple(plants))
    assert len(problem.motion) == 119
    solution = Hierarchical(spacings=(16.0, 8.0, 4.0, 2.0), exact=False).solve(problem)
    errors = [level.worst_share for level in solution.report.levels]
    assert errors[-1] < 1.0
    assert errors[-1] < errors[0]


def footplant_within(plant, window):
    from dataclasses import replace

    start, stop = max(plant.frames.start, window.start), min(plant.frames.stop, window.stop)
    return replace(plant, frames=range(start - window.start, stop - window.start))


@pytest.mark.named("bvh/cmu/02_01.bvh", "bvh/cmu/35_01.bvh")
def test_captured_walk_to_kick(shared):
    clips = [footplant.load(shared / "bvh" / "cmu" / f"{name}.bvh") for name in ("02_01", "35_01")]
    solution = transition(*clips, fps=60.0)
    assert solution.report.after.worst_plant.drift <= 2.0


def test_commands(capsys, tmp_path):
    assert (
        main(["transition", "sample:walk", "sample:sneak", "--fps", "30", "-o", str(tmp_path / "a.bvh"), "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "solved"
    assert told["clips"] == ["sample:walk", "sample:sneak"]
    assert len(footplant.load(tmp_path / "a.bvh").motion) > 100
    assert main(["match", "sample:walk", "sample:run", "-o", str(tmp_path / "m.png"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["transitions"]) > 5
    assert (tmp_path / "m.png").stat().st_size > 10_000
    library = tmp_path / "clips"
    library.mkdir()
    for name in ("walk", "limp"):
        footplant.save(library / f"{name}.bvh", samples.load(name))
    (library / "notes.txt").write_text("not a clip")
    (library / "broken.bvh").write_text("HIERARCHY")
    assert main(["graph", str(library), "-o", str(tmp_path / "g.json"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["clips"] == 2
    assert any(reason.startswith("broken.bvh") for reason in told["left_out"])
    assert (tmp_path / "g.png").stat().st_size > 5_000
    written = json.loads((tmp_path / "g.json").read_text())
    assert {edge["from"] for edge in written["edges"]} == {0, 1}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["transition", "sample:walk", "sample:run", "--at", "1", "-o", "a.bvh"], "expected 2 numbers"),
        (["match", "sample:walk", "sample:run", "-o", "a.jpg"], "ending in .png"),
        (["graph", "nowhere", "-o", "g.json"], "no such folder"),
        (["graph", ".", "-o", "g.txt"], "ending in .json"),
        (["graph", ".", "-o", "g.json"], "found none"),
    ],
)
def test_command_errors(capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert words in captured.err


def sloping(clip, rise):
    """Return the clip on a floor with a slope, metres per metre."""
    root = np.array(clip.motion.root)
    root[:, 1] += rise * (root[:, 2] - root[:, 2].mean())
    return replace(clip, motion=replace(clip.motion, root=root))


@pytest.mark.parametrize("rise", [0.015, 0.25])
def test_feet_on_sloping_floors(rise):
    """A nearly level floor is level, and a steeper one is a slope; neither is above the feet."""
    solution = transition(*(sloping(samples.load(name), rise) for name in ("walk", "sneak")))
    assert solution.status is Status.SOLVED, [(entry.name, entry.worst) for entry in solution.report.unmet]
    after = solution.report.after
    assert after is not None
    assert after.penetration_worst is not None
    assert after.penetration_worst < 5.0
