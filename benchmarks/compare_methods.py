"""Every method on the same questions: human clips retargeted to three odd figures, plants, smoothness and time.

`python benchmarks/compare_methods.py --all --rows rows.jsonl --table docs/methods_table.md` takes every human clip of
../shared/data (cut to --longest frames) and writes the table of the documentation; without --all a few samples are
taken. Rows are written as they come; a run that was stopped goes on from them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from retarget_quality import clips
from timing import print_figures

CHARACTERS = ("sally", "blubby", "short")
FEW = ("sample:walk", "sample:run", "sample:turn-left", "sample:kick")
HOLDS = 1.0
"""Millimetres up to which a plant's drift counts as none."""
LONGEST = 400
"""Frames to which clips are cut."""


def judge(clip_name: str, methods: tuple[str, ...], longest: int) -> list[dict]:
    """One clip on every character by every method: a row each, or why it is no human motion."""
    from footplant.contacts.detection import find_contacts
    from footplant.edits.compare import compare
    from footplant.errors import FootplantError
    from footplant.io import load
    from footplant.samples import load_character

    try:
        clip = load(clip_name)
        if clip.character.roles is None or len(clip.motion) < 10:
            return [{"clip": Path(clip_name).name, "skipped": "no human motion"}]
        clip = replace(clip, motion=clip.motion[:longest])
        contacts = find_contacts(clip, hands=True)
        if not any(not plant.point.endswith("_palm") for plant in contacts.plants):
            return [{"clip": Path(clip_name).name, "skipped": "no foot stands"}]
    except FootplantError as error:
        return [{"clip": Path(clip_name).name, "skipped": str(error)}]
    rows = []
    for name in CHARACTERS:
        base = {"clip": Path(clip_name).name, "character": name, "frames": len(clip.motion)}
        try:
            found = compare(clip, load_character(name), methods, contacts=contacts, repeats=1)
        except FootplantError as error:
            rows += [base | {"method": method, "failed": str(error)} for method in methods]
            continue
        rows += [base | asdict(row) for row in found.rows]
    return rows


def sweep(names: Iterable[str], methods: tuple[str, ...], longest: int, rows_file: Path | None) -> list[dict]:
    """All rows; those that a file has already are not made again."""
    rows: list[dict] = []
    if rows_file is not None and rows_file.exists():
        rows = [json.loads(line) for line in rows_file.read_text().splitlines()]
    done = {row["clip"] for row in rows}
    names = list(names)
    for number, name in enumerate(names):
        if Path(name).name in done:
            continue
        print(f"\r{number + 1}/{len(names)} {Path(name).name:40s}", end="", file=sys.stderr)
        new = judge(name, methods, longest)
        rows += new
        if rows_file is not None:
            with rows_file.open("a") as out:
                out.write("".join(json.dumps(row) + "\n" for row in new))
    print(file=sys.stderr)
    return rows


def by_pair(rows: Iterable[dict]) -> list[dict[str, dict]]:
    """Rows of one clip on one character together, by method; only pairs that some method holds within `HOLDS`."""
    pairs: dict[tuple[str, str], dict[str, dict]] = {}
    for row in rows:
        if "method" in row:
            pairs.setdefault((row["clip"], row["character"]), {})[row["method"]] = row
    return list(pairs.values())


def holds(row: dict) -> bool:
    """Whether every plant of a row holds."""
    return row.get("failed") is None and (row["worst_drift"] is None or row["worst_drift"] <= HOLDS)


def lower(pair: dict[str, dict], method: str) -> dict | None:
    """The row of the lowest peak of a pair, of those that hold, where a method's own peak is not the lowest."""
    rivals = [row for row in pair.values() if holds(row) and row["peak_acceleration"]]
    best = min(rivals, key=lambda row: row["peak_acceleration"])
    # within a hundredth is a tie
    return best if pair[method]["peak_acceleration"] > 1.01 * best["peak_acceleration"] else None


