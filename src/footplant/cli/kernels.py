"""`footplant warmup`, and how commands have their kernels compiled: in processes beside them, with a bar that counts.

kernels.json lists the kernels of each command, the costliest first; `python tests/needed_kernels.py` writes it.
Commands without a list need few or none. A list that is out of date costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from footplant.cli.arguments import Json
from footplant.cli.output import console, note, print_facts, print_json

if TYPE_CHECKING:
    from footplant.kernels.ahead import Pool

LINE_EVERY = 3.0
"""Seconds between two lines about compiling where standard error is no terminal."""
_command: str | None = None
_pool: Pool | None = None


def choose_command(name: str | None) -> None:
    """Remember which command runs."""
    global _command
    _command = name


def needed_kernels(command: str | None) -> list[str]:
    """Return the kernels that a command calls, "module.function"."""
    import json
    from pathlib import Path

    return json.loads(Path(__file__).with_name("kernels.json").read_text()).get(command, [])


def prepare_kernels() -> None:
    """Start to compile the command's kernels that are not on disk, in other processes, and say so on stderr."""
    global _pool
    import logging

    class Printer(logging.Handler):
        # look up stderr at print time, so that a spinner or a progress bar makes room for the line
        def emit(self, record: logging.LogRecord) -> None:
            note(f"footplant: {record.getMessage()}")

    logger = logging.getLogger("footplant.kernels")
    if not logger.handlers:
        logger.addHandler(Printer())
        logger.setLevel(logging.INFO)
        logger.propagate = False
    names = needed_kernels(_command) if _pool is None else []
    if names:
        from footplant.kernels import ahead

        _pool = ahead.start(names)


def await_kernels(names: Iterable[str] | None = None) -> None:
    """Wait until the kernels of the command (or these of them) are compiled, and show how far that is."""
    if _pool is not None and not _pool.ready(names):
        with _counting() as progress:
            _pool.wait(names, progress)


def leave_kernels() -> None:
    """End what is still being compiled: the command is done, or has failed."""
    global _pool
    if _pool is not None:
        _pool.stop()
        _pool = None


@contextlib.contextmanager
def _counting() -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal, otherwise a line every few seconds."""
    what = "compiling kernels, once per machine"
    if sys.stderr.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    start = said = time.monotonic()

    def say(done: int, total: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said >= LINE_EVERY:
            said = now
            note(f"footplant: {what}: {done} of {total} after {now - start:.0f} s")

    yield say


def warmup(json: Json = False) -> None:
    """Compile all kernels now, once per machine, so that later commands start at once.

    Example: footplant warmup
    """
    from footplant import kernels
    from footplant.kernels import ahead

    global _pool
    start = time.perf_counter()
    calls = kernels.entry_points()
    _pool = ahead.start(ahead.by_cost(calls))
    await_kernels()
    problems = [] if _pool is None else _pool.problems
    # what other processes have compiled is loaded, the rest compiled here
    for call in calls.values():
        call()
    folder = kernels.cache_folder()
    facts = {
        "kernels": list(calls),
        "compiled": 0 if _pool is None else len(_pool.compiled),
        "seconds": round(time.perf_counter() - start, 3),
        "cache": None if folder is None else str(folder),
        "problems": problems,
    }
    if json:
        print_json(facts)
        return
    where = "not cached: no writable folder, so every process compiles again" if folder is None else str(folder)
    print_facts("Kernels", {"ready": len(calls), "seconds": facts["seconds"], "cached in": where})
    for problem in problems:
        note(f"note: {problem}")
