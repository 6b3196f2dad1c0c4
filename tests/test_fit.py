"""Fitting a motion to constraints: met with feet planted, chains kept to, and what cannot be met said."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import footplant
from footplant import Clip, samples
from footplant.cli import main
from footplant.constraints import (
    Distance,
    Footplant,
    JointLimits,
    Orientation,
    Position,
    SamePlace,
)
from footplant.contacts.detection import find_contacts
from footplant.edits.fit import fit
from footplant.errors import ConstraintError
from footplant.feet.kept_plants import plants_to_keep
from footplant.humanoid.limits import limit_violations
from footplant.kinematics import Kinematics
from footplant.problem import Status
from footplant.skeleton import Point
from footplant.solve.choose_ik import choose_ik, posing_ik
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric

WALK = samples.load("walk")
CHARACTER = WALK.character
SHORT = replace(WALK, motion=WALK.motion[100:280])
PALM, HEEL = CHARACTER.contacts["left_palm"], CHARACTER.contacts["left_heel"]


def moved(clip: Clip, point: Point, frame: int, by) -> np.ndarray:
    """A place beside where a point is."""
    return Kinematics(clip.motion).point(point)[frame] + by


def rail(clip: Clip, by=(0.1, 0.3, 0.1), frames=range(84, 97), **options) -> Position:
    target = moved(clip, PALM, 90, by)
    return Position(point=PALM, target=target, frames=frames, name="rail", **{"ramp": (0.3, 0.3), **options})


def error_of(constraint, motion) -> float:
    """Metres or radians at the worst frame held."""
    kinematics = Kinematics(motion)
    rows = np.arange(len(motion)) if constraint.frames is None else np.array(constraint.frames)
    values = constraint.residual(kinematics)[rows]
    return float(np.linalg.norm(np.minimum(values, 0) if constraint.inequality else values, axis=1).max())


def test_a_hand_is_pulled_and_the_feet_stay():
    wanted = rail(SHORT)
    solution = fit(SHORT, [wanted])
    assert solution.status is Status.SOLVED
    assert error_of(wanted, solution.motion) < 0.001
    assert solution.report.after.worst_plant.drift < 1.0
    assert solution.report.after.peak_acceleration_ratio < 1.5
    assert solution.report.constraints[0].name == "rail"
    assert any(entry.name.endswith("(kept)") for entry in solution.report.constraints)


def test_plants_are_kept_only_on_request():
    # a low target in front of the feet that bends the whole figure
    wanted = rail(SHORT, by=(0.0, -0.5, 0.8))
    drifts = [
        fit(SHORT, [wanted], keep_plants=keep).report.after.worst_plant.drift for keep in (True, False)
    ]  # fmt: skip
    assert drifts[0] < 2.0
    assert drifts[1] > 5.0, drifts


@pytest.mark.parametrize(("drop", "status"), [(0.15, Status.SOLVED), (0.3, Status.CONFLICT)])
def test_feet_stay_planted_and_out_of_the_ground_when_hips_are_drawn_down(drop, status):
    """By 30 cm, ankles are at their limits as a stance ends: hips stop short of it, and the report says so."""
    hips = WALK.character.require_roles()["hips"]
    low = Kinematics(WALK.motion).positions[160:240, hips] - [0.0, drop, 0.0]
    solution = fit(WALK, [Position(point=Point(hips), target=low, frames=range(160, 240), ramp=(0.3, 0.3))])
    assert solution.status is status
    assert solution.report.after.penetration_worst < 5.0
    assert solution.report.after.worst_plant.drift < 0.5
    assert all(entry.name == "position" and entry.worst < 10.0 for entry in solution.report.unmet)
    excess = limit_violations(CHARACTER, solution.motion.rotations) - limit_violations(CHARACTER, WALK.motion.rotations)
    assert np.degrees(excess.max()) < 1.0
    # the ground is part of every pose, not a pass of its own
    assert solution.report.levels[-1].name == "exact"


def test_a_goal_out_of_reach_leaves_the_feet_on_the_floor():
    hand = Point(WALK.character.require_roles()["left_hand"])
    high = Position(point=hand, target=moved(WALK, hand, 180, [0.3, 1.6, 0.4]), frames=(180,), ramp=(0.5, 0.5))
    solution = fit(WALK, [high])
    assert solution.status is Status.UNREACHABLE
    assert [entry.name for entry in solution.report.unmet] == ["position"]
    assert solution.report.after.worst_plant.drift < 2.0


def test_far_frames_stay():
    wanted = rail(WALK, frames=range(80, 100), ramp=(0.1, 0.1))
    solution = fit(WALK, [wanted])
    change = np.abs(solution.motion - WALK.motion).max(axis=(1, 2))
    assert change[90] > 0.1
    assert change[-60:].max() < 3e-3  # feet are held for the first millimetres of their departures


def test_nothing_asked_changes_nothing():
    solution = fit(SHORT, [])
    assert solution.status is Status.SOLVED
    assert np.array_equal(solution.motion.root, SHORT.motion.root)
    assert np.array_equal(solution.motion.rotations, SHORT.motion.rotations)


def test_same_input_same_output():
    one, other = (fit(SHORT, [rail(SHORT)]).motion for _ in "12")
    assert np.array_equal(one.rotations, other.rotations)
    assert np.array_equal(one.root, other.root)


def test_auto_takes_hybrid_where_it_can():
    assert isinstance(choose_ik(SHORT.motion, CHARACTER, [rail(SHORT)])[0], Hybrid)
    for refused in (
        rail(SHORT, chain=(7, 8, 9)),
        Distance(point=PALM, other=CHARACTER.contacts["right_palm"], value=0.3),
        JointLimits(character=CHARACTER),
        Position(point=Point(CHARACTER.require_roles()["left_lower_arm"]), target=(0, 1, 0)),
    ):
        ik, why = choose_ik(SHORT.motion, CHARACTER, [rail(SHORT), refused])
        assert isinstance(ik, Numeric)
        assert "numeric" in why
    ik, why = choose_ik(SHORT.motion, replace(CHARACTER, roles=None), [])
    assert isinstance(ik, Numeric)
    assert "no humanoid roles" in why
    with pytest.raises(ConstraintError, match="expected an ik among auto, hybrid, numeric"):
        choose_ik(SHORT.motion, CHARACTER, [], "neural")


def test_numeric_keeps_hands_apart_and_feet_planted():
    clip = replace(SHORT, motion=SHORT.motion[40:130])
    box = Distance(
        point=PALM, other=CHARACTER.contacts["right_palm"], value=0.35, frames=range(30, 60), ramp=(0.2, 0.2)
    )
    solution = fit(clip, [box])
    assert solution.status is Status.SOLVED
    assert error_of(box, solution.motion) < 0.001
    assert solution.report.after.worst_plant.drift < 1.0
    # easing in and out: no frame may jump
    speed = np.linalg.norm(np.diff(Kinematics(solution.motion).point(PALM), axis=0), axis=1)
    assert np.abs(np.diff(speed)).max() < 0.004


def test_only_the_chain_moves():
    clip = replace(SHORT, motion=SHORT.motion[60:120])
    roles = CHARACTER.require_roles()
    chain = CHARACTER.skeleton.chain(roles["left_hand"], roles["left_upper_arm"])
    wanted = Position(
        point=PALM, target=moved(clip, PALM, 30, (0.05, 0.1, 0.0)), frames=(30,), ramp=(0.1, 0.1), chain=chain
    )
    solution = fit(clip, [wanted], keep_plants=False)
    assert error_of(wanted, solution.motion) < 0.001
    change = np.abs(solution.motion - clip.motion).max(axis=(0, 2))
    still = [1 + joint for joint in range(len(CHARACTER.skeleton)) if joint not in chain]
    assert change[[0, *still]].max() < 1e-9
    assert change[[1 + joint for joint in chain]].max() > 0.05


def test_free_footplants_are_settled_with_a_note():
    plant = Footplant(point=HEEL, frames=range(60, 80), ramp=(0.1, 0.1), name="anywhere")
    solution = fit(SHORT, [plant])
    assert any("anywhere: its place is free" in note for note in solution.report.notes)
    places = Kinematics(solution.motion).point(HEEL)[60:80]
    assert np.ptp(places, axis=0).max() < 0.002


def test_a_foot_that_is_constrained_is_let_go():
    contacts = find_contacts(SHORT)
    plant = next(plant for plant in contacts.plants if plant.point == "left_heel" and len(plant) > 20)
    middle = (plant.start + plant.end) // 2
    wanted = Position(
        point=HEEL, target=plant.place + [0.0, 0.08, 0.05], frames=(middle,), ramp=(0.15, 0.15), name="lift"
    )
    solution = fit(SHORT, [wanted])
    assert error_of(wanted, solution.motion) < 0.001
    note = next(note for note in solution.report.notes if "released" in note)
    assert f"left_heel {plant.start}–{plant.end - 1}" in note
    assert "right" not in note


@pytest.mark.parametrize("frame", [20, 45])
def test_the_pose_at_a_goal_is_the_least_displacement(frame):
    # a foot so high that the hips must give way: splines fall short of that, and limbs must not make up for it
    clap = samples.load("clap")
    clap = replace(clap, motion=clap.motion.resample(30.0)[:90])
    foot = Point(clap.character.require_roles()["left_foot"])
    height = clap.character.height
    goal = Position(
        point=foot, target=moved(clap, foot, frame, [0.0, 0.46 * height, 0.17 * height]), frames=(frame,),
        ramp=(0.5, 0.5),
    )  # fmt: skip
    contacts = find_contacts(clap)
    solution = fit(clap, [goal], contacts=contacts)
    assert solution.status is Status.SOLVED
    assert error_of(goal, solution.motion) < 0.001
    kept, _ = plants_to_keep(contacts, clap.character, [goal], clap.motion.fps)
    own, frames = clap.motion[frame : frame + 1], np.array([frame])
    ik = posing_ik(clap.motion, clap.character, contacts.ground, [goal, *kept])
    least = ik.solve(own, [goal, *kept], frames=frames).motion
    costs = np.full(1 + len(clap.character.skeleton), ik.rigidity)
    costs[0] = ik.place
    costs[[1 + joint for joint in ik.joints]] = list(ik.joints.values())
    asked, spent = (
        float(np.sum(costs[:, None] * (motion - own)[0] ** 2)) for motion in (least, solution.motion[frames])
    )
    assert spent < 1.02 * asked


def test_what_is_out_of_reach_is_said():
    far = rail(SHORT, by=(0.0, 3.0, 0.0))
    solution = fit(SHORT, [far])
    assert solution.status is Status.UNREACHABLE
    assert solution.report.unmet[0].name == "rail"
    assert np.isfinite(solution.motion.rotations).all()


def test_a_goal_in_the_ground_is_a_conflict():
    foot = Point(CHARACTER.require_roles()["left_foot"])
    target = Kinematics(SHORT.motion).point(foot)[115] * [1.0, 0.0, 1.0] - [0.0, 0.2, 0.0]
    solution = fit(SHORT, [Position(point=foot, target=target, frames=(115,), ramp=(0.3, 0.3), name="down")])
    assert solution.status is Status.CONFLICT
    assert solution.report.unmet[0].name == "down"
    assert any("joint limits or the ground" in note for note in solution.report.notes)
    assert solution.report.after.penetration_worst < 5.0


def test_a_goal_far_below_the_ground_does_not_pull_soles_into_it():
    """A goal that cannot be met is held where it came to: bounds are no longer stretched by it."""
    clip = replace(WALK, motion=WALK.motion[:60])
    foot = Point(CHARACTER.require_roles()["left_foot"])
    goal = Position(point=foot, target=Kinematics(clip.motion).point(foot)[30] - [0.0, 0.4, 0.0], frames=(30,))
    solution = fit(clip, [goal])
    soles = [CHARACTER.contacts[f"{side}_{part}"] for side in ("left", "right") for part in ("heel", "ball", "toe")]
    low, was = (np.minimum(Kinematics(m).points(soles)[..., 1], 0.0) for m in (solution.motion, clip.motion))
    assert (low - was).min() > -0.002
    assert solution.status is Status.CONFLICT


def test_the_chain_asked_for_is_the_chain_moved():
    roles = CHARACTER.require_roles()
    arm = tuple(roles[f"left_{part}"] for part in ("upper_arm", "lower_arm"))
    wanted = rail(SHORT, by=(0.0, 0.08, 0.05), chain=arm)
    solution = fit(SHORT, [wanted], keep_plants=False)
    assert error_of(wanted, solution.motion) < 0.001
    moved = np.abs(solution.motion - SHORT.motion).max(axis=(0, 2))
    assert moved[[1 + joint for joint in arm]].min() > 0.05
    others = [n for n in range(1 + len(CHARACTER.skeleton)) if n - 1 not in arm]
    assert moved[others].max() < 1e-9


@pytest.mark.parametrize("handle", ["left_hand", "right_foot"])
def test_a_position_leaves_the_end_as_it_is_on_its_limb(handle):
    """A wrist or ankle keeps its rotation relative to its parent; today's other way, in the world, turned it by 50°."""
    end = CHARACTER.require_roles()[handle]
    frame = 60 if handle == "left_hand" else 75
    target = Kinematics(SHORT.motion).positions[frame, end] + [0.05, 0.2, 0.1]
    solution = fit(SHORT, [Position(point=Point(end), target=target, frames=(frame,), ramp=(0.3, 0.3))])
    assert np.linalg.norm(Kinematics(solution.motion).positions[frame, end] - target) < 0.001
    assert np.degrees(np.linalg.norm((solution.motion - SHORT.motion)[frame, 1 + end])) < 1.0


