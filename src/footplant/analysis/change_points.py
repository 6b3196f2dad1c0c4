"""When still points come to rest and leave, told through noise: change points of departures that go alike.

Before the instant τ a point is at its place c, after it at c + a·s(t − τ), where s is one of a few shapes in which
things start from rest. One departure alone hardly tells how it begins, because its first millimetres drown in the
noise, but a foot leaves and lands alike at every step of a gait: a and s are told by all steps of a clip together, and
τ by each. No single best fit is believed: the answer is the median of τ over all shapes and sizes, each weighted with
its likelihood, because the median gets the most frames right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# s(t) = t^p: with constant acceleration, or more abruptly
_POWERS = (1.5, 2.0)
# s(t) = t³ / (t² + D²), D in seconds: with constant jerk at first and at constant speed in the end
_BENDS = (0.06, 0.12, 0.25)
# twice the log-likelihood that a departure may lose by going like the others: by chance more than this in one of 100
_UNLIKE = 11.3
# a departure is clear when it explains this many times the noise's variance
_CLEAR = 60.0
# how many departures it takes to learn from each other, and how many ways of leaving are tried
_FEWEST, _GROUPS = 2, 4
# sizes of a common amplitude that are weighed, relative to a first fit
_SIZES = np.geomspace(0.25, 4.0, 17)
# how many departures are asked about the common size: more would only take longer
_ASKED = 24
# seconds before and after the edge in which the instant is sought
_SOUGHT = (0.4, 0.2)


@dataclass(frozen=True, eq=False)
class Edges:
    """One end (starts or ends) of B rests, seen outwards in time over W frames around it."""

    k: NDArray
    """(W,) frames from the rest's last known frame, positive outside."""
    away: NDArray
    """(B, W, 3) metres from about the place of rest; 0 where not used."""
    used: NDArray
    """(B, W) bool; frames that tell about the departure: from within the rest to where the point is surely gone."""
    open: NDArray
    """(B,) bool; False where the clip ends with the rest, so that there is no departure after it."""
    solid: NDArray
    """(B,) bool; rests that last long enough to be no turning points: only these speak for the others."""
    scale: NDArray
    """(B,) metres per axis; how far the point strays while at rest."""


@dataclass(frozen=True, eq=False)
class _Fit:
    """All that least squares needs to know about one shape, with the place of rest fitted too."""

    match: NDArray
    """(B, τ, 3) Σ y·s over the noise's variance."""
    norm: NDArray
    """(B, τ) Σ s² over the noise's variance."""
    barred: NDArray
    """(B, τ) 0, or −∞ for instants without a frame at rest before them or a used frame after them."""
    own: NDArray
    """(B, τ) log-likelihood gained over no departure at all, with the best amplitude for each."""


@dataclass(frozen=True, eq=False)
class _Group:
    """Departures that share an amplitude and a shape."""

    members: NDArray
    """(n,) rows of the edges."""
    change: NDArray
    """(n,) instants τ, frames from the edge."""
    loss: NDArray
    """(n,) twice the log-likelihood that each loses against an amplitude of its own."""


def change_points(edges: Edges, kind: NDArray, fps: float) -> NDArray:
    """(B,) instants τ, in frames from the edge: alone, or together with departures that go alike.

    `kind` (B,) is equal for points that leave and land alike, such as both heels.
    """
    # the likelihood is many milliseconds wide: steps of four lose nothing
    instants = np.arange(max(edges.k[0], -_SOUGHT[0] * fps), min(edges.k[-1], _SOUGHT[1] * fps), fps * 0.004)
    fits = _fits(edges, instants, fps)
    change = _alone(fits, instants)
    clear = 2.0 * np.max([fit.own.max(axis=1) for fit in fits], axis=0) > _CLEAR
    for one in np.unique(kind):
        members = np.flatnonzero((kind == one) & edges.solid & (edges.open | clear))
        for group in _groups(fits, instants, members):
            change[group.members] = group.change
    # where the clip ends with the rest, only a clear departure inside it counts
    return np.where(edges.open | (clear & (change < 0)), change, 0.0)


def _fits(edges: Edges, instants: NDArray, fps: float) -> list[_Fit]:
    """One fit per shape."""
    after = np.maximum(edges.k[:, None] - instants, 0.0) / fps
    used, variance = edges.used.astype(float), edges.scale[:, None] ** 2
    count = used.sum(axis=1)
    turned = _turned(edges)
    # the place is free: least squares then sees only what differs from the mean
    turned = (turned - turned.sum(axis=2, keepdims=True) / count[:, None, None]) * used[:, None]
    first = edges.k[edges.used.argmax(axis=1)]
    last = edges.k[len(edges.k) - 1 - edges.used[:, ::-1].argmax(axis=1)]
    allowed = (instants >= np.minimum(first + 1, last - 1)[:, None]) & (instants <= last[:, None])
    barred = np.where(allowed, 0.0, -np.inf)
    fits = []
    for shape in [after**power for power in _POWERS] + [after**3 / (after**2 + bend**2) for bend in _BENDS]:
        match = (turned.reshape(-1, turned.shape[2]) @ shape).reshape(len(turned), 3, -1)
        match = np.ascontiguousarray(match.transpose(0, 2, 1)) / variance[..., None]
        norm = used @ shape**2 - (used @ shape) ** 2 / count[:, None]
        norm = np.maximum(norm, 1e-12 * shape.max() ** 2) / variance
        own = barred + 0.5 * np.einsum("btk,btk->bt", match, match) / norm
        fits.append(_Fit(match, norm, barred, own))
    return fits


