"""Limit accelerations: corrections must not accelerate a joint much beyond what the performer does.

Smooth input must give smooth output (Shin 2002, chapter 6), whichever ends become important and whatever edges of the
scene they meet. The copied pose shows how fast this performer's joints accelerate; where the requested pose would
exceed `PuppetPaceSettings.headroom` times the largest of that, the joints follow it as fast as the bound allows and
brake in time. Otherwise the pose is left unchanged, to the last bit.
"""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.limb import UP, aim
from footplant.kernels.quaternion import rotate
from footplant.solve.ik.puppet._limbs import grip_of, keep_orientation, limb_places, turn_lower, turn_upper
from footplant.solve.ik.puppet._tables import AT

HALVINGS, TRISECTIONS, ROUNDS = 8, 8, 24
"""Bisection steps of the allowed fraction of a way, trisection steps of the one that takes the least acceleration, and
alternating projections where every fraction takes too much."""
LITTLE = 0.1
"""Share of the way that is tried up to which a limb counts as stuck."""


@uncounted_jit
def peak_bound(stage, limbs):
    """Return the bound that follows from the largest known acceleration of the copied joints, m/s²."""
    return stage.tuning[AT.headroom] * max(limbs.peak[0], stage.tuning[AT.least_peak] * stage.size)


@uncounted_jit
def acceleration_bound(stage, dt, limbs, work):
    """Record the accelerations of the copied joints; return the bound that follows from them, m/s².

    At the second frame only velocities are known: from standing still, no joint may become faster than that.
    """
    tuning = stage.tuning
    frames = limbs.peak[1]
    most, fastest = 0.0, 0.0
    for j in range(work.positions.shape[1]):
        square, fast = 0.0, 0.0
        for k in range(3):
            place = work.positions[0, j, k]
            speed = (place - limbs.copied[0, j, k]) / dt if frames >= 1.0 else 0.0
            change = (speed - limbs.copied[1, j, k]) / dt if frames >= 2.0 else 0.0
            limbs.copied[0, j, k], limbs.copied[1, j, k] = place, speed
            work.accelerations[j, k] = change
            square += change * change
            fast += speed * speed
        most, fastest = max(most, square), max(fastest, fast)
    limbs.peak[1] = frames + 1.0
    limbs.peak[0] = max(math.sqrt(most), limbs.peak[0] * math.exp(-0.6931471805599453 * dt / tuning[AT.forgets]))
    bound = peak_bound(stage, limbs)
    return bound + math.sqrt(fastest) / dt if frames == 1.0 else bound


@uncounted_jit
def stride(far, most, dt):
    """Return the metres that may be covered in this frame so that braking with `most` m/s² still ends on the target."""
    step = most * dt * dt
    if far <= step:
        return far
    return step * (math.sqrt(0.25 + 2.0 * far / step) - 0.5)


@uncounted_jit
def chase(state, target, bound, dt, length, want, tuning):
    """Write the position (3) that brings a lagging point to its target without overshoot; return whether it was on it.

    state: (9,) its position, velocity, and previous target. length: of the bone that it swings on, metres; faster than
    √(bound · length) going around takes more than the bound.
    """
    square = 0.0
    for k in range(3):
        square += (state[6 + k] - state[k]) ** 2
    if square == 0.0:
        for k in range(3):
            want[k] = target[k]
        return True
    far = math.sqrt(square)
    most = tuning[AT.brakes] * bound
    part = min(stride(far, most, dt), dt * math.sqrt(most * length)) / far
    for k in range(3):
        want[k] = state[k] + target[k] - state[6 + k] + part * (state[6 + k] - state[k])
    return False


@uncounted_jit
def record_place(state, place, target, dt, started):
    """Record position, velocity and target of a point."""
    for k in range(3):
        state[3 + k] = (place[k] - state[k]) / dt if started else 0.0
        state[k] = place[k]
        state[6 + k] = target[k]


