"""Forward kinematics and its derivatives, frame by frame.

With p the parent of joint j: R_j = R_p·q_j and x_j = x_p + R_p·offset_j. Rotating joint a by exp(v) in its own frame
moves a point x of its subtree by (R_a v) × (x − x_a).
"""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.quaternion import multiply, rotate


@uncounted_jit
def pose_joint(j, p, offsets, local, positions, rotations):
    """Write the world position and rotation of joint j from those of its parent p; all arrays of one frame."""
    w, x, y, z = rotations[p, 0], rotations[p, 1], rotations[p, 2], rotations[p, 3]
    vx, vy, vz = rotate(w, x, y, z, offsets[j, 0], offsets[j, 1], offsets[j, 2])
    positions[j, 0] = positions[p, 0] + vx
    positions[j, 1] = positions[p, 1] + vy
    positions[j, 2] = positions[p, 2] + vz
    w, x, y, z = multiply(w, x, y, z, local[j, 0], local[j, 1], local[j, 2], local[j, 3])
    rotations[j, 0] = w
    rotations[j, 1] = x
    rotations[j, 2] = y
    rotations[j, 3] = z


@jit
def forward(parents, offsets, root, local, positions, rotations):
    """Write world positions (F, J, 3) and rotations (F, J, 4) from local rotations.

    `offsets` is (1, J, 3) for constant bones or (F, J, 3) for bones that change with time.
    """
    frames, joints = local.shape[0], local.shape[1]
    step = 0 if offsets.shape[0] == 1 else 1
    for f in range(frames):
        o = f * step
        positions[f, 0, 0] = root[f, 0]
        positions[f, 0, 1] = root[f, 1]
        positions[f, 0, 2] = root[f, 2]
        for k in range(4):
            rotations[f, 0, k] = local[f, 0, k]
        for j in range(1, joints):
            pose_joint(j, parents[j], offsets[o], local[f], positions[f], rotations[f])


@jit
def forward_some(joints, parents, offsets, local, positions, rotations):
    """Update `forward` for some joints (N,), parents before children; joint 0 is not among them."""
    step = 0 if offsets.shape[0] == 1 else 1
    for f in range(local.shape[0]):
        o = f * step
        for n in range(joints.shape[0]):
            j = joints[n]
            pose_joint(j, parents[j], offsets[o], local[f], positions[f], rotations[f])


@uncounted_jit
def place_of(joint, offset, positions, rotations):
    """Return the world position of a point fixed to a segment: offset (3,) in the joint's frame; one frame."""
    x, y, z = rotate(
        rotations[joint, 0], rotations[joint, 1], rotations[joint, 2], rotations[joint, 3],
        offset[0], offset[1], offset[2],
    )  # fmt: skip
    return positions[joint, 0] + x, positions[joint, 1] + y, positions[joint, 2] + z


@jit
def carry(joints, offsets, positions, rotations, out):
    """Write world positions (F, N, 3) of points fixed to segments: joints (N,), offsets (N, 3)."""
    for f in range(positions.shape[0]):
        for n in range(joints.shape[0]):
            x, y, z = place_of(joints[n], offsets[n], positions[f], rotations[f])
            out[f, n, 0], out[f, n, 1], out[f, n, 2] = x, y, z


@jit
def carry_apart(joints, offsets, positions, rotations, out):
    """Write world positions (N, F, 3) of points fixed to segments, contiguous per point: joints (N,), offsets."""
    for f in range(positions.shape[0]):
        for n in range(joints.shape[0]):
            x, y, z = place_of(joints[n], offsets[n], positions[f], rotations[f])
            out[n, f, 0], out[n, f, 1], out[n, f, 2] = x, y, z


@jit
def carry_some(rows, joints, offsets, positions, rotations, out):
    """Write world positions (N, 3) of points fixed to segments, each at its own row: rows, joints, offsets (N, …)."""
    for n in range(rows.shape[0]):
        row = rows[n]
        out[n, 0], out[n, 1], out[n, 2] = place_of(joints[n], offsets[n], positions[row], rotations[row])


