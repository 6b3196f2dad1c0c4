"""Pickles of arrays: what they hold, and that nothing else is imported, run or allocated."""

from __future__ import annotations

import gc
import io
import os
import pickle
import sys
import time
import zlib
from collections import OrderedDict

import numpy as np
import pytest

import footplant
from conftest import shared_data
from footplant import rotation
from footplant.errors import FormatError
from footplant.io import npz, tables
from footplant.io.pickled import read_pickle
from footplant.io.robot_models import parse_model
from footplant.kinematics import Kinematics

RNG = np.random.default_rng(3)


def same(a, b) -> bool:
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_python_writes_is_read(protocol):
    value = {
        "poses": RNG.normal(size=(4, 72)).astype(np.float32), "order": np.asfortranarray(RNG.normal(size=(3, 4))),
        "names": ["a", "b", "ü"], "fps": 30, "rate": 59.94, "big": 2**40, "negative": -3, "yes": True, "no": False,
        "none": None, "pair": (1, 2.5), "inner": {"x": np.arange(5), "empty": []}, "bytes": b"abc\xff",
        "flags": np.array([True, False]), "long": "x" * 300, "four": (1, 2, 3, 4), "": (),
    }  # fmt: skip
    assert same(read_pickle(pickle.dumps(value, protocol)), value)
    assert read_pickle(pickle.dumps(np.float64(2.5), protocol)) == 2.5
    assert read_pickle(pickle.dumps(OrderedDict(a=1), protocol)) == {"a": 1}
    shared = np.arange(3.0)
    again = read_pickle(pickle.dumps([shared, shared], protocol))
    assert np.array_equal(again[0], again[1])
    assert read_pickle(zlib.compress(pickle.dumps([1, 2], protocol))) == [1, 2]


def test_long_lists_are_read():
    numbers = list(range(50_000))
    assert read_pickle(pickle.dumps(numbers)) == numbers


