"""At which even steps the time samples of a stage are best read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ON_GRID = 0.02
"""How far a sample may lie from its frame, in frames."""
SLOWEST, SMOOTH, FASTEST, PLAIN = 10.0, 24.0, 120.0, 240.0
"""Samples slower than SLOWEST were set by hand and are read at the stage's own rate, if that is at most PLAIN, else at
one of at least SMOOTH. Samples on no grid are read at SMOOTH to FASTEST frames a second."""

FEW = 5
"""Fewer samples than these say nothing of a rate."""


class Grid(NamedTuple):
    """Even steps through time."""

    fps: float
    start: float
    """Time code of the first frame."""
    step: float
    """Time codes from frame to frame."""
    frames: int
    even: bool
    """Whether every sample lies on a frame."""


def find_grid(samples: NDArray, codes_per_second: float, stated: float | None) -> Grid:
    """The frames for some sample times (time codes, increasing); `stated` is the stage's frames a second, if any."""
    if len(samples) < 2:
        start = float(samples[0]) if len(samples) else 0.0
        return Grid(stated or codes_per_second, start, codes_per_second / (stated or codes_per_second), 1, True)
    start, length = float(samples[0]), float(samples[-1] - samples[0])
    places = samples - samples[0]
    steps = np.diff(places)
    # samples closer than the rounding of their own numbers are one
    steps = steps[steps > 1e-9 * max(length, abs(start))]
    if not len(steps):
        return Grid(codes_per_second, start, 1.0, 1, True)
    # the mean of the shortest steps: over thousands of samples a single step's rounding would lose count
    rough = float(np.mean(steps[steps < 1.05 * steps.min()]))
    own = codes_per_second * max(round(length / rough), 1) / length
    known = [rate for rate in (stated, codes_per_second) if rate is not None]
    # a stated rate at which (nearly) every frame has its sample; the samples' own if all its frames have one; a stated
    # one with fewer samples; and for samples that were set far apart, a multiple of their own
    dense = [rate for rate in known if codes_per_second / rate <= 1.5 * rough and rate <= 1.5 * own]
    sparse = [rate for rate in known if SLOWEST <= rate <= PLAIN]
    samples_own = [own] if own >= SLOWEST else []
    full = len(samples) >= FEW and len(samples) == round(length * own / codes_per_second) + 1
    rest = [*samples_own, *sparse] if full else [*sparse, *samples_own]
    for rate in (*dense, *rest, own * np.ceil(SMOOTH / own)):
        step = codes_per_second / rate
        if _strays(places, step) <= ON_GRID:
            return Grid(float(rate), start, step, round(length / step) + 1, True)
    rate = float(np.clip(codes_per_second / np.median(steps), SMOOTH, FASTEST))
    step = codes_per_second / rate
    return Grid(rate, start, step, int(np.ceil(length / step - ON_GRID)) + 1, False)


def _strays(places: NDArray, step: float) -> float:
    """How far samples lie from the frames at most, in frames."""
    frames = places / step
    return float(np.abs(frames - np.round(frames)).max())


def frame_times(grid: Grid, samples: NDArray) -> NDArray:
    """The time codes to read at: a sample's own where it means a frame, so that its value comes back unmixed."""
    times = grid.start + grid.step * np.arange(grid.frames)
    if len(samples):
        after = np.clip(np.searchsorted(samples, times), 0, len(samples) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(np.abs(samples[before] - times) < np.abs(samples[after] - times), before, after)
        close = np.abs(samples[nearest] - times) <= ON_GRID * grid.step
        times = np.where(close, samples[nearest], times)
    return times
