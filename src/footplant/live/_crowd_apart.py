"""Body–body avoidance of a crowd: capsules around the bones of each character, and where two characters overlap."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit

OUT = 13
"""Columns of a contact: character, capsule, fraction along it, the same of the other one, way out of the other for the
first (3), depth, and the point between the two (3)."""


class Capsules(NamedTuple):
    """Capsules of C characters, K each."""

    starts: NDArray
    """(K,) int64; the joint at which each begins."""
    ends: NDArray
    """(K,) int64; the joint at which it ends."""
    radii: NDArray
    """(C, K) metres; negative: none."""
    reaches: NDArray
    """(C,) metres from its first joint within which a character is."""


@uncounted_jit
def between(p, q):
    """Return the fractions along two segments (6 scalars each) of the points nearest to each other."""
    ax, ay, az, bx, by, bz = p
    cx, cy, cz, dx, dy, dz = q
    ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, dx - cx, dy - cy, dz - cz
    wx, wy, wz = ax - cx, ay - cy, az - cz
    a, b, c = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    d, e = ux * wx + uy * wy + uz * wz, vx * wx + vy * wy + vz * wz
    below = a * c - b * b
    s = 0.5 if below < 1e-12 else min(max((b * e - c * d) / below, 0.0), 1.0)
    t = min(max((b * s + e) / max(c, 1e-12), 0.0), 1.0)
    s = min(max((b * t - d) / max(a, 1e-12), 0.0), 1.0)
    return s, t


@uncounted_jit
def overlaps(capsules, others, positions, other_positions, same, slack, out):
    """Write the contacts (N, 13) of characters of one table with those of another; return how many there are.

    positions (C, J, 3), other_positions (D, J, 3) metres; same: whether both are one table, and pairs count once.
    slack: metres of depth that are let be.
    """
    count = 0
    for one in range(positions.shape[0]):
        for two in range(one + 1 if same else 0, other_positions.shape[0]):
            gap = 0.0
            for k in range(0, 3, 2):
                gap += (positions[one, 0, k] - other_positions[two, 0, k]) ** 2
            if gap > (capsules.reaches[one] + others.reaches[two]) ** 2:
                continue
            for i in range(capsules.starts.shape[0]):
                r = capsules.radii[one, i]
                if r < 0.0:
                    continue
                a, b = positions[one, capsules.starts[i]], positions[one, capsules.ends[i]]
                for j in range(others.starts.shape[0]):
                    if others.radii[two, j] < 0.0:
                        continue
                    c, d = other_positions[two, others.starts[j]], other_positions[two, others.ends[j]]
                    s, t = between((a[0], a[1], a[2], b[0], b[1], b[2]), (c[0], c[1], c[2], d[0], d[1], d[2]))
                    x = a[0] + s * (b[0] - a[0]) - c[0] - t * (d[0] - c[0])
                    y = a[1] + s * (b[1] - a[1]) - c[1] - t * (d[1] - c[1])
                    z = a[2] + s * (b[2] - a[2]) - c[2] - t * (d[2] - c[2])
                    far = math.sqrt(x * x + y * y + z * z)
                    depth = r + others.radii[two, j] - far
                    if depth <= slack or count >= out.shape[0]:
                        continue
                    row, inverse = out[count], 1.0 / max(far, 1e-9)
                    row[0], row[1], row[2], row[3], row[4], row[5] = one, i, s, two, j, t
                    row[6], row[7], row[8], row[9] = x * inverse, y * inverse, z * inverse, depth
                    # the plane between the two skins
                    level = r - 0.5 * depth
                    row[10] = a[0] + s * (b[0] - a[0]) - level * row[6]
                    row[11] = a[1] + s * (b[1] - a[1]) - level * row[7]
                    row[12] = a[2] + s * (b[2] - a[2]) - level * row[8]
                    count += 1
    return count


def _smallest():
    one = np.zeros(1, np.int64)
    return Capsules(one, one, np.ones((1, 1)), np.ones(1))


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


WARMUP = {
    "overlaps": lambda: (
        _smallest(),
        _smallest(),
        _read_only(1, 1, 3),
        _read_only(1, 1, 3),
        False,
        0.0,
        np.zeros((1, OUT)),
    )
}
