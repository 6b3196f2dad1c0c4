"""Run a file reader in a child process, because damaged files can crash, hang or exhaust native libraries.

The child limits its own memory and time in proportion to the size of the file (see `fbx.child`, `usd.child`). The
parent waits with a timeout and raises one `FormatError` for every way the child can end.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from footplant.errors import FormatError

MEMORY, MEMORY_FACTOR = 192 << 20, 10
"""Memory limit of the child: these bytes plus this multiple of the size of the files that it opens."""
WAIT_FACTOR = 3
"""How many times the child's CPU time limit the parent waits: other processes compete for the CPU."""


def interpreter(what: str) -> str:
    """Return the Python executable that runs the child; what: what is read, for the error message."""
    if not sys.executable:
        raise FormatError(f"reading {what} needs a separate Python process, but sys.executable is not set")
    return sys.executable


def run(command: Sequence[str], path: str | Path, seconds: int, **streams: Any) -> subprocess.CompletedProcess:
    """Run a child with a CPU time limit in seconds, killing it if it hangs; streams: arguments of `subprocess.run`."""
    limit = WAIT_FACTOR * seconds
    try:
        return subprocess.run(
            command, timeout=limit, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0), check=False, **streams
        )
    except subprocess.TimeoutExpired:
        raise FormatError(f"the reader did not finish in {limit} s and was stopped", path=path) from None


def fail(path: str | Path, code: int, seconds: int) -> NoReturn:
    """Raise the error for a child that ended without an error message."""
    import signal

    name = next((known.name for known in signal.Signals if known.value == -code), f"exit code {code}")
    if name == "SIGXCPU":
        raise FormatError(f"the reader used {seconds} s of CPU and was stopped; the file may be damaged", path=path)
    if name in ("SIGKILL", "SIGXFSZ"):
        raise FormatError(f"the reader took too much memory and was stopped ({name})", path=path)
    raise FormatError(f"the reader crashed ({name}); the file may be damaged", path=path)
