"""Compiled plans of a driven character's swings: when and where a foot lands, and the path to it.

See `footplant.live.foot_plan` for what is planned and why, `_foot_plan` for what is done with it. A predicted foot is a
row of `_foot_plan.look_ahead`'s track: heel, ball, toe tip, ankle, hip, rotations of foot and toes, planted points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import jit
from footplant.kernels.limb import UP, aim
from footplant.kernels.quaternion import exp, log, multiply, rotate
from footplant.live._controller import ease
from footplant.live._foot_plan import (
    AFTER,
    ASIDE_X,
    ASIDE_Z,
    BASE,
    BEFORE,
    CLEAR_IN,
    DROP,
    FIRST,
    FOLLOW,
    LANDS,
    LENGTH,
    LIFT,
    LIFTED,
    LOWER,
    LOWEST,
    MOVED,
    NEED,
    NEEDED_IN,
    SHIFT,
    SINCE,
    SLACK,
    SOFT,
    SPEED,
    STANCE_NEED,
    START,
    STRAIGHT,
    SWING,
    TOE_LOCAL,
    TURN_RATE,
    TURN_SHOWN,
    bump,
    foot_states,
    foot_tables,
    ground_at,
    has_toes,
    level_ground,
    quintic,
    smoother,
)

# columns of a predicted foot
FORCED = 2.0
"""Times the clips' own acceleration of feet beyond which a landing is none. Scripts that stop on stairs (two sets of
`benchmarks/drive_stairs.py`) accelerate feet by up to 10.3 and 2.9 times what they do on level ground, without a bound
by 13.6 and 2.9."""
HEEL, BALL, TIP, ANKLE, HIP, TURN, TOES, BITS = 0, 3, 6, 9, 12, 15, 19, 23
EARLY, BENDS, LEAST_SHARE, MOST_BENT = 0.4**2 * 0.6**3, 6, 0.25, 0.15
"""Of the curve by which a path is bent into the leg's reach: its largest value, how often the frame that is farthest
out of reach is drawn in, the share of the curve from which a frame counts, and leg lengths by which it is bent at
most: more would tuck the foot up to the hip where the blended leg is bent later in the swing. In a script of 200
requests over a set with a circling walk, feet accelerate 3.3 times as much as the gaits without that bound, 2.4 times
at 0.15 and 2.6 times at 0.1; over three other sets it does not matter within 0.01 times from 0.1 to 0.15."""
ANY_HEIGHT = -1e8
"""Metres; a goal that is lower is at the height of the ground."""
LIFTING, HELD_BACK, AHEAD = 5, (5, 2), (6, 4)
"""How many of the first rows of `BUMPS` lift a foot, and those by which it is held back, and goes ahead. With the
symmetric one alone, a foot that steps down did not get past the nose: it was pushed up there within a frame, at 500
m/s²."""
FOLDED, FOLDING = 0.4, 2000.0
"""Leg lengths that an ankle keeps from its hip joint, unless it is nearer as it is blended, and metres per second
squared that count as much as a metre less. At 0, feet of runs up stairs were lifted up to the hip, and jumped there at
up to 900 m/s²."""
ASIDE, ASIDES = 0.02, 8
"""Metres by which, and how often, a swing over an edge is moved on along its way, or held back, at most."""
SAMPLES = 13
"""Times at which the acceleration of a path is taken."""


class PlanLimits(NamedTuple):
    """Limits of a character and a set of clips: `FootPlanSettings` in metres, seconds and frames of the prediction."""

    interval: float
    """Seconds between predicted frames."""
    most: float
    """Metres per second squared that a correction may add."""
    brake: float
    """Metres per second squared; the gaits' own acceleration of feet."""
    touchdown: float
    """Metres per second."""
    touchdown_share: float
    lasting: int
    swing: int
    shortest: int
    delay: int
    mean: int
    ahead: int
    again: int
    step: int
    """Frames."""
    free: float
    """Seconds."""
    bias: float
    lift: float
    clear: float
    highest: float
    slow: float
    far: float
    hardly: float
    returns: float
    drop: float
    uneven: float
    """Metres."""
    left_leg: float
    right_leg: float
    """Metres, lengths of the legs."""


class Landing(NamedTuple):
    """How a swing ends."""

    end: np.ndarray
    """(3, 3) the ankle's shift, its velocity and acceleration."""
    marks: np.ndarray
    """(3, 3) where heel, ball and toe tip will be when the foot is flat."""
    turn: np.ndarray
    """(3, 3) rotation vector of the foot's correction, its velocity and acceleration."""
    toes: np.ndarray
    """(5,) rotation of the toes relative to the foot, and what lands (heel 1, ball 2)."""
    need: np.ndarray
    """(1,) metres by which the body has to be lowered for the leg to reach it."""


class PlanScratch(NamedTuple):
    """Work arrays."""

    start: np.ndarray
    """(3, 3)"""
    turned: np.ndarray
    """(3, 3)"""
    path: np.ndarray
    """(3, 6)"""
    turn_path: np.ndarray
    """(3, 6)"""
    tried: Landing
    best: Landing


