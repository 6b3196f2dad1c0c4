"""The .usdz package: an uncompressed zip, the stage first, every file aligned to 64 bytes."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from footplant.errors import FormatError

ALIGNMENT = 64
MAX_ENTRIES = 4096
"""Maximum files of a package."""
_LAYERS = (".usd", ".usda", ".usdc")
_DAMAGE = (
    zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError, ValueError, IndexError, KeyError, OSError,
    OverflowError, RuntimeError, struct.error,
)  # fmt: skip
"""Exceptions that the zip module raises for damaged files."""
_PADDING_KIND = 0x1986
"""Id of the zip extra field that usd-core uses for padding."""


def is_package(data: bytes) -> bool:
    """Return whether the bytes are a zip file."""
    return data[:4] == b"PK\x03\x04"


def entries(path: str | Path, data: bytes) -> list[tuple[str, bytes]]:
    """Return names and contents of all files of a package, the stage first; sizes are checked before allocation."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            listed = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(listed) > MAX_ENTRIES:
                raise FormatError(f"expected at most {MAX_ENTRIES} files in the package, got {len(listed)}", path=path)
            total = 0
            for entry in listed:
                _check(path, entry)
                total += entry.file_size
            # entries may share the same bytes, so the sum is limited, not each size
            if total > len(data):
                raise FormatError(f"expected at most {len(data)} bytes in the package, got {total}", path=path)
            return [(entry.filename, archive.read(entry)) for entry in listed]
    except _DAMAGE as error:
        raise FormatError(f"expected a .usdz package, got a damaged zip ({error})", path=path) from None


def _check(path: str | Path, entry: zipfile.ZipInfo) -> None:
    """Raise `FormatError` for compressed or encrypted entries and for names that lead out of the package."""
    place = PurePosixPath(entry.filename)
    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
        raise FormatError("expected an uncompressed file", path=path, where=entry.filename)
    if place.is_absolute() or ".." in place.parts or "\\" in entry.filename or ":" in entry.filename:
        raise FormatError("expected a name inside the package", path=path, where=entry.filename)


def unpack(path: str | Path, data: bytes, folder: Path) -> PurePosixPath:
    """Write the files of a package into a folder and return the name of the stage."""
    found = entries(path, data)
    if not found or PurePosixPath(found[0][0]).suffix.lower() not in _LAYERS:
        raise FormatError(f"expected a package that starts with a {', '.join(_LAYERS)} file", path=path)
    for name, content in found:
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        except (OSError, ValueError) as error:
            raise FormatError(f"expected a valid file name ({error})", path=path, where=name) from None
    return PurePosixPath(found[0][0])


def pack(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the bytes of a package with these files, the stage first."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name)
            start = out.tell() + 30 + len(name.encode("utf-8"))
            # an extra field has a header of four bytes, which is the smallest possible padding
            fill = -start % ALIGNMENT
            fill += ALIGNMENT if 0 < fill < 4 else 0
            if fill:
                entry.extra = struct.pack("<HH", _PADDING_KIND, fill - 4) + bytes(fill - 4)
            archive.writestr(entry, content)
    return out.getvalue()
