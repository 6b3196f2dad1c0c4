"""Place root and body so that hands and feet can reach their important goals (Shin 2002, sections 5.1 and 5.2)."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import uncounted_jit
from footplant.kernels.balls import closest
from footplant.kernels.dense import add_row, factor, substitute
from footplant.kernels.fk import forward
from footplant.kernels.importance import LIMBS, POINTS, contact_points, share, spring
from footplant.kernels.quaternion import exp, multiply, rotate
from footplant.solve.ik.puppet._hold import hold_foot
from footplant.solve.ik.puppet._limbs import MOST_FLEXION
from footplant.solve.ik.puppet._pace import limit_turn
from footplant.solve.ik.puppet._tables import AT, from_thing, soften, to_target

CLOSE_ENOUGH = 0.0005
"""Metres by which a limb may be too short before the body is bent."""
MOST_ITERATIONS = 12
"""Largest number of iterations of the body step."""
SHINS = 3
"""Projections of the goal of an elbow or knee into its bone's length from its wrist or ankle, and onto the scene."""
LEAST_GAIN = 0.01
"""Share of the objective; a step of the body that gains less ends its search."""


@uncounted_jit
def foot_goal(target, limb, importance, scene, clock, limbs, work):
    """Compute an ankle's goal: the heel, ball or toe that the performer stands on stays put, whatever the foot's size.

    A foot rolls over heel, ball and toe; each would put the ankle elsewhere when feet differ in size. So the position
    is integrated from frame to frame by the motion of the point in contact, and returns to the scaled footstep in the
    air.
    """
    tuning = target.stage.tuning
    character, stage = target.character, target.stage
    dt, started = clock.dt, clock.started
    foot = limb - 2
    first, weight = 3 * limb - 4, importance.scene[limb]
    # weights of heel, ball and toe by their distances from the scene
    least = min(importance.nearest[first], importance.nearest[first + 1], importance.nearest[first + 2])
    sharp = tuning[AT.sharp] + tuning[AT.blunt] * max(least, 0.0)
    total, height, moved_x, moved_z = 0.0, 0.0, 0.0, 0.0
    base_x, base_z, before_x, before_z = 0.0, 0.0, 0.0, 0.0
    ankles, soles, travel = limbs.ankles[foot], limbs.soles[foot], 0.0
    for c in range(3):
        n = first + c
        weighs = math.exp(-(importance.nearest[n] - least) / sharp)
        ux = to_target(stage, 0, importance.points[n, 0]) - work.points[n, 0]
        uy = to_target(stage, 1, importance.points[n, 1]) - work.points[n, 1]
        uz = to_target(stage, 2, importance.points[n, 2]) - work.points[n, 2]
        square = 0.0
        for k in range(3):
            square += (importance.points[n, k] - soles[c, k]) ** 2
            soles[c, k] = importance.points[n, k]
        travel += weighs * math.sqrt(square)
        total += weighs
        height += weighs * uy
        moved_x, moved_z = moved_x + weighs * (ux - ankles[c, 0]), moved_z + weighs * (uz - ankles[c, 2])
        if c < 2:
            base_x, base_z = base_x + 0.5 * ux, base_z + 0.5 * uz
            before_x, before_z = before_x + 0.5 * ankles[c, 0], before_z + 0.5 * ankles[c, 2]
        ankles[c, 0], ankles[c, 1], ankles[c, 2] = ux, uy, uz
    # the side to which wider hips shift this foot
    left, right = character.limbs[2, 0], character.limbs[3, 0]
    ax = work.positions[0, left, 0] - work.positions[0, right, 0]
    az = work.positions[0, left, 2] - work.positions[0, right, 2]
    norm = math.sqrt(ax * ax + az * az)
    side = (1.0 if foot == 0 else -1.0) * stage.track / max(norm, 1e-6)
    wanted_x, wanted_z = side * ax, side * az
    shift, settle = limbs.shifts[foot], 0.0
    if started:
        shift[0] += moved_x / total - (base_x - before_x)
        shift[2] += moved_z / total - (base_z - before_z)
        travel /= total
        forgets = 0.6931471805599453 * dt * (1.0 - weight) / tuning[AT.foot_settle]
        settle = 1.0 - math.exp(
            -forgets - tuning[AT.settle_along] * travel * travel / (travel + tuning[AT.settle_creep] * dt)
        )
        shift[0] += settle * (wanted_x - shift[0])
        shift[2] += settle * (wanted_z - shift[2])
    else:
        shift[0], shift[2] = wanted_x, wanted_z
    goal = work.goals[limb]
    goal[0], goal[1], goal[2] = base_x + shift[0], height / total, base_z + shift[2]
    push_x, push_y, push_z = 0.0, 0.0, 0.0
    for c in range(3):
        weighs = math.exp(-(importance.nearest[first + c] - least) / sharp) / total
        x, y, z = to_distance(first + c, scene, stage, goal, work.points[first + c], 0.0)
        push_x, push_y, push_z = push_x + weighs * x, push_y + weighs * y, push_z + weighs * z
    goal[0], goal[1], goal[2] = goal[0] + push_x, goal[1] + push_y, goal[2] + push_z
    hold_foot(target, limb, importance, scene, clock, settle, limbs, work)