@jit
def fit_path(start, end, seconds, path):
    """Write coefficients (3, 6), lowest first, of a path between positions, velocities and accelerations (3, 3)."""
    t = max(seconds, 1e-6)
    for k in range(3):
        d = end[0, k] - start[0, k] - start[1, k] * t - 0.5 * start[2, k] * t * t
        dv = end[1, k] - start[1, k] - start[2, k] * t
        da = end[2, k] - start[2, k]
        path[k, 0], path[k, 1], path[k, 2] = start[0, k], start[1, k], 0.5 * start[2, k]
        path[k, 3] = 10.0 * d / t**3 - 4.0 * dv / t**2 + 0.5 * da / t
        path[k, 4] = -15.0 * d / t**4 + 7.0 * dv / t**3 - da / t**2
        path[k, 5] = 6.0 * d / t**5 - 3.0 * dv / t**4 + 0.5 * da / t**3


@jit
def strongest(path, seconds):
    """Return the largest acceleration of a path, metres per second squared."""
    most = 0.0
    for n in range(SAMPLES):
        square = 0.0
        for k in range(3):
            _, _, second = quintic(path[k], seconds * n / (SAMPLES - 1))
            square += second * second
        most = max(most, square)
    return math.sqrt(most)


@jit
def stays(limits, own, shift):
    """Return the seconds for which a foot that the blend releases should still stand: it hardly moves, or returns.

    own: the predicted foot (N, 24). shift (3,): metres from it to where the foot stands.
    """
    again = min(limits.again, own.shape[0] - 1)
    body = math.hypot(own[again, HIP] - own[0, HIP], own[again, HIP + 2] - own[0, HIP + 2])
    if _way(own, again) <= limits.slow and body <= limits.far:
        return limits.interval
    leaves = again
    for n in range(again + 1):
        if _way(own, n) > limits.hardly:
            leaves = n - 1
            break
    for n in range(again + 1):
        if own[n, BITS] > 0.0:
            if math.hypot(own[n, BALL] - own[0, BALL], own[n, BALL + 2] - own[0, BALL + 2]) <= limits.returns:
                leaves = max(leaves, n)
            break
    return max(leaves, _dragged(limits, own, shift)) * limits.interval


@jit
def _dragged(limits, own, shift):
    """Return the frame until which the blend drags a foot, hardly lifted, to a place near where it stands; 0: it steps.

    Such a foot stays: it would creep along, or take a step that is hardly one.
    """
    lasts = 0
    for n in range(own.shape[0]):
        x, z = own[n, BALL] - own[0, BALL] - shift[0], own[n, BALL + 2] - own[0, BALL + 2] - shift[2]
        if own[n, BALL + 1] - own[0, BALL + 1] > limits.lift or x * x + z * z > limits.far * limits.far:
            return 0
        lasts = lasts + 1 if own[n, BITS] > 0.0 else 0
        if lasts > limits.lasting:
            return n - limits.lasting
    return 0


@jit
def _way(own, n):
    x, y, z = own[n, BALL] - own[0, BALL], own[n, BALL + 1] - own[0, BALL + 1], own[n, BALL + 2] - own[0, BALL + 2]
    return math.sqrt(x * x + y * y + z * z)


@jit
def plan_swing(feet, limits, ground, request, aims, state, track, scratch):
    """Write the plan of a foot that swings, from its state now on; return whether it lands at a goal.

    request: (foot, now, stepping); stepping: a step of a foot that the motion keeps planted. aims: via (4,), seconds,
    and the shift that the foot has to have then, and goal (4,), the place of the sole's middle (a height below the
    ground is the ground's) and the seconds in which the foot will land there; negative seconds: none. track: predicted
    feet (N, 2, 24).
    """
    via, goal = aims
    foot, now, stepping = request
    start, turned, best = scratch.start, scratch.turned, scratch.best
    own, times, levels, flags = track[:, foot], state.times[foot], state.levels[foot], state.flags[foot]
    _read_start(state, foot, now, start, turned)
    if times[SINCE] == now:
        _leave(limits, own, start, levels[BEFORE])
    elif times[LENGTH] > 0.0:
        # planned anew in the middle of a swing
        levels[BEFORE] += smoother((now - times[START]) / times[LENGTH]) * (levels[AFTER] - levels[BEFORE])
    last = own.shape[0] - 1
    levels[LIFT] = levels[NEED] = levels[ASIDE_X] = levels[ASIDE_Z] = levels[LIFTED] = levels[MOVED] = 0.0
    landing = -1
    if via[0] < 0.0:
        landing = _find_landing(feet, limits, ground, (foot, now, stepping), goal, state, own, scratch)
    flags[LANDS] = 1 if landing >= 0 else 0
    if landing < 0:
        best.end[:, :] = 0.0
        best.turn[:, :] = 0.0
        if via[0] >= 0.0:
            seconds = via[0]
            best.end[0, 0], best.end[0, 1], best.end[0, 2] = via[1], via[2], via[3]
            levels[AFTER] = levels[BEFORE]
        else:
            seconds = limits.free
            later = min(int(seconds / limits.interval + 0.5), last)
            best.end[0, 1] = ground_at(ground, own[later, HEEL], own[later, HEEL + 2])
            for p in (BALL, TIP):
                best.end[0, 1] = max(best.end[0, 1], ground_at(ground, own[later, p], own[later, p + 2]))
            levels[AFTER] = best.end[0, 1]
        fit_path(start, best.end, seconds, scratch.path)
        _stay_within(limits, foot, state, own, min(int(seconds / limits.interval), last), scratch.path)
        if via[0] < 0.0:
            turns = (turned, best.turn, scratch.turn_path)
            _pass_edges(limits, ground, (foot, later), state, own, scratch.path, turns)
    else:
        seconds = landing * limits.interval
        state.places[foot, :3] = best.marks
        flags[FIRST] = int(best.toes[4])
        for k in range(4):
            state.turns[foot, TOE_LOCAL, k] = best.toes[k]
        levels[AFTER] = 0.5 * (best.marks[0, 1] + best.marks[1, 1])
        levels[NEED] = best.need[0]
        fit_path(start, best.end, seconds, scratch.path)
        _stay_within(limits, foot, state, own, landing, scratch.path)
        if _meets(limits, landing, goal) and goal[1] > ANY_HEIGHT:
            turns = (turned, best.turn, scratch.turn_path)
            _pass_edges(limits, ground, (foot, landing), state, own, scratch.path, turns)
        else:
            levels[LIFT] = _clearance(limits, ground, own, scratch.path, landing, stepping)
    times[START], times[LENGTH] = now, seconds
    for k in range(3):
        for n in range(6):
            state.path[foot, k, n] = scratch.path[k, n]
    fit_path(turned, best.turn, seconds, scratch.path)
    for k in range(3):
        for n in range(6):
            state.path[foot, 3 + k, n] = scratch.path[k, n]
    return landing >= 0 and _meets(limits, landing, goal)


