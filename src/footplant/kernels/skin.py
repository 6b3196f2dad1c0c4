"""Skinning: vertices and normals deformed by the joints, frame by frame.

Joints and weights are stored in groups of four, (V, 4n): unrolled by four, the blend of the matrices is twice as fast
as a loop over influences. Most vertices of most meshes have one or two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import multiply, rotate


@uncounted_jit
def _place_joints(positions, rotations, inverse_bind, matrices):
    """Write matrices[j] = world matrix of joint j · inverse bind, (J, 12), rows of 4."""
    for j in range(positions.shape[0]):
        w, x, y, z = rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3]
        for c in range(4):
            a, b, d = rotate(w, x, y, z, inverse_bind[j, 0, c], inverse_bind[j, 1, c], inverse_bind[j, 2, c])
            matrices[j, c], matrices[j, 4 + c], matrices[j, 8 + c] = a, b, d
        for k in range(3):
            matrices[j, 4 * k + 3] += positions[j, k]


@uncounted_jit
def _blend_two(v, joints, weights, matrices, point, r):
    """Return row r of the blend of a vertex's first two matrices, times a point (x, y, z, 1)."""
    x, y, z = point
    i, j, w, u, c = joints[v, 0], joints[v, 1], weights[v, 0], weights[v, 1], 4 * r
    return (
        (w * matrices[i, c] + u * matrices[j, c]) * x
        + (w * matrices[i, c + 1] + u * matrices[j, c + 1]) * y
        + (w * matrices[i, c + 2] + u * matrices[j, c + 2]) * z
        + (w * matrices[i, c + 3] + u * matrices[j, c + 3])
    )


@uncounted_jit
def _blend_four(v, k, joints, weights, matrices, point, r):
    """Return row r of the blend of the matrices of a vertex's influences k to k + 3, times a point (x, y, z, 1)."""
    x, y, z = point
    i0, i1, i2, i3 = joints[v, k], joints[v, k + 1], joints[v, k + 2], joints[v, k + 3]
    w0, w1, w2, w3 = weights[v, k], weights[v, k + 1], weights[v, k + 2], weights[v, k + 3]
    a, b, c, d = 4 * r, 4 * r + 1, 4 * r + 2, 4 * r + 3
    return (
        (w0 * matrices[i0, a] + w1 * matrices[i1, a] + w2 * matrices[i2, a] + w3 * matrices[i3, a]) * x
        + (w0 * matrices[i0, b] + w1 * matrices[i1, b] + w2 * matrices[i2, b] + w3 * matrices[i3, b]) * y
        + (w0 * matrices[i0, c] + w1 * matrices[i1, c] + w2 * matrices[i2, c] + w3 * matrices[i3, c]) * z
        + (w0 * matrices[i0, d] + w1 * matrices[i1, d] + w2 * matrices[i2, d] + w3 * matrices[i3, d])
    )


@uncounted_jit
def linear_blend(vertices, joints, weights, inverse_bind, positions, rotations, matrices, out):
    """Write out[f, v] = Σ w_i M_i B_i⁻¹ v, (F, V, 3); `matrices` (J, 12) is workspace."""
    width = joints.shape[1]
    for f in range(positions.shape[0]):
        _place_joints(positions[f], rotations[f], inverse_bind, matrices)
        for v in range(vertices.shape[0]):
            point = (vertices[v, 0], vertices[v, 1], vertices[v, 2])
            if weights[v, 2] == 0.0 and weights[v, 3] == 0.0:
                for r in range(3):
                    out[f, v, r] = _blend_two(v, joints, weights, matrices, point, r)
            else:
                for r in range(3):
                    out[f, v, r] = _blend_four(v, 0, joints, weights, matrices, point, r)
            for k in range(4, width, 4):
                for r in range(3):
                    out[f, v, r] += _blend_four(v, k, joints, weights, matrices, point, r)


@uncounted_jit
def linear_blend_normals(normals, joints, weights, inverse_bind, positions, rotations, matrices, out):
    """Write unit normals (F, V, 3) by the inverse transpose of each blended matrix; `matrices` (J, 12) is workspace.

    The inverse transpose is the cofactor matrix over the determinant, so the direction needs only the cofactors and the
    determinant's sign, and a singular matrix still gives a normal.
    """
    for f in range(positions.shape[0]):
        _place_joints(positions[f], rotations[f], inverse_bind, matrices)
        for v in range(normals.shape[0]):
            a = b = c = d = e = g = h = i = m = 0.0
            for k in range(joints.shape[1]):
                w, j = weights[v, k], joints[v, k]
                a += w * matrices[j, 0]
                b += w * matrices[j, 1]
                c += w * matrices[j, 2]
                d += w * matrices[j, 4]
                e += w * matrices[j, 5]
                g += w * matrices[j, 6]
                h += w * matrices[j, 8]
                i += w * matrices[j, 9]
                m += w * matrices[j, 10]
            x, y, z = normals[v, 0], normals[v, 1], normals[v, 2]
            nx = (e * m - g * i) * x + (g * h - d * m) * y + (d * i - e * h) * z
            ny = (c * i - b * m) * x + (a * m - c * h) * y + (b * h - a * i) * z
            nz = (b * g - c * e) * x + (c * d - a * g) * y + (a * e - b * d) * z
            if a * (e * m - g * i) + b * (g * h - d * m) + c * (d * i - e * h) < 0.0:
                nx, ny, nz = -nx, -ny, -nz
            length = math.sqrt(nx * nx + ny * ny + nz * nz)
            s = 1.0 / length if length > 0.0 else 0.0
            out[f, v, 0], out[f, v, 1], out[f, v, 2] = s * nx, s * ny, s * nz


