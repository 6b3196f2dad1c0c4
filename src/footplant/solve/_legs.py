"""Kernels of `legs`: one Gauss–Newton step of hips, ankles and knees, and legs posed in closed form."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.banded import (
    Band,
    add_acceleration_row,
    band_room,
    factor_columns,
    fill_frame,
    following,
    substitute_back,
    write_solution,
)
from footplant.kernels.quaternion import between, direction, exp, multiply, rotate

UNKNOWNS = 16
"""Displacements of the hips (3), the left and right ankle (3 each), how far the pelvis' turn raises and advances the
left hip joint (2), the slack of the left and right knee, how far pelvis and trunk pitch about the hip joints, and how
far the left and right leg swivel about the line from ankle to hip joint."""
TURN, SLACK, PITCH, SWIVEL = 9, 11, 13, 14
"""Where the pelvis' turn, the slacks, the pitch and the swivels stand among them."""


LEANS, THIGH = 3, 1
"""Rows of a leg: its shank leans, its thigh does, and its knee is above the ground; and which of them is the
thigh's."""


class Reference(NamedTuple):
    """The motion to stay close to: legs on the first axis (left, right), frames on the second."""

    upward: NDArray
    """(2, F, 3) metres; from the ankle to the hip joint."""
    flexed: NDArray
    """(2, F) metres; distance from hip joint to ankle at the reference's own knee angle."""
    shortest: NDArray
    """(2, F) metres; least distance: the knee flexed as far as it goes."""
    longest: NDArray
    """(2, F) metres; largest distance."""
    knee: NDArray
    """(2, F) radians; the reference's own flexion, 0 straight, never negative."""
    bones: NDArray
    """(2, F, 2) metres; thigh and shank."""
    across: NDArray
    """(F, 3) metres; from the middle of the hip joints to the left one."""
    turning: NDArray
    """(F, 2, 3) unit directions, up and forward, in which the pelvis' turn moves the left hip joint."""
    planes: NDArray
    """(2, F, 2, 3) unit direction of the thigh, and the knee's axis across the plane in which the leg bends."""
    calm: NDArray
    """(F,) further weight of second differences of the hips and of the pelvis' turn, relative to that of `Weights`."""


class Asked(NamedTuple):
    """What must hold."""

    planted: NDArray
    """(2, F) bool; whether the ankle's place is given by footplants."""
    places: NDArray
    """(2, F, 3) metres; displacement of the ankle there."""
    lowest: NDArray
    """(2, F) metres; least vertical displacement of an ankle in swing: its sole is above the ground."""
    away: NDArray
    """(2, F, 3) unit directions, level, away from what an ankle in swing is beside: a riser."""
    beside: NDArray
    """(2, F) metres; least displacement of the ankle that way."""
    held: NDArray
    """(2, F) bool; whether a hand is planted."""
    arms: NDArray
    """(2, F, 3) metres; from the planted wrist to the middle of the hip joints."""
    shoulders: NDArray
    """(2, F, 3) metres; from there to the shoulder."""
    reach: NDArray
    """(2,) metres; largest length of the arms."""
    aside: NDArray
    """(F, 3) unit directions in which the left ankle is kept away from the right one."""
    apart: NDArray
    """(F,) metres; least displacement of the left ankle that way, relative to the right one."""
    towards: NDArray
    """(3, 2, F, 3) unit directions towards which shank, thigh and shank must lean: see `LEANS`."""
    least: NDArray
    """(3, 2, F) least cosine between the bone, from ankle or hip joint to knee, and that direction."""
    high: NDArray
    """(n, F) metres; least vertical displacement of the hips without a pitch: trunk and head are above the ground."""
    levers: NDArray
    """(n, F) metres per radian of the pitch, by which it raises what is lowest of them."""
    moves: NDArray
    """(F, 3, 4) weight, still, lever and wanted of `banded.add_acceleration_row` for the displacement of the hips."""


class Weights(NamedTuple):
    """Weights of the objective of `legs`, see there."""

    direction: float
    """Per square metre of a leg of full length."""
    folded: float
    """Least square of the distance from hip joint to ankle that counts, relative to a leg of full length."""
    hips: float
    turn: float
    """Per square radian of the pelvis' turn."""
    pitch: float
    """Per square radian of the trunk's pitch."""
    swivel: float
    """Per square radian of a leg's swivel."""
    knee: float
    pull: float
    """Force of a planted hand that is out of reach."""
    part: float
    """Force of legs that are inside each other."""
    bound: float
    """Force of ankles and hip joints beyond their limits, and of a trunk in the ground."""
    bend: NDArray
    """(16,) of second differences."""
    speed: NDArray
    """(16,) of first differences."""


