"""Kernels of `legs`: one Gauss–Newton step of hips, ankles and knees, and legs posed in closed form."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit
from footplant.kernels.banded import solve_clip
from footplant.kernels.quaternion import multiply, rotate

UNKNOWNS = 11
"""Displacements of the hips (3), the left and right ankle (3 each), and the slack of the left and right knee."""


class Reference(NamedTuple):
    """The motion to stay close to: legs on the first axis (left, right), frames on the second."""

    upward: NDArray
    """(2, F, 3) metres; from the ankle to the hip joint."""
    flexed: NDArray
    """(2, F) metres; distance from hip joint to ankle at the reference's own knee angle."""
    shortest: NDArray
    """(2, F) metres; least distance: the knee flexed as far as it goes."""
    longest: NDArray
    """(2, F) metres; largest distance."""
    knee: NDArray
    """(2, F) radians; the reference's own flexion, 0 straight, never negative."""
    bones: NDArray
    """(2, F, 2) metres; thigh and shank."""


class Asked(NamedTuple):
    """What must hold."""

    planted: NDArray
    """(2, F) bool; whether the ankle's place is given by footplants."""
    places: NDArray
    """(2, F, 3) metres; displacement of the ankle there."""
    lowest: NDArray
    """(2, F) metres; least vertical displacement of an ankle in swing: its sole is above the ground."""
    held: NDArray
    """(2, F) bool; whether a hand is planted."""
    arms: NDArray
    """(2, F, 3) metres; from the planted wrist to the shoulder."""
    reach: NDArray
    """(2,) metres; largest length of the arms."""


class Weights(NamedTuple):
    """Weights of the objective of `legs`, see there."""

    direction: float
    hips: float
    knee: float
    bend: NDArray
    """(11,) of second differences."""
    speed: NDArray
    """(11,) of first differences."""


class Room(NamedTuple):
    """Workspace."""

    squares: NDArray
    vectors: NDArray
    lower: NDArray


HARD = 1e8
"""Weight of what must hold, relative to 1 for a leg that is its own length off."""
BOUND = 1e6
"""Weight of bounds that are active."""


@jit
def update_slopes(reference, x, least_flexion, far, slopes):
    """Update the slopes (2, F) by which a slack shortens a leg: −dD/dk, or a secant where the knee is `far` off.

    D(k) is the distance from hip joint to ankle; the slope at a knee straighter than `least_flexion` is taken there,
    so that it never vanishes.
    """
    for s in range(2):
        for f in range(x.shape[0]):
            a, b = reference.bones[s, f, 0], reference.bones[s, f, 1]
            knee = min(max(reference.knee[s, f], least_flexion), 0.5 * math.pi)
            flexed = reference.flexed[s, f]
            slope = a * b * math.sin(knee) / max(flexed, 1e-9)
            u = reference.upward[s, f]
            vx = u[0] + x[f, 0] - x[f, 3 + 3 * s]
            vy = u[1] + x[f, 1] - x[f, 4 + 3 * s]
            vz = u[2] + x[f, 2] - x[f, 5 + 3 * s]
            square = vx * vx + vy * vy + vz * vz
            now = math.acos(min(max((square - a * a - b * b) / (2.0 * a * b), -1.0), 1.0))
            if now - reference.knee[s, f] > far:
                slope = max(slope, (flexed - math.sqrt(square)) / (now - reference.knee[s, f]))
            slopes[s, f] = math.sqrt(slope * slopes[s, f]) if slopes[s, f] > 0.0 else slope


@jit
def _add(square, vector, index, values, count, weight, residual):
    """Add weight·(Σ values·x[index] − residual)² to the equations of one frame."""
    for i in range(count):
        scaled = weight * values[i]
        vector[index[i]] += scaled * residual
        for j in range(count):
            square[index[i], index[j]] += scaled * values[j]


