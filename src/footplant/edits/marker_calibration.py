"""Lengths of the body and places of the markers on it, from a take: all frames of a choice at once.

Given the poses, markers tell where they sit and how long bones are; given both, markers tell the poses. Going to and
fro between the two converges slowly where a joint's centre is told by motion alone, so both are solved for together:
the poses are eliminated frame by frame (their Schur complement), which leaves one small system for what all share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.edits.marker_body import LENGTHS, MarkerBody, Poses, Seen, length_changes, pose_changes, see
from footplant.edits.marker_pose import (
    OUTLIER,
    SKIN,
    Prior,
    marker_cost,
    marker_weights,
    normal_equations,
    prior_cost,
    solve_poses,
)
from footplant.errors import MotionError

FRAMES = 48
"""Frames that a calibration looks at."""
ROUNDS = 25
"""Steps of the calibration at most."""
SCALE_SPREAD, LENGTH_SPREAD = 0.25, 0.08
"""How far people's size and proportions are from the mean, as shares."""
FEWEST = 6
"""Markers that a frame must have to be posed at all."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a take tells of the body that made it."""

    lengths: NDArray
    """(L,) overall scale, then `LENGTHS` relative to it."""
    offsets: NDArray
    """(M, 3) where each marker sits in its segment's frame, metres."""
    spread: NDArray
    """(L,) how sure the lengths are: standard deviations, as shares."""
    frames: NDArray
    """Frames that were looked at."""
    poses: Poses
    """Poses at these."""


def calibrate(body: MarkerBody, targets: NDArray) -> Calibration:
    """Lengths, places of the markers and poses of some frames of a take; targets (F, M, 3), NaN where hidden."""
    frames = _choose_frames(targets)
    lengths = np.ones(1 + len(LENGTHS))
    lengths[0] = _size(body, targets[frames])
    offsets = lengths[0] * body.landmarks[0]
    poses = _first_poses(body, lengths, offsets, targets[frames])
    spread = np.zeros(len(lengths))
    outlier = 3.0 * OUTLIER
    damping, cost = 1e-2, np.inf
    for _ in range(ROUNDS):
        step, cost, spread = _shared_step(body, lengths, offsets, poses, targets[frames], damping, outlier)
        tried_lengths = np.clip(lengths + step[: len(lengths)], 0.3, 3.0)
        tried_offsets = offsets + step[len(lengths) :].reshape(-1, 3)
        tried = solve_poses(
            body, body.bones(tried_lengths), tried_offsets, targets[frames], poses, outlier=outlier, iterations=3
        )
        new = _whole_cost(body, tried_lengths, tried_offsets, tried, targets[frames], outlier)
        if new < cost:
            lengths, offsets, poses, damping = tried_lengths, tried_offsets, tried, 0.2 * damping
            if outlier > OUTLIER:
                outlier = max(OUTLIER, 0.6 * outlier)
            elif cost - new < 1e-4 * cost:
                break
        else:
            damping *= 10.0
            if damping > 1e4:
                break
    return Calibration(lengths, offsets, spread, frames, poses)


def _choose_frames(targets: NDArray) -> NDArray:
    """Frames spread over the take, of those that have most of their markers."""
    seen = np.sum(~np.isnan(targets[..., 0]), axis=1)
    good = np.flatnonzero(seen >= max(FEWEST, 0.8 * seen.max(initial=0)))
    if not len(good) or seen.max(initial=0) < FEWEST:
        raise MotionError(f"expected {FEWEST} or more markers in some frame, got at most {int(seen.max(initial=0))}")
    return good[np.unique(np.linspace(0, len(good) - 1, min(FRAMES, len(good))).round().astype(int))]


def _size(body: MarkerBody, targets: NDArray) -> float:
    """The body's size: how much farther apart markers of one segment, or of two that meet, get than on the base."""
    parents = body.base.skeleton.parents
    places = see(
        body, body.base.skeleton.offsets, body.landmarks[0], Poses(np.zeros((1, 3)), body.reference[None])
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
    return float(np.clip(np.median(ratios), 0.3, 3.0)) if ratios else 1.0


def _first_poses(body: MarkerBody, lengths: NDArray, offsets: NDArray, targets: NDArray) -> Poses:
    """Poses from nothing: the frame with most markers from several sides, then from each frame to its neighbours."""
    bones = body.bones(lengths)
    order = int(np.argmax(np.sum(~np.isnan(targets[..., 0]), axis=1)))
    first = _from_nothing(body, bones, offsets, targets[order])
    count = len(targets)
    root, rotations = np.repeat(first.root, count, axis=0), np.repeat(first.rotations, count, axis=0)
    for way in (range(order + 1, count), range(order - 1, -1, -1)):
        pose = first
        for row in way:
            target = targets[row : row + 1]
            shift = np.nanmedian(target - see(body, bones, offsets, pose).places, axis=1)
            pose = Poses(pose.root + np.nan_to_num(shift), pose.rotations)
            pose = solve_poses(body, bones, offsets, target, pose, outlier=5.0 * OUTLIER, iterations=12)
            root[row], rotations[row] = pose.root[0], pose.rotations[0]
    return Poses(root, rotations)


def _from_nothing(body: MarkerBody, bones: NDArray, offsets: NDArray, target: NDArray) -> Poses:
    """The pose of a frame that nothing is known of: standing, from eight sides, arms hanging and held out."""
    starts = []
    for pose in (body.neutral, body.reference):
        for turn in np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False):
            rotations = np.array(pose)
            rotations[0] = rotation.multiply(rotation.from_axis_angle([0.0, 1.0, 0.0], turn), rotations[0])
            starts.append(rotations)
    rotations = np.array(starts)
    targets = np.repeat(target[None], len(starts), axis=0)
    places = see(body, bones, offsets, Poses(np.zeros((len(starts), 3)), rotations)).places
    poses = Poses(np.nanmean(targets - places, axis=1), rotations)
    for outlier, iterations in ((10.0, 40), (5.0 * OUTLIER, 20)):
        poses = solve_poses(body, bones, offsets, targets, poses, outlier=outlier, iterations=iterations)
    misfit = np.nansum(np.sum((see(body, bones, offsets, poses).places - targets) ** 2, axis=-1), axis=1)
    best = int(np.argmin(misfit))
    return poses[best : best + 1]