class Room(NamedTuple):
    """Workspace."""

    square: NDArray
    """(16, 16) equations of a frame; the lower triangle."""
    right: NDArray
    """(16,) their right-hand side."""
    band: Band
    """Ankles are given where they are planted, and the trunk's pitch and the legs' swivels where nothing asks for
    them."""
    index: NDArray
    """(9,) int64; unknowns of a row."""
    row: NDArray
    """(9,) its derivatives by them."""
    turns: NDArray
    """(2, 3) how the pelvis' turn moves a hip joint."""
    stiff: NDArray
    """(3, 3)."""
    vector: NDArray
    """(6, 3) vectors of a frame."""
    rows: NDArray
    """(3, 2, F, 8) rows of leaning bones in the last step: direction, least extent of the leg's vector that way,
    metres, weight, 0 where there was none, how stiffly the leg was held, radians of the lean per metre, and metres
    per radian of the leg's swivel."""


def new_room(planted: NDArray, may_pitch: bool, may_swivel: bool) -> Room:
    """Return workspace for frames in which ankles are planted (2, F) or not.

    may_pitch: whether the trunk may. may_swivel: whether legs may.
    """
    frames = planted.shape[1]
    given = np.zeros((frames, UNKNOWNS), bool)
    given[:, 3:9] = np.repeat(planted.T, 3, axis=1)
    given[:, PITCH] = not may_pitch
    given[:, SWIVEL:] = not may_swivel
    return Room(
        np.empty((UNKNOWNS, UNKNOWNS)), np.empty(UNKNOWNS), band_room(frames, UNKNOWNS, given), np.empty(9, np.int64),
        np.empty(9), np.empty((2, 3)), np.empty((3, 3)), np.empty((6, 3)), np.zeros((LEANS, 2, frames, 8)),
    )  # fmt: skip


HARD = 1e8
"""Weight of what must hold, relative to 1 for a leg that is its own length off."""
BOUND = 1e6
"""Weight of bounds that are active."""
YIELDS = 0.25 * math.pi / 180.0
"""Radians that a bone may lack of its lean at full force. With 0.25°, 0.5° and 1°, 16 searches for the footsteps that
Blubby's legs just reach take 1374, 1312 and 1271 steps, but an ankle (86_01 on Sally) ends 0.6°, 1.4° and 1.3° beyond
its limit."""
STIFFER, SOFTER = 2.0, 0.7
"""Factors of how stiffly a leg is held in a step of the search, when its row comes or goes and when it stays. Held by
the row's force alone, a leg folded by 155° goes to and fro: its ankle ends 9.9° beyond its limit, with these 0.5°."""
LEAST_SLOPE = 0.2
"""Metres that a knee moves for each that its leg's vector does, at least: where it hardly does, it is not asked for
more."""


@uncounted_jit
def _turned_hip(reference, x, f, out):
    """Write the displacement (3,) of the left hip joint by the pelvis' turn at a frame; the right one's is opposite."""
    length = square = 0.0
    for i in range(3):
        half = reference.across[f, i]
        out[i] = half + x[f, TURN] * reference.turning[f, 0, i] + x[f, TURN + 1] * reference.turning[f, 1, i]
        length += half * half
        square += out[i] * out[i]
    scale = math.sqrt(length / max(square, 1e-18))
    for i in range(3):
        out[i] = scale * out[i] - reference.across[f, i]


@uncounted_jit
def turned_hips(reference, x, out):
    """Write `_turned_hip` of all frames (F, 3)."""
    for f in range(x.shape[0]):
        _turned_hip(reference, x, f, out[f])


@uncounted_jit
def _leg_vector(reference, x, f, s, moved, out):
    """Write the vector (3,) from a leg's ankle to its hip joint; moved (3,): `_turned_hip`; return its length."""
    square, sign = 0.0, 1.0 - 2.0 * s
    for i in range(3):
        out[i] = reference.upward[s, f, i] + x[f, i] + sign * moved[i] - x[f, 3 + 3 * s + i]
        square += out[i] * out[i]
    return math.sqrt(square)


@uncounted_jit
def _bent(thigh, axis, a, b, vx, vy, vz):
    """Return how far a leg misses a vector from hip joint to ankle, its flexion, and the least turn onto the vector.

    thigh, axis (3,): the plane in which it bends; a, b: lengths of thigh and shank. The turn is that of the leg flexed
    in this plane.
    """
    d = math.sqrt(vx * vx + vy * vy + vz * vz)
    reached = min(max(d, abs(a - b) * 1.001 + 1e-6), (a + b) * 0.999999)
    flexion = math.acos(min(max((reached * reached - a * a - b * b) / (2.0 * a * b), -1.0), 1.0))
    tx, ty, tz = _flexed(thigh, axis, flexion)
    turn = between(a * thigh[0] + b * tx, a * thigh[1] + b * ty, a * thigh[2] + b * tz, vx, vy, vz)
    return abs(d - reached), flexion, turn