@uncounted_jit
def limit_root(target, bound, dt, limbs, work):
    """Limit the change of the root's shift so that no joint of the trunk exceeds the bound.

    Write the lag of the root to `work.late` (3), metres.
    """
    puppet, tuning = target.puppet, target.stage.tuning
    state, goal, want, late = limbs.paced_root, work.scratch[0], work.scratch[1], work.late
    bound *= tuning[AT.trunk_headroom] / tuning[AT.headroom]
    for k in range(3):
        goal[k] = work.root[0, k] - limbs.copied[0, 0, k]
        late[k] = 0.0
    if limbs.peak[1] <= 1.0:
        record_place(state, goal, goal, dt, False)
        return
    there = chase(state, goal, bound, dt, math.inf, want, tuning)
    ax = (want[0] - state[0] - dt * state[3]) / (dt * dt)
    ay = (want[1] - state[1] - dt * state[4]) / (dt * dt)
    az = (want[2] - state[2] - dt * state[5]) / (dt * dt)
    part, square = 1.0, ax * ax + ay * ay + az * az
    for j in range(puppet.parts.shape[0]):
        if puppet.parts[j] != 0:
            continue
        c = work.accelerations[j]
        along, own = c[0] * ax + c[1] * ay + c[2] * az, c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
        if own + 2.0 * along + square > bound * bound:
            # |c + part a| = bound
            root = math.sqrt(max(along * along + square * (bound * bound - own), 0.0))
            part = min(part, max((root - along) / square, 0.0))
    if part < 1.0 or not there:
        want[0] += (part - 1.0) * dt * dt * ax
        want[1] += (part - 1.0) * dt * dt * ay
        want[2] += (part - 1.0) * dt * dt * az
        for k in range(3):
            late[k] = want[k] - goal[k]
    record_place(state, want, goal, dt, True)


@uncounted_jit
def limit_turn(state, want, bound, clock, tuning):
    """Let a rotation vector (3,) follow a wanted one with a bounded acceleration, rad/s²; `want` becomes the result.

    state: (9,) as in `chase`.
    """
    dt = clock.dt
    if not clock.started:
        record_place(state, want, want, dt, False)
        return
    x, y, z = want[0], want[1], want[2]
    far, ahead = 0.0, 0.0
    for k in range(3):
        far += (want[k] - state[k]) ** 2
    far = math.sqrt(far)
    part = stride(far, tuning[AT.brakes] * bound, dt) / far if far > 0.0 else 0.0
    for k in range(3):
        # the step that the velocity alone would make, and by how much the wished one differs from it
        wished = part * ((x if k == 0 else (y if k == 1 else z)) - state[k])
        state[6 + k] = wished - dt * state[3 + k]
        ahead += state[6 + k] ** 2
    most = bound * dt * dt
    part = min(1.0, most / max(math.sqrt(ahead), 1e-12))
    for k in range(3):
        step = dt * state[3 + k] + part * state[6 + k]
        state[3 + k], state[k] = step / dt, state[k] + step
        want[k] = state[k]


