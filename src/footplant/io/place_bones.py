"""Where a take holds the joints in their parents: constant bones, at other places than at rest perhaps, or moving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.skeleton import Skeleton

STEADY = 5e-6
"""Offsets that vary by less than this share of the figure's size are constant: exporters round every frame anew."""


def place_bones(
    skeleton: Skeleton, curves: Sequence[NDArray], frames: int, notes: list[str]
) -> tuple[Skeleton, NDArray | None]:
    """The skeleton of a take, and offsets (F, J, 3) when bones change with time.

    curves: the places of each joint in its parent's frame, (F, 3), or (1, 3) where it stays. Files from motion capture
    animate the place of every joint. Where all are constant the take has constant bones, at other places than the rest
    pose perhaps: then they are the skeleton's.
    """
    inner = list(enumerate(curves))[1:]
    reach = sum(float(np.linalg.norm(curve.mean(axis=0))) for _, curve in inner)
    # scales can make a take much smaller than its rest pose, and what is little there is not little here
    size = max(min(float(np.ptp(skeleton.rest_world[0], axis=0).max()), reach), 1e-9)
    if any(np.ptp(curve, axis=0).max() > STEADY * size for _, curve in inner if len(curve) > 1):
        offsets = np.empty((frames, len(curves), 3))
        for joint, curve in enumerate(curves):
            offsets[:, joint] = curve
        return skeleton, offsets
    places = np.array(skeleton.offsets)
    for joint, curve in inner:
        mean = curve.mean(axis=0)
        if np.abs(mean - places[joint]).max() > STEADY * size:
            places[joint] = mean
    moved = int((places != skeleton.offsets).any(axis=1).sum())
    if not moved:
        return skeleton, None
    where = f"{moved} {'joint' if moved == 1 else 'joints'}"
    notes.append(f"the take's bones differ from those of the file's rest pose (at {where}); they were taken")
    return replace(skeleton, offsets=places), None
