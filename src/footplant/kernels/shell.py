"""Body shell: points with normals on a posed skin, the signed distance from them, and generalised winding numbers.

The signed distance of x is the weighted mean of its distances from the tangent planes of the nearest samples,

    d(x) = Σ w_i n_i·(x − p_i) / Σ w_i,    w_i = exp(−(|x − p_i|² − min_k |x − p_k|²) / h²),

an implicit moving least-squares surface (Kolluri, "Provably good moving least squares", 2005) whose samples move with
the skin, so that a bent waist stays one surface. Winding numbers after Jacobson, Kavan and Sorkine-Hornung, "Robust
inside-outside segmentation using generalized winding numbers" (2013).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.quaternion import rotate

RIM_FROM = 1.5
"""Spacings from the nearest sample beyond which a point may be outside although the sample faces away from it."""
RIM_COSINE = -0.6
"""Cosine between the sample's normal and the way to the point above which it is outside."""
RIM_SHARE = 0.92
"""Distance of a point outside as a fraction of that of the nearest sample, at least, beyond `RIM_FROM`."""
RIM_DEPTH = 1.3
"""Depths of the body at the nearest sample, and a spacing besides, beyond which a point is outside."""


class Shell(NamedTuple):
    """N samples on the skin of a body in G groups, with M influences in all."""

    groups: NDArray
    """(G+1,) int64; the clusters of group g are groups[g] … groups[g+1]−1."""
    clusters: NDArray
    """(C+1,) int64; the samples of cluster c, which are close to one another, are clusters[c] … clusters[c+1]−1."""
    starts: NDArray
    """(N+1,) int64; the influences of sample i are starts[i] … starts[i+1]−1, the heaviest first."""
    joints: NDArray
    """(M,) int64."""
    weights: NDArray
    """(M,) skin weights; those of a sample sum to 1."""
    places: NDArray
    """(M, 3) metres; the sample in the joint's frame."""
    cores: NDArray
    """(M, 3) metres; in the joint's frame, the point inside the body towards which the sample moves as it shrinks."""
    normals: NDArray
    """(N, 3) outward unit normal in the frame of the heaviest joint."""
    widths: NDArray
    """(G,) metres; h of the weights: about the spacing of the samples."""
    anchors: NDArray
    """(G,) int64; a joint in the middle of each group."""
    reaches: NDArray
    """(G,) metres; radius about that joint that holds the group in any pose."""
    cuts: NDArray
    """(G,) int64; the clusters of group g from this one on lie where the group was cut from another: a point behind
    such a sample, inside the group, does not see it. It would be pushed from a hip into the thigh."""
    depths: NDArray
    """(N,) metres; how deep the body is behind each sample: no point inside is farther from its nearest sample."""


class Posed(NamedTuple):
    """A shell at one frame."""

    samples: NDArray
    """(6, N) position and outward normal, metres."""
    balls: NDArray
    """(4, C) centre and radius of each cluster, metres."""
    boxes: NDArray
    """(G, 6) bounding boxes of the groups: low, high; empty where a group is not posed."""


@uncounted_jit
def pose_places(shell, group, positions, rotations, size, posed):
    """Write the places of a group's samples, and its bounding box. positions (J, 3) metres, rotations (J, 4): of one
    frame. size: see `pose_group`."""
    box, samples = posed.boxes[group], posed.samples
    lowest_x = lowest_y = lowest_z = np.inf
    highest_x = highest_y = highest_z = -np.inf
    for i in range(shell.clusters[shell.groups[group]], shell.clusters[shell.groups[group + 1]]):
        x = y = z = 0.0
        for m in range(shell.starts[i], shell.starts[i + 1]):
            j, w, p, c = shell.joints[m], shell.weights[m], shell.places[m], shell.cores[m]
            px, py, pz = rotate(
                rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3],
                c[0] + size * (p[0] - c[0]), c[1] + size * (p[1] - c[1]), c[2] + size * (p[2] - c[2]),
            )  # fmt: skip
            x += w * (positions[j, 0] + px)
            y += w * (positions[j, 1] + py)
            z += w * (positions[j, 2] + pz)
        samples[0, i], samples[1, i], samples[2, i] = x, y, z
        lowest_x, highest_x = min(lowest_x, x), max(highest_x, x)
        lowest_y, highest_y = min(lowest_y, y), max(highest_y, y)
        lowest_z, highest_z = min(lowest_z, z), max(highest_z, z)
    box[0], box[1], box[2], box[3], box[4], box[5] = lowest_x, lowest_y, lowest_z, highest_x, highest_y, highest_z