@jit
def step(reference, asked, weights, slopes, closed, x, room, out):
    """Write the unknowns (F, 11) after one Gauss–Newton step from x (F, 11); return False if the system is singular.

    closed: whether legs must close; without that, hips and ankles of a first guess follow from the plants alone.
    """
    index, values = np.empty(7, np.int64), np.empty(7)
    for f in range(x.shape[0]):
        square, vector = room.squares[f], room.vectors[f]
        square[:, :] = 0.0
        vector[:] = 0.0
        for i in range(3):
            square[i, i] += weights.hips
        for s in range(2):
            first, slack = 3 + 3 * s, 9 + s
            planted = asked.planted[s, f]
            for i in range(3):
                # the leg keeps its direction: hips and ankle move alike
                square[i, i] += weights.direction
                square[first + i, i] -= weights.direction
                square[i, first + i] -= weights.direction
                square[first + i, first + i] += weights.direction
                if planted:
                    square[first + i, first + i] += HARD
                    vector[first + i] += HARD * asked.places[s, f, i]
            if not planted and x[f, first + 1] < asked.lowest[s, f]:
                square[first + 1, first + 1] += BOUND
                vector[first + 1] += BOUND * asked.lowest[s, f]
            # the knee: as flexed as the reference's but for a slack, within its range
            square[slack, slack] += weights.knee
            if not closed:
                continue
            slope, flexed = slopes[s, f], reference.flexed[s, f]
            straight = (flexed - reference.longest[s, f]) / slope
            folded = (flexed - reference.shortest[s, f]) / slope
            if x[f, slack] < straight:
                square[slack, slack] += BOUND
                vector[slack] += BOUND * straight
            elif x[f, slack] > folded:
                square[slack, slack] += BOUND
                vector[slack] += BOUND * folded
            # the leg closes: |upward + hips − ankle| = flexed − slope·slack
            length = 0.0
            for i in range(3):
                values[i] = reference.upward[s, f, i] + x[f, i] - x[f, first + i]
                length += values[i] * values[i]
            length = max(math.sqrt(length), 1e-9)
            at = slope * x[f, slack]
            for i in range(3):
                values[i] /= length
                index[i], index[3 + i] = i, first + i
                values[3 + i] = -values[i]
                at += values[i] * (x[f, i] - x[f, first + i])
            index[6], values[6] = slack, slope
            _add(square, vector, index, values, 7, HARD, at - (length - flexed + slope * x[f, slack]))
            # a stretched leg pulls: its force times the curvature of its length keeps hips from swinging sideways
            force = -weights.knee * x[f, slack]
            if x[f, slack] < straight:
                force -= BOUND * (x[f, slack] - straight)
            pull = max(force / slope, 0.0) / length
            for i in range(3):
                for j in range(3):
                    stiff = -pull * values[i] * values[j]
                    if i == j:
                        stiff += pull
                    square[i, j] += stiff
                    square[first + i, first + j] += stiff
                    square[first + i, j] -= stiff
                    square[i, first + j] -= stiff
                    moved = x[f, j] - x[f, first + j]
                    vector[i] += stiff * moved
                    vector[first + i] -= stiff * moved
            # a planted hand must stay within reach of its shoulder
            if asked.held[s, f]:
                length = 0.0
                for i in range(3):
                    values[i] = asked.arms[s, f, i] + x[f, i]
                    length += values[i] * values[i]
                length = max(math.sqrt(length), 1e-9)
                if length > asked.reach[s]:
                    at = 0.0
                    for i in range(3):
                        values[i] /= length
                        index[i] = i
                        at += values[i] * x[f, i]
                    _add(square, vector, index, values, 3, BOUND, at - (length - asked.reach[s]))
    return solve_clip(room.squares, room.vectors, weights.bend, weights.speed, room.lower, out)


class Leg(NamedTuple):
    """One leg, posed by `pose`."""

    upper: int
    lower: int
    foot: int
    between: NDArray
    """(J,) int64; joints between hip joint and knee, then −1, then joints between knee and ankle, then −1."""
    bones: NDArray
    """(F, 2) metres; thigh and shank."""
    hinge: NDArray
    """(3,) unit knee axis in the thigh's frame."""
    blend: NDArray
    """(2,) radians; below the first flexion the leg bends about the hinge, above the second in its own plane."""


