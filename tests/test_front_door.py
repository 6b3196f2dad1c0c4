"""The front door: every verb at the top level, one result for all edits, short reprs, methods by name or object."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import footplant
from footplant import Clip, Result, Status
from footplant.constraints import Footplant, Position
from footplant.edits.compare import compare
from footplant.markers import Markers
from footplant.problem import Problem
from footplant.skeleton import Point
from footplant.solve.methods import method_of

VERBS = (
    "load", "retarget", "repair", "terrain", "bend", "blend", "transition", "fit", "measure", "contacts",
    "solve_markers", "save", "trim", "resample", "mirror", "loop", "join", "morph", "together",
)  # fmt: skip
LONGEST = 200
"""Characters of a repr."""


@pytest.fixture(scope="module")
def walk() -> Clip:
    return footplant.trim(footplant.load("sample:walk", fps=30), 0.5, 2.5).clip


@pytest.fixture(scope="module")
def retargeted(walk) -> Result:
    return footplant.retarget(walk, "sample:sally")


def test_every_verb_is_at_the_top():
    for verb in VERBS:
        assert callable(getattr(footplant, verb)), verb
        assert verb in dir(footplant)
        assert verb in footplant.__all__
    with pytest.raises(AttributeError, match="has no attribute 'retraget'"):
        _ = footplant.retraget  # type: ignore[attr-defined]


def test_importing_loads_next_to_nothing():
    script = (
        "import sys, footplant; ours = [name for name in sys.modules if name.startswith('footplant')]; "
        "print(len(ours), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    count, numpy_too = done.stdout.split()
    assert int(count) < 8
    assert numpy_too == "False"


def test_the_package_of_contacts_stays_importable():
    """A function has the name of a package: both work, whichever is used first."""
    for first in ("import footplant.contacts.detection", "from footplant.contacts.detection import find_contacts", ""):
        script = (
            f"{first}\nimport footplant\nprint(callable(footplant.contacts))\nfrom footplant.contacts import ground"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "True"


def test_a_result_is_a_clip_on_its_character_with_a_report(walk, retargeted, tmp_path):
    assert isinstance(retargeted, Result)
    assert retargeted.character.name == "sally"
    assert retargeted.motion is retargeted.clip.motion
    assert retargeted.name == walk.name
    assert retargeted.status is retargeted.report.status is Status.SOLVED
    assert retargeted.status == "solved"
    assert retargeted.status.value == retargeted.report.to_dict()["status"]
    assert retargeted.status.sentence == retargeted.report.to_dict()["meaning"] == "every hard constraint is met"
    assert [status.value for status in Status] == ["solved", "unreachable", "conflict", "unfinished"]
    assert "<svg" in retargeted._repr_html_() or "<iframe" in retargeted._repr_html_()
    for path in (retargeted.save(tmp_path / "a.glb"), footplant.save(tmp_path / "b.glb", retargeted)):
        assert footplant.load(path).character.skin is not None


def test_results_are_taken_by_the_next_edit(walk, retargeted, tmp_path):
    path = retargeted.save(tmp_path / "sally.bvh")
    for source in (retargeted, retargeted.clip, path, str(path)):
        assert len(footplant.contacts(source).plants) > 4
        assert footplant.measure(source, against=walk).worst_plant is not None
    back = footplant.retarget(retargeted, walk)
    assert back.character is walk.character
    again = footplant.repair(footplant.mirror(path))
    assert isinstance(again, Result)


@pytest.mark.parametrize("method", ["filtered", "perframe", None, "whole-body"])
def test_methods_by_name_or_object(walk, method):
    short = replace(walk, motion=walk.motion[:24])
    given = [method] if method in (None, "whole-body") else [method, method_of(method)]
    for chosen in given:
        made = [
            footplant.retarget(short, "sample:short", method=chosen),
            footplant.terrain(short, 0.05, method=chosen),
            footplant.morph(short, ["sample:longlegs"], method=chosen),
        ]
        if chosen is not None:
            made.append(footplant.transition(short, short, seconds=0.2, method=chosen))
        for result in made:
            assert isinstance(result, Result)
            assert len(result.motion) >= 24


def test_wrong_methods_are_named(walk):
    calls = {
        "retarget": lambda method: footplant.retarget(walk, "sample:short", method=method),
        "terrain": lambda method: footplant.terrain(walk, 0.0, method=method),
        "morph": lambda method: footplant.morph(walk, ["sample:short"], method=method),
        "bend": lambda method: footplant.bend(walk, "circle:2", method=method),
        "transition": lambda method: footplant.transition(walk, walk, method=method),
        "loop": lambda method: footplant.loop(walk, method=method),
    }
    for call in calls.values():
        with pytest.raises(footplant.ConstraintError, match="expected a method among whole-body, hierarchical"):
            call("magic")
        with pytest.raises(footplant.ConstraintError, match="expected a method by name, or an object with solve"):
            call(3)


def test_sources_that_are_none(walk, tmp_path):
    with pytest.raises(footplant.ArgumentError, match="expected a clip, a result, or the name of a file"):
        footplant.repair(3)  # type: ignore[arg-type]
    with pytest.raises(footplant.ArgumentError, match=r"a bare motion; footplant.Clip\(motion, character\)"):
        footplant.retarget(walk.motion, "sample:short")  # type: ignore[arg-type]
    with pytest.raises(footplant.ArgumentError, match="expected a character"):
        footplant.retarget(walk, None)  # type: ignore[arg-type]
    with pytest.raises(footplant.ArgumentError, match="expected a file name first"):
        footplant.save(walk, "walk.glb")  # type: ignore[arg-type]
    footplant.save_markers(tmp_path / "take.trc", footplant.Markers(("a",), np.ones((3, 1, 3))))
    with pytest.raises(footplant.FormatError, match=r"footplant\.solve_markers makes a motion of them"):
        footplant.repair(tmp_path / "take.trc")


def test_reprs_say_what_matters_in_one_short_line(walk, retargeted):
    contacts = footplant.contacts(walk)
    plant = Footplant(name="left_heel", point=Point(3), place=[0, 0, 0], frames=range(4, 9))
    shown = {
        walk: ("'walk'", "61 frames", "2.00 s", "30 fps", "22 joints", "1.75 m"),
        walk.motion: ("61 frames", "2.00 s", "30 fps", "22 joints"),
        walk.character: ("'mannequin'", "22 joints", "1.75 m"),
        walk.motion.skeleton: ("22 joints", "'Hips'"),
        retargeted: ("solved", "'walk'", "'sally'", "61 frames", "2.07 m", "mm"),
        retargeted.report: ("solved", "whole-body", "unmet", "mm"),
        footplant.measure(walk): ("footplants", "mm"),
        contacts: ("plants", "left_heel", "61 frames"),
        plant: ("Footplant", "'left_heel'", "frames 4–8", "joint 3"),
        Position(point=Point(2), target=[0, 1, 0], hard=False): ("Position", "all frames", "soft"),
        Markers(tuple(map(str, range(41))), np.zeros((61, 41, 3)), 30.0): ("41 markers", "61 frames", "0.0% hidden"),
        Problem(walk.motion, walk.character, (plant,)): ("1 constraint", "'mannequin'", "61 frames"),
    }
    for thing, parts in shown.items():
        text = repr(thing)
        assert len(text) <= LONGEST, text
        assert "\n" not in text
        for part in parts:
            assert part in text, f"{part!r} is not in {text!r}"
    assert len(repr(replace(walk, name=1000 * "long "))) <= LONGEST


def test_one_class_from_every_edit(walk):
    short = replace(walk, motion=walk.motion[:30])
    hand = Point(walk.character.require_roles()["left_hand"])
    pin = Position(point=hand, target=footplant.Kinematics(short.motion).point(hand)[10] + [0, 0.05, 0], frames=(10,))
    results = {
        "fit": footplant.fit(short, [pin]),
        "bend": footplant.bend(walk, "circle:3"),
        "terrain": footplant.terrain(walk, "slope:5"),
        "blend": footplant.blend([walk, walk], (0.5, 0.5)),
        "copy": footplant.retarget(short, "sample:child", method="copy"),
        "puppet": footplant.retarget(short, "sample:child", method="puppet"),
        **compare(short, "sample:child", ["perframe"], repeats=1).solutions,
    }
    for name, result in results.items():
        assert type(result) is Result, name
        assert result.clip.motion.skeleton is result.character.skeleton, name


def test_a_rate_means_the_same_for_every_file(walk, tmp_path):
    footplant.save(tmp_path / "walk.bvh", walk)
    for source in ("sample:walk", tmp_path / "walk.bvh"):
        slow = footplant.load(source, fps=15)
        assert slow.motion.fps == 15.0
        assert slow.motion.duration == pytest.approx(footplant.load(source).motion.duration, abs=1 / 15)
    np.savez(tmp_path / "smpl.npz", poses=np.zeros((40, 72)), trans=np.zeros((40, 3)), mocap_framerate=20)
    stated = footplant.load(tmp_path / "smpl.npz", fps=10)
    assert (stated.motion.fps, len(stated.motion)) == (10.0, 20)
    np.savez(tmp_path / "smpl.npz", poses=np.zeros((40, 72)), trans=np.zeros((40, 3)))
    unstated = footplant.load(tmp_path / "smpl.npz", fps=10)
    assert (unstated.motion.fps, len(unstated.motion)) == (10.0, 40)


def test_showing_opens_a_page(retargeted, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    retargeted.show()
    (address,) = opened
    assert address.startswith("file://")
    with open(address.removeprefix("file://"), encoding="utf-8") as page:
        text = page.read()
    assert text.startswith("<!doctype html>")
    assert "http://" not in text.replace("http://www.w3.org/", "")
    assert "https://" not in text
