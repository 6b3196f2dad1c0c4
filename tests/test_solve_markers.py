"""Markers to motion: synthetic takes with ground truth, derivatives, labels, damaged takes, and end to end."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from c3d_made import Made as MadeC3d
from footplant import rotation, samples
from footplant.cli import main
from footplant.errors import ConstraintError, MotionError
from footplant.io import load, save_markers
from footplant.kinematics import Kinematics
from footplant.markers import Markers
from footplant.optical import _margin as marker_margin
from footplant.optical import _shared as marker_shared
from footplant.optical import calibration as marker_calibration
from footplant.optical import smooth as marker_smooth
from footplant.optical import step as marker_step
from footplant.optical._pose import PosedMarkers
from footplant.optical.body import LENGTHS, MarkerBody, Poses, joint_changes, length_changes, pose_changes, pose_markers
from footplant.optical.marker_sets import from_table, recognise
from footplant.optical.pose import PosePrior, normal_equations, solve_poses
from footplant.optical.prior import BodyPrior
from footplant.optical.settings import POSE, SMOOTHING
from footplant.optical.solve import solve_markers
from footplant.result import Result
from markers_made import CMU_41, PLUG_IN_GAIT, Made, range_of_motion, wear
from thorough import thorough

LEG = {"thigh": ("upper_leg", "lower_leg"), "shank": ("lower_leg", "foot")}
ARM = {"upper arm": ("upper_arm", "lower_arm"), "forearm": ("lower_arm", "hand")}


def length(character, pair: tuple[str, str]) -> float:
    roles, places = character.require_roles(), character.skeleton.posed(character.skeleton.rest)[0]
    return float(np.linalg.norm(places[roles[f"left_{pair[0]}"]] - places[roles[f"left_{pair[1]}"]]))


def joint_errors(solved: Result, made: Made) -> dict[str, float]:
    """Return role → RMS over the take, mm."""
    roles = made.wearer.require_roles()
    away = np.linalg.norm(Kinematics(solved.clip.motion).positions - made.joints, axis=-1)
    rms = 1000.0 * np.sqrt(np.mean(away**2, axis=0))
    return {role: float(rms[joints[-1]]) for role, joints in roles.joints.items()}


@cache
def walked() -> tuple[Made, Result]:
    made = wear(CMU_41, "walk", "tall", seed=2)
    return made, solve_markers(made.markers)


@cache
def kicked() -> tuple[Made, Result]:
    made = wear(PLUG_IN_GAIT, "kick", "small", seed=2)
    return made, solve_markers(made.markers)


@pytest.mark.parametrize("take", thorough([walked], [walked, kicked]))
def test_lengths_and_joints_of_synthetic_takes(take) -> None:
    made, solved = take()
    for name, pair in {**LEG, **ARM}.items():
        assert abs(length(solved.clip.character, pair) - length(made.wearer, pair)) < 0.003, name
    errors = joint_errors(solved, made)
    assert errors["hips"] < 4.0
    assert max(errors[f"{side}_upper_leg"] for side in ("left", "right")) < 5.0
    assert np.sqrt(np.mean(np.square(list(errors.values())))) < 5.0
    assert solved.report.markers[0].median < 2.0


def test_swapped_labels_are_corrected() -> None:
    made, solved = walked()
    found = {line.partition(":")[0] for line in solved.report.markers[0].swaps}
    assert made.swapped
    right = {frame for frame, _, _ in made.swapped if f"frame {frame}" in found}
    assert len(right) >= 0.8 * len({frame for frame, _, _ in made.swapped})
    assert len(solved.report.markers[0].swaps) <= len(made.swapped) + 1


def test_a_range_of_motion_calibrates_other_takes(coarse_calibration) -> None:
    ranging = wear(PLUG_IN_GAIT, range_of_motion(), "tall", seed=7)
    made = wear(PLUG_IN_GAIT, "stand", "tall", seed=7)
    by_itself, solved = solve_markers(made.markers), solve_markers(made.markers, calibration=ranging.markers)
    for name, pair in {**LEG, **ARM}.items():
        assert abs(length(solved.clip.character, pair) - length(made.wearer, pair)) < 0.003, name
    width = [np.linalg.norm(np.diff(shoulders(x), axis=0)) for x in (solved.clip.character, made.wearer)]
    assert abs(width[0] - width[1]) < 0.003
    before, after = (np.square(list(joint_errors(x, made).values())).mean() for x in (by_itself, solved))
    assert after < before
    assert after < 5.0**2


def shoulders(character) -> np.ndarray:
    roles, places = character.require_roles(), character.skeleton.posed(character.skeleton.rest)[0]
    return places[[roles["left_upper_arm"], roles["right_upper_arm"]]]


def test_a_calibration_take_without_the_markers_raises() -> None:
    made = wear(CMU_41, "stand", hidden=0.0, swaps=0.0).markers
    with pytest.raises(MotionError, match="the same markers, got one that shows 40 of 41, without LKNE"):
        solve_markers(made, calibration=made.select([label for label in CMU_41 if label != "LKNE"]))


def jerk(joints: np.ndarray) -> float:
    return float(np.median(np.linalg.norm(np.diff(joints, n=3, axis=0), axis=-1)))


def test_smoothing_keeps_the_fit_to_markers_and_truth() -> None:
    made, solved = walked()
    smooth = solve_markers(made.markers, smooth=True)
    rough, calm = (Kinematics(x.clip.motion).positions for x in (solved, smooth))
    assert jerk(calm) < 0.4 * jerk(rough)
    assert smooth.report.markers[0].median < solved.report.markers[0].median + 0.5
    before, after = (np.linalg.norm(x - made.joints, axis=-1) for x in (rough, calm))
    assert np.sqrt(np.mean(after**2)) < np.sqrt(np.mean(before**2)) + 1e-4


def test_smoothing_windows_join(monkeypatch, coarse_calibration) -> None:
    made, _ = walked()
    part = made.markers[:200]
    whole = Kinematics(solve_markers(part, smooth=True).clip.motion).positions
    monkeypatch.setattr(marker_smooth, "SMOOTHING", replace(SMOOTHING, window=90, overlap=30))
    pieces = Kinematics(solve_markers(part, smooth=True).clip.motion).positions
    assert np.abs(pieces - whole).max() < 0.003


def a_body() -> tuple[MarkerBody, np.ndarray, np.ndarray, Poses, np.ndarray]:
    body = MarkerBody.of(samples.load_character("mannequin"), recognise(CMU_41)[1])
    rng = np.random.default_rng(4)
    lengths = 1.0 + 0.05 * rng.standard_normal(1 + len(LENGTHS))
    offsets = body.landmarks.places(body.bones(lengths), lengths[0]) + 0.01 * rng.standard_normal((41, 3))
    turns = rotation.exp(0.2 * rng.standard_normal((2, len(body.neutral), 3)))
    poses = Poses(rng.standard_normal((2, 3)), rotation.multiply(body.neutral, turns))
    targets = pose_markers(body, body.bones(lengths), offsets, poses).places + 0.02 * rng.standard_normal((2, 41, 3))
    targets[0, 3] = np.nan
    return body, lengths, offsets, poses, targets


def test_jacobians_against_finite_differences() -> None:
    body, lengths, offsets, poses, _ = a_body()
    bones = body.bones(lengths)
    seen = pose_markers(body, bones, offsets, poses)
    told = pose_changes(body, seen)
    small = 1e-6
    for column in range(told.shape[-1]):
        step = np.zeros((2, told.shape[-1]))
        step[:, column] = small
        ahead, behind = (pose_markers(body, bones, offsets, poses.moved(s, body.active)).places for s in (step, -step))
        np.testing.assert_allclose(told[..., column], (ahead - behind) / (2 * small), atol=1e-8)
    changes = body.bone_changes(lengths)
    by_length, by_landmark = length_changes(body, seen, changes), body.landmarks.changes(changes)
    for column in range(len(lengths)):
        step = np.zeros(len(lengths))
        step[column] = small
        bones_ahead, bones_behind = body.bones(lengths + step), body.bones(lengths - step)
        ahead, behind = (pose_markers(body, b, offsets, poses).places for b in (bones_ahead, bones_behind))
        np.testing.assert_allclose(by_length[..., column], (ahead - behind) / (2 * small), atol=1e-7)
        first, second = (body.landmarks.places(b, 1.1) for b in (bones_ahead, bones_behind))
        np.testing.assert_allclose(by_landmark[..., column], (first - second) / (2 * small), atol=1e-7)


def twin(body, seen, poses, targets, prior, spread, outlier):
    """Return the kernel's normal equations in NumPy."""
    hidden = np.isnan(targets[..., :1])
    misfit = np.where(hidden, 0.0, seen.places - targets)
    squares = np.sum(misfit**2, axis=-1)
    share = np.where(hidden[..., 0], 0.0, 1.0 / (1.0 + squares / outlier**2)) / spread
    jacobian = (pose_changes(body, seen) * share[..., None, None]).reshape(len(targets), -1, 3 + 3 * len(body.active))
    residual = (misfit * share[..., None]).reshape(len(targets), -1)
    hessian = np.einsum("fri,frj->fij", jacobian, jacobian)
    gradient = np.einsum("fri,fr->fi", jacobian, residual)
    cost = np.sum(np.where(hidden[..., 0], 0.0, squares / (1.0 + squares / outlier**2)) / spread**2, axis=1)
    turn = rotation.log(rotation.multiply(rotation.inverse(prior), poses.rotations))[:, body.active]
    about = np.einsum("aij,faj->fai", body.axes, turn)
    stiff = 1.0 / np.where(about * body.one_way < 0.0, POSE.hyperextension, body.spreads)
    changes: dict[int, np.ndarray] = {}
    for f in range(len(targets)):
        for row in range(len(body.active)):
            v = turn[f, row]
            skew = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
            angle = np.linalg.norm(v)
            bend = 1 / angle**2 - (1 + np.cos(angle)) / (2 * angle * np.sin(angle))
            change = (stiff[f, row][:, None] * body.axes[row]) @ (np.eye(3) + 0.5 * skew + bend * skew @ skew)
            part = slice(3 + 3 * row, 6 + 3 * row)
            hessian[f, part, part] += change.T @ change
            gradient[f, part] += change.T @ (stiff[f, row] * about[f, row])
            cost[f] += np.sum((stiff[f, row] * about[f, row]) ** 2)
            changes[row] = body.axes[row] @ (np.eye(3) + 0.5 * skew + bend * skew @ skew)
            mate = body.coupled[row]
            if mate >= 0:
                apart, firm = about[f, row] - about[f, mate], body.coupling_spread[row] ** -2.0
                other = slice(3 + 3 * mate, 6 + 3 * mate)
                both = np.zeros((3, hessian.shape[-1]))
                both[:, part], both[:, other] = changes[row], -changes[mate]
                hessian[f] += firm * both.T @ both
                gradient[f] += firm * both.T @ apart
                cost[f] += firm * np.sum(apart**2)
    return hessian, gradient, cost