@jit
def _meets(limits, landing, goal):
    """Return whether a landing (frame) is the one that has a goal: a foot's other landings are farther away."""
    return goal[3] >= 0.0 and landing * limits.interval > goal[3] - 0.5 * limits.step * limits.interval


@jit
def beyond(feet, limits, ground, request, goal, state, track, scratch):
    """Return by how many metres a goal is out of the leg's reach, and how many the body has to be lowered for it.

    request: (foot, frame of the landing).
    """
    foot, k = request
    own = track[:, foot]
    dx, dz = _land_on(feet, limits, ground, foot, k, _place_of(own[k], goal), state, own, scratch)
    return math.hypot(dx, dz), scratch.tried.need[0]


@jit
def _place_of(row, goal):
    """Return x, z and least height of a foot's first point so that the middle of its flat sole is at a goal."""
    x, y, z = row[BALL] - row[HEEL], row[BALL + 1] - row[HEEL + 1], row[BALL + 2] - row[HEEL + 2]
    half = 0.5 * math.sqrt(x * x + y * y + z * z) / max(math.hypot(x, z), 1e-9)
    half = -half if int(row[BITS]) & 1 else half
    return goal[0] + half * x, goal[2] + half * z, goal[1]


@jit
def _leave(limits, own, start, level):
    """Let a foot that is lifted leave at the speed of the blended foot, and towards it: it does not creep off.

    level: metres, of the ground that it leaves, above the one that it is blended on.
    """
    ahead = min(limits.ahead, own.shape[0] - 1) * limits.interval
    square = 0.0
    for k in range(3):
        off = start[0, k] - level if k == 1 else start[0, k]
        speed = (own[1, BALL + k] - own[0, BALL + k]) / limits.interval - off / ahead
        square += speed * speed
    share = min(1.0, limits.touchdown / max(math.sqrt(square), 1e-9))
    for k in range(3):
        off = start[0, k] - level if k == 1 else start[0, k]
        start[1, k] += share * ((own[1, BALL + k] - own[0, BALL + k]) / limits.interval - off / ahead)


@jit
def _read_start(state, foot, now, start, turned):
    """Write value, velocity and acceleration (3, 3) of the foot's shift and rotation vector."""
    places, times, vectors = state.places[foot], state.times[foot], state.vectors[foot]
    inside = state.flags[foot, SWING] == 1 and times[SINCE] < now < times[START] + times[LENGTH]
    tau = now - times[START]
    for k in range(3):
        start[0, k], start[1, k], start[2, k] = places[SHIFT, k], places[SPEED, k], 0.0
        turned[0, k], turned[1, k], turned[2, k] = vectors[TURN_SHOWN, k], vectors[TURN_RATE, k], 0.0
        if inside:
            _, _, start[2, k] = quintic(state.path[foot, k], tau)
            _, _, turned[2, k] = quintic(state.path[foot, 3 + k], tau)
    if inside:
        u, levels = tau / times[LENGTH], state.levels[foot]
        _, _, second = bump(int(levels[LIFTED]), u)
        start[2, 1] += levels[LIFT] * second / times[LENGTH] ** 2
        if levels[MOVED] > 0.0:
            _, _, second = bump(int(levels[MOVED]), u)
            start[2, 0] += levels[ASIDE_X] * second / times[LENGTH] ** 2
            start[2, 2] += levels[ASIDE_Z] * second / times[LENGTH] ** 2


@jit
def soonest_landing(limits, request, goal, state, own):
    """Return the first predicted frame in which a foot that swings may land, and stands; two from the end: none.

    request: (foot, now, stepping).
    """
    foot, now, stepping = request
    swung = int((now - state.times[foot, SINCE]) / limits.interval + 0.5)
    first = limits.step if stepping else max(limits.swing - swung, limits.shortest)
    if stepping and goal[3] >= 0.0:
        first = max(int(goal[3] / limits.interval + 0.5), limits.shortest)
    while first < own.shape[0] - 2 and not _lasts(limits, own, first):
        first += 1
    return first