def summary(rows: Iterable[dict]) -> dict[str, dict[str, float]]:
    """Method → its figures over all pairs."""
    pairs = by_pair(rows)
    reachable = [pair for pair in pairs if any(holds(row) for row in pair.values())]
    methods = list(dict.fromkeys(name for pair in pairs for name in pair))
    found = {}
    for method in methods:
        own = [pair[method] for pair in pairs if method in pair and pair[method].get("failed") is None]
        fair = [pair for pair in reachable if method in pair]
        holding = [pair for pair in fair if holds(pair[method])]
        # where the source all but stands still there is nothing to compare peaks with
        moving = [pair for pair in holding if pair[method]["peak_acceleration"]]
        lowest = sum(lower(pair, method) is None for pair in moving)

        def middle(key: str, own: list[dict] = own) -> float:
            values = [row[key] for row in own if row.get(key) is not None]
            return float(np.median(values)) if values else float("nan")

        peaks = [row["peak_acceleration"] for row in own if row["peak_acceleration"] is not None]
        found[method] = {
            "pairs": float(len(own)),
            "failed": float(sum(method in pair and pair[method].get("failed") is not None for pair in pairs)),
            "share_holding_where_reachable": len(holding) / max(len(fair), 1),
            "share_holding": sum(holds(row) for row in own) / max(len(own), 1),
            "median_worst_drift_mm": middle("worst_drift"),
            "median_worst_error_mm": middle("worst_error"),
            "median_peak_acceleration": middle("peak_acceleration"),
            "share_peak_under_1_5": float(np.mean(np.array(peaks) <= 1.5)) if peaks else float("nan"),
            "share_lowest_peak_where_holding": lowest / max(len(moving), 1),
            "median_jerk": middle("jerk"),
            "median_joint_change_degrees": middle("joint_change"),
            "median_ms_per_100_frames": float(np.median([1e5 * row["seconds"] / row["frames"] for row in own]))
            if own else float("nan"),
        }  # fmt: skip
    return found


