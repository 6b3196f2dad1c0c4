"""Rows on body parts: distances of balls under the skin from other parts (`kernels.shell`), and between points.

A point follows up to K joints, as linear blend skinning has it: x = Σ w (P + R·place).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.quaternion import rotate
from footplant.kernels.shell import (
    add_force,
    distance,
    generalized,
    nearest_sample,
    new_posed,
    outside_box,
    pose_group,
    push,
    read_only,
    skip_group,
    smallest_shell,
)

PROJECTIONS = 8
"""Steps along the normal to a signed distance: the error falls to a tenth or less in each."""


class SkinPoints(NamedTuple):
    """N points of the skin, or balls under it, with K joints each."""

    joints: NDArray
    """(N, K) int64."""
    weights: NDArray
    """(N, K); those that are 0 do not count."""
    places: NDArray
    """(N, K, 3) metres, in the joints' frames."""
    radii: NDArray
    """(N,) metres; of the ball about the point that touches the skin from within, 0 for the point itself."""


@uncounted_jit
def skin_place(points, n, positions, rotations):
    """Return the world position of point n at one frame."""
    x = y = z = 0.0
    for k in range(points.joints.shape[1]):
        w = points.weights[n, k]
        if w != 0.0:
            j, p = points.joints[n, k], points.places[n, k]
            q = rotations[j]
            px, py, pz = rotate(q[0], q[1], q[2], q[3], p[0], p[1], p[2])
            x += w * (positions[j, 0] + px)
            y += w * (positions[j, 1] + py)
            z += w * (positions[j, 2] + pz)
    return x, y, z


@uncounted_jit
def force_on(points, n, positions, rotations, force, forces):
    """Add a force (x, y, z) on point n to the forces (J, 6) of the joints that it follows."""
    for k in range(points.joints.shape[1]):
        w = points.weights[n, k]
        if w != 0.0:
            add_force(points.joints[n, k], points.places[n, k], w, positions, rotations, force, forces)


@uncounted_jit
def beyond_reach(shell, group, positions, x, y, z):
    """Return a lower bound of the distance of a point from a group that is not posed."""
    at = positions[shell.anchors[group]]
    dx, dy, dz = x - at[0], y - at[1], z - at[2]
    return math.sqrt(dx * dx + dy * dy + dz * dz) - shell.reaches[group]


class Allowed(NamedTuple):
    """How deep points may be in the parts of a body."""

    distances: NDArray
    """(A, N, G) signed distance that is allowed, metres, 0 or negative; +∞: the part does not count for the point."""
    rows: NDArray
    """(F,) which of the A holds at each frame."""


@jit
def clearances(shell, points, allowed, positions, rotations, posed, out, parts):
    """Write how far (F, N) balls are outside all parts, beyond what is allowed, metres, and the nearest part (F, N)."""
    for f in range(positions.shape[0]):
        for g in range(shell.groups.shape[0] - 1):
            skip_group(g, posed)
        for n in range(points.joints.shape[0]):
            x, y, z = skin_place(points, n, positions[f], rotations[f])
            out[f, n], parts[f, n] = np.inf, -1
            for g in range(shell.groups.shape[0] - 1):
                spare = allowed.distances[allowed.rows[f], n, g]
                if spare == np.inf or beyond_reach(shell, g, positions[f], x, y, z) - spare >= out[f, n]:
                    continue
                if posed.boxes[g, 0] > posed.boxes[g, 3]:
                    pose_group(shell, g, positions[f], rotations[f], 1.0, posed)
                if outside_box(posed.boxes[g], x, y, z) - spare >= out[f, n]:
                    continue
                away, _, _, _ = distance(shell, g, posed, x, y, z)
                if away - spare < out[f, n]:
                    out[f, n], parts[f, n] = away - spare, g
            out[f, n] -= points.radii[n]


@jit
def deepest_allowed(shell, points, least, positions, rotations, posed, out):
    """Write the signed distances (F, N, G) that the poses of a motion allow: their own where it is below least (N, G).

    Where `least` is +∞ a part does not count, and stays so.
    """
    for f in range(positions.shape[0]):
        for g in range(shell.groups.shape[0] - 1):
            pose_group(shell, g, positions[f], rotations[f], 1.0, posed)
        for n in range(points.joints.shape[0]):
            x, y, z = skin_place(points, n, positions[f], rotations[f])
            for g in range(shell.groups.shape[0] - 1):
                out[f, n, g] = least[n, g]
                if least[n, g] < np.inf and outside_box(posed.boxes[g], x, y, z) <= points.radii[n]:
                    away, _, _, _ = distance(shell, g, posed, x, y, z)
                    out[f, n, g] = min(out[f, n, g], away - points.radii[n])


