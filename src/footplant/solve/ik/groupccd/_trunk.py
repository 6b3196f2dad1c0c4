"""Trunk and root of the group solver: steps towards the demands of limbs and centre of mass (Kulpa 2005, section 9)."""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import exp, log, multiply, rotate
from footplant.solve.ik.groupccd._limb import (
    ALLOW,
    BALANCE,
    BASE,
    BEFORE,
    CENTER,
    END,
    FIRST_JOINT,
    HALF_SPACE,
    JOINT,
    KIND,
    LIMB,
    ORIENTATION,
    PARENT,
    RANK,
    SAVED,
    TURNED,
    point_place,
)
from footplant.solve.ik.groupccd._reach import shoulder_demand
from footplant.solve.ik.groupccd._rows import CENTER_KNOWN, mass_error

ROOT = 1 << 62
"""The bit that lets the root move for a row; joint n of the sweep has bit 1 << n."""
NEAR = 1e-4
"""Error, metres or radians, up to which a row is met."""
MOST_STEP = 0.35
"""Largest rotation of a joint of the trunk in one step, radians."""
MOST_ARM = 1.0
"""Largest rotation of a free arm from the input pose for balance, radians."""
ROOT_FIRST = 2
"""First step in which the root helps the spine."""
CARRIER, ALLOWED = 0, 1
"""Columns of `Work.owners`."""
COUNTERWEIGHT = 0.05
"""Largest shift of the centre of mass that free arms aim at in one step, metres."""
ROOT_HELPS = 0.15
"""Compliance of the root relative to the rotations of the trunk, square metres. Doubled, the root moves more and the
spine bends less."""
PELVIS_GAIN, MOST_PITCH = 0.5, 1.4
"""Compliance of the pitch of the pelvis relative to the other rotations, and its largest angle from the input pose,
radians. At a compliance of 0.1, hips come down by 56 instead of 53 cm and are 43 instead of 24 mm before their place at
most, over 24 low targets of three bodies; the angle was set once."""
ROOT_OVERSHOOT = 1.15
"""Ratio of the root's shift to the shift of the centre of mass: planted legs stay behind."""


@uncounted_jit
def demands_of(body, rows, work, rank):
    """Collect what limbs and points of the trunk need from the trunk down to a rank: positions (0–2) and goals (3–5).

    Return their number.
    """
    world, goals, found, demands, owners = work.world, work.goals, work.found, work.demands, work.owners
    tree, limbs, kinds, asks, first = body.tree, body.limbs, rows.kinds, rows.asks, rows.first
    count = 0
    for limb in range(4):
        if limbs[limb, 0] < 0:
            continue
        end, before = found[limb, END], found[limb, BEFORE]
        main = end if before < 0 or (end >= 0 and end < before) else before
        if main < 0 or kinds[main, RANK] > rank:
            continue
        x, y, z, needed = shoulder_demand(body, work, limb)
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
    for i in range(first, rows.last):
        kind, j = kinds[i, KIND], kinds[i, JOINT]
        if kinds[i, RANK] > rank:
            break
        if kind > HALF_SPACE or kind == ORIENTATION or tree[j, LIMB] >= 0:
            continue
        x, y, z = point_place(world, j, asks[i, 0], asks[i, 1], asks[i, 2])
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
    """Rotate a joint's base by a world rotation vector, at most `cap` radians away from the input pose."""
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
    """Return the compliance left to a joint, from 1 (input pose) to nearly 0 (at its limit)."""
    _, ax, ay, az = multiply(
        world[j, 11], world[j, 12], world[j, 13], world[j, 14],
        world[j, 15], -world[j, 16], -world[j, 17], -world[j, 18],
    )  # fmt: skip
    # sin(θ/2) approximates θ/2
    share = 4.0 * (ax * ax + ay * ay + az * az) / (cap * cap)
    return max(1.0 - share, 0.01)


