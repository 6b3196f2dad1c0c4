"""Compiled correction of a calibration for the marker noise that poses absorb, and its gradient.

The best pose of a frame absorbs a part of the noise: the more, the farther its joints can move their markers. Bodies
whose joints can absorb more would fit better than they should (Neyman & Scott 1948). The expected amount is the number
of parameters determined by the markers rather than by the prior, D − tr(H⁻¹K) with H = JᵀJ + K. Adding it to the
objective makes the objective's expected gradient zero at the true body (McCullagh & Tibshirani, A simple method for the
adjustment of profile likelihoods, 1990).
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.dense import factor
from footplant.kernels.fk import world_axis
from footplant.kernels.quaternion import rotate
from footplant.optical._pose import MarkerTables, PosedMarkers


@jit
def invert(lower, size, inverse, out):
    """Write (L·Lᵀ)⁻¹ into `out`, both triangles; `inverse` is scratch for L⁻¹."""
    for j in range(size):
        inverse[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, size):
            total = 0.0
            for k in range(j, i):
                total -= lower[i, k] * inverse[k, j]
            inverse[i, j] = total / lower[i, i]
    for i in range(size):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, size):
                total += inverse[k, i] * inverse[k, j]
            out[i, j] = total
            out[j, i] = total


@jit
def absorbed_dof(hessians, held, spreads, out):
    """Write the degrees of freedom that each pose absorbs, D − tr(H⁻¹K), into `out` (F,); 0 where H is singular.

    hessians (F, D, D) lower triangles of H = JᵀJ + K; held (F, D, D) all of K, mostly zeros. spreads (F, D, D):
    H⁻¹KH⁻¹, from which the gradient follows.
    """
    size = hessians.shape[1]
    lower, inverse, covariance = np.zeros((size, size)), np.zeros((size, size)), np.empty((size, size))
    times = np.empty((size, size))
    for f in range(hessians.shape[0]):
        out[f] = 0.0
        if not factor(hessians[f], 0.0, size, lower):
            spreads[f] = 0.0
            continue
        invert(lower, size, inverse, covariance)
        out[f] = size
        times[:] = 0.0
        for j in range(size):
            for k in range(size):
                scale = held[f, j, k]
                if scale != 0.0:
                    for i in range(size):
                        times[j, i] += scale * covariance[k, i]
            out[f] -= times[j, j]
        for i in range(size):
            spreads[f, i] = 0.0
            for k in range(size):
                scale = covariance[i, k]
                for j in range(size):
                    spreads[f, i, j] += scale * times[k, j]


@jit
def absorbed_dof_gradient(body, posed, targets, precision, spreads, by_joint, by_offset, by_pose):
    """Add half the gradient of Σ (D − tr(H⁻¹K)) to by_joint, by_offset and by_pose; spreads as from `absorbed_dof`.

    d tr(H⁻¹K) = −tr(H⁻¹KH⁻¹ d(JᵀJ)) for a constant K. by_joint (F, J, 3): by the position of a joint and everything
    below it, rotations fixed; by_offset (M, 3): by a marker's offset in the frame of its segment; by_pose (F, D): by a
    step of the pose. body: `_pose.MarkerTables`; posed: `_pose.PosedMarkers` of F frames.
    """
    parents, segments, rows = body.parents, body.segments, body.rows
    places, joints, turned = posed.places, posed.joints, posed.turned
    size = spreads.shape[1]
    columns, jacobian, axes = np.empty(size, np.int64), np.empty((3, size)), np.empty((3, size))
    chain, above, below = np.empty(parents.shape[0], np.int64), np.empty(3), np.empty(3)
    lever, torque = np.empty((parents.shape[0], 3)), np.empty((parents.shape[0], 3))
    for f in range(targets.shape[0]):
        spread = spreads[f]
        for m in range(segments.shape[0]):
            if math.isnan(targets[f, m, 0]):
                continue
            px, py, pz = places[f, m, 0], places[f, m, 1], places[f, m, 2]
            weight = precision[m]
            count, links = 0, 0
            joint = segments[m]
            while joint >= 0:
                ax, ay, az = px - joints[f, joint, 0], py - joints[f, joint, 1], pz - joints[f, joint, 2]
                for k in range(3):
                    ux, uy, uz = world_axis(
                        turned[f, joint, 0], turned[f, joint, 1], turned[f, joint, 2], turned[f, joint, 3], k
                    )
                    columns[count] = 3 + 3 * rows[joint] + k
                    axes[0, count], axes[1, count], axes[2, count] = ux, uy, uz
                    jacobian[0, count] = uy * az - uz * ay
                    jacobian[1, count] = uz * ax - ux * az
                    jacobian[2, count] = ux * ay - uy * ax
                    count += 1
                chain[links] = joint
                links += 1
                joint = parents[joint]
            above[:], below[:] = 0.0, 0.0
            for link in range(links):
                lever[link], torque[link] = 0.0, 0.0
                for c in range(3 * link, 3 * link + 3):
                    i = columns[c]
                    sx, sy, sz = spread[0, i], spread[1, i], spread[2, i]
                    for b in range(count):
                        scale = spread[i, columns[b]]
                        sx += scale * jacobian[0, b]
                        sy += scale * jacobian[1, b]
                        sz += scale * jacobian[2, b]
                    sx, sy, sz = weight * sx, weight * sy, weight * sz
                    lever[link, 0] += sy * axes[2, c] - sz * axes[1, c]
                    lever[link, 1] += sz * axes[0, c] - sx * axes[2, c]
                    lever[link, 2] += sx * axes[1, c] - sy * axes[0, c]
                    torque[link, 0] += jacobian[1, c] * sz - jacobian[2, c] * sy
                    torque[link, 1] += jacobian[2, c] * sx - jacobian[0, c] * sz
                    torque[link, 2] += jacobian[0, c] * sy - jacobian[1, c] * sx
                for k in range(3):
                    above[k] += lever[link, k]
                    by_joint[f, chain[link], k] -= lever[link, k]
            own = segments[m]
            x, y, z = rotate(
                turned[f, own, 0], -turned[f, own, 1], -turned[f, own, 2], -turned[f, own, 3],
                above[0], above[1], above[2],
            )  # fmt: skip
            by_offset[m, 0] += x
            by_offset[m, 1] += y
            by_offset[m, 2] += z
            for k in range(3):
                by_joint[f, own, k] += above[k]
            for link in range(links):
                # axes at a joint and below it rotate with it; for those above it only the marker moves
                for k in range(3):
                    above[k] -= lever[link, k]
                    below[k] += torque[link, k]
                joint = chain[link]
                ax, ay, az = px - joints[f, joint, 0], py - joints[f, joint, 1], pz - joints[f, joint, 2]
                tx = below[0] + ay * above[2] - az * above[1]
                ty = below[1] + az * above[0] - ax * above[2]
                tz = below[2] + ax * above[1] - ay * above[0]
                for c in range(3 * link, 3 * link + 3):
                    by_pose[f, columns[c]] += axes[0, c] * tx + axes[1, c] * ty + axes[2, c] * tz


def _gradient_arguments():
    parents, turned = np.array([-1]), np.zeros((1, 1, 4))
    parents.setflags(write=False)
    turned[..., 0] = 1.0
    body = MarkerTables(
        parents, np.array([0]), np.array([0]), np.array([0]), np.eye(3)[None], np.ones((1, 3)), np.zeros((1, 3)),
        np.array([-1]), np.ones(1), 0.1,
    )  # fmt: skip
    posed = PosedMarkers(np.zeros((1, 1, 3)), np.zeros((1, 1, 3)), turned)
    return (
        body, posed, np.zeros((1, 1, 3)), np.ones(1), np.zeros((1, 6, 6)), np.zeros((1, 1, 3)), np.zeros((1, 3)),
        np.zeros((1, 6)),
    )  # fmt: skip


WARMUP = {
    "absorbed_dof": lambda: (np.ones((1, 3, 3)), np.zeros((1, 3, 3)), np.zeros((1, 3, 3)), np.zeros(1)),
    "absorbed_dof_gradient": _gradient_arguments,
}
