"""Uniform cubic B-splines, Lee & Shin's multilevel fit of scattered data, and FIR kernels.

A curve over [0, n] knots has n+3 control points b₋₁ … b_{n+1}, stored from index 0 (Lee & Shin 1999, section 3.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.checks import all_finite, real_array, real_number, rectangle, shaped, whole_number
from footplant.errors import ArgumentError

MOST_KNOTS = 10_000_000
"""Largest number of knots; more indicate a mistake in the spacing."""
LEAST_SPACING = 1e-100
"""Smallest knot spacing, in the unit of the parameter: below it parameters in knots overflow."""


@dataclass(frozen=True, eq=False)
class Spline:
    """f(u) = Σ_{k=0..3} B_k(u − ⌊u⌋) b_{⌊u⌋+k−1} with u = (t − start) / spacing."""

    control: NDArray
    """(n+3, D) control points, in the unit of the values."""
    spacing: float
    """Knot spacing, in the unit of the parameter t (seconds, frames …)."""
    start: float = 0.0
    """t of the first knot."""

    def __post_init__(self) -> None:
        """Check the control points and the spacing."""
        control = shaped(self.control, ("n + 3", "D"), "control points")
        if len(control) < 4:
            raise ArgumentError(f"expected at least 4 control points, got {len(control)}")
        object.__setattr__(self, "control", control)
        real_number(self.spacing, "knot spacing", low=LEAST_SPACING)
        real_number(self.start, "start")

    def __call__(self, t: ArrayLike) -> NDArray:
        """Return values (N, D) at parameters t (N,); beyond the ends the last cubic is extrapolated."""
        from footplant.kernels import spline as kernel

        u = (shaped(np.atleast_1d(real_array(t, "parameters")), ("N",), "parameters") - self.start) / self.spacing
        out = np.empty((len(u), self.control.shape[1]))
        kernel.evaluate(np.ascontiguousarray(self.control), u, out)
        return all_finite(out, "values of the spline")


def fit_spline(t: ArrayLike, values: ArrayLike, spacing: float, start: float, stop: float) -> Spline:
    """Return the local least-squares fit of scattered data (N,), (N, D) on knots of a spacing over [start, stop].

    Lee & Shin 1999, section 3.2: each control point is the weighted mean of the values that the data near it require;
    there is no linear system, and a control point without data is 0.
    """
    from footplant.kernels import spline as kernel

    t, values = real_array(t, "times"), np.ascontiguousarray(real_array(values, "values"))
    if values.ndim != 2 or t.shape != (len(values),):
        raise ArgumentError(f"expected times (N,) and values (N, D), got {t.shape} and {values.shape}")
    all_finite(t, "times")
    all_finite(values, "values")
    real_number(start, "start")
    real_number(stop, "stop", low=start)
    real_number(spacing, "positive knot spacing", low=LEAST_SPACING)
    if (stop - start) / spacing > MOST_KNOTS:
        raise ArgumentError(f"expected at most {MOST_KNOTS} knots, got a spacing of {spacing:g} for {stop - start:g}")
    knots = max(int(np.ceil((stop - start) / spacing - 1e-9)), 1)
    control = np.empty((knots + 3, values.shape[1]))
    kernel.fit((t - start) / spacing, values, np.empty(knots + 3), control)
    return Spline(control, spacing, start)


def fit_multilevel(
    t: ArrayLike, values: ArrayLike, spacing: float, levels: int, start: float, stop: float
) -> list[Spline]:
    """Return splines of halving spacing, each fitted to the residual of those before it; their sum is the curve.

    Lee & Shin 1999, section 3.2. Sum the curves only where values add (positions); rotations compose level by level.
    """
    whole_number(levels, "levels", low=0, high=64)
    real_number(spacing, "knot spacing", above=0.0)
    residual = np.array(real_array(values, "values"))
    splines = []
    for level in range(levels):
        splines.append(fit_spline(t, residual, spacing / 2**level, start, stop))
        residual = residual - splines[-1](t)
    return splines


def binomial_kernel(width: int) -> NDArray:
    """Return the low-pass kernel of an odd width, a row of Pascal's triangle; width 9: (1 8 28 56 70 …)/256."""
    if whole_number(width, "a kernel width", high=10_001, low=-10_001) < 1 or width % 2 == 0:
        raise ArgumentError(f"expected an odd kernel width, got {width}")
    kernel = np.ones(1)
    for _ in range(width - 1):
        kernel = np.convolve(kernel, [0.5, 0.5])
    return kernel