def test_normal_equations_agree_with_numpy_and_finite_differences() -> None:
    body, lengths, offsets, poses, targets = a_body()
    bones = body.bones(lengths)
    seen = pose_markers(body, bones, offsets, poses)
    spread = np.linspace(0.002, 0.01, 41)
    prior = PosePrior(body.neutral)
    ours = normal_equations(body, seen, poses, targets, prior, spread=spread, outlier=0.05)
    for found, expected in zip(ours, twin(body, seen, poses, targets, body.neutral, spread, 0.05), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-9 * np.abs(expected).max())
    small = 1e-6
    for column in (0, 1, 4, 20, 41, ours[1].shape[1] - 1):
        step = np.zeros_like(ours[1])
        step[:, column] = small
        costs = []
        for way in (step, -step):
            moved = poses.moved(way, body.active)
            there = pose_markers(body, bones, offsets, moved)
            costs.append(normal_equations(body, there, moved, targets, prior, spread=spread, outlier=0.05)[2])
        np.testing.assert_allclose(ours[1][:, column], (costs[0] - costs[1]) / (4 * small), rtol=1e-4, atol=1e-2)


def test_elimination_equals_the_schur_complement() -> None:
    rng = np.random.default_rng(0)
    own, weights, residual = rng.standard_normal((3, 4, 3, 5)), rng.random((3, 4)), rng.standard_normal((3, 4, 3))
    by_length, axes = rng.standard_normal((3, 4, 3, 2)), rng.standard_normal((3, 4, 3, 3))
    own[:, 2, :, 3:], weights[1, 1] = 0.0, 0.0
    shared = np.zeros((3, 4, 3, 14))
    shared[..., :2] = by_length
    for marker in range(4):
        shared[:, marker, :, 2 + 3 * marker : 5 + 3 * marker] = axes[:, marker]
    coupling, system, right = np.zeros((3, 5, 14)), np.zeros((14, 14)), np.zeros(14)
    marker_shared.couple(own, weights, by_length, axes, residual, coupling, system, right)
    np.testing.assert_allclose(coupling, np.einsum("fmri,fm,fmrs->fis", own, weights, shared), atol=1e-12)
    expected = np.einsum("fmrs,fm,fmrt->st", shared, weights, shared)
    np.testing.assert_allclose(np.tril(system), np.tril(expected), atol=1e-12)
    np.testing.assert_allclose(right, np.einsum("fmrs,fm,fmr->s", shared, weights, residual), atol=1e-12)
    hessian = np.einsum("fmri,fmrj->fij", own, own)
    gradient, step = rng.standard_normal((3, 5)), rng.standard_normal(14)
    lower, left, made, out = np.zeros((3, 5, 5)), gradient.copy(), coupling.copy(), np.empty((3, 5))
    marker_shared.eliminate(hessian, 0.0, left, made, lower)
    np.testing.assert_allclose(lower.transpose(0, 2, 1) @ lower, hessian, rtol=1e-9, atol=1e-9)
    told = np.linalg.solve(hessian, np.concatenate([coupling, gradient[..., None]], axis=2))
    marker_shared.reduce(left, made, system, right)
    whole = expected - np.einsum("fis,fit->st", coupling, told[..., :-1])
    np.testing.assert_allclose(np.tril(system), np.tril(whole), rtol=1e-8, atol=1e-9)
    lesser = np.einsum("fmrs,fm,fmr->s", shared, weights, residual) - np.einsum("fis,fi->s", coupling, told[..., -1])
    np.testing.assert_allclose(right, lesser, rtol=1e-8, atol=1e-9)
    marker_shared.follow(lower, left, made, step, out)
    np.testing.assert_allclose(out, -(told[..., -1] + told[..., :-1] @ step), rtol=1e-8)


