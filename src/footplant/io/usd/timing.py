"""Choose a uniform frame rate for the time samples of a stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class TimingSettings:
    """How time samples are turned into frames. No experiment is on record for them."""

    grid_tolerance: float = 0.02
    """Frames. Largest distance of a sample from its frame. Doubled, slightly irregular samples count as uniform."""
    slowest: float = 10.0
    """Hz. Slower samples were set by hand; they are read at the stage's rate if that is at most `fastest_stated`, else
    at a multiple of their own of at least `smooth`."""
    smooth: float = 24.0
    """Hz. Lowest rate for samples that are resampled."""
    fastest: float = 120.0
    """Hz. Highest rate for samples that lie on no uniform grid. Halved, dense irregular samples lose detail."""
    fastest_stated: float = 240.0
    """Hz. Faster stated rates are treated as time units rather than frame rates."""
    min_samples: int = 5
    """Fewer samples do not define a frame rate."""


SETTINGS = TimingSettings()


class Grid(NamedTuple):
    """A uniform sampling of time."""

    fps: float
    start: float
    """Time code of the first frame."""
    step: float
    """Time codes per frame."""
    frames: int
    even: bool
    """Whether every sample lies on a frame."""


def find_grid(samples: NDArray, codes_per_second: float, stated: float | None) -> Grid:
    """Return the frames for sample times (time codes, ascending); stated: the stage's frames per second, if any."""
    if len(samples) < 2:
        start = float(samples[0]) if len(samples) else 0.0
        return Grid(stated or codes_per_second, start, codes_per_second / (stated or codes_per_second), 1, True)
    start, length = float(samples[0]), float(samples[-1] - samples[0])
    places = samples - samples[0]
    steps = np.diff(places)
    # samples closer than the rounding of their times coincide
    steps = steps[steps > 1e-9 * max(length, abs(start))]
    if not len(steps):
        return Grid(codes_per_second, start, 1.0, 1, True)
    # average the shortest steps: over thousands of samples, the rounding of a single step would miscount the frames
    rough = float(np.mean(steps[steps < 1.05 * steps.min()]))
    own = codes_per_second * max(round(length / rough), 1) / length
    known = [rate for rate in (stated, codes_per_second) if rate is not None]
    # in order: a stated rate at which (nearly) every frame has a sample; the samples' own rate if all its frames have
    # one; a stated rate with fewer samples; for samples far apart, a multiple of their own rate
    dense = [rate for rate in known if codes_per_second / rate <= 1.5 * rough and rate <= 1.5 * own]
    sparse = [rate for rate in known if SETTINGS.slowest <= rate <= SETTINGS.fastest_stated]
    samples_own = [own] if own >= SETTINGS.slowest else []
    full = len(samples) >= SETTINGS.min_samples and len(samples) == round(length * own / codes_per_second) + 1
    rest = [*samples_own, *sparse] if full else [*sparse, *samples_own]
    for rate in (*dense, *rest, own * np.ceil(SETTINGS.smooth / own)):
        step = codes_per_second / rate
        if _grid_error(places, step) <= SETTINGS.grid_tolerance:
            return Grid(float(rate), start, step, round(length / step) + 1, True)
    rate = float(np.clip(codes_per_second / np.median(steps), SETTINGS.smooth, SETTINGS.fastest))
    step = codes_per_second / rate
    return Grid(rate, start, step, int(np.ceil(length / step - SETTINGS.grid_tolerance)) + 1, False)


def _grid_error(places: NDArray, step: float) -> float:
    """Return the largest distance of a sample from the nearest frame, in frames."""
    frames = places / step
    return float(np.abs(frames - np.round(frames)).max())


def frame_times(grid: Grid, samples: NDArray) -> NDArray:
    """Return the time codes (F,) of the frames; a sample's own time if it is on the frame, to get its exact value."""
    times = grid.start + grid.step * np.arange(grid.frames)
    if len(samples):
        after = np.clip(np.searchsorted(samples, times), 0, len(samples) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(np.abs(samples[before] - times) < np.abs(samples[after] - times), before, after)
        close = np.abs(samples[nearest] - times) <= SETTINGS.grid_tolerance * grid.step
        times = np.where(close, samples[nearest], times)
    return times
