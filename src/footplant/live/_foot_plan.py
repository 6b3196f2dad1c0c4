"""Compiled feet of a driven character: planted feet stay exactly where they landed, swinging feet follow planned paths.

A stance holds one point of the foot exactly (the anchor): the heel when it strikes, the ball when the heel has left the
ground. While both are down, foot and toes do not rotate, so neither moves. A swing adds a shift s(t) to the blended
ankle: a polynomial of degree five in time from the stance's shift to the planned landing. `look_ahead` predicts the
blended feet, so that landings are known before they happen; plans are made in `_swing_plan`. The legs follow by IK.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.feet._lean import climb_of, lean_tables, lean_trunk, left_of
from footplant.kernels import jit
from footplant.kernels.fk import forward
from footplant.kernels.height_field import at as field_at
from footplant.kernels.limb import UP, Hinge, LimbAim, LimbPose, aim, own_hinge, reach
from footplant.kernels.quaternion import exp, log, multiply, rotate
from footplant.live._controller import FACING, BlendScratch, MotionTables, Playback, X, Z, advance, ease, fade

# columns of `FootState.flags`: in swing, points that are held (bits: heel 1, ball 2), the anchor (0 heel, 1 ball),
# rotation frozen (2: rolling from there), toes held, heel barred until the foot is released, whether the swing has a
# landing, its first bits
SWING, HELD, ANCHOR, FROZEN, TOES, BARRED, LANDS, FIRST = 0, 1, 2, 3, 4, 5, 6, 7
# columns of `FootState.times`, seconds: start and length of the swing, age of the rotation's (since the held points
# changed) and of the toes' fade, until when a release is ignored, since when the foot stands or swings, for how long
# the ball has not been planted under a flat foot; radians by which the heel is raised so that the leg reaches; in how
# many seconds the foot settles, and which share of its way it would fall meanwhile
START, LENGTH, TURN_AGE, TOE_AGE, KEEP, SINCE, ROCKED, RAISE, SETTLES, FALLS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
# rows of `FootState.turns`: quaternions of the foot when it began to settle, and flat; of the toes relative to the flat
# foot, and in the world while the ball is held
FROM, FLAT, TOE_LOCAL, TOE_WORLD = 0, 1, 2, 3
# rows of `FootState.vectors`: the axis (x, z) about which a standing foot rolls and, as y, the blended pitch when it
# began to; rotation vectors of the toes' correction when its fade began, of the foot's correction shown, and its rate
ROLL, TOE_START, TURN_SHOWN, TURN_RATE = 0, 1, 2, 3
# rows of `FootState.places`: marks of heel, ball and toe tip; shift shown; its velocity; heel and ball in the frame
# before; the middle of the marks from which it was lifted last
SHIFT, SPEED, SHOWN, STOOD = 3, 4, 5, 7
# columns of `FootState.levels`, metres: ground at the last and at the next stance, height that a swing is lifted, by
# how much the body has to be lowered at its landing, and while its heel is down; and the seconds until then; how far a
# swing is moved aside from its path, x and z; and the rows of `BUMPS` by which it is lifted, and moved aside
BEFORE, AFTER, LIFT, NEED, STANCE_NEED, NEEDED_IN, ASIDE_X, ASIDE_Z, LIFTED, MOVED = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
BUMPS = np.array([[2, 2], [2, 3], [2, 4], [3, 2], [4, 2], [3, 5], [5, 3]])
"""Powers (p, q) of u and 1 − u of the bumps by which a swing is lifted: highest at p / (p + q), nothing at its ends."""
HIGHEST = ((BUMPS / BUMPS.sum(axis=1, keepdims=True)) ** BUMPS).prod(axis=1)
"""u^p (1 − u)^q there."""
# entries of `FootState.body`: metres and metres per second by which the body is raised with the ground, and lowered;
# metres, the lowest and the highest ground under hands that carry it (`NO_HANDS`: none do); radians and radians per
# second, the climb that it leans into, and what that follows; metres by which it has to be lowered for hands, smoothly,
# and for those that are planted at once
BASE, BASE_SPEED, DROP, DROP_SPEED, HANDS_LOW, HANDS_HIGH = 0, 1, 2, 3, 4, 5
CLIMB, CLIMB_SPEED, FOLLOWED, FOLLOWED_SPEED, HANDS_NEED, HANDS_PULL = 6, 7, 8, 9, 10, 11
NO_HANDS = 1e9
RELEASED, LOST, FAR = 1, 2, 4
"""Events of a foot: no point is planted any more; its leg cannot reach; its correction is large."""
FLOATS, LANDED = 64, 128
"""Events: a foot swings without a landing in sight; a foot has landed."""
SETTLE = 0.03
"""Seconds in which a foot settles flat on the ground when its second point comes down slowly from `SETTLE_FROM`. At
0.06, the judge sees it as still before it is: the worst stances of two sets of captures drift by 0.6 and 0.9 mm instead
of 0.3 and 0.5."""
SETTLE_FROM = 0.01
"""Metres that its second point is above the ground from which a foot on its heel settles; one that falls fast does from
where braking it takes as much as the gaits' feet accelerate."""
SHORTEST = 0.05
"""Seconds that a foot stands at least."""
DWELL = 0.12
"""Seconds for which the points that a standing foot holds do not change, except that the heel of a flat foot may leave
the ground as soon as the foot has settled: that of a run does after 0.08 s."""
ROLL_IN = 0.1
"""Seconds in which a foot that was flat for longer than the blended one takes on the blended pitch. At 0, its heel
leaves the ground with a jerk; a foot that does not lag would be made to by this, in a run by 2 cm."""
HEEL_UP = 0.001
"""Metres by which the blended heel has to be higher than the ball before a flat foot rolls."""
LATE_HEEL = 0.006
"""Metres of that from which a heel leaves later than the blended one."""
FOLLOW = 0.25
"""Seconds in which toes that were held follow the blended motion again."""
STRAIGHT = 0.998
"""Fraction of the leg's length that a locked foot may use; beyond it the heel is raised."""
SOFT = 0.985
"""Fraction of the leg's length from which the body is lowered, smoothly."""
SLACK = 0.01
"""Metres by which a leg may be longer than in the blended motion before the body is lowered."""
STRIDE_HALF_LIFE = 0.12
"""Seconds; half-life of the critically damped spring by which the scale of strides follows what is planned. With 0.06,
0.12 and 0.24, feet on stairs (`benchmarks/drive_stairs.py`) accelerate by up to 1.96, 1.46 and 1.43 times what they do
on level ground."""
STEEPEST_GROUND = 2.0
"""Rise over run beyond which ground is an edge, not a slope, for a foot that lands beside its place. Feet are
planted on ground of up to half of that (`feet.footing`)."""
STEEPEST = 0.95
"""Radians by which a heel is raised about the ball of its foot so that the leg reaches."""
RAISED = 0.5
"""Radians of that from which the foot is released."""
RAISE_RATE = 9.0
"""Radians per second at which the heel is raised at most. Without it, a foot that gets out of reach jumps by up to
`STEEPEST` in the frame before it is released."""
BESIDE_STEP, BESIDE_STEPS, RISER = 0.002, 15, 2.0
"""Metres by which places beside a foot in a riser differ, how many there are, and metres that it must be in the ground
for one that it goes aside. A heel 5 mm under a nose used to be lifted by the whole riser: scripts that stop on stairs
(`benchmarks/drive_stairs.py`) accelerate feet by up to 5.7 instead of 10.3 times what they do on level ground."""
CLEAR = 0.015
"""Leg lengths above the ground from which a swinging sole is kept out of it smoothly. At 0, it stops there with a
jolt."""
CLEAR_IN = 0.1
"""Seconds after a release, and before a landing, in which that distance grows from 0, and shrinks to it."""
TOUCHES = 0.001
"""Metres above the ground at which a point of a swinging foot touches it."""
ARRIVED = 0.5
"""Metres per second below which a foot that touches the ground shortly (`SHORTEST`) before its planned landing stands
there; at 0 it slides on to its place. In four scripts of 200 requests over eight captures, 6 of 5,350 contacts that are
found in the recordings drift by more than 1 mm at 0, up to 5.3 mm, and none at 0.5."""
LOWEST = 0.06
"""Leg lengths by which the body is lowered at most so that a leg reaches."""
PULL = 12.0
"""Metres per second squared; largest acceleration by which a planted foot pulls the body down."""
BODY_HALF_LIFE, DROP_HALF_LIFE = 0.1, 0.08
"""Seconds; half-lives of the critically damped springs by which the body follows the ground, and is lowered."""
BODY_LAG, DROP_LAG = BODY_HALF_LIFE / math.log(2.0), DROP_HALF_LIFE / math.log(2.0)
"""Seconds by which such springs follow a goal that moves evenly."""
CLIMB_HALF_LIFE = 0.15
"""Seconds; half-life of each of the two critically damped springs, one after the other, by which the trunk leans into a
climb. Up and down ten stairs of 17 by 29 cm and up 10°, with seven gaits, the chest is accelerated for it by at most
2.0 m/s², and the lean comes 0.6 s after that of `feet.lean`, which sees ahead; at 0.1 by 4.9 m/s² and after 0.45 s, at
0.2 by 1.0 m/s² and after 0.75 s."""
STANDS = 0.5
"""Seconds since the last landing of a stride, without another in sight, from which a character stands: it is upright
then."""
LOWER = 0.7
"""How much of the body's height over the ground is that over the lower foot."""
UNBOUNDED, TRAVELS, STAYS = -1.0, 1.0, 0.0
"""How a surface is bounded: not at all, by an outline that moves with it, or by one that does not (a conveyor)."""
TILT_ROUNDS = 12
"""Fixed-point steps at most for the height of a tilted surface."""
MOST_BEND = 2.8
"""Radians; largest bend of the knee."""


