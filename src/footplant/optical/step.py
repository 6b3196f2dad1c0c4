"""One step of a calibration: lengths, marker offsets, mean pose and the poses of all frames at once.

The poses are eliminated frame by frame (Schur complement), which leaves one small system for the shared unknowns:
(S − Σ CᵀH⁻¹C) δ = −(r − Σ CᵀH⁻¹g). The noise that poses absorb is added to the objective (see `_margin`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.optical.body import (
    MarkerBody,
    PosedBody,
    Poses,
    joint_changes,
    length_changes,
    pose_changes,
    pose_markers,
)
from footplant.optical.pose import PosePrior, marker_weights, normal_equations, solve_poses
from footplant.optical.prior import BodyPrior, residuals
from footplant.optical.settings import CALIBRATION, NOISE, POSE

NO_OUTLIER = 1e3
"""Metres; no marker is ever that far off."""


@dataclass(frozen=True, eq=False)
class CalibrationState:
    """The unknowns; see `calibration.Calibration`."""

    lengths: NDArray
    offsets: NDArray
    poses: Poses
    skin: NDArray
    bones: NDArray
    """(J, 3) joint offsets that follow from the lengths."""
    posture: NDArray
    """(A, 3) rotations from the neutral pose to the person's mean pose, about the axes of the T-pose."""
    prior: BodyPrior
    girth: float
    """Thickness of the body relative to the base."""
    redundancy: float = 1.0
    """How many times less information frames contain than independent ones would: the prior's weight is multiplied by
    it."""
    adjusted: bool = False
    """Whether the noise absorbed by poses is accounted for; possible once the markers' noise is measured."""


def _turns(body: MarkerBody, state: CalibrationState) -> NDArray:
    """Return (F, A, 3) rotations of the active joints from the mean pose, about the axes of the T-pose."""
    held = posture_prior(body, state).rotations[body.active]
    turn = rotation.log(rotation.multiply(rotation.inverse(held), state.poses.rotations[:, body.active]))
    return (body.axes @ turn[..., None])[..., 0]


def _posture_terms(body: MarkerBody, state: CalibrationState) -> tuple[NDArray, NDArray, NDArray]:
    """Return the prior's terms of the mean pose: coupling with poses (F, 3A, 3A), system (3A, 3A) and half gradient.

    A mean pose that rotates with a joint reduces the joint's residual.
    """
    turns = _turns(body, state)
    count, joints = turns.shape[:2]
    local = (body.axes.transpose(0, 2, 1) @ turns[..., None])[..., 0]
    cross, square = _curl(local), np.sum(local**2, axis=-1)
    angle = np.sqrt(np.maximum(square, 1e-8))
    bend = 1.0 / np.maximum(square, 1e-8) - (1.0 + np.cos(angle)) / (2.0 * angle * np.sin(angle))
    bend = np.where(square < 1e-6, 1.0 / 12.0, bend)[..., None, None]
    by_pose = body.axes @ (np.eye(3) + 0.5 * cross + bend * cross @ cross)
    by_posture = -body.axes @ (np.eye(3) - 0.5 * cross + bend * cross @ cross) @ body.axes.transpose(0, 2, 1)
    coupling, system = np.zeros((count, joints, 3, joints, 3)), np.zeros((joints, 3, joints, 3))
    right = np.zeros((joints, 3))

    def add(first: int, second: int, stiff: NDArray) -> None:
        coupling[:, first, :, second] += np.einsum("fki,fk,fkj->fij", by_pose[:, first], stiff, by_posture[:, second])
        system[first, :, second] += np.einsum("fki,fk,fkj->ij", by_posture[:, first], stiff, by_posture[:, second])
        right[first] += np.einsum("fki,fk,fk->i", by_posture[:, first], stiff, turns[:, second])

    for row, mate in enumerate(body.coupled):
        spreads = np.where(turns[:, row] * body.one_way[row] < 0.0, POSE.hyperextension, body.spreads[row])
        add(row, row, spreads**-2.0)
        if mate >= 0:
            stiff = np.full((count, 3), body.coupling_spread[row] ** -2.0)
            add(row, row, stiff)
            add(mate, mate, stiff)
            add(row, int(mate), -stiff)
            add(int(mate), row, -stiff)
    return coupling.reshape(count, 3 * joints, -1), system.reshape(3 * joints, -1), right.ravel()


def _curl(vectors: NDArray) -> NDArray:
    """Return (…, 3, 3) skew-symmetric matrices of vectors."""
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)


def posture_prior(body: MarkerBody, state: CalibrationState) -> PosePrior:
    """Return the prior of poses: the person's mean pose.

    With the neutral pose instead, all frames of a person who stands differently would agree on the difference, and
    stiff joints would outweigh the prior of marker positions.
    """
    held = np.array(body.neutral)
    turn = (body.axes.transpose(0, 2, 1) @ state.posture[..., None])[..., 0]
    held[body.active] = rotation.multiply(held[body.active], rotation.exp(turn))
    return PosePrior(held)


