"""Kernels of `robot`: the point of a support polygon that is nearest to another point."""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit


@jit
def _outline(points, count, order, out):
    """Write the corners (K, 2) of the convex hull of points (N, 2), counter-clockwise; return K (monotone chain)."""
    for i in range(count):
        place = i
        while place > 0 and (
            points[order[place - 1], 0] > points[i, 0]
            or (points[order[place - 1], 0] == points[i, 0] and points[order[place - 1], 1] > points[i, 1])
        ):
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
    size = 0
    for side in range(2):
        base = size
        for k in range(count):
            i = order[k] if side == 0 else order[count - 1 - k]
            x, y = points[i, 0], points[i, 1]
            while size > base + 1:
                ax, ay, bx, by = out[size - 2, 0], out[size - 2, 1], out[size - 1, 0], out[size - 1, 1]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 1e-12:
                    break
                size -= 1
            out[size, 0], out[size, 1] = x, y
            size += 1
        # the last corner of a side is the first of the other one
        size -= 1
    return max(size, 1)


@jit
def nearest_in_support(corners, counts, points, out):
    """Write the points (F, 2) of the hulls of corners (F, N, 2) nearest to points (F, 2): themselves if inside.

    counts (F,): how many corners each frame has; where there are none, nothing is written.
    """
    order, hull = np.empty(corners.shape[1] + 1, np.int64), np.empty((2 * corners.shape[1] + 2, 2))
    for f in range(corners.shape[0]):
        if counts[f] == 0:
            continue
        size = _outline(corners[f], counts[f], order, hull)
        x, y = points[f, 0], points[f, 1]
        best, inside = 1e300, size > 2
        for k in range(size):
            ax, ay = hull[k, 0], hull[k, 1]
            bx, by = hull[(k + 1) % size, 0] - ax, hull[(k + 1) % size, 1] - ay
            if bx * (y - ay) - by * (x - ax) < 0.0:
                inside = False
            square = bx * bx + by * by
            share = min(max(((x - ax) * bx + (y - ay) * by) / square, 0.0), 1.0) if square > 1e-18 else 0.0
            px, py = ax + share * bx, ay + share * by
            away = (px - x) ** 2 + (py - y) ** 2
            if away < best:
                best = away
                out[f, 0], out[f, 1] = px, py
        if inside:
            out[f, 0], out[f, 1] = x, y


WARMUP = {
    "nearest_in_support": lambda: (np.zeros((1, 3, 2)), np.array([3]), np.zeros((1, 2)), np.zeros((1, 2))),
}
