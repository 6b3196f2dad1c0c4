"""Levenberg–Marquardt for one pose: minimise Σ cost·x² + Σ weight·residual², x the displacement from a reference pose.

With D = (1 + damping)·diag(cost), W = diag(weight) and J the Jacobian, a step s solves the primal system

    (D + JᵀWJ)·s = −(cost·x + JᵀW·r)

or, where residuals are few and unknowns many, the equivalent dual system among the residuals, which stays well
conditioned however large the weights are:

    (W⁻¹ + J·D⁻¹·Jᵀ)·λ = r − J·D⁻¹·(cost·x),   s = −D⁻¹·(cost·x + Jᵀλ)

Residuals may be one-sided (inequalities, satisfied at 0 and above) and are handled by an active set: violated ones are
active, and so are those that were violated before, or that a rejected step would have violated, as long as they push
the pose away from their bound; those that would pull it towards the bound are released.

Jacobians are stored with the unknowns first, (n, K). Unknowns come in groups of three: group 0 is the root's position,
group 1+j the rotation vector of joint j in its own frame.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.dense import add_row, factor, substitute
from footplant.kernels.quaternion import exp, log, multiply

MOST_DUAL = 96
"""Largest number of active residuals for which the dual system is solved; a constant, so that no frame's result depends
on its neighbours."""
SETTLED = 1e-9
"""Steps (radians, metres) shorter than this count as no change."""
FIRST_DAMPING = 0.3
"""Damping after the first rejected step, relative to the costs."""
MOST_DAMPING = 1e12
"""Damping at which the search gives up."""
WIDEST = 1.5
"""Largest rotation of a joint in one step, radians: beyond it the linearisation is useless."""


class Pose(NamedTuple):
    """A pose, or poses of many frames with a first axis F."""

    root: NDArray
    """(3,) metres."""
    local: NDArray
    """(J, 4) local rotations."""


class Objective(NamedTuple):
    """The weights of one pose's objective, n unknowns and up to K residuals."""

    costs: NDArray
    """(n,) costs of the displacement."""
    weights: NDArray
    """(K,) weights of the residuals."""
    one_sided: NDArray
    """(K,) bool; whether a residual is an inequality, satisfied at 0 and above."""
    active: NDArray
    """(K,) bool; the active set of inequalities, updated by `find_step` and `activate`."""
    count: int
    """Number of residuals in use."""


class Linearization(NamedTuple):
    """Displacement, residuals and Jacobian at a pose."""

    moved: NDArray
    """(n,) displacement from the reference pose."""
    residual: NDArray
    """(K,)."""
    jacobian: NDArray
    """(n, K)."""


class Workspace(NamedTuple):
    """Arrays that `find_step` writes to."""

    rows: NDArray
    """(K,) int64; indices of the residuals that take part."""
    diagonal: NDArray
    """(n,) damped costs."""
    dual: NDArray
    lower: NDArray
    right: NDArray
    answer: NDArray
    primal: NDArray
    primal_lower: NDArray
    step: NDArray
    """(n,) the step."""


@jit
def workspace(unknowns, rows):
    """Return a workspace for so many unknowns and residuals."""
    few = min(rows, MOST_DUAL)
    wide = max(rows, unknowns)
    many = unknowns if rows > MOST_DUAL else 0
    return Workspace(
        np.empty(rows, np.int64), np.empty(unknowns), np.empty((few, few)), np.empty((few, few)), np.empty(wide),
        np.empty(wide), np.empty((many, many)), np.empty((many, many)), np.empty(unknowns),
    )  # fmt: skip


@uncounted_jit
def value_of(objective, at):
    """Return the objective at a linearisation's own pose; satisfied inequalities contribute nothing."""
    total = 0.0
    for i in range(at.moved.shape[0]):
        total += objective.costs[i] * at.moved[i] * at.moved[i]
    for k in range(objective.count):
        value = at.residual[k]
        if objective.one_sided[k] and value > 0.0:
            continue
        total += objective.weights[k] * value * value
    return total


@uncounted_jit
def activate(objective, at, trial):
    """Add inequalities that a rejected trial violates and the pose does not to the active set; whether any is new.

    Their derivatives are copied from the trial: they may not have been computed where nothing is violated.
    """
    new = False
    active, residual, jacobian = objective.active, at.residual, at.jacobian
    for k in range(objective.count):
        if objective.one_sided[k] and not active[k] and residual[k] >= 0.0 and trial.residual[k] < 0.0:
            active[k] = True
            new = True
            for c in range(jacobian.shape[0]):
                jacobian[c, k] = trial.jacobian[c, k]
    return new


