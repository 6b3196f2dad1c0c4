"""Compiled comparison of two bodies frame by frame: limb directions, bends, palms, distances from the body.

Bodies are positions (F, 18, 3), metres: the joints of `pair.JOINTS` in their order and a finger of each hand, NaN where
a body has no such joint. NaN goes through to the figures that need the joint.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import multiply

HIPS, HEAD, ARM, LEG, SIDE, FINGER = 0, 1, 2, 5, 7, 16
"""Columns: hips, head, the first of the left arm's and leg's, columns per side, the left finger."""
DEGREES = 180.0 / math.pi


class Comparison(NamedTuple):
    """Figures of every frame."""

    limbs: NDArray
    """(F, 2, 4) degrees between source and result of upper arm, forearm, thigh and shin, by side."""
    bends: NDArray
    """(F, 2, 2, 2) degrees of bend by side; elbow, knee; source, result."""
    opposed: NDArray
    """(F, 2, 2) cosine between the directions in which source and result bend, by side; elbow, knee."""
    ahead: NDArray
    """(F, 2) dot product of the direction in which the source's knee bends and of its body's forward direction."""
    hands: NDArray
    """(F, 2, 2) metres between the palms and between the wrists; source, result."""
    near: NDArray
    """(F, 2, 4) metres of the source's palms from its trunk, head and thighs."""


@uncounted_jit
def angle(ax, ay, az, bx, by, bz):
    """Return the angle between two vectors, degrees."""
    cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return DEGREES * math.atan2(math.sqrt(cx * cx + cy * cy + cz * cz), ax * bx + ay * by + az * bz)


@uncounted_jit
def bone(body, f, a, b):
    """Return the vector from joint a to joint b."""
    return body[f, b, 0] - body[f, a, 0], body[f, b, 1] - body[f, a, 1], body[f, b, 2] - body[f, a, 2]


@uncounted_jit
def bend(body, f, a, way):
    """Return the bend at joint a + 1 of the chain a, a + 1, a + 2, degrees; way (3,) is its unit direction."""
    ux, uy, uz = bone(body, f, a, a + 1)
    vx, vy, vz = bone(body, f, a + 1, a + 2)
    cx, cy, cz = bone(body, f, a, a + 2)
    share = (ux * cx + uy * cy + uz * cz) / max(cx * cx + cy * cy + cz * cz, 1e-24)
    x, y, z = ux - share * cx, uy - share * cy, uz - share * cz
    length = max(math.sqrt(x * x + y * y + z * z), 1e-12)
    way[0], way[1], way[2] = x / length, y / length, z / length
    return angle(ux, uy, uz, vx, vy, vz)


@uncounted_jit
def palm(body, f, side, fingers, reach):
    """Return the middle of a palm: `reach` from the wrist towards the finger, or on along the forearm."""
    wrist = ARM + SIDE * side + 2
    if fingers:
        x, y, z = bone(body, f, wrist, FINGER + side)
    else:
        x, y, z = bone(body, f, wrist - 1, wrist)
    scale = reach / max(math.sqrt(x * x + y * y + z * z), 1e-12)
    return body[f, wrist, 0] + scale * x, body[f, wrist, 1] + scale * y, body[f, wrist, 2] + scale * z


@uncounted_jit
def from_segment(p, a, b):
    """Return the distance of point p from the segment a, b."""
    px, py, pz = p
    ax, ay, az = a
    bx, by, bz = b
    ux, uy, uz = bx - ax, by - ay, bz - az
    x, y, z = px - ax, py - ay, pz - az
    share = (x * ux + y * uy + z * uz) / max(ux * ux + uy * uy + uz * uz, 1e-12)
    share = min(max(share, 0.0), 1.0)
    x, y, z = x - share * ux, y - share * uy, z - share * uz
    return math.sqrt(x * x + y * y + z * z)


@uncounted_jit
def near_body(body, f, side, x, y, z, radii, out):
    """Write the distances out[f, side] of a point from trunk, head and thighs, capsules, metres.

    radii (6,): trunk, flanks, head, thighs; then the start and the end of the skull above the head joint.
    """
    hx, hy, hz = body[f, HIPS, 0], body[f, HIPS, 1], body[f, HIPS, 2]
    ux, uy, uz = bone(body, f, HIPS, HEAD)
    length = max(math.sqrt(ux * ux + uy * uy + uz * uz), 1e-12)
    ux, uy, uz = ux / length, uy / length, uz / length
    left, right = ARM, ARM + SIDE
    nx, ny, nz = (
        0.5 * (body[f, left, 0] + body[f, right, 0]),
        0.5 * (body[f, left, 1] + body[f, right, 1]),
        0.5 * (body[f, left, 2] + body[f, right, 2]),
    )
    trunk = from_segment((x, y, z), (hx, hy, hz), (nx, ny, nz)) - radii[0]
    for other in range(2):
        arm, leg = ARM + SIDE * other, LEG + SIDE * other
        sx, sy, sz = (
            nx + 0.6 * (body[f, arm, 0] - nx),
            ny + 0.6 * (body[f, arm, 1] - ny),
            nz + 0.6 * (body[f, arm, 2] - nz),
        )
        lx, ly, lz = body[f, leg, 0], body[f, leg, 1], body[f, leg, 2]
        kx, ky, kz = body[f, leg + 1, 0], body[f, leg + 1, 1], body[f, leg + 1, 2]
        trunk = min(trunk, from_segment((x, y, z), (lx, ly, lz), (sx, sy, sz)) - radii[1])
        out[f, side, 2 + other] = from_segment((x, y, z), (lx, ly, lz), (kx, ky, kz)) - radii[3]
    a, b = radii[4], radii[5]
    gx, gy, gz = body[f, HEAD, 0], body[f, HEAD, 1], body[f, HEAD, 2]
    out[f, side, 0] = trunk
    low, high = (gx + a * ux, gy + a * uy, gz + a * uz), (gx + b * ux, gy + b * uy, gz + b * uz)
    out[f, side, 1] = from_segment((x, y, z), low, high) - radii[2]