@jit
def _find_landing(feet, limits, ground, request, goal, state, own, scratch):
    """Write the first landing whose path does not accelerate the foot too much, or the gentlest; return its frame.

    request: (foot, now, stepping). −1: none.
    """
    foot = request[0]
    count, least, found = own.shape[0], 1e300, -1
    first = soonest_landing(limits, request, goal, state, own)
    for k in range(first, count - 2):
        # a landing that is delayed has to last, too: its foot would touch the ground for some frames of a blend; where
        # none of a stance is gentle enough, the foot swings on to the next one
        lasts = _lasts(limits, own, k)
        if least <= limits.brake and not (lasts and k < first + limits.delay):
            break
        if not lasts:
            continue
        _land_at(feet, limits, ground, (foot, k), goal, state, own, scratch)
        fit_path(scratch.start, scratch.tried.end, k * limits.interval, scratch.path)
        strong = strongest(scratch.path, k * limits.interval)
        if strong < least:
            found, least = k, strong
            scratch.best.end[:, :] = scratch.tried.end
            scratch.best.marks[:, :] = scratch.tried.marks
            scratch.best.turn[:, :] = scratch.tried.turn
            scratch.best.toes[:] = scratch.tried.toes
            scratch.best.need[:] = scratch.tried.need
        if strong <= limits.most:
            break
    # better none: the foot swings on until another one is in sight
    return found if least <= FORCED * limits.brake else -1


@jit
def _lasts(limits, own, k):
    """Return whether a predicted foot stays planted for long enough from a frame on, as far as it is predicted."""
    lasts = True
    for n in range(k, min(k + limits.lasting + 1, own.shape[0])):
        lasts = lasts and own[n, BITS] > 0.0
    return lasts


@jit
def _land_at(feet, limits, ground, request, goal, state, own, scratch):
    """Write a landing at one predicted frame: at a goal, or where the blended point is on average while it is planted.

    request: (foot, frame).
    """
    foot, k = request
    row, bits = own[k], int(own[k, BITS])
    anchor = HEEL if bits & 1 else BALL
    end = k + 1
    bx, bz = 0.0, 0.0
    while end < min(own.shape[0], k + limits.mean) and int(own[end, BITS]) & (1 if anchor == HEEL else 2):
        bx += own[end, anchor] - row[anchor]
        bz += own[end, anchor + 2] - row[anchor + 2]
        end += 1
    bx, bz = bx / (end - k), bz / (end - k)
    share = min(1.0, limits.bias / max(math.hypot(bx, bz), 1e-9))
    x, z, least = row[anchor] + share * bx, row[anchor + 2] + share * bz, -1e9
    if _meets(limits, k, goal):
        x, z, least = _place_of(row, goal)
    # twice: the second time drawn in, if the leg does not reach
    dx, dz = _land_on(feet, limits, ground, foot, k, (x, z, least), state, own, scratch)
    if dx * dx + dz * dz > 1e-12:
        _land_on(feet, limits, ground, foot, k, (x + dx, z + dz, least), state, own, scratch)