@uncounted_jit
def find_step(objective, at, damping, work):
    """Write the damped Gauss–Newton step to `work.step`; return False when the system is singular.

    Active inequalities that turn out to pull the pose towards their bound are released, and the step is solved again.
    """
    active, residual, step = objective.active, at.residual, work.step
    for k in range(objective.count):
        # a residual that is violated now will be at its bound after the step, and must take part in the next one
        active[k] = active[k] or (objective.one_sided[k] and residual[k] < 0.0)
    while True:
        if not solve_active(objective, at, damping, work):
            return False
        released = False
        for k in range(objective.count):
            if active[k] and residual[k] >= 0.0:
                after = residual[k]
                for c in range(step.shape[0]):
                    after += at.jacobian[c, k] * step[c]
                if after > 0.0:
                    active[k] = False
                    released = True
        if not released:
            return True


@uncounted_jit
def solve_active(objective, at, damping, work):
    """Solve for the step of `find_step` with the present active set; return False when the system is singular."""
    used = 0
    for k in range(objective.count):
        if objective.weights[k] > 0.0 and (objective.active[k] or not objective.one_sided[k]):
            work.rows[used] = k
            used += 1
    for c in range(at.moved.shape[0]):
        work.diagonal[c] = (1.0 + damping) * objective.costs[c]
    if used > MOST_DUAL:
        return solve_normal(objective, at, used, work)
    return solve_dual(objective, at, used, work)


@uncounted_jit
def solve_normal(objective, at, used, work):
    """Solve the normal equations (D + JᵀWJ)·step = −C·moved − JᵀW·r of the `used` rows in `work.rows`."""
    unknowns, matrix, right, answer = at.moved.shape[0], work.primal, work.right, work.answer
    matrix[:, :] = 0.0
    for c in range(unknowns):
        matrix[c, c] = work.diagonal[c]
        right[c] = -objective.costs[c] * at.moved[c]
    for i in range(used):
        k = work.rows[i]
        for c in range(unknowns):
            answer[c] = at.jacobian[c, k]
        add_row(answer, unknowns, -at.residual[k], objective.weights[k], matrix, right)
    if not factor(matrix, 0.0, unknowns, work.primal_lower):
        return False
    substitute(work.primal_lower, right, unknowns, work.step)
    return True


@uncounted_jit
def solve_dual(objective, at, used, work):
    """Solve the same by its dual, (W⁻¹ + J·D⁻¹·Jᵀ)·λ = r − J·D⁻¹·C·moved, which is smaller for few rows."""
    costs, moved, jacobian = objective.costs, at.moved, at.jacobian
    rows, dual, diagonal, right, answer = work.rows, work.dual, work.diagonal, work.right, work.answer
    unknowns = moved.shape[0]
    for i in range(used):
        k = rows[i]
        right[i] = at.residual[k]
        for j in range(i):
            dual[i, j] = 0.0
        dual[i, i] = 1.0 / objective.weights[k]
    for c in range(unknowns):
        scale = 1.0 / diagonal[c]
        wish = costs[c] * moved[c] * scale
        for i in range(used):
            answer[i] = jacobian[c, rows[i]]
        for i in range(used):
            if answer[i] != 0.0:
                right[i] -= answer[i] * wish
                scaled = answer[i] * scale
                for j in range(i + 1):
                    dual[i, j] += scaled * answer[j]
    if not factor(dual, 0.0, used, work.lower):
        return False
    substitute(work.lower, right, used, answer)
    for c in range(unknowns):
        total = costs[c] * moved[c]
        for i in range(used):
            total += jacobian[c, rows[i]] * answer[i]
        work.step[c] = -total / diagonal[c]
    return True


@jit
def left_inverse_times(vx, vy, vz, x, y, z):
    """Return Jl(v)⁻¹·w: the derivative of log(exp(w)·q) by a small world rotation w = (x, y, z), where v = log q.

    Jl(v)⁻¹·w = w − ½ v × w + (1/|v|²)(1 − (|v|/2)·cot(|v|/2)) v × (v × w).
    """
    square = vx * vx + vy * vy + vz * vz
    if square < 1e-8:
        scale = 1.0 / 12.0 + square / 720.0
    else:
        half = 0.5 * math.sqrt(square)
        scale = (1.0 - half / math.tan(half)) / square
    cx, cy, cz = vy * z - vz * y, vz * x - vx * z, vx * y - vy * x
    dx, dy, dz = vy * cz - vz * cy, vz * cx - vx * cz, vx * cy - vy * cx
    return x - 0.5 * cx + scale * dx, y - 0.5 * cy + scale * dy, z - 0.5 * cz + scale * dz


