"""A live character on stairs, slopes and hills, driven by a performer on a level floor."""

from __future__ import annotations

import numpy as np
import pytest

from footplant import samples
from footplant.geometry import Plane
from footplant.io.ground_files import load_ground
from footplant.kinematics import Kinematics
from footplant.live.ground_walk import GroundWalk
from footplant.live.puppeteer import PerformerFrame, Puppeteer
from footplant.motion import Motion

SIDES = ("left", "right")


def walked(ground, who="sally") -> tuple[Kinematics, np.ndarray, GroundWalk | None]:
    """The walk of the samples at 60 Hz: where the character is, importances of its feet, and what it walks on."""
    clip, target = samples.load("walk"), samples.load_character(who)
    motion = clip.motion.resample(60.0)
    walk = None if ground is None else GroundWalk(target, ground)
    puppeteer = Puppeteer(clip.character, target, ground=walk)
    state, roots, turns, feet = puppeteer.init(), [], [], []
    for root, rotations in zip(motion.root, motion.rotations):
        state, pose = puppeteer.step(state, PerformerFrame(root, rotations, 1 / 60))
        roots.append(pose.root)
        turns.append(pose.rotations)
        feet.append(pose.importance.scene[2:])
    return Kinematics(Motion(target.skeleton, np.array(roots), np.array(turns), 60.0)), np.array(feet), walk


@pytest.fixture(scope="module")
def level():
    return walked(None)


def stances(level, side: int, who="sally") -> list[np.ndarray]:
    """Frames of each stance in which the ball of a foot does not move on a level floor."""
    kinematics, feet, _ = level
    ball = kinematics.point(samples.load_character(who).contacts[f"{SIDES[side]}_ball"])
    still = np.concatenate([[False], np.linalg.norm(np.diff(ball, axis=0), axis=1) < 2e-4])
    stands = still & (feet[:, side] >= 1.0)
    runs = np.split(np.arange(len(stands)), np.flatnonzero(np.diff(stands.astype(int))) + 1)
    return [run for run in runs if stands[run[0]] and len(run) > 8]


def test_a_level_floor_changes_nothing(level):
    kinematics, _, _ = walked(Plane())
    assert np.abs(kinematics.positions - level[0].positions).max() < 1e-6


@pytest.mark.parametrize("words", ["slope:10", "slope:-10", "stairs:0.1:0.8", "noise:3"])
def test_feet_stand_on_the_ground_and_hips_follow(level, words):
    kinematics, _, walk = walked(lambda course: load_ground(words, course))
    assert walk is not None
    ground, target = walk.made["ground"], walk.target
    points = {name: kinematics.point(point) for name, point in target.contacts.items() if "palm" not in name}
    before = {name: level[0].point(target.contacts[name]) for name in points}
    for name, place in points.items():
        if name.rpartition("_")[2] in ("heel", "ball", "toe"):
            # below the ground by no more than below the floor
            below = ground.height(place[:, ::2]) - place[:, 1]
            assert (below + np.minimum(before[name][:, 1], 0.0)).max() < 1e-3
    count = 0
    for side, name in enumerate(SIDES):
        ball = points[f"{name}_ball"]
        for frames in stances(level, side):
            # the foot is down at the latest after a tenth of a second
            own = ball[frames[6:]]
            assert np.abs(own - own.mean(axis=0)).max() < 3e-3
            count += 1
    assert count >= 4
    rise = ground.height(kinematics.motion.root[:, ::2])
    followed = kinematics.motion.root[:, 1] - level[0].motion.root[:, 1]
    assert np.abs(followed - rise).max() < 0.15
    assert np.ptp(followed) > 0.3 * np.ptp(rise) > 0.03


def test_actors_share_the_ground_that_the_first_one_makes():
    made: dict = {}
    calls = []

    def make(course):
        calls.append(course)
        return load_ground("slope:10", course)

    clip, target = samples.load("walk"), samples.load_character("sally")
    for _ in range(2):
        puppeteer = Puppeteer(clip.character, target, ground=GroundWalk(target, make, made))
        puppeteer.step(puppeteer.init(), PerformerFrame(clip.motion.root[0], clip.motion.rotations[0], 1 / 60))
    assert len(calls) == 1