@uncounted_jit
def pose_normals(shell, group, rotations, posed):
    """Write the normals of a group's samples and the balls of its clusters, once their places are known."""
    samples, balls = posed.samples, posed.balls
    for cluster in range(shell.groups[group], shell.groups[group + 1]):
        first, last = shell.clusters[cluster], shell.clusters[cluster + 1]
        mx = my = mz = 0.0
        for i in range(first, last):
            j, n = shell.joints[shell.starts[i]], shell.normals[i]
            samples[3, i], samples[4, i], samples[5, i] = rotate(
                rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3], n[0], n[1], n[2]
            )
            mx, my, mz = mx + samples[0, i], my + samples[1, i], mz + samples[2, i]
        share = 1.0 / (last - first)
        mx, my, mz = mx * share, my * share, mz * share
        most = 0.0
        for i in range(first, last):
            dx, dy, dz = samples[0, i] - mx, samples[1, i] - my, samples[2, i] - mz
            most = max(most, dx * dx + dy * dy + dz * dz)
        balls[0, cluster], balls[1, cluster], balls[2, cluster] = mx, my, mz
        balls[3, cluster] = math.sqrt(most)


@uncounted_jit
def pose_group(shell, group, positions, rotations, size, posed):
    """Write samples, balls and bounding box of a group. positions (J, 3) metres, rotations (J, 4): of one frame.

    size: 1; smaller ones draw the surface towards its core, 0 altogether.
    """
    pose_places(shell, group, positions, rotations, size, posed)
    pose_normals(shell, group, rotations, posed)


@uncounted_jit
def skip_group(group, posed):
    """Mark a group as not posed: every point is infinitely far from it."""
    for k in range(3):
        posed.boxes[group, k], posed.boxes[group, 3 + k] = np.inf, -np.inf


@uncounted_jit
def outside_box(box, x, y, z):
    """Return the distance of a point from a bounding box, 0 inside: a lower bound of the distance from the samples."""
    dx = max(max(box[0] - x, x - box[3]), 0.0)
    dy = max(max(box[1] - y, y - box[4]), 0.0)
    dz = max(max(box[2] - z, z - box[5]), 0.0)
    return math.sqrt(dx * dx + dy * dy + dz * dz)


@uncounted_jit
def nearest_in(samples, first, last, x, y, z, least, nearest):
    """Return the smaller of a squared distance and those of samples first … last−1, and the sample that has it."""
    for i in range(first, last):
        dx, dy, dz = x - samples[0, i], y - samples[1, i], z - samples[2, i]
        square = dx * dx + dy * dy + dz * dz
        if square < least:
            least, nearest = square, i
    return least, nearest


@uncounted_jit
def nearest_cut(samples, first, last, x, y, z, least, nearest):
    """Return what `nearest_in` does, of the samples of a cut that the point is in front of."""
    for i in range(first, last):
        dx, dy, dz = x - samples[0, i], y - samples[1, i], z - samples[2, i]
        square = dx * dx + dy * dy + dz * dz
        if square < least and samples[3, i] * dx + samples[4, i] * dy + samples[5, i] * dz > 0.0:
            least, nearest = square, i
    return least, nearest


@uncounted_jit
def beyond_ball(balls, c, reach, x, y, z):
    """Return whether all samples of a cluster are farther from a point than a reach, metres."""
    dx, dy, dz, far = x - balls[0, c], y - balls[1, c], z - balls[2, c], reach + balls[3, c]
    return dx * dx + dy * dy + dz * dz >= far * far


@uncounted_jit
def nearest_sample(shell, group, posed, x, y, z):
    """Return the squared distance of a point from the nearest sample of a posed group, and that sample."""
    samples, balls, clusters = posed.samples, posed.balls, shell.clusters
    begin, cut, end = shell.groups[group], shell.cuts[group], shell.groups[group + 1]
    start, closest = begin, np.inf
    for c in range(begin, cut):
        dx, dy, dz = x - balls[0, c], y - balls[1, c], z - balls[2, c]
        square = dx * dx + dy * dy + dz * dz
        if square < closest:
            start, closest = c, square
    least, nearest = nearest_in(samples, clusters[start], clusters[start + 1], x, y, z, np.inf, clusters[begin])
    away = math.sqrt(least)
    for c in range(begin, cut):
        if c != start and not beyond_ball(balls, c, away, x, y, z):
            least, nearest = nearest_in(samples, clusters[c], clusters[c + 1], x, y, z, least, nearest)
            away = math.sqrt(least)
    for c in range(cut, end):
        if not beyond_ball(balls, c, away, x, y, z):
            least, nearest = nearest_cut(samples, clusters[c], clusters[c + 1], x, y, z, least, nearest)
            away = math.sqrt(least)
    return least, nearest


