"""Split frames among threads; compiled kernels release the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable


def in_parts(threads: int, rows: int, at_once: int, work: Callable[[slice], object]) -> None:
    """Call work(rows) for slices that cover all rows, each at most `at_once` long, on the given number of threads.

    Work on one slice must not read what work on another slice writes; then the result does not depend on the threads.
    """
    if threads < 1:
        raise ValueError(f"expected 1 thread or more, got {threads}")
    size = max(min(at_once, -(-rows // threads)), 1)
    parts = [slice(first, min(first + size, rows)) for first in range(0, rows, size)]
    if threads == 1 or len(parts) < 2:
        for part in parts:
            work(part)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, parts))
