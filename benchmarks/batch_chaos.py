"""A library with damaged files, pipes and devices, workers and drivers that are killed, and a full disk: what is lost.

`python benchmarks/batch_chaos.py [--clips 2000] [--kills 12] [--cluster] [--json]`. `make bench` takes a small one. The
full disk is a small file system in memory, which only root may mount; without it that part is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import print_figures

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DAMAGED = 0.01
"""The share of generated files that are damaged."""
WORKER_KILLS = 3
DISK = 2
"""Megabytes of the disk that runs full."""
ENDINGS = (".bvh", ".glb", ".gltf", ".vrm", ".fbx", ".usda", ".usdc", ".usdz", ".amc", ".npz", ".txt", ".footplant")


def make_library(folder: Path, clips: int, seed: int = 0) -> int:
    """Generated clips, parts of samples on bodies of many sizes; returns how many are damaged."""
    from footplant import save
    from footplant.samples import MOTIONS, load

    chance = random.Random(seed)
    motions = [load(name) for name in MOTIONS]
    damaged = 0
    for number in range(clips):
        clip = motions[number % len(motions)]
        first = chance.randrange(0, max(1, len(clip.motion) // 2))
        part = clip.motion[first : first + chance.randrange(60, 160)].scaled(chance.uniform(0.6, 1.2))
        path = folder / f"{number // 100:03d}" / f"clip{number:05d}.bvh"
        path.parent.mkdir(parents=True, exist_ok=True)
        save(path, part)
        if chance.random() < DAMAGED:
            damaged += 1
            data = path.read_bytes()
            path.write_bytes(data[: chance.randrange(10, len(data) // 3)])
    return damaged


def make_hostile(folder: Path) -> int:
    """Names of clips that are no files, or files that do not end or cannot be read; returns how many must fail."""
    folder.mkdir(parents=True, exist_ok=True)
    os.mkfifo(folder / "pipe.bvh")
    (folder / "zero.bvh").symlink_to("/dev/zero")
    (folder / "random.fbx").symlink_to("/dev/urandom")
    (folder / "nowhere.glb").symlink_to(folder / "missing.glb")
    with open(folder / "endless.bvh", "wb") as file:
        # as large as a file may seem: nothing of it is on the disk
        file.truncate(1 << 42)
    with socket.socket(socket.AF_UNIX) as sock:
        # the path of a socket may have about a hundred characters
        sock.bind(os.path.relpath(folder / "socket.bvh"))
    return 1


def children(pid: int) -> list[int]:
    """The child processes of a process and of those, on Linux."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                new = [int(word) for word in task.read_text().split()]
            except OSError:
                continue
            found += new
            waiting += new
    return found


def kill_one_worker(driver: int, cluster: bool) -> bool:
    """Kill one process that works: a child that does clips, or a whole worker of the cluster."""
    mark = b"spawn_main" if cluster else b"footplant.batch.child"
    for pid in sorted(children(driver)):
        try:
            if mark in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
                return True
        except OSError:
            continue
    return False


def run_batch(library: list[str], out: Path, clips: int, cluster: bool, job: str, kills: int) -> tuple[dict, int]:
    """Run, kill, resume; the last run's summary and how many workers were killed while they worked."""
    command = [sys.executable, "-m", "footplant", "batch", job, *library, "-o", str(out), "--workers", "2",
               "--resume", "--json", "--timeout", "120", *(["--cluster", "local"] if cluster else [])]  # fmt: skip
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ledger, killed = out / "ledger.jsonl", 0
    while driver.poll() is None:
        ended = ledger.read_bytes().count(b"\n") if ledger.exists() else 0
        due = clips * (killed + 1) // (2 * kills + 2)
        if killed < kills and ended > due and kill_one_worker(driver.pid, cluster):
            killed += 1
        if ended > clips // 2 and killed >= kills:
            driver.kill()
        time.sleep(0.02)
    driver.wait()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout), killed


