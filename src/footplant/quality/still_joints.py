"""When joints are still, as a person sees it: within millimetres of their place for a tenth of a second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from footplant.checks import frame_rate, indices, shaped
from footplant.errors import MotionError

STILL_WITHIN = 0.006
"""Metres from its middle within which a still joint stays (the box around its positions has twice this diagonal)."""
STILL_FOR = 0.12
"""Seconds for which it stays at least."""
STILL_SPEED = 0.12
"""m/s below which a joint is slow."""


def still_intervals(positions: NDArray, columns: Sequence[int], fps: float) -> list[list[tuple[int, int]]]:
    """Return for each of the columns of positions (F, P, 3) the intervals (start, end) in which it is still."""
    positions = shaped(positions, ("F", "P", 3), "positions", MotionError, finite=False)
    indices(list(columns), positions.shape[1], "columns of the positions", MotionError)
    frames, fps = len(positions), frame_rate(fps, MotionError)
    found: dict[int, list[tuple[int, int]]] = {column: [] for column in columns}
    if frames >= 3 and len(columns):
        from footplant.quality import _stances as kernel

        least = max(3, round(STILL_FOR * fps))
        out = np.empty((len(columns) * (frames // least + 1), 3), np.int64)
        chosen = np.array(columns, np.int64)
        count = kernel.still_intervals(positions, chosen, float(fps), STILL_SPEED, 2.0 * STILL_WITHIN, least, out)
        for column, start, end in out[:count].tolist():
            found[column].append((start, end))
    return [found[column] for column in columns]
