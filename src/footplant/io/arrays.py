"""Zip archives of .npy arrays, read defensively and written reproducibly; shared by .npz and project files.

Everything is checked before memory is allocated: the number of members, their claimed size relative to the file's (a
deflated megabyte can claim a gigabyte), and the header of every array. Objects are never unpickled. Written files
have fixed time stamps, so that the same content gives the same bytes.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import numpy as np
from numpy.typing import NDArray

from footplant.atomic import open_atomic
from footplant.errors import FormatError

MAX_MEMBERS = 10_000
"""Maximum members of an archive."""
UNPACKED_FACTOR = 10
"""Maximum total size of the members read, as a multiple of the file's size …"""
UNPACKED_FLOOR = 64 << 20
"""… but never below this many bytes: repetitive arrays deflate to almost nothing."""
MAX_NAME_LENGTH = 1024
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, struct.error, ValueError, OverflowError)
"""Exceptions that the standard library raises for damaged or unusual zip files."""
_END_OF_DIRECTORY = b"PK\x05\x06"
_NPY_MAGIC = b"\x93NUMPY"
MAX_NPY_HEADER = 10_000
"""Bytes of an .npy header, NumPy's own limit."""
_NPY_TYPE = re.compile(r"[<>|=]?(?:f[248]|[iu][1248]|b1|[US]\d{1,6})")
_NPY_HEADER = re.compile(
    r"\s*+\{\s*+(?:['\"]descr['\"]\s*+:\s*+['\"](?P<type>[^'\"\\]*+)['\"]\s*+,?+\s*+"
    r"|['\"]fortran_order['\"]\s*+:\s*+(?P<order>True|False)\s*+,?+\s*+"
    r"|['\"]shape['\"]\s*+:\s*+\((?P<shape>[\dL,\s]*+)\)\s*+,?+\s*+)*+\}\s*+"
)
"""The header is a Python literal; it is matched, never evaluated. Possessive quantifiers prevent backtracking."""
_MAX_AXES = 8


class Archive:
    """An open zip file with a checked directory; members are read one by one within a memory budget."""

    def __init__(self, path: str | Path | None, file: zipfile.ZipFile, budget: int) -> None:
        """Check the directory; budget: bytes that may be unpacked in total."""
        self.path = path
        self._zip = file
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._budget = budget
        found = file.infolist()
        if len(found) > MAX_MEMBERS:
            self._fail("directory", f"expected at most {MAX_MEMBERS} members, got {len(found)}")
        for info in found:
            name = info.filename
            _check_name(path, name)
            if name in self._members:
                self._fail(name, "expected every name once in the zip file, got it twice")
            if not info.is_dir():
                self._members[name] = info

    @property
    def names(self) -> tuple[str, ...]:
        """All member names, in the file's order."""
        return tuple(self._members)

    def __contains__(self, name: str) -> bool:
        """Return whether there is a member of that name."""
        return name in self._members

    def size(self, name: str) -> int:
        """Return the uncompressed size that a member claims, bytes."""
        return self._member(name).file_size

    def read(self, name: str) -> bytes:
        """Return a member's bytes, with size and checksum verified; raise `FormatError` beyond the memory budget."""
        size = self.size(name)
        if size > self._budget:
            self._fail(
                name, f"expected at most {self._budget} more bytes from a file of this size, got a member of {size}"
            )
        data = self._unpack(name, size)
        if len(data) != size:
            self._fail(name, f"expected {size} bytes, got {len(data)}")
        self._budget -= size
        return data

    def head(self, name: str, most: int) -> bytes:
        """Return the first bytes of a member without verification, to identify it."""
        return self._unpack(name, min(most, self.size(name)))

    def _unpack(self, name: str, size: int) -> bytes:
        info = self._member(name)
        if info.flag_bits & 1:
            self._fail(name, "expected unencrypted data, got an encrypted member")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self._fail(name, f"expected a stored or deflated member, got compression method {info.compress_type}")
        try:
            with self._zip.open(info) as member:
                # without a size, all data would be unpacked before the claimed size is checked
                return member.read(size)
        except _DAMAGE as error:
            self._fail(name, f"expected an intact member, got damage: {error}")

    def array(self, name: str) -> NDArray:
        """Return a member that is an .npy file: see `read_npy`."""
        return read_npy(self.read(name), self.path, name)

    def _member(self, name: str) -> zipfile.ZipInfo:
        if name not in self._members:
            listing = ", ".join(self.names[:8]) + (" …" if len(self._members) > 8 else "")
            self._fail(name, f"expected this member in the zip file, got only: {listing or 'none'}")
        return self._members[name]

    def _fail(self, where: str, message: str) -> NoReturn:
        raise FormatError(message, path=self.path, where=where)


