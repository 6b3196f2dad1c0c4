"""Trunk and leg posture of poses, before left and right are known: the kernels of `body_plan`.

Compiled without reassociation or fused operations, because a character's left and right are decided from these
numbers. Poses are (P, J, 3), in any units and axes.
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import strict_jit


@strict_jit
def leg_cosines(poses, hips, ends, shoulders, out):
    """Write into out (P,) the cosine between trunk and legs, the mean of both legs; 0 for segments of zero length.

    hips (2,), ends (2,): the first and last joint of each leg; shoulders (2,).
    """
    for p in range(poses.shape[0]):
        out[p] = 0.0
        for side in range(2):
            trunk = leg = product = 0.0
            for k in range(3):
                low, high = (
                    poses[p, hips[0], k] + poses[p, hips[1], k],
                    poses[p, shoulders[0], k] + poses[p, shoulders[1], k],
                )
                a, b = 0.5 * high - 0.5 * low, poses[p, ends[side], k] - poses[p, hips[side], k]
                trunk, leg, product = trunk + a * a, leg + b * b, product + a * b
            lengths = math.sqrt(trunk) * math.sqrt(leg)
            out[p] += 0.5 * product / lengths if lengths > 0.0 else 0.0


@strict_jit
def straightest(poses, hips, chest, head):
    """Return the largest cosine over all poses between the lines hips → chest and chest → head."""
    best = -np.inf
    for p in range(poses.shape[0]):
        trunk = neck = product = 0.0
        for k in range(3):
            a, b = poses[p, chest, k] - poses[p, hips, k], poses[p, head, k] - poses[p, chest, k]
            trunk, neck, product = trunk + a * a, neck + b * b, product + a * b
        lengths = math.sqrt(trunk) * math.sqrt(neck)
        best = max(best, product / lengths if lengths > 0.0 else 0.0)
    return best


@strict_jit
def add_unit(total, x, y, z):
    """Add the direction of a vector to total (3,); a zero vector adds nothing."""
    length = math.sqrt(x * x + y * y + z * z)
    if length > 0.0:
        total[0] += x / length
        total[1] += y / length
        total[2] += z / length


@strict_jit
def side_turn(poses, cosines, legs, shoulders, tips, room):
    """Return the mean of (up × forward) · across over standing poses: positive when the first limbs are the left ones.

    forward is estimated from knees and toes. legs (2, 4): hip, knee, foot and toes of each leg, or −1. cosines (P,)
    from `leg_cosines`: only standing poses count, weighted by −cosine. tips (3,): direction of the foot tips in the
    first pose. room (3, 3): scratch space.
    """
    total, weights = 0.0, 0.0
    for p in range(poses.shape[0]):
        if not cosines[p] < -0.5:
            continue
        room[:] = 0.0
        up, across, forward = room[0], room[1], room[2]
        a, b = poses[p, legs[0, 0]], poses[p, legs[1, 0]]
        c, d = poses[p, shoulders[0]], poses[p, shoulders[1]]
        add_unit(across, a[0] - b[0], a[1] - b[1], a[2] - b[2])
        add_unit(across, c[0] - d[0], c[1] - d[1], c[2] - d[2])
        for k in range(3):
            up[k] = 0.5 * (c[k] + d[k]) - 0.5 * (a[k] + b[k])
        for leg in range(2):
            hip, knee, foot = poses[p, legs[leg, 0]], poses[p, legs[leg, 1]], poses[p, legs[leg, 2]]
            x, y, z = foot[0] - hip[0], foot[1] - hip[1], foot[2] - hip[2]
            length = math.sqrt(x * x + y * y + z * z)
            size = length if length > 0.0 else 1.0
            x, y, z = x / size, y / size, z / size
            bx, by, bz = knee[0] - hip[0], knee[1] - hip[1], knee[2] - hip[2]
            along = bx * x + by * y + bz * z
            forward[0] += 2.0 * (bx - along * x) / size
            forward[1] += 2.0 * (by - along * y) / size
            forward[2] += 2.0 * (bz - along * z) / size
            if legs[leg, 3] >= 0:
                toes = poses[p, legs[leg, 3]]
                bx, by, bz = toes[0] - foot[0], toes[1] - foot[1], toes[2] - foot[2]
                along = bx * x + by * y + bz * z
                add_unit(forward, bx - along * x, by - along * y, bz - along * z)
        if p == 0:
            for k in range(3):
                forward[k] += 2.0 * tips[k]
        length = math.sqrt(up[0] * up[0] + up[1] * up[1] + up[2] * up[2])
        length *= math.sqrt(across[0] * across[0] + across[1] * across[1] + across[2] * across[2])
        turn = (
            (up[1] * forward[2] - up[2] * forward[1]) * across[0]
            + (up[2] * forward[0] - up[0] * forward[2]) * across[1]
            + (up[0] * forward[1] - up[1] * forward[0]) * across[2]
        ) / (length if length > 0.0 else 1.0)
        total -= cosines[p] * min(max(turn, -1.0), 1.0)
        weights -= cosines[p]
    return total / max(weights, 1e-9)


_PAIR = np.zeros(2, np.int64)
WARMUP = {
    "leg_cosines": lambda: (np.zeros((1, 1, 3)), _PAIR, _PAIR, _PAIR, np.zeros(1)),
    "straightest": lambda: (np.zeros((1, 1, 3)), 0, 0, 0),
    "side_turn": lambda: (
        np.zeros((1, 1, 3)), np.zeros(1), np.zeros((2, 4), np.int64), _PAIR, np.zeros(3), np.zeros((3, 3))
    ),
}  # fmt: skip