class FootTables(NamedTuple):
    """Legs and feet of a character."""

    parents: np.ndarray
    """(J,)"""
    offsets: np.ndarray
    """(1, J, 3) metres."""
    legs: np.ndarray
    """(2, 3) hip, knee, ankle."""
    axes: np.ndarray
    """(2, 3) hinge axes of the knees."""
    points: np.ndarray
    """(6,) joints of heel, ball and toe tip of the left and the right foot."""
    arms: np.ndarray
    """(6, 3) their offsets, metres."""


class FootState(NamedTuple):
    """State between frames; rows are the left and the right foot."""

    flags: np.ndarray
    """(2, 8) int64"""
    times: np.ndarray
    """(2, 10)"""
    path: np.ndarray
    """(2, 6, 6) coefficients of the shift of a swing and of its rotation vector, over seconds since its start."""
    turns: np.ndarray
    """(2, 4, 4)"""
    vectors: np.ndarray
    """(2, 4, 3)"""
    places: np.ndarray
    """(2, 8, 3)"""
    levels: np.ndarray
    """(2, 10)"""
    body: np.ndarray
    """(10,)"""


class FootScratch(NamedTuple):
    """Work arrays."""

    positions: np.ndarray
    """(1, J, 3)"""
    turns: np.ndarray
    """(1, J, 4)"""
    rel: np.ndarray
    """(2, 4, 3) heel, ball, toe tip and toe joint relative to the ankle, blended."""
    goals: np.ndarray
    """(2, 11) ankle's goal, foot's correction (quaternion), toes' rotation in the world (quaternion)."""
    floats: np.ndarray
    """(36,)"""


class FeetStep(NamedTuple):
    """What one frame asks of the feet."""

    now: float
    """Seconds."""
    seconds: float
    """Since the frame before."""
    planted: np.ndarray
    """(4,) weights with which heels and balls are planted, left and right."""
    far: float
    """Metres of correction from which a standing foot should step."""
    brake: float
    """Metres per second squared by which a foot that settles is braked."""


class GroundField(NamedTuple):
    """What a character walks on: S surfaces, each a height field in a frame of its own; the first that covers counts.

    Heights are those of `kernels.height_field`. Coordinates are the controller's.
    """

    level: bool
    """Whether it is a level floor at height 0; the rest has no meaning then."""
    heights: np.ndarray
    """(N,) metres, read-only; the grids of all surfaces, one after another."""
    grids: np.ndarray
    """(S, 4) int64; of each surface the first of its heights, the rows and columns of its grid, and its basis."""
    origins: np.ndarray
    """(S, 3) metres; x and z of its first height, and its spacing, in its frame."""
    poses: np.ndarray
    """(S, 7) place, metres, and rotation of its frame."""
    outlines: np.ndarray
    """(S, 7) how it is bounded (`UNBOUNDED`, `TRAVELS` with its frame, or `STAYS`); x and z of the middle of a
    rectangle, sine and cosine of its heading, half of its width and of its length, metres."""


class Requests(NamedTuple):
    """The requests of a character, and how it is moved to aim."""

    targets: np.ndarray
    starts: np.ndarray
    steers: np.ndarray
    count: int
    fade: float
    """Seconds of a transition."""
    aim: np.ndarray
    """(A, 5) start and length, seconds; x, z, metres, and radians by which the root is moved over that time."""
    stride: np.ndarray
    """(3,) scale of strides, its rate per second, and what it follows; changed as time goes on."""


@jit
def _within(outline, x, z):
    """Return whether a place is within the rectangle of an outline."""
    dx, dz, s, c = x - outline[1], z - outline[2], outline[3], outline[4]
    return abs(dx * c - dz * s) <= outline[5] and abs(dx * s + dz * c) <= outline[6]


@jit
def _surface_at(ground, s, x, z):
    """Return whether a surface covers a place, and its height there.

    A surface that is tilted is met by the vertical line through the place: each round brings an error down by the
    tangent of the tilt times the slope of the surface.
    """
    first, nx, nz, kind = ground.grids[s, 0], ground.grids[s, 1], ground.grids[s, 2], ground.grids[s, 3]
    heights = ground.heights[first : first + nx * nz].reshape((nx, nz))
    x0, z0, spacing = ground.origins[s, 0], ground.origins[s, 1], ground.origins[s, 2]
    pose, outline = ground.poses[s], ground.outlines[s]
    if outline[0] == STAYS and not _within(outline, x, z):
        return False, 0.0
    qw, qx, qy, qz = pose[3], pose[4], pose[5], pose[6]
    if qw == 1.0 and pose[0] == 0.0 and pose[1] == 0.0 and pose[2] == 0.0:
        height, _, _ = field_at(heights, x0, z0, spacing, kind, x, z)
        return outline[0] != TRAVELS or _within(outline, x, z), height
    y, lx, lz = pose[1], 0.0, 0.0
    up = max(1.0 - 2.0 * (qx * qx + qz * qz), 0.1)
    for _ in range(TILT_ROUNDS):
        lx, ly, lz = rotate(qw, -qx, -qy, -qz, x - pose[0], y - pose[1], z - pose[2])
        height, _, _ = field_at(heights, x0, z0, spacing, kind, lx, lz)
        off = (height - ly) / up
        y += off
        if abs(off) < 1e-9 or (qx == 0.0 and qz == 0.0):
            break
    return outline[0] != TRAVELS or _within(outline, lx, lz), y


@jit
def surface_at(ground, x, z):
    """Return the surface that counts at a place, and the height of the ground there; outside of all: the last one."""
    last = ground.grids.shape[0] - 1
    for s in range(last):
        covers, height = _surface_at(ground, s, x, z)
        if covers:
            return s, height
    _, height = _surface_at(ground, last, x, z)
    return last, height


@jit
def ground_at(ground, x, z):
    """Return the height of the ground at a place."""
    if ground.level:
        return 0.0
    _, height = surface_at(ground, x, z)
    return height


@jit
def heights_at(ground, places, out):
    """Write the heights of the ground (N,) at places (N, 2)."""
    for n in range(places.shape[0]):
        out[n] = ground_at(ground, places[n, 0], places[n, 1])


@jit
def quintic(coefficients, tau):
    """Return a polynomial of degree five and its first two derivatives; coefficients (6,), lowest first."""
    c = coefficients
    value = c[0] + tau * (c[1] + tau * (c[2] + tau * (c[3] + tau * (c[4] + tau * c[5]))))
    first = c[1] + tau * (2 * c[2] + tau * (3 * c[3] + tau * (4 * c[4] + tau * 5 * c[5])))
    second = 2 * c[2] + tau * (6 * c[3] + tau * (12 * c[4] + tau * 20 * c[5]))
    return value, first, second


@jit
def bump(row, u):
    """Return u^p (1 − u)^q, divided by its largest value, and its first two derivatives; p, q: a row of `BUMPS`."""
    p, q = BUMPS[row, 0], BUMPS[row, 1]
    v = 1.0 - u
    scale = u ** (p - 2) * v ** (q - 2) / HIGHEST[row]
    first = u * v * (p * v - q * u)
    second = p * (p - 1) * v * v - 2 * p * q * u * v + q * (q - 1) * u * u
    return scale * u * u * v * v, scale * first, scale * second


@jit
def smoother(u):
    """Return 10u³ − 15u⁴ + 6u⁵ for u clamped to 0 … 1: zero velocity and acceleration at both ends."""
    u = min(max(u, 0.0), 1.0)
    return u * u * u * (10.0 + u * (6.0 * u - 15.0))


@jit
def spring(body, place, goal, half_life, seconds):
    """Move a value and its velocity, body[place : place + 2], towards a goal: a critically damped spring."""
    y = 2.0 * math.log(2.0) / half_life
    offset = body[place] - goal
    speed = body[place + 1] + offset * y
    decay = math.exp(-y * seconds)
    body[place + 1] = decay * (body[place + 1] - speed * y * seconds)
    body[place] = decay * (offset + speed * seconds) + goal


@jit
def aim_root(aim, now, seconds, numbers):
    """Move and turn the root by what it has to be moved between two times so that actions meet their targets."""
    for row in aim:
        if row[1] > 0.0:
            share = smoother((now - row[0]) / row[1]) - smoother((now - seconds - row[0]) / row[1])
            numbers[X] += share * row[2]
            numbers[Z] += share * row[3]
            numbers[FACING] += share * row[4]


