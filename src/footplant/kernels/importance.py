"""Importance of hands, feet, elbows and knees at one frame (Shin 2002, chapter 4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.fk import place_of
from footplant.kernels.quaternion import rotate
from footplant.kernels.scene import Things, smallest_things
from footplant.kernels.scene import distance as thing_distance
from footplant.kernels.surface import Tubes, measure, own_place, smallest_tubes, world_turn

LIMBS = 4
"""Left arm, right arm, left leg, right leg."""
POINTS = 8
"""Contact points: left palm, right palm, left heel, ball and toe, right heel, ball and toe."""
PLACES = POINTS + LIMBS
"""Points that may touch the scene: the contact points, then left and right elbow and knee."""
GENERAL = 8
"""Points that may touch the body itself: left and right palm, ball, elbow and knee, in this order."""

NOTHING, ALL, CORNER = 1e-4, 0.98, 0.03
"""Filtered importance that counts as 0, that counts as 1, and half the width of the rounded corner at 1."""
UNHURRIED, HURRY = 1.3, 0.35
"""Landing speed of a foot, m/s, above which its importance rises faster, and the gain in rate for each m/s more."""
FARTHEST = 2.0
"""Largest predicted approach of the palms, as a multiple of the distance at which they become important."""
UNMEANT = 0.5
"""Raw importance of a palm or elbow near the body that still counts as 0: arms that hang beside the body."""


class CharacterTables(NamedTuple):
    """Limbs and contact points of a character."""

    limbs: NDArray
    """(4, 3) int64; joints of shoulder (hip), elbow (knee), wrist (ankle); −1: none."""
    carriers: NDArray
    """(8,) int64; the joint that carries each contact point; −1: none."""
    offsets: NDArray
    """(8, 3) metres; the contact point in the joint's frame."""
    general: NDArray
    """(8,) int64; joint of each point that may touch the body; the first four are contact points."""
    thick: NDArray
    """(4,) metres; radius of each limb at its elbow or knee."""


class Performer(NamedTuple):
    """Everything about a performer in a scene that does not change from frame to frame."""

    character: CharacterTables
    tubes: Tubes
    near: NDArray
    """(8, S) which of the points that may touch the body may touch which segment."""
    things: Things
    rules: Rules


class Rules(NamedTuple):
    """Parameters of importance; lengths in metres on the performer."""

    lookahead: float
    """Seconds by which a hand's approach to the scene is predicted (λ of the paper)."""
    step_lookahead: float
    """Seconds by which a foot's approach to the scene is predicted."""
    touch_lookahead: float
    """Seconds by which an approach to the body is predicted."""
    hands_lookahead: float
    """Seconds by which an approach of the palms to each other is predicted."""
    hands_on_body: float
    """Share of that which is lost where a palm comes to the trunk as soon."""
    body: float
    """Distance from the body's surface at which a palm, foot, elbow or knee becomes important."""
    hands: float
    """Distance between the palms at which they become important to each other."""
    passing: float
    """Tangential speed along the body, m/s, at which a touch does not count: an arm that swings past."""
    rate: float
    """Half-life in seconds of the low-pass filter on speeds."""
    rise: float
    """Half-life in seconds in which the importance of a foot in the scene rises."""
    fall: float
    """Half-life in seconds in which it falls."""
    touch_rise: float
    """Half-life in seconds in which that of a hand, or of a touch of the body, rises."""
    touch_fall: float
    """Half-life in seconds in which it falls."""