@jit
def _land_on(feet, limits, ground, foot, k, place, state, own, scratch):
    """Write a landing at one predicted frame and place (x, z, least height) of its first point.

    Return by how much (x, z) that is out of the leg's reach.
    """
    row, bits, out = own[k], int(own[k, BITS]), scratch.tried
    anchor = HEEL if bits & 1 else BALL
    x, z, least = place
    line = (row[BALL] - row[HEEL], row[BALL + 1] - row[HEEL + 1], row[BALL + 2] - row[HEEL + 2])
    flat = max(math.hypot(line[0], line[2]), 1e-9)
    ax, az = line[0] / flat, line[2] / flat
    long = math.sqrt(line[0] * line[0] + line[1] * line[1] + line[2] * line[2])
    tx, ty, tz = row[TIP] - row[BALL], row[TIP + 1] - row[BALL + 1], row[TIP + 2] - row[BALL + 2]
    beyond = math.sqrt(tx * tx + ty * ty + tz * tz)
    if anchor == BALL:
        x, z = x - long * ax, z - long * az
    marks = out.marks
    for p in range(3):
        far = 0.0 if p == 0 else long if p == 1 else long + beyond
        marks[p, 0], marks[p, 2] = x + far * ax, z + far * az
        level = ground_at(ground, marks[p, 0], marks[p, 2])
        marks[p, 1] = max(level, least)
        if least > ANY_HEIGHT and abs(level - least) > limits.uneven:
            # over an edge it lies on the tread
            marks[p, 1] = least
    if least <= ANY_HEIGHT:
        half = ground_at(ground, 0.5 * (marks[0, 0] + marks[1, 0]), 0.5 * (marks[0, 2] + marks[1, 2]))
        if abs(half - 0.5 * (marks[0, 1] + marks[1, 1])) > limits.uneven:
            # across an edge it is level with its highest point
            marks[0, 1] = marks[1, 1] = max(marks[0, 1], marks[1, 1])
        if abs(marks[2, 1] - marks[1, 1]) > max(beyond, limits.uneven):
            marks[2, 1] = marks[1, 1]
    mark = marks[0] if anchor == HEEL else marks[1]
    rise = marks[1, 1] - marks[0, 1]
    slope = math.atan2(rise, long)
    pw, px, py, pz = exp(-slope * az, 0.0, slope * ax)
    flat_line = (marks[1, 0] - marks[0, 0], rise, marks[1, 2] - marks[0, 2])
    lw, lx, ly, lz = aim(line, flat_line, UP)
    # a foot that lands on heel and ball, or whose other end would be below the ground, lands flat
    _, pitched, _ = rotate(pw, px, py, pz, line[0], line[1], line[2])
    pitched -= rise
    first = 3 if (bits == 1 and pitched < 0.0) or (bits == 2 and pitched > 0.0) else bits
    tw, ux, uy, uz = (lw, lx, ly, lz) if first == 3 else (pw, px, py, pz)
    out.turn[:, :] = 0.0
    out.turn[0, 0], out.turn[0, 1], out.turn[0, 2] = log(tw, ux, uy, uz)
    _brake_fall(limits, own, k, 0.0 if first == 3 else abs(pitched), long, out)
    rw, rx, ry, rz = multiply(tw, ux, uy, uz, row[TURN], row[TURN + 1], row[TURN + 2], row[TURN + 3])
    # toes that are level when the foot is flat
    fw, fx, fy, fz = multiply(lw, lx, ly, lz, row[TURN], row[TURN + 1], row[TURN + 2], row[TURN + 3])
    ow, ox, oy, oz = multiply(lw, lx, ly, lz, row[TOES], row[TOES + 1], row[TOES + 2], row[TOES + 3])
    tx, ty, tz = rotate(lw, lx, ly, lz, tx, ty, tz)
    if math.hypot(tx, tz) > 1e-4:
        aw, bx, by, bz = aim((tx, ty, tz), (tx, marks[2, 1] - marks[1, 1], tz), UP)
        ow, ox, oy, oz = multiply(aw, bx, by, bz, ow, ox, oy, oz)
    if first == 2:
        fw, fx, fy, fz = rw, rx, ry, rz
    toes = multiply(fw, -fx, -fy, -fz, ow, ox, oy, oz)
    for n in range(4):
        out.toes[n] = toes[n]
    out.toes[4] = float(first)
    if anchor == HEEL or not has_toes(feet, foot):
        ex, ey, ez = rotate(
            tw, ux, uy, uz, row[anchor] - row[ANKLE], row[anchor + 1] - row[ANKLE + 1], row[anchor + 2] - row[ANKLE + 2]
        )
    else:
        joint, arm = feet.points[3 * foot + 1], feet.arms[3 * foot + 1]
        bx, by, bz = rotate(toes[0], toes[1], toes[2], toes[3], arm[0], arm[1], arm[2])
        offset = feet.offsets[0, joint]
        ex, ey, ez = rotate(rw, rx, ry, rz, offset[0] + bx, offset[1] + by, offset[2] + bz)
    end, start = out.end, scratch.start
    end[0, 0], end[0, 1] = mark[0] - row[ANKLE] - ex, mark[1] - row[ANKLE + 1] - ey
    end[0, 2] = mark[2] - row[ANKLE + 2] - ez
    # a foot touches down as fast as the blended one, as far as that does not jolt, and one that is moved from its
    # blended path at a speed: it does not creep to its place
    before, after, span = own[max(k - 1, 0)], own[k + 1], (k + 1 - max(k - 1, 0)) * limits.interval
    vx, vy = (after[anchor] - before[anchor]) / span, (after[anchor + 1] - before[anchor + 1]) / span
    vz = (after[anchor + 2] - before[anchor + 2]) / span
    kept = min(1.0, limits.touchdown / max(math.sqrt(vx * vx + vy * vy + vz * vz), 1e-9))
    moved = smoother(math.hypot(end[0, 0] - start[0, 0], end[0, 2] - start[0, 2]) / limits.bias)
    wx, wz = mark[0] - own[0, anchor] - start[0, 0], mark[2] - own[0, anchor + 2] - start[0, 2]
    far = math.hypot(wx, wz)
    speed = min(limits.touchdown, limits.touchdown_share * far)
    wx, wz = speed * wx / max(far, 1e-9), speed * wz / max(far, 1e-9)
    if least > ANY_HEIGHT and mark[1] < state.levels[foot, BEFORE] - limits.drop:
        # beside a riser, it comes straight down
        wx = wz = 0.0
        kept *= 1.0 - moved
    end[1, 0] = kept * vx + moved * (wx - kept * vx) - vx
    end[1, 1] = kept * vy + moved * (-0.5 * speed - kept * vy) - vy
    end[1, 2] = kept * vz + moved * (wz - kept * vz) - vz
    end[2, 0] = end[2, 1] = end[2, 2] = 0.0
    return _reach_for(limits, foot, state, row, out)


@jit
def _brake_fall(limits, own, k, above, long, out):
    """Turn a foot at its landing no faster than its other end can be braked, which is some metres above the ground.

    long: metres between its ends. What its first point falls at most (`touchdown`) is braked as well.
    """
    a, b = own[max(k - 1, 0)], own[k + 1]
    span = (k + 1 - max(k - 1, 0)) * limits.interval
    dw, dx, dy, dz = multiply(
        b[TURN], b[TURN + 1], b[TURN + 2], b[TURN + 3], a[TURN], -a[TURN + 1], -a[TURN + 2], -a[TURN + 3]
    )
    wx, wy, wz = log(dw, dx, dy, dz)
    speed = long * math.sqrt(wx * wx + wy * wy + wz * wz) / span
    allowed = max(math.sqrt(2.0 * limits.brake * above) - limits.touchdown, 0.0)
    taken = (1.0 - min(1.0, allowed / max(speed, 1e-9))) / span
    out.turn[1, 0], out.turn[1, 1], out.turn[1, 2] = -taken * wx, -taken * wy, -taken * wz


