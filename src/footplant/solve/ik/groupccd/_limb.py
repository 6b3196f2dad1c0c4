"""Limbs of the group solver: closed forms for one task, a rotation about an axis for a second one.

Kulpa, Multon & Arnaldi 2005, section 9 and figure 11. A limb is always solved from the input pose under the present
trunk, so that the result does not depend on the path of the search.

The state of all joints is one packed table `world` (J+1, WIDTH), one row per joint (columns below) and last the root:
its present and its input position, and the cached centre of mass. Few arrays keep calls between kernels cheap.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.limb import UP, aim, axis_turn, bend
from footplant.kernels.quaternion import multiply, rotate

POSITION, ORIENTATION, HALF_SPACE, DISTANCE, CENTER, BALANCE = 0, 1, 2, 3, 4, 5
"""Kinds of rows."""
PLACE, TURN, LOCAL, BASE, INPUT, INPUT_PLACE, INPUT_TURN, BONE, MASS, MIDDLE = 0, 3, 7, 11, 15, 19, 22, 26, 29, 30
"""Columns of a joint: world position and rotation, local rotation, base rotation that limbs start from, input pose
(local rotation, world position and rotation), bone, mass fraction and centre of mass; from `SAVED` on, position and
rotations before a step that may be rejected."""
SAVED, WIDTH = 33, 44
PARENT, LIMB, SEGMENT = 0, 1, 2
"""Columns of `Body.tree`."""
KIND, JOINT, OTHER, RANK, ALLOW = 0, 1, 2, 3, 4
"""Columns of `PoseRows.kinds`."""
POINT, TARGET, OTHER_POINT, SHARE = 0, 3, 7, 10
"""Columns of `PoseRows.asks`."""
END, SECOND, BEFORE, TURNED, BEFORE_FIRST, JOINTS, PLANES, STEADY = 0, 1, 2, 3, 4, 5, 8, 12
"""Columns of `Work.found`, the tasks of a limb: rows that ask for its end, for a second point of its end segment, for a
point before the end, and for an orientation; whether the point before the end comes first; joints of the three points;
rows of half-spaces; whether all of this is independent of the pose."""
MOST_SWIVEL = 0.7
"""Radians by which a limb whose end is in place is swivelled out of half-spaces at most, in all. Unbounded, and towards
the point pushed out instead of just out, a kicker's knee flips from above its line to below it and back within four
frames (24 m/s in the fight, `benchmarks/crowd_changes.py`); bounded for each half-space alone, its plane turns by 131°
between two frames where a kick is restarted, with the bound in all by 47°, as in the fight as it is."""
PUSHES = 6
"""How often a limb is moved out of the half-space that it is deepest in: they are met one after another. In two runs of
changed fights (seeds 3 and 6 of `benchmarks/crowd_changes.py`) the deepest overlap is 9 mm with 2, 5 with 6, and 26
with 12, where a kick and a parry are both fully active: more pushes do not make it smaller."""
FIRST_JOINT = 3
"""Column of `Body.limbs` from which all joints of a limb are listed."""


class Body(NamedTuple):
    """A character's joints."""

    tree: NDArray
    """(J, 3) parent, limb (−1: trunk) and segment of the limb of each joint."""
    used: NDArray
    """(U,) joints that are posed, parents before children."""
    limbs: NDArray
    """(4, 3+K) upper joint, hinge, end, then all joints of each limb; −1 pads."""
    hinges: NDArray
    """(4, 5) hinge axis in the upper joint's frame, least and largest flexion (radians)."""
    sweep: NDArray
    """(S,) joints of the trunk that may rotate, from the extremities to the root."""
    turns: NDArray
    """(S, 2) largest rotation from the input pose (radians), and gain."""
    below: NDArray
    """(J, J) bool; whether the second joint descends from the first."""
    state: NDArray
    """(T,) joints whose base rotations steps change."""
    pelvis: NDArray
    """(1,) the joint that carries trunk and legs, which pitches about the line of the hip joints; −1: none does."""


