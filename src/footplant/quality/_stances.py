"""Compiled search for intervals in which points stay where they are."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit


@jit
def still_intervals(positions, fps, speed, diagonal, least, out):
    """Write rows (point, start, end) of the intervals in which points (F, P, 3) are still; return their number.

    A point is slow where its central difference is below `speed`. In each run of slow frames an interval grows while
    the box around its positions has a diagonal of at most `diagonal`; one of at least `least` frames counts, and the
    next begins at its end. out: (N, 3) with room for all.
    """
    frames, found = positions.shape[0], 0
    for p in range(positions.shape[1]):
        start = 0
        while start + least <= frames:
            x, y, z = positions[start, p, 0], positions[start, p, 1], positions[start, p, 2]
            ax, ay, az, bx, by, bz = x, y, z, x, y, z
            end, fast = start, False
            while end < frames:
                before, after = max(end - 1, 0), min(end + 1, frames - 1)
                square = 0.0
                for k in range(3):
                    step = positions[after, p, k] - positions[before, p, k]
                    square += step * step
                if math.sqrt(square) * fps / (after - before) >= speed:
                    fast = True
                    break
                x, y, z = positions[end, p, 0], positions[end, p, 1], positions[end, p, 2]
                ax, ay, az = min(ax, x), min(ay, y), min(az, z)
                bx, by, bz = max(bx, x), max(by, y), max(bz, z)
                if (bx - ax) * (bx - ax) + (by - ay) * (by - ay) + (bz - az) * (bz - az) > diagonal * diagonal:
                    break
                end += 1
            if end - start >= least:
                out[found, 0], out[found, 1], out[found, 2] = p, start, end
                found += 1
                start = end
            elif fast:
                start = end + 1
            else:
                start += 1
    return found


WARMUP = {
    "still_intervals": lambda: (np.zeros((3, 1, 3)), 30.0, 0.1, 0.01, 3, np.zeros((1, 3), np.int64)),
}
