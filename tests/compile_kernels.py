"""Compile every kernel before the tests, on several cores; takes a few seconds when the cache is warm.

    python tests/compile_kernels.py 2

Two workers of pytest that need the same kernel at the same time both compile it. Here every kernel module is compiled
by one process: those that others import come first. Compilers keep what they have made in memory, so a process ends
after a few modules. (The processes are started one by one, because the pool of the standard library can wait forever
for a process that it has ended itself: `max_tasks_per_child`, CPython's issue 115634.)
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from footplant import kernels

MODULES_PER_PROCESS = 6
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


def main(processes: int) -> None:
    """Compile all modules, those with the fewest kernels below them first."""
    modules = {label.rpartition(".")[0] for label in kernels.entry_points()}
    order = sorted(modules, key=lambda name: (len(kernels._imported(f"footplant.{name}")), name))
    groups = [order[first : first + MODULES_PER_PROCESS] for first in range(0, len(order), MODULES_PER_PROCESS)]
    with ThreadPoolExecutor(processes) as pool:
        for problem in pool.map(compile_in_a_process, groups):
            if problem:
                print(f"not all kernels are compiled: {problem}", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1].isdecimal():
        main(int(sys.argv[1]))
    else:
        compile_modules(sys.argv[1:])
