"""Legs of the puppet, and closed-form limbs with soft extension (Shin 2002, section 5.3)."""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.importance import LIMBS, share, spring
from footplant.kernels.limb import LimbGoal, SkeletonLimb, bend_limb, path_offset, path_turn
from footplant.kernels.quaternion import exp, multiply, rotate
from footplant.kernels.surface import distance as tube_distance
from footplant.solve.ik.puppet._hold import stands
from footplant.solve.ik.puppet._tables import AT, GRIP, from_thing, soften

LEG_SWEEPS = 2
"""Projections of a leg out of the other one per frame; they are warm-started."""
STRAIGHT = 2e-3
"""Regularisation of a swivel: squared distance of elbow or knee from the limb's axis, m², at which it is halved."""
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
def arm_off(far, now, tuning):
    """Return the squared distance of an elbow from the line for a goal at distance `far`; now: captured extension.

    Lengths are relative to the arm. A captured arm that is nearly straight stays so until its goal is clearly nearer,
    and any other resists before it gets straight: the straighter the arm, the faster this distance changes.
    """
    off, captured = 1.0 - far * far, 1.0 - now * now
    away = off - captured
    if away >= 0.0:
        slow = tuning[AT.slowly] * share(captured / tuning[AT.bent])
        return captured + away * (1.0 - share(away / slow)) if away < slow else off
    bent, least = (
        min(tuning[AT.bent], captured),
        tuning[AT.straightest] - soften(tuning[AT.straightest] - captured, tuning[AT.straight_round]),
    )
    if off >= bent:
        return off
    return least + (bent - least) * math.exp((off - bent) / max(bent - least, 1e-9))


@uncounted_jit
def leg_off(far, now, easy, tuning):
    """Return the squared distance of a knee from the line for a goal at distance `far`; now: captured extension."""
    wanted = stretch(far, easy) + now - stretch(now, easy)
    off = 1.0 - wanted * abs(wanted)
    # smooth maximum of off and 0
    least = min(tuning[AT.knee_off], 0.35 * (1.0 - now * now))
    return 0.5 * (off + math.sqrt(off * off + 4.0 * least * least))


@uncounted_jit
def bend_to(puppet, character, limb, easy, firm, goal, work, tuning):
    """Put the end of a limb on a goal in closed form, with its captured orientation; the goal becomes what is reached.

    Beyond the share `easy` of its length a leg is extended less, unless the captured one is as straight; for arms see
    `arm_off`, which counts by 1 − firm: a hand that touches is put on its goal. A limb whose goal is its captured
    position does not change.
    """
    upper, lower, end = character.limbs[limb, 0], character.limbs[limb, 1], character.limbs[limb, 2]
    s, length = work.positions[0, upper], puppet.lengths[limb]
    _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, character, limb, work)
    now = min(math.sqrt((x - s[0]) ** 2 + (y - s[1]) ** 2 + (z - s[2]) ** 2) / length, 1.0)
    x, y, z = goal[0] - s[0], goal[1] - s[1], goal[2] - s[2]
    far = max(math.sqrt(x * x + y * y + z * z) / length, 1e-9)
    off = arm_off(far, now, tuning) if limb < 2 else leg_off(far, now, easy, tuning)
    if firm > 0.0:
        off += firm * (max(1.0 - far * far, min(tuning[AT.firm_off], 1.0 - now * now)) - off)
    part = math.sqrt(max(1.0 - off, 0.0)) / far
    goal[0], goal[1], goal[2] = s[0] + part * x, s[1] + part * y, s[2] + part * z
    bones = SkeletonLimb(upper, lower, end, puppet.axes[limb], 0.0, MOST_FLEXION, 0.0, 0.0)
    bend_limb(
        puppet.parents, puppet.offsets[0], bones, LimbGoal(goal, work.captured[end], 1.0, 1.0), work.positions[0],
        work.rotations[0], work.local[0], work.scratch,
    )  # fmt: skip


