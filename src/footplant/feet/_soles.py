"""Kernels for feet between footplants: toes flattened or bent up, feet pitched about a planted end."""

from __future__ import annotations

import math

import numpy as np

from footplant.feet._limb_rows import write_unit
from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import between, exp, log, multiply, rotate


@uncounted_jit
def clip(value, least, most):
    """Return the value clamped to [least, most]."""
    return min(max(value, least), most)


@uncounted_jit
def straight_share(rows, both, planned, heel, ball, most, over, out):
    """Write how much heel and ball are planted together at one height, 0 to 1, to `out` (F,), which starts as zeros.

    rows, both, planned: (K,) frames at which the heel and the ball are both planted, the smaller activation, and the
    rise of the heel's footplant, metres (NaN: unknown). heel, ball: (F, 3) present positions. From a rise of `most`
    foot lengths down to `most` − `over`, foot and toes become one rigid piece.
    """
    for k in range(rows.shape[0]):
        f = rows[k]
        dx, dy, dz = heel[f, 0] - ball[f, 0], heel[f, 1] - ball[f, 1], heel[f, 2] - ball[f, 2]
        length = max(math.sqrt(dx * dx + dy * dy + dz * dz), 1e-9)
        rise = dy
        if not math.isnan(planned[k]):
            rise = max(rise, planned[k]) if both[k] < 1.0 else planned[k]
        out[f] = max(out[f], both[k] * clip((most - rise / length) / over, 0.0, 1.0))


@uncounted_jit
def straight_tip(toes, above, pose, offset, positions, rotations, out):
    """Write the position of the toe tip (F, 3) for toes with the local rotation `pose` (4,) of the reference pose."""
    for f in range(out.shape[0]):
        w, x, y, z = multiply(
            rotations[f, above, 0], rotations[f, above, 1], rotations[f, above, 2], rotations[f, above, 3],
            pose[0], pose[1], pose[2], pose[3],
        )  # fmt: skip
        vx, vy, vz = rotate(w, x, y, z, offset[0], offset[1], offset[2])
        out[f, 0], out[f, 1], out[f, 2] = (
            positions[f, toes, 0] + vx, positions[f, toes, 1] + vy, positions[f, toes, 2] + vz
        )  # fmt: skip


@uncounted_jit
def level(toes, above, share, flat, rest, normals, rotations, local):
    """Rotate toes to be flat on the ground, by `share` (F,), then to be one piece with the foot, by `flat` (F,).

    rest: (4,) each, world and local rotation of the toes in the reference pose, where their sole is level; normals:
    (F, 3) of the ground; rotations: (F, J, 4) world rotations; local (F, J, 4) is changed.
    """
    reference, pose = rest
    px, py, pz = rotate(reference[0], -reference[1], -reference[2], -reference[3], 0.0, 1.0, 0.0)
    for f in range(share.shape[0]):
        if share[f] == 0.0 and flat[f] == 0.0:
            continue
        w, x, y, z = rotations[f, toes, 0], rotations[f, toes, 1], rotations[f, toes, 2], rotations[f, toes, 3]
        if share[f] > 0.0:
            ux, uy, uz = rotate(w, x, y, z, px, py, pz)
            tw, tx, ty, tz = between(ux, uy, uz, normals[f, 0], normals[f, 1], normals[f, 2])
            if share[f] < 1.0:
                vx, vy, vz = log(tw, tx, ty, tz)
                tw, tx, ty, tz = exp(share[f] * vx, share[f] * vy, share[f] * vz)
            w, x, y, z = multiply(tw, tx, ty, tz, w, x, y, z)
        w, x, y, z = multiply(
            rotations[f, above, 0], -rotations[f, above, 1], -rotations[f, above, 2], -rotations[f, above, 3],
            w, x, y, z,
        )  # fmt: skip
        if flat[f] >= 1.0:
            # fully, in the same hemisphere of quaternions as before
            side = 1.0 if w * pose[0] + x * pose[1] + y * pose[2] + z * pose[3] >= 0.0 else -1.0
            w, x, y, z = side * pose[0], side * pose[1], side * pose[2], side * pose[3]
        elif flat[f] > 0.0:
            tw, tx, ty, tz = multiply(w, -x, -y, -z, pose[0], pose[1], pose[2], pose[3])
            vx, vy, vz = log(tw, tx, ty, tz)
            tw, tx, ty, tz = exp(flat[f] * vx, flat[f] * vy, flat[f] * vz)
            w, x, y, z = multiply(w, x, y, z, tw, tx, ty, tz)
        write_unit(w, x, y, z, local[f, toes])


