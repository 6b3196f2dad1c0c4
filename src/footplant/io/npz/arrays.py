"""Motions stored as arrays of joint positions, with or without world rotations, names and parents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Take
from footplant.io.character import RawCharacter
from footplant.io.npz.archive import Archive
from footplant.io.npz.bodies import BY_JOINTS, SMPL_KEYPOINTS
from footplant.io.npz.layouts import ORDERS
from footplant.io.npz.posing import BLOCK, Tree, pose_by_positions, pose_by_rotations
from footplant.io.npz.tree import SETTINGS, choose_layout, find_parents, parents_first

DEFAULT_FPS = 30.0
MAX_JOINTS = 512
MIN_FRAMES = 10
"""Fewer frames do not determine the joint tree."""
MAX_LENGTH = 1e9
"""Largest valid coordinate, in file units."""
POSITIONS = (
    "posed_joints", "body_positions", "body_pos_w", "rigid_body_pos", "global_positions", "joint_positions",
    "global_joint_positions", "world_positions", "positions", "joints", "joints3d", "joints_3d", "keypoints3d",
    "keypoints", "motion", "xyz", "pos", "arr_0",
)  # fmt: skip
ROTATIONS = (
    "global_rot_mats", "body_rotations", "body_quat_w", "rigid_body_rot", "global_rotations", "world_rotations",
)  # fmt: skip
NAMES = ("names", "body_names", "link_body_list", "joint_names", "bone_names", "joints_names", "marker_names")
PARENTS = ("parents", "joint_parents", "parent_indices", "bone_parents", "kintree_table", "parent")
RATES = ("fps", "mocap_framerate", "mocap_frame_rate", "framerate", "frame_rate", "frequency", "rate")
STEPS = ("dt", "frame_time", "timestep")
KNOWN = (*(body.layout for body in BY_JOINTS.values()), SMPL_KEYPOINTS.layout, *ORDERS)
BODIES = {body.layout.names: body for body in (*BY_JOINTS.values(), SMPL_KEYPOINTS)}
"""Bodies by the names of their joints."""


def find_rate(archive: Archive, fps: float | None, notes: list[str]) -> float:
    """Return frames per second: the file's, else the caller's, else 30."""
    if (key := archive.find(*RATES)) is not None:
        rate = archive.number(key)
    elif (key := archive.find(*STEPS)) is not None:
        step = archive.number(key)
        rate = 1.0 / step if step > 0 else 0.0
    elif fps is not None:
        rate = float(fps)
    else:
        notes.append(
            f"no frame rate is stated; {DEFAULT_FPS:g} frames per second were assumed (fps= states another rate)"
        )
        return DEFAULT_FPS
    if not (np.isfinite(rate) and 1e-3 <= rate <= 1e6):
        raise archive.error(f"expected a positive number of frames per second, got {rate}")
    return rate


def find_positions(archive: Archive) -> str | None:
    """Return the name of the array of positions (frames, joints, 3), or None."""
    for name in (*POSITIONS, ""):
        header = archive.headers.get(name)
        if header is not None and header.dtype.kind in "fiu" and _is_frames(header.shape):
            return name
    fitting = [
        name for name, header in archive.headers.items()
        if header.dtype.kind == "f" and _is_frames(header.shape) and header.shape[-2] > 4 and name not in ROTATIONS
    ]  # fmt: skip
    return fitting[0] if len(fitting) == 1 else None


def _is_frames(shape: tuple[int, ...]) -> bool:
    """Return whether the shape is (F, J, 3), possibly with leading axes of length 1."""
    return len(shape) >= 3 and shape[-1] == 3 and shape[-2] >= 2 and all(size == 1 for size in shape[:-3])


def read_arrays(archive: Archive, name: str, key: str, fps: float | None) -> RawCharacter:
    """Return a character from joint positions, with the file's world rotations or fitted ones."""
    notes: list[str] = []
    rate = find_rate(archive, fps, notes)
    if archive.headers[key].shape[-2] > MAX_JOINTS:
        raise archive.error(f"expected at most {MAX_JOINTS} joints, got {archive.headers[key].shape[-2]}", key)
    positions = archive.floats(key)
    positions = positions.reshape(positions.shape[-3:])
    rate = _humanml_rate(archive, key, positions, fps, rate, notes)
    largest = max(abs(float(positions.min())), abs(float(positions.max())))
    if largest > MAX_LENGTH:
        raise archive.error(f"expected coordinates below {MAX_LENGTH:g}, got {largest:g}", key)
    rotations = _read_rotations(archive, positions)
    tree = _find_tree(archive, key, positions, rotations, notes)
    up = None
    if rotations is not None:
        motion = pose_by_rotations(positions, rotations, tree, rate, notes)
    else:
        motion, up = pose_by_positions(positions, tree, rate, notes)
    body = None if tree.layout is None else BODIES.get(tree.layout.names)
    return RawCharacter(
        name, motion.skeleton, (Take(name or "motion", len(motion), rate),), lambda take: motion,
        up=up, roles=None if body is None else body.roles, notes=tuple(notes),
    )  # fmt: skip


def _humanml_rate(
    archive: Archive, key: str, positions: NDArray, fps: float | None, rate: float, notes: list[str]
) -> float:
    """Return 20 frames per second for joints of HumanML3D, which start at the origin on the floor; else the rate."""
    if fps is not None or key or positions.shape[1:] != (22, 3) or archive.headers[""].dtype != np.float32:
        return rate
    first = positions[0]
    at_origin = np.abs(first[0, [0, 2]]).max() < 1e-3 and abs(float(positions[..., 1].min())) < 0.02
    if not (at_origin and 0.5 < first[0, 1] < 1.5):
        return rate
    notes[:] = ["22 joints that start above the origin: HumanML3D's, at 20 frames per second (fps= overrides it)"]
    return 20.0


