"""A live character on stairs, slopes and hills, driven by a performer on a level floor."""

from __future__ import annotations

import numpy as np
import pytest

from footplant import rotation, samples
from footplant.contacts.moving_ground import MovingGround
from footplant.geometry import Plane
from footplant.io.ground_files import load_ground
from footplant.kinematics import Kinematics
from footplant.live.ground_walk import GroundPose, GroundWalk, SharedGround
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
    ground, target = walk.shared.ground, walk.target
    assert ground is not None
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
    shared = SharedGround()
    calls = []

    def make(course):
        calls.append(course)
        return load_ground("slope:10", course)

    clip, target = samples.load("walk"), samples.load_character("sally")
    for _ in range(2):
        puppeteer = Puppeteer(clip.character, target, ground=GroundWalk(target, make, shared))
        puppeteer.step(puppeteer.init(), PerformerFrame(clip.motion.root[0], clip.motion.rotations[0], 1 / 60))
    assert len(calls) == 1


def carried_back(kinematics: Kinematics, ground: MovingGround, places: np.ndarray) -> np.ndarray:
    """Places (F, 3) of the world in the frame of a ground that moves."""
    at, turns = ground.poses(np.arange(len(places)) / kinematics.motion.fps)
    return rotation.rotate(rotation.inverse(turns), places - at)


@pytest.mark.parametrize(
    "words",
    ["moving:lift:0.6:2", "moving:conveyor:0.8", "moving:deck:8:4", "moving:deck:6:3:90", "moving:deck:6:3+slope:8"],
)
def test_a_moving_ground_carries_the_character(level, words):
    kinematics, _, walk = walked(lambda course: load_ground(words, course))
    assert walk is not None
    ground, target = walk.shared.ground, walk.target
    assert isinstance(ground, MovingGround)
    steep = "slope" in words
    for side, name in enumerate(SIDES):
        ball = carried_back(kinematics, ground, kinematics.point(target.contacts[f"{name}_ball"]))
        before = level[0].point(target.contacts[f"{name}_ball"])
        for frames in stances(level, side):
            own = ball[frames[6:]]
            assert np.linalg.norm(own - own.mean(axis=0), axis=1).max() < (3e-3 if steep else 2e-3)
            if not steep:
                # where it is on a floor, in the ground's frame
                assert np.abs(own - before[frames[6:]]).max() < 2e-3
    # the body stays upright in the world, and nothing jolts
    spine = target.require_roles()["spine"]
    up = rotation.rotate(kinematics.rotations[:, spine], rotation.AXES["y"])
    was = rotation.rotate(level[0].rotations[:, spine], rotation.AXES["y"])
    assert np.abs(up[:, 1] - was[:, 1]).max() < 0.01
    jolts = np.linalg.norm(np.diff(carried_back(kinematics, ground, kinematics.motion.root), 2, axis=0), axis=1) * 3600
    assert jolts.max() < (30.0 if steep else 20.0)
    assert np.abs(kinematics.motion.root - level[0].motion.root).max() > 0.05


def test_the_ground_goes_where_the_caller_says():
    clip, target = samples.load("stand"), samples.load_character("sally")
    still = Puppeteer(clip.character, target, ground=GroundWalk(target, Plane()))
    moved = Puppeteer(clip.character, target, ground=GroundWalk(target, Plane()))
    states, shift = [still.init(), moved.init()], np.zeros(3)
    for frame in range(40):
        shift[0] = 0.01 * frame
        given = PerformerFrame(clip.motion.root[frame], clip.motion.rotations[frame], 1 / 60)
        states[0], level = still.step(states[0], given)
        states[1], pose = moved.step(states[1], given._replace(ground=np.array([*shift, 1.0, 0.0, 0.0, 0.0])))
        assert np.abs(pose.root - level.root - shift).max() < 1e-9
        assert np.abs(pose.rotations - level.rotations).max() < 1e-9


def test_a_tracked_ground_moves_by_as_much_as_its_tracker():
    target = samples.load_character("sally")
    walk = GroundWalk(target, Plane())
    first = np.array([1.0, 2.0, 3.0, *rotation.from_axis_angle(rotation.AXES["y"], np.array(0.3))])
    turn = rotation.from_axis_angle(rotation.AXES["x"], np.array(0.1))
    at = walk.pose_at(0.0, first, scale=0.5)
    assert at is not None
    assert np.abs(at.place).max() < 1e-12
    assert np.abs(np.abs(at.turn) - [1.0, 0.0, 0.0, 0.0]).max() < 1e-12
    moved = np.array([*(rotation.rotate(turn, first[:3]) + [0.0, 0.4, 0.0]), *rotation.multiply(turn, first[3:])])
    at = walk.pose_at(1.0, moved, scale=0.5)
    assert isinstance(at, GroundPose)
    assert np.abs(at.place - [0.0, 0.2, 0.0]).max() < 1e-12
    assert np.abs(at.turn - turn).max() < 1e-12


def test_characters_of_one_world_are_carried_by_one_clock():
    shared, target = SharedGround(), samples.load_character("sally")
    ground = MovingGround(lambda times: (times[:, None] * rotation.AXES["x"], rotation.identity(len(times))))
    one, other = (GroundWalk(target, lambda course: ground, shared) for _ in range(2))
    # its first pose makes it
    assert one.pose_at(5.0) is None
    clip = samples.load("stand")
    puppeteer = Puppeteer(clip.character, target, ground=one)
    puppeteer.step(puppeteer.init(), PerformerFrame(clip.motion.root[0], clip.motion.rotations[0], 1 / 60))
    for walk, now in ((one, 6.0), (other, 7.5)):
        at = walk.pose_at(now)
        assert at is not None
        assert np.abs(at.place - [now - 5.0, 0.0, 0.0]).max() < 1e-12
