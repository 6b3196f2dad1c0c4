"""Puppetry under bad networks, over real sockets: latency, memory, speeds, and nothing that is not finite.

`--seconds 600` is the soak of ten minutes; the default is short. A load in a process of its own drives the actors; the
time is shared among losses of 0, 1, 5 and 20 %, reordering, duplicates, stalls of 500 ms, gaps and a clock that jumps.
Beside other programs, `--alone` (Linux, as root) gives the stage one core and the load another, and both go first.
sender_late_p99_ms says how late the load itself was.
"""

from __future__ import annotations

import argparse
import os

from footplant.live.bench import measure
from footplant.samples import load_character
from timing import print_figures

SCENES: dict[str, tuple[str, ...]] = {
    "quiet": (),
    "loss_1": ("--loss", "0.01"),
    "loss_5": ("--loss", "0.05"),
    "loss_20": ("--loss", "0.2"),
    "reordered": ("--reorder", "0.05", "--jitter", "0.002"),
    "duplicates": ("--duplicate", "0.3"),
    "stall": ("--stall", "3", "0.5"),
    "clock_jump": ("--jump", "3"),
}
"""Name → options of `footplant.live.load`."""
ACTORS = 8


KEPT = (
    "p50_ms", "p99_ms", "within_p50_ms", "within_p99_ms", "speed_ratio", "memory_growth_mb", "not_finite", "measured",
    "unanswered", "unanswered_in_time", "sender_late_p99_ms", "cpu_share",
)  # fmt: skip
"""Figures of `footplant.live.bench.measure`."""


def run(
    seconds: float = 40.0, actors: int = ACTORS, scenes: list[str] | None = None, alone: bool = False
) -> dict[str, float]:
    """Latency (datagram in to datagram out), memory, speeds and answers of every scene."""
    target = load_character("sally")
    scenes = scenes or list(SCENES)
    each = max(seconds / len(scenes), 5.0)
    figures: dict[str, float] = {}
    cores: tuple[str, ...] = ()
    if alone:
        first, second, *_ = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {second})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        cores = ("--core", str(first))
    for name in scenes:
        found = measure(target, actors=actors, seconds=each, load=(*SCENES[name], *cores))
        figures |= {f"live.{name}.{key}": found[key] for key in KEPT}
    return figures


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long in all; 600 for the whole soak")
    parser.add_argument("--actors", type=int, default=ACTORS)
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), metavar="NAME", help="some of them only")
    parser.add_argument("--alone", action="store_true", help="a core each for stage and load, before other programs")
    arguments = parser.parse_args()
    figures = run(arguments.seconds, arguments.actors, arguments.scenes, arguments.alone)
    print_figures(figures, as_json=arguments.json)


if __name__ == "__main__":
    main()
