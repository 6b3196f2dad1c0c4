"""Motions in pickled dicts of arrays: SMPL-family poses, robots, and poselib's skeleton motions.

Seen in the wild: AIST++ (`smpl_poses`, `smpl_trans`, `smpl_scaling`), PHC and ASAP (motion name → `pose_aa`, `dof`,
`root_trans_offset`, `root_rot`, `fps`), GMR (`root_pos`, `root_rot`, `dof_pos`, `fps`), ASE (poselib's SkeletonMotion
with its skeleton tree). A dict of several motions becomes takes of one character.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from footplant import rotation
from footplant.clip import Take
from footplant.errors import FormatError
from footplant.io.arrays import NpyHeader
from footplant.io.character import RawCharacter
from footplant.io.npz.archive import Archive
from footplant.io.npz.arrays import MAX_JOINTS, MAX_LENGTH, find_positions, read_arrays
from footplant.io.npz.robots import find_angles, read_robot
from footplant.io.npz.smpl import find_pose, read_smpl
from footplant.io.npz.tree import parents_first
from footplant.io.pickled import as_array
from footplant.io.robot_models import missing_model
from footplant.motion import Motion
from footplant.skeleton import Skeleton

MAX_MOTIONS = 200_000
WRAPPERS = ("motion", "data", "motions", "result", "results")
"""Keys under which a dict may hold the dict of its motion."""


def read_values(
    value: Any, path: str | Path | None, name: str, fps: float | None, skeleton: str | Path | None
) -> tuple[RawCharacter, ...]:
    """Return the characters of a pickled value."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or not value:
        raise FormatError(f"expected a dict of arrays, got {_describe(value)}", path=path)
    if _is_motion(value):
        return (_read_motion(value, path, name, fps, skeleton),)
    for key in WRAPPERS:
        inner = value.get(key)
        if isinstance(inner, dict) and _is_motion(inner):
            return (_read_motion(inner, path, name, fps, skeleton),)
    motions = {str(key): inner for key, inner in value.items() if isinstance(inner, dict) and _is_motion(inner)}
    if not motions or len(motions) > MAX_MOTIONS:
        raise FormatError(f"expected arrays of a motion, got {_describe(value)}", path=path)
    return (_read_motions(motions, path, name, fps, skeleton),)


