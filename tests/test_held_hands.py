"""Hands of driven actions that carry the body: they stay where they are planted."""

from __future__ import annotations

import numpy as np
import pytest

import footplant
from footplant import rotation
from footplant.contacts.detection import HANDS
from footplant.contacts.moving_ground import MovingGround, turntable
from footplant.geometry import Plane
from footplant.grounds import rough, slope
from footplant.kinematics import Kinematics
from footplant.live.clip_set import drive_set
from footplant.live.script import drive, held_intervals
from footplant.live.tables import hand_contacts, with_still_hands
from real_clips import DATA

FPS = 60.0
CARTWHEEL = DATA / "deepmimic" / "humanoid3d_cartwheel.txt"
SCRIPT = "humanoid3d_walk 2s, humanoid3d_cartwheel, humanoid3d_walk 1s"
pytestmark = pytest.mark.skipif(not CARTWHEEL.exists(), reason="needs the clips of ../shared/data")
GROUNDS = {
    "level": Plane(),
    "rough": rough(3, 0.2, 1.4, (-8.0, -8.0), (8.0, 12.0)),
    "slope": slope(10.0, 0.3),
    "turntable": turntable(20.0),
}


@pytest.fixture(scope="module")
def controller():
    """A controller of a walk and a cartwheel."""
    return drive_set([CARTWHEEL.with_name("humanoid3d_walk.txt"), CARTWHEEL])


def test_captured_hands_that_glide_are_put_at_rest():
    clip = footplant.load(CARTWHEEL)
    contacts = hand_contacts(clip)
    assert {plant.point for plant in contacts} == set(HANDS)
    drifts = []
    for motion in (clip.motion, with_still_hands(clip, contacts).motion):
        kinematics = Kinematics(motion)
        for plant in contacts:
            places = kinematics.point(clip.character.contacts[plant.point])[plant.start : plant.end]
            drifts.append(float(np.linalg.norm(places - places[0], axis=1).max()))
    assert min(drifts[: len(contacts)]) > 0.02
    assert max(drifts[len(contacts) :]) < 0.001


@pytest.mark.parametrize("name", GROUNDS)
def test_hands_of_a_driven_cartwheel_stay(controller, name):
    ground = GROUNDS[name]
    done = drive(controller, SCRIPT, fps=FPS, ground=ground)
    kinematics, spans = Kinematics(done.motion), held_intervals(done)
    for palm in HANDS:
        assert spans[palm], "both hands carry the body"
        places = kinematics.point(controller.character.contacts[palm])
        for a, b in spans[palm]:
            own, floor = places[a:b], ground
            if isinstance(ground, MovingGround):
                at, turns = ground.poses(np.arange(a, b) / FPS)
                own, floor = rotation.rotate(rotation.inverse(turns), own - at), ground.base
            assert np.linalg.norm(own - own[0], axis=1).max() < 0.001
            above = own[:, 1] - floor.height(own[:, ::2])
            assert above.min() > 0.0
            assert above.max() < 0.08


def test_hands_are_brought_to_the_ground_without_a_jolt(controller):
    def peak(done):
        hands = [controller.character.require_roles()[f"{side}_hand"] for side in ("left", "right")]
        return np.linalg.norm(np.diff(Kinematics(done.motion).positions[:, hands], 2, axis=0), axis=-1).max() * FPS**2

    level, uneven = (drive(controller, SCRIPT, fps=FPS, ground=ground) for ground in (None, GROUNDS["rough"]))
    assert peak(uneven) < 1.2 * peak(level)


def test_what_no_hand_carries_is_played_as_it_is():
    controller = footplant.drive_set(["sample:walk", "sample:kick"])
    assert controller.tables.with_hands == ()
