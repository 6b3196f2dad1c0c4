"""Buffer views that are compressed with meshopt (EXT_meshopt_compression, KHR_meshopt_compression)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.io.json import Json

EXTENSIONS = ("EXT_meshopt_compression", "KHR_meshopt_compression")
MAX_RATIO = 1024
"""A stream never expands to more than this multiple of its size: a larger count is damage."""
FILTERS = ("NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL", "COLOR")


def stated(entry: Json) -> Json | None:
    """Return the extension of a buffer or a buffer view that says how it is compressed; None without one."""
    return next((found for name in EXTENSIONS if (found := entry.extension(name)) is not None), None)


def decode(entry: Json, data: memoryview, limit: int) -> bytes:
    """Return the bytes of a buffer view; entry: its extension, data: the stream, limit: the most bytes allowed."""
    from footplant.kernels import meshopt as kernels

    stride = entry.integer("byteStride", low=1, high=256)
    count = entry.integer("count", low=1)
    mode = entry.text("mode")
    kind = entry.text("filter", "NONE")
    most = min(limit, MAX_RATIO * len(data))
    if count * stride > most:
        entry.fail("count", f"expected at most {most} bytes from a stream of {len(data)}, got {count * stride}")
    stream = np.frombuffer(data, np.uint8)
    if mode == "ATTRIBUTES":
        if stride % 4:
            entry.fail("byteStride", f"expected a multiple of 4, got {stride}")
        if kind not in FILTERS:
            entry.fail("filter", f"expected one of {', '.join(FILTERS)}; got {kind!r}")
        out = np.zeros((count, stride), np.uint8)
        if not kernels.decode_attributes(stream, stride, out):
            entry.fail("byteLength", "expected a meshopt stream of attributes, got a damaged one")
        return unfilter(entry, out, kind).tobytes()
    if mode not in ("TRIANGLES", "INDICES"):
        entry.fail("mode", f"expected ATTRIBUTES, TRIANGLES or INDICES; got {mode!r}")
    if stride not in (2, 4) or (mode == "TRIANGLES" and count % 3):
        entry.fail("byteStride", f"expected indices of 2 or 4 bytes in threes, got {count} of {stride}")
    indices = np.zeros(count, np.int64)
    if mode == "TRIANGLES":
        whole = kernels.decode_triangles(stream, indices.reshape(-1, 3))
    else:
        whole = kernels.decode_sequence(stream, indices)
    if not whole:
        entry.fail("byteLength", "expected a meshopt stream of indices, got a damaged one")
    return indices.astype(f"<u{stride}").tobytes()


def unfilter(entry: Json, elements: NDArray, kind: str) -> NDArray:
    """Undo a filter on elements (count, stride), uint8."""
    stride = elements.shape[1]
    if kind == "NONE":
        return elements
    if kind == "EXPONENTIAL":
        words = elements.view("<i4")
        exponent, mantissa = words >> 24, (words << 8) >> 8
        with np.errstate(all="ignore"):
            return np.ldexp(mantissa.astype(np.float64), exponent).astype("<f4")
    if stride not in (4, 8) or (kind == "QUATERNION" and stride != 8):
        entry.fail("byteStride", f"expected a stride of {'8' if kind == 'QUATERNION' else '4 or 8'}, got {stride}")
    signed, top = ("<i1", 127.0) if stride == 4 else ("<i2", 32767.0)
    values = elements.view(signed).astype(np.int64)
    if kind == "OCTAHEDRAL":
        x, y = values[:, 0].astype(float), values[:, 1].astype(float)
        z = values[:, 2] - np.abs(x) - np.abs(y)
        fold = np.minimum(z, 0.0)
        places = np.stack([x + np.where(x >= 0, fold, -fold), y + np.where(y >= 0, fold, -fold), z], axis=1)
        length = np.linalg.norm(places, axis=1, keepdims=True)
        values[:, :3] = _round(places * (top / np.where(length > 0, length, 1.0)))
        return values.astype(signed)
    if kind == "QUATERNION":
        scale = np.sqrt(0.5) / (values[:, 3] | 3)
        places = values[:, :3] * scale[:, None]
        largest = np.sqrt(np.maximum(1.0 - (places * places).sum(axis=1), 0.0))
        whole = _round(np.column_stack([largest, places]) * top)
        out = np.empty_like(values)
        for part in range(4):
            np.put_along_axis(out, ((values[:, 3:] + part) & 3), whole[:, part : part + 1], axis=1)
        return out.astype(signed)
    unsigned, full = ("<u1", 255.0) if stride == 4 else ("<u2", 65535.0)
    plain = elements.view(unsigned).astype(np.int64)
    luma, orange, green, alpha = plain[:, 0], values[:, 1], values[:, 2], plain[:, 3]
    scale = np.array(alpha)
    for shift in (1, 2, 4, 8):
        scale |= scale >> shift
    alpha = ((alpha << 1) & scale) | (alpha & 1)
    colors = np.stack([luma + orange - green, luma + green, luma - orange - green, alpha], axis=1)
    return np.clip(np.floor(colors * (full / np.maximum(scale, 1))[:, None] + 0.5), 0, full).astype(unsigned)


def _round(values: NDArray) -> NDArray:
    """Round half away from zero, as the specification's reference does."""
    return np.trunc(values + np.where(values >= 0, 0.5, -0.5)).astype(np.int64)
