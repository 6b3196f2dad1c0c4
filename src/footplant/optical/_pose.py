"""Compiled poses from markers: Levenberg–Marquardt on one frame at a time.

The objective at a frame is

    Σₘ pₘ sₘ / (1 + sₘ/oₘ²) + Σⱼₖ (θⱼₖ/σⱼₖ)² + Σⱼ |θⱼ − θ_c(j)|²/τⱼ²

with s the squared misfit of a marker, p its precision and o the distance from which it counts as an outlier (Geman &
McClure); θⱼₖ the rotation of joint j from the prior pose about axis k of the T-pose and σ its spread; and c(j) the
joint that j is coupled to (the vertebra below, the neck), with spread τ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import jit
from footplant.kernels.dense import factor, substitute
from footplant.kernels.fk import carry, forward, world_axis
from footplant.kernels.quaternion import exp, log, multiply

INITIAL_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-4, 1e-7, 1e6
"""Levenberg–Marquardt damping, relative to the diagonal; a frame ends when the largest value does not help."""
DAMPING_UP, DAMPING_DOWN = 10.0, 0.2
"""Factors of the damping after a failed and after a successful step."""
LONGEST_STEP = 1.0
"""Radians; longer steps are scaled down, since the linearisation does not reach that far."""


class MarkerTables(NamedTuple):
    """A body with markers, as kernels take it."""

    parents: np.ndarray
    """(J,) parent joints, parents first."""
    segments: np.ndarray
    """(M,) joint that carries each marker."""
    rows: np.ndarray
    """(J,) index of each joint among the active ones; −1 for the others."""
    active: np.ndarray
    """(A,) joints that move a marker."""
    axes: np.ndarray
    """(A, 3, 3) from the frame of each active joint to the axes of the T-pose."""
    spreads: np.ndarray
    """(A, 3) radians; spread of the rotation from the prior pose about the axes of the T-pose."""
    one_way: np.ndarray
    """(A, 3) sign with which a hinge bends about an axis; 0 where it may bend both ways."""
    coupled: np.ndarray
    """(A,) active joint that each one is coupled to; −1 for none."""
    coupling_spread: np.ndarray
    """(A,) radians; spread of the difference between coupled joints."""
    hyperextension: float
    """Radians; spread of a hinge that bends the wrong way."""


class MarkerWeights(NamedTuple):
    """How much each marker counts."""

    precision: np.ndarray
    """(M,) 1/m², inverse variance."""
    outlier: np.ndarray
    """(M,) metres from which a marker counts as an outlier."""


class PosePriors(NamedTuple):
    """Prior poses; the first axis has length 1 where all frames share one."""

    rotations: np.ndarray
    """(1 or F, J, 4) local rotations."""
    stiffness: np.ndarray
    """(1 or F, A) factor of each active joint's stiffness."""


class PosedMarkers(NamedTuple):
    """Forward kinematics of a body with markers; with a leading axis F for several poses."""

    places: np.ndarray
    """(M, 3) markers, metres."""
    joints: np.ndarray
    """(J, 3) metres."""
    turned: np.ndarray
    """(J, 4) world rotations."""


class PoseSearch(NamedTuple):
    """How the pose of a frame is searched."""

    warm: bool
    """Whether a frame starts from its predecessor's pose when that costs less than its own."""
    iterations: int
    """Largest number of steps."""
    enough: float
    """A frame ends when a step gains less than this fraction of its cost."""


class Scratch(NamedTuple):
    """Work arrays for the non-zero part of the Jacobians."""

    turn: np.ndarray
    """(6,)"""
    blocks: np.ndarray
    """(3, 3, 3)"""
    columns: np.ndarray
    """(D,) int64"""
    jacobian: np.ndarray
    """(3, D)"""


@jit
def prior_turn(body, prior, local, row, stiffness, out):
    """Return the rotation vector of an active joint relative to a prior pose (J, 4).

    out (6,): that rotation about the axes of the T-pose times the stiffness, then the stiffness about each of them.
    """
    joint = body.active[row]
    w, x, y, z = multiply(
        prior[joint, 0], -prior[joint, 1], -prior[joint, 2], -prior[joint, 3],
        local[joint, 0], local[joint, 1], local[joint, 2], local[joint, 3],
    )  # fmt: skip
    vx, vy, vz = log(w, x, y, z)
    for k in range(3):
        about = body.axes[row, k, 0] * vx + body.axes[row, k, 1] * vy + body.axes[row, k, 2] * vz
        spread = body.hyperextension if about * body.one_way[row, k] < 0.0 else body.spreads[row, k]
        out[3 + k] = stiffness / spread
        out[k] = about * out[3 + k]
    return vx, vy, vz


