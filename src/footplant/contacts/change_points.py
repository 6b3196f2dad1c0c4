"""Locate contact onset and release in noise: change points of departures that are alike.

Before the instant τ a point is at its position c, after it at c + f(t − τ). The beginning of a departure drowns in the
noise, but a foot leaves and lands alike at every step of a gait. So similar steps are aligned, which gives f and the
differences of their instants, and the instant at which f begins is then estimated for all of them together. The prior
of f holds for all movements from rest: no initial speed, and an acceleration that is a smooth random function of time
(a Gaussian process; Rasmussen and Williams, Gaussian Processes for Machine Learning, section 2.2). Every smoothness and
scale is weighted with its evidence. The estimate is the median of τ, which gets the most frames right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

# a first look at a departure goes to this many times the noise; there s(t) = t^p, with constant acceleration or more
# abruptly, or s(t) = t³ / (t² + D²), D in seconds: with constant jerk at first and at constant speed in the end
_NEAR = 10.0
_POWERS = (1.5, 2.0)
_BENDS = (0.06, 0.12, 0.25)
# a departure is clear when it explains this many times the noise's variance
_CLEAR = 30.0
# seconds before and after the edge in which the instant is sought at first, and around that in the end
_SOUGHT = (0.4, 0.2)
_FINALLY = (0.06, 0.04)
# seconds; steps are laid over each other in bins of this length, and looked at for so long after they leave
_BIN, _LONGEST = 0.004, 0.45
# seconds over which accelerations change and the share of them that is missing at the beginning; the last has constant
# jerk. Sizes of accelerations in units of the noise, per s²
_KINDS = ((0.08, 0.5), (0.04, 0.5), (0.16, 0.5), (0.32, 0.5), (1.0, 1.0))
_SIZES = 32.0 * 4.0 ** np.arange(9)
# functions that a departure is made of: the others are smaller than any noise
_RANK = 12
# steps that go alike still differ by this share of the way gone
_LOOSE = 0.05
# how well the difference to the others may be explained by another departure, with three functions for each of three
# axes, until a step counts as unlike: by chance more than this in one of 100
_UNLIKE, _TELLING = 21.7, 3
# how much more likely, as a logarithm, a departure that the clip cuts short must be than none
_SURE = 1.0
# headings, per half turn, that are tried for a departure of which too little is seen to tell its own
_HEADINGS = 8
# how many departures it takes to learn from each other, and how many ways of leaving are tried
_FEWEST, _GROUPS = 2, 4
# seconds; how finely one step's instant is shifted against the others' in each round, ten times to either side
_FINE = (0.004, 0.002)


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
class _Departure:
    """What departures laid over each other tell."""

    begins: float
    """Seconds from the supposed instant to the most likely one."""
    median: float
    """Seconds from the supposed instant to the median of all likely ones."""
    path: NDArray
    """(bins + 1, 3) the departure in units of the noise: at its beginning, and in the middle of each bin after it."""

    def at(self, after: NDArray) -> NDArray:
        """(…, 3) the path at `after` (…) seconds since it begins; nothing before that."""
        grid = np.insert((np.arange(len(self.path) - 1) + 0.5) * _BIN, 0, 0.0)
        return np.stack([np.interp(after, grid, axis) for axis in self.path.T], axis=-1)


def change_points(edges: Edges, kind: NDArray, fps: float) -> NDArray:
    """(B,) instants τ, in frames from the edge: alone, or together with departures that go alike.

    `kind` (B,) is equal for points that leave and land alike, such as both heels.
    """
    gone = np.linalg.norm(edges.away, axis=2) > _NEAR * edges.scale[:, None]
    near = edges.used & (np.cumsum(gone, axis=1) - gone == 0)
    instants, gain = _first_look(replace(edges, away=edges.away * near[..., None], used=near), fps)
    leaves = edges.open | (gain > _CLEAR)
    raw, paths, seconds = (
        edges.away / edges.scale[:, None, None], _turned(edges) / edges.scale[:, None, None], edges.k / fps
    )  # fmt: skip
    alone = leaves.copy()
    for one in np.unique(kind):
        likely = np.full(len(kind), _SURE)
        for group, found, common in _groups(
            paths, edges.used, seconds, instants, np.flatnonzero((kind == one) & leaves & edges.solid)
        ):
            instants[group], alone[group] = found, False
            # where the clip ends soon after a departure, the others tell what little is seen of it
            for row in np.flatnonzero((kind == one) & ~edges.open & (gain <= _CLEAR)):
                instant, evidence = _cut_short(raw[row], edges.used[row], seconds, common)
                if evidence > likely[row]:
                    instants[row], likely[row], leaves[row] = instant, evidence, True
    for row in np.flatnonzero(alone):
        instants[row] = _together(paths[[row]], edges.used[[row]], seconds, instants[[row]])[0][0]
    first, last = _span(edges)
    change = np.clip(instants * fps, np.minimum(first + 1, last - 1), last)
    # where the clip ends with the rest, only a clear departure inside it counts
    return np.where(edges.open | (leaves & (change < 0)), change, 0.0)


def _span(edges: Edges) -> tuple[NDArray, NDArray]:
    """(B,) the first and the last used frame."""
    last = len(edges.k) - 1 - edges.used[:, ::-1].argmax(axis=1)
    return edges.k[edges.used.argmax(axis=1)], edges.k[last]


def _first_look(edges: Edges, fps: float) -> tuple[NDArray, NDArray]:
    """(B,) instants in seconds, by a few shapes, and twice the log-likelihood gained over no departure at all."""
    # the likelihood is many milliseconds wide: steps of four lose nothing
    instants = np.arange(max(edges.k[0], -_SOUGHT[0] * fps), min(edges.k[-1], _SOUGHT[1] * fps), fps * 0.004)
    after = np.maximum(edges.k[:, None] - instants, 0.0) / fps
    used, count = edges.used.astype(float), edges.used.sum(axis=1)
    # the place is free: least squares then sees only what differs from the mean
    away = (edges.away - edges.away.sum(axis=1, keepdims=True) / count[:, None, None]) * used[..., None]
    away = np.ascontiguousarray(away.transpose(0, 2, 1)) / edges.scale[:, None, None]
    first, last = _span(edges)
    allowed = (instants >= np.minimum(first + 1, last - 1)[:, None]) & (instants <= last[:, None])
    gains = []
    for shape in [after**power for power in _POWERS] + [after**3 / (after**2 + bend**2) for bend in _BENDS]:
        match = away @ shape
        norm = np.maximum(used @ shape**2 - (used @ shape) ** 2 / count[:, None], 1e-12 * shape.max() ** 2)
        gains.append(np.where(allowed, np.einsum("bkt,bkt->bt", match, match) / norm, -np.inf))
    best = np.max(gains, axis=(0, 2))
    likelihood = np.exp(0.5 * (np.array(gains) - best[:, None])).sum(axis=0)
    share = np.cumsum(likelihood, axis=1) / likelihood.sum(axis=1, keepdims=True)
    return instants[np.minimum((share < 0.5).sum(axis=1), len(instants) - 1)] / fps, best


def _turned(edges: Edges) -> NDArray:
    """(B, W, 3) the departures, turned over the ground so that each goes along +x.

    In a walk around a corner the steps are alike in all but their heading.
    """
    heading = (edges.away * (edges.used * (edges.k - edges.k[0]))[..., None] ** 2).sum(axis=1)
    length = np.hypot(heading[:, 0], heading[:, 2])
    cos = np.divide(heading[:, 0], length, out=np.ones(len(length)), where=length > 0)[:, None]
    sin = np.divide(heading[:, 2], length, out=np.zeros(len(length)), where=length > 0)[:, None]
    x, y, z = np.moveaxis(edges.away, 2, 0)
    return np.stack([x * cos + z * sin, y, z * cos - x * sin], axis=2)


def _groups(paths, used, seconds, instants, members) -> list[tuple[NDArray, NDArray, _Departure]]:
    """The members in groups that leave alike, with their instants and what they tell; who fits in none is in none.

    Those that differ too much are left for the next group: the feet of a limp, the steps into a walk.
    """
    found = []
    for _ in range(_GROUPS):
        rest = members
        for _ in range(_GROUPS):
            if len(rest) < _FEWEST:
                return found
            placed, unlike, common = _together(paths[rest], used[rest], seconds, instants[rest])
            strangers = unlike >= _UNLIKE
            if not strangers.any():
                found.append((rest, placed, common))
                break
            # a poor compromise may please nobody: only the worse half of the strangers leaves at a time
            rest = rest[unlike < max(_UNLIKE, float(np.median(unlike[strangers])))]
        members = np.setdiff1d(members, rest)
    return found


def _together(
    paths: NDArray, used: NDArray, seconds: NDArray, instants: NDArray
) -> tuple[NDArray, NDArray, _Departure]:
    """Instants (n,) of departures (n, W, 3) that go alike, how unlike (n,) the others each of them is, and their path.

    `paths` are in units of the noise and seen at `seconds` (W,) where `used` (n, W). Unless all are alike, the instants
    are a by-product only.
    """
    variance, place, unlike, departure = np.ones(used.shape), None, np.zeros(len(paths)), None
    for fine in (*_FINE, 0.0):
        after = seconds - instants[:, None]
        if place is None:
            resting = used * np.where((used & (after < 0)).any(axis=1, keepdims=True), after < 0, 1.0)
            place = np.einsum("nw,nwk->nk", resting, paths) / resting.sum(axis=1, keepdims=True)
        elif not fine and (unlike >= _UNLIKE).any():
            break
        seen = used & (after < _LONGEST)
        pooled = after[seen], (paths - place[:, None])[seen], variance[seen]
        if not fine:
            departure = _departure(*pooled, _KINDS)
            return instants + departure.median, unlike, departure
        departure = _departure(*pooled, _KINDS[:1])
        shifts = np.arange(-10, 11) * fine
        shift, place, variance, unlike = _laid_over(paths, used, after - departure.begins, departure, shifts)
        instants = instants + shift - np.median(shift)
    assert departure is not None
    return instants, unlike, departure


def _cut_short(path: NDArray, used: NDArray, seconds: NDArray, common: _Departure) -> tuple[float, float]:
    """The instant of a departure (W, 3) that the clip's end hides but for its beginning, seconds, and its evidence.

    That is the log-likelihood gained over no departure, if it goes as others do, in any heading and at any instant in
    the half of the rest that is nearer to the edge.
    """
    path, seconds = path[used], seconds[used]
    instants = np.append(-np.arange(0.0, 0.5 * min(2.0 * _SOUGHT[0], -seconds[0]) + 1e-9, _BIN), np.inf)  # inf: never
    at = common.at(seconds - instants[:, None] - (common.begins - common.median))
    weight = 1.0 / (1.0 + _LOOSE**2 * np.einsum("swk,swk->sw", at, at))
    level = np.exp(1j * np.arange(0.0, 2.0 * np.pi, np.pi / _HEADINGS))[:, None] * (path[:, 0] + 1j * path[:, 2])
    turned = np.stack([level.real, np.broadcast_to(path[:, 1], level.shape), level.imag], axis=-1)
    apart = turned[:, None] - at
    apart = apart - (np.einsum("sw,hswk->hsk", weight, apart) / weight.sum(axis=1)[:, None])[:, :, None]
    log = -0.5 * np.einsum("sw,hswk,hswk->hs", weight, apart, apart) + 1.5 * np.log(weight).sum(axis=1)
    likelihood = np.exp(log - log.max()).mean(axis=0)
    share = np.cumsum(likelihood[:-1]) / likelihood[:-1].sum()
    return float(instants[np.searchsorted(share, 0.5)]), float(np.log(likelihood[:-1].mean() / likelihood[-1]))


def _laid_over(paths, used, after, departure: _Departure, shifts) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Departures laid over a common one: shifts (n,), places (n, 3), variances (n, W), how unlike it (n,) each is."""
    rows = np.arange(len(paths))
    after = after[:, None] - shifts[:, None]
    common = departure.at(after)
    variance = 1.0 + _LOOSE**2 * np.einsum("nswk,nswk->nsw", common, common)
    seen = used & (after[:, 0] < _LONGEST)
    weight = seen[:, None] / variance
    apart = paths[:, None] - common
    total = weight.sum(axis=2)
    place = np.einsum("nsw,nswk->nsk", weight, apart) / total[..., None]
    squares = (weight * np.einsum("nswk,nswk->nsw", apart, apart)).sum(axis=2)
    squares -= total * np.einsum("nsk,nsk->ns", place, place)
    log = -0.5 * squares - 1.5 * np.einsum("nw,nsw->ns", seen, np.log(variance))
    best = log.argmax(axis=1)
    likelihood = np.exp(log - log.max(axis=1, keepdims=True))
    shift = likelihood @ shifts / likelihood.sum(axis=1)
    # a difference that another departure would explain
    weight, after, place = weight[rows, best], after[rows, best], place[rows, best]
    apart = apart[rows, best] - place[:, None]
    shapes = _shapes(*_KINDS[0])[:, :_TELLING]
    shapes = (shapes / shapes[-1])[np.clip((after / _BIN).astype(int), 0, len(shapes) - 1)] * (after > 0)[..., None]
    shapes = shapes - np.einsum("nw,nwr->nr", weight, shapes)[:, None] / weight.sum(axis=1)[:, None, None]
    norm = np.einsum("nw,nwr,nwq->nrq", weight, shapes, shapes)
    norm += (1e-9 * np.trace(norm, axis1=1, axis2=2) + 1e-12)[:, None, None] * np.eye(_TELLING)
    match = np.einsum("nw,nwr,nwk->nrk", weight, shapes, apart)
    unlike = np.einsum("nrk,nrk->n", match, np.linalg.solve(norm, match))
    return shift, place, variance[rows, best], unlike


