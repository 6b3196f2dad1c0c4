"""Every human clip retargeted to every character: do plants hold, is it smooth, is anything below the ground?

`python benchmarks/retarget_quality.py --all --workers 2 --table docs/retarget_table.md` takes every human clip and ten
or more characters of ../shared/data and writes the table of the documentation; without --all a few of them are taken.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from itertools import repeat
from pathlib import Path

import numpy as np

from footplant.problem import Status
from footplant.quality.measure import PlantQuality
from timing import print_figures

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SAMPLE_CLIPS = ("walk", "run", "sneak", "limp", "turn-left", "jump", "kick", "reach", "clap", "climb")
SAMPLE_CHARACTERS = ("mannequin", "short", "sally", "blubby", "longlegs", "child")
SKINNED = (
    "gltf/CesiumMan.glb", "gltf/KayKit_Knight.glb", "gltf/godot_mannequiny.glb", "gltf/RiggedFigure.glb",
    "gltf/RobotExpressive.glb", "vrm/100avatars_038_Kate.vrm", "vrm/100avatars_045_DinoKid.vrm",
    "vrm/Godette_vrm0.vrm", "vrm/basic_armature_vrm1.vrm", "vrm/multi_root_armature_vrm1.vrm",
    "fbx/100avatars_001_Crimsom.fbx", "fbx/ufbx_maya_kenney_character_7700_binary.fbx",
    "fbx/ufbx_maya_human_ik_7400_binary.fbx", "fbx/ozz_pab_walk.fbx", "usd/soma_human_skinned.usd",
)  # fmt: skip
MOTIONS = (
    "bvh/*/*.bvh", "asf_amc/*.amc", "fbx/*.fbx", "gltf/*.glb", "vrma/*.vrma", "smpl_npz/*.npz",
    "deepmimic/humanoid3d_*.txt", "usd/*.usd*",
)  # fmt: skip
FEW = ("bvh/cmu/02_01.bvh", "bvh/cmu/09_01.bvh", "bvh/cmu/05_02.bvh", "bvh/other/rokoko_jesse_dance.bvh")


def clips(everything: bool, chosen: Sequence[str] = ()) -> list[str]:
    """Names of the clips: samples, and files where they are; with `chosen` those whose names hold one of its words."""
    found = [f"sample:{name}" for name in SAMPLE_CLIPS]
    if SHARED.is_dir():
        paths = [path for pattern in MOTIONS for path in sorted(SHARED.glob(pattern))]
        found += [str(path) for path in (paths if everything else [SHARED / name for name in FEW])]
    return [name for name in found if not chosen or any(word in name for word in chosen)]


def characters(everything: bool, chosen: Sequence[str] = ()) -> list[str]:
    """Names of the characters; with `chosen` those whose names hold one of its words."""
    found = [f"sample:{name}" for name in SAMPLE_CHARACTERS]
    if SHARED.is_dir():
        found += [str(SHARED / name) for name in (SKINNED if everything else SKINNED[:2])]
    return [name for name in found if not chosen or any(word in name for word in chosen)]


def judge(clip_name: str, character_names: list[str]) -> list[dict]:
    """One clip on every character: a row of figures each, or why it is no human motion."""
    from footplant.contacts.detection import find_contacts
    from footplant.edits.retarget import retarget
    from footplant.errors import FootplantError
    from footplant.io import load, load_character

    try:
        clip = load(clip_name)
        if clip.character.roles is None or len(clip.motion) < 10:
            return [{"clip": clip_name, "skipped": "no human motion"}]
        contacts = find_contacts(clip, hands=True)
    except FootplantError as error:
        return [{"clip": clip_name, "skipped": str(error)}]
    rows = []
    for name in character_names:
        row: dict = {"clip": Path(clip_name).name, "character": Path(name).name, "frames": len(clip.motion)}
        started = time.perf_counter()
        try:
            solution = retarget(clip, load_character(name), contacts=contacts)
        except FootplantError as error:
            rows.append(row | {"error": f"{type(error).__name__}: {error}"})
            continue
        except Exception as error:
            rows.append(row | {"error": f"BUG {type(error).__name__}: {error}"})
            continue
        quality, copied = solution.report.after, solution.report.before
        assert quality is not None
        assert copied is not None
        plants = [entry for entry in solution.report.constraints if entry.kind == "footplant"]
        unmet = {entry.name for entry in plants if not entry.met}
        slipping = [plant for plant in quality.plants if plant.drift > 2.0]
        far = solution.status is Status.UNREACHABLE
        out_of_reach = sum(far and _title(plant) in unmet for plant in slipping)
        splines = [level for level in solution.report.levels if level.name.endswith("a knot")]
        row |= {
            "seconds": time.perf_counter() - started,
            "status": solution.status.name,
            "finite": bool(np.isfinite(solution.motion.root).all() and np.isfinite(solution.motion.rotations).all()),
            "plants": len(quality.plants),
            "drift": max((plant.drift for plant in quality.plants), default=0.0),
            "drift_copied": max((plant.drift for plant in copied.plants), default=0.0),
            "over_2mm": len(slipping) - out_of_reach,
            "out_of_reach": out_of_reach,
            "unmet_plants": len(unmet),
            "smooth_share": splines[-1].worst_share if splines else 0.0,
            "penetration": quality.penetration_worst or 0.0,
            "acceleration": quality.peak_acceleration_ratio,
            "acceleration_copied": copied.peak_acceleration_ratio,
            "jerk": quality.jerk_ratio,
        }
        rows.append(row)
    return rows


def _title(plant: PlantQuality) -> str:
    """What the constraint of a plant is called."""
    return f"{plant.point.replace('_', ' ')} {plant.start}–{plant.end - 1}"


def sweep(
    everything: bool,
    workers: int,
    chosen: Sequence[str] = (),
    chosen_figures: Sequence[str] = (),
    kept: Path | None = None,
) -> list[dict]:
    """All rows. kept: a file of JSON lines that they are added to as they come; clips in it are not done again."""
    names, figures = clips(everything, chosen), characters(everything, chosen_figures)
    rows = [] if kept is None or not kept.exists() else [json.loads(line) for line in kept.read_text().splitlines()]
    done = {row["clip"] for row in rows}
    names = [name for name in names if name not in done and Path(name).name not in done]
    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        every = map(judge, names, repeat(figures)) if pool is None else pool.map(judge, names, repeat(figures))
        for number, (name, found) in enumerate(zip(names, every)):
            print(f"\r{number + 1}/{len(names)} {Path(name).name:40s}", end="", file=sys.stderr)
            rows += found
            if kept is not None:
                with kept.open("a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in found)
    print(file=sys.stderr)
    return rows


def figures_of(rows: Iterable[dict]) -> dict[str, float]:
    """What the sweep amounts to."""
    solved = [row for row in rows if "drift" in row]
    jerks = [row["jerk"] for row in solved if row["jerk"] is not None]
    peaks = [row["acceleration"] for row in solved if row["acceleration"] is not None]
    drifts = np.array([row["drift"] for row in solved])
    over, plants = sum(row["over_2mm"] for row in solved), sum(row["plants"] for row in solved)
    return {
        "retarget.pairs": float(len(solved)),
        "retarget.failed": float(sum("error" in row for row in rows)),
        "retarget.share_of_pairs_under_2mm": float(np.mean([row["over_2mm"] == 0 for row in solved])),
        "retarget.share_of_plants_under_2mm": 1.0 - over / max(1, plants),
        "retarget.median_worst_drift_mm": float(np.median(drifts)),
        "retarget.median_worst_drift_copied_mm": float(np.median([row["drift_copied"] for row in solved])),
        "retarget.share_under_5mm_penetration": float(np.mean([row["penetration"] <= 5.0 for row in solved])),
        "retarget.plants_out_of_reach": float(sum(row["out_of_reach"] for row in solved)),
        "retarget.share_under_1_percent_smooth": float(np.mean([row["smooth_share"] <= 1.0 for row in solved])),
        "retarget.share_under_1_5_acceleration": float(np.mean(np.array(peaks) <= 1.5)),
        "retarget.share_under_1_5_or_no_more_than_copied": float(np.mean([_calm(row) for row in solved])),
        "retarget.median_acceleration_ratio": float(np.median(peaks)),
        "retarget.median_jerk_ratio": float(np.median(jerks)),
        "retarget.median_seconds_per_1000_frames": float(np.median([1e3 * r["seconds"] / r["frames"] for r in solved])),
    }


def _calm(row: dict) -> bool:
    """Whether the acceleration is within the mark, or no more than 1.1 of that of the copied rotations."""
    now, copied = row["acceleration"] or 0.0, row["acceleration_copied"] or 0.0
    return now <= max(1.5, 1.1 * copied)


def table(rows: Iterable[dict], by: str = "clip") -> str:
    """The worst over the characters, clip by clip (or over the clips, character by character), as Markdown."""
    lines = [
        f"| {by} | pairs | plants | worst drift, mm (copied) | over 2 mm | out of reach | without the exact pass, % "
        "| penetration, mm | acceleration (copied) | jerk |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[str, list[dict]] = {}
    for row in rows:
        if "drift" in row:
            groups.setdefault(row[by], []).append(row)
    for name, own in groups.items():
        copied = max(row["drift_copied"] for row in own)
        peaks = [(row["acceleration"], row["acceleration_copied"]) for row in own if row["acceleration"] is not None]
        peak = max(peaks, default=(0.0, 0.0))
        jerks = [row["jerk"] for row in own if row["jerk"] is not None]
        lines.append(
            f"| {name} | {len(own)} | {sum(row['plants'] for row in own)} "
            f"| {max(row['drift'] for row in own):.1f} ({copied:.0f}) "
            f"| {sum(row['over_2mm'] for row in own)} | {sum(row['out_of_reach'] for row in own)} "
            f"| {max(row['smooth_share'] for row in own):.1f} | {max(row['penetration'] for row in own):.1f} "
            f"| {peak[0]:.2f} ({peak[1] or 0.0:.2f}) | {np.median(jerks) if jerks else 0:.2f} |"
        )
    return "\n".join(lines) + "\n"


def run() -> dict[str, float]:
    """The figures of a few clips and characters."""
    return figures_of(sweep(False, 1))


def main() -> None:
    """Print the figures; with --table write the table, with --rows every row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--all", action="store_true", help="every human clip and all characters")
    parser.add_argument("--clips", nargs="*", default=(), help="only clips whose names hold one of these words")
    parser.add_argument("--characters", nargs="*", default=(), help="only characters whose names do")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--by", choices=("clip", "character"), default="clip", help="what a line of the table is")
    parser.add_argument("--table", type=Path, help="write the table as Markdown")
    parser.add_argument("--rows", type=Path, help="add every row to this file as JSON lines; go on with it if there")
    arguments = parser.parse_args()
    rows = sweep(arguments.all, arguments.workers, arguments.clips, arguments.characters, arguments.rows)
    if arguments.table:
        arguments.table.write_text(table(rows, arguments.by))
    print_figures(figures_of(rows), as_json=arguments.json)


if __name__ == "__main__":
    main()