def test_absorbed_noise_gradient_against_finite_differences() -> None:
    body, lengths, offsets, poses, targets = a_body()
    # the prior pose is the pose itself, with equal spreads: only the markers' part changes
    body.__dict__.update(spreads=np.full_like(body.spreads, 0.02), one_way=np.zeros_like(body.spreads))
    count, size = len(body.base.skeleton), 3 + 3 * len(body.active)

    def absorbed(lengths, offsets, poses, spreads=None):
        seen, held = pose_markers(body, body.bones(lengths), offsets, poses), PosePrior(poses.rotations)
        hessian, held_only = (
            normal_equations(body, seen, poses, t, held, spread=0.002, outlier=1e3)[0]
            for t in (targets, np.full_like(targets, np.nan))
        )
        spreads, out = np.empty_like(hessian) if spreads is None else spreads, np.empty(2)
        marker_margin.absorbed_dof(hessian, held_only, spreads, out)
        inverse = np.linalg.inv(hessian)
        np.testing.assert_allclose(out, size - np.einsum("fij,fji->f", inverse, held_only), rtol=1e-9)
        np.testing.assert_allclose(spreads, inverse @ held_only @ inverse, rtol=1e-6, atol=1e-12)
        return float(out.sum())

    spreads = np.empty((2, size, size))
    absorbed(lengths, offsets, poses, spreads)
    seen = pose_markers(body, body.bones(lengths), offsets, poses)
    by_joint, by_offset, by_pose = np.zeros((2, count, 3)), np.zeros_like(offsets), np.zeros((2, size))
    marker_margin.absorbed_dof_gradient(
        body.tables(), PosedMarkers(seen.places, seen.joints, seen.turned), targets,
        np.full(41, 0.002**-2.0), spreads, by_joint, by_offset, by_pose,
    )  # fmt: skip
    small, one = 1e-5, np.eye
    for row in (0, 5, 20):
        step = small * one(offsets.size)[3 * row].reshape(offsets.shape)
        both = [absorbed(lengths, offsets + way * step, poses) for way in (1.0, -1.0)]
        assert by_offset[row, 0] == pytest.approx((both[0] - both[1]) / (4 * small), rel=1e-4, abs=1e-6)
    moved = joint_changes(body, seen, body.bone_changes(lengths))
    by_length = np.tensordot(moved, by_joint, ((0, 1, 2), (0, 1, 2)))
    for row in (0, 1, 5, 7):
        step = small * one(len(lengths))[row]
        both = [absorbed(lengths + way * step, offsets, poses) for way in (1.0, -1.0)]
        assert by_length[row] == pytest.approx((both[0] - both[1]) / (4 * small), rel=1e-4, abs=1e-6)
    for column in (7, 15, 20, 40):
        step = np.zeros((2, size))
        step[0, column] = small
        both = [absorbed(lengths, offsets, poses.moved(way * step, body.active)) for way in (1.0, -1.0)]
        assert by_pose[0, column] == pytest.approx((both[0] - both[1]) / (4 * small), rel=1e-3, abs=1e-5)


