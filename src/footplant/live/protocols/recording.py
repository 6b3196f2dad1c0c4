"""Recordings of datagrams: a file of times and bytes that can be replayed.

The file grows by whole records, each with its size and a checksum, so that one truncated by a crash is read up to its
last whole record. Layout, little-endian: 8 bytes of magic number, then for each datagram its seconds since the first
(float64), the number of its sender (uint16), its size (uint16), a CRC-32 of its bytes (uint32), its bytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from footplant.errors import FormatError

MAGIC = b"FPDGRAM1"
_HEAD = struct.Struct("<dHHI")


class Datagram(NamedTuple):
    """One datagram of a recording."""

    time: float
    """Seconds since the start of the recording."""
    sender: int
    """Number of the sender: 0 for the first that sent something, 1 for the second …"""
    data: bytes
    """Empty at the end of a recording."""


class Recorder:
    """Writes datagrams to a file as they arrive. Nothing is kept in memory."""

    def __init__(self, file: BinaryIO) -> None:
        """file: open for writing, at its start."""
        self._file = file
        self._senders: dict[object, int] = {}
        self._begun: float | None = None
        self.count = 0
        file.write(MAGIC)

    def add(self, data: bytes, sender: object, now: float) -> None:
        """Write one datagram that arrived at `now` (seconds of any monotonic clock) from a sender."""
        if len(data) > 0xFFFF:
            return
        if self._begun is None:
            self._begun = now
        number = self._senders.get(sender)
        if number is None:
            number = len(self._senders)
            if number <= 0xFFFF:
                self._senders[sender] = number
            number = min(number, 0xFFFF)
        self._file.write(_HEAD.pack(now - self._begun, number, len(data), zlib.crc32(data)) + data)
        self.count += 1

    def end(self, now: float) -> None:
        """Write when the recording ended: a record of no bytes."""
        if self._begun is not None:
            self._file.write(_HEAD.pack(now - self._begun, 0, 0, zlib.crc32(b"")))


def read(path: str | Path) -> Iterator[Datagram]:
    """Yield the datagrams of a file, up to the first record that is truncated or damaged."""
    try:
        with open(path, "rb") as file:
            yield from parse(file, path)
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def parse(file: BinaryIO, path: str | Path | None = None) -> Iterator[Datagram]:
    """Yield the datagrams of an open file: see `read`."""
    if file.read(len(MAGIC)) != MAGIC:
        raise FormatError("expected a recording of datagrams, got something else", path=path)
    last = 0.0
    while True:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return
        time, sender, size, checksum = _HEAD.unpack(head)
        data = file.read(size)
        if len(data) < size or zlib.crc32(data) != checksum or not 0.0 <= time < 1e7:
            return
        last = max(last, time)
        yield Datagram(last, sender, data)


def is_recording(path: str | Path) -> bool:
    """Return whether a file is a recording of datagrams."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
