"""Read in a child process, because damaged files can exhaust usd-core's memory or stack.

A crafted file of 3 kB makes usd-core allocate gigabytes, and deeply nested text crashes its process. The child has
limits on memory and time in proportion to the size of the files it opens, and returns arrays.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from footplant.errors import FormatError
from footplant.io import isolation
from footplant.io.usd.bundle import load_values, save_values
from footplant.io.usd.content import Content, from_dict, to_dict
from footplant.io.usd.extract import read_content
from footplant.io.usd.layers import open_stage
from footplant.io.usd.library import modules, reporting

FIXED_SECONDS, SECONDS_PER_MEGABYTE = 20, 2
"""CPU time limit of the child."""


def read(path: Path, data: bytes, *, isolated: bool) -> Content:
    """Read the skeletons of a file in a child process, or in this one (faster, for trusted files)."""
    if not isolated:
        return read_here(path, data, lambda size: None)
    with tempfile.TemporaryDirectory(prefix="footplant-usd-") as folder:
        answer = Path(folder) / "answer.npz"
        source = Path(folder) / "source"
        source.write_bytes(data)
        files = (str(path.absolute()), str(source), str(answer))
        command = [isolation.interpreter("USD"), "-m", "footplant.io.usd.child", *files]
        # its temporary files are deleted with ours, however it ends
        environment = {**os.environ, "TMPDIR": folder, "TEMP": folder, "PYTHONPATH": os.pathsep.join(sys.path)}
        environment["PXR_WORK_THREAD_LIMIT"] = "1"
        seconds = _cpu_seconds(len(data))
        done = isolation.run(command, path, seconds, capture_output=True, env=environment, stdin=subprocess.DEVNULL)
        if done.returncode or not answer.exists():
            _fail(path, done, seconds)
        return from_dict(load_values(answer))


def _cpu_seconds(size: int) -> int:
    return FIXED_SECONDS + SECONDS_PER_MEGABYTE * (size >> 20)


def _fail(path: Path, done: subprocess.CompletedProcess, seconds: int) -> NoReturn:
    """Raise the error that the child reported, or one that says how it ended."""
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    if done.returncode == 2 and lines:
        found = json.loads(lines[-1])
        raise FormatError(found["message"], path=path, where=found["where"])
    if done.returncode == 1:
        # an unexpected exception in our own code: a bug, not a damaged file
        raise RuntimeError(done.stderr.decode("utf-8", "replace"))
    isolation.fail(path, done.returncode, seconds)


def read_here(path: Path, data: bytes, before_layer) -> Content:
    """Read in this process; before_layer(size) is called before each file is opened."""
    with reporting(path), open_stage(path, data, before_layer) as opened:
        size = len(data) + sum(Path(file).stat().st_size for file in opened.followed)
        return read_content(path, opened, size)


class _Limits:
    """Raises the limits on memory and CPU time with every file that is opened."""

    def __init__(self) -> None:
        self.allowed, self.seconds = isolation.MEMORY, FIXED_SECONDS

    def __call__(self, size: int) -> None:
        try:
            import resource

            if self.allowed == isolation.MEMORY:
                # count data pages only: usd-core reserves far more address space than it uses
                pages = int(Path("/proc/self/statm").read_text().split()[5])
                self.allowed += pages * resource.getpagesize()
            self.allowed += isolation.MEMORY_FACTOR * size
            self.seconds += SECONDS_PER_MEGABYTE * (size >> 20)
            for kind, wanted in ((resource.RLIMIT_DATA, self.allowed), (resource.RLIMIT_CPU, self.seconds)):
                hard = resource.getrlimit(kind)[1]
                resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
        except (ImportError, OSError, ValueError):
            # not supported on this system: only the parent's timeout applies
            return


def _prepare() -> None:
    """Load all of usd-core before memory is limited, and remove its crash handlers, which write report files."""
    import signal

    Usd, *_ = modules("Usd", "Gf", "Sdf", "Tf", "UsdGeom", "UsdSkel", "UsdUtils", "Vt")

    Usd.Stage.CreateInMemory().DefinePrim("/A", "Skeleton")
    for name in ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGABRT", "SIGILL"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)


def _main(path: Path, source: Path, answer: Path) -> int:
    """Read `source` as the file `path`, write the content to `answer`; return the exit code."""
    _prepare()
    data = source.read_bytes()
    try:
        save_values(answer, to_dict(read_here(path, data, _Limits())))
    except FormatError as error:
        start = ": ".join(part for part in (error.path, error.where) if part)
        message = str(error)[len(start) + 2 :] if start else str(error)
        print(json.dumps({"message": message, "where": error.where}))
        return 2
    except MemoryError:
        print(json.dumps({"message": "expected a file that fits into memory, got one that does not", "where": None}))
        return 2
    return 0


if __name__ == "__main__":
    code = _main(*map(Path, sys.argv[1:4]))
    sys.stdout.flush()
    # skip usd-core's own shutdown: it may crash, and the answer is already written
    os._exit(code)
