"""NumPy files (.npz, .npy) and pickles of arrays (.pkl): SMPL-family poses, joint positions, robots, our own arrays.

The contents are identified by the names and shapes of the arrays: see `smpl` (AMASS, AIST++ and similar), `features`
(HumanML3D), `arrays` (positions, with or without world rotations), `robots` (joint angles, with a model of the robot),
`values` (what pickles hold) and `native` (what `save` writes). Pickles are read by a machine that imports and runs
nothing (`io.pickled`), and sizes are checked before allocation: see `archive`.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

import numpy as np

from footplant.errors import FormatError
from footplant.io.arrays import pickle_in_npy
from footplant.io.character import RawCharacter
from footplant.io.npz.archive import Archive, open_archive
from footplant.io.npz.arrays import find_positions, read_arrays
from footplant.io.npz.features import is_humanml, read_humanml
from footplant.io.npz.native import is_native, read_native
from footplant.io.npz.native import save as save_native
from footplant.io.npz.robots import find_angles, read_robot
from footplant.io.npz.smpl import find_pose, read_smpl, smpl_character
from footplant.io.npz.smpl_write import MODELS, save_smpl, smpl_losses
from footplant.io.npz.values import first_motion, read_values
from footplant.io.pickled import looks_like_pickle, read_pickle
from footplant.io.robot_models import missing_model

extensions = (".npz", ".npy", ".pkl", ".pickle", ".joblib")
holds = frozenset({"moving bones", "roles"})


def load(path: str | Path, *, fps: float | None = None, skeleton: str | Path | None = None) -> tuple[RawCharacter, ...]:
    """Read the character of a file.

    fps: frames per second if the file states none (default 30; 20 for HumanML3D, 60 for AIST++). skeleton: the model
    that the numbers are about: a robot's (MJCF or URDF), or an SMPL-family model file (.npz or .pkl) for betas.
    """
    try:
        with open(path, "rb") as file:
            return parse(file, path, fps=fps, skeleton=skeleton)
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def parse(
    data: bytes | BinaryIO,
    path: str | Path | None = None,
    *,
    fps: float | None = None,
    skeleton: str | Path | None = None,
) -> tuple[RawCharacter, ...]:
    """Read the bytes of a file, or an open one: see `load`."""
    if fps is not None and not (np.isfinite(fps) and fps > 0):
        raise FormatError(f"expected a positive number of frames per second, got {fps}", path=path)
    file = io.BytesIO(data) if isinstance(data, bytes) else data
    name = Path(path).stem if path else ""
    start = file.read(16)
    file.seek(0)
    if looks_like_pickle(start):
        return read_values(read_pickle(file.read(), path), path, name, fps, skeleton)
    if (at := pickle_in_npy(file)) is not None:
        file.seek(at)
        return read_values(read_pickle(file.read(), path, compressed=False), path, name, fps, skeleton)
    archive = open_archive(file, path)
    if is_native(archive):
        return (read_native(archive, name),)
    if (key := find_pose(archive)) is not None:
        return (read_smpl(archive, name, key, fps, skeleton),)
    angles = find_angles(archive)
    if angles is not None and skeleton is not None:
        robot = read_robot(archive, name, angles, fps, skeleton)
        if robot is not None:
            return (robot,)
    if is_humanml(archive):
        return (read_humanml(archive, name, fps),)
    if (key := find_positions(archive)) is not None:
        return (read_arrays(archive, name, key, fps),)
    if angles is not None:
        robot = read_robot(archive, name, angles, fps, None)
        if robot is None:
            raise missing_model(path, archive.headers[angles].shape[1])
        return (robot,)
    raise FormatError(_describe(archive), path=path)


def open_arrays(path: str | Path) -> Archive:
    """Return the arrays of a file whatever they mean: of a .npz, or of the first motion of a pickle."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    if looks_like_pickle(data[:16]):
        return first_motion(read_pickle(data, path), path)
    return open_archive(io.BytesIO(data), path)


def save(path: str | Path, clip, *, layout: str = "footplant", **options) -> None:
    """Save a clip as arrays (.npz); pickles and single arrays are not written.

    layout: "footplant", our own arrays (`native.save`), or "smpl", "smplh", "smplx": parameters of these models
    (`smpl_write`), for motions on a body of that family.
    """
    if Path(path).suffix.lower() not in (".npz", ".npy"):
        raise FormatError("pickles can be read but not written; .npz holds the same arrays", path=path)
    if layout == "footplant":
        save_native(path, clip, **options)
    else:
        save_smpl(path, clip, layout, **options)


def _describe(archive: Archive) -> str:
    """Return what was expected, what was found, and what that may be."""
    wanted = "expected poses of the SMPL family or joint positions (frames, joints, 3)"
    if list(archive.headers) != [""]:
        why = next((f" ({name}: {reason})" for name, reason in archive.refused.items()), "")
        return f"{wanted}, got the arrays {archive.summary()}{why}"
    header = archive.headers[""]
    kind, shape = header.dtype.kind, header.shape
    guess = "not a motion"
    if kind == "b":
        guess = "labels such as foot contacts, not a motion"
    elif kind in "US":
        guess = "names, not a motion"
    elif len(shape) == 2 and min(shape) > 3:
        guess = "a table such as a height map, not a motion by itself"
    return f"{wanted}, got an array {header}: {guess}"


__all__ = ["MODELS", "extensions", "holds", "load", "parse", "save", "smpl_character", "smpl_losses"]
