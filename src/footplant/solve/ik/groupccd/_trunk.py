"""Trunk and root of the group solver: a step towards what limbs and centre of mass need (Kulpa 2005, section 9)."""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import exp, log, multiply, rotate
from footplant.solve.ik.groupccd._limb import (
    ALLOW,
    BASE,
    BEFORE,
    CENTER,
    END,
    FIRST_JOINT,
    HALF_SPACE,
    JOINT,
    KEPT,
    KIND,
    LIMB,
    ORIENTATION,
    PARENT,
    RANK,
    TURNED,
    carried,
)
from footplant.solve.ik.groupccd._reach import shoulder_demand
from footplant.solve.ik.groupccd._rows import CENTER_KNOWN, mass_error

ROOT = 1 << 62
"""The bit of what is allowed that lets the root move for a row; joint n of the sweep has bit 1 << n."""
NEAR = 1e-4
"""Metres (and radians) up to which a row is met."""
MOST_STEP = 0.35
"""Radians that a joint of the trunk turns at most in one step."""
MOST_ARM = 1.0
"""Radians that a free arm turns at most to keep the balance."""
ROOT_FIRST = 2
"""Steps in which the spine alone tries, before the root helps."""
CARRIER, ALLOWED = 0, 1
COUNTERWEIGHT = 0.05
"""Metres by which a free arm tries at most to shift the centre of mass in one step."""
ROOT_HELPS = 0.15
"""How willingly the root moves beside the spine's turns, square metres."""
STAYS_BEHIND = 1.15
"""How much farther the root goes than the centre of mass should: planted legs stay behind."""


@uncounted_jit
def demands_of(world, tree, limbs, hinges, kinds, asks, goals, first, last, rank, found, tasks, demands, owners):
    """What limbs and points of the trunk need from the trunk down to a rank: places (0–2) and goals (3–5)."""
    count = 0
    for limb in range(4):
        if limbs[limb, 0] < 0:
            continue
        end, before = found[limb, END], found[limb, BEFORE]
        main = end if before < 0 or (end >= 0 and end < before) else before
        if main < 0 or kinds[main, RANK] > rank:
            continue
        x, y, z, needed = shoulder_demand(world, tree, limbs, hinges, limb, found, tasks)
        if not needed:
            continue
        u = limbs[limb, 0]
        for k in range(3):
            demands[count, k] = world[u, k]
        demands[count, 3], demands[count, 4], demands[count, 5] = x, y, z
        owners[count, CARRIER], owners[count, ALLOWED] = tree[u, PARENT], kinds[main, ALLOW]
        if end >= 0 and before >= 0:
            owners[count, ALLOWED] = kinds[end, ALLOW] | kinds[before, ALLOW]
        count += 1
    for i in range(first, last):
        kind, j = kinds[i, KIND], kinds[i, JOINT]
        if kinds[i, RANK] > rank:
            break
        if kind > HALF_SPACE or kind == ORIENTATION or tree[j, LIMB] >= 0:
            continue
        x, y, z = carried(world, j, asks[i, 0], asks[i, 1], asks[i, 2])
        n = i - first
        gx, gy, gz = goals[n, 0, 0], goals[n, 0, 1], goals[n, 0, 2]
        if kind == HALF_SPACE:
            miss = max(goals[n, 0, 3] - asks[i, 3] * x - asks[i, 4] * y - asks[i, 5] * z, 0.0)
            gx, gy, gz = x + miss * asks[i, 3], y + miss * asks[i, 4], z + miss * asks[i, 5]
        if (gx - x) ** 2 + (gy - y) ** 2 + (gz - z) ** 2 < NEAR * NEAR:
            continue
        demands[count, 0], demands[count, 1], demands[count, 2] = x, y, z
        demands[count, 3], demands[count, 4], demands[count, 5] = gx, gy, gz
        owners[count, CARRIER], owners[count, ALLOWED] = j, kinds[i, ALLOW]
        count += 1
    return count


