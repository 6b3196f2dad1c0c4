"""The worker process: one task per line on standard input, one outcome per line on standard output.

JSON both ways, so that nothing is ever unpickled. The process ends when its input does, hence also when its parent is
killed.
"""

from __future__ import annotations

import json
import os
import sys


def limit_memory(megabytes: float | None) -> None:
    """Limit the process to this much memory beyond its present use; does nothing if the system has no such limit."""
    if megabytes is None:
        return
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[0])
        wanted = pages * resource.getpagesize() + int(megabytes * (1 << 20))
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most < 0 else min(wanted, most), most))
    except (ImportError, OSError, ValueError):
        return


def main() -> None:
    """Perform tasks until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # anything that a library prints must not be mixed with the outcomes
    os.dup2(2, 1)
    from footplant.batch.jobs import Task, perform

    print(json.dumps({"ready": os.getpid()}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        limit_memory(request.pop("memory", None))
        outcome = perform(Task(**request))
        print(json.dumps(outcome, allow_nan=False), file=answers, flush=True)


if __name__ == "__main__":
    main()
