"""Driven characters on ground that moves: feet held on it, landings where it will be, no jolts from it."""

from __future__ import annotations

import numpy as np
import pytest

import footplant
from footplant import rotation
from footplant.cli.drive import load_controller
from footplant.contacts.moving_ground import (
    GroundPart,
    MovingGround,
    PartedGround,
    ReportedPoses,
    conveyor,
    deck,
    lift,
    turntable,
)
from footplant.errors import ArgumentError, FormatError
from footplant.grounds import rough
from footplant.io.ground_files import Course, load_ground, parted_ground
from footplant.kinematics import Kinematics
from footplant.live.motion_set import load_set
from footplant.live.script import drive, held_intervals

FPS = 60.0
WALKWAY = GroundPart(conveyor(0.8), (2.0, 4.0), (0.0, 4.0), travels=False)
HILLS = rough(3, 0.2, 1.4, (-6.0, -6.0), (6.0, 12.0))
GROUNDS = {
    "lift": lift(1.5, 4.0),
    "conveyor": conveyor(-1.2, 0.3),
    "deck": deck(10.0, 5.0, 0.4, (0.5, 0.0, -1.0)),
    "rough deck": deck(8.0, 5.0, 0.4, base=HILLS),
    "turntable": turntable(30.0, (0.0, 0.0, 2.0)),
    "walkway": PartedGround((WALKWAY,)),
    "part that rises": PartedGround((GroundPart(lift(0.3, 3.0), (3.0, 40.0), (0.0, 22.0)),)),
}


@pytest.fixture(scope="module")
def controller():
    """A controller of a walk and a run."""
    return footplant.drive_set(["sample:walk", "sample:run"])


@pytest.fixture(scope="module")
def level(controller):
    """The same script on a level floor."""
    return drive(controller, "walk 5s", fps=FPS)


def worst_drift(done, character, ground) -> float:
    """Return by how many metres a held contact moves in the frame of what it stands on."""
    kinematics, worst = Kinematics(done.motion), 0.0
    parts = {None: ground}
    if isinstance(ground, PartedGround):
        parts = {-1: None} | {number: part.ground for number, part in enumerate(ground.parts)}
    for part, under in parts.items():
        for name, spans in held_intervals(done, part).items():
            places = kinematics.point(character.contacts[name])
            for a, b in spans:
                own = places[a:b]
                if under is not None:
                    at, turns = under.poses(np.arange(a, b) / FPS)
                    own = rotation.rotate(rotation.inverse(turns), own - at)
                worst = max(worst, float(np.linalg.norm(own - own[0], axis=1).max()))
    return worst


def deepest(done, character, ground) -> float:
    """Return by how many metres a sole gets into the ground."""
    kinematics = Kinematics(done.motion)
    soles = np.stack([kinematics.point(point) for point in character.contacts.values()], axis=1)
    return max(float((ground.height(row[:, ::2], n / FPS) - row[:, 1]).max()) for n, row in enumerate(soles))


@pytest.mark.parametrize("name", GROUNDS)
def test_planted_feet_move_rigidly_with_the_ground(controller, name):
    ground = GROUNDS[name]
    done = drive(controller, "walk 5s", fps=FPS, ground=ground)
    assert sum(len(spans) for spans in held_intervals(done).values()) > 10
    assert worst_drift(done, controller.character, ground) < 1e-4
    assert deepest(done, controller.character, ground) < 0.002


@pytest.mark.parametrize("name", ["lift", "conveyor", "turntable"])
def test_in_the_frame_of_the_ground_the_walk_is_that_on_a_level_floor(controller, level, name):
    ground = GROUNDS[name]
    done = drive(controller, "walk 5s", fps=FPS, ground=ground)
    own = ground.relative(done.motion)
    # a lift that starts is followed with a lag, and so is a path that becomes a circle
    assert np.linalg.norm(own.root - level.motion.root, axis=-1).max() < 0.06
    off = np.linalg.norm(Kinematics(own).positions - Kinematics(level.motion).positions, axis=-1)
    assert off.max() < 0.08
    assert np.linalg.norm(done.motion.root - level.motion.root, axis=1).max() > 0.5


def test_a_trunk_stays_upright_on_a_deck(controller, level):
    roles = controller.character.require_roles()
    hips, neck = roles["hips"], roles["neck"]
    done = drive(controller, "walk 5s", fps=FPS, ground=GROUNDS["deck"])
    up = []
    for motion in (level.motion, done.motion):
        places = Kinematics(motion).positions
        trunk = places[:, neck] - places[:, hips]
        up.append(trunk[:, 1] / np.linalg.norm(trunk, axis=1))
    assert np.degrees(np.abs(np.arccos(up[0]) - np.arccos(up[1]))).max() < 1.0


def test_a_body_takes_on_a_jolt_of_the_ground_smoothly(controller, level):
    def jolt(times):
        return np.clip(times - 2.0, 0.0, None)[:, None] * [0.0, 0.0, 1.0], rotation.identity(len(times))

    done = drive(controller, "walk 5s", fps=FPS, ground=MovingGround(jolt))
    peaks = [np.linalg.norm(np.diff(each.motion.root, 2, axis=0), axis=1).max() * FPS**2 for each in (level, done)]
    assert peaks[1] < peaks[0] + 6.0, "taken on within one frame it would be 60 m/s²"
    assert done.motion.root[-1, 2] - level.motion.root[-1, 2] == pytest.approx(3.0, abs=0.1)