@jit
def scale_stride(tables, stride, seconds, before, numbers, root, pose, scratch):
    """Scale the way of the root since `before` (x, z), and how far its feet are ahead of it or behind, in one frame.

    So planted feet of the blended motion stay where they are under a body that travels less, or more. root (1, 3) and
    pose (1, J, 4) are changed in place.
    """
    if stride[0] == 1.0 and stride[1] == 0.0 and stride[2] == 1.0:
        return
    spring(stride, 0, stride[2], STRIDE_HALF_LIFE, seconds)
    if stride[2] == 1.0 and abs(stride[0] - 1.0) < 1e-4 and abs(stride[1]) < 1e-3:
        stride[0], stride[1] = 1.0, 0.0
    more = stride[0] - 1.0
    dx, dz = more * (numbers[X] - before[0]), more * (numbers[Z] - before[1])
    numbers[X] += dx
    numbers[Z] += dz
    root[0, 0] += dx
    root[0, 2] += dz
    forward(tables.parents, tables.offsets, root, pose, scratch.positions, scratch.turns)
    ahead_x, ahead_z = math.sin(numbers[FACING]), math.cos(numbers[FACING])
    for foot in range(2):
        ankle = scratch.positions[0, tables.legs[foot, 2]]
        ahead = more * ((ankle[0] - numbers[X]) * ahead_x + (ankle[2] - numbers[Z]) * ahead_z)
        goal = (ankle[0] + ahead * ahead_x, ankle[1], ankle[2] + ahead * ahead_z)
        _place_leg(tables, foot, goal, (1.0, 0.0, 0.0, 0.0), pose, scratch)


@jit
def look_ahead(tables, feet, requests, now, interval, playback, work, track):
    """Predict the blended feet, without corrections, if nothing else is requested.

    playback, requests.stride: copies, changed in place. work: (old weights, blend scratch, root (1, 3), pose
    (1, J, 4), foot scratch). track (N, 2, 24): for each time now + n·interval and foot: heel, ball, toe tip, ankle, hip
    (3 each), rotations of foot and toes (4 each), and which points are planted (bits: heel 1, ball 2).
    """
    old, scratch, root, pose, foot_scratch = work
    for n in range(track.shape[0]):
        time = now + n * interval
        old[:] = playback.weights
        steer = fade(
            requests.targets, requests.starts, requests.steers, requests.count, time, requests.fade, playback.weights
        )
        seconds = interval if n > 0 else 0.0
        aim_root(requests.aim, time, seconds, playback.numbers)
        before = (playback.numbers[X], playback.numbers[Z])
        advance(tables, seconds, steer, old, playback, scratch, root[0], pose[0])
        scale_stride(feet, requests.stride, seconds, before, playback.numbers, root, pose, foot_scratch)
        forward(feet.parents, feet.offsets, root, pose, foot_scratch.positions, foot_scratch.turns)
        positions, turns = foot_scratch.positions, foot_scratch.turns
        for foot in range(2):
            write_relative(feet, foot, foot_scratch)
            hip, ankle = feet.legs[foot, 0], feet.legs[foot, 2]
            for k in range(3):
                for p in range(3):
                    track[n, foot, 3 * p + k] = positions[0, ankle, k] + foot_scratch.rel[foot, p, k]
                track[n, foot, 9 + k] = positions[0, ankle, k]
                track[n, foot, 12 + k] = positions[0, hip, k]
            for k in range(4):
                track[n, foot, 15 + k] = turns[0, ankle, k]
                track[n, foot, 19 + k] = turns[0, feet.points[3 * foot + 1], k]
            bits = 0.0
            if playback.planted[2 * foot] >= 0.5:
                bits += 1.0
            if playback.planted[2 * foot + 1] >= 0.5:
                bits += 2.0
            track[n, foot, 23] = bits


@jit
def write_relative(tables, foot, scratch):
    """Write heel, ball, toe tip and toe joint relative to the ankle to `scratch.rel`."""
    positions, turns, rel = scratch.positions, scratch.turns, scratch.rel
    ankle = positions[0, tables.legs[foot, 2]]
    for p in range(3):
        j, arm = tables.points[3 * foot + p], tables.arms[3 * foot + p]
        vx, vy, vz = rotate(turns[0, j, 0], turns[0, j, 1], turns[0, j, 2], turns[0, j, 3], arm[0], arm[1], arm[2])
        rel[foot, p, 0] = positions[0, j, 0] + vx - ankle[0]
        rel[foot, p, 1] = positions[0, j, 1] + vy - ankle[1]
        rel[foot, p, 2] = positions[0, j, 2] + vz - ankle[2]
    toes = tables.points[3 * foot + 1]
    for k in range(3):
        rel[foot, 3, k] = positions[0, toes, k] - ankle[k]


@jit
def has_toes(tables, foot):
    """Return whether the ball of the foot is on a toe joint that hangs from the ankle."""
    ankle, toes = tables.legs[foot, 2], tables.points[3 * foot + 1]
    return toes != ankle and tables.parents[toes] == ankle


@jit
def show_frame(motions, characters, ground, requests, step, playback, state, work, root, pose):
    """Advance a character by one frame: blend, lean, then pose its feet; return events, see `pose_feet`.

    characters: `FootTables` and `LeanTables`. work: (old weights, blend scratch, foot scratch).
    """
    tables, lean = characters
    old, blend_scratch, foot_scratch = work
    old[:] = playback.weights
    steer = fade(
        requests.targets, requests.starts, requests.steers, requests.count, step.now, requests.fade, playback.weights
    )
    aim_root(requests.aim, step.now, step.seconds, playback.numbers)
    before = (playback.numbers[X], playback.numbers[Z])
    advance(motions, step.seconds, steer, old, playback, blend_scratch, root[0], pose[0])
    scale_stride(tables, requests.stride, step.seconds, before, playback.numbers, root, pose, foot_scratch)
    lean_body(tables, lean, ground, step, state, root, pose, foot_scratch)
    return pose_feet(tables, ground, step, state, root, pose, foot_scratch)


@jit
def lean_body(tables, lean, ground, step, state, root, pose, scratch):
    """Lean the trunk of a blended frame into what the last stride climbs, or the next one, once its landing is planned.

    root (1, 3) and pose (1, J, 4) are changed in place. Feet and hip joints stay where they are.
    """
    body = state.body
    if ground.level and body[CLIMB] == 0.0 and body[FOLLOWED] == 0.0:
        return
    forward(tables.parents, tables.offsets, root, pose, scratch.positions, scratch.turns)
    left_x, left_z = left_of(lean, scratch.positions[0])
    # who stands, or turns on the spot, is upright
    climb, latest = 0.0, step.now - STANDS
    for foot in range(2):
        flags, places, since = state.flags[foot], state.places[foot], state.times[foot, SINCE]
        if flags[SWING] == 1:
            since = step.now if flags[LANDS] == 1 else -1e9
        if since < latest:
            continue
        x, z = 0.5 * (places[0, 0] + places[1, 0]), 0.5 * (places[0, 2] + places[1, 2])
        rise = ground_at(ground, x, z) - ground_at(ground, places[STOOD, 0], places[STOOD, 2])
        own = climb_of(lean, x - places[STOOD, 0], rise, z - places[STOOD, 2], -left_z, left_x)
        if not math.isnan(own):
            climb, latest = own, since
    spring(body, FOLLOWED, climb, CLIMB_HALF_LIFE, step.seconds)
    spring(body, CLIMB, body[FOLLOWED], CLIMB_HALF_LIFE, step.seconds)
    lean_trunk(lean, body[CLIMB : CLIMB + 1], scratch.positions, scratch.turns, root, pose)


@jit
def _reaches(length, own):
    """Return the distances that a limb may span from which the body is lowered smoothly, and at once.

    own: what the limb of the blended motion spans: a limb that the motion itself stretches may be as straight.
    """
    straight = min(max(STRAIGHT * length, own), 0.9999 * length)
    return min(max(SOFT * length, own + SLACK), straight), straight


@jit
def _across(top, goal):
    return (top[0] - goal[0]) ** 2 + (top[2] - goal[2]) ** 2


@jit
def lowering(length, own, top, goal):
    """Return the metres by which a body has to be lowered so that a limb reaches, smoothly, and at once.

    top, goal (3,): of the limb; own: see `_reaches`.
    """
    near, straight = _reaches(length, own)
    across, above = _across(top, goal), top[1] - goal[1]
    return above - math.sqrt(max(near * near - across, 0.0)), above - math.sqrt(max(straight * straight - across, 0.0))