@uncounted_jit
def turn_base(world, tree, j, cap, wx, wy, wz):
    """Turn a joint's base by a world rotation vector, no farther than `cap` from how it came in."""
    p = tree[j, PARENT]
    if p >= 0:
        wx, wy, wz = rotate(world[p, 3], -world[p, 4], -world[p, 5], -world[p, 6], wx, wy, wz)
    aw, ax, ay, az = exp(wx, wy, wz)
    w, x, y, z = multiply(aw, ax, ay, az, world[j, 11], world[j, 12], world[j, 13], world[j, 14])
    cw, cx, cy, cz = world[j, 15], world[j, 16], world[j, 17], world[j, 18]
    aw, ax, ay, az = multiply(w, x, y, z, cw, -cx, -cy, -cz)
    vx, vy, vz = log(aw, ax, ay, az)
    size = math.sqrt(vx * vx + vy * vy + vz * vz)
    if size > cap:
        share = cap / size
        aw, ax, ay, az = exp(share * vx, share * vy, share * vz)
        w, x, y, z = multiply(aw, ax, ay, az, cw, cx, cy, cz)
    norm = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    world[j, 11], world[j, 12], world[j, 13], world[j, 14] = w * norm, x * norm, y * norm, z * norm


@uncounted_jit
def freedom(world, j, cap):
    """How freely a joint still turns, 1 (as it came in) to nearly 0 (as far as it may)."""
    _, ax, ay, az = multiply(
        world[j, 11], world[j, 12], world[j, 13], world[j, 14],
        world[j, 15], -world[j, 16], -world[j, 17], -world[j, 18],
    )  # fmt: skip
    # half the angle's sine is near enough to half the angle
    share = 4.0 * (ax * ax + ay * ay + az * az) / (cap * cap)
    return max(1.0 - share, 0.01)


@uncounted_jit
def lever(world, below, sweep, n, demands, owners, d):
    """How turning joint n of the sweep moves a demand along its way: lever × direction; zeros where it may not."""
    j, carrier = sweep[n], owners[d, CARRIER]
    if (owners[d, ALLOWED] >> n) & 1 == 0 or not below[j, carrier]:
        return 0.0, 0.0, 0.0
    rx, ry, rz = demands[d, 0] - world[j, 0], demands[d, 1] - world[j, 1], demands[d, 2] - world[j, 2]
    nx, ny, nz = demands[d, 6], demands[d, 7], demands[d, 8]
    return ry * nz - rz * ny, rz * nx - rx * nz, rx * ny - ry * nx


@uncounted_jit
def bend_trunk(world, tree, sweep, turns, below, demands, owners, count, level_root, high_root, system):
    """The least turns of head, clavicles and spine (and shift of the root) that bring all demands on their way.

    CCD's rotations that line up joint→point with joint→goal, one after another, bend the first joint too much and go
    back and forth between two shoulders. Here all joints turn at once: Σ g c cᵀ λ = way, ω = g c λ, with c the lever
    of a joint on a demand and g how willingly it turns.
    """
    for a in range(count):
        dx, dy, dz = demands[a, 3] - demands[a, 0], demands[a, 4] - demands[a, 1], demands[a, 5] - demands[a, 2]
        length = max(math.sqrt(dx * dx + dy * dy + dz * dz), 1e-12)
        demands[a, 6], demands[a, 7], demands[a, 8] = dx / length, dy / length, dz / length
        system[a, count] = 0.0
        system[a, count + 1] = length
        for b in range(count):
            system[a, b] = 1e-4 if a == b else 0.0
    for n in range(sweep.shape[0]):
        gain = turns[n, 1] * freedom(world, sweep[n], turns[n, 0])
        for a in range(count):
            ax, ay, az = lever(world, below, sweep, n, demands, owners, a)
            if ax == 0.0 and ay == 0.0 and az == 0.0:
                continue
            for b in range(count):
                bx, by, bz = lever(world, below, sweep, n, demands, owners, b)
                system[a, b] += gain * (ax * bx + ay * by + az * bz)
    for a in range(count):
        for b in range(count):
            if owners[a, ALLOWED] >= ROOT and owners[b, ALLOWED] >= ROOT:
                system[a, b] += level_root * (demands[a, 6] * demands[b, 6] + demands[a, 8] * demands[b, 8])
                system[a, b] += high_root * demands[a, 7] * demands[b, 7]
    for _ in range(12 if count > 1 else 1):
        for a in range(count):
            left = system[a, count + 1]
            for b in range(count):
                if b != a:
                    left -= system[a, b] * system[b, count]
            # shoulders are pulled, never pushed, towards their goals
            system[a, count] = max(left / system[a, a], 0.0)
    for n in range(sweep.shape[0]):
        gain = turns[n, 1] * freedom(world, sweep[n], turns[n, 0])
        wx = wy = wz = 0.0
        for a in range(count):
            ax, ay, az = lever(world, below, sweep, n, demands, owners, a)
            wx += gain * system[a, count] * ax
            wy += gain * system[a, count] * ay
            wz += gain * system[a, count] * az
        size = math.sqrt(wx * wx + wy * wy + wz * wz)
        if size > 1e-12:
            share = min(1.0, MOST_STEP / size)
            turn_base(world, tree, sweep[n], turns[n, 0], share * wx, share * wy, share * wz)
    root = world.shape[0] - 1
    for a in range(count):
        if owners[a, ALLOWED] >= ROOT:
            world[root, 0] += level_root * system[a, count] * demands[a, 6]
            world[root, 1] += high_root * system[a, count] * demands[a, 7]
            world[root, 2] += level_root * system[a, count] * demands[a, 8]


