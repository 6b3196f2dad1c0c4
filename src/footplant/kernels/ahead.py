"""Compile kernels before they are needed, in processes beside this one; they meet in the cache on disk.

`start` sets processes to work on those that are not on disk yet and returns at once: this process goes on, and a kernel
that it needs before the others have it is compiled by whichever comes first (`storage` has the locks).

    python -m footplant.kernels.ahead

is such a process: it reads names of kernels from standard input and compiles them by their smallest call.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module

from numba.core import config

from footplant.kernels import compile_only, dispatcher, storage

WORTH_A_PROCESS = 3
"""Kernels from which it pays to start processes: one takes a second to start."""
MOST_PROCESSES = 8
KERNELS_PER_PROCESS = 160
"""Kernels after which a process is replaced: the compiler keeps what it has made in memory."""


def missing(names: Iterable[str]) -> list[str]:
    """Return those of the kernels "module.function" that are not on disk."""
    return [
        name for name in names
        if storage.has_module(f"footplant.{name.rpartition('.')[0]}") and not storage.is_kept(name)
    ]  # fmt: skip


def by_cost(names: Iterable[str]) -> list[str]:
    """Return kernels in the order in which they are best compiled: those with most code come first."""

    def size(name: str) -> int:
        return sum(len(_kernel(each).py_func.__code__.co_code) for each in closure(name))

    return sorted(names, key=lambda name: (-size(name), name))


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """Processes that compile kernels."""

    def __init__(self, names: Iterable[str], processes: int | None = None) -> None:
        self.names = list(names)
        self.compiled: set[str] = set()
        """Kernels that are ready, those that others call among them."""
        self.problems: list[str] = []
        self._waiting = deque(self.names)
        self._done: set[str] = set()
        self._changed = threading.Condition()
        self._running: set[subprocess.Popen] = set()
        count = min(processes or processors(), MOST_PROCESSES, len(self.names))
        dispatcher.watchers.append(lambda kernel: self.compiled.add(kernel.name))
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def kernels(self, names: Iterable[str] | None = None) -> set[str]:
        """The kernels that these calls compile, with all that they call in turn."""
        return set().union(*(closure(name) for name in (self.names if names is None else names)))

    def ready(self, names: Iterable[str] | None = None) -> bool:
        """Whether these kernels (all by default) are done, well or not."""
        wanted = set(self.names if names is None else names) & set(self.names)
        return wanted <= self._done or not any(thread.is_alive() for thread in self._threads)

    def wait(
        self, names: Iterable[str] | None = None, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> None:
        """Wait for these kernels; `progress(done, total)` is called several times a second."""
        chosen = self.names if names is None else [name for name in names if name in self.names]
        if self.ready(chosen):
            return
        total = self.kernels(chosen)
        while not self.ready(chosen):
            with self._changed:
                self._changed.wait(0.2)
            progress(len(total & (self.compiled | self.kernels(self._done & set(chosen)))), len(total))

    def stop(self) -> None:
        """End the processes, whatever they are doing; what is compiled stays."""
        with self._changed:
            self._waiting.clear()
            running = list(self._running)
        for process in running:
            with contextlib.suppress(OSError):
                process.kill()
        for process in running:
            process.wait()

    def _serve(self) -> None:
        """Give names to one process after another until none is left."""
        variables = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **compile_only.ENVIRONMENT}
        while self._waiting:
            try:
                process = subprocess.Popen(
                    [sys.executable, "-m", __name__],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                    env=os.environ | variables,
                )  # fmt: skip
            except OSError as problem:
                self.problems.append(str(problem))
                return
            with self._changed:
                self._running.add(process)
            try:
                well = self._feed(process)
            finally:
                with contextlib.suppress(OSError):
                    process.kill()
                process.wait()
                for stream in (process.stdin, process.stdout):
                    with contextlib.suppress(OSError):
                        stream.close()  # type: ignore[union-attr]
                with self._changed:
                    self._running.discard(process)
                    self._changed.notify_all()
            if not well:
                return

    def _feed(self, process: subprocess.Popen) -> bool:
        """Give names to a process until it has compiled enough; whether it lives to the end."""
        assert process.stdin is not None
        assert process.stdout is not None
        made = 0
        while made < KERNELS_PER_PROCESS:
            with self._changed:
                if not self._waiting:
                    return True
                name = self._waiting.popleft()
            try:
                process.stdin.write(f"{name}\n")
                process.stdin.flush()
            except OSError:
                return False
            for line in process.stdout:
                kind, _, text = line.rstrip("\n").partition(" ")
                with self._changed:
                    if kind == "compiled":
                        self.compiled.add(text)
                        made += 1
                    elif kind == "problem":
                        self.problems.append(f"{name}: {text}")
                    elif kind == "done":
                        self._done.add(name)
                    self._changed.notify_all()
                if kind == "done":
                    break
            else:
                self.problems.append(f"{name}: the process that compiled it has ended")
                return False
        return True


@cache
def closure(name: str) -> frozenset[str]:
    """The kernel "module.function" and all that it calls, directly or not."""
    return frozenset(_reached(_kernel(name), set()))


def _kernel(name: str) -> dispatcher.Kernel:
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"footplant.{module}"), function)


def _reached(kernel: dispatcher.Kernel, seen: set[str]) -> Iterator[str]:
    if kernel.name not in seen:
        seen.add(kernel.name)
        yield kernel.name
        for other in kernel.callees():
            yield from _reached(other, seen)


def start(names: Iterable[str], processes: int | None = None) -> Pool | None:
    """Compile kernels in processes beside this one; None when there is nothing to gain, or nowhere to keep them."""
    names = missing(names)
    possible = storage.cache_folder() is not None and storage.OPTIMISATION > 0 and sys.executable
    if len(names) < WORTH_A_PROCESS or not possible or getattr(config, "DISABLE_JIT", False):
        return None
    pool = Pool(names, processes)
    atexit.register(pool.stop)
    return pool


def serve() -> None:
    """Compile the kernels that standard input names, and say which."""

    def say(text: str) -> None:
        print(text, flush=True)

    dispatcher.watchers.append(lambda kernel: say(f"compiled {kernel.name}"))
    compile_only.prepare()
    for line in sys.stdin:
        module, _, function = line.strip().rpartition(".")
        try:
            found = import_module(f"footplant.{module}")
            getattr(found, function)(*found.WARMUP[function]())
        except Exception as problem:
            say(f"problem {' '.join(f'{type(problem).__name__}: {problem}'.split())}")
        say("done")


if __name__ == "__main__":
    serve()
