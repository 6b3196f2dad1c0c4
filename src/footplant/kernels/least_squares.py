"""Levenberg–Marquardt for one pose: min Σ cost·x² + Σ weight·residual², x the displacement from a reference pose.

Few residuals and many unknowns: each step is solved among the residuals (the dual form, which stays well conditioned
however much a constraint weighs), or among the unknowns where the residuals are the more numerous. Residuals may be
one-sided, fine at 0 and above: those that are violated take part, and so do those that were, or that a step was
refused for ("pressed"), as long as they press the pose away from the bound and do not pull it there (an active set).

Jacobians are stored with the unknowns first, (n, K). Unknowns come in groups of three: group 0 is the root's place,
group 1+j the turn of joint j.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.dense import add_row, factor, substitute
from footplant.kernels.quaternion import exp, log, multiply

MOST_DUAL = 96
"""Residuals up to which a step is solved among them; a constant, so that no frame depends on its neighbours."""
SETTLED = 1e-9
"""Steps (radians, metres) below this change nothing."""
FIRST_DAMPING = 0.3
"""Where damping begins, as a share of what moving costs."""
MOST_DAMPING = 1e12
WIDEST = 1.5
"""Radians that a joint turns at most in a step: what was linearised is long wrong there."""


@jit
def workspace(unknowns, rows):
    """What `find_step` needs: which residuals are at work, the damped diagonal, and room for either system."""
    few = min(rows, MOST_DUAL)
    wide = max(rows, unknowns)
    many = unknowns if rows > MOST_DUAL else 0
    return (
        np.empty(rows, np.int64), np.empty(unknowns), np.empty((few, few)), np.empty((few, few)), np.empty(wide),
        np.empty(wide), np.empty((many, many)), np.empty((many, many)),
    )  # fmt: skip


@uncounted_jit
def value_of(costs, moved, residual, weights, one_sided, count):
    """The objective: what the displacement costs, and the residuals by their weights; one-sided ones are fine ≥ 0."""
    total = 0.0
    for i in range(moved.shape[0]):
        total += costs[i] * moved[i] * moved[i]
    for k in range(count):
        value = residual[k]
        if one_sided[k] and value > 0.0:
            continue
        total += weights[k] * value * value
    return total


@uncounted_jit
def press(residual, jacobian, tried, tried_jacobian, one_sided, pressed, count):
    """Mark one-sided residuals that a refused trial would violate and the pose does not; whether there are new ones.

    Their derivatives are taken from the trial: where nothing is violated nobody may have asked for them.
    """
    new = False
    for k in range(count):
        if one_sided[k] and not pressed[k] and residual[k] >= 0.0 and tried[k] < 0.0:
            pressed[k] = True
            new = True
            for c in range(jacobian.shape[0]):
                jacobian[c, k] = tried_jacobian[c, k]
    return new


@uncounted_jit
def find_step(costs, moved, residual, jacobian, weights, one_sided, pressed, count, damping, work, step):
    """The damped Gauss–Newton step (n,); False when the system is singular.

    With D = (1 + damping)·cost: (D + JᵀWJ)·step = −(cost·moved + JᵀW·residual). Pressed residuals that turn out to pull
    are let go.
    """
    for k in range(count):
        # what is violated now will be at its bound after the step, and must be known of in the step after it
        pressed[k] = pressed[k] or (one_sided[k] and residual[k] < 0.0)
    while True:
        if not solve_active(costs, moved, residual, jacobian, weights, one_sided, pressed, count, damping, work, step):
            return False
        let_go = False
        for k in range(count):
            if pressed[k] and residual[k] >= 0.0:
                after = residual[k]
                for c in range(step.shape[0]):
                    after += jacobian[c, k] * step[c]
                if after > 0.0:
                    pressed[k] = False
                    let_go = True
        if not let_go:
            return True


@uncounted_jit
def solve_active(costs, moved, residual, jacobian, weights, one_sided, pressed, count, damping, work, step):
    """`find_step` for the residuals that are violated or pressed now."""
    active, diagonal, dual, lower, right, answer, matrix, primal_lower = work
    unknowns = moved.shape[0]
    used = 0
    for k in range(count):
        if weights[k] > 0.0 and (pressed[k] or not one_sided[k]):
            active[used] = k
            used += 1
    for c in range(unknowns):
        diagonal[c] = (1.0 + damping) * costs[c]
    if used > MOST_DUAL:
        matrix[:, :] = 0.0
        for c in range(unknowns):
            matrix[c, c] = diagonal[c]
            right[c] = -costs[c] * moved[c]
        for i in range(used):
            k = active[i]
            for c in range(unknowns):
                answer[c] = jacobian[c, k]
            add_row(answer, unknowns, -residual[k], weights[k], matrix, right)
        if not factor(matrix, 0.0, unknowns, primal_lower):
            return False
        substitute(primal_lower, right, unknowns, step)
        return True
    for i in range(used):
        k = active[i]
        right[i] = residual[k]
        for j in range(i):
            dual[i, j] = 0.0
        dual[i, i] = 1.0 / weights[k]
    for c in range(unknowns):
        scale = 1.0 / diagonal[c]
        wish = costs[c] * moved[c] * scale
        for i in range(used):
            answer[i] = jacobian[c, active[i]]
        for i in range(used):
            if answer[i] != 0.0:
                right[i] -= answer[i] * wish
                scaled = answer[i] * scale
                for j in range(i + 1):
                    dual[i, j] += scaled * answer[j]
    if not factor(dual, 0.0, used, lower):
        return False
    substitute(lower, right, used, answer)
    for c in range(unknowns):
        total = costs[c] * moved[c]
        for i in range(used):
            total += jacobian[c, active[i]] * answer[i]
        step[c] = -total / diagonal[c]
    return True


@jit
def left_inverse_times(vx, vy, vz, x, y, z):
    """How log(exp(w)·q) changes with a small world turn w = (x, y, z), where log q is the rotation vector v."""
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
def moved_from(groups, reference_root, reference_local, root, local, out):
    """The displacement (n,) of a pose from the reference pose, in the unknowns."""
    for u in range(groups.shape[0]):
        group = groups[u]
        if group == 0:
            for i in range(3):
                out[3 * u + i] = root[i] - reference_root[i]
        else:
            j = group - 1
            w, x, y, z = multiply(
                reference_local[j, 0], -reference_local[j, 1], -reference_local[j, 2], -reference_local[j, 3],
                local[j, 0], local[j, 1], local[j, 2], local[j, 3],
            )  # fmt: skip
            out[3 * u], out[3 * u + 1], out[3 * u + 2] = log(w, x, y, z)


@uncounted_jit
def displace_row(groups, root, local, step, new_root, new_local):
    """A pose displaced by a step in the unknowns; rotations of unit length again."""
    for i in range(3):
        new_root[i] = root[i]
    for j in range(local.shape[0]):
        for i in range(4):
            new_local[j, i] = local[j, i]
    for u in range(groups.shape[0]):
        group = groups[u]
        if group == 0:
            for i in range(3):
                new_root[i] = root[i] + step[3 * u + i]
        elif abs(step[3 * u]) + abs(step[3 * u + 1]) + abs(step[3 * u + 2]) > 1e-15:
            # what moves by rounding alone keeps its bits, whichever other frames need its joint
            j = group - 1
            ew, ex, ey, ez = exp(step[3 * u], step[3 * u + 1], step[3 * u + 2])
            w, x, y, z = multiply(local[j, 0], local[j, 1], local[j, 2], local[j, 3], ew, ex, ey, ez)
            scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
            new_local[j, 0], new_local[j, 1], new_local[j, 2], new_local[j, 3] = (
                scale * w, scale * x, scale * y, scale * z,
            )  # fmt: skip


@uncounted_jit
def linear_value(costs, moved, residual, jacobian, weights, one_sided, pressed, count, step):
    """The objective after a step if all residuals were linear, as far as the step knows of them."""
    total = 0.0
    for c in range(step.shape[0]):
        total += costs[c] * (moved[c] + step[c]) ** 2
    for k in range(count):
        if weights[k] <= 0.0 or (one_sided[k] and not pressed[k]):
            continue
        value = residual[k]
        for c in range(step.shape[0]):
            value += jacobian[c, k] * step[c]
        if one_sided[k] and value > 0.0:
            continue
        total += weights[k] * value * value
    return total


@uncounted_jit
def propose(
    groups, costs, moved, residual, jacobian, weights, one_sided, pressed, count, damping, work, step, root, local,
    trial_root, trial_local,
):  # fmt: skip
    """The pose after the next step; (longest part of the step, −1 for none: a singular system; value hoped for)."""
    if not find_step(costs, moved, residual, jacobian, weights, one_sided, pressed, count, damping, work, step):
        step[:] = 0.0
        displace_row(groups, root, local, step, trial_root, trial_local)
        return -1.0, 0.0
    longest, widest = 0.0, 0.0
    for c in range(step.shape[0]):
        longest = max(longest, abs(step[c]))
        if groups[c // 3] > 0:
            widest = max(widest, abs(step[c]))
    if widest > WIDEST:
        for c in range(step.shape[0]):
            step[c] *= WIDEST / widest
    displace_row(groups, root, local, step, trial_root, trial_local)
    return longest, linear_value(costs, moved, residual, jacobian, weights, one_sided, pressed, count, step)


@jit
def next_damping(taken, gained, hoped, pressing, damping, growth):
    """(damping, growth) of the next trial, by how much of the gain hoped for was real (after Nielsen 1999).

    Steps that overshoot are taken but damped from then on; refusals damp more each time. Bounds that the next step will
    know of are an excuse for a refusal, but not twice running.
    """
    if taken:
        if gained < 0.5 * hoped:
            return max(2.0 * damping, FIRST_DAMPING), 2.0
        if gained > 0.9 * hoped:
            damping = damping / 3.0 if damping > 0.1 * FIRST_DAMPING else 0.0
        return damping, 2.0
    if pressing and growth <= 2.0:
        return damping, 4.0
    return max(growth * damping, FIRST_DAMPING), 2.0 * growth


WARMUP = {}
