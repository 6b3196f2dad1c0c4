"""Pins on hands and feet as goals for wrists and ankles, frame by frame (see `footplant.solve.ik.limb_goals`)."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import between, exp, log, multiply, rotate

POSITION = 0
ORIENTATION = 1
SWEEPS = 12
"""Rounds of Jacobi's method at most; six or seven are usual."""


@jit
def largest_eigenvector(matrix, vectors):
    """The unit eigenvector (as four numbers) of the largest eigenvalue of a symmetric 4×4 matrix, by Jacobi's method.

    `matrix` is used up; `vectors` (4, 4) is workspace.
    """
    for i in range(4):
        for j in range(4):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        rest, size = 0.0, 0.0
        for i in range(4):
            size += matrix[i, i] * matrix[i, i]
            for j in range(i):
                rest += matrix[i, j] * matrix[i, j]
        if rest <= 1e-32 * size:
            break
        for p in range(3):
            for q in range(p + 1, 4):
                if matrix[p, q] == 0.0:
                    continue
                theta = 0.5 * (matrix[q, q] - matrix[p, p]) / matrix[p, q]
                t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + math.sqrt(theta * theta + 1.0))
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(4):
                    a, b = matrix[k, p], matrix[k, q]
                    matrix[k, p], matrix[k, q] = c * a - s * b, s * a + c * b
                for k in range(4):
                    a, b = matrix[p, k], matrix[q, k]
                    matrix[p, k], matrix[q, k] = c * a - s * b, s * a + c * b
                for k in range(4):
                    a, b = vectors[k, p], vectors[k, q]
                    vectors[k, p], vectors[k, q] = c * a - s * b, s * a + c * b
    best = 0
    for i in range(1, 4):
        if matrix[i, i] > matrix[best, best]:
            best = i
    return vectors[0, best], vectors[1, best], vectors[2, best], vectors[3, best]


@jit
def part_of(w, x, y, z, way):
    """A share of the way to a rotation."""
    if way == 1.0:
        return w, x, y, z
    vx, vy, vz = log(w, x, y, z)
    return exp(way * vx, way * vy, way * vz)


@jit
def least_turn(points, targets, shares, count, spread, matrix, vectors):
    """The least rotation that lines points (count, 3) up with targets, as far as a second one is at work.

    Horn's quaternion method (1987) with a faint wish not to turn, which settles the roll about a single line.
    """
    total, most, second = 0.0, 0.0, 0.0
    for n in range(count):
        total += shares[n]
        if shares[n] > most:
            most, second = shares[n], most
        elif shares[n] > second:
            second = shares[n]
    if second <= 0.0:
        return 1.0, 0.0, 0.0, 0.0
    if count == 2:
        # two points tell a line alone, and lines are turned into one another without searching
        w, x, y, z = between(
            points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2],
            targets[1, 0] - targets[0, 0], targets[1, 1] - targets[0, 1], targets[1, 2] - targets[0, 2],
        )  # fmt: skip
        return part_of(w, x, y, z, second / most)
    for i in range(3):
        point_mean, target_mean = 0.0, 0.0
        for n in range(count):
            point_mean += shares[n] * points[n, i] / total
            target_mean += shares[n] * targets[n, i] / total
        spread[3, i], spread[4, i] = point_mean, target_mean
    size = 0.0
    for i in range(3):
        for j in range(3):
            value = 0.0
            for n in range(count):
                value += shares[n] * (points[n, i] - spread[3, i]) * (targets[n, j] - spread[4, j])
            spread[i, j] = value
            size += value * value
    trace = spread[0, 0] + spread[1, 1] + spread[2, 2]
    matrix[0, 0] = trace + 1e-6 * math.sqrt(size) + 1e-15
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        matrix[0, 1 + i] = matrix[1 + i, 0] = spread[a, b] - spread[b, a]
        for j in range(3):
            matrix[1 + i, 1 + j] = spread[i, j] + spread[j, i] - (trace if i == j else 0.0)
    w, x, y, z = largest_eigenvector(matrix, vectors)
    return part_of(w, x, y, z, second / most)


