"""LZ4 frames from untrusted senders: sizes are bounded, and any bytes give bytes or None."""

from __future__ import annotations

import struct

import numpy as np

MAGIC = b"\x04\x22\x4d\x18"
_RAW = 0x80000000
"""Bit of a block's size that marks it as uncompressed."""


def unpack(data: bytes, most: int) -> bytes | None:
    """Decompress a frame of at most `most` bytes; None if it is invalid, damaged or larger. Checksums are ignored."""
    from footplant.live.protocols import _lz4 as lz4

    if len(data) < 7 or data[:4] != MAGIC or data[4] >> 6 != 1:
        return None
    flags = data[4]
    has_block_sum, has_size, has_dictionary = bool(flags & 0x10), bool(flags & 0x08), bool(flags & 0x01)
    place = 6 + 8 * has_size + 4 * has_dictionary + 1
    # LZ4 compresses at most 255 times, which bounds the output
    out = np.empty(min(most, 255 * len(data)), np.uint8)
    source = np.frombuffer(data, np.uint8)
    filled = 0
    while place + 4 <= len(data):
        size = struct.unpack_from("<I", data, place)[0]
        place += 4
        if size == 0:
            return out[:filled].tobytes()
        is_raw, size = bool(size & _RAW), size & ~_RAW
        if place + size > len(data):
            return None
        if is_raw:
            if filled + size > len(out):
                return None
            out[filled : filled + size] = source[place : place + size]
            filled += size
        else:
            filled = int(lz4.unpack_block(source, place, place + size, out, filled))
            if filled < 0:
                return None
        place += size + 4 * has_block_sum
    return None