class PoseRows(NamedTuple):
    """The rows of one pose, first … last−1."""

    kinds: NDArray
    """(N, 5) kind, joint, other joint, rank, what may move."""
    asks: NDArray
    """(N, 11) point, target, other point, share."""
    polygons: NDArray
    """(F, P, 2) support polygons, metres."""
    pose: int
    """Index of the pose."""
    sides: int
    """Corners of its support polygon."""
    first: int
    last: int


class Work(NamedTuple):
    """Workspace of one pose with n rows."""

    world: NDArray
    """(J+1, WIDTH)."""
    goals: NDArray
    """(n, 4, 4) goals of each row's two points; the last two as before a step that may be rejected."""
    found: NDArray
    """(8, 13) rows that make up each limb's tasks; 4–7 as before a step that may be rejected."""
    tasks: NDArray
    """(8, 4, 6) point and goal of each task of each limb, and last the goal of the end joint; 4–7 likewise."""
    demands: NDArray
    """(n+4, 9) points that the trunk should move, their goals, and unit directions."""
    owners: NDArray
    """(n+4, 2) joint that carries each, and what may move for it."""
    system: NDArray
    """(n+4, n+6) the trunk's linear system."""
    saved: NDArray
    """(T+1, 4) base rotations and root before a step."""
    ahead: NDArray
    """(T+1, 4) and after it."""
    best: NDArray
    """(n,) smallest errors of the rows so far."""


@uncounted_jit
def pose_joint(world, tree, j):
    """Write world position and rotation of a joint whose parent is posed."""
    p = tree[j, PARENT]
    if p < 0:
        root = world.shape[0] - 1
        for k in range(3):
            world[j, k] = world[root, k]
        for k in range(4):
            world[j, TURN + k] = world[j, LOCAL + k]
        return
    w, x, y, z = world[p, 3], world[p, 4], world[p, 5], world[p, 6]
    vx, vy, vz = rotate(w, x, y, z, world[j, 26], world[j, 27], world[j, 28])
    world[j, 0], world[j, 1], world[j, 2] = world[p, 0] + vx, world[p, 1] + vy, world[p, 2] + vz
    world[j, 3], world[j, 4], world[j, 5], world[j, 6] = multiply(
        w, x, y, z, world[j, 7], world[j, 8], world[j, 9], world[j, 10]
    )


@uncounted_jit
def pose_limb(world, tree, limbs, limb, beyond):
    """Pose the joints of a limb up to its end, or (`beyond`) those from its end on."""
    e = limbs[limb, 2]
    for n in range(FIRST_JOINT, limbs.shape[1]):
        j = limbs[limb, n]
        if j < 0:
            break
        if (tree[j, SEGMENT] == 2) == beyond:
            pose_joint(world, tree, j)
    if not beyond:
        pose_joint(world, tree, e)


@uncounted_jit
def point_place(world, j, px, py, pz):
    """Return the world position of a point of a segment."""
    x, y, z = rotate(world[j, 3], world[j, 4], world[j, 5], world[j, 6], px, py, pz)
    return world[j, 0] + x, world[j, 1] + y, world[j, 2] + z


@uncounted_jit
def set_turn(world, tree, j, w, x, y, z):
    """Give a joint a world rotation, normalised, as its local one."""
    norm = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    w, x, y, z = w * norm, x * norm, y * norm, z * norm
    p = tree[j, PARENT]
    if p >= 0:
        w, x, y, z = multiply(world[p, 3], -world[p, 4], -world[p, 5], -world[p, 6], w, x, y, z)
    world[j, 7], world[j, 8], world[j, 9], world[j, 10] = w, x, y, z


@uncounted_jit
def turn_limb(world, tree, limbs, limb, w, x, y, z):
    """Rotate a limb about its upper joint by a world rotation; joints beyond its end are posed later."""
    u = limbs[limb, 0]
    w, x, y, z = multiply(w, x, y, z, world[u, 3], world[u, 4], world[u, 5], world[u, 6])
    set_turn(world, tree, u, w, x, y, z)
    pose_limb(world, tree, limbs, limb, False)


