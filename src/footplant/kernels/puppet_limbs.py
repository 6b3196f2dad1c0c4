"""Arms and legs that keep what matters: touches, and staying out of the scene and the body (Shin 2002, section 5.3)."""

from __future__ import annotations

import math

from footplant.kernels.hybrid import bend_limb, path_offset, path_turn
from footplant.kernels.puppet_tables import from_thing, soften
from footplant.kernels.quaternion import multiply, rotate
from footplant.kernels.uncounted import uncounted

GIVE = 0.006
"""Metres that a foot in the air may be in the scene."""
EASY_STEP = 0.984
"""Share of its length from which a leg is stretched less than it is asked to."""
LEAST_OFF = 4e-3
"""Square of how far off the line an elbow or knee stays for a goal just out of reach, limbs being of length 1."""
MOST_FLEXION = 2.9
"""Radians to which an elbow or knee bends at most."""


@uncounted
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


@uncounted
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


@uncounted
def keep_orientation(puppet, figure, limb, work):
    """Turn a hand (foot) so that it points as the performer's."""
    end = figure.limbs[limb, 2]
    _, _, _, _, _, _, w, x, y, z = limb_places(puppet, figure, limb, work)
    c, local = work.captured[end], work.local[0, end]
    local[0], local[1], local[2], local[3] = multiply(w, -x, -y, -z, c[0], c[1], c[2], c[3])


@uncounted
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


@uncounted
def bend_to(puppet, figure, limb, easy, goal, work):
    """Put the end of a limb on a goal in closed form, its orientation as captured.

    Beyond the share `easy` of its length a limb gives in, less so where the captured one is that straight already: on
    its captured place it stays as it is. The goal becomes what is reached.
    """
    upper, lower, end = figure.limbs[limb, 0], figure.limbs[limb, 1], figure.limbs[limb, 2]
    s, length = work.positions[0, upper], puppet.lengths[limb]
    _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, figure, limb, work)
    now = min(math.sqrt((x - s[0]) ** 2 + (y - s[1]) ** 2 + (z - s[2]) ** 2) / length, 1.0)
    x, y, z = goal[0] - s[0], goal[1] - s[1], goal[2] - s[2]
    far = max(math.sqrt(x * x + y * y + z * z) / length, 1e-9)
    wanted = stretch(far, easy) + now - stretch(now, easy)
    # how far the elbow is off the line, squared, without a corner where it would vanish
    off = 1.0 - wanted * abs(wanted)
    least = min(LEAST_OFF, 0.35 * (1.0 - now * now))
    off = 0.5 * (off + math.sqrt(off * off + 4.0 * least * least))
    share = math.sqrt(max(1.0 - off, 0.0)) / far
    goal[0], goal[1], goal[2] = s[0] + share * x, s[1] + share * y, s[2] + share * z
    bend_limb(
        puppet.parents, puppet.offsets[0], upper, lower, end, puppet.axes[limb], 0.0, MOST_FLEXION, 0.0, 0.0, goal,
        work.captured[end], 1.0, 1.0, work.positions[0], work.rotations[0], work.local[0], work.scratch,
    )  # fmt: skip


@uncounted
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


@uncounted
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
                s = work.positions[0, upper]
                x, y, z = drawn_out(depth, nx, ny, nz, x, y, z, s[0], s[1], s[2])
    work.scratch[7, 0], work.scratch[7, 1], work.scratch[7, 2] = x, y, z
    if abs(x - now[0]) + abs(y - now[1]) + abs(z - now[2]) > 1e-12:
        bend_to(puppet, figure, limb, EASY_STEP, work.scratch[7], work)


@uncounted
def note_angles(figure, work):
    """Note the captured angles of the limbs."""
    for limb in range(4):
        for n in range(3):
            j = figure.limbs[limb, n]
            if j >= 0:
                for k in range(4):
                    work.angles[limb, n, k] = work.local[0, j, k]


WARMUP: dict = {}
