"""Random bytes for the receiver of NatNet: sane poses or none, never an exception."""

from __future__ import annotations

import struct

import numpy as np

from footplant.live.protocols import natnet
from footplant.live.protocols.natnet_poses import NatNetReceiver


def _frame(number: int) -> bytes:
    bone = struct.pack("<i3f4ffh", (1 << 16) + 1, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.001, 1)
    marker = struct.pack("<i3ffhf", 65537, 0.0, 1.0, 0.0, 0.01, 2, 0.001)
    body = struct.pack("<ii", number, 1) + b"set\x00" + struct.pack("<i3f", 1, 1.0, 2.0, 3.0)
    body += struct.pack("<i3fi", 1, 1.0, 2.0, 3.0, 1) + bone + struct.pack("<iii", 1, 1, 1) + bone
    body += struct.pack("<i", 1) + marker + struct.pack("<iiiif", 1, 5, 1, 1, 2.0) + struct.pack("<i", 0)
    body += struct.pack("<IIdQQQhi", 0, 0, 1.5, 1, 2, 3, 2, 0)
    return struct.pack("<HH", natnet.FRAME, len(body)) + body


def corpus() -> list[bytes]:
    """Messages to start from: a frame with everything, definitions, a server."""
    bone = b"Ann_Hip\x00" + struct.pack("<ii3fi", 1, 0, 0.0, 0.9, 0.0, 1) + bytes(16)
    body = struct.pack("<ii", 3, 0) + b"all\x00" + struct.pack("<i", 1) + b"one\x00"
    body += struct.pack("<i", 1) + bone + struct.pack("<i", 2) + b"Ann\x00" + struct.pack("<ii", 1, 1) + bone
    definitions = struct.pack("<HH", natnet.DEFINITIONS, len(body)) + body
    server = (
        struct.pack("<HH", natnet.SERVER_INFO, 264) + b"Motive".ljust(256, b"\x00") + bytes([2, 1, 0, 0, 3, 0, 0, 0])
    )
    return [_frame(1), definitions, server, _frame(2)[:80]]


def TARGET(data: bytes) -> None:
    """Feed it between good ones; what comes out must be sane."""
    receiver = NatNetReceiver()
    for datagram in (corpus()[1], data, _frame(10), data, _frame(11)):
        for sample in receiver.feed(datagram, 0.0):
            assert np.isfinite(sample.positions).all()
            assert np.abs(np.linalg.norm(sample.rotations, axis=1) - 1.0).max() < 1e-9
