"""Acceleration peaks above the source's highest are removed locally, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest

from footplant import rotation
from footplant.constraints import Distance, Footplant
from footplant.contacts.detection import find_contacts
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.passes.limit_acceleration import (
    KEPT,
    TOO_FAST,
    SourcePeak,
    limit_acceleration,
    parts_that_may_move,
)
from footplant.quality.smoothness import accelerations
from footplant.samples import load
from footplant.skeleton import Point
from random_figures import random_motion


def with_spike(motion: Motion, joint: int, frame: int, radians: float) -> Motion:
    """Return the motion with one joint rotated at one frame."""
    rotations = np.array(motion.rotations)
    rotations[frame, joint] = rotation.multiply(
        rotations[frame, joint], rotation.exp(np.array([0.0, radians, radians]))
    )
    return replace(motion, rotations=rotations)


@pytest.mark.parametrize(
    ("role", "radians"),
    [("left_upper_arm", 0.05), ("right_lower_leg", 0.02), ("neck", 0.2), ("spine", 0.02), ("left_clavicle", 0.1)],
)
def test_spikes_are_removed_and_nothing_else_changes(role, radians):
    clip = load("walk")
    character = clip.character
    pace = SourcePeak.of(clip, character)
    assert pace is not None
    joint = character.require_roles()[role]
    contacts = find_contacts(clip)
    swinging = ~np.any([contacts.mask(name) for name in contacts.points if name.startswith("right")], axis=0)
    frame = int(np.flatnonzero(swinging[100:])[20]) + 100
    motion = with_spike(clip.motion, joint, frame, radians)
    assert len(pace.peaks(motion, TOO_FAST * pace.most))
    plants = tuple(
        Footplant(point=character.contacts[plant.point], place=plant.place, frames=range(plant.start, plant.end))
        for plant in contacts.plants
    )
    limited = limit_acceleration(motion, character, plants, pace)
    assert not len(pace.peaks(limited, TOO_FAST * pace.most))
    outside = np.abs(np.arange(len(motion)) - frame) > 60
    np.testing.assert_array_equal(limited.root[outside], motion.root[outside])
    np.testing.assert_array_equal(limited.rotations[outside], motion.rotations[outside])
    before, after = (Kinematics(m) for m in (motion, limited))
    for plant in plants:
        held = list(plant.frames)
        moved = after.point(plant.point)[held] - before.point(plant.point)[held]
        assert np.abs(moved).max(initial=0.0) < 2 * KEPT


@pytest.mark.parametrize(
    ("fast", "parts"),
    [
        (["left_hand"], ["left_upper_arm", None, "spine"]),
        (["right_upper_arm", "right_hand"], ["right_clavicle", None, "spine"]),
        (["left_upper_arm", "right_upper_arm"], [None, "spine"]),
        (["left_upper_arm", "left_foot"], [None]),
    ],
)
def test_joints_that_may_move(fast, parts):
    """First the part above the limit, then the whole body, then the trunk, for feet that are planted."""
    clip = load("walk")
    pace, roles = SourcePeak.of(clip, clip.character), clip.character.require_roles()
    assert pace is not None
    found = np.zeros((5, len(pace.joints)))
    found[2, [pace.joints.index(roles[role]) for role in fast]] = 2.0 * pace.most
    below = [part and tuple(clip.character.skeleton.descendants(roles[part])) for part in parts]
    assert parts_that_may_move(clip.character, pace, found) == below


def test_motion_within_its_own_limit_is_unchanged():
    clip = load("run")
    pace = SourcePeak.of(clip, clip.character)
    assert pace is not None
    assert limit_acceleration(clip.motion, clip.character, (), pace) is clip.motion
    still = replace(clip, motion=clip.motion[np.zeros(20, int)])
    assert SourcePeak.of(still, clip.character) is None


def test_motion_with_unsupported_constraints_is_unchanged():
    clip = load("walk")
    pace = SourcePeak.of(clip, clip.character)
    assert pace is not None
    motion = with_spike(clip.motion, clip.character.require_roles()["left_upper_arm"], 100, 0.02)
    odd = Distance(point=Point(1), other=Point(2), value=0.5)
    assert limit_acceleration(motion, clip.character, (odd,), pace) is motion


@pytest.mark.parametrize("parts", [[(0, 12)], [(2, 7), (7, 12)], [(0, 2), (2, 3), (3, 30)], []])
def test_accelerations_agree_with_numpy(parts):
    motion = random_motion(12, 8, 5, smooth=True)
    kinematics, joints = Kinematics(motion), [0, 3, 7]
    expected = np.zeros((12, 3))
    for first, last in parts:
        bends = np.diff(kinematics.positions[first:last][:, joints], n=2, axis=0)
        expected[first + 1 : first + 1 + len(bends)] = np.linalg.norm(bends, axis=2) * motion.fps**2
    np.testing.assert_allclose(accelerations(kinematics, joints, parts), expected, rtol=0.0, atol=1e-12 * motion.fps**2)
