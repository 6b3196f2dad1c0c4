"""Hands near the body: the importance of a touch, and the corresponding position on another body.

Importance falls with the distance (Shin 2002, section 3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import jit
from footplant.kernels.quaternion import multiply, rotate


@jit
def importance(distance):
    """Return 1 at contact (distance ≤ 0), 0 at distance ≥ 1, a smooth cubic between (Shin 2002, equation 8)."""
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


class Segments(NamedTuple):
    """S segments of a source body and of a target body."""

    joints: NDArray
    """(S, 5) int64; start and end of each bone, of source and target, and 1 where hanging arms do not touch it."""
    radii: NDArray
    """(S, 2) metres; of source and target."""


class TouchRules(NamedTuple):
    """What counts as touching."""

    near: float
    """Metres from the surface within which a palm is important."""
    passing: float
    """Speed along the body, m/s, at which it is not."""
    size: float
    """Ratio of the target's size to the source's."""
    fps: float


class BodyPoses(NamedTuple):
    """A body at F frames."""

    positions: NDArray
    """(F, J, 3) metres."""
    rotations: NDArray
    """(F, J, 4)."""
    unposed: NDArray
    """(J, 4) inverse world rotations of the reference pose."""


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
def on_body(palm, table, hangs, rules, theirs, ours, most, place):
    """Write the importance of a palm (F, 3) on the body (F,), and its position on another body (F, 3).

    Each near segment contributes the position with the same parameter along the bone, direction from it and distance
    from its surface, weighted by importance⁴.
    """
    segments, radii = table
    near, passing, size, fps = rules
    positions, rotations, unposed = theirs
    our_positions, our_rotations, our_unposed = ours
    for f in range(palm.shape[0]):
        total = px = py = pz = 0.0
        most[f] = 0.0
        for s in range(segments.shape[0]):
            start, end, own, own_end = segments[s, 0], segments[s, 1], segments[s, 2], segments[s, 3]
            square = along = 0.0
            for k in range(3):
                axis = positions[f, end, k] - positions[f, start, k]
                square += axis * axis
                along += (palm[f, k] - positions[f, start, k]) * axis
            along = min(max(along / max(square, 1e-12), 0.0), 1.0)
            ax = palm[f, 0] - positions[f, start, 0] - along * (positions[f, end, 0] - positions[f, start, 0])
            ay = palm[f, 1] - positions[f, start, 1] - along * (positions[f, end, 1] - positions[f, start, 1])
            az = palm[f, 2] - positions[f, start, 2] - along * (positions[f, end, 2] - positions[f, start, 2])
            distance = math.sqrt(ax * ax + ay * ay + az * az)
            if distance - radii[s, 0] >= near:
                continue
            # arms that hang beside the thighs are always near them without touching
            share = importance(1.0 - (importance((distance - radii[s, 0]) / near) - 0.2) / 0.8)
            if segments[s, 4]:
                share *= 1.0 - hangs[f]
            if share <= 0.0:
                continue
            share *= importance(speed_seen(start, f, palm, fps, positions, rotations) / passing)
            if share <= 0.0:
                continue
            # the direction from the bone is kept relative to the body's own axes, which rotate alike in both bodies
            w, x, y, z = multiply(
                rotations[f, start, 0], rotations[f, start, 1], rotations[f, start, 2], rotations[f, start, 3],
                unposed[start, 0], unposed[start, 1], unposed[start, 2], unposed[start, 3],
            )  # fmt: skip
            ow, ox, oy, oz = multiply(
                our_rotations[f, own, 0], our_rotations[f, own, 1], our_rotations[f, own, 2], our_rotations[f, own, 3],
                our_unposed[own, 0], our_unposed[own, 1], our_unposed[own, 2], our_unposed[own, 3],
            )  # fmt: skip
            w, x, y, z = multiply(ow, ox, oy, oz, w, -x, -y, -z)
            unit = 1.0 / max(distance, 1e-9)
            ax, ay, az = rotate(w, x, y, z, ax * unit, ay * unit, az * unit)
            out = max(radii[s, 1] + (distance - radii[s, 0]) * size, 0.0)
            weight = share**4
            a, b = our_positions[f, own], our_positions[f, own_end]
            px += weight * (a[0] + along * (b[0] - a[0]) + ax * out)
            py += weight * (a[1] + along * (b[1] - a[1]) + ay * out)
            pz += weight * (a[2] + along * (b[2] - a[2]) + az * out)
            total += weight
            most[f] = max(most[f], share)
        if total > 1e-12:
            place[f, 0], place[f, 1], place[f, 2] = px / total, py / total, pz / total
        else:
            place[f, 0], place[f, 1], place[f, 2] = palm[f, 0], palm[f, 1], palm[f, 2]


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


@jit
def not_straighter(upper, lower, end, softness, positions, goals):
    """Draw goals (F, 3) of a wrist in where its arm would snap straight.

    upper, lower, end: its joints. The last share `softness` of the reach is approached asymptotically; an arm that is
    straighter already may stay so.
    """
    for f in range(goals.shape[0]):
        first = second = now = distance = 0.0
        for k in range(3):
            first += (positions[f, lower, k] - positions[f, upper, k]) ** 2
            second += (positions[f, end, k] - positions[f, lower, k]) ** 2
            now += (positions[f, end, k] - positions[f, upper, k]) ** 2
            distance += (goals[f, k] - positions[f, upper, k]) ** 2
        distance, length = math.sqrt(distance), math.sqrt(first) + math.sqrt(second)
        width, start = softness * length, (1.0 - softness) * length
        most = distance
        if distance > start:
            most = start + width * math.tanh((distance - start) / max(width, 1e-12))
        share = min(distance, max(math.sqrt(now), most)) / max(distance, 1e-12)
        for k in range(3):
            goals[f, k] = positions[f, upper, k] + (goals[f, k] - positions[f, upper, k]) * share


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


def _body():
    return BodyPoses(_read_only(1, 1, 3), _read_only(1, 1, 4), np.zeros((1, 4)))


WARMUP = {
    "hanging": lambda: (Arm(0, 0, 0, 0, 0), (0.0, 1.0), (0.0, 1.0), _read_only(1, 1, 3), np.zeros(1)),
    "on_body": lambda: (
        np.zeros((1, 3)), Segments(np.zeros((1, 5), np.int64), np.zeros((1, 2))), np.zeros(1),
        TouchRules(1.0, 1.0, 1.0, 1.0), _body(), _body(), np.zeros(1), np.zeros((1, 3)),
    ),
    "meant": lambda: (np.zeros(1), 1.0),
    "not_straighter": lambda: (0, 0, 0, 0.1, np.zeros((1, 1, 3)), np.zeros((1, 3))),
}  # fmt: skip
