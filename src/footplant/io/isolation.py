"""Reading in a process of its own: libraries that damaged files can crash, hang or blow up must not take us along.

The child limits itself (see `fbx.child`, `usd.child`): memory and time follow the size of the file. Here is what the
parent does: it waits, but not for ever, and makes one `FormatError` of every way in which the child can end.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from footplant.errors import FormatError

MEMORY, MEMORY_FACTOR = 192 << 20, 10
"""The child may take this many bytes, and so many times the size of the files that it opens."""
WAIT_FACTOR = 3
"""How much longer than the child may work the parent waits for it, because other processes work, too."""


def interpreter(what: str) -> str:
    """The program that runs the child; what: what for, as the error says it."""
    if not sys.executable:
        raise FormatError(f"reading {what} starts a Python process of its own, and sys.executable does not say which")
    return sys.executable


def run(command: Sequence[str], path: str | Path, seconds: int, **streams: Any) -> subprocess.CompletedProcess:
    """Run a child that may work for so many seconds, and stop it when it hangs; the streams are those of Popen."""
    limit = WAIT_FACTOR * seconds
    try:
        return subprocess.run(
            command, timeout=limit, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0), check=False, **streams
        )
    except subprocess.TimeoutExpired:
        raise FormatError(f"the reader did not finish in {limit} s and was stopped", path=path) from None


def fail(path: str | Path, code: int, seconds: int) -> NoReturn:
    """Say how a child ended that could not say it itself."""
    import signal

    name = next((known.name for known in signal.Signals if known.value == -code), f"exit code {code}")
    if name == "SIGXCPU":
        raise FormatError(f"the reader worked for {seconds} s and was stopped; the file may be damaged", path=path)
    if name in ("SIGKILL", "SIGXFSZ"):
        raise FormatError(f"the reader took too much memory and was stopped ({name})", path=path)
    raise FormatError(f"the reader crashed ({name}); the file may be damaged", path=path)
