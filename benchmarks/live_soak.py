"""Puppetry under bad networks, over real sockets: latency, memory, speeds, and nothing that is not finite.

`--seconds 600` is the soak of ten minutes; the default is short. A load in a process of its own drives the actors; the
time is shared among losses of 0, 1, 5 and 20 %, reordering, duplicates, stalls of 500 ms, gaps and a clock that jumps.
"""

from __future__ import annotations

import argparse

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


def run(seconds: float = 40.0, actors: int = ACTORS) -> dict[str, float]:
    """Latency (datagram in to datagram out), memory and speeds of every scene."""
    target = load_character("sally")
    each = max(seconds / len(SCENES), 5.0)
    figures: dict[str, float] = {}
    for name, options in SCENES.items():
        found = measure(target, actors=actors, seconds=each, load=options)
        kept = ("p50_ms", "p99_ms", "within_p50_ms", "within_p99_ms", "speed_ratio", "memory_growth_mb", "not_finite")
        figures |= {f"live.{name}.{key}": found[key] for key in kept}
        figures[f"live.{name}.heard_share"] = found["heard"] / max(found["sent"], 1)
    return figures


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long in all; 600 for the whole soak")
    parser.add_argument("--actors", type=int, default=ACTORS)
    arguments = parser.parse_args()
    print_figures(run(arguments.seconds, arguments.actors), as_json=arguments.json)


if __name__ == "__main__":
    main()