def test_relations_across_frames_are_refused_by_name():
    with pytest.raises(ConstraintError, match="loop: hierarchical cannot honour it"):
        fit(SHORT, [SamePlace(point=HEEL, pair=(3, 60), name="loop")])


def test_orientation_and_priorities():
    hand = CHARACTER.require_roles()["left_hand"]
    turn = Kinematics(SHORT.motion).rotations[20, hand]
    level = Orientation(joint=hand, target=turn, frames=range(80, 100), ramp=(0.2, 0.2), name="level")
    solution = fit(SHORT, [rail(SHORT, priority=2), level])
    assert solution.status is Status.SOLVED
    assert error_of(level, solution.motion) < 0.01


# the command


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def files(tmp_path):
    (tmp_path / "rail.toml").write_text(
        '[[constraints]]\nkind = "position"\nname = "rail"\npoint = "left_palm"\ntarget = [0.4, 1.1, 2.5]\n'
        "interval = [200, 230]\nramp = 0.3\n"
    )
    return tmp_path


def test_command_writes_what_was_asked(capsys, files):
    out, report = files / "fitted.bvh", files / "report.json"
    code, text, err = run(
        capsys, "fit", "sample:walk", "--constraints", files / "rail.toml", "-o", out, "--report", report, "--json"
    )  # fmt: skip
    assert code == 0, err
    told = json.loads(text)
    assert told["command"] == "fit"
    assert told["status"] == "solved"
    assert json.loads(report.read_text())["constraints"][0]["name"] == "rail"
    again = footplant.load(out)
    palm = Kinematics(again.motion).point(again.character.contacts["left_palm"])
    assert np.linalg.norm(palm[200:231] - [0.4, 1.1, 2.5], axis=1).max() < 0.01
    code, text, err = run(
        capsys, "fit", "sample:walk", "--constraints", files / "rail.toml", "-o", out, "--overwrite", "--smooth",
        "--free-plants",
    )  # fmt: skip
    assert code == 0, err
    assert "rail" in text


