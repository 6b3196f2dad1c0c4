"""Do our figures of fidelity agree with those of an independent judge (../shared/judge), pair by pair?

The judge shares no code with Footplant and wants an environment of its own (its README.md). It makes and judges the
results of a table of pairs; we measure the same files:

    python benchmarks/judge_agreement.py --python JUDGE_ENVIRONMENT/bin/python --out build/judged
    python benchmarks/judge_agreement.py --out build/judged --judged build/judged.json     # judged before
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from timing import print_figures

SHARED = Path(__file__).resolve().parents[2] / "shared"


def judge(arguments: argparse.Namespace) -> None:
    """Let the judge retarget and judge every pair, by the command line of this environment."""
    program = arguments.footplant or str(Path(sys.executable).with_name("footplant"))
    command = [arguments.python, arguments.judge / "judge.py", "batch", arguments.pairs, "--footplant", program]
    command += ["--out", arguments.out, "--data", arguments.data, "--json", arguments.judged]
    subprocess.run([str(word) for word in command], check=False, stdout=subprocess.DEVNULL)


def measured(row: dict, out: Path, data: Path) -> tuple[dict[str, float], float]:
    """Our figures of one result, and the seconds that they took."""
    from footplant.io import load
    from footplant.quality.fidelity import fidelity

    converted = out / "sources" / (re.sub(r"[^\w]+", "_", row["source"]) + ".bvh")
    source, result = load(converted if converted.exists() else data / row["source"]), load(out / row["result"])
    started = time.process_time()
    found = fidelity((source.motion, source.character), (result.motion, result.character))
    took = time.process_time() - started
    return ({} if found is None else found.figures()), took


def agreement(pairs: list[tuple[str, dict[str, float], dict[str, float]]]) -> list[dict]:
    """For every figure: how many pairs both measure, their correlation, median and worst difference and where it is."""
    rows = []
    for name in sorted({name for _, theirs, ours in pairs for name in (*theirs, *ours)}):
        both = [(label, theirs[name], ours[name]) for label, theirs, ours in pairs if name in theirs and name in ours]
        alone = [sum(name in (pair[n]) for pair in pairs) - len(both) for n in (1, 2)]
        row: dict = {"figure": name, "pairs": len(both), "judge_alone": alone[0], "ours_alone": alone[1]}
        if both:
            a, b = np.array([pair[1] for pair in both]), np.array([pair[2] for pair in both])
            off = np.abs(b - a)
            worst = int(off.argmax())
            varied = len(both) > 2 and a.std() > 0 and b.std() > 0
            row |= {
                "correlation": float(np.corrcoef(a, b)[0, 1]) if varied else None,
                "median_judge": float(np.median(a)),
                "median_ours": float(np.median(b)),
                "median_difference": float(np.median(off)),
                "worst_difference": float(off[worst]),
                "worst_at": both[worst][0],
                "worst_values": (float(a[worst]), float(b[worst])),
            }
        rows.append(row)
    return rows


def table(rows: list[dict]) -> str:
    """The agreement as text."""
    lines = [
        f"{'figure':<28}{'pairs':>6}{'r':>8}{'judge':>9}{'ours':>9}{'median':>9}{'worst':>9}  at (judge / ours)",
        f"{'':<28}{'':>6}{'':>8}{'median':>9}{'median':>9}{'off by':>9}{'off by':>9}",
    ]
    for row in rows:
        alone = f"  [{row['judge_alone']} judge's alone, {row['ours_alone']} ours]"
        alone = alone if row["judge_alone"] or row["ours_alone"] else ""
        if not row["pairs"]:
            lines.append(f"{row['figure']:<28}{0:>6}{alone}")
            continue
        r = "–" if row["correlation"] is None else f"{row['correlation']:.4f}"
        numbers = "".join(
            f"{row[key]:>9.3f}" for key in ("median_judge", "median_ours", "median_difference", "worst_difference")
        )
        place = f"{row['worst_at']} ({row['worst_values'][0]:.3g} / {row['worst_values'][1]:.3g})"
        lines.append(f"{row['figure']:<28}{row['pairs']:>6}{r:>8}{numbers}  {place}{alone}")
    return "\n".join(lines)


def main() -> None:
    """Print the agreement of every figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--judge", type=Path, default=SHARED / "judge", help="folder of the judge")
    parser.add_argument("--pairs", type=Path, help="table of pairs; the judge's small one by default")
    parser.add_argument("--data", type=Path, default=SHARED / "data", help="where the paths of the table begin")
    parser.add_argument("--out", type=Path, required=True, help="folder of results; those already there are used again")
    parser.add_argument("--judged", type=Path, help="what the judge has written, or shall write")
    parser.add_argument("--python", default=sys.executable, help="Python of the judge's environment")
    parser.add_argument("--footplant", help="the program that makes results")
    parser.add_argument("--figures", type=Path, metavar="FILE.json", help="write the figures of every pair")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    arguments = parser.parse_args()
    if not (arguments.judge / "judge.py").exists():
        raise SystemExit(f"no judge in {arguments.judge}")
    arguments.pairs = arguments.pairs or arguments.judge / "pairs_small.csv"
    arguments.judged = arguments.judged or arguments.out / "judged.json"
    if not arguments.judged.exists():
        judge(arguments)
    with arguments.pairs.open() as file:
        wanted = {(row["source"], row["character"]) for row in csv.DictReader(file)}
    pairs, seconds = [], []
    for row in json.loads(arguments.judged.read_text())["pairs"]:
        if (row["source"], row["character"]) not in wanted or "figures" not in row:
            continue
        ours, took = measured(row, arguments.out, arguments.data)
        pairs.append((row["result"], row["figures"], ours))
        seconds.append(took)
        print(f"\r{len(pairs)} {row['result']:60s}", end="", file=sys.stderr)
    print(file=sys.stderr)
    rows = agreement(pairs)
    if arguments.json:
        keys = ("correlation", "median_difference", "worst_difference")
        found = {
            f"agreement.{row['figure']}.{key}": row[key] for row in rows for key in keys if row.get(key) is not None
        }
        print_figures(found, as_json=True)
    else:
        print(table(rows))
        print(f"{len(pairs)} pairs; seconds of CPU for ours: median {np.median(seconds):.3f}, worst {max(seconds):.3f}")
    if arguments.figures:
        arguments.figures.write_text(
            json.dumps([{"result": n, "judge": a, "ours": b} for n, a, b in pairs], indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
