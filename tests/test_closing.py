"""Closing the residual of a smooth solve: unmet frames alone, backward knees, loose constraints of hands."""

from dataclasses import replace

import numpy as np
import pytest

from footplant import rotation
from footplant.constraints import Footplant, Position
from footplant.humanoid import reference_pose
from footplant.io import load
from footplant.kinematics import Kinematics
from footplant.problem import Problem
from footplant.solve.closing import CLOSED, WhereUnmet, unmet_shares
from footplant.solve.ik.limb import limb_of
from footplant.solve.methods.spacetime import Spacetime


@pytest.fixture(scope="module")
def walk():
    clip = load("sample:walk")
    return replace(clip, motion=clip.motion[:160])


def plant_of(clip, frames=range(20, 60), shift=(0.0, 0.0, 0.0)):
    heel = clip.character.contacts["left_heel"]
    place = Kinematics(clip.motion).point(heel)[frames.start : frames.stop].mean(axis=0)
    return Footplant(point=heel, place=place + shift, frames=frames)


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


def test_loose_hand_constraints_are_closed_like_feet(walk):
    palm = walk.character.contacts["left_palm"]
    place = Kinematics(walk.motion).point(palm)[40] + [0.0, 0.004, 0.0]
    reach = Footplant(point=palm, place=place, frames=range(40, 41), tolerance=0.01)
    problem = Problem(walk.motion, walk.character, (reach,))
    assert unmet_shares(problem, Kinematics(walk.motion))[40] == pytest.approx(4.0)
    solution = Spacetime().solve(problem)
    assert solution.report.worst is not None
    assert solution.report.worst.worst <= 0.7
