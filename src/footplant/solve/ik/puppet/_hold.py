"""Foot lock: heels and balls are held where they came to rest while they are fully important.

Captured feet creep and rock by a centimetre or two during stance, and edges of an estimated uneven ground move them,
too. The motion of a heel, ball or toe that is slow and on the ground is held back, up to a few centimetres; heel and
ball together also prevent rotation. Faster motion is intended, and in the air the hold offset decays like any shift of
a foot. (`feet` locks feet of clips whose footplants are known.)
"""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.importance import share
from footplant.kernels.limb import UP, aim
from footplant.kernels.quaternion import multiply, rotate
from footplant.solve.ik.puppet._tables import AT, GRIP, from_thing, soften

PLACE, BACK, SPEED, THEIRS, RESTLESS, BRAKE = 0, 3, 6, 9, 14, 15
"""Columns of a point's state: requested position, hold offset, velocity of the performer's point, its position, grips
over the ground and vertically, mean speed, the speeds that are held back over the ground and vertically."""
FAINT = 1e-4
"""Least weight of a point."""


@uncounted_jit
def held_share(n, importance, weight, dt, stage, state, moved_by):
    """Return how firmly a point stands, over the ground and vertically, 0 to 1, and the shares of its motion held back.

    moved_by: that motion (3). A hold offset grows up to some centimetres only; a point that stands beyond them keeps
    its offset and follows the performer's motion.
    """
    tuning = stage.tuning
    x, y, z = moved_by
    blend = 1.0 - math.exp(-0.6931471805599453 * dt / tuning[AT.hold_rate])
    square, steady, way = 0.0, 0.0, 0.0
    for k in range(3):
        moved, before = importance.points[n, k] - state[THEIRS + k], state[SPEED + k]
        state[THEIRS + k] = importance.points[n, k]
        state[SPEED + k] += blend * (moved / dt - state[SPEED + k])
        square += state[SPEED + k] ** 2
        steady += (0.5 * (state[SPEED + k] + before)) ** 2
        way += moved * moved
    state[RESTLESS] += blend * (math.sqrt(way) / dt - state[RESTLESS])
    back_x, back_y, back_z = state[BACK] - x, state[BACK + 1] - y, state[BACK + 2] - z
    far = math.sqrt(back_x * back_x + back_z * back_z) / (tuning[AT.most_creep] * stage.size)
    high = abs(back_y) / (tuning[AT.most_rise] * stage.size)
    speed = max(math.sqrt(square), tuning[AT.trembles] * state[RESTLESS])
    slow = share((speed - tuning[AT.slow]) / (tuning[AT.fast] - tuning[AT.slow]))
    # toes that carry a foot carry its ball
    low = importance.nearest[n] if n % 3 != 0 else min(importance.nearest[n], importance.nearest[n + 1])
    near = share((low - tuning[AT.on_ground]) / (tuning[AT.off_ground] - tuning[AT.on_ground]))
    # what stands and trembles does not rise: the mean of two frames is then less than half of the mean speed; that of a
    # point that begins to move is not
    steady = math.sqrt(steady)
    speed += state[GRIP + 1] * share(2.0 * steady / max(state[RESTLESS], 1e-9)) * (steady - speed)
    slow_rise = share((speed - tuning[AT.slow_rise]) / (tuning[AT.fast_rise] - tuning[AT.slow_rise]))
    part = near * weight ** tuning[AT.fully]
    grips = 1.0 - math.exp(-0.6931471805599453 * dt / tuning[AT.grips])
    # a grip is lost at once and rises slowly
    flat, up = slow * part, slow_rise * part
    state[GRIP] += (1.0 if flat < state[GRIP] else grips) * (flat - state[GRIP])
    state[GRIP + 1] += (1.0 if up < state[GRIP + 1] else grips) * (up - state[GRIP + 1])
    flat, up = state[GRIP], state[GRIP + 1]
    return flat, up, flat * share(2.0 * far - 1.0), up * share(2.0 * high - 1.0)


@uncounted_jit
def let_go(part, moved, k, lasts, dt, state):
    """Return the share of a motion of `moved` metres that is held back where the grip alone holds back `part` of it.

    A speed that was held back fades: a point that was let go within a frame would be accelerated by what it had been
    held back until then, too. k: 0 over the ground, 1 vertically; lasts: what is left of it a frame later.
    """
    back = min(max(part * moved, lasts * dt * state[BRAKE + k]), moved)
    state[BRAKE + k] = back / dt
    return back / max(moved, 1e-12)