def test_absorbed_noise_is_the_sum_of_marker_leverages() -> None:
    body, lengths, offsets, poses, targets = a_body()
    bones = body.bones(lengths)
    posture, prior = np.zeros_like(body.spreads), BodyPrior.of(body)
    state = marker_step.CalibrationState(lengths, offsets, poses, np.full(41, 0.002), bones, posture, prior, 1.0)
    seen = pose_markers(body, bones, offsets, poses)
    each = np.where(np.isnan(targets[..., 0]), 0.0, marker_step.leverage(body, state, seen, targets))
    np.testing.assert_allclose(each.sum(axis=1), marker_step.absorbed_noise(body, state, seen, targets)[0], rtol=1e-6)
    assert each.max() < 3.0


def test_jumping_markers_are_detected_and_fast_ones_are_not() -> None:
    time = np.arange(60) / 120.0
    swing = np.stack([0.4 * np.sin(12.0 * time), 0.4 * np.cos(12.0 * time), 2.0 * time], axis=-1)
    targets = np.stack([swing, 0.5 * swing], axis=1)
    targets[30, 1] += [0.0, 0.1, 0.0]
    targets[10:13, 0] = np.nan
    np.testing.assert_array_equal(np.argwhere(marker_calibration.find_jumps(targets, 120.0)), [[30, 1]])
    assert not marker_calibration.find_jumps(targets, 25.0).any()


