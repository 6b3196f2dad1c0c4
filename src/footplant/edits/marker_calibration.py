"""Lengths of the body and places of the markers on it, from a take: all frames of a choice at once.

Given the poses, markers tell where they sit and how long bones are; given both, markers tell the poses. Going to and
fro between the two converges slowly where a joint's centre is told by motion alone, so both are solved for together:
the poses are eliminated frame by frame (their Schur complement), which leaves one small system for what all share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.edits.marker_body import ANY, LENGTHS, MarkerBody, Poses, Seen, length_changes, pose_changes, see
from footplant.edits.marker_pose import OUTLIER, SKIN, Prior, marker_weights, normal_equations, solve_poses
from footplant.errors import MotionError

FRAMES = 96
"""Frames that a calibration looks at."""
ROUNDS = 40
"""Steps of the calibration at most."""
ENOUGH = 3e-4
"""Share of the cost that a step must gain to be followed by another one."""
MEASURED = 2
"""How many times the markers' own motion on the skin is measured."""
FAR_OFF, LEAST_OUTLIER = 8.0, 0.012
"""What is farther off than this many times the usual, and than these metres, is likelier to be something else."""
ODD = 0.03
"""Metres that a marker must be off for its frame to be left out."""
LEAST_SKIN = 0.005
"""Metres; skin slides with the pose, in all frames alike, so what is left over tells too little of it; and poses, of
which each frame has its own, would swallow noise by moving joints to where they can (Neyman & Scott 1948)."""
MEDIAN_OF_SQUARES = 2.366
"""The median of the sum of three squared normal numbers."""
SCALE_SPREAD, LENGTH_SPREAD = 0.25, 0.05
"""How far people's size and proportions are from the mean, as shares."""
SMALLEST, TALLEST = 0.4, 4.0
"""Metres; who wears markers is no smaller and no taller."""
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
    skin: NDArray
    """(M,) how far each marker moves on its segment, one way, give or take; metres."""
    prior: Prior
    """How the person holds themselves."""
    outlier: NDArray
    """(M,) metres from which on a marker is taken for something else."""


def calibrate(body: MarkerBody, targets: NDArray) -> Calibration:
    """Lengths, places of the markers and poses of some frames of a take; targets (F, M, 3), NaN where hidden.

    How far markers move on the skin is not known beforehand: it is measured from what is left over when all else is
    found, and found again with that.
    """
    frames = _choose_frames(targets)
    chosen = targets[frames]
    lengths = np.ones(1 + len(LENGTHS))
    lengths[0] = _size(body, chosen)
    bones = body.bones(lengths)
    offsets = body.landmarks.places(bones, lengths[0])
    poses, skin = _first_poses(body, bones, offsets, chosen), np.full(len(offsets), SKIN)
    state = _State(lengths, offsets, poses, skin, bones, np.zeros_like(body.spreads))
    known = np.eye(len(lengths))
    narrow = np.full(len(offsets), OUTLIER)
    outlier, damping, measured = 4.0 * narrow, 1e-2, 0
    for _ in range(ROUNDS):
        tried, cost, known = _shared_step(body, state, chosen, damping, outlier)
        gained = cost - _whole_cost(body, tried, chosen, outlier)
        if gained <= 0.0:
            damping *= 10.0
            if damping > 1.0:
                break
            continue
        state, damping = tried, max(0.1 * damping, 1e-6)
        if np.any(outlier > narrow):
            outlier = np.maximum(narrow, 0.5 * outlier)
        elif gained < ENOUGH * cost:
            if measured == MEASURED:
                break
            frames, state = _without_odd(body, state, targets, frames)
            chosen = targets[frames]
            state = replace(state, skin=_measure_skin(body, state, chosen))
            measured += 1
            narrow, damping = np.clip(FAR_OFF * state.skin, LEAST_OUTLIER, OUTLIER), 1e-4
            outlier = np.maximum(narrow, 0.5 * outlier)
    held = _prior(body, state)
    spread = np.sqrt(np.maximum(np.diag(np.linalg.inv(known))[: len(lengths)], 0.0))
    return Calibration(state.lengths, state.offsets, spread, frames, state.poses, state.skin, held, outlier)


@dataclass(frozen=True, eq=False)
class _State:
    """What is being solved for; see `Calibration`."""

    lengths: NDArray
    offsets: NDArray
    poses: Poses
    skin: NDArray
    bones: NDArray
    """(J, 3) that follow from the lengths."""
    usual: NDArray
    """(A, 3) turns from the neutral pose to the one that this person usually has, about the axes of the T-pose."""