@uncounted_jit
def hold_points(target, limb, importance, clock, settle, limbs, work):
    """Hold back the motion of each point of a foot: write `work.held_points`, and changes to the rows of scratch."""
    tuning = target.stage.tuning
    character, dt = target.character, clock.dt
    first, goal, held = 3 * limb - 4, work.goals[limb], work.held_points
    sinks = math.exp(-0.6931471805599453 * dt / tuning[AT.sinks])
    lasts = math.exp(-0.6931471805599453 * dt / tuning[AT.lets_go])
    for c in range(3):
        n, state, change = first + c, limbs.holds[first - 2 + c], work.scratch[c]
        held[0, c], held[1, c] = 0.0, 0.0
        change[0], change[1], change[2] = 0.0, 0.0, 0.0
        if character.carriers[n] < 0:
            continue
        x, y, z = goal[0] + work.points[n, 0], goal[1] + work.points[n, 1], goal[2] + work.points[n, 2]
        moved_x, moved_y, moved_z = x - state[PLACE], y - state[PLACE + 1], z - state[PLACE + 2]
        state[PLACE], state[PLACE + 1], state[PLACE + 2] = x, y, z
        if not clock.started:
            # what is on the ground stands until it is seen to move
            for k in range(3):
                state[BACK + k], state[SPEED + k], state[THEIRS + k] = 0.0, 0.0, importance.points[n, k]
            continue
        moved_by = (moved_x, moved_y, moved_z)
        firm, firm_up, part, part_up = held_share(
            n, importance, importance.scene[limb], dt, target.stage, state, moved_by
        )
        part = let_go(part, math.sqrt(moved_x * moved_x + moved_z * moved_z), 0, lasts, dt, state)
        part_up = let_go(part_up, abs(moved_y), 1, lasts, dt, state)
        change[0], change[1], change[2] = -part * moved_x, -part_up * moved_y, -part * moved_z
        state[BACK] = (1.0 - settle) * (state[BACK] + change[0])
        state[BACK + 1] = (1.0 - settle) * sinks * (state[BACK + 1] + change[1])
        state[BACK + 2] = (1.0 - settle) * (state[BACK + 2] + change[2])
        held[0, c], held[1, c] = firm, firm_up


@uncounted_jit
def hold_weight(held, c):
    """Return the weight of the heel (0), the ball (1) or the toe (2) in the shift of the foot; held: one row of it."""
    weight = held[c] ** 2
    # toes bend, so they count only where the ball is not held
    return FAINT + ((1.0 - held[1]) * weight if c == 2 else weight)


@uncounted_jit
def stands(limb, limbs):
    """Return how firmly a foot stands vertically, 0 to 1: the firmest of heel, ball and toe."""
    first = 3 * limb - 6
    return max(limbs.holds[first, GRIP + 1], limbs.holds[first + 1, GRIP + 1], limbs.holds[first + 2, GRIP + 1])


@uncounted_jit
def out_of_scene(target, limb, scene, limbs, work):
    """Move heel, ball and toe of a foot that stands out of the scene, each by itself: change their hold offsets.

    The foot then rolls about the point that is held, and its toes bend; shifted as a whole, it would take that point
    off its place. The foot is where it has been lifted to already (`_limbs.lift`).
    """
    stage, goal, first, lift = target.stage, work.goals[limb], 3 * limb - 4, limbs.lifts[limb - 2]
    give, firm = stage.tuning[AT.scene_give], stands(limb, limbs)
    for c in range(3):
        if firm <= 0.0 or target.character.carriers[first + c] < 0:
            continue
        back, point = limbs.holds[first - 2 + c, BACK:], work.points[first + c]
        for o in range(scene.things.kinds.shape[0]):
            x, y, z = (
                goal[0] + point[0] + back[0] + lift[0], goal[1] + point[1] + back[1] + lift[1],
                goal[2] + point[2] + back[2] + lift[2],
            )  # fmt: skip
            d, nx, ny, nz = from_thing(scene.things, o, scene.poses[o], stage, x, y, z)
            push = firm * soften(-d - give, 0.25 * give)
            back[0], back[1], back[2] = back[0] + push * nx, back[1] + push * ny, back[2] + push * nz


@uncounted_jit
def hold_turns(target, limb, states, work):
    """Return how a foot rotates that stands: (whether its toes rotate by themselves, their joint, foot, toes).

    The toes take the line from ball to toe to where the two are held, and the foot takes its line from the heel to the
    joint of the toes there. Feet without toes of their own: to the ball.
    """
    none, first, end = (1.0, 0.0, 0.0, 0.0), 3 * limb - 4, target.character.limbs[limb, 2]
    carriers = target.character.carriers
    heel, ball, toe = work.points[first], work.points[first + 1], work.points[first + 2]
    hinge, joint, toes = False, (ball[0], ball[1], ball[2]), none
    if carriers[first] < 0 or carriers[first + 1] < 0:
        return hinge, joint, none, none
    x, y, z = ball[0] + states[1, BACK], ball[1] + states[1, BACK + 1], ball[2] + states[1, BACK + 2]
    j = carriers[first + 2]
    if j >= 0 and j == carriers[first + 1] and target.puppet.parents[j] == end:
        hinge = True
        here, above = work.positions[0, j], work.positions[0, end]
        joint = (here[0] - above[0], here[1] - above[1], here[2] - above[2])
        line = (toe[0] - ball[0], toe[1] - ball[1], toe[2] - ball[2])
        held = (toe[0] + states[2, BACK] - x, toe[1] + states[2, BACK + 1] - y, toe[2] + states[2, BACK + 2] - z)
        toes = aim(line, held, UP)
        ox, oy, oz = rotate(
            toes[0], toes[1], toes[2], toes[3], joint[0] - ball[0], joint[1] - ball[1], joint[2] - ball[2]
        )
        x, y, z = x + ox, y + oy, z + oz
    line = (joint[0] - heel[0], joint[1] - heel[1], joint[2] - heel[2])
    held = (x - heel[0] - states[0, BACK], y - heel[1] - states[0, BACK + 1], z - heel[2] - states[0, BACK + 2])
    return hinge, joint, aim(line, held, UP), toes


