"""Compiled per-frame work of a crowd besides the solver: centres of mass, support polygons, unit quaternions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import jit, strict_jit, uncounted_jit
from footplant.kernels.fk import pose_joint
from footplant.kernels.hull import convex_hull
from footplant.kernels.hybrid import normalize_rows
from footplant.kernels.quaternion import rotate


@jit
def centers_of_mass(rows, masses, centers, positions, rotations, out):
    """Write centres of mass (n, 3) of some characters (n,): mass fractions (C, J) and centers (C, J, 3) of segments."""
    for n in range(rows.shape[0]):
        f = rows[n]
        x = y = z = 0.0
        for j in range(positions.shape[1]):
            mass = masses[f, j]
            if mass > 0.0:
                vx, vy, vz = rotate(
                    rotations[f, j, 0], rotations[f, j, 1], rotations[f, j, 2], rotations[f, j, 3],
                    centers[f, j, 0], centers[f, j, 1], centers[f, j, 2],
                )  # fmt: skip
                x += mass * (positions[f, j, 0] + vx)
                y += mass * (positions[f, j, 1] + vy)
                z += mass * (positions[f, j, 2] + vz)
        out[n, 0], out[n, 1], out[n, 2] = x, y, z


class Goals(NamedTuple):
    """The goals of a group as the kernels take them; see `crowd_goals.GoalTable`."""

    rows: np.ndarray
    joints: np.ndarray
    points: np.ndarray
    targets: np.ndarray
    shifts: np.ndarray
    follows: np.ndarray
    early: np.ndarray
    follow_joints: np.ndarray
    follow_points: np.ndarray
    kinds: np.ndarray
    values: np.ndarray


@strict_jit
def start_targets(goals, active, places, positions, rotations, target, behind, own, owners):
    """Write the targets (n, 4) of active goals (n,) without what they follow, and where their points are: own (n, 3).

    places: (actors + 1, 2) group and row of each actor, last −1 for none; owners: (n, 2) those of whom each follows.
    behind: (n, 3) as the targets.
    """
    for n in range(active.shape[0]):
        g = active[n]
        c, j, other = goals.rows[g], goals.joints[g], goals.follows[g]
        if other < 0:
            other = places.shape[0] - 1
        owners[n, 0], owners[n, 1] = places[other, 0], places[other, 1]
        for k in range(3):
            target[n, k] = goals.targets[g, k] + goals.shifts[g, k]
            behind[n, k] = target[n, k]
        target[n, 3] = 0.0
        x, y, z = rotate(
            rotations[c, j, 0], rotations[c, j, 1], rotations[c, j, 2], rotations[c, j, 3],
            goals.points[g, 0], goals.points[g, 1], goals.points[g, 2],
        )  # fmt: skip
        own[n, 0], own[n, 1], own[n, 2] = positions[c, j, 0] + x, positions[c, j, 1] + y, positions[c, j, 2] + z


@strict_jit
def follow(goals, active, owners, group, posed, free, target, behind):
    """Add the points that active goals (n,) follow to their targets (n, 4), where these are of a group.

    owners: (n, 2) group and row of whom each follows. posed, free: positions (C, J, 3) and rotations (C, J, 4) of the
    group now and without goals; those count for early goals. behind: (n, 3) the roots of whom they follow.
    """
    for n in range(active.shape[0]):
        if owners[n, 0] != group:
            continue
        g, c = active[n], owners[n, 1]
        positions, rotations = free if goals.early[g] else posed
        j = goals.follow_joints[g]
        x, y, z = rotate(
            rotations[c, j, 0], rotations[c, j, 1], rotations[c, j, 2], rotations[c, j, 3],
            goals.follow_points[g, 0], goals.follow_points[g, 1], goals.follow_points[g, 2],
        )  # fmt: skip
        target[n, 0] += positions[c, j, 0] + x
        target[n, 1] += positions[c, j, 1] + y
        target[n, 2] += positions[c, j, 2] + z
        for k in range(3):
            behind[n, k] = free[0][c, 0, k]


@strict_jit
def away(goals, active, kind, own, behind, target):
    """Write the half-spaces of active goals (n,) of a kind that keep a point away from a body.

    Away from the body behind the fist: the fist itself may be inside the head.
    """
    for n in range(active.shape[0]):
        if goals.kinds[active[n]] != kind:
            continue
        x, z = own[n, 0] - behind[n, 0], own[n, 2] - behind[n, 2]
        size = max(math.sqrt(x * x + z * z), 1e-9)
        x, z = x / size, z / size
        target[n, 3] = x * target[n, 0] + 0.0 * target[n, 1] + z * target[n, 2] + goals.values[active[n]]
        target[n, 0], target[n, 1], target[n, 2] = x, 0.0, z


class SoleTables(NamedTuple):
    """Contact points of the soles of C characters, up to P each."""

    joints: np.ndarray
    """(C, P)"""
    offsets: np.ndarray
    """(C, P, 3) metres."""
    counts: np.ndarray
    """(C,) number of points."""


class HullScratch(NamedTuple):
    """Work arrays of a convex hull of P points."""

    flat: np.ndarray
    """(P, 2)"""
    order: np.ndarray
    """(P,) int64"""
    corners: np.ndarray
    """(2P,) int64"""


@jit
def supports(soles, margin, inside, positions, rotations, scratch, polygons, sides):
    """Write support polygons shrunk by a margin: polygons (C, P+1, 2) over x and z, and their numbers of corners (C,).

    A polygon is scaled about its centroid until every edge has moved in by at least the margin, metres, and then
    widened to include a point: inside (C, 3); NaN: none.
    """
    joints, offsets, counts = soles
    flat, order, corners = scratch
    for f in range(positions.shape[0]):
        sides[f] = 0
        if counts[f] == 0:
            continue
        for n in range(counts[f]):
            j = joints[f, n]
            x, _, z = rotate(
                rotations[f, j, 0], rotations[f, j, 1], rotations[f, j, 2], rotations[f, j, 3],
                offsets[f, n, 0], offsets[f, n, 1], offsets[f, n, 2],
            )  # fmt: skip
            flat[n, 0], flat[n, 1] = positions[f, j, 0] + x, positions[f, j, 2] + z
        found = convex_hull(flat, counts[f], order, corners)
        x = z = 0.0
        for n in range(found):
            x += flat[corners[n], 0]
            z += flat[corners[n], 1]
        x, z = x / found, z / found
        share = 0.0 if margin > 0.0 else 1.0
        if found > 2:
            inner = np.inf
            for n in range(found):
                a, b = corners[n], corners[n + 1 if n + 1 < found else 0]
                ex, ez = flat[b, 0] - flat[a, 0], flat[b, 1] - flat[a, 1]
                away = ex * (z - flat[a, 1]) - ez * (x - flat[a, 0])
                inner = min(inner, away / max(math.sqrt(ex * ex + ez * ez), 1e-12))
            share = max(0.0, 1.0 - margin / max(inner, 1e-9))
        for n in range(found):
            polygons[f, n, 0] = x + share * (flat[corners[n], 0] - x)
            polygons[f, n, 1] = z + share * (flat[corners[n], 1] - z)
        if not np.isnan(inside[f, 0]):
            for n in range(found):
                flat[n, 0], flat[n, 1] = polygons[f, n, 0], polygons[f, n, 1]
            flat[found, 0], flat[found, 1] = inside[f, 0], inside[f, 2]
            found = convex_hull(flat, found + 1, order, corners)
            for n in range(found):
                polygons[f, n, 0], polygons[f, n, 1] = flat[corners[n], 0], flat[corners[n], 1]
        sides[f] = found


@uncounted_jit
def pose_some(which, parents, offsets, root, local, positions, rotations):
    """Write world positions (C, J, 3) and rotations (C, J, 4) of some characters (n,), bones (C, J, 3) of each."""
    for n in range(which.shape[0]):
        f = which[n]
        for k in range(3):
            positions[f, 0, k] = root[f, k]
        for k in range(4):
            rotations[f, 0, k] = local[f, 0, k]
        for j in range(1, parents.shape[0]):
            pose_joint(j, parents[j], offsets[f], local[f], positions[f], rotations[f])


@uncounted_jit
def begin_again(which, root, local, leans, to_root, to_local, to_leans):
    """Copy roots (C, 3), local rotations (C, J, 4) and leans (C, T+1, 3) of some characters (n,)."""
    for n in range(which.shape[0]):
        c = which[n]
        for k in range(3):
            to_root[c, k] = root[c, k]
        for j in range(local.shape[1]):
            for k in range(4):
                to_local[c, j, k] = local[c, j, k]
        for j in range(leans.shape[1]):
            for k in range(3):
                to_leans[c, j, k] = leans[c, j, k]


@uncounted_jit
def fill_feet(characters, feet, place_rows, turn_rows, places, turns, asks):
    """Write places (C, N, 3) and rotations (C, N, 4) of some feet (n,) of characters (n,) as targets of their rows."""
    for n in range(characters.shape[0]):
        c, foot = characters[n], feet[n]
        for k in range(3):
            asks[place_rows[n], 3 + k] = places[c, foot, k]
        for k in range(4):
            asks[turn_rows[n], 3 + k] = turns[c, foot, k]


@uncounted_jit
def fill_goals(which, active, goal_rows, targets, shares, asks):
    """Write targets (n, 4) and activations of some (n,) of the active goals to their rows; shares: of all goals."""
    for n in range(which.shape[0]):
        row = goal_rows[which[n]]
        for k in range(4):
            asks[row, 3 + k] = targets[n, k]
        asks[row, 10] = shares[active[which[n]]]


class LaidRows(NamedTuple):
    """Rows of characters in the order of the solver, as in `footplant.solve.ik.groupccd.rows.Rows`."""

    starts: np.ndarray
    kinds: np.ndarray
    asks: np.ndarray
    sources: np.ndarray
    """(N,) the goal that each comes from; −1: none."""


class PlaneRows(NamedTuple):
    """Half-spaces of one frame, sorted by character."""

    characters: np.ndarray
    """(n,)"""
    joints: np.ndarray
    """(n,)"""
    points: np.ndarray
    """(n, 3) on the joints, metres."""
    planes: np.ndarray
    """(n, 4) normal and level."""


@uncounted_jit
def merge_rows(which, rows, further, kind, rank, out):
    """Write the rows of some characters (n,), in order, with half-spaces of this frame after others of their rank.

    Within a rank, rows that ramp in or out (share below 1) come last. Return how many there are.
    """
    at, count = 0, 0
    for n in range(which.shape[0]):
        c = which[n]
        out.starts[n] = count
        while at < further.characters.shape[0] and further.characters[at] < c:
            at += 1
        i, last = rows.starts[c], rows.starts[c + 1]
        while True:
            after = i < last and (rows.kinds[i, 3] < rank or (rows.kinds[i, 3] == rank and rows.asks[i, 10] >= 1.0))
            if not after and at < further.characters.shape[0] and further.characters[at] == c:
                for k in range(5):
                    out.kinds[count, k] = 0
                out.kinds[count, 0], out.kinds[count, 1], out.kinds[count, 3] = kind, further.joints[at], rank
                for k in range(3):
                    out.asks[count, k], out.asks[count, 7 + k] = further.points[at, k], 0.0
                for k in range(4):
                    out.asks[count, 3 + k] = further.planes[at, k]
                out.asks[count, 10], out.sources[count] = 1.0, -1
                at += 1
            elif i < last:
                for k in range(5):
                    out.kinds[count, k] = rows.kinds[i, k]
                for k in range(11):
                    out.asks[count, k] = rows.asks[i, k]
                out.sources[count] = rows.sources[i]
                i += 1
            else:
                break
            count += 1
    out.starts[which.shape[0]] = count
    return count


@jit
def unit_turns(local):
    """Normalise the rotations (C, J, 4) of all characters in place."""
    for f in range(local.shape[0]):
        normalize_rows(local[f])


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


def _whole_numbers(*shape):
    array = np.zeros(shape, np.int64)
    array.setflags(write=False)
    return array


def _goals():
    none, where = np.zeros(1, np.int64), np.zeros((1, 3))
    return Goals(none, none, where, where, where, none, np.zeros(1, bool), none, where, none, np.zeros(1))


def _no_rows():
    return LaidRows(np.zeros(2, np.int64), np.zeros((0, 5), np.int64), np.zeros((0, 11)), np.zeros(0, np.int64))


WARMUP = {
    "pose_some": lambda: (
        np.zeros(1, np.int64), _whole_numbers(1), _read_only(1, 1, 3), np.zeros((1, 3)), np.ones((1, 1, 4)),
        np.zeros((1, 1, 3)), np.zeros((1, 1, 4)),
    ),
    "begin_again": lambda: (
        np.zeros(1, np.int64), np.zeros((1, 3)), np.zeros((1, 1, 4)), np.zeros((1, 1, 3)), np.zeros((1, 3)),
        np.zeros((1, 1, 4)), np.zeros((1, 1, 3)),
    ),
    "fill_feet": lambda: (
        *np.zeros((4, 1), np.int64), np.zeros((1, 1, 3)), np.zeros((1, 1, 4)), np.zeros((1, 11)),
    ),
    "fill_goals": lambda: (
        *np.zeros((3, 1), np.int64), np.zeros((1, 4)), np.zeros(1), np.zeros((1, 11)),
    ),
    "merge_rows": lambda: (
        np.zeros(1, np.int64), _no_rows(),
        PlaneRows(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 4))), 2, 0, _no_rows(),
    ),
    "start_targets": lambda: (
        _goals(), np.zeros(1, np.int64), np.zeros((2, 2), np.int64), _read_only(1, 1, 3), _read_only(1, 1, 4),
        np.zeros((1, 4)), np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 2), np.int64),
    ),
    "follow": lambda: (
        _goals(), np.zeros(1, np.int64), np.zeros((1, 2), np.int64), 0, (_read_only(1, 1, 3), _read_only(1, 1, 4)),
        (_read_only(1, 1, 3), _read_only(1, 1, 4)), np.zeros((1, 4)), np.zeros((1, 3)),
    ),
    "away": lambda: (
        _goals(), np.zeros(1, np.int64), 1, np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 4)),
    ),
    "centers_of_mass": lambda: (
        np.zeros(1, np.int64), _read_only(1, 1), _read_only(1, 1, 3), _read_only(1, 1, 3), _read_only(1, 1, 4),
        np.zeros((1, 3)),
    ),
    "supports": lambda: (
        SoleTables(np.zeros((1, 1), np.int64), np.zeros((1, 1, 3)), np.ones(1, np.int64)), 0.01, np.zeros((1, 3)),
        _read_only(1, 1, 3), _read_only(1, 1, 4),
        HullScratch(np.zeros((2, 2)), np.zeros(2, np.int64), np.zeros(4, np.int64)), np.zeros((1, 2, 2)),
        np.zeros(1, np.int64),
    ),
    "unit_turns": lambda: (np.ones((1, 1, 4)),),
}  # fmt: skip