@uncounted_jit
def _flexed(thigh, axis, flexion):
    """Return the direction of a shank, from knee to ankle, that is flexed from its thigh's direction."""
    c, s = math.cos(flexion), math.sin(flexion)
    return (
        c * thigh[0] + s * (axis[1] * thigh[2] - axis[2] * thigh[1]),
        c * thigh[1] + s * (axis[2] * thigh[0] - axis[0] * thigh[2]),
        c * thigh[2] + s * (axis[0] * thigh[1] - axis[1] * thigh[0]),
    )


@uncounted_jit
def _swivelled(leg, swivel, x, y, z):
    """Return a vector turned by an angle about a leg's vector (3,), from ankle to hip joint."""
    n = math.sqrt(leg[0] * leg[0] + leg[1] * leg[1] + leg[2] * leg[2])
    half = 0.5 * swivel
    share = math.sin(half) / max(n, 1e-9)
    return rotate(math.cos(half), share * leg[0], share * leg[1], share * leg[2], x, y, z)


@uncounted_jit
def _bone(plane, bones, leg, of_thigh, swivel):
    """Return the unit direction of thigh or shank, to the knee, for a leg's vector (3,) and its swivel."""
    _, flexion, turn = _bent(plane[0], plane[1], bones[0], bones[1], -leg[0], -leg[1], -leg[2])
    x, y, z = plane[0, 0], plane[0, 1], plane[0, 2]
    if not of_thigh:
        x, y, z = _flexed(plane[0], plane[1], flexion)
        x, y, z = -x, -y, -z
    x, y, z = rotate(turn[0], turn[1], turn[2], turn[3], x, y, z)
    return _swivelled(leg, swivel, x, y, z)


@uncounted_jit
def _lean(plane, bones, leg, of_thigh, swivel, towards):
    """Return the cosine between thigh or shank, to the knee, and a direction (3,)."""
    x, y, z = _bone(plane, bones, leg, of_thigh, swivel)
    return x * towards[0] + y * towards[1] + z * towards[2]


@uncounted_jit
def lean_and_slope(plane, bones, leg, of_thigh, swivel, towards, moved, slope):
    """Return `_lean` and its derivative by the leg's swivel, and write those (3,) by its vector, per metre.

    moved (3,): workspace.
    """
    step = 1e-5 * (bones[0] + bones[1])
    for i in range(3):
        moved[i] = leg[i]
    for i in range(3):
        moved[i] = leg[i] + step
        more = _lean(plane, bones, moved, of_thigh, swivel, towards)
        moved[i] = leg[i] - step
        slope[i] = (more - _lean(plane, bones, moved, of_thigh, swivel, towards)) / (2.0 * step)
        moved[i] = leg[i]
    x, y, z = _bone(plane, bones, leg, of_thigh, swivel)
    n = 1.0 / math.sqrt(leg[0] * leg[0] + leg[1] * leg[1] + leg[2] * leg[2])
    turned = towards[0] * (leg[1] * z - leg[2] * y) + towards[1] * (leg[2] * x - leg[0] * z)
    turned += towards[2] * (leg[0] * y - leg[1] * x)
    return x * towards[0] + y * towards[1] + z * towards[2], n * turned


@uncounted_jit
def _residual(last, leg, swivel):
    """Return by how much a leg's vector (3,) and its swivel miss a leaning bone's row (8,), metres."""
    return last[3] - leg[0] * last[0] - leg[1] * last[1] - leg[2] * last[2] - swivel * last[7]


@uncounted_jit
def _lean_row(reference, asked, f, s, k, leg, length, swivel, push, relinearise, moved, slope, last):
    """Write a leaning bone's row into `last` (8,), linearised here or where it was last, and the leg's stiffness.

    last[4], its weight, is 0 where nothing is asked: the force is bounded, and less only where little is missing. A row
    is linear, what it stands for is not: a leg that it pushes is held where it is linearised, the stiffer the more
    often it goes to and fro. relinearise: whether it is linearised here.
    """
    if asked.least[k, s, f] == -math.inf:
        return
    residual, was = _residual(last, leg, swivel), last[4] > 0.0
    force = max(last[4] * residual, 0.0)
    if relinearise:
        _linearise_lean(reference, asked, f, s, k, leg, length, swivel, moved, slope, last)
        residual = _residual(last, leg, swivel)
    last[5] = max((SOFTER if was == (residual > 0.0) else STIFFER) * last[5], force / length)
    last[4] = push * last[6] / max(residual * last[6], YIELDS) if residual > 0.0 else 0.0


