"""Hybrid inverse kinematics, one frame at a time (Lee & Shin 1999, section 5.2; METHODS A6).

The trunk (root place, hips, spine …) is found by Levenberg–Marquardt on few unknowns; the limbs follow in closed form.
What a limb costs enters the trunk's objective: how much the line from its upper joint to its goal must change, and how
far the goal lies beyond its reach.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.fk import world_axis
from footplant.kernels.least_squares import (
    left_inverse_times,
    moved_from,
    next_damping,
    press,
    propose,
    value_of,
    workspace,
)
from footplant.kernels.limb import REACHED, SOFTENED, own_hinge, reach
from footplant.kernels.quaternion import exp, log, multiply, rotate

POSITION = 0
HALF_SPACE = 1
ORIENTATION = 2
HOPELESS = 0.2
"""Metres beyond a limb's reach up to which the trunk does all it can."""
SHORTEST = 1e-7
"""Steps (radians, metres) below this are not worth taking."""
NOTHING = 1e-18
"""An objective below which no step would be as long as that."""
NO_MORE = 1e-8
"""Share of the objective below which a step gains nothing worth another one."""


@uncounted_jit
def pose_trunk(parents, offsets, trunk, root, local, positions, rotations):
    """World positions and rotations of the trunk's joints, parents before children."""
    for n in range(trunk.shape[0]):
        j = trunk[n]
        p = parents[j]
        if p < 0:
            for k in range(3):
                positions[j, k] = root[k]
            for k in range(4):
                rotations[j, k] = local[j, k]
        else:
            w, x, y, z = rotations[p, 0], rotations[p, 1], rotations[p, 2], rotations[p, 3]
            vx, vy, vz = rotate(w, x, y, z, offsets[j, 0], offsets[j, 1], offsets[j, 2])
            positions[j, 0] = positions[p, 0] + vx
            positions[j, 1] = positions[p, 1] + vy
            positions[j, 2] = positions[p, 2] + vz
            rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3] = multiply(
                w, x, y, z, local[j, 0], local[j, 1], local[j, 2], local[j, 3]
            )


@uncounted_jit
def place_rows(parents, column_of, joint, px, py, pz, sign, positions, rotations, jacobian, k):
    """Rows k … k+2: how a point at p, carried by a joint, moves with the trunk's unknowns, times a sign."""
    for i in range(3):
        jacobian[i, k + i] = sign
    a = joint
    while a >= 0:
        column = column_of[a]
        if column >= 0:
            lx, ly, lz = sign * (px - positions[a, 0]), sign * (py - positions[a, 1]), sign * (pz - positions[a, 2])
            for i in range(3):
                ax, ay, az = world_axis(rotations[a, 0], rotations[a, 1], rotations[a, 2], rotations[a, 3], i)
                jacobian[column + i, k] = ay * lz - az * ly
                jacobian[column + i, k + 1] = az * lx - ax * lz
                jacobian[column + i, k + 2] = ax * ly - ay * lx
        a = parents[a]


@uncounted_jit
def turn_rows(parents, column_of, joint, rotations, residual, jacobian, k):
    """Rows k … k+2: how the rotation vector `residual` from a target to a joint changes with the trunk's unknowns."""
    a = joint
    while a >= 0:
        column = column_of[a]
        if column >= 0:
            for i in range(3):
                ax, ay, az = world_axis(rotations[a, 0], rotations[a, 1], rotations[a, 2], rotations[a, 3], i)
                jacobian[column + i, k], jacobian[column + i, k + 1], jacobian[column + i, k + 2] = left_inverse_times(
                    residual[k], residual[k + 1], residual[k + 2], ax, ay, az
                )
        a = parents[a]


