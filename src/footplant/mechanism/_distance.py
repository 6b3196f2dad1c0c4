"""Kernels of `solids`: the distance of two convex solids by the algorithm of Gilbert, Johnson and Keerthi (1988).

A solid is the hull of some points of a link with a radius around it. Where the hulls themselves overlap, the depth is
the least one of a fixed set of directions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit


class Solids(NamedTuple):
    """All solids of a robot."""

    starts: NDArray
    """(S + 1,) first point of each."""
    points: NDArray
    """(N, 3) in the frames of their links, metres."""
    links: NDArray
    """(S,)"""
    radii: NDArray
    """(S,)"""
    centers: NDArray
    """(S, 3) of bounding spheres, in the frames of their links."""
    reaches: NDArray
    """(S,) radii of bounding spheres, `radii` included."""


MAX_STEPS = 24


@jit
def _support(solids, solid, turn, way, sign, out):
    """Return the point of a solid that is farthest along sign·way (world); out (3,): in its link's frame."""
    link = solids.links[solid]
    x = sign * (turn[link, 0, 0] * way[0] + turn[link, 1, 0] * way[1] + turn[link, 2, 0] * way[2])
    y = sign * (turn[link, 0, 1] * way[0] + turn[link, 1, 1] * way[1] + turn[link, 2, 1] * way[2])
    z = sign * (turn[link, 0, 2] * way[0] + turn[link, 1, 2] * way[1] + turn[link, 2, 2] * way[2])
    best, chosen = -1e300, solids.starts[solid]
    for p in range(solids.starts[solid], solids.starts[solid + 1]):
        value = x * solids.points[p, 0] + y * solids.points[p, 1] + z * solids.points[p, 2]
        if value > best:
            best, chosen = value, p
    for i in range(3):
        out[i] = solids.points[chosen, i]


@jit
def _world(at, turn, link, place, out):
    for i in range(3):
        out[i] = at[link, i] + turn[link, i, 0] * place[0] + turn[link, i, 1] * place[1] + turn[link, i, 2] * place[2]


@jit
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def _nearest(corners, count, shares, work):
    """Write the shares (4,) of the point of a simplex nearest to the origin; return whether the origin is inside.

    Every face is tried: shares solve the normal equations of its edges, and the nearest face with no negative share
    wins. corners (4, 3), of which `count` are given; work (4, 8).
    """
    best = 1e300
    inside = False
    for chosen in range(1, 1 << count):
        size = 0
        for k in range(count):
            if chosen >> k & 1:
                size += 1
        first = 0
        while not chosen >> first & 1:
            first += 1
        # unknown shares of the other corners: |c0 + Σ s_k (c_k − c0)|² least
        m = 0
        for k in range(first + 1, count):
            if chosen >> k & 1:
                for i in range(3):
                    work[m, i] = corners[k, i] - corners[first, i]
                m += 1
        valid = True
        for a in range(m):
            for b in range(m):
                work[a, 3 + b] = work[a, 0] * work[b, 0] + work[a, 1] * work[b, 1] + work[a, 2] * work[b, 2]
            work[a, 6] = -(
                work[a, 0] * corners[first, 0] + work[a, 1] * corners[first, 1] + work[a, 2] * corners[first, 2]
            )
        for a in range(m):
            pivot = work[a, 3 + a]
            if not pivot > 1e-14:
                valid = False
                break
            for b in range(a + 1, m):
                factor = work[b, 3 + a] / pivot
                for c in range(a, m):
                    work[b, 3 + c] -= factor * work[a, 3 + c]
                work[b, 6] -= factor * work[a, 6]
        if not valid:
            continue
        rest = 1.0
        for a in range(m - 1, -1, -1):
            value = work[a, 6]
            for c in range(a + 1, m):
                value -= work[a, 3 + c] * work[c, 7]
            work[a, 7] = value / work[a, 3 + a]
            rest -= work[a, 7]
            if work[a, 7] < 0.0:
                valid = False
        if not valid or rest < 0.0:
            continue
        x, y, z = corners[first, 0], corners[first, 1], corners[first, 2]
        for a in range(m):
            x, y, z = x + work[a, 7] * work[a, 0], y + work[a, 7] * work[a, 1], z + work[a, 7] * work[a, 2]
        square = x * x + y * y + z * z
        if size == 4 or square < best - 1e-18:
            best = square
            inside = size == 4
            for k in range(4):
                shares[k] = 0.0
            shares[first] = rest
            m = 0
            for k in range(first + 1, count):
                if chosen >> k & 1:
                    shares[k] = work[m, 7]
                    m += 1
    return inside


