"""Poses from markers: Levenberg–Marquardt on every frame by itself, many frames at once, robust to outliers.

What is minimised at a frame is Σ ρ(|marker − seen|²/σ²) + |K log(n⁻¹ q)|²: the markers' misfit, in which those that lie
far off count less and less (Geman & McClure), and the turns from a neutral pose, stiff where joints do not turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.edits.marker_body import BACK, MarkerBody, Poses, pose_changes, see

SKIN = 0.008
"""Metres that a marker moves on the skin, one way, give or take."""
OUTLIER = 0.06
"""Metres from which on a marker is likelier to be another one than to have moved on the skin."""
CHUNK = 128
"""Frames that are worked on at once: as many as stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Prior:
    """What poses are drawn to where markers do not tell."""

    rotations: NDArray
    """(J, 4) or (F, J, 4) local rotations."""
    firm: NDArray | None = None
    """(F, A) how many times stiffer than usual each active joint holds to them; None: not at all."""


def solve_poses(
    body: MarkerBody,
    bones: NDArray,
    offsets: NDArray,
    targets: NDArray,
    start: Poses,
    *,
    prior: Prior | None = None,
    outlier: float = OUTLIER,
    iterations: int = 12,
) -> Poses:
    """Poses whose markers are where they were seen; targets (F, M, 3) metres, NaN where hidden."""
    prior = prior or Prior(body.neutral)
    parts = []
    for first in range(0, len(targets), CHUNK):
        rows = slice(first, first + CHUNK)
        parts.append(
            _solve_chunk(body, bones, offsets, targets[rows], start[rows], _of(prior, rows), outlier, iterations)
        )
    return Poses(np.concatenate([part.root for part in parts]), np.concatenate([part.rotations for part in parts]))


def _solve_chunk(
    body: MarkerBody, bones, offsets, targets, start: Poses, prior: Prior, outlier: float, iterations: int
) -> Poses:
    seen_at = ~np.isnan(targets[..., 0])
    targets = np.where(seen_at[..., None], targets, 0.0)
    poses, damping = Poses(np.array(start.root), np.array(start.rotations)), np.full(len(targets), 1e-3)
    cost = np.full(len(targets), np.inf)
    busy = np.arange(len(targets))
    for number in range(iterations):
        here, held = poses[busy], _of(prior, busy)
        seen = see(body, bones, offsets, here)
        if number == 0:
            cost = marker_cost(seen.places, targets, seen_at, outlier) + prior_cost(body, here, held)
        hessian, gradient = normal_equations(body, seen, here, targets[busy], seen_at[busy], held, outlier)
        diagonal = np.einsum("fii->fi", hessian)
        diagonal += damping[busy, None] * (diagonal + 1.0)
        step = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
        # a turn of a radian in one step is beyond what the linear picture can tell
        step /= np.maximum(1.0, np.abs(step[:, 3:]).max(axis=1, initial=0.0))[:, None]
        tried = here.moved(step, body.active)
        there = see(body, bones, offsets, tried)
        new = marker_cost(there.places, targets[busy], seen_at[busy], outlier) + prior_cost(body, tried, held)
        better = new < cost[busy]
        gained = (cost[busy] - new) / np.maximum(cost[busy], 1e-12)
        done = busy[better]
        poses.root[done], poses.rotations[done], cost[done] = tried.root[better], tried.rotations[better], new[better]
        damping[busy] *= np.where(better, 0.3, 8.0)
        busy = busy[(~better & (damping[busy] < 1e6)) | (gained > 1e-4)]
        if not len(busy):
            break
    return poses


def _of(prior: Prior, rows: NDArray | slice) -> Prior:
    rotations = prior.rotations if prior.rotations.ndim == 2 else prior.rotations[rows]
    return Prior(rotations, None if prior.firm is None else prior.firm[rows])


def marker_weights(misfit: NDArray, seen_at: NDArray, outlier: float) -> NDArray:
    """(F, M) how much each marker counts: 1 where it is, less and less where it is far off, 0 where it is hidden."""
    share = 1.0 / (1.0 + np.sum(misfit**2, axis=-1) / outlier**2)
    return np.where(seen_at, share * share, 0.0)


def marker_cost(places: NDArray, targets: NDArray, seen_at: NDArray, outlier: float) -> NDArray:
    """(F,) what the markers' misfit costs."""
    squares = np.sum((places - targets) ** 2, axis=-1)
    return np.sum(np.where(seen_at, squares / (1.0 + squares / outlier**2), 0.0), axis=1) / SKIN**2


def _turns(body: MarkerBody, poses: Poses, prior: Prior) -> tuple[NDArray, NDArray]:
    """(F, A, 3) turns from the prior in stiffness, and (F, A, 3, 3) how they change with a step."""
    held = prior.rotations[..., body.active, :]
    turn = rotation.log(rotation.multiply(rotation.inverse(held), poses.rotations[:, body.active]))
    about = (body.axes @ turn[..., None])[..., 0]
    spread = np.where(about * body.one_way < 0.0, BACK, body.spreads)
    stiff = body.axes / spread[..., None]
    if prior.firm is not None:
        stiff = stiff * prior.firm[..., None, None]
    return (stiff @ turn[..., None])[..., 0], stiff @ _right_inverse(turn)


def prior_cost(body: MarkerBody, poses: Poses, prior: Prior) -> NDArray:
    """(F,) what the turns from the prior cost."""
    return np.sum(_turns(body, poses, prior)[0] ** 2, axis=(1, 2))


def _right_inverse(turn: NDArray) -> NDArray:
    """(…, 3, 3) how log(q exp(v)) changes with v at v = 0, for log q = turn: the inverse right Jacobian."""
    angle = np.linalg.norm(turn, axis=-1)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    factor = np.where(small, 1.0 / 12.0, 1.0 / safe**2 - (1.0 + np.cos(safe)) / (2.0 * safe * np.sin(safe) + 1e-300))
    x, y, z = np.moveaxis(turn, -1, 0)
    zero = np.zeros_like(x)
    skew = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*turn.shape, 3)
    return np.eye(3) + 0.5 * skew + factor[..., None, None] * (skew @ skew)


def normal_equations(
    body: MarkerBody, seen, poses: Poses, targets: NDArray, seen_at: NDArray, prior: Prior, outlier: float
) -> tuple[NDArray, NDArray]:
    """Hessian (F, D, D) and gradient (F, D) of half the cost by a step of the poses, as Gauss and Newton have them."""
    misfit = np.where(seen_at[..., None], seen.places - targets, 0.0)
    weights = np.sqrt(marker_weights(misfit, seen_at, outlier)) / SKIN
    count = len(targets)
    jacobian = (pose_changes(body, seen) * weights[..., None, None]).reshape(count, -1, 3 + 3 * len(body.active))
    residual = (misfit * weights[..., None]).reshape(count, -1)
    transposed = jacobian.transpose(0, 2, 1)
    hessian, gradient = transposed @ jacobian, (transposed @ residual[..., None])[..., 0]
    turns, change = _turns(body, poses, prior)
    blocks = change.transpose(0, 1, 3, 2) @ change
    pulls = (change.transpose(0, 1, 3, 2) @ turns[..., None])[..., 0]
    for row in range(len(body.active)):
        part = slice(3 + 3 * row, 6 + 3 * row)
        hessian[:, part, part] += blocks[:, row]
        gradient[:, part] += pulls[:, row]
    return hessian, gradient
