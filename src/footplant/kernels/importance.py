"""How much each hand, foot, elbow and knee matters at this instant (Shin 2002, chapter 4): one call a frame."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import rotate
from footplant.kernels.scene import distance as thing_distance
from footplant.kernels.scene import smallest_things
from footplant.kernels.surface import measure, own_place, smallest_tubes

LIMBS = 4
"""Left arm, right arm, left leg, right leg."""
POINTS = 8
"""Contact points: left palm, right palm, left heel, ball and toe, right heel, ball and toe."""
GENERAL = 8
"""What touches the body itself: left and right palm, left and right ball, left and right elbow, left and right knee."""

NOTHING, ALL, CORNER = 1e-4, 0.98, 0.03
"""What a follower of importance counts from, what is full importance, and the share in which it gets there."""
UNHURRIED, HURRY = 1.3, 0.35
"""Metres a second at which a foot lands in its own time, and how much sooner it matters for each more."""
FARTHEST = 2.0
"""How many times their distance at which palms begin to count an approach of theirs counts for at most."""
UNMEANT = 0.5
"""How near to the body a palm or elbow may be (as a share of importance) without meaning to touch it."""


class Figure(NamedTuple):
    """Where a figure's limbs and contact points are."""

    limbs: NDArray
    """(4, 3) int64; joints of shoulder (hip), elbow (knee), wrist (ankle); −1: none."""
    carriers: NDArray
    """(8,) int64; the joint that carries each contact point; −1: none."""
    offsets: NDArray
    """(8, 3) metres; where it is in the joint's frame."""
    general: NDArray
    """(8,) int64; joint of each thing that touches the body; the point is a contact's for the first four."""


class Rules(NamedTuple):
    """What counts as near, lengths in metres on the performer."""

    lookahead: float
    """Seconds by which a hand's approach to the scene counts ahead (λ of the paper)."""
    step_lookahead: float
    """Seconds by which a foot's approach to the scene counts ahead."""
    touch_lookahead: float
    """Seconds by which an approach to the body counts ahead."""
    hands_lookahead: float
    """Seconds by which an approach of the palms to each other counts ahead."""
    body: float
    """Distance from the body's surface at which a palm, foot, elbow or knee begins to count."""
    hands: float
    """Distance between the palms at which they begin to count as together."""
    passing: float
    """Metres a second along the body at which a touch does not count: an arm that swings past."""
    rate: float
    """Half-life in seconds of the filter on speeds."""
    rise: float
    """Half-life in seconds in which the importance of a foot in the scene grows."""
    fall: float
    """Half-life in seconds in which it fades."""
    touch_rise: float
    """Half-life in seconds in which that of a hand, or of a touch of the body, grows."""
    touch_fall: float
    """Half-life in seconds in which it fades."""


class Memory(NamedTuple):
    """What the analysis remembers from the frame before."""

    started: NDArray
    """(1,) 0 before the first frame."""
    scene: NDArray
    """(8, O, 2) distance of each point from each thing and its rate, metres and m/s."""
    limbs: NDArray
    """(4, 6) importance of each limb's end in the scene, as in `follow`."""
    body: NDArray
    """(8, S, 12) of each thing and segment: distance, rate, its place (3) seen from the segment, the speed at which it
    slips along, and importance as in `follow` (6)."""
    hands: NDArray
    """(12,) distance of the palms, rate, importance as in `follow` (6), from the right one to the left (3), and the
    speed at which they slip past each other."""
    toes: NDArray
    """(2,) radians by which the toes of left and right foot are bent up out of the scene."""


class Importance(NamedTuple):
    """What matters now."""

    scene: NDArray
    """(4,) importance of each limb's end in the scene, 0 to 1."""
    points: NDArray
    """(8, 3) contact points of the performer, metres."""
    nearest: NDArray
    """(8,) metres from each contact point to the nearest thing."""
    body: NDArray
    """(8, S) importance of each palm, ball, elbow and knee to each segment of the body, 0 to 1."""
    seen: NDArray
    """(8, S, 5) where each is, seen from each segment: t, cosine, sine, gap, beyond of `surface.measure`."""
    hands: NDArray
    """(4,) importance of the palms to one another, and from the right palm to the left (3), metres."""
    between: NDArray
    """(S, 6) the middle of the palms, seen from each segment as in `seen`, and its distance from it, metres."""


@uncounted_jit
def share(distance):
    """1 at a touch, 0 where a thing begins to count (distance 1), smooth between (equation 4.4)."""
    if distance <= 0.0:
        return 1.0
    if distance >= 1.0:
        return 0.0
    return distance * distance * (2.0 * distance - 3.0) + 1.0


@uncounted_jit
def spring(value, speed, goal, half_life, dt):
    """A critically damped follower: (value, speed) after dt seconds; half of the way in about a half-life."""
    y = 2.0 * 0.6931471805599453 / half_life
    away = value - goal
    push = speed + away * y
    decay = math.exp(-y * dt)
    return decay * (away + push * dt) + goal, decay * (speed - push * y * dt)


