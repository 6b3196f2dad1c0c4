"""Body prior of the marker solver: spreads estimated from a take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from footplant import rotation, samples
from footplant.kinematics import Kinematics
from footplant.markers import Markers
from footplant.optical.attachment import BEYOND
from footplant.optical.body import LENGTHS, MarkerBody
from footplant.optical.marker_sets import LANDMARKS, MarkerPlacement, recognise
from footplant.optical.prior import BodyPrior, residuals
from footplant.optical.settings import BODY_PRIOR
from footplant.optical.solve import solve_markers
from markers_made import CMU_41, wear


@pytest.fixture(scope="module")
def body() -> MarkerBody:
    return MarkerBody.of(samples.load_character("mannequin"), recognise(CMU_41)[1])


def test_residuals_are_zero_on_the_character_itself(body: MarkerBody) -> None:
    ones = np.ones(1 + len(LENGTHS))
    bones = body.bones(ones)
    off = residuals(body, ones, body.landmarks.places(bones, 1.0), bones, np.zeros_like(body.spreads), 1.0)
    np.testing.assert_allclose(off, 0.0, atol=1e-12)
    assert len(off) == len(BodyPrior.of(body).spread)


def test_spreads_follow_data_and_keep_their_prior_without(body: MarkerBody) -> None:
    first = BodyPrior.of(body)
    told, untold = np.zeros(len(first.first)), first.first**2
    exact = first.updated(np.zeros(len(first.first)), told, sliding=False)
    assert exact.scales["bones"] < 0.3
    assert exact.scales["lengths"] < 0.1
    assert min(exact.scales.values()) >= BODY_PRIOR.narrowest
    nothing = first.updated(np.zeros(len(first.first)), untold, sliding=False)
    np.testing.assert_allclose(list(nothing.scales.values()), 1.0)
    rng = np.random.default_rng(0)
    twice = first
    for _ in range(20):
        twice = twice.updated(2.0 * first.first * rng.standard_normal(len(first.first)), told, sliding=False)
    assert twice.scales["bones"] == pytest.approx(2.0, rel=0.35)
    slid = first.updated(5.0 * first.first, told, sliding=True)
    assert slid.scales == BODY_PRIOR.widest_sliding


def test_a_misplaced_marker_has_less_weight(body: MarkerBody) -> None:
    first = BodyPrior.of(body)
    off = 0.5 * first.first
    rows = first.groups["bones"]
    off[rows[:3]] = 8.0 * first.first[rows[:3]]
    found = first
    for _ in range(10):
        found = found.updated(off, np.zeros(len(off)), sliding=False)
    assert found.weights[rows[0]] < 0.1
    assert np.all(found.weights[rows[3:]] > 0.8)
    assert found.scales["bones"] == 1.0


def test_wide_hips_are_estimated_from_waist_markers_of_a_standing_person(coarse_calibration) -> None:
    made = wear(CMU_41, "stand", "small", seed=41, off=0.0)
    solved = solve_markers(made.markers)
    roles = made.wearer.require_roles()
    width = [
        np.linalg.norm(np.diff(x.skeleton.rest_world[0][[roles["left_upper_leg"], roles["right_upper_leg"]]], axis=0))
        for x in (made.wearer, solved.clip.character)
    ]
    assert abs(width[0] - width[1]) < 0.003
    away = np.linalg.norm(Kinematics(solved.clip.motion).positions - made.joints, axis=-1)
    assert np.sqrt(np.mean(away**2)) < 0.003


def test_markers_attached_beyond_the_joint_are_detected(coarse_calibration) -> None:
    """Markers as programs place them: shoulder, elbow, wrist, knee and ankle move with the segment beyond the joint."""
    clip = samples.load("clap")
    kinematics, wearer = Kinematics(clip.motion), clip.character
    places, turned = wearer.skeleton.posed(wearer.skeleton.rest)
    stuck = [replace(item, role=_beyond(item)) for item in recognise(CMU_41)[1]]
    segments = MarkerBody.of(wearer, stuck).segments
    at = np.array([np.array(LANDMARKS[x.landmark or ""].place) * [x.side, 1.0, 1.0] for x in stuck])
    offsets = rotation.rotate(rotation.inverse(turned[segments]), at - places[segments])
    seen = kinematics.positions[:, segments] + rotation.rotate(kinematics.rotations[:, segments], offsets)
    seen += 0.001 * np.random.default_rng(3).standard_normal(seen.shape)
    solved = solve_markers(Markers(tuple(CMU_41), seen, clip.motion.fps))
    away = np.linalg.norm(Kinematics(solved.clip.motion).positions - kinematics.positions, axis=-1)
    assert np.sqrt(np.mean(away**2)) < 0.005


def _beyond(item: MarkerPlacement) -> str:
    side = item.role.partition("_")[0]
    return f"{side}_{BEYOND[item.landmark]}" if item.landmark in BEYOND else item.role