class _Runs:
    """An object that would make a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def _cycle() -> bytes:
    knot: list = []
    knot.append({"a": knot})
    return pickle.dumps(knot)


HOSTILE = {
    "a call of eval": (b"cbuiltins\neval\n(S'1'\ntR.", "builtins.eval"),
    "a call through INST": (b"(S'echo'\nios\nsystem\n.", "os.system"),
    "a name from the stack": (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "os.system"),
    "a library that is not installed": (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n.", "torch._utils._rebuild"),
    "attributes of allowed modules": (b"\x80\x02cnumpy\nload\n.", "numpy.load"),
    "dotted names": (b"\x80\x04\x8c\x05numpy\x8c\x0df2py.diagnose\x93.", "numpy.f2py.diagnose"),
    "an extension code": (b"\x80\x02\x82\x01.", "an instruction"),
    "a persistent id": (b"\x80\x02K\x01Q.", "an instruction"),
    "bytes that are not there": (b"\x80\x04\x8e" + (2**40).to_bytes(8, "little") + b"x.", "1099511627776 more bytes"),
    "a string that is not there": (b"\x80\x04X\xff\xff\xff\x7fx.", "a string of 2147483647"),
    "an array that is not there": (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85C\x01btR(K\x01J\xff\xff\xff\x7f\x85"
        b"cnumpy\ndtype\n(X\x02\x00\x00\x00f8K\x00K\x01tR(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00"
        b"tb\x89C\x04abcdtb.", "expected 17179869176 bytes"),
    "a long whole number": (b"\x80\x02\x8b\x00\x00\x01\x00" + bytes(65536) + b".", "at most 8 bytes"),
    "a digit too many": (b"L" + b"9" * 5000 + b"L\n.", "a longer text"),
    "deep lists": (b"\x80\x04" + b"]" * 1_000_000 + b"a" * 999_999 + b".", "deep"),
    "deep tuples": (b"\x80\x04)" + b"\x85" * 1_000_000 + b".", "at most 32 deep"),
    "deep dicts": (b"\x80\x04" + b"}K\x00" * 300_000 + b"}" + b"s" * 300_000 + b".", "deep"),
    "lists of the same list": (
        b"\x80\x04]K\x01a" + b"".join(b"q%c0](h%ch%ce" % (i, i, i) for i in range(80)) + b".", "at most 32 deep"),
    "a cycle": (_cycle(), "contains itself"),
    "a bomb": (zlib.compress(bytes(200 << 20), 1), "at most"),
    "the end of the file": (b"\x80\x04K", "the end of the file"),
    "an empty stack": (b"\x80\x040.", "damaged"),
    "no mark": (b"\x80\x04e.", "a mark"),
    "a list as a key": (b"\x80\x04}]K\x01s.", "names as keys"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused_at_once(name, tmp_path):
    data, said = HOSTILE[name]
    before = set(sys.modules)
    spent = []
    gc.disable()  # what other tests left behind is not collected meanwhile
    try:
        for _ in range(3):
            started = time.process_time()
            with pytest.raises(FormatError, match=said) as caught:
                read_pickle(data, tmp_path / "hostile.pkl")
            spent.append(time.process_time() - started)
    finally:
        gc.enable()
    # the quickest of three is not disturbed by other work
    assert min(spent) < 0.1
    assert "hostile.pkl" in str(caught.value)
    assert set(sys.modules) == before


def test_nothing_is_run(tmp_path):
    for number, value in enumerate((_Runs(tmp_path / "made"), {"poses": [1, _Runs(tmp_path / "made")]})):
        path = tmp_path / f"{number}.pkl"
        path.write_bytes(pickle.dumps(value))
        with pytest.raises(FormatError, match=r"(posix|nt)\.mkdir"):
            footplant.load(path)
        array = io.BytesIO()
        np.save(array, np.array(value, dtype=object), allow_pickle=True)
        (tmp_path / f"{number}.npy").write_bytes(array.getvalue())
        with pytest.raises(FormatError, match=r"(posix|nt)\.mkdir"):
            footplant.load(tmp_path / f"{number}.npy")
    assert not (tmp_path / "made").exists()


def _smpl(frames: int = 12) -> dict:
    poses = 0.1 * RNG.normal(size=(frames, 72))
    poses[:, :3] = [np.pi / 2, 0, 0]
    return {"smpl_poses": poses, "smpl_trans": np.linspace([0.0, 0, 90], [50.0, 0, 90], frames)}


def write(tmp_path, value, name="motion.pkl"):
    path = tmp_path / name
    path.write_bytes(pickle.dumps(value))
    return path


def test_aist(tmp_path):
    """AIST++ scales translations, and runs at 60 frames per second."""
    clip = footplant.load(write(tmp_path, {**_smpl(), "smpl_scaling": np.array([100.0])}))
    assert clip.motion.fps == 60.0
    assert np.ptp(clip.motion.root[:, 0]) == pytest.approx(0.5)
    assert any("AIST++" in note for note in clip.notes)


def test_several_motions_are_takes(tmp_path):
    """PHC's dict of motions, each with its own rate."""
    motions = {
        f"walk_{n}": {
            "pose_aa": 0.1 * RNG.normal(size=(10 + n, 72)).astype(np.float32), "trans_orig": np.zeros((10 + n, 3)),
            "root_trans_offset": np.zeros((10 + n, 3)), "beta": np.zeros(16), "gender": "neutral", "fps": 30 + n,
        }
        for n in range(3)
    }  # fmt: skip
    path = write(tmp_path, motions)
    first = footplant.load(path)
    assert [(take.name, take.frames, take.fps) for take in first.takes] == [
        ("walk_0", 10, 30.0), ("walk_1", 11, 31.0), ("walk_2", 12, 32.0)]  # fmt: skip
    last = footplant.load(path, take="walk_2")
    assert (len(last.motion), last.motion.fps) == (12, 32.0)


def test_rotation_matrices(tmp_path):
    poses = 0.4 * RNG.normal(size=(6, 24, 3))
    vectors = footplant.load(write(tmp_path, {"poses": poses.reshape(6, 72), "trans": np.zeros((6, 3))}, "a.pkl"))
    matrices = rotation.to_matrix(rotation.exp(poses))
    for value in (
        {"poses": matrices, "trans": np.zeros((6, 3))},
        {"global_orient": matrices[:, :1], "body_pose": matrices[:, 1:], "transl": np.zeros((6, 3))},
    ):
        clip = footplant.load(write(tmp_path, value, "b.pkl"), up=vectors.conversion.up)
        assert np.allclose(Kinematics(clip.motion).positions, Kinematics(vectors.motion).positions, atol=1e-6)


