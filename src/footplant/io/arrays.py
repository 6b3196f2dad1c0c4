"""Zip files of .npy arrays, read with bounds and written alike every time; what .npz and project files share.

Nothing is believed before it is checked: how many members there are, how large they claim to be beside the file's own
size (a deflated megabyte can claim a gigabyte), the header of every array before memory is taken for it. Objects are
never unpickled. Written files have fixed times, so that the same content gives the same bytes.
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

from footplant.errors import FormatError
from footplant.io.atomic import open_atomic

MOST_MEMBERS = 10_000
"""More members than any motion file has."""
UNPACKED_FACTOR = 10
"""Members that are read may take this many times the file's size together …"""
UNPACKED_FLOOR = 64 << 20
"""… but always this many bytes: arrays that repeat themselves are deflated to almost nothing."""
LONGEST_NAME = 1024
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, struct.error, ValueError, OverflowError)
"""What the standard library raises for damaged or unusual zip files."""
_END_OF_DIRECTORY = b"PK\x05\x06"
_NPY_MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 10_000
"""Bytes of an .npy header, as NumPy allows."""
_NPY_TYPE = re.compile(r"[<>|=]?(?:f[248]|[iu][1248]|b1|[US]\d{1,6})")
_NPY_HEADER = re.compile(
    r"\s*+\{\s*+(?:['\"]descr['\"]\s*+:\s*+['\"](?P<type>[^'\"\\]*+)['\"]\s*+,?+\s*+"
    r"|['\"]fortran_order['\"]\s*+:\s*+(?P<order>True|False)\s*+,?+\s*+"
    r"|['\"]shape['\"]\s*+:\s*+\((?P<shape>[\dL,\s]*+)\)\s*+,?+\s*+)*+\}\s*+"
)
"""The header is a Python literal; it is matched rather than evaluated, and without ever trying twice."""
_MOST_AXES = 8


class Archive:
    """An open zip file whose directory was checked; its members are read one by one, within a budget of memory."""

    def __init__(self, path: str | Path | None, file: zipfile.ZipFile, budget: int) -> None:
        """Check the directory; budget: bytes that may be unpacked together."""
        self.path = path
        self._zip = file
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._budget = budget
        found = file.infolist()
        if len(found) > MOST_MEMBERS:
            self._fail("directory", f"expected at most {MOST_MEMBERS} members, got {len(found)}")
        for info in found:
            name = info.filename
            _check_name(path, name)
            if name in self._members:
                self._fail(name, "expected every name once in the zip file, got it twice")
            if not info.is_dir():
                self._members[name] = info

    @property
    def names(self) -> tuple[str, ...]:
        """Every member, in the file's order."""
        return tuple(self._members)

    def __contains__(self, name: str) -> bool:
        """Whether there is a member of that name."""
        return name in self._members

    def size(self, name: str) -> int:
        """How many bytes a member claims to have, unpacked."""
        return self._member(name).file_size

    def read(self, name: str) -> bytes:
        """A member's bytes, whole and with the right checksum; an error when everything read takes too much memory."""
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
        """The first bytes of a member, unchecked: enough to see what it is."""
        return self._unpack(name, min(most, self.size(name)))

    def _unpack(self, name: str, size: int) -> bytes:
        info = self._member(name)
        if info.flag_bits & 1:
            self._fail(name, "expected plain data, got an encrypted member")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self._fail(name, f"expected a stored or deflated member, got compression method {info.compress_type}")
        try:
            with self._zip.open(info) as member:
                # without a number it would unpack all there is before it looks at the size that is claimed
                return member.read(size)
        except _DAMAGE as error:
            self._fail(name, f"expected a sound member, got damage: {error}")

    def array(self, name: str) -> NDArray:
        """A member that is an .npy file: see `read_npy`."""
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
    """Open a zip file, or its bytes when they are given; damage is a `FormatError`."""
    try:
        with io.BytesIO(data) if data is not None else open(path, "rb") as file:
            yield read_archive(file, path)
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def read_archive(file: IO[bytes], path: str | Path | None, budget: int | None = None) -> Archive:
    """The archive in an open file, which has to stay open; budget: bytes that may be unpacked together.

    By default that is UNPACKED_FACTOR times the file's size, and no less than UNPACKED_FLOOR.
    """
    size = _check_end(path, file)
    try:
        opened = zipfile.ZipFile(file)
    except _DAMAGE as error:
        raise FormatError(f"expected a zip file, got damage: {error}", path=path) from error
    return Archive(path, opened, max(UNPACKED_FLOOR, UNPACKED_FACTOR * size) if budget is None else budget)


