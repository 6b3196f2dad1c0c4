"""Figures and props in one world: holds found, kept on bodies of other sizes, and told where they cannot be."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import footplant
from conftest import shared_data
from footplant import rotation, samples
from footplant.cli import main
from footplant.clip import Clip
from footplant.constraints import Position
from footplant.constraints.held_places import _thigh_radius
from footplant.contacts.detection import FEET
from footplant.contacts.exchanges import Exchange, find_exchanges, surface_points
from footplant.edits.fit import fit
from footplant.edits.together import Together, together
from footplant.errors import ArgumentError, ConstraintError
from footplant.humanoid.counterparts import leg_ratio
from footplant.kinematics import Kinematics
from footplant.problem import Status
from footplant.skeleton import Point
from thorough import thorough

HELD = (25, 45)
"""Frames in which the made figures shake hands."""


def standing(palm: str, place: tuple[float, float, float]) -> Clip:
    """The standing sample at 30 frames/s, with a palm at a place for a while."""
    clip = samples.load("stand")
    clip = replace(clip, motion=clip.motion.resample(30.0)[:70])
    goal = Position(point=clip.character.contacts[palm], target=place, frames=tuple(range(*HELD)), ramp=(0.4, 0.4))
    return fit(clip, [goal]).clip


def turned_around(clip: Clip, away: float) -> Clip:
    """The clip turned by half a turn about the vertical, and moved ahead."""
    half = np.array([0.0, 0.0, 1.0, 0.0])
    motion = clip.motion
    rotations = np.array(motion.rotations)
    rotations[:, 0] = rotation.multiply(np.broadcast_to(half, rotations[:, 0].shape), rotations[:, 0])
    root = motion.root * [-1.0, 1.0, -1.0] + [0.0, 0.0, away]
    return replace(clip, motion=motion.like(root, rotations, motion.offsets))


def box_file(path: Path, half: tuple[float, float, float], places: np.ndarray, fps: float = 30.0) -> Path:
    """A GLB file with a box, at one place (3,) or moving along places (F, 3)."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32) * np.array(
        half, np.float32
    )
    faces = np.array(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6]], np.uint16
    )
    box = {"name": "box", "mesh": 0, "translation": np.atleast_2d(places)[0].tolist()}
    arrays = [(corners, 5126, "VEC3"), (faces.ravel(), 5123, "SCALAR")]
    document: dict = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [box],
                      "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}]}  # fmt: skip
    if places.ndim == 2:
        times = (np.arange(len(places)) / fps).astype(np.float32)
        arrays += [(times, 5126, "SCALAR"), (places.astype(np.float32), 5126, "VEC3")]
        target = {"node": 0, "path": "translation"}
        document["animations"] = [{"channels": [{"sampler": 0, "target": target}],
                                   "samplers": [{"input": 2, "output": 3}]}]  # fmt: skip
    document["bufferViews"], document["accessors"], data = [], [], b""
    for number, (array, component, kind) in enumerate(arrays):
        rows = array.reshape(len(array), -1)
        document["bufferViews"].append({"buffer": 0, "byteOffset": len(data), "byteLength": array.nbytes})
        ends = {"min": rows.min(0).tolist(), "max": rows.max(0).tolist()}
        document["accessors"].append(
            {"bufferView": number, "componentType": component, "count": len(array), "type": kind, **ends}
        )
        data += array.tobytes() + b"\0" * (-array.nbytes % 4)
    document["buffers"] = [{"byteLength": len(data), "uri": "data:application/octet-stream;base64," + b64(data)}]
    path.write_text(json.dumps(document))
    return path


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture(scope="module")
def handshake() -> tuple[Clip, Clip]:
    """Two figures that face each other, and shake hands with 4 cm between their palms."""
    first = standing("right_palm", (0.0, 1.15, 0.5))
    return first, turned_around(first, 1.04)