@cache
def _shapes(smooth: float, missing: float) -> NDArray:
    """(bins, rank) what departures are made of, in the middle of the bins after they begin, each as likely as its size.

    Accelerations at two times are the more alike the closer these are (a Matérn kernel, 3/2), and smaller at the
    beginning. Integrated twice, the principal components of their covariance are these shapes.
    """
    seconds = (np.arange(round((_LONGEST + _FINALLY[0]) / _BIN)) + 0.5) * _BIN
    apart = np.abs(seconds[:, None] - seconds) / smooth
    start = (1.0 + seconds / smooth) * np.exp(-seconds / smooth)
    acceleration = (1.0 + apart) * np.exp(-apart) - missing * np.outer(start, start)
    integral = np.maximum(seconds[:, None] - seconds, 0.0) * _BIN + np.eye(len(seconds)) * _BIN**2 / 8.0
    variance, shapes = np.linalg.eigh(integral @ acceleration @ integral.T)
    return (shapes * np.sqrt(np.maximum(variance, 0.0)))[:, : -_RANK - 1 : -1]


def _departure(after: NDArray, away: NDArray, variance: NDArray, kinds: tuple[tuple[float, float], ...]) -> _Departure:
    """What observations tell: away (m, 3) in units of the noise, at `after` (m,) seconds since the supposed instant."""
    bins = len(_shapes(*kinds[0]))
    zero = round(max(float(-after.min()), _FINALLY[0]) / _BIN) + 1
    first = np.arange(zero - round(_FINALLY[0] / _BIN), zero + round(_FINALLY[1] / _BIN))
    at = np.floor(after / _BIN).astype(np.int64) + zero
    size = max(int(first[-1]) + bins, int(at.max()) + 1)
    weight = np.bincount(at, 1.0 / variance, size)
    moment = np.stack([np.bincount(at, axis / variance, size) for axis in away.T], axis=1)
    first = first[: max(np.searchsorted(first, at.max() - 1), 1)]
    window = first[:, None] + np.arange(bins)
    evidence, fits = [], []
    for kind in kinds:
        shapes = _shapes(*kind)
        products = (shapes[:, :, None] * shapes[:, None]).reshape(bins, -1)
        # the place is free, as it is for the first look
        sums = weight[window] @ shapes
        norm = (weight[window] @ products).reshape(len(first), _RANK, _RANK)
        norm -= sums[:, :, None] * sums[:, None] / weight.sum()
        match = shapes.T @ moment[window] - sums[:, :, None] * moment.sum(axis=0) / weight.sum()
        norm, axes = np.linalg.eigh(norm)
        norm, match = np.maximum(norm, 0.0), axes.transpose(0, 2, 1) @ match
        prior = _SIZES[:, None, None] ** 2
        squares = np.einsum("crk,crk->cr", match, match)
        evidence.append((0.5 * squares * prior / (1.0 + prior * norm) - 1.5 * np.log1p(prior * norm)).sum(axis=2))
        fits.append((shapes, norm, axes, match))
    evidence = np.array(evidence)
    which, size, start = np.unravel_index(evidence.argmax(), evidence.shape)
    likelihood = np.exp(evidence - evidence.max()).sum(axis=(0, 1))
    share = (np.cumsum(likelihood) - 0.5 * likelihood) / likelihood.sum()
    shapes, norm, axes, match = fits[which]
    amounts = axes[start] @ (match[start] / (1.0 / _SIZES[size] ** 2 + norm[start])[:, None])
    instants = (first - zero) * _BIN
    path = np.insert(shapes @ amounts, 0, 0.0, axis=0)
    return _Departure(float(instants[start]), float(np.interp(0.5, share, instants)), path)
