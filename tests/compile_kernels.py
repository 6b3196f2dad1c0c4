"""Compile every kernel before the tests, on several cores; takes a second or two when the cache is warm.

Two workers of pytest that need the same kernel at the same time both compile it. Here every kernel module is compiled
by one process: those that others import come first, and the rest are dealt out one at a time. Compilers keep what they
have made in memory, so a process ends after a few modules.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from footplant import kernels


def compile_module(labels: list[str]) -> None:
    """Call the entry points of one kernel module."""
    calls = kernels.entry_points()
    for label in labels:
        calls[label]()


def main(processes: int) -> None:
    """Compile all modules, those with the fewest kernels below them first."""
    modules: dict[str, list[str]] = {}
    for label in kernels.entry_points():
        modules.setdefault(label.rpartition(".")[0], []).append(label)
    order = sorted(modules, key=lambda name: len(kernels._imported(f"footplant.{name}")))
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), max_tasks_per_child=8) as pool:
        try:
            for _ in pool.map(compile_module, [modules[name] for name in order]):
                pass
        except BrokenProcessPool as problem:
            # what has been compiled stays; the tests compile the rest when they need it
            print(f"not all kernels are compiled: {problem}", file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]))
