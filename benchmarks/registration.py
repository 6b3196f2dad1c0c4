"""Comparing all frames of two clips, finding the path through them, and blending."""

from __future__ import annotations

import numpy as np

from footplant import samples
from footplant.blending.blend import blend
from footplant.blending.distance import align, clouds, distances
from footplant.blending.registration import register
from footplant.blending.warp import find_path
from timing import cpu_seconds, main

FRAMES = 1000


def plain_distances(first, second) -> np.ndarray:
    """Frame by frame with NumPy: what the one product of matrices replaces."""
    table = np.empty((len(first), len(second)))
    for i, cloud in enumerate(first.points):
        turn, shift = align(np.broadcast_to(cloud, second.points.shape), second.points, first.weights)
        cosine, sine = np.cos(turn)[:, None], np.sin(turn)[:, None]
        x, y, z = (second.points[..., k] for k in range(3))
        moved = np.stack([x * cosine + z * sine, y, z * cosine - x * sine], axis=-1) + shift[:, None]
        table[i] = np.sqrt(((cloud - moved) ** 2).sum(axis=-1) @ first.weights)
    return table


def run() -> dict[str, float]:
    """CPU time of registration: all pairs of two clips of 1,000 frames, the path, whole registrations and blends."""
    walk, other = (samples.load(name) for name in ("walk", "run"))
    motions = [clip.motion.looped(3)[:FRAMES] for clip in (walk, other)]
    around = [clouds(motion, walk.character) for motion in motions]
    table = distances(*around)
    part = [cloud[: FRAMES // 10] for cloud in around]
    # a table is as many times larger as both clips are longer
    plain = 100.0 * cpu_seconds(lambda: plain_distances(*part), repeats=1)
    ours = cpu_seconds(lambda: distances(*around), repeats=5)
    with_clouds = ours + cpu_seconds(lambda: [clouds(motion, walk.character) for motion in motions], repeats=5)
    registration = register([walk, other], reference=0)
    return {
        "registration.frames": FRAMES,
        "registration.all_pairs_seconds": ours,
        "registration.all_pairs_with_clouds_seconds": with_clouds,
        "registration.all_pairs_times_faster_than_numpy": plain / ours,
        "registration.path_seconds": cpu_seconds(lambda: find_path(table, ends="free"), repeats=3),
        "registration.register_seconds": cpu_seconds(lambda: register([walk, other], reference=0), repeats=3),
        "registration.blend_seconds": cpu_seconds(lambda: blend(registration, [0.5, 0.5], fps=30.0), repeats=3),
    }


if __name__ == "__main__":
    main(run)
