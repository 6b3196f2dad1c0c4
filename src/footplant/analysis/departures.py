"""The instants at which a still point comes to rest and leaves.

A threshold on speed would end every plant late by the time the foot takes to gain that speed. In clean data the ends
are where the point is no longer exactly at its place. In noise they are change points: a constant place before the
instant τ, c + a·(t − τ)^p after it. One departure alone hardly tells p from τ, but a foot leaves and lands alike at
every step of a gait, so a and p are estimated from all steps of a clip together, and τ from each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# how a displacement may grow from rest: with constant acceleration, with constant jerk, or in between
_POWERS = (2.0, 2.5, 3.0)
# the same when many departures tell it together
_SHARED_POWERS = (1.5, 2.0, 2.5, 3.0)
# a point this many times the noise away from its place has left it
_GONE = 10.0
# twice the log-likelihood that a departure may lose by going like the others: by chance more than this in one of 100
_UNLIKE = 11.3
# a departure is clear when it explains this many times the noise's variance
_CLEAR = 60.0
# how many departures it takes to learn from, and how many ways of leaving are tried
_FEWEST, _GROUPS = 3, 4

Intervals = list[tuple[int, int, int]]
"""(point, first frame, first frame after it)."""


@dataclass(frozen=True, eq=False)
class _Edges:
    """One end (starts or ends) of B cores, seen outwards in time over W frames around it."""

    k: NDArray
    """(W,) frames from the core's last frame, positive outside."""
    away: NDArray
    """(B, W, 3) metres from the core's place."""
    used: NDArray
    """(B, W) bool; frames that tell about the departure: from the core's middle to where the point is surely gone."""
    open: NDArray
    """(B,) bool; False where the clip ends with the core, so that there is no departure."""
    scale: NDArray
    """(B,) metres per axis; how far the point strays while at rest."""


def place_ends(
    positions: NDArray,
    cores: Intervals,
    creeping: NDArray,
    kinds: NDArray,
    segments: list[tuple[int, int]],
    fps: float,
    noise: float,
    wander: float,
    gone: float,
) -> Intervals:
    """Move both ends of each core to where its rest really begins and ends.

    `creeping` (B,) marks cores without a rest (a foot that its skeleton lets roll): they have no such instant, and
    their slow core is the answer. `kinds` (P,) are equal for points that leave and land alike (both heels). `wander`
    and `gone` are metres, see `Stillness`.
    """
    resting = [core for core, creeps in zip(cores, creeping) if not creeps]
    if not resting:
        return list(cores)
    point, start, end = np.array(resting).T
    noisy = noise > 200.0 * wander
    ends = []
    for sign, edge in ((-1, start), (1, end - 1)):
        inward = 0.15 if noisy else 0.5
        edges = _edges(positions, resting, sign, segments, fps, inward, max(noise, wander), gone)
        change = _change_points(edges, kinds[point], fps) if noisy else _last_at_rest(edges)
        ends.append(edge + sign * np.floor(change + 1e-9).astype(np.int64))
    placed = [(int(p), int(a), int(b) + 1) for p, a, b in zip(point, *ends)]
    return placed + [core for core, creeps in zip(cores, creeping) if creeps]


def _edges(
    positions, cores: Intervals, sign: int, segments, fps: float, inward: float, least: float, gone: float
) -> _Edges:
    """Look at one end of every core (−1: starts, 1: ends), at most `inward` seconds deep into it."""
    frames = len(positions)
    inner, outer = max(round(0.5 * fps), 3), max(round(0.15 * fps), 3)
    k = np.arange(-inner, outer + 1)
    point, start, end = np.array(cores).T
    edge, last = (start, end - 1) if sign < 0 else (end - 1, start)
    middle = (start + end - 1) // 2
    lows, highs = np.array(segments).T
    segment = np.searchsorted(lows, edge, side="right")[:, None] - 1
    index = edge[:, None] + sign * k
    valid = (index >= lows[segment]) & (index < highs[segment]) & (sign * (index - last[:, None]) >= 0)
    track = positions[np.clip(index, 0, frames - 1), point[:, None]]
    inside = valid & (k <= 0)
    away = track - _masked_center(track, inside)[:, None]
    distance = np.linalg.norm(away, axis=2)
    # three axes: the median distance of Gaussian noise is 1.54 sigma
    scale = np.maximum(_masked_median(distance[..., None], inside)[:, 0] / 1.54, least)
    # each end is looked for in its own half of the core
    tells = k >= -max(round(inward * fps), 3)
    near = valid & (sign * (index - middle[:, None]) >= 0) & tells
    left = (distance > np.maximum(_GONE * scale, gone)[:, None]) & near
    first_out = np.where(left.any(axis=1), left.argmax(axis=1), len(k))
    used = near & (np.arange(len(k)) <= first_out[:, None])
    away, used = (away * used[..., None])[:, tells], used[:, tells]
    return _Edges(k[tells], away, used, (valid & (k > 0)).any(axis=1), scale)


