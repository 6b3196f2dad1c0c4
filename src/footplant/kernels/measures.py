"""Quality measures of motions, frame by frame: joint limits, bone directions, footplants and foot skating."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.kernels import strict_jit, uncounted_jit
from footplant.kernels.quaternion import log, multiply


@uncounted_jit
def _excess(x, y, z, lower, upper):
    """Return how far a rotation vector is outside of a box (3,) to (3,)."""
    ax, ay = max(x - upper[0], lower[0] - x, 0.0), max(y - upper[1], lower[1] - y, 0.0)
    az = max(z - upper[2], lower[2] - z, 0.0)
    return math.sqrt(ax * ax + ay * ay + az * az)


@uncounted_jit
def less_beyond(x, y, z, lower, upper):
    """Return a rotation vector the way round that is less beyond a box (3,) to (3,), and by how much.

    One that passes 180° does not jump.
    """
    excess, angle = _excess(x, y, z, lower, upper), math.sqrt(x * x + y * y + z * z)
    if excess > 0.0 and angle > 0.5 * math.pi:
        other = 1.0 - 2.0 * math.pi / angle
        around = _excess(other * x, other * y, other * z, lower, upper)
        if around < excess:
            return other * x, other * y, other * z, around
    return x, y, z, excess


@uncounted_jit
def limit_excess(above, local, below, lower, upper, free, out):
    """Write the radians (F, J) by which joints exceed their limits: see `humanoid.limit_violations`.

    above (J, 4) and below (J, 4) multiply the local rotations (F, J, 4) from the left and right into the anatomical
    rotation, whose rotation vector has the limits lower and upper (J, 3). free (J,): |w| above which no limit can be
    exceeded.
    """
    for f in range(local.shape[0]):
        for j in range(local.shape[1]):
            w, x, y, z = multiply(
                above[j, 0], above[j, 1], above[j, 2], above[j, 3],
                local[f, j, 0], local[f, j, 1], local[f, j, 2], local[f, j, 3],
            )  # fmt: skip
            w, x, y, z = multiply(w, x, y, z, below[j, 0], below[j, 1], below[j, 2], below[j, 3])
            out[f, j] = 0.0
            if abs(w) >= free[j]:
                continue
            if free[j] <= 1.0:
                # angle/sin(angle/2) is no larger than this, so most rotations within their limits need no logarithm
                most = (2.0 + (math.pi - 2.0) * (1.0 - abs(w)) + 1e-9) * (1.0 if w >= 0.0 else -1.0)
                if (
                    lower[j, 0] <= most * x <= upper[j, 0]
                    and lower[j, 1] <= most * y <= upper[j, 1]
                    and lower[j, 2] <= most * z <= upper[j, 2]
                ):
                    continue
            vx, vy, vz = log(w, x, y, z)
            _, _, _, out[f, j] = less_beyond(vx, vy, vz, lower[j], upper[j])


@uncounted_jit
def bone_angles(ours, our_bones, theirs, their_bones, out):
    """Write angles (F, B), radians, between bones (B, 2) of two characters, from their joints' positions (F, J, 3)."""
    for f in range(out.shape[0]):
        for b in range(out.shape[1]):
            s, e = our_bones[b, 0], our_bones[b, 1]
            ax, ay, az = ours[f, e, 0] - ours[f, s, 0], ours[f, e, 1] - ours[f, s, 1], ours[f, e, 2] - ours[f, s, 2]
            s, e = their_bones[b, 0], their_bones[b, 1]
            bx = theirs[f, e, 0] - theirs[f, s, 0]
            by = theirs[f, e, 1] - theirs[f, s, 1]
            bz = theirs[f, e, 2] - theirs[f, s, 2]
            cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            out[f, b] = math.atan2(math.sqrt(cx * cx + cy * cy + cz * cz), ax * bx + ay * by + az * bz)


