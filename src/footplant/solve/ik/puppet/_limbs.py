"""Legs of the puppet, and closed-form limbs with soft extension (Shin 2002, section 5.3)."""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.importance import share, spring
from footplant.kernels.limb import LimbGoal, SkeletonLimb, bend_limb, path_offset, path_turn
from footplant.kernels.quaternion import multiply, rotate
from footplant.solve.ik.puppet._tables import from_thing, soften

GIVE = 0.006
"""Metres by which a swinging foot may penetrate the scene."""
EASY_STEP, EASY_SWING, SWINGS = 0.984, 0.94, 0.05
"""Share of its length from which a leg is extended less than requested: on the ground, and `SWINGS` metres above it."""
LOW, HIGH = 0.003, 0.055
"""Height of the performer's foot above the scene, metres, up to which it follows its goal at once, and from which with
a delay."""
SWING_EASE = 0.02
"""Half-life in seconds of the shift of a swinging foot."""
LEAST_OFF = 4e-3
"""Least squared distance of elbow or knee from the line to a goal just out of reach, for limbs of length 1."""
BENT, STRAIGHTEST, ROUND, SLOWLY = 0.2, 0.13, 0.05, 0.12
"""Squared distances of an elbow from the line shoulder–wrist, for arms of length 1: where its arm begins to resist
extension, its least value, the width of the rounding there, and the range over which a straight arm begins to bend."""
MOST_FLEXION = 2.9
"""Largest flexion of an elbow or knee, radians."""


@uncounted_jit
def turn_upper(puppet, joint, work, w, x, y, z):
    """Rotate a shoulder (hip) by a world rotation; only its local rotation changes."""
    local, p = work.local[0, joint], puppet.parents[joint]
    pw, px, py, pz = 1.0, 0.0, 0.0, 0.0
    if p >= 0:
        r = work.rotations[0, p]
        pw, px, py, pz = r[0], r[1], r[2], r[3]
    qw, qx, qy, qz = multiply(pw, px, py, pz, local[0], local[1], local[2], local[3])
    qw, qx, qy, qz = multiply(w, x, y, z, qw, qx, qy, qz)
    local[0], local[1], local[2], local[3] = multiply(pw, -px, -py, -pz, qw, qx, qy, qz)


@uncounted_jit
def turn_lower(puppet, character, limb, work, w, x, y, z):
    """Rotate an elbow (knee) by a world rotation, below the upper arm (thigh) as it is now."""
    upper, lower = character.limbs[limb, 0], character.limbs[limb, 1]
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
def limb_places(puppet, character, limb, work):
    """Return the positions of elbow (knee) and wrist (ankle), and the world rotation of the wrist's parent."""
    upper, lower, end = character.limbs[limb, 0], character.limbs[limb, 1], character.limbs[limb, 2]
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
def keep_orientation(puppet, character, limb, work):
    """Give a hand (foot) its captured world orientation."""
    end = character.limbs[limb, 2]
    _, _, _, _, _, _, w, x, y, z = limb_places(puppet, character, limb, work)
    c, local = work.captured[end], work.local[0, end]
    local[0], local[1], local[2], local[3] = multiply(w, -x, -y, -z, c[0], c[1], c[2], c[3])


@uncounted_jit
def stretch(far, easy):
    """Return the extension of a limb of length 1 for a goal at distance `far`: equal up to `easy`, then saturating.

    The distance of the elbow (knee) from the line is then a smooth function of the goal's distance that decays
    exponentially, so that nothing snaps straight.
    """
    if far <= easy:
        return far
    off = math.sqrt(1.0 - easy * easy)
    off *= math.exp(-easy / (off * off) * (far - easy))
    return math.sqrt(1.0 - off * off)


