"""The point of an intersection of balls that is nearest to a given point."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import uncounted_jit

TOLERANCE = 1e-9
"""Relative tolerance of being inside a ball."""


@uncounted_jit
def violation(x, y, z, centers, radii):
    """Return the largest distance of a point outside any of the balls; ≤ 0 inside all."""
    worst = -np.inf
    for i in range(radii.shape[0]):
        dx, dy, dz = x - centers[i, 0], y - centers[i, 1], z - centers[i, 2]
        worst = max(worst, math.sqrt(dx * dx + dy * dy + dz * dz) - radii[i])
    return worst


@uncounted_jit
def on_sphere(x, y, z, cx, cy, cz, radius):
    """Return the point of a sphere nearest to (x, y, z); from its centre, the top."""
    dx, dy, dz = x - cx, y - cy, z - cz
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if length < 1e-12:
        return cx, cy + radius, cz
    scale = radius / length
    return cx + scale * dx, cy + scale * dy, cz + scale * dz


@uncounted_jit
def circle(a, b, ra, rb):
    """Return the circle where two spheres intersect: (exists, centre, unit normal, radius)."""
    nx, ny, nz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    d = math.sqrt(nx * nx + ny * ny + nz * nz)
    if d < 1e-12:
        return False, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    nx, ny, nz = nx / d, ny / d, nz / d
    h = (d * d + ra * ra - rb * rb) / (2.0 * d)
    square = ra * ra - h * h
    if square < -TOLERANCE * max(ra, rb):
        return False, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    return True, a[0] + h * nx, a[1] + h * ny, a[2] + h * nz, nx, ny, nz, math.sqrt(max(square, 0.0))


@uncounted_jit
def on_circle(found, x, y, z):
    """Return the point of a circle (of `circle`) nearest to (x, y, z)."""
    _, cx, cy, cz, nx, ny, nz, r = found
    along = (x - cx) * nx + (y - cy) * ny + (z - cz) * nz
    fx, fy, fz = x - along * nx - cx, y - along * ny - cy, z - along * nz - cz
    length = math.sqrt(fx * fx + fy * fy + fz * fz)
    if length < 1e-12:
        # the point is on the axis of the circle, so all its points are equally near
        if abs(nx) < 0.6:
            fx, fy, fz = 0.0, nz, -ny
        else:
            fx, fy, fz = -nz, 0.0, nx
        length = math.sqrt(fx * fx + fy * fy + fz * fz)
    return cx + r * fx / length, cy + r * fy / length, cz + r * fz / length


@uncounted_jit
def vertex_on(found, center, radius):
    """Return where a sphere cuts a circle: (exists, cos a, e₁), with the points c + r(e₁ cos a ± e₂ sin a)."""
    _, cx, cy, cz, nx, ny, nz, r = found
    gx, gy, gz = center[0] - cx, center[1] - cy, center[2] - cz
    along = gx * nx + gy * ny + gz * nz
    ex, ey, ez = gx - along * nx, gy - along * ny, gz - along * nz
    inplane = math.sqrt(ex * ex + ey * ey + ez * ez)
    if inplane < 1e-12 or r < 1e-12:
        return False, 0.0, ex, ey, ez
    cosine = (r * r + inplane * inplane + along * along - radius * radius) / (2.0 * r * inplane)
    exists = abs(cosine) <= 1.0 + 1e-9
    return exists, min(max(cosine, -1.0), 1.0), ex / inplane, ey / inplane, ez / inplane


@uncounted_jit
def closest(point, centers, radii, out):
    """Write the point of the intersection nearest to `point` into `out`; return False when the balls do not intersect.

    The nearest point is the point itself, or lies on the sphere of a ball that the point is outside of, on the circle
    of two spheres, or on a vertex of three; of the candidates inside all balls the nearest one is the answer.
    """
    n = radii.shape[0]
    x, y, z = point[0], point[1], point[2]
    size = 0.0
    for i in range(n):
        size = max(size, radii[i])
    slack = TOLERANCE * max(size, 1.0) * 10.0
    out[0], out[1], out[2] = x, y, z
    if n == 0 or violation(x, y, z, centers, radii) <= 0.0:
        return True
    best = np.inf
    for i in range(n):
        px, py, pz = on_sphere(x, y, z, centers[i, 0], centers[i, 1], centers[i, 2], radii[i])
        outside = violation(x, y, z, centers[i : i + 1], radii[i : i + 1]) > 0.0
        if outside and violation(px, py, pz, centers, radii) <= slack:
            out[0], out[1], out[2] = px, py, pz
            return True
    for i in range(n):
        for j in range(i + 1, n):
            found = circle(centers[i], centers[j], radii[i], radii[j])
            exists, cx, cy, cz, nx, ny, nz, r = found
            if not exists:
                continue
            px, py, pz = on_circle(found, x, y, z)
            d = (px - x) ** 2 + (py - y) ** 2 + (pz - z) ** 2
            if d < best and violation(px, py, pz, centers, radii) <= slack:
                best = d
                out[0], out[1], out[2] = px, py, pz
            for k in range(j + 1, n):
                on_plane, cosine, ex, ey, ez = vertex_on(found, centers[k], radii[k])
                if not on_plane:
                    continue
                sine = math.sqrt(1.0 - cosine * cosine)
                sx, sy, sz = ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex
                for side in (-1.0, 1.0):
                    px = cx + r * (cosine * ex + side * sine * sx)
                    py = cy + r * (cosine * ey + side * sine * sy)
                    pz = cz + r * (cosine * ez + side * sine * sz)
                    d = (px - x) ** 2 + (py - y) ** 2 + (pz - z) ** 2
                    if d < best and violation(px, py, pz, centers, radii) <= slack:
                        best = d
                        out[0], out[1], out[2] = px, py, pz
    return best < np.inf


WARMUP = {"closest": lambda: (np.zeros(3), np.zeros((1, 3)), np.ones(1), np.zeros(3))}