def test_betas_with_a_model_file(tmp_path):
    """A made model: joints follow the vertices, which follow the betas."""
    from footplant.io.npz.bodies import SMPL

    joints = np.cumsum(np.zeros((24, 3)), axis=0)
    for joint, parent in enumerate(SMPL.layout.parents):
        joints[joint] = (joints[parent] if parent >= 0 else 0.0) + SMPL.layout.offsets[joint]
    template = np.repeat(joints, 2, axis=0) + np.tile([[0.01, 0, 0], [-0.01, 0, 0]], (24, 1))
    directions = np.zeros((48, 3, 2))
    directions[:, :, 0] = 0.1 * template
    model = {
        "v_template": template, "shapedirs": directions, "J_regressor": np.kron(np.eye(24), [[0.5, 0.5]]),
        "weights": np.repeat(np.eye(24), 2, axis=0), "f": np.array([[0, 1, 2], [2, 1, 3]]),
        "kintree_table": np.zeros((2, 24), int),
    }  # fmt: skip
    np.savez(tmp_path / "model.npz", **model)
    path = write(tmp_path, {"poses": np.zeros((3, 72)), "trans": np.zeros((3, 3)), "betas": np.array([2.0, 0.0])})
    mean, large = footplant.load(path), footplant.load(path, skeleton=tmp_path / "model.npz")
    assert any("betas (body shape) were ignored" in note for note in mean.notes)
    assert any("2 betas, by the model model.npz" in note for note in large.notes)
    assert np.allclose(large.motion.skeleton.offsets[1:], 1.2 * mean.motion.skeleton.offsets[1:], atol=1e-6)
    assert large.character.skin is not None
    assert len(large.character.skin.vertices) == 48
    # the pelvis is at the translation plus its place in the model
    assert np.allclose(large.motion.root, 1.2 * joints[0], atol=1e-9)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    again = footplant.load(path, skeleton=tmp_path / "model.pkl")
    assert np.array_equal(again.motion.skeleton.offsets, large.motion.skeleton.offsets)
    np.savez(tmp_path / "bad.npz", **(model | {"weights": np.zeros((3, 3))}))
    with pytest.raises(FormatError, match="matching arrays"):
        footplant.load(path, skeleton=tmp_path / "bad.npz")


def test_humanml_features(tmp_path):
    """Rows of features give the joints that they were computed from, at 20 frames per second."""
    walk = footplant.load("sample:walk").motion[:40]
    places = Kinematics(walk).positions[:, :1] + RNG.normal(scale=0.2, size=(1, 22, 3))
    places[:, 0] = Kinematics(walk).positions[:, 0]
    turns = 0.02 * np.arange(39)
    heading = np.concatenate([[0.0], np.cumsum(turns)])
    back = rotation.from_axis_angle([0.0, 1.0, 0.0], 2.0 * heading)
    rows = np.zeros((40, 263))
    rows[:-1, 0] = turns
    steps = rotation.rotate(back[1:], np.diff(places[:, 0], axis=0))
    rows[:-1, 1], rows[:-1, 2], rows[:, 3] = steps[:, 0], steps[:, 2], places[:, 0, 1]
    local = rotation.rotate(back[:, None], places[:, 1:] - places[:, :1] * [1.0, 0.0, 1.0])
    rows[:, 4:67] = local.reshape(40, 63)
    from footplant.io.npz.features import read_humanml

    np.save(tmp_path / "rows.npy", rows.astype(np.float32))
    with open(tmp_path / "rows.npy", "rb") as file:
        from footplant.io.npz.archive import open_archive

        raw = read_humanml(open_archive(file, None), "rows", None)
    assert raw.takes[0].fps == 20.0
    assert raw.read_take is not None
    got = Kinematics(raw.read_take(0)).positions
    start = places[0, 0] * [1.0, 0.0, 1.0]
    assert np.allclose(got[:, 0], places[:, 0] - start, atol=1e-4)


