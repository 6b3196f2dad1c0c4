"""Toes of a performer that would be in the scene, bent out of it: recordings track them badly.

A toe in the floor would else lift the whole foot of a character that must stay out of it, with every tremble.
"""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.importance import contact_place, share
from footplant.kernels.quaternion import multiply, rotate
from footplant.kernels.scene import HEIGHT_FIELD, distance
from footplant.solve.ik.puppet._tables import soften

SLACK = 0.0005
"""Metres that the tip of toes may be deeper in the scene than the rest of their foot."""
STEEP = 0.7
"""Cosine of the slope of toes from which on they are bent less than it takes."""
BACKWARDS = 0.3
"""Cosine of how far toes may point backwards into the scene; from there on they are left alone."""
MOST_BEND = 1.0
"""Radians that toes are bent up at most."""
FASTEST, FADES = 9.0, 0.4
"""Radians a second at which toes are bent up at most, and half-life in seconds in which they come down again."""
ALIKE = 0.05
"""How much the directions out of the scene at tip and ball may differ (1 − cosine) where it is one floor."""


@uncounted_jit
def depth_of(figure, n, things, poses, positions, rotations):
    """Metres that contact point n is in the scene (below 0: outside), and the unit direction out of it."""
    x, y, z = contact_place(figure, n, positions, rotations)
    deepest, ux, uy, uz = -1e3, 0.0, 1.0, 0.0
    for o in range(things.kinds.shape[0]):
        d, nx, ny, nz = distance(things, o, poses[o], x, y, z)
        # what is between the places of a height field that is guessed from plants may be anything
        if -d > deepest and things.kinds[o] != HEIGHT_FIELD:
            deepest, ux, uy, uz = -d, nx, ny, nz
    return deepest, ux, uy, uz


@uncounted_jit
def hinge(figure, first, ankle, toes, positions, rotations):
    """The unit axis across a foot about which toes bend up, from where its ankle, its heel and the toes' joint are."""
    hx, hy, hz = contact_place(figure, first, positions, rotations)
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
def wanted_bend(figure, limb, things, poses, positions, rotations):
    """Radians by which the toes of a leg's foot should be bent up, and the axis (3) across the foot to bend them about.

    Where their tip is deeper in the scene than heel and ball, by what it takes to bring it up to those.
    """
    first, ankle = 3 * limb - 4, figure.limbs[limb, 2]
    toes = figure.carriers[first + 2]
    ax, ay, az = hinge(figure, first, ankle, toes, positions, rotations)
    depth, nx, ny, nz = depth_of(figure, first + 2, things, poses, positions, rotations)
    if depth <= -SLACK:
        return 0.0, ax, ay, az
    heel, _, _, _ = depth_of(figure, first, things, poses, positions, rotations)
    ball, bx, by, bz = depth_of(figure, first + 1, things, poses, positions, rotations)
    need = soften(depth - max(heel, ball, 0.0) - SLACK, SLACK)
    # beside an edge, what is in the scene is no matter of toes
    need *= share((1.0 - nx * bx - ny * by - nz * bz) / ALIKE)
    x, y, z = contact_place(figure, first + 2, positions, rotations)
    x, y, z = x - positions[toes, 0], y - positions[toes, 1], z - positions[toes, 2]
    # how fast the tip rises with the angle; steep toes are bent less than it takes, or they would snap up
    rate = (ay * z - az * y) * nx + (az * x - ax * z) * ny + (ax * y - ay * x) * nz
    length = max(math.sqrt(x * x + y * y + z * z), 1e-6)
    angle = need / math.sqrt(rate * rate + (STEEP * length) ** 2) * share(-rate / (BACKWARDS * length))
    return min(angle, MOST_BEND), ax, ay, az


@uncounted_jit
def bend_toes(parents, figure, things, poses, dt, started, bends, positions, rotations):
    """Bend toes of a pose out of the scene (see `wanted_bend`), about their joints.

    bends: (2,) radians, carried on from frame to frame: toes bend in no time, but not faster than toes do, and are
    slow to give up what they had to do a moment ago, so that trembling ones lift no foot. positions (J, 3) and
    rotations (J, 4), world: those of the toes and of what hangs on them change.
    """
    for limb in range(2, 4):
        first, ankle = 3 * limb - 4, figure.limbs[limb, 2]
        toes = figure.carriers[first + 2]
        if ankle < 0 or toes < 0 or toes == ankle or figure.carriers[first] < 0 or figure.carriers[first + 1] < 0:
            continue
        angle, ax, ay, az = wanted_bend(figure, limb, things, poses, positions, rotations)
        if started:
            before = bends[limb - 2]
            if angle > before:
                angle = min(angle, before + FASTEST * dt)
            else:
                angle += (before - angle) * math.exp(-0.6931471805599453 * dt / FADES)
        bends[limb - 2] = angle
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