def test_poses_are_as_good_as_those_of_scipy() -> None:
    from scipy.optimize import least_squares

    body, lengths, offsets, poses, targets = a_body()
    bones, target, start = body.bones(lengths), targets[:1], poses[:1]
    found = solve_poses(body, bones, offsets, target, start, outlier=1e3, iterations=60)

    def residuals(step):
        moved = start.moved(step[None], body.active)
        away = (pose_markers(body, bones, offsets, moved).places - target)[0] / 0.008
        turn = rotation.log(rotation.multiply(rotation.inverse(body.neutral), moved.rotations[0]))[body.active]
        about = np.einsum("aij,aj->ai", body.axes, turn)
        stiff = np.where(about * body.one_way < 0.0, POSE.hyperextension, body.spreads)
        mated = body.coupled >= 0
        apart = (about[mated] - about[body.coupled[mated]]) / body.coupling_spread[mated, None]
        return np.concatenate([np.nan_to_num(away).ravel(), (about / stiff).ravel(), apart.ravel()])

    best = least_squares(residuals, np.zeros(3 + 3 * len(body.active)))
    seen = pose_markers(body, bones, offsets, found)
    cost = normal_equations(body, seen, found, target, PosePrior(body.neutral), outlier=1e3)[2][0]
    assert cost < 2.0 * best.cost * 1.001


