"""Two-bone IK in closed form (Lee & Shin 1999, section 5.3): bend the hinge, aim at the goal, swivel.

Vectors of the hinge are in the frame of the upper joint (shoulder, hip), goals in the world. The hinge rotates about a
fixed axis; bones need not be perpendicular to it, nor in one plane. `reach` solves one limb from its rotations;
`bend_limb` one inside a posed skeleton, with twist joints inside its bones. Vectors are tuples (x, y, z).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.quaternion import exp, log, multiply, rotate

REACHED = 0
"""The end is on its goal."""
TOO_FAR = 1
"""The goal is beyond full extension."""
TOO_NEAR = 2
"""The goal is nearer than the largest flexion allows."""
SOFTENED = 3
"""Within reach, but held back near full extension by the softness."""
CLEARLY_BENT = 0.4
"""Sine of the flexion from which the plane of the bent limb fully replaces its hinge axis."""
ALIKE = 0.4
"""Cosine of the angle between that plane's normal and the hinge axis from which it does so; at 0 the limb counts as
bent backwards and keeps its hinge axis."""
UP = (0.0, 1.0, 0.0)
"""The world's vertical."""
FOLDED = 1.5
"""Radians of backward flexion beyond which a limb counts as folded through (over-flexed), not as bent backwards."""


@jit
def axis_turn(x, y, z, angle):
    """Return the quaternion of a rotation about a unit axis."""
    s = math.sin(0.5 * angle)
    return math.cos(0.5 * angle), s * x, s * y, s * z


@jit
def bend(u, v, n, distance, softness, least, most):
    """Return the hinge rotation that puts the limb's ends `distance` apart: (rotation, flexion, status).

    u points from the hinge to the upper joint, v to the end in the reference pose, n is the axis. Flexion is 0 when the
    bones are as straight as the axis allows and grows as v rotates about n; it is clamped to least … most. With
    `softness` s the last share s of the reach is approached by tanh, so that the hinge never snaps straight.
    """
    ux, uy, uz = u
    vx, vy, vz = v
    nx, ny, nz = n
    un = ux * nx + uy * ny + uz * nz
    vn = vx * nx + vy * ny + vz * nz
    ax, ay, az = un * nx - ux, un * ny - uy, un * nz - uz
    bx, by, bz = vx - vn * nx, vy - vn * ny, vz - vn * nz
    radii = math.sqrt((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz))
    sine = nx * (ay * bz - az * by) + ny * (az * bx - ax * bz) + nz * (ax * by - ay * bx)
    now = math.atan2(sine, ax * bx + ay * by + az * bz)
    # distance² = constant + 2·r1·r2·cos(flexion), with r1, r2 the bones' distances from the axis; unlike the paper's
    # formula this keeps the signs of the axial parts
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
    # captures of kneeling people have over-flexed knees; correcting single frames would make them flip
    return (-flexion if now < -FOLDED else flexion) - now, flexion, status


@jit
def own_hinge(u, v, n):
    """Return the axis about which a clearly bent limb is bent now; its hinge axis when it is nearly straight.

    u points from the hinge to the upper joint, v to the end, n is the hinge axis. Captured elbows and knees bend up to
    60° away from the axis that another body has there. About that axis, bones that are not perpendicular to it could
    reach neither as far nor as near as their lengths allow.
    """
    ux, uy, uz = u
    vx, vy, vz = v
    nx, ny, nz = n
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
def aim(w, g, n):
    """Return the smallest rotation from direction w to g; if opposite, half a turn about n's part normal to w.

    A zero vector (the goal is the shoulder itself, or the limb is folded to nothing) gives the identity.
    """
    wx, wy, wz = w
    gx, gy, gz = g
    nx, ny, nz = n
    ww = wx * wx + wy * wy + wz * wz
    gg = gx * gx + gy * gy + gz * gz
    if ww < 1e-24 or gg < 1e-24:
        return 1.0, 0.0, 0.0, 0.0
    lengths = math.sqrt(ww * gg)
    real = lengths + wx * gx + wy * gy + wz * gz
    if real < 1e-12 * lengths:
        along = (nx * wx + ny * wy + nz * wz) / ww
        x, y, z = nx - along * wx, ny - along * wy, nz - along * wz
        norm = math.sqrt(x * x + y * y + z * z)
        if norm < 1e-9:
            return 1.0, 0.0, 0.0, 0.0
        return 0.0, x / norm, y / norm, z / norm
    x, y, z = wy * gz - wz * gy, wz * gx - wx * gz, wx * gy - wy * gx
    norm = math.sqrt(real * real + x * x + y * y + z * z)
    return real / norm, x / norm, y / norm, z / norm


