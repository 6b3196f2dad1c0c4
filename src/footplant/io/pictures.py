"""Pictures of textures: what glTF can hold as it is, Targa and bitmap files as PNG, and where they are looked for."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 256 << 20
"""Largest picture that is read, and that one may unpack to."""
FOLDERS = ("textures", "Textures", "tex", "texture")
"""Folders beside a file where programs and stores put its pictures."""
_MIME = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
"""First bytes of pictures → type; other kinds have no place in glTF."""


def as_shared(data: bytes) -> tuple[str, bytes] | None:
    """Return type and bytes of a picture as PNG or JPEG, which all formats hold; None if its kind is not known.

    Uncompressed and run-length coded Targa (.tga), 24 and 32 bit bitmaps (.bmp) become PNG.
    """
    for start, mime in _MIME.items():
        if data.startswith(start):
            return mime, data
    if not data:
        return None
    try:
        pixels = _bitmap(data) if data[:2] == b"BM" else _targa(data)
    except (struct.error, ValueError, IndexError):
        return None
    return None if pixels is None else ("image/png", encode_png(pixels))


def find_picture(file: Path, stated: str) -> bytes:
    """Return the bytes of a picture near a file, whatever the case of its name; nothing without it.

    It is looked for where the file states it, if that is below its own folder, then in that folder, in the one that
    exporters of FBX unpack embedded pictures to (NAME.fbm), and in folders for textures.
    """
    stated = stated.replace("\\", "/")
    name = stated.rpartition("/")[2]
    if name in ("", ".", ".."):
        return b""
    folders = [file.parent, file.with_suffix(".fbm"), *(file.parent / each for each in FOLDERS)]
    inside = PurePosixPath(stated)
    if not inside.is_absolute() and ".." not in inside.parts and ":" not in stated:
        folders.insert(0, file.parent / inside.parent)
    for folder in folders:
        try:
            exact = folder / name
            if not exact.is_file() and folder.is_dir():
                exact = next((other for other in folder.iterdir() if other.name.lower() == name.lower()), exact)
            if exact.is_file() and exact.stat().st_size <= MAX_BYTES:
                return exact.read_bytes()
        except (OSError, ValueError):
            continue
    return b""


def encode_png(pixels: NDArray) -> bytes:
    """Return a PNG file of pixels (height, width, 3 or 4), 8 bits each."""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 6 if channels == 4 else 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return next(iter(_MIME)) + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def _bitmap(data: bytes) -> NDArray | None:
    """Return the pixels of an uncompressed bitmap of 24 or 32 bits, or of 8 bits with a palette."""
    start, size, width, height, _, bits, packing = struct.unpack_from("<I I i i H H I", data, 10)
    upwards, height = height > 0, abs(height)
    if bits not in (8, 24, 32) or packing not in (0, 3) or not _sensible(width, height):
        return None
    stride = (width * bits // 8 + 3) // 4 * 4
    rows = np.frombuffer(data, np.uint8, stride * height, start).reshape(height, stride)[:, : width * bits // 8]
    if bits == 8:
        colors = struct.unpack_from("<I", data, 46)[0] or 256
        palette = np.frombuffer(data, np.uint8, 4 * min(colors, 256), 14 + size).reshape(-1, 4)[:, 2::-1]
        pixels = palette[np.minimum(rows, len(palette) - 1)]
    else:
        # the fourth byte of a bitmap is not opacity in most programs
        pixels = rows.reshape(height, width, bits // 8)[:, :, 2::-1]
    return pixels[::-1] if upwards else pixels


def _targa(data: bytes) -> NDArray | None:
    """Return the pixels of a Targa file: true colour or grey, plain or run-length coded; None if it is none."""
    identity, mapped, kind, _, _, _, _, _, width, height, bits, flags = struct.unpack_from("<BBBHHBHHHHBB", data, 0)
    plain = {2: (24, 32), 3: (8,), 10: (24, 32), 11: (8,)}
    if mapped or bits not in plain.get(kind, ()) or not _sensible(width, height):
        return None
    step, count = bits // 8, width * height
    body = data[18 + identity :]
    raw = _unpacked(body, step, count) if kind >= 10 else body[: count * step]
    if len(raw) < count * step:
        return None
    pixels = np.frombuffer(raw, np.uint8, count * step).reshape(height, width, step)
    pixels = np.repeat(pixels, 3, axis=2) if step == 1 else pixels[:, :, [2, 1, 0, 3][:step]]
    pixels = pixels if flags & 0x20 else pixels[::-1]
    return pixels[:, ::-1] if flags & 0x10 else pixels


def _unpacked(body: bytes, step: int, count: int) -> bytes:
    """Return the bytes of run-length coded pixels; fewer if the file ends before them."""
    out, place, size = bytearray(), 0, count * step
    while len(out) < size and place < len(body):
        run, place = (body[place] & 0x7F) + 1, place + 1
        if body[place - 1] & 0x80:
            out += body[place : place + step] * run
            place += step
        else:
            out += body[place : place + run * step]
            place += run * step
    return bytes(out)


def _sensible(width: int, height: int) -> bool:
    return width > 0 and height > 0 and 4 * width * height <= MAX_BYTES
