"""Where a calibration begins: the body's size, and poses from nothing but expected places of the markers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import MotionError
from footplant.optical.body import MarkerBody, Poses, see
from footplant.optical.pose import OUTLIER, Prior, normal_equations, solve_poses

SMALLEST, TALLEST = 0.4, 4.0
"""Metres; who wears markers is no smaller and no taller."""
SIDES = 8
"""Directions that a body is tried to face."""
TRUNK = ("hips", "chest", "head", "left_clavicle", "right_clavicle")
"""Segments that are nearly one rigid piece."""


def body_size(body: MarkerBody, targets: NDArray) -> float:
    """The body's size: how much farther apart markers of one segment, or of two that meet, get than on the base."""
    parents = body.base.skeleton.parents
    places = see(
        body,
        body.base.skeleton.offsets,
        body.landmarks.places(body.base.skeleton.offsets, 1.0),
        Poses(np.zeros((1, 3)), body.reference[None]),
    ).places[0]
    ratios = []
    for a in range(len(body.stuck)):
        for b in range(a + 1, len(body.stuck)):
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


def first_poses(body: MarkerBody, bones: NDArray, offsets: NDArray, targets: NDArray) -> Poses:
    """Poses from nothing: the frame with most markers from several sides, then from each frame to its neighbours."""
    order = int(np.argmax(np.sum(~np.isnan(targets[..., 0]), axis=1)))
    first = _from_nothing(body, bones, offsets, targets[order])
    count = len(targets)
    root, rotations = np.repeat(first.root, count, axis=0), np.repeat(first.rotations, count, axis=0)
    for way in (range(order + 1, count), range(order - 1, -1, -1)):
        pose = first
        for row in way:
            target = targets[row : row + 1]
            pose = _carried(body, pose, see(body, bones, offsets, pose).places[0], target[0])
            pose = solve_poses(body, bones, offsets, target, pose, outlier=5.0 * OUTLIER, iterations=12)
            root[row], rotations[row] = pose.root[0], pose.rotations[0]
    return Poses(root, rotations)


def _from_nothing(body: MarkerBody, bones: NDArray, offsets: NDArray, target: NDArray) -> Poses:
    """The pose of a frame that nothing is known of: standing, from several sides, arms hanging and held out.

    The trunk's markers alone tell how it is turned, whatever limbs do; where they do not, one of the sides will.
    """
    root, rotations = [], []
    for pose in (body.neutral, body.reference):
        for turn in np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False):
            turned = np.array(pose)
            turned[0] = rotation.multiply(rotation.from_axis_angle([0.0, 1.0, 0.0], turn), turned[0])
            start = Poses(np.zeros((1, 3)), turned[None])
            places = see(body, bones, offsets, start).places[0]
            root.append(np.nanmean(target - places, axis=0))
            rotations.append(turned)
        start = _carried(body, start, places, target)
        root.append(start.root[0])
        rotations.append(start.rotations[0])
    poses, targets = Poses(np.array(root), np.array(rotations)), np.repeat(target[None], len(root), axis=0)
    for outlier, iterations in ((10.0, 40), (5.0 * OUTLIER, 20)):
        poses = solve_poses(body, bones, offsets, targets, poses, outlier=outlier, iterations=iterations)
    seen = see(body, bones, offsets, poses)
    cost = normal_equations(body, seen, poses, targets, Prior(body.neutral), outlier=5.0 * OUTLIER)[2]
    best = int(np.argmin(cost))
    return poses[best : best + 1]


def _carried(body: MarkerBody, pose: Poses, places: NDArray, target: NDArray) -> Poses:
    """A pose moved as a whole to where the trunk's markers are, or all where the trunk has too few; Kabsch (1976)."""
    known = ~np.isnan(target[:, 0])
    trunk = known & np.array([item.role in TRUNK for item in body.stuck], bool)
    rows = np.flatnonzero(trunk if trunk.sum() >= 4 else known)
    if len(rows) < 3:
        return pose
    here, there = places[rows].mean(axis=0), target[rows].mean(axis=0)
    u, _, v = np.linalg.svd((target[rows] - there).T @ (places[rows] - here))
    matrix = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ v))]) @ v
    turned = np.array(pose.rotations)
    turned[:, 0] = rotation.multiply(rotation.from_matrix(matrix), turned[:, 0])
    return Poses((pose.root - here) @ matrix.T + there, turned)
