"""Compiled lean of the trunk: how far a stride climbs, and the pose that leans by it.

`lean` says why, and by how much; `LeanTables` are its numbers for one character.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import exp, multiply, rotate


class LeanTables(NamedTuple):
    """The joints of a character that the lean turns, parents first, and by which share of it."""

    joints: np.ndarray
    """(N,) int64; the first one is the pelvis."""
    parents: np.ndarray
    """(N,) int64; −1 for joint 0."""
    shares: np.ndarray
    """(N, 2) share of the lean that the parent and the joint have in the world."""
    legs: np.ndarray
    """(2,) int64; left and right upper leg."""
    tops: np.ndarray
    """(T,) int64; the neck, or shoulders: upper ends of the trunk. None: it counts as upright."""
    uphill: float
    downhill: float
    """Lean per angle of the climb."""
    steepest: float
    """Radians."""
    least_stride: float
    """Metres."""


@jit
def climb_of(tables, x, y, z, ahead_x, ahead_z):
    """Return the angle, radians, by which a stride (x, y, z) climbs ahead; NaN if it is too short to say."""
    along = x * ahead_x + z * ahead_z
    if abs(along) <= tables.least_stride:
        return math.nan
    angle = math.copysign(math.atan2(y, abs(along)), y * along)
    return min(max(angle, -tables.steepest), tables.steepest)


@jit
def left_of(tables, places):
    """Return x and z of the level unit vector from the right to the left hip joint; places: (J, 3) of all joints."""
    left, right = places[tables.legs[0]], places[tables.legs[1]]
    x, z = left[0] - right[0], left[2] - right[2]
    long = max(math.sqrt(x * x + z * z), 1e-9)
    return x / long, z / long


@jit
def _upright(tables, places, x, y, z):
    """Return how upright a trunk is, from 1 to 0 where it is level or upside down: what leaning it changes.

    x, y, z: the middle of the hip joints.
    """
    count = tables.tops.shape[0]
    if count == 0:
        return 1.0
    for n in range(count):
        top = places[tables.tops[n]]
        x, y, z = x - top[0] / count, y - top[1] / count, z - top[2] / count
    return min(max(-y / max(math.sqrt(x * x + y * y + z * z), 1e-9), 0.0), 1.0)


@jit
def lean_trunk(tables, climbs, positions, turns, root, rotations):
    """Lean the trunk as the ground climbs ahead, in place; thighs and the middle of the hip joints stay where they are.

    climbs (F,) radians. positions (F, J, 3), turns (F, J, 4): of the joints in the world. root (F, 3) and rotations
    (F, J, 4), local, are changed.
    """
    for f in range(climbs.shape[0]):
        places = positions[f]
        left, right = places[tables.legs[0]], places[tables.legs[1]]
        x, y, z = 0.5 * (left[0] + right[0]), 0.5 * (left[1] + right[1]), 0.5 * (left[2] + right[2])
        # someone who ducks has no trunk to lean
        angle = (tables.uphill if climbs[f] > 0.0 else tables.downhill) * climbs[f] * _upright(tables, places, x, y, z)
        if angle == 0.0:
            continue
        ax, az = left_of(tables, places)
        for n in range(tables.joints.shape[0]):
            joint, above = tables.joints[n], tables.parents[n]
            # turned about one axis, so that the turns of parent and joint subtract
            own = angle * (tables.shares[n, 1] - tables.shares[n, 0])
            qw, qx, qy, qz = exp(own * ax, 0.0, own * az)
            turn = turns[f, joint]
            qw, qx, qy, qz = multiply(qw, qx, qy, qz, turn[0], turn[1], turn[2], turn[3])
            if above >= 0:
                turn = turns[f, above]
                qw, qx, qy, qz = multiply(turn[0], -turn[1], -turn[2], -turn[3], qw, qx, qy, qz)
            new = rotations[f, joint]
            new[0], new[1], new[2], new[3] = qw, qx, qy, qz
        hips = places[tables.joints[0]]
        ox, oy, oz = hips[0] - x, hips[1] - y, hips[2] - z
        own = angle * tables.shares[0, 1]
        qw, qx, qy, qz = exp(own * ax, 0.0, own * az)
        px, py, pz = rotate(qw, qx, qy, qz, ox, oy, oz)
        root[f, 0] += px - ox
        root[f, 1] += py - oy
        root[f, 2] += pz - oz


def lean_tables():
    """Return tables of a character of four joints for compilation."""
    return LeanTables(
        np.array([0, 1]), np.array([-1, 0]), np.array([[0.0, 0.4], [0.4, 1.0]]), np.array([2, 3]), np.array([1]), 0.45,
        0.3, 0.7, 0.1,
    )  # fmt: skip


def _lean_arguments():
    turns, positions = np.zeros((1, 4, 4)), np.zeros((1, 4, 3))
    turns[..., 0] = 1.0
    positions[0, 1, 1] = positions[0, 2, 0] = 1.0
    return lean_tables(), np.full(1, 0.1), positions, turns, np.zeros((1, 3)), turns.copy()


WARMUP = {"climb_of": lambda: (lean_tables(), 0.0, 0.0, 1.0, 0.0, 1.0), "lean_trunk": _lean_arguments}