@uncounted_jit
def beside_rim(width, depth, away, value):
    """Return whether a point is outside, beside a rim, although the tangent planes say otherwise.

    Tangent planes reach too far: deep inside, the nearest surface faces straight away, and far outside, the distance is
    that of the nearest sample. What is neither lies beside a rim, and so does what is farther from a sample than the
    body is deep: the sample is on the far side of a thin part.
    """
    if away <= RIM_FROM * width or value >= RIM_SHARE * away:
        return False
    return value > RIM_COSINE * away or away > RIM_DEPTH * depth + width


@uncounted_jit
def tangent_planes(shell, group, posed, x, y, z, least):
    """Return Σw, Σw·nᵢ·(x − pᵢ) and Σw·nᵢ over the samples near a point, with w = exp((least − |x − pᵢ|²)/h²).

    least: the squared distance of the nearest sample, which has the weight 1.
    """
    samples, balls, clusters, width = posed.samples, posed.balls, shell.clusters, shell.widths[group]
    scale, reach, cut = 1.0 / (width * width), least + 4.0 * width * width, shell.cuts[group]
    total = value = nx = ny = nz = 0.0
    far = math.sqrt(reach)
    for c in range(shell.groups[group], shell.groups[group + 1]):
        if beyond_ball(balls, c, far, x, y, z):
            continue
        for i in range(clusters[c], clusters[c + 1]):
            dx, dy, dz = x - samples[0, i], y - samples[1, i], z - samples[2, i]
            square = dx * dx + dy * dy + dz * dz
            if square < reach:
                u, v, t = samples[3, i], samples[4, i], samples[5, i]
                height = u * dx + v * dy + t * dz
                if c >= cut and height <= 0.0:
                    continue
                w = math.exp((least - square) * scale)
                total += w
                value += w * height
                nx += w * u
                ny += w * v
                nz += w * t
    return total, value, nx, ny, nz


@uncounted_jit
def distance(shell, group, posed, x, y, z):
    """Return the signed distance (metres, negative inside) from a posed group, and the outward direction."""
    samples, width = posed.samples, shell.widths[group]
    least, nearest = nearest_sample(shell, group, posed, x, y, z)
    total, value, nx, ny, nz = tangent_planes(shell, group, posed, x, y, z, least)
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    away = math.sqrt(least)
    if length < 1e-9 or total <= 0.0:
        return away, 0.0, 1.0, 0.0
    value /= total
    if beside_rim(width, shell.depths[nearest], away, value):
        u = 1.0 / away
        nx, ny, nz = x - samples[0, nearest], y - samples[1, nearest], z - samples[2, nearest]
        return RIM_SHARE * away, nx * u, ny * u, nz * u
    return value, nx / length, ny / length, nz / length


@uncounted_jit
def push(shell, group, posed, positions, rotations, point, forces):
    """Return the signed distance of `distance`, and add its derivative by the samples' places and normals to `forces`.

    forces (J, 6): for each joint the force and, about the world's origin, the torque with which the distance acts on
    its segment; see `generalized`. Returns the derivative by the point itself as well, three scalars: with v_i =
    n_i·(x − p_i), ∂d/∂x = Σ g_i, ∂d/∂p_i = −g_i and ∂d/∂n_i = w_i (x − p_i)/Σw, where

        g_i = w_i (n_i − 2 (x − p_i)(v_i − d)/h²)/Σw.
    """
    x, y, z = point
    samples, balls, clusters, width = posed.samples, posed.balls, shell.clusters, shell.widths[group]
    begin, cut, end = shell.groups[group], shell.cuts[group], shell.groups[group + 1]
    least, nearest = nearest_sample(shell, group, posed, x, y, z)
    away, scale, reach = math.sqrt(least), 1.0 / (width * width), least + 4.0 * width * width
    total, plane, _, _, _ = tangent_planes(shell, group, posed, x, y, z, least)
    # the nearest sample itself has the weight 1
    value = plane / total
    if beside_rim(width, shell.depths[nearest], away, value):
        u = RIM_SHARE / away
        gx, gy, gz = u * (x - samples[0, nearest]), u * (y - samples[1, nearest]), u * (z - samples[2, nearest])
        carry_force(shell, nearest, positions, rotations, (-gx, -gy, -gz), forces)
        return RIM_SHARE * away, gx, gy, gz
    gx = gy = gz = 0.0
    far = math.sqrt(reach)
    for c in range(begin, end):
        if beyond_ball(balls, c, far, x, y, z):
            continue
        for i in range(clusters[c], clusters[c + 1]):
            dx, dy, dz = x - samples[0, i], y - samples[1, i], z - samples[2, i]
            square = dx * dx + dy * dy + dz * dz
            if square < reach:
                u, v, t = samples[3, i], samples[4, i], samples[5, i]
                height = u * dx + v * dy + t * dz
                if c >= cut and height <= 0.0:
                    continue
                w = math.exp((least - square) * scale) / total
                lean = 2.0 * scale * (height - value)
                fx, fy, fz = w * (u - lean * dx), w * (v - lean * dy), w * (t - lean * dz)
                gx, gy, gz = gx + fx, gy + fy, gz + fz
                carry_force(shell, i, positions, rotations, (-fx, -fy, -fz), forces)
                torque = forces[shell.joints[shell.starts[i]]]
                torque[3] += w * (v * dz - t * dy)
                torque[4] += w * (t * dx - u * dz)
                torque[5] += w * (u * dy - v * dx)
    return value, gx, gy, gz


