"""Body–body avoidance of a crowd: capsules around the bones of each character, and where two characters overlap."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.plants import first_from
from footplant.kernels.quaternion import rotate

OUT = 12
"""Columns of a contact: character, capsule, fraction along it, the same of the other one, way out of the other for the
first (3), depth, how far the first's point is along that way, and the other's along the opposite one."""

MOST_ACTORS = 1 << 20
"""Actors of a crowd at most."""

ASKED = 8
"""Columns of a row that asks a limb to make way: character, capsule, fraction along it, normal (3), depth, level."""


class Capsules(NamedTuple):
    """Capsules of C characters, K each."""

    starts: NDArray
    """(K,) int64; the joint at which each begins."""
    ends: NDArray
    """(K,) int64; the joint at which it ends."""
    radii: NDArray
    """(C, K) metres; negative: none."""


class GoalsOnBodies(NamedTuple):
    """Which bodies the goals of a group are on."""

    rows: NDArray
    """(n,) the character of each, in the group."""
    follows: NDArray
    """(n,) the actor that it follows; −1: none."""
    carriers: NDArray
    """(n,) the capsule that carries its point."""
    followed: NDArray
    """(n,) the capsule of the other actor that it follows."""
    actors: NDArray
    """(C,) numbers of the group's characters."""


class GoalsOnSkin(NamedTuple):
    """What moves the targets of goals (n,) on other bodies out of these."""

    on_skin: NDArray
    """(n,) bool; whether they bring a point to the other's skin."""
    early: NDArray
    """(n,) bool; whether they follow the other's pose before its goals."""
    radii: NDArray
    """(n,) metres, the skin about each point."""
    shares: NDArray
    """(n,) activations."""


@uncounted_jit
def between(p, q):
    """Return the fractions along two segments (6 scalars each) of the points nearest to each other."""
    ax, ay, az, bx, by, bz = p
    cx, cy, cz, dx, dy, dz = q
    ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, dx - cx, dy - cy, dz - cz
    wx, wy, wz = ax - cx, ay - cy, az - cz
    a, b, c = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    d, e = ux * wx + uy * wy + uz * wz, vx * wx + vy * wy + vz * wz
    below = a * c - b * b
    s = 0.5 if below < 1e-12 else min(max((b * e - c * d) / below, 0.0), 1.0)
    t = min(max((b * s + e) / max(c, 1e-12), 0.0), 1.0)
    s = min(max((b * t - d) / max(a, 1e-12), 0.0), 1.0)
    return s, t


@uncounted_jit
def apart(a, b, c, d, near):
    """Return whether the boxes about two segments, a to b and c to d (3,), are farther than `near` from each other.

    Most pairs of two bodies are, and then their nearest points need not be computed.
    """
    gap = -math.inf
    for k in range(3):
        gap = max(gap, min(a[k], b[k]) - max(c[k], d[k]), min(c[k], d[k]) - max(a[k], b[k]))
    return gap >= near


@uncounted_jit
def outside(a, b, box, near):
    """Return whether the box about a segment, a to b (3,), is farther than `near` from another box (6,)."""
    gap = -math.inf
    for k in range(3):
        gap = max(gap, min(a[k], b[k]) - box[3 + k], box[k] - max(a[k], b[k]))
    return gap > near


@uncounted_jit
def boxes(capsules, positions, out):
    """Write the boxes (C, 6) about the posed capsules of each character: least and largest coordinates, metres."""
    for one in range(positions.shape[0]):
        for k in range(3):
            low, high = math.inf, -math.inf
            for i in range(capsules.starts.shape[0]):
                r = capsules.radii[one, i]
                if r >= 0.0:
                    a, b = positions[one, capsules.starts[i], k], positions[one, capsules.ends[i], k]
                    low, high = min(low, a - r, b - r), max(high, a + r, b + r)
            out[one, k], out[one, 3 + k] = low, high


