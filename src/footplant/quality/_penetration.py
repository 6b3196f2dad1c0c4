"""Compiled inside tests and distances of points against deforming triangle meshes, open ones included.

The generalised winding number w(p) = Σ Ω_t(p) / 4π sums the solid angles of the triangles seen from p (Jacobson, Kavan
and Sorkine-Hornung, "Robust Inside-Outside Segmentation using Generalized Winding Numbers", 2013): about 1 inside, 0
outside, and smooth across holes. Clusters of triangles that are far compared with their size are replaced by a dipole
at their area-weighted centre (Barill, Dickson, Schmidt, Levin and Jacobson, "Fast Winding Numbers for Soups and
Clouds", 2018, first order).

The tree is a heap over triangles that are sorted along a space-filling curve in the rest pose: node n has the children
2n and 2n + 1, leaf l the triangles l·T/L … (l+1)·T/L − 1. Its shape is made once; each pose only refits boxes, centres
and areas.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit, uncounted_jit

FAR = 3.0
"""Distance from a cluster's centre, in its radii, from which it is a dipole. With 3 the winding number is off by less
than 0.01 even in meshes of few triangles; 2 is a fifth faster and misjudges points at the holes of coarse ones."""
DEEPEST = 64
"""Entries of the stack of nodes to visit; one per level of the tree suffices, and one more."""
FIELDS = 14
"""Numbers per node: box (6), centre (3), area vector (3), squared radius, area."""


@uncounted_jit
def refit(vertices, faces, corners, nodes):
    """Write boxes, centres, area vectors and radii of the tree (2L, 14) for triangles (T, 3) of vertices (V, 3).

    corners: (T, 9) becomes the positions of the triangles' corners, side by side in memory.
    """
    leaves, count = nodes.shape[0] // 2, faces.shape[0]
    for leaf in range(leaves):
        n = leaves + leaf
        for k in range(3):
            nodes[n, k], nodes[n, 3 + k] = np.inf, -np.inf
            nodes[n, 6 + k] = nodes[n, 9 + k] = 0.0
        area = 0.0
        for t in range(leaf * count // leaves, (leaf + 1) * count // leaves):
            i, j, m = faces[t, 0], faces[t, 1], faces[t, 2]
            ax, ay, az = vertices[i, 0], vertices[i, 1], vertices[i, 2]
            bx, by, bz = vertices[j, 0] - ax, vertices[j, 1] - ay, vertices[j, 2] - az
            cx, cy, cz = vertices[m, 0] - ax, vertices[m, 1] - ay, vertices[m, 2] - az
            nx, ny, nz = 0.5 * (by * cz - bz * cy), 0.5 * (bz * cx - bx * cz), 0.5 * (bx * cy - by * cx)
            own = math.sqrt(nx * nx + ny * ny + nz * nz)
            nodes[n, 9], nodes[n, 10], nodes[n, 11] = nodes[n, 9] + nx, nodes[n, 10] + ny, nodes[n, 11] + nz
            for k in range(3):
                a, b, c = vertices[i, k], vertices[j, k], vertices[m, k]
                corners[t, k], corners[t, 3 + k], corners[t, 6 + k] = a, b, c
                nodes[n, k] = min(nodes[n, k], a, b, c)
                nodes[n, 3 + k] = max(nodes[n, 3 + k], a, b, c)
                nodes[n, 6 + k] += own * (a + b + c) / 3.0
            area += own
        nodes[n, 13] = area
        for k in range(3):
            nodes[n, 6 + k] = nodes[n, 6 + k] / area if area > 0.0 else 0.5 * (nodes[n, k] + nodes[n, 3 + k])
    for n in range(leaves - 1, 0, -1):
        a, b = 2 * n, 2 * n + 1
        area = nodes[a, 13] + nodes[b, 13]
        for k in range(3):
            nodes[n, k] = min(nodes[a, k], nodes[b, k])
            nodes[n, 3 + k] = max(nodes[a, 3 + k], nodes[b, 3 + k])
            nodes[n, 9 + k] = nodes[a, 9 + k] + nodes[b, 9 + k]
            if area > 0.0:
                nodes[n, 6 + k] = (nodes[a, 13] * nodes[a, 6 + k] + nodes[b, 13] * nodes[b, 6 + k]) / area
            else:
                nodes[n, 6 + k] = 0.5 * (nodes[n, k] + nodes[n, 3 + k])
        nodes[n, 13] = area
    for n in range(1, 2 * leaves):
        square = 0.0
        for k in range(3):
            reach = max(nodes[n, 3 + k] - nodes[n, 6 + k], nodes[n, 6 + k] - nodes[n, k])
            square += reach * reach
        nodes[n, 12] = square


@uncounted_jit
def solid_angle(a, b, c):
    """Return the signed solid angle of a triangle seen from the origin (van Oosterom and Strackee 1983)."""
    ax, ay, az = a
    bx, by, bz = b
    cx, cy, cz = c
    of_a, of_b, of_c = (
        math.sqrt(ax * ax + ay * ay + az * az),
        math.sqrt(bx * bx + by * by + bz * bz),
        math.sqrt(cx * cx + cy * cy + cz * cz),
    )
    volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    ab, bc, ca = ax * bx + ay * by + az * bz, bx * cx + by * cy + bz * cz, cx * ax + cy * ay + cz * az
    return 2.0 * math.atan2(volume, of_a * of_b * of_c + ab * of_c + bc * of_a + ca * of_b)


@uncounted_jit
def winding(corners, nodes, stack, x, y, z):
    """Return the generalised winding number of a point in a mesh."""
    leaves, count, total, top = nodes.shape[0] // 2, corners.shape[0], 0.0, 1
    stack[0] = 1
    while top > 0:
        top -= 1
        n = stack[top]
        dx, dy, dz = nodes[n, 6] - x, nodes[n, 7] - y, nodes[n, 8] - z
        square = dx * dx + dy * dy + dz * dz
        if square > FAR * FAR * nodes[n, 12]:
            along = nodes[n, 9] * dx + nodes[n, 10] * dy + nodes[n, 11] * dz
            total += along / (square * math.sqrt(square))
        elif n < leaves:
            stack[top], stack[top + 1] = 2 * n, 2 * n + 1
            top += 2
        else:
            leaf = n - leaves
            for t in range(leaf * count // leaves, (leaf + 1) * count // leaves):
                total += solid_angle(
                    (corners[t, 0] - x, corners[t, 1] - y, corners[t, 2] - z),
                    (corners[t, 3] - x, corners[t, 4] - y, corners[t, 5] - z),
                    (corners[t, 6] - x, corners[t, 7] - y, corners[t, 8] - z),
                )
    return total / (4.0 * math.pi)


@uncounted_jit
def triangle_distance(p, a, b, c):
    """Return the squared distance of p from the triangle a, b, c (Ericson, Real-Time Collision Detection, 5.1.5)."""
    px, py, pz = p
    ax, ay, az = a
    bx, by, bz = b
    cx, cy, cz = c
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - ax, cy - ay, cz - az
    qx, qy, qz = px - ax, py - ay, pz - az
    d1, d2 = ux * qx + uy * qy + uz * qz, vx * qx + vy * qy + vz * qz
    s = t = 0.0
    if d1 > 0.0 or d2 > 0.0:
        qx, qy, qz = px - bx, py - by, pz - bz
        d3, d4 = ux * qx + uy * qy + uz * qz, vx * qx + vy * qy + vz * qz
        qx, qy, qz = px - cx, py - cy, pz - cz
        d5, d6 = ux * qx + uy * qy + uz * qz, vx * qx + vy * qy + vz * qz
        va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
        if d3 >= 0.0 and d4 <= d3:
            s = 1.0
        elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
            s = d1 / (d1 - d3) if d1 > d3 else 0.0
        elif d6 >= 0.0 and d5 <= d6:
            t = 1.0
        elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
            t = d2 / (d2 - d6) if d2 > d6 else 0.0
        elif va <= 0.0 and d4 >= d3 and d5 >= d6:
            t = (d4 - d3) / ((d4 - d3) + (d5 - d6)) if d4 - d3 + d5 - d6 > 0.0 else 0.0
            s = 1.0 - t
        else:
            whole = va + vb + vc
            if whole > 0.0:
                s, t = vb / whole, vc / whole
    qx, qy, qz = px - ax - s * ux - t * vx, py - ay - s * uy - t * vy, pz - az - s * uz - t * vz
    return qx * qx + qy * qy + qz * qz


@uncounted_jit
def box_distance(nodes, n, x, y, z):
    """Return the squared distance of a point from a node's box."""
    dx = max(nodes[n, 0] - x, x - nodes[n, 3], 0.0)
    dy = max(nodes[n, 1] - y, y - nodes[n, 4], 0.0)
    dz = max(nodes[n, 2] - z, z - nodes[n, 5], 0.0)
    return dx * dx + dy * dy + dz * dz