@uncounted_jit
def carry_force(shell, i, positions, rotations, force, forces):
    """Add a force (x, y, z) on sample i to the forces (J, 6) of the joints that carry it."""
    for m in range(shell.starts[i], shell.starts[i + 1]):
        add_force(shell.joints[m], shell.places[m], shell.weights[m], positions, rotations, force, forces)


@uncounted_jit
def add_force(joint, place, weight, positions, rotations, force, forces):
    """Add a force (x, y, z) on a place (3,) in a joint's frame, times a weight, to the forces (J, 6)."""
    q = rotations[joint]
    x, y, z = rotate(q[0], q[1], q[2], q[3], place[0], place[1], place[2])
    x, y, z = positions[joint, 0] + x, positions[joint, 1] + y, positions[joint, 2] + z
    fx, fy, fz, row = weight * force[0], weight * force[1], weight * force[2], forces[joint]
    row[0], row[1], row[2] = row[0] + fx, row[1] + fy, row[2] + fz
    row[3] += y * fz - z * fy
    row[4] += z * fx - x * fz
    row[5] += x * fy - y * fx


@uncounted_jit
def generalized(parents, positions, rotations, columns, forces, out):
    """Write the derivatives by the displacement that forces (J, 6) on the segments stand for; the forces become 0.

    columns (1+J,): where the three derivatives by the root's position, and by each joint's rotation vector, go in
    `out`; −1: nowhere. The rotation of a joint takes all segments below it along.
    """
    for j in range(parents.shape[0] - 1, -1, -1):
        row, at = forces[j], columns[1 + j]
        if at >= 0:
            px, py, pz = positions[j, 0], positions[j, 1], positions[j, 2]
            tx = row[3] - (py * row[2] - pz * row[1])
            ty = row[4] - (pz * row[0] - px * row[2])
            tz = row[5] - (px * row[1] - py * row[0])
            q = rotations[j]
            out[at], out[at + 1], out[at + 2] = rotate(q[0], -q[1], -q[2], -q[3], tx, ty, tz)
        if j > 0:
            above = forces[parents[j]]
            for k in range(6):
                above[k] += row[k]
        elif columns[0] >= 0:
            for k in range(3):
                out[columns[0] + k] = row[k]
        for k in range(6):
            row[k] = 0.0


@uncounted_jit
def distances(shell, group, positions, rotations, points, posed, out):
    """Write the signed distance and direction of points (F, 3) from a group at each frame to out (F, 4)."""
    for f in range(points.shape[0]):
        pose_group(shell, group, positions[f], rotations[f], 1.0, posed)
        out[f, 0], out[f, 1], out[f, 2], out[f, 3] = distance(
            shell, group, posed, points[f, 0], points[f, 1], points[f, 2]
        )