def _last_at_rest(edges: _Edges) -> NDArray:
    """(B,) frames from the edge: the last one before the point strays further than it does at rest."""
    strayed = edges.used & (np.linalg.norm(edges.away, axis=2) > 4.0 * edges.scale[:, None])
    beyond = np.where(edges.used, np.arange(len(edges.k)), -1).max(axis=1)
    first = np.where(strayed.any(axis=1), np.maximum(strayed.argmax(axis=1) - 1, 0), beyond)
    return edges.k[first].astype(float)


def _change_points(edges: _Edges, kind: NDArray, fps: float) -> NDArray:
    """(B,) instants τ, in frames from the edge: alone, then together with departures that go alike."""
    reach = edges.k[-1]
    instants = np.arange(-reach, reach, min(1.0, max(0.25, fps / 240.0)))
    turned = _turned(edges)
    fits = {power: _fit(edges, turned, instants, power) for power in {*_POWERS, *_SHARED_POWERS}}
    change = _alone(edges, instants, fits)
    for one in np.unique(kind):
        members = np.flatnonzero((kind == one) & edges.open)
        for group in _groups(edges, instants, fits, members, change.copy()):
            belief = np.exp(group.gain - group.gain.max())
            change[group.members] = belief @ group.changes / belief.sum()
    # where the clip ends with the core, only a clear departure inside it counts
    clear = _explained(*fits[2.0]).max(axis=1) > _CLEAR * edges.scale**2
    return np.where(edges.open | (clear & (change < 0)), change, 0.0)


def _fit(edges: _Edges, turned: NDArray, instants: NDArray, power: float) -> tuple[NDArray, NDArray]:
    """Σ y·b (B, τ, 3) and Σ b² (B, τ) for the basis b = (k − τ)₊^p: all that least squares needs to know."""
    basis = np.maximum(edges.k[:, None] - instants, 0.0) ** power
    match = (turned.reshape(-1, turned.shape[2]) @ basis).reshape(len(turned), 3, -1)
    return np.ascontiguousarray(match.transpose(0, 2, 1)), edges.used.astype(float) @ basis**2


def _turned(edges: _Edges) -> NDArray:
    """(B, 3, W) the departures, turned over the ground so that each goes along +x.

    In a walk around a corner the steps are alike in all but their heading.
    """
    heading = (edges.away * (edges.used * (edges.k - edges.k[0]))[..., None] ** 2).sum(axis=1)
    length = np.hypot(heading[:, 0], heading[:, 2])
    cos = np.divide(heading[:, 0], length, out=np.ones(len(length)), where=length > 0)[:, None]
    sin = np.divide(heading[:, 2], length, out=np.zeros(len(length)), where=length > 0)[:, None]
    x, y, z = np.moveaxis(edges.away, 2, 0)
    return np.stack([x * cos + z * sin, y, z * cos - x * sin], axis=1)


def _alone(edges: _Edges, instants: NDArray, fits) -> NDArray:
    """The median of τ's likelihood, summed over the powers, with the amplitude that fits each best.

    Among all estimates the median errs least on average; the best fit of a single power would be early or late
    whenever the foot starts in another way.
    """
    evidence = np.array([_explained(*fits[power]) / (2.0 * edges.scale[:, None] ** 2) for power in _POWERS])
    likelihood = np.exp(evidence - evidence.max(axis=(0, 2))[:, None]).sum(axis=0)
    share = np.cumsum(likelihood, axis=1) / likelihood.sum(axis=1, keepdims=True)
    return instants[np.minimum((share < 0.5).sum(axis=1), len(instants) - 1)]


def _explained(match: NDArray, norm: NDArray) -> NDArray:
    """How much of the squared distance the best amplitude explains, (B, τ) m²."""
    return np.einsum("btk,btk->bt", match, match) / np.maximum(norm, 1e-300)


@dataclass(frozen=True, eq=False)
class _Group:
    """Departures that share an amplitude and a power."""

    members: NDArray
    """(n,) rows of the edges."""
    changes: NDArray
    """(powers, n) instants τ, frames from the edge, for each of the shared powers."""
    gain: NDArray
    """(powers,) log-likelihood of each power."""
    loss: NDArray
    """(n,) twice the log-likelihood that each loses against an amplitude of its own."""


def _groups(edges: _Edges, instants: NDArray, fits, members: NDArray, alone: NDArray) -> list[_Group]:
    """The members in groups that leave alike; who fits in none is in none.

    Those that a common amplitude and power explain too badly are left for the next group: the feet of a limp, the
    steps into a walk.
    """
    found = []
    for _ in range(_GROUPS):
        rest = members
        for _ in range(_GROUPS):
            if len(rest) < _FEWEST:
                return found
            group = _share(edges, instants, fits, rest, alone[rest])
            strangers = group.loss >= _UNLIKE
            if not strangers.any():
                found.append(group)
                break
            # a poor compromise may please nobody: only the worse half of the strangers leaves at a time
            rest = rest[group.loss < max(_UNLIKE, float(np.median(group.loss[strangers])))]
        members = np.setdiff1d(members, rest)
    return found