@uncounted_jit
def _linearise_lean(reference, asked, f, s, k, leg, length, swivel, moved, slope, last):
    """Write a leaning bone's direction, least extent and slopes, linearised here, into `last` (8,)."""
    bones, of_thigh = reference.bones[s, f], k == THIGH
    lean, turned = lean_and_slope(
        reference.planes[s, f], bones, leg, of_thigh, swivel, asked.towards[k, s, f], moved, slope
    )
    short = asked.least[k, s, f] - lean
    # a leg can extend or fold no farther than it goes: the rest, its direction has to give
    along = (slope[0] * leg[0] + slope[1] * leg[1] + slope[2] * leg[2]) / length
    left = reference.longest[s, f] - length if along > 0.0 else length - reference.shortest[s, f]
    gives = abs(along) * max(left, 0.0)
    if gives < short:
        for i in range(3):
            slope[i] -= (1.0 - gives / short) * along * leg[i] / length
    # legs swivel for hip joints alone
    turned = turned if of_thigh else 0.0
    steep = math.sqrt(slope[0] ** 2 + slope[1] ** 2 + slope[2] ** 2 + (turned / length) ** 2)
    steep = max(steep, LEAST_SLOPE / bones[0 if of_thigh else 1])
    last[3], last[6], last[7] = short / steep, steep, turned / steep
    last[3] += last[7] * swivel
    for i in range(3):
        last[i] = slope[i] / steep
        last[3] += last[i] * leg[i]


@uncounted_jit
def update_slopes(reference, x, least_flexion, far, room, slopes):
    """Update the slopes (2, F) by which a slack shortens a leg: −dD/dk, or a secant where the knee is `far` off.

    D(k) is the distance from hip joint to ankle; the slope at a knee straighter than `least_flexion` is taken there,
    so that it never vanishes. room (2 or more, 3): workspace.
    """
    moved, leg = room[0], room[1]
    for f in range(x.shape[0]):
        _turned_hip(reference, x, f, moved)
        for s in range(2):
            a, b = reference.bones[s, f, 0], reference.bones[s, f, 1]
            knee = min(max(reference.knee[s, f], least_flexion), 0.5 * math.pi)
            flexed = reference.flexed[s, f]
            slope = a * b * math.sin(knee) / max(flexed, 1e-9)
            length = _leg_vector(reference, x, f, s, moved, leg)
            now = math.acos(min(max((length * length - a * a - b * b) / (2.0 * a * b), -1.0), 1.0))
            if now - reference.knee[s, f] > far:
                slope = max(slope, (flexed - length) / (now - reference.knee[s, f]))
            slopes[s, f] = math.sqrt(slope * slopes[s, f]) if slopes[s, f] > 0.0 else slope


@uncounted_jit
def longest_legs(reference, x, room, out):
    """Write the lengths (2, F) of legs as straight as the reference's, or as those of x where these are straighter.

    room (2 or more, 3): workspace.
    """
    moved, leg = room[0], room[1]
    for f in range(x.shape[0]):
        _turned_hip(reference, x, f, moved)
        for s in range(2):
            length = max(_leg_vector(reference, x, f, s, moved, leg), reference.flexed[s, f])
            out[s, f] = min(length, reference.longest[s, f])


@uncounted_jit
def _add(square, right, index, values, count, weight, residual):
    """Add weight·(Σ values·x[index] − residual)² to the equations of one frame; index: ascending."""
    for i in range(count):
        at, scaled = index[i], weight * values[i]
        right[at] += scaled * residual
        for j in range(i + 1):
            square[at, index[j]] += scaled * values[j]


@uncounted_jit
def _leg_row(turns, along, row):
    """Write the derivatives (8,) of a leg's vector along a direction (3,): by the hips, the ankle, the pelvis' turn."""
    for i in range(3):
        row[i], row[3 + i] = along[i], -along[i]
    for n in range(2):
        row[6 + n] = turns[n, 0] * along[0] + turns[n, 1] * along[1] + turns[n, 2] * along[2]


@uncounted_jit
def _add_stiffness(square, right, first, turns, stiff, pulled):
    """Add vᵀ stiff v − 2 pulledᵀ v to the equations of one frame; v: the displacement of a leg's vector.

    v is that of the hips, and of the hip joint by the pelvis' turn (`turns`), less that of the ankle, whose unknowns
    begin with `first`.
    """
    for i in range(3):
        right[i] += pulled[i]
        right[first + i] -= pulled[i]
        for j in range(3):
            square[first + i, j] -= stiff[j, i]
            if j <= i:
                square[i, j] += stiff[j, i]
                square[first + i, first + j] += stiff[j, i]
    for n in range(2):
        ux, uy, uz = turns[n, 0], turns[n, 1], turns[n, 2]
        right[TURN + n] += ux * pulled[0] + uy * pulled[1] + uz * pulled[2]
        kx = stiff[0, 0] * ux + stiff[0, 1] * uy + stiff[0, 2] * uz
        ky = stiff[1, 0] * ux + stiff[1, 1] * uy + stiff[1, 2] * uz
        kz = stiff[2, 0] * ux + stiff[2, 1] * uy + stiff[2, 2] * uz
        square[TURN + n, 0] += kx
        square[TURN + n, 1] += ky
        square[TURN + n, 2] += kz
        square[TURN + n, first] -= kx
        square[TURN + n, first + 1] -= ky
        square[TURN + n, first + 2] -= kz
        for m in range(n + 1):
            square[TURN + n, TURN + m] += kx * turns[m, 0] + ky * turns[m, 1] + kz * turns[m, 2]


