"""Poses from 41 markers: frames a second on one core after calibration, beside SciPy on the same problem."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from markers_made import CMU_41, wear  # pyright: ignore[reportMissingImports]
from timing import cpu_seconds, main

FRAMES = 200
"""Frames that are solved; each begins at the pose of the one before it."""
PEER_FRAMES = 3
"""Frames that the peer solves: it takes seconds for each."""


def run() -> dict[str, float]:
    """Frames a second of the solver, of SciPy's least squares on the same residuals, and seconds of a calibration."""
    from scipy.optimize import least_squares

    from footplant import rotation, samples
    from footplant.optical.body import MarkerBody, pose_markers
    from footplant.optical.calibration import calibrate
    from footplant.optical.marker_sets import recognise
    from footplant.optical.pose import solve_poses
    from footplant.optical.settings import POSE

    made = wear(CMU_41, "walk", seed=1)
    targets = np.array(made.markers.positions)
    body = MarkerBody.of(samples.load_character("mannequin"), recognise(CMU_41)[1])
    told = calibrate(body, targets, made.markers.fps)
    calibrating = cpu_seconds(lambda: calibrate(body, targets, made.markers.fps), repeats=1, shortest=0.0)
    bones = body.bones(told.lengths)
    targets = targets[told.frames[0] : told.frames[0] + FRAMES]
    start = told.poses[np.zeros(len(targets), int)]
    options = {"spread": told.skin, "outlier": told.outlier, "prior": told.prior}
    # one frame to begin at, then every frame begins at its neighbour's pose
    ours = cpu_seconds(lambda: solve_poses(body, bones, told.offsets, targets, start, warm=True, **options), repeats=3)
    first = solve_poses(body, bones, told.offsets, targets[:1], start[:1], **options)

    mated = body.coupled >= 0

    def residuals(step, target, pose):
        moved = pose.moved(step[None], body.active)
        away = (pose_markers(body, bones, told.offsets, moved).places[0] - target) / told.skin[:, None]
        turn = rotation.log(rotation.multiply(rotation.inverse(told.prior.rotations), moved.rotations[0]))[body.active]
        about = np.einsum("aij,aj->ai", body.axes, turn)
        spread = np.where(about * body.one_way < 0.0, POSE.hyperextension, body.spreads)
        apart = (about[mated] - about[body.coupled[mated]]) / body.coupling_spread[mated, None]
        return np.concatenate([np.nan_to_num(away).ravel(), (about / spread).ravel(), apart.ravel()])

    def peer():
        pose = first
        for target in targets[1 : 1 + PEER_FRAMES]:
            found = least_squares(residuals, np.zeros(3 + 3 * len(body.active)), args=(target, pose), ftol=1e-4)
            pose = pose.moved(found.x[None], body.active)

    theirs = cpu_seconds(peer, repeats=1, shortest=0.0)
    return {
        "markers.frames_per_second": len(targets) / ours,
        "markers.scipy_frames_per_second": PEER_FRAMES / theirs,
        "markers.times_faster_than_scipy": (theirs / PEER_FRAMES) / (ours / len(targets)),
        "markers.calibration_seconds": calibrating,
    }


if __name__ == "__main__":
    main(run)