@jit
def pole_angle(g, n, p):
    """Return the swivel about the unit vector g that brings the bending side of hinge n, g × n, towards the pole p.

    It is measured from the hinge axis, not from the elbow's position, so that it does not jump when the limb is
    straight.
    """
    gx, gy, gz = g
    nx, ny, nz = n
    px, py, pz = p
    bx, by, bz = gy * nz - gz * ny, gz * nx - gx * nz, gx * ny - gy * nx
    along = gx * px + gy * py + gz * pz
    px, py, pz = px - along * gx, py - along * gy, pz - along * gz
    cross = gx * (by * pz - bz * py) + gy * (bz * px - bx * pz) + gz * (bx * py - by * px)
    return math.atan2(cross, bx * px + by * py + bz * pz)


class Hinge(NamedTuple):
    """The hinge of a limb."""

    axis: NDArray
    """(3,) unit axis in the upper joint's frame."""
    own_plane: bool
    """Whether a clearly bent limb keeps its plane: see `own_hinge`."""
    softness: float
    least: float
    """Least flexion, radians."""
    most: float
    """Largest flexion, radians."""


class LimbPose(NamedTuple):
    """A limb at one frame, before it is solved."""

    parent: NDArray
    """(4,) world rotation above the limb."""
    upper: NDArray
    """(4,) local rotation of the upper joint."""
    lower: NDArray
    """(4,) rotation of the lower joint in the upper joint's frame."""
    upper_offset: NDArray
    """(3,) the hinge in the upper joint's frame, metres."""
    lower_offset: NDArray
    """(3,) the end in the lower joint's frame, metres."""
    origin: NDArray
    """(3,) world position of the upper joint, metres."""


class LimbAim(NamedTuple):
    """Where the end of a limb should be at one frame."""

    goal: NDArray
    """(3,) world, metres."""
    pole: NDArray
    """(3,) world direction of the pole."""
    use_pole: bool
    swivel: float
    """Radians, measured from the pole if there is one."""


