"""Feet on objects that move: what is remembered of a foot is carried along with the object that it is nearest to.

All that the frames before have left of a foot (where its points were, how they moved, by how much they are held back)
is brought to where the object has taken it since. What this frame adds is then motion relative to the object: a foot
that stands on it is held to it like to a floor.
"""

from __future__ import annotations

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import multiply, rotate
from footplant.solve.ik.puppet._hold import BACK, PLACE, SPEED, THEIRS


@uncounted_jit
def turn_vector(vector, first, turn):
    """Rotate three numbers of a row in place."""
    vector[first], vector[first + 1], vector[first + 2] = rotate(
        turn[0], turn[1], turn[2], turn[3], vector[first], vector[first + 1], vector[first + 2]
    )


@uncounted_jit
def carry_point(point, first, turn, about, shift):
    """Move three numbers of a row in place: rotate them about a point, and shift them."""
    for k in range(3):
        point[first + k] -= about[k]
    turn_vector(point, first, turn)
    for k in range(3):
        point[first + k] += about[k] + shift[k]


@uncounted_jit
def nearest_thing(foot, scene):
    """Return the object that a foot's heel, ball and toe are nearest to; −1: none."""
    found, least = -1, 1e9
    for c in range(3):
        for o in range(scene.things.kinds.shape[0]):
            if scene.near[2 + 3 * foot + c, o, 0] < least:
                found, least = o, scene.near[2 + 3 * foot + c, o, 0]
    return found


@uncounted_jit
def ride(stage, scene, started, limbs):
    """Carry what is remembered of each foot along with its nearest object, and remember where the objects are.

    Points of the performer's world are carried by the object's own motion, those of the target's by the scaled one.
    """
    poses, about, s = scene.poses, stage.about, stage.scale
    for foot in range(2):
        o = nearest_thing(foot, scene)
        moved = False
        for k in range(7):
            moved = moved or (o >= 0 and poses[o, k] != limbs.things[o, k])
        if not (moved and started):
            continue
        now, before = poses[o], limbs.things[o]
        turn = multiply(now[3], now[4], now[5], now[6], before[3], -before[4], -before[5], -before[6])
        # x → R (x − p) + p + (p' − p), with p where the object's frame was
        origin = (before[0], before[1], before[2])
        shift = (now[0] - before[0], now[1] - before[1], now[2] - before[2])
        ours = (
            about[0] + s * (origin[0] - about[0]), about[1] + s * (origin[1] - about[1]),
            about[2] + s * (origin[2] - about[2]),
        )  # fmt: skip
        scaled = (s * shift[0], s * shift[1], s * shift[2])
        for c in range(3):
            carry_point(limbs.soles[foot, c], 0, turn, origin, shift)
            carry_point(limbs.ankles[foot, c], 0, turn, ours, scaled)
            held = limbs.holds[3 * foot + c]
            carry_point(held, THEIRS, turn, origin, shift)
            carry_point(held, PLACE, turn, ours, scaled)
            turn_vector(held, BACK, turn)
            turn_vector(held, SPEED, turn)
            turn_vector(limbs.feet[foot], 3 * c, turn)
        turn_vector(limbs.shifts[foot], 0, turn)
        turn_vector(limbs.lifts[foot], 0, turn)
        for first in range(0, 6, 3):
            turn_vector(limbs.apart[foot], first, turn)
    for o in range(poses.shape[0]):
        for k in range(7):
            limbs.things[o, k] = poses[o, k]


WARMUP: dict = {}
