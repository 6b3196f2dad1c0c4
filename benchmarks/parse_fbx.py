"""Reading an FBX of about 2 MB: a skinned figure in a take of a minute. The child process counts, its start too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from timing import main

FRAMES = 3600
ALONE = """
import gc, os, sys, time
gc.disable()
import ufbx
start, kept = time.process_time(), []
scene = ufbx.load_file(sys.argv[1])
nodes, stacks = list(scene.nodes), list(scene.anim_stacks)
kept += [scene, nodes, stacks, stacks[0].anim]
for node in nodes[1:]:
    for frame in range(int(sys.argv[2])):
        ufbx.evaluate_transform(kept[3], node, frame / 60)
print(time.process_time() - start)
sys.stdout.flush()
os._exit(0)
"""
"""What the library takes by itself for the same samples, loaded already and handing nothing over."""


def make_file(path: Path) -> None:
    """The mannequin of the samples, wobbling."""
    import footplant
    from footplant.motion import rest_motion

    clip = footplant.load("sample:walk")
    steps = np.random.default_rng(0).normal(scale=0.01, size=(FRAMES, 1 + len(clip.motion.skeleton), 3))
    motion = rest_motion(clip.motion.skeleton, FRAMES, 60.0) + np.cumsum(steps, axis=0)
    footplant.save(path, replace(clip, motion=motion, takes=()))


def cpu_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The smallest CPU time of one call, seconds, with that of the processes it starts."""
    best = float("inf")
    for _ in range(repeats):
        before = os.times()
        work()
        after = os.times()
        best = min(best, sum(after[:4]) - sum(before[:4]))
    return best


def _alone(path: Path) -> float:
    command = [sys.executable, "-c", ALONE, str(path), str(FRAMES)]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(3))


def run() -> dict[str, float]:
    """Reading an FBX: seconds of CPU, and how many times faster than assimp and than ufbx alone (below 1: slower)."""
    from footplant.io import fbx

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.fbx"
        make_file(path)
        megabytes = path.stat().st_size / 1e6

        def read() -> object:
            (figure,) = fbx.load(path)
            assert figure.read_take is not None
            return figure.read_take(0)

        read()
        ours = cpu_seconds(read)
        figures = {
            "parse_fbx.megabytes": megabytes,
            "parse_fbx.seconds": ours,
            "parse_fbx.megabytes_per_second": megabytes / ours,
            "parse_fbx.times_faster_than_ufbx_alone": _alone(path) / ours,
        }
        if shutil.which("assimp"):
            command = ["assimp", "info", str(path)]
            assimp = cpu_seconds(lambda: subprocess.run(command, capture_output=True, check=True), repeats=3)
            figures["parse_fbx.times_faster_than_assimp"] = assimp / ours
    return figures


if __name__ == "__main__":
    main(run)