def _prior_pull(body: MarkerBody, state: CalibrationState) -> tuple[NDArray, NDArray, NDArray]:
    """Return the body prior's residuals and weights (both (S,)), and (3M, L) derivatives of landmarks by the lengths.

    Each residual has derivative 1 by its own unknown; those of the offsets also depend on the lengths.
    """
    lengths, offsets = state.lengths, state.offsets
    residual = residuals(body, lengths, offsets, state.bones, state.posture, state.girth)
    moved = body.landmarks.changes(body.bone_changes(lengths)).reshape(offsets.size, -1)
    return residual, np.sqrt(state.redundancy) / state.prior.spread, moved


def update_prior(body: MarkerBody, state: CalibrationState, known: NDArray) -> CalibrationState:
    """Return the state with the prior's spreads estimated from the take; known: as from `shared_step`."""
    whole = np.linalg.inv(np.tril(known) + np.tril(known, -1).T)
    residual, _, moved = _prior_pull(body, state)
    count = len(state.lengths)
    change = np.eye(len(residual))
    change[count : count + len(moved), :count] = -moved
    variance = state.redundancy * np.sum(change @ whole * change, axis=1)
    prior = state.prior.updated(residual, variance, sliding=state.redundancy < CALIBRATION.clean)
    return replace(state, prior=prior, girth=float(state.lengths[0]))


def total_cost(body: MarkerBody, state: CalibrationState, targets: NDArray, outlier: NDArray) -> float:
    """Return the whole objective."""
    seen = pose_markers(body, state.bones, state.offsets, state.poses)
    held = posture_prior(body, state)
    costs = normal_equations(body, seen, state.poses, targets, held, spread=state.skin, outlier=outlier)[2]
    residual, weights, _ = _prior_pull(body, state)
    noise = absorbed_noise(body, state, seen, targets)[0].sum() if state.adjusted else 0.0
    return float(costs.sum() + noise + np.sum((weights * residual) ** 2))


def shared_step(
    body: MarkerBody, state: CalibrationState, targets: NDArray, damping: float, outlier: NDArray
) -> tuple[CalibrationState, float, NDArray]:
    """Return the state after a step, the cost before it, and (S, S) the information matrix of the shared unknowns."""
    from footplant.kernels import dense
    from footplant.optical import _shared as kernel

    lengths, offsets, poses = state.lengths, state.offsets, state.poses
    seen = pose_markers(body, state.bones, offsets, poses)
    hidden = np.isnan(targets[..., :1])
    misfit = np.where(hidden, 0.0, seen.places - targets)
    weights = marker_weights(misfit, ~hidden[..., 0], outlier) / state.skin**2
    hessian, gradient, costs = normal_equations(
        body, seen, poses, targets, posture_prior(body, state), spread=state.skin, outlier=outlier
    )
    noise, by_length, by_offset, by_pose = _noise_terms(body, state, seen, targets)
    gradient += by_pose
    count, size = len(targets), len(lengths) + offsets.size
    coupling = np.zeros((count, hessian.shape[-1], size + body.spreads.size))
    system, right = np.zeros((coupling.shape[-1],) * 2), np.zeros(coupling.shape[-1])
    # C order: picked segments come in another, and kernels are compiled ahead for this alone
    changes = length_changes(body, seen, body.bone_changes(lengths))
    axes = rotation.to_matrix(seen.turned[:, body.segments])
    kernel.couple(
        pose_changes(body, seen), weights, np.ascontiguousarray(changes), np.ascontiguousarray(axes), misfit, coupling,
        system, right,
    )  # fmt: skip
    coupling[:, 3:, size:], posture_system, posture_right = _posture_terms(body, state)
    lower = np.zeros_like(hessian)
    kernel.eliminate(hessian, 1e-6, gradient, coupling, lower)
    kernel.reduce(gradient, coupling, system, right)
    right[: len(lengths)] += by_length
    right[len(lengths) : size] += by_offset.ravel()
    system[size:, size:] += posture_system
    right[size:] += posture_right
    pull, firm, moved = _prior_pull(body, state)
    own, places = slice(len(lengths)), slice(len(lengths), size)
    firmly = firm[places, None] ** 2 * moved
    system[np.diag_indices(len(right))] += firm**2
    system[own, own] += moved.T @ firmly
    system[places, own] -= firmly
    right += firm**2 * pull
    right[own] -= firmly.T @ pull[places]
    # our Cholesky rather than NumPy's solver, which starts threads for systems as small as this
    step = np.empty((1, len(right)))
    dense.solve_damped(system[None], -right[None], np.array([damping]), step)
    step = step[0]
    step[size:] = np.clip(step[size:], -CALIBRATION.longest_turn, CALIBRATION.longest_turn)
    new_lengths = np.clip(lengths + step[: len(lengths)], 0.3, 3.0)
    new_offsets = offsets + step[len(lengths) : size].reshape(-1, 3)
    posture = state.posture + step[size:].reshape(-1, 3)
    turns = np.empty_like(gradient)
    kernel.follow(lower, gradient, coupling, step, turns)
    turns /= np.maximum(1.0, 2.0 * np.abs(turns[:, 3:]).max(axis=1, initial=0.0))[:, None]
    bones = body.bones(new_lengths)
    tried = replace(state, lengths=new_lengths, offsets=new_offsets, bones=bones, posture=posture)
    posed = solve_poses(
        body, bones, new_offsets, targets, poses.moved(turns, body.active),
        spread=state.skin, prior=posture_prior(body, tried), outlier=outlier, iterations=30,
    )  # fmt: skip
    cost = float(costs.sum() + noise + np.sum((firm * pull) ** 2))
    return replace(tried, poses=posed), cost, system


