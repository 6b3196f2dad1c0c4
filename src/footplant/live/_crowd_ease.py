"""Compiled part of how changes of a running crowd ease in."""

from __future__ import annotations

import numpy as np

from footplant.kernels import strict_jit


@strict_jit
def offsets_at(live, begun, over, terms, now, rows, out):
    """Write the rows (n,) of a table that are offset at a time, and their offsets (n, width); return how many.

    live: (N,) bool, which loses those whose time is over; begun, over: (N,) seconds; terms: (6, N, width) of quintic
    polynomials in the share of that time.
    """
    count = 0
    for row in range(live.shape[0]):
        if not live[row]:
            continue
        if not now < begun[row] + over[row]:
            live[row] = False
            continue
        share = min(max((now - begun[row]) / over[row], 0.0), 1.0)
        for k in range(terms.shape[2]):
            value = terms[5, row, k]
            for power in range(4, -1, -1):
                value = value * share + terms[power, row, k]
            out[count, k] = value
        rows[count] = row
        count += 1
    return count


WARMUP = {
    "offsets_at": lambda: (
        np.zeros(1, bool), np.zeros(1), np.ones(1), np.zeros((6, 1, 1)), 0.0, np.zeros(1, np.int64), np.zeros((1, 1))
    ),
}  # fmt: skip