def table(rows: list[dict], longest: int, every: int = 1) -> str:
    """The page of the documentation: a line a method, then what failed, and pairs that no method holds."""
    pairs, found = by_pair(rows), summary(rows)
    clip_count = len({row["clip"] for row in rows if "method" in row})
    reachable = sum(any(holds(row) for row in pair.values()) for pair in pairs)
    lines = [
        "# Methods, measured", "",
        f"{clip_count} human clips (walks, runs, dances, acrobatics, work), trimmed to {longest} frames, each on "
        f"{', '.join(CHARACTERS)}, by every method with its default settings: {len(pairs)} pairs. Made by",
        f"`benchmarks/compare_methods.py --all --every {every} --longest {longest}`, on a busy machine: use "
        "the times only to compare methods.",
        "[Choosing a method](choosing.md) interprets the figures.", "",
        f"A pair is reachable if at least one method keeps every plant within {HOLDS:g} mm: {reachable} of "
        f"{len(pairs)} are.",
        "Acceleration and jerk are relative to the source; drift, error and time are medians over pairs.", "",
        "| method | holds, of reachable | holds, of all | drift, mm | error, mm | peak acceleration | ≤ 1.5 "
        "| lowest peak, of those it holds | jerk | joints turned | ms per 100 frames |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for method, f in found.items():
        lines.append(
            f"| {method} | {f['share_holding_where_reachable']:.0%} | {f['share_holding']:.0%} "
            f"| {f['median_worst_drift_mm']:.2f} | {f['median_worst_error_mm']:.2f} "
            f"| {f['median_peak_acceleration']:.2f} | {f['share_peak_under_1_5']:.0%} "
            f"| {f['share_lowest_peak_where_holding']:.0%} | {f['median_jerk']:.2f} "
            f"| {f['median_joint_change_degrees']:.1f}° | {f['median_ms_per_100_frames']:.0f} |"
        )
    lines += ["", "## Where methods fail", ""]
    failures = [row for row in rows if row.get("failed")]
    lines += [f"- {row['clip']} on {row['character']}, {row['method']}: {row['failed']}" for row in failures] or [
        "No method refused a problem."
    ]
    lines += ["", "| clip | character | drift by method, mm | status |", "|---|---|---|---|"]
    exact = ("hierarchical", "filtered", "perframe", "spacetime")
    for pair in pairs:
        shown = [pair[name] for name in exact if name in pair and pair[name].get("failed") is None]
        if shown and not all(holds(row) for row in shown):
            drifts = ", ".join(f"{row['method']} {row['worst_drift']:.1f}" for row in shown)
            statuses = ", ".join(dict.fromkeys(row["status"] for row in shown))
            lines.append(f"| {shown[0]['clip']} | {shown[0]['character']} | {drifts} | {statuses} |")
    lines += ["", "## Where the peak of `spacetime` is not the lowest", "", *_peaks(pairs)]
    skipped = [row for row in rows if "skipped" in row]
    lines += ["", f"{len(skipped)} files have no human motion, or a motion without footplants."]
    return "\n".join(lines) + "\n"


def _peaks(pairs: list[dict[str, dict]]) -> list[str]:
    """The pairs that spacetime holds in which another method that holds has a lower peak."""
    own = [pair for pair in pairs if "spacetime" in pair and holds(pair["spacetime"])]
    moving = [pair for pair in own if pair["spacetime"]["peak_acceleration"]]
    beaten = [(pair["spacetime"], best) for pair in moving if (best := lower(pair, "spacetime"))]
    drops = sum(best["method"] == "perkey" for _, best in beaten)
    lines = [
        f"It has the lowest peak in {len(moving) - len(beaten)} of the {len(moving)} pairs that it holds and in which "
        f"the source moves. In {drops} of the other {len(beaten)}, `perkey` has it, because it drops the detail of the "
        "source between its keys.", "",
        "| clip | character | peak of spacetime | lowest | of |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for row, best in beaten:
        lines.append(
            f"| {row['clip']} | {row['character']} | {row['peak_acceleration']:.2f} "
            f"| {best['peak_acceleration']:.2f} | {best['method']} |"
        )
    return lines


def run() -> dict[str, float]:
    """The figures of a few samples."""
    from footplant.solve.methods import NAMES

    return flat(summary(sweep(FEW, NAMES, 200, None)))


def flat(found: dict[str, dict[str, float]]) -> dict[str, float]:
    """Figures by one name each."""
    return {f"methods.{method}.{key}": value for method, own in found.items() for key, value in own.items()}


def main() -> None:
    """Print the figures; with --table write the table."""
    from footplant.solve.methods import NAMES

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--all", action="store_true", help="every human clip, not only a few samples")
    parser.add_argument("--every", type=int, default=1, help="only every so many of them")
    parser.add_argument("--part", default="1/1", help="K/N: the Kth of N shares of them, for several processes at once")
    parser.add_argument("--longest", type=int, default=LONGEST, help="frames to which clips are cut")
    parser.add_argument("--methods", default=",".join(NAMES), help="which methods, with commas")
    parser.add_argument("--rows", type=Path, help="where to keep every row, as JSON lines, to go on from")
    parser.add_argument("--table", type=Path, help="write the table as Markdown")
    arguments = parser.parse_args()
    names = clips(True)[:: arguments.every] if arguments.all else list(FEW)
    part, parts = map(int, arguments.part.split("/"))
    names = names[part - 1 :: parts]
    rows = sweep(names, tuple(arguments.methods.split(",")), arguments.longest, arguments.rows)
    if arguments.table:
        arguments.table.write_text(table(rows, arguments.longest, arguments.every))
    print_figures(flat(summary(rows)), as_json=arguments.json)


if __name__ == "__main__":
    main()