@contextlib.contextmanager
def open_archive(path: str | Path, data: bytes | None = None) -> Iterator[Archive]:
    """Open a zip file, or its bytes if given; damage raises `FormatError`."""
    try:
        with io.BytesIO(data) if data is not None else open(path, "rb") as file:
            yield read_archive(file, path)
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def read_archive(file: IO[bytes], path: str | Path | None, budget: int | None = None) -> Archive:
    """Return the archive in an open file, which must stay open; budget: bytes that may be unpacked in total.

    By default UNPACKED_FACTOR times the file's size, at least UNPACKED_FLOOR.
    """
    size = _check_end(path, file)
    try:
        opened = zipfile.ZipFile(file)
    except _DAMAGE as error:
        raise FormatError(f"expected a zip file, got damage: {error}", path=path) from error
    return Archive(path, opened, max(UNPACKED_FLOOR, UNPACKED_FACTOR * size) if budget is None else budget)


def _check_end(path: str | Path | None, file: IO[bytes]) -> int:
    """Return the file's size after checking that it ends with a zip directory of plausible size."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - (1 << 16) - 22))
    tail = file.read()
    place = tail.rfind(_END_OF_DIRECTORY)
    if place < 0 or place + 22 > len(tail):
        raise FormatError("expected a zip directory at the end of the file, got none; is it truncated?", path=path)
    count, directory = struct.unpack_from("<HI", tail, place + 10)
    if count > MAX_MEMBERS or directory > MAX_MEMBERS * MAX_NAME_LENGTH:
        found = f"{count} members in a directory of {directory} bytes"
        raise FormatError(f"expected at most {MAX_MEMBERS} members, got {found}", path=path, where="directory")
    file.seek(0)
    return size


def _check_name(path: str | Path | None, name: str) -> None:
    """Raise `FormatError` for names that would lead out of a folder if the file were unpacked."""
    parts = name.rstrip("/").split("/")
    if (
        not name
        or len(name) > MAX_NAME_LENGTH
        or any(part in ("", ".", "..") for part in parts)
        or re.search(r"[\x00-\x1f\\]", name)
    ):
        raise FormatError(f"expected names of files inside the zip file, got {name[:60]!r}", path=path)


@dataclass(frozen=True)
class NpyHeader:
    """The header of an .npy file."""

    dtype: np.dtype
    fortran: bool
    """Whether the array is in Fortran order."""
    shape: tuple[int, ...]
    start: int
    """Offset of the data, bytes."""

    @property
    def size(self) -> int:
        """Size of the data, bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        """Return shape and dtype, for messages."""
        return f"{self.shape} of {self.dtype.name if self.dtype.kind not in 'US' else 'text'}"

    def array(self, data: bytes | memoryview) -> NDArray:
        """Return the array of the data that follows the header, as a read-only view."""
        count = math.prod(self.shape)
        flat = np.frombuffer(data, self.dtype, count) if self.size else np.zeros(count, self.dtype)
        array = flat.reshape(self.shape, order="F" if self.fortran else "C")
        array.flags.writeable = False
        return array


