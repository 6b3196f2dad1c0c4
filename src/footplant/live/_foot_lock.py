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
from footplant.kernels.limb import aim, reach
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


@jit
def lock_feet(tables, seconds, ramp, level, planted, state, root, pose, scratch):
    """Lock planted points of both feet, by the legs alone; feet in swing are kept above the floor.

    planted: (4,) weights with which heels and balls are planted, left and right. A point is locked while that weight is
    above one half. The correction that is left when a foot is released fades out within `ramp` seconds. root (1, 3) and
    pose (1, J, 4) are changed in place; level: metres, height of the floor.
    """
    parents, offsets, legs, points, arms = tables.parents, tables.offsets, tables.legs, tables.points, tables.arms
    marks, feet = state.marks, state.feet
    positions, turns, places = scratch.positions, scratch.turns, scratch.places
    forward(parents, offsets, root, pose, positions, turns)
    for foot in range(2):
        ankle = legs[foot, 2]
        ax, ay, az = positions[0, ankle, 0], positions[0, ankle, 1], positions[0, ankle, 2]
        wanted = ease((planted[2 * foot + 1] - 0.25) / 0.25)
        feet[foot, TOES] += min(max(wanted - feet[foot, TOES], -seconds / ramp), 2.0 * seconds / ramp)
        _level_toes(tables, foot, ease(feet[foot, TOES]), turns, pose)
        for p in range(3):
            j = points[3 * foot + p]
            vx, vy, vz = rotate(
                turns[0, j, 0], turns[0, j, 1], turns[0, j, 2], turns[0, j, 3],
                arms[3 * foot + p, 0], arms[3 * foot + p, 1], arms[3 * foot + p, 2],
            )  # fmt: skip
            # relative to the ankle, about which the foot rotates
            places[p, 0] = positions[0, j, 0] + vx - ax
            places[p, 1] = positions[0, j, 1] + vy - ay
            places[p, 2] = positions[0, j, 2] + vz - az
        own_state = feet[foot]
        own_state[AGE] += seconds
        left = 1.0 - ease(own_state[AGE] / ramp)
        # the pose before any change of contacts: fading corrections alone
        held_before = int(own_state[SET])
        rw, rx, ry, rz = exp(left * own_state[RX], left * own_state[RX + 1], left * own_state[RX + 2])
        if held_before == 3:
            hx, hy, hz = places[1, 0] - places[0, 0], places[1, 1] - places[0, 1], places[1, 2] - places[0, 2]
            heel, ball = marks[2 * foot], marks[2 * foot + 1]
            bw, bx, by, bz = aim(
                hx, hy, hz, ball[PX] - heel[PX], ball[PY] - heel[PY], ball[PZ] - heel[PZ], 0.0, 1.0, 0.0
            )
            rw, rx, ry, rz = multiply(rw, rx, ry, rz, bw, bx, by, bz)
        if held_before == 1 or held_before == 2:
            # a foot locked at one end is pitched about it to keep the other end above the floor
            anchor, end = held_before - 1, 2 - held_before
            mark = marks[2 * foot + anchor]
            high = mark[SETTLE] * (1.0 - ease((mark[SINCE] + seconds) / ramp))
            hx, hy, hz = rotate(
                rw, rx, ry, rz, places[end, 0] - places[anchor, 0], places[end, 1] - places[anchor, 1],
                places[end, 2] - places[anchor, 2],
            )  # fmt: skip
            flat, across = math.sqrt(hx * hx + hz * hz), hx * hx + hy * hy + hz * hz - high * high
            if hy < -high and flat > 1e-6 and across > 0.0:
                grow = math.sqrt(across) / flat
                bw, bx, by, bz = aim(hx, hy, hz, grow * hx, -high, grow * hz, 0.0, 1.0, 0.0)
                rw, rx, ry, rz = multiply(bw, bx, by, bz, rw, rx, ry, rz)
        shift_x, shift_y, shift_z = left * own_state[FX], left * own_state[FX + 1], left * own_state[FX + 2]
        for p in range(2):
            mark = marks[2 * foot + p]
            if mark[HELD] > 0.0:
                vx, vy, vz = rotate(rw, rx, ry, rz, places[p, 0], places[p, 1], places[p, 2])
                lift = mark[SETTLE] * (1.0 - ease((mark[SINCE] + seconds) / ramp))
                shift_x, shift_y, shift_z = mark[PX] - ax - vx, mark[PY] + lift - ay - vy, mark[PZ] - az - vz
        if held_before == 0:
            for p in range(3):
                vx, vy, vz = rotate(rw, rx, ry, rz, places[p, 0], places[p, 1], places[p, 2])
                shift_y = max(shift_y, level - ay - vy)
        held = 0
        for p in range(2):
            mark = marks[2 * foot + p]
            mark[SINCE] += seconds
            mark[BARRED] = max(mark[BARRED] - seconds, 0.0)
            locked = planted[2 * foot + p] >= 0.5 and mark[BARRED] <= 0.0
            if locked and mark[HELD] <= 0.0:
                vx, vy, vz = rotate(rw, rx, ry, rz, places[p, 0], places[p, 1], places[p, 2])
                # a foot that is still in the air comes down by itself first
                locked = ay + vy + shift_y - level < HIGHEST
            if locked and mark[HELD] <= 0.0:
                mark[PX], mark[PY], mark[PZ] = ax + vx + shift_x, level, az + vz + shift_z
                mark[SETTLE], mark[SINCE] = ay + vy + shift_y - level, 0.0
            mark[HELD] = 1.0 if locked else 0.0
            if locked:
                held += 1 + p
        if held == 3 and held_before == 3:
            heel, ball = marks[2 * foot], marks[2 * foot + 1]
            own = math.sqrt(
                (places[1, 0] - places[0, 0]) ** 2 + (places[1, 1] - places[0, 1]) ** 2
                + (places[1, 2] - places[0, 2]) ** 2
            )  # fmt: skip
            wanted = math.sqrt((ball[PX] - heel[PX]) ** 2 + (ball[PY] - heel[PY]) ** 2 + (ball[PZ] - heel[PZ]) ** 2)
            if abs(own - wanted) > LONGER:
                # the foot bends at its toes: the heel is about to leave the ground
                heel[HELD], heel[BARRED], held = 0.0, ramp, 2
        if held != held_before:
            # keep the current pose; from here it fades to the new target
            bw, bx, by, bz = 1.0, 0.0, 0.0, 0.0
            if held == 3:
                heel, ball = marks[2 * foot], marks[2 * foot + 1]
                bw, bx, by, bz = aim(
                    places[1, 0] - places[0, 0], places[1, 1] - places[0, 1], places[1, 2] - places[0, 2],
                    ball[PX] - heel[PX], ball[PY] - heel[PY], ball[PZ] - heel[PZ], 0.0, 1.0, 0.0,
                )  # fmt: skip
            dw, dx, dy, dz = multiply(rw, rx, ry, rz, bw, -bx, -by, -bz)
            own_state[RX], own_state[RX + 1], own_state[RX + 2] = log(dw, dx, dy, dz)
            own_state[FX], own_state[FX + 1], own_state[FX + 2] = shift_x, shift_y, shift_z
            own_state[AGE], own_state[SET] = 0.0, held
        own_state[SX], own_state[SX + 1], own_state[SX + 2] = shift_x, shift_y, shift_z
        goal = (ax + shift_x, ay + shift_y, az + shift_z)
        missing = _place_leg(tables, foot, goal, (rw, rx, ry, rz), pose, scratch)
        if missing > STRETCH and held > 0:
            # out of reach: release rather than stretch
            for p in range(2):
                marks[2 * foot + p, HELD] = 0.0
                marks[2 * foot + p, BARRED] = ramp
            own_state[FX], own_state[FX + 1], own_state[FX + 2] = shift_x, shift_y, shift_z
            own_state[RX], own_state[RX + 1], own_state[RX + 2] = log(rw, rx, ry, rz)
            own_state[AGE], own_state[SET] = 0.0, 0.0


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
    bw, bx, by, bz = aim(vx, vy, vz, vx, (1.0 - share) * vy, vz, 0.0, 1.0, 0.0)
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
    missing, _, _ = reach(
        parent, upper, lower, upper_offset, lower_offset, axis, origin, goal, goal, False, 0.0, 0.0, 0.0, MOST_BEND,
        new_upper, new_lower,
    )  # fmt: skip
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
    return tables, 0.01, 0.1, 0.0, np.zeros(4), state, np.zeros((1, 3)), pose, scratch


WARMUP = {"lock_feet": _lock_arguments}