@uncounted_jit
def measure_trunk(
    parents, column_of, uppers, reaches, lines, goals, row_kinds, row_joints, row_offsets, row_targets, weights,
    positions, rotations, residual, jacobian,
):  # fmt: skip
    """Residuals and their derivatives of a posed trunk, where their weight is above 0.

    Rows of limb m are 4m … 4m+3: how much the line from its upper joint to its goal has changed (metres), and how much
    is left until its goal is too far or too near to reach (one-sided); reaches (L, 2): nearest and farthest. Rows of
    trunk constraint r are 4L+3r …: point − target, the rotation vector from the target, or one row with the metres to
    spare in a half-space (one-sided).
    """
    limbs = uppers.shape[0]
    jacobian[:, :] = 0.0
    for m in range(limbs):
        k = 4 * m
        if weights[k] <= 0.0:
            continue
        s = uppers[m]
        sx, sy, sz = positions[s, 0], positions[s, 1], positions[s, 2]
        gx, gy, gz = goals[m, 0] - sx, goals[m, 1] - sy, goals[m, 2] - sz
        residual[k], residual[k + 1], residual[k + 2] = gx - lines[m, 0], gy - lines[m, 1], gz - lines[m, 2]
        place_rows(parents, column_of, parents[s], sx, sy, sz, -1.0, positions, rotations, jacobian, k)
        distance = math.sqrt(gx * gx + gy * gy + gz * gz)
        sign = 1.0 if distance - reaches[m, 0] < reaches[m, 1] - distance else -1.0
        residual[k + 3] = distance - reaches[m, 0] if sign > 0.0 else reaches[m, 1] - distance
        if distance > 0.0:
            for c in range(jacobian.shape[0]):
                jacobian[c, k + 3] = (
                    sign * (gx * jacobian[c, k] + gy * jacobian[c, k + 1] + gz * jacobian[c, k + 2]) / distance
                )
    for r in range(row_kinds.shape[0]):
        k = 4 * limbs + 3 * r
        if weights[k] <= 0.0:
            continue
        j = row_joints[r]
        if row_kinds[r] == ORIENTATION:
            w, x, y, z = multiply(
                rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3],
                row_targets[r, 0], -row_targets[r, 1], -row_targets[r, 2], -row_targets[r, 3],
            )  # fmt: skip
            residual[k], residual[k + 1], residual[k + 2] = log(w, x, y, z)
            turn_rows(parents, column_of, j, rotations, residual, jacobian, k)
            continue
        px, py, pz = rotate(
            rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3],
            row_offsets[r, 0], row_offsets[r, 1], row_offsets[r, 2],
        )  # fmt: skip
        px, py, pz = px + positions[j, 0], py + positions[j, 1], pz + positions[j, 2]
        place_rows(parents, column_of, j, px, py, pz, 1.0, positions, rotations, jacobian, k)
        tx, ty, tz = row_targets[r, 0], row_targets[r, 1], row_targets[r, 2]
        if row_kinds[r] == HALF_SPACE:
            residual[k] = tx * px + ty * py + tz * pz - row_targets[r, 3]
            for c in range(jacobian.shape[0]):
                jacobian[c, k] = tx * jacobian[c, k] + ty * jacobian[c, k + 1] + tz * jacobian[c, k + 2]
        else:
            residual[k], residual[k + 1], residual[k + 2] = px - tx, py - ty, pz - tz


@uncounted_jit
def weigh_trunk(pulls, stiffness, overstretch, beyond, row_kinds, row_weights, weights, one_sided):
    """How much each row of `measure_trunk` counts, and whether it is one-sided.

    A goal that is hopelessly beyond reach (metres, at the first pose) pulls no harder than one that is just so.
    """
    limbs = pulls.shape[0]
    for m in range(limbs):
        stretched = overstretch[m] * (HOPELESS / beyond[m] if beyond[m] > HOPELESS else 1.0)
        for i in range(4):
            weights[4 * m + i] = pulls[m] * (stiffness[m] if i < 3 else stretched) if stiffness[m] > 0.0 else 0.0
            one_sided[4 * m + i] = i == 3
    for r in range(row_kinds.shape[0]):
        flat = row_kinds[r] == HALF_SPACE
        for i in range(3):
            weights[4 * limbs + 3 * r + i] = row_weights[r] if i == 0 or not flat else 0.0
            one_sided[4 * limbs + 3 * r + i] = flat and i == 0


@uncounted_jit
def path_turn(parents, local, upper, joint):
    """The rotation of a joint's parent in the frame of a joint above it: the product of what lies between."""
    w, x, y, z = 1.0, 0.0, 0.0, 0.0
    a = parents[joint]
    while a != upper:
        w, x, y, z = multiply(local[a, 0], local[a, 1], local[a, 2], local[a, 3], w, x, y, z)
        a = parents[a]
    return w, x, y, z


@uncounted_jit
def path_offset(parents, offsets, local, upper, joint):
    """The place of a joint in the frame of one above it, twist joints in between included."""
    x, y, z = offsets[joint, 0], offsets[joint, 1], offsets[joint, 2]
    a = parents[joint]
    while a != upper:
        x, y, z = rotate(local[a, 0], local[a, 1], local[a, 2], local[a, 3], x, y, z)
        x, y, z = x + offsets[a, 0], y + offsets[a, 1], z + offsets[a, 2]
        a = parents[a]
    return x, y, z


