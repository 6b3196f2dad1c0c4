"""Arms and legs that keep what matters: touches, and staying out of the scene and the body (Shin 2002, section 5.3)."""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.hybrid import bend_limb, path_offset, path_turn
from footplant.kernels.importance import share, spring
from footplant.kernels.quaternion import multiply, rotate
from footplant.solve.ik.puppet._tables import from_thing, soften

GIVE = 0.006
"""Metres that a foot in the air may be in the scene."""
EASY_STEP, EASY_SWING, SWINGS = 0.984, 0.94, 0.05
"""Share of its length from which a leg is stretched less than it is asked to, on the ground and so many metres off."""
LOW, HIGH = 0.003, 0.055
"""Metres of the performer's foot above the scene up to which it is where it has to be, and from which it takes time."""
SWING_EASE = 0.02
"""Half-life in seconds in which a foot in the air takes up how it is shifted."""
LEAST_OFF = 4e-3
"""Square of how far off the line an elbow or knee stays for a goal just out of reach, limbs being of length 1."""
BENT, STRAIGHTEST, ROUND, SLOWLY = 0.2, 0.13, 0.05, 0.12
"""Squares of how far off the line an elbow is where its arm begins to give in, where it is straight enough, around
that, and over which one that was straight begins to bend, arms being of length 1."""
MOST_FLEXION = 2.9
"""Radians to which an elbow or knee bends at most."""


@uncounted_jit
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


@uncounted_jit
def turn_lower(puppet, figure, limb, work, w, x, y, z):
    """Turn an elbow (knee) by a rotation given in world axes, under an upper arm (thigh) as its rotation stands."""
    upper, lower = figure.limbs[limb, 0], figure.limbs[limb, 1]
    local, p = work.local[0], puppet.parents[upper]
    pw, px, py, pz = local[upper, 0], local[upper, 1], local[upper, 2], local[upper, 3]
    if p >= 0:
        r = work.rotations[0, p]
        pw, px, py, pz = multiply(r[0], r[1], r[2], r[3], pw, px, py, pz)
    pw, px, py, pz = multiply(pw, px, py, pz, *path_turn(puppet.parents, local, upper, lower))
    own = local[lower]
    qw, qx, qy, qz = multiply(pw, px, py, pz, own[0], own[1], own[2], own[3])
    qw, qx, qy, qz = multiply(w, x, y, z, qw, qx, qy, qz)
    own[0], own[1], own[2], own[3] = multiply(pw, -px, -py, -pz, qw, qx, qy, qz)


@uncounted_jit
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


@uncounted_jit
def keep_orientation(puppet, figure, limb, work):
    """Turn a hand (foot) so that it points as the performer's."""
    end = figure.limbs[limb, 2]
    _, _, _, _, _, _, w, x, y, z = limb_places(puppet, figure, limb, work)
    c, local = work.captured[end], work.local[0, end]
    local[0], local[1], local[2], local[3] = multiply(w, -x, -y, -z, c[0], c[1], c[2], c[3])


@uncounted_jit
def stretch(far, easy):
    """How far a limb of length 1 is stretched for a goal so far away: as far up to `easy`, then less and less.

    How far the elbow (knee) is off the line is then a smooth function of how far the goal is; it fades, and nothing
    snaps straight.
    """
    if far <= easy:
        return far
    off = math.sqrt(1.0 - easy * easy)
    off *= math.exp(-easy / (off * off) * (far - easy))
    return math.sqrt(1.0 - off * off)


@uncounted_jit
def arm_off(far, now):
    """How far an elbow is off the line, squared, in an arm of length 1 for a goal so far away; now: as captured.

    A captured arm that is all but straight stays so until its goal is clearly nearer, and any other gives in before it
    is: how far an elbow is off its line changes the more quickly, the straighter the arm is.
    """
    off, captured = 1.0 - far * far, 1.0 - now * now
    away = off - captured
    if away >= 0.0:
        slow = SLOWLY * share(captured / BENT)
        return captured + away * (1.0 - share(away / slow)) if away < slow else off
    bent, least = min(BENT, captured), STRAIGHTEST - soften(STRAIGHTEST - captured, ROUND)
    if off >= bent:
        return off
    return least + (bent - least) * math.exp((off - bent) / max(bent - least, 1e-9))


