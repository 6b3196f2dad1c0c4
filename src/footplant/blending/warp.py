"""Which time of one motion corresponds to which of another: dynamic programming, then a strictly monotone spline.

Macleod, "Motion capture based animation" (2006), section 3.1, after Kovar & Gleicher (SCA 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.errors import MotionError

Ends = Literal["both", "free", "loop"]
KNOT = 0.12
"""Seconds of the reference between two knots: about four frames at 30 frames a second."""
SLOWEST = 0.15
"""The least slope of a time warp: what keeps it strictly monotone."""
STEEPEST = 8
"""Steps running in one direction that are tried at most when no path exists under tighter limits."""
OVERLAP = 0.5
"""Share of the shorter motion that corresponding parts must have when their ends are free."""
WORTH = 1.5
"""A pair of frames is worth matching when it is no farther apart than so many times the mean of the best path."""


@dataclass(frozen=True, eq=False)
class Path:
    """Corresponding frames of two motions."""

    frames: NDArray
    """(P, 2) int64: frame of the first and of the second motion; neither ever goes back. Where a loop runs over its
    end, the second goes on counting."""
    cost: float
    """Metres; the mean distance of the frames along the path."""
    limits: tuple[int, int]
    """Steps running that were allowed along the first motion, and along the second, alone."""


def slope_limits(rows: int, columns: int) -> tuple[int, int]:
    """Macleod's equation 6: how many steps may run along one motion alone, for motions of so many frames."""
    return tuple(max(int(min(1.5 * ratio, 2.0)), 1) for ratio in (rows / columns, columns / rows))  # type: ignore[return-value]


def find_path(table: NDArray, *, ends: Ends = "both", overlap: float = OVERLAP) -> Path:
    """The cheapest path of corresponding frames through a table of distances (METHODS F2).

    ends: "both": the motions begin together and end together; "free": parts of them correspond, at least a share
    `overlap` of each; "loop": both are loops (their last frame is their first one), and where the second begins is
    found. Limits of slope are widened until there is a path.
    """
    table = np.ascontiguousarray(table, float)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise MotionError(f"expected a table of finite distances, got one of shape {table.shape}")
    if ends == "both":
        return _widened(table, _fixed)
    if ends == "free":
        return _widened(table, lambda costs, limits: _free(costs, limits, overlap))
    if ends == "loop":
        return _widened(table, _looped)
    raise MotionError(f"expected ends to be both, free or loop; got {ends!r}")


def _widened(table: NDArray, search) -> Path:
    rows, columns = table.shape
    limits = slope_limits(rows, columns)
    for wider in range(STEEPEST):
        now = (limits[0] + wider, limits[1] + wider)
        found = search(table, now)
        if found is not None:
            return Path(found[0], found[1], now)
    # a clip of one frame, or one many times longer than the other: everything goes
    now = (rows, columns)
    found = search(table, now)
    assert found is not None
    return Path(found[0], found[1], now)


def _walk(costs: NDArray, limits: tuple[int, int], reward: float, diagonal: float, edges: tuple[int, int, int, int]):
    """One run of the dynamic programming; None without a path."""
    from footplant.blending import _warp as kernel

    up, across = limits
    rows, columns = costs.shape
    states = 1 + up + across
    total, came = np.empty((rows, columns, states)), np.empty((rows, columns, states), np.int16)
    row, column, state, best = kernel.cheapest(costs, reward, diagonal, across, up, *edges, total, came)
    if row < 0:
        return None
    path = np.empty((rows + columns, 2), np.int64)
    return path[: kernel.trace(came, row, column, state, up, path)], best


def _fixed(table: NDArray, limits: tuple[int, int]):
    rows, columns = table.shape
    # starts and ends at the corners alone: the paper's choice, in which each cell on the way counts once
    found = _walk(table, limits, 0.0, 1.0, (1, 1, rows - 1, columns - 1))
    return None if found is None else (found[0], float(table[tuple(found[0].T)].mean()))


def _free(table: NDArray, limits: tuple[int, int], overlap: float):
    """The longest part that is worth matching: the smallest mean cost first (Dinkelbach's iteration), then length."""
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
    found = _walk(table, limits, WORTH * reward + 1e-9, 2.0, edges)
    assert found is not None
    return found[0], float(table[tuple(found[0].T)].mean())


