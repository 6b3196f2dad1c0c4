"""Numerical inverse kinematics, one frame at a time (Lee & Shin 1999, section 5.1; METHODS A5).

Levenberg–Marquardt on min Σ cost·x² + Σ weight·residual², x the displacement from the reference pose. Few residuals
and many unknowns: each step is solved among the residuals (the dual form, which stays well conditioned however much a
constraint weighs), or among the unknowns where the residuals are the more numerous.

Unknowns come in groups of three: group 0 is the root's place, group 1+j the turn of joint j. `group_of` (1+J,) says
which unknowns a group has, as a number of three, or −1. Jacobians are stored with the unknowns first, (n, K).
"""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit
from footplant.kernels.fk import forward, world_axis
from footplant.kernels.least_squares import (
    MOST_DAMPING,
    SETTLED,
    left_inverse_times,
    moved_from,
    next_damping,
    press,
    propose,
    value_of,
    workspace,
)
from footplant.kernels.quaternion import log, multiply, rotate

POSITION = 0
ORIENTATION = 1
FAINT = 0.01
"""Weight of a constraint that is only just beginning to ease in."""


@jit
def measure_pin(
    parents, group_of, kind, joint, offset, target, axes, chain, positions, rotations, residual, jacobian, k
):  # fmt: skip
    """Write three residuals of a pin from row k on, and their derivatives by the unknowns; other columns stay."""
    rw, rx, ry, rz = rotations[joint, 0], rotations[joint, 1], rotations[joint, 2], rotations[joint, 3]
    px, py, pz = 0.0, 0.0, 0.0
    if kind == POSITION:
        px, py, pz = rotate(rw, rx, ry, rz, offset[0], offset[1], offset[2])
        px, py, pz = px + positions[joint, 0], py + positions[joint, 1], pz + positions[joint, 2]
        residual[k] = axes[0] * (px - target[0])
        residual[k + 1] = axes[1] * (py - target[1])
        residual[k + 2] = axes[2] * (pz - target[2])
        place = group_of[0]
        if place >= 0 and chain[0]:
            for i in range(3):
                jacobian[3 * place + i, k + i] = axes[i]
    else:
        w, x, y, z = multiply(rw, rx, ry, rz, target[0], -target[1], -target[2], -target[3])
        residual[k], residual[k + 1], residual[k + 2] = log(w, x, y, z)
    a = joint
    while a >= 0:
        group = group_of[1 + a]
        if group >= 0 and chain[1 + a]:
            lx, ly, lz = px - positions[a, 0], py - positions[a, 1], pz - positions[a, 2]
            for i in range(3):
                ax, ay, az = world_axis(rotations[a, 0], rotations[a, 1], rotations[a, 2], rotations[a, 3], i)
                if kind == POSITION:
                    jacobian[3 * group + i, k] = axes[0] * (ay * lz - az * ly)
                    jacobian[3 * group + i, k + 1] = axes[1] * (az * lx - ax * lz)
                    jacobian[3 * group + i, k + 2] = axes[2] * (ax * ly - ay * lx)
                else:
                    (
                        jacobian[3 * group + i, k],
                        jacobian[3 * group + i, k + 1],
                        jacobian[3 * group + i, k + 2],
                    ) = left_inverse_times(residual[k], residual[k + 1], residual[k + 2], ax, ay, az)
        a = parents[a]


@jit
def measure_row(
    parents, offsets, group_of, kinds, joints, point_offsets, targets, axes, chain_of, chains, begin, end, root, local,
    positions, rotations, residual, jacobian,
):  # fmt: skip
    """Pose one frame (arrays with a first axis of 1) and write the residuals and derivatives of its pins."""
    forward(parents, offsets, root, local, positions, rotations)
    jacobian[:, : 3 * (end - begin)] = 0.0
    for pin in range(begin, end):
        measure_pin(
            parents, group_of, kinds[pin], joints[pin], point_offsets[pin], targets[pin], axes[pin],
            chains[chain_of[pin]], positions[0], rotations[0], residual, jacobian, 3 * (pin - begin),
        )  # fmt: skip


@jit
def weigh(weights, shares, levels, penalties, count, out):
    """How much each residual counts in a stage: weight·penalty for one that is fully at work.

    One that shares in grows from next to nothing by orders of magnitude: that is how weights count.
    """
    for k in range(count):
        full = penalties[levels[k]]
        out[k] = weights[k] * (full if shares[k] >= 1.0 else FAINT * (full / FAINT) ** shares[k])


@jit
def is_heard(k, residual, one_sided, pressed):
    """Whether a residual has a say: of one-sided ones that are fine nobody asks the derivatives."""
    return not one_sided[k] or residual[k] < 0.0 or pressed[k]


