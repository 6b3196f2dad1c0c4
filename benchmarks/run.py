"""Run every benchmark and, with --gate, compare the ratios with the committed baseline.

Ratios (names with "times_faster") are taken in one run on one machine, so they can be compared between machines;
seconds cannot and are printed only. --gate fails when a ratio falls below its bar, or below the baseline by more than
the tolerance.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
BASELINE = FOLDER / "baseline.json"
NOT_BENCHMARKS = {"run", "timing", "golden"}
TOLERANCE = 0.35
"""How far a ratio may fall below the baseline, as a share of it: a busy machine moves ratios by about a quarter."""


def run_all() -> dict[str, float]:
    """The figures of all benchmarks of this folder."""
    sys.path.insert(0, str(FOLDER))
    figures: dict[str, float] = {}
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem not in NOT_BENCHMARKS:
            print(f"running {path.stem} …", file=sys.stderr)
            figures |= importlib.import_module(path.stem).run()
    return figures


def failures(figures: dict[str, float], baseline: dict) -> list[str]:
    """What is too slow, one sentence each."""
    bad = []
    for name, bar in baseline["bars"].items():
        if name in figures and figures[name] < bar:
            bad.append(f"{name}: expected at least {bar:g}, got {figures[name]:.3g}")
    for name, bar in baseline["ceilings"].items():
        if name in figures and figures[name] > bar:
            bad.append(f"{name}: expected at most {bar:g}, got {figures[name]:.3g}")
    for name, usual in baseline["ratios"].items():
        if name in figures and figures[name] < (1.0 - TOLERANCE) * usual:
            bad.append(f"{name}: usually {usual:.3g}, got {figures[name]:.3g}")
    return bad


def main() -> int:
    """Print the figures; 1 when the gate is asked for and closed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--gate", action="store_true", help="fail when slower than the baseline allows")
    parser.add_argument("--update", action="store_true", help="write this run's ratios as the new baseline")
    arguments = parser.parse_args()
    figures = run_all()
    from timing import print_figures

    print_figures(figures, as_json=arguments.json)
    baseline = json.loads(BASELINE.read_text())
    if arguments.update:
        baseline["ratios"] = {name: round(value, 2) for name, value in figures.items() if "times_faster" in name}
        BASELINE.write_text(json.dumps(baseline, indent=2) + "\n")
    if not arguments.gate:
        return 0
    bad = failures(figures, baseline)
    for sentence in bad:
        print(f"too slow: {sentence}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
