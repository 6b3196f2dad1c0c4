"""Initial values of a calibration: the body's size, and poses from expected marker positions alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import MotionError
from footplant.optical.body import MarkerBody, Poses, pose_markers
from footplant.optical.pose import PosePrior, normal_equations, solve_poses
from footplant.optical.settings import NOISE

SMALLEST, TALLEST = 0.4, 4.0
"""Metres; range of plausible body heights. Outside it the units are wrong."""
SIDES = 8
"""Initial headings tried."""
WIDE = 5.0
"""Factor of the outlier distance while poses are still far off."""
TRUNK = ("hips", "chest", "head", "left_clavicle", "right_clavicle")
"""Segments that together are nearly rigid."""


def body_size(body: MarkerBody, targets: NDArray) -> float:
    """Estimate the body's scale from distances between markers of one segment, or of two adjacent ones."""
    parents = body.base.skeleton.parents
    places = pose_markers(
        body,
        body.base.skeleton.offsets,
        body.landmarks.places(body.base.skeleton.offsets, 1.0),
        Poses(np.zeros((1, 3)), body.reference[None]),
    ).places[0]
    ratios = []
    for a in range(len(body.placements)):
        for b in range(a + 1, len(body.placements)):
            joints = (int(body.segments[a]), int(body.segments[b]))
            meet = joints[0] == joints[1] or parents[joints[0]] == joints[1] or parents[joints[1]] == joints[0]
            apart = float(np.linalg.norm(places[a] - places[b]))
            gaps = np.linalg.norm(targets[:, a] - targets[:, b], axis=-1)
            gaps = gaps[~np.isnan(gaps)]
            if meet and apart > 0.12 * body.base.height and len(gaps):
                ratios.append(float(np.percentile(gaps, 80)) / apart)
    size = float(np.median(ratios)) if ratios else 1.0
    if not SMALLEST <= size * body.base.height <= TALLEST:
        raise MotionError(
            f"expected a body of {SMALLEST} to {TALLEST} m, got one of {size * body.base.height:.3g} m; the take may "
            "be in other units than it says (units=, --units)"
        )
    return size


def initial_poses(body: MarkerBody, bones: NDArray, offsets: NDArray, targets: NDArray) -> Poses:
    """Find poses without initial values: the frame with most markers from several headings, then outwards from it."""
    order = int(np.argmax(np.sum(~np.isnan(targets[..., 0]), axis=1)))
    first = _pose_from_scratch(body, bones, offsets, targets[order])
    count = len(targets)
    root, rotations = np.repeat(first.root, count, axis=0), np.repeat(first.rotations, count, axis=0)
    for way in (range(order + 1, count), range(order - 1, -1, -1)):
        pose = first
        for row in way:
            target = targets[row : row + 1]
            pose = _align_trunk(body, pose, pose_markers(body, bones, offsets, pose).places[0], target[0])
            pose = solve_poses(body, bones, offsets, target, pose, outlier=WIDE * NOISE.outlier, iterations=12)
            root[row], rotations[row] = pose.root[0], pose.rotations[0]
    return Poses(root, rotations)


def _pose_from_scratch(body: MarkerBody, bones: NDArray, offsets: NDArray, target: NDArray) -> Poses:
    """Find the pose of one frame: standing, from several headings, with arms hanging and held out.

    The trunk's markers alone usually determine its orientation, whatever the limbs do; otherwise one of the headings
    leads there.
    """
    root, rotations = [], []
    for pose in (body.neutral, body.reference):
        for turn in np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False):
            turned = np.array(pose)
            turned[0] = rotation.multiply(rotation.from_axis_angle([0.0, 1.0, 0.0], turn), turned[0])
            start = Poses(np.zeros((1, 3)), turned[None])
            places = pose_markers(body, bones, offsets, start).places[0]
            root.append(np.nanmean(target - places, axis=0))
            rotations.append(turned)
        start = _align_trunk(body, start, places, target)
        root.append(start.root[0])
        rotations.append(start.rotations[0])
    poses, targets = Poses(np.array(root), np.array(rotations)), np.repeat(target[None], len(root), axis=0)
    for outlier, iterations in ((10.0, 40), (WIDE * NOISE.outlier, 20)):
        poses = solve_poses(body, bones, offsets, targets, poses, outlier=outlier, iterations=iterations)
    seen = pose_markers(body, bones, offsets, poses)
    cost = normal_equations(body, seen, poses, targets, PosePrior(body.neutral), outlier=WIDE * NOISE.outlier)[2]
    best = int(np.argmin(cost))
    return poses[best : best + 1]


def _align_trunk(body: MarkerBody, pose: Poses, places: NDArray, target: NDArray) -> Poses:
    """Move a pose rigidly so that the trunk's markers fit, or all markers if the trunk has too few (Kabsch 1976)."""
    known = ~np.isnan(target[:, 0])
    trunk = known & np.array([item.role in TRUNK for item in body.placements], bool)
    rows = np.flatnonzero(trunk if trunk.sum() >= 4 else known)
    if len(rows) < 3:
        return pose
    here, there = places[rows].mean(axis=0), target[rows].mean(axis=0)
    u, _, v = np.linalg.svd((target[rows] - there).T @ (places[rows] - here))
    matrix = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ v))]) @ v
    turned = np.array(pose.rotations)
    turned[:, 0] = rotation.multiply(rotation.from_matrix(matrix), turned[:, 0])
    return Poses((pose.root - here) @ matrix.T + there, turned)
