"""Locate contact onset and release of still points.

A threshold on speed would end every contact late, by the time the foot takes to gain that speed. In clean data the ends
are where the point leaves its exact position; in noise they are change points (`change_points`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.change_points import Edges, change_points

NOISY = 200.0
"""Noise this many times the wander of a planted point in clean data hides how it leaves and whether it drifts."""

# seconds; a rest this long is no turning point
_SOLID = 0.08
# chi-square of three axes that chance exceeds in one of 1000
_DRIFT = 16.3
# how far the means of a window's halves may differ by chance, in standard deviations
_SHIFT = 5.0


def place_ends(
    positions: NDArray,
    cores: NDArray,
    creeping: NDArray,
    kinds: NDArray,
    segments: NDArray,
    fps: float,
    noise: float,
    wander: float,
    gone: float,
) -> NDArray:
    """Move both ends of each core to where its rest really begins and ends.

    `creeping` (B,) marks cores without a rest (a foot that its skeleton lets roll): they have no such instant, and
    their slow core is the answer. `kinds` (P,) are equal for points that leave and land alike (both heels). `wander`
    and `gone` are metres, see `StillnessSettings`.
    """
    resting = np.ascontiguousarray(cores[~creeping])
    if not len(resting):
        return cores
    placed, noisy = np.array(resting), noise > NOISY * wander
    for sign in (-1, 1):
        # in noise the place is told by most of the rest, and gentle departures by more of what follows
        depth, inward, outward, far = (0.7, 0.7, 0.5, 30.0) if noisy else (0.5, 0.5, 0.15, 10.0)
        bounds = np.array([max(noise, wander), far, gone])
        edges, change = _edges(positions, resting, sign, segments, fps, depth, (inward, outward), bounds)
        if noisy:
            change = np.floor(change_points(edges, kinds[resting[:, 0]], fps) + 1e-9).astype(np.int64)
        placed[:, 1 if sign < 0 else 2] += sign * change
    return np.concatenate([placed, cores[creeping]])


def _edges(
    positions: NDArray,
    cores: NDArray,
    sign: int,
    segments: NDArray,
    fps: float,
    depth: float,
    reach: tuple[float, float],
    bounds: NDArray,
) -> tuple[Edges, NDArray]:
    """Look at one end of every core (−1: starts, 1: ends), a share `depth` into it, within `reach` seconds.

    `reach` goes inwards and outwards. `bounds` are the noise at least, metres, and the times the noise and the metres
    that a point has to be further away than both when it has left. Also returned are (B,) frames from the edge to the
    last one before the point strays further than it does at rest.
    """
    from footplant.contacts import _rests as kernel

    inner, outer = (max(round(seconds * fps), 3) for seconds in reach)
    count, width = len(cores), inner + outer + 1
    away, used = np.empty((count, width, 3)), np.empty((count, width), bool)
    open_end, scale, rest = np.empty(count, bool), np.empty(count), np.zeros(count, np.int64)
    room, inside = np.empty(width), np.empty((width, 3))
    kernel.look_at_ends(
        positions, cores, sign, segments, inner, depth, bounds, room, inside, away, used, open_end, scale, rest
    )
    solid = cores[:, 2] - cores[:, 1] >= _SOLID * fps
    return Edges(np.arange(-inner, outer + 1), away, used, open_end, solid, scale), rest


def rests_of(
    positions: NDArray, cores: NDArray, fps: float, noise: float, wander: float
) -> tuple[NDArray, NDArray, NDArray]:
    """The rests inside cores, without slow movements between them or at their ends: a heel that rises gently.

    A movement is where a short window strays more than `wander` metres, more than noise would and much more than the
    core's calmest window. In noise the window is longer, or slow movements would drown; what takes twice as long goes
    as far in steps that noise hides from it, so each rest is looked at once more with windows twice as long. Windows
    that straddle a movement make a gap of about their length; a shorter one (then of half of it) is chance. Returned
    are the rests of one core after another, how many (B,) each core has, and how far (B,) its calmest window strays,
    metres per axis.
    """
    from footplant.contacts import _rests as kernel

    longest = max(round((0.15 if noise < wander else 0.35) * fps), 3)
    frames, counts, calmest = cores[:, 2] - cores[:, 1], np.empty(len(cores), np.int64), np.empty(len(cores))
    most = int(frames.max(initial=0))
    rests, parts = np.empty((int(frames.sum()), 3), np.int64), np.empty((most, 3), np.int64)
    room = np.empty((most + 1, 4)), np.empty(most)
    count = kernel.find_rests(positions, cores, longest, noise, wander, _SHIFT, *room, parts, rests, counts, calmest)
    return rests[:count], counts, calmest


def median(values: NDArray) -> NDArray:
    """The median over the first axis, as `np.median` has it; for short arrays that takes ten times as long."""
    ordered = np.sort(values, axis=0)
    return 0.5 * (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2])


def creep_of(positions: NDArray, cores: NDArray, fps: float, noise: float) -> NDArray:
    """(B,) m/s: the usual speed over half of each core, beyond what noise alone would show; 0 for a true rest."""
    from footplant.contacts import _rests as kernel

    creep = np.empty(len(cores))
    kernel.find_creeps(positions, cores, float(fps), noise, np.empty(len(positions)), creep)
    return creep


def drifts(positions: NDArray, cores: NDArray, noise: float) -> NDArray:
    """(B,) bool: the place in the first half of each core differs from that in the second by more than noise explains.

    A fifth at either end is left out, where the point may be landing or leaving.
    """
    from footplant.contacts import _rests as kernel

    drift = np.empty(len(cores))
    kernel.find_drifts(positions, cores, drift)
    return drift > _DRIFT * noise**2
