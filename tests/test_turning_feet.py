"""Feet that turn in place: the ankle stands still, the sole lies flat, and nothing jumps."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import footplant
from footplant import humanoid, rotation
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import Contacts, Plant, find_contacts
from footplant.contacts.turning import Piece, Turn, _to_lying, turns_in_place, without_turns
from footplant.edits.retarget import retarget
from footplant.feet.turning_feet import with_turning_feet
from footplant.humanoid.sole import under_ankle
from footplant.kinematics import Kinematics
from footplant.result import Result
from footplant.samples import load_character

FIGURES = ("mannequin", "sally", "child", "longlegs")


@cache
def turning(degrees: float = 25.0, within: float = 0.3) -> Clip:
    """Somebody who stands, turns the left foot about its ankle within 0.3 s after a second, and stands on."""
    clip = footplant.load("sample:stand")
    motion, foot = clip.motion, clip.character.require_roles()["left_foot"]
    seconds = np.arange(len(motion)) / motion.fps
    share = np.clip((seconds - 1.0) / within, 0.0, 1.0)
    angle = np.radians(degrees) * share**2 * (3.0 - 2.0 * share)
    kinematics, rotations = Kinematics(motion), np.array(motion.rotations)
    turned = rotation.multiply(rotation.exp(angle[:, None] * [0.0, 1.0, 0.0]), kinematics.rotations[:, foot])
    above = kinematics.rotations[:, int(clip.character.skeleton.parents[foot])]
    rotations[:, foot] = rotation.multiply(rotation.inverse(above), turned)
    return replace(clip, motion=motion.like(motion.root, rotations, motion.offsets))


@cache
def solved(figure: str) -> Result:
    return retarget(turning(), load_character(figure))


def sole_plants(result: Result) -> list[str]:
    return [entry.name for entry in result.report.constraints if " sole " in entry.name]


def test_the_point_under_the_ankle_is_on_the_line_from_heel_to_ball():
    for figure in FIGURES:
        character = load_character(figure)
        found = under_ankle(character, "left")
        assert found is not None
        positions, rotations = humanoid.reference_world(character.skeleton, character.require_roles())
        ends = [character.contacts[f"left_{part}"] for part in ("heel", "ball")]
        point, heel, ball = (
            positions[end.joint] + rotation.rotate(rotations[end.joint], np.array(end.offset))
            for end in (found[0], *ends)
        )
        np.testing.assert_allclose(point, heel + found[1] * (ball - heel), atol=1e-9)
        ahead = (ball - heel) * [1.0, 0.0, 1.0]
        ankle = positions[character.require_roles()["left_foot"]]
        assert abs((ankle - point) @ ahead) < 1e-9


@pytest.mark.parametrize("figure", FIGURES)
def test_a_foot_that_turns_in_place_stays_on_its_ankle(figure):
    solution, character = solved(figure), load_character(figure)
    assert sole_plants(solution)
    assert solution.report.unmet == ()
    kinematics = Kinematics(solution.motion)
    ankle = kinematics.positions[:, character.require_roles()["left_foot"]]
    assert np.ptp(ankle, axis=0).max() < 0.002
    heel, ball = (kinematics.point(character.contacts[f"left_{part}"]) for part in ("heel", "ball"))
    # it lies flat all the time, on the ground
    assert np.abs(heel[:, 1] - ball[:, 1]).max() < 0.002
    assert min(heel[:, 1].min(), ball[:, 1].min()) > -0.002
    # and turns as far as the source's, no faster in any frame
    line = (ball - heel)[:, ::2]
    heading = np.degrees(np.unwrap(np.arctan2(line[:, 0], line[:, 1])))
    assert heading[-1] - heading[0] == pytest.approx(25.0, abs=1.5)
    fastest = 25.0 * 1.5 / 0.3 / solution.motion.fps
    assert np.abs(np.diff(heading)).max() < 1.5 * fastest


def lying_throughout(clip: Clip) -> Contacts:
    """The contacts of a clip in which heel and ball of the left foot are taken for planted all the time.

    Beside fast steps a turning ball is slow enough.
    """
    contacts, source = find_contacts(clip), Kinematics(clip.motion)
    kept = [plant for plant in contacts.plants if not plant.point.startswith("left")]
    lies = [
        Plant(name, 0, len(clip.motion), np.median(source.point(clip.character.contacts[name]), axis=0))
        for name in ("left_heel", "left_ball")
    ]
    return replace(contacts, plants=(*lies, *kept))


@pytest.mark.parametrize("figure", FIGURES)
def test_a_foot_that_lies_while_it_turns_stays_on_its_ankle(figure):
    clip, character = turning(35.0), load_character(figure)
    contacts = lying_throughout(clip)
    (turn,) = turns_in_place(contacts, Kinematics(clip.motion), clip.character)
    assert turn.start / clip.motion.fps == pytest.approx(1.0, abs=0.1)
    assert turn.end / clip.motion.fps == pytest.approx(1.3, abs=0.1)
    cut = without_turns(contacts, [turn])
    assert cut.intervals("left_heel") == cut.intervals("left_ball") == [(0, turn.start), (turn.end, contacts.frames)]
    solution = retarget(clip, character, contacts=contacts)
    assert len(sole_plants(solution)) == 1
    assert solution.report.unmet == ()
    kinematics = Kinematics(solution.motion)
    ankle = kinematics.positions[:, character.require_roles()["left_foot"]]
    assert np.ptp(ankle, axis=0).max() < 0.003
    heel, ball = (kinematics.point(character.contacts[f"left_{part}"]) for part in ("heel", "ball"))
    assert np.abs(heel[:, 1] - ball[:, 1]).max() < 0.002
    line = (ball - heel)[:, ::2]
    heading = np.degrees(np.unwrap(np.arctan2(line[:, 0], line[:, 1])))
    assert heading[-1] - heading[0] == pytest.approx(35.0, abs=4.0)
    assert np.abs(np.diff(heading)).max() < 1.5 * 35.0 * 1.5 / 0.3 / solution.motion.fps


@pytest.mark.parametrize(("degrees", "seconds"), [(10.0, 0.3), (35.0, 2.0)], ids=["little", "slowly"])
def test_feet_that_sway_lie(degrees, seconds):
    clip = turning(degrees, seconds)
    assert turns_in_place(lying_throughout(clip), Kinematics(clip.motion), clip.character) == ()


def test_a_turn_ends_where_the_foot_lies_or_is_in_the_air():
    def lies(start: int, end: int) -> Piece:
        return Piece(start, end, 0, 1)

    def on_heel(start: int, end: int) -> Piece:
        return Piece(start, end, 0, -1)

    # as far as the ends of plants that are near
    assert _to_lying([lies(10, 40)], 12, 37, 5) == (10, 40)
    assert _to_lying([lies(10, 40)], 20, 30, 5) == (20, 30)
    # over what one end alone holds, to where the foot lies again
    assert _to_lying([lies(0, 20), on_heel(20, 30), lies(30, 60)], 10, 18, 5) == (10, 30)
    assert _to_lying([lies(0, 20), on_heel(20, 30), lies(30, 60)], 25, 45, 5) == (20, 45)
    # or to where it is in the air
    assert _to_lying([on_heel(5, 20), lies(20, 60)], 22, 40, 5) == (5, 40)
    # it lies for a while before it stands on another plant
    assert _to_lying([lies(0, 10), on_heel(10, 20), on_heel(20, 30), lies(30, 60)], 31, 45, 5) == (35, 45)
    assert _to_lying([on_heel(0, 20)], 2, 15, 5) is None


def test_without_the_plant_under_the_ankle_the_foot_is_dragged_around_its_heel(monkeypatch):
    monkeypatch.setattr("footplant.edits.retarget.with_turning_feet", lambda plants, *_: plants)
    figure = load_character("sally")
    motion = retarget(turning(), figure).motion
    ankle = Kinematics(motion).positions[:, figure.require_roles()["left_foot"]]
    assert np.ptp(ankle, axis=0).max() > 0.005


@pytest.mark.parametrize("name", ["walk", "run", "turn-left", "turn-right", "stop", "stand", "limp"])
def test_feet_that_roll_or_stand_do_not_turn(name):
    """Heels that strike and heels that leave have still ends too."""
    solution = retarget(footplant.load(f"sample:{name}"), load_character("sally"), measured=False)
    assert sole_plants(solution) == []


def test_plants_of_a_turn_do_not_overlap_and_share_a_place(monkeypatch):
    target, found = load_character("sally"), []
    monkeypatch.setattr(
        "footplant.edits.retarget.with_turning_feet",
        lambda *arguments: found.extend(with_turning_feet(*arguments)) or tuple(found),
    )
    retarget(turning(), target, measured=False)
    heel, ball = (target.contacts[f"left_{part}"] for part in ("heel", "ball"))
    sole = under_ankle(target, "left")
    assert sole is not None
    turned = [plant for plant in found if plant.point == sole[0]]
    assert turned
    lying = {point: [plant for plant in found if plant.point == point] for point in (heel, ball)}
    for plant in turned:
        for other in (*lying[heel], *lying[ball]):
            assert not set(plant.frames or ()) & set(other.frames or ())
        for first in lying[heel]:
            for second in lying[ball]:
                if set(first.frames or ()) & set(second.frames or ()):
                    under = np.asarray(first.place) + sole[1] * (np.asarray(second.place) - np.asarray(first.place))
                    assert np.linalg.norm(under - np.asarray(plant.place)) < 0.002


def test_a_heel_beside_another_plant_stays_a_heel():
    """A turn that ends on a heel alone, somewhere else, would make the foot jump."""
    clip = turning()
    target, source = load_character("sally"), Kinematics(clip.motion)
    heel, ball = (target.contacts[f"left_{part}"] for part in ("heel", "ball"))
    made = (
        Footplant(point=heel, place=(0.0, 0.0, 0.0), frames=range(40, 60), name="left heel 40–59"),
        Footplant(point=ball, place=(0.0, 0.0, 0.15), frames=range(50, 60), name="left ball 50–59"),
        Footplant(point=ball, place=(0.0, 0.0, 0.2), frames=range(30, 40), name="left ball 30–39"),
    )
    turns = [Turn("left", 40, 50)]
    assert with_turning_feet(made, target, turns, source, clip.character) == made
    # without the other plant it turns
    names = [plant.name for plant in with_turning_feet(made[:2], target, turns, source, clip.character)]
    assert names == ["left heel 50–59", "left ball 50–59", "left sole 40–49"]


def test_heels_count_as_planted_only_where_their_foot_does_not_turn():
    clip = turning()
    contacts = find_contacts(clip)
    turns = turns_in_place(contacts, Kinematics(clip.motion), clip.character)
    (turn,) = turns
    assert turn.side == "left"
    assert abs(turn.start / clip.motion.fps - 1.0) < 0.1
    assert abs(turn.end / clip.motion.fps - 1.3) < 0.1
    cut = without_turns(contacts, turns)
    assert cut.intervals("left_heel") == [(0, turn.start), (turn.end, contacts.frames)]
    assert all(cut.intervals(name) == contacts.intervals(name) for name in contacts.points if name != "left_heel")


def test_the_report_does_not_take_a_turning_heel_for_a_sliding_one():
    quality = solved("sally").report.after
    assert quality is not None
    assert quality.worst_plant is not None
    assert quality.worst_plant.drift < 0.5
    assert quality.lost_plants == 0
