"""Arms and legs that keep what matters: touches, and staying out of the scene and the body (Shin 2002, section 5.3)."""

from __future__ import annotations

import math

from footplant.kernels import jit
from footplant.kernels.balls import closest
from footplant.kernels.hybrid import bend_limb, path_offset, path_turn
from footplant.kernels.importance import spring
from footplant.kernels.limb import aim
from footplant.kernels.puppet_tables import from_thing, out_of_body, soften
from footplant.kernels.quaternion import exp, log, multiply, rotate
from footplant.kernels.surface import place

MARGIN = 0.01
"""Metres around a touch of the body in which it is rounded."""
CALM, HASTE = 0.06, 0.01
"""Half-lives in seconds in which a limb takes up a change that does not matter, and one that matters fully."""
GIVE = 0.003
"""Metres that a foot in the air may be in the scene."""
SWEEPS = 3
"""How often a hand is pushed out of everything in turn."""
SOFTNESS = 0.015
"""The last share of a limb's reach that is approached without being met, so that knees and elbows do not snap."""
MOST_FLEXION = 2.9
"""Radians to which an elbow or knee bends at most."""
MEETINGS = 8
"""How often the place where hands meet is pushed out of the body and drawn back within reach, in turn."""
STRETCH = 0.98
"""Share of its length to which an arm is stretched for hands that meet."""


@jit
def turn_upper(puppet, joint, work, w, x, y, z):
    """Turn a shoulder (hip) by a rotation given in world axes; only its local rotation changes."""
    local, p = work.local[0, joint], puppet.parents[joint]
    pw, px, py, pz = 1.0, 0.0, 0.0, 0.0
    if p >= 0:
        r = work.rotations[0, p]
        pw, px, py, pz = r[0], r[1], r[2], r[3]
    qw, qx, qy, qz = multiply(pw, px, py, pz, local[0], local[1], local[2], local[3])
    qw, qx, qy, qz = multiply(w, x, y, z, qw, qx, qy, qz)
    local[0], local[1], local[2], local[3] = multiply(pw, -px, -py, -pz, qw, qx, qy, qz)


@jit
def limb_places(puppet, figure, limb, work):
    """Where a limb's elbow (knee) and wrist (ankle) are as its local rotations stand: two places, and above its end.

    The last four are the world rotation of what the wrist (ankle) hangs on.
    """
    upper, lower, end = figure.limbs[limb, 0], figure.limbs[limb, 1], figure.limbs[limb, 2]
    local, offsets, p = work.local[0], puppet.offsets[0], puppet.parents[upper]
    pw, px, py, pz = 1.0, 0.0, 0.0, 0.0
    if p >= 0:
        r = work.rotations[0, p]
        pw, px, py, pz = r[0], r[1], r[2], r[3]
    uw, ux, uy, uz = multiply(pw, px, py, pz, local[upper, 0], local[upper, 1], local[upper, 2], local[upper, 3])
    hx, hy, hz = path_offset(puppet.parents, offsets, local, upper, lower)
    hx, hy, hz = rotate(uw, ux, uy, uz, hx, hy, hz)
    bw, bx, by, bz = path_turn(puppet.parents, local, upper, lower)
    lw, lx, ly, lz = multiply(uw, ux, uy, uz, bw, bx, by, bz)
    lw, lx, ly, lz = multiply(lw, lx, ly, lz, local[lower, 0], local[lower, 1], local[lower, 2], local[lower, 3])
    ex, ey, ez = path_offset(puppet.parents, offsets, local, lower, end)
    ex, ey, ez = rotate(lw, lx, ly, lz, ex, ey, ez)
    bw, bx, by, bz = path_turn(puppet.parents, local, lower, end)
    lw, lx, ly, lz = multiply(lw, lx, ly, lz, bw, bx, by, bz)
    s = work.positions[0, upper]
    hx, hy, hz = s[0] + hx, s[1] + hy, s[2] + hz
    return hx, hy, hz, hx + ex, hy + ey, hz + ez, lw, lx, ly, lz


@jit
def keep_orientation(puppet, figure, limb, work):
    """Turn a hand (foot) so that it points as the performer's."""
    end = figure.limbs[limb, 2]
    _, _, _, _, _, _, w, x, y, z = limb_places(puppet, figure, limb, work)
    c, local = work.captured[end], work.local[0, end]
    local[0], local[1], local[2], local[3] = multiply(w, -x, -y, -z, c[0], c[1], c[2], c[3])