@uncounted_jit
def bend_needed(toes, tip, ball, held, shallow, positions, up, still):
    """Write radians `up` (F,) by which toes must bend up to clear the ground, and weights `still` (F,) against bending.

    tip, ball: (F, 3) positions, and (F,) the smallest height of the tip and the height of the ground at the ball; held:
    (F,) activation of the ball's footplant. still is `held`, reduced to 0 as the tip gets visibly into the ground.
    Returns whether there is anything to bend.
    """
    (tips, least), (balls, ball_ground) = tip, ball
    any_bend = False
    for f in range(up.shape[0]):
        dx, dy, dz = (tips[f, 0] - positions[f, toes, 0], tips[f, 1] - positions[f, toes, 1],
                      tips[f, 2] - positions[f, toes, 2])  # fmt: skip
        length = max(math.sqrt(dx * dx + dy * dy + dz * dz), 1e-9)
        rise = least[f] - positions[f, toes, 1]
        up[f] = math.asin(clip(rise / length, -1.0, 1.0)) - math.asin(clip(dy / length, -1.0, 1.0))
        # subtract the penetration of the ball: only what the tip is deeper counts (toes that hang over an edge)
        sunk = max(ball_ground[f] - balls[f, 1], 0.0)
        still[f] = held[f] * clip(1.0 - (least[f] - tips[f, 1] - sunk) / shallow, 0.0, 1.0)
        any_bend = any_bend or (up[f] > 0.0 and still[f] < 1.0)
    return any_bend


@uncounted_jit
def bend_up(toes, above, angles, most, tip, positions, rotations, local):
    """Bend toes up by angles (F,), at most `most` radians, about the horizontal axis across the line to their tip."""
    for f in range(angles.shape[0]):
        angle = min(angles[f], most)
        if angle == 0.0:
            continue
        # axis = line × vertical
        ax, az = positions[f, toes, 2] - tip[f, 2], tip[f, 0] - positions[f, toes, 0]
        norm = max(math.sqrt(ax * ax + az * az), 1e-9)
        w, x, y, z = exp(angle * ax / norm, 0.0, angle * az / norm)
        w, x, y, z = multiply(
            w, x, y, z, rotations[f, toes, 0], rotations[f, toes, 1], rotations[f, toes, 2], rotations[f, toes, 3]
        )
        w, x, y, z = multiply(
            rotations[f, above, 0], -rotations[f, above, 1], -rotations[f, above, 2], -rotations[f, above, 3],
            w, x, y, z,
        )  # fmt: skip
        write_unit(w, x, y, z, local[f, toes])


@uncounted_jit
def pitch_needed(pivot, end, least, out):
    """Write radians (F,) by which the line from pivot to end, (F, 3) each, must pitch up to put the end at `least`.

    least: (F,) height, metres. A negative result is the angle by which it may pitch down.
    """
    for f in range(out.shape[0]):
        dx, dy, dz = end[f, 0] - pivot[f, 0], end[f, 1] - pivot[f, 1], end[f, 2] - pivot[f, 2]
        length = max(math.sqrt(dx * dx + dy * dy + dz * dz), 1e-9)
        rise = least[f] - pivot[f, 1]
        out[f] = math.asin(clip(rise / length, -1.0, 1.0)) - math.asin(clip(dy / length, -1.0, 1.0))