@uncounted_jit
def displacement_from(groups, reference, pose, out):
    """Write the displacement (n,) of a pose from the reference pose, in the unknowns of `groups`."""
    for u in range(groups.shape[0]):
        group = groups[u]
        if group == 0:
            for i in range(3):
                out[3 * u + i] = pose.root[i] - reference.root[i]
        else:
            j = group - 1
            a, b = reference.local[j], pose.local[j]
            w, x, y, z = multiply(a[0], -a[1], -a[2], -a[3], b[0], b[1], b[2], b[3])
            out[3 * u], out[3 * u + 1], out[3 * u + 2] = log(w, x, y, z)


@uncounted_jit
def displace_pose(groups, pose, step, displaced):
    """Write a pose displaced by a step in the unknowns of `groups`; its rotations are normalised."""
    local = pose.local
    for i in range(3):
        displaced.root[i] = pose.root[i]
    for j in range(local.shape[0]):
        for i in range(4):
            displaced.local[j, i] = local[j, i]
    for u in range(groups.shape[0]):
        group = groups[u]
        if group == 0:
            for i in range(3):
                displaced.root[i] = pose.root[i] + step[3 * u + i]
        elif abs(step[3 * u]) + abs(step[3 * u + 1]) + abs(step[3 * u + 2]) > 1e-15:
            # joints that move by rounding errors only keep their bits, whichever other frames use them
            j = group - 1
            ew, ex, ey, ez = exp(step[3 * u], step[3 * u + 1], step[3 * u + 2])
            w, x, y, z = multiply(local[j, 0], local[j, 1], local[j, 2], local[j, 3], ew, ex, ey, ez)
            scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
            new = displaced.local[j]
            new[0], new[1], new[2], new[3] = scale * w, scale * x, scale * y, scale * z


@uncounted_jit
def predicted_value(objective, at, step):
    """Return the objective that the linear model predicts after a step, with the present active set."""
    total = 0.0
    for c in range(step.shape[0]):
        total += objective.costs[c] * (at.moved[c] + step[c]) ** 2
    for k in range(objective.count):
        if objective.weights[k] <= 0.0 or (objective.one_sided[k] and not objective.active[k]):
            continue
        value = at.residual[k]
        for c in range(step.shape[0]):
            value += at.jacobian[c, k] * step[c]
        if objective.one_sided[k] and value > 0.0:
            continue
        total += objective.weights[k] * value * value
    return total


@uncounted_jit
def propose(groups, objective, at, damping, work, pose, trial):
    """Write the trial pose after the next step; return (largest component of the step, predicted objective).

    A singular system gives the same pose and (−1, 0).
    """
    step = work.step
    if not find_step(objective, at, damping, work):
        step[:] = 0.0
        displace_pose(groups, pose, step, trial)
        return -1.0, 0.0
    longest, widest = 0.0, 0.0
    for c in range(step.shape[0]):
        longest = max(longest, abs(step[c]))
        if groups[c // 3] > 0:
            widest = max(widest, abs(step[c]))
    if widest > WIDEST:
        for c in range(step.shape[0]):
            step[c] *= WIDEST / widest
    displace_pose(groups, pose, step, trial)
    return longest, predicted_value(objective, at, step)


@jit
def next_damping(accepted, gained, predicted, activated, damping, growth):
    """Return (damping, growth) of the next trial, by the ratio of actual to predicted decrease (Nielsen 1999).

    Steps that overshoot are accepted but damped from then on; consecutive rejections increase the damping faster. A
    rejection that activated new inequalities does not count, but not twice in a row.
    """
    if accepted:
        if gained < 0.5 * predicted:
            return max(2.0 * damping, FIRST_DAMPING), 2.0
        if gained > 0.9 * predicted:
            damping = damping / 3.0 if damping > 0.1 * FIRST_DAMPING else 0.0
        return damping, 2.0
    if activated and growth <= 2.0:
        return damping, 4.0
    return max(growth * damping, FIRST_DAMPING), 2.0 * growth


WARMUP = {}
