"""Atomic file writing: a file is written completely or left unchanged."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from footplant.errors import FormatError


@contextlib.contextmanager
def open_atomic(path: str | Path, mode: str = "wb") -> Iterator[IO]:
    """Open a temporary file beside `path`; when the block succeeds, flush, fsync and rename it over `path`.

    If the block raises, or the process is killed, `path` is unchanged.
    """
    path = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent or ".", prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise FormatError(f"cannot write here: {error.strerror}", path=path) from error
    try:
        encoding, newline = (None, None) if "b" in mode else ("utf-8", "")
        with os.fdopen(descriptor, mode, encoding=encoding, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent or ".")


def sync_folder(folder: str | Path) -> None:
    """Flush a folder's directory entries to disk, if the system supports it."""
    if hasattr(os, "O_DIRECTORY"):
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def write_atomic(path: str | Path, data: bytes | str) -> None:
    """Write a whole file atomically."""
    with open_atomic(path, "wb" if isinstance(data, bytes) else "w") as file:
        file.write(data)
