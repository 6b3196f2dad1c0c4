"""Blends: feet locked, path and timing at every weight; parts of the body; the meaning of weights."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import footplant
from footplant import rotation, samples
from footplant.blending.blend import WeightCurve, bezier, blend, parameters, timeline, weights_for
from footplant.blending.compose import RootPath, compose, part_joints, root_reference
from footplant.blending.loops import cut_loop, find_loop
from footplant.blending.registration import register, side_by_side
from footplant.cli import main
from footplant.errors import MotionError
from footplant.kernels import blend as kernel
from thorough import thorough

WEIGHTS = np.linspace(0.0, 1.0, thorough(4, 11))


@cache
def pair(first, second):
    return register([samples.load(first), samples.load(second)], reference=0)


@cache
def blended(first, second, weight, method="hierarchical"):
    return blend(pair(first, second), [1.0 - weight, weight], fps=30.0, method=None if method == "none" else method)


def drift(solution):
    return solution.report.after.worst_plant.drift


def distance_travelled(motion):
    return float(np.linalg.norm(np.diff(motion.root[:, ::2], axis=0), axis=1).sum())


@pytest.mark.parametrize(("first", "second"), [("walk", "run"), ("walk", "turn-left"), ("turn-right", "run")])
def test_feet_are_locked_at_every_weight(first, second):
    """Prints drift with and without foot locks: pytest -s shows it."""
    held = [blended(first, second, weight) for weight in WEIGHTS]
    free = [blended(first, second, weight, "none") for weight in WEIGHTS]
    print(first, second, [f"{drift(a):.1f}→{drift(b):.3f} mm" for a, b in zip(free, held)])
    assert max(drift(solution) for solution in held) <= 2.0
    # in between, feet would slide visibly
    assert max(drift(solution) for solution in free) > (2.0 if second == "turn-left" else 20.0)
    assert max(solution.report.after.penetration_worst for solution in held) < 5.0


@pytest.mark.parametrize(("first", "second"), [("walk", "run"), ("walk", "turn-left"), ("turn-right", "run")])
def test_travelled_distance_is_monotone_in_the_weight(first, second):
    ways = np.diff([distance_travelled(blended(first, second, weight, "none").motion) for weight in WEIGHTS])
    assert (ways > 0).all() or (ways < 0).all()


def test_extreme_weights_reproduce_the_clips():
    registration = pair("walk", "run")
    for number in range(2):
        times, _ = timeline(registration, WeightCurve.of(np.eye(2)[number], 2), 60.0)
        steps = np.diff(times[:, number])
        np.testing.assert_allclose(steps, 1.0 / 60.0, atol=2e-5)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
def test_time_never_runs_backwards(weight):
    registration = pair("walk", "run")
    times, _ = timeline(registration, WeightCurve.of([1.0 - weight, weight], 2), 120.0)
    assert (np.diff(times, axis=0) > 0).all()
    keys = WeightCurve(np.array([0.0, 0.5, 1.0, 3.0]), np.array([[1, 0], [0, 1], [1, 0], [0, 1]], float))
    times, shares = timeline(registration, WeightCurve.of(keys, 2), 120.0)
    assert (np.diff(times, axis=0) > 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_opposite_turns_blend_to_a_straight_walk():
    motion = blended("turn-left", "turn-right", 0.5).motion
    gone = motion.root[-1] - motion.root[0]
    assert abs(np.degrees(np.arctan2(gone[0], gone[2]))) < 2.0
    path = RootPath.of(motion, root_reference(samples.load("walk").character))
    assert abs(np.degrees(path.heading[-1] - path.heading[0])) < 3.0
    # and as far as the clips do: opposite turns do not shorten the path
    assert distance_travelled(motion) == pytest.approx(distance_travelled(samples.load("turn-left").motion), rel=0.03)


def test_weights_over_time():
    registration = pair("walk", "run")
    curve = WeightCurve(np.array([0.5, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    solution = blend(registration, curve, fps=60.0)
    assert drift(solution) <= 2.0
    speed = np.linalg.norm(np.diff(solution.motion.root[:, ::2], axis=0), axis=1) * 60.0
    assert speed[:30].mean() < 1.6
    assert speed[-30:].mean() > 2.6


def test_bezier():
    np.testing.assert_allclose(bezier([-1.0, 0.0, 0.5, 1.0, 2.0]), [0.0, 0.0, 0.5, 1.0, 1.0])
    np.testing.assert_allclose(bezier(0.25), 3 * 0.25**2 - 2 * 0.25**3)
    assert bezier(0.5, (0.5, 1.0)) > 0.5


def test_weights_for_speed_and_turning_rate():
    registration = register([samples.load(name) for name in ("walk", "run", "turn-left", "turn-right")], reference=0)
    own = parameters(registration)
    assert own[0].speed == pytest.approx(1.35, abs=0.05)
    assert own[1].speed == pytest.approx(3.0, abs=0.1)
    assert own[2].turn == pytest.approx(0.69, abs=0.05)
    for speed, turn in ((2.0, 0.0), (1.4, 0.2), (1.3, -0.3)):
        weights = weights_for(registration, speed=speed, turn=turn)
        assert weights.min() >= 0
        motion = blend(registration, weights, fps=60.0, method=None).motion
        path = RootPath.of(motion, root_reference(registration.character))
        gone = np.hypot(*path.steps()[1].sum(axis=0)) / motion.duration
        assert gone == pytest.approx(speed, rel=0.05)
        assert (path.heading[-1] - path.heading[0]) / motion.duration == pytest.approx(turn, abs=0.06)
    with pytest.raises(MotionError, match="neither"):
        weights_for(registration)


def test_arm_of_one_clip_on_the_body_of_another():
    clips = [samples.load("run"), samples.load("clap")]
    registration = side_by_side(clips)
    solution = blend(registration, [1.0, 0.0], parts={"right_arm": [0.0, 1.0]}, fps=60.0, method=None)
    character = registration.character
    arm = part_joints(character, "right_arm")
    times = np.arange(len(solution.motion)) / 60.0
    run, clap = (clip.motion.at(times) for clip in clips)
    for motion, joints in ((clap, arm), (run, ~arm)):
        apart = rotation.angle(solution.motion.rotations[:, joints], motion.rotations[:, joints])
        assert apart.max() < 1e-6
    np.testing.assert_allclose(solution.motion.root, run.root, atol=2e-3)
    with pytest.raises(MotionError, match="part among"):
        part_joints(character, "tail")
    with pytest.raises(MotionError, match="without the root"):
        blend(registration, [1.0, 0.0], parts={"hips": [0.0, 1.0]}, method=None)


def test_loops_are_blended_for_many_cycles():
    clips = [samples.load(name) for name in ("walk", "run")]
    loops = [replace(clip, motion=cut_loop(clip.motion, clip.character, *find_loop(clip))) for clip in clips]
    registration = register(loops, reference=0, ends="loop")
    solution = blend(registration, [0.5, 0.5], cycles=4, fps=60.0)
    assert solution.motion.duration == pytest.approx(4 * 0.9, abs=0.05)
    assert drift(solution) <= 2.0
    steps = np.linalg.norm(np.diff(solution.motion.root, 2, axis=0), axis=1) * 3600.0
    assert steps.max() < 30.0


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [np.nan, 1.0]])
def test_bad_weights(weights):
    with pytest.raises(MotionError, match="expected"):
        blend(pair("walk", "run"), weights)


@pytest.mark.parametrize("method", ["perframe", "filtered"])
def test_every_method_locks_the_feet(method):
    solution = blend(pair("walk", "run"), [0.5, 0.5], fps=30.0, method=method)
    assert drift(solution) <= 2.0


def test_mean_pose_agrees_with_numpy():
    rng = np.random.default_rng(3)
    poses = rotation.normalize(rng.normal(size=(3, 5, 7, 4)))
    near = rotation.normalize(poses[:1] + 0.2 * rng.normal(size=poses.shape)) * rng.choice([-1, 1], size=(3, 5, 7, 1))
    weights = rng.random((3, 5, 7))
    out = np.empty((5, 7, 4))
    kernel.mean_poses(near, weights, out)
    heaviest = np.take_along_axis(near, weights.argmax(axis=0)[None, ..., None], axis=0)
    sides = np.where((near * heaviest).sum(axis=-1) < 0, -1.0, 1.0)
    twin = rotation.normalize((near * (sides * weights)[..., None]).sum(axis=0))
    np.testing.assert_allclose(out, twin, atol=1e-12)
    assert rotation.angle(out, np.stack([rotation.mean(near[:, f], weights[:, f]) for f in range(5)])).max() < 0.06


def test_compose_of_one_motion_is_identity():
    clip = samples.load("turn-left")
    same = compose([clip.motion], np.ones((len(clip.motion), 1)), clip.character)
    np.testing.assert_allclose(same.root, clip.motion.root, atol=1e-9)
    assert rotation.angle(same.rotations, clip.motion.rotations).max() < 1e-7
    with pytest.raises(MotionError, match="weights of shape"):
        compose([clip.motion], np.ones((3, 1)), clip.character)


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_command(capsys, tmp_path):
    out = tmp_path / "jog.bvh"
    code, told, err = run(
        capsys, "blend", "sample:walk", "sample:run", "--weights", "0.5,0.5", "--fps", 30, "-o", out, "--json"
    )
    assert (code, err) == (0, "")
    told = json.loads(told)
    assert told["status"] == "solved"
    assert told["weights"] == [[0.5, 0.5]]
    assert told["after"]["worst_plant"]["drift"] < 2.0
    assert len(footplant.load(out).motion) > 60
    faster = ["--speed", 2, "--method", "none", "-o", tmp_path / "b.bvh", "--json"]
    code, told, _ = run(capsys, "blend", "sample:walk", "sample:run", *faster)
    assert code == 0
    assert 0.2 < json.loads(told)["weights"][0][0] < 0.8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sample:walk"], "two or more clips"),
        (["sample:walk", "sample:run", "--weights", "1,2,3"], "expected 2 numbers"),
        (["sample:walk", "sample:run", "--weights", "a,b"], "numbers separated by commas"),
        (["sample:walk", "sample:run", "--weights", "1:1,0 0:0,1"], "increasing times"),
        (["sample:walk", "sample:run", "--weights", "1,0", "--speed", "2"], "either"),
        (["sample:walk", "sample:run", "--part", "right_arm"], "right_arm=0,1"),
        (["sample:walk", "sample:run", "--reference", "3"], "1 to 2"),
        (["sample:walk", "sample:run", "--method", "magic"], "method among"),
    ],
)
def test_command_errors(capsys, tmp_path, arguments, words):
    code, out, err = run(capsys, "blend", *arguments, "-o", tmp_path / "a.bvh")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err
    assert not (tmp_path / "a.bvh").exists()


@pytest.mark.named("bvh/cmu/35_01.bvh", "bvh/cmu/09_01.bvh")
def test_captured_walk_and_run(shared):
    clips = [footplant.load(shared / "bvh" / "cmu" / f"{name}.bvh") for name in ("35_01", "09_01")]
    clips = [replace(clip, motion=clip.motion.resample(60.0)) for clip in clips]
    registration = register(clips, reference=0)
    for weight in (0.0, 0.5, 1.0):
        solution = blend(registration, [1.0 - weight, weight], fps=60.0)
        assert drift(solution) <= 2.0


def test_contacts_across_the_seam_end_as_those_where_the_loop_starts(monkeypatch):
    """A walk that stops: the last stance, which begins in the loop, is as long as the one that the loop starts in."""
    from footplant.blending import loops
    from footplant.contacts.detection import Contacts, Plant
    from footplant.geometry import Plane

    clip = footplant.load("sample:walk")
    spans = [("left_ball", 10, 40), ("left_ball", 90, 300), ("right_ball", 20, 55), ("right_ball", 105, 300)]
    plants = tuple(Plant(point, start, end, np.zeros(3)) for point, start, end in spans)
    whole = Contacts(plants, ("left_ball", "right_ball"), 300, 60.0, Plane())
    monkeypatch.setattr(loops, "contacts_of", lambda _: whole)
    # 0.5 s to 1.67 s: frames 30 to 100; the right ball lands after the loop, as it did before it
    found = loops.loop_contacts(clip, 30 / 60, 100 / 60)
    assert [(plant.point, plant.start, plant.end) for plant in found.plants] == [
        ("left_ball", 60, 80), ("right_ball", 0, 25),
    ]  # fmt: skip


def test_a_stance_in_which_a_whole_clip_loops_is_one_contact(monkeypatch):
    """Not one up to the seam and another one from it, at another place."""
    from footplant.blending import loops
    from footplant.contacts.detection import Contacts, Plant
    from footplant.geometry import Plane

    clip = footplant.load("sample:walk")
    plants = tuple(Plant("left_ball", start, end, np.zeros(3)) for start, end in [(0, 10), (90, 101)])
    monkeypatch.setattr(loops, "contacts_of", lambda _: Contacts(plants, ("left_ball",), 101, 60.0, Plane()))
    found = loops.loop_contacts(clip, 0.0, 100 / 60)
    assert [(plant.start, plant.end) for plant in found.plants] == [(90, 110)]