def _without_odd(body: MarkerBody, state: _State, targets: NDArray, frames: NDArray) -> tuple[NDArray, _State]:
    """The frames in which no marker is far off, as long as these are most of them.

    Where two markers have each other's name one of them may be met by a joint that has no other marker to say no.
    """
    away = np.linalg.norm(see(body, state.bones, state.offsets, state.poses).places - targets[frames], axis=-1)
    limit = np.maximum(ODD, 6.0 * np.nanmedian(away))
    good = ~np.any(away > limit, axis=1)
    if good.sum() < 0.7 * len(frames):
        return frames, state
    return frames[good], replace(state, poses=state.poses[good])


def _turns(body: MarkerBody, state: _State) -> NDArray:
    """(F, A, 3) how far the active joints turn from the usual pose, about the axes of the T-pose."""
    held = _prior(body, state).rotations[body.active]
    turn = rotation.log(rotation.multiply(rotation.inverse(held), state.poses.rotations[:, body.active]))
    return (body.axes @ turn[..., None])[..., 0]


def _prior(body: MarkerBody, state: _State) -> Prior:
    """What the poses are drawn to: the usual pose of this person.

    Were it the neutral one, all frames would say the same of somebody who stands otherwise, and stiff joints would
    outvote what is known of the places of markers.
    """
    held = np.array(body.neutral)
    turn = (body.axes.transpose(0, 2, 1) @ state.usual[..., None])[..., 0]
    held[body.active] = rotation.multiply(held[body.active], rotation.exp(turn))
    return Prior(held)


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


def _first_poses(body: MarkerBody, bones: NDArray, offsets: NDArray, targets: NDArray) -> Poses:
    """Poses from nothing: the frame with most markers from several sides, then from each frame to its neighbours."""
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


def _prior_pull(body: MarkerBody, state: _State) -> tuple[NDArray, NDArray, NDArray]:
    """What people are like: residuals and their weights (both (P,)), and (P, P) how they change with what is shared."""
    lengths, count = state.lengths, len(state.lengths)
    shares = np.concatenate([[SCALE_SPREAD], np.full(count - 1, LENGTH_SPREAD)])
    off = state.offsets - body.landmarks.places(state.bones, lengths[0])
    residual = np.concatenate([lengths - 1.0, off.ravel(), state.usual.ravel()])
    change = np.eye(len(residual))
    moved = body.landmarks.changes(body.bone_changes(lengths))
    change[count : count + off.size, :count] = -moved.reshape(off.size, -1)
    # there is no usual pose about an axis that is free to turn; and at the end of a limb, markers that sit otherwise
    # and a joint that is turned otherwise are the same
    ends = [not np.isin(body.base.skeleton.parents[body.active], joint).any() for joint in body.active]
    posture = np.where((body.spreads >= ANY) | np.array(ends)[:, None], 1e-3, body.spreads)
    weights = np.concatenate([1.0 / shares, np.repeat(1.0 / body.landmarks.spread, 3), 1.0 / posture.ravel()])
    return residual, weights, change


def _whole_cost(body: MarkerBody, state: _State, targets: NDArray, outlier: NDArray) -> float:
    """Everything that is minimised."""
    seen = see(body, state.bones, state.offsets, state.poses)
    costs = normal_equations(
        body, seen, state.poses, targets, _prior(body, state), spread=state.skin, outlier=outlier
    )[2]  # fmt: skip
    residual, weights, _ = _prior_pull(body, state)
    return float(costs.sum() + np.sum((weights * residual) ** 2))


