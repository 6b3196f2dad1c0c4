"""Path editing: path extraction, rigidly moved steps, hips on the curve, planted feet."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import curves, plot, samples
from footplant.cli import main
from footplant.clip import Clip
from footplant.contacts.detection import find_contacts
from footplant.edits.path import bend
from footplant.errors import ConstraintError, MotionError
from footplant.feet.path_mapping import PathMapping
from footplant.feet.steps import find_steps, foot_length
from footplant.feet.travel import Travel, find_travel
from footplant.grounds import direction
from footplant.io import load
from footplant.kinematics import Kinematics
from footplant.motion import concatenate
from footplant.plot.above import FromAbove
from footplant.problem import Status


@pytest.fixture(scope="module")
def walk() -> Clip:
    """The sample walk at 60 frames a second."""
    clip = samples.load("walk")
    return replace(clip, motion=clip.motion.resample(60.0))


@pytest.fixture(scope="module")
def contacts(walk):
    return find_contacts(walk)


@pytest.fixture(scope="module")
def travel(walk, contacts) -> Travel:
    return find_travel(walk.motion, walk.character, contacts)


def drift(solution) -> float:
    return solution.report.after.worst_plant.drift


def test_path_of_a_straight_walk_is_straight(walk, travel):
    assert np.abs(travel.headings).max() < 0.08
    hips = walk.motion.root
    assert travel.length == pytest.approx(hips[-1, 2] - hips[0, 2], rel=0.02)
    assert travel.back == 0.0
    # it excludes the sway of the hips, except where the ends cut a stride
    inner = slice(60, -60)
    assert np.ptp(travel.places[inner, 0]) < 0.4 * np.ptp(hips[inner, 0])


def test_path_of_a_bent_walk_has_the_radius_of_the_curve(walk, contacts, travel):
    bent = PathMapping.of(travel, curves.circle(2.0)).motion(walk.motion)
    again = find_travel(bent, walk.character, contacts)
    assert again.length == pytest.approx(travel.length, rel=0.05)
    turned = again.headings[-1] - again.headings[0]
    assert turned == pytest.approx(travel.length / 2.0, rel=0.05)


def test_path_that_doubles_back_follows_itself(walk, travel):
    there = walk.motion
    last = there[len(there) - 1]
    stand = concatenate([last] * 60)
    # half a turn on the spot, then back along the same path
    turns = np.linspace(0.0, np.pi, 60)
    spin = concatenate([last.transformed((np.cos(a / 2), 0.0, np.sin(a / 2), 0.0)) for a in turns])
    spin = replace(spin, root=np.broadcast_to(last.root, spin.root.shape))
    back = there.transformed((0.0, 0.0, 1.0, 0.0))
    back = replace(back, root=back.root - back.root[0] * [1, 0, 1] + last.root[0] * [1, 0, 1])
    found = find_travel(concatenate([there, stand, spin, back]), walk.character)
    assert found.distance[len(there) - 1] == pytest.approx(travel.length, rel=0.05)
    assert abs(found.distance[-1]) < 0.1 * travel.length
    assert np.ptp(found.headings) < 0.4


@pytest.mark.parametrize("turned", [np.pi / 2, np.pi, -np.pi / 2])
def test_path_of_sideways_and_backwards_walks(walk, contacts, travel, turned):
    """The heading is that of the travel, not of the facing."""
    motion = walk.motion
    turn = (np.cos(turned / 2), 0.0, np.sin(turned / 2), 0.0)
    rotations = np.array(motion.transformed(turn).rotations)
    found = find_travel(replace(motion, rotations=rotations), walk.character, contacts)
    assert found.length == pytest.approx(travel.length, rel=0.03)
    np.testing.assert_allclose(found.headings, 0.0, atol=0.1)


@settings(deadline=None, max_examples=25)
@given(st.floats(0.8, 8.0), st.booleans(), st.sampled_from(["begin", "middle", "end"]))
def test_steps_move_rigidly(walk, contacts, travel, radius, right, plant_at):
    mapping = PathMapping.of(travel, curves.circle(-radius if right else radius))
    steps = find_steps(contacts, foot_length(walk.character, "left"))
    for before, after in zip(steps, mapping.steps(steps, plant_at)):
        old, new = ([p.place for p in (*step.heels, *step.balls)] for step in (before, after))
        for i in range(len(old)):
            assert new[i][1] == pytest.approx(old[i][1], abs=1e-12)
            for k in range(i):
                assert np.linalg.norm(new[i] - new[k]) == pytest.approx(np.linalg.norm(old[i] - old[k]), abs=1e-12)


def test_mapping_onto_the_own_path_is_the_identity(walk, travel):
    mapping = PathMapping.of(travel, travel.curve())
    moved = mapping.motion(walk.motion)
    np.testing.assert_allclose(moved.root, walk.motion.root, atol=1e-6)
    change = moved - walk.motion
    assert np.abs(change[:, 1:]).max() < 1e-6


def test_editing_onto_the_own_path_keeps_the_motion(walk, contacts, travel):
    solution = bend(walk, travel.curve(), contacts=contacts)
    assert solution.status is Status.SOLVED
    assert np.abs(solution.motion.root - walk.motion.root).max() < 0.004
    assert solution.report.after.deviation.mean < 0.5


@pytest.mark.parametrize("curve", [curves.circle(1.2), curves.circle(-1.5), curves.s_curve(5.0, 1.4)])
@pytest.mark.parametrize("plant_at", ["begin", "middle", "end"])
def test_feet_stay_planted_on_curves(walk, contacts, travel, curve, plant_at):
    solution = bend(walk, curve, from_start=True, plant_at=plant_at, contacts=contacts)
    assert solution.status is Status.SOLVED
    assert drift(solution) < 1.0
    assert solution.report.before.worst_plant.drift > 10.0
    assert solution.report.after.penetration_worst < 5.0
    assert solution.report.after.peak_acceleration_ratio < 1.3
    # the hips sway about the curve no more than about their own path
    placed = curve.moved(travel.places[0], float(travel.headings[0]))
    places, headings = placed.at(travel.distance)
    across = np.stack([direction(headings)[:, 1], -direction(headings)[:, 0]], axis=1)
    off = np.einsum("fk,fk->f", solution.motion.root[:, ::2] - places, across)
    sway = np.abs(walk.motion.root[:, 0] - travel.places[:, 0]).max()
    assert np.abs(off).max() < sway + 0.035


def test_left_and_right_are_symmetric(walk):
    """The mirrored walk on the mirrored circle gives the mirrored motion."""
    roles = walk.character.roles
    mirrored = replace(walk, motion=walk.motion.mirrored(roles))
    one = bend(walk, curves.circle(1.5), from_start=True).motion.mirrored(roles)
    other = bend(mirrored, curves.circle(-1.5), from_start=True).motion
    assert np.abs(one.root - other.root).max() < 2e-3
    assert np.abs(Kinematics(one).positions - Kinematics(other).positions).max() < 0.02


def test_arc_timing_spreads_the_clip_over_the_whole_curve(walk, contacts, travel):
    curve = curves.through([(0, 0), (1, 3), (3, 4)])
    solution = bend(walk, curve, timing="arc", contacts=contacts)
    assert drift(solution) < 1.0
    assert any("times as long" in note for note in solution.report.notes)
    # the clip ends where the curve ends, except for the sway
    assert np.linalg.norm(solution.motion.root[-1, ::2] - curve.at(curve.length)[0]) < 0.06
    assert len(solution.motion) == len(walk.motion)


def test_motion_goes_straight_on_beyond_the_curve(walk, contacts, travel):
    solution = bend(walk, curves.through([(0, 0), (0.5, 1.5), (1.5, 2.0)]), contacts=contacts)
    assert any("straight on" in note for note in solution.report.notes)
    assert drift(solution) < 1.0


@pytest.mark.parametrize("method", ["filtered", "perframe", "spacetime"])
def test_other_methods_plant_feet_too(walk, contacts, method):
    clip = replace(walk, motion=walk.motion[:120])
    solution = bend(clip, curves.circle(2.0), from_start=True, method=method)
    assert drift(solution) < 1.0
    assert solution.report.method == method


def test_clips_without_a_path_are_refused(walk):
    still = replace(walk, motion=concatenate([walk.motion[40]] * 40))
    with pytest.raises(MotionError, match="no path to edit"):
        bend(still, curves.line())
    with pytest.raises(MotionError, match="at least 3 frames"):
        bend(replace(walk, motion=walk.motion[:2]), curves.line())


def test_options_are_checked(walk):
    with pytest.raises(ConstraintError, match="begin, middle, end"):
        bend(walk, curves.line(), plant_at="later")  # type: ignore[arg-type]
    with pytest.raises(ConstraintError, match="keep, arc"):
        bend(walk, curves.line(), timing="slow")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["02_01", "09_01", "120_09", "49_06"])
@pytest.mark.parametrize("curve", [curves.circle(1.5), curves.s_curve(4.0, 1.0)])
@pytest.mark.named("bvh/cmu/{name}.bvh")
def test_captured_walks_and_runs_bend(shared, name, curve):
    clip = load(shared / "bvh" / "cmu" / f"{name}.bvh")
    clip = replace(clip, motion=clip.motion[1:500])
    solution = bend(clip, curve, from_start=True)
    assert drift(solution) < 2.0
    assert solution.report.after.penetration_worst < 6.0
    assert solution.report.after.peak_acceleration_ratio < 1.3


def test_command(capsys, tmp_path):
    out, report = tmp_path / "round.glb", tmp_path / "report.json"
    arguments = ["path", "sample:walk", "--curve", "circle:2", "-o", str(out), "--report", str(report), "--json"]
    assert main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["command"] == "path"
    assert printed["status"] == "solved"
    assert printed["curve_length"] == pytest.approx(4.0 * np.pi, rel=1e-6)
    assert out.stat().st_size > 1000
    assert json.loads(report.read_text())["after"]["worst_plant"]["drift"] < 1.0
    assert (
        main(["path", "sample:walk", "--curve", "points:1,1;2,4", "-o", str(tmp_path / "p.bvh"), "--timing", "arc"])
        == 0
    )
    assert load(tmp_path / "p.bvh").motion.root[0, 0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--curve", "circle:0"],
        ["--curve", "nowhere.csv"],
        ["--curve", "line", "--plant-at", "never"],
        ["--curve", "line", "--timing", "soon"],
        ["--curve", "line", "--method", "magic"],
    ],
)
def test_command_errors_are_one_line(capsys, tmp_path, wrong):
    assert main(["path", "sample:walk", *wrong, "-o", str(tmp_path / "x.bvh")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "x.bvh").exists()


def test_motions_are_drawn_from_above(tmp_path, walk, contacts):
    drawn = plot.above([FromAbove("walk", walk, contacts, curves.line(5.0))] * 2, tmp_path / "above.png", columns=2)
    assert drawn.stat().st_size > 5000
