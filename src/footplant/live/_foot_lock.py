"""Compiled foot lock of one frame: planted heels and balls stay where they came down, by two-bone IK of the legs.

When a foot is released or its contacts change, the remaining correction (a shift and a rotation) is faded out
instead of dropped, which is inertialisation of the foot.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import jit
from footplant.kernels.fk import forward
from footplant.kernels.limb import UP, Hinge, LimbAim, LimbPose, aim, reach
from footplant.kernels.quaternion import exp, log, multiply, rotate
from footplant.live._controller import ease

# columns of `FootState.marks`, per contact point: locked or not, its position, height above the floor that it still has
# to settle, seconds since it was locked, seconds for which it may not be locked
HELD, PX, PY, PZ, SETTLE, SINCE, BARRED = 0, 1, 2, 3, 4, 5, 6
# columns of `FootState.feet`, per foot: the shift shown, the shift to fade out, the rotation to fade out, seconds since
# a change, which points are locked (bits: heel 1, ball 2), how much its toes are kept level
SX, FX, RX, AGE, SET, TOES = 0, 3, 6, 9, 10, 11
HIGHEST = 0.03
"""Metres above the floor below which a foot may be locked. Doubled, feet are pulled down from the air."""
LONGER = 0.0015
"""Metres by which the distance of a locked heel and ball may change before the heel is released."""
STRETCH = 0.004
"""Metres beyond the reach of a leg at which its foot is released."""
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
    """State between frames."""

    marks: np.ndarray
    """(4, 7) of left heel, left ball, right heel and right ball."""
    feet: np.ndarray
    """(2, 12)"""


class FootScratch(NamedTuple):
    """Work arrays."""

    positions: np.ndarray
    """(1, J, 3)"""
    turns: np.ndarray
    """(1, J, 4)"""
    places: np.ndarray
    """(3, 3)"""
    floats: np.ndarray
    """(36,)"""


class LockStep(NamedTuple):
    """What one frame asks of the feet."""

    seconds: float
    """Since the frame before."""
    ramp: float
    """Seconds within which the correction fades out that is left when a foot is released."""
    level: float
    """Metres; height of the floor."""
    planted: np.ndarray
    """(4,) weights with which heels and balls are planted, left and right."""


@jit
def lock_feet(tables, step, state, root, pose, scratch):
    """Lock planted points of both feet, by the legs alone; feet in swing are kept above the floor.

    A point is locked while the weight with which it is planted is above one half. root (1, 3) and pose (1, J, 4) are
    changed in place.
    """
    seconds, ramp, planted, feet = step.seconds, step.ramp, step.planted, state.feet
    forward(tables.parents, tables.offsets, root, pose, scratch.positions, scratch.turns)
    for foot in range(2):
        wanted = ease((planted[2 * foot + 1] - 0.25) / 0.25)
        feet[foot, TOES] += min(max(wanted - feet[foot, TOES], -seconds / ramp), 2.0 * seconds / ramp)
        _level_toes(tables, foot, ease(feet[foot, TOES]), scratch.turns, pose)
        _write_places(tables, foot, scratch)
        _lock_foot(tables, step, foot, state, pose, scratch)


@jit
def _write_places(tables, foot, scratch):
    """Write heel, ball and toe tip relative to the ankle, about which the foot rotates, to `scratch.places`."""
    positions, turns, places = scratch.positions, scratch.turns, scratch.places
    ankle = positions[0, tables.legs[foot, 2]]
    for p in range(3):
        j, arm = tables.points[3 * foot + p], tables.arms[3 * foot + p]
        vx, vy, vz = rotate(turns[0, j, 0], turns[0, j, 1], turns[0, j, 2], turns[0, j, 3], arm[0], arm[1], arm[2])
        places[p, 0] = positions[0, j, 0] + vx - ankle[0]
        places[p, 1] = positions[0, j, 1] + vy - ankle[1]
        places[p, 2] = positions[0, j, 2] + vz - ankle[2]


@jit
def _lock_foot(tables, step, foot, state, pose, scratch):
    """Lock, hold and release the points of one foot, and move its leg accordingly."""
    ramp, marks, own, places = step.ramp, state.marks[2 * foot : 2 * foot + 2], state.feet[foot], scratch.places
    ankle = scratch.positions[0, tables.legs[foot, 2]]
    own[AGE] += step.seconds
    # the pose before any change of contacts: fading corrections alone
    held_before = int(own[SET])
    turn = _held_turn(step, held_before, marks, own, places)
    shift = _held_shift(step, held_before, marks, own, places, turn, ankle)
    shift_x, shift_y, shift_z = shift
    held = _update_marks(step, foot, marks, places, turn, shift, ankle)
    if held == 3 and held_before == 3 and _is_bent(marks, places):
        # the foot bends at its toes: the heel is about to leave the ground
        marks[0, HELD], marks[0, BARRED], held = 0.0, ramp, 2
    if held != held_before:
        # keep the current pose; from here it fades to the new target
        bw, bx, by, bz = _line_turn(marks, places) if held == 3 else (1.0, 0.0, 0.0, 0.0)
        dw, dx, dy, dz = multiply(turn[0], turn[1], turn[2], turn[3], bw, -bx, -by, -bz)
        own[RX], own[RX + 1], own[RX + 2] = log(dw, dx, dy, dz)
        own[FX], own[FX + 1], own[FX + 2] = shift_x, shift_y, shift_z
        own[AGE], own[SET] = 0.0, held
    own[SX], own[SX + 1], own[SX + 2] = shift_x, shift_y, shift_z
    goal = (ankle[0] + shift_x, ankle[1] + shift_y, ankle[2] + shift_z)
    missing = _place_leg(tables, foot, goal, turn, pose, scratch)
    if missing > STRETCH and held > 0:
        # out of reach: release rather than stretch
        for p in range(2):
            marks[p, HELD] = 0.0
            marks[p, BARRED] = ramp
        own[FX], own[FX + 1], own[FX + 2] = shift_x, shift_y, shift_z
        own[RX], own[RX + 1], own[RX + 2] = log(turn[0], turn[1], turn[2], turn[3])
        own[AGE], own[SET] = 0.0, 0.0


@jit
def _line_turn(marks, places):
    """Return the rotation of a foot from the line of its heel and ball to that of where they are locked."""
    heel, ball = marks[0], marks[1]
    line = (places[1, 0] - places[0, 0], places[1, 1] - places[0, 1], places[1, 2] - places[0, 2])
    return aim(line, (ball[PX] - heel[PX], ball[PY] - heel[PY], ball[PZ] - heel[PZ]), UP)


@jit
def _is_bent(marks, places):
    """Return whether heel and ball are no longer as far apart as they were locked."""
    heel, ball = marks[0], marks[1]
    own = math.sqrt(
        (places[1, 0] - places[0, 0]) ** 2 + (places[1, 1] - places[0, 1]) ** 2
        + (places[1, 2] - places[0, 2]) ** 2
    )  # fmt: skip
    wanted = math.sqrt((ball[PX] - heel[PX]) ** 2 + (ball[PY] - heel[PY]) ** 2 + (ball[PZ] - heel[PZ]) ** 2)
    return abs(own - wanted) > LONGER


@jit
def _height_left(mark, step):
    """Return the height above the floor, metres, that a locked point still has to settle in this frame."""
    return mark[SETTLE] * (1.0 - ease((mark[SINCE] + step.seconds) / step.ramp))


@jit
def _held_turn(step, held, marks, own, places):
    """Return the rotation (4 scalars) of a foot by its fading correction and the points that were locked before."""
    left = 1.0 - ease(own[AGE] / step.ramp)
    rw, rx, ry, rz = exp(left * own[RX], left * own[RX + 1], left * own[RX + 2])
    if held == 3:
        bw, bx, by, bz = _line_turn(marks, places)
        return multiply(rw, rx, ry, rz, bw, bx, by, bz)
    if held == 1 or held == 2:
        # a foot locked at one end is pitched about it to keep the other end above the floor
        anchor, end = held - 1, 2 - held
        high = _height_left(marks[anchor], step)
        hx, hy, hz = rotate(
            rw, rx, ry, rz, places[end, 0] - places[anchor, 0], places[end, 1] - places[anchor, 1],
            places[end, 2] - places[anchor, 2],
        )  # fmt: skip
        flat, across = math.sqrt(hx * hx + hz * hz), hx * hx + hy * hy + hz * hz - high * high
        if hy < -high and flat > 1e-6 and across > 0.0:
            grow = math.sqrt(across) / flat
            bw, bx, by, bz = aim((hx, hy, hz), (grow * hx, -high, grow * hz), UP)
            return multiply(bw, bx, by, bz, rw, rx, ry, rz)
    return rw, rx, ry, rz


@jit
def _held_shift(step, held, marks, own, places, turn, ankle):
    """Return the shift (3 scalars) of a foot: onto its locked points, else its fading one, kept above the floor."""
    rw, rx, ry, rz = turn
    left = 1.0 - ease(own[AGE] / step.ramp)
    x, y, z = left * own[FX], left * own[FX + 1], left * own[FX + 2]
    for p in range(2):
        mark = marks[p]
        if mark[HELD] > 0.0:
            vx, vy, vz = rotate(rw, rx, ry, rz, places[p, 0], places[p, 1], places[p, 2])
            lift = _height_left(mark, step)
            x, y, z = mark[PX] - ankle[0] - vx, mark[PY] + lift - ankle[1] - vy, mark[PZ] - ankle[2] - vz
    if held == 0:
        for p in range(3):
            vx, vy, vz = rotate(rw, rx, ry, rz, places[p, 0], places[p, 1], places[p, 2])
            y = max(y, step.level - ankle[1] - vy)
    return x, y, z


@jit
def _update_marks(step, foot, marks, places, turn, shift, ankle):
    """Lock and release heel and ball by the weights with which they are planted; return which are locked, as bits."""
    rw, rx, ry, rz = turn
    shift_x, shift_y, shift_z = shift
    held = 0
    for p in range(2):
        mark = marks[p]
        mark[SINCE] += step.seconds
        mark[BARRED] = max(mark[BARRED] - step.seconds, 0.0)
        locked = step.planted[2 * foot + p] >= 0.5 and mark[BARRED] <= 0.0
        if locked and mark[HELD] <= 0.0:
            vx, vy, vz = rotate(rw, rx, ry, rz, places[p, 0], places[p, 1], places[p, 2])
            high = ankle[1] + vy + shift_y - step.level
            # a foot that is still in the air comes down by itself first
            locked = high < HIGHEST
            if locked:
                mark[PX], mark[PY], mark[PZ] = ankle[0] + vx + shift_x, step.level, ankle[2] + vz + shift_z
                mark[SETTLE], mark[SINCE] = high, 0.0
        mark[HELD] = 1.0 if locked else 0.0
        if locked:
            held += 1 + p
    return held


@jit
def _level_toes(tables, foot, share, turns, pose):
    """Bend toes up whose tip would be below the planted ball, by a fraction of what is needed."""
    parents, points, arms = tables.parents, tables.points, tables.arms
    toes, tip = points[3 * foot + 1], 3 * foot + 2
    if toes == tables.legs[foot, 2] or points[tip] != toes or share <= 0.0:
        return
    tw, tx, ty, tz = turns[0, toes, 0], turns[0, toes, 1], turns[0, toes, 2], turns[0, toes, 3]
    vx, vy, vz = rotate(
        tw, tx, ty, tz, arms[tip, 0] - arms[tip - 1, 0], arms[tip, 1] - arms[tip - 1, 1],
        arms[tip, 2] - arms[tip - 1, 2],
    )  # fmt: skip
    if vy >= 0.0:
        return
    bw, bx, by, bz = aim((vx, vy, vz), (vx, (1.0 - share) * vy, vz), UP)
    tw, tx, ty, tz = multiply(bw, bx, by, bz, tw, tx, ty, tz)
    turns[0, toes, 0], turns[0, toes, 1], turns[0, toes, 2], turns[0, toes, 3] = tw, tx, ty, tz
    over = parents[toes]
    pose[0, toes, 0], pose[0, toes, 1], pose[0, toes, 2], pose[0, toes, 3] = multiply(
        turns[0, over, 0], -turns[0, over, 1], -turns[0, over, 2], -turns[0, over, 3], tw, tx, ty, tz
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
    hinge = Hinge(axis, False, 0.0, 0.0, MOST_BEND)
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


def _lock_arguments():
    parents = np.array([-1, 0, 1, 2])
    parents.setflags(write=False)
    offsets = np.zeros((1, 4, 3))
    offsets[0, 1:, 1] = -1.0
    offsets.setflags(write=False)
    pose = np.zeros((1, 4, 4))
    pose[..., 0] = 1.0
    tables = FootTables(
        parents, offsets, np.array([[1, 2, 3], [1, 2, 3]]), np.tile([1.0, 0.0, 0.0], (2, 1)), np.full(6, 3),
        np.zeros((6, 3)),
    )  # fmt: skip
    state = FootState(np.zeros((4, 7)), np.zeros((2, 12)))
    scratch = FootScratch(np.zeros((1, 4, 3)), np.zeros((1, 4, 4)), np.zeros((3, 3)), np.zeros(36))
    return tables, LockStep(0.01, 0.1, 0.0, np.zeros(4)), state, np.zeros((1, 3)), pose, scratch


WARMUP = {"lock_feet": _lock_arguments}
