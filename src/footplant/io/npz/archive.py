"""Read NumPy files defensively: no object is made that is not an array, and sizes are checked before allocation.

A .npz file is a zip archive of .npy files (see `io.arrays`). Its directory states the size of each member, each .npy
header the size of its array; both must agree before a byte is unpacked, and the total may not exceed `MAX_GROWTH` times
the file's size plus `SMALL` bytes. (Motions compress little; static hands and 64-bit numbers of 32-bit precision bring
them to a fifth.)
"""

from __future__ import annotations

import io
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io import arrays
from footplant.io.arrays import MAX_NPY_HEADER, NpyHeader, read_archive, read_npy_header

MAX_GROWTH = 8
SMALL = 1 << 22


@dataclass
class Archive:
    """The arrays of a .npz file (or the single one of a .npy file, named ""), read on demand."""

    file: BinaryIO | None
    path: str | Path | None
    headers: dict[str, NpyHeader]
    """Name → array header; without pickled objects, structured arrays and files that are not arrays."""
    refused: dict[str, str]
    """Name → why it cannot be read."""
    members: dict[str, str] = field(default_factory=dict)
    """Name → file name in the archive."""
    archive: arrays.Archive | None = None
    """The zip file; None for a .npy file."""
    values: dict[str, NDArray] | None = None
    """Name → array, if they do not come from a file of arrays but from a pickled dict."""

    def __contains__(self, name: str) -> bool:
        """Return whether there is a readable array of that name."""
        return name in self.headers

    def error(self, message: str, name: str | None = None) -> FormatError:
        """Return an error that names file and array."""
        return FormatError(message, path=self.path, where=name or None)

    def find(self, *names: str) -> str | None:
        """Return the first of the names that exists, or None."""
        return next((name for name in names if name in self.headers), None)

    def array(self, name: str) -> NDArray:
        """Return the array, its size checked against the directory and its header."""
        if name in self.refused:
            raise self.error(self.refused[name], name)
        header = self.headers[name]
        if header.size == 0:
            raise self.error(f"expected numbers, got an empty array {header}", name)
        if self.values is not None:
            return self.values[name]
        if self.archive is not None:
            return header.array(memoryview(self.archive.read(self.members[name]))[header.start :])
        assert self.file is not None
        self.file.seek(header.start)
        data = self.file.read(header.size)
        if len(data) != header.size:
            raise self.error(f"expected {header.size} bytes of numbers, got {len(data)} and the end of the file")
        return header.array(data)

    def floats(self, name: str) -> NDArray:
        """Return an array of finite numbers, in the file's precision."""
        if name in self.headers and self.headers[name].dtype.kind not in "fiu":
            raise self.error(f"expected numbers, got {self.headers[name]}", name)
        array = self.array(name)
        if not np.isfinite(array).all():
            place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise self.error(f"expected finite numbers, got NaN or infinity at {place}", name)
        return array

    def strings(self, name: str) -> tuple[str, ...]:
        """Return an array of strings."""
        header = self.headers.get(name)
        if header is not None and (header.dtype.kind not in "US" or len(header.shape) > 1):
            raise self.error(f"expected a list of names, got {header}", name)
        array = np.atleast_1d(self.array(name))
        if array.dtype.kind == "U":
            letters = np.frombuffer(array.tobytes(), np.dtype("u4").newbyteorder(array.dtype.byteorder))
            # Python itself fails on code points that do not exist
            if letters.max(initial=0) > sys.maxunicode:
                raise self.error("expected a list of names, got invalid code points", name)
        values = array.tolist()
        return tuple(value.decode("latin-1") if isinstance(value, bytes) else value for value in values)

    def number(self, name: str) -> float:
        """Return a single number."""
        if math.prod(self.headers[name].shape) != 1:
            raise self.error(f"expected a single number, got {self.headers[name]}", name)
        return float(self.floats(name).reshape(()))

    def summary(self) -> str:
        """Return all arrays with their shapes, for messages."""
        listing = [f"{name} {header}".strip() for name, header in list(self.headers.items())[:12]]
        listing += [f"{name} (unreadable)" for name in list(self.refused)[:3]]
        more = len(self.headers) + len(self.refused) - len(listing)
        return ", ".join(listing) + (f" and {more} more" if more > 0 else "") or "nothing"


def open_archive(file: BinaryIO, path: str | Path | None) -> Archive:
    """Read the headers of a .npz or .npy file, distinguished by their first bytes."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    start = file.read(6)
    if start == b"\x93NUMPY":
        file.seek(0)
        try:
            return Archive(file, path, {"": read_npy_header(file.read(MAX_NPY_HEADER + 12), size)}, {})
        except ValueError as error:
            raise FormatError(str(error), path=path) from error
    if start[:2] != b"PK":
        if start[:1] == b"\x80":
            raise FormatError(
                "expected a NumPy file, got a Python pickle, which can run code and is not read", path=path
            )
        raise FormatError(f"expected a NumPy file (.npz or .npy), got the bytes '{start.hex(' ')}'", path=path)
    members = read_archive(file, path, MAX_GROWTH * size + SMALL)
    archive = Archive(file, path, {}, {}, archive=members)
    for name in members.names:
        key = name.removesuffix(".npy")
        if key == name or not key:
            archive.refused[key or name] = "expected .npy files inside, got another file"
            continue
        whole = members.size(name)
        try:
            header = read_npy_header(members.head(name, MAX_NPY_HEADER + 12), whole)
        except (ValueError, FormatError) as error:
            archive.refused[key] = str(error)
            continue
        if header.start + header.size != whole:
            archive.refused[key] = f"expected {header.size} bytes for an array {header}, got {whole - header.start}"
        else:
            archive.headers[key] = header
            archive.members[key] = name
    if not archive.headers:
        reason = next(iter(archive.refused.values()), "it is empty")
        raise FormatError(f"expected arrays, got none that can be read: {reason}", path=path)
    return archive
