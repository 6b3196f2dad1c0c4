"""Poses from markers, frame by frame: Levenberg–Marquardt on one pose at a time.

What is minimised at a frame is Σ p·s/(1 + s/o²), with s the square of a marker's misfit, p its precision and o the
distance from which on it is taken for something else (Geman & McClure), and the squared turns from a held pose in each
joint's stiffness.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.dense import factor, substitute
from footplant.kernels.fk import carry, forward, world_axis
from footplant.kernels.quaternion import exp, log, multiply


@jit
def held_turn(held, local, joint, axes, row, spreads, one_way, back, firm, out):
    """The rotation vector by which a joint turned from a held pose.

    out (6,): that turn about the axes of the T-pose times the stiffness, then the stiffness about each of them.
    """
    w, x, y, z = multiply(
        held[joint, 0], -held[joint, 1], -held[joint, 2], -held[joint, 3],
        local[joint, 0], local[joint, 1], local[joint, 2], local[joint, 3],
    )  # fmt: skip
    vx, vy, vz = log(w, x, y, z)
    for k in range(3):
        about = axes[row, k, 0] * vx + axes[row, k, 1] * vy + axes[row, k, 2] * vz
        spread = back if about * one_way[row, k] < 0.0 else spreads[row, k]
        out[3 + k] = firm / spread
        out[k] = about * out[3 + k]
    return vx, vy, vz


@jit
def turn_changes(axes, row, vx, vy, vz, out):
    """How a turn about the axes of the T-pose changes with a step: out (3, 3); vx, vy, vz as of `held_turn`."""
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
def cost_of(
    places, target, precision, outlier, held, local, active, axes, spreads, one_way, mates, alike, back, firm, room
):
    """What a pose costs: places (M, 3) of its markers, target (M, 3) with NaN where hidden.

    mates (A,): the active joint that each one turns like, −1 where there is none; alike (A,): how far it is from that.
    """
    total = 0.0
    for m in range(target.shape[0]):
        if not math.isnan(target[m, 0]):
            dx, dy, dz = places[m, 0] - target[m, 0], places[m, 1] - target[m, 1], places[m, 2] - target[m, 2]
            square = dx * dx + dy * dy + dz * dz
            total += precision[m] * square / (1.0 + square / (outlier[m] * outlier[m]))
    for row in range(active.shape[0]):
        held_turn(held, local, active[row], axes, row, spreads, one_way, back, firm[row], room)
        total += room[0] * room[0] + room[1] * room[1] + room[2] * room[2]
        mate = mates[row]
        if mate >= 0:
            tx, ty, tz = room[0] / room[3], room[1] / room[4], room[2] / room[5]
            held_turn(held, local, active[mate], axes, mate, spreads, one_way, back, firm[mate], room)
            tx, ty, tz = tx - room[0] / room[3], ty - room[1] / room[4], tz - room[2] / room[5]
            total += (tx * tx + ty * ty + tz * tz) / (alike[row] * alike[row])
    return total


@jit
def equations_of(
    parents, segments, rows, places, joints, turned, target, precision, outlier,
    held, local, active, axes, spreads, one_way, mates, alike, back, firm, room, blocks, columns, jacobian,
    matrix, vector,
):  # fmt: skip
    """The normal equations of a pose: the lower triangle of `matrix` (D, D), and `vector` (D,), half the gradient.

    blocks (3, 3, 3), columns (D,) and jacobian (3, D) are room for what is not zero of the Jacobians.
    """
    size = vector.shape[0]
    own, other, apart = blocks[0], blocks[1], blocks[2, 0]
    for i in range(size):
        vector[i] = 0.0
        for j in range(i + 1):
            matrix[i, j] = 0.0
    for m in range(segments.shape[0]):
        if math.isnan(target[m, 0]):
            continue
        dx, dy, dz = places[m, 0] - target[m, 0], places[m, 1] - target[m, 1], places[m, 2] - target[m, 2]
        share = 1.0 / (1.0 + (dx * dx + dy * dy + dz * dz) / (outlier[m] * outlier[m]))
        weight = precision[m] * share * share
        count = 0
        joint = segments[m]
        while joint >= 0:
            ax, ay = places[m, 0] - joints[joint, 0], places[m, 1] - joints[joint, 1]
            az = places[m, 2] - joints[joint, 2]
            for k in range(2, -1, -1):
                ux, uy, uz = world_axis(turned[joint, 0], turned[joint, 1], turned[joint, 2], turned[joint, 3], k)
                columns[count] = 3 + 3 * rows[joint] + k
                jacobian[0, count] = uy * az - uz * ay
                jacobian[1, count] = uz * ax - ux * az
                jacobian[2, count] = ux * ay - uy * ax
                count += 1
            joint = parents[joint]
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
    for row in range(active.shape[0]):
        vx, vy, vz = held_turn(held, local, active[row], axes, row, spreads, one_way, back, firm[row], room)
        turn_changes(axes, row, vx, vy, vz, own)
        first = 3 + 3 * row
        for k in range(3):
            for a in range(3):
                scaled = own[k, a] * room[3 + k]
                vector[first + a] += scaled * room[k]
                for b in range(a + 1):
                    matrix[first + a, first + b] += scaled * own[k, b] * room[3 + k]
        mate = mates[row]
        if mate >= 0:
            tx, ty, tz = room[0] / room[3], room[1] / room[4], room[2] / room[5]
            vx, vy, vz = held_turn(held, local, active[mate], axes, mate, spreads, one_way, back, firm[mate], room)
            turn_changes(axes, mate, vx, vy, vz, other)
            apart[0], apart[1], apart[2] = tx - room[0] / room[3], ty - room[1] / room[4], tz - room[2] / room[5]
            second, weight = 3 + 3 * mate, 1.0 / (alike[row] * alike[row])
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
def equations(
    parents, segments, rows, places, joints, turned, targets, precision, outlier,
    held, local, active, axes, spreads, one_way, mates, alike, back, firm, matrices, vectors, costs,
):  # fmt: skip
    """`equations_of` and `cost_of` for many poses: matrices (F, D, D) lower triangles, vectors (F, D), costs (F,).

    held (1 or F, J, 4) and firm (1 or F, A) are what poses are held to and how firmly.
    """
    size = vectors.shape[1]
    room, blocks = np.empty(6), np.empty((3, 3, 3))
    columns, jacobian = np.empty(size, np.int64), np.empty((3, size))
    for f in range(targets.shape[0]):
        h, s = f if held.shape[0] > 1 else 0, f if firm.shape[0] > 1 else 0
        equations_of(
            parents, segments, rows, places[f], joints[f], turned[f], targets[f], precision, outlier,
            held[h], local[f], active, axes, spreads, one_way, mates, alike, back, firm[s], room, blocks, columns,
            jacobian, matrices[f], vectors[f],
        )  # fmt: skip
        costs[f] = cost_of(
            places[f], targets[f], precision, outlier, held[h], local[f], active, axes, spreads, one_way, mates, alike,
            back, firm[s], room,
        )  # fmt: skip


@jit
def solve(
    parents, bones, segments, offsets, rows, targets, precision, outlier, held, active, axes, spreads, one_way, mates,
    alike, back, firm, warm, iterations, enough, root, local,
):  # fmt: skip
    """Poses whose markers are at their targets, in place of root (F, 3) and local (F, J, 4), which say where to begin.

    bones (1, J, 3); offsets (M, 3) of the markers in their segments' frames. warm: a frame begins at its neighbour's
    pose when that costs less than its own. A frame ends when a step gains less than the share `enough` of its cost.
    """
    count, markers, size = parents.shape[0], segments.shape[0], 3 + 3 * active.shape[0]
    room, blocks = np.empty(6), np.empty((3, 3, 3))
    columns, jacobian = np.empty(size, np.int64), np.empty((3, size))
    matrix, lower, vector, step = np.zeros((size, size)), np.zeros((size, size)), np.empty(size), np.empty(size)
    places, joints, turned = np.empty((1, markers, 3)), np.empty((1, count, 3)), np.empty((1, count, 4))
    new_places, new_joints, new_turned = np.empty((1, markers, 3)), np.empty((1, count, 3)), np.empty((1, count, 4))
    new_root, new_local = np.empty((1, 3)), np.empty((1, count, 4))
    for f in range(targets.shape[0]):
        h, s = f if held.shape[0] > 1 else 0, f if firm.shape[0] > 1 else 0
        forward(parents, bones, root[f : f + 1], local[f : f + 1], joints, turned)
        carry(segments, offsets, joints, turned, places)
        cost = cost_of(
            places[0], targets[f], precision, outlier, held[h], local[f], active, axes, spreads, one_way, mates, alike,
            back, firm[s], room,
        )  # fmt: skip
        if warm and f > 0:
            forward(parents, bones, root[f - 1 : f], local[f - 1 : f], new_joints, new_turned)
            carry(segments, offsets, new_joints, new_turned, new_places)
            new = cost_of(
                new_places[0], targets[f], precision, outlier, held[h], local[f - 1], active, axes, spreads, one_way,
                mates, alike, back, firm[s], room,
            )  # fmt: skip
            if new < cost:
                cost = new
                root[f], local[f] = root[f - 1], local[f - 1]
                places[0], joints[0], turned[0] = new_places[0], new_joints[0], new_turned[0]
        damping, fresh = 1e-4, True
        for _ in range(iterations):
            if fresh:
                equations_of(
                    parents, segments, rows, places[0], joints[0], turned[0], targets[f], precision, outlier,
                    held[h], local[f], active, axes, spreads, one_way, mates, alike, back, firm[s], room, blocks,
                    columns, jacobian, matrix, vector,
                )  # fmt: skip
            if not factor(matrix, damping, size, lower):
                break
            substitute(lower, vector, size, step)
            # a turn of a radian in one step is beyond what the linear picture can tell
            longest = 1.0
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
            carry(segments, offsets, new_joints, new_turned, new_places)
            new = cost_of(
                new_places[0], targets[f], precision, outlier, held[h], new_local[0], active, axes, spreads, one_way,
                mates, alike, back, firm[s], room,
            )  # fmt: skip
            fresh = new < cost
            if not fresh:
                damping *= 10.0
                if damping > 1e6:
                    break
                continue
            gained = cost - new
            cost = new
            damping = max(0.2 * damping, 1e-7)
            root[f], local[f] = new_root[0], new_local[0]
            places[0], joints[0], turned[0] = new_places[0], new_joints[0], new_turned[0]
            if gained < enough * cost:
                break


def _smallest():
    """A body of two joints with one marker on the second."""

    parents, turns = np.array([-1, 0]), np.zeros((1, 2, 4))
    parents.setflags(write=False)
    turns[..., 0] = 1.0
    return {
        "parents": parents,
        "segments": np.array([1]),
        "rows": np.array([0, 1]),
        "targets": np.zeros((1, 1, 3)),
        "precision": np.ones(1),
        "outlier": np.ones(1),
        "active": np.array([0, 1]),
        "axes": np.array([np.eye(3), np.eye(3)]),
        "spreads": np.ones((2, 3)),
        "one_way": np.zeros((2, 3)),
        "mates": np.array([-1, -1]),
        "alike": np.ones(2),
        "firm": np.ones((1, 2)),
        "turns": turns,
    }


def _equations():
    b = _smallest()
    return (
        b["parents"], b["segments"], b["rows"], np.zeros((1, 1, 3)), np.zeros((1, 2, 3)), b["turns"], b["targets"],
        b["precision"], b["outlier"], b["turns"], b["turns"], b["active"], b["axes"], b["spreads"], b["one_way"],
        b["mates"], b["alike"], 0.1, b["firm"], np.zeros((1, 9, 9)), np.zeros((1, 9)), np.zeros(1),
    )  # fmt: skip


def _solve():
    b = _smallest()
    return (
        b["parents"], np.zeros((1, 2, 3)), b["segments"], np.zeros((1, 3)), b["rows"], b["targets"], b["precision"],
        b["outlier"], b["turns"], b["active"], b["axes"], b["spreads"], b["one_way"],
        b["mates"], b["alike"], 0.1, b["firm"], True, 2, 1e-4,
        np.zeros((1, 3)), b["turns"].copy(),
    )  # fmt: skip


WARMUP = {"equations": _equations, "solve": _solve}