class Memory(NamedTuple):
    """Filter state of the analysis from the frame before."""

    started: NDArray
    """(1,) 0 before the first frame."""
    scene: NDArray
    """(12, O, 2) distance of each point from each object and its rate, metres and m/s."""
    limbs: NDArray
    """(8, 6) filter of the importance in the scene of each limb's end, then of its elbow or knee, as in `follow`."""
    body: NDArray
    """(8, S, 12) of each point and segment: distance, rate, position (3) in the segment's frame, tangential speed, and
    the filter of `follow` (6)."""
    hands: NDArray
    """(14,) distance of the palms, rate, filter of `follow` (6), whose peak is that of an expected meeting, vector from
    the right palm to the left (3), tangential speed, and the decaying peak of a meeting with its rate."""
    toes: NDArray
    """(2, 20) of the toes of left and right foot: the bend out of the scene that they need, which decays slowly, and
    the state (15) in which `limit_shift` follows it, radians; its shift is the bend, its point is how far the toes have
    turned themselves; then their rotation (4)."""


class Importance(NamedTuple):
    """The importances of one frame."""

    scene: NDArray
    """(8,) importance of each limb's end in the scene, then of its elbow or knee, 0 to 1."""
    points: NDArray
    """(12, 3) contact points, elbows and knees of the performer, metres."""
    nearest: NDArray
    """(12,) metres from each contact point, and from the skin of each elbow and knee, to the nearest object."""
    body: NDArray
    """(8, S) importance of each palm, ball, elbow and knee with respect to each segment of the body, 0 to 1."""
    seen: NDArray
    """(8, S, 9) surface coordinates of each on each segment: t, cosine, sine, gap, beyond of `surface.measure`, then
    the distance, metres, and the outward normal in the world (3)."""
    hands: NDArray
    """(4,) importance of the palms to each other, and the vector from the right palm to the left (3), metres."""
    between: NDArray
    """(S, 6) surface coordinates of the palms' midpoint on each segment as in `seen`, and its distance from it,
    metres."""


@uncounted_jit
def share(distance):
    """Return 1 at contact (distance ≤ 0), 0 at distance ≥ 1, a smooth cubic between (equation 4.4)."""
    if distance <= 0.0:
        return 1.0
    if distance >= 1.0:
        return 0.0
    return distance * distance * (2.0 * distance - 3.0) + 1.0


@uncounted_jit
def spring(value, speed, goal, half_life, dt):
    """Return (value, speed) of a critically damped spring after dt seconds; about half of the way in a half-life."""
    y = 2.0 * 0.6931471805599453 / half_life
    away = value - goal
    push = speed + away * y
    decay = math.exp(-y * dt)
    return decay * (away + push * dt) + goal, decay * (speed - push * y * dt)


@uncounted_jit
def follow(row, first, goal, rise, fall, dt):
    """Filter an importance: rise fast and fall slowly, without jerk; return it rounded.

    A slow spring lets the peak decay; two fast springs in series follow it, so that nothing overshoots when the goal
    turns back. row[first …]: value and rate of the output, of the first fast spring, and of the decaying peak.
    """
    return rise_to(row, first, hold_peak(row, first + 4, goal, fall, dt), rise, dt)


@uncounted_jit
def hold_peak(row, first, goal, fall, dt):
    """Return a peak that decays slowly; row[first …]: its value and rate."""
    if goal >= row[first]:
        row[first], row[first + 1] = goal, 0.0
    else:
        row[first], row[first + 1] = spring(row[first], row[first + 1], goal, fall, dt)
    return row[first]


@uncounted_jit
def rise_to(row, first, goal, rise, dt):
    """Follow by two springs; return the importance rounded. row[first …]: value and rate of the second, the first."""
    half_life = 0.6 * rise
    row[first + 2], row[first + 3] = spring(row[first + 2], row[first + 3], goal, half_life, dt)
    row[first], row[first + 1] = spring(row[first], row[first + 1], row[first + 2], half_life, dt)
    return rounded(row[first])


@uncounted_jit
def rounded(value):
    """Return an importance clamped to 0 … 1 with a rounded corner at 1, because springs approach their goal slowly."""
    value = max(value - NOTHING, 0.0) / (ALL - CORNER)
    short = 1.0 - value
    if short >= CORNER:
        return value
    if short <= -CORNER:
        return 1.0
    return 1.0 - (short + CORNER) ** 2 / (4.0 * CORNER)