@uncounted_jit
def leg_off(far, now, easy):
    """How far a knee is off the line, squared, in a leg of length 1 for a goal so far away; now: as captured."""
    wanted = stretch(far, easy) + now - stretch(now, easy)
    off = 1.0 - wanted * abs(wanted)
    # without a corner where it would vanish
    least = min(LEAST_OFF, 0.35 * (1.0 - now * now))
    return 0.5 * (off + math.sqrt(off * off + 4.0 * least * least))


@uncounted_jit
def bend_to(puppet, figure, limb, easy, goal, work):
    """Put the end of a limb on a goal in closed form, its orientation as captured.

    Beyond the share `easy` of its length a leg gives in, less so where the captured one is that straight already; an
    arm has its own way (`arm_off`). On its captured place a limb stays as it is. The goal becomes what is reached.
    """
    upper, lower, end = figure.limbs[limb, 0], figure.limbs[limb, 1], figure.limbs[limb, 2]
    s, length = work.positions[0, upper], puppet.lengths[limb]
    _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, figure, limb, work)
    now = min(math.sqrt((x - s[0]) ** 2 + (y - s[1]) ** 2 + (z - s[2]) ** 2) / length, 1.0)
    x, y, z = goal[0] - s[0], goal[1] - s[1], goal[2] - s[2]
    far = max(math.sqrt(x * x + y * y + z * z) / length, 1e-9)
    off = arm_off(far, now) if limb < 2 else leg_off(far, now, easy)
    part = math.sqrt(max(1.0 - off, 0.0)) / far
    goal[0], goal[1], goal[2] = s[0] + part * x, s[1] + part * y, s[2] + part * z
    bend_limb(
        puppet.parents, puppet.offsets[0], upper, lower, end, puppet.axes[limb], 0.0, MOST_FLEXION, 0.0, 0.0, goal,
        work.captured[end], 1.0, 1.0, work.positions[0], work.rotations[0], work.local[0], work.scratch,
    )  # fmt: skip


@uncounted_jit
def drawn_out(depth, nx, ny, nz, x, y, z, sx, sy, sz):
    """A point so deep in a surface with this normal, drawn out towards the joint that its limb hangs on.

    Where that leads along the surface rather than out of it, along the normal.
    """
    hx, hy, hz = sx - x, sy - y, sz - z
    length = max(math.sqrt(hx * hx + hy * hy + hz * hz), 1e-9)
    slope = (hx * nx + hy * ny + hz * nz) / length
    if slope > 0.5:
        depth = depth / (slope * length)
        return x + depth * hx, y + depth * hy, z + depth * hz
    return x + depth * nx, y + depth * ny, z + depth * nz


@uncounted_jit
def leg(puppet, figure, limb, importance, things, poses, stage, dt, started, limbs, work):
    """A leg: its ankle goes to its goal by its importance, and out of the scene along the ray to the hip.

    How far that is from the captured place changes without haste while the foot is in the air.
    """
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
                s = work.positions[0, upper]
                x, y, z = drawn_out(depth, nx, ny, nz, x, y, z, s[0], s[1], s[2])
    there, state = work.scratch[7], limbs.feet[limb - 2]
    least = min(importance.nearest[first], importance.nearest[first + 1], importance.nearest[first + 2])
    low = share((least - LOW) / (HIGH - LOW))
    there[0], there[1], there[2] = x, y, z
    for k in range(3):
        wanted = there[k] - now[k]
        if started:
            state[k], state[3 + k] = spring(state[k], state[3 + k], wanted, SWING_EASE, dt)
        else:
            state[k], state[3 + k] = wanted, 0.0
        there[k] = now[k] + state[k] + low * (wanted - state[k])
    if abs(there[0] - now[0]) + abs(there[1] - now[1]) + abs(there[2] - now[2]) > 1e-12:
        easy = EASY_SWING + (EASY_STEP - EASY_SWING) * share(stage.scale * least / SWINGS)
        bend_to(puppet, figure, limb, easy, there, work)


@uncounted_jit
def note_angles(figure, work):
    """Note the captured angles of the limbs."""
    for limb in range(4):
        for n in range(3):
            j = figure.limbs[limb, n]
            if j >= 0:
                for k in range(4):
                    work.angles[limb, n, k] = work.local[0, j, k]


WARMUP: dict = {}
