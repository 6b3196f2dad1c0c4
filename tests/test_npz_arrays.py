"""Joint positions in NumPy files: known joint orders, trees found from the motion, fitted rotations."""

from __future__ import annotations

import re

import numpy as np
import pytest

import footplant
from footplant import rotation, samples
from footplant.errors import FormatError
from footplant.io import npz as format_npz
from footplant.io.npz.arrays import KNOWN
from footplant.io.npz.fit import find_offsets, pose
from footplant.io.npz.layouts import COPY, JOINT
from footplant.io.npz.tree import find_parents, parents_first
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Skeleton
from npz_made import npy, npz


def moving(parents, offsets, frames: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and world rotations of a skeleton whose joints all swing differently."""
    rng = np.random.default_rng(seed)
    count = len(parents)
    time = np.linspace(0.0, 1.0, frames)[:, None, None]
    swing = np.sin(2 * np.pi * (time * rng.integers(1, 4, (1, count, 1)) + rng.uniform(size=(1, count, 1))))
    local = rotation.exp(swing * rng.normal(scale=0.35, size=(1, count, 3)))
    skeleton = Skeleton(tuple(map(str, range(count))), np.array(parents), np.array(offsets))
    kin = Kinematics(Motion(skeleton, np.cumsum(rng.normal(scale=0.01, size=(frames, 3)), axis=0), local))
    return np.array(kin.positions), np.array(kin.rotations)


def of_layout(layout, seed: int = 0) -> np.ndarray:
    """Return positions of a skeleton in a known joint order, with rigid points and copies in place."""
    rng = np.random.default_rng(seed)
    order = parents_first(np.array(layout.parents))
    place = np.argsort(order)
    lengths = rng.uniform(0.1, 0.4, len(order))
    if layout.offsets is not None:
        lengths = np.linalg.norm(layout.offsets, axis=-1) * rng.uniform(0.9, 1.1, len(order))
    for left, right in layout.pairs:
        lengths[right] = lengths[left]
    offsets = layout.directions * lengths[:, None]
    offsets[np.array(layout.kinds) == COPY] = 0.0
    parents = np.where(order == 0, -1, place[np.maximum(np.array(layout.parents)[order], 0)])
    positions, _ = moving(parents, offsets[order], seed=seed)
    return positions[:, place]


@pytest.mark.parametrize("layout", KNOWN, ids=lambda layout: f"{layout.title} {layout.names[1]}")
@pytest.mark.parametrize("up", ["y", "z"])
def test_known_orders(layout, up):
    positions = of_layout(layout)
    if up == "z":
        positions = positions[..., [0, 2, 1]] * [1, -1, 1]
    (found,) = format_npz.parse(npy(positions), "clip.npy")
    joints = [name for name, kind in zip(layout.names, layout.kinds) if kind == JOINT]
    assert sorted(found.skeleton.names) == sorted(joints)
    assert layout.title in " ".join(found.notes)
    assert found.up == up
    motion = found.read_take(0)
    reached = Kinematics(motion).positions
    wanted = positions[:, [layout.names.index(name) for name in motion.skeleton.names]]
    assert np.abs(reached - wanted).max() < 1e-8
    for name in joints[1:]:
        parent = layout.names[layout.parents[layout.names.index(name)]]
        assert motion.skeleton.names[motion.skeleton.parents[motion.skeleton.index(name)]] == parent


def test_single_poses_in_known_orders():
    """Without motion, equal bone lengths on both sides determine the joint order."""
    for layout in KNOWN:
        (found,) = format_npz.parse(npy(of_layout(layout)[:1]), "clip.npy")
        # a mirrored order cannot be distinguished if the toes point anywhere
        assert sorted(found.skeleton.names) == sorted(
            name for name, kind in zip(layout.names, layout.kinds) if kind == JOINT
        ), layout.title


@pytest.mark.parametrize("layout", [layout for layout in KNOWN if COPY not in layout.kinds][::2], ids=lambda x: x.title)
def test_an_unknown_joint_order_is_found_from_the_motion(layout):
    """Human joints in random order after the root: the tree is found, and the positions are fitted exactly."""
    rng = np.random.default_rng(5)
    order = np.concatenate([[0], 1 + rng.permutation(len(layout.names) - 1)])
    positions = of_layout(layout)[:, order]
    parents, loose = find_parents(positions)
    assert loose < 1e-6
    names = [layout.names[j] for j in order]
    wanted = [layout.names[layout.parents[j]] for j in order[1:]]
    found = [names[parent] for parent in parents[1:]]
    # a short finger bone may be attached to an equally stiff neighbour, the body may not
    wrong = [names[j + 1] for j in range(len(found)) if found[j] != wanted[j]]
    small = "index|middle|ring|pinky|thumb|eye|ear|nose|jaw|toe"
    assert all(re.search(small, name.lower()) for name in wrong)
    (figure,) = format_npz.parse(npy(positions), "clip.npy")
    assert "distance is constant" in " ".join(figure.notes)


def test_with_world_rotations_the_exact_tree_is_found():
    rng = np.random.default_rng(6)
    parents = np.array([-1] + [int(rng.integers(max(0, j - 4), j)) for j in range(1, 19)])
    offsets = rng.normal(scale=0.3, size=(19, 3))
    positions, rotations = moving(parents, offsets, frames=80)
    assert find_parents(positions, rotations)[0].tolist() == parents.tolist()
    names = np.array([f"body {j}" for j in range(19)])
    for quaternions in (rotations, rotations[..., [1, 2, 3, 0]]):
        (found,) = format_npz.parse(
            npz(body_positions=positions, body_rotations=quaternions, body_names=names, fps=50), "clip.npz"
        )
        motion = found.read_take(0)
        assert motion.skeleton.parents.tolist() == parents.tolist()
        assert motion.skeleton.names == tuple(names)
        assert motion.offsets is None
        assert np.abs(motion.skeleton.offsets[1:] - offsets[1:]).max() < 1e-9
        assert np.abs(Kinematics(motion).positions - positions).max() < 1e-9
        assert rotation.angle(Kinematics(motion).rotations, rotations).max() < 1e-6
    (found,) = format_npz.parse(npz(posed_joints=positions, global_rot_mats=rotation.to_matrix(rotations), fps=50))
    assert np.abs(Kinematics(found.read_take(0)).positions - positions).max() < 1e-9


def test_joints_that_slide_are_kept():
    positions, rotations = moving([-1, 0, 1, 2], np.full((4, 3), 0.3))
    positions[:, 3] += np.linspace(0, 0.2, len(positions))[:, None]
    (found,) = format_npz.parse(npz(positions=positions, global_rotations=rotations, parents=[-1, 0, 1, 2], fps=30))
    assert found.read_take(0).offsets is not None
    assert np.abs(Kinematics(found.read_take(0)).positions - positions).max() < 1e-9
    assert "moving bone offsets" in " ".join(found.notes)


def test_stated_names_and_parents_take_precedence():
    """A parent after its child, SMPL's table of two rows, a batch of one."""
    positions, _ = moving([-1, 0, 1, 1], np.eye(4, 3) + 0.2)
    shuffled = positions[:, [0, 2, 1, 3]][None]
    names = np.array(["root", "tip", "middle", "other"])
    for parents in ([-1, 2, 0, 2], np.array([[4294967295, 2, 0, 2], [0, 1, 2, 3]], np.uint32)):
        (found,) = format_npz.parse(npz(joints=shuffled, joint_names=names, parents=parents, fps=30), "clip.npz")
        assert found.skeleton.names == ("root", "middle", "tip", "other")
        assert found.skeleton.parents.tolist() == [-1, 0, 1, 1]
        assert np.abs(Kinematics(found.read_take(0)).positions - positions).max() < 1e-7
    for parents in ([-1, 2, 1, 2], [0, 0, 0, 0], [1, -1, 1, 1]):
        with pytest.raises(FormatError, match="expected a tree"):
            format_npz.parse(npz(joints=shuffled, names=names, parents=parents), "clip.npz")


def test_positions_without_a_tree_are_refused():
    rng = np.random.default_rng(1)
    with pytest.raises(FormatError, match="connected by bones of constant length, got 19 joints in an unknown order"):
        format_npz.parse(npy(rng.normal(size=(50, 19, 3))), "clip.npy")
    with pytest.raises(FormatError, match=r"expected 10 frames or more, got 4 of 19 joints .* names and parents"):
        format_npz.parse(npy(rng.normal(size=(4, 19, 3))), "clip.npy")


def test_invalid_rotations():
    positions, rotations = moving([-1, 0, 1], np.eye(3))
    for bad, match in (
        (rotations * 3, "expected unit quaternions, got one of length 3"),
        (rotations[:5], "expected rotations .* like the positions"),
        (np.full((*positions.shape[:2], 3, 3), 2.0), "expected rotation matrices"),
        (rotations * np.nan, "expected finite numbers"),
    ):
        with pytest.raises(FormatError, match=match):
            format_npz.parse(npz(positions=positions, global_rotations=bad, fps=30), "clip.npz")


def test_fit_of_noisy_positions():
    """With 5 mm noise on every joint, the fit stays within a few mm, with constant bone lengths."""
    clip = samples.load("walk")
    exact = Kinematics(clip.motion).positions
    noisy = exact + np.random.default_rng(0).normal(scale=0.005, size=exact.shape)
    parents = clip.motion.skeleton.parents
    data = npz(positions=noisy, parents=parents, names=np.array(clip.motion.skeleton.names), fps=clip.motion.fps)
    (found,) = format_npz.parse(data, "clip.npz")
    off = np.linalg.norm(Kinematics(found.read_take(0)).positions - exact, axis=-1)
    assert np.sqrt(np.mean(off**2)) < 0.015
    said = re.search(r"fitted to the positions: mean error ([\d.]+) mm", " ".join(found.notes))
    assert said
    assert 3 < float(said[1]) < 15


def test_fit_is_exact_for_a_rigid_skeleton():
    clip = samples.load("walk")
    kin = Kinematics(clip.motion)
    parents = np.array(clip.motion.skeleton.parents)
    rest = clip.motion.skeleton.rest_world[0]
    bones = rest - rest[np.maximum(parents, 0)]
    offsets = find_offsets(kin.positions, parents, bones, rotation.IDENTITY)
    assert np.abs(np.linalg.norm(offsets[1:], axis=-1) - np.linalg.norm(bones[1:], axis=-1)).max() < 1e-9
    world = pose(kin.positions, parents, offsets, rotation.IDENTITY)
    # joints with several non-collinear bones get their true rotation
    chest = clip.motion.skeleton.parents[clip.character.roles["left_clavicle"]]
    turned = rotation.multiply(world[:, chest], rotation.inverse(kin.rotations[:, chest]))
    assert rotation.angle(turned, turned[:1]).max() < 1e-5


SMPL_ROLES = {
    "hips": "pelvis", "spine": "spine1", "neck": "neck", "head": "head",
    **{f"{side}_{role}": f"{side}_{joint}" for side in ("left", "right") for role, joint in (
        ("clavicle", "collar"), ("upper_arm", "shoulder"), ("lower_arm", "elbow"), ("hand", "wrist"),
        ("upper_leg", "hip"), ("lower_leg", "knee"), ("foot", "ankle"), ("toes", "foot"))},
}  # fmt: skip
MOCAP_ROLES = {
    "hips": "Hips", "spine": "Spine", "neck": "Neck", "head": "Head",
    **{f"{side.lower()}_{role}": f"{side}{joint}" for side in ("Left", "Right") for role, joint in (
        ("clavicle", "Shoulder"), ("upper_arm", "Arm"), ("lower_arm", "ForeArm"), ("hand", "Hand"),
        ("index", "HandIndex1"), ("upper_leg", "UpLeg"), ("lower_leg", "Leg"), ("foot", "Foot"), ("toes", "ToeBase"))},
}  # fmt: skip
SOMA_ROLES = MOCAP_ROLES | {"spine": "Spine1", "neck": "Neck1"} | {
    f"{side.lower()}_{role}": f"{side}{joint}" for side in ("Left", "Right")
    for role, joint in (("upper_leg", "Leg"), ("lower_leg", "Shin"))
}  # fmt: skip
SOMA_ROLES = {role: name for role, name in SOMA_ROLES.items() if "index" not in role}
BODY_ROLES = {
    "hips": "pelvis", "spine": "torso", "head": "head",
    **{f"{side}_{role}": f"{side}_{joint}" for side in ("left", "right") for role, joint in (
        ("upper_arm", "upper_arm"), ("lower_arm", "lower_arm"), ("hand", "hand"), ("upper_leg", "thigh"),
        ("lower_leg", "shin"), ("foot", "foot"))},
}  # fmt: skip
CLIMB = "positions_terrain/climb_seq_1/mocap_climb_seq_1_joint_positions_f0-2422.npy"
KIMODO = "constraints_npz/kimodo-soma-rp_04_ee_constraint/motion.npz"
REAL = {
    "smpl_npz/video_walk_level1_filter_amass.npz": (152, 24, 30.0, "z", 1.74, SMPL_ROLES),
    "smpl_npz/video_CR7_level1_filter_amass.npz": (119, 24, 30.0, "z", 1.74, SMPL_ROLES),
    "smpl_npz/video_kick_level1_filter_amass.npz": (119, 24, 30.0, "z", 1.74, SMPL_ROLES),
    "smpl_npz/video_squat_level1_filter_amass.npz": (158, 24, 30.0, "z", 1.74, SMPL_ROLES),
    "smpl_npz/video_APT_level1_amass.npz": (230, 24, 30.0, "z", 1.74, SMPL_ROLES),
    "smpl_npz/pyroki_smpl_keypoints.npy": (122, 24, 30.0, "z", 1.58, SMPL_ROLES),
    CLIMB: (2423, 51, 30.0, "z", 1.77, MOCAP_ROLES),
    KIMODO: (151, 23, 30.0, "y", 1.70, SOMA_ROLES),
    "isaaclab_npz/humanoid_walk.npz": (154, 15, 60.0, "z", 1.67, BODY_ROLES),
}
"""File → frames, joints, rate, vertical axis, standing height in metres, roles."""


@pytest.mark.parametrize("file", REAL)
@pytest.mark.named("{file}")
def test_real_files(shared, file):
    frames, joints, rate, up, height, roles = REAL[file]
    clip = footplant.load(shared / file)
    assert (len(clip.motion), len(clip.motion.skeleton), clip.motion.fps) == (frames, joints, rate)
    assert (clip.conversion.units, clip.conversion.up) == ("m", up)
    assert clip.character.height == pytest.approx(height, abs=0.02)
    found = clip.character.require_roles()
    assert {role: clip.motion.skeleton.names[found[role]] for role in roles} == roles
    assert found.overall > 0.9


@pytest.mark.parametrize("name", ["heightmap", "left_foot_contact", "right_foot_contact"])
@pytest.mark.named("smpl_npz/pyroki_{name}.npy")
def test_real_arrays_that_are_not_motions(shared, name):
    with pytest.raises(FormatError, match="height map" if name == "heightmap" else "foot contacts"):
        footplant.load(shared / f"smpl_npz/pyroki_{name}.npy")


@pytest.mark.parametrize(
    "file", [CLIMB, KIMODO, "isaaclab_npz/humanoid_walk.npz", "smpl_npz/pyroki_smpl_keypoints.npy"]
)
@pytest.mark.named("{file}")
def test_real_positions_are_fitted(shared, file):
    """Every joint matches the file to float precision, except skin points that follow no joint exactly."""
    (figure,) = format_npz.load(shared / file)
    with open(shared / file, "rb") as handle:
        data = np.load(handle, allow_pickle=False)
        data = data if isinstance(data, np.ndarray) else data["posed_joints" if file == KIMODO else "body_positions"]
    reached = Kinematics(figure.read_take(0)).positions
    order = [int(np.argmin(np.abs(data - reached[:, j, None]).max(axis=(0, 2)))) for j in range(reached.shape[1])]
    assert len(set(order)) == len(order)
    assert np.abs(reached - data[:, order]).max() < (0.02 if "keypoints" in file else 1e-4)