@uncounted_jit
def begin(row, first, goal):
    """Initialise the filter of `follow` at the first frame; return the importance."""
    for n in range(first, first + 6, 2):
        row[n], row[n + 1] = goal, 0.0
    return rounded(goal)


@uncounted_jit
def ahead(distance, rate, seconds, farthest):
    """Return the distance predicted some seconds ahead (equation 4.2); an approach is limited to `farthest` metres.

    A hand that swings fast through the air towards the floor is not about to touch it.
    """
    return distance + max(seconds * rate, -farthest)


@uncounted_jit
def rate_of(distance, before, rate, rules, dt):
    """Return the low-pass filtered rate of a distance."""
    return rate + (1.0 - math.exp(-0.6931471805599453 * dt / rules.rate)) * ((distance - before) / dt - rate)


@uncounted_jit
def contact_place(character, n, positions, rotations):
    """Return the world position of contact point n, which must have a joint."""
    return place_of(character.carriers[n], character.offsets[n], positions, rotations)


@uncounted_jit
def contact_points(character, positions, rotations, points):
    """Write the world positions of the contact points (8, 3)."""
    for n in range(POINTS):
        if character.carriers[n] >= 0:
            points[n, 0], points[n, 1], points[n, 2] = contact_place(character, n, positions, rotations)


@uncounted_jit
def of_scene(performer, poses, dt, memory, out):
    """Compute the importance of hands and feet in the scene (section 4.1)."""
    character, things, rules = performer.character, performer.things, performer.rules
    started = memory.started[0] > 0.0
    for limb in range(2 * LIMBS):
        first, last = (limb, limb + 1) if limb < 2 else (3 * limb - 4, 3 * limb - 1)
        if limb >= LIMBS:
            first, last = POINTS + limb - LIMBS, POINTS + limb - LIMBS + 1
        most, fastest = 0.0, 0.0
        for n in range(first, last):
            out.nearest[n] = 1e3
            if (character.carriers[n] if n < POINTS else character.limbs[n - POINTS, 1]) < 0:
                continue
            thick = 0.0 if n < POINTS else character.thick[n - POINTS]
            for o in range(things.kinds.shape[0]):
                d, _, _, _ = thing_distance(things, o, poses[o], out.points[n, 0], out.points[n, 1], out.points[n, 2])
                d -= thick
                rate = 0.0
                if started:
                    rate = rate_of(d, memory.scene[n, o, 0], memory.scene[n, o, 1], rules, dt)
                memory.scene[n, o, 0], memory.scene[n, o, 1] = d, rate
                out.nearest[n] = min(out.nearest[n], d)
                # a foot that comes down fast is about to land
                reach, seconds, farthest = things.reaches[o], rules.lookahead, things.reaches[o]
                if 2 <= limb < LIMBS:
                    seconds, farthest = rules.step_lookahead, 2.0 * reach
                    if d < reach:
                        fastest = max(fastest, -rate)
                most = max(most, share(ahead(d, rate, seconds, farthest) / reach))
        row, rise, fall = memory.limbs[limb], rules.rise / (1.0 + HURRY * max(fastest - UNHURRIED, 0.0)), rules.fall
        if limb < 2 or limb >= LIMBS:
            # hands reach out slowly; a foot may land at any moment
            rise, fall = rules.touch_rise, rules.touch_fall
        out.scene[limb] = follow(row, 0, most, rise, fall, dt) if started else begin(row, 0, most)


