"""Kernels of `links`: forward kinematics of hinges."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit


class Tree(NamedTuple):
    """Links of a robot, see `mechanism.links`."""

    parents: NDArray
    places: NDArray
    turns: NDArray
    axes: NDArray
    references: NDArray
    paths: NDArray
    depths: NDArray
    leaders: NDArray
    multipliers: NDArray
    offsets: NDArray
    """(D,) see `mechanism.coupling`."""


@jit
def _quaternion_matrix(q, out):
    """Write the matrix (3, 3) of a unit quaternion."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0, 0], out[0, 1], out[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)
    out[1, 0], out[1, 1], out[1, 2] = 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)
    out[2, 0], out[2, 1], out[2, 2] = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)


@jit
def pose_frame(tree, q, at, turn, axis):
    """Write positions (L, 3), rotations (L, 3, 3) and hinge axes (L, 3) in the world; q (7 + D,): one frame."""
    for i in range(3):
        at[0, i] = q[i]
    _quaternion_matrix(q[3:7], turn[0])
    for link in range(1, tree.parents.shape[0]):
        p = tree.parents[link]
        above, base, here = turn[p], tree.turns[link], turn[link]
        px, py, pz = tree.places[link, 0], tree.places[link, 1], tree.places[link, 2]
        ax, ay, az = tree.axes[link, 0], tree.axes[link, 1], tree.axes[link, 2]
        angle = q[6 + link] - tree.references[link - 1]
        s, c = math.sin(angle), math.cos(angle)
        d = 1.0 - c
        m00, m01, m02 = c + ax * ax * d, ax * ay * d - az * s, ax * az * d + ay * s
        m10, m11, m12 = ay * ax * d + az * s, c + ay * ay * d, ay * az * d - ax * s
        m20, m21, m22 = az * ax * d - ay * s, az * ay * d + ax * s, c + az * az * d
        for i in range(3):
            a0, a1, a2 = above[i, 0], above[i, 1], above[i, 2]
            at[link, i] = at[p, i] + a0 * px + a1 * py + a2 * pz
            r0 = a0 * base[0, 0] + a1 * base[1, 0] + a2 * base[2, 0]
            r1 = a0 * base[0, 1] + a1 * base[1, 1] + a2 * base[2, 1]
            r2 = a0 * base[0, 2] + a1 * base[1, 2] + a2 * base[2, 2]
            axis[link, i] = r0 * ax + r1 * ay + r2 * az
            here[i, 0] = r0 * m00 + r1 * m10 + r2 * m20
            here[i, 1] = r0 * m01 + r1 * m11 + r2 * m21
            here[i, 2] = r0 * m02 + r1 * m12 + r2 * m22


@jit
def pose_clip(tree, states, at, turn):
    """Write positions (F, L, 3) and rotations (F, L, 3, 3) of all frames."""
    axis = np.empty((tree.parents.shape[0], 3))
    for f in range(states.shape[0]):
        pose_frame(tree, states[f], at[f], turn[f], axis)


@jit
def world_place(at, turn, link, place, out):
    """Write the world position of a link's point."""
    for i in range(3):
        out[i] = at[link, i] + turn[link, i, 0] * place[0] + turn[link, i, 1] * place[1] + turn[link, i, 2] * place[2]


def _small() -> Tree:
    return Tree(
        np.array([-1, 0]), np.zeros((2, 3)), np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3)), np.zeros(1),
        np.zeros((2, 1), np.int64), np.zeros(2, np.int64), np.zeros(1, np.int64), np.ones(1), np.zeros(1),
    )  # fmt: skip


WARMUP = {
    "pose_clip": lambda: (_small(), np.zeros((1, 8)), np.zeros((1, 2, 3)), np.zeros((1, 2, 3, 3))),
}
