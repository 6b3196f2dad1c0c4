"""Time warping: corresponding times of two motions by dynamic programming, then a strictly monotone spline.

Macleod, "Skeletal Character Animation within a Virtual Environment" (2006), section 3.1, after Kovar & Gleicher (SCA
2003). The path minimises the sum of frame distances D(i, j) under slope limits; the spline s(t) = Σ cₖ Bₖ(t) is fitted
to it by least squares with cₖ₊₁ − cₖ bounded from below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.blending.settings import REGISTRATION
from footplant.checks import real_array, real_number
from footplant.errors import MotionError

Ends = Literal["both", "free", "loop"]
"""How two motions correspond at their ends; see `find_path`."""


@dataclass(frozen=True, eq=False)
class WarpPath:
    """Corresponding frames of two motions."""

    frames: NDArray
    """(P, 2) int64: frame of the first and of the second motion, non-decreasing. Where a loop passes its end,
    the second continues counting."""
    cost: float
    """Metres; the mean distance of the frames along the path."""
    limits: tuple[int, int]
    """Consecutive steps allowed along the first motion alone, and along the second alone."""


def slope_limits(rows: int, columns: int) -> tuple[int, int]:
    """Return how many consecutive steps may go along one motion alone (Macleod's equation 6), given frame counts."""
    return tuple(max(int(min(1.5 * ratio, 2.0)), 1) for ratio in (rows / columns, columns / rows))  # type: ignore[return-value]


def find_path(table: NDArray, *, ends: Ends = "both", overlap: float = REGISTRATION.overlap) -> WarpPath:
    """Return the cheapest path of corresponding frames through a table of distances.

    ends: "both": the motions start together and end together; "free": parts of them correspond, at least a fraction
    `overlap` of each; "loop": both are loops (the last frame repeats the first), and the second one's start is found.
    Slope limits are widened until there is a path.
    """
    table = np.ascontiguousarray(real_array(table, "distances", MotionError))
    overlap = real_number(overlap, "overlap", MotionError, low=0.0, high=1.0)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise MotionError(f"expected a table of finite distances, got one of shape {table.shape}")
    if ends == "both":
        return _widened(table, _fixed)
    if ends == "free":
        return _widened(table, lambda costs, limits: _free(costs, limits, overlap))
    if ends == "loop":
        return _widened(table, _looped)
    raise MotionError(f"expected ends to be both, free or loop; got {ends!r}")


def _widened(table: NDArray, search) -> WarpPath:
    rows, columns = table.shape
    limits = slope_limits(rows, columns)
    for wider in range(REGISTRATION.steepest):
        now = (limits[0] + wider, limits[1] + wider)
        found = search(table, now)
        if found is not None:
            return WarpPath(found[0], found[1], now)
    # a clip of one frame, or one many times longer than the other: no limits
    now = (rows, columns)
    found = search(table, now)
    assert found is not None
    return WarpPath(found[0], found[1], now)


def _walk(costs: NDArray, limits: tuple[int, int], reward: float, diagonal: float, edges: tuple[int, int, int, int]):
    """Run the dynamic programming once; None without a path."""
    from footplant.blending import _warp as kernel

    up, across = limits
    rows, columns = costs.shape
    states = 1 + up + across
    total, came = np.empty((rows, columns, states)), np.empty((rows, columns, states), np.int16)
    row, column, state, best = kernel.cheapest(
        costs, reward, diagonal, kernel.SlopeLimits(up, across), kernel.PathEnds(*edges), total, came
    )  # fmt: skip
    if row < 0:
        return None
    path = np.empty((rows + columns, 2), np.int64)
    return path[: kernel.trace(came, row, column, state, up, path)], best


def _fixed(table: NDArray, limits: tuple[int, int]):
    rows, columns = table.shape
    # starts and ends only at the corners, as in the paper, where each cell on the path counts once
    found = _walk(table, limits, 0.0, 1.0, (1, 1, rows - 1, columns - 1))
    return None if found is None else (found[0], float(table[tuple(found[0].T)].mean()))


def _free(table: NDArray, limits: tuple[int, int], overlap: float):
    """Find the longest part worth matching: minimise the mean cost (Dinkelbach's iteration), then extend the path."""
    rows, columns = table.shape
    needed = max(round(overlap * min(rows, columns)), 1)
    edges = (rows - needed + 1, columns - needed + 1, needed - 1, needed - 1)
    reward = 0.0
    for _ in range(12):
        found = _walk(table, limits, reward, 2.0, edges)
        if found is None:
            return None
        mean = float(table[tuple(found[0].T)].mean())
        if abs(mean - reward) <= 1e-6 * max(mean, 1e-9):
            break
        reward = mean
    found = _walk(table, limits, REGISTRATION.worth * reward + 1e-9, 2.0, edges)
    assert found is not None
    return found[0], float(table[tuple(found[0].T)].mean())


def _looped(table: NDArray, limits: tuple[int, int]):
    """Return the best corner-to-corner path over all frames at which the second loop may start."""
    best, columns = None, table.shape[1]
    cycle = max(columns - 1, 1)
    for shift in range(cycle):
        order = (np.arange(columns) + shift) % cycle
        found = _fixed(np.ascontiguousarray(table[:, order]), limits)
        if found is not None and (best is None or found[1] < best[1]):
            best = found[0] + [0, shift], found[1]
    return best


@dataclass(frozen=True, eq=False)
class TimeCurve:
    """Corresponding times of n motions along one parameter: a clamped cubic B-spline, strictly increasing in each."""

    knots: NDArray
    """(K+4,) seconds of the reference; the first and last four coincide with the ends."""
    control: NDArray
    """(K, n) seconds in each motion, strictly increasing down each column."""

    @property
    def start(self) -> float:
        """First time of the reference, seconds."""
        return float(self.knots[0])

    @property
    def stop(self) -> float:
        """Last time of the reference, seconds."""
        return float(self.knots[-1])

    def __call__(self, reference: ArrayLike) -> NDArray:
        """Return corresponding times (N, n), seconds, at times (N,) of the reference, clamped to the curve's ends."""
        return self._spline(np.clip(np.atleast_1d(np.asarray(reference, float)), self.start, self.stop))

    def rates(self, reference: ArrayLike) -> NDArray:
        """Return the playback rate (N, n) of each motion relative to the reference; always positive."""
        return self._spline(np.clip(np.atleast_1d(np.asarray(reference, float)), self.start, self.stop), 1)

    def _spline(self, reference: NDArray, derivative: int = 0) -> NDArray:
        from scipy.interpolate import BSpline

        return BSpline(self.knots, self.control, 3)(reference, nu=derivative)

    def reference_of(self, motion: int, seconds: ArrayLike) -> NDArray:
        """Return the reference's times (N,) that correspond to times (N,) of one motion, clamped to the ends."""
        fine = np.linspace(self.start, self.stop, max(int((self.stop - self.start) * 240), 16) + 1)
        return np.interp(np.asarray(seconds, float), self(fine)[:, motion], fine)


MOST_KNOTS = 1_000_000
"""Maximum number of knots of a time curve; more are taken for a mistake."""


def clamped_knots(start: float, stop: float, spacing: float = REGISTRATION.knot) -> NDArray:
    """Return knots of a clamped uniform cubic B-spline over an interval."""
    start, stop = real_number(start, "start", MotionError), real_number(stop, "stop", MotionError)
    spacing = real_number(spacing, "spacing of knots", MotionError, above=0.0)
    if not 0.0 < stop - start <= MOST_KNOTS * spacing:
        raise MotionError(f"expected a stop after the start and at most {MOST_KNOTS} knots, got {start:g}, {stop:g}")
    count = max(round((stop - start) / spacing), 1)
    return np.concatenate([np.full(3, start), np.linspace(start, stop, count + 1), np.full(3, stop)])


def fit_monotone(
    reference: ArrayLike,
    seconds: ArrayLike,
    knots: NDArray,
    *,
    weights: ArrayLike | float = 1.0,
    ends: bool = False,
    slowest: float = REGISTRATION.slowest,
) -> NDArray:
    """Return control points (K,) of the strictly monotone spline nearest to corresponding times (P,), (P,).

    Increments of the control points are at least `slowest` times those of a straight line, which makes the spline
    increase everywhere. weights: of each pair. ends: interpolate the first and the last pair. Solved as non-negative
    least squares for the excess increments.
    """
    from scipy.interpolate import BSpline
    from scipy.optimize import nnls

    reference, seconds = np.asarray(reference, float), np.asarray(seconds, float)
    count = len(knots) - 4
    basis = BSpline.design_matrix(np.clip(reference, knots[0], knots[-1]), knots, 3).toarray()
    abscissae = np.array([knots[k + 1 : k + 4].mean() for k in range(count)])
    steps = np.diff(abscissae)
    # control point k = first + Σ increments; an increment is its lower bound plus a non-negative excess
    summed = np.tril(np.ones((count, count)))[:, 1:]
    least = slowest * steps
    share = np.sqrt(np.broadcast_to(np.asarray(weights, float), len(basis)))[:, None].copy()
    if ends:
        share[[0, -1]] = 1e4
    design = np.concatenate([np.ones((len(basis), 1)), -np.ones((len(basis), 1)), basis @ summed], axis=1)
    wanted = seconds - basis @ (summed @ least)
    # where few data determine a knot, prefer a straight line
    bend = np.zeros((count - 2, count + 1))
    for row in range(count - 2):
        bend[row, 2 + row], bend[row, 3 + row] = 1.0 / steps[row], -1.0 / steps[row + 1]
    small = 1e-3 * len(basis) / count * (knots[-1] - knots[0]) / count
    found = nnls(
        np.concatenate([share * design, small * bend]), np.concatenate([share[:, 0] * wanted, np.zeros(count - 2)])
    )[0]
    return found[0] - found[1] + summed @ (found[2:] + least)