def _share(edges: _Edges, instants: NDArray, fits, members: NDArray, alone: NDArray) -> _Group:
    """One amplitude for all members and each of the powers, by least squares."""
    variance = edges.scale[members] ** 2
    rows = np.arange(len(members))
    gains, changes, owns = [], [], []
    for power in _SHARED_POWERS:
        match, norm = fits[power][0][members] / variance[:, None, None], fits[power][1][members] / variance[:, None]
        at = np.clip(np.searchsorted(instants, alone), 0, len(instants) - 1)
        amplitude = match[rows, at].sum(axis=0) / max(norm[rows, at].sum(), 1e-300)
        # the amplitude and all τ can slide together along a ridge, where alternating would creep: try many sizes first
        sizes = amplitude * np.geomspace(0.2, 5.0, 21)[:, None]
        few = slice(None, None, 1 + len(members) // 40)
        best = np.argmax([_shared_gain(match[few], norm[few], size).max(axis=1).sum() for size in sizes])
        amplitude = sizes[best]
        for _ in range(3):
            at = _shared_gain(match, norm, amplitude).argmax(axis=1)
            amplitude = match[rows, at].sum(axis=0) / max(norm[rows, at].sum(), 1e-300)
        gain = _shared_gain(match, norm, amplitude)
        at = gain.argmax(axis=1)
        gains.append(gain[rows, at])
        changes.append(instants[at])
        owns.append(0.5 * _explained(match, norm).max(axis=1))
    total = np.sum(gains, axis=1)
    best = int(total.argmax())
    return _Group(members, np.array(changes), total, 2.0 * (owns[best] - gains[best]))


def _shared_gain(match: NDArray, norm: NDArray, amplitude: NDArray) -> NDArray:
    """Log-likelihood (B, τ) gained over no departure at all, for an amplitude (3,) common to all members."""
    return match @ amplitude - 0.5 * norm * (amplitude @ amplitude)


def rests_of(
    positions: NDArray, core: tuple[int, int, int], fps: float, noise: float, wander: float
) -> tuple[Intervals, float]:
    """The rests inside a core, without slow movements between them or at its ends: a heel that rises gently.

    A movement is where a short window strays more than `wander` metres, more than noise would and much more than the
    core's calmest window. In noise the window is longer, or slow movements would drown. Also returned is how far the
    calmest window strays, metres per axis.
    """
    point, start, end = core
    track = positions[start:end, point] - positions[start, point]
    length = int(np.clip(len(track) // 3, 3, max(round((0.15 if noise < wander else 0.35) * fps), 3)))
    if len(track) <= length:
        return [core], float(np.sqrt(track.var(axis=0).mean()))
    sums = np.cumsum(np.insert(np.column_stack([track, (track**2).sum(axis=1)]), 0, 0.0, axis=0), axis=0)
    mean = (sums[length:] - sums[:-length]) / length
    spread = np.sqrt(np.maximum(mean[:, 3] - (mean[:, :3] ** 2).sum(axis=1), 0.0) / 3.0)
    calmest = float(spread.min())
    calm = np.flatnonzero(spread <= max(calmest * (3.0 if noise < wander else 1.0), 1.35 * noise, wander))
    # windows that straddle a movement make a gap at least as long as they are; a shorter gap is chance
    runs = np.split(calm, np.flatnonzero(np.diff(calm) >= length) + 1)
    return [(point, start + int(run[0]), start + int(run[-1]) + length) for run in runs], calmest


def creep_of(positions: NDArray, cores: Intervals, fps: float, noise: float) -> NDArray:
    """(B,) m/s: the usual speed over half of each core, beyond what noise alone would show; 0 for a true rest."""
    creep = np.zeros(len(cores))
    for row, (point, start, end) in enumerate(cores):
        margin = (end - start) // 5
        track = positions[start + margin : end - margin, point]
        lag = max(len(track) // 2, 1)
        steps = track[lag:] - track[:-lag]
        if len(steps):
            squared = np.einsum("fk,fk->f", steps, steps)
            creep[row] = np.sqrt(max(float(np.median(squared)) - 12.0 * noise**2, 0.0)) * fps / lag
    return creep


def _masked_center(values: NDArray, mask: NDArray) -> NDArray:
    """Mean over axis 1 of values (B, W, K) where mask (B, W), without those far from the median."""
    away = np.abs(values - _masked_median(values, mask)[:, None]) * mask[..., None]
    usual = _masked_median(away, mask)[:, None]
    kept = (mask[..., None] & (away <= 3.0 * usual + 1e-12)).astype(float)
    return (values * kept).sum(axis=1) / kept.sum(axis=1)


def _masked_median(values: NDArray, mask: NDArray) -> NDArray:
    """Median over axis 1 of values (B, W, K) where mask (B, W); every row has at least one."""
    ordered = np.sort(np.where(mask[..., None], values, np.inf), axis=1)
    count = mask.sum(axis=1)
    rows = np.arange(len(values))
    return 0.5 * (ordered[rows, (count - 1) // 2] + ordered[rows, count // 2])