@uncounted_jit
def reach(hinge, pose, wish, new_upper, new_lower):
    """Solve one limb at one frame: write the local rotations, return (residual in metres, flexion, status).

    hinge: `Hinge`, whose axis is taken as it is; pose: `LimbPose`; wish: `LimbAim`. The limb is bent, aimed by the
    smallest rotation, then swivelled about the line to the goal.
    """
    parent, upper, lower = pose.parent, pose.upper, pose.lower
    upper_offset, lower_offset, origin = pose.upper_offset, pose.lower_offset, pose.origin
    axis, goal = hinge.axis, wish.goal
    nx, ny, nz = axis[0], axis[1], axis[2]
    ux, uy, uz = -upper_offset[0], -upper_offset[1], -upper_offset[2]
    vx, vy, vz = rotate(lower[0], lower[1], lower[2], lower[3], lower_offset[0], lower_offset[1], lower_offset[2])
    gx, gy, gz = goal[0] - origin[0], goal[1] - origin[1], goal[2] - origin[2]
    length = math.sqrt(gx * gx + gy * gy + gz * gz)
    turn, flexion, status = bend(
        (ux, uy, uz), (vx, vy, vz), (nx, ny, nz), length, hinge.softness, hinge.least, hinge.most
    )  # fmt: skip
    tw, tx, ty, tz = axis_turn(nx, ny, nz, turn)
    new_lower[0], new_lower[1], new_lower[2], new_lower[3] = multiply(
        tw, tx, ty, tz, lower[0], lower[1], lower[2], lower[3]
    )
    vx, vy, vz = rotate(tw, tx, ty, tz, vx, vy, vz)
    pw, px, py, pz = parent[0], parent[1], parent[2], parent[3]
    qw, qx, qy, qz = multiply(pw, px, py, pz, upper[0], upper[1], upper[2], upper[3])
    wx, wy, wz = rotate(qw, qx, qy, qz, vx - ux, vy - uy, vz - uz)
    hx, hy, hz = rotate(qw, qx, qy, qz, nx, ny, nz)
    sw, sx, sy, sz = aim((wx, wy, wz), (gx, gy, gz), (hx, hy, hz))
    if length > 1e-12:
        dx, dy, dz = gx / length, gy / length, gz / length
        angle = wish.swivel
        if wish.use_pole:
            pole = (wish.pole[0], wish.pole[1], wish.pole[2])
            angle += pole_angle((dx, dy, dz), rotate(sw, sx, sy, sz, hx, hy, hz), pole)
        aw, ax, ay, az = axis_turn(dx, dy, dz, angle)
        sw, sx, sy, sz = multiply(aw, ax, ay, az, sw, sx, sy, sz)
    qw, qx, qy, qz = multiply(sw, sx, sy, sz, qw, qx, qy, qz)
    rx, ry, rz = rotate(qw, qx, qy, qz, vx - ux, vy - uy, vz - uz)
    new_upper[0], new_upper[1], new_upper[2], new_upper[3] = multiply(pw, -px, -py, -pz, qw, qx, qy, qz)
    return math.sqrt((rx - gx) ** 2 + (ry - gy) ** 2 + (rz - gz) ** 2), flexion, status


class LimbPoses(NamedTuple):
    """A limb at F frames, before it is solved."""

    parents: NDArray
    """(F, 4) world rotations above the limb."""
    uppers: NDArray
    """(F, 4) local rotations of the upper joint."""
    lowers: NDArray
    """(F, 4) rotations of the lower joint in the upper joint's frame."""
    upper_offsets: NDArray
    """(1 or F, 3) the hinge in the upper joint's frame, metres."""
    lower_offsets: NDArray
    """(1 or F, 3) the end in the lower joint's frame, metres."""
    origins: NDArray
    """(F, 3) world positions of the upper joint, metres."""


class Aims(NamedTuple):
    """Where the end of a limb should be at F frames."""

    goals: NDArray
    """(F, 3) world, metres."""
    poles: NDArray
    """(F, 3) world directions of the pole."""
    use_pole: bool
    swivels: NDArray
    """(F,) radians."""


class LimbAnswers(NamedTuple):
    """What `reach_all` writes, F frames."""

    uppers: NDArray
    """(F, 4) local rotations."""
    lowers: NDArray
    """(F, 4)."""
    residuals: NDArray
    """(F,) metres."""
    flexions: NDArray
    """(F,) radians."""
    statuses: NDArray
    """(F,) int64."""


