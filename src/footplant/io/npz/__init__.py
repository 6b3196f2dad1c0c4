"""NumPy files in and out (.npz, .npy): poses of the SMPL family, arrays of joint positions, and Footplant's own arrays.

What a file holds its arrays' names and shapes tell: see `smpl` (AMASS and its like), `arrays` (positions, with world
rotations or without) and `plain` (what `save` writes). Nothing is ever unpickled, and sizes are checked before anything
is allocated: see `archive`. Betas are ignored: figures of the SMPL family have the proportions of the mean body.
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
from footplant.io.npz.plain import is_plain, read_plain, save
from footplant.io.npz.smpl import find_pose, read_smpl

extensions = (".npz", ".npy")
holds = frozenset({"moving bones", "roles"})


def load(path: str | Path, *, fps: float | None = None) -> tuple[RawCharacter, ...]:
    """Read the figure of a file. fps says how fast it runs where the file does not (default 30 frames a second)."""
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
        raise FormatError(f"expected a positive number of frames a second, got {fps}", path=path)
    archive = open_archive(io.BytesIO(data) if isinstance(data, bytes) else data, path)
    name = Path(path).stem if path else ""
    if is_plain(archive):
        return (read_plain(archive, name),)
    if (key := find_pose(archive)) is not None:
        return (read_smpl(archive, name, key, fps),)
    if (key := find_positions(archive)) is not None:
        return (read_arrays(archive, name, key, fps),)
    raise FormatError(_what_it_is(archive), path=path)


def _what_it_is(archive: Archive) -> str:
    """What was expected, what came, and what that may be."""
    wanted = "expected poses of the SMPL family or joint positions (frames, joints, 3)"
    if list(archive.headers) != [""]:
        why = next((f" ({name}: {reason})" for name, reason in archive.refused.items()), "")
        return f"{wanted}, got the arrays {archive.summary()}{why}"
    header = archive.headers[""]
    kind, shape = header.dtype.kind, header.shape
    guess = "no motion"
    if kind == "b":
        guess = "labels such as foot contacts, no motion"
    elif kind in "US":
        guess = "names, no motion"
    elif len(shape) == 2 and shape[1] == 263:
        guess = "HumanML3D's features, which are no positions; convert them to joints first"
    elif len(shape) == 2 and min(shape) > 3:
        guess = "a table such as a height map, no motion by itself"
    return f"{wanted}, got an array {header}: {guess}"


__all__ = ["extensions", "holds", "load", "parse", "save"]
