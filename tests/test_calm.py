"""Acceleration peaks: detection, soft bounds, and local solves that keep footplants."""

from dataclasses import replace

import numpy as np
import pytest

from footplant import rotation
from footplant.constraints import Footplant, Position
from footplant.contacts.detection import find_contacts
from footplant.edits.retarget import retarget
from footplant.humanoid import reference_pose
from footplant.io import load
from footplant.kinematics import Kinematics
from footplant.passes.acceleration_bounds import LEEWAY, LOWER, RARE, lower_peaks, peak, peak_bounds
from footplant.passes.limit_acceleration import KEPT, SourcePeak
from footplant.problem import Problem
from footplant.samples import load_character
from footplant.solve.closing import CLOSED, WhereUnmet, unmet_shares
from footplant.solve.ik.limb import limb_of
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.solve.methods.spacetime import Spacetime


@pytest.fixture(scope="module")
def walk():
    clip = load("sample:walk")
    return replace(clip, motion=clip.motion[:160])


def plant_of(clip, frames=range(20, 60), shift=(0.0, 0.0, 0.0)):
    heel = clip.character.contacts["left_heel"]
    place = Kinematics(clip.motion).point(heel)[frames.start : frames.stop].mean(axis=0)
    return Footplant(point=heel, place=place + shift, frames=frames)


def test_spikes_get_soft_bounds(walk):
    spiky = np.array(walk.motion.root)
    spiky[100] += [0.0, 0.2, 0.0]
    motion = replace(walk.motion, root=spiky)
    whole = range(len(motion))
    highest = peak(motion, walk.character, whole)
    assert highest > 5.0 * peak(walk.motion, walk.character, whole)
    limits = peak_bounds(motion, walk.character, [plant_of(walk)], whole)
    hips = walk.character.require_roles()["hips"]
    own = next(limit for limit in limits if limit.point.joint == hips)
    assert own.frames == (100,)
    assert own.most == pytest.approx(LOWER * highest)
    assert not any(limit.hard for limit in limits)


def test_excluded_frames_get_no_bounds(walk):
    spiky = np.array(walk.motion.root)
    spiky[10] += [0.0, 0.2, 0.0]
    motion = replace(walk.motion, root=spiky)
    later = range(20, len(motion))
    assert peak(motion, walk.character, later) == pytest.approx(peak(walk.motion, walk.character, later))
    assert min(min(limit.frames) for limit in peak_bounds(motion, walk.character, [plant_of(walk)], later)) > 20


def test_no_bounds_without_motion_or_footplants(walk):
    still = replace(walk.motion[np.zeros(30, int)])
    assert peak_bounds(still, walk.character, [plant_of(walk)], range(30)) == ()
    assert peak_bounds(walk.motion, walk.character, [], range(len(walk.motion))) == ()


@pytest.mark.parametrize("name", ["sally", "blubby", "short"])
def test_spacetime_has_the_lowest_peak_and_footplants_hold(walk, name):
    target = load_character(name)
    ours, theirs = (retarget(walk, target, method=method).report.after for method in (Spacetime(), Hierarchical()))
    assert ours.worst_plant.drift <= 1.0
    assert ours.peak_acceleration_ratio <= theirs.peak_acceleration_ratio


@pytest.mark.parametrize("name", ["gltf/KayKit_Knight.glb", "bvh/other/mvn_40fps_A.bvh"])
@pytest.mark.named("{name}")
def test_hard_landings_and_knees_that_bend_backwards_hold_with_the_lowest_peak(shared, name):
    clip, target = load(str(shared / name)), load_character("sally")
    clip = replace(clip, motion=clip.motion[:300])
    contacts = find_contacts(clip, hands=True)
    ours, theirs = (
        retarget(clip, target, method=method, contacts=contacts).report.after
        for method in (Spacetime(), Hierarchical())
    )
    assert ours.worst_plant.drift <= 1.0
    assert ours.peak_acceleration_ratio <= theirs.peak_acceleration_ratio