@uncounted_jit
def plant_errors(tracks, rolls, plants, out):
    """Write how footplants, rows (point, start, end), hold on tracks (F, P, 3): metres (N, 3).

    The largest horizontal distance from the mean position, the highest minus the lowest, and the mean horizontal
    displacement from frame to frame (0 for a single frame). Frames in which a point `rolls` (F, P) count for its
    heights alone.
    """
    for n in range(plants.shape[0]):
        p, start, end = plants[n, 0], plants[n, 1], plants[n, 2]
        x = z = way = 0.0
        count = steps = 0
        low = high = tracks[start, p, 1]
        for f in range(start, end):
            low, high = min(low, tracks[f, p, 1]), max(high, tracks[f, p, 1])
            if rolls[f, p]:
                continue
            x, z, count = x + tracks[f, p, 0], z + tracks[f, p, 2], count + 1
            if f > start and not rolls[f - 1, p]:
                dx, dz = tracks[f, p, 0] - tracks[f - 1, p, 0], tracks[f, p, 2] - tracks[f - 1, p, 2]
                way += math.sqrt(dx * dx + dz * dz)
                steps += 1
        x, z = x / max(count, 1), z / max(count, 1)
        farthest = 0.0
        for f in range(start, end):
            if not rolls[f, p]:
                dx, dz = tracks[f, p, 0] - x, tracks[f, p, 2] - z
                farthest = max(farthest, dx * dx + dz * dz)
        out[n, 0], out[n, 1], out[n, 2] = math.sqrt(farthest), high - low, way / max(steps, 1)


@uncounted_jit
def rolling(tracks, heights, plants, partners, risen, rolls, room):
    """Mark in `rolls` (F, P) where a point of a foot rolls about its partner, and neither stands nor slides itself.

    It is more than `risen` metres above its lowest in its plant, a row (point, start, end), while the partner is not
    above its own lowest, in a plant that overlaps, and is nearer to its own mean place. One of both plants may be found
    to end some frames later. heights (F, P): metres over the ground. partners (P,): the other point of the foot, −1:
    none. room: (N, 3), mean places (x, z) and lowest heights of the plants.
    """
    rolls[:] = False
    for n in range(plants.shape[0]):
        p, start, end = plants[n, 0], plants[n, 1], plants[n, 2]
        x = z = 0.0
        lowest = np.inf
        for f in range(start, end):
            x, z = x + tracks[f, p, 0] / (end - start), z + tracks[f, p, 2] / (end - start)
            lowest = min(lowest, heights[f, p])
        room[n, 0], room[n, 1], room[n, 2] = x, z, lowest
    for n in range(plants.shape[0]):
        p, start, end = plants[n, 0], plants[n, 1], plants[n, 2]
        q = partners[p]
        for m in range(plants.shape[0]):
            if q < 0 or plants[m, 0] != q or plants[m, 1] >= end or plants[m, 2] <= start:
                continue
            for f in range(start, end):
                own = math.hypot(tracks[f, p, 0] - room[n, 0], tracks[f, p, 2] - room[n, 1])
                other = math.hypot(tracks[f, q, 0] - room[m, 0], tracks[f, q, 2] - room[m, 1])
                if heights[f, p] - room[n, 2] > risen >= heights[f, q] - room[m, 2] and own > other:
                    rolls[f, p] = True


@strict_jit
def ground_step(places, f, p):
    """Return the horizontal displacement of a point from a frame to the next, metres."""
    x, z = places[f + 1, p, 0] - places[f, p, 0], places[f + 1, p, 2] - places[f, p, 2]
    return math.sqrt(x * x + z * z)


class Tracks(NamedTuple):
    """Points of a motion."""

    places: NDArray
    """(F, P, 3) metres."""
    heights: NDArray
    """(F, P) metres above the ground."""
    toes: NDArray
    """Indices of the toes."""
    feet: NDArray
    """Indices of the points of the feet."""