@uncounted_jit
def of_body(performer, dt, positions, rotations, memory, out):
    """Compute the importance of palms, feet, elbows and knees with respect to the body itself (section 4.2).

    near (8, S): which pairs may touch.
    """
    character, tubes, near, rules = performer.character, performer.tubes, performer.near, performer.rules
    started = memory.started[0] > 0.0
    blend = 1.0 - math.exp(-0.6931471805599453 * dt / rules.rate)
    for n in range(GENERAL):
        j = character.general[n]
        for k in range(tubes.joints.shape[0]):
            out.body[n, k] = 0.0
            if j < 0 or not near[n, k]:
                continue
            if n < 2:
                x, y, z = out.points[n, 0], out.points[n, 1], out.points[n, 2]
            else:
                x, y, z = positions[j, 0], positions[j, 1], positions[j, 2]
            u, v, a = own_place(tubes, k, positions, rotations, x, y, z)
            d, nx, ny, nz, t, c, s, gap, beyond = measure(tubes.rings[k], tubes.lengths[k], u, v, a)
            last = memory.body[n, k]
            rate, slip = 0.0, 0.0
            if started:
                rate = rate_of(d, last[0], last[1], rules, dt)
                moved = ((u - last[2]) ** 2 + (v - last[3]) ** 2 + (a - last[4]) ** 2) / (dt * dt)
                slip = last[5] + blend * (math.sqrt(max(moved - ((d - last[0]) / dt) ** 2, 0.0)) - last[5])
            now = share(ahead(d, rate, rules.touch_lookahead, rules.body) / rules.body) * share(slip / rules.passing)
            # arms that hang beside the body are always near it without touching it
            now = share(1.0 - (now - UNMEANT) / (1.0 - UNMEANT))
            rise, fall = rules.touch_rise, rules.touch_fall
            value = follow(last, 6, now, rise, fall, dt) if started else begin(last, 6, now)
            # a point that has left the body loses its importance at once
            out.body[n, k] = value * share((d / rules.body - 1.0) / 3.0)
            last[0], last[1], last[2], last[3], last[4], last[5] = d, rate, u, v, a, slip
            seen = out.seen[n, k]
            seen[0], seen[1], seen[2], seen[3], seen[4], seen[5] = t, c, s, gap, beyond, d
            qw, qx, qy, qz = world_turn(tubes, k, rotations)
            seen[6], seen[7], seen[8] = rotate(qw, qx, qy, qz, nx, ny, nz)


@uncounted_jit
def of_hands(performer, dt, positions, rotations, memory, out):
    """Compute the importance of the palms to each other, and the surface coordinates of their midpoint."""
    character, tubes, rules = performer.character, performer.tubes, performer.rules
    out.hands[0] = 0.0
    if character.carriers[0] < 0 or character.carriers[1] < 0:
        return
    square = 0.0
    for k in range(3):
        out.hands[1 + k] = out.points[0, k] - out.points[1, k]
        square += out.hands[1 + k] ** 2
    d, last = math.sqrt(square), memory.hands
    if memory.started[0] > 0.0:
        rate, moved = rate_of(d, last[0], last[1], rules, dt), 0.0
        for k in range(3):
            moved += (out.hands[1 + k] - last[8 + k]) ** 2
        slip = math.sqrt(max(moved - (d - last[0]) ** 2, 0.0)) / dt
        last[11] += (1.0 - math.exp(-0.6931471805599453 * dt / rules.rate)) * (slip - last[11])
        # palms that come to the trunk sooner than to each other are not about to meet; elbows touch the trunk alone
        on_body = 0.0
        for n in range(2):
            for k in range(tubes.joints.shape[0]):
                if performer.near[GENERAL - 4 + n, k]:
                    away = ahead(
                        memory.body[n, k, 0], memory.body[n, k, 1], rules.hands_lookahead, FARTHEST * rules.body
                    )
                    on_body = max(on_body, share(away / rules.body))
        seconds = rules.hands_lookahead * (1.0 - rules.hands_on_body * on_body)
        now = share(ahead(d, rate, seconds, FARTHEST * rules.hands) / rules.hands)
        # hands that swing past each other are not about to meet
        now *= share(0.5 * last[11] / rules.passing)
        # a meeting that was only expected is given up as fast as it came; if all that come nearer than `rules.hands`
        # counted by their distance alone, palms on Godette's crossed arms would miss them by 26 instead of 18 mm
        expected = hold_peak(last, 6, now, rules.touch_rise, dt)
        met = hold_peak(last, 12, min(now, share(2.0 * d / rules.hands - 1.0)), rules.touch_fall, dt)
        value = rise_to(last, 2, max(expected, met), rules.touch_rise, dt)
        last[0], last[1] = d, rate
    else:
        near = share(d / rules.hands)
        value = begin(last, 2, near)
        last[0], last[1], last[12], last[13] = d, 0.0, near, 0.0
    for k in range(3):
        last[8 + k] = out.hands[1 + k]
    # hands that are far apart lose their importance to each other at once
    out.hands[0] = value * share((d / rules.hands - 1.0) / 4.0)
    if out.hands[0] <= 0.0:
        return
    x, y, z = (0.5 * (out.points[0, 0] + out.points[1, 0]), 0.5 * (out.points[0, 1] + out.points[1, 1]),
               0.5 * (out.points[0, 2] + out.points[1, 2]))  # fmt: skip
    for k in range(tubes.joints.shape[0]):
        u, v, a = own_place(tubes, k, positions, rotations, x, y, z)
        d, _, _, _, t, c, s, gap, beyond = measure(tubes.rings[k], tubes.lengths[k], u, v, a)
        row = out.between[k]
        row[0], row[1], row[2], row[3], row[4], row[5] = t, c, s, gap, beyond, d