def between(results, palms: tuple[str, str]) -> np.ndarray:
    first, second = (Kinematics(r.motion).point(r.character.contacts[palm]) for r, palm in zip(results, palms))
    return second - first


def test_a_handshake_is_found(handshake):
    found = find_exchanges(*handshake)
    assert [(each.palm, each.other) for each in found] == [("right_palm", "right_palm")]
    assert abs(found[0].start - HELD[0]) <= 6
    assert abs(found[0].end - HELD[1]) <= 6
    assert "right hand in the other's right hand" in found[0].title
    far = replace(handshake[1], motion=handshake[1].motion.like(
        handshake[1].motion.root + [0.0, 0.0, 2.0], handshake[1].motion.rotations))  # fmt: skip
    assert find_exchanges(handshake[0], far) == ()


@pytest.mark.parametrize("targets", [("short", "sally"), ("blubby", "mannequin")], ids="-".join)
def test_hands_meet_on_other_bodies(handshake, targets):
    bodies = [samples.load_character(name) for name in targets]
    results = together(handshake, bodies).figures
    palms = ("right_palm", "right_palm")
    scale = np.sqrt(np.prod([leg_ratio(clip.character, body) for clip, body in zip(handshake, bodies)]))
    wanted, rows = scale * between(handshake, palms), slice(*HELD)
    assert np.abs(between(results, palms) - wanted)[rows].max() < 0.001
    for result in results:
        assert result.status is Status.SOLVED
        assert _worst_drift(result) < 1.0
        assert result.source is not None
    # the figures stand where their arms meet: neither lunges
    for result, clip in zip(results, handshake):
        lean = _lean(result) - _lean(clip)
        assert np.degrees(np.abs(lean)).max() < 25.0


def _worst_drift(result) -> float:
    return result.report.after.worst_plant.drift


def _lean(clip) -> np.ndarray:
    kinematics, roles = Kinematics(clip.motion), clip.character.roles
    trunk = kinematics.positions[:, roles["head"]] - kinematics.positions[:, roles["hips"]]
    return np.arccos(trunk[:, 1] / np.linalg.norm(trunk, axis=1))


def test_touching_hands_meet_in_one_place(handshake):
    results = together(handshake, [samples.load_character(name) for name in ("short", "mannequin")], touch=True).figures
    assert np.linalg.norm(between(results, ("right_palm", "right_palm")), axis=1)[slice(*HELD)].max() < 0.001


def test_a_hand_on_the_others_chest_stays_there():
    second = turned_around(standing("left_palm", (-0.3, 0.9, 0.1)), 0.6)
    skin = surface_points(Kinematics(second.motion), second.character)[HELD[0]]
    first = standing("right_palm", tuple(skin[np.linalg.norm(skin - [-0.1, 1.3, 0.4], axis=1).argmin()]))
    found = [each for each in find_exchanges(first, second) if each.other is None]
    assert [(each.figure, each.palm) for each in found] == [(0, "right_palm")]
    results = together(
        (first, second), [samples.load_character(name) for name in ("sally", "short")], exchanges=found
    ).figures
    rows = slice(*HELD)
    assert _distance_to_body((first, second))[rows].max() < 0.01
    assert _distance_to_body(results)[rows].max() < 0.02


def _distance_to_body(figures) -> np.ndarray:
    palm = Kinematics(figures[0].motion).point(figures[0].character.contacts["right_palm"])
    points = surface_points(Kinematics(figures[1].motion), figures[1].character)
    return np.linalg.norm(points - palm[:, None], axis=2).min(axis=1)