@jit
def pose_feet(tables, ground, step, state, root, pose, scratch):
    """Pose both feet of a blended frame; return events as bits, three for each foot, and then `FLOATS` and `LANDED`.

    root (1, 3) and pose (1, J, 4) are changed in place.
    """
    forward(tables.parents, tables.offsets, root, pose, scratch.positions, scratch.turns)
    body, positions = state.body, scratch.positions
    events = 0
    low, high = 1e9, -1e9
    for foot in range(2):
        write_relative(tables, foot, scratch)
        if state.flags[foot, SWING] == 1:
            _swing(tables, ground, step, foot, state, scratch)
            if state.flags[foot, SWING] == 0:
                events |= LANDED
            elif state.flags[foot, LANDS] == 0:
                events |= FLOATS
        if state.flags[foot, SWING] == 0:
            events |= _stand(tables, step, foot, state, scratch) << (3 * foot)
        level = state.levels[foot, BEFORE]
        if state.flags[foot, SWING] == 1 and body[HANDS_LOW] < NO_HANDS:
            # hands carry the body
            continue
        if state.flags[foot, SWING] == 1 and state.times[foot, LENGTH] > 0.0:
            # the body comes down with a foot: behind it, a leg that lands would not reach
            ahead = BODY_LAG if state.levels[foot, AFTER] < level else 0.0
            share = smoother((step.now + ahead - state.times[foot, START]) / state.times[foot, LENGTH])
            level += share * (state.levels[foot, AFTER] - level)
        low, high = min(low, level), max(high, level)
    if body[HANDS_LOW] < NO_HANDS:
        low, high = min(low, body[HANDS_LOW]), max(high, body[HANDS_HIGH])
    spring(body, BASE, LOWER * low + (1.0 - LOWER) * high, BODY_HALF_LIFE, step.seconds)
    # lower the body, smoothly, where a leg does not reach; a foot that it still does not reach is released
    lower, hard = max(body[HANDS_NEED], 0.0), max(body[HANDS_PULL], 0.0)
    for foot in range(2):
        hip, goal = positions[0, tables.legs[foot, 0]], scratch.goals[foot]
        length = _leg_length(tables, foot, positions)
        own = math.sqrt(_square(hip, positions[0, tables.legs[foot, 2]]))
        straight = _reaches(length, own)[1]
        if state.flags[foot, SWING] == 0:
            raised = _raise_heel(tables, step, foot, state, hip, body[BASE] - body[DROP], straight, scratch)
            if raised > RAISED:
                events |= LOST << (3 * foot)
            if _note_shift(tables, step, foot, state, scratch):
                events |= FAR << (3 * foot)
        need, pull = lowering(length, own, (hip[0], hip[1] + body[BASE], hip[2]), goal)
        wanted = min(need, LOWEST * length)
        if state.flags[foot, SWING] == 1:
            # the body is lowered for a landing while the foot swings, not for a foot that it has left behind
            u = (step.now - state.times[foot, START]) / max(state.times[foot, LENGTH], 1e-9)
            wanted = smoother(u) * max(wanted, state.levels[foot, NEED]) if state.flags[foot, LANDS] == 1 else 0.0
        else:
            # before the leg of a flat foot is stretched, not when its heel would have to leave the ground for it
            needed_in = state.levels[foot, NEEDED_IN]
            u = (step.now - state.times[foot, SINCE]) / max(needed_in - DROP_LAG, 0.5 * needed_in, 1e-9)
            wanted = max(wanted, smoother(u) * state.levels[foot, STANCE_NEED])
        lower = max(lower, wanted)
        if state.flags[foot, SWING] == 0:
            hard = max(hard, min(pull, LOWEST * length))
            if pull > LOWEST * length or _across(hip, goal) >= straight * straight:
                events |= LOST << (3 * foot)
    before, speed = body[DROP], body[DROP_SPEED]
    spring(body, DROP, lower, DROP_HALF_LIFE, step.seconds)
    if body[DROP] < hard and step.seconds > 0.0:
        # faster, as far as that does not jolt
        body[DROP] = max(body[DROP], min(hard, before + (max(speed, 0.0) + PULL * step.seconds) * step.seconds))
        body[DROP_SPEED] = max(body[DROP_SPEED], (body[DROP] - before) / step.seconds)
    up = body[BASE] - body[DROP]
    root[0, 1] += up
    for j in range(positions.shape[1]):
        positions[0, j, 1] += up
    for foot in range(2):
        goal = scratch.goals[foot]
        if state.flags[foot, SWING] == 1:
            _draw_in(tables, foot, scratch)
        _place_leg(tables, foot, (goal[0], goal[1], goal[2]), (goal[3], goal[4], goal[5], goal[6]), pose, scratch)
        _place_toes(tables, foot, pose, scratch)
        for p in range(2):
            shown = state.places[foot, SHOWN + p]
            shown[0], shown[1], shown[2] = _point(tables, foot, p, scratch)
    return events


@jit
def _draw_in(tables, foot, scratch):
    """Move the goal of a swinging foot towards its hip where the leg would be stretched more than it is blended."""
    positions, goal = scratch.positions, scratch.goals[foot]
    hip, ankle = positions[0, tables.legs[foot, 0]], positions[0, tables.legs[foot, 2]]
    length, own = _leg_length(tables, foot, positions), math.sqrt(_square(hip, ankle))
    most = min(max(STRAIGHT * length, own), 0.9999 * length)
    soft = min(max(SOFT * length, own), most)
    far = math.sqrt((hip[0] - goal[0]) ** 2 + (hip[1] - goal[1]) ** 2 + (hip[2] - goal[2]) ** 2)
    if far <= soft:
        return
    # approach full extension smoothly
    near = most if most - soft < 1e-9 else soft + (most - soft) * math.tanh((far - soft) / (most - soft))
    for k in range(3):
        goal[k] = hip[k] + (goal[k] - hip[k]) * near / far


@jit
def _square(a, b):
    """Return the squared distance of two points (3,)."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2


@jit
def _leg_length(tables, foot, positions):
    hip, knee, ankle = tables.legs[foot, 0], tables.legs[foot, 1], tables.legs[foot, 2]
    upper = lower = 0.0
    for k in range(3):
        upper += (positions[0, hip, k] - positions[0, knee, k]) ** 2
        lower += (positions[0, knee, k] - positions[0, ankle, k]) ** 2
    return math.sqrt(upper) + math.sqrt(lower)


@jit
def _pitch(tables, foot, scratch):
    """Return the pitch of the blended foot, radians; it grows as the heel rises over the ball."""
    rel = scratch.rel[foot]
    if has_toes(tables, foot):
        x, y, z = rel[3, 0], rel[3, 1], rel[3, 2]
    else:
        x, y, z = rel[1, 0] - rel[0, 0], rel[1, 1] - rel[0, 1], rel[1, 2] - rel[0, 2]
    return math.atan2(-y, math.sqrt(x * x + z * z))


@jit
def _above(low, margin):
    """Return by how much a point is raised that is `low` above the ground: h → (h + m)² / 4m below a distance m."""
    if low >= margin:
        return 0.0
    return (low + margin) ** 2 / (4.0 * margin) - low if low > -margin else -low


@jit
def _clear_ground(tables, ground, step, foot, state, scratch):
    """Raise a swinging foot whose sole would sink, smoothly from a distance on, which is 0 at both ends.

    Toes of a foot that has just left the ground bend: it is not raised for their tip.
    """
    times, goal = state.times[foot], scratch.goals[foot]
    since, left = step.now - times[SINCE], times[START] + times[LENGTH] - step.now
    near = since if state.flags[foot, LANDS] == 0 else min(since, left)
    margin = CLEAR * _leg_length(tables, foot, scratch.positions) * smoother(near / CLEAR_IN)
    bends = 1.0 - ease(since / FOLLOW)
    if bends > 0.0 and has_toes(tables, foot):
        x, y, z = _point(tables, foot, 2, scratch)
        low = y - ground_at(ground, x, z) + _above(_lowest(tables, ground, foot, 2, scratch), margin)
        rise, tip = bends * _above(low, margin), tables.arms[3 * foot + 2]
        vx, vy, vz = rotate(goal[7], goal[8], goal[9], goal[10], tip[0], tip[1], tip[2])
        across = math.hypot(vx, vz)
        if rise > 0.0 and across > 1e-4:
            long = math.sqrt(across * across + vy * vy)
            raised = min(vy + rise, 0.99 * long)
            out = math.sqrt(long * long - raised * raised) / across
            aw, ax, ay, az = aim((vx, vy, vz), (out * vx, raised, out * vz), UP)
            goal[7], goal[8], goal[9], goal[10] = multiply(aw, ax, ay, az, goal[7], goal[8], goal[9], goal[10])
    goal[1] += _above(_beside_riser(tables, ground, foot, scratch), margin)


@jit
def _beside_riser(tables, ground, foot, scratch):
    """Move a foot that is in a riser out of it if that is nearer than over it; return how high its lowest point is."""
    goal, low = scratch.goals[foot], _lowest(tables, ground, foot, 3, scratch)
    x, z = goal[0], goal[2]
    for n in range(1, BESIDE_STEPS + 1):
        far = n * BESIDE_STEP
        if far * RISER > -low:
            break
        for way in range(8):
            goal[0], goal[2] = x + far * math.cos(0.25 * math.pi * way), z + far * math.sin(0.25 * math.pi * way)
            beside = _lowest(tables, ground, foot, 3, scratch)
            if beside > low + far * RISER and beside > -far:
                return beside
    goal[0], goal[2] = x, z
    return low


@jit
def _lowest(tables, ground, foot, count, scratch):
    """Return how high the lowest of a foot's first points (heel, ball, toe tip) is above the ground."""
    low = 1e9
    for p in range(count):
        x, y, z = _point(tables, foot, p, scratch)
        low = min(low, y - ground_at(ground, x, z))
    return low


