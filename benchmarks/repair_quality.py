"""Damaged samples and clips as people have them, repaired: what is left, and how little else changes.

`python benchmarks/repair_quality.py --table FILE` writes the table of docs/repair.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from damage import DAMAGE, drifting
from footplant import Clip, samples
from footplant.edits.repair import repair
from footplant.io import load
from timing import print_figures

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DAMAGED: dict[str, tuple[str, Callable[[Clip], Clip]]] = {
    "walk, gliding at 0.18 m/s": ("walk", drifting),
    "walk, feet that wander by 1–2 cm": ("walk", DAMAGE["noisy feet"]),
    "walk at 30 fps, every joint shaking by 0.4°": ("walk", DAMAGE["30 fps jitter"]),
    "walk, all of it and 3 cm in the air": ("walk", DAMAGE["all at once"]),
    "run, all of it": ("run", DAMAGE["all at once"]),
    "kick, all of it": ("kick", DAMAGE["all at once"]),
}
FILES = {
    "optical capture, walk, 120 fps": "bvh/cmu/02_01.bvh",
    "optical capture, boxing, 100 fps": "bvh/other/boxing_toes.bvh",
    "inertial suit, jumps": "bvh/other/mocopi_jump.bvh",
    "from video, kick, 30 fps": "smpl_npz/video_kick_level1_filter_amass.npz",
    "from video, squat, 30 fps": "smpl_npz/video_squat_level1_filter_amass.npz",
}


def judge(clip: Clip) -> dict[str, float]:
    """One clip repaired: drift before and after and what is in the floor, mm; turn of what no foot needs, degrees."""
    report = repair(clip).report
    before, after = report.before, report.after
    assert before is not None
    assert after is not None
    assert after.deviation is not None
    return {
        "before": max((plant.drift for plant in before.plants), default=0.0),
        "drift": max((plant.drift for plant in after.plants), default=0.0),
        "penetration": after.penetration_worst or 0.0,
        "turn": after.deviation.free_mean or 0.0,
    }


def rows() -> dict[str, dict[str, float]]:
    """What became of every clip that is there."""
    found = {title: judge(damage(samples.load(name))) for title, (name, damage) in DAMAGED.items()}
    files = {title: SHARED / name for title, name in FILES.items()}
    return found | {title: judge(load(path)) for title, path in files.items() if path.exists()}


def table(found: dict[str, dict[str, float]]) -> str:
    """The rows as Markdown."""
    lines = ["| clip | drift before | after | in the floor after | other joints turn by |", "|---|---|---|---|---|"]
    lines += [
        f"| {title} | {row['before']:.0f} mm | {row['drift']:.1f} mm | {row['penetration']:.1f} mm "
        f"| {row['turn']:.2f}° |"
        for title, row in found.items()
    ]
    return "\n".join(lines) + "\n"


def figures_of(found: dict[str, dict[str, float]]) -> dict[str, float]:
    """The worst of all."""
    return {
        "repair.clips": float(len(found)),
        "repair.worst_drift_mm": max(row["drift"] for row in found.values()),
        "repair.worst_penetration_mm": max(row["penetration"] for row in found.values()),
        "repair.worst_turn_degrees": max(row["turn"] for row in found.values()),
    }


def run() -> dict[str, float]:
    """How well damaged clips are repaired."""
    return figures_of(rows())


def main() -> None:
    """Print the figures; with --table write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--table", type=Path, help="write the table as Markdown")
    arguments = parser.parse_args()
    found = rows()
    if arguments.table:
        arguments.table.write_text(table(found))
    print_figures(figures_of(found), as_json=arguments.json)


if __name__ == "__main__":
    main()