def single_markers(body: MarkerBody) -> NDArray:
    """Return (M,) whether a marker is the only one on the last segment of a limb.

    Its segment rotates to meet it wherever it is. The one remaining direction determines the joint centre as long as
    the marker does not slide on the skin; if it does, it would bias the joint centre.
    """
    parents, segments = body.base.skeleton.parents[body.active], body.segments
    return np.array([np.sum(segments == joint) == 1 and joint not in parents for joint in segments], bool)


def leverage(body: MarkerBody, state: CalibrationState, seen: PosedBody, targets: NDArray) -> NDArray:
    """Return (F, M) how many of each marker's three coordinates its pose absorbs (the hat matrix's diagonal)."""
    held = posture_prior(body, state)
    hessian, _, _ = normal_equations(body, seen, state.poses, targets, held, spread=state.skin, outlier=NO_OUTLIER)
    moved = pose_changes(body, seen)
    out = np.empty(targets.shape[:2])
    for f, matrix in enumerate(hessian):
        columns = moved[f].reshape(-1, len(matrix)).T
        out[f] = np.sum(columns * np.linalg.solve(matrix, columns), axis=0).reshape(-1, 3).sum(axis=1)
    return out / state.skin**2


def absorbed_noise(
    body: MarkerBody, state: CalibrationState, seen: PosedBody, targets: NDArray
) -> tuple[NDArray, NDArray]:
    """Return (F,) degrees of freedom of the markers that the poses absorb, and (F, D, D) for its gradient."""
    from footplant.optical import _margin as kernel

    held, targets = posture_prior(body, state), _without_sliding(body, state, targets)
    hessian, _, _ = normal_equations(body, seen, state.poses, targets, held, spread=state.skin, outlier=NO_OUTLIER)
    nothing, _, _ = normal_equations(
        body, seen, state.poses, np.full_like(targets, np.nan), held, spread=state.skin, outlier=NO_OUTLIER
    )
    spreads, out = np.empty_like(hessian), np.empty(len(targets))
    kernel.absorbed_dof(hessian, nothing, spreads, out)
    return out, spreads


def _without_sliding(body: MarkerBody, state: CalibrationState, targets: NDArray) -> NDArray:
    """Return the targets without single markers that slide on the skin."""
    return np.where((single_markers(body) & (state.skin >= NOISE.soft_tissue))[:, None], np.nan, targets)


def _noise_terms(
    body: MarkerBody, state: CalibrationState, seen: PosedBody, targets: NDArray
) -> tuple[float, NDArray, NDArray, NDArray]:
    """Return the absorbed noise, and half its gradient by lengths (L,), offsets (M, 3) and poses (F, D)."""
    from footplant.optical import _margin as kernel
    from footplant.optical._pose import PosedMarkers

    by_joint, by_offset = np.zeros_like(seen.joints), np.zeros_like(state.offsets)
    by_pose = np.zeros((len(targets), 3 + 3 * len(body.active)))
    if not state.adjusted:
        return 0.0, np.zeros_like(state.lengths), by_offset, by_pose
    noise, spreads = absorbed_noise(body, state, seen, targets)
    kernel.absorbed_dof_gradient(
        body.tables(), PosedMarkers(seen.places, seen.joints, seen.turned), _without_sliding(body, state, targets),
        state.skin**-2.0, spreads, by_joint, by_offset, by_pose,
    )  # fmt: skip
    moved = joint_changes(body, seen, body.bone_changes(state.lengths))
    return float(noise.sum()), np.tensordot(moved, by_joint, ((0, 1, 2), (0, 1, 2))), by_offset, by_pose