def _check_end(path: str | Path | None, file: IO[bytes]) -> int:
    """The file's size, once it is known to end like a zip file whose directory is not out of proportion."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - (1 << 16) - 22))
    tail = file.read()
    place = tail.rfind(_END_OF_DIRECTORY)
    if place < 0 or place + 22 > len(tail):
        raise FormatError("expected a zip directory at the end of the file, got none; it may be cut", path=path)
    count, directory = struct.unpack_from("<HI", tail, place + 10)
    if count > MOST_MEMBERS or directory > MOST_MEMBERS * LONGEST_NAME:
        found = f"{count} members in a directory of {directory} bytes"
        raise FormatError(f"expected at most {MOST_MEMBERS} members, got {found}", path=path, where="directory")
    file.seek(0)
    return size


def _check_name(path: str | Path | None, name: str) -> None:
    """Refuse names that would lead out of a folder, should anybody unpack the file."""
    parts = name.rstrip("/").split("/")
    if (
        not name
        or len(name) > LONGEST_NAME
        or any(part in ("", ".", "..") for part in parts)
        or re.search(r"[\x00-\x1f\\]", name)
    ):
        raise FormatError(f"expected names of files inside the zip file, got {name[:60]!r}", path=path)


@dataclass(frozen=True)
class NpyHeader:
    """What an .npy file says of its array."""

    dtype: np.dtype
    fortran: bool
    """Whether the first axis runs fastest."""
    shape: tuple[int, ...]
    start: int
    """Bytes before the numbers."""

    @property
    def size(self) -> int:
        """Bytes of the numbers."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        """Shape and kind of number, for messages."""
        return f"{self.shape} of {self.dtype.name if self.dtype.kind not in 'US' else 'text'}"

    def array(self, data: bytes | memoryview) -> NDArray:
        """The array of the numbers that follow the header: a read-only view."""
        count = math.prod(self.shape)
        flat = np.frombuffer(data, self.dtype, count) if self.size else np.zeros(count, self.dtype)
        array = flat.reshape(self.shape, order="F" if self.fortran else "C")
        array.flags.writeable = False
        return array


def read_npy_header(data: bytes, size: int) -> NpyHeader:
    """The header of an .npy file of that many bytes, of which `data` are the first; a ValueError says what is wrong."""
    if data[:6] != _NPY_MAGIC or len(data) < 12:
        raise ValueError("expected a .npy file, got other bytes")
    if data[6] not in (1, 2, 3):
        raise ValueError(f"expected .npy version 1, 2 or 3, got {data[6]}")
    start = 10 if data[6] == 1 else 12
    length = int.from_bytes(data[8:start], "little")
    if length > LONGEST_HEADER or start + length > len(data):
        raise ValueError(f"expected a .npy header of at most {LONGEST_HEADER} bytes inside the file, got {length}")
    text = data[start : start + length].decode("latin-1")
    found = _NPY_HEADER.fullmatch(text)
    if re.search(r"['\"]descr['\"]\s*+:\s*+\[", text):
        raise ValueError("expected a plain array, got a table of named columns")
    if found is None or None in found.groups():
        raise ValueError(f"expected descr, fortran_order and shape in the .npy header, got {text[:60]!r}")
    if "O" in found["type"]:
        raise ValueError("expected a plain array, got pickled Python objects, which can run code and are not read")
    if not _NPY_TYPE.fullmatch(found["type"]):
        raise ValueError(f"expected numbers or text, got {found['type'][:40]!r}")
    numbers = re.findall(r"\d+", found["shape"])
    if len(numbers) > _MOST_AXES or any(len(number) > 15 for number in numbers):
        raise ValueError(f"expected a shape of at most {_MOST_AXES} numbers, got ({found['shape'][:60]})")
    header = NpyHeader(np.dtype(found["type"]), found["order"] == "True", tuple(map(int, numbers)), start + length)
    # empty axes count as 1, and so do empty texts: NumPy refuses shapes that no memory could hold
    if math.prod(max(number, 1) for number in header.shape) > max(size, 1) * (1 if header.size else 1 << 20):
        raise ValueError(f"expected an array of at most {size} bytes, got the shape {header.shape}")
    if header.start + header.size > size:
        raise ValueError(f"expected {header.size} bytes for an array {header}, got {max(size - header.start, 0)}")
    return header


def read_npy(data: bytes, path: str | Path | None, where: str) -> NDArray:
    """An array from the bytes of an .npy file: a read-only view of them, numbers or texts, in their stored type."""
    try:
        header = read_npy_header(data, len(data))
    except ValueError as error:
        raise FormatError(str(error), path=path, where=where) from error
    return header.array(memoryview(data)[header.start :])


def write_npy(array: NDArray) -> bytes:
    """The bytes of an .npy file (version 1): row after row, little-endian."""
    array = np.asarray(array, order="C")
    out = io.BytesIO()
    np.lib.format.write_array(out, array.astype(array.dtype.newbyteorder("<"), copy=False), (1, 0), allow_pickle=False)
    return out.getvalue()


def write_archive(path: str | Path, members: Mapping[str, bytes], *, compress: bool = False) -> None:
    """Write a zip file of those members in their order, whole or not at all; the same members give the same bytes."""
    with open_atomic(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            _check_name(path, name)
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
            archive.writestr(info, data)