@jit
def bend_to(puppet, figure, limb, goal, work):
    """Put the end of a limb on a goal in closed form, its orientation as captured.

    A limb is not stretched to the very last for it, so that it does not snap straight, unless it is that straight
    already.
    """
    upper, lower, end = figure.limbs[limb, 0], figure.limbs[limb, 1], figure.limbs[limb, 2]
    s, length = work.positions[0, upper], puppet.lengths[limb]
    _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, figure, limb, work)
    now = math.sqrt((x - s[0]) ** 2 + (y - s[1]) ** 2 + (z - s[2]) ** 2)
    x, y, z = goal[0] - s[0], goal[1] - s[1], goal[2] - s[2]
    far, width = math.sqrt(x * x + y * y + z * z), SOFTNESS * length
    start = length - width
    if far > start:
        most = max(start + width * math.tanh((far - start) / width), now)
        share = min(most / far, 1.0)
        goal[0], goal[1], goal[2] = s[0] + share * x, s[1] + share * y, s[2] + share * z
    bend_limb(
        puppet.parents, puppet.offsets[0], upper, lower, end, puppet.axes[limb], 0.0, MOST_FLEXION, 0.0, 0.0, goal,
        work.captured[end], 1.0, 1.0, work.positions[0], work.rotations[0], work.local[0], work.scratch,
    )  # fmt: skip


@jit
def leg(puppet, figure, limb, importance, things, poses, stage, work):
    """A leg: its ankle goes to its goal by its importance, and out of the scene along the ray to the hip."""
    end, upper = figure.limbs[limb, 2], figure.limbs[limb, 0]
    weight, goal, first = importance.scene[limb], work.goals[limb], 3 * limb - 4
    now = work.positions[0, end]
    x, y, z = now[0], now[1], now[2]
    # the closest place in the range ball that shrinks from where the ankle is onto the goal (equation 5.10)
    x, y, z = x + weight * (goal[0] - x), y + weight * (goal[1] - y), z + weight * (goal[2] - z)
    for c in range(3):
        n = first + c
        for o in range(things.kinds.shape[0]):
            rx, ry, rz = work.points[n, 0], work.points[n, 1], work.points[n, 2]
            d, nx, ny, nz = from_thing(things, o, poses[o], stage, x + rx, y + ry, z + rz)
            depth = soften(-d - GIVE, GIVE)
            if depth > 0.0:
                hx = work.positions[0, upper, 0] - x
                hy = work.positions[0, upper, 1] - y
                hz = work.positions[0, upper, 2] - z
                length = max(math.sqrt(hx * hx + hy * hy + hz * hz), 1e-9)
                slope = (hx * nx + hy * ny + hz * nz) / length
                if slope > 0.5:
                    depth = depth / (slope * length)
                    x, y, z = x + depth * hx, y + depth * hy, z + depth * hz
                else:
                    x, y, z = x + depth * nx, y + depth * ny, z + depth * nz
    work.scratch[7, 0], work.scratch[7, 1], work.scratch[7, 2] = x, y, z
    if abs(x - now[0]) + abs(y - now[1]) + abs(z - now[2]) > 1e-12:
        bend_to(puppet, figure, limb, work.scratch[7], work)


@jit
def body_place(tubes, importance, stage, n, moves, x, y, z, work):
    """(importance, place): how much thing n touches the body, and where it would be on the target's body for that.

    Each near segment tells a place: as far along it, on the same side, as far from its surface. moves (S,): segments
    that are moved by this step themselves; from those only half of the way is gone (equation 5.9).
    """
    total, most, gx, gy, gz = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(tubes.joints.shape[0]):
        w = importance.body[n, k]
        if w <= 0.0:
            continue
        seen = importance.seen[n, k]
        px, py, pz = place(
            tubes, k, work.positions[0], work.rotations[0], seen[0], seen[1], seen[2], stage.size * seen[3],
            stage.size * seen[4],
        )  # fmt: skip
        half = 0.5 if moves[k] else 1.0
        share = w * w * w * w
        gx, gy, gz = gx + share * half * (px - x), gy + share * half * (py - y), gz + share * half * (pz - z)
        total += share
        most = max(most, w)
    if total <= 1e-30:
        return 0.0, x, y, z
    return most, x + gx / total, y + gy / total, z + gz / total


