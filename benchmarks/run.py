"""Run the benchmarks and, with --gate, compare their figures with the committed baseline.

baseline.json has, for each benchmark, its figures with what is asked of them: `at_least`, `at_most`, and `usual` for
ratios and for errors that do not depend on the machine and are far below their bound. Ratios (names with
"times_faster") are taken in one run on one machine, so they can be compared between machines; seconds cannot. The gate
closes when a figure misses its bound, when a ratio falls below its usual value by more than the tolerance or an error
rises above it by more, when a figure of the baseline was not measured, when a benchmark fails, and when the baseline
asks for nothing. A benchmark that closes it is run once more: a busy machine is no reason.

Each benchmark has a process of its own with one thread, for its peers too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

from timing import THREADS, print_figures  # noqa: E402

BASELINE = FOLDER / "baseline.json"
SUPPORT = {"run", "timing", "papers/run"}
STUDIES = {
    "ablation", "balance_walks", "batch_chaos", "batch_many", "batch_overhead", "compare_methods", "crowd_changes",
    "doors", "drags", "drive_scripts", "flights", "footstep_edits", "gait_against_capture", "golden", "graph_walks",
    "judge_agreement", "live_decoders", "live_soak", "live_wire", "loss_table", "many_pairs", "markers_accuracy",
    "puppet_constants", "puppet_measures", "puppet_published", "puppet_touches", "repair_quality", "retarget_quality",
    "robots_mujoco", "stairs_against_capture", "stances", "stand_off", "structure", "terrain_judged", "terrain_walks",
}  # fmt: skip
"""Measured when something changes what they measure, by their own commands, and written down in the docs."""
QUICK = (
    "fk",
    "import_time",
    "registration",
    "controller",
    "ik_speed",
    "drag",
    "parse_bvh",
    "parse_gltf",
    "papers/lee_shin",
    "papers/macleod",
)
"""What runs with --quick, in about a minute. (`papers/` has the experiments of the five works.)"""
TOLERANCE = 0.25
"""How far a ratio may fall below its usual value, or an error rise above it, as a share of it; a busy machine moves
ratios by about a quarter."""

Baseline = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Benchmark → figure → at_least, at_most, usual."""


def measured(name: str) -> tuple[dict[str, float], str]:
    """The figures of a benchmark, and why there are none: "" if there are."""
    environment = os.environ | dict.fromkeys(THREADS, "1")
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return {}, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    try:
        return json.loads(done.stdout), ""
    except ValueError:
        return {}, "it printed no JSON object"


def failures(name: str, figures: Mapping[str, float], baseline: Baseline) -> list[str]:
    """Which figures of a benchmark are too low, too high or missing, one sentence each."""
    bad = []
    for figure, asked in baseline.get(name, {}).items():
        if figure not in figures:
            bad.append(f"{figure}: not measured")
            continue
        value, inf = figures[figure], float("inf")
        least, most = asked.get("at_least", -inf), asked.get("at_most", inf)
        # written so that NaN fails, too
        if not value >= least:
            bad.append(f"{figure}: expected at least {least:g}, got {value:.3g}")
        elif not value <= most:
            bad.append(f"{figure}: expected at most {most:g}, got {value:.3g}")
        elif "usual" in asked:
            usual, lower_is_better = asked["usual"], "at_most" in asked
            worse = value / usual if lower_is_better else 2.0 - value / usual
            if not worse <= 1.0 + TOLERANCE:
                bad.append(f"{figure}: usually {usual:.3g}, got {value:.3g}")
    if not baseline.get(name):
        bad.append(f"{name}: the baseline asks for no figure of it")
    return bad


def run(names: Iterable[str], baseline: Baseline, gate: bool, measure=measured) -> tuple[dict[str, float], list[str]]:
    """All figures of some benchmarks, and what closes the gate."""
    figures: dict[str, float] = {}
    bad: list[str] = []
    for name in names:
        for attempt in (1, 2):
            print(f"running {name} …" if attempt == 1 else f"running {name} again …", file=sys.stderr)
            found, reason = measure(name)
            missed = [f"{name}: {reason}"] if reason else failures(name, found, baseline)
            if not (gate and missed):
                break
        figures |= found
        bad += missed
    if not any(baseline.values()):
        bad.append("the baseline is empty")
    return figures, bad


def main() -> int:
    """Print the figures; 1 when the gate is asked for and closed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--gate", action="store_true", help="fail when a figure is worse than the baseline allows")
    parser.add_argument("--quick", action="store_true", help="only those that take seconds")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these benchmarks")
    parser.add_argument("--update", action="store_true", help="write this run's ratios as the usual ones")
    arguments = parser.parse_args()
    baseline = json.loads(BASELINE.read_text())
    figures, bad = run(arguments.only or (QUICK if arguments.quick else sorted(baseline)), baseline, arguments.gate)
    print_figures(figures, as_json=arguments.json)
    if arguments.update:
        for asked in baseline.values():
            for figure, bounds in asked.items():
                if figure in figures and "times_faster" in figure:
                    bounds["usual"] = round(figures[figure], 2)
        BASELINE.write_text(json.dumps(baseline, indent=2) + "\n")
    for sentence in bad:
        print(sentence, file=sys.stderr)
    return 1 if bad and arguments.gate else 0


if __name__ == "__main__":
    sys.exit(main())
