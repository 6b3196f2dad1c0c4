"""Footplant's own .npz: a motion as simple arrays that any NumPy program can read, lossless.

| array | shape | what |
|---|---|---|
| format | () text | "footplant-motion" |
| version | () int | 1 |
| name | () text | of the character |
| take | () text | of the motion |
| names | (J,) text | of the joints, parents before children |
| parents | (J,) int | −1 for joint 0 |
| offsets | (J, 3) | metres; offset of a joint in its parent's frame; the root's at rest |
| rest | (J, 4) | local rotations of the rest pose, quaternions (w, x, y, z) |
| end_parents, end_offsets | (E,), (E, 3) | end sites: their joints, and offsets in the joints' frames, metres |
| root | (F, 3) | metres; world position of joint 0; y is up |
| rotations | (F, J, 4) | local rotations, quaternions (w, x, y, z), which include the rest rotation |
| fps | () | frames per second |
| moving_offsets | (F, J, 3) | only if bone lengths vary: offsets of joints in their parents' frames, metres |
| role_names, role_joints | (R,) text, (R,) int | only if known: role and joint pairs, from the root outwards |
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from footplant.clip import Clip, Take
from footplant.errors import FormatError, MotionError, SkeletonError
from footplant.io.arrays import write_archive, write_npy
from footplant.io.character import RawCharacter
from footplant.io.npz.archive import Archive
from footplant.io.npz.arrays import MAX_LENGTH, find_rate
from footplant.motion import Motion
from footplant.skeleton import Skeleton

MARK, VERSION = "footplant-motion", 1
_NEEDED = ("names", "parents", "offsets", "root", "rotations", "fps")


def save(path: str | Path, clip: Clip, *, compress: bool = True) -> None:
    """Save a motion and its skeleton as arrays: see the module's table. compress: deflate them."""
    if Path(path).suffix.lower() != ".npz":
        raise FormatError(
            "expected a name that ends in .npz: a .npy file holds one array, but a motion needs several", path=path
        )
    motion, skeleton = clip.motion, clip.motion.skeleton
    arrays = {
        "format": np.array(MARK), "version": np.array(VERSION), "name": np.array(clip.character.name),
        "take": np.array(clip.name), "names": np.array(skeleton.names), "parents": skeleton.parents,
        "offsets": skeleton.offsets, "rest": skeleton.rest, "end_parents": skeleton.end_parents,
        "end_offsets": skeleton.end_offsets, "root": motion.root, "rotations": motion.rotations,
        "fps": np.array(float(motion.fps)),
    }  # fmt: skip
    if motion.offsets is not None:
        arrays["moving_offsets"] = motion.offsets
    if clip.character.roles is not None:
        pairs = [(role, joint) for role, joints in clip.character.roles.joints.items() for joint in joints]
        arrays["role_names"] = np.array([role for role, _ in pairs], dtype=str)
        arrays["role_joints"] = np.array([joint for _, joint in pairs], np.int64)
    write_archive(path, {f"{name}.npy": write_npy(array) for name, array in arrays.items()}, compress=compress)


def is_native(archive: Archive) -> bool:
    """Return whether the file was written by `save`."""
    if "format" not in archive or archive.headers["format"].dtype.kind != "U" or archive.headers["format"].shape:
        return False
    return archive.strings("format") == (MARK,)


def read_native(archive: Archive, name: str) -> RawCharacter:
    """Read a file that `save` wrote; raise `FormatError` for another version."""
    version = archive.number("version") if "version" in archive else 0
    if version != VERSION:
        raise archive.error(f"expected version {VERSION}, got {version:g}; a newer Footplant may have written it")
    missing = [key for key in _NEEDED if key not in archive]
    if missing:
        raise archive.error(f"expected arrays {', '.join(_NEEDED)}, got none named {', '.join(missing)}")
    try:
        skeleton = Skeleton(
            archive.strings("names"), _integers(archive, "parents"), _bounded(archive, "offsets"),
            _bounded(archive, "rest", 2.0) if "rest" in archive else None,  # type: ignore[arg-type]
            _integers(archive, "end_parents") if _filled(archive, "end_parents") else None,  # type: ignore[arg-type]
            _bounded(archive, "end_offsets") if _filled(archive, "end_offsets") else None,  # type: ignore[arg-type]
        )  # fmt: skip
        moving = _bounded(archive, "moving_offsets") if "moving_offsets" in archive else None
        rate = find_rate(archive, None, [])
        motion = Motion(skeleton, _bounded(archive, "root"), _bounded(archive, "rotations", 2.0), rate, moving)
    except (SkeletonError, MotionError, ValueError) as error:
        raise archive.error(str(error)) from error
    take = archive.strings("take")[0] if "take" in archive else name
    character = archive.strings("name")[0] if "name" in archive else name
    return RawCharacter(
        character, skeleton, (Take(take, len(motion), motion.fps),), lambda take: motion,
        scale=1.0, up="y", roles=_roles(archive, skeleton),
    )  # fmt: skip


def _bounded(archive: Archive, name: str, most: float = MAX_LENGTH):
    """Return an array of numbers, checked against a maximum so that squares stay precise."""
    array = archive.floats(name)
    largest = max(abs(float(array.min())), abs(float(array.max())))
    if largest > most:
        raise archive.error(f"expected numbers of at most {most:g}, got {largest:g}", name)
    return array


def _filled(archive: Archive, name: str) -> bool:
    """Return whether there is a non-empty array of that name."""
    return name in archive and archive.headers[name].size > 0


def _integers(archive: Archive, name: str):
    """Return an array of integers."""
    if archive.headers[name].dtype.kind not in "iu":
        raise archive.error(f"expected whole numbers, got {archive.headers[name]}", name)
    return archive.array(name)


def _roles(archive: Archive, skeleton: Skeleton) -> dict[str, tuple[str, ...]] | None:
    """Return role → joint names, or None if the file has none."""
    if not (_filled(archive, "role_names") and _filled(archive, "role_joints")):
        return None
    roles: dict[str, list[str]] = {}
    for role, joint in zip(archive.strings("role_names"), _integers(archive, "role_joints").tolist()):
        if not 0 <= joint < len(skeleton):
            raise archive.error(f"expected joints below {len(skeleton)}, got {joint}", "role_joints")
        roles.setdefault(role, []).append(skeleton.names[joint])
    return {role: tuple(joints) for role, joints in roles.items()}
