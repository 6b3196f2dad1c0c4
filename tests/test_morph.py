"""Morphing: proportions that change during a walk, feet that change only in swing phases, footplants that hold."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import footplant
from footplant import samples
from footplant.cli import main
from footplant.clip import Clip
from footplant.constraints import Position
from footplant.constraints.base import check
from footplant.contacts.detection import find_contacts
from footplant.edits.morph import morph
from footplant.errors import MotionError, SkeletonError
from footplant.feet.changing_proportions import ProportionChange, on_skeleton_of
from footplant.feet.steps import find_steps, foot_length
from footplant.humanoid.proportions import Proportions, apply_proportions, proportions_of
from footplant.kinematics import Kinematics
from footplant.problem import Status
from footplant.samples.characters import PROPORTIONS
from footplant.skeleton import MovingPoint, Point
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.transfer import hip_centers, standing_hips


@pytest.fixture(scope="module")
def walk() -> Clip:
    """The sample walk at 60 frames per second."""
    clip = samples.load("walk")
    return replace(clip, motion=clip.motion.resample(60.0))


def lengths(motion, joints) -> np.ndarray:
    """Return the summed lengths (F,) of the bones above some joints, metres."""
    places = Kinematics(motion).positions
    parents = motion.skeleton.parents
    return sum(np.linalg.norm(places[:, j] - places[:, parents[j]], axis=1) for j in joints)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("names", "scaled"),
    [(("sally",), False), (("longlegs", "child"), False), (("sally", "blubby"), True), (("short",), True)],
)
def test_footplants_hold_while_proportions_change(walk, names, scaled):
    targets = [samples.load_character(name) for name in names]
    solution = morph(walk, targets, scale_footsteps=scaled)
    assert solution.status is Status.SOLVED
    after = solution.report.after
    assert after is not None
    assert after.worst_plant is not None
    assert after.worst_plant.drift < 1.0
    assert after.penetration_worst is not None
    assert after.penetration_worst < 5.0
    assert after.jerk_ratio is not None
    assert after.jerk_ratio < 2.0
    # the bones are those of each character at its stage
    roles = walk.character.require_roles()
    leg = [roles["left_lower_leg"], roles["left_foot"]]
    found = lengths(solution.motion, leg)
    for number, character in enumerate((walk.character, *targets)):
        frame = round(number / len(targets) * (len(walk.motion) - 1))
        assert found[frame] == pytest.approx(np.linalg.norm(character.skeleton.offsets[leg], axis=1).sum(), rel=2e-3)
    assert np.abs(np.diff(found, n=2)).max() < 1e-3


def test_kept_footsteps_stay_in_place(walk):
    solution = morph(walk, [samples.load_character("longlegs")])
    character = ProportionChange.of(
        walk,
        [walk.character, samples.load_character("longlegs")],
        find_steps(find_contacts(walk), foot_length(walk.character, "left")),
    ).character()
    kinematics = Kinematics(solution.motion)
    for plant in find_contacts(walk).plants:
        middle = (plant.start + plant.end) // 2
        place = kinematics.point(character.contacts[plant.point])[middle]
        assert np.linalg.norm(place - plant.place) < 0.02


def test_scaled_footsteps_follow_leg_length(walk):
    target = samples.load_character("short")
    solution = morph(walk, [target], scale_footsteps=True)
    distance = np.ptp(solution.motion.root[:, 2])
    assert 0.7 < distance / np.ptp(walk.motion.root[:, 2]) < 0.9  # between 60 % and 100 %
    after, before = (hip_centers(Kinematics(m), walk.character)[-1, 1] for m in (solution.motion, walk.motion))
    assert after / before == pytest.approx(0.6, rel=0.03)


def test_feet_change_only_in_swing_phases(walk):
    steps = find_steps(find_contacts(walk), foot_length(walk.character, "left"))
    change = ProportionChange.of(walk, [walk.character, samples.load_character("child")], steps)
    for step in steps:
        assert np.ptp(change.feet[step.side][step.start : step.end]) == 0.0
    assert change.feet["left"][0] == 0.0
    assert change.feet["right"][-1] == 1.0
    assert (np.diff(change.body) >= 0).all()


def test_morphing_into_the_same_character_changes_no_bones(walk):
    solution = morph(walk, [walk.character])
    assert solution.motion.offsets is not None
    assert np.abs(solution.motion.offsets - walk.character.skeleton.offsets).max() < 1e-12


def test_errors_without_the_exact_pass_fall_below_one_per_cent(walk):
    method = Hierarchical(spacings=(16.0, 8.0, 4.0, 2.0), exact=False)
    solution = morph(walk, [samples.load_character("longlegs")], method=method)
    errors = [level.worst_share for level in solution.report.levels]
    assert errors[0] > 3.0
    assert sorted(errors, reverse=True) == errors
    assert errors[-1] < 1.0


def test_unreachable_footsteps_are_reported(walk):
    tiny = apply_proportions(walk.character, legs=0.15)
    solution = morph(walk, [tiny])
    assert solution.status is Status.UNREACHABLE
    assert any("scale the footsteps" in text for text in solution.report.notes)


def test_morph_needs_a_target(walk):
    with pytest.raises(MotionError, match="at least one character"):
        morph(walk, [])


@pytest.mark.parametrize("name", ["sally", "blubby", "child", "longlegs"])
def test_proportions_are_measured_by_role(name):
    """The factors that made a character are recovered from its joints, except those that move no joint."""
    base, factors = samples.load_character("mannequin"), PROPORTIONS[name]
    found = proportions_of(samples.load_character(name), base)
    s = factors.scale
    expected = {
        "trunk": s * factors.trunk, "neck": s * factors.neck, "shoulders": s * factors.shoulders,
        "hips": s * factors.hips, "feet": s * factors.feet, "hands": s * factors.hands,
        "thigh": s * factors.legs * factors.thigh, "shank": s * factors.legs * factors.shank,
        "upper_arm": s * factors.arms * factors.upper_arm, "forearm": s * factors.arms * factors.forearm,
    }  # fmt: skip
    for key, value in expected.items():
        assert found.scale * getattr(found, key) == pytest.approx(value, rel=1e-6), key
    rebuilt = apply_proportions(base, found)
    target = samples.load_character(name)
    assert np.allclose(rebuilt.skeleton.offsets[1:], target.skeleton.offsets[1:], atol=0.03)
    assert proportions_of(base, base) == Proportions()


@pytest.mark.named("bvh/cmu/02_01.bvh")
def test_other_skeletons_lend_their_proportions(walk, shared):
    other = footplant.load(shared / "bvh" / "cmu" / "02_01.bvh").character
    resized = on_skeleton_of(walk.character, other)
    assert resized.skeleton.names == walk.character.skeleton.names
    assert standing_hips(resized) == pytest.approx(standing_hips(other), rel=0.05)
    solution = morph(walk, [other])
    assert solution.status is Status.SOLVED


def test_moving_points(walk):
    motion = walk.motion[:30]
    offsets = np.linspace([0.0, 0.0, 0.0], [0.0, 0.1, 0.0], 30)
    moving = MovingPoint(5, (0.0, 0.0, 0.0), offsets)
    kinematics = Kinematics(motion)
    for frame in (0, 13, 29):
        still = kinematics.point(Point(5, tuple(offsets[frame].tolist())))[frame]  # type: ignore[arg-type]
        assert np.allclose(kinematics.point(moving)[frame], still, atol=1e-12)
    picked = np.array([3, 17, 20])
    assert np.allclose(kinematics[picked].point(moving), kinematics.point(moving)[picked])
    constraint = Position(point=moving, target=(0.0, 1.0, 0.0))
    assert check(constraint, motion[:3]) < 1e-6
    assert "moves within a segment of the trunk" in (Hybrid(walk.character).refuses(constraint) or "")
    with pytest.raises(SkeletonError, match=r"expected a frame in 0\.\.29, got 30"):
        Kinematics(motion, np.arange(12, 42)).point(moving)


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("ending", ["glb", "bvh"])
def test_command_writes_moving_bones(capsys, tmp_path, ending):
    out = tmp_path / f"morph.{ending}"
    code, text, err = run(
        capsys, "morph", "sample:stop", "--to", "sample:longlegs", "--to", "sample:child", "-o", out, "--json"
    )
    assert code == 0, err
    printed = json.loads(text)
    assert printed["status"] == "solved"
    assert printed["to"] == ["sample:longlegs", "sample:child"]
    again = footplant.load(out)
    assert again.motion.offsets is not None
    knee, foot = (again.motion.skeleton.index(name) for name in ("LeftLowerLeg", "LeftFoot"))
    shank = np.linalg.norm(again.motion.offsets[:, foot], axis=1)
    thigh = np.linalg.norm(again.motion.offsets[:, knee], axis=1)
    child = samples.load_character("child").skeleton
    assert shank[-1] == pytest.approx(np.linalg.norm(child.offsets[child.index("LeftFoot")]), rel=0.01)
    assert thigh.max() > 1.3 * thigh[0]


@pytest.mark.parametrize(
    ("options", "out", "words"),
    [
        (("--to", "sample:nobody"), "m.glb", "expected a sample among"),
        (("--to", "sample:child"), "m.trc", "m.trc"),
        (("--to", "sample:child"), "m.doc", "m.doc"),
        (("--to", "missing.glb"), "m.glb", "no such file"),
        ((), "m.glb", "--to"),
    ],
)
def test_command_errors_are_one_line(capsys, tmp_path, options, out, words):
    code, text, err = run(capsys, "morph", "sample:stop", *options, "-o", tmp_path / out)
    assert (code, text) == (2, "")
    assert err.count("\n") == 1
    assert words in err
    assert not (tmp_path / out).exists()


def test_help_has_an_example(capsys):
    code, text, _ = run(capsys, "morph", "--help")
    assert code == 0
    assert "Example: footplant morph" in text
