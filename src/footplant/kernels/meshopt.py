"""Decode the streams of EXT_meshopt_compression: attributes, triangles and index sequences.

The bit streams are those of the extension's specification (Khronos, appendix A) and, for attributes, also the second
version that KHR_meshopt_compression adds. Each kernel checks every read against the end of the stream, since compiled
loops have no bounds checks, and returns whether the stream was complete.
"""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit

GROUP = 16
"""Elements whose bytes share one bit width."""
_MOST = 256
"""Most elements of a block."""


@jit
def decode_group(data, place, end, bits, out, at):
    """Decode 16 bytes of `bits` bits each into out[at:at + 16]; return the new place, −1 at the end of the stream."""
    if bits == 0:
        for n in range(GROUP):
            out[at + n] = 0
        return place
    if place + 2 * bits > end:
        return -1
    if bits == 8:
        for n in range(GROUP):
            out[at + n] = data[place + n]
        return place + GROUP
    extra, sentinel = place + 2 * bits, (1 << bits) - 1
    for n in range(GROUP):
        bit = n * bits
        byte = int(data[place + (bit >> 3)])
        # single bits are stored from the lowest, others from the highest
        shift = bit & 7 if bits == 1 else 8 - bits - (bit & 7)
        value = (byte >> shift) & sentinel
        if value == sentinel:
            if extra >= end:
                return -1
            value = int(data[extra])
            extra += 1
        out[at + n] = value
    return extra


