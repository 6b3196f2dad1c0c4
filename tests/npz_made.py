"""Synthetic NumPy files for tests, in memory."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np


def npy(array) -> bytes:
    """Return the bytes of a .npy file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def npz(compressed: bool = False, **arrays) -> bytes:
    """Return the bytes of a .npz file, as NumPy writes them."""
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def zipped(**members: bytes) -> bytes:
    """Return a zip archive of stored members with any bytes."""
    return archive([(name, data, 0, data, len(data)) for name, data in members.items()])


def archive(members: list[tuple[str, bytes, int, bytes, int]], count: int | None = None) -> bytes:
    """Return a zip archive from (name, compressed bytes, method, bytes for the checksum, stated size)."""
    out, directory = b"", b""
    for name, packed, method, whole, size in members:
        title = f"{name}.npy".encode()
        fields = (zlib.crc32(whole), len(packed), size, len(title))
        directory += struct.pack(
            "<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, method, 0, 0, *fields, 0, 0, 0, 0, 0, len(out)
        )
        directory += title
        out += struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, method, 0, 0, *fields, 0) + title + packed
    number = len(members) if count is None else count
    return out + directory + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, number, number, len(directory), len(out), 0)


def header(text: str, version: int = 1) -> bytes:
    """Return a .npy header with any text."""
    data = text.encode("latin-1")
    size = struct.pack("<H" if version == 1 else "<I", len(data))
    return b"\x93NUMPY" + bytes([version, 0]) + size + data


def describe(shape: str, descr: str = "<f8") -> str:
    """Return the text of a header."""
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n"