def test_it_walks_onto_a_conveyor_and_off_again(controller, level):
    done = drive(controller, "walk 5s", fps=FPS, ground=GROUNDS["walkway"])
    on = (done.under[:, :2] == 0).all(axis=1)
    assert on.any()
    assert (done.under[-1, :2] == -1).all()
    assert (done.under[0, :2] == -1).all()
    speed = np.diff(done.motion.root[:, 2]) * FPS
    usual = np.diff(level.motion.root[:, 2]).mean() * FPS
    assert speed[on[1:]].max() > usual + 0.6
    assert speed[-15:].mean() < usual + 0.3


def test_whoever_stands_on_a_conveyor_gets_off_at_its_end():
    stand, _ = load_controller(load_set("set:samples"))
    ground = PartedGround((GroundPart(conveyor(0.5), (2.0, 2.0), travels=False),))
    state = stand.init(begin="stand", ground=ground)
    ways = [stand.step(state, 1.0 / FPS)[1].root[2] for _ in range(420)]
    assert state.carried is not None
    assert state.carried.parts().tolist() == [-1, -1]
    assert ways[-1] - ways[0] == pytest.approx(1.0, abs=0.3)
    assert abs(ways[-1] - ways[-60]) < 0.02


def test_reported_poses_are_those_of_the_ground(controller):
    """A game reports the pose of the ground frame by frame, and not where it will be."""
    truth = deck(8.0, 5.0, 0.4)
    reported = ReportedPoses()
    at, turn = truth.poses([0.0])
    reported.report(0.0, at[0], turn[0])
    state = controller.init(begin="walk", ground=MovingGround(reported))
    frames, held, under = [], [], []
    for frame in range(1, 300):
        at, turn = truth.poses([frame / FPS])
        reported.report(frame / FPS, at[0], turn[0])
        state, pose = controller.step(state, 1.0 / FPS)
        frames.append((pose.root, pose.rotations))
        held.append(state.held)
        under.append(state.carried.under)
    root, rotations = (np.stack(column) for column in zip(*frames, strict=True))
    kinematics = Kinematics(footplant.Motion(controller.character.skeleton, root, rotation.normalize(rotations), FPS))
    at, turns = truth.poses(np.arange(1, 300) / FPS)
    for column, name in enumerate(("left_heel", "left_ball", "right_heel", "right_ball")):
        own = kinematics.point(controller.character.contacts[name])
        own = rotation.rotate(rotation.inverse(turns), own - at)
        on = np.array(held)[:, column]
        assert on.any()
        moved = np.linalg.norm(np.diff(own, axis=0), axis=1)[on[1:] & on[:-1]]
        assert moved.max() < 1e-4
        # heights of the ball and the heel over the ground that they stand on
        assert np.abs(own[on, 1]).max() < 0.003


def test_reported_poses_go_on_about_their_axis():
    truth = turntable(40.0, (1.0, 0.0, 2.0))
    reported = ReportedPoses(keep=1.0)
    with pytest.raises(ArgumentError, match="before it is asked"):
        reported(np.zeros(1))
    for time in np.arange(0.0, 3.0, 0.1):
        at, turn = truth.poses([time])
        reported.report(float(time), at[0], turn[0])
    for given, wanted in zip(reported(np.array([2.55, 3.5])), truth.poses([2.55, 3.5]), strict=True):
        np.testing.assert_allclose(given, wanted, atol=1e-9)
    with pytest.raises(ArgumentError, match="after"):
        reported.report(1.0, np.zeros(3))


def test_texts_name_parts_that_move(controller):
    course = Course((0.0, 0.0), (-9.0, -9.0), (9.0, 9.0), 0.0, 1.7)

    def make(text):
        return load_ground(text, course)

    made = parted_ground("part:2:4:1+moving:conveyor:1|part:1:1:6+moving:lift:0.5:2", course, make)
    assert [part.travels for part in made.parts] == [False, True]
    assert made.height([[0.0, 6.5], [0.0, 8.0], [0.0, 2.0]], 2.0).tolist() == pytest.approx([0.5, 0.0, 0.0])
    assert isinstance(load_ground("moving:turntable:30:2", course), MovingGround)
    for text, message in (
        ("part:2:4+moving:conveyor:1", "part:WIDTH:LENGTH:START"),
        ("part:2:4:1", "expected part:"),
        ("part:2:4:1+slope:5", "a ground that moves"),
    ):
        with pytest.raises(FormatError, match=message):
            parted_ground(text, course, make)


def test_steps_are_aimed_on_ground_that_moves(controller):
    state = controller.init(begin="walk", ground=GROUNDS["turntable"])
    for _ in range(30):
        controller.step(state, 1.0 / FPS)
    task = controller.request(state, "step", target=tuple(state.carried.to_world(np.array([0.15, 0.0, 2.2]))[[0, 2]]))
    for _ in range(300):
        controller.step(state, 1.0 / FPS)
        if not task.open:
            break
    assert task.status == "met"


def test_nobody_leans_into_the_rise_of_a_lift(controller):
    """What the ground has moved meanwhile is no climb."""
    from footplant.live import _foot_plan

    state = controller.init(begin="walk", ground=lift(1.5, 4.0))
    climbs = []
    for _ in range(240):
        controller.step(state, 1.0 / FPS)
        climbs.append(state.feet.body[_foot_plan.CLIMB])
    assert np.abs(climbs).max() < np.radians(0.1)
