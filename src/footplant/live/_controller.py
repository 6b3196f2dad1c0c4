"""One frame of a driven figure: weights, clocks, the root by increments, the mean pose (METHODS F3 to F5).

Tables hold every motion of a set, one after another, at one rate; see `footplant.live.tables` for what each is.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.blend import mean_pose
from footplant.kernels.quaternion import multiply

# the numbers of a state
PHASE, X, Z, FACING, STEER = 0, 1, 2, 3, 4


@jit
def ease(u):
    """3u² − 2u³ between 0 and 1: the cubic Bézier curve that leaves and arrives gently."""
    u = min(max(u, 0.0), 1.0)
    return u * u * (3.0 - 2.0 * u)


@jit
def fade(targets, starts, steers, count, now, length, weights):
    """Weights of all motions at a time, and the steering, from what was asked for and when.

    Each request is 1 from its start until the next one's, smoothed by a window of `length` seconds whose step response
    is the Bézier curve `ease`. So every change of weights is such a curve, also when one request interrupts another;
    weights are never negative and sum to 1, and never change faster than 1.5 / length.
    """
    weights[:] = 0.0
    steer = 0.0
    for k in range(count):
        begun = 1.0 if k == 0 else ease((now - starts[k]) / length)
        ended = 0.0 if k + 1 == count else ease((now - starts[k + 1]) / length)
        weights[targets[k]] += begun - ended
        steer += (begun - ended) * steers[k]
    return steer


@jit
def warped(warp, m, phase):
    """Time of a gait at a phase; one whole phase on is one whole cycle on."""
    cells = warp.shape[1] - 1
    cycle = math.floor(phase)
    place = (phase - cycle) * cells
    cell = min(int(place), cells - 1)
    share = place - cell
    return warp[m, cell] + share * (warp[m, cell + 1] - warp[m, cell]) + cycle * (warp[m, cells] - warp[m, 0])


@jit
def floor_at(floor, first, count, looped, turn, place, out):
    """Where the root is over the floor at a place in frames (0 … count−1), along a smooth curve through the frames.

    Beyond the ends a loop goes on with its next cycle, carried on by its own step and turn; others go on straight.
    """
    last = count - 1
    cell = min(max(math.floor(place), 0), last - 1)
    u = place - cell
    for k in range(2):
        a, b = floor[first + cell, k], floor[first + cell + 1, k]
        before, after = 2.0 * a - b, 2.0 * b - a
        if cell > 0:
            before = floor[first + cell - 1, k]
        if cell + 2 <= last:
            after = floor[first + cell + 2, k]
        start, finish = 0.5 * (b - before), 0.5 * (after - a)
        if looped and (cell == 0 or cell + 2 > last):
            c, s = math.cos(turn), math.sin(turn)
            if cell == 0:
                # the last step before the end, turned back
                dx = floor[first + last, 0] - floor[first + last - 1, 0]
                dz = floor[first + last, 1] - floor[first + last - 1, 1]
                step = dx * c - dz * s if k == 0 else dz * c + dx * s
                start = 0.5 * (b - a + step)
            if cell + 2 > last:
                dx = floor[first + 1, 0] - floor[first, 0]
                dz = floor[first + 1, 1] - floor[first, 1]
                step = dx * c + dz * s if k == 0 else dz * c - dx * s
                finish = 0.5 * (b - a + step)
        u2, u3 = u * u, u * u * u
        out[k] = (2 * u3 - 3 * u2 + 1) * a + (3 * u2 - 2 * u3) * b + (u3 - 2 * u2 + u) * start + (u3 - u2) * finish


@jit
def local_step(floor, first, count, looped, slope, rate, begin, end, a, b, out):
    """The step over the floor between two times within one cycle, seen from the facing half-way: (across, along)."""
    turn = slope * (count - 1) / rate
    floor_at(floor, first, count, looped, turn, begin * rate, a)
    floor_at(floor, first, count, looped, turn, end * rate, b)
    angle = -slope * 0.5 * (begin + end)
    c, s = math.cos(angle), math.sin(angle)
    dx, dz = b[0] - a[0], b[1] - a[1]
    out[0] += dx * c + dz * s
    out[1] += dz * c - dx * s


@jit
def sample(rotations, heights, contacts, first, count, looped, place, pose, planted):
    """A motion's pose at a place in frames; adds nothing up: returns the root's height, fills pose and planted."""
    last = count - 1
    place = min(max(place, 0.0), float(last))
    cell = min(int(place), last - 1)
    u = place - cell
    a, b = first + cell, first + cell + 1
    for j in range(pose.shape[0]):
        dot = 0.0
        for k in range(4):
            dot += rotations[a, j, k] * rotations[b, j, k]
        side = -u if dot < 0.0 else u
        norm = 0.0
        for k in range(4):
            pose[j, k] = (1.0 - u) * rotations[a, j, k] + side * rotations[b, j, k]
            norm += pose[j, k] * pose[j, k]
        norm = math.sqrt(norm)
        for k in range(4):
            pose[j, k] /= norm
    for p in range(planted.shape[0]):
        planted[p] = (1.0 - u) * contacts[a, p] + u * contacts[b, p]
    before, after = 2.0 * heights[a] - heights[b], 2.0 * heights[b] - heights[a]
    if cell > 0:
        before = heights[a - 1]
    elif looped:
        before = heights[first + last - 1]
    if cell + 2 <= last:
        after = heights[b + 1]
    elif looped:
        after = heights[first + 1]
    start, finish = 0.5 * (heights[b] - before), 0.5 * (after - heights[a])
    u2, u3 = u * u, u * u * u
    return (
        (2 * u3 - 3 * u2 + 1) * heights[a] + (3 * u2 - 2 * u3) * heights[b] + (u3 - 2 * u2 + u) * start
        + (u3 - u2) * finish
    )  # fmt: skip


@jit
def advance(
    seconds, steer, old_weights, weights, kinds, firsts, counts, slopes, warp, floor, heights, rotations, contacts,
    rate, numbers, clocks, poses, shares, planted, all_planted, scratch, root, pose,
):  # fmt: skip
    """Move clocks, phase and root on by some seconds and write the mean pose; planted gets how much each point stands.

    kinds: 0 a gait (its clock follows the phase), 1 a loop with a clock of its own, 2 a clip that is played once.
    """
    motions, joints = weights.shape[0], pose.shape[0]
    gaits = 0.0
    for m in range(motions):
        if kinds[m] == 0:
            gaits += 0.5 * (old_weights[m] + weights[m])
    phase, step = numbers[PHASE], 0.0
    if gaits > 1e-9 and seconds > 0.0:
        # such a step of the phase that the mean time of the gaits goes on by just these seconds
        step = 1e-3
        for _ in range(6):
            gone = 0.0
            for m in range(motions):
                if kinds[m] == 0:
                    share = 0.5 * (old_weights[m] + weights[m]) / gaits
                    if share > 0.0:
                        gone += share * (warped(warp, m, phase + step) - warped(warp, m, phase))
            step *= seconds / gone
    gone_x = gone_z = turned = 0.0
    for m in range(motions):
        share, length = 0.5 * (old_weights[m] + weights[m]), (counts[m] - 1) / rate
        if kinds[m] == 0:
            if step <= 0.0:
                continue
            moved = warped(warp, m, phase + step) - warped(warp, m, phase)
        else:
            moved = seconds
        begin = clocks[m]
        if kinds[m] == 2:
            moved = min(moved, length - begin)
        end = begin + moved
        if share > 0.0 and moved > 0.0:
            scratch[4], scratch[5] = 0.0, 0.0
            if end <= length:
                local_step(
                    floor, firsts[m], counts[m], kinds[m] < 2, slopes[m], rate, begin, end, scratch[0:2], scratch[2:4],
                    scratch[4:6],
                )  # fmt: skip
            else:
                local_step(
                    floor, firsts[m], counts[m], True, slopes[m], rate, begin, length, scratch[0:2], scratch[2:4],
                    scratch[4:6],
                )  # fmt: skip
                local_step(
                    floor, firsts[m], counts[m], True, slopes[m], rate, 0.0, end - length, scratch[0:2], scratch[2:4],
                    scratch[4:6],
                )  # fmt: skip
            gone_x += share * scratch[4]
            gone_z += share * scratch[5]
            turned += share * slopes[m] * moved
        if kinds[m] < 2 and end >= length:
            end -= length
        clocks[m] = end
    numbers[PHASE] = phase + step - math.floor(phase + step)
    turned += 0.5 * (numbers[STEER] + steer) * seconds
    numbers[STEER] = steer
    angle = numbers[FACING] + 0.5 * turned
    c, s = math.cos(angle), math.sin(angle)
    numbers[X] += gone_x * c + gone_z * s
    numbers[Z] += gone_z * c - gone_x * s
    numbers[FACING] += turned
    planted[:] = 0.0
    height, active = 0.0, 0
    for m in range(motions):
        if weights[m] > 0.0:
            own = sample(
                rotations, heights, contacts, firsts[m], counts[m], kinds[m] < 2, clocks[m] * rate, poses[active],
                all_planted,
            )  # fmt: skip
            height += weights[m] * own
            for p in range(planted.shape[0]):
                planted[p] += weights[m] * all_planted[p]
            for j in range(joints):
                shares[active, j] = weights[m]
            active += 1
    mean_pose(poses[:active], shares[:active], pose)
    c, s = math.cos(0.5 * numbers[FACING]), math.sin(0.5 * numbers[FACING])
    pose[0, 0], pose[0, 1], pose[0, 2], pose[0, 3] = multiply(
        c, 0.0, s, 0.0, pose[0, 0], pose[0, 1], pose[0, 2], pose[0, 3]
    )
    root[0], root[1], root[2] = numbers[X], height, numbers[Z]


def _advance_arguments():
    one = np.zeros(1)
    return (
        0.01, 0.0, np.ones(1), np.ones(1), np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, 2), np.zeros(1),
        np.array([[0.0, 1.0]]), np.zeros((2, 2)), np.zeros(2), np.ones((2, 1, 4)), np.zeros((2, 4)), 60.0,
        np.zeros(5), one.copy(), np.ones((1, 1, 4)), np.ones((1, 1)), np.zeros(4), np.zeros(4), np.zeros(36),
        np.zeros(3), np.ones((1, 4)),
    )  # fmt: skip


WARMUP = {
    "fade": lambda: (np.zeros(1, np.int64), np.zeros(1), np.zeros(1), 1, 0.0, 1.0, np.zeros(1)),
    "advance": _advance_arguments,
}