@uncounted_jit
def bend_limb(
    parents, offsets, upper, lower, end, axis, least, most, swivel, softness, goal, turn, weight, turn_weight,
    positions, rotations, local, scratch,
):  # fmt: skip
    """One limb in closed form under a posed trunk: writes its local rotations; (metres left, status).

    weight and turn_weight (0 … 1) say how much of the way to the goal's place and orientation is gone.
    """
    p = parents[upper]
    pw, px, py, pz = 1.0, 0.0, 0.0, 0.0
    if p >= 0:
        pw, px, py, pz = rotations[p, 0], rotations[p, 1], rotations[p, 2], rotations[p, 3]
    bw, bx, by, bz = path_turn(parents, local, upper, lower)
    hx, hy, hz = path_offset(parents, offsets, local, upper, lower)
    ex, ey, ez = path_offset(parents, offsets, local, lower, end)
    scratch[0, 0], scratch[0, 1], scratch[0, 2], scratch[0, 3] = pw, px, py, pz
    scratch[1, 0], scratch[1, 1], scratch[1, 2], scratch[1, 3] = multiply(
        bw, bx, by, bz, local[lower, 0], local[lower, 1], local[lower, 2], local[lower, 3]
    )
    scratch[2, 0], scratch[2, 1], scratch[2, 2] = hx, hy, hz
    scratch[3, 0], scratch[3, 1], scratch[3, 2] = ex, ey, ez
    # the end as it stands, for goals that are only partly at work
    uw, ux, uy, uz = multiply(pw, px, py, pz, local[upper, 0], local[upper, 1], local[upper, 2], local[upper, 3])
    lw, lx, ly, lz = multiply(uw, ux, uy, uz, scratch[1, 0], scratch[1, 1], scratch[1, 2], scratch[1, 3])
    tw, tx, ty, tz = path_turn(parents, local, lower, end)
    tw, tx, ty, tz = multiply(lw, lx, ly, lz, tw, tx, ty, tz)
    ow, ox, oy, oz = multiply(tw, tx, ty, tz, local[end, 0], local[end, 1], local[end, 2], local[end, 3])
    vx, vy, vz = rotate(uw, ux, uy, uz, hx, hy, hz)
    cx, cy, cz = rotate(lw, lx, ly, lz, ex, ey, ez)
    scratch[4, 0] = positions[upper, 0] + vx + cx
    scratch[4, 1] = positions[upper, 1] + vy + cy
    scratch[4, 2] = positions[upper, 2] + vz + cz
    for k in range(3):
        scratch[4, k] += weight * (goal[k] - scratch[4, k])
    cx, cy, cz = rotate(scratch[1, 0], scratch[1, 1], scratch[1, 2], scratch[1, 3], ex, ey, ez)
    # read before it is written to
    hinge = scratch[6]
    hinge[0], hinge[1], hinge[2] = own_hinge(-hx, -hy, -hz, cx, cy, cz, axis[0], axis[1], axis[2])
    residual, _, status = reach(
        scratch[0], local[upper], scratch[1], scratch[2], scratch[3], hinge, positions[upper], scratch[4],
        scratch[2], False, swivel, softness, least, most, scratch[5], scratch[6],
    )  # fmt: skip
    for k in range(4):
        local[upper, k] = scratch[5, k]
    local[lower, 0], local[lower, 1], local[lower, 2], local[lower, 3] = multiply(
        bw, -bx, -by, -bz, scratch[6, 0], scratch[6, 1], scratch[6, 2], scratch[6, 3]
    )
    if turn_weight > 0.0:
        qw, qx, qy, qz = multiply(turn[0], turn[1], turn[2], turn[3], ow, -ox, -oy, -oz)
        gx, gy, gz = log(qw, qx, qy, qz)
        qw, qx, qy, qz = exp(turn_weight * gx, turn_weight * gy, turn_weight * gz)
        ow, ox, oy, oz = multiply(qw, qx, qy, qz, ow, ox, oy, oz)
        uw, ux, uy, uz = multiply(pw, px, py, pz, scratch[5, 0], scratch[5, 1], scratch[5, 2], scratch[5, 3])
        lw, lx, ly, lz = multiply(uw, ux, uy, uz, scratch[6, 0], scratch[6, 1], scratch[6, 2], scratch[6, 3])
        tw, tx, ty, tz = path_turn(parents, local, lower, end)
        tw, tx, ty, tz = multiply(lw, lx, ly, lz, tw, tx, ty, tz)
        local[end, 0], local[end, 1], local[end, 2], local[end, 3] = multiply(tw, -tx, -ty, -tz, ow, ox, oy, oz)
    return residual, status