@uncounted_jit
def place_limb(body, world, limb, point, goal):
    """Bring the world position `point`, below the hinge, onto a goal in closed form: bend, then rotate minimally."""
    tree, limbs, hinges = body.tree, body.limbs, body.hinges
    px, py, pz = point
    gx, gy, gz = goal
    u, m = limbs[limb, 0], limbs[limb, 1]
    hx, hy, hz = rotate(
        world[u, 3], world[u, 4], world[u, 5], world[u, 6], hinges[limb, 0], hinges[limb, 1], hinges[limb, 2]
    )
    sx, sy, sz = world[u, 0], world[u, 1], world[u, 2]
    ux, uy, uz = sx - world[m, 0], sy - world[m, 1], sz - world[m, 2]
    vx, vy, vz = px - world[m, 0], py - world[m, 1], pz - world[m, 2]
    gx, gy, gz = gx - sx, gy - sy, gz - sz
    length = math.sqrt(gx * gx + gy * gy + gz * gz)
    turn, _, _ = bend(
        (ux, uy, uz), (vx, vy, vz), (hx, hy, hz), length, 0.0, hinges[limb, 3], hinges[limb, 4]
    )  # fmt: skip
    tw, tx, ty, tz = axis_turn(hx, hy, hz, turn)
    vx, vy, vz = rotate(tw, tx, ty, tz, vx, vy, vz)
    tw, tx, ty, tz = multiply(tw, tx, ty, tz, world[m, 3], world[m, 4], world[m, 5], world[m, 6])
    # twist joints inside the upper bone keep their rotations: the hinge's local one is relative to its parent
    set_turn(world, tree, m, tw, tx, ty, tz)
    aw, ax, ay, az = aim((vx - ux, vy - uy, vz - uz), (gx, gy, gz), (hx, hy, hz))
    turn_limb(world, tree, limbs, limb, aw, ax, ay, az)


@uncounted_jit
def swivel(body, world, limb, axis, point, goal):
    """Rotate the limb about an axis through its upper joint to bring a point towards a goal (figure 11b)."""
    tree, limbs = body.tree, body.limbs
    ax, ay, az = axis
    px, py, pz = point
    gx, gy, gz = goal
    u = limbs[limb, 0]
    length = math.sqrt(ax * ax + ay * ay + az * az)
    if length < 1e-9:
        return
    ax, ay, az = ax / length, ay / length, az / length
    px, py, pz = px - world[u, 0], py - world[u, 1], pz - world[u, 2]
    gx, gy, gz = gx - world[u, 0], gy - world[u, 1], gz - world[u, 2]
    along = px * ax + py * ay + pz * az
    px, py, pz = px - along * ax, py - along * ay, pz - along * az
    along = gx * ax + gy * ay + gz * az
    gx, gy, gz = gx - along * ax, gy - along * ay, gz - along * az
    if px * px + py * py + pz * pz < 1e-12:
        return
    sine = ax * (py * gz - pz * gy) + ay * (pz * gx - px * gz) + az * (px * gy - py * gx)
    w, x, y, z = axis_turn(ax, ay, az, math.atan2(sine, px * gx + py * gy + pz * gz))
    turn_limb(world, tree, limbs, limb, w, x, y, z)