@uncounted_jit
def follow(row, first, goal, rise, fall, dt):
    """An importance that rises quickly and fades slowly, without a jerk.

    What fades is held by a slow spring; two quick ones, one after the other, follow that whatever it does, so that
    nothing coasts on when the goal turns back. row[first …]: the value, its rate, those of the quick spring before it,
    and those of what is held.
    """
    if goal >= row[first + 4]:
        row[first + 4], row[first + 5] = goal, 0.0
    else:
        row[first + 4], row[first + 5] = spring(row[first + 4], row[first + 5], goal, fall, dt)
    half_life = 0.6 * rise
    row[first + 2], row[first + 3] = spring(row[first + 2], row[first + 3], row[first + 4], half_life, dt)
    row[first], row[first + 1] = spring(row[first], row[first + 1], row[first + 2], half_life, dt)
    return rounded(row[first])


@uncounted_jit
def rounded(value):
    """0 or 1 where a follower all but is, without a corner at 1: springs take long over the last of their way."""
    value = max(value - NOTHING, 0.0) / (ALL - CORNER)
    short = 1.0 - value
    if short >= CORNER:
        return value
    if short <= -CORNER:
        return 1.0
    return 1.0 - (short + CORNER) ** 2 / (4.0 * CORNER)


@uncounted_jit
def begin(row, first, goal):
    """An importance before the first frame: it is what it is."""
    for n in range(first, first + 6, 2):
        row[n], row[n + 1] = goal, 0.0
    return rounded(goal)


@uncounted_jit
def ahead(distance, rate, seconds, farthest):
    """The distance some seconds ahead (equation 4.2); an approach counts for no more than so many metres.

    A hand that swings quickly through the air towards the floor does not mean it.
    """
    return distance + max(seconds * rate, -farthest)


@uncounted_jit
def rate_of(distance, before, rate, rules, dt):
    """The rate of a distance, filtered."""
    return rate + (1.0 - math.exp(-0.6931471805599453 * dt / rules.rate)) * ((distance - before) / dt - rate)


@uncounted_jit
def contact_place(figure, n, positions, rotations):
    """The world place of contact point n, which some joint carries."""
    j = figure.carriers[n]
    x, y, z = rotate(
        rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3],
        figure.offsets[n, 0], figure.offsets[n, 1], figure.offsets[n, 2],
    )  # fmt: skip
    return positions[j, 0] + x, positions[j, 1] + y, positions[j, 2] + z


@uncounted_jit
def contact_points(figure, positions, rotations, points):
    """World places of the contact points (8, 3)."""
    for n in range(POINTS):
        if figure.carriers[n] >= 0:
            points[n, 0], points[n, 1], points[n, 2] = contact_place(figure, n, positions, rotations)


@uncounted_jit
def of_scene(figure, things, poses, rules, dt, memory, out):
    """Importance of hands and feet in the scene (section 4.1)."""
    started = memory.started[0] > 0.0
    for limb in range(LIMBS):
        first, last = (limb, limb + 1) if limb < 2 else (3 * limb - 4, 3 * limb - 1)
        most, fastest = 0.0, 0.0
        for n in range(first, last):
            out.nearest[n] = 1e3
            if figure.carriers[n] < 0:
                continue
            for o in range(things.kinds.shape[0]):
                d, _, _, _ = thing_distance(things, o, poses[o], out.points[n, 0], out.points[n, 1], out.points[n, 2])
                rate = 0.0
                if started:
                    rate = rate_of(d, memory.scene[n, o, 0], memory.scene[n, o, 1], rules, dt)
                memory.scene[n, o, 0], memory.scene[n, o, 1] = d, rate
                out.nearest[n] = min(out.nearest[n], d)
                # a foot that comes down fast means to land
                reach, seconds, farthest = things.reaches[o], rules.lookahead, things.reaches[o]
                if limb >= 2:
                    seconds, farthest = rules.step_lookahead, 2.0 * reach
                    if d < reach:
                        fastest = max(fastest, -rate)
                most = max(most, share(ahead(d, rate, seconds, farthest) / reach))
        row, rise, fall = memory.limbs[limb], rules.rise / (1.0 + HURRY * max(fastest - UNHURRIED, 0.0)), rules.fall
        if limb < 2:
            # hands reach out in their own time; a foot may land at any moment
            rise, fall = rules.touch_rise, rules.touch_fall
        out.scene[limb] = follow(row, 0, most, rise, fall, dt) if started else begin(row, 0, most)