@pytest.mark.parametrize(
    ("labels", "name", "places"),
    [
        (
            "LASI RASI LPSI RPSI LTHI LKNE LTIB LANK LHEE LTOE RFHD C7 PELO LTIP",
            "Plug-in Gait",
            {"LASI": ("hips", "front waist"), "LTIB": ("left_lower_leg", "shin"), "LTOE": ("left_foot", "forefoot")},
        ),
        (
            "LFWT RFWT LBWT RBWT LSHN RSHN LMT5 RMT5 RBAC LFRM",
            "CMU 41",
            {"RBAC": ("chest", "side of the back"), "LFRM": ("left_lower_arm", "forearm")},
        ),
        (
            "R.ASIS L.ASIS V.Sacral R.Thigh R.Shank R.Knee.Medial R.Offset R.Toe Top.Head",
            "Helen Hayes",
            {"R.Knee.Medial": ("right_upper_leg", "inner knee"), "V.Sacral": ("hips", "sacrum")},
        ),
        (
            "LLEK RLEK LMEK LATI LGTRO XYPH JN LDELT LLEE",
            "Motek Human Body Model",
            {"LLEK": ("left_upper_leg", "knee"), "JN": ("chest", "throat"), "LDELT": ("left_upper_arm", "upper arm")},
        ),
        (
            "WaistLFront WaistRFront LKneeOut RKneeOut LUArmHigh BackTop HeadTop BackLeft",
            "OptiTrack Baseline",
            {"WaistLFront": ("hips", "front waist"), "BackTop": ("chest", "neck base")},
        ),
    ],
)
def test_marker_sets_are_recognised_by_labels(labels: str, name: str, places: dict) -> None:
    words = labels.split()
    found, stuck = recognise(words)
    assert found == name
    told = {words[item.marker]: (item.role, item.landmark) for item in stuck}
    assert {label: told[label] for label in places} == places
    assert not {"PELO", "LTIP"} & told.keys()


@pytest.mark.parametrize("label", ["PELO", "PELA", "TRXO", "HEDO", "LFEO", "LTIO", "LTOP", "RHNO", "unlabelled", "*1"])
def test_virtual_points_are_left_out(label: str) -> None:
    assert recognise([label])[1] == []


def test_gaps_of_a_forearm_are_bridged(coarse_calibration) -> None:
    made = wear(CMU_41, "walk", seed=3, hidden=0.0, swaps=0.0)
    places = np.array(made.markers.positions)
    forearm = [CMU_41.index(label) for label in ("LFRM", "LWRA", "LWRB", "LFIN", "LELB")]
    places[200:220, forearm] = np.nan
    places[300:303, CMU_41.index("RKNE")] += 0.4
    solved = solve_markers(replace(made.markers, positions=places))
    joints = Kinematics(solved.clip.motion).positions
    away = np.linalg.norm(joints - made.joints, axis=-1)
    roles = made.wearer.require_roles()
    hand, knee = roles["left_hand"], roles["right_lower_leg"]
    usual = np.median(away[:, hand])
    assert away[200:220, hand].max() < usual + 0.08
    assert np.linalg.norm(np.diff(joints[:, hand], axis=0), axis=-1).max() < 0.05
    assert away[300:303, knee].max() < np.median(away[:, knee]) + 0.02
    assert max(fit.longest_gap for fit in solved.report.markers[0].markers) == 20