@jit
def turn_changes(axes, row, vx, vy, vz, out):
    """Write the Jacobian (3, 3) of a rotation vector about the axes of the T-pose by a step on its right.

    log(exp(v) exp(δ)) ≈ v + (I + ½[v] + c[v]²) δ with c = 1/θ² − (1 + cos θ)/(2θ sin θ), θ = |v|: the inverse right
    Jacobian of SO(3). vx, vy, vz: as returned by `prior_turn`.
    """
    square = vx * vx + vy * vy + vz * vz
    angle = math.sqrt(square)
    bend = 1.0 / 12.0
    if angle >= 1e-4:
        bend = 1.0 / square - (1.0 + math.cos(angle)) / (2.0 * angle * math.sin(angle) + 1e-300)
    for k in range(3):
        sx, sy, sz = axes[row, k, 0], axes[row, k, 1], axes[row, k, 2]
        # s·(I + ½[v] + c[v]²), row by row: s·[v] = s × v
        cx, cy, cz = sy * vz - sz * vy, sz * vx - sx * vz, sx * vy - sy * vx
        ex, ey, ez = cy * vz - cz * vy, cz * vx - cx * vz, cx * vy - cy * vx
        out[k, 0] = sx + 0.5 * cx + bend * ex
        out[k, 1] = sy + 0.5 * cy + bend * ey
        out[k, 2] = sz + 0.5 * cz + bend * ez


@jit
def cost_of(body, weights, places, target, prior, stiffness, local, turn):
    """Return the objective of a pose: places (M, 3) of its markers, target (M, 3) with NaN where hidden.

    prior (J, 4), stiffness (A,) and local rotations (J, 4) of one frame; turn (6,): scratch.
    """
    precision, outlier = weights.precision, weights.outlier
    total = 0.0
    for m in range(target.shape[0]):
        if not math.isnan(target[m, 0]):
            dx, dy, dz = places[m, 0] - target[m, 0], places[m, 1] - target[m, 1], places[m, 2] - target[m, 2]
            square = dx * dx + dy * dy + dz * dz
            total += precision[m] * square / (1.0 + square / (outlier[m] * outlier[m]))
    for row in range(body.active.shape[0]):
        prior_turn(body, prior, local, row, stiffness[row], turn)
        total += turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]
        other = body.coupled[row]
        if other >= 0:
            spread = body.coupling_spread[row]
            tx, ty, tz = turn[0] / turn[3], turn[1] / turn[4], turn[2] / turn[5]
            prior_turn(body, prior, local, other, stiffness[other], turn)
            tx, ty, tz = tx - turn[0] / turn[3], ty - turn[1] / turn[4], tz - turn[2] / turn[5]
            total += (tx * tx + ty * ty + tz * tz) / (spread * spread)
    return total