class Influences(NamedTuple):
    """The joints that V vertices follow."""

    joints: NDArray
    """(V, K)."""
    weights: NDArray
    """(V, K), 1 in all for a vertex."""


class RigidBind(NamedTuple):
    """The rigid parts of J inverse bind matrices."""

    rotations: NDArray
    """(J, 4)."""
    translations: NDArray
    """(J, 3) metres."""


@uncounted_jit
def _place_dual(positions, rotations, bind, duals):
    """Write duals[j] = unit dual quaternion (real, dual) of world matrix · rigid part of the inverse bind, (J, 8)."""
    for j in range(positions.shape[0]):
        w, x, y, z = rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3]
        tx, ty, tz = rotate(w, x, y, z, bind.translations[j, 0], bind.translations[j, 1], bind.translations[j, 2])
        tx, ty, tz = tx + positions[j, 0], ty + positions[j, 1], tz + positions[j, 2]
        w, x, y, z = multiply(
            w, x, y, z, bind.rotations[j, 0], bind.rotations[j, 1], bind.rotations[j, 2], bind.rotations[j, 3]
        )
        duals[j, 0], duals[j, 1], duals[j, 2], duals[j, 3] = w, x, y, z
        dw, dx, dy, dz = multiply(0.0, tx, ty, tz, w, x, y, z)
        duals[j, 4], duals[j, 5], duals[j, 6], duals[j, 7] = 0.5 * dw, 0.5 * dx, 0.5 * dy, 0.5 * dz


@uncounted_jit
def _blend_dual(v, influences, duals):
    """Return Σ ± w_i q_i over one vertex's influences, normalised by its real part.

    q and −q are one rotation: each is added with the sign that puts it in the hemisphere of the largest weight.
    """
    joints, weights = influences
    pivot = 0
    for k in range(1, joints.shape[1]):
        if weights[v, k] > weights[v, pivot]:
            pivot = k
    j, s = joints[v, pivot], weights[v, pivot]
    pw, px, py, pz = duals[j, 0], duals[j, 1], duals[j, 2], duals[j, 3]
    aw, ax, ay, az = s * pw, s * px, s * py, s * pz
    bw, bx, by, bz = s * duals[j, 4], s * duals[j, 5], s * duals[j, 6], s * duals[j, 7]
    for k in range(joints.shape[1]):
        s = weights[v, k]
        if s == 0.0 or k == pivot:
            continue
        j = joints[v, k]
        w, x, y, z = duals[j, 0], duals[j, 1], duals[j, 2], duals[j, 3]
        if w * pw + x * px + y * py + z * pz < 0.0:
            s = -s
        aw, ax, ay, az = aw + s * w, ax + s * x, ay + s * y, az + s * z
        bw, bx, by, bz = bw + s * duals[j, 4], bx + s * duals[j, 5], by + s * duals[j, 6], bz + s * duals[j, 7]
    length = math.sqrt(aw * aw + ax * ax + ay * ay + az * az)
    s = 1.0 / length if length > 0.0 else 0.0
    return s * aw, s * ax, s * ay, s * az, s * bw, s * bx, s * by, s * bz


@uncounted_jit
def dual_quaternion(vertices, influences, bind, positions, rotations, duals, out):
    """Write vertices (F, V, 3) deformed by blended unit dual quaternions; `duals` (J, 8) is workspace."""
    for f in range(positions.shape[0]):
        _place_dual(positions[f], rotations[f], bind, duals)
        for v in range(vertices.shape[0]):
            aw, ax, ay, az, bw, bx, by, bz = _blend_dual(v, influences, duals)
            x, y, z = rotate(aw, ax, ay, az, vertices[v, 0], vertices[v, 1], vertices[v, 2])
            # the translation is the vector part of 2 · dual · conjugate of real
            _, tx, ty, tz = multiply(bw, bx, by, bz, aw, -ax, -ay, -az)
            out[f, v, 0], out[f, v, 1], out[f, v, 2] = x + 2.0 * tx, y + 2.0 * ty, z + 2.0 * tz


@uncounted_jit
def dual_quaternion_normals(normals, influences, bind, positions, rotations, duals, out):
    """Write unit normals (F, V, 3) rotated by the real part of the blended dual quaternions; `duals` is workspace."""
    for f in range(positions.shape[0]):
        _place_dual(positions[f], rotations[f], bind, duals)
        for v in range(normals.shape[0]):
            aw, ax, ay, az, _, _, _, _ = _blend_dual(v, influences, duals)
            out[f, v, 0], out[f, v, 1], out[f, v, 2] = rotate(
                aw, ax, ay, az, normals[v, 0], normals[v, 1], normals[v, 2]
            )


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


def _linear_arguments():
    return (
        _read_only(1, 3), np.zeros((1, 4), np.int64), np.zeros((1, 4)), _read_only(1, 4, 4),
        _read_only(1, 1, 3), _read_only(1, 1, 4), np.zeros((1, 12)), np.zeros((1, 1, 3)),
    )  # fmt: skip


def _dual_arguments():
    return (
        np.zeros((1, 3)), Influences(np.zeros((1, 4), np.int64), np.zeros((1, 4))),
        RigidBind(np.zeros((1, 4)), np.zeros((1, 3))),
        _read_only(1, 1, 3), _read_only(1, 1, 4), np.zeros((1, 8)), np.zeros((1, 1, 3)),
    )  # fmt: skip


WARMUP = {
    "linear_blend": _linear_arguments,
    "linear_blend_normals": _linear_arguments,
    "dual_quaternion": _dual_arguments,
    "dual_quaternion_normals": _dual_arguments,
}