def read_npy_header(data: bytes, size: int) -> NpyHeader:
    """Parse the header of an .npy file of `size` bytes that starts with `data`; raise ValueError if it is invalid."""
    if data[:6] != _NPY_MAGIC or len(data) < 12:
        raise ValueError("expected a .npy file, got other bytes")
    if data[6] not in (1, 2, 3):
        raise ValueError(f"expected .npy version 1, 2 or 3, got {data[6]}")
    start = 10 if data[6] == 1 else 12
    length = int.from_bytes(data[8:start], "little")
    if length > MAX_NPY_HEADER or start + length > len(data):
        raise ValueError(f"expected a .npy header of at most {MAX_NPY_HEADER} bytes inside the file, got {length}")
    text = data[start : start + length].decode("latin-1")
    found = _NPY_HEADER.fullmatch(text)
    if re.search(r"['\"]descr['\"]\s*+:\s*+\[", text):
        raise ValueError("expected a simple array, got a structured dtype")
    if found is None or None in found.groups():
        raise ValueError(f"expected descr, fortran_order and shape in the .npy header, got {text[:60]!r}")
    if "O" in found["type"]:
        raise ValueError("expected a simple array, got pickled Python objects, which can run code and are not read")
    if not _NPY_TYPE.fullmatch(found["type"]):
        raise ValueError(f"expected numbers or text, got {found['type'][:40]!r}")
    numbers = re.findall(r"\d+", found["shape"])
    if len(numbers) > _MAX_AXES or any(len(number) > 15 for number in numbers):
        raise ValueError(f"expected a shape of at most {_MAX_AXES} numbers, got ({found['shape'][:60]})")
    header = NpyHeader(np.dtype(found["type"]), found["order"] == "True", tuple(map(int, numbers)), start + length)
    # empty axes and empty strings count as 1: NumPy rejects shapes that exceed the address space
    if math.prod(max(number, 1) for number in header.shape) > max(size, 1) * (1 if header.size else 1 << 20):
        raise ValueError(f"expected an array of at most {size} bytes, got the shape {header.shape}")
    if header.start + header.size > size:
        raise ValueError(f"expected {header.size} bytes for an array {header}, got {max(size - header.start, 0)}")
    return header


def pickle_in_npy(file: IO[bytes]) -> int | None:
    """Return where the pickle of an .npy file with an array of objects starts; None if it is no such file."""
    data = file.read(MAX_NPY_HEADER + 12)
    file.seek(0)
    if data[:6] != _NPY_MAGIC or len(data) < 12:
        return None
    start = 10 if data[6] == 1 else 12
    length = int.from_bytes(data[8:start], "little")
    found = _NPY_HEADER.fullmatch(data[start : start + length].decode("latin-1"))
    return start + length if found is not None and "O" in (found["type"] or "") and length <= MAX_NPY_HEADER else None


def read_npy(data: bytes, path: str | Path | None, where: str) -> NDArray:
    """Return the array in the bytes of an .npy file, as a read-only view in its stored type."""
    try:
        header = read_npy_header(data, len(data))
    except ValueError as error:
        raise FormatError(str(error), path=path, where=where) from error
    return header.array(memoryview(data)[header.start :])


def write_npy(array: NDArray) -> bytes:
    """Return the bytes of an .npy file (version 1): C order, little-endian."""
    array = np.asarray(array, order="C")
    out = io.BytesIO()
    np.lib.format.write_array(out, array.astype(array.dtype.newbyteorder("<"), copy=False), (1, 0), allow_pickle=False)
    return out.getvalue()


def write_archive(path: str | Path, members: Mapping[str, bytes], *, compress: bool = False) -> None:
    """Write a zip file of the members in their order, atomically; equal members give equal bytes."""
    with open_atomic(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            _check_name(path, name)
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
            archive.writestr(info, data)
