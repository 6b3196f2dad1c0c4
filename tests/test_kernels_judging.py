"""Kernels of quality metrics against NumPy, and measuring several motions at once against one by one."""

from __future__ import annotations

import numpy as np
import pytest

from footplant import humanoid, rotation
from footplant.contacts.detection import FEET, TOES, Contacts, find_contacts
from footplant.geometry import Plane
from footplant.humanoid.limits import anatomical_turns
from footplant.kernels import measures as judging
from footplant.quality import _smoothness as smoothness
from footplant.quality import published
from footplant.quality.measure import measure, measure_each
from footplant.quality.published import Published
from footplant.quality.tracks import Tracks
from footplant.samples import load as sample
from footplant.samples import load_character
from footplant.skeleton import Limits


def _foot_skate_ratio(toes, heights, fps: float, limit: float) -> float | None:
    """Return the share of frames with a toe low in t and t+1 in which such a toe is faster than `limit` m/s.

    `toes` (F, T, 3) metres; `heights` (F, T) metres over the ground.
    """
    low = (heights[:-1] < published.TOE_DOWN) & (heights[1:] < published.TOE_DOWN)
    skating = low & (published.ground_speed(toes, fps) > limit)
    return published.share(np.any(skating, axis=1)[np.any(low, axis=1)])


def _skating_frames(positions, stance, fps: float) -> float | None:
    """Return the share of stance frames faster than 1 cm/s; `stance` (F, P) bool, in a frame and the next."""
    inside = stance[:-1] & stance[1:]
    return published.share(published.ground_speed(positions, fps)[inside] > 0.01)


def _sliding_duration(toes, source_toes, fps: float) -> float | None:
    """Return the share of the source's planted frames (toe at most 0.3 m/s) in which ours slides."""
    sticking = published.ground_speed(source_toes, fps) <= 0.3
    return published.share(published.ground_speed(toes, fps)[sticking] > 0.3)


def _penetration(heights) -> tuple[float | None, float | None]:
    """Return the share of frames with any point of heights (F, P) below the ground, and the largest depth in cm."""
    if heights.size == 0:
        return None, None
    depth = np.maximum(-heights, 0.0).max(axis=1)
    return published.share(depth > published.SMALLEST_PENETRATION), float(100.0 * depth.max())


def _contact_preservation(heights, source_heights) -> float | None:
    """Return the share of the source's contacts that are contacts in ours; both (F, P) metres above their grounds."""
    touching = np.abs(source_heights) <= published.CONTACT_HEIGHT
    return published.share(np.abs(heights)[touching] <= published.CONTACT_HEIGHT)


@pytest.mark.parametrize("feet", [(0, 1, 2, 3, 4, 5), (1, 3)])
def test_published_metrics_against_their_definitions(feet):
    rng = np.random.default_rng(3)
    names = tuple(np.array((*FEET, *TOES))[list(feet)])
    fps, frames, count = 30.0, 200, len(names)
    places, theirs = (0.004 * rng.normal(size=(length, count, 3)).cumsum(axis=0) for length in (frames, frames - 20))
    tracks = Tracks(names, places, places[..., 1] - places[..., 1].mean())
    source = Tracks(names[::-1], theirs, 0.02 * rng.normal(size=theirs.shape[:2]))
    stance = rng.random((frames, count)) > 0.4
    contacts = Contacts((), names[:3], frames, fps, Plane())
    found = published.published_metrics(tracks, stance, contacts, fps, source)
    toes = [n for n, name in enumerate(names) if name in TOES] or [n for n, name in enumerate(names) if "ball" in name]
    their_toes, shared = [count - 1 - n for n in toes], frames - 20
    duration, depth = _penetration(tracks.heights)
    assert found == Published(
        foot_skate_ratio=_foot_skate_ratio(places[:, toes], tracks.heights[:, toes], fps, 0.2),
        foot_skate_ratio_gmd=_foot_skate_ratio(places[:, toes], tracks.heights[:, toes], fps, 0.5),
        skating_frames=_skating_frames(places[:, :3], stance[:, :3], fps),
        sliding_duration=_sliding_duration(places[:shared, toes], theirs[:, their_toes], fps),
        penetration_duration=duration,
        penetration_depth=pytest.approx(depth),
        contact_preservation=_contact_preservation(tracks.heights[:shared], source.heights[:, ::-1]),
    )
    assert found.penetration_duration
    alone = published.published_metrics(tracks, np.zeros_like(stance), contacts, fps)
    assert alone.skating_frames is alone.sliding_duration is alone.contact_preservation is None


