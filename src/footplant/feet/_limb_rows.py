"""Kernel for two-bone IK at some frames, in place in a motion's arrays; bones may have intermediate joints."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.limb import own_hinge, reach
from footplant.kernels.quaternion import multiply, rotate


@jit
def bone(chain, offsets, o, local, f, place, turn):
    """Write the position (3,) of a chain's last joint and the rotation (4,) of its parent, in the frame of the first.

    f: frame; o: row of `offsets` (·, J, 3) for that frame.
    """
    x = y = z = 0.0
    tw, tx, ty, tz = 1.0, 0.0, 0.0, 0.0
    for n in range(1, chain.shape[0]):
        j = chain[n]
        vx, vy, vz = rotate(tw, tx, ty, tz, offsets[o, j, 0], offsets[o, j, 1], offsets[o, j, 2])
        x, y, z = x + vx, y + vy, z + vz
        if n < chain.shape[0] - 1:
            tw, tx, ty, tz = multiply(
                tw, tx, ty, tz, local[f, j, 0], local[f, j, 1], local[f, j, 2], local[f, j, 3]
            )  # fmt: skip
    place[0], place[1], place[2] = x, y, z
    turn[0], turn[1], turn[2], turn[3] = tw, tx, ty, tz


@jit
def write_unit(w, x, y, z, out):
    """Write a quaternion divided by its norm."""
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    out[0], out[1], out[2], out[3] = w / norm, x / norm, y / norm, z / norm


@jit
def place_rows(
    rows, upper_chain, lower_chain, above, offsets, axis, least, most, goals, orientations, positions, rotations,
    local, residuals, statuses,
):  # fmt: skip
    """Move a limb's end to goals with orientations at rows (N,), in place in local rotations (F, J, 4).

    upper_chain: joints from the limb's upper joint to its hinge; lower_chain: from there to its end; above: parent of
    the upper joint, −1 for none; offsets: (1, J, 3) or (F, J, 3); axis (3,), least, most: of the hinge; goals
    (F, 3), metres, and orientations (F, 4) of the end, in the world; positions, rotations: world transforms before.
    residuals (F,), metres, and statuses (F,) are written at the rows. The same as `ik.limb.place`.
    """
    step = 0 if offsets.shape[0] == 1 else 1
    parent, hinge, origin, pole = np.zeros(4), np.empty(3), np.empty(3), np.zeros(3)
    upper_offset, lower_offset, bridge, inner = np.empty(3), np.empty(3), np.empty(4), np.empty(4)
    lower, new_upper, new_lower = np.empty(4), np.empty(4), np.empty(4)
    first, middle, end = upper_chain[0], lower_chain[0], lower_chain[lower_chain.shape[0] - 1]
    for n in range(rows.shape[0]):
        f = rows[n]
        for k in range(4):
            parent[k] = rotations[f, above, k] if above >= 0 else (1.0 if k == 0 else 0.0)
        for k in range(3):
            origin[k] = positions[f, first, k]
        bone(upper_chain, offsets, f * step, local, f, upper_offset, bridge)
        bone(lower_chain, offsets, f * step, local, f, lower_offset, inner)
        lower[0], lower[1], lower[2], lower[3] = multiply(
            bridge[0], bridge[1], bridge[2], bridge[3],
            local[f, middle, 0], local[f, middle, 1], local[f, middle, 2], local[f, middle, 3],
        )  # fmt: skip
        vx, vy, vz = rotate(
            lower[0], lower[1], lower[2], lower[3], lower_offset[0], lower_offset[1], lower_offset[2]
        )  # fmt: skip
        hinge[0], hinge[1], hinge[2] = own_hinge(
            -upper_offset[0], -upper_offset[1], -upper_offset[2], vx, vy, vz, axis[0], axis[1], axis[2]
        )
        residuals[f], _, statuses[f] = reach(
            parent, local[f, first], lower, upper_offset, lower_offset, hinge, origin, goals[f], pole, False, 0.0, 0.0,
            least, most, new_upper, new_lower,
        )  # fmt: skip
        write_unit(new_upper[0], new_upper[1], new_upper[2], new_upper[3], local[f, first])
        write_unit(new_lower[0], new_lower[1], new_lower[2], new_lower[3], new_lower)
        w, x, y, z = multiply(
            bridge[0], -bridge[1], -bridge[2], -bridge[3], new_lower[0], new_lower[1], new_lower[2], new_lower[3]
        )
        write_unit(w, x, y, z, local[f, middle])
        w, x, y, z = parent[0], parent[1], parent[2], parent[3]
        for chain in (upper_chain, lower_chain):
            # the hinge is the last joint of one chain and the first of the other
            for k in range(chain.shape[0] - 1):
                j = chain[k]
                w, x, y, z = multiply(w, x, y, z, local[f, j, 0], local[f, j, 1], local[f, j, 2], local[f, j, 3])
        goal = orientations[f]
        w, x, y, z = multiply(w, -x, -y, -z, goal[0], goal[1], goal[2], goal[3])
        write_unit(w, x, y, z, local[f, end])


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


def _smallest_call():
    return (
        np.zeros(0, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64), -1, _read_only(1, 1, 3), np.zeros(3), 0.0,
        1.0, np.zeros((1, 3)), np.zeros((1, 4)), np.zeros((1, 1, 3)), np.zeros((1, 1, 4)), np.zeros((1, 1, 4)),
        np.zeros(1), np.zeros(1, np.int64),
    )  # fmt: skip


WARMUP = {"place_rows": _smallest_call}