@strict_jit
def skating_counts(tracks, stance, planted, fps, bounds, out):
    """Count what the ratios of `quality.published` are made of in one motion; stance (F, P) bool, planted: points.

    bounds (5,): metres below which a toe is low, m/s above which it skates by two definitions, m/s for a foot in
    stance, metres above which a penetration is deep. out (7,) becomes: frames with a low toe, those of them with a low
    toe that skates by each definition, stances of points from a frame to the next, those of them that are too fast,
    frames with a deep penetration, and the largest depth in metres.
    """
    places, heights, toes, feet = tracks.places, tracks.heights, tracks.toes, tracks.feet
    frames = places.shape[0]
    for f in range(frames):
        depth = 0.0
        for n in range(feet.shape[0]):
            depth = max(depth, -heights[f, feet[n]])
        out[5] += depth > bounds[4]
        out[6] = max(out[6], depth)
    for f in range(frames - 1):
        low = first = second = False
        for n in range(toes.shape[0]):
            p = toes[n]
            if heights[f, p] < bounds[0] and heights[f + 1, p] < bounds[0]:
                low = True
                speed = ground_step(places, f, p) * fps
                first, second = first or speed > bounds[1], second or speed > bounds[2]
        out[0] += low
        out[1] += first
        out[2] += second
        for n in range(planted.shape[0]):
            p = planted[n]
            if stance[f, p] and stance[f + 1, p]:
                out[3] += 1.0
                out[4] += ground_step(places, f, p) * fps > bounds[3]


@strict_jit
def source_counts(tracks, source, fps, bounds, out):
    """Count what the ratios of `quality.published` compare with a source, over the frames that both have.

    bounds (2,): m/s up to which a toe sticks, metres from the ground within which a point touches. out (4,) becomes:
    steps in which the source's toes stick, those of them in which ours do not, touches of the source's points, and
    those of them in which ours touch.
    """
    places, heights, toes, feet = tracks.places, tracks.heights, tracks.toes, tracks.feet
    their_places, their_heights, their_toes, their_feet = source.places, source.heights, source.toes, source.feet
    frames = min(places.shape[0], their_places.shape[0])
    for f in range(frames):
        if f + 1 < frames:
            for n in range(toes.shape[0]):
                if ground_step(their_places, f, their_toes[n]) * fps <= bounds[0]:
                    out[0] += 1.0
                    out[1] += ground_step(places, f, toes[n]) * fps > bounds[0]
        for n in range(feet.shape[0]):
            if abs(their_heights[f, their_feet[n]]) <= bounds[1]:
                out[2] += 1.0
                out[3] += abs(heights[f, feet[n]]) <= bounds[1]


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


def _tracks():
    return Tracks(np.zeros((1, 1, 3)), np.zeros((1, 1)), np.zeros(1, np.int64), np.zeros(1, np.int64))


WARMUP = {
    "limit_excess": lambda: (
        np.zeros((1, 4)), _read_only(1, 1, 4), np.zeros((1, 4)), np.zeros((1, 3)), np.zeros((1, 3)), np.zeros(1),
        np.zeros((1, 1)),
    ),
    "bone_angles": lambda: (
        _read_only(1, 1, 3), np.zeros((1, 2), np.int64), _read_only(1, 1, 3), np.zeros((1, 2), np.int64),
        np.zeros((1, 1)),
    ),
    "skating_counts": lambda: (
        _tracks(), np.zeros((1, 1), bool), np.zeros(1, np.int64), 30.0, np.zeros(5), np.zeros(7)
    ),
    "source_counts": lambda: (_tracks(), _tracks(), 30.0, np.zeros(2), np.zeros(4)),
    "plant_errors": lambda: (
        np.zeros((1, 1, 3)), np.zeros((1, 1), bool), np.zeros((1, 3), np.int64), np.zeros((1, 3))
    ),
    "rolling": lambda: (
        np.zeros((1, 1, 3)), np.zeros((1, 1)), np.zeros((1, 3), np.int64), np.zeros(1, np.int64), 0.0,
        np.zeros((1, 1), bool), np.zeros((1, 3)),
    ),
}  # fmt: skip