@uncounted_jit
def swivel_out(body, world, limb, point, normal, level, turned):
    """Rotate a limb about the line from its upper joint to its end, until a point is in a half-space: n·x ≥ level.

    turned: radians by which it has been rotated so for other half-spaces; return them with this rotation.

    With p the point's arm from that line (c: its foot) and a the line's direction, the angle φ has to meet

        n·p cos φ + n·(a × p) sin φ ≥ level − n·c,

    whose left side is largest at φ* = atan2(n·(a × p), n·p). The smallest φ is taken, such that all rotations together
    are at most `MOST_SWIVEL`, and less where φ* is nearly behind the limb, so that it changes continuously.
    """
    tree, limbs = body.tree, body.limbs
    u, e = limbs[limb, 0], limbs[limb, 2]
    nx, ny, nz = normal
    px, py, pz = point
    px, py, pz = px - world[u, 0], py - world[u, 1], pz - world[u, 2]
    ax, ay, az = world[e, 0] - world[u, 0], world[e, 1] - world[u, 1], world[e, 2] - world[u, 2]
    length = math.sqrt(ax * ax + ay * ay + az * az)
    if length < 1e-9:
        return turned
    ax, ay, az = ax / length, ay / length, az / length
    wanted = level - nx * world[u, 0] - ny * world[u, 1] - nz * world[u, 2]
    along = px * ax + py * ay + pz * az
    wanted -= along * (nx * ax + ny * ay + nz * az)
    px, py, pz = px - along * ax, py - along * ay, pz - along * az
    ahead = nx * px + ny * py + nz * pz
    aside = nx * (ay * pz - az * py) + ny * (az * px - ax * pz) + nz * (ax * py - ay * px)
    size = math.sqrt(ahead * ahead + aside * aside)
    if ahead >= wanted or size < 1e-9:
        return turned
    best = math.atan2(aside, ahead)
    angle = abs(best) - math.acos(min(max(wanted / size, -1.0), 1.0))
    angle = min(angle, MOST_SWIVEL * min(1.0, (math.pi - abs(best)) / MOST_SWIVEL))
    after = min(max(turned + math.copysign(angle, best), -MOST_SWIVEL), MOST_SWIVEL)
    w, x, y, z = axis_turn(ax, ay, az, after - turned)
    turn_limb(world, tree, limbs, limb, w, x, y, z)
    return after


@uncounted_jit
def leave_planes(body, rows, work, limb):
    """Swivel a limb whose end is in place out of the half-spaces that points before its end are not in, in turn."""
    turned = 0.0
    for i in range(rows.first, rows.last):
        j = rows.kinds[i, JOINT]
        if rows.kinds[i, KIND] != HALF_SPACE or body.tree[j, LIMB] != limb or body.tree[j, SEGMENT] == 2:
            continue
        ask = rows.asks[i]
        point = point_place(work.world, j, ask[0], ask[1], ask[2])
        normal, level = (ask[3], ask[4], ask[5]), work.goals[i - rows.first, 0, 3]
        turned = swivel_out(body, work.world, limb, point, normal, level, turned)


@uncounted_jit
def push_out(body, rows, work, limb):
    """Move points of a limb out of half-spaces that nothing else may move for, the worst first, `PUSHES` times.

    Those that count less than the goals of the limb's points are left. Return whether the limb has moved.

    A point in the second half of the lower bone is placed in closed form, by bending the limb; one nearer to the hinge
    by rotating it.
    """
    world, tree, limbs = work.world, body.tree, body.limbs
    u, m, e, last = limbs[limb, 0], limbs[limb, 1], limbs[limb, 2], rows.last
    if work.found[limb, END] >= 0:
        last = work.found[limb, END]
    if work.found[limb, BEFORE] >= 0:
        last = min(last, work.found[limb, BEFORE])
    moved = False
    for _ in range(PUSHES):
        worst, most = -1, 1e-4
        for i in range(rows.first, last):
            j = rows.kinds[i, JOINT]
            if rows.kinds[i, KIND] != HALF_SPACE or rows.kinds[i, ALLOW] != 0 or tree[j, LIMB] != limb:
                continue
            ask = rows.asks[i]
            x, y, z = point_place(world, j, ask[0], ask[1], ask[2])
            miss = work.goals[i - rows.first, 0, 3] - ask[3] * x - ask[4] * y - ask[5] * z
            if miss > most:
                worst, most = i, miss
        if worst < 0:
            break
        moved = True
        j, ask = rows.kinds[worst, JOINT], rows.asks[worst]
        x, y, z = point_place(world, j, ask[0], ask[1], ask[2])
        gx, gy, gz = x + most * ask[3], y + most * ask[4], z + most * ask[5]
        beyond = (x - world[m, 0]) ** 2 + (y - world[m, 1]) ** 2 + (z - world[m, 2]) ** 2
        lower = (world[e, 0] - world[m, 0]) ** 2 + (world[e, 1] - world[m, 1]) ** 2 + (world[e, 2] - world[m, 2]) ** 2
        if tree[j, SEGMENT] == 1 and beyond > 0.25 * lower:
            place_limb(body, world, limb, (x, y, z), (gx, gy, gz))
        else:
            sx, sy, sz = world[u, 0], world[u, 1], world[u, 2]
            aw, ax, ay, az = aim((x - sx, y - sy, z - sz), (gx - sx, gy - sy, gz - sz), UP)
            turn_limb(world, tree, limbs, limb, aw, ax, ay, az)
    return moved