@uncounted_jit
def drawn_out(depth, normal, point, joint, free):
    """Return a point at a depth in a surface, moved out towards the joint that its limb hangs on.

    Where that leads along the surface rather than out of it, along the normal; and so by 1 − free: what stands must not
    follow its hip.
    """
    nx, ny, nz = normal
    x, y, z = point
    sx, sy, sz = joint
    hx, hy, hz = sx - x, sy - y, sz - z
    length = max(math.sqrt(hx * hx + hy * hy + hz * hz), 1e-9)
    slope = (hx * nx + hy * ny + hz * nz) / length
    # every mixture of the two ends on the surface
    ray = free * (1.0 - share(4.0 * slope - 2.0)) / max(slope * length, 1e-9) if slope > 0.5 else 0.0
    straight = 1.0 - ray * slope * length
    return (
        x + depth * (ray * hx + straight * nx), y + depth * (ray * hy + straight * ny),
        z + depth * (ray * hz + straight * nz),
    )  # fmt: skip


@uncounted_jit
def lift(place, target, limb, scene, clock, limbs, work):
    """Return where an ankle goes (3) so that heel, ball and toe are out of the scene.

    A foot that stands keeps the shift with which it came to stand (`_hold.out_of_scene` keeps its points out one by
    one), and one that leaves gives it up as slowly as any other shift.
    """
    tuning = target.stage.tuning
    things, poses, first, state = scene.things, scene.poses, 3 * limb - 4, limbs.lifts[limb - 2]
    s, give, (x, y, z) = work.positions[0, target.character.limbs[limb, 0]], tuning[AT.scene_give], place
    for c in range(3):
        rx, ry, rz = work.points[first + c, 0], work.points[first + c, 1], work.points[first + c, 2]
        for o in range(things.kinds.shape[0]):
            d, nx, ny, nz = from_thing(things, o, poses[o], target.stage, x + rx, y + ry, z + rz)
            depth = soften(-d - give, give)
            if depth > 0.0:
                x, y, z = drawn_out(depth, (nx, ny, nz), (x, y, z), (s[0], s[1], s[2]), 1.0 - grip_of(limb, limbs))
    wanted = (x - place[0], y - place[1], z - place[2])
    far, along, square = 0.0, 0.0, 0.0
    for k in range(3):
        far += (wanted[k] - state[k]) ** 2
        along, square = along + (wanted[k] - state[k]) * wanted[k], square + wanted[k] ** 2
    # as little as in a hold: beyond that the foot stands on something else
    keeps = share(2.0 * math.sqrt(far) / (tuning[AT.most_rise] * target.stage.size) - 1.0) if clock.started else 0.0
    leaves = 1.0 - math.exp(-0.6931471805599453 * clock.dt / tuning[AT.foot_settle])
    held, along = stands(limb, limbs), max(along, 0.0) / max(square, 1e-12)
    for k in range(3):
        # what the shift grows by comes at once, the rest as slowly as any other shift
        grows = along * wanted[k]
        rest = wanted[k] - state[k] - grows
        state[k] += (1.0 - keeps * held) * grows + (1.0 - keeps * (1.0 - leaves * (1.0 - held))) * rest
    return place[0] + state[0], place[1] + state[1], place[2] + state[2]