@pytest.mark.parametrize("targets", [("short", "mannequin"), ("sally", "child")], ids="-".join)
def test_a_box_carried_by_two(targets, tmp_path):
    """Both figures lift a box: every palm stays where it holds it, and the box goes with the hands."""
    frames = 70
    path = np.zeros((frames, 3)) + [0.0, 1.0, 0.52]
    path[:, 1] += 0.1 * np.sin(np.linspace(0.0, np.pi, frames))
    first = lifting(path)
    box = box_file(tmp_path / "box.gltf", (0.2, 0.12, 0.15), path)
    made = together((first, turned_around(first, 1.04)), [samples.load_character(n) for n in targets], props=[box])
    poses, rows = Kinematics(made.props[0].motion), slice(*HELD)
    source = Kinematics(first.motion)
    for result, sign in zip(made.figures, (1.0, -1.0)):
        for palm in ("left_palm", "right_palm"):
            own = Kinematics(result.motion).point(result.character.contacts[palm]) - poses.positions[:, 0]
            grip = (source.point(first.character.contacts[palm]) - path)[rows].mean(axis=0) * [sign, 1.0, sign]
            assert np.linalg.norm(own[rows] - grip, axis=1).max() < 0.005
        assert _worst_drift(result) < 1.0
    assert made.props[0].character.skin is not None
    assert np.ptp(made.props[0].motion.root[:, 1]) > 0.03


def lifting(path: np.ndarray) -> Clip:
    """The standing sample with both palms on the sides of a box that goes along a path (F, 3)."""
    clip = samples.load("stand")
    clip = replace(clip, motion=clip.motion.resample(30.0)[: len(path)])
    goals = [
        Position(
            point=clip.character.contacts[palm], target=path[slice(*HELD)] + [x, 0.0, -0.1],
            frames=tuple(range(*HELD)), ramp=(0.4, 0.4),
        )
        for palm, x in (("left_palm", 0.22), ("right_palm", -0.22))
    ]  # fmt: skip
    return fit(clip, goals).clip


def seated(target: str, folder: Path) -> tuple[Clip, Together]:
    """The standing sample, sitting down on a chair, and what becomes of it on a stool of 60 cm."""
    clip = samples.load("stand")
    clip = replace(clip, motion=clip.motion.resample(30.0)[:70])
    hips = Point(clip.character.require_roles()["hips"])
    down = Position(point=hips, target=(0.0, 0.55, -0.3), frames=tuple(range(*HELD)), ramp=(0.5, 0.5))
    sitting = fit(clip, [down]).clip
    chair = box_file(folder / "chair.gltf", (0.25, 0.22, 0.25), np.array([0.0, 0.22, -0.35]))
    stool = box_file(folder / "stool.gltf", (0.25, 0.3, 0.25), np.array([0.0, 0.3, -0.35]))
    return sitting, together([sitting], [samples.load_character(target)], props=[(chair, stool)])


@pytest.mark.parametrize("target", ["longlegs", "short", *thorough([], ["sally", "mannequin", "child"])])
def test_a_chair_of_another_height(target, tmp_path):
    """Whoever sat on a chair sits on a stool: as far above it as the thighs are thick; feet stand or hang."""
    sitting, made = seated(target, tmp_path)
    result = made.figures[0]
    body, roles, rows = result.character, result.character.require_roles(), slice(*HELD)
    kinematics, stool = Kinematics(result.motion), made.props[0].motion.root[0]
    hips = kinematics.positions[rows, roles["hips"]]
    above = _thigh_radius(body) / _thigh_radius(sitting.character) * (0.55 - 0.44)
    assert abs(stool[1] - 0.3) < 0.001
    assert np.abs(hips[:, 1] - 0.6 - above).max() < 0.005
    assert _worst_drift(result) < 1.0
    assert result.status is Status.SOLVED
    edge = stool[2] + 0.25
    scale = leg_ratio(sitting.character, body)
    assert np.abs(edge - hips[:, 2] - 0.2 * scale).max() < 0.005
    knees, feet = (kinematics.positions[rows, roles[f"left_{part}"]] for part in ("lower_leg", "foot"))
    assert knees[:, 2].min() > edge
    assert feet[:, 2].min() > edge
    soles = kinematics.points([body.contacts[name] for name in FEET])[..., 1]
    hangs = target in ("child", "short")
    assert any("feet hang in frames" in note for note in result.report.notes) == hangs
    assert (soles[rows].min() > 0.1) == hangs
    assert np.abs(soles[[0, -1]]).max() < 0.001


