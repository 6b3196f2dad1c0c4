"""NumPy files (.npz, .npy): SMPL-family poses, arrays of joint positions, and Footplant's own arrays.

The contents are identified by the names and shapes of the arrays: see `smpl` (AMASS and similar), `arrays` (positions,
with or without world rotations) and `native` (what `save` writes). Nothing is ever unpickled, and sizes are checked
before allocation: see `archive`. Betas are ignored: SMPL-family characters have the proportions of the mean body.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

import numpy as np

from footplant.errors import FormatError
from footplant.io.character import RawCharacter
from footplant.io.npz.archive import Archive, open_archive
from footplant.io.npz.arrays import find_positions, read_arrays
from footplant.io.npz.native import is_native, read_native, save
from footplant.io.npz.smpl import find_pose, read_smpl

extensions = (".npz", ".npy")
holds = frozenset({"moving bones", "roles"})


def load(path: str | Path, *, fps: float | None = None) -> tuple[RawCharacter, ...]:
    """Read the character of a file. fps: frames per second if the file states none (default 30)."""
    try:
        with open(path, "rb") as file:
            return parse(file, path, fps=fps)
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def parse(
    data: bytes | BinaryIO, path: str | Path | None = None, *, fps: float | None = None
) -> tuple[RawCharacter, ...]:
    """Read the bytes of a file, or an open one: see `load`."""
    if fps is not None and not (np.isfinite(fps) and fps > 0):
        raise FormatError(f"expected a positive number of frames per second, got {fps}", path=path)
    archive = open_archive(io.BytesIO(data) if isinstance(data, bytes) else data, path)
    name = Path(path).stem if path else ""
    if is_native(archive):
        return (read_native(archive, name),)
    if (key := find_pose(archive)) is not None:
        return (read_smpl(archive, name, key, fps),)
    if (key := find_positions(archive)) is not None:
        return (read_arrays(archive, name, key, fps),)
    raise FormatError(_describe(archive), path=path)


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
    elif len(shape) == 2 and shape[1] == 263:
        guess = "HumanML3D features, which are not positions; convert them to joints first"
    elif len(shape) == 2 and min(shape) > 3:
        guess = "a table such as a height map, not a motion by itself"
    return f"{wanted}, got an array {header}: {guess}"


__all__ = ["extensions", "holds", "load", "parse", "save"]
