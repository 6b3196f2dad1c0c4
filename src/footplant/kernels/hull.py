"""The convex hull of points in a plane: support polygons of people, crowds and robots."""

from __future__ import annotations

import numpy as np

from footplant.kernels import uncounted_jit


@uncounted_jit
def convex_hull(points, count, order, corners):
    """Write which of the first `count` points (P, 2) are corners of their convex hull; return how many.

    Counter-clockwise, from the smallest first coordinate: Andrew's monotone chain. order (P,), corners (2P,): int64,
    scratch and result.
    """
    for i in range(count):
        k = i
        while k > 0 and (
            points[order[k - 1], 0] > points[i, 0]
            or (points[order[k - 1], 0] == points[i, 0] and points[order[k - 1], 1] > points[i, 1])
        ):
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    total = 0
    for back in range(2):
        first = total
        for n in range(count):
            i = order[count - 1 - n] if back == 1 else order[n]
            while total - first > 1:
                a, b = corners[total - 2], corners[total - 1]
                ax, ay = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1]
                bx, by = points[i, 0] - points[a, 0], points[i, 1] - points[a, 1]
                if ax * by - ay * bx > 1e-12:
                    break
                total -= 1
            corners[total] = i
            total += 1
        # the last point of one half is the first of the other
        total -= 1
    if total == 0:
        corners[0] = order[0]
        total = 1
    return total


WARMUP = {"convex_hull": lambda: (np.zeros((1, 2)), 1, np.zeros(1, np.int64), np.zeros(2, np.int64))}
