"""Balance of real walks on six other bodies: how often the zero-moment point is outside the feet, and what it costs.

Usage: python benchmarks/balance_walks.py DATA [--clips NAME,…] [--json]

For each walk and body: the share of frames whose zero-moment point is more than 3 cm outside the feet that stand, in
the source, in the result and in the result without rows of balance (percent), and the time of a retarget with rows over
that without: of the fastest runs of both, which take turns, as a machine may be slower for a while.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import footplant
from flights import BODIES, KATE
from terrain_walks import CLIPS
from timing import print_figures

WALKS = {name: file for name, file in CLIPS.items() if name.startswith("walk")}
ALLOWED = 5.0
"""Percentage points by which a result may be worse than its source."""
TIMED = 7
"""Rounds of a run with rows and one without; of each the fastest counts. With 3, one after the other, the worst of 36
pairs was 1.29, 1.45 and 1.60 in three measurements of the same program."""


def share(quality: footplant.Quality | None) -> float:
    """Return the share of frames that are not balanced, percent."""
    assert quality is not None
    assert quality.balance is not None
    return 100.0 * quality.balance.share_outside


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--clips", default="")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    options = parser.parse_args()
    tell = partial(print, file=sys.stderr if options.json else sys.stdout, flush=True)
    worse, off, slower = [], [], []
    for name, file in WALKS.items():
        if options.clips and not any(part in name for part in options.clips.split(",")):
            continue
        clip = footplant.load(options.data / file)
        own = share(footplant.measure(clip))
        for body in BODIES:
            target = footplant.load_character(options.data / KATE if body == "Kate" else body)
            found, seconds = [0.0, 0.0], [np.inf, np.inf]
            for _ in range(TIMED):
                for n, balance in enumerate((True, False)):
                    start = time.process_time()
                    result = footplant.retarget(clip, target, balance=balance)
                    seconds[n] = min(seconds[n], time.process_time() - start)
                    found[n] = share(result.report.after)
            worse.append(found[0] - own)
            off.append(found[1] - own)
            slower.append(seconds[0] / seconds[1])
            missed = "" if worse[-1] <= ALLOWED else "  worse"
            tell(
                f"{name:14} {body:18} source {own:5.1f} %  result {found[0]:5.1f} %  no rows {found[1]:5.1f} %  "
                f"time {slower[-1]:.2f}{missed}"
            )
    figures = {
        "pairs": float(len(worse)),
        "within the source + 5 points": float(np.sum(np.array(worse) <= ALLOWED)),
        "without rows": float(np.sum(np.array(off) <= ALLOWED)),
        "points above the source, worst": float(np.max(worse)),
        "time with rows over without, median": float(np.median(slower)),
        "time with rows over without, worst": float(np.max(slower)),
    }
    print_figures(figures, as_json=options.json)


if __name__ == "__main__":
    main()
