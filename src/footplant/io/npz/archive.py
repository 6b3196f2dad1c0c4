"""NumPy's files, read with suspicion: nothing is unpickled, and nothing is allocated before sizes have been compared.

A .npz file is a zip archive of .npy files. Its directory states how large each member becomes, each .npy header how
large its array is; both must agree with one another before a byte is unpacked, and all that is unpacked together may
not exceed `MAX_GROWTH` times the file's size plus `SMALL` bytes. (Motions hardly shrink when they are packed; hands
that never move and 64-bit numbers of 32-bit precision bring them to a fifth.)
"""

from __future__ import annotations

import io
import math
import re
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError

MAX_GROWTH = 8
SMALL = 1 << 22
MAX_MEMBERS = 1000
MAX_HEADER = 10_000
"""Bytes of a .npy header, as NumPy allows."""
_STORED, _DEFLATED = 0, 8
_DIRECTORY = struct.Struct("<4s6H3I5H2I")
_LOCAL = struct.Struct("<4s5H3I2H")
_END = struct.Struct("<4s4H2IH")
_KEYS = {
    "descr": re.compile(r"""['"]descr['"]\s*:\s*(?:['"]([^'"]*)['"]|(\[))"""),
    "fortran_order": re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)"""),
    "shape": re.compile(r"""['"]shape['"]\s*:\s*\(([0-9L,\s]*)\)"""),
}


@dataclass(frozen=True)
class Header:
    """What a .npy file says of its array."""

    dtype: np.dtype
    fortran: bool
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


@dataclass(frozen=True)
class _Member:
    """One entry of the zip directory."""

    method: int
    packed: int
    size: int
    check: int
    at: int


@dataclass
class Archive:
    """The arrays of a .npz file (or the one of a .npy file, called ""), each read when it is asked for."""

    file: BinaryIO
    path: str | Path | None
    headers: dict[str, Header]
    """Name → what the array is; those of objects, of structures and of no array at all are not among them."""
    refused: dict[str, str]
    """Name → why it cannot be read."""
    members: dict[str, _Member] = field(default_factory=dict)
    left: int = 0
    """Bytes that may still be unpacked."""

    def __contains__(self, name: str) -> bool:
        """Whether there is a readable array of that name."""
        return name in self.headers

    def error(self, message: str, name: str | None = None) -> FormatError:
        """An error that names file and array."""
        return FormatError(message, path=self.path, where=name or None)

    def find(self, *names: str) -> str | None:
        """The first of some names that there is."""
        return next((name for name in names if name in self.headers), None)

    def array(self, name: str) -> NDArray:
        """The array, its bytes checked against what the directory and its header say."""
        if name in self.refused:
            raise self.error(self.refused[name], name)
        header = self.headers[name]
        if header.size == 0:
            raise self.error(f"expected numbers, got an empty array {header}", name)
        if header.size > self.left:
            raise self.error(
                f"expected arrays of at most {MAX_GROWTH} times the file's size together, got {header.size} bytes more",
                name,
            )
        self.left -= header.size
        if name == "":
            self.file.seek(header.start)
            data = self.file.read(header.size)
            if len(data) != header.size:
                raise self.error(f"expected {header.size} bytes of numbers, got {len(data)} and the end of the file")
        else:
            data = _unpack(self.file, self.members[name], None, self, name)
            data = memoryview(data)[header.start :]
        flat = np.frombuffer(data, header.dtype)
        return flat.reshape(header.shape, order="F" if header.fortran else "C")

    def floats(self, name: str) -> NDArray:
        """An array of finite numbers, in the precision of the file."""
        if name in self.headers and self.headers[name].dtype.kind not in "fiu":
            raise self.error(f"expected numbers, got {self.headers[name]}", name)
        array = self.array(name)
        if not np.isfinite(array).all():
            place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise self.error(f"expected finite numbers, got NaN or infinity at {place}", name)
        return array

    def strings(self, name: str) -> tuple[str, ...]:
        """A list of names."""
        header = self.headers.get(name)
        if header is not None and (header.dtype.kind not in "US" or len(header.shape) > 1):
            raise self.error(f"expected a list of names, got {header}", name)
        try:
            values = np.atleast_1d(self.array(name)).tolist()
        except ValueError:
            raise self.error("expected a list of names, got bytes that are no text", name) from None
        return tuple(value.decode("latin-1") if isinstance(value, bytes) else value for value in values)

    def number(self, name: str) -> float:
        """A single number."""
        if math.prod(self.headers[name].shape) != 1:
            raise self.error(f"expected a single number, got {self.headers[name]}", name)
        return float(self.floats(name).reshape(()))

    def summary(self) -> str:
        """All arrays with their shapes, for messages."""
        listing = [f"{name} {header}".strip() for name, header in list(self.headers.items())[:12]]
        listing += [f"{name} (unreadable)" for name in list(self.refused)[:3]]
        more = len(self.headers) + len(self.refused) - len(listing)
        return ", ".join(listing) + (f" and {more} more" if more > 0 else "") or "nothing"