@uncounted_jit
def to_distance(n, scene, stage, goal, offset, thick):
    """Return the shift (3) of a goal that gives point n the performer's distance from its nearest object.

    offset: (3,) from the goal to the point; thick: radius of the target about it, metres. The shift fades out at the
    distance where objects become important.
    """
    tuning = stage.tuning
    things, poses, near = scene.things, scene.poses, scene.near
    number = 0
    for o in range(1, things.kinds.shape[0]):
        if near[n, o, 0] < near[n, number, 0]:
            number = o
    if things.kinds.shape[0] == 0 or near[n, number, 0] >= things.reaches[number]:
        return 0.0, 0.0, 0.0
    x, y, z = goal[0] + offset[0], goal[1] + offset[1], goal[2] + offset[2]
    d, nx, ny, nz = from_thing(things, number, poses[number], stage, x, y, z)
    wanted = thick + stage.scale * soften(near[n, number, 0], tuning[AT.touch_round])
    push = share(2.0 * near[n, number, 0] / things.reaches[number] - 1.0) * (wanted - d)
    return push * nx, push * ny, push * nz


@uncounted_jit
def hand_goal(limb, importance, scene, stage, work):
    """Compute a wrist's goal that puts its palm where the performer's is."""
    goal = work.goals[limb]
    for k in range(3):
        goal[k] = to_target(stage, k, importance.points[limb, k]) - work.points[limb, k]
    if importance.scene[limb] > 0.0:
        x, y, z = to_distance(limb, scene, stage, goal, work.points[limb], 0.0)
        goal[0], goal[1], goal[2] = goal[0] + x, goal[1] + y, goal[2] + z


@uncounted_jit
def middle_goal(limb, importance, scene, target, work):
    """Compute the goal of an elbow or knee in the scene: where the performer's is, its skin as far from the scene.

    No farther from the goal of its wrist or ankle than the bone between them is long, by the importance of that end:
    feet of another size put the ankle elsewhere, and a root that follows a knee which the shin does not reach takes the
    ankle off its place. (Nearer it may be: moved out to that length, too, knees of DinoKid are 42 mm in its other leg
    in 13_33, instead of none.)
    """
    stage, goal, n, end = target.stage, work.goals[LIMBS + limb], POINTS + limb, work.goals[limb]
    for k in range(3):
        goal[k] = to_target(stage, k, importance.points[n, k])
        work.vector[0, k] = 0.0
    if importance.scene[LIMBS + limb] <= 0.0:
        return
    for _ in range(SHINS):
        x, y, z = to_distance(n, scene, stage, goal, work.vector[0], target.character.thick[limb])
        goal[0], goal[1], goal[2] = goal[0] + x, goal[1] + y, goal[2] + z
        x, y, z = goal[0] - end[0], goal[1] - end[1], goal[2] - end[2]
        far = max(math.sqrt(x * x + y * y + z * z), 1e-9)
        part = importance.scene[limb] * min(target.puppet.lowers[limb] / far - 1.0, 0.0)
        goal[0], goal[1], goal[2] = goal[0] + part * x, goal[1] + part * y, goal[2] + part * z


@uncounted_jit
def move_root(work, x, y, z):
    """Translate the whole character."""
    work.root[0, 0] += x
    work.root[0, 1] += y
    work.root[0, 2] += z
    for j in range(work.positions.shape[1]):
        work.positions[0, j, 0] += x
        work.positions[0, j, 1] += y
        work.positions[0, j, 2] += z


