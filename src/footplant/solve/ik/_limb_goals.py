"""Pins on hands and feet as goals for wrists and ankles, frame by frame (see `footplant.solve.ik.limb_goals`)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.fk import place_of
from footplant.kernels.quaternion import between, exp, log, multiply, rotate

POSITION = 0
ORIENTATION = 1
SWEEPS = 12
"""Largest number of sweeps of Jacobi's method; six or seven are usual."""


@jit
def largest_eigenvector(matrix, vectors):
    """Return the unit eigenvector of the largest eigenvalue of a symmetric 4×4 matrix, by Jacobi's method.

    `matrix` is overwritten; `vectors` (4, 4) is workspace.
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
    """Return a share of a rotation: exp(way·log q)."""
    if way == 1.0:
        return w, x, y, z
    vx, vy, vz = log(w, x, y, z)
    return exp(way * vx, way * vy, way * vz)


@jit
def least_turn(points, targets, shares, count, spread, matrix, vectors):
    """Return the smallest rotation that aligns points (count, 3) with targets, scaled by the second largest share.

    Horn's quaternion method (1987) with a slight preference for no rotation, which settles the roll about a single
    line.
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
        # two points define a line, and the rotation between two lines has a closed form
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


class Pins(NamedTuple):
    """N pins on ends of limbs, sorted by row; those of row f are starts[f] … starts[f+1]−1."""

    starts: NDArray
    kinds: NDArray
    joints: NDArray
    offsets: NDArray
    """(N, 3) the point in its joint's frame, metres."""
    targets: NDArray
    """(N, 4) world position or rotation."""
    axes: NDArray
    """(N, 3) weight of each world axis."""
    activations: NDArray
    """(N,) above 0, up to 1."""
    shares: NDArray
    """(N,) share of the way that is asked for, 0 to 1."""
    importances: NDArray
    """(N,) weight in the trunk's objective."""
    ranks: NDArray
    """(N,) priorities."""


class Goals(NamedTuple):
    """What `aim_limbs` writes, for G rows and L limbs: see `footplant.solve.ik.limb_goals.LimbGoals`."""

    places: NDArray
    turns: NDArray
    weights: NDArray
    turn_weights: NDArray
    importance: NDArray
    pivots: NDArray
    held: NDArray
    several: NDArray


@uncounted_jit
def top_rank(pins, limb_of, f, m):
    """Return the highest priority of the points of limb m that are asked for at row f; −∞ without any."""
    top = -math.inf
    for n in range(pins.starts[f], pins.starts[f + 1]):
        if limb_of[pins.joints[n]] == m and pins.kinds[n] == POSITION and pins.shares[n] > 0.0:
            top = max(top, pins.ranks[n])
    return top