def _read_rotations(archive: Archive, positions: NDArray) -> NDArray | None:
    """Return world rotations (F, J, 4) of the same joints, if the file has them."""
    key = archive.find(*ROTATIONS)
    if key is None:
        return None
    shape = archive.headers[key].shape
    want = positions.shape[:2]
    if shape[-3:] == (want[1], 3, 3) and len(shape) >= 4 and shape[-4] == want[0]:
        matrices = _orthogonal(archive, key).reshape(*want, 3, 3)
        out = np.empty((*want, 4))
        for at in range(0, len(out), BLOCK):
            out[at : at + BLOCK] = rotation.from_matrix(matrices[at : at + BLOCK])
    elif shape[-3:] == (*want, 4):
        out = np.asarray(archive.floats(key), float).reshape(*want, 4)
        norms = np.linalg.norm(np.clip(out, -4.0, 4.0), axis=-1)
        if np.abs(norms - 1.0).max() > 0.01:
            worst = norms.flat[np.abs(norms - 1.0).argmax()]
            raise archive.error(f"expected unit quaternions, got one of length {worst:g}", key)
        out = _order_of_quaternions(positions, rotation.normalize(out))
    else:
        raise archive.error(f"expected rotations {(*want, 4)} or {(*want, 3, 3)} like the positions, got {shape}", key)
    return out


def _orthogonal(archive: Archive, key: str) -> NDArray:
    """Return an array of rotation matrices, checked by their norms."""
    matrices = archive.floats(key)
    size = np.einsum("...ij,...ij->...", matrices, matrices, dtype=float)
    if not np.abs(size - 3.0).max() <= 0.06:
        raise archive.error("expected rotation matrices, got others", key)
    return matrices


def _order_of_quaternions(positions: NDArray, quaternions: NDArray) -> NDArray:
    """Return quaternions with the real part first; files may have it last: the stiffer interpretation is chosen."""
    last = quaternions[..., [3, 0, 1, 2]]
    stiff = [_stiffness(positions, candidate) for candidate in (quaternions, last)]
    return quaternions if stiff[0] <= stiff[1] else np.ascontiguousarray(last)


def _stiffness(positions: NDArray, rotations: NDArray) -> float:
    """Return the mean over joints of their deviation in the best-fitting other joint's frame, file units."""
    step = max(1, len(positions) // 60)
    positions, rotations = np.asarray(positions[::step], float), rotation.inverse(rotations[::step])
    best = np.full(positions.shape[1], np.inf)
    for joint in range(positions.shape[1]):
        inside = rotation.rotate(rotations[:, joint, None], positions - positions[:, joint, None])
        moved = inside.std(axis=0).sum(axis=-1)
        moved[joint] = np.inf
        best = np.minimum(best, moved)
    return float(best[1:].mean()) if len(best) > 1 else 0.0


def _find_tree(archive: Archive, key: str, positions: NDArray, rotations: NDArray | None, notes: list[str]) -> Tree:
    """Return the joint tree: as stated, as a known joint order, or as found from the motion."""
    count = positions.shape[1]
    names = _stated_names(archive, count)
    stated = _stated_parents(archive, count)
    if stated is not None:
        return Tree(names or tuple(f"joint_{j}" for j in range(count)), stated)
    if names is None:
        found = choose_layout(positions, KNOWN)
        if found is not None and found[1] <= SETTINGS.max_layout_deviation:
            notes.append(f"the joints were identified as {found[0].title}, whose bone lengths are constant in the file")
            return Tree(found[0].names, np.array(found[0].parents), found[0])
    needed = f"{count} joints in an unknown order; the file needs names and parents"
    if len(positions) < MIN_FRAMES:
        raise archive.error(f"expected {MIN_FRAMES} frames or more, got {len(positions)} of {needed}", key)
    parents, loose = find_parents(positions, rotations)
    if loose > SETTINGS.max_tree_deviation:
        raise archive.error(f"expected joints connected by bones of constant length, got {needed}", key)
    notes.append("no parents are stated; joints were connected where their distance is constant")
    return Tree(names or tuple(f"joint_{j}" for j in range(count)), parents)


def _stated_names(archive: Archive, count: int) -> tuple[str, ...] | None:
    """Return the file's joint names if there are that many and they are unique, else None."""
    for key in NAMES:
        # joint_names may name a robot's hinges, and body_names the bodies whose places are stated
        if key in archive and archive.headers[key].dtype.kind in "US" and archive.headers[key].shape == (count,):
            names = archive.strings(key)
            if len(set(names)) == count and all(names):
                return names
    return None


def _stated_parents(archive: Archive, count: int) -> NDArray | None:
    """Return the file's parents (J,), or None; in a table of two rows (SMPL's) they are the first."""
    key = archive.find(*PARENTS)
    if key is None or archive.headers[key].dtype.kind not in "fiu":
        return None
    table = archive.floats(key)
    table = table[0] if table.ndim == 2 and len(table) == 2 else table.reshape(-1)
    if len(table) != count:
        return None
    parents = np.array([value if 0 <= value < count else -1 for value in table.tolist()], np.int64)
    if parents[0] != -1 or (parents < 0).sum() != 1 or len(parents_first(parents)) != count:
        raise archive.error("expected a tree with the first joint as its only root", key)
    return parents
