"""Forward kinematics of 31 joints × 10,000 frames: our kernel beside its NumPy twin and upc-pymotion."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from timing import cpu_seconds, main
from twins import forward_numpy

JOINTS, FRAMES = 31, 10_000


def make_motion() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Parents (J,), offsets (J, 3), root (F, 3) and local rotations (F, J, 4) of a figure shaped like CMU's."""
    limbs = (0, 5, 5, 10, 4, 6)
    parents = [-1]
    for length in limbs:
        parents += [0 if step == 0 else len(parents) + step - 1 for step in range(length)]
    rng = np.random.default_rng(0)
    local = rng.normal(size=(FRAMES, JOINTS, 4))
    local /= np.linalg.norm(local, axis=-1, keepdims=True)
    return np.array(parents), rng.normal(size=(JOINTS, 3)), rng.normal(size=(FRAMES, 3)), local


def run() -> dict[str, float]:
    """Forward kinematics of 31 joints × 10,000 frames: seconds of CPU, and how many times faster than the others."""
    from footplant.kinematics import Kinematics
    from footplant.motion import Motion
    from footplant.skeleton import Skeleton

    parents, offsets, root, local = make_motion()
    skeleton = Skeleton(tuple(f"joint{j}" for j in range(JOINTS)), parents, offsets)
    motion = Motion(skeleton, root, local, 120.0)
    expected = forward_numpy(parents, offsets, root, local)[0]
    worst = float(np.abs(Kinematics(motion).positions - expected).max())
    ours = cpu_seconds(lambda: Kinematics(motion[:]), repeats=30)
    twin = cpu_seconds(lambda: forward_numpy(parents, offsets, root, local))
    figures = {
        "fk.seconds": ours,
        "fk.million_joint_frames_per_second": JOINTS * FRAMES / ours / 1e6,
        "fk.difference_to_numpy_metres": worst,
        "fk.times_faster_than_numpy": twin / ours,
    }
    try:
        from pymotion.ops.skeleton import fk
    except ImportError:
        return figures
    theirs = cpu_seconds(lambda: fk(local, root, offsets, parents))
    return figures | {"fk.times_faster_than_upc_pymotion": theirs / ours}


if __name__ == "__main__":
    main(run)
