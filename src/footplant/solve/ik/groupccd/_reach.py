"""Reach of limbs in the group solver: where shoulders and hips must be for a limb to meet its tasks."""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.solve.ik.groupccd._limb import BEFORE, BEFORE_FIRST, END, JOINTS, SEGMENT, point_place

REACH = 0.995
"""Share of a limb's full length up to which it reaches without help; beyond, elbows would snap straight."""


@uncounted_jit
def apart(ax, ay, az, bx, by, bz):
    """Return the distance between two points, metres."""
    return math.sqrt((ax - bx) ** 2 + (ay - by) ** 2 + (az - bz) ** 2)


@uncounted_jit
def nearest(sx, sy, sz, gx, gy, gz, least, most):
    """Return the point nearest to s at a distance between least and most from g, and whether it differs from s."""
    length = apart(sx, sy, sz, gx, gy, gz)
    wanted = min(max(length, least), most)
    if length < 1e-9 or abs(wanted - length) < 1e-6:
        return sx, sy, sz, False
    share = wanted / length
    return gx + share * (sx - gx), gy + share * (sy - gy), gz + share * (sz - gz), True


@uncounted_jit
def folded(upper, lower, most):
    """Return the distance of a limb's ends at its largest flexion (law of cosines)."""
    return math.sqrt(max(upper * upper + lower * lower + 2.0 * upper * lower * math.cos(most), 0.0))


@uncounted_jit
def shoulder_demand(body, work, limb):
    """Return the position of a limb's upper joint nearest to its present one that lets the limb meet its tasks.

    The fourth result is whether the joint must move.
    """
    world, found, tasks, tree, limbs, hinges = (
        work.world, work.found, work.tasks, body.tree, body.limbs, body.hinges
    )  # fmt: skip
    u, m, e = limbs[limb, 0], limbs[limb, 1], limbs[limb, 2]
    sx, sy, sz = world[u, 0], world[u, 1], world[u, 2]
    if found[limb, END] < 0 and found[limb, BEFORE] < 0:
        return sx, sy, sz, False
    upper = apart(sx, sy, sz, world[m, 0], world[m, 1], world[m, 2])
    lower = apart(world[e, 0], world[e, 1], world[e, 2], world[m, 0], world[m, 1], world[m, 2])
    wx, wy, wz = tasks[limb, 3, 0], tasks[limb, 3, 1], tasks[limb, 3, 2]
    # a limb may be as straight as in the input pose
    came = apart(world[u, 19], world[u, 20], world[u, 21], world[e, 19], world[e, 20], world[e, 21])
    least, most = folded(upper, lower, hinges[limb, 4]), max(REACH * (upper + lower), min(came, upper + lower))
    if found[limb, BEFORE] < 0:
        level = (sx - wx) ** 2 + (sz - wz) ** 2
        if limb < 2 and sy > wy and level < most * most:
            # hips are lowered vertically: horizontal motion is left to the balance
            height = wy + math.sqrt(most * most - level)
            if sy - height > 1e-6:
                return sx, height, sz, True
        return nearest(sx, sy, sz, wx, wy, wz, least, most)
    j = found[limb, JOINTS + BEFORE]
    gx, gy, gz = tasks[limb, BEFORE, 3], tasks[limb, BEFORE, 4], tasks[limb, BEFORE, 5]
    x, y, z = point_place(world, j, tasks[limb, BEFORE, 0], tasks[limb, BEFORE, 1], tasks[limb, BEFORE, 2])
    end_first = found[limb, END] >= 0 and found[limb, BEFORE_FIRST] != 1
    beyond = 0.0
    if tree[j, SEGMENT] == 1:
        beyond = apart(x, y, z, world[m, 0], world[m, 1], world[m, 2])
    if beyond > 1e-4:
        if end_first:
            return nearest(sx, sy, sz, wx, wy, wz, least, most)
        return nearest(sx, sy, sz, gx, gy, gz, folded(upper, beyond, hinges[limb, 4]), REACH * (upper + beyond))
    if end_first:
        # the hinge lies on a sphere about the end
        share = lower / max(apart(gx, gy, gz, wx, wy, wz), 1e-12)
        gx, gy, gz = wx + share * (gx - wx), wy + share * (gy - wy), wz + share * (gz - wz)
    arm = apart(x, y, z, sx, sy, sz)
    return nearest(sx, sy, sz, gx, gy, gz, arm, arm)


WARMUP: dict = {}
