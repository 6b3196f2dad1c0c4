"""OptiTrack's NatNet 3, in: frames with rigid bodies and skeletons, and the definitions that name their bones.

Little-endian; every count is checked against the bytes that are left before anything is read. Motive streams y up and
metres by default.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

PORT, COMMAND_PORT, MULTICAST = 1511, 1510, "239.255.42.99"
"""Port of frames, port of requests, and the default multicast group of frames."""
SERVER_INFO, REQUEST_DEFINITIONS, DEFINITIONS, FRAME = 1, 4, 5, 7
"""Message types."""
MAX_TEXT = 256
MOST = 4096
"""Largest number of models, bones or channels of one message."""
_BODY = np.dtype([("id", "<i4"), ("position", "<f4", 3), ("rotation", "<f4", 4), ("error", "<f4"), ("flags", "<i2")])
_MARKER = np.dtype([("id", "<i4"), ("position", "<f4", 3), ("size", "<f4"), ("flags", "<i2"), ("residual", "<f4")])
_SUFFIX = struct.Struct("<IIdQQQh")


class _Short(Exception):
    """The message ends too early; never leaves this module."""


class _Reader:
    """Reads a message from its start, with every size checked."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 4

    def unpack(self, code: struct.Struct) -> tuple:
        if self.place + code.size > len(self.data):
            raise _Short
        found = code.unpack_from(self.data, self.place)
        self.place += code.size
        return found

    def integer(self) -> int:
        return self.unpack(_INTEGER)[0]

    def count(self, least_bytes: int) -> int:
        """Return how many items follow; each takes at least some bytes, which must be there."""
        number = self.integer()
        if not 0 <= number <= MOST or number * least_bytes > len(self.data) - self.place:
            raise _Short
        return number

    def text(self) -> str:
        stop = self.data.find(b"\x00", self.place, self.place + MAX_TEXT)
        if stop < 0:
            raise _Short
        found = self.data[self.place : stop].decode("utf-8", "replace")
        self.place = stop + 1
        return found

    def rows(self, kind: np.dtype, number: int) -> NDArray:
        if self.place + kind.itemsize * number > len(self.data):
            raise _Short
        found = np.frombuffer(self.data, kind, number, self.place)
        self.place += kind.itemsize * number
        return found

    def vectors(self, number: int) -> NDArray:
        return self.rows(_VECTOR, number).astype(float).reshape(-1, 3)

    def skip(self, size: int) -> None:
        if self.place + size > len(self.data):
            raise _Short
        self.place += size


_INTEGER, _VECTOR = struct.Struct("<i"), np.dtype(("<f4", 3))


@dataclass(frozen=True, eq=False)
class Bodies:
    """Rigid bodies, or the bones of a skeleton: K of them."""

    ids: NDArray
    """(K,) int64; of a skeleton's bones the low 16 bits are the bone's id, the high ones the skeleton's."""
    positions: NDArray
    """(K, 3) metres."""
    rotations: NDArray
    """(K, 4) quaternions (w, x, y, z)."""
    errors: NDArray
    """(K,) metres: mean error of the markers."""
    is_tracked: NDArray
    """(K,) whether it was tracked in this frame."""


@dataclass(frozen=True, eq=False)
class NatNetFrame:
    """One frame, as sent."""

    number: int
    marker_sets: dict[str, NDArray]
    """Name → (K, 3) metres."""
    unlabeled: NDArray
    """(K, 3) metres: markers without a model."""
    bodies: Bodies
    skeletons: dict[int, Bodies]
    """Id → bones."""
    labeled: NDArray
    """(K, 3) metres: markers of a model."""
    labels: NDArray
    """(K,) int64: their ids; the high 16 bits are the model's."""
    is_occluded: NDArray
    """(K,) which of them were occluded."""
    seconds: float
    """Since the software was started."""
    is_recording: bool
    models_changed: bool
    """Whether definitions should be requested again."""


@dataclass(frozen=True, eq=False)
class BoneDefinition:
    """A rigid body, or a bone of a skeleton."""

    name: str
    id: int
    parent: int
    """Id of the bone above; 0 or −1 for none."""
    offset: tuple[float, float, float]
    """Metres, in the frame of the bone above."""
    markers: int


