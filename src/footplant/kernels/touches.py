"""Hands near the body: the importance of a touch, hanging arms, and touches that are meant.

Importance falls with the distance (Shin 2002, chapter 4).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import rotate


@jit
def importance(distance):
    """Return 1 at contact (distance ≤ 0), 0 at distance ≥ 1, a smooth cubic between (Shin 2002, equation 4.4)."""
    d = min(max(distance, 0.0), 1.0)
    return 2.0 * d**3 - 3.0 * d**2 + 1.0


class Arm(NamedTuple):
    """Joints of an arm and of the trunk."""

    shoulder: int
    elbow: int
    wrist: int
    hips: int
    top: int
    """Neck or head."""


@jit
def hanging(joints, straight, along, positions, out):
    """Write how much an arm hangs down along the trunk, nearly straight (F,), 0 to 1.

    straight, along: extension of the arm relative to its length, and cosine between arm and trunk: where it begins to
    count as hanging, and where it does fully. positions (F, J, 3) metres.
    """
    shoulder, elbow, wrist, hips, top = joints
    for f in range(positions.shape[0]):
        upper = lower = reach = trunk = alike = 0.0
        for k in range(3):
            upper += (positions[f, elbow, k] - positions[f, shoulder, k]) ** 2
            lower += (positions[f, wrist, k] - positions[f, elbow, k]) ** 2
            arm, down = positions[f, wrist, k] - positions[f, shoulder, k], positions[f, hips, k] - positions[f, top, k]
            reach += arm * arm
            trunk += down * down
            alike += arm * down
        reach, length = math.sqrt(reach), math.sqrt(upper) + math.sqrt(lower)
        alike /= max(reach * math.sqrt(trunk), 1e-12)
        stretch = reach / max(length, 1e-12)
        out[f] = importance((straight[1] - stretch) / (straight[1] - straight[0]))
        out[f] *= importance((along[1] - alike) / (along[1] - along[0]))


@jit
def seen_from(joint, f, palm, positions, rotations):
    """Return the position of a palm (F, 3) in a joint's frame at frame f."""
    return rotate(
        rotations[f, joint, 0], -rotations[f, joint, 1], -rotations[f, joint, 2], -rotations[f, joint, 3],
        palm[f, 0] - positions[f, joint, 0], palm[f, 1] - positions[f, joint, 1], palm[f, 2] - positions[f, joint, 2],
    )  # fmt: skip


@jit
def speed_seen(joint, f, palm, fps, positions, rotations):
    """Return the speed of a palm (F, 3) relative to a joint, m/s."""
    first, last = max(f - 1, 0), min(f + 1, palm.shape[0] - 1)
    if first == last:
        return 0.0
    ax, ay, az = seen_from(joint, first, palm, positions, rotations)
    bx, by, bz = seen_from(joint, last, palm, positions, rotations)
    return math.sqrt((bx - ax) ** 2 + (by - ay) ** 2 + (bz - az) ** 2) * fps / (last - first)


@jit
def meant(share, touch):
    """Set an importance (F,) to 0 over intervals in which it never reaches `touch`: passing by is not touching."""
    start, count = 0, share.shape[0]
    while start < count:
        end, most = start, 0.0
        # intervals last from one rise above 0 to the next
        while end < count and (end == start or not (share[end] > 0.0 and share[end - 1] <= 0.0)):
            most = max(most, share[end])
            end += 1
        if most < touch:
            for f in range(start, end):
                share[f] = 0.0
        start = end


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


WARMUP = {
    "hanging": lambda: (Arm(0, 0, 0, 0, 0), (0.0, 1.0), (0.0, 1.0), _read_only(1, 1, 3), np.zeros(1)),
    "meant": lambda: (np.zeros(1), 1.0),
}  # fmt: skip