@jit
def aim_limbs(pins, limb_of, ends, every_positions, every_rotations, every, goals):
    """Write the `Goals` of limbs whose ends carry `Pins`, at every n-th row.

    every_positions, every_rotations: (F, J, …) of all joints; limb_of (J,): the limb whose end carries a joint, or −1.
    One point translates the end. Two or more also rotate it, by the share of the second: a heel that lifts releases
    the foot smoothly.
    """
    starts, kinds, joints, offsets, targets, axes = (
        pins.starts, pins.kinds, pins.joints, pins.offsets, pins.targets, pins.axes
    )  # fmt: skip
    shares, ranks = pins.shares, pins.ranks
    places, turns, weights, turn_weights = goals.places, goals.turns, goals.weights, goals.turn_weights
    importance, pivots, held, several = goals.importance, goals.pivots, goals.held, goals.several
    most = 1
    for f in range(every_positions.shape[0]):
        most = max(most, starts[f + 1] - starts[f])
    points, wanted, share = np.empty((most, 3)), np.empty((most, 3)), np.empty(most)
    spread, matrix, vectors = np.empty((5, 3)), np.empty((4, 4)), np.empty((4, 4))
    for row in range(places.shape[0]):
        f = every * row
        positions, rotations = every_positions[f], every_rotations[f]
        for m in range(ends.shape[0]):
            end = ends[m]
            for k in range(3):
                places[row, m, k] = positions[end, k]
            for k in range(4):
                turns[row, m, k] = rotations[end, k]
            sw, sx, sy, sz = turns[row, m, 0], turns[row, m, 1], turns[row, m, 2], turns[row, m, 3]
            weights[row, m] = turn_weights[row, m] = importance[row, m] = held[row, m] = 0.0
            several[row, m] = False
            top = top_rank(pins, limb_of, f, m)
            count, full, strongest = 0, 0, 0.0
            for n in range(starts[f], starts[f + 1]):
                j = joints[n]
                if limb_of[j] != m:
                    continue
                if kinds[n] == ORIENTATION:
                    # the rotation of the end that gives a descendant with unchanged local rotation its target
                    jw, jx, jy, jz = rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3]
                    w, x, y, z = multiply(targets[n, 0], targets[n, 1], targets[n, 2], targets[n, 3], jw, -jx, -jy, -jz)
                    vx, vy, vz = log(w, x, y, z)
                    a = pins.activations[n]
                    w, x, y, z = exp(a * vx, a * vy, a * vz)
                    turns[row, m, 0], turns[row, m, 1], turns[row, m, 2], turns[row, m, 3] = multiply(
                        w, x, y, z, sw, sx, sy, sz
                    )
                    turn_weights[row, m] = 1.0
                    continue
                points[count, 0], points[count, 1], points[count, 2] = place_of(j, offsets[n], positions, rotations)
                for k in range(3):
                    wanted[count, k] = points[count, k] - axes[n, k] * (points[count, k] - targets[n, k])
                # where the points of one end conflict, each step of priority weighs ten times less (at most 1000)
                share[count] = shares[n] if shares[n] > 0.0 else 0.0
                if share[count] > 0.0 and ranks[n] < top:
                    share[count] *= 10.0 ** max(ranks[n] - top, -3.0)
                importance[row, m] = max(importance[row, m], pins.importances[n])
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
                # an end held by one point keeps its orientation, with which the point's position was computed
                turn_weights[row, m] = strongest
            else:
                tw, tx, ty, tz = multiply(
                    turns[row, m, 0], turns[row, m, 1], turns[row, m, 2], turns[row, m, 3], sw, -sx, -sy, -sz
                )
            total = 0.0
            for n in range(count):
                # weights share⁸: the strongest point dominates, and another one takes over without a jump
                square = (share[n] / strongest) * (share[n] / strongest)
                share[n] = (square * square) * (square * square)
                total += share[n]
            for k in range(3):
                pivots[row, m, k] = 0.0
                places[row, m, k] = 0.0
            for n in range(count):
                part = share[n] / total
                ax, ay, az = rotate(
                    tw, tx, ty, tz, points[n, 0] - positions[end, 0], points[n, 1] - positions[end, 1],
                    points[n, 2] - positions[end, 2],
                )  # fmt: skip
                places[row, m, 0] += part * (wanted[n, 0] - ax)
                places[row, m, 1] += part * (wanted[n, 1] - ay)
                places[row, m, 2] += part * (wanted[n, 2] - az)
                for k in range(3):
                    pivots[row, m, k] += part * wanted[n, k]
            weights[row, m] = held[row, m] = strongest
            several[row, m] = full > 1


def _smallest_call():
    rows, turned = np.zeros((1, 3)), np.ones((1, 1, 4))
    positions = np.zeros((1, 1, 3))
    positions.setflags(write=False)
    turned.setflags(write=False)
    numbers = np.zeros(1, np.int64)
    pins = Pins(
        np.array([0, 1]), numbers, numbers, rows, np.ones((1, 4)), np.ones((1, 3)), np.ones(1), np.ones(1), np.ones(1),
        np.ones(1),
    )  # fmt: skip
    goals = Goals(
        np.zeros((1, 1, 3)), np.zeros((1, 1, 4)), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)),
        np.zeros((1, 1, 3)), np.zeros((1, 1)), np.zeros((1, 1), np.bool_),
    )  # fmt: skip
    return pins, numbers, numbers, positions, turned, 1, goals


WARMUP = {"aim_limbs": _smallest_call}
