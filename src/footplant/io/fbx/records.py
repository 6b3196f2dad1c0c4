"""The binary container of FBX 7.4: nested records of typed values, and a footer.

A record is a name, a list of values and nested records. Autodesk publishes no specification; this follows the files of
its own programs, as documented in "FBX binary file format specification" (Blender's developers, 2013).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant.atomic import open_atomic
from footplant.errors import FormatError

MAGIC = b"Kaydara FBX Binary  \x00\x1a\x00"
VERSION = 7400
SEPARATOR = "\x00\x01"
"""Between an object's name and its class: "Hips\\x00\\x01Model"."""
FILE_ID = bytes.fromhex("28b32aebb624ccc2bfc8b02aa92bfcf1")
CREATION_TIME = "1970-01-01 10:00:00:000"
FOOT_ID = bytes.fromhex("fabcab09d0c8d466b176fb831cf7267e")
"""Autodesk's readers require these three to be consistent. This set is; many other writers use it too, since it needs
no clock and makes equal motions equal bytes."""
FOOT_MAGIC = bytes.fromhex("f85a8c6adef5d97eece90ce3758f290b")
NULL_RECORD = bytes(13)
"""The empty record that terminates a list of records."""
MAX_FILE_BYTES = 2**32 - 1
"""Offsets in a file of version 7.4 are 32-bit."""
MIN_COMPRESSED_BYTES = 128
"""Smaller arrays are not compressed."""
_ARRAYS = {"f4": b"f", "f8": b"d", "i4": b"i", "i8": b"l"}


class Packed(bytes):
    """An encoded value; one that many records share is compressed only once."""


Value = bool | int | np.int64 | float | str | bytes | NDArray | Packed


def pack(value: Value) -> Packed:
    """Encode one value with its type code. int is 32 bits, np.int64 is 64; bytes are raw data, str is UTF-8 text."""
    if isinstance(value, Packed):
        return value
    if isinstance(value, np.ndarray):
        return _pack_array(value)
    if isinstance(value, str):
        text = value.encode()
        return Packed(b"S" + struct.pack("<I", len(text)) + text)
    if isinstance(value, bytes):
        return Packed(b"R" + struct.pack("<I", len(value)) + value)
    if isinstance(value, bool):
        return Packed(b"C" + bytes([value]))
    if isinstance(value, np.integer):
        return Packed(b"L" + struct.pack("<q", int(value)))
    if isinstance(value, float):
        return Packed(b"D" + struct.pack("<d", value))
    return Packed(b"I" + struct.pack("<i", value))


def _pack_array(array: NDArray) -> Packed:
    letter = _ARRAYS[array.dtype.str[1:]]
    data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    compressed = zlib.compress(data, 1) if len(data) >= MIN_COMPRESSED_BYTES else data
    stored, encoding = (compressed, 1) if len(compressed) < len(data) else (data, 0)
    return Packed(letter + struct.pack("<III", array.size, encoding, len(stored)) + stored)


@dataclass(frozen=True, eq=False)
class Record:
    """One record with its nested records."""

    name: str
    values: tuple[Packed, ...] = ()
    inside: tuple[Record, ...] = ()
    scope: bool = False
    """Terminate an empty list of nested records as well, for readers that test whether there is a list."""

    @cached_property
    def size(self) -> int:
        """Size in the file including nested records, bytes."""
        closing = len(NULL_RECORD) if self.inside or self.scope else 0
        return self._head_size + sum(map(len, self.values)) + sum(part.size for part in self.inside) + closing

    @property
    def _head_size(self) -> int:
        return len(NULL_RECORD) + len(self.name)

    def parts(self, place: int) -> Iterator[bytes]:
        """Yield the bytes of the record at file offset `place`."""
        name = self.name.encode()
        length = sum(map(len, self.values))
        yield struct.pack("<IIIB", place + self.size, len(self.values), length, len(name)) + name
        yield from self.values
        at = place + self._head_size + length
        for part in self.inside:
            yield from part.parts(at)
            at += part.size
        if self.inside or self.scope:
            yield NULL_RECORD


def record(name: str, *values: Value, inside: Sequence[Record] = (), scope: bool = False) -> Record:
    """Return a record, encoding its values."""
    return Record(name, tuple(map(pack, values)), tuple(inside), scope)


def properties(*rows: tuple) -> Record:
    """Return a "Properties70" table: rows of (name, type, label, flags, values …)."""
    return record("Properties70", inside=[record("P", *row) for row in rows])


def write_records(path: str | Path, records: Sequence[Record]) -> None:
    """Write a whole file atomically: the top-level records between header and footer."""
    head = MAGIC + struct.pack("<I", VERSION)
    end = len(head) + sum(part.size for part in records) + len(NULL_RECORD) + len(FOOT_ID)
    padding = 16 - end % 16
    if end + padding + 144 > MAX_FILE_BYTES:
        raise FormatError(f"expected at most {MAX_FILE_BYTES:,} bytes, the limit of FBX 7.4, got {end:,}", path=path)
    with open_atomic(path, "wb") as file:
        file.write(head)
        place = len(head)
        for part in records:
            file.writelines(part.parts(place))
            place += part.size
        file.write(NULL_RECORD + FOOT_ID + bytes(padding + 4) + struct.pack("<I", VERSION) + bytes(120) + FOOT_MAGIC)
