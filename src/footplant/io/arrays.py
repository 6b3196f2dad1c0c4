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
_NPY_TYPE = re.compile(r"[<>|=]?([a-zA-Z])(\d{0,9})")
_NPY_HEADER = re.compile(
    r"\{\s*+(?:'descr'\s*+:\s*+'(?P<type>[^'\\]*+)'\s*+,?+\s*+"
    r"|'fortran_order'\s*+:\s*+(?P<order>True|False)\s*+,?+\s*+"
    r"|'shape'\s*+:\s*+\((?P<shape>[\dL,\s]*+)\)\s*+,?+\s*+)*+\}\s*+"
)
"""The header is a Python literal; it is matched rather than evaluated, and without ever trying twice."""
_NPY_KINDS = {"f": (2, 4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "b": (1,), "S": (), "U": ()}
"""Kind → sizes in bytes that are read; texts have any size."""
_MOST_AXES = 32


class Archive:
    """An open zip file whose directory was checked; its members are read one by one, within a budget of memory."""

    def __init__(self, path: str | Path, file: zipfile.ZipFile, size: int) -> None:
        """Check the directory; `size` is the file's own."""
        self.path = path
        self._zip = file
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._budget = max(UNPACKED_FLOOR, UNPACKED_FACTOR * size)
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
        info = self._member(name)
        if info.flag_bits & 1:
            self._fail(name, "expected plain data, got an encrypted member")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self._fail(name, f"expected a stored or deflated member, got compression method {info.compress_type}")
        if info.file_size > self._budget:
            found = f"a member of {info.file_size}"
            self._fail(name, f"expected at most {self._budget} more bytes from a file of this size, got {found}")
        try:
            with self._zip.open(info) as member:
                # without a number it would unpack all there is before it looks at the size that is claimed
                data = member.read(info.file_size)
        except _DAMAGE as error:
            self._fail(name, f"expected a sound member, got damage: {error}")
        if len(data) != info.file_size:
            self._fail(name, f"expected {info.file_size} bytes, got {len(data)}")
        self._budget -= len(data)
        return data

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
            size = _check_end(path, file)
            try:
                opened = zipfile.ZipFile(file)
            except _DAMAGE as error:
                raise FormatError(f"expected a zip file, got damage: {error}", path=path) from error
            with opened:
                yield Archive(path, opened, size)
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def _check_end(path: str | Path, file: IO[bytes]) -> int:
    """The file's size, once it is known to end like a zip file whose directory is not out of proportion."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - (1 << 16) - 22))
    tail = file.read()
    place = tail.rfind(_END_OF_DIRECTORY)
    if place < 0 or place + 22 > len(tail):
        raise FormatError("expected a zip file, got one without a zip directory at its end", path=path)
    count, directory = struct.unpack_from("<HI", tail, place + 10)
    if count > MOST_MEMBERS or directory > MOST_MEMBERS * LONGEST_NAME:
        found = f"{count} members in a directory of {directory} bytes"
        raise FormatError(f"expected at most {MOST_MEMBERS} members, got {found}", path=path, where="directory")
    file.seek(0)
    return size


def _check_name(path: str | Path, name: str) -> None:
    """Refuse names that would lead out of a folder, should anybody unpack the file."""
    parts = name.rstrip("/").split("/")
    if (
        not name
        or len(name) > LONGEST_NAME
        or any(part in ("", ".", "..") for part in parts)
        or re.search(r"[\x00-\x1f\\]", name)
    ):
        raise FormatError(f"expected names of files inside the zip file, got {name[:60]!r}", path=path)


def read_npy(data: bytes, path: str | Path, where: str) -> NDArray:
    """An array from the bytes of an .npy file: a read-only view of them, numbers or texts, in their stored type."""

    def fail(message: str) -> NoReturn:
        raise FormatError(message, path=path, where=where)

    if data[:6] != _NPY_MAGIC or len(data) < 10:
        fail(f"expected an .npy array (it starts with {_NPY_MAGIC!r}), got {data[:6]!r}")
    wide = data[6] > 1
    if data[6] not in (1, 2, 3):
        fail(f"expected .npy version 1, 2 or 3, got {data[6]}.{data[7]}")
    start = 12 if wide else 10
    length = int.from_bytes(data[8:start], "little")
    if start + length > len(data) or length > 10_000:
        fail(f"expected an .npy header of at most {min(10_000, len(data) - start)} bytes, got {length}")
    header = _NPY_HEADER.fullmatch(data[start : start + length].decode("latin-1"))
    if header is None or None in header.groups():
        fail("expected an .npy header with type, order and shape, got another text")
    described = _NPY_TYPE.fullmatch(header["type"])
    kind, size = (described[1], int(described[2] or 0)) if described else ("", 0)
    if kind == "O":
        fail("expected an array of numbers, got one of pickled Python objects, which are never read")
    if kind not in _NPY_KINDS or (_NPY_KINDS[kind] and size not in _NPY_KINDS[kind]):
        fail(f"expected an array of numbers or texts, got one of type {header['type'][:40]!r}")
    size *= 4 if kind == "U" else 1
    texts = re.findall(r"\d+", header["shape"])
    if len(texts) > _MOST_AXES or any(len(text) > 15 for text in texts):
        fail(f"expected a sane shape, got ({header['shape'][:60]})")
    shape = tuple(int(text) for text in texts)
    # empty arrays count as if their empty axes had length 1: NumPy refuses shapes that no memory could hold
    if math.prod(max(length, 1) for length in shape) * max(size, 1) > 1 << 62:
        fail(f"expected a sane shape, got {shape}")
    count = math.prod(shape)
    offset = start + length
    if count * size > len(data) - offset or (size == 0 and count > len(data)):
        fail(f"expected {count * size} bytes for shape {shape}, got {len(data) - offset}")
    dtype = np.dtype(header["type"])
    array = np.frombuffer(data, dtype, count, offset) if count and size else np.zeros(count, dtype)
    array = array.reshape(shape, order="F" if header["order"] == "True" else "C")
    array.flags.writeable = False
    return array


def write_npy(array: NDArray) -> bytes:
    """The bytes of an .npy file (version 1): row after row, little-endian."""
    array = np.asarray(array, order="C")
    out = io.BytesIO()
    np.lib.format.write_array(out, array.astype(array.dtype.newbyteorder("<"), copy=False), (1, 0), allow_pickle=False)
    return out.getvalue()


def write_archive(path: str | Path, members: Mapping[str, bytes]) -> None:
    """Write a zip file of those members in their order, whole or not at all; the same members give the same bytes."""
    with open_atomic(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            _check_name(path, name)
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, data)