@uncounted_jit
def separation(a, b, c, d):
    """Return the fractions along two segments, a to b and c to d (3,), of their nearest points, and the way between."""
    s, t = between((a[0], a[1], a[2], b[0], b[1], b[2]), (c[0], c[1], c[2], d[0], d[1], d[2]))
    x = a[0] + s * (b[0] - a[0]) - c[0] - t * (d[0] - c[0])
    y = a[1] + s * (b[1] - a[1]) - c[1] - t * (d[1] - c[1])
    z = a[2] + s * (b[2] - a[2]) - c[2] - t * (d[2] - c[2])
    return s, t, x, y, z


@uncounted_jit
def crossed(p, q, reach):
    """Return whether the way between two bones turned from p to q (3 scalars each) by passing through both skins.

    In between it is p + f (q − p): its least length says how near the bones came to each other.
    """
    px, py, pz = p
    qx, qy, qz = q
    if px * qx + py * qy + pz * qz >= 0.0:
        return False
    dx, dy, dz = qx - px, qy - py, qz - pz
    f = -(px * dx + py * dy + pz * dz) / max(dx * dx + dy * dy + dz * dz, 1e-12)
    return (px + f * dx) ** 2 + (py + f * dy) ** 2 + (pz + f * dz) ** 2 < reach * reach


@uncounted_jit
def overlaps(capsules, others, positions, other_positions, came, other_came, looked_at, same, slack, bounds, out):
    """Write the contacts (N, 12) of characters of one table with those of another; return how many there are.

    positions (C, J, 3), other_positions (D, J, 3) metres; came, other_came: those of the frame before. A limb that has
    passed another bone since then is sent back to the side where it was: a kick moves 30 cm between two frames, and the
    shortest way out of a trunk may be through its back. same: whether both are one table, and pairs count once.
    looked_at: (C + D,) bool; only pairs of which one is count. slack: metres of depth that are let be. bounds: scratch
    (C + D, 6).
    """
    characters = positions.shape[0]
    count, own, other = 0, bounds[: positions.shape[0]], bounds[positions.shape[0] :]
    boxes(capsules, positions, own)
    if same:
        other = own
    else:
        boxes(others, other_positions, other)
    for one in range(positions.shape[0]):
        for two in range(one + 1 if same else 0, other_positions.shape[0]):
            # most are far from each other along x
            if max(own[one, 0] - other[two, 3], other[two, 0] - own[one, 3]) > -slack:
                continue
            if not (looked_at[one] or looked_at[characters + two]):
                continue
            gap = -math.inf
            for k in range(1, 3):
                gap = max(gap, own[one, k] - other[two, 3 + k], other[two, k] - own[one, 3 + k])
            if gap > -slack:
                continue
            for i in range(capsules.starts.shape[0]):
                r = capsules.radii[one, i]
                if r < 0.0:
                    continue
                a, b = positions[one, capsules.starts[i]], positions[one, capsules.ends[i]]
                if outside(a, b, other[two], r - slack):
                    continue
                for j in range(others.starts.shape[0]):
                    if others.radii[two, j] < 0.0:
                        continue
                    c, d = other_positions[two, others.starts[j]], other_positions[two, others.ends[j]]
                    if apart(a, b, c, d, r + others.radii[two, j] - slack):
                        continue
                    s, t, x, y, z = separation(a, b, c, d)
                    far = math.sqrt(x * x + y * y + z * z)
                    reach = r + others.radii[two, j]
                    if reach - far <= slack or count >= out.shape[0]:
                        continue
                    inverse = 1.0 / max(far, 1e-9)
                    nx, ny, nz, depth = x * inverse, y * inverse, z * inverse, reach - far
                    a1, b1 = came[one, capsules.starts[i]], came[one, capsules.ends[i]]
                    c1, d1 = other_came[two, others.starts[j]], other_came[two, others.ends[j]]
                    _, _, px, py, pz = separation(a1, b1, c1, d1)
                    if crossed((px, py, pz), (x, y, z), reach):
                        inverse = 1.0 / max(math.sqrt(px * px + py * py + pz * pz), 1e-9)
                        nx, ny, nz = px * inverse, py * inverse, pz * inverse
                        depth = reach - (nx * x + ny * y + nz * z)
                    row = out[count]
                    row[0], row[1], row[2], row[3], row[4], row[5] = one, i, s, two, j, t
                    row[6], row[7], row[8], row[9] = nx, ny, nz, depth
                    row[10] = nx * (a[0] + s * (b[0] - a[0])) + ny * (a[1] + s * (b[1] - a[1]))
                    row[10] += nz * (a[2] + s * (b[2] - a[2]))
                    row[11] = nx * x + ny * y + nz * z - row[10]
                    count += 1
    return count


