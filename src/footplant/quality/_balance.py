"""Kernels of `balance`: the zero-moment point of a body of point masses."""

from __future__ import annotations

import numpy as np

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import rotate


@uncounted_jit
def _place(positions, rotations, centers, f, n, out):
    """Write the centre (3,) of a segment's mass at a frame."""
    q, c = rotations[f, n], centers[n]
    x, y, z = rotate(q[0], q[1], q[2], q[3], c[0], c[1], c[2])
    out[0], out[1], out[2] = positions[f, n, 0] + x, positions[f, n, 1] + y, positions[f, n, 2] + z


@uncounted_jit
def zero_moment_points(positions, rotations, masses, centers, level, taps, gravity, least, places, out):
    """Write zero-moment point, height of the mass over `level` (F,), and g + its lift (F, 4): see `balance`.

    positions (F, J, 3), rotations (F, J, 4), masses (J,) summing to 1, centers (J, 3). taps (2h+3,): of the second
    derivative of smoothed places, per s²; beyond the ends a motion goes on by its point reflection. least: of g + lift.
    places (F, 3): workspace.
    """
    frames, half = positions.shape[0], taps.shape[0] // 2
    out[:, :] = 0.0
    for n in range(masses.shape[0]):
        mass = masses[n]
        if mass <= 0.0:
            continue
        for f in range(frames):
            _place(positions, rotations, centers, f, n, places[f])
        for f in range(frames):
            x = y = z = 0.0
            if 0 < f < frames - 1:
                for k in range(-half, half + 1):
                    at, tap = f + k, taps[k + half]
                    end = 0 if at < 0 else frames - 1
                    if 0 <= at < frames:
                        x, y, z = x + tap * places[at, 0], y + tap * places[at, 1], z + tap * places[at, 2]
                    else:
                        p, q = places[end], places[2 * end - at]
                        x += tap * (2.0 * p[0] - q[0])
                        y += tap * (2.0 * p[1] - q[1])
                        z += tap * (2.0 * p[2] - q[2])
            lift, high = gravity + y, places[f, 1] - level[f]
            out[f, 0] += mass * (lift * places[f, 0] - high * x)
            out[f, 1] += mass * (lift * places[f, 2] - high * z)
            out[f, 2] += mass * high
            out[f, 3] += mass * lift
    for f in range(frames):
        total = max(out[f, 3], least)
        out[f, 0] /= total
        out[f, 1] /= total


def _read_only(array):
    array.setflags(write=False)
    return array


WARMUP = {
    "zero_moment_points": lambda: (
        _read_only(np.zeros((1, 1, 3))), _read_only(np.array([[[1.0, 0.0, 0.0, 0.0]]])), np.ones(1), np.zeros((1, 3)),
        np.zeros(1), np.zeros(3), 9.81, 1.0, np.empty((1, 3)), np.empty((1, 4)),
    ),
}  # fmt: skip