@jit
def _swing(tables, ground, step, foot, state, scratch):
    """Write the goal of a swinging foot, or land it."""
    flags, times, places, goal = state.flags[foot], state.times[foot], state.places[foot], scratch.goals[foot]
    ankle = scratch.positions[0, tables.legs[foot, 2]]
    tau = step.now - times[START]
    landed = flags[LANDS] == 1 and tau >= times[LENGTH] - 1e-9
    tau = min(tau, times[LENGTH])
    u = tau / max(times[LENGTH], 1e-9)
    for k in range(3):
        value, speed, _ = quintic(state.path[foot, k], tau)
        places[SHIFT, k], places[SPEED, k] = value, speed
    levels = state.levels[foot]
    value, speed, _ = bump(int(levels[LIFTED]), u)
    places[SHIFT, 1] += levels[LIFT] * value
    places[SPEED, 1] += levels[LIFT] * speed / max(times[LENGTH], 1e-9)
    if levels[MOVED] > 0.0:
        value, speed, _ = bump(int(levels[MOVED]), u)
        places[SHIFT, 0] += levels[ASIDE_X] * value
        places[SHIFT, 2] += levels[ASIDE_Z] * value
        places[SPEED, 0] += levels[ASIDE_X] * speed / max(times[LENGTH], 1e-9)
        places[SPEED, 2] += levels[ASIDE_Z] * speed / max(times[LENGTH], 1e-9)
    vectors = state.vectors[foot]
    for k in range(3):
        vectors[TURN_SHOWN, k], vectors[TURN_RATE, k], _ = quintic(state.path[foot, 3 + k], tau)
        goal[k] = ankle[k] + places[SHIFT, k]
    cw, cx, cy, cz = exp(vectors[TURN_SHOWN, 0], vectors[TURN_SHOWN, 1], vectors[TURN_SHOWN, 2])
    goal[3], goal[4], goal[5], goal[6] = cw, cx, cy, cz
    times[TOE_AGE] += step.seconds
    flat = smoother(2.0 * u - 1.0) if flags[LANDS] == 1 else 0.0
    _write_toes(tables, foot, state, scratch, flat if flags[FIRST] & 1 else 0.0)
    anchor = _first_down(tables, foot, state, scratch)
    if flat > 0.0 and anchor == 1:
        _level_toes(tables, foot, state, scratch, flat)
    if not landed:
        _clear_ground(tables, ground, step, foot, state, scratch)
        landed = _touches_down(tables, step, foot, state, scratch, anchor)
    if not landed:
        return
    _beside_riser(tables, ground, foot, scratch)
    # the anchor stays where it is now
    flags[SWING], flags[HELD], flags[FROZEN], flags[TOES], flags[BARRED] = 0, 0, 0, 2, 0
    flags[ANCHOR] = anchor
    px, _, pz = _point(tables, foot, anchor, scratch)
    dx, dz = px - places[anchor, 0], pz - places[anchor, 2]
    for p in range(3):
        # on the ground there, or as far above it as where it was to land, but for edges that it reaches over
        before = ground_at(ground, places[p, 0], places[p, 2])
        places[p, 0] += dx
        places[p, 2] += dz
        higher = ground_at(ground, places[p, 0], places[p, 2]) - before
        if abs(higher) <= STEEPEST_GROUND * math.hypot(dx, dz):
            places[p, 1] += higher
    if anchor == 1:
        # toes lie on the ground before a foot that lands on its ball is flat
        flags[TOES] = 1
        for k in range(4):
            state.turns[foot, TOE_WORLD, k] = goal[7 + k]
    times[SINCE], times[TURN_AGE] = step.now, 0.0
    times[KEEP] = times[START] + times[LENGTH] + SHORTEST
    state.levels[foot, BEFORE] = state.levels[foot, AFTER]
    state.levels[foot, STANCE_NEED] = 0.0
    _hold(tables, foot, step.seconds, state, scratch, flags[FIRST])


@jit
def _first_down(tables, foot, state, scratch):
    """Return the point that a swinging foot lands on: the heel (0) or the ball (1), the lower one of a flat landing."""
    first, places = state.flags[foot, FIRST], state.places[foot]
    if first != 3:
        return 0 if first & 1 else 1
    _, heel, _ = _point(tables, foot, 0, scratch)
    _, ball, _ = _point(tables, foot, 1, scratch)
    return 0 if heel - places[0, 1] <= ball - places[1, 1] else 1


@jit
def _touches_down(tables, step, foot, state, scratch, anchor):
    """Return whether a swinging foot has come down and almost to rest shortly before its planned landing."""
    times, places = state.times[foot], state.places[foot]
    x, y, z = _point(tables, foot, anchor, scratch)
    before = places[SHOWN + anchor]
    moved = math.sqrt((x - before[0]) ** 2 + (z - before[2]) ** 2)
    arrived = y <= places[anchor, 1] + TOUCHES and moved <= ARRIVED * step.seconds
    return arrived and state.flags[foot, LANDS] == 1 and times[START] + times[LENGTH] - step.now <= SHORTEST


@jit
def _write_toes(tables, foot, state, scratch, flat):
    """Write the toes' rotation in the world to the goal: blended with a fading correction, or, by a share, flat."""
    goal, toes, vector = scratch.goals[foot], tables.points[3 * foot + 1], state.vectors[foot, TOE_START]
    own, left = scratch.turns[0, toes], 1.0 - ease(state.times[foot, TOE_AGE] / FOLLOW)
    bw, bx, by, bz = multiply(goal[3], goal[4], goal[5], goal[6], own[0], own[1], own[2], own[3])
    ew, ex, ey, ez = exp(left * vector[0], left * vector[1], left * vector[2])
    tw, tx, ty, tz = multiply(ew, ex, ey, ez, bw, bx, by, bz)
    if flat > 0.0:
        rw, rx, ry, rz = _foot_turn(tables, foot, scratch)
        local = state.turns[foot, TOE_LOCAL]
        fw, fx, fy, fz = multiply(rw, rx, ry, rz, local[0], local[1], local[2], local[3])
        dw, dx, dy, dz = multiply(fw, fx, fy, fz, tw, -tx, -ty, -tz)
        vx, vy, vz = log(dw, dx, dy, dz)
        ew, ex, ey, ez = exp(flat * vx, flat * vy, flat * vz)
        tw, tx, ty, tz = multiply(ew, ex, ey, ez, tw, tx, ty, tz)
    goal[7], goal[8], goal[9], goal[10] = tw, tx, ty, tz


@jit
def _level_toes(tables, foot, state, scratch, share):
    """Rotate the toes of a foot that lands on its ball, by a share, to where the ground between ball and tip is."""
    goal, places = scratch.goals[foot], state.places[foot]
    ball, tip = tables.arms[3 * foot + 1], tables.arms[3 * foot + 2]
    if not has_toes(tables, foot):
        return
    vx, vy, vz = rotate(
        goal[7], goal[8], goal[9], goal[10], tip[0] - ball[0], tip[1] - ball[1], tip[2] - ball[2]
    )  # fmt: skip
    flat = math.hypot(vx, vz)
    if flat < 1e-4:
        return
    aw, ax, ay, az = aim((vx, vy, vz), (vx, places[2, 1] - places[1, 1], vz), UP)
    ax, ay, az = log(aw, ax, ay, az)
    aw, ax, ay, az = exp(share * ax, share * ay, share * az)
    goal[7], goal[8], goal[9], goal[10] = multiply(aw, ax, ay, az, goal[7], goal[8], goal[9], goal[10])


@jit
def _point(tables, foot, p, scratch):
    """Return the position of heel (0), ball (1) or toe tip (2) by the current goal."""
    goal, rel = scratch.goals[foot], scratch.rel[foot]
    if p == 0 or not has_toes(tables, foot):
        vx, vy, vz = rotate(goal[3], goal[4], goal[5], goal[6], rel[p, 0], rel[p, 1], rel[p, 2])
        return goal[0] + vx, goal[1] + vy, goal[2] + vz
    vx, vy, vz = rotate(goal[3], goal[4], goal[5], goal[6], rel[3, 0], rel[3, 1], rel[3, 2])
    arm = tables.arms[3 * foot + p]
    wx, wy, wz = rotate(goal[7], goal[8], goal[9], goal[10], arm[0], arm[1], arm[2])
    return goal[0] + vx + wx, goal[1] + vy + wy, goal[2] + vz + wz


@jit
def _put_anchor(tables, foot, state, scratch):
    """Move the goal so that the anchor is at its mark."""
    goal, p = scratch.goals[foot], state.flags[foot, ANCHOR]
    px, py, pz = _point(tables, foot, p, scratch)
    mark = state.places[foot, p]
    goal[0] += mark[0] - px
    goal[1] += mark[1] - py
    goal[2] += mark[2] - pz


@jit
def _foot_turn(tables, foot, scratch):
    """Return the rotation of the foot in the world by the current goal."""
    goal, turn = scratch.goals[foot], scratch.turns[0, tables.legs[foot, 2]]
    return multiply(goal[3], goal[4], goal[5], goal[6], turn[0], turn[1], turn[2], turn[3])