@jit
def aim_limbs(
    starts, kinds, joints, offsets, targets, axes, activations, shares, importances, ranks, limb_of, ends, positions,
    rotations, every, places, turns, weights, turn_weights, importance, pivots, held, several,
):  # fmt: skip
    """Goals (G, L) of limbs whose ends carry pins, at every so many rows; pins of row f: starts[f] … starts[f+1]−1.

    positions, rotations: where all joints are, (F, J, …); shares, importances, ranks (N,) of the pins; limb_of (J,):
    which limb's end carries a joint. Written: places, turns, weights, turn_weights, importance as in `LimbGoals`; what
    holds the end: its mean place `pivots`, by how much `held`, and whether by `several` points fully at work.

    One point moves the end without turning it. Two or more also turn it, by as much as the second of them is at work:
    a heel that lifts lets the foot go smoothly.
    """
    most = 1
    for f in range(positions.shape[0]):
        most = max(most, starts[f + 1] - starts[f])
    points, wanted, share = np.empty((most, 3)), np.empty((most, 3)), np.empty(most)
    spread, matrix, vectors = np.empty((5, 3)), np.empty((4, 4)), np.empty((4, 4))
    for row in range(places.shape[0]):
        f = every * row
        for m in range(ends.shape[0]):
            end = ends[m]
            for k in range(3):
                places[row, m, k] = positions[f, end, k]
            for k in range(4):
                turns[row, m, k] = rotations[f, end, k]
            sw, sx, sy, sz = turns[row, m, 0], turns[row, m, 1], turns[row, m, 2], turns[row, m, 3]
            weights[row, m] = turn_weights[row, m] = importance[row, m] = held[row, m] = 0.0
            several[row, m] = False
            top = -math.inf
            for n in range(starts[f], starts[f + 1]):
                if limb_of[joints[n]] == m and kinds[n] == POSITION and shares[n] > 0.0:
                    top = max(top, ranks[n])
            count, full, strongest = 0, 0, 0.0
            for n in range(starts[f], starts[f + 1]):
                j = joints[n]
                if limb_of[j] != m:
                    continue
                jw, jx, jy, jz = rotations[f, j, 0], rotations[f, j, 1], rotations[f, j, 2], rotations[f, j, 3]
                if kinds[n] == ORIENTATION:
                    # the turn that the end needs for a joint below it, which keeps its own turn, to be as asked
                    w, x, y, z = multiply(targets[n, 0], targets[n, 1], targets[n, 2], targets[n, 3], jw, -jx, -jy, -jz)
                    vx, vy, vz = log(w, x, y, z)
                    a = activations[n]
                    w, x, y, z = exp(a * vx, a * vy, a * vz)
                    turns[row, m, 0], turns[row, m, 1], turns[row, m, 2], turns[row, m, 3] = multiply(
                        w, x, y, z, sw, sx, sy, sz
                    )
                    turn_weights[row, m] = 1.0
                    continue
                px, py, pz = rotate(jw, jx, jy, jz, offsets[n, 0], offsets[n, 1], offsets[n, 2])
                points[count, 0] = positions[f, j, 0] + px
                points[count, 1] = positions[f, j, 1] + py
                points[count, 2] = positions[f, j, 2] + pz
                for k in range(3):
                    wanted[count, k] = points[count, k] - axes[n, k] * (points[count, k] - targets[n, k])
                # where points of one end cannot all be met, greater priorities have their way; alone, any is met
                share[count] = shares[n] if shares[n] > 0.0 else 0.0
                if share[count] > 0.0 and ranks[n] < top:
                    share[count] *= 10.0 ** max(ranks[n] - top, -3.0)
                importance[row, m] = max(importance[row, m], importances[n])
                strongest = max(strongest, share[count])
                full += share[count] >= 1.0
                count += 1
            if strongest <= 0.0:
                continue
            tw, tx, ty, tz = 1.0, 0.0, 0.0, 0.0
            if turn_weights[row, m] <= 0.0:
                tw, tx, ty, tz = least_turn(points, wanted, share, count, spread, matrix, vectors)
                turns[row, m, 0], turns[row, m, 1], turns[row, m, 2], turns[row, m, 3] = multiply(
                    tw, tx, ty, tz, sw, sx, sy, sz
                )
                # also an end that is held by one point keeps its orientation: the point's place was reckoned with it
                turn_weights[row, m] = strongest
            else:
                tw, tx, ty, tz = multiply(
                    turns[row, m, 0], turns[row, m, 1], turns[row, m, 2], turns[row, m, 3], sw, -sx, -sy, -sz
                )
            total = 0.0
            for n in range(count):
                # who decides: nearly all to what holds most, without a jump where another takes over
                square = (share[n] / strongest) * (share[n] / strongest)
                share[n] = (square * square) * (square * square)
                total += share[n]
            for k in range(3):
                pivots[row, m, k] = 0.0
                places[row, m, k] = 0.0
            for n in range(count):
                say = share[n] / total
                ax, ay, az = rotate(
                    tw, tx, ty, tz, points[n, 0] - positions[f, end, 0], points[n, 1] - positions[f, end, 1],
                    points[n, 2] - positions[f, end, 2],
                )  # fmt: skip
                places[row, m, 0] += say * (wanted[n, 0] - ax)
                places[row, m, 1] += say * (wanted[n, 1] - ay)
                places[row, m, 2] += say * (wanted[n, 2] - az)
                for k in range(3):
                    pivots[row, m, k] += say * wanted[n, k]
            weights[row, m] = held[row, m] = strongest
            several[row, m] = full > 1


def _smallest_call():
    rows, turned = np.zeros((1, 3)), np.ones((1, 1, 4))
    positions = np.zeros((1, 1, 3))
    positions.setflags(write=False)
    turned.setflags(write=False)
    numbers = np.zeros(1, np.int64)
    return (
        np.array([0, 1]), numbers, numbers, rows, np.ones((1, 4)), np.ones((1, 3)), np.ones(1), np.ones(1), np.ones(1),
        np.ones(1), numbers, numbers, positions, turned, 1, np.zeros((1, 1, 3)), np.zeros((1, 1, 4)), np.zeros((1, 1)),
        np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1, 3)), np.zeros((1, 1)), np.zeros((1, 1), np.bool_),
    )  # fmt: skip


WARMUP = {"aim_limbs": _smallest_call}
