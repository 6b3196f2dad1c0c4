"""Height fields on regular grids: interpolated heights and slopes, and rasterising triangles into a grid."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit

LINEAR = 0
"""Bilinear interpolation."""
CUBIC = 1
"""Catmull–Rom: smooth, through the grid points."""
BSPLINE = 2
"""Uniform cubic B-spline: smoother, the grid points are its control points and it passes near them."""


@jit
def weight(kind, k, t):
    """Return the weight of grid point k (0 … 3, of which 1 and 2 bound the cell) at t (0 … 1), and its derivative."""
    if k > 1:
        # the bases are symmetric in t ↔ 1 − t
        value, slope = weight_before(kind, 3 - k, 1.0 - t)
        return value, -slope
    return weight_before(kind, k, t)


@jit
def weight_before(kind, k, t):
    """Return `weight` for the first two grid points of a cubic basis."""
    if kind == CUBIC:
        if k == 0:
            return 0.5 * t * (-1.0 + t * (2.0 - t)), 0.5 * (-1.0 + t * (4.0 - 3.0 * t))
        return 0.5 * (2.0 + t * t * (3.0 * t - 5.0)), 0.5 * t * (9.0 * t - 10.0)
    if k == 0:
        return (1.0 - t) ** 3 / 6.0, -0.5 * (1.0 - t) ** 2
    return (4.0 + t * t * (3.0 * t - 6.0)) / 6.0, 0.5 * t * (3.0 * t - 4.0)


@jit
def at(heights, origin_x, origin_z, spacing, kind, x, z):
    """Return (height, dh/dx, dh/dz) at one point; constant beyond the edges of the grid (nx, nz)."""
    nx, nz = heights.shape
    x, z = (x - origin_x) / spacing, (z - origin_z) / spacing
    beyond_x, beyond_z = not 0.0 <= x <= nx - 1.0, not 0.0 <= z <= nz - 1.0
    x, z = min(max(x, 0.0), nx - 1.0), min(max(z, 0.0), nz - 1.0)
    i, k = min(int(x), nx - 2), min(int(z), nz - 2)
    if kind == LINEAR:
        # four grid points instead of the sixteen of the cubic bases
        tx, tz, row, column = x - i, z - k, max(i, 0), max(k, 0)
        next_row, next_column = min(i + 1, nx - 1), min(k + 1, nz - 1)
        a, b = heights[row, column], heights[row, next_column]
        c, d = heights[next_row, column], heights[next_row, next_column]
        slope_x = (1.0 - tz) * (c - a) + tz * (d - b)
        slope_z = (1.0 - tx) * (b - a) + tx * (d - c)
        height = (1.0 - tx) * ((1.0 - tz) * a + tz * b) + tx * ((1.0 - tz) * c + tz * d)
        return height, 0.0 if beyond_x else slope_x / spacing, 0.0 if beyond_z else slope_z / spacing
    height, along_x, along_z = 0.0, 0.0, 0.0
    for a in range(4):
        wx, sx = weight(kind, a, x - i)
        row = min(max(i + a - 1, 0), nx - 1)
        for b in range(4):
            wz, sz = weight(kind, b, z - k)
            h = heights[row, min(max(k + b - 1, 0), nz - 1)]
            height += wx * wz * h
            along_x += sx * wz * h
            along_z += wx * sz * h
    return height, 0.0 if beyond_x else along_x / spacing, 0.0 if beyond_z else along_z / spacing


@jit
def sample(heights, origin, spacing, kind, places, out):
    """Write height, dh/dx and dh/dz (N, 3) at points (N, 2), see `at`."""
    for n in range(places.shape[0]):
        out[n, 0], out[n, 1], out[n, 2] = at(heights, origin[0], origin[1], spacing, kind, places[n, 0], places[n, 1])


@jit
def draw_triangles(vertices, faces, origin, spacing, heights):
    """Raise the grid (nx, nz) to the triangles above it: each grid point gets the highest."""
    nx, nz = heights.shape
    for f in range(faces.shape[0]):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        ax, az = (vertices[a, 0] - origin[0]) / spacing, (vertices[a, 2] - origin[1]) / spacing
        bx, bz = (vertices[b, 0] - origin[0]) / spacing, (vertices[b, 2] - origin[1]) / spacing
        cx, cz = (vertices[c, 0] - origin[0]) / spacing, (vertices[c, 2] - origin[1]) / spacing
        area = (bx - ax) * (cz - az) - (bz - az) * (cx - ax)
        if abs(area) < 1e-12:
            continue
        for i in range(max(math.ceil(min(ax, bx, cx) - 1e-9), 0), min(math.floor(max(ax, bx, cx) + 1e-9), nx - 1) + 1):
            for k in range(
                max(math.ceil(min(az, bz, cz) - 1e-9), 0), min(math.floor(max(az, bz, cz) + 1e-9), nz - 1) + 1
            ):
                u = ((i - ax) * (cz - az) - (k - az) * (cx - ax)) / area
                v = ((bx - ax) * (k - az) - (bz - az) * (i - ax)) / area
                if u >= -1e-9 and v >= -1e-9 and u + v <= 1.0 + 1e-9:
                    height = (
                        vertices[a, 1] + u * (vertices[b, 1] - vertices[a, 1]) + v * (vertices[c, 1] - vertices[a, 1])
                    )
                    if height > heights[i, k]:
                        heights[i, k] = height


def _smallest_grid():
    heights = np.zeros((2, 2))
    heights.setflags(write=False)
    return heights, np.zeros(2), 1.0


WARMUP = {
    "sample": lambda: (*_smallest_grid(), CUBIC, np.zeros((1, 2)), np.empty((1, 3))),
    "draw_triangles": lambda: (
        np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
        np.array([[0, 1, 2]]),
        np.zeros(2),
        1.0,
        np.zeros((2, 2)),
    ),
}