def _shared_step(
    body: MarkerBody, state: _State, targets: NDArray, damping: float, outlier: NDArray
) -> tuple[_State, float, NDArray]:
    """The state after a step of all that is unknown, the cost before it, and what is known of what is shared (S, S)."""
    from footplant.kernels import marker_shared

    lengths, offsets, poses = state.lengths, state.offsets, state.poses
    seen = see(body, state.bones, offsets, poses)
    hidden = np.isnan(targets[..., :1])
    misfit = np.where(hidden, 0.0, seen.places - targets)
    weights = np.sqrt(marker_weights(misfit, ~hidden[..., 0], outlier)) / state.skin
    hessian, gradient, costs = normal_equations(
        body, seen, poses, targets, _prior(body, state), spread=state.skin, outlier=outlier
    )
    shared = _shared_changes(body, lengths, seen)
    count, size = len(targets), shared.shape[-1]
    own = (pose_changes(body, seen) * weights[..., None, None]).reshape(count, -1, hessian.shape[-1])
    all_of = (shared * weights[..., None, None]).reshape(count, -1, size)
    residual = (misfit * weights[..., None]).reshape(count, -1, 1)
    coupling = np.zeros((count, hessian.shape[-1], size + body.spreads.size))
    marker_shared.couple(own, all_of, coupling)
    # a usual pose that turns with a joint takes the turn out of what is held against it
    for row in range(len(body.active)):
        part = slice(3 * row, 3 * row + 3)
        coupling[:, 3:, size:][:, part, part] = -body.axes[row].T / body.spreads[row] ** 2
    lower = np.zeros_like(hessian)
    marker_shared.eliminate(hessian, 1e-6, gradient, coupling, lower)
    system = -np.tensordot(coupling, coupling, ((0, 1), (0, 1)))
    right = -np.tensordot(coupling, gradient, ((0, 1), (0, 1)))
    system[:size, :size] += np.tensordot(all_of, all_of, ((0, 1), (0, 1)))
    right[:size] += np.tensordot(all_of, residual[..., 0], ((0, 1), (0, 1)))
    stiff = body.spreads**-2.0
    system[range(size, len(right)), range(size, len(right))] += count * stiff.ravel()
    right[size:] -= np.sum(_turns(body, state) * stiff, axis=0).ravel()
    pull, firm, change = _prior_pull(body, state)
    system += change.T @ (firm[:, None] ** 2 * change)
    right += change.T @ (firm**2 * pull)
    known = system.copy()
    system[np.diag_indices(len(right))] *= 1.0 + damping
    step = -np.linalg.solve(system, right)
    new_lengths = np.clip(lengths + step[: len(lengths)], 0.3, 3.0)
    new_offsets = offsets + step[len(lengths) : size].reshape(-1, 3)
    usual = state.usual + step[size:].reshape(-1, 3)
    turns = np.empty_like(gradient)
    marker_shared.follow(lower, gradient, coupling, step, turns)
    turns /= np.maximum(1.0, 2.0 * np.abs(turns[:, 3:]).max(axis=1, initial=0.0))[:, None]
    bones = body.bones(new_lengths)
    tried = replace(state, lengths=new_lengths, offsets=new_offsets, bones=bones, usual=usual)
    moved = solve_poses(
        body, bones, new_offsets, targets, poses.moved(turns, body.active),
        spread=state.skin, prior=_prior(body, tried), outlier=outlier, iterations=5,
    )  # fmt: skip
    cost = float(costs.sum() + np.sum((firm * pull) ** 2))
    return replace(tried, poses=moved), cost, known


def _measure_skin(body: MarkerBody, state: _State, targets: NDArray) -> NDArray:
    """(M,) how far each marker moves on its segment, one way, metres, from what is left over of it.

    Unknowns swallow a part of that: as many numbers as poses, lengths and offsets have, less what is known of them.
    No marker is taken for better than all of them together: one that is alone on its segment is always met.
    """
    seen = see(body, state.bones, state.offsets, state.poses)
    left = np.sum((seen.places - targets) ** 2, axis=-1)
    hessian, _, _ = normal_equations(body, seen, state.poses, targets, _prior(body, state), spread=state.skin)
    nothing, _, _ = normal_equations(
        body, seen, state.poses, np.full_like(targets, np.nan), _prior(body, state), spread=state.skin
    )
    diagonal = np.einsum("fii->fi", hessian)
    diagonal += 1e-9
    swallowed = hessian.shape[-1] - np.trace(np.linalg.solve(hessian, nothing), axis1=1, axis2=2)
    numbers = 3.0 * np.sum(~np.isnan(left))
    kept = max(1.0 - (swallowed.sum() + len(state.lengths) + state.offsets.size) / max(numbers, 1.0), 0.1)
    each = np.array(
        [np.median(column[~np.isnan(column)]) if np.isfinite(column).any() else np.nan for column in left.T]
    )
    each = each / (MEDIAN_OF_SQUARES * kept)
    together = float(np.nanmean(each))
    return np.sqrt(np.clip(np.fmax(each, together), LEAST_SKIN**2, (3.0 * SKIN) ** 2))


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
