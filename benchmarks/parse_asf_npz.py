"""Reading an AMC motion of 2,751 frames and an AMASS-like npz of 40,000: Footplant beside plain ways to do it.

No AMC reader on the package index could be used, so the peer is what people write themselves: a loop over lines. Of npz
the peers are NumPy alone, which only hands over rotation vectors, and NumPy with SciPy's conversion to quaternions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from timing import cpu_seconds, main, times_faster

AMC_FRAMES, NPZ_FRAMES = 2_751, 40_000
BONES = (
    ("lowerback", 3), ("upperback", 3), ("thorax", 3), ("lowerneck", 3), ("upperneck", 3), ("head", 3),
    ("rclavicle", 2), ("rhumerus", 3), ("rradius", 1), ("rwrist", 1), ("rhand", 2), ("rfingers", 1), ("rthumb", 2),
    ("lclavicle", 2), ("lhumerus", 3), ("lradius", 1), ("lwrist", 1), ("lhand", 2), ("lfingers", 1), ("lthumb", 2),
    ("rfemur", 3), ("rtibia", 1), ("rfoot", 2), ("rtoes", 1), ("lfemur", 3), ("ltibia", 1), ("lfoot", 2), ("ltoes", 1),
)  # fmt: skip
"""Bones that move in CMU's files, and how many channels they have."""


def make_amc(folder: Path) -> Path:
    """A chain of bones with CMU's channels, six digits as CMU writes them."""
    rng = np.random.default_rng(0)
    blocks = [
        f"begin\n name {name}\n direction 0 1 0\n length 2\n axis 0 0 {10 * k % 90} XYZ\n"
        f" dof {' '.join(('rx', 'ry', 'rz')[:count])}\nend"
        for k, (name, count) in enumerate(BONES)
    ]
    names = ["root", *(name for name, _ in BONES)]
    tree = "\n".join(f"{above} {below}" for above, below in pairwise(names))
    head = ":units\n length 0.45\n angle deg\n:root\n order TX TY TZ RX RY RZ\n axis XYZ\n"
    (folder / "long.asf").write_text(f"{head}:bonedata\n" + "\n".join(blocks) + f"\n:hierarchy\nbegin\n{tree}\nend\n")
    width = 6 + sum(count for _, count in BONES)
    values = 60.0 * np.sin(np.cumsum(rng.normal(scale=0.05, size=(AMC_FRAMES, width)), axis=0))
    lines = [":FULLY-SPECIFIED", ":DEGREES"]
    for number, row in enumerate(values, start=1):
        lines.append(str(number))
        at = 0
        for name, count in (("root", 6), *BONES):
            lines.append(f"{name} " + " ".join(f"{value:.6g}" for value in row[at : at + count]))
            at += count
    path = folder / "long.amc"
    path.write_text("\n".join(lines) + "\n")
    return path


def make_npz(path: Path) -> None:
    """SMPL-H poses as AMASS has them: 156 doubles a frame."""
    rng = np.random.default_rng(1)
    poses = 0.5 * np.sin(np.cumsum(rng.normal(scale=0.02, size=(NPZ_FRAMES, 156)), axis=0))
    np.savez(path, poses=poses, trans=np.zeros((NPZ_FRAMES, 3)), mocap_framerate=120.0, betas=np.zeros(16))


def _lines(path: str) -> object:
    """Numbers by bone, frame by frame: no quaternions, no checks."""
    frames: list[dict[str, list[float]]] = []
    for line in Path(path).read_text().splitlines():
        words = line.split()
        if len(words) == 1 and words[0].isdigit():
            frames.append({})
        elif words and not words[0].startswith((":", "#")):
            frames[-1][words[0]] = [float(word) for word in words[1:]]
    return frames


def _lines_quaternions(path: str) -> object:
    """The same, and SciPy's quaternions of all bones."""
    from scipy.spatial.transform import Rotation

    frames = _lines(path)
    out = []
    for name, count in BONES:
        angles = np.array([frame[name] for frame in frames])  # type: ignore[attr-defined]
        out.append(Rotation.from_euler("xyz"[:count], angles, degrees=True).as_quat())
    return out


def _numpy(path: str) -> object:
    with np.load(path) as data:
        return {name: data[name] for name in data}


def _numpy_scipy(path: str) -> object:
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(_numpy(path)["poses"].reshape(-1, 3)).as_quat()  # type: ignore[index]


AMC_PEERS: dict[str, Callable[[str], object]] = {
    "a_loop_over_lines": _lines,
    "a_loop_over_lines_with_quaternions": _lines_quaternions,
}
NPZ_PEERS: dict[str, Callable[[str], object]] = {"numpy_with_scipy_quaternions": _numpy_scipy}


def run() -> dict[str, float]:
    """Reading AMC and npz files: seconds of CPU, and how many times faster than plain ways to read them."""
    from footplant.io import asf, npz

    with tempfile.TemporaryDirectory() as folder:
        amc, poses = make_amc(Path(folder)), Path(folder) / "long.npz"
        make_npz(poses)
        asf.load(amc)
        npz.load(poses)
        reading = cpu_seconds(lambda: asf.load(amc), repeats=9)
        loading = cpu_seconds(lambda: npz.load(poses), repeats=5)
        figures = {
            "parse_amc.megabytes": amc.stat().st_size / 1e6,
            "parse_amc.seconds": reading,
            "parse_amc.megabytes_per_second": amc.stat().st_size / 1e6 / reading,
            "parse_npz.megabytes": poses.stat().st_size / 1e6,
            "parse_npz.seconds": loading,
            "parse_npz.megabytes_per_second": poses.stat().st_size / 1e6 / loading,
            "parse_npz.times_as_long_as_numpy_alone": loading / cpu_seconds(lambda: _numpy(str(poses)), repeats=5),
        }
        figures |= times_faster("parse_amc", AMC_PEERS, str(amc), reading)
        figures |= times_faster("parse_npz", NPZ_PEERS, str(poses), loading)
    return figures


if __name__ == "__main__":
    main(run)