def _turned(edges: Edges) -> NDArray:
    """(B, 3, W) the departures, turned over the ground so that each goes along +x.

    In a walk around a corner the steps are alike in all but their heading.
    """
    heading = (edges.away * (edges.used * (edges.k - edges.k[0]))[..., None] ** 2).sum(axis=1)
    length = np.hypot(heading[:, 0], heading[:, 2])
    cos = np.divide(heading[:, 0], length, out=np.ones(len(length)), where=length > 0)[:, None]
    sin = np.divide(heading[:, 2], length, out=np.zeros(len(length)), where=length > 0)[:, None]
    x, y, z = np.moveaxis(edges.away, 2, 0)
    return np.stack([x * cos + z * sin, y, z * cos - x * sin], axis=1)


def _alone(fits: list[_Fit], instants: NDArray) -> NDArray:
    """(B,) the median of τ's likelihood, summed over the shapes, with the amplitude that fits each best."""
    evidence = np.array([fit.own for fit in fits])
    return _median(np.exp(evidence - evidence.max(axis=(0, 2))[:, None]).sum(axis=0), instants)


def _median(likelihood: NDArray, instants: NDArray) -> NDArray:
    """(B,) the instants with half of the likelihood (B, τ) on either side."""
    share = np.cumsum(likelihood, axis=1) / likelihood.sum(axis=1, keepdims=True)
    return instants[np.minimum((share < 0.5).sum(axis=1), len(instants) - 1)]


def _groups(fits: list[_Fit], instants: NDArray, members: NDArray) -> list[_Group]:
    """The members in groups that leave alike; who fits in none is in none.

    Those that a common amplitude and shape explain too badly are left for the next group: the feet of a limp, the
    steps into a walk.
    """
    found = []
    for _ in range(_GROUPS):
        rest = members
        for _ in range(_GROUPS):
            if len(rest) < _FEWEST:
                return found
            group = _share(fits, instants, rest)
            strangers = group.loss >= _UNLIKE
            if not strangers.any():
                found.append(group)
                break
            # a poor compromise may please nobody: only the worse half of the strangers leaves at a time
            rest = rest[group.loss < max(_UNLIKE, float(np.median(group.loss[strangers])))]
        members = np.setdiff1d(members, rest)
    return found


def _share(fits: list[_Fit], instants: NDArray, members: NDArray) -> _Group:
    """One amplitude and shape for all members: every one that is likely, weighted with how likely it is."""
    fits = [_Fit(fit.match[members], fit.norm[members], fit.barred[members], fit.own[members]) for fit in fits]
    weighed = [_weigh_sizes(fit) for fit in fits]
    weights = np.array([weight for _, weight in weighed])
    belief = np.exp(weights - weights.max())
    likelihood = np.zeros((len(members), len(instants)))
    for shape, size in np.argwhere(belief > 1e-3):
        gain = _gain(fits[shape], weighed[shape][0][size])
        likelihood += belief[shape, size] * np.exp(gain - _log_sum(gain)[:, None])
    shape, size = np.unravel_index(weights.argmax(), weights.shape)
    best = _gain(fits[shape], weighed[shape][0][size]).max(axis=1)
    return _Group(members, _median(likelihood, instants), 2.0 * (fits[shape].own.max(axis=1) - best))


def _weigh_sizes(fit: _Fit) -> tuple[NDArray, NDArray]:
    """Amplitudes (sizes, 3) of one direction and their log-likelihoods (sizes,), whatever the instants are.

    The amplitude and all τ can slide together along a ridge, where alternating between them would creep; hence many
    sizes are tried, and the direction is fitted anew at the best of them.
    """
    rows = np.arange(len(fit.norm))
    every = -(-len(rows) // _ASKED)
    match, norm, barred = fit.match[::every], fit.norm[::every], fit.barred[::every]
    at = fit.own.argmax(axis=1)
    for turn in range(3):
        amplitude = fit.match[rows, at].sum(axis=0) / fit.norm[rows, at].sum()
        along, half = match @ amplitude, 0.5 * norm * (amplitude @ amplitude)
        if turn < 2:
            best = max(_SIZES, key=lambda size: (barred + size * along - size**2 * half).max(axis=1).sum())
            at = _gain(fit, best * amplitude).argmax(axis=1)
    weights = np.array([_log_sum(barred + size * along - size**2 * half).sum() for size in _SIZES])
    return _SIZES[:, None] * amplitude, weights * (len(rows) / len(norm))


def _gain(fit: _Fit, amplitude: NDArray) -> NDArray:
    """Log-likelihood (B, τ) gained over no departure at all, for an amplitude (3,) common to all."""
    return fit.barred + fit.match @ amplitude - 0.5 * fit.norm * (amplitude @ amplitude)


def _log_sum(values: NDArray) -> NDArray:
    """(B,) the logarithm of the sum of the exponentials of values (B, τ)."""
    top = values.max(axis=1)
    return top + np.log(np.exp(values - top[:, None]).sum(axis=1))
