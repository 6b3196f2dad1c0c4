"""Read little-endian records of unknown origin: every count is checked against the bytes that are left."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError

_INDICES = {1: "<i1", 2: "<i2", 4: "<i4"}
_VERTICES = {1: "<u1", 2: "<u2", 4: "<i4"}


class Records:
    """The bytes of a file and how far they have been read."""

    def __init__(self, data: bytes, path: str | Path | None) -> None:
        self.data, self.path, self.place = data, path, 0

    def fail(self, what: str) -> NoReturn:
        """Raise with the place in the file."""
        raise FormatError(what, path=self.path, where=f"byte {self.place}")

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if count < 0 or count > len(self.data) - self.place:
            self.fail(f"expected {max(count, 0)} more bytes, got {len(self.data) - self.place}: the file is cut short")
        self.place += count
        return self.data[self.place - count : self.place]

    def unpack(self, layout: str) -> tuple:
        """Return the values of a struct layout."""
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))

    def floats(self, count: int) -> NDArray:
        """Return finite numbers (count,)."""
        values = np.frombuffer(self.take(4 * count), "<f4").astype(float)
        if not np.isfinite(values).all():
            self.fail("expected finite numbers, got others")
        return values

    def count(self, size: int, what: str) -> int:
        """Return a count of items that have at least `size` bytes each."""
        (count,) = self.unpack("i")
        if not 0 <= count <= (len(self.data) - self.place) // size:
            self.fail(f"expected at most {(len(self.data) - self.place) // size} {what}, got {count}")
        return count

    def index(self, size: int) -> int:
        """Return an index of bones, textures and so on; −1 for none."""
        return int(np.frombuffer(self.take(size), _INDICES[size])[0])

    def vertices(self, size: int, count: int) -> NDArray:
        """Return indices of vertices (count,), which are not negative in one or two bytes."""
        return np.frombuffer(self.take(size * count), _VERTICES[size]).astype(np.int64)

    def rows(self, starts: NDArray, layout: str, count: int) -> NDArray:
        """Return (n, count) values of one kind from n places of the file."""
        kind = np.dtype(layout)
        found = np.frombuffer(self.data, np.uint8)[starts[:, None] + np.arange(kind.itemsize * count)]
        return np.ascontiguousarray(found).view(kind).reshape(len(starts), count)


def index_layout(size: int) -> str:
    """Return the numpy layout of an index of that many bytes."""
    return _INDICES[size]
