"""Poses from displacement splines, and residuals and derivatives of pins and points.

A pose is m0 ⊕ d with d a cubic B-spline, so derivatives are taken by d itself: changing d to d + Δ rotates joint a in
its own frame by Jr(d)·Δ, with Jr the right Jacobian of the exponential. Unknowns come in groups of three: group 0 is
the root's position, group 1+j the rotation vector of joint j; `groups` (G,) lists the unknown ones and `group_of`
(1+J,) is the index of each among them, or −1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.fk import place_of
from footplant.kernels.least_squares import left_inverse_times
from footplant.kernels.quaternion import exp, log, multiply, rotate

POSITION = 0


class Unknowns(NamedTuple):
    """A skeleton and its unknown groups."""

    parents: NDArray
    """(J,)."""
    groups: NDArray
    """(G,)."""
    group_of: NDArray
    """(1+J,)."""


class Pins(NamedTuple):
    """N pins sorted by frame; those of frame f are starts[f] … starts[f+1]−1."""

    starts: NDArray
    kinds: NDArray
    joints: NDArray
    offsets: NDArray
    """(N, 3) the point in its joint's frame, metres."""
    targets: NDArray
    """(N, 4) world position or rotation."""
    axes: NDArray
    """(N, 3) weight of each world axis."""
    owners: NDArray
    """(N,) the plant of unknown position that a pin belongs to, or −1."""
    chain_of: NDArray
    """(N,) the row of `chains` of each pin."""
    chains: NDArray
    """(C, 1+J) bool; groups that may move."""


class PointRows(NamedTuple):
    """R functions of the position of one point."""

    frames: NDArray
    """(R,)."""
    joint: int
    places: NDArray
    """(R, 3) positions of the point, metres."""
    slopes: NDArray
    """(R, 3) gradients by the point's position."""
    chain: NDArray
    """(1+J,) bool; groups that may move."""


@jit
def displace_frames(first, basis, control, out):
    """Write displacements (F, n) of splines with control points (K, n): frame f reads first[f] … first[f]+3.

    Control points outside 0 … K−1 are fixed at zero.
    """
    count, width = control.shape
    for f in range(first.shape[0]):
        out[f, :] = 0.0
        for a in range(4):
            k = first[f] + a
            if 0 <= k < count:
                weight = basis[f, a]
                for i in range(width):
                    out[f, i] += weight * control[k, i]


@jit
def pose_frames(groups, displacements, reference_root, reference_local, root, local):
    """Write m0 ⊕ d for the unknown groups; root (F, 3) and local (F, J, 4) already hold the other joints."""
    for f in range(displacements.shape[0]):
        for g in range(groups.shape[0]):
            x, y, z = displacements[f, 3 * g], displacements[f, 3 * g + 1], displacements[f, 3 * g + 2]
            if groups[g] == 0:
                root[f, 0] = reference_root[f, 0] + x
                root[f, 1] = reference_root[f, 1] + y
                root[f, 2] = reference_root[f, 2] + z
                continue
            j = groups[g] - 1
            ew, ex, ey, ez = exp(x, y, z)
            w, x, y, z = multiply(
                reference_local[f, j, 0], reference_local[f, j, 1], reference_local[f, j, 2], reference_local[f, j, 3],
                ew, ex, ey, ez,
            )  # fmt: skip
            scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
            local[f, j, 0], local[f, j, 1], local[f, j, 2], local[f, j, 3] = w * scale, x * scale, y * scale, z * scale


@jit
def right_times(vx, vy, vz, x, y, z):
    """Return Jr(v)·(x, y, z): exp(v + Δ) ≈ exp(v)·exp(Jr(v)·Δ).

    Jr(v) = I − (1 − cos|v|)/|v|² [v]× + (|v| − sin|v|)/|v|³ [v]×².
    """
    square = vx * vx + vy * vy + vz * vz
    if square < 1e-8:
        first, second = 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
    else:
        angle = math.sqrt(square)
        first, second = (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)
    cx, cy, cz = vy * z - vz * y, vz * x - vx * z, vx * y - vy * x
    dx, dy, dz = vy * cz - vz * cy, vz * cx - vx * cz, vx * cy - vy * cx
    return x - first * cx + second * dx, y - first * cy + second * dy, z - first * cz + second * dz


