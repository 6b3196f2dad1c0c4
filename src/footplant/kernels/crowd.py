"""What a crowd needs of all its figures at every frame beside the solver: centres of mass, and turns of unit length."""

from __future__ import annotations

import numpy as np

from footplant.kernels import jit
from footplant.kernels.hybrid import normalize_rows
from footplant.kernels.quaternion import rotate


@jit
def centers_of_mass(masses, centers, positions, rotations, out):
    """Centres of mass (C, 3) of figures with bodies of their own: masses (C, J) and centers (C, J, 3) of segments."""
    for f in range(positions.shape[0]):
        x = y = z = 0.0
        for j in range(positions.shape[1]):
            mass = masses[f, j]
            if mass > 0.0:
                vx, vy, vz = rotate(
                    rotations[f, j, 0], rotations[f, j, 1], rotations[f, j, 2], rotations[f, j, 3],
                    centers[f, j, 0], centers[f, j, 1], centers[f, j, 2],
                )  # fmt: skip
                x += mass * (positions[f, j, 0] + vx)
                y += mass * (positions[f, j, 1] + vy)
                z += mass * (positions[f, j, 2] + vz)
        out[f, 0], out[f, 1], out[f, 2] = x, y, z


@jit
def unit_turns(local):
    """Make the turns (C, J, 4) of all figures unit quaternions again, in place."""
    for f in range(local.shape[0]):
        normalize_rows(local[f])


def _read_only(*shape):
    array = np.zeros(shape)
    array.setflags(write=False)
    return array


WARMUP = {
    "centers_of_mass": lambda: (
        _read_only(1, 1), _read_only(1, 1, 3), _read_only(1, 1, 3), _read_only(1, 1, 4), np.zeros((1, 3))
    ),
    "unit_turns": lambda: (np.ones((1, 1, 4)),),
}  # fmt: skip