@jit
def _fall(tables, foot, p, seconds, state, scratch):
    """Return the speed at which a point (heel 0, ball 1) falls, metres per second, 0 if it rises."""
    if seconds <= 0.0:
        return 0.0
    _, y, _ = _point(tables, foot, p, scratch)
    return max(state.places[foot, SHOWN + p, 1] - y, 0.0) / seconds


@jit
def _hold(tables, foot, seconds, state, scratch, held):
    """Change which points are held: settle, roll or hold the toes from the foot's current pose on.

    seconds: since the frame before.
    """
    flags, times, places, turns = state.flags[foot], state.times[foot], state.places[foot], state.turns[foot]
    before, goal = flags[HELD], scratch.goals[foot]
    flags[HELD] = held
    rw, rx, ry, rz = _foot_turn(tables, foot, scratch)
    if held == 3:
        heel = _point(tables, foot, 0, scratch)
        ball = _point(tables, foot, 1, scratch)
        line = (ball[0] - heel[0], ball[1] - heel[1], ball[2] - heel[2])
        flat = math.sqrt(line[0] * line[0] + line[2] * line[2])
        rise = places[1, 1] - places[0, 1]
        aw, ax, ay, az = 1.0, 0.0, 0.0, 0.0
        if flat > 1e-4:
            aw, ax, ay, az = aim(line, (line[0], rise, line[2]), UP)
        qw, qx, qy, qz = multiply(aw, ax, ay, az, rw, rx, ry, rz)
        turns[FLAT, 0], turns[FLAT, 1], turns[FLAT, 2], turns[FLAT, 3] = qw, qx, qy, qz
        turns[FROM, 0], turns[FROM, 1], turns[FROM, 2], turns[FROM, 3] = rw, rx, ry, rz
        flags[FROZEN], flags[BARRED], times[TURN_AGE] = 1, 0, 0.0
        # its other point falls on at its speed, and is braked evenly, or comes down at the mean speed of settling
        left = max(abs(line[1] - rise), 1e-9)
        fall = _fall(tables, foot, 1 - flags[ANCHOR], seconds, state, scratch)
        times[SETTLES] = left / max(0.5 * fall, SETTLE_FROM / SETTLE)
        times[FALLS] = fall * times[SETTLES] / left
        if (line[1] < rise) == (flags[ANCHOR] == 0):
            # the other end would be in the ground: it has come down
            turns[FROM, :] = turns[FLAT]
        # the toes settle with the foot, or stay as they are where they lie on the ground already
        if flags[TOES] != 1:
            qw, qx, qy, qz, flags[TOES] = rw, rx, ry, rz, 2
        turns[TOE_LOCAL, 0], turns[TOE_LOCAL, 1], turns[TOE_LOCAL, 2], turns[TOE_LOCAL, 3] = multiply(
            qw, -qx, -qy, -qz, goal[7], goal[8], goal[9], goal[10]
        )
        return
    if held == 0:
        return
    anchor = 0 if held == 1 else 1
    if anchor != flags[ANCHOR] or before == 3:
        px, py, pz = _point(tables, foot, anchor, scratch)
        places[anchor, 0], places[anchor, 1], places[anchor, 2] = px, py, pz
        flags[ANCHOR] = anchor
    # from here the foot rolls by the blended pitch alone: it does not twist on the ground
    risen = scratch.rel[foot, 0, 1] - scratch.rel[foot, 1, 1] - (places[0, 1] - places[1, 1])
    flags[FROZEN] = 2 if flags[FROZEN] == 1 and risen > LATE_HEEL else 0
    turns[FROM, 0], turns[FROM, 1], turns[FROM, 2], turns[FROM, 3] = rw, rx, ry, rz
    heel = _point(tables, foot, 0, scratch)
    ball = _point(tables, foot, 1, scratch)
    lx, lz = heel[0] - ball[0], heel[2] - ball[2]
    flat = max(math.sqrt(lx * lx + lz * lz), 1e-6)
    roll = state.vectors[foot, ROLL]
    roll[0], roll[1], roll[2] = -lz / flat, _pitch(tables, foot, scratch), lx / flat
    times[TURN_AGE] = 0.0
    if held == 2:
        # toes stay on the ground while the heel rises
        for k in range(4):
            turns[TOE_WORLD, k] = goal[7 + k]
        flags[TOES] = 1
    elif flags[TOES] == 1 and before == 3:
        flags[TOES] = 2
    elif flags[TOES] == 1:
        release_toes(tables, foot, state, scratch)


@jit
def release_toes(tables, foot, state, scratch):
    """Let held toes follow the blended motion again, from where they are."""
    goal, toes = scratch.goals[foot], tables.points[3 * foot + 1]
    turn = scratch.turns[0, toes]
    bw, bx, by, bz = multiply(goal[3], goal[4], goal[5], goal[6], turn[0], turn[1], turn[2], turn[3])
    dw, dx, dy, dz = multiply(goal[7], goal[8], goal[9], goal[10], bw, -bx, -by, -bz)
    vector = state.vectors[foot, TOE_START]
    vector[0], vector[1], vector[2] = log(dw, dx, dy, dz)
    state.flags[foot, TOES], state.times[foot, TOE_AGE] = 0, 0.0


@jit
def lift(tables, foot, now, state, scratch):
    """Turn a standing foot into a swinging one whose corrections start as they are; its path is still to be written."""
    flags = state.flags[foot]
    release_toes(tables, foot, state, scratch)
    flags[SWING], flags[HELD], flags[FROZEN], flags[BARRED] = 1, 0, 0, 0
    state.times[foot, SINCE] = now
    places = state.places[foot]
    for k in range(3):
        places[STOOD, k] = 0.5 * (places[0, k] + places[1, k])


@jit
def land(tables, foot, now, state, scratch, held):
    """Let a foot stand at its marks at once, as blended."""
    flags = state.flags[foot]
    forward_goal(tables, foot, scratch)
    goal, places = scratch.goals[foot], state.places[foot]
    bx, by, bz = _point(tables, foot, 1, scratch)
    tx, ty, tz = _point(tables, foot, 2, scratch)
    if abs(tx - bx) + abs(tz - bz) > 1e-4:
        # toes as level as the ground
        aw, ax, ay, az = aim((tx - bx, ty - by, tz - bz), (tx - bx, places[2, 1] - places[1, 1], tz - bz), UP)
        goal[7], goal[8], goal[9], goal[10] = multiply(aw, ax, ay, az, goal[7], goal[8], goal[9], goal[10])
    flags[SWING], flags[HELD], flags[FROZEN], flags[TOES], flags[BARRED] = 0, 0, 0, 0, 0
    flags[ANCHOR] = 0 if held & 1 else 1
    state.vectors[foot, :, :] = 0.0
    state.times[foot, SINCE], state.times[foot, KEEP] = now, now
    _hold(tables, foot, 0.0, state, scratch, held)


@jit
def forward_goal(tables, foot, scratch):
    """Write the blended pose of a foot as its goal; `scratch` holds forward kinematics."""
    write_relative(tables, foot, scratch)
    goal, ankle, toes = scratch.goals[foot], tables.legs[foot, 2], tables.points[3 * foot + 1]
    for k in range(3):
        goal[k] = scratch.positions[0, ankle, k]
    goal[3], goal[4], goal[5], goal[6] = 1.0, 0.0, 0.0, 0.0
    for k in range(4):
        goal[7 + k] = scratch.turns[0, toes, k]


@jit
def _write_stance(tables, foot, state, scratch):
    """Write the goal of a standing foot from its state."""
    flags, times, turns, goal = state.flags[foot], state.times[foot], state.turns[foot], scratch.goals[foot]
    turn = scratch.turns[0, tables.legs[foot, 2]]
    if flags[FROZEN] == 1:
        a, b = turns[FROM], turns[FLAT]
        dw, dx, dy, dz = multiply(b[0], b[1], b[2], b[3], a[0], -a[1], -a[2], -a[3])
        vx, vy, vz = log(dw, dx, dy, dz)
        u = min(times[TURN_AGE] / max(times[SETTLES], 1e-9), 1.0)
        share = u * u * (3.0 - 2.0 * u) + times[FALLS] * u * (1.0 - u) * (1.0 - u)
        ew, ex, ey, ez = exp(share * vx, share * vy, share * vz)
        rw, rx, ry, rz = multiply(ew, ex, ey, ez, a[0], a[1], a[2], a[3])
        goal[3], goal[4], goal[5], goal[6] = multiply(rw, rx, ry, rz, turn[0], -turn[1], -turn[2], -turn[3])
    else:
        roll = state.vectors[foot, ROLL]
        half = 0.5 * (_pitch(tables, foot, scratch) - roll[1])
        if flags[FROZEN] == 2:
            half *= smoother(times[TURN_AGE] / ROLL_IN)
        a, sine = turns[FROM], math.sin(half)
        rw, rx, ry, rz = multiply(math.cos(half), roll[0] * sine, 0.0, roll[2] * sine, a[0], a[1], a[2], a[3])
        goal[3], goal[4], goal[5], goal[6] = multiply(rw, rx, ry, rz, turn[0], -turn[1], -turn[2], -turn[3])
    if flags[TOES] == 1:
        for k in range(4):
            goal[7 + k] = turns[TOE_WORLD, k]
    else:
        _write_toes(tables, foot, state, scratch, 1.0 if flags[TOES] == 2 else 0.0)
    ankle = scratch.positions[0, tables.legs[foot, 2]]
    for k in range(3):
        goal[k] = ankle[k]
    _put_anchor(tables, foot, state, scratch)
    if flags[HELD] == 2:
        # a heel that would sink is pitched up about the ball
        for _ in range(2):
            x, y, z = _point(tables, foot, 0, scratch)
            mark = state.places[foot, 1]
            lx, lz = x - mark[0], z - mark[2]
            flat = math.sqrt(lx * lx + lz * lz)
            if y < state.places[foot, 0, 1] and flat > 1e-3:
                half = 0.5 * math.atan2(state.places[foot, 0, 1] - y, flat)
                c, s = math.cos(half), math.sin(half) / flat
                goal[3], goal[4], goal[5], goal[6] = multiply(
                    c, -lz * s, 0.0, lx * s, goal[3], goal[4], goal[5], goal[6]
                )
                _put_anchor(tables, foot, state, scratch)


