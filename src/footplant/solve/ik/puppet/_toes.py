"""Bend a performer's toes out of the scene: recordings track toes badly.

A toe in the floor would lift the whole foot of a character that must stay out of it, with every jitter.
"""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.importance import contact_place, share
from footplant.kernels.quaternion import multiply, rotate
from footplant.kernels.scene import HEIGHT_FIELD, distance
from footplant.solve.ik.puppet._pace import limit_shift
from footplant.solve.ik.puppet._tables import AT, soften

BEND, OWN, TURN = 1, 10, 16
"""Columns of `Memory.toes`: the bend, the angle by which the toes have turned themselves, and their rotation."""


@uncounted_jit
def depth_of(character, n, things, poses, positions, rotations):
    """Return the penetration of contact point n into the scene (metres, negative outside) and the way out."""
    x, y, z = contact_place(character, n, positions, rotations)
    deepest, ux, uy, uz = -1e3, 0.0, 1.0, 0.0
    for o in range(things.kinds.shape[0]):
        d, nx, ny, nz = distance(things, o, poses[o], x, y, z)
        # heights between the points of a height field fitted to footplants are unreliable
        if -d > deepest and things.kinds[o] != HEIGHT_FIELD:
            deepest, ux, uy, uz = -d, nx, ny, nz
    return deepest, ux, uy, uz


@uncounted_jit
def hinge(character, first, ankle, toes, positions, rotations):
    """Return the unit axis across a foot about which toes bend up, from its ankle, heel and toe joint."""
    hx, hy, hz = contact_place(character, first, positions, rotations)
    hx, hy, hz = hx - positions[ankle, 0], hy - positions[ankle, 1], hz - positions[ankle, 2]
    x, y, z = (
        positions[toes, 0] - positions[ankle, 0],
        positions[toes, 1] - positions[ankle, 1],
        positions[toes, 2] - positions[ankle, 2],
    )
    ax, ay, az = hy * z - hz * y, hz * x - hx * z, hx * y - hy * x
    norm = max(math.sqrt(ax * ax + ay * ay + az * az), 1e-12)
    return ax / norm, ay / norm, az / norm


@uncounted_jit
def wanted_bend(character, limb, things, poses, positions, rotations, tuning):
    """Return the bend of a leg's toes (radians) and its axis (3).

    Where the tip is deeper in the scene than heel and ball, it is raised to their level.
    """
    first, ankle = 3 * limb - 4, character.limbs[limb, 2]
    toes = character.carriers[first + 2]
    ax, ay, az = hinge(character, first, ankle, toes, positions, rotations)
    depth, nx, ny, nz = depth_of(character, first + 2, things, poses, positions, rotations)
    if depth <= -tuning[AT.toe_slack]:
        return 0.0, ax, ay, az
    heel, _, _, _ = depth_of(character, first, things, poses, positions, rotations)
    ball, bx, by, bz = depth_of(character, first + 1, things, poses, positions, rotations)
    need = soften(depth - max(heel, ball, 0.0) - tuning[AT.toe_slack], tuning[AT.toe_slack])
    # next to an edge, bending toes does not remove the penetration
    need *= share((1.0 - nx * bx - ny * by - nz * bz) / tuning[AT.toe_alike])
    x, y, z = contact_place(character, first + 2, positions, rotations)
    x, y, z = x - positions[toes, 0], y - positions[toes, 1], z - positions[toes, 2]
    # rate of the tip's height with the angle; steep toes are bent less than needed, or they would snap up
    rate = (ay * z - az * y) * nx + (az * x - ax * z) * ny + (ax * y - ay * x) * nz
    length = max(math.sqrt(x * x + y * y + z * z), 1e-6)
    angle = (
        need
        / math.sqrt(rate * rate + (tuning[AT.toe_steep] * length) ** 2)
        * share(-rate / (tuning[AT.toe_backwards] * length))
    )
    return min(angle, tuning[AT.toe_most]), ax, ay, az


@uncounted_jit
def own_turn(before, now, axis, started):
    """Return the radians about an axis by which toes turned since the frame before; `before` (4) becomes `now`."""
    w, x, y, z = multiply(now[0], now[1], now[2], now[3], before[0], -before[1], -before[2], -before[3])
    for k in range(4):
        before[k] = now[k]
    if not started:
        return 0.0
    along = axis[0] * x + axis[1] * y + axis[2] * z
    return 2.0 * math.atan(along / w) if abs(w) > 1e-9 else 0.0


@uncounted_jit
def bend_toes(parents, character, things, poses, clock, bends, positions, rotations, tuning, scratch):
    """Bend the toes of a pose out of the scene (see `wanted_bend`) about their joints.

    bends: (2, 20), kept from frame to frame, see `Memory.toes`. The bend undoes at once what the toes turn down
    themselves, so that toes that tremble in the floor stay on it. Otherwise it turns no faster than `toe_rate`, its
    tip takes a share of `clock.bound`, and it returns slowly. positions (J, 3) and rotations (J, 4), world: those of
    toes and their descendants change. scratch: (2 or more, 3) is overwritten.
    """
    dt, started, free, want = clock.dt, clock.started, scratch[0], scratch[1]
    for k in range(3):
        free[k], want[k] = 0.0, 0.0
    for limb in range(2, 4):
        first, ankle = 3 * limb - 4, character.limbs[limb, 2]
        toes = character.carriers[first + 2]
        if ankle < 0 or toes < 0 or toes == ankle or character.carriers[first] < 0 or character.carriers[first + 1] < 0:
            continue
        angle, ax, ay, az = wanted_bend(character, limb, things, poses, positions, rotations, tuning)
        row = bends[limb - 2]
        turned = own_turn(row[TURN:], rotations[toes], (ax, ay, az), started)
        if started and angle < row[0]:
            angle += (row[0] - angle) * math.exp(-0.6931471805599453 * dt / tuning[AT.toe_return])
        row[0] = angle
        x, y, z = contact_place(character, first + 2, positions, rotations)
        x, y, z = x - positions[toes, 0], y - positions[toes, 1], z - positions[toes, 2]
        length = max(math.sqrt(x * x + y * y + z * z), 1e-3)
        if started:
            angle = min(angle, row[BEND] + tuning[AT.toe_rate] * dt + max(-turned, 0.0))
        free[0], want[0] = row[OWN] + turned, angle
        limit_shift(row[BEND:TURN], free, want, tuning[AT.toe_share] * clock.bound / length, clock, tuning)
        angle = want[0]
        if angle <= 1e-9:
            continue
        w, s = math.cos(0.5 * angle), math.sin(0.5 * angle)
        bx, by, bz = s * ax, s * ay, s * az
        for k in range(toes, parents.shape[0]):
            above = k
            while above > toes:
                above = parents[above]
            if above != toes:
                continue
            q = rotations[k]
            q[0], q[1], q[2], q[3] = multiply(w, bx, by, bz, q[0], q[1], q[2], q[3])
            x, y, z = rotate(
                w, bx, by, bz, positions[k, 0] - positions[toes, 0], positions[k, 1] - positions[toes, 1],
                positions[k, 2] - positions[toes, 2],
            )  # fmt: skip
            positions[k, 0] = positions[toes, 0] + x
            positions[k, 1] = positions[toes, 1] + y
            positions[k, 2] = positions[toes, 2] + z


WARMUP: dict = {}
