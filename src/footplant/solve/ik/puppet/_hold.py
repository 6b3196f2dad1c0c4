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
from footplant.solve.ik.puppet._tables import AT, GRIP

PLACE, BACK, SPEED, THEIRS, RESTLESS = 0, 3, 6, 9, 14
"""Columns of a point's state: requested position, hold offset, velocity of the performer's point, its position, grips
over the ground and vertically, mean speed."""
UNKNOWN = 0.2
"""Mean speed of a point before the first frame, m/s along each axis."""
FAINT = 1e-4
"""Least weight of a point."""


@uncounted_jit
def held_share(n, importance, weight, dt, stage, state, moved_by):
    """Return the shares of a point's motion (3) over the ground and vertically that are held back, 0 to 1."""
    tuning = stage.tuning
    x, y, z = moved_by
    blend = 1.0 - math.exp(-0.6931471805599453 * dt / tuning[AT.hold_rate])
    square, way = 0.0, 0.0
    for k in range(3):
        moved = importance.points[n, k] - state[THEIRS + k]
        state[THEIRS + k] = importance.points[n, k]
        state[SPEED + k] += blend * (moved / dt - state[SPEED + k])
        square += state[SPEED + k] ** 2
        way += moved * moved
    state[RESTLESS] += blend * (math.sqrt(way) / dt - state[RESTLESS])
    back_x, back_y, back_z = state[BACK] - x, state[BACK + 1] - y, state[BACK + 2] - z
    far = math.sqrt(back_x * back_x + back_z * back_z) / (tuning[AT.most_creep] * stage.size)
    high = abs(back_y) / (tuning[AT.most_rise] * stage.size)
    speed = max(math.sqrt(square), tuning[AT.trembles] * state[RESTLESS])
    slow = share((speed - tuning[AT.slow]) / (tuning[AT.fast] - tuning[AT.slow]))
    near = share((importance.nearest[n] - tuning[AT.on_ground]) / (tuning[AT.off_ground] - tuning[AT.on_ground]))
    slow_rise = share((speed - tuning[AT.slow_rise]) / (tuning[AT.fast_rise] - tuning[AT.slow_rise]))
    part = near * weight ** tuning[AT.fully]
    grips = 1.0 - math.exp(-0.6931471805599453 * dt / tuning[AT.grips])
    # a grip is lost at once and rises slowly
    flat, up = slow * part, slow_rise * part
    state[GRIP] += (1.0 if flat < state[GRIP] else grips) * (flat - state[GRIP])
    state[GRIP + 1] += (1.0 if up < state[GRIP + 1] else grips) * (up - state[GRIP + 1])
    return state[GRIP] * share(2.0 * far - 1.0), state[GRIP + 1] * share(2.0 * high - 1.0)


@uncounted_jit
def hold_points(target, limb, importance, clock, settle, limbs, work):
    """Hold back the motion of each point of a foot: write `work.held_points`, and changes to the rows of scratch."""
    tuning = target.stage.tuning
    character, dt = target.character, clock.dt
    first, goal, held = 3 * limb - 4, work.goals[limb], work.held_points
    sinks = math.exp(-0.6931471805599453 * dt / tuning[AT.sinks])
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
            for k in range(3):
                state[BACK + k], state[SPEED + k], state[THEIRS + k] = 0.0, UNKNOWN, importance.points[n, k]
            continue
        moved_by = (moved_x, moved_y, moved_z)
        part, part_up = held_share(n, importance, importance.scene[limb], dt, target.stage, state, moved_by)
        change[0], change[1], change[2] = -part * moved_x, -part_up * moved_y, -part * moved_z
        state[BACK] = (1.0 - settle) * (state[BACK] + change[0])
        state[BACK + 1] = (1.0 - settle) * sinks * (state[BACK + 1] + change[1])
        state[BACK + 2] = (1.0 - settle) * (state[BACK + 2] + change[2])
        held[0, c], held[1, c] = part, part_up


@uncounted_jit
def hold_weight(held, c):
    """Return the weight of the heel (0), the ball (1) or the toe (2) in the shift of the foot; held: one row of it."""
    weight = held[c] ** 2
    # toes bend, so they count only where the ball is not held
    return FAINT + ((1.0 - held[1]) * weight if c == 2 else weight)


@uncounted_jit
def hold_turn(carriers, first, points, states):
    """Return the rotation of a foot from the line of its heel and ball to the line of where they are held."""
    if carriers[first] < 0 or carriers[first + 1] < 0:
        return 1.0, 0.0, 0.0, 0.0
    heel, ball, heel_back, ball_back = points[first], points[first + 1], states[0], states[1]
    x, y, z = ball[0] - heel[0], ball[1] - heel[1], ball[2] - heel[2]
    held_line = (
        x + ball_back[BACK] - heel_back[BACK], y + ball_back[BACK + 1] - heel_back[BACK + 1],
        z + ball_back[BACK + 2] - heel_back[BACK + 2],
    )  # fmt: skip
    return aim((x, y, z), held_line, UP)


@uncounted_jit
def hold_foot(target, limb, importance, clock, settle, limbs, work):
    """Hold the points of a foot in stance: shift its goal, and rotate the foot where both heel and ball are held.

    settle: the share of the hold offset that is given up in this frame.
    """
    tuning = target.stage.tuning
    carriers, end = target.character.carriers, target.character.limbs[limb, 2]
    first, goal, turn = 3 * limb - 4, work.goals[limb], work.turned[limb]
    turn[0], turn[1], turn[2], turn[3] = 1.0, 0.0, 0.0, 0.0
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
    w, qx, qy, qz = hold_turn(carriers, first, work.points, states)
    turned = work.scratch[7]
    for c in range(3):
        if carriers[first + c] < 0:
            continue
        point = work.points[first + c]
        turned[0], turned[1], turned[2] = rotate(w, qx, qy, qz, point[0], point[1], point[2])
        for k in range(3):
            shift[k] += hold_weight(held[k % 2], c) * (states[c, BACK + k] + point[k] - turned[k]) / total[k]
    for c in range(3):
        if carriers[first + c] < 0:
            continue
        point, state = work.points[first + c], states[c]
        turned[0], turned[1], turned[2] = rotate(w, qx, qy, qz, point[0], point[1], point[2])
        for k in range(3):
            # points that are not held follow the foot
            state[BACK + k] += (1.0 - held[k % 2, c]) * (shift[k] + turned[k] - point[k] - state[BACK + k])
            point[k] = turned[k]
    goal[0], goal[1], goal[2] = goal[0] + shift[0], goal[1] + shift[1], goal[2] + shift[2]
    turn[0], turn[1], turn[2], turn[3] = w, qx, qy, qz
    now = work.captured[end]
    now[0], now[1], now[2], now[3] = multiply(w, qx, qy, qz, now[0], now[1], now[2], now[3])


WARMUP: dict = {}