def open_archive(file: BinaryIO, path: str | Path | None) -> Archive:
    """Read the headers of a .npz or .npy file; which of the two it is, its first bytes say."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    start = file.read(6)
    budget = MAX_GROWTH * size + SMALL
    if start == b"\x93NUMPY":
        file.seek(0)
        header = _read_header(file.read(MAX_HEADER + 12), size)
        if isinstance(header, str):
            raise FormatError(header, path=path)
        return Archive(file, path, {"": header}, {}, left=budget)
    if start[:2] != b"PK":
        if start[:1] == b"\x80":
            raise FormatError(
                "expected a NumPy file, got a Python pickle, which can run code and is not read", path=path
            )
        raise FormatError(f"expected a NumPy file (.npz or .npy), got the bytes '{start.hex(' ')}'", path=path)
    archive = Archive(file, path, {}, {}, left=budget)
    for name, member in _read_directory(file, size, path).items():
        key = name.removesuffix(".npy")
        if key == name or not key:
            archive.refused[key or name] = "expected .npy files inside, got another file"
            continue
        try:
            header = _read_header(_unpack(file, member, MAX_HEADER + 12, archive, key), member.size)
        except FormatError as error:
            header = str(error)
        if isinstance(header, Header) and header.start + header.size != member.size:
            header = f"expected {header.size} bytes for an array {header}, got {member.size - header.start}"
        if isinstance(header, str):
            archive.refused[key] = header
        else:
            archive.headers[key] = header
            archive.members[key] = member
    if not archive.headers:
        reason = next(iter(archive.refused.values()), "it is empty")
        raise FormatError(f"expected arrays, got none that can be read: {reason}", path=path)
    return archive


def _read_header(data: bytes, size: int) -> Header | str:
    """The header of a .npy file of that many bytes, or why it cannot be read."""
    if data[:6] != b"\x93NUMPY" or len(data) < 12:
        return "expected a .npy file, got other bytes"
    version = data[6]
    if version not in (1, 2, 3):
        return f"expected .npy version 1, 2 or 3, got {version}"
    (length,), at = struct.unpack_from("<H" if version == 1 else "<I", data, 8), 10 if version == 1 else 12
    if length > MAX_HEADER or at + length > len(data):
        return f"expected a .npy header of at most {MAX_HEADER} bytes inside the file, got {length}"
    text = data[at : at + length].decode("latin-1")
    found = {key: pattern.search(text) for key, pattern in _KEYS.items()}
    descr, fortran, shape = found["descr"], found["fortran_order"], found["shape"]
    if descr is None or fortran is None or shape is None:
        return f"expected descr, fortran_order and shape in the .npy header, got {text[:60]!r}"
    if descr[2]:
        return "expected a plain array, got a table of named columns"
    if "O" in descr[1]:
        return "expected a plain array, got pickled Python objects, which can run code and are not read"
    if not re.fullmatch(r"[<>=|]?(f[248]|[iu][1248]|b1|U\d{1,6}|S\d{1,6})", descr[1]):
        return f"expected numbers or text, got {descr[1][:40]!r}"
    sizes = [word.rstrip("L") for word in shape[1].replace(" ", "").split(",") if word]
    if len(sizes) > 8 or not all(word.isdigit() and len(word) < 16 for word in sizes):
        return f"expected a shape of at most 8 numbers, got ({shape[1][:60]})"
    header = Header(np.dtype(descr[1]), fortran[1] == "True", tuple(map(int, sizes)), at + length)
    if header.start + header.size > size:
        return f"expected {header.size} bytes for an array {header}, got {max(size - header.start, 0)}"
    return header


def _read_directory(file: BinaryIO, size: int, path: str | Path | None) -> dict[str, _Member]:
    """The entries of a zip archive's directory, which stands at its end."""
    tail_at = max(0, size - (1 << 16) - _END.size)
    file.seek(tail_at)
    tail = file.read(size - tail_at)
    found = tail.rfind(b"PK\x05\x06")
    if found < 0 or found + _END.size > len(tail):
        raise FormatError("expected a zip directory at the end of the file, got none; it may be cut", path=path)
    _, _, _, _, count, length, at, _ = _END.unpack_from(tail, found)
    if count > MAX_MEMBERS:
        raise FormatError(f"expected at most {MAX_MEMBERS} arrays, got {count}", path=path)
    if at + length > tail_at + found:
        raise FormatError("expected a zip directory inside the file, got one beyond its end", path=path)
    file.seek(at)
    data = file.read(length)
    members: dict[str, _Member] = {}
    where = 0
    for _ in range(count):
        if where + _DIRECTORY.size > len(data) or data[where : where + 4] != b"PK\x01\x02":
            raise FormatError(f"expected {count} entries in the zip directory, got {len(members)}", path=path)
        entry = _DIRECTORY.unpack_from(data, where)
        flags, method, check, packed, whole = entry[3], entry[4], entry[7], entry[8], entry[9]
        name_size, extra, comment, place = entry[10], entry[11], entry[12], entry[16]
        name = data[where + _DIRECTORY.size :][:name_size].decode("utf-8", "replace")
        where += _DIRECTORY.size + name_size + extra + comment
        if flags & 1 or method not in (_STORED, _DEFLATED) or 0xFFFFFFFF in (packed, whole, place):
            what = "an encrypted one" if flags & 1 else f"method {method}" if method not in (0, 8) else "more than 4 GB"
            raise FormatError(f"expected members that are stored or deflated, got {what}", path=path, where=name[:80])
        if place + _LOCAL.size + packed > size or (method == _STORED and whole != packed):
            raise FormatError("expected a member inside the file, got one beyond its end", path=path, where=name[:80])
        members[name[:400]] = _Member(method, packed, whole, check, place)
    return members


def _unpack(file: BinaryIO, member: _Member, most: int | None, archive: Archive, name: str) -> bytes:
    """The bytes of a member, or the first of them; sizes and checksum are compared when all are asked for."""
    file.seek(member.at)
    local = file.read(_LOCAL.size)
    if len(local) < _LOCAL.size or local[:4] != b"PK\x03\x04":
        raise archive.error("expected a zip member where the directory has it, got other bytes", name)
    file.seek(member.at + _LOCAL.size + sum(_LOCAL.unpack(local)[9:11]))
    wanted = member.size if most is None else min(most, member.size)
    packed = file.read(member.packed if most is None else min(member.packed, max(most, 1 << 16)))
    if member.method == _STORED:
        data = packed[:wanted]
    else:
        try:
            data = zlib.decompressobj(-15).decompress(packed, max(wanted, 1))
        except zlib.error as error:
            raise archive.error(f"expected deflated bytes, got damaged ones ({error})", name) from None
    if len(data) < wanted:
        raise archive.error(f"expected {wanted} bytes, got {len(data)}", name)
    if most is None and zlib.crc32(data) != member.check:
        raise archive.error("expected the checksum that the zip directory states, got another; it is damaged", name)
    return data