@uncounted_jit
def turning_axes(groups, displacement, rotations, axes):
    """Write axes (G, 3, 3): row i of group g is the world axis of its joint's rotation when component i of d grows."""
    for g in range(groups.shape[0]):
        if groups[g] == 0:
            continue
        j = groups[g] - 1
        vx, vy, vz = displacement[3 * g], displacement[3 * g + 1], displacement[3 * g + 2]
        for i in range(3):
            x, y, z = right_times(vx, vy, vz, 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
            axes[g, i, 0], axes[g, i, 1], axes[g, i, 2] = rotate(
                rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3], x, y, z
            )


@jit
def measure_pins(pins, shifts, positions, rotations, out):
    """Write residuals (N, 3) of pins: metres from a position, or the rotation vector from an orientation.

    The target of a pin that belongs to a plant of unknown position moves with the plant's shift (P, 3).
    """
    starts, targets, weights, owners = pins.starts, pins.targets, pins.axes, pins.owners
    for f in range(starts.shape[0] - 1):
        for n in range(starts[f], starts[f + 1]):
            j = pins.joints[n]
            if pins.kinds[n] == POSITION:
                px, py, pz = place_of(j, pins.offsets[n], positions[f], rotations[f])
                if owners[n] >= 0:
                    px -= shifts[owners[n], 0]
                    py -= shifts[owners[n], 1]
                    pz -= shifts[owners[n], 2]
                out[n, 0] = weights[n, 0] * (px - targets[n, 0])
                out[n, 1] = weights[n, 1] * (py - targets[n, 1])
                out[n, 2] = weights[n, 2] * (pz - targets[n, 2])
            else:
                w, x, y, z = multiply(
                    rotations[f, j, 0], rotations[f, j, 1], rotations[f, j, 2], rotations[f, j, 3],
                    targets[n, 0], -targets[n, 1], -targets[n, 2], -targets[n, 3],
                )  # fmt: skip
                out[n, 0], out[n, 1], out[n, 2] = log(w, x, y, z)


@jit
def differentiate_pins(unknowns, pins, displacements, positions, rotations, residuals, out):
    """Write derivatives (3N, n) of the residuals of pins by the displacement at their own frame; see `measure_pins`."""
    parents, groups, group_of = unknowns
    starts, kinds, weights = pins.starts, pins.kinds, pins.axes
    axes = np.zeros((groups.shape[0], 3, 3))
    for f in range(starts.shape[0] - 1):
        if starts[f] == starts[f + 1]:
            continue
        turning_axes(groups, displacements[f], rotations[f], axes)
        for n in range(starts[f], starts[f + 1]):
            chain, k = pins.chains[pins.chain_of[n]], 3 * n
            for i in range(3):
                out[k + i, :] = 0.0
            j = pins.joints[n]
            px, py, pz = place_of(j, pins.offsets[n], positions[f], rotations[f])
            if kinds[n] == POSITION and group_of[0] >= 0 and chain[0]:
                for i in range(3):
                    out[k + i, 3 * group_of[0] + i] = weights[n, i]
            a = j
            while a >= 0:
                g = group_of[1 + a]
                if g >= 0 and chain[1 + a]:
                    lx, ly, lz = px - positions[f, a, 0], py - positions[f, a, 1], pz - positions[f, a, 2]
                    for i in range(3):
                        ax, ay, az = axes[g, i, 0], axes[g, i, 1], axes[g, i, 2]
                        if kinds[n] == POSITION:
                            out[k, 3 * g + i] = weights[n, 0] * (ay * lz - az * ly)
                            out[k + 1, 3 * g + i] = weights[n, 1] * (az * lx - ax * lz)
                            out[k + 2, 3 * g + i] = weights[n, 2] * (ax * ly - ay * lx)
                        else:
                            x, y, z = left_inverse_times(residuals[n, 0], residuals[n, 1], residuals[n, 2], ax, ay, az)
                            out[k, 3 * g + i], out[k + 1, 3 * g + i], out[k + 2, 3 * g + i] = x, y, z
                a = parents[a]