@uncounted_jit
def swing_free_arms(world, tree, limbs, found, x, z):
    """Turn arms that nothing is asked of about their shoulders, to carry their mass where it is needed."""
    for limb in range(2, 4):
        u = limbs[limb, 0]
        if u < 0 or found[limb, END] >= 0 or found[limb, BEFORE] >= 0 or found[limb, TURNED] >= 0:
            continue
        mass = cx = cy = cz = 0.0
        for n in range(FIRST_JOINT, limbs.shape[1]):
            j = limbs[limb, n]
            if j < 0:
                break
            px, py, pz = carried(world, j, world[j, 30], world[j, 31], world[j, 32])
            mass += world[j, 29]
            cx, cy, cz = cx + world[j, 29] * px, cy + world[j, 29] * py, cz + world[j, 29] * pz
        if mass <= 0.0:
            continue
        rx, ry, rz = cx / mass - world[u, 0], cy / mass - world[u, 1], cz / mass - world[u, 2]
        square = max(rx * rx + ry * ry + rz * rz, 1e-6)
        # a fifth of what is missing in each step, and no wild swing
        dx, dz = 0.2 * x / mass, 0.2 * z / mass
        wx, wy, wz = ry * dz / square, (rz * dx - rx * dz) / square, -ry * dx / square
        size = math.sqrt(wx * wx + wy * wy + wz * wz)
        if size > 0.2:
            wx, wy, wz = wx * 0.2 / size, wy * 0.2 / size, wz * 0.2 / size
        turn_base(world, tree, u, MOST_ARM, wx, wy, wz)


@uncounted_jit
def propose(
    world, tree, used, limbs, hinges, sweep, turns, below, kinds, asks, goals, polygons, f, sides, first, last, rank,
    step, found, tasks, demands, owners, system,
):  # fmt: skip
    """One step of trunk and root for all rows down to a rank, into the base pose and the root."""
    root = world.shape[0] - 1
    mass_kept = mass_asked = False
    for i in range(first, last):
        if kinds[i, RANK] > rank:
            break
        kind, j = kinds[i, KIND], kinds[i, JOINT]
        if kind >= CENTER:
            x, y, z = mass_error(world, used, kinds, asks, polygons, f, sides, i)
            # over a support it may wander, a place it keeps
            mass_kept, mass_asked = mass_kept or kind == CENTER, True
            if x * x + y * y + z * z > NEAR * NEAR:
                mass_kept = True
                world[root, 0] += STAYS_BEHIND * x
                world[root, 1] += y
                world[root, 2] += STAYS_BEHIND * z
                if step >= ROOT_FIRST:
                    swing_free_arms(world, tree, limbs, found, x, z)
        elif kind == ORIENTATION and tree[j, LIMB] < 0:
            n = i - first
            aw, ax, ay, az = multiply(
                goals[n, 0, 0], goals[n, 0, 1], goals[n, 0, 2], goals[n, 0, 3],
                world[j, 3], -world[j, 4], -world[j, 5], -world[j, 6],
            )  # fmt: skip
            wx, wy, wz = log(aw, ax, ay, az)
            turn_base(world, tree, j, 3.2, wx, wy, wz)
    count = demands_of(world, tree, limbs, hinges, kinds, asks, goals, first, last, rank, found, tasks, demands, owners)
    helps = ROOT_HELPS if step >= ROOT_FIRST else 0.0
    if mass_asked and count > 0 and step >= ROOT_FIRST:
        # who leans farther needs a counterweight
        x = z = 0.0
        for d in range(count):
            x, z = x - demands[d, 3] + demands[d, 0], z - demands[d, 5] + demands[d, 2]
        share = COUNTERWEIGHT / max(math.sqrt(x * x + z * z), COUNTERWEIGHT)
        swing_free_arms(world, tree, limbs, found, share * x, share * z)
    bend_trunk(world, tree, sweep, turns, below, demands, owners, count, 0.0 if mass_kept else helps, helps, system)