@pytest.mark.parametrize("method", ["filtered", "perframe"])
def test_every_exact_method_can_be_asked_for(capsys, files, method):
    out = files / f"{method}.bvh"
    code, text, err = run(
        capsys, "fit", "sample:walk", "--constraints", files / "rail.toml", "-o", out, "--method", method, "--json"
    )  # fmt: skip
    assert code == 0, err
    told = json.loads(text)
    assert told["method"] == method
    assert told["constraints"][0]["worst"] < 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--constraints", "none.toml"], "no such file"),
        (["--constraints", "rail.toml", "--ik", "magic"], "expected an ik among auto, hybrid, numeric; got 'magic'"),
        (["--constraints", "rail.toml", "--method", "magic"], "expected a method among hierarchical, filtered"),
        (["--constraints", "wrong.toml"], "wrong.toml: constraints[0].point: no point 'tail'"),
        (["--constraints", "late.toml"], "late.toml: constraints[0].frames: expected frames in 0..504, got 505"),
        ([], "--constraints"),
    ],
)
def test_command_errors_are_one_line(capsys, files, monkeypatch, options, words):
    monkeypatch.chdir(files)
    head = '[[constraints]]\nkind = "position"\ntarget = [0, 1, 0]\n'
    (files / "wrong.toml").write_text(head + 'point = "tail"\n')
    (files / "late.toml").write_text(head + 'point = "head"\nframes = [505]\n')
    code, out, err = run(capsys, "fit", "sample:walk", "-o", "out.bvh", *options)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert words in err
    assert not (files / "out.bvh").exists()