@uncounted_jit
def analyse(performer, poses, dt, positions, rotations, memory, out):
    """Analyse one frame of the performer: world positions (J, 3) and rotations (J, 4) of its joints."""
    dt = max(dt, 1e-6)
    contact_points(performer.character, positions, rotations, out.points)
    for limb in range(LIMBS):
        middle = performer.character.limbs[limb, 1]
        if middle >= 0:
            for k in range(3):
                out.points[POINTS + limb, k] = positions[middle, k]
    of_scene(performer, poses, dt, memory, out)
    of_body(performer, dt, positions, rotations, memory, out)
    of_hands(performer, dt, positions, rotations, memory, out)
    memory.started[0] = 1.0


def new_memory(things: int, segments: int) -> Memory:
    """Return the filter state before the first frame."""
    return Memory(
        np.zeros(1),
        np.zeros((PLACES, things, 2)),
        np.zeros((2 * LIMBS, 6)),
        np.zeros((GENERAL, segments, 12)),
        np.zeros(14),
        np.zeros((2, 20)),
    )


def new_importance(segments: int) -> Importance:
    """Return an output buffer."""
    return Importance(
        np.zeros(2 * LIMBS), np.zeros((PLACES, 3)), np.zeros(PLACES), np.zeros((GENERAL, segments)),
        np.zeros((GENERAL, segments, 9)), np.zeros(4), np.zeros((segments, 6)),
    )  # fmt: skip


def smallest_character() -> CharacterTables:
    """Return the tables of a character of one joint, to compile with."""
    return CharacterTables(
        np.zeros((LIMBS, 3), np.int64),
        np.zeros(POINTS, np.int64),
        np.zeros((POINTS, 3)),
        np.zeros(GENERAL, np.int64),
        np.zeros(LIMBS),
    )


def _smallest_call():
    poses = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    performer = Performer(
        smallest_character(), smallest_tubes(), np.ones((GENERAL, 1), bool), smallest_things(),
        Rules(0.15, 0.15, 0.1, 0.1, 0.5, 1.0, 1.0, 1.0, 0.02, 0.02, 0.1, 0.05, 0.2),
    )  # fmt: skip
    rotations = np.array([[1.0, 0.0, 0.0, 0.0]])
    return performer, poses, 0.01, np.zeros((1, 3)), rotations, new_memory(1, 1), new_importance(1)


WARMUP = {"analyse": _smallest_call}