@uncounted_jit
def lever(body, work, n, d):
    """Return lever × direction of joint n of the sweep on demand d; zeros where it may not move."""
    world, demands, owners = work.world, work.demands, work.owners
    j, carrier = body.sweep[n], owners[d, CARRIER]
    if (owners[d, ALLOWED] >> n) & 1 == 0 or not body.below[j, carrier]:
        return 0.0, 0.0, 0.0
    rx, ry, rz = demands[d, 0] - world[j, 0], demands[d, 1] - world[j, 1], demands[d, 2] - world[j, 2]
    nx, ny, nz = demands[d, 6], demands[d, 7], demands[d, 8]
    return ry * nz - rz * ny, rz * nx - rx * nz, rx * ny - ry * nx


@uncounted_jit
def kept_over_soles(rows, rank):
    """Return whether a row keeps the centre of mass over the soles, down to a rank."""
    for i in range(rows.first, rows.last):
        if rows.kinds[i, RANK] > rank:
            break
        if rows.kinds[i, KIND] == BALANCE:
            return True
    return False


@uncounted_jit
def hip_line(body, world):
    """Return the middle of the hip joints, and the unit direction from left to right."""
    one, two = body.limbs[0, 0], body.limbs[1, 0]
    x, y, z = world[one, 0] - world[two, 0], world[one, 1] - world[two, 1], world[one, 2] - world[two, 2]
    size = max(math.sqrt(x * x + y * y + z * z), 1e-9)
    middle = (
        0.5 * (world[one, 0] + world[two, 0]), 0.5 * (world[one, 1] + world[two, 1]),
        0.5 * (world[one, 2] + world[two, 2]),
    )  # fmt: skip
    return middle, (x / size, y / size, z / size)


@uncounted_jit
def pitch_lever(work, d, middle, line):
    """Return lever × direction of the pitch about the line of the hip joints on demand d."""
    demands = work.demands
    if work.owners[d, ALLOWED] < ROOT:
        return 0.0
    rx, ry, rz = demands[d, 0] - middle[0], demands[d, 1] - middle[1], demands[d, 2] - middle[2]
    nx, ny, nz = demands[d, 6], demands[d, 7], demands[d, 8]
    return (
        line[0] * (ry * nz - rz * ny) + line[1] * (rz * nx - rx * nz) + line[2] * (rx * ny - ry * nx)
    )  # fmt: skip


@uncounted_jit
def pitch_pelvis(body, world, angle, middle, line):
    """Rotate the pelvis about the line of the hip joints, which stay: the root makes way."""
    j = body.pelvis[0]
    p = body.tree[j, PARENT]
    bw, bx, by, bz = world[j, 11], -world[j, 12], -world[j, 13], -world[j, 14]
    turn_base(world, body.tree, j, MOST_PITCH, angle * line[0], angle * line[1], angle * line[2])
    w, x, y, z = multiply(world[j, 11], world[j, 12], world[j, 13], world[j, 14], bw, bx, by, bz)
    if p >= 0:
        pw, px, py, pz = world[p, 3], world[p, 4], world[p, 5], world[p, 6]
        w, x, y, z = multiply(pw, px, py, pz, w, x, y, z)
        w, x, y, z = multiply(w, x, y, z, pw, -px, -py, -pz)
    rx, ry, rz = middle[0] - world[j, 0], middle[1] - world[j, 1], middle[2] - world[j, 2]
    vx, vy, vz = rotate(w, x, y, z, rx, ry, rz)
    root = world.shape[0] - 1
    world[root, 0] += rx - vx
    world[root, 1] += ry - vy
    world[root, 2] += rz - vz


@uncounted_jit
def write_trunk_system(body, work, count, level_root, high_root, pitch):
    """Write Σ g c cᵀ and the distances of `bend_trunk` to `work.system`, and the demands' unit directions."""
    world, demands, owners, system = work.world, work.demands, work.owners, work.system
    sweep, turns = body.sweep, body.turns
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
            ax, ay, az = lever(body, work, n, a)
            if ax == 0.0 and ay == 0.0 and az == 0.0:
                continue
            for b in range(count):
                bx, by, bz = lever(body, work, n, b)
                system[a, b] += gain * (ax * bx + ay * by + az * bz)
    if pitch > 0.0:
        middle, line = hip_line(body, world)
        for a in range(count):
            for b in range(count):
                system[a, b] += pitch * pitch_lever(work, a, middle, line) * pitch_lever(work, b, middle, line)
    for a in range(count):
        for b in range(count):
            if owners[a, ALLOWED] >= ROOT and owners[b, ALLOWED] >= ROOT:
                system[a, b] += level_root * (demands[a, 6] * demands[b, 6] + demands[a, 8] * demands[b, 8])
                system[a, b] += high_root * demands[a, 7] * demands[b, 7]