def test_command_does_not_overwrite(capsys, files):
    (files / "fitted.bvh").write_text("mine")
    code, _, err = run(capsys, "fit", "sample:walk", "--constraints", files / "rail.toml", "-o", files / "fitted.bvh")
    assert code == 2
    assert "exists already" in err
    assert (files / "fitted.bvh").read_text() == "mine"


@pytest.mark.parametrize("point", ["head", "left_hand"])
@pytest.mark.parametrize("method", ["perframe", "hierarchical", "filtered"])
def test_a_pin_for_a_moment_where_the_point_is_anyway_changes_nothing(method, point):
    """What eases in and out is the correction: a figure that goes on is not drawn back to where it is pinned."""
    where = Point(WALK.character.roles[point])
    place = Kinematics(WALK.motion).point(where)[90]
    pin = Position(point=where, target=place, frames=(90,), ramp=(0.3, 0.3))
    solution = fit(WALK, [pin], method=method, keep_plants=False)
    assert np.abs(solution.motion - WALK.motion).max() < 1e-6


@pytest.mark.parametrize("point", ["head", "left_hand"])
def test_a_pin_eases_in_by_its_share(point):
    where = Point(WALK.character.roles[point])
    before = Kinematics(WALK.motion).point(where)
    pin = Position(point=where, target=before[90] - [0.0, 0.05, 0.0], frames=(90,), ramp=(0.3, 0.2))
    solution = fit(WALK, [pin], method="perframe", keep_plants=False)
    went = Kinematics(solution.motion).point(where) - before
    share = pin.activation(np.arange(len(WALK.motion)), WALK.motion.fps)
    # an arm goes its share of what the trunk has left it, which may be a little more
    np.testing.assert_allclose(went[:, 1], -0.05 * share, atol=5e-3)
    np.testing.assert_allclose(went[:, [0, 2]], 0.0, atol=2e-3)
