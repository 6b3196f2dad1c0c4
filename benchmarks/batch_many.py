"""A hundred thousand made clips in one batch: the driver's memory, the time of a clip, and that of a restart.

`python benchmarks/batch_many.py [--clips 100000] [--job contacts] [--workers 2] [--json]`. Each clip is a file of its
own, a third of a second of the walk at its own place. The driver's memory is read on Linux alone.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import print_figures

FRAMES = 10


def make_library(folder: Path, clips: int) -> None:
    """Write clips of one skeleton; the text of one file is made, and the place of its first frame is changed."""
    from footplant import load, save

    walk = load("sample:walk", fps=30)
    head, _, rows = save(folder / "one.bvh", walk.motion[:FRAMES]).read_text().partition("Frame Time:")
    rate, *frames = rows.strip().splitlines()
    (folder / "one.bvh").unlink()
    _, _, rest = frames[0].partition(" ")
    for number in range(clips):
        if number % 1000 == 0:
            (folder / f"{number // 1000:03d}").mkdir()
        first = f"{1e-4 * number:.4f} {rest}"
        text = f"{head}Frame Time: {rate}\n" + "\n".join([first, *frames[1:]]) + "\n"
        (folder / f"{number // 1000:03d}" / f"{number:06d}.bvh").write_text(text)


def resident(pid: int) -> float:
    """Return the resident memory of a process, megabytes; 0 where it cannot be read."""
    try:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024.0 if found else 0.0


def run_batch(library: Path, out: Path, job: str, workers: int) -> tuple[dict, list[tuple[int, float]], float]:
    """Run one batch: its summary, (clips that are done, megabytes of the driver) once a second, and its seconds."""
    command = [sys.executable, "-m", "footplant", "batch", job, str(library), "-o", str(out), "--resume", "--json"]
    started, seen, ledger = time.perf_counter(), [], out / "ledger.jsonl"
    with (
        tempfile.TemporaryFile("w+") as answer,
        subprocess.Popen([*command, "--workers", str(workers)], stdout=answer, stderr=subprocess.DEVNULL) as driver,
    ):
        done, at = 0, 0
        while driver.poll() is None:
            if ledger.exists():
                with open(ledger, "rb") as file:
                    file.seek(at)
                    new = file.read()
                done, at = done + new.count(b"\n"), at + len(new)
            seen.append((done, resident(driver.pid)))
            time.sleep(1.0)
        answer.seek(0)
        summary = json.load(answer)
    return summary, seen, time.perf_counter() - started


def run(clips: int, job: str, workers: int) -> dict[str, float]:
    """Make the library, run the batch, and run it again with nothing left to do."""
    figures: dict[str, float] = {"batch.many.clips": clips}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "library").mkdir()
        make_library(folder / "library", clips)
        summary, seen, seconds = run_batch(folder / "library", folder / "out", job, workers)
        if summary["done"] != clips:
            raise SystemExit(f"expected {clips} clips done, got {summary}")
        working = [megabytes for done, megabytes in seen if done > 0.1 * clips]
        figures["batch.many.seconds"] = seconds
        figures["batch.many.milliseconds_a_clip"] = 1000.0 * seconds / clips
        if working and working[0]:
            figures["batch.many.driver_megabytes_at_a_tenth"] = working[0]
            figures["batch.many.driver_megabytes_at_most"] = max(working)
        figures["batch.many.ledger_megabytes"] = (folder / "out" / "ledger.jsonl").stat().st_size / 1e6
        _, again, seconds = run_batch(folder / "library", folder / "out", job, workers)
        figures["batch.many.restart_seconds"] = seconds
        figures["batch.many.restart_megabytes_at_most"] = max(megabytes for _, megabytes in again)
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clips", type=int, default=100_000)
    parser.add_argument("--job", default="contacts", choices=("contacts", "measure", "convert", "normalize"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    arguments = parser.parse_args()
    print_figures(run(arguments.clips, arguments.job, arguments.workers), as_json=arguments.json)
