"""DeepMimic text clips: rows of numbers by joint type, and the character itself."""

from __future__ import annotations

import copy
import json
import shutil
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import footplant
from footplant import rotation
from footplant.errors import FormatError
from footplant.io import deepmimic
from footplant.kinematics import Kinematics

JOINTS = [
    {"ID": 0, "Name": "root", "Type": "none", "Parent": -1},
    {
        "ID": 1,
        "Name": "ball",
        "Type": "spherical",
        "Parent": 0,
        "AttachY": 1.0,
        "AttachThetaX": 0.3,
        "AttachThetaZ": -0.2,
    },
    {"ID": 2, "Name": "hinge", "Type": "revolute", "Parent": 1, "AttachX": 0.5},
    {"ID": 3, "Name": "table", "Type": "planar", "Parent": 0, "AttachZ": 1.0, "AttachThetaY": 0.4},
    {"ID": 4, "Name": "slide", "Type": "prismatic", "Parent": 3, "AttachX": 0.25},
    {"ID": 5, "Name": "weld", "Type": "fixed", "Parent": 4, "AttachY": -0.5},
]
CHARACTER = {"Skeleton": {"Joints": JOINTS}}
TURN = [0.8, 0.0, 0.6, 0.0]
BALL = [0.6, 0.8, 0.0, 0.0]
ROW = [0.5, 1.0, 2.0, 3.0, *TURN, *BALL, 0.7, 0.1, 0.2, 0.9, 0.05]


def parse(document, character=None, **options):
    data = json.dumps(document).encode()
    (found,) = deepmimic.parse(
        data, "clip.txt", character=None if character is None else json.dumps(character).encode(), **options
    )
    return found


def refuse(document, match: str, character=None) -> None:
    with pytest.raises(FormatError, match=match):
        parse(document, character)


def clip(*rows):
    return {"Loop": "none", "Frames": list(rows)}


def test_every_type_of_joint():
    """Return world matrices computed with 4×4 matrices."""
    found = parse(clip(ROW, ROW), CHARACTER)
    kin = Kinematics(found.read_take(0))

    def frame(turn, place) -> np.ndarray:
        out = np.eye(4)
        out[:3, :3], out[:3, 3] = turn, place
        return out

    def about(axis: str, angle: float) -> np.ndarray:
        return rotation.to_matrix(rotation.from_axis_angle(rotation.AXES[axis], angle))

    root = frame(rotation.to_matrix(TURN), [1, 2, 3])
    ball = root @ frame(about("z", -0.2) @ about("x", 0.3) @ rotation.to_matrix(BALL), [0, 1, 0])
    hinge = ball @ frame(about("z", 0.7), [0.5, 0, 0])
    table = root @ frame(about("y", 0.4), [0, 0, 1]) @ frame(about("z", 0.9), [0.1, 0.2, 0])
    slide = table @ frame(np.eye(3), [0.25 + 0.05, 0, 0])
    weld = slide @ frame(np.eye(3), [0, -0.5, 0])
    for joint, expected in enumerate((root, ball, hinge, table, slide, weld)):
        assert np.abs(kin.positions[0, joint] - expected[:3, 3]).max() < 1e-12
        assert np.abs(rotation.to_matrix(kin.rotations[0, joint]) - expected[:3, :3]).max() < 1e-12
    assert found.takes[0].fps == 2.0
    assert (found.scale, found.up) == (1.0, "y")


def test_end_sites_by_the_bodies():
    sphere = {"Shape": "sphere", "Param0": 0.2}
    capsule = {"Shape": "capsule", "AttachX": 0.2, "Param0": 0.1, "Param1": 0.3}
    box = {"Shape": "box", "AttachX": 0.05, "Param0": 0.2, "Param1": 0.06, "Param2": 0.1}
    bodies = [sphere, sphere, capsule, sphere, sphere, box]
    found = parse(CHARACTER | {"BodyDefs": bodies})
    assert found.skeleton.end_parents.tolist() == [2, 5, 5]
    assert np.abs(found.skeleton.end_offsets - [[0.4, 0, 0], [0.15, -0.03, 0], [-0.05, -0.03, 0]]).max() < 1e-12
    assert found.takes == ()