@uncounted_jit
def pair_key(actor, capsule, other, other_capsule, capsules):
    """Return one number for two capsules of two actors, of so many capsules of each."""
    return ((actor * capsules + capsule) * MOST_ACTORS + other) * capsules + other_capsule


@uncounted_jit
def both_ways(found, actors, others, capsules, tolerated, count, pairs, ways, keys):
    """Write contacts (n, 12) deeper than what is tolerated both ways round, after `count` of them; return how many.

    actors, others: numbers of the characters. pairs: (N, 4) actor, capsule, other actor, its capsule; ways: (N, 3) out
    of the other, metres; keys: (N,) see `pair_key`.
    """
    for n in range(found.shape[0]):
        row = found[n]
        if not row[9] > tolerated:
            continue
        one, i, two, j = actors[int(row[0])], int(row[1]), others[int(row[3])], int(row[4])
        pairs[count, 0], pairs[count, 1], pairs[count, 2], pairs[count, 3] = one, i, two, j
        pairs[count + 1, 0], pairs[count + 1, 1], pairs[count + 1, 2], pairs[count + 1, 3] = two, j, one, i
        for k in range(3):
            way = row[9] * row[6 + k]
            ways[count, k], ways[count + 1, k] = way, -way
        keys[count], keys[count + 1] = pair_key(one, i, two, j, capsules), pair_key(two, j, one, i, capsules)
        count += 2
    return count


@uncounted_jit
def add_ways(keys, ways, goals, solved, capsules, shifts):
    """Add to shifts (n, 3) of goals the ways (N, 3), metres, out of the bodies that they are on, by sorted keys (N,).

    solved: (C,) characters whose goals count; capsules: of each actor.
    """
    for n in range(goals.rows.shape[0]):
        if goals.follows[n] < 0 or not solved[goals.rows[n]]:
            continue
        actor = goals.actors[goals.rows[n]]
        key = pair_key(actor, goals.carriers[n], goals.follows[n], goals.followed[n], capsules)
        low = first_from(keys, key)
        if low < keys.shape[0] and keys[low] == key:
            for k in range(3):
                shifts[n, k] += ways[low, k]


@uncounted_jit
def without(found, left_out, others_left_out, out):
    """Write the contacts (n, 12) of which neither capsule, (C, K) and (D, K) bool, is left out; return how many."""
    count = 0
    for n in range(found.shape[0]):
        row = found[n]
        if left_out[int(row[0]), int(row[1])] or others_left_out[int(row[3]), int(row[4])]:
            continue
        for k in range(row.shape[0]):
            out[count, k] = row[k]
        count += 1
    return count


@uncounted_jit
def ways(found, limbs, freedom, other_freedom, rows, other_rows):
    """Write what contacts (N, 12) ask of limbs: rows (N, 8) of character, capsule, fraction, normal, depth and level.

    limbs: (K,) which capsules make way; freedom (C, K), other_freedom (D, K): they share it in proportion to these.
    rows: of the first characters, other_rows: of the others. Return how many there are of each.
    """
    count, other_count = 0, 0
    for n in range(found.shape[0]):
        one, i, two, j = int(found[n, 0]), int(found[n, 1]), int(found[n, 3]), int(found[n, 4])
        ease = freedom[one, i] if limbs[i] else 0.0
        other_ease = other_freedom[two, j] if limbs[j] else 0.0
        # the share of the way that the first takes: half where both are equally free limbs
        share = ease / max(ease + other_ease, 1e-9)
        if limbs[i]:
            row = rows[count]
            row[0], row[1], row[2], row[6] = found[n, 0], found[n, 1], found[n, 2], found[n, 9]
            row[3], row[4], row[5] = found[n, 6], found[n, 7], found[n, 8]
            row[7] = found[n, 10] + share * found[n, 9]
            count += 1
        if limbs[j]:
            row = other_rows[other_count]
            row[0], row[1], row[2], row[6] = found[n, 3], found[n, 4], found[n, 5], found[n, 9]
            row[3], row[4], row[5] = -found[n, 6], -found[n, 7], -found[n, 8]
            row[7] = found[n, 11] + (1.0 - share) * found[n, 9]
            other_count += 1
    return count, other_count