@jit
def clearance_slopes(shell, points, parts, parents, positions, rotations, posed, out):
    """Write the derivatives (F, N, 3+3J) of `clearances`; parts (F, N): the nearest part, as found there."""
    forces = np.zeros((positions.shape[1], 6))
    columns = 3 * np.arange(1 + positions.shape[1])
    for f in range(positions.shape[0]):
        for g in range(shell.groups.shape[0] - 1):
            skip_group(g, posed)
        for n in range(points.joints.shape[0]):
            if parts[f, n] < 0:
                out[f, n] = 0.0
                continue
            if posed.boxes[parts[f, n], 0] > posed.boxes[parts[f, n], 3]:
                pose_group(shell, parts[f, n], positions[f], rotations[f], 1.0, posed)
            x, y, z = skin_place(points, n, positions[f], rotations[f])
            _, gx, gy, gz = push(shell, parts[f, n], posed, positions[f], rotations[f], (x, y, z), forces)
            force_on(points, n, positions[f], rotations[f], (gx, gy, gz), forces)
            generalized(parents, positions[f], rotations[f], columns, forces, out[f, n])


@jit
def skin_places(points, which, positions, rotations, out):
    """Write the world position (F, 3) of point which[f] at each frame."""
    for f in range(positions.shape[0]):
        out[f, 0], out[f, 1], out[f, 2] = skin_place(points, which[f], positions[f], rotations[f])


@jit
def project(shell, group, offset, points, positions, rotations, posed, out):
    """Write where points (F, 3) come to that are moved to a signed distance from a part, and what they were near to.

    out (F, 5): the new position, the signed distance before, metres, and the number of the nearest sample.
    """
    for f in range(points.shape[0]):
        pose_group(shell, group, positions[f], rotations[f], 1.0, posed)
        x, y, z = points[f, 0], points[f, 1], points[f, 2]
        _, nearest = nearest_sample(shell, group, posed, x, y, z)
        for step in range(PROJECTIONS):
            away, nx, ny, nz = distance(shell, group, posed, x, y, z)
            if step == 0:
                out[f, 3], out[f, 4] = away, nearest
            x, y, z = x - (away - offset) * nx, y - (away - offset) * ny, z - (away - offset) * nz
        out[f, 0], out[f, 1], out[f, 2] = x, y, z


@jit
def difference_slopes(first, second, which, parents, positions, rotations, out):
    """Write the derivatives (F, 3, 3+3J) of the vector from point which[f, 1] of `second` to which[f, 0] of `first`."""
    forces, columns, axes = np.zeros((positions.shape[1], 6)), 3 * np.arange(1 + positions.shape[1]), np.eye(3)
    for f in range(positions.shape[0]):
        for k in range(3):
            fx, fy, fz = axes[k]
            force_on(first, which[f, 0], positions[f], rotations[f], (fx, fy, fz), forces)
            force_on(second, which[f, 1], positions[f], rotations[f], (-fx, -fy, -fz), forces)
            generalized(parents, positions[f], rotations[f], columns, forces, out[f, k])


def _points():
    return SkinPoints(np.zeros((1, 1), np.int64), np.ones((1, 1)), np.zeros((1, 1, 3)), np.zeros(1))


def _parents():
    parents = np.array([-1])
    parents.setflags(write=False)
    return parents


WARMUP = {
    "clearances": lambda: (
        smallest_shell(), _points(), Allowed(np.zeros((1, 1, 1)), np.zeros(1, np.int64)), read_only(1, 1, 3),
        read_only(1, 1, 4), new_posed(smallest_shell()), np.empty((1, 1)), np.empty((1, 1), np.int64),
    ),
    "deepest_allowed": lambda: (
        smallest_shell(), _points(), np.zeros((1, 1)), read_only(1, 1, 3), read_only(1, 1, 4),
        new_posed(smallest_shell()), np.empty((1, 1, 1)),
    ),
    "project": lambda: (
        smallest_shell(), 0, 0.0, np.zeros((1, 3)), read_only(1, 1, 3), read_only(1, 1, 4),
        new_posed(smallest_shell()), np.empty((1, 5)),
    ),
    "clearance_slopes": lambda: (
        smallest_shell(), _points(), np.zeros((1, 1), np.int64), _parents(), read_only(1, 1, 3), read_only(1, 1, 4),
        new_posed(smallest_shell()), np.empty((1, 1, 6)),
    ),
    "skin_places": lambda: (
        _points(), np.zeros(1, np.int64), read_only(1, 1, 3), read_only(1, 1, 4), np.empty((1, 3)),
    ),
    "difference_slopes": lambda: (
        _points(), _points(), np.zeros((1, 2), np.int64), _parents(), read_only(1, 1, 3), read_only(1, 1, 4),
        np.empty((1, 3, 6)),
    ),
}  # fmt: skip