@jit
def _stand(tables, step, foot, state, scratch):
    """Write the goal of a standing foot; return events."""
    flags, times, places = state.flags[foot], state.times[foot], state.places[foot]
    times[TURN_AGE] += step.seconds
    times[TOE_AGE] += step.seconds
    _write_stance(tables, foot, state, scratch)
    held = 0
    if step.planted[2 * foot] >= 0.5:
        held |= 1
    if step.planted[2 * foot + 1] >= 0.5:
        held |= 2
    events = 0
    if held == 0:
        if step.now >= times[KEEP]:
            events |= RELEASED
        held = flags[HELD]
    # a ball that is nearly down comes down, also while a released foot waits for its swing; one that is down stays so
    settles = False
    if (held == 1 or flags[HELD] == 1) and flags[FROZEN] != 1:
        _, y, _ = _point(tables, foot, 1, scratch)
        fall = _fall(tables, foot, 1, step.seconds, state, scratch)
        next_fall = fall * step.seconds + fall * fall / (2.0 * step.brake)
        settles = y <= places[1, 1] + max(SETTLE_FROM, next_fall)
        held = 3 if settles else held
    # a flat foot rocks back onto its heel only if that lasts
    times[ROCKED] = times[ROCKED] + step.seconds if flags[HELD] == 3 and held == 1 else 0.0
    if flags[HELD] == 3 and held == 1 and times[ROCKED] < DWELL:
        held = 3
    if flags[HELD] >= 2 and held >= 2:
        # the heel of a foot on its ball is down or up by the blended pitch: one that stays on the ground is held
        rel = scratch.rel[foot]
        low = rel[0, 1] - rel[1, 1] <= places[0, 1] - places[1, 1] + HEEL_UP
        if flags[HELD] == 3 and held == 2 and low:
            held = 3
        elif flags[HELD] == 2:
            _, y, _ = _point(tables, foot, 0, scratch)
            down = y <= places[0, 1] + 1e-4
            if down and low:
                held = 3
            elif flags[BARRED] == 1 and not down:
                held = 2
    # what is held changes once a dwell at most, else a foot at the edge of a contact rocks; landings come first
    dwells = times[TURN_AGE] < (times[SETTLES] if flags[HELD] == 3 and held == 2 else DWELL)
    dwells = dwells and not (flags[HELD] == 1 and held == 3 and flags[TOES] == 2)
    if held != flags[HELD] and (events == 0 or settles) and not dwells:
        _hold(tables, foot, step.seconds, state, scratch, held)
        _write_stance(tables, foot, state, scratch)
    return events


@jit
def _note_shift(tables, step, foot, state, scratch):
    """Store the shift of a standing foot and its velocity; return whether it is far from the blended one."""
    places, goal = state.places[foot], scratch.goals[foot]
    ankle = scratch.positions[0, tables.legs[foot, 2]]
    for k in range(3):
        shift = goal[k] - ankle[k]
        if step.seconds > 0.0:
            places[SPEED, k] = (shift - places[SHIFT, k]) / step.seconds
        places[SHIFT, k] = shift
    vectors = state.vectors[foot]
    x, y, z = log(goal[3], goal[4], goal[5], goal[6])
    if step.seconds > 0.0:
        vectors[TURN_RATE, 0] = (x - vectors[TURN_SHOWN, 0]) / step.seconds
        vectors[TURN_RATE, 1] = (y - vectors[TURN_SHOWN, 1]) / step.seconds
        vectors[TURN_RATE, 2] = (z - vectors[TURN_SHOWN, 2]) / step.seconds
    vectors[TURN_SHOWN, 0], vectors[TURN_SHOWN, 1], vectors[TURN_SHOWN, 2] = x, y, z
    return places[SHIFT, 0] ** 2 + places[SHIFT, 2] ** 2 > step.far * step.far


@jit
def _raise_heel(tables, step, foot, state, hip, up, most, scratch):
    """Raise the heel of a standing foot about its ball, as far as the leg needs to reach; return the angle."""
    flags, goal, times = state.flags[foot], scratch.goals[foot], state.times[foot]
    before, times[RAISE] = times[RAISE], 0.0
    if not flags[HELD] & 2:
        return 0.0
    hx, hy, hz = hip[0], hip[1] + up, hip[2]
    far = math.sqrt((hx - goal[0]) ** 2 + (hy - goal[1]) ** 2 + (hz - goal[2]) ** 2)
    soft = most * SOFT / STRAIGHT
    if flags[HELD] == 2 and far > soft:
        # approach full extension smoothly, once the foot rolls
        gentle = soft + (most - soft) * math.tanh((far - soft) / (most - soft))
        most = min(far, most) + smoother(state.times[foot, TURN_AGE] / ROLL_IN) * (gentle - min(far, most))
    if far <= most:
        return 0.0
    if flags[HELD] == 3:
        flags[BARRED] = 1
        _hold(tables, foot, step.seconds, state, scratch, 2)
    # the axis across the foot about which the heel rises
    bx, _, bz = _point(tables, foot, 1, scratch)
    lx, lz = goal[0] - bx, goal[2] - bz
    flat = math.sqrt(lx * lx + lz * lz)
    if flat < 1e-4:
        return 0.0
    ax, az = -lz / flat, lx / flat
    cw, cx, cy, cz = goal[3], goal[4], goal[5], goal[6]
    low, high = 0.0, STEEPEST
    if step.seconds > 0.0:
        high = min(high, before + RAISE_RATE * step.seconds)
    largest = high
    for _ in range(18):
        middle = 0.5 * (low + high)
        s = math.sin(0.5 * middle)
        goal[3], goal[4], goal[5], goal[6] = multiply(math.cos(0.5 * middle), ax * s, 0.0, az * s, cw, cx, cy, cz)
        _put_anchor(tables, foot, state, scratch)
        if (hx - goal[0]) ** 2 + (hy - goal[1]) ** 2 + (hz - goal[2]) ** 2 <= most * most:
            high = middle
        else:
            low = middle
    s = math.sin(0.5 * high)
    goal[3], goal[4], goal[5], goal[6] = multiply(math.cos(0.5 * high), ax * s, 0.0, az * s, cw, cx, cy, cz)
    _put_anchor(tables, foot, state, scratch)
    times[RAISE] = high
    # a foot that is still out of reach is released
    return high if high < largest else STEEPEST


@jit
def _place_toes(tables, foot, pose, scratch):
    """Rotate the toe joint so that the toes have the goal's rotation in the world."""
    if not has_toes(tables, foot):
        return
    goal, toes = scratch.goals[foot], tables.points[3 * foot + 1]
    rw, rx, ry, rz = _foot_turn(tables, foot, scratch)
    pose[0, toes, 0], pose[0, toes, 1], pose[0, toes, 2], pose[0, toes, 3] = multiply(
        rw, -rx, -ry, -rz, goal[7], goal[8], goal[9], goal[10]
    )


