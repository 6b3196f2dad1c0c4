"""Ground adaptation frame by frame: any ground under a motion, also one that changes during playback.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), section 7. `edits.terrain` is the offline method for whole clips; this one uses one frame at a
time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground, normal_of

GroundInTime = Callable[[float], Ground]
"""A ground that changes over time: seconds since the start → the ground at that time."""
TILTS_BELOW = 0.15
"""Body heights above the floor below which a sole tilts with the ground; fully below half of that."""


def ground_shifts(
    places: NDArray, ground: Ground | GroundInTime, floor: Ground, times: NDArray
) -> tuple[NDArray, NDArray]:
    """Return the height of the ground above the floor at places (F, N, 3), metres, and its normals (F, N, 3)."""
    flat = places[..., ::2]
    if not callable(ground):
        return ground.height(flat) - floor.height(flat), normal_of(ground, flat)
    shifts, normals = np.empty(places.shape[:2]), np.empty(places.shape)
    for row, seconds in enumerate(times.tolist()):
        now = ground(seconds)
        shifts[row] = now.height(flat[row]) - floor.height(flat[row])
        normals[row] = normal_of(now, flat[row])
    return shifts, normals


def foot_targets(
    places: NDArray, turns: NDArray, shifts: NDArray, normals: NDArray, floor: Ground, height: float
) -> tuple[NDArray, NDArray]:
    """Return positions (F, N, 3) of ankles raised by the ground, and rotations (F, N, 4) of soles tilted with it."""
    raised = places.copy()
    raised[..., 1] += shifts
    if not (normals[..., 1] < 1.0 - 1e-12).any():
        return raised, turns
    clear = (places[..., 1] - floor.height(places[..., ::2])) / (TILTS_BELOW * height)
    return raised, rotation.multiply(tilts_with(normals, clear), turns)


def tilts_with(normals: NDArray, clear: NDArray) -> NDArray:
    """Return rotations (…, 4) of soles that are tilted with the ground; clear: (…,) heights over `TILTS_BELOW`."""
    share = np.clip(2.0 - 2.0 * clear, 0.0, 1.0)
    return rotation.exp(share[..., None] * rotation.log(rotation.between(rotation.AXES["y"], normals)))