@jit
def upper_arm(puppet, figure, arm, tubes, trunk, moves, importance, stage, work):
    """An elbow goes where it is near the body by its importance, and stays out of it; the forearm goes along."""
    upper = figure.limbs[arm, 0]
    ex, ey, ez, _, _, _, _, _, _, _ = limb_places(puppet, figure, arm, work)
    w, gx, gy, gz = body_place(tubes, importance, stage, 4 + arm, moves, ex, ey, ez, work)
    x, y, z = ex + w * (gx - ex), ey + w * (gy - ey), ez + w * (gz - ez)
    s = work.positions[0, upper]
    ax, ay, az = ex - s[0], ey - s[1], ez - s[2]
    length = math.sqrt(ax * ax + ay * ay + az * az)
    for _ in range(SWEEPS):
        px, py, pz = out_of_body(
            tubes, trunk, work.positions[0], work.rotations[0], x, y, z, puppet.elbows[arm], MARGIN
        )
        if px * px + py * py + pz * pz < 1e-18:
            break
        x, y, z = x + px - s[0], y + py - s[1], z + pz - s[2]
        norm = length / max(math.sqrt(x * x + y * y + z * z), 1e-9)
        x, y, z = s[0] + norm * x, s[1] + norm * y, s[2] + norm * z
    if abs(x - ex) + abs(y - ey) + abs(z - ez) < 1e-12:
        return False
    qw, qx, qy, qz = aim(ax, ay, az, x - s[0], y - s[1], z - s[2], 0.0, 1.0, 0.0)
    turn_upper(puppet, upper, work, qw, qx, qy, qz)
    return True


@jit
def meeting_place(tubes, trunk, importance, stage, work):
    """Where the middle of the palms is on the target's body: as far in front of it as on the performer's."""
    total, x, y, z = 0.0, 0.0, 0.0, 0.0
    for k in range(tubes.joints.shape[0]):
        if trunk[k]:
            seen = importance.between[k]
            share = 1.0 / (max(seen[5], 0.0) + 0.03) ** 4
            px, py, pz = place(
                tubes, k, work.positions[0], work.rotations[0], seen[0], seen[1], seen[2], stage.size * seen[3],
                stage.size * seen[4],
            )  # fmt: skip
            total, x, y, z = total + share, x + share * px, y + share * py, z + share * pz
    total = max(total, 1e-12)
    return x / total, y / total, z / total


@jit
def meet(puppet, figure, tubes, trunk, importance, stage, work):
    """Bring the palms together as they are on the performer: in front of the body, within reach of both arms."""
    w = importance.hands[0]
    if w <= 0.0:
        return
    half = 0.5 * stage.size
    gx, gy, gz = half * importance.hands[1], half * importance.hands[2], half * importance.hands[3]
    middle, found = work.scratch[6], work.scratch[7]
    middle[0], middle[1], middle[2] = meeting_place(tubes, trunk, importance, stage, work)
    # the middle must be in two balls, those that the arms reach, seen from the middle
    for arm in range(2):
        sign = 1.0 if arm == 0 else -1.0
        s, r = work.positions[0, figure.limbs[arm, 0]], work.points[arm]
        work.centers[arm, 0] = s[0] + r[0] - sign * gx
        work.centers[arm, 1] = s[1] + r[1] - sign * gy
        work.centers[arm, 2] = s[2] + r[2] - sign * gz
        work.radii[arm] = STRETCH * puppet.lengths[arm]
    for _ in range(MEETINGS):
        px, py, pz = 0.0, 0.0, 0.0
        for arm in range(2):
            sign = 1.0 if arm == 0 else -1.0
            r = work.points[arm]
            x, y, z = middle[0] + sign * gx - r[0], middle[1] + sign * gy - r[1], middle[2] + sign * gz - r[2]
            dx, dy, dz = hand_push(puppet, figure, arm, tubes, trunk, x, y, z, work)
            px, py, pz = px + 0.5 * dx, py + 0.5 * dy, pz + 0.5 * dz
        middle[0], middle[1], middle[2] = middle[0] + px, middle[1] + py, middle[2] + pz
        if closest(middle, work.centers[:2], work.radii[:2], found):
            middle[0], middle[1], middle[2] = found[0], found[1], found[2]
    for arm in range(2):
        sign = 1.0 if arm == 0 else -1.0
        wrist, r = work.wrists[arm], work.points[arm]
        wrist[0] += w * (middle[0] + sign * gx - r[0] - wrist[0])
        wrist[1] += w * (middle[1] + sign * gy - r[1] - wrist[1])
        wrist[2] += w * (middle[2] + sign * gz - r[2] - wrist[2])


@jit
def hand_push(puppet, figure, arm, tubes, trunk, x, y, z, work):
    """The push (3) that takes a hand whose wrist is at a place out of the body."""
    sx, sy, sz = x, y, z
    c = work.captured[figure.limbs[arm, 2]]
    for n in range(puppet.probes.shape[1]):
        probe = puppet.probes[arm, n]
        rx, ry, rz = rotate(c[0], c[1], c[2], c[3], probe[0], probe[1], probe[2])
        px, py, pz = out_of_body(
            tubes, trunk, work.positions[0], work.rotations[0], x + rx, y + ry, z + rz, probe[3], MARGIN
        )
        x, y, z = x + px, y + py, z + pz
    return x - sx, y - sy, z - sz