@uncounted_jit
def _pitched(across, angle, vector, out, slope):
    """Write a vector (3,) turned by an angle about the line of the hip joints, (3,), and its derivative (3,) by it."""
    ax, ay, az = across[0], across[1], across[2]
    scale = 1.0 / max(math.sqrt(ax * ax + ay * ay + az * az), 1e-12)
    ax, ay, az = ax * scale, ay * scale, az * scale
    c, s = math.cos(angle), math.sin(angle)
    x, y, z = vector[0], vector[1], vector[2]
    along = ax * x + ay * y + az * z
    px, py, pz = x - along * ax, y - along * ay, z - along * az
    qx, qy, qz = ay * z - az * y, az * x - ax * z, ax * y - ay * x
    out[0], out[1], out[2] = along * ax + c * px + s * qx, along * ay + c * py + s * qy, along * az + c * pz + s * qz
    slope[0], slope[1], slope[2] = c * qx - s * px, c * qy - s * py, c * qz - s * pz


@uncounted_jit
def _equations(reference, asked, weights, slopes, closed, relinearise, x, f, room):
    """Write the equations of one frame but for differences between frames; arguments: see `step`."""
    square, right, index, row, turns, stiff = room.square, room.right, room.index, room.row, room.turns, room.stiff
    moved, leg, apart, pulled = room.vector[0], room.vector[1], room.vector[2], room.vector[3]
    square[:, :] = 0.0
    right[:] = 0.0
    _turned_hip(reference, x, f, moved)
    half = 0.0
    for i in range(3):
        square[i, i] += weights.hips
        half += reference.across[f, i] * reference.across[f, i]
    for i in range(2):
        square[TURN + i, TURN + i] += weights.turn / max(half, 1e-9)
    square[PITCH, PITCH] += weights.pitch
    for i in range(2):
        square[SWIVEL + i, SWIVEL + i] += weights.swivel
    index[0], index[1], row[0] = 1, PITCH, 1.0
    for n in range(asked.high.shape[0]):
        row[1] = asked.levers[n, f]
        low = asked.high[n, f] - x[f, 1] - row[1] * x[f, PITCH]
        if closed and low > 0.0:
            _add(square, right, index, row, 2, min(BOUND, weights.bound / low), asked.high[n, f])
    # legs beside each other; where both feet are planted, nothing can move them
    if not (asked.planted[0, f] and asked.planted[1, f]):
        between = 0.0
        for i in range(3):
            row[i], row[3 + i] = asked.aside[f, i], -asked.aside[f, i]
            index[i], index[3 + i] = 3 + i, 6 + i
            between += asked.aside[f, i] * (x[f, 3 + i] - x[f, 6 + i])
        if between < asked.apart[f]:
            # with a bounded force: where a plant leaves legs inside each other, they part without haste
            weight = min(BOUND, weights.part / (asked.apart[f] - between))
            _add(square, right, index, row, 6, weight, asked.apart[f])
    # a leg's vector depends on eight unknowns: hips, the ankle, the pelvis' turn
    index[0], index[1], index[2], index[6], index[7] = 0, 1, 2, TURN, TURN + 1
    for s in range(2):
        first, slack, swivel = 3 + 3 * s, SLACK + s, SWIVEL + s
        sign = 1.0 - 2.0 * s
        planted = asked.planted[s, f]
        line = 0.0
        for i in range(3):
            line += reference.upward[s, f, i] ** 2
        # a displacement turns the line of a folded leg farther than that of a straight one
        turning = weights.direction / min(max(weights.direction * line, weights.folded), 1.0)
        for i in range(3):
            index[3 + i] = first + i
            turns[0, i] = sign * reference.turning[f, 0, i]
            turns[1, i] = sign * reference.turning[f, 1, i]
            for j in range(3):
                # the leg keeps its direction: hip joint and ankle move alike
                stiff[i, j] = turning if i == j else 0.0
            pulled[i] = 0.0
        if not planted and x[f, first + 1] < asked.lowest[s, f]:
            square[first + 1, first + 1] += BOUND
            right[first + 1] += BOUND * asked.lowest[s, f]
        gone = 0.0
        for i in range(3):
            row[i] = asked.away[s, f, i]
            gone += row[i] * x[f, first + i]
        if not planted and gone < asked.beside[s, f]:
            _add(square, right, index[3:], row, 3, BOUND, asked.beside[s, f])
        # the knee: as flexed as the reference's but for a slack, within its range
        square[slack, slack] += weights.knee
        if closed:
            slope, flexed = slopes[s, f], reference.flexed[s, f]
            straight = (flexed - reference.longest[s, f]) / slope
            folded = (flexed - reference.shortest[s, f]) / slope
            if x[f, slack] < straight:
                square[slack, slack] += BOUND
                right[slack] += BOUND * straight
            elif x[f, slack] > folded:
                square[slack, slack] += BOUND
                right[slack] += BOUND * folded
            # the leg closes: |hip joint − ankle| = flexed − slope·slack
            length = max(_leg_vector(reference, x, f, s, moved, leg), 1e-9)
            _leg_row(turns, leg, row)
            index[8], row[8] = slack, slope
            at = slope * x[f, slack]
            for n in range(8):
                row[n] /= length
                at += row[n] * x[f, index[n]]
            _add(square, right, index, row, 9, HARD, at - (length - flexed + slope * x[f, slack]))
            # shank and thigh lean as limits ask, with a bounded force
            held = 0.0
            for k in range(LEANS):
                lean = room.rows[k, s, f]
                near, lean_slope = room.vector[4], room.vector[5]
                _lean_row(
                    reference, asked, f, s, k, leg, length, x[f, swivel], weights.bound, relinearise, near, lean_slope,
                    lean,
                )  # fmt: skip
                if lean[4] > 0.0:
                    _leg_row(turns, lean, row)
                    index[8], row[8], at = swivel, lean[7], _residual(lean, leg, x[f, swivel])
                    for n in range(9):
                        at += row[n] * x[f, index[n]]
                    _add(square, right, index, row, 9, lean[4], at)
                held += lean[5]
            square[swivel, swivel] += held * length * length
            right[swivel] += held * length * length * x[f, swivel]
            # a stretched leg pulls: its force times the curvature of its length keeps hips from swinging sideways
            force = -weights.knee * x[f, slack]
            if x[f, slack] < straight:
                force -= BOUND * (x[f, slack] - straight)
            pull, along = max(force / slope, 0.0) / length, 0.0
            for i in range(3):
                apart[i] = x[f, i] + turns[0, i] * x[f, TURN] + turns[1, i] * x[f, TURN + 1] - x[f, first + i]
                along += apart[i] * leg[i] / length
            for i in range(3):
                pulled[i] = pull * (apart[i] - along * leg[i] / length) + held * apart[i]
                stiff[i, i] += pull + held
                for j in range(3):
                    stiff[i, j] -= pull * leg[i] * leg[j] / (length * length)
        _add_stiffness(square, right, first, turns, stiff, pulled)
        # a planted hand must stay within reach of its shoulder
        if closed and asked.held[s, f]:
            _pitched(reference.across[f], x[f, PITCH], asked.shoulders[s, f], apart, pulled)
            length = 0.0
            for i in range(3):
                leg[i] = asked.arms[s, f, i] + x[f, i] + apart[i]
                length += leg[i] * leg[i]
            length = max(math.sqrt(length), 1e-9)
            if length > asked.reach[s]:
                index[3], row[3], at = PITCH, 0.0, 0.0
                for i in range(3):
                    row[i] = leg[i] / length
                    row[3] += row[i] * pulled[i]
                    at += row[i] * x[f, i]
                at += row[3] * x[f, PITCH]
                # with a bounded force: a hand that no leg can bring near drags no body along
                weight = min(BOUND, weights.pull / (length - asked.reach[s]))
                _add(square, right, index, row, 4, weight, at - (length - asked.reach[s]))