@uncounted_jit
def estimate_root(puppet, character, importance, work):
    """Move the root by the weighted mean of the shifts that the ends need (section 5.1)."""
    total, rest, dx, dy, dz = 0.0, 1.0, 0.0, 0.0, 0.0
    for limb in range(LIMBS):
        # importance⁴: a swinging foot must not pull a body that stands on the other one
        w, end = importance.scene[limb] ** 4, character.limbs[limb, 2]
        if end < 0:
            continue
        total, rest = total + w, rest * (1.0 - w)
        dx += w * (work.goals[limb, 0] - work.positions[0, end, 0])
        dy += w * (work.goals[limb, 1] - work.positions[0, end, 1])
        dz += w * (work.goals[limb, 2] - work.positions[0, end, 2])
    # `rest` is 0 as soon as any end is fully important; it fades the shift out when the last one leaves the floor
    share = 1.0 / max(total + rest, 1e-9)
    move_root(work, share * dx, share * dy, share * dz)


@uncounted_jit
def lift_trunk(target, scene, work):
    """Move the root so that trunk, head and knees are out of the scene."""
    puppet, stage = target.puppet, target.stage
    things, poses = scene.things, scene.poses
    for n in range(puppet.solids.shape[0]):
        j, thickness = int(puppet.solids[n, 0]), puppet.solids[n, 1]
        for o in range(things.kinds.shape[0]):
            x, y, z = work.positions[0, j, 0], work.positions[0, j, 1], work.positions[0, j, 2]
            d, nx, ny, nz = from_thing(things, o, poses[o], stage, x, y, z)
            push = soften(thickness - d, 0.02)
            if push > 0.0:
                move_root(work, push * nx, push * ny, push * nz)


@uncounted_jit
def unbend(puppet, character, importance, work, tuning):
    """Move the root towards goals that would extend a limb nearly fully, before it snaps straight.

    A limb that is straight already may stay so.
    """
    for _ in range(2):
        for limb in range(4):
            upper, end = character.limbs[limb, 0], character.limbs[limb, 2]
            gap, nx, ny, nz = too_short(puppet, character, importance, limb, 1.0, work, tuning)
            easy = tuning[AT.unbend] * puppet.lengths[limb]
            if gap > -4.0 * easy:
                square = 0.0
                for k in range(3):
                    square += (work.positions[0, upper, k] - work.positions[0, end, k]) ** 2
                straighter = soften(math.sqrt(square) - puppet.lengths[limb] + 2.0 * easy, easy)
                pull = pull_of(importance, limb) * soften(gap + 2.0 * easy - straighter, easy)
                move_root(work, -pull * nx, -pull * ny, -pull * nz)


@uncounted_jit
def unfold(puppet, character, importance, work, tuning):
    """Move the root away from the goals of feet that stand nearer to their hips than the leg folds.

    Who kneels with tucked toes on long feet has the ankle nearly as high as the hip.
    """
    for limb in range(2, LIMBS):
        upper = character.limbs[limb, 0]
        if upper < 0:
            continue
        easy, thigh, shin = tuning[AT.unbend] * puppet.lengths[limb], puppet.uppers[limb], puppet.lowers[limb]
        folded = math.sqrt(thigh * thigh + shin * shin + 2.0 * thigh * shin * math.cos(MOST_FLEXION))
        x, y, z, far = from_goal(limb, upper, work)
        push = importance.scene[limb] * soften(folded + easy - far, easy) / far
        if push > 0.0:
            move_root(work, push * x, push * y, push * z)


@uncounted_jit
def from_goal(limb, upper, work):
    """Return the vector (3) from a goal to a shoulder or hip, and its length."""
    x = work.positions[0, upper, 0] - work.goals[limb, 0]
    y = work.positions[0, upper, 1] - work.goals[limb, 1]
    z = work.positions[0, upper, 2] - work.goals[limb, 2]
    return x, y, z, max(math.sqrt(x * x + y * y + z * z), 1e-9)


