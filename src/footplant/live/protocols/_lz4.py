"""Compiled decompression of one LZ4 block with every access checked: damaged bytes end it."""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit


@jit
def unpack_block(source, start, end, out, place):
    """Decompress source[start:end] to out[place:]; return where it ends in `out`, or −1 for invalid bytes."""
    while start < end:
        token = source[start]
        start += 1
        count = token >> 4
        if count == 15:
            more = 255
            while more == 255:
                if start >= end:
                    return -1
                more = source[start]
                count += more
                start += 1
        if start + count > end or place + count > out.shape[0]:
            return -1
        for k in range(count):
            out[place + k] = source[start + k]
        start += count
        place += count
        if start == end:
            return place
        if start + 2 > end:
            return -1
        back = source[start] + 256 * np.int64(source[start + 1])
        start += 2
        count = token & 15
        if count == 15:
            more = 255
            while more == 255:
                if start >= end:
                    return -1
                more = source[start]
                count += more
                start += 1
        count += 4
        if back == 0 or back > place or place + count > out.shape[0]:
            return -1
        # source and destination may overlap: copy byte by byte
        for k in range(count):
            out[place + k] = out[place + k - back]
        place += count
    return place


def _bytes():
    array = np.zeros(1, np.uint8)
    array.setflags(write=False)
    return array


WARMUP = {"unpack_block": lambda: (_bytes(), 0, 1, np.zeros(4, np.uint8), 0)}