def test_humanml_features_are_written_as_they_are_read(tmp_path):
    """A motion of SMPL's body → features → the same places of its joints, from the origin, facing +z."""
    from footplant.io.npz.features import JOINTS, humanml_features

    body = footplant.load_character("sample:smpl")
    still = footplant.rest_motion(body.skeleton, frames=60)
    time = np.arange(60)[:, None] / 20.0
    bend = 0.3 * np.sin(2.0 * time[:, None] + RNG.uniform(0.0, 6.0, (1, len(body.skeleton), 1)))
    turned = rotation.multiply(still.rotations, rotation.exp(bend * RNG.normal(size=(1, len(body.skeleton), 3)) * 0.5))
    turned[:, 0] = rotation.multiply(rotation.from_axis_angle([0.0, 1.0, 0.0], 0.8 * time[:, 0] + 2.0), turned[:, 0])
    root = still.root + np.concatenate([np.sin(time), 0.0 * time, 1.2 * time], axis=1) + [3.0, 0.0, 1.0]
    motion = footplant.Motion(body.skeleton, root, turned, 20.0)
    rows = humanml_features(motion)
    assert rows.shape == (59, 263)
    np.save(tmp_path / "rows.npy", rows)
    again = footplant.load(tmp_path / "rows.npy")
    places = Kinematics(motion).positions[:-1, [body.skeleton.names.index(name) for name in JOINTS]]
    got = Kinematics(again.motion).positions
    got = got[:, [again.motion.skeleton.names.index(name) for name in JOINTS]]
    # the same but for one turn about the vertical and one shift
    assert np.abs(got[0, 0, ::2]).max() < 1e-3
    first = [each[0] - each[0, :1] for each in (places, got)]
    angles = [np.arctan2(*(each[2] - each[1])[[0, 2]]) for each in first]
    about = rotation.from_axis_angle([0.0, 1.0, 0.0], angles[1] - angles[0])
    moved = rotation.rotate(about, places - places[:1, :1]) + got[:1, :1]
    assert np.abs(moved - got).max() < 0.01
    # bones turned by the features' rotations lie along those of the motion
    columns = rows[:, 67:193].reshape(59, 21, 2, 3)
    assert np.allclose(np.linalg.norm(columns, axis=-1), 1.0, atol=1e-5)
    assert np.allclose(np.einsum("fjk,fjk->fj", columns[:, :, 0], columns[:, :, 1]), 0.0, atol=1e-5)
    assert set(np.unique(rows[:, 259:])) <= {0.0, 1.0}
    with pytest.raises(footplant.MotionError, match="sample:smpl"):
        humanml_features(footplant.load("sample:walk").motion)


MODEL = b"""<mujoco model="two"><compiler angle="radian"/><default><joint axis="0 1 0"/></default><worldbody>
<body name="base" pos="0 0 1"><freejoint/><body name="arm" pos="0 0 0.5" quat="0.7071068 0 0.7071068 0">
<joint name="a"/><body name="hand" pos="0.3 0 0"><joint name="b" axis="0 0 1" pos="0.1 0 0"/></body></body>%s</body>
</worldbody></mujoco>"""


def _legs() -> bytes:
    body = b'<body name="l%d" pos="0 %d 0"><joint name="l%d" axis="1 0 0"/></body>'
    return b"".join(body % (n, n, n) for n in range(8))


