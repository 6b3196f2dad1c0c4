"""Ankles that are still although no part of their sole is: of someone who kneels, the foot on its instep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import footplant
from conftest import shared_data
from footplant import rotation
from footplant.contacts.detection import Contacts, Plant, find_contacts
from footplant.feet.planting import _with_still_ankle
from footplant.feet.stillness import (
    FRAME_NEAR,
    STILL_WITHIN,
    held_a_frame_longer,
    held_with_joints,
    still_ankles,
    still_frames,
)
from footplant.kinematics import Kinematics
from footplant.solve.legs import FootCurve


def without_stance(contacts: Contacts, side: str, frame: int) -> Contacts:
    """The contacts without those of one foot that last at a frame."""
    feet = (f"{side}_heel", f"{side}_ball", f"{side}_toe")
    kept = [p for p in contacts.plants if not (p.point in feet and p.start <= frame < p.end)]
    return replace(contacts, plants=tuple(kept))


@pytest.mark.parametrize("name", ["walk", "run", "stand", "sneak", "kick"])
def test_where_feet_are_planted_no_ankle_is_held(name):
    clip = footplant.load(f"sample:{name}")
    assert not still_ankles(find_contacts(clip), clip, Kinematics(clip.motion), 0).any()


@pytest.mark.parametrize("lead", [0, 20])
def test_a_stance_without_contacts_is_held_by_its_ankle(lead):
    clip = footplant.load("sample:walk")
    source, contacts = Kinematics(clip.motion), find_contacts(clip)
    heel = next(plant for plant in contacts.plants if plant.point == "left_heel" and plant.start > 30)
    middle = (heel.start + heel.end) // 2
    left, right = still_ankles(without_stance(contacts, "left", middle), clip, source, lead)
    assert left[middle]
    assert not right.any()
    ankle = source.positions[left, clip.character.require_roles()["left_foot"]]
    assert np.ptp(ankle, axis=0).max() < 0.02


def test_a_retarget_keeps_an_ankle_in_place_that_no_contact_holds():
    clip, target = footplant.load("sample:walk"), footplant.load_character("sample:child")
    contacts = find_contacts(clip, hands=True)
    heel = next(plant for plant in contacts.plants if plant.point == "left_heel" and plant.start > 30)
    middle = (heel.start + heel.end) // 2
    fewer = without_stance(contacts, "left", middle)
    held = still_ankles(fewer, clip, Kinematics(clip.motion), 0)[0]
    moved = {}
    for method in ("copy", "whole-body"):
        made = Kinematics(footplant.retarget(clip, target, contacts=fewer, method=method).motion)
        moved[method] = np.ptp(made.positions[held, target.require_roles()["left_foot"]], axis=0).max()
    assert moved["whole-body"] < 1e-4
    assert moved["copy"] > 2e-3


def test_feet_of_a_crawl_on_their_insteps():
    path = shared_data("bvh", "cmu", "111_03.bvh")
    if not path.exists():
        pytest.skip("no real clips")
    clip = footplant.load(path)
    left, right = still_ankles(
        find_contacts((clip.motion[1:], clip.character)).delayed(1), clip, Kinematics(clip.motion), 1
    )
    assert left[490:530].all()  # hips travel over it
    assert not left[274:350].any()  # in the air
    assert not right[680:715].any()


def test_a_held_ankle_is_as_high_as_each_frame_needs_and_does_not_jump():
    frames, still = 30, np.zeros(30, bool)
    still[10:20] = True
    planted = np.arange(frames) < 10
    # the sole comes to need 3 cm more while the ankle is held
    needed = np.interp(np.arange(frames), [12.0, 19.0], [0.1, 0.13])
    places = np.tile([0.0, 0.1, 0.0], (frames, 1))
    foot = FootCurve(rotation.identity(frames), planted, places, lambda at: needed)
    held = _with_still_ankle(foot, still, np.zeros((frames, 3)), 3)
    assert held.planted[:20].all()
    assert (held.places[:20, 1] >= needed[:20] - 1e-12).all()
    assert np.abs(np.diff(held.places[:20, 1])).max() < 0.005


@pytest.mark.parametrize(("gap", "stays"), [(0, True), (3, True), (5, False)])
def test_a_held_ankle_is_where_a_plant_a_few_frames_beside_it_is(gap, stays):
    frames, still = 30, np.zeros(30, bool)
    still[10 + gap : 20] = True
    planted, places = np.arange(frames) < 10, np.tile([0.2, 0.1, 0.0], (frames, 1))
    foot = FootCurve(rotation.identity(frames), planted, places, lambda at: np.full(frames, 0.1))
    held = _with_still_ankle(foot, still, np.tile([0.25, 0.1, 0.0], (frames, 1)), 3)
    assert not held.planted[10 : 10 + gap].any()
    np.testing.assert_allclose(held.places[10 + gap : 20, 0], 0.2 if stays else 0.25)


@pytest.mark.parametrize("fps", [30.0, 120.0])
def test_contacts_of_low_frame_rates_are_a_frame_longer_where_the_foot_is_in_place(fps):
    clip = footplant.load("sample:walk")
    clip = replace(clip, motion=clip.motion.resample(fps))
    source, contacts = Kinematics(clip.motion), find_contacts(clip)
    # a detector that ends contacts too early
    long = [plant for plant in contacts.plants if len(plant) > 6]
    short = replace(contacts, plants=tuple(replace(p, start=p.start + 2, end=p.end - 2) for p in long))
    longer = held_a_frame_longer(short, clip, source)
    if fps > 60.0:
        assert longer is short
        return
    gained = [(a.start - b.start, b.end - a.end) for a, b in zip(short.plants, longer.plants, strict=True)]
    assert all(0 <= each <= 1 for pair in gained for each in pair)
    assert np.sum(gained) > len(gained)
    near = FRAME_NEAR * clip.character.height
    for old, new in zip(short.plants, longer.plants, strict=True):
        track = source.point(clip.character.contacts[new.point])
        assert np.linalg.norm(track[new.start] - track[old.start]) < near
        assert np.linalg.norm(track[new.end - 1] - track[old.end - 1]) < near


def test_contacts_with_a_short_swing_between_them_are_not_lengthened_into_it():
    clip = footplant.load("sample:stand")
    clip = replace(clip, motion=clip.motion.resample(30.0))
    source, contacts = Kinematics(clip.motion), find_contacts(clip)
    place = contacts.plants[0].place
    parts = [Plant("left_heel", 2, 10, place), Plant("left_heel", 18, 30, place), Plant("left_heel", 50, 60, place)]
    longer = held_a_frame_longer(replace(contacts, plants=tuple(parts)), clip, source).plants
    assert [(plant.start, plant.end) for plant in longer] == [(1, 10), (18, 31), (49, 61)]


def sliding_on(fps: float, stops: int) -> tuple[Kinematics, Contacts]:
    """The stand on a floor that it glides along from a frame on, and left contacts that last until then."""
    clip = footplant.load("sample:stand")
    motion = clip.motion.resample(fps)[:40]
    root = np.repeat(motion.root[:1], 40, axis=0)
    root[stops:, 2] += 0.05 * np.arange(1, 41 - stops)
    motion = motion.like(root, np.repeat(motion.rotations[:1], 40, axis=0), motion.offsets)
    found = find_contacts((clip.motion, clip.character))
    return Kinematics(motion), replace(found, frames=40, fps=fps, plants=())


@pytest.mark.parametrize(
    ("fps", "before", "after"),
    [
        (30.0, [(0, 17)], [(0, 19)]),  # the frame before it glides away is fast
        (30.0, [(2, 20)], [(0, 20)]),
        (30.0, [(0, 8)], [(0, 8)]),  # too short to be that of the still foot
        (30.0, [(0, 16), (18, 25)], [(0, 18), (18, 25)]),
        (30.0, [(0, 30)], [(0, 30)]),
        (120.0, [(0, 18)], [(0, 18)]),
    ],
)
def test_contacts_last_while_a_joint_of_the_foot_is_still(fps, before, after):
    source, contacts = sliding_on(fps, 20)
    character = footplant.load("sample:stand").character
    plants = tuple(Plant("left_ball", start, end, np.zeros(3)) for start, end in before)
    longer = held_with_joints(replace(contacts, plants=plants), source, character)
    assert [(plant.start, plant.end) for plant in longer.plants] == after


def test_contacts_last_while_a_joint_that_has_crept_to_its_place_is_still_there():
    """Together with where it came from, the frames in which it begins to leave are wider than a still joint's."""
    source, contacts = sliding_on(30.0, 40)
    root = np.array(source.motion.root)
    root[:, 2] += np.interp(np.arange(40), [4, 8, 20, 21, 22, 23, 39], [-0.016, 0.0, 0.0, 0.003, 0.007, 0.04, 0.9])
    source = Kinematics(source.motion.like(root, source.motion.rotations, source.motion.offsets))
    character = footplant.load("sample:stand").character
    plants = (Plant("left_ball", 0, 21, np.zeros(3)),)
    longer = held_with_joints(replace(contacts, plants=plants), source, character)
    assert [(plant.start, plant.end) for plant in longer.plants] == [(0, 22)]


def test_feet_over_stairs_stand_as_long_as_their_toes_do_on_the_level():
    """Its feet have no toe joints: toes copied from them are still for a frame after its balls have left."""
    clip, path = shared_data("bvh", "other", "toolbox_walk01.bvh"), shared_data("vrm", "100avatars_038_Kate.vrm")
    if not clip.exists():
        pytest.skip("no real clips")
    result = footplant.terrain(clip, "slope:10", target=path)
    assert result.unsolved is not None
    level, made, roles = Kinematics(result.unsolved.motion), Kinematics(result.motion), result.character.require_roles()
    stances = 0
    for side in ("left", "right"):
        toes = roles[f"{side}_toes"]
        held = [set(plant.frames or ()) for plant in result.plants if plant.name.startswith(side)]
        for start, end in still_frames(level.positions[:, toes], level.motion.fps, result.character.height):
            if max(len(own & set(range(start, end))) for own in held) < 0.7 * (end - start):
                continue
            place = np.median(made.positions[start:end, toes], axis=0)
            assert np.linalg.norm((made.positions[start:end, toes] - place)[:, ::2], axis=1).max() < 1e-3
            stances += 1
    assert stances >= 4
    assert STILL_WITHIN * result.character.height < 0.01
