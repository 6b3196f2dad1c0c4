"""Many pairs of clip and character, retargeted and measured by `quality.fidelity`: median, 90 % and worst per figure.

    python benchmarks/many_pairs.py --pairs 300 --out build/many.json
    python benchmarks/many_pairs.py --pairs 300 --out build/new.json --compare build/many.json

The pairs are a seeded sample of all human clips of ../shared/data (and the samples) on eight characters. A pair that
fails, crashes its process or takes too long is recorded as such, and the others go on.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import signal
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from footplant.clip import Clip
from footplant.skeleton import Character
from retarget_quality import MOTIONS, SAMPLE_CLIPS
from timing import print_figures

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
CHARACTERS = (
    "sample:mannequin", "sample:sally", "sample:blubby", "gltf/CesiumMan.glb", "gltf/KayKit_Knight.glb",
    "gltf/godot_mannequiny.glb", "vrm/100avatars_038_Kate.vrm", "vrm/Godette_vrm0.vrm",
)  # fmt: skip
SHOWN = ("median", "p90", "worst")
LONGEST = 300
"""Seconds that a pair may take before its process is ended."""


def all_pairs(data: Path) -> list[tuple[str, str]]:
    """Every clip on every character, in a fixed order; paths begin at `data`."""
    clips = [f"sample:{name}" for name in SAMPLE_CLIPS]
    found = [str(path.relative_to(data)) for pattern in MOTIONS for path in sorted(data.glob(pattern))]
    # a dog is read as a humanoid on all fours
    clips += [name for name in found if not any(word in name for word in ("dog", "quadruped"))]
    figures = [name for name in CHARACTERS if name.startswith("sample:") or (data / name).exists()]
    return [(clip, figure) for clip in clips for figure in figures]


@lru_cache(maxsize=2)
def _clip(name: str):
    from footplant.io import load

    return load(name)


@lru_cache(maxsize=8)
def _character(name: str):
    from footplant.io import load_character

    return load_character(name)


def measure_pair(clip_name: str, figure_name: str, data: Path, most: int | None = None) -> dict:
    """Retarget and measure one pair, of a long clip its first frames: its figures, or why there are none."""
    from footplant.errors import FootplantError

    row: dict = {"clip": clip_name, "character": figure_name}
    try:
        clip = _clip(_place(clip_name, data))
        clip = clip if most is None else replace(clip, motion=clip.motion[:most])
        if clip.character.roles is None or len(clip.motion) < 10:
            return row | {"skipped": "no human motion"}
        figure = _character(_place(figure_name, data))
    except FootplantError as error:
        return row | {"skipped": str(error).replace(str(data), "").splitlines()[0][:200]}
    try:
        return row | _figures(clip, figure)
    except Exception as error:  # one odd pair must not stop the others
        return row | {"error": f"{type(error).__name__}: {error}".replace(str(data), "")[:300]}


def _place(name: str, data: Path) -> str:
    return name if name.startswith("sample:") else str(data / name)


def _figures(clip: Clip, figure: Character) -> dict:
    """The figures of one pair, and the time that they took."""
    from footplant.edits.retarget import retarget
    from footplant.quality.fidelity import fidelity

    started = time.process_time()
    solution = retarget(clip, figure)
    solved = time.process_time()
    found = fidelity((clip.motion, clip.character), (solution.motion, figure))
    measured = time.process_time()
    if found is None:
        return {"skipped": "nothing to compare"}
    return {
        "frames": len(clip.motion),
        "status": solution.status.value,
        "seconds": solved - started,
        "measure_seconds": measured - solved,
        "stances": len(found.stances),
        "figures": {name: round(value, 5) for name, value in found.figures().items()},
        "not_right": found.not_right(),
        "places": dict(found.places),
    }


def _timed(clip_name: str, figure_name: str, data: Path) -> dict:
    """`measure_pair` in a process of its own, which ends if it takes too long."""
    # without a handler the signal ends the process, also one that is inside a kernel
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LONGEST)
    try:
        return measure_pair(clip_name, figure_name, data)
    finally:
        signal.alarm(0)


def run(pairs: list[tuple[str, str]], count: int, data: Path, jobs: int, kept: Path | None = None) -> list[dict]:
    """Rows of the first `count` pairs that can be measured or fail, and of those skipped on the way.

    kept: a file of JSON lines to which rows are added as they come; pairs in it are not done again.
    """
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept is not None and kept.exists() else []
    known = {(row["clip"], row["character"]) for row in rows}
    waiting, done = iter([pair for pair in pairs if pair not in known]), sum("skipped" not in row for row in rows)
    pool = ProcessPoolExecutor(jobs)
    running: dict[Future, tuple[str, str]] = {}
    while True:
        while len(running) < jobs and done + len(running) < count:
            pair = next(waiting, None)
            if pair is None:
                break
            running[pool.submit(_timed, *pair, data)] = pair
        if not running:
            break
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        found: list[dict] = []
        if any(isinstance(future.exception(), BrokenProcessPool) for future in finished):
            # a process has ended: which pair was it? Each of those under way gets a process of its own
            for pair in running.values():
                found.append(_alone(pair, data))
            running.clear()
            pool.shutdown(wait=False, cancel_futures=True)
            pool = ProcessPoolExecutor(jobs)
        for future in finished & set(running):
            found.append(future.result())
            del running[future]
        if kept is not None:
            with kept.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in found)
        for row in found:
            rows.append(row)
            done += "skipped" not in row
            said = row.get("error") or row.get("skipped") or ""
            print(f"[{done}/{count}] {row['clip']} → {row['character']} {said}", file=sys.stderr, flush=True)
    pool.shutdown()
    return rows


def _alone(pair: tuple[str, str], data: Path) -> dict:
    """The row of a pair in a process of its own."""
    with ProcessPoolExecutor(1) as pool:
        try:
            return pool.submit(_timed, *pair, data).result()
        except BrokenProcessPool:
            return {"clip": pair[0], "character": pair[1], "error": f"its process ended (or took over {LONGEST} s)"}


def summary(rows: list[dict]) -> dict:
    """Median, 90 % and worst of every figure, how many pairs are beyond its goal, and how many stances slide."""
    from footplant.quality.fidelity import GOALS

    measured = [row for row in rows if "figures" in row]
    figures = {}
    for name, goal in GOALS.items():
        values = np.array([row["figures"][name] for row in measured if name in row["figures"]])
        if not len(values):
            continue
        worst = int(values.argmin() if goal.high else values.argmax())
        at = [row for row in measured if name in row["figures"]][worst]
        figures[name] = {
            "pairs": len(values),
            "median": float(np.median(values)),
            "p90": float(np.percentile(values, 10 if goal.high else 90)),
            "worst": float(values[worst]),
            "worst_at": f"{at['clip']} → {at['character']}",
            "where": at["places"].get(name, ""),
            "beyond_pct": 100.0 * float(np.mean([goal.missed(value) for value in values])),
        }
    stances = sum(row["stances"] for row in measured)
    pooled = {}
    for limit in (1, 5, 20):
        name = f"stance_over_{limit}mm_pct"
        part = sum(row["figures"].get(name, 0.0) * row["stances"] for row in measured)
        pooled[name] = part / stances if stances else None
    return {
        "measured": len(measured),
        "failed": [f"{row['clip']} → {row['character']}: {row['error']}" for row in rows if "error" in row],
        "skipped": sum("skipped" in row for row in rows),
        "stances": stances,
        "all_stances": pooled,
        "seconds_per_1000_frames": float(np.median([1e3 * row["seconds"] / row["frames"] for row in measured] or [0])),
        "measure_seconds": float(np.median([row["measure_seconds"] for row in measured] or [0])),
        "figures": figures,
    }


def table(now: dict, before: dict | None = None, same: dict[str, tuple[int, int]] | None = None) -> str:
    """The summary as text, beside an earlier one; same: figure → pairs that became better and worse."""
    from footplant.quality.fidelity import GOALS

    pooled = ", ".join(
        f"{value:.2f} % over {name.split('_')[2]}" for name, value in now["all_stances"].items() if value is not None
    )
    counts = f"{now['measured']} pairs, {len(now['failed'])} failed, {now['skipped']} skipped"
    speed = f"retarget {now['seconds_per_1000_frames']:.2f} s of CPU per 1000 frames"
    lines = [
        f"{counts}; {now['stances']} stances: {pooled}",
        f"{speed}, measure {now['measure_seconds']:.2f} s a pair",
        "",
        f"{'figure':<50}{'pairs':>6}{'median':>9}{'90 %':>9}{'worst':>9}{'goal':>7}{'beyond':>8}"
        + ("   before: median, 90 %, worst; better/worse" if before else "  worst at"),
    ]
    for name, row in now["figures"].items():
        goal = GOALS[name]
        limit = "" if goal.limit is None else f"{goal.limit:g}"
        beyond = "" if goal.limit is None else f"{row['beyond_pct']:.0f} %"
        line = f"{goal.label + ' (' + goal.unit + ')':<50}{row['pairs']:>6}"
        line += "".join(f"{row[key]:>9.2f}" for key in SHOWN) + f"{limit:>7}{beyond:>8}"
        old = (before or {}).get("figures", {}).get(name)
        if before is None:
            line += f"  {row['worst_at']} {row['where']}"
        elif old:
            better, worse = (same or {}).get(name, (0, 0))
            line += "   " + ", ".join(f"{old[key]:.2f}" for key in SHOWN) + f"; {better}/{worse}"
        lines.append(line.rstrip())
    return "\n".join([*lines, "", *(f"FAILED {text}" for text in now["failed"])])


def changes(rows: list[dict], before: list[dict]) -> dict[str, tuple[int, int]]:
    """Figure → how many of the pairs in both are better and worse by more than a fiftieth of the goal."""
    from footplant.quality.fidelity import GOALS

    old = {(row["clip"], row["character"]): row["figures"] for row in before if "figures" in row}
    out = {}
    for name, goal in GOALS.items():
        differences = [
            (row["figures"][name] - old[row["clip"], row["character"]][name]) * (-1.0 if goal.high else 1.0)
            for row in rows
            if name in row.get("figures", {}) and name in old.get((row["clip"], row["character"]), {})
        ]
        least = max(0.02 * (goal.limit or 1.0), 1e-3)
        out[name] = sum(d < -least for d in differences), sum(d > least for d in differences)
    return out


def write(path: Path, rows: list[dict], now: dict, arguments: argparse.Namespace) -> None:
    """Write everything as JSON, or a table of the figures as CSV."""
    if path.suffix.lower() != ".csv":
        told = {"seed": arguments.seed, "asked": arguments.pairs, "summary": now, "pairs": rows}
        path.write_text(json.dumps(told, indent=1) + "\n")
        return
    names = list(now["figures"])
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["clip", "character", "frames", "status", "seconds", "said", *names])
        for row in rows:
            said = row.get("error") or row.get("skipped") or "; ".join(row.get("not_right", ()))
            known = [row.get(key, "") for key in ("clip", "character", "frames", "status", "seconds")]
            writer.writerow([*known, said, *(row.get("figures", {}).get(name, "") for name in names)])


def main() -> int:
    """Print the table and write every figure; returns 1 if a pair failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=300, help="how many pairs are measured")
    parser.add_argument("--seed", type=int, default=0, help="which sample of all pairs is taken")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--data", type=Path, default=SHARED, help="where clips and characters are")
    parser.add_argument("--out", type=Path, help="write all figures: .json, or .csv")
    parser.add_argument("--rows", type=Path, help="keep every pair in this file as it comes; go on with it if there")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument(
        "--compare", type=Path, metavar="OLD.json", help="measure the pairs of an earlier --out, and show both"
    )
    arguments = parser.parse_args()
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    before = None if arguments.compare is None else json.loads(arguments.compare.read_text())["pairs"]
    if before is None:
        pairs = all_pairs(arguments.data)
        random.Random(arguments.seed).shuffle(pairs)
    else:
        pairs = [(row["clip"], row["character"]) for row in before if "skipped" not in row]
    rows = run(pairs, arguments.pairs, arguments.data, arguments.jobs, arguments.rows)
    now = summary(rows)
    if arguments.out:
        write(arguments.out, rows, now, arguments)
    if arguments.json:
        rows_of = {f"many.{name}.{key}": row[key] for name, row in now["figures"].items() for key in SHOWN}
        print_figures({"many.measured": now["measured"], "many.failed": len(now["failed"]), **rows_of}, as_json=True)
    elif before is not None:
        done = {(row["clip"], row["character"]) for row in rows}
        same = [row for row in before if (row["clip"], row["character"]) in done]
        print(table(now, summary(same), changes(rows, same)))
    else:
        print(table(now))
    return 1 if now["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