@uncounted_jit
def between_states(world, state, saved, ahead, share):
    """Put bases and root between two remembered states; rows of saved and ahead are those of `state`, then the root."""
    count = state.shape[0]
    for n in range(count):
        j = state[n]
        w, x, y, z = saved[n, 0], saved[n, 1], saved[n, 2], saved[n, 3]
        if share > 0.0:
            aw, ax, ay, az = multiply(ahead[n, 0], ahead[n, 1], ahead[n, 2], ahead[n, 3], w, -x, -y, -z)
            if ax != 0.0 or ay != 0.0 or az != 0.0:
                vx, vy, vz = log(aw, ax, ay, az)
                aw, ax, ay, az = exp(share * vx, share * vy, share * vz)
                w, x, y, z = multiply(aw, ax, ay, az, w, x, y, z)
        world[j, 11], world[j, 12], world[j, 13], world[j, 14] = w, x, y, z
    root = world.shape[0] - 1
    for k in range(3):
        world[root, k] = saved[count, k] + share * (ahead[count, k] - saved[count, k])


@uncounted_jit
def keep_state(world, state, saved):
    """Remember bases and root."""
    for n in range(state.shape[0]):
        for k in range(4):
            saved[n, k] = world[state[n], BASE + k]
    root = world.shape[0] - 1
    for k in range(3):
        saved[state.shape[0], k] = world[root, k]


@uncounted_jit
def keep_pose(world, used, goals, found, tasks):
    """Remember the pose and what is asked of limbs, for a step that may be refused."""
    for n in range(used.shape[0]):
        j = used[n]
        for k in range(BASE):
            world[j, KEPT + k] = world[j, k]
    for n in range(goals.shape[0]):
        for k in range(4):
            goals[n, 2, k], goals[n, 3, k] = goals[n, 0, k], goals[n, 1, k]
    for limb in range(4):
        for k in range(found.shape[1]):
            found[4 + limb, k] = found[limb, k]
        for n in range(4):
            for k in range(6):
                tasks[4 + limb, n, k] = tasks[limb, n, k]


@uncounted_jit
def pose_as_kept(world, used, goals, found, tasks):
    """Take a step back: the pose and what is asked of limbs as remembered."""
    for n in range(used.shape[0]):
        j = used[n]
        for k in range(BASE):
            world[j, k] = world[j, KEPT + k]
    for n in range(goals.shape[0]):
        for k in range(4):
            goals[n, 0, k], goals[n, 1, k] = goals[n, 2, k], goals[n, 3, k]
    for limb in range(4):
        for k in range(found.shape[1]):
            found[limb, k] = found[4 + limb, k]
        for n in range(4):
            for k in range(6):
                tasks[limb, n, k] = tasks[4 + limb, n, k]
    world[world.shape[0] - 1, CENTER_KNOWN] = 0.0


@uncounted_jit
def lean_as_before(world, state, leans, f):
    """Begin with the lean of the instant before: turns of bases against how they came in, and the root's shift."""
    count = state.shape[0]
    total = 0.0
    for n in range(count + 1):
        total += leans[f, n, 0] ** 2 + leans[f, n, 1] ** 2 + leans[f, n, 2] ** 2
    if total < 1e-8:
        return False
    for n in range(count):
        j = state[n]
        aw, ax, ay, az = exp(leans[f, n, 0], leans[f, n, 1], leans[f, n, 2])
        world[j, 11], world[j, 12], world[j, 13], world[j, 14] = multiply(
            aw, ax, ay, az, world[j, 15], world[j, 16], world[j, 17], world[j, 18]
        )
    root = world.shape[0] - 1
    for k in range(3):
        world[root, k] = world[root, 3 + k] + leans[f, count, k]
    return True


@uncounted_jit
def keep_lean(world, state, leans, f, share):
    """Remember how far bases and root are from how they came in, a share of it, for the instant after."""
    count = state.shape[0]
    for n in range(count):
        j = state[n]
        aw, ax, ay, az = multiply(
            world[j, 11], world[j, 12], world[j, 13], world[j, 14],
            world[j, 15], -world[j, 16], -world[j, 17], -world[j, 18],
        )  # fmt: skip
        vx, vy, vz = log(aw, ax, ay, az)
        leans[f, n, 0], leans[f, n, 1], leans[f, n, 2] = share * vx, share * vy, share * vz
    root = world.shape[0] - 1
    for k in range(3):
        leans[f, count, k] = share * (world[root, k] - world[root, 3 + k])


WARMUP: dict = {}
