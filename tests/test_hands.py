"""Hand contacts are kept: with each other, with the body, and with what the hands hold."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import footplant
from footplant import rotation
from footplant.clip import Clip
from footplant.contacts.detection import Contacts, Plant, find_contacts
from footplant.contacts.importance import importance
from footplant.edits.retarget import retarget
from footplant.feet.palms import hangs_by_hands, palm_plants, without_idle_palms
from footplant.geometry import Plane
from footplant.humanoid.body_shell import GROUPS, BodyShell
from footplant.kernels.shell import distances, new_posed
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Solution
from footplant.samples import load_character
from footplant.skeleton import Character
from footplant.solve.arms import solve_arms
from footplant.solve.ik.limb import limb_of, place
from footplant.transfer import transfer

TARGETS = ("mannequin", "short", "sally", "blubby", "longlegs", "child")
HEIGHT = 1.75


@cache
def clip(name: str) -> Clip:
    return footplant.load(f"sample:{name}")


@cache
def solved(name: str, target_name: str) -> Solution:
    return retarget(clip(name), load_character(target_name))


def palms(motion: Motion, character: Character) -> tuple[np.ndarray, np.ndarray]:
    kinematics = Kinematics(motion)
    return kinematics.point(character.contacts["left_palm"]), kinematics.point(character.contacts["right_palm"])


def made(*plants: Plant, frames: int = 240, fps: float = 60.0) -> Contacts:
    return Contacts(plants, ("left_heel", "left_palm", "right_palm"), frames, fps, Plane())


def plant(point: str, start: int, end: int, height: float) -> Plant:
    return Plant(point, start, end, np.array([0.1, height, 0.2]))


@pytest.mark.parametrize("target_name", TARGETS)
def test_palms_meet_in_a_clap(target_name):
    target, solution = load_character(target_name), solved("clap", target_name)
    left, right = palms(clip("clap").motion, clip("clap").character)
    apart = np.linalg.norm(left - right, axis=1)
    claps = [f for f in range(1, len(apart) - 1) if apart[f] <= apart[f - 1] and apart[f] < apart[f + 1] < 0.05]
    assert len(claps) == 4
    left, right = palms(solution.motion, target)
    if target_name == "blubby":
        # his arms are too short to meet in front of his belly, and the report says so
        assert any("out of reach" in note for note in solution.report.notes)
        return
    assert np.linalg.norm(left - right, axis=1)[claps].max() < 0.012
    # and they separate in between
    assert np.linalg.norm(left - right, axis=1)[claps[0] : claps[-1]].max() > 0.1 * target.height


@pytest.mark.parametrize("target_name", TARGETS)
@pytest.mark.parametrize("name", ["clap", "reach"])
def test_arms_do_not_jerk(name, target_name):
    after = solved(name, target_name).report.after
    assert after is not None
    assert after.peak_acceleration_ratio is not None
    assert after.peak_acceleration_ratio < 1.5


def hand_on_thigh() -> Clip:
    """Return a clip that stands with its left palm on the front of the left thigh for a while."""
    source, character = clip("stand"), load_character("mannequin")
    motion, roles = source.motion[:300], character.require_roles()
    kinematics = Kinematics(motion)
    hip, knee = (kinematics.positions[:, roles[f"left_{part}_leg"]] for part in ("upper", "lower"))
    palm = kinematics.point(character.contacts["left_palm"])
    on = hip + 0.08 * (knee - hip) + [0.0, 0.0, 0.085]
    away = palm + [0.15, 0.1, 0.15]
    share = np.clip((np.abs(np.arange(300) - 150) - 90) / 50, 0.0, 1.0)[:, None]
    share = share * share * (3 - 2 * share)
    limb = limb_of(character, "left_arm")
    wrist = kinematics.positions[:, limb.end] + on + share * (away - on) - palm
    moved = place(motion, limb, wrist, orientations=kinematics.rotations[:, limb.end]).motion
    return replace(source, motion=moved)


@pytest.mark.parametrize("target_name", ["sally", "longlegs", "child"])
def test_hand_on_thigh_is_kept(target_name):
    source, target = hand_on_thigh(), load_character(target_name)
    copied = transfer(source.motion, source.character, target)
    kept = solve_arms(copied, target, Kinematics(source.motion), source.character).motion
    kinematics, middle = Kinematics(kept), slice(100, 200)
    palm = np.ascontiguousarray(kinematics.point(target.contacts["left_palm"]))
    shell, least = BodyShell.of(target).tables(), np.full(len(kept), np.inf)
    for group in ("trunk", "left_leg"):
        out = np.empty((len(kept), 4))
        number = GROUPS.index(group)
        distances(shell, number, kinematics.positions, kinematics.rotations, palm, new_posed(shell), out)
        least = np.minimum(least, out[:, 0])
    assert np.abs(least[middle]).max() < 0.04 * target.height
    # hands keep their orientation relative to the forearms, and joints outside the arms their angles
    others = [n for n, name in enumerate(target.skeleton.names) if not name.endswith("Arm")]
    np.testing.assert_array_equal(kept.rotations[:, others], copied.rotations[:, others])


def test_hands_far_from_contact_keep_their_angles():
    source, target = clip("punch"), load_character("sally")
    motion = source.motion[64:84]
    copied = transfer(motion, source.character, target)
    left, right = palms(motion, source.character)
    assert np.linalg.norm(left - right, axis=1).min() > 0.15 * HEIGHT
    kept = solve_arms(copied, target, Kinematics(motion), source.character).motion
    assert rotation.angle(kept.rotations, copied.rotations).max() < 0.05


def test_characters_without_palms_are_unchanged():
    source, target = clip("clap"), load_character("sally")
    feet = {name: point for name, point in target.contacts.items() if "palm" not in name}
    copied = transfer(source.motion, source.character, target)
    found = solve_arms(copied, replace(target, contacts=feet), Kinematics(source.motion), source.character)
    assert not found.notes


def test_importance_falls_from_one_to_zero():
    near = importance(np.linspace(-0.5, 1.5, 41))
    assert near[:11].min() == 1.0
    assert near[-11:].max() == 0.0
    assert (np.diff(near) <= 0).all()
    assert importance(np.array(0.5)) == pytest.approx(0.5)


def test_swinging_palms_are_no_contacts():
    """Palms still in the air for a moment are dropped; long holds and ground contacts are kept."""
    found = made(
        plant("left_palm", 0, 12, 0.9), plant("left_palm", 60, 120, 1.9), plant("right_palm", 10, 20, 0.02),
        plant("left_heel", 0, 100, 0.0),
    )  # fmt: skip
    kept = without_idle_palms(found, HEIGHT)
    assert [(p.point, p.start) for p in kept.plants] == [("left_palm", 60), ("right_palm", 10), ("left_heel", 0)]
    target = load_character("sally")
    plants = palm_plants(kept, target, lambda places: 1.5 * places, HEIGHT)
    assert [p.name for p in plants] == ["left palm 60–119", "right palm 10–19"]
    np.testing.assert_allclose(np.asarray(plants[0].place, float), [0.15, 2.85, 0.3])


def test_places_of_palms_are_free():
    """Given the target's motion, a palm is planted where that has it, on the ground at the ground's height."""
    source, target = clip("walk"), load_character("sally")
    copied = transfer(source.motion, source.character, target)
    found = made(plant("left_palm", 20, 90, 1.4), plant("right_palm", 10, 20, 0.02))
    held, resting = palm_plants(found, target, lambda places: 2.0 * places, HEIGHT, copied)
    palms = [Kinematics(copied).point(target.contacts[f"{side}_palm"]) for side in ("left", "right")]
    np.testing.assert_allclose(np.asarray(held.place, float), palms[0][20:90].mean(axis=0))
    np.testing.assert_allclose(np.asarray(resting.place, float)[::2], palms[1][10:20].mean(axis=0)[::2])
    assert np.asarray(resting.place, float)[1] == pytest.approx(0.04)


def test_palms_on_the_own_body_hold_nothing():
    """Palms at the waist stay still in the world while the body does: they rest on it."""
    source = clip("waist")
    middle = len(source.motion) // 2
    standing = replace(source, motion=source.motion[np.full(100, middle)])
    palm = Kinematics(standing.motion).point(source.character.contacts["left_palm"])[0]
    found = made(replace(plant("left_palm", 0, 100, 0.9), place=palm), frames=100)
    assert len(without_idle_palms(found, HEIGHT).plants) == 1
    assert without_idle_palms(found, HEIGHT, standing).plants == ()


def test_hanging_arms_are_no_contacts():
    """Palms beside the thighs of a standing character are dropped, however long, if the clip is given."""
    source = clip("walk")
    standing = replace(source, motion=source.motion[np.zeros(200, int)])
    palm = Kinematics(standing.motion).point(source.character.contacts["left_palm"])[0]
    found = made(replace(plant("left_palm", 0, 200, 0.9), place=palm), frames=200)
    assert len(without_idle_palms(found, HEIGHT).plants) == 1
    assert without_idle_palms(found, HEIGHT, standing).plants == ()
    held = clip("climb")
    grips = find_contacts(held, hands=True)
    assert len(without_idle_palms(grips, HEIGHT, held).plants) == len(without_idle_palms(grips, HEIGHT).plants)


def test_hanging_by_hands_is_detected():
    assert hangs_by_hands(find_contacts(clip("climb"), hands=True), HEIGHT)
    assert not hangs_by_hands(without_idle_palms(find_contacts(clip("walk"), hands=True), HEIGHT), HEIGHT)
    assert not hangs_by_hands(made(plant("left_palm", 0, 240, 0.02)), HEIGHT)
    assert not hangs_by_hands(made(frames=0), HEIGHT)


@pytest.mark.parametrize("target_name", TARGETS)
def test_palms_hold_a_rope(target_name):
    solution, target = solved("climb", target_name), load_character(target_name)
    held = [entry for entry in solution.report.constraints if "palm" in entry.name and entry.kind == "footplant"]
    assert len(held) == 6
    assert max(entry.worst for entry in held) < 10.0
    after = solution.report.after
    assert after is not None
    for entry in after.plants:
        if entry.point.endswith("palm"):
            assert entry.drift < 10.0
    assert np.isfinite(solution.motion.rotations).all()
    assert target.height > 0
