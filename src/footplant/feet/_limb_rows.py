"""Kernel for two-bone IK at some frames, in place in a motion's arrays; bones may have intermediate joints."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit
from footplant.kernels.limb import LimbGoal, SkeletonLimb, bend_limb, path_turn
from footplant.kernels.quaternion import multiply


class World(NamedTuple):
    """World transforms of all joints."""

    positions: NDArray
    """(F, J, 3) metres."""
    rotations: NDArray
    """(F, J, 4)."""


class EndGoals(NamedTuple):
    """Where the end of a limb should be, in the world."""

    places: NDArray
    """(F, 3) metres."""
    turns: NDArray
    """(F, 4)."""


@jit
def write_unit(w, x, y, z, out):
    """Write a quaternion divided by its norm."""
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    out[0], out[1], out[2], out[3] = w / norm, x / norm, y / norm, z / norm


@jit
def place_rows(rows, parents, offsets, limb, goals, world, local, found):
    """Move a limb's end to goals with orientations at rows (N,), in place in local rotations (F, J, 4).

    offsets: (1, J, 3) or (F, J, 3); limb: `SkeletonLimb`; goals: `EndGoals`; world: `World` before. found (F, 2):
    metres left and status, written at the rows. The same as `ik.limb.place`.
    """
    step, scratch = 0 if offsets.shape[0] == 1 else 1, np.empty((7, 4))
    upper, lower, end = limb.upper, limb.lower, limb.end
    above = parents[upper]
    for n in range(rows.shape[0]):
        f = rows[n]
        pose, turn = local[f], goals.turns[f]
        goal = LimbGoal(goals.places[f], turn, 1.0, 0.0)
        found[f, 0], found[f, 1] = bend_limb(
            parents, offsets[f * step], limb, goal, world.positions[f], world.rotations[f], pose, scratch
        )
        for j in (upper, lower):
            write_unit(pose[j, 0], pose[j, 1], pose[j, 2], pose[j, 3], pose[j])
        w, x, y, z = 1.0, 0.0, 0.0, 0.0
        if above >= 0:
            q = world.rotations[f, above]
            w, x, y, z = q[0], q[1], q[2], q[3]
        w, x, y, z = multiply(w, x, y, z, pose[upper, 0], pose[upper, 1], pose[upper, 2], pose[upper, 3])
        bw, bx, by, bz = path_turn(parents, pose, upper, lower)
        w, x, y, z = multiply(w, x, y, z, bw, bx, by, bz)
        w, x, y, z = multiply(w, x, y, z, pose[lower, 0], pose[lower, 1], pose[lower, 2], pose[lower, 3])
        bw, bx, by, bz = path_turn(parents, pose, lower, end)
        w, x, y, z = multiply(w, x, y, z, bw, bx, by, bz)
        w, x, y, z = multiply(w, -x, -y, -z, turn[0], turn[1], turn[2], turn[3])
        write_unit(w, x, y, z, pose[end])


def _read_only(array):
    array.setflags(write=False)
    return array


def _smallest_call():
    return (
        np.zeros(0, np.int64), _read_only(np.array([-1])), _read_only(np.zeros((1, 1, 3))),
        SkeletonLimb(0, 0, 0, np.zeros(3), 0.0, 1.0, 0.0, 0.0), EndGoals(np.zeros((1, 3)), np.zeros((1, 4))),
        World(np.zeros((1, 1, 3)), np.zeros((1, 1, 4))), np.zeros((1, 1, 4)), np.zeros((1, 2)),
    )  # fmt: skip


WARMUP = {"place_rows": _smallest_call}