def test_the_humanoid_is_built_in():
    row = [0.1, 0, 0.9, 0, 1, 0, 0, 0] + [1, 0, 0, 0] * 3 + [0.0] + [1, 0, 0, 0] * 2 + [0.5] + [1, 0, 0, 0] + [0.0]
    row += [1, 0, 0, 0] * 2 + [0.5]
    assert len(row) == 44
    found = parse(clip(row, row))
    assert "DeepMimic's own humanoid was used" in found.notes[0]
    places = dict(zip(found.skeleton.names, Kinematics(found.read_take(0)).positions[0]))
    # bending the elbow by its one angle moves the wrist forward, along x
    assert places["left_wrist"][0] > places["left_elbow"][0] + 0.1
    assert places["right_wrist"][0] > places["right_elbow"][0] + 0.1
    assert places["left_ankle"][1] == pytest.approx(0.07, abs=0.01)


def test_durations():
    rows = [[step, 10.0 * k, *ROW[2:]] for k, step in enumerate((0.1, 0.1, 0.2, 0.1, 0.1, 0.0))]
    found = parse(clip(*rows), CHARACTER)
    assert found.takes[0].fps == pytest.approx(10.0)
    assert found.read_take(0).root[:, 0] == pytest.approx([0, 10, 20, 25, 30, 40, 50])
    assert "10 frames per second" in found.notes[0]
    assert len(parse(clip(ROW), CHARACTER).read_take(0)) == 1
    wild = [[step, *ROW[1:]] for step in (1e-3, 1e-3, 1e-3, 1e6, 0.0)]
    assert len(parse(clip(*wild), CHARACTER).read_take(0)) < 20
    refuse(clip([0.0, *ROW[1:]], ROW), r"Frames\[0\]: expected a frame to last longer than 0 s, got 0", CHARACTER)
    refuse(clip([-1, *ROW[1:]], ROW), "longer than 0 s", CHARACTER)
    refuse(clip([1e8, *ROW[1:]], ROW), "some milliseconds", CHARACTER)


def changed(number: int, **keys):
    document = copy.deepcopy(CHARACTER)
    document["Skeleton"]["Joints"][number] |= keys
    return document


def test_errors_are_reported():
    refuse(
        clip([0.1, 2.0]),
        r"rows of 44 numbers for DeepMimic's humanoid; give the character file with skeleton=PATH .*, got 2",
    )
    refuse(clip(ROW[:-1]), "expected rows of 17 numbers for its character file, got 16", CHARACTER)
    refuse(clip(ROW, ROW[:-1]), r"Frames\[1\]: expected 17 numbers as in the first row, got 16", CHARACTER)
    refuse(clip(ROW, 7), r"Frames\[1\]: expected 17 numbers as in the first row, got none", CHARACTER)
    for bad in ("1.0", None, True, float("nan"), float("inf"), 1e300, [1], 10**400):
        refuse(clip(ROW, [*ROW[:-1], bad]), r"Frames\[1\]: expected finite numbers", CHARACTER)
    refuse(
        clip([*ROW[:4], 0, 0, 0, 0, *ROW[8:]]), r"expected a unit quaternion for 'root', got one of length 0", CHARACTER
    )
    for frames in ([], {}, None, [1, 2], "x"):
        refuse({"Frames": frames}, "Frames: expected a list of rows of numbers")
    refuse({"Other": 1}, "expected a DeepMimic clip .* got JSON with 'Other'")
    refuse({"Skeleton": 5}, "expected 1 to 1000 Joints")
    refuse({"Skeleton": {"Joints": [5]}}, r"Skeleton.Joints\[0\]: expected a joint with a Name")
    refuse(changed(1, Type="screw"), r"Joints\[1\]: expected the root of type none, then joints of types")
    refuse(changed(0, Type="fixed"), "expected the root of type none")
    refuse(changed(1, Parent=4), "expected a parent before the joint, got 4")
    refuse(changed(1, Parent=True), "expected a parent before the joint")
    refuse(changed(2, Name="ball"), "expected unique names, got 'ball' again")
    refuse(changed(2, AttachX="far"), "expected a finite number for AttachX, got 'far'")
    refuse(changed(2, AttachX=float("nan")), "expected a finite number for AttachX")


@pytest.mark.parametrize(
    "data",
    [b"", b"hello", b"a,b\n1,2\n", b"[1, 2]", b'{"Frames": [[0.1, 2', b"\xff\xfe{\0", b'{"a": ' + b"[" * 100_000,
     b'{"Frames": "\xff"}', b"{" + b'"a":' * 1000],
)  # fmt: skip
def test_text_that_is_neither_clip_nor_character(data):
    with pytest.raises(FormatError, match=r'expected a DeepMimic clip \(JSON with "Frames"\) or character'):
        deepmimic.parse(data, "notes.txt")