@uncounted_jit
def ease_root(x, y, z, dt, started, limbs, work, tuning):
    """Low-pass filter the root's shift from its copied position (x, y, z); the legs make up for the difference."""
    for k in range(3):
        start = x if k == 0 else (y if k == 1 else z)
        wanted = work.root[0, k] - start
        if started:
            limbs.root[0, k], limbs.root[1, k] = spring(
                limbs.root[0, k], limbs.root[1, k], wanted, tuning[AT.root_ease], dt
            )
        else:
            limbs.root[0, k], limbs.root[1, k] = wanted, 0.0
        work.vector[2, k] = limbs.root[0, k] - wanted
    move_root(work, work.vector[2, 0], work.vector[2, 1], work.vector[2, 2])


@uncounted_jit
def reach_from_root(puppet, character, importance, first, work, tuning):
    """Move the root into the balls from which every important end of limbs `first` … 3 can be reached (section 5.1).

    Those of elbows and knees as well, when all limbs count.
    """
    count = 0
    for limb in range(first, 2 * LIMBS if first == 0 else LIMBS):
        w, upper = pull_of(importance, limb), character.limbs[limb % LIMBS, 0]
        if upper < 0 or w < tuning[AT.least_importance]:
            continue
        for k in range(3):
            work.centers[count, k] = work.goals[limb, k] - (work.positions[0, upper, k] - work.root[0, k])
        work.radii[count] = tuning[AT.gives_in] * reach_of(puppet, limb) / w
        work.order[count] = limb
        # sort by importance
        c = count
        while c > 0 and importance.scene[work.order[c]] > importance.scene[work.order[c - 1]]:
            swap_balls(work, c, c - 1)
            c -= 1
        count += 1
    place = work.vector[2]
    while count > 0:
        if closest(work.root[0], work.centers[:count], work.radii[:count], place):
            move_root(work, place[0] - work.root[0, 0], place[1] - work.root[0, 1], place[2] - work.root[0, 2])
            return
        # drop balls that do not intersect the most important one; if all do, the least important ball
        kept = 1
        for c in range(1, count):
            square = 0.0
            for k in range(3):
                square += (work.centers[c, k] - work.centers[0, k]) ** 2
            if square <= (work.radii[c] + work.radii[0]) ** 2:
                swap_balls(work, c, kept)
                kept += 1
        count = kept if kept < count else count - 1


@uncounted_jit
def pull_of(importance, limb):
    """Return how much the end of a limb pulls the root, 0 to 1.

    A hand that comes near to the floor and does not reach it must not pull a body that stands: its reach, l/w, becomes
    shorter faster than a root follows (12 m/s² on Blubby, mocapbank, where the copied pose has 4.5).
    """
    w = importance.scene[limb]
    return w * w * w * w if limb < 2 else w


@uncounted_jit
def swap_balls(work, a, b):
    """Exchange two balls."""
    for k in range(3):
        work.centers[a, k], work.centers[b, k] = work.centers[b, k], work.centers[a, k]
    work.radii[a], work.radii[b] = work.radii[b], work.radii[a]
    work.order[a], work.order[b] = work.order[b], work.order[a]


@uncounted_jit
def reach_of(puppet, limb):
    """Return how far a limb reaches, metres: to its end, or from 4 on to its elbow or knee."""
    return puppet.lengths[limb] if limb < LIMBS else puppet.uppers[limb - LIMBS]


@uncounted_jit
def too_short(puppet, character, importance, limb, share, work, tuning):
    """Return (metres by which a share of a limb is too short for its goal, unit direction from the goal to it)."""
    upper = character.limbs[limb % LIMBS, 0]
    if upper < 0 or importance.scene[limb] < tuning[AT.least_importance]:
        return -1.0, 0.0, 0.0, 0.0
    x, y, z, length = from_goal(limb, upper, work)
    return length - share * reach_of(puppet, limb) / pull_of(importance, limb), x / length, y / length, z / length