def fill_disk(library: list[str], place: Path) -> dict[str, float]:
    """Run a batch on a disk that is too small, give it room and resume; {} where none can be mounted."""
    disk = place / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        return {}
    command = [sys.executable, "-m", "footplant", "batch", "convert", *library, "-o", str(disk / "out"), "--workers",
               "2", "--resume", "--json", "--timeout", "120"]  # fmt: skip
    try:
        full = subprocess.run(command, capture_output=True, text=True)
        left = len(list(disk.rglob("*.part")))
        subprocess.run(["mount", "-o", "remount,size=2g", str(disk)], check=True)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            raise SystemExit(done.stderr)
        found = judge(library, disk / "out", json.loads(done.stdout))
        found = {f"full_disk.{key}": value for key, value in found.items()}
        return found | {"full_disk.stopped": full.returncode == 2 and "no space left" in full.stderr,
                        "full_disk.parts_left": left}  # fmt: skip
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def judge(library: list[str], out: Path, told: dict) -> dict[str, float]:
    """What was lost, half-written, done twice or left without a reason."""
    from footplant import load
    from footplant.errors import FootplantError

    records = [json.loads(line) for line in (out / "ledger.jsonl").read_bytes().splitlines()]
    last = {record["source"]: record for record in records}
    runs = Counter(record["source"] for record in records if "same" not in record)
    lost = half = silent = 0
    files = [Path(root) / name for folder in library for root, _, names in os.walk(folder) for name in names]
    for path in files:
        if path.suffix.lower() not in ENDINGS:
            continue
        record = last.get(str(path))
        if not path.is_file():
            # pipes, devices and links to nowhere are no clips of a folder
            continue
        if path.stat().st_size > 1 << 40:
            silent += record is None or not record.get("reason")
            continue
        try:
            good = bool(len(load(path).motion))
        except FootplantError:
            good = False
        if record is None:
            lost += good
        elif record["status"] == "done":
            try:
                half += not len(load(out / record["out"]).motion)
            except FootplantError:
                half += 1
        else:
            silent += not record.get("reason") or "\n" in record["reason"]
    again = sum(record.get("attempts", 1) - 1 for record in last.values()) + sum(count - 1 for count in runs.values())
    return {
        "clips": told["clips"],
        "failed": told["failed"],
        "good_clips_lost": lost,
        "half_written": half,
        "failures_without_a_reason": silent,
        "parts_left": len(list(out.rglob("*.part"))),
        "done_twice_percent": 100.0 * again / max(told["clips"], 1),
    }


def run(
    clips: int = 60, cluster: bool = False, real: bool = False, job: str = "convert", kills: int = WORKER_KILLS
) -> dict[str, float]:
    """Kill workers and the driver of a batch, resume it, and count what was lost; then again on a disk that fills."""
    place = Path(tempfile.mkdtemp(prefix="footplant-chaos-"))
    try:
        make_library(place / "library", clips)
        make_hostile(place / "library" / "hostile")
        library = [str(place / "library"), *([str(SHARED)] if real and SHARED.is_dir() else [])]
        started = time.perf_counter()
        told, killed = run_batch(library, place / "out", clips, cluster, job, kills)
        name = "batch.cluster" if cluster else "batch.local"
        found = judge(library, place / "out", told) | {"workers_killed": killed}
        found["seconds"] = time.perf_counter() - started
        found |= fill_disk(library, place)
        return {f"{name}.{key}": float(value) for key, value in found.items()}
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clips", type=int, default=60)
    parser.add_argument("--cluster", action="store_true", help="on a Dask cluster of two workers")
    parser.add_argument("--real", action="store_true", help="with the real files beside the project")
    parser.add_argument("--job", default="convert", choices=("convert", "repair"))
    parser.add_argument("--kills", type=int, default=WORKER_KILLS, help="workers that are killed while they work")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = run(arguments.clips, arguments.cluster, arguments.real, arguments.job, arguments.kills)
    print_figures(found, as_json=arguments.json)