@pytest.mark.parametrize(
    "data",
    [b'{"Frames": [' + b"[]," * 400_000 + b"[]]}", b'{"Frames": [' + b"1," * 600_000 + b"1]}",
     b'{"Frames": {' + b",".join(b'"%d":1' % k for k in range(120_000)) + b"}}"],
    ids=["lists", "numbers", "keys"],
)  # fmt: skip
def test_memory_is_bounded_by_the_file(data):
    tracemalloc.start()
    with pytest.raises(FormatError):
        deepmimic.parse(data, "bomb.txt")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(data) + (1 << 23)


@given(st.data())
def test_any_mutated_file_is_read_or_refused(data):
    texts = [bytearray(json.dumps(document).encode()) for document in (clip(ROW, ROW), CHARACTER)]
    for text in texts:
        for _ in range(data.draw(st.integers(0, 3))):
            at = data.draw(st.integers(0, len(text) - 1))
            words = st.sampled_from([b"NaN", b"1e999", b"null", b"[]", b"{}", b'"x"', b"-1"])
            text[at : at + data.draw(st.integers(0, 6))] = data.draw(st.one_of(st.binary(max_size=3), words))
    try:
        (found,) = deepmimic.parse(bytes(texts[0]), character=bytes(texts[1]))
    except FormatError:
        return
    assert not found.takes or len(found.read_take(0)) == found.takes[0].frames


@pytest.mark.named("deepmimic/humanoid3d_character.txt")
def test_character_file_of_a_clip(shared, tmp_path):
    source = shared / "deepmimic"
    (tmp_path / "motions").mkdir()
    (tmp_path / "characters").mkdir()
    shutil.copy(source / "humanoid3d_walk.txt", tmp_path / "motions")
    alone = footplant.load(tmp_path / "motions/humanoid3d_walk.txt")
    assert "humanoid was used" in alone.notes[0]
    shutil.copy(source / "humanoid3d_character.txt", tmp_path / "characters/humanoid3d.txt")
    known = footplant.load(tmp_path / "motions/humanoid3d_walk.txt")
    assert known.notes == ()
    # the built-in character is the published one to the millimetre
    gap = Kinematics(alone.motion).positions - Kinematics(known.motion).positions
    assert np.linalg.norm(gap, axis=-1).max() < 0.002
    named = deepmimic.load(tmp_path / "motions/humanoid3d_walk.txt", skeleton=source / "humanoid3d_character.txt")
    assert np.array_equal(named[0].read_take(0).rotations, known.motion.rotations)
    with pytest.raises(FormatError, match="No such file"):
        deepmimic.load(tmp_path / "motions/humanoid3d_walk.txt", skeleton=tmp_path / "none.txt")


REAL = {"walk": (39, 30), "cartwheel": (164, 60), "crawl": (177, 60), "spinkick": (78, 60), "roll": (121, 60)}
"""Clip → frames, rate."""
ROLES = {
    "hips": "root", "spine": "chest", "head": "neck",
    **{f"{side}_{role}": f"{side}_{joint}" for side in ("left", "right") for role, joint in (
        ("upper_arm", "shoulder"), ("lower_arm", "elbow"), ("hand", "wrist"), ("upper_leg", "hip"),
        ("lower_leg", "knee"), ("foot", "ankle"))},
}  # fmt: skip


@pytest.mark.parametrize("name", [*REAL, "character"])
@pytest.mark.named("deepmimic/humanoid3d_{name}.txt")
def test_real_files(shared, name):
    loaded = footplant.load(shared / f"deepmimic/humanoid3d_{name}.txt")
    frames, rate = REAL.get(name, (1, 30))
    assert len(loaded.motion) == frames
    assert loaded.motion.fps == pytest.approx(rate, rel=1e-3)
    assert (loaded.conversion.units, loaded.conversion.up, loaded.conversion.declared) == ("m", "y", True)
    assert loaded.character.height == pytest.approx(1.62, abs=0.01)
    roles = loaded.character.require_roles()
    assert {role: loaded.motion.skeleton.names[roles[role]] for role in ROLES} == ROLES
    # without the file of the character a note says that the usual one was taken
    known = (shared / "deepmimic/humanoid3d_character.txt").exists()
    assert bool(loaded.notes) == (name == "roll" or not known)


@pytest.mark.named("deepmimic/humanoid3d_walk.txt")
def test_feet_of_real_clips_are_on_the_ground(shared):
    kin = Kinematics(footplant.load(shared / "deepmimic/humanoid3d_walk.txt").motion)
    lowest = kin.ends[..., 1].min(axis=1)
    assert np.abs(lowest).max() < 0.02
