"""Compiled conversion between joints of a character and bones of a live protocol, one pose at a time."""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import multiply, rotate


@jit
def local_from_world(parents, sensors, world, out):
    """Write local rotations (J, 4) of joints from the world rotations (N, 4) of their sensors; sensors: (J,)."""
    for j in range(parents.shape[0]):
        s = sensors[j]
        w, x, y, z = world[s, 0], world[s, 1], world[s, 2], world[s, 3]
        if parents[j] >= 0:
            p = sensors[parents[j]]
            w, x, y, z = multiply(world[p, 0], -world[p, 1], -world[p, 2], -world[p, 3], w, x, y, z)
        size = np.sqrt(w * w + x * x + y * y + z * z)
        out[j, 0], out[j, 1], out[j, 2], out[j, 3] = w / size, x / size, y / size, z / size


@jit
def to_bones(joints, above, back, positions, rotations, turns, local):
    """Write world rotations (B, 4) of bones from a T-pose, and their transforms in the parent, local (B, 7).

    joints: (B,) the joint of each bone, above: (B,) its parent bone or −1, parents first; back: (B, 4) inverse world
    rotations of the joints in the T-pose; positions (J, 3) and rotations (J, 4) of the joints in the world.
    """
    for b in range(joints.shape[0]):
        j = joints[b]
        w, x, y, z = multiply(
            rotations[j, 0], rotations[j, 1], rotations[j, 2], rotations[j, 3],
            back[b, 0], back[b, 1], back[b, 2], back[b, 3],
        )  # fmt: skip
        turns[b, 0], turns[b, 1], turns[b, 2], turns[b, 3] = w, x, y, z
        px, py, pz = positions[j, 0], positions[j, 1], positions[j, 2]
        if above[b] >= 0:
            a = above[b]
            k = joints[a]
            aw, ax, ay, az = turns[a, 0], -turns[a, 1], -turns[a, 2], -turns[a, 3]
            w, x, y, z = multiply(aw, ax, ay, az, w, x, y, z)
            px, py, pz = rotate(aw, ax, ay, az, px - positions[k, 0], py - positions[k, 1], pz - positions[k, 2])
        local[b, 0], local[b, 1], local[b, 2] = px, py, pz
        local[b, 3], local[b, 4], local[b, 5], local[b, 6] = w, x, y, z


def _frozen(array):
    array.setflags(write=False)
    return array


WARMUP = {
    "local_from_world": lambda: (
        _frozen(np.array([-1])), np.zeros(1, np.int64), np.ones((1, 4)), np.zeros((1, 4))
    ),
    "to_bones": lambda: (
        np.zeros(1, np.int64), np.array([-1]), np.ones((1, 4)), np.zeros((1, 3)), np.ones((1, 4)), np.zeros((1, 4)),
        np.zeros((1, 7)),
    ),
}  # fmt: skip
