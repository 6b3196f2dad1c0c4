"""Atomic file writing: a file is written completely or left unchanged."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from footplant.errors import FormatError

PART = ".part"
"""How the names of temporary files end; they start with a dot."""


@contextlib.contextmanager
def open_atomic(path: str | Path, mode: str = "wb") -> Iterator[IO]:
    """Open a temporary file beside `path`; when the block succeeds, flush, fsync and rename it over `path`.

    If the block raises, or the process is killed, `path` is unchanged.
    """
    path = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent or ".", prefix=f".{path.name}.", suffix=PART)
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


def sweep_parts(folder: str | Path) -> int:
    """Remove temporary files that killed processes have left below a folder; return how many."""
    found = 0
    for root, _, names in os.walk(folder):
        for name in names:
            if name.startswith(".") and name.endswith(PART):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(root, name))
                    found += 1
    return found


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an exception, or one that caused it, says that the disk or a quota is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__ or error.__context__
    return False


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