@uncounted_jit
def bend_body(target, importance, work):
    """Bend the body where the root alone does not let every end be reached; return the iterations (section 5.2).

    Newton's method on equation 5.3 over the root's place and the rotations of hips and all vertebrae,

        Σ_i max(0, |s_i − g_i| − l_i/w_i)² + α (Σ_j β |x_j|² + γ |p − p*|²),

    with x_j the rotation vector of joint j from its captured orientation: q_j = exp(x_j) q_j* in the captured axes. A
    gap d_i > 0 along the unit vector n_i has the Hessian n nᵀ + d/|s − g| (I − n nᵀ) in s_i: without its second part
    (Gauss–Newton) goals that pull against each other, which no body reaches, make steps that swing about the minimum.
    """
    puppet, character, tuning = target.puppet, target.character, target.stage.tuning
    joints = puppet.spine.shape[0]
    count = 3 + 3 * joints
    row, step, right, total = work.vector[0], work.vector[1], work.vector[2], work.vector[3]
    total[:] = 0.0
    before = np.inf
    for iteration in range(MOST_ITERATIONS):
        worst, objective = 0.0, 0.0
        for limb in range(2 * LIMBS):
            gap = max(too_short(puppet, character, importance, limb, tuning[AT.gives_in], work, tuning)[0], 0.0)
            worst, objective = max(worst, gap), objective + gap * gap
        for k in range(count):
            objective += (tuning[AT.keep_place] if k < 3 else tuning[AT.keep_turn]) * total[k] * total[k]
        if worst < CLOSE_ENOUGH:
            return iteration
        if objective > before:
            # the step was too long: take half of it back
            for k in range(count):
                step[k] *= -0.5
            move_body(puppet, step, total, work)
            for k in range(count):
                step[k] = -step[k]
            continue
        if objective > (1.0 - LEAST_GAIN) * before:
            return iteration
        before = objective
        work.normal[:, :] = 0.0
        for k in range(count):
            keep = tuning[AT.keep_place] if k < 3 else tuning[AT.keep_turn]
            work.normal[k, k], right[k] = keep, -keep * total[k]
        for limb in range(2 * LIMBS):
            gap, nx, ny, nz = too_short(puppet, character, importance, limb, tuning[AT.gives_in], work, tuning)
            if gap <= 0.0:
                continue
            upper = character.limbs[limb % LIMBS, 0]
            shoulder_row(puppet, limb, upper, nx, ny, nz, row, work)
            add_row(row, count, -gap, 1.0, work.normal, right)
            # two directions across n; the smallest component of n is the one to leave
            curved = gap / (gap + tuning[AT.gives_in] * reach_of(puppet, limb) / pull_of(importance, limb))
            if abs(nx) <= min(abs(ny), abs(nz)):
                tx, ty, tz = 0.0, nz, -ny
            elif abs(ny) <= abs(nz):
                tx, ty, tz = -nz, 0.0, nx
            else:
                tx, ty, tz = ny, -nx, 0.0
            norm = 1.0 / math.sqrt(tx * tx + ty * ty + tz * tz)
            tx, ty, tz = norm * tx, norm * ty, norm * tz
            shoulder_row(puppet, limb, upper, tx, ty, tz, row, work)
            add_row(row, count, 0.0, curved, work.normal, right)
            shoulder_row(puppet, limb, upper, ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx, row, work)
            add_row(row, count, 0.0, curved, work.normal, right)
        if not factor(work.normal, 0.0, count, work.factor):
            return iteration
        substitute(work.factor, right, count, step)
        move_body(puppet, step, total, work)
    return MOST_ITERATIONS


@uncounted_jit
def move_body(puppet, step, total, work):
    """Take a step of the body: shift the root, turn hips and vertebrae; add it to `total`."""
    for k in range(3 + 3 * puppet.spine.shape[0]):
        total[k] += step[k]
    move_root(work, step[0], step[1], step[2])
    for n in range(puppet.spine.shape[0]):
        turn_vertebra(puppet, puppet.spine[n], total[3 + 3 * n : 6 + 3 * n], work)
    forward(puppet.parents, puppet.offsets, work.root, work.local, work.positions, work.rotations)


@uncounted_jit
def shoulder_row(puppet, limb, upper, x, y, z, row, work):
    """Write how far a shoulder or hip moves along a direction for each unknown of the body step."""
    row[:] = 0.0
    row[0], row[1], row[2] = x, y, z
    for n in range(puppet.spine.shape[0]):
        if puppet.carries[n, limb % LIMBS] == 0:
            continue
        j, c = puppet.spine[n], 3 + 3 * n
        ax = work.positions[0, upper, 0] - work.positions[0, j, 0]
        ay = work.positions[0, upper, 1] - work.positions[0, j, 1]
        az = work.positions[0, upper, 2] - work.positions[0, j, 2]
        # a small rotation v moves the shoulder by v × arm: n · (v × arm) = v · (arm × n)
        w, qx, qy, qz = ancestors_turn(puppet, j, work)
        row[c], row[c + 1], row[c + 2] = rotate(w, -qx, -qy, -qz, ay * z - az * y, az * x - ax * z, ax * y - ay * x)