class TestRobots:
    def test_hinges_turn_bodies(self):
        """By hand: a quarter turn of each hinge."""
        model = parse_model(MODEL % b"")
        assert [hinge.name for hinge in model.hinges] == ["a", "b"]
        identity = np.array([[1.0, 0, 0, 0]])
        motion = footplant.Motion(
            model.skeleton, np.zeros((1, 3)), model.rotations(identity, np.array([[0.0, 0.0]]), model.hinges), 30.0
        )
        # the arm's x axis points down, and the hand's frame is at its hinge
        assert np.allclose(Kinematics(motion).positions[0], [[0, 0, 0], [0, 0, 0.5], [0, 0, 0.1]], atol=1e-6)
        turned = model.rotations(identity, np.array([[-np.pi / 2, 0.0]]), model.hinges)
        motion = footplant.Motion(model.skeleton, np.zeros((1, 3)), turned, 30.0)
        assert np.allclose(Kinematics(motion).positions[0, 2], [0.4, 0, 0.5], atol=1e-6)

    def test_gmr(self, tmp_path):
        frames = 20
        value = {
            "fps": 30, "root_pos": np.zeros((frames, 3)), "root_rot": np.tile([0.0, 0, 0, 1], (frames, 1)),
            "dof_pos": np.zeros((frames, 10)), "local_body_pos": None, "link_body_list": None,
        }  # fmt: skip
        path = write(tmp_path, value)
        with pytest.raises(FormatError, match=r"10 joint angles of a robot; expected its model .*--skeleton"):
            footplant.load(path)
        (tmp_path / "robot.xml").write_bytes(MODEL % _legs())
        clip = footplant.load(path)
        assert len(clip.motion.skeleton) == 11
        assert any("robot.xml, found beside the file" in note for note in clip.notes)
        (tmp_path / "small.xml").write_bytes(MODEL % b"")
        with pytest.raises(FormatError, match="expected 2 joint angles"):
            footplant.load(path, skeleton=tmp_path / "small.xml")

    def test_unitree_tables(self, tmp_path):
        (tmp_path / "robot.xml").write_bytes(MODEL % _legs())
        rows = np.zeros((5, 17))
        rows[:, 6] = 1.0
        rows[:, 2] = 0.8
        rows[:, 7] = np.linspace(0, 1, 5)
        np.savetxt(tmp_path / "walk.csv", rows, delimiter=",")
        clip = footplant.load(tmp_path / "walk.csv")
        assert (len(clip.motion), clip.motion.fps, clip.conversion.up) == (5, 30.0, "z")
        assert footplant.load(tmp_path / "walk.csv", fps=50).motion.fps == 50.0
        rows[2, 3] = np.nan
        np.savetxt(tmp_path / "walk.csv", rows, delimiter=",")
        with pytest.raises(FormatError, match="row 2, column 3: expected finite numbers"):
            footplant.load(tmp_path / "walk.csv")

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b"<mujoco", "damaged text"),
            (b"<!DOCTYPE a [<!ENTITY b 'c'>]><mujoco/>", "entities"),
            (b"<html/>", "<html>"),
            (b"<mujoco/>", "expected bodies"),
            (b"<robot><link name='a'/><joint type='revolute'><parent link='a'/><child link='a'/></joint></robot>",
             "no joint's child"),
            (b"<mujoco><worldbody><body pos='1 2'/></worldbody></mujoco>", "expected 3 numbers"),
            (b"<mujoco><worldbody><body><freejoint/><joint axis='0 0 0'/></body></worldbody></mujoco>", "length 0"),
        ],
    )  # fmt: skip
    def test_damaged_models(self, data, said):
        with pytest.raises(FormatError, match=said):
            parse_model(data)

    @pytest.mark.named(
        "robots/motions/holosoma_g1_sub3_largebox_003_mj.npz", "robots/unitree_g1/g1.xml",
        "robots/unitree_g1/g1_29dof_rev_1_0.urdf",
    )  # fmt: skip
    def test_a_real_robot_against_its_simulator(self, shared, tmp_path):
        """Joint angles through the model put the legs where MuJoCo put them; URDF and MJCF agree."""
        file = shared_data("robots/motions/holosoma_g1_sub3_largebox_003_mj.npz")
        data = np.load(file)
        clip = footplant.load(file, skeleton=shared_data("robots/unitree_g1/g1.xml"))
        names = clip.motion.skeleton.names
        got = dict(zip(names, Kinematics(clip.motion).positions.transpose(1, 0, 2)))
        truth = rotation.rotate(rotation.from_axis_angle([1.0, 0, 0], -np.pi / 2), data["body_pos_w"])
        legs = [n for n, name in enumerate(data["body_names"]) if name in got and ("hip" in name or "ankle" in name)]
        assert len(legs) == 10
        for body in legs:
            assert np.allclose(got[str(data["body_names"][body])], truth[:, body], atol=1e-5)
        q = data["joint_pos"]
        np.savetxt(tmp_path / "t.csv", np.c_[q[:, :3], q[:, [4, 5, 6, 3]], q[:, 7:]], delimiter=",", fmt="%.9f")
        other = footplant.load(tmp_path / "t.csv", skeleton=shared_data("robots/unitree_g1/g1_29dof_rev_1_0.urdf"))
        again = dict(zip(other.motion.skeleton.names, Kinematics(other.motion).positions.transpose(1, 0, 2)))
        assert max(np.abs(again[name] - got[name]).max() for name in names) < 1e-5

    @pytest.mark.named("robots/motions/asap_g1_walk_level4.pkl", "robots/unitree_g1/g1.xml")
    def test_asap(self, shared):
        file = shared_data("robots/motions/asap_g1_walk_level4.pkl")
        person = footplant.load(file)
        assert (len(person.motion), len(person.motion.skeleton)) == (134, 24)
        assert any("need its model" in note for note in person.notes)
        robot = footplant.load(file, skeleton=shared_data("robots/unitree_g1/g1.xml"))
        assert any("6 hinges of the model have no angles" in note for note in robot.notes)
        # the robot walks where the person does
        apart = Kinematics(robot.motion).positions[:, 0] - Kinematics(person.motion).positions[:, 0]
        assert np.linalg.norm(apart, axis=1).max() < 0.2

    @pytest.mark.named("robots/motions/ase_RL_Avatar_TurnLeft180_Motion.npy")
    def test_poselib(self, shared):
        clip = footplant.load(shared_data("robots/motions/ase_RL_Avatar_TurnLeft180_Motion.npy"))
        assert (len(clip.motion), len(clip.motion.skeleton)) == (89, 17)
        assert clip.motion.fps == pytest.approx(29.9966, abs=1e-4)
        assert clip.character.roles is not None
        feet = Kinematics(clip.motion).positions[:, [clip.character.roles[f"{s}_foot"] for s in ("left", "right")], 1]
        assert -0.05 < feet.min() < 0.1

    @pytest.mark.named("robots/motions/holosoma_g1_sub3_largebox_003_mj.npz")
    def test_body_names_that_fit_come_first(self, shared):
        clip = footplant.load(shared_data("robots/motions/holosoma_g1_sub3_largebox_003_mj.npz"))
        assert "left_knee_link" in clip.motion.skeleton.names


