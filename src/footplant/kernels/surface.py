"""Body proxy: the surface of a body as tubes around its bones; distances, normals and surface coordinates.

A tube is eight rings of five samples (Shin 2002, section 4.2); a ring is the trigonometric interpolation of its five
samples, and the rings are interpolated by a cubic. A tube closes at its ends as a flat cap.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.height_field import CUBIC, weight
from footplant.kernels.quaternion import multiply, rotate

RINGS = 8
"""Rings of a tube."""
FAR = 0.15
"""Metres from a tube beyond which only a lower bound of the distance is computed."""
FLATNESS = 2.5
"""Ratio of width to height of the caps."""


class Tubes(NamedTuple):
    """The tubes of a character as tables."""

    joints: NDArray
    """(S,) int64; the joint that carries each tube."""
    origins: NDArray
    """(S, 3) metres; start of its axis in the joint's frame."""
    turns: NDArray
    """(S, 4) rotation of its own axes in the joint's frame: x towards angle 0, z along the tube."""
    lengths: NDArray
    """(S,) metres."""
    rings: NDArray
    """(S, 8, 5) metres; Fourier coefficients of each ring's radius: 1, cos a, sin a, cos 2a, sin 2a."""
    widths: NDArray
    """(S,) metres; upper bound of the radius."""


@uncounted_jit
def ring_at(ring, c, s):
    """Return (r, dr/da) of a ring at the angle with cosine c and sine s."""
    c2, s2 = c * c - s * s, 2.0 * c * s
    return (
        ring[0] + ring[1] * c + ring[2] * s + ring[3] * c2 + ring[4] * s2,
        -ring[1] * s + ring[2] * c + 2.0 * (-ring[3] * s2 + ring[4] * c2),
    )


@uncounted_jit
def ring_radius(rings, n, c, s):
    """Return (r, dr/da) of ring n, extrapolated linearly beyond the first and the last."""
    inside = min(max(n, 0), RINGS - 1)
    r, across = ring_at(rings[inside], c, s)
    if n != inside:
        other, turning = ring_at(rings[1 if n < 0 else RINGS - 2], c, s)
        past = abs(n - inside)
        r, across = r + past * (r - other), across + past * (across - turning)
    return r, across


@uncounted_jit
def radius(rings, t, c, s):
    """Return (r, dr/dt, dr/da) of a tube at t (0 … 1 along it) and the angle with cosine c and sine s."""
    place = t * RINGS - 0.5
    i = math.floor(place)
    r, along, across = 0.0, 0.0, 0.0
    for k in range(4):
        w, slope = weight(CUBIC, k, place - i)
        value, turning = ring_radius(rings, i + k - 1, c, s)
        r += w * value
        along += slope * value
        across += w * turning
    return r, along * RINGS, across


@uncounted_jit
def own_place(tubes, number, positions, rotations, x, y, z):
    """Return a world position in a tube's own axes."""
    j = tubes.joints[number]
    x, y, z = x - positions[j, 0], y - positions[j, 1], z - positions[j, 2]
    x, y, z = rotate(rotations[j, 0], -rotations[j, 1], -rotations[j, 2], -rotations[j, 3], x, y, z)
    o, q = tubes.origins[number], tubes.turns[number]
    return rotate(q[0], -q[1], -q[2], -q[3], x - o[0], y - o[1], z - o[2])


@uncounted_jit
def world_turn(tubes, number, rotations):
    """Return the rotation from a tube's own axes to the world."""
    j, q = tubes.joints[number], tubes.turns[number]
    return multiply(rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3], q[0], q[1], q[2], q[3])


