"""Convert Euler angles in degrees, of any axis order, to quaternions and back."""

from __future__ import annotations

import math

import numpy as np

from footplant.kernels import jit

GIMBAL_LOCK = 1e-12
"""Cosine of the middle angle below which the first and last angle rotate about the same axis: gimbal lock."""


@jit
def half_turn(degrees):
    """Return cosine and sine of half an angle given in degrees, accurate to the last digit or two.

    The angle is reduced to within ±90° of a multiple of 180° in degrees, where that is exact, and the Taylor series of
    the remainder (half of it is at most π/4) are summed to their last term above 1e-17.
    """
    if abs(degrees) > 1e6:
        degrees = np.fmod(degrees, 720.0)
    turns = np.rint(degrees * (1.0 / 180.0))
    x = (degrees - 180.0 * turns) * (math.pi / 360.0)
    t = x * x
    c = 1.0 + t * (-1 / 2 + t * (1 / 24 + t * (-1 / 720 + t * (1 / 40320 + t * (-1 / 3628800 + t * (
        1 / 479001600 + t * (-1 / 87178291200 + t * (1 / 20922789888000))))))))  # fmt: skip
    s = x * (1.0 + t * (-1 / 6 + t * (1 / 120 + t * (-1 / 5040 + t * (1 / 362880 + t * (-1 / 39916800 + t * (
        1 / 6227020800 + t * (-1 / 1307674368000))))))))  # fmt: skip
    quarter = np.int64(turns)
    if quarter & 1:
        c, s = -s, c
    if quarter & 2:
        c, s = -c, -s
    return c, s


@jit
def euler_to_quaternions(values, spans, columns, axes, out):
    """Convert rows of angles (F, C), degrees, to quaternions (F, J, 4), multiplied in channel order.

    Joint j rotates about `axes[k]` (0, 1, 2 for x, y, z) by the angle in `columns[k]`, for k from spans[j] to
    spans[j + 1]: `rotation.from_euler` for any number of angles.
    """
    for f in range(values.shape[0]):
        for j in range(out.shape[1]):
            w, x, y, z = 1.0, 0.0, 0.0, 0.0
            for k in range(spans[j], spans[j + 1]):
                c, s = half_turn(values[f, columns[k]])
                axis = axes[k]
                if axis == 0:
                    w, x, y, z = w * c - x * s, w * s + x * c, y * c + z * s, z * c - y * s
                elif axis == 1:
                    w, x, y, z = w * c - y * s, x * c - z * s, w * s + y * c, z * c + x * s
                else:
                    w, x, y, z = w * c - z * s, x * c + y * s, y * c - x * s, w * s + z * c
            out[f, j, 0], out[f, j, 1], out[f, j, 2], out[f, j, 3] = w, x, y, z


@jit
def _component(w, x, y, z, axis):
    if axis == 0:
        return x
    if axis == 1:
        return y
    return z


@jit
def _nearest(angle, previous):
    """Return the angle plus the multiple of 2π that brings it closest to the previous one, radians."""
    return angle + 2.0 * math.pi * np.rint((previous - angle) / (2.0 * math.pi))


@jit
def first_two(w, x, y, z, a, b):
    """Return angles of q = rotation about axis a · rotation about axis b, and the distance of q from such a product.

    With half angles: q = (cos α + sin α·a)(cos β + sin β·b), so w and the a component share the factor cos β, the b
    component and the component along a × b share sin β; the larger pair gives α, and undoing α gives β.
    """
    c = 3 - a - b
    sign = 1.0 if (b - a) % 3 == 1 else -1.0
    qa, qb, qc = _component(w, x, y, z, a), _component(w, x, y, z, b), sign * _component(w, x, y, z, c)
    if w * w + qa * qa >= qb * qb + qc * qc:
        alpha = math.atan2(qa, w)
    else:
        alpha = math.atan2(qc, qb)
    ca, sa = math.cos(alpha), math.sin(alpha)
    cb, sb = ca * w + sa * qa, ca * qb + sa * qc
    lost = abs(ca * qa - sa * w) + abs(ca * qc - sa * qb)
    return 2.0 * alpha, 2.0 * math.atan2(sb, cb), lost


