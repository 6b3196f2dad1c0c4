"""The kernels that motions are judged by against NumPy, and judging several motions at once against one by one."""

from __future__ import annotations

import numpy as np

from footplant import humanoid, rotation
from footplant.analysis.contacts import find_contacts
from footplant.analysis.quality import measure, measure_each
from footplant.humanoid.limits import anatomical_turns
from footplant.kernels import judging
from footplant.samples import load as sample
from footplant.samples import load_character
from footplant.skeleton import Limits


def test_limits_as_their_definition_has_them():
    character = load_character("sally")
    rng = np.random.default_rng(0)
    joints = len(character.skeleton)
    rotations = rotation.exp(rng.normal(size=(60, joints, 3)) * rng.choice([0.0, 0.1, 1.0, 3.0], (60, joints, 1)))
    rotations[0] = rotation.identity(joints)
    assert character.limits is not None
    locked = np.array(character.limits.lower), np.array(character.limits.upper)
    locked[0][3], locked[1][3] = 0.0, 0.0
    locked[0][4], locked[1][4] = 0.2, 0.5  # limits that the reference pose is beyond
    for limits in (character.limits, Limits(*locked)):
        bounded = type(character)(
            character.skeleton, roles=character.roles, contacts=character.contacts, limits=limits, height=1.7
        )
        turns = anatomical_turns(bounded, rotations)
        beyond = np.maximum(np.maximum(turns - limits.upper, limits.lower - turns), 0.0)
        found = humanoid.limit_violations(bounded, rotations)
        np.testing.assert_allclose(found, np.linalg.norm(beyond, axis=-1), atol=1e-12)
        assert (found > 0.1).any()


def test_angles_between_bones():
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


def test_how_plants_hold():
    tracks = np.random.default_rng(2).normal(size=(50, 3, 3))
    plants, out = np.array([[0, 3, 20], [2, 5, 6], [1, 0, 50]]), np.empty((3, 3))
    judging.plant_figures(tracks, plants, out)
    for (point, start, end), found in zip(plants, out):
        track = tracks[start:end, point]
        away = np.linalg.norm((track - track.mean(axis=0))[:, ::2], axis=1)
        ways = np.linalg.norm(np.diff(track[:, ::2], axis=0), axis=1)
        expected = [away.max(), np.ptp(track[:, 1]), ways.mean() if len(ways) else 0.0]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_several_motions_are_judged_as_one_by_one():
    clip = sample("walk")
    motions = (clip.motion, clip.motion.resample(60.0), clip.motion[:200], clip.motion.transformed([1.0, 0, 0, 0]))
    contacts = find_contacts(clip)
    for given in (None, contacts):
        source = (clip.motion, clip.character, contacts)
        found = measure_each(motions, clip.character, given, against=source, ground=0.0)
        alone = [measure(motion, clip.character, given, against=source, ground=0.0) for motion in motions]
        assert [quality.to_dict() for quality in found] == [quality.to_dict() for quality in alone]