@uncounted_jit
def surface_distance(corners, nodes, stack, x, y, z, most, enough):
    """Return the squared distance of a point from a mesh, or `most` if it is not less.

    A value of at most `enough` may be too large: the search ends there.
    """
    leaves, count, best, top = nodes.shape[0] // 2, corners.shape[0], most, 1
    stack[0] = 1
    while top > 0 and best > enough:
        top -= 1
        n = stack[top]
        if box_distance(nodes, n, x, y, z) >= best:
            continue
        if n < leaves:
            a, b = 2 * n, 2 * n + 1
            # the nearer child is visited first
            if box_distance(nodes, a, x, y, z) < box_distance(nodes, b, x, y, z):
                a, b = b, a
            stack[top], stack[top + 1] = a, b
            top += 2
        else:
            leaf = n - leaves
            for t in range(leaf * count // leaves, (leaf + 1) * count // leaves):
                square = triangle_distance(
                    (x, y, z), (corners[t, 0], corners[t, 1], corners[t, 2]),
                    (corners[t, 3], corners[t, 4], corners[t, 5]), (corners[t, 6], corners[t, 7], corners[t, 8]),
                )  # fmt: skip
                best = min(best, square)
    return best


@uncounted_jit
def box_of(vertices, faces):
    """Return the box of a mesh: smallest and largest x, y and z."""
    ax, ay, az, bx, by, bz = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for t in range(faces.shape[0]):
        for k in range(3):
            v = faces[t, k]
            x, y, z = vertices[v, 0], vertices[v, 1], vertices[v, 2]
            ax, ay, az, bx, by, bz = min(ax, x), min(ay, y), min(az, z), max(bx, x), max(by, y), max(bz, z)
    return ax, ay, az, bx, by, bz


@jit
def depths(vertices, faces, query, tree, out):
    """Write how deep vertices `query` (Q,) are inside the mesh of triangles `faces` (T, 3), 0 outside, metres.

    tree: workspace, corners (T, 9), nodes (2L, 14) and a stack.
    """
    corners, nodes, stack = tree
    ax, ay, az, bx, by, bz = box_of(vertices, faces)
    refit(vertices, faces, corners, nodes)
    for q in range(query.shape[0]):
        v = query[q]
        x, y, z = vertices[v, 0], vertices[v, 1], vertices[v, 2]
        out[q] = 0.0
        if ax < x < bx and ay < y < by and az < z < bz and abs(winding(corners, nodes, stack, x, y, z)) > 0.5:
            out[q] = math.sqrt(surface_distance(corners, nodes, stack, x, y, z, np.inf, 0.0))


@jit
def deepest(vertices, faces, query, groups, at_rest, tree, depth, row):
    """Write the largest `depths` − at_rest of each group of vertices, depth (G,), and its row of `query`, row (G,).

    0 and −1 where no vertex of a group is deeper than at rest. The tree is refitted only if a vertex is in the mesh's
    box. Two kinds of vertices need no inside test: those with a triangle nearer than the deepest so far, and those near
    an anchor, the last vertex that was certainly outside. The winding number w is harmonic away from the surface and 0
    to 1, so that by Harnack's inequality w(b) ≤ w(a)·(1 + ρ)/(1 − ρ)² at ρ = |b − a|/d, d the distance of a from the
    surface: w(a) < 0.1 and ρ < 0.4 give w(b) < 0.4.
    """
    corners, nodes, stack = tree
    depth[:], row[:] = 0.0, -1
    ax, ay, az, bx, by, bz = box_of(vertices, faces)
    fitted = False
    ox = oy = oz = reach = 0.0
    for q in range(query.shape[0]):
        v = query[q]
        x, y, z = vertices[v, 0], vertices[v, 1], vertices[v, 2]
        if (x - ox) * (x - ox) + (y - oy) * (y - oy) + (z - oz) * (z - oz) < reach:
            continue
        if ax < x < bx and ay < y < by and az < z < bz:
            if not fitted:
                refit(vertices, faces, corners, nodes)
                fitted = True
            least = depth[groups[q]] + at_rest[q]
            least = least * least
            if surface_distance(corners, nodes, stack, x, y, z, least * 1.000001 + 1e-15, least) <= least:
                continue
            inside = abs(winding(corners, nodes, stack, x, y, z))
            if inside > 0.5:
                square = surface_distance(corners, nodes, stack, x, y, z, np.inf, 0.0)
                depth[groups[q]], row[groups[q]] = math.sqrt(square) - at_rest[q], q
            elif inside < 0.1:
                ox, oy, oz = x, y, z
                reach = 0.16 * surface_distance(corners, nodes, stack, x, y, z, np.inf, 0.0)


@jit
def gap(vertices, faces, query, tree):
    """Return the smallest distance of vertices `query` (Q,) from the mesh of triangles `faces` (T, 3), metres."""
    corners, nodes, stack = tree
    refit(vertices, faces, corners, nodes)
    best = np.inf
    for q in range(query.shape[0]):
        v = query[q]
        x, y, z = vertices[v, 0], vertices[v, 1], vertices[v, 2]
        best = surface_distance(corners, nodes, stack, x, y, z, best, 0.0)
    return math.sqrt(best)


def _mesh():
    return np.zeros((3, 3)), np.zeros((1, 3), np.int64), np.zeros(1, np.int64)


def _tree():
    return np.zeros((1, 9)), np.zeros((2, FIELDS)), np.zeros(DEEPEST, np.int64)


WARMUP = {
    "depths": lambda: (*_mesh(), _tree(), np.zeros(1)),
    "deepest": lambda: (
        *_mesh(), np.zeros(1, np.int64), np.zeros(1), _tree(), np.zeros(1), np.zeros(1, np.int64)
    ),
    "gap": lambda: (*_mesh(), _tree()),
}  # fmt: skip
