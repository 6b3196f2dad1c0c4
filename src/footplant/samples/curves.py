"""Smooth functions of time for the sample motions. All are twice continuously differentiable."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

State = tuple[Any, Any, Any]
"""Value, first and second derivative of a curve at one instant; complex for a point in the sagittal plane (z + iy)."""

Waves = Sequence[tuple[float, float, float]]
"""A Fourier series over the gait cycle: rows (harmonic, cosine part, sine part); harmonic 0 is the mean."""

REST: State = (0.0, 0.0, 0.0)
"""The constant zero."""


def combined(first: State, factor: float, second: State = REST, other: float = 0.0) -> State:
    """Return factor·first + other·second."""
    value, rate, change = (factor * a + other * b for a, b in zip(first, second))
    return value, rate, change


def quintic(u: ArrayLike, start: State, end: State, duration: float = 1.0) -> NDArray:
    """Evaluate the quintic between two states; u runs from 0 to 1 in `duration` (in the derivatives' time unit)."""
    u = np.asarray(u, float)
    p0, v0, a0 = start[0], start[1] * duration, start[2] * duration**2
    p1, v1, a1 = end[0], end[1] * duration, end[2] * duration**2
    gap, slope, curve = p1 - p0 - v0 - 0.5 * a0, v1 - v0 - a0, a1 - a0
    c3 = 10 * gap - 4 * slope + 0.5 * curve
    c4 = -15 * gap + 7 * slope - curve
    c5 = 6 * gap - 3 * slope + 0.5 * curve
    return p0 + u * (v0 + u * (0.5 * a0 + u * (c3 + u * (c4 + u * c5))))


def ease(u: ArrayLike) -> NDArray:
    """Return 0 for u ≤ 0, 1 for u ≥ 1, and the minimum-jerk curve 10u³ − 15u⁴ + 6u⁵ between."""
    u = np.clip(np.asarray(u, float), 0.0, 1.0)
    return u**3 * (10.0 - 15.0 * u + 6.0 * u * u)


def eased_integral(u: ArrayLike) -> NDArray:
    """Return the integral of `ease` from 0: the distance covered when the speed rises from 0 to 1."""
    u = np.asarray(u, float)
    inside = np.clip(u, 0.0, 1.0)
    return inside**4 * (2.5 - 3.0 * inside + inside * inside) + np.maximum(u - 1.0, 0.0)


def bump(u: ArrayLike, coefficients: Sequence[complex]) -> NDArray:
    """Return 64u³(1−u)³·Σ c_k (2u−1)^k: shapes an interval and vanishes to second order at both ends."""
    u = np.asarray(u, float)
    window = 64.0 * (u * (1.0 - u)) ** 3
    return window * np.polynomial.polynomial.polyval(2.0 * u - 1.0, np.asarray(coefficients))


def wave(phase: ArrayLike, coefficients: Waves) -> NDArray:
    """Evaluate a Fourier series at phases of the cycle, 0 to 1."""
    angle = 2.0 * np.pi * np.asarray(phase, float)
    out = np.zeros_like(angle)
    for harmonic, cosine, sine in coefficients:
        out += cosine * np.cos(harmonic * angle) + sine * np.sin(harmonic * angle)
    return out


def keyed(seconds: ArrayLike, keys: Sequence[tuple[float, ArrayLike]]) -> NDArray:
    """Interpolate keys (time, value) without overshoot: quintic pieces, flat at extremes, constant outside the keys.

    Slopes at the keys are those of Fritsch & Carlson's monotone interpolation (harmonic means of the neighbouring
    chords), curvatures are zero. Values may be numbers or vectors of one length.
    """
    seconds = np.asarray(seconds, float)
    times = np.array([time for time, _ in keys], float)
    values = np.array([np.asarray(value, float) for _, value in keys])
    if len(keys) == 1:
        return np.broadcast_to(values[0], seconds.shape + values.shape[1:]).copy()
    flat = values.reshape(len(times), -1)
    steps = np.diff(times)[:, None]
    chords = np.diff(flat, axis=0) / steps
    slopes = np.zeros_like(flat)
    before, after = chords[:-1], chords[1:]
    same = before * after > 0
    weight_before, weight_after = 2 * steps[1:] + steps[:-1], steps[1:] + 2 * steps[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        harmonic = (weight_before + weight_after) / (weight_before / before + weight_after / after)
    slopes[1:-1] = np.where(same, harmonic, 0.0)
    index = np.clip(np.searchsorted(times, seconds, side="right") - 1, 0, len(times) - 2)
    u = np.clip((seconds - times[index]) / np.diff(times)[index], 0.0, 1.0)[..., None]
    step = np.diff(times)[index][..., None]
    p0, p1 = flat[index], flat[index + 1]
    v0, v1 = slopes[index] * step, slopes[index + 1] * step
    gap, slope = p1 - p0 - v0, v1 - v0
    out = p0 + u * (v0 + u * u * (10 * gap - 4 * slope + u * (-15 * gap + 7 * slope + u * (6 * gap - 3 * slope))))
    return out.reshape(seconds.shape + values.shape[1:])


def through(seconds: ArrayLike, states: Sequence[tuple[float, State]]) -> NDArray:
    """Interpolate (time, state) pairs by quintic pieces with given velocity and acceleration; constant outside."""
    seconds = np.asarray(seconds, float)
    times = np.array([time for time, _ in states])
    out = np.where(seconds < times[0], states[0][1][0], states[-1][1][0]).astype(float)
    for (start, first), (end, second) in pairwise(states):
        inside = (seconds >= start) & (seconds <= end)
        out[inside] = quintic((seconds[inside] - start) / (end - start), first, second, end - start)
    return out
