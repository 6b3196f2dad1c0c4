"""Signed distances of points from the objects of a scene, with directions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.height_field import at
from footplant.kernels.quaternion import rotate

PLANE, HEIGHT_FIELD, BOX, BALL, CAPSULE = range(5)
"""Kinds of objects."""


class Things(NamedTuple):
    """The objects of a scene as tables."""

    kinds: NDArray
    """(O,) int64."""
    sizes: NDArray
    """(O, 10) parameters, metres: plane: point, unit normal; height field: start of its grid in `grid`, rows, columns,
    spacing, origin (x, z), basis; box: centre, half extents, rotation (w, x, y, z); ball: centre, radius; capsule:
    start, stop, radius."""
    grid: NDArray
    """(N,) heights of all height fields, row by row, metres."""
    reaches: NDArray
    """(O,) metres within which an object is important (D of the paper)."""


@uncounted_jit
def plane(size, x, y, z):
    """Return distance and direction out of a half-space."""
    d = (x - size[0]) * size[3] + (y - size[1]) * size[4] + (z - size[2]) * size[5]
    return d, size[3], size[4], size[5]


@uncounted_jit
def height_field(size, grid, x, y, z):
    """Return the distance from the tangent plane below the point, and its normal."""
    first, rows, columns = int(size[0]), int(size[1]), int(size[2])
    heights = grid[first : first + rows * columns].reshape((rows, columns))
    height, along_x, along_z = at(heights, size[4], size[5], size[3], int(size[6]), x, z)
    norm = 1.0 / math.sqrt(1.0 + along_x * along_x + along_z * along_z)
    return (y - height) * norm, -along_x * norm, norm, -along_z * norm


@uncounted_jit
def around(x, y, z, cx, cy, cz, radius):
    """Return distance and direction from a ball; from its centre, straight up."""
    x, y, z = x - cx, y - cy, z - cz
    length = math.sqrt(x * x + y * y + z * z)
    if length < 1e-12:
        return -radius, 0.0, 1.0, 0.0
    return length - radius, x / length, y / length, z / length


@uncounted_jit
def capsule(size, x, y, z):
    """Return distance and direction from a capsule."""
    ax, ay, az = size[3] - size[0], size[4] - size[1], size[5] - size[2]
    square = ax * ax + ay * ay + az * az
    t = 0.0
    if square > 0.0:
        t = ((x - size[0]) * ax + (y - size[1]) * ay + (z - size[2]) * az) / square
        t = min(max(t, 0.0), 1.0)
    return around(x, y, z, size[0] + t * ax, size[1] + t * ay, size[2] + t * az, size[6])


@uncounted_jit
def box(size, x, y, z):
    """Return distance and direction from an oriented box; from inside, through the nearest face."""
    w, i, j, k = size[6], size[7], size[8], size[9]
    lx, ly, lz = rotate(w, -i, -j, -k, x - size[0], y - size[1], z - size[2])
    bx, by, bz = abs(lx) - size[3], abs(ly) - size[4], abs(lz) - size[5]
    sx, sy, sz = math.copysign(1.0, lx), math.copysign(1.0, ly), math.copysign(1.0, lz)
    if bx < 0.0 and by < 0.0 and bz < 0.0:
        d = max(bx, by, bz)
        if bx == d:
            nx, ny, nz = sx, 0.0, 0.0
        elif by == d:
            nx, ny, nz = 0.0, sy, 0.0
        else:
            nx, ny, nz = 0.0, 0.0, sz
    else:
        nx, ny, nz = max(bx, 0.0) * sx, max(by, 0.0) * sy, max(bz, 0.0) * sz
        d = math.sqrt(nx * nx + ny * ny + nz * nz)
        if d > 0.0:
            nx, ny, nz = nx / d, ny / d, nz / d
        else:
            nx, ny, nz = 0.0, 1.0, 0.0
    nx, ny, nz = rotate(w, i, j, k, nx, ny, nz)
    return d, nx, ny, nz


@uncounted_jit
def distance(things, number, pose, x, y, z):
    """Return metres from an object's surface (negative inside) and the unit direction away from it.

    pose (7,): displacement of the object from where its parameters put it: translation, then rotation (w, x, y, z).
    """
    size, kind = things.sizes[number], things.kinds[number]
    w, i, j, k = pose[3], pose[4], pose[5], pose[6]
    x, y, z = rotate(w, -i, -j, -k, x - pose[0], y - pose[1], z - pose[2])
    if kind == PLANE:
        d, nx, ny, nz = plane(size, x, y, z)
    elif kind == HEIGHT_FIELD:
        d, nx, ny, nz = height_field(size, things.grid, x, y, z)
    elif kind == BOX:
        d, nx, ny, nz = box(size, x, y, z)
    elif kind == BALL:
        d, nx, ny, nz = around(x, y, z, size[0], size[1], size[2], size[3])
    else:
        d, nx, ny, nz = capsule(size, x, y, z)
    nx, ny, nz = rotate(w, i, j, k, nx, ny, nz)
    return d, nx, ny, nz


@uncounted_jit
def all_distances(things, poses, points, out):
    """Write distance and direction of every point (N, 3) from every object to out (N, O, 4)."""
    for n in range(points.shape[0]):
        for o in range(things.kinds.shape[0]):
            out[n, o, 0], out[n, o, 1], out[n, o, 2], out[n, o, 3] = distance(
                things, o, poses[o], points[n, 0], points[n, 1], points[n, 2]
            )


def smallest_things() -> Things:
    """Return a floor, as tables, to compile with."""
    size = np.zeros((1, 10))
    size[0, 4] = 1.0
    return Things(np.zeros(1, np.int64), size, np.zeros(1), np.ones(1))


WARMUP = {
    "all_distances": lambda: (
        smallest_things(), np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 3)), np.empty((1, 1, 4))
    )
}  # fmt: skip