@jit
def _reach_for(limits, foot, state, row, out):
    """Write how far the body has to be lowered at a landing; return the part (x, z) that is out of reach even then."""
    length = limits.left_leg if foot == 0 else limits.right_leg
    other = state.levels[1 - foot, AFTER] if state.flags[1 - foot, SWING] == 1 else state.levels[1 - foot, BEFORE]
    level = 0.5 * (out.marks[0, 1] + out.marks[1, 1])
    base = LOWER * min(level, other) + (1.0 - LOWER) * max(level, other)
    dx, dy, dz = row[HIP] - row[ANKLE], row[HIP + 1] - row[ANKLE + 1], row[HIP + 2] - row[ANKLE + 2]
    own = math.sqrt(dx * dx + dy * dy + dz * dz)
    straight = min(max(STRAIGHT * length, own), 0.9999 * length)
    near = min(max(SOFT * length, own + SLACK), straight)
    x, z, above = dx - out.end[0, 0], dz - out.end[0, 2], dy + base - out.end[0, 1]
    across = math.hypot(x, z)
    out.need[0] = min(max(above - math.sqrt(max(near * near - across * across, 0.0)), 0.0), LOWEST * length)
    low = above - LOWEST * length
    widest = straight * straight - low * low
    if widest <= 0.0 or across * across <= widest:
        return 0.0, 0.0
    share = 1.0 - math.sqrt(widest) / across
    return share * x, share * z


@jit
def stretch(limits, foot, now, state, own):
    """Write how far the body has to be lowered so that the leg reaches a foot that has landed, while its heel is down.

    own: the predicted foot (N, 24), from now on, seconds.
    """
    length = limits.left_leg if foot == 0 else limits.right_leg
    levels, mark, base = state.levels[foot], state.places[foot, 0], state.body[BASE]
    levels[STANCE_NEED], levels[NEEDED_IN] = 0.0, 0.0
    for n in range(own.shape[0]):
        row = own[n]
        if not int(row[BITS]) & 1:
            break
        x, y = mark[0] + row[ANKLE] - row[HEEL], mark[1] + row[ANKLE + 1] - row[HEEL + 1]
        z = mark[2] + row[ANKLE + 2] - row[HEEL + 2]
        dx, dy, dz = row[HIP] - row[ANKLE], row[HIP + 1] - row[ANKLE + 1], row[HIP + 2] - row[ANKLE + 2]
        blended = math.sqrt(dx * dx + dy * dy + dz * dz)
        straight = min(max(STRAIGHT * length, blended), 0.9999 * length)
        near = min(max(SOFT * length, blended + SLACK), straight)
        across = (row[HIP] - x) ** 2 + (row[HIP + 2] - z) ** 2
        need = row[HIP + 1] + base - y - math.sqrt(max(near * near - across, 0.0))
        if need > levels[STANCE_NEED]:
            levels[STANCE_NEED], levels[NEEDED_IN] = min(need, LOWEST * length), n * limits.interval
    levels[NEEDED_IN] += now - state.times[foot, SINCE]


@jit
def _stay_within(limits, foot, state, own, count, path):
    """Bend a path towards the hip where the leg would be stretched more than it is blended, as far as that is gentle.

    Adds b(u) = u² (1 − u)³ / `EARLY` times a vector to it: ends, their velocities and the last acceleration stay. A
    foot that the body leaves behind would hang from a straight leg, and leave its sphere with a jerk.
    """
    length = limits.left_leg if foot == 0 else limits.right_leg
    up, seconds = state.body[BASE] - state.body[DROP], count * limits.interval
    most = min(limits.most * EARLY * seconds * seconds / 2.0, MOST_BENT * length)
    bx = by = bz = 0.0
    for _ in range(BENDS):
        worst, x, y, z = 1e-4, 0.0, 0.0, 0.0
        for n in range(1, count):
            share = _early(n / count)
            if share < LEAST_SHARE:
                continue
            row, tau = own[n], n * limits.interval
            sx, _, _ = quintic(path[0], tau)
            sy, _, _ = quintic(path[1], tau)
            sz, _, _ = quintic(path[2], tau)
            dx, dy, dz = row[ANKLE] - row[HIP], row[ANKLE + 1] - row[HIP + 1], row[ANKLE + 2] - row[HIP + 2]
            reach = max(SOFT * length, math.sqrt(dx * dx + dy * dy + dz * dz))
            dx, dy, dz = dx + sx + share * bx, dy - up + sy + share * by, dz + sz + share * bz
            far = math.sqrt(dx * dx + dy * dy + dz * dz)
            if (far - reach) / share > worst:
                worst = (far - reach) / share
                x, y, z = dx / far, dy / far, dz / far
        if worst <= 1e-4:
            break
        bx, by, bz = bx - worst * x, by - worst * y, bz - worst * z
    size = math.sqrt(bx * bx + by * by + bz * bz)
    if size < 1e-9:
        return
    share = min(1.0, most / size) / EARLY
    for k in range(3):
        b = share * (bx if k == 0 else by if k == 1 else bz)
        path[k, 2] += b / seconds**2
        path[k, 3] -= 3.0 * b / seconds**3
        path[k, 4] += 3.0 * b / seconds**4
        path[k, 5] -= b / seconds**5