@uncounted_jit
def step(reference, asked, weights, slopes, closed, relinearise, x, room, out):
    """Write the unknowns (F, 16) after one Gauss–Newton step from x (F, 16); return False if the system is singular.

    closed: whether legs must close; without that, hips and ankles of a first guess follow from the plants alone.
    relinearise: whether rows of leaning bones are linearised at x; otherwise they stay as they were.
    """
    frames, band = x.shape[0], room.band
    for f in range(frames):
        for s in range(2):
            for i in range(3):
                out[f, 3 + 3 * s + i] = asked.places[s, f, i]
        out[f, PITCH] = 0.0
        out[f, SWIVEL] = out[f, SWIVEL + 1] = 0.0
    start = 0
    band.values[:] = 0.0
    for f in range(frames):
        _equations(reference, asked, weights, slopes, closed, relinearise, x, f, room)
        fill_frame(room.square, room.right, f, weights.bend, weights.speed, out, band)
        if f >= 2 and reference.calm[f - 1] > 0.0:
            for i in (0, 1, 2, TURN, TURN + 1):
                add_acceleration_row(band, f - 1, i, reference.calm[f - 1] * weights.bend[i], 0.0, 1.0, 0.0)
        if closed and f >= 2:
            for i in range(3):
                weight, still = asked.moves[f - 1, i, 0], asked.moves[f - 1, i, 1]
                lever, wanted = asked.moves[f - 1, i, 2], asked.moves[f - 1, i, 3]
                if weight > 0.0:
                    add_acceleration_row(band, f - 1, i, weight, still, lever, wanted)
        # columns of a frame are complete once those of the next two are written, and still in the cache then
        complete = band.count if f == frames - 1 else following(band, max(f - 1, 0), 0)
        start = factor_columns(band, start, complete)
        if start < 0:
            return False
    substitute_back(band)
    write_solution(band, out)
    return True