@uncounted_jit
def bend_trunk(body, work, count, level_root, high_root, pitches):
    """Rotate head, clavicles and spine, and shift the root, by the least amounts that move all demands to their goals.

    CCD's successive rotations that align joint→point with joint→goal bend the first joint too much and oscillate
    between two shoulders. Here all joints rotate at once: (Σ g c cᵀ) λ = distance, ω = g c λ, λ ≥ 0, with c the lever
    of a joint on a demand and g its compliance; solved by projected Gauss–Seidel. pitches: whether the pelvis pitches
    about the line of the hip joints as well.
    """
    world, demands, owners, system = work.world, work.demands, work.owners, work.system
    sweep, turns = body.sweep, body.turns
    pitch = PELVIS_GAIN * freedom(world, body.pelvis[0], MOST_PITCH) if pitches else 0.0
    write_trunk_system(body, work, count, level_root, high_root, pitch)
    for _ in range(12 if count > 1 else 1):
        for a in range(count):
            left = system[a, count + 1]
            for b in range(count):
                if b != a:
                    left -= system[a, b] * system[b, count]
            # demands pull towards their goals and never push
            system[a, count] = max(left / system[a, a], 0.0)
    for n in range(sweep.shape[0]):
        gain = turns[n, 1] * freedom(world, sweep[n], turns[n, 0])
        wx = wy = wz = 0.0
        for a in range(count):
            ax, ay, az = lever(body, work, n, a)
            wx += gain * system[a, count] * ax
            wy += gain * system[a, count] * ay
            wz += gain * system[a, count] * az
        size = math.sqrt(wx * wx + wy * wy + wz * wz)
        if size > 1e-12:
            share = min(1.0, MOST_STEP / size)
            turn_base(world, body.tree, sweep[n], turns[n, 0], share * wx, share * wy, share * wz)
    root = world.shape[0] - 1
    for a in range(count):
        if owners[a, ALLOWED] >= ROOT:
            world[root, 0] += level_root * system[a, count] * demands[a, 6]
            world[root, 1] += high_root * system[a, count] * demands[a, 7]
            world[root, 2] += level_root * system[a, count] * demands[a, 8]
    if pitch > 0.0:
        middle, line = hip_line(body, world)
        angle = 0.0
        for a in range(count):
            angle += pitch * system[a, count] * pitch_lever(work, a, middle, line)
        if abs(angle) > 1e-12:
            pitch_pelvis(body, world, min(max(angle, -MOST_STEP), MOST_STEP), middle, line)


@uncounted_jit
def swing_free_arms(body, work, x, z):
    """Rotate arms without tasks about their shoulders to shift the centre of mass by (x, z) metres."""
    world, found, limbs = work.world, work.found, body.limbs
    for limb in range(2, 4):
        u = limbs[limb, 0]
        if u < 0 or found[limb, END] >= 0 or found[limb, BEFORE] >= 0 or found[limb, TURNED] >= 0:
            continue
        mass = cx = cy = cz = 0.0
        for n in range(FIRST_JOINT, limbs.shape[1]):
            j = limbs[limb, n]
            if j < 0:
                break
            px, py, pz = point_place(world, j, world[j, 30], world[j, 31], world[j, 32])
            mass += world[j, 29]
            cx, cy, cz = cx + world[j, 29] * px, cy + world[j, 29] * py, cz + world[j, 29] * pz
        if mass <= 0.0:
            continue
        rx, ry, rz = cx / mass - world[u, 0], cy / mass - world[u, 1], cz / mass - world[u, 2]
        square = max(rx * rx + ry * ry + rz * rz, 1e-6)
        # a fifth of the shift in each step, and at most 0.2 rad
        dx, dz = 0.2 * x / mass, 0.2 * z / mass
        wx, wy, wz = ry * dz / square, (rz * dx - rx * dz) / square, -ry * dx / square
        size = math.sqrt(wx * wx + wy * wy + wz * wz)
        if size > 0.2:
            wx, wy, wz = wx * 0.2 / size, wy * 0.2 / size, wz * 0.2 / size
        turn_base(world, body.tree, u, MOST_ARM, wx, wy, wz)


