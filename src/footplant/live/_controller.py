"""Compiled frame of a driven character: blend weights, clocks, the root by increments, and the mean pose.

Weights w(t) are Bézier-smoothed steps between requests (`fade`). Gaits share a phase φ, which advances so that the
weighted mean of their times advances by real time: Σ wₘ (tₘ(φ + δ) − tₘ(φ)) = dt. The root moves by weighted means of
the motions' steps in their own headings, as in `blending.compose`.

Tables hold every motion of a set, one after another, at one rate; see `footplant.live.tables`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import jit
from footplant.kernels.blend import mean_pose
from footplant.kernels.quaternion import multiply, rotate

# columns of `Playback.numbers`
PHASE, X, Z, FACING, STEER = 0, 1, 2, 3, 4
PHASE_ITERATIONS = 6
"""Fixed-point iterations for the step of the phase."""


class MotionTables(NamedTuple):
    """All motions of a set, concatenated; M motions, N frames in total."""

    kinds: np.ndarray
    """(M,) 0 a gait (its clock follows the phase), 1 a loop with its own clock, 2 a clip that is played once."""
    firsts: np.ndarray
    """(M,) first frame."""
    counts: np.ndarray
    """(M,) number of frames."""
    facings: np.ndarray
    """(N,) radians that a motion has turned since its first frame."""
    warp: np.ndarray
    """(M, cells + 1) seconds of each gait along the common phase."""
    floor: np.ndarray
    """(N, 2) metres, hips over the floor."""
    heights: np.ndarray
    """(N,) metres, root above the floor."""
    rotations: np.ndarray
    """(N, J, 4) local rotations."""
    contacts: np.ndarray
    """(N, 4) 1 where a heel or ball is planted."""
    rate: float
    """Frames per second."""
    lever: np.ndarray
    """(3,) metres from joint 0 to the hips, in the frame of joint 0."""


class Playback(NamedTuple):
    """State of a character that changes with every frame."""

    weights: np.ndarray
    """(M,)"""
    numbers: np.ndarray
    """(5,) phase, x and z of the hips, facing, steering."""
    clocks: np.ndarray
    """(M,) seconds."""
    planted: np.ndarray
    """(4,) weight with which left and right heel and ball are planted."""


class BlendScratch(NamedTuple):
    """Work arrays."""

    poses: np.ndarray
    """(M, J, 4)"""
    shares: np.ndarray
    """(M, J)"""
    planted: np.ndarray
    """(4,)"""
    floats: np.ndarray
    """(6,) or more"""


@jit
def ease(u):
    """Return 3u² − 2u³ for u clamped to 0 … 1 (smoothstep): a cubic Bézier curve with zero slope at both ends."""
    u = min(max(u, 0.0), 1.0)
    return u * u * (3.0 - 2.0 * u)


@jit
def fade(targets, starts, steers, count, now, length, weights):
    """Write the weights of all motions at a time, and return the steering, from the requests and their times.

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
    """Return the time of a gait at a phase; one phase corresponds to one cycle."""
    cells = warp.shape[1] - 1
    cycle = math.floor(phase)
    place = (phase - cycle) * cells
    cell = min(int(place), cells - 1)
    share = place - cell
    return warp[m, cell] + share * (warp[m, cell + 1] - warp[m, cell]) + cycle * (warp[m, cells] - warp[m, 0])


@jit
def floor_at(tables, m, looped, turn, place, out):
    """Write the root's floor position at a fractional frame (0 … count−1): a cubic Hermite spline through the frames.

    Beyond the ends a loop continues with its next cycle, which is rotated by `turn`; others are extrapolated linearly.
    """
    floor, first, last = tables.floor, tables.firsts[m], tables.counts[m] - 1
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
                # the last step of the cycle, rotated back
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
def facing_at(tables, m, place):
    """Return how far a motion has turned at a fractional frame (0 … count−1), radians; beyond its ends it goes on."""
    first = tables.firsts[m]
    cell = min(max(math.floor(place), 0), tables.counts[m] - 2)
    a, b = tables.facings[first + cell], tables.facings[first + cell + 1]
    return a + (place - cell) * (b - a)


@jit
def local_step(tables, m, looped, begin, end, scratch):
    """Add the step over the floor between two times of one cycle to scratch[4:6], in the facing half-way.

    (across, along), metres; scratch (6,). Return the radians turned.
    """
    rate, a, b = tables.rate, scratch[0:2], scratch[2:4]
    turn = tables.facings[tables.firsts[m] + tables.counts[m] - 1]
    floor_at(tables, m, looped, turn, begin * rate, a)
    floor_at(tables, m, looped, turn, end * rate, b)
    before, after = facing_at(tables, m, begin * rate), facing_at(tables, m, end * rate)
    angle = -0.5 * (before + after)
    c, s = math.cos(angle), math.sin(angle)
    dx, dz = b[0] - a[0], b[1] - a[1]
    scratch[4] += dx * c + dz * s
    scratch[5] += dz * c - dx * s
    return after - before