@jit
def _between(ax, ay, az, bx, by, bz):
    """Return the smallest rotation from one direction to another, w ≥ 0."""
    na, nb = math.sqrt(ax * ax + ay * ay + az * az), math.sqrt(bx * bx + by * by + bz * bz)
    product = na * nb
    if product < 1e-18:
        return 1.0, 0.0, 0.0, 0.0
    w = product + ax * bx + ay * by + az * bz
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    if w < 1e-9 * product:
        # opposite: any axis across
        if abs(ax) < 0.9 * na:
            x, y, z = 0.0, az, -ay
        else:
            x, y, z = -az, 0.0, ax
        w = 0.0
    norm = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return w * norm, x * norm, y * norm, z * norm


@jit
def _direction(start, end):
    """Return the unit direction from one point (3,) to another."""
    x, y, z = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    n = 1.0 / max(math.sqrt(x * x + y * y + z * z), 1e-12)
    return n * x, n * y, n * z


@jit
def pose(leg, parents, positions, world, hips, ankles, feet, flexions, local):
    """Pose a leg at all frames: the ankle at its place, the knee in the reference's plane; return the largest miss.

    positions (F, J, 3), world (F, J, 4): the reference's; hips (F, 3): displacement of the hip joint; ankles (F, 3):
    places; feet (F, 4): world rotations of the foot; flexions (F,): signed flexion of the reference; local (F, J, 4):
    written at the leg's joints.
    """
    worst = 0.0
    turned = np.empty((world.shape[1], 4))
    for f in range(positions.shape[0]):
        p, w = positions[f], world[f]
        a, b = leg.bones[f, 0], leg.bones[f, 1]
        most, least = (a + b) * 0.999999, abs(a - b) * 1.001 + 1e-6
        vx = ankles[f, 0] - p[leg.upper, 0] - hips[f, 0]
        vy = ankles[f, 1] - p[leg.upper, 1] - hips[f, 1]
        vz = ankles[f, 2] - p[leg.upper, 2] - hips[f, 2]
        d = math.sqrt(vx * vx + vy * vy + vz * vz)
        reached = min(max(d, least), most)
        worst = max(worst, abs(d - reached))
        flexion = math.acos(min(max((reached * reached - a * a - b * b) / (2.0 * a * b), -1.0), 1.0))
        ux, uy, uz = _direction(p[leg.upper], p[leg.lower])
        sx, sy, sz = _direction(p[leg.lower], p[leg.foot])
        # the knee's axis: across the leg's own plane where it is bent, the hinge where it is straight
        share = min(max((flexions[f] - leg.blend[0]) / (leg.blend[1] - leg.blend[0]), 0.0), 1.0)
        share = share * share * (3.0 - 2.0 * share)
        cx, cy, cz = uy * sz - uz * sy, uz * sx - ux * sz, ux * sy - uy * sx
        n = share / max(math.sqrt(cx * cx + cy * cy + cz * cz), 1e-9)
        q = w[leg.upper]
        hx, hy, hz = rotate(q[0], q[1], q[2], q[3], leg.hinge[0], leg.hinge[1], leg.hinge[2])
        along = hx * ux + hy * uy + hz * uz
        hx, hy, hz = hx - along * ux, hy - along * uy, hz - along * uz
        m = (1.0 - share) / max(math.sqrt(hx * hx + hy * hy + hz * hz), 1e-9)
        cx, cy, cz = n * cx + m * hx, n * cy + m * hy, n * cz + m * hz
        along = cx * ux + cy * uy + cz * uz
        cx, cy, cz = cx - along * ux, cy - along * uy, cz - along * uz
        n = 1.0 / max(math.sqrt(cx * cx + cy * cy + cz * cz), 1e-9)
        cx, cy, cz = cx * n, cy * n, cz * n
        cosine, sine = math.cos(flexion), math.sin(flexion)
        tx = cosine * ux + sine * (cy * uz - cz * uy)
        ty = cosine * uy + sine * (cz * ux - cx * uz)
        tz = cosine * uz + sine * (cx * uy - cy * ux)
        sw, si, sj, sk = _between(a * ux + b * tx, a * uy + b * ty, a * uz + b * tz, vx, vy, vz)
        bw, bi, bj, bk = _between(sx, sy, sz, tx, ty, tz)
        # world rotations of thigh, shank and foot, with the joints between them rigid
        top = parents[leg.upper]
        q = w[leg.upper]
        tw = multiply(sw, si, sj, sk, q[0], q[1], q[2], q[3])
        turned[leg.upper, 0], turned[leg.upper, 1], turned[leg.upper, 2], turned[leg.upper, 3] = tw
        above = w[top]
        r = multiply(above[0], -above[1], -above[2], -above[3], tw[0], tw[1], tw[2], tw[3])
        local[f, leg.upper, 0], local[f, leg.upper, 1], local[f, leg.upper, 2], local[f, leg.upper, 3] = r
        at = 0
        for part in range(2):
            while leg.between[at] >= 0:
                j = leg.between[at]
                above, own = turned[parents[j]], local[f, j]
                r = multiply(above[0], above[1], above[2], above[3], own[0], own[1], own[2], own[3])
                turned[j, 0], turned[j, 1], turned[j, 2], turned[j, 3] = r
                at += 1
            at += 1
            if part == 0:
                j = leg.lower
                q = w[j]
                r = multiply(bw, bi, bj, bk, q[0], q[1], q[2], q[3])
                r = multiply(sw, si, sj, sk, r[0], r[1], r[2], r[3])
            else:
                j = leg.foot
                r = (feet[f, 0], feet[f, 1], feet[f, 2], feet[f, 3])
            turned[j, 0], turned[j, 1], turned[j, 2], turned[j, 3] = r
            above = turned[parents[j]]
            r = multiply(above[0], -above[1], -above[2], -above[3], r[0], r[1], r[2], r[3])
            n = 1.0 / math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
            local[f, j, 0], local[f, j, 1], local[f, j, 2], local[f, j, 3] = r[0] * n, r[1] * n, r[2] * n, r[3] * n
    return worst


