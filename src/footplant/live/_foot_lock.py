"""Planted feet of one frame: heels and balls kept where they came down, by the legs alone (METHODS F6)."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.fk import forward
from footplant.kernels.limb import aim, reach
from footplant.kernels.quaternion import exp, log, multiply, rotate
from footplant.live._controller import ease

# what a point of a foot remembers: held or not, its place, how high above the floor it still is, seconds held / barred
HELD, PX, PY, PZ, SETTLE, SINCE, BARRED = 0, 1, 2, 3, 4, 5, 6
# what a foot remembers: the shift shown, the shift to fade, the turn to fade, seconds since a change, what is held,
# how much its toes are kept level
SX, FX, RX, AGE, SET, TOES = 0, 3, 6, 9, 10, 11
HIGHEST = 0.03
"""Metres above the floor from which a foot may be set down."""
LONGER = 0.0015
"""Metres by which a foot that stands on heel and ball may get longer or shorter."""
STRETCH = 0.004
"""Metres beyond the reach of a leg at which its foot is let go."""


@jit
def hold_feet(
    seconds, ramp, level, parents, offsets, legs, axes, points, arms, planted, marks, feet, root, pose, positions,
    turns, places, scratch,
):  # fmt: skip
    """Keep planted points of both feet where they came down, by the legs alone; feet in swing stay out of the floor.

    legs: (2, 3) hip, knee, ankle. axes: (2, 3) hinges. points: (6,) joints of heel, ball and toe tip of left and right
    foot, arms: (6, 3) their offsets. planted: (4,) how much heels and balls stand, left and right. marks: (4, 7)
    and feet: (2, 12) what is remembered. A point is held from when it mostly stands in the mix until it mostly does
    not. What is left of a correction when a foot is let go fades within `ramp` seconds.
    """
    forward(parents, offsets, root, pose, positions, turns)
    for foot in range(2):
        hip, knee, ankle = legs[foot, 0], legs[foot, 1], legs[foot, 2]
        ax, ay, az = positions[0, ankle, 0], positions[0, ankle, 1], positions[0, ankle, 2]
        wanted = ease((planted[2 * foot + 1] - 0.25) / 0.25)
        feet[foot, TOES] += min(max(wanted - feet[foot, TOES], -seconds / ramp), 2.0 * seconds / ramp)
        _level_toes(foot, ankle, points, arms, ease(feet[foot, TOES]), parents, turns, pose)
        for p in range(3):
            j = points[3 * foot + p]
            vx, vy, vz = rotate(
                turns[0, j, 0], turns[0, j, 1], turns[0, j, 2], turns[0, j, 3],
                arms[3 * foot + p, 0], arms[3 * foot + p, 1], arms[3 * foot + p, 2],
            )  # fmt: skip
            # relative to the ankle, about which the foot is turned
            places[p, 0] = positions[0, j, 0] + vx - ax
            places[p, 1] = positions[0, j, 1] + vy - ay
            places[p, 2] = positions[0, j, 2] + vz - az
        state = feet[foot]
        state[AGE] += seconds
        left = 1.0 - ease(state[AGE] / ramp)
        # what is shown before any change of what is held: fading corrections alone
        held_before = int(state[SET])
        rw, rx, ry, rz = exp(left * state[RX], left * state[RX + 1], left * state[RX + 2])
        if held_before == 3:
            hx, hy, hz = places[1, 0] - places[0, 0], places[1, 1] - places[0, 1], places[1, 2] - places[0, 2]
            heel, ball = marks[2 * foot], marks[2 * foot + 1]
            bw, bx, by, bz = aim(
                hx, hy, hz, ball[PX] - heel[PX], ball[PY] - heel[PY], ball[PZ] - heel[PZ], 0.0, 1.0, 0.0
            )
            rw, rx, ry, rz = multiply(rw, rx, ry, rz, bw, bx, by, bz)
        if held_before == 1 or held_before == 2:
            # the end of a foot that stands on its other end stays out of the floor: the foot is pitched about that
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
        shift_x, shift_y, shift_z = left * state[FX], left * state[FX + 1], left * state[FX + 2]
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
            stands = planted[2 * foot + p] >= 0.5 and mark[BARRED] <= 0.0
            if stands and mark[HELD] <= 0.0:
                vx, vy, vz = rotate(rw, rx, ry, rz, places[p, 0], places[p, 1], places[p, 2])
                # a foot that is in the air still comes down by itself first
                stands = ay + vy + shift_y - level < HIGHEST
            if stands and mark[HELD] <= 0.0:
                mark[PX], mark[PY], mark[PZ] = ax + vx + shift_x, level, az + vz + shift_z
                mark[SETTLE], mark[SINCE] = ay + vy + shift_y - level, 0.0
            mark[HELD] = 1.0 if stands else 0.0
            if stands:
                held += 1 + p
        if held == 3 and held_before == 3:
            heel, ball = marks[2 * foot], marks[2 * foot + 1]
            own = math.sqrt(
                (places[1, 0] - places[0, 0]) ** 2 + (places[1, 1] - places[0, 1]) ** 2
                + (places[1, 2] - places[0, 2]) ** 2
            )  # fmt: skip
            wanted = math.sqrt((ball[PX] - heel[PX]) ** 2 + (ball[PY] - heel[PY]) ** 2 + (ball[PZ] - heel[PZ]) ** 2)
            if abs(own - wanted) > LONGER:
                # the foot bends at its toes: it is about to roll, and its heel to leave
                heel[HELD], heel[BARRED], held = 0.0, ramp, 2
        if held != held_before:
            # what is shown stays; it fades from here to what is asked for now
            bw, bx, by, bz = 1.0, 0.0, 0.0, 0.0
            if held == 3:
                heel, ball = marks[2 * foot], marks[2 * foot + 1]
                bw, bx, by, bz = aim(
                    places[1, 0] - places[0, 0], places[1, 1] - places[0, 1], places[1, 2] - places[0, 2],
                    ball[PX] - heel[PX], ball[PY] - heel[PY], ball[PZ] - heel[PZ], 0.0, 1.0, 0.0,
                )  # fmt: skip
            dw, dx, dy, dz = multiply(rw, rx, ry, rz, bw, -bx, -by, -bz)
            state[RX], state[RX + 1], state[RX + 2] = log(dw, dx, dy, dz)
            state[FX], state[FX + 1], state[FX + 2] = shift_x, shift_y, shift_z
            state[AGE], state[SET] = 0.0, held
        state[SX], state[SX + 1], state[SX + 2] = shift_x, shift_y, shift_z
        _place_leg(
            hip, knee, ankle, axes[foot], parents, turns, positions, ax + shift_x, ay + shift_y, az + shift_z,
            rw, rx, ry, rz, pose, scratch,
        )  # fmt: skip
        if scratch[31] > STRETCH and held > 0:
            # out of reach: let go rather than stretch
            for p in range(2):
                marks[2 * foot + p, HELD] = 0.0
                marks[2 * foot + p, BARRED] = ramp
            state[FX], state[FX + 1], state[FX + 2] = shift_x, shift_y, shift_z
            state[RX], state[RX + 1], state[RX + 2] = log(rw, rx, ry, rz)
            state[AGE], state[SET] = 0.0, 0.0


@jit
def _level_toes(foot, ankle, points, arms, share, parents, turns, pose):
    """Bend toes up whose tip would be below the ball that they stand on, by a share of what is needed."""
    toes, tip = points[3 * foot + 1], 3 * foot + 2
    if toes == ankle or points[tip] != toes or share <= 0.0:
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
def _place_leg(hip, knee, ankle, axis, parents, turns, positions, gx, gy, gz, rw, rx, ry, rz, pose, scratch):
    """Bend one leg so that its ankle is at a place, and turn the foot; scratch[31] gets the metres that are missing."""
    above = parents[hip]
    uw, ux, uy, uz = turns[0, hip, 0], turns[0, hip, 1], turns[0, hip, 2], turns[0, hip, 3]
    kw, kx, ky, kz = turns[0, knee, 0], turns[0, knee, 1], turns[0, knee, 2], turns[0, knee, 3]
    parent, upper, lower = scratch[0:4], scratch[4:8], scratch[8:12]
    upper_offset, lower_offset, origin, goal = scratch[12:15], scratch[15:18], scratch[18:21], scratch[21:24]
    new_upper, new_lower = scratch[24:28], scratch[32:36]
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
        parent, upper, lower, upper_offset, lower_offset, axis, origin, goal, goal, False, 0.0, 0.0, 0.0, 2.8,
        new_upper, new_lower,
    )  # fmt: skip
    scratch[31] = missing
    for k in range(4):
        pose[0, hip, k] = new_upper[k]
    # joints between hip and knee keep their turns: what they make together is taken off again
    over = parents[knee]
    bw, bx, by, bz = multiply(
        uw, -ux, -uy, -uz, turns[0, over, 0], turns[0, over, 1], turns[0, over, 2], turns[0, over, 3]
    )
    pose[0, knee, 0], pose[0, knee, 1], pose[0, knee, 2], pose[0, knee, 3] = multiply(
        bw, -bx, -by, -bz, new_lower[0], new_lower[1], new_lower[2], new_lower[3]
    )
    # the foot's own turn in the world, then in what its leg has become
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


def _hold_arguments():
    parents = np.array([-1, 0, 1, 2])
    parents.setflags(write=False)
    offsets = np.zeros((1, 4, 3))
    offsets[0, 1:, 1] = -1.0
    offsets.setflags(write=False)
    pose = np.zeros((1, 4, 4))
    pose[..., 0] = 1.0
    return (
        0.01, 0.1, 0.0, parents, offsets, np.array([[1, 2, 3], [1, 2, 3]]), np.tile([1.0, 0.0, 0.0], (2, 1)),
        np.full(6, 3), np.zeros((6, 3)), np.zeros(4), np.zeros((4, 7)), np.zeros((2, 12)), np.zeros((1, 3)), pose,
        np.zeros((1, 4, 3)), np.zeros((1, 4, 4)), np.zeros((3, 3)), np.zeros(36),
    )  # fmt: skip


WARMUP = {"hold_feet": _hold_arguments}