@uncounted_jit
def pitch_up(angles, pivot, end, places, turn, toe_turn, toes_too, pitched):
    """Pitch a foot about its point `pivot` by angles (F,), radians, so that its point `end` comes up.

    places: (N, F, 3) points of the foot, indexed by `pivot` and `end`; turn, toe_turn: (F, 4) world rotations of the
    foot and its toes, the latter unchanged without toes_too; pitched (F,) is set where the foot is pitched.
    """
    for f in range(angles.shape[0]):
        if angles[f] == 0.0:
            continue
        pitched[f] = True
        cx, cy, cz = places[pivot, f, 0], places[pivot, f, 1], places[pivot, f, 2]
        # axis = line to the end × vertical
        ax, az = cz - places[end, f, 2], places[end, f, 0] - cx
        norm = math.sqrt(ax * ax + az * az)
        if norm > 1e-9:
            ax, az = ax / norm, az / norm
        else:
            ax, az = 1.0, 0.0
        w, x, y, z = exp(angles[f] * ax, 0.0, angles[f] * az)
        turn[f, 0], turn[f, 1], turn[f, 2], turn[f, 3] = multiply(
            w, x, y, z, turn[f, 0], turn[f, 1], turn[f, 2], turn[f, 3]
        )
        if toes_too:
            toe_turn[f, 0], toe_turn[f, 1], toe_turn[f, 2], toe_turn[f, 3] = multiply(
                w, x, y, z, toe_turn[f, 0], toe_turn[f, 1], toe_turn[f, 2], toe_turn[f, 3]
            )
        for n in range(places.shape[0]):
            vx, vy, vz = rotate(w, x, y, z, places[n, f, 0] - cx, places[n, f, 1] - cy, places[n, f, 2] - cz)
            places[n, f, 0], places[n, f, 1], places[n, f, 2] = cx + vx, cy + vy, cz + vz


@uncounted_jit
def relate(rows, child, turn, child_turn, local):
    """Write local rotations of a joint at rows (N,), from the world rotations (F, 4) of its parent and itself."""
    for n in range(rows.shape[0]):
        f = rows[n]
        local[f, child, 0], local[f, child, 1], local[f, child, 2], local[f, child, 3] = multiply(
            turn[f, 0], -turn[f, 1], -turn[f, 2], -turn[f, 3],
            child_turn[f, 0], child_turn[f, 1], child_turn[f, 2], child_turn[f, 3],
        )  # fmt: skip


@uncounted_jit
def beside(need, held, out):
    """Write the need (F,) minus held × the need at the nearest fully planted frame, if that is positive.

    held: (F,) activation of the footplant, 0 to 1. Of two equally near frames, the later one counts.
    """
    count = need.shape[0]
    last, following = -1, -1
    for f in range(count):
        if following < f:
            last = following
            following = f
            while following < count and held[following] < 1.0:
                following += 1
        if following < count and (last < 0 or following - f <= f - last):
            nearest = following
        elif last >= 0:
            nearest = last
        else:
            out[f] = need[f]
            continue
        out[f] = need[f] - held[f] * max(need[nearest], 0.0)


def _turns(*shape):
    return np.zeros((*shape, 4))


def _places(*shape):
    return np.zeros((*shape, 3))


WARMUP = {
    "straight_share": lambda: (
        np.zeros(1, np.int64), np.zeros(1), np.zeros(1), _places(1), _places(1), 1.0, 1.0, np.zeros(1)
    ),
    "straight_tip": lambda: (0, 0, np.zeros(4), np.zeros(3), _places(1, 1), _turns(1, 1), _places(1)),
    "level": lambda: (
        0, 0, np.zeros(1), np.zeros(1), (np.zeros(4), np.zeros(4)), _places(1), _turns(1, 1), _turns(1, 1)
    ),
    "bend_needed": lambda: (
        0, (_places(1), np.zeros(1)), (_places(1), np.zeros(1)), np.zeros(1), 1.0, _places(1, 1), np.zeros(1),
        np.zeros(1),
    ),
    "bend_up": lambda: (0, 0, np.zeros(1), 1.0, _places(1), _places(1, 1), _turns(1, 1), _turns(1, 1)),
    "pitch_needed": lambda: (_places(1), _places(1), np.zeros(1), np.zeros(1)),
    "pitch_up": lambda: (
        np.zeros(1), 0, 0, _places(1, 1), _turns(1), _turns(1), False, np.zeros(1, np.bool_)
    ),
    "relate": lambda: (np.zeros(1, np.int64), 0, _turns(1), _turns(1), _turns(1, 1)),
    "beside": lambda: (np.zeros(1), np.zeros(1), np.zeros(1)),
}  # fmt: skip