@jit
def _early(u):
    return u * u * (1.0 - u) ** 3 / EARLY


@jit
def _clearance(limits, ground, own, path, count, stepping):
    """Return how much higher a swing has to be lifted in its middle so that the sole clears the ground."""
    wanted, highest, deepest = limits.lift if stepping else 0.0, -1e9, 0.0
    # the last frame before the stance that the swing ends with
    last, before_x, before_z = count - 1, 1e9, 1e9
    while last > 0 and own[last, BITS] > 0.0:
        last -= 1
    for n in range(1, count):
        u = n / count
        if not 0.15 < u < 0.85:
            continue
        sx, _, _ = quintic(path[0], n * limits.interval)
        sy, _, _ = quintic(path[1], n * limits.interval)
        sz, _, _ = quintic(path[2], n * limits.interval)
        bump, above = 16.0 * u * u * (1.0 - u) * (1.0 - u), 1e9
        for p in range(3):
            level = ground_at(ground, own[n, 3 * p] + sx, own[n, 3 * p + 2] + sz)
            above = min(above, own[n, 3 * p + 1] + sy - level)
        # where it hesitates, over a stance that is passed over for example, as high as a step: lower, it would seem to
        # stand there
        x, z = own[n, ANKLE] + sx, own[n, ANKLE + 2] + sz
        hesitates = math.hypot(x - before_x, z - before_z) * limits.again <= limits.slow
        before_x, before_z = x, z
        clear = limits.lift if hesitates or (n < last and own[n, BITS] > 0.0) else limits.clear
        wanted = max(wanted, clear - above / bump)
        highest, deepest = max(highest, above), max(deepest, -above)
    if highest > -1e8:
        # a foot that the blend drags along is lifted instead
        wanted = max(wanted, limits.lift - highest)
    # at its ends the lift accelerates the foot by 32 of it over the swing's time squared: a foot that is in the ground
    # as a short swing begins or ends is lifted no higher for it than it is deep
    seconds = count * limits.interval
    return min(wanted, limits.highest, max(limits.most * seconds * seconds / 32.0, limits.clear + deepest))


@jit
def _pass_edges(limits, ground, request, state, own, path, turns):
    """Write by how much, and when, a swing is lifted and moved along its way so that its sole passes the edges.

    A foot that steps up is held back until it is high enough, one that steps down goes ahead before it comes down. Of
    all such paths that clear the ground, the one with the least acceleration is taken that does not fold the leg.
    request: (foot, frame of the landing). turns: rotation vector of the foot's correction at the start and at the end
    (3, 3) each, and work space for its path.
    """
    foot, count = request
    levels, base = state.levels[foot], state.body[BASE]
    seconds, climb = count * limits.interval, 0.5 * (levels[AFTER] - levels[BEFORE])
    length = limits.left_leg if foot == 0 else limits.right_leg
    fit_path(turns[0], turns[1], seconds, turns[2])
    soles, lifts = np.empty((count, 5, 3)), np.empty(LIFTING)
    _place_soles(own, path, turns[2], limits.interval, count, soles)
    dx = own[count, ANKLE] + quintic(path[0], seconds)[0] - own[0, ANKLE] - path[0, 0]
    dz = own[count, ANKLE + 2] + quintic(path[2], seconds)[0] - own[0, ANKLE + 2] - path[2, 0]
    far = math.hypot(dx, dz)
    dx, dz = (dx / far, dz / far) if far > 1e-6 else (0.0, 0.0)
    least = 1e300
    for n in range(-ASIDES, ASIDES + 1):
        ax, az = n * ASIDE * dx, n * ASIDE * dz
        if n != 0 and far <= 1e-6:
            continue
        for late in range(1 if n == 0 else 2):
            moved = 0 if n == 0 else HELD_BACK[late] if n < 0 else AHEAD[late]
            _lifts_over(limits, ground, soles, own, count, (ax, az, moved), lifts)
            for row in range(LIFTING):
                lift = min(lifts[row], limits.highest)
                bumps = (ax, az, moved, row, lift)
                # what would have to be lifted more than it can be counts in full
                strong = _bumped(path, seconds, (ax, az, moved, row), lifts[row])
                strong += FOLDING * _folded(own, path, count, limits.interval, bumps, (length, base, climb))
                if strong < least:
                    least = strong
                    levels[LIFT], levels[LIFTED], levels[MOVED] = lift, row, moved
                    levels[ASIDE_X], levels[ASIDE_Z] = ax, az