@uncounted_jit
def leg(target, limb, importance, scene, clock, limbs, work):
    """Solve a leg: its ankle moves to its goal by its importance, and out of the scene along the ray to the hip.

    The shift from the captured position is low-pass filtered while the foot is in the air.
    """
    tuning = target.stage.tuning
    puppet, character, stage = target.puppet, target.character, target.stage
    dt, started = clock.dt, clock.started
    end = character.limbs[limb, 2]
    weight, goal, first = importance.scene[limb], work.goals[limb], 3 * limb - 4
    now = work.positions[0, end]
    x, y, z = now[0], now[1], now[2]
    # the nearest point of the range ball, which shrinks from the ankle's position onto the goal (equation 5.10)
    x, y, z = x + weight * (goal[0] - x), y + weight * (goal[1] - y), z + weight * (goal[2] - z)
    x, y, z = lift((x, y, z), target, limb, scene, clock, limbs, work)
    there, state = work.scratch[7], limbs.feet[limb - 2]
    least = min(importance.nearest[first], importance.nearest[first + 1], importance.nearest[first + 2])
    low = share((least - tuning[AT.foot_low]) / (tuning[AT.foot_high] - tuning[AT.foot_low]))
    firm = low * weight**4
    grip = grip_of(limb, limbs)
    there[0], there[1], there[2] = x, y, z
    for k in range(3):
        wanted = there[k] - now[k]
        if started:
            state[k], state[3 + k] = spring(state[k], state[3 + k], wanted, tuning[AT.foot_ease], dt)
        else:
            state[k], state[3 + k] = wanted, 0.0
        # a foot that stands stays as late as it came to stand
        state[6 + k] = (1.0 - grip) * (1.0 - low) * (state[k] - wanted) + grip * state[6 + k]
        there[k] = now[k] + wanted + state[6 + k]
    easy = tuning[AT.easy_swing] + (tuning[AT.easy_step] - tuning[AT.easy_swing]) * share(
        stage.scale * least / tuning[AT.foot_high]
    )
    kept = work.ankles[limb - 2]
    kept[0], kept[1], kept[2], kept[3], kept[4] = there[0], there[1], there[2], easy, firm
    if abs(there[0] - now[0]) + abs(there[1] - now[1]) + abs(there[2] - now[2]) > 1e-12:
        bend_to(puppet, character, limb, easy, firm, there, work, tuning)
    swivel_to(puppet, character, limb, work.goals[LIMBS + limb], importance.scene[LIMBS + limb], work)


@uncounted_jit
def grip_of(limb, limbs):
    """Return how firmly a foot stands, 0 to 1: the firmest of heel, ball and toe."""
    first = 3 * limb - 6
    return max(limbs.holds[first, GRIP], limbs.holds[first + 1, GRIP], limbs.holds[first + 2, GRIP])


@uncounted_jit
def swing_by(puppet, character, limb, angle, work):
    """Rotate an elbow (knee) about the line from shoulder to wrist (hip to ankle); return that line's direction."""
    s = work.positions[0, character.limbs[limb, 0]]
    _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, character, limb, work)
    x, y, z = x - s[0], y - s[1], z - s[2]
    norm = max(math.sqrt(x * x + y * y + z * z), 1e-9)
    x, y, z = x / norm, y / norm, z / norm
    turn_upper(puppet, character.limbs[limb, 0], work, *exp(angle * x, angle * y, angle * z))
    return x, y, z


@uncounted_jit
def swivel_step(axis, arm, way):
    """Return the angle about an axis that takes an elbow at `arm` from its shoulder by `way`, in the least squares."""
    (ax, ay, az), (ex, ey, ez), (px, py, pz) = axis, arm, way
    # derivative of the elbow's position by the swivel: axis × arm; a nearly straight limb is left unchanged
    tx, ty, tz = ay * ez - az * ey, az * ex - ax * ez, ax * ey - ay * ex
    return (tx * px + ty * py + tz * pz) / (tx * tx + ty * ty + tz * tz + STRAIGHT)


@uncounted_jit
def swivel_to(puppet, character, limb, goal, weight, work):
    """Swivel an elbow or knee towards its goal in the scene by its importance; the limb's end stays."""
    if weight <= 0.0:
        return
    s = work.positions[0, character.limbs[limb, 0]]
    for _ in range(LEG_SWEEPS):
        x, y, z, ex, ey, ez, _, _, _, _ = limb_places(puppet, character, limb, work)
        ax, ay, az = ex - s[0], ey - s[1], ez - s[2]
        norm = 1.0 / max(math.sqrt(ax * ax + ay * ay + az * az), 1e-9)
        way = (weight * (goal[0] - x), weight * (goal[1] - y), weight * (goal[2] - z))
        axis = (norm * ax, norm * ay, norm * az)
        angle = swivel_step(axis, (x - s[0], y - s[1], z - s[2]), way)
        swing_by(puppet, character, limb, angle, work)
    keep_orientation(puppet, character, limb, work)