def _smallest():
    """Return tables of one frame."""
    reference = Reference(
        np.ones((2, 1, 3)), np.ones((2, 1)), np.zeros((2, 1)), np.ones((2, 1)), np.zeros((2, 1)), np.ones((2, 1, 2))
    )
    asked = Asked(
        np.zeros((2, 1), bool), np.zeros((2, 1, 3)), np.zeros((2, 1)), np.zeros((2, 1), bool), np.zeros((2, 1, 3)),
        np.ones(2),
    )  # fmt: skip
    weights = Weights(1.0, 1.0, 1.0, np.ones(UNKNOWNS), np.ones(UNKNOWNS))
    room = Room(np.empty((1, UNKNOWNS, UNKNOWNS)), np.empty((1, UNKNOWNS)), np.empty((UNKNOWNS, 2 * UNKNOWNS + 1)))
    return reference, asked, weights, room


def _step():
    reference, asked, weights, room = _smallest()
    return reference, asked, weights, np.ones((2, 1)), True, np.zeros((1, UNKNOWNS)), room, np.empty((1, UNKNOWNS))


def _leg():
    return Leg(1, 2, 3, np.array([-1, -1]), np.ones((1, 2)), np.array([1.0, 0.0, 0.0]), np.array([0.1, 0.2]))


def _read_only(array):
    array.setflags(write=False)
    return array


WARMUP = {
    "update_slopes": lambda: (_smallest()[0], np.zeros((1, UNKNOWNS)), 0.1, 0.1, np.zeros((2, 1))),
    "step": _step,
    "pose": lambda: (
        _leg(), _read_only(np.array([-1, 0, 1, 2])), _read_only(np.zeros((1, 4, 3))),
        _read_only(np.tile([1.0, 0.0, 0.0, 0.0], (1, 4, 1))), np.zeros((1, 3)), np.ones((1, 3)),
        np.tile([1.0, 0.0, 0.0, 0.0], (1, 1)), np.zeros(1), np.tile([1.0, 0.0, 0.0, 0.0], (1, 4, 1)),
    ),
}  # fmt: skip