@uncounted_jit
def deepest_rows(rows, characters, most, ends, order):
    """Write the order (N,) of rows (N, 8) by character, and of each the deepest first; return how many are kept.

    most: rows of one character that are kept. ends: scratch (C + 1,).
    """
    ends[:] = 0
    for n in range(rows.shape[0]):
        ends[int(rows[n, 0]) + 1] += 1
    for c in range(characters):
        ends[c + 1] += ends[c]
    for n in range(rows.shape[0]):
        c = int(rows[n, 0])
        order[ends[c]] = n
        ends[c] += 1
    # now ends[c] is where the rows of c end
    kept = 0
    for c in range(characters):
        first = 0 if c == 0 else ends[c - 1]
        for n in range(first + 1, ends[c]):
            row, k = order[n], n
            while k > first and rows[order[k - 1], 6] < rows[row, 6]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = row
        for n in range(first, min(ends[c], first + most)):
            order[kept] = order[n]
            kept += 1
    return kept


@uncounted_jit
def place_rows(rows, order, capsules, positions, rotations, poses, joints, points, planes):
    """Write half-spaces for rows (N, 8) in an order (n,): character, joint, point (n, 3) on it, plane (n, 4)."""
    for n in range(order.shape[0]):
        row = rows[order[n]]
        c, i = int(row[0]), int(row[1])
        a, b = capsules.starts[i], capsules.ends[i]
        poses[n], joints[n] = c, a
        x = row[2] * (positions[c, b, 0] - positions[c, a, 0])
        y = row[2] * (positions[c, b, 1] - positions[c, a, 1])
        z = row[2] * (positions[c, b, 2] - positions[c, a, 2])
        points[n, 0], points[n, 1], points[n, 2] = rotate(
            rotations[c, a, 0], -rotations[c, a, 1], -rotations[c, a, 2], -rotations[c, a, 3], x, y, z
        )
        planes[n, 0], planes[n, 1], planes[n, 2], planes[n, 3] = row[3], row[4], row[5], row[7]