@jit
def decide(value, tried, hoped, longest, pressing, stage, count, damping, growth, gains, most):
    """Whether a trial is taken, and how the search goes on: (taken, stage, steps in this stage, damping, growth).

    A stage ends when a step gains less than its share of the value, when steps no longer move, or after enough of them.
    `pressing`: the trial met one-sided residuals that the next step will know of.
    """
    taken = tried <= value and longest >= 0.0
    damping, growth = next_damping(taken, value - tried, value - hoped, pressing, damping, growth)
    if (
        0.0 <= longest < SETTLED
        or count + 1 >= most
        or damping > MOST_DAMPING
        or (taken and value - hoped <= gains[stage] * value)
    ):
        return taken, stage + 1, 0, 0.0, 2.0
    return taken, stage, count + 1, damping, growth


@jit
def solve_pins(
    parents, offsets, groups, group_of, costs, starts, kinds, joints, point_offsets, targets, axes, chain_of, chains,
    weights, shares, levels, penalties, gains, most, reference_root, reference_local, root, local, rounds,
):  # fmt: skip
    """Poses (root (F, 3), local (F, J, 4), which hold the start of the search) that meet their pins, row by row.

    offsets (1, J, 3) or (F, J, 3); the pins of row f are starts[f] … starts[f+1]−1; each has three residuals of one
    weight. levels: which column of penalties (stages, levels) multiplies the weight. rounds (F,): steps taken.
    """
    widest = 1
    for f in range(root.shape[0]):
        widest = max(widest, 3 * (starts[f + 1] - starts[f]))
    joint_count, unknowns = local.shape[1], 3 * groups.shape[0]
    work = workspace(unknowns, widest)
    residuals, jacobians, moved = np.empty((2, widest)), np.empty((2, unknowns, widest)), np.empty((2, unknowns))
    own_weights, own_shares, own_levels = np.empty(widest), np.empty(widest), np.empty(widest, np.int64)
    weighed, step = np.empty(widest), np.empty(unknowns)
    one_sided, pressed = np.zeros(widest, np.bool_), np.zeros(widest, np.bool_)
    positions, rotations = np.empty((1, joint_count, 3)), np.empty((1, joint_count, 4))
    trial_root, trial_local = np.empty((1, 3)), np.empty((1, joint_count, 4))
    for f in range(root.shape[0]):
        begin, end = starts[f], starts[f + 1]
        count = 3 * (end - begin)
        rounds[f] = 0
        if count == 0:
            continue
        o = 0 if offsets.shape[0] == 1 else f
        for k in range(count):
            pin = begin + k // 3
            own_weights[k], own_shares[k], own_levels[k] = weights[pin], shares[pin], levels[pin]
        now, then = 0, 1
        measure_row(
            parents, offsets[o : o + 1], group_of, kinds, joints, point_offsets, targets, axes, chain_of, chains,
            begin, end, root[f : f + 1], local[f : f + 1], positions, rotations, residuals[now], jacobians[now],
        )  # fmt: skip
        moved_from(groups, reference_root[f], reference_local[f], root[f], local[f], moved[now])
        stage, tries, damping, growth = 0, 0, 0.0, 2.0
        while stage < penalties.shape[0]:
            weigh(own_weights, own_shares, own_levels, penalties[stage], count, weighed)
            longest, hoped = propose(
                groups, costs, moved[now], residuals[now], jacobians[now], weighed, one_sided, pressed, count, damping,
                work, step, root[f], local[f], trial_root[0], trial_local[0],
            )  # fmt: skip
            measure_row(
                parents, offsets[o : o + 1], group_of, kinds, joints, point_offsets, targets, axes, chain_of, chains,
                begin, end, trial_root, trial_local, positions, rotations, residuals[then], jacobians[then],
            )  # fmt: skip
            moved_from(groups, reference_root[f], reference_local[f], trial_root[0], trial_local[0], moved[then])
            value = value_of(costs, moved[now], residuals[now], weighed, one_sided, count)
            tried = value_of(costs, moved[then], residuals[then], weighed, one_sided, count)
            taken, stage, tries, damping, growth = decide(
                value, tried, hoped, longest, False, stage, tries, damping, growth, gains, most
            )
            rounds[f] += 1
            if taken:
                now, then = then, now
                root[f], local[f] = trial_root[0], trial_local[0]