def first_motion(value: Any, path: str | Path | None) -> Archive:
    """Return the arrays of the first motion of a pickled value."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(value, dict):
        for inner in (value, *(each for each in value.values() if isinstance(each, dict))):
            if _is_motion(inner):
                return archive_of(inner, path)
    raise FormatError(f"expected a dict of arrays, got {_describe(value)}", path=path)


def _read_motions(
    motions: dict[str, dict], path: str | Path | None, name: str, fps: float | None, skeleton: str | Path | None
) -> RawCharacter:
    """Return one character with a take for each motion; those of another skeleton are left out with a note."""
    names = list(motions)
    first = _read_motion(motions[names[0]], path, names[0], fps, skeleton)
    if len(names) == 1:
        return replace(first, name=first.name or name)
    takes = []
    for key in names:
        frames, rate = _length_and_rate(motions[key], fps, first)
        takes.append(Take(key, frames, rate))

    def read(take: int) -> Motion:
        found = _read_motion(motions[names[take]], path, names[take], fps, skeleton)
        assert found.read_take is not None
        motion = found.read_take(0)
        if motion.skeleton.names != first.skeleton.names:
            raise FormatError("expected the joints of the first motion, got others", path=path, where=names[take])
        return motion

    return replace(first, name=name, takes=tuple(takes), read_take=read)


def _length_and_rate(motion: dict, fps: float | None, first: RawCharacter) -> tuple[int, float]:
    """Return the frames and the rate of a motion, without reading its numbers."""
    lengths = [
        len(array) for array in map(as_array_if_stored, motion.values()) if array is not None and array.ndim >= 2
    ]
    rate = fps or motion.get("fps") or motion.get("mocap_framerate") or first.takes[0].fps
    rate = float(rate) if isinstance(rate, int | float | np.number) and 1e-3 <= float(rate) <= 1e6 else 30.0
    return max(set(lengths), key=lengths.count) if lengths else 0, rate


def as_array_if_stored(value: Any) -> np.ndarray | None:
    """Return a value that is an array already."""
    return value if isinstance(value, np.ndarray) else None


def _is_motion(value: dict) -> bool:
    """Return whether a dict has arrays of frames itself, rather than dicts that have them."""
    if "skeleton_tree" in value:
        return True
    return any(isinstance(inner, np.ndarray) and inner.ndim >= 2 for inner in value.values())


def _read_motion(
    value: dict, path: str | Path | None, name: str, fps: float | None, skeleton: str | Path | None
) -> RawCharacter:
    if "skeleton_tree" in value:
        return _read_poselib(value, path, name, fps)
    archive = archive_of(value, path)
    angles = find_angles(archive)
    pose = find_pose(archive)
    if angles is not None and (skeleton is not None or pose is None):
        robot = read_robot(archive, name, angles, fps, skeleton)
        if robot is not None:
            return robot
    if pose is not None:
        return read_smpl(archive, name, pose, fps, skeleton)
    if (bodies := _body_positions(archive, value)) is not None:
        return read_arrays(bodies, name, "body_positions", fps)
    if (key := archive.find("smpl_joints")) is not None:
        raw = read_arrays(archive, name, key, fps)
        told = "the robot's joint angles need its model (--skeleton FILE); the person's joints were read instead"
        return replace(raw, notes=(*raw.notes, told))
    if angles is not None:
        raise missing_model(path, archive.headers[angles].shape[1])
    if (key := find_positions(archive)) is not None:
        return read_arrays(archive, name, key, fps)
    raise FormatError(f"expected arrays of a motion, got {archive.summary()}", path=path)


def _body_positions(archive: Archive, value: dict) -> Archive | None:
    """Return GMR's bodies, which are stated in the root's frame, as places in the world; None if there are none."""
    local, root, turns = (as_array(value.get(key)) for key in ("local_body_pos", "root_pos", "root_rot"))
    names = value.get("link_body_list")
    if local is None or root is None or turns is None or local.ndim != 3 or local.shape[-1] != 3:
        return None
    if root.shape != (len(local), 3) or turns.shape != (len(local), 4):
        return None
    places = root[:, None] + rotation.rotate(rotation.normalize(turns[:, [3, 0, 1, 2]])[:, None], local)
    arrays: dict[str, Any] = {"body_positions": places}
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        arrays["body_names"] = names
    if "fps" in value:
        arrays["fps"] = value["fps"]
    return archive_of(arrays, archive.path)


def archive_of(value: dict, path: str | Path | None) -> Archive:
    """Return the arrays of a dict as if they came from a .npz file; lists of names become arrays of text."""
    arrays: dict[str, np.ndarray] = {}
    for key, inner in value.items():
        if isinstance(inner, list | tuple) and inner and all(isinstance(item, str) for item in inner):
            array: np.ndarray | None = np.array([item[:200] for item in inner])
        else:
            array = as_array(inner)
        if array is not None:
            arrays[str(key)] = array
    headers = {key: NpyHeader(array.dtype, False, array.shape, 0) for key, array in arrays.items()}
    return Archive(None, path, headers, {}, values=arrays)


def _read_poselib(value: dict, path: str | Path | None, name: str, fps: float | None) -> RawCharacter:
    """Return a poselib SkeletonMotion or SkeletonState: a tree, rotations of all joints, places of the root; z up."""
    tree = value.get("skeleton_tree")
    tree = tree if isinstance(tree, dict) else {}
    names = tree.get("node_names")
    parents, offsets = (_numbers(tree.get(key)) for key in ("parent_indices", "local_translation"))
    turns, root = _numbers(value.get("rotation")), _numbers(value.get("root_translation"))
    if not isinstance(names, list) or not all(isinstance(item, str) for item in names) or not names:
        raise FormatError("expected the names of a skeleton tree, got none", path=path, where="skeleton_tree")
    count = len(names)
    if count > MAX_JOINTS or parents is None or offsets is None or turns is None or root is None:
        raise FormatError("expected a skeleton tree, rotations and root translations, got others", path=path)
    turns = turns[None] if turns.ndim == 2 else turns
    root = root[None] if root.ndim == 1 else root
    if parents.shape != (count,) or offsets.shape != (count, 3) or turns.shape[1:] != (count, 4) or root.shape != (
        len(turns), 3):  # fmt: skip
        raise FormatError(
            f"expected {count} parents, offsets and rotations, got {parents.shape}, {offsets.shape}, {turns.shape} and "
            f"roots {root.shape}", path=path,
        )  # fmt: skip
    parents = parents.astype(np.int64)
    if parents[0] != -1 or (parents[1:] < 0).any() or (parents >= count).any() or len(parents_first(parents)) != count:
        raise FormatError("expected a tree with the first joint as its only root", path=path, where="skeleton_tree")
    norms = np.linalg.norm(np.clip(turns, -4.0, 4.0), axis=-1)
    finite = all(np.isfinite(part).all() for part in (norms, root, offsets))
    if not finite or np.abs(norms - 1.0).max(initial=0.0) > 0.05 or np.abs(root).max(initial=0.0) > MAX_LENGTH:
        raise FormatError("expected finite places and unit quaternions, got others", path=path)
    order = np.array(parents_first(parents))
    place = np.argsort(order)
    local = rotation.normalize(turns[..., [3, 0, 1, 2]])
    if not value.get("is_local", True):
        world = local
        local = np.array(world)
        local[:, 1:] = rotation.multiply(rotation.inverse(world[:, parents[1:]]), world[:, 1:])
    skeleton = Skeleton(
        _unique([names[joint] for joint in order]),
        np.array([-1 if parents[joint] < 0 else place[parents[joint]] for joint in order]),
        offsets[order].astype(float),
    )
    notes: list[str] = []
    stated = value.get("fps")
    rate = fps or (float(stated) if isinstance(stated, int | float | np.number) else 30.0)
    if not 1e-3 <= rate <= 1e6:
        raise FormatError(f"expected a positive number of frames per second, got {rate}", path=path)
    if fps is None and stated is None:
        notes.append("no frame rate is stated; 30 frames per second were assumed (fps= overrides it)")
    motion = Motion(skeleton, root.astype(float), np.ascontiguousarray(local[:, order]), rate)
    return RawCharacter(
        name, skeleton, (Take(name or "motion", len(motion), rate),), lambda take: motion, up="z", notes=tuple(notes)
    )


def _numbers(value: Any) -> np.ndarray | None:
    """Return an array, which poselib wraps in a dict with its type."""
    return as_array(value.get("arr")) if isinstance(value, dict) else as_array(value)


def _unique(names: list[str]) -> tuple[str, ...]:
    seen: list[str] = []
    for name in names:
        seen.append(name if name and name not in seen else f"{name}_{len(seen)}")
    return tuple(seen)


def _describe(value: Any) -> str:
    """Return what a value is, for messages."""
    if isinstance(value, dict):
        keys = ", ".join(repr(str(key)[:40]) for key in list(value)[:8])
        return f"a dict of {len(value)} entries ({keys}{' …' if len(value) > 8 else ''})"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return f"a {type(value).__name__}"