@uncounted_jit
def arm_off(far, now):
    """Return the squared distance of an elbow from the line for a goal at distance `far`; now: captured extension.

    Lengths are relative to the arm. A captured arm that is nearly straight stays so until its goal is clearly nearer,
    and any other resists before it gets straight: the straighter the arm, the faster this distance changes.
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
    """Return the squared distance of a knee from the line for a goal at distance `far`; now: captured extension."""
    wanted = stretch(far, easy) + now - stretch(now, easy)
    off = 1.0 - wanted * abs(wanted)
    # smooth maximum of off and 0
    least = min(LEAST_OFF, 0.35 * (1.0 - now * now))
    return 0.5 * (off + math.sqrt(off * off + 4.0 * least * least))


@uncounted_jit
def bend_to(puppet, character, limb, easy, goal, work):
    """Put the end of a limb on a goal in closed form, with its captured orientation; the goal becomes what is reached.

    Beyond the share `easy` of its length a leg is extended less, unless the captured one is as straight; for arms see
    `arm_off`. A limb whose goal is its captured position does not change.
    """
    upper, lower, end = character.limbs[limb, 0], character.limbs[limb, 1], character.limbs[limb, 2]
    s, length = work.positions[0, upper], puppet.lengths[limb]
    _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, character, limb, work)
    now = min(math.sqrt((x - s[0]) ** 2 + (y - s[1]) ** 2 + (z - s[2]) ** 2) / length, 1.0)
    x, y, z = goal[0] - s[0], goal[1] - s[1], goal[2] - s[2]
    far = max(math.sqrt(x * x + y * y + z * z) / length, 1e-9)
    off = arm_off(far, now) if limb < 2 else leg_off(far, now, easy)
    part = math.sqrt(max(1.0 - off, 0.0)) / far
    goal[0], goal[1], goal[2] = s[0] + part * x, s[1] + part * y, s[2] + part * z
    bones = SkeletonLimb(upper, lower, end, puppet.axes[limb], 0.0, MOST_FLEXION, 0.0, 0.0)
    bend_limb(
        puppet.parents, puppet.offsets[0], bones, LimbGoal(goal, work.captured[end], 1.0, 1.0), work.positions[0],
        work.rotations[0], work.local[0], work.scratch,
    )  # fmt: skip


@uncounted_jit
def drawn_out(depth, normal, point, joint):
    """Return a point at a depth in a surface, moved out towards the joint that its limb hangs on.

    Where that leads along the surface rather than out of it, along the normal.
    """
    nx, ny, nz = normal
    x, y, z = point
    sx, sy, sz = joint
    hx, hy, hz = sx - x, sy - y, sz - z
    length = max(math.sqrt(hx * hx + hy * hy + hz * hz), 1e-9)
    slope = (hx * nx + hy * ny + hz * nz) / length
    if slope > 0.5:
        depth = depth / (slope * length)
        return x + depth * hx, y + depth * hy, z + depth * hz
    return x + depth * nx, y + depth * ny, z + depth * nz


@uncounted_jit
def leg(target, limb, importance, scene, clock, limbs, work):
    """Solve a leg: its ankle moves to its goal by its importance, and out of the scene along the ray to the hip.

    The shift from the captured position is low-pass filtered while the foot is in the air.
    """
    puppet, character, stage = target.puppet, target.character, target.stage
    things, poses = scene.things, scene.poses
    dt, started = clock.dt, clock.started
    end, upper = character.limbs[limb, 2], character.limbs[limb, 0]
    weight, goal, first = importance.scene[limb], work.goals[limb], 3 * limb - 4
    now = work.positions[0, end]
    x, y, z = now[0], now[1], now[2]
    # the nearest point of the range ball, which shrinks from the ankle's position onto the goal (equation 5.10)
    x, y, z = x + weight * (goal[0] - x), y + weight * (goal[1] - y), z + weight * (goal[2] - z)
    for c in range(3):
        n = first + c
        for o in range(things.kinds.shape[0]):
            rx, ry, rz = work.points[n, 0], work.points[n, 1], work.points[n, 2]
            d, nx, ny, nz = from_thing(things, o, poses[o], stage, x + rx, y + ry, z + rz)
            depth = soften(-d - GIVE, GIVE)
            if depth > 0.0:
                s = work.positions[0, upper]
                x, y, z = drawn_out(depth, (nx, ny, nz), (x, y, z), (s[0], s[1], s[2]))
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
        bend_to(puppet, character, limb, easy, there, work)


@uncounted_jit
def note_angles(character, work):
    """Record the captured local rotations of the limbs."""
    for limb in range(4):
        for n in range(3):
            j = character.limbs[limb, n]
            if j >= 0:
                for k in range(4):
                    work.angles[limb, n, k] = work.local[0, j, k]


WARMUP: dict = {}
