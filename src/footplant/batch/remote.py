"""Inputs of a batch wherever they are: files of this machine, or addresses that fsspec reads (s3://, https:// …).

Workers read, hash and copy them; the driver only lists. An input on object storage is copied to a temporary file
while it is worked on.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from footplant.batch.settings import SETTINGS
from footplant.errors import FormatError, MissingExtraError
from footplant.text_files import require_file

BLOCK = 1 << 20
"""Bytes that are read at a time."""


def is_remote(source: str) -> bool:
    """Return whether an input is an address rather than a file's path."""
    return "://" in source


def _file_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtraError("fsspec", "remote", f"inputs such as {address}") from error
    try:
        return url_to_fs(address)
    except (ImportError, ValueError, OSError) as error:
        raise FormatError(f"cannot be reached: {error}", path=address) from error


def list_files(address: str) -> list[str]:
    """Return the addresses of all files at or below an address, sorted."""
    system, path = _file_system(address)
    try:
        found = system.find(path)
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be listed: {error}", path=address) from error
    if not found:
        raise FormatError("no such file or folder", path=address)
    return [system.unstrip_protocol(each) for each in sorted(found)]


def stamp_of(source: str) -> tuple[Any, ...]:
    """Return what changes when an input does: size and modification time, or what object storage has instead."""
    if not is_remote(source):
        found = require_file(source)
        return found.st_size, found.st_mtime_ns
    system, path = _file_system(source)
    try:
        about = system.info(path)
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read: {error}", path=source) from error
    # object storage has an ETag or a generation; local files and others a time
    marks = (about.get(name) for name in ("ETag", "etag", "generation", "mtime", "LastModified", "last_modified"))
    return about.get("size") or 0, next((str(mark) for mark in marks if mark is not None), "")


def hash_of(source: str) -> str:
    """Return the SHA-256 of an input's bytes."""
    digest = hashlib.sha256()
    for block in _blocks(source):
        digest.update(block)
    return digest.hexdigest()


@contextlib.contextmanager
def local(source: str) -> Iterator[str]:
    """Give the path of an input on this machine: its own, or that of a copy that lives as long as the block."""
    if not is_remote(source):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="footplant-") as folder:
        copy = Path(folder) / Path(source.rpartition("/")[2]).name
        with open(copy, "wb") as file:
            for block in _blocks(source):
                file.write(block)
        yield str(copy)


def _open(source: str) -> IO[bytes]:
    if not is_remote(source):
        require_file(source)
        return open(source, "rb")
    system, path = _file_system(source)
    return system.open(path, "rb")


def _blocks(source: str) -> Iterator[bytes]:
    """Yield the bytes of an input; one that does not end is refused after `largest_input` bytes."""
    left = SETTINGS.largest_input
    if not is_remote(source) and require_file(source).st_size > left:
        raise FormatError(f"expected at most {left >> 30} GiB, got more", path=source)
    try:
        with _open(source) as file:
            while block := file.read(BLOCK):
                left -= len(block)
                if left < 0:
                    raise FormatError(f"expected at most {SETTINGS.largest_input >> 30} GiB, got more", path=source)
                yield block
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", path=source) from error
