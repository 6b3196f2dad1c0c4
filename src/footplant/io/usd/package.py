"""The .usdz package: an uncompressed zip with the stage as its first file, every file starting at a multiple of 64."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from footplant.errors import FormatError

ALIGNMENT = 64
MOST_ENTRIES = 4096
"""Files that one package may hold."""
_LAYERS = (".usd", ".usda", ".usdc")
_DAMAGE = (
    zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError, ValueError, IndexError, KeyError, OSError,
    OverflowError, RuntimeError, struct.error,
)  # fmt: skip
"""What the zip module raises for damaged files, each from another check."""
_PADDING_KIND = 0x1986
"""The kind of extra field that usd-core pads with; its content means nothing."""


def is_package(data: bytes) -> bool:
    """Whether the bytes are a zip."""
    return data[:4] == b"PK\x03\x04"


def entries(path: str | Path, data: bytes) -> list[tuple[str, bytes]]:
    """Names and contents of all files of a package, the stage first; checked before anything is allocated."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            listed = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(listed) > MOST_ENTRIES:
                raise FormatError(f"expected at most {MOST_ENTRIES} files in the package, got {len(listed)}", path=path)
            total = 0
            for entry in listed:
                _check(path, entry)
                total += entry.file_size
            # several entries may share the same bytes: the sum is what has to fit, not each of them
            if total > len(data):
                raise FormatError(f"expected at most {len(data)} bytes in the package, got {total}", path=path)
            return [(entry.filename, archive.read(entry)) for entry in listed]
    except _DAMAGE as error:
        raise FormatError(f"expected a .usdz package, got a damaged zip ({error})", path=path) from None


def _check(path: str | Path, entry: zipfile.ZipInfo) -> None:
    place = PurePosixPath(entry.filename)
    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
        raise FormatError("expected a file that is not compressed", path=path, where=entry.filename)
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
            raise FormatError(f"expected a name that a file can have ({error})", path=path, where=name) from None
    return PurePosixPath(found[0][0])


def pack(files: Iterable[tuple[str, bytes]]) -> bytes:
    """The bytes of a package with these files, the stage first."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name)
            start = out.tell() + 30 + len(name.encode("utf-8"))
            # an extra field has a header of four bytes, so less than that cannot be filled
            fill = -start % ALIGNMENT
            fill += ALIGNMENT if 0 < fill < 4 else 0
            if fill:
                entry.extra = struct.pack("<HH", _PADDING_KIND, fill - 4) + bytes(fill - 4)
            archive.writestr(entry, content)
    return out.getvalue()