def test_closing_changes_only_unmet_frames(walk):
    problem = Problem(walk.motion, walk.character, (plant_of(walk, range(90, 110), (0.0, 0.004, 0.003)),))
    solved = WhereUnmet().solve(problem).motion
    assert unmet_shares(problem, Kinematics(solved)).max() <= CLOSED
    change = np.abs(solved - walk.motion).max(axis=(1, 2))
    assert change[90:110].min() > 0.0
    assert change[:60].max() < 1e-12
    met = replace(problem, motion=solved)
    assert WhereUnmet().solve(met).motion is solved


def backwards(walk):
    """Return the walk with its left knee bent backwards by 15 degrees."""
    limb, pose = limb_of(walk.character, "left_leg"), reference_pose(walk.character.skeleton, walk.character.roles)
    hinge = rotation.rotate(rotation.inverse(pose[limb.lower]), limb.axis)
    bent = np.array(walk.motion.rotations)
    bent[:, limb.lower] = rotation.from_axis_angle(hinge, np.radians(-15.0))
    return replace(walk.motion, rotations=bent)


def test_closing_keeps_backward_knees(walk):
    motion, heel = backwards(walk), walk.character.contacts["left_heel"]
    places = Kinematics(motion).point(heel)[80:111]
    off = np.zeros((31, 3))
    off[15] = [0.0, 0.002, 0.0]
    held = Position(point=heel, target=places + off, frames=range(80, 111))
    problem = Problem(motion, walk.character, (held,))
    assert unmet_shares(problem, Kinematics(motion)).max() == pytest.approx(2.0)
    limbs = WhereUnmet().solve(problem).motion
    assert unmet_shares(problem, Kinematics(limbs)).max() <= 2.0 + 1e-9
    finer = Spacetime()._finer(problem, range(len(motion)))
    assert unmet_shares(problem, Kinematics(finer)).max() <= 1.0
    change = np.abs(finer - motion).max(axis=(1, 2))
    assert change[:50].max() < 1e-12
    assert change[140:].max() < 1e-12


def test_single_peaks_are_lowered_locally_and_footplants_hold(walk):
    pace = SourcePeak.of(walk, walk.character)
    assert pace is not None
    spiky = np.array(walk.motion.root)
    spiky[100] += [0.0, 0.003, 0.0]
    motion, whole, held = replace(walk.motion, root=spiky), range(len(walk.motion)), (range(20, 60), range(80, 110))
    plants = [plant_of(walk, frames) for frames in held]
    lowered = lower_peaks(motion, walk.character, plants, pace)
    assert peak(lowered, walk.character, whole) < 0.8 * peak(motion, walk.character, whole)
    before, after = Kinematics(motion), Kinematics(lowered)
    for own, frames in zip(plants, held):
        moved = (after.point(own.point) - before.point(own.point))[list(frames)]
        assert np.abs(moved).max() < 10 * KEPT
    moved = np.linalg.norm(after.positions - before.positions, axis=2)
    assert 0.0 < moved.max() <= LEEWAY[0] * walk.character.height


def test_uniformly_fast_motion_is_unchanged(walk):
    pace = SourcePeak.of(walk, walk.character)
    assert pace is not None
    shaking = np.array(walk.motion.root)
    shaking[::2] += [0.0, 0.01, 0.0]
    motion = replace(walk.motion, root=shaking)
    assert len(pace.peaks(motion, 0.9 * peak(motion, walk.character, range(len(motion))))) > RARE * len(motion)
    assert lower_peaks(motion, walk.character, [plant_of(walk)], pace) is motion


def test_loose_hand_constraints_are_closed_like_feet(walk):
    palm = walk.character.contacts["left_palm"]
    place = Kinematics(walk.motion).point(palm)[40] + [0.0, 0.004, 0.0]
    reach = Footplant(point=palm, place=place, frames=range(40, 41), tolerance=0.01)
    problem = Problem(walk.motion, walk.character, (reach,))
    assert unmet_shares(problem, Kinematics(walk.motion))[40] == pytest.approx(4.0)
    solution = Spacetime().solve(problem)
    assert solution.report.worst is not None
    assert solution.report.worst.worst <= 0.7
