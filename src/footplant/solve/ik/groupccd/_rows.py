"""Rows of the group solver: goals at an instant, and errors of a pose."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import exp, log, multiply, rotate
from footplant.solve.ik.groupccd._limb import (
    BALANCE,
    CENTER,
    DISTANCE,
    HALF_SPACE,
    JOINT,
    KIND,
    LIMB,
    ORIENTATION,
    OTHER,
    POSITION,
    RANK,
    SHARE,
    point_place,
)

CENTER_KNOWN = 9
"""Column of the root's row: whether the cached centre of mass belongs to the present pose."""


@uncounted_jit
def input_place(world, j, px, py, pz):
    """Return the world position of a point in the input pose."""
    x, y, z = rotate(world[j, 22], world[j, 23], world[j, 24], world[j, 25], px, py, pz)
    return world[j, 19] + x, world[j, 20] + y, world[j, 21] + z


@uncounted_jit
def ease_goals(rows, work, begin, end, factor):
    """Write the goals of rows begin … end−1: ramps lead from the input pose to the target, scaled by `factor`."""
    world, goals = work.world, work.goals
    kinds, asks, first = rows.kinds, rows.asks, rows.first
    for i in range(begin, end):
        n, share, j, kind = i - first, factor * asks[i, SHARE], kinds[i, JOINT], kinds[i, KIND]
        if kind >= CENTER:
            for k in range(4):
                goals[n, 0, k] = asks[i, 3 + k]
            continue
        if kind == ORIENTATION:
            w, x, y, z = world[j, 22], world[j, 23], world[j, 24], world[j, 25]
            tw, tx, ty, tz = multiply(asks[i, 3], asks[i, 4], asks[i, 5], asks[i, 6], w, -x, -y, -z)
            vx, vy, vz = log(tw, tx, ty, tz)
            tw, tx, ty, tz = exp(share * vx, share * vy, share * vz)
            goals[n, 0, 0], goals[n, 0, 1], goals[n, 0, 2], goals[n, 0, 3] = multiply(tw, tx, ty, tz, w, x, y, z)
            continue
        x, y, z = input_place(world, j, asks[i, 0], asks[i, 1], asks[i, 2])
        if kind == POSITION:
            goals[n, 0, 0] = x + share * (asks[i, 3] - x)
            goals[n, 0, 1] = y + share * (asks[i, 4] - y)
            goals[n, 0, 2] = z + share * (asks[i, 5] - z)
        elif kind == HALF_SPACE:
            miss = asks[i, 6] - asks[i, 3] * x - asks[i, 4] * y - asks[i, 5] * z
            goals[n, 0, 3] = asks[i, 6] - (1.0 - share) * max(miss, 0.0)
        else:
            ox, oy, oz = input_place(world, kinds[i, OTHER], asks[i, 7], asks[i, 8], asks[i, 9])
            length = math.sqrt((x - ox) ** 2 + (y - oy) ** 2 + (z - oz) ** 2)
            goals[n, 0, 3] = length + share * (asks[i, 6] - length)


@uncounted_jit
def center_of_mass(world, used):
    """Return the centre of mass, cached until the pose changes."""
    root = world.shape[0] - 1
    if world[root, CENTER_KNOWN] == 1.0:
        return world[root, 6], world[root, 7], world[root, 8]
    x = y = z = 0.0
    for n in range(used.shape[0]):
        j = used[n]
        mass = world[j, 29]
        if mass > 0.0:
            cx, cy, cz = point_place(world, j, world[j, 30], world[j, 31], world[j, 32])
            x += mass * cx
            y += mass * cy
            z += mass * cz
    world[root, 6], world[root, 7], world[root, 8], world[root, CENTER_KNOWN] = x, y, z, 1.0
    return x, y, z


@uncounted_jit
def closest_in_polygon(polygons, f, count, x, z):
    """Return the point of a convex polygon (counter-clockwise in x, z) nearest to a point."""
    outside = count < 3
    best, nx, nz = np.inf, x, z
    for k in range(count):
        ax, az = polygons[f, k, 0], polygons[f, k, 1]
        n = k + 1 if k + 1 < count else 0
        dx, dz = polygons[f, n, 0] - ax, polygons[f, n, 1] - az
        if dx * (z - az) - dz * (x - ax) < 0.0:
            outside = True
        square = dx * dx + dz * dz
        t = 0.0
        if square > 0.0:
            t = min(max(((x - ax) * dx + (z - az) * dz) / square, 0.0), 1.0)
        px, pz = ax + t * dx, az + t * dz
        away = (x - px) ** 2 + (z - pz) ** 2
        if away < best:
            best, nx, nz = away, px, pz
    if not outside:
        return x, z
    return nx, nz