MOTIVE = """Format Version,1.23,Take Name,walk,Capture Frame Rate,100,Export Frame Rate,50,Length Units,Millimeters
,Type,Rigid Body,Rigid Body,Rigid Body,Marker,Marker,Marker,Marker,Marker,Marker
,Name,Hat,Hat,Hat,LFHD,LFHD,LFHD,s:RFHD,s:RFHD,s:RFHD
,ID,1,1,1,A,A,A,B,B,B
,,Position,Position,Position,Position,Position,Position,Position,Position,Position
Frame,Time (Seconds),X,Y,Z,X,Y,Z,X,Y,Z
0,0.00,0,0,0,1,1500,3,10,1500,30
1,0.02,0,0,0,2,1500,3,,,
"""
NEXUS = """Trajectories
120
,,Bob:LASI,,,Bob:RASI,,
Frame,Sub Frame,X,Y,Z,X,Y,Z
,,mm,mm,mm,mm,mm,mm
5,0,1,2,1000,4,5,1000
6,0,1,2,1001,,,

Devices
"""


def test_tables_of_motive_and_nexus(tmp_path):
    (tmp_path / "motive.csv").write_text(MOTIVE)
    found = footplant.load_markers(tmp_path / "motive.csv")
    assert (found.names, found.fps, found.conversion.up) == (("LFHD", "s:RFHD"), 50.0, "y")
    assert found.subjects == ("", "s")
    assert np.allclose(found.positions[:, 0], [[0.001, 1.5, 0.003], [0.002, 1.5, 0.003]])
    assert np.isnan(found.positions[1, 1]).all()
    (tmp_path / "nexus.csv").write_text(NEXUS)
    found = footplant.load_markers(tmp_path / "nexus.csv", up="z")
    assert (found.names, found.fps, found.first_frame) == (("Bob:LASI", "Bob:RASI"), 120.0, 5)
    assert np.allclose(found.positions[:, 0, 1], [1.0, 1.001])
    assert np.isnan(found.positions[1, 1]).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MOTIVE.replace("Frame,", "Row,"), "begins with 'Frame'"),
        (MOTIVE.replace("1500,3,10", "abc,3,10"), "expected a number, got 'abc'"),
        (MOTIVE.replace("Marker", "Bone"), "0 markers"),
        (NEXUS.replace("Trajectories", "Events"), "Trajectories"),
        ("a,b,c\n1,2,3\n", "another"),
    ],
)
def test_damaged_tables(text, said):
    with pytest.raises(FormatError, match=said):
        tables.parse_markers(text.encode())


def test_pickles_are_not_written(tmp_path):
    with pytest.raises(FormatError, match="not written"):
        footplant.save(tmp_path / "a.pkl", footplant.load("sample:walk"))


def test_other_pickles_say_what_they_hold(tmp_path):
    for value, said in (({"a": 1}, "a dict of 1 entries"), ([1, 2], "a list of 2"), (3, "a int")):
        with pytest.raises(FormatError, match=said):
            footplant.load(write(tmp_path, value))
    assert npz.extensions == (".npz", ".npy", ".pkl", ".pickle", ".joblib")