@jit
def reach_all(hinge, poses, aims, out):
    """Apply `reach` to every frame."""
    axis, n = hinge.axis.copy(), (hinge.axis[0], hinge.axis[1], hinge.axis[2])
    own = Hinge(axis, hinge.own_plane, hinge.softness, hinge.least, hinge.most)
    upper_step = 0 if poses.upper_offsets.shape[0] == 1 else 1
    lower_step = 0 if poses.lower_offsets.shape[0] == 1 else 1
    for f in range(aims.goals.shape[0]):
        u, v, lower = poses.upper_offsets[f * upper_step], poses.lower_offsets[f * lower_step], poses.lowers[f]
        if hinge.own_plane:
            vx, vy, vz = rotate(lower[0], lower[1], lower[2], lower[3], v[0], v[1], v[2])
            axis[0], axis[1], axis[2] = own_hinge((-u[0], -u[1], -u[2]), (vx, vy, vz), n)
        pose = LimbPose(poses.parents[f], poses.uppers[f], lower, u, v, poses.origins[f])
        wish = LimbAim(aims.goals[f], aims.poles[f], aims.use_pole, aims.swivels[f])
        out.residuals[f], out.flexions[f], out.statuses[f] = reach(own, pose, wish, out.uppers[f], out.lowers[f])


@uncounted_jit
def path_turn(parents, local, upper, joint):
    """Return the rotation of a joint's parent in the frame of an ancestor: the product of the joints between."""
    w, x, y, z = 1.0, 0.0, 0.0, 0.0
    a = parents[joint]
    while a != upper:
        w, x, y, z = multiply(local[a, 0], local[a, 1], local[a, 2], local[a, 3], w, x, y, z)
        a = parents[a]
    return w, x, y, z


@uncounted_jit
def path_offset(parents, offsets, local, upper, joint):
    """Return the position of a joint in the frame of an ancestor, through the twist joints between."""
    x, y, z = offsets[joint, 0], offsets[joint, 1], offsets[joint, 2]
    a = parents[joint]
    while a != upper:
        x, y, z = rotate(local[a, 0], local[a, 1], local[a, 2], local[a, 3], x, y, z)
        x, y, z = x + offsets[a, 0], y + offsets[a, 1], z + offsets[a, 2]
        a = parents[a]
    return x, y, z


class SkeletonLimb(NamedTuple):
    """A limb of a skeleton."""

    upper: int
    lower: int
    end: int
    axis: NDArray
    """(3,) unit hinge axis in the upper joint's frame."""
    least: float
    """Least flexion, radians."""
    most: float
    """Largest flexion, radians."""
    swivel: float
    """Radians."""
    softness: float


class LimbGoal(NamedTuple):
    """The goal of a limb's end."""

    place: NDArray
    """(3,) world, metres."""
    turn: NDArray
    """(4,) world rotation."""
    weight: float
    """Share of the way to the position, 0 to 1."""
    turn_weight: float
    """Share of the way to the orientation, 0 to 1."""