@uncounted_jit
def measure(rings, length, u, v, a):
    """Return a point's surface coordinates from its tube axes: (distance, normal (3), t, cosine, sine, gap, beyond).

    distance: metres from the surface, to first order, negative inside; gap: the same, radially; t: 0 … 1 along the
    axis; cosine, sine: of the angle around it; beyond: how far past its end. Cosine, sine and beyond form a unit vector
    whose last component is 0 beside the tube, so that nothing jumps where a point passes the end.
    """
    inside = min(max(a, 0.0), length)
    beyond = a - inside
    flat = math.sqrt(u * u + v * v)
    c, s = (u / flat, v / flat) if flat > 1e-9 else (1.0, 0.0)
    t = inside / length
    past = FLATNESS * beyond
    rho = math.sqrt(flat * flat + past * past)
    if rho < 1e-9:
        r, _, _ = radius(rings, t, c, s)
        return -r, c, s, 0.0, t, c, s, -r, 0.0
    # past the end the angle loses its meaning near the axis
    outwards = flat / rho
    r, along, across = radius(rings, t, outwards * c, outwards * s)
    gap = rho - r
    # the gradient of the gap: outwards, around, and along the axis
    around = -across / max(flat, 0.25 * max(r, 1e-6))
    # the slope along the axis continues past the end, so that the distance does not jump there
    axial = FLATNESS * past / rho - outwards * along / length
    norm = 1.0 / math.sqrt(outwards * outwards + around * around + axial * axial)
    return (
        gap * norm, (outwards * c - around * s) * norm, (outwards * s + around * c) * norm, axial * norm,
        t, outwards * c, outwards * s, gap, past / rho,
    )  # fmt: skip


@uncounted_jit
def distance(tubes, number, positions, rotations, x, y, z):
    """Return metres from a tube's surface, negative inside, and the outward unit direction in the world."""
    u, v, a = own_place(tubes, number, positions, rotations, x, y, z)
    clear = math.sqrt(u * u + v * v) - tubes.widths[number]
    clear = max(
        clear, -a - tubes.widths[number] / FLATNESS, a - tubes.lengths[number] - tubes.widths[number] / FLATNESS
    )
    if clear > FAR:
        # a lower bound is enough
        return clear, 0.0, 1.0, 0.0
    d, nx, ny, nz, _, _, _, _, _ = measure(tubes.rings[number], tubes.lengths[number], u, v, a)
    w, i, j, k = world_turn(tubes, number, rotations)
    nx, ny, nz = rotate(w, i, j, k, nx, ny, nz)
    return d, nx, ny, nz


@uncounted_jit
def place(tubes, number, positions, rotations, t, c, s, gap, beyond):
    """Return the world position with these surface coordinates: the inverse of `measure`."""
    r, _, _ = radius(tubes.rings[number], t, c, s)
    rho = max(r + gap, 0.0)
    a = t * tubes.lengths[number] + rho * beyond / FLATNESS
    w, i, j, k = world_turn(tubes, number, rotations)
    x, y, z = rotate(w, i, j, k, rho * c, rho * s, a)
    joint, o = tubes.joints[number], tubes.origins[number]
    ox, oy, oz = rotate(
        rotations[joint, 0], rotations[joint, 1], rotations[joint, 2], rotations[joint, 3], o[0], o[1], o[2]
    )
    return positions[joint, 0] + ox + x, positions[joint, 1] + oy + y, positions[joint, 2] + oz + z


@uncounted_jit
def all_distances(tubes, positions, rotations, points, out):
    """Write distance and direction of points (N, 3) from all tubes to out (N, S, 4); rough beyond `FAR`."""
    for n in range(points.shape[0]):
        for k in range(tubes.joints.shape[0]):
            out[n, k, 0], out[n, k, 1], out[n, k, 2], out[n, k, 3] = distance(
                tubes, k, positions, rotations, points[n, 0], points[n, 1], points[n, 2]
            )


def smallest_tubes() -> Tubes:
    """Return one tube, as tables, to compile with."""
    rings = np.zeros((1, RINGS, 5))
    rings[..., 0] = 1.0
    turns = np.array([[1.0, 0.0, 0.0, 0.0]])
    return Tubes(np.zeros(1, np.int64), np.zeros((1, 3)), turns, np.ones(1), rings, np.ones(1))


WARMUP = {
    "all_distances": lambda: (
        smallest_tubes(), np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), np.ones((1, 3)), np.empty((1, 1, 4))
    )
}  # fmt: skip
