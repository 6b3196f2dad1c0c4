"""NumPy files: nothing unpickled, nothing allocated without checks; SMPL poses; our own files."""

from __future__ import annotations

import os
import pickle
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import footplant
from footplant import rotation, samples
from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.io import load, save
from footplant.io import npz as format_npz
from footplant.io.npz import archive, bodies
from footplant.kinematics import Kinematics
from footplant.motion import Motion, rest_motion
from footplant.skeleton import Character, Skeleton
from npz_made import archive as zip_of
from npz_made import describe, header, npy, npz, zipped
from random_figures import random_motion

RNG = np.random.default_rng(7)
POSES = RNG.normal(scale=0.3, size=(12, 72)).astype(np.float32)
TRANS = RNG.normal(size=(12, 3))


def figure(data: bytes, **options):
    (found,) = format_npz.parse(data, "clip.npz", **options)
    return found


def refuse(data: bytes, match: str) -> None:
    with pytest.raises(FormatError, match=match):
        format_npz.parse(data, "clip.npz")


class Harmful:
    """Unpickling it would create a folder."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __reduce__(self):
        return os.mkdir, (self.place,)


def test_nothing_is_unpickled(tmp_path):
    target = tmp_path / "made"
    objects = np.empty(2, object)
    objects[:] = [Harmful(str(target)), 1]
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "b.npz", poses=objects, trans=TRANS)
    np.savez(tmp_path / "c.npz", betas=objects, poses=POSES, trans=TRANS, fps=30)
    (tmp_path / "d.npy").write_bytes(pickle.dumps(Harmful(str(target))))
    (tmp_path / "e.npz").write_bytes(zipped(poses=pickle.dumps(Harmful(str(target)))))
    for name, match in (
        ("a.npy", r"(posix|nt)\.mkdir, which is not read"),
        ("b.npz", "poses: expected a simple array, got pickled Python objects"),
        ("d.npy", r"(posix|nt)\.mkdir, which is not read"),
        ("e.npz", "expected a .npy file, got other bytes"),
    ):
        with pytest.raises(FormatError, match=match):
            format_npz.load(tmp_path / name)
    # an unneeded array does not prevent reading
    assert len(format_npz.load(tmp_path / "c.npz")[0].read_take(0)) == 12
    assert not target.exists()


BOMB = b"\0" * (64 << 20)
WIDE = header(describe(f"({(64 << 20) // 8 // 72}, 72)"))


def deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(
            lambda: zip_of([("poses", deflate(WIDE + BOMB), 8, b"", len(WIDE) + (64 << 20) // 576 * 576)]), id="zeros"
        ),
        pytest.param(lambda: zip_of([("poses", deflate(BOMB), 8, b"", 64 << 20)]), id="no header in it"),
        pytest.param(
            lambda: zip_of([("poses", deflate(npy(POSES) + BOMB), 8, b"", len(npy(POSES)))]), id="more than stated"
        ),
        pytest.param(header(describe("(1000000000, 24, 3)")) + b"\0" * 64, id="header"),
        pytest.param(header(describe("(" + "9" * 400 + ",)")) + b"\0" * 64, id="digits"),
        pytest.param(header(describe("(" + "1," * 3000 + ")")) + b"\0" * 64, id="dimensions"),
        pytest.param(header("(" * 9000), id="brackets"),
        pytest.param(header(describe("(0, 9000000000, 3)")), id="none of many"),
        pytest.param(header("x" * 100, version=2)[:8] + b"\xff\xff\xff\xff" + b"x" * 64, id="long header"),
        pytest.param(zip_of([], count=65535), id="entries"),
        pytest.param(zip_of([(f"a{k}", b"", 0, b"", 0) for k in range(3000)]), id="empty entries"),
        pytest.param(zip_of([("poses", npy(POSES), 12, npy(POSES), len(npy(POSES)))]), id="another method"),
        pytest.param(zip_of([("poses", npy(POSES), 0, npy(POSES), 1 << 31)]), id="stored and larger"),
    ],
)
def test_zip_bombs(data):
    data = data() if callable(data) else data  # compressed only where it is needed
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            format_npz.parse(data, "bomb.npz")
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 10 * len(data) + (1 << 23)


def test_well_compressed_files_are_read():
    still = np.zeros((4000, 156))
    still[:, :66] = RNG.normal(scale=0.2, size=(4000, 66))
    data = npz(compressed=True, poses=still, trans=np.zeros((4000, 3)), mocap_framerate=120)
    assert len(figure(data).read_take(0)) == 4000


def test_memory_is_bounded_by_the_file():
    data = npz(poses=RNG.normal(scale=0.3, size=(8000, 72)).astype("f4"), trans=np.zeros((8000, 3), "f4"), fps=60)
    # loading kernels for the first time takes memory too
    format_npz.parse(npz(poses=POSES, trans=TRANS, fps=30), "clip.npz")
    tracemalloc.start()
    format_npz.parse(data, "clip.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(data)


def test_damaged_archives():
    whole = npz(poses=POSES, trans=TRANS, fps=30)
    for cut in (0, 1, 7, 40, len(whole) // 2, len(whole) - 1):
        refuse(whole[:cut], "expected")
    broken = bytearray(whole)
    broken[300] ^= 255
    refuse(bytes(broken), "checksum|expected")
    refuse(b"PK\x05\x06" + b"\0" * 18, "expected arrays, got none")
    refuse(zipped(readme=b"hello"), "expected a .npy file, got other bytes")
    refuse(b"hello, world", "got the bytes '68 65 6c 6c 6f 2c'")
    refuse(b"", "expected a NumPy file")
    packed = bytearray(npz(compressed=True, poses=POSES, trans=TRANS, fps=30))
    packed[120] ^= 255
    refuse(bytes(packed), "expected")


@pytest.mark.parametrize(
    ("array", "guess"),
    [
        (np.zeros((28, 58), np.float32), r"\(28, 58\) of float32: a table such as a height map"),
        (np.zeros(12, bool), r"\(12,\) of bool: labels such as foot contacts"),
        (np.array(["a", "b"]), "names, not a motion"),
        (np.zeros((40, 263)), "normalised features"),
        (np.zeros((2, 3, 4, 5)), "not a motion"),
        (np.zeros(()), "not a motion"),
        (np.zeros((5, 22, 3), np.complex64), "expected numbers or text, got '<c8'"),
        (np.zeros(5, [("a", "f8")]), "a structured dtype"),
        (np.full((20, 22, 3), np.nan), "expected finite numbers, got NaN or infinity at"),
        (np.full((20, 22, 3), 1e30), "expected coordinates below"),
        (np.zeros((0, 22, 3)), "empty array"),
        (np.zeros((2, 600, 3)), "expected at most 512 joints, got 600"),
    ],
)
def test_arrays_that_are_not_motions(array, guess):
    refuse(npy(array), guess)


def test_npz_without_a_motion_lists_its_arrays():
    refuse(
        npz(heights=np.zeros((4, 5)), labels=np.zeros(3, bool)), r"got the arrays heights \(4, 5\) of float64, labels"
    )
    refuse(npz(poses=np.zeros((4, 5))), r"got the arrays poses \(4, 5\)")


def test_names_of_any_bytes():
    chain = np.cumsum(np.ones((12, 3, 3)), axis=1)
    parts = {"positions": chain, "parents": np.array([-1, 0, 1]), "fps": 30}
    assert figure(npz(names=np.array([b"hip", b"k\xfc", b"f"]), **parts)).skeleton.names == ("hip", "kü", "f")
    assert figure(npz(names=np.array(["hip", "knee", "f"]).astype(">U4"), **parts)).skeleton.names == (
        "hip",
        "knee",
        "f",
    )
    nonsense = np.frombuffer(np.array([0xFFFFFFFF, 1, 2], np.uint32).tobytes(), "<U1")
    refuse(npz(names=nonsense, **parts), "names: expected a list of names, got invalid code points")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f4", ">f4", "<f8", "<f2"])
def test_orders_and_precisions(order, kind):
    poses = np.array(POSES.astype(kind), order=order)
    found = figure(npz(poses=poses, trans=TRANS, mocap_framerate=np.array(59.94))).read_take(0)
    expected = rotation.exp(POSES.astype(kind).astype(float).reshape(12, 24, 3))
    assert np.abs(found.rotations - rotation.normalize(expected)).max() < 1e-12
    assert found.fps == 59.94


class TestSmpl:
    def test_mean_body(self):
        for count, body in bodies.BY_JOINTS.items():
            layout = body.layout
            assert len(layout.names) == count
            found = figure(npz(poses=np.zeros((2, 3 * count)), trans=np.zeros((2, 3)), fps=30))
            places = dict(zip(found.skeleton.names, found.skeleton.rest_world[0]))
            assert found.up == "y"
            # about an adult: hips at 0.9 m, hands 0.7 m to the side, left on the left
            assert 0.85 < places["pelvis"][1] < 1.0
            assert places["left_wrist"][0] == -places["right_wrist"][0]
            assert 0.6 < places["left_wrist"][0] < 0.75
            assert places["left_foot"][2] > places["left_ankle"][2] + 0.1
            assert 1.65 < found.skeleton.rest_ends[:, 1].max() < 1.8
            assert found.skeleton.rest_ends[:, 1].min() == pytest.approx(0.0, abs=1e-12)
            roles = [name for names in found.roles.values() for name in names]
            assert len(set(roles)) == len(roles)
            assert set(roles) <= set(layout.names)

    def test_amass(self):
        found = figure(npz(poses=POSES, trans=TRANS, betas=np.ones(16), gender="male", mocap_framerate=30, dmpls=TRANS))
        pose = found.read_take(0)
        assert pose.skeleton.names[:4] == ("pelvis", "left_hip", "right_hip", "spine1")
        assert np.abs(pose.root - TRANS - [0, -0.22, 0.03]).max() < 1e-12
        assert (found.scale, found.takes[0].fps, found.takes[0].frames) == (1.0, 30.0, 12)
        assert any("betas (body shape) were ignored: the character is SMPL's mean body" in n for n in found.notes)

    @pytest.mark.parametrize(("turn", "up"), [((1.57, 0, 0), "z"), ((0.1, 0, 0), "y"), ((3.1, 0, 0), "-y")])
    def test_up_axis_from_the_pelvis_orientation(self, turn, up):
        poses = np.zeros((5, 66))
        poses[:, :3] = turn
        found = figure(npz(poses=poses, trans=np.zeros((5, 3)), fps=30))
        assert found.up == up
        # the rest pose has the same up axis as the motion
        axis = rotation.AXES[up[-1]] * (-1.0 if "-" in up else 1.0)
        high = found.skeleton.rest_world[0][found.skeleton.index("head")]
        assert high @ axis > 1.4

    def test_parts(self):
        body, hands = RNG.normal(size=(12, 63)), RNG.normal(size=(12, 90))
        root, jaw, eyes = (RNG.normal(size=(12, n)) for n in (3, 3, 6))
        whole = figure(npz(poses=np.hstack([root, body, jaw, eyes, hands]), trans=TRANS, fps=30)).read_take(0)
        parts = {"root_orient": root, "pose_body": body, "pose_hand": hands, "pose_jaw": jaw, "pose_eye": eyes}
        assert np.array_equal(figure(npz(**parts, trans=TRANS, fps=30)).read_take(0).rotations, whole.rotations)
        models = {
            "global_orient": root, "body_pose": body.reshape(12, 21, 3), "jaw_pose": jaw, "leye_pose": eyes[:, :3],
            "reye_pose": eyes[:, 3:], "left_hand_pose": hands[:, :45], "right_hand_pose": hands[:, 45:],
        }  # fmt: skip
        assert np.array_equal(figure(npz(**models, transl=TRANS, fps=30)).read_take(0).rotations, whole.rotations)
        only = figure(npz(root_orient=root, pose_body=body, trans=TRANS, fps=30)).read_take(0)
        assert np.array_equal(only.rotations, whole.rotations[:, :22])
        smplh = figure(npz(root_orient=root, pose_body=body, pose_hand=hands, trans=TRANS, fps=30)).read_take(0)
        assert smplh.rotations.shape == (12, 52, 4)
        refuse(npz(root_orient=root, pose_body=body[:5], trans=TRANS), "as many frames each, got|frames each")
        refuse(
            npz(root_orient=root, pose_body=np.zeros((12, 21, 3, 3)), trans=TRANS),
            "rotation vectors in all parts, got matrices",
        )

    def test_what_is_missing_or_wrong(self):
        assert "no translation is stated" in " ".join(figure(npz(poses=POSES, fps=30)).notes)
        assert "no frame rate is stated; 30 frames" in " ".join(figure(npz(poses=POSES, trans=TRANS)).notes)
        assert figure(npz(poses=POSES, trans=TRANS), fps=50).takes[0].fps == 50
        refuse(npz(poses=POSES, trans=TRANS[:5], fps=30), r"trans: expected a translation \(12, 3\), got \(5, 3\)")
        refuse(npz(poses=POSES * 1e6, trans=TRANS, fps=30), "expected rotation vectors in radians")
        refuse(npz(poses=POSES, trans=TRANS * 1e12, fps=30), "expected metres")
        for rate in (0.0, -1.0, np.inf, np.nan, 1e9):
            refuse(npz(poses=POSES, trans=TRANS, fps=rate), "frames per second|finite numbers")
        refuse(npz(poses=POSES, trans=TRANS, fps=[30, 60]), "expected a single number")
        refuse(npz(poses=POSES, trans=TRANS, fps="fast"), "expected numbers, got")


class TestOwn:
    @pytest.mark.parametrize("compress", [True, False])
    def test_lossless(self, tmp_path, compress):
        motion = random_motion(seed=3, fps=59.94)
        rng = np.random.default_rng(4)
        motion = Motion(motion.skeleton, motion.root, motion.rotations, motion.fps, rng.normal(size=(9, 12, 3)))
        path = tmp_path / "clip.npz"
        format_npz.save(path, Clip(motion, Character(motion.skeleton, "Ä"), name="take 1"), compress=compress)
        (found,) = format_npz.load(path)
        back = found.read_take(0)
        assert (found.name, found.takes[0].name, back.fps) == ("Ä", "take 1", 59.94)
        assert (found.scale, found.up, found.notes) == (1.0, "y", ())
        for name in ("root", "rotations", "offsets"):
            assert np.array_equal(getattr(back, name), getattr(motion, name)), name
        assert back.skeleton.names == motion.skeleton.names
        for name in ("parents", "offsets", "end_parents", "end_offsets"):
            assert np.array_equal(getattr(back.skeleton, name), getattr(motion.skeleton, name)), name
        assert np.abs(back.skeleton.rest - motion.skeleton.rest).max() < 1e-15

    def test_a_sample_through_load_and_save(self, tmp_path):
        clip = samples.load("walk")
        footplant.save(tmp_path / "walk.npz", clip)
        back = footplant.load(tmp_path / "walk.npz")
        assert np.array_equal(back.motion.rotations, clip.motion.rotations)
        assert np.array_equal(back.motion.root, clip.motion.root)
        assert back.motion.fps == clip.motion.fps
        assert dict(back.character.roles.joints) == dict(clip.character.roles.joints)
        assert back.conversion == footplant.io.Conversion(declared=True)
        footplant.save(tmp_path / "again.npz", clip)
        assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "walk.npz").read_bytes()

    def test_any_numpy_program_can_read_it(self, tmp_path):
        clip = samples.load("stand")
        footplant.save(tmp_path / "stand.npz", clip)
        with np.load(tmp_path / "stand.npz", allow_pickle=False) as data:
            assert str(data["format"]) == "footplant-motion"
            assert tuple(data["names"]) == clip.motion.skeleton.names
            assert np.array_equal(data["rotations"], clip.motion.rotations)

    def test_incomplete_files_are_refused(self, tmp_path):
        clip = samples.load("stand")
        footplant.save(tmp_path / "stand.npz", clip)
        with np.load(tmp_path / "stand.npz") as data:
            arrays = dict(data)
        refuse(npz(**(arrays | {"version": 2})), "expected version 1, got 2")
        refuse(npz(**{key: value for key, value in arrays.items() if key != "root"}), "got none named root")
        refuse(npz(**(arrays | {"parents": arrays["parents"] + 1})), "expected joint 0 to be the root")
        refuse(npz(**(arrays | {"parents": arrays["parents"] * 1.0})), "expected whole numbers")
        refuse(npz(**(arrays | {"rotations": arrays["rotations"] * 1.5})), "expected unit quaternions")
        for name in ("offsets", "root", "rest", "rotations"):
            refuse(npz(**(arrays | {name: arrays[name] + 1e300})), f"{name}: expected numbers of at most")
        refuse(npz(**(arrays | {"root": arrays["root"][:3]})), "expected root positions of shape")
        refuse(npz(**(arrays | {"role_joints": arrays["role_joints"] + 900})), "role_joints: expected joints below")
        refuse(npz(**(arrays | {"fps": 0.0})), "frames per second")
        with pytest.raises(FormatError, match=r"ends in \.npz"):
            footplant.save(tmp_path / "x.npy", clip)

    def test_one_joint_no_ends(self, tmp_path):
        motion = Motion(Skeleton(("a",), np.array([-1]), np.zeros((1, 3))), np.zeros((2, 3)), rotation.identity(2, 1))
        format_npz.save(tmp_path / "a.npz", Clip(motion, Character(motion.skeleton)))
        assert len(format_npz.load(tmp_path / "a.npz")[0].read_take(0)) == 2


@given(st.data())
def test_any_mutated_file_is_read_or_refused(data):
    kinds = (
        npz(poses=POSES[:3], trans=TRANS[:3], fps=30), npz(compressed=True, poses=POSES[:3], trans=TRANS[:3], fps=30),
        npy(RNG.normal(size=(3, 22, 3))), npy(POSES[:3]),
    )  # fmt: skip
    text = bytearray(data.draw(st.sampled_from(kinds)))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    try:
        (found,) = format_npz.parse(bytes(text))
    except FormatError:
        return
    assert len(found.read_take(0)) == found.takes[0].frames


def test_the_budget_is_for_all_arrays_together():
    zeros = npy(np.zeros((20_000, 72)))
    data = zip_of([(name, deflate(zeros), 8, zeros, len(zeros)) for name in ("poses", "trans")])
    refuse(data, "expected at most [0-9]+ more bytes from a file of this size")
    assert archive.MAX_GROWTH == 8


def test_kinematics_of_the_mean_body_by_hand():
    """Raise the left arm by a quarter turn about z: the wrist is above the shoulder."""
    poses = np.zeros((1, 72))
    poses[0, 3 * 16 + 2] = np.pi / 2
    pose = figure(npz(poses=poses, trans=np.zeros((1, 3)), fps=30)).read_take(0)
    places = dict(zip(pose.skeleton.names, Kinematics(pose).positions[0]))
    arm = places["left_wrist"] - places["left_shoulder"]
    assert arm == pytest.approx([0.0, 0.51, -0.02], abs=0.03)


def test_smpl_parameters_are_written_as_they_were_read(tmp_path):
    # arrange: z up as in AMASS, with a body's shape
    up = Rotation.from_euler("x", 90, degrees=True)
    poses = RNG.normal(scale=0.3, size=(12, 72))
    poses[:, :3] = (up * Rotation.from_rotvec(poses[:, :3])).as_rotvec()
    betas = RNG.normal(size=16)
    data = npz(poses=poses, trans=TRANS, betas=betas, gender="female", mocap_framerate=60)
    (tmp_path / "in.npz").write_bytes(data)
    # act
    save(tmp_path / "out.npz", load(tmp_path / "in.npz"), layout="smpl")
    # assert
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_allclose(out["trans"], TRANS, atol=1e-6)
        np.testing.assert_allclose(out["betas"], betas, atol=1e-6)
        assert str(out["gender"]) == "female"
        assert float(out["mocap_framerate"]) == 60.0
        ours, theirs = (Rotation.from_rotvec(p.reshape(-1, 3)) for p in (out["poses"], poses))
        assert (ours.inv() * theirs).magnitude().max() < 1e-6


@pytest.mark.parametrize("layout", ["smpl", "smplh", "smplx"])
def test_the_mean_bodies_are_targets_for_smpl_parameters(tmp_path, layout):
    character = load(f"sample:{layout}").character
    still = rest_motion(character.skeleton, 3)
    save(tmp_path / "rest.npz", still, character=character, layout=layout)
    with np.load(tmp_path / "rest.npz") as out:
        # at rest every joint but the root, which turns y up to z up, is at zero
        assert np.abs(out["poses"][:, 3:]).max() < 1e-6
        np.testing.assert_allclose(out["poses"][:, :3], [[np.pi / 2, 0.0, 0.0]] * 3, atol=1e-6)
    np.testing.assert_allclose(
        Kinematics(load(tmp_path / "rest.npz").motion).positions, Kinematics(still).positions, atol=1e-6
    )


def test_other_bodies_are_not_written_as_smpl_parameters(tmp_path):
    with pytest.raises(FormatError, match=r"expected a motion of SMPL's body, got one without .* retarget it onto"):
        save(tmp_path / "out.npz", load("sample:walk"), layout="smpl")
    with pytest.raises(FormatError, match="expected a layout among footplant, smpl"):
        save(tmp_path / "out.npz", load("sample:walk"), layout="amass")
