"""How benchmarks measure: CPU time, the smallest of several runs, so that a busy machine disturbs little."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
"""What says how many threads BLAS (NumPy's, SciPy's) and compiled loops have; it is read when they are imported."""


def cpu_seconds(work: Callable[[], object], repeats: int = 7, shortest: float = 0.2) -> float:
    """The smallest CPU time of one call, seconds; calls go on for at least `shortest` seconds in all."""
    best, spent, done = float("inf"), 0.0, 0
    while done < repeats or spent < shortest:
        start = time.process_time()
        work()
        took = time.process_time() - start
        best, spent, done = min(best, took), spent + took, done + 1
    return best


def times_faster(prefix: str, peers: dict[str, Callable[[str], object]], path: str, ours: float) -> dict[str, float]:
    """How many times longer each peer takes on a file than we do; peers that are not installed are left out."""
    ratios = {}
    for name, read in peers.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = cpu_seconds(lambda read=read: read(path), repeats=2)
        except ImportError:
            continue
        ratios[f"{prefix}.times_faster_than_{name}"] = theirs / ours
    return ratios


def main(run: Callable[[], dict[str, float]]) -> None:
    """The command line of one benchmark: a table, or with --json one object of named figures.

    Peers and we have one thread each: where the environment does not say so, the program is started again.
    """
    parser = argparse.ArgumentParser(description=(run.__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    arguments = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):
        sys.exit(subprocess.call([sys.executable, *sys.argv], env=os.environ | dict.fromkeys(THREADS, "1")))
    print_figures(run(), as_json=arguments.json)


def print_figures(figures: dict[str, float], *, as_json: bool) -> None:
    """One JSON object, or one figure a line."""
    if as_json:
        print(json.dumps(figures, indent=2))
        return
    width = max(map(len, figures), default=0)
    for name, value in figures.items():
        print(f"{name:<{width}}  {value:.5g}")
