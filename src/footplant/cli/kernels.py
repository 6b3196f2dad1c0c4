"""`footplant warmup`: compile all kernels now rather than on first use."""

from __future__ import annotations

import time

from footplant.cli.arguments import Json
from footplant.cli.output import announce_compiling, print_facts, print_json, progress


def warmup(json: Json = False) -> None:
    """Compile all kernels now, once per machine, so that later commands start at once.

    Example: footplant warmup
    """
    announce_compiling(always=True)
    from footplant import kernels

    start = time.perf_counter()
    calls = kernels.entry_points()
    with progress("compiling", len(calls)) as advance:
        for name, call in calls.items():
            advance(name)
            call()
    folder = kernels.cache_folder()
    facts = {
        "kernels": list(calls),
        "seconds": round(time.perf_counter() - start, 3),
        "cache": None if folder is None else str(folder),
    }
    if json:
        print_json(facts)
        return
    where = "not cached: no writable folder, so every process compiles again" if folder is None else str(folder)
    print_facts("Kernels", {"ready": len(calls), "seconds": facts["seconds"], "cached in": where})