@jit
def quaternions_to_euler(rotations, orders, counts, out, lost):
    """Return angles (F, J, 3) in degrees of quaternions (F, J, 4), intrinsic, for orders (J, 3) of axes.

    The last angle is found first and undone, so that the other two compensate its error: near gimbal lock the three
    are exact together although none is by itself. Of the two sets of angles for the same rotation, the one closer to
    the previous frame is chosen, and multiples of 360° are added so that curves are continuous.

    counts: (J,) number of axes of each joint; with fewer than 3, the other angles are 0, and lost (J,) becomes the
    distance of its quaternions from what the remaining angles represent.
    """
    degrees = 180.0 / math.pi
    for f in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            w, x, y, z = rotations[f, j, 0], rotations[f, j, 1], rotations[f, j, 2], rotations[f, j, 3]
            a, b, c = orders[j, 0], orders[j, 1], orders[j, 2]
            before_a, before_b, before_c = 0.0, 0.0, 0.0
            if f > 0:
                before_a, before_b, before_c = out[f - 1, j, 0], out[f - 1, j, 1], out[f - 1, j, 2]
            before_a, before_b, before_c = before_a / degrees, before_b / degrees, before_c / degrees
            third = 0.0
            if counts[j] == 3:
                sign = 1.0 if (b - a) % 3 == 1 else -1.0
                qa, qb, qc = _component(w, x, y, z, a), _component(w, x, y, z, b), _component(w, x, y, z, c)
                # entries (a, a) and (a, b) of the rotation matrix
                along, across = w * w + qa * qa - qb * qb - qc * qc, 2.0 * (qa * qb - sign * w * qc)
                third = before_c
                if abs(along) + abs(across) > GIMBAL_LOCK:
                    third = math.atan2(-sign * across, along)
                k, s = math.cos(0.5 * third), -math.sin(0.5 * third)
                if c == 0:
                    w, x, y, z = w * k - x * s, w * s + x * k, y * k + z * s, z * k - y * s
                elif c == 1:
                    w, x, y, z = w * k - y * s, x * k - z * s, w * s + y * k, z * k + x * s
                else:
                    w, x, y, z = w * k - z * s, x * k + y * s, y * k - x * s, w * s + z * k
            first, second, rest = first_two(w, x, y, z, a, b)
            if counts[j] < 2:
                rest += abs(math.sin(0.5 * second))
                second = 0.0
            if counts[j] < 1:
                rest += abs(math.sin(0.5 * first))
                first = 0.0
            lost[j] = max(lost[j], rest)
            angle_a, angle_b, angle_c = _nearest(first, before_a), _nearest(second, before_b), _nearest(third, before_c)
            if counts[j] == 3 and f > 0:
                other_a = _nearest(first + math.pi, before_a)
                other_b = _nearest(math.pi - second, before_b)
                other_c = _nearest(third + math.pi, before_c)
                here = abs(angle_a - before_a) + abs(angle_b - before_b) + abs(angle_c - before_c)
                there = abs(other_a - before_a) + abs(other_b - before_b) + abs(other_c - before_c)
                if there < here:
                    angle_a, angle_b, angle_c = other_a, other_b, other_c
            out[f, j, 0], out[f, j, 1], out[f, j, 2] = angle_a * degrees, angle_b * degrees, angle_c * degrees


def _read_only():
    array = np.zeros((1, 1, 4))
    array.setflags(write=False)
    return array


WARMUP = {
    "euler_to_quaternions": lambda: (
        np.zeros((1, 3)), np.array([0, 3]), np.arange(3), np.arange(3), np.zeros((1, 1, 4))
    ),
    "quaternions_to_euler": lambda: (
        _read_only(), np.array([[2, 0, 1]]), np.full(1, 3), np.zeros((1, 1, 3)), np.zeros(1)
    ),
}  # fmt: skip