@uncounted_jit
def propose(body, rows, work, rank, step):
    """Take one step of trunk and root for all rows down to a rank, in base rotations and root."""
    world, goals, demands, tree = work.world, work.goals, work.demands, body.tree
    kinds, first = rows.kinds, rows.first
    root = world.shape[0] - 1
    mass_kept = mass_asked = False
    for i in range(first, rows.last):
        if kinds[i, RANK] > rank:
            break
        kind, j = kinds[i, KIND], kinds[i, JOINT]
        if kind >= CENTER:
            x, y, z = mass_error(body, rows, work, i)
            # it may move freely inside a support polygon, but must stay at a target position
            mass_kept, mass_asked = mass_kept or kind == CENTER, True
            if x * x + y * y + z * z > NEAR * NEAR:
                mass_kept = True
                world[root, 0] += ROOT_OVERSHOOT * x
                world[root, 1] += y
                world[root, 2] += ROOT_OVERSHOOT * z
                if step >= ROOT_FIRST:
                    swing_free_arms(body, work, x, z)
        elif kind == ORIENTATION and tree[j, LIMB] < 0:
            n = i - first
            aw, ax, ay, az = multiply(
                goals[n, 0, 0], goals[n, 0, 1], goals[n, 0, 2], goals[n, 0, 3],
                world[j, 3], -world[j, 4], -world[j, 5], -world[j, 6],
            )  # fmt: skip
            wx, wy, wz = log(aw, ax, ay, az)
            turn_base(world, tree, j, 3.2, wx, wy, wz)
    count = demands_of(body, rows, work, rank)
    helps = ROOT_HELPS if step >= ROOT_FIRST else 0.0
    pitches = helps > 0.0 and body.pelvis[0] >= 0 and kept_over_soles(rows, rank)
    if mass_asked and count > 0 and step >= ROOT_FIRST and not pitches:
        # leaning farther needs a counterweight
        x = z = 0.0
        for d in range(count):
            x, z = x - demands[d, 3] + demands[d, 0], z - demands[d, 5] + demands[d, 2]
        share = COUNTERWEIGHT / max(math.sqrt(x * x + z * z), COUNTERWEIGHT)
        swing_free_arms(body, work, share * x, share * z)
    bend_trunk(body, work, count, 0.0 if mass_kept else helps, helps, pitches)


@uncounted_jit
def interpolate_state(world, state, saved, ahead, share):
    """Set base rotations and root between two saved states; rows are those of `state`, then the root."""
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
def save_state(world, state, saved):
    """Save base rotations and root."""
    for n in range(state.shape[0]):
        for k in range(4):
            saved[n, k] = world[state[n], BASE + k]
    root = world.shape[0] - 1
    for k in range(3):
        saved[state.shape[0], k] = world[root, k]


@uncounted_jit
def save_pose(body, work):
    """Save the pose and the tasks of limbs before a step that may be rejected."""
    world, used, goals, found, tasks = work.world, body.used, work.goals, work.found, work.tasks
    for n in range(used.shape[0]):
        j = used[n]
        for k in range(BASE):
            world[j, SAVED + k] = world[j, k]
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
def restore_pose(body, work):
    """Undo a step: restore the pose and the tasks of limbs."""
    world, used, goals, found, tasks = work.world, body.used, work.goals, work.found, work.tasks
    for n in range(used.shape[0]):
        j = used[n]
        for k in range(BASE):
            world[j, k] = world[j, SAVED + k]
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
def restore_lean(world, state, leans, f):
    """Start from the lean of the previous instant: rotations of the bases and shift of the root from the input pose.

    Return whether there is any.
    """
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
def save_lean(world, state, leans, f, share):
    """Save a share of the bases' rotations and of the root's shift from the input pose, for the next instant."""
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
