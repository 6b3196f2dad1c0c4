"""Compile every kernel before the tests, on several cores; takes a few seconds when the cache is warm.

    python tests/compile_kernels.py 2

Two workers of pytest that need the same kernel at the same time both compile it. Here every kernel module is compiled
by one process: those that others import come first, then the largest of the others, each by a process of its own, so
that no core is left with one of them at the end. Compilers keep what they have made in memory, so a process ends after
a few modules. (The processes are started one by one, because the pool of the standard library can wait forever
for a process that it has ended itself: `max_tasks_per_child`, CPython's issue 115634.)
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from footplant import kernels

MODULES_PER_PROCESS = 6
LARGEST = 4
"""Modules that get a process of their own. Starting one costs two or three seconds."""
SECONDS_PER_PROCESS = 900  # what has been compiled by then stays; the tests compile the rest when they need it


def compile_modules(names: list[str]) -> None:
    """Call the entry points of these kernel modules."""
    for label, call in kernels.entry_points().items():
        if label.rpartition(".")[0] in names:
            call()


def compile_in_a_process(names: list[str]) -> str:
    """Compile these modules in a process of their own; what went wrong, or nothing."""
    try:
        ended = subprocess.run([sys.executable, __file__, *names], timeout=SECONDS_PER_PROCESS, check=False)
    except subprocess.TimeoutExpired as problem:
        return str(problem)
    return f"exit {ended.returncode} of {', '.join(names)}" if ended.returncode else ""


def groups() -> list[list[str]]:
    """Return the modules that each process compiles, in the order of their start."""
    modules = {label.rpartition(".")[0] for label in kernels.entry_points()}
    below = {name: kernels._imported(f"footplant.{name}") for name in modules}
    shared = {name for name in modules if any(f"footplant.{name}" in below[other] for other in modules - {name})}
    sizes = {name: sum(len(kernels._source(module)) for module in below[name]) for name in modules}
    alone = sorted(modules - shared, key=lambda name: (-sizes[name], name))
    first, last = sorted(shared, key=lambda name: (len(below[name]), name)), alone[LARGEST:]
    return [*_cut(first), *([name] for name in alone[:LARGEST]), *_cut(last)]


def _cut(names: list[str]) -> list[list[str]]:
    return [names[first : first + MODULES_PER_PROCESS] for first in range(0, len(names), MODULES_PER_PROCESS)]


def main(processes: int) -> None:
    """Compile all modules."""
    with ThreadPoolExecutor(processes) as pool:
        for problem in pool.map(compile_in_a_process, groups()):
            if problem:
                print(f"not all kernels are compiled: {problem}", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1].isdecimal():
        main(int(sys.argv[1]))
    else:
        compile_modules(sys.argv[1:])