@dataclass(frozen=True)
class Definitions:
    """Names of the ids in frames."""

    marker_sets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    bodies: tuple[BoneDefinition, ...] = ()
    skeletons: dict[int, tuple[str, tuple[BoneDefinition, ...]]] = field(default_factory=dict)
    """Id → name and bones."""


@dataclass(frozen=True)
class ServerInfo:
    """The sending application."""

    application: str
    version: tuple[int, ...]
    """Of the application."""
    protocol: tuple[int, ...]
    """Of NatNet."""


def decode(data: bytes) -> NatNetFrame | Definitions | ServerInfo | None:
    """Decode a message; return None for invalid bytes and other message types."""
    if len(data) < 4:
        return None
    kind, size = struct.unpack_from("<HH", data)
    if size > len(data) - 4:
        return None
    reader = _Reader(data[: 4 + size])
    readers = {FRAME: _frame, DEFINITIONS: _definitions, SERVER_INFO: _server}
    try:
        # numbers may be anything: users of them check
        with np.errstate(invalid="ignore"):
            return readers[kind](reader) if kind in readers else None
    except _Short:
        return None


def request_definitions() -> bytes:
    """Return the request for definitions, to be sent to the server's command port."""
    return struct.pack("<HH", REQUEST_DEFINITIONS, 0)


def _server(reader: _Reader) -> ServerInfo:
    name = reader.data[reader.place : reader.place + 256].partition(b"\x00")[0].decode("utf-8", "replace")
    reader.skip(256)
    numbers = reader.rows(np.dtype("u1"), 8).tolist()
    return ServerInfo(name, tuple(numbers[:4]), tuple(numbers[4:]))


def _bodies(rows: NDArray) -> Bodies:
    return Bodies(
        rows["id"].astype(np.int64), rows["position"].astype(float), rows["rotation"].astype(float)[:, [3, 0, 1, 2]],
        rows["error"].astype(float), (rows["flags"] & 1) != 0,
    )  # fmt: skip


def _frame(reader: _Reader) -> NatNetFrame:
    number = reader.integer()
    marker_sets = {}
    for _ in range(reader.count(5)):
        name = reader.text()
        marker_sets[name] = reader.vectors(reader.count(12))
    unlabeled = reader.vectors(reader.count(12))
    bodies = _bodies(reader.rows(_BODY, reader.count(_BODY.itemsize)))
    skeletons = {}
    for _ in range(reader.count(8)):
        skeleton = reader.integer()
        skeletons[skeleton] = _bodies(reader.rows(_BODY, reader.count(_BODY.itemsize)))
    markers = reader.rows(_MARKER, reader.count(_MARKER.itemsize))
    for _ in ("force plates", "devices"):
        for _ in range(reader.count(8)):
            reader.integer()
            for _ in range(reader.count(4)):
                reader.skip(4 * reader.count(4))
    _, _, seconds, _, _, _, flags = reader.unpack(_SUFFIX)
    return NatNetFrame(
        number, marker_sets, unlabeled, bodies, skeletons, markers["position"].astype(float),
        markers["id"].astype(np.int64), (markers["flags"] & 1) != 0, float(seconds), bool(flags & 1), bool(flags & 2),
    )  # fmt: skip


def _bone(reader: _Reader) -> BoneDefinition:
    name, number, parent = reader.text(), reader.integer(), reader.integer()
    x, y, z = reader.vectors(1)[0].tolist()
    markers = reader.count(16)
    reader.skip(16 * markers)
    return BoneDefinition(name, number, parent, (x, y, z), markers)


def _definitions(reader: _Reader) -> Definitions:
    sets: dict[str, tuple[str, ...]] = {}
    bodies: list[BoneDefinition] = []
    skeletons: dict[int, tuple[str, tuple[BoneDefinition, ...]]] = {}
    for _ in range(reader.count(5)):
        kind = reader.integer()
        if kind == 0:
            name = reader.text()
            sets[name] = tuple(reader.text() for _ in range(reader.count(1)))
        elif kind == 1:
            bodies.append(_bone(reader))
        elif kind == 2:
            name, number = reader.text(), reader.integer()
            skeletons[number] = name, tuple(_bone(reader) for _ in range(reader.count(25)))
        else:
            # force plates and devices come last and are not needed
            break
    return Definitions(sets, tuple(bodies), skeletons)