@jit
def distance(solids, first, second, at, turn, directions, normal, places):
    """Return the distance of the surfaces of two solids, negative where they overlap, metres.

    Writes the normal (3,) from the first to the second, and the nearest points (2, 3) of the hulls in their links'
    frames. directions (K, 3): those that are tried for the depth of hulls that overlap.
    """
    a, b = solids.links[first], solids.links[second]
    corners, ours, theirs = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3))
    shares, work, way = np.empty(4), np.empty((4, 8)), np.empty(3)
    p, q, x, y = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    _world(at, turn, a, solids.centers[first], x)
    _world(at, turn, b, solids.centers[second], y)
    for i in range(3):
        way[i] = y[i] - x[i]
    if _dot(way, way) < 1e-18:
        way[2] = 1.0
    count, inside = 0, False
    for _ in range(MAX_STEPS):
        # the point of (second − first) farthest against `way`
        _support(solids, first, turn, way, 1.0, p)
        _support(solids, second, turn, way, -1.0, q)
        _world(at, turn, a, p, x)
        _world(at, turn, b, q, y)
        along = 0.0
        for i in range(3):
            along += way[i] * (y[i] - x[i])
        square = _dot(way, way)
        if count > 0 and square - along <= 1e-8 * square + 1e-14:
            break
        for i in range(3):
            corners[count, i] = y[i] - x[i]
            ours[count, i], theirs[count, i] = p[i], q[i]
        count += 1
        inside = _nearest(corners, count, shares, work)
        if inside:
            break
        kept = 0
        for i in range(3):
            way[i] = 0.0
        for k in range(count):
            if shares[k] > 0.0:
                for i in range(3):
                    corners[kept, i] = corners[k, i]
                    ours[kept, i], theirs[kept, i] = ours[k, i], theirs[k, i]
                    way[i] += shares[k] * corners[k, i]
                shares[kept] = shares[k]
                kept += 1
        count = kept
        if _dot(way, way) < 1e-14:
            inside = True
            break
        if count == 4:
            inside = True
            break
    if not inside:
        length = math.sqrt(_dot(way, way))
        for i in range(3):
            normal[i] = way[i] / length
            places[0, i] = places[1, i] = 0.0
            for k in range(count):
                places[0, i] += shares[k] * ours[k, i]
                places[1, i] += shares[k] * theirs[k, i]
        return length - solids.radii[first] - solids.radii[second]
    best = -1e300
    for d in range(directions.shape[0]):
        _support(solids, first, turn, directions[d], 1.0, p)
        _support(solids, second, turn, directions[d], -1.0, q)
        _world(at, turn, a, p, x)
        _world(at, turn, b, q, y)
        gap = 0.0
        for i in range(3):
            gap += directions[d, i] * (y[i] - x[i])
        if gap > best:
            best = gap
            for i in range(3):
                normal[i], places[0, i], places[1, i] = directions[d, i], p[i], q[i]
    return best - solids.radii[first] - solids.radii[second]


@jit
def find_near(solids, pairs, at, turn, margin, directions, frames, found, links, places, normals, gaps):
    """Find all pairs (K, 2) of solids that are nearer than `margin` in all frames; return how many there are.

    at (F, L, 3), turn (F, L, 3, 3): the pose; frames, found (which pair), links (M, 2), places (M, 2, 3), normals
    (M, 3), gaps (M,): written, as far as there is room.
    """
    count, room = 0, frames.shape[0]
    normal, place, x, y = np.empty(3), np.empty((2, 3)), np.empty(3), np.empty(3)
    for f in range(at.shape[0]):
        for k in range(pairs.shape[0]):
            first, second = pairs[k, 0], pairs[k, 1]
            _world(at[f], turn[f], solids.links[first], solids.centers[first], x)
            _world(at[f], turn[f], solids.links[second], solids.centers[second], y)
            reach = solids.reaches[first] + solids.reaches[second] + margin
            if (x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2 + (x[2] - y[2]) ** 2 > reach * reach:
                continue
            gap = distance(solids, first, second, at[f], turn[f], directions, normal, place)
            if gap < margin and count < room:
                frames[count], found[count], gaps[count] = f, k, gap
                links[count, 0], links[count, 1] = solids.links[first], solids.links[second]
                for i in range(3):
                    normals[count, i] = normal[i]
                    places[count, 0, i], places[count, 1, i] = place[0, i], place[1, i]
                count += 1
    return count


def _small() -> Solids:
    return Solids(
        np.array([0, 1, 2], np.int64), np.zeros((2, 3)), np.array([0, 1], np.int64), np.full(2, 0.1), np.zeros((2, 3)),
        np.full(2, 0.1),
    )  # fmt: skip


WARMUP = {
    "find_near": lambda: (
        _small(), np.array([[0, 1]]), np.zeros((1, 2, 3)), np.tile(np.eye(3), (1, 2, 1, 1)), 0.1, np.eye(3),
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 2), np.int64), np.zeros((1, 2, 3)), np.zeros((1, 3)),
        np.zeros(1),
    ),
}  # fmt: skip