@uncounted_jit
def update_limb(puppet, limb, work):
    """Write positions and rotations of the joints of a posed limb."""
    local, positions, rotations, offsets = work.local[0], work.positions[0], work.rotations[0], puppet.offsets[0]
    for j in range(puppet.parents.shape[0]):
        p = puppet.parents[j]
        if puppet.owners[j] != limb or p < 0:
            continue
        r, q = rotations[p], local[j]
        if puppet.owners[p] == limb:
            x, y, z = rotate(r[0], r[1], r[2], r[3], offsets[j, 0], offsets[j, 1], offsets[j, 2])
            positions[j, 0], positions[j, 1], positions[j, 2] = (
                positions[p, 0] + x, positions[p, 1] + y, positions[p, 2] + z
            )  # fmt: skip
        rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3] = multiply(
            r[0], r[1], r[2], r[3], q[0], q[1], q[2], q[3]
        )


@uncounted_jit
def out_of_leg(target, other, want, x, y, z, work):
    """Return the push (3) that brings a point `want` metres from the skin of a leg (0 left, 1 right)."""
    tuning = target.stage.tuning
    sx, sy, sz = x, y, z
    for n in range(2):
        k = target.puppet.segments[other, n]
        d, nx, ny, nz = tube_distance(target.tubes, k, work.positions[0], work.rotations[0], x, y, z)
        push = soften(want - d, tuning[AT.legs_round])
        x, y, z = x + push * nx, y + push * ny, z + push * nz
    return x - sx, y - sy, z - sz


@uncounted_jit
def legs_clearance(target, importance, leg, performer_thick):
    """Return how far knee and ankle of a leg stay from the skin of the other one, metres.

    `PuppetLegSettings.legs_apart` of the radius; nearer where the performer's own legs are.
    """
    puppet, other, least = target.puppet, 1 - leg, 1e3
    for n in range(2):
        k = puppet.segments[other, n]
        least = min(least, importance.seen[6 + leg, k, 5], importance.seen[2 + leg, k, 5])
    clearance = target.stage.tuning[AT.legs_apart]
    near = min(max(least / max(clearance * performer_thick, 1e-6), 0.0), 1.0)
    return clearance * target.character.thick[2 + leg] * near