class Leg(NamedTuple):
    """One leg, posed by `pose`."""

    upper: int
    lower: int
    foot: int
    between: NDArray
    """(J,) int64; joints between hip joint and knee, then −1, then joints between knee and ankle, then −1."""
    bones: NDArray
    """(F, 2) metres; thigh and shank."""
    hinge: NDArray
    """(3,) unit knee axis in the thigh's frame."""
    blend: NDArray
    """(2,) radians; below the first flexion the leg bends about the hinge, above the second in its own plane."""


@uncounted_jit
def bending_planes(leg, positions, world, flexions, out):
    """Write the planes (F, 2, 3) in which a leg bends: unit direction of the thigh, and the knee's axis.

    positions (F, J, 3), world (F, J, 4): the reference's; flexions (F,): its signed flexion.
    """
    for f in range(positions.shape[0]):
        p = positions[f]
        ux, uy, uz = direction(p[leg.upper], p[leg.lower])
        sx, sy, sz = direction(p[leg.lower], p[leg.foot])
        # the knee's axis: across the leg's own plane where it is bent, the hinge where it is straight
        share = min(max((flexions[f] - leg.blend[0]) / (leg.blend[1] - leg.blend[0]), 0.0), 1.0)
        share = share * share * (3.0 - 2.0 * share)
        cx, cy, cz = uy * sz - uz * sy, uz * sx - ux * sz, ux * sy - uy * sx
        n = share / max(math.sqrt(cx * cx + cy * cy + cz * cz), 1e-9)
        q = world[f, leg.upper]
        hx, hy, hz = rotate(q[0], q[1], q[2], q[3], leg.hinge[0], leg.hinge[1], leg.hinge[2])
        along = hx * ux + hy * uy + hz * uz
        hx, hy, hz = hx - along * ux, hy - along * uy, hz - along * uz
        m = (1.0 - share) / max(math.sqrt(hx * hx + hy * hy + hz * hz), 1e-9)
        cx, cy, cz = n * cx + m * hx, n * cy + m * hy, n * cz + m * hz
        along = cx * ux + cy * uy + cz * uz
        cx, cy, cz = cx - along * ux, cy - along * uy, cz - along * uz
        n = 1.0 / max(math.sqrt(cx * cx + cy * cy + cz * cz), 1e-9)
        out[f, 0, 0], out[f, 0, 1], out[f, 0, 2] = ux, uy, uz
        out[f, 1, 0], out[f, 1, 1], out[f, 1, 2] = cx * n, cy * n, cz * n


@uncounted_jit
def pose(leg, parents, positions, world, planes, turns, hips, ankles, swivels, feet, turned, local):
    """Pose a leg at all frames: the ankle at its place, the knee in the reference's plane; return the largest miss.

    swivels (F,): by how much that plane is turned about the line from ankle to hip joint.

    positions (F, J, 3), world (F, J, 4): the reference's; planes (F, 2, 3): `bending_planes`; turns (F, 4): by how much
    the pelvis is turned from it; hips (F, 3): displacement of the hip joint; ankles (F, 3): places; feet (F, 4): world
    rotations of the foot; turned (J, 4): workspace; local (F, J, 4): written at the leg's joints.
    """
    worst = 0.0
    for f in range(positions.shape[0]):
        p, w = positions[f], world[f]
        vx = ankles[f, 0] - p[leg.upper, 0] - hips[f, 0]
        vy = ankles[f, 1] - p[leg.upper, 1] - hips[f, 1]
        vz = ankles[f, 2] - p[leg.upper, 2] - hips[f, 2]
        missed, flexion, turn = _bent(planes[f, 0], planes[f, 1], leg.bones[f, 0], leg.bones[f, 1], vx, vy, vz)
        worst = max(worst, missed)
        n = -1.0 / max(math.sqrt(vx * vx + vy * vy + vz * vz), 1e-9) * swivels[f]
        qw, qi, qj, qk = exp(n * vx, n * vy, n * vz)
        sw, si, sj, sk = multiply(qw, qi, qj, qk, turn[0], turn[1], turn[2], turn[3])
        sx, sy, sz = direction(p[leg.lower], p[leg.foot])
        tx, ty, tz = _flexed(planes[f, 0], planes[f, 1], flexion)
        bw, bi, bj, bk = between(sx, sy, sz, tx, ty, tz)
        # world rotations of thigh, shank and foot, with the joints between them rigid
        top = parents[leg.upper]
        q = w[leg.upper]
        tw = multiply(sw, si, sj, sk, q[0], q[1], q[2], q[3])
        turned[leg.upper, 0], turned[leg.upper, 1], turned[leg.upper, 2], turned[leg.upper, 3] = tw
        q, above = turns[f], w[top]
        r = multiply(q[0], -q[1], -q[2], -q[3], tw[0], tw[1], tw[2], tw[3])
        r = multiply(above[0], -above[1], -above[2], -above[3], r[0], r[1], r[2], r[3])
        local[f, leg.upper, 0], local[f, leg.upper, 1], local[f, leg.upper, 2], local[f, leg.upper, 3] = r
        at = 0
        for part in range(2):
            while leg.between[at] >= 0:
                j = leg.between[at]
                above, own = turned[parents[j]], local[f, j]
                r = multiply(above[0], above[1], above[2], above[3], own[0], own[1], own[2], own[3])
                turned[j, 0], turned[j, 1], turned[j, 2], turned[j, 3] = r
                at += 1
            at += 1
            if part == 0:
                j = leg.lower
                q = w[j]
                r = multiply(bw, bi, bj, bk, q[0], q[1], q[2], q[3])
                r = multiply(sw, si, sj, sk, r[0], r[1], r[2], r[3])
            else:
                j = leg.foot
                r = (feet[f, 0], feet[f, 1], feet[f, 2], feet[f, 3])
            turned[j, 0], turned[j, 1], turned[j, 2], turned[j, 3] = r
            above = turned[parents[j]]
            r = multiply(above[0], -above[1], -above[2], -above[3], r[0], r[1], r[2], r[3])
            n = 1.0 / math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
            local[f, j, 0], local[f, j, 1], local[f, j, 2], local[f, j, 3] = r[0] * n, r[1] * n, r[2] * n, r[3] * n
    return worst