def test_two_people_and_partial_marker_sets(coarse_calibration) -> None:
    first = wear(PLUG_IN_GAIT, "stand", seed=1, hidden=0.0, swaps=0.0)
    count = 60
    legs = [label for label in PLUG_IN_GAIT if label[1:] in ["ASI", "PSI", "THI", "KNE", "TIB", "ANK", "HEE", "TOE"]]
    lower = first.markers.select(legs)
    names = tuple(f"Ann:{label}" for label in PLUG_IN_GAIT) + tuple(f"Ben:{label}" for label in legs)
    places = np.concatenate([first.markers.positions, lower.positions + [2.0, 0.0, 0.0]], axis=1)[:count]
    both = solve_markers(Markers(names, places, first.markers.fps))
    assert both.report.markers[0].subject == "Ann"
    assert [fit.subject for fit in both.report.markers] == ["Ann", "Ben"]
    assert "arms" in both.report.markers[1].notes[0]
    other = both.clip.others[0]
    assert abs(float(np.mean(other.motion.root[:, 0] - both.clip.motion.root[:, 0])) - 2.0) < 0.05
    assert solve_markers(Markers(names, places, first.markers.fps), subject="Ben").report.markers[0].subject == "Ben"


def no_labels() -> Markers:
    made = wear(CMU_41, "stand", hidden=0.0).markers
    return replace(made, names=tuple(f"point{n}" for n in range(41)))


def test_invalid_takes_raise() -> None:
    made = wear(CMU_41, "stand", hidden=0.0).markers[:20]
    with pytest.raises(MotionError, match=r"6 or more markers with known labels .* got point0"):
        solve_markers(no_labels())
    with pytest.raises(MotionError, match="known labels"):
        solve_markers(made.select(["LKNE", "LANK"]))
    with pytest.raises(MotionError, match="hidden in every frame"):
        solve_markers(replace(made, positions=np.full_like(made.positions, np.nan)))
    with pytest.raises(MotionError, match=r"expected a body .* units"):
        solve_markers(made.scaled(1000.0))
    with pytest.raises(MotionError, match="more than once"):
        replace(made, names=("Ann:LKNE",) * 41)
    with pytest.raises(ConstraintError, match="marker of the take, got 'M9'"):
        solve_markers(made, table={"M9": "left knee"})
    with pytest.raises(ConstraintError, match="landmark or a segment"):
        from_table(["M1"], {"M1": "left antenna"})
    with pytest.raises(ConstraintError, match="left or right"):
        from_table(["M1"], {"M1": "thigh"})
    with pytest.raises(MotionError, match="expected a subject among"):
        solve_markers(made, subject="Zoe")


@pytest.fixture(scope="module")
def take(tmp_path_factory):
    path = tmp_path_factory.mktemp("take") / "take.trc"
    save_markers(path, wear(CMU_41, "walk", seed=5).markers[:120])
    return path


def test_the_command_writes_a_motion_a_report_and_a_picture(take, tmp_path, capsys, coarse_calibration) -> None:
    out, report, picture = tmp_path / "out.bvh", tmp_path / "report.json", tmp_path / "fit.png"
    code = main(["solve", str(take), "-o", str(out), "--report", str(report), "--picture", str(picture), "--json"])
    assert code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["marker_set"] == "CMU 41"
    assert told["median"] < 3.0
    assert json.loads(report.read_text())["frames"] == 120
    assert picture.stat().st_size > 10_000
    assert len(load(out).motion) == 120


