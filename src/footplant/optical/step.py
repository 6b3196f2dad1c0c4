"""A step of a calibration: lengths, places of markers, the usual pose and the poses of all frames at once.

The poses are eliminated frame by frame (their Schur complement), which leaves one small system for what all share.
What poses swallow of the noise is added to what is minimised (see `kernels.marker_margin`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.optical.body import BACK, MarkerBody, Poses, Seen, joint_changes, length_changes, pose_changes, see
from footplant.optical.pose import SKIN, Prior, marker_weights, normal_equations, solve_poses
from footplant.optical.prior import Expected, residuals

LONGEST_TURN = 0.3
"""Radians that a usual pose turns in one step at most."""
CLEAN = 6.0
"""`State.repeated` from which on markers hardly slide on the skin."""
NEVER = 1e3
"""Metres; no marker is ever that far off."""


@dataclass(frozen=True, eq=False)
class State:
    """What is being solved for; see `marker_calibration.Calibration`."""

    lengths: NDArray
    offsets: NDArray
    poses: Poses
    skin: NDArray
    bones: NDArray
    """(J, 3) that follow from the lengths."""
    usual: NDArray
    """(A, 3) turns from the neutral pose to the one that this person usually has, about the axes of the T-pose."""
    expected: Expected
    """Of people."""
    girth: float
    """How many times as thick the body is as the base."""
    repeated: float = 1.0
    """How many times less frames tell than they would if they did not repeat each other: what is known of people counts
    as many times more."""
    adjusted: bool = False
    """Whether what poses swallow of the noise is counted; it is known when the skin is."""


def _turns(body: MarkerBody, state: State) -> NDArray:
    """(F, A, 3) how far the active joints turn from the usual pose, about the axes of the T-pose."""
    held = usual_prior(body, state).rotations[body.active]
    turn = rotation.log(rotation.multiply(rotation.inverse(held), state.poses.rotations[:, body.active]))
    return (body.axes @ turn[..., None])[..., 0]


def _usual_terms(body: MarkerBody, state: State) -> tuple[NDArray, NDArray, NDArray]:
    """What the held turns say of the usual pose: with the poses (F, 3A, 3A), by itself (3A, 3A), and to its gradient.

    A usual pose that turns with a joint takes the turn out of what is held against it.
    """
    turns = _turns(body, state)
    count, joints = turns.shape[:2]
    local = (body.axes.transpose(0, 2, 1) @ turns[..., None])[..., 0]
    cross, square = _curl(local), np.sum(local**2, axis=-1)
    angle = np.sqrt(np.maximum(square, 1e-8))
    bend = 1.0 / np.maximum(square, 1e-8) - (1.0 + np.cos(angle)) / (2.0 * angle * np.sin(angle))
    bend = np.where(square < 1e-6, 1.0 / 12.0, bend)[..., None, None]
    by_pose = body.axes @ (np.eye(3) + 0.5 * cross + bend * cross @ cross)
    by_usual = -body.axes @ (np.eye(3) - 0.5 * cross + bend * cross @ cross) @ body.axes.transpose(0, 2, 1)
    coupling, system = np.zeros((count, joints, 3, joints, 3)), np.zeros((joints, 3, joints, 3))
    right = np.zeros((joints, 3))

    def add(first: int, second: int, stiff: NDArray) -> None:
        coupling[:, first, :, second] += np.einsum("fki,fk,fkj->fij", by_pose[:, first], stiff, by_usual[:, second])
        system[first, :, second] += np.einsum("fki,fk,fkj->ij", by_usual[:, first], stiff, by_usual[:, second])
        right[first] += np.einsum("fki,fk,fk->i", by_usual[:, first], stiff, turns[:, second])

    for row, mate in enumerate(body.mates):
        add(row, row, np.where(turns[:, row] * body.one_way[row] < 0.0, BACK, body.spreads[row]) ** -2.0)
        if mate >= 0:
            stiff = np.full((count, 3), body.alike[row] ** -2.0)
            add(row, row, stiff)
            add(mate, mate, stiff)
            add(row, int(mate), -stiff)
            add(int(mate), row, -stiff)
    return coupling.reshape(count, 3 * joints, -1), system.reshape(3 * joints, -1), right.ravel()


def _curl(vectors: NDArray) -> NDArray:
    """(…, 3, 3) matrices of the cross products with vectors."""
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)


def usual_prior(body: MarkerBody, state: State) -> Prior:
    """What the poses are drawn to: the usual pose of this person.

    Were it the neutral one, all frames would say the same of somebody who stands otherwise, and stiff joints would
    outvote what is known of the places of markers.
    """
    held = np.array(body.neutral)
    turn = (body.axes.transpose(0, 2, 1) @ state.usual[..., None])[..., 0]
    held[body.active] = rotation.multiply(held[body.active], rotation.exp(turn))
    return Prior(held)


def _prior_pull(body: MarkerBody, state: State) -> tuple[NDArray, NDArray, NDArray]:
    """What people are like: residuals and weights (both (S,)), and (3M, L) how landmarks move with the lengths.

    Each residual grows with its own unknown; those of the offsets shrink with the lengths, too.
    """
    lengths, offsets = state.lengths, state.offsets
    residual = residuals(body, lengths, offsets, state.bones, state.usual, state.girth)
    moved = body.landmarks.changes(body.bone_changes(lengths)).reshape(offsets.size, -1)
    return residual, np.sqrt(state.repeated) / state.expected.spread, moved


def learn(body: MarkerBody, state: State, known: NDArray) -> State:
    """The state with what the take tells of how far people are from what is expected; known: as of `shared_step`."""
    whole = np.linalg.inv(np.tril(known) + np.tril(known, -1).T)
    residual, _, moved = _prior_pull(body, state)
    count = len(state.lengths)
    change = np.eye(len(residual))
    change[count : count + len(moved), :count] = -moved
    doubt = state.repeated * np.sum(change @ whole * change, axis=1)
    expected = state.expected.learned(residual, doubt, sliding=state.repeated < CLEAN)
    return replace(state, expected=expected, girth=float(state.lengths[0]))


def whole_cost(body: MarkerBody, state: State, targets: NDArray, outlier: NDArray) -> float:
    """Everything that is minimised."""
    seen = see(body, state.bones, state.offsets, state.poses)
    held = usual_prior(body, state)
    costs = normal_equations(body, seen, state.poses, targets, held, spread=state.skin, outlier=outlier)[2]
    residual, weights, _ = _prior_pull(body, state)
    noise = swallowed(body, state, seen, targets)[0].sum() if state.adjusted else 0.0
    return float(costs.sum() + noise + np.sum((weights * residual) ** 2))


def shared_step(
    body: MarkerBody, state: State, targets: NDArray, damping: float, outlier: NDArray
) -> tuple[State, float, NDArray]:
    """The state after a step of all that is unknown, the cost before it, and (S, S) what is known of what is shared."""
    from footplant.kernels import dense
    from footplant.optical import _shared as marker_shared

    lengths, offsets, poses = state.lengths, state.offsets, state.poses
    seen = see(body, state.bones, offsets, poses)
    hidden = np.isnan(targets[..., :1])
    misfit = np.where(hidden, 0.0, seen.places - targets)
    weights = marker_weights(misfit, ~hidden[..., 0], outlier) / state.skin**2
    hessian, gradient, costs = normal_equations(
        body, seen, poses, targets, usual_prior(body, state), spread=state.skin, outlier=outlier
    )
    noise, by_length, by_offset, by_pose = _noise_terms(body, state, seen, targets)
    gradient += by_pose
    count, size = len(targets), len(lengths) + offsets.size
    coupling = np.zeros((count, hessian.shape[-1], size + body.spreads.size))
    system, right = np.zeros((coupling.shape[-1],) * 2), np.zeros(coupling.shape[-1])
    marker_shared.couple(
        pose_changes(body, seen), weights, length_changes(body, seen, body.bone_changes(lengths)),
        rotation.to_matrix(seen.turned[:, body.segments]), misfit, coupling, system, right,
    )  # fmt: skip
    coupling[:, 3:, size:], usual_system, usual_right = _usual_terms(body, state)
    lower = np.zeros_like(hessian)
    marker_shared.eliminate(hessian, 1e-6, gradient, coupling, lower)
    marker_shared.reduce(gradient, coupling, system, right)
    right[: len(lengths)] += by_length
    right[len(lengths) : size] += by_offset.ravel()
    system[size:, size:] += usual_system
    right[size:] += usual_right
    pull, firm, moved = _prior_pull(body, state)
    own, places = slice(len(lengths)), slice(len(lengths), size)
    firmly = firm[places, None] ** 2 * moved
    system[np.diag_indices(len(right))] += firm**2
    system[own, own] += moved.T @ firmly
    system[places, own] -= firmly
    right += firm**2 * pull
    right[own] -= firmly.T @ pull[places]
    # Cholesky of ours and not NumPy's solver, which starts threads for systems as small as this
    step = np.empty((1, len(right)))
    dense.solve_damped(system[None], -right[None], np.array([damping]), step)
    step = step[0]
    step[size:] = np.clip(step[size:], -LONGEST_TURN, LONGEST_TURN)
    new_lengths = np.clip(lengths + step[: len(lengths)], 0.3, 3.0)
    new_offsets = offsets + step[len(lengths) : size].reshape(-1, 3)
    usual = state.usual + step[size:].reshape(-1, 3)
    turns = np.empty_like(gradient)
    marker_shared.follow(lower, gradient, coupling, step, turns)
    turns /= np.maximum(1.0, 2.0 * np.abs(turns[:, 3:]).max(axis=1, initial=0.0))[:, None]
    bones = body.bones(new_lengths)
    tried = replace(state, lengths=new_lengths, offsets=new_offsets, bones=bones, usual=usual)
    posed = solve_poses(
        body, bones, new_offsets, targets, poses.moved(turns, body.active),
        spread=state.skin, prior=usual_prior(body, tried), outlier=outlier, iterations=30,
    )  # fmt: skip
    cost = float(costs.sum() + noise + np.sum((firm * pull) ** 2))
    return replace(tried, poses=posed), cost, system


def alone(body: MarkerBody) -> NDArray:
    """(M,) whether a marker is the only one on the last segment of a limb.

    Its segment turns to meet it wherever it is. The one direction that is left tells where the joint is as long as the
    marker does not slide on the skin; where it does it would move the joint to where that meets the sliding the least.
    """
    parents, segments = body.base.skeleton.parents[body.active], body.segments
    return np.array([np.sum(segments == joint) == 1 and joint not in parents for joint in segments], bool)


def leverage(body: MarkerBody, state: State, seen: Seen, targets: NDArray) -> NDArray:
    """(F, M) how many of the three numbers of each marker its pose swallows."""
    held = usual_prior(body, state)
    hessian, _, _ = normal_equations(body, seen, state.poses, targets, held, spread=state.skin, outlier=NEVER)
    moved = pose_changes(body, seen)
    out = np.empty(targets.shape[:2])
    for f, matrix in enumerate(hessian):
        columns = moved[f].reshape(-1, len(matrix)).T
        out[f] = np.sum(columns * np.linalg.solve(matrix, columns), axis=0).reshape(-1, 3).sum(axis=1)
    return out / state.skin**2


def swallowed(body: MarkerBody, state: State, seen: Seen, targets: NDArray) -> tuple[NDArray, NDArray]:
    """(F,) how many numbers of the markers the poses swallow, and (F, D, D) by which that changes."""
    from footplant.optical import _margin as marker_margin

    held, targets = usual_prior(body, state), _telling(body, state, targets)
    hessian, _, _ = normal_equations(body, seen, state.poses, targets, held, spread=state.skin, outlier=NEVER)
    nothing, _, _ = normal_equations(
        body, seen, state.poses, np.full_like(targets, np.nan), held, spread=state.skin, outlier=NEVER
    )
    spreads, out = np.empty_like(hessian), np.empty(len(targets))
    marker_margin.swallow(hessian, nothing, spreads, out)
    return out, spreads


def _telling(body: MarkerBody, state: State, targets: NDArray) -> NDArray:
    """The targets without markers that are alone and slide."""
    return np.where((alone(body) & (state.skin >= SKIN))[:, None], np.nan, targets)


def _noise_terms(
    body: MarkerBody, state: State, seen: Seen, targets: NDArray
) -> tuple[float, NDArray, NDArray, NDArray]:
    """What poses swallow of the noise, and half its gradient by lengths (L,), offsets (M, 3) and poses (F, D)."""
    from footplant.optical import _margin as marker_margin

    by_joint, by_offset = np.zeros_like(seen.joints), np.zeros_like(state.offsets)
    by_pose = np.zeros((len(targets), 3 + 3 * len(body.active)))
    if not state.adjusted:
        return 0.0, np.zeros_like(state.lengths), by_offset, by_pose
    noise, spreads = swallowed(body, state, seen, targets)
    marker_margin.swallow_changes(
        body.base.skeleton.parents, body.segments, body.rows, seen.places, seen.joints, seen.turned,
        _telling(body, state, targets), state.skin**-2.0, spreads, by_joint, by_offset, by_pose,
    )  # fmt: skip
    moved = joint_changes(body, seen, body.bone_changes(state.lengths))
    return float(noise.sum()), np.tensordot(moved, by_joint, ((0, 1, 2), (0, 1, 2))), by_offset, by_pose