def filter_fir(values: ArrayLike, kernel: ArrayLike, *, ends: str = "hold") -> NDArray:
    """Convolve along the first axis with a symmetric odd kernel, same length.

    ends: "hold" repeats the first and last value, "reflect" reflects the curve about its end point (which then stays
    fixed), "zero" assumes zeros beyond the ends.
    """
    values, kernel = real_array(values, "values"), shaped(kernel, ("odd",), "a kernel")
    if values.ndim == 0:
        raise ArgumentError("expected values along a first axis, got a single number")
    all_finite(values, "values")
    half = len(kernel) // 2
    if len(kernel) % 2 == 0:
        raise ArgumentError(f"expected an odd kernel, got {len(kernel)} weights")
    if half == 0 or len(values) == 0:
        return values * kernel.sum()
    wings = np.clip(np.arange(1, half + 1), 0, len(values) - 1)
    if ends == "hold":
        before, after = values[np.zeros(half, int)], values[np.full(half, len(values) - 1)]
    elif ends == "reflect":
        before, after = 2 * values[0] - values[wings[::-1]], 2 * values[-1] - values[len(values) - 1 - wings]
    elif ends == "zero":
        before = after = np.zeros((half, *values.shape[1:]))
    else:
        raise ArgumentError(f"expected ends among hold, reflect, zero, got {ends!r}")
    padded = np.concatenate([before, values, after])
    out = np.zeros_like(values)
    for tap, weight in enumerate(kernel):
        out += weight * padded[tap : tap + len(values)]
    return out


def moving_mean(values: ArrayLike, half: int) -> NDArray:
    """Return the mean (F,) of values (F,) over ±half frames, fewer at both ends."""
    values, half = shaped(values, ("F",), "values"), whole_number(half, "half a width", low=0)
    sums, every = np.concatenate([[0.0], np.cumsum(values)]), np.arange(len(values))
    first, end = np.maximum(every - half, 0), np.minimum(every + half + 1, len(values))
    return (sums[end] - sums[first]) / (end - first)


def smooth_envelope(values: ArrayLike, half: int) -> NDArray:
    """Return a smooth curve (F,) nowhere below the values (F,): the maximum within ±half, then averaged over ±half."""
    values = shaped(values, ("F",), "values")
    if whole_number(half, "half a width", high=MOST_KNOTS) < 1 or len(values) < 2:
        return values.copy()
    from scipy.ndimage import maximum_filter1d

    kernel = binomial_kernel(2 * half + 1) if half < 8 else np.hanning(2 * half + 3)[1:-1]
    highest = maximum_filter1d(values, 2 * half + 1, mode="nearest")
    return filter_fir(highest, kernel / kernel.sum())


OBSTACLE_PENALTIES = (1e4, 1e6)
"""Penalties of `smooth_above` for being below the values and for being off 0 where held, relative to being off 0."""
ACTIVE_SET_ROUNDS = 8
"""Largest number of active-set updates in `smooth_above`."""


def smooth_above(values: ArrayLike, held: ArrayLike, half: int) -> NDArray:
    """Return the smoothest curve (F,) that is (nearly) nowhere below the values (F,), and 0 where held (F,).

    Minimises squared acceleration, with enough damping and regularisation to rise and fall over ±half frames without
    oscillation: an obstacle problem, solved by an active set. Values may be negative, and so may the curve; without
    active values it is 0.
    """
    values, held = shaped(values, ("F",), "values"), rectangle(held, "held").astype(bool)
    half = whole_number(half, "half a width", high=MOST_KNOTS)
    if held.shape != values.shape:
        raise ArgumentError(f"expected held of shape {values.shape}, got {held.shape}")
    count = len(values)
    active = (values > 0.0) & ~held
    if count < 3 or half < 1 or not active.any():
        return np.where(active, values, 0.0)
    from footplant.kernels import smoothing as kernel

    curve = np.empty(count)
    values, held = np.ascontiguousarray(values), np.ascontiguousarray(held)
    room = kernel.above_room(count)
    kernel.smooth_above(values, held, (0.5 * half) ** 4, *OBSTACLE_PENALTIES, ACTIVE_SET_ROUNDS, room, curve)
    return all_finite(curve, "the curve")