@uncounted_jit
def turned(point, on_toes, joint, foot, toes):
    """Return a point of a foot (3, from the ankle) that is rotated; on_toes: and by its toes, about their joint."""
    if not on_toes:
        return rotate(foot[0], foot[1], foot[2], foot[3], point[0], point[1], point[2])
    x, y, z = rotate(foot[0], foot[1], foot[2], foot[3], joint[0], joint[1], joint[2])
    ox, oy, oz = rotate(
        toes[0], toes[1], toes[2], toes[3], point[0] - joint[0], point[1] - joint[1], point[2] - joint[2]
    )
    return x + ox, y + oy, z + oz


@uncounted_jit
def turn_captured(rotation, turn):
    """Rotate an orientation (4,) in place."""
    rotation[0], rotation[1], rotation[2], rotation[3] = multiply(
        turn[0], turn[1], turn[2], turn[3], rotation[0], rotation[1], rotation[2], rotation[3]
    )


@uncounted_jit
def hold_foot(target, limb, importance, scene, clock, settle, limbs, work):
    """Hold the points of a foot in stance: shift its goal, and rotate the foot and its toes so that each stays.

    settle: the share of the hold offset that is given up in this frame.
    """
    tuning = target.stage.tuning
    carriers, end = target.character.carriers, target.character.limbs[limb, 2]
    first, goal, turn, bent = 3 * limb - 4, work.goals[limb], work.turned[limb], work.turned[limb + 2]
    turn[0], turn[1], turn[2], turn[3] = 1.0, 0.0, 0.0, 0.0
    bent[0], bent[1], bent[2], bent[3] = 1.0, 0.0, 0.0, 0.0
    states, held = limbs.holds[first - 2 : first + 1], work.held_points
    total, mean, moved, shift = work.scratch[3], work.scratch[4], work.scratch[5], work.scratch[6]
    for k in range(3):
        total[k], mean[k], moved[k], shift[k] = 0.0, 0.0, 0.0, 0.0
    hold_points(target, limb, importance, clock, settle, limbs, work)
    for c in range(3):
        if carriers[first + c] >= 0:
            for k in range(3):
                weighs = hold_weight(held[k % 2], c)
                total[k] += weighs
                mean[k] += weighs * states[c, BACK + k]
                moved[k] += weighs * work.scratch[c, k]
    if total[0] <= 0.0 or not clock.started:
        return
    levels = 1.0 - math.exp(-0.6931471805599453 * clock.dt / tuning[AT.levels])
    for c in range(3):
        for k in range(3):
            part = 1.0 - held[k % 2, c]
            back = states[c, BACK + k] + part * moved[k] / total[k]
            states[c, BACK + k] = back + part * levels * (mean[k] / total[k] - back)
    out_of_scene(target, limb, scene, limbs, work)
    hinge, joint, foot, toes = hold_turns(target, limb, states, work)
    place = work.scratch[7]
    for c in range(3):
        if carriers[first + c] < 0:
            continue
        point = work.points[first + c]
        place[0], place[1], place[2] = turned(point, hinge and c > 0, joint, foot, toes)
        for k in range(3):
            shift[k] += hold_weight(held[k % 2], c) * (states[c, BACK + k] + point[k] - place[k]) / total[k]
    for c in range(3):
        if carriers[first + c] < 0:
            continue
        point, state = work.points[first + c], states[c]
        place[0], place[1], place[2] = turned(point, hinge and c > 0, joint, foot, toes)
        for k in range(3):
            # points that are not held follow the foot
            state[BACK + k] += (1.0 - held[k % 2, c]) * (shift[k] + place[k] - point[k] - state[BACK + k])
            point[k] = place[k]
    goal[0], goal[1], goal[2] = goal[0] + shift[0], goal[1] + shift[1], goal[2] + shift[2]
    turn[0], turn[1], turn[2], turn[3] = foot
    bent[0], bent[1], bent[2], bent[3] = toes if hinge else foot
    turn_captured(work.captured[end], foot)
    if hinge:
        own, above, local = work.captured[carriers[first + 2]], work.captured[end], work.local[0, carriers[first + 2]]
        turn_captured(own, toes)
        local[0], local[1], local[2], local[3] = multiply(
            above[0], -above[1], -above[2], -above[3], own[0], own[1], own[2], own[3]
        )


WARMUP: dict = {}
