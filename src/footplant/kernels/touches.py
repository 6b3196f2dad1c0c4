"""Hands beside the body, frame by frame: how much they count as touching it, and where they would touch another's.

A hand counts by how near it is (Shin 2002, section 3: importance).
"""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit
from footplant.kernels.quaternion import multiply, rotate


@jit
def importance(distance):
    """How much a thing counts, 1 at a touch to 0 at the distance 1 where it begins to (Shin 2002, equation 8)."""
    d = min(max(distance, 0.0), 1.0)
    return 2.0 * d**3 - 3.0 * d**2 + 1.0


@jit
def hanging(shoulder, elbow, wrist, hips, top, straight, along, positions, out):
    """How much an arm hangs down along the trunk, nearly straight (F,), 0 to 1.

    straight, along: reach over length of the arm, and its cosine to the trunk, from where on it begins to hang, and
    where it does. shoulder … top are joints, positions (F, J, 3) metres.
    """
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
    """Where a palm (F, 3) is in a joint's frame at a frame."""
    return rotate(
        rotations[f, joint, 0], -rotations[f, joint, 1], -rotations[f, joint, 2], -rotations[f, joint, 3],
        palm[f, 0] - positions[f, joint, 0], palm[f, 1] - positions[f, joint, 1], palm[f, 2] - positions[f, joint, 2],
    )  # fmt: skip


@jit
def speed_seen(joint, f, palm, fps, positions, rotations):
    """Metres a second at which a palm (F, 3) moves as seen from a joint."""
    first, last = max(f - 1, 0), min(f + 1, palm.shape[0] - 1)
    if first == last:
        return 0.0
    ax, ay, az = seen_from(joint, first, palm, positions, rotations)
    bx, by, bz = seen_from(joint, last, palm, positions, rotations)
    return math.sqrt((bx - ax) ** 2 + (by - ay) ** 2 + (bz - az) ** 2) * fps / (last - first)


@jit
def on_body(
    palm, segments, radii, hangs, near, passing, size, fps, positions, rotations, unposed, our_positions,
    our_rotations, our_unposed, most, place,
):  # fmt: skip
    """How much a palm (F, 3) counts as on the body (F,), and where it then is on another's body (F, 3).

    segments: (S, 5) int64, joints where each bone begins and ends, of the one and of the other body, and 1 where arms
    that hang (F,) beside it mean nothing by it; radii: (S, 2) metres; near: metres from the surface within which it
    counts; passing: metres a second at which it does not; size: how much larger the other is; unposed: (J, 4) inverse
    world rotations of the reference pose. Its place is told by each near segment: how far along the bone, in which
    direction from it, and how far from its surface; segments share the say by how near they are.
    """
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
            # arms that hang beside the thighs are near them all the time, and mean nothing by it
            share = importance(1.0 - (importance((distance - radii[s, 0]) / near) - 0.2) / 0.8)
            if segments[s, 4]:
                share *= 1.0 - hangs[f]
            if share <= 0.0:
                continue
            share *= importance(speed_seen(start, f, palm, fps, positions, rotations) / passing)
            if share <= 0.0:
                continue
            # the direction from the bone is that of the body's own axes: they turn alike in both figures
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
    """Make a share (F,) 0 over the times in which it never gets to `touch`: passing by is no touch."""
    start, count = 0, share.shape[0]
    while start < count:
        end, most = start, 0.0
        # from where it rises to where it rises again
        while end < count and (end == start or not (share[end] > 0.0 and share[end - 1] <= 0.0)):
            most = max(most, share[end])
            end += 1
        if most < touch:
            for f in range(start, end):
                share[f] = 0.0
        start = end


@jit
def not_straighter(upper, lower, end, softness, positions, goals):
    """Draw goals (F, 3) of a wrist in where its arm would snap straight for them.

    upper, lower, end: its joints. The last share `softness` of the reach is approached without ever being met; an arm
    that is straighter than that already may stay so.
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


WARMUP = {
    "hanging": lambda: (0, 0, 0, 0, 0, (0.0, 1.0), (0.0, 1.0), _read_only(1, 1, 3), np.zeros(1)),
    "on_body": lambda: (
        np.zeros((1, 3)), np.zeros((1, 5), np.int64), np.zeros((1, 2)), np.zeros(1), 1.0, 1.0, 1.0, 1.0,
        _read_only(1, 1, 3), _read_only(1, 1, 4), np.zeros((1, 4)), _read_only(1, 1, 3), _read_only(1, 1, 4),
        np.zeros((1, 4)), np.zeros(1), np.zeros((1, 3)),
    ),
    "meant": lambda: (np.zeros(1), 1.0),
    "not_straighter": lambda: (0, 0, 0, 0.1, np.zeros((1, 1, 3)), np.zeros((1, 3))),
}  # fmt: skip
