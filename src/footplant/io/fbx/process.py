"""Request data about a file from the child process: resource limits, failure modes, and validation of its answer."""

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
CPU_SECONDS, CPU_SECONDS_PER_MEGABYTE = 20, 5
"""CPU time limit of the child."""
MAX_SAMPLES = 1_000_000
"""Maximum frames × nodes of a take, or the file's size in bytes if that is larger."""
MESH_BYTES, MESH_FACTOR = 32 << 20, 5
"""Limit on the meshes in an answer: the larger of these bytes and this multiple of the file's size."""
_TYPES = {"d": np.dtype("f8"), "i": np.dtype("i4"), "I": np.dtype("u4"), "B": np.dtype("u1")}


@dataclass(frozen=True, eq=False)
class Answer:
    """The child's answer."""

    header: Json
    arrays: dict[str, NDArray]
    """By name; flat and read-only."""

    def array(self, name: str, kind: str, width: int = 0) -> NDArray:
        """Return one of the arrays as rows of `width` numbers (0: flat); raise `FormatError` if it does not match."""
        found = self.arrays.get(name)
        if found is None or found.dtype != _TYPES[kind] or (width and len(found) % width):
            got = "none" if found is None else f"{len(found)} of {found.dtype}"
            raise FormatError(
                f"expected rows of {width or 1} {_TYPES[kind]}, got {got}", path=self.header.path, where=name
            )
        return found.reshape(-1, width) if width else found


def command() -> list[str]:
    """Return the child's command line: isolated from the environment, without site packages."""
    return [isolation.interpreter("FBX"), "-I", "-S", str(CHILD)]


def folders() -> list[str]:
    """Return the folders where the child finds ufbx."""
    try:
        spec = importlib.util.find_spec("ufbx")
    except ValueError:
        spec = None
    if spec is None or spec.origin is None:
        raise MissingExtraError("ufbx", "fbx", "reading FBX")
    return [str(Path(spec.origin).parent.parent)]


def ask(path: str | Path, *, take: int | None, rate: float | None, structure: bool) -> Answer:
    """Have the child read a file: its nodes and meshes if `structure`, and the curves of one take."""
    try:
        # unbuffered: the child inherits the descriptor and must read from the start
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise FormatError("expected FBX, got an empty file", path=path)
            return _ask(path, file, size, take, rate, structure)
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def _ask(path: str | Path, file: FileIO, size: int, take: int | None, rate: float | None, structure: bool) -> Answer:
    """Run the child on an open file of `size` bytes."""
    memory = isolation.MEMORY + isolation.MEMORY_FACTOR * size
    seconds = CPU_SECONDS + CPU_SECONDS_PER_MEGABYTE * math.ceil(size / 1e6)
    request = {
        "folders": folders(), "memory": memory, "output": memory, "seconds": seconds, "take": take, "rate": rate,
        "structure": structure, "samples": max_samples(size), "mesh_bytes": max(MESH_BYTES, MESH_FACTOR * size),
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


def max_samples(size: int) -> int:
    """Return the maximum frames × nodes of a take in a file of that many bytes."""
    return max(MAX_SAMPLES, size)


def read_answer(data: bytes, path: str | Path) -> Answer:
    """Parse an answer; everything in it is checked, since a damaged file may have corrupted the child."""
    tail = len(MAGIC) + 8
    if len(data) < tail or data[-len(MAGIC) :] != MAGIC:
        raise FormatError("the reader gave an incomplete answer", path=path)
    (length,) = struct.unpack("<Q", data[-tail : -len(MAGIC)])
    if length > len(data) - tail:
        raise FormatError("the reader gave an incomplete answer", path=path)
    end = len(data) - tail - length
    header = Json(read_json(memoryview(data)[end : end + length], path), "", path)
    if "error" in header.data:
        _raise_error(header, path)
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


def _raise_error(header: Json, path: str | Path) -> NoReturn:
    """Raise the error that the child reported."""
    kind, text = header.text("kind", ""), header.text("error", "")
    if kind == "import":
        raise MissingExtraError("ufbx", "fbx", "reading FBX")
    if kind == "memory":
        raise FormatError("reading takes more memory than a file of this size may; it may be damaged", path=path)
    first: Any = text.splitlines()[0] if text.strip() else "no reason given"
    raise FormatError(
        f"expected FBX, got damage: {first}" if kind == "format" else f"cannot be read: {first}", path=path
    )
