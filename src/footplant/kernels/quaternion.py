"""Quaternions (w, x, y, z) as scalars: the building blocks of all other kernels."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit, uncounted_jit


@jit
def multiply(aw, ax, ay, az, bw, bx, by, bz):
    """Return the Hamilton product a·b: rotate by b, then by a."""
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


@jit
def rotate(w, x, y, z, vx, vy, vz):
    """Return the vector v rotated by the unit quaternion: v + 2w(u × v) + 2u × (u × v)."""
    tx = 2.0 * (y * vz - z * vy)
    ty = 2.0 * (z * vx - x * vz)
    tz = 2.0 * (x * vy - y * vx)
    return (
        vx + w * tx + y * tz - z * ty,
        vy + w * ty + z * tx - x * tz,
        vz + w * tz + x * ty - y * tx,
    )


@jit
def exp(vx, vy, vz):
    """Return the unit quaternion of the rotation vector v (angle |v|, radians)."""
    square = vx * vx + vy * vy + vz * vz
    if square < 1e-12:
        s = 0.5 - square / 48.0
        return 1.0 - square / 8.0, s * vx, s * vy, s * vz
    angle = math.sqrt(square)
    s = math.sin(0.5 * angle) / angle
    return math.cos(0.5 * angle), s * vx, s * vy, s * vz


@jit
def log(w, x, y, z):
    """Return the rotation vector of a unit quaternion, the short way round (|v| ≤ π)."""
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    if sine < 1e-8:
        s = 2.0 / w if w > 0.5 else 2.0
        return s * x, s * y, s * z
    s = 2.0 * math.atan2(sine, w) / sine
    return s * x, s * y, s * z


@uncounted_jit
def nearer_way(turn, other):
    """Return a rotation vector the way round that is nearer to another one."""
    scale = 1.0 - 2.0 * math.pi / max(math.sqrt(turn[0] ** 2 + turn[1] ** 2 + turn[2] ** 2), 1e-6)
    around = (scale * turn[0], scale * turn[1], scale * turn[2])
    far = (turn[0] - other[0]) ** 2 + (turn[1] - other[1]) ** 2 + (turn[2] - other[2]) ** 2
    near = (around[0] - other[0]) ** 2 + (around[1] - other[1]) ** 2 + (around[2] - other[2]) ** 2
    return around if near < far else turn


@uncounted_jit
def direction(start, end):
    """Return the unit vector from a point (3,) to another."""
    x, y, z = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    scale = 1.0 / max(math.sqrt(x * x + y * y + z * z), 1e-12)
    return x * scale, y * scale, z * scale


@jit
def between(ax, ay, az, bx, by, bz):
    """Return the smallest rotation from direction a to direction b, of any lengths; if opposite, about any normal."""
    a, b = math.sqrt(ax * ax + ay * ay + az * az), math.sqrt(bx * bx + by * by + bz * bz)
    lengths = a * b
    w = lengths + ax * bx + ay * by + az * bz
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    if w < 1e-9 * (lengths if lengths > 0.0 else 1.0):
        w = 0.0
        if abs(ax) < 0.6 * a:
            x, y, z = 0.0, az, -ay
        else:
            x, y, z = -az, 0.0, ax
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if norm > 0.0:
        return w / norm, x / norm, y / norm, z / norm
    return 1.0, 0.0, 0.0, 0.0


@jit
def displace(quaternions, vectors, out):
    """Write out = q·exp(v), row by row; (N, 4), (N, 3) → (N, 4)."""
    for i in range(quaternions.shape[0]):
        ew, ex, ey, ez = exp(vectors[i, 0], vectors[i, 1], vectors[i, 2])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = multiply(
            quaternions[i, 0], quaternions[i, 1], quaternions[i, 2], quaternions[i, 3], ew, ex, ey, ez
        )


@jit
def displacement(quaternions, origins, out):
    """Write out = log(origin⁻¹·q), row by row; (N, 4), (N, 4) → (N, 3)."""
    for i in range(quaternions.shape[0]):
        w, x, y, z = multiply(
            origins[i, 0], -origins[i, 1], -origins[i, 2], -origins[i, 3],
            quaternions[i, 0], quaternions[i, 1], quaternions[i, 2], quaternions[i, 3],
        )  # fmt: skip
        out[i, 0], out[i, 1], out[i, 2] = log(w, x, y, z)


def _rows(width, read_only=False):
    array = np.zeros((1, width))
    array.setflags(write=not read_only)
    return array


# a motion's rotations are read-only, for which numba compiles a separate version
WARMUP = {
    "displace": lambda: (_rows(4, read_only=True), _rows(3), _rows(4)),
    "displacement": lambda: (_rows(4, read_only=True), _rows(4, read_only=True), _rows(3)),
}
