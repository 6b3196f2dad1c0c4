"""Asking the child process about a file: what it may take, how it may fail, and what of its answer is believed."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError, MissingExtraError
from footplant.io import isolation
from footplant.io.json import Json, read_json

CHILD = Path(__file__).with_name("child.py")
MAGIC, ALIGNED = b"FOOTPFBX", 8
CPU_SECONDS, CPU_SECONDS_A_MEGABYTE = 20, 5
"""How long the child may work."""
MOST_SAMPLES = 1_000_000
"""Frames × nodes that one take may have when the file itself has fewer bytes."""
MESH_BYTES, MESH_FACTOR = 32 << 20, 5
"""All meshes may take this many bytes, or so many times the file's size, on their way from the child."""
_TYPES = {"d": np.dtype("f8"), "i": np.dtype("i4"), "I": np.dtype("u4")}


@dataclass(frozen=True, eq=False)
class Answer:
    """What the child said."""

    header: Json
    arrays: dict[str, NDArray]
    """By name; flat and read-only."""

    def array(self, name: str, kind: str, width: int = 0) -> NDArray:
        """One of the arrays, as rows of `width` numbers (0: flat); a child that sends another is not believed."""
        found = self.arrays.get(name)
        if found is None or found.dtype != _TYPES[kind] or (width and len(found) % width):
            got = "none" if found is None else f"{len(found)} of {found.dtype}"
            raise FormatError(
                f"expected rows of {width or 1} {_TYPES[kind]}, got {got}", path=self.header.path, where=name
            )
        return found.reshape(-1, width) if width else found


def command() -> list[str]:
    """How the child is started: isolated from the environment, without the site's start-up files."""
    return [isolation.interpreter("FBX"), "-I", "-S", str(CHILD)]


def folders() -> list[str]:
    """Where the child finds ufbx."""
    try:
        spec = importlib.util.find_spec("ufbx")
    except ValueError:
        spec = None
    if spec is None or spec.origin is None:
        raise MissingExtraError("ufbx", "fbx", "reading FBX")
    return [str(Path(spec.origin).parent.parent)]


def ask(path: str | Path, *, take: int | None, rate: float | None, structure: bool) -> Answer:
    """Have the child read a file: its nodes and meshes if `structure` is wanted, and the curves of one take."""
    try:
        # without a buffer, so that the child, which gets the descriptor, begins at the beginning
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise FormatError("expected FBX, got an empty file", path=path)
            return _ask(path, file, size, take, rate, structure)
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def _ask(path: str | Path, file: FileIO, size: int, take: int | None, rate: float | None, structure: bool) -> Answer:
    memory = isolation.MEMORY + isolation.MEMORY_FACTOR * size
    seconds = CPU_SECONDS + CPU_SECONDS_A_MEGABYTE * math.ceil(size / 1e6)
    request = {
        "folders": folders(), "memory": memory, "output": memory, "seconds": seconds, "take": take, "rate": rate,
        "structure": structure, "samples": most_samples(size), "mesh_bytes": max(MESH_BYTES, MESH_FACTOR * size),
    }  # fmt: skip
    with tempfile.TemporaryFile() as out:
        done = isolation.run(
            [*command(), json.dumps(request)], path, seconds, stdin=file, stdout=out, stderr=subprocess.DEVNULL
        )
        if done.returncode:
            isolation.fail(path, done.returncode, seconds)
        if out.seek(0, os.SEEK_END) > memory:
            raise FormatError(f"expected at most {memory} bytes from a file of this size, got more", path=path)
        out.seek(0)
        return read_answer(out.read(), path)


def most_samples(size: int) -> int:
    """Frames × nodes that a take of a file of so many bytes may have."""
    return max(MOST_SAMPLES, size)


def read_answer(data: bytes, path: str | Path) -> Answer:
    """Take an answer apart; nothing in it is believed before it is checked."""
    tail = len(MAGIC) + 8
    if len(data) < tail or data[-len(MAGIC) :] != MAGIC:
        raise FormatError("the reader gave no whole answer", path=path)
    (length,) = struct.unpack("<Q", data[-tail : -len(MAGIC)])
    if length > len(data) - tail:
        raise FormatError("the reader gave no whole answer", path=path)
    end = len(data) - tail - length
    header = Json(read_json(memoryview(data)[end : end + length], path), "", path)
    if "error" in header.data:
        _refused(header, path)
    arrays, place = {}, 0
    for entry in header.array("arrays"):
        if not _describes_array(entry) or entry[0] in arrays:
            raise FormatError(
                "expected name, type and count of an array, got something else", path=path, where="arrays"
            )
        name, kind, count = entry
        dtype = _TYPES[kind]
        if count * dtype.itemsize > end - place:
            raise FormatError(f"expected {count} numbers, got fewer", path=path, where=name)
        arrays[name] = np.frombuffer(data, dtype, count, place)
        place += -(-count * dtype.itemsize // ALIGNED) * ALIGNED
    if place != end:
        raise FormatError(f"expected arrays of {end} bytes, got {place}", path=path, where="arrays")
    return Answer(header, arrays)


def _describes_array(entry: Any) -> bool:
    if not isinstance(entry, list) or len(entry) != 3:
        return False
    name, kind, count = entry
    return isinstance(name, str) and isinstance(kind, str) and kind in _TYPES and type(count) is int and count >= 0


def _refused(header: Json, path: str | Path) -> NoReturn:
    kind, text = header.text("kind", ""), header.text("error", "")
    if kind == "import":
        raise MissingExtraError("ufbx", "fbx", "reading FBX")
    if kind == "memory":
        raise FormatError("reading takes more memory than a file of this size may; it may be damaged", path=path)
    first: Any = text.splitlines()[0] if text.strip() else "no reason given"
    raise FormatError(
        f"expected FBX, got damage: {first}" if kind == "format" else f"cannot be read: {first}", path=path
    )
