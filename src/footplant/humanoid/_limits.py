"""Kernels of `limits`: rotations of one joint beside its own ones, and clamped to its limits."""

from __future__ import annotations

import numpy as np

from footplant.kernels import uncounted_jit
from footplant.kernels.measures import less_beyond
from footplant.kernels.quaternion import exp, log, multiply, nearer_way


@uncounted_jit
def _turn(above, rotation, world):
    """Return the rotation vector of a joint relative to its parent: of above · rotation · world⁻¹."""
    w, x, y, z = multiply(above[0], above[1], above[2], above[3], rotation[0], rotation[1], rotation[2], rotation[3])
    w, x, y, z = multiply(w, x, y, z, world[0], -world[1], -world[2], -world[3])
    return log(w, x, y, z)


@uncounted_jit
def turns_beside(above, world, lower, upper, rotations, own, now, before):
    """Write rotation vectors (F, 3) of local rotations (F, 4) and of own ones (F, 4): see `anatomical_turns_beside`."""
    for f in range(rotations.shape[0]):
        kx, ky, kz = _turn(above, own[f], world)
        kx, ky, kz, _ = less_beyond(kx, ky, kz, lower, upper)
        before[f, 0], before[f, 1], before[f, 2] = kx, ky, kz
        now[f, 0], now[f, 1], now[f, 2] = nearer_way(_turn(above, rotations[f], world), (kx, ky, kz))


@uncounted_jit
def clamp(above, world, lower, upper, own, rotations):
    """Clamp local rotations (F, 4) in place to limits (3,), or to own ones (F, 4) beyond them; return how many changed.

    Own ones are taken the way round that is less beyond the limits, and others the way round that is nearer to them.
    above, world (4,): rotations of the joint's parent and of the joint in the reference pose.
    """
    changed = 0
    for f in range(rotations.shape[0]):
        r = rotations[f]
        kx, ky, kz = _turn(above, own[f], world)
        kx, ky, kz, _ = less_beyond(kx, ky, kz, lower, upper)
        vx, vy, vz = nearer_way(_turn(above, r, world), (kx, ky, kz))
        cx = min(max(vx, min(lower[0], kx)), max(upper[0], kx))
        cy = min(max(vy, min(lower[1], ky)), max(upper[1], ky))
        cz = min(max(vz, min(lower[2], kz)), max(upper[2], kz))
        if cx == vx and cy == vy and cz == vz:
            continue
        changed += 1
        w, x, y, z = exp(cx, cy, cz)
        w, x, y, z = multiply(above[0], -above[1], -above[2], -above[3], w, x, y, z)
        r[0], r[1], r[2], r[3] = multiply(w, x, y, z, world[0], world[1], world[2], world[3])
    return changed


def _clamp():
    one = np.array([1.0, 0.0, 0.0, 0.0])
    return one, one, np.zeros(3), np.ones(3), one[None].copy(), one[None].copy()


def _turns_beside():
    return *_clamp(), np.empty((1, 3)), np.empty((1, 3))


WARMUP = {"clamp": _clamp, "turns_beside": _turns_beside}
