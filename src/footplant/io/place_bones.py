"""Decide whether a take's bone offsets are constant (and become the skeleton's) or animated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.skeleton import Skeleton

CONSTANT_TOLERANCE = 5e-6
"""Fraction of the character's size. Offsets that vary less are constant: exporters round every frame separately."""


def place_bones(
    skeleton: Skeleton, curves: Sequence[NDArray], frames: int, notes: list[str]
) -> tuple[Skeleton, NDArray | None]:
    """Return the skeleton of a take, and offsets (F, J, 3) if bone offsets are animated, else None.

    curves: each joint's translation in its parent's frame, (F, 3), or (1, 3) if constant. Files from motion capture
    animate the translation of every joint. If all are constant, they become the skeleton's offsets, which may differ
    from those of the rest pose.
    """
    inner = list(enumerate(curves))[1:]
    reach = sum(float(np.linalg.norm(curve.mean(axis=0))) for _, curve in inner)
    # scale can make a take much smaller than its rest pose, so the tolerance follows the smaller of the two
    size = max(min(float(np.ptp(skeleton.rest_world[0], axis=0).max()), reach), 1e-9)
    if any(np.ptp(curve, axis=0).max() > CONSTANT_TOLERANCE * size for _, curve in inner if len(curve) > 1):
        offsets = np.empty((frames, len(curves), 3))
        for joint, curve in enumerate(curves):
            offsets[:, joint] = curve
        return skeleton, offsets
    places = np.array(skeleton.offsets)
    for joint, curve in inner:
        mean = curve.mean(axis=0)
        if np.abs(mean - places[joint]).max() > CONSTANT_TOLERANCE * size:
            places[joint] = mean
    moved = int((places != skeleton.offsets).any(axis=1).sum())
    if not moved:
        return skeleton, None
    where = f"{moved} {'joint' if moved == 1 else 'joints'}"
    notes.append(f"the take's bone offsets differ from the file's rest pose (at {where}); the take's were used")
    return replace(skeleton, offsets=places), None