@uncounted_jit
def normalize_rows(local):
    """Rows of unit length again: rounding grows with every product."""
    for j in range(local.shape[0]):
        square = local[j, 0] ** 2 + local[j, 1] ** 2 + local[j, 2] ** 2 + local[j, 3] ** 2
        scale = 1.0 / math.sqrt(square)
        for k in range(4):
            local[j, k] *= scale


@jit
def solve_frames(
    parents, offsets, trunk, body, column_of, rigidity, limbs, axes, flexions, swivels, reaches, stiffness,
    overstretch, early, softness, iterations, first_root, first_local, goals, turns, weights, turn_weights, pulls,
    row_kinds, row_joints, row_offsets, row_targets, row_weights, root, local, residuals, statuses,
):  # fmt: skip
    """Poses (root (F, 3), local (F, J, 4), which hold the start of the search) nearest to the first ones given.

    offsets (1, J, 3) or (F, J, 3); limbs (L, 3): upper, lower, end; goals (F, L, 3), turns (F, L, 4) with weights
    (F, L) each, pulls (F, L) how much the trunk cares; rows on the trunk as in `assemble`, targets (F, R, 4), weights
    (F, R); reaches (1, L, 2) or (F, L, 2): nearest and farthest; overstretch (L,): what a metre beyond them costs,
    where stiffness is above 0; early (L,): the share of the way to a goal that the trunk goes at once when the goal
    begins to ease in.
    """
    frames, joints, limb_count = local.shape[0], local.shape[1], limbs.shape[0]
    unknowns, count = 3 + 3 * body.shape[0], 4 * limb_count + 3 * row_kinds.shape[0]
    groups, costs = np.zeros(1 + body.shape[0], np.int64), np.empty(unknowns)
    for n in range(groups.shape[0]):
        groups[n] = 1 + body[n - 1] if n > 0 else 0
        for i in range(3):
            costs[3 * n + i] = rigidity[n]
    positions, rotations = np.zeros((joints, 3)), np.zeros((joints, 4))
    work = workspace(unknowns, count)
    residual, jacobian, moved = np.zeros((2, count)), np.zeros((2, unknowns, count)), np.zeros((2, unknowns))
    row_weight, step = np.zeros(count), np.zeros(unknowns)
    one_sided, pressed = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    lines, eased, beyond = np.zeros((limb_count, 3)), np.zeros((limb_count, 3)), np.zeros(limb_count)
    scratch = np.zeros((7, 4))
    trial_root, trial_local = np.zeros(3), np.zeros((joints, 4))
    uppers = limbs[:, 0].copy()
    for f in range(frames):
        o = f if offsets.shape[0] > 1 else 0
        own_reach = f if reaches.shape[0] > 1 else 0
        # the lines from the upper joints to the ends as the first pose has them
        pose_trunk(parents, offsets[o], trunk, first_root[f], first_local[f], positions, rotations)
        busy = False
        for m in range(limbs.shape[0]):
            busy = busy or weights[f, m] > 0.0 or turn_weights[f, m] > 0.0
            if pulls[f, m] > 0.0:
                upper, end = limbs[m, 0], limbs[m, 2]
                x, y, z = path_offset(parents, offsets[o], first_local[f], upper, end)
                x, y, z = rotate(
                    first_local[f, upper, 0], first_local[f, upper, 1], first_local[f, upper, 2],
                    first_local[f, upper, 3], x, y, z,
                )  # fmt: skip
                p = parents[upper]
                if p >= 0:
                    x, y, z = rotate(rotations[p, 0], rotations[p, 1], rotations[p, 2], rotations[p, 3], x, y, z)
                lines[m, 0], lines[m, 1], lines[m, 2] = x, y, z
                share = max(weights[f, m], early[m])
                for i in range(3):
                    stood = positions[upper, i] + lines[m, i]
                    eased[m, i] = stood + share * (goals[f, m, i] - stood)
                x, y, z = (
                    eased[m, 0] - positions[upper, 0], eased[m, 1] - positions[upper, 1],
                    eased[m, 2] - positions[upper, 2],
                )  # fmt: skip
                beyond[m] = math.sqrt(x * x + y * y + z * z) - reaches[own_reach, m, 1]
        for r in range(row_kinds.shape[0]):
            busy = busy or row_weights[f, r] > 0.0
        if not busy:
            continue
        weigh_trunk(pulls[f], stiffness, overstretch, beyond, row_kinds, row_weights[f], row_weight, one_sided)
        pose_trunk(parents, offsets[o], trunk, root[f], local[f], positions, rotations)
        now, then, damping, growth = 0, 1, 0.0, 2.0
        measure_trunk(
            parents, column_of, uppers, reaches[own_reach], lines, eased, row_kinds, row_joints, row_offsets,
            row_targets[f], row_weight, positions, rotations, residual[now], jacobian[now],
        )  # fmt: skip
        moved_from(groups, first_root[f], first_local[f], root[f], local[f], moved[now])
        cost = value_of(costs, moved[now], residual[now], row_weight, one_sided, count)
        pressed[:] = False
        for _ in range(iterations if cost > NOTHING else 0):
            longest, hoped = propose(
                groups, costs, moved[now], residual[now], jacobian[now], row_weight, one_sided, pressed, count, damping,
                work, step, root[f], local[f], trial_root, trial_local,
            )  # fmt: skip
            if 0.0 <= longest < SHORTEST:
                break
            pose_trunk(parents, offsets[o], trunk, trial_root, trial_local, positions, rotations)
            measure_trunk(
                parents, column_of, uppers, reaches[own_reach], lines, eased, row_kinds, row_joints, row_offsets,
                row_targets[f], row_weight, positions, rotations, residual[then], jacobian[then],
            )  # fmt: skip
            moved_from(groups, first_root[f], first_local[f], trial_root, trial_local, moved[then])
            tried = value_of(costs, moved[then], residual[then], row_weight, one_sided, count)
            taken = longest >= 0.0 and tried <= cost
            pressing = not taken and press(
                residual[now], jacobian[now], residual[then], jacobian[then], one_sided, pressed, count
            )
            damping, growth = next_damping(taken, cost - tried, cost - hoped, pressing, damping, growth)
            if taken:
                root[f], local[f] = trial_root, trial_local
                done = cost - hoped <= NO_MORE * cost
                now, then, cost = then, now, tried
                if done:
                    break
        pose_trunk(parents, offsets[o], trunk, root[f], local[f], positions, rotations)
        for m in range(limbs.shape[0]):
            residuals[f, m] = 0.0
            statuses[f, m] = REACHED
            if weights[f, m] > 0.0 or turn_weights[f, m] > 0.0:
                residuals[f, m], statuses[f, m] = bend_limb(
                    parents, offsets[o], limbs[m, 0], limbs[m, 1], limbs[m, 2], axes[m], flexions[m, 0],
                    flexions[m, 1], swivels[m], softness, goals[f, m], turns[f, m], weights[f, m], turn_weights[f, m],
                    positions, rotations, local[f], scratch,
                )  # fmt: skip
                if statuses[f, m] == SOFTENED and residuals[f, m] < 1e-4:
                    statuses[f, m] = REACHED
        normalize_rows(local[f])


def _smallest_call():
    parents = np.array([-1, 0, 1, 2])
    parents.setflags(write=False)
    offsets, root, local = np.zeros((1, 4, 3)), np.zeros((1, 3)), np.zeros((1, 4, 4))
    local[..., 0] = 1.0
    for array in (offsets, root, local):
        array.setflags(write=False)
    numbers = np.zeros(1, np.int64)
    return (
        parents, offsets, np.array([0, 1]), np.array([0]), np.array([3, -1, -1, -1]), np.ones(2),
        np.array([[1, 2, 3]]), np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 2.8]]), np.zeros(1), np.ones((1, 1, 2)),
        np.ones(1), np.ones(1), np.ones(1), 0.01, 3, root, local, np.zeros((1, 1, 3)), np.ones((1, 1, 4)),
        np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), numbers, numbers, np.zeros((1, 3)), np.ones((1, 1, 4)),
        np.ones((1, 1)), np.zeros((1, 3)), np.ones((1, 4, 4)), np.zeros((1, 1)), np.zeros((1, 1), np.int64),
    )  # fmt: skip


WARMUP = {"solve_frames": _smallest_call}