@uncounted_jit
def clear_targets(capsules, posed, free, group, active, goals, owners, own, targets):
    """Move targets (n, 4) of active goals (n,) out of the bodies of a group that they are on, so that skin meets skin.

    posed, free: (C, J, 3) positions of the group now and without goals; those count for early goals. owners: (n, 2)
    group and row of the body that each is on; own: (n, 3) where the points would be without their goals. What is moved
    is where the point is asked to be at its activation, own + share · (target − own), straight out of the deepest
    capsule, three times.
    """
    for n in range(active.shape[0]):
        character, g = owners[n, 1], active[n]
        share, radius = goals.shares[g], goals.radii[g]
        if owners[n, 0] != group or not goals.on_skin[g] or share < 1e-3:
            continue
        positions = free if goals.early[g] else posed
        x = own[n, 0] + share * (targets[n, 0] - own[n, 0])
        y = own[n, 1] + share * (targets[n, 1] - own[n, 1])
        z = own[n, 2] + share * (targets[n, 2] - own[n, 2])
        moved = False
        for _ in range(3):
            deepest, cx, cy, cz, vx, vy, vz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            reach = 0.0
            for i in range(capsules.starts.shape[0]):
                r = capsules.radii[character, i]
                if r < 0.0:
                    continue
                a, b = positions[character, capsules.starts[i]], positions[character, capsules.ends[i]]
                ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
                size = ux * ux + uy * uy + uz * uz
                t = 0.0
                if size > 1e-12:
                    t = ((x - a[0]) * ux + (y - a[1]) * uy + (z - a[2]) * uz) / size
                    t = min(max(t, 0.0), 1.0)
                px, py, pz = a[0] + t * ux, a[1] + t * uy, a[2] + t * uz
                dx, dy, dz = x - px, y - py, z - pz
                far = math.sqrt(dx * dx + dy * dy + dz * dz)
                depth = r + radius - far
                if depth <= deepest:
                    continue
                if far < 0.02:
                    # on the bone itself: to the side from which the point comes
                    dx, dy, dz = own[n, 0] - px, own[n, 1] - py, own[n, 2] - pz
                    along = (dx * ux + dy * uy + dz * uz) / max(size, 1e-12)
                    dx, dy, dz = dx - along * ux, dy - along * uy, dz - along * uz
                    far = math.sqrt(dx * dx + dy * dy + dz * dz)
                    if far < 1e-6:
                        dx, dy, dz, far = 0.0, 1.0, 0.0, 1.0
                deepest, reach, cx, cy, cz = depth, r + radius, px, py, pz
                vx, vy, vz = dx / far, dy / far, dz / far
            if deepest <= 0.0:
                break
            x, y, z, moved = cx + reach * vx, cy + reach * vy, cz + reach * vz, True
        if moved:
            targets[n, 0] = own[n, 0] + (x - own[n, 0]) / share
            targets[n, 1] = own[n, 1] + (y - own[n, 1]) / share
            targets[n, 2] = own[n, 2] + (z - own[n, 2]) / share


def _smallest():
    one = np.zeros(1, np.int64)
    return Capsules(one, one, np.ones((1, 1)))


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


WARMUP = {
    "both_ways": lambda: (
        np.zeros((1, OUT)), np.zeros(1, np.int64), np.zeros(1, np.int64), 1, 0.0, 0, np.zeros((2, 4), np.int64),
        np.zeros((2, 3)), np.zeros(2, np.int64),
    ),
    "add_ways": lambda: (
        np.zeros(1, np.int64), np.zeros((1, 3)), GoalsOnBodies(*np.zeros((5, 1), np.int64)), np.ones(1, bool), 1,
        np.zeros((1, 3)),
    ),
    "without": lambda: (np.zeros((1, OUT)), np.zeros((1, 1), bool), np.zeros((1, 1), bool), np.zeros((1, OUT))),
    "ways": lambda: (
        np.zeros((1, OUT)), np.ones(1, bool), np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, ASKED)),
        np.zeros((1, ASKED)),
    ),
    "deepest_rows": lambda: (
        np.zeros((1, ASKED)), 1, 1, np.zeros(2, np.int64), np.zeros(1, np.int64)
    ),
    "place_rows": lambda: (
        np.zeros((1, ASKED)), np.zeros(1, np.int64), _smallest(), _read_only(1, 1, 3), _read_only(1, 1, 4),
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 3)), np.zeros((1, 4)),
    ),
    "clear_targets": lambda: (
        _smallest(),
        _read_only(1, 1, 3),
        _read_only(1, 1, 3),
        0,
        np.zeros(1, np.int64),
        GoalsOnSkin(np.zeros(1, bool), np.zeros(1, bool), np.zeros(1), np.zeros(1)),
        np.zeros((1, 2), np.int64),
        np.zeros((1, 3)),
        np.zeros((1, 4)),
    ),
    "overlaps": lambda: (
        _smallest(),
        _smallest(),
        _read_only(1, 1, 3),
        _read_only(1, 1, 3),
        _read_only(1, 1, 3),
        _read_only(1, 1, 3),
        np.ones(2, bool),
        False,
        0.0,
        np.zeros((2, 6)),
        np.zeros((1, OUT)),
    ),
}  # fmt: skip