@jit
def decode_plane(data, place, end, count, version, control, out):
    """Decode one byte of every element of a block into `out`; return the new place, −1 at the end of the stream."""
    groups = (count + GROUP - 1) // GROUP
    if version == 1 and control == 2:
        for n in range(count):
            out[n] = 0
        return place
    if version == 1 and control == 3:
        if place + count > end:
            return -1
        for n in range(count):
            out[n] = data[place + n]
        return place + count
    header = place
    place += (groups + 3) // 4
    if place > end:
        return -1
    for group in range(groups):
        code = (int(data[header + group // 4]) >> (2 * (group % 4))) & 3
        if version == 0:
            bits = 1 << code if code else 0
        elif control == 0:
            bits = 1 << (code - 1) if code else 0
        else:
            bits = 1 << code
        place = decode_group(data, place, end, bits, out, group * GROUP)
        if place < 0:
            return -1
    return place


@jit
def decode_attributes(data, stride, out):
    """Decode elements of `stride` bytes into out (count, stride), uint8; return whether the stream was complete."""
    count, size = len(out), len(data)
    if size < 1 or int(data[0]) & 240 != 160:
        return False
    version = int(data[0]) & 15
    if version > 1:
        return False
    kept = stride if version == 0 else stride + stride // 4
    tail = max(kept, 32 if version == 0 else 24)
    end = size - tail
    if end < 1:
        return False
    last = data[size - kept : size - kept + stride].copy()
    modes = size - kept + stride
    most = min((8192 // stride) & ~(GROUP - 1), _MOST)
    planes = np.zeros((stride, _MOST), np.uint8)
    place, first = 1, 0
    while first < count:
        rows = min(most, count - first)
        controls = place
        if version == 1:
            place += stride // 4
            if place > end:
                return False
        for byte in range(stride):
            control = 0 if version == 0 else (int(data[controls + byte // 4]) >> (2 * (byte % 4))) & 3
            place = decode_plane(data, place, end, rows, version, control, planes[byte])
            if place < 0:
                return False
        byte = 0
        while byte < stride:
            mode = 0 if version == 0 else int(data[modes + byte // 4])
            width = 1 << min(mode & 3, 2)
            if byte + width > stride or mode & 3 == 3:
                return False
            mask = (1 << (8 * width)) - 1
            value = 0
            for part in range(width):
                value |= int(last[byte + part]) << (8 * part)
            for row in range(rows):
                delta = 0
                for part in range(width):
                    delta |= int(planes[byte + part, row]) << (8 * part)
                if width == 4:
                    turn = (32 - (mode >> 4)) & 31
                    value ^= ((delta << turn) | (delta >> ((32 - turn) & 31))) & mask
                else:
                    value = (value + ((delta >> 1) ^ -(delta & 1))) & mask
                for part in range(width):
                    out[first + row, byte + part] = (value >> (8 * part)) & 255
            for part in range(width):
                last[byte + part] = (value >> (8 * part)) & 255
            byte += width
        first += rows
    return place == end


@jit
def read_varint(data, place, end):
    """Return an unsigned number of up to five bytes and the new place, −1 at the end of the stream."""
    value, shift = 0, 0
    while shift < 35:
        if place >= end:
            return 0, -1
        byte = int(data[place])
        place += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & 0xFFFFFFFF, place
    return 0, -1


@jit
def unzigzag(value):
    """Return the signed number that zigzag coding made unsigned."""
    return (value >> 1) ^ -(value & 1)


@jit
def decode_sequence(data, out):
    """Decode an index sequence into out (count,), int64; return whether the stream was complete."""
    if len(data) < 5 or int(data[0]) & 240 != 208 or int(data[0]) & 15 > 1:
        return False
    place, end = 1, len(data) - 4
    last = np.zeros(2, np.int64)
    for n in range(len(out)):
        value, place = read_varint(data, place, end)
        if place < 0:
            return False
        which = value & 1
        last[which] = (last[which] + unzigzag(value >> 1)) & 0xFFFFFFFF
        out[n] = last[which]
    return place == end


@jit
def push(queue, at, value, advance):
    """Put a vertex into the queue of sixteen; return the next place."""
    queue[at] = value
    return (at + 1) & 15 if advance else at


@jit
def decode_triangles(data, out):
    """Decode triangles into out (triangles, 3), int64; return whether the stream was complete."""
    count, size = len(out), len(data)
    if size < 17 + count or int(data[0]) & 240 != 224 or int(data[0]) & 15 > 1:
        return False
    edges = np.full((16, 2), -1, np.int64)
    queue = np.full(16, -1, np.int64)
    edge_at, at, following, last = 0, 0, 0, 0
    near = 13 if int(data[0]) & 15 == 1 else 15
    place, end = 1 + count, size - 16
    for n in range(count):
        code = int(data[1 + n])
        if code < 240:
            edge = (edge_at - 1 - (code >> 4)) & 15
            a, b, low = edges[edge, 0], edges[edge, 1], code & 15
            if low < near:
                if low == 0:
                    c = following
                    following += 1
                else:
                    c = queue[(at - 1 - low) & 15]
                at = push(queue, at, c, low == 0)
            else:
                if low == 15:
                    value, place = read_varint(data, place, end)
                    if place < 0:
                        return False
                    last += unzigzag(value)
                else:
                    last += 1 if low == 14 else -1
                last &= 0xFFFFFFFF
                c = last
                at = push(queue, at, c, True)
            edges[edge_at] = (c, b)
            edges[(edge_at + 1) & 15] = (a, c)
            edge_at = (edge_at + 2) & 15
        else:
            if code < 254:
                more = int(data[end + (code & 15)])
                first = 0
            else:
                if place >= end:
                    return False
                more = int(data[place])
                place += 1
                first = 0 if code == 254 else 15
                if more == 0:
                    following = 0
            second, third = more >> 4, more & 15
            # new vertices are numbered before explicit ones are read
            a = following
            if first == 0:
                following += 1
            b = following if second == 0 else queue[(at - second) & 15]
            if second == 0:
                following += 1
            c = following if third == 0 else queue[(at - third) & 15]
            if third == 0:
                following += 1
            explicit = code >= 254
            if first == 15:
                value, place = read_varint(data, place, end)
                if place < 0:
                    return False
                last = (last + unzigzag(value)) & 0xFFFFFFFF
                a = last
            if explicit and second == 15:
                value, place = read_varint(data, place, end)
                if place < 0:
                    return False
                last = (last + unzigzag(value)) & 0xFFFFFFFF
                b = last
            if explicit and third == 15:
                value, place = read_varint(data, place, end)
                if place < 0:
                    return False
                last = (last + unzigzag(value)) & 0xFFFFFFFF
                c = last
            at = push(queue, at, a, True)
            at = push(queue, at, b, second == 0 or (explicit and second == 15))
            at = push(queue, at, c, third == 0 or (explicit and third == 15))
            edges[edge_at] = (b, a)
            edges[(edge_at + 1) & 15] = (c, b)
            edges[(edge_at + 2) & 15] = (a, c)
            edge_at = (edge_at + 3) & 15
        out[n, 0], out[n, 1], out[n, 2] = a, b, c
    return place == end


def _stream(*first):
    stream = np.zeros(64, np.uint8)
    stream[: len(first)] = first
    stream.setflags(write=False)
    return stream


WARMUP = {
    "decode_attributes": lambda: (_stream(160), 4, np.zeros((1, 4), np.uint8)),
    "decode_sequence": lambda: (_stream(209), np.zeros(1, np.int64)),
    "decode_triangles": lambda: (_stream(225), np.zeros((1, 3), np.int64)),
}