def _looped(table: NDArray, limits: tuple[int, int]):
    """The best corner-to-corner path over all frames at which the second loop may begin."""
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
    """Corresponding times of n motions along one parameter: a clamped cubic B-spline, strictly rising in each."""

    knots: NDArray
    """(K+4,) seconds of the reference; the first and last four are the ends."""
    control: NDArray
    """(K, n) seconds in each motion, strictly rising down each column."""

    @property
    def start(self) -> float:
        """First time of the reference, seconds."""
        return float(self.knots[0])

    @property
    def stop(self) -> float:
        """Last time of the reference, seconds."""
        return float(self.knots[-1])

    def __call__(self, reference: ArrayLike) -> NDArray:
        """(N, n) corresponding times, seconds, at times (N,) of the reference, which are kept to the curve's ends."""
        return self._spline(np.clip(np.atleast_1d(np.asarray(reference, float)), self.start, self.stop))

    def rates(self, reference: ArrayLike) -> NDArray:
        """(N, n) how fast each motion goes by there, seconds a second of the reference; always positive."""
        return self._spline(np.clip(np.atleast_1d(np.asarray(reference, float)), self.start, self.stop), 1)

    def _spline(self, reference: NDArray, derivative: int = 0) -> NDArray:
        from scipy.interpolate import BSpline

        return BSpline(self.knots, self.control, 3)(reference, nu=derivative)

    def reference_of(self, motion: int, seconds: ArrayLike) -> NDArray:
        """(N,) the reference's times at which one of the motions has times (N,); beyond the ends as at the ends."""
        fine = np.linspace(self.start, self.stop, max(int((self.stop - self.start) * 240), 16) + 1)
        return np.interp(np.asarray(seconds, float), self(fine)[:, motion], fine)


def clamped_knots(start: float, stop: float, spacing: float = KNOT) -> NDArray:
    """Knots of a clamped uniform cubic B-spline over an interval."""
    count = max(round((stop - start) / spacing), 1)
    return np.concatenate([np.full(3, start), np.linspace(start, stop, count + 1), np.full(3, stop)])


def fit_monotone(
    reference: ArrayLike,
    seconds: ArrayLike,
    knots: NDArray,
    *,
    weights: ArrayLike | float = 1.0,
    ends: bool = False,
    slowest: float = SLOWEST,
) -> NDArray:
    """(K,) control points of the strictly monotone spline nearest to corresponding times (P,), (P,).

    The increments of the control points are kept above `slowest` times those of a straight line; then the spline
    rises everywhere. weights: how much each pair counts. ends: the first and the last pair are met exactly.
    """
    from scipy.interpolate import BSpline
    from scipy.optimize import nnls

    reference, seconds = np.asarray(reference, float), np.asarray(seconds, float)
    count = len(knots) - 4
    basis = BSpline.design_matrix(np.clip(reference, knots[0], knots[-1]), knots, 3).toarray()
    abscissae = np.array([knots[k + 1 : k + 4].mean() for k in range(count)])
    steps = np.diff(abscissae)
    # control point k = first + Σ increments; an increment is its least one plus what is found
    summed = np.tril(np.ones((count, count)))[:, 1:]
    least = slowest * steps
    share = np.sqrt(np.broadcast_to(np.asarray(weights, float), len(basis)))[:, None].copy()
    if ends:
        share[[0, -1]] = 1e4
    design = np.concatenate([np.ones((len(basis), 1)), -np.ones((len(basis), 1)), basis @ summed], axis=1)
    wanted = seconds - basis @ (summed @ least)
    # few data for a knot: let the curve go on as straight as it can
    bend = np.zeros((count - 2, count + 1))
    for row in range(count - 2):
        bend[row, 2 + row], bend[row, 3 + row] = 1.0 / steps[row], -1.0 / steps[row + 1]
    small = 1e-3 * len(basis) / count * (knots[-1] - knots[0]) / count
    found = nnls(
        np.concatenate([share * design, small * bend]), np.concatenate([share[:, 0] * wanted, np.zeros(count - 2)])
    )[0]
    return found[0] - found[1] + summed @ (found[2:] + least)
