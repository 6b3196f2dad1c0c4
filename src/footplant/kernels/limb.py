"""A limb of two bones in closed form (Lee & Shin 1999, section 5.3): hinge, aim, swivel.

All vectors of the hinge are in the frame of the upper joint (shoulder, hip), all goals in the world. The hinge turns
about a fixed axis; bones need not be perpendicular to it, nor in one plane.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.quaternion import multiply, rotate

REACHED = 0
TOO_FAR = 1
TOO_NEAR = 2
SOFTENED = 3
CLEARLY_BENT = 0.4
"""Sine of the flexion from where on a limb tells itself about which axis it is bent."""
ALIKE = 0.4
"""Cosine of what lies between that axis and the hinge, below which it is rather bent the wrong way."""
FOLDED = 1.5
"""Radians beyond which a limb that seems to be bent the wrong way has been folded through instead."""


@jit
def axis_turn(x, y, z, angle):
    """The quaternion that turns about a unit axis."""
    s = math.sin(0.5 * angle)
    return math.cos(0.5 * angle), s * x, s * y, s * z


@jit
def bend(ux, uy, uz, vx, vy, vz, nx, ny, nz, distance, softness, least, most):
    """How far to turn the hinge so that its ends are `distance` apart: (turn, flexion, status).

    u points from the hinge to the upper joint, v to the end in the reference pose, n is the axis. Flexion is 0 when
    the bones are as straight as the axis lets them be and grows as v turns about n; it is kept in least … most.
    With `softness` s the last share s of the reach is approached as by tanh, so that the hinge never snaps straight.
    """
    un = ux * nx + uy * ny + uz * nz
    vn = vx * nx + vy * ny + vz * nz
    ax, ay, az = un * nx - ux, un * ny - uy, un * nz - uz
    bx, by, bz = vx - vn * nx, vy - vn * ny, vz - vn * nz
    radii = math.sqrt((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz))
    sine = nx * (ay * bz - az * by) + ny * (az * bx - ax * bz) + nz * (ax * by - ay * bx)
    now = math.atan2(sine, ax * bx + ay * by + az * bz)
    # distance² = constant + 2·r1·r2·cos(flexion): the formula of the paper, signs of the axial parts kept
    constant = ux * ux + uy * uy + uz * uz + vx * vx + vy * vy + vz * vz - 2.0 * un * vn
    if radii < 1e-15:
        reach = math.sqrt(max(constant, 0.0))
        status = REACHED if abs(distance - reach) < 1e-9 else (TOO_FAR if distance > reach else TOO_NEAR)
        return 0.0, now, status
    status = REACHED
    farthest = math.sqrt(max(constant + 2.0 * radii * math.cos(max(least, 0.0)), 0.0))
    if distance > farthest:
        status = TOO_FAR
    if softness > 0.0:
        width = softness * farthest
        start = farthest - width
        if distance > start:
            distance = start + width * math.tanh((distance - start) / width)
            if status == REACHED:
                status = SOFTENED
    cosine = (distance * distance - constant) / (2.0 * radii)
    if cosine < -1.0:
        status = TOO_NEAR
    flexion = math.acos(min(max(cosine, -1.0), 1.0))
    if flexion > most:
        flexion, status = most, TOO_NEAR
    elif flexion < least:
        flexion = least
    # folded beyond itself, as captures of people who kneel have it: put right at one frame only, it would flip
    return (-flexion if now < -FOLDED else flexion) - now, flexion, status


@jit
def own_hinge(ux, uy, uz, vx, vy, vz, nx, ny, nz):
    """The axis about which a limb is bent as it is, where that is clear; its hinge where it is all but straight.

    u points from the hinge to the upper joint, v to the end, n is the hinge axis. Captures bend elbows and knees by up
    to 60° beside the axis that another body has there. About that axis, bones which are not across it reach neither as
    far nor as near as they are long.
    """
    cx, cy, cz = vy * uz - vz * uy, vz * ux - vx * uz, vx * uy - vy * ux
    size = math.sqrt(cx * cx + cy * cy + cz * cz)
    lengths = math.sqrt((ux * ux + uy * uy + uz * uz) * (vx * vx + vy * vy + vz * vz))
    if size < 1e-9 * lengths or lengths < 1e-15:
        return nx, ny, nz
    cx, cy, cz = cx / size, cy / size, cz / size
    bent = min(size / (lengths * CLEARLY_BENT), 1.0)
    alike = min(max((cx * nx + cy * ny + cz * nz) / ALIKE, 0.0), 1.0)
    share = bent * bent * (3.0 - 2.0 * bent) * alike * alike * (3.0 - 2.0 * alike)
    ax, ay, az = nx + share * (cx - nx), ny + share * (cy - ny), nz + share * (cz - nz)
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    return ax / norm, ay / norm, az / norm


@jit
def aim(wx, wy, wz, gx, gy, gz, nx, ny, nz):
    """The smallest turn that takes direction w to direction g; opposite: half a turn about n's part across w.

    No direction at all (the goal is the shoulder itself, or a limb folded to nothing) is no turn.
    """
    ww = wx * wx + wy * wy + wz * wz
    gg = gx * gx + gy * gy + gz * gz
    if ww < 1e-24 or gg < 1e-24:
        return 1.0, 0.0, 0.0, 0.0
    lengths = math.sqrt(ww * gg)
    w = lengths + wx * gx + wy * gy + wz * gz
    if w < 1e-12 * lengths:
        along = (nx * wx + ny * wy + nz * wz) / ww
        x, y, z = nx - along * wx, ny - along * wy, nz - along * wz
        norm = math.sqrt(x * x + y * y + z * z)
        if norm < 1e-9:
            return 1.0, 0.0, 0.0, 0.0
        return 0.0, x / norm, y / norm, z / norm
    x, y, z = wy * gz - wz * gy, wz * gx - wx * gz, wx * gy - wy * gx
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    return w / norm, x / norm, y / norm, z / norm


@jit
def pole_angle(gx, gy, gz, nx, ny, nz, px, py, pz):
    """The swivel about g (a unit vector) that brings the side to which the hinge n bends, g × n, towards the pole p.

    Taken from the hinge and not from the elbow's place, so that it does not jump when the limb is straight.
    """
    bx, by, bz = gy * nz - gz * ny, gz * nx - gx * nz, gx * ny - gy * nx
    along = gx * px + gy * py + gz * pz
    px, py, pz = px - along * gx, py - along * gy, pz - along * gz
    cross = gx * (by * pz - bz * py) + gy * (bz * px - bx * pz) + gz * (bx * py - by * px)
    return math.atan2(cross, bx * px + by * py + bz * pz)


@uncounted_jit
def reach(
    parent, upper, lower, upper_offset, lower_offset, axis, origin, goal, pole, use_pole, swivel, softness, least, most,
    new_upper, new_lower,
):  # fmt: skip
    """One limb at one instant: writes the local rotations, returns (residual in metres, flexion, status).

    parent: world rotation above the limb; upper, lower: local rotations of the reference pose, the lower one in the
    upper joint's frame; origin: world place of the upper joint. The limb is bent, aimed by the smallest turn, then
    swivelled about the line to the goal by `swivel`, counted from the pole when there is one.
    """
    nx, ny, nz = axis[0], axis[1], axis[2]
    ux, uy, uz = -upper_offset[0], -upper_offset[1], -upper_offset[2]
    vx, vy, vz = rotate(lower[0], lower[1], lower[2], lower[3], lower_offset[0], lower_offset[1], lower_offset[2])
    gx, gy, gz = goal[0] - origin[0], goal[1] - origin[1], goal[2] - origin[2]
    length = math.sqrt(gx * gx + gy * gy + gz * gz)
    turn, flexion, status = bend(ux, uy, uz, vx, vy, vz, nx, ny, nz, length, softness, least, most)
    tw, tx, ty, tz = axis_turn(nx, ny, nz, turn)
    new_lower[0], new_lower[1], new_lower[2], new_lower[3] = multiply(
        tw, tx, ty, tz, lower[0], lower[1], lower[2], lower[3]
    )
    vx, vy, vz = rotate(tw, tx, ty, tz, vx, vy, vz)
    pw, px, py, pz = parent[0], parent[1], parent[2], parent[3]
    qw, qx, qy, qz = multiply(pw, px, py, pz, upper[0], upper[1], upper[2], upper[3])
    wx, wy, wz = rotate(qw, qx, qy, qz, vx - ux, vy - uy, vz - uz)
    hx, hy, hz = rotate(qw, qx, qy, qz, nx, ny, nz)
    sw, sx, sy, sz = aim(wx, wy, wz, gx, gy, gz, hx, hy, hz)
    if length > 1e-12:
        dx, dy, dz = gx / length, gy / length, gz / length
        angle = swivel
        if use_pole:
            hx, hy, hz = rotate(sw, sx, sy, sz, hx, hy, hz)
            angle += pole_angle(dx, dy, dz, hx, hy, hz, pole[0], pole[1], pole[2])
        aw, ax, ay, az = axis_turn(dx, dy, dz, angle)
        sw, sx, sy, sz = multiply(aw, ax, ay, az, sw, sx, sy, sz)
    qw, qx, qy, qz = multiply(sw, sx, sy, sz, qw, qx, qy, qz)
    rx, ry, rz = rotate(qw, qx, qy, qz, vx - ux, vy - uy, vz - uz)
    new_upper[0], new_upper[1], new_upper[2], new_upper[3] = multiply(pw, -px, -py, -pz, qw, qx, qy, qz)
    return math.sqrt((rx - gx) ** 2 + (ry - gy) ** 2 + (rz - gz) ** 2), flexion, status


@jit
def reach_all(
    parents, uppers, lowers, upper_offsets, lower_offsets, axis, own_plane, origins, goals, poles, use_pole, swivels,
    softness, least, most, new_uppers, new_lowers, residuals, flexions, statuses,
):  # fmt: skip
    """`reach` for every frame; offsets are (1, 3) for constant bones or (F, 3). own_plane: see `own_hinge`."""
    hinge = axis.copy()
    upper_step = 0 if upper_offsets.shape[0] == 1 else 1
    lower_step = 0 if lower_offsets.shape[0] == 1 else 1
    for f in range(goals.shape[0]):
        if own_plane:
            u, v = upper_offsets[f * upper_step], lower_offsets[f * lower_step]
            vx, vy, vz = rotate(lowers[f, 0], lowers[f, 1], lowers[f, 2], lowers[f, 3], v[0], v[1], v[2])
            hinge[0], hinge[1], hinge[2] = own_hinge(-u[0], -u[1], -u[2], vx, vy, vz, axis[0], axis[1], axis[2])
        residuals[f], flexions[f], statuses[f] = reach(
            parents[f], uppers[f], lowers[f], upper_offsets[f * upper_step], lower_offsets[f * lower_step], hinge,
            origins[f], goals[f], poles[f], use_pole, swivels[f], softness, least, most, new_uppers[f], new_lowers[f],
        )  # fmt: skip


def _smallest_call():
    rows, turns = np.zeros((1, 3)), np.zeros((1, 4))
    return (
        turns, turns, turns, rows, rows, np.array([1.0, 0.0, 0.0]), False, rows, rows, rows, False, np.zeros(1), 0.0,
        0.0, 1.0, np.zeros((1, 4)), np.zeros((1, 4)), np.zeros(1), np.zeros(1), np.zeros(1, np.int64),
    )  # fmt: skip


WARMUP = {"reach_all": _smallest_call}
