"""Retarget poses joint by joint: rotations relative to a common reference pose."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit, uncounted_jit
from footplant.kernels.quaternion import exp, log, multiply


class Correspondence(NamedTuple):
    """How the J joints of a target follow the K joints of a source.

    Joint j rotates from the reference pose like the source's joint first[j], or like the rotation that lies the share
    shares[j] of the way from there to second[j]; −1 is none, then it keeps its local rotation.
    """

    parents: NDArray
    """(J,) of the target."""
    first: NDArray
    """(J,)."""
    second: NDArray
    """(J,)."""
    shares: NDArray
    """(J,) 0 to 1."""
    unposed: NDArray
    """(K, 4) inverse world rotations of the source in the reference pose."""
    reference: NDArray
    """(J, 4) world rotations of the target in the reference pose."""
    pose: NDArray
    """(J, 4) local rotations of the target in the reference pose."""
    twisted: NDArray
    """(N,) twist joints."""
    hands: NDArray
    """(N,) the joints whose twist they share."""
    twist_shares: NDArray
    """(N,) share of that twist."""
    twist_axes: NDArray
    """(N, 3) unit axes of the twist."""


@jit
def retarget_poses(joints, source, local):
    """Write local rotations (F, J, 4) of the target from world rotations (F, K, 4) of the source."""
    world = np.empty((joints.parents.shape[0], 4))
    for f in range(source.shape[0]):
        retarget_pose(joints, source[f], world, local[f])


@uncounted_jit
def retarget_pose(joints, source, world, local):
    """Apply `retarget_poses` to one frame; `world` (J, 4) gets world rotations, of twist joints before their twist."""
    parents, first, second, shares = joints.parents, joints.first, joints.second, joints.shares
    unposed, reference, pose = joints.unposed, joints.reference, joints.pose
    twisted, hands = joints.twisted, joints.hands
    twist_shares, twist_axes = joints.twist_shares, joints.twist_axes
    for j in range(parents.shape[0]):
        p, a = parents[j], first[j]
        if a >= 0:
            w, x, y, z = _turn(source[a], unposed[a])
            if second[j] != a and shares[j] > 0.0:
                ow, ox, oy, oz = _turn(source[second[j]], unposed[second[j]])
                vx, vy, vz = log(*multiply(w, -x, -y, -z, ow, ox, oy, oz))
                s = shares[j]
                w, x, y, z = multiply(w, x, y, z, *exp(s * vx, s * vy, s * vz))
            w, x, y, z = multiply(w, x, y, z, reference[j, 0], reference[j, 1], reference[j, 2], reference[j, 3])
        elif p < 0:
            w, x, y, z = reference[j, 0], reference[j, 1], reference[j, 2], reference[j, 3]
        else:
            w, x, y, z = multiply(
                world[p, 0], world[p, 1], world[p, 2], world[p, 3], pose[j, 0], pose[j, 1], pose[j, 2], pose[j, 3]
            )
        world[j, 0], world[j, 1], world[j, 2], world[j, 3] = w, x, y, z
        if p >= 0:
            w, x, y, z = multiply(world[p, 0], -world[p, 1], -world[p, 2], -world[p, 3], w, x, y, z)
        norm = math.sqrt(w * w + x * x + y * y + z * z)
        local[j, 0], local[j, 1], local[j, 2], local[j, 3] = w / norm, x / norm, y / norm, z / norm
    for n in range(twisted.shape[0]):
        j, h = twisted[n], hands[n]
        w, x, y, z = multiply(
            local[h, 0], local[h, 1], local[h, 2], local[h, 3],
            pose[h, 0], -pose[h, 1], -pose[h, 2], -pose[h, 3],
        )  # fmt: skip
        along = x * twist_axes[n, 0] + y * twist_axes[n, 1] + z * twist_axes[n, 2]
        angle = 2.0 * math.atan2(along, w)
        if angle > math.pi:
            angle -= 2.0 * math.pi
        elif angle < -math.pi:
            angle += 2.0 * math.pi
        angle *= twist_shares[n]
        ew, ex, ey, ez = exp(angle * twist_axes[n, 0], angle * twist_axes[n, 1], angle * twist_axes[n, 2])
        local[j, 0], local[j, 1], local[j, 2], local[j, 3] = multiply(
            ew, ex, ey, ez, local[j, 0], local[j, 1], local[j, 2], local[j, 3]
        )


@uncounted_jit
def _turn(world, unposed):
    """Return the rotation of a joint from the reference pose, in world axes."""
    return multiply(world[0], world[1], world[2], world[3], unposed[0], unposed[1], unposed[2], unposed[3])


def _smallest_call():
    parents = np.array([-1])
    parents.setflags(write=False)
    turns = np.array([[1.0, 0.0, 0.0, 0.0]])
    none, source = np.zeros(0, np.int64), turns[None].copy()
    source.setflags(write=False)
    joints = Correspondence(
        parents, np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1), turns, turns, turns, none, none,
        np.zeros(0), np.zeros((0, 3)),
    )  # fmt: skip
    return joints, source, np.empty((1, 1, 4))


WARMUP = {"retarget_poses": _smallest_call}