@uncounted_jit
def compare_frames(source, result, fingers, reach, radii, ways, palms, out):
    """Write the `Comparison` of two bodies (F, 18, 3); fingers: whether palms point to one, reach: metres to them.

    ways and palms (2, 3): workspace.
    """
    # loops instead of repeated calls: each call is compiled into the loop once more
    for f in range(source.shape[0]):
        for side in range(2):
            for n in range(4):
                a = (ARM if n < 2 else LEG - 2) + SIDE * side + n
                ax, ay, az = bone(source, f, a, a + 1)
                bx, by, bz = bone(result, f, a, a + 1)
                out.limbs[f, side, n] = angle(ax, ay, az, bx, by, bz)
            for n in range(2):
                for which in range(2):
                    body = source if which == 0 else result
                    a = (ARM if n == 0 else LEG) + SIDE * side
                    out.bends[f, side, n, which] = bend(body, f, a, ways[which])
                out.opposed[f, side, n] = ways[0, 0] * ways[1, 0] + ways[0, 1] * ways[1, 1] + ways[0, 2] * ways[1, 2]
            lx, ly, lz = bone(source, f, LEG + SIDE, LEG)
            ux, uy, uz = bone(source, f, HIPS, HEAD)
            out.ahead[f, side] = (
                ways[0, 0] * (ly * uz - lz * uy) + ways[0, 1] * (lz * ux - lx * uz) + ways[0, 2] * (lx * uy - ly * ux)
            )
        for which in range(2):
            body = source if which == 0 else result
            for side in range(2):
                palms[side, 0], palms[side, 1], palms[side, 2] = palm(body, f, side, fingers, reach)
                if which == 0:
                    near_body(body, f, side, palms[side, 0], palms[side, 1], palms[side, 2], radii, out.near)
            square = wrists = 0.0
            for k in range(3):
                apart = palms[0, k] - palms[1, k]
                square += apart * apart
                apart = body[f, ARM + 2, k] - body[f, ARM + SIDE + 2, k]
                wrists += apart * apart
            out.hands[f, 0, which], out.hands[f, 1, which] = math.sqrt(square), math.sqrt(wrists)


@uncounted_jit
def differences(body, columns, lengths):
    """Write the lengths (F−2, N) of second differences of some columns; return the mean |third difference| per axis."""
    total = 0.0
    for f in range(2, body.shape[0]):
        for n in range(columns.shape[0]):
            j = columns[n]
            square = 0.0
            for k in range(3):
                change = body[f, j, k] - 2.0 * body[f - 1, j, k] + body[f - 2, j, k]
                square += change * change
                if f > 2:
                    total += abs(body[f, j, k] - 3.0 * (body[f - 1, j, k] - body[f - 2, j, k]) - body[f - 3, j, k])
            lengths[f - 2, n] = math.sqrt(square)
    return total / max(3 * (body.shape[0] - 3) * columns.shape[0], 1)


@uncounted_jit
def finger_ranges(rotations, pairs, first, last, out):
    """Write the largest angle (N,) of finger joints in their hands from frame `first` to any before `last`, radians.

    rotations: (F, J, 4) in the world; pairs: (N, 2) hand and finger joints.
    """
    for n in range(pairs.shape[0]):
        hand, finger = pairs[n, 0], pairs[n, 1]
        ow = ox = oy = oz = 0.0
        least = 1.0
        for f in range(first, last):
            w, x, y, z = multiply(
                rotations[f, hand, 0], -rotations[f, hand, 1], -rotations[f, hand, 2], -rotations[f, hand, 3],
                rotations[f, finger, 0], rotations[f, finger, 1], rotations[f, finger, 2], rotations[f, finger, 3],
            )  # fmt: skip
            if f == first:
                ow, ox, oy, oz = w, x, y, z
            least = min(least, abs(w * ow + x * ox + y * oy + z * oz))
        out[n] = 2.0 * math.acos(min(least, 1.0))


def _comparison():
    return Comparison(
        np.zeros((1, 2, 4)), np.zeros((1, 2, 2, 2)), np.zeros((1, 2, 2)), np.zeros((1, 2)), np.zeros((1, 2, 2)),
        np.zeros((1, 2, 4)),
    )  # fmt: skip


def _rotations():
    array = np.zeros((1, 1, 4))
    array.setflags(write=False)
    return array


WARMUP = {
    "compare_frames": lambda: (
        np.zeros((1, 18, 3)), np.zeros((1, 18, 3)), False, 0.1, np.zeros(6), np.zeros((2, 3)), np.zeros((2, 3)),
        _comparison(),
    ),
    "differences": lambda: (np.zeros((3, 18, 3)), np.zeros(1, np.int64), np.zeros((1, 1))),
    "finger_ranges": lambda: (_rotations(), np.zeros((1, 2), np.int64), 0, 1, np.zeros(1)),
}  # fmt: skip