@uncounted_jit
def bend_limb(parents, offsets, limb, goal, positions, rotations, local, scratch):
    """Solve a limb in closed form under a posed trunk: write its local rotations, return (metres left, status).

    limb: `SkeletonLimb`; goal: `LimbGoal`; scratch (7, 4) is workspace.
    """
    upper, lower, end, axis = limb.upper, limb.lower, limb.end, limb.axis
    p = parents[upper]
    pw, px, py, pz = 1.0, 0.0, 0.0, 0.0
    if p >= 0:
        pw, px, py, pz = rotations[p, 0], rotations[p, 1], rotations[p, 2], rotations[p, 3]
    bw, bx, by, bz = path_turn(parents, local, upper, lower)
    hx, hy, hz = path_offset(parents, offsets, local, upper, lower)
    ex, ey, ez = path_offset(parents, offsets, local, lower, end)
    scratch[0, 0], scratch[0, 1], scratch[0, 2], scratch[0, 3] = pw, px, py, pz
    scratch[1, 0], scratch[1, 1], scratch[1, 2], scratch[1, 3] = multiply(
        bw, bx, by, bz, local[lower, 0], local[lower, 1], local[lower, 2], local[lower, 3]
    )
    scratch[2, 0], scratch[2, 1], scratch[2, 2] = hx, hy, hz
    scratch[3, 0], scratch[3, 1], scratch[3, 2] = ex, ey, ez
    # the end in the present pose: goals of partial weight start from it
    uw, ux, uy, uz = multiply(pw, px, py, pz, local[upper, 0], local[upper, 1], local[upper, 2], local[upper, 3])
    lw, lx, ly, lz = multiply(uw, ux, uy, uz, scratch[1, 0], scratch[1, 1], scratch[1, 2], scratch[1, 3])
    tw, tx, ty, tz = path_turn(parents, local, lower, end)
    tw, tx, ty, tz = multiply(lw, lx, ly, lz, tw, tx, ty, tz)
    ow, ox, oy, oz = multiply(tw, tx, ty, tz, local[end, 0], local[end, 1], local[end, 2], local[end, 3])
    vx, vy, vz = rotate(uw, ux, uy, uz, hx, hy, hz)
    cx, cy, cz = rotate(lw, lx, ly, lz, ex, ey, ez)
    scratch[4, 0] = positions[upper, 0] + vx + cx
    scratch[4, 1] = positions[upper, 1] + vy + cy
    scratch[4, 2] = positions[upper, 2] + vz + cz
    for k in range(3):
        scratch[4, k] += goal.weight * (goal.place[k] - scratch[4, k])
    cx, cy, cz = rotate(scratch[1, 0], scratch[1, 1], scratch[1, 2], scratch[1, 3], ex, ey, ez)
    # `reach` reads this row before it writes to it
    plane = scratch[6]
    plane[0], plane[1], plane[2] = own_hinge((-hx, -hy, -hz), (cx, cy, cz), (axis[0], axis[1], axis[2]))
    hinge = Hinge(plane, True, limb.softness, limb.least, limb.most)
    pose = LimbPose(scratch[0], local[upper], scratch[1], scratch[2], scratch[3], positions[upper])
    wish = LimbAim(scratch[4], scratch[2], False, limb.swivel)
    residual, _, status = reach(hinge, pose, wish, scratch[5], scratch[6])
    for k in range(4):
        local[upper, k] = scratch[5, k]
    local[lower, 0], local[lower, 1], local[lower, 2], local[lower, 3] = multiply(
        bw, -bx, -by, -bz, scratch[6, 0], scratch[6, 1], scratch[6, 2], scratch[6, 3]
    )
    if goal.turn_weight > 0.0:
        turn, share = goal.turn, goal.turn_weight
        qw, qx, qy, qz = multiply(turn[0], turn[1], turn[2], turn[3], ow, -ox, -oy, -oz)
        gx, gy, gz = log(qw, qx, qy, qz)
        qw, qx, qy, qz = exp(share * gx, share * gy, share * gz)
        ow, ox, oy, oz = multiply(qw, qx, qy, qz, ow, ox, oy, oz)
        uw, ux, uy, uz = multiply(pw, px, py, pz, scratch[5, 0], scratch[5, 1], scratch[5, 2], scratch[5, 3])
        lw, lx, ly, lz = multiply(uw, ux, uy, uz, scratch[6, 0], scratch[6, 1], scratch[6, 2], scratch[6, 3])
        tw, tx, ty, tz = path_turn(parents, local, lower, end)
        tw, tx, ty, tz = multiply(lw, lx, ly, lz, tw, tx, ty, tz)
        local[end, 0], local[end, 1], local[end, 2], local[end, 3] = multiply(tw, -tx, -ty, -tz, ow, ox, oy, oz)
    return residual, status


def _smallest_call():
    rows, turns = np.zeros((1, 3)), np.zeros((1, 4))
    return (
        Hinge(np.array([1.0, 0.0, 0.0]), False, 0.0, 0.0, 1.0),
        LimbPoses(turns, turns, turns, rows, rows, rows),
        Aims(rows, rows, False, np.zeros(1)),
        LimbAnswers(np.zeros((1, 4)), np.zeros((1, 4)), np.zeros(1), np.zeros(1), np.zeros(1, np.int64)),
    )


WARMUP = {"reach_all": _smallest_call}