@uncounted_jit
def limit_shift(state, free, want, bound, clock, tuning):
    """Let a shift (3,) of a point follow a wanted one; `want` becomes the result.

    free: (3,) where the point would be without it. Its acceleration is bounded relative to whatever mixture of two
    inertial motions is nearest: that of the shift, so that the point moves as it would without, and that of the point.
    The shift of a palm that is held on the skin while the captured one plunges into it accelerates as that one does,
    but the palm does not. state: (15,) the shift, its step, the wanted shift, the free point, and the step of the
    shifted point, of the frame before.
    """
    dt = clock.dt
    x, y, z = want[0], want[1], want[2]
    fx, fy, fz = free[0] - state[9], free[1] - state[10], free[2] - state[11]
    if not clock.started:
        for k in range(3):
            state[k], state[3 + k], state[6 + k], state[9 + k], state[12 + k] = want[k], 0.0, want[k], free[k], 0.0
        return
    ex, ey, ez = state[6] - state[0], state[7] - state[1], state[8] - state[2]
    far = math.sqrt(ex * ex + ey * ey + ez * ez)
    part = stride(far, tuning[AT.brakes] * bound, dt) / far if far > 0.0 else 0.0
    sx, sy, sz = x - state[6] + part * ex, y - state[7] + part * ey, z - state[8] + part * ez
    # the point's own inertia: its step of the frame before less the free step of this one
    ox, oy, oz = state[12] - fx - state[3], state[13] - fy - state[4], state[14] - fz - state[5]
    wx, wy, wz = sx - state[3], sy - state[4], sz - state[5]
    mixture = (wx * ox + wy * oy + wz * oz) / max(ox * ox + oy * oy + oz * oz, 1e-18)
    mixture = min(max(mixture, 0.0), 1.0)
    wx, wy, wz = wx - mixture * ox, wy - mixture * oy, wz - mixture * oz
    most = bound * dt * dt
    part = min(1.0, most / max(math.sqrt(wx * wx + wy * wy + wz * wz), 1e-12))
    for k in range(3):
        w = wx if k == 0 else (wy if k == 1 else wz)
        o = ox if k == 0 else (oy if k == 1 else oz)
        f = fx if k == 0 else (fy if k == 1 else fz)
        step = state[3 + k] + mixture * o + part * w
        state[3 + k], state[6 + k], state[9 + k], state[12 + k] = step, want[k], free[k], step + f
        state[k] += step
        want[k] = state[k]


@uncounted_jit
def on_sphere(place, center, radius):
    """Project a point onto a sphere."""
    x, y, z = place[0] - center[0], place[1] - center[1], place[2] - center[2]
    grow = radius / max(math.sqrt(x * x + y * y + z * z), 1e-9)
    place[0], place[1], place[2] = center[0] + grow * x, center[1] + grow * y, center[2] + grow * z