@jit
def world_axis(w, x, y, z, k):
    """Return axis k of a rotated frame, in world coordinates."""
    return rotate(w, x, y, z, 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@jit
def mass_center(masses, offsets, positions, rotations, out):
    """Write the centre of mass (F, 3) of segments: masses (J,), centres `offsets` (J, 3) in their joints' frames."""
    for f in range(positions.shape[0]):
        x = y = z = 0.0
        for j in range(masses.shape[0]):
            vx, vy, vz = rotate(
                rotations[f, j, 0], rotations[f, j, 1], rotations[f, j, 2], rotations[f, j, 3],
                offsets[j, 0], offsets[j, 1], offsets[j, 2],
            )  # fmt: skip
            x += masses[j] * (positions[f, j, 0] + vx)
            y += masses[j] * (positions[f, j, 1] + vy)
            z += masses[j] * (positions[f, j, 2] + vz)
        out[f, 0], out[f, 1], out[f, 2] = x, y, z


@jit
def position_jacobian(parents, joint, points, positions, rotations, out):
    """Write d(point)/d(displacement), (F, 3, 3+3J), of points (F, 3) on the segment of `joint`; `out` starts as zeros.

    Rotating joint a by exp(v) in its own frame moves the point by (R_a v) × (point − x_a), for a and all its ancestors.
    """
    for f in range(points.shape[0]):
        for k in range(3):
            out[f, k, k] = 1.0
        a = joint
        while a >= 0:
            dx = points[f, 0] - positions[f, a, 0]
            dy = points[f, 1] - positions[f, a, 1]
            dz = points[f, 2] - positions[f, a, 2]
            w, x, y, z = rotations[f, a, 0], rotations[f, a, 1], rotations[f, a, 2], rotations[f, a, 3]
            for k in range(3):
                ax, ay, az = world_axis(w, x, y, z, k)
                column = 3 + 3 * a + k
                out[f, 0, column] = ay * dz - az * dy
                out[f, 1, column] = az * dx - ax * dz
                out[f, 2, column] = ax * dy - ay * dx
            a = parents[a]


@jit
def rotation_jacobian(parents, joint, rotations, out):
    """Write d(world rotation vector of `joint`)/d(displacement), (F, 3, 3+3J); `out` starts as zeros."""
    for f in range(rotations.shape[0]):
        a = joint
        while a >= 0:
            w, x, y, z = rotations[f, a, 0], rotations[f, a, 1], rotations[f, a, 2], rotations[f, a, 3]
            for k in range(3):
                column = 3 + 3 * a + k
                out[f, 0, column], out[f, 1, column], out[f, 2, column] = world_axis(w, x, y, z, k)
            a = parents[a]


@jit
def mass_jacobian(parents, masses, centers, positions, rotations, out):
    """Write d(centre of mass)/d(displacement), (F, 3, 3+3J); centers (F, J, 3) are the segments' centres in the world.

    Rotating a joint moves its whole subtree, so each joint needs the mass and the first moment of its subtree.
    """
    frames, joints = positions.shape[0], positions.shape[1]
    mass = np.empty(joints)
    moment = np.empty((joints, 3))
    for f in range(frames):
        for j in range(joints):
            mass[j] = masses[j]
            for k in range(3):
                moment[j, k] = masses[j] * centers[f, j, k]
        for j in range(joints - 1, 0, -1):
            p = parents[j]
            mass[p] += mass[j]
            for k in range(3):
                moment[p, k] += moment[j, k]
        for k in range(3):
            out[f, k, k] = mass[0]
        for j in range(joints):
            dx = moment[j, 0] - mass[j] * positions[f, j, 0]
            dy = moment[j, 1] - mass[j] * positions[f, j, 1]
            dz = moment[j, 2] - mass[j] * positions[f, j, 2]
            w, x, y, z = rotations[f, j, 0], rotations[f, j, 1], rotations[f, j, 2], rotations[f, j, 3]
            for k in range(3):
                ax, ay, az = world_axis(w, x, y, z, k)
                column = 3 + 3 * j + k
                out[f, 0, column] = ay * dz - az * dy
                out[f, 1, column] = az * dx - ax * dz
                out[f, 2, column] = ax * dy - ay * dx


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


# a motion's arrays are read-only, for which numba compiles a separate version
_FROZEN_PARENTS = np.array([-1])
_FROZEN_PARENTS.setflags(write=False)
WARMUP = {
    "forward": lambda: (
        _FROZEN_PARENTS, _read_only(1, 1, 3), _read_only(1, 3), _read_only(1, 1, 4),
        np.zeros((1, 1, 3)), np.zeros((1, 1, 4)),
    ),
    "forward_some": lambda: (
        np.zeros(0, np.int64), _FROZEN_PARENTS, _read_only(1, 1, 3), np.zeros((1, 1, 4)),
        np.zeros((1, 1, 3)), np.zeros((1, 1, 4)),
    ),
    "carry": lambda: (
        np.zeros(1, np.int64), np.zeros((1, 3)), _read_only(1, 1, 3), _read_only(1, 1, 4), np.zeros((1, 1, 3))
    ),
    "carry_apart": lambda: (
        np.zeros(1, np.int64), np.zeros((1, 3)), np.zeros((1, 1, 3)), np.zeros((1, 1, 4)), np.zeros((1, 1, 3))
    ),
    "carry_some": lambda: (
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 3)), _read_only(1, 1, 3), _read_only(1, 1, 4),
        np.zeros((1, 3)),
    ),
    "mass_center": lambda: (
        _read_only(1), _read_only(1, 3), _read_only(1, 1, 3), _read_only(1, 1, 4), np.zeros((1, 3))
    ),
    "position_jacobian": lambda: (
        _FROZEN_PARENTS, 0, np.zeros((1, 3)), _read_only(1, 1, 3), _read_only(1, 1, 4), np.zeros((1, 3, 6))
    ),
    "rotation_jacobian": lambda: (_FROZEN_PARENTS, 0, _read_only(1, 1, 4), np.zeros((1, 3, 6))),
    "mass_jacobian": lambda: (
        _FROZEN_PARENTS, _read_only(1), np.zeros((1, 1, 3)), _read_only(1, 1, 3), _read_only(1, 1, 4),
        np.zeros((1, 3, 6)),
    ),
}  # fmt: skip
