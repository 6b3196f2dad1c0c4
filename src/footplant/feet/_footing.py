"""Compiled search for what a ground supports of a foot; see `footplant.feet.footing`."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit


@jit
def support_kinds(heights, along, inside, under, limits, kinds, levels):
    """Write which of some kinds of support each place offers first, −1 for none, and its height.

    heights: (R, W, S) of the ground along R lines of samples under a foot at W places. along: (S,) metres of the
    samples from the first one. inside, under: (K, S) masks, see `footing.kinds_of_support`. limits: metres of
    unevenness, and steepest rise over run. kinds, levels: (W,). A place offers a kind if all lines do, about as high as
    each other; its height is that of the middle line.
    """
    tolerance, steepest = limits
    lines, places, samples = heights.shape
    for w in range(places):
        kinds[w], levels[w] = -1, -1e300
        for k in range(inside.shape[0]):
            low, high, supported = 1e300, -1e300, True
            for r in range(lines):
                mean = _supported(heights[r, w], along, inside[k], under[k], tolerance, steepest)
                if math.isnan(mean):
                    supported = False
                    break
                low, high = min(low, mean), max(high, mean)
                if r == lines // 2:
                    levels[w] = mean
            if supported and high - low < tolerance:
                kinds[w] = k
                break
        if kinds[w] < 0:
            for s in range(samples):
                levels[w] = max(levels[w], heights[lines // 2, w, s]) if s > 0 else heights[lines // 2, w, s]


@jit
def _supported(heights, along, inside, under, tolerance, steepest):
    """Return the mean height of the ground inside a foot if it supports it there, else not a number."""
    count, mean, middle = 0, 0.0, 0.0
    for s in range(heights.shape[0]):
        if inside[s]:
            count += 1
            mean += heights[s]
            middle += along[s]
    mean, middle = mean / count, middle / count
    spread = slope = 0.0
    for s in range(heights.shape[0]):
        if inside[s]:
            spread += (along[s] - middle) ** 2
            slope += (heights[s] - mean) * (along[s] - middle)
    slope = slope / spread if spread > 1e-12 else 0.0
    if abs(slope) >= steepest:
        return math.nan
    for s in range(heights.shape[0]):
        residual = heights[s] - mean - slope * (along[s] - middle)
        if (inside[s] and abs(residual) >= tolerance) or (under[s] and residual >= tolerance):
            return math.nan
    return mean


WARMUP = {
    "support_kinds": lambda: (
        np.zeros((1, 1, 2)), np.arange(2.0), np.ones((1, 2), np.bool_), np.ones((1, 2), np.bool_), (0.1, 1.0),
        np.zeros(1, np.int64), np.zeros(1),
    ),
}  # fmt: skip