@uncounted_jit
def apart(one, other):
    """Return the distance of two points, metres."""
    return math.sqrt((one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2 + (one[2] - other[2]) ** 2)


@uncounted_jit
def part_of_way(puppet, character, limb, part, dt, work):
    """Move a limb a fraction of the way from its inertial positions to its targets; return the m/s² that takes.

    scratch 0 and 1: inertial positions; 2 and 3: targets of elbow (knee) and wrist (ankle); 4 and 5: the resulting
    positions; 6: bone lengths.
    """
    scratch = work.scratch
    for k in range(3):
        scratch[4, k] = scratch[0, k] + part * (scratch[2, k] - scratch[0, k])
    on_sphere(scratch[4], work.positions[0, character.limbs[limb, 0]], scratch[6, 0])
    place_end(part, scratch)
    return takes_of(puppet, character, limb, dt, work)


@uncounted_jit
def takes_of(puppet, character, limb, dt, work):
    """Return the m/s² that a limb takes whose elbow (knee) and wrist (ankle) go to rows 4 and 5 of scratch."""
    scratch = work.scratch
    x, y, z = scratch[5, 0] - scratch[1, 0], scratch[5, 1] - scratch[1, 1], scratch[5, 2] - scratch[1, 2]
    most = max(apart(scratch[4], scratch[0]) ** 2, x * x + y * y + z * z) / dt**4
    x, y, z = x / (dt * dt), y / (dt * dt), z / (dt * dt)
    for j in range(character.limbs[limb, 2] + 1, puppet.parts.shape[0]):
        if puppet.parts[j] == 1 + limb:
            c = work.accelerations[j]
            most = max(most, (c[0] + x) ** 2 + (c[1] + y) ** 2 + (c[2] + z) ** 2)
    return math.sqrt(most)


@uncounted_jit
def hanging(puppet, character, limb, joint, copied, work):
    """Return the vector (3) from a wrist or ankle to a descendant, as hand, foot and toes are rotated."""
    end, q, x, y, z = character.limbs[limb, 2], work.turned[limb], 0.0, 0.0, 0.0
    toes, above = character.carriers[3 * limb - 2] if limb > 1 else -1, puppet.parents[joint]
    while toes >= 0 and above >= 0 and above != toes:
        above = puppet.parents[above]
    start = toes if toes >= 0 and above == toes and toes != end else end
    if start != end:
        r, c, e = work.turned[limb + 2], copied[joint], copied[start]
        x, y, z = rotate(r[0], r[1], r[2], r[3], c[0] - e[0], c[1] - e[1], c[2] - e[2])
        joint = start
    c, e = copied[joint], copied[end]
    dx, dy, dz = rotate(q[0], q[1], q[2], q[3], c[0] - e[0], c[1] - e[1], c[2] - e[2])
    return x + dx, y + dy, z + dz


@uncounted_jit
def record_descendants(puppet, character, limb, dt, limbs, work):
    """Record the accelerations of a hand's or foot's descendants relative to its wrist or ankle (`accelerations`)."""
    end, frames = character.limbs[limb, 2], limbs.peak[1]
    for j in range(end + 1, puppet.parts.shape[0]):
        if puppet.parts[j] != 1 + limb:
            continue
        place, speed, out = limbs.hanging[0, j], limbs.hanging[1, j], work.accelerations[j]
        now, copied = work.scratch[0], limbs.copied[0]
        now[0], now[1], now[2] = hanging(puppet, character, limb, j, copied, work)
        for k in range(3):
            fast = (now[k] - place[k]) / dt if frames >= 2.0 else 0.0
            out[k] = (fast - speed[k]) / dt if frames >= 3.0 else 0.0
            place[k], speed[k] = now[k], fast


@uncounted_jit
def limit_speeds(upper, bound, dt, states, limbs, scratch, tuning):
    """Shorten the steps of a lagging limb: the elbow's relative to its shoulder, the wrist's relative to its elbow.

    Faster than √(bound · length), going around takes more than the bound, whether it is the limb that catches up or its
    target that moves. What a wrist takes in going around adds to what its elbow takes, so it has the share of the bound
    with which limbs brake: with all of it, Blubby's wrists take 1.35 times the acceleration of the copied ones where
    palms part (mvn_40fps_A); where elbows have that share alone, too, its palms clap 124 instead of 65 mm apart.
    """
    for n in range(2):
        square, want = 0.0, scratch[2 + n]
        carried = scratch[7]
        for k in range(3):
            if n == 0:
                carried[k] = dt * (limbs.copied[1, upper, k] + limbs.paced_root[3 + k])
            else:
                carried[k] = scratch[2, k] - states[0, k]
            square += (want[k] - states[n, k] - carried[k]) ** 2
        part = (
            dt
            * math.sqrt((tuning[AT.brakes] if n == 1 else 1.0) * bound * scratch[6, n])
            / max(math.sqrt(square), 1e-12)
        )
        if part < 1.0:
            for k in range(3):
                want[k] = states[n, k] + carried[k] + part * (want[k] - states[n, k] - carried[k])


@uncounted_jit
def brake_for_contact(arm, meets, bound, dt, limbs, work, tuning):
    """Slow a lagging wrist down that could not stop any more before its palm meets the other one.

    meets: importance of the palms to each other. Each has half of the way; it may approach as fast as its target does.
    """
    own, other, want = limbs.paced[arm, 1], limbs.paced[1 - arm, 1], work.scratch[3]
    gap, square = work.scratch[7], 0.0
    for k in range(3):
        gap[k] = other[k] + work.points[1 - arm, k] - own[k] - work.points[arm, k]
        square += gap[k] * gap[k]
    far = max(math.sqrt(square), 1e-9)
    step, theirs = 0.0, 0.0
    for k in range(3):
        middle = 0.5 * dt * (own[3 + k] + other[3 + k])
        step += (want[k] - own[k] - middle) * gap[k] / far
        theirs += (work.reached[1, k] - own[6 + k] - middle) * gap[k] / far
    most = max(stride(0.5 * far, tuning[AT.brakes] * bound, dt), theirs)
    if step > most:
        for k in range(3):
            want[k] += meets * meets * (most - step) * gap[k] / far


@uncounted_jit
def into_ball(place, x, y, z, radius):
    """Move a point (3) into a ball."""
    dx, dy, dz = place[0] - x, place[1] - y, place[2] - z
    far = math.sqrt(dx * dx + dy * dy + dz * dz)
    if far > radius:
        part = radius / far
        place[0], place[1], place[2] = x + part * dx, y + part * dy, z + part * dz


@uncounted_jit
def project_limb(puppet, character, limb, bound, dt, work):
    """Move elbow (knee) and wrist (ankle), rows 4 and 5 of scratch, to where they take less acceleration.

    Alternating projections: into the balls about their inertial positions that the bound allows, those of the
    descendants of the wrist among them, and onto the bones' lengths.
    """
    scratch, shoulder, radius = work.scratch, work.positions[0, character.limbs[limb, 0]], bound * dt * dt
    middle, end = scratch[4], scratch[5]
    for _ in range(ROUNDS):
        into_ball(middle, scratch[0, 0], scratch[0, 1], scratch[0, 2], radius)
        into_ball(end, scratch[1, 0], scratch[1, 1], scratch[1, 2], radius)
        for j in range(character.limbs[limb, 2] + 1, puppet.parts.shape[0]):
            if puppet.parts[j] == 1 + limb:
                c = work.accelerations[j]
                into_ball(
                    end, scratch[1, 0] - dt * dt * c[0], scratch[1, 1] - dt * dt * c[1], scratch[1, 2] - dt * dt * c[2],
                    radius,
                )  # fmt: skip
        x, y, z = end[0] - middle[0], end[1] - middle[1], end[2] - middle[2]
        part = 0.5 * (1.0 - scratch[6, 1] / max(math.sqrt(x * x + y * y + z * z), 1e-9))
        middle[0], middle[1], middle[2] = middle[0] + part * x, middle[1] + part * y, middle[2] + part * z
        end[0], end[1], end[2] = end[0] - part * x, end[1] - part * y, end[2] - part * z
        on_sphere(middle, shoulder, scratch[6, 0])
    on_sphere(end, middle, scratch[6, 1])


@uncounted_jit
def catch_up(puppet, character, limb, bound, dt, limbs, work, tuning):
    """Move a limb as far towards its targets as the bound allows: elbow and wrist alike, then the end alone.

    What they take is convex in the fraction of the way. The elbow must not keep the wrist from braking. (Nor may the
    wrist go first, whatever its elbow: elbows then accelerate by up to 3.3 times in the sample clap on Blubby.)
    """
    scratch = work.scratch
    far = max(apart(scratch[0], scratch[2]), apart(scratch[1], scratch[3]))
    low, high = 0.0, min(1.0, 1.5 * bound * dt * dt / max(far, 1e-12))
    limit, most = bound, high
    if part_of_way(puppet, character, limb, 0.0, dt, work) > bound:
        # accelerations that bones and descendants need in any case must not stop the limb from following its target
        low = least_part(puppet, character, limb, high, dt, work)
        least = part_of_way(puppet, character, limb, low, dt, work)
        limit = max(bound, least + (tuning[AT.follows] * bound if low < LITTLE * most else 0.0))
    for _ in range(HALVINGS):
        part = 0.5 * (low + high)
        if part_of_way(puppet, character, limb, part, dt, work) > limit:
            high = part
        else:
            low = part
    part_of_way(puppet, character, limb, low, dt, work)
    if limb >= 2 and grip_of(limb, limbs) > 0.0:
        # what trembling toes take must not lead the ankle of a foot that stands: it would stray by 20 to 60 mm
        return
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        part = 0.5 * (low + high)
        place_end(part, scratch)
        if takes_of(puppet, character, limb, dt, work) > limit:
            high = part
        else:
            low = part
    place_end(low, scratch)
    if takes_of(puppet, character, limb, dt, work) > bound:
        keep_smaller(puppet, character, limb, bound, dt, work)


@uncounted_jit
def keep_smaller(puppet, character, limb, bound, dt, work):
    """Project a limb that takes more than the bound, and keep that if it takes less."""
    scratch, before = work.scratch, takes_of(puppet, character, limb, dt, work)
    for k in range(3):
        scratch[2, k], scratch[3, k] = scratch[4, k], scratch[5, k]
    project_limb(puppet, character, limb, bound, dt, work)
    if takes_of(puppet, character, limb, dt, work) >= before:
        for k in range(3):
            scratch[4, k], scratch[5, k] = scratch[2, k], scratch[3, k]


@uncounted_jit
def least_part(puppet, character, limb, most, dt, work):
    """Return the fraction of a limb's way, up to `most`, that takes the least acceleration."""
    low, high = 0.0, most
    for _ in range(TRISECTIONS):
        one, two = low + (high - low) / 3.0, high - (high - low) / 3.0
        first = part_of_way(puppet, character, limb, one, dt, work)
        if first <= part_of_way(puppet, character, limb, two, dt, work):
            high = two
        else:
            low = one
    return 0.5 * (low + high)


@uncounted_jit
def place_end(part, scratch):
    """Move a wrist (ankle) a fraction of its way, on its forearm (shin)."""
    for k in range(3):
        scratch[5, k] = scratch[1, k] + part * (scratch[3, k] - scratch[1, k])
    on_sphere(scratch[5], scratch[4], scratch[6, 1])


@uncounted_jit
def limit_limb(puppet, character, limb, bound, dt, meets, limbs, work, tuning):
    """Limit the accelerations of elbow (knee) and wrist (ankle) of a posed limb to the bound.

    meets: importance of the palms to each other, 0 for a leg.
    """
    upper = character.limbs[limb, 0]
    states, scratch, shoulder = limbs.paced[limb], work.scratch, work.positions[0, upper]
    middle, end = work.reached[0], work.reached[1]
    middle[0], middle[1], middle[2], end[0], end[1], end[2], _, _, _, _ = limb_places(puppet, character, limb, work)
    record_descendants(puppet, character, limb, dt, limbs, work)
    if limbs.peak[1] <= 1.0:
        record_place(states[0], middle, middle, dt, False)
        record_place(states[1], end, end, dt, False)
        return
    first, second = 0.0, 0.0
    for k in range(3):
        scratch[0, k] = states[0, k] + dt * states[0, 3 + k]
        scratch[1, k] = states[1, k] + dt * states[1, 3 + k]
        first += (middle[k] - shoulder[k]) ** 2
        second += (end[k] - middle[k]) ** 2
    scratch[6, 0], scratch[6, 1] = math.sqrt(first), math.sqrt(second)
    there = chase(states[0], middle, bound, dt, scratch[6, 0], scratch[2], tuning)
    there = chase(states[1], end, bound, dt, scratch[6, 1], scratch[3], tuning) and there
    if not there:
        limit_speeds(upper, bound, dt, states, limbs, scratch, tuning)
        if meets > 0.0:
            brake_for_contact(limb, meets, bound, dt, limbs, work, tuning)
    takes = part_of_way(puppet, character, limb, 1.0, dt, work)
    if there and takes <= bound:
        record_place(states[0], middle, middle, dt, True)
        record_place(states[1], end, end, dt, True)
        return
    if takes > bound:
        catch_up(puppet, character, limb, bound, dt, limbs, work, tuning)
    knee, ankle = scratch[4], scratch[5]
    record_place(states[0], knee, middle, dt, True)
    record_place(states[1], ankle, end, dt, True)
    turn_upper(
        puppet, upper, work,
        *aim(
            (middle[0] - shoulder[0], middle[1] - shoulder[1], middle[2] - shoulder[2]),
            (knee[0] - shoulder[0], knee[1] - shoulder[1], knee[2] - shoulder[2]), UP,
        ),
    )  # fmt: skip
    mx, my, mz, ex, ey, ez, _, _, _, _ = limb_places(puppet, character, limb, work)
    turn_lower(
        puppet, character, limb, work,
        *aim((ex - mx, ey - my, ez - mz), (ankle[0] - mx, ankle[1] - my, ankle[2] - mz), UP),
    )  # fmt: skip
    keep_orientation(puppet, character, limb, work)


WARMUP: dict = {}
