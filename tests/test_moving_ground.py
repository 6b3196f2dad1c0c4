"""Grounds that move: a lift, a conveyor, a deck; motions that they carry, and plants relative to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from footplant import rotation, samples
from footplant.contacts.detection import find_contacts
from footplant.contacts.moving_ground import MovingGround, conveyor, deck, lift
from footplant.edits.terrain import terrain
from footplant.errors import ArgumentError, FormatError
from footplant.grounds import Stairs, slope
from footplant.io.ground_files import Course, load_ground
from footplant.kinematics import Kinematics
from footplant.problem import Status
from footplant.quality.measure import measure


@pytest.fixture(scope="module")
def walk():
    """Two seconds of a walk at 60 frames a second."""
    clip = samples.load("walk")
    return replace(clip, motion=clip.motion.resample(60.0)[:120])


GROUNDS = {
    "lift": lift(1.5, 4.0),
    "conveyor": conveyor(-1.2, 0.3),
    "deck": deck(10.0, 5.0, 0.4, (0.5, 0.0, -1.0)),
    "sloped deck": deck(10.0, 5.0, 0.4, base=slope(6.0)),
}


@pytest.mark.parametrize("name", GROUNDS)
def test_a_motion_that_is_carried_is_the_same_in_the_frame_of_the_ground(walk, name):
    ground = GROUNDS[name]
    carried = ground.carried(walk.motion)
    assert np.abs(carried.root - walk.motion.root).max() > 0.05
    back = ground.relative(carried)
    assert np.allclose(Kinematics(back).positions, Kinematics(walk.motion).positions, atol=1e-9)


@pytest.mark.parametrize("name", GROUNDS)
def test_its_height_is_that_of_its_surface(name):
    ground = GROUNDS[name]
    local = np.random.default_rng(3).uniform(-2.0, 2.0, (20, 3))
    local[:, 1] = ground.base.height(local[:, ::2])
    for seconds in (0.0, 1.3):
        at, turn = (row[0] for row in ground.poses([seconds]))
        world = at + rotation.rotate(turn, local)
        assert np.allclose(ground.height(world[:, ::2], seconds), world[:, 1], atol=1e-9)


def test_a_deck_turns_about_its_axis_and_a_lift_stops():
    about = np.array([0.5, 0.0, -1.0])
    places, turns = GROUNDS["deck"].poses(np.linspace(0.0, 5.0, 41))
    assert np.allclose(places + rotation.rotate(turns, about), about)
    assert np.degrees(rotation.angle(turns, rotation.identity(41))).max() == pytest.approx(10.0, abs=1e-6)
    places, _ = GROUNDS["lift"].poses([0.0, 2.0, 4.0, 9.0])
    assert np.allclose(places[:, 1], [0.0, 0.75, 1.5, 1.5])


def test_footplants_stay_on_a_deck_that_rolls_and_the_trunk_stays_upright(walk):
    ground = GROUNDS["deck"]
    result = terrain(walk, ground)
    assert result.status is Status.SOLVED
    assert result.ground is ground
    assert any("moving ground" in note for note in result.report.notes)
    contacts = find_contacts(walk)
    judged = measure(result.clip, contacts=contacts, ground=ground)
    assert judged.worst_plant is not None
    assert judged.worst_plant.drift < 0.5
    assert judged.penetration_worst is not None
    assert judged.penetration_worst < 2.0
    still = measure(result.clip, contacts=contacts)
    assert still.worst_plant is not None
    assert still.worst_plant.drift > 5.0, "in the world they move"
    hips, neck = (walk.character.require_roles()[role] for role in ("hips", "neck"))
    own, made = (
        (places[:, neck] - places[:, hips]) / np.linalg.norm(places[:, neck] - places[:, hips], axis=1, keepdims=True)
        for places in (Kinematics(motion).positions for motion in (walk.motion, result.motion))
    )
    assert np.degrees(np.arccos(np.clip((own * made).sum(axis=1), -1.0, 1.0))).max() < 1.0


def test_texts_name_moving_grounds(walk):
    course = Course.of(walk.motion, walk.character)
    made = load_ground("moving:lift:1:3+stairs:0.17:0.29", course)
    assert isinstance(made, MovingGround)
    assert isinstance(made.base, Stairs)
    for text in ("moving:conveyor:1.2", "moving:conveyor:1.2:90", "moving:deck:8:5", "moving:deck:8:5:90"):
        assert isinstance(load_ground(text, course), MovingGround)
    for text, message in (
        ("moving:swing:1", "expected moving:lift, moving:conveyor, moving:turntable or moving:deck"),
        ("moving:lift:1", "expected moving:lift:RISE:SECONDS"),
        ("moving:deck:90:5", "expected a deck that rolls"),
        ("moving:lift:1:3+moving:deck:8:5", "does not move"),
    ):
        with pytest.raises(FormatError, match=message):
            load_ground(text, course)
    with pytest.raises(ArgumentError, match="seconds"):
        lift(1.0, 0.0)