@uncounted_jit
def set_task(rows, work, limb, where, i, side, goal):
    """Make a row's first or other point (`side`) a limb's task: the one for its END, SECOND or BEFORE it (`where`)."""
    found, task = work.found, work.tasks[limb, where]
    found[limb, where] = i
    found[limb, JOINTS + where] = rows.kinds[i, JOINT + side]
    if where == BEFORE and found[limb, END] < 0:
        found[limb, BEFORE_FIRST] = 1
    at = POINT if side == 0 else OTHER_POINT
    for k in range(3):
        task[k] = rows.asks[i, at + k]
    task[3], task[4], task[5] = goal


@uncounted_jit
def limb_tasks(body, rows, work, limb, with_distances):
    """Look up the tasks of a limb by priority: write its rows of `found` and `tasks` (point, goal)."""
    world, goals, found, tree = work.world, work.goals, work.found, body.tree
    kinds, asks, first, last = rows.kinds, rows.asks, rows.first, rows.last
    for k in range(PLANES):
        found[limb, k] = -1
    found[limb, STEADY] = 1
    planes = 0
    for i in range(first, last):
        kind = kinds[i, KIND]
        if kind == DISTANCE or (kind == HALF_SPACE and tree[kinds[i, JOINT], LIMB] == limb):
            found[limb, STEADY] = 0
        if kind >= CENTER or (kind == DISTANCE and not with_distances):
            continue
        for side in range(2 if kind == DISTANCE else 1):
            j = kinds[i, JOINT + side]
            if tree[j, LIMB] != limb:
                continue
            if kind == ORIENTATION:
                if found[limb, TURNED] < 0:
                    found[limb, TURNED] = i
                continue
            where = BEFORE
            if tree[j, SEGMENT] == 2:
                where = END if found[limb, END] < 0 else SECOND
            gx, gy, gz = goals[i - first, side, 0], goals[i - first, side, 1], goals[i - first, side, 2]
            if kind == HALF_SPACE:
                if where == END and planes < 4:
                    # later tasks must respect it
                    found[limb, PLANES + planes] = i
                    planes += 1
                x, y, z = point_place(world, j, asks[i, 0], asks[i, 1], asks[i, 2])
                miss = goals[i - first, 0, 3] - asks[i, 3] * x - asks[i, 4] * y - asks[i, 5] * z
                if where != BEFORE or miss <= 0.0 or kinds[i, ALLOW] == 0:
                    # what nothing but the limb may move for is met last, by `push_out`
                    continue
                gx, gy, gz = x + miss * asks[i, 3], y + miss * asks[i, 4], z + miss * asks[i, 5]
            if found[limb, where] < 0:
                set_task(rows, work, limb, where, i, side, (gx, gy, gz))
    respect_planes(rows, work, limb, planes)


@uncounted_jit
def respect_planes(rows, work, limb, planes):
    """Shift the goal of a limb's end, or make one, so that points of higher priority stay in their half-spaces."""
    world, goals, found, tasks = work.world, work.goals, work.found, work.tasks
    kinds, asks, first = rows.kinds, rows.asks, rows.first
    if planes == 0:
        return
    free = found[limb, END] < 0
    if free:
        i = found[limb, PLANES]
        found[limb, JOINTS] = kinds[i, JOINT]
        for k in range(3):
            tasks[limb, END, k] = asks[i, k]
    x, y, z = point_place(world, found[limb, JOINTS], tasks[limb, END, 0], tasks[limb, END, 1], tasks[limb, END, 2])
    dx = dy = dz = 0.0
    if not free:
        dx, dy, dz = tasks[limb, END, 3] - x, tasks[limb, END, 4] - y, tasks[limb, END, 5] - z
    moved = False
    for _ in range(2 if planes > 1 else 1):
        for n in range(planes):
            i = found[limb, PLANES + n]
            qx, qy, qz = point_place(world, kinds[i, JOINT], asks[i, 0], asks[i, 1], asks[i, 2])
            miss = goals[i - first, 0, 3] - (asks[i, 3] * (qx + dx) + asks[i, 4] * (qy + dy) + asks[i, 5] * (qz + dz))
            if miss > 0.0:
                moved = True
                dx, dy, dz = dx + miss * asks[i, 3], dy + miss * asks[i, 4], dz + miss * asks[i, 5]
    tasks[limb, END, 3], tasks[limb, END, 4], tasks[limb, END, 5] = x + dx, y + dy, z + dz
    if free and moved:
        found[limb, END] = found[limb, PLANES]