@jit
def advance_rows(
    first, busy, parents, offsets, groups, group_of, costs, starts, kinds, joints, point_offsets, targets, axes,
    chain_of, chains, weights, shares, levels, one_sided, counts, penalties, gains, most, reference_root,
    reference_local, extra_residuals, extra_jacobians, root, local, trial_root, trial_local, residuals, jacobians,
    moved, pressed, stages, tries, dampings, growths, longest, hopes,
):  # fmt: skip
    """One step of the rows in `busy`, whose other residuals were measured at the trial poses by their own classes.

    Takes or refuses the trials, then proposes the next ones. extra_residuals (busy, E), extra_jacobians (busy, E, n)
    follow a row's pins; weights … one_sided (F, K), counts (F,) tell all residuals of a row. State kept from step to
    step: poses, trials, residuals (F, K), jacobians (F, n, K), moved (F, n), pressed (F, K), stages, tries, dampings,
    growths, longest, hopes (F,). `first`: the trials are the start of the search and are taken as they are.
    """
    widest, unknowns, joint_count = residuals.shape[1], moved.shape[1], local.shape[1]
    work = workspace(unknowns, widest)
    new_residual, new_jacobian = np.empty(widest), np.empty((unknowns, widest))
    new_moved, step, weighed = np.empty(unknowns), np.empty(unknowns), np.empty(widest)
    positions, rotations = np.empty((1, joint_count, 3)), np.empty((1, joint_count, 4))
    for b in range(busy.shape[0]):
        f = busy[b]
        begin, end, count = starts[f], starts[f + 1], counts[f]
        o = 0 if offsets.shape[0] == 1 else f
        measure_row(
            parents, offsets[o : o + 1], group_of, kinds, joints, point_offsets, targets, axes, chain_of, chains,
            begin, end, trial_root[f : f + 1], trial_local[f : f + 1], positions, rotations, new_residual,
            new_jacobian,
        )  # fmt: skip
        own = 3 * (end - begin)
        for e in range(count - own):
            k = own + e
            new_residual[k] = extra_residuals[b, e]
            if is_heard(k, new_residual, one_sided[f], pressed[f]):
                for c in range(unknowns):
                    new_jacobian[c, k] = extra_jacobians[b, e, c]
        moved_from(groups, reference_root[f], reference_local[f], trial_root[f], trial_local[f], new_moved)
        taken = True
        if not first:
            weigh(weights[f], shares[f], levels[f], penalties[stages[f]], count, weighed)
            value = value_of(costs, moved[f], residuals[f], weighed, one_sided[f], count)
            tried = value_of(costs, new_moved, new_residual, weighed, one_sided[f], count)
            pressing = not tried <= value and press(
                residuals[f], jacobians[f], new_residual, new_jacobian, one_sided[f], pressed[f], count
            )  # fmt: skip
            taken, stages[f], tries[f], dampings[f], growths[f] = decide(
                value, tried, hopes[f], longest[f], pressing, stages[f], tries[f], dampings[f], growths[f], gains, most
            )
        if taken:
            root[f], local[f] = trial_root[f], trial_local[f]
            moved[f], residuals[f, :count] = new_moved, new_residual[:count]
            for k in range(count):
                if is_heard(k, new_residual, one_sided[f], pressed[f]):
                    for c in range(unknowns):
                        jacobians[f, c, k] = new_jacobian[c, k]
        if stages[f] < penalties.shape[0]:
            weigh(weights[f], shares[f], levels[f], penalties[stages[f]], count, weighed)
            longest[f], hopes[f] = propose(
                groups, costs, moved[f], residuals[f], jacobians[f], weighed, one_sided[f], pressed[f], count,
                dampings[f], work, step, root[f], local[f], trial_root[f], trial_local[f],
            )  # fmt: skip


def _read_only(*shape):
    array = np.zeros(shape)
    array[..., 0] = 1.0
    array.setflags(write=False)
    return array


def _pins():
    """The arguments that tell of a figure of two joints, three groups and one pin at one row."""
    parents = np.array([-1, 0])
    parents.setflags(write=False)
    return (
        parents, _read_only(1, 2, 3), np.arange(3), np.arange(3), np.ones(9), np.array([0, 1]), np.zeros(1, np.int64),
        np.ones(1, np.int64), np.zeros((1, 3)), np.ones((1, 4)), np.ones((1, 3)), np.zeros(1, np.int64),
        np.ones((1, 3), np.bool_),
    )  # fmt: skip


def _pose(read_only=True):
    root, local = _read_only(1, 3), _read_only(1, 2, 4)
    return (root, local) if read_only else (np.array(root), np.array(local))


def _smallest_solve():
    return (
        *_pins(), np.ones(1), np.ones(1), np.zeros(1, np.int64), np.ones((1, 1)), np.ones(1), 1, *_pose(),
        *_pose(False), np.zeros(1, np.int64),
    )  # fmt: skip


def _smallest_advance():
    numbers, three = np.zeros(1, np.int64), np.zeros((1, 3))
    return (
        True, numbers, *_pins(), np.ones((1, 3)), three, np.zeros((1, 3), np.int64), np.zeros((1, 3), np.bool_),
        np.array([3]), np.ones((1, 1)), np.ones(1), 1, *_pose(), np.zeros((1, 0)), np.zeros((1, 0, 9)), *_pose(False),
        *_pose(False), np.zeros((1, 3)), np.zeros((1, 9, 3)), np.zeros((1, 9)),
        np.zeros((1, 3), np.bool_), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1), np.zeros(1),
        np.zeros(1), np.zeros(1),
    )  # fmt: skip


WARMUP = {"solve_pins": _smallest_solve, "advance_rows": _smallest_advance}