@jit
def winding(corners, points, out):
    """Write the generalised winding numbers of triangles (T, 3, 3) about points (N, 3) to out (N,).

    Van Oosterom and Strackee, "The solid angle of a plane triangle" (1983).
    """
    for n in range(points.shape[0]):
        total = 0.0
        for t in range(corners.shape[0]):
            ax, ay, az = (
                corners[t, 0, 0] - points[n, 0],
                corners[t, 0, 1] - points[n, 1],
                corners[t, 0, 2] - points[n, 2],
            )
            bx, by, bz = (
                corners[t, 1, 0] - points[n, 0],
                corners[t, 1, 1] - points[n, 1],
                corners[t, 1, 2] - points[n, 2],
            )
            cx, cy, cz = (
                corners[t, 2, 0] - points[n, 0],
                corners[t, 2, 1] - points[n, 1],
                corners[t, 2, 2] - points[n, 2],
            )
            a, b, c = (
                math.sqrt(ax * ax + ay * ay + az * az),
                math.sqrt(bx * bx + by * by + bz * bz),
                math.sqrt(cx * cx + cy * cy + cz * cz),
            )
            volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
            below = (
                a * b * c
                + (ax * bx + ay * by + az * bz) * c
                + (bx * cx + by * cy + bz * cz) * a
                + (cx * ax + cy * ay + cz * az) * b
            )
            total += math.atan2(volume, below)
        out[n] = total / (2.0 * math.pi)


@jit
def farthest(points, count, chosen):
    """Write the numbers (count,) of points (N, 3) that are spread evenly: each the farthest from those before it."""
    n = points.shape[0]
    away = np.full(n, np.inf)
    pick = 0
    for k in range(count):
        chosen[k] = pick
        best = -1.0
        following = 0
        for i in range(n):
            dx, dy, dz = points[i, 0] - points[pick, 0], points[i, 1] - points[pick, 1], points[i, 2] - points[pick, 2]
            away[i] = min(away[i], dx * dx + dy * dy + dz * dz)
            if away[i] > best:
                best, following = away[i], i
        pick = following


class Bodies(NamedTuple):
    """A shell at the latest of many frames, in up to R of them at once: one that comes back need not be posed anew."""

    frames: NDArray
    """(R,) int64; the frame f that each place f mod R is taken by, −1 for none."""
    sizes: NDArray
    """(R, G) size at which each group is posed (`pose_group`), 0 where it is not."""
    samples: NDArray
    """(R, 6, N): see `Posed`."""
    balls: NDArray
    """(R, 4, C)."""
    boxes: NDArray
    """(R, G, 6)."""


@uncounted_jit
def body_at(bodies, frame):
    """Return the body at a frame, with the groups that are posed already."""
    at = frame % bodies.frames.shape[0]
    if bodies.frames[at] != frame:
        bodies.frames[at] = frame
        bodies.sizes[at, :] = 0.0
    return Posed(bodies.samples[at], bodies.balls[at], bodies.boxes[at])


@uncounted_jit
def pose_once(shell, group, positions, rotations, size, bodies, frame):
    """Pose a group at a frame (`body_at`) as `pose_group` does, unless it is; positions (J, 3), rotations (J, 4)."""
    at = frame % bodies.frames.shape[0]
    if bodies.sizes[at, group] != size:
        bodies.sizes[at, group] = size
        posed = Posed(bodies.samples[at], bodies.balls[at], bodies.boxes[at])
        pose_group(shell, group, positions, rotations, size, posed)


def new_bodies(shell: Shell, frames: int) -> Bodies:
    """Return room for the shell at so many frames."""
    posed = new_posed(shell)
    return Bodies(
        np.full(frames, -1), np.empty((frames, len(shell.widths))), *(np.empty((frames, *a.shape)) for a in posed)
    )


def new_posed(shell: Shell) -> Posed:
    """Return arrays for a posed shell."""
    return Posed(
        np.empty((6, len(shell.normals))), np.empty((4, len(shell.clusters) - 1)), np.empty((len(shell.widths), 6))
    )


def smallest_shell() -> Shell:
    """Return one sample in one group, to compile with."""
    one = np.array([0, 1], np.int64)
    return Shell(
        one, one, one, np.zeros(1, np.int64), np.ones(1), np.zeros((1, 3)), np.zeros((1, 3)),
        np.array([[0.0, 1.0, 0.0]]), np.ones(1), np.zeros(1, np.int64), np.ones(1), np.ones(1, np.int64), np.ones(1),
    )  # fmt: skip


def read_only(*shape):
    """Return an array of zeros that may not be written, as kinematics has them, to compile with."""
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


WARMUP = {
    "distances": lambda: (
        smallest_shell(), 0, read_only(1, 1, 3), read_only(1, 1, 4), np.ones((1, 3)),
        new_posed(smallest_shell()), np.empty((1, 4)),
    ),
    "winding": lambda: (np.zeros((1, 3, 3)), np.ones((1, 3)), np.empty(1)),
    "farthest": lambda: (np.zeros((1, 3)), 1, np.empty(1, np.int64)),
}  # fmt: skip