@uncounted_jit
def solve_limb(body, rows, work, limb, with_distances, stay):
    """Solve one limb under all its tasks; `stay` keeps a leg's foot at its input position."""
    world, found, tasks, tree, limbs = work.world, work.found, work.tasks, body.tree, body.limbs
    u, m, e = limbs[limb, 0], limbs[limb, 1], limbs[limb, 2]
    for k in range(4):
        world[u, LOCAL + k] = world[u, BASE + k]
        world[m, LOCAL + k] = world[m, BASE + k]
        world[e, LOCAL + k] = world[e, BASE + k]
    pose_limb(world, tree, limbs, limb, False)
    leg, steady = limb < 2, found[limb, STEADY] == 1
    if not steady or found[limb, JOINTS] != e or found[limb, SECOND] >= 0:
        pose_limb(world, tree, limbs, limb, True)
    if not steady:
        limb_tasks(body, rows, work, limb, with_distances)
    has_end, has_before, turned = found[limb, END] >= 0, found[limb, BEFORE] >= 0, found[limb, TURNED] >= 0
    if not (has_end or has_before or turned):
        if leg and stay:
            came = (world[e, 19], world[e, 20], world[e, 21])
            place_limb(body, world, limb, (world[e, 0], world[e, 1], world[e, 2]), came)
            set_turn(world, tree, e, world[e, 22], world[e, 23], world[e, 24], world[e, 25])
            pose_limb(world, tree, limbs, limb, True)
        if not steady and push_out(body, rows, work, limb):
            pose_limb(world, tree, limbs, limb, True)
        return
    # orientation of the end: as its task has it; else a foot keeps its input orientation, a hand follows the forearm
    at = INPUT_TURN if leg else TURN
    turn = (world[e, at], world[e, at + 1], world[e, at + 2], world[e, at + 3])
    if turned:
        goal = work.goals[found[limb, TURNED] - rows.first, 0]
        turn = (goal[0], goal[1], goal[2], goal[3])
    held, place = turned or leg, (0.0, 0.0, 0.0)
    if has_end:
        held, turn, place = end_goal(body, work, limb, turn, turned, held)
    tasks[limb, 3, 0], tasks[limb, 3, 1], tasks[limb, 3, 2] = place
    if has_before and found[limb, BEFORE_FIRST] == 1:
        before_first(body, work, limb, has_end, place)
    elif has_end:
        place_limb(body, world, limb, (world[e, 0], world[e, 1], world[e, 2]), place)
        if not steady and (not has_before or rows.kinds[found[limb, BEFORE], KIND] == HALF_SPACE):
            leave_planes(body, rows, work, limb)
        elif has_before:
            task = tasks[limb, BEFORE]
            point = point_place(world, found[limb, JOINTS + BEFORE], task[0], task[1], task[2])
            axis = (world[e, 0] - world[u, 0], world[e, 1] - world[u, 1], world[e, 2] - world[u, 2])
            swivel(body, world, limb, axis, point, (task[3], task[4], task[5]))
    if not steady:
        push_out(body, rows, work, limb)
    if held:
        set_turn(world, tree, e, turn[0], turn[1], turn[2], turn[3])
    pose_limb(world, tree, limbs, limb, True)