@jit
def _place_soles(own, path, turn_path, interval, count, soles):
    """Write places of the sole (N, 5, 3) along a path: heel, ball, toe tip, and half-way between them."""
    for n in range(1, count):
        tau = n * interval
        qw, qx, qy, qz = exp(
            quintic(turn_path[0], tau)[0], quintic(turn_path[1], tau)[0], quintic(turn_path[2], tau)[0]
        )
        for p in range(3):
            x, y, z = rotate(
                qw, qx, qy, qz, own[n, 3 * p] - own[n, ANKLE], own[n, 3 * p + 1] - own[n, ANKLE + 1],
                own[n, 3 * p + 2] - own[n, ANKLE + 2],
            )  # fmt: skip
            soles[n, 2 * p, 0] = own[n, ANKLE] + quintic(path[0], tau)[0] + x
            soles[n, 2 * p, 1] = own[n, ANKLE + 1] + quintic(path[1], tau)[0] + y
            soles[n, 2 * p, 2] = own[n, ANKLE + 2] + quintic(path[2], tau)[0] + z
        # toes that were held on the ground are still bent; they follow sooner than that fades, as the foot pitches on
        left = 1.0 - ease(tau / FOLLOW)
        soles[n, 4, 1] += left * left * max(own[0, BALL + 1] - own[0, TIP + 1], 0.0)
        for k in range(3):
            soles[n, 1, k] = 0.5 * (soles[n, 0, k] + soles[n, 2, k])
            soles[n, 3, k] = 0.5 * (soles[n, 2, k] + soles[n, 4, k])


@jit
def _lifts_over(limits, ground, soles, own, count, aside, lifts):
    """Write by how much a path that is moved aside has to be lifted, by each of `BUMPS`, so that its sole is clear."""
    ax, az, moved = aside
    lifts[:] = 0.0
    for n in range(1, count):
        u, tau = n / count, n * limits.interval
        ahead = bump(moved, u)[0] if moved > 0 else 0.0
        clear = limits.clear * smoother(min(tau, (count - n) * limits.interval) / CLEAR_IN)
        need = 0.0
        for p in range(5):
            under = ground_at(ground, soles[n, p, 0] + ahead * ax, soles[n, p, 2] + ahead * az)
            need = max(need, under + clear - soles[n, p, 1])
        if need > 0.0:
            for row in range(LIFTING):
                lifts[row] = max(lifts[row], need / max(bump(row, u)[0], 0.02))


@jit
def _folded(own, path, count, interval, bumps, leg):
    """Return by how many metres at most a path brings the ankle nearer to the hip than it may be, `FOLDED`.

    leg: its length, by how much the body is raised now, and will be more at the landing, metres.
    """
    ax, az, moved, row, lift = bumps
    length, base, climb = leg
    most = 0.0
    for n in range(1, count):
        u, tau, row_n = n / count, n * interval, own[n]
        ahead = bump(moved, u)[0] if moved > 0 else 0.0
        dx, dy, dz = row_n[ANKLE] - row_n[HIP], row_n[ANKLE + 1] - row_n[HIP + 1], row_n[ANKLE + 2] - row_n[HIP + 2]
        least = min(FOLDED * length, math.sqrt(dx * dx + dy * dy + dz * dz))
        dx += quintic(path[0], tau)[0] + ahead * ax
        dy += quintic(path[1], tau)[0] + lift * bump(row, u)[0] - base - u * climb
        dz += quintic(path[2], tau)[0] + ahead * az
        most = max(most, least - math.sqrt(dx * dx + dy * dy + dz * dz))
    return most


@jit
def _bumped(path, seconds, aside, lift):
    """Return the largest acceleration of a path that is lifted and moved aside, metres per second squared."""
    ax, az, moved, row = aside
    most = 0.0
    for n in range(SAMPLES):
        u = n / (SAMPLES - 1)
        _, _, x = quintic(path[0], u * seconds)
        _, _, y = quintic(path[1], u * seconds)
        _, _, z = quintic(path[2], u * seconds)
        _, _, up = bump(row, u)
        y += lift * up / seconds**2
        if moved > 0:
            _, _, ahead = bump(moved, u)
            x, z = x + ax * ahead / seconds**2, z + az * ahead / seconds**2
        most = max(most, x * x + y * y + z * z)
    return math.sqrt(most)


def landing_scratch() -> Landing:
    """Return work arrays of a landing."""
    return Landing(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(5), np.zeros(1))


def plan_scratch() -> PlanScratch:
    """Return work arrays of a plan."""
    return PlanScratch(
        np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 6)), np.zeros((3, 6)), landing_scratch(), landing_scratch()
    )


def _limits():
    return PlanLimits(
        0.1, 1.0, 1.0, 1.0, 1.0, 1, 1, 1, 2, 2, 1, 1, 2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 2.0, 2.0
    )


WARMUP = {
    "plan_swing": lambda: (
        foot_tables(), _limits(), level_ground(), (0, 0.0, False), (np.full(4, -1.0), np.full(4, -1.0)), foot_states(),
        np.ones((6, 2, 24)), plan_scratch(),
    ),
    "beyond": lambda: (
        foot_tables(), _limits(), level_ground(), (0, 1), np.full(4, -1.0), foot_states(), np.ones((6, 2, 24)),
        plan_scratch(),
    ),
    "soonest_landing": lambda: (
        _limits(), (0, 0.0, False), np.full(4, -1.0), foot_states(), np.ones((6, 2, 24))[:, 0]
    ),
    "stretch": lambda: (_limits(), 0, 0.0, foot_states(), np.ones((6, 2, 24))[:, 0]),
    "stays": lambda: (_limits(), np.ones((6, 2, 24))[:, 0], np.zeros((2, 5, 3))[0, 3]),
}  # fmt: skip