@uncounted_jit
def of_body(figure, tubes, near, rules, dt, positions, rotations, memory, out):
    """Importance of palms, feet, elbows and knees to the body itself (section 4.2); near (8, S): what may touch."""
    started = memory.started[0] > 0.0
    blend = 1.0 - math.exp(-0.6931471805599453 * dt / rules.rate)
    for n in range(GENERAL):
        j = figure.general[n]
        for k in range(tubes.joints.shape[0]):
            out.body[n, k] = 0.0
            if j < 0 or not near[n, k]:
                continue
            if n < 2:
                x, y, z = out.points[n, 0], out.points[n, 1], out.points[n, 2]
            else:
                x, y, z = positions[j, 0], positions[j, 1], positions[j, 2]
            u, v, a = own_place(tubes, k, positions, rotations, x, y, z)
            d, _, _, _, t, c, s, gap, beyond = measure(tubes.rings[k], tubes.lengths[k], u, v, a)
            last = memory.body[n, k]
            rate, slip = 0.0, 0.0
            if started:
                rate = rate_of(d, last[0], last[1], rules, dt)
                moved = ((u - last[2]) ** 2 + (v - last[3]) ** 2 + (a - last[4]) ** 2) / (dt * dt)
                slip = last[5] + blend * (math.sqrt(max(moved - ((d - last[0]) / dt) ** 2, 0.0)) - last[5])
            now = share(ahead(d, rate, rules.touch_lookahead, rules.body) / rules.body) * share(slip / rules.passing)
            # arms that hang beside the body are near it all the time and mean nothing by it
            now = share(1.0 - (now - UNMEANT) / (1.0 - UNMEANT))
            rise, fall = rules.touch_rise, rules.touch_fall
            value = follow(last, 6, now, rise, fall, dt) if started else begin(last, 6, now)
            # what has gone away has nothing to do with the body any more
            out.body[n, k] = value * share((d / rules.body - 1.0) / 3.0)
            last[0], last[1], last[2], last[3], last[4], last[5] = d, rate, u, v, a, slip
            seen = out.seen[n, k]
            seen[0], seen[1], seen[2], seen[3], seen[4] = t, c, s, gap, beyond


@uncounted_jit
def of_hands(figure, tubes, rules, dt, positions, rotations, memory, out):
    """Importance of the palms to one another, and where their middle is on the body."""
    out.hands[0] = 0.0
    if figure.carriers[0] < 0 or figure.carriers[1] < 0:
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
        now = share(ahead(d, rate, rules.hands_lookahead, FARTHEST * rules.hands) / rules.hands)
        # hands that swing past each other do not mean to meet
        now *= share(0.5 * last[11] / rules.passing)
        value = follow(last, 2, now, rules.touch_rise, rules.touch_fall, dt)
        last[0], last[1] = d, rate
    else:
        value = begin(last, 2, share(d / rules.hands))
        last[0], last[1] = d, 0.0
    for k in range(3):
        last[8 + k] = out.hands[1 + k]
    # hands that were together a moment ago and are far apart now have nothing to do with one another any more
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
def analyse(figure, tubes, near, things, poses, rules, dt, positions, rotations, memory, out):
    """All of it for one frame of the performer: joints' world positions (J, 3) and rotations (J, 4)."""
    dt = max(dt, 1e-6)
    contact_points(figure, positions, rotations, out.points)
    of_scene(figure, things, poses, rules, dt, memory, out)
    of_body(figure, tubes, near, rules, dt, positions, rotations, memory, out)
    of_hands(figure, tubes, rules, dt, positions, rotations, memory, out)
    memory.started[0] = 1.0


def new_memory(things: int, segments: int) -> Memory:
    """The memory before the first frame."""
    return Memory(
        np.zeros(1),
        np.zeros((POINTS, things, 2)),
        np.zeros((LIMBS, 6)),
        np.zeros((GENERAL, segments, 12)),
        np.zeros(12),
        np.zeros(2),
    )


def new_importance(segments: int) -> Importance:
    """Room for an answer."""
    return Importance(
        np.zeros(LIMBS), np.zeros((POINTS, 3)), np.zeros(POINTS), np.zeros((GENERAL, segments)),
        np.zeros((GENERAL, segments, 5)), np.zeros(4), np.zeros((segments, 6)),
    )  # fmt: skip


def smallest_figure() -> Figure:
    """A figure of one joint, as tables, to compile with."""
    return Figure(
        np.zeros((LIMBS, 3), np.int64), np.zeros(POINTS, np.int64), np.zeros((POINTS, 3)), np.zeros(GENERAL, np.int64)
    )


def _smallest_call():
    poses = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    return (
        smallest_figure(), smallest_tubes(), np.ones((GENERAL, 1), bool), smallest_things(), poses,
        Rules(0.15, 0.15, 0.1, 0.1, 1.0, 1.0, 1.0, 0.02, 0.02, 0.1, 0.05, 0.2), 0.01, np.zeros((1, 3)),
        np.array([[1.0, 0.0, 0.0, 0.0]]), new_memory(1, 1), new_importance(1),
    )  # fmt: skip


WARMUP = {"analyse": _smallest_call}