@uncounted_jit
def mass_error(body, rows, work, i):
    """Return the shift of the centre of mass that row i asks for, metres."""
    asks = rows.asks
    x, y, z = center_of_mass(work.world, body.used)
    share = asks[i, SHARE]
    if rows.kinds[i, KIND] == BALANCE:
        nx, nz = closest_in_polygon(rows.polygons, rows.pose, rows.sides, x, z)
        return share * (nx - x), 0.0, share * (nz - z)
    return (
        share * asks[i, 0] * (asks[i, 3] - x), share * asks[i, 1] * (asks[i, 4] - y),
        share * asks[i, 2] * (asks[i, 5] - z),
    )  # fmt: skip


@uncounted_jit
def row_error(body, rows, work, i):
    """Return the error of a row, metres or radians."""
    world, goals, kinds, asks = work.world, work.goals, rows.kinds, rows.asks
    n, j, kind = i - rows.first, kinds[i, JOINT], kinds[i, KIND]
    if kind >= CENTER:
        x, y, z = mass_error(body, rows, work, i)
        return math.sqrt(x * x + y * y + z * z)
    if kind == ORIENTATION:
        dot = abs(
            goals[n, 0, 0] * world[j, 3] + goals[n, 0, 1] * world[j, 4] + goals[n, 0, 2] * world[j, 5]
            + goals[n, 0, 3] * world[j, 6]
        )  # fmt: skip
        return 2.0 * math.acos(dot) if dot < 1.0 - 1e-12 else 0.0
    x, y, z = point_place(world, j, asks[i, 0], asks[i, 1], asks[i, 2])
    if kind == POSITION:
        return math.sqrt((x - goals[n, 0, 0]) ** 2 + (y - goals[n, 0, 1]) ** 2 + (z - goals[n, 0, 2]) ** 2)
    if kind == HALF_SPACE:
        return max(goals[n, 0, 3] - asks[i, 3] * x - asks[i, 4] * y - asks[i, 5] * z, 0.0)
    ox, oy, oz = point_place(world, kinds[i, OTHER], asks[i, 7], asks[i, 8], asks[i, 9])
    return abs(math.sqrt((x - ox) ** 2 + (y - oy) ** 2 + (z - oz) ** 2) - goals[n, 0, 3])


@uncounted_jit
def distance_goals(body, rows, work):
    """Write goals for the two points of each distance: both move half of the way, or the free one all of it.

    Return whether there are any.
    """
    world, goals, tree = work.world, work.goals, body.tree
    kinds, asks, first = rows.kinds, rows.asks, rows.first
    found = False
    for i in range(first, rows.last):
        if kinds[i, KIND] != DISTANCE:
            continue
        found = True
        one, other = tree[kinds[i, JOINT], LIMB], tree[kinds[i, OTHER], LIMB]
        # hands move towards legs, not legs towards hands
        one, other = -1 if one in (0, 1) and other > 1 else one, -1 if other in (0, 1) and one > 1 else other
        for k in range(first, i):
            if kinds[k, KIND] == POSITION and kinds[k, RANK] < kinds[i, RANK]:
                limb = tree[kinds[k, JOINT], LIMB]
                one, other = -1 if limb == one else one, -1 if limb == other else other
        px, py, pz = point_place(world, kinds[i, JOINT], asks[i, 0], asks[i, 1], asks[i, 2])
        qx, qy, qz = point_place(world, kinds[i, OTHER], asks[i, 7], asks[i, 8], asks[i, 9])
        dx, dy, dz = px - qx, py - qy, pz - qz
        length = math.sqrt(dx * dx + dy * dy + dz * dz)
        n = i - first
        more = goals[n, 0, 3] - length
        if length > 1e-9:
            more = more / length
        else:
            dx = 1.0
        share = 0.5 if one >= 0 and other >= 0 else (1.0 if one >= 0 else 0.0)
        near, far = share * more, (1.0 - share) * more
        goals[n, 0, 0], goals[n, 0, 1], goals[n, 0, 2] = px + near * dx, py + near * dy, pz + near * dz
        goals[n, 1, 0], goals[n, 1, 1], goals[n, 1, 2] = qx - far * dx, qy - far * dy, qz - far * dz
    return found


WARMUP: dict = {}
