"""Compiled conversion between joints of a character and bones of a live protocol, one pose at a time."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.fk import pose_joint
from footplant.kernels.quaternion import multiply, rotate


@jit
def fits(words, fixed, wanted, fresh, slots):
    """Return whether words of a datagram, at the indices `fixed` (n,), are those wanted (n,): 0 no, 1 yes.

    2: yes, and any of its bones, those at `slots` (m,), is fresh (N,) already.
    """
    for n in range(fixed.shape[0]):
        if words[fixed[n]] != wanted[n]:
            return 0
    for n in range(slots.shape[0]):
        if fresh[slots[n]]:
            return 2
    return 1


@jit
def gather(floats, starts, slots, values, fresh, expected):
    """Copy seven numbers from each of `starts` (n,) in a datagram to the bones at `slots` (n,) of values (N, 7).

    Return whether all bones that are expected (N,) are fresh (N,) then.
    """
    for n in range(slots.shape[0]):
        s = slots[n]
        for k in range(7):
            values[s, k] = floats[starts[n] + k]
        fresh[s] = True
    complete = True
    for n in range(fresh.shape[0]):
        complete = complete and (fresh[n] or not expected[n])
    return complete


@jit
def keep(positions, rotations, mine, limbs, now, made, seen, made_at, kept_positions, kept_rotations):
    """Keep the bones (N,) of a sample that are a sender's, when they were seen, and when they were made.

    Return how many they are, and when the limbs' bones among them had been made before, the longest ago; infinity if
    there are none.
    """
    count, before = 0, np.inf
    for n in range(mine.shape[0]):
        if mine[n]:
            count += 1
            if limbs[n]:
                before = min(before, made_at[n])
            seen[n], made_at[n] = now, made
            for k in range(3):
                kept_positions[n, k] = positions[n, k]
            for k in range(4):
                kept_rotations[n, k] = rotations[n, k]
    return count, before


@jit
def other_lengths(positions, fresh, sensors, above, followed, lengths):
    """Return by how much in all the bones of a body differ from their lengths (J,), these lengths, and their number.

    positions: (N, 3) metres; fresh, followed: (N,) which of them count; sensors: (J,) the position of each joint;
    above: (J,) that of its parent, or −1 where positions are in the parent's frame. The first that counts does not: it
    is where the body is.
    """
    off, total, count = 0.0, 0.0, -1
    for j in range(sensors.shape[0]):
        s, a = sensors[j], above[j]
        if not (fresh[s] and followed[s]):
            continue
        count += 1
        if count == 0:
            continue
        x, y, z = positions[s, 0], positions[s, 1], positions[s, 2]
        if a >= 0:
            x, y, z = x - positions[a, 0], y - positions[a, 1], z - positions[a, 2]
        off += abs(math.sqrt(x * x + y * y + z * z) - lengths[j])
        total += lengths[j]
    return off, total, max(count, 0)


@jit
def from_unity(values, fresh, age, farthest, unit, within, places, turns, present, expected):
    """Write places (N, 3), unit rotations (N, 4) and which are present (N,) of bones as Unity has them.

    values: (N, 7) left-handed position and rotation (x, y, z, w); fresh: (N,) bool, false afterwards; age: (N,) int64,
    poses since each was present; expected: (N,) bool, those of an age below `within`. What is not finite, farther than
    `farthest` metres, or of a norm further than `unit` from 1 is invalid: absent, at the origin. Return the numbers of
    present and of invalid fresh bones.
    """
    valid, invalid = 0, 0
    for n in range(values.shape[0]):
        x, y, z, a, b, c, w = values[n]
        size = math.sqrt(w * w + a * a + b * b + c * c)
        near = abs(x) <= farthest and abs(y) <= farthest and abs(z) <= farthest
        present[n] = False
        if near and abs(size - 1.0) <= unit:
            places[n, 0], places[n, 1], places[n, 2] = x, y, -z
            turns[n, 0], turns[n, 1], turns[n, 2], turns[n, 3] = w / size, -a / size, -b / size, c / size
            if fresh[n]:
                present[n] = True
                valid += 1
        else:
            places[n, 0], places[n, 1], places[n, 2] = 0.0, 0.0, 0.0
            turns[n, 0], turns[n, 1], turns[n, 2], turns[n, 3] = 1.0, 0.0, 0.0, 0.0
            if fresh[n]:
                invalid += 1
        fresh[n] = False
    if valid > 0:
        for n in range(values.shape[0]):
            age[n] = 0 if present[n] else age[n] + 1
            expected[n] = age[n] < within
    return valid, invalid


@jit
def to_unity(bones, starts, floats):
    """Write the seven numbers of each bone, as Unity has them, to the words of a datagram from `starts` (B,) on.

    bones: (B, 7) position (m) and rotation (w, x, y, z) in the parent, right-handed.
    """
    for b in range(bones.shape[0]):
        n = starts[b]
        x, y, z, w, i, j, k = bones[b]
        floats[n], floats[n + 1], floats[n + 2] = x, y, -z
        floats[n + 3], floats[n + 4], floats[n + 5], floats[n + 6] = -i, -j, k, w


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
def to_bones(parents, offsets, root, own, joints, above, back, positions, rotations, turns, local):
    """Write world rotations (B, 4) of bones from a T-pose, and their transforms in the parent, local (B, 7).

    root: (3,) metres and own: (J, 4) local rotations of a pose of the skeleton with these parents (J,) and offsets
    (J, 3); positions (J, 3) and rotations (J, 4) of its joints in the world are written, too. joints: (B,) the joint of
    each bone, above: (B,) its parent bone or −1, parents first; back: (B, 4) inverse world rotations of the joints in
    the T-pose.
    """
    for k in range(3):
        positions[0, k] = root[k]
    for k in range(4):
        rotations[0, k] = own[0, k]
    for j in range(1, parents.shape[0]):
        pose_joint(j, parents[j], offsets, own, positions, rotations)
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
    "fits": lambda: (
        np.zeros(1, np.uint32), np.zeros(1, np.int64), np.zeros(1, np.uint32), np.zeros(1, bool), np.zeros(1, np.int64)
    ),
    "gather": lambda: (
        np.zeros(8, np.float32), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 7)), np.zeros(1, bool),
        np.zeros(1, bool),
    ),
    "other_lengths": lambda: (
        np.zeros((1, 3)), np.ones(1, bool), np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1, bool), np.ones(1)
    ),
    "keep": lambda: (
        np.zeros((1, 3)), np.zeros((1, 4)), np.zeros(1, bool), np.zeros(1, bool), 0.0, 0.0, np.zeros(1), np.zeros(1),
        np.zeros((1, 3)), np.zeros((1, 4)),
    ),
    "from_unity": lambda: (
        np.zeros((1, 7)), np.ones(1, bool), np.zeros(1, np.int64), 1.0, 0.1, 1, np.zeros((1, 3)), np.zeros((1, 4)),
        np.zeros(1, bool), np.zeros(1, bool),
    ),
    "to_unity": lambda: (np.zeros((1, 7)), np.zeros(1, np.int64), np.zeros(7, np.float32)),
    "local_from_world": lambda: (
        _frozen(np.array([-1])), np.zeros(1, np.int64), np.ones((1, 4)), np.zeros((1, 4))
    ),
    "to_bones": lambda: (
        _frozen(np.array([-1])), _frozen(np.zeros((1, 3))), np.zeros(3), np.ones((1, 4)), np.zeros(1, np.int64),
        np.array([-1]), np.ones((1, 4)), np.zeros((1, 3)), np.ones((1, 4)), np.zeros((1, 4)), np.zeros((1, 7)),
    ),
}  # fmt: skip