@uncounted_jit
def end_goal(body, work, limb, turn, turned, held):
    """Return whether the end's orientation is set, that orientation, and where the end joint goes, by points' tasks.

    turn, held: the orientation that it would have, and whether that is set; turned: whether it has a task of its own.
    """
    world, found, tasks = work.world, work.found, work.tasks
    e, (rw, rx, ry, rz) = body.limbs[limb, 2], turn
    gx, gy, gz = tasks[limb, END, 3], tasks[limb, END, 4], tasks[limb, END, 5]
    x, y, z = point_place(world, found[limb, JOINTS], tasks[limb, END, 0], tasks[limb, END, 1], tasks[limb, END, 2])
    iw, ix, iy, iz = world[e, 3], -world[e, 4], -world[e, 5], -world[e, 6]
    px, py, pz = rotate(iw, ix, iy, iz, x - world[e, 0], y - world[e, 1], z - world[e, 2])
    if found[limb, SECOND] >= 0 and not turned:
        x, y, z = point_place(
            world, found[limb, JOINTS + 1], tasks[limb, SECOND, 0], tasks[limb, SECOND, 1], tasks[limb, SECOND, 2]
        )
        qx, qy, qz = rotate(iw, ix, iy, iz, x - world[e, 0], y - world[e, 1], z - world[e, 2])
        line = (tasks[limb, SECOND, 3] - gx, tasks[limb, SECOND, 4] - gy, tasks[limb, SECOND, 5] - gz)
        aw, ax, ay, az = aim(rotate(rw, rx, ry, rz, qx - px, qy - py, qz - pz), line, UP)
        rw, rx, ry, rz = multiply(aw, ax, ay, az, rw, rx, ry, rz)
        held = True
    beside = px * px + py * py + pz * pz > 1e-12
    if beside and not held and found[limb, BEFORE_FIRST] != 1:
        # the hand follows the forearm: iterate its orientation a few times, then hold it
        for _ in range(3):
            vx, vy, vz = rotate(world[e, 3], world[e, 4], world[e, 5], world[e, 6], px, py, pz)
            place_limb(body, world, limb, (world[e, 0], world[e, 1], world[e, 2]), (gx - vx, gy - vy, gz - vz))
        rw, rx, ry, rz = world[e, 3], world[e, 4], world[e, 5], world[e, 6]
    vx, vy, vz = rotate(rw, rx, ry, rz, px, py, pz)
    return held or beside, (rw, rx, ry, rz), (gx - vx, gy - vy, gz - vz)


@uncounted_jit
def before_first(body, work, limb, has_end, end_goal):
    """Solve a limb whose point on the upper or lower bone has a higher priority than its end."""
    world, tree, limbs = work.world, body.tree, body.limbs
    u, m, e = limbs[limb, 0], limbs[limb, 1], limbs[limb, 2]
    j, task = work.found[limb, JOINTS + BEFORE], work.tasks[limb, BEFORE]
    ox, oy, oz = task[0], task[1], task[2]
    gx, gy, gz = task[3], task[4], task[5]
    x, y, z = point_place(world, j, ox, oy, oz)
    at_hinge = tree[j, SEGMENT] == 0 or (
        (x - world[m, 0]) ** 2 + (y - world[m, 1]) ** 2 + (z - world[m, 2]) ** 2 < 1e-8
    )
    if at_hinge:
        if has_end:
            # the flexion alone sets the distance of the end from the upper joint
            place_limb(body, world, limb, (world[e, 0], world[e, 1], world[e, 2]), end_goal)
            x, y, z = point_place(world, j, ox, oy, oz)
        sx, sy, sz = world[u, 0], world[u, 1], world[u, 2]
        aw, ax, ay, az = aim((x - sx, y - sy, z - sz), (gx - sx, gy - sy, gz - sz), UP)
        turn_limb(world, tree, limbs, limb, aw, ax, ay, az)
    else:
        place_limb(body, world, limb, (x, y, z), (gx, gy, gz))
    if has_end:
        x, y, z = point_place(world, j, ox, oy, oz)
        axis = (x - world[u, 0], y - world[u, 1], z - world[u, 2])
        swivel(body, world, limb, axis, (world[e, 0], world[e, 1], world[e, 2]), end_goal)


WARMUP: dict = {}
