"""Reading and writing a GLB of about 5 MB: a skinned figure of 60 joints with ten takes, one of them decoded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from timing import cpu_seconds, main, times_faster

JOINTS, TAKES, FRAMES = 60, 10, 450


def make_file(path: Path) -> None:
    """A figure of bones in ten takes of fifteen seconds."""
    from footplant.clip import Clip
    from footplant.io import gltf
    from footplant.motion import rest_motion
    from footplant.skeleton import Character, Skeleton

    rng = np.random.default_rng(0)
    parents = np.array([-1, *(int(rng.integers(max(0, joint - 4), joint)) for joint in range(1, JOINTS))])
    names = tuple(f"joint{joint}" for joint in range(JOINTS))
    skeleton = Skeleton(names, parents, rng.normal(size=(JOINTS, 3)) * 0.1)
    for number in range(TAKES):
        steps = rng.normal(scale=0.02, size=(FRAMES, 1 + JOINTS, 3))
        motion = rest_motion(skeleton, FRAMES, 30.0) + np.cumsum(steps, axis=0)
        source = gltf.load(path)[0].source if number else None
        clip = Clip(motion, Character(skeleton, source=source), name=f"take{number}")
        gltf.save(path, clip, keep_takes=True)


def _pygltflib(path: str) -> object:
    import pygltflib

    return pygltflib.GLTF2().load(path)


PEERS: dict[str, Callable[[str], object]] = {"pygltflib": _pygltflib}
"""Readers that are asked if they are installed. This one stops at JSON; readers of meshes alone do not compare."""


def run() -> dict[str, float]:
    """Reading and writing a GLB: seconds of CPU, and how many times faster than other readers."""
    from footplant.clip import Clip
    from footplant.io import gltf
    from footplant.skeleton import Character

    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "figure.glb", Path(folder) / "copy.glb"
        make_file(path)
        megabytes = path.stat().st_size / 1e6

        def read() -> Clip:
            (figure,) = gltf.load(path)
            assert figure.read_take is not None
            motion = figure.read_take(0)
            return Clip(motion, Character(motion.skeleton, source=figure.source), takes=figure.takes)

        clip = read()
        edit = replace(clip, motion=clip.motion.transformed([0.0, 0.0, 1.0, 0.0]))
        ours = cpu_seconds(read, repeats=10)
        writing = cpu_seconds(lambda: gltf.save(copy, edit), repeats=5)
        figures = {
            "parse_gltf.megabytes": megabytes,
            "parse_gltf.seconds": ours,
            "parse_gltf.megabytes_per_second": megabytes / ours,
            "parse_gltf.write_seconds": writing,
        }
        figures |= times_faster("parse_gltf", PEERS, str(path), ours)
    return figures


if __name__ == "__main__":
    main(run)