def _prior_pull(body: MarkerBody, lengths: NDArray, offsets: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """What people are like: residuals, their weights (both (P,)), and how the offsets' ones change with the scale."""
    local, spread = body.landmarks
    shares = np.concatenate([[SCALE_SPREAD], np.full(len(lengths) - 1, LENGTH_SPREAD)])
    off = offsets - lengths[0] * local
    residual = np.concatenate([lengths - 1.0, off.ravel()])
    weights = np.concatenate([1.0 / shares, np.repeat(1.0 / spread, 3)])
    return residual, weights, local.ravel()


def _whole_cost(body: MarkerBody, lengths, offsets, poses: Poses, targets: NDArray, outlier: float) -> float:
    """Half of everything that is minimised."""
    places = see(body, body.bones(lengths), offsets, poses).places
    seen_at = ~np.isnan(targets[..., 0])
    known = np.where(seen_at[..., None], targets, 0.0)
    frames = marker_cost(places, known, seen_at, outlier) + prior_cost(body, poses, Prior(body.neutral))
    residual, weights, _ = _prior_pull(body, lengths, offsets)
    return float(frames.sum() + len(targets) * np.sum((weights * residual) ** 2) / FRAMES)


def _shared_step(
    body: MarkerBody, lengths: NDArray, offsets: NDArray, poses: Poses, targets: NDArray, damping: float, outlier: float
) -> tuple[NDArray, float, NDArray]:
    """A step of lengths and offsets with the poses following, the cost before it, and the lengths' spread."""
    seen = see(body, body.bones(lengths), offsets, poses)
    seen_at = ~np.isnan(targets[..., 0])
    known = np.where(seen_at[..., None], targets, 0.0)
    shared = _shared_changes(body, lengths, seen)
    misfit = np.where(seen_at[..., None], seen.places - known, 0.0)
    weights = np.sqrt(marker_weights(misfit, seen_at, outlier)) / SKIN
    hessian, gradient = normal_equations(body, seen, poses, known, seen_at, Prior(body.neutral), outlier)
    count, size = len(targets), shared.shape[-1]
    own = (pose_changes(body, seen) * weights[..., None, None]).reshape(count, -1, hessian.shape[-1])
    all_of = (shared * weights[..., None, None]).reshape(count, -1, size)
    residual = (misfit * weights[..., None]).reshape(count, -1, 1)
    diagonal = np.einsum("fii->fi", hessian)
    diagonal += 1e-6 * diagonal + 1e-9
    coupling = own.transpose(0, 2, 1) @ all_of
    solved = np.linalg.solve(hessian, np.concatenate([coupling, gradient[..., None]], axis=2))
    outer = all_of.transpose(0, 2, 1)
    system = (outer @ all_of - coupling.transpose(0, 2, 1) @ solved[..., :-1]).sum(axis=0)
    right = (outer @ residual - coupling.transpose(0, 2, 1) @ solved[..., -1:]).sum(axis=0)[:, 0]
    pull, firm, local = _prior_pull(body, lengths, offsets)
    change = np.eye(size)
    change[len(lengths) :, 0] = -local
    firm = firm * np.sqrt(len(targets) / FRAMES)
    system += change.T @ (firm[:, None] ** 2 * change)
    right += change.T @ (firm**2 * pull)
    spread = np.sqrt(np.maximum(np.diag(np.linalg.inv(system))[: len(lengths)], 0.0))
    system[np.diag_indices(size)] *= 1.0 + damping
    cost = _whole_cost(body, lengths, offsets, poses, targets, outlier)
    return -np.linalg.solve(system, right), cost, spread


def _shared_changes(body: MarkerBody, lengths: NDArray, seen: Seen) -> NDArray:
    """(F, M, 3, L + 3M) how the markers move with the lengths and with their own offsets."""
    count, markers = seen.places.shape[:2]
    sizes = len(lengths)
    out = np.zeros((count, markers, 3, sizes + 3 * markers))
    out[..., :sizes] = length_changes(body, seen, body.bone_changes(lengths))
    axes = rotation.to_matrix(seen.turned[:, body.segments])
    for marker in range(markers):
        out[:, marker, :, sizes + 3 * marker : sizes + 3 * marker + 3] = axes[:, marker]
    return out