@jit
def out_of_scene(arm, things, poses, stage, puppet, figure, x, y, z, work):
    """The push (3) that takes a palm out of the scene, along the ray to the shoulder where that is short."""
    sx, sy, sz = x, y, z
    s = work.positions[0, figure.limbs[arm, 0]]
    for o in range(things.kinds.shape[0]):
        d, nx, ny, nz = from_thing(
            things, o, poses[o], stage, x + work.points[arm, 0], y + work.points[arm, 1], z + work.points[arm, 2]
        )
        depth = soften(-d - GIVE, GIVE)
        if depth > 0.0:
            hx, hy, hz = s[0] - x, s[1] - y, s[2] - z
            length = max(math.sqrt(hx * hx + hy * hy + hz * hz), 1e-9)
            slope = (hx * nx + hy * ny + hz * nz) / length
            if slope > 0.5:
                depth = depth / (slope * length)
                x, y, z = x + depth * hx, y + depth * hy, z + depth * hz
            else:
                x, y, z = x + depth * nx, y + depth * ny, z + depth * nz
    return x - sx, y - sy, z - sz


@jit
def swing_elbow(puppet, figure, arm, tubes, trunk, work):
    """Swing the elbow about the line from shoulder to wrist until it is out of the body; the hand stays."""
    s = work.positions[0, figure.limbs[arm, 0]]
    for _ in range(SWEEPS):
        ex, ey, ez, wx, wy, wz, _, _, _, _ = limb_places(puppet, figure, arm, work)
        px, py, pz = out_of_body(
            tubes, trunk, work.positions[0], work.rotations[0], ex, ey, ez, puppet.elbows[arm], MARGIN
        )
        if px * px + py * py + pz * pz < 1e-16:
            return
        ax, ay, az = wx - s[0], wy - s[1], wz - s[2]
        norm = max(math.sqrt(ax * ax + ay * ay + az * az), 1e-9)
        ax, ay, az = ax / norm, ay / norm, az / norm
        ex, ey, ez = ex - s[0], ey - s[1], ez - s[2]
        # how the elbow moves when it swings: the axis × its arm
        tx, ty, tz = ay * ez - az * ey, az * ex - ax * ez, ax * ey - ay * ex
        square = tx * tx + ty * ty + tz * tz
        angle = (tx * px + ty * py + tz * pz) / (square + 4e-4)
        turn_upper(puppet, figure.limbs[arm, 0], work, *exp(angle * ax, angle * ay, angle * az))
        keep_orientation(puppet, figure, arm, work)


@jit
def arms(puppet, figure, tubes, trunk, moves, importance, things, poses, stage, work):
    """Both arms: elbows first, then hands, which may meet; then elbows again, with the hands where they are."""
    for arm in range(2):
        if figure.limbs[arm, 2] < 0:
            continue
        if upper_arm(puppet, figure, arm, tubes, trunk, moves[arm], importance, stage, work):
            keep_orientation(puppet, figure, arm, work)
        _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, figure, arm, work)
        px, py, pz = x + work.points[arm, 0], y + work.points[arm, 1], z + work.points[arm, 2]
        w, gx, gy, gz = body_place(tubes, importance, stage, arm, moves[arm], px, py, pz, work)
        wrist = work.wrists[arm]
        wrist[0], wrist[1], wrist[2] = x + w * (gx - px), y + w * (gy - py), z + w * (gz - pz)
    both = figure.limbs[0, 2] >= 0 and figure.limbs[1, 2] >= 0
    if both:
        meet(puppet, figure, tubes, trunk, importance, stage, work)
    for arm in range(2):
        if figure.limbs[arm, 2] < 0:
            continue
        w, wrist, goal = importance.scene[arm], work.wrists[arm], work.goals[arm]
        for k in range(3):
            wrist[k] += w * (goal[k] - wrist[k])
    together = importance.hands[0] if both else 0.0
    for _ in range(SWEEPS):
        for arm in range(2):
            push = work.pushes[arm]
            push[0], push[1], push[2] = 0.0, 0.0, 0.0
            if figure.limbs[arm, 2] >= 0:
                wrist = work.wrists[arm]
                x, y, z = hand_push(puppet, figure, arm, tubes, trunk, wrist[0], wrist[1], wrist[2], work)
                sx, sy, sz = out_of_scene(
                    arm, things, poses, stage, puppet, figure, wrist[0] + x, wrist[1] + y, wrist[2] + z, work
                )
                push[0], push[1], push[2] = x + sx, y + sy, z + sz
        most = 0.0
        for arm in range(2):
            # palms that are together are pushed together
            for k in range(3):
                own, other = work.pushes[arm, k], work.pushes[1 - arm, k]
                work.wrists[arm, k] += own + 0.5 * together * (other - own)
                most = max(most, abs(own))
        if most < 1e-9:
            break
    for arm in range(2):
        if figure.limbs[arm, 2] >= 0:
            lower_arm(puppet, figure, arm, tubes, trunk, 1.5 * (1.0 - together), work)


