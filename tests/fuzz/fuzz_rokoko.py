"""Random bytes for the receiver of Rokoko's JSON, packed with LZ4 or not: sane poses or none, never an exception."""

from __future__ import annotations

import struct

import numpy as np

from footplant.live.protocols import lz4
from footplant.live.protocols.rokoko import RokokoReceiver

PLAIN = (
    b'{"version":"3.0","fps":60,"scene":{"timestamp":1.5,"actors":[{"name":"Ann","meta":{"hasBody":true},"body":{'
    b'"hip":{"position":{"x":0,"y":1,"z":0},"rotation":{"x":0,"y":0,"z":0,"w":1}}}}],"props":[]}}'
)


def corpus() -> list[bytes]:
    """Datagrams to start from: plain, packed as it is, packed as a run, and traps."""
    raw = lz4.MAGIC + b"\x60\x40\x00" + struct.pack("<I", len(PLAIN) | 0x80000000) + PLAIN + bytes(4)
    run = b"\x1fa\x01\x00\x01\x00"
    packed = lz4.MAGIC + b"\x60\x40\x00" + struct.pack("<I", len(run)) + run + bytes(4)
    return [PLAIN, raw, packed, PLAIN.replace(b"1.5", b"1e400"), PLAIN.replace(b'"y":1', b'"y":NaN'), b"[[[["]


def TARGET(data: bytes) -> None:
    """Feed it twice; what comes out must be sane."""
    receiver = RokokoReceiver()
    for _ in range(2):
        for sample in receiver.feed(data, 0.0):
            assert np.isfinite(sample.positions).all()
            assert np.abs(np.linalg.norm(sample.rotations, axis=1) - 1.0).max() < 1e-9
