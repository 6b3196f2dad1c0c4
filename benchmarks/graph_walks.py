"""Walks through motion graphs: are targets reached and curves followed, with feet that stand still?

    python benchmarks/graph_walks.py DATA [--sets NAME ...] [--targets 6] [--judge FOLDER --python PYTHON] [--json FILE]

DATA: a folder of captures. Each set of clips walks to random targets, 2 to 8 m away in all directions (beginning along
+z, and with the best heading), and along circles of 3 m radius, an S and a polyline. Told are distances of the hips'
path from the target and from the nearest point of the curve, contacts that `footplant measure` finds in the result and
that drift by more than 1 mm, peak foot accelerations in multiples of the clips' own, and, with --judge, the still
stances that a judge finds which shares no code with Footplant.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

import footplant
from drive_scripts import foot_acceleration, judged
from footplant.blending.common_character import on_one_character
from footplant.blending.graph import build_graph
from footplant.blending.graph_walk import walk_graph, without_sway
from footplant.curves import Curve, circle, s_curve, through
from footplant.errors import FootplantError
from footplant.kinematics import Kinematics
from footplant.quality.measure import measure
from footplant.transfer import hip_centers

SETS = {
    "samples": ("sample:walk", "sample:turn-left", "sample:turn-right"),
    "sample walk": ("sample:walk",),
    "one walk": ("bvh/cmu/02_01.bvh",),
    "one walk of another": ("bvh/other/toolbox_walk01.bvh",),
    "two walks": ("bvh/cmu/02_01.bvh", "bvh/cmu/35_01.bvh"),
    "walks": ("bvh/cmu/35_01.bvh", "bvh/cmu/104_02.bvh", "bvh/other/imusim_16_15.bvh"),
    "styles": (
        "bvh/bandai_nc/dataset-1_walk-left_chimpira_001.bvh", "bvh/bandai_nc/dataset-1_dash_feminine_001.bvh",
        "bvh/bandai_nc/dataset-1_run_giant_001.bvh",
    ),
    "of two people": ("bvh/other/pymo_AV_8Walk_Meredith.bvh", "bvh/other/toolbox_walk01.bvh"),
    "eight": (
        "bvh/cmu/02_01.bvh", "bvh/cmu/35_01.bvh", "bvh/cmu/104_02.bvh", "bvh/cmu/09_01.bvh",
        "bvh/other/pymo_AV_8Walk_Meredith.bvh", "bvh/other/imusim_16_15.bvh", "bvh/cmu/74_03.bvh",
        "bvh/other/daz_cmu_10_03.bvh",
    ),
}  # fmt: skip
CURVES = {
    "circle:3": circle(3.0),
    "circle:-3": circle(-3.0),
    "s:8,2": s_curve(8.0, 2.0),
    "polyline": through([(0.0, 0.0), (0.0, 3.0), (2.0, 5.0), (5.0, 5.0), (7.0, 3.0)]),
}


def targets(count: int, seed: int = 0) -> list[tuple[float, float]]:
    """Return places (x, z), metres, 2 to 8 m away in all directions."""
    rng = np.random.default_rng(seed)
    angles = (np.arange(count) + rng.uniform(size=count)) * 2.0 * np.pi / count
    return [tuple(rng.uniform(2.0, 8.0) * np.array([np.sin(angle), np.cos(angle)])) for angle in angles]


def distance_from(curve: Curve, places: np.ndarray) -> tuple[float, float]:
    """Return the RMS distance of places (F, 2) from the nearest point of a curve, and from its end at last, metres."""
    own = curve.at(np.arange(0.0, curve.length, 0.02))[0]
    nearest = np.linalg.norm(places[:, None] - own[None], axis=2).min(axis=1)
    return float(np.sqrt(np.mean(nearest**2))), float(np.linalg.norm(places[-1] - curve.at([curve.length])[0][0]))


def measured(result: footplant.Result, own_peak: float, options: argparse.Namespace) -> dict:
    """Return figures of the feet of a walk."""
    motion, character = result.motion, result.character
    drifts = np.array([plant.drift for plant in measure(motion, character).plants])
    figures = {
        "seconds": motion.duration,
        "contacts": len(drifts),
        "over_1mm": int((drifts > 1.0).sum()),
        "worst_mm": float(drifts.max(initial=0.0)),
        "acceleration": float(foot_acceleration(motion, character).max(initial=0.0)) / own_peak,
    }
    if options.judge:
        figures["judge"] = judged(motion, character, None, options.judge, options.python)
    return figures


def main() -> None:
    """Print the figures of all sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--targets", type=int, default=6)
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {}
    for name in options.sets:
        clips = [
            footplant.load(file, fps=30) if file.startswith("sample:") else footplant.load(options.data / file)
            for file in SETS[name]
        ]
        graph = build_graph(clips)
        alike = on_one_character(clips)
        own_peak = max(
            float(foot_acceleration(clip.motion.resample(clips[0].motion.fps), clip.character).max()) for clip in alike
        )
        rows = []
        tasks = [(f"to {x:.1f},{z:.1f}", {"target": (x, z), "heading": 0.0}) for x, z in targets(options.targets)]
        tasks += [(f"free {x:.1f},{z:.1f}", {"target": (x, z)}) for x, z in targets(1)]
        tasks += [(label, {"path": curve}) for label, curve in CURVES.items()]
        for label, task in tasks:
            began = time.process_time()
            try:
                result = walk_graph(clips, graph=graph, **task)
            except FootplantError as error:
                rows.append({"task": label, "error": str(error)})
                print(f"{name:20} {label:12} {error}", flush=True)
                continue
            took = time.process_time() - began
            floor = without_sway(hip_centers(Kinematics(result.motion), result.character)[:, ::2], result.motion.fps)
            if "target" in task:
                off = {"miss_cm": 100.0 * float(np.linalg.norm(floor[-1] - task["target"]))}
            else:
                rms, end = distance_from(task["path"], floor)
                off = {"rms_cm": 100.0 * rms, "end_cm": 100.0 * end}
            row = {"task": label, **off, **measured(result, own_peak, options), "cpu": took}
            rows.append({**row, "note": result.report.notes[-1]})
            shown = " ".join(
                f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}"
                for key, value in row.items()
                if key != "task"
            )
            print(f"{name:20} {label:12} {shown}", flush=True)
        found[name] = {"edges": len(graph.edges), "lasting": len(graph.component()), "walks": rows}
        done = [row for row in rows if "error" not in row]
        reached = [row["miss_cm"] for row in done if "miss_cm" in row]
        print(
            f"{name}: {len(graph.edges)} edges; {sum(miss <= 25.0 for miss in reached)} of {len(reached)} targets "
            f"reached; RMS {[round(row['rms_cm']) for row in done if 'rms_cm' in row]} cm; "
            f"{sum(row['over_1mm'] for row in done)} of {sum(row['contacts'] for row in done)} contacts > 1 mm; "
            f"acceleration {max((row['acceleration'] for row in done), default=0.0):.2f}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