def test_the_command_calibrates_with_another_take(take, tmp_path, capsys, coarse_calibration) -> None:
    ranging, out = tmp_path / "range.trc", tmp_path / "out.bvh"
    save_markers(ranging, wear(CMU_41, range_of_motion(2.0), seed=5).markers)
    assert main(["solve", str(take), "-o", str(out), "--calibration", str(ranging), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["median"] < 3.0
    assert main(["solve", str(take), "-o", str(out), "--calibration", str(tmp_path / "none.trc"), "--overwrite"]) == 2


def test_retarget_markers_to_another_character(take, tmp_path, capsys, coarse_calibration) -> None:
    out = tmp_path / "out.glb"
    assert main(["retarget", str(take), "--to", "sample:blubby", "-o", str(out)]) == 0
    clip = load(out)
    assert len(clip.motion) == 120
    assert clip.character.height < 1.6


@pytest.mark.parametrize(
    ("table", "said"),
    [('M1 = "left', "expected TOML"), ("M1 = 3", "lines such as"), ('NOPE = "left knee"', "marker of the take")],
)
def test_invalid_tables_exit_with_one_line_and_code_two(take, tmp_path, capsys, table: str, said: str) -> None:
    file = tmp_path / "table.toml"
    file.write_text(table)
    assert main(["solve", str(take), "-o", str(tmp_path / "out.bvh"), "--labels", str(file)]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out.bvh").exists()


def bad_take(kind: str) -> Markers:
    made = wear(CMU_41, "stand", hidden=0.0, swaps=0.0).markers[:12]
    if kind == "no labels":
        return replace(made, names=tuple(f"point{n}" for n in range(41)))
    if kind == "too few":
        return made.select(["LKNE", "LANK", "LTOE"])
    if kind == "never seen":
        return replace(made, positions=np.full_like(made.positions, np.nan))
    return made


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("no labels", (), "expected 6 or more markers with known labels"),
        ("too few", (), "expected 6 or more markers with known labels"),
        ("never seen", (), "occluded in"),
        ("whole", ("--units", "m"), "other units than it says"),
        ("whole", ("--figure", "Zoe"), "expected a subject among"),
        ("whole", ("--pose", "500"), ""),
    ],
)
def test_invalid_takes_exit_with_one_line_and_code_two(kind, options, said, tmp_path, capsys) -> None:
    file, out = tmp_path / "take.trc", tmp_path / "out.bvh"
    save_markers(file, bad_take(kind), units="mm")
    code = main(["solve", str(file), "-o", str(out), *options])
    told = capsys.readouterr().err
    if not said:
        # a pose frame is only needed where labels are unknown
        assert code == 0
        return
    assert code == 2
    assert not out.exists()
    assert said in " ".join(told.split())
    assert "Traceback" not in told


def test_two_subjects_with_one_name_raise(tmp_path, capsys) -> None:
    made = wear(CMU_41, "stand", hidden=0.0, swaps=0.0).markers[:12]
    file = tmp_path / "two.c3d"
    labels = [f"Ann:{label}" for label in CMU_41] * 2
    both = np.concatenate([made.positions, made.positions + [2.0, 0.0, 0.0]], axis=1)
    file.write_bytes(MadeC3d(1000.0 * both[..., [2, 0, 1]], labels).bytes())
    code = main(["solve", str(file), "-o", str(tmp_path / "out.bvh")])
    told = " ".join(capsys.readouterr().err.split())
    assert code == 2
    assert "expected each marker of 'Ann' once" in told


def test_calibration_needs_a_frame_with_enough_markers() -> None:
    body = MarkerBody.of(samples.load_character("mannequin"), recognise(CMU_41)[1])
    targets = np.full((5, 41, 3), np.nan)
    targets[:, :4] = 1.0
    with pytest.raises(MotionError, match="6 or more markers in some frame, got at most 4"):
        marker_calibration.calibrate(body, targets, 120.0)