@uncounted_jit
def legs_apart(performer, target, importance, clock, limbs, work):
    """Keep each leg out of the other: swinging feet make way, knees swivel, planted feet stay (section 5.3).

    Where both feet are free each takes half of the way (equation 5.9). Shifts are carried on from frame to frame.
    """
    tuning = target.stage.tuning
    puppet, character = target.puppet, target.character
    if character.limbs[2, 2] < 0 or character.limbs[3, 2] < 0:
        return
    keep = math.exp(-0.6931471805599453 * clock.dt / tuning[AT.apart_release])
    # a foot that passes slowly has a grip without standing
    free_left, free_right = 1.0 - grip_of(2, limbs) ** 2, 1.0 - grip_of(3, limbs) ** 2
    for leg_number in range(2):
        limb, other = 2 + leg_number, 1 - leg_number
        free, theirs = (free_left, free_right) if leg_number == 0 else (free_right, free_left)
        goal, state, there = work.ankles[leg_number], limbs.apart[leg_number], work.scratch[7]
        want = legs_clearance(target, importance, leg_number, performer.character.thick[limb])
        part = 1.0 / (1.0 + theirs)
        heel, ball = work.points[3 * limb - 4], work.points[3 * limb - 3]
        kx, ky, kz, _, _, _, _, _, _, _ = limb_places(puppet, character, limb, work)
        for k in range(3):
            there[k] = goal[k] + keep * state[k]
        for _ in range(LEG_SWEEPS):
            for probe in range(4):
                # ankle, middle of the shin, ball of the foot, heel
                x, y, z = there[0], there[1], there[2]
                if probe == 1:
                    x, y, z = 0.5 * (x + kx), 0.5 * (y + ky), 0.5 * (z + kz)
                elif probe > 1:
                    point = ball if probe == 2 else heel
                    x, y, z = x + point[0], y + point[1], z + point[2]
                x, y, z = out_of_leg(target, other, want, x, y, z, work)
                there[0], there[1], there[2] = there[0] + part * x, there[1] + part * y, there[2] + part * z
        moved, late = 0.0, 0.0
        for k in range(3):
            # a foot that stands stays where it made way
            there[k] = state[k] + free * (there[k] - goal[k] - state[k])
            if clock.started:
                state[k], state[3 + k] = spring(state[k], state[3 + k], there[k], tuning[AT.apart_ease], clock.dt)
            else:
                state[k], state[3 + k] = there[k], 0.0
            late += (there[k] - state[k]) ** 2
        low = at_once(math.sqrt(late), want)
        for k in range(3):
            state[k] += low * (there[k] - state[k])
            moved += abs(state[k])
            there[k] = goal[k] + state[k]
        if moved > 1e-9:
            for n in range(3):
                for k in range(4):
                    work.local[0, character.limbs[limb, n], k] = work.angles[limb, n, k]
            bend_to(puppet, character, limb, goal[3], goal[4], there, work, tuning)
            swivel_to(puppet, character, limb, work.goals[LIMBS + limb], importance.scene[LIMBS + limb], work)
        swing_knee(target, limb, keep, want, clock, state, work)
        update_limb(puppet, limb, work)


@uncounted_jit
def at_once(late, clearance):
    """Return the share of a delay, metres, that vanishes because it would put a leg into the other one."""
    return 1.0 - share(2.0 * late / max(clearance, 1e-6) - 1.0)


@uncounted_jit
def swing_knee(target, limb, keep, want, clock, state, work):
    """Swivel a knee about the line from hip to ankle until it is out of the other leg; the foot stays."""
    tuning = target.stage.tuning
    puppet, character = target.puppet, target.character
    s, swing, start = work.positions[0, character.limbs[limb, 0]], 0.0, keep * state[6]
    axis = swing_by(puppet, character, limb, start, work)
    for _ in range(LEG_SWEEPS):
        x, y, z, _, _, _, _, _, _, _ = limb_places(puppet, character, limb, work)
        way = out_of_leg(target, 3 - limb, want, x, y, z, work)
        if way[0] ** 2 + way[1] ** 2 + way[2] ** 2 < 1e-16:
            break
        angle = swivel_step(axis, (x - s[0], y - s[1], z - s[2]), way)
        swing_by(puppet, character, limb, angle, work)
        swing += angle
    wanted = start + swing
    if clock.started:
        state[6], state[7] = spring(state[6], state[7], wanted, tuning[AT.apart_ease], clock.dt)
        x, y, z, _, _, _, _, _, _, _ = limb_places(puppet, character, limb, work)
        x, y, z, (ax, ay, az) = x - s[0], y - s[1], z - s[2], axis
        off = math.sqrt((ay * z - az * y) ** 2 + (az * x - ax * z) ** 2 + (ax * y - ay * x) ** 2)
        state[6] += at_once(off * abs(wanted - state[6]), want) * (wanted - state[6])
        swing_by(puppet, character, limb, state[6] - wanted, work)
    else:
        state[6], state[7] = wanted, 0.0
    if abs(wanted) + abs(state[6]) > 1e-12:
        keep_orientation(puppet, character, limb, work)


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