def test_joint_limits_against_their_definition():
    character = load_character("sally")
    rng = np.random.default_rng(0)
    joints = len(character.skeleton)
    rotations = rotation.exp(rng.normal(size=(60, joints, 3)) * rng.choice([0.0, 0.1, 1.0, 3.0], (60, joints, 1)))
    rotations[0] = rotation.identity(joints)
    assert character.limits is not None
    locked = np.array(character.limits.lower), np.array(character.limits.upper)
    locked[0][3], locked[1][3] = 0.0, 0.0
    locked[0][4], locked[1][4] = 0.2, 0.5  # limits that the reference pose exceeds
    for limits in (character.limits, Limits(*locked)):
        bounded = type(character)(
            character.skeleton, roles=character.roles, contacts=character.contacts, limits=limits, height=1.7
        )
        turns = anatomical_turns(bounded, rotations)
        angle = np.maximum(np.linalg.norm(turns, axis=-1, keepdims=True), 1e-9)
        beyond = [
            np.linalg.norm(np.maximum(np.maximum(way - limits.upper, limits.lower - way), 0.0), axis=-1)
            for way in (turns, turns * (1.0 - 2.0 * np.pi / angle))
        ]
        found = humanoid.limit_violations(bounded, rotations)
        np.testing.assert_allclose(found, np.minimum(*beyond), atol=1e-12)
        assert (found > 0.1).any()


def test_bone_angles():
    rng = np.random.default_rng(1)
    ours, theirs = rng.normal(size=(9, 6, 3)), rng.normal(size=(11, 7, 3))
    first, second = np.array([[0, 1], [2, 5]]), np.array([[3, 6], [1, 0]])
    for array in (ours, theirs):
        array.setflags(write=False)
    out = np.empty((9, 2))
    judging.bone_angles(ours, first, theirs, second, out)
    a, b = ours[:, first[:, 1]] - ours[:, first[:, 0]], (theirs[:, second[:, 1]] - theirs[:, second[:, 0]])[:9]
    expected = np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(axis=-1))
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_contact_drift(share):
    rng = np.random.default_rng(2)
    tracks, rolls = rng.normal(size=(50, 3, 3)), rng.random((50, 3)) < share
    plants, out = np.array([[0, 3, 20], [2, 5, 6], [1, 0, 50]]), np.empty((3, 3))
    judging.plant_errors(tracks, rolls, plants, out)
    for (point, start, end), found in zip(plants, out):
        track, on = tracks[start:end, point], ~rolls[start:end, point]
        held = track[on] if on.any() else np.zeros((1, 3))
        away = np.linalg.norm((held - held.mean(axis=0))[:, ::2], axis=1)
        ways = np.linalg.norm(np.diff(track[:, ::2], axis=0), axis=1)[on[1:] & on[:-1]]
        expected = [away.max(), np.ptp(track[:, 1]), ways.mean() if len(ways) else 0.0]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_measure_each_equals_measure():
    clip = sample("walk")
    motions = (clip.motion, clip.motion.resample(60.0), clip.motion[:200], clip.motion.transformed([1.0, 0, 0, 0]))
    contacts = find_contacts(clip)
    for given in (None, contacts):
        source = (clip.motion, clip.character, contacts)
        found = measure_each(motions, clip.character, given, against=source, ground=0.0)
        alone = [measure(motion, clip.character, given, against=source, ground=0.0) for motion in motions]
        assert [quality.to_dict() for quality in found] == [quality.to_dict() for quality in alone]


def test_logarithm_of_small_rotations():
    rng = np.random.default_rng(4)
    for angle in (0.0, 1e-9, 1e-4, 0.01, 0.0399, 0.0401, 1.0, 3.0, 4.0):
        for norm in (1.0, 1.0 + 3e-7):
            axis = rng.normal(size=3)
            q = norm * rotation.exp(angle * axis / np.linalg.norm(axis))
            np.testing.assert_allclose(smoothness.short_log(*q), rotation.log(q), atol=1e-15, rtol=1e-14)