@jit
def lower_arm(puppet, figure, arm, tubes, trunk, give, work):
    """Put a wrist where it goes and swing the elbow out of the body; where it cannot get out, the wrist gives way.

    give: how much of that; nothing where the hands are together.
    """
    _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, figure, arm, work)
    wrist = work.wrists[arm]
    moved = abs(wrist[0] - x) + abs(wrist[1] - y) + abs(wrist[2] - z) > 1e-12
    for n in range(3):
        for k in range(4):
            work.held[n, k] = work.local[0, figure.limbs[arm, n], k]
    for again in range(SWEEPS):
        if moved:
            bend_to(puppet, figure, arm, wrist, work)
        swing_elbow(puppet, figure, arm, tubes, trunk, work)
        x, y, z, _, _, _, _, _, _, _ = limb_places(puppet, figure, arm, work)
        px, py, pz = out_of_body(
            tubes, trunk, work.positions[0], work.rotations[0], x, y, z, puppet.elbows[arm] - MARGIN, MARGIN
        )
        if give <= 0.0 or px * px + py * py + pz * pz < 1e-10 or again == SWEEPS - 1:
            return
        wrist[0], wrist[1], wrist[2] = wrist[0] + give * px, wrist[1] + give * py, wrist[2] + give * pz
        x, y, z = hand_push(puppet, figure, arm, tubes, trunk, wrist[0], wrist[1], wrist[2], work)
        wrist[0], wrist[1], wrist[2] = wrist[0] + x, wrist[1] + y, wrist[2] + z
        moved = True
        for n in range(3):
            for k in range(4):
                work.local[0, figure.limbs[arm, n], k] = work.held[n, k]


@jit
def note_angles(figure, work):
    """Note the captured angles of the limbs."""
    for limb in range(4):
        for n in range(3):
            j = figure.limbs[limb, n]
            if j >= 0:
                for k in range(4):
                    work.angles[limb, n, k] = work.local[0, j, k]


@jit
def ease_limbs(figure, importance, dt, started, limbs, work):
    """Let the limbs' departure from their captured angles change without haste, the quicker the more they matter.

    A foot that matters fully is not eased at all: it stands.
    """
    for limb in range(4):
        if figure.limbs[limb, 2] < 0:
            continue
        w = importance.scene[limb]
        half_life = CALM * (1.0 - w)
        if limb < 2:
            w = max(w, importance.hands[0])
            for k in range(importance.body.shape[1]):
                w = max(w, importance.body[limb, k])
            half_life = HASTE + (CALM - HASTE) * (1.0 - w)
        for n in range(3):
            local, own, state = work.local[0, figure.limbs[limb, n]], work.angles[limb, n], limbs.turns[limb, n]
            x, y, z = log(*multiply(local[0], local[1], local[2], local[3], own[0], -own[1], -own[2], -own[3]))
            if started and half_life > 1e-4:
                # the other way round, where that is where it came from
                angle = math.sqrt(x * x + y * y + z * z)
                if angle > 1e-6 and x * state[0] + y * state[1] + z * state[2] < -math.pi * angle + 1e-9:
                    turn = 1.0 - 2.0 * math.pi / angle
                    x, y, z = turn * x, turn * y, turn * z
                state[0], state[3] = spring(state[0], state[3], x, half_life, dt)
                state[1], state[4] = spring(state[1], state[4], y, half_life, dt)
                state[2], state[5] = spring(state[2], state[5], z, half_life, dt)
                local[0], local[1], local[2], local[3] = multiply(
                    *exp(state[0], state[1], state[2]), own[0], own[1], own[2], own[3]
                )
            else:
                rate = 1.0 / dt if started else 0.0
                state[3], state[4], state[5] = rate * (x - state[0]), rate * (y - state[1]), rate * (z - state[2])
                state[0], state[1], state[2] = x, y, z


WARMUP: dict = {}