@jit
def sample(tables, m, looped, place, pose, planted):
    """Write a motion's pose (J, 4) and contacts (4,) at a fractional frame; return the root's height."""
    rotations, heights, contacts = tables.rotations, tables.heights, tables.contacts
    first, last = tables.firsts[m], tables.counts[m] - 1
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
def phase_step(tables, old_weights, weights, phase, seconds):
    """Return the step δ of the phase for which the weighted mean time of the gaits advances by `seconds`.

    Σ wₘ (tₘ(φ + δ) − tₘ(φ)) = seconds, by fixed-point iteration; 0 if no gait has weight.
    """
    gaits = 0.0
    for m in range(weights.shape[0]):
        if tables.kinds[m] == 0:
            gaits += 0.5 * (old_weights[m] + weights[m])
    if not (gaits > 1e-9 and seconds > 0.0):
        return 0.0
    step = 1e-3
    for _ in range(PHASE_ITERATIONS):
        advanced = 0.0
        for m in range(weights.shape[0]):
            if tables.kinds[m] == 0:
                share = 0.5 * (old_weights[m] + weights[m]) / gaits
                if share > 0.0:
                    advanced += share * (warped(tables.warp, m, phase + step) - warped(tables.warp, m, phase))
        step *= seconds / advanced
    return step


@jit
def move_root(tables, old_weights, playback, seconds, steer, scratch):
    """Advance clocks, phase and root by some seconds."""
    weights, numbers, clocks = playback.weights, playback.numbers, playback.clocks
    kinds, rate = tables.kinds, tables.rate
    phase = numbers[PHASE]
    step = phase_step(tables, old_weights, weights, phase, seconds)
    moved_x = moved_z = turned = 0.0
    for m in range(weights.shape[0]):
        share, length = 0.5 * (old_weights[m] + weights[m]), (tables.counts[m] - 1) / rate
        if kinds[m] == 0:
            if step <= 0.0:
                continue
            moved = warped(tables.warp, m, phase + step) - warped(tables.warp, m, phase)
        else:
            moved = seconds
        begin = clocks[m]
        if kinds[m] == 2:
            moved = min(moved, length - begin)
        end = begin + moved
        if share > 0.0 and moved > 0.0:
            scratch[4], scratch[5] = 0.0, 0.0
            if end <= length:
                own = local_step(tables, m, kinds[m] < 2, begin, end, scratch)
            else:
                own = local_step(tables, m, True, begin, length, scratch)
                own += local_step(tables, m, True, 0.0, end - length, scratch)
            moved_x += share * scratch[4]
            moved_z += share * scratch[5]
            turned += share * own
        if kinds[m] < 2 and end >= length:
            end -= length
        clocks[m] = end
    numbers[PHASE] = phase + step - math.floor(phase + step)
    turned += 0.5 * (numbers[STEER] + steer) * seconds
    numbers[STEER] = steer
    angle = numbers[FACING] + 0.5 * turned
    c, s = math.cos(angle), math.sin(angle)
    numbers[X] += moved_x * c + moved_z * s
    numbers[Z] += moved_z * c - moved_x * s
    numbers[FACING] += turned


@jit
def advance(tables, seconds, steer, old_weights, playback, scratch, root, pose):
    """Advance a character by some seconds and write its root (3,), pose (J, 4) and `Playback.planted`."""
    weights, numbers, planted = playback.weights, playback.numbers, playback.planted
    poses, shares = scratch.poses, scratch.shares
    move_root(tables, old_weights, playback, seconds, steer, scratch.floats)
    planted[:] = 0.0
    height, active = 0.0, 0
    for m in range(weights.shape[0]):
        if weights[m] > 0.0:
            own = sample(
                tables, m, tables.kinds[m] < 2, playback.clocks[m] * tables.rate, poses[active], scratch.planted
            )  # fmt: skip
            height += weights[m] * own
            for p in range(planted.shape[0]):
                planted[p] += weights[m] * scratch.planted[p]
            for j in range(pose.shape[0]):
                shares[active, j] = weights[m]
            active += 1
    mean_pose(poses[:active], shares[:active], pose)
    c, s = math.cos(0.5 * numbers[FACING]), math.sin(0.5 * numbers[FACING])
    pose[0, 0], pose[0, 1], pose[0, 2], pose[0, 3] = multiply(
        c, 0.0, s, 0.0, pose[0, 0], pose[0, 1], pose[0, 2], pose[0, 3]
    )
    # the body turns about its hips, which may hang metres beside joint 0
    w, x, y, z = pose[0, 0], pose[0, 1], pose[0, 2], pose[0, 3]
    unit = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    lever = tables.lever
    across, _, along = rotate(unit * w, unit * x, unit * y, unit * z, lever[0], lever[1], lever[2])
    root[0], root[1], root[2] = numbers[X] - across, height, numbers[Z] - along


def _advance_arguments():
    tables = MotionTables(
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, 2), np.zeros(2), np.array([[0.0, 1.0]]),
        np.zeros((2, 2)), np.zeros(2), np.ones((2, 1, 4)), np.zeros((2, 4)), 60.0, np.zeros(3),
    )  # fmt: skip
    playback = Playback(np.ones(1), np.zeros(5), np.zeros(1), np.zeros(4))
    scratch = BlendScratch(np.ones((1, 1, 4)), np.ones((1, 1)), np.zeros(4), np.zeros(36))
    return tables, 0.01, 0.0, np.ones(1), playback, scratch, np.zeros(3), np.ones((1, 4))


WARMUP = {
    "fade": lambda: (np.zeros(1, np.int64), np.zeros(1), np.zeros(1), 1, 0.0, 1.0, np.zeros(1)),
    "advance": _advance_arguments,
}