@jit
def equations_of(body, weights, posed, target, prior, local, scratch, system):
    """Write the normal equations of a pose: lower triangle of `matrix` (D, D), and `vector` (D,), half the gradient.

    posed: `PosedMarkers` of one frame; prior: its rotations and stiffness; system: matrix and vector; the other
    arguments as of `cost_of`. D = 3 + 3A: the root, then a rotation vector per active joint.
    """
    (rest, stiffness), (matrix, vector) = prior, system
    places, joints, turned = posed.places, posed.joints, posed.turned
    turn, columns, jacobian = scratch.turn, scratch.columns, scratch.jacobian
    own, other, apart = scratch.blocks[0], scratch.blocks[1], scratch.blocks[2, 0]
    size = vector.shape[0]
    for i in range(size):
        vector[i] = 0.0
        for j in range(i + 1):
            matrix[i, j] = 0.0
    for m in range(body.segments.shape[0]):
        if math.isnan(target[m, 0]):
            continue
        dx, dy, dz = places[m, 0] - target[m, 0], places[m, 1] - target[m, 1], places[m, 2] - target[m, 2]
        # d/ds of s/(1 + s/o²) is 1/(1 + s/o²)²
        share = 1.0 / (1.0 + (dx * dx + dy * dy + dz * dz) / (weights.outlier[m] * weights.outlier[m]))
        weight = weights.precision[m] * share * share
        count = 0
        joint = body.segments[m]
        while joint >= 0:
            ax, ay = places[m, 0] - joints[joint, 0], places[m, 1] - joints[joint, 1]
            az = places[m, 2] - joints[joint, 2]
            for k in range(2, -1, -1):
                ux, uy, uz = world_axis(turned[joint, 0], turned[joint, 1], turned[joint, 2], turned[joint, 3], k)
                columns[count] = 3 + 3 * body.rows[joint] + k
                jacobian[0, count] = uy * az - uz * ay
                jacobian[1, count] = uz * ax - ux * az
                jacobian[2, count] = ux * ay - uy * ax
                count += 1
            joint = body.parents[joint]
        for a in range(count):
            i = columns[a]
            x, y, z = weight * jacobian[0, a], weight * jacobian[1, a], weight * jacobian[2, a]
            vector[i] += x * dx + y * dy + z * dz
            for b in range(a, count):
                matrix[i, columns[b]] += x * jacobian[0, b] + y * jacobian[1, b] + z * jacobian[2, b]
            matrix[i, 0] += x
            matrix[i, 1] += y
            matrix[i, 2] += z
        vector[0] += weight * dx
        vector[1] += weight * dy
        vector[2] += weight * dz
        for k in range(3):
            matrix[k, k] += weight
    for row in range(body.active.shape[0]):
        vx, vy, vz = prior_turn(body, rest, local, row, stiffness[row], turn)
        turn_changes(body.axes, row, vx, vy, vz, own)
        first = 3 + 3 * row
        for k in range(3):
            for a in range(3):
                scaled = own[k, a] * turn[3 + k]
                vector[first + a] += scaled * turn[k]
                for b in range(a + 1):
                    matrix[first + a, first + b] += scaled * own[k, b] * turn[3 + k]
        mate = body.coupled[row]
        if mate >= 0:
            spread = body.coupling_spread[row]
            tx, ty, tz = turn[0] / turn[3], turn[1] / turn[4], turn[2] / turn[5]
            vx, vy, vz = prior_turn(body, rest, local, mate, stiffness[mate], turn)
            turn_changes(body.axes, mate, vx, vy, vz, other)
            apart[0], apart[1], apart[2] = tx - turn[0] / turn[3], ty - turn[1] / turn[4], tz - turn[2] / turn[5]
            second, weight = 3 + 3 * mate, 1.0 / (spread * spread)
            for k in range(3):
                for a in range(3):
                    x, y = weight * own[k, a], weight * other[k, a]
                    vector[first + a] += x * apart[k]
                    vector[second + a] -= y * apart[k]
                    for b in range(3):
                        # parents come first, so this is below the diagonal
                        matrix[first + a, second + b] -= x * other[k, b]
                        if b <= a:
                            matrix[first + a, first + b] += x * own[k, b]
                            matrix[second + a, second + b] += y * other[k, b]


@jit
def equations(body, weights, posed, targets, priors, local, systems, costs):
    """Write `equations_of` and `cost_of` of many poses: matrices (F, D, D), vectors (F, D) and costs (F,).

    systems: matrices and vectors.
    """
    matrices, vectors = systems
    size = vectors.shape[1]
    scratch = Scratch(np.empty(6), np.empty((3, 3, 3)), np.empty(size, np.int64), np.empty((3, size)))
    for f in range(targets.shape[0]):
        prior = priors.rotations[f if priors.rotations.shape[0] > 1 else 0]
        stiffness = priors.stiffness[f if priors.stiffness.shape[0] > 1 else 0]
        here = PosedMarkers(posed.places[f], posed.joints[f], posed.turned[f])
        system = (matrices[f], vectors[f])
        equations_of(body, weights, here, targets[f], (prior, stiffness), local[f], scratch, system)
        costs[f] = cost_of(body, weights, posed.places[f], targets[f], prior, stiffness, local[f], scratch.turn)