@jit
def differentiate_points(unknowns, points, displacements, positions, rotations, out):
    """Write derivatives (R, n) of functions of one point, with gradients `slopes`, by the displacement."""
    parents, groups, group_of = unknowns
    frames, joint, places, slopes, chain = points
    axes = np.zeros((groups.shape[0], 3, 3))
    for r in range(frames.shape[0]):
        f = frames[r]
        turning_axes(groups, displacements[f], rotations[f], axes)
        out[r, :] = 0.0
        if group_of[0] >= 0 and chain[0]:
            for i in range(3):
                out[r, 3 * group_of[0] + i] = slopes[r, i]
        a = joint
        while a >= 0:
            g = group_of[1 + a]
            if g >= 0 and chain[1 + a]:
                lx = places[r, 0] - positions[f, a, 0]
                ly = places[r, 1] - positions[f, a, 1]
                lz = places[r, 2] - positions[f, a, 2]
                for i in range(3):
                    ax, ay, az = axes[g, i, 0], axes[g, i, 1], axes[g, i, 2]
                    out[r, 3 * g + i] = (
                        slopes[r, 0] * (ay * lz - az * ly)
                        + slopes[r, 1] * (az * lx - ax * lz)
                        + slopes[r, 2] * (ax * ly - ay * lx)
                    )
            a = parents[a]


@jit
def turn_columns(groups, frames, displacements, jacobian):
    """Convert derivatives (R, n) by a further displacement of the pose into those by d, in place: times Jr(d)."""
    for r in range(frames.shape[0]):
        f = frames[r]
        for g in range(groups.shape[0]):
            if groups[g] == 0:
                continue
            x, y, z = jacobian[r, 3 * g], jacobian[r, 3 * g + 1], jacobian[r, 3 * g + 2]
            # (row·Jr(v))ᵀ = Jr(v)ᵀ·rowᵀ = Jr(−v)·rowᵀ
            jacobian[r, 3 * g], jacobian[r, 3 * g + 1], jacobian[r, 3 * g + 2] = right_times(
                -displacements[f, 3 * g], -displacements[f, 3 * g + 1], -displacements[f, 3 * g + 2], x, y, z
            )


def _read_only(*shape):
    array = np.zeros(shape)
    array[..., 0] = 1.0
    array.setflags(write=False)
    return array


def _parents():
    parents = np.array([-1])
    parents.setflags(write=False)
    return parents


def _pins():
    one = np.zeros(1, np.int64)
    return Pins(
        np.array([0, 1]), one, one, np.zeros((1, 3)), np.zeros((1, 4)), np.ones((1, 3)), one, one,
        np.ones((1, 2), np.bool_),
    )  # fmt: skip


def _unknowns():
    return Unknowns(_parents(), np.arange(2), np.arange(2))


def _points():
    return PointRows(np.zeros(1, np.int64), 0, np.zeros((1, 3)), np.ones((1, 3)), np.ones(2, np.bool_))


_BODY = (_read_only(1, 1, 3), _read_only(1, 1, 4))
WARMUP = {
    "displace_frames": lambda: (np.zeros(1, np.int64), np.ones((1, 4)), np.zeros((4, 1)), np.zeros((1, 1))),
    "pose_frames": lambda: (
        np.arange(2), np.zeros((1, 6)), _read_only(1, 3), _read_only(1, 1, 4), np.zeros((1, 3)), np.ones((1, 1, 4))
    ),
    "measure_pins": lambda: (_pins(), np.zeros((1, 3)), *_BODY, np.zeros((1, 3))),
    "differentiate_pins": lambda: (
        _unknowns(), _pins(), np.zeros((1, 6)), *_BODY, np.zeros((1, 3)), np.zeros((3, 6))
    ),
    "differentiate_points": lambda: (_unknowns(), _points(), np.zeros((1, 6)), *_BODY, np.zeros((1, 6))),
    "turn_columns": lambda: (np.arange(2), np.zeros(1, np.int64), np.zeros((1, 6)), np.zeros((1, 6))),
}  # fmt: skip
