"""Reading and writing a BVH file of 12 MB: Footplant beside the readers of the package index."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from timing import cpu_seconds, main, times_faster

JOINTS, FRAMES = 31, 12_000


def make_file(path: Path) -> None:
    """31 joints like CMU's, six digits after the point as most exporters write them."""
    rng = np.random.default_rng(0)
    lines, open_joints = ["HIERARCHY"], []
    for joint in range(JOINTS):
        if joint and joint % 6 == 0:
            while len(open_joints) > 1:
                lines.append("End Site\n{\nOFFSET 0 1 0\n}\n}" if open_joints[-1] == joint - 1 else "}")
                open_joints.pop()
        words = "Zrotation Yrotation Xrotation"
        channels = f"6 Xposition Yposition Zposition {words}" if joint == 0 else f"3 {words}"
        offset = " ".join(f"{value:.6f}" for value in rng.normal(size=3))
        lines.append(f"{'JOINT' if joint else 'ROOT'} joint{joint}\n{{\nOFFSET {offset}\nCHANNELS {channels}")
        open_joints.append(joint)
    lines.append("End Site\n{\nOFFSET 0 1 0\n}" + "\n}" * len(open_joints))
    values = 80.0 * np.sin(np.cumsum(rng.normal(scale=0.05, size=(FRAMES, 3 * JOINTS + 3)), axis=0))
    with open(path, "w") as file:
        file.write("\n".join(lines) + f"\nMOTION\nFrames: {FRAMES}\nFrame Time: 0.0083333\n")
        np.savetxt(file, values, fmt="%.6f")


def _pybvh(path: str) -> object:
    import pybvh

    return pybvh.read_bvh_file(path, world_up="+y")


def _pymotion(path: str) -> object:
    from pymotion.io.bvh import BVH

    reader = BVH()
    reader.load(path)
    return reader


def _pybvh_quaternions(path: str) -> object:
    return _pybvh(path).to_quat()  # type: ignore[attr-defined]


def _pymotion_quaternions(path: str) -> object:
    return _pymotion(path).get_data()  # type: ignore[attr-defined]


def _bvh(path: str) -> object:
    from bvh import Bvh

    return Bvh(Path(path).read_text())


def _bvhio(path: str) -> object:
    import bvhio

    return bvhio.readAsBvh(path)


PEERS: dict[str, Callable[[str], object]] = {
    "pybvh": _pybvh,
    "pybvh_with_quaternions": _pybvh_quaternions,
    "upc_pymotion": _pymotion,
    "upc_pymotion_with_quaternions": _pymotion_quaternions,
    "bvh": _bvh,
    "bvhio": _bvhio,
}
"""Readers that are asked if they are installed. By themselves they stop at Euler angles; ours gives quaternions."""


def run() -> dict[str, float]:
    """Reading and writing a BVH file of 12 MB: seconds of CPU, and how many times faster than other readers."""
    from footplant.clip import Clip
    from footplant.io import bvh
    from footplant.skeleton import Character

    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "long.bvh", Path(folder) / "copy.bvh"
        make_file(path)
        megabytes = path.stat().st_size / 1e6
        (figure,) = bvh.load(path)
        assert figure.read_take is not None
        motion = figure.read_take(0)
        clip = Clip(motion, Character(motion.skeleton), layout=figure.layout)
        bvh.save(copy, clip)
        ours = cpu_seconds(lambda: bvh.load(path), repeats=15)
        writing = cpu_seconds(lambda: bvh.save(copy, clip), repeats=5)
        figures = {
            "parse_bvh.megabytes": megabytes,
            "parse_bvh.seconds": ours,
            "parse_bvh.megabytes_per_second": megabytes / ours,
            "parse_bvh.write_seconds": writing,
            "parse_bvh.write_megabytes_per_second": megabytes / writing,
        }
        figures |= times_faster("parse_bvh", PEERS, str(path), ours)
    return figures


if __name__ == "__main__":
    main(run)