@jit
def solve(body, lengths, weights, targets, priors, search, root, local):
    """Solve for poses whose markers are at their targets, in place of the initial root (F, 3) and local (F, J, 4).

    lengths: bones (1, J, 3), and offsets (M, 3) of the markers in their segments' frames; targets (F, M, 3); search:
    `PoseSearch`.
    """
    (bones, offsets), (warm, iterations, enough) = lengths, search
    parents, active = body.parents, body.active
    count, markers, size = parents.shape[0], body.segments.shape[0], 3 + 3 * active.shape[0]
    scratch = Scratch(np.empty(6), np.empty((3, 3, 3)), np.empty(size, np.int64), np.empty((3, size)))
    matrix, lower, vector, step = np.zeros((size, size)), np.zeros((size, size)), np.empty(size), np.empty(size)
    places, joints, turned = np.empty((1, markers, 3)), np.empty((1, count, 3)), np.empty((1, count, 4))
    new_places, new_joints, new_turned = np.empty((1, markers, 3)), np.empty((1, count, 3)), np.empty((1, count, 4))
    new_root, new_local = np.empty((1, 3)), np.empty((1, count, 4))
    here = PosedMarkers(places[0], joints[0], turned[0])
    for f in range(targets.shape[0]):
        target = targets[f]
        prior = priors.rotations[f if priors.rotations.shape[0] > 1 else 0]
        stiffness = priors.stiffness[f if priors.stiffness.shape[0] > 1 else 0]
        forward(parents, bones, root[f : f + 1], local[f : f + 1], joints, turned)
        carry(body.segments, offsets, joints, turned, places)
        cost = cost_of(body, weights, places[0], target, prior, stiffness, local[f], scratch.turn)
        if warm and f > 0:
            forward(parents, bones, root[f - 1 : f], local[f - 1 : f], new_joints, new_turned)
            carry(body.segments, offsets, new_joints, new_turned, new_places)
            new = cost_of(body, weights, new_places[0], target, prior, stiffness, local[f - 1], scratch.turn)
            if new < cost:
                cost = new
                root[f], local[f] = root[f - 1], local[f - 1]
                places[0], joints[0], turned[0] = new_places[0], new_joints[0], new_turned[0]
        damping, fresh = INITIAL_DAMPING, True
        for _ in range(iterations):
            if fresh:
                equations_of(
                    body, weights, here, target, (prior, stiffness), local[f], scratch, (matrix, vector)
                )  # fmt: skip
            if not factor(matrix, damping, size, lower):
                break
            substitute(lower, vector, size, step)
            longest = LONGEST_STEP
            for i in range(3, size):
                longest = max(longest, abs(step[i]))
            for k in range(3):
                new_root[0, k] = root[f, k] - step[k] / longest
            new_local[0] = local[f]
            for row in range(active.shape[0]):
                j, i = active[row], 3 + 3 * row
                w, x, y, z = exp(-step[i] / longest, -step[i + 1] / longest, -step[i + 2] / longest)
                w, x, y, z = multiply(local[f, j, 0], local[f, j, 1], local[f, j, 2], local[f, j, 3], w, x, y, z)
                norm = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
                new_local[0, j, 0], new_local[0, j, 1] = w * norm, x * norm
                new_local[0, j, 2], new_local[0, j, 3] = y * norm, z * norm
            forward(parents, bones, new_root, new_local, new_joints, new_turned)
            carry(body.segments, offsets, new_joints, new_turned, new_places)
            new = cost_of(body, weights, new_places[0], target, prior, stiffness, new_local[0], scratch.turn)
            fresh = new < cost
            if not fresh:
                damping *= DAMPING_UP
                if damping > MOST_DAMPING:
                    break
                continue
            gained = cost - new
            cost = new
            damping = max(DAMPING_DOWN * damping, LEAST_DAMPING)
            root[f], local[f] = new_root[0], new_local[0]
            places[0], joints[0], turned[0] = new_places[0], new_joints[0], new_turned[0]
            if gained < enough * cost:
                break


def _two_joints():
    """Return tables of a body of two joints with one marker on the second, and its rotations."""
    parents, turns = np.array([-1, 0]), np.zeros((1, 2, 4))
    parents.setflags(write=False)
    turns[..., 0] = 1.0
    both = np.array([np.eye(3), np.eye(3)])
    tables = MarkerTables(
        parents, np.array([1]), np.array([0, 1]), np.array([0, 1]), both, np.ones((2, 3)), np.zeros((2, 3)),
        np.array([-1, -1]), np.ones(2), 0.1,
    )  # fmt: skip
    return tables, MarkerWeights(np.ones(1), np.ones(1)), PosePriors(turns, np.ones((1, 2))), turns


def _equations():
    body, weights, priors, turns = _two_joints()
    posed = PosedMarkers(np.zeros((1, 1, 3)), np.zeros((1, 2, 3)), turns)
    return (
        body, weights, posed, np.zeros((1, 1, 3)), priors, turns, (np.zeros((1, 9, 9)), np.zeros((1, 9))), np.zeros(1)
    )  # fmt: skip


def _solve():
    body, weights, priors, turns = _two_joints()
    return (
        body, (np.zeros((1, 2, 3)), np.zeros((1, 3))), weights, np.zeros((1, 1, 3)), priors, PoseSearch(True, 2, 1e-4),
        np.zeros((1, 3)), turns.copy(),
    )  # fmt: skip


WARMUP = {"equations": _equations, "solve": _solve}