@uncounted_jit
def ease_body(target, clock, limbs, work):
    """Limit the accelerations of hips and vertebrae that the body step turns: `work.vector[3]` has their rotations."""
    tuning = target.stage.tuning
    puppet, total, most = target.puppet, work.vector[3], 0.0
    # a vertebra moves what is above it, about a third of the body's height
    bound = tuning[AT.bend_rate] * clock.bound
    for n in range(puppet.spine.shape[0]):
        vector, before = total[3 + 3 * n : 6 + 3 * n], most
        limit_turn(limbs.bends[n], vector, bound / puppet.spine.shape[0], clock, tuning)
        most = max(before, abs(vector[0]), abs(vector[1]), abs(vector[2]))
    if most <= 0.0:
        return
    for n in range(puppet.spine.shape[0]):
        turn_vertebra(puppet, puppet.spine[n], total[3 + 3 * n : 6 + 3 * n], work)
    forward(puppet.parents, puppet.offsets, work.root, work.local, work.positions, work.rotations)


@uncounted_jit
def ancestors_turn(puppet, joint, work):
    """Return the rotation of a joint's parent from its captured orientation."""
    p = puppet.parents[joint]
    if p < 0:
        return 1.0, 0.0, 0.0, 0.0
    r, c = work.rotations[0, p], work.captured[p]
    return multiply(r[0], r[1], r[2], r[3], c[0], -c[1], -c[2], -c[3])


@uncounted_jit
def turn_vertebra(puppet, joint, turn, work):
    """Set a joint's local rotation to its captured one, turned by a rotation vector (3,) in the captured axes."""
    p, c = puppet.parents[joint], work.captured[joint]
    w, i, j, k = multiply(*exp(turn[0], turn[1], turn[2]), c[0], c[1], c[2], c[3])
    if p >= 0:
        r = work.captured[p]
        w, i, j, k = multiply(r[0], -r[1], -r[2], -r[3], w, i, j, k)
    local = work.local[0, joint]
    norm = 1.0 / math.sqrt(w * w + i * i + j * j + k * k)
    local[0], local[1], local[2], local[3] = w * norm, i * norm, j * norm, k * norm


@uncounted_jit
def make_way(sign, limbs, work):
    """Shift the goals of the feet by what they made way for each other in the frame before, or back (sign −1)."""
    for foot in range(2):
        for k in range(3):
            work.goals[2 + foot, k] += sign * limbs.apart[foot, k]


@uncounted_jit
def place_body(target, importance, scene, clock, limbs, work):
    """Compute goals of hands and feet, place the root and bend the body; return the iterations of the body step."""
    tuning = target.stage.tuning
    puppet, character, stage = target.puppet, target.character, target.stage
    dt, started = clock.dt, clock.started
    contact_points(character, work.positions[0], work.rotations[0], work.points)
    for n in range(POINTS):
        end = character.limbs[n if n < 2 else (2 if n < 5 else 3), 2]
        for k in range(3):
            work.points[n, k] -= work.positions[0, end, k]
    for limb in range(4):
        if character.limbs[limb, 2] < 0:
            continue
        if limb < 2:
            hand_goal(limb, importance, scene, stage, work)
        else:
            foot_goal(target, limb, importance, scene, clock, limbs, work)
        middle_goal(limb, importance, scene, target, work)
    # the root must let feet stand where they made way for the other leg
    make_way(1.0, limbs, work)
    if stage.estimate:
        x, y, z = work.root[0, 0], work.root[0, 1], work.root[0, 2]
        estimate_root(puppet, character, importance, work)
        lift_trunk(target, scene, work)
        unbend(puppet, character, importance, work, tuning)
        reach_from_root(puppet, character, importance, 0, work, tuning)
        unfold(puppet, character, importance, work, tuning)
        iterations = bend_body(target, importance, work)
        ease_body(target, clock, limbs, work)
        # hands may lag, feet in stance may not
        ease_root(x, y, z, dt, started, limbs, work, tuning)
        reach_from_root(puppet, character, importance, 2, work, tuning)
        unfold(puppet, character, importance, work, tuning)
    else:
        iterations = bend_body(target, importance, work)
    make_way(-1.0, limbs, work)
    return iterations


WARMUP: dict = {}