@jit
def _place_leg(tables, foot, target, turn, pose, scratch):
    """Bend one leg so that its ankle is at a target (x, y, z), and rotate the foot by `turn`; return metres missing."""
    parents, axis = tables.parents, tables.axes[foot]
    hip, knee, ankle = tables.legs[foot, 0], tables.legs[foot, 1], tables.legs[foot, 2]
    positions, turns, floats = scratch.positions, scratch.turns, scratch.floats
    gx, gy, gz = target
    rw, rx, ry, rz = turn
    above = parents[hip]
    uw, ux, uy, uz = turns[0, hip, 0], turns[0, hip, 1], turns[0, hip, 2], turns[0, hip, 3]
    kw, kx, ky, kz = turns[0, knee, 0], turns[0, knee, 1], turns[0, knee, 2], turns[0, knee, 3]
    parent, upper, lower = floats[0:4], floats[4:8], floats[8:12]
    upper_offset, lower_offset, origin, goal = floats[12:15], floats[15:18], floats[18:21], floats[21:24]
    new_upper, new_lower = floats[24:28], floats[32:36]
    for k in range(4):
        parent[k], upper[k] = turns[0, above, k], pose[0, hip, k]
    lower[0], lower[1], lower[2], lower[3] = multiply(uw, -ux, -uy, -uz, kw, kx, ky, kz)
    upper_offset[0], upper_offset[1], upper_offset[2] = rotate(
        uw, -ux, -uy, -uz, positions[0, knee, 0] - positions[0, hip, 0], positions[0, knee, 1] - positions[0, hip, 1],
        positions[0, knee, 2] - positions[0, hip, 2],
    )  # fmt: skip
    lower_offset[0], lower_offset[1], lower_offset[2] = rotate(
        kw, -kx, -ky, -kz, positions[0, ankle, 0] - positions[0, knee, 0],
        positions[0, ankle, 1] - positions[0, knee, 1], positions[0, ankle, 2] - positions[0, knee, 2],
    )  # fmt: skip
    for k in range(3):
        origin[k] = positions[0, hip, k]
    goal[0], goal[1], goal[2] = gx, gy, gz
    limb = LimbPose(parent, upper, lower, upper_offset, lower_offset, origin)
    # about the axis that it is bent about now: a blended knee that is bent aside would not straighten about another
    plane = floats[28:31]
    bx, by, bz = rotate(
        lower[0], lower[1], lower[2], lower[3], lower_offset[0], lower_offset[1], lower_offset[2]
    )  # fmt: skip
    plane[0], plane[1], plane[2] = own_hinge(
        (-upper_offset[0], -upper_offset[1], -upper_offset[2]), (bx, by, bz), (axis[0], axis[1], axis[2])
    )
    hinge = Hinge(plane, True, 0.0, 0.0, MOST_BEND)
    missing, _, _ = reach(hinge, limb, LimbAim(goal, goal, False, 0.0), new_upper, new_lower)
    for k in range(4):
        pose[0, hip, k] = new_upper[k]
    # joints between hip and knee keep their rotations: their product is removed from the knee's
    over = parents[knee]
    bw, bx, by, bz = multiply(
        uw, -ux, -uy, -uz, turns[0, over, 0], turns[0, over, 1], turns[0, over, 2], turns[0, over, 3]
    )
    pose[0, knee, 0], pose[0, knee, 1], pose[0, knee, 2], pose[0, knee, 3] = multiply(
        bw, -bx, -by, -bz, new_lower[0], new_lower[1], new_lower[2], new_lower[3]
    )
    # the foot's rotation in the world, then relative to its new parent
    fw, fx, fy, fz = multiply(
        rw, rx, ry, rz, turns[0, ankle, 0], turns[0, ankle, 1], turns[0, ankle, 2], turns[0, ankle, 3]
    )
    nw, nx, ny, nz = multiply(
        parent[0], parent[1], parent[2], parent[3], new_upper[0], new_upper[1], new_upper[2], new_upper[3]
    )
    nw, nx, ny, nz = multiply(nw, nx, ny, nz, new_lower[0], new_lower[1], new_lower[2], new_lower[3])
    over = parents[ankle]
    if over != knee:
        cw, cx, cy, cz = multiply(
            kw, -kx, -ky, -kz, turns[0, over, 0], turns[0, over, 1], turns[0, over, 2], turns[0, over, 3]
        )
        nw, nx, ny, nz = multiply(nw, nx, ny, nz, cw, cx, cy, cz)
    pose[0, ankle, 0], pose[0, ankle, 1], pose[0, ankle, 2], pose[0, ankle, 3] = multiply(
        nw, -nx, -ny, -nz, fw, fx, fy, fz
    )
    return missing


@jit
def reach_limb(tables, limb, joint, arm, target, share, body, scratch):
    """Move a point (an offset from a joint below the limb's end) towards a target by a share, by two-bone IK.

    tables: `legs` are the limbs. body: root (1, 3) and pose (1, J, 4), changed in place.
    """
    root, pose = body
    forward(tables.parents, tables.offsets, root, pose, scratch.positions, scratch.turns)
    turn, place = scratch.turns[0, joint], scratch.positions[0, joint]
    vx, vy, vz = rotate(turn[0], turn[1], turn[2], turn[3], arm[0], arm[1], arm[2])
    end = scratch.positions[0, tables.legs[limb, 2]]
    goal = (
        end[0] + share * (target[0] - place[0] - vx), end[1] + share * (target[1] - place[1] - vy),
        end[2] + share * (target[2] - place[2] - vz),
    )  # fmt: skip
    _place_leg(tables, limb, goal, (1.0, 0.0, 0.0, 0.0), pose, scratch)


def no_hands():
    """Return `FootState.body` of a body that hands do not carry, on ground at height 0."""
    body = np.zeros(12)
    body[HANDS_LOW] = NO_HANDS
    return body


def foot_states():
    """Return a state for compilation."""
    return FootState(
        np.zeros((2, 8), np.int64), np.zeros((2, 10)), np.zeros((2, 6, 6)), np.ones((2, 4, 4)), np.zeros((2, 4, 3)),
        np.zeros((2, 8, 3)), np.zeros((2, 10)), no_hands(),
    )  # fmt: skip


def foot_tables():
    """Return a character of one leg for compilation."""
    parents = np.array([-1, 0, 1, 2])
    parents.setflags(write=False)
    offsets = np.zeros((1, 4, 3))
    offsets[0, 1:, 1] = -1.0
    offsets.setflags(write=False)
    return FootTables(
        parents, offsets, np.array([[1, 2, 3], [1, 2, 3]]), np.tile([1.0, 0.0, 0.0], (2, 1)), np.full(6, 3),
        np.zeros((6, 3)),
    )  # fmt: skip


def _foot_scratch():
    return FootScratch(np.zeros((1, 4, 3)), np.zeros((1, 4, 4)), np.zeros((2, 4, 3)), np.zeros((2, 11)), np.zeros(36))


def one_surface(heights, x, z, spacing, kind):
    """Return a ground of one height field (nx, nz) that covers everything and rests; metres."""
    flat = np.ascontiguousarray(heights, float).reshape(-1)
    flat.setflags(write=False)
    return GroundField(
        False, flat, np.array([[0, *heights.shape, kind]], np.int64), np.array([[x, z, spacing]], float),
        np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]), np.array([[UNBOUNDED, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]]),
    )  # fmt: skip


def level_ground():
    """Return a level floor at height 0."""
    return one_surface(np.zeros((2, 2)), 0.0, 0.0, 1.0, 0)._replace(level=True)


def _pose_arguments():
    pose = np.zeros((1, 4, 4))
    pose[..., 0] = 1.0
    step = FeetStep(0.0, 0.01, np.ones(4), 0.1, 1.0)
    return foot_tables(), level_ground(), step, foot_states(), np.zeros((1, 3)), pose, _foot_scratch()


def _frame_arguments():
    motions, feet, requests, _, _, playback, work, _ = _ahead_arguments()
    step = FeetStep(0.0, 0.01, playback.planted, 0.1, 1.0)
    own = (work[0], work[1], work[4])
    return (
        motions, (feet, lean_tables()), level_ground(), requests, step, playback, foot_states(), own, work[2], work[3]
    )  # fmt: skip


def _ahead_arguments():
    pose = np.zeros((1, 4, 4))
    pose[..., 0] = 1.0
    rows = np.zeros((2, 4, 4))
    rows[..., 0] = 1.0
    tables = MotionTables(
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, 2), np.zeros(2), np.array([[0.0, 1.0]]),
        np.zeros((2, 2)), np.zeros(2), rows, np.zeros((2, 4)), 60.0, np.zeros(3),
    )  # fmt: skip
    playback = Playback(np.ones(1), np.zeros(5), np.zeros(1), np.zeros(4))
    scratch = BlendScratch(np.ones((1, 4, 4)), np.ones((1, 4)), np.zeros(4), np.zeros(36))
    requests = Requests(np.zeros(1, np.int64), np.zeros(1), np.zeros(1), 1, 1.0, np.zeros((1, 5)), np.ones(3))
    work = (np.zeros(1), scratch, np.zeros((1, 3)), pose, _foot_scratch())
    return tables, foot_tables(), requests, 0.0, 0.02, playback, work, np.zeros((1, 2, 24))


WARMUP = {
    "pose_feet": _pose_arguments,
    "show_frame": _frame_arguments,
    "ground_at": lambda: (level_ground(), 0.0, 0.0),
    "heights_at": lambda: (level_ground(), np.zeros((1, 2)), np.zeros(1)),
    "surface_at": lambda: (level_ground(), 0.0, 0.0),
    "look_ahead": _ahead_arguments,
    "lift": lambda: (foot_tables(), 0, 0.0, foot_states(), _foot_scratch()),
    "land": lambda: (foot_tables(), 0, 0.0, foot_states(), _foot_scratch(), 3),
    "release_toes": lambda: (foot_tables(), 0, foot_states(), _foot_scratch()),
    "forward_goal": lambda: (foot_tables(), 0, _foot_scratch()),
    "smoother": lambda: (0.5,),
    "reach_limb": lambda: (
        foot_tables(),
        0,
        3,
        np.zeros(3),
        np.zeros(3),
        0.0,
        (np.zeros((1, 3)), np.ones((1, 4, 4))),
        _foot_scratch(),
    ),
}