def test_a_seat_of_another_depth(tmp_path):
    """The edge that the legs go over stays in front of the hips, wherever the seat ends behind them."""
    clip, _ = seated("mannequin", tmp_path)
    bench = box_file(tmp_path / "bench.gltf", (0.25, 0.22, 0.6), np.array([0.0, 0.22, -0.35]))
    made = together([clip], [samples.load_character("mannequin")], props=[(tmp_path / "chair.gltf", bench)])
    assert made.props[0].motion.root[0] == pytest.approx([0.0, 0.22, -0.7], abs=0.001)


def test_what_cannot_be_is_refused(handshake):
    with pytest.raises(ArgumentError, match="as many characters"):
        together(handshake, ["sample:short"])
    with pytest.raises(ConstraintError, match=r"within frames 0\.\.70"):
        together(handshake, ["sample:short"] * 2, exchanges=[Exchange(0, "right_palm", "left_palm", 60, 90)])
    with pytest.raises(ConstraintError, match="'tail'"):
        together(handshake, ["sample:short"] * 2, exchanges=[Exchange(0, "tail", "left_palm", 0, 9)])


def test_out_of_reach_is_a_status(handshake):
    """One figure glides 6 m away between two holds: one constant shift cannot serve both."""
    motion = handshake[1].motion
    gone = np.linspace(0.0, 6.0, len(motion))[:, None] * [1.0, 0.0, 0.0]
    apart = (handshake[0], replace(handshake[1], motion=motion.like(motion.root + gone, motion.rotations)))
    both = [Exchange(0, "right_palm", "right_palm", 5, 15), Exchange(0, "left_palm", "left_palm", 50, 60)]
    results = together(apart, ["sample:short", "sample:short"], exchanges=both, touch=True).figures
    missed = [result for result in results if result.status is not Status.SOLVED]
    assert missed
    assert all(result.report.unmet for result in missed)


def test_the_command(handshake, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, clip in zip(("ann", "ben"), handshake):
        footplant.save(f"{name}.bvh", clip)
    command = ["together", "ann.bvh", "ben.bvh", "--to", "sample:short", "--to", "sample:sally", "-o", "together"]
    assert main([*command, "--json", "--hold", "right:right@25-44"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [figure["status"] for figure in told["figures"]] == ["solved", "solved"]
    made = [footplant.load(figure["output"]) for figure in told["figures"]]
    assert len(made[0].motion) == len(made[1].motion) == len(handshake[0].motion)
    assert main([*command, "--json"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*command[:-1], "elsewhere", "--hold", "right-right"]) == 2
    assert "right:right@78-201" in capsys.readouterr().err
    assert main(["together", "ann.bvh", "ben.bvh", "--to", "sample:short", "-o", "elsewhere"]) == 2
    assert "--to as often" in capsys.readouterr().err


@pytest.mark.named("bvh/cmu/18_01.bvh", "bvh/cmu/19_01.bvh")
def test_a_captured_handshake():
    loaded = [footplant.load(shared_data("bvh", "cmu", f"{name}.bvh")) for name in ("18_01", "19_01")]
    clips = [replace(clip, motion=clip.motion.resample(30.0)) for clip in loaded]
    held = find_exchanges(clips[0], clips[1], 1)
    assert [(each.palm, each.other) for each in held] == [("right_palm", "right_palm")]
    results = together(clips, [samples.load_character(name) for name in ("mannequin", "child")], touch=True).figures
    rows = slice(held[0].start, held[0].end)
    assert np.linalg.norm(between(results, ("right_palm", "right_palm")), axis=1)[rows].max() < 0.005
    assert all(_worst_drift(result) < 1.0 for result in results)
