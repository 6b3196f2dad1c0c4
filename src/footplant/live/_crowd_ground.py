"""Compiled part of what a ground does to the characters of a crowd."""

from __future__ import annotations

import numpy as np

from footplant.kernels import strict_jit
from footplant.kernels.quaternion import exp, log


@strict_jit
def effects(roots, places, turns, other_roots, other_places, other_turns, out):
    """Write shifts of roots (C, 3), and of feet (C, N, 3) with rotation vectors: (C, 3 + 6N) from one to the other.

    turns, other_turns: (C, N, 4)
    """
    for c in range(roots.shape[0]):
        for k in range(3):
            out[c, k] = other_roots[c, k] - roots[c, k]
        for n in range(places.shape[1]):
            at = 3 + 6 * n
            for k in range(3):
                out[c, at + k] = other_places[c, n, k] - places[c, n, k]
            aw, ax, ay, az = other_turns[c, n, 0], other_turns[c, n, 1], other_turns[c, n, 2], other_turns[c, n, 3]
            bw, bx, by, bz = turns[c, n, 0], -turns[c, n, 1], -turns[c, n, 2], -turns[c, n, 3]
            out[c, at + 3], out[c, at + 4], out[c, at + 5] = log(
                aw * bw - ax * bx - ay * by - az * bz, aw * bx + ax * bw + ay * bz - az * by,
                aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw,
            )  # fmt: skip


@strict_jit
def add_effects(rows, offsets, roots, places, turns):
    """Add effects (n, 3 + 6N), as of `effects`, to some characters (n,) of roots (C, 3) and feet (C, N, 3 and 4)."""
    for n in range(rows.shape[0]):
        c = rows[n]
        for k in range(3):
            roots[c, k] += offsets[n, k]
        for foot in range(places.shape[1]):
            at = 3 + 6 * foot
            for k in range(3):
                places[c, foot, k] += offsets[n, at + k]
            aw, ax, ay, az = exp(offsets[n, at + 3], offsets[n, at + 4], offsets[n, at + 5])
            turn = turns[c, foot]
            bw, bx, by, bz = turn[0], turn[1], turn[2], turn[3]
            turn[0] = aw * bw - ax * bx - ay * by - az * bz
            turn[1] = aw * bx + ax * bw + ay * bz - az * by
            turn[2] = aw * by - ax * bz + ay * bw + az * bx
            turn[3] = aw * bz + ax * by - ay * bx + az * bw


WARMUP = {
    "effects": lambda: (
        np.zeros((1, 3)), np.zeros((1, 1, 3)), np.ones((1, 1, 4)), np.zeros((1, 3)), np.zeros((1, 1, 3)),
        np.ones((1, 1, 4)), np.zeros((1, 9)),
    ),
    "add_effects": lambda: (
        np.zeros(1, np.int64), np.zeros((1, 9)), np.zeros((1, 3)), np.zeros((1, 1, 3)), np.ones((1, 1, 4)),
    ),
}  # fmt: skip