def _smallest():
    """Return tables of one frame."""
    reference = Reference(
        np.ones((2, 1, 3)), np.ones((2, 1)), np.zeros((2, 1)), np.ones((2, 1)), np.zeros((2, 1)), np.ones((2, 1, 2)),
        np.ones((1, 3)), np.ones((1, 2, 3)), np.ones((2, 1, 2, 3)), np.zeros(1),
    )  # fmt: skip
    asked = Asked(
        np.zeros((2, 1), bool), np.zeros((2, 1, 3)), np.zeros((2, 1)), np.zeros((2, 1, 3)), np.zeros((2, 1)),
        np.zeros((2, 1), bool), np.zeros((2, 1, 3)), np.zeros((2, 1, 3)), np.ones(2), np.zeros((1, 3)), np.zeros(1),
        np.zeros((LEANS, 2, 1, 3)), np.zeros((LEANS, 2, 1)), np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((1, 3, 4)),
    )  # fmt: skip
    weights = Weights(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, np.ones(UNKNOWNS), np.ones(UNKNOWNS))
    return reference, asked, weights, new_room(asked.planted, True, True)


def _step():
    reference, asked, weights, room = _smallest()
    return (
        reference,
        asked,
        weights,
        np.ones((2, 1)),
        True,
        True,
        np.zeros((1, UNKNOWNS)),
        room,
        np.empty((1, UNKNOWNS)),
    )


def _leg():
    return Leg(1, 2, 3, np.array([-1, -1]), np.ones((1, 2)), np.array([1.0, 0.0, 0.0]), np.array([0.1, 0.2]))


def _read_only(array):
    array.setflags(write=False)
    return array


WARMUP = {
    "turned_hips": lambda: (_smallest()[0], np.zeros((1, UNKNOWNS)), np.empty((1, 3))),
    "longest_legs": lambda: (_smallest()[0], np.zeros((1, UNKNOWNS)), np.zeros((4, 3)), np.zeros((2, 1))),
    "update_slopes": lambda: (
        _smallest()[0], np.zeros((1, UNKNOWNS)), 0.1, 0.1, np.zeros((4, 3)), np.zeros((2, 1))
    ),
    "step": _step,
    "bending_planes": lambda: (
        _leg(), _read_only(np.zeros((1, 4, 3))), _read_only(np.tile([1.0, 0.0, 0.0, 0.0], (1, 4, 1))), np.zeros(1),
        np.zeros((1, 2, 3)),
    ),
    "pose": lambda: (
        _leg(), _read_only(np.array([-1, 0, 1, 2])), _read_only(np.zeros((1, 4, 3))),
        _read_only(np.tile([1.0, 0.0, 0.0, 0.0], (1, 4, 1))), np.ones((1, 2, 3)),
        np.tile([1.0, 0.0, 0.0, 0.0], (1, 1)), np.zeros((1, 3)), np.ones((1, 3)),
        np.zeros(1), np.tile([1.0, 0.0, 0.0, 0.0], (1, 1)), np.zeros((4, 4)), np.tile([1.0, 0.0, 0.0, 0.0], (1, 4, 1)),
    ),
}  # fmt: skip
